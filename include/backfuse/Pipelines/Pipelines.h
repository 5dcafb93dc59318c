//===- Pipelines.h - The order of passes ------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only place where pass order is written down.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_PIPELINES_PIPELINES_H
#define BACKFUSE_PIPELINES_PIPELINES_H

#include "llvm/ADT/StringRef.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace backfuse {
namespace arch {
struct Target;
} // namespace arch

/// Graphs to primitives, with each product numbered for the plan.
void buildExpandPipeline(mlir::OpPassManager &pm);

/// Expanded graphs to launches: one variant per value of the bool parameters,
/// before fusion, so that no variant loads what only another needs.
void buildFusePipeline(mlir::OpPassManager &pm);

/// Graphs to launches with schedules for `target`, as buildTilePipeline makes
/// them on its way: what the cost model predicts.
void buildSchedulePipeline(mlir::OpPassManager &pm, const arch::Target &target,
                           llvm::StringRef tuningFile = {},
                           llvm::StringRef precision = {});

/// Launches to tile kernels for `target`, `precision` overriding what f32 products
/// ask for, a tuning file the cost model; elementary functions last, since the
/// cost model counts them as one.
void buildTilePipeline(mlir::OpPassManager &pm, const arch::Target &target,
                       llvm::StringRef tuningFile = {},
                       llvm::StringRef precision = {});

/// Tile kernels to kernels of the machine level.
void buildMachinePipeline(mlir::OpPassManager &pm, const arch::Target &target);

/// Kernels of the machine level to the LLVM and NVVM dialects alone.
void buildLlvmPipeline(mlir::OpPassManager &pm);

/// All of them.
void buildCompilePipeline(mlir::OpPassManager &pm, const arch::Target &target,
                          llvm::StringRef tuningFile = {},
                       llvm::StringRef precision = {});

/// Registers them by name: backfuse-compile and its phases.
void registerPipelines();

} // namespace backfuse

#endif // BACKFUSE_PIPELINES_PIPELINES_H
