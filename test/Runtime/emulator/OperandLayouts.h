//===- OperandLayouts.h - Operands in shared memory -------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// The canonical layouts of the manual, written out atom by atom, which the
// tests of wgmma and tcgen05 share. Their codes are those of bits 61-63 (for
// wgmma bits 62-63, which are the same ones).
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_TEST_EMULATOR_OPERANDLAYOUTS_H
#define BACKFUSE_TEST_EMULATOR_OPERANDLAYOUTS_H

#include "runtime/emulator/LaneKernels.h"

#include <cstring>
#include <vector>

namespace backfuse::emulator::test {

struct Layout {
  bool kMajor;
  unsigned span; ///< bytes of a swizzled row; 16: none
  uint64_t code; ///< bits 61-63
};
inline const Layout kNone{true, 16, 0}, k32{true, 32, 6}, k64{true, 64, 4},
    k128{true, 128, 2};
inline const Layout mnNone{false, 16, 0}, mn32{false, 32, 6},
    mn64{false, 64, 4}, mn128{false, 128, 2}, mnAtom32{false, 128, 1};

/// Lays `extent` x `k` elements out from `base` of an image of shared memory,
/// of which the first byte has address `first`, and returns the descriptor.
inline uint64_t
layOutOperand(const Layout &layout, unsigned extent, unsigned k,
              unsigned elementBytes, uint32_t base, uint32_t first,
              std::vector<uint8_t> &image,
              const std::vector<uint32_t> &bits /* [extent][k] */) {
  uint32_t leading = 0, stride = 0;
  const unsigned rows = layout.code == 1 ? 4 : 8;
  auto put = [&](uint32_t address, unsigned mn, unsigned kk) {
    // The swizzle: address bits that are flipped by others, as in the manual's
    // table.
    uint32_t flip = 0;
    switch (layout.code) {
    case 2:
      flip = (address >> 7 & 7) << 4;
      break;
    case 4:
      flip = (address >> 7 & 3) << 4;
      break;
    case 6:
      flip = (address >> 7 & 1) << 4;
      break;
    case 1:
      flip = (address >> 7 & 3) << 5;
      break;
    default:
      break;
    }
    address = (address ^ flip) - first;
    if (image.size() < address + 16)
      image.resize(address + 16);
    std::memcpy(image.data() + address, &bits[mn * k + kk], elementBytes);
  };
  unsigned perRow = layout.span / elementBytes;
  for (unsigned mn = 0; mn < extent; ++mn)
    for (unsigned kk = 0; kk < k; ++kk) {
      uint32_t address = base;
      if (layout.kMajor && layout.span > 16) {
        stride = 8 * layout.span;
        address += mn / 8 * stride + mn % 8 * layout.span + kk * elementBytes;
      } else if (layout.kMajor) {
        // Core matrices of 8 rows of 16 bytes; rows first.
        stride = 128;
        leading = (extent + 7) / 8 * 128;
        address += mn / 8 * stride + kk * elementBytes / 16 * leading +
                   mn % 8 * 16 + kk * elementBytes % 16;
      } else if (layout.span > 16) {
        // Panels along M or N, with a gap between them.
        stride = rows * layout.span;
        leading = k / rows * stride + 1024;
        address += mn / perRow * leading + kk / rows * stride +
                   kk % rows * layout.span + mn % perRow * elementBytes;
      } else {
        leading = 128;
        stride = k / 8 * 128;
        address +=
            mn / 8 * stride + kk / 8 * leading + kk % 8 * 16 + mn % 8 * 2;
      }
      put(address, mn, kk);
    }
  return (base >> 4) | uint64_t(leading >> 4) << 16 |
         uint64_t(stride >> 4) << 32 | layout.code << 61;
}

/// The bits of a value of this type.
inline uint32_t encode(Type type, float value) {
  if (type == Type::BF16)
    return floatToBf16(value);
  if (type == Type::F16)
    return floatToF16(value);
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits | 0x5a5; // the low 13 bits do not count
}

} // namespace backfuse::emulator::test

#endif // BACKFUSE_TEST_EMULATOR_OPERANDLAYOUTS_H
