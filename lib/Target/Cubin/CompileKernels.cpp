//===- CompileKernels.cpp - Kernels to binaries, in parallel --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backfuse/Target/Cubin/CompileKernels.h"
#include "backfuse/Support/ChildProcess.h"
#include "backfuse/Support/OutputFile.h"
#include "backfuse/Target/Cubin/TranslateToPtx.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace backfuse;

FailureOr<KernelJob> backfuse::makeKernelJob(ModuleOp module,
                                             const arch::Target &target) {
  FailureOr<Operation *> kernel = getKernel(module);
  if (failed(kernel))
    return failure();
  return KernelJob{
      (*kernel)->getLoc(), SymbolTable::getSymbolName(*kernel).str(), &target,
      [module]() mutable { return OwningOpRef<ModuleOp>(module.clone()); }};
}

/// Writes one file of --dump-dir; a failure is a warning.
static void dump(const KernelJob &job, const CodegenOptions &options,
                 StringRef extension, StringRef bytes) {
  if (options.dumpDir.empty())
    return;
  SmallString<128> file(options.dumpDir);
  llvm::sys::path::append(file,
                          job.name + "." + job.target->name + "." + extension);
  if (llvm::Error error = writeOutput(file, bytes))
    emitWarning(job.location) << llvm::toString(std::move(error));
}

/// Writes the cubin and, where nvdisasm is beside ptxas or on PATH, its SASS.
static void dumpCubin(const KernelJob &job, const CodegenOptions &options,
                      const KernelBinary &binary) {
  if (options.dumpDir.empty())
    return;
  dump(job, options, "ptxas", binary.log);
  dump(job, options, "cubin",
       StringRef(binary.cubin.data(), binary.cubin.size()));
  std::optional<std::string> sass = disassemble(options.ptxas, binary);
  if (sass)
    dump(job, options, "sass", *sass);
}

/// Compiles one kernel; in the child.
static FailureOr<KernelBinary> compileKernel(const KernelJob &job,
                                             const CodegenOptions &options,
                                             StringRef temporaryDir) {
  OwningOpRef<ModuleOp> module = job.lower();
  if (!module)
    return failure();
  PtxOptions ptxOptions;
  ptxOptions.target = job.target;
  ptxOptions.lineInfo = options.lineInfo;
  if (!options.dumpDir.empty())
    ptxOptions.dump = [&](StringRef stage, StringRef text) {
      dump(job, options, stage, text);
    };
  FailureOr<std::string> name = getKernelName(*module);
  if (failed(name))
    return failure();
  FailureOr<std::string> ptx = translateToPtx(*module, ptxOptions);
  if (failed(ptx))
    return failure();
  dump(job, options, "ptx", *ptx);
  if (!options.assemble) {
    KernelBinary binary;
    binary.name = *name;
    binary.ptx = *ptx;
    return binary;
  }

  PtxasOptions ptxasOptions;
  ptxasOptions.target = job.target;
  ptxasOptions.ptxas = options.ptxas;
  ptxasOptions.cacheDir = options.cacheDir;
  ptxasOptions.temporaryDir = temporaryDir.str();
  ptxasOptions.lineInfo = options.lineInfo;
  ptxasOptions.allowSpills = options.allowSpills;
  ptxasOptions.allowPerformanceLoss = options.allowPerformanceLoss;
  FailureOr<KernelBinary> binary =
      assembleWithPtxas(job.location, *name, *ptx, ptxasOptions);
  if (failed(binary))
    return failure();
  dumpCubin(job, options, *binary);
  return binary;
}

LogicalResult
backfuse::compileKernels(ArrayRef<KernelJob> kernels,
                         const CodegenOptions &options,
                         SmallVectorImpl<KernelBinary> &binaries) {
  SmallVector<ChildTask> tasks;
  for (const KernelJob &job : kernels)
    tasks.push_back({job.location,
                     ("generating code of kernel '" + job.name + "' for " +
                      job.target->name)
                         .str(),
                     [&](StringRef temporaryDir) -> FailureOr<std::string> {
                       FailureOr<KernelBinary> binary =
                           compileKernel(job, options, temporaryDir);
                       if (failed(binary))
                         return failure();
                       return serialize(*binary);
                     }});
  SmallVector<std::string> results;
  if (failed(runInChildren(tasks, options.jobs, results)))
    return failure();
  for (auto [job, bytes] : llvm::zip_equal(kernels, results)) {
    std::optional<KernelBinary> binary = deserializeKernelBinary(bytes);
    if (!binary)
      return emitError(job.location)
             << "the child process that compiled kernel '" << job.name
             << "' sent damaged bytes";
    binaries.push_back(std::move(*binary));
  }
  return success();
}
