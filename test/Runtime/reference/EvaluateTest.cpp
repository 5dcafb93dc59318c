//===- EvaluateTest.cpp - Shapes, views, parameters and errors ------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestHelpers.h"

#include "Rounding.h"

#include <cmath>
#include <functional>

using namespace backfuse;
using namespace backfuse::reference;
using namespace backfuse::test;
using bundle::DType;
using bundle::OpKind;

/// Row vectors, column vectors and scalars through ops, products and sums.
TEST(Evaluate, BroadcastsAreViews) {
  GraphBuilder g("broadcast");
  uint32_t row = g.input("row", DType::F32, {3});
  uint32_t column = g.input("column", DType::F32, {2});
  uint32_t scale = g.param("scale", DType::F32);
  uint32_t rows = g.broadcast(row, {2, 3}, {1});
  uint32_t columns = g.broadcast(column, {2, 3}, {0});
  uint32_t scales = g.broadcast(scale, {2, 3}, {});
  uint32_t sum = g.op(OpKind::Add, {rows, columns});
  g.output("scaled", g.op(OpKind::Mul, {sum, scales}));
  g.output("rows", rows);
  g.output("product", g.matmul(rows, {1}, columns, {1}, DType::F32));
  g.output("sums", g.sum(columns, {1}, DType::F32));
  g.output("flat", g.reshape(columns, {6}));
  g.output("ones", g.reshape(g.constant(1, rows), {3, 2}));
  Problem problem;
  problem.params = {{"scale", 2}};
  problem.inputs = {makeTensor(DType::F32, {3}, {1, 2, 3}),
                    makeTensor(DType::F32, {2}, {10, 20})};
  Evaluation result = run(g.build(), problem);
  using Values = std::vector<double>;
  EXPECT_EQ(valuesOf(result.outputs[0]), (Values{22, 24, 26, 42, 44, 46}));
  EXPECT_EQ(valuesOf(result.outputs[1]), (Values{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(valuesOf(result.outputs[2]), (Values{60, 120, 60, 120}));
  EXPECT_EQ(valuesOf(result.outputs[3]), (Values{30, 60}));
  EXPECT_EQ(valuesOf(result.outputs[4]), (Values{10, 10, 10, 20, 20, 20}));
  EXPECT_EQ(valuesOf(result.outputs[5]), Values(6, 1));
}

/// A broadcast over many elements: blocks start in the middle of rows.
TEST(Evaluate, BroadcastsAcrossBlocks) {
  GraphBuilder g("broadcast");
  uint32_t row = g.input("row", DType::BF16, {37});
  uint32_t x = g.input("x", DType::BF16, {11, 23, 37});
  uint32_t rows = g.broadcast(row, {11, 23, 37}, {2});
  uint32_t y = g.input("y", DType::BF16, {11, 37});
  uint32_t ys = g.broadcast(y, {11, 23, 37}, {0, 2});
  g.output("sum", g.op(OpKind::Add, {g.op(OpKind::Add, {x, rows}), ys}));
  BuiltGraph graph = g.build();
  Problem problem;
  ASSERT_EQ(makeInputs(*graph, Inputs::Exact, 1, problem), "");
  Tensor result = run(graph, problem).outputs[0];
  const std::vector<Tensor> &in = problem.inputs;
  for (int64_t i = 0; i < result.numElements(); ++i) {
    int64_t k = i % 37, batch = i / (37 * 23);
    double sum = roundElementwise(DType::BF16, in[1].at(i) + in[0].at(k));
    ASSERT_EQ(result.at(i),
              roundElementwise(DType::BF16, sum + in[2].at(batch * 37 + k)));
  }
}

TEST(Evaluate, ParametersSelect) {
  GraphBuilder g("select");
  uint32_t p = g.param("p", DType::I1);
  uint32_t x = g.input("x", DType::F16, {2}), y = g.input("y", DType::F16, {2});
  g.output("z", g.op(OpKind::Select, {p, x, y}));
  g.output("x", x);
  Problem problem;
  problem.inputs = {makeTensor(DType::F16, {2}, {1, std::nan("")}),
                    makeTensor(DType::F16, {2}, {3, 4})};
  BuiltGraph graph = g.build();
  problem.params = {{"p", 0}};
  EXPECT_EQ(valuesOf(run(graph, problem).outputs[0]),
            (std::vector<double>{3, 4}));
  problem.params = {{"p", 1}};
  EXPECT_EQ(run(graph, problem).outputs[0].at(0), 1);
  EXPECT_EQ(run(graph, problem).outputs[1].bytes, problem.inputs[0].bytes);
}

/// Eager results of 079, written out op by op.
TEST(Evaluate, SsmGateBackwardRoundsEachOp) {
  BuiltGraph graph = ssmGateBackward(8, 16);
  Problem problem;
  problem.dims = {{"batch_size", 3}, {"seq_len", 5}};
  problem.params = {{"use_silu_gate", 1}};
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 4, problem), "");
  Evaluation result = run(graph, problem);
  const std::vector<Tensor> &in = problem.inputs;
  auto bf16 = [](double x) { return roundElementwise(DType::BF16, x); };
  for (int64_t t = 0; t < 15; ++t)
    for (int64_t n = 0; n < 16; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < 8; ++k)
        sum += in[0].at(t * 8 + k) * in[3].at(k * 16 + n);
      int64_t i = t * 16 + n;
      double d = roundOnce(DType::BF16, sum), gate = in[2].at(i);
      EXPECT_EQ(result.outputs[0].at(i), bf16(d * in[5].at(i)));
      double s = bf16(1 / (1 + std::exp(-gate)));
      double grad = bf16(s * bf16(1 + bf16(gate * bf16(1 - s))));
      EXPECT_EQ(result.outputs[1].at(i), bf16(bf16(d * in[1].at(i)) * grad));
    }
}

/// Standard normal, weights scaled, reproducible, independent of each other.
TEST(Evaluate, RandomInputs) {
  GraphBuilder g("inputs");
  g.input("x", DType::F32, {1000, 100});
  g.input("fc_weight", DType::F32, {400, 100});
  g.input("q_proj", DType::BF16, {400, 25});
  g.input("flags", DType::I1, {1000});
  BuiltGraph graph = g.build();
  Problem problem, again, other;
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 7, problem), "");
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 7, again), "");
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 8, other), "");
  double scales[] = {1, 0.1, 0.2};
  for (size_t i = 0; i < 3; ++i) {
    double sum = 0, squares = 0, fourth = 0;
    const Tensor &tensor = problem.inputs[i];
    for (double value : valuesOf(tensor)) {
      double x = value / scales[i];
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
    }
    auto count = double(tensor.numElements());
    EXPECT_NEAR(sum / count, 0, 4 / std::sqrt(count));
    EXPECT_NEAR(squares / count, 1, 6 / std::sqrt(count));
    EXPECT_NEAR(fourth / count, 3, 40 / std::sqrt(count));
    EXPECT_EQ(tensor.bytes, again.inputs[i].bytes);
    EXPECT_NE(tensor.bytes, other.inputs[i].bytes);
  }
  EXPECT_NE(problem.inputs[0].at(0), problem.inputs[1].at(0) * 10);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// A graph that is right before `damage` changes it.
static Error errorAfter(const std::function<void(bundle::GraphT &)> &damage) {
  GraphBuilder g("damaged");
  Extent t = g.dim("T");
  uint32_t x = g.input("x", DType::F32, {t, 4});
  uint32_t w = g.input("w", DType::F32, {4, 3});
  uint32_t p = g.param("p", DType::I1);
  uint32_t y = g.matmul(x, {1}, w, {0}, DType::F32, bundle::Precision::Ieee);
  uint32_t z = g.op(OpKind::Select, {p, y, g.op(OpKind::Exp, {y})});
  uint32_t s = g.sum(z, {0}, DType::F32);
  uint32_t b = g.broadcast(s, {t, 3}, {1});
  uint32_t sum = g.op(OpKind::Add, {b, z});
  g.output("out", g.reshape(sum, {3, t}));
  g.graph.ops.back()->location = "graph.mlir:7:3";
  damage(g.graph);
  BuiltGraph graph = g.build();
  Problem problem;
  problem.dims = {{"T", 5}};
  problem.params = {{"p", 1}};
  if (Error error = makeInputs(*graph, Inputs::Random, 1, problem);
      !error.empty())
    return error;
  Evaluation result;
  return evaluate(*graph, problem, {}, result);
}

/// Whatever is wrong is said; nothing crashes.
TEST(EvaluateErrors, DamagedGraphs) {
  using Graph = bundle::GraphT;
  EXPECT_EQ(errorAfter([](Graph &) {}), "");
  struct {
    const char *message;
    std::function<void(Graph &)> damage;
  } cases[] = {
      {"expects 2 operands", [](Graph &g) { g.ops[5]->operands.pop_back(); }},
      {"expects 2 operands", [](Graph &g) { g.ops[0]->operands.clear(); }},
      {"before its definition", [](Graph &g) { g.ops[0]->operands[0] = 8; }},
      {"before its definition", [](Graph &g) { g.ops[0]->operands[0] = 999; }},
      {"which does not exist", [](Graph &g) { g.ops[0]->result = 999; }},
      {"defined twice", [](Graph &g) { g.ops[1]->result = 0; }},
      {"contracted extents differ",
       [](Graph &g) { g.ops[0]->a_contract = {0}; }},
      {"names axis 7", [](Graph &g) { g.ops[0]->b_contract = {7}; }},
      {"names axis -1", [](Graph &g) { g.ops[3]->dims = {-1}; }},
      {"twice", [](Graph &g) { g.ops[3]->dims = {0, 0}; }},
      {"as many axes", [](Graph &g) { g.ops[0]->b_contract = {0, 1}; }},
      {"must have shape", [](Graph &g) { g.ops[3]->dims = {1}; }},
      {"does not fit", [](Graph &g) { g.ops[4]->dims = {0}; }},
      {"(Permute) is not supported",
       [](Graph &g) { g.ops[1]->kind = OpKind::Permute; }},
      {"Slice", [](Graph &g) { g.ops[1]->kind = OpKind::Slice; }},
      {"Concat", [](Graph &g) { g.ops[1]->kind = OpKind::Concat; }},
      {"does not know", [](Graph &g) { g.ops[1]->kind = OpKind(200); }},
      {"must not be of type I1",
       [](Graph &g) {
         g.ops[0]->kind = OpKind::Mul;
         g.ops[0]->operands = {2, 2};
       }},
      {"dtype I64", [](Graph &g) { g.values[0]->type->dtype = DType::I64; }},
      {"dimension 3",
       [](Graph &g) { g.values[0]->type->extents[0] = bundle::Extent(0, 3); }},
      {"no value given for dimension 'U'", [](Graph &g) { g.dims[0] = "U"; }},
      {"negative",
       [](Graph &g) {
         g.values[1]->type->extents[1] = bundle::Extent(-3, -1);
       }},
      {"too large",
       [](Graph &g) {
         g.values[0]->type->extents[1] = bundle::Extent(int64_t(1) << 60, -1);
       }},
      {"at graph.mlir:7:3",
       [](Graph &g) {
         g.values.back()->type->extents[0] = bundle::Extent(2, -1);
       }},
      {"not a scalar",
       [](Graph &g) { g.values[2]->type->extents.emplace_back(4, -1); }},
      {"no value given for parameter 'q'",
       [](Graph &g) { g.params[0]->name = "q"; }},
      {"an output names", [](Graph &g) { g.outputs[0]->value = 77; }},
  };
  for (const auto &entry : cases) {
    Error error = errorAfter(entry.damage);
    EXPECT_NE(error.find(entry.message), std::string::npos)
        << "expected: " << entry.message << "\n  got: " << error;
  }
}

TEST(EvaluateErrors, WrongInputs) {
  BuiltGraph graph = ssmGateBackward(8, 16);
  Problem problem;
  problem.dims = {{"batch_size", 1}, {"seq_len", 3}};
  problem.params = {{"use_silu_gate", 0}};
  ASSERT_EQ(makeInputs(*graph, Inputs::Random, 1, problem), "");
  Evaluation result;
  Problem bad = problem;
  bad.inputs.pop_back();
  EXPECT_EQ(evaluate(*graph, bad, {}, result),
            "the graph has 7 inputs, but 6 were given");
  bad = problem;
  bad.inputs[1] = Tensor(DType::BF16, {1, 3, 15});
  EXPECT_EQ(evaluate(*graph, bad, {}, result),
            "input 'ssm_output' does not have the graph's dtype and shape");
  bad = problem;
  bad.inputs[2].bytes.pop_back();
  EXPECT_NE(evaluate(*graph, bad, {}, result), "");
  bad = problem;
  bad.dims["seq_len"] = -1;
  EXPECT_EQ(evaluate(*graph, bad, {}, result),
            "dimension 'seq_len' is negative: -1");
  EvaluateOptions options;
  options.mode = Mode::Exact;
  options.bounds = true;
  EXPECT_NE(evaluate(*graph, problem, options, result), "");
}
