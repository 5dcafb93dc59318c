//===- DeviceContext.h - A device and its primary context -------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_RUNTIME_SRC_DEVICECONTEXT_H
#define BACKFUSE_RUNTIME_SRC_DEVICECONTEXT_H

#include "DriverApi.h"

#include <memory>
#include <string>

namespace backfuse::runtime {

/// A retained primary context and what the runtime asks of its device.
class DeviceContext {
public:
  static Error retain(const DriverApi &api, int ordinal,
                      std::shared_ptr<const DeviceContext> &result);
  ~DeviceContext();
  DeviceContext(const DeviceContext &) = delete;
  DeviceContext &operator=(const DeviceContext &) = delete;

  const DriverApi &api() const { return *driver; }
  CUcontext handle() const { return context; }
  int ordinal() const { return index; }
  int major() const { return capability[0]; }
  int minor() const { return capability[1]; }
  int smCount() const { return multiprocessors; }
  int maxSmemBytes() const { return smemBytes; }
  /// "sm_90 (NVIDIA H200, cuda:0)"
  std::string describe() const;

private:
  DeviceContext() = default;

  const DriverApi *driver = nullptr;
  int index = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  int capability[2] = {0, 0};
  int multiprocessors = 0;
  int smemBytes = 0; // per CTA, with opt-in
  std::string name;
};

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_DEVICECONTEXT_H
