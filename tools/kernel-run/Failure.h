//===- Failure.h - What ends a run with a message ---------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_KERNELRUN_FAILURE_H
#define BACKFUSE_KERNELRUN_FAILURE_H

#include <stdexcept>
#include <string>

namespace backfuse::run {

/// Something went wrong while running: exit status 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The command line does not fit the bundle or itself: exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A case cannot be run as asked, which says nothing about the code: it is
/// skipped, and the exit status is 2.
struct Impossible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws a Failure if `error` is not empty (empty means success).
inline void require(const std::string &error) {
  if (!error.empty())
    throw Failure(error);
}

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_FAILURE_H
