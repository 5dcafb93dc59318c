//===- Order.h - What threads know of each other ----------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Vector clocks for the causality order of PTX's memory model. Each warp has a
// clock, which moves on at each of its releases; an access happens at its
// warp's clock, by a lane. What a lane knows is, for each warp, up to which
// clock that warp's lanes came before it: for all lanes alike, and for some
// lanes a later clock (one lane released without its warp). Where two such
// later clocks meet, the later one is taken for both sets of lanes: a race may
// be missed by that, none is made up.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_ORDER_H
#define BACKFUSE_RUNTIME_EMULATOR_ORDER_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace backfuse::emulator {

/// Whom a strong access or a fence can order. Sys is Gpu here.
enum class Scope : uint8_t { None, Cta, Cluster, Gpu };

/// What is known of one warp.
struct Epoch {
  uint32_t all = 0;  ///< of all its lanes
  uint32_t some = 0; ///< of those in `mask`
  uint32_t mask = 0;

  bool knows(unsigned lane, uint32_t clock) const {
    return clock <= all || (clock <= some && (mask >> lane & 1));
  }
  bool knowsAny(uint32_t clock) const { return clock <= std::max(all, some); }
  bool isEmpty() const { return all == 0 && some == 0; }
  bool operator==(const Epoch &other) const {
    return all == other.all && some == other.some && mask == other.mask;
  }
  void join(const Epoch &other) {
    all = std::max(all, other.all);
    if (other.some > all) {
      mask = some > all ? mask | other.mask : other.mask;
      some = std::max(some, other.some);
    }
    if (mask == ~0u)
      all = std::max(all, some);
    if (some <= all)
      some = mask = 0;
  }
};

/// Of warps anywhere in the grid, by their number. Never changed once made.
struct GridEpoch {
  uint32_t warp; ///< see gridWarp
  Epoch epoch;
};
using GridRef = std::shared_ptr<const std::vector<GridEpoch>>;
/// One of the two if that holds all.
GridRef joinGrid(const GridRef &a, const GridRef &b);
const Epoch *findGrid(const GridRef &grid, uint32_t warp);

constexpr uint32_t gridCtaMask = 0xfffff;
inline uint32_t gridWarp(uint32_t cta, unsigned warp) {
  return (cta & gridCtaMask) << 5 | (warp & 31);
}

/// What is known at a place in a cluster: of its warps, of the phases of its
/// mbarriers (and so of what copies wrote), of the rest of the grid.
struct Clocks {
  std::vector<Epoch> warps;
  std::vector<uint32_t> phases;
  GridRef grid;
  /// Tensor memory: of each warp its loads, its stores and its asynchronous
  /// work (products, copies) that are known to be complete; or empty.
  std::vector<uint32_t> tensor;
  /// What of the cluster's warps lies before a proxy fence that is known: a
  /// fence covers all that its thread knows, whoever wrote it.
  std::vector<Epoch> fenced;

  bool knows(unsigned warp, unsigned lane, uint32_t clock) const {
    return warp < warps.size() && warps[warp].knows(lane, clock);
  }
  bool knowsAny(unsigned warp, uint32_t clock) const {
    return warp < warps.size() && warps[warp].knowsAny(clock);
  }
  bool knowsPhase(unsigned index, uint32_t phase) const {
    return index < phases.size() && phases[index] >= phase;
  }
  Epoch &at(unsigned warp) {
    if (warps.size() <= warp)
      warps.resize(warp + 1);
    return warps[warp];
  }
  void join(const Clocks &other);
  void joinTensor(const std::vector<uint32_t> &other);
};

/// What a release pattern hands on with the value that it writes.
struct Message {
  static constexpr uint32_t several = ~0u;
  Scope scope = Scope::None;
  uint32_t cta = 0; ///< that released, linear in the grid; or `several`
  uint32_t cluster = 0;
  std::shared_ptr<const Clocks> local; ///< for acquirers in that cluster
  GridRef grid;                        ///< for others
};
using MessageRef = std::shared_ptr<const Message>;

/// The words through which threads synchronise: with each goes what the last
/// write of it released, and the read-modify-writes since.
class SyncWords {
public:
  /// Held from the access to the messages, so that both are one step.
  std::unique_lock<std::mutex> lock(uint64_t address) {
    return std::unique_lock<std::mutex>(shardOf(address).mutex);
  }
  /// With the lock: what a read of these bytes may acquire.
  template <class F> void read(uint64_t address, unsigned bytes, F f) {
    Shard &shard = shardOf(address);
    if (shard.words.empty())
      return;
    for (uint64_t w = address / 4; w <= (address + bytes - 1) / 4; ++w) {
      auto found = shard.words.find(w);
      if (found != shard.words.end())
        for (const MessageRef &message : found->second)
          f(message);
    }
  }
  /// With the lock: a write; `continues`: it is a read-modify-write.
  void write(uint64_t address, unsigned bytes,
             const std::vector<MessageRef> &messages, bool continues);

private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, std::vector<MessageRef>> words;
  };
  Shard &shardOf(uint64_t address) { return shards[address / 32 % 64]; }
  Shard shards[64];
};

/// Of one lane: what its fences and relaxed accesses have prepared.
struct LaneOrder {
  /// By scope: what was known at the last fence of this scope; none if a wider
  /// one came later.
  struct Fence {
    std::shared_ptr<const Clocks> known;
    uint32_t clock = 0;
    MessageRef message; ///< once a relaxed write needed it
  };
  Fence fences[4];
  /// Read by relaxed accesses; a fence acquires them.
  std::vector<MessageRef> observed;
};

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_ORDER_H
