//===- Bits.h - Lanes, bits and text -------------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_BITS_H
#define BACKFUSE_RUNTIME_EMULATOR_BITS_H

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace backfuse::emulator {

constexpr uint32_t fullMask = 0xffffffffu;

inline unsigned popcount(uint32_t x) {
  return static_cast<unsigned>(__builtin_popcount(x));
}
/// The least lane of a mask.
inline unsigned lowest(uint32_t x) {
  return static_cast<unsigned>(__builtin_ctz(x));
}
inline std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

/// A value of `bytes` bytes as 64 bits.
inline uint64_t extend(uint64_t value, unsigned bytes, bool isSigned) {
  if (!isSigned || bytes == 8)
    return value;
  unsigned shift = 64 - 8 * bytes;
  return static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
}

template <class T> T fromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T> uint64_t toBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

inline bool hasBit(const std::vector<uint64_t> &set, uint32_t i) {
  return set[i / 64] >> (i % 64) & 1;
}
inline void addBit(std::vector<uint64_t> &set, uint32_t i) {
  set[i / 64] |= uint64_t(1) << (i % 64);
}
inline void removeBit(std::vector<uint64_t> &set, uint32_t i) {
  set[i / 64] &= ~(uint64_t(1) << (i % 64));
}

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_BITS_H
