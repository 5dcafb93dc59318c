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

namespace {
class Chooser {
public:
  Chooser(const bundle::Graph &graph, const ResolvedGraph &resolved,
          const std::map<std::string, double> &params, bool periodicTokens)
      : graph(graph), resolved(resolved), params(params),
        periodic(periodicTokens) {}

  /// Finds choices without violations, or says why there are none.
  Error choose();
  std::vector<LeafChoice> choices;

private:
  const bundle::Graph &graph;
  const ResolvedGraph &resolved;
  const std::map<std::string, double> &params;
  bool periodic;
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
  choice.nonzeros = 0;
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
  // Then zeros. A periodic input repeats, so a fiber along tokens has no bound.
  const Source *first = nullptr;
  for (const Source &source : sources) {
    const LeafChoice &choice = choices[size_t(source.leaf)];
    if (source.fiber.length <= 1 || periodic)
      continue;
    if (choice.nonzeros > 1 && choice.fiber == source.fiber) {
      first = &source;
      break;
    }
    if (!choice.nonzeros && !first)
      first = &source;
  }
  if (!first)
    return false;
  LeafChoice &choice = choices[size_t(first->leaf)];
  int64_t nonzeros = choice.nonzeros ? choice.nonzeros : first->fiber.length;
  choice.fiber = first->fiber;
  choice.nonzeros = (nonzeros + 1) / 2;
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
  if (!choice.nonzeros)
    return (double(stream.below(position, 2 * magnitude + 1)) -
            double(magnitude)) *
           choice.scale;
  // One element of each `spacing` along the fiber is not 0; which one differs
  // from fiber to fiber.
  int64_t length = choice.fiber.length, inner = choice.fiber.inner;
  int64_t along = i / inner % length;
  int64_t spacing = (length + choice.nonzeros - 1) / choice.nonzeros;
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

/// Fills rows [firstRow, ...) of an input whose rows repeat after `period`
/// (0: never).
static void fillExact(Tensor &tensor, const LeafChoice &choice,
                      const RandomStream &stream, int64_t rowElements,
                      int64_t firstRow, int64_t period) {
  int64_t count = tensor.numElements();
  constexpr int64_t piece = 1 << 16;
  parallelFor((count + piece - 1) / piece, 0, [&](int64_t p) {
    int64_t end = std::min(count, (p + 1) * piece);
    for (int64_t i = p * piece; i < end; ++i) {
      int64_t at = i;
      if (period)
        at = (i / rowElements + firstRow) % period * rowElements +
             i % rowElements;
      tensor.set(i, chosenValue(choice, stream, at));
    }
  });
}

Error reference::makeExactInputs(const bundle::Graph &graph, uint64_t seed,
                                 Problem &problem) {
  ResolvedGraph resolved;
  if (Error error = resolve(graph, problem.dims, resolved); !error.empty())
    return error;
  Chooser chooser(graph, resolved, problem.params, /*periodicTokens=*/false);
  if (Error error = chooser.choose(); !error.empty())
    return error;
  problem.inputs.clear();
  for (uint32_t i = 0; graph.inputs() && i < graph.inputs()->size(); ++i) {
    const bundle::Argument *argument = graph.inputs()->Get(i);
    problem.inputs.emplace_back(resolved.dtypes[argument->value()],
                                resolved.shapes[argument->value()]);
    fillExact(problem.inputs.back(), chooser.choices[i],
              RandomStream(seed, argument->name()->str()), 1, 0, 0);
  }
  return {};
}
