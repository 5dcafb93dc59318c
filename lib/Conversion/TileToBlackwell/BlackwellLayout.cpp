//===- BlackwellLayout.cpp - What a tile.kernel takes on sm_100 -----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "BlackwellEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::blackwell;

MapUse blackwell::storeUseOf(unsigned argument, tile::GlobalTensorType tensor) {
  MapUse use = mapUseOf(argument, tensor, warpRows, entryCols);
  // The panels of one warp's rows are not contiguous.
  use.panels = 1;
  return use;
}

static LogicalResult checkSpace(tile::SpaceOp space, bool pairs,
                                const arch::Target &target) {
  int64_t rows = pairs ? 2 * ctaRows : ctaRows;
  if (space.getTile()[0] == rows)
    return success();
  return space.emitError("expects tiles of ")
         << rows << " rows " << (pairs ? "of a pair of CTAs on " : "on ")
         << target.name << ", but got " << space.getTile()[0];
}

static LogicalResult checkMultiply(tile::MultiplyOp multiply,
                                   const arch::Target &target) {
  auto type = cast<tile::AccumulatorType>(multiply.getAccumulator().getType());
  // N of tcgen05.mma with M = 128, and 256 of a pair, is a multiple of 16 up to
  // 256 (PTX ISA, tcgen05 matrix shapes); a drain takes 64 columns at once.
  if (type.getCols() % entryCols ||
      type.getCols() > arch::maxInstructionColumns)
    return multiply.emitError("expects an accumulator of 64, 128, 192 or 256 "
                              "columns on ")
           << target.name << ", but got " << type.getCols();
  if (type.getRows() != ctaRows)
    return multiply.emitError("expects an accumulator of ")
           << ctaRows << " rows on " << target.name << ", but got "
           << type.getRows();
  ArrayRef<tile::BufferAttr> buffers = multiply.getBuffers();
  if (buffers.size() != 2 || buffers[0].getElement() != buffers[1].getElement())
    return multiply.emitError("expects operands of one type and a buffer each "
                              "on ")
           << target.name;
  int64_t k = instructionK(buffers[0].getElement());
  for (auto [buffer, major] : llvm::zip(
           buffers, std::array{multiply.getAMajor(), multiply.getBMajor()})) {
    int64_t steps =
        major == tile::Major::K ? buffer.getCols() : buffer.getRows();
    if (steps % k)
      return multiply.emitError("expects steps of a multiple of ")
             << k << ", but got " << steps;
  }
  return success();
}

static LogicalResult checkDrain(tile::DrainOp drain,
                                const arch::Target &target) {
  if (drain.getEntryRows() != ctaRows && drain.getEntryRows() != ctaRows / 2)
    return drain.emitError("expects entries of ")
           << ctaRows / 2 << " or " << ctaRows << " rows, but got "
           << drain.getEntryRows();
  if (drain.getEntryCols() != entryCols)
    return drain.emitError("expects entries of ")
           << entryCols << " columns on " << target.name << ", but got "
           << drain.getEntryCols();
  if (!drain.getRing())
    return success();
  for (tile::BufferAttr buffer :
       cast<tile::RingType>(drain.getRing().getType()).getBuffers()) {
    unsigned width = buffer.getElement().getIntOrFloatBitWidth();
    if (width != 16 && width != 32)
      return drain.emitError("has no lowering of ")
             << buffer.getElement() << " elements on " << target.name
             << "; cast them to a type of 16 or 32 bits";
  }
  return success();
}

/// A unit gives its accumulators back once: in its drain, or where it hands its
/// sums over.
static LogicalResult checkUnits(tile::KernelOp kernel,
                                const arch::Target &target) {
  tile::ForEachUnitOp units = unitsOf(findTask(kernel, tile::TaskKind::Drain));
  for (Region &body : units.getBodies()) {
    Operation *drain = nullptr, *combine = nullptr;
    WalkResult result = body.walk([&](Operation *op) -> WalkResult {
      if (!isa<tile::DrainOp, tile::CombineSplitsOp>(op))
        return WalkResult::advance();
      Operation *&first = isa<tile::DrainOp>(op) ? drain : combine;
      if (!first) {
        first = op;
        return WalkResult::advance();
      }
      InFlightDiagnostic diag = op->emitError("is the second of its kind in a "
                                              "unit, which has no lowering to ")
                                << target.name;
      diag.attachNote(first->getLoc()) << "the first is here";
      return diag;
    });
    if (result.wasInterrupted())
      return failure();
    if (!drain)
      return units.emitError("expects a tile.drain for each space");
  }
  return success();
}

/// Places accumulators in tensor memory: a set holds those of one space, those
/// of all spaces take the same columns in turn.
static LogicalResult placeAccumulators(tile::KernelOp kernel,
                                       const arch::Target &target,
                                       KernelLayout &layout) {
  tile::ForEachUnitOp units =
      unitsOf(findTask(kernel, tile::TaskKind::Multiply));
  for (Region &body : units.getBodies()) {
    int64_t columns = 0;
    body.walk([&](tile::MultiplyOp multiply) {
      Value accumulator = multiply.getAccumulator();
      auto [it, inserted] =
          layout.accumulatorColumns.try_emplace(accumulator, columns);
      if (inserted)
        columns += cast<tile::AccumulatorType>(accumulator.getType()).getCols();
    });
    layout.setColumns = std::max(layout.setColumns, columns);
  }
  layout.sets = target.tmemColumns;
  for (auto op : kernel.getBlock().getOps<tile::AccumulatorsOp>())
    layout.sets = std::min<int64_t>(layout.sets, op.getCount());
  int64_t needed = layout.sets * layout.setColumns;
  if (needed > target.tmemColumns)
    return kernel.emitOpError("needs ")
           << needed << " columns of tensor memory for " << layout.sets
           << " sets of accumulators, but " << target.name << " has "
           << target.tmemColumns;
  layout.columns = std::max<int64_t>(32, llvm::PowerOf2Ceil(needed));
  return success();
}

FailureOr<KernelLayout> blackwell::computeLayout(tile::KernelOp kernel,
                                                 const arch::Target &target) {
  KernelLayout layout;
  if (!kernel.getBlock().getOps<tile::ConvertOp>().empty()) {
    if (failed(layout.collect(kernel)))
      return failure();
    return layout;
  }
  int64_t numSums = 0;
  layout.pairs = !kernel.getBlock().getOps<tile::ClusterRankOp>().empty();
  kernel.walk([&](tile::AwaitOp) { layout.awaits = true; });
  WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
    if (auto space = dyn_cast<tile::SpaceOp>(op))
      return checkSpace(space, layout.pairs, target);
    if (auto multiply = dyn_cast<tile::MultiplyOp>(op))
      return checkMultiply(multiply, target);
    if (auto drain = dyn_cast<tile::DrainOp>(op)) {
      numSums = std::max<int64_t>(numSums, drain.getPartials().size());
      return checkDrain(drain, target);
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted() || failed(checkUnits(kernel, target)) ||
      failed(layout.collect(kernel)) ||
      failed(placeAccumulators(kernel, target, layout)))
    return failure();
  kernel.walk([&](tile::DrainOp drain) {
    for (Value store : drain.getStores())
      layout.addMap(storeUseOf(cast<BlockArgument>(store).getArgNumber(),
                               cast<tile::GlobalTensorType>(store.getType())));
  });

  for (auto &[pool, p] : layout.pools) {
    if (p.multiplies && p.drains)
      return pool.getDefiningOp()->emitOpError("holds entries of multiply and "
                                               "of drain tasks, which run "
                                               "apart on ")
             << target.name << "; expects a pool for each";
    Value &place = p.multiplies ? layout.operandPool : layout.drainPool;
    if (place)
      return pool.getDefiningOp()->emitOpError(
          "is the second pool of one task; "
          "expects one for each");
    place = pool;
  }

  // Barriers and the address of tensor memory first, then the scratch of column
  // sums (two places of four warps with 64 f32 each), then the pools on borders
  // of the swizzle.
  int64_t offset = 0;
  for (auto &[value, p] : layout.pools) {
    p.fullOffset = offset;
    p.emptyOffset = offset + 8 * p.slots;
    offset += 16 * p.slots;
  }
  layout.fullOffset = offset;
  layout.emptyOffset = offset + 8 * layout.sets;
  layout.addressOffset = offset + 16 * layout.sets;
  layout.dealOffset = llvm::alignTo(layout.addressOffset + 4, 16);
  layout.scratchOffset = llvm::alignTo(
      layout.dealOffset + TaskLayout::dealTableBytes(layout.numSpaces), 128);
  offset = llvm::alignTo(
      layout.scratchOffset + numSums * 2 * numDrainWarps * entryCols * 4, 1024);
  for (auto &[value, p] : layout.pools) {
    p.dataOffset = offset;
    offset += p.slots * p.slotBytes;
  }
  layout.smemBytes = offset;
  if (offset > target.maxDynamicSmemBytes)
    return kernel.emitOpError("needs ")
           << offset << " bytes of shared memory, but " << target.name
           << " has " << target.maxDynamicSmemBytes << " (C5)";
  return layout;
}
