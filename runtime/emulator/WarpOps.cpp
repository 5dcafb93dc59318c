//===- WarpOps.cpp - Operations across lanes, and rare ones --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

#include <cmath>

namespace backfuse::emulator {

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
      result =
          combine(op,
                  inst.type == Type::S32 || inst.type == Type::F32 ? inst.type
                                                                   : Type::U32,
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

//===----------------------------------------------------------------------===//
// Rare instructions
//===----------------------------------------------------------------------===//

/// The lanes for which a comparison holds, combined with its predicate.
uint32_t Executor::compareWith(const Warp &warp, const Inst &inst,
                               uint32_t mask, unsigned half) const {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  uint32_t result =
      inst.compare(source(warp, refs[2]), source(warp, refs[3]), mask,
                   inst.laneFlags | (half ? lane::upperHalf : 0));
  if (refs[4].kind == Ref::None)
    return result;
  uint32_t c = predicate(warp, refs[4]);
  auto logic = static_cast<LogicOp>(inst.sub);
  return logic == LogicOp::And  ? result & c
         : logic == LogicOp::Or ? result | c
                                : result ^ c;
}

bool Executor::execMisc(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  switch (inst.op) {
  case Op::CompareX2:
    for (unsigned half = 0; half < 2; ++half)
      setPredicate(warp, refs[half], compareWith(warp, inst, mask, half), mask);
    return true;
  case Op::SetValue: {
    uint64_t yes =
        inst.type == Type::F32                                 ? 0x3f800000u
        : inst.type == Type::F16 || inst.type == Type::F16x2   ? 0x3c00u
        : inst.type == Type::BF16 || inst.type == Type::BF16x2 ? 0x3f80u
        : inst.count == 2                                      ? 0xffffu
                                                               : ~uint64_t(0);
    uint32_t low = compareWith(warp, inst, mask, 0),
             high = inst.count == 2 ? compareWith(warp, inst, mask, 1) : 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = lowest(rest);
      setValue(warp, refs[0], lane,
               (low >> lane & 1 ? yes : 0) |
                   (high >> lane & 1 ? yes << 16 : 0));
    }
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
    return execRare(warp, inst, mask);
  }
}

} // namespace backfuse::emulator
