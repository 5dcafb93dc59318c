//===- ElementRegion.h - Emit a region over elements, two at once -*- C++ -*-=//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_CONVERSION_COMMON_ELEMENTREGION_H
#define BACKFUSE_CONVERSION_COMMON_ELEMENTREGION_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace backfuse {

/// Why `op` cannot be emitted by `emitElementRegion`; empty if it can.
llvm::StringRef whyNotElementOp(mlir::Operation *op);

/// Emits the operations of `block`, a region over scalar elements, for a pair of
/// elements: each scalar T becomes a vector<2xT>, so that 16-bit arithmetic is
/// done by packed instructions with one rounding each. `arguments` are the pairs
/// of the block's arguments. Returns the pairs that the terminator yields.
/// Precondition: whyNotElementOp is empty for every op but the terminator.
llvm::SmallVector<mlir::Value> emitElementRegion(mlir::ImplicitLocOpBuilder &b,
                                                 mlir::Block &block,
                                                 mlir::ValueRange arguments);

/// `value`, a vector of f32, with what rounds to infinity in bf16 replaced by the largest
/// finite bf16: the first part of a split must leave a finite rest. NaN stays.
mlir::Value clampToFiniteBf16(mlir::ImplicitLocOpBuilder &b, mlir::Value value);

/// A pair with `value` in both places.
mlir::Value splatPair(mlir::ImplicitLocOpBuilder &b, mlir::Value value);
/// Element `i` of a pair, and the pair of two values.
mlir::Value pairElement(mlir::ImplicitLocOpBuilder &b, mlir::Value pair,
                        int64_t i);
mlir::Value makePair(mlir::ImplicitLocOpBuilder &b, mlir::Value first,
                     mlir::Value second);

} // namespace backfuse

#endif // BACKFUSE_CONVERSION_COMMON_ELEMENTREGION_H
