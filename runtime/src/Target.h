//===- Target.h - Which code of a bundle a device runs ----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_RUNTIME_SRC_TARGET_H
#define BACKFUSE_RUNTIME_SRC_TARGET_H

#include "BundleReader.h"

#include <string>

namespace backfuse::runtime {

/// A target's name taken apart: "sm_90a" is {9, 0, 'a'}, "sm_100f" {10, 0,
/// 'f'}, "sm_90" {9, 0, 0}.
struct TargetArch {
  int major = 0, minor = 0;
  char suffix = 0;
};
bool parseTargetArch(const std::string &name, TargetArch &arch);

/// Whether a device of that compute capability runs code for `arch`. `a` code
/// runs on its own architecture alone, all other on the same major and an equal
/// or larger minor.
bool runsOn(const TargetArch &arch, int major, int minor);

/// The index of the most specific target that the device runs; an error with a
/// table of what the bundle holds if there is none.
Error chooseTarget(const BundleData &bundle, int major, int minor,
                   const std::string &device, uint32_t &target);

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_TARGET_H
