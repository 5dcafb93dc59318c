//===- Padding.h - Rows of zeros between launches ---------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes that reach beyond their tensor are slow when many CTAs load them together
// (bench/tma_boxes.cu; docs/performance.md). Values that kernels make for products
// of others therefore have rows of zeros up to whole tiles.
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

/// To a multiple of how many rows: the largest tile over a variable extent, or
/// step. `tileRows` gives a fused op's rows of a tile.
int64_t paddingOf(mlp::GraphOp graph,
                  llvm::function_ref<int64_t(mlp::FusedOp)> tileRows);

} // namespace backfuse

#endif // BACKFUSE_ANALYSIS_PADDING_H
