//===- RouteProducts.cpp - How products of f32 operands are computed ------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precondition: graphs hold launches only.
// Postcondition: every contraction has 16-bit operands, or one of f32 and a
// precision that says how it is rounded on its way to the tensor core, or two
// of f32 and precision tf32.
//===----------------------------------------------------------------------===//
#include "backfuse/Transforms/Passes.h"
#include "backfuse/Transforms/Transforms.h"
#include "dialects/Mlp/IR/MlpLaunchOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#define DEBUG_TYPE "backfuse-route-products"

namespace backfuse {
#define GEN_PASS_DEF_ROUTEPRODUCTSPASS
#include "backfuse/Transforms/Passes.h.inc"
} // namespace backfuse

using namespace mlir;
using namespace backfuse;

namespace {
/// In which 16-bit form products read an f32 tensor.
enum class Form { Fp16, Bf16, Split };

/// The copies of a tensor in one form: one, or the two parts of a split.
using Copies = SmallVector<Value, 2>;

/// What is needed of an f32 tensor that products read.
struct Need {
  SetVector<Form> forms;
  /// Sums over all axes but the last that rode on it: results of launches.
  SmallVector<Value> sums;
};
} // namespace

static Form formOf(mlp::Precision precision) {
  switch (precision) {
  case mlp::Precision::Fp16:
    return Form::Fp16;
  case mlp::Precision::Bf16:
    return Form::Bf16;
  default:
    return Form::Split;
  }
}

static Type elementOf(Form form, MLIRContext *context) {
  return form == Form::Fp16 ? Type(Float16Type::get(context))
                            : Type(BFloat16Type::get(context));
}

static bool isF32(Value value) {
  return getElementTypeOrSelf(value.getType()).isF32();
}

//===----------------------------------------------------------------------===//
// Decide
//===----------------------------------------------------------------------===//

/// The precision of a contraction of f32 operands; an error if it has no route.
static FailureOr<mlp::Precision>
precisionOf(mlp::FusedOp fused, unsigned contraction,
            std::optional<mlp::Precision> override) {
  mlp::PrecisionAttr attr = fused.getContraction(contraction).getPrecision();
  mlp::Precision precision =
      override.value_or(attr ? attr.getValue() : mlp::Precision::Ieee);
  if (precision == mlp::Precision::Ieee)
    return fused.emitOpError("asks for a product of precision ieee, which the "
                             "target's tensor cores cannot compute; use tf32, "
                             "bf16x3, fp16 or bf16");
  return precision;
}

namespace {
/// What decides how products are computed.
struct Routes {
  std::optional<mlp::Precision> override;
  bool registerOperands, tf32Operands;

  /// Whether a contraction is computed of f32 operands as they are.
  bool isDirect(mlp::FusedOp fused, unsigned contraction) const {
    mlp::PrecisionAttr attr = fused.getContraction(contraction).getPrecision();
    mlp::Precision precision =
        override.value_or(attr ? attr.getValue() : mlp::Precision::Ieee);
    return tf32Operands && precision == mlp::Precision::Tf32 &&
           isF32(fused.getA(contraction)) && isF32(fused.getB(contraction));
  }
};
} // namespace

/// What a fused op yields as a launch's result, null of an input.
static OpResult insideOf(Value operand) {
  auto launch = operand.getDefiningOp<mlp::LaunchOp>();
  if (!launch)
    return {};
  return cast<OpResult>(
      launch.getYield().getValues()[cast<OpResult>(operand).getResultNumber()]);
}

/// Refuses an operand that cannot have copies in a form, or need not have one
/// and does not fit to those that have.
static LogicalResult checkOperand(mlp::FusedOp fused, Value operand,
                                  mlp::Precision precision) {
  MLIRContext *context = fused.getContext();
  Type element = getElementTypeOrSelf(operand.getType());
  Type expected = elementOf(formOf(precision), context);
  if (!element.isF32()) {
    if (element == expected)
      return success();
    return fused.emitOpError("multiplies ")
           << element << " by f32 with precision "
           << mlp::stringifyPrecision(precision) << ", which reads " << expected
           << " operands; rounding 16-bit operands to another type is not "
              "built yet";
  }
  OpResult inside = insideOf(operand);
  if (!inside)
    return success();
  unsigned number = inside.getResultNumber();
  mlp::FusedYieldOp yield = cast<mlp::FusedOp>(inside.getOwner()).getYield();
  if (number < yield.getValues().size() &&
      yield.getKind(number) == mlp::YieldKind::Store)
    return success();
  return fused.emitOpError("multiplies a column sum of f32, which is not built "
                           "yet; make the sum a graph's output and multiply it "
                           "in another graph");
}

/// Notes what becomes of the sums of f32 operands: mlp.convert takes them.
static LogicalResult collectSums(mlp::FusedOp fused, const Routes &routes,
                                 llvm::MapVector<Value, Need> &needs) {
  auto launch = cast<mlp::LaunchOp>(fused->getParentOp());
  for (unsigned i = 0; i < fused.getNumOperandSums(); ++i) {
    mlp::OperandSumAttr sum = fused.getOperandSum(i);
    Value operand = fused.getOperandOf(sum.getContraction(), sum.getOperand());
    if (!isF32(operand) || routes.isDirect(fused, sum.getContraction()))
      continue;
    if (!isa<BlockArgument>(operand))
      return fused.emitOpError(
          "sums an f32 operand that another launch computes, "
          "which is not built yet; sum it where it is computed");
    mlp::ContractionAttr contraction =
        fused.getContraction(sum.getContraction());
    bool isA = sum.getOperand() == mlp::Side::A;
    auto type = cast<RankedTensorType>(operand.getType());
    Value inside = fused.getOperandSumResults()[i];
    mlp::Extent extent = (isA ? fused.getM() : fused.getN()).getExtent();
    if ((isA ? contraction.getA() : contraction.getB()) !=
            mlp::Major::MnMajor ||
        mlp::getExtent(type, type.getRank() - 1) != extent)
      return fused.emitOpError("sums an f32 operand of type ")
             << type << " to " << extent.str()
             << " values; only its sum over all axes but the last is built yet";
    SmallVector<Value> &sums = needs[operand].sums;
    for (auto [outer, value] :
         llvm::zip(launch.getResults(), launch.getYield().getValues())) {
      if (value != inside)
        continue;
      if (!sums.empty() && sums.front().getType() != outer.getType())
        return fused.emitOpError("sums an f32 operand to ")
               << getElementTypeOrSelf(sums.front().getType()) << " and to "
               << getElementTypeOrSelf(outer.getType())
               << ", which is not built yet; sum it to one type";
      sums.push_back(outer);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Choose the operands that are copied
//===----------------------------------------------------------------------===//

namespace {
/// The f32 tensors that products read as 16-bit copies. A contraction of which
/// one operand is not among them reads that one as f32.
using CopiedTensors = llvm::SetVector<Value>;
} // namespace

/// Bytes of a tensor, for comparisons: a variable dimension counts as this.
static double estimateBytes(Value tensor) {
  constexpr double typicalTokens = 2048;
  auto type = cast<RankedTensorType>(tensor.getType());
  double elements = 1;
  bool variable = false;
  for (int64_t extent : type.getShape())
    if (ShapedType::isDynamic(extent))
      variable = true; // several together are the tokens
    else
      elements *= extent;
  return elements * (variable ? typicalTokens : 1) *
         type.getElementTypeBitWidth() / 8;
}

/// A contraction's f32 operand that is read as f32, if there is one.
static std::optional<mlp::Side> keptSide(mlp::FusedOp fused, unsigned i,
                                         const CopiedTensors &copied) {
  std::optional<mlp::Side> kept;
  for (mlp::Side side : {mlp::Side::A, mlp::Side::B}) {
    Value operand = fused.getOperandOf(i, side);
    if (isF32(operand) && isa<BlockArgument>(operand) &&
        !copied.contains(operand))
      kept = side;
  }
  return kept;
}

/// Adds of the pairs in `edges`, which are products, one tensor each to `copied`,
/// so that their copies are smallest; of many tensors, all.
static void coverEdges(ArrayRef<std::pair<Value, Value>> edges,
                       CopiedTensors &copied) {
  llvm::SetVector<Value> nodes;
  for (auto [a, b] : edges) {
    nodes.insert(a);
    nodes.insert(b);
  }
  constexpr unsigned maxNodes = 16;
  if (nodes.size() > maxNodes) {
    copied.insert(nodes.begin(), nodes.end());
    return;
  }
  unsigned best = 0;
  double bestBytes = std::numeric_limits<double>::infinity();
  for (unsigned set = 0; set < 1u << nodes.size(); ++set) {
    auto contains = [&](Value value) {
      return set >> (llvm::find(nodes, value) - nodes.begin()) & 1;
    };
    if (!llvm::all_of(edges, [&](const std::pair<Value, Value> &edge) {
          return contains(edge.first) || contains(edge.second);
        }))
      continue;
    double bytes = 0;
    for (Value node : nodes)
      bytes += contains(node) ? estimateBytes(node) : 0;
    if (bytes < bestBytes) {
      best = set;
      bestBytes = bytes;
    }
  }
  for (auto [i, node] : llvm::enumerate(nodes))
    if (best >> i & 1)
      copied.insert(node);
}

static CopiedTensors chooseCopied(mlp::GraphOp graph, const Routes &routes) {
  SmallVector<mlp::FusedOp> all;
  graph.walk([&](mlp::FusedOp fused) { all.push_back(fused); });
  auto forEachF32 = [&](mlp::FusedOp fused, auto &&body) {
    for (unsigned i = 0; i < fused.getNumContractions(); ++i)
      for (mlp::Side side : {mlp::Side::A, mlp::Side::B})
        if (isF32(fused.getOperandOf(i, side)) && !routes.isDirect(fused, i))
          body(fused.getOperandOf(i, side));
  };
  CopiedTensors copied;
  for (mlp::FusedOp fused : all) {
    // A launch stores what it computes in the form that products read.
    forEachF32(fused, [&](Value operand) {
      if (!routes.registerOperands || !isa<BlockArgument>(operand))
        copied.insert(operand);
    });
    // mlp.convert sums what it copies.
    for (unsigned i = 0; i < fused.getNumOperandSums(); ++i) {
      mlp::OperandSumAttr sum = fused.getOperandSum(i);
      Value operand = fused.getOperandOf(sum.getContraction(), sum.getOperand());
      if (isF32(operand) && !routes.isDirect(fused, sum.getContraction()))
        copied.insert(operand);
    }
  }
  // A fused op whose contractions do not all leave the same side as f32 reads
  // copies only: its tile would be both as it is and transposed.
  for (bool again = true; again;) {
    again = false;
    SmallVector<std::pair<Value, Value>> edges;
    for (mlp::FusedOp fused : all)
      for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
        Value a = fused.getA(i), b = fused.getB(i);
        if (isF32(a) && isF32(b) && !routes.isDirect(fused, i) &&
            !copied.contains(a) && !copied.contains(b))
          edges.push_back({a, b});
      }
    CopiedTensors chosen = copied;
    coverEdges(edges, chosen);
    for (mlp::FusedOp fused : all) {
      std::optional<mlp::Side> first = keptSide(fused, 0, chosen);
      bool alike = true;
      for (unsigned i = 1; i < fused.getNumContractions(); ++i)
        alike &= keptSide(fused, i, chosen) == first;
      if (!alike)
        forEachF32(fused, [&](Value operand) {
          again |= copied.insert(operand);
        });
    }
    if (!again)
      copied = chosen;
  }
  return copied;
}

/// Refuses copies of an operand whose rows are none of whole 16 bytes, as they
/// are written (by mlp.convert or in an epilogue) or as the product reads them.
static LogicalResult checkCopyRows(mlp::FusedOp fused, unsigned contraction,
                                   mlp::Side side, mlp::Precision precision) {
  mlp::ContractionAttr attr = fused.getContraction(contraction);
  bool isA = side == mlp::Side::A;
  Value operand = fused.getOperandOf(contraction, side);
  auto type = cast<RankedTensorType>(operand.getType());
  OpResult inside = insideOf(operand);
  mlp::Extent written =
      inside ? cast<mlp::FusedOp>(inside.getOwner()).getN().getExtent()
             : mlp::getExtent(type, type.getRank() - 1);
  mlp::Extent read =
      ((isA ? attr.getA() : attr.getB()) == mlp::Major::KMajor ? attr.getK()
       : isA                                                   ? fused.getM()
                                                               : fused.getN())
          .getExtent();
  constexpr int64_t multiple = 16 / 2; // bytes of rows, and of an element
  for (const mlp::Extent &columns : {written, read}) {
    if (!columns.isFixed() || columns.factor % multiple == 0)
      continue;
    InFlightDiagnostic error =
        fused.emitOpError("multiplies 16-bit copies of ");
    if (auto input = dyn_cast<BlockArgument>(operand))
      error << "the f32 input '"
            << fused->getParentOfType<mlp::GraphOp>().getArgName(
                   input.getArgNumber())
            << "'";
    else
      error << "a computed f32 operand";
    return error << " of type " << type << " (precision "
                 << mlp::stringifyPrecision(precision) << "); rows of "
                 << columns.factor
                 << " 16-bit elements are not a multiple of 16 bytes: pad them "
                    "to a multiple of "
                 << multiple << " elements";
  }
  return success();
}

static FailureOr<llvm::MapVector<Value, Need>>
collectNeeds(mlp::GraphOp graph, const Routes &routes,
             const CopiedTensors &copied) {
  llvm::MapVector<Value, Need> needs;
  WalkResult result = graph.walk([&](mlp::FusedOp fused) {
    for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
      if (!isF32(fused.getA(i)) && !isF32(fused.getB(i)))
        continue;
      FailureOr<mlp::Precision> precision =
          precisionOf(fused, i, routes.override);
      if (failed(precision))
        return WalkResult::interrupt();
      for (mlp::Side side : {mlp::Side::A, mlp::Side::B}) {
        Value operand = fused.getOperandOf(i, side);
        if (failed(checkOperand(fused, operand, *precision)))
          return WalkResult::interrupt();
        if (isF32(operand) && copied.contains(operand) &&
            !routes.isDirect(fused, i)) {
          if (failed(checkCopyRows(fused, i, side, *precision)))
            return WalkResult::interrupt();
          needs[operand].forms.insert(formOf(*precision));
        }
      }
    }
    return failed(collectSums(fused, routes, needs)) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return needs;
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

namespace {
class RouteRewriter {
public:
  RouteRewriter(mlp::GraphOp graph, llvm::MapVector<Value, Need> needs,
                const Routes &routes, const CopiedTensors &copied)
      : graph(graph), needs(std::move(needs)), routes(routes), copied(copied),
        b(graph.getContext()) {}

  void rewrite();

private:
  void convertInput(Value input, Need &need);
  void rewriteLaunch(mlp::LaunchOp launch);
  mlp::FusedOp rewriteFused(mlp::FusedOp fused,
                            SmallVectorImpl<Value> &oldResults,
                            SmallVectorImpl<std::pair<Value, Form>> &copies);
  RankedTensorType copyType(Value value, Form form) {
    return cast<RankedTensorType>(value.getType())
        .clone(elementOf(form, graph.getContext()));
  }
  /// The launch's result that a fused op's result becomes.
  static Value outerResult(Value inside) {
    auto launch = cast<mlp::LaunchOp>(inside.getDefiningOp()->getParentOp());
    for (auto [outer, value] :
         llvm::zip(launch.getResults(), launch.getYield().getValues()))
      if (value == inside)
        return outer;
    return {};
  }
  /// Whether something but a product of copies reads the f32 tensor itself.
  bool isReadAsF32(Value value) {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) {
      auto fused = dyn_cast<mlp::FusedOp>(use.getOwner());
      unsigned number = use.getOperandNumber();
      return !fused || number >= fused.getContractionOperands().size() ||
             routes.isDirect(fused, number / 2);
    });
  }

  mlp::GraphOp graph;
  llvm::MapVector<Value, Need> needs;
  const Routes &routes;
  const CopiedTensors &copied;
  OpBuilder b;
  llvm::MapVector<std::pair<Value, int>, Copies> copies;
  SmallVector<mlp::LaunchOp> replaced;
};
} // namespace

void RouteRewriter::convertInput(Value input, Need &need) {
  bool first = true;
  for (Form form : need.forms) {
    SmallVector<Type> types(form == Form::Split ? 2 : 1, copyType(input, form));
    bool sum = first && !need.sums.empty();
    if (sum)
      types.push_back(need.sums.front().getType());
    auto convert = mlp::ConvertOp::create(b, graph.getLoc(), types, input, sum);
    unsigned count = convert.getNumCopies();
    copies[{input, int(form)}] =
        llvm::to_vector_of<Value, 2>(convert.getOutputs().take_front(count));
    if (sum)
      for (Value old : need.sums)
        old.replaceAllUsesWith(convert.getOutputs().back());
    first = false;
  }
}

/// The products of parts that make up one product: all but low times low.
static SmallVector<std::pair<Value, Value>> pairParts(ArrayRef<Value> a,
                                                      ArrayRef<Value> b) {
  SmallVector<std::pair<Value, Value>> pairs;
  for (auto [i, x] : llvm::enumerate(a))
    for (auto [j, y] : llvm::enumerate(b))
      if (i + j < 2)
        pairs.push_back({x, y});
  return pairs;
}

mlp::FusedOp
RouteRewriter::rewriteFused(mlp::FusedOp fused,
                            SmallVectorImpl<Value> &oldResults,
                            SmallVectorImpl<std::pair<Value, Form>> &stored) {
  MLIRContext *context = graph.getContext();
  SmallVector<Value> operands;
  SmallVector<Attribute> contractions, sums;
  SmallVector<unsigned> firstTerm;
  for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
    mlp::ContractionAttr attr = fused.getContraction(i);
    firstTerm.push_back(contractions.size());
    Value a = fused.getA(i), bOperand = fused.getB(i);
    Copies partsA{a}, partsB{bOperand};
    if (routes.isDirect(fused, i)) {
      operands.append({a, bOperand});
      contractions.push_back(mlp::ContractionAttr::get(
          context, attr.getAcc(), attr.getK(), attr.getA(), attr.getB(),
          mlp::PrecisionAttr::get(context, mlp::Precision::Tf32),
          attr.getOpIndex()));
      continue;
    }
    std::optional<mlp::Side> kept = keptSide(fused, i, copied);
    Form form = Form::Split;
    if (isF32(a) || isF32(bOperand)) {
      form = formOf(*precisionOf(fused, i, routes.override));
      if (isF32(a) && kept != mlp::Side::A)
        partsA = copies[{a, int(form)}];
      if (isF32(bOperand) && kept != mlp::Side::B)
        partsB = copies[{bOperand, int(form)}];
    }
    for (auto [part, pair] : llvm::enumerate(pairParts(partsA, partsB))) {
      operands.append({pair.first, pair.second});
      mlp::PrecisionAttr precision;
      if (kept)
        precision = mlp::PrecisionAttr::get(
            context, form == Form::Fp16                 ? mlp::Precision::Fp16
                     : form == Form::Split && part == 0 ? mlp::Precision::Bf16x3
                                                        : mlp::Precision::Bf16);
      contractions.push_back(mlp::ContractionAttr::get(
          context, attr.getAcc(), attr.getK(), attr.getA(), attr.getB(),
          precision, attr.getOpIndex()));
    }
  }
  // Yields: those that are still read, each with its copies after it.
  mlp::FusedYieldOp yield = fused.getYield();
  SmallVector<Type> types;
  SmallVector<Value> values;
  SmallVector<Attribute> kinds;
  b.setInsertionPoint(yield);
  Location loc = yield.getLoc();
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    Value inside = fused.getYieldResults()[i];
    Value outer = outerResult(inside);
    auto need = needs.find(outer);
    if (need == needs.end() || isReadAsF32(outer)) {
      types.push_back(inside.getType());
      values.push_back(value);
      kinds.push_back(yield.getKinds()[i]);
      oldResults.push_back(outer);
    }
    if (need == needs.end())
      continue;
    for (Form form : need->second.forms) {
      Type element = elementOf(form, context);
      Value clamped = value;
      if (form == Form::Split) {
        // What rounds to infinity would leave an infinite rest.
        constexpr float largest = 0x1.fep127f;
        Value limit =
            arith::ConstantOp::create(b, loc, b.getF32FloatAttr(largest));
        Value lower =
            arith::ConstantOp::create(b, loc, b.getF32FloatAttr(-largest));
        clamped = arith::MaximumFOp::create(b, loc, value, lower);
        clamped = arith::MinimumFOp::create(b, loc, clamped, limit);
      }
      Value high = arith::TruncFOp::create(b, loc, element, clamped);
      SmallVector<Value, 2> parts{high};
      if (form == Form::Split) {
        Value back = arith::ExtFOp::create(b, loc, b.getF32Type(), high);
        Value rest = arith::SubFOp::create(b, loc, value, back);
        parts.push_back(arith::TruncFOp::create(b, loc, element, rest));
      }
      for (Value part : parts) {
        types.push_back(copyType(outer, form));
        values.push_back(part);
        kinds.push_back(
            mlp::YieldKindAttr::get(context, mlp::YieldKind::Store));
        oldResults.push_back(Value());
        stored.push_back({outer, form});
      }
    }
  }
  for (unsigned i = 0; i < fused.getNumOperandSums(); ++i) {
    mlp::OperandSumAttr sum = fused.getOperandSum(i);
    if (isF32(fused.getOperandOf(sum.getContraction(), sum.getOperand())) &&
        !routes.isDirect(fused, sum.getContraction()))
      continue; // mlp.convert sums it
    sums.push_back(mlp::OperandSumAttr::get(
        context, firstTerm[sum.getContraction()], sum.getOperand()));
    Value inside = fused.getOperandSumResults()[i];
    types.push_back(inside.getType());
    oldResults.push_back(outerResult(inside));
  }
  b.setInsertionPoint(yield);
  mlp::FusedYieldOp::create(b, loc, values, b.getArrayAttr(kinds));
  yield.erase();

  b.setInsertionPoint(fused);
  auto result = mlp::FusedOp::create(
      b, fused.getLoc(), types, operands, fused.getElementOperands(),
      fused.getMAttr(), fused.getNAttr(), b.getArrayAttr(contractions),
      fused.getElementKindsAttr(), b.getArrayAttr(sums), Attribute());
  result.getBody().takeBody(fused.getBody());
  return result;
}

void RouteRewriter::rewriteLaunch(mlp::LaunchOp launch) {
  SmallVector<Value> old;
  SmallVector<std::pair<Value, Form>> stored;
  SmallVector<mlp::FusedOp> dead = launch.getFusedOps();
  SmallVector<Type> types;
  SmallVector<Value> yielded;
  for (mlp::FusedOp fused : dead) {
    mlp::FusedOp routed = rewriteFused(fused, old, stored);
    llvm::append_range(types, routed->getResultTypes());
    llvm::append_range(yielded, routed->getResults());
  }
  b.setInsertionPoint(launch);
  auto result = mlp::LaunchOp::create(b, launch.getLoc(), types);
  result.getBody().takeBody(launch.getBody());
  mlp::LaunchYieldOp yield = result.getYield();
  b.setInsertionPoint(yield);
  mlp::LaunchYieldOp::create(b, yield.getLoc(), yielded);
  yield.erase();
  for (mlp::FusedOp fused : dead)
    fused.erase();
  // Copies follow the tensor itself, where it is still read. Later products
  // then read the new launch's result in its place, and find its copies.
  unsigned copy = 0;
  DenseMap<Value, Value> renamed;
  for (auto [outer, before] : llvm::zip(result.getResults(), old)) {
    if (before) {
      before.replaceAllUsesWith(outer);
      renamed[before] = outer;
      continue;
    }
    auto [tensor, form] = stored[copy++];
    auto it = renamed.find(tensor);
    Value key = it == renamed.end() ? tensor : it->second;
    copies[{key, int(form)}].push_back(outer);
  }
  replaced.push_back(launch);
}

void RouteRewriter::rewrite() {
  Block &body = graph.getBody().front();
  b.setInsertionPointToStart(&body);
  for (auto &[value, need] : needs)
    if (isa<BlockArgument>(value))
      convertInput(value, need);
  for (mlp::LaunchOp launch : llvm::to_vector(body.getOps<mlp::LaunchOp>()))
    rewriteLaunch(launch);
  // Results that nothing reads any more go with the launches they were of.
  for (mlp::LaunchOp launch : replaced)
    launch.erase();
}

/// Each result of a fused op is one result of its launch.
static LogicalResult checkYields(mlp::LaunchOp launch) {
  llvm::SmallDenseSet<Value> yielded;
  for (Value value : launch.getYield().getValues())
    if (!yielded.insert(value).second)
      return launch.emitOpError("yields a result of a fused op twice");
  for (mlp::FusedOp fused : launch.getFusedOps())
    for (Value result : fused.getResults())
      if (!yielded.contains(result))
        return fused.emitOpError("has a result that its launch does not yield");
  return success();
}

LogicalResult backfuse::routeProducts(mlp::GraphOp graph, bool registerOperands,
                                      bool tf32Operands,
                                      std::optional<mlp::Precision> precision) {
  for (Operation &op : graph.getBody().front().without_terminator()) {
    auto launch = dyn_cast<mlp::LaunchOp>(op);
    if (!launch)
      return op.emitOpError("is not in a launch (backfuse-fuse-into-launches "
                            "puts it into one)");
    if (failed(checkYields(launch)))
      return failure();
  }
  Routes routes{precision, registerOperands, tf32Operands};
  CopiedTensors copied = chooseCopied(graph, routes);
  FailureOr<llvm::MapVector<Value, Need>> needs =
      collectNeeds(graph, routes, copied);
  if (failed(needs))
    return failure();
  bool anyF32 = false;
  graph.walk([&](mlp::FusedOp fused) {
    for (Value operand : fused.getContractionOperands())
      anyF32 |= isF32(operand);
  });
  if (anyF32)
    RouteRewriter(graph, std::move(*needs), routes, copied).rewrite();
  return success();
}

namespace {
struct RouteProductsPass final
    : backfuse::impl::RouteProductsPassBase<RouteProductsPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<mlp::Precision> override;
    if (!precision.empty()) {
      override = mlp::symbolizePrecision(precision);
      if (!override) {
        getOperation().emitError("unknown precision '") << precision << "'";
        return signalPassFailure();
      }
    }
    if (failed(routeProducts(getOperation(), registerOperands, tf32Operands,
                             override)))
      signalPassFailure();
  }
};
} // namespace
