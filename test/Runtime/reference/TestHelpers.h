//===- TestHelpers.h - Tensors and evaluations for tests --------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TEST_RUNTIME_REFERENCE_TESTHELPERS_H
#define BACKFUSE_TEST_RUNTIME_REFERENCE_TESTHELPERS_H

#include "Graphs.h"

#include "Reference.h"

#include <gtest/gtest.h>

namespace backfuse::test {

inline reference::Tensor makeTensor(bundle::DType type,
                                    std::vector<int64_t> shape,
                                    const std::vector<double> &values) {
  reference::Tensor tensor(type, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set(int64_t(i), values[i]);
  return tensor;
}

inline std::vector<double> valuesOf(const reference::Tensor &tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    values.push_back(tensor.at(i));
  return values;
}

/// Evaluates and expects success.
inline reference::Evaluation
run(const BuiltGraph &graph, const reference::Problem &problem,
    reference::Mode mode = reference::Mode::Eager, bool bounds = false,
    const BuiltProducts *products = nullptr, int threads = 0) {
  reference::EvaluateOptions options;
  options.mode = mode;
  options.bounds = bounds;
  options.threads = threads;
  options.products = products ? products->get() : nullptr;
  reference::Evaluation result;
  EXPECT_EQ(reference::evaluate(*graph, problem, options, result), "");
  return result;
}

} // namespace backfuse::test

#endif // BACKFUSE_TEST_RUNTIME_REFERENCE_TESTHELPERS_H
