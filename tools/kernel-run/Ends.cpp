//===- Ends.cpp - Checks of problems too large to evaluate ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Ends.h"

#include <algorithm>
#include <set>

using namespace backfuse;
using namespace backfuse::run;
using reference::Comparison;
using reference::Tensor;

/// Tokens after which inputs repeat. A prime, so that no tile's rows line up
/// with it.
static constexpr int64_t period = 8191;

/// The variable dimensions that count tokens: the longest run of them that
/// leads an input.
static std::vector<std::string> tokenDims(const Signature &signature) {
  std::vector<std::string> longest;
  for (const bf_argument &input : signature.inputs) {
    std::vector<std::string> run;
    for (int32_t i = 0; i < input.rank && input.extents[i].dim >= 0; ++i)
      run.push_back(signature.dims[static_cast<size_t>(input.extents[i].dim)]);
    if (run.size() > longest.size())
      longest = run;
  }
  if (longest.empty())
    throw UsageError("--ends: no input begins with a variable dimension");
  return longest;
}

EndsCheck::EndsCheck(const Bundle &bundle, const Signature &signature,
                     const Case &problem, uint64_t seed)
    : graph(*flatBundle(bundle).graph()), signature(signature) {
  repeated.dims = problem.dims;
  repeated.params = problem.params;
  if (std::string error = reference::makePeriodicInputs(
          graph, seed, repeated, tokenDims(signature), period, inputs);
      !error.empty())
    throw Impossible(error);
  repeated.inputs = inputs.tensors;
}

/// First rows of the windows that are compared, without repetition.
std::vector<int64_t> EndsCheck::windows(int64_t rows) const {
  int64_t tokens = inputs.numTokens();
  int64_t last = std::max<int64_t>(0, tokens - rows);
  std::set<int64_t> firsts = {0, last};
  Values values = signature.values(inputs.dims, inputs.params);
  for (const std::vector<bf_argument> *list :
       {&signature.inputs, &signature.outputs})
    for (const bf_argument &argument : *list) {
      int64_t elements = 1;
      for (int64_t extent : Signature::shape(argument, values.dims))
        elements *= extent;
      int64_t perRow = elements / std::max<int64_t>(1, tokens);
      int64_t bytes = perRow * reference::bytesPerElement(
                                   static_cast<bundle::DType>(argument.dtype));
      for (int64_t unit : {perRow, bytes})
        for (int shift : {31, 32})
          if (unit > 0 && (int64_t(1) << shift) / unit < last)
            firsts.insert(
                std::max<int64_t>(0, (int64_t(1) << shift) / unit - rows / 2));
    }
  return {firsts.begin(), firsts.end()};
}

/// Adds a comparison of a part of an output to that of the rest.
static void merge(OutputCheck &check, const Comparison &part,
                  const Tensor &actual, const Tensor &expected,
                  int64_t firstRow) {
  Comparison &whole = check.comparison;
  whole.elements += part.elements;
  whole.mismatches += part.mismatches;
  whole.nonFinite += part.nonFinite;
  check.passed &= part.mismatches == 0;
  if (part.worst >= 0 && (part.mismatches && check.detail.empty()))
    check.detail = std::to_string(part.mismatches) +
                   " bits-unequal elements in the rows from " +
                   std::to_string(firstRow) + ", there worst at " +
                   indexText(part.worst, actual.shape) + ": got " +
                   std::to_string(actual.at(part.worst)) + ", expected " +
                   std::to_string(expected.at(part.worst));
  whole.maxError = std::max(whole.maxError, part.maxError);
}

void EndsCheck::checkWindow(Device &device, int64_t firstRow, int64_t rows,
                            const std::vector<bool> &hasTokens,
                            std::vector<OutputCheck> &checks) {
  reference::Problem window = reference::makeWindow(inputs, firstRow, rows);
  reference::Evaluation evaluation;
  require(reference::evaluate(graph, window, {}, evaluation));
  for (size_t i = 0; i < checks.size(); ++i) {
    if (!hasTokens[i])
      continue;
    const Tensor &expected = evaluation.outputs[i];
    Tensor actual(expected.dtype, expected.shape);
    uint64_t rowBytes = expected.bytes.size() / static_cast<uint64_t>(rows);
    device.read(i, static_cast<uint64_t>(firstRow) * rowBytes,
                actual.bytes.size(), actual.bytes.data());
    merge(checks[i], reference::compareBits(actual, expected), actual, expected,
          firstRow);
  }
}

std::vector<OutputCheck> EndsCheck::check(Device &device, int64_t rows) {
  rows = std::min(rows, inputs.numTokens());
  reference::Evaluation sums;
  require(reference::evaluateReductions(graph, inputs, {}, sums));
  std::vector<OutputCheck> checks(signature.outputs.size());
  std::vector<bool> hasTokens(checks.size());
  for (size_t i = 0; i < checks.size(); ++i) {
    checks[i].output = signature.outputs[i].name;
    checks[i].against = "bits";
    checks[i].limit = "every bit";
    checks[i].passed = true;
    const Tensor &expected = sums.outputs[i];
    hasTokens[i] = expected.bytes.empty();
    if (hasTokens[i])
      continue;
    Tensor actual(expected.dtype, expected.shape);
    device.read(i, 0, actual.bytes.size(), actual.bytes.data());
    merge(checks[i], reference::compareBits(actual, expected), actual, expected,
          0);
  }
  for (int64_t firstRow : windows(rows))
    checkWindow(device, firstRow, rows, hasTokens, checks);
  return checks;
}
