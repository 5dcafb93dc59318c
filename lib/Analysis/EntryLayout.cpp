//===- EntryLayout.cpp - Where a drain's boxes stand in slots -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Analysis/EntryLayout.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace backfuse;

static int64_t elementBytes(Type type) {
  return type.getIntOrFloatBitWidth() / 8;
}

bool backfuse::isComputedTransposed(mlp::FusedOp fused) {
  for (unsigned i = 0; i < fused.getNumContractions(); ++i)
    if (getElementTypeOrSelf(fused.getB(i).getType()).isF32() &&
        !getElementTypeOrSelf(fused.getA(i).getType()).isF32())
      return true;
  return false;
}

/// Columns of a transposed tile's entries, which both warpgroups share.
static constexpr int64_t transposedCols = arch::ctaTileRows;
/// What a transposed tile's entries and its staging may have.
static constexpr int64_t transposedRows[] = {64, 32, 16};

/// Bytes of a row of a transposed tile's results.
static int64_t stagedRowBytes(mlp::FusedOp fused) {
  int64_t bytes = 0;
  mlp::FusedYieldOp yield = fused.getYield();
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (yield.getKind(i) == mlp::YieldKind::Store)
      bytes += transposedCols * elementBytes(value.getType());
  return bytes;
}

int64_t backfuse::stagingBytes(mlp::FusedOp fused) {
  constexpr int64_t serves = 32 * 1024;
  int64_t fewest = *std::prev(std::end(transposedRows));
  return std::max(serves, 2 * fewest * stagedRowBytes(fused));
}

bool backfuse::takesTwoParts(mlp::ContractionAttr contraction) {
  return contraction.getPrecision() &&
         contraction.getPrecision().getValue() == mlp::Precision::Bf16x3;
}

bool backfuse::isSecondPart(mlp::FusedOp fused, unsigned i) {
  if (i == 0)
    return false;
  mlp::ContractionAttr attr = fused.getContraction(i);
  mlp::ContractionAttr before = fused.getContraction(i - 1);
  if (!takesTwoParts(before) || takesTwoParts(attr) || !attr.getPrecision() ||
      attr.getAcc() != before.getAcc() || attr.getK() != before.getK() ||
      attr.getA() != before.getA() || attr.getB() != before.getB())
    return false;
  return llvm::any_of(
      ArrayRef{mlp::Side::A, mlp::Side::B}, [&](mlp::Side side) {
        Value operand = fused.getOperandOf(i, side);
        return operand == fused.getOperandOf(i - 1, side) &&
               getElementTypeOrSelf(operand.getType()).isF32();
      });
}

std::optional<EntryLayout> backfuse::layOutEntry(mlp::FusedOp fused,
                                                 int64_t slotBytes,
                                                 int64_t numSlots,
                                                 std::string &why) {
  EntryLayout layout;
  SmallVector<Type> types;
  for (auto [i, operand] : llvm::enumerate(fused.getElementOperands())) {
    if (fused.getElementKind(i) != mlp::ElementKind::Element)
      continue;
    layout.operandBuffers.push_back(types.size());
    types.push_back(getElementTypeOrSelf(operand.getType()));
  }
  // A transposed tile's entries hold columns of both warpgroups, and operands
  // only: with results in them, no product of the next tile could be loaded
  // while this one is stored.
  bool transposed = isComputedTransposed(fused);
  layout.entryCols = transposed ? transposedCols : tile::DrainOp::entryCols;
  // Else a result takes the place of an operand of its type: a thread reads all
  // operands of an element before it writes.
  SmallVector<bool> taken(types.size(), false);
  mlp::FusedYieldOp yield = fused.getYield();
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    if (yield.getKind(i) != mlp::YieldKind::Store || transposed)
      continue;
    unsigned buffer = 0;
    while (buffer < taken.size() &&
           (taken[buffer] || types[buffer] != value.getType()))
      ++buffer;
    if (buffer == types.size()) {
      types.push_back(value.getType());
      taken.push_back(true);
    }
    taken[buffer] = true;
    layout.storeBuffers.push_back(buffer);
  }
  SmallVector<int64_t> allRows{arch::ctaTileRows, arch::ctaTileRows / 2};
  if (transposed) {
    allRows.assign(std::begin(transposedRows), std::end(transposedRows));
    if (int64_t bytes = stagedRowBytes(fused)) {
      layout.stagedRows = allRows.front();
      while (2 * layout.stagedRows * bytes > stagingBytes(fused))
        layout.stagedRows /= 2;
    }
  }
  if (types.empty()) {
    layout.entryRows = allRows.front();
    return layout;
  }
  for (int64_t rows : allRows) {
    int64_t bytes = 0;
    for (Type type : types)
      bytes += rows * layout.entryCols * elementBytes(type);
    if (bytes > slotBytes)
      continue;
    layout.entryRows = rows;
    layout.stagedRows = std::min(layout.stagedRows, rows);
    for (Type type : types)
      layout.buffers.push_back(tile::BufferAttr::get(
          fused.getContext(), rows, layout.entryCols, type));
    return layout;
  }
  // Several slots: all hold the same number of boxes of the widest type.
  layout.entryRows = allRows.back();
  layout.stagedRows = std::min(layout.stagedRows, layout.entryRows);
  Type widest = *llvm::max_element(types, [](Type a, Type b) {
    return elementBytes(a) < elementBytes(b);
  });
  int64_t boxBytes =
      layout.entryRows * layout.entryCols * elementBytes(widest);
  int64_t perSlot = slotBytes / boxBytes;
  layout.slotsPerEntry = perSlot ? llvm::divideCeil(types.size(), perSlot) : 1;
  bool uniform = llvm::all_equal(types);
  if (!uniform || perSlot == 0 || 2 * layout.slotsPerEntry > numSlots) {
    why = llvm::formatv(
        "needs {0} boxes of {3}x{4} elements for its operands and results{1}, "
        "which do not fit into the shared memory beside a {2}-byte stage; "
        "compute fewer results in one epilogue",
        types.size(), uniform ? "" : ", of different types", slotBytes,
        layout.entryRows, layout.entryCols);
    return std::nullopt;
  }
  layout.buffers.assign(
      perSlot, tile::BufferAttr::get(fused.getContext(), layout.entryRows,
                                     layout.entryCols, widest));
  return layout;
}
