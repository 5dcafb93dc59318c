//===- ConvertKernel.cpp - Kernels that convert f32 operands --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight warps a CTA. A warp takes 8 rows of 128 columns at a time, 32 rows
// where columns are summed; four columns a lane: it reads 16 bytes a lane and
// row, writes 8 of each copy, and keeps four sums. (With 64 rows for all, a
// matrix of 3584 x 1280 has fewer items than there are warps, and each is a
// chain of latencies.)
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Common/ElementRegion.h"
#include "backfuse/Conversion/Common/TaskEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;

static constexpr int64_t warps = convertThreads / 32;
static constexpr int64_t stripCols = 128, laneCols = 4;
/// Rows whose loads are in flight together: without sums; with sums, which are
/// few items, as many as registers hold of one copy and of two.
static constexpr int64_t rowsAtOnce = 8, summedRowsAtOnce[] = {32, 16};

LogicalResult TaskEmitter::emitConvertKernel() {
  emitIndices();
  for (Operation &op : kernel.getBlock()) {
    b.setLoc(op.getLoc());
    if (auto convert = dyn_cast<tile::ConvertOp>(op))
      emitConvert(convert, warp, warps);
    else if (auto clear = dyn_cast<tile::ClearOp>(op))
      emitClear(clear);
    else if (auto finish = dyn_cast<tile::FinishSumOp>(op))
      emitFinishSum(finish, warp, warps);
    else if (failed(emitScalar(op)))
      return failure();
  }
  return success();
}

void TaskEmitter::emitClear(tile::ClearOp clear) {
  auto loop = scf::ForOp::create(b, add(mul(cta, c(convertThreads)), tid),
                                 mapped(clear.getWords()),
                                 mul(numCtas, c(convertThreads)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value offset = mul64(zext64(loop.getInductionVar()), m.i64(8));
  m.storeGlobal(m.i64(0), m.offset(mapped(clear.getWorkspace()), offset), 8);
}

void TaskEmitter::emitConvert(tile::ConvertOp convert, Value warpNumber,
                              int64_t numWarps) {
  Type f32 = b.getF32Type();
  auto four = VectorType::get(4, f32);
  auto source = cast<tile::GlobalTensorType>(convert.getSource().getType());
  int64_t cols = source.getCols();
  int64_t strips = llvm::divideCeil(cols, stripCols);
  int64_t chunkRows =
      convert.getPartials() ? tile::ConvertOp::sumRows : rowsAtOnce;
  Value rows = mapped(convert.getRows());
  Value paddedRows = rows;
  if (std::optional<int64_t> pad = convert.getPad())
    paddedRows = mul(ceilDiv(rows, *pad), c(*pad));
  Value items = mul(ceilDiv(paddedRows, chunkRows), c(strips));
  SmallVector<Value> sums;
  if (convert.getPartials())
    for (int64_t i = 0; i < laneCols; ++i)
      sums.push_back(createRoleVariable(f32));
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(f32));

  auto loop = scf::ForOp::create(b, add(mul(cta, c(numWarps)), warpNumber),
                                 items, mul(numCtas, c(numWarps)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value item = loop.getInductionVar();
  Value chunk = divu(item, c(strips));
  Value strip = sub(item, mul(chunk, c(strips)));
  Value firstRow = mul(chunk, c(chunkRows));
  Value endRow = add(firstRow, c(chunkRows));
  Value stripCol = mul(strip, c(stripCols));
  Value col = add(stripCol, mul(lane, c(laneCols)));
  Value inside = ult(col, c(cols));
  for (Value sum : sums)
    storeVariable(b, sum, zero);

  // Byte offset of this lane's four columns of a row in a tensor of
  // `bytes`-byte elements.
  auto pointerAt = [&](Value tensor, Value row, int64_t bytes) {
    Value element =
        arith::AddIOp::create(b, mul64(zext64(row), m.i64(cols)), zext64(col));
    return m.offset(mapped(tensor), mul64(element, m.i64(bytes)));
  };
  // Rows beyond the last are zero, and read as those of the last again. They
  // are stored where copies are padded.
  auto zeros =
      arith::ConstantOp::create(b, DenseElementsAttr::get(four, 0.0f));
  auto convertRows = [&](Value row, int64_t count) {
    SmallVector<Value> rest, loaded, present;
    for (int64_t i = 0; i < count; ++i) {
      Value at = minu(add(row, c(i)), sub(rows, c(1)));
      loaded.push_back(
          m.loadGlobal(four, pointerAt(convert.getSource(), at, 4), 16));
    }
    for (auto [i, value] : llvm::enumerate(loaded)) {
      present.push_back(ult(add(row, c(i)), rows));
      rest.push_back(select(present.back(), value, zeros));
    }
    for (Value value : rest)
      for (auto [j, sum] : llvm::enumerate(sums))
        storeVariable(b, sum,
                      arith::AddFOp::create(b, loadVariable(b, sum, f32),
                                            pairElement(b, value, j)));
    for (auto [part, copy] : llvm::enumerate(convert.getCopies())) {
      bool split = part == 0 && convert.getCopies().size() == 2;
      Type element = cast<tile::GlobalTensorType>(copy.getType()).getElement();
      Value to = pointerAt(copy, row, 2);
      for (int64_t i = 0; i < count; ++i) {
        Value rounded =
            arith::TruncFOp::create(b, VectorType::get(4, element),
                                    split ? clampToFiniteBf16(b, rest[i])
                                          : rest[i]);
        auto store = [&] {
          m.storeGlobal(rounded, m.offset(to, m.i64(i * cols * 2)), 8);
        };
        if (convert.getPad())
          store();
        else
          ifThen(present[i], store);
        // The second copy holds what the first leaves.
        Value back = arith::ExtFOp::create(b, four, rounded);
        rest[i] = arith::SubFOp::create(b, rest[i], back);
      }
    }
  };
  ifThen(inside, [&] {
    int64_t count = sums.empty()
                        ? rowsAtOnce
                        : summedRowsAtOnce[convert.getCopies().size() == 2];
    auto rowsLoop = scf::ForOp::create(b, firstRow, endRow, c(count));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rowsLoop.getBody());
    convertRows(rowsLoop.getInductionVar(), count);
  });
  if (sums.empty())
    return;
  Value isSummed = arith::AndIOp::create(b, inside, ult(firstRow, rows));
  ifThen(isSummed, [&] {
    Value index = arith::AddIOp::create(b, mul64(zext64(chunk), m.i64(cols)),
                                        zext64(col));
    Value pointer =
        m.offset(mapped(convert.getPartials()), mul64(index, m.i64(4)));
    for (auto [j, sum] : llvm::enumerate(sums))
      m.storeGlobalL2(loadVariable(b, sum, f32),
                      m.offset(pointer, m.i64(4 * j)));
  });
  if (!convert.getFlags())
    return; // whoever reads them waits for the end of the kernel
  m.warpBarrier();
  for (int64_t half = 0; half < stripCols / 64; ++half) {
    Value first = add(stripCol, c(64 * half));
    Value publishes =
        arith::AndIOp::create(b, eq(lane, c(0)), ult(first, c(cols)));
    ifThen(publishes, [&] {
      Value flag = arith::AddIOp::create(
          b, mul64(zext64(chunk), m.i64(llvm::divideCeil(cols, 64))),
          zext64(divu(first, c(64))));
      m.publishTag(m.offset(mapped(convert.getFlags()), mul64(flag, m.i64(8))),
                   mapped(convert.getTag()));
    });
  }
}
