//===- HopperMultiply.cpp - The consumer warpgroups on sm_90a -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Multiply and drain tasks share the two consumer warpgroups: for each unit the
// multiply task's operations, then the drain task's.
//===----------------------------------------------------------------------===//
#include "HopperEmitter.h"
#include "backfuse/Conversion/Common/ElementRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::hopper;

LogicalResult HopperEmitter::emitConsumer() {
  consumer = sub(shr(warp, 2), c(1));
  consumerThread = andi(tid, c(warpgroupThreads - 1));
  consumerWarp = andi(warp, c(3));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(kernelEntry(function));
    for (auto op : kernel.getBlock().getOps<tile::AccumulatorsOp>())
      accumulators[op.getResult()] = createVariable(
          b, b.getF32Type(), accumulatorsPerThread(op.getResult().getType()));
    previousEmpty = createVariable(b, b.getI32Type());
    stagingPlace = createVariable(b, b.getI32Type());
    scratchPlace = createVariable(b, b.getI32Type());
    int64_t slotsPerEntry = 1;
    kernel.walk([&](tile::DrainOp drain) {
      slotsPerEntry =
          std::max<int64_t>(slotsPerEntry, drain.getSlotsPerEntry());
    });
    pending.clear();
    for (int64_t i = 0; i < slotsPerEntry; ++i)
      pending.push_back(createVariable(b, b.getI32Type()));
  }
  tile::ForEachUnitOp multiply =
      unitsOf(findTask(kernel, tile::TaskKind::Multiply));
  tile::ForEachUnitOp drain =
      unitsOf(findTask(kernel, tile::TaskKind::Drain));
  storeVariable(b, stagingPlace, c(0));
  storeVariable(b, scratchPlace, c(0));
  auto body = [&](unsigned i, Unit &unit) -> LogicalResult {
    if (failed(emitMultiplyBlock(multiply.getBodies()[i].front())))
      return failure();
    Block &block = drain.getBodies()[i].front();
    bindUnit(block, unit);
    return emitDrainBlock(block, unit);
  };
  if (failed(emitUnits(multiply, body)))
    return failure();
  // Shared memory outlives the last stores that read it.
  if (layout.stagingBytes)
    ifThen(eq(consumerThread, c(0)), [&] { m.bulkWaitRead(0); });
  return success();
}

//===----------------------------------------------------------------------===//
// Main loop
//===----------------------------------------------------------------------===//

OperandView hopper::viewOperand(tile::BufferAttr buffer, int64_t offset,
                                bool kMajor, bool isA) {
  OperandView view;
  view.offset = offset;
  view.transposed = !kMajor;
  if (kMajor) {
    // One panel: rows of 128 bytes along K; LBO is ignored, an instruction
    // takes 32 bytes of each row.
    view.leadingBytes = 16;
    view.warpgroupBytes = isA ? warpgroupRows * panelBytes : 0;
    view.advance = 32 / 16;
  } else {
    // Panels of 64 columns, each K rows of 128 bytes; an instruction takes 16.
    view.leadingBytes = buffer.getRows() * panelBytes;
    view.warpgroupBytes = isA ? buffer.getRows() * panelBytes : 0;
    view.advance = 16 * panelBytes / 16;
  }
  return view;
}

SmallVector<Value> HopperEmitter::loadAccumulators(Value variable,
                                                   int64_t count) {
  SmallVector<Value> all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back(loadVariable(b, variable, b.getF32Type(), i));
  return all;
}
void HopperEmitter::storeAccumulators(Value variable, ValueRange values) {
  for (auto [i, value] : llvm::enumerate(values))
    storeVariable(b, variable, value, i);
}

/// Start address and leading byte offset in the low word; stride byte offset
/// 1024 (eight rows) and the 128-byte swizzle in the high word.
Value HopperEmitter::descriptorOf(Value address, const OperandView &view) {
  Value low = andi(shr(address, 4), c(0x3FFF));
  low = arith::OrIOp::create(b, low, c((view.leadingBytes >> 4) << 16));
  Value high = m.i64(int64_t(1024 >> 4) << 32 | int64_t(1) << 62);
  return arith::OrIOp::create(b, zext64(low), high);
}

void HopperEmitter::emitMultiply(tile::MultiplyOp multiply) {
  if (multiply.hasF32A() || multiply.hasF32B())
    return emitRegisterMultiply(multiply);
  Value pool = poolOf(multiply.getRing());
  auto ring = cast<tile::RingType>(multiply.getRing().getType());
  tile::BufferAttr bufferA = ring.getBuffers()[0],
                   bufferB = ring.getBuffers()[1];
  auto type = cast<tile::AccumulatorType>(multiply.getAccumulator().getType());
  bool aK = multiply.getAMajor() == tile::Major::K;
  bool bK = multiply.getBMajor() == tile::Major::K;
  OperandView viewA = viewOperand(bufferA, 0, aK, /*isA=*/true);
  OperandView viewB =
      viewOperand(bufferB, bufferA.numBytes(), bK, /*isA=*/false);
  int64_t stepK = aK ? bufferA.getCols() : bufferA.getRows();

  NvvmBuilder::WgmmaShape shape{type.getCols(), bufferA.getElement(),
                                viewA.transposed, viewB.transposed};
  SmallVector<std::pair<int64_t, int64_t>> offsets;
  for (int64_t k = 0; k < stepK / 16; ++k)
    offsets.push_back({k * viewA.advance, k * viewB.advance});

  int64_t count = accumulatorsPerThread(type);
  Value variable = accumulators[multiply.getAccumulator()];
  // One group stays in flight: only the stage before this one is read. Beside
  // products from registers ptxas would serialise all of them (C7515).
  int64_t inFlight = layout.hasRegisterProducts ? 0 : 1;

  Value steps = mapped(multiply.getSteps());
  forRange(steps, [&](Value step) {
    Slot slot = currentSlot(pool);
    waitFull(pool, slot);
    Value a = add(add(slot.address, c(viewA.offset)),
                  mul(consumer, c(viewA.warpgroupBytes)));
    Value bAddress = add(slot.address, c(viewB.offset));
    Value scale = multiply.getAccumulate()
                      ? Value(arith::ConstantIntOp::create(b, b.getI1Type(), 1))
                      : ne(step, c(0));
    storeAccumulators(variable,
                      m.wgmmaStep(shape, loadAccumulators(variable, count),
                                  descriptorOf(a, viewA),
                                  descriptorOf(bAddress, viewB), offsets, scale,
                                  inFlight));
    ifThen(arith::AndIOp::create(b, ne(step, c(0)), eq(lane, c(0))), [&] {
      m.mbarrierArrive(loadVariable(b, previousEmpty, b.getI32Type()));
    });
    storeVariable(b, previousEmpty, slot.empty);
    advance(pool);
  });
  storeAccumulators(variable,
                    m.wgmmaWaitAll(loadAccumulators(variable, count)));
  releaseByWarp(loadVariable(b, previousEmpty, b.getI32Type()));
}

//===----------------------------------------------------------------------===//
// Split K
//===----------------------------------------------------------------------===//

void HopperEmitter::emitCombineSplits(tile::CombineSplitsOp combine,
                                      Unit &unit) {
  auto type = cast<tile::AccumulatorType>(combine.getAccumulator().getType());
  int64_t count = accumulatorsPerThread(type);
  Value variable = accumulators[combine.getAccumulator()];
  Value tag = mapped(combine.getTag());
  Value others = sub(unit.space->splits, c(1));
  ifThen(ne(others, c(0)), [&] {
    // Partials in fragment order: four accumulators of a thread are 16 bytes,
    // those of the 128 threads of a warpgroup contiguous.
    Value index = add(shl(unit.tileIndex, 1), consumer);
    Value firstPart = mul64(zext64(index), zext64(others));
    int64_t partBytes = count * warpgroupThreads * 4;
    auto partPointer = [&](Value split) {
      Value part = arith::AddIOp::create(b, firstPart, zext64(split));
      Value bytes = mul64(part, m.i64(partBytes));
      bytes = arith::AddIOp::create(b, bytes,
                                    zext64(mul(consumerThread, c(16))));
      return m.offset(mapped(combine.getPartials()), bytes);
    };
    auto flagPointer = [&](Value split) {
      Value flag = arith::AddIOp::create(b, firstPart, zext64(split));
      return m.offset(mapped(combine.getFlags()), mul64(flag, m.i64(8)));
    };
    Value barrier = add(consumer, c(1));
    auto branch = scf::IfOp::create(b, unit.last, /*else=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    {
      Value pointer = partPointer(unit.split);
      for (int64_t i = 0; i < count; i += 4) {
        SmallVector<Value> four;
        for (int64_t j = 0; j < 4; ++j)
          four.push_back(loadVariable(b, variable, b.getF32Type(), i + j));
        m.storeGlobalV4(four, m.offset(pointer, m.i64(i * 4 * warpgroupThreads)));
      }
      m.namedBarrier(barrier, warpgroupThreads);
      ifThen(eq(consumerThread, c(0)), [&] {
        m.publishTag(flagPointer(unit.split), tag);
      });
    }
    b.setInsertionPointToStart(branch.thenBlock());
    ifThen(eq(consumerThread, c(0)), [&] {
      forRange(others, [&](Value split) {
        m.waitForTag(flagPointer(split), tag);
      });
    });
    m.namedBarrier(barrier, warpgroupThreads);
    forRange(others, [&](Value split) {
      Value pointer = partPointer(split);
      for (int64_t i = 0; i < count; i += 4) {
        Value four = m.loadGlobalV4(
            m.offset(pointer, m.i64(i * 4 * warpgroupThreads)));
        for (int64_t j = 0; j < 4; ++j) {
          Value sum = loadVariable(b, variable, b.getF32Type(), i + j);
          Value part = pairElement(b, four, j);
          storeVariable(b, variable, arith::AddFOp::create(b, sum, part),
                        i + j);
        }
      }
    });
    ifThen(eq(consumerThread, c(0)), [&] {
      forRange(others, [&](Value split) { m.clearTag(flagPointer(split)); });
    });
  });
}
