//===- Rounding.h - Conversions between storage types and f64 ---*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bf16, f16 and tf32 in software: to nearest even, subnormals, infinities and
// NaN included. A NaN becomes quiet and keeps its sign and its leading bits.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_REFERENCE_ROUNDING_H
#define BACKFUSE_REFERENCE_ROUNDING_H

#include "bundle_generated.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace backfuse::reference {

inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline float bf16ToFloat(uint16_t bits) {
  return floatOf(uint32_t(bits) << 16);
}

inline uint16_t floatToBf16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40u;
  return uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

inline float f16ToFloat(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000u) << 16;
  uint32_t exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu;
  if (exponent == 31)
    return floatOf(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return floatOf(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero and subnormals: mantissa * 2^-24, exact in f32.
  return floatOf(sign | bitsOf(float(mantissa) * 0x1p-24f));
}

inline uint16_t floatToF16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return uint16_t(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) // 65520 and above
    return uint16_t(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 leaves multiples of 2^-24 in the mantissa, to
    // nearest even.
    uint32_t sum = bitsOf(floatOf(magnitude) + 0.5f);
    return uint16_t(sign | (sum - 0x3f000000u));
  }
  uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return uint16_t(sign | ((rounded - 0x38000000u) >> 13));
}

/// Rounds to f32 so that a second rounding to at most 22 bits gives what one
/// rounding would: truncates and makes the last bit sticky ("round to odd").
inline float roundToOdd(double value) {
  float nearest = float(value);
  if (double(nearest) == value || std::isnan(value))
    return nearest;
  uint32_t bits = bitsOf(nearest);
  if (std::fabs(double(nearest)) > std::fabs(value))
    --bits;
  return floatOf(bits | 1u);
}

inline uint16_t doubleToBf16(double value) {
  return floatToBf16(roundToOdd(value));
}
inline uint16_t doubleToF16(double value) {
  return floatToF16(roundToOdd(value));
}

/// Rounds an f32 to 10 bits of mantissa.
inline float roundToTf32(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7f800000u) == 0x7f800000u)
    return value;
  return floatOf((bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu);
}

/// One rounding of an f64 value to `type`.
inline double roundOnce(bundle::DType type, double value) {
  switch (type) {
  case bundle::DType::F32:
    return double(float(value));
  case bundle::DType::BF16:
    return bf16ToFloat(doubleToBf16(value));
  case bundle::DType::F16:
    return f16ToFloat(doubleToF16(value));
  default:
    return value;
  }
}

/// What an elementwise op does to its exact result: f32 first, then the type.
inline double roundElementwise(bundle::DType type, double value) {
  float single = float(value);
  switch (type) {
  case bundle::DType::BF16:
    return bf16ToFloat(floatToBf16(single));
  case bundle::DType::F16:
    return f16ToFloat(floatToF16(single));
  case bundle::DType::F32:
    return single;
  default:
    return value;
  }
}

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_ROUNDING_H
