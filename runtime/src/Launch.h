//===- Launch.h - Enqueue an evaluated plan ---------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_RUNTIME_SRC_LAUNCH_H
#define BACKFUSE_RUNTIME_SRC_LAUNCH_H

#include "Kernel.h"
#include "Plan.h"
#include "TensorCheck.h"

#include <memory>
#include <vector>

namespace backfuse::runtime {

/// 64 bits that no two launches of the process share, and that another
/// process's hardly ever equal; never 0.
uint64_t nextLaunchTag();

/// Enqueues every step. Allocates nothing and waits for nothing.
/// Precondition: `regions` has passed the checks of TensorCheck.h.
Error enqueue(const DeviceContext &context,
              const std::vector<std::unique_ptr<const Kernel>> &kernels,
              const PlanData &plan, const LaunchRegions &regions,
              CUstream stream);

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_LAUNCH_H
