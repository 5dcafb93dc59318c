//===- ExactInputs.cpp - Inputs on which a graph is exact -----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts with small integers everywhere and, as long as the analysis finds
// something inexact, changes one choice: an input of an elementary function
// goes to points where the function is exact; integers get smaller, then sparse
// along the contraction that reads them; where a function reads a product,
// integers get a larger power of two as unit, so that the product is 0 or far
// from it.
//===----------------------------------------------------------------------===//
#include "ExactAnalysis.h"
#include "Inputs.h"
#include "Random.h"
#include "Threads.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace backfuse;
using namespace backfuse::reference;
using bundle::DType;
using bundle::OpKind;

/// What an input of an elementary function or a divisor may be made of. The
/// large ones are in the tails of every function, also after multiplication by
/// a constant of ordinary size.
static constexpr double pointPool[] = {0, 1024, -1024, 1,    -1,
                                       2, -2,   4,     0.25, 0.5};

/// Inputs that no accumulation depends on: numbers with more bits.
static constexpr int64_t freeMagnitude = 31;
static constexpr double freeScale = 0.125;
static constexpr double largestScale = 4096;

/// Sparser inputs would leave whole steps of a kernel's main loop untested.
static constexpr int64_t largestSpacing = 64;

namespace {
class Chooser {
public:
  Chooser(const bundle::Graph &graph, const ResolvedGraph &resolved,
          const std::map<std::string, double> &params,
          const std::vector<int64_t> &rowElements)
      : graph(graph), resolved(resolved), params(params),
        rowElements(rowElements) {}

  /// Finds choices without violations, or says why there are none.
  Error choose();
  std::vector<LeafChoice> choices;

private:
  const bundle::Graph &graph;
  const ResolvedGraph &resolved;
  const std::map<std::string, double> &params;
  const std::vector<int64_t> &rowElements;
  std::vector<int> producer; // op by value; -1: an argument
  ExactAnalysis analysis;

  /// An input on which a value depends, and the fibers that could be thinned
  /// out.
  struct Source {
    int leaf;
    Fiber fiber;
  };

  void findProducers();
  void chooseFirst();
  bool repair(const Violation &violation);
  bool usePoints(int leaf);
  bool shrink(const Violation &violation);
  bool enlargeUnits(uint32_t value);
  void collectSources(uint32_t value, Fiber fiber, bool aligned,
                      std::vector<Source> &sources,
                      std::set<uint32_t> &visited) const;
  void collectLinear(uint32_t value, std::set<int> &leaves) const;
};
} // namespace

void Chooser::findProducers() {
  producer.assign(resolved.shapes.size(), -1);
  for (uint32_t i = 0; graph.ops() && i < graph.ops()->size(); ++i)
    producer[graph.ops()->Get(i)->result()] = int(i);
}

/// Small integers; more bits where no accumulation follows.
void Chooser::chooseFirst() {
  std::vector<bool> accumulated(resolved.shapes.size(), false);
  for (uint32_t i = graph.ops() ? graph.ops()->size() : 0; i-- > 0;) {
    const bundle::Op &op = *graph.ops()->Get(i);
    bool accumulates = op.kind() == OpKind::Matmul || op.kind() == OpKind::Sum;
    if (op.operands())
      for (uint32_t value : *op.operands())
        if (accumulates || accumulated[op.result()])
          accumulated[value] = true;
  }
  choices.clear();
  for (uint32_t i = 0; graph.inputs() && i < graph.inputs()->size(); ++i) {
    uint32_t value = graph.inputs()->Get(i)->value();
    LeafChoice choice;
    if (resolved.dtypes[value] == DType::I1) {
      choice.points = {0, 1};
    } else if (!accumulated[value]) {
      choice.magnitude = freeMagnitude;
      choice.scale = freeScale;
    }
    choices.push_back(choice);
  }
}

/// Moves an input to those points of the pool at which all functions of it are
/// exact.
bool Chooser::usePoints(int leaf) {
  LeafChoice &choice = choices[size_t(leaf)];
  if (!choice.points.empty())
    return false;
  LeafChoice before = choice;
  std::vector<double> suitable;
  for (double point : pointPool) {
    choice.points = {point};
    ExactAnalysis trial = analyzeExactness(graph, resolved, params, choices);
    bool fits =
        std::none_of(trial.violations.begin(), trial.violations.end(),
                     [&](const Violation &violation) {
                       int driver = trial.domains[violation.value].driver;
                       bool ours = driver == Domain::constant ||
                                   trial.leafOfDriver[size_t(driver)] == leaf;
                       return violation.kind == Violation::NonFinite ||
                              (violation.kind == Violation::Function && ours);
                     });
    if (fits)
      suitable.push_back(point);
  }
  choice = before;
  choice.points = suitable;
  choice.spacing = 1;
  return !suitable.empty();
}

/// Inputs on whose integers the size of `value` depends. `fiber`: what the
/// nearest accumulation downstream runs along, while `aligned`, i.e. while
/// zeros of this value are zeros of its operand at the same places.
void Chooser::collectSources(uint32_t value, Fiber fiber, bool aligned,
                             std::vector<Source> &sources,
                             std::set<uint32_t> &visited) const {
  if (!visited.insert(value).second)
    return;
  if (producer[value] < 0) {
    for (uint32_t i = 0; graph.inputs() && i < graph.inputs()->size(); ++i)
      if (graph.inputs()->Get(i)->value() == value && choices[i].points.empty())
        sources.push_back({int(i), aligned ? fiber : Fiber{}});
    return;
  }
  const bundle::Op &op = *graph.ops()->Get(uint32_t(producer[value]));
  for (uint32_t i = 0; op.operands() && i < op.operands()->size(); ++i) {
    uint32_t operand = op.operands()->Get(i);
    const Shape &shape = resolved.shapes[operand];
    if (op.kind() == OpKind::Matmul)
      collectSources(
          operand,
          fiberOver(shape, i == 0 ? *op.a_contract() : *op.b_contract()), true,
          sources, visited);
    else if (op.kind() == OpKind::Sum)
      collectSources(operand, fiberOver(shape, *op.dims()), true, sources,
                     visited);
    else
      collectSources(operand, fiber, aligned && keepsZeros(op.kind()), sources,
                     visited);
  }
}

/// Makes the integers behind a violation smaller or sparser.
bool Chooser::shrink(const Violation &violation) {
  std::vector<Source> sources;
  std::set<uint32_t> visited;
  collectSources(violation.value, {}, false, sources, visited);
  // First smaller integers, the largest ones before the others.
  LeafChoice *largest = nullptr;
  for (const Source &source : sources) {
    LeafChoice &choice = choices[size_t(source.leaf)];
    if (choice.magnitude > 1 &&
        (!largest || choice.magnitude > largest->magnitude))
      largest = &choice;
  }
  if (largest) {
    largest->magnitude =
        std::max<int64_t>(1, largest->magnitude > 4 ? largest->magnitude / 2
                                                    : largest->magnitude - 1);
    return true;
  }
  // Then zeros, but not along tokens that repeat.
  const Source *first = nullptr;
  for (const Source &source : sources) {
    const LeafChoice &choice = choices[size_t(source.leaf)];
    int64_t row = rowElements[size_t(source.leaf)];
    if (source.fiber.length <= 1 ||
        (row && source.fiber.length * source.fiber.inner > row))
      continue;
    if (choice.spacing > 1 && choice.fiber == source.fiber) {
      first = &source;
      break;
    }
    if (choice.spacing == 1 && !first)
      first = &source;
  }
  if (!first)
    return false;
  LeafChoice &choice = choices[size_t(first->leaf)];
  int64_t limit = std::min(largestSpacing, first->fiber.length);
  if (choice.spacing >= limit)
    return false;
  choice.spacing = std::min(limit, choice.spacing + 1 + choice.spacing / 8);
  choice.fiber = first->fiber;
  return true;
}

/// Inputs that must get a larger unit for `value` to get one.
void Chooser::collectLinear(uint32_t value, std::set<int> &leaves) const {
  if (producer[value] < 0) {
    for (uint32_t i = 0; graph.inputs() && i < graph.inputs()->size(); ++i)
      if (graph.inputs()->Get(i)->value() == value && choices[i].points.empty())
        leaves.insert(int(i));
    return;
  }
  const bundle::Op &op = *graph.ops()->Get(uint32_t(producer[value]));
  bool one = op.kind() == OpKind::Matmul || op.kind() == OpKind::Mul;
  // Of a product's factors one is enough: the last that has inputs behind it.
  for (uint32_t i = op.operands() ? op.operands()->size() : 0; i-- > 0;) {
    size_t before = leaves.size();
    collectLinear(op.operands()->Get(i), leaves);
    if (one && leaves.size() > before)
      return;
  }
}

bool Chooser::enlargeUnits(uint32_t value) {
  std::set<int> leaves;
  collectLinear(value, leaves);
  for (int leaf : leaves)
    if (choices[size_t(leaf)].scale >= largestScale)
      return false;
  for (int leaf : leaves)
    choices[size_t(leaf)].scale *= 2;
  return !leaves.empty();
}

bool Chooser::repair(const Violation &violation) {
  if (violation.kind == Violation::NonFinite)
    return false;
  if (violation.kind != Violation::Function)
    return shrink(violation);
  int driver = analysis.domains[violation.value].driver;
  if (driver == Domain::constant)
    return false;
  int leaf = analysis.leafOfDriver[size_t(driver)];
  return leaf >= 0 ? usePoints(leaf) : enlargeUnits(uint32_t(driver));
}

Error Chooser::choose() {
  findProducers();
  chooseFirst();
  // Each repair shrinks or enlarges something bounded, so this ends; the limit
  // is for a repair that undoes another.
  for (int step = 0; step < 1000; ++step) {
    analysis = analyzeExactness(graph, resolved, params, choices);
    if (analysis.violations.empty())
      return {};
    const Violation &violation = analysis.violations.front();
    if (!repair(violation))
      return "no exact inputs: " + violation.reason;
  }
  return "no exact inputs: " + analysis.violations.front().reason;
}

//===----------------------------------------------------------------------===//
// Filling
//===----------------------------------------------------------------------===//

/// The value at row-major index `i` of an input with this choice.
static double chosenValue(const LeafChoice &choice, const RandomStream &stream,
                          int64_t i) {
  auto position = uint64_t(i);
  if (!choice.points.empty())
    return choice.points[stream.below(position, choice.points.size())];
  auto magnitude = uint64_t(choice.magnitude);
  if (choice.spacing == 1)
    return (double(stream.below(position, 2 * magnitude + 1)) -
            double(magnitude)) *
           choice.scale;
  // One element of each `spacing` along the fiber is not 0; which one differs
  // from fiber to fiber.
  int64_t length = choice.fiber.length, inner = choice.fiber.inner;
  int64_t along = i / inner % length;
  int64_t spacing = choice.spacing;
  int64_t first = i - along * inner + along / spacing * spacing * inner;
  uint64_t place =
      RandomStream::mix(stream.bits(uint64_t(first))) % uint64_t(spacing);
  if (along % spacing != int64_t(place))
    return 0;
  uint64_t value = stream.below(position, 2 * magnitude);
  return (value < magnitude ? double(value) - double(magnitude)
                            : double(value - magnitude + 1)) *
         choice.scale;
}

static void fillExact(Tensor &tensor, const LeafChoice &choice,
                      const RandomStream &stream) {
  int64_t count = tensor.numElements();
  constexpr int64_t piece = 1 << 16;
  parallelFor((count + piece - 1) / piece, 0, [&](int64_t p) {
    int64_t end = std::min(count, (p + 1) * piece);
    for (int64_t i = p * piece; i < end; ++i)
      tensor.set(i, chosenValue(choice, stream, i));
  });
}

Error reference::chooseExactInputs(const bundle::Graph &graph,
                                   const ResolvedGraph &resolved,
                                   const std::map<std::string, double> &params,
                                   const std::vector<int64_t> &rowElements,
                                   std::vector<LeafChoice> &choices) {
  Chooser chooser(graph, resolved, params, rowElements);
  Error error = chooser.choose();
  choices = std::move(chooser.choices);
  return error;
}

Error reference::makeExactInputs(const bundle::Graph &graph, uint64_t seed,
                                 Problem &problem) {
  ResolvedGraph resolved;
  if (Error error = resolve(graph, problem.dims, resolved); !error.empty())
    return error;
  uint32_t numInputs = graph.inputs() ? graph.inputs()->size() : 0;
  std::vector<LeafChoice> choices;
  if (Error error =
          chooseExactInputs(graph, resolved, problem.params,
                            std::vector<int64_t>(numInputs, 0), choices);
      !error.empty())
    return error;
  problem.inputs.clear();
  for (uint32_t i = 0; i < numInputs; ++i) {
    const bundle::Argument *argument = graph.inputs()->Get(i);
    problem.inputs.emplace_back(resolved.dtypes[argument->value()],
                                resolved.shapes[argument->value()]);
    fillExact(problem.inputs.back(), choices[i],
              RandomStream(seed, argument->name()->str()));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Huge token counts
//===----------------------------------------------------------------------===//

int64_t PeriodicInputs::numTokens() const {
  int64_t tokens = 1;
  for (const std::string &dim : tokenDims)
    tokens *= dims.at(dim);
  return tokens;
}

/// For each axis of a value: which token dimension it is, or -1.
static std::vector<int> tokenAxes(const bundle::Graph &graph, uint32_t value,
                                  const std::vector<std::string> &tokenDims) {
  std::vector<int> axes;
  if (const auto *extents = graph.values()->Get(value)->type()->extents())
    for (const bundle::Extent *extent : *extents) {
      int which = -1;
      if (extent->dim() >= 0) {
        std::string name = graph.dims()->Get(uint32_t(extent->dim()))->str();
        auto it = std::find(tokenDims.begin(), tokenDims.end(), name);
        if (it != tokenDims.end())
          which = int(it - tokenDims.begin());
      }
      axes.push_back(which);
    }
  return axes;
}

/// Whether the tokens are the value's leading axes (1), it has none (0), or
/// something else (-1).
static int classifyTokens(const std::vector<int> &axes, size_t numTokenDims) {
  size_t count = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] >= 0) {
      if (size_t(axes[i]) != i)
        return -1;
      ++count;
    }
  return count == 0 ? 0 : count == numTokenDims ? 1 : -1;
}

/// The shape of `rows` rows.
static Shape windowShape(const Shape &shape, size_t numTokenDims,
                         int64_t rows) {
  Shape window = shape;
  std::fill(window.begin(), window.begin() + long(numTokenDims), 1);
  window[numTokenDims - 1] = rows;
  return window;
}

Error reference::makePeriodicInputs(const bundle::Graph &graph, uint64_t seed,
                                    const Problem &problem,
                                    const std::vector<std::string> &tokenDims,
                                    int64_t period, PeriodicInputs &inputs) {
  ResolvedGraph resolved;
  if (Error error = resolve(graph, problem.dims, resolved); !error.empty())
    return error;
  if (tokenDims.empty() || period < 1)
    return "periodic inputs need token dimensions and a period of at least 1";
  inputs = {tokenDims, period, problem.dims, problem.params, {}, {}};
  for (const std::string &dim : tokenDims)
    if (!problem.dims.count(dim))
      return "no value given for dimension '" + dim + "'";
  uint32_t numInputs = graph.inputs() ? graph.inputs()->size() : 0;
  std::vector<int64_t> rowElements(numInputs, 0);
  for (uint32_t i = 0; i < numInputs; ++i) {
    const bundle::Argument *argument = graph.inputs()->Get(i);
    int tokens = classifyTokens(tokenAxes(graph, argument->value(), tokenDims),
                                tokenDims.size());
    if (tokens < 0)
      return "the token dimensions are not the leading axes of input '" +
             argument->name()->str() + "'";
    inputs.hasTokens.push_back(tokens > 0);
    if (!tokens)
      continue;
    rowElements[i] = 1;
    const Shape &shape = resolved.shapes[argument->value()];
    for (size_t axis = tokenDims.size(); axis < shape.size(); ++axis)
      rowElements[i] *= shape[axis];
  }
  std::vector<LeafChoice> choices;
  if (Error error = chooseExactInputs(graph, resolved, problem.params,
                                      rowElements, choices);
      !error.empty())
    return error;
  int64_t rows = std::min(period, inputs.numTokens());
  for (uint32_t i = 0; i < numInputs; ++i) {
    const bundle::Argument *argument = graph.inputs()->Get(i);
    Shape shape = resolved.shapes[argument->value()];
    if (inputs.hasTokens[i])
      shape = windowShape(shape, tokenDims.size(), rows);
    inputs.tensors.emplace_back(resolved.dtypes[argument->value()], shape);
    fillExact(inputs.tensors.back(), choices[i],
              RandomStream(seed, argument->name()->str()));
  }
  return {};
}

Problem reference::makeWindow(const PeriodicInputs &inputs, int64_t firstRow,
                              int64_t rows) {
  Problem window;
  window.dims = inputs.dims;
  window.params = inputs.params;
  for (const std::string &dim : inputs.tokenDims)
    window.dims[dim] = 1;
  window.dims[inputs.tokenDims.back()] = rows;
  for (size_t i = 0; i < inputs.tensors.size(); ++i) {
    const Tensor &from = inputs.tensors[i];
    if (!inputs.hasTokens[i]) {
      window.inputs.push_back(from);
      continue;
    }
    window.inputs.emplace_back(
        from.dtype, windowShape(from.shape, inputs.tokenDims.size(), rows));
    int64_t stored = from.shape[inputs.tokenDims.size() - 1];
    int64_t rowBytes = stored ? int64_t(from.bytes.size()) / stored : 0;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t source = (firstRow + row) % inputs.period;
      std::copy_n(from.bytes.begin() + source * rowBytes, rowBytes,
                  window.inputs.back().bytes.begin() + row * rowBytes);
    }
  }
  return window;
}

Error reference::evaluateReductions(const bundle::Graph &graph,
                                    const PeriodicInputs &inputs,
                                    const EvaluateOptions &options,
                                    Evaluation &result) {
  int64_t tokens = inputs.numTokens(), rows = std::min(inputs.period, tokens);
  // Token t stands for t, t + period, ...
  std::vector<double> weights(size_t(rows), 0.0);
  for (int64_t t = 0; t < rows; ++t)
    weights[size_t(t)] =
        double((tokens - t + inputs.period - 1) / inputs.period);
  EvaluateOptions weighted = options;
  weighted.tokenDims = inputs.tokenDims;
  weighted.tokenWeights = &weights;
  if (Error error =
          evaluate(graph, makeWindow(inputs, 0, rows), weighted, result);
      !error.empty())
    return error;
  for (uint32_t o = 0; o < result.outputs.size(); ++o) {
    std::vector<int> axes =
        tokenAxes(graph, graph.outputs()->Get(o)->value(), inputs.tokenDims);
    if (std::all_of(axes.begin(), axes.end(),
                    [](int axis) { return axis < 0; }))
      continue;
    result.outputs[o].bytes.clear();
    if (o < result.exact.size())
      result.exact[o].clear();
    if (o < result.bounds.size())
      result.bounds[o].clear();
  }
  return {};
}
