//===- FuzzPtx.cpp - Any text as a PTX module -----------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Loads the input as a module and runs its kernels for a few thousand
// instructions: whatever the text, there is an error or an end.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Emulator.h"

#include <cstddef>

using namespace backfuse::emulator;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Machine machine;
  machine.setMemoryLimit(uint64_t(16) << 20);
  std::unique_ptr<Module> module;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  if (machine.loadPtx(text, module))
    return 0;
  for (const std::string &name : module->kernelNames()) {
    Module::KernelInfo info;
    if (module->kernelInfo(name, info))
      return 0;
    // Pointers lead to a small buffer, wherever a parameter begins with 8
    // bytes.
    uint64_t buffer = machine.allocate(4096, "buffer", false);
    std::vector<std::vector<uint8_t>> arguments;
    uint64_t total = 0;
    for (const Module::Param &param : info.params)
      total += param.bytes;
    if (total > 65536)
      return 0;
    for (const Module::Param &param : info.params) {
      std::vector<uint8_t> bytes(param.bytes, 0);
      for (size_t i = 0; i < 8 && param.bytes >= 8; ++i)
        bytes[i] = static_cast<uint8_t>(buffer >> (8 * i));
      arguments.push_back(std::move(bytes));
    }
    LaunchShape shape;
    shape.block = {64, 1, 1};
    shape.dynamicSmemBytes = 4096;
    for (Order order : {Order::InOrder, Order::Adversarial}) {
      LaunchOptions options;
      options.order = order;
      options.stepLimit = 3000;
      options.memoryLimit = uint64_t(16) << 20;
      Report report;
      (void)static_cast<bool>(
          machine.launch(*module, name, shape, arguments, options, report));
    }
  }
  return 0;
}
