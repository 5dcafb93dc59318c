//===- Plan.h - A launch plan with its expressions evaluated ----*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_RUNTIME_SRC_PLAN_H
#define BACKFUSE_RUNTIME_SRC_PLAN_H

#include "BundleReader.h"

#include <cstdint>
#include <vector>

namespace backfuse::runtime {

/// What a launch does for given dimensions and parameters. Holds no device
/// address, so that many launches can share it.
struct PlanData {
  bf_plan_info info = {};
  std::vector<bf_step> steps;
  std::vector<bf_step_arg> args; // of all steps; each points into it
  std::vector<int64_t> dims;
  std::vector<double> params;

  /// Makes room for every variant of `target`, so that evaluatePlan does not
  /// allocate.
  void reserve(const BundleData &bundle, uint32_t target);
};

/// Dimensions and parameters of a launch, in the bundle's order.
struct LaunchValues {
  const int64_t *dims = nullptr;
  size_t numDims = 0;
  const double *params = nullptr;
  size_t numParams = 0;
};

/// "B=4, S=512, use_silu_gate=1"
std::string describeValues(const BundleData &bundle,
                           const LaunchValues &values);

/// Bytes of a tensor; false if they do not fit 63 bits.
bool tensorBytes(const bundle::TensorType &type, const int64_t *dims,
                 uint64_t &bytes);

/// Checks `values`, looks at the refusals, takes the first variant whose guard
/// holds and evaluates its workspace size.
Error chooseVariant(const BundleData &bundle, uint32_t target, int64_t smCount,
                    const LaunchValues &values, bf_plan_info &info);

/// chooseVariant, then evaluates every step and checks that it stays inside the
/// buffers it names. Precondition: plan.reserve has been called.
Error evaluatePlan(const BundleData &bundle, uint32_t target, int64_t smCount,
                   const LaunchValues &values, PlanData &plan);

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_PLAN_H
