//===- BlackwellSplits.cpp - Split K on sm_100 ----------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A partial stands in workspace in the order of threads: four columns of a
// thread's row are 16 bytes, those of the 128 drain threads contiguous.
//===----------------------------------------------------------------------===//
#include "BlackwellEmitter.h"
#include "backfuse/Conversion/Common/ElementRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::blackwell;

static constexpr int64_t drainThreads = arch::warpThreads * numDrainWarps;

static int64_t numColumns(tile::CombineSplitsOp combine) {
  return cast<tile::AccumulatorType>(combine.getAccumulator().getType())
      .getCols();
}

/// The number of the partial of `split` of the unit's tile; each CTA of a pair
/// has its own.
Value BlackwellEmitter::partIndex(Unit &unit, Value split) {
  Value others = sub(unit.space->splits, c(1));
  Value first = mul64(zext64(unit.tileIndex), zext64(others));
  Value part = add64(first, zext64(split));
  if (!layout.pairs)
    return part;
  return add64(mul64(part, m.i64(2)), zext64(rank));
}

Value BlackwellEmitter::partPointer(tile::CombineSplitsOp combine, Unit &unit,
                                    Value split) {
  Value bytes = mul64(partIndex(unit, split),
                      m.i64(numColumns(combine) * drainThreads * 4));
  return m.offset(mapped(combine.getPartials()),
                  add64(bytes, zext64(shl(rowInTile, 4))));
}

Value BlackwellEmitter::flagPointer(tile::CombineSplitsOp combine, Unit &unit,
                                    Value split) {
  return m.offset(mapped(combine.getFlags()),
                  mul64(partIndex(unit, split), m.i64(8)));
}

void BlackwellEmitter::addPartials(tile::CombineSplitsOp combine, Unit &unit,
                                   Value column, SmallVectorImpl<Value> &sums) {
  Type f32 = b.getF32Type();
  Value variable = createRoleVariable(f32, sums.size());
  for (auto [i, sum] : llvm::enumerate(sums))
    storeVariable(b, variable, sum, i);
  forRange(sub(unit.space->splits, c(1)), [&](Value split) {
    Value pointer = m.offset(partPointer(combine, unit, split),
                             mul64(zext64(column), m.i64(4 * drainThreads)));
    for (size_t i = 0; i < sums.size(); i += 4) {
      Value four =
          m.loadGlobalV4(m.offset(pointer, m.i64(i * 4 * drainThreads)));
      for (size_t j = i; j < i + 4; ++j)
        storeVariable(b, variable,
                      arith::AddFOp::create(b,
                                            loadVariable(b, variable, f32, j),
                                            pairElement(b, four, j - i)),
                      j);
    }
  });
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = loadVariable(b, variable, f32, i);
}

/// A split that is not the last hands its sums over. The last one waits for the
/// others here and adds their partials as the drain reads its accumulators.
void BlackwellEmitter::emitCombineSplits(tile::CombineSplitsOp combine,
                                         Unit &unit) {
  combined[combine.getAccumulator()] = combine;
  Value tag = mapped(combine.getTag());
  Value others = sub(unit.space->splits, c(1));
  Value isFirstThread = eq(tid, c(32 * firstDrainWarp));
  auto branch = scf::IfOp::create(b, unit.last, /*else=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  {
    constexpr int64_t readCols = 32;
    Value pointer = partPointer(combine, unit, unit.split);
    Value base = add(
        add(setAddress(drainSet), shl(quarter, 16 + 5)),
        c(layout.accumulatorColumns.find(combine.getAccumulator())->second));
    forRange(c(numColumns(combine) / readCols), [&](Value block) {
      Value column = mul(block, c(readCols));
      SmallVector<Value> sums = m.tensorMemoryLoad(add(base, column), readCols);
      Value at =
          m.offset(pointer, mul64(zext64(column), m.i64(4 * drainThreads)));
      for (int64_t i = 0; i < readCols; i += 4)
        m.storeGlobalV4(ArrayRef(sums).slice(i, 4),
                        m.offset(at, m.i64(i * 4 * drainThreads)));
    });
    releaseSet();
    m.namedBarrier(c(drainBarrier), drainThreads);
    ifThen(isFirstThread,
           [&] { m.publishTag(flagPointer(combine, unit, unit.split), tag); });
  }
  b.setInsertionPointToStart(branch.thenBlock());
  ifThen(ne(others, c(0)), [&] {
    ifThen(isFirstThread, [&] {
      forRange(others, [&](Value split) {
        m.waitForTag(flagPointer(combine, unit, split), tag);
      });
      forRange(others, [&](Value split) {
        m.clearTag(flagPointer(combine, unit, split));
      });
    });
    m.namedBarrier(c(drainBarrier), drainThreads);
  });
}
