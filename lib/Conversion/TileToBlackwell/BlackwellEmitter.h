//===- BlackwellEmitter.h - Emit one tile.kernel for sm_100 -----*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to convert-tile-to-blackwell. Warps of a kernel:
//   0    copies operands of products into their pool
//   1    multiplies: one thread issues tcgen05.mma into tensor memory
//   2    copies operands of drains into theirs
//   3    allocates tensor memory and gives it back
//   4-7  drain: warp 4 + q has the rows 32q to 32q + 31 of a tile
//   8-9  sum, where the kernel has the task; two more warps then only give
//        registers to the drain
// Each role walks the units on its own: while a tile is drained, products go on
// into the other accumulators and copies ahead of both.
//
// Where two CTAs share a tile (tile.cluster_rank), each loads its rows of A,
// its columns of B and what its own rows need in the drain. The leader, rank 0,
// issues the products of both: its barriers count the operands of both and
// learn that both have drained a set of accumulators, and its commits arrive in
// both CTAs.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_CONVERSION_TILETOBLACKWELL_BLACKWELLEMITTER_H
#define BACKFUSE_CONVERSION_TILETOBLACKWELL_BLACKWELLEMITTER_H

#include "backfuse/Arch/Target.h"
#include "backfuse/Conversion/Common/TaskEmitter.h"

namespace backfuse::blackwell {

/// Rows of a tile, of which a CTA of a pair has half.
constexpr int64_t ctaRows = arch::ctaTileRows;
/// A warpgroup drains: its warps reach all lanes of tensor memory.
constexpr int64_t loadWarp = 0, multiplyWarp = 1, loadDrainWarp = 2,
                  tensorMemoryWarp = 3, firstDrainWarp = arch::warpgroupWarps,
                  numDrainWarps = arch::warpgroupWarps,
                  firstSumWarp = firstDrainWarp + numDrainWarps,
                  numSumWarps = 2;
/// Registers of a thread where the kernel has three warpgroups: at launch, and
/// of each warpgroup's roles (their sum is at most three times the first).
constexpr int64_t launchRegisters = 168, loadRegisters = 128,
                  drainRegisters = 240, sumRegisters = 128;
/// Rows that a drain warp may read of tensor memory.
constexpr int64_t warpRows = arch::tensorMemoryWarpLanes;
constexpr int64_t entryCols = tile::DrainOp::entryCols;
/// Named barriers; 0 is the CTA's.
constexpr int64_t drainBarrier = 1, firstPairBarrier = 2;

struct KernelLayout : TaskLayout {
  /// The pools of products and of drains; the latter may be missing.
  mlir::Value operandPool, drainPool;
  /// Two barriers for each set of accumulators.
  int64_t fullOffset = 0, emptyOffset = 0;
  /// Where tensor memory's address stands in shared memory.
  int64_t addressOffset = 0;
  int64_t scratchOffset = 0; // for column sums of drains
  /// Whether two CTAs share a tile.
  bool pairs = false;
  /// Whether products read what drains of the launch store.
  bool awaits = false;
  /// Sets of accumulators in tensor memory, the columns of one, and what is
  /// allocated for all.
  int64_t sets = 0, setColumns = 0, columns = 0;
  /// The first column of an accumulator in its set.
  llvm::DenseMap<mlir::Value, int64_t> accumulatorColumns;

  int64_t threads() const {
    if (isConversion)
      return convertThreads;
    // Registers change hands by whole warpgroups.
    return arch::warpThreads *
           (firstSumWarp + (hasSum ? arch::warpgroupWarps : 0));
  }
};

/// Elements of K that an instruction takes of an operand.
inline int64_t instructionK(mlir::Type element) {
  return arch::instructionKBytes * 8 / element.getIntOrFloatBitWidth();
}

/// How a drain warp stores its rows of an entry's panel.
MapUse storeUseOf(unsigned argument, tile::GlobalTensorType tensor);

/// Emits an error at what this back end cannot do.
mlir::FailureOr<KernelLayout> computeLayout(tile::KernelOp kernel,
                                            const arch::Target &target);

class BlackwellEmitter : TaskEmitter {
public:
  BlackwellEmitter(tile::KernelOp kernel, const KernelLayout &layout,
                   const arch::Target &target, mlir::OpBuilder &builder)
      : TaskEmitter(kernel, layout, target.name, builder), layout(layout) {
    if (layout.pairs)
      m.usePairs();
  }

  /// Creates the llvm.func before the kernel, which stays.
  mlir::FailureOr<mlir::Operation *> emit();

private:
  // BlackwellEmitter.cpp: prologue, roles, sets of accumulators
  void emitPair();
  void emitPrologue();
  void emitEpilogue();
  mlir::LogicalResult emitLoadRole(mlir::Value pool);
  void emitExpectBytes(const Slot &slot) override;
  void emitBoxCopy(mlir::Value address, mlir::Value map,
                   mlir::ValueRange coordinates, const Slot &slot) override;
  void createSetState();
  mlir::Value currentSet();
  void advanceSet();
  /// The address of column 0 of accumulator set `set`, and its barriers.
  mlir::Value setAddress(mlir::Value set);
  mlir::Value setBarrier(int64_t offset, mlir::Value set);

  // BlackwellMultiply.cpp
  mlir::LogicalResult emitMultiplyRole();
  void waitForPair(mlir::Value barrier, mlir::Value parity);
  void waitFull(mlir::Value pool, const Slot &slot) override;
  void waitEmpty(mlir::Value pool, const Slot &slot) override;
  void emitMultiply(tile::MultiplyOp multiply) override;

  // BlackwellDrain.cpp
  mlir::LogicalResult emitDrainRole();
  mlir::LogicalResult emitDrain(tile::DrainOp drain, Unit &unit) override;
  void emitDrainEntry(tile::DrainOp drain, Unit &unit, mlir::Value chunk,
                      llvm::ArrayRef<Slot> entry, bool deferRelease);
  void emitElements(tile::DrainOp drain, Unit &unit, mlir::Value chunk,
                    llvm::ArrayRef<Slot> entry);
  /// `count` columns of every accumulator of `drain`, from `column` on, splits
  /// combined; afterwards the set is given back if `isLast`.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  readAccumulators(tile::DrainOp drain, Unit &unit, mlir::Value column,
                   int64_t count, mlir::Value isLast);
  void releaseSet();
  /// Tells who awaits the tile, or this CTA's half of one of a pair, that all
  /// warps have stored it.
  void signalTile(tile::DrainOp drain, const Unit &unit);
  void emitStores(tile::DrainOp drain, mlir::Value chunk,
                  llvm::ArrayRef<Slot> entry, bool deferRelease);

  // BlackwellSplits.cpp
  void emitCombineSplits(tile::CombineSplitsOp combine, Unit &unit) override;
  mlir::Value partIndex(Unit &unit, mlir::Value split);
  mlir::Value partPointer(tile::CombineSplitsOp combine, Unit &unit,
                          mlir::Value split);
  mlir::Value flagPointer(tile::CombineSplitsOp combine, Unit &unit,
                          mlir::Value split);
  /// Adds the partials of all splits but the last to `sums`, columns from
  /// `column` on.
  void addPartials(tile::CombineSplitsOp combine, Unit &unit,
                   mlir::Value column,
                   llvm::SmallVectorImpl<mlir::Value> &sums);

  // BlackwellDrainSums.cpp
  void emitColumnSums(unsigned sum, int64_t firstColumn,
                      llvm::ArrayRef<mlir::Value> terms);
  void emitPartialSums(tile::DrainOp drain, Unit &unit, mlir::Value chunk);
  mlir::Value scratchAddress(unsigned sum, mlir::Value quarter);

  const KernelLayout &layout;
  mlir::Value tensorMemory; // address of the first column
  // Of pairs: the number of this CTA, whether it is the leader, and what turns
  // an address of its shared memory into the cluster's of the same place in the
  // leader, and in the other CTA.
  mlir::Value rank, isLeader, toLeader, toOther;
  /// Whether copies of the role being emitted go to the leader's barriers.
  bool copiesForPair = false;

  // Of the role being emitted: number and phase of its set of accumulators.
  mlir::Value setIndex, setPhase; // variables
  mlir::Value productSet;         // number of the set that products go to
  // Of the drain role.
  mlir::Value quarter, pair;              // 0..3, 0..1
  mlir::Value rowInTile;                  // of this thread
  mlir::Value drainSet;                   // number of the set being drained
  mlir::Value scratchPlace;               // variable: 0 or 1
  llvm::SmallVector<mlir::Value> pending; // variables
  llvm::DenseMap<mlir::Value, tile::CombineSplitsOp> combined;
};

} // namespace backfuse::blackwell

#endif // BACKFUSE_CONVERSION_TILETOBLACKWELL_BLACKWELLEMITTER_H
