//===- Checks.cpp - What hardware would not report ------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Called by the interpreter and the copies where LaunchOptions::checks is set.
// See Shadow.h for what is known, docs/emulator.md for the list of checks.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

namespace backfuse::emulator {

using namespace shadow;

void Executor::startChecks(Warp &warp) {
  warp.known.warps.assign(warp.cta->cluster->priority.size(), 0);
  warp.clock() = 1;
  warp.fenced.assign(32, 0);
  warp.unsynced.assign(32, 0);
  warp.unsyncedGlobal.assign(32, 0);
  warp.initFenced.assign(32, 0);
  size_t words = kernel.registerBytes / 128 / 64 + 1;
  warp.pendingD.assign(words, 0);
  warp.pendingA.assign(words, 0);
  // The first product needs a fence, too.
  warp.touched.assign(words, ~uint64_t(0));
  warp.defined.assign(kernel.numTracked, 0);
}

std::string Executor::site(uint32_t index) const {
  return "PTX line " + std::to_string(kernel.lines[index]) + " ('" +
         kernel.texts[index] + "')";
}

static const Warp &warpAt(const Cluster &cluster, unsigned clusterIndex) {
  size_t perCta = cluster.ctas[0]->warps.size();
  return *cluster.ctas[clusterIndex / perCta]->warps[clusterIndex % perCta];
}

/// "written at PTX line 7 ('st.shared.b32') by warp 3 (load), lane 2"
std::string Executor::whoWrote(const Cluster &cluster, uint64_t word,
                               uint32_t index) const {
  const Warp &writer = warpAt(cluster, warpOf(word));
  std::string text =
      "written at " + site(index) + " by warp " + std::to_string(writer.index);
  if (cluster.ctas.size() > 1)
    text += " of CTA " + std::to_string(writer.cta->linear);
  if (writer.index < launch.warpRoles.size() &&
      !launch.warpRoles[writer.index].empty())
    text += " (" + launch.warpRoles[writer.index] + ")";
  return text + ", lane " + std::to_string(laneOf(word));
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// The bytes of word `w` that [offset, offset + bytes) covers.
static uint64_t bytesOfWord(uint32_t w, uint32_t offset, uint32_t bytes) {
  uint32_t first = offset > 4 * w ? offset - 4 * w : 0;
  uint32_t last = std::min(offset + bytes - 4 * w, 4u);
  return (uint64_t(1) << last) - (uint64_t(1) << first);
}

bool Executor::checkSharedRead(Warp &warp, const Inst &inst, int lane,
                               Cta &owner, uint32_t offset, uint32_t bytes,
                               bool isSync) {
  const SharedShadow &shadow = *owner.shadow;
  for (uint32_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    uint64_t word = shadow.words[w];
    uint64_t mask = bytesOfWord(w, offset, bytes);
    if (word & (inFlight | isBarrier)) {
      fail(warp, inst, lane,
           "reads shared address " + hex(4 * w) +
               (word & isBarrier
                    ? ", which is an mbarrier"
                    : ", which the copy of " + site(shadow.sites[w]) +
                          " has not written yet: its completion was not "
                          "waited for"));
      return false;
    }
    if ((word & mask) != mask) {
      fail(warp, inst, lane,
           "reads shared address " + hex(4 * w) + ", which nobody has written");
      return false;
    }
    if ((word & hasCopier) && !checkCopier(warp, inst, lane, owner, w, "reads"))
      return false;
    if (!isSync && (word & hasWriter) && (word >> writeShift & mask) &&
        warpOf(word) != warp.clusterIndex &&
        clockOf(word) > warp.known.warps[warpOf(word)]) {
      fail(warp, inst, lane,
           "reads shared address " + hex(4 * w) + ", " +
               whoWrote(*warp.cta->cluster, word, shadow.sites[w]) +
               ", without a barrier between the two");
      return false;
    }
  }
  return true;
}

bool Executor::checkSharedWrite(Warp &warp, const Inst &inst, int lane,
                                Cta &owner, uint32_t offset, uint32_t bytes,
                                bool isSync, const uint8_t *incoming) {
  SharedShadow &shadow = *owner.shadow;
  // Several warps may store the same value: compilers do, and it is harmless.
  bool isSame =
      incoming && std::memcmp(incoming, owner.smem.data() + offset, bytes) == 0;
  const uint64_t mine = hasWriter | uint64_t(warp.clusterIndex) << warpShift |
                        static_cast<uint64_t>(lane) << laneShift |
                        uint64_t(std::min(warp.clock(), lastClock))
                            << clockShift;
  for (uint32_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    uint64_t word = shadow.words[w];
    uint64_t mask = bytesOfWord(w, offset, bytes);
    if (word & (inFlight | isBarrier | readersMask)) {
      fail(warp, inst, lane,
           "overwrites shared address " + hex(4 * w) +
               (word & isBarrier ? ", which is an mbarrier"
                : word & inFlight
                    ? ", which the copy of " + site(shadow.sites[w]) +
                          " is about to write"
                    : ", which an asynchronous copy or product still reads: " +
                          describeReader(owner, 4 * w)));
      return false;
    }
    if ((word & hasCopier) &&
        !checkCopier(warp, inst, lane, owner, w, "overwrites"))
      return false;
    if (isSync) {
      shadow.words[w] = (word & initMask) | mask;
      continue;
    }
    if ((word & hasWriter) && (word >> writeShift & mask) &&
        warpOf(word) != warp.clusterIndex && !isSame &&
        clockOf(word) > warp.known.warps[warpOf(word)]) {
      fail(warp, inst, lane,
           "overwrites shared address " + hex(4 * w) + ", " +
               whoWrote(*warp.cta->cluster, word, shadow.sites[w]) +
               ", without a barrier between the two");
      return false;
    }
    shadow.words[w] = (word & initMask) | mask | mask << writeShift | mine;
    shadow.sites[w] = inst.source;
  }
  return true;
}

/// Which work in flight reads a byte of shared memory.
std::string Executor::describeReader(const Cta &owner, uint32_t offset) {
  for (const auto &copy : owner.cluster->copies) {
    bool isStore = !copy->hasBarrier && !copy->isRead;
    uint32_t from =
        copy->kind == CopyKind::BulkShared ? copy->otherShared : copy->shared;
    from &= (1u << clusterRankShift) - 1;
    if (copy->cta == &owner &&
        (isStore || copy->kind == CopyKind::BulkShared) && offset >= from &&
        offset < from + copy->bytes)
      return "the copy of " + site(copy->inst->source) +
             " (cp.async.bulk.wait_group.read was not waited for)";
  }
  for (const auto &op : owner.cluster->tensorOps)
    if ((op->kind == TensorOp::Mma || op->kind == TensorOp::Copy) &&
        involves(*op, owner))
      return "the product of " + site(op->inst->source) +
             " or a later one (the mbarrier of its tcgen05.commit was not "
             "waited for)";
  for (const auto &warp : owner.warps)
    if (!warp->products.empty())
      return "the product of " + site(warp->products.front().inst->source) +
             " or a later one (wgmma.wait_group was not waited for)";
  return "unknown";
}

/// Stores by ordinary instructions that a copy or product of `warp` will meet:
/// they must be ordered before, with a fence by the writing thread or by one
/// behind it in that order.
bool Executor::checkFenced(Warp &warp, const Inst &inst, int lane,
                           const Cta &owner, uint32_t w, const char *verb) {
  const SharedShadow &shadow = *owner.shadow;
  uint64_t word = shadow.words[w];
  const Cluster &cluster = *warp.cta->cluster;
  const Warp &writer = warpAt(cluster, warpOf(word));
  const std::vector<uint32_t> &fenced = warp.known.fenced;
  // The address that tcgen05.alloc wrote is no ordinary store.
  bool isStore =
      kernel.texts[shadow.sites[w]].compare(0, 14, "tcgen05.alloc.") != 0;
  if (isStore && writer.fenced[laneOf(word)] < clockOf(word) &&
      (writer.clusterIndex >= fenced.size() ||
       fenced[writer.clusterIndex] < clockOf(word))) {
    fail(warp, inst, lane,
         std::string(verb) + " shared address " + hex(4 * w) + ", " +
             whoWrote(cluster, word, shadow.sites[w]) +
             ", which has not executed fence.proxy.async since");
    return false;
  }
  if (&writer != &warp &&
      clockOf(word) > warp.known.warps[writer.clusterIndex]) {
    fail(warp, inst, lane,
         std::string(verb) + " shared address " + hex(4 * w) + ", " +
             whoWrote(cluster, word, shadow.sites[w]) +
             ", without a barrier between the two");
    return false;
  }
  return true;
}

bool Executor::checkAsyncRead(Warp &warp, const Inst &inst, int lane,
                              Cta &owner, uint32_t offset, uint32_t bytes,
                              bool takes, bool mustBeWritten) {
  SharedShadow &shadow = *owner.shadow;
  for (uint32_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    uint64_t &word = shadow.words[w];
    if (word & (inFlight | isBarrier)) {
      fail(warp, inst, lane,
           "reads shared address " + hex(4 * w) +
               (word & isBarrier
                    ? ", which is an mbarrier"
                    : ", which the copy of " + site(shadow.sites[w]) +
                          " has not written yet: its completion was not "
                          "waited for"));
      return false;
    }
    if (mustBeWritten && (word & initMask) != initMask) {
      fail(warp, inst, lane,
           "reads shared address " + hex(4 * w) + ", which nobody has written");
      return false;
    }
    if ((word & hasCopier) && !checkCopier(warp, inst, lane, owner, w, "reads"))
      return false;
    if ((word & hasWriter) && !checkFenced(warp, inst, lane, owner, w, "reads"))
      return false;
    if (takes && (word & readersMask) != readersMask)
      word += oneReader;
  }
  return true;
}

void Executor::endAsyncRead(Cta &owner, uint32_t offset, uint32_t bytes) {
  for (uint32_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w)
    if (owner.shadow->words[w] & readersMask)
      owner.shadow->words[w] -= oneReader;
}

bool Executor::checkAsyncWrite(Warp &warp, const Inst &inst, int lane,
                               Cta &owner, uint32_t offset, uint32_t bytes) {
  SharedShadow &shadow = *owner.shadow;
  for (uint32_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    uint64_t &word = shadow.words[w];
    if (word & (inFlight | isBarrier | readersMask)) {
      fail(warp, inst, lane,
           "overwrites shared address " + hex(4 * w) +
               (word & isBarrier ? ", which is an mbarrier"
                : word & inFlight
                    ? ", which the copy of " + site(shadow.sites[w]) +
                          " is about to write, too"
                    : ", which an asynchronous copy or product still reads: " +
                          describeReader(owner, 4 * w)));
      return false;
    }
    if ((word & hasCopier) &&
        !checkCopier(warp, inst, lane, owner, w, "overwrites"))
      return false;
    if ((word & hasWriter) &&
        !checkFenced(warp, inst, lane, owner, w, "overwrites"))
      return false;
    word |= inFlight;
    shadow.sites[w] = inst.source;
  }
  return true;
}

void Executor::endAsyncWrite(const Copy &copy, Cta &owner, uint32_t offset,
                             uint32_t bytes) {
  uint64_t state = initMask;
  if (copy.hasBarrier) {
    constexpr uint32_t offsetMask = (1u << clusterRankShift) - 1;
    uint32_t at = copy.barrierRank(owner.rank) << clusterRankShift |
                  (copy.barrier & offsetMask);
    const MbarrierClocks &barrier = owner.cluster->mbarriers[at];
    if (barrier.index && barrier.index <= 0x1ff)
      state |= hasCopier | uint64_t(barrier.index) << warpShift |
               uint64_t(barrier.phases + 1) << clockShift;
  }
  for (uint32_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    owner.shadow->words[w] = state;
    owner.shadow->sites[w] = copy.inst->source;
  }
}

/// What a copy wrote is known to be there through its mbarrier only.
bool Executor::checkCopier(const Warp &warp, const Inst &inst, int lane,
                           const Cta &owner, uint32_t w, const char *verb) {
  uint64_t word = owner.shadow->words[w];
  if (warp.known.knows(warpOf(word), clockOf(word)))
    return true;
  fail(warp, inst, lane,
       std::string(verb) + " shared address " + hex(4 * w) +
           ", which the copy of " + site(owner.shadow->sites[w]) +
           " wrote: its mbarrier was not waited for");
  return false;
}

void Executor::proxyFence(Warp &warp, uint32_t mask) {
  // What others did before, and lanes of this warp that were met since.
  uint32_t covered = mask;
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    covered |= ~warp.unsynced[lowest(rest)];
  for (covered &= warp.lanes; covered; covered &= covered - 1)
    warp.fenced[lowest(covered)] = warp.clock();
  uint32_t own = warp.clock();
  warp.clock() = 0;
  warp.known.joinFenced(warp.known.warps);
  warp.clock() = own + 1;
}

//===----------------------------------------------------------------------===//
// Device memory
//===----------------------------------------------------------------------===//

// The word of 4 bytes: launch (12 bits), bytes of the last write (4), CTA (20),
// its clock (28). Zero: nobody in this launch, or only atomics.
static uint64_t globalWord(uint32_t launch, uint64_t mask, uint32_t cta,
                           uint32_t clock) {
  return uint64_t(launch & 0xfff) << 52 | mask << 48 |
         uint64_t(cta & 0xfffff) << 28 | (clock & 0xfffffff);
}

/// Whether the last write of a word is ordered before this CTA's next access.
static bool isOrdered(const Launch &launch, const Cta &cta, uint64_t word,
                      uint64_t mask) {
  if (!word || (word >> 52) != (launch.id & 0xfff) || !(word >> 48 & mask))
    return true;
  auto writer = static_cast<uint32_t>(word >> 28 & 0xfffff);
  if (writer == (cta.linear & 0xfffff))
    return true;
  auto known = cta.knownCtas.find(writer);
  return known != cta.knownCtas.end() && known->second >= (word & 0xfffffff);
}

bool Executor::checkGlobalRead(const Warp &warp, const Inst &inst, int lane,
                               Allocation &allocation, uint64_t address,
                               uint64_t bytes, bool isSync, bool polls) {
  uint64_t offset = address - allocation.base;
  // A flag may be polled before anyone has set it.
  if (!polls && !allocation.written.empty()) {
    uint64_t unwritten = firstUnwritten(allocation, offset, bytes);
    if (unwritten < bytes) {
      fail(warp, inst, lane,
           "reads " + launch.memory->describe(address + unwritten) +
               ", which nobody has written");
      return false;
    }
  }
  if (isSync || !allocation.writers)
    return true;
  for (uint64_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    uint64_t word = allocation.writers[w].load(std::memory_order_relaxed);
    if (word && !isOrdered(launch, *warp.cta, word,
                           bytesOfWord(static_cast<uint32_t>(w - offset / 4),
                                       static_cast<uint32_t>(offset % 4),
                                       static_cast<uint32_t>(bytes)))) {
      fail(warp, inst, lane,
           "reads " + launch.memory->describe(allocation.base + 4 * w) +
               ", which CTA " + std::to_string(word >> 28 & 0xfffff) +
               " writes, without a synchronisation between the two");
      return false;
    }
  }
  return true;
}

bool Executor::checkGlobalWrite(const Warp &warp, const Inst &inst, int lane,
                                Allocation &allocation, uint64_t address,
                                uint64_t bytes, bool isSync,
                                const uint8_t *incoming) {
  uint64_t offset = address - allocation.base;
  if (!allocation.written.empty()) {
    for (uint64_t i = 0; i < bytes;) {
      uint64_t at = offset + i;
      unsigned count =
          static_cast<unsigned>(std::min<uint64_t>(8 - at % 8, bytes - i));
      auto bits = static_cast<uint8_t>(((1u << count) - 1) << (at % 8));
      std::atomic<uint8_t> &byte = allocation.written[at / 8];
      if (bits == 0xff)
        byte.store(0xff, std::memory_order_relaxed);
      else if ((byte.load(std::memory_order_relaxed) & bits) != bits)
        byte.fetch_or(bits, std::memory_order_relaxed);
      i += count;
    }
  }
  if (!allocation.writers)
    return true;
  for (uint64_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    uint64_t mask = bytesOfWord(static_cast<uint32_t>(w - offset / 4),
                                static_cast<uint32_t>(offset % 4),
                                static_cast<uint32_t>(bytes));
    std::atomic<uint64_t> &place = allocation.writers[w];
    uint64_t word = place.load(std::memory_order_relaxed);
    if (isSync) {
      if (word)
        place.store(0, std::memory_order_relaxed);
      continue;
    }
    bool isSame =
        incoming && std::memcmp(incoming, allocation.data + offset, bytes) == 0;
    if (word && !isSame && !isOrdered(launch, *warp.cta, word, mask)) {
      fail(warp, inst, lane,
           "writes " + launch.memory->describe(allocation.base + 4 * w) +
               ", which CTA " + std::to_string(word >> 28 & 0xfffff) +
               " writes, too, without a synchronisation between the two");
      return false;
    }
    place.store(
        globalWord(launch.id, mask, warp.cta->linear, warp.cta->globalClock),
        std::memory_order_relaxed);
  }
  return true;
}

/// Whether a warp runs while the launch before may still run, too: in a
/// dependent launch, until griddepcontrol.wait of a thread that it knows of.
bool Executor::mayOverlap(const Warp &warp) const {
  if (!launch.overlapped)
    return false;
  for (auto [other, clock] : warp.cta->gridWaits)
    if (other == warp.clusterIndex || warp.known.warps[other] >= clock)
      return false;
  return true;
}

/// What the launch before wrote is not there yet.
bool Executor::checkOverlap(const Warp &warp, const Inst &inst, int lane,
                            const Allocation &allocation, uint64_t address,
                            uint64_t bytes) {
  if (!allocation.writers || !bytes)
    return true;
  uint64_t offset = address - allocation.base;
  for (uint64_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w)
    if (allocation.writers[w].load(std::memory_order_relaxed) >> 52 ==
        (launch.overlapped & 0xfff)) {
      fail(warp, inst, lane,
           "touches " + launch.memory->describe(allocation.base + 4 * w) +
               ", which the launch before writes, without "
               "griddepcontrol.wait");
      return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// What `warp` did so far is known to whoever acquires from `to`.
void Executor::releaseTo(Warp &warp, Clocks &to, bool withCtas) {
  to.join(warp.known, false);
  if (withCtas) {
    Cta &cta = *warp.cta;
    cta.knownCtas[cta.linear & 0xfffff] = cta.globalClock;
    to.joinCtas(cta.knownCtas);
    ++cta.globalClock;
  }
  ++warp.clock();
}

void Executor::acquireFrom(Warp &warp, const Clocks &from, bool withCtas) {
  uint32_t own = warp.clock();
  warp.known.join(from, false);
  warp.clock() = own;
  if (withCtas)
    for (auto [cta, clock] : from.ctas) {
      uint32_t &mine = warp.cta->knownCtas[cta];
      mine = std::max(mine, clock);
    }
}

void Executor::releaseGlobal(Warp &warp, uint64_t address) {
  Cta &cta = *warp.cta;
  cta.knownCtas[cta.linear & 0xfffff] = cta.globalClock;
  launch.syncWords.release(address, cta.knownCtas);
  ++cta.globalClock;
}

void Executor::shareThrough(Warp &warp, uint32_t address, bool releases,
                            bool acquires) {
  Clocks &word = warp.cta->cluster->syncWords[address];
  bool withCtas = warp.cta->cluster->ctas.size() > 1;
  if (acquires)
    acquireFrom(warp, word, withCtas);
  if (releases)
    releaseTo(warp, word, withCtas);
}

void Executor::acquireGlobal(Warp &warp, uint64_t address) {
  launch.syncWords.acquire(address, warp.cta->knownCtas);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void Executor::noteMbarrierInit(Warp &warp, const Inst &inst, unsigned lane,
                                Cta &owner, uint32_t offset) {
  MbarrierClocks &barrier =
      warp.cta->cluster->mbarriers[owner.rank << clusterRankShift | offset];
  barrier = MbarrierClocks();
  barrier.initWarp = warp.clusterIndex;
  barrier.initLane = lane;
  barrier.initClock = warp.clock();
  barrier.initSite = inst.source;
  barrier.index = warp.cta->cluster->numClocks++;
  for (uint32_t w = offset / 4; w < offset / 4 + 2; ++w) {
    owner.shadow->words[w] = isBarrier | initMask;
    owner.shadow->sites[w] = inst.source;
  }
}

/// Uses of a barrier come after its initialisation.
bool Executor::checkMbarrier(Warp &warp, const Inst &inst, int lane, Cta &owner,
                             uint32_t offset, bool isAsync) {
  Cluster &cluster = *warp.cta->cluster;
  auto found = cluster.mbarriers.find(owner.rank << clusterRankShift | offset);
  if (found == cluster.mbarriers.end()) {
    fail(warp, inst, lane,
         "no mbarrier was initialised at shared address " + hex(offset));
    return false;
  }
  const MbarrierClocks &barrier = found->second;
  const Warp &init = warpAt(cluster, barrier.initWarp);
  if (&init != &warp &&
      barrier.initClock > warp.known.warps[barrier.initWarp]) {
    fail(warp, inst, lane,
         "uses the mbarrier at shared address " + hex(offset) +
             " without a barrier after its initialisation at " +
             site(barrier.initSite));
    return false;
  }
  // Within a CTA a barrier between the two is enough on hardware: Triton relies
  // on that. Between CTAs of a cluster it takes the fence.
  bool isOrdered = !launch.options.strict && cluster.ctas.size() == 1 &&
                   (&init != &warp || warp.barrierClock > barrier.initClock);
  if (isAsync && !isOrdered &&
      std::max(init.fenced[barrier.initLane],
               init.initFenced[barrier.initLane]) < barrier.initClock) {
    fail(warp, inst, lane,
         "gives the mbarrier at shared address " + hex(offset) +
             " to an asynchronous copy, but its initialisation at " +
             site(barrier.initSite) +
             " was not followed by fence.mbarrier_init or fence.proxy.async");
    return false;
  }
  return true;
}

/// A lane that arrives for others comes after what they did with it.
bool Executor::checkArrival(Warp &warp, const Inst &inst, unsigned lane,
                            uint32_t mask) {
  uint32_t others = warp.unsynced[lane] & ~mask;
  if (!others)
    return true;
  fail(warp, inst, static_cast<int>(lane),
       "arrives while lanes " + hex(others) +
           " have used shared memory since they last met this lane: "
           "bar.warp.sync is missing");
  return false;
}

/// The same for a flag in device memory that one lane sets.
bool Executor::checkGlobalRelease(Warp &warp, const Inst &inst, unsigned lane,
                                  uint32_t mask) {
  uint32_t others = warp.unsyncedGlobal[lane] & ~mask;
  if (!others)
    return true;
  fail(warp, inst, static_cast<int>(lane),
       "releases while lanes " + hex(others) +
           " have written device memory since they last met this lane: "
           "bar.warp.sync is missing");
  return false;
}

/// Arrivals of the barrier's next use come after its last use.
bool Executor::checkNamedBarrier(Warp &warp, const Inst &inst, unsigned id) {
  const auto &last = warp.cta->lastUse[id];
  if (last.empty())
    return true;
  for (auto [other, clock] : last)
    if (other == warp.clusterIndex || warp.known.warps[other] >= clock)
      return true;
  const Warp &other = warpAt(*warp.cta->cluster, last[0].first);
  std::string name = std::to_string(other.index);
  if (other.index < launch.warpRoles.size() &&
      !launch.warpRoles[other.index].empty())
    name += " (" + launch.warpRoles[other.index] + ")";
  fail(warp, inst, -1,
       "arrives at barrier " + std::to_string(id) + ", which warp " + name +
           " and others use at the same time: nothing orders the two uses");
  return false;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// No instruction may touch accumulators of products in flight, nor write
/// their A.
bool Executor::checkRegisters(Warp &warp, const Inst &inst, uint32_t active) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  for (unsigned r = 0; r < inst.numRefs; ++r) {
    if (refs[r].kind != Ref::Reg)
      continue;
    uint32_t slot = refs[r].offset / 128;
    bool isD = hasBit(warp.pendingD, slot);
    if (!isD && !(refs[r].isDef && hasBit(warp.pendingA, slot)))
      continue;
    fail(warp, inst, static_cast<int>(lowest(active)),
         std::string(refs[r].isDef ? "writes" : "reads") +
             (isD ? " an accumulator" : " a register of A") +
             " of the wgmma of " + site(warp.products.front().inst->source) +
             " or a later one before wgmma.wait_group");
    return false;
  }
  return true;
}

void Executor::updatePending(Warp &warp) {
  std::fill(warp.pendingD.begin(), warp.pendingD.end(), 0);
  std::fill(warp.pendingA.begin(), warp.pendingA.end(), 0);
  for (const Product &product : warp.products) {
    const Inst &inst = *product.inst;
    const Ref *refs = kernel.refs.data() + inst.firstRef;
    unsigned numD = inst.shapeN / 2u;
    for (unsigned r = 0; r < numD; ++r)
      addBit(warp.pendingD, refs[r].offset / 128);
    if (inst.flags & inst::aInRegisters)
      for (unsigned r = numD; r < numD + 4; ++r)
        addBit(warp.pendingA, refs[r].offset / 128);
  }
}

/// A product may write an accumulator that another instruction read or wrote,
/// and read A, only behind a fence.
void Executor::noteTouched(Warp &warp, const Inst &inst) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  for (unsigned r = 0; r < inst.numRefs; ++r)
    if (refs[r].kind == Ref::Reg)
      addBit(warp.touched, refs[r].offset / 128);
}

/// Registers that no path need have written: a move carries that on, any other
/// use is an error.
bool Executor::checkDefined(Warp &warp, const Inst &inst, uint32_t active) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  bool overwrites =
      inst.op == Op::Wgmma && !(predicate(warp, refs[inst.numRefs - 1u]) & 1);
  uint32_t definedLanes = active;
  for (unsigned r = 0; r < inst.numRefs; ++r) {
    const Ref &ref = refs[r];
    bool reads = !ref.isDef || (inst.op == Op::Wgmma && !overwrites);
    if (!ref.tracked || !reads)
      continue;
    uint32_t undefined = active & ~warp.defined[ref.tracked - 1u];
    if (!undefined)
      continue;
    if (inst.op == Op::Move) {
      definedLanes &= ~undefined;
      continue;
    }
    fail(warp, inst, static_cast<int>(lowest(undefined)),
         "reads register '" + kernel.trackedNames[ref.tracked - 1u] +
             "', which was never written");
    return false;
  }
  for (unsigned r = 0; r < inst.numRefs; ++r)
    if (refs[r].tracked && refs[r].isDef) {
      uint32_t &defined = warp.defined[refs[r].tracked - 1u];
      defined = (defined & ~active) | definedLanes;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

bool Executor::checkExit(Warp &warp, const Inst &inst) {
  if (!warp.products.empty()) {
    fail(warp, inst, -1,
         "exits while the wgmma of " +
             site(warp.products.front().inst->source) + " is in flight");
    return false;
  }
  if (warp.cta->liveWarps > 1)
    return true;
  const Cta &cta = *warp.cta;
  for (const auto &copy : cta.cluster->copies) {
    bool writesHere = false;
    if (copy->hasBarrier) {
      uint32_t mask = copy->multicast
                          ? copy->multicast
                          : 1u << (copy->shared >> clusterRankShift);
      writesHere = mask >> cta.rank & 1;
    }
    bool readsHere = copy->cta == &cta &&
                     (copy->kind == CopyKind::BulkShared ||
                      copy->kind == CopyKind::CpAsync ||
                      (!copy->hasBarrier && copy->kind != CopyKind::CpArrive &&
                       !copy->isRead));
    if (writesHere || readsHere) {
      fail(warp, inst, -1,
           "the CTA exits while the copy of " + site(copy->inst->source) +
               (writesHere ? " has not written its shared memory"
                           : " has not read its shared memory"));
      return false;
    }
  }
  return true;
}

} // namespace backfuse::emulator
