//===- GraphExport.h - A graph as the bundle's flat op list -----*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TARGET_BUNDLE_GRAPHEXPORT_H
#define BACKFUSE_TARGET_BUNDLE_GRAPHEXPORT_H

#include "mlir/Support/LLVM.h"

namespace backfuse {
namespace bundle {
struct GraphT;
} // namespace bundle
namespace mlp {
class GraphOp;
} // namespace mlp

/// Writes the graph as runtime/bundle.fbs has it, to be done before anything is
/// folded: the evaluator takes the list as what the user meant. Each op of the
/// block but the last becomes one entry, so that an op's index in the list is
/// its place in the block (which backfuse-number-ops records on products).
/// Emits an error at an op that the format cannot record: sugar, extents that
/// are products of dimensions, i1 constants.
mlir::LogicalResult exportGraph(mlp::GraphOp graph, bundle::GraphT &out);

/// Prints the list, one line per argument and op, for people and for tests.
void printGraph(const bundle::GraphT &graph, llvm::raw_ostream &os);

} // namespace backfuse

#endif // BACKFUSE_TARGET_BUNDLE_GRAPHEXPORT_H
