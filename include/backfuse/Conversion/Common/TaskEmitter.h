//===- TaskEmitter.h - What kernels of all targets are made of --*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a tile.kernel's lowering that no tensor core decides: 32-bit
// arithmetic, rings of slots, the deal of units, the load task and the sum
// task. A target's emitter derives from it and adds its prologue, its roles and
// its multiply and drain tasks.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_CONVERSION_COMMON_TASKEMITTER_H
#define BACKFUSE_CONVERSION_COMMON_TASKEMITTER_H

#include "backfuse/Arch/TensorCores.h"
#include "backfuse/Conversion/Common/NvvmBuilder.h"
#include "dialects/Tile/IR/TileOps.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace backfuse {

/// Rows of the 128-byte swizzle's pattern are 128 bytes; a box is cut into
/// panels of that width.
constexpr int64_t panelBytes = arch::swizzleBytes;

/// Threads of a kernel that holds tile.convert.
constexpr int64_t convertThreads = 256;

/// What a copy makes of the elements of a box: nothing under the 128-byte
/// swizzle in atoms of 16 bytes, or f32 rounded to tf32, under that swizzle or
/// in atoms of 32 bytes (which MN-major operands of tf32 products must have).
enum class BoxFormat { Plain, Tf32, Tf32Atoms32 };

/// A tensor map parameter: a kernel argument seen through a box.
struct MapUse {
  unsigned argument;
  int64_t boxRows;
  int64_t panelCols; // elements of 128 bytes
  int64_t panels;    // > 1: a third dimension runs over panels
  BoxFormat format = BoxFormat::Plain;
  bool operator==(const MapUse &other) const {
    return argument == other.argument && boxRows == other.boxRows &&
           panelCols == other.panelCols && panels == other.panels &&
           format == other.format;
  }
};

/// How a box of `tensor` is copied: as one box over panels, or panel by panel
/// where the panels do not tile the tensor's rows.
MapUse mapUseOf(unsigned argument, tile::GlobalTensorType tensor,
                int64_t boxRows, int64_t boxCols);

/// The same for what a copy brings.
MapUse mapUseOf(tile::CopyOp copy);

/// Emits an error where the rows of a box fit neither the copy engine nor the
/// swizzle.
mlir::LogicalResult checkBox(mlir::Operation *op, tile::BufferAttr buffer);

/// Where a pool stands in shared memory, and who uses it.
struct PoolLayout {
  int64_t slots, slotBytes;
  int64_t fullOffset, emptyOffset, dataOffset;
  bool multiplies = false, drains = false, sums = false;
};

/// Decided before any IR is made.
struct TaskLayout {
  llvm::SmallVector<MapUse> maps;
  /// Arguments of the tile.kernel that are passed as they are, in order.
  llvm::SmallVector<unsigned> plainArguments;
  llvm::MapVector<mlir::Value, PoolLayout> pools;
  int64_t smemBytes = 0;
  /// Where the deal of units stands in shared memory, on a border of 16 bytes,
  /// and its size for kernels of so many spaces.
  int64_t dealOffset = 0;
  static int64_t dealTableBytes(size_t spaces);
  static int64_t dealLineBytes(size_t spaces);
  bool hasSum = false;
  bool isConversion = false;

  unsigned mapIndex(const MapUse &use) const;
  void addMap(const MapUse &use);
  /// The maps of copies, plain arguments, pools and their users. Emits an error
  /// at a box that cannot be copied.
  mlir::LogicalResult collect(tile::KernelOp kernel);
  size_t numSpaces = 0;
};

/// The task of a kind, or null.
tile::TaskOp findTask(tile::KernelOp kernel, tile::TaskKind kind);
tile::ForEachUnitOp unitsOf(tile::TaskOp task);

/// Leaves on the function what the launch plan needs to know of the kernel.
void attachLayout(tile::KernelOp kernel, const TaskLayout &layout,
                  int64_t threads, llvm::ArrayRef<std::string> roles,
                  mlir::Operation *function);

class TaskEmitter {
public:
  virtual ~TaskEmitter() = default;

protected:
  /// `targetName` is what errors call the machine.
  TaskEmitter(tile::KernelOp kernel, const TaskLayout &layout,
              llvm::StringRef targetName, mlir::OpBuilder &builder)
      : kernel(kernel), layout(layout), targetName(targetName),
        b(kernel.getLoc(), builder), m(b) {}

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

  /// Creates the function with an argument for each map and plain argument, and
  /// emits at its end.
  void createFunction(const KernelShape &shape);
  /// Emits the arithmetic of the kernel's block and its spaces.
  mlir::LogicalResult emitKernelScalars();
  /// Sets `smem`, `tid`, `warp`, `lane`, `cta`, `numCtas`.
  void emitIndices();

  // Units
  /// Deals the units of all spaces but the first, by one warp; other roles wait
  /// for that when they come to a space.
  void emitDealTable();
  void initDealBarriers();
  mlir::Value dealBarrier(size_t index);
  mlir::Value dealLine(size_t index);
  mlir::Value costOf(const Space &space);
  void emitUnit(Space &space, mlir::Value unitIndex, Unit &unit);
  mlir::LogicalResult
  emitUnits(tile::ForEachUnitOp loop,
            llvm::function_ref<mlir::LogicalResult(unsigned, Unit &)> body);
  void emitSpaces(tile::ForEachUnitOp loop);
  void createRoleState();
  mlir::Value mapped(mlir::Value value);
  void bindUnit(mlir::Block &block, const Unit &unit);
  /// Clones an arith op with i32 for index.
  mlir::LogicalResult emitScalar(mlir::Operation &op);
  mlir::LogicalResult
  emitLoop(mlir::Operation &op,
           llvm::function_ref<mlir::LogicalResult(mlir::Block &)> body);
  mlir::LogicalResult
  emitIf(mlir::Operation &op,
         llvm::function_ref<mlir::LogicalResult(mlir::Block &)> body);

  // The load task: what goes into the slots of `pool`, or of all pools where it
  // is null. Two warps may share it: one brings the graph's inputs, and need
  // not wait for anything; the other what the plan's launches compute. Each
  // arrives once at every slot's barrier. One thread does it, or, where it
  // awaits other tiles, a whole warp.
  enum class LoadPart { All, Inputs, Computed };
  struct LoadRole {
    mlir::Value pool;
    LoadPart part = LoadPart::All;
    bool wholeWarp = false;
    /// Whether what it loads may have to be awaited.
    bool awaits = true;
  };
  mlir::LogicalResult emitLoadBlock(mlir::Block &block, const LoadRole &role);
  bool isOfRole(tile::CopyOp copy, const LoadRole &role);
  void emitAwait(tile::AwaitOp await);
  void emitCopy(tile::CopyOp copy);
  /// Announces the bytes that copies will bring into the slot, and copies a
  /// box; by default the slot's own barrier counts them.
  virtual void emitExpectBytes(const Slot &slot);
  virtual void emitBoxCopy(mlir::Value address, mlir::Value map,
                           mlir::ValueRange coordinates, const Slot &slot);

  // The sum task, by `numSumWarps` warps from `firstSumWarp`.
  mlir::LogicalResult emitSumTask(tile::TaskOp task);
  mlir::LogicalResult emitSumBlock(mlir::Block &block);
  void emitSumOperand(tile::SumOperandOp sum);
  /// By `numWarps` warps of each CTA, of which this is number `warpNumber`.
  void emitFinishSum(tile::FinishSumOp finish, mlir::Value warpNumber,
                     int64_t numWarps);

  // The multiply and drain tasks: what a target does for each operation.
  virtual void emitMultiply(tile::MultiplyOp multiply) = 0;
  virtual void emitCombineSplits(tile::CombineSplitsOp combine, Unit &unit) = 0;
  /// Precondition: checkElementOps.
  virtual mlir::LogicalResult emitDrain(tile::DrainOp drain, Unit &unit) = 0;
  mlir::LogicalResult emitMultiplyBlock(mlir::Block &block);
  mlir::LogicalResult emitDrainBlock(mlir::Block &block, Unit &unit);
  /// Emits an error at an operation on elements that cannot be emitted.
  mlir::LogicalResult checkElementOps(tile::DrainOp drain);
  /// The slot of an entry, and the byte offset in it, of buffer `index`,
  /// counted through all slots of the entry.
  static std::pair<int64_t, int64_t> locateBuffer(tile::RingType ring,
                                                  int64_t index);
  /// Waits for the slots of the drain's next entry.
  llvm::SmallVector<Slot> takeEntry(tile::DrainOp drain);
  /// Appends what a drain's element operands are for each of some pairs of
  /// elements to that pair's arguments. `readSlot(buffer)` returns them for all
  /// pairs, `readVector(operand, tensor, isRow, pair)` for one.
  void gatherElementOperands(
      tile::DrainOp drain,
      llvm::MutableArrayRef<llvm::SmallVector<mlir::Value>> arguments,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t)> readSlot,
      llvm::function_ref<mlir::Value(unsigned, mlir::Value, bool, size_t)>
          readVector);
  /// `count` elements of a vector operand from `index` on, as a vector if they
  /// are several. From `extent` on any: what they make is never stored.
  mlir::Value loadVectorElements(mlir::Value tensor, mlir::Value index,
                                 mlir::Value extent, int64_t count = 1);
  /// By one warp, each of whose lanes has two columns' totals over the rows of
  /// `line`: writes them and sets their flag.
  void publishLineOfSums(tile::DrainOp drain, unsigned sum, const Unit &unit,
                         mlir::Value line, mlir::Value firstCol,
                         mlir::Value total);

  // Kernels that hold tile.convert, by `convertThreads` threads.
  mlir::LogicalResult emitConvertKernel();
  /// By `numWarps` warps of each CTA, of which this is number `warpNumber`.
  void emitConvert(tile::ConvertOp convert, mlir::Value warpNumber,
                   int64_t numWarps);
  void emitClear(tile::ClearOp clear);

  // The launches of a plan overlap: each may begin while the one before ends,
  // and reads and writes nothing before that is complete.
  void emitLaunchDependents();
  void emitWaitForPrerequisites();

  // Rings
  Slot currentSlot(mlir::Value pool);
  void advance(mlir::Value pool);
  virtual void waitFull(mlir::Value pool, const Slot &slot);
  virtual void waitEmpty(mlir::Value pool, const Slot &slot);
  /// One arrival of this warp.
  void releaseByWarp(mlir::Value empty);
  static mlir::Value poolOf(mlir::Value ring) {
    return ring.getDefiningOp<tile::RingOp>().getPool();
  }
  mlir::Value mapPointer(const MapUse &use);
  /// Byte offset of buffer `index` in a slot of `ring`.
  static int64_t bufferOffset(tile::RingType ring, int64_t index);
  /// A variable of the thread, made at the function's entry.
  mlir::Value createRoleVariable(mlir::Type type, int64_t count = 1);

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
  mlir::Value ori(mlir::Value x, mlir::Value y);
  mlir::Value xori(mlir::Value x, mlir::Value y);
  mlir::Value shl(mlir::Value x, int64_t bits);
  mlir::Value shr(mlir::Value x, int64_t bits);
  mlir::Value eq(mlir::Value x, mlir::Value y);
  mlir::Value ne(mlir::Value x, mlir::Value y);
  mlir::Value ult(mlir::Value x, mlir::Value y);
  mlir::Value uge(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value zext64(mlir::Value x);
  mlir::Value toF32(mlir::Value x); // unsigned
  mlir::Value add64(mlir::Value x, mlir::Value y);
  mlir::Value mul64(mlir::Value x, mlir::Value y); // of i64
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  void forRange(mlir::Value count, llvm::function_ref<void(mlir::Value)> body);

  tile::KernelOp kernel;
  const TaskLayout &layout;
  llvm::StringRef targetName;
  mlir::ImplicitLocOpBuilder b;
  NvvmBuilder m;
  mlir::IRMapping values;
  mlir::Operation *function = nullptr;
  int64_t firstSumWarp = 0, numSumWarps = 0;
  /// Whether warps that have read a slot fence before it is filled again.
  bool fencesReads = false;

  // The same in all roles. Units are dealt to teams: CTAs, or clusters of those
  // that share a tile.
  mlir::Value smem, tid, warp, lane, cta, numCtas, team, numTeams;
  llvm::MapVector<mlir::Value, Space> spaces;
  llvm::SmallVector<mlir::Value> spaceOrder;

  // Of the role being emitted.
  /// Whether one lane of its warp runs it, which must not shuffle.
  bool oneLane = false;
  llvm::MapVector<mlir::Value, PoolState> states;
  llvm::DenseMap<mlir::Value, Slot> slots;
};

} // namespace backfuse

#endif // BACKFUSE_CONVERSION_COMMON_TASKEMITTER_H
