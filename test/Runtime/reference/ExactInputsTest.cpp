//===- ExactInputsTest.cpp - Inputs on which a graph is exact -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestHelpers.h"

#include "Inputs.h"

#include <cmath>
#include <set>

using namespace backfuse;
using namespace backfuse::reference;
using namespace backfuse::test;
using bundle::DType;
using bundle::OpKind;
using bundle::Precision;

static Problem makeExact(const BuiltGraph &graph,
                         const std::map<std::string, int64_t> &dims,
                         uint64_t seed = 1) {
  Problem problem;
  problem.dims = dims;
  problem.params = {{"use_silu_gate", 1}};
  EXPECT_EQ(makeInputs(*graph, Inputs::Exact, seed, problem), "");
  return problem;
}

/// The choices at sizes that need not be filled in.
static Error choose(const BuiltGraph &graph,
                    const std::map<std::string, int64_t> &dims,
                    std::vector<LeafChoice> &choices) {
  ResolvedGraph resolved;
  if (Error error = resolve(*graph, dims, resolved); !error.empty())
    return error;
  return chooseExactInputs(*graph, resolved, {},
                           std::vector<int64_t>(graph->inputs()->size(), 0),
                           choices);
}

/// Adds f32 terms in several orders; expects one result, which it returns.
static float addInAnyOrder(const std::vector<float> &terms) {
  float forward = 0, backward = 0, halves[2] = {}, strided[16] = {};
  for (size_t i = 0; i < terms.size(); ++i) {
    forward += terms[i];
    backward += terms[terms.size() - 1 - i];
    halves[i < terms.size() / 2] += terms[i];
    strided[i * 7919 % 16] += terms[i];
  }
  float lanes = 0;
  for (float lane : strided)
    lanes += lane;
  EXPECT_EQ(forward, backward);
  EXPECT_EQ(forward, halves[0] + halves[1]);
  EXPECT_EQ(forward, lanes);
  return forward;
}

//===----------------------------------------------------------------------===//
// The founding graphs
//===----------------------------------------------------------------------===//

/// 079: products and sums are the same in any order of f32 additions, at every
/// token count; the gate is at points where sigmoid is exact.
TEST(ExactInputs, SsmGateBackward) {
  constexpr int64_t hidden = 24, expanded = 40;
  BuiltGraph graph = ssmGateBackward(hidden, expanded);
  for (int64_t tokens : {1, 2, 131, 2049}) {
    Problem problem =
        makeExact(graph, {{"batch_size", 1}, {"seq_len", tokens}});
    Evaluation result = run(graph, problem);
    const std::vector<Tensor> &in = problem.inputs;
    std::set<double> gates;
    for (double gate : valuesOf(in[2]))
      gates.insert(gate);
    for (double gate : gates)
      EXPECT_TRUE(gate == 0 || std::fabs(gate) == 1024) << gate;
    for (int64_t h = 0; h < hidden; ++h) {
      for (int64_t e = 0; e < expanded; ++e) {
        std::vector<float> terms;
        for (int64_t t = 0; t < tokens; ++t)
          terms.push_back(float(in[0].at(t * hidden + h)) *
                          float(in[6].at(t * expanded + e)));
        Tensor rounded = makeTensor(DType::BF16, {1}, {addInAnyOrder(terms)});
        EXPECT_EQ(result.outputs[2].at(h * expanded + e), rounded.at(0));
      }
      std::vector<float> terms;
      for (int64_t t = 0; t < tokens; ++t)
        terms.push_back(float(in[0].at(t * hidden + h)));
      Tensor rounded = makeTensor(DType::BF16, {1}, {addInAnyOrder(terms)});
      EXPECT_EQ(result.outputs[3].at(h), rounded.at(0));
    }
  }
}

/// 022: chained f32 products. Nothing rounds at all, and operands survive every
/// route's rounding: eager, f64 and all declared evaluations agree in every
/// bit.
TEST(ExactInputs, MlpGeluBackward) {
  BuiltGraph graph = mlpGeluBackward(200, 333, Precision::Tf32);
  struct {
    DType type;
    uint32_t terms;
  } routes[] = {{DType::F16, 1}, {DType::BF16, 1}, {DType::BF16, 3}};
  for (int64_t tokens : {1, 7, 131, 700}) {
    Problem problem = makeExact(graph, {{"seq_len", tokens}});
    Evaluation eager = run(graph, problem);
    Evaluation exact = run(graph, problem, Mode::Exact);
    for (size_t o = 0; o < eager.outputs.size(); ++o)
      EXPECT_EQ(valuesOf(eager.outputs[o]), exact.exact[o]) << "output " << o;
    for (const auto &route : routes) {
      std::vector<bundle::ProductT> products;
      for (uint32_t i = 0; i < graph->ops()->size(); ++i)
        if (graph->ops()->Get(i)->kind() == OpKind::Matmul) {
          products.emplace_back();
          products.back().op = i;
          products.back().route = "test";
          products.back().a_type = products.back().b_type = route.type;
          products.back().terms = route.terms;
        }
      ASSERT_EQ(products.size(), 4u);
      BuiltProducts built(products);
      Evaluation declared = run(graph, problem, Mode::Declared, false, &built);
      for (size_t o = 0; o < eager.outputs.size(); ++o)
        EXPECT_EQ(compareBits(declared.outputs[o], eager.outputs[o]).mismatches,
                  0);
    }
  }
}

/// dH, the operand of the second products of 022, is not trivial: each row has
/// many different values, and zeros are no majority.
TEST(ExactInputs, ChainedOperandsAreRich) {
  BuiltGraph graph = mlpGeluBackward(1280, 512, Precision::Tf32);
  Problem problem = makeExact(graph, {{"seq_len", 9}});
  // With W1 = identity, grad_hidden would be dH; take the bias gradient's terms
  // instead: with one token they are dH.
  Problem one = makeExact(graph, {{"seq_len", 1}});
  std::vector<double> dh = valuesOf(run(graph, one).outputs[2]);
  std::set<double> distinct(dh.begin(), dh.end());
  EXPECT_GT(distinct.size(), 15u);
  size_t zeros = 0;
  for (double value : dh) {
    zeros += value == 0;
    EXPECT_LE(std::fabs(value), 128);
    EXPECT_EQ(value * 2, std::trunc(value * 2));
  }
  EXPECT_LT(zeros, dh.size() / 2);
}

/// The published and the promised sizes; choices only, nothing is filled in.
TEST(ExactInputs, RealSizes) {
  BuiltGraph ssm = ssmGateBackward(768, 1536);
  std::vector<LeafChoice> choices;
  for (int64_t tokens : {int64_t(0), int64_t(1), int64_t(74432),
                         int64_t(1400000), int64_t(1) << 21}) {
    ASSERT_EQ(choose(ssm, {{"batch_size", 1}, {"seq_len", tokens}}, choices),
              "");
    double terms = double(choices[0].magnitude * choices[6].magnitude);
    EXPECT_LE(double(tokens) * terms, 0x1p24);
    EXPECT_LE(768.0 * double(choices[0].magnitude * choices[3].magnitude),
              0x1p24);
    EXPECT_GE(choices[0].magnitude, 2);
    EXPECT_EQ(choices[0].spacing, 1); // dense
    EXPECT_EQ(choices[2].points, (std::vector<double>{0, 1024, -1024}));
    // What reaches outputs only by elementwise ops has more bits.
    EXPECT_EQ(choices[1].magnitude, 31);
  }
  struct {
    int64_t hidden, intermediate, tokens;
  } sizes[] = {{1280, 3584, 1}, {1280, 3584, 4097}, {2048, 8192, 8192}};
  for (const auto &size : sizes) {
    BuiltGraph mlp =
        mlpGeluBackward(size.hidden, size.intermediate, Precision::Tf32);
    ASSERT_EQ(choose(mlp, {{"seq_len", size.tokens}}, choices), "");
    const LeafChoice &dy = choices[0], &x = choices[1], &w1 = choices[2],
                     &w2 = choices[4];
    // |dG| <= nonzeros of a row of dY, and dH has half of dG's unit.
    int64_t nonzeros = (size.hidden + dy.spacing - 1) / dy.spacing;
    double dg = double(nonzeros * dy.magnitude * w2.magnitude);
    EXPECT_TRUE((dy.fiber == Fiber{size.hidden, 1}));
    EXPECT_LE(dg, 128);
    EXPECT_GE(dg, 100);
    EXPECT_LE(2 * dg * double(size.intermediate * w1.magnitude), 0x1p24);
    EXPECT_LE(2 * dg * double(size.tokens * x.magnitude), 0x1p24);
  }
}

//===----------------------------------------------------------------------===//
// What exact inputs must reveal
//===----------------------------------------------------------------------===//

/// Exchanges two index ranges along a flattened axis of length `length`.
static void exchange(Tensor &tensor, int64_t length, int64_t inner, int64_t a,
                     int64_t b, int64_t count) {
  Tensor copy = tensor;
  for (int64_t i = 0; i < tensor.numElements(); ++i) {
    int64_t along = i / inner % length, other = along;
    if (along >= a && along < a + count)
      other = along - a + b;
    else if (along >= b && along < b + count)
      other = along - b + a;
    tensor.set(i, copy.at(i + (other - along) * inner));
  }
}

/// Whether the problem gives other results.
static bool changes(const BuiltGraph &graph, const Problem &problem,
                    const Evaluation &expected, size_t output) {
  Evaluation result = run(graph, problem);
  return compareBits(result.outputs[output], expected.outputs[output])
             .mismatches > 0;
}

/// Swapped rows, columns and blocks along K, a lost tail and a doubled split
/// all change some bit.
TEST(ExactInputs, MistakesShow) {
  constexpr int64_t hidden = 128, expanded = 256, tokens = 131;
  BuiltGraph graph = ssmGateBackward(hidden, expanded);
  Problem problem = makeExact(graph, {{"batch_size", 1}, {"seq_len", tokens}});
  Evaluation expected = run(graph, problem);
  for (int64_t step : {1, 2, 8, 16, 64}) {
    Problem rows = problem;
    exchange(rows.inputs[0], tokens, hidden, 0, step, 1);
    EXPECT_TRUE(changes(graph, rows, expected, 0)) << "rows " << step;
    Problem columns = problem;
    exchange(columns.inputs[3], expanded, 1, 3, 3 + step, 1);
    EXPECT_TRUE(changes(graph, columns, expected, 0)) << "columns " << step;
    if (step > 32)
      continue;
    // Blocks of K in one operand only, as a wrong swizzle or stage would.
    Problem blocks = problem;
    exchange(blocks.inputs[0], hidden, 1, 0, step, step);
    EXPECT_TRUE(changes(graph, blocks, expected, 0)) << "K of D " << step;
    blocks = problem;
    exchange(blocks.inputs[0], tokens, hidden, 0, step, step);
    EXPECT_TRUE(changes(graph, blocks, expected, 2)) << "K of dW " << step;
  }
  // The last token is not added, or a split of 16 tokens is added twice.
  Problem tail = problem;
  for (int64_t i = (tokens - 1) * hidden; i < tokens * hidden; ++i)
    tail.inputs[0].set(i, 0);
  EXPECT_TRUE(changes(graph, tail, expected, 2));
  EXPECT_TRUE(changes(graph, tail, expected, 3));
  Problem twice = problem;
  for (int64_t i = 0; i < 16 * hidden; ++i)
    twice.inputs[0].set(i, 2 * problem.inputs[0].at(i));
  EXPECT_TRUE(changes(graph, twice, expected, 2));
  EXPECT_TRUE(changes(graph, twice, expected, 3));
}

/// No two rows and no two columns of an operand are equal, sparse ones
/// included.
TEST(ExactInputs, RowsAndColumnsDiffer) {
  BuiltGraph graph = mlpGeluBackward(320, 96, Precision::Tf32);
  Problem problem = makeExact(graph, {{"seq_len", 257}});
  for (size_t i : {0, 1, 2, 4, 6}) {
    const Tensor &tensor = problem.inputs[i];
    int64_t rows = tensor.shape[0], columns = tensor.shape[1];
    std::set<std::vector<double>> distinctRows, distinctColumns;
    for (int64_t r = 0; r < rows; ++r) {
      std::vector<double> row;
      for (int64_t c = 0; c < columns; ++c)
        row.push_back(tensor.at(r * columns + c));
      distinctRows.insert(row);
    }
    for (int64_t c = 0; c < columns; ++c) {
      std::vector<double> column;
      for (int64_t r = 0; r < rows; ++r)
        column.push_back(tensor.at(r * columns + c));
      distinctColumns.insert(column);
    }
    EXPECT_EQ(int64_t(distinctRows.size()), rows) << "input " << i;
    EXPECT_EQ(int64_t(distinctColumns.size()), columns) << "input " << i;
  }
}

TEST(ExactInputs, SeedsDiffer) {
  BuiltGraph graph = ssmGateBackward(8, 16);
  std::map<std::string, int64_t> dims = {{"batch_size", 2}, {"seq_len", 5}};
  Problem one = makeExact(graph, dims, 1), again = makeExact(graph, dims, 1);
  Problem two = makeExact(graph, dims, 2);
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    EXPECT_EQ(one.inputs[i].bytes, again.inputs[i].bytes);
    EXPECT_NE(one.inputs[i].bytes, two.inputs[i].bytes);
  }
}

//===----------------------------------------------------------------------===//
// Other graphs of the family
//===----------------------------------------------------------------------===//

/// GEGLU forward: the function reads a product, whose unit grows until it is 0
/// or in the function's tails.
TEST(ExactInputs, FunctionOfAProduct) {
  for (OpKind kind : {OpKind::GeluTanh, OpKind::GeluErf, OpKind::Silu,
                      OpKind::Sigmoid, OpKind::SiluGrad, OpKind::Tanh}) {
    GraphBuilder g("geglu");
    uint32_t x = g.input("x", DType::BF16, {9, 64});
    uint32_t wg = g.input("gate_weight", DType::BF16, {20, 64});
    uint32_t wu = g.input("up_weight", DType::BF16, {20, 64});
    uint32_t bias = g.input("bias", DType::BF16, {20});
    uint32_t gate = g.matmul(x, {1}, wg, {1}, DType::BF16);
    gate = g.op(OpKind::Add, {gate, g.broadcast(bias, {9, 20}, {1})});
    uint32_t up = g.matmul(x, {1}, wu, {1}, DType::BF16);
    uint32_t act = g.cast(g.op(kind, {g.cast(gate, DType::F32)}), DType::BF16);
    g.output("gate", gate);
    g.output("act", act);
    g.output("out", g.op(OpKind::Mul, {act, up}));
    BuiltGraph graph = g.build();
    Problem problem = makeExact(graph, {});
    Evaluation result = run(graph, problem, Mode::Eager, true);
    std::set<double> positive;
    for (double value : valuesOf(result.outputs[0])) {
      EXPECT_TRUE(value == 0 || std::fabs(value) >= 32) << value;
      positive.insert(value > 0);
    }
    EXPECT_EQ(positive.size(), 2u);
  }
}

/// A sigmoid written out passes through infinity, a derivative by a cubic.
TEST(ExactInputs, FunctionsWrittenOut) {
  GraphBuilder g("sigmoid");
  uint32_t x = g.input("x", DType::F32, {64});
  uint32_t one = g.constant(1, x);
  uint32_t e = g.op(OpKind::Exp, {g.op(OpKind::Neg, {x})});
  uint32_t s = g.op(OpKind::Div, {one, g.op(OpKind::Add, {one, e})});
  g.output("s", s);
  g.output("sum", g.sum(s, {0}, DType::F32));
  BuiltGraph graph = g.build();
  Problem problem = makeExact(graph, {});
  Evaluation result = run(graph, problem);
  std::set<double> seen;
  for (int64_t i = 0; i < 64; ++i) {
    double x = problem.inputs[0].at(i), y = result.outputs[0].at(i);
    seen.insert(y);
    EXPECT_EQ(y, x == 0 ? 0.5 : x > 0 ? 1 : 0);
  }
  EXPECT_EQ(seen.size(), 3u);
}

/// Row scales by reciprocal square roots; booleans; comparisons.
TEST(ExactInputs, OtherFunctions) {
  GraphBuilder g("norm");
  Extent t = g.dim("T");
  uint32_t x = g.input("x", DType::F32, {t, 16});
  uint32_t variance = g.input("variance", DType::F32, {t});
  uint32_t mask = g.input("mask", DType::I1, {t, 16});
  uint32_t scale = g.broadcast(g.op(OpKind::Rsqrt, {variance}), {t, 16}, {0});
  uint32_t y = g.op(OpKind::Mul, {x, scale});
  uint32_t z = g.op(OpKind::Select, {mask, y, g.constant(0, y)});
  uint32_t positive = g.compare(OpKind::CmpOgt, z, g.constant(0, z));
  uint32_t relu = g.op(OpKind::Select, {positive, z, g.constant(0, z)});
  g.output("sum", g.sum(g.op(OpKind::Sub, {relu, z}), {0}, DType::F32));
  BuiltGraph graph = g.build();
  Problem problem = makeExact(graph, {{"T", 40}});
  for (double value : valuesOf(problem.inputs[1]))
    EXPECT_TRUE(value == 1024 || value == 1 || value == 4 || value == 0.25)
        << value;
  Evaluation eager = run(graph, problem);
  EXPECT_EQ(valuesOf(eager.outputs[0]),
            run(graph, problem, Mode::Exact).exact[0]);
}

/// A sum of rounded values: D + 1 in bf16 is still an integer.
TEST(ExactInputs, SumOfRoundedValues) {
  GraphBuilder g("sum");
  Extent t = g.dim("T");
  uint32_t a = g.input("a", DType::BF16, {t, 512});
  uint32_t b = g.input("b", DType::BF16, {512, 8});
  uint32_t d = g.matmul(a, {1}, b, {0}, DType::BF16);
  g.output("sum",
           g.sum(g.op(OpKind::Add, {d, g.constant(1, d)}), {0}, DType::F32));
  BuiltGraph graph = g.build();
  Problem problem = makeExact(graph, {{"T", 5000}});
  Evaluation eager = run(graph, problem);
  double sum = 0;
  std::vector<float> terms;
  for (int64_t i = 0; i < 5000; ++i) {
    double product = 0;
    for (int64_t k = 0; k < 512; ++k)
      product +=
          problem.inputs[0].at(i * 512 + k) * problem.inputs[1].at(k * 8);
    Tensor value = makeTensor(DType::BF16, {1}, {product});
    value.set(0, value.at(0) + 1);
    terms.push_back(float(value.at(0)));
    sum += value.at(0);
  }
  EXPECT_EQ(eager.outputs[0].at(0), addInAnyOrder(terms));
  EXPECT_EQ(eager.outputs[0].at(0), sum);
}

/// What cannot be exact is refused with the op and the reason.
TEST(ExactInputs, Refusals) {
  {
    GraphBuilder g("softplus");
    uint32_t x = g.input("x", DType::F32, {4, 4});
    uint32_t y = g.matmul(x, {1}, x, {1}, DType::F32, Precision::Ieee);
    g.output("y", g.op(OpKind::Log, {y}));
    Problem problem;
    EXPECT_EQ(makeInputs(*g.build(), Inputs::Exact, 1, problem),
              "no exact inputs: op 1 (Log) meets points at which it is not "
              "exact");
  }
  {
    GraphBuilder g("thirds");
    uint32_t x = g.input("x", DType::F32, {4, 4});
    uint32_t third = g.op(OpKind::Div, {x, g.constant(3, x)});
    g.output("y", g.matmul(third, {1}, x, {1}, DType::F32, Precision::Ieee));
    Problem problem;
    EXPECT_NE(makeInputs(*g.build(), Inputs::Exact, 1, problem)
                  .find("no exact inputs: op 2 (Matmul)"),
              std::string::npos);
  }
  {
    GraphBuilder g("long");
    Extent t = g.dim("T");
    uint32_t x = g.input("x", DType::F32, {t, 4});
    g.output("y", g.sum(g.op(OpKind::Mul, {x, g.constant(0.1, x)}), {0},
                        DType::F32));
    std::vector<LeafChoice> choices;
    EXPECT_NE(choose(g.build(), {{"T", 100}}, choices)
                  .find("more than f32 holds exactly"),
              std::string::npos);
  }
}

//===----------------------------------------------------------------------===//
// Huge token counts
//===----------------------------------------------------------------------===//

/// Windows and weighted sums give what the whole problem gives.
TEST(PeriodicInputs, AgreeWithTheWholeProblem) {
  BuiltGraph graph = ssmGateBackward(24, 40);
  for (int64_t tokens : {5, 37, 74, 1000}) {
    Problem problem;
    problem.dims = {{"batch_size", 1}, {"seq_len", tokens}};
    problem.params = {{"use_silu_gate", 1}};
    PeriodicInputs inputs;
    ASSERT_EQ(makePeriodicInputs(*graph, 3, problem, {"batch_size", "seq_len"},
                                 37, inputs),
              "");
    EXPECT_EQ(inputs.numTokens(), tokens);
    Evaluation whole = run(graph, makeWindow(inputs, 0, tokens));
    Evaluation reductions;
    ASSERT_EQ(evaluateReductions(*graph, inputs, {}, reductions), "");
    EXPECT_TRUE(reductions.outputs[0].bytes.empty());
    EXPECT_TRUE(reductions.outputs[1].bytes.empty());
    EXPECT_EQ(reductions.outputs[2].bytes, whole.outputs[2].bytes);
    EXPECT_EQ(reductions.outputs[3].bytes, whole.outputs[3].bytes);
    int64_t rows = std::min<int64_t>(tokens, 11);
    for (int64_t first : {int64_t(0), tokens - rows}) {
      Evaluation window = run(graph, makeWindow(inputs, first, rows));
      for (size_t o : {0, 1}) {
        auto from = whole.outputs[o].bytes.begin() + first * 40 * 2;
        EXPECT_EQ(window.outputs[o].bytes,
                  std::vector<unsigned char>(from, from + rows * 40 * 2));
      }
    }
  }
}

/// 1,400,000 tokens in two dimensions, feature sizes cut: sums stay exact.
TEST(PeriodicInputs, HugeTokenCounts) {
  BuiltGraph graph = ssmGateBackward(16, 32);
  Problem problem;
  problem.dims = {{"batch_size", 7}, {"seq_len", 200000}};
  problem.params = {{"use_silu_gate", 0}};
  PeriodicInputs inputs;
  ASSERT_EQ(makePeriodicInputs(*graph, 3, problem, {"batch_size", "seq_len"},
                               4093, inputs),
            "");
  EXPECT_EQ(inputs.tensors[0].shape, (Shape{1, 4093, 16}));
  EXPECT_EQ(inputs.tensors[3].shape, (Shape{16, 32}));
  Evaluation result;
  ASSERT_EQ(evaluateReductions(*graph, inputs, {}, result), "");
  for (int64_t h = 0; h < 16; ++h) {
    double sum = 0, absolute = 0;
    for (int64_t t = 0; t < 1400000; ++t) {
      double value = inputs.tensors[0].at(t % 4093 * 16 + h);
      sum += value;
      absolute += std::fabs(value);
    }
    EXPECT_LE(absolute, 0x1p24);
    EXPECT_EQ(result.outputs[3].at(h),
              makeTensor(DType::BF16, {1}, {sum}).at(0));
  }
}

TEST(PeriodicInputs, Refusals) {
  BuiltGraph graph = ssmGateBackward(16, 32);
  Problem problem;
  problem.dims = {{"batch_size", 7}, {"seq_len", 2}};
  PeriodicInputs inputs;
  EXPECT_EQ(makePeriodicInputs(*graph, 3, problem, {"seq_len"}, 5, inputs),
            "the token dimensions are not the leading axes of input "
            "'grad_output'");
  EXPECT_NE(makePeriodicInputs(*graph, 3, problem, {}, 5, inputs), "");
  EXPECT_NE(makePeriodicInputs(*graph, 3, problem, {"batch_size", "seq_len"}, 0,
                               inputs),
            "");
}
