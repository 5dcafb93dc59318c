//===- Module.h - Code loaded onto a device ---------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_RUNTIME_SRC_MODULE_H
#define BACKFUSE_RUNTIME_SRC_MODULE_H

#include "DeviceContext.h"
#include "bundle_generated.h"

#include <memory>

namespace backfuse::runtime {

/// A loaded module. Owns it, and a share of its context.
class Module {
public:
  /// Loads the cubin, or the PTX where there is no cubin.
  static Error load(std::shared_ptr<const DeviceContext> context,
                    const bundle::Module &module, const std::string &name,
                    std::shared_ptr<const Module> &result);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  const DeviceContext &context() const { return *owner; }
  CUmodule handle() const { return module; }

private:
  Module(std::shared_ptr<const DeviceContext> owner, CUmodule module)
      : owner(std::move(owner)), module(module) {}

  std::shared_ptr<const DeviceContext> owner;
  CUmodule module;
};

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_MODULE_H
