//===- ExactAnalysis.h - Which values a graph can take ----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward analysis of a graph for given choices of its inputs: for each value
// how large it may be and of which power of two it is a multiple, and whether
// every accumulation is then exact in any order and every elementary function
// meets only points at which it is exact.
//
// Values that are functions of one other value (their driver: an input, or a
// result of a product), element by element, are followed case by case: the
// driver's set of values is cut into pieces (0, the positive, the negative
// values; or single points), and each piece has an interval here. So the tails
// of x * sigmoid(k * (x + c * x^3)) come out exactly.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_REFERENCE_EXACTANALYSIS_H
#define BACKFUSE_REFERENCE_EXACTANALYSIS_H

#include "Resolve.h"

#include <utility>

namespace backfuse::reference {

/// Lines of `length` elements, `inner` apart in row-major order: what one
/// contraction or sum runs over.
struct Fiber {
  int64_t length = 0, inner = 0;
  bool operator==(const Fiber &other) const {
    return length == other.length && inner == other.inner;
  }
};

/// The values that an input takes.
struct LeafChoice {
  /// If not empty: these.
  std::vector<double> points;
  /// Else: integers of at most this magnitude, times `scale`, a power of two.
  int64_t magnitude = 3;
  double scale = 1;
  /// If above 1: of each `spacing` neighbours along a fiber one is not 0.
  int64_t spacing = 1;
  Fiber fiber;
};

struct Interval {
  double low = 0, high = 0;
  bool isPoint() const { return low == high; }
  double magnitude() const;
};

/// What is known of a value.
struct Domain {
  static constexpr int constant = -1;
  double maxAbs = 0;
  /// All elements are multiples of this power of two (infinity: all are 0); 0
  /// if there is none.
  double quantum = 0;
  /// The value whose pieces `pieces` follows.
  int driver = constant;
  std::vector<Interval> pieces;
  Fiber fiber;
  int64_t nonzeros = 0; // 0: no fiber is known to be sparse

  bool allPoints() const;
};

struct Violation {
  enum Kind {
    Function,     // an elementary function or divisor at an unsuitable point
    Accumulation, // a sum that may be inexact
    Operand,      // a product operand that a precision may round
    Overflow,     // a value that its type may not hold
    NonFinite     // inf or NaN where none may be
  } kind;
  uint32_t op;    // where
  uint32_t value; // the operand or result that is to blame
  std::string reason;
};

struct ExactAnalysis {
  std::vector<Domain> domains; // by value
  std::vector<Violation> violations;
  /// For each driver that is an input, or a broadcast of one: the index of the
  /// input; else -1. By value.
  std::vector<int> leafOfDriver;
};

/// `resolved` gives the extents, `choices` one entry per graph input.
ExactAnalysis analyzeExactness(const bundle::Graph &graph,
                               const ResolvedGraph &resolved,
                               const std::map<std::string, double> &params,
                               const std::vector<LeafChoice> &choices);

/// The fiber that a contraction or sum over `axes` runs along; length 0 if the
/// axes are not neighbours in order.
Fiber fiberOver(const Shape &shape, const flatbuffers::Vector<int32_t> &axes);

/// Whether each zero of operand `i` makes a zero at the same place of the
/// result.
bool keepsZeros(bundle::OpKind kind);

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_EXACTANALYSIS_H
