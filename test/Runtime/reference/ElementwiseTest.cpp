//===- ElementwiseTest.cpp - Elementwise ops against other sources --------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestHelpers.h"

#include <cmath>
#include <map>

using namespace backfuse;
using namespace backfuse::reference;
using namespace backfuse::test;
using bundle::DType;
using bundle::OpKind;

namespace {
struct Expected {
  OpKind kind;
  DType type;
  double a, b, result;
};
} // namespace

static const Expected table[] = {
#include "ExpectedValues.inc"
};

/// Evaluates one op on vectors; `operands` are inputs of the given types.
static Tensor evaluateOp(OpKind kind, const std::vector<DType> &types,
                         const std::vector<std::vector<double>> &operands,
                         DType resultType) {
  GraphBuilder g("op");
  Problem problem;
  auto size = int64_t(operands[0].size());
  std::vector<uint32_t> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    values.push_back(g.input("x" + std::to_string(i), types[i], {size}));
    problem.inputs.push_back(makeTensor(types[i], {size}, operands[i]));
  }
  g.output("y", g.op(kind, values, resultType));
  return run(g.build(), problem).outputs[0];
}

static Tensor evaluateF32(OpKind kind,
                          const std::vector<std::vector<double>> &operands) {
  return evaluateOp(kind, std::vector<DType>(operands.size(), DType::F32),
                    operands, DType::F32);
}

/// Every entry of the table, bit for bit: libm's f64 functions are close enough
/// that their rounding to f32 is the right one.
TEST(Elementwise, AgreesWithMpmathAndNumpy) {
  std::map<std::pair<OpKind, DType>, std::vector<Expected>> groups;
  for (const Expected &entry : table)
    groups[{entry.kind, entry.type}].push_back(entry);
  EXPECT_EQ(groups.size(), 18u * 3u);
  for (const auto &[key, entries] : groups) {
    auto [kind, type] = key;
    bool binary = kind >= OpKind::Add;
    std::vector<std::vector<double>> operands(binary ? 2 : 1);
    for (const Expected &entry : entries) {
      operands[0].push_back(entry.a);
      if (binary)
        operands[1].push_back(entry.b);
    }
    Tensor result = evaluateOp(kind, std::vector<DType>(operands.size(), type),
                               operands, type);
    for (size_t i = 0; i < entries.size(); ++i)
      EXPECT_EQ(result.at(int64_t(i)), entries[i].result)
          << bundle::EnumNameOpKind(kind) << " of "
          << bundle::EnumNameDType(type) << " at " << entries[i].a << ", "
          << entries[i].b;
  }
}

TEST(Elementwise, SignsAndSimpleUnaries) {
  std::vector<double> x = {-2, -0.0, 0.0, 3, -HUGE_VAL};
  EXPECT_EQ(valuesOf(evaluateF32(OpKind::Neg, {x})),
            (std::vector<double>{2, 0, 0, -3, HUGE_VAL}));
  EXPECT_EQ(valuesOf(evaluateF32(OpKind::Abs, {x})),
            (std::vector<double>{2, 0, 0, 3, HUGE_VAL}));
  EXPECT_EQ(valuesOf(evaluateF32(OpKind::Relu, {x})),
            (std::vector<double>{0, 0, 0, 3, 0}));
  EXPECT_EQ(valuesOf(evaluateF32(OpKind::ReluGrad, {x})),
            (std::vector<double>{0, 0, 0, 1, 0}));
  Tensor negated = evaluateF32(OpKind::Neg, {{0.0}});
  EXPECT_TRUE(std::signbit(negated.at(0)));
  EXPECT_FALSE(std::signbit(evaluateF32(OpKind::Relu, {{-0.0}}).at(0)));
}

/// Maximum and Minimum give NaN if one operand is NaN, MaxNum and MinNum the
/// other operand; +0 is above -0.
TEST(Elementwise, MaximumAndMinimum) {
  double nan = std::nan("");
  std::vector<double> a = {1, nan, 1, -0.0, 0.0, nan},
                      b = {2, 1, nan, 0.0, -0.0, nan};
  Tensor maximum = evaluateF32(OpKind::Maximum, {a, b});
  Tensor minimum = evaluateF32(OpKind::Minimum, {a, b});
  Tensor maxNum = evaluateF32(OpKind::MaxNum, {a, b});
  Tensor minNum = evaluateF32(OpKind::MinNum, {a, b});
  EXPECT_EQ(maximum.at(0), 2);
  EXPECT_EQ(minimum.at(0), 1);
  for (int64_t i : {1, 2, 5}) {
    EXPECT_TRUE(std::isnan(maximum.at(i)));
    EXPECT_TRUE(std::isnan(minimum.at(i)));
  }
  for (int64_t i : {1, 2}) {
    EXPECT_EQ(maxNum.at(i), 1);
    EXPECT_EQ(minNum.at(i), 1);
  }
  EXPECT_TRUE(std::isnan(maxNum.at(5)));
  for (int64_t i : {3, 4}) {
    EXPECT_FALSE(std::signbit(maximum.at(i)));
    EXPECT_TRUE(std::signbit(minimum.at(i)));
    EXPECT_FALSE(std::signbit(maxNum.at(i)));
    EXPECT_TRUE(std::signbit(minNum.at(i)));
  }
}

TEST(Elementwise, ComparisonsAndLogic) {
  double nan = std::nan("");
  std::vector<double> a = {1, 2, 2, nan}, b = {2, 2, 1, 1};
  auto compare = [&](OpKind kind) {
    return valuesOf(
        evaluateOp(kind, {DType::F32, DType::F32}, {a, b}, DType::I1));
  };
  using Bits = std::vector<double>;
  EXPECT_EQ(compare(OpKind::CmpOlt), (Bits{1, 0, 0, 0}));
  EXPECT_EQ(compare(OpKind::CmpOle), (Bits{1, 1, 0, 0}));
  EXPECT_EQ(compare(OpKind::CmpOgt), (Bits{0, 0, 1, 0}));
  EXPECT_EQ(compare(OpKind::CmpOge), (Bits{0, 1, 1, 0}));
  EXPECT_EQ(compare(OpKind::CmpOeq), (Bits{0, 1, 0, 0}));
  EXPECT_EQ(compare(OpKind::CmpUne), (Bits{1, 0, 1, 1}));
  Bits p = {0, 0, 1, 1}, q = {0, 1, 0, 1};
  std::vector<DType> booleans(2, DType::I1);
  EXPECT_EQ(valuesOf(evaluateOp(OpKind::And, booleans, {p, q}, DType::I1)),
            (Bits{0, 0, 0, 1}));
  EXPECT_EQ(valuesOf(evaluateOp(OpKind::Or, booleans, {p, q}, DType::I1)),
            (Bits{0, 1, 1, 1}));
  EXPECT_EQ(
      valuesOf(evaluateOp(OpKind::Select, {DType::I1, DType::F32, DType::F32},
                          {q, {1, 2, 3, 4}, {5, 6, 7, 8}}, DType::F32)),
      (Bits{5, 2, 7, 4}));
}

TEST(Elementwise, Casts) {
  std::vector<double> x = {1 + 0x1p-8, 1 + 0x1p-9, 1e6, 70000};
  using Values = std::vector<double>;
  EXPECT_EQ(valuesOf(evaluateOp(OpKind::Cast, {DType::F32}, {x}, DType::BF16)),
            (Values{1, 1, 999424, 70144}));
  EXPECT_EQ(valuesOf(evaluateOp(OpKind::Cast, {DType::F32}, {x}, DType::F16)),
            (Values{1 + 0x1p-8, 1 + 0x1p-9, HUGE_VAL, HUGE_VAL}));
  EXPECT_EQ(
      valuesOf(evaluateOp(OpKind::Cast, {DType::I1}, {{0, 1}}, DType::F32)),
      (Values{0, 1}));
}

/// Each op of an f32-typed chain rounds to f32, each op of a bf16-typed one to
/// bf16; Exact rounds nowhere.
TEST(Elementwise, TheTypeIsTheRounding) {
  for (DType type : {DType::F32, DType::BF16}) {
    GraphBuilder g("chain");
    uint32_t x = g.input("x", type, {1}), y = g.input("y", type, {1});
    uint32_t sum = g.op(OpKind::Add, {x, y});
    g.output("z", g.op(OpKind::Sub, {sum, x}));
    Problem problem;
    double small = type == DType::F32 ? 0x1p-25 : 0x1p-9;
    problem.inputs = {makeTensor(type, {1}, {1}),
                      makeTensor(type, {1}, {small})};
    BuiltGraph graph = g.build();
    EXPECT_EQ(run(graph, problem).outputs[0].at(0), 0);
    EXPECT_EQ(run(graph, problem, Mode::Exact).exact[0][0], small);
  }
}

/// ±inf, NaN and far tails, as docs/numerics.md tables them.
TEST(Elementwise, SpecialArguments) {
  double inf = HUGE_VAL;
  struct {
    OpKind kind;
    double minusInf, plusInf;
  } cases[] = {
      {OpKind::Exp, 0, inf},        {OpKind::Exp2, 0, inf},
      {OpKind::Tanh, -1, 1},        {OpKind::Erf, -1, 1},
      {OpKind::Sigmoid, 0, 1},      {OpKind::GeluTanh, 0, inf},
      {OpKind::GeluErf, 0, inf},    {OpKind::Silu, 0, inf},
      {OpKind::GeluTanhGrad, 0, 1}, {OpKind::GeluErfGrad, 0, 1},
      {OpKind::SiluGrad, 0, 1},
  };
  for (const auto &entry : cases) {
    Tensor result =
        evaluateF32(entry.kind, {{-inf, inf, std::nan(""), -3e38, 3e38}});
    const char *name = bundle::EnumNameOpKind(entry.kind);
    EXPECT_EQ(result.at(0), entry.minusInf) << name;
    EXPECT_EQ(result.at(1), entry.plusInf) << name;
    EXPECT_TRUE(std::isnan(result.at(2))) << name;
    EXPECT_EQ(result.at(3), entry.minusInf) << name;
    EXPECT_EQ(result.at(4),
              std::isinf(entry.plusInf) && entry.kind > OpKind::Exp2
                  ? double(float(3e38))
                  : entry.plusInf)
        << name;
  }
  EXPECT_TRUE(std::isnan(evaluateF32(OpKind::Log, {{-1}}).at(0)));
  EXPECT_EQ(evaluateF32(OpKind::Log, {{0}}).at(0), -inf);
  EXPECT_TRUE(std::isnan(evaluateF32(OpKind::Sqrt, {{-1}}).at(0)));
  EXPECT_EQ(evaluateF32(OpKind::Rsqrt, {{0}}).at(0), inf);
  // Subnormal arguments are honoured.
  EXPECT_EQ(evaluateF32(OpKind::Tanh, {{0x1p-140}}).at(0), 0x1p-140);
  EXPECT_EQ(evaluateF32(OpKind::Sqrt, {{0x1p-140}}).at(0), 0x1p-70);
}
