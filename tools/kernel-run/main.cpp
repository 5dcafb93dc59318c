//===- main.cpp - Run, check and time a bundle ----------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Session.h"

#include <cstdio>

using namespace backfuse::run;

int main(int argc, char **argv) {
  Options options;
  if (std::optional<int> status = parseOptions(argc, argv, options))
    return *status;
  try {
    return runSession(options);
  } catch (const UsageError &error) {
    std::fprintf(stderr, "kernel-run: %s\n", error.what());
    return 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "kernel-run: %s\n", error.what());
    return 1;
  }
}
