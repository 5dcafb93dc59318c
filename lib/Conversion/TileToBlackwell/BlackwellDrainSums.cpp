//===- BlackwellDrainSums.cpp - Column sums of epilogues on sm_100 --------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread has one row, so that a column's sum runs over the lanes of a warp,
// in a fixed tree, and then over the two warps of 64 rows.
//===----------------------------------------------------------------------===//
#include "BlackwellEmitter.h"
#include "backfuse/Conversion/Common/ElementRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::blackwell;

static constexpr int64_t warpBytes = entryCols * 4;

Value BlackwellEmitter::scratchAddress(unsigned sum, Value ofQuarter) {
  Value place = loadVariable(b, scratchPlace, b.getI32Type());
  Value base =
      add(smem, c(layout.scratchOffset + sum * 2 * numDrainWarps * warpBytes));
  return add(add(base, mul(place, c(numDrainWarps * warpBytes))),
             mul(ofQuarter, c(warpBytes)));
}

/// Adds up 16 columns over the warp. At each of four steps a lane keeps the
/// half of its columns that a bit of its number says, and gets its partner's
/// values of them for the other half: 16 shuffles, where 16 butterflies would
/// take 80. After them lane l has column l / 2, up to its neighbour's part.
void BlackwellEmitter::emitColumnSums(unsigned sum, int64_t firstColumn,
                                      ArrayRef<Value> terms) {
  SmallVector<Value> values(terms);
  for (int64_t mask = 16; mask > 1; mask /= 2) {
    Value upper = ne(andi(lane, c(mask)), c(0));
    int64_t half = values.size() / 2;
    SmallVector<Value> next;
    for (int64_t i = 0; i < half; ++i) {
      Value kept = select(upper, values[half + i], values[i]);
      Value given = select(upper, values[i], values[half + i]);
      next.push_back(arith::AddFOp::create(b, kept, m.shuffleXor(given, mask)));
    }
    values = next;
  }
  Value total = arith::AddFOp::create(b, values[0], m.shuffleXor(values[0], 1));
  ifThen(eq(andi(lane, c(1)), c(0)), [&] {
    Value address = add(scratchAddress(sum, quarter),
                        add(c(firstColumn * 4), shl(shr(lane, 1), 2)));
    m.storeShared(total, address, 4);
  });
}

/// The first warp of each pair adds the second's sums to its own, writes the
/// line of these 64 rows and publishes it. The scratch alternates between two
/// places, so that one barrier a chunk is enough.
void BlackwellEmitter::emitPartialSums(tile::DrainOp drain, Unit &unit,
                                       Value chunk) {
  auto pairF32 = VectorType::get(2, b.getF32Type());
  m.namedBarrier(add(pair, c(firstPairBarrier)), 64);
  ifThen(eq(andi(quarter, c(1)), c(0)), [&] {
    for (unsigned s = 0; s < drain.getPartials().size(); ++s) {
      Value own = add(scratchAddress(s, quarter), shl(lane, 3));
      Value total = arith::AddFOp::create(
          b, m.loadShared(pairF32, own, 8),
          m.loadShared(pairF32, add(own, c(warpBytes)), 8));
      publishLineOfSums(drain, s, unit,
                        add(shr(mapped(drain.getRow()), 6), pair),
                        add(mapped(drain.getCol()), shl(chunk, 6)), total);
    }
  });
  Value place = loadVariable(b, scratchPlace, b.getI32Type());
  storeVariable(b, scratchPlace, xori(place, c(1)));
}
