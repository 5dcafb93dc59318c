//===- Async.cpp - Copies that complete later -----------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// A copy is issued into its cluster's queue and completes when the order of
// the launch says so. Loads read and write at completion; stores have two
// steps, reading shared memory and writing device memory, since programs wait
// for them separately (cp.async.bulk.wait_group.read). Nothing is done at
// issue, so that a program that does not wait works on old values.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

#include <algorithm>

namespace backfuse::emulator {

constexpr uint32_t offsetMask = (1u << clusterRankShift) - 1;

static Cta *ctaOf(Cluster &cluster, uint32_t address) {
  uint32_t rank = address >> clusterRankShift;
  return rank < cluster.ctas.size() ? cluster.ctas[rank].get() : nullptr;
}

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

static LaneGroups &groupsOf(Warp &warp, unsigned lane) {
  if (warp.groups.empty())
    warp.groups.resize(32);
  return warp.groups[lane];
}

std::unique_ptr<Copy> makeCopy(CopyKind kind, Warp &warp, const Inst &inst,
                               unsigned lane) {
  auto copy = std::make_unique<Copy>();
  copy->kind = kind;
  copy->cta = warp.cta;
  copy->warp = &warp;
  copy->lane = lane;
  copy->inst = &inst;
  return copy;
}

/// The kind of copy that an instruction issues. (A prefetch, checked like a
/// load, issues none.)
static CopyKind kindOf(Op op) {
  switch (op) {
  case Op::TensorStore:
    return CopyKind::TensorStore;
  case Op::TensorReduce:
    return CopyKind::TensorReduce;
  case Op::BulkLoad:
    return CopyKind::BulkLoad;
  case Op::BulkStore:
    return CopyKind::BulkStore;
  case Op::BulkReduce:
    return CopyKind::BulkReduce;
  case Op::BulkShared:
    return CopyKind::BulkShared;
  default:
    return CopyKind::TensorLoad;
  }
}

bool Executor::issueCopy(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  Cluster &cluster = *warp.cta->cluster;
  if (inst.op == Op::BulkCommit) {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      ++groupsOf(warp, lowest(rest)).bulkGroup;
      groupsOf(warp, lowest(rest)).bulkOpen = false;
    }
    return true;
  }
  bool isTensor = inst.op == Op::TensorLoad || inst.op == Op::TensorStore ||
                  inst.op == Op::TensorReduce || inst.op == Op::TensorPrefetch;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    auto laneIndex = static_cast<int>(lane);
    auto copy = makeCopy(kindOf(inst.op), warp, inst, lane);
    copy->reduce = static_cast<AtomicOp>(inst.sub);
    copy->type = inst.type;
    copy->overlaps = checks && mayOverlap(warp);
    auto toShared = [&](uint64_t address) {
      return static_cast<uint32_t>(address);
    };
    auto barrierAt = [&](const Ref &ref) {
      copy->barrier = toShared(
          addressOf(warp, ref, lane, static_cast<int32_t>(inst.target)));
      copy->hasBarrier = true;
      if (copy->barrier % 8) {
        fail(warp, inst, laneIndex,
             "mbarrier address " + hex(copy->barrier) +
                 " is not a multiple of 8");
        return false;
      }
      return sharedBytes(warp, inst, laneIndex, copy->barrier, 8, true,
                         "mbarrier") != nullptr;
    };
    auto checkShared = [&](uint64_t bytes, uint32_t align) {
      if (copy->shared % align) {
        fail(warp, inst, laneIndex,
             "shared address " + hex(copy->shared) + " is not a multiple of " +
                 std::to_string(align));
        return false;
      }
      return sharedBytes(warp, inst, laneIndex, copy->shared, bytes, true,
                         "bulk copy") != nullptr;
    };

    if (isTensor) {
      uint64_t mapAddress = addressOf(warp, refs[1], lane, 0);
      if (mapAddress % 64) {
        fail(warp, inst, laneIndex,
             "tensor map address " + hex(mapAddress) +
                 " is not a multiple of 64");
        return false;
      }
      uint8_t bytes[128];
      uint64_t window = mapAddress & windowMask,
               offset = mapAddress & ~windowMask;
      if (window == paramWindow && offset + 128 <= launch.params.size()) {
        std::memcpy(bytes, launch.params.data() + offset, 128);
      } else if (window == localWindow || window == sharedWindow ||
                 window == paramWindow) {
        fail(warp, inst, laneIndex,
             "the tensor map is at " + hex(mapAddress) +
                 ", neither in a kernel parameter nor in global memory");
        return false;
      } else {
        const uint8_t *data = launch.memory->at(mapAddress, 128);
        if (!data) {
          fail(warp, inst, laneIndex,
               "the tensor map's address " + hex(mapAddress) +
                   " is out of bounds: " + launch.memory->describe(mapAddress));
          return false;
        }
        copyFromShared(bytes, data, 128);
      }
      if (Error error = decodeTiled(bytes, copy->map)) {
        fail(warp, inst, laneIndex, error.text());
        return false;
      }
      if (copy->map.rank != inst.count) {
        fail(warp, inst, laneIndex,
             "the instruction has " + std::to_string(inst.count) +
                 " dimensions, but the tensor map " +
                 std::to_string(copy->map.rank));
        return false;
      }
      for (unsigned i = 0; i < inst.count; ++i)
        copy->coordinates[i] =
            static_cast<int32_t>(value(warp, refs[4 + i], lane));
      if (inst.op == Op::TensorPrefetch)
        continue;
      copy->bytes = boxBytes(copy->map);
      copy->shared = toShared(addressOf(warp, refs[0], lane, inst.imm));
      if (!checkShared(copy->bytes, 128))
        return false;
      if (inst.op == Op::TensorLoad) {
        if (!barrierAt(refs[2]))
          return false;
        if (refs[3].kind != Ref::None)
          copy->multicast = static_cast<uint16_t>(value(warp, refs[3], lane));
        copy->isPair = inst.laneFlags & tensor::pair;
      } else {
        for (unsigned i = 0; i < inst.count; ++i)
          if (copy->coordinates[i] < 0) {
            fail(warp, inst, laneIndex,
                 "coordinate " + std::to_string(i) +
                     " of a store is negative: " +
                     std::to_string(copy->coordinates[i]));
            return false;
          }
        if (copy->shared >> clusterRankShift != warp.cta->rank) {
          fail(warp, inst, laneIndex,
               "the source of a bulk store is in another CTA's shared memory");
          return false;
        }
      }
    } else if (inst.op == Op::BulkPrefetch) {
      continue;
    } else {
      copy->bytes = value(warp, refs[2], lane);
      if (copy->bytes % 16) {
        fail(warp, inst, laneIndex,
             "expects bytes that are a multiple of 16, but got " +
                 std::to_string(copy->bytes));
        return false;
      }
      uint64_t to = addressOf(warp, refs[0], lane, inst.imm),
               from = addressOf(warp, refs[1], lane,
                                static_cast<int32_t>(inst.laneFlags));
      bool toGlobal = inst.op == Op::BulkStore || inst.op == Op::BulkReduce;
      copy->shared = toShared(toGlobal ? from : to);
      copy->global = toGlobal ? to : from;
      if (!checkShared(copy->bytes, 16))
        return false;
      if (inst.op == Op::BulkShared) {
        copy->otherShared = toShared(from);
        if (!sharedBytes(warp, inst, laneIndex, copy->otherShared, copy->bytes,
                         false, "bulk copy"))
          return false;
      } else {
        if (copy->global % 16) {
          fail(warp, inst, laneIndex,
               "global address " + hex(copy->global) +
                   " is not a multiple of 16");
          return false;
        }
        Allocation *allocation = nullptr;
        if (!launch.memory->at(copy->global, copy->bytes, &allocation) ||
            (toGlobal && allocation->isReadOnly)) {
          fail(warp, inst, laneIndex,
               "bulk copy of " + std::to_string(copy->bytes) +
                   " bytes at address " + hex(copy->global) +
                   " is out of bounds or read-only: " +
                   launch.memory->describe(copy->global));
          return false;
        }
      }
      if (refs[3].kind != Ref::None && !barrierAt(refs[3]))
        return false;
      if (refs[4].kind != Ref::None)
        copy->multicast = static_cast<uint16_t>(value(warp, refs[4], lane));
    }
    if (copy->multicast >> cluster.ctas.size()) {
      fail(warp, inst, laneIndex,
           "multicast mask " + hex(copy->multicast) +
               " names CTAs outside the cluster of " +
               std::to_string(cluster.ctas.size()));
      return false;
    }
    unsigned shift = clusterRankShift + (copy->isPair ? 1 : 0);
    if (copy->isPair && cluster.ctas.size() % 2) {
      fail(warp, inst, laneIndex,
           ".cta_group::2 needs clusters of an even number of CTAs, but the "
           "launch has clusters of " +
               std::to_string(cluster.ctas.size()));
      return false;
    }
    if (copy->hasBarrier && !copy->multicast &&
        copy->barrier >> shift != copy->shared >> shift) {
      fail(warp, inst, laneIndex,
           "the mbarrier " + hex(copy->barrier) + " and the destination " +
               hex(copy->shared) + " are in different " +
               (copy->isPair ? "pairs of CTAs"
                             : "CTAs, which needs .cta_group::2"));
      return false;
    }
    if (!copy->hasBarrier) {
      copy->group = groupsOf(warp, lane).bulkGroup;
      groupsOf(warp, lane).bulkOpen = true;
    }
    if (checks && !checkCopyIssue(warp, *copy))
      return false;
    ++cluster.progress;
    cluster.copies.push_back(std::move(copy));
  }
  return true;
}

/// The CTAs whose shared memory a copy writes.
static uint32_t destinations(const Copy &copy) {
  return copy.multicast ? copy.multicast
                        : 1u << (copy.shared >> clusterRankShift);
}

bool Executor::checkCopyIssue(Warp &warp, const Copy &copy) {
  Cluster &cluster = *warp.cta->cluster;
  const auto lane = static_cast<int>(copy.lane);
  const auto bytes = static_cast<uint32_t>(copy.bytes);
  if (!bytes)
    return true;
  bool readsShared = !copy.hasBarrier || copy.kind == CopyKind::BulkShared;
  if (readsShared) {
    uint32_t from =
        copy.kind == CopyKind::BulkShared ? copy.otherShared : copy.shared;
    // What a tensor map drops may hold anything.
    bool mustBeWritten = copy.kind != CopyKind::TensorStore &&
                         copy.kind != CopyKind::TensorReduce;
    if (!checkAsyncRead(warp, *copy.inst, lane, *warp.cta, from & offsetMask,
                        bytes, true, mustBeWritten))
      return false;
  }
  if (!copy.hasBarrier)
    return true;
  for (uint32_t rest = destinations(copy); rest; rest &= rest - 1) {
    Cta &cta = *cluster.ctas[lowest(rest)];
    if (!checkMbarrier(warp, *copy.inst, lane,
                       *cluster.ctas[copy.barrierRank(cta.rank)],
                       copy.barrier & offsetMask, true) ||
        !checkAsyncWrite(warp, *copy.inst, lane, cta, copy.shared & offsetMask,
                         bytes))
      return false;
  }
  return true;
}

/// st.async, red.async: the values are taken when it is issued, an mbarrier is
/// credited when they are there. Generic accesses: no proxy fence is needed.
bool Executor::issueStoreAsync(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  Cluster &cluster = *warp.cta->cluster;
  const unsigned bytes = byteSize(inst.type), total = bytes * inst.count;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    auto laneIndex = static_cast<int>(lane);
    auto copy = makeCopy(CopyKind::StoreAsync, warp, inst, lane);
    copy->bytes = total;
    copy->reduce = static_cast<AtomicOp>(inst.sub);
    copy->type = inst.type;
    copy->shared =
        static_cast<uint32_t>(addressOf(warp, refs[0], lane, inst.imm));
    copy->barrier = static_cast<uint32_t>(
        addressOf(warp, refs[1], lane, static_cast<int32_t>(inst.target)));
    copy->hasBarrier = true;
    if (copy->shared % total || copy->barrier % 8) {
      fail(warp, inst, laneIndex,
           "shared address " + hex(copy->shared) + " or mbarrier " +
               hex(copy->barrier) + " is misaligned");
      return false;
    }
    Cta *owner = nullptr;
    if (!sharedBytes(warp, inst, laneIndex, copy->shared, total, true,
                     "asynchronous store", &owner) ||
        !sharedBytes(warp, inst, laneIndex, copy->barrier, 8, true, "mbarrier"))
      return false;
    if (copy->barrier >> clusterRankShift != copy->shared >> clusterRankShift) {
      fail(warp, inst, laneIndex,
           "the mbarrier " + hex(copy->barrier) + " and the destination " +
               hex(copy->shared) + " are in different CTAs");
      return false;
    }
    copy->data.resize(total);
    for (unsigned i = 0; i < inst.count; ++i) {
      uint64_t bits = value(warp, refs[2 + i], lane);
      std::memcpy(copy->data.data() + i * bytes, &bits, bytes);
    }
    if (checks) {
      uint32_t offset = copy->shared & offsetMask;
      bool isReduce = copy->reduce != AtomicOp::Exch;
      if (!checkMbarrier(warp, inst, laneIndex, *owner,
                         copy->barrier & offsetMask, false))
        return false;
      if (isReduce) {
        // Reductions of several threads commute.
        if (!checkSharedRead(warp, inst, laneIndex, *owner, offset, total,
                             Scope::Cluster))
          return false;
      } else {
        if (!checkSharedWrite(warp, inst, laneIndex, *owner, offset, total,
                              Scope::None))
          return false;
        for (uint32_t w = offset / 4; w < (offset + total) / 4; ++w)
          owner->shadow->words[w] &= shadow::initMask;
        if (!checkAsyncWrite(warp, inst, laneIndex, *owner, offset, total))
          return false;
      }
    }
    ++cluster.progress;
    cluster.copies.push_back(std::move(copy));
  }
  return true;
}

bool Executor::issueCpAsync(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  Cluster &cluster = *warp.cta->cluster;
  if (inst.op == Op::CpAsyncCommit) {
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      ++groupsOf(warp, lowest(rest)).cpGroup;
    return true;
  }
  if (inst.op == Op::CpAsyncMbarrier) {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = lowest(rest);
      auto copy = makeCopy(CopyKind::CpArrive, warp, inst, lane);
      copy->sequence = warp.cpSequence++;
      copy->mask = 1u << lane;
      copy->otherShared =
          static_cast<uint32_t>(addressOf(warp, refs[0], lane, inst.imm));
      if (!sharedBytes(warp, inst, static_cast<int>(lane), copy->otherShared, 8,
                       false, "mbarrier"))
        return false;
      uint32_t offset = copy->otherShared & offsetMask;
      uint64_t bits = readMbarrier(*warp.cta, offset);
      if (!mbarrier::isValid(bits)) {
        fail(warp, inst, static_cast<int>(lane),
             "no mbarrier was initialised at shared address " +
                 hex(copy->otherShared));
        return false;
      }
      // Without .noinc the pending count grows by the arrival that will come.
      if (!(inst.flags & inst::noInc))
        writeMbarrier(*warp.cta, offset,
                      mbarrier::make(
                          mbarrier::pending(bits) + 1, mbarrier::expected(bits),
                          mbarrier::tx(bits), mbarrier::parity(bits)));
      cluster.copies.push_back(std::move(copy));
    }
    ++cluster.progress;
    return true;
  }
  auto copy = makeCopy(CopyKind::CpAsync, warp, inst, lowest(mask));
  copy->sequence = warp.cpSequence++;
  copy->mask = mask;
  copy->laneGlobal.resize(32);
  copy->laneShared.resize(32);
  copy->laneBytes.resize(32);
  copy->bytes = inst.count;
  copy->group = groupsOf(warp, lowest(mask)).cpGroup;
  uint32_t ignore = inst.sub == 2 ? predicate(warp, refs[2]) : 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    auto laneIndex = static_cast<int>(lane);
    if (groupsOf(warp, lane).cpGroup != copy->group) {
      fail(warp, inst, laneIndex,
           "lanes of one warp have committed different numbers of cp.async "
           "groups, which the emulator does not support");
      return false;
    }
    uint64_t to = addressOf(warp, refs[0], lane, inst.imm);
    uint64_t from =
        addressOf(warp, refs[1], lane, static_cast<int32_t>(inst.target));
    uint64_t bytes =
        inst.sub == 1
            ? std::min<uint64_t>(value(warp, refs[2], lane), inst.count)
        : (ignore >> lane) & 1 ? 0
                               : inst.count;
    if ((to & windowMask) == sharedWindow)
      to = static_cast<uint32_t>(to);
    if (to % inst.count || from % inst.count) {
      fail(warp, inst, laneIndex,
           "addresses " + hex(to) + " and " + hex(from) +
               " are not both multiples of " + std::to_string(inst.count));
      return false;
    }
    if (!sharedBytes(warp, inst, laneIndex, to, inst.count, false, "cp.async"))
      return false;
    if (bytes && !launch.memory->at(from, bytes)) {
      fail(warp, inst, laneIndex,
           "cp.async of " + std::to_string(bytes) + " bytes at address " +
               hex(from) +
               " is out of bounds: " + launch.memory->describe(from));
      return false;
    }
    if (checks) {
      // Overwritten as by a store, and in flight until it completes.
      auto offset = static_cast<uint32_t>(to & offsetMask);
      if (!checkSharedWrite(warp, inst, laneIndex, *warp.cta, offset,
                            inst.count, Scope::None))
        return false;
      for (uint32_t w = offset / 4; w < (offset + inst.count) / 4; ++w)
        warp.cta->shadow->words[w] |= shadow::inFlight;
    }
    copy->laneGlobal[lane] = from;
    copy->laneShared[lane] = static_cast<uint32_t>(to);
    copy->laneBytes[lane] = static_cast<uint32_t>(bytes);
  }
  ++cluster.progress;
  cluster.copies.push_back(std::move(copy));
  return true;
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

static bool isCpAsync(const Copy &copy) {
  return copy.kind == CopyKind::CpAsync || copy.kind == CopyKind::CpArrive;
}

/// Whether a store's group is what a wait below `limit` waits for.
static bool holdsBulkWait(const Copy &copy, const Warp &warp, unsigned lane,
                          uint64_t limit, bool readOnly) {
  return copy.warp == &warp && copy.lane == lane && !copy.hasBarrier &&
         !isCpAsync(copy) && copy.group < limit && !(readOnly && copy.isRead);
}

bool Executor::bulkWait(Warp &warp, Fragment &fragment, const Inst &inst,
                        uint32_t mask) {
  if (warp.groups.empty())
    return true;
  bool readOnly = inst.flags & inst::readOnly;
  auto keep = static_cast<uint64_t>(inst.imm);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    uint64_t committed = warp.groups[lane].bulkGroup;
    uint64_t limit = committed > keep ? committed - keep : 0;
    for (const auto &copy : warp.cta->cluster->copies)
      if (holdsBulkWait(*copy, warp, lane, limit, readOnly)) {
        fragment.wait = Wait::BulkGroup;
        fragment.key = limit << 6 | lane << 1 | (readOnly ? 1 : 0);
        return false;
      }
  }
  return true;
}

bool Executor::cpAsyncWait(Warp &warp, Fragment &fragment, const Inst &inst,
                           uint32_t mask) {
  if (warp.groups.empty())
    return true;
  uint64_t limit = ~uint64_t(0);
  if (inst.imm >= 0) {
    limit = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      uint64_t committed = warp.groups[lowest(rest)].cpGroup;
      limit = std::max<uint64_t>(
          limit, committed > static_cast<uint64_t>(inst.imm)
                     ? committed - static_cast<uint64_t>(inst.imm)
                     : 0);
    }
  }
  for (const auto &copy : warp.cta->cluster->copies)
    if (copy->kind == CopyKind::CpAsync && copy->warp == &warp &&
        copy->group < limit && (copy->mask & mask)) {
      fragment.wait = Wait::CpAsyncGroup;
      fragment.key = limit;
      return false;
    }
  if (checks)
    learnCpAsync(warp, mask, limit, ~uint64_t(0));
  return true;
}

//===----------------------------------------------------------------------===//
// Completion
//===----------------------------------------------------------------------===//

/// Calls f(shared offset of the row in the box, device address of element 0 of
/// the row, first and last element inside the tensor); rows that lie outside
/// have first == last.
template <class F> bool Executor::forEachRow(const Copy &copy, F f) {
  const TensorMapParams &map = copy.map;
  unsigned elementBytes = mapElementBytes(map.type);
  uint32_t at[5] = {0, 0, 0, 0, 0};
  uint32_t rowBytes = map.box[0] * elementBytes;
  uint64_t rows = 1;
  for (unsigned i = 1; i < map.rank; ++i)
    rows *= map.box[i];
  int64_t start = copy.coordinates[0];
  auto clip = [&](int64_t v) {
    return static_cast<uint32_t>(
        std::max<int64_t>(0, std::min<int64_t>(v, map.box[0])));
  };
  uint32_t first = clip(-start),
           last = clip(static_cast<int64_t>(map.sizes[0]) - start);
  for (uint64_t row = 0; row < rows; ++row) {
    bool inside = first < last;
    uint64_t address =
        map.address +
        static_cast<uint64_t>(start * static_cast<int64_t>(elementBytes));
    for (unsigned i = 1; i < map.rank; ++i) {
      int64_t c = int64_t(copy.coordinates[i]) + at[i];
      inside &= c >= 0 && c < static_cast<int64_t>(map.sizes[i]);
      address += static_cast<uint64_t>(c) * map.strides[i - 1];
    }
    if (!f(static_cast<uint32_t>(row) * rowBytes, address, inside ? first : 0,
           inside ? last : 0))
      return false;
    for (unsigned i = 1; i < map.rank; ++i) {
      if (++at[i] < map.box[i])
        break;
      at[i] = 0;
    }
  }
  return true;
}

static void fillOutside(uint8_t *to, uint32_t bytes, MapType type, bool nan) {
  if (!nan) {
    std::memset(to, 0, bytes);
    return;
  }
  unsigned elementBytes = mapElementBytes(type);
  for (uint32_t i = 0; i < bytes; ++i)
    to[i] = i % elementBytes == elementBytes - 1 ? 0x7f : 0xff;
}

/// What the map's type does to values on their way.
static void convertElements(uint8_t *data, uint32_t bytes, MapType type) {
  bool isTf32 = type == MapType::TFloat32 || type == MapType::TFloat32Ftz;
  bool ftz = type == MapType::Float32Ftz || type == MapType::TFloat32Ftz;
  if (!isTf32 && !ftz)
    return;
  for (uint32_t i = 0; i + 4 <= bytes; i += 4) {
    uint32_t bits;
    std::memcpy(&bits, data + i, 4);
    uint32_t exponent = bits & 0x7f800000u;
    if (ftz && exponent == 0)
      bits &= 0x80000000u;
    if (isTf32 && exponent != 0x7f800000u) // nearest, ties to even
      bits = (bits + 0xfffu + ((bits >> 13) & 1)) & ~0x1fffu;
    std::memcpy(data + i, &bits, 4);
  }
}

bool Executor::tensorLoad(Copy &copy) {
  Cluster &cluster = *copy.cta->cluster;
  const TensorMapParams &map = copy.map;
  unsigned elementBytes = mapElementBytes(map.type);
  uint32_t rowBytes = map.box[0] * elementBytes;
  uint8_t row[256 * 8];
  uint32_t home = copy.shared >> clusterRankShift;
  uint32_t mask = copy.multicast ? copy.multicast : 1u << home;
  uint32_t start = copy.shared & offsetMask;
  bool ok = forEachRow(copy, [&](uint32_t offset, uint64_t address,
                                 uint32_t first, uint32_t last) {
    if (first > 0 || last < map.box[0])
      fillOutside(row, rowBytes, map.type, map.oobNan);
    if (first < last) {
      uint64_t from = address + uint64_t(first) * elementBytes,
               bytes = uint64_t(last - first) * elementBytes;
      Allocation *allocation = nullptr;
      const uint8_t *data = launch.memory->at(from, bytes, &allocation);
      if (!data) {
        fail(*copy.warp, *copy.inst, static_cast<int>(copy.lane),
             "the tensor map reaches " + std::to_string(bytes) +
                 " bytes at address " + hex(from) +
                 ", out of bounds: " + launch.memory->describe(from));
        return false;
      }
      if (checks &&
          !checkGlobalRead(*copy.warp, *copy.inst, static_cast<int>(copy.lane),
                           *allocation, from, bytes, Scope::None))
        return false;
      if (copy.overlaps &&
          !checkOverlap(*copy.warp, *copy.inst, static_cast<int>(copy.lane),
                        *allocation, from, bytes))
        return false;
      noteBytes(*allocation, from, bytes, true, false);
      copyFromShared(row + first * elementBytes, data, bytes);
      convertElements(row + first * elementBytes, static_cast<uint32_t>(bytes),
                      map.type);
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      uint8_t *smem = cluster.ctas[lowest(rest)]->smem.data();
      for (uint32_t i = 0; i < rowBytes; i += 16)
        std::memcpy(smem + swizzled(map.swizzle, start + offset + i), row + i,
                    16);
    }
    return true;
  });
  counts.bulkBytesLoaded += copy.bytes;
  return ok;
}

/// A store's first step: shared memory to a buffer, in the order of the box.
bool Executor::tensorRead(Copy &copy) {
  copy.data.resize(copy.bytes);
  const uint8_t *smem = copy.cta->smem.data();
  uint32_t start = copy.shared & offsetMask;
  if (checks)
    copy.unwritten.assign(copy.bytes / 4, false);
  for (uint32_t i = 0; i < copy.bytes; i += 16) {
    uint32_t from = swizzled(copy.map.swizzle, start + i);
    std::memcpy(copy.data.data() + i, smem + from, 16);
    for (uint32_t w = 0; checks && w < 4; ++w)
      copy.unwritten[i / 4 + w] = (copy.cta->shadow->words[from / 4 + w] &
                                   shadow::initMask) != shadow::initMask;
  }
  return true;
}

static Type reduceType(MapType type) {
  switch (type) {
  case MapType::UInt32:
    return Type::U32;
  case MapType::Int32:
    return Type::S32;
  case MapType::UInt64:
    return Type::U64;
  case MapType::Int64:
    return Type::S64;
  case MapType::Float16:
    return Type::F16;
  case MapType::BFloat16:
    return Type::BF16;
  case MapType::Float32:
    return Type::F32;
  default:
    return Type::None;
  }
}

static void reduceInto(AtomicOp op, Type type, uint8_t *to, const uint8_t *from,
                       uint64_t bytes) {
  unsigned elementBytes = byteSize(type);
  for (uint64_t i = 0; i < bytes; i += elementBytes) {
    uint64_t with = 0;
    std::memcpy(&with, from + i, elementBytes);
    combineAt(op, type, to + i, with);
  }
}

bool Executor::tensorWrite(Copy &copy) {
  const TensorMapParams &map = copy.map;
  unsigned elementBytes = mapElementBytes(map.type);
  Type type = reduceType(map.type);
  if (copy.kind == CopyKind::TensorReduce && type == Type::None) {
    fail(*copy.warp, *copy.inst, static_cast<int>(copy.lane),
         "a reduction of this element type is not supported by the emulator");
    return false;
  }
  counts.bulkBytesStored += copy.bytes;
  return forEachRow(copy, [&](uint32_t offset, uint64_t address, uint32_t first,
                              uint32_t last) {
    if (first >= last)
      return true;
    uint64_t to = address + uint64_t(first) * elementBytes,
             bytes = uint64_t(last - first) * elementBytes;
    Allocation *allocation = nullptr;
    uint8_t *data = launch.memory->at(to, bytes, &allocation);
    if (!data || allocation->isReadOnly) {
      fail(*copy.warp, *copy.inst, static_cast<int>(copy.lane),
           "the tensor map reaches " + std::to_string(bytes) +
               " bytes at address " + hex(to) +
               ", out of bounds or read-only: " + launch.memory->describe(to));
      return false;
    }
    if (copy.overlaps &&
        !checkOverlap(*copy.warp, *copy.inst, static_cast<int>(copy.lane),
                      *allocation, to, bytes))
      return false;
    if (checks) {
      const auto lane = static_cast<int>(copy.lane);
      for (uint32_t i = (offset + first * elementBytes) / 4;
           i <= (offset + last * elementBytes - 1) / 4; ++i)
        if (copy.unwritten[i] &&
            reports(Check::Uninitialised, *copy.warp, *copy.inst, lane,
                    "stores byte " + std::to_string(4 * i) +
                        " of its box, whose shared memory nobody has written"))
          return false;
      // Reductions are relaxed, with the scope of the device.
      bool isReduce = copy.kind == CopyKind::TensorReduce;
      Scope strength = isReduce ? Scope::Gpu : Scope::None;
      if ((isReduce && !checkGlobalRead(*copy.warp, *copy.inst, lane,
                                        *allocation, to, bytes, strength)) ||
          !checkGlobalWrite(
              *copy.warp, *copy.inst, lane, *allocation, to, bytes, strength,
              isReduce ? nullptr
                       : copy.data.data() + offset + first * elementBytes))
        return false;
    }
    const uint8_t *from = copy.data.data() + offset + first * elementBytes;
    noteBytes(*allocation, to, bytes, copy.kind == CopyKind::TensorReduce,
              true);
    if (copy.kind == CopyKind::TensorReduce)
      reduceInto(copy.reduce, type, data, from, bytes);
    else
      copyToShared(data, from, bytes);
    return true;
  });
}

bool Executor::stepCopy(Copy &copy) {
  Cluster &cluster = *copy.cta->cluster;
  const auto lane = static_cast<int>(copy.lane);
  ++cluster.progress;
  switch (copy.kind) {
  case CopyKind::TensorLoad:
    if (!tensorLoad(copy))
      return true;
    break;
  case CopyKind::BulkLoad: {
    Allocation *allocation = nullptr;
    const uint8_t *data =
        launch.memory->at(copy.global, copy.bytes, &allocation);
    if (checks && copy.bytes && data &&
        !checkGlobalRead(*copy.warp, *copy.inst, lane, *allocation, copy.global,
                         copy.bytes, Scope::None))
      return true;
    if (copy.overlaps && data &&
        !checkOverlap(*copy.warp, *copy.inst, lane, *allocation, copy.global,
                      copy.bytes))
      return true;
    if (data)
      noteBytes(*allocation, copy.global, copy.bytes, true, false);
    for (uint32_t rest = destinations(copy); data && rest; rest &= rest - 1)
      copyFromShared(cluster.ctas[lowest(rest)]->smem.data() +
                         (copy.shared & offsetMask),
                     data, copy.bytes);
    counts.bulkBytesLoaded += copy.bytes;
    break;
  }
  case CopyKind::BulkShared:
    std::memcpy(
        ctaOf(cluster, copy.shared)->smem.data() + (copy.shared & offsetMask),
        copy.cta->smem.data() + (copy.otherShared & offsetMask), copy.bytes);
    break;
  case CopyKind::StoreAsync: {
    uint8_t *to =
        ctaOf(cluster, copy.shared)->smem.data() + (copy.shared & offsetMask);
    if (copy.reduce == AtomicOp::Exch) {
      std::memcpy(to, copy.data.data(), copy.bytes);
      break;
    }
    unsigned bytes = byteSize(copy.type);
    for (uint64_t i = 0; i < copy.bytes; i += bytes) {
      uint64_t old = 0, with = 0;
      std::memcpy(&old, to + i, bytes);
      std::memcpy(&with, copy.data.data() + i, bytes);
      old = combine(copy.reduce, copy.type, old, with, false);
      std::memcpy(to + i, &old, bytes);
    }
    break;
  }
  case CopyKind::Cancel: {
    uint64_t answer[2];
    answerCancel(answer);
    for (uint32_t rest = destinations(copy); rest; rest &= rest - 1)
      std::memcpy(cluster.ctas[lowest(rest)]->smem.data() +
                      (copy.shared & offsetMask),
                  answer, 16);
    break;
  }
  case CopyKind::TensorStore:
  case CopyKind::TensorReduce:
    if (!copy.isRead) {
      copy.isRead = true;
      tensorRead(copy);
      if (checks)
        endAsyncRead(*copy.cta, copy.shared & offsetMask,
                     static_cast<uint32_t>(copy.bytes));
      return false;
    }
    tensorWrite(copy);
    return true;
  case CopyKind::BulkStore:
  case CopyKind::BulkReduce: {
    if (!copy.isRead) {
      copy.isRead = true;
      const uint8_t *from = copy.cta->smem.data() + (copy.shared & offsetMask);
      copy.data.assign(from, from + copy.bytes);
      if (checks && copy.bytes)
        endAsyncRead(*copy.cta, copy.shared & offsetMask,
                     static_cast<uint32_t>(copy.bytes));
      return false;
    }
    Allocation *allocation = nullptr;
    if (uint8_t *to = launch.memory->at(copy.global, copy.bytes, &allocation)) {
      if (copy.overlaps && !checkOverlap(*copy.warp, *copy.inst, lane,
                                         *allocation, copy.global, copy.bytes))
        return true;
      bool isReduce = copy.kind == CopyKind::BulkReduce;
      Scope strength = isReduce ? Scope::Gpu : Scope::None;
      if (checks && copy.bytes &&
          ((isReduce &&
            !checkGlobalRead(*copy.warp, *copy.inst, lane, *allocation,
                             copy.global, copy.bytes, strength)) ||
           !checkGlobalWrite(*copy.warp, *copy.inst, lane, *allocation,
                             copy.global, copy.bytes, strength,
                             isReduce ? nullptr : copy.data.data())))
        return true;
      noteBytes(*allocation, copy.global, copy.bytes, isReduce, true);
      if (isReduce)
        reduceInto(copy.reduce, copy.type, to, copy.data.data(), copy.bytes);
      else
        copyToShared(to, copy.data.data(), copy.bytes);
    }
    counts.bulkBytesStored += copy.bytes;
    return true;
  }
  case CopyKind::CpAsync: {
    Allocation *allocation = nullptr;
    for (uint32_t rest = copy.mask; rest; rest &= rest - 1) {
      unsigned l = lowest(rest);
      uint8_t *to = copy.cta->smem.data() + (copy.laneShared[l] & offsetMask);
      if (copy.laneBytes[l])
        if (const uint8_t *from = launch.memory->at(
                copy.laneGlobal[l], copy.laneBytes[l], &allocation)) {
          if (checks &&
              !checkGlobalRead(*copy.warp, *copy.inst, static_cast<int>(l),
                               *allocation, copy.laneGlobal[l],
                               copy.laneBytes[l], Scope::None))
            return true;
          noteBytes(*allocation, copy.laneGlobal[l], copy.laneBytes[l], true,
                    false);
          copyFromShared(to, from, copy.laneBytes[l]);
        }
      std::memset(to + copy.laneBytes[l], 0, copy.bytes - copy.laneBytes[l]);
      if (checks)
        endCpAsync(copy, l);
      counts.globalBytesLoaded += copy.laneBytes[l];
    }
    return true;
  }
  case CopyKind::CpArrive:
    if (copy.cta->liveWarps == 0)
      return true;
    if (checks) {
      learnCpAsync(*copy.warp, copy.mask, ~uint64_t(0), copy.sequence);
      releaseOwn(*copy.warp, copy.mask,
                 cluster.mbarriers[copy.otherShared].arrived[0]);
    }
    mbarrierArrive(*copy.warp, *copy.inst, lane, *copy.cta,
                   copy.otherShared & offsetMask, 1, false);
    return true;
  }
  bool isReduce =
      copy.kind == CopyKind::StoreAsync && copy.reduce != AtomicOp::Exch;
  if (checks && copy.bytes && !isReduce) {
    for (uint32_t rest = destinations(copy); rest; rest &= rest - 1)
      endAsyncWrite(copy, *cluster.ctas[lowest(rest)], copy.shared & offsetMask,
                    static_cast<uint32_t>(copy.bytes));
    if (copy.kind == CopyKind::BulkShared)
      endAsyncRead(*copy.cta, copy.otherShared & offsetMask,
                   static_cast<uint32_t>(copy.bytes));
  }
  // Loads credit the barrier, with multicast the one at the same offset in
  // each destination (with .cta_group::2, in its pair).
  uint32_t offset = copy.barrier & offsetMask;
  for (uint32_t rest = destinations(copy); rest; rest &= rest - 1) {
    Cta &cta = *cluster.ctas[copy.barrierRank(lowest(rest))];
    if (cta.liveWarps == 0)
      continue; // nobody is left to wait
    if (!mbarrierTransact(*copy.warp, *copy.inst, lane, cta, offset,
                          -static_cast<int64_t>(copy.bytes)))
      return true;
  }
  return true;
}

void Executor::wakeAfterCopy(Copy &copy) {
  for (Fragment &fragment : copy.warp->fragments)
    if (fragment.wait == Wait::BulkGroup || fragment.wait == Wait::CpAsyncGroup)
      wake(*copy.warp, fragment); // it checks again
}

/// An arrival of cp.async.mbarrier comes after the thread's earlier copies.
bool Executor::mayComplete(const Cluster &cluster, const Copy &copy) const {
  if (copy.kind != CopyKind::CpArrive)
    return true;
  for (const auto &other : cluster.copies) {
    if (other.get() == &copy)
      return true;
    if (other->kind == CopyKind::CpAsync && other->warp == copy.warp &&
        (other->mask & copy.mask))
      return false;
  }
  return true;
}

/// Whether a warp that waits needs this copy.
bool Executor::isNeeded(const Cluster &cluster, const Copy &copy) const {
  if (isCpAsync(copy)) {
    for (const Fragment &fragment : copy.warp->fragments)
      if (fragment.wait == Wait::CpAsyncGroup && copy.group < fragment.key)
        return true;
    if (copy.kind == CopyKind::CpAsync) // an arrival may wait for it
      for (const auto &other : cluster.copies)
        if (other->kind == CopyKind::CpArrive && other->warp == copy.warp &&
            isNeeded(cluster, *other))
          return true;
    if (copy.kind == CopyKind::CpAsync)
      return false;
  } else if (!copy.hasBarrier) {
    for (const Fragment &fragment : copy.warp->fragments)
      if (fragment.wait == Wait::BulkGroup &&
          holdsBulkWait(copy, *copy.warp, (fragment.key >> 1) & 31,
                        fragment.key >> 6, fragment.key & 1))
        return true;
    return false;
  }
  bool arrives = copy.kind == CopyKind::CpArrive;
  uint32_t address = arrives ? copy.otherShared : copy.barrier;
  uint32_t mask =
      arrives ? 1u << (address >> clusterRankShift) : destinations(copy);
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    for (const auto &warp :
         cluster.ctas[arrives ? lowest(rest) : copy.barrierRank(lowest(rest))]
             ->warps)
      for (const Fragment &fragment : warp->fragments)
        if (fragment.wait == Wait::Mbarrier &&
            fragment.key == (address & offsetMask))
          return true;
  return false;
}

/// Nothing runs: completes what is next in this order. False if nothing is
/// left to complete.
bool Executor::completeSome(Cluster &cluster) {
  // Work of tensor memory is numbered behind the copies.
  const size_t numCopies = cluster.copies.size(),
               all = numCopies + cluster.tensorOps.size();
  if (!all)
    return false;
  std::vector<size_t> candidates;
  if (launch.options.order == Order::InOrder) {
    candidates.push_back(cluster.tensorOps.empty() ? 0 : numCopies);
  } else {
    auto may = [&](size_t i) {
      return i < numCopies ? mayComplete(cluster, *cluster.copies[i])
                           : mayCompleteTensor(cluster, i - numCopies);
    };
    auto needed = [&](size_t i) {
      return i < numCopies ? isNeeded(cluster, *cluster.copies[i])
                           : isTensorNeeded(cluster, i - numCopies);
    };
    for (size_t i = 0; i < all; ++i)
      if (may(i) && needed(i))
        candidates.push_back(i);
    if (candidates.empty())
      for (size_t i = 0; i < all; ++i)
        if (may(i))
          candidates.push_back(i);
  }
  size_t chosen =
      candidates[candidates.size() > 1 ? nextRandom(cluster) % candidates.size()
                                       : 0];
  if (chosen >= numCopies) {
    completeTensor(cluster, chosen - numCopies);
    return true;
  }
  Copy &copy = *cluster.copies[chosen];
  bool isDone = stepCopy(copy);
  std::unique_ptr<Copy> done;
  if (isDone) {
    done = std::move(cluster.copies[chosen]);
    cluster.copies.erase(cluster.copies.begin() + static_cast<long>(chosen));
  }
  wakeAfterCopy(copy);
  return true;
}

void Executor::completeAfterSlice(Cluster &cluster) {
  switch (launch.options.order) {
  case Order::InOrder:
    while (!launch.stop.load(std::memory_order_relaxed) &&
           completeSome(cluster)) {
    }
    break;
  case Order::Random:
    for (size_t i = 0; i < cluster.tensorOps.size();)
      if (nextRandom(cluster) % 4 || !mayCompleteTensor(cluster, i))
        ++i;
      else
        completeTensor(cluster, i);
    for (size_t i = 0; i < cluster.copies.size();) {
      if (nextRandom(cluster) % 4 ||
          !mayComplete(cluster, *cluster.copies[i])) {
        ++i;
        continue;
      }
      Copy &copy = *cluster.copies[i];
      std::unique_ptr<Copy> done;
      if (stepCopy(copy)) {
        done = std::move(cluster.copies[i]);
        cluster.copies.erase(cluster.copies.begin() + static_cast<long>(i));
      } else {
        ++i;
      }
      wakeAfterCopy(copy);
    }
    break;
  case Order::Adversarial:
    break;
  }
}

} // namespace backfuse::emulator
