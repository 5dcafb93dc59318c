//===- DriverApi.h - The CUDA driver, opened at run time --------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One list of functions yields the table's members, their loading and the names
// in error texts. Nothing of CUDA is linked; tests pass a table of their own.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_SRC_DRIVERAPI_H
#define BACKFUSE_RUNTIME_SRC_DRIVERAPI_H

#include "Error.h"

#include <cuda.h>

#if CUDA_VERSION < 12080
#error "Backfuse needs the cuda.h of CUDA 12.8 or newer"
#endif

// clang-format off
#define BACKFUSE_DRIVER_FUNCTIONS(X)                                           \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)        \
  X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName)                        \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease)                     \
  X(cuCtxGetCurrent) X(cuCtxPushCurrent) X(cuCtxPopCurrent)                    \
  X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction)               \
  X(cuFuncGetAttribute) X(cuFuncSetAttribute)                                  \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                               \
  X(cuOccupancyMaxActiveClusters)                                              \
  X(cuTensorMapEncodeTiled) X(cuMemsetD8Async) X(cuLaunchKernelEx)

/// Functions of drivers 12.4 and newer; null in an older one.
#define BACKFUSE_OPTIONAL_DRIVER_FUNCTIONS(X) X(cuFuncLoad) X(cuFuncGetParamInfo)
// clang-format on

namespace backfuse::runtime {

struct DriverApi {
#define BACKFUSE_MEMBER(name) decltype(&::name) name = nullptr;
  BACKFUSE_DRIVER_FUNCTIONS(BACKFUSE_MEMBER)
  BACKFUSE_OPTIONAL_DRIVER_FUNCTIONS(BACKFUSE_MEMBER)
#undef BACKFUSE_MEMBER

  /// Opens `library` and finds every function.
  static Error open(const char *library, DriverApi &api);

  /// The process's driver: libcuda.so.1, opened and initialised at the first
  /// call, or what setForTesting has put there.
  static Error get(const DriverApi *&api);
  static void setForTesting(const DriverApi *api);

  /// Success if `result` is; else an error that names the call, the CUDA error
  /// and, unless empty, the likely cause.
  Error check(CUresult result, const char *call,
              const std::string &cause = {}) const;
};

/// Makes a context current for a scope, if it is not already.
class CurrentContext {
public:
  CurrentContext(const DriverApi &api, CUcontext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;
  CUresult status() const { return result; }

private:
  const DriverApi &api;
  CUresult result = CUDA_SUCCESS;
  bool pushed = false;
};

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_DRIVERAPI_H
