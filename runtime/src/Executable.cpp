//===- Executable.cpp - A bundle prepared for a device --------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Executable.h"
#include "Target.h"

#include <algorithm>
#include <thread>

using namespace backfuse;
using namespace backfuse::runtime;

template <typename T>
static unsigned sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

/// "12.8" for 12080, as the driver counts.
static std::string cudaVersion(unsigned version) {
  return formatText("%u.%u", version / 1000, version % 1000 / 10);
}

/// Checks the driver against what the bundle was assembled for.
static Error checkDriverVersion(const DriverApi &api,
                                const BundleData &bundle) {
  const bundle::Provenance *provenance = bundle.bundle().provenance();
  int version = 0;
  if (Error error =
          api.check(api.cuDriverGetVersion(&version), "cuDriverGetVersion"))
    return error;
  unsigned found = version < 0 ? 0 : static_cast<unsigned>(version);
  if (!provenance || provenance->minimum_driver() <= found)
    return {};
  return makeError(BF_ERROR_NO_DRIVER,
                   "the bundle needs a driver for CUDA %s or newer, this one "
                   "is for CUDA %s",
                   cudaVersion(provenance->minimum_driver()).c_str(),
                   cudaVersion(found).c_str());
}

Error Executable::prepare(std::shared_ptr<const BundleData> bundle, int ordinal,
                          std::shared_ptr<Executable> &result) {
  const DriverApi *api = nullptr;
  if (Error error = DriverApi::get(api))
    return error;
  if (Error error = checkDriverVersion(*api, *bundle))
    return error;
  std::shared_ptr<Executable> made(new Executable);
  made->data = std::move(bundle);
  if (Error error = DeviceContext::retain(*api, ordinal, made->device))
    return error;
  if (Error error = chooseTarget(*made->data, made->device->major(),
                                 made->device->minor(),
                                 made->device->describe(), made->targetIndex))
    return error;
  if (Error error = made->loadKernels())
    return error;
  for (Slot &slot : made->slots)
    slot.plan.reserve(*made->data, made->targetIndex);
  result = std::move(made);
  return {};
}

Error Executable::loadKernels() {
  const bundle::Target &target = *data->bundle().targets()->Get(targetIndex);
  std::vector<std::shared_ptr<const Module>> modules(sizeOf(target.modules()));
  for (unsigned i = 0; i < modules.size(); ++i)
    if (Error error = Module::load(
            device, *target.modules()->Get(i),
            formatText("module %u is for %s", i, target.name()->c_str()),
            modules[i]))
      return error;
  kernels.resize(sizeOf(target.kernels()));
  for (unsigned i = 0; i < kernels.size(); ++i) {
    const bundle::Kernel &kernel = *target.kernels()->Get(i);
    if (Error error =
            Kernel::find(modules[kernel.module_index()], kernel, kernels[i]))
      return error;
  }
  for (unsigned v = 0; v < sizeOf(target.variants()); ++v) {
    const auto *steps = target.variants()->Get(v)->steps();
    for (unsigned s = 0; s < sizeOf(steps); ++s)
      if (const auto *launch = steps->Get(s)->body_as_KernelLaunch())
        if (Error error = kernels[launch->kernel()]->checkParameters(
                *launch,
                target.kernels()->Get(launch->kernel())->name()->c_str()))
          return error;
  }
  return {};
}

static uint64_t numCtas(const bf_step &step) {
  return uint64_t(step.grid[0]) * step.grid[1] * step.grid[2];
}

/// A step whose CTAs wait for each other but would not all be resident.
const bf_step *Executable::findNotResident(const PlanData &plan) const {
  for (const bf_step &step : plan.steps)
    if (step.kind == BF_STEP_KERNEL && step.cooperative &&
        numCtas(step) > kernels[step.kernel_index]->residentCtas())
      return &step;
  return nullptr;
}

Error Executable::makePlan(const LaunchValues &values, PlanData &plan) const {
  int64_t smCount = device->smCount();
  for (;;) {
    if (Error error = evaluatePlan(*data, targetIndex, smCount, values, plan))
      return error;
    const bf_step *step = findNotResident(plan);
    if (!step)
      return {};
    uint64_t resident = kernels[step->kernel_index]->residentCtas();
    unsigned cluster = step->cluster[0] * step->cluster[1] * step->cluster[2];
    // A grid of as many clusters as the multiprocessors could hold becomes one
    // of as many as they do hold.
    if (cluster > 1 && resident < static_cast<uint64_t>(smCount)) {
      smCount = static_cast<int64_t>(resident);
      continue;
    }
    std::string needs = formatText(
        "%llu CTAs", static_cast<unsigned long long>(numCtas(*step)));
    if (cluster > 1)
      needs = formatText(
          "%llu clusters of %u CTAs",
          static_cast<unsigned long long>(numCtas(*step) / cluster), cluster);
    return makeError(BF_ERROR_REFUSED,
                     "kernel %s needs %s resident at once, %s holds %llu",
                     step->kernel, needs.c_str(), device->describe().c_str(),
                     static_cast<unsigned long long>(resident / cluster));
  }
}

Error Executable::launch(const PlanData &plan, const LaunchTensors &tensors,
                         void *workspace, size_t workspaceBytes,
                         CUstream stream) const {
  LaunchRegions regions;
  if (Error error = checkTensors(*data, tensors, device->ordinal(),
                                 plan.dims.data(), regions))
    return error;
  if (Error error = checkWorkspaceAndOverlap(
          *data, workspace, workspaceBytes, plan.info.workspace_bytes, regions))
    return error;
  return enqueue(*device, kernels, plan, regions, stream);
}

Executable::Slot &Executable::takeSlot() {
  for (;;) {
    for (Slot &slot : slots)
      if (!slot.busy.test_and_set(std::memory_order_acquire))
        return slot;
    std::this_thread::yield();
  }
}

Error Executable::launch(const LaunchTensors &tensors, const double *params,
                         size_t numParams, void *workspace,
                         size_t workspaceBytes, CUstream stream) {
  LaunchRegions regions;
  if (Error error =
          checkTensors(*data, tensors, device->ordinal(), nullptr, regions))
    return error;
  LaunchValues values{regions.dims, sizeOf(data->graph().dims()), params,
                      numParams};
  struct Release {
    Slot &slot;
    ~Release() { slot.busy.clear(std::memory_order_release); }
  };
  Slot &slot = takeSlot();
  Release release{slot};
  PlanData &plan = slot.plan;
  bool same =
      slot.valid && numParams == plan.params.size() &&
      std::equal(plan.dims.begin(), plan.dims.end(), regions.dims) &&
      (numParams == 0 ||
       (params && std::equal(params, params + numParams, plan.params.begin())));
  if (!same) {
    slot.valid = false;
    if (Error error = makePlan(values, plan))
      return error;
    slot.valid = true;
  }
  if (Error error = checkWorkspaceAndOverlap(
          *data, workspace, workspaceBytes, plan.info.workspace_bytes, regions))
    return error;
  return enqueue(*device, kernels, plan, regions, stream);
}
