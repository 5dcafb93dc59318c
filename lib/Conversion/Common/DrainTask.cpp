//===- DrainTask.cpp - What drains of all targets do alike ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which threads have which elements of a tile is the target's; which operands a
// pair of elements has, and where lines of column sums go, is not.
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Common/ElementRegion.h"
#include "backfuse/Conversion/Common/TaskEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;

//===----------------------------------------------------------------------===//
// Blocks of the multiply and drain tasks
//===----------------------------------------------------------------------===//

LogicalResult TaskEmitter::emitMultiplyBlock(Block &block) {
  for (Operation &op : block) {
    b.setLoc(op.getLoc());
    if (auto multiply = dyn_cast<tile::MultiplyOp>(op))
      emitMultiply(multiply);
    else if (failed(emitScalar(op)))
      return failure();
  }
  return success();
}

LogicalResult TaskEmitter::emitDrainBlock(Block &block, Unit &unit) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    b.setLoc(op.getLoc());
    if (auto combine = dyn_cast<tile::CombineSplitsOp>(op)) {
      emitCombineSplits(combine, unit);
    } else if (auto drain = dyn_cast<tile::DrainOp>(op)) {
      if (failed(checkElementOps(drain)) || failed(emitDrain(drain, unit)))
        return failure();
    } else if (isa<scf::IfOp>(op)) {
      if (failed(emitIf(
              op, [&](Block &body) { return emitDrainBlock(body, unit); })))
        return failure();
    } else if (failed(emitScalar(op))) {
      return failure();
    }
  }
  return success();
}

LogicalResult TaskEmitter::checkElementOps(tile::DrainOp drain) {
  for (Operation &op : drain.getBody().front().without_terminator())
    if (StringRef why = whyNotElementOp(&op); !why.empty())
      return op.emitOpError(why);
  return success();
}

//===----------------------------------------------------------------------===//
// Entries and operands
//===----------------------------------------------------------------------===//

std::pair<int64_t, int64_t> TaskEmitter::locateBuffer(tile::RingType ring,
                                                      int64_t index) {
  int64_t perSlot = ring.getBuffers().size();
  return {index / perSlot, bufferOffset(ring, index % perSlot)};
}

SmallVector<TaskEmitter::Slot> TaskEmitter::takeEntry(tile::DrainOp drain) {
  Value pool = poolOf(drain.getRing());
  SmallVector<Slot> entry;
  for (uint64_t i = 0; i < drain.getSlotsPerEntry(); ++i) {
    entry.push_back(currentSlot(pool));
    waitFull(pool, entry.back());
    advance(pool);
  }
  return entry;
}

void TaskEmitter::gatherElementOperands(
    tile::DrainOp drain, MutableArrayRef<SmallVector<Value>> arguments,
    function_ref<SmallVector<Value>(int64_t)> readSlot,
    function_ref<Value(unsigned, Value, bool, size_t)> readVector) {
  unsigned slot = 0, vector = 0, scalar = 0;
  for (auto [i, attribute] : llvm::enumerate(drain.getElementKinds())) {
    tile::ElementKind kind = cast<tile::ElementKindAttr>(attribute).getValue();
    SmallVector<Value> pairs;
    switch (kind) {
    case tile::ElementKind::Slot:
      pairs = readSlot(drain.getOperandBuffers()[slot++]);
      break;
    case tile::ElementKind::Row:
    case tile::ElementKind::Column: {
      Value tensor = drain.getVectors()[vector++];
      for (size_t p = 0; p < arguments.size(); ++p)
        pairs.push_back(
            readVector(i, tensor, kind == tile::ElementKind::Row, p));
      break;
    }
    case tile::ElementKind::Scalar:
      pairs.assign(arguments.size(),
                   splatPair(b, mapped(drain.getScalars()[scalar++])));
      break;
    }
    for (auto [all, pair] : llvm::zip_equal(arguments, pairs))
      all.push_back(pair);
  }
}

Value TaskEmitter::loadVectorElements(Value tensor, Value index, Value extent,
                                      int64_t count) {
  Type element = cast<tile::GlobalTensorType>(tensor.getType()).getElement();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  index = select(ult(index, extent), index, c(0));
  Value pointer = m.offset(mapped(tensor), mul64(zext64(index), m.i64(bytes)));
  return m.loadGlobal(count == 1 ? element : VectorType::get(count, element),
                      pointer, count * bytes);
}

//===----------------------------------------------------------------------===//
// Column sums
//===----------------------------------------------------------------------===//

void TaskEmitter::publishLineOfSums(tile::DrainOp drain, unsigned sum,
                                    const Unit &unit, Value line,
                                    Value firstCol, Value total) {
  Value n = unit.space->n;
  Value col = add(firstCol, shl(lane, 1));
  Value index = add64(mul64(zext64(line), zext64(n)), zext64(col));
  Value pointer =
      m.offset(mapped(drain.getPartials()[sum]), mul64(index, m.i64(4)));
  ifThen(ult(col, n), [&] {
    m.storeGlobalL2(pairElement(b, total, 0), pointer);
    m.storeGlobalL2(pairElement(b, total, 1), m.offset(pointer, m.i64(4)));
  });
  m.warpBarrier();
  Value inside = ult(firstCol, n);
  ifThen(arith::AndIOp::create(b, inside, eq(lane, c(0))), [&] {
    Value perLine = zext64(ceilDiv(n, tile::DrainOp::entryCols));
    Value flag = add64(mul64(zext64(line), perLine),
                       zext64(divu(firstCol, c(tile::DrainOp::entryCols))));
    m.publishTag(m.offset(mapped(drain.getFlags()[sum]), mul64(flag, m.i64(8))),
                 mapped(drain.getTag()));
  });
}
