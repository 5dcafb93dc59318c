//===- Transforms.h - What the passes do, as functions ----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TRANSFORMS_TRANSFORMS_H
#define BACKFUSE_TRANSFORMS_TRANSFORMS_H

#include "dialects/Mlp/IR/MlpOps.h"

namespace backfuse {

/// Replaces each derivative of an activation by its primitives.
void expandSugar(mlp::GraphOp graph);

/// Emits an error at the first sugar op of the graph, if there is one.
mlir::LogicalResult verifyNoSugar(mlp::GraphOp graph);

/// Gives each product its index in the bundle's flat op list.
void numberOps(mlp::GraphOp graph);

/// The i1 parameters that the graph's body uses.
llvm::SmallVector<mlir::BlockArgument> getUsedFlags(mlp::GraphOp graph);

/// Makes the graph the one for these values of its used flags: constants for the
/// parameters, resolved selects, no dead ops. Names it after the values.
void specialize(mlp::GraphOp graph,
                llvm::ArrayRef<mlir::BlockArgument> flags,
                llvm::ArrayRef<bool> values);

/// Makes launches of fused products of the graph's ops. Emits an error at an op
/// that cannot be fused, and then changes nothing.
mlir::LogicalResult fuseIntoLaunches(mlp::GraphOp graph);

/// What fusion does with each op of each variant of a graph as it is written: one
/// line per fused op and one per op, and why what is not fused is not. Changes
/// nothing, and reports nothing: it fails where expanding, specialising or fusing
/// the graph does.
mlir::FailureOr<std::string> describeFusion(mlp::GraphOp graph);

/// Moves launches that only multiply what the launch before computes into that
/// one, where a conversion comes before.
void chainLaunches(mlp::GraphOp graph);

/// Makes every contraction one that the target's tensor cores compute: of
/// 16-bit operands, of one that they take from registers, or with
/// `tf32Operands` of two f32 operands. `precision` overrides what the products
/// ask for. Emits an error at a product that has no route.
mlir::LogicalResult routeProducts(mlp::GraphOp graph, bool registerOperands,
                                  bool tf32Operands,
                                  std::optional<mlp::Precision> precision);

/// Replaces the graph by a clone per tile configuration that is best on `target`
/// for some token count, by the cost model or, if it is named, by a tuning file.
/// Emits an error if none fits.
mlir::LogicalResult selectSchedule(mlp::GraphOp graph, llvm::StringRef target,
                                   llvm::StringRef tuningFile = {});

/// Rewrites the scalar elementary functions under `root` into arithmetic on f32 and
/// tile.approx. Emits an error at each scalar function that has no expansion.
mlir::LogicalResult expandElementaryFunctions(mlir::Operation *root);

} // namespace backfuse

#endif // BACKFUSE_TRANSFORMS_TRANSFORMS_H
