//===- Elementwise.cpp - Elementwise ops on blocks ------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Elementwise.h"

#include "Functions.h"

#include <algorithm>
#include <cmath>

using namespace backfuse;
using namespace backfuse::reference;
using bundle::OpKind;

/// IEEE 754-2019 maximum: NaN if either operand is NaN, and +0 above -0.
static double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::nan("");
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
static double minimum(double a, double b) { return -maximum(-a, -b); }

/// IEEE 754-2019 maximumNumber: the number if only one operand is NaN.
static double maximumNumber(double a, double b) {
  if (std::isnan(a))
    return b;
  return std::isnan(b) ? a : maximum(a, b);
}
static double minimumNumber(double a, double b) {
  return -maximumNumber(-a, -b);
}

template <typename Function>
static void mapUnary(const double *a, int64_t count, double *result,
                     const Function &function) {
  for (int64_t i = 0; i < count; ++i)
    result[i] = function(a[i]);
}

template <typename Function>
static void mapBinary(const double *a, const double *b, int64_t count,
                      double *result, const Function &function) {
  for (int64_t i = 0; i < count; ++i)
    result[i] = function(a[i], b[i]);
}

void reference::applyElementwise(OpKind kind, const double *const operands[3],
                                 int64_t count, double *result) {
  const double *a = operands[0], *b = operands[1], *c = operands[2];
  auto unary = [&](auto function) { mapUnary(a, count, result, function); };
  auto binary = [&](auto function) {
    mapBinary(a, b, count, result, function);
  };
  switch (kind) {
  case OpKind::Neg:
    return unary([](double x) { return -x; });
  case OpKind::Abs:
    return unary([](double x) { return std::fabs(x); });
  case OpKind::Relu:
    return unary([](double x) { return maximum(x, 0.0); });
  case OpKind::ReluGrad:
    return unary([](double x) { return x > 0 ? 1.0 : 0.0; });
  case OpKind::Cast:
    return unary([](double x) { return x; });
  case OpKind::Add:
    return binary([](double x, double y) { return x + y; });
  case OpKind::Sub:
    return binary([](double x, double y) { return x - y; });
  case OpKind::Mul:
    return binary([](double x, double y) { return x * y; });
  case OpKind::Div:
    return binary([](double x, double y) { return x / y; });
  case OpKind::Maximum:
    return binary(maximum);
  case OpKind::Minimum:
    return binary(minimum);
  case OpKind::MaxNum:
    return binary(maximumNumber);
  case OpKind::MinNum:
    return binary(minimumNumber);
  case OpKind::CmpOlt:
    return binary([](double x, double y) { return double(x < y); });
  case OpKind::CmpOle:
    return binary([](double x, double y) { return double(x <= y); });
  case OpKind::CmpOgt:
    return binary([](double x, double y) { return double(x > y); });
  case OpKind::CmpOge:
    return binary([](double x, double y) { return double(x >= y); });
  case OpKind::CmpOeq:
    return binary([](double x, double y) { return double(x == y); });
  case OpKind::CmpUne:
    return binary([](double x, double y) { return double(x != y); });
  case OpKind::And:
    return binary([](double x, double y) { return double(x != 0 && y != 0); });
  case OpKind::Or:
    return binary([](double x, double y) { return double(x != 0 || y != 0); });
  case OpKind::Select:
    for (int64_t i = 0; i < count; ++i)
      result[i] = a[i] != 0 ? b[i] : c[i];
    return;
  default:
    return unary([kind](double x) { return elementary(kind, x); });
  }
}

/// The error of an elementary function: its own and that of its argument.
static double elementaryError(const bundle::Op &op, double x, double error) {
  OpKind kind = op.kind();
  if (error == 0 && exactRegion(kind, x, x))
    return 0;
  double accuracy = op.afn() ? approximateAccuracy : functionAccuracy;
  double change = elementaryChange(kind, x, error);
  // An approximate sigmoid or tanh flushes to zero; these multiply it by x.
  bool multiplies = kind == OpKind::Silu || kind == OpKind::GeluTanh;
  double flushed = op.afn() && multiplies ? approximateFlush : smallestNormal;
  return change + accuracy * (elementaryScale(kind, x) + change) + flushed;
}

void reference::propagateErrors(const bundle::Op &op,
                                const double *const operands[3],
                                const double *const errors[3],
                                const double *result, int64_t count,
                                double *resultErrors) {
  const double *a = operands[0], *b = operands[1], *c = operands[2];
  const double *ea = errors[0], *eb = errors[1], *ec = errors[2];
  auto forEach = [&](auto function) {
    for (int64_t i = 0; i < count; ++i) {
      double error = function(i);
      resultErrors[i] = std::isnan(error) ? HUGE_VAL : error;
    }
  };
  switch (op.kind()) {
  case OpKind::Neg:
  case OpKind::Abs:
  case OpKind::Relu:
  case OpKind::Cast:
    return forEach([&](int64_t i) { return ea[i]; });
  case OpKind::ReluGrad:
    return forEach([&](int64_t i) {
      return ea[i] > 0 && std::fabs(a[i]) <= ea[i] ? 1.0 : 0.0;
    });
  case OpKind::Add:
  case OpKind::Sub:
    return forEach([&](int64_t i) { return ea[i] + eb[i]; });
  case OpKind::Mul:
    return forEach([&](int64_t i) {
      double error = 0;
      if (eb[i] > 0)
        error += (std::fabs(a[i]) + ea[i]) * eb[i];
      if (ea[i] > 0)
        error += std::fabs(b[i]) * ea[i];
      return error;
    });
  case OpKind::Div:
    return forEach([&](int64_t i) {
      // An approximate division is an elementary function of its operands.
      double own =
          op.afn() ? approximateAccuracy * std::fabs(result[i]) + smallestNormal
                   : 0;
      if (ea[i] == 0 && eb[i] == 0)
        return own;
      if (std::fabs(b[i]) <= eb[i])
        return HUGE_VAL;
      return (ea[i] + std::fabs(result[i]) * eb[i]) /
                 (std::fabs(b[i]) - eb[i]) *
                 (op.afn() ? 1 + approximateAccuracy : 1) +
             own;
    });
  case OpKind::Maximum:
  case OpKind::Minimum:
  case OpKind::MaxNum:
  case OpKind::MinNum:
    return forEach([&](int64_t i) { return std::max(ea[i], eb[i]); });
  case OpKind::CmpOlt:
  case OpKind::CmpOle:
  case OpKind::CmpOgt:
  case OpKind::CmpOge:
  case OpKind::CmpOeq:
  case OpKind::CmpUne:
    return forEach([&](int64_t i) {
      double error = ea[i] + eb[i];
      return error > 0 && !(std::fabs(a[i] - b[i]) > error) ? 1.0 : 0.0;
    });
  case OpKind::And:
  case OpKind::Or:
    return forEach(
        [&](int64_t i) { return ea[i] > 0 || eb[i] > 0 ? 1.0 : 0.0; });
  case OpKind::Select:
    return forEach([&](int64_t i) {
      double taken = a[i] != 0 ? eb[i] : ec[i];
      if (ea[i] == 0)
        return taken;
      double other = a[i] != 0 ? ec[i] : eb[i];
      return std::max(taken, std::fabs(b[i] - c[i]) + other);
    });
  default:
    return forEach([&](int64_t i) { return elementaryError(op, a[i], ea[i]); });
  }
}
