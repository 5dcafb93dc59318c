//===- Reports.h - Right kernels are silent, mutants reported ---*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_TEST_EMULATOR_REPORTS_H
#define BACKFUSE_TEST_EMULATOR_REPORTS_H

#include "AsyncKernels.h"

#include <cstring>

namespace backfuse::emulator::test {

struct Launch {
  unsigned threads = 32, grid = 1, cluster = 1;
  Order order = Order::InOrder;
  uint64_t seed = 0;
  bool initialised = true; ///< the output buffer
  bool checks = true;
  bool strict = true;
  uint32_t disabledChecks = 0;
  uint64_t stepLimit = 0;
};

inline std::string run(const std::string &body, const Launch &launch) {
  TestKernel kernel;
  kernel.load(kernelText(body, 3, "", moduleText));
  kernel.shape.block = {launch.threads, 1, 1};
  kernel.shape.grid = {launch.grid, 1, 1};
  kernel.shape.cluster = {launch.cluster, 1, 1};
  kernel.options.order = launch.order;
  kernel.options.seed = launch.seed;
  kernel.options.checks = launch.checks;
  kernel.options.strict = launch.strict;
  kernel.options.disabledChecks = launch.disabledChecks;
  kernel.options.stepLimit = launch.stepLimit;
  kernel.options.roles = {"0-0 load", "1-3 multiply"};
  uint64_t from = kernel.upload(std::vector<uint32_t>(256, 7), "in");
  EXPECT_FALSE(kernel.machine.setReadOnly(from, true));
  uint64_t to = kernel.machine.allocate(1024, "out", launch.initialised);
  TensorMapParams map;
  map.type = MapType::UInt32;
  map.rank = 2;
  map.address = from;
  map.sizes[0] = 32, map.sizes[1] = 8;
  map.strides[0] = 128;
  map.box[0] = 32, map.box[1] = 8;
  TensorMapParams outMap = map;
  outMap.address = to;
  std::vector<uint8_t> addresses(128);
  std::memcpy(addresses.data(), &from, 8);
  std::memcpy(addresses.data() + 8, &to, 8);
  return kernel.run({kernel.map(map), kernel.map(outMap), addresses}).text();
}

/// No order gives a report.
inline void expectSilent(const std::string &body, Launch launch = {}) {
  EXPECT_EQ(run(body, launch), "") << body;
  for (uint64_t seed = 0; seed < 4; ++seed)
    for (Order order : {Order::Random, Order::Adversarial}) {
      launch.order = order;
      launch.seed = seed;
      EXPECT_EQ(run(body, launch), "") << body;
    }
}

/// The adversarial order gives this report (or that behind a '|'), whatever the
/// seed.
inline void expectReport(const std::string &body, const std::string &words,
                         Launch launch = {}) {
  size_t bar = words.find('|');
  for (uint64_t seed = 0; seed < 4; ++seed) {
    launch.order = Order::Adversarial;
    launch.seed = seed;
    std::string error = run(body, launch);
    EXPECT_TRUE(error.find(words.substr(0, bar)) != std::string::npos ||
                (bar != std::string::npos &&
                 error.find(words.substr(bar + 1)) != std::string::npos))
        << "expected: " << words << "\n"
        << "for: " << body << "\nseed " << seed << " got: " << error;
    EXPECT_NE(error.find("kernel 'k'"), std::string::npos) << error;
  }
}

inline std::string replaced(std::string text, const std::string &from,
                            const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

inline Launch threads(unsigned count) {
  Launch launch;
  launch.threads = count;
  return launch;
}
inline Launch grid(unsigned count, unsigned cluster = 1) {
  Launch launch;
  launch.grid = count;
  launch.cluster = cluster;
  return launch;
}

} // namespace backfuse::emulator::test

#endif // BACKFUSE_TEST_EMULATOR_REPORTS_H
