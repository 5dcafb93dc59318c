//===- Device.cpp - Where a bundle runs -----------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Device.h"

#include <cstdio>
#include <cstring>

using namespace backfuse;
using namespace backfuse::run;

void Device::collectReports(bool) {
  throw UsageError("--report needs --device=emulator, not " + name());
}

Timing Device::bench(int) { throw Failure(name() + " has no times"); }

double Device::copyBandwidth() { throw Failure(name() + " has no times"); }

PlanSummary backfuse::run::summarise(const Plan &plan) {
  bf_plan_info info = plan.info();
  PlanSummary summary;
  summary.target = info.target;
  summary.variant = info.variant;
  summary.variantName = info.variant_name;
  summary.workspaceBytes = info.workspace_bytes;
  summary.leastBytes = info.bytes;
  summary.numSteps = info.num_steps;
  std::memcpy(summary.operations, info.operations, sizeof(info.operations));
  return summary;
}

#if !BACKFUSE_HAVE_EMULATOR
std::unique_ptr<Device> backfuse::run::makeEmulatorDevice(const Bundle &,
                                                          const std::string &,
                                                          const std::string &) {
  throw Failure("device emulator is not built into this kernel-run (configure "
                "with -DBACKFUSE_BUILD_EMULATOR=ON)");
}
#endif

/// The GPU if there is one that the bundle has code for, else the emulator if
/// it is built and there is PTX, else the evaluator.
static std::unique_ptr<Device> makeAutomaticDevice(const Bundle &bundle) {
  std::string why;
  try {
    return makeCudaDevice(bundle, 0);
  } catch (const std::exception &error) {
    why = error.what();
  }
  std::unique_ptr<Device> device;
#if BACKFUSE_HAVE_EMULATOR
  try {
    device = makeEmulatorDevice(bundle, "");
  } catch (const UsageError &) {
    throw;
  } catch (const std::exception &error) {
    why += std::string("; ") + error.what();
  }
#endif
  if (!device)
    device = makeReferenceDevice(bundle);
  std::fprintf(stderr, "kernel-run: device %s (%s)\n", device->name().c_str(),
               why.c_str());
  return device;
}

std::unique_ptr<Device> backfuse::run::makeDevice(const std::string &choice,
                                                  const Bundle &bundle,
                                                  const std::string &ptxDir) {
  static const std::string cuda = "cuda", emulator = "emulator";
  if (choice == "auto")
    return makeAutomaticDevice(bundle);
  if (choice == "reference")
    return makeReferenceDevice(bundle);
  if (choice == emulator)
    return makeEmulatorDevice(bundle, "", ptxDir);
  if (choice.rfind(emulator + ":", 0) == 0)
    return makeEmulatorDevice(bundle, choice.substr(emulator.size() + 1),
                              ptxDir);
  if (choice == cuda)
    return makeCudaDevice(bundle, 0);
  std::string ordinal =
      choice.rfind(cuda + ":", 0) == 0 ? choice.substr(cuda.size() + 1) : "";
  if (ordinal.empty() || ordinal.size() > 4 ||
      ordinal.find_first_not_of("0123456789") != std::string::npos)
    throw UsageError("unknown device '" + choice +
                     "': expected auto, cuda:N, emulator, emulator:TARGET or "
                     "reference");
  return makeCudaDevice(bundle, std::stoi(ordinal));
}
