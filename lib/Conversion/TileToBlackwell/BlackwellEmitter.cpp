//===- BlackwellEmitter.cpp - Prologue and roles for sm_100 ---------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "BlackwellEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::blackwell;

//===----------------------------------------------------------------------===//
// Prologue and end
//===----------------------------------------------------------------------===//

void BlackwellEmitter::emitPair() {
  rank = m.uniform(m.clusterRank());
  isLeader = eq(rank, c(0));
  toLeader = sub(m.mapToCta(smem, 0), smem);
  toOther = sub(m.mapToCta(smem, 1), smem);
  team = shr(cta, 1);
  numTeams = shr(numCtas, 1);
  for (auto op : kernel.getBlock().getOps<tile::ClusterRankOp>())
    values.map(op.getResult(), rank);
}

void BlackwellEmitter::emitPrologue() {
  ifThen(eq(tid, c(0)), [&] {
    // One arrival of a load warp fills a slot. The products empty it by a
    // commit, drain and sum warps by an arrival each.
    for (auto &[pool, p] : layout.pools) {
      int64_t consumers = (p.multiplies ? 1 : 0) +
                          (p.drains ? numDrainWarps : 0) +
                          (p.sums ? numSumWarps : 0);
      for (int64_t i = 0; i < p.slots; ++i) {
        m.mbarrierInit(add(smem, c(p.fullOffset + 8 * i)), 1);
        m.mbarrierInit(add(smem, c(p.emptyOffset + 8 * i)),
                       std::max<int64_t>(consumers, 1));
      }
    }
    // A commit fills a set of accumulators, each drain warp gives it back:
    // those of a pair to the leader.
    int64_t drainWarps = numDrainWarps * (layout.pairs ? 2 : 1);
    for (int64_t i = 0; i < layout.sets; ++i) {
      m.mbarrierInit(add(smem, c(layout.fullOffset + 8 * i)), 1);
      m.mbarrierInit(add(smem, c(layout.emptyOffset + 8 * i)), drainWarps);
    }
    initDealBarriers();
    m.fenceMbarrierInit();
  });
  ifThen(eq(tid, c(32)), [&] {
    for (const MapUse &use : layout.maps)
      m.prefetchTensorMap(mapPointer(use));
  });
  Value addressAt = add(smem, c(layout.addressOffset));
  m.warpBarrier(); // alloc is .sync.aligned
  // Nobody may use the other CTA's barriers, or allocate with it, before.
  if (layout.pairs)
    m.clusterBarrier();
  ifThen(eq(warp, c(tensorMemoryWarp)),
         [&] { m.tensorMemoryAlloc(addressAt, layout.columns); });
  // The address is a weak store: a barrier between two fences makes it visible.
  m.tensorFenceBefore();
  m.ctaBarrier();
  m.tensorFenceAfter();
  tensorMemory = m.uniform(m.loadShared(b.getI32Type(), addressAt, 4));
}

/// All roles have come to their end: products were waited for by the drain,
/// whose loads were waited for, too. Every path through the kernel comes here.
/// Of a pair, neither CTA gives tensor memory back or exits before the other
/// has come here: its products may read this one's shared memory until then.
void BlackwellEmitter::emitEpilogue() {
  m.warpBarrier();
  m.tensorFenceBefore();
  if (layout.pairs)
    m.clusterBarrier();
  else
    m.ctaBarrier();
  ifThen(eq(warp, c(tensorMemoryWarp)), [&] {
    m.tensorFenceAfter();
    m.tensorMemoryDealloc(tensorMemory, layout.columns);
  });
}

//===----------------------------------------------------------------------===//
// Sets of accumulators
//===----------------------------------------------------------------------===//

void BlackwellEmitter::createSetState() {
  setIndex = createRoleVariable(b.getI32Type());
  setPhase = createRoleVariable(b.getI32Type());
  storeVariable(b, setIndex, c(0));
  storeVariable(b, setPhase, c(0));
}
Value BlackwellEmitter::currentSet() {
  return loadVariable(b, setIndex, b.getI32Type());
}
void BlackwellEmitter::advanceSet() {
  Value next = add(currentSet(), c(1));
  Value phase = loadVariable(b, setPhase, b.getI32Type());
  Value wraps = eq(next, c(layout.sets));
  storeVariable(b, setIndex, select(wraps, c(0), next));
  storeVariable(b, setPhase, select(wraps, xori(phase, c(1)), phase));
}
Value BlackwellEmitter::setAddress(Value set) {
  return add(tensorMemory, mul(set, c(layout.setColumns)));
}
Value BlackwellEmitter::setBarrier(int64_t offset, Value set) {
  return add(add(smem, c(offset)), shl(set, 3));
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Bytes of both CTAs of a pair are the same, and counted by the leader.
void BlackwellEmitter::emitExpectBytes(const Slot &slot) {
  if (!copiesForPair)
    return TaskEmitter::emitExpectBytes(slot);
  ifThen(isLeader,
         [&] { m.mbarrierArriveExpectTx(slot.full, 2 * slot.bytes); });
}

void BlackwellEmitter::emitBoxCopy(Value address, Value map,
                                   ValueRange coordinates, const Slot &slot) {
  if (!copiesForPair)
    return TaskEmitter::emitBoxCopy(address, map, coordinates, slot);
  m.tmaLoadPair(address, map, coordinates, add(slot.full, toLeader));
}

LogicalResult BlackwellEmitter::emitLoadRole(Value pool) {
  bool ofProducts = pool == layout.operandPool;
  copiesForPair = layout.pairs && ofProducts;
  // Only products read what the launch itself computes; the flags of that are
  // polled by the lanes of a warp.
  LoadRole role{pool};
  role.awaits = ofProducts;
  role.wholeWarp = ofProducts && layout.awaits;
  tile::ForEachUnitOp units = unitsOf(findTask(kernel, tile::TaskKind::Load));
  createRoleState();
  LogicalResult result = emitUnits(units, [&](unsigned i, Unit &) {
    return emitLoadBlock(units.getBodies()[i].front(), role);
  });
  // No arrival may be outstanding when the CTA exits: wait until every slot is
  // empty.
  auto waitForAll = [&] {
    forRange(c(layout.pools.find(pool)->second.slots), [&](Value) {
      waitEmpty(pool, currentSlot(pool));
      advance(pool);
    });
  };
  if (role.wholeWarp)
    ifThen(eq(lane, c(0)), waitForAll);
  else
    waitForAll();
  return result;
}

FailureOr<Operation *> BlackwellEmitter::emit() {
  TaskEmitter::firstSumWarp = blackwell::firstSumWarp;
  TaskEmitter::numSumWarps = blackwell::numSumWarps;
  fencesReads = true;
  KernelShape shape;
  shape.threads = layout.threads();
  if (layout.pairs)
    shape.cluster = {2, 1, 1};
  if (layout.hasSum)
    shape.maxRegisters = launchRegisters;
  createFunction(shape);
  emitLaunchDependents();
  if (layout.isConversion) {
    emitWaitForPrerequisites();
    if (failed(emitConvertKernel()))
      return failure();
    createReturn(b);
    return function;
  }
  emitIndices();
  if (layout.pairs)
    emitPair();
  LogicalResult result = emitKernelScalars();
  if (failed(result))
    return failure();
  emitPrologue();
  emitWaitForPrerequisites();
  auto role = [&](int64_t number, function_ref<LogicalResult()> emit) {
    ifThen(eq(warp, c(number)), [&] {
      if (failed(emit()))
        result = failure();
    });
  };
  auto oneThread = [&](function_ref<LogicalResult()> emit) {
    LogicalResult emitted = success();
    oneLane = true;
    ifThen(eq(lane, c(0)), [&] { emitted = emit(); });
    oneLane = false;
    return emitted;
  };
  // With sum warps a thread starts with 168 registers: warpgroups without the
  // elements of an epilogue give some to the one that has them.
  auto setRegisters = [&](int64_t count, bool increase) {
    if (layout.hasSum)
      m.setMaxRegisters(count, increase);
  };
  ifThen(ult(warp, c(firstDrainWarp)), [&] {
    setRegisters(loadRegisters, /*increase=*/false);
    role(loadWarp, [&] {
      if (layout.awaits)
        return emitLoadRole(layout.operandPool);
      return oneThread([&] { return emitLoadRole(layout.operandPool); });
    });
    role(multiplyWarp, [&] {
      if (!layout.pairs)
        return emitMultiplyRole();
      LogicalResult emitted = success();
      ifThen(isLeader, [&] { emitted = emitMultiplyRole(); });
      return emitted;
    });
    role(tensorMemoryWarp, [&] {
      emitDealTable();
      return success();
    });
    if (layout.drainPool)
      role(loadDrainWarp, [&] {
        return oneThread([&] { return emitLoadRole(layout.drainPool); });
      });
  });
  ifThen(eq(shr(warp, 2), c(firstDrainWarp / 4)), [&] {
    setRegisters(drainRegisters, /*increase=*/true);
    if (failed(emitDrainRole()))
      result = failure();
  });
  if (tile::TaskOp sum = findTask(kernel, tile::TaskKind::Sum))
    ifThen(uge(warp, c(blackwell::firstSumWarp)), [&] {
      setRegisters(sumRegisters, /*increase=*/false);
      ifThen(ult(warp, c(blackwell::firstSumWarp + blackwell::numSumWarps)),
             [&] {
               createRoleState();
               if (failed(emitSumTask(sum)))
                 result = failure();
             });
    });
  b.setLoc(kernel.getLoc());
  emitEpilogue();
  createReturn(b);
  if (failed(result))
    return failure();
  return function;
}
