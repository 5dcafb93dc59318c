//===- MlpFolds.cpp - Folds that change no bit ----------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception Only moves of
// elements fold. Nothing here evaluates an op that rounds.
#include "dialects/Mlp/IR/MlpOps.h"

using namespace mlir;
using namespace backfuse::mlp;

/// A broadcast to its own type is its operand.
OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getX().getType() == getResult().getType())
    return getX();
  return {};
}

/// collapse(expand x) is x where the types agree: both keep the row-major
/// order.
OpFoldResult CollapseOp::fold(FoldAdaptor) {
  auto expand = getX().getDefiningOp<ExpandOp>();
  if (expand && expand.getX().getType() == getResult().getType())
    return expand.getX();
  return {};
}

/// expand(collapse x) is x where the types agree.
OpFoldResult ExpandOp::fold(FoldAdaptor) {
  auto collapse = getX().getDefiningOp<CollapseOp>();
  if (collapse && collapse.getX().getType() == getResult().getType())
    return collapse.getX();
  return {};
}
