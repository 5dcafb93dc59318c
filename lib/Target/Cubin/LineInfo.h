//===- LineInfo.h - Line information for kernels ----------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_LIB_TARGET_CUBIN_LINEINFO_H
#define BACKFUSE_LIB_TARGET_CUBIN_LINEINFO_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace backfuse {

/// A pass that makes MLIR's locations into debug directives (`.loc`) without
/// any other debug information. In a file of its own, since only it needs the
/// header of the LLVM dialect.
std::unique_ptr<mlir::Pass> createLineInfoPass();

} // namespace backfuse

#endif // BACKFUSE_LIB_TARGET_CUBIN_LINEINFO_H
