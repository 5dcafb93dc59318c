//===- HopperEmitter.h - Emit one tile.kernel for sm_90a --------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to convert-tile-to-hopper. A kernel has 12 warps: warp 0 is the load
// task, warps 2 and 3 the sum task, warpgroups 1 and 2 multiply and drain
// together, 64 rows of the 128-row tile each, accumulators in registers.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_CONVERSION_TILETOHOPPER_HOPPEREMITTER_H
#define BACKFUSE_CONVERSION_TILETOHOPPER_HOPPEREMITTER_H

#include "backfuse/Conversion/Common/TaskEmitter.h"

namespace backfuse::hopper {

/// Sizes that are Hopper's, or this kernel structure's.
constexpr int64_t threads = 384, warpgroupThreads = 128, numConsumers = 2;
constexpr int64_t tileRows = 128, warpgroupRows = 64;
constexpr int64_t firstSumWarp = 2, numSumWarps = 2;
constexpr int64_t launchRegisters = 168, producerRegisters = 40,
                  consumerRegisters = 232;
constexpr llvm::StringLiteral targetName = "sm_90a";

/// Decided before any IR is made.
struct KernelLayout : TaskLayout {
  int64_t scratchOffset = 0; // for column sums of drains
};

/// How a warpgroup stores a panel of an entry's rows.
MapUse storeUseOf(unsigned argument, tile::GlobalTensorType tensor);

/// Emits an error at what this back end cannot do.
mlir::FailureOr<KernelLayout> computeLayout(tile::KernelOp kernel);

class HopperEmitter : TaskEmitter {
public:
  HopperEmitter(tile::KernelOp kernel, const KernelLayout &layout,
                mlir::OpBuilder &builder)
      : TaskEmitter(kernel, layout, hopper::targetName, builder),
        layout(layout) {}

  /// Creates the llvm.func before the kernel, which stays.
  mlir::FailureOr<mlir::Operation *> emit();

private:
  // HopperEmitter.cpp
  void emitPrologue();
  mlir::LogicalResult emitRoles();

  // HopperMultiply.cpp
  mlir::LogicalResult emitConsumer();
  mlir::LogicalResult emitMultiplyBlock(mlir::Block &block, Unit &unit);
  mlir::LogicalResult emitDrainBlock(mlir::Block &block, Unit &unit);
  void emitMultiply(tile::MultiplyOp multiply);
  void emitCombineSplits(tile::CombineSplitsOp combine, Unit &unit);

  // HopperDrain.cpp
  mlir::LogicalResult emitDrain(tile::DrainOp drain, Unit &unit);
  void emitDrainEntry(tile::DrainOp drain, Unit &unit, int64_t chunk,
                      llvm::ArrayRef<Slot> slots, bool firstEntry);
  void emitElements(tile::DrainOp drain, int64_t chunk,
                    llvm::ArrayRef<Slot> slots,
                    llvm::SmallVectorImpl<mlir::Value> &sums);
  void emitPartialSums(tile::DrainOp drain, Unit &unit, int64_t chunk,
                       llvm::ArrayRef<mlir::Value> sums, bool beforeBarrier);

  const KernelLayout &layout;
  // Of the consumer role.
  mlir::Value consumer, consumerThread, consumerWarp; // 0/1, 0..127, 0..3
  llvm::DenseMap<mlir::Value, mlir::Value> accumulators; // variables
  llvm::SmallVector<mlir::Value> pending;                // variables
  mlir::Value previousEmpty;                             // variable
};

} // namespace backfuse::hopper

#endif // BACKFUSE_CONVERSION_TILETOHOPPER_HOPPEREMITTER_H
