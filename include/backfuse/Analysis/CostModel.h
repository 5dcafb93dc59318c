//===- CostModel.h - Predict the time of a launch ---------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of a persistent launch: units of work are dealt to CTAs as the
// kernels deal them, and the CTA with the most decides, unless device memory
// does. A unit is its K steps, each as long as the tensor core or the operands'
// way from L2 takes, then its drain: after the steps where accumulators are in
// registers, beside those of the next unit where there are two sets of them
// (tensor memory). Rates and their sources are in backfuse/Arch/Rates.h;
// docs/cost-model.md says how well the model meets what was measured.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_ANALYSIS_COSTMODEL_H
#define BACKFUSE_ANALYSIS_COSTMODEL_H

#include "backfuse/Arch/Rates.h"
#include "backfuse/Arch/Target.h"
#include "backfuse/Arch/TensorCores.h"
#include "dialects/Mlp/IR/MlpLaunchOps.h"
#include "dialects/Mlp/IR/MlpOps.h"

namespace backfuse {

/// Tile sizes of all fused ops of a graph, and the pool of their rings.
struct TileConfig {
  /// M of one CTA, and N; K of 16-bit operands.
  int64_t tileM = arch::ctaTileRows, tileN = 128, tileK = 64;
  int64_t slots = 0, slotBytes = 0;
  /// A pool of its own for entries of drains (0: they share the other), and how
  /// many units' accumulators there are room for.
  int64_t drainSlots = 0, drainSlotBytes = 0, accumulators = 1;
  /// CTAs that multiply together (cta_group): each loads its part of B. Pools
  /// are those of one.
  int64_t ctaGroup = 1;
  /// M, N and K (stepK) of the tiles of a fused op: one that is computed
  /// transposed has `tileN` rows and `tileM` columns.
  llvm::SmallVector<int64_t, 3> tileOf(mlp::FusedOp fused) const;
};

/// What decides the time of a kernel.
enum class Bound {
  Launch,  ///< starting it and getting the first operands
  Memory,  ///< device memory
  Tensor,  ///< the tensor core
  L2,      ///< operands on their way to shared memory
  Drain,   ///< arithmetic on accumulators, reading and storing elements
  HandOver ///< beginning units, joining splits
};

/// "launch", "device memory", ...
llvm::StringRef stringifyBound(Bound bound);

/// What the model says of one kernel.
struct KernelCost {
  std::string name;
  /// Bytes through device memory, each tensor counted once.
  double bytesRead = 0, bytesWritten = 0;
  /// Multiplications and additions, by what is multiplied.
  double f16Operations = 0, bf16Operations = 0, tf32Operations = 0;
  /// The same of whole tiles, as the tensor core carries them out.
  double tileOperations = 0;
  /// Units of work, the CTAs that take them, and what the busiest CTA has in
  /// proportion to the average.
  int64_t units = 0, ctas = 0;
  double imbalance = 1;
  /// Microseconds: what binds where, before the largest is taken. Those of
  /// tensor core, L2, drain and hand-overs are of the busiest CTA and add up.
  double launchMicroseconds = 0, memoryMicroseconds = 0;
  double tensorMicroseconds = 0, l2Microseconds = 0, drainMicroseconds = 0,
         handOverMicroseconds = 0;
  double microseconds = 0;
  Bound bound = Bound::Launch;

  /// Units per CTA.
  double waves() const { return ctas ? double(units) / ctas : 0; }
};

/// Gives a (fixed or variable) extent its value.
using ExtentValue = llvm::function_ref<int64_t(const mlp::Extent &)>;

/// The configurations that fit into the shared memory of the target for every
/// launch of the graph. Where none does, `why` says of which fused op and why.
llvm::SmallVector<TileConfig> feasibleConfigs(mlp::GraphOp graph,
                                              const arch::Rates &rates,
                                              int64_t smemBytes,
                                              std::string &why);

/// The same for a target with tensor memory: multiply and drain tasks have
/// pools and, where the columns allow it, two sets of accumulators.
llvm::SmallVector<TileConfig>
feasibleTensorMemoryConfigs(mlp::GraphOp graph, const arch::Target &target,
                            std::string &why);

/// Elements of K in a step of `fused`: those of 128 bytes of its operands.
int64_t stepK(mlp::FusedOp fused, const TileConfig &config);

/// Cost of a unit of `fused` beside its K steps, in steps of the configuration.
int64_t unitCost(mlp::FusedOp fused, const TileConfig &config,
                 const arch::Rates &rates);

/// The order in which spaces are dealt: long and variable contractions first; in a
/// chain those that others wait for before them, 4 a link.
int64_t dealOrder(mlp::FusedOp fused);

/// The configuration that backfuse-select-schedule left on the launches of
/// `graph`.
TileConfig readConfig(mlp::GraphOp graph);

/// Predicts the kernels of `graph`, whose body is launches and conversions: one
/// cost for each, in order, with a split count for each fused op.
llvm::SmallVector<KernelCost> predictKernels(mlp::GraphOp graph,
                                             const TileConfig &config,
                                             const arch::Rates &rates,
                                             ExtentValue valueOf,
                                             llvm::ArrayRef<int64_t> splits);

/// The sum of the kernels' times.
double totalMicroseconds(llvm::ArrayRef<KernelCost> kernels);

} // namespace backfuse

#endif // BACKFUSE_ANALYSIS_COSTMODEL_H
