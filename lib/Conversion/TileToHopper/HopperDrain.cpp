//===- HopperDrain.cpp - Epilogues on sm_90a ------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warpgroup holds 64 rows of the tile in the layout of wgmma's D fragment
// (hopper.md 2.1): in column block j of 8, thread t of warp w has the columns
// 8j + 2(t % 4) + {0, 1} of the rows 16w + t / 4 and 8 below. Operands are read
// from swizzled slots at those places, without bank conflicts, and results
// written back in place, from where bulk stores take them.
//===----------------------------------------------------------------------===//
#include "HopperEmitter.h"
#include "backfuse/Conversion/Common/ElementRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::hopper;

static constexpr int64_t entryCols = tile::DrainOp::entryCols;

LogicalResult HopperEmitter::emitDrain(tile::DrainOp drain, Unit &unit) {
  if (isTransposed(drain.getAccumulators()[0]))
    return emitTransposedDrain(drain, unit);
  auto type =
      cast<tile::AccumulatorType>(drain.getAccumulators()[0].getType());
  int64_t chunks = type.getCols() / entryCols;
  if (chunks == 1) {
    emitDrainChunk(drain, unit, c(0));
  } else {
    forRange(c(chunks), [&](Value chunk) {
      emitDrainChunk(drain, unit, chunk);
      moveAccumulators(drain, entryCols / 2);
    });
  }
  finishStores(drain, unit);
  return success();
}

/// Registers have no index: what the next pass of a loop over accumulators takes
/// moves to where the first one found its own. (Unrolled, the code of an epilogue
/// is larger than an instruction cache, and a launch reads it from memory:
/// measured, 8 us for a tile of 128 x 128.)
void HopperEmitter::moveAccumulators(tile::DrainOp drain, int64_t used) {
  for (Value accumulator : drain.getAccumulators()) {
    Value variable = accumulators[accumulator];
    int64_t count = accumulatorsPerThread(
        cast<tile::AccumulatorType>(accumulator.getType()));
    for (int64_t i = used; i < count; ++i)
      storeVariable(b, variable, loadVariable(b, variable, b.getF32Type(), i),
                    i - used);
  }
}

/// 64 columns, whose accumulators are the first ones.
void HopperEmitter::emitDrainChunk(tile::DrainOp drain, Unit &unit,
                                   Value chunk) {
  if (!drain.getRing()) {
    emitDrainEntry(drain, unit, chunk, {});
    return;
  }
  int64_t rowBlocks = tileRows / drain.getEntryRows();
  for (int64_t rowBlock = 0; rowBlock < rowBlocks; ++rowBlock) {
    SmallVector<Slot> entry = takeEntry(drain);
    if (rowBlocks == 1) {
      emitDrainEntry(drain, unit, chunk, entry);
      continue;
    }
    // An entry of 64 rows belongs to one warpgroup; the other lets it pass.
    auto branch = scf::IfOp::create(b, eq(consumer, c(rowBlock)), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    // All lanes must have seen the phase before the slot is filled again.
    m.warpBarrier();
    for (Slot &slot : entry)
      releaseByWarp(slot.empty);
    b.setInsertionPointToStart(branch.thenBlock());
    emitDrainEntry(drain, unit, chunk, entry);
  }
}

void HopperEmitter::finishStores(tile::DrainOp drain, const Unit &unit) {
  if (drain.getStores().empty())
    return;
  ifThen(eq(consumerThread, c(0)), [&] {
    m.bulkWaitRead(0);
    for (uint64_t i = 0; i < drain.getSlotsPerEntry(); ++i)
      m.mbarrierArrive(loadVariable(b, pending[i], b.getI32Type()), 4);
    if (!drain.getSignals())
      return;
    m.bulkWait(0); // what is stored is complete, and visible
    m.publishTag(signalOf(drain, unit), mapped(drain.getTag()));
  });
}

Value HopperEmitter::signalOf(tile::DrainOp drain, const Unit &unit) {
  Value flag = add(shl(unit.tileIndex, 1), consumer);
  return m.offset(mapped(drain.getSignals()), mul64(zext64(flag), m.i64(8)));
}

void HopperEmitter::emitDrainEntry(tile::DrainOp drain, Unit &unit,
                                   Value chunk, ArrayRef<Slot> slots) {
  bool stores = !drain.getStores().empty();
  bool sums = !drain.getPartials().empty();
  SmallVector<Value> sumValues;
  emitElements(drain, chunk, slots, sumValues);
  emitPartialSums(drain, unit, chunk, sumValues, /*beforeBarrier=*/true);
  if (stores)
    m.fenceProxyAsyncShared();
  if (stores || sums)
    m.namedBarrier(add(consumer, c(1)), warpgroupThreads);
  emitPartialSums(drain, unit, chunk, sumValues, /*beforeBarrier=*/false);
  if (sums)
    storeVariable(b, scratchPlace,
                  xori(loadVariable(b, scratchPlace, b.getI32Type()), c(1)));
  finishEntry(drain, slots, /*notFirst=*/ne(chunk, c(0)), [&] {
    auto ring = cast<tile::RingType>(drain.getRing().getType());
    Value row = add(mapped(drain.getRow()), mul(consumer, c(warpgroupRows)));
    Value col = add(mapped(drain.getCol()), mul(chunk, c(entryCols)));
    for (auto [store, buffer] :
         llvm::zip(drain.getStores(), drain.getStoreBuffers())) {
      auto [slotIndex, offset] = locateBuffer(ring, buffer);
      auto tensor = cast<tile::GlobalTensorType>(store.getType());
      MapUse use =
          storeUseOf(cast<BlockArgument>(store).getArgNumber(), tensor,
                     warpgroupRows);
      int64_t panels = llvm::divideCeil(entryCols, use.panelCols);
      // Where the entry holds both warpgroups' rows, each stores its own.
      Value rows = drain.getEntryRows() == tileRows
                       ? mul(consumer, c(warpgroupRows * panelBytes))
                       : c(0);
      for (int64_t p = 0; p < panels; ++p) {
        Value address =
            add(add(slots[slotIndex].address, rows),
                c(offset + p * drain.getEntryRows() * panelBytes));
        m.tmaStore(mapPointer(use), address,
                   {add(col, c(p * use.panelCols)), row});
      }
    }
  });
}

void HopperEmitter::finishEntry(tile::DrainOp drain, ArrayRef<Slot> slots,
                                Value notFirst, function_ref<void()> store) {
  if (drain.getStores().empty()) {
    m.warpBarrier(); // all lanes have read the entry
    for (const Slot &slot : slots)
      releaseByWarp(slot.empty);
    return;
  }
  ifThen(eq(consumerThread, c(0)), [&] {
    store();
    m.bulkCommit();
    ifThen(notFirst, [&] {
      m.bulkWaitRead(1);
      for (size_t i = 0; i < slots.size(); ++i)
        m.mbarrierArrive(loadVariable(b, pending[i], b.getI32Type()), 4);
    });
    for (auto [i, slot] : llvm::enumerate(slots))
      storeVariable(b, pending[i], slot.empty);
  });
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

void HopperEmitter::emitElements(tile::DrainOp drain, Value chunk,
                                 ArrayRef<Slot> slots,
                                 SmallVectorImpl<Value> &sums) {
  Type f32 = b.getF32Type();
  auto pairF32 = VectorType::get(2, f32);
  Value group = shr(lane, 2), quad = andi(lane, c(3)); // row and column of 8x8
  Value rowInWarpgroup = add(shl(consumerWarp, 4), group);
  Value rowSwizzle = shl(group, 4);
  Value firstCol = add(mapped(drain.getCol()),
                       add(mul(chunk, c(entryCols)), shl(quad, 1)));
  Value firstRow = add(add(mapped(drain.getRow()),
                           mul(consumer, c(warpgroupRows))),
                       rowInWarpgroup);
  auto ring = drain.getRing() ? cast<tile::RingType>(drain.getRing().getType())
                              : tile::RingType();

  // Base address of each buffer for this thread: row of its panel, and the
  // thread's place in the swizzled 16-byte chunks of column block 0.
  struct BufferBase {
    Value row;     // address of the row, column 0
    Value swizzle; // chunk of the thread, exclusive-or of the row
    Value within;  // byte in the chunk
    Type element;
    int64_t panelStride;
  };
  DenseMap<int64_t, BufferBase> bases;
  auto baseOf = [&](int64_t buffer) -> BufferBase & {
    auto [it, inserted] = bases.try_emplace(buffer);
    if (!inserted)
      return it->second;
    BufferBase &base = it->second;
    auto [slotIndex, offset] = locateBuffer(ring, buffer);
    base.element =
        ring.getBuffers()[buffer % ring.getBuffers().size()].getElement();
    base.panelStride = drain.getEntryRows() * panelBytes;
    Value row = rowInWarpgroup;
    if (drain.getEntryRows() == tileRows)
      row = add(row, mul(consumer, c(warpgroupRows)));
    base.row = add(slots[slotIndex].address,
                   add(c(offset), mul(row, c(panelBytes))));
    if (base.element.getIntOrFloatBitWidth() == 16) {
      base.swizzle = rowSwizzle; // chunk j of 8 columns
      base.within = shl(quad, 2);
    } else {
      base.swizzle = xori(rowSwizzle, shl(shr(quad, 1), 4));
      base.within = shl(andi(quad, c(1)), 3);
    }
    return base;
  };
  auto addressOf = [&](BufferBase &base, int64_t j, int64_t half) -> Value {
    int64_t chunkIndex = j, panel = 0;
    if (base.element.getIntOrFloatBitWidth() == 32) {
      panel = j / 4;
      chunkIndex = (j % 4) * 2;
    }
    Value address = add(base.row, add(xori(base.swizzle, c(chunkIndex << 4)),
                                      base.within));
    return add(address,
               c(panel * base.panelStride + half * 8 * panelBytes));
  };

  // Values that are the same for all elements of a row or a column block.
  DenseMap<std::pair<unsigned, int64_t>, Value> vectorPairs;
  auto vectorPair = [&](unsigned operand, Value tensor, bool isRow, int64_t j,
                        int64_t half) -> Value {
    Value &pair = vectorPairs[{operand, isRow ? j : half}];
    if (pair)
      return pair;
    if (isRow) {
      auto type = cast<tile::GlobalTensorType>(tensor.getType());
      Value index = add(firstCol, c(8 * j));
      pair = loadVectorElements(tensor, index, c(type.getCols()), /*count=*/2);
    } else {
      Value index = add(firstRow, c(8 * half));
      pair = splatPair(
          b, loadVectorElements(tensor, index, mapped(drain.getRows())));
    }
    return pair;
  };

  unsigned numSums = drain.getPartials().size();
  SmallVector<SmallVector<Value, 8>> columnSums(numSums);
  // Loads of a group first, then its arithmetic, then its stores: in one chain
  // they would serialise.
  unsigned operands = std::max<size_t>(drain.getOperandBuffers().size(), 1);
  // 232 registers hold 128 accumulators, 16 values of each running sum, and what
  // a group loads.
  int64_t blocksPerGroup = operands + 2 * numSums <= 3 ? 4 : 2;
  for (int64_t j0 = 0; j0 < 8; j0 += blocksPerGroup) {
    SmallVector<SmallVector<Value>> arguments;
    for (int64_t j = j0; j < j0 + blocksPerGroup; ++j)
      for (int64_t half = 0; half < 2; ++half) {
        SmallVector<Value> &pairs = arguments.emplace_back();
        for (Value accumulator : drain.getAccumulators()) {
          int64_t first = j * 4 + 2 * half;
          Value variable = accumulators[accumulator];
          pairs.push_back(makePair(b, loadVariable(b, variable, f32, first),
                                   loadVariable(b, variable, f32, first + 1)));
        }
        gatherElementOperands(
            drain, MutableArrayRef(arguments).take_back(),
            [&](int64_t buffer) -> SmallVector<Value> {
              BufferBase &base = baseOf(buffer);
              return {m.loadShared(
                  VectorType::get(2, base.element), addressOf(base, j, half),
                  2 * base.element.getIntOrFloatBitWidth() / 8)};
            },
            [&](unsigned operand, Value tensor, bool isRow, size_t) {
              return vectorPair(operand, tensor, isRow, j, half);
            });
      }
    SmallVector<SmallVector<Value>> results;
    for (SmallVector<Value> &pairs : arguments)
      results.push_back(
          emitElementRegion(b, drain.getBody().front(), pairs));
    for (auto [n, pairs] : llvm::enumerate(results)) {
      int64_t j = j0 + n / 2, half = n % 2;
      unsigned store = 0, sum = 0;
      for (auto [pair, attribute] : llvm::zip(pairs, drain.getYieldKinds())) {
        if (cast<tile::YieldKindAttr>(attribute).getValue() ==
            tile::YieldKind::Store) {
          BufferBase &base = baseOf(drain.getStoreBuffers()[store++]);
          m.storeShared(pair, addressOf(base, j, half),
                        2 * base.element.getIntOrFloatBitWidth() / 8);
          continue;
        }
        // Rows beyond the extent hold f(0), which need not be 0.
        Value inside =
            ult(add(firstRow, c(8 * half)), mapped(drain.getRows()));
        Value zero = arith::ConstantOp::create(b, b.getZeroAttr(pairF32));
        Value term = select(inside, pair, zero);
        SmallVector<Value, 8> &all = columnSums[sum++];
        if (half == 0)
          all.push_back(term);
        else
          all.back() = arith::AddFOp::create(b, all.back(), term);
      }
    }
  }
  for (SmallVector<Value, 8> &all : columnSums)
    llvm::append_range(sums, all);
}

//===----------------------------------------------------------------------===//
// Column sums
//===----------------------------------------------------------------------===//

/// Before the warpgroup's barrier each warp adds up its 16 rows and writes 64
/// sums to scratch; after it the first warp adds the four warps' in order,
/// writes the warpgroup's line of the partials and publishes it. The scratch
/// alternates between two places, through all units, so that one barrier a chunk
/// is enough.
void HopperEmitter::emitPartialSums(tile::DrainOp drain, Unit &unit,
                                    Value chunk, ArrayRef<Value> sums,
                                    bool beforeBarrier) {
  Type f32 = b.getF32Type();
  auto pairF32 = VectorType::get(2, f32);
  for (unsigned s = 0; s < drain.getPartials().size(); ++s) {
    constexpr int64_t warpBytes = entryCols * 4;
    Value place = loadVariable(b, scratchPlace, b.getI32Type());
    Value scratch = add(smem, c(layout.scratchOffset + s * 16 * warpBytes));
    scratch = add(scratch, mul(add(shl(place, 1), consumer),
                               c(4 * warpBytes)));
    if (beforeBarrier) {
      SmallVector<Value> totals;
      for (Value pair : sums.slice(s * 8, 8)) {
        SmallVector<Value, 2> elements;
        for (int64_t i = 0; i < 2; ++i) {
          Value x = pairElement(b, pair, i);
          for (int64_t mask : {4, 8, 16})
            x = arith::AddFOp::create(b, x, m.shuffleXor(x, mask));
          elements.push_back(x);
        }
        totals.push_back(makePair(b, elements[0], elements[1]));
      }
      ifThen(ult(lane, c(4)), [&] {
        Value base = add(add(scratch, mul(consumerWarp, c(warpBytes))),
                         shl(lane, 3));
        for (auto [j, pair] : llvm::enumerate(totals))
          m.storeShared(pair, add(base, c(j * 32)), 8);
      });
      continue;
    }
    ifThen(eq(consumerWarp, c(0)), [&] {
      Value base = add(scratch, shl(lane, 3));
      Value total = m.loadShared(pairF32, base, 8);
      for (int64_t w = 1; w < 4; ++w)
        total = arith::AddFOp::create(
            b, total, m.loadShared(pairF32, add(base, c(w * warpBytes)), 8));
      publishLineOfSums(
          drain, s, unit,
          add(divu(mapped(drain.getRow()), c(warpgroupRows)), consumer),
          add(mapped(drain.getCol()), mul(chunk, c(entryCols))), total);
    });
  }
}
