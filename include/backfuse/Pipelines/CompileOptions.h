//===- CompileOptions.h - What the compiler is asked for --------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_PIPELINES_COMPILEOPTIONS_H
#define BACKFUSE_PIPELINES_COMPILEOPTIONS_H

#include "backfuse/Arch/Target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace backfuse {

/// The forms of output that --emit names.
enum class EmitKind {
  Mlir, ///< the module after the passes, or after --stop-after
  Plan, ///< kernels, bytes, operations, predicted times
  Llvm, ///< LLVM IR before optimisation
  Ptx,
  Cubin,
  Bundle,       ///< what kernel-run and the runtime load
  Header,       ///< a C++ header for one bundle
  Object,       ///< a linkable object with the bundle in it
  SolExecbench, ///< a submission to the public benchmark
};

/// How products of f32 operands are computed, where a graph leaves it open or
/// --matmul-precision overrides it.
enum class MatmulPrecision { Ieee, Tf32, Bf16x3, Fp16, Bf16 };

/// The name of `kind` as --emit has it.
llvm::StringRef stringifyEmitKind(EmitKind kind);

/// Whether the output of `kind` is not text.
bool isBinary(EmitKind kind);

/// The name of `precision` as the graph's attribute has it.
llvm::StringRef stringifyMatmulPrecision(MatmulPrecision precision);

struct CompileOptions {
  /// Whether the plan is to be predicted.
  bool predicts() const {
    return !dims.empty() || !params.empty() || !casesFile.empty();
  }

  EmitKind emit = EmitKind::Mlir;
  llvm::SmallVector<const arch::Target *> targets;
  /// The argument of the pass to stop after, with ",N" for its N-th run.
  std::string stopAfter;
  std::optional<MatmulPrecision> matmulPrecision;
  /// A file of schedules that take precedence over the cost model.
  std::string tuningFile;
  /// What a plan is predicted for: NAME=VALUE each, or a file of cases.
  std::vector<std::string> dims, params;
  std::string casesFile;
  /// Where every stage is written; empty: nowhere.
  std::string dumpDir;
  /// Says what fused where, what did not and why.
  bool why = false;
  std::string ptxasPath;
  /// ptxas results; empty: no cache.
  std::string cacheDir;
  /// Leaves the PTX out of the bundle, which the emulator then cannot run.
  bool stripPtx = false;
  /// Gives PTX and cubins the source's lines.
  bool lineInfo = false;
  bool allowSpills = false;
  bool allowPerformanceLoss = false;
  /// Processes at a time; 0: one for each core.
  unsigned jobs = 0;
};

/// Registers the compiler's flags with LLVM's command line.
void registerCompileOptions();

/// Whether the command line asks for the compiler (--emit).
bool isCompileRequested();

/// The flags as options; an error if a value is not one of those there are, or
/// a flag is given that means nothing without --emit.
llvm::Expected<CompileOptions> getCompileOptions();

} // namespace backfuse

#endif // BACKFUSE_PIPELINES_COMPILEOPTIONS_H
