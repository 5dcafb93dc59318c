//===- RandomInputs.cpp - Standard normal and hard inputs -----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Random.h"

#include "Inputs.h"
#include "Threads.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace backfuse;
using namespace backfuse::reference;
using bundle::DType;

RandomStream::RandomStream(uint64_t seed, const std::string &name) {
  uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3u;
  key = mix(mix(seed + 0x9e3779b97f4a7c15u) ^ hash);
}

/// The natural logarithm for normal x in (0, 1].
static double logarithm(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  constexpr uint64_t sqrtHalf = 0x3fe6a09e667f3bcdu;
  int64_t exponent = (int64_t(bits) - int64_t(sqrtHalf)) >> 52;
  bits -= uint64_t(exponent) << 52;
  double mantissa;
  std::memcpy(&mantissa, &bits, sizeof(mantissa));
  // log m = 2 atanh(s) with |s| below 0.1716: s + s^3/3 + s^5/5 + ...
  static constexpr double coefficients[] = {
      1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
      1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  double s = (mantissa - 1) / (mantissa + 1), square = s * s, sum = 0;
  for (double coefficient : coefficients)
    sum = sum * square + coefficient;
  return double(exponent) * 0.69314718055994531 + 2 * s * sum;
}

/// Sine and cosine of 2*pi*turns for turns in [0, 1).
static void sineCosine(double turns, double &sine, double &cosine) {
  int quadrant = int(4 * turns + 0.5);
  double x = (4 * turns - quadrant) * 1.57079632679489662;
  // Taylor series for |x| <= pi/4, the last term below 2^-53.
  static constexpr double sines[] = {
      -1 / 1307674368000.0, 1 / 6227020800.0, -1 / 39916800.0, 1 / 362880.0,
      -1 / 5040.0,          1 / 120.0,        -1 / 6.0,        1.0};
  static constexpr double cosines[] = {1 / 20922789888000.0,
                                       -1 / 87178291200.0,
                                       1 / 479001600.0,
                                       -1 / 3628800.0,
                                       1 / 40320.0,
                                       -1 / 720.0,
                                       1 / 24.0,
                                       -0.5,
                                       1.0};
  double square = x * x, s = 0, c = 0;
  for (double coefficient : sines)
    s = s * square + coefficient;
  for (double coefficient : cosines)
    c = c * square + coefficient;
  s *= x;
  bool odd = quadrant & 1;
  sine = odd ? c : s;
  cosine = odd ? s : c;
  if (quadrant & 2)
    sine = -sine;
  if ((quadrant + 1) & 2)
    cosine = -cosine;
}

void RandomStream::normals(uint64_t pair, double &first, double &second) const {
  double u = double((bits(2 * pair) >> 11) + 1) * 0x1p-53;
  double v = double(bits(2 * pair + 1) >> 11) * 0x1p-53;
  double radius = std::sqrt(-2 * logarithm(u)), sine, cosine;
  sineCosine(v, sine, cosine);
  first = radius * cosine;
  second = radius * sine;
}

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Weights and projections are scaled so that products keep their variance.
static double scaleOf(const std::string &name, const Shape &shape) {
  bool weight =
      name.find("weight") != std::string::npos || endsWith(name, "_proj");
  if (!weight || shape.empty() || shape.back() == 0)
    return 1;
  return 1 / std::sqrt(double(shape.back()));
}

void reference::fillRandom(Tensor &tensor, const std::string &name,
                           uint64_t seed, int threads) {
  RandomStream stream(seed, name);
  double scale = scaleOf(name, tensor.shape);
  int64_t count = tensor.numElements();
  constexpr int64_t piece = 1 << 16;
  parallelFor((count + piece - 1) / piece, threads, [&](int64_t p) {
    int64_t end = std::min(count, (p + 1) * piece);
    for (int64_t i = p * piece; i < end; i += 2) {
      double values[2];
      stream.normals(uint64_t(i / 2), values[0], values[1]);
      for (int64_t j = i; j < std::min(i + 2, end); ++j)
        tensor.set(j, tensor.dtype == DType::I1 ? double(values[j - i] > 0)
                                                : values[j - i] * scale);
    }
  });
}

//===----------------------------------------------------------------------===//
// Hard inputs
//===----------------------------------------------------------------------===//

namespace {
/// The range of a type, for what lies at its ends.
struct Range {
  int minExponent;   // of the smallest normal number
  int numSubnormals; // steps of two below that
  double largest;
  int scale;         // exponents of rows and columns: -scale to scale
  int mixedExponent; // of large and of small elements
};

/// Makes the numbers of a tensor hard for the routes of products.
class Hardener {
public:
  Hardener(Inputs kind, const Tensor &tensor, const std::string &name,
           uint64_t seed)
      : kind(kind), range(rangeOf(tensor.dtype)),
        columns(tensor.shape.empty() ? 1 : tensor.shape.back()),
        elements(seed, name + ".elements"), rows(seed, name + ".rows"),
        cols(seed, name + ".columns") {}

  double operator()(int64_t i, double value) const {
    auto position = uint64_t(i);
    int64_t row = i / columns, column = i % columns;
    switch (kind) {
    case Inputs::HardScaled:
      return std::ldexp(value, exponent(rows, row) + exponent(cols, column));
    case Inputs::HardMixed:
      return std::ldexp(value, elements.bits(position) & 1
                                   ? range.mixedExponent
                                   : -range.mixedExponent);
    case Inputs::HardSubnormal:
      if (elements.bits(2 * position) & 1)
        return value;
      return std::ldexp(value,
                        range.minExponent -
                            int(elements.below(2 * position + 1,
                                               uint64_t(range.numSubnormals))));
    case Inputs::HardHuge: {
      if (int64_t(rows.below(uint64_t(row), uint64_t(columns))) != column)
        return value;
      double below = double(elements.bits(position) >> 11) * 0x1p-53 * 0x1p-8;
      return std::copysign(range.largest * (1 - below), value);
    }
    default:
      return value;
    }
  }

private:
  Inputs kind;
  Range range;
  int64_t columns;
  RandomStream elements, rows, cols;

  static Range rangeOf(DType dtype) {
    switch (dtype) {
    case DType::F16:
      return {-14, 11, 65504, 3, 10};
    case DType::BF16:
      return {-126, 8, 0x1.fep127, 60, 100};
    default:
      return {-126, 24, 0x1.fffffep127, 60, 100};
    }
  }
  int exponent(const RandomStream &stream, int64_t i) const {
    return int(stream.below(uint64_t(i), uint64_t(2 * range.scale + 1))) -
           range.scale;
  }
};
} // namespace

static void makeHard(Tensor &tensor, Inputs kind, const std::string &name,
                     uint64_t seed) {
  if (tensor.dtype != DType::F32 && tensor.dtype != DType::BF16 &&
      tensor.dtype != DType::F16)
    return;
  Hardener harden(kind, tensor, name, seed);
  int64_t count = tensor.numElements();
  constexpr int64_t piece = 1 << 16;
  parallelFor((count + piece - 1) / piece, 0, [&](int64_t p) {
    for (int64_t i = p * piece; i < std::min(count, (p + 1) * piece); ++i)
      tensor.set(i, harden(i, tensor.at(i)));
  });
}

const std::map<std::string, Inputs> &reference::inputKinds() {
  static const std::map<std::string, Inputs> kinds = {
      {"random", Inputs::Random},
      {"exact", Inputs::Exact},
      {"hard:scaled", Inputs::HardScaled},
      {"hard:mixed", Inputs::HardMixed},
      {"hard:subnormal", Inputs::HardSubnormal},
      {"hard:huge", Inputs::HardHuge}};
  return kinds;
}

const char *reference::nameOf(Inputs kind) {
  for (const auto &[name, value] : inputKinds())
    if (value == kind)
      return name.c_str();
  return "?";
}

Error reference::makeInputs(const bundle::Graph &graph, Inputs kind,
                            uint64_t seed, Problem &problem,
                            const std::vector<std::string> &hardInputs) {
  if (kind == Inputs::Exact)
    return makeExactInputs(graph, seed, problem);
  ResolvedGraph resolved;
  if (Error error = resolve(graph, problem.dims, resolved); !error.empty())
    return error;
  problem.inputs.clear();
  for (uint32_t i = 0; graph.inputs() && i < graph.inputs()->size(); ++i) {
    const bundle::Argument *argument = graph.inputs()->Get(i);
    problem.inputs.emplace_back(resolved.dtypes[argument->value()],
                                resolved.shapes[argument->value()]);
    std::string name = argument->name()->str();
    fillRandom(problem.inputs.back(), name, seed, 0);
    bool hard = hardInputs.empty() ||
                std::find(hardInputs.begin(), hardInputs.end(), name) !=
                    hardInputs.end();
    if (isHard(kind) && hard)
      makeHard(problem.inputs.back(), kind, name, seed);
  }
  return {};
}
