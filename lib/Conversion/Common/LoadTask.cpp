//===- LoadTask.cpp - The load task, by bulk tensor copies ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Common/TaskEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;

bool TaskEmitter::isOfRole(tile::CopyOp copy, const LoadRole &role) {
  unsigned argument = cast<BlockArgument>(copy.getTensor()).getArgNumber();
  bool isInput =
      kernel.getBinding(argument).getKind() == tile::BindKind::Input;
  return role.part == LoadPart::All ||
         isInput == (role.part == LoadPart::Inputs);
}

LogicalResult TaskEmitter::emitLoadBlock(Block &block, const LoadRole &role) {
  auto byOneThread = [&](function_ref<void()> body) {
    if (role.wholeWarp)
      ifThen(eq(lane, c(0)), body);
    else
      body();
  };
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue; // of a loop; blocks of units have none
    b.setLoc(op.getLoc());
    auto nested = [&](Block &body) { return emitLoadBlock(body, role); };
    if (isa<scf::ForOp>(op)) {
      if (failed(emitLoop(op, nested)))
        return failure();
    } else if (isa<scf::IfOp>(op)) {
      if (failed(emitIf(op, nested)))
        return failure();
    } else if (auto await = dyn_cast<tile::AwaitOp>(op)) {
      if (!role.awaits)
        continue;
      if (role.wholeWarp)
        emitAwait(await);
      else if (role.part != LoadPart::Inputs)
        return op.emitOpError("has no lowering to ") << targetName << " here";
    } else if (auto acquire = dyn_cast<tile::AcquireOp>(op)) {
      Value pool = poolOf(acquire.getRing());
      if (role.pool && pool != role.pool)
        continue;
      Slot slot = currentSlot(pool);
      // Bytes that the copies bring; clipped boxes count in full.
      ArrayRef<tile::BufferAttr> buffers =
          cast<tile::RingType>(acquire.getRing().getType()).getBuffers();
      for (Operation *user : acquire.getResult().getUsers())
        if (auto copy = dyn_cast<tile::CopyOp>(user))
          if (isOfRole(copy, role))
            slot.bytes += buffers[copy.getBuffer()].numBytes();
      // The other lanes of a whole warp must not wait, too: they might miss a
      // phase while the slot goes round.
      byOneThread([&] {
        waitEmpty(pool, slot);
        if (slot.bytes)
          emitExpectBytes(slot);
      });
      slots[acquire.getResult()] = slot;
    } else if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      if (slots.count(copy.getSlot()) && isOfRole(copy, role))
        byOneThread([&] { emitCopy(copy); });
    } else if (auto commit = dyn_cast<tile::CommitOp>(op)) {
      auto slot = slots.find(commit.getSlot());
      if (slot == slots.end())
        continue;
      byOneThread([&] {
        if (!slot->second.bytes)
          m.mbarrierArrive(slot->second.full);
      });
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

/// Each lane polls flags of its own. Then bulk copies of this warp may read what
/// bulk copies of other CTAs have written.
void TaskEmitter::emitAwait(tile::AwaitOp await) {
  const Space &space = spaces[await.getSpace()];
  Value endRow = minu(mapped(await.getEndRow()), space.m);
  Value endCol = minu(mapped(await.getEndCol()), space.n);
  Value firstM = divu(mapped(await.getRow()), c(space.bm));
  Value firstN = divu(mapped(await.getCol()), c(space.bn));
  Value tilesM = sub(ceilDiv(endRow, space.bm), firstM);
  Value tilesN = sub(ceilDiv(endCol, space.bn), firstN);
  auto loop = scf::ForOp::create(b, lane, mul(mul(tilesM, tilesN), c(2)),
                                 c(32));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value tile = shr(loop.getInductionVar(), 1);
    Value half = andi(loop.getInductionVar(), c(1));
    Value tileM = divu(tile, tilesN);
    Value tileN = sub(tile, mul(tileM, tilesN));
    Value index = add(mul(add(firstM, tileM), space.tilesN),
                      add(firstN, tileN));
    Value flag = add(shl(index, 1), half);
    m.waitForTag(m.offset(mapped(await.getSignals()),
                          mul64(zext64(flag), m.i64(8))),
                 mapped(await.getTag()));
  }
  m.fenceProxyAsync();
  m.warpBarrier();
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
