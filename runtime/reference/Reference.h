//===- Reference.h - CPU evaluation of a bundle's graph ---------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference evaluator: inputs for a graph, its evaluation on the CPU in
// three ways, and the comparison of a device's outputs with it. It shares no
// code with the compiler.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_REFERENCE_REFERENCE_H
#define BACKFUSE_REFERENCE_REFERENCE_H

#include "bundle_generated.h" // flatc's output for runtime/bundle.fbs

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace backfuse::reference {

/// Bytes of one element in storage.
int64_t bytesPerElement(bundle::DType dtype);

/// A dense row-major tensor in host memory; rank 0 is a scalar.
struct Tensor {
  Tensor() = default;
  /// All zero.
  Tensor(bundle::DType dtype, std::vector<int64_t> shape);

  bundle::DType dtype = bundle::DType::F32;
  std::vector<int64_t> shape;
  /// The elements in their storage type (F32 4 bytes, BF16 and F16 2, I1 1).
  std::vector<unsigned char> bytes;

  int64_t numElements() const;
  /// Element `i` in row-major order, widened to f64.
  double at(int64_t i) const;
  /// Rounds `value` to the dtype (to nearest even) and stores it.
  void set(int64_t i, double value);
};

/// Values of the graph's variable dimensions and scalar parameters, by name.
struct Problem {
  std::map<std::string, int64_t> dims;
  std::map<std::string, double> params;
  /// One tensor for each graph input, in the graph's order.
  std::vector<Tensor> inputs;
};

/// A sentence for people; empty means success.
using Error = std::string;

/// Random: standard normal; a tensor named *weight* or *_proj is divided by the
/// square root of its last extent. Exact: small integers in operands of
/// products, and points at which elementary functions and their derivatives are
/// exact elsewhere, such that every accumulation of the graph is exact in any
/// order; fails with a reason if the graph has no such points. Hard: random
/// ones made unpleasant for the routes of products (docs/numerics.md, "Hard
/// inputs").
enum class Inputs {
  Random,
  Exact,
  HardScaled,
  HardMixed,
  HardSubnormal,
  HardHuge
};
/// "random", "exact", "hard:scaled" and so on.
const std::map<std::string, Inputs> &inputKinds();
const char *nameOf(Inputs kind);
inline bool isHard(Inputs kind) { return kind >= Inputs::HardScaled; }

/// `hardInputs`: of a hard kind, the inputs that are; the others are random.
/// Empty: all.
Error makeInputs(const bundle::Graph &graph, Inputs kind, uint64_t seed,
                 Problem &problem,
                 const std::vector<std::string> &hardInputs = {});

/// Eager: each op computed in f32 and rounded to its type. Exact: f64, no
/// rounding. Declared: eager, with each product's operands rounded as
/// `products` says.
enum class Mode { Eager, Exact, Declared };

struct Evaluation {
  /// One tensor for each graph output, in the graph's order. In Exact mode they
  /// are not rounded: `exact` then holds the f64 values.
  std::vector<Tensor> outputs;
  std::vector<std::vector<double>> exact;
  /// With bounds: for each output element the largest error that the numerics
  /// contract allows a device (accumulation bound, function accuracy, and what
  /// roundings make of them).
  std::vector<std::vector<double>> bounds;
};

struct EvaluateOptions {
  Mode mode = Mode::Eager;
  /// For Declared: the routes of the variant that was run. Each product with an
  /// f32 operand needs one.
  const flatbuffers::Vector<flatbuffers::Offset<bundle::Product>> *products =
      nullptr;
  bool bounds = false;
  int threads = 0; // 0: all cores
  /// Set by evaluateReductions: token t stands for tokenWeights[t] equal tokens
  /// wherever all of `tokenDims` are contracted or summed away.
  std::vector<std::string> tokenDims;
  const std::vector<double> *tokenWeights = nullptr;
};
Error evaluate(const bundle::Graph &graph, const Problem &problem,
               const EvaluateOptions &options, Evaluation &result);

//===----------------------------------------------------------------------===//
// Huge token counts
//
// Exact inputs whose rows (one row per token, all token dimensions flattened)
// repeat after a prime number of tokens. A device runs all tokens; the
// evaluator needs only one period, since
// - outputs with a row per token are compared in windows: makeWindow gives the
//   problem for rows [first, first + rows), which is evaluated as usual, and
//   its outputs compared with these rows of the device's outputs;
// - outputs without tokens (weight and bias gradients) are sums over tokens of
//   something periodic: evaluateReductions evaluates one period, each token
//   weighted by how often it occurs. All is exact, so every bit must agree.
//===----------------------------------------------------------------------===//

struct PeriodicInputs {
  /// The variable dimensions that count tokens, outermost first. An input has
  /// tokens if they are its leading axes, in this order.
  std::vector<std::string> tokenDims;
  int64_t period = 0;
  /// All dimensions as the device sees them, and the scalars.
  std::map<std::string, int64_t> dims;
  std::map<std::string, double> params;
  /// For each graph input: the first min(period, tokens) rows if it has tokens,
  /// else all of it.
  std::vector<Tensor> tensors;
  std::vector<bool> hasTokens;

  int64_t numTokens() const;
};

/// Makes exact inputs for `problem.dims` and `problem.params`
/// (`problem.inputs` is not used). Fails as makeInputs does, or if an input or
/// a sum has some of the token dimensions only.
Error makePeriodicInputs(const bundle::Graph &graph, uint64_t seed,
                         const Problem &problem,
                         const std::vector<std::string> &tokenDims,
                         int64_t period, PeriodicInputs &inputs);

/// The problem of rows [firstRow, firstRow + rows): the last token dimension
/// is `rows`, the others are 1.
Problem makeWindow(const PeriodicInputs &inputs, int64_t firstRow,
                   int64_t rows);

/// Evaluates for all tokens. Outputs that have tokens come back with no bytes.
Error evaluateReductions(const bundle::Graph &graph,
                         const PeriodicInputs &inputs,
                         const EvaluateOptions &options, Evaluation &result);

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// How many elements of `actual` agree with `expected`.
struct Comparison {
  int64_t elements = 0;
  int64_t mismatches = 0; // outside the tolerance, NaN and Inf among them
  int64_t nonFinite = 0;  // NaN or Inf where the expected value is finite
  /// Against bounds: elements whose bound is infinite, so that anything passes.
  int64_t unbounded = 0;
  /// The largest absolute error (of the mismatches, if there are any) and its
  /// row-major index.
  double maxError = 0;
  int64_t worst = -1;
  /// Elements about which the comparison says anything.
  int64_t compared() const { return elements - unbounded; }
  /// The share of these that agree; 1 if there are none.
  double matched() const {
    return compared() > 0 ? 1.0 - double(mismatches) / double(compared()) : 1.0;
  }
};
/// |actual - expected| <= atol + rtol * |expected|, element by element.
Comparison compareTolerance(const Tensor &actual, const Tensor &expected,
                            double atol, double rtol);
/// The same against unrounded f64 values.
Comparison compareTolerance(const Tensor &actual,
                            const std::vector<double> &expected, double atol,
                            double rtol);
/// |actual - expected| <= bounds[i].
Comparison compareBounds(const Tensor &actual, const Tensor &expected,
                         const std::vector<double> &bounds);
/// Every bit (two NaNs are equal).
Comparison compareBits(const Tensor &actual, const Tensor &expected);

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_REFERENCE_H
