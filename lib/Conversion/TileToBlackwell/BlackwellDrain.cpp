//===- BlackwellDrain.cpp - Epilogues on sm_100 ---------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A drain warp reads its 32 lanes of tensor memory in shape 32x32b: a thread
// has one row of the tile. It reads operands of that row from swizzled slots,
// 16 bytes at once (the swizzle spreads eight rows over all banks), and writes
// results back in place, from where it stores its 32 rows: warps need no
// barrier among themselves but for column sums and splits.
//===----------------------------------------------------------------------===//
#include "BlackwellEmitter.h"
#include "backfuse/Conversion/Common/ElementRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::blackwell;

//===----------------------------------------------------------------------===//
// Role
//===----------------------------------------------------------------------===//

LogicalResult BlackwellEmitter::emitDrainRole() {
  tile::ForEachUnitOp units = unitsOf(findTask(kernel, tile::TaskKind::Drain));
  createRoleState();
  createSetState();
  quarter = andi(warp, c(3));
  pair = shr(quarter, 1);
  rowInTile = add(shl(quarter, 5), lane);
  scratchPlace = createRoleVariable(b.getI32Type());
  storeVariable(b, scratchPlace, c(0));
  int64_t slotsPerEntry = 0;
  kernel.walk([&](tile::DrainOp drain) {
    slotsPerEntry = std::max<int64_t>(slotsPerEntry, drain.getSlotsPerEntry());
  });
  pending.clear();
  for (int64_t i = 0; i < slotsPerEntry; ++i)
    pending.push_back(createRoleVariable(b.getI32Type()));
  return emitUnits(units, [&](unsigned i, Unit &unit) -> LogicalResult {
    Block &block = units.getBodies()[i].front();
    drainSet = currentSet();
    waitForPair(setBarrier(layout.fullOffset, drainSet),
                loadVariable(b, setPhase, b.getI32Type()));
    m.tensorFenceAfter();
    combined.clear();
    if (failed(emitDrainBlock(block, unit)))
      return failure();
    if (combined.empty()) {
      // Nobody reads what another split than the last has added up.
      Value no = arith::ConstantIntOp::create(b, b.getI1Type(), 0);
      ifThen(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, unit.last, no),
             [&] { releaseSet(); });
    }
    advanceSet();
    return success();
  });
}

/// This warp's reads of the set are complete (tensorMemoryLoad waits): products
/// may write it.
void BlackwellEmitter::releaseSet() {
  m.tensorFenceBefore();
  m.warpBarrier();
  ifThen(eq(lane, c(0)), [&] {
    Value barrier = setBarrier(layout.emptyOffset, drainSet);
    if (layout.pairs)
      m.mbarrierArriveInCluster(add(barrier, toLeader));
    else
      m.mbarrierArrive(barrier);
  });
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

LogicalResult BlackwellEmitter::emitDrain(tile::DrainOp drain, Unit &unit) {
  auto type = cast<tile::AccumulatorType>(drain.getAccumulators()[0].getType());
  int64_t chunks = type.getCols() / entryCols;
  if (!drain.getRing()) {
    forRange(c(chunks), [&](Value chunk) {
      emitDrainEntry(drain, unit, chunk, {}, /*deferRelease=*/false);
    });
    return success();
  }
  Value pool = poolOf(drain.getRing());
  int64_t rowBlocks = ctaRows / drain.getEntryRows();
  int64_t slotsPerEntry = drain.getSlotsPerEntry();
  // A warp gives a slot back after its next entry's stores were issued, if the
  // pool holds that entry beside those that the other warps keep so.
  bool deferRelease =
      (rowBlocks + 1) * slotsPerEntry <= layout.pools.find(pool)->second.slots;
  for (int64_t i = 0; i < slotsPerEntry; ++i)
    storeVariable(b, pending[i], c(0));
  forRange(c(chunks * rowBlocks), [&](Value number) {
    Value chunk = rowBlocks == 1 ? number : shr(number, 1);
    SmallVector<Slot> entry = takeEntry(drain);
    if (rowBlocks == 1) {
      emitDrainEntry(drain, unit, chunk, entry, deferRelease);
      return;
    }
    // An entry of 64 rows belongs to one pair of warps; the other lets it pass.
    auto branch = scf::IfOp::create(b, eq(andi(number, c(1)), pair), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    m.warpBarrier();
    for (Slot &slot : entry)
      releaseByWarp(slot.empty);
    b.setInsertionPointToStart(branch.thenBlock());
    emitDrainEntry(drain, unit, chunk, entry, deferRelease);
  });
  if (!drain.getStores().empty() && deferRelease)
    ifThen(eq(lane, c(0)), [&] {
      m.bulkWaitRead(0);
      for (int64_t i = 0; i < slotsPerEntry; ++i)
        m.mbarrierArrive(loadVariable(b, pending[i], b.getI32Type()));
    });
  if (drain.getSignals())
    signalTile(drain, unit);
  return success();
}

/// A tile has two flags: those who await it wait for both. Of a pair each CTA
/// sets one, else the first warp of each 64 rows.
void BlackwellEmitter::signalTile(tile::DrainOp drain, const Unit &unit) {
  ifThen(eq(lane, c(0)), [&] { m.bulkWait(0); }); // complete, and visible
  m.warpBarrier();
  m.namedBarrier(c(drainBarrier), arch::warpThreads * numDrainWarps);
  Value first = andi(quarter, c(layout.pairs ? 3 : 1));
  ifThen(eq(ori(first, lane), c(0)), [&] {
    Value flag = add(shl(unit.tileIndex, 1), layout.pairs ? rank : pair);
    m.publishTag(
        m.offset(mapped(drain.getSignals()), mul64(zext64(flag), m.i64(8))),
        mapped(drain.getTag()));
  });
}

void BlackwellEmitter::emitDrainEntry(tile::DrainOp drain, Unit &unit,
                                      Value chunk, ArrayRef<Slot> entry,
                                      bool deferRelease) {
  emitElements(drain, unit, chunk, entry);
  if (!drain.getPartials().empty())
    emitPartialSums(drain, unit, chunk);
  if (entry.empty())
    return;
  // Each thread's writes (and reads, before the slot is filled again), then the
  // copies that one thread issues.
  m.fenceProxyAsyncShared();
  m.warpBarrier();
  if (drain.getStores().empty()) {
    for (const Slot &slot : entry)
      releaseByWarp(slot.empty);
    return;
  }
  emitStores(drain, chunk, entry, deferRelease);
}

void BlackwellEmitter::emitStores(tile::DrainOp drain, Value chunk,
                                  ArrayRef<Slot> entry, bool deferRelease) {
  auto ring = cast<tile::RingType>(drain.getRing().getType());
  ifThen(eq(lane, c(0)), [&] {
    Value row = add(mapped(drain.getRow()), shl(quarter, 5));
    Value col = add(mapped(drain.getCol()), shl(chunk, 6));
    Value rowInEntry = drain.getEntryRows() == ctaRows
                           ? shl(quarter, 5)
                           : shl(andi(quarter, c(1)), 5);
    for (auto [store, buffer] :
         llvm::zip(drain.getStores(), drain.getStoreBuffers())) {
      auto [slotIndex, offset] = locateBuffer(ring, buffer);
      auto tensor = cast<tile::GlobalTensorType>(store.getType());
      MapUse use =
          storeUseOf(cast<BlockArgument>(store).getArgNumber(), tensor);
      int64_t panels = llvm::divideCeil(entryCols, use.panelCols);
      for (int64_t p = 0; p < panels; ++p) {
        Value address =
            add(add(entry[slotIndex].address, mul(rowInEntry, c(panelBytes))),
                c(offset + p * drain.getEntryRows() * panelBytes));
        m.tmaStore(mapPointer(use), address,
                   {add(col, c(p * use.panelCols)), row});
      }
    }
    m.bulkCommit();
    if (!deferRelease) {
      m.bulkWaitRead(0);
      for (const Slot &slot : entry)
        m.mbarrierArrive(slot.empty);
      return;
    }
    ifThen(ne(chunk, c(0)), [&] {
      m.bulkWaitRead(1);
      for (size_t i = 0; i < entry.size(); ++i)
        m.mbarrierArrive(loadVariable(b, pending[i], b.getI32Type()));
    });
    for (auto [i, slot] : llvm::enumerate(entry))
      storeVariable(b, pending[i], slot.empty);
  });
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

SmallVector<SmallVector<Value>>
BlackwellEmitter::readAccumulators(tile::DrainOp drain, Unit &unit,
                                   Value column, int64_t count, Value isLast) {
  // The warp's quarter of the lanes, in the upper half of an address.
  Value base = add(setAddress(drainSet), shl(quarter, 16 + 5));
  SmallVector<Value> addresses;
  for (Value accumulator : drain.getAccumulators())
    addresses.push_back(
        add(add(base, column),
            c(layout.accumulatorColumns.find(accumulator)->second)));
  SmallVector<Value> all = m.tensorMemoryLoad(addresses, count);
  if (isLast)
    ifThen(isLast, [&] { releaseSet(); });
  SmallVector<SmallVector<Value>> sums;
  for (auto [i, accumulator] : llvm::enumerate(drain.getAccumulators())) {
    sums.emplace_back(ArrayRef(all).slice(i * count, count));
    if (tile::CombineSplitsOp combine = combined.lookup(accumulator))
      addPartials(combine, unit, column, sums.back());
  }
  return sums;
}

namespace {
/// A box of an entry as one thread sees it: its row.
struct RowOfBox {
  Value address; // of the row in the first panel
  Type element;
  int64_t panelStride;
};
} // namespace

void BlackwellEmitter::emitElements(tile::DrainOp drain, Unit &unit,
                                    Value chunk, ArrayRef<Slot> entry) {
  Type i32 = b.getI32Type();
  Value column = shl(chunk, 6); // in the tile
  Value firstCol = add(mapped(drain.getCol()), column);
  Value row = add(mapped(drain.getRow()), rowInTile);
  Value inside = ult(row, mapped(drain.getRows()));
  // Row r of a panel has its chunk c of 16 bytes at c ^ (r % 8).
  Value swizzle = shl(andi(lane, c(7)), 4);
  auto ring = drain.getRing() ? cast<tile::RingType>(drain.getRing().getType())
                              : tile::RingType();
  DenseMap<int64_t, RowOfBox> boxes;
  auto boxOf = [&](int64_t buffer) -> RowOfBox & {
    auto [it, inserted] = boxes.try_emplace(buffer);
    if (!inserted)
      return it->second;
    RowOfBox &box = it->second;
    auto [slotIndex, offset] = locateBuffer(ring, buffer);
    box.element =
        ring.getBuffers()[buffer % ring.getBuffers().size()].getElement();
    box.panelStride = drain.getEntryRows() * panelBytes;
    Value rowInEntry = drain.getEntryRows() == ctaRows
                           ? rowInTile
                           : andi(rowInTile, c(drain.getEntryRows() - 1));
    box.address = add(add(entry[slotIndex].address, c(offset)),
                      mul(rowInEntry, c(panelBytes)));
    return box;
  };
  // The address of the 16-byte chunk that begins at column `col` of the entry.
  auto addressOf = [&](RowOfBox &box, int64_t col) -> Value {
    int64_t bytes = col * box.element.getIntOrFloatBitWidth() / 8;
    return add(add(box.address, c(bytes / panelBytes * box.panelStride)),
               xori(swizzle, c(bytes % panelBytes)));
  };
  auto pairsPerChunk = [](Type element) -> int64_t {
    return 64 / element.getIntOrFloatBitWidth();
  };
  auto readPairs = [&](int64_t buffer, int64_t col, int64_t numPairs) {
    RowOfBox &box = boxOf(buffer);
    int64_t perChunk = pairsPerChunk(box.element);
    SmallVector<Value> pairs;
    for (int64_t p = 0; p < numPairs; p += perChunk) {
      Value words = m.loadShared(VectorType::get(4, i32),
                                 addressOf(box, col + 2 * p), 16);
      Value elements =
          m.bitcast(VectorType::get(2 * perChunk, box.element), words);
      for (int64_t i = 0; i < perChunk; ++i)
        pairs.push_back(makePair(b, pairElement(b, elements, 2 * i),
                                 pairElement(b, elements, 2 * i + 1)));
    }
    return pairs;
  };
  auto writePairs = [&](int64_t buffer, int64_t col, ArrayRef<Value> pairs) {
    RowOfBox &box = boxOf(buffer);
    int64_t perChunk = pairsPerChunk(box.element);
    for (size_t p = 0; p < pairs.size(); p += perChunk) {
      SmallVector<Value> elements;
      for (Value pair : pairs.slice(p, perChunk))
        for (int64_t i = 0; i < 2; ++i)
          elements.push_back(pairElement(b, pair, i));
      Value words = m.bitcast(VectorType::get(4, i32), m.makeVector(elements));
      m.storeShared(words, addressOf(box, col + 2 * p), 16);
    }
  };

  // Values that are the same for all columns, and per pair of columns.
  DenseMap<unsigned, Value> columnPairs;
  auto vectorPair = [&](unsigned operand, Value tensor, bool isRow,
                        int64_t col) -> Value {
    Value &known = columnPairs[operand];
    if (!isRow && known)
      return known;
    if (isRow) {
      auto type = cast<tile::GlobalTensorType>(tensor.getType());
      Value index = add(firstCol, c(col));
      return loadVectorElements(tensor, index, c(type.getCols()), /*count=*/2);
    }
    return known = splatPair(
               b, loadVectorElements(tensor, row, mapped(drain.getRows())));
  };

  constexpr int64_t readCols = 32, groupCols = 16;
  for (int64_t half = 0; half < entryCols; half += readCols) {
    auto type =
        cast<tile::AccumulatorType>(drain.getAccumulators()[0].getType());
    Value isLast;
    if (half + readCols == entryCols)
      isLast = eq(chunk, c(type.getCols() / entryCols - 1));
    SmallVector<SmallVector<Value>> accumulators =
        readAccumulators(drain, unit, add(column, c(half)), readCols, isLast);
    for (int64_t group = 0; group < readCols; group += groupCols) {
      int64_t col = half + group, numPairs = groupCols / 2;
      SmallVector<SmallVector<Value>> arguments(numPairs);
      for (ArrayRef<Value> sums : accumulators)
        for (int64_t p = 0; p < numPairs; ++p)
          arguments[p].push_back(
              makePair(b, sums[group + 2 * p], sums[group + 2 * p + 1]));
      gatherElementOperands(
          drain, arguments,
          [&](int64_t buffer) { return readPairs(buffer, col, numPairs); },
          [&](unsigned operand, Value tensor, bool isRow, size_t p) {
            return vectorPair(operand, tensor, isRow, col + 2 * p);
          });
      SmallVector<SmallVector<Value>> results;
      for (SmallVector<Value> &pairs : arguments)
        results.push_back(emitElementRegion(b, drain.getBody().front(), pairs));
      unsigned store = 0, sum = 0;
      for (auto [i, attribute] : llvm::enumerate(drain.getYieldKinds())) {
        SmallVector<Value> pairs;
        for (SmallVector<Value> &result : results)
          pairs.push_back(result[i]);
        if (cast<tile::YieldKindAttr>(attribute).getValue() ==
            tile::YieldKind::Store) {
          writePairs(drain.getStoreBuffers()[store++], col, pairs);
          continue;
        }
        // Rows beyond the extent hold f(0), which need not be 0.
        Value zero =
            arith::ConstantOp::create(b, b.getZeroAttr(b.getF32Type()));
        SmallVector<Value> terms;
        for (Value pair : pairs)
          for (int64_t e = 0; e < 2; ++e)
            terms.push_back(select(inside, pairElement(b, pair, e), zero));
        emitColumnSums(sum++, col, terms);
      }
    }
  }
}
