//===- CudaDriver.cpp - The CUDA driver for tensors and times -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CudaDriver.h"

#include <dlfcn.h>

using namespace backfuse::run;

// Symbols carry the version that cuda.h gives them: cuMemAlloc_v2.
#define KERNELRUN_STRING(name) #name
#define KERNELRUN_SYMBOL(name) KERNELRUN_STRING(name)

static CudaDriver open() {
  CudaDriver driver;
  void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw Failure("no CUDA driver: libcuda.so.1 cannot be opened");
#define KERNELRUN_LOAD(name)                                                   \
  driver.name = reinterpret_cast<decltype(driver.name)>(                       \
      dlsym(handle, KERNELRUN_SYMBOL(name)));                                  \
  if (!driver.name)                                                            \
    throw Failure("the CUDA driver has no " KERNELRUN_SYMBOL(name));
  KERNELRUN_DRIVER_FUNCTIONS(KERNELRUN_LOAD)
#undef KERNELRUN_LOAD
  CU(driver, cuInit, 0);
  return driver;
}

const CudaDriver &CudaDriver::get() {
  static const CudaDriver driver = open();
  return driver;
}

void CudaDriver::check(CUresult result, const char *call) const {
  if (result == CUDA_SUCCESS)
    return;
  const char *name = nullptr;
  cuGetErrorName(result, &name);
  throw Failure(std::string(call) + " failed: " +
                (name ? name : "unknown error " + std::to_string(result)));
}

DeviceMemory::DeviceMemory(const CudaDriver &driver, size_t numBytes)
    : driver(&driver), numBytes(numBytes) {
  CUresult result = driver.cuMemAlloc(&pointer, numBytes ? numBytes : 1);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    size_t free = 0, total = 0;
    driver.cuMemGetInfo(&free, &total);
    throw Failure("device memory is exhausted: " + std::to_string(numBytes) +
                  " bytes wanted, " + std::to_string(free) + " of " +
                  std::to_string(total) + " free");
  }
  driver.check(result, "cuMemAlloc");
}

DeviceMemory::~DeviceMemory() {
  if (pointer)
    driver->cuMemFree(pointer);
}
