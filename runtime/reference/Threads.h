//===- Threads.h - Independent pieces of work on several threads *- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_REFERENCE_THREADS_H
#define BACKFUSE_REFERENCE_THREADS_H

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace backfuse::reference {

/// The threads that `requested` (0: all cores) stands for.
inline int threadCount(int requested) {
  if (requested > 0)
    return requested;
  unsigned cores = std::thread::hardware_concurrency();
  return cores ? int(cores) : 1;
}

/// Calls body(i) for each i in [0, count). Which thread takes which piece is
/// left open, so pieces must not depend on each other; results are then the
/// same for any number of threads.
template <typename Body>
void parallelFor(int64_t count, int threads, const Body &body) {
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t i; (i = next.fetch_add(1)) < count;)
      body(i);
  };
  std::vector<std::thread> helpers;
  for (int64_t t = 1; t < threadCount(threads) && t < count; ++t)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
}

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_THREADS_H
