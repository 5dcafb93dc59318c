//===- FuseIntoLaunches.cpp - Turn a graph's ops into launches ------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies a FusionPlan: each product becomes a contraction of an mlp.fused, the
// elementwise work around it the region. Precondition: no sugar, no bool
// parameters in use. Postcondition: the graph holds launches and its output
// only.
#include "FusionPlan.h"
#include "backfuse/Transforms/Passes.h"
#include "backfuse/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::mlp;

namespace backfuse {
#define GEN_PASS_DEF_FUSEINTOLAUNCHESPASS
#include "backfuse/Transforms/Passes.h.inc"
} // namespace backfuse

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {
/// Builds the region of one fused op, value by value.
class RegionBuilder {
public:
  RegionBuilder(const FusionPlan &plan, const PlannedFused &fused, Region &body,
                Location loc);

  /// Yields what the plan says, with the values for it.
  void build();

private:
  Value emit(Value value, ElementKind kind);
  Value emitOp(Operation *op, ElementKind kind);

  const PlannedFused &fused;
  Block &block;
  OpBuilder builder;
  Location loc;
  llvm::DenseMap<std::pair<Value, unsigned>, Value> emitted;
};
} // namespace

RegionBuilder::RegionBuilder(const FusionPlan &plan, const PlannedFused &fused,
                             Region &body, Location loc)
    : fused(fused), block(body.emplaceBlock()), builder(body.getContext()),
      loc(loc) {
  SmallVector<Location> productLocs(fused.numAccumulators, loc);
  for (unsigned index : fused.products) {
    const PlannedProduct &product = plan.products[index];
    productLocs[product.accumulator] = product.op->getLoc();
  }
  for (Location productLoc : productLocs)
    block.addArgument(builder.getF32Type(), productLoc);
  for (const auto &[key, from] : fused.loads) {
    auto [value, kind] = key;
    emitted[{value, static_cast<unsigned>(kind)}] =
        block.addArgument(getElementTypeOrSelf(value), value.getLoc());
  }
  builder.setInsertionPointToStart(&block);
}

Value RegionBuilder::emitOp(Operation *op, ElementKind kind) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, emit(operand, kind));
  Operation *clone = builder.clone(*op, mapping);
  Value result = clone->getResult(0);
  result.setType(getElementTypeOrSelf(result));
  return result;
}

Value RegionBuilder::emit(Value value, ElementKind kind) {
  value = stripReshapes(value);
  std::pair<Value, unsigned> key(value, static_cast<unsigned>(kind));
  if (Value known = emitted.lookup(key))
    return known;
  Value result;
  auto accumulator = fused.accumulatorOf.find(value);
  if (auto constant = dyn_cast_or_null<TypedAttr>(getScalarConstant(value))) {
    result = arith::ConstantOp::create(builder, value.getLoc(), constant);
  } else if (accumulator != fused.accumulatorOf.end()) {
    result = block.getArgument(accumulator->second);
    Type type = getElementTypeOrSelf(value);
    if (!type.isF32())
      result = arith::TruncFOp::create(builder, value.getLoc(), type, result);
  } else if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    result = emit(broadcast.getX(),
                  *getBroadcastKind(broadcast, kind, fused.m, fused.n));
  } else {
    result = emitOp(value.getDefiningOp(), kind);
  }
  emitted[key] = result;
  return result;
}

void RegionBuilder::build() {
  SmallVector<Value> values;
  SmallVector<Attribute> kinds;
  for (const PlannedYield &yield : fused.yields) {
    Value value = emit(yield.value, ElementKind::Element);
    // Sums are of f32 values.
    if (yield.kind == YieldKind::SumM && !value.getType().isF32())
      value = arith::ExtFOp::create(builder, yield.value.getLoc(),
                                    builder.getF32Type(), value);
    values.push_back(value);
    kinds.push_back(YieldKindAttr::get(builder.getContext(), yield.kind));
  }
  FusedYieldOp::create(builder, loc, values, builder.getArrayAttr(kinds));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

namespace {
/// Builds the launches of a plan before the graph's output.
class PlanApplier {
public:
  PlanApplier(GraphOp graph, const FusionPlan &plan)
      : graph(graph), plan(plan), builder(graph.getOutput()),
        results(plan.fused.size()) {}
  void run();

private:
  void createLaunch(ArrayRef<unsigned> members);
  FusedOp createFused(const PlannedFused &fused);
  Value getOperand(Value value, const std::optional<PlannedResult> &from);
  Value getResult(const PlannedResult &result);
  Location getLoc(const PlannedFused &fused);

  GraphOp graph;
  const FusionPlan &plan;
  OpBuilder builder;
  /// Per fused op, the launch's results that are its own.
  SmallVector<SmallVector<Value>> results;
};
} // namespace

Location PlanApplier::getLoc(const PlannedFused &fused) {
  SmallVector<Location> locs;
  for (unsigned index : fused.products)
    locs.push_back(plan.products[index].op->getLoc());
  return builder.getFusedLoc(locs);
}

Value PlanApplier::getResult(const PlannedResult &result) {
  const PlannedFused &fused = plan.fused[result.fused];
  unsigned offset = result.isOperandSum ? fused.yields.size() : 0;
  return results[result.fused][offset + result.index];
}

/// A launch's result, or the graph's argument `value`.
Value PlanApplier::getOperand(Value value,
                              const std::optional<PlannedResult> &from) {
  return from ? getResult(*from) : value;
}

FusedOp PlanApplier::createFused(const PlannedFused &fused) {
  MLIRContext *context = builder.getContext();
  SmallVector<Value> contractionOperands, elementOperands;
  SmallVector<Attribute> contractions, kinds, sums;
  for (unsigned index : fused.products) {
    const PlannedProduct &product = plan.products[index];
    contractionOperands.push_back(getOperand(product.a, product.aFrom));
    contractionOperands.push_back(getOperand(product.b, product.bFrom));
    std::optional<int64_t> opIndex;
    if (auto attr =
            product.op->getAttrOfType<IntegerAttr>(MlpDialect::opIndexAttrName))
      opIndex = attr.getInt();
    contractions.push_back(ContractionAttr::get(
        context, product.accumulator, ExtentAttr::get(context, product.k),
        product.aMajor, product.bMajor, product.precision, opIndex));
  }
  for (const auto &[key, from] : fused.loads) {
    elementOperands.push_back(getOperand(key.first, from));
    kinds.push_back(ElementKindAttr::get(context, key.second));
  }
  SmallVector<Type> types;
  for (const PlannedYield &yield : fused.yields)
    types.push_back(yield.type);
  for (const PlannedOperandSum &sum : fused.operandSums) {
    types.push_back(sum.type);
    sums.push_back(OperandSumAttr::get(context, sum.contraction, sum.side));
  }
  Location loc = getLoc(fused);
  auto op = FusedOp::create(
      builder, loc, types, contractionOperands, elementOperands,
      ExtentAttr::get(context, fused.m), ExtentAttr::get(context, fused.n),
      builder.getArrayAttr(contractions), builder.getArrayAttr(kinds),
      builder.getArrayAttr(sums), /*schedule=*/Attribute());
  RegionBuilder(plan, fused, op.getBody(), loc).build();
  return op;
}

void PlanApplier::createLaunch(ArrayRef<unsigned> members) {
  SmallVector<Type> types;
  SmallVector<Location> locs;
  for (unsigned index : members) {
    const PlannedFused &fused = plan.fused[index];
    for (const PlannedYield &yield : fused.yields)
      types.push_back(yield.type);
    for (const PlannedOperandSum &sum : fused.operandSums)
      types.push_back(sum.type);
    locs.push_back(getLoc(fused));
  }
  Location loc = builder.getFusedLoc(locs);
  auto launch = LaunchOp::create(builder, loc, types);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&launch.getBody().emplaceBlock());
  SmallVector<Value> yielded;
  for (unsigned index : members) {
    FusedOp fused = createFused(plan.fused[index]);
    results[index] = llvm::to_vector_of<Value>(
        launch.getResults().slice(yielded.size(), fused.getNumResults()));
    llvm::append_range(yielded, fused.getResults());
  }
  LaunchYieldOp::create(builder, loc, yielded);
}

void PlanApplier::run() {
  for (ArrayRef<unsigned> members : plan.launches)
    createLaunch(members);
  OutputOp output = graph.getOutput();
  for (auto [index, result] : llvm::enumerate(plan.outputs))
    output->setOperand(index, getResult(result));
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(graph.getBody().front())))
    if (!isa<LaunchOp, OutputOp>(op))
      op.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult backfuse::fuseIntoLaunches(GraphOp graph) {
  FailureOr<FusionPlan> plan = planFusion(graph);
  if (failed(plan))
    return failure();
  PlanApplier(graph, *plan).run();
  return success();
}

/// Describes a graph that holds no sugar and uses no bool parameter.
static LogicalResult describeVariant(GraphOp graph, llvm::raw_ostream &os) {
  FailureOr<FusionPlan> plan = planFusion(graph);
  if (failed(plan))
    return failure();
  os << "graph @" << graph.getSymName() << '\n';
  for (auto [index, members] : llvm::enumerate(plan->launches))
    for (auto [place, member] : llvm::enumerate(members)) {
      const PlannedFused &fused = plan->fused[member];
      os << "  launch " << index << ", fused op " << place << ": "
         << fused.m.str() << " x " << fused.n.str() << ", products "
         << fused.products.size() << ", accumulators " << fused.numAccumulators
         << ", element operands " << fused.loads.size() << ", yields "
         << fused.yields.size() << ", operand sums " << fused.operandSums.size()
         << '\n';
    }
  // Ops of one line's expansion may come to the same.
  llvm::StringSet<> printed;
  for (const auto &[op, note] : plan->notes) {
    std::string text;
    llvm::raw_string_ostream line(text);
    if (auto loc = op->getLoc()->findInstanceOf<FileLineColLoc>())
      line << loc.getFilename().getValue() << ':' << loc.getLine() << ':'
           << loc.getColumn() << ": ";
    line << op->getName() << ": " << note;
    if (printed.insert(text).second)
      os << "  " << text << '\n';
  }
  return success();
}

FailureOr<std::string> backfuse::describeFusion(GraphOp graph) {
  // What is refused here is reported when the graph is compiled.
  ScopedDiagnosticHandler quiet(graph.getContext(),
                                [](Diagnostic &) { return success(); });
  OwningOpRef<GraphOp> source(graph.clone());
  expandSugar(*source);
  size_t numFlags = getUsedFlags(*source).size();
  if (numFlags > 4) // More than backfuse-specialize takes.
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  for (unsigned bits = 1u << numFlags; bits-- > 0;) {
    OwningOpRef<GraphOp> variant(source->clone());
    SmallVector<bool> values;
    for (size_t i = 0; i < numFlags; ++i)
      values.push_back(bits >> (numFlags - 1 - i) & 1);
    if (numFlags)
      specialize(*variant, getUsedFlags(*variant), values);
    if (failed(describeVariant(*variant, os)))
      return failure();
  }
  return text;
}

namespace {
struct FuseIntoLaunchesPass final
    : backfuse::impl::FuseIntoLaunchesPassBase<FuseIntoLaunchesPass> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    FailureOr<FusionPlan> plan = planFusion(graph);
    if (failed(plan))
      return signalPassFailure();
    if (report)
      for (const auto &[op, note] : plan->notes)
        op->emitRemark() << note;
    PlanApplier(graph, *plan).run();
  }
};
} // namespace
