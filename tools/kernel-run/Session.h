//===- Session.h - One run of kernel-run ------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_KERNELRUN_SESSION_H
#define BACKFUSE_KERNELRUN_SESSION_H

#include "Options.h"

namespace backfuse::run {

/// Does what the options say; returns the exit status. Throws a UsageError for
/// what does not fit the bundle, a Failure for what ends everything.
int runSession(const Options &options);

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_SESSION_H
