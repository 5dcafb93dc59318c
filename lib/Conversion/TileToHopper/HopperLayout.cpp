//===- HopperLayout.cpp - What a tile.kernel takes on sm_90a --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HopperEmitter.h"
#include "backfuse/Arch/Target.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::hopper;

unsigned KernelLayout::mapIndex(const MapUse &use) const {
  const MapUse *it = llvm::find(maps, use);
  assert(it != maps.end() && "map was not collected");
  return it - maps.begin();
}

MapUse hopper::mapUseOf(unsigned argument, tile::GlobalTensorType tensor,
                        int64_t boxRows, int64_t boxCols) {
  int64_t elementBytes = tensor.getElement().getIntOrFloatBitWidth() / 8;
  int64_t panelCols = panelBytes / elementBytes;
  int64_t panels = llvm::divideCeil(boxCols, panelCols);
  // A third dimension over panels would reach beyond the last row of a tensor
  // whose rows are not whole panels.
  if (tensor.getCols() % panelCols)
    panels = 1;
  return {argument, boxRows, panelCols, panels};
}

MapUse hopper::storeUseOf(unsigned argument, tile::GlobalTensorType tensor) {
  MapUse use =
      mapUseOf(argument, tensor, warpgroupRows, tile::DrainOp::entryCols);
  // The panels of one warpgroup are not contiguous where the entry holds the
  // rows of both.
  use.panels = 1;
  return use;
}

/// Where the element rows of a box do not fit the copy engine or the swizzle.
static LogicalResult checkBox(Operation *op, tile::BufferAttr buffer) {
  int64_t bytes = buffer.getElement().getIntOrFloatBitWidth() / 8;
  if (buffer.getRows() > 256 || buffer.getRows() % 8 ||
      buffer.getCols() * bytes % panelBytes)
    return op->emitError("box of ")
           << buffer.getRows() << "x" << buffer.getCols() << "x"
           << buffer.getElement()
           << " is not made of 128-byte panels of 8 to 256 rows";
  return success();
}

/// A descriptor steps through one panel of a K-major operand, and through K
/// rows of an MN-major one by 16.
static LogicalResult checkSteps(tile::MultiplyOp multiply) {
  ArrayRef<tile::BufferAttr> buffers =
      cast<tile::RingType>(multiply.getRing().getType()).getBuffers();
  tile::Major majors[] = {multiply.getAMajor(), multiply.getBMajor()};
  for (auto [buffer, major] : llvm::zip(buffers, majors))
    if (major == tile::Major::K ? buffer.getCols() != panelBytes / 2
                                : buffer.getRows() % 16 != 0)
      return multiply.emitError(
                 "expects steps of 64 in K for K-major operands, "
                 "and of a multiple of 16 for others, but got a "
                 "box of ")
             << buffer.getRows() << "x" << buffer.getCols();
  return success();
}

FailureOr<KernelLayout> hopper::computeLayout(tile::KernelOp kernel) {
  const arch::Target &target = *arch::lookupTarget("sm_90a");
  KernelLayout layout;
  auto addMap = [&](const MapUse &use) {
    if (!llvm::is_contained(layout.maps, use))
      layout.maps.push_back(use);
  };
  layout.isConversion = !kernel.getBlock().getOps<tile::ConvertOp>().empty();
  int64_t numSums = 0;
  WalkResult result = kernel.walk([&](Operation *op) {
    if (auto space = dyn_cast<tile::SpaceOp>(op)) {
      if (space.getTile()[0] != tileRows) {
        op->emitError("expects tiles of ")
            << tileRows << " rows on sm_90a, but got " << space.getTile()[0];
        return WalkResult::interrupt();
      }
    } else if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      auto ring = cast<tile::RingType>(
          copy.getSlot().getDefiningOp<tile::AcquireOp>().getRing().getType());
      tile::BufferAttr buffer = ring.getBuffers()[copy.getBuffer()];
      if (failed(checkBox(op, buffer)))
        return WalkResult::interrupt();
      addMap(mapUseOf(cast<BlockArgument>(copy.getTensor()).getArgNumber(),
                      cast<tile::GlobalTensorType>(copy.getTensor().getType()),
                      buffer.getRows(), buffer.getCols()));
    } else if (auto multiply = dyn_cast<tile::MultiplyOp>(op)) {
      auto type = cast<tile::AccumulatorType>(
          multiply.getAccumulator().getType());
      if (type.getCols() % 8 || type.getCols() > 256) {
        op->emitError("expects an accumulator of 8 to 256 columns, a multiple "
                      "of 8, but got ")
            << type.getCols();
        return WalkResult::interrupt();
      }
      if (type.getRows() != tileRows) {
        op->emitError("expects an accumulator of ")
            << tileRows << " rows on sm_90a, but got " << type.getRows();
        return WalkResult::interrupt();
      }
      if (failed(checkSteps(multiply)))
        return WalkResult::interrupt();
    } else if (auto drain = dyn_cast<tile::DrainOp>(op)) {
      if (drain.getEntryRows() != tileRows &&
          drain.getEntryRows() != warpgroupRows) {
        op->emitError("expects entries of 64 or 128 rows, but got ")
            << drain.getEntryRows();
        return WalkResult::interrupt();
      }
      // The boxes of the last entry would reach into the next tile.
      int64_t cols =
          cast<tile::AccumulatorType>(drain.getAccumulators()[0].getType())
              .getCols();
      if (cols % tile::DrainOp::entryCols) {
        op->emitError("expects tiles of a multiple of 64 columns, but got ")
            << cols;
        return WalkResult::interrupt();
      }
      for (Value store : drain.getStores())
        addMap(storeUseOf(cast<BlockArgument>(store).getArgNumber(),
                          cast<tile::GlobalTensorType>(store.getType())));
      numSums = std::max<int64_t>(numSums, drain.getPartials().size());
    } else if (auto task = dyn_cast<tile::TaskOp>(op)) {
      layout.hasSum |= task.getKind() == tile::TaskKind::Sum;
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();

  for (BlockArgument argument : kernel.getBlock().getArguments()) {
    bool plain =
        !isa<tile::GlobalTensorType>(argument.getType()) || layout.isConversion;
    for (OpOperand &use : argument.getUses()) {
      auto drain = dyn_cast<tile::DrainOp>(use.getOwner());
      plain |= isa<tile::FinishSumOp>(use.getOwner()) ||
               (drain && llvm::is_contained(drain.getVectors(), argument));
    }
    if (plain)
      layout.plainArguments.push_back(argument.getArgNumber());
  }

  // Barriers first, then the scratch of column sums: for two parities, two
  // warpgroups and four warps 64 f32 each; then the pools on swizzle borders.
  int64_t barriers = 0;
  for (auto pool : kernel.getBlock().getOps<tile::PoolOp>()) {
    PoolLayout &p = layout.pools[pool.getResult()];
    p.slots = pool.getSlots();
    p.slotBytes = pool.getSlotBytes();
    p.fullOffset = barriers;
    p.emptyOffset = barriers + 8 * p.slots;
    barriers += 16 * p.slots;
  }
  layout.scratchOffset = llvm::alignTo(barriers, 128);
  int64_t offset =
      llvm::alignTo(layout.scratchOffset + numSums * 2 * 2 * 4 * 64 * 4, 1024);
  for (auto &[value, p] : layout.pools) {
    p.dataOffset = offset;
    offset += p.slots * p.slotBytes;
  }
  layout.smemBytes = offset;
  if (offset > target.maxDynamicSmemBytes)
    return kernel.emitOpError("needs ")
           << offset << " bytes of shared memory, but sm_90a has "
           << target.maxDynamicSmemBytes << " (C5)";
  return layout;
}
