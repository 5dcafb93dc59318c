//===- Compile.cpp - kernel-opt's main job --------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backfuse/Pipelines/Compile.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

using namespace mlir;

int backfuse::kernelOptMain(int argc, char **argv, DialectRegistry &registry) {
  return asMainReturnCode(
      MlirOptMain(argc, argv, "Backfuse's optimiser and compiler\n", registry));
}
