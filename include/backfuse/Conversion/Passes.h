//===- Passes.h - Conversion passes -----------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_CONVERSION_PASSES_H
#define BACKFUSE_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace backfuse {
#define GEN_PASS_DECL
#include "backfuse/Conversion/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "backfuse/Conversion/Passes.h.inc"
} // namespace backfuse

#endif // BACKFUSE_CONVERSION_PASSES_H
