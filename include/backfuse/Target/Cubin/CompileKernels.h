//===- CompileKernels.h - Kernels to binaries, in parallel ------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TARGET_CUBIN_COMPILEKERNELS_H
#define BACKFUSE_TARGET_CUBIN_COMPILEKERNELS_H

#include "backfuse/Arch/Target.h"
#include "backfuse/Target/Cubin/KernelBinary.h"
#include "backfuse/Target/Cubin/Ptxas.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>

namespace backfuse {

/// A kernel to be compiled for one target.
struct KernelJob {
  /// The place to report what is wrong with the kernel as a whole.
  mlir::Location location;
  /// For messages and dumped files.
  std::string name;
  const arch::Target *target = nullptr;
  /// Returns the module of the LLVM and NVVM dialects that holds the kernel;
  /// null after an error. Runs in the child process, so that lowering can be
  /// part of the work that is done in parallel: it may change IR as it likes.
  std::function<mlir::OwningOpRef<mlir::ModuleOp>()> lower;
};

/// A job for the one kernel of `module`, which is in the LLVM and NVVM
/// dialects already; none and several kernels are errors.
mlir::FailureOr<KernelJob> makeKernelJob(mlir::ModuleOp module,
                                         const arch::Target &target);

struct CodegenOptions {
  /// Assembles the PTX; without it the binaries hold PTX only.
  bool assemble = true;
  /// Needed to assemble.
  Ptxas ptxas;
  /// How many processes at a time; 0: one for each core.
  unsigned jobs = 0;
  bool lineInfo = false;
  bool allowSpills = false;
  bool allowPerformanceLoss = false;
  /// See PtxasOptions.
  std::string cacheDir;
  /// If not empty, an existing directory for each kernel's LLVM IR, PTX, cubin
  /// and what ptxas said: NAME.TARGET.{ll,opt.ll,ptx,cubin,ptxas},
  /// and .sass where CUDA's nvdisasm is beside ptxas or on PATH.
  std::string dumpDir;
};

/// Compiles each kernel in a child process; see runInChildren. On success
/// `binaries` holds one binary for each job, in order.
mlir::LogicalResult
compileKernels(mlir::ArrayRef<KernelJob> kernels, const CodegenOptions &options,
               mlir::SmallVectorImpl<KernelBinary> &binaries);

} // namespace backfuse

#endif // BACKFUSE_TARGET_CUBIN_COMPILEKERNELS_H
