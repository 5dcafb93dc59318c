//===- DealUnits.cpp - Which CTA does which unit --------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Units are dealt space by space, each to the CTA with the least cost so far:
// list scheduling. The units of a space cost the same, so CTAs of equal load
// stay in few runs of neighbours ("segments"), and the deal of a space has a
// closed form: the level to which its units fill the loads gives each segment
// its rounds, and the units left over go, one to a CTA, to those that would start
// them first. At most one segment is cut in two by that.
//
// Loads and levels are estimates in f32. What makes the deal exact is counted in
// integers: rounds are added until all units are dealt.
//
// A CTA with more rounds than others starts earlier: its rounds are the last ones
// of all. Within a round units go to the CTAs in order of segments, so that
// neighbouring tiles, which share operands, run side by side.
//
// The first space is dealt by each role for itself; the others by one warp, a
// segment to a lane, into a table in shared memory.
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Common/TaskEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;

// A line of the table: rounds of all, of this CTA, its place in its segment, the
// segment's number; then CTAs and rounds of each segment.
static constexpr int64_t headerBytes = 16, segmentBytes = 8;

/// Lanes that hold segments: a power of two.
static int64_t numSegmentLanes(size_t spaces) {
  return llvm::PowerOf2Ceil(spaces + 1);
}

int64_t TaskLayout::dealTableBytes(size_t spaces) {
  if (spaces < 2)
    return 0;
  return llvm::alignTo(8 * (spaces - 1), 16) +
         (spaces - 1) * dealLineBytes(spaces);
}
int64_t TaskLayout::dealLineBytes(size_t spaces) {
  return llvm::alignTo(headerBytes + segmentBytes * (spaces + 1), 16);
}

Value TaskEmitter::toF32(Value x) {
  return arith::UIToFPOp::create(b, b.getF32Type(), x);
}

/// Address of the barrier of the deal of space `index`, and of its line.
Value TaskEmitter::dealBarrier(size_t index) {
  return add(smem, c(layout.dealOffset + 8 * (index - 1)));
}
Value TaskEmitter::dealLine(size_t index) {
  return add(smem, c(layout.dealOffset +
                     llvm::alignTo(8 * (spaceOrder.size() - 1), 16) +
                     (index - 1) *
                         TaskLayout::dealLineBytes(spaceOrder.size())));
}

void TaskEmitter::initDealBarriers() {
  for (size_t i = 1; i < spaceOrder.size(); ++i)
    m.mbarrierInit(dealBarrier(i), 1);
}

Value TaskEmitter::costOf(const Space &space) {
  return add(space.stepsPerUnit, c(space.cost));
}

void TaskEmitter::emitDealTable() {
  if (spaceOrder.size() < 2)
    return;
  auto addF = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  auto mulF = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value x,
                     Value y) -> Value {
    return arith::CmpFOp::create(b, predicate, x, y);
  };
  int64_t lanes = numSegmentLanes(spaceOrder.size());
  auto reduce = [&](Value x, auto &&combine) {
    for (int64_t mask = 1; mask < lanes; mask *= 2)
      x = combine(x, m.shuffleXor(x, mask));
    return x;
  };
  auto sumOf = [&](Value x) {
    return reduce(x, [&](Value x, Value y) -> Value {
      return x.getType().isF32() ? addF(x, y) : add(x, y);
    });
  };
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  // A little less, so that errors of f32 never deal too many units.
  Value below = arith::ConstantOp::create(b, b.getF32FloatAttr(1 - 0x1p-18f));

  Space &first = spaces[spaceOrder[0]];
  Value whole = divu(first.units, numTeams);
  Value rest = sub(first.units, mul(whole, numTeams));
  Value isFirst = eq(lane, c(0)), isSecond = eq(lane, c(1));
  Value start = select(isSecond, rest, c(0));
  Value count =
      select(isFirst, rest, select(isSecond, sub(numTeams, rest), c(0)));
  Value load = mulF(toF32(add(whole, select(isFirst, c(1), c(0)))),
                    toF32(costOf(first)));
  for (size_t index = 1; index < spaceOrder.size(); ++index) {
    Space &space = spaces[spaceOrder[index]];
    Value cost = toF32(costOf(space));
    Value work = mulF(toF32(space.units), cost);
    Value countF = toF32(count);
    // The level, over the segments below it.
    Value level;
    for (size_t pass = 0; pass <= index; ++pass) {
      Value ctas = countF;
      if (level)
        ctas = select(compare(arith::CmpFPredicate::OLT, load, level), ctas,
                      zero);
      Value sum = addF(work, sumOf(mulF(ctas, load)));
      level = mulF(mulF(sum, m.rcpApprox(sumOf(ctas))), below);
    }
    Value room = mulF(arith::SubFOp::create(b, level, load),
                      mulF(m.rcpApprox(cost), below));
    room = select(compare(arith::CmpFPredicate::OGT, room, zero), room, zero);
    Value rounds = arith::FPToUIOp::create(b, b.getI32Type(), room);
    Value dealt = sumOf(mul(rounds, count));
    // Never so, but what follows relies on it.
    Value tooMany = ult(space.units, dealt);
    rounds = select(tooMany, c(0), rounds);
    Value left = sub(space.units, select(tooMany, c(0), dealt));
    Value more = divu(left, numTeams);
    left = sub(left, mul(more, numTeams));
    rounds = add(rounds, more);

    // What is left, to the CTAs that are free first.
    Value free = addF(load, mulF(toF32(rounds), cost));
    Value before = c(0);
    for (size_t i = 0; i <= index; ++i) {
      Value other = m.shuffleFrom(free, c(i));
      Value otherCount = m.shuffleFrom(count, c(i));
      Value isBefore = arith::OrIOp::create(
          b, compare(arith::CmpFPredicate::OLT, other, free),
          arith::AndIOp::create(
              b, compare(arith::CmpFPredicate::OEQ, other, free),
              ult(c(i), lane)));
      before = add(before, select(isBefore, otherCount, c(0)));
    }
    Value extra = minu(sub(left, minu(left, before)), count);
    Value any = ne(extra, c(0));
    Value isCut = arith::AndIOp::create(b, any, ult(extra, count));
    Value cutStart = sumOf(select(isCut, add(start, extra), c(0)));
    Value cutCount = sumOf(select(isCut, sub(count, extra), c(0)));
    Value cutRounds = sumOf(select(isCut, rounds, c(0)));
    Value cutLoad = sumOf(select(isCut, free, zero));
    Value isNew = eq(lane, c(index + 1));
    start = select(isNew, cutStart, start);
    count = select(isNew, cutCount, select(isCut, extra, count));
    rounds = select(isNew, cutRounds, add(rounds, select(any, c(1), c(0))));
    load = select(isNew, cutLoad, select(any, addF(free, cost), free));

    Value nonempty = ne(count, c(0));
    Value all = reduce(select(nonempty, rounds, c(0)), [&](Value x, Value y) {
      return Value(arith::MaxUIOp::create(b, x, y));
    });
    Value line = dealLine(index);
    ifThen(ult(lane, c(index + 2)), [&] {
      Value at = add(line, add(c(headerBytes), shl(lane, 3)));
      m.storeShared(count, at, 4);
      m.storeShared(rounds, add(at, c(4)), 4);
      Value place = sub(team, start);
      ifThen(ult(place, count), [&] {
        const Value header[] = {all, rounds, place, lane};
        for (auto [i, value] : llvm::enumerate(header))
          m.storeShared(value, add(line, c(4 * i)), 4);
      });
    });
    m.warpBarrier();
    ifThen(isFirst, [&] { m.mbarrierArrive(dealBarrier(index)); });
  }
}

void TaskEmitter::emitUnit(Space &space, Value unitIndex, Unit &unit) {
  // Splits of a tile are dealt `tiles` units apart: all tiles of the first
  // split, then those of the next, so that the last split waits for units that
  // were dealt before.
  unit.space = &space;
  // Divisions by what is known at run time only are long, and most units are
  // whole tiles.
  Type i32 = b.getI32Type();
  Type types[] = {i32, i32, i32, i32};
  auto branch = scf::IfOp::create(b, types, eq(space.splits, c(1)),
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value zero = c(0);
    scf::YieldOp::create(b, ValueRange{zero, unitIndex, zero, space.kTiles});
    b.setInsertionPointToStart(branch.elseBlock());
    Value split = divu(unitIndex, space.tiles);
    Value tileIndex = sub(unitIndex, mul(split, space.tiles));
    Value first = divu(mul(space.kTiles, split), space.splits);
    Value end = divu(mul(space.kTiles, add(split, c(1))), space.splits);
    scf::YieldOp::create(b, ValueRange{split, tileIndex, first, end});
  }
  unit.split = branch.getResult(0);
  unit.tileIndex = branch.getResult(1);
  Value firstStep = branch.getResult(2), endStep = branch.getResult(3);
  Value tileM = divu(unit.tileIndex, space.tilesN);
  Value tileN = sub(unit.tileIndex, mul(tileM, space.tilesN));
  unit.m0 = mul(tileM, c(space.bm));
  unit.n0 = mul(tileN, c(space.bn));
  unit.k0 = mul(firstStep, c(space.bk));
  unit.steps = sub(endStep, firstStep);
  unit.last = eq(add(unit.split, c(1)), space.splits);
}

LogicalResult
TaskEmitter::emitUnits(tile::ForEachUnitOp loop,
                       function_ref<LogicalResult(unsigned, Unit &)> body) {
  for (auto [index, value] : llvm::enumerate(spaceOrder)) {
    Space &space = spaces[value];
    OpBuilder::InsertionGuard guard(b);
    Value unitIndex;
    if (index == 0) {
      auto units = scf::ForOp::create(b, team, space.units, numTeams);
      units->setAttr("unsignedCmp", b.getUnitAttr());
      b.setInsertionPointToStart(units.getBody());
      unitIndex = units.getInductionVar();
    } else {
      m.mbarrierWait(dealBarrier(index), c(0));
      Value line = dealLine(index);
      auto word = [&](int64_t offset) {
        Value value = m.loadShared(b.getI32Type(), add(line, c(offset)), 4);
        return oneLane ? value : m.uniform(value);
      };
      Value all = word(0), own = word(4);
      auto rounds = scf::ForOp::create(b, sub(all, own), all, c(1));
      b.setInsertionPointToStart(rounds.getBody());
      // Units of the rounds before, and of the segments before in this one.
      Value toCome = sub(all, rounds.getInductionVar());
      unitIndex = word(8);
      Value ownSegment = word(12);
      for (size_t j = 0; j < index + 2; ++j) {
        int64_t at = headerBytes + segmentBytes * j;
        Value count = word(at), segmentRounds = word(at + 4);
        Value passed = sub(segmentRounds, toCome);
        passed = add(passed, select(ult(c(j), ownSegment), c(1), c(0)));
        unitIndex =
            add(unitIndex, select(uge(segmentRounds, toCome),
                                  mul(passed, count), c(0)));
      }
    }
    Unit unit;
    emitUnit(space, unitIndex, unit);
    bindUnit(loop.getBodies()[index].front(), unit);
    if (failed(body(index, unit)))
      return failure();
  }
  return success();
}
