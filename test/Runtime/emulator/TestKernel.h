//===- TestKernel.h - Run small PTX kernels in tests ------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_TEST_EMULATOR_TESTKERNEL_H
#define BACKFUSE_TEST_EMULATOR_TESTKERNEL_H

#include "runtime/emulator/Emulator.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace backfuse::emulator::test {

/// A module with one kernel `k` of 64-bit parameters p0, p1, ... whose body has
/// registers %r, %rd, %f, %h, %p of all the usual kinds.
inline std::string kernelText(const std::string &body, unsigned numParams,
                              const std::string &directives = "",
                              const std::string &moduleText = "") {
  std::string text = ".version 8.8\n.target sm_90a\n.address_size 64\n" +
                     moduleText + "\n.visible .entry k(";
  for (unsigned i = 0; i < numParams; ++i)
    text += std::string(i ? ", " : "") + ".param .align 64 .b8 p" +
            std::to_string(i) + "[128]";
  text += ")\n" + directives +
          "\n{\n.reg .pred %p<16>;\n.reg .b16 %h<32>;\n.reg .b32 %r<64>;\n.reg "
          ".b64 %rd<64>;\n.reg .f32 %f<64>;\n.reg .f64 %fd<16>;\n";
  return text + body + "\n}\n";
}

/// A machine with one loaded kernel. Each parameter is a block of 128 bytes: a
/// tensor map, or a number in the first 8.
class TestKernel {
public:
  Machine machine;
  std::unique_ptr<Module> module;
  LaunchShape shape;
  LaunchOptions options;
  Report report;

  void load(const std::string &text) {
    Error error = machine.loadPtx(text, module);
    ASSERT_FALSE(error) << error.text();
  }
  template <class T>
  uint64_t upload(const std::vector<T> &values,
                  const std::string &name = "input") {
    uint64_t address = machine.allocate(values.size() * sizeof(T), name);
    EXPECT_FALSE(
        machine.write(address, values.data(), values.size() * sizeof(T)));
    return address;
  }
  template <class T> std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> values(count);
    EXPECT_FALSE(machine.read(address, values.data(), count * sizeof(T)));
    return values;
  }
  static std::vector<uint8_t> number(uint64_t value) {
    std::vector<uint8_t> bytes = argument(value);
    bytes.resize(128);
    return bytes;
  }
  static std::vector<uint8_t> map(const TensorMapParams &params) {
    uint8_t bytes[128];
    Error error = encodeTiled(params, bytes);
    EXPECT_FALSE(error) << error.text();
    return std::vector<uint8_t>(bytes, bytes + 128);
  }
  Error run(const std::vector<std::vector<uint8_t>> &args) {
    return machine.launch(*module, "k", shape, args, options, report);
  }
  void runOk(const std::vector<std::vector<uint8_t>> &args) {
    Error error = run(args);
    ASSERT_FALSE(error) << error.text();
  }
};

} // namespace backfuse::emulator::test

#endif // BACKFUSE_TEST_EMULATOR_TESTKERNEL_H
