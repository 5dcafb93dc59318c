//===- Random.h - Random numbers by position --------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The i-th number of a stream is a function of the stream's key and i, so it is
// the same for any number of threads; only +, -, *, / and square root are used,
// so it is the same on any machine.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_REFERENCE_RANDOM_H
#define BACKFUSE_REFERENCE_RANDOM_H

#include <cstdint>
#include <string>

namespace backfuse::reference {

class RandomStream {
public:
  RandomStream(uint64_t seed, const std::string &name);

  /// 64 random bits.
  uint64_t bits(uint64_t i) const { return mix(key + i * 0x9e3779b97f4a7c15u); }
  /// Uniform in [0, count); count is far below 2^32.
  uint64_t below(uint64_t i, uint64_t count) const {
    return ((bits(i) >> 32) * count) >> 32;
  }
  /// Standard normal numbers 2 * pair and 2 * pair + 1.
  void normals(uint64_t pair, double &first, double &second) const;

  /// A bijection of 64 bits without visible structure.
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

private:
  uint64_t key;
};

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_RANDOM_H
