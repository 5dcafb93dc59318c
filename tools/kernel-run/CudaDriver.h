//===- CudaDriver.h - The CUDA driver for tensors and times -----*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an application does itself: memory, streams, events. Bundles are loaded
// and launched by the runtime.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_KERNELRUN_CUDADRIVER_H
#define BACKFUSE_KERNELRUN_CUDADRIVER_H

#include "Failure.h"

#include <cstddef>
#include <cuda.h>
#include <utility>

namespace backfuse::run {

// clang-format off
#define KERNELRUN_DRIVER_FUNCTIONS(X)                                          \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName)                            \
  X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) \
  X(cuDeviceTotalMem)                                                          \
  X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent)  \
  X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo)                                   \
  X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyDtoDAsync) X(cuMemsetD8Async)      \
  X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize)                  \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery)          \
  X(cuEventElapsedTime)                                                        \
  X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuLaunchKernel)
// clang-format on

struct CudaDriver {
#define KERNELRUN_MEMBER(name) decltype(&::name) name = nullptr;
  KERNELRUN_DRIVER_FUNCTIONS(KERNELRUN_MEMBER)
#undef KERNELRUN_MEMBER

  /// Opened at the first call; a Failure if there is no driver.
  static const CudaDriver &get();

  /// Throws a Failure that names the call unless `result` is success.
  void check(CUresult result, const char *call) const;
};

/// Checks a call of the driver: CU(driver, cuMemAlloc, &p, bytes).
#define CU(driver, call, ...) (driver).check((driver).call(__VA_ARGS__), #call)

/// Bytes of device memory.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(const CudaDriver &driver, size_t numBytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory &&other) noexcept { *this = std::move(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(driver, other.driver);
    std::swap(pointer, other.pointer);
    std::swap(numBytes, other.numBytes);
    return *this;
  }

  CUdeviceptr address() const { return pointer; }
  void *data() const { return reinterpret_cast<void *>(pointer); }
  size_t size() const { return numBytes; }

private:
  const CudaDriver *driver = nullptr;
  CUdeviceptr pointer = 0;
  size_t numBytes = 0;
};

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_CUDADRIVER_H
