//===- Ends.h - Checks of problems too large to evaluate --------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_KERNELRUN_ENDS_H
#define BACKFUSE_KERNELRUN_ENDS_H

#include "Check.h"

namespace backfuse::run {

/// Exact inputs that repeat after a number of tokens. Outputs with a row per
/// token are compared in windows: the first and the last rows, and those at
/// which an offset passes 2^31 or 2^32 elements or bytes. Sums over tokens are
/// compared whole.
class EndsCheck {
public:
  EndsCheck(const Bundle &bundle, const Signature &signature,
            const Case &problem, uint64_t seed);

  /// What the device loads: inputs of one period.
  const reference::Problem &problem() const { return repeated; }
  /// Compares every bit of windows of `rows` rows with the evaluator's.
  std::vector<OutputCheck> check(Device &device, int64_t rows);

private:
  std::vector<int64_t> windows(int64_t rows) const;
  void checkWindow(Device &device, int64_t firstRow, int64_t rows,
                   const std::vector<bool> &hasTokens,
                   std::vector<OutputCheck> &checks);

  const bundle::Graph &graph;
  const Signature &signature;
  reference::PeriodicInputs inputs;
  reference::Problem repeated;
};

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_ENDS_H
