//===- Kernel.h - A kernel ready to be launched -----------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_RUNTIME_SRC_KERNEL_H
#define BACKFUSE_RUNTIME_SRC_KERNEL_H

#include "Module.h"

namespace backfuse::runtime {

/// A function with its attributes set. Keeps its module alive.
class Kernel {
public:
  static Error find(std::shared_ptr<const Module> module,
                    const bundle::Kernel &kernel,
                    std::unique_ptr<const Kernel> &result);

  CUfunction handle() const { return function; }
  /// CTAs that the device holds at once, in whole clusters.
  uint64_t residentCtas() const { return resident; }
  /// Checks the sizes of the arguments that a launch would pass against the
  /// code, where the driver can tell. (It cannot tell without an error whether
  /// the code takes more.)
  Error checkParameters(const bundle::KernelLaunch &launch,
                        const char *name) const;

private:
  Kernel() = default;
  Error findResidentCtas(const bundle::Kernel &kernel,
                         const DeviceContext &context);

  std::shared_ptr<const Module> owner;
  CUfunction function = nullptr;
  uint64_t resident = 0;
};

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_KERNEL_H
