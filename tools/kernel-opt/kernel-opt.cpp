//===- kernel-opt.cpp - Backfuse's optimiser and compiler -----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backfuse/Pipelines/Compile.h"
#include "backfuse/Pipelines/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#ifdef BACKFUSE_TEST_PASSES
namespace backfuse::test {
void registerTestPasses();
} // namespace backfuse::test
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  backfuse::registerDialects(registry);
  backfuse::registerPasses();
#ifdef BACKFUSE_TEST_PASSES
  backfuse::test::registerTestPasses();
#endif
  return backfuse::kernelOptMain(argc, argv, registry);
}
