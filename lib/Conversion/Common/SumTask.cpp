//===- SumTask.cpp - Column sums of operands as they pass -----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Common/ElementRegion.h"
#include "backfuse/Conversion/Common/TaskEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;

static constexpr int64_t sumCols = 64; // columns of one flag

LogicalResult TaskEmitter::emitSumTask(tile::TaskOp task) {
  tile::ForEachUnitOp loop;
  for (Operation &op : task.getBody().front()) {
    b.setLoc(op.getLoc());
    if (auto units = dyn_cast<tile::ForEachUnitOp>(op)) {
      loop = units;
      if (llvm::all_of(loop.getBodies(),
                       [](Region &body) { return body.front().empty(); }))
        continue;
      if (failed(emitUnits(loop, [&](unsigned i, Unit &) {
            return emitSumBlock(loop.getBodies()[i].front());
          })))
        return failure();
    } else if (auto convert = dyn_cast<tile::ConvertOp>(op)) {
      emitConvert(convert, sub(warp, c(firstSumWarp)), numSumWarps);
    } else if (auto finish = dyn_cast<tile::FinishSumOp>(op)) {
      emitFinishSum(finish, sub(warp, c(firstSumWarp)), numSumWarps);
    } else if (failed(emitScalar(op))) {
      return failure();
    }
  }
  return success();
}

LogicalResult TaskEmitter::emitSumBlock(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    b.setLoc(op.getLoc());
    if (auto skip = dyn_cast<tile::SkipOp>(op)) {
      Value pool = poolOf(skip.getRing());
      forRange(mapped(skip.getEntries()), [&](Value) {
        Slot slot = currentSlot(pool);
        waitFull(pool, slot);
        m.warpBarrier();
        releaseByWarp(slot.empty);
        advance(pool);
      });
    } else if (auto sum = dyn_cast<tile::SumOperandOp>(op)) {
      if (cast<tile::RingType>(sum.getRing().getType())
              .getBuffers()[sum.getBuffer()]
              .getElement()
              .getIntOrFloatBitWidth() != 16)
        return sum.emitOpError("expects a 16-bit operand on ") << targetName;
      if (cast<tile::RingType>(sum.getRing().getType())
                  .getBuffers()[sum.getBuffer()]
                  .getRows() %
              16 !=
          0)
        return sum.emitOpError("expects a multiple of 16 rows on ") << targetName;
      emitSumOperand(sum);
    } else if (isa<scf::IfOp>(op)) {
      if (failed(emitIf(op, [&](Block &body) { return emitSumBlock(body); })))
        return failure();
    } else if (failed(emitScalar(op))) {
      return failure();
    }
  }
  return success();
}

/// A panel of the buffer is K rows of 128 bytes, swizzled. A lane adds up eight
/// columns (one 16-byte chunk) of every fourth row; the four lanes of a column
/// are added at the end. Panels go round the sum warps.
void TaskEmitter::emitSumOperand(tile::SumOperandOp sum) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value pool = poolOf(sum.getRing());
  auto ring = cast<tile::RingType>(sum.getRing().getType());
  tile::BufferAttr buffer = ring.getBuffers()[sum.getBuffer()];
  int64_t offset = bufferOffset(ring, sum.getBuffer());
  int64_t panels = buffer.getCols() / sumCols;
  int64_t panelsPerWarp = llvm::divideCeil(panels, numSumWarps);
  Value sumWarp = sub(warp, c(firstSumWarp));
  Value chunk = andi(lane, c(7)), rowOfLane = shr(lane, 3);

  Value variable = createRoleVariable(f32, panelsPerWarp * 8);
  for (int64_t i = 0; i < panelsPerWarp * 8; ++i)
    storeVariable(b, variable, arith::ConstantOp::create(b, b.getZeroAttr(f32)),
                  i);
  Value contributor = mapped(sum.getContributor());
  Value contributors = mapped(sum.getContributors());
  forRange(mapped(sum.getSteps()), [&](Value step) {
    Slot slot = currentSlot(pool);
    waitFull(pool, slot);
    ifThen(eq(remu(step, contributors), contributor), [&] {
      for (int64_t p = 0; p < panelsPerWarp; ++p) {
        // In the last round of an odd number of panels a warp has none: it adds
        // up the last one again, and does not write it.
        Value panel = add(sumWarp, c(p * numSumWarps));
        if ((p + 1) * numSumWarps > panels)
          panel = minu(panel, c(panels - 1));
        Value base = add(add(slot.address, c(offset)),
                         mul(panel, c(buffer.getRows() * panelBytes)));
        // Four rows of a lane at once: their addresses differ in the row's
        // swizzle, (row & 7), which alternates between two values.
        auto loop = scf::ForOp::create(b, c(0), c(buffer.getRows()), c(16));
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        for (int64_t r = 0; r < 4; ++r) {
          Value row = add(loop.getInductionVar(), add(rowOfLane, c(4 * r)));
          Value place = shl(xori(chunk, andi(row, c(7))), 4);
          Value address = add(add(base, mul(row, c(panelBytes))), place);
          Value words = m.loadShared(VectorType::get(4, i32), address, 16);
          for (int64_t e = 0; e < 8; ++e) {
            Value word = pairElement(b, words, e / 2);
            Value element;
            if (buffer.getElement().isBF16()) {
              Value bits =
                  e % 2 ? andi(word, c(int32_t(0xFFFF0000))) : shl(word, 16);
              element = arith::BitcastOp::create(b, f32, bits);
            } else {
              Value half = arith::TruncIOp::create(
                  b, b.getIntegerType(16), e % 2 ? shr(word, 16) : word);
              half = arith::BitcastOp::create(b, buffer.getElement(), half);
              element = arith::ExtFOp::create(b, f32, half);
            }
            Value total = loadVariable(b, variable, f32, p * 8 + e);
            storeVariable(b, variable, arith::AddFOp::create(b, total, element),
                          p * 8 + e);
          }
        }
      }
    });
    if (fencesReads)
      m.fenceProxyAsyncShared();
    m.warpBarrier();
    releaseByWarp(slot.empty);
    advance(pool);
  });

  ifThen(ult(contributor, contributors), [&] {
    Value cols = mapped(sum.getCols()), tag = mapped(sum.getTag());
    Value line = mapped(sum.getLine());
    for (int64_t p = 0; p < panelsPerWarp; ++p) {
      Value panel = add(sumWarp, c(p * numSumWarps));
      Value firstCol = add(mapped(sum.getCol()), mul(panel, c(sumCols)));
      // What there is of the operand, and of the buffer.
      auto there = [&](Value condition) -> Value {
        if ((p + 1) * numSumWarps <= panels)
          return condition;
        return arith::AndIOp::create(b, condition, ult(panel, c(panels)));
      };
      SmallVector<Value> totals;
      for (int64_t e = 0; e < 8; ++e) {
        Value x = loadVariable(b, variable, f32, p * 8 + e);
        for (int64_t mask : {8, 16})
          x = arith::AddFOp::create(b, x, m.shuffleXor(x, mask));
        totals.push_back(x);
      }
      Value col = add(firstCol, shl(chunk, 3));
      Value index = arith::AddIOp::create(b, mul64(zext64(line), zext64(cols)),
                                          zext64(col));
      Value pointer =
          m.offset(mapped(sum.getPartials()), mul64(index, m.i64(4)));
      Value writes =
          there(arith::AndIOp::create(b, ult(lane, c(8)), ult(col, cols)));
      ifThen(writes, [&] {
        for (auto [e, total] : llvm::enumerate(totals))
          m.storeGlobalL2(total, m.offset(pointer, m.i64(e * 4)));
      });
      m.warpBarrier();
      Value publishes =
          there(arith::AndIOp::create(b, eq(lane, c(0)), ult(firstCol, cols)));
      ifThen(publishes, [&] {
        Value flag = arith::AddIOp::create(
            b, mul64(zext64(line), zext64(ceilDiv(cols, sumCols))),
            zext64(divu(firstCol, c(sumCols))));
        m.publishTag(m.offset(mapped(sum.getFlags()), mul64(flag, m.i64(8))),
                     tag);
      });
    }
  });
}

/// One warp adds up 64 columns, two a lane; the warps of the grid take turns.
void TaskEmitter::emitFinishSum(tile::FinishSumOp finish, Value warpNumber,
                                int64_t numWarps) {
  Type f32 = b.getF32Type();
  auto result = cast<tile::GlobalTensorType>(finish.getResult().getType());
  int64_t cols = result.getCols();
  int64_t panels = llvm::divideCeil(cols, sumCols);
  Value lines = mapped(finish.getLines());
  // Warps of different CTAs first: panels are few.
  Value first = add(cta, mul(warpNumber, numCtas));
  auto loop =
      scf::ForOp::create(b, first, c(panels), mul(numCtas, c(numWarps)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value panel = loop.getInductionVar();
  auto flagPointer = [&](Value line) {
    Value flag = arith::AddIOp::create(b, mul64(zext64(line), m.i64(panels)),
                                       zext64(panel));
    return m.offset(mapped(finish.getFlags()), mul64(flag, m.i64(8)));
  };
  auto forLanes = [&](function_ref<void(Value)> body) {
    auto lanes = scf::ForOp::create(b, lane, lines, c(32));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(lanes.getBody());
    body(lanes.getInductionVar());
  };
  if (finish.getFlags()) {
    forLanes([&](Value line) {
      m.waitForTag(flagPointer(line), mapped(finish.getTag()));
    });
    m.warpBarrier();
  }

  Value col = add(mul(panel, c(sumCols)), shl(lane, 1));
  Value inside = ult(col, c(cols));
  // A column of this panel: the flags of others were not waited for.
  Value safeCol = select(inside, col, mul(panel, c(sumCols)));
  SmallVector<Value, 2> totals = {createRoleVariable(f32),
                                  createRoleVariable(f32)};
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(f32));
  for (Value total : totals)
    storeVariable(b, total, zero);
  auto addLines = [&](Value line, int64_t count) {
    // One address for all lines of a block: the role has 40 registers.
    Value index = arith::AddIOp::create(b, mul64(zext64(line), m.i64(cols)),
                                        zext64(safeCol));
    Value pointer =
        m.offset(mapped(finish.getPartials()), mul64(index, m.i64(4)));
    SmallVector<Value> values;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < 2; ++j)
        values.push_back(
            m.loadGlobalL2(m.offset(pointer, m.i64((i * cols + j) * 4))));
    for (auto [i, value] : llvm::enumerate(values)) {
      Value total = loadVariable(b, totals[i % 2], f32);
      storeVariable(b, totals[i % 2], arith::AddFOp::create(b, total, value));
    }
  };
  // Loads in flight hide each other's latency.
  constexpr int64_t unroll = 8;
  Value whole = mul(divu(lines, c(unroll)), c(unroll));
  {
    auto blocks = scf::ForOp::create(b, c(0), whole, c(unroll));
    OpBuilder::InsertionGuard blockGuard(b);
    b.setInsertionPointToStart(blocks.getBody());
    addLines(blocks.getInductionVar(), unroll);
  }
  {
    auto rest = scf::ForOp::create(b, whole, lines, c(1));
    OpBuilder::InsertionGuard restGuard(b);
    b.setInsertionPointToStart(rest.getBody());
    addLines(rest.getInductionVar(), 1);
  }
  int64_t bytes = result.getElement().getIntOrFloatBitWidth() / 8;
  ifThen(inside, [&] {
    for (int64_t i = 0; i < 2; ++i) {
      Value value = loadVariable(b, totals[i], f32);
      if (bytes == 2)
        value = arith::TruncFOp::create(b, result.getElement(), value);
      Value pointer = m.offset(mapped(finish.getResult()),
                               mul64(zext64(add(col, c(i))), m.i64(bytes)));
      m.storeGlobal(value, pointer, bytes);
    }
  });
  if (!finish.getFlags())
    return;
  m.warpBarrier();
  forLanes([&](Value line) { m.clearTag(flagPointer(line)); });
}
