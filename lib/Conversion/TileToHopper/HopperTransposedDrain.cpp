//===- HopperTransposedDrain.cpp - Epilogues of transposed tiles ----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accumulators hold the transpose of the tile (HopperRegisterOperand.cpp): a
// warpgroup has 64 of the tile's 128 columns; thread t of warp w has the columns
// 16w + t / 4 and 8 beyond, and of each 8 rows j the rows 8j + 2(t % 4) + {0, 1},
// which make a pair. Elements of 32 bits go to and from swizzled slots one by
// one, without bank conflicts; those of 16 bits as transposed matrices. A column
// is one warp's, and its sum needs no shared memory.
//===----------------------------------------------------------------------===//
#include "HopperEmitter.h"
#include "backfuse/Conversion/Common/ElementRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::hopper;

LogicalResult HopperEmitter::emitTransposedDrain(tile::DrainOp drain,
                                                 Unit &unit) {
  auto type =
      cast<tile::AccumulatorType>(drain.getAccumulators()[0].getType());
  int64_t lines = type.getRows() / sumRows;
  if (lines == 1) {
    emitTransposedLine(drain, unit, c(0));
  } else {
    forRange(c(lines), [&](Value line) {
      emitTransposedLine(drain, unit, line);
      moveAccumulators(drain, sumRows / 2);
    });
  }
  if (drain.getSignals() || !drain.getPartials().empty()) {
    if (drain.getStores().empty())
      m.namedBarrier(add(consumer, c(1)), warpgroupThreads);
    ifThen(eq(consumerThread, c(0)),
           [&] { publishTile(drain, unit, lines); });
  }
  return success();
}

/// 64 rows, whose accumulators are the first ones.
void HopperEmitter::emitTransposedLine(tile::DrainOp drain, Unit &unit,
                                       Value line) {
  int64_t entryRows = drain.getEntryRows();
  bool stores = !drain.getStores().empty();
  int64_t pieceRows = stores ? drain.getStagedRows() : entryRows;
  Value barrier = add(consumer, c(1));
  Value firstRow = mul(line, c(sumRows));
  // Of each sum the two columns' values over the rows so far.
  SmallVector<Value> sums(2 * drain.getPartials().size());
  SmallVector<Slot> entry;
  for (int64_t row = 0; row < sumRows; row += pieceRows) {
    if (drain.getRing() && row % entryRows == 0)
      entry = takeEntry(drain);
    Value staged;
    if (stores) {
      // Of the two places, the one whose stores have been read.
      Value place = loadVariable(b, stagingPlace, b.getI32Type());
      staged = add(add(smem, c(layout.stagingOffset)),
                   mul(add(shl(place, 1), consumer),
                       c(layout.stagingBytes / 4)));
      storeVariable(b, stagingPlace, xori(place, c(1)));
      ifThen(eq(consumerThread, c(0)), [&] { m.bulkWaitRead(1); });
      m.namedBarrier(barrier, warpgroupThreads);
    }
    Piece piece{add(firstRow, c(row)), row, pieceRows, row % entryRows};
    emitTransposedElements(drain, piece, entry, staged, sums);
    if (!entry.empty() && (row + pieceRows) % entryRows == 0) {
      m.warpBarrier(); // all lanes have read the entry
      for (const Slot &slot : entry)
        releaseByWarp(slot.empty);
    }
    if (!sums.empty() && row + pieceRows == sumRows)
      emitTransposedSums(drain, unit, line, sums);
    if (!stores)
      continue;
    m.fenceProxyAsyncShared();
    m.namedBarrier(barrier, warpgroupThreads);
    ifThen(eq(consumerThread, c(0)), [&] {
      emitTransposedStores(drain, piece, staged);
      m.bulkCommit();
    });
  }
}

/// By one thread of the warpgroup, after all wrote the sums: sets the flags of
/// its columns' sums in each of the tile's lines, and the tile's signal.
void HopperEmitter::publishTile(tile::DrainOp drain, const Unit &unit,
                                int64_t lines) {
  if (drain.getSignals())
    m.bulkWait(0); // what is stored is complete, and visible
  m.fenceGpu();
  Value tag = mapped(drain.getTag()), n = unit.space->n;
  if (drain.getSignals())
    m.storeTag(signalOf(drain, unit), tag);
  Value firstCol =
      add(mapped(drain.getCol()), mul(consumer, c(warpgroupRows)));
  Value firstLine = divu(mapped(drain.getRow()), c(sumRows));
  Value perLine = zext64(ceilDiv(n, tile::DrainOp::entryCols));
  Value inLine = zext64(divu(firstCol, c(tile::DrainOp::entryCols)));
  ifThen(ult(firstCol, n), [&] {
    for (Value flags : drain.getFlags())
      for (int64_t line = 0; line < lines; ++line) {
        Value flag =
            add64(mul64(zext64(add(firstLine, c(line))), perLine), inLine);
        m.storeTag(m.offset(mapped(flags), mul64(flag, m.i64(8))), tag);
      }
  });
}

/// Offset of a store's boxes in a warpgroup's part of the staging.
static int64_t stagedOffset(tile::DrainOp drain, unsigned store) {
  int64_t offset = 0;
  for (Value before : drain.getStores().take_front(store))
    offset += drain.getStagedRows() * warpgroupRows *
              cast<tile::GlobalTensorType>(before.getType())
                  .getElement()
                  .getIntOrFloatBitWidth() /
              8;
  return offset;
}

/// One thread of the warpgroup stores its 64 columns of the piece.
void HopperEmitter::emitTransposedStores(tile::DrainOp drain,
                                         const Piece &piece, Value staged) {
  int64_t panelStride = piece.rows * panelBytes;
  Value firstRow = add(mapped(drain.getRow()), piece.row);
  Value firstCol =
      add(mapped(drain.getCol()), mul(consumer, c(warpgroupRows)));
  for (auto [i, store] : llvm::enumerate(drain.getStores())) {
    MapUse use = storeUseOf(cast<BlockArgument>(store).getArgNumber(),
                            cast<tile::GlobalTensorType>(store.getType()),
                            piece.rows);
    Value address = add(staged, c(stagedOffset(drain, i)));
    for (int64_t p = 0; p < warpgroupRows / use.panelCols; ++p)
      m.tmaStore(mapPointer(use), add(address, c(p * panelStride)),
                 {add(firstCol, c(p * use.panelCols)), firstRow});
  }
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

void HopperEmitter::emitTransposedElements(tile::DrainOp drain,
                                           const Piece &piece,
                                           ArrayRef<Slot> slots, Value staged,
                                           SmallVectorImpl<Value> &sums) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  int64_t entryRows = drain.getEntryRows();
  auto ring = drain.getRing() ? cast<tile::RingType>(drain.getRing().getType())
                              : tile::RingType();
  Value group = shr(lane, 2), quad = andi(lane, c(3));
  Value firstRow = add(add(mapped(drain.getRow()), piece.row), shl(quad, 1));
  Value firstCol = add(add(mapped(drain.getCol()),
                           mul(consumer, c(warpgroupRows))),
                       add(shl(consumerWarp, 4), group));
  Value rows = mapped(drain.getRows());

  auto elementOf = [&](int64_t buffer) {
    return ring.getBuffers()[buffer % ring.getBuffers().size()].getElement();
  };
  auto slotAddress = [&](int64_t buffer) -> Value {
    auto [slotIndex, offset] = locateBuffer(ring, buffer);
    return add(slots[slotIndex].address, c(offset));
  };
  // Boxes of `boxRows` rows from `address` on, of all columns of the tile or of
  // this warpgroup's. Of f32: this thread's place in rows 8j to 8j + 7.
  auto wideAddress = [&](Value address, int64_t boxRows, bool allColumns,
                         int64_t j, int64_t half, int64_t odd) -> Value {
    Value offset = transposedOffset(boxRows, half, odd, allColumns);
    return add(add(address, offset), c(8 * j * panelBytes));
  };
  // Of 16 bits: the row of a matrix whose address this lane gives. Matrices 0
  // and 1 are the column halves of block j, 2 and 3 those of block j + 1.
  auto matrixAddress = [&](Value address, int64_t boxRows, bool allColumns,
                           int64_t j) -> Value {
    Value inBlock = andi(lane, c(7)), matrix = shr(lane, 3);
    Value at = add(shl(shr(matrix, 1), 3), inBlock);
    Value chunk = add(shl(consumerWarp, 1), andi(matrix, c(1)));
    if (allColumns)
      address = add(address, mul(consumer, c(boxRows * panelBytes)));
    return add(add(address, mul(at, c(panelBytes))),
               add(shl(xori(chunk, inBlock), 4), c(8 * j * panelBytes)));
  };
  DenseMap<std::pair<unsigned, int64_t>, Value> vectorPairs;
  auto vectorPair = [&](unsigned operand, Value tensor, bool isRow, int64_t j,
                        int64_t half) -> Value {
    Value &pair = vectorPairs[{operand, isRow ? half : j}];
    if (pair)
      return pair;
    if (isRow) {
      auto type = cast<tile::GlobalTensorType>(tensor.getType());
      Value index = add(firstCol, c(8 * half));
      pair = splatPair(b, loadVectorElements(tensor, index, c(type.getCols())));
    } else {
      Value index = add(firstRow, c(8 * j));
      Value first = loadVectorElements(tensor, index, rows);
      index = add(firstRow, c(8 * j + 1));
      pair = makePair(b, first, loadVectorElements(tensor, index, rows));
    }
    return pair;
  };

  // Two blocks of 8 rows are read as four matrices. All loads of a group come
  // first, then its arithmetic, then its stores: in one chain they would
  // serialise.
  int64_t blocksPerGroup = drain.getOperandBuffers().size() > 1 ? 2 : 4;
  blocksPerGroup = std::min(blocksPerGroup, piece.rows / 8);
  int64_t entryBlock = piece.entryRow / 8;
  for (int64_t j0 = 0; j0 < piece.rows / 8; j0 += blocksPerGroup) {
    // Operands of 16 bits: pairs of block and half.
    DenseMap<std::pair<int64_t, int64_t>, Value> narrow;
    for (int64_t buffer : drain.getOperandBuffers()) {
      Type element = elementOf(buffer);
      if (element.getIntOrFloatBitWidth() != 16)
        continue;
      for (int64_t j = j0; j < j0 + blocksPerGroup; j += 2)
        for (auto [i, word] : llvm::enumerate(
                 m.loadMatricesTransposed(
                     matrixAddress(slotAddress(buffer), entryRows,
                                   /*allColumns=*/true, entryBlock + j))))
          narrow[{buffer, 2 * j + i}] =
              m.bitcast(VectorType::get(2, element), word);
    }
    SmallVector<SmallVector<Value>> arguments;
    for (int64_t j = j0; j < j0 + blocksPerGroup; ++j)
      for (int64_t half = 0; half < 2; ++half) {
        SmallVector<Value> &pairs = arguments.emplace_back();
        int64_t first = (piece.rowInLine / 8 + j) * 4 + 2 * half;
        for (Value accumulator : drain.getAccumulators()) {
          Value variable = accumulators[accumulator];
          pairs.push_back(makePair(b, loadVariable(b, variable, f32, first),
                                   loadVariable(b, variable, f32, first + 1)));
        }
        gatherElementOperands(
            drain, MutableArrayRef(arguments).take_back(),
            [&](int64_t buffer) -> SmallVector<Value> {
              if (elementOf(buffer).getIntOrFloatBitWidth() == 16)
                return {narrow[{buffer, 2 * j + half}]};
              SmallVector<Value, 2> elements;
              for (int64_t odd = 0; odd < 2; ++odd)
                elements.push_back(m.loadShared(
                    f32,
                    wideAddress(slotAddress(buffer), entryRows,
                                /*allColumns=*/true, entryBlock + j, half, odd),
                    4));
              return {makePair(b, elements[0], elements[1])};
            },
            [&](unsigned operand, Value tensor, bool isRow, size_t) {
              return vectorPair(operand, tensor, isRow, j, half);
            });
      }
    SmallVector<SmallVector<Value>> results;
    for (SmallVector<Value> &pairs : arguments)
      results.push_back(
          emitElementRegion(b, drain.getBody().front(), pairs));

    // Rows beyond the extent hold f(0), which need not be 0.
    Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    auto isInside = [&](size_t n, int64_t odd) {
      return ult(add(firstRow, c(8 * (j0 + int64_t(n) / 2) + odd)), rows);
    };
    unsigned store = 0, sum = 0;
    for (auto [y, attribute] : llvm::enumerate(drain.getYieldKinds())) {
      if (cast<tile::YieldKindAttr>(attribute).getValue() ==
          tile::YieldKind::Store) {
        auto tensor = cast<BlockArgument>(drain.getStores()[store]);
        Type element =
            cast<tile::GlobalTensorType>(tensor.getType()).getElement();
        // What other launches multiply has zeros up to whole tiles.
        bool isPadded = kernel.getBinding(tensor.getArgNumber()).getKind() ==
                        tile::BindKind::Temporary;
        Value box = add(staged, c(stagedOffset(drain, store++)));
        if (element.getIntOrFloatBitWidth() == 16) {
          for (int64_t i = 0; i < blocksPerGroup; i += 2) {
            SmallVector<Value, 4> words;
            for (int64_t n = 2 * i; n < 2 * i + 4; ++n) {
              Value word = m.bitcast(i32, results[n][y]);
              if (isPadded)
                word = andi(word, arith::OrIOp::create(
                                      b,
                                      select(isInside(n, 0), c(0xFFFF), c(0)),
                                      select(isInside(n, 1), c(0xFFFF0000),
                                             c(0))));
              words.push_back(word);
            }
            m.storeMatricesTransposed(
                words, matrixAddress(box, piece.rows, /*allColumns=*/false,
                                     j0 + i));
          }
          continue;
        }
        for (auto [n, pairs] : llvm::enumerate(results))
          for (int64_t odd = 0; odd < 2; ++odd)
            m.storeShared(isPadded ? select(isInside(n, odd),
                                            pairElement(b, pairs[y], odd), zero)
                                   : pairElement(b, pairs[y], odd),
                          wideAddress(box, piece.rows, /*allColumns=*/false,
                                      j0 + n / 2, n % 2, odd),
                          4);
        continue;
      }
      for (auto [n, pairs] : llvm::enumerate(results))
        for (int64_t odd = 0; odd < 2; ++odd) {
          Value term =
              select(isInside(n, odd), pairElement(b, pairs[y], odd), zero);
          Value &total = sums[2 * sum + n % 2];
          total = total ? Value(arith::AddFOp::create(b, total, term)) : term;
        }
      ++sum;
    }
  }
}

//===----------------------------------------------------------------------===//
// Column sums
//===----------------------------------------------------------------------===//

/// The four lanes of a column add up, and one writes its sum over a line's rows.
void HopperEmitter::emitTransposedSums(tile::DrainOp drain, Unit &unit,
                                       Value lineInTile,
                                       ArrayRef<Value> sums) {
  Value n = unit.space->n;
  Value line = add(divu(mapped(drain.getRow()), c(sumRows)), lineInTile);
  Value firstCol =
      add(mapped(drain.getCol()), mul(consumer, c(warpgroupRows)));
  for (unsigned s = 0; s < drain.getPartials().size(); ++s)
    for (int64_t half = 0; half < 2; ++half) {
      Value total = sums[2 * s + half];
      for (int64_t mask : {1, 2})
        total = arith::AddFOp::create(b, total, m.shuffleXor(total, mask));
      Value col = add(add(firstCol, shl(consumerWarp, 4)),
                      add(shr(lane, 2), c(8 * half)));
      Value writes = arith::AndIOp::create(b, eq(andi(lane, c(3)), c(0)),
                                           ult(col, n));
      ifThen(writes, [&] {
        Value index = add64(mul64(zext64(line), zext64(n)), zext64(col));
        m.storeGlobalL2(total, m.offset(mapped(drain.getPartials()[s]),
                                        mul64(index, m.i64(4))));
      });
    }
}
