//===- Check.h - A device's outputs against the evaluator's -----*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_KERNELRUN_CHECK_H
#define BACKFUSE_KERNELRUN_CHECK_H

#include "Cases.h"
#include "Device.h"

namespace backfuse::run {

/// What outputs are compared with. Bits: exact inputs, every bit. Both: Eager
/// and Exact, as the workloads' README has it.
enum class CheckKind { None, Bits, Eager, Exact, Declared, Both };

/// One output in one comparison.
struct OutputCheck {
  std::string output;
  std::string against; // "eager", "exact", "declared", "bits"
  std::string limit;   // "atol + rtol |y|", "bound", "bits"
  reference::Comparison comparison;
  double needed = 1; // share of elements that must match
  bool passed = false;
  bool skipped = false; // the eager reference itself fails against f64
  std::string detail;   // about the worst element; empty if all match
  std::string note;     // whether an output that fails keeps its bound
};

struct CheckRequest {
  CheckKind kind = CheckKind::None;
  std::optional<Tolerance> tolerance; // none: the contract's bound
};

/// Evaluates `problem` and compares `outputs` with it. `plan` is what ran.
std::vector<OutputCheck>
checkOutputs(const Bundle &bundle, const reference::Problem &problem,
             const std::vector<reference::Tensor> &outputs,
             const std::optional<PlanSummary> &plan,
             const CheckRequest &request);

/// "[3, 0, 17]" for a row-major index.
std::string indexText(int64_t index, const std::vector<int64_t> &shape);

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_CHECK_H
