//===- ExpressionTest.cpp - Integer expressions of a launch plan ----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/src/Expression.h"
#include "TestBundle.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace backfuse;
using namespace backfuse::runtime;
using namespace backfuse::test;
using bundle::ExprOp;

namespace {
/// An expression in a FlatBuffer of its own.
struct Built {
  explicit Built(const bundle::ExprT &source) {
    builder.Finish(bundle::Expr::Pack(builder, &source));
  }
  const bundle::Expr &get() const {
    return *flatbuffers::GetRoot<bundle::Expr>(builder.GetBufferPointer());
  }
  flatbuffers::FlatBufferBuilder builder;
};

constexpr int64_t minimum = std::numeric_limits<int64_t>::min();
constexpr int64_t maximum = std::numeric_limits<int64_t>::max();

/// The value of an expression for B = 5, S = -3 and the parameters 1, 0.5.
struct Result {
  bool good = false;
  int64_t value = 0;
  std::string why;
};
Result run(std::initializer_list<Node> nodes) {
  Built built(*expr(nodes));
  const int64_t dims[] = {5, -3};
  const double params[] = {1, 0.5};
  Result result;
  const char *why = "";
  result.good = evaluate(built.get(), {dims, params, 132}, result.value, why);
  result.why = why;
  return result;
}

Result binary(ExprOp kind, int64_t a, int64_t b) {
  return run({constant(a), constant(b), op(kind)});
}

/// Why an expression is malformed in the graph of makeRowsBundle.
std::string malformed(std::initializer_list<Node> nodes) {
  static const std::vector<uint8_t> file = pack(makeRowsBundle());
  const bundle::Graph &graph = *bundle::GetBundle(file.data() + 32)->graph();
  Built built(*expr(nodes));
  return whyMalformed(built.get(), graph);
}
} // namespace

TEST(Expression, LeavesGiveTheirValues) {
  EXPECT_EQ(run({constant(-7)}).value, -7);
  EXPECT_EQ(run({dim(0)}).value, 5);
  EXPECT_EQ(run({dim(1)}).value, -3);
  EXPECT_EQ(run({param(0)}).value, 1);
  EXPECT_EQ(run({op(ExprOp::SmCount)}).value, 132);
}

TEST(Expression, ArithmeticAndComparisons) {
  EXPECT_EQ(binary(ExprOp::Add, 7, -9).value, -2);
  EXPECT_EQ(binary(ExprOp::Sub, 7, -9).value, 16);
  EXPECT_EQ(binary(ExprOp::Mul, 7, -9).value, -63);
  EXPECT_EQ(binary(ExprOp::Min, 7, -9).value, -9);
  EXPECT_EQ(binary(ExprOp::Max, 7, -9).value, 7);
  EXPECT_EQ(binary(ExprOp::Lt, 3, 3).value, 0);
  EXPECT_EQ(binary(ExprOp::Le, 3, 3).value, 1);
  EXPECT_EQ(binary(ExprOp::Eq, 3, 3).value, 1);
  EXPECT_EQ(binary(ExprOp::Ne, 3, 3).value, 0);
  EXPECT_EQ(binary(ExprOp::And, 2, 0).value, 0);
  EXPECT_EQ(binary(ExprOp::And, 2, 4).value, 1);
  EXPECT_EQ(binary(ExprOp::Or, 2, 0).value, 1);
  EXPECT_EQ(binary(ExprOp::Or, 0, 0).value, 0);
  EXPECT_EQ(run({constant(0), op(ExprOp::Not)}).value, 1);
  EXPECT_EQ(run({constant(9), op(ExprOp::Not)}).value, 0);
}

// Quotients go towards minus or plus infinity, and a = b * floor(a / b) + mod.
TEST(Expression, DivisionsOfAllSigns) {
  for (int64_t a : {-13, -12, -1, 0, 1, 12, 13})
    for (int64_t b : {-4, -1, 1, 4}) {
      double exact = double(a) / double(b);
      EXPECT_EQ(binary(ExprOp::FloorDiv, a, b).value,
                int64_t(std::floor(exact)));
      EXPECT_EQ(binary(ExprOp::CeilDiv, a, b).value, int64_t(std::ceil(exact)));
      EXPECT_EQ(binary(ExprOp::Mod, a, b).value,
                a - b * int64_t(std::floor(exact)));
    }
}

TEST(Expression, SelectTakesConditionThenBoth) {
  EXPECT_EQ(
      run({constant(1), constant(10), constant(20), op(ExprOp::Select)}).value,
      10);
  EXPECT_EQ(
      run({constant(0), constant(10), constant(20), op(ExprOp::Select)}).value,
      20);
}

TEST(Expression, OverflowAndDivisionByZeroAreErrors) {
  const Result overflows[] = {binary(ExprOp::Add, maximum, 1),
                              binary(ExprOp::Add, minimum, -1),
                              binary(ExprOp::Sub, minimum, 1),
                              binary(ExprOp::Sub, 0, minimum),
                              binary(ExprOp::Mul, maximum, 2),
                              binary(ExprOp::Mul, minimum, -1),
                              binary(ExprOp::FloorDiv, minimum, -1),
                              binary(ExprOp::CeilDiv, minimum, -1)};
  for (const Result &result : overflows) {
    EXPECT_FALSE(result.good);
    EXPECT_EQ(result.why, "64-bit overflow");
  }
  for (ExprOp kind : {ExprOp::FloorDiv, ExprOp::CeilDiv, ExprOp::Mod}) {
    Result result = binary(kind, 1, 0);
    EXPECT_FALSE(result.good);
    EXPECT_EQ(result.why, "division by zero");
  }
  EXPECT_TRUE(binary(ExprOp::Mod, minimum, -1).good);
  EXPECT_EQ(binary(ExprOp::Mod, minimum, -1).value, 0);
}

TEST(Expression, MalformedCodeIsNamed) {
  EXPECT_EQ(malformed({dim(0), dim(1), op(ExprOp::Mul)}), "");
  EXPECT_EQ(malformed({}), "the expression is empty");
  EXPECT_EQ(malformed({dim(0), op(ExprOp::Mul)}),
            "node 1 of the expression takes 2 values, but there are 1");
  EXPECT_EQ(malformed({dim(0), dim(0), op(ExprOp::Select)}),
            "node 2 of the expression takes 3 values, but there are 2");
  EXPECT_EQ(malformed({dim(0), dim(1)}),
            "the expression leaves 2 values, expected 1");
  EXPECT_EQ(malformed({dim(2)}), "node 0 of the expression names a dimension "
                                 "that the graph does not have");
  EXPECT_EQ(malformed({dim(-1)}), "node 0 of the expression names a dimension "
                                  "that the graph does not have");
  EXPECT_EQ(malformed({param(2)}), "node 0 of the expression names a parameter "
                                   "that the graph does not have");
  EXPECT_EQ(malformed({param(1)}),
            "node 0 of the expression uses a parameter that is not an I1");
  EXPECT_EQ(malformed({op(static_cast<ExprOp>(200))}),
            "node 0 of the expression has the unknown operation 200");
}

TEST(Expression, LengthAndDepthAreBounded) {
  bundle::ExprT deep, longest, tooLong;
  for (unsigned i = 0; i <= maxExpressionDepth; ++i)
    deep.nodes.push_back(constant(1));
  for (unsigned i = 0; i < maxExpressionDepth; ++i)
    deep.nodes.push_back(op(ExprOp::Add));
  longest.nodes.push_back(constant(1));
  while (longest.nodes.size() < maxExpressionNodes)
    longest.nodes.push_back(op(ExprOp::Not));
  tooLong = longest;
  tooLong.nodes.push_back(op(ExprOp::Not));
  std::vector<uint8_t> file = pack(makeRowsBundle());
  const bundle::Graph &graph = *bundle::GetBundle(file.data() + 32)->graph();
  EXPECT_EQ(whyMalformed(Built(deep).get(), graph),
            "the expression is more than 64 values deep");
  EXPECT_EQ(whyMalformed(Built(longest).get(), graph), "");
  EXPECT_EQ(whyMalformed(Built(tooLong).get(), graph),
            "the expression has 1025 nodes, more than 1024");
}
