//===- LineInfo.cpp - Line information for kernels ------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LineInfo.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"

std::unique_ptr<mlir::Pass> backfuse::createLineInfoPass() {
  mlir::LLVM::DIScopeForLLVMFuncOpPassOptions options;
  options.emissionKind = mlir::LLVM::DIEmissionKind::DebugDirectivesOnly;
  return mlir::LLVM::createDIScopeForLLVMFuncOpPass(options);
}
