//===- Functions.cpp - Elementary functions in f64 ------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Functions.h"

#include <algorithm>
#include <cmath>

using namespace backfuse;
using namespace backfuse::reference;
using bundle::OpKind;

static constexpr double sqrtTwoOverPi = 0.79788456080286535588;
static constexpr double geluCubic = 0.044715;
static constexpr double invSqrtTwo = 0.70710678118654752440;
static constexpr double invSqrtTwoPi = 0.39894228040143267794;

/// 1/(1+e^-x) with full relative accuracy in both tails.
static double sigmoid(double x) {
  if (x >= 0)
    return 1 / (1 + std::exp(-x));
  double e = std::exp(x);
  return e / (1 + e);
}

/// Twice the argument of tanh in GELU's tanh form: 0.5*(1+tanh(u)) is
/// sigmoid(2u).
static double geluArgument(double x) {
  return 2 * sqrtTwoOverPi * (x + geluCubic * x * x * x);
}

/// a*b where a zero factor wins over an infinite one (tails of derivatives).
static double timesOrZero(double a, double b) {
  return a == 0 || b == 0 ? 0 : a * b;
}

/// The two terms whose sum is the derivative of GELU or SiLU.
static void derivativeTerms(OpKind kind, double x, double &first,
                            double &second) {
  switch (kind) {
  case OpKind::GeluTanhGrad: {
    double u = geluArgument(x), s = sigmoid(u);
    first = s;
    second = timesOrZero(s * sigmoid(-u),
                         x * 2 * sqrtTwoOverPi * (1 + 3 * geluCubic * x * x));
    return;
  }
  case OpKind::GeluErfGrad:
    first = 0.5 * std::erfc(-x * invSqrtTwo);
    second = timesOrZero(invSqrtTwoPi * std::exp(-0.5 * x * x), x);
    return;
  default: // SiluGrad
    first = sigmoid(x);
    second = timesOrZero(first * sigmoid(-x), x);
  }
}

static bool isDerivative(OpKind kind) {
  return kind == OpKind::GeluTanhGrad || kind == OpKind::GeluErfGrad ||
         kind == OpKind::SiluGrad;
}

bool reference::isElementary(OpKind kind) {
  switch (kind) {
  case OpKind::Exp:
  case OpKind::Exp2:
  case OpKind::Log:
  case OpKind::Sqrt:
  case OpKind::Rsqrt:
  case OpKind::Tanh:
  case OpKind::Erf:
  case OpKind::Sigmoid:
  case OpKind::GeluTanh:
  case OpKind::GeluErf:
  case OpKind::GeluTanhGrad:
  case OpKind::GeluErfGrad:
  case OpKind::Silu:
  case OpKind::SiluGrad:
    return true;
  default:
    return false;
  }
}

double reference::elementary(OpKind kind, double x) {
  switch (kind) {
  case OpKind::Exp:
    return std::exp(x);
  case OpKind::Exp2:
    return std::exp2(x);
  case OpKind::Log:
    return std::log(x);
  case OpKind::Sqrt:
    return std::sqrt(x);
  case OpKind::Rsqrt:
    return 1 / std::sqrt(x);
  case OpKind::Tanh:
    return std::tanh(x);
  case OpKind::Erf:
    return std::erf(x);
  case OpKind::Sigmoid:
    return sigmoid(x);
  // Far on the left these are -0, at -inf as well (the limit).
  case OpKind::GeluTanh:
    return x == -HUGE_VAL ? -0.0 : x * sigmoid(geluArgument(x));
  case OpKind::GeluErf:
    return x == -HUGE_VAL ? -0.0 : x * (0.5 * std::erfc(-x * invSqrtTwo));
  case OpKind::Silu:
    return x == -HUGE_VAL ? -0.0 : x * sigmoid(x);
  case OpKind::GeluTanhGrad:
  case OpKind::GeluErfGrad:
  case OpKind::SiluGrad: {
    double first, second;
    derivativeTerms(kind, x, first, second);
    return first + second;
  }
  default:
    return std::nan("");
  }
}

double reference::elementaryScale(OpKind kind, double x) {
  if (!isDerivative(kind))
    return std::fabs(elementary(kind, x));
  double first, second;
  derivativeTerms(kind, x, first, second);
  return std::fabs(first) + std::fabs(second);
}

double reference::elementaryChange(OpKind kind, double x, double error) {
  if (error == 0)
    return 0;
  switch (kind) {
  // Largest slopes: 1.129 (GELU), 1.1 (SiLU), 0.7979 and 0.5 (derivatives).
  case OpKind::GeluTanh:
  case OpKind::GeluErf:
  case OpKind::Silu:
    return 1.13 * error;
  case OpKind::GeluTanhGrad:
  case OpKind::GeluErfGrad:
    return 0.8 * error;
  case OpKind::SiluGrad:
    return 0.5 * error;
  default: {
    // Monotone: the ends of the interval decide.
    double f = elementary(kind, x);
    double up = std::fabs(elementary(kind, x + error) - f);
    double down = std::fabs(elementary(kind, x - error) - f);
    return std::isnan(up) || std::isnan(down) ? HUGE_VAL : std::max(up, down);
  }
  }
}

/// Whether x is 4^n: its square root is a power of two.
static bool isPowerOfFour(double x) {
  int exponent;
  return x > 0 && std::frexp(x, &exponent) == 0.5 && (exponent - 1) % 2 == 0;
}

std::optional<ExactRegion> reference::exactRegion(OpKind kind, double low,
                                                  double high) {
  auto value = [](double v) { return ExactRegion{ExactRegion::Value, v}; };
  bool point = low == high, zero = point && low == 0;
  switch (kind) {
  case OpKind::Exp:
  case OpKind::Exp2:
    if (zero)
      return value(1);
    if (high <= -256)
      return value(0);
    if (low >= 256)
      return value(HUGE_VAL);
    return std::nullopt;
  case OpKind::Log:
    if (point && low == 1)
      return value(0);
    return std::nullopt;
  case OpKind::Sqrt:
    if (zero || (point && isPowerOfFour(low)))
      return value(std::sqrt(low));
    return std::nullopt;
  case OpKind::Rsqrt:
    if (point && isPowerOfFour(low))
      return value(1 / std::sqrt(low));
    return std::nullopt;
  case OpKind::Tanh:
  case OpKind::Erf:
    if (zero)
      return value(low); // keeps the sign of zero
    if (low >= 32)
      return value(1);
    if (high <= -32)
      return value(-1);
    return std::nullopt;
  case OpKind::Sigmoid:
  case OpKind::GeluTanhGrad:
  case OpKind::GeluErfGrad:
  case OpKind::SiluGrad:
    if (zero)
      return value(0.5);
    if (low >= 128)
      return value(1);
    if (high <= -128)
      return value(0);
    return std::nullopt;
  case OpKind::GeluTanh:
  case OpKind::GeluErf:
  case OpKind::Silu:
    if (zero)
      return value(low);
    if (low >= 128)
      return ExactRegion{ExactRegion::Identity, 0};
    if (high <= -128)
      return value(-0.0);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}
