//===- MlpLaunchOps.h - The fused level of the mlp dialect ------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_DIALECTS_MLP_IR_MLPLAUNCHOPS_H
#define BACKFUSE_DIALECTS_MLP_IR_MLPLAUNCHOPS_H

#include "dialects/Mlp/IR/MlpDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/Mlp/IR/MlpLaunchOps.h.inc"

namespace backfuse::mlp {

/// The product of the extents of axes [begin, end); none if a factor overflows.
std::optional<Extent> getExtentOfAxes(mlir::RankedTensorType type,
                                      int64_t begin, int64_t end);

/// The axis at which `type`, flattened in row-major order, splits into a matrix
/// of `rows` x `columns`; none if no axis does. Where several do (extents of
/// 1), the first.
std::optional<int64_t> getMatrixSplit(mlir::RankedTensorType type,
                                      const Extent &rows,
                                      const Extent &columns);

} // namespace backfuse::mlp

#endif // BACKFUSE_DIALECTS_MLP_IR_MLPLAUNCHOPS_H
