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
#include <cmath>

namespace backfuse::emulator {

constexpr uint32_t fullMask = 0xffffffffu;

static unsigned popcount(uint32_t x) {
  return static_cast<unsigned>(__builtin_popcount(x));
}
static unsigned lowest(uint32_t x) {
  return static_cast<unsigned>(__builtin_ctz(x));
}

static std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

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
                               const char *what, Cta **owner) {
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
static uint64_t extend(uint64_t value, unsigned bytes, bool isSigned) {
  if (!isSigned || bytes == 8)
    return value;
  unsigned shift = 64 - 8 * bytes;
  return static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
}

bool Executor::execMemory(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  bool isLoad = inst.op == Op::Load;
  unsigned bytes = byteSize(inst.type), count = inst.count;
  unsigned total = bytes * count;
  bool isSigned = inst.flags & inst::signExtend;
  // Flags in memory: a store releases, a load acquires.
  bool isSync = inst.flags & (inst::volatileAccess | inst::relaxed |
                              inst::acquire | inst::release);
  auto together = [&](std::vector<uint32_t> &lists) {
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      lists[lowest(rest)] |= mask;
  };
  if (checks && inst.space == Space::Shared)
    together(warp.unsynced);
  if (checks && inst.space == Space::Global && !isLoad) {
    if ((inst.flags & inst::release) &&
        !checkGlobalRelease(warp, inst, lowest(mask), mask))
      return false;
    together(warp.unsyncedGlobal);
  }
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
    if (address % total) {
      fail(warp, inst, static_cast<int>(lane),
           "address " + hex(address) + " is not a multiple of " +
               std::to_string(total));
      return false;
    }
    uint8_t *data = nullptr;
    Allocation *allocation = nullptr;
    Cta *owner = nullptr;
    bool acquires = false;
    switch (space) {
    case Space::Shared:
      data = sharedBytes(warp, inst, static_cast<int>(lane), address, total,
                         isCluster, isLoad ? "load" : "store", &owner);
      if (!data)
        return false;
      if (checks) {
        auto offset =
            static_cast<uint32_t>(address & ((1u << clusterRankShift) - 1));
        if (isSync)
          shareThrough(warp, static_cast<uint32_t>(address), !isLoad, isLoad);
        if (isLoad ? !checkSharedRead(warp, inst, static_cast<int>(lane),
                                      *owner, offset, total, isSync)
                   : !checkSharedWrite(warp, inst, static_cast<int>(lane),
                                       *owner, offset, total, isSync))
          return false;
      }
      (isLoad ? counts.sharedBytesLoaded : counts.sharedBytesStored) += total;
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
        fail(warp, inst, static_cast<int>(lane),
             std::string(isLoad ? "load" : "store") + " of " +
                 std::to_string(total) + " bytes at address " + hex(address) +
                 " is out of bounds: " + launch.memory->describe(address));
        return false;
      }
      if (!isLoad && allocation->isReadOnly) {
        fail(warp, inst, static_cast<int>(lane),
             "store to read-only memory: " + launch.memory->describe(address));
        return false;
      }
      (isLoad ? counts.globalBytesLoaded : counts.globalBytesStored) += total;
      if (checks) {
        if (isSync && !isLoad)
          releaseGlobal(warp, address);
        acquires = isSync && isLoad;
        if (isLoad
                ? !checkGlobalRead(warp, inst, static_cast<int>(lane),
                                   *allocation, address, total, isSync, isSync)
                : !checkGlobalWrite(warp, inst, static_cast<int>(lane),
                                    *allocation, address, total, isSync))
          return false;
      }
      break;
    }
    if (isLoad)
      for (unsigned i = 0; i < count; ++i)
        setValue(warp, refs[1 + i], lane,
                 extend(loadWord(data + i * bytes, bytes), bytes, isSigned));
    else
      for (unsigned i = 0; i < count; ++i)
        storeWord(data + i * bytes, bytes, value(warp, refs[1 + i], lane));
    if (acquires)
      acquireGlobal(warp, address);
  }
  if (!isLoad && inst.space != Space::Local)
    progress(warp);
  return true;
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

template <class T> static T fromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T> static uint64_t toBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
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
static uint64_t combine(AtomicOp op, Type type, uint64_t old, uint64_t with,
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
        shareThrough(warp, static_cast<uint32_t>(address), true, true);
        if ((op != AtomicOp::Exch &&
             !checkSharedRead(warp, inst, static_cast<int>(lane), *owner,
                              offset, total, true)) ||
            !checkSharedWrite(warp, inst, static_cast<int>(lane), *owner,
                              offset, total, true))
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
      if (checks) {
        releaseGlobal(warp, address);
        if ((op != AtomicOp::Exch &&
             !checkGlobalRead(warp, inst, static_cast<int>(lane), *allocation,
                              address, total, true, op == AtomicOp::Cas)) ||
            !checkGlobalWrite(warp, inst, static_cast<int>(lane), *allocation,
                              address, total, true))
          return false;
      }
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
    if (checks && !isShared)
      acquireGlobal(warp, address);
    if (changed)
      progress(warp);
  }
  return true;
}

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
          acquireFrom(*warp, barrier.clocks, false);
          cta.lastUse[id].emplace_back(warp->clusterIndex, ++warp->clock());
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
    fail(warp, inst, static_cast<int>(first),
         "barrier " + std::to_string(id) + " is used for " + text(expected) +
             " while others wait there for " + text(barrier.expected));
    return false;
  }
  if (checks) {
    if (!checkNamedBarrier(warp, inst, static_cast<unsigned>(id)))
      return false;
    releaseTo(warp, barrier.clocks, false);
  }
  barrier.expected = expected;
  bool isWhole =
      (inst.flags & inst::aligned) || mask == (warp.lanes & ~warp.exited);
  barrier.arrived += isWhole ? 32 : popcount(mask);
  if (expected && barrier.arrived > expected) {
    fail(warp, inst, static_cast<int>(first),
         "barrier " + std::to_string(id) + " gets " +
             std::to_string(barrier.arrived) + " arrivals, but expects " +
             std::to_string(expected));
    return false;
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
    if (checks && !checkExit(warp, kernel.code[fragment.pc - 1]))
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
    // Who waits for the phase knows what copies wrote in it.
    std::vector<uint32_t> &known = clocks.arrived.warps;
    if (known.size() <= clocks.index)
      known.resize(clocks.index + 1, 0);
    known[clocks.index] = ++clocks.phases;
    clocks.completed = clocks.arrived;
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
  if (count == 0 || count > pending) {
    fail(warp, inst, lane,
         "mbarrier at " + hex(offset) + " gets " + std::to_string(count) +
             " arrivals, but its phase expects only " +
             std::to_string(pending) + " more of " +
             std::to_string(mbarrier::expected(bits)));
    return false;
  }
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
    fail(warp, inst, lane,
         "mbarrier at " + hex(offset) + " is credited with " +
             std::to_string(-tx) + " bytes more than it expects");
    return false;
  }
  ++warp.cta->cluster->progress;
  mbarrierMayComplete(cta, offset,
                      mbarrier::make(mbarrier::pending(bits),
                                     mbarrier::expected(bits), tx,
                                     mbarrier::parity(bits)));
  return true;
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
      if (inst.op == Op::MbarrierArrive && !(inst.flags & inst::expectTx) &&
          !checkArrival(warp, inst, lane, mask))
        return false;
      if (inst.op == Op::MbarrierArrive && !(inst.flags & inst::relaxed))
        releaseTo(
            warp,
            cta->cluster->mbarriers[cta->rank << clusterRankShift | offset]
                .arrived,
            cta->cluster->ctas.size() > 1);
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
        if (checks && !(inst.flags & inst::relaxed))
          acquireFrom(
              warp,
              cta->cluster->mbarriers[cta->rank << clusterRankShift | offset]
                  .completed,
              cta->cluster->ctas.size() > 1);
      }
      sameBarrier &= rest == mask || waitOffset == offset;
      waitOffset = offset;
    }
    }
  }
  if (inst.op != Op::MbarrierWait)
    return true;
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
    return false;
  }
  fragment.timedOut = false;
  fragment.refused = complete ? ~0u : here;
  setPredicate(warp, refs[0], complete, mask);
  return true;
}

//===----------------------------------------------------------------------===//
// Operations across lanes
//===----------------------------------------------------------------------===//

bool Executor::execWarpOp(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  switch (inst.op) {
  case Op::ActiveMask:
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      setValue(warp, refs[0], lowest(rest), mask);
    return true;
  case Op::Shuffle: {
    uint32_t in[32], out[32], valid = 0;
    const auto *a = reinterpret_cast<const uint32_t *>(source(warp, refs[2]));
    const auto *b = reinterpret_cast<const uint32_t *>(source(warp, refs[3]));
    const auto *c = reinterpret_cast<const uint32_t *>(source(warp, refs[4]));
    std::memcpy(in, a, sizeof in);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = lowest(rest);
      unsigned bval = b[lane] & 31, cval = c[lane] & 31,
               segment = (c[lane] >> 8) & 31;
      unsigned maxLane = (lane & segment) | (cval & ~segment);
      unsigned minLane = lane & segment;
      unsigned from;
      bool ok;
      switch (inst.sub) {
      case 0: // up: the clamp is the least lane
        from = lane - bval;
        ok = static_cast<int>(from) >= static_cast<int>(maxLane);
        break;
      case 1:
        from = lane + bval;
        ok = from <= maxLane;
        break;
      case 2:
        from = lane ^ bval;
        ok = from <= maxLane;
        break;
      default:
        from = minLane | (bval & ~segment);
        ok = from <= maxLane;
      }
      if (!ok)
        from = lane;
      else
        valid |= 1u << lane;
      if (!((mask >> from) & 1)) {
        fail(warp, inst, static_cast<int>(lane),
             "reads the register of lane " + std::to_string(from) +
                 ", which does not take part");
        return false;
      }
      out[lane] = in[from];
    }
    auto *d = reinterpret_cast<uint32_t *>(place(warp, refs[0]));
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      d[lowest(rest)] = out[lowest(rest)];
    setPredicate(warp, refs[1], valid, mask);
    return true;
  }
  case Op::Vote: {
    uint32_t votes = predicate(warp, refs[1]) & mask;
    switch (inst.sub) {
    case 0:
      setPredicate(warp, refs[0], votes == mask ? fullMask : 0, mask);
      break;
    case 1:
      setPredicate(warp, refs[0], votes ? fullMask : 0, mask);
      break;
    case 2:
      setPredicate(warp, refs[0], votes == 0 || votes == mask ? fullMask : 0,
                   mask);
      break;
    default:
      for (uint32_t rest = mask; rest; rest &= rest - 1)
        setValue(warp, refs[0], lowest(rest), votes);
    }
    return true;
  }
  case Op::Match: {
    uint64_t values[32];
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      values[lowest(rest)] = value(warp, refs[2], lowest(rest));
    bool allSame = true;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      allSame &= values[lowest(rest)] == values[lowest(mask)];
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = lowest(rest);
      uint32_t same = 0;
      for (uint32_t other = mask; other; other &= other - 1)
        if (values[lowest(other)] == values[lane])
          same |= 1u << lowest(other);
      setValue(warp, refs[0], lane, inst.sub ? (allSame ? mask : 0) : same);
    }
    setPredicate(warp, refs[1], allSame ? fullMask : 0, mask);
    return true;
  }
  case Op::Redux: {
    auto op = static_cast<AtomicOp>(inst.sub);
    uint64_t result = value(warp, refs[1], lowest(mask));
    for (uint32_t rest = mask & (mask - 1); rest; rest &= rest - 1)
      result = combine(op, inst.type == Type::S32 ? Type::S32 : Type::U32,
                       result, value(warp, refs[1], lowest(rest)), false);
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      setValue(warp, refs[0], lowest(rest), static_cast<uint32_t>(result));
    return true;
  }
  case Op::Elect: {
    unsigned leader = lowest(mask);
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      setValue(warp, refs[0], lowest(rest), leader);
    setPredicate(warp, refs[1], 1u << leader, mask);
    return true;
  }
  default:
    return true;
  }
}

/// stmatrix, ldmatrix: lane 8 i + r supplies the address of row r of matrix i;
/// lane t holds elements 2 (t % 4), + 1 of row t / 4 (transposed: of column).
bool Executor::execMatrix(Warp &warp, const Inst &inst, uint32_t) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  bool isLoad = inst.op == Op::LdMatrix;
  for (unsigned i = 0; i < inst.count; ++i) {
    uint8_t *rows[8];
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
      auto laneIndex = static_cast<int>(lane);
      if (checks && (isLoad ? !checkSharedRead(warp, inst, laneIndex, *warp.cta,
                                               offset, 16, false)
                            : !checkSharedWrite(warp, inst, laneIndex,
                                                *warp.cta, offset, 16, false)))
        return false;
    }
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

//===----------------------------------------------------------------------===//
// Rare instructions
//===----------------------------------------------------------------------===//

bool Executor::execMisc(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  switch (inst.op) {
  case Op::SetValue: {
    uint32_t result = inst.compare(source(warp, refs[2]), source(warp, refs[3]),
                                   mask, inst.laneFlags);
    if (refs[4].kind != Ref::None) {
      uint32_t c = predicate(warp, refs[4]);
      auto logic = static_cast<LogicOp>(inst.sub);
      result = logic == LogicOp::And  ? result & c
               : logic == LogicOp::Or ? result | c
                                      : result ^ c;
    }
    uint64_t yes = inst.type == Type::F32 ? 0x3f800000u : ~uint64_t(0);
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      setValue(warp, refs[0], lowest(rest),
               (result >> lowest(rest)) & 1 ? yes : 0);
    return true;
  }
  case Op::Resize: {
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      setValue(
          warp, refs[0], lowest(rest),
          extend(value(warp, refs[1], lowest(rest)), refs[1].bytes, inst.sub));
    return true;
  }
  case Op::Convert8:
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      auto byte = static_cast<uint8_t>(value(warp, refs[1], lowest(rest)));
      setValue(warp, refs[0], lowest(rest), extend(byte, 1, inst.sub));
    }
    return true;
  case Op::ReadClock:
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      setValue(warp, refs[0], lowest(rest), inst.sub ? 0 : counts.instructions);
    return true;
  case Op::Testp: {
    uint32_t result = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = lowest(rest);
      uint64_t bits = value(warp, refs[1], lane);
      int kind = inst.type == Type::F32
                     ? std::fpclassify(fromBits<float>(bits))
                     : std::fpclassify(fromBits<double>(bits));
      bool is = false;
      switch (static_cast<TestpOp>(inst.sub)) {
      case TestpOp::Finite:
        is = kind != FP_NAN && kind != FP_INFINITE;
        break;
      case TestpOp::Infinite:
        is = kind == FP_INFINITE;
        break;
      case TestpOp::Number:
        is = kind != FP_NAN;
        break;
      case TestpOp::NotANumber:
        is = kind == FP_NAN;
        break;
      case TestpOp::Normal:
        is = kind == FP_NORMAL;
        break;
      case TestpOp::Subnormal:
        is = kind == FP_SUBNORMAL;
        break;
      }
      result |= static_cast<uint32_t>(is) << lane;
    }
    setPredicate(warp, refs[0], result, mask);
    return true;
  }
  case Op::Mapa:
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = lowest(rest);
      uint64_t address = value(warp, refs[1], lane),
               rank = value(warp, refs[2], lane);
      if (rank >= warp.cta->cluster->ctas.size()) {
        fail(warp, inst, static_cast<int>(lane),
             "CTA rank " + std::to_string(rank) + " is not in the cluster of " +
                 std::to_string(warp.cta->cluster->ctas.size()));
        return false;
      }
      uint64_t high = address & ~uint64_t(0xffffffff);
      setValue(warp, refs[0], lane,
               high | (address & ((1u << clusterRankShift) - 1)) |
                   rank << clusterRankShift);
    }
    return true;
  case Op::GetCtaRank:
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      setValue(warp, refs[0], lowest(rest),
               (value(warp, refs[1], lowest(rest)) & 0xffffffffu) >>
                   clusterRankShift);
    return true;
  case Op::IsSpace: {
    uint32_t result = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = lowest(rest);
      uint64_t address = value(warp, refs[1], lane),
               window = address & windowMask;
      bool is;
      switch (inst.space) {
      case Space::Shared:
        is = window == sharedWindow &&
             ((inst.flags & inst::sharedCluster) ||
              (address & 0xffffffffu) >> clusterRankShift == warp.cta->rank);
        break;
      case Space::Local:
        is = window == localWindow;
        break;
      case Space::Param:
        is = window == paramWindow;
        break;
      case Space::Const:
        is = false;
        break;
      default:
        is = window != sharedWindow && window != localWindow;
        break;
      }
      result |= static_cast<uint32_t>(is) << lane;
    }
    setPredicate(warp, refs[0], result, mask);
    return true;
  }
  default:
    return true;
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
    return true;
  default:
    return false;
  }
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
      switch (inst.op) {
      case Op::Nop:
      case Op::GridLaunch:
      case Op::GridWait:
        break;
      case Op::MbarrierInitFence:
        if (checks) {
          for (uint32_t rest = active; rest; rest &= rest - 1)
            warp.initFenced[lowest(rest)] = warp.clock();
          ++warp.clock();
        }
        break;
      case Op::ProxyFence:
        if (checks && (inst.flags & inst::sharedFence))
          proxyFence(warp, active);
        break;
      case Op::Fence:
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
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
          if (checks)
            for (unsigned l = 0; l < 32; ++l)
              if (need >> l & 1) {
                warp.unsynced[l] &= ~need;
                warp.unsyncedGlobal[l] &= ~need;
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
          if (checks && !(inst.flags & inst::relaxed))
            releaseTo(warp, cluster.barrierClocks, true);
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
            acquireFrom(warp, cluster.completedClocks, true);
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
