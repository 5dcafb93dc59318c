//===- TensorMemory.cpp - Allocation, loads and stores --------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Loads and stores are queued like products and complete when the order of the
// launch says so. A load writes its registers then; an instruction that names
// one of them waits for that, as hardware's scoreboard does, but only
// tcgen05.wait::ld tells that the memory may be overwritten.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

#include <algorithm>

namespace backfuse::emulator {

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

static bool overlaps(const std::vector<TensorAllocation> &allocations,
                     uint32_t column, uint32_t columns) {
  for (const TensorAllocation &other : allocations)
    if (column < other.column + other.columns &&
        other.column < column + columns)
      return true;
  return false;
}

int64_t TensorMemory::findFree(uint32_t columns,
                               const TensorMemory *other) const {
  for (uint32_t column = 0; column + columns <= numColumns; column += 32)
    if (!overlaps(allocations, column, columns) &&
        (!other || !overlaps(other->allocations, column, columns)))
      return column;
  return -1;
}

const TensorAllocation *TensorMemory::allocationOf(uint32_t column) const {
  for (const TensorAllocation &allocation : allocations)
    if (column >= allocation.column &&
        column < allocation.column + allocation.columns)
      return &allocation;
  return nullptr;
}

bool TensorMemory::isAllocated(uint32_t column, uint32_t columns) const {
  const uint32_t end = column + columns;
  while (column < end) {
    const TensorAllocation *allocation = allocationOf(column);
    if (!allocation)
      return false;
    column = allocation->column + allocation->columns;
  }
  return true;
}

std::string TensorMemory::describe() const {
  std::string text;
  for (const TensorAllocation &allocation : allocations)
    text += (text.empty() ? "columns " : ", ") +
            std::to_string(allocation.column) + " to " +
            std::to_string(allocation.column + allocation.columns - 1);
  return text.empty() ? "nothing" : text;
}

TensorMemory *Executor::tensorMemory(Warp &warp, const Inst &) {
  return warp.cta->tensor.get();
}

/// The CTAs that a tcgen05 instruction works in: its own, or the even and the
/// odd one of its pair.
bool Executor::pairOf(Warp &warp, const Inst &inst, Cta *(&ctas)[2]) {
  ctas[0] = warp.cta;
  ctas[1] = nullptr;
  if (kernel.ctaGroup != 2)
    return true;
  Cluster &cluster = *warp.cta->cluster;
  if (cluster.ctas.size() % 2) {
    fail(warp, inst, -1,
         ".cta_group::2 needs clusters of an even number of CTAs, but the "
         "launch has clusters of " +
             std::to_string(cluster.ctas.size()));
    return false;
  }
  ctas[0] = cluster.ctas[warp.cta->rank & ~1u].get();
  ctas[1] = cluster.ctas[warp.cta->rank | 1u].get();
  return true;
}

bool Executor::checkAllocated(Warp &warp, const Inst &inst, int lane,
                              const Cta &cta, uint32_t column, uint32_t columns,
                              const char *what) {
  if (column + columns <= TensorMemory::numColumns &&
      cta.tensor->isAllocated(column, columns))
    return true;
  fail(warp, inst, lane,
       std::string(what) + " columns " + std::to_string(column) + " to " +
           std::to_string(column + columns - 1) +
           " of the tensor memory of "
           "CTA " +
           std::to_string(cta.linear) + ", which has allocated " +
           cta.tensor->describe());
  return false;
}

static void give(TensorMemory &memory, uint32_t column, uint32_t columns,
                 uint32_t site) {
  memory.allocations.push_back({column, columns, site});
  // What an earlier kernel left there.
  for (uint32_t lane = 0; lane < TensorMemory::numLanes; ++lane)
    std::fill_n(&memory.word(lane, column), columns, ~0u);
  for (uint32_t c = column; !memory.cells.empty() && c < column + columns; ++c)
    for (uint32_t i = 0; i < TensorMemory::cellsPerColumn; ++i)
      memory.cell(i * TensorMemory::cellLanes, c) = TensorCell();
}

bool Executor::tensorAlloc(Warp &warp, Fragment &fragment, const Inst &inst) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  Cta *ctas[2];
  if (!pairOf(warp, inst, ctas))
    return false;
  TensorMemory &memory = *tensorMemory(warp, inst);
  auto columns = static_cast<uint32_t>(value(warp, refs[1], 0));
  uint64_t to = addressOf(warp, refs[0], 0, inst.imm);
  if ((to & windowMask) == sharedWindow)
    to = static_cast<uint32_t>(to);
  uint8_t *where = nullptr;
  if (to % 4) {
    fail(warp, inst, 0, "address " + hex(to) + " is not a multiple of 4");
    return false;
  }
  if (!(where = sharedBytes(warp, inst, 0, to, 4, false, "allocation")))
    return false;
  if (columns < 32 || columns > TensorMemory::numColumns ||
      (columns & (columns - 1))) {
    fail(warp, inst, -1,
         "expects a power of two from 32 to 512 columns, but got " +
             std::to_string(columns));
    return false;
  }
  if (memory.isRelinquished) {
    fail(warp, inst, -1,
         "allocates after the CTA gave up its permit with "
         "tcgen05.relinquish_alloc_permit");
    return false;
  }
  if (columns > memory.mostColumns) {
    fail(warp, inst, -1,
         "allocates " + std::to_string(columns) + " columns after " +
             std::to_string(memory.mostColumns) +
             ": the numbers of successive allocations must not grow");
    return false;
  }
  int64_t column = -1;
  if (kernel.ctaGroup == 1) {
    column = memory.findFree(columns, nullptr);
    if (column < 0) {
      fragment.wait = Wait::TensorColumns;
      fragment.key = columns;
      return false;
    }
    give(memory, static_cast<uint32_t>(column), columns, inst.source);
  } else {
    Cta &peer = *ctas[ctas[0] == warp.cta ? 1 : 0];
    TensorMemory &other = *peer.tensor;
    if (memory.granted < 0) {
      memory.requested = columns;
      if (!other.requested) {
        fragment.wait = Wait::TensorPeer;
        fragment.key = columns;
        return false;
      }
      if (other.requested != columns) {
        fail(warp, inst, -1,
             "allocates " + std::to_string(columns) +
                 " columns, but the other CTA of the pair allocates " +
                 std::to_string(other.requested));
        return false;
      }
      column = memory.findFree(columns, &other);
      if (column < 0) {
        fragment.wait = Wait::TensorColumns;
        fragment.key = columns;
        return false;
      }
      give(memory, static_cast<uint32_t>(column), columns, inst.source);
      give(other, static_cast<uint32_t>(column), columns, inst.source);
      other.granted = column;
      for (auto &waiting : peer.warps)
        for (Fragment &waits : waiting->fragments)
          if (waits.wait == Wait::TensorPeer ||
              waits.wait == Wait::TensorColumns)
            wake(*waiting, waits);
    } else {
      column = memory.granted;
      memory.granted = -1;
    }
    memory.requested = 0;
  }
  memory.mostColumns = columns;
  memory.allocWarp = warp.clusterIndex;
  if (checks) {
    memory.allocClock = warp.clock;
    if (!checkSharedWrite(
            warp, inst, 0, *warp.cta,
            static_cast<uint32_t>(to & ((1u << clusterRankShift) - 1)), 4,
            Scope::None))
      return false;
    meetLanes(warp, warp.lanes); // all lanes took part
  }
  auto bits = static_cast<uint32_t>(column);
  std::memcpy(where, &bits, 4);
  progress(warp);
  return true;
}

bool Executor::tensorDealloc(Warp &warp, const Inst &inst) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  Cta *ctas[2];
  if (!pairOf(warp, inst, ctas))
    return false;
  auto address = static_cast<uint32_t>(value(warp, refs[0], 0)),
       columns = static_cast<uint32_t>(value(warp, refs[1], 0));
  TensorMemory &memory = *tensorMemory(warp, inst);
  auto found = std::find_if(
      memory.allocations.begin(), memory.allocations.end(),
      [&](const TensorAllocation &a) { return a.column == address; });
  if (found == memory.allocations.end() || found->columns != columns) {
    fail(warp, inst, -1,
         "frees " + std::to_string(columns) + " columns at " + hex(address) +
             " of tensor memory, but the CTA has allocated " +
             memory.describe());
    return false;
  }
  if (kernel.ctaGroup == 2) {
    const Cta &peer = *ctas[ctas[0] == warp.cta ? 1 : 0];
    const TensorMemory &other = *peer.tensor;
    bool isInside = other.requested != 0;
    if (checks && !isInside && &peer != warp.cta)
      isInside = !isUseKnown(warp, other.allocWarp, other.allocClock);
    if (isInside) {
      fail(warp, inst, -1,
           "frees tensor memory while the other CTA of the pair may still be "
           "inside tcgen05.alloc: a cluster barrier is missing");
      return false;
    }
  }
  if (checks) {
    TensorRegion region;
    region.cta = warp.cta;
    region.column = found->column;
    region.columns = found->columns;
    region.cellRows = 0xff;
    if (!checkTensor(warp, inst, -1, region, TensorAccess::Free, false))
      return false;
  }
  memory.allocations.erase(found);
  for (Cta *cta : ctas)
    if (cta)
      for (auto &waiting : cta->warps)
        for (Fragment &waits : waiting->fragments)
          if (waits.wait == Wait::TensorColumns)
            wake(*waiting, waits);
  progress(warp);
  return true;
}

bool Executor::tensorRelinquish(Warp &warp, const Inst &inst) {
  tensorMemory(warp, inst)->isRelinquished = true;
  progress(warp);
  return true;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

uint32_t columnsOf(const Inst &inst) {
  uint32_t columns = inst.shapeN;
  switch (inst.sub) {
  case tensor::Ld16x64b:
    columns *= 2;
    break;
  case tensor::Ld16x128b:
    columns *= 4;
    break;
  case tensor::Ld16x256b:
    columns *= 8;
    break;
  default:
    break;
  }
  return inst.laneFlags & tensor::packed ? 2 * columns : columns;
}

TensorPlace placeOf(const Inst &inst, unsigned t, unsigned r, unsigned half) {
  TensorPlace place{0, 0};
  switch (inst.sub) {
  case tensor::Ld32x32b:
    place = {t, r};
    break;
  case tensor::Ld16x64b:
    place = {t / 4 + 8 * (t & 1), 2 * r + (t >> 1 & 1)};
    break;
  case tensor::Ld16x128b:
    place = {t / 4 + 8 * (r & 1), 4 * (r / 2) + t % 4};
    break;
  case tensor::Ld16x256b:
    place = {t / 4 + 8 * (r >> 1 & 1), 8 * (r / 4) + 2 * (t % 4) + (r & 1)};
    break;
  default: // 16x32bx2
    place = {t % 16, r};
    break;
  }
  if (inst.laneFlags & tensor::packed)
    place.column = 2 * place.column + half;
  return place;
}

/// The lanes and columns of an ld or st, one region or two.
std::vector<TensorRegion> Executor::regionsOfMove(Warp &warp, const Inst &inst,
                                                  uint32_t address) const {
  std::vector<TensorRegion> regions;
  unsigned halves = inst.sub == tensor::Ld16x32bx2 ? 2 : 1;
  for (unsigned h = 0; h < halves; ++h) {
    uint32_t at = h ? address + inst.target : address;
    TensorRegion region;
    region.cta = warp.cta;
    region.column = at & 0xffff;
    region.columns = columnsOf(inst);
    unsigned cell = warp.index % 4 * 2 + (at >> 20 & 1);
    region.cellRows = static_cast<uint8_t>(
        inst.sub == tensor::Ld32x32b ? 3u << cell : 1u << cell);
    regions.push_back(region);
  }
  return regions;
}

bool Executor::issueTensorMove(Warp &warp, const Inst &inst) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  bool isLoad = inst.op == Op::TensorMemoryLoad;
  auto address = static_cast<uint32_t>(addressOf(warp, refs[0], 0, inst.imm));
  for (unsigned l = 1; l < 32; ++l)
    if ((warp.lanes >> l & 1) && static_cast<uint32_t>(addressOf(
                                     warp, refs[0], l, inst.imm)) != address) {
      fail(warp, inst, static_cast<int>(l),
           "the lanes of the warp give different addresses");
      return false;
    }
  for (const TensorRegion &region : regionsOfMove(warp, inst, address))
    if (!checkAllocated(warp, inst, -1, *warp.cta, region.column,
                        region.columns, isLoad ? "loads" : "stores to"))
      return false;
  unsigned halves = inst.sub == tensor::Ld16x32bx2 ? 2 : 1;
  for (unsigned h = 0; h < halves; ++h) {
    uint32_t lane = (h ? address + inst.target : address) >> 16;
    uint32_t inside = lane & 31;
    // Hardware ignores which quarter the address names, and programs may leave
    // it 0; another quarter than the warp's is a mistake.
    uint32_t quarter = lane >> 5;
    if (quarter && quarter != warp.index % 4) {
      fail(warp, inst, -1,
           "names lane " + std::to_string(lane) +
               " of tensor memory, but warp " + std::to_string(warp.index) +
               " may use lanes " + std::to_string(warp.index % 4 * 32) +
               " to " + std::to_string(warp.index % 4 * 32 + 31) + " only");
      return false;
    }
    if (inst.sub == tensor::Ld32x32b ? inside != 0 : inside % 16 != 0) {
      fail(warp, inst, -1,
           "expects the first lane to be a multiple of " +
               std::string(inst.sub == tensor::Ld32x32b ? "32" : "16") +
               ", but got " + std::to_string(lane));
      return false;
    }
  }
  if (checks)
    for (const TensorRegion &region : regionsOfMove(warp, inst, address))
      if (!checkTensor(warp, inst, -1, region,
                       isLoad ? TensorAccess::Load : TensorAccess::Store,
                       isLoad))
        return false;
  auto op = makeTensorOp(isLoad ? TensorOp::Load : TensorOp::Store, warp, inst,
                         /*lane=*/0);
  op->address = address;
  if (isLoad) {
    ++warp.loadsInFlight;
    if (warp.loadedPlaces.empty())
      warp.loadedPlaces.assign(kernel.registerBytes / 128 / 64 + 1, 0);
    for (unsigned r = 1; r < inst.numRefs; ++r)
      addBit(warp.loadedPlaces, refs[r].offset / 128);
    if (checks && launch.options.strict) {
      warp.loadsUnwaited.push_back(&inst);
      warp.placesUnwaited.resize(warp.loadedPlaces.size(), 0);
      for (unsigned r = 1; r < inst.numRefs; ++r)
        addBit(warp.placesUnwaited, refs[r].offset / 128);
    }
  } else {
    ++warp.storesInFlight;
    op->data.resize((inst.numRefs - 1u) * 32u);
    for (unsigned r = 1; r < inst.numRefs; ++r)
      std::memcpy(op->data.data() + (r - 1) * 32u, source(warp, refs[r]), 128);
  }
  warp.cta->cluster->tensorOps.push_back(std::move(op));
  progress(warp);
  return true;
}

/// Where the words of a load or store are: f(register, thread, half, word).
template <class F> static void forEachWord(const TensorOp &op, F f) {
  const Inst &inst = *op.inst;
  TensorMemory &memory = *op.cta->tensor;
  unsigned halves = inst.laneFlags & tensor::packed ? 2 : 1;
  for (unsigned r = 0; r + 1u < inst.numRefs; ++r)
    for (unsigned t = 0; t < 32; ++t)
      for (unsigned h = 0; h < halves; ++h) {
        uint32_t address = op.address;
        if (inst.sub == tensor::Ld16x32bx2 && t >= 16)
          address += inst.target;
        TensorPlace place = placeOf(inst, t, r, h);
        uint32_t lane = op.warp->index % 4 * 32 + (address >> 16 & 16);
        f(r, t, h,
          memory.word(lane + place.lane, (address & 0xffff) + place.column));
      }
}

void Executor::executeTensorLoad(const TensorOp &op) {
  const Ref *refs = kernel.refs.data() + op.inst->firstRef;
  bool packed = op.inst->laneFlags & tensor::packed;
  forEachWord(op, [&](unsigned r, unsigned t, unsigned h, uint32_t word) {
    auto *to = reinterpret_cast<uint32_t *>(place(*op.warp, refs[1 + r])) + t;
    if (!packed)
      *to = word;
    else
      *to = h ? (*to & 0xffffu) | word << 16 : word & 0xffffu;
  });
}

void Executor::executeTensorStore(const TensorOp &op) {
  bool packed = op.inst->laneFlags & tensor::packed;
  forEachWord(op, [&](unsigned r, unsigned t, unsigned h, uint32_t &word) {
    uint32_t from = op.data[r * 32 + t];
    word = packed ? (h ? from >> 16 : from & 0xffffu) : from;
  });
}

void Executor::updateLoaded(Warp &warp) {
  std::fill(warp.loadedPlaces.begin(), warp.loadedPlaces.end(), 0);
  if (!warp.loadsInFlight)
    return;
  for (const auto &op : warp.cta->cluster->tensorOps)
    if (op->warp == &warp && op->kind == TensorOp::Load) {
      const Ref *refs = kernel.refs.data() + op->inst->firstRef;
      for (unsigned r = 1; r < op->inst->numRefs; ++r)
        addBit(warp.loadedPlaces, refs[r].offset / 128);
    }
}

bool Executor::touchesLoaded(const Warp &warp, const Inst &inst) const {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  for (unsigned r = 0; r < inst.numRefs; ++r)
    if (refs[r].kind == Ref::Reg &&
        hasBit(warp.loadedPlaces, refs[r].offset / 128))
      return true;
  return false;
}

/// Lets the warp's loads (stores) complete before it goes on. False when it
/// waits.
bool Executor::waitForLoaded(Warp &warp, Fragment &fragment, const Inst &inst) {
  bool isStore =
      inst.op == Op::TensorMemoryWait && (inst.laneFlags & tensor::isStore);
  const TensorOp::Kind kind = isStore ? TensorOp::Store : TensorOp::Load;
  if (!(isStore ? warp.storesInFlight : warp.loadsInFlight))
    return true;
  if (launch.options.order != Order::InOrder) {
    fragment.wait = isStore ? Wait::TensorStores : Wait::TensorLoads;
    return false;
  }
  Cluster &cluster = *warp.cta->cluster;
  for (size_t i = 0; i < cluster.tensorOps.size();)
    if (cluster.tensorOps[i]->warp == &warp &&
        cluster.tensorOps[i]->kind == kind)
      completeTensor(cluster, i);
    else
      ++i;
  return true;
}

bool Executor::tensorWait(Warp &warp, Fragment &fragment, const Inst &inst) {
  if (!waitForLoaded(warp, fragment, inst))
    return false;
  if (inst.laneFlags & tensor::isStore)
    warp.storesWaited = warp.storeClock++;
  else {
    warp.loadsWaited = warp.loadClock++;
    warp.loadsUnwaited.clear();
    std::fill(warp.placesUnwaited.begin(), warp.placesUnwaited.end(), 0);
  }
  if (!launch.options.tensorFences)
    publishWaited(warp);
  return true;
}

/// What the warp waited for is known to whoever learns from it.
void Executor::publishWaited(Warp &warp) {
  if (!checks)
    return;
  std::vector<uint32_t> &known = warp.known.tensor;
  size_t at = 3u * warp.clusterIndex;
  if (known.size() < at + 3)
    known.resize(at + 3, 0);
  known[at] = warp.loadsWaited;
  known[at + 1] = warp.storesWaited;
}

/// before_thread_sync: what was waited for is passed on by the barriers that
/// follow. after_thread_sync: what was learnt at barriers counts from here on.
void Executor::tensorFence(Warp &warp, const Inst &inst) {
  if (!checks)
    return;
  if (inst.laneFlags & tensor::isAfter)
    warp.tensorKnown = warp.known.tensor;
  else
    publishWaited(warp);
}

} // namespace backfuse::emulator
