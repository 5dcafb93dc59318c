//===- FusionPlan.h - What becomes one mlp.fused and one launch -*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decisions of backfuse-fuse-into-launches, as plain data: made by
// planFusion without touching IR, applied by FuseIntoLaunches.cpp.
//
// Each product has a **home**: the fused op that computes it. An elementwise
// value that depends on a product lives in that home; one that depends on
// inputs only
// (*free*) is computed again wherever it is needed. A value that another fused
// op needs is stored by its home and loaded there.
#ifndef BACKFUSE_LIB_TRANSFORMS_FUSIONPLAN_H
#define BACKFUSE_LIB_TRANSFORMS_FUSIONPLAN_H

#include "dialects/Mlp/IR/MlpLaunchOps.h"
#include "dialects/Mlp/IR/MlpOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <string>
#include <vector>

namespace backfuse {

/// A result of a fused op: of its region's yield, or an operand sum.
struct PlannedResult {
  unsigned fused;
  bool isOperandSum;
  unsigned index;
};

/// A product as an mlp.fused reads it. `a` and `b` are the tensors read:
/// reshapes and casts from 16 bit to f32 change no value and are looked
/// through.
struct PlannedProduct {
  mlp::MatmulOp op;
  mlir::Value a, b;
  /// What holds `a` and `b`, unless they are arguments of the graph.
  std::optional<PlannedResult> aFrom, bFrom;
  mlp::Major aMajor, bMajor;
  mlp::Extent m, n, k;
  /// Null if both operands are 16-bit.
  mlp::PrecisionAttr precision;
  /// Index into FusionPlan::fused, and the accumulator there.
  unsigned fused = 0;
  unsigned accumulator = 0;
};

/// A value that leaves the region: its elements stored, or summed over m.
struct PlannedYield {
  mlp::YieldKind kind;
  mlir::Value value;
  mlir::RankedTensorType type;
};

struct PlannedOperandSum {
  /// Index into PlannedFused::products.
  unsigned contraction;
  mlp::Side side;
  mlir::RankedTensorType type;
};

struct PlannedFused {
  mlp::Extent m, n;
  /// Indices into FusionPlan::products.
  llvm::SmallVector<unsigned> products;
  unsigned numAccumulators = 0;
  /// Where the region starts: products, and f32 sums of products that add into
  /// one accumulator.
  llvm::DenseMap<mlir::Value, unsigned> accumulatorOf;
  llvm::SmallVector<PlannedYield> yields;
  llvm::SmallVector<PlannedOperandSum> operandSums;
  /// The element operands in order: graph arguments and results of other fused
  /// ops.
  llvm::MapVector<std::pair<mlir::Value, mlp::ElementKind>,
                  std::optional<PlannedResult>>
      loads;
  /// Fused ops whose results this one reads.
  llvm::SmallSetVector<unsigned, 4> producers;
  /// Index into FusionPlan::launches, and the place there.
  unsigned launch = 0;
  unsigned place = 0;
};

struct FusionPlan {
  std::vector<PlannedProduct> products;
  std::vector<PlannedFused> fused;
  /// Fused ops per launch, in order of execution.
  llvm::SmallVector<llvm::SmallVector<unsigned>> launches;
  /// Per operand of mlp.output.
  llvm::SmallVector<PlannedResult> outputs;
  /// What was decided about an op, for `--why`, in the graph's order.
  llvm::SmallVector<std::pair<mlir::Operation *, std::string>> notes;
};

/// The value behind mlp.collapse and mlp.expand, whose elements are the same.
mlir::Value stripReshapes(mlir::Value value);

/// How `value`, seen as `kind`, sees the operand of the broadcast that makes
/// it; none if that is no part of the space that an element operand can be.
std::optional<mlp::ElementKind> getBroadcastKind(mlp::BroadcastOp broadcast,
                                                 mlp::ElementKind kind,
                                                 const mlp::Extent &m,
                                                 const mlp::Extent &n);

/// Decides. Reports what it cannot fuse as errors at the ops.
mlir::FailureOr<FusionPlan> planFusion(mlp::GraphOp graph);

} // namespace backfuse

#endif // BACKFUSE_LIB_TRANSFORMS_FUSIONPLAN_H
