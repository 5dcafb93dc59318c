//===- ChainLaunches.cpp - Put dependent launches into one ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precondition: graphs hold conversions and launches only.
// Postcondition: a launch that only multiplies what the launch before it computes
// is part of that one, where a conversion comes before both.
//===----------------------------------------------------------------------===//
#include "backfuse/Transforms/Passes.h"
#include "backfuse/Transforms/Transforms.h"
#include "dialects/Mlp/IR/MlpLaunchOps.h"

#define DEBUG_TYPE "backfuse-chain-launches"

namespace backfuse {
#define GEN_PASS_DEF_CHAINLAUNCHESPASS
#include "backfuse/Transforms/Passes.h.inc"
} // namespace backfuse

using namespace mlir;
using namespace backfuse;

/// Whether `second` reads results of `first` as operands of contractions only.
static bool canChain(mlp::LaunchOp first, mlp::LaunchOp second) {
  bool any = false;
  for (mlp::FusedOp fused : second.getFusedOps())
    for (OpOperand &operand : fused->getOpOperands()) {
      if (operand.get().getDefiningOp() != first)
        continue;
      if (operand.getOperandNumber() >= fused.getContractionOperands().size())
        return false;
      any = true;
    }
  return any;
}

/// Moves the fused ops of `second` into `first`, which it replaces by a launch
/// with the results of both.
static mlp::LaunchOp chain(mlp::LaunchOp first, mlp::LaunchOp second) {
  mlp::LaunchYieldOp firstYield = first.getYield();
  mlp::LaunchYieldOp secondYield = second.getYield();
  for (mlp::FusedOp fused : second.getFusedOps()) {
    for (OpOperand &operand : fused->getOpOperands())
      if (operand.get().getDefiningOp() == first)
        operand.set(firstYield.getValues()[cast<OpResult>(operand.get())
                                               .getResultNumber()]);
    fused->moveBefore(firstYield);
  }
  SmallVector<Value> yielded(firstYield.getValues());
  llvm::append_range(yielded, secondYield.getValues());
  SmallVector<Type> types = llvm::to_vector(ValueRange(yielded).getTypes());
  OpBuilder b(second);
  auto result = mlp::LaunchOp::create(b, first.getLoc(), types);
  result.getBody().takeBody(first.getBody());
  b.setInsertionPoint(firstYield);
  mlp::LaunchYieldOp::create(b, firstYield.getLoc(), yielded);
  firstYield.erase();
  unsigned numFirst = first.getNumResults();
  first.replaceAllUsesWith(result.getResults().take_front(numFirst));
  second.replaceAllUsesWith(result.getResults().drop_front(numFirst));
  second.erase();
  first.erase();
  return result;
}

void backfuse::chainLaunches(mlp::GraphOp graph) {
  bool converts = false;
  mlp::LaunchOp before;
  for (Operation &op :
       llvm::make_early_inc_range(graph.getBody().front().without_terminator())) {
    auto launch = dyn_cast<mlp::LaunchOp>(op);
    if (!launch) {
      converts |= isa<mlp::ConvertOp>(op);
      before = {};
      continue;
    }
    // Signals are cleared by the conversion.
    before = before && converts && canChain(before, launch)
                 ? chain(before, launch)
                 : launch;
  }
}

namespace {
struct ChainLaunchesPass final
    : backfuse::impl::ChainLaunchesPassBase<ChainLaunchesPass> {
  void runOnOperation() override { chainLaunches(getOperation()); }
};
} // namespace
