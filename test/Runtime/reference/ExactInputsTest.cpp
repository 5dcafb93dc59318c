//===- ExactInputsTest.cpp - Inputs on which a graph is exact -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Graphs.h"

#include "Reference.h"

#include <gtest/gtest.h>

using namespace backfuse;
using namespace backfuse::reference;

/// All outputs in all modes and with any order of additions are the same: here
/// eager results equal the f64 evaluation wherever no op rounds.
TEST(ExactInputs, MlpGeluBackwardIsExactInF32) {
  test::BuiltGraph graph =
      test::mlpGeluBackward(48, 80, bundle::Precision::Tf32);
  for (int64_t tokens : {1, 7, 131}) {
    Problem problem;
    problem.dims = {{"seq_len", tokens}};
    ASSERT_EQ(makeInputs(*graph, Inputs::Exact, 3, problem), "");
    Evaluation eager, exact;
    EvaluateOptions options;
    ASSERT_EQ(evaluate(*graph, problem, options, eager), "");
    options.mode = Mode::Exact;
    ASSERT_EQ(evaluate(*graph, problem, options, exact), "");
    for (size_t o = 0; o < eager.outputs.size(); ++o) {
      Comparison comparison =
          compareTolerance(eager.outputs[o], exact.exact[o], 0, 0);
      EXPECT_EQ(comparison.mismatches, 0) << "output " << o;
      EXPECT_GT(comparison.elements, 0);
    }
  }
}
