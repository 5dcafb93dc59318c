//===- Module.cpp - Code loaded onto a device -----------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Module.h"

using namespace backfuse::runtime;

Error Module::load(std::shared_ptr<const DeviceContext> context,
                   const bundle::Module &module, const std::string &name,
                   std::shared_ptr<const Module> &result) {
  const DriverApi &api = context->api();
  CurrentContext current(api, context->handle());
  if (Error error = api.check(current.status(), "cuCtxPushCurrent"))
    return error;
  bool isCubin = module.cubin() && module.cubin()->size();
  // A FlatBuffers string ends with a zero, as the driver wants PTX to.
  const void *image = isCubin
                          ? static_cast<const void *>(module.cubin()->data())
                          : module.ptx()->c_str();
  char log[4096] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  CUmodule handle = nullptr;
  CUresult status = api.cuModuleLoadDataEx(&handle, image, 2, options, values);
  if (status != CUDA_SUCCESS) {
    std::string cause = name + ", device is " + context->describe();
    if (log[0])
      cause += std::string("; ") + log;
    return api.check(status, "cuModuleLoadDataEx", cause);
  }
  result.reset(new Module(std::move(context), handle));
  return {};
}

Module::~Module() {
  CurrentContext current(owner->api(), owner->handle());
  if (current.status() == CUDA_SUCCESS)
    owner->api().cuModuleUnload(module);
}
