//===- Tcgen05.cpp - Products, copies to tensor memory, commits -----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// One thread issues a product; it is computed when the order of the launch
// says so, from what shared and tensor memory hold then. Work completes in any
// order but where the PTX manual promises one ("pipelined" instructions of one
// thread): products on one accumulator, a copy before a product, a commit
// behind everything that its thread issued before.
//
// With .cta_group::2 a pair of CTAs multiplies: each has its rows of A and of D
// and half of the rows (columns of D) of B, at the same addresses in both.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

#include <algorithm>
#include <cmath>

namespace backfuse::emulator {

constexpr uint32_t offsetMask = (1u << clusterRankShift) - 1;

//===----------------------------------------------------------------------===//
// Geometry
//===----------------------------------------------------------------------===//

/// The tensor memory lane of row `m` of the M / group rows that one CTA has.
/// (With M = 128 of a pair the lanes from 64 on have the upper half of N.)
static uint32_t laneOfRow(const TensorOp &op, unsigned group, uint32_t m,
                          uint32_t base) {
  if (group == 1 && op.form.m == 64)
    return 32 * (m / 16) + m % 16 + base;
  return m;
}

/// Whether D's columns are in two halves of the lanes.
static bool isSplit(const TensorOp &op, unsigned group) {
  return group == 2 && op.form.m == 128;
}

static uint32_t columnsOfD(const TensorOp &op, unsigned group) {
  return isSplit(op, group) ? op.form.n / 2 : op.form.n;
}

static uint8_t cellRowsOf(const TensorOp &op, unsigned group,
                          uint32_t address) {
  if (group == 1 && op.form.m == 64)
    return (address >> 16 & 16) ? 0xaa : 0x55;
  return 0xff;
}

static Cta &memberOf(const TensorOp &op, unsigned group, unsigned i) {
  Cluster &cluster = *op.cta->cluster;
  return group == 1 ? *op.cta : *cluster.ctas[(op.cta->rank & ~1u) + i];
}

std::vector<TensorRegion> Executor::regionsOfD(const TensorOp &op) const {
  std::vector<TensorRegion> regions(kernel.ctaGroup);
  for (unsigned i = 0; i < kernel.ctaGroup; ++i) {
    regions[i].cta = &memberOf(op, kernel.ctaGroup, i);
    regions[i].column = op.address & 0xffff;
    if (op.kind == TensorOp::Copy) {
      regions[i].columns = op.inst->sub == tensor::Cp128x256b ? 8 : 4;
      regions[i].cellRows = 0xff;
    } else {
      regions[i].columns = columnsOfD(op, kernel.ctaGroup);
      regions[i].cellRows = cellRowsOf(op, kernel.ctaGroup, op.address);
    }
  }
  return regions;
}

std::vector<TensorRegion> Executor::regionsOfA(const TensorOp &op) const {
  std::vector<TensorRegion> regions;
  if (op.kind != TensorOp::Mma ||
      !(op.inst->laneFlags & tensor::aInTensorMemory))
    return regions;
  regions.resize(kernel.ctaGroup);
  for (unsigned i = 0; i < kernel.ctaGroup; ++i) {
    regions[i].cta = &memberOf(op, kernel.ctaGroup, i);
    regions[i].column = op.a & 0xffff;
    regions[i].columns = 8; // 32 bytes of K
    regions[i].cellRows = cellRowsOf(op, kernel.ctaGroup, op.a);
  }
  return regions;
}

/// Calls f(CTA, address) for each 16 bytes that a product or copy reads from
/// shared memory as A (also of copies) or B.
template <class F>
bool Executor::forEachTensorChunk(const TensorOp &op, bool isA, F f) const {
  const unsigned group = kernel.ctaGroup;
  MatrixDescriptor descriptor;
  unsigned extent, kBytes = 32, elementBytes = 2;
  bool kMajor = true;
  if (op.kind == TensorOp::Copy) {
    if (!isA)
      return true;
    extent = op.inst->sub == tensor::Cp32x128b ? 32
             : op.inst->sub == tensor::Cp64x128b02_13 ||
                     op.inst->sub == tensor::Cp64x128b01_23
                 ? 64
                 : 128;
    kBytes = op.inst->sub == tensor::Cp128x256b ? 32 : 16;
  } else {
    if (isA && (op.inst->laneFlags & tensor::aInTensorMemory))
      return true;
    extent = (isA ? op.form.m : op.form.n) / group;
    kMajor = !(isA ? op.form.aIsMnMajor : op.form.bIsMnMajor);
    elementBytes = op.form.elementBytes();
  }
  (void)descriptor.decode(isA ? op.descA : op.descB);
  const unsigned perChunk = 16 / elementBytes, k = kBytes / elementBytes;
  const unsigned outer = kMajor ? extent : k, inner = kMajor ? k : extent;
  for (unsigned i = 0; i < group; ++i) {
    Cta &cta = memberOf(op, group, i);
    for (unsigned o = 0; o < outer; ++o)
      for (unsigned in = 0; in < inner; in += perChunk)
        if (!f(cta, descriptor.chunk(kMajor, kMajor ? o : in, kMajor ? in : o,
                                     elementBytes)))
          return false;
  }
  return true;
}

bool Executor::involves(const TensorOp &op, const Cta &cta) const {
  if (op.kind == TensorOp::Commit) {
    uint32_t mask = op.barrierCtas();
    return op.cta->cluster == cta.cluster && (mask >> cta.rank & 1);
  }
  if (op.kind == TensorOp::Load || op.kind == TensorOp::Store)
    return op.cta == &cta;
  for (unsigned i = 0; i < kernel.ctaGroup; ++i)
    if (&memberOf(op, kernel.ctaGroup, i) == &cta)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

std::unique_ptr<TensorOp> makeTensorOp(TensorOp::Kind kind, Warp &warp,
                                       const Inst &inst, unsigned lane) {
  auto op = std::make_unique<TensorOp>();
  op->kind = kind;
  op->cta = warp.cta;
  op->warp = &warp;
  op->lane = lane;
  op->inst = &inst;
  op->order = warp.tensorOrder++;
  return op;
}

bool Executor::issueTensor(Warp &warp, const Inst &inst, uint32_t mask) {
  if (mask & (mask - 1)) {
    fail(warp, inst, static_cast<int>(lowest(mask)),
         "is executed by lanes " + hex(mask) +
             ", each of which would issue it: expects one elected thread");
    return false;
  }
  unsigned lane = lowest(mask);
  ++warp.cta->cluster->progress;
  switch (inst.op) {
  case Op::TensorMma:
    return issueMma(warp, inst, lane);
  case Op::TensorMemoryCopy:
    return issueTensorCopy(warp, inst, lane);
  default:
    return issueCommit(warp, inst, lane);
  }
}

/// Whether an operand's descriptor is legal and stays in shared memory.
bool Executor::checkOperand(Warp &warp, const TensorOp &op, bool isA) {
  const Inst &inst = *op.inst;
  const auto lane = static_cast<int>(op.lane);
  bool isCopy = op.kind == TensorOp::Copy;
  uint64_t bits = isA ? op.descA : op.descB;
  std::string prefix = "descriptor " + hex(bits) +
                       (isCopy ? ""
                        : isA  ? " of A"
                               : " of B");
  MatrixDescriptor descriptor;
  std::string wrong = descriptor.decode(bits);
  if (wrong.empty() && isCopy) {
    unsigned rows = op.inst->sub == tensor::Cp32x128b ? 32 : 64;
    wrong = descriptor.whyIllegal(true, rows,
                                  inst.sub == tensor::Cp128x256b ? 32 : 16, 2);
  } else if (wrong.empty()) {
    wrong =
        descriptor.whyIllegal(!(isA ? op.form.aIsMnMajor : op.form.bIsMnMajor),
                              (isA ? op.form.m : op.form.n) / kernel.ctaGroup,
                              32, op.form.elementBytes());
  }
  if (!wrong.empty()) {
    fail(warp, inst, lane, prefix + ": " + wrong);
    return false;
  }
  return forEachTensorChunk(op, isA, [&](Cta &cta, uint32_t address) {
    if (address < sharedBase || address + 16 > cta.smemEnd) {
      fail(warp, inst, lane,
           prefix + " reaches shared address " + hex(address) +
               ", out of bounds: shared memory is " + hex(sharedBase) + " to " +
               hex(cta.smemEnd));
      return false;
    }
    return true;
  });
}

/// A number that two products on the same accumulator share.
static uint32_t formOf(const TensorOp &op) {
  return (op.address & 0x1ff) | (op.address >> 20 & 1) << 9 |
         (op.form.n / 8) << 10 | (op.form.m / 16) << 16 | 1u << 31;
}

bool Executor::issueMma(Warp &warp, const Inst &inst, unsigned lane) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  const auto laneIndex = static_cast<int>(lane);
  const bool aInMemory = inst.laneFlags & tensor::aInTensorMemory;
  Cta *ctas[2];
  if (!pairOf(warp, inst, ctas))
    return false;
  if (ctas[1] && warp.cta != ctas[0]) {
    fail(warp, inst, laneIndex,
         "the CTA of odd rank issues a product of the pair: the even one does");
    return false;
  }
  auto op = makeTensorOp(TensorOp::Mma, warp, inst, lane);
  op->address = static_cast<uint32_t>(addressOf(warp, refs[0], lane, inst.imm));
  if (aInMemory)
    op->a = static_cast<uint32_t>(
        addressOf(warp, refs[1], lane, static_cast<int32_t>(inst.target)));
  else
    op->descA = value(warp, refs[1], lane);
  op->descB = value(warp, refs[2], lane);
  op->accumulate = predicate(warp, refs[4]) >> lane & 1;
  if (inst.laneFlags & tensor::hasLaneMask)
    for (unsigned i = 0; i < 4 * kernel.ctaGroup; ++i)
      op->laneMask[i] = static_cast<uint32_t>(value(warp, refs[5 + i], lane));
  auto bits = static_cast<uint32_t>(value(warp, refs[3], lane));
  std::string wrong =
      op->form.decode(bits, inst.type == Type::TF32, kernel.ctaGroup);
  if (wrong.empty() && aInMemory && op->form.aIsMnMajor)
    wrong = "A in tensor memory cannot be transposed (bit 15)";
  if (!wrong.empty()) {
    fail(warp, inst, laneIndex,
         "instruction descriptor " + hex(bits) + ": " + wrong);
    return false;
  }
  const bool hasHalves = kernel.ctaGroup == 1 && op->form.m == 64;
  for (unsigned i = 0; i < (aInMemory ? 2u : 1u); ++i) {
    uint32_t first = (i ? op->a : op->address) >> 16;
    if (first && !(hasHalves && first == 16)) {
      fail(warp, inst, laneIndex,
           std::string(i ? "A" : "D") + " begins at lane " +
               std::to_string(first) + " of tensor memory, but must begin at " +
               (hasHalves ? "0 or 16" : "0"));
      return false;
    }
  }
  if (aInMemory && hasHalves && op->a >> 16 != op->address >> 16) {
    fail(warp, inst, laneIndex, "A and D begin at different lanes");
    return false;
  }
  for (const TensorRegion &region : regionsOfD(*op))
    if (!checkAllocated(warp, inst, laneIndex, *region.cta, region.column,
                        region.columns, "writes"))
      return false;
  for (const TensorRegion &region : regionsOfA(*op))
    if (!checkAllocated(warp, inst, laneIndex, *region.cta, region.column,
                        region.columns, "reads"))
      return false;
  if ((!aInMemory && !checkOperand(warp, *op, true)) ||
      !checkOperand(warp, *op, false))
    return false;
  if (ctas[1] && ctas[1]->liveWarps == 0) {
    fail(warp, inst, laneIndex, "the other CTA of the pair has exited");
    return false;
  }
  op->clock = ++warp.asyncClock;
  if (checks) {
    auto read = [&](Cta &cta, uint32_t address) {
      return checkAsyncRead(warp, inst, laneIndex, cta, address, 16, true,
                            true);
    };
    if (!forEachTensorChunk(*op, true, read) ||
        !forEachTensorChunk(*op, false, read))
      return false;
    for (const TensorRegion &region : regionsOfA(*op))
      if (!checkTensor(warp, inst, laneIndex, region, TensorAccess::ProductRead,
                       true))
        return false;
    std::vector<TensorRegion> regions = regionsOfD(*op);
    for (unsigned i = 0; i < regions.size(); ++i)
      for (unsigned c = 0; c < TensorMemory::cellsPerColumn; ++c) {
        // Lanes whose results are dropped are not touched.
        uint32_t off = op->laneMask[4 * i + c / 2] >> (16 * (c & 1)) & 0xffff;
        if (!(regions[i].cellRows >> c & 1) || off == 0xffff)
          continue;
        TensorRegion part = regions[i];
        part.cellRows = static_cast<uint8_t>(1u << c);
        part.laneMask = static_cast<uint16_t>(~off);
        if (!checkTensor(warp, inst, laneIndex, part, TensorAccess::Product,
                         op->accumulate, formOf(*op)))
          return false;
      }
  }
  warp.cta->cluster->tensorOps.push_back(std::move(op));
  return true;
}

bool Executor::issueTensorCopy(Warp &warp, const Inst &inst, unsigned lane) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  const auto laneIndex = static_cast<int>(lane);
  Cta *ctas[2];
  if (!pairOf(warp, inst, ctas))
    return false;
  auto op = makeTensorOp(TensorOp::Copy, warp, inst, lane);
  op->address = static_cast<uint32_t>(addressOf(warp, refs[0], lane, inst.imm));
  op->descA = value(warp, refs[1], lane);
  if (op->address >> 16) {
    fail(warp, inst, laneIndex,
         "copies to lane " + std::to_string(op->address >> 16) +
             " of tensor memory, but must begin at 0");
    return false;
  }
  for (const TensorRegion &region : regionsOfD(*op))
    if (!checkAllocated(warp, inst, laneIndex, *region.cta, region.column,
                        region.columns, "copies to"))
      return false;
  if (!checkOperand(warp, *op, true))
    return false;
  op->clock = ++warp.asyncClock;
  if (checks) {
    auto read = [&](Cta &cta, uint32_t address) {
      return checkAsyncRead(warp, inst, laneIndex, cta, address, 16, true,
                            true);
    };
    if (!forEachTensorChunk(*op, true, read))
      return false;
    for (const TensorRegion &region : regionsOfD(*op))
      if (!checkTensor(warp, inst, laneIndex, region, TensorAccess::Copy,
                       false))
        return false;
  }
  warp.cta->cluster->tensorOps.push_back(std::move(op));
  return true;
}

bool Executor::issueCommit(Warp &warp, const Inst &inst, unsigned lane) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  const auto laneIndex = static_cast<int>(lane);
  Cluster &cluster = *warp.cta->cluster;
  auto op = makeTensorOp(TensorOp::Commit, warp, inst, lane);
  op->barrier = static_cast<uint32_t>(addressOf(warp, refs[0], lane, inst.imm));
  if (refs[1].kind != Ref::None) {
    op->multicast = static_cast<uint16_t>(value(warp, refs[1], lane));
    if (!op->multicast || op->multicast >> cluster.ctas.size()) {
      fail(warp, inst, laneIndex,
           "multicast mask " + hex(op->multicast) +
               " names no CTA, or CTAs outside the cluster of " +
               std::to_string(cluster.ctas.size()));
      return false;
    }
  }
  if (op->barrier % 8) {
    fail(warp, inst, laneIndex,
         "mbarrier address " + hex(op->barrier) + " is not a multiple of 8");
    return false;
  }
  if (!sharedBytes(warp, inst, laneIndex, op->barrier, 8, true, "mbarrier"))
    return false;
  uint32_t offset = op->barrier & offsetMask;
  uint32_t mask = op->barrierCtas();
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    Cta &cta = *cluster.ctas[lowest(rest)];
    if (!mbarrier::isValid(readMbarrier(cta, offset))) {
      fail(warp, inst, laneIndex,
           "no mbarrier was initialised at shared address " + hex(offset) +
               " of CTA " + std::to_string(cta.linear));
      return false;
    }
    if (checks && !checkMbarrier(warp, inst, laneIndex, cta, offset, true))
      return false;
  }
  if (checks) {
    // What the thread issued is complete then, up to what other threads of the
    // warp have in flight. A commit contains fence::before_thread_sync.
    uint32_t clock = warp.asyncClock;
    for (const auto &other : cluster.tensorOps)
      if (other->warp == &warp && other->lane != lane &&
          (other->kind == TensorOp::Mma || other->kind == TensorOp::Copy))
        clock = std::min(clock, other->clock - 1);
    std::vector<uint32_t> &published = op->published.tensor;
    published = warp.known.tensor;
    size_t at = 3u * warp.clusterIndex;
    if (published.size() < at + 3)
      published.resize(at + 3, 0);
    published[at] = warp.loadsWaited;
    published[at + 1] = warp.storesWaited;
    published[at + 2] = std::max(published[at + 2], clock);
    // It does not release what the thread did with ordinary instructions, but
    // copies that the thread waited for came before its products.
    op->published.phases = warp.known.phases;
    if (warp.extraLanes >> lane & 1) {
      Clocks phases;
      phases.phases = warp.extra[lane].phases;
      op->published.join(phases);
    }
  }
  cluster.tensorOps.push_back(std::move(op));
  return true;
}

//===----------------------------------------------------------------------===//
// Completion
//===----------------------------------------------------------------------===//

static float operandValue(const uint8_t *from, Type type) {
  if (type == Type::TF32) {
    uint32_t bits;
    std::memcpy(&bits, from, 4);
    bits &= ~0x1fffu; // the low 13 bits are dropped
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, from, 2);
  return type == Type::BF16 ? bf16ToFloat(half) : f16ToFloat(half);
}

/// The value of a product's A at row m, k in tensor memory.
static float tensorOperand(TensorMemory &memory, const TensorOp &op,
                           uint32_t lane, uint32_t k) {
  uint8_t bytes[4];
  if (op.form.a == Type::TF32) {
    std::memcpy(bytes, &memory.word(lane, (op.a & 0xffff) + k), 4);
    return operandValue(bytes, op.form.a);
  }
  uint32_t word = memory.word(lane, (op.a & 0xffff) + k / 2);
  auto half = static_cast<uint16_t>(word >> (16 * (k & 1)));
  std::memcpy(bytes, &half, 2);
  return operandValue(bytes, op.form.a);
}

void Executor::executeMma(const TensorOp &op) {
  const unsigned group = kernel.ctaGroup, k = op.form.k(), n = op.form.n;
  const unsigned elementBytes = op.form.elementBytes(),
                 perChunk = 16 / elementBytes;
  const bool aInMemory = op.inst->laneFlags & tensor::aInTensorMemory;
  const unsigned rows = op.form.m / group, columnsHere = n / group;
  auto gather = [&](uint64_t bits, const Cta &cta, bool kMajor, unsigned extent,
                    auto store) {
    MatrixDescriptor descriptor;
    (void)descriptor.decode(bits);
    unsigned outer = kMajor ? extent : k, inner = kMajor ? k : extent;
    for (unsigned o = 0; o < outer; ++o)
      for (unsigned i = 0; i < inner; i += perChunk) {
        const uint8_t *from =
            cta.smem.data() + descriptor.chunk(kMajor, kMajor ? o : i,
                                               kMajor ? i : o, elementBytes);
        for (unsigned e = 0; e < perChunk; ++e) {
          store(kMajor ? o : i + e, kMajor ? i + e : o,
                operandValue(from + e * elementBytes, op.form.a));
        }
      }
  };
  // B as [k][n]; each CTA of a pair has its half of the columns.
  panelB.resize(static_cast<size_t>(k) * n);
  for (unsigned i = 0; i < group; ++i)
    gather(op.descB, memberOf(op, group, i), !op.form.bIsMnMajor, columnsHere,
           [&](unsigned mn, unsigned kk, float x) {
             panelB[static_cast<size_t>(kk) * n + i * columnsHere + mn] =
                 op.form.negateB ? -x : x;
           });
  const bool split = isSplit(op, group);
  const unsigned numColumns = columnsOfD(op, group);
  const float scale = std::ldexp(1.0f, -static_cast<int>(op.inst->count));
  std::vector<float> halves, unused(numColumns);
  for (unsigned i = 0; i < group; ++i) {
    Cta &cta = memberOf(op, group, i);
    TensorMemory &memory = *cta.tensor;
    for (unsigned part = 0; part < (split ? 2u : 1u); ++part) {
      panelA.resize(static_cast<size_t>(rows) * k);
      auto storeA = [&](unsigned m, unsigned kk, float x) {
        panelA[static_cast<size_t>(m) * k + kk] = op.form.negateA ? -x : x;
      };
      if (aInMemory) {
        for (unsigned m = 0; m < rows; ++m)
          for (unsigned kk = 0; kk < k; ++kk)
            storeA(m, kk,
                   tensorOperand(memory, op,
                                 laneOfRow(op, group, m, op.a >> 16 & 16) +
                                     64 * part,
                                 kk));
      } else {
        gather(op.descA, cta, !op.form.aIsMnMajor, rows, storeA);
      }
      std::vector<float *> d(rows);
      if (op.form.accumulatesHalf)
        halves.assign(static_cast<size_t>(rows) * numColumns, 0.0f);
      for (unsigned m = 0; m < rows; ++m) {
        uint32_t lane =
            laneOfRow(op, group, m, op.address >> 16 & 16) + 64 * part;
        uint32_t *row = &memory.word(lane, op.address & 0xffff);
        if (op.laneMask[4 * i + lane / 32] >> (lane % 32) & 1) {
          d[m] = unused.data();
          continue;
        }
        if (op.form.accumulatesHalf) {
          d[m] = halves.data() + static_cast<size_t>(m) * numColumns;
          for (unsigned c = 0; c < numColumns; ++c)
            d[m][c] = f16ToFloat(static_cast<uint16_t>(row[c]));
        } else {
          d[m] = reinterpret_cast<float *>(row);
        }
        if (op.accumulate && op.inst->count)
          for (unsigned c = 0; c < numColumns; ++c)
            d[m][c] *= scale;
      }
      table.mmaRows(d.data(), rows, panelA.data(),
                    panelB.data() + (split ? part * (n / 2) : 0), n, numColumns,
                    k, !op.accumulate);
      for (unsigned m = 0; op.form.accumulatesHalf && m < rows; ++m) {
        if (d[m] == unused.data())
          continue;
        uint32_t lane =
            laneOfRow(op, group, m, op.address >> 16 & 16) + 64 * part;
        for (unsigned c = 0; c < numColumns; ++c)
          memory.word(lane, (op.address & 0xffff) + c) = floatToF16(d[m][c]);
      }
    }
  }
  ++counts.tensorInstructions;
  counts.tensorOperations += 2.0 * op.form.m * n * k;
}

void Executor::executeTensorCopy(const TensorOp &op) {
  const unsigned shape = op.inst->sub;
  const unsigned words = shape == tensor::Cp128x256b ? 8 : 4;
  MatrixDescriptor descriptor;
  (void)descriptor.decode(op.descA);
  for (unsigned i = 0; i < kernel.ctaGroup; ++i) {
    Cta &cta = memberOf(op, kernel.ctaGroup, i);
    for (uint32_t lane = 0; lane < TensorMemory::numLanes; ++lane) {
      // Which of the rows a lane takes.
      uint32_t row = shape == tensor::Cp64x128b02_13 ? lane % 64
                     : shape == tensor::Cp64x128b01_23
                         ? lane / 64 * 32 + lane % 32
                     : shape == tensor::Cp32x128b ? lane % 32
                                                  : lane;
      for (unsigned w = 0; w < words; w += 4)
        std::memcpy(&cta.tensor->word(lane, (op.address & 0xffff) + w),
                    cta.smem.data() + descriptor.chunk(true, row, 2 * w, 2),
                    16);
    }
  }
}

void Executor::executeCommit(const TensorOp &op) {
  Cluster &cluster = *op.cta->cluster;
  uint32_t offset = op.barrier & offsetMask;
  uint32_t mask = op.barrierCtas();
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    Cta &cta = *cluster.ctas[lowest(rest)];
    if (cta.liveWarps == 0)
      continue; // reported at its end
    if (!mbarrier::isValid(readMbarrier(cta, offset))) {
      // Of a last commit that nobody waits for.
      if (!launch.options.strict)
        continue;
      fail(*op.warp, *op.inst, static_cast<int>(op.lane),
           "arrives at shared address " + hex(offset) +
               ", whose mbarrier was invalidated before the commit completed");
      return;
    }
    if (checks)
      cluster.mbarriers[cta.rank << clusterRankShift | offset].arrived[0].join(
          op.published);
    if (!mbarrierArrive(*op.warp, *op.inst, static_cast<int>(op.lane), cta,
                        offset, 1, false))
      return;
  }
}

void Executor::endTensorReads(const TensorOp &op) {
  auto end = [&](Cta &cta, uint32_t address) {
    endAsyncRead(cta, address, 16);
    return true;
  };
  forEachTensorChunk(op, true, end);
  forEachTensorChunk(op, false, end);
}

/// Whether the order that the manual promises lets an operation complete.
bool Executor::mayCompleteTensor(const Cluster &cluster, size_t i) const {
  const TensorOp &op = *cluster.tensorOps[i];
  if (op.kind == TensorOp::Load || op.kind == TensorOp::Store)
    return true;
  for (size_t j = 0; j < i; ++j) {
    const TensorOp &before = *cluster.tensorOps[j];
    if (before.warp != op.warp || before.lane != op.lane)
      continue;
    bool isAsync =
        before.kind == TensorOp::Mma || before.kind == TensorOp::Copy;
    if (op.kind == TensorOp::Commit && isAsync)
      return false;
    if (op.kind == TensorOp::Mma &&
        (before.kind == TensorOp::Copy ||
         (before.kind == TensorOp::Mma && formOf(before) == formOf(op))))
      return false;
  }
  return true;
}

/// Whether a warp that waits needs this operation.
bool Executor::isTensorNeeded(const Cluster &cluster, size_t i) const {
  const TensorOp &op = *cluster.tensorOps[i];
  switch (op.kind) {
  case TensorOp::Load:
  case TensorOp::Store:
    for (const Fragment &fragment : op.warp->fragments)
      if (fragment.wait ==
          (op.kind == TensorOp::Load ? Wait::TensorLoads : Wait::TensorStores))
        return true;
    return false;
  case TensorOp::Commit: {
    uint32_t mask = op.barrierCtas();
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      for (const auto &warp : cluster.ctas[lowest(rest)]->warps)
        for (const Fragment &fragment : warp->fragments)
          if (fragment.wait == Wait::Mbarrier &&
              fragment.key == (op.barrier & offsetMask))
            return true;
    return false;
  }
  default:
    // What comes behind it in its thread may be needed.
    for (size_t j = i + 1; j < cluster.tensorOps.size(); ++j) {
      const TensorOp &behind = *cluster.tensorOps[j];
      if (behind.warp == op.warp && behind.lane == op.lane &&
          behind.kind == TensorOp::Commit && isTensorNeeded(cluster, j))
        return true;
    }
    return false;
  }
}

/// Does operation `i` and takes it off the queue.
void Executor::completeTensor(Cluster &cluster, size_t i) {
  std::unique_ptr<TensorOp> op = std::move(cluster.tensorOps[i]);
  cluster.tensorOps.erase(cluster.tensorOps.begin() + static_cast<long>(i));
  ++cluster.progress;
  Warp &warp = *op->warp;
  auto wakeWaiting = [&](Wait wait) {
    for (Fragment &fragment : warp.fragments)
      if (fragment.wait == wait)
        wake(warp, fragment); // it looks again
  };
  switch (op->kind) {
  case TensorOp::Mma:
    executeMma(*op);
    if (checks)
      endTensorReads(*op);
    break;
  case TensorOp::Copy:
    executeTensorCopy(*op);
    if (checks)
      endTensorReads(*op);
    break;
  case TensorOp::Commit:
    executeCommit(*op);
    break;
  case TensorOp::Load:
    executeTensorLoad(*op);
    --warp.loadsInFlight;
    updateLoaded(warp);
    wakeWaiting(Wait::TensorLoads);
    break;
  case TensorOp::Store:
    executeTensorStore(*op);
    --warp.storesInFlight;
    wakeWaiting(Wait::TensorStores);
    break;
  }
}

//===----------------------------------------------------------------------===//
// Cluster launch control
//===----------------------------------------------------------------------===//

/// A request is answered by a copy of 16 bytes, in an encoding of our own: the
/// index of the cancelled cluster's first CTA, whether there was one, a mark.
bool Executor::issueCancel(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  Cluster &cluster = *warp.cta->cluster;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    auto laneIndex = static_cast<int>(lane);
    if (cluster.cancelRefused) {
      fail(warp, inst, laneIndex,
           "asks again although a request of this cluster was refused");
      return false;
    }
    auto copy = makeCopy(CopyKind::Cancel, warp, inst, lane);
    copy->bytes = 16;
    copy->shared =
        static_cast<uint32_t>(addressOf(warp, refs[0], lane, inst.imm));
    copy->barrier = static_cast<uint32_t>(
        addressOf(warp, refs[1], lane, static_cast<int32_t>(inst.target)));
    copy->hasBarrier = true;
    if (copy->shared % 16 || copy->barrier % 8) {
      fail(warp, inst, laneIndex,
           "addresses " + hex(copy->shared) + " and " + hex(copy->barrier) +
               " are not multiples of 16 and 8");
      return false;
    }
    if (!sharedBytes(warp, inst, laneIndex, copy->shared, 16, false,
                     "response") ||
        !sharedBytes(warp, inst, laneIndex, copy->barrier, 8, false,
                     "mbarrier"))
      return false;
    if (inst.flags & inst::multicast)
      copy->multicast =
          static_cast<uint16_t>((uint64_t(1) << cluster.ctas.size()) - 1);
    if (checks && !checkCopyIssue(warp, *copy))
      return false;
    ++cluster.progress;
    cluster.copies.push_back(std::move(copy));
  }
  return true;
}

/// Takes a cluster that has not begun off the launch; the answer's 16 bytes.
void Executor::answerCancel(uint64_t (&answer)[2]) {
  answer[0] = 0;
  answer[1] = uint64_t(cancelMark) << 32;
  uint32_t next = launch.nextCluster.load();
  while (next < launch.numClusters &&
         !launch.nextCluster.compare_exchange_weak(next, next + 1)) {
  }
  if (next >= launch.numClusters)
    return;
  const LaunchShape &shape = launch.shape;
  uint32_t nx = shape.grid.x / shape.cluster.x,
           ny = shape.grid.y / shape.cluster.y;
  answer[0] = uint64_t(next % nx * shape.cluster.x) |
              uint64_t(next / nx % ny * shape.cluster.y) << 32 |
              uint64_t(next / (nx * ny) * shape.cluster.z) << 48;
  answer[1] |= 1;
}

bool Executor::queryCancel(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    uint64_t low = value(warp, refs[0], lane),
             high = value(warp, refs[1], lane);
    if (high >> 32 != cancelMark) {
      fail(warp, inst, static_cast<int>(lane),
           "the response is not one of clusterlaunchcontrol.try_cancel");
      return false;
    }
    bool cancelled = high & 1;
    if (inst.sub == 0) {
      warp.cta->cluster->cancelRefused |= !cancelled;
      setPredicate(warp, refs[2], cancelled ? fullMask : 0, 1u << lane);
      continue;
    }
    if (!cancelled) {
      fail(warp, inst, static_cast<int>(lane),
           "asks for the CTA of a request that was refused");
      return false;
    }
    uint64_t index[4] = {low & 0xffffffffu, low >> 32 & 0xffff, low >> 48, 0};
    if (inst.sub > 1)
      setValue(warp, refs[2], lane, index[inst.sub - 2]);
    else
      for (unsigned i = 0; i < 4; ++i)
        setValue(warp, refs[2 + i], lane, index[i]);
  }
  return true;
}

} // namespace backfuse::emulator
