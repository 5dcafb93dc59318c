//===- Specialize.cpp - Clone graphs per value of each bool parameter -----===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Done before fusion, so that a variant never loads what only the other value
// of a parameter needs.
// Precondition: no sugar, at most 4 used i1 parameters per graph.
// Postcondition: no graph uses an i1 parameter.
//
//===----------------------------------------------------------------------===//
#include "backfuse/Transforms/Passes.h"
#include "backfuse/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "backfuse-specialize"

namespace backfuse {
#define GEN_PASS_DEF_SPECIALIZEPASS
#include "backfuse/Transforms/Passes.h.inc"
} // namespace backfuse

using namespace mlir;
using namespace backfuse;

/// More would make a bundle of more than 2^4 variants per target and schedule.
static constexpr unsigned maxFlags = 4;

SmallVector<BlockArgument> backfuse::getUsedFlags(mlp::GraphOp graph) {
  return llvm::filter_to_vector(graph.getParams(), [](BlockArgument param) {
    return param.getType().isInteger(1) && !param.use_empty();
  });
}

/// The value of an i1 constant, also a splat or broadcast one.
static std::optional<bool> getConstantFlag(Value value) {
  if (!getElementTypeOrSelf(value.getType()).isInteger(1))
    return std::nullopt;
  auto constant =
      dyn_cast_if_present<IntegerAttr>(mlp::getScalarConstant(value));
  return constant ? std::optional<bool>(constant.getValue().isOne())
                  : std::nullopt;
}

/// What the op's result is for sure given constant flags: an operand; else
/// null. Only choices resolve, no op that computes with elements does.
static Value resolve(Operation &op) {
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (select.getTrueValue() == select.getFalseValue())
      return select.getTrueValue();
    std::optional<bool> flag = getConstantFlag(select.getCondition());
    if (!flag)
      return {};
    return *flag ? select.getTrueValue() : select.getFalseValue();
  }
  if (!isa<arith::AndIOp, arith::OrIOp>(op))
    return {};
  Value a = op.getOperand(0), b = op.getOperand(1);
  for (auto [flagOperand, other] : {std::pair(a, b), std::pair(b, a)})
    if (std::optional<bool> flag = getConstantFlag(flagOperand))
      return *flag == isa<arith::AndIOp>(op) ? other : flagOperand;
  return {};
}

/// Replaces each choice that constant flags decide by what is chosen. A graph
/// does not output an argument, so a choice of one that is an output stays,
/// with the argument on both sides.
static void resolveChoices(Block &block) {
  for (Operation &op : block.without_terminator()) {
    Value value = op.getNumResults() == 1 ? resolve(op) : Value();
    if (!value)
      continue;
    op.getResult(0).replaceUsesWithIf(value, [&](OpOperand &use) {
      return !isa<BlockArgument>(value) ||
             use.getOwner() != block.getTerminator();
    });
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      select.getTrueValueMutable().assign(value);
      select.getFalseValueMutable().assign(value);
    }
  }
}

/// Erases what no output needs, users before what they use.
static void eraseDeadOps(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

void backfuse::specialize(mlp::GraphOp graph, ArrayRef<BlockArgument> flags,
                          ArrayRef<bool> values) {
  OpBuilder builder = OpBuilder::atBlockBegin(&graph.getBody().front());
  NamedAttrList assumptions(graph.getAssumptionsAttr());
  std::string name = graph.getSymName().str();
  for (auto [flag, value] : llvm::zip_equal(flags, values)) {
    StringRef flagName = graph.getArgName(flag.getArgNumber());
    name += ("__" + flagName + (value ? "_true" : "_false")).str();
    assumptions.set(flagName, builder.getBoolAttr(value));
    Value constant = arith::ConstantOp::create(builder, flag.getLoc(),
                                               builder.getBoolAttr(value));
    Value(flag).replaceAllUsesWith(constant);
  }
  graph.setSymName(name);
  graph.setAssumptionsAttr(assumptions.getDictionary(graph.getContext()));
  resolveChoices(graph.getBody().front());
  eraseDeadOps(graph.getBody().front());
}

namespace {
struct SpecializePass final
    : backfuse::impl::SpecializePassBase<SpecializePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

/// Checks the pass's precondition.
static LogicalResult verifySpecializable(mlp::GraphOp graph) {
  if (failed(verifyNoSugar(graph)))
    return failure();
  size_t numFlags = getUsedFlags(graph).size();
  if (numFlags > maxFlags)
    return graph.emitOpError("expects to use at most ")
           << maxFlags << " i1 parameters, but uses " << numFlags
           << "; compute a select's condition outside the graph, or split the "
              "graph";
  return success();
}

void SpecializePass::runOnOperation() {
  SymbolTable symbols(getOperation());
  for (auto graph :
       llvm::make_early_inc_range(getOperation().getOps<mlp::GraphOp>())) {
    if (failed(verifySpecializable(graph)))
      return signalPassFailure();
    size_t numFlags = getUsedFlags(graph).size();
    if (numFlags == 0)
      continue;
    // All true first: the variant that does the most work, as a rule.
    for (unsigned bits = 1u << numFlags; bits-- > 0;) {
      mlp::GraphOp clone = graph.clone();
      SmallVector<bool> values;
      for (size_t i = 0; i < numFlags; ++i)
        values.push_back(bits >> (numFlags - 1 - i) & 1);
      specialize(clone, getUsedFlags(clone), values);
      symbols.insert(clone, Block::iterator(graph));
    }
    symbols.erase(graph);
  }
}
