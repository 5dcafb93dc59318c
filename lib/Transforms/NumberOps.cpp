//===- NumberOps.cpp - Give products their index in the op list -----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bundle records the graph as a flat list with one entry per op of the
// block. A plan names its products by their place in it, so each product
// remembers its place before variants drop ops and fusion moves them.
// Precondition: the graph holds no sugar.
// Postcondition: each mlp.matmul has mlp.op_index.
//
//===----------------------------------------------------------------------===//
#include "backfuse/Transforms/Passes.h"
#include "backfuse/Transforms/Transforms.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "backfuse-number-ops"

namespace backfuse {
#define GEN_PASS_DEF_NUMBEROPSPASS
#include "backfuse/Transforms/Passes.h.inc"
} // namespace backfuse

using namespace mlir;
using namespace backfuse;

void backfuse::numberOps(mlp::GraphOp graph) {
  Builder builder(graph.getContext());
  for (auto [index, op] : llvm::enumerate(graph.getBody().front()))
    if (isa<mlp::MatmulOp>(op))
      op.setAttr(mlp::MlpDialect::opIndexAttrName,
                 builder.getI64IntegerAttr(index));
}

namespace {
struct NumberOpsPass final : backfuse::impl::NumberOpsPassBase<NumberOpsPass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(verifyNoSugar(getOperation())))
      return signalPassFailure();
    numberOps(getOperation());
  }
};
} // namespace
