//===- Padding.h - Rows of zeros between launches ---------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes that reach beyond their tensor are slow when many CTAs load them together
// (bench/tma_boxes.cu; docs/performance.md). Values that kernels make for products
// of others therefore have rows of zeros up to whole tiles.
//
// And what else passes from a conversion to the launch after it.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_ANALYSIS_PADDING_H
#define BACKFUSE_ANALYSIS_PADDING_H

#include "dialects/Mlp/IR/MlpLaunchOps.h"
#include "dialects/Mlp/IR/MlpOps.h"

namespace backfuse {

/// Whether `value`, a result of a conversion, of a launch or of a fused op in one,
/// has rows of zeros beyond its last: a copy or a stored result of a tile that is
/// computed transposed, of a variable number of rows, and no output of the graph.
bool isPadded(mlir::Value value);

/// To a multiple of how many rows such a value is padded: a fused op's result to
/// its tiles, a copy to the graph's largest over a variable extent, or to a step;
/// 1 for other values. `tileRows` gives a fused op's rows of a tile.
int64_t paddingOf(mlir::Value value,
                  llvm::function_ref<int64_t(mlp::FusedOp)> tileRows);

/// Whether the launch after a conversion adds up the partial sums that it leaves:
/// it has a sum, which that launch does not read.
bool deferredSum(mlp::ConvertOp convert);

} // namespace backfuse

#endif // BACKFUSE_ANALYSIS_PADDING_H
