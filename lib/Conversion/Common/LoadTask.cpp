//===- LoadTask.cpp - The load task, by bulk tensor copies ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Common/TaskEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;

/// Bytes that the copies into `slot` bring; clipped boxes count in full.
static int64_t copiedBytes(tile::AcquireOp acquire) {
  auto ring = cast<tile::RingType>(acquire.getRing().getType());
  int64_t bytes = 0;
  for (Operation *user : acquire.getResult().getUsers())
    if (auto copy = dyn_cast<tile::CopyOp>(user))
      bytes += ring.getBuffers()[copy.getBuffer()].numBytes();
  return bytes;
}

LogicalResult TaskEmitter::emitLoadBlock(Block &block, Value pool) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue; // of a loop; blocks of units have none
    b.setLoc(op.getLoc());
    auto nested = [&](Block &body) { return emitLoadBlock(body, pool); };
    if (isa<scf::ForOp>(op)) {
      if (failed(emitLoop(op, nested)))
        return failure();
    } else if (isa<scf::IfOp>(op)) {
      if (failed(emitIf(op, nested)))
        return failure();
    } else if (auto acquire = dyn_cast<tile::AcquireOp>(op)) {
      Value ringPool = poolOf(acquire.getRing());
      if (pool && ringPool != pool)
        continue;
      Slot slot = currentSlot(ringPool);
      waitEmpty(ringPool, slot);
      slot.bytes = copiedBytes(acquire);
      if (slot.bytes)
        emitExpectBytes(slot);
      slots[acquire.getResult()] = slot;
    } else if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      if (slots.count(copy.getSlot()))
        emitCopy(copy);
    } else if (auto commit = dyn_cast<tile::CommitOp>(op)) {
      auto slot = slots.find(commit.getSlot());
      if (slot == slots.end())
        continue;
      if (!slot->second.bytes)
        m.mbarrierArrive(slot->second.full);
      auto acquire = commit.getSlot().getDefiningOp<tile::AcquireOp>();
      advance(poolOf(acquire.getRing()));
    } else if (failed(emitScalar(op))) {
      return failure();
    }
  }
  return success();
}

void TaskEmitter::emitExpectBytes(const Slot &slot) {
  m.mbarrierArriveExpectTx(slot.full, slot.bytes);
}

void TaskEmitter::emitBoxCopy(Value address, Value map, ValueRange coordinates,
                              const Slot &slot) {
  m.tmaLoad(address, map, coordinates, slot.full);
}

void TaskEmitter::emitCopy(tile::CopyOp copy) {
  auto acquire = copy.getSlot().getDefiningOp<tile::AcquireOp>();
  auto ring = cast<tile::RingType>(acquire.getRing().getType());
  tile::BufferAttr buffer = ring.getBuffers()[copy.getBuffer()];
  MapUse use = mapUseOf(copy);
  const Slot &slot = slots[copy.getSlot()];
  Value address = add(slot.address, c(bufferOffset(ring, copy.getBuffer())));
  Value row = mapped(copy.getRow()), col = mapped(copy.getCol());
  Value map = mapPointer(use);
  if (use.panels > 1) {
    // One box over panels: coordinates (column in a panel, row, panel).
    Value panel = divu(col, c(use.panelCols));
    emitBoxCopy(address, map, {c(0), row, panel}, slot);
    return;
  }
  int64_t panels = llvm::divideCeil(buffer.getCols(), use.panelCols);
  for (int64_t p = 0; p < panels; ++p)
    emitBoxCopy(add(address, c(p * buffer.getRows() * panelBytes)), map,
                {add(col, c(p * use.panelCols)), row}, slot);
}
