//===- ElementRegion.cpp - Emit a region over elements, two at once -------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Common/ElementRegion.h"
#include "backfuse/Conversion/Common/NvvmBuilder.h"
#include "dialects/Tile/IR/TileOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace backfuse;

Value backfuse::pairElement(ImplicitLocOpBuilder &b, Value pair, int64_t i) {
  Value index = arith::ConstantIntOp::create(b, b.getI32Type(), i);
  return LLVM::ExtractElementOp::create(b, pair, index);
}

Value backfuse::makePair(ImplicitLocOpBuilder &b, Value first, Value second) {
  Value pair =
      LLVM::PoisonOp::create(b, VectorType::get(2, first.getType()));
  Value elements[] = {first, second};
  for (auto [i, value] : llvm::enumerate(elements)) {
    Value index = arith::ConstantIntOp::create(b, b.getI32Type(), i);
    pair = LLVM::InsertElementOp::create(b, pair, value, index);
  }
  return pair;
}

Value backfuse::clampToFiniteBf16(ImplicitLocOpBuilder &b, Value value) {
  NvvmBuilder machine(b);
  Value largest = arith::ConstantOp::create(b, b.getF32FloatAttr(0x1.fep127f));
  auto type = cast<VectorType>(value.getType());
  Value result = LLVM::PoisonOp::create(b, type);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    Value index = arith::ConstantIntOp::create(b, b.getI32Type(), i);
    Value element = machine.clampMagnitude(pairElement(b, value, i), largest);
    result = LLVM::InsertElementOp::create(b, result, element, index);
  }
  return result;
}

Value backfuse::splatPair(ImplicitLocOpBuilder &b, Value value) {
  return makePair(b, value, value);
}

StringRef backfuse::whyNotElementOp(Operation *op) {
  auto isScalar = [](Type type) { return type.isIntOrFloat(); };
  if (op->getNumResults() != 1 ||
      !llvm::all_of(op->getOperandTypes(), isScalar) ||
      !isScalar(op->getResult(0).getType()))
    return "has no element form: it expects scalars, and one result";
  if (isa<tile::ApproxOp, arith::ConstantOp>(op))
    return {};
  // Each of them has a vector form that lowers to one instruction, or to two.
  if (isa<math::FmaOp, math::AbsFOp, math::FloorOp, math::RoundEvenOp,
          math::CopySignOp>(op))
    return {};
  if (isa<arith::ArithDialect>(op->getDialect()) &&
      op->hasTrait<OpTrait::Elementwise>())
    return {};
  return "has no element form: expand it first "
         "(backfuse-expand-elementary-functions)";
}

/// The pair type of a scalar.
static Type pairType(Type type) { return VectorType::get(2, type); }

/// `op` with pairs for scalars.
static Value emitPair(ImplicitLocOpBuilder &b, Operation *op,
                      ValueRange operands) {
  Type type = pairType(op->getResult(0).getType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<ShapedType>(type),
                                  constant.getValue()));
  if (auto approx = dyn_cast<tile::ApproxOp>(op)) {
    NvvmBuilder machine(b);
    SmallVector<Value, 2> elements;
    for (int64_t i = 0; i < 2; ++i) {
      Value x = pairElement(b, operands[0], i);
      switch (approx.getKind()) {
      case tile::ApproxKind::Ex2:
        elements.push_back(machine.ex2Approx(x));
        break;
      case tile::ApproxKind::Lg2:
        elements.push_back(machine.lg2Approx(x));
        break;
      case tile::ApproxKind::Rcp:
        elements.push_back(machine.rcpApprox(x));
        break;
      case tile::ApproxKind::Rsqrt:
        elements.push_back(machine.rsqrtApprox(x));
        break;
      case tile::ApproxKind::Tanh:
        elements.push_back(machine.tanhApprox(x));
        break;
      }
    }
    return makePair(b, elements[0], elements[1]);
  }
  OperationState state(op->getLoc(), op->getName().getStringRef(), operands,
                       type, op->getAttrs());
  return b.create(state)->getResult(0);
}

SmallVector<Value> backfuse::emitElementRegion(ImplicitLocOpBuilder &b,
                                               Block &block,
                                               ValueRange arguments) {
  IRMapping pairs;
  pairs.map(block.getArguments(), arguments);
  auto pairOf = [&](Value value) -> Value {
    if (Value pair = pairs.lookupOrNull(value))
      return pair;
    // A constant outside of the region, where canonicalisation puts it; the
    // verifier of tile.drain refuses other values.
    return emitPair(b, value.getDefiningOp<arith::ConstantOp>(), {});
  };
  Location outer = b.getLoc();
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    SmallVector<Value> operands =
        llvm::map_to_vector(op.getOperands(), pairOf);
    pairs.map(op.getResult(0), emitPair(b, &op, operands));
  }
  b.setLoc(outer);
  return llvm::map_to_vector(block.getTerminator()->getOperands(), pairOf);
}
