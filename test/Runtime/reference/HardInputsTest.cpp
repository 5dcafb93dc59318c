//===- HardInputsTest.cpp - Operands at the ends of their types -----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestHelpers.h"

#include <cmath>
#include <limits>

using namespace backfuse;
using namespace backfuse::reference;
using namespace backfuse::test;
using bundle::DType;
using bundle::Precision;

static constexpr double largest = 0x1.fffffep127;
static constexpr double infinity = HUGE_VAL;

/// A product of one row and one column on a route of `terms` products.
static Evaluation multiply(const std::vector<double> &a,
                           const std::vector<double> &b, DType type,
                           uint32_t terms) {
  int64_t k = int64_t(a.size());
  GraphBuilder g("hard");
  uint32_t va = g.input("a", DType::F32, {1, k}),
           vb = g.input("b", DType::F32, {1, k});
  g.output("c",
           g.matmul(va, {1}, vb, {1}, DType::F32,
                    type == DType::F16 ? Precision::Fp16 : Precision::Bf16x3));
  bundle::ProductT product;
  product.route = "test";
  product.a_type = product.b_type = type;
  product.terms = terms;
  BuiltProducts products({product});
  Problem problem;
  problem.inputs = {makeTensor(DType::F32, {1, k}, a),
                    makeTensor(DType::F32, {1, k}, b)};
  return run(g.build(), problem, Mode::Declared, true, &products);
}

static bool accepts(const Evaluation &evaluation, double value) {
  Tensor actual = makeTensor(DType::F32, {1, 1}, {value});
  return compareBounds(actual, evaluation.outputs[0], evaluation.bounds[0])
             .mismatches == 0;
}

/// The first part of a split stays finite where the number is, so that the
/// parts lie within 2^-17 of it, and the product within 2^-15.
TEST(HardInputs, SplitsReachTheMaximum) {
  for (double x : {largest, -largest, 0x1.ff8p127, 0x1.ff7ffep127, 0x1.fep127,
                   0x1.fe0002p127, -0x1.ff8p127})
    for (double y : {0x1p-20, 0.3, -0x1.234568p-30, 0.5}) {
      y = float(y);
      Evaluation result = multiply({x}, {y}, DType::BF16, 3);
      double value = result.outputs[0].at(0);
      EXPECT_NEAR(value, x * y, 0x1p-15 * std::fabs(x * y)) << x << " " << y;
      EXPECT_LE(result.bounds[0][0], 0x1p-21 * std::fabs(x * y));
    }
}

/// An infinity stays one: its first part is finite, its second infinite.
TEST(HardInputs, SplitsKeepInfinities) {
  Evaluation result = multiply({infinity, 1}, {-0.3, 5}, DType::BF16, 3);
  EXPECT_EQ(result.outputs[0].at(0), -infinity);
  EXPECT_TRUE(accepts(result, -infinity));
  EXPECT_FALSE(accepts(result, infinity));
  EXPECT_FALSE(accepts(result, NAN));
  EXPECT_FALSE(accepts(result, -1e38));
  result = multiply({infinity, infinity}, {1, -1}, DType::BF16, 3);
  EXPECT_TRUE(std::isnan(result.outputs[0].at(0)));
  EXPECT_TRUE(accepts(result, NAN));
  EXPECT_FALSE(accepts(result, 0));
}

/// fp16 overflows to inf, and a device that scales its operands is found out.
TEST(HardInputs, Fp16OverflowMustBeInfinite) {
  Evaluation result = multiply({65520, 1}, {0.5, 2}, DType::F16, 1);
  EXPECT_EQ(result.outputs[0].at(0), infinity);
  EXPECT_TRUE(accepts(result, infinity));
  EXPECT_FALSE(accepts(result, 32762));
  EXPECT_FALSE(accepts(result, NAN));
}

/// Where partial sums can overflow nothing is promised, and that is counted.
TEST(HardInputs, OverflowHasNoBound) {
  Evaluation result =
      multiply({largest, -largest}, {0.75, 0.75}, DType::BF16, 3);
  Tensor actual = makeTensor(DType::F32, {1, 1}, {infinity});
  Comparison comparison =
      compareBounds(actual, result.outputs[0], result.bounds[0]);
  EXPECT_EQ(comparison.mismatches, 0);
  EXPECT_EQ(comparison.unbounded, 1);
  result = multiply({largest, -largest}, {0.25, 0.25}, DType::BF16, 3);
  comparison = compareBounds(actual, result.outputs[0], result.bounds[0]);
  EXPECT_EQ(comparison.mismatches, 1);
  EXPECT_EQ(comparison.unbounded, 0);
}

/// An infinite operand decides the result only where the other terms cannot
/// overflow to the other infinity.
TEST(HardInputs, InfinityBesideOverflow) {
  Evaluation result =
      multiply({largest, 3e38, 3e38}, {-1, 1, 1}, DType::BF16, 1);
  EXPECT_EQ(result.outputs[0].at(0), -infinity);
  EXPECT_TRUE(accepts(result, NAN));
  result = multiply({largest, 1e38, 1e38}, {-1, 1, 1}, DType::BF16, 1);
  EXPECT_TRUE(accepts(result, -infinity));
  EXPECT_FALSE(accepts(result, NAN));
}

/// Parts of a sum that itself is just below the maximum may overflow.
TEST(HardInputs, PartsOfASumOverflow) {
  Evaluation result = multiply({0x1.fe8p127}, {0x1.004p0}, DType::BF16, 3);
  EXPECT_TRUE(accepts(result, infinity));
}

/// Subnormal sums: steps of f32 are allowed, more is not; zeros are zeros.
TEST(HardInputs, SubnormalSums) {
  Evaluation result = multiply({0x1p-70}, {0x1p-75}, DType::BF16, 1);
  EXPECT_TRUE(accepts(result, 0x1p-145));
  EXPECT_TRUE(accepts(result, 0x1p-145 + 0x1p-149));
  EXPECT_FALSE(accepts(result, 0));
  result = multiply({0, 0}, {0x1p-75, 3}, DType::BF16, 3);
  EXPECT_EQ(result.bounds[0][0], 0);
}

namespace {
struct Made {
  BuiltGraph graph;
  Problem problem;
};
} // namespace

static Made make(Inputs kind, DType type, std::vector<std::string> hard = {}) {
  GraphBuilder g("kinds");
  uint32_t a = g.input("a", type, {64, 200}), b = g.input("b", type, {64, 200});
  g.output("c", g.matmul(a, {1}, b, {1}, type,
                         type == DType::F32 ? Precision::Bf16x3
                                            : Precision::Native));
  Made made{g.build(), {}};
  EXPECT_EQ(makeInputs(*made.graph, kind, 3, made.problem, hard), "");
  return made;
}

/// What the kinds promise, of each type; nothing becomes infinite.
TEST(HardInputs, Kinds) {
  for (DType type : {DType::F32, DType::BF16, DType::F16}) {
    double most = type == DType::F16    ? 65504
                  : type == DType::BF16 ? 0x1.fep127
                                        : largest;
    double normal = type == DType::F16 ? 0x1p-14 : 0x1p-126;
    for (Inputs kind : {Inputs::HardScaled, Inputs::HardMixed,
                        Inputs::HardSubnormal, Inputs::HardHuge}) {
      Tensor a = make(kind, type).problem.inputs[0];
      int64_t numHuge = 0, numSubnormal = 0, numLarge = 0, numSmall = 0;
      for (double value : valuesOf(a)) {
        ASSERT_TRUE(std::isfinite(value));
        numHuge += std::fabs(value) >= most * (1 - 0x1p-7);
        numSubnormal += std::fabs(value) < normal;
        numLarge += std::fabs(value) > (type == DType::F16 ? 0x1p4 : 0x1p50);
        numSmall += std::fabs(value) < (type == DType::F16 ? 0x1p-4 : 0x1p-50);
      }
      EXPECT_EQ(numHuge, kind == Inputs::HardHuge ? 64 : 0);
      if (kind == Inputs::HardSubnormal) {
        EXPECT_GT(numSubnormal, 4000);
        EXPECT_LT(numSubnormal, 9000);
      }
      if (kind == Inputs::HardScaled || kind == Inputs::HardMixed) {
        EXPECT_GT(numLarge, 500);
        EXPECT_GT(numSmall, 500);
      }
    }
  }
}

/// Rows and columns have one power of two each.
TEST(HardInputs, ScaledByRowsAndColumns) {
  Tensor plain = make(Inputs::Random, DType::F32).problem.inputs[0];
  Tensor hard = make(Inputs::HardScaled, DType::F32).problem.inputs[0];
  auto scale = [&](int64_t row, int64_t column) {
    int64_t i = row * 200 + column;
    return std::log2(hard.at(i) / plain.at(i));
  };
  for (int64_t row = 0; row < 64; ++row)
    for (int64_t column = 0; column < 200; ++column) {
      double exponent = scale(row, 0) + scale(0, column) - scale(0, 0);
      ASSERT_EQ(scale(row, column), exponent);
      ASSERT_LE(std::fabs(exponent), 120);
    }
}

/// Inputs that are not named are as without.
TEST(HardInputs, OnlyThoseNamed) {
  Made plain = make(Inputs::Random, DType::F32);
  Made hard = make(Inputs::HardMixed, DType::F32, {"b"});
  EXPECT_EQ(plain.problem.inputs[0].bytes, hard.problem.inputs[0].bytes);
  EXPECT_NE(plain.problem.inputs[1].bytes, hard.problem.inputs[1].bytes);
}

TEST(HardInputs, Names) {
  for (const auto &[name, kind] : inputKinds())
    EXPECT_EQ(nameOf(kind), name);
  EXPECT_FALSE(isHard(Inputs::Random) || isHard(Inputs::Exact));
  EXPECT_TRUE(isHard(Inputs::HardScaled) && isHard(Inputs::HardHuge));
}
