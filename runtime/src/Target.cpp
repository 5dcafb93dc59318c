//===- Target.cpp - Which code of a bundle a device runs ------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Target.h"

using namespace backfuse;
using namespace backfuse::runtime;

bool backfuse::runtime::parseTargetArch(const std::string &name,
                                        TargetArch &arch) {
  if (name.compare(0, 3, "sm_") != 0)
    return false;
  size_t end = 3;
  int number = 0;
  while (end < name.size() && end < 8 && name[end] >= '0' && name[end] <= '9')
    number = number * 10 + (name[end++] - '0');
  if (end == 3 || number < 10)
    return false;
  arch = {number / 10, number % 10, 0};
  if (end + 1 == name.size() && (name[end] == 'a' || name[end] == 'f'))
    arch.suffix = name[end++];
  return end == name.size();
}

bool backfuse::runtime::runsOn(const TargetArch &arch, int major, int minor) {
  return arch.major == major &&
         (arch.suffix == 'a' ? arch.minor == minor : arch.minor <= minor);
}

/// "compute capability 9.0", "compute capability 10.0 or a later 10.x".
static std::string describeNeeds(const TargetArch &arch) {
  std::string text =
      formatText("compute capability %d.%d", arch.major, arch.minor);
  if (arch.suffix != 'a')
    text += formatText(" or a later %d.x", arch.major);
  return text;
}

Error backfuse::runtime::chooseTarget(const BundleData &bundle, int major,
                                      int minor, const std::string &device,
                                      uint32_t &target) {
  const auto *targets = bundle.bundle().targets();
  unsigned count = targets ? targets->size() : 0;
  int best = -1;
  std::string table;
  for (unsigned i = 0; i < count; ++i) {
    std::string name = targets->Get(i)->name()->str();
    TargetArch arch;
    if (!parseTargetArch(name, arch)) {
      table += "\n  " + name + "  (unknown to this runtime)";
      continue;
    }
    table += "\n  " + name + "  needs " + describeNeeds(arch);
    if (!runsOn(arch, major, minor))
      continue;
    // The exact architecture first, then the newest family, then plain code.
    int rank = (arch.suffix == 'a'   ? 200
                : arch.suffix == 'f' ? 100
                                     : 0) +
               arch.minor;
    if (rank > best) {
      best = rank;
      target = i;
    }
  }
  if (best >= 0)
    return {};
  return makeError(BF_ERROR_NO_TARGET,
                   "the bundle holds no code for this device\n  device: %s, "
                   "compute capability %d.%d\nthe bundle of %s holds:%s",
                   device.c_str(), major, minor, bundle.graph().name()->c_str(),
                   count ? table.c_str() : "\n  nothing");
}
