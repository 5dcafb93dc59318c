//===- PredictPlan.h - What the cost model says of a plan -------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_PIPELINES_PREDICTPLAN_H
#define BACKFUSE_PIPELINES_PREDICTPLAN_H

#include "backfuse/Pipelines/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"

namespace backfuse {

/// The cost model's words on the graph in `module`, which stays as it is, for
/// each target of the options and each case that --dims or --cases give: bytes,
/// operations, waves and microseconds of every kernel, what binds, and the
/// mean.
mlir::FailureOr<std::string> predictPlan(mlir::ModuleOp module,
                                         const CompileOptions &options);

} // namespace backfuse

#endif // BACKFUSE_PIPELINES_PREDICTPLAN_H
