//===- Functions.h - Elementary functions in f64 ----------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elementary functions of the graph and the points at which every device
// must give their results exactly (docs/numerics.md has the table).
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_REFERENCE_FUNCTIONS_H
#define BACKFUSE_REFERENCE_FUNCTIONS_H

#include "bundle_generated.h"

#include <optional>

namespace backfuse::reference {

/// Whether the op is an elementary function: within 2^-20 of its value, not
/// correctly rounded.
bool isElementary(bundle::OpKind kind);

/// The function's value in f64. Forms without cancellation are used in tails.
double elementary(bundle::OpKind kind, double x);

/// The magnitude that the accuracy 2^-20 refers to: the function's value, or
/// for derivatives of GELU and SiLU the sum of the magnitudes of their terms,
/// which do not vanish where the derivative changes its sign.
double elementaryScale(bundle::OpKind kind, double x);

/// How far the function's value may move when its argument `x` moves by at
/// most `error`.
double elementaryChange(bundle::OpKind kind, double x, double error);

/// If the function is exact on all of [low, high] (a point, or part of a tail
/// where it is constant or the identity), what it does there.
struct ExactRegion {
  enum Kind { Value, Identity } kind = Value;
  double value = 0;
};
std::optional<ExactRegion> exactRegion(bundle::OpKind kind, double low,
                                       double high);

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_FUNCTIONS_H
