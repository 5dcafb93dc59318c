//===- TaskLayout.cpp - What a tile.kernel takes on every target ----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Common/TaskEmitter.h"

using namespace mlir;
using namespace backfuse;

MapUse backfuse::mapUseOf(unsigned argument, tile::GlobalTensorType tensor,
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

/// Operands of tf32 products are rounded as they are copied.
static BoxFormat formatOf(Value ring, int64_t buffer) {
  for (Operation *user : ring.getUsers()) {
    auto multiply = dyn_cast<tile::MultiplyOp>(user);
    if (!multiply || !multiply.isTf32())
      continue;
    tile::Major major =
        buffer == 0 ? multiply.getAMajor() : multiply.getBMajor();
    return major == tile::Major::K ? BoxFormat::Tf32 : BoxFormat::Tf32Atoms32;
  }
  return BoxFormat::Plain;
}

MapUse backfuse::mapUseOf(tile::CopyOp copy) {
  Value ring = copy.getSlot().getDefiningOp<tile::AcquireOp>().getRing();
  auto type = cast<tile::RingType>(ring.getType());
  tile::BufferAttr buffer = type.getBuffers()[copy.getBuffer()];
  MapUse use =
      mapUseOf(cast<BlockArgument>(copy.getTensor()).getArgNumber(),
               cast<tile::GlobalTensorType>(copy.getTensor().getType()),
               buffer.getRows(), buffer.getCols());
  use.format = formatOf(ring, copy.getBuffer());
  return use;
}

LogicalResult backfuse::checkBox(Operation *op, tile::BufferAttr buffer) {
  int64_t bytes = buffer.getElement().getIntOrFloatBitWidth() / 8;
  if (buffer.getRows() > 256 || buffer.getRows() % 8 ||
      buffer.getCols() * bytes % panelBytes)
    return op->emitError("box of ")
           << buffer.getRows() << "x" << buffer.getCols() << "x"
           << buffer.getElement()
           << " is not made of 128-byte panels of 8 to 256 rows";
  return success();
}

unsigned TaskLayout::mapIndex(const MapUse &use) const {
  const MapUse *it = llvm::find(maps, use);
  assert(it != maps.end() && "map was not collected");
  return it - maps.begin();
}

void TaskLayout::addMap(const MapUse &use) {
  if (!llvm::is_contained(maps, use))
    maps.push_back(use);
}

tile::TaskOp backfuse::findTask(tile::KernelOp kernel, tile::TaskKind kind) {
  for (tile::TaskOp task : kernel.getBlock().getOps<tile::TaskOp>())
    if (task.getKind() == kind)
      return task;
  return {};
}

tile::ForEachUnitOp backfuse::unitsOf(tile::TaskOp task) {
  return *task.getBody().getOps<tile::ForEachUnitOp>().begin();
}

LogicalResult TaskLayout::collect(tile::KernelOp kernel) {
  isConversion = !kernel.getBlock().getOps<tile::ConvertOp>().empty();
  WalkResult result = kernel.walk([&](tile::CopyOp copy) {
    auto acquire = copy.getSlot().getDefiningOp<tile::AcquireOp>();
    auto ring = cast<tile::RingType>(acquire.getRing().getType());
    tile::BufferAttr buffer = ring.getBuffers()[copy.getBuffer()];
    if (failed(checkBox(copy, buffer)))
      return WalkResult::interrupt();
    addMap(mapUseOf(copy));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();

  for (BlockArgument argument : kernel.getBlock().getArguments()) {
    bool plain =
        !isa<tile::GlobalTensorType>(argument.getType()) || isConversion;
    for (OpOperand &use : argument.getUses()) {
      auto drain = dyn_cast<tile::DrainOp>(use.getOwner());
      plain |= isa<tile::FinishSumOp, tile::ConvertOp>(use.getOwner()) ||
               (drain && llvm::is_contained(drain.getVectors(), argument));
    }
    if (plain)
      plainArguments.push_back(argument.getArgNumber());
  }

  for (auto pool : kernel.getBlock().getOps<tile::PoolOp>()) {
    PoolLayout &p = pools[pool.getResult()];
    p.slots = pool.getSlots();
    p.slotBytes = pool.getSlotBytes();
  }
  auto poolOf = [&](Value ring) -> PoolLayout & {
    return pools.find(ring.getDefiningOp<tile::RingOp>().getPool())->second;
  };
  kernel.walk([&](Operation *op) {
    if (auto multiply = dyn_cast<tile::MultiplyOp>(op))
      poolOf(multiply.getRing()).multiplies = true;
    else if (auto drain = dyn_cast<tile::DrainOp>(op); drain && drain.getRing())
      poolOf(drain.getRing()).drains = true;
    else if (auto sum = dyn_cast<tile::SumOperandOp>(op))
      poolOf(sum.getRing()).sums = true;
    else if (auto skip = dyn_cast<tile::SkipOp>(op))
      poolOf(skip.getRing()).sums = true;
  });
  hasSum = bool(findTask(kernel, tile::TaskKind::Sum));
  numSpaces = llvm::range_size(kernel.getBlock().getOps<tile::SpaceOp>());
  return success();
}

void backfuse::attachLayout(tile::KernelOp kernel, const TaskLayout &layout,
                            int64_t threads, ArrayRef<std::string> roles,
                            Operation *function) {
  Builder b(kernel.getContext());
  SmallVector<Attribute> maps, types;
  for (const MapUse &use : layout.maps) {
    SmallVector<int64_t> map{use.argument, use.boxRows, use.panelCols,
                             use.panels};
    // Elements rounded to tf32: the bytes of the swizzle's atoms.
    if (use.format != BoxFormat::Plain)
      map.push_back(use.format == BoxFormat::Tf32Atoms32 ? 32 : 16);
    maps.push_back(b.getDenseI64ArrayAttr(map));
  }
  SmallVector<int64_t> arguments(layout.plainArguments.begin(),
                                 layout.plainArguments.end());
  for (BlockArgument argument : kernel.getBlock().getArguments())
    types.push_back(TypeAttr::get(argument.getType()));
  function->setAttr("tile.bindings", kernel.getBindings());
  function->setAttr("tile.types", b.getArrayAttr(types));
  function->setAttr("tile.maps", b.getArrayAttr(maps));
  function->setAttr("tile.arguments", b.getDenseI64ArrayAttr(arguments));
  function->setAttr("tile.smem_bytes", b.getI64IntegerAttr(layout.smemBytes));
  function->setAttr("tile.threads", b.getI64IntegerAttr(threads));
  SmallVector<StringRef> names(roles.begin(), roles.end());
  function->setAttr("tile.roles", b.getStrArrayAttr(names));
  for (NamedAttribute attribute : kernel->getDiscardableAttrs())
    function->setAttr(attribute.getName(), attribute.getValue());
}
