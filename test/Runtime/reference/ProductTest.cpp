//===- ProductTest.cpp - Contractions and sums ----------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestHelpers.h"

#include "ProductKernel.h"
#include "Rounding.h"

#include <cmath>

using namespace backfuse;
using namespace backfuse::reference;
using namespace backfuse::test;
using bundle::DType;
using bundle::OpKind;
using bundle::Precision;

namespace {
/// A product of A (m x k, or k x m) and B (k x n, or n x k).
struct Case {
  int64_t m, n, k;
  bool kFirstA, kFirstB;
};

struct Matrices {
  BuiltGraph graph;
  Problem problem;
};
} // namespace

static Matrices makeMatrices(const Case &c, DType type, DType result,
                             Precision precision, uint64_t seed) {
  GraphBuilder g("matmul");
  Extents a = {c.m, c.k}, b = {c.n, c.k};
  if (c.kFirstA)
    std::swap(a[0], a[1]);
  if (c.kFirstB)
    std::swap(b[0], b[1]);
  uint32_t va = g.input("a", type, a), vb = g.input("b", type, b);
  g.output("c", g.matmul(va, {c.kFirstA ? 0 : 1}, vb, {c.kFirstB ? 0 : 1},
                         result, precision));
  Matrices made{g.build(), {}};
  EXPECT_EQ(makeInputs(*made.graph, Inputs::Random, seed, made.problem), "");
  return made;
}

static double elementA(const Case &c, const Tensor &a, int64_t i, int64_t k) {
  return a.at(c.kFirstA ? k * c.m + i : i * c.k + k);
}
static double elementB(const Case &c, const Tensor &b, int64_t j, int64_t k) {
  return b.at(c.kFirstB ? k * c.n + j : j * c.k + k);
}

/// Odd shapes, all orientations, tails of every block, against long double.
/// The evaluator's own error is far below the contract's bound.
TEST(Product, AgreesWithNaiveSums) {
  for (const Case &c :
       {Case{1, 1, 1, false, false}, Case{3, 5, 7, true, false},
        Case{17, 31, 513, false, true}, Case{257, 3, 129, true, true},
        Case{2, 515, 1025, false, false}, Case{261, 517, 33, false, true},
        Case{19, 23, 1200, true, true}}) {
    Matrices made = makeMatrices(c, DType::F32, DType::F32, Precision::Ieee, 5);
    std::vector<double> exact =
        run(made.graph, made.problem, Mode::Exact).exact[0];
    Tensor eager = run(made.graph, made.problem).outputs[0];
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        long double sum = 0, magnitudes = 0;
        for (int64_t k = 0; k < c.k; ++k) {
          long double term =
              (long double)elementA(c, made.problem.inputs[0], i, k) *
              elementB(c, made.problem.inputs[1], j, k);
          sum += term;
          magnitudes += std::fabs(term);
        }
        double bound = 0x1p-22 * double((c.k + 15) / 16) * double(magnitudes);
        int64_t at = i * c.n + j;
        ASSERT_LE(std::fabs(exact[size_t(at)] - double(sum)), 0x1p-26 * bound);
        ASSERT_LE(std::fabs(eager.at(at) - double(sum)),
                  0x1p-24 * std::fabs(double(sum)) + 0x1p-26 * bound);
      }
  }
}

/// Integers: sums are exact, so every kernel must give the very same.
TEST(Product, KernelsForAllInstructionSetsAgree) {
  std::vector<ProductKernel> kernels = {productKernelBase};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels.push_back(productKernelAvx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    kernels.push_back(productKernelAvx512);
#endif
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                         {5, 9, 3},
                         {24, 48, 77},
                         {65, 31, 200}}) {
    std::vector<double> a(size_t(m * k)), b(size_t(k * n));
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = double(i * 7919 % 31) - 15;
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = double(i * 104729 % 29) - 14;
    for (int layouts = 0; layouts < 4; ++layouts) {
      bool rowsA = layouts & 1, rowsB = layouts & 2;
      int64_t stride = n + 3;
      std::vector<double> expected(size_t(m * stride), 1);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          for (int64_t p = 0; p < k; ++p)
            expected[size_t(i * stride + j)] +=
                a[size_t(rowsA ? i * k + p : p * m + i)] *
                b[size_t(rowsB ? p * n + j : j * k + p)];
      for (ProductKernel kernel : kernels) {
        std::vector<double> c(size_t(m * stride), 1);
        kernel({a.data(), rowsA}, {b.data(), rowsB}, c.data(), stride, m, n, k);
        EXPECT_EQ(c, expected);
      }
    }
  }
}

/// The same bytes for any number of threads, bounds included.
TEST(Product, ThreadsDoNotMatter) {
  BuiltGraph graph = mlpGeluBackward(270, 530, Precision::Tf32);
  Problem problem;
  problem.dims = {{"seq_len", 300}};
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 2, problem), "");
  Evaluation one = run(graph, problem, Mode::Eager, true, nullptr, 1);
  Evaluation four = run(graph, problem, Mode::Eager, true, nullptr, 4);
  for (size_t o = 0; o < one.outputs.size(); ++o) {
    EXPECT_EQ(one.outputs[o].bytes, four.outputs[o].bytes);
    EXPECT_EQ(one.bounds[o], four.bounds[o]);
  }
}

/// bf16 operands, result rounded once; contraction over two leading dimensions
/// and over axes that lie apart.
TEST(Product, ContractsSeveralAxes) {
  GraphBuilder g("contract");
  uint32_t a = g.input("a", DType::BF16, {3, 5, 7});
  uint32_t b = g.input("b", DType::BF16, {3, 5, 2});
  uint32_t d = g.input("d", DType::BF16, {7, 4, 3});
  g.output("leading", g.matmul(a, {0, 1}, b, {0, 1}, DType::BF16));
  // Axes 0 and 2 of A with 2 and 0 of D.
  g.output("apart", g.matmul(a, {0, 2}, d, {2, 0}, DType::F32));
  BuiltGraph graph = g.build();
  Problem problem;
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 9, problem), "");
  Evaluation result = run(graph, problem);
  const std::vector<Tensor> &x = problem.inputs;
  for (int64_t i = 0; i < 7; ++i)
    for (int64_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 15; ++k)
        sum += x[0].at(k * 7 + i) * x[1].at(k * 2 + j);
      EXPECT_EQ(result.outputs[0].at(i * 2 + j), roundOnce(DType::BF16, sum));
    }
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 4; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < 3; ++p)
        for (int64_t q = 0; q < 7; ++q)
          sum += x[0].at((p * 5 + i) * 7 + q) * x[2].at((q * 4 + j) * 3 + p);
      EXPECT_EQ(result.outputs[1].at(i * 4 + j), double(float(sum)));
    }
}

/// Declared: operands rounded as the route says.
TEST(Product, DeclaredRoutes) {
  Case c{5, 6, 40, false, true};
  Matrices made = makeMatrices(c, DType::F32, DType::F32, Precision::Tf32, 11);
  struct {
    DType a, b;
    uint32_t terms;
    bool tf32;
  } routes[] = {
      {DType::F32, DType::F32, 1, false},  {DType::F32, DType::F32, 1, true},
      {DType::F16, DType::F16, 1, false},  {DType::BF16, DType::BF16, 1, false},
      {DType::BF16, DType::F32, 1, false}, {DType::BF16, DType::BF16, 3, false},
      {DType::BF16, DType::BF16, 4, false}};
  for (const auto &route : routes) {
    bundle::ProductT product;
    product.route = "test";
    product.a_type = route.a;
    product.b_type = route.b;
    product.terms = route.terms;
    if (route.tf32)
      product.f32_rounding = bundle::F32Rounding::Tf32;
    auto round = [&](DType type, double value) {
      return route.tf32 ? double(roundToTf32(float(value)))
                        : roundOnce(type, value);
    };
    BuiltProducts products({product});
    Tensor result =
        run(made.graph, made.problem, Mode::Declared, false, &products)
            .outputs[0];
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < c.k; ++k) {
          double x = elementA(c, made.problem.inputs[0], i, k);
          double y = elementB(c, made.problem.inputs[1], j, k);
          double hx = round(route.a, x), hy = round(route.b, y);
          sum += hx * hy;
          if (route.terms > 1) {
            double lx = roundOnce(route.a, x - hx);
            double ly = roundOnce(route.b, y - hy);
            sum += hx * ly + lx * hy + (route.terms > 3 ? lx * ly : 0);
          }
        }
        EXPECT_NEAR(result.at(i * c.n + j), sum, 0x1p-23 * std::fabs(sum))
            << "terms " << route.terms << ", tf32 " << route.tf32;
      }
  }
  EvaluateOptions options;
  options.mode = Mode::Declared;
  Evaluation result;
  EXPECT_NE(evaluate(*made.graph, made.problem, options, result), "");
  BuiltProducts none({});
  options.products = none.get();
  EXPECT_NE(evaluate(*made.graph, made.problem, options, result)
                .find("has f32 operands, but no route"),
            std::string::npos);
}

/// fp16 operands overflow to inf, without hidden scaling.
TEST(Product, DeclaredF16Overflows) {
  GraphBuilder g("overflow");
  uint32_t a = g.input("a", DType::F32, {1, 1}),
           b = g.input("b", DType::F32, {1, 1});
  g.output("c", g.matmul(a, {1}, b, {1}, DType::F32, Precision::Fp16));
  bundle::ProductT product;
  product.route = "fp16";
  product.a_type = product.b_type = DType::F16;
  product.terms = 1;
  BuiltProducts products({product});
  Problem problem;
  problem.inputs = {makeTensor(DType::F32, {1, 1}, {65520}),
                    makeTensor(DType::F32, {1, 1}, {1})};
  EXPECT_TRUE(
      std::isinf(run(g.build(), problem, Mode::Declared, false, &products)
                     .outputs[0]
                     .at(0)));
}

/// Column, row and full sums, in a type of fewer bits than they need.
TEST(Sum, AllAxes) {
  GraphBuilder g("sum");
  uint32_t x = g.input("x", DType::BF16, {4, 300, 5});
  g.output("columns", g.sum(x, {0, 1}, DType::BF16));
  g.output("rows", g.sum(x, {2}, DType::F32));
  g.output("middle", g.sum(x, {1}, DType::F32));
  g.output("all", g.sum(x, {0, 1, 2}, DType::F32));
  Problem problem;
  BuiltGraph graph = g.build();
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 1, problem), "");
  Evaluation result = run(graph, problem);
  std::vector<double> columns(5), rows(1200), middle(20);
  double all = 0;
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 300; ++j)
      for (int64_t k = 0; k < 5; ++k) {
        double value = problem.inputs[0].at((i * 300 + j) * 5 + k);
        columns[size_t(k)] += value;
        rows[size_t(i * 300 + j)] += value;
        middle[size_t(i * 5 + k)] += value;
        all += value;
      }
  for (double &value : columns)
    value = roundOnce(DType::BF16, value);
  EXPECT_EQ(valuesOf(result.outputs[0]), columns);
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_FLOAT_EQ(float(result.outputs[1].at(int64_t(i))), float(rows[i]));
  for (size_t i = 0; i < middle.size(); ++i)
    EXPECT_FLOAT_EQ(float(result.outputs[2].at(int64_t(i))), float(middle[i]));
  EXPECT_FLOAT_EQ(float(result.outputs[3].at(0)), float(all));
}

/// 2^20 bf16 ones and a half: a bf16 running sum would stop at 256.
TEST(Sum, AccumulatesWithoutRounding) {
  GraphBuilder g("long");
  Extent t = g.dim("T");
  uint32_t x = g.input("x", DType::BF16, {t});
  g.output("y", g.sum(x, {0}, DType::F32));
  Problem problem;
  int64_t count = int64_t(1) << 20;
  problem.dims = {{"T", count + 1}};
  std::vector<double> values(size_t(count), 1.0);
  values.push_back(0.5);
  problem.inputs = {makeTensor(DType::BF16, {count + 1}, values)};
  EXPECT_EQ(run(g.build(), problem).outputs[0].at(0), double(count) + 0.5);
}

/// Nothing to add gives 0, in products as in sums.
TEST(Sum, EmptyReductionsAreZero) {
  BuiltGraph graph = ssmGateBackward(8, 16);
  Problem problem;
  problem.dims = {{"batch_size", 2}, {"seq_len", 0}};
  problem.params = {{"use_silu_gate", 1}};
  for (Inputs kind : {Inputs::Random, Inputs::Exact}) {
    ASSERT_EQ(makeInputs(*graph, kind, 1, problem), "");
    Evaluation result = run(graph, problem);
    EXPECT_EQ(result.outputs[0].numElements(), 0);
    EXPECT_EQ(result.outputs[1].numElements(), 0);
    EXPECT_EQ(valuesOf(result.outputs[2]), std::vector<double>(8 * 16, 0.0));
    EXPECT_EQ(valuesOf(result.outputs[3]), std::vector<double>(8, 0.0));
  }
}
