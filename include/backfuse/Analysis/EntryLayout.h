//===- EntryLayout.h - Where a drain's boxes stand in slots -----*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_ANALYSIS_ENTRYLAYOUT_H
#define BACKFUSE_ANALYSIS_ENTRYLAYOUT_H

#include "backfuse/Arch/TensorCores.h"
#include "dialects/Mlp/IR/MlpLaunchOps.h"
#include "dialects/Tile/IR/TileOps.h"

namespace backfuse {

/// How the boxes of a drain's operands and results stand in the slots of an
/// entry of a ring (see tile.drain).
struct EntryLayout {
  int64_t entryRows = arch::ctaTileRows, entryCols = tile::DrainOp::entryCols;
  int64_t slotsPerEntry = 1;
  int64_t stagedRows = 0; // of results that do not stand in entries
  llvm::SmallVector<tile::BufferAttr> buffers; // of one slot
  llvm::SmallVector<int64_t> operandBuffers;   // per element operand
  llvm::SmallVector<int64_t> storeBuffers;     // per stored result
  bool empty() const { return buffers.empty(); }
};

/// Whether a target that takes f32 operands from registers computes the fused op
/// transposed: with its B, which is f32 where A is not, in the place of A.
bool isComputedTransposed(mlp::FusedOp fused);

/// Whether the contraction's f32 operand is cut into two parts of bf16.
bool takesTwoParts(mlp::ContractionAttr contraction);
/// Whether contraction `i` multiplies the second part of an operand by the same
/// f32 operand as the one before does the first part: they share a stage.
bool isSecondPart(mlp::FusedOp fused, unsigned i);

/// Shared memory in which the drain of such a fused op stages results: what serves
/// well, or what its fewest rows take.
int64_t stagingBytes(mlp::FusedOp fused);

/// The layout of the fewest slots of `slotBytes` bytes out of `numSlots`. Where
/// none fits, returns the reason as a sentence's end in `why`.
std::optional<EntryLayout> layOutEntry(mlp::FusedOp fused, int64_t slotBytes,
                                       int64_t numSlots, std::string &why);

} // namespace backfuse

#endif // BACKFUSE_ANALYSIS_ENTRYLAYOUT_H
