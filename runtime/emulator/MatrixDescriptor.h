//===- MatrixDescriptor.h - Descriptors of tcgen05 --------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// What the 64 bits of a shared-memory descriptor and the 32 bits of an
// instruction descriptor mean to tcgen05.mma and tcgen05.cp. (wgmma has
// another shared-memory descriptor: WarpGroup.cpp.)
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_MATRIXDESCRIPTOR_H
#define BACKFUSE_RUNTIME_EMULATOR_MATRIXDESCRIPTOR_H

#include "runtime/emulator/Ptx.h"
#include "runtime/emulator/TensorMap.h"

#include <cstdint>
#include <string>

namespace backfuse::emulator {

/// Where an operand lies in the shared memory of a CTA.
struct MatrixDescriptor {
  uint32_t start = 0;
  uint32_t leading = 0; ///< LBO
  uint32_t stride = 0;  ///< SBO
  MapSwizzle swizzle = MapSwizzle::None;
  uint32_t span = 16; ///< bytes of a row of the atom
  uint32_t rows = 8;  ///< of the atom
  /// Bytes after which the swizzle repeats.
  uint32_t period() const {
    return swizzle == MapSwizzle::None ? 16 : rows * span;
  }

  /// Empty, or what no descriptor may be.
  std::string decode(uint64_t bits);
  /// Empty, or why no operand of `extent` rows along M or N and `kBytes` of K
  /// lies so.
  std::string whyIllegal(bool kMajor, uint32_t extent, uint32_t kBytes,
                         uint32_t elementBytes) const;
  /// The address of the 16 bytes that begin at element (mn, k).
  uint32_t chunk(bool kMajor, uint32_t mn, uint32_t k,
                 uint32_t elementBytes) const;
};

/// The instruction descriptor of kinds f16 and tf32.
struct InstructionDescriptor {
  uint32_t m = 0, n = 0; ///< of the pair with cta_group::2
  Type a = Type::None, b = Type::None;
  bool accumulatesHalf = false; ///< D is f16
  bool negateA = false, negateB = false;
  bool aIsMnMajor = false, bIsMnMajor = false;

  /// Empty, or what is wrong for this kind and .cta_group.
  std::string decode(uint32_t bits, bool isTf32, unsigned ctaGroup);
  uint32_t k() const { return a == Type::TF32 ? 8 : 16; }
  uint32_t elementBytes() const { return a == Type::TF32 ? 4 : 2; }
};

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_MATRIXDESCRIPTOR_H
