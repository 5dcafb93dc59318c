//===- FakeDriver.h - A table of driver functions that record ---*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TEST_RUNTIME_FAKEDRIVER_H
#define BACKFUSE_TEST_RUNTIME_FAKEDRIVER_H

#include "runtime/src/DriverApi.h"

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace backfuse::test {

struct RecordedMap {
  CUtensorMapDataType type;
  cuuint32_t rank;
  uint64_t address;
  std::vector<uint64_t> sizes, strides;
  std::vector<uint32_t> box;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

struct RecordedLaunch {
  std::string kernel;
  std::array<unsigned, 3> grid, block;
  unsigned smemBytes;
  CUstream stream;
  std::vector<CUlaunchAttribute> attributes;
  /// The bytes of each argument, as many as the kernel was said to take.
  std::vector<std::vector<uint8_t>> args;
};

/// What the driver of a test is, does and saw. One exists at a time; while it
/// does, the runtime uses it.
class FakeDriver {
public:
  FakeDriver();
  ~FakeDriver();

  // What it is.
  int major = 9, minor = 0, version = 13000, deviceCount = 1;
  /// Sizes of each kernel's parameters; a kernel that is not there does not
  /// exist in any module.
  std::map<std::string, std::vector<size_t>> kernels;
  std::map<std::string, int> functionAttributes; // set by the runtime
  int activeClusters = 8; // that it holds at once, of any kernel
  /// Calls that fail, with their result.
  std::map<std::string, CUresult> failures;

  // What it saw.
  std::vector<std::string> calls; // names, in order
  std::vector<RecordedMap> maps;
  std::vector<RecordedLaunch> launches;
  struct Fill {
    CUdeviceptr address;
    unsigned char value;
    size_t numBytes;
  };
  std::vector<Fill> fills;
  int modules = 0, contexts = 0, contextDepth = 0; // alive
  bool records = true; // off where many threads launch
  runtime::DriverApi api;

  /// How often a function was called.
  size_t count(const std::string &call) const;
};

} // namespace backfuse::test

#endif // BACKFUSE_TEST_RUNTIME_FAKEDRIVER_H
