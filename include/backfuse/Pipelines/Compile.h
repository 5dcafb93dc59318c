//===- Compile.h - kernel-opt's main job ------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_PIPELINES_COMPILE_H
#define BACKFUSE_PIPELINES_COMPILE_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace backfuse {

/// Runs kernel-opt: the optimiser, or with --emit the compiler. Returns the
/// exit status.
int kernelOptMain(int argc, char **argv, mlir::DialectRegistry &registry);

} // namespace backfuse

#endif // BACKFUSE_PIPELINES_COMPILE_H
