//===- HopperEmitter.h - Emit one tile.kernel for sm_90a --------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to convert-tile-to-hopper. A kernel has 12 warps: warp 0 is the load
// task, warps 2 and 3 the sum task, warpgroups 1 and 2 multiply and drain
// together, 64 rows of the 128-row tile each, accumulators in registers.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_CONVERSION_TILETOHOPPER_HOPPEREMITTER_H
#define BACKFUSE_CONVERSION_TILETOHOPPER_HOPPEREMITTER_H

#include "backfuse/Conversion/Common/NvvmBuilder.h"
#include "dialects/Tile/IR/TileOps.h"

#include "mlir/IR/IRMapping.h"

namespace backfuse::hopper {

/// Sizes that are Hopper's, or this kernel structure's.
constexpr int64_t convertThreads = 256;
constexpr int64_t threads = 384, warpgroupThreads = 128, numConsumers = 2;
constexpr int64_t tileRows = 128, warpgroupRows = 64;
constexpr int64_t firstSumWarp = 2, numSumWarps = 2;
constexpr int64_t launchRegisters = 168, producerRegisters = 40,
                  consumerRegisters = 232;
/// Rows of the 128-byte swizzle's pattern are 128 bytes; a box is cut into
/// panels of that width (hopper.md section 1).
constexpr int64_t panelBytes = 128;

/// A tensor map parameter: a kernel argument seen through a box.
struct MapUse {
  unsigned argument;
  int64_t boxRows;
  int64_t panelCols; // elements of 128 bytes
  int64_t panels;    // > 1: a third dimension runs over panels
  bool operator==(const MapUse &other) const {
    return argument == other.argument && boxRows == other.boxRows &&
           panelCols == other.panelCols && panels == other.panels;
  }
};

/// Where a pool stands in shared memory.
struct PoolLayout {
  int64_t slots, slotBytes;
  int64_t fullOffset, emptyOffset, dataOffset;
};

/// Decided before any IR is made.
struct KernelLayout {
  llvm::SmallVector<MapUse> maps;
  /// Arguments of the tile.kernel that are passed as they are, in order.
  llvm::SmallVector<unsigned> plainArguments;
  llvm::MapVector<mlir::Value, PoolLayout> pools;
  int64_t scratchOffset = 0; // for column sums of drains
  int64_t smemBytes = 0;
  bool hasSum = false;
  bool isConversion = false; // a kernel without tasks

  unsigned mapIndex(const MapUse &use) const;
};

/// How the box of `buffer` in `tensor` is copied: as one box over panels, or
/// panel by panel where the panels do not tile the tensor's rows.
MapUse mapUseOf(unsigned argument, tile::GlobalTensorType tensor,
                int64_t boxRows, int64_t boxCols);

/// How a warpgroup stores a panel of an entry's rows.
MapUse storeUseOf(unsigned argument, tile::GlobalTensorType tensor);

/// Emits an error at what this back end cannot do.
mlir::FailureOr<KernelLayout> computeLayout(tile::KernelOp kernel);

class HopperEmitter {
public:
  HopperEmitter(tile::KernelOp kernel, const KernelLayout &layout,
                mlir::OpBuilder &builder)
      : kernel(kernel), layout(layout), b(kernel.getLoc(), builder), m(b) {}

  /// Creates the llvm.func before the kernel, which stays.
  mlir::FailureOr<mlir::Operation *> emit();

private:
  // A slot that a role holds.
  struct Slot {
    mlir::Value address, full, empty;
    int64_t bytes = 0; // load task: what copies will bring
  };
  struct Space {
    mlir::Value m, n, k, tilesN, tiles, kTiles, splits, units;
    int64_t bm, bn, bk, cost;
    mlir::Value stepsPerUnit;
  };
  struct Unit {
    mlir::Value m0, n0, k0, steps, split, last, tileIndex;
    Space *space;
  };
  struct PoolState {
    mlir::Value stage, phase; // variables
  };

  // HopperEmitter.cpp: prologue, roles, units
  void emitPrologue();
  void emitRoles();
  mlir::LogicalResult
  emitUnits(tile::ForEachUnitOp first,
            llvm::function_ref<mlir::LogicalResult(unsigned, Unit &)> body);
  void emitSpaces(tile::ForEachUnitOp loop);
  void createRoleState();
  mlir::Value mapped(mlir::Value value);
  void bindUnit(mlir::Block &block, const Unit &unit);
  /// Clones an arith op with i32 for index.
  mlir::LogicalResult emitScalar(mlir::Operation &op);
  mlir::LogicalResult emitLoop(mlir::Operation &op,
                               llvm::function_ref<mlir::LogicalResult(
                                   mlir::Block &)> body);
  mlir::LogicalResult emitIf(mlir::Operation &op,
                             llvm::function_ref<mlir::LogicalResult(
                                 mlir::Block &)> body);

  // HopperLoad.cpp
  mlir::LogicalResult emitLoadBlock(mlir::Block &block);
  void emitCopy(tile::CopyOp copy);

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

  // HopperSum.cpp
  mlir::LogicalResult emitSumTask(tile::TaskOp task);
  mlir::LogicalResult emitSumBlock(mlir::Block &block, Unit &unit);
  void emitSumOperand(tile::SumOperandOp sum);
  /// By `numWarps` warps of each CTA, of which this is number `warpNumber`.
  void emitFinishSum(tile::FinishSumOp finish, mlir::Value warpNumber,
                     int64_t numWarps);

  // HopperConvert.cpp
  mlir::LogicalResult emitConvertKernel();
  void emitConvert(tile::ConvertOp convert);

  // Rings
  Slot currentSlot(mlir::Value pool);
  void advance(mlir::Value pool);
  void waitFull(mlir::Value pool, const Slot &slot);
  /// One arrival of this warp.
  void releaseByWarp(mlir::Value empty);
  mlir::Value poolOf(mlir::Value ring) {
    return ring.getDefiningOp<tile::RingOp>().getPool();
  }
  mlir::Value mapPointer(const MapUse &use);
  /// Byte offset of buffer `index` in a slot of `ring`.
  static int64_t bufferOffset(tile::RingType ring, int64_t index);

  // i32 arithmetic
  mlir::Value c(int64_t value) { return m.i32(value); }
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value divu(mlir::Value x, mlir::Value y);
  mlir::Value remu(mlir::Value x, mlir::Value y);
  mlir::Value ceilDiv(mlir::Value x, int64_t y);
  mlir::Value minu(mlir::Value x, mlir::Value y);
  mlir::Value andi(mlir::Value x, mlir::Value y);
  mlir::Value xori(mlir::Value x, mlir::Value y);
  mlir::Value shl(mlir::Value x, int64_t bits);
  mlir::Value shr(mlir::Value x, int64_t bits);
  mlir::Value eq(mlir::Value x, mlir::Value y);
  mlir::Value ne(mlir::Value x, mlir::Value y);
  mlir::Value ult(mlir::Value x, mlir::Value y);
  mlir::Value uge(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value zext64(mlir::Value x);
  mlir::Value mul64(mlir::Value x, mlir::Value y); // of i64
  mlir::Value vectorElement(mlir::Value vector, int64_t i);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  void forRange(mlir::Value count, llvm::function_ref<void(mlir::Value)> body);

  tile::KernelOp kernel;
  const KernelLayout &layout;
  mlir::ImplicitLocOpBuilder b;
  NvvmBuilder m;
  mlir::IRMapping values;
  mlir::Operation *function = nullptr;

  // Set by the prologue, the same in all roles.
  mlir::Value smem, tid, warp, lane, cta, numCtas;
  llvm::MapVector<mlir::Value, Space> spaces;
  llvm::SmallVector<mlir::Value> spaceOrder;

  // Of the role being emitted.
  llvm::MapVector<mlir::Value, PoolState> states;
  llvm::DenseMap<mlir::Value, Slot> slots;
  // Of the consumer role.
  mlir::Value consumer, consumerThread, consumerWarp; // 0/1, 0..127, 0..3
  llvm::DenseMap<mlir::Value, mlir::Value> accumulators; // variables
  llvm::SmallVector<mlir::Value> pending;                // variables
  mlir::Value previousEmpty;                             // variable
};

} // namespace backfuse::hopper

#endif // BACKFUSE_CONVERSION_TILETOHOPPER_HOPPEREMITTER_H
