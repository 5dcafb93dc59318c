//===- CompareTest.cpp - Tolerances, bounds and bits ----------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestHelpers.h"

#include <cmath>

using namespace backfuse;
using namespace backfuse::reference;
using namespace backfuse::test;
using bundle::DType;

TEST(Compare, ToleranceCountsElements) {
  Tensor expected = makeTensor(DType::F32, {4}, {1, -100, 0, 5});
  Tensor actual = makeTensor(DType::F32, {4}, {1.05, -109, 0.2, 5});
  Comparison comparison = compareTolerance(actual, expected, 0.1, 0.1);
  EXPECT_EQ(comparison.elements, 4);
  EXPECT_EQ(comparison.mismatches, 1);
  EXPECT_EQ(comparison.matched(), 0.75);
  // The worst of those that disagree; without them, the worst of all.
  EXPECT_FLOAT_EQ(float(comparison.maxError), 0.2f);
  EXPECT_EQ(comparison.worst, 2);
  comparison = compareTolerance(actual, expected, 1, 0.1);
  EXPECT_EQ(comparison.maxError, 9);
  EXPECT_EQ(comparison.worst, 1);
  EXPECT_EQ(compareTolerance(actual, valuesOf(expected), 0.1, 0.1).mismatches,
            1);
}

/// NaN and Inf never pass a tolerance, not even where they are expected.
TEST(Compare, NonFiniteValues) {
  double nan = std::nan(""), inf = HUGE_VAL;
  Tensor expected = makeTensor(DType::F32, {4}, {1, 1, inf, nan});
  Tensor actual = makeTensor(DType::F32, {4}, {nan, inf, inf, nan});
  Comparison comparison = compareTolerance(actual, expected, 1e9, 1e9);
  EXPECT_EQ(comparison.mismatches, 4);
  EXPECT_EQ(comparison.nonFinite, 2);
  EXPECT_EQ(comparison.maxError, inf);
  EXPECT_EQ(comparison.worst, 0);
  EXPECT_EQ(compareBits(actual, expected).mismatches, 2);
}

TEST(Compare, BitsAreStrict) {
  Tensor expected = makeTensor(DType::BF16, {3}, {0.0, 1, 2});
  Tensor actual = makeTensor(DType::BF16, {3}, {-0.0, 1, 2 + 0x1p-6});
  EXPECT_EQ(compareBits(actual, expected).mismatches, 2);
  EXPECT_EQ(compareBits(actual, expected).worst, 2);
  EXPECT_EQ(compareBits(expected, expected).mismatches, 0);
  EXPECT_EQ(
      compareBits(expected, makeTensor(DType::F16, {3}, {0, 1, 2})).mismatches,
      3);
  // Sizes that differ never agree.
  EXPECT_EQ(
      compareBits(expected, makeTensor(DType::BF16, {2}, {0, 1})).mismatches,
      3);
  EXPECT_EQ(
      compareTolerance(expected, std::vector<double>{0, 1}, 9, 9).mismatches,
      3);
}

TEST(Compare, Bounds) {
  Tensor expected = makeTensor(DType::F32, {3}, {1, 2, 3});
  Tensor actual = makeTensor(DType::F32, {3}, {1.5, 2.5, 3});
  Comparison comparison = compareBounds(actual, expected, {0.5, 0.25, 0});
  EXPECT_EQ(comparison.mismatches, 1);
  EXPECT_EQ(comparison.worst, 1); // element 0 is as far off, but allowed to be
  EXPECT_EQ(compareBounds(actual, expected, {0.5, 0.5, 0}).worst, 0);
  EXPECT_EQ(compareBounds(actual, expected, {0.5, 0.25}).mismatches, 3);
}
