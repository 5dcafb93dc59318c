//===- Interpreter.cpp - Execute a warp's instructions --------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// A warp is a set of fragments: lanes that are at one instruction. The fragment
// with the least program counter runs first, so that lanes which fell behind
// catch up and merge; one that waits lets the others go ahead. Instructions
// that need several lanes at once (.aligned, .sync with a member mask) hold a
// fragment until those lanes have come.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

#include <algorithm>

namespace backfuse::emulator {

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

uint64_t Executor::value(const Warp &warp, const Ref &ref,
                         unsigned lane) const {
  const uint8_t *from = source(warp, ref);
  switch (ref.bytes) {
  case 2:
    return reinterpret_cast<const uint16_t *>(from)[lane];
  case 4:
    return reinterpret_cast<const uint32_t *>(from)[lane];
  default:
    return reinterpret_cast<const uint64_t *>(from)[lane];
  }
}

void Executor::setValue(Warp &warp, const Ref &ref, unsigned lane,
                        uint64_t value) const {
  uint8_t *to = place(warp, ref);
  switch (ref.bytes) {
  case 2:
    reinterpret_cast<uint16_t *>(to)[lane] = static_cast<uint16_t>(value);
    break;
  case 4:
    reinterpret_cast<uint32_t *>(to)[lane] = static_cast<uint32_t>(value);
    break;
  default:
    reinterpret_cast<uint64_t *>(to)[lane] = value;
    break;
  }
}

uint64_t Executor::addressOf(const Warp &warp, const Ref &ref, unsigned lane,
                             int64_t offset) const {
  if (ref.bytes == 4) // 32-bit addresses wrap
    return static_cast<uint32_t>(
        reinterpret_cast<const uint32_t *>(source(warp, ref))[lane] +
        static_cast<uint32_t>(offset));
  return reinterpret_cast<const uint64_t *>(source(warp, ref))[lane] +
         static_cast<uint64_t>(offset);
}

void Executor::fail(const Warp &warp, const Inst &inst, int lane,
                    const std::string &what) {
  launch.fail(describePlace(warp, inst, lane) + ": " + what);
}

uint8_t *Executor::sharedBytes(Warp &warp, const Inst &inst, int lane,
                               uint64_t address, uint64_t bytes, bool isCluster,
                               const char *what, Cta **owner,
                               bool mustBeInside) {
  Cta *cta = warp.cta;
  auto rank = static_cast<uint32_t>(address >> clusterRankShift);
  uint64_t offset = address & ((1u << clusterRankShift) - 1);
  if (rank != cta->rank) {
    if (!isCluster || rank >= cta->cluster->ctas.size()) {
      fail(warp, inst, lane,
           std::string(what) + " at shared address " + hex(address) +
               (rank >= cta->cluster->ctas.size()
                    ? ", which is in no CTA of the cluster"
                    : ", which belongs to another CTA of the cluster"));
      return nullptr;
    }
    cta = cta->cluster->ctas[rank].get();
    if (cta->liveWarps == 0) {
      fail(warp, inst, lane,
           std::string(what) + " in the shared memory of CTA rank " +
               std::to_string(rank) + " of the cluster, which has exited");
      return nullptr;
    }
  }
  if (offset < sharedBase || offset + bytes > cta->smemEnd) {
    if (!mustBeInside)
      return nullptr;
    fail(warp, inst, lane,
         std::string(what) + " of " + std::to_string(bytes) +
             " bytes at shared address " + hex(address) +
             " is out of bounds: shared memory is " + hex(sharedBase) + " to " +
             hex(cta->smemEnd));
    return nullptr;
  }
  if (owner)
    *owner = cta;
  return cta->smem.data() + offset;
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// Merges what can be merged and returns the index of the fragment to run; -1
/// if all wait.
int Executor::selectFragment(Warp &warp, bool rotate) {
  std::vector<Fragment> &fragments = warp.fragments;
  for (size_t i = 0; i < fragments.size(); ++i)
    for (size_t j = i + 1; j < fragments.size();) {
      Fragment &a = fragments[i], &b = fragments[j];
      bool same = a.pc == b.pc && a.wait == b.wait &&
                  (a.wait == Wait::None || a.wait == Wait::Converge);
      if (!same) {
        ++j;
        continue;
      }
      a.mask |= b.mask;
      a.need |= b.need;
      a.timedOut = false;
      a.lastTurn = std::min(a.lastTurn, b.lastTurn);
      fragments.erase(fragments.begin() + static_cast<long>(j));
    }
  for (Fragment &fragment : fragments)
    if (fragment.wait == Wait::Converge) {
      uint32_t need = fragment.need & warp.lanes & ~warp.exited;
      if ((need & ~fragment.mask) == 0)
        fragment.wait = Wait::None;
    }
  int best = -1;
  for (size_t i = 0; i < fragments.size(); ++i) {
    if (fragments[i].wait != Wait::None)
      continue;
    if (best < 0) {
      best = static_cast<int>(i);
      continue;
    }
    const Fragment &a = fragments[i], &b = fragments[static_cast<size_t>(best)];
    if (rotate ? a.lastTurn < b.lastTurn : a.pc < b.pc)
      best = static_cast<int>(i);
  }
  return best;
}

void Executor::startWarp(Warp &warp) {
  const Cta &cta = *warp.cta;
  const Cluster &cluster = *cta.cluster;
  const LaunchShape &shape = launch.shape;
  size_t regBytes = (kernel.registerBytes + 63) / 64 * 64;
  size_t bytes = regBytes + kernel.numPredicates * 4 + 64;
  warp.storage.reset(new uint8_t[bytes]());
  auto raw = reinterpret_cast<uintptr_t>(warp.storage.get());
  warp.regs = warp.storage.get() + (64 - raw % 64) % 64;
  warp.preds = reinterpret_cast<uint32_t *>(warp.regs + regBytes);
  warp.local.assign(kernel.localBytes * 32, 0xff);
  warp.fragments.assign(1, Fragment());
  warp.fragments[0].mask = warp.lanes;
  if (checks)
    startChecks(warp);

  const std::vector<std::string> &names = ptx::specialRegisterNames;
  for (const EntryValue &entry : kernel.entryValues) {
    Ref ref;
    ref.kind = Ref::Reg;
    ref.bytes = entry.bytes;
    ref.offset = entry.offset;
    const std::string name =
        entry.kind == EntryValue::Special ? names[entry.id] : std::string();
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint64_t v = 0;
      uint64_t thread = uint64_t(warp.index) * 32 + lane;
      auto axis = [](const std::string &text,
                     const Extent3 &extent) -> uint64_t {
        return text.back() == 'x'   ? extent.x
               : text.back() == 'y' ? extent.y
                                    : extent.z;
      };
      if (entry.kind == EntryValue::SharedAddress)
        v = (uint64_t(cta.rank) << clusterRankShift) +
            static_cast<uint64_t>(entry.addend);
      else if (name == "%tid.x")
        v = thread % shape.block.x;
      else if (name == "%tid.y")
        v = thread / shape.block.x % shape.block.y;
      else if (name == "%tid.z")
        v = thread / (uint64_t(shape.block.x) * shape.block.y);
      else if (name.rfind("%ntid", 0) == 0)
        v = axis(name, shape.block);
      else if (name.rfind("%ctaid", 0) == 0)
        v = axis(name, cta.index);
      else if (name.rfind("%nctaid", 0) == 0)
        v = axis(name, shape.grid);
      else if (name == "%laneid")
        v = lane;
      else if (name == "%warpid")
        v = warp.index;
      else if (name == "%nwarpid")
        v = 64;
      else if (name == "%smid")
        v = cta.linear % launch.options.multiprocessors;
      else if (name == "%nsmid")
        v = launch.options.multiprocessors;
      else if (name.rfind("%clusterid", 0) == 0)
        v = axis(name, cluster.index);
      else if (name == "%nclusterid.x")
        v = shape.grid.x / shape.cluster.x;
      else if (name == "%nclusterid.y")
        v = shape.grid.y / shape.cluster.y;
      else if (name == "%nclusterid.z")
        v = shape.grid.z / shape.cluster.z;
      else if (name == "%cluster_ctaid.x")
        v = cta.rank % shape.cluster.x;
      else if (name == "%cluster_ctaid.y")
        v = cta.rank / shape.cluster.x % shape.cluster.y;
      else if (name == "%cluster_ctaid.z")
        v = cta.rank / (shape.cluster.x * shape.cluster.y);
      else if (name.rfind("%cluster_nctaid", 0) == 0)
        v = axis(name, shape.cluster);
      else if (name == "%cluster_ctarank")
        v = cta.rank;
      else if (name == "%cluster_nctarank")
        v = shape.cluster.count();
      else if (name == "%is_explicit_cluster")
        v = shape.cluster.count() > 1;
      else if (name == "%lanemask_eq")
        v = 1u << lane;
      else if (name == "%lanemask_le")
        v = fullMask >> (31 - lane);
      else if (name == "%lanemask_lt")
        v = (1u << lane) - 1;
      else if (name == "%lanemask_ge")
        v = fullMask << lane;
      else if (name == "%lanemask_gt")
        v = lane == 31 ? 0 : fullMask << (lane + 1);
      else if (name == "%dynamic_smem_size")
        v = shape.dynamicSmemBytes;
      else if (name == "%total_smem_size" || name == "%aggr_smem_size")
        v = cta.smemEnd - sharedBase;
      setValue(warp, ref, lane, v);
    }
  }
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Lanes that must be together at an instruction; 0: no such rule.
static bool needsConvergence(Op op) {
  switch (op) {
  case Op::BarrierSync:
  case Op::BarrierArrive:
  case Op::BarrierReduce:
  case Op::WarpBarrier:
  case Op::Shuffle:
  case Op::Vote:
  case Op::Match:
  case Op::Redux:
  case Op::Elect:
  case Op::ClusterArrive:
  case Op::ClusterWait:
  case Op::SetMaxRegisters:
  case Op::WgmmaFence:
  case Op::Wgmma:
  case Op::WgmmaCommit:
  case Op::WgmmaWait:
  case Op::StMatrix:
  case Op::LdMatrix:
  case Op::MovMatrix:
  case Op::WarpMma:
  case Op::TensorMapCopy:
  case Op::TensorAlloc:
  case Op::TensorDealloc:
  case Op::TensorRelinquish:
  case Op::TensorMemoryLoad:
  case Op::TensorMemoryStore:
  case Op::TensorMemoryWait:
    return true;
  default:
    return false;
  }
}

bool Executor::branchIndexed(Warp &warp, Fragment &fragment, const Inst &inst,
                             uint32_t active) {
  const std::vector<uint32_t> &targets = kernel.branchTables[inst.target];
  const Ref &index = kernel.refs[inst.firstRef];
  // Places and who goes there, in the order of lanes.
  std::vector<std::pair<uint32_t, uint32_t>> ways;
  if (uint32_t rest = fragment.mask & ~active)
    ways.emplace_back(fragment.pc + 1, rest);
  for (uint32_t rest = active; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    uint64_t which = value(warp, index, lane);
    if (which >= targets.size()) {
      fail(warp, inst, static_cast<int>(lane),
           "index " + std::to_string(which) + " is beyond the list of " +
               std::to_string(targets.size()) + " targets");
      return false;
    }
    auto way = std::find_if(ways.begin(), ways.end(), [&](const auto &w) {
      return w.first == targets[which];
    });
    if (way == ways.end())
      ways.emplace_back(targets[which], 1u << lane);
    else
      way->second |= 1u << lane;
  }
  fragment.pc = ways[0].first;
  fragment.mask = ways[0].second;
  for (size_t i = 1; i < ways.size(); ++i) {
    Fragment other;
    other.pc = ways[i].first;
    other.mask = ways[i].second;
    other.lastTurn = warp.turn;
    warp.fragments.push_back(other);
  }
  return true;
}

void Executor::runWarp(Warp &warp, uint64_t quantum) {
  if (!warp.storage)
    startWarp(warp);
  Cluster &cluster = *warp.cta->cluster;
  const Inst *code = kernel.code.data();
  const Ref *allRefs = kernel.refs.data();
  uint64_t progressBefore = cluster.progress;
  uint64_t executed = 0, lanesExecuted = 0;
  bool rotate = false, yielded = false;
  warp.isSpinning = false;
  ++warp.slices;

  while (!warp.isDone && !launch.stop.load(std::memory_order_relaxed)) {
    int chosen = selectFragment(warp, rotate);
    rotate = false;
    if (chosen < 0)
      break;
    Fragment &fragment = warp.fragments[static_cast<size_t>(chosen)];
    fragment.lastTurn = ++warp.turn;
    // Run until the nearest other fragment is reached, which may be merged
    // with.
    uint32_t limit = ~0u;
    bool others = false;
    for (const Fragment &other : warp.fragments)
      if (&other != &fragment &&
          (other.wait == Wait::None || other.wait == Wait::Converge)) {
        others |= other.wait == Wait::None;
        if (other.pc > fragment.pc)
          limit = std::min(limit, other.pc);
      }
    uint64_t sliceEnd = std::min(quantum, executed + (others ? 2000 : quantum));
    bool stop = false;
    bool reselect = false;
    uint32_t pc = fragment.pc;
    const uint32_t mask = fragment.mask;
    uint32_t *preds = warp.preds;

    while (true) {
      if (executed >= sliceEnd) {
        rotate = true;
        break;
      }
      const Inst &inst = code[pc];
      ++executed;
      uint32_t active = mask;
      if (inst.guard >= 0) {
        uint32_t guard = preds[inst.guard];
        active &= inst.guardNegated ? ~guard : guard;
        if (!active) {
          ++pc;
          if (pc >= limit)
            break;
          continue;
        }
      }
      lanesExecuted += popcount(active);
      ++classCounts[static_cast<unsigned>(inst.op)];
      const Ref *refs = allRefs + inst.firstRef;
      if (checks) {
        constexpr uint32_t marks =
            inst::tracksDefined | inst::usesWgmmaRegister;
        if (inst.flags & marks) {
          if ((inst.flags & inst::tracksDefined) &&
              !checkDefined(warp, inst, active)) {
            stop = true;
            break;
          }
          if (inst.flags & inst::usesWgmmaRegister)
            noteTouched(warp, inst);
        }
        if (!warp.products.empty() && inst.op != Op::Wgmma &&
            !checkRegisters(warp, inst, active)) {
          stop = true;
          break;
        }
      }
      if (!warp.loadsUnwaited.empty() && !checkLoaded(warp, inst, active)) {
        stop = true;
        break;
      }
      if (warp.loadsInFlight && touchesLoaded(warp, inst)) {
        fragment.pc = pc;
        if (!waitForLoaded(warp, fragment, inst))
          goto nextFragment;
      }
      switch (inst.op) {
      case Op::Nop:
      case Op::GridLaunch:
        break;
      case Op::GridWait:
        if (checks && launch.overlapped) {
          warp.cta->gridWaits.emplace_back(warp.clusterIndex, warp.clock);
          ++warp.clock;
        }
        break;
      case Op::MbarrierInitFence:
        if (checks) {
          for (uint32_t rest = active; rest; rest &= rest - 1)
            warp.initFenced[lowest(rest)] = warp.clock;
          ++warp.clock;
        }
        break;
      case Op::ProxyFence:
        if (checks && (inst.flags & inst::sharedFence))
          proxyFence(warp, active);
        break;
      case Op::Fence:
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (checks)
          execFence(warp, inst, active);
        break;
      case Op::NanoSleep:
        ++pc;
        reselect = yielded = true;
        break;
      case Op::Lane: {
        const void *sources[4];
        for (unsigned i = 1; i < inst.numRefs; ++i)
          sources[i - 1] = source(warp, refs[i]);
        inst.lane(warp.regs + refs[0].offset, sources, active, inst.laneFlags);
        break;
      }
      case Op::Select: {
        const void *sources[2] = {source(warp, refs[1]), source(warp, refs[2])};
        inst.lane(warp.regs + refs[0].offset, sources, active,
                  predicate(warp, refs[3]));
        break;
      }
      case Op::Compare: {
        uint32_t result =
            inst.compare(source(warp, refs[2]), source(warp, refs[3]), active,
                         inst.laneFlags);
        uint32_t inverse = ~result;
        if (refs[4].kind != Ref::None) {
          uint32_t c = predicate(warp, refs[4]);
          switch (static_cast<LogicOp>(inst.sub)) {
          case LogicOp::And:
            result &= c;
            inverse &= c;
            break;
          case LogicOp::Or:
            result |= c;
            inverse |= c;
            break;
          default:
            result ^= c;
            inverse ^= c;
            break;
          }
        }
        setPredicate(warp, refs[0], result, active);
        setPredicate(warp, refs[1], inverse, active);
        break;
      }
      case Op::PredLogic: {
        uint32_t a = predicate(warp, refs[1]);
        uint32_t b = inst.numRefs > 2 ? predicate(warp, refs[2]) : 0;
        switch (static_cast<LogicOp>(inst.sub)) {
        case LogicOp::And:
          a &= b;
          break;
        case LogicOp::Or:
          a |= b;
          break;
        case LogicOp::Xor:
          a ^= b;
          break;
        case LogicOp::Not:
          a = ~a;
          break;
        }
        setPredicate(warp, refs[0], a, active);
        break;
      }
      case Op::PredMove:
        setPredicate(warp, refs[0], predicate(warp, refs[1]), active);
        break;
      case Op::Move: {
        const uint8_t *from = source(warp, refs[1]);
        uint8_t *to = warp.regs + refs[0].offset;
        if (active == fullMask) {
          std::memmove(to, from, 32u * refs[0].bytes);
        } else {
          for (uint32_t rest = active; rest; rest &= rest - 1)
            setValue(warp, refs[0], lowest(rest),
                     value(warp, refs[1], lowest(rest)));
        }
        break;
      }
      case Op::Pack: {
        unsigned count = inst.numRefs - 1u, bits = refs[1].bytes * 8;
        for (uint32_t rest = active; rest; rest &= rest - 1) {
          unsigned lane = lowest(rest);
          uint64_t packed = 0;
          for (unsigned i = 0; i < count; ++i)
            packed |= value(warp, refs[1 + i], lane) << (bits * i);
          setValue(warp, refs[0], lane, packed);
        }
        break;
      }
      case Op::Unpack: {
        unsigned count = inst.numRefs - 1u, bits = refs[1].bytes * 8;
        for (uint32_t rest = active; rest; rest &= rest - 1) {
          unsigned lane = lowest(rest);
          uint64_t packed = value(warp, refs[0], lane);
          for (unsigned i = 0; i < count; ++i)
            setValue(warp, refs[1 + i], lane, packed >> (bits * i));
        }
        break;
      }
      case Op::Load:
      case Op::Store:
        stop = !execMemory(warp, inst, active);
        break;
      case Op::Atomic:
      case Op::Reduce:
        stop = !execAtomic(warp, inst, active);
        break;
      case Op::Branch: {
        uint32_t rest = mask & ~active;
        if (!rest) {
          pc = inst.target;
          reselect = pc >= limit;
          break;
        }
        if (inst.target == pc + 1) {
          ++pc;
          break;
        }
        fragment.pc = pc + 1;
        fragment.mask = rest;
        Fragment taken;
        taken.pc = inst.target;
        taken.mask = active;
        taken.lastTurn = warp.turn;
        warp.fragments.push_back(taken);
        goto nextFragment; // `fragment` may have moved
      }
      case Op::BranchIndexed:
        fragment.pc = pc;
        if (!branchIndexed(warp, fragment, inst, active))
          stop = true;
        goto nextFragment; // `fragment` may have moved
      case Op::Exit:
        fragment.pc = pc + 1;
        execExit(warp, fragment, active);
        if (!fragment.mask)
          warp.fragments.erase(warp.fragments.begin() + chosen);
        goto nextFragment;
      case Op::Trap:
        fail(warp, inst, static_cast<int>(lowest(active)), "trap");
        stop = true;
        break;
      default:
        if (needsConvergence(inst.op)) {
          uint32_t live = warp.lanes & ~warp.exited;
          uint32_t need = live;
          bool isAligned = true;
          switch (inst.op) {
          case Op::Shuffle:
            need = static_cast<uint32_t>(value(warp, refs[5], lowest(active)));
            isAligned = false;
            break;
          case Op::Vote:
          case Op::Redux:
            need = static_cast<uint32_t>(value(warp, refs[2], lowest(active)));
            isAligned = false;
            break;
          case Op::Match:
            need = static_cast<uint32_t>(value(warp, refs[3], lowest(active)));
            isAligned = false;
            break;
          case Op::Elect:
            need = static_cast<uint32_t>(value(warp, refs[2], lowest(active)));
            isAligned = false;
            break;
          case Op::WarpBarrier:
            need = static_cast<uint32_t>(value(warp, refs[0], lowest(active)));
            isAligned = false;
            break;
          case Op::BarrierSync:
          case Op::BarrierArrive:
          case Op::BarrierReduce:
          case Op::ClusterArrive:
          case Op::ClusterWait:
            if (!(inst.flags & inst::aligned))
              need = 0;
            break;
          default:
            break;
          }
          if (!isAligned && (active & ~need)) {
            fail(warp, inst, static_cast<int>(lowest(active & ~need)),
                 "executes an instruction whose member mask " + hex(need) +
                     " does not name it");
            stop = true;
            break;
          }
          if (need && active != mask && (need & live & ~active)) {
            fail(warp, inst, static_cast<int>(lowest(need & live & ~active)),
                 "the guard is false in this lane, but all lanes must execute "
                 "the instruction together");
            stop = true;
            break;
          }
          if (need & live & ~active) {
            fragment.pc = pc;
            fragment.wait = Wait::Converge;
            fragment.need = need;
            goto nextFragment;
          }
          if (checks) {
            if (!warp.seenBarriers.empty() && !(live & ~need))
              noteMeeting(warp);
            if (inst.op == Op::WarpBarrier)
              meetLanes(warp, need);
          }
        }
        fragment.pc = pc;
        switch (inst.op) {
        case Op::BarrierSync:
        case Op::BarrierArrive:
        case Op::BarrierReduce:
          if (!execBarrier(warp, fragment, inst, active)) {
            stop = true;
            break;
          }
          if (fragment.wait != Wait::None)
            goto nextFragment;
          pc = fragment.pc - 1;
          break;
        case Op::MbarrierInit:
        case Op::MbarrierInval:
        case Op::MbarrierArrive:
        case Op::MbarrierExpect:
        case Op::MbarrierComplete:
        case Op::MbarrierWait:
        case Op::MbarrierPendingCount:
          if (!execMbarrier(warp, fragment, inst, active)) {
            if (fragment.wait == Wait::None)
              stop = true;
            goto nextFragment;
          }
          break;
        case Op::WarpBarrier:
          break;
        case Op::Shuffle:
        case Op::Vote:
        case Op::Match:
        case Op::Redux:
        case Op::Elect:
        case Op::ActiveMask:
          stop = !execWarpOp(warp, inst, active);
          break;
        case Op::ClusterArrive:
          warp.clusterPhase = cluster.barrierPhase;
          if (checks && (inst.flags & inst::relaxed)) {
            releaseFenced(warp, active, Scope::Cluster, cluster.barrierClocks);
            for (uint32_t rest = active; rest; rest &= rest - 1)
              warp.initArrived[lowest(rest)] = warp.initFenced[lowest(rest)];
          } else if (checks) {
            releaseTo(warp, active, cluster.barrierClocks);
          }
          cluster.barrierArrived += popcount(active);
          ++cluster.progress;
          clusterBarrierMayComplete(cluster);
          break;
        case Op::ClusterWait:
          if (cluster.barrierPhase == warp.clusterPhase) {
            fragment.wait = Wait::ClusterBarrier;
            goto nextFragment;
          }
          if (checks)
            acquireFrom(warp, active, cluster.completedClocks);
          break;
        case Op::SetMaxRegisters: {
          auto wanted = static_cast<unsigned>(inst.imm);
          int64_t change = (static_cast<int64_t>(wanted) - warp.registers) * 32;
          if (inst.flags & inst::increase ? wanted < warp.registers
                                          : wanted > warp.registers) {
            fail(warp, inst, -1,
                 "goes from " + std::to_string(warp.registers) + " to " +
                     std::to_string(wanted) +
                     " registers, which is the wrong direction");
            stop = true;
            break;
          }
          if (change > warp.cta->freeRegisters) {
            fragment.wait = Wait::Registers;
            fragment.key = wanted;
            goto nextFragment;
          }
          warp.cta->freeRegisters -= change;
          warp.registers = wanted;
          ++cluster.progress;
          if (change < 0)
            for (auto &other : warp.cta->warps)
              for (Fragment &waiting : other->fragments)
                if (waiting.wait == Wait::Registers)
                  wake(*other, waiting);
          break;
        }
        case Op::TensorLoad:
        case Op::TensorStore:
        case Op::TensorReduce:
        case Op::TensorPrefetch:
        case Op::BulkLoad:
        case Op::BulkStore:
        case Op::BulkReduce:
        case Op::BulkShared:
        case Op::BulkPrefetch:
        case Op::BulkCommit:
          stop = !issueCopy(warp, inst, active);
          break;
        case Op::CpAsync:
        case Op::CpAsyncCommit:
        case Op::CpAsyncMbarrier:
          stop = !issueCpAsync(warp, inst, active);
          break;
        case Op::BulkWait:
          if (!bulkWait(warp, fragment, inst, active))
            goto nextFragment;
          break;
        case Op::CpAsyncWait:
          if (!cpAsyncWait(warp, fragment, inst, active))
            goto nextFragment;
          break;
        case Op::WgmmaFence:
          if (checks)
            std::fill(warp.touched.begin(), warp.touched.end(), 0);
          break;
        case Op::Wgmma:
        case Op::WgmmaCommit:
          stop = !issueProduct(warp, inst);
          break;
        case Op::WgmmaWait:
          if (!wgmmaWait(warp, fragment, inst)) {
            stop = fragment.wait == Wait::None;
            goto nextFragment;
          }
          break;
        case Op::StMatrix:
        case Op::LdMatrix:
          stop = !execMatrix(warp, inst, active);
          break;
        case Op::TensorAlloc:
          if (!tensorAlloc(warp, fragment, inst)) {
            stop = fragment.wait == Wait::None;
            goto nextFragment;
          }
          break;
        case Op::TensorDealloc:
          stop = !tensorDealloc(warp, inst);
          break;
        case Op::TensorRelinquish:
          stop = !tensorRelinquish(warp, inst);
          break;
        case Op::TensorMemoryLoad:
        case Op::TensorMemoryStore:
          stop = !issueTensorMove(warp, inst);
          break;
        case Op::TensorMemoryWait:
          if (!tensorWait(warp, fragment, inst))
            goto nextFragment;
          break;
        case Op::TensorFence:
          tensorFence(warp, inst);
          break;
        case Op::TensorMma:
        case Op::TensorMemoryCopy:
        case Op::TensorCommit:
          stop = !issueTensor(warp, inst, active);
          break;
        case Op::ClusterCancel:
          stop = !issueCancel(warp, inst, active);
          break;
        case Op::ClusterQuery:
          stop = !queryCancel(warp, inst, active);
          break;
        default:
          stop = !execMisc(warp, inst, active);
          break;
        }
        break;
      }
      if (stop || reselect)
        break;
      if (inst.op != Op::Branch)
        ++pc;
      if (pc >= limit)
        break;
    }
    fragment.pc = pc;
  nextFragment:
    if (stop || yielded || executed >= quantum)
      break;
  }

  // A slice may end just when the last lanes have come to an instruction that
  // others wait at: these can run.
  if (!warp.isDone)
    selectFragment(warp, false);
  counts.instructions += executed;
  counts.laneInstructions += lanesExecuted;
  if ((yielded || executed >= quantum) && cluster.progress == progressBefore)
    warp.isSpinning = true;
}

} // namespace backfuse::emulator
