//===- Kernel.cpp - A kernel ready to be launched -------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernel.h"
#include "BundleVerifier.h"

#include <algorithm>

using namespace backfuse;
using namespace backfuse::runtime;

/// The largest cluster that every device of an architecture must support.
static constexpr unsigned portableClusterCtas = 8;

static unsigned clusterCtas(const bundle::Kernel &kernel) {
  unsigned ctas = 1;
  if (kernel.cluster())
    for (uint32_t extent : *kernel.cluster())
      ctas *= extent;
  return ctas;
}

Error Kernel::find(std::shared_ptr<const Module> module,
                   const bundle::Kernel &kernel,
                   std::unique_ptr<const Kernel> &result) {
  const DeviceContext &context = module->context();
  const DriverApi &api = context.api();
  std::string what = "kernel " + kernel.name()->str();
  if (kernel.smem_bytes() > static_cast<unsigned>(context.maxSmemBytes()))
    return makeError(BF_ERROR_NO_TARGET,
                     "%s needs %u bytes of shared memory, %s has %d",
                     what.c_str(), kernel.smem_bytes(),
                     context.describe().c_str(), context.maxSmemBytes());
  CurrentContext current(api, context.handle());
  if (Error error = api.check(current.status(), "cuCtxPushCurrent"))
    return error;
  std::unique_ptr<Kernel> made(new Kernel);
  if (Error error =
          api.check(api.cuModuleGetFunction(&made->function, module->handle(),
                                            kernel.name()->c_str()),
                    "cuModuleGetFunction", what))
    return error;
  // Under lazy loading the code would otherwise come at the first launch.
  if (api.cuFuncLoad)
    if (Error error =
            api.check(api.cuFuncLoad(made->function), "cuFuncLoad", what))
      return error;
  auto set = [&](CUfunction_attribute attribute, int value) {
    return api.check(api.cuFuncSetAttribute(made->function, attribute, value),
                     "cuFuncSetAttribute", what);
  };
  if (Error error = set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                        static_cast<int>(kernel.smem_bytes())))
    return error;
  if (clusterCtas(kernel) > portableClusterCtas)
    if (Error error =
            set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))
      return error;
  int maxThreads = 0;
  if (Error error =
          api.check(api.cuFuncGetAttribute(
                        &maxThreads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                        made->function),
                    "cuFuncGetAttribute", what))
    return error;
  if (static_cast<unsigned>(maxThreads) < kernel.threads())
    return makeError(BF_ERROR_BUNDLE,
                     "%s is to run with %u threads, but its code allows %d",
                     what.c_str(), kernel.threads(), maxThreads);
  if (Error error = made->findResidentCtas(kernel, context))
    return error;
  made->owner = std::move(module);
  result = std::move(made);
  return {};
}

/// A cluster needs its multiprocessors in one GPC, so that the device may hold
/// fewer clusters than its multiprocessors would hold of CTAs.
Error Kernel::findResidentCtas(const bundle::Kernel &kernel,
                               const DeviceContext &context) {
  const DriverApi &api = context.api();
  std::string what = "kernel " + kernel.name()->str();
  int count = 0;
  if (clusterCtas(kernel) == 1) {
    Error error =
        api.check(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                      &count, function, static_cast<int>(kernel.threads()),
                      kernel.smem_bytes()),
                  "cuOccupancyMaxActiveBlocksPerMultiprocessor", what);
    resident =
        uint64_t(std::max(count, 0)) * static_cast<unsigned>(context.smCount());
    return error;
  }
  unsigned extents[3] = {1, 1, 1};
  for (unsigned i = 0; i < kernel.cluster()->size(); ++i)
    extents[i] = kernel.cluster()->Get(i);
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = extents[0];
  attribute.value.clusterDim.y = extents[1];
  attribute.value.clusterDim.z = extents[2];
  CUlaunchConfig config = {};
  config.gridDimX = extents[0];
  config.gridDimY = extents[1];
  config.gridDimZ = extents[2];
  config.blockDimX = kernel.threads();
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = kernel.smem_bytes();
  config.attrs = &attribute;
  config.numAttrs = 1;
  Error error =
      api.check(api.cuOccupancyMaxActiveClusters(&count, function, &config),
                "cuOccupancyMaxActiveClusters", what);
  if (!error && count <= 0)
    return makeError(BF_ERROR_NO_TARGET,
                     "%s has clusters of %u CTAs with %u threads and %u bytes "
                     "of shared memory each, %s holds none",
                     what.c_str(), clusterCtas(kernel), kernel.threads(),
                     kernel.smem_bytes(), context.describe().c_str());
  resident = uint64_t(std::max(count, 0)) * clusterCtas(kernel);
  return error;
}

Error Kernel::checkParameters(const bundle::KernelLaunch &launch,
                              const char *name) const {
  const DriverApi &api = owner->context().api();
  if (!api.cuFuncGetParamInfo)
    return {};
  unsigned passed = launch.args() ? launch.args()->size() : 0;
  size_t offset = 0, bytes = 0;
  for (unsigned i = 0; i < passed; ++i) {
    if (api.cuFuncGetParamInfo(function, i, &offset, &bytes) != CUDA_SUCCESS)
      return makeError(BF_ERROR_BUNDLE,
                       "kernel %s is passed %u arguments, but its code takes "
                       "%u",
                       name, passed, i);
    unsigned expected = parameterBytes(launch.args()->Get(i)->kind());
    if (bytes != expected)
      return makeError(BF_ERROR_BUNDLE,
                       "argument %u of kernel %s has %u bytes, but its code "
                       "takes %zu",
                       i, name, expected, bytes);
  }
  return {};
}
