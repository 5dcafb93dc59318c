//===- Checks.cpp - What hardware would not report ------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Called by the interpreter and the copies where LaunchOptions::checks is set.
// See Shadow.h for what is known, docs/emulator.md for the list of checks.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

#include <algorithm>

namespace backfuse::emulator {

using namespace shadow;

void Executor::startChecks(Warp &warp) {
  warp.known.warps.resize(warp.cta->cluster->priority.size());
  warp.fenced.assign(32, 0);
  warp.initFenced.assign(32, 0);
  warp.initArrived.assign(32, 0);
  size_t words = kernel.registerBytes / 128 / 64 + 1;
  warp.pendingD.assign(words, 0);
  warp.pendingA.assign(words, 0);
  // The first product needs a fence, too.
  warp.touched.assign(words, ~uint64_t(0));
  warp.defined.assign(kernel.numTracked, 0);
}

/// A finding, unless its check is switched off. Whether to stop.
bool Executor::reports(Check check, const Warp &warp, const Inst &inst,
                       int lane, const std::string &what) {
  if (!isOn(check))
    return false;
  fail(warp, inst, lane, what);
  return true;
}

std::string Executor::site(uint32_t index) const {
  return "PTX line " + std::to_string(kernel.lines[index]) + " ('" +
         kernel.texts[index] + "')";
}

const Warp &warpAt(const Cluster &cluster, unsigned clusterIndex) {
  size_t perCta = cluster.ctas[0]->warps.size();
  return *cluster.ctas[clusterIndex / perCta]->warps[clusterIndex % perCta];
}

/// "warp 3 (load)"
std::string Executor::nameOf(const Warp &warp) const {
  std::string text = "warp " + std::to_string(warp.index);
  if (warp.cta->cluster->ctas.size() > 1)
    text += " of CTA " + std::to_string(warp.cta->linear);
  if (warp.index < launch.warpRoles.size() &&
      !launch.warpRoles[warp.index].empty())
    text += " (" + launch.warpRoles[warp.index] + ")";
  return text;
}

/// "written at PTX line 7 ('st.shared.b32') by warp 3 (load), lane 2"
std::string Executor::whoWrote(const Cluster &cluster, uint64_t word,
                               uint32_t index) const {
  return "written at " + site(index) + " by " +
         nameOf(warpAt(cluster, warpOf(word))) + ", lane " +
         std::to_string(laneOf(word));
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
                               Scope strength) {
  SharedShadow &shadow = *owner.shadow;
  const uint64_t mine = uint64_t(warp.clusterIndex) << warpShift |
                        static_cast<uint64_t>(lane) << laneShift |
                        uint64_t(std::min(inst.source, lastReadSite))
                            << readSiteShift |
                        uint64_t(std::min(warp.clock, lastClock)) << clockShift;
  for (uint32_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    uint64_t word = shadow.words[w];
    uint64_t mask = bytesOfWord(w, offset, bytes);
    if ((word & (inFlight | isBarrier)) &&
        reportBusyRead(warp, inst, lane, owner, w))
      return false;
    if ((word & mask) != mask && reports(Check::Uninitialised, warp, inst, lane,
                                         "reads shared address " + hex(4 * w) +
                                             ", which nobody has written"))
      return false;
    if ((word & hasCopier) && !checkCopier(warp, inst, lane, owner, w, "reads"))
      return false;
    if ((word & hasWriter) &&
        !checkCpAsync(warp, inst, lane, owner, w, "reads"))
      return false;
    if ((word & hasWriter) && (word >> writeShift & mask) &&
        isSharedRace(warp, lane, word, strength) &&
        reports(Check::Race, warp, inst, lane,
                "reads shared address " + hex(4 * w) + ", " +
                    whoWrote(*warp.cta->cluster, word, shadow.sites[w]) +
                    ", without a barrier between the two"))
      return false;
    if (strength == Scope::None)
      shadow.reads[w] = mine | mask;
  }
  return true;
}

/// The last read of a word by another lane comes before it is overwritten.
/// (Those of other CTAs are left out: what orders them is often only a copy.)
bool Executor::checkReader(const Warp &warp, const Inst &inst, int lane,
                           Cta &owner, uint32_t w, uint64_t mask) {
  uint64_t read = owner.shadow->reads[w];
  if (!(read & mask))
    return true;
  const Cluster &cluster = *warp.cta->cluster;
  const Warp &reader = warpAt(cluster, warpOf(read));
  if (reader.cta != warp.cta ||
      isKnown(warp, lane, warpOf(read), laneOf(read), clockOf(read)))
    return true;
  uint32_t index = readSiteOf(read);
  return !reports(Check::Race, warp, inst, lane,
                  "overwrites shared address " + hex(4 * w) + ", read " +
                      (index < lastReadSite ? "at " + site(index) + " " : "") +
                      "by " + nameOf(reader) + ", lane " +
                      std::to_string(laneOf(read)) +
                      ", without a barrier between the two");
}

/// Whether nothing orders a word's last ordinary write before this access.
bool Executor::isSharedRace(const Warp &warp, int lane, uint64_t word,
                            Scope strength) const {
  if (isKnown(warp, lane, warpOf(word), laneOf(word), clockOf(word)))
    return false;
  const Warp &writer = warpAt(*warp.cta->cluster, warpOf(word));
  return !areMorallyStrong(warp, strength, writer.cta->linear & gridCtaMask,
                           strengthOfWord(word));
}

bool Executor::checkSharedWrite(Warp &warp, const Inst &inst, int lane,
                                Cta &owner, uint32_t offset, uint32_t bytes,
                                Scope strength, const uint8_t *incoming) {
  SharedShadow &shadow = *owner.shadow;
  // Several warps may store the same value: compilers do, and it is harmless.
  bool isSame =
      incoming && std::memcmp(incoming, owner.smem.data() + offset, bytes) == 0;
  const uint64_t mine = hasWriter | uint64_t(warp.clusterIndex) << warpShift |
                        static_cast<uint64_t>(lane) << laneShift |
                        uint64_t(strength) << strengthShift |
                        uint64_t(std::min(warp.clock, lastClock)) << clockShift;
  for (uint32_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    uint64_t word = shadow.words[w];
    uint64_t mask = bytesOfWord(w, offset, bytes);
    if ((word & (inFlight | isBarrier | readersMask)) &&
        reportBusyWrite(warp, inst, lane, owner, w, ""))
      return false;
    if ((word & hasCopier) &&
        !checkCopier(warp, inst, lane, owner, w, "overwrites"))
      return false;
    if ((word & hasWriter) &&
        !checkCpAsync(warp, inst, lane, owner, w, "overwrites"))
      return false;
    // Lanes that write one place in one instruction: one of them wins.
    bool isSameStore = warpOf(word) == warp.clusterIndex &&
                       clockOf(word) == std::min(warp.clock, lastClock) &&
                       shadow.sites[w] == inst.source;
    if ((word & hasWriter) && (word >> writeShift & mask) && !isSameStore &&
        !isSame && isSharedRace(warp, lane, word, strength) &&
        reports(Check::Race, warp, inst, lane,
                "overwrites shared address " + hex(4 * w) + ", " +
                    whoWrote(*warp.cta->cluster, word, shadow.sites[w]) +
                    ", without a barrier between the two"))
      return false;
    if (!isSame && !checkReader(warp, inst, lane, owner, w, mask))
      return false;
    // A strong write does not hide the weak one of its lane right before it.
    constexpr uint64_t strengths = uint64_t(3) << strengthShift,
                       place = ~(strengths | initMask | initMask << writeShift);
    bool hidesWeak = (word & place) == (mine & place) &&
                     strengthOfWord(word) == Scope::None &&
                     (word >> writeShift & mask);
    shadow.words[w] = (word & initMask) | mask | mask << writeShift |
                      (hidesWeak ? mine & ~strengths : mine);
    if (!hidesWeak)
      shadow.sites[w] = inst.source;
    shadow.reads[w] = 0;
  }
  return true;
}

/// Of a word that is an mbarrier, or that a copy has yet to write. Whether to
/// stop.
bool Executor::reportBusyRead(Warp &warp, const Inst &inst, int lane,
                              const Cta &owner, uint32_t w) {
  const std::string text = "reads shared address " + hex(4 * w);
  if (owner.shadow->words[w] & isBarrier)
    return reports(Check::MbarrierUse, warp, inst, lane,
                   text + ", which is an mbarrier");
  return reports(Check::InFlight, warp, inst, lane,
                 text + ", which the copy of " + site(owner.shadow->sites[w]) +
                     " has not written yet: its completion was not waited "
                     "for");
}

/// The same of a word that is written, which asynchronous work may still read.
bool Executor::reportBusyWrite(Warp &warp, const Inst &inst, int lane,
                               const Cta &owner, uint32_t w, const char *verb) {
  const uint64_t word = owner.shadow->words[w];
  const std::string text = "overwrites shared address " + hex(4 * w);
  if (word & isBarrier)
    return reports(Check::MbarrierUse, warp, inst, lane,
                   text + ", which is an mbarrier");
  if ((word & inFlight) &&
      reports(Check::InFlight, warp, inst, lane,
              text + ", which the copy of " + site(owner.shadow->sites[w]) +
                  " is about to write" + verb))
    return true;
  return (word & readersMask) &&
         reports(Check::StillRead, warp, inst, lane,
                 text +
                     ", which an asynchronous copy or product still reads: " +
                     describeReader(owner, 4 * w));
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
  if (!checkCpAsync(warp, inst, lane, owner, w, verb))
    return false;
  const SharedShadow &shadow = *owner.shadow;
  uint64_t word = shadow.words[w];
  const Cluster &cluster = *warp.cta->cluster;
  const Warp &writer = warpAt(cluster, warpOf(word));
  // The address that tcgen05.alloc wrote is no ordinary store.
  bool isStore =
      kernel.texts[shadow.sites[w]].compare(0, 14, "tcgen05.alloc.") != 0;
  if (isStore && writer.fenced[laneOf(word)] < clockOf(word) &&
      !isFenced(warp, lane, warpOf(word), laneOf(word), clockOf(word)) &&
      reports(Check::ProxyFence, warp, inst, lane,
              std::string(verb) + " shared address " + hex(4 * w) + ", " +
                  whoWrote(cluster, word, shadow.sites[w]) +
                  ", which has not executed fence.proxy.async since"))
    return false;
  return isKnown(warp, lane, warpOf(word), laneOf(word), clockOf(word)) ||
         !reports(Check::Race, warp, inst, lane,
                  std::string(verb) + " shared address " + hex(4 * w) + ", " +
                      whoWrote(cluster, word, shadow.sites[w]) +
                      ", without a barrier between the two");
}

bool Executor::checkAsyncRead(Warp &warp, const Inst &inst, int lane,
                              Cta &owner, uint32_t offset, uint32_t bytes,
                              bool takes, bool mustBeWritten) {
  SharedShadow &shadow = *owner.shadow;
  for (uint32_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    uint64_t &word = shadow.words[w];
    if ((word & (inFlight | isBarrier)) &&
        reportBusyRead(warp, inst, lane, owner, w))
      return false;
    if (mustBeWritten && (word & initMask) != initMask &&
        reports(Check::Uninitialised, warp, inst, lane,
                "reads shared address " + hex(4 * w) +
                    ", which nobody has written"))
      return false;
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
    if ((word & (inFlight | isBarrier | readersMask)) &&
        reportBusyWrite(warp, inst, lane, owner, w, ", too"))
      return false;
    if ((word & hasCopier) &&
        !checkCopier(warp, inst, lane, owner, w, "overwrites"))
      return false;
    if ((word & hasWriter) &&
        !checkFenced(warp, inst, lane, owner, w, "overwrites"))
      return false;
    if (!checkReader(warp, inst, lane, owner, w, initMask))
      return false;
    word |= inFlight;
    shadow.sites[w] = inst.source;
    shadow.reads[w] = 0;
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

//===----------------------------------------------------------------------===//
// cp.async: accesses of the thread that issued it, at its wait
//===----------------------------------------------------------------------===//

/// The word of a copy by `lane` that has written and was not waited for: a
/// write at a time that nobody has seen.
static uint64_t cpAsyncWord(const Warp &warp, unsigned lane, uint32_t clock) {
  return initMask | initMask << writeShift | hasWriter |
         uint64_t(warp.clusterIndex) << warpShift |
         uint64_t(lane) << laneShift | uint64_t(clock) << clockShift;
}

void Executor::endCpAsync(const Copy &copy, unsigned lane) {
  Warp &warp = *copy.warp;
  constexpr uint32_t offsetMask = (1u << clusterRankShift) - 1;
  uint32_t offset = copy.laneShared[lane] & offsetMask,
           bytes = static_cast<uint32_t>(copy.bytes);
  for (uint32_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    copy.cta->shadow->words[w] = cpAsyncWord(warp, lane, lastClock);
    copy.cta->shadow->sites[w] = copy.inst->source;
  }
  warp.cpWritten.push_back({lane, offset, bytes, copy.group, copy.sequence});
}

/// The lanes have waited for groups below `group` and copies before `sequence`:
/// these are stores of theirs from now on.
void Executor::learnCpAsync(Warp &warp, uint32_t mask, uint64_t group,
                            uint64_t sequence) {
  uint32_t clock = std::min(warp.clock, lastClock - 1);
  auto isWaited = [&](const Warp::CpWritten &written) {
    if (!(mask >> written.lane & 1) || written.group >= group ||
        written.sequence >= sequence)
      return false;
    // Who has overwritten it since was reported.
    uint64_t &first = warp.cta->shadow->words[written.offset / 4];
    uint64_t pending = cpAsyncWord(warp, written.lane, lastClock);
    for (uint32_t w = 0; w < (written.bytes + 3) / 4; ++w)
      if ((&first)[w] == pending)
        (&first)[w] = cpAsyncWord(warp, written.lane, clock);
    return true;
  };
  auto &list = warp.cpWritten;
  list.erase(std::remove_if(list.begin(), list.end(), isWaited), list.end());
}

bool Executor::checkCpAsync(const Warp &warp, const Inst &inst, int lane,
                            const Cta &owner, uint32_t w, const char *verb) {
  uint64_t word = owner.shadow->words[w];
  uint32_t from = owner.shadow->sites[w];
  if (clockOf(word) != lastClock ||
      kernel.texts[from].compare(0, 9, "cp.async.") != 0)
    return true;
  fail(warp, inst, lane,
       std::string(verb) + " shared address " + hex(4 * w) +
           ", which the copy of " + site(from) +
           " writes: its completion was not waited for");
  return false;
}

/// What a copy wrote is known to be there through its mbarrier only.
bool Executor::checkCopier(const Warp &warp, const Inst &inst, int lane,
                           const Cta &owner, uint32_t w, const char *verb) {
  uint64_t word = owner.shadow->words[w];
  if (isPhaseKnown(warp, lane, warpOf(word), clockOf(word)))
    return true;
  return !reports(Check::InFlight, warp, inst, lane,
                  std::string(verb) + " shared address " + hex(4 * w) +
                      ", which the copy of " + site(owner.shadow->sites[w]) +
                      " wrote: its mbarrier was not waited for");
}

void Executor::proxyFence(Warp &warp, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    warp.fenced[lowest(rest)] = warp.clock;
  // What others did before is covered, too.
  learnFenced(warp, mask);
  ++warp.clock;
}

//===----------------------------------------------------------------------===//
// Device memory
//===----------------------------------------------------------------------===//

static uint64_t globalWord(const Launch &launch, const Warp &warp, int lane,
                           uint64_t mask, Scope strength) {
  return uint64_t(launch.id) << 56 | mask << 52 |
         uint64_t(gridWarp(warp.cta->linear, warp.index)) << 27 |
         uint64_t(static_cast<unsigned>(lane) & 31) << 22 |
         uint64_t(strength) << 20 | std::min(warp.clock, lastGlobalClock);
}
static uint32_t globalWarpOf(uint64_t word) {
  return static_cast<uint32_t>(word >> 27) & 0x1ffffff;
}
static unsigned globalLaneOf(uint64_t word) { return word >> 22 & 31; }
static Scope globalStrengthOf(uint64_t word) {
  return static_cast<Scope>(word >> 20 & 3);
}

/// Whether nothing orders the last write of a word before this access.
bool Executor::isGlobalRace(const Warp &warp, int lane, uint64_t word,
                            uint64_t mask, Scope strength) const {
  if (!word || word >> 56 != launch.id || !(word >> 52 & mask))
    return false;
  uint32_t writer = globalWarpOf(word);
  if (writer == gridWarp(warp.cta->linear, warp.index) &&
      globalLaneOf(word) == static_cast<unsigned>(lane))
    return false;
  return !areMorallyStrong(warp, strength, writer >> 5,
                           globalStrengthOf(word)) &&
         !isKnownInGrid(warp, lane, writer >> 5, writer & 31,
                        globalLaneOf(word),
                        static_cast<uint32_t>(word & lastGlobalClock));
}

bool Executor::reportGlobalRace(const Warp &warp, const Inst &inst, int lane,
                                uint64_t at, uint64_t word, const char *what,
                                Scope strength) {
  uint32_t other = globalWarpOf(word), cta = other >> 5;
  unsigned index = other & 31;
  std::string who = "warp " + std::to_string(index);
  if (index < launch.warpRoles.size() && !launch.warpRoles[index].empty())
    who += " (" + launch.warpRoles[index] + ")";
  who += ", lane " + std::to_string(globalLaneOf(word));
  if (cta != (warp.cta->linear & gridCtaMask))
    who = "CTA " + std::to_string(cta) + ", " + who + ",";
  bool bothStrong =
      strength != Scope::None && globalStrengthOf(word) != Scope::None;
  std::string text(what); // "reads % which & writes"
  text.replace(text.find('%'), 1, launch.memory->describe(at) + ",");
  text.replace(text.find('&'), 1, who);
  return reports(
      Check::Race, warp, inst, lane,
      text + ", without a synchronisation between the two" +
          (bothStrong ? ": a scope does not reach the other thread" : ""));
}

bool Executor::checkGlobalRead(const Warp &warp, const Inst &inst, int lane,
                               Allocation &allocation, uint64_t address,
                               uint64_t bytes, Scope strength, bool polls,
                               bool isLoad) {
  uint64_t offset = address - allocation.base;
  // A flag may be polled before anyone has set it.
  if (!polls && !allocation.written.empty()) {
    uint64_t unwritten = firstUnwritten(allocation, offset, bytes);
    if (unwritten < bytes &&
        reports(Check::Uninitialised, warp, inst, lane,
                "reads " + launch.memory->describe(address + unwritten) +
                    ", which nobody has written"))
      return false;
  }
  if (!allocation.writers)
    return true;
  const bool notes = isLoad && strength == Scope::None;
  const uint64_t mine = notes ? globalWord(launch, warp, lane, 0, strength) : 0;
  for (uint64_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    uint64_t word = allocation.writers[w].load(std::memory_order_relaxed);
    if (!word && !notes)
      continue;
    uint64_t mask = bytesOfWord(static_cast<uint32_t>(w - offset / 4),
                                static_cast<uint32_t>(offset % 4),
                                static_cast<uint32_t>(bytes));
    if (isGlobalRace(warp, lane, word, mask, strength) &&
        reportGlobalRace(warp, inst, lane, allocation.base + 4 * w, word,
                         "reads % which & writes", strength))
      return false;
    if (notes)
      allocation.readers[w].store(mine | mask << 52, std::memory_order_relaxed);
  }
  return true;
}

bool Executor::checkGlobalWrite(const Warp &warp, const Inst &inst, int lane,
                                Allocation &allocation, uint64_t address,
                                uint64_t bytes, Scope strength,
                                const uint8_t *incoming) {
  uint64_t offset = address - allocation.base;
  if (!allocation.written.empty())
    setBits(allocation.written, offset, bytes);
  if (!allocation.writers)
    return true;
  const uint64_t mine = globalWord(launch, warp, lane, 0, strength);
  for (uint64_t w = offset / 4; w <= (offset + bytes - 1) / 4; ++w) {
    uint64_t mask = bytesOfWord(static_cast<uint32_t>(w - offset / 4),
                                static_cast<uint32_t>(offset % 4),
                                static_cast<uint32_t>(bytes));
    std::atomic<uint64_t> &place = allocation.writers[w];
    uint64_t word = place.load(std::memory_order_relaxed);
    // Lanes that write one place in one instruction: one of them wins.
    bool isSame =
        incoming && std::memcmp(incoming, allocation.data + offset, bytes) == 0;
    bool isSameStore = globalWarpOf(word) == globalWarpOf(mine) &&
                       (word & lastGlobalClock) == (mine & lastGlobalClock);
    if (word && !isSameStore && !isSame &&
        isGlobalRace(warp, lane, word, mask, strength) &&
        reportGlobalRace(warp, inst, lane, allocation.base + 4 * w, word,
                         "writes % which & writes, too", strength))
      return false;
    place.store(mine | mask << 52, std::memory_order_relaxed);
    std::atomic<uint64_t> &reader = allocation.readers[w];
    word = reader.load(std::memory_order_relaxed);
    if (!word)
      continue;
    if (!isSame && isGlobalRace(warp, lane, word, mask, strength) &&
        reportGlobalRace(warp, inst, lane, allocation.base + 4 * w, word,
                         "writes % which & reads", strength))
      return false;
    reader.store(0, std::memory_order_relaxed);
  }
  return true;
}

/// Whether a warp runs while the launch before may still run, too: in a
/// dependent launch, until griddepcontrol.wait of a thread that it knows of.
bool Executor::mayOverlap(const Warp &warp) const {
  if (!launch.overlapped)
    return false;
  for (auto [other, clock] : warp.cta->gridWaits)
    if (isUseKnown(warp, other, clock))
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
    if (allocation.writers[w].load(std::memory_order_relaxed) >> 56 ==
        launch.overlapped)
      return !reports(Check::DependentLaunch, warp, inst, lane,
                      "touches " +
                          launch.memory->describe(allocation.base + 4 * w) +
                          ", which the launch before writes, without "
                          "griddepcontrol.wait");
  return true;
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
  barrier.initClock = warp.clock;
  barrier.initSite = inst.source;
  barrier.index = ++warp.cta->cluster->numMbarriers; // 0 means none
  for (uint32_t w = offset / 4; w < offset / 4 + 2; ++w) {
    owner.shadow->words[w] = isBarrier | initMask;
    owner.shadow->sites[w] = inst.source;
    owner.shadow->reads[w] = 0;
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
  if (!barrier.isInitKnown &&
      !isKnown(warp, lane, barrier.initWarp, barrier.initLane,
               barrier.initClock) &&
      reports(Check::MbarrierUse, warp, inst, lane,
              "uses the mbarrier at shared address " + hex(offset) +
                  " without a barrier after its initialisation at " +
                  site(barrier.initSite)))
    return false;
  // Within a CTA a barrier between the two is enough on hardware: Triton relies
  // on that. Between CTAs of a cluster it takes the fence.
  bool isOrdered = !launch.options.strict && cluster.ctas.size() == 1 &&
                   (&init != &warp || warp.barrierClock > barrier.initClock);
  if (isAsync && !isOrdered &&
      std::max(init.fenced[barrier.initLane],
               init.initFenced[barrier.initLane]) < barrier.initClock)
    return !reports(
        Check::MbarrierUse, warp, inst, lane,
        "gives the mbarrier at shared address " + hex(offset) +
            " to an asynchronous copy, but its initialisation at " +
            site(barrier.initSite) +
            " was not followed by fence.mbarrier_init or fence.proxy.async");
  return true;
}

void Executor::noteSeen(Warp &warp, const Inst &inst, uint32_t mask,
                        MbarrierClocks &barrier) {
  auto found = std::find_if(
      barrier.seen.begin(), barrier.seen.end(),
      [&](const auto &seen) { return seen.warp == warp.clusterIndex; });
  if (found == barrier.seen.end())
    found = barrier.seen.insert(found, {warp.clusterIndex});
  if (found->phase != barrier.phases)
    found->lanes = 0;
  found->lanes |= mask;
  found->phase = barrier.phases;
  found->clock = warp.clock;
  found->metAt = 0;
  found->inst = static_cast<uint32_t>(&inst - kernel.code.data());
  if (std::find(warp.seenBarriers.begin(), warp.seenBarriers.end(), &barrier) ==
      warp.seenBarriers.end())
    warp.seenBarriers.push_back(&barrier);
}

/// All lanes are at one instruction that holds them together.
void Executor::noteMeeting(Warp &warp) {
  for (MbarrierClocks *barrier : warp.seenBarriers)
    for (auto &seen : barrier->seen)
      if (seen.warp == warp.clusterIndex && !seen.metAt)
        seen.metAt = warp.clock;
  warp.seenBarriers.clear();
  ++warp.clock;
}

/// The next phase may complete only when all lanes have seen the last one: a
/// lane that comes late finds the parity of the phase after that, and waits for
/// ever. One lane that arrives for its warp must have met the others.
bool Executor::checkSeen(const Cluster &cluster, uint32_t offset,
                         const MbarrierClocks &barrier) {
  for (const auto &seen : barrier.seen) {
    if (seen.phase != barrier.phases)
      continue;
    Epoch known;
    for (const Clocks &arrived : barrier.arrived)
      if (seen.warp < arrived.warps.size())
        known.join(arrived.warps[seen.warp]);
    // Whether these arrivals have to do with this warp at all.
    if (!known.knowsAny(seen.clock) ||
        (seen.metAt && known.knowsAny(seen.metAt)))
      continue;
    const Warp &warp = warpAt(cluster, seen.warp);
    uint32_t missing = 0;
    for (uint32_t rest = seen.lanes & ~warp.exited; rest; rest &= rest - 1)
      if (!known.knows(lowest(rest), seen.clock))
        missing |= rest & (0 - rest);
    if (!missing)
      continue;
    return !reports(
        Check::MbarrierPhase, warp, kernel.code[seen.inst],
        static_cast<int>(lowest(missing)),
        "the next phase of the mbarrier at shared address " + hex(offset) +
            " completes while lanes " + hex(missing) +
            " may not have seen the one that they wait for here: "
            "bar.warp.sync is missing before another lane arrives for them");
  }
  return true;
}

/// Arrivals of the barrier's next use come after its last use.
bool Executor::checkNamedBarrier(Warp &warp, const Inst &inst, unsigned id) {
  const auto &last = warp.cta->lastUse[id];
  if (last.empty())
    return true;
  for (auto [other, clock] : last)
    if (isUseKnown(warp, other, clock))
      return true;
  const Warp &other = warpAt(*warp.cta->cluster, last[0].first);
  return !reports(
      Check::NamedBarrier, warp, inst, -1,
      "arrives at barrier " + std::to_string(id) + ", which " + nameOf(other) +
          " and others use at the same time: nothing orders the two uses");
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
    return !reports(
        Check::ProductRegisters, warp, inst, static_cast<int>(lowest(active)),
        std::string(refs[r].isDef ? "writes" : "reads") +
            (isD ? " an accumulator" : " a register of A") +
            " of the wgmma of " + site(warp.products.front().inst->source) +
            " or a later one before wgmma.wait_group");
  }
  return true;
}

/// Only tcgen05.wait::ld tells that a load has written its registers. Compilers
/// move them before it: what a move writes is the load's, too.
bool Executor::checkLoaded(Warp &warp, const Inst &inst, uint32_t active) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  bool isMove =
      inst.op == Op::Move || inst.op == Op::Pack || inst.op == Op::Unpack;
  bool carries = false;
  for (unsigned r = 0; r < inst.numRefs; ++r) {
    if (refs[r].kind != Ref::Reg || refs[r].isDef ||
        !hasBit(warp.placesUnwaited, refs[r].offset / 128))
      continue;
    if (isMove) {
      carries = true;
      continue;
    }
    fail(warp, inst, static_cast<int>(lowest(active)),
         "reads a register that the tcgen05.ld of " +
             site(loadOfPlace(warp, refs[r].offset / 128).source) +
             " writes, before tcgen05.wait::ld");
    return false;
  }
  // What is written anew is another value.
  for (unsigned r = 0; r < inst.numRefs; ++r)
    if (refs[r].kind == Ref::Reg && refs[r].isDef)
      (carries ? addBit : removeBit)(warp.placesUnwaited, refs[r].offset / 128);
  return true;
}

/// The load that is not waited for and writes the register, or the last one.
const Inst &Executor::loadOfPlace(const Warp &warp, uint32_t place) const {
  for (const Inst *load : warp.loadsUnwaited) {
    const Ref *refs = kernel.refs.data() + load->firstRef;
    for (unsigned r = 1; r < load->numRefs; ++r)
      if (refs[r].offset / 128 == place)
        return *load;
  }
  return *warp.loadsUnwaited.back();
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
    if (reports(Check::Uninitialised, warp, inst,
                static_cast<int>(lowest(undefined)),
                "reads register '" + kernel.trackedNames[ref.tracked - 1u] +
                    "', which was never written"))
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
  if (!warp.products.empty() &&
      reports(Check::WorkAtEnd, warp, inst, -1,
              "exits while the wgmma of " +
                  site(warp.products.front().inst->source) + " is in flight"))
    return false;
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
    if ((writesHere || readsHere) &&
        reports(Check::WorkAtEnd, warp, inst, -1,
                "the CTA exits while the copy of " + site(copy->inst->source) +
                    (writesHere ? " has not written its shared memory"
                                : " has not read its shared memory")))
      return false;
  }
  return true;
}

} // namespace backfuse::emulator
