//===- TranslateToPtx.h - From the LLVM dialect to PTX ----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TARGET_CUBIN_TRANSLATETOPTX_H
#define BACKFUSE_TARGET_CUBIN_TRANSLATETOPTX_H

#include "backfuse/Arch/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <string>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace backfuse {

struct PtxOptions {
  const arch::Target *target = nullptr;
  /// Gives each instruction the place of its op in the source (`.loc`). The
  /// instructions are the same with and without.
  bool lineInfo = false;
  /// Sees the LLVM module's text before ("ll") and after ("opt.ll")
  /// optimisation; for --dump-dir.
  std::function<void(llvm::StringRef stage, llvm::StringRef text)> dump;
};

/// Registers what translateToPtx needs to know about the LLVM and NVVM
/// dialects; must have happened before the module is parsed or made.
void registerPtxTranslations(mlir::DialectRegistry &registry);

/// Returns the one kernel (`llvm.func` with `nvvm.kernel`) of `module`; none
/// and several are errors.
mlir::FailureOr<mlir::Operation *> getKernel(mlir::ModuleOp module);

/// The name of what getKernel returns.
mlir::FailureOr<std::string> getKernelName(mlir::ModuleOp module);

/// Translates a module of the LLVM and NVVM dialects to LLVM IR text, before
/// optimisation. `module` is not changed.
mlir::FailureOr<std::string> translateToLlvmIr(mlir::ModuleOp module,
                                               const PtxOptions &options);

/// Translates a module of the LLVM and NVVM dialects that holds one kernel to
/// PTX: O2, no fused multiply-add that the module does not spell, no external
/// function. What is wrong is an error at its place, except that LLVM may call
/// its fatal error handler: compileKernels is safe from that. `module` is
/// not changed.
mlir::FailureOr<std::string> translateToPtx(mlir::ModuleOp module,
                                            const PtxOptions &options);

} // namespace backfuse

#endif // BACKFUSE_TARGET_CUBIN_TRANSLATETOPTX_H
