//===- HopperLayout.cpp - What a tile.kernel takes on sm_90a --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HopperEmitter.h"
#include "backfuse/Arch/Target.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::hopper;

MapUse hopper::storeUseOf(unsigned argument, tile::GlobalTensorType tensor) {
  MapUse use =
      mapUseOf(argument, tensor, warpgroupRows, tile::DrainOp::entryCols);
  // The panels of one warpgroup are not contiguous where the entry holds the
  // rows of both.
  use.panels = 1;
  return use;
}

/// A descriptor steps through one panel of a K-major operand, and through K
/// rows of an MN-major one by 16.
static LogicalResult checkSteps(tile::MultiplyOp multiply) {
  ArrayRef<tile::BufferAttr> buffers =
      cast<tile::RingType>(multiply.getRing().getType()).getBuffers();
  if (multiply.isTf32())
    return multiply.emitError("multiplies f32 by f32, which sm_90a does not; "
                              "route it through 16-bit operands");
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
  const arch::Target &target = *arch::lookupTarget(targetName);
  KernelLayout layout;
  int64_t numSums = 0;
  WalkResult result = kernel.walk([&](Operation *op) {
    if (auto space = dyn_cast<tile::SpaceOp>(op)) {
      if (space.getTile()[0] != tileRows) {
        op->emitError("expects tiles of ")
            << tileRows << " rows on sm_90a, but got " << space.getTile()[0];
        return WalkResult::interrupt();
      }
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
      numSums = std::max<int64_t>(numSums, drain.getPartials().size());
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted() || failed(layout.collect(kernel)))
    return failure();
  kernel.walk([&](tile::DrainOp drain) {
    for (Value store : drain.getStores())
      layout.addMap(storeUseOf(cast<BlockArgument>(store).getArgNumber(),
                               cast<tile::GlobalTensorType>(store.getType())));
  });

  // Barriers first, then the scratch of column sums: for two parities, two
  // warpgroups and four warps 64 f32 each; then the pools on swizzle borders.
  int64_t barriers = 0;
  for (auto &[value, p] : layout.pools) {
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
