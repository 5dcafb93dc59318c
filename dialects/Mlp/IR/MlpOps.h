//===- MlpOps.h - Ops of the mlp dialect ------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_DIALECTS_MLP_IR_MLPOPS_H
#define BACKFUSE_DIALECTS_MLP_IR_MLPOPS_H

#include "dialects/Mlp/IR/MlpDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace backfuse::mlp {
class OutputOp;
} // namespace backfuse::mlp

#define GET_OP_CLASSES
#include "dialects/Mlp/IR/MlpOps.h.inc"

namespace backfuse::mlp {

/// Whether `op` computes each element of its results from the elements of its
/// operands at the same place: arith and math ops that a graph may hold
/// (constants apart), and this dialect's own. Also true of their scalar forms.
bool isElementwise(mlir::Operation *op);

/// Whether `op` is an elementary function, to which contract 1.5's accuracy and
/// `afn` apply (exp, tanh, sigmoid, gelu ...).
bool isElementaryFunction(mlir::Operation *op);

/// Whether the op carries `afn`, as an attribute or among its fastmath flags.
bool allowsApproximation(mlir::Operation *op);

/// Whether `op` is removed by backfuse-expand-sugar.
bool isSugar(mlir::Operation *op);

/// Empty if `op` may stand in a graph, else what is wrong with it: the ops,
/// types, flags and shapes of GraphOp's constraints C6 to C8.
std::string whyNotInGraph(mlir::Operation *op);

/// The scalar value of a constant (also a splat one, also through
/// mlp.broadcast).
mlir::Attribute getScalarConstant(mlir::Value value);

} // namespace backfuse::mlp

#endif // BACKFUSE_DIALECTS_MLP_IR_MLPOPS_H
