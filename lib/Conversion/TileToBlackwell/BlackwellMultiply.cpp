//===- BlackwellMultiply.cpp - The multiply task on sm_100 ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One warp, whose elected thread issues products and commits. A commit arrives
// when all products before it are done, so it both empties the slots that they
// read and fills the accumulators that they write. Of a pair of CTAs the leader
// does so for both.
//===----------------------------------------------------------------------===//
#include "BlackwellEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::blackwell;

/// Waits for a barrier at which threads and copies of both CTAs of a pair may
/// arrive.
void BlackwellEmitter::waitForPair(Value barrier, Value parity) {
  if (layout.pairs)
    m.mbarrierWaitInCluster(barrier, parity);
  else
    m.mbarrierWait(barrier, parity);
}

void BlackwellEmitter::waitFull(Value pool, const Slot &slot) {
  if (!layout.pairs || pool != layout.operandPool)
    return TaskEmitter::waitFull(pool, slot);
  waitForPair(slot.full,
              loadVariable(b, states.find(pool)->second.phase, b.getI32Type()));
}

void BlackwellEmitter::waitEmpty(Value pool, const Slot &slot) {
  if (!layout.pairs || pool != layout.operandPool)
    return TaskEmitter::waitEmpty(pool, slot);
  Value phase =
      loadVariable(b, states.find(pool)->second.phase, b.getI32Type());
  waitForPair(slot.empty, xori(phase, c(1)));
}

LogicalResult BlackwellEmitter::emitMultiplyRole() {
  tile::ForEachUnitOp units =
      unitsOf(findTask(kernel, tile::TaskKind::Multiply));
  createRoleState();
  createSetState();
  return emitUnits(units, [&](unsigned i, Unit &) -> LogicalResult {
    Value set = currentSet();
    Value phase = loadVariable(b, setPhase, b.getI32Type());
    waitForPair(setBarrier(layout.emptyOffset, set), xori(phase, c(1)));
    m.tensorFenceAfter();
    productSet = set;
    if (failed(emitMultiplyBlock(units.getBodies()[i].front())))
      return failure();
    ifThen(m.elect(), [&] { m.mmaCommit(setBarrier(layout.fullOffset, set)); });
    advanceSet();
    return success();
  });
}

/// What K advances by from one instruction to the next, in units of 16 bytes,
/// for instruction `k` of a slot.
static int64_t advanceOf(tile::BufferAttr buffer, bool kMajor, int64_t k) {
  if (!kMajor) // rows of a panel; panels hold all rows
    return k * instructionK(buffer.getElement()) * panelBytes / 16;
  // 32 bytes along rows of 128; then the next panel.
  int64_t bytes = k * arch::instructionKBytes;
  return (bytes / panelBytes * buffer.getRows() * panelBytes +
          bytes % panelBytes) /
         16;
}

void BlackwellEmitter::emitMultiply(tile::MultiplyOp multiply) {
  Value pool = poolOf(multiply.getRing());
  auto ring = cast<tile::RingType>(multiply.getRing().getType());
  tile::BufferAttr bufferA = ring.getBuffers()[0],
                   bufferB = ring.getBuffers()[1];
  auto type = cast<tile::AccumulatorType>(multiply.getAccumulator().getType());
  bool aK = multiply.getAMajor() == tile::Major::K;
  bool bK = multiply.getBMajor() == tile::Major::K;
  NvvmBuilder::MmaShape shape{type.getRows() * (layout.pairs ? 2 : 1),
                              type.getCols(), bufferA.getElement(), !aK, !bK};
  int64_t stepK = aK ? bufferA.getCols() : bufferA.getRows();
  int64_t instructions = stepK / instructionK(bufferA.getElement());
  Value accumulator =
      add(setAddress(productSet),
          c(layout.accumulatorColumns.find(multiply.getAccumulator())->second));

  forRange(mapped(multiply.getSteps()), [&](Value step) {
    Slot slot = currentSlot(pool);
    waitFull(pool, slot);
    m.tensorFenceAfter();
    auto atomBytes = [&](bool kMajor) {
      return multiply.isTf32() && !kMajor ? 32 : 16;
    };
    Value a = m.mmaDescriptor(slot.address, !aK, bufferA.getRows() * panelBytes,
                              atomBytes(aK));
    Value bDescriptor =
        m.mmaDescriptor(add(slot.address, c(bufferOffset(ring, 1))), !bK,
                        bufferB.getRows() * panelBytes, atomBytes(bK));
    Value yes = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
    Value first = multiply.getAccumulate() ? yes : ne(step, c(0));
    // The other CTA's sum warps cannot wait for the leader's barrier.
    bool passesOn = layout.pairs && layout.pools.find(pool)->second.sums;
    ifThen(m.elect(), [&] {
      if (passesOn)
        m.mbarrierArriveInCluster(add(slot.full, toOther));
      for (int64_t k = 0; k < instructions; ++k)
        m.mma(shape, accumulator, add64(a, m.i64(advanceOf(bufferA, aK, k))),
              add64(bDescriptor, m.i64(advanceOf(bufferB, bK, k))),
              k == 0 ? first : yes);
      m.mmaCommit(slot.empty);
    });
    advance(pool);
  });
}
