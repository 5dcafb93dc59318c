//===- RunPipeline.h - Running passes as the flags have it ------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_PIPELINES_RUNPIPELINE_H
#define BACKFUSE_PIPELINES_RUNPIPELINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace backfuse {
struct CompileOptions;

/// Runs the passes that `build` adds on `module`: up to --stop-after, with the
/// IR after each in --dump-dir, and with MLIR's own flags for pass managers.
mlir::LogicalResult
runPipeline(mlir::ModuleOp module,
            llvm::function_ref<void(mlir::OpPassManager &)> build,
            const CompileOptions &options);

/// Returns the textual pass pipeline `pipeline` up to and with the pass that
/// `stopAfter` names: "cse" is its first run, "cse,2" its second. If it does
/// not run so often, the error lists the passes that do.
llvm::Expected<std::string> truncatePipeline(llvm::StringRef pipeline,
                                             llvm::StringRef stopAfter);

} // namespace backfuse

#endif // BACKFUSE_PIPELINES_RUNPIPELINE_H
