//===- TestPasses.cpp - Registration of the test-only passes --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

namespace backfuse::test {
void registerTestMlpGraphExportPass();

/// What kernel-opt calls where it is built with tests.
void registerTestPasses();
} // namespace backfuse::test

void backfuse::test::registerTestPasses() { registerTestMlpGraphExportPass(); }
