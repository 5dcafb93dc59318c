//===- Passes.h - Passes on graphs and fused launches -----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TRANSFORMS_PASSES_H
#define BACKFUSE_TRANSFORMS_PASSES_H

#include "dialects/Mlp/IR/MlpOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace backfuse {

#define GEN_PASS_DECL
#include "backfuse/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "backfuse/Transforms/Passes.h.inc"

} // namespace backfuse

#endif // BACKFUSE_TRANSFORMS_PASSES_H
