//===- ExactAnalysis.cpp - Which values a graph can take ------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ExactAnalysis.h"

#include "Elementwise.h"
#include "Functions.h"
#include "Rounding.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace backfuse;
using namespace backfuse::reference;
using bundle::DType;
using bundle::OpKind;
using bundle::Precision;

/// Integers up to here, and all their partial sums, are exact in f32.
static constexpr double f32Integers = 0x1p24;
/// Integers up to here are exact in every operand type of every precision.
static constexpr double operandIntegers = 0x1p8;
static constexpr double largestOperand = 0x1p15;
static constexpr double smallestOperandQuantum = 0x1p-24;

double Interval::magnitude() const {
  return std::max(std::fabs(low), std::fabs(high));
}

bool Domain::allPoints() const {
  return std::all_of(pieces.begin(), pieces.end(),
                     [](const Interval &piece) { return piece.isPoint(); });
}

/// The largest power of two of which x is a multiple; infinity for 0 and for
/// infinities, which no sum may meet anyway.
static double lowestBit(double x) {
  if (x == 0 || !std::isfinite(x))
    return HUGE_VAL;
  int exponent;
  double mantissa = std::frexp(std::fabs(x), &exponent);
  auto bits = uint64_t(std::ldexp(mantissa, 53));
  return std::ldexp(double(bits & -bits), exponent - 53);
}

static Interval hull(const Interval &a, const Interval &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Fiber reference::fiberOver(const Shape &shape,
                           const flatbuffers::Vector<int32_t> &axes) {
  Fiber fiber{1, 1};
  for (uint32_t i = 0; i < axes.size(); ++i) {
    if (i > 0 && axes.Get(i) != axes.Get(i - 1) + 1)
      return {};
    fiber.length *= shape[size_t(axes.Get(i))];
  }
  size_t next = axes.size() ? size_t(axes.Get(axes.size() - 1)) + 1 : 0;
  for (size_t i = next; i < shape.size(); ++i)
    fiber.inner *= shape[i];
  return axes.size() ? fiber : Fiber{};
}

bool reference::keepsZeros(OpKind kind) {
  switch (kind) {
  case OpKind::Cast:
  case OpKind::Reshape:
  case OpKind::Neg:
  case OpKind::Abs:
  case OpKind::Relu:
  case OpKind::Mul:
    return true;
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

/// The hull of function(x, y) at the corners of two intervals.
template <typename Function>
static Interval corners(const Interval &a, const Interval &b,
                        const Function &function) {
  Interval result{HUGE_VAL, -HUGE_VAL};
  for (double x : {a.low, a.high})
    for (double y : {b.low, b.high}) {
      double value = function(x, y);
      result = hull(result, {value, value});
    }
  return result;
}

/// 1 if always true, 0 if never, else both.
static Interval truth(bool always, bool never) {
  return {always ? 1.0 : 0.0, never ? 0.0 : 1.0};
}

/// An elementwise op that is not an elementary function, on intervals.
static Interval applyToIntervals(OpKind kind, const Interval *x) {
  const Interval &a = x[0], &b = x[1], &c = x[2];
  switch (kind) {
  case OpKind::Neg:
    return {-a.high, -a.low};
  case OpKind::Abs:
    return {a.low > 0 ? a.low : a.high < 0 ? -a.high : 0.0, a.magnitude()};
  case OpKind::Relu:
    return {std::max(a.low, 0.0), std::max(a.high, 0.0)};
  case OpKind::ReluGrad:
    return truth(a.low > 0, a.high <= 0);
  case OpKind::Add:
    return {a.low + b.low, a.high + b.high};
  case OpKind::Sub:
    return {a.low - b.high, a.high - b.low};
  case OpKind::Mul:
    return corners(a, b, [](double p, double q) {
      return p == 0 || q == 0 ? 0.0 : p * q;
    });
  case OpKind::Div: // 0 is not in b
    return corners(a, b, [](double p, double q) { return p / q; });
  case OpKind::Maximum:
  case OpKind::MaxNum:
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  case OpKind::Minimum:
  case OpKind::MinNum:
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  case OpKind::CmpOlt:
    return truth(a.high < b.low, a.low >= b.high);
  case OpKind::CmpOle:
    return truth(a.high <= b.low, a.low > b.high);
  case OpKind::CmpOgt:
    return truth(a.low > b.high, a.high <= b.low);
  case OpKind::CmpOge:
    return truth(a.low >= b.high, a.high < b.low);
  case OpKind::CmpOeq:
    return truth(false, a.high < b.low || a.low > b.high);
  case OpKind::CmpUne:
    return truth(a.high < b.low || a.low > b.high, false);
  case OpKind::And:
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  case OpKind::Or:
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  case OpKind::Select:
    return a.isPoint() ? (a.low != 0 ? b : c) : hull(b, c);
  default: // Cast
    return a;
  }
}

//===----------------------------------------------------------------------===//
// The analysis
//===----------------------------------------------------------------------===//

namespace {
class Analyzer {
public:
  Analyzer(const bundle::Graph &graph, const ResolvedGraph &resolved,
           ExactAnalysis &analysis)
      : graph(graph), resolved(resolved), analysis(analysis) {}

  void run(const std::map<std::string, double> &params,
           const std::vector<LeafChoice> &choices);

private:
  const bundle::Graph &graph;
  const ResolvedGraph &resolved;
  ExactAnalysis &analysis;
  /// Broadcasts of one driver along the same axes are one driver.
  std::map<std::tuple<int, std::vector<int32_t>, Shape>, int> broadcasts;

  Domain &domain(uint32_t value) { return analysis.domains[value]; }
  void violate(Violation::Kind kind, uint32_t op, uint32_t value,
               const std::string &reason) {
    analysis.violations.push_back(
        {kind, op, value, describeOp(graph, op) + " " + reason});
  }

  void setLeaf(uint32_t input, const LeafChoice &choice);
  void setParam(uint32_t value, double given);
  void analyzeOp(uint32_t index);
  void analyzeElementwise(uint32_t index);
  Interval analyzePiece(uint32_t index, const Interval *operands,
                        double operandQuantum, double &quantum, bool &failed);
  double transferQuantum(const bundle::Op &op, double pieceQuantum);
  void analyzeBroadcast(uint32_t index);
  void analyzeMatmul(uint32_t index);
  void analyzeSum(uint32_t index);
  void checkOperand(uint32_t index, uint32_t value, Precision precision);
  void finishAccumulation(uint32_t index, double largestSum, double quantum);
};
} // namespace

/// Sets the pieces of a value that is its own driver: 0, above, below.
static void cutAtZero(Domain &domain, int value, const Interval &range) {
  domain.driver = value;
  domain.pieces.clear();
  double step = domain.quantum;
  if (step == 0) {
    domain.pieces.push_back(range);
    return;
  }
  if (range.low <= 0 && range.high >= 0)
    domain.pieces.push_back({0, 0});
  if (range.high > 0)
    domain.pieces.push_back(
        {std::min(std::max(step, range.low), range.high), range.high});
  if (range.low < 0)
    domain.pieces.push_back(
        {range.low, std::max(std::min(-step, range.high), range.low)});
}

/// Sets size and quantum from pieces that are all points.
static void measurePoints(Domain &domain) {
  domain.maxAbs = 0;
  domain.quantum = HUGE_VAL;
  for (const Interval &piece : domain.pieces) {
    domain.maxAbs = std::max(domain.maxAbs, piece.magnitude());
    domain.quantum = std::min(domain.quantum, lowestBit(piece.low));
  }
}

void Analyzer::setLeaf(uint32_t input, const LeafChoice &choice) {
  uint32_t value = graph.inputs()->Get(input)->value();
  Domain &to = domain(value);
  analysis.leafOfDriver[value] = int(input);
  if (!choice.points.empty()) {
    to.driver = int(value);
    for (double point : choice.points)
      to.pieces.push_back({point, point});
    measurePoints(to);
    return;
  }
  to.quantum = choice.magnitude ? choice.scale : HUGE_VAL;
  to.maxAbs = double(choice.magnitude) * choice.scale;
  cutAtZero(to, int(value), {-to.maxAbs, to.maxAbs});
  if (choice.spacing > 1) {
    to.fiber = choice.fiber;
    to.nonzeros = (choice.fiber.length + choice.spacing - 1) / choice.spacing;
  }
}

/// A boolean parameter may be either, so that one set of inputs serves both.
void Analyzer::setParam(uint32_t value, double given) {
  Domain &to = domain(value);
  DType type = resolved.dtypes[value];
  if (type == DType::I1) {
    to.pieces = {{0, 1}};
    to.maxAbs = to.quantum = 1;
    return;
  }
  double rounded = roundOnce(type, given);
  to.pieces = {{rounded, rounded}};
  measurePoints(to);
}

/// One piece of an elementwise result.
Interval Analyzer::analyzePiece(uint32_t index, const Interval *operands,
                                double operandQuantum, double &quantum,
                                bool &failed) {
  const bundle::Op &op = *graph.ops()->Get(index);
  DType type = resolved.dtypes[op.result()];
  Interval result;
  if (isElementary(op.kind())) {
    auto region = exactRegion(op.kind(), operands[0].low, operands[0].high);
    if (!region) {
      failed = true;
      return {-HUGE_VAL, HUGE_VAL};
    }
    bool identity = region->kind == ExactRegion::Identity;
    result = identity ? operands[0] : Interval{region->value, region->value};
    quantum =
        std::min(quantum, identity ? operandQuantum : lowestBit(region->value));
  } else if (op.kind() == OpKind::Div &&
             ((operands[1].low <= 0 && operands[1].high >= 0) ||
              (op.afn() &&
               !(operands[1].isPoint() &&
                 lowestBit(operands[1].low) == operands[1].magnitude())))) {
    // Division is exact enough unless it is by 0, or approximate and not by a
    // power of two.
    failed = true;
    return {-HUGE_VAL, HUGE_VAL};
  } else {
    result = applyToIntervals(op.kind(), operands);
  }
  bool points = true;
  for (uint32_t i = 0; i < op.operands()->size(); ++i)
    points &= operands[i].isPoint();
  if (points && !isElementary(op.kind())) {
    // In full, signed zeros and all.
    const double *data[3] = {&operands[0].low, &operands[1].low,
                             &operands[2].low};
    double value;
    applyElementwise(op.kind(), data, 1, &value);
    result = {value, value};
  }
  return {roundElementwise(type, result.low),
          roundElementwise(type, result.high)};
}

/// The quantum of an elementwise result whose pieces are not all points.
double Analyzer::transferQuantum(const bundle::Op &op, double pieceQuantum) {
  auto quantum = [&](uint32_t i) {
    return domain(op.operands()->Get(i)).quantum;
  };
  switch (op.kind()) {
  case OpKind::Neg:
  case OpKind::Abs:
  case OpKind::Relu:
  case OpKind::Cast:
    return quantum(0);
  case OpKind::Add:
  case OpKind::Sub:
  case OpKind::Maximum:
  case OpKind::Minimum:
  case OpKind::MaxNum:
  case OpKind::MinNum:
    return std::min(quantum(0), quantum(1));
  case OpKind::Select:
    return std::min(quantum(1), quantum(2));
  case OpKind::Mul: {
    double product = quantum(0) * quantum(1);
    return std::isnan(product) ? HUGE_VAL : product;
  }
  case OpKind::Div: {
    const Domain &divisor = domain(op.operands()->Get(1));
    double largest = 0;
    for (const Interval &piece : divisor.pieces) {
      if (!piece.isPoint() || lowestBit(piece.low) != piece.magnitude())
        return 0;
      largest = std::max(largest, piece.magnitude());
    }
    return quantum(0) / largest;
  }
  default:
    return isElementary(op.kind()) ? pieceQuantum : 1; // comparisons
  }
}

void Analyzer::analyzeElementwise(uint32_t index) {
  const bundle::Op &op = *graph.ops()->Get(index);
  uint32_t count = op.operands()->size();
  Domain &to = domain(op.result());
  // The operands' common driver, if they have one.
  int driver = Domain::constant;
  bool common = true;
  size_t numPieces = 1;
  for (uint32_t i = 0; i < count; ++i) {
    const Domain &from = domain(op.operands()->Get(i));
    if (from.driver == Domain::constant)
      continue;
    common &= driver == Domain::constant || driver == from.driver;
    driver = from.driver;
    numPieces = from.pieces.size();
  }
  bool failed = false;
  double pieceQuantum = HUGE_VAL;
  double argumentQuantum = domain(op.operands()->Get(0)).quantum;
  if (common) {
    to.driver = driver;
    for (size_t p = 0; p < numPieces; ++p) {
      Interval operands[3];
      for (uint32_t i = 0; i < count; ++i) {
        const Domain &from = domain(op.operands()->Get(i));
        operands[i] = from.pieces[from.driver == Domain::constant ? 0 : p];
      }
      to.pieces.push_back(
          analyzePiece(index, operands, argumentQuantum, pieceQuantum, failed));
    }
  } else {
    // All combinations of pieces; the result is a driver of its own.
    Interval range{HUGE_VAL, -HUGE_VAL}, operands[3];
    size_t sizes[3] = {1, 1, 1};
    for (uint32_t i = 0; i < count; ++i)
      sizes[i] = domain(op.operands()->Get(i)).pieces.size();
    for (size_t c = 0; c < sizes[0] * sizes[1] * sizes[2]; ++c) {
      size_t rest = c;
      for (uint32_t i = 0; i < count; ++i) {
        operands[i] = domain(op.operands()->Get(i)).pieces[rest % sizes[i]];
        rest /= sizes[i];
      }
      range = hull(range, analyzePiece(index, operands, argumentQuantum,
                                       pieceQuantum, failed));
    }
    to.maxAbs = range.magnitude();
    to.quantum = failed ? 0 : transferQuantum(op, pieceQuantum);
    cutAtZero(to, int(op.result()), range);
  }
  if (common && !failed && to.allPoints()) {
    measurePoints(to);
  } else if (common) {
    to.maxAbs = 0;
    for (const Interval &piece : to.pieces)
      to.maxAbs = std::max(to.maxAbs, piece.magnitude());
    to.quantum = failed ? 0 : transferQuantum(op, pieceQuantum);
  }
  if (failed) {
    uint32_t argument = op.operands()->Get(op.kind() == OpKind::Div ? 1 : 0);
    violate(Violation::Function, index, argument,
            "meets points at which it is not exact");
    return;
  }
  for (const Interval &piece : to.pieces)
    if (std::isnan(piece.low) || std::isnan(piece.high))
      return violate(Violation::NonFinite, index, op.result(), "gives NaN");
    else if (!piece.isPoint() && std::isinf(piece.magnitude()))
      return violate(Violation::Overflow, index, op.result(), "may overflow");
  // A product is 0 where one of its factors is.
  if (keepsZeros(op.kind()))
    for (uint32_t i = 0; i < count && !to.nonzeros; ++i) {
      const Domain &from = domain(op.operands()->Get(i));
      to.fiber = from.fiber;
      to.nonzeros = from.nonzeros;
    }
}

void Analyzer::analyzeBroadcast(uint32_t index) {
  const bundle::Op &op = *graph.ops()->Get(index);
  const Domain from = domain(op.operands()->Get(0));
  Domain &to = domain(op.result());
  to = from;
  to.fiber = {};
  to.nonzeros = 0;
  if (from.driver == Domain::constant)
    return;
  std::vector<int32_t> dims;
  if (op.dims())
    dims.assign(op.dims()->begin(), op.dims()->end());
  auto key = std::make_tuple(from.driver, dims, resolved.shapes[op.result()]);
  to.driver = broadcasts.emplace(key, int(op.result())).first->second;
  analysis.leafOfDriver[size_t(to.driver)] =
      analysis.leafOfDriver[size_t(from.driver)];
}

/// A product's operand must survive the rounding of every route.
void Analyzer::checkOperand(uint32_t index, uint32_t value,
                            Precision precision) {
  const Domain &from = domain(value);
  if (std::isinf(from.maxAbs))
    return violate(Violation::NonFinite, index, value,
                   "has an operand that may be infinite");
  if (from.quantum == 0)
    return violate(Violation::Accumulation, index, value,
                   "has an operand of which no fixed number of bits holds all "
                   "values");
  if (resolved.dtypes[value] != DType::F32 || from.maxAbs == 0)
    return;
  bool ieee = precision == Precision::Ieee;
  if (from.maxAbs / from.quantum > (ieee ? f32Integers : operandIntegers) ||
      (!ieee &&
       (from.maxAbs > largestOperand || from.quantum < smallestOperandQuantum)))
    violate(Violation::Operand, index, value,
            "has an operand that its precision may round");
}

void Analyzer::finishAccumulation(uint32_t index, double largestSum,
                                  double quantum) {
  const bundle::Op &op = *graph.ops()->Get(index);
  DType type = resolved.dtypes[op.result()];
  Domain &to = domain(op.result());
  to.maxAbs = roundOnce(type, largestSum);
  to.quantum = largestSum == 0 ? HUGE_VAL : quantum;
  cutAtZero(to, int(op.result()), {-to.maxAbs, to.maxAbs});
  if (largestSum > 0 && !(largestSum / quantum <= f32Integers))
    violate(Violation::Accumulation, index, op.result(),
            "may add up to more than f32 holds exactly");
  else if (std::isinf(to.maxAbs))
    violate(Violation::Overflow, index, op.result(), "may overflow");
}

/// The largest number of terms of one contraction that are not 0.
static int64_t nonzeroTerms(const Domain &domain, const Shape &shape,
                            const flatbuffers::Vector<int32_t> &axes) {
  int64_t terms = extentOver(shape, axes);
  if (domain.nonzeros && fiberOver(shape, axes) == domain.fiber)
    terms = std::min(terms, domain.nonzeros);
  return terms;
}

void Analyzer::analyzeMatmul(uint32_t index) {
  const bundle::Op &op = *graph.ops()->Get(index);
  uint32_t a = op.operands()->Get(0), b = op.operands()->Get(1);
  size_t before = analysis.violations.size();
  checkOperand(index, a, op.precision());
  checkOperand(index, b, op.precision());
  bool failed = analysis.violations.size() != before;
  int64_t terms =
      std::min(nonzeroTerms(domain(a), resolved.shapes[a], *op.a_contract()),
               nonzeroTerms(domain(b), resolved.shapes[b], *op.b_contract()));
  double largest = double(terms) * domain(a).maxAbs * domain(b).maxAbs;
  if (std::isnan(largest))
    largest = HUGE_VAL;
  finishAccumulation(index, largest, domain(a).quantum * domain(b).quantum);
  if (failed) // the cause has been named; its consequences are noise
    analysis.violations.resize(before + 1);
}

void Analyzer::analyzeSum(uint32_t index) {
  const bundle::Op &op = *graph.ops()->Get(index);
  uint32_t a = op.operands()->Get(0);
  size_t before = analysis.violations.size();
  checkOperand(index, a, Precision::Ieee);
  bool failed = analysis.violations.size() != before;
  double largest =
      double(nonzeroTerms(domain(a), resolved.shapes[a], *op.dims())) *
      domain(a).maxAbs;
  finishAccumulation(index, largest, domain(a).quantum);
  if (failed)
    analysis.violations.resize(before + 1);
}

void Analyzer::analyzeOp(uint32_t index) {
  const bundle::Op &op = *graph.ops()->Get(index);
  switch (op.kind()) {
  case OpKind::Constant: {
    Domain &to = domain(op.result());
    DType type = resolved.dtypes[op.result()];
    double value = type == DType::I1 ? double(op.scalar() != 0)
                                     : roundOnce(type, op.scalar());
    to.pieces = {{value, value}};
    return measurePoints(to);
  }
  case OpKind::Broadcast:
    return analyzeBroadcast(index);
  case OpKind::Reshape:
    domain(op.result()) = Domain(domain(op.operands()->Get(0)));
    return;
  case OpKind::Matmul:
    return analyzeMatmul(index);
  case OpKind::Sum:
    return analyzeSum(index);
  default:
    return analyzeElementwise(index);
  }
}

void Analyzer::run(const std::map<std::string, double> &params,
                   const std::vector<LeafChoice> &choices) {
  size_t numValues = resolved.shapes.size();
  analysis.domains.assign(numValues, {});
  analysis.leafOfDriver.assign(numValues, -1);
  for (uint32_t i = 0; i < choices.size(); ++i)
    setLeaf(i, choices[i]);
  for (uint32_t i = 0; graph.params() && i < graph.params()->size(); ++i) {
    const bundle::Argument *param = graph.params()->Get(i);
    auto it = params.find(param->name()->str());
    setParam(param->value(), it == params.end() ? 0 : it->second);
  }
  for (uint32_t i = 0; graph.ops() && i < graph.ops()->size(); ++i)
    analyzeOp(i);
  if (!graph.outputs() || !graph.ops())
    return;
  for (uint32_t i = 0; i < graph.ops()->size(); ++i)
    for (const bundle::Argument *output : *graph.outputs())
      if (output->value() == graph.ops()->Get(i)->result() &&
          std::isinf(domain(output->value()).maxAbs) &&
          domain(output->value()).allPoints())
        violate(Violation::NonFinite, i, output->value(),
                "gives an infinite output");
}

ExactAnalysis
reference::analyzeExactness(const bundle::Graph &graph,
                            const ResolvedGraph &resolved,
                            const std::map<std::string, double> &params,
                            const std::vector<LeafChoice> &choices) {
  ExactAnalysis analysis;
  Analyzer(graph, resolved, analysis).run(params, choices);
  return analysis;
}
