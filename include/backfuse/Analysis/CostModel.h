//===- CostModel.h - Predict the time of a launch ---------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of a persistent launch: units in K steps, dealt to CTAs as the kernels
// deal them; the CTA with the most decides. Rates and their sources are in
// backfuse/Arch/Rates.h.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_ANALYSIS_COSTMODEL_H
#define BACKFUSE_ANALYSIS_COSTMODEL_H

#include "backfuse/Arch/Rates.h"
#include "backfuse/Arch/Target.h"
#include "dialects/Mlp/IR/MlpLaunchOps.h"
#include "dialects/Mlp/IR/MlpOps.h"

namespace backfuse {

/// Tile sizes of all fused ops of a graph, and the pool of their rings; `tileK` is
/// that of 16-bit operands.
struct TileConfig {
  int64_t tileM = 128, tileN = 128, tileK = 64;
  int64_t slots = 0, slotBytes = 0;
  /// CTAs that share a tile; pools are those of one.
  int64_t ctas = 1;
  /// A pool of its own for entries of drains (0: they share the other), and how
  /// many units' accumulators there are room for.
  int64_t drainSlots = 0, drainSlotBytes = 0, accumulators = 1;
  /// M, N and K (stepK) of the tiles of a fused op: one that is computed transposed has
  /// `tileN` rows and `tileM` columns.
  llvm::SmallVector<int64_t, 3> tileOf(mlp::FusedOp fused) const;
};

/// The configurations that fit into the shared memory of the target for every
/// launch of the graph. Where none does, `why` says of which fused op and why.
llvm::SmallVector<TileConfig> feasibleConfigs(mlp::GraphOp graph,
                                              const arch::Rates &rates,
                                              int64_t smemBytes,
                                              std::string &why);

/// The same for a target with tensor memory: multiply and drain tasks have pools
/// and, where the columns allow it, two sets of accumulators.
llvm::SmallVector<TileConfig>
feasibleTensorMemoryConfigs(mlp::GraphOp graph, const arch::Target &target,
                            std::string &why);

/// Elements of K in a step of `fused`: those of 128 bytes of its operands.
int64_t stepK(mlp::FusedOp fused, const TileConfig &config);

/// Cost of a unit of `fused` beside its K steps, in steps of the configuration.
int64_t unitCost(mlp::FusedOp fused, const TileConfig &config,
                 const arch::Rates &rates);

/// The order in which spaces are dealt: long and variable contractions first.
int64_t dealOrder(mlp::FusedOp fused);

/// Predicted microseconds of a launch with `tokens` for every variable extent
/// and a split count per fused op (in the launch's order).
double predictMicroseconds(mlp::LaunchOp launch, const TileConfig &config,
                           const arch::Rates &rates, int64_t tokens,
                           llvm::ArrayRef<int64_t> splits);

} // namespace backfuse

#endif // BACKFUSE_ANALYSIS_COSTMODEL_H
