//===- PlanCases.h - What a plan is predicted for ---------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_PIPELINES_PLANCASES_H
#define BACKFUSE_PIPELINES_PLANCASES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>

namespace backfuse {
namespace mlp {
class GraphOp;
struct Extent;
} // namespace mlp

/// Values of a graph's variable dimensions and scalar parameters.
struct PlanCase {
  std::map<std::string, int64_t> dims;
  /// A bool is 0 or 1.
  std::map<std::string, double> params;

  /// An extent of the graph; every name in it has a value.
  int64_t valueOf(const mlp::Extent &extent) const;
  /// "B=4 S=512 use_silu_gate=1".
  std::string str() const;
};

/// The case that --dims (NAME=N) and --set (NAME=VALUE) give. An error names
/// what is unknown, missing, given twice or out of range.
llvm::Expected<PlanCase> parsePlanCase(mlp::GraphOp graph,
                                       llvm::ArrayRef<std::string> dims,
                                       llvm::ArrayRef<std::string> params);

/// The cases of a file as kernel-run takes it (--cases): axes, tensors by name
/// with the axes of their shapes, and cases.
llvm::Expected<llvm::SmallVector<PlanCase>> readPlanCases(mlp::GraphOp graph,
                                                          llvm::StringRef path);

} // namespace backfuse

#endif // BACKFUSE_PIPELINES_PLANCASES_H
