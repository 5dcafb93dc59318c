//===- GraphExport.cpp - A graph as the bundle's flat op list -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backfuse/Target/Bundle/GraphExport.h"

#include "dialects/Mlp/IR/MlpOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

#include "runtime/bundle_generated.h"

using namespace mlir;
using namespace backfuse;

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

/// The kind of a comparison; GraphOp's verifier refuses other predicates.
static bundle::OpKind getKind(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OLT:
    return bundle::OpKind::CmpOlt;
  case arith::CmpFPredicate::OLE:
    return bundle::OpKind::CmpOle;
  case arith::CmpFPredicate::OGT:
    return bundle::OpKind::CmpOgt;
  case arith::CmpFPredicate::OGE:
    return bundle::OpKind::CmpOge;
  case arith::CmpFPredicate::OEQ:
    return bundle::OpKind::CmpOeq;
  case arith::CmpFPredicate::UNE:
    return bundle::OpKind::CmpUne;
  default:
    llvm_unreachable("refused by the verifier");
  }
}

/// The kind of an op that a graph without sugar may hold; none for others.
static std::optional<bundle::OpKind> getKind(Operation *op) {
  using bundle::OpKind;
  using Kind = std::optional<OpKind>;
  return TypeSwitch<Operation *, Kind>(op)
      .Case([](arith::NegFOp) { return OpKind::Neg; })
      .Case([](math::AbsFOp) { return OpKind::Abs; })
      .Case([](math::ExpOp) { return OpKind::Exp; })
      .Case([](math::Exp2Op) { return OpKind::Exp2; })
      .Case([](math::LogOp) { return OpKind::Log; })
      .Case([](math::SqrtOp) { return OpKind::Sqrt; })
      .Case([](math::RsqrtOp) { return OpKind::Rsqrt; })
      .Case([](math::TanhOp) { return OpKind::Tanh; })
      .Case([](math::ErfOp) { return OpKind::Erf; })
      .Case([](mlp::SigmoidOp) { return OpKind::Sigmoid; })
      .Case([](mlp::GeluOp gelu) {
        return gelu.getForm() == mlp::GeluForm::Tanh ? OpKind::GeluTanh
                                                     : OpKind::GeluErf;
      })
      .Case([](mlp::SiluOp) { return OpKind::Silu; })
      .Case([](mlp::ReluOp) { return OpKind::Relu; })
      .Case<arith::ExtFOp, arith::TruncFOp>([](auto) { return OpKind::Cast; })
      .Case([](arith::AddFOp) { return OpKind::Add; })
      .Case([](arith::SubFOp) { return OpKind::Sub; })
      .Case([](arith::MulFOp) { return OpKind::Mul; })
      .Case([](arith::DivFOp) { return OpKind::Div; })
      .Case([](arith::MaximumFOp) { return OpKind::Maximum; })
      .Case([](arith::MinimumFOp) { return OpKind::Minimum; })
      .Case([](arith::MaxNumFOp) { return OpKind::MaxNum; })
      .Case([](arith::MinNumFOp) { return OpKind::MinNum; })
      .Case([](arith::CmpFOp cmp) { return getKind(cmp.getPredicate()); })
      .Case([](arith::AndIOp) { return OpKind::And; })
      .Case([](arith::OrIOp) { return OpKind::Or; })
      .Case([](arith::SelectOp) { return OpKind::Select; })
      .Case([](arith::ConstantOp) { return OpKind::Constant; })
      .Case([](mlp::BroadcastOp) { return OpKind::Broadcast; })
      .Case<mlp::CollapseOp, mlp::ExpandOp>(
          [](auto) { return OpKind::Reshape; })
      .Case([](mlp::SumOp) { return OpKind::Sum; })
      .Case([](mlp::MatmulOp) { return OpKind::Matmul; })
      .Default(Kind());
}

static bundle::Precision getPrecision(mlp::MatmulOp op) {
  if (!op.getPrecision())
    return bundle::Precision::Native;
  switch (*op.getPrecision()) {
  case mlp::Precision::Ieee:
    return bundle::Precision::Ieee;
  case mlp::Precision::Tf32:
    return bundle::Precision::Tf32;
  case mlp::Precision::Bf16x3:
    return bundle::Precision::Bf16x3;
  case mlp::Precision::Fp16:
    return bundle::Precision::Fp16;
  case mlp::Precision::Bf16:
    return bundle::Precision::Bf16;
  }
  llvm_unreachable("unknown precision");
}

//===----------------------------------------------------------------------===//
// Types and places
//===----------------------------------------------------------------------===//

static bundle::DType getDType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isF32())
    return bundle::DType::F32;
  if (element.isBF16())
    return bundle::DType::BF16;
  return element.isF16() ? bundle::DType::F16 : bundle::DType::I1;
}

/// "file:line:column" of the innermost place in a file; empty if there is none.
static std::string getPlace(Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  if (!place)
    return "";
  return (place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" +
          Twine(place.getColumn()))
      .str();
}

namespace {
/// Numbers the values of one graph while it is written.
class GraphWriter {
public:
  GraphWriter(mlp::GraphOp graph, bundle::GraphT &out)
      : graph(graph), out(out), dimNames(graph.getDimNames()) {}

  LogicalResult write();

private:
  LogicalResult writeValue(Operation *user, Value value, StringRef name);
  LogicalResult writeArguments();
  LogicalResult writeOp(Operation &op);
  void writeAttributes(Operation &op, bundle::OpT &entry);
  void writeOutputs();

  mlp::GraphOp graph;
  bundle::GraphT &out;
  SmallVector<StringRef> dimNames;
  DenseMap<Value, uint32_t> numbers;
};
} // namespace

/// Adds the value with its type. Errors are about `user`.
LogicalResult GraphWriter::writeValue(Operation *user, Value value,
                                      StringRef name) {
  auto type = std::make_unique<bundle::TensorTypeT>();
  type->dtype = getDType(value.getType());
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  for (const mlp::Extent &extent :
       tensor ? mlp::getExtents(tensor) : SmallVector<mlp::Extent>()) {
    if (extent.isFixed()) {
      type->extents.emplace_back(extent.factor, -1);
      continue;
    }
    if (extent.factor != 1 || extent.names.size() != 1)
      return user->emitOpError("has an extent of ")
             << extent.str()
             << ", which a bundle cannot record yet; keep the axes apart "
                "(mlp.matmul and mlp.sum take several leading axes)";
    auto *dim = llvm::find(dimNames, extent.names.front());
    type->extents.emplace_back(0, int32_t(dim - dimNames.begin()));
  }
  numbers[value] = out.values.size();
  out.values.push_back(std::make_unique<bundle::ValueT>());
  out.values.back()->type = std::move(type);
  out.values.back()->name = name.str();
  return success();
}

static std::unique_ptr<bundle::ArgumentT> makeArgument(StringRef name,
                                                       uint32_t value) {
  auto argument = std::make_unique<bundle::ArgumentT>();
  argument->name = name.str();
  argument->value = value;
  return argument;
}

LogicalResult GraphWriter::writeArguments() {
  for (BlockArgument argument : graph.getBody().getArguments()) {
    StringRef name = graph.getArgName(argument.getArgNumber());
    if (failed(writeValue(graph, argument, name)))
      return failure();
    auto &list =
        isa<RankedTensorType>(argument.getType()) ? out.inputs : out.params;
    list.push_back(makeArgument(name, numbers[argument]));
  }
  return success();
}

/// The constant's number, which the evaluator rounds to the result's type
/// again.
static double getNumber(arith::ConstantOp op) {
  APFloat value =
      cast<FloatAttr>(mlp::getScalarConstant(op.getResult())).getValue();
  bool losesInfo = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

void GraphWriter::writeAttributes(Operation &op, bundle::OpT &entry) {
  TypeSwitch<Operation *>(&op)
      .Case([&](arith::ConstantOp constant) {
        entry.scalar = getNumber(constant);
      })
      .Case([&](mlp::BroadcastOp broadcast) {
        llvm::append_range(entry.dims, broadcast.getDims());
      })
      .Case([&](mlp::SumOp sum) {
        llvm::append_range(entry.dims, sum.getAxes());
      })
      .Case([&](mlp::MatmulOp matmul) {
        llvm::append_range(entry.a_contract, matmul.getAContract());
        llvm::append_range(entry.b_contract, matmul.getBContract());
        entry.precision = getPrecision(matmul);
      });
}

LogicalResult GraphWriter::writeOp(Operation &op) {
  std::optional<bundle::OpKind> kind = getKind(&op);
  if (!kind)
    return op.emitOpError("has no place in a bundle's op list; export the "
                          "graph after backfuse-expand-sugar and before "
                          "backfuse-fuse-into-launches");
  if (*kind == bundle::OpKind::Constant &&
      getElementTypeOrSelf(op.getResult(0)).isInteger(1))
    return op.emitOpError("is an i1 constant, which a bundle cannot record; "
                          "write the graph without it");
  auto entry = std::make_unique<bundle::OpT>();
  entry->kind = *kind;
  for (Value operand : op.getOperands())
    entry->operands.push_back(numbers.at(operand));
  if (failed(writeValue(&op, op.getResult(0), "")))
    return failure();
  entry->result = numbers[op.getResult(0)];
  entry->afn = mlp::allowsApproximation(&op);
  entry->location = getPlace(op.getLoc());
  writeAttributes(op, *entry);
  out.ops.push_back(std::move(entry));
  return success();
}

void GraphWriter::writeOutputs() {
  mlp::OutputOp output = graph.getOutput();
  for (auto [index, value] : llvm::enumerate(output.getOperands())) {
    uint32_t number = numbers.at(value);
    StringRef name = output.getName(index);
    out.values[number]->name = name.str();
    out.outputs.push_back(makeArgument(name, number));
  }
}

LogicalResult GraphWriter::write() {
  out.name = graph.getSymName().str();
  for (StringRef name : dimNames)
    out.dims.push_back(name.str());
  if (failed(writeArguments()))
    return failure();
  for (Operation &op : graph.getBody().front().without_terminator())
    if (failed(writeOp(op)))
      return failure();
  writeOutputs();
  return success();
}

LogicalResult backfuse::exportGraph(mlp::GraphOp graph, bundle::GraphT &out) {
  return GraphWriter(graph, out).write();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static std::string describe(const bundle::GraphT &graph, uint32_t value) {
  const bundle::TensorTypeT &type = *graph.values[value]->type;
  std::string text = bundle::EnumNameDType(type.dtype);
  text = StringRef(text).lower() + "[";
  for (auto [index, extent] : llvm::enumerate(type.extents)) {
    text += index == 0 ? "" : ", ";
    text += extent.dim() < 0 ? std::to_string(extent.fixed())
                             : graph.dims[extent.dim()];
  }
  return text + "]";
}

template <typename Numbers>
static void printNumbers(raw_ostream &os, StringRef what,
                         const Numbers &numbers) {
  if (numbers.empty())
    return;
  os << ' ' << what << " [";
  llvm::interleaveComma(numbers, os);
  os << ']';
}

static void printOp(const bundle::GraphT &graph, const bundle::OpT &op,
                    raw_ostream &os) {
  os << '%' << op.result << ": " << describe(graph, op.result) << " = "
     << bundle::EnumNameOpKind(op.kind);
  llvm::interleave(
      op.operands, os, [&](uint32_t value) { os << " %" << value; }, ",");
  if (op.kind == bundle::OpKind::Constant)
    os << llvm::format(" %.17g", op.scalar);
  printNumbers(os, "dims", op.dims);
  printNumbers(os, "contract", op.a_contract);
  printNumbers(os, "with", op.b_contract);
  if (op.precision != bundle::Precision::Native)
    os << " precision " << bundle::EnumNamePrecision(op.precision);
  if (op.afn)
    os << " afn";
  if (!op.location.empty())
    os << "  at " << op.location;
}

void backfuse::printGraph(const bundle::GraphT &graph, raw_ostream &os) {
  os << "graph @" << graph.name;
  printNumbers(os, "dims", graph.dims);
  os << '\n';
  for (const auto &input : graph.inputs)
    os << "  input %" << input->value << ": " << describe(graph, input->value)
       << ' ' << input->name << '\n';
  for (const auto &param : graph.params)
    os << "  param %" << param->value << ": " << describe(graph, param->value)
       << ' ' << param->name << '\n';
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    os << "  op " << index << ": ";
    printOp(graph, *op, os);
    os << '\n';
  }
  for (const auto &output : graph.outputs)
    os << "  output %" << output->value << ' ' << output->name << '\n';
}
