//===- PlanExport.cpp - Launch plans of a target --------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of one `tile.variant` are the steps of one plan; each of its
// `tile.ranges` becomes a variant of the bundle, with split counts put in.
//===----------------------------------------------------------------------===//
#include "backfuse/Target/Bundle/PlanExport.h"
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"

#include "runtime/bundle_generated.h"

using namespace mlir;
using namespace backfuse;
using bundle::ExprNode;
using bundle::ExprOp;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

namespace {
/// Postfix code under construction.
class Code {
public:
  Code() = default;
  static Code constant(int64_t value) {
    Code code;
    code.nodes.emplace_back(ExprOp::Const, value);
    return code;
  }
  static Code leaf(ExprOp op, int64_t value = 0) {
    Code code;
    code.nodes.emplace_back(op, value);
    return code;
  }
  /// This `op` `other`, simplified where it is plain how. All values of the plan
  /// are sizes, none is negative.
  Code apply(ExprOp op, const Code &other) const;
  void append(const bundle::ExprT &expr) {
    llvm::append_range(nodes, expr.nodes);
  }
  std::unique_ptr<bundle::ExprT> take() const {
    auto expr = std::make_unique<bundle::ExprT>();
    expr->nodes = nodes;
    return expr;
  }

private:
  /// The value of an expression that is a constant.
  std::optional<int64_t> asConstant() const {
    if (nodes.size() == 1 && nodes[0].op() == ExprOp::Const)
      return nodes[0].value();
    return std::nullopt;
  }
  /// Of x `op` c, c a constant: both.
  std::optional<std::pair<Code, int64_t>> splitConstant(ExprOp op) const {
    if (nodes.size() < 3 || nodes.back().op() != op ||
        nodes[nodes.size() - 2].op() != ExprOp::Const)
      return std::nullopt;
    Code rest;
    rest.nodes.assign(nodes.begin(), nodes.end() - 2);
    return std::make_pair(rest, nodes[nodes.size() - 2].value());
  }

  std::vector<ExprNode> nodes;
};

/// What the symbols of #tile.expr stand for in one variant.
struct Names {
  const bundle::GraphT &graph;
  ArrayRef<int64_t> splits;

  Code operator()(StringRef name) const {
    if (name.consume_front("splits:")) {
      unsigned number;
      bool failed = name.getAsInteger(10, number);
      assert(!failed && number < splits.size() && "unknown split count");
      (void)failed;
      return Code::constant(splits[number]);
    }
    auto it = llvm::find(graph.dims, name.str());
    assert(it != graph.dims.end() && "unknown dimension");
    return Code::leaf(ExprOp::Dim, it - graph.dims.begin());
  }
};
} // namespace

/// Constants that fit, or nothing.
static std::optional<int64_t> fold(ExprOp op, int64_t x, int64_t y) {
  int64_t result;
  switch (op) {
  case ExprOp::Add:
    return llvm::AddOverflow(x, y, result) ? std::nullopt
                                           : std::optional(result);
  case ExprOp::Mul:
    return llvm::MulOverflow(x, y, result) ? std::nullopt
                                           : std::optional(result);
  case ExprOp::FloorDiv:
    return y > 0 ? std::optional(x / y) : std::nullopt;
  case ExprOp::CeilDiv:
    return y > 0 ? std::optional(llvm::divideCeilSigned(x, y)) : std::nullopt;
  default:
    return std::nullopt;
  }
}

Code Code::apply(ExprOp op, const Code &other) const {
  bool commutes = op == ExprOp::Add || op == ExprOp::Mul || op == ExprOp::And;
  if (commutes && asConstant() && !other.asConstant())
    return other.apply(op, *this);
  if (std::optional<int64_t> y = other.asConstant()) {
    if (std::optional<int64_t> x = asConstant())
      if (std::optional<int64_t> value = fold(op, *x, *y))
        return constant(*value);
    if (op == ExprOp::Mul && *y == 0)
      return other;
    if (*y == (op == ExprOp::Add ? 0 : 1) &&
        (commutes || op == ExprOp::FloorDiv || op == ExprOp::CeilDiv) &&
        !(op == ExprOp::And && asConstant()))
      return *this;
    bool divides = op == ExprOp::FloorDiv || op == ExprOp::CeilDiv;
    if (op == ExprOp::Add || op == ExprOp::Mul || divides)
      if (auto split = splitConstant(divides ? ExprOp::Mul : op)) {
        auto &[x, c] = *split;
        if (divides && *y > 0 && c % *y == 0)
          return x.apply(ExprOp::Mul, constant(c / *y));
        if (!divides)
          if (std::optional<int64_t> value = fold(op, c, *y))
            return x.apply(op, constant(*value));
      }
  }
  Code code = *this;
  llvm::append_range(code.nodes, other.nodes);
  code.nodes.emplace_back(op, 0);
  return code;
}

static Code encode(AffineExpr expr, ArrayRef<Code> symbols) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return Code::constant(cast<AffineConstantExpr>(expr).getValue());
  case AffineExprKind::SymbolId:
    return symbols[cast<AffineSymbolExpr>(expr).getPosition()];
  case AffineExprKind::DimId:
    llvm_unreachable("refused by the attribute's verifier");
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Code lhs = encode(binary.getLHS(), symbols);
  Code rhs = encode(binary.getRHS(), symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs.apply(ExprOp::Add, rhs);
  case AffineExprKind::Mul:
    return lhs.apply(ExprOp::Mul, rhs);
  case AffineExprKind::CeilDiv:
    return lhs.apply(ExprOp::CeilDiv, rhs);
  case AffineExprKind::FloorDiv:
    return lhs.apply(ExprOp::FloorDiv, rhs);
  default:
    return lhs.apply(ExprOp::Mod, rhs);
  }
}

static Code encode(tile::ExprAttr attr, const Names &names) {
  SmallVector<Code> symbols;
  for (StringAttr name : attr.getNames())
    symbols.push_back(names(name.getValue()));
  return encode(attr.getMap().getResult(0), symbols);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static int64_t dtypeBytes(bundle::DType dtype) {
  switch (dtype) {
  case bundle::DType::F32:
    return 4;
  case bundle::DType::I64:
    return 8;
  case bundle::DType::I1:
    return 1;
  default:
    return 2;
  }
}

static Code numElements(const bundle::TensorTypeT &type) {
  Code code = Code::constant(1);
  for (const bundle::Extent &extent : type.extents)
    code = code.apply(ExprOp::Mul,
                      extent.dim() < 0
                          ? Code::constant(extent.fixed())
                          : Code::leaf(ExprOp::Dim, extent.dim()));
  return code;
}

static Code numBytes(const bundle::TensorTypeT &type) {
  return numElements(type).apply(ExprOp::Mul,
                                 Code::constant(dtypeBytes(type.dtype)));
}

static const bundle::TensorTypeT &typeOf(const bundle::GraphT &graph,
                                         const bundle::ArgumentT &argument) {
  return *graph.values[argument.value]->type;
}

//===----------------------------------------------------------------------===//
// One variant
//===----------------------------------------------------------------------===//

namespace {
class VariantBuilder {
public:
  VariantBuilder(const bundle::GraphT &graph, Names names)
      : graph(graph), names(names) {}

  std::unique_ptr<bundle::StepT> createStep(Operation *kernel,
                                            unsigned kernelIndex);
  std::unique_ptr<bundle::ExprT> workspaceBytes() const {
    return workspace.take();
  }
  /// Bytes of the inputs and outputs that the steps touch.
  Code touchedBytes() const;

private:
  std::unique_ptr<bundle::BufferT> bufferOf(tile::BindAttr binding);
  Code rowsOf(tile::BindAttr binding, tile::GlobalTensorType type);
  std::unique_ptr<bundle::TensorMapT> createMap(Operation *kernel,
                                                ArrayRef<int64_t> use);
  /// Space of its own in the workspace; returns its offset.
  Code reserve(const Code &bytes);

  const bundle::GraphT &graph;
  Names names;
  Code workspace = Code::constant(0);
  llvm::DenseMap<int64_t, Code> temporaries;
  llvm::SetVector<int64_t> inputs, outputs;
};
} // namespace

Code VariantBuilder::reserve(const Code &bytes) {
  constexpr int64_t alignment = 256;
  Code offset = workspace;
  Code rounded = bytes.apply(ExprOp::CeilDiv, Code::constant(alignment))
                     .apply(ExprOp::Mul, Code::constant(alignment));
  workspace = workspace.apply(ExprOp::Add, rounded);
  return offset;
}

std::unique_ptr<bundle::BufferT>
VariantBuilder::bufferOf(tile::BindAttr binding) {
  auto buffer = std::make_unique<bundle::BufferT>();
  buffer->index = binding.getIndex();
  switch (binding.getKind()) {
  case tile::BindKind::Input:
    inputs.insert(binding.getIndex());
    buffer->space = bundle::Space::Input;
    return buffer;
  case tile::BindKind::Output:
    outputs.insert(binding.getIndex());
    buffer->space = bundle::Space::Output;
    return buffer;
  case tile::BindKind::Temporary: {
    auto [it, inserted] = temporaries.try_emplace(binding.getIndex());
    if (inserted)
      it->second = reserve(encode(binding.getExpr(), names));
    buffer->space = bundle::Space::Workspace;
    buffer->index = 0;
    buffer->offset = it->second.take();
    return buffer;
  }
  default:
    buffer->space = bundle::Space::Workspace;
    buffer->index = 0;
    buffer->offset = reserve(encode(binding.getExpr(), names)).take();
    return buffer;
  }
}

Code VariantBuilder::rowsOf(tile::BindAttr binding,
                            tile::GlobalTensorType type) {
  if (!ShapedType::isDynamic(type.getRows()))
    return Code::constant(type.getRows());
  Code elements = Code::constant(0);
  switch (binding.getKind()) {
  case tile::BindKind::Input:
    elements = numElements(typeOf(graph, *graph.inputs[binding.getIndex()]));
    break;
  case tile::BindKind::Output:
    elements = numElements(typeOf(graph, *graph.outputs[binding.getIndex()]));
    break;
  default:
    elements = encode(binding.getExpr(), names)
                   .apply(ExprOp::FloorDiv,
                          Code::constant(
                              type.getElement().getIntOrFloatBitWidth() / 8));
  }
  return elements.apply(ExprOp::FloorDiv, Code::constant(type.getCols()));
}

std::unique_ptr<bundle::TensorMapT>
VariantBuilder::createMap(Operation *kernel, ArrayRef<int64_t> use) {
  int64_t argument = use[0], boxRows = use[1], panelCols = use[2],
          panels = use[3];
  auto bindings = kernel->getAttrOfType<ArrayAttr>("tile.bindings");
  auto types = kernel->getAttrOfType<ArrayAttr>("tile.types");
  auto binding = cast<tile::BindAttr>(bindings[argument]);
  auto type = cast<tile::GlobalTensorType>(
      cast<TypeAttr>(types[argument]).getValue());
  int64_t elementBytes = type.getElement().getIntOrFloatBitWidth() / 8;
  auto map = std::make_unique<bundle::TensorMapT>();
  map->buffer = bufferOf(binding);
  map->type = type.getElement().isBF16()  ? bundle::MapType::BF16
              : type.getElement().isF16() ? bundle::MapType::F16
                                          : bundle::MapType::F32;
  auto push = [](auto &list, const Code &code) {
    list.push_back(code.take());
  };
  Code rows = rowsOf(binding, type);
  if (panels > 1) {
    push(map->sizes, Code::constant(panelCols));
    push(map->sizes, rows);
    push(map->sizes, Code::constant(type.getCols() / panelCols));
    push(map->strides, Code::constant(type.getCols() * elementBytes));
    push(map->strides, Code::constant(panelCols * elementBytes));
    map->box = {uint32_t(panelCols), uint32_t(boxRows), uint32_t(panels)};
  } else {
    push(map->sizes, Code::constant(type.getCols()));
    push(map->sizes, rows);
    push(map->strides, Code::constant(type.getCols() * elementBytes));
    map->box = {uint32_t(panelCols), uint32_t(boxRows)};
  }
  map->swizzle = bundle::Swizzle::B128;
  if (use.size() > 4) {
    map->type = bundle::MapType::TF32;
    if (use[4] == 32)
      map->swizzle = bundle::Swizzle::B128Atom32;
  }
  map->l2_promotion = 3;
  return map;
}

std::unique_ptr<bundle::StepT> VariantBuilder::createStep(Operation *kernel,
                                                          unsigned index) {
  bundle::KernelLaunchT launch;
  launch.kernel = index;
  launch.dependent = kernel->hasAttr("tile.dependent");
  // Whole clusters, of one CTA each on an SM.
  Code grid = Code::leaf(ExprOp::SmCount);
  if (auto cluster = kernel->getAttrOfType<IntegerAttr>("tile.cluster")) {
    Code size = Code::constant(cluster.getInt());
    grid = grid.apply(ExprOp::FloorDiv, size)
               .apply(ExprOp::Mul, size)
               .apply(ExprOp::Max, size);
  }
  launch.grid.push_back(grid.take());
  auto bindings = kernel->getAttrOfType<ArrayAttr>("tile.bindings");
  for (Attribute attribute : kernel->getAttrOfType<ArrayAttr>("tile.maps")) {
    auto argument = std::make_unique<bundle::KernelArgT>();
    argument->kind = bundle::ArgKind::Map;
    argument->map =
        createMap(kernel, cast<DenseI64ArrayAttr>(attribute).asArrayRef());
    launch.args.push_back(std::move(argument));
  }
  for (int64_t number :
       kernel->getAttrOfType<DenseI64ArrayAttr>("tile.arguments").asArrayRef()) {
    auto binding = cast<tile::BindAttr>(bindings[number]);
    auto argument = std::make_unique<bundle::KernelArgT>();
    switch (binding.getKind()) {
    case tile::BindKind::Extent:
      argument->kind = bundle::ArgKind::Int32;
      argument->value = encode(binding.getExpr(), names).take();
      break;
    case tile::BindKind::Param:
      argument->kind = bundle::ArgKind::Float32;
      argument->param = binding.getIndex();
      break;
    case tile::BindKind::Tag:
      argument->kind = bundle::ArgKind::LaunchTag;
      // CTAs wait for each other's flags.
      launch.cooperative = true;
      break;
    default:
      argument->kind = bundle::ArgKind::Pointer;
      argument->buffer = bufferOf(binding);
    }
    launch.args.push_back(std::move(argument));
  }
  auto step = std::make_unique<bundle::StepT>();
  step->body.Set(std::move(launch));
  return step;
}

Code VariantBuilder::touchedBytes() const {
  Code bytes = Code::constant(0);
  for (int64_t i : inputs)
    bytes = bytes.apply(ExprOp::Add, numBytes(typeOf(graph, *graph.inputs[i])));
  for (int64_t i : outputs)
    bytes =
        bytes.apply(ExprOp::Add, numBytes(typeOf(graph, *graph.outputs[i])));
  return bytes;
}

//===----------------------------------------------------------------------===//
// Guards, products, work
//===----------------------------------------------------------------------===//

/// Parameter values and token counts under which the variant is right.
static Code createGuard(Operation *kernel, tile::RangeAttr range,
                        const bundle::GraphT &graph, const Names &names) {
  Code guard = Code::constant(1);
  if (auto assumptions =
          kernel->getAttrOfType<DictionaryAttr>("tile.assumptions"))
    for (NamedAttribute assumption : assumptions) {
      auto it = llvm::find_if(graph.params, [&](const auto &param) {
        return param->name == assumption.getName().getValue();
      });
      assert(it != graph.params.end() && "assumption names no parameter");
      Code param = Code::leaf(ExprOp::Param, it - graph.params.begin());
      Code value =
          Code::constant(cast<BoolAttr>(assumption.getValue()).getValue());
      guard = guard.apply(ExprOp::And, param.apply(ExprOp::Eq, value));
    }
  Code tokens = encode(kernel->getAttrOfType<tile::ExprAttr>("tile.tokens"),
                       names);
  if (range.getFrom() > 0)
    guard = guard.apply(
        ExprOp::And, Code::constant(range.getFrom()).apply(ExprOp::Le, tokens));
  if (range.getTo() >= 0)
    guard = guard.apply(ExprOp::And,
                        tokens.apply(ExprOp::Lt, Code::constant(range.getTo())));
  return guard;
}

static std::string describe(Operation *kernel, tile::RangeAttr range) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto assumptions =
          kernel->getAttrOfType<DictionaryAttr>("tile.assumptions"))
    for (NamedAttribute assumption : assumptions)
      os << assumption.getName().getValue() << "="
         << (cast<BoolAttr>(assumption.getValue()).getValue() ? "true"
                                                              : "false")
         << ", ";
  if (auto shape = kernel->getAttrOfType<DenseI64ArrayAttr>("tile.shape")) {
    os << "tile ";
    llvm::interleave(shape.asArrayRef(), os, "x");
    os << ", ";
  }
  os << "splits ";
  llvm::interleave(range.getSplits(), os, "/");
  return text;
}

static bundle::DType dtypeOf(Type type) {
  return type.isBF16()  ? bundle::DType::BF16
         : type.isF16() ? bundle::DType::F16
                        : bundle::DType::F32;
}

/// `tile.products`: of each product its index in the op list and the type of
/// its operands; `tile.operations`: its multiplications and additions.
static void exportProducts(Operation *kernel, const Names &names,
                           bundle::VariantT &variant) {
  auto products = kernel->getAttrOfType<ArrayAttr>("tile.products");
  auto types = kernel->getAttrOfType<ArrayAttr>("tile.product_types");
  auto operations = kernel->getAttrOfType<ArrayAttr>("tile.operations");
  for (auto [index, type, count] : llvm::zip(products, types, operations)) {
    Type element = cast<TypeAttr>(type).getValue();
    // Terms of one product of the graph follow each other.
    uint32_t op = cast<IntegerAttr>(index).getInt();
    bool isKnown = cast<IntegerAttr>(index).getInt() >= 0;
    if (isKnown && !variant.products.empty() &&
        variant.products.back()->op == op) {
      bundle::ProductT &product = *variant.products.back();
      ++product.terms;
      product.route =
          "bf16x3: " + std::to_string(product.terms) + " products of bf16 parts";
    } else {
      auto product = std::make_unique<bundle::ProductT>();
      product->op = op;
      product->route = element.isF32()   ? "tf32"
                       : element.isF16() ? "fp16"
                                         : "bf16";
      if (element.isF32())
        product->f32_rounding = bundle::F32Rounding::Tf32;
      product->a_type = product->b_type = dtypeOf(element);
      product->terms = 1;
      variant.products.push_back(std::move(product));
    }
    auto work = std::make_unique<bundle::WorkT>();
    work->rate = element.isF32()   ? bundle::Rate::TF32
                 : element.isF16() ? bundle::Rate::F16
                                   : bundle::Rate::BF16;
    work->operations = encode(cast<tile::ExprAttr>(count), names).take();
    variant.work.push_back(std::move(work));
  }
}

/// Whether some count of rows of the range that 32 bits hold makes `units` more
/// than that.
static bool mayOverflow(tile::ExprAttr units, tile::RangeAttr range) {
  SmallVector<Attribute> operands, results;
  ArrayRef<int64_t> splits = range.getSplits();
  int64_t rows = range.getTo() >= 0 ? range.getTo() - 1 : INT32_MAX;
  for (StringAttr attr : units.getNames()) {
    StringRef name = attr.getValue();
    int64_t value;
    if (name.consume_front("splits:")) {
      unsigned number;
      value = name.getAsInteger(10, number) ? 1 : splits[number];
    } else {
      value = rows; // all in one dimension
      rows = 1;
    }
    operands.push_back(IntegerAttr::get(
        IndexType::get(units.getContext()), value));
  }
  return failed(units.getMap().constantFold(operands, results)) ||
         cast<IntegerAttr>(results.front()).getInt() > INT32_MAX;
}

/// Refuses what would be more units of work than a kernel counts.
static void exportUnitLimit(Operation *kernel, tile::RangeAttr range,
                            const bundle::VariantT &variant,
                            bundle::BundleT &bundle) {
  Names names{*bundle.graph, range.getSplits()};
  auto all = kernel->getAttrOfType<ArrayAttr>("tile.units");
  if (!all)
    return;
  for (tile::ExprAttr units : all.getAsRange<tile::ExprAttr>()) {
    if (!mayOverflow(units, range))
      continue;
    Code guard;
    guard.append(*variant.guard);
    auto refusal = std::make_unique<bundle::RefusalT>();
    refusal->condition =
        guard
            .apply(ExprOp::And, Code::constant(INT32_MAX)
                                    .apply(ExprOp::Lt, encode(units, names)))
            .take();
    refusal->reason =
        "kernels count tiles of a product with 32 bits, and this one has more; "
        "launch it for fewer rows at a time";
    bundle.refusals.push_back(std::move(refusal));
  }
}

/// No tokens at all: results over tokens are empty, and sums over tokens are
/// zero where the kernels say that they store nothing but the sums.
static void exportEmptyVariant(Operation *kernel, bundle::BundleT &bundle,
                               bundle::TargetT &target) {
  const bundle::GraphT &graph = *bundle.graph;
  auto reason = kernel->getAttrOfType<StringAttr>("tile.not_empty");
  auto tokens = kernel->getAttrOfType<tile::ExprAttr>("tile.tokens");
  if (tokens.getNames().empty() && !reason)
    return; // Nothing that kernels read has a variable extent.
  Code product = encode(tokens, Names{graph, {}});
  if (tokens.getNames().empty())
    for (unsigned i = 0; i < graph.dims.size(); ++i)
      product = product.apply(ExprOp::Mul, Code::leaf(ExprOp::Dim, i));
  Code empty = product.apply(ExprOp::Eq, Code::constant(0));
  if (reason) {
    auto refusal = std::make_unique<bundle::RefusalT>();
    refusal->condition = empty.take();
    refusal->reason = reason.getValue().str();
    bundle.refusals.push_back(std::move(refusal));
    return;
  }
  auto variant = std::make_unique<bundle::VariantT>();
  variant->name = "no tokens: sums are zero";
  variant->guard = empty.take();
  variant->workspace_bytes = Code::constant(0).take();
  Code bytes = Code::constant(0);
  for (auto [i, output] : llvm::enumerate(graph.outputs)) {
    bundle::ZeroFillT fill;
    fill.buffer = std::make_unique<bundle::BufferT>();
    fill.buffer->space = bundle::Space::Output;
    fill.buffer->index = i;
    Code size = numBytes(typeOf(graph, *output));
    fill.bytes = size.take();
    bytes = bytes.apply(ExprOp::Add, size);
    auto step = std::make_unique<bundle::StepT>();
    step->body.Set(std::move(fill));
    variant->steps.push_back(std::move(step));
  }
  variant->bytes = bytes.take();
  target.variants.push_back(std::move(variant));
}

LogicalResult backfuse::exportPlan(ArrayRef<Operation *> kernels,
                                   bundle::BundleT &bundle,
                                   bundle::TargetT &target) {
  const bundle::GraphT &graph = *bundle.graph;
  llvm::MapVector<StringAttr, SmallVector<unsigned>> variants;
  for (auto [i, function] : llvm::enumerate(kernels)) {
    auto kernel = std::make_unique<bundle::KernelT>();
    kernel->name = SymbolTable::getSymbolName(function).getValue().str();
    kernel->module_index = i;
    kernel->threads =
        function->getAttrOfType<IntegerAttr>("tile.threads").getInt();
    if (auto cluster = function->getAttrOfType<IntegerAttr>("tile.cluster"))
      kernel->cluster = {uint32_t(cluster.getInt())};
    kernel->smem_bytes =
        function->getAttrOfType<IntegerAttr>("tile.smem_bytes").getInt();
    for (StringAttr role : function->getAttrOfType<ArrayAttr>("tile.roles")
                               .getAsRange<StringAttr>())
      kernel->roles.push_back(role.getValue().str());
    target.kernels.push_back(std::move(kernel));
    variants[function->getAttrOfType<StringAttr>("tile.variant")].push_back(i);
  }
  if (kernels.empty())
    return success();
  exportEmptyVariant(kernels.front(), bundle, target);
  for (auto &[name, steps] : variants) {
    Operation *first = kernels[steps.front()];
    for (tile::RangeAttr range :
         first->getAttrOfType<ArrayAttr>("tile.ranges")
             .getAsRange<tile::RangeAttr>()) {
      Names names{graph, range.getSplits()};
      VariantBuilder builder(graph, names);
      auto variant = std::make_unique<bundle::VariantT>();
      // A conversion kernel has no tiles to name.
      auto tiled = llvm::find_if(steps, [&](unsigned step) {
        return kernels[step]->hasAttr("tile.shape");
      });
      variant->name = describe(
          tiled == steps.end() ? first : kernels[*tiled], range);
      variant->guard = createGuard(first, range, graph, names).take();
      for (unsigned index : steps) {
        variant->steps.push_back(builder.createStep(kernels[index], index));
        exportProducts(kernels[index], names, *variant);
        exportUnitLimit(kernels[index], range, *variant, bundle);
      }
      variant->workspace_bytes = builder.workspaceBytes();
      variant->bytes = builder.touchedBytes().take();
      target.variants.push_back(std::move(variant));
    }
  }
  return success();
}
