//===- RareOps.cpp - Instructions that matter little for speed ------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// What DecodeRare.cpp decodes.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

#include <algorithm>
#include <cmath>

namespace backfuse::emulator {

constexpr uint32_t offsetMask = (1u << clusterRankShift) - 1;

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

/// An 8-bit float: e4m3 has no infinities.
static double fp8(uint8_t bits, bool isE5m2) {
  int mantissaBits = isE5m2 ? 2 : 3, bias = isE5m2 ? 15 : 7;
  int exponent = (bits & 0x7f) >> mantissaBits;
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double value;
  if (isE5m2 ? exponent == 31 : (bits & 0x7f) == 0x7f)
    value = isE5m2 && !mantissa ? HUGE_VAL : std::nan("");
  else
    value = std::ldexp(mantissa + (exponent ? 1 << mantissaBits : 0),
                       std::max(exponent, 1) - bias - mantissaBits);
  return bits & 0x80 ? -value : value;
}

/// Element `e` of a register.
static double element(MmaType type, uint64_t bits, unsigned e) {
  switch (type) {
  case MmaType::F16:
    return f16ToFloat(static_cast<uint16_t>(bits >> (16 * e)));
  case MmaType::BF16:
    return bf16ToFloat(static_cast<uint16_t>(bits >> (16 * e)));
  case MmaType::TF32: // the low bits are not looked at
    return fromBits<float>(bits & 0xffffe000u);
  case MmaType::S8:
    return static_cast<int8_t>(bits >> (8 * e));
  case MmaType::U8:
    return static_cast<uint8_t>(bits >> (8 * e));
  case MmaType::E4M3:
  case MmaType::E5M2:
    return fp8(static_cast<uint8_t>(bits >> (8 * e)), type == MmaType::E5M2);
  case MmaType::F64:
    return fromBits<double>(bits);
  }
  return 0;
}

/// Lane l holds rows l / 4 (+ 8 in odd registers of A, the upper half of D's)
/// and, of the contraction, elements from (l % 4) times those of a register,
/// the next registers 4 times as many further.
void Executor::warpMma(Warp &warp, const Inst &inst) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  auto typeA = static_cast<MmaType>(inst.sub & 15),
       typeB = static_cast<MmaType>(inst.sub >> 4);
  const unsigned m = inst.shapeN, k = inst.count;
  const bool isF64 = typeA == MmaType::F64;
  const unsigned perRegister = isF64 ? 1 : 32 / mmaBits(typeA);
  const unsigned rowsOfA = m / 8;
  const unsigned numA = m * k / 32 / perRegister,
                 numB = 8 * k / 32 / perRegister;
  const unsigned perD = inst.type == Type::F16 ? 2 : 1,
                 numD = m * 8 / 32 / perD;
  const Ref *refA = refs + numD, *refB = refA + numA, *refC = refB + numB;
  double a[16][64], b[64][8];
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned group = lane / 4, inner = lane % 4 * perRegister;
    for (unsigned r = 0; r < numA; ++r)
      for (unsigned e = 0; e < perRegister; ++e)
        a[group + 8 * (r % rowsOfA)]
         [inner + r / rowsOfA * 4 * perRegister + e] =
             element(typeA, value(warp, refA[r], lane), e);
    for (unsigned r = 0; r < numB; ++r)
      for (unsigned e = 0; e < perRegister; ++e)
        b[inner + r * 4 * perRegister + e][group] =
            element(typeB, value(warp, refB[r], lane), e);
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < numD; ++r) {
      uint64_t from = value(warp, refC[r], lane), to = 0;
      for (unsigned e = 0; e < perD; ++e) {
        unsigned part = r * perD + e;
        unsigned row = lane / 4 + 8 * (part / 2),
                 column = lane % 4 * 2 + part % 2;
        if (inst.type == Type::S32) {
          int64_t sum = static_cast<int32_t>(from);
          for (unsigned i = 0; i < k; ++i)
            sum += static_cast<int64_t>(a[row][i] * b[i][column]);
          if (inst.laneFlags & lane::saturate)
            sum =
                std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
          to = static_cast<uint32_t>(sum);
        } else if (inst.type == Type::F64) {
          auto sum = fromBits<double>(from);
          for (unsigned i = 0; i < k; ++i)
            sum = std::fma(a[row][i], b[i][column], sum);
          to = toBits(sum);
        } else {
          // As in wgmma: one rounding per multiply-add, k ascending.
          float sum = inst.type == Type::F32
                          ? fromBits<float>(from)
                          : f16ToFloat(static_cast<uint16_t>(from >> 16 * e));
          for (unsigned i = 0; i < k; ++i)
            sum = std::fma(static_cast<float>(a[row][i]),
                           static_cast<float>(b[i][column]), sum);
          to |= inst.type == Type::F32
                    ? toBits(sum)
                    : static_cast<uint64_t>(floatToF16(sum)) << (16 * e);
        }
      }
      setValue(warp, refs[r], lane, to);
    }
  ++counts.tensorInstructions;
  counts.tensorOperations += 2.0 * m * 8 * k;
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

bool Executor::replaceInMap(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = lowest(rest);
    uint64_t address = addressOf(warp, refs[0], lane, inst.imm);
    bool isShared =
        inst.space == Space::Shared || (address & windowMask) == sharedWindow;
    if (isShared)
      address = static_cast<uint32_t>(address);
    if (address % 128) {
      fail(warp, inst, static_cast<int>(lane),
           "tensor map address " + hex(address) + " is not a multiple of 128");
      return false;
    }
    uint8_t *bytes;
    if (isShared) {
      bytes = sharedBytes(warp, inst, static_cast<int>(lane), address, 128,
                          false, "tensor map");
      if (!bytes)
        return false;
      auto offset = static_cast<uint32_t>(address & offsetMask);
      if (checks && (!checkSharedRead(warp, inst, static_cast<int>(lane),
                                      *warp.cta, offset, 128, Scope::None) ||
                     !checkSharedWrite(warp, inst, static_cast<int>(lane),
                                       *warp.cta, offset, 128, Scope::None)))
        return false;
    } else {
      Allocation *allocation = nullptr;
      bytes = launch.memory->at(address, 128, &allocation);
      if (!bytes || allocation->isReadOnly) {
        fail(warp, inst, static_cast<int>(lane),
             "the tensor map is out of bounds or read-only: " +
                 launch.memory->describe(address));
        return false;
      }
      if (checks && (!checkGlobalRead(warp, inst, static_cast<int>(lane),
                                      *allocation, address, 128, Scope::None) ||
                     !checkGlobalWrite(warp, inst, static_cast<int>(lane),
                                       *allocation, address, 128, Scope::None)))
        return false;
    }
    if (Error error = replaceField(bytes, static_cast<MapField>(inst.sub),
                                   inst.count, value(warp, refs[1], lane))) {
      fail(warp, inst, static_cast<int>(lane), error.text());
      return false;
    }
  }
  progress(warp);
  return true;
}

/// The lanes of a warp copy a map together: one copy.
bool Executor::copyMap(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  auto lane = static_cast<int>(lowest(mask));
  uint64_t to = addressOf(warp, refs[0], lowest(mask), inst.imm),
           from = addressOf(warp, refs[1], lowest(mask),
                            static_cast<int32_t>(inst.target));
  if ((from & windowMask) == sharedWindow)
    from = static_cast<uint32_t>(from);
  Allocation *allocation = nullptr;
  uint8_t *target = launch.memory->at(to, 128, &allocation);
  if (to % 128 || from % 128 || !target || allocation->isReadOnly) {
    fail(warp, inst, lane,
         "copies a tensor map from " + hex(from) + " to " + hex(to) +
             ", which is misaligned, out of bounds or read-only: " +
             launch.memory->describe(to));
    return false;
  }
  uint8_t *source =
      sharedBytes(warp, inst, lane, from, 128, false, "tensor map");
  if (!source)
    return false;
  if (checks &&
      (!checkSharedRead(warp, inst, lane, *warp.cta,
                        static_cast<uint32_t>(from & offsetMask), 128,
                        Scope::None) ||
       !checkGlobalWrite(warp, inst, lane, *allocation, to, 128, Scope::None)))
    return false;
  noteBytes(*allocation, to, 128, false, true);
  copyToShared(target, source, 128);
  progress(warp);
  return true;
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

bool Executor::execRare(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  switch (inst.op) {
  case Op::Scalar:
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = lowest(rest);
      uint64_t sources[4];
      for (unsigned i = 1; i < inst.numRefs; ++i)
        sources[i - 1] = value(warp, refs[i], lane);
      setValue(warp, refs[0], lane, inst.scalar(sources, inst.laneFlags));
    }
    return true;
  case Op::WarpMma:
    warpMma(warp, inst);
    return true;
  case Op::MovMatrix: {
    uint64_t from[32];
    for (unsigned lane = 0; lane < 32; ++lane)
      from[lane] = value(warp, refs[1], lane);
    auto at = [&](unsigned row, unsigned column) {
      return from[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
    };
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned row = lane / 4, column = lane % 4 * 2;
      setValue(warp, refs[0], lane,
               at(column, row) | at(column + 1, row) << 16);
    }
    return true;
  }
  case Op::TensorMapReplace:
    return replaceInMap(warp, inst, mask);
  case Op::TensorMapCopy:
    return copyMap(warp, inst, mask);
  case Op::TensorMapAcquire: // what copies read of maps is not checked
    return true;
  case Op::StoreAsync:
    return issueStoreAsync(warp, inst, mask);
  default:
    fail(warp, inst, -1, "the emulator cannot execute this");
    return false;
  }
}

} // namespace backfuse::emulator
