//===- ExpandSugar.cpp - Expand derivatives of activations ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces each derivative of an activation by its primitives, in the order in
// which frameworks evaluate them: the order decides the roundings, so nothing
// is regrouped or folded here.
// Precondition: none. Postcondition: the graph holds no sugar.
//
//===----------------------------------------------------------------------===//
#include "backfuse/Transforms/Passes.h"
#include "backfuse/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "backfuse-expand-sugar"

namespace backfuse {
#define GEN_PASS_DEF_EXPANDSUGARPASS
#include "backfuse/Transforms/Passes.h.inc"
} // namespace backfuse

using namespace mlir;
using namespace backfuse;

//===----------------------------------------------------------------------===//
// Primitives
//===----------------------------------------------------------------------===//

namespace {
/// Creates primitives of one type in front of the op that they replace.
struct Primitives {
  OpBuilder &builder;
  Location loc;
  Type type;
  bool afn;

  Value constant(double value) {
    Value scalar = arith::ConstantOp::create(
        builder, loc, builder.getFloatAttr(getElementTypeOrSelf(type), value));
    if (!isa<RankedTensorType>(type))
      return scalar;
    return mlp::BroadcastOp::create(builder, loc, type, scalar,
                                    builder.getDenseI64ArrayAttr({}));
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value sigmoid(Value x) {
    return mlp::SigmoidOp::create(builder, loc, type, x, afn);
  }
  template <typename MathOp> Value math(Value x) {
    return MathOp::create(builder, loc, x,
                          afn ? arith::FastMathFlags::afn
                              : arith::FastMathFlags::none);
  }
};
} // namespace

/// s (1 + x (1 - s)), s = sigmoid(x).
static Value expandSiluGrad(Primitives &p, Value x) {
  Value one = p.constant(1.0);
  Value s = p.sigmoid(x);
  Value complement = p.sub(one, s);
  return p.mul(s, p.add(one, p.mul(x, complement)));
}

/// 0.5 (1 + t) + 0.5 x (1 - t^2) sqrt(2/pi) (1 + 3 * 0.044715 x^2) with
/// t = tanh(sqrt(2/pi) (x + 0.044715 x^3)).
static Value expandGeluTanhGrad(Primitives &p, Value x) {
  constexpr double cubic = 0.044715;
  constexpr double scale = 0.79788456080286535588; // sqrt(2/pi)
  Value half = p.constant(0.5), one = p.constant(1.0);
  Value beta = p.constant(scale);
  Value square = p.mul(x, x);
  Value cube = p.mul(square, x);
  Value sum = p.add(x, p.mul(p.constant(cubic), cube));
  Value t = p.math<math::TanhOp>(p.mul(beta, sum));
  Value left = p.mul(half, p.add(one, t));
  Value slope = p.sub(one, p.mul(t, t));
  Value inner = p.mul(beta, p.add(one, p.mul(p.constant(3.0 * cubic), square)));
  Value right = p.mul(p.mul(p.mul(half, x), slope), inner);
  return p.add(left, right);
}

/// 0.5 (1 + erf(x / sqrt(2))) + x exp(-x^2 / 2) / sqrt(2 pi).
static Value expandGeluErfGrad(Primitives &p, Value x) {
  constexpr double inverseSqrt2 = 0.70710678118654752440;
  constexpr double inverseSqrt2Pi = 0.39894228040143267794;
  Value erf = p.math<math::ErfOp>(p.mul(x, p.constant(inverseSqrt2)));
  Value cdf = p.mul(p.constant(0.5), p.add(p.constant(1.0), erf));
  Value exponent = p.mul(p.constant(-0.5), p.mul(x, x));
  Value pdf = p.mul(p.constant(inverseSqrt2Pi), p.math<math::ExpOp>(exponent));
  return p.add(cdf, p.mul(x, pdf));
}

/// 1 where x > 0, else 0.
static Value expandReluGrad(Primitives &p, Value x) {
  Value zero = p.constant(0.0), one = p.constant(1.0);
  Value isPositive = arith::CmpFOp::create(p.builder, p.loc,
                                           arith::CmpFPredicate::OGT, x, zero);
  return arith::SelectOp::create(p.builder, p.loc, isPositive, one, zero);
}

//===----------------------------------------------------------------------===//
// Roundings
//===----------------------------------------------------------------------===//

/// The f32 type of the same shape.
static Type widen(Type type) {
  Type f32 = Float32Type::get(type.getContext());
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? Type(tensor.clone(f32)) : f32;
}

/// Expands `op`, which has one operand and result, by `expand`, in f32 with one
/// rounding at the end or in the type of the op.
static Value expandOp(Operation *op, bool roundOnce, bool afn,
                      function_ref<Value(Primitives &, Value)> expand) {
  OpBuilder builder(op);
  Value x = op->getOperand(0);
  Type type = x.getType();
  bool isWidened = roundOnce && !getElementTypeOrSelf(type).isF32();
  Primitives primitives{builder, op->getLoc(), isWidened ? widen(type) : type,
                        afn};
  if (isWidened)
    x = arith::ExtFOp::create(builder, op->getLoc(), primitives.type, x);
  Value result = expand(primitives, x);
  if (isWidened)
    result = arith::TruncFOp::create(builder, op->getLoc(), type, result);
  return result;
}

void backfuse::expandSugar(mlp::GraphOp graph) {
  for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
    Value result =
        TypeSwitch<Operation *, Value>(&op)
            .Case([](mlp::SiluGradOp silu) {
              return expandOp(silu, silu.getRounding() == mlp::Rounding::Once,
                              silu.getAfn(), expandSiluGrad);
            })
            .Case([](mlp::GeluGradOp gelu) {
              return expandOp(gelu, gelu.getRounding() == mlp::Rounding::Once,
                              gelu.getAfn(),
                              gelu.getForm() == mlp::GeluForm::Tanh
                                  ? expandGeluTanhGrad
                                  : expandGeluErfGrad);
            })
            .Case([](mlp::ReluGradOp relu) {
              return expandOp(relu, /*roundOnce=*/false, /*afn=*/false,
                              expandReluGrad);
            })
            .Default(Value());
    if (!result)
      continue;
    op.getResult(0).replaceAllUsesWith(result);
    op.erase();
  }
}

LogicalResult backfuse::verifyNoSugar(mlp::GraphOp graph) {
  for (Operation &op : graph.getBody().front())
    if (mlp::isSugar(&op))
      return op.emitOpError("is sugar; run backfuse-expand-sugar first");
  return success();
}

namespace {
struct ExpandSugarPass final
    : backfuse::impl::ExpandSugarPassBase<ExpandSugarPass> {
  using Base::Base;
  void runOnOperation() override { expandSugar(getOperation()); }
};
} // namespace
