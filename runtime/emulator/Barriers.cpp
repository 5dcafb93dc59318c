//===- Barriers.cpp - Named and cluster barriers, mbarriers --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

namespace backfuse::emulator {

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void Executor::barrierMayComplete(Cta &cta, unsigned id) {
  NamedBarrier &barrier = cta.barriers[id];
  if (barrier.arrived == 0)
    return;
  uint32_t expected = barrier.expected;
  if (expected == 0) // all threads that have not exited
    expected = cta.liveWarps * 32;
  if (barrier.arrived < expected)
    return;
  if (checks)
    cta.lastUse[id].clear();
  for (auto &warp : cta.warps)
    for (Fragment &fragment : warp->fragments)
      if (fragment.wait == Wait::NamedBarrier && fragment.key == id) {
        if (checks) {
          acquireFrom(*warp, fragment.mask, barrier.clocks);
          cta.lastUse[id].emplace_back(warp->clusterIndex, ++warp->clock);
          warp->barrierClock = warp->clock;
        }
        if (barrier.isReduce) {
          // The fragment stands behind its instruction.
          const Inst &inst = kernel.code[fragment.pc - 1];
          const Ref *refs = kernel.refs.data() + inst.firstRef;
          auto reduce = static_cast<ReduceOp>(inst.sub);
          if (reduce == ReduceOp::Popc) {
            for (uint32_t rest = fragment.mask; rest; rest &= rest - 1)
              setValue(*warp, refs[3], lowest(rest), barrier.popc);
          } else {
            bool result = reduce == ReduceOp::And ? barrier.all : barrier.any;
            setPredicate(*warp, refs[3], result ? fullMask : 0, fragment.mask);
          }
        }
        wake(*warp, fragment);
      }
  barrier = NamedBarrier();
}

bool Executor::execBarrier(Warp &warp, Fragment &fragment, const Inst &inst,
                           uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  unsigned first = lowest(mask);
  uint64_t id = value(warp, refs[0], first);
  if (id > 15) {
    fail(warp, inst, static_cast<int>(first),
         "barrier " + std::to_string(id) + " does not exist: expects 0 to 15");
    return false;
  }
  Cta &cta = *warp.cta;
  NamedBarrier &barrier = cta.barriers[id];
  uint32_t expected = 0;
  if (refs[1].kind != Ref::None) {
    expected = static_cast<uint32_t>(value(warp, refs[1], first));
    if (expected == 0 || expected % 32 || expected > cta.warps.size() * 32) {
      fail(warp, inst, static_cast<int>(first),
           "barrier " + std::to_string(id) +
               " expects a multiple of 32 up to the CTA's " +
               std::to_string(cta.warps.size() * 32) + " threads, but got " +
               std::to_string(expected));
      return false;
    }
  }
  if (barrier.arrived && barrier.expected != expected) {
    auto text = [](uint32_t n) {
      return n ? std::to_string(n) + " threads" : std::string("all threads");
    };
    if (reports(Check::NamedBarrier, warp, inst, static_cast<int>(first),
                "barrier " + std::to_string(id) + " is used for " +
                    text(expected) + " while others wait there for " +
                    text(barrier.expected)))
      return false;
    expected = barrier.expected;
  }
  if (checks) {
    if (!checkNamedBarrier(warp, inst, static_cast<unsigned>(id)))
      return false;
    releaseTo(warp, mask, barrier.clocks);
  }
  barrier.expected = expected;
  bool isWhole =
      (inst.flags & inst::aligned) || mask == (warp.lanes & ~warp.exited);
  barrier.arrived += isWhole ? 32 : popcount(mask);
  if (expected && barrier.arrived > expected) {
    if (reports(Check::NamedBarrier, warp, inst, static_cast<int>(first),
                "barrier " + std::to_string(id) + " gets " +
                    std::to_string(barrier.arrived) +
                    " arrivals, but expects " + std::to_string(expected)))
      return false;
    barrier.arrived = expected;
  }
  progress(warp);
  if (inst.op == Op::BarrierReduce) {
    uint32_t votes = predicate(warp, refs[2]) & mask;
    barrier.isReduce = true;
    barrier.popc += popcount(votes);
    barrier.all &= votes == mask;
    barrier.any |= votes != 0;
  }
  ++fragment.pc;
  if (inst.op != Op::BarrierArrive) {
    fragment.wait = Wait::NamedBarrier;
    fragment.key = id;
  }
  barrierMayComplete(cta, static_cast<unsigned>(id));
  return true;
}

void Executor::clusterBarrierMayComplete(Cluster &cluster) {
  if (cluster.barrierArrived == 0 ||
      cluster.barrierArrived + cluster.exitedLanes < cluster.totalLanes)
    return;
  cluster.barrierArrived = 0;
  ++cluster.barrierPhase;
  cluster.completedClocks = cluster.barrierClocks;
  if (checks)
    for (auto &[address, barrier] : cluster.mbarriers) {
      const Warp &init = warpAt(cluster, barrier.initWarp);
      barrier.isInitKnown |=
          init.initArrived[barrier.initLane] >= barrier.initClock;
    }
  for (auto &cta : cluster.ctas)
    for (auto &warp : cta->warps)
      for (Fragment &fragment : warp->fragments)
        if (fragment.wait == Wait::ClusterBarrier)
          wake(*warp, fragment);
}

void Executor::execExit(Warp &warp, Fragment &fragment, uint32_t mask) {
  Cluster &cluster = *warp.cta->cluster;
  warp.exited |= mask;
  cluster.exitedLanes += popcount(mask);
  ++cluster.progress;
  fragment.mask &= ~mask;
  if (!(warp.lanes & ~warp.exited)) {
    const Inst &last = kernel.code[fragment.pc - 1];
    if ((checks && !checkExit(warp, last)) || !checkTensorExit(warp, last))
      return;
    warp.isDone = true;
    --warp.cta->liveWarps;
    if (warp.cta->liveWarps)
      for (unsigned id = 0; id < 16; ++id)
        barrierMayComplete(*warp.cta, id);
    // The next CTA's work may overwrite what an unfinished copy still reads.
    if (!warp.cta->liveWarps)
      std::fill(warp.cta->smem.begin(), warp.cta->smem.end(),
                static_cast<uint8_t>(0xcd));
  }
  clusterBarrierMayComplete(cluster);
}

//===----------------------------------------------------------------------===//
// Mbarriers
//===----------------------------------------------------------------------===//

uint64_t Executor::readMbarrier(const Cta &cta, uint32_t offset) const {
  uint64_t bits;
  std::memcpy(&bits, cta.smem.data() + offset, 8);
  return bits;
}
void Executor::writeMbarrier(Cta &cta, uint32_t offset, uint64_t bits) const {
  std::memcpy(cta.smem.data() + offset, &bits, 8);
}

void Executor::mbarrierMayComplete(Cta &cta, uint32_t offset, uint64_t bits) {
  if (mbarrier::pending(bits) || mbarrier::tx(bits)) {
    writeMbarrier(cta, offset, bits);
    return;
  }
  uint32_t expected = mbarrier::expected(bits);
  writeMbarrier(cta, offset,
                mbarrier::make(expected, expected, 0, !mbarrier::parity(bits)));
  if (checks) {
    MbarrierClocks &clocks =
        cta.cluster->mbarriers[cta.rank << clusterRankShift | offset];
    if (!checkSeen(*cta.cluster, offset, clocks))
      return;
    // Who waits for the phase knows what copies wrote in it.
    std::vector<uint32_t> &known = clocks.arrived[0].phases;
    if (known.size() <= clocks.index)
      known.resize(clocks.index + 1, 0);
    known[clocks.index] = ++clocks.phases;
    for (unsigned i = 0; i < 2; ++i)
      clocks.completed[i] = clocks.arrived[i];
  }
  for (auto &warp : cta.warps)
    for (Fragment &fragment : warp->fragments)
      if (fragment.wait == Wait::Mbarrier && fragment.key == offset)
        wake(*warp, fragment);
}

bool Executor::mbarrierArrive(Warp &warp, const Inst &inst, int lane, Cta &cta,
                              uint32_t offset, uint32_t count, bool drop) {
  uint64_t bits = readMbarrier(cta, offset);
  uint32_t pending = mbarrier::pending(bits);
  if (count == 0 || count > pending) // ignored where nothing is to stop
    return !reports(
        Check::MbarrierArrivals, warp, inst, lane,
        "mbarrier at " + hex(offset) + " gets " + std::to_string(count) +
            " arrivals, but its phase expects only " + std::to_string(pending) +
            " more of " + std::to_string(mbarrier::expected(bits)));
  uint32_t expected = mbarrier::expected(bits) - (drop ? count : 0);
  progress(warp);
  mbarrierMayComplete(cta, offset,
                      mbarrier::make(pending - count, expected,
                                     mbarrier::tx(bits),
                                     mbarrier::parity(bits)));
  return true;
}

bool Executor::mbarrierTransact(const Warp &warp, const Inst &inst, int lane,
                                Cta &cta, uint32_t offset, int64_t bytes) {
  uint64_t bits = readMbarrier(cta, offset);
  if (!mbarrier::isValid(bits)) {
    fail(warp, inst, lane,
         "no mbarrier at shared address " + hex(offset) + " of CTA " +
             std::to_string(cta.linear));
    return false;
  }
  int64_t tx = mbarrier::tx(bits) + bytes;
  if (tx >= mbarrier::txBias || tx <= -mbarrier::txBias) {
    fail(warp, inst, lane,
         "mbarrier at " + hex(offset) +
             ": the byte count leaves its range of 2^20 - 1");
    return false;
  }
  if (mbarrier::pending(bits) == 0 && tx < 0) {
    if (reports(Check::MbarrierBytes, warp, inst, lane,
                "mbarrier at " + hex(offset) + " is credited with " +
                    std::to_string(-tx) + " bytes more than it expects"))
      return false;
    tx = 0;
  }
  ++warp.cta->cluster->progress;
  mbarrierMayComplete(cta, offset,
                      mbarrier::make(mbarrier::pending(bits),
                                     mbarrier::expected(bits), tx,
                                     mbarrier::parity(bits)));
  return true;
}

/// The arrivals of lanes hand on what they know: to waiters of the barrier's
/// own CTA, from other CTAs only with a scope that reaches them.
void Executor::releaseToMbarrier(Warp &warp, uint32_t mask, const Inst &inst,
                                 Cta &owner, uint32_t offset) {
  MbarrierClocks &barrier =
      owner.cluster->mbarriers[owner.rank << clusterRankShift | offset];
  bool isRemote = &owner != warp.cta;
  Scope least = isRemote ? Scope::Cluster : Scope::Cta;
  barrier.arrived[isRemote].joinTensor(
      warp.known.tensor); // tcgen05.fence orders that
  if (inst.flags & inst::relaxed)
    releaseFenced(warp, mask, least, barrier.arrived[isRemote]);
  else if (scopeOf(inst) >= least || !launch.options.strict)
    releaseTo(warp, mask, barrier.arrived[isRemote]);
}

void Executor::acquireMbarrier(Warp &warp, uint32_t mask, const Inst &inst,
                               const Cta &owner, MbarrierClocks &barrier) {
  noteSeen(warp, inst, mask, barrier);
  // Kernels of others wait without a scope for arrivals of other CTAs.
  bool reachesCluster =
      scopeOf(inst) >= Scope::Cluster || !launch.options.strict;
  unsigned count = reachesCluster ? 2 : 1;
  for (unsigned i = 0; i < count; ++i) {
    if (!(inst.flags & inst::relaxed)) {
      acquireFrom(warp, mask, barrier.completed[i]);
      continue;
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      observeBarrier(warp, lowest(rest), owner, barrier.completed[i]);
    warp.known.joinTensor(barrier.completed[i].tensor);
  }
}

/// Returns false when the warp must stop here (error or wait).
bool Executor::execMbarrier(Warp &warp, Fragment &fragment, const Inst &inst,
                            uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  if (inst.op == Op::MbarrierPendingCount) {
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      setValue(warp, refs[0], lowest(rest),
               mbarrier::pending(value(warp, refs[1], lowest(rest))));
    return true;
  }
  const Ref &addressRef = refs[inst.op == Op::MbarrierWait ? 1 : 0];
  uint32_t complete = 0, waitOffset = 0;
  MbarrierClocks *completed = nullptr;
  uint32_t waiters = 0;
  bool sameBarrier = true;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    auto laneIndex = static_cast<int>(lane);
    uint64_t address = addressOf(warp, addressRef, lane, inst.imm);
    if (inst.space == Space::Generic || (address & windowMask) == sharedWindow)
      address = static_cast<uint32_t>(address);
    if (address % 8) {
      fail(warp, inst, laneIndex,
           "mbarrier address " + hex(address) + " is not a multiple of 8");
      return false;
    }
    Cta *cta = nullptr;
    bool isCluster =
        (inst.flags & inst::sharedCluster) && inst.op != Op::MbarrierWait;
    if (!sharedBytes(warp, inst, laneIndex, address, 8, isCluster, "mbarrier",
                     &cta))
      return false;
    auto offset =
        static_cast<uint32_t>(address & ((1u << clusterRankShift) - 1));
    uint64_t bits = readMbarrier(*cta, offset);
    if (inst.op == Op::MbarrierInit) {
      uint64_t count = value(warp, refs[1], lane);
      if (count == 0 || count > mbarrier::countMask) {
        fail(warp, inst, laneIndex,
             "expects a count of 1 to 2^20 - 1, but got " +
                 std::to_string(count));
        return false;
      }
      writeMbarrier(*cta, offset,
                    mbarrier::make(static_cast<uint32_t>(count),
                                   static_cast<uint32_t>(count), 0, 0));
      if (checks)
        noteMbarrierInit(warp, inst, lane, *cta, offset);
      progress(warp);
      continue;
    }
    if (!mbarrier::isValid(bits)) {
      fail(warp, inst, laneIndex,
           "no mbarrier was initialised at shared address " + hex(address));
      return false;
    }
    if (checks) {
      if (!checkMbarrier(warp, inst, laneIndex, *cta, offset, false))
        return false;
      if (inst.op == Op::MbarrierArrive)
        releaseToMbarrier(warp, 1u << lane, inst, *cta, offset);
    }
    switch (inst.op) {
    case Op::MbarrierInval:
      writeMbarrier(*cta, offset, 0);
      if (checks)
        for (uint32_t w = offset / 4; w < offset / 4 + 2; ++w)
          cta->shadow->words[w] = 0;
      break;
    case Op::MbarrierArrive: {
      if (inst.flags & inst::hasState)
        setValue(warp, refs[2], lane, bits);
      uint64_t operand = value(warp, refs[1], lane);
      if (inst.flags & inst::expectTx) {
        // expect-tx, then arrive with a count of 1.
        if (!mbarrierTransact(
                warp, inst, laneIndex, *cta, offset,
                static_cast<int64_t>(static_cast<uint32_t>(operand))))
          return false;
        operand = 1;
      }
      if (!mbarrierArrive(warp, inst, laneIndex, *cta, offset,
                          static_cast<uint32_t>(operand),
                          inst.flags & inst::drop))
        return false;
      break;
    }
    case Op::MbarrierExpect:
    case Op::MbarrierComplete: {
      auto bytes = static_cast<int64_t>(value(warp, refs[1], lane));
      if (!mbarrierTransact(warp, inst, laneIndex, *cta, offset,
                            inst.op == Op::MbarrierExpect ? bytes : -bytes))
        return false;
      break;
    }
    default: {
      uint64_t operand = value(warp, refs[2], lane);
      unsigned waited =
          inst.flags & inst::parity ? operand & 1 : mbarrier::parity(operand);
      if (mbarrier::parity(bits) != waited) {
        complete |= 1u << lane;
        if (checks) {
          MbarrierClocks &barrier =
              cta->cluster->mbarriers[cta->rank << clusterRankShift | offset];
          if (completed && completed != &barrier) {
            acquireMbarrier(warp, waiters, inst, *cta, *completed);
            waiters = 0;
          }
          completed = &barrier;
          waiters |= 1u << lane;
        }
      }
      sameBarrier &= rest == mask || waitOffset == offset;
      waitOffset = offset;
    }
    }
  }
  if (inst.op != Op::MbarrierWait)
    return true;
  if (waiters)
    acquireMbarrier(warp, waiters, inst, *warp.cta, *completed);
  // A try_wait may return false at any time: in the orders that look for
  // faults it does so once before it waits.
  auto here = static_cast<uint32_t>(&inst - kernel.code.data());
  bool refuses =
      launch.options.order != Order::InOrder && fragment.refused != here;
  if (!complete && !(inst.flags & inst::testOnly) && !fragment.timedOut &&
      sameBarrier && !refuses) {
    fragment.wait = Wait::Mbarrier;
    fragment.key = waitOffset;
    ++counts.barrierWaits;
    ++waitsOfWarp[warp.index];
    return false;
  }
  fragment.timedOut = false;
  fragment.refused = complete ? ~0u : here;
  setPredicate(warp, refs[0], complete, mask);
  return true;
}

} // namespace backfuse::emulator
