//===- Order.cpp - Releases, acquires and fences --------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// The causality order of the PTX ISA, section "Memory Consistency Model": a
// release pattern (a release; a fence and a strong write behind it) and an
// acquire pattern (an acquire; a strong read and a fence behind it) synchronise
// where the read observes the write and the scopes of both reach the other
// thread. Barriers synchronise those that take part. All of it is cumulative.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

namespace backfuse::emulator {

//===----------------------------------------------------------------------===//
// Clocks
//===----------------------------------------------------------------------===//

GridRef joinGrid(const GridRef &a, const GridRef &b) {
  if (!b || a == b)
    return a;
  if (!a)
    return b;
  auto joined = std::make_shared<std::vector<GridEpoch>>();
  joined->reserve(a->size() + b->size());
  bool isA = true, isB = true;
  auto i = a->begin(), j = b->begin();
  while (i != a->end() || j != b->end()) {
    if (j == b->end() || (i != a->end() && i->warp < j->warp)) {
      joined->push_back(*i++);
      isB = false;
    } else if (i == a->end() || j->warp < i->warp) {
      joined->push_back(*j++);
      isA = false;
    } else {
      GridEpoch both = *i;
      both.epoch.join(j->epoch);
      isA &= both.epoch == i->epoch;
      isB &= both.epoch == j->epoch;
      joined->push_back(both);
      ++i, ++j;
    }
  }
  return isA ? a : isB ? b : joined;
}

const Epoch *findGrid(const GridRef &grid, uint32_t warp) {
  if (!grid)
    return nullptr;
  auto at = std::lower_bound(
      grid->begin(), grid->end(), warp,
      [](const GridEpoch &entry, uint32_t w) { return entry.warp < w; });
  return at != grid->end() && at->warp == warp ? &at->epoch : nullptr;
}

static void joinEpochs(std::vector<Epoch> &to, const std::vector<Epoch> &from) {
  if (to.size() < from.size())
    to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    to[i].join(from[i]);
}
static void joinNumbers(std::vector<uint32_t> &to,
                        const std::vector<uint32_t> &from) {
  if (to.size() < from.size())
    to.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i)
    to[i] = std::max(to[i], from[i]);
}

void Clocks::joinTensor(const std::vector<uint32_t> &other) {
  joinNumbers(tensor, other);
}

void Clocks::join(const Clocks &other) {
  joinEpochs(warps, other.warps);
  joinNumbers(phases, other.phases);
  joinNumbers(tensor, other.tensor);
  joinEpochs(fenced, other.fenced);
  grid = joinGrid(grid, other.grid);
}

void SyncWords::write(uint64_t address, unsigned bytes,
                      const std::vector<MessageRef> &messages, bool continues) {
  Shard &shard = shardOf(address);
  if (messages.empty() && (continues || shard.words.empty()))
    return;
  // A write of half a word may leave the other half's message.
  continues |= bytes < 4;
  constexpr size_t mostMessages = 8;
  for (uint64_t w = address / 4; w <= (address + bytes - 1) / 4; ++w) {
    if (messages.empty()) {
      if (!continues)
        shard.words.erase(w);
      continue;
    }
    std::vector<MessageRef> &word = shard.words[w];
    if (!continues)
      word.clear();
    word.insert(word.end(), messages.begin(), messages.end());
    if (word.size() <= mostMessages)
      continue;
    // Many have counted here: one message for all, as wide as the widest.
    auto all = std::make_shared<Message>();
    all->cta = Message::several;
    auto local = std::make_shared<Clocks>();
    for (const MessageRef &message : word) {
      all->scope = std::max(all->scope, message->scope);
      all->cluster = message->cluster;
      all->grid = joinGrid(all->grid, message->grid);
    }
    for (const MessageRef &message : word)
      if (message->local && message->cluster == all->cluster)
        local->join(*message->local);
    all->local = std::move(local);
    word.assign(1, std::move(all));
  }
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

Scope scopeOf(const Inst &inst) {
  return inst.flags & inst::gpuScope       ? Scope::Gpu
         : inst.flags & inst::clusterScope ? Scope::Cluster
                                           : Scope::Cta;
}

Scope strengthOf(const Inst &inst) {
  constexpr uint32_t strong =
      inst::volatileAccess | inst::relaxed | inst::acquire | inst::release;
  if (!(inst.flags & strong))
    return Scope::None;
  return inst.flags & inst::volatileAccess ? Scope::Gpu : scopeOf(inst);
}

/// Whether a scope used in one CTA names threads of another.
static bool reaches(Scope scope, uint32_t fromCta, uint32_t fromCluster,
                    const Cta &to) {
  switch (scope) {
  case Scope::None:
    return false;
  case Scope::Cta:
    return fromCta == to.linear;
  case Scope::Cluster:
    return fromCluster == to.cluster->linear;
  case Scope::Gpu:
    return true;
  }
  return true;
}

/// Whether a message gets to a reader with this scope.
static bool isHeard(const Message &message, const Cta &reader, Scope scope) {
  if (message.cta == Message::several)
    return true;
  return reaches(message.scope, message.cta, message.cluster, reader) &&
         reaches(scope, message.cta, message.cluster, reader);
}

//===----------------------------------------------------------------------===//
// What lanes know
//===----------------------------------------------------------------------===//

static uint32_t liveLanes(const Warp &warp) {
  return warp.lanes & ~warp.exited;
}

/// Adds to what these lanes know.
template <class F> static void learn(Warp &warp, uint32_t mask, F f) {
  if (!(liveLanes(warp) & ~mask)) {
    f(warp.known);
    return;
  }
  if (warp.extra.empty())
    warp.extra.resize(32);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    if (!(warp.extraLanes >> lane & 1))
      warp.extra[lane] = Clocks();
    f(warp.extra[lane]);
  }
  warp.extraLanes |= mask;
}

/// What lanes know, without their own work.
static Clocks knowledge(const Warp &warp, uint32_t lanes) {
  Clocks all = warp.known;
  for (lanes &= warp.extraLanes; lanes; lanes &= lanes - 1)
    all.join(warp.extra[lowest(lanes)]);
  return all;
}

static Epoch ownWork(uint32_t clock, uint32_t mask) {
  Epoch epoch;
  epoch.some = clock;
  epoch.mask = mask;
  return epoch;
}

bool Executor::isKnown(const Warp &warp, int lane, unsigned writer,
                       unsigned writerLane, uint32_t clock) const {
  if (writer == warp.clusterIndex &&
      (lane < 0 || static_cast<unsigned>(lane) == writerLane))
    return true;
  if (warp.known.knows(writer, writerLane, clock))
    return true;
  uint32_t lanes = lane < 0 ? warp.extraLanes : warp.extraLanes & 1u << lane;
  for (; lanes; lanes &= lanes - 1)
    if (warp.extra[lowest(lanes)].knows(writer, writerLane, clock))
      return true;
  return false;
}

bool Executor::isPhaseKnown(const Warp &warp, int lane, unsigned index,
                            uint32_t phase) const {
  if (warp.known.knowsPhase(index, phase))
    return true;
  uint32_t lanes = lane < 0 ? warp.extraLanes : warp.extraLanes & 1u << lane;
  for (; lanes; lanes &= lanes - 1)
    if (warp.extra[lowest(lanes)].knowsPhase(index, phase))
      return true;
  return false;
}

bool Executor::isKnownInGrid(const Warp &warp, int lane, uint32_t cta,
                             unsigned writer, unsigned writerLane,
                             uint32_t clock) const {
  const Cluster &cluster = *warp.cta->cluster;
  auto perCta = static_cast<unsigned>(cluster.ctas[0]->warps.size());
  for (const auto &own : cluster.ctas)
    if ((own->linear & gridCtaMask) == cta)
      return isKnown(warp, lane, own->rank * perCta + writer, writerLane,
                     clock);
  uint32_t number = gridWarp(cta, writer);
  const Epoch *epoch = findGrid(warp.known.grid, number);
  if (epoch && epoch->knows(writerLane, clock))
    return true;
  uint32_t lanes = lane < 0 ? warp.extraLanes : warp.extraLanes & 1u << lane;
  for (; lanes; lanes &= lanes - 1) {
    epoch = findGrid(warp.extra[lowest(lanes)].grid, number);
    if (epoch && epoch->knows(writerLane, clock))
      return true;
  }
  return false;
}

bool Executor::isUseKnown(const Warp &warp, unsigned other,
                          uint32_t clock) const {
  if (other == warp.clusterIndex || warp.known.knowsAny(other, clock))
    return true;
  for (uint32_t lanes = warp.extraLanes; lanes; lanes &= lanes - 1)
    if (warp.extra[lowest(lanes)].knowsAny(other, clock))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// What these lanes did so far is known to whoever acquires from `to`.
void Executor::releaseTo(Warp &warp, uint32_t mask, Clocks &to) {
  to.join(warp.known);
  for (uint32_t rest = mask & warp.extraLanes; rest; rest &= rest - 1)
    to.join(warp.extra[lowest(rest)]);
  bool isWhole = !(liveLanes(warp) & ~mask);
  to.at(warp.clusterIndex).join(ownWork(warp.clock, isWhole ? ~0u : mask));
  ++warp.clock;
}

/// What these lanes did themselves, without what they had learnt.
void Executor::releaseOwn(Warp &warp, uint32_t mask, Clocks &to) {
  to.at(warp.clusterIndex).join(ownWork(warp.clock, mask));
  ++warp.clock;
}

void Executor::acquireFrom(Warp &warp, uint32_t mask, const Clocks &from) {
  learn(warp, mask, [&](Clocks &known) { known.join(from); });
  warp.known.joinTensor(from.tensor); // of the warp as a whole
}

/// A proxy fence of these lanes covers what they know.
void Executor::learnFenced(Warp &warp, uint32_t mask) {
  Clocks covered;
  covered.fenced = knowledge(warp, mask).warps;
  acquireFrom(warp, mask, covered);
}

bool Executor::isFenced(const Warp &warp, int lane, unsigned writer,
                        unsigned writerLane, uint32_t clock) const {
  auto covers = [&](const Clocks &known) {
    return writer < known.fenced.size() &&
           known.fenced[writer].knows(writerLane, clock);
  };
  if (covers(warp.known))
    return true;
  uint32_t lanes = lane < 0 ? warp.extraLanes : warp.extraLanes & 1u << lane;
  for (; lanes; lanes &= lanes - 1)
    if (covers(warp.extra[lowest(lanes)]))
      return true;
  return false;
}

/// bar.warp.sync: the lanes know each other's work and what each of them knew.
void Executor::meetLanes(Warp &warp, uint32_t mask) {
  mask &= liveLanes(warp);
  Clocks met;
  for (uint32_t rest = mask & warp.extraLanes; rest; rest &= rest - 1)
    met.join(warp.extra[lowest(rest)]);
  bool isWhole = !(liveLanes(warp) & ~mask);
  met.at(warp.clusterIndex).join(ownWork(warp.clock, isWhole ? ~0u : mask));
  if (isWhole)
    warp.extraLanes = 0;
  acquireFrom(warp, mask, met);
  ++warp.clock;
}

//===----------------------------------------------------------------------===//
// Fences and strong accesses
//===----------------------------------------------------------------------===//

/// What `known` and the own work of these lanes up to `clock` hand on.
static MessageRef makeMessage(const Warp &warp, uint32_t lanes, Scope scope,
                              Clocks known, uint32_t clock) {
  const Cluster &cluster = *warp.cta->cluster;
  auto message = std::make_shared<Message>();
  message->scope = scope;
  message->cta = warp.cta->linear;
  message->cluster = cluster.linear;
  known.at(warp.clusterIndex).join(ownWork(clock, lanes));
  auto grid = std::make_shared<std::vector<GridEpoch>>();
  size_t perCta = warp.cta->warps.size();
  for (size_t i = 0; i < known.warps.size(); ++i)
    if (!known.warps[i].isEmpty())
      grid->push_back({gridWarp(cluster.ctas[i / perCta]->linear,
                                static_cast<unsigned>(i % perCta)),
                       known.warps[i]});
  std::sort(
      grid->begin(), grid->end(),
      [](const GridEpoch &a, const GridEpoch &b) { return a.warp < b.warp; });
  message->grid = joinGrid(known.grid, grid);
  message->local = std::make_shared<Clocks>(std::move(known));
  return message;
}

static LaneOrder &orderOf(Warp &warp, unsigned lane) {
  if (warp.order.empty())
    warp.order.resize(32);
  return warp.order[lane];
}

/// What a relaxed write behind fences hands on, or a release.
void Executor::takeMessages(Warp &warp, unsigned lane, Scope scope,
                            bool releases, std::vector<MessageRef> &messages) {
  messages.clear();
  if (releases) {
    messages.push_back(makeMessage(warp, 1u << lane, scope,
                                   knowledge(warp, 1u << lane), warp.clock));
    return; // the clock moves on behind the instruction
  }
  if (warp.order.empty())
    return;
  for (unsigned s = 1; s <= static_cast<unsigned>(Scope::Gpu); ++s) {
    LaneOrder::Fence &fence = warp.order[lane].fences[s];
    if (!fence.known)
      continue;
    if (!fence.message)
      fence.message = makeMessage(warp, 1u << lane, static_cast<Scope>(s),
                                  *fence.known, fence.clock);
    if (static_cast<Scope>(s) <= scope) {
      messages.push_back(fence.message);
      continue;
    }
    auto narrower = std::make_shared<Message>(*fence.message);
    narrower->scope = scope;
    messages.push_back(std::move(narrower));
  }
}

/// These lanes acquire a message.
void Executor::acquireMessage(Warp &warp, uint32_t mask,
                              const MessageRef &message) {
  const Cluster &cluster = *warp.cta->cluster;
  auto perCta = static_cast<unsigned>(warp.cta->warps.size());
  learn(warp, mask, [&](Clocks &known) {
    if (message->local && message->cluster == cluster.linear)
      known.join(*message->local);
    GridRef before = known.grid;
    known.grid = joinGrid(known.grid, message->grid);
    if (known.grid == before)
      return;
    // What others knew of this cluster.
    for (const auto &cta : cluster.ctas)
      for (unsigned w = 0; w < perCta; ++w)
        if (const Epoch *epoch =
                findGrid(message->grid, gridWarp(cta->linear, w)))
          known.at(cta->rank * perCta + w).join(*epoch);
  });
}

/// A strong read: acquires at once, or once a fence comes.
void Executor::observe(Warp &warp, unsigned lane, SyncWords &words,
                       uint64_t address, unsigned bytes, Scope scope,
                       bool acquires, Observed &observed) {
  words.read(address, bytes, [&](const MessageRef &message) {
    if (!isHeard(*message, *warp.cta, scope))
      return;
    if (!acquires) {
      noteObserved(warp, lane, message);
      return;
    }
    for (auto &[known, lanes] : observed)
      if (known == message) {
        lanes |= 1u << lane;
        return;
      }
    observed.emplace_back(message, 1u << lane);
  });
}

void Executor::noteObserved(Warp &warp, unsigned lane,
                            const MessageRef &message) {
  std::vector<MessageRef> &list = orderOf(warp, lane).observed;
  if (std::find(list.begin(), list.end(), message) != list.end())
    return;
  constexpr size_t mostObserved = 64;
  if (list.size() >= mostObserved) {
    // Acquired early rather than forgotten.
    for (const MessageRef &old : list)
      acquireMessage(warp, 1u << lane, old);
    list.clear();
  }
  list.push_back(message);
}

void Executor::acquireObserved(Warp &warp, Observed &observed) {
  for (const auto &[message, lanes] : observed) {
    uint32_t left = lanes;
    for (auto &[last, had] : warp.lastMessages)
      if (last == message)
        left &= ~had;
    if (!left)
      continue;
    acquireMessage(warp, left, message);
    // Polling finds the same message again.
    warp.lastMessages[warp.nextMessage++ % 4] = {message, lanes};
  }
  observed.clear();
}

void Executor::execFence(Warp &warp, const Inst &inst, uint32_t mask) {
  const Scope scope = scopeOf(inst);
  if (inst.flags & inst::acquire)
    for (uint32_t rest = mask; rest && !warp.order.empty(); rest &= rest - 1) {
      unsigned lane = lowest(rest);
      std::vector<MessageRef> &list = warp.order[lane].observed;
      for (size_t i = 0; i < list.size();)
        if (isHeard(*list[i], *warp.cta, scope)) {
          acquireMessage(warp, 1u << lane, list[i]);
          list.erase(list.begin() + static_cast<long>(i));
        } else {
          ++i;
        }
    }
  if (inst.sub) { // fence.sc: each comes after all before it
    constexpr uint64_t scAddress = 0;
    std::unique_lock<std::mutex> lock = launch.syncWords.lock(scAddress);
    Observed observed;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      observe(warp, lowest(rest), launch.syncWords, scAddress, 4, scope, true,
              observed);
    acquireObserved(warp, observed);
    launch.syncWords.write(
        scAddress, 4,
        {makeMessage(warp, mask, scope, knowledge(warp, mask), warp.clock)},
        true);
  }
  if (!(inst.flags & inst::release))
    return;
  std::shared_ptr<const Clocks> shared;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    LaneOrder &order = orderOf(warp, lane);
    for (unsigned s = 1; s < static_cast<unsigned>(scope); ++s)
      order.fences[s] = LaneOrder::Fence();
    LaneOrder::Fence &fence = order.fences[static_cast<unsigned>(scope)];
    fence.message.reset();
    fence.clock = warp.clock;
    if (warp.extraLanes >> lane & 1) {
      fence.known = std::make_shared<Clocks>(knowledge(warp, 1u << lane));
      continue;
    }
    if (!shared)
      shared = std::make_shared<Clocks>(warp.known);
    fence.known = shared;
  }
  ++warp.clock;
}

/// A relaxed arrival hands on what fences of at least this scope came after.
void Executor::releaseFenced(Warp &warp, uint32_t mask, Scope least,
                             Clocks &to) {
  if (warp.order.empty())
    return;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    for (auto s = static_cast<unsigned>(least);
         s <= static_cast<unsigned>(Scope::Gpu); ++s) {
      const LaneOrder::Fence &fence = warp.order[lane].fences[s];
      if (!fence.known)
        continue;
      to.join(*fence.known);
      to.at(warp.clusterIndex).join(ownWork(fence.clock, 1u << lane));
    }
  }
}

/// A relaxed wait: a fence acquires what the barrier knows.
void Executor::observeBarrier(Warp &warp, unsigned lane, const Cta &owner,
                              const Clocks &completed) {
  auto message = std::make_shared<Message>();
  message->scope = Scope::Cluster;
  message->cta = owner.linear;
  message->cluster = owner.cluster->linear;
  message->local = std::make_shared<Clocks>(completed);
  message->grid = completed.grid;
  noteObserved(warp, lane, message);
}

/// Two strong accesses whose scopes reach each other are no race.
bool Executor::areMorallyStrong(const Warp &warp, Scope strength,
                                uint32_t otherCta, Scope otherStrength) const {
  if (strength == Scope::None || otherStrength == Scope::None)
    return false;
  Scope narrower = std::min(strength, otherStrength);
  if (narrower == Scope::Gpu)
    return true;
  const Cta &cta = *warp.cta;
  if ((cta.linear & gridCtaMask) == otherCta)
    return true;
  if (narrower == Scope::Cta)
    return false;
  for (const auto &own : cta.cluster->ctas)
    if ((own->linear & gridCtaMask) == otherCta)
      return true;
  return false;
}

} // namespace backfuse::emulator
