//===- Elementwise.h - Elementwise ops on blocks ----------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_REFERENCE_ELEMENTWISE_H
#define BACKFUSE_REFERENCE_ELEMENTWISE_H

#include "bundle_generated.h"

#include <cstdint>

namespace backfuse::reference {

/// The accuracy of elementary functions, relative to elementaryScale.
constexpr double functionAccuracy = 0x1p-20;
/// The same for an op that carries `afn`.
constexpr double approximateAccuracy = 0x1p-10;
/// Results of elementary functions below this may be flushed to zero.
constexpr double smallestNormal = 0x1p-126;
/// What silu and gelu with afn may be off by where their factor of x flushes.
constexpr double approximateFlush = 0x1p-119;

/// Applies the op to `count` elements in f64, without rounding. f64 results of
/// +, -, *, / and square root on f32 values give, rounded to f32, what f32
/// arithmetic gives.
void applyElementwise(bundle::OpKind kind, const double *const operands[3],
                      int64_t count, double *result);

/// How far the unrounded results of a device may be from `result`, given how
/// far its operands may be from `operands`.
void propagateErrors(const bundle::Op &op, const double *const operands[3],
                     const double *const errors[3], const double *result,
                     int64_t count, double *resultErrors);

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_ELEMENTWISE_H
