//===- Executable.h - A bundle prepared for a device ------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_RUNTIME_SRC_EXECUTABLE_H
#define BACKFUSE_RUNTIME_SRC_EXECUTABLE_H

#include "Launch.h"

#include <atomic>

namespace backfuse::runtime {

/// Loaded code of one target, ready to be launched from many threads.
class Executable {
public:
  static Error prepare(std::shared_ptr<const BundleData> bundle, int ordinal,
                       std::shared_ptr<Executable> &result);

  const BundleData &bundle() const { return *data; }
  const DeviceContext &context() const { return *device; }
  uint32_t target() const { return targetIndex; }

  /// Evaluates the plan, for fewer multiprocessors where the device does not
  /// hold a cluster on each few of them, and checks that cooperative grids are
  /// resident.
  Error makePlan(const LaunchValues &values, PlanData &plan) const;

  /// Launches a plan of this executable.
  Error launch(const PlanData &plan, const LaunchTensors &tensors,
               void *workspace, size_t workspaceBytes, CUstream stream) const;

  /// Launches for the dimensions that the tensors have.
  Error launch(const LaunchTensors &tensors, const double *params,
               size_t numParams, void *workspace, size_t workspaceBytes,
               CUstream stream);

private:
  Executable() = default;
  Error loadKernels();
  const bf_step *findNotResident(const PlanData &plan) const;

  /// A plan that launches share, evaluated again whenever the values change.
  struct Slot {
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
    bool valid = false;
    PlanData plan;
  };
  /// More threads than slots wait for each other.
  static constexpr unsigned numSlots = 8;
  Slot &takeSlot();

  std::shared_ptr<const BundleData> data;
  std::shared_ptr<const DeviceContext> device;
  uint32_t targetIndex = 0;
  std::vector<std::unique_ptr<const Kernel>> kernels;
  Slot slots[numSlots];
};

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_EXECUTABLE_H
