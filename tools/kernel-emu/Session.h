//===- Session.h - Runs a job ----------------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_KERNELEMU_SESSION_H
#define BACKFUSE_KERNELEMU_SESSION_H

#include "Job.h"

namespace backfuse::emu {

/// Runs the job in each of its orders; the exit status.
int runJob(Job &job);

} // namespace backfuse::emu

#endif // BACKFUSE_KERNELEMU_SESSION_H
