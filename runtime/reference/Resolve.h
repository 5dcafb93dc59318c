//===- Resolve.h - A graph with its extents filled in -----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_REFERENCE_RESOLVE_H
#define BACKFUSE_REFERENCE_RESOLVE_H

#include "Reference.h"

namespace backfuse::reference {

using Shape = std::vector<int64_t>;

/// Extents of all values for one choice of the variable dimensions.
struct ResolvedGraph {
  std::vector<Shape> shapes; // by value
  std::vector<bundle::DType> dtypes;
};

int64_t product(const Shape &shape);

/// Checks all that the evaluator relies on (indices, definitions before uses,
/// operand counts, shapes, dtypes, attributes) and fills in the extents.
Error resolve(const bundle::Graph &graph,
              const std::map<std::string, int64_t> &dims,
              ResolvedGraph &result);

/// "op 3 (Matmul, at file:line:column)", for messages.
std::string describeOp(const bundle::Graph &graph, uint32_t index);

/// The axes of an operand of rank `rank` that are not in `contracted`.
std::vector<int> freeAxes(size_t rank,
                          const flatbuffers::Vector<int32_t> &contracted);

/// The number of elements in one contraction or sum, i.e. over `axes`.
int64_t extentOver(const Shape &shape,
                   const flatbuffers::Vector<int32_t> &axes);

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_RESOLVE_H
