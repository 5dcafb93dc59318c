//===- FakeDriver.cpp - A table of driver functions that record -----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FakeDriver.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

using namespace backfuse;
using namespace backfuse::test;

static FakeDriver *driver = nullptr;
static std::mutex mutex;
static const CUcontext primary = reinterpret_cast<CUcontext>(0x1000);
static thread_local std::vector<CUcontext> contextStack;

/// Records a call; its result is what the test wants it to be.
static CUresult called(const char *name) {
  std::lock_guard<std::mutex> lock(mutex);
  if (driver->records)
    driver->calls.push_back(name);
  auto failure = driver->failures.find(name);
  return failure == driver->failures.end() ? CUDA_SUCCESS : failure->second;
}

#define CALLED(name)                                                           \
  if (CUresult result = called(#name))                                         \
  return result

/// A function handle is its name.
static const std::string &nameOf(CUfunction function) {
  return *reinterpret_cast<const std::string *>(function);
}

static CUresult getErrorName(CUresult result, const char **name) {
  *name = result == CUDA_ERROR_INVALID_VALUE    ? "CUDA_ERROR_INVALID_VALUE"
          : result == CUDA_ERROR_INVALID_HANDLE ? "CUDA_ERROR_INVALID_HANDLE"
          : result == CUDA_ERROR_NO_BINARY_FOR_GPU
              ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
              : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}

static CUresult getErrorString(CUresult, const char **text) {
  *text = "as the test wants it";
  return CUDA_SUCCESS;
}

static CUresult deviceGetAttribute(int *value, CUdevice_attribute attribute,
                                   CUdevice) {
  CALLED(cuDeviceGetAttribute);
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = driver->major;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = driver->minor;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 132;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = 232448;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

static CUresult ctxGetCurrent(CUcontext *context) {
  CALLED(cuCtxGetCurrent);
  *context = contextStack.empty() ? nullptr : contextStack.back();
  return CUDA_SUCCESS;
}

static CUresult ctxPushCurrent(CUcontext context) {
  CALLED(cuCtxPushCurrent);
  contextStack.push_back(context);
  return CUDA_SUCCESS;
}

static CUresult ctxPopCurrent(CUcontext *context) {
  CALLED(cuCtxPopCurrent);
  *context = contextStack.back();
  contextStack.pop_back();
  return CUDA_SUCCESS;
}

static CUresult moduleLoadDataEx(CUmodule *module, const void *image, unsigned,
                                 CUjit_option *, void **) {
  CALLED(cuModuleLoadDataEx);
  if (!image || contextStack.empty() || contextStack.back() != primary)
    return CUDA_ERROR_INVALID_CONTEXT;
  ++driver->modules;
  *module = reinterpret_cast<CUmodule>(0x2000);
  return CUDA_SUCCESS;
}

static CUresult moduleUnload(CUmodule) {
  CALLED(cuModuleUnload);
  --driver->modules;
  return CUDA_SUCCESS;
}

static CUresult moduleGetFunction(CUfunction *function, CUmodule,
                                  const char *name) {
  CALLED(cuModuleGetFunction);
  auto found = driver->kernels.find(name);
  if (found == driver->kernels.end())
    return CUDA_ERROR_NOT_FOUND;
  *function =
      reinterpret_cast<CUfunction>(const_cast<std::string *>(&found->first));
  return CUDA_SUCCESS;
}

static CUresult funcGetAttribute(int *value, CUfunction_attribute, CUfunction) {
  CALLED(cuFuncGetAttribute);
  *value = 1024;
  return CUDA_SUCCESS;
}

static CUresult funcSetAttribute(CUfunction function,
                                 CUfunction_attribute attribute, int value) {
  CALLED(cuFuncSetAttribute);
  std::string key = nameOf(function);
  key += attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? ".smem"
         : attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
             ? ".nonportable"
             : ".other";
  driver->functionAttributes[key] = value;
  return CUDA_SUCCESS;
}

static CUresult funcGetParamInfo(CUfunction function, size_t index,
                                 size_t *offset, size_t *numBytes) {
  CALLED(cuFuncGetParamInfo);
  const std::vector<size_t> &sizes = driver->kernels[nameOf(function)];
  if (index >= sizes.size())
    return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  *numBytes = sizes[index];
  return CUDA_SUCCESS;
}

static CUresult
tensorMapEncode(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                void *address, const cuuint64_t *sizes,
                const cuuint64_t *strides, const cuuint32_t *box,
                const cuuint32_t *elementStrides, CUtensorMapInterleave,
                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                CUtensorMapFloatOOBfill fill) {
  CALLED(cuTensorMapEncodeTiled);
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || elementStrides[0] != 1)
    return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(mutex);
  std::memset(map, 0, sizeof(*map));
  std::memcpy(map, &address, sizeof(address));
  if (driver->records)
    driver->maps.push_back({type,
                            rank,
                            reinterpret_cast<uint64_t>(address),
                            {sizes, sizes + rank},
                            {strides, strides + rank - 1},
                            {box, box + rank},
                            swizzle,
                            promotion,
                            fill});
  return CUDA_SUCCESS;
}

static CUresult memsetD8Async(CUdeviceptr address, unsigned char value,
                              size_t numBytes, CUstream) {
  CALLED(cuMemsetD8Async);
  std::lock_guard<std::mutex> lock(mutex);
  if (driver->records)
    driver->fills.push_back({address, value, numBytes});
  return CUDA_SUCCESS;
}

static CUresult launchKernelEx(const CUlaunchConfig *config,
                               CUfunction function, void **params, void **) {
  CALLED(cuLaunchKernelEx);
  if (contextStack.empty() || contextStack.back() != primary)
    return CUDA_ERROR_INVALID_CONTEXT;
  RecordedLaunch launch;
  launch.kernel = nameOf(function);
  launch.grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
  launch.block = {config->blockDimX, config->blockDimY, config->blockDimZ};
  launch.smemBytes = config->sharedMemBytes;
  launch.stream = config->hStream;
  launch.attributes.assign(config->attrs, config->attrs + config->numAttrs);
  const std::vector<size_t> &sizes = driver->kernels[launch.kernel];
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto *bytes = static_cast<const uint8_t *>(params[i]);
    launch.args.emplace_back(bytes, bytes + sizes[i]);
  }
  std::lock_guard<std::mutex> lock(mutex);
  driver->launches.push_back(std::move(launch));
  return CUDA_SUCCESS;
}

static CUresult occupancyMaxActiveClusters(int *clusters, CUfunction,
                                           const CUlaunchConfig *config) {
  CALLED(cuOccupancyMaxActiveClusters);
  if (config->numAttrs != 1 ||
      config->attrs->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION ||
      config->gridDimX % config->attrs->value.clusterDim.x != 0 ||
      config->blockDimX == 0)
    return CUDA_ERROR_INVALID_VALUE;
  *clusters = driver->activeClusters;
  return CUDA_SUCCESS;
}

FakeDriver::FakeDriver() {
  driver = this;
  kernels = {{"rows", {128, 8, 4, 4, 8, 8}}, {"sums", {8, 8, 8}}};
  api.cuInit = [](unsigned) { return called("cuInit"); };
  api.cuDriverGetVersion = [](int *version) {
    CALLED(cuDriverGetVersion);
    *version = driver->version;
    return CUDA_SUCCESS;
  };
  api.cuGetErrorName = getErrorName;
  api.cuGetErrorString = getErrorString;
  api.cuDeviceGetCount = [](int *count) {
    CALLED(cuDeviceGetCount);
    *count = driver->deviceCount;
    return CUDA_SUCCESS;
  };
  api.cuDeviceGet = [](CUdevice *device, int ordinal) {
    CALLED(cuDeviceGet);
    *device = ordinal;
    return CUDA_SUCCESS;
  };
  api.cuDeviceGetName = [](char *name, int length, CUdevice) {
    CALLED(cuDeviceGetName);
    std::strncpy(name, "Test GPU", static_cast<size_t>(length));
    return CUDA_SUCCESS;
  };
  api.cuDeviceGetAttribute = deviceGetAttribute;
  api.cuDevicePrimaryCtxRetain = [](CUcontext *context, CUdevice) {
    CALLED(cuDevicePrimaryCtxRetain);
    ++driver->contexts;
    *context = primary;
    return CUDA_SUCCESS;
  };
  api.cuDevicePrimaryCtxRelease = [](CUdevice) {
    CALLED(cuDevicePrimaryCtxRelease);
    --driver->contexts;
    return CUDA_SUCCESS;
  };
  api.cuCtxGetCurrent = ctxGetCurrent;
  api.cuCtxPushCurrent = ctxPushCurrent;
  api.cuCtxPopCurrent = ctxPopCurrent;
  api.cuModuleLoadDataEx = moduleLoadDataEx;
  api.cuModuleUnload = moduleUnload;
  api.cuModuleGetFunction = moduleGetFunction;
  api.cuFuncGetAttribute = funcGetAttribute;
  api.cuFuncSetAttribute = funcSetAttribute;
  api.cuFuncLoad = [](CUfunction) { return called("cuFuncLoad"); };
  api.cuFuncGetParamInfo = funcGetParamInfo;
  api.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int *blocks, CUfunction,
                                                       int, size_t) {
    CALLED(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    *blocks = 1;
    return CUDA_SUCCESS;
  };
  api.cuOccupancyMaxActiveClusters = occupancyMaxActiveClusters;
  api.cuTensorMapEncodeTiled = tensorMapEncode;
  api.cuMemsetD8Async = memsetD8Async;
  api.cuLaunchKernelEx = launchKernelEx;
  runtime::DriverApi::setForTesting(&api);
}

FakeDriver::~FakeDriver() {
  runtime::DriverApi::setForTesting(nullptr);
  driver = nullptr;
}

size_t FakeDriver::count(const std::string &call) const {
  return static_cast<size_t>(std::count(calls.begin(), calls.end(), call));
}
