//===- make-test-bundle.cpp - Write a hand-made bundle to a file ----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestBundle.h"

#include <cstdio>
#include <cstring>
#include <fstream>

using namespace backfuse::test;

int main(int argc, char **argv) {
  bool logs = argc == 3 && std::strcmp(argv[2], "logs") == 0;
  if (argc != 2 && !logs) {
    std::fprintf(stderr, "usage: make-test-bundle FILE [logs]\n");
    return 2;
  }
  std::vector<uint8_t> bytes = pack(logs ? makeLogsBundle() : makeRowsBundle());
  std::ofstream file(argv[1], std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file)
    return 0;
  std::fprintf(stderr, "make-test-bundle: %s cannot be written\n", argv[1]);
  return 1;
}
