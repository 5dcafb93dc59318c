//===- Shadow.h - What checks know about memory and order -------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Each four bytes of shared memory have a state: which bytes hold a value, who
// wrote them last and when, who read them last, whether an asynchronous copy is
// about to write them or still reads them. "When" is the clock of Order.h.
// Device memory has the last writer per four bytes.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_SHADOW_H
#define BACKFUSE_RUNTIME_EMULATOR_SHADOW_H

#include "runtime/emulator/Order.h"

#include <cstdint>
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
constexpr unsigned strengthShift = 34; ///< of the last write: a Scope
constexpr unsigned clockShift = 36;
constexpr uint32_t lastClock = (1u << 28) - 1;
inline unsigned warpOf(uint64_t word) { return word >> warpShift & 0x1ff; }
inline unsigned laneOf(uint64_t word) { return word >> laneShift & 31; }
inline uint32_t clockOf(uint64_t word) {
  return static_cast<uint32_t>(word >> clockShift);
}
inline Scope strengthOfWord(uint64_t word) {
  return static_cast<Scope>(word >> strengthShift & 3);
}

// The last ordinary read: warp and lane at the same places, the bytes in
// initMask, the instruction between lane and clock.
constexpr unsigned readSiteShift = 22;
constexpr uint32_t lastReadSite = (1u << 14) - 1;
inline uint32_t readSiteOf(uint64_t word) {
  return word >> readSiteShift & lastReadSite;
}

// Device memory: launch (8 bits, 0: nobody), bytes of the last write (4), CTA
// (20), warp (5), lane (5), strength (2), clock (20).
constexpr uint32_t lastGlobalClock = 0xfffff;
constexpr unsigned numLaunchIds = 255;
} // namespace shadow

/// Of a CTA's shared memory.
struct SharedShadow {
  std::vector<uint64_t> words; ///< per 4 bytes
  std::vector<uint32_t> sites; ///< the instruction that the word is about
  std::vector<uint64_t> reads; ///< the last one since the last write; 0: none
};

/// What is known at an mbarrier: through arrivals of its own CTA, and of others
/// with a scope that reaches it.
struct MbarrierClocks {
  Clocks arrived[2];   ///< joined at each arrival
  Clocks completed[2]; ///< `arrived` when the last phase was completed
  unsigned initWarp = 0, initLane = 0;
  uint32_t initClock = 0;
  uint32_t initSite = 0;
  bool isInitKnown = false; ///< by fence.mbarrier_init and a cluster barrier
  unsigned index = 0;       ///< in Clocks::phases
  uint32_t phases = 0;      ///< completed
  /// A warp's lanes that saw a phase complete.
  struct Seen {
    unsigned warp;      ///< in the cluster
    uint32_t lanes = 0; ///< since they last met, or all that did
    uint32_t phase = 0;
    uint32_t clock = 0;
    uint32_t metAt = 0; ///< when they met behind it; 0: not yet
    uint32_t inst = 0;
  };
  std::vector<Seen> seen; ///< one a warp
  /// A warp's lanes that arrived in a phase, and in the one in which some
  /// arrived before.
  struct Arrived {
    unsigned warp; ///< in the cluster
    uint32_t phase = 0, lanes = 0;
    uint32_t lastPhase = 0, lastLanes = 0;
  };
  std::vector<Arrived> arrivals; ///< one a warp
};

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_SHADOW_H
