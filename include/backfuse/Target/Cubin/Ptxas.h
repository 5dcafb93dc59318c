//===- Ptxas.h - Assembling PTX with CUDA's ptxas ---------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TARGET_CUBIN_PTXAS_H
#define BACKFUSE_TARGET_CUBIN_PTXAS_H

#include "backfuse/Arch/Target.h"
#include "backfuse/Target/Cubin/KernelBinary.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"
#include <string>

namespace backfuse {

/// A ptxas that was found, asked for its version and is new enough.
struct Ptxas {
  std::string path;
  std::string version; ///< "13.0.88"
};

/// Finds ptxas: `path` if given, else $CUDA_HOME/bin, else PATH. None, one
/// that does not run and one older than CUDA 13.0 are errors that say how to
/// get one.
llvm::Expected<Ptxas> findPtxas(llvm::StringRef path = "");

struct PtxasOptions {
  const arch::Target *target = nullptr;
  Ptxas ptxas;
  /// Where results are kept by the hash of all that they depend on. Empty: no
  /// cache. A cache that cannot be written or is damaged costs time only.
  std::string cacheDir;
  /// The directory for temporary files; empty: one of its own, which is
  /// removed on return.
  std::string temporaryDir;
  /// The PTX has `.loc` directives for the cubin to keep.
  bool lineInfo = false;
  /// Takes kernels that spill registers.
  bool allowSpills = false;
  /// Takes kernels that ptxas says lose performance: C7508, setmaxnreg
  /// ignored; C7510 to C7519, wgmma serialised or waited for.
  bool allowPerformanceLoss = false;
};

/// The cache directory to use when the user names none: $XDG_CACHE_HOME or
/// ~/.cache, then backfuse/ptxas; empty if neither is set.
std::string getDefaultCacheDir();

/// Assembles `ptx`, which holds the kernel `name`. What ptxas refuses, and
/// what the options do not allow, is an error at `location`.
mlir::FailureOr<KernelBinary> assembleWithPtxas(mlir::Location location,
                                                llvm::StringRef name,
                                                llvm::StringRef ptx,
                                                const PtxasOptions &options);

/// The SASS of `binary`, by the nvdisasm beside ptxas or on PATH; nothing if
/// there is none or it fails.
std::optional<std::string> disassemble(const Ptxas &ptxas,
                                       const KernelBinary &binary);

} // namespace backfuse

#endif // BACKFUSE_TARGET_CUBIN_PTXAS_H
