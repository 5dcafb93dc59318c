//===- Shadow.h - What checks know about memory and order -------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Each four bytes of shared memory have a state: which bytes hold a value, who
// wrote them last and when, whether an asynchronous copy is about to write them
// or still reads them. "When" is the writer's clock; a warp knows up to which
// clock the others' work is ordered before its own (a vector clock), through
// the barriers that it passed. Device memory has the same per four bytes, with
// CTAs for warps.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_SHADOW_H
#define BACKFUSE_RUNTIME_EMULATOR_SHADOW_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace backfuse::emulator {

namespace shadow {
constexpr uint64_t initMask = 0xf; ///< bytes that hold a value
constexpr unsigned writeShift = 4; ///< bytes of the last write
constexpr unsigned warpShift = 8;  ///< in the cluster, 9 bits
constexpr unsigned laneShift = 17;
constexpr uint64_t hasWriter = uint64_t(1) << 22; ///< by ordinary stores
/// By a copy: "warp" is its mbarrier, the clock its phase.
constexpr uint64_t hasCopier = uint64_t(1) << 23;
constexpr uint64_t inFlight = uint64_t(1) << 24; ///< a copy will write here
constexpr uint64_t isBarrier = uint64_t(1) << 25;
constexpr unsigned readersShift = 26; ///< asynchronous readers, 8 bits
constexpr uint64_t readersMask = uint64_t(0xff) << readersShift;
constexpr uint64_t oneReader = uint64_t(1) << readersShift;
constexpr unsigned clockShift = 34;
constexpr uint32_t lastClock = (1u << 30) - 1;
inline unsigned warpOf(uint64_t word) { return word >> warpShift & 0x1ff; }
inline unsigned laneOf(uint64_t word) { return word >> laneShift & 31; }
inline uint32_t clockOf(uint64_t word) {
  return static_cast<uint32_t>(word >> clockShift);
}
} // namespace shadow

/// Of a CTA's shared memory.
struct SharedShadow {
  std::vector<uint64_t> words; ///< per 4 bytes
  std::vector<uint32_t> sites; ///< the instruction that the word is about
};

/// Up to which clock the work of others is known to be done: of the cluster's
/// warps, and of other CTAs of the grid where it was learnt through device
/// memory.
struct Clocks {
  std::vector<uint32_t> warps; ///< and, behind them, phases of mbarriers
  std::map<uint32_t, uint32_t> ctas;
  /// Tensor memory: of each warp its loads, its stores and its asynchronous
  /// work (products, copies) that are known to be complete; or empty.
  std::vector<uint32_t> tensor;
  /// Up to which clock stores of the cluster's warps lie before a proxy fence
  /// that is known: a fence covers all that its thread knows, whoever wrote it.
  std::vector<uint32_t> fenced;

  bool knows(unsigned index, uint32_t clock) const {
    return index < warps.size() && warps[index] >= clock;
  }
  void join(const Clocks &other, bool withCtas) {
    if (warps.size() < other.warps.size())
      warps.resize(other.warps.size(), 0);
    for (size_t i = 0; i < other.warps.size(); ++i)
      warps[i] = std::max(warps[i], other.warps[i]);
    joinTensor(other.tensor);
    joinFenced(other.fenced);
    if (withCtas)
      joinCtas(other.ctas);
  }
  void joinTensor(const std::vector<uint32_t> &other) {
    if (tensor.size() < other.size())
      tensor.resize(other.size(), 0);
    for (size_t i = 0; i < other.size(); ++i)
      tensor[i] = std::max(tensor[i], other[i]);
  }
  void joinFenced(const std::vector<uint32_t> &other) {
    if (fenced.size() < other.size())
      fenced.resize(other.size(), 0);
    for (size_t i = 0; i < other.size(); ++i)
      fenced[i] = std::max(fenced[i], other[i]);
  }
  void joinCtas(const std::map<uint32_t, uint32_t> &other) {
    for (auto [cta, clock] : other) {
      uint32_t &mine = ctas[cta];
      mine = std::max(mine, clock);
    }
  }
};

/// What is known at an mbarrier.
struct MbarrierClocks {
  Clocks arrived;   ///< joined at each arrival
  Clocks completed; ///< `arrived` when the last phase was completed
  unsigned initWarp = 0, initLane = 0;
  uint32_t initClock = 0;
  uint32_t initSite = 0;
  unsigned index = 0;  ///< in Clocks::warps
  uint32_t phases = 0; ///< completed
};

/// Words of device memory through which CTAs synchronise.
class SyncWords {
public:
  void release(uint64_t address, const std::map<uint32_t, uint32_t> &clocks) {
    Shard &shard = shards[address / 4 % 64];
    std::lock_guard<std::mutex> lock(shard.mutex);
    std::map<uint32_t, uint32_t> &word = shard.words[address];
    for (auto [cta, clock] : clocks) {
      uint32_t &there = word[cta];
      there = std::max(there, clock);
    }
  }
  void acquire(uint64_t address, std::map<uint32_t, uint32_t> &clocks) {
    Shard &shard = shards[address / 4 % 64];
    std::lock_guard<std::mutex> lock(shard.mutex);
    auto found = shard.words.find(address);
    if (found == shard.words.end())
      return;
    for (auto [cta, clock] : found->second) {
      uint32_t &mine = clocks[cta];
      mine = std::max(mine, clock);
    }
  }

private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, std::map<uint32_t, uint32_t>> words;
  };
  Shard shards[64];
};

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_SHADOW_H
