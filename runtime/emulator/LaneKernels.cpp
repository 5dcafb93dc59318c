//===- LaneKernels.cpp - Choose the lane arithmetic of this machine -------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/LaneKernels.h"

#include <cmath>
#include <cstring>

namespace backfuse::emulator {

void fillLaneTableV1(LaneTable &table);
#ifdef BACKFUSE_EMULATOR_X86
void fillLaneTableV3(LaneTable &table);
void fillLaneTableV4(LaneTable &table);
#endif

static const LaneTable *makeTable(const char *isa, void (*fill)(LaneTable &)) {
  auto *table = new LaneTable();
  table->isa = isa;
  fill(*table);
  return table;
}

const LaneTable *laneTable(const char *forced) {
  static const LaneTable *v1 = makeTable("v1", fillLaneTableV1);
#ifdef BACKFUSE_EMULATOR_X86
  static const LaneTable *v3 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
              __builtin_cpu_supports("popcnt")
          ? makeTable("v3", fillLaneTableV3)
          : nullptr;
  static const LaneTable *v4 = v3 && __builtin_cpu_supports("avx512f") &&
                                       __builtin_cpu_supports("avx512bw") &&
                                       __builtin_cpu_supports("avx512cd") &&
                                       __builtin_cpu_supports("avx512dq") &&
                                       __builtin_cpu_supports("avx512vl")
                                   ? makeTable("v4", fillLaneTableV4)
                                   : nullptr;
#else
  static const LaneTable *v3 = nullptr, *v4 = nullptr;
#endif
  if (forced)
    return !std::strcmp(forced, "v1")   ? v1
           : !std::strcmp(forced, "v3") ? v3
                                        : v4;
  return v4 ? v4 : v3 ? v3 : v1;
}

float bf16ToFloat(uint16_t value) {
  uint32_t bits = static_cast<uint32_t>(value) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

/// Runs a lane function on one value.
template <class D, class S> static D convertOne(Type to, Type from, S value) {
  D out[32];
  S in[32];
  in[0] = value;
  const void *sources[] = {in};
  const LaneTable *table = laneTable("v1");
  table->converts[static_cast<unsigned>(to)][static_cast<unsigned>(from)](
      out, sources, 1, 0);
  return out[0];
}

uint16_t floatToBf16(float value) {
  return convertOne<uint16_t>(Type::BF16, Type::F32, value);
}
float f16ToFloat(uint16_t value) {
  return convertOne<float>(Type::F32, Type::F16, value);
}
uint16_t floatToF16(float value) {
  return convertOne<uint16_t>(Type::F16, Type::F32, value);
}

} // namespace backfuse::emulator
