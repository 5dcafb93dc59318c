//===- Target.cpp - The GPUs that Backfuse compiles for -------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backfuse/Arch/Target.h"
#include "backfuse/Arch/TensorCores.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace backfuse;
using namespace backfuse::arch;

/// Hopper and Blackwell agree in all limits of an SM but tensor memory.
static constexpr Target makeTarget(StringRef name, Generation generation,
                                   int computeCapability, bool isFamily) {
  Target target{};
  target.name = name;
  target.generation = generation;
  // PTX 8.8 is the first version that knows sm_100f; one version for all keeps
  // the kernels of a bundle alike.
  target.llvmFeatures = "+ptx88";
  target.computeCapability = computeCapability;
  target.isFamily = isFamily;
  target.maxDynamicSmemBytes = 232448;
  target.smemBytesPerSm = 233472;
  target.reservedSmemBytesPerCta = 1024;
  target.registersPerSm = 65536;
  target.maxRegistersPerThread = 255;
  target.registerGranularity = 8;
  target.warpThreads = warpThreads;
  target.warpgroupThreads = warpgroupThreads;
  target.maxThreadsPerCta = 1024;
  target.maxThreadsPerSm = 2048;
  target.maxCtasPerSm = 32;
  target.maxPortableClusterCtas = 8;
  bool hasTmem = generation == Generation::Blackwell;
  target.tmemColumns = hasTmem ? tensorMemoryColumns : 0;
  target.tmemLanes = hasTmem ? tensorMemoryLanes : 0;
  // Hopper's tf32 wgmma takes K-major operands only, and a backward product has
  // an MN-major one.
  target.multipliesTf32 = generation == Generation::Blackwell;
  target.maxProductCtas = generation == Generation::Blackwell ? 2 : 1;
  return target;
}

static constexpr Target targets[] = {
    makeTarget("sm_90a", Generation::Hopper, 90, /*isFamily=*/false),
    makeTarget("sm_100f", Generation::Blackwell, 100, /*isFamily=*/true),
    makeTarget("sm_100a", Generation::Blackwell, 100, /*isFamily=*/false),
};

ArrayRef<Target> arch::getTargets() { return targets; }

const Target *arch::lookupTarget(StringRef name) {
  const Target *it =
      find_if(targets, [&](const Target &t) { return t.name == name; });
  return it == std::end(targets) ? nullptr : it;
}

std::string arch::listTargetNames() {
  return join(map_range(targets, [](const Target &t) { return t.name.str(); }),
              ", ");
}

Expected<SmallVector<const Target *>> arch::parseTargets(StringRef list) {
  SmallVector<const Target *> result;
  for (StringRef name : split(list, ',')) {
    name = name.trim();
    const Target *target = lookupTarget(name);
    if (!target)
      return createStringError("unknown target '" + name +
                               "'; there are: " + listTargetNames());
    if (is_contained(result, target))
      return createStringError("target '" + name + "' is named twice");
    result.push_back(target);
  }
  return result;
}
