//===- Registration.h - Dialects and passes of kernel-opt -------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_PIPELINES_REGISTRATION_H
#define BACKFUSE_PIPELINES_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace backfuse {

/// Registers the dialects that kernel-opt reads and prints, with what turns
/// them into LLVM IR.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers our passes and pipelines, and the upstream passes that our pipelines
/// are made of or are useful beside them.
void registerPasses();

} // namespace backfuse

#endif // BACKFUSE_PIPELINES_REGISTRATION_H
