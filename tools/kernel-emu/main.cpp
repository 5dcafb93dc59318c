//===- main.cpp - Run a kernel's PTX on the CPU ---------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Session.h"

#include <cstdio>

using namespace backfuse::emu;

int main(int argc, char **argv) {
  try {
    Job job;
    if (std::optional<int> status = parseJob(argc, argv, job))
      return *status;
    return runJob(job);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "kernel-emu: %s\n", error.what());
    return 2;
  }
}
