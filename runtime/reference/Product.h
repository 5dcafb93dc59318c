//===- Product.h - Contractions, blocked and threaded -----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_REFERENCE_PRODUCT_H
#define BACKFUSE_REFERENCE_PRODUCT_H

#include "Array.h"

#include <functional>

namespace backfuse::reference {

/// One operand as a matrix: element (i, k) lies at free[i] + contract[k].
struct ProductOperand {
  const Array *array = nullptr;
  std::vector<int64_t> free, contract;
  /// Rounded to this type first; F32: kept as it is.
  bundle::DType rounding = bundle::DType::F32;
  /// An operand of rounding F32 is rounded to tf32.
  bool tf32 = false;
  /// Replaced by hi + lo, both of type `rounding`.
  bool split = false;
};

struct ProductSpec {
  ProductOperand a, b;
  /// Operands are split and the product of the two lo parts is left out.
  bool dropLowLow = false;
  /// If not empty: term k counts weights[k] times.
  std::vector<double> weights;
  bool bounds = false;
  /// Allowed error relative to the sum of |a||b|.
  double relativeError = 0;
  /// Allowed error beside it: partial sums that are subnormal.
  double absoluteError = 0;
  int threads = 0;
};

/// Rows [row, row + rows) and columns [column, column + columns) of the result;
/// `values` and `errors` (null without bounds) have rows `stride` apart.
struct ProductTile {
  int64_t row, rows, column, columns, stride;
  const double *values, *errors;
};

/// Computes sum_k a(i, k) b(j, k) in f64 and hands it over tile by tile, from
/// several threads. The order of additions depends on the extents only.
void computeProduct(const ProductSpec &spec,
                    const std::function<void(const ProductTile &)> &sink);

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_PRODUCT_H
