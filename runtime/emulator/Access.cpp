//===- Access.cpp - Loads, stores, atomics, matrix fragments -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

#include <cmath>

namespace backfuse::emulator {

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

static uint64_t loadWord(const uint8_t *from, unsigned bytes) {
  switch (bytes) {
  case 1:
    return loadShared<uint8_t>(from);
  case 2:
    return loadShared<uint16_t>(from);
  case 4:
    return loadShared<uint32_t>(from);
  default:
    return loadShared<uint64_t>(from);
  }
}
static void storeWord(uint8_t *to, unsigned bytes, uint64_t value) {
  switch (bytes) {
  case 1:
    storeShared<uint8_t>(to, static_cast<uint8_t>(value));
    break;
  case 2:
    storeShared<uint16_t>(to, static_cast<uint16_t>(value));
    break;
  case 4:
    storeShared<uint32_t>(to, static_cast<uint32_t>(value));
    break;
  default:
    storeShared<uint64_t>(to, value);
    break;
  }
}
bool Executor::execMemory(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  bool isLoad = inst.op == Op::Load;
  unsigned bytes = byteSize(inst.type), count = inst.count;
  unsigned total = bytes * count;
  bool isSigned = inst.flags & inst::signExtend;
  const bool profiles = !banks.empty();
  uint32_t places[32], sharedLanes = 0;
  // Flags in memory: strong accesses.
  const Scope strength = checks ? strengthOf(inst) : Scope::None;
  Observed observed;
  std::vector<MessageRef> messages;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    uint64_t address = addressOf(warp, refs[0], lane, inst.imm);
    Space space = inst.space;
    bool isCluster = inst.flags & inst::sharedCluster;
    if (space == Space::Generic) {
      uint64_t window = address & windowMask;
      if (window == sharedWindow) {
        space = Space::Shared;
        isCluster = true;
        address = static_cast<uint32_t>(address);
      } else if (window == localWindow) {
        space = Space::Local;
        address &= ~windowMask;
      } else if (window == paramWindow) {
        space = Space::Param;
        address &= ~windowMask;
      } else {
        space = Space::Global;
      }
    }
    if (address % total &&
        reports(Check::Alignment, warp, inst, static_cast<int>(lane),
                "address " + hex(address) + " is not a multiple of " +
                    std::to_string(total)))
      return false;
    uint8_t *data = nullptr;
    Allocation *allocation = nullptr;
    Cta *owner = nullptr;
    SyncWords *words = nullptr;
    std::unique_lock<std::mutex> lock;
    uint8_t incoming[64];
    if (checks && !isLoad)
      for (unsigned i = 0; i < count; ++i)
        storeWord(incoming + i * bytes, bytes, value(warp, refs[1 + i], lane));
    switch (space) {
    case Space::Shared:
      data = sharedBytes(warp, inst, static_cast<int>(lane), address, total,
                         isCluster, isLoad ? "load" : "store", &owner,
                         isOn(Check::Bounds));
      if (!data && !isOn(Check::Bounds))
        continue; // nothing is done
      if (!data)
        return false;
      if (checks) {
        auto offset =
            static_cast<uint32_t>(address & ((1u << clusterRankShift) - 1));
        if (isLoad
                ? !checkSharedRead(warp, inst, static_cast<int>(lane), *owner,
                                   offset, total, strength)
                : !checkSharedWrite(warp, inst, static_cast<int>(lane), *owner,
                                    offset, total, strength, incoming))
          return false;
        words = &warp.cta->cluster->syncWords;
        address = static_cast<uint32_t>(address);
      }
      (isLoad ? counts.sharedBytesLoaded : counts.sharedBytesStored) += total;
      places[lane] = static_cast<uint32_t>(address);
      sharedLanes |= 1u << lane;
      break;
    case Space::Local:
      if (address + total > kernel.localBytes) {
        fail(warp, inst, static_cast<int>(lane),
             "local address " + hex(address) + " is out of bounds");
        return false;
      }
      data = warp.local.data() + lane * kernel.localBytes + address;
      break;
    case Space::Param:
      if (!isLoad || address + total > launch.params.size()) {
        fail(warp, inst, static_cast<int>(lane),
             isLoad ? "parameter address " + hex(address) + " is out of bounds"
                    : std::string("kernels cannot write their parameters"));
        return false;
      }
      data = launch.params.data() + address;
      break;
    default:
      data = launch.memory->at(address, total, &allocation);
      if (!data) {
        if (!reports(Check::Bounds, warp, inst, static_cast<int>(lane),
                     std::string(isLoad ? "load" : "store") + " of " +
                         std::to_string(total) + " bytes at address " +
                         hex(address) + " is out of bounds: " +
                         launch.memory->describe(address)))
          continue;
        return false;
      }
      if (!isLoad && allocation->isReadOnly) {
        fail(warp, inst, static_cast<int>(lane),
             "store to read-only memory: " + launch.memory->describe(address));
        return false;
      }
      (isLoad ? counts.globalBytesLoaded : counts.globalBytesStored) += total;
      noteBytes(*allocation, address, total, isLoad, !isLoad);
      if (checks) {
        if (launch.overlapped && mayOverlap(warp) &&
            !checkOverlap(warp, inst, static_cast<int>(lane), *allocation,
                          address, total))
          return false;
        if (isLoad ? !checkGlobalRead(warp, inst, static_cast<int>(lane),
                                      *allocation, address, total, strength,
                                      strength != Scope::None, true)
                   : !checkGlobalWrite(warp, inst, static_cast<int>(lane),
                                       *allocation, address, total, strength,
                                       incoming))
          return false;
        words = &launch.syncWords;
      }
      break;
    }
    if (strength != Scope::None && words) {
      // The value and what comes with it are one step.
      lock = words->lock(address);
      if (isLoad) {
        observe(warp, lane, *words, address, total, strength,
                inst.flags & inst::acquire, observed);
      } else {
        takeMessages(warp, lane, strength, inst.flags & inst::release,
                     messages);
        words->write(address, total, messages, false);
      }
    }
    if (isLoad)
      for (unsigned i = 0; i < count; ++i)
        setValue(warp, refs[1 + i], lane,
                 extend(loadWord(data + i * bytes, bytes), bytes, isSigned));
    else
      for (unsigned i = 0; i < count; ++i)
        storeWord(data + i * bytes, bytes, value(warp, refs[1 + i], lane));
  }
  if (profiles && sharedLanes)
    countBanks(inst, places, sharedLanes, total);
  if (!observed.empty())
    acquireObserved(warp, observed);
  if (checks && (inst.flags & inst::release))
    ++warp.clock;
  if (!isLoad && inst.space != Space::Local)
    progress(warp);
  return true;
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

static float flushed(float x) {
  return std::fabs(x) < 1.17549435e-38f ? std::copysign(0.0f, x) : x;
}

template <class T>
static uint64_t combineInt(AtomicOp op, uint64_t old, uint64_t with) {
  T a = fromBits<T>(old), b = fromBits<T>(with);
  using U = std::make_unsigned_t<T>;
  switch (op) {
  case AtomicOp::Add:
    return toBits(static_cast<T>(static_cast<U>(a) + static_cast<U>(b)));
  case AtomicOp::Min:
    return toBits(a < b ? a : b);
  case AtomicOp::Max:
    return toBits(a < b ? b : a);
  case AtomicOp::And:
    return toBits(static_cast<T>(a & b));
  case AtomicOp::Or:
    return toBits(static_cast<T>(a | b));
  case AtomicOp::Xor:
    return toBits(static_cast<T>(a ^ b));
  case AtomicOp::Inc:
    return toBits(
        static_cast<U>(a) >= static_cast<U>(b) ? T(0) : static_cast<T>(a + 1));
  case AtomicOp::Dec:
    return toBits(a == 0 || static_cast<U>(a) > static_cast<U>(b)
                      ? b
                      : static_cast<T>(a - 1));
  default:
    return with;
  }
}

/// The new value of a location, for atomics and bulk reductions.
uint64_t combine(AtomicOp op, Type type, uint64_t old, uint64_t with,
                 bool isGlobal) {
  if (op == AtomicOp::Exch)
    return with;
  auto half = [&](float (*widen)(uint16_t), uint16_t (*narrow)(float),
                  unsigned shift) -> uint64_t {
    float a = widen(static_cast<uint16_t>(old >> shift)),
          b = widen(static_cast<uint16_t>(with >> shift));
    float r = op == AtomicOp::Add   ? a + b
              : op == AtomicOp::Min ? std::fmin(a, b)
                                    : std::fmax(a, b);
    return static_cast<uint64_t>(narrow(r)) << shift;
  };
  switch (type) {
  case Type::F32: {
    auto a = fromBits<float>(old), b = fromBits<float>(with);
    if (op != AtomicOp::Add)
      return toBits(op == AtomicOp::Min ? std::fmin(a, b) : std::fmax(a, b));
    return isGlobal ? toBits(flushed(flushed(a) + flushed(b))) : toBits(a + b);
  }
  case Type::F64:
    return toBits(fromBits<double>(old) + fromBits<double>(with));
  case Type::F16:
    return half(f16ToFloat, floatToF16, 0);
  case Type::BF16:
    return half(bf16ToFloat, floatToBf16, 0);
  case Type::F16x2:
    return half(f16ToFloat, floatToF16, 0) | half(f16ToFloat, floatToF16, 16);
  case Type::BF16x2:
    return half(bf16ToFloat, floatToBf16, 0) |
           half(bf16ToFloat, floatToBf16, 16);
  case Type::S32:
    return combineInt<int32_t>(op, old, with);
  case Type::S64:
    return combineInt<int64_t>(op, old, with);
  case Type::U64:
  case Type::B64:
    return combineInt<uint64_t>(op, old, with);
  default:
    return combineInt<uint32_t>(op, old, with);
  }
}

template <class T, class F> static uint64_t exchangeLoop(uint8_t *at, F f) {
  auto *word = reinterpret_cast<T *>(at);
  T old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  while (true) {
    T wanted = static_cast<T>(f(old));
    if (__atomic_compare_exchange_n(word, &old, wanted, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return old;
  }
}
template <class F>
static uint64_t exchangeLoop(uint8_t *at, unsigned bytes, F f) {
  switch (bytes) {
  case 2:
    return exchangeLoop<uint16_t>(at, f);
  case 4:
    return exchangeLoop<uint32_t>(at, f);
  default:
    return exchangeLoop<uint64_t>(at, f);
  }
}

uint64_t combineAt(AtomicOp op, Type type, uint8_t *at, uint64_t with) {
  return exchangeLoop(at, byteSize(type), [&](uint64_t old) {
    return combine(op, type, old, with, true);
  });
}

bool Executor::execAtomic(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  unsigned bytes = byteSize(inst.type), count = inst.count,
           total = bytes * count;
  auto op = static_cast<AtomicOp>(inst.sub);
  const Ref *results = refs + 1 + count + (op == AtomicOp::Cas);
  const Scope strength = scopeOf(inst);
  Observed observed;
  std::vector<MessageRef> messages;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    uint64_t address = addressOf(warp, refs[0], lane, inst.imm);
    bool isShared = inst.space == Space::Shared,
         isCluster = inst.flags & inst::sharedCluster;
    if (inst.space == Space::Generic &&
        (address & windowMask) == sharedWindow) {
      isShared = isCluster = true;
      address = static_cast<uint32_t>(address);
    }
    if (address % total) {
      fail(warp, inst, static_cast<int>(lane),
           "address " + hex(address) + " is not a multiple of " +
               std::to_string(total));
      return false;
    }
    uint8_t *data;
    if (isShared) {
      Cta *owner = nullptr;
      data = sharedBytes(warp, inst, static_cast<int>(lane), address, total,
                         isCluster, "atomic", &owner);
      if (!data)
        return false;
      if (checks) {
        auto offset =
            static_cast<uint32_t>(address & ((1u << clusterRankShift) - 1));
        if ((op != AtomicOp::Exch &&
             !checkSharedRead(warp, inst, static_cast<int>(lane), *owner,
                              offset, total, strength)) ||
            !checkSharedWrite(warp, inst, static_cast<int>(lane), *owner,
                              offset, total, strength))
          return false;
      }
    } else {
      Allocation *allocation = nullptr;
      data = launch.memory->at(address, total, &allocation);
      if (!data || allocation->isReadOnly) {
        fail(warp, inst, static_cast<int>(lane),
             std::string("atomic at address ") + hex(address) +
                 (data ? " in read-only memory: " : " is out of bounds: ") +
                 launch.memory->describe(address));
        return false;
      }
      counts.globalBytesStored += total;
      noteBytes(*allocation, address, total, true, true);
      if (checks) {
        if (launch.overlapped && mayOverlap(warp) &&
            !checkOverlap(warp, inst, static_cast<int>(lane), *allocation,
                          address, total))
          return false;
        if ((op != AtomicOp::Exch &&
             !checkGlobalRead(warp, inst, static_cast<int>(lane), *allocation,
                              address, total, strength, op == AtomicOp::Cas)) ||
            !checkGlobalWrite(warp, inst, static_cast<int>(lane), *allocation,
                              address, total, strength))
          return false;
      }
    }
    std::unique_lock<std::mutex> lock;
    if (checks) {
      SyncWords &words =
          isShared ? warp.cta->cluster->syncWords : launch.syncWords;
      uint64_t at = isShared ? static_cast<uint32_t>(address) : address;
      lock = words.lock(at);
      // A reduction returns nothing that could acquire.
      if (inst.op == Op::Atomic)
        observe(warp, lane, words, at, total, strength,
                inst.flags & inst::acquire, observed);
      takeMessages(warp, lane, strength, inst.flags & inst::release, messages);
      words.write(at, total, messages, true);
    }
    bool changed = false;
    for (unsigned i = 0; i < count; ++i) {
      uint64_t with = value(warp, refs[1 + i], lane), wanted = 0, now = 0;
      if (op == AtomicOp::Cas)
        wanted = value(warp, refs[2], lane);
      uint64_t old =
          exchangeLoop(data + i * bytes, bytes, [&](uint64_t before) {
            if (op == AtomicOp::Cas)
              now = before == with ? wanted : before;
            else
              now = combine(op, inst.type, before, with, !isShared);
            return now;
          });
      changed |= old != now;
      if (inst.op == Op::Atomic)
        setValue(warp, results[i], lane, old);
    }
    if (changed)
      progress(warp);
  }
  if (!observed.empty())
    acquireObserved(warp, observed);
  if (checks && (inst.flags & inst::release))
    ++warp.clock;
  return true;
}

//===----------------------------------------------------------------------===//
// Matrix fragments
//===----------------------------------------------------------------------===//

/// stmatrix, ldmatrix: lane 8 i + r supplies the address of row r of matrix i;
/// lane t holds elements 2 (t % 4), + 1 of row t / 4 (transposed: of column).
bool Executor::execMatrix(Warp &warp, const Inst &inst, uint32_t) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  bool isLoad = inst.op == Op::LdMatrix;
  for (unsigned i = 0; i < inst.count; ++i) {
    uint8_t *rows[8];
    uint32_t places[32] = {};
    for (unsigned r = 0; r < 8; ++r) {
      unsigned lane = 8 * i + r;
      uint64_t address = addressOf(warp, refs[0], lane, inst.imm);
      if ((address & windowMask) == sharedWindow)
        address = static_cast<uint32_t>(address);
      if (address % 16) {
        fail(warp, inst, static_cast<int>(lane),
             "row address " + hex(address) + " is not a multiple of 16");
        return false;
      }
      rows[r] = sharedBytes(warp, inst, static_cast<int>(lane), address, 16,
                            false, isLoad ? "load" : "store");
      if (!rows[r])
        return false;
      auto offset =
          static_cast<uint32_t>(address & ((1u << clusterRankShift) - 1));
      places[r] = offset;
      auto laneIndex = static_cast<int>(lane);
      if (checks &&
          (isLoad ? !checkSharedRead(warp, inst, laneIndex, *warp.cta, offset,
                                     16, Scope::None)
                  : !checkSharedWrite(warp, inst, laneIndex, *warp.cta, offset,
                                      16, Scope::None)))
        return false;
    }
    if (!banks.empty())
      countBanks(inst, places, 0xff, 16);
    (isLoad ? counts.sharedBytesLoaded : counts.sharedBytesStored) += 128;
    uint32_t values[32];
    if (!isLoad)
      std::memcpy(values, source(warp, refs[1 + i]), sizeof values);
    for (unsigned t = 0; t < 32; ++t) {
      uint32_t loaded = 0;
      for (unsigned e = 0; e < 2; ++e) {
        unsigned row = t / 4, column = 2 * (t % 4) + e;
        if (inst.flags & inst::transposed)
          std::swap(row, column);
        uint8_t *at = rows[row] + 2 * column;
        if (isLoad) {
          uint16_t half;
          std::memcpy(&half, at, 2);
          loaded |= static_cast<uint32_t>(half) << (16 * e);
        } else {
          auto half = static_cast<uint16_t>(values[t] >> (16 * e));
          std::memcpy(at, &half, 2);
        }
      }
      if (isLoad)
        values[t] = loaded;
    }
    if (isLoad)
      std::memcpy(place(warp, refs[1 + i]), values, sizeof values);
  }
  (isLoad ? counts.sharedBytesLoaded : counts.sharedBytesStored) +=
      128u * inst.count;
  progress(warp);
  return true;
}

} // namespace backfuse::emulator
