//===- HopperRegisterOperand.cpp - Products with an f32 operand -----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma takes A from registers, where an f32 operand can be rounded on its way
// from shared memory: no copy in 16 bits, no write to shared memory, no proxy
// fence. Where the f32 operand is B, the product is computed transposed, and the
// accumulators hold the transpose of the tile.
//
// A thread's part of A (PTX ISA, wgmma, fragment of A, m64k16): with t the lane,
// rows 16w + t / 4 (+ 8) of the warpgroup's 64, k = 2(t % 4) + {0, 1} (+ 8).
//===----------------------------------------------------------------------===//
#include "HopperEmitter.h"
#include "backfuse/Conversion/Common/ElementRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::hopper;

bool hopper::isTransposed(Value accumulators) {
  return llvm::any_of(accumulators.getUsers(), [](Operation *user) {
    auto multiply = dyn_cast<tile::MultiplyOp>(user);
    return multiply && multiply.hasF32B();
  });
}

/// Byte offset of column 16w + t / 4 + 8 `half` of this warpgroup's 64, row
/// 2(t % 4) + `odd`, in panels of 32 f32 columns and `panelRows` rows: of all
/// columns of the tile, or of this warpgroup's. The four
/// rows that a warp reads differ by 2, and the swizzle spreads them over the
/// banks.
Value HopperEmitter::transposedOffset(int64_t panelRows, int64_t half,
                                      int64_t odd, bool allColumns) {
  Value group = shr(lane, 2), row = add(shl(andi(lane, c(3)), 1), c(odd));
  Value panel = shr(consumerWarp, 1);
  if (allColumns)
    panel = add(shl(consumer, 1), panel);
  Value chunk = add(add(shl(andi(consumerWarp, c(1)), 2), shr(group, 2)),
                    c(2 * half));
  return add(add(mul(panel, c(panelRows * panelBytes)),
                 mul(row, c(panelBytes))),
             add(shl(xori(chunk, row), 4), shl(andi(group, c(3)), 2)));
}

/// Loads the fragments of a step: of each 16 in K four pairs of f32.
SmallVector<Value> HopperEmitter::loadWideFragments(tile::BufferAttr buffer,
                                                    bool kMajor,
                                                    Value address) {
  Type f32 = b.getF32Type();
  SmallVector<Value> pairs;
  int64_t stepK = kMajor ? buffer.getCols() : buffer.getRows();
  int64_t panelStride = buffer.getRows() * panelBytes;
  Value group = shr(lane, 2), quad = andi(lane, c(3));
  Value row = add(add(mul(consumer, c(warpgroupRows)), shl(consumerWarp, 4)),
                  group);
  Value kMajorBase = add(add(address, mul(row, c(panelBytes))),
                         shl(andi(quad, c(1)), 3));
  Value swizzle = shl(xori(shr(quad, 1), group), 4);
  for (int64_t k = 0; k < stepK; k += 16)
    for (int64_t i = 0; i < 4; ++i) {
      int64_t half = i % 2, kAt = k + i / 2 * 8;
      if (!kMajor) {
        SmallVector<Value, 2> elements;
        for (int64_t odd = 0; odd < 2; ++odd)
          elements.push_back(m.loadShared(
              f32,
              add(add(address, transposedOffset(buffer.getRows(), half, odd,
                                                /*allColumns=*/true)),
                  c(kAt * panelBytes)),
              4));
        pairs.push_back(makePair(b, elements[0], elements[1]));
        continue;
      }
      Value at = add(kMajorBase, xori(swizzle, c(kAt % 32 / 4 << 4)));
      pairs.push_back(m.loadShared(
          VectorType::get(2, f32),
          add(at, c(kAt / 32 * panelStride + half * 8 * panelBytes)), 8));
    }
  return pairs;
}

void HopperEmitter::emitRegisterMultiply(tile::MultiplyOp multiply) {
  Value pool = poolOf(multiply.getRing());
  auto ring = cast<tile::RingType>(multiply.getRing().getType());
  bool fromB = multiply.hasF32B();
  ArrayRef<tile::BufferAttr> narrow =
      fromB ? multiply.getABuffers() : multiply.getBBuffers();
  unsigned firstNarrow = fromB ? 0 : 1, wideIndex = fromB ? narrow.size() : 0;
  tile::BufferAttr wide = ring.getBuffers()[wideIndex];
  bool aK = multiply.getAMajor() == tile::Major::K;
  bool bK = multiply.getBMajor() == tile::Major::K;
  bool wideK = fromB ? bK : aK, narrowK = fromB ? aK : bK;
  auto type = cast<tile::AccumulatorType>(multiply.getAccumulator().getType());
  Type element = narrow[0].getElement();
  int64_t stepK = wideK ? wide.getCols() : wide.getRows();

  SmallVector<OperandView> views;
  for (auto [i, buffer] : llvm::enumerate(narrow))
    views.push_back(viewOperand(buffer, bufferOffset(ring, firstNarrow + i),
                                narrowK, /*isA=*/false));
  NvvmBuilder::WgmmaShape shape{fromB ? type.getRows() : type.getCols(),
                                element, /*aTransposed=*/false,
                                views[0].transposed};
  int64_t numFragments = stepK / 16 * 4;
  SmallVector<NvvmBuilder::RegisterProduct> products;
  for (int64_t k = 0; k < stepK / 16; ++k) {
    int64_t offset = k * views[0].advance;
    products.push_back({4 * k, 0, offset});
    if (multiply.getSplit())
      products.push_back({numFragments + 4 * k, 0, offset});
    if (narrow.size() == 2)
      products.push_back({4 * k, 1, offset});
  }

  Value variable = accumulators[multiply.getAccumulator()];
  int64_t count = accumulatorsPerThread(type);
  Type i32 = b.getI32Type();
  auto pairNarrow = VectorType::get(2, element);
  auto pairF32 = VectorType::get(2, b.getF32Type());
  forRange(mapped(multiply.getSteps()), [&](Value step) {
    Slot slot = currentSlot(pool);
    waitFull(pool, slot);
    SmallVector<Value> values = loadWideFragments(
        wide, wideK, add(slot.address, c(bufferOffset(ring, wideIndex))));
    SmallVector<Value> registers, rests;
    for (Value value : values) {
      Value rounded = arith::TruncFOp::create(
          b, pairNarrow,
          multiply.getSplit() ? clampToFiniteBf16(b, value) : value);
      registers.push_back(m.bitcast(i32, rounded));
      if (!multiply.getSplit())
        continue;
      Value rest = arith::SubFOp::create(
          b, value, arith::ExtFOp::create(b, pairF32, rounded));
      rests.push_back(
          m.bitcast(i32, arith::TruncFOp::create(b, pairNarrow, rest)));
    }
    llvm::append_range(registers, rests);
    SmallVector<Value> descriptors;
    for (const OperandView &view : views)
      descriptors.push_back(
          descriptorOf(add(slot.address, c(view.offset)), view));
    Value scale = multiply.getAccumulate()
                      ? Value(arith::ConstantIntOp::create(b, b.getI1Type(), 1))
                      : ne(step, c(0));
    storeAccumulators(variable,
                      m.wgmmaRegisterStep(shape,
                                          loadAccumulators(variable, count),
                                          registers, descriptors, products,
                                          scale));
    m.warpBarrier(); // all lanes have read the f32 operand
    releaseByWarp(slot.empty);
    advance(pool);
  });
}
