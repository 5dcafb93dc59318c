//===- TensorCheck.h - Arguments of a launch against a signature *- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_RUNTIME_SRC_TENSORCHECK_H
#define BACKFUSE_RUNTIME_SRC_TENSORCHECK_H

#include "BundleReader.h"
#include "BundleVerifier.h"

namespace backfuse::runtime {

constexpr uintptr_t tensorAlignment = 16;
constexpr uintptr_t workspaceAlignment = 256;

/// Tensors of a launch as they came.
struct LaunchTensors {
  const DLTensor *const *inputs = nullptr;
  size_t numInputs = 0;
  const DLTensor *const *outputs = nullptr;
  size_t numOutputs = 0;
};

/// First byte and bytes of a tensor that has passed.
struct Region {
  uintptr_t base = 0;
  uint64_t bytes = 0;
};

/// What a launch may use once its arguments have passed. Of fixed size: a
/// launch does not allocate.
struct LaunchRegions {
  Region inputs[BundleLimits::arguments];
  Region outputs[BundleLimits::arguments];
  Region workspace;
  int64_t dims[BundleLimits::dims];
};

/// Checks dtype, shape, strides, alignment and device of every tensor, fills
/// regions.inputs and outputs, and infers regions.dims; dimensions given by
/// `plannedDims` (or null) must agree.
Error checkTensors(const BundleData &bundle, const LaunchTensors &tensors,
                   int deviceOrdinal, const int64_t *plannedDims,
                   LaunchRegions &regions);

/// Checks the workspace, and that no output overlaps anything else.
/// Precondition: checkTensors has passed.
Error checkWorkspaceAndOverlap(const BundleData &bundle, void *workspace,
                               size_t workspaceBytes, uint64_t neededBytes,
                               LaunchRegions &regions);

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_TENSORCHECK_H
