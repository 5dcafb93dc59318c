//===- DeviceContext.cpp - A device and its primary context ---------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DeviceContext.h"

using namespace backfuse::runtime;

Error DeviceContext::retain(const DriverApi &api, int ordinal,
                            std::shared_ptr<const DeviceContext> &result) {
  int count = 0;
  if (Error error = api.check(api.cuDeviceGetCount(&count), "cuDeviceGetCount"))
    return error;
  if (ordinal < 0 || ordinal >= count)
    return makeError(BF_ERROR_ARGUMENT, "no device cuda:%d: there are %d",
                     ordinal, count);
  std::shared_ptr<DeviceContext> made(new DeviceContext);
  made->driver = &api;
  made->index = ordinal;
  if (Error error =
          api.check(api.cuDeviceGet(&made->device, ordinal), "cuDeviceGet"))
    return error;
  char name[256] = {};
  if (Error error =
          api.check(api.cuDeviceGetName(name, sizeof(name) - 1, made->device),
                    "cuDeviceGetName"))
    return error;
  made->name = name;
  struct {
    int *value;
    CUdevice_attribute attribute;
  } const attributes[] = {
      {&made->capability[0], CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&made->capability[1], CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {&made->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {&made->smemBytes,
       CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN}};
  for (const auto &entry : attributes)
    if (Error error = api.check(api.cuDeviceGetAttribute(
                                    entry.value, entry.attribute, made->device),
                                "cuDeviceGetAttribute"))
      return error;
  if (Error error =
          api.check(api.cuDevicePrimaryCtxRetain(&made->context, made->device),
                    "cuDevicePrimaryCtxRetain")) {
    made->context = nullptr;
    return error;
  }
  result = std::move(made);
  return {};
}

DeviceContext::~DeviceContext() {
  if (context)
    driver->cuDevicePrimaryCtxRelease(device);
}

std::string DeviceContext::describe() const {
  return formatText("sm_%d%d (%s, cuda:%d)", capability[0], capability[1],
                    name.c_str(), index);
}
