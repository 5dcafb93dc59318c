//===- Padding.cpp - Rows of zeros between launches -----------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Analysis/Padding.h"
#include "backfuse/Analysis/EntryLayout.h"

using namespace mlir;
using namespace backfuse;

/// The fused op that makes a result of a launch, and which of its results.
static OpResult insideOf(OpResult value) {
  auto launch = dyn_cast<mlp::LaunchOp>(value.getOwner());
  if (!launch)
    return value;
  return cast<OpResult>(launch.getYield().getValues()[value.getResultNumber()]);
}

/// The launch's result that a fused op's becomes.
static Value outsideOf(OpResult value) {
  auto launch = dyn_cast<mlp::LaunchOp>(value.getOwner()->getParentOp());
  if (!launch)
    return value;
  for (auto [result, yielded] :
       llvm::zip(launch.getResults(), launch.getYield().getValues()))
    if (yielded == value)
      return result;
  return value;
}

bool backfuse::isPadded(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result || cast<RankedTensorType>(value.getType()).hasStaticShape())
    return false;
  OpResult inside = insideOf(result);
  if (llvm::any_of(outsideOf(inside).getUsers(), llvm::IsaPred<mlp::OutputOp>))
    return false;
  unsigned number = inside.getResultNumber();
  if (auto convert = dyn_cast<mlp::ConvertOp>(inside.getOwner()))
    return number < convert.getNumCopies();
  auto fused = cast<mlp::FusedOp>(inside.getOwner());
  mlp::FusedYieldOp yield = fused.getYield();
  return isComputedTransposed(fused) && number < yield.getValues().size() &&
         yield.getKind(number) == mlp::YieldKind::Store;
}

int64_t backfuse::paddingOf(Value value,
                            function_ref<int64_t(mlp::FusedOp)> tileRows) {
  if (!isPadded(value))
    return 1;
  OpResult inside = insideOf(cast<OpResult>(value));
  if (auto fused = dyn_cast<mlp::FusedOp>(inside.getOwner()))
    return tileRows(fused);
  constexpr int64_t mostStepRows = 64;
  int64_t rows = mostStepRows;
  inside.getOwner()->getParentOfType<mlp::GraphOp>().walk(
      [&](mlp::FusedOp fused) {
        if (!fused.getM().isFixed())
          rows = std::max(rows, tileRows(fused));
      });
  return rows;
}

bool backfuse::deferredSum(mlp::ConvertOp convert) {
  if (!convert.getSum())
    return false;
  Operation *next = convert->getNextNode();
  while (next && !isa<mlp::LaunchOp>(next))
    next = next->getNextNode();
  return next && llvm::none_of(convert.getOutputs().back().getUsers(),
                               [&](Operation *user) {
                                 return next->isAncestor(user);
                               });
}
