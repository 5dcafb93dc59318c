//===- BoundsTest.cpp - (value, error) pairs ------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two sides: what a device may do stays within the bounds, and the bounds are
// not so wide that mistakes pass.
//===----------------------------------------------------------------------===//
#include "TestHelpers.h"

#include "Elementwise.h"
#include "Functions.h"
#include "Rounding.h"

#include <cmath>
#include <random>

using namespace backfuse;
using namespace backfuse::reference;
using namespace backfuse::test;
using bundle::DType;
using bundle::OpKind;
using bundle::Precision;

/// The distance from |x| to the next larger value of the type.
static double ulp(DType type, double x) {
  Tensor tensor(type, {1});
  tensor.set(0, std::fabs(x));
  double value = tensor.at(0);
  if (type == DType::F32)
    return double(std::nextafter(float(value), HUGE_VALF)) - value;
  uint16_t bits;
  std::memcpy(&bits, tensor.bytes.data(), 2);
  ++bits;
  std::memcpy(tensor.bytes.data(), &bits, 2);
  return tensor.at(0) - value;
}

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

/// Each op's result stays within the propagated error for operands anywhere
/// within theirs.
TEST(Bounds, ErrorsOfSingleOpsAreSound) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int kind = 0; kind <= int(OpKind::Select); ++kind) {
    bundle::OpT op;
    op.kind = OpKind(kind);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(bundle::Op::Pack(builder, &op));
    const auto &packed =
        *flatbuffers::GetRoot<bundle::Op>(builder.GetBufferPointer());
    for (int trial = 0; trial < 4000; ++trial) {
      double x[3], e[3];
      for (int i = 0; i < 3; ++i) {
        x[i] = unit(random) * std::exp2(8 * unit(random));
        e[i] = trial % 3 == 0
                   ? 0
                   : std::fabs(unit(random)) * std::exp2(-8 + 8 * unit(random));
      }
      bool logical = op.kind == OpKind::And || op.kind == OpKind::Or;
      if (logical || op.kind == OpKind::Select)
        for (int i = 0; i < (logical ? 2 : 1); ++i) {
          x[i] = double(x[i] > 0);
          e[i] = double(e[i] > 0.004);
        }
      const double *operands[3] = {&x[0], &x[1], &x[2]};
      const double *errors[3] = {&e[0], &e[1], &e[2]};
      double result, bound;
      applyElementwise(op.kind, operands, 1, &result);
      propagateErrors(packed, operands, errors, &result, 1, &bound);
      if (std::isnan(result) || std::isinf(bound))
        continue;
      for (int corner = 0; corner < 16; ++corner) {
        double y[3];
        for (int i = 0; i < 3; ++i)
          y[i] = x[i] + e[i] * (corner < 8 ? (corner >> i & 1 ? 1 : -1)
                                           : unit(random));
        if (logical || op.kind == OpKind::Select)
          for (int i = 0; i < (logical ? 2 : 1); ++i)
            y[i] = e[i] > 0 ? double(corner >> i & 1) : x[i];
        const double *moved[3] = {&y[0], &y[1], &y[2]};
        double other;
        applyElementwise(op.kind, moved, 1, &other);
        if (isElementary(op.kind))
          other *= 1 + functionAccuracy * (corner & 1 ? 0.999 : -0.999);
        if (exactRegion(op.kind, x[0], x[0]) && e[0] == 0)
          continue;
        ASSERT_LE(std::fabs(other - result),
                  bound * (1 + 1e-9) + 1e-12 * std::fabs(result))
            << bundle::EnumNameOpKind(op.kind) << " at " << x[0] << " +- "
            << e[0] << ", " << x[1] << " +- " << e[1];
      }
    }
  }
}

/// Ops without products or functions are exact: one ulp of bf16 is too much.
TEST(Bounds, ExactOpsHaveNoError) {
  GraphBuilder g("chain");
  uint32_t x = g.input("x", DType::BF16, {500});
  uint32_t y = g.input("y", DType::BF16, {500});
  uint32_t z = g.op(OpKind::Add, {g.op(OpKind::Mul, {x, y}), x});
  g.output("z", g.op(OpKind::Div, {z, y}));
  BuiltGraph graph = g.build();
  Problem problem;
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 1, problem), "");
  Evaluation result = run(graph, problem, Mode::Eager, true);
  EXPECT_EQ(result.bounds[0], std::vector<double>(500, 0.0));
  Tensor off = result.outputs[0];
  off.set(77, off.at(77) + ulp(DType::BF16, off.at(77)));
  EXPECT_EQ(compareBounds(off, result.outputs[0], result.bounds[0]).mismatches,
            1);
}

/// A function's bound is 2^-20 of its value in f32, none where it is exact, and
/// none in bf16 away from ties.
TEST(Bounds, Functions) {
  GraphBuilder g("functions");
  uint32_t x = g.input("x", DType::F32, {400});
  uint32_t s = g.op(OpKind::Sigmoid, {x});
  g.output("f32", s);
  g.output("bf16", g.cast(s, DType::BF16));
  g.output("afn", g.op(OpKind::Sigmoid, {x}));
  g.graph.ops.back()->afn = true;
  BuiltGraph graph = g.build();
  Problem problem;
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 1, problem), "");
  problem.inputs[0].set(0, 0);
  problem.inputs[0].set(1, 1024);
  problem.inputs[0].set(2, -1024);
  Evaluation result = run(graph, problem, Mode::Eager, true);
  size_t exact = 0;
  for (size_t i = 0; i < 400; ++i) {
    double value = result.outputs[0].at(int64_t(i));
    if (i < 3) {
      EXPECT_EQ(result.bounds[0][i], 0);
      EXPECT_EQ(result.bounds[1][i], 0);
      continue;
    }
    EXPECT_GE(result.bounds[0][i], 0x1p-20 * value - ulp(DType::F32, value));
    EXPECT_LE(result.bounds[0][i],
              0x1p-20 * value + 2 * ulp(DType::F32, value));
    EXPECT_GE(result.bounds[2][i], 0x1p-10 * value - ulp(DType::F32, value));
    exact += result.bounds[1][i] == 0;
    EXPECT_LE(result.bounds[1][i], ulp(DType::BF16, value));
  }
  EXPECT_GT(exact, 380u);
}

//===----------------------------------------------------------------------===//
// Products and sums
//===----------------------------------------------------------------------===//

/// The bound is the contract's; twice the bound fails, as does a lost K step.
TEST(Bounds, Products) {
  constexpr int64_t m = 5, n = 7, k = 100;
  GraphBuilder g("product");
  uint32_t a = g.input("a", DType::BF16, {m, k});
  uint32_t b = g.input("b", DType::BF16, {k, n});
  uint32_t d = g.matmul(a, {1}, b, {0}, DType::F32);
  g.output("f32", d);
  g.output("bf16", g.cast(d, DType::BF16));
  BuiltGraph graph = g.build();
  Problem problem;
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 2, problem), "");
  Evaluation result = run(graph, problem, Mode::Eager, true);
  Tensor off = result.outputs[0], lost = result.outputs[1];
  for (int64_t i = 0; i < m * n; ++i) {
    double magnitudes = 0, last = 0;
    for (int64_t p = 0; p < k; ++p) {
      last = problem.inputs[0].at(i / n * k + p) *
             problem.inputs[1].at(p * n + i % n);
      magnitudes += std::fabs(last);
    }
    double contract = 0x1p-22 * 7 * magnitudes;
    double bound = result.bounds[0][size_t(i)];
    EXPECT_GE(bound, contract - ulp(DType::F32, off.at(i)));
    EXPECT_LE(bound, contract + ulp(DType::F32, off.at(i)));
    off.set(i, off.at(i) + 2 * bound);
    lost.set(i, lost.at(i) - last);
  }
  EXPECT_EQ(compareBounds(off, result.outputs[0], result.bounds[0]).mismatches,
            m * n);
  EXPECT_GT(compareBounds(lost, result.outputs[1], result.bounds[1]).mismatches,
            m * n * 3 / 4);
}

/// Without a route the precision's promise is part of the bound; with one the
/// operands are rounded and only accumulation is left.
TEST(Bounds, PrecisionsAndRoutes) {
  struct {
    Precision precision;
    DType type;
    uint32_t terms;
    double least, most; // of sum|a||b|, without route
  } cases[] = {
      {Precision::Ieee, DType::F32, 1, 0x1p-21, 0x1p-19},
      {Precision::Tf32, DType::BF16, 3, 0x1p-10, 0x1.1p-10},
      {Precision::Bf16x3, DType::BF16, 3, 0x1p-15, 0x1.8p-15},
      {Precision::Fp16, DType::F16, 1, 0x1p-10, 0x1.1p-10},
      {Precision::Bf16, DType::BF16, 1, 0x1p-7, 0x1.1p-7},
  };
  for (const auto &entry : cases) {
    GraphBuilder g("product");
    uint32_t a = g.input("a", DType::F32, {1, 64});
    uint32_t b = g.input("b", DType::F32, {64, 1});
    g.output("c", g.matmul(a, {1}, b, {0}, DType::F32, entry.precision));
    BuiltGraph graph = g.build();
    Problem problem;
    ASSERT_EQ(makeInputs(*graph, Inputs::Random, 2, problem), "");
    double magnitudes = 0;
    for (int64_t k = 0; k < 64; ++k)
      magnitudes +=
          std::fabs(problem.inputs[0].at(k) * problem.inputs[1].at(k));
    Evaluation eager = run(graph, problem, Mode::Eager, true);
    EXPECT_GE(eager.bounds[0][0], entry.least * magnitudes);
    EXPECT_LE(eager.bounds[0][0], entry.most * magnitudes);
    bundle::ProductT product;
    product.route = "test";
    product.a_type = product.b_type = entry.type;
    product.terms = entry.terms;
    BuiltProducts products({product});
    Evaluation declared = run(graph, problem, Mode::Declared, true, &products);
    EXPECT_LE(declared.bounds[0][0],
              (entry.terms * 4 * 0x1p-22 + 0x1p-23) * magnitudes);
    // Eager's bound covers what the route does.
    EXPECT_LE(std::fabs(declared.outputs[0].at(0) - eager.outputs[0].at(0)),
              eager.bounds[0][0]);
  }
}

TEST(Bounds, Sums) {
  GraphBuilder g("sum");
  uint32_t x = g.input("x", DType::F32, {100, 3});
  g.output("direct", g.sum(x, {0}, DType::F32));
  g.output("functions", g.sum(g.op(OpKind::Exp, {x}), {0}, DType::F32));
  BuiltGraph graph = g.build();
  Problem problem;
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 2, problem), "");
  Evaluation result = run(graph, problem, Mode::Eager, true);
  for (int64_t c = 0; c < 3; ++c) {
    double magnitudes = 0, functions = 0;
    for (int64_t r = 0; r < 100; ++r) {
      magnitudes += std::fabs(problem.inputs[0].at(r * 3 + c));
      functions += std::exp(problem.inputs[0].at(r * 3 + c));
    }
    EXPECT_NEAR(result.bounds[0][size_t(c)], 7 * 0x1p-22 * magnitudes,
                ulp(DType::F32, magnitudes));
    EXPECT_GE(result.bounds[1][size_t(c)],
              (7 * 0x1p-22 + 0x1p-20) * functions - ulp(DType::F32, functions));
    EXPECT_LE(result.bounds[1][size_t(c)],
              1.2 * (7 * 0x1p-22 + 0x1p-20) * functions);
  }
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// Where a comparison may go either way, the bound covers both branches.
TEST(Bounds, DecisionsNearTies) {
  GraphBuilder g("decision");
  uint32_t a = g.input("a", DType::F32, {2, 2});
  uint32_t b = g.input("b", DType::F32, {2, 1});
  uint32_t d = g.matmul(a, {1}, b, {0}, DType::F32, Precision::Ieee);
  uint32_t zero = g.constant(0, d), five = g.constant(5, d);
  uint32_t positive = g.compare(OpKind::CmpOgt, d, zero);
  g.output("select", g.op(OpKind::Select, {positive, five, d}));
  g.output("grad", g.op(OpKind::ReluGrad, {d}));
  g.output("relu", g.op(OpKind::Relu, {d}));
  Problem problem;
  // Row 0: 1 - 1 + 2^-24, on either side of 0. Row 1: 2.
  problem.inputs = {makeTensor(DType::F32, {2, 2}, {1, -1 + 0x1p-24, 1, 1}),
                    makeTensor(DType::F32, {2, 1}, {1, 1})};
  Evaluation result = run(g.build(), problem, Mode::Eager, true);
  EXPECT_EQ(result.outputs[0].at(0), 5);
  EXPECT_GE(result.bounds[0][0], 5);
  EXPECT_LE(result.bounds[0][0], 5.1);
  EXPECT_EQ(result.bounds[0][1], 0);
  EXPECT_EQ(result.bounds[1][0], 1);
  EXPECT_EQ(result.bounds[1][1], 0);
  EXPECT_LE(result.bounds[2][0], 0x1p-20);
}

/// A rounding near a tie may go either way: one ulp; elsewhere no error is
/// left.
TEST(Bounds, RoundingsNearTies) {
  GraphBuilder g("rounding");
  uint32_t a = g.input("a", DType::F32, {2, 2});
  uint32_t b = g.input("b", DType::F32, {2, 1});
  g.output("d", g.matmul(a, {1}, b, {0}, DType::BF16, Precision::Ieee));
  Problem problem;
  // Row 0: 1 + 2^-8, a tie of bf16. Row 1: 1 + 2^-9.
  problem.inputs = {makeTensor(DType::F32, {2, 2}, {1, 0x1p-8, 1, 0x1p-9}),
                    makeTensor(DType::F32, {2, 1}, {1, 1})};
  Evaluation result = run(g.build(), problem, Mode::Eager, true);
  EXPECT_EQ(valuesOf(result.outputs[0]), (std::vector<double>{1, 1}));
  EXPECT_EQ(result.bounds[0][0], 0x1p-7);
  EXPECT_EQ(result.bounds[0][1], 0);
}

//===----------------------------------------------------------------------===//
// Whole graphs
//===----------------------------------------------------------------------===//

namespace {
/// A device that uses what the contract allows: each sum and each function off
/// by a random part of its bound. Written for the two founding graphs, apart
/// from the evaluator.
class Device {
public:
  explicit Device(uint64_t seed) : random(seed) {}

  float sum(DType type, const std::vector<double> &terms) {
    double sum = 0, magnitudes = 0;
    for (double term : terms) {
      sum += term;
      magnitudes += std::fabs(term);
    }
    double bound =
        0x1p-22 * double((terms.size() + 15) / 16) * magnitudes * 0.99;
    return float(roundElementwise(type, sum + bound * side()));
  }
  float function(DType type, double value) {
    return float(roundElementwise(type, value * (1 + 0x1p-20 * side())));
  }

private:
  std::mt19937_64 random;
  /// Mostly the ends of [-1, 1].
  double side() {
    auto bits = random();
    return bits & 1   ? 0.999
           : bits & 2 ? -0.999
                      : double(bits >> 11) * 0x1p-52 - 1;
  }
};
} // namespace

TEST(Bounds, DeviceWithinContractPassesSsmGateBackward) {
  constexpr int64_t hidden = 32, expanded = 24, tokens = 45;
  BuiltGraph graph = ssmGateBackward(hidden, expanded);
  Problem problem;
  problem.dims = {{"batch_size", 1}, {"seq_len", tokens}};
  problem.params = {{"use_silu_gate", 1}};
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 6, problem), "");
  BuiltProducts none({});
  Evaluation result = run(graph, problem, Mode::Declared, true, &none);
  const std::vector<Tensor> &in = problem.inputs;
  constexpr DType type = DType::BF16;
  auto bf16 = [](double x) { return roundElementwise(DType::BF16, x); };
  int64_t differences = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Device device(seed);
    Evaluation actual = result;
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t n = 0; n < expanded; ++n) {
        std::vector<double> terms;
        for (int64_t k = 0; k < hidden; ++k)
          terms.push_back(in[0].at(t * hidden + k) *
                          in[3].at(k * expanded + n));
        int64_t i = t * expanded + n;
        double d = device.sum(type, terms), gate = in[2].at(i);
        double s = device.function(type, 1 / (1 + std::exp(-gate)));
        double grad = bf16(s * bf16(1 + bf16(gate * bf16(1 - s))));
        actual.outputs[0].set(i, bf16(d * in[5].at(i)));
        actual.outputs[1].set(i, bf16(bf16(d * in[1].at(i)) * grad));
      }
    for (size_t o = 0; o < 2; ++o) {
      EXPECT_EQ(
          compareBounds(actual.outputs[o], result.outputs[o], result.bounds[o])
              .mismatches,
          0);
      differences +=
          compareBits(actual.outputs[o], result.outputs[o]).mismatches;
    }
  }
  EXPECT_GT(differences, 0); // the device did go its own way
  // Most bounds are 0: a wrong last bit is seen almost everywhere.
  auto zeros =
      std::count(result.bounds[1].begin(), result.bounds[1].end(), 0.0);
  EXPECT_GT(zeros, tokens * expanded * 9 / 10);
}

/// 022 with fp16 operands: the error of dH reaches the second products, also
/// through the rounding of dH to fp16.
TEST(Bounds, DeviceWithinContractPassesMlpGeluBackward) {
  constexpr int64_t hidden = 40, intermediate = 30, tokens = 21;
  BuiltGraph graph = mlpGeluBackward(hidden, intermediate, Precision::Fp16);
  Problem problem;
  problem.dims = {{"seq_len", tokens}};
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 6, problem), "");
  std::vector<bundle::ProductT> products;
  for (uint32_t i = 0; i < graph->ops()->size(); ++i)
    if (graph->ops()->Get(i)->kind() == OpKind::Matmul) {
      products.emplace_back();
      products.back().op = i;
      products.back().route = "fp16";
      products.back().a_type = products.back().b_type = DType::F16;
      products.back().terms = 1;
    }
  BuiltProducts built(products);
  Evaluation result = run(graph, problem, Mode::Declared, true, &built);
  const std::vector<Tensor> &in = problem.inputs;
  auto half = [](double x) { return roundOnce(DType::F16, x); };
  double widest = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Device device(seed);
    std::vector<float> dh(size_t(tokens * intermediate));
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t n = 0; n < intermediate; ++n) {
        std::vector<double> terms;
        for (int64_t k = 0; k < hidden; ++k)
          terms.push_back(half(in[0].at(t * hidden + k)) *
                          half(in[4].at(k * intermediate + n)));
        float dg = device.sum(DType::F32, terms);
        // The graph's f32 ops in f32.
        auto f = float(in[6].at(t * intermediate + n));
        float square = f * f;
        float u = 0.7978845608028654f * (f + 0.044715f * (square * f));
        float tanh = device.function(DType::F32, std::tanh(double(u)));
        float left = 0.5f * (1 + tanh), sech = 1 - tanh * tanh;
        float slope = 0.7978845608028654f * (1 + 0.134145f * square);
        dh[size_t(t * intermediate + n)] =
            dg * (left + 0.5f * f * sech * slope);
      }
    Tensor gradX = result.outputs[0], gradBias = result.outputs[2];
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t h = 0; h < hidden; ++h) {
        std::vector<double> terms;
        for (int64_t n = 0; n < intermediate; ++n)
          terms.push_back(half(dh[size_t(t * intermediate + n)]) *
                          half(in[2].at(n * hidden + h)));
        gradX.set(t * hidden + h, device.sum(DType::F32, terms));
      }
    for (int64_t n = 0; n < intermediate; ++n) {
      std::vector<double> terms;
      for (int64_t t = 0; t < tokens; ++t)
        terms.push_back(dh[size_t(t * intermediate + n)]);
      gradBias.set(n, device.sum(DType::F32, terms));
    }
    Comparison x = compareBounds(gradX, result.outputs[0], result.bounds[0]);
    Comparison bias =
        compareBounds(gradBias, result.outputs[2], result.bounds[2]);
    EXPECT_EQ(x.mismatches, 0);
    EXPECT_EQ(bias.mismatches, 0);
    widest = std::max(widest, x.maxError / result.bounds[0][size_t(x.worst)]);
    // Twice the bounds is too much, everywhere.
    Tensor off = result.outputs[0];
    for (int64_t i = 0; i < off.numElements(); ++i)
      off.set(i, off.at(i) + 2 * result.bounds[0][size_t(i)]);
    EXPECT_EQ(
        compareBounds(off, result.outputs[0], result.bounds[0]).mismatches,
        off.numElements());
  }
  // Not vacuous: the device above comes near them.
  EXPECT_GT(widest, 0.02);
}

/// Where a value may be infinite or outside a function's domain, nothing is
/// promised: the bound is infinite, never smaller than what may happen.
TEST(Bounds, UnboundedErrors) {
  GraphBuilder g("unbounded");
  uint32_t a = g.input("a", DType::F32, {1, 2});
  uint32_t b = g.input("b", DType::F32, {2, 1});
  uint32_t d = g.matmul(a, {1}, b, {0}, DType::F32, Precision::Ieee);
  g.output("log", g.op(OpKind::Log, {d}));
  g.output("quotient", g.op(OpKind::Div, {g.constant(1, d), d}));
  uint32_t huge =
      g.op(OpKind::Exp, {g.op(OpKind::Mul, {d, g.constant(1e30, d)})});
  g.output("huge", huge);
  g.output("product",
           g.matmul(huge, {1}, huge, {0}, DType::F32, Precision::Ieee));
  Problem problem;
  problem.inputs = {makeTensor(DType::F32, {1, 2}, {1, -1 + 0x1p-24}),
                    makeTensor(DType::F32, {2, 1}, {1, 1})};
  Evaluation result = run(g.build(), problem, Mode::Eager, true);
  for (const std::vector<double> &bounds : result.bounds)
    EXPECT_EQ(bounds[0], HUGE_VAL);
}

/// Broadcasts and reshapes carry bounds along.
TEST(Bounds, Views) {
  GraphBuilder g("views");
  uint32_t x = g.input("x", DType::F32, {3});
  uint32_t e = g.op(OpKind::Exp, {x});
  uint32_t rows = g.broadcast(e, {2, 3}, {1});
  g.output("flat", g.reshape(rows, {6}));
  Problem problem;
  problem.inputs = {makeTensor(DType::F32, {3}, {0, 1, 2})};
  Evaluation result = run(g.build(), problem, Mode::Eager, true);
  for (size_t i = 0; i < 6; ++i) {
    double value = std::exp(double(i % 3));
    EXPECT_NEAR(result.bounds[0][i], i % 3 ? 0x1p-20 * value : 0,
                0x1p-22 * value);
  }
}
