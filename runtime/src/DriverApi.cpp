//===- DriverApi.cpp - The CUDA driver, opened at run time ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DriverApi.h"

#include <atomic>
#include <dlfcn.h>
#include <mutex>

using namespace backfuse::runtime;

// The name that the symbol has in the library: cuda.h defines cuCtxPushCurrent
// as cuCtxPushCurrent_v2 and the like.
#define BACKFUSE_STRING(name) #name
#define BACKFUSE_SYMBOL(name) BACKFUSE_STRING(name)

static const char installDriver[] =
    "install an NVIDIA driver for CUDA 12.4 or newer, or run on a machine that "
    "has one";

Error DriverApi::open(const char *library, DriverApi &api) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    return makeError(BF_ERROR_NO_DRIVER, "no CUDA driver: %s; %s",
                     why ? why : library, installDriver);
  }
  // The handle stays open: functions of the driver may run at exit.
#define BACKFUSE_LOAD(name)                                                    \
  api.name = reinterpret_cast<decltype(api.name)>(                             \
      dlsym(handle, BACKFUSE_SYMBOL(name)));
#define BACKFUSE_REQUIRE(name)                                                 \
  BACKFUSE_LOAD(name)                                                          \
  if (!api.name)                                                               \
    return makeError(BF_ERROR_NO_DRIVER,                                       \
                     "the CUDA driver %s has no %s: it is too old; %s",        \
                     library, BACKFUSE_SYMBOL(name), installDriver);
  BACKFUSE_DRIVER_FUNCTIONS(BACKFUSE_REQUIRE)
  BACKFUSE_OPTIONAL_DRIVER_FUNCTIONS(BACKFUSE_LOAD)
#undef BACKFUSE_REQUIRE
#undef BACKFUSE_LOAD
  return {};
}

static std::atomic<const DriverApi *> testApi{nullptr};

void DriverApi::setForTesting(const DriverApi *api) { testApi = api; }

Error DriverApi::get(const DriverApi *&api) {
  if (const DriverApi *fake = testApi.load()) {
    api = fake;
    return {};
  }
  static std::mutex mutex;
  static DriverApi opened;
  static bool ready = false;
  std::lock_guard<std::mutex> lock(mutex);
  if (!ready) {
    if (Error error = open("libcuda.so.1", opened))
      return error;
    CUresult result = opened.cuInit(0);
    if (result == CUDA_ERROR_NO_DEVICE)
      return makeError(BF_ERROR_NO_DRIVER,
                       "no CUDA device: cuInit says CUDA_ERROR_NO_DEVICE");
    if (Error error = opened.check(result, "cuInit"))
      return error;
    ready = true;
  }
  api = &opened;
  return {};
}

Error DriverApi::check(CUresult result, const char *call,
                       const std::string &cause) const {
  if (result == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *meaning = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &meaning);
  return makeError(BF_ERROR_CUDA, "%s failed: %s (%s)%s%s", call,
                   name ? name : "unknown error", meaning ? meaning : "?",
                   cause.empty() ? "" : ": ", cause.c_str());
}

CurrentContext::CurrentContext(const DriverApi &api, CUcontext context)
    : api(api) {
  CUcontext current = nullptr;
  result = api.cuCtxGetCurrent(&current);
  if (result != CUDA_SUCCESS || current == context)
    return;
  result = api.cuCtxPushCurrent(context);
  pushed = result == CUDA_SUCCESS;
}

CurrentContext::~CurrentContext() {
  CUcontext popped;
  if (pushed)
    api.cuCtxPopCurrent(&popped);
}
