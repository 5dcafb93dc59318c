//===- HopperLayout.cpp - What a tile.kernel takes on sm_90a --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HopperEmitter.h"
#include "backfuse/Arch/Target.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::hopper;

MapUse hopper::storeUseOf(unsigned argument, tile::GlobalTensorType tensor,
                          int64_t rows) {
  MapUse use = mapUseOf(argument, tensor, rows, tile::DrainOp::entryCols);
  // The panels of one warpgroup are not contiguous where the entry holds the
  // rows of both.
  use.panels = 1;
  return use;
}

/// A descriptor steps through one panel of a K-major operand, and through K
/// rows of an MN-major one by 16.
static LogicalResult checkSteps(tile::MultiplyOp multiply) {
  if (multiply.isTf32())
    return multiply.emitError("multiplies f32 by f32, for which sm_90a has no "
                              "instruction; give it an operand of 16 bits");
  std::pair<ArrayRef<tile::BufferAttr>, tile::Major> operands[] = {
      {multiply.getABuffers(), multiply.getAMajor()},
      {multiply.getBBuffers(), multiply.getBMajor()}};
  for (auto [buffers, major] : operands)
    if (tile::BufferAttr buffer = buffers[0];
        major == tile::Major::K ? buffer.getCols() != panelBytes / 2
                                : buffer.getRows() % 16 != 0)
      return multiply.emitError(
                 "expects steps of 64 in K for K-major operands, "
                 "and of a multiple of 16 for others, but got a "
                 "box of ")
             << buffer.getRows() << "x" << buffer.getCols();
  return success();
}

/// Warpgroups hold 64 rows of the tile each, or, transposed, 64 columns.
static LogicalResult checkAccumulator(tile::MultiplyOp multiply) {
  auto type =
      cast<tile::AccumulatorType>(multiply.getAccumulator().getType());
  bool transposed = isTransposed(multiply.getAccumulator());
  if (transposed && !multiply.hasF32B())
    return multiply.emitError("adds to an accumulator that a product with an "
                              "f32 B, computed transposed, adds to as well");
  int64_t free = transposed ? type.getRows() : type.getCols();
  int64_t fixed = transposed ? type.getCols() : type.getRows();
  StringRef freeName = transposed ? "rows" : "columns";
  StringRef fixedName = transposed ? "columns" : "rows";
  if (free % 8 || free > 256)
    return multiply.emitError("expects an accumulator of 8 to 256 ")
           << freeName << ", a multiple of 8, but got " << free;
  if (fixed != tileRows)
    return multiply.emitError("expects an accumulator of ")
           << tileRows << " " << fixedName << " on sm_90a, but got " << fixed;
  return success();
}

/// Boxes of an entry belong to one tile, and to one warpgroup or to both.
static LogicalResult checkEntries(tile::DrainOp drain) {
  auto type =
      cast<tile::AccumulatorType>(drain.getAccumulators()[0].getType());
  int64_t rows = drain.getEntryRows(), cols = drain.getEntryCols();
  if (isTransposed(drain.getAccumulators()[0])) {
    if (!drain.getStores().empty() && !drain.getStagedRows())
      return drain.emitError("expects results of a product with an f32 B to be "
                             "staged");
    if (rows % 16 || sumRows % rows || cols != tileRows ||
        drain.getStagedRows() % 16 || type.getRows() % sumRows)
      return drain.emitError("expects entries of 16, 32 or 64 rows and ")
             << tileRows << " columns of tiles of a multiple of " << sumRows
             << " rows, but got " << rows << "x" << cols << " of "
             << type.getRows();
    return success();
  }
  if (rows != tileRows && rows != warpgroupRows)
    return drain.emitError("expects entries of 64 or 128 rows, but got ")
           << rows;
  if (cols != tile::DrainOp::entryCols)
    return drain.emitError("expects entries of 64 columns, but got ") << cols;
  if (drain.getStagedRows())
    return drain.emitError("expects results in entries, but got ")
           << drain.getStagedRows() << " staged rows";
  // The boxes of the last entry would reach into the next tile.
  if (type.getCols() % tile::DrainOp::entryCols)
    return drain.emitError("expects tiles of a multiple of 64 columns, but got ")
           << type.getCols();
  return success();
}

FailureOr<KernelLayout> hopper::computeLayout(tile::KernelOp kernel) {
  const arch::Target &target = *arch::lookupTarget(targetName);
  KernelLayout layout;
  if (failed(layout.collect(kernel)))
    return failure();
  int64_t numSums = 0;
  WalkResult result = kernel.walk([&](Operation *op) {
    if (auto space = dyn_cast<tile::SpaceOp>(op)) {
      ArrayRef<int64_t> tile = space.getTile();
      if (tile[0] != tileRows && tile[1] != tileRows) {
        space.emitError("expects tiles of ")
            << tileRows << " rows on sm_90a, or of as many columns where B is "
            << "f32, but got " << tile[0] << "x" << tile[1];
        return WalkResult::interrupt();
      }
    } else if (auto multiply = dyn_cast<tile::MultiplyOp>(op)) {
      layout.hasRegisterProducts |= multiply.hasF32A() || multiply.hasF32B();
      if (failed(checkAccumulator(multiply)) || failed(checkSteps(multiply)))
        return WalkResult::interrupt();
    } else if (auto drain = dyn_cast<tile::DrainOp>(op)) {
      if (failed(checkEntries(drain)))
        return WalkResult::interrupt();
      if (!isTransposed(drain.getAccumulators()[0]))
        numSums = std::max<int64_t>(numSums, drain.getPartials().size());
      int64_t staged = 0;
      for (Value store : drain.getStores())
        staged += 2 * drain.getStagedRows() * drain.getEntryCols() *
                  cast<tile::GlobalTensorType>(store.getType())
                      .getElement()
                      .getIntOrFloatBitWidth() /
                  8;
      layout.stagingBytes = std::max(layout.stagingBytes, staged);
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  kernel.walk([&](tile::DrainOp drain) {
    int64_t rows = isTransposed(drain.getAccumulators()[0])
                       ? drain.getStagedRows()
                       : warpgroupRows;
    for (Value store : drain.getStores())
      layout.addMap(storeUseOf(cast<BlockArgument>(store).getArgNumber(),
                               cast<tile::GlobalTensorType>(store.getType()),
                               rows));
  });

  bool inputs = false, computed = false;
  kernel.walk([&](tile::CopyOp copy) {
    unsigned argument = cast<BlockArgument>(copy.getTensor()).getArgNumber();
    bool isInput =
        kernel.getBinding(argument).getKind() == tile::BindKind::Input;
    (isInput ? inputs : computed) = true;
  });
  layout.numLoadWarps = inputs && computed ? 2 : 1;

  // Barriers and the deal first, then the scratch of column sums: for two parities, two
  // warpgroups and four warps 64 f32 each; then the pools on swizzle borders.
  int64_t barriers = 0;
  for (auto &[value, p] : layout.pools) {
    p.fullOffset = barriers;
    p.emptyOffset = barriers + 8 * p.slots;
    barriers += 16 * p.slots;
  }
  layout.dealOffset = llvm::alignTo(barriers, 16);
  barriers = layout.dealOffset + TaskLayout::dealTableBytes(layout.numSpaces);
  layout.scratchOffset = llvm::alignTo(barriers, 128);
  int64_t offset =
      llvm::alignTo(layout.scratchOffset + numSums * 2 * 2 * 4 * 64 * 4, 1024);
  for (auto &[value, p] : layout.pools) {
    p.dataOffset = offset;
    offset += p.slots * p.slotBytes;
  }
  layout.stagingOffset = offset;
  offset += layout.stagingBytes;
  layout.smemBytes = offset;
  if (offset > target.maxDynamicSmemBytes)
    return kernel.emitOpError("needs ")
           << offset << " bytes of shared memory, but sm_90a has "
           << target.maxDynamicSmemBytes << " (C5)";
  return layout;
}
