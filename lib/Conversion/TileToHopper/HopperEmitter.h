//===- HopperEmitter.h - Emit one tile.kernel for sm_90a --------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to convert-tile-to-hopper. A kernel has 12 warps: warp 0 is the load
// task, warp 1 its part that waits for other launches and tiles, warps 2 and 3 the sum task, of which warp 3 first deals the units,
// warpgroups 1 and 2 multiply and drain together, 64 rows of the 128-row tile
// each, accumulators in registers.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_CONVERSION_TILETOHOPPER_HOPPEREMITTER_H
#define BACKFUSE_CONVERSION_TILETOHOPPER_HOPPEREMITTER_H

#include "backfuse/Conversion/Common/TaskEmitter.h"

namespace backfuse::hopper {

/// Sizes that are Hopper's, or this kernel structure's.
constexpr int64_t warpgroupThreads = arch::warpgroupThreads, numConsumers = 2,
                  threads = (1 + numConsumers) * warpgroupThreads;
constexpr int64_t tileRows = arch::ctaTileRows, warpgroupRows = arch::wgmmaRows;
/// Rows of a tile that a line of a drain's column sums adds up.
constexpr int64_t sumRows = 64;
constexpr int64_t firstSumWarp = 2, numSumWarps = 2, dealWarp = 3;
constexpr int64_t launchRegisters = 168, producerRegisters = 40,
                  consumerRegisters = 232;
constexpr llvm::StringLiteral targetName = "sm_90a";

/// Decided before any IR is made.
struct KernelLayout : TaskLayout {
  int64_t scratchOffset = 0; // for column sums of drains
  /// Two places, each with a part for either warpgroup; 0: no drain needs them.
  int64_t stagingOffset = 0, stagingBytes = 0;
  bool hasRegisterProducts = false;
  /// Two where one brings what launches of the plan compute, and waits for it.
  int64_t numLoadWarps = 1;
};

/// How a warpgroup stores `rows` rows of a panel of an entry.
MapUse storeUseOf(unsigned argument, tile::GlobalTensorType tensor,
                  int64_t rows);

/// Whether the accumulators hold the transpose of their tile: products whose B
/// is f32 are computed so.
bool isTransposed(mlir::Value accumulators);

/// f32 accumulators of one thread of the two warpgroups (hopper.md 2.1).
inline int64_t accumulatorsPerThread(tile::AccumulatorType type) {
  return type.getRows() * type.getCols() / (numConsumers * warpgroupThreads);
}

/// How wgmma reads one operand of a stage (hopper.md section 1).
struct OperandView {
  int64_t offset;         // bytes from the slot's start
  int64_t warpgroupBytes; // between the halves of the two warpgroups
  int64_t leadingBytes;   // LBO
  int64_t advance;        // descriptor units per instruction
  bool transposed;        // MN-major
};
OperandView viewOperand(tile::BufferAttr buffer, int64_t offset, bool kMajor,
                        bool isA);

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
  void emitMultiply(tile::MultiplyOp multiply) override;
  void emitCombineSplits(tile::CombineSplitsOp combine, Unit &unit) override;
  mlir::Value descriptorOf(mlir::Value address, const OperandView &view);
  llvm::SmallVector<mlir::Value> loadAccumulators(mlir::Value variable,
                                                  int64_t count);
  void storeAccumulators(mlir::Value variable, mlir::ValueRange values);

  // HopperRegisterOperand.cpp
  void emitRegisterMultiply(tile::MultiplyOp multiply);
  llvm::SmallVector<mlir::Value> loadWideFragments(tile::BufferAttr buffer,
                                                   bool kMajor,
                                                   mlir::Value address);
  mlir::Value transposedOffset(int64_t panelRows, int64_t half, int64_t odd,
                               bool allColumns);

  // HopperDrain.cpp
  mlir::LogicalResult emitDrain(tile::DrainOp drain, Unit &unit) override;
  void emitDrainChunk(tile::DrainOp drain, Unit &unit, mlir::Value chunk);
  void emitDrainEntry(tile::DrainOp drain, Unit &unit, mlir::Value chunk,
                      llvm::ArrayRef<Slot> slots);
  void moveAccumulators(tile::DrainOp drain, int64_t used);
  void emitElements(tile::DrainOp drain, mlir::Value chunk,
                    llvm::ArrayRef<Slot> slots,
                    llvm::SmallVectorImpl<mlir::Value> &sums);
  void emitPartialSums(tile::DrainOp drain, Unit &unit, mlir::Value chunk,
                       llvm::ArrayRef<mlir::Value> sums, bool beforeBarrier);
  /// Passes the entry's slots on; before that one thread stores what is in them.
  void finishEntry(tile::DrainOp drain, llvm::ArrayRef<Slot> slots,
                   mlir::Value notFirst, llvm::function_ref<void()> store);
  /// Passes the last entry's slots on once they are stored, and signals that.
  void finishStores(tile::DrainOp drain, const Unit &unit);
  /// The flag of this warpgroup's part of the tile.
  mlir::Value signalOf(tile::DrainOp drain, const Unit &unit);

  // HopperTransposedDrain.cpp
  mlir::LogicalResult emitTransposedDrain(tile::DrainOp drain, Unit &unit);
  void emitTransposedLine(tile::DrainOp drain, Unit &unit, mlir::Value line);
  /// `rows` rows of the tile from `row` on, of its 64 from `rowInLine` on; their
  /// operands stand in an entry from row `entryRow` on.
  struct Piece {
    mlir::Value row;
    int64_t rowInLine, rows, entryRow;
  };
  void emitTransposedStores(tile::DrainOp drain, const Piece &piece,
                            mlir::Value staged);
  void emitTransposedElements(tile::DrainOp drain, const Piece &piece,
                              llvm::ArrayRef<Slot> slots, mlir::Value staged,
                              llvm::SmallVectorImpl<mlir::Value> &sums);
  void emitTransposedSums(tile::DrainOp drain, Unit &unit,
                          mlir::Value lineInTile,
                          llvm::ArrayRef<mlir::Value> sums);
  void publishTile(tile::DrainOp drain, const Unit &unit, int64_t lines);

  const KernelLayout &layout;
  // Of the consumer role.
  mlir::Value consumer, consumerThread, consumerWarp; // 0/1, 0..127, 0..3
  llvm::DenseMap<mlir::Value, mlir::Value> accumulators; // variables
  llvm::SmallVector<mlir::Value> pending;                // variables
  mlir::Value previousEmpty, stagingPlace, scratchPlace; // variables
};

} // namespace backfuse::hopper

#endif // BACKFUSE_CONVERSION_TILETOHOPPER_HOPPEREMITTER_H
