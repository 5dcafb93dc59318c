//===- Device.h - Where a bundle runs ---------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One interface for the GPU, the emulator and the reference evaluator. A device
// holds one problem at a time: load, run (as often as wanted), download.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_KERNELRUN_DEVICE_H
#define BACKFUSE_KERNELRUN_DEVICE_H

#include "Signature.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace backfuse::run {

/// What a device runs for the loaded problem.
struct PlanSummary {
  uint32_t target = 0, variant = 0;
  std::string variantName;
  uint64_t workspaceBytes = 0;
  uint64_t leastBytes = 0;
  uint64_t operations[BF_NUM_RATES] = {};
  uint32_t numSteps = 0;
};

/// Microseconds of one problem.
struct Timing {
  double medianUs = 0, meanUs = 0, minUs = 0, maxUs = 0;
  int runs = 0, discarded = 0;
  double smMhz = 0;       // during the spins
  double cpuPlanUs = 0;   // to enqueue a prepared launch
  double cpuLaunchUs = 0; // the same, dimensions inferred from the tensors
};

class Device {
public:
  virtual ~Device() = default;

  /// "cuda:0 (NVIDIA H200)".
  virtual std::string name() const = 0;
  /// What the report says about it.
  virtual nlohmann::json describe() const = 0;
  /// Makes room for every tensor of the problem and uploads the inputs, which
  /// must live as long as they are loaded. A device that repeatsInputs()
  /// repeats an input with fewer bytes than it needs until it is full.
  virtual void load(const reference::Problem &problem,
                    const Values &values) = 0;
  virtual bool repeatsInputs() const { return true; }
  /// Whether load() takes memory of this machine for each tensor.
  virtual bool copiesToHost() const { return false; }
  /// What run() does; none on a device that runs no plan.
  virtual std::optional<PlanSummary> plan() const = 0;
  /// Prints what each kernel of the next runs does, or collects it as JSON;
  /// only the emulator can.
  virtual void collectReports(bool asJson);
  /// What was collected, an object for each run.
  virtual nlohmann::json reports() const { return nlohmann::json::array(); }
  /// Poisons outputs and workspace, runs, and waits.
  virtual void run() = 0;
  /// A part of an output.
  virtual void read(size_t output, uint64_t firstByte, uint64_t numBytes,
                    void *to) = 0;

  /// Whether bench() measures anything.
  virtual bool canBench() const { return false; }
  virtual Timing bench(int runs);
  /// Bytes per second of a copy in device memory, read and written bytes
  /// counted.
  virtual double copyBandwidth();
};

/// Which device, as --device has it: auto, cuda:N, emulator[:TARGET],
/// reference. `ptxDir`: see makeEmulatorDevice.
std::unique_ptr<Device> makeDevice(const std::string &choice,
                                   const Bundle &bundle,
                                   const std::string &ptxDir = "");

std::unique_ptr<Device> makeCudaDevice(const Bundle &bundle, int ordinal);
std::unique_ptr<Device> makeReferenceDevice(const Bundle &bundle);
/// `target` is empty for the bundle's first. Modules come from
/// `ptxDir`/TARGET.N.ptx where these files are, else from the bundle.
std::unique_ptr<Device> makeEmulatorDevice(const Bundle &bundle,
                                           const std::string &target,
                                           const std::string &ptxDir = "");

/// The plan of a launch without or with a device.
PlanSummary summarise(const Plan &plan);

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_DEVICE_H
