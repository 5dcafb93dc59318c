//===- ExpandElementaryFunctions.cpp - Functions to arithmetic ------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites scalar elementary functions to arith and math.fma on f32 and to
// tile.approx, what the special function unit evaluates. An operand of 16 bits
// is extended first, the result rounded once at the end.
//
// Errors are relative to the f32 value before that rounding and stay below
// 2^-20 where it is a normal number; docs/elementary-functions.md has what was
// measured, the counts of instructions and the points where a function is
// exact. The counts at the functions below are of f32 and i32 instructions, the
// special function unit's among them; |x| and -x are free (operand modifiers),
// constants and casts apart.
//
// Polynomials are minimax fits of ours (Remez, relative error of the function),
// rounded to f32.
//
//===----------------------------------------------------------------------===//
#include "backfuse/Transforms/Passes.h"
#include "backfuse/Transforms/Transforms.h"

#include "dialects/Tile/IR/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

namespace backfuse {
#define GEN_PASS_DEF_EXPANDELEMENTARYFUNCTIONSPASS
#include "backfuse/Transforms/Passes.h.inc"
} // namespace backfuse

using namespace mlir;
using namespace backfuse;

static constexpr double ln2 = 0.69314718055994530942;
static constexpr double log2e = 1.44269504088896340736;
static constexpr double sqrtTwoOverPi = 0.79788456080286535588;
static constexpr double geluCubic = 0.044715;
static constexpr double smallestNormal = 0x1p-126;

//===----------------------------------------------------------------------===//
// Writing arithmetic
//===----------------------------------------------------------------------===//

namespace {
/// Where ops go, and the constants that are there already.
struct Emitter {
  OpBuilder builder;
  Location loc;
  /// By block and bits.
  DenseMap<std::pair<Block *, uint32_t>, Value> constants;

  explicit Emitter(MLIRContext *context)
      : builder(context), loc(UnknownLoc::get(context)) {}

  template <typename OpTy, typename... Args> Value create(Args &&...args) {
    return OpTy::create(builder, loc, std::forward<Args>(args)...);
  }
  Value constant(double value);
};

/// An f32 scalar with arithmetic. Numbers mix in as constants, rounded to f32.
struct F32 {
  Emitter *emitter;
  Value value;

  F32 of(Value v) const { return {emitter, v}; }
  F32 of(double v) const { return {emitter, emitter->constant(v)}; }
};
} // namespace

/// An f32 constant at the start of the block, shared within it.
Value Emitter::constant(double value) {
  APFloat rounded(static_cast<float>(value));
  Block *block = builder.getInsertionBlock();
  uint32_t bits = rounded.bitcastToAPInt().getZExtValue();
  Value &known = constants[{block, bits}];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(block);
    known = create<arith::ConstantOp>(
        builder.getFloatAttr(builder.getF32Type(), rounded));
  }
  return known;
}

static F32 operator+(F32 a, F32 b) {
  return a.of(a.emitter->create<arith::AddFOp>(a.value, b.value));
}
static F32 operator-(F32 a, F32 b) {
  return a.of(a.emitter->create<arith::SubFOp>(a.value, b.value));
}
static F32 operator*(F32 a, F32 b) {
  return a.of(a.emitter->create<arith::MulFOp>(a.value, b.value));
}
static F32 operator-(F32 a) {
  return a.of(a.emitter->create<arith::NegFOp>(a.value));
}
static F32 operator+(F32 a, double b) { return a + a.of(b); }
static F32 operator-(F32 a, double b) { return a - a.of(b); }
static F32 operator-(double a, F32 b) { return b.of(a) - b; }
static F32 operator*(F32 a, double b) { return a * a.of(b); }
static Value operator<(F32 a, double b) {
  return a.emitter->create<arith::CmpFOp>(arith::CmpFPredicate::OLT, a.value,
                                          a.of(b).value);
}

/// a * b + c, rounded once.
static F32 fma(F32 a, F32 b, F32 c) {
  return a.of(a.emitter->create<math::FmaOp>(a.value, b.value, c.value));
}
static F32 fma(F32 a, double b, F32 c) { return fma(a, a.of(b), c); }
static F32 fma(F32 a, double b, double c) { return fma(a, a.of(b), a.of(c)); }
static F32 abs(F32 a) { return a.of(a.emitter->create<math::AbsFOp>(a.value)); }
static F32 copysign(F32 magnitude, F32 sign) {
  return sign.of(
      sign.emitter->create<math::CopySignOp>(magnitude.value, sign.value));
}
/// NaN if `a` is.
static F32 max(F32 a, double b) {
  return a.of(a.emitter->create<arith::MaximumFOp>(a.value, a.of(b).value));
}
static F32 min(F32 a, double b) {
  return a.of(a.emitter->create<arith::MinimumFOp>(a.value, a.of(b).value));
}
static F32 select(Value condition, F32 a, F32 b) {
  return a.of(a.emitter->create<arith::SelectOp>(condition, a.value, b.value));
}
static F32 select(Value condition, F32 a, double b) {
  return select(condition, a, a.of(b));
}
static F32 approx(tile::ApproxKind kind, F32 a) {
  return a.of(a.emitter->create<tile::ApproxOp>(kind, a.value));
}
static F32 ex2(F32 a) { return approx(tile::ApproxKind::Ex2, a); }
static F32 rcp(F32 a) { return approx(tile::ApproxKind::Rcp, a); }

/// Horner's scheme; coefficients from the constant one up.
static F32 polynomial(F32 x, ArrayRef<double> coefficients) {
  F32 sum = fma(x, coefficients.back(), coefficients[coefficients.size() - 2]);
  for (double c : llvm::reverse(coefficients.drop_back(2)))
    sum = fma(sum, x, sum.of(c));
  return sum;
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//
//
// exp(x) = 2^y * exp(x - y*ln2) with y = x*log2(e) rounded: the second factor
// is 1 + (x - y*ln2) to within 2^-37, and fma gives that difference almost
// exactly, ln2's own rounding (2^-28.4) apart, which costs 2^-21.9 at most. So
// there is no integer part to split off, and ex2 over- and underflows by
// itself.
//
// Arguments are bounded where an infinity would make the difference inf - inf.

/// 7 instructions, 1 of them special.
static F32 expandExp(F32 x, bool afn) {
  if (afn)
    return ex2(x * log2e);
  F32 bounded = min(max(x, -104), 89);
  F32 y = bounded * log2e;
  F32 rest = fma(y, -ln2, bounded);
  // Not fma(p, rest, p): where p is inf, rest may be negative.
  return ex2(y) * (rest + 1);
}

/// exp(-x) for x whose exponential does not overflow.
static F32 expOfNegative(F32 x) {
  F32 y = x * -log2e;
  F32 rest = fma(y, ln2, x);
  F32 power = ex2(y);
  return fma(-power, rest, power);
}

/// 8 instructions, 2 of them special; with afn 4, 2.
static F32 expandSigmoid(F32 x, bool afn) {
  if (afn)
    return rcp(ex2(x * -log2e) + 1);
  // Relative accuracy on both sides: an error of the exponential is one of the
  // sum. At -88.5 the sum is 2^127.7, whose reciprocal is flushed to 0.
  return rcp(expOfNegative(min(max(x, -88.5), 128)) + 1);
}

/// How far exponents of a far tail are moved: x * f(x) is still a normal number
/// where f(x) is not, so f is computed times 2^tailShift and x times its
/// inverse.
static constexpr int tailShift = 16;

/// x / (1 + 2^y * (1 - rest)), where `isTail` with the exponent moved. That
/// takes y to be at least 25 + tailShift there, so that it does not matter that
/// 1 is not scaled.
static F32 timesLogistic(F32 x, F32 y, F32 rest, Value isTail) {
  F32 power = ex2(y - select(isTail, x.of(tailShift), 0.0));
  F32 sum = fma(-power, rest, power) + 1;
  return select(isTail, x * std::ldexp(1.0, -tailShift), x) * rcp(sum);
}

/// 14 instructions, 2 of them special; with afn 6, 2.
static F32 expandSilu(F32 x, bool afn) {
  // At -99 the exponential is 2^(142.8-16), whose reciprocal is flushed to 0;
  // the last normal result is at -91.86.
  F32 left = max(x, -99);
  if (afn)
    return left * rcp(ex2(left * -log2e) + 1);
  F32 bounded = min(left, 128);
  F32 y = bounded * -log2e;
  return timesLogistic(left, y, fma(y, ln2, bounded), left < -64);
}

/// x/2 * (1 + tanh(u)) is x * sigmoid(2u), which does not cancel. The argument
/// is needed to within 2^-21 absolutely, up to 143: it is computed in two
/// words. 24 instructions, 2 of them special; 22 where x*x is exact; with afn
/// 8, 2.
static F32 expandGeluTanh(F32 x, bool isSquareExact, bool afn) {
  // sigmoid(2u) = 1 / (1 + 2^-z), z = x * (a + b * x^2).
  const double a = 2 * log2e * sqrtTwoOverPi, b = a * geluCubic;
  // At -10.49 z is -143, as in expandSilu; the last normal result is at -10.1.
  const double bound = 10.49;
  F32 left = max(x, -bound);
  if (afn)
    return left * rcp(ex2(left * fma(left * left, -b, -a)) + 1);
  F32 bounded = min(left, bound);
  F32 square = bounded * bounded;
  // aHigh has 21 bits, so that aHigh - factor is exact up to factor = 8 *
  // aHigh.
  const double aHigh = std::round(std::ldexp(a, 19)) * 0x1p-19;
  const double bHigh = static_cast<float>(b);
  F32 factor = fma(square, bHigh, aHigh);
  F32 factorLow = fma(square, bHigh, aHigh - factor);
  F32 constantsLow = fma(square, b - bHigh, a - aHigh);
  if (!isSquareExact) {
    F32 squareLow = fma(bounded, bounded, -square);
    constantsLow = fma(squareLow, bHigh, constantsLow);
  }
  factorLow = factorLow + constantsLow;
  F32 z = bounded * factor;
  F32 zLow = fma(bounded, factorLow, fma(bounded, factor, -z));
  return timesLogistic(left, -z, zLow * ln2, left < -7);
}

/// 1 instruction: the special function unit's is accurate, and exact at
/// integers.
static F32 expandExp2(F32 x) { return ex2(x); }

//===----------------------------------------------------------------------===//
// Saturating functions
//===----------------------------------------------------------------------===//

/// 13 instructions, 2 of them special; with afn 1, 1.
static F32 expandTanh(F32 x, bool afn) {
  if (afn)
    return approx(tile::ApproxKind::Tanh, x);
  F32 magnitude = abs(x);
  // 1 - 2 / (1 + exp(2|x|)): the rounding of the exponent does not matter,
  // since the quotient is small where the exponent is large.
  F32 quotient = rcp(ex2(magnitude * (2 * log2e)) + 1);
  F32 large = fma(quotient, -2, 1);
  // Below 0.45 that cancels; x + x^3 * p(x^2), fit 2^-21.7.
  F32 square = magnitude * magnitude;
  F32 p = polynomial(
      square, {-0.33330484541408295, 0.1324665010493618, -0.04632190575232293});
  F32 small = fma(p, square * magnitude, magnitude);
  return copysign(select(magnitude < 0.45, small, large), x);
}

/// 16 instructions, 1 of them special.
static F32 expandErf(F32 x) {
  F32 magnitude = abs(x);
  // 1 - 2^q(|x|), fit 2^-21.5 from 0.9 to 4; erfc(4) is below half an ulp of 1.
  F32 q =
      polynomial(min(magnitude, 4), {-0.011097530117154171, -1.583679859980381,
                                     -0.9877971701583601, -0.0953784490899535,
                                     0.009538062045749002});
  F32 large = 1 - ex2(q);
  // x * p(x^2), fit 2^-21.2 up to 0.9.
  F32 p =
      polynomial(magnitude * magnitude,
                 {1.128378697273347, -0.37609803912515793, 0.11255892659356552,
                  -0.025886074134831058, 0.003767213392276774});
  return copysign(select(magnitude < 0.9, magnitude * p, large), x);
}

/// x * Phi(x). With t = |x|, Phi(-t) = exp(-t^2/2) * r(t), which keeps its
/// relative accuracy in the tail. 30 instructions, 2 of them special; 28 where
/// x*x is exact.
static F32 expandGeluErf(F32 x, bool isSquareExact) {
  // At -14.1 the exponential is 2^(-143+16) and flushed to 0; the last normal
  // result is at -13.15.
  const double bound = 14.1;
  F32 left = max(x, -bound);
  F32 t = min(abs(left), bound);
  F32 half = t * 0.5;
  F32 w = half * t;
  F32 y = w * -log2e;
  F32 rest = fma(y, ln2, w);
  if (!isSquareExact)
    rest = rest + fma(half, t, -w);
  Value isTail = left < -12;
  F32 power = ex2(y + select(isTail, x.of(tailShift), 0.0));
  power = fma(-power, rest, power);
  // r(t) = u * p(u) with u = 1 / (1 + 0.345 t), fit 2^-25.6 up to 13.2; the
  // fit makes up for the rounding of ln2 above.
  F32 u = rcp(fma(t, 0.345, 1));
  F32 p = polynomial(
      u, {0.13761875786815442, 0.13802842230603274, 0.11718911090056024,
          0.11198463092373258, -0.03803237932680026, 0.18782599487141705,
          -0.2717344513447357, 0.14556108340332136, -0.02844117947256577});
  F32 tail = power * (u * p);
  F32 phi = select(left < 0, tail, 1 - tail);
  return select(isTail, left * std::ldexp(1.0, -tailShift), left) * phi;
}

//===----------------------------------------------------------------------===//
// Logarithm and roots
//===----------------------------------------------------------------------===//

/// 17 instructions, 1 of them special; with afn 7, 1.
static F32 expandLog(F32 x, bool afn) {
  // lg2 has an absolute error; near 1 use a series in f = x - 1 (exact).
  F32 f = x - 1;
  if (afn)
    return select(abs(f) < 0x1p-6, fma(f * -0.5, f, f),
                  approx(tile::ApproxKind::Lg2, x) * ln2);
  // lg2 flushes subnormals.
  Value isSubnormal = x < smallestNormal;
  F32 scaled = select(isSubnormal, x * 0x1p24, x);
  F32 far = (approx(tile::ApproxKind::Lg2, scaled) +
             select(isSubnormal, x.of(-24.0), 0.0)) *
            ln2;
  // f + f^2 * p(f), fit 2^-22.8.
  F32 p = polynomial(f, {-0.5000035436897875, 0.33333925461685465,
                         -0.24954056245459452, 0.19945267439705808,
                         -0.18119351458196647, 0.1573463632461256});
  F32 near = fma(p, f * f, f);
  return select(abs(f) < 0.25, near, far);
}

/// 13 instructions, 1 of them special. Nearly correctly rounded, exact at
/// squares.
static F32 expandSqrt(F32 x) {
  // Scaled, so that neither the argument nor the remainder is subnormal.
  Value isSmall = x < 0x1p-64;
  F32 scaled = select(isSmall, x * 0x1p64, x);
  F32 inverse = approx(tile::ApproxKind::Rsqrt, scaled);
  F32 root = scaled * inverse;
  root = fma(fma(-root, root, scaled), inverse * 0.5, root);
  root = root * select(isSmall, x.of(0x1p-32), 1.0);
  // 1/sqrt is inf at a zero and 0 at inf, where the root is x itself.
  Value isFixed = x.emitter->create<arith::CmpFOp>(
      arith::CmpFPredicate::OEQ, inverse.value, (inverse + inverse).value);
  return select(isFixed, x, root);
}

/// 6 instructions, 1 of them special; with afn 1, 1.
static F32 expandRsqrt(F32 x, bool afn) {
  if (afn)
    return approx(tile::ApproxKind::Rsqrt, x);
  Value isSubnormal = x < smallestNormal;
  F32 scaled = select(isSubnormal, x * 0x1p24, x);
  return approx(tile::ApproxKind::Rsqrt, scaled) *
         select(isSubnormal, x.of(0x1p12), 1.0);
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

/// Whether the square of `value` is exact in f32: it was extended from 16 bits.
/// (Squares that underflow do not matter beside the constants that they are
/// added to.)
static bool isSquareExact(Value value) {
  return static_cast<bool>(value.getDefiningOp<arith::ExtFOp>());
}

/// The function of `op` at x; no value if it is not one that this pass expands.
static std::optional<F32> expand(Operation *op, F32 x) {
  bool afn = mlp::allowsApproximation(op);
  return llvm::TypeSwitch<Operation *, std::optional<F32>>(op)
      .Case([&](math::ExpOp) { return expandExp(x, afn); })
      .Case([&](math::Exp2Op) { return expandExp2(x); })
      .Case([&](math::LogOp) { return expandLog(x, afn); })
      .Case([&](math::SqrtOp) { return expandSqrt(x); })
      .Case([&](math::RsqrtOp) { return expandRsqrt(x, afn); })
      .Case([&](math::TanhOp) { return expandTanh(x, afn); })
      .Case([&](math::ErfOp) { return expandErf(x); })
      .Case([&](mlp::SigmoidOp) { return expandSigmoid(x, afn); })
      .Case([&](mlp::SiluOp) { return expandSilu(x, afn); })
      .Case([&](mlp::GeluOp gelu) {
        return gelu.getForm() == mlp::GeluForm::Tanh
                   ? expandGeluTanh(x, isSquareExact(x.value), afn)
                   : expandGeluErf(x, isSquareExact(x.value));
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Whether the pass has to do with `op`: a scalar function of math or mlp that
/// the conversions to the machine level do not take as it is.
static bool isScalarFunction(Operation *op) {
  if (op->getNumResults() != 1 || !isa<FloatType>(op->getResult(0).getType()) ||
      isa<math::AbsFOp, math::CopySignOp, math::FloorOp, math::FmaOp,
          math::RoundEvenOp>(op))
    return false;
  return isa<math::MathDialect>(op->getDialect()) ||
         mlp::isElementaryFunction(op) || mlp::isSugar(op) ||
         isa<mlp::ReluOp>(op);
}

/// Exact in each type, so that pairs of 16-bit elements take one instruction.
static void expandRelu(Operation *op, Emitter &emitter) {
  Type type = op->getResult(0).getType();
  Value zero = emitter.create<arith::ConstantOp>(
      emitter.builder.getFloatAttr(type, 0.0));
  op->getResult(0).replaceAllUsesWith(
      emitter.create<arith::MaximumFOp>(op->getOperand(0), zero));
  op->erase();
}

static LogicalResult expandInPlace(Operation *op, Emitter &emitter) {
  if (mlp::isSugar(op))
    return op->emitOpError("expects to be expanded by backfuse-expand-sugar "
                           "before kernels are made");
  Type type = op->getResult(0).getType();
  if (!type.isF32() && !type.isF16() && !type.isBF16())
    return op->emitOpError("expects f32, f16 or bf16, but got ") << type;
  OpBuilder &builder = emitter.builder;
  builder.setInsertionPoint(op);
  emitter.loc = op->getLoc();
  Value operand = op->getOperand(0);
  if (isa<mlp::ReluOp>(op)) {
    expandRelu(op, emitter);
    return success();
  }
  if (!type.isF32())
    operand = emitter.create<arith::ExtFOp>(builder.getF32Type(), operand);
  std::optional<F32> result = expand(op, {&emitter, operand});
  if (!result) {
    // Only reached by math ops that GraphOp's C6 does not admit.
    if (operand != op->getOperand(0))
      operand.getDefiningOp()->erase();
    return op->emitOpError(
        "has no expansion for kernels; write it with exp, exp2, log, sqrt, "
        "rsqrt, tanh, erf or the activations of mlp");
  }
  Value value = result->value;
  if (!type.isF32())
    value = emitter.create<arith::TruncFOp>(type, value);
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return success();
}

LogicalResult backfuse::expandElementaryFunctions(Operation *root) {
  SmallVector<Operation *> functions;
  root->walk([&](Operation *op) {
    if (isScalarFunction(op))
      functions.push_back(op);
  });
  Emitter emitter(root->getContext());
  bool failed = false;
  for (Operation *op : functions)
    failed |= mlir::failed(expandInPlace(op, emitter));
  return failure(failed);
}

namespace {
struct ExpandElementaryFunctionsPass final
    : backfuse::impl::ExpandElementaryFunctionsPassBase<
          ExpandElementaryFunctionsPass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(expandElementaryFunctions(getOperation())))
      signalPassFailure();
  }
};
} // namespace
