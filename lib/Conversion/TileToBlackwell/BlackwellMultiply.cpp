//===- BlackwellMultiply.cpp - The multiply task on sm_100 ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One warp, whose elected thread issues products and commits. A commit arrives
// when all products before it are done, so it both empties the slots that they
// read and fills the accumulators that they write.
//===----------------------------------------------------------------------===//
#include "BlackwellEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::blackwell;

LogicalResult BlackwellEmitter::emitMultiplyRole() {
  tile::ForEachUnitOp units =
      unitsOf(findTask(kernel, tile::TaskKind::Multiply));
  createRoleState();
  createSetState();
  return emitUnits(units, [&](unsigned i, Unit &) -> LogicalResult {
    Value set = currentSet();
    Value phase = loadVariable(b, setPhase, b.getI32Type());
    m.mbarrierWait(setBarrier(layout.emptyOffset, set), xori(phase, c(1)));
    m.tensorFenceAfter();
    for (Operation &op : units.getBodies()[i].front()) {
      b.setLoc(op.getLoc());
      if (auto multiply = dyn_cast<tile::MultiplyOp>(op))
        emitMultiply(multiply, set);
      else if (failed(emitScalar(op)))
        return failure();
    }
    ifThen(m.elect(), [&] { m.mmaCommit(setBarrier(layout.fullOffset, set)); });
    advanceSet();
    return success();
  });
}

/// What K advances by from one instruction (16 elements, 32 bytes) to the next,
/// in units of 16 bytes, for instruction `k` of a slot.
static int64_t advanceOf(tile::BufferAttr buffer, bool kMajor, int64_t k) {
  if (!kMajor)
    return k * 16 * panelBytes / 16; // 16 rows of a panel; panels hold all rows
  // 32 bytes along rows of 128; then the next panel.
  int64_t bytes = k * 32;
  return (bytes / panelBytes * buffer.getRows() * panelBytes +
          bytes % panelBytes) /
         16;
}

void BlackwellEmitter::emitMultiply(tile::MultiplyOp multiply, Value set) {
  Value pool = poolOf(multiply.getRing());
  auto ring = cast<tile::RingType>(multiply.getRing().getType());
  tile::BufferAttr bufferA = ring.getBuffers()[0],
                   bufferB = ring.getBuffers()[1];
  auto type = cast<tile::AccumulatorType>(multiply.getAccumulator().getType());
  bool aK = multiply.getAMajor() == tile::Major::K;
  bool bK = multiply.getBMajor() == tile::Major::K;
  NvvmBuilder::MmaShape shape{type.getRows(), type.getCols(),
                              bufferA.getElement(), !aK, !bK};
  int64_t stepK = aK ? bufferA.getCols() : bufferA.getRows();
  Value accumulator =
      add(setAddress(set),
          c(layout.accumulatorColumns.find(multiply.getAccumulator())->second));

  forRange(mapped(multiply.getSteps()), [&](Value step) {
    Slot slot = currentSlot(pool);
    waitFull(pool, slot);
    m.tensorFenceAfter();
    Value a =
        m.mmaDescriptor(slot.address, !aK, bufferA.getRows() * panelBytes);
    Value bDescriptor =
        m.mmaDescriptor(add(slot.address, c(bufferOffset(ring, 1))), !bK,
                        bufferB.getRows() * panelBytes);
    Value yes = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
    Value first = multiply.getAccumulate() ? yes : ne(step, c(0));
    ifThen(m.elect(), [&] {
      for (int64_t k = 0; k < stepK / 16; ++k)
        m.mma(shape, accumulator, add64(a, m.i64(advanceOf(bufferA, aK, k))),
              add64(bDescriptor, m.i64(advanceOf(bufferB, bK, k))),
              k == 0 ? first : yes);
      m.mmaCommit(slot.empty);
    });
    advance(pool);
  });
}
