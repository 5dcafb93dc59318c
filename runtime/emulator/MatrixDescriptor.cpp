//===- MatrixDescriptor.cpp - Descriptors of tcgen05 ----------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/MatrixDescriptor.h"
#include "runtime/emulator/Bits.h"

namespace backfuse::emulator {

static uint64_t field(uint64_t bits, unsigned first, unsigned last) {
  return bits >> first & ((uint64_t(1) << (last - first + 1)) - 1);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

std::string MatrixDescriptor::decode(uint64_t bits) {
  start = static_cast<uint32_t>(field(bits, 0, 13)) << 4;
  leading = static_cast<uint32_t>(field(bits, 16, 29)) << 4;
  stride = static_cast<uint32_t>(field(bits, 32, 45)) << 4;
  if (field(bits, 14, 15) || field(bits, 30, 31) || field(bits, 53, 60))
    return "reserved bits are set (14-15, 30-31 or 53-60)";
  if (field(bits, 46, 48) != 1)
    return "bits 46-48 are " + std::to_string(field(bits, 46, 48)) +
           ", but must be 1 on this architecture";
  if (field(bits, 52, 52))
    return "an absolute LBO (bit 52) is not supported by the emulator";
  if (field(bits, 49, 51))
    return "a base offset other than 0 is not supported by the emulator";
  rows = 8;
  switch (field(bits, 61, 63)) {
  case 0:
    swizzle = MapSwizzle::None;
    span = 16;
    break;
  case 1:
    swizzle = MapSwizzle::B128Atom32;
    span = 128;
    rows = 4;
    break;
  case 2:
    swizzle = MapSwizzle::B128;
    span = 128;
    break;
  case 4:
    swizzle = MapSwizzle::B64;
    span = 64;
    break;
  case 6:
    swizzle = MapSwizzle::B32;
    span = 32;
    break;
  default:
    return "the layout in bits 61-63 is " +
           std::to_string(field(bits, 61, 63)) +
           ", but must be 0, 1, 2, 4 or 6";
  }
  return {};
}

std::string MatrixDescriptor::whyIllegal(bool kMajor, uint32_t extent,
                                         uint32_t kBytes,
                                         uint32_t elementBytes) const {
  const bool isTf32 = elementBytes == 4;
  const uint32_t mnBytes = extent * elementBytes, k = kBytes / elementBytes;
  const bool hasSmallAtoms = swizzle == MapSwizzle::B128Atom32;
  if (kMajor && hasSmallAtoms)
    return "layout 1 (128 bytes with atoms of 32) is for operands whose M or N "
           "is contiguous";
  if (!kMajor && isTf32 != hasSmallAtoms)
    return isTf32 ? "a tf32 operand whose M or N is contiguous needs layout 1 "
                    "(128 bytes with atoms of 32)"
                  : "layout 1 (128 bytes with atoms of 32) is for tf32 only";
  if (!kMajor && mnBytes % span)
    return std::to_string(mnBytes) +
           " bytes along M or N are not whole panels "
           "of " +
           std::to_string(span);
  if (swizzle == MapSwizzle::None) {
    // Core matrices of 128 bytes. LBO steps along K, SBO along M or N.
    uint32_t stepsK = kMajor ? kBytes / 16 : k / 8,
             stepsMn = kMajor ? (extent + 7) / 8 : mnBytes / 16;
    if (stepsK > 1 && leading == 0)
      return std::string("LBO, the step between ") +
             (kMajor ? "16-byte columns of K" : "groups of 8 K") + ", is 0";
    if (stepsMn > 1 && stride == 0)
      return std::string("SBO, the step between ") +
             (kMajor ? "groups of 8 rows" : "16-byte columns of M or N") +
             ", is 0";
    return {};
  }
  // Every atom begins at a period of the swizzle, or a base offset is needed.
  if (start % period() >= span)
    return "the start address " + hex(start) +
           " is not at the beginning of a swizzle pattern of " +
           std::to_string(period()) + " bytes, and the base offset is 0";
  if (stride % period())
    return "SBO " + std::to_string(stride) +
           " is not a multiple of the swizzle pattern's " +
           std::to_string(period()) + " bytes";
  if (kMajor) {
    if (start % span + kBytes > span)
      return "K leaves the row of " + std::to_string(span) + " bytes";
    if (stride == 0 && extent > 8)
      return "SBO, the step between groups of 8 rows, is 0";
    return {};
  }
  if (start % span)
    return "the start address " + hex(start) + " is inside a panel of " +
           std::to_string(span) + " bytes";
  if (mnBytes > span && (leading == 0 || leading % period()))
    return "LBO " + std::to_string(leading) +
           ", the step between panels, is not a positive multiple of " +
           std::to_string(period());
  if (k > rows && stride == 0)
    return "SBO, the step between groups of " + std::to_string(rows) +
           " K, is 0";
  return {};
}

uint32_t MatrixDescriptor::chunk(bool kMajor, uint32_t mn, uint32_t k,
                                 uint32_t elementBytes) const {
  uint32_t address = start;
  const uint32_t kBytes = k * elementBytes, mnBytes = mn * elementBytes;
  if (swizzle == MapSwizzle::None)
    address += kMajor ? mn / 8 * stride + kBytes / 16 * leading + mn % 8 * 16 +
                            kBytes % 16
                      : mnBytes / 16 * stride + k / 8 * leading + k % 8 * 16 +
                            mnBytes % 16;
  else
    address += kMajor ? mn / 8 * stride + mn % 8 * span + kBytes
                      : mnBytes / span * leading + k / rows * stride +
                            k % rows * span + mnBytes % span;
  return swizzled(swizzle, address);
}

//===----------------------------------------------------------------------===//
// Instruction
//===----------------------------------------------------------------------===//

std::string InstructionDescriptor::decode(uint32_t bits, bool isTf32,
                                          unsigned ctaGroup) {
  n = static_cast<uint32_t>(field(bits, 17, 22)) << 3;
  m = static_cast<uint32_t>(field(bits, 24, 28)) << 4;
  negateA = field(bits, 13, 13);
  negateB = field(bits, 14, 14);
  aIsMnMajor = field(bits, 15, 15);
  bIsMnMajor = field(bits, 16, 16);
  if (field(bits, 0, 2))
    return "sparse products (bits 0-2) are not supported by the emulator";
  if (field(bits, 3, 3))
    return "saturation (bit 3) is for integers";
  if (field(bits, 6, 6) || field(bits, 23, 23) || field(bits, 29, 31))
    return "reserved bits are set (6, 23 or 29-31)";
  uint64_t d = field(bits, 4, 5),
           codes[2] = {field(bits, 7, 9), field(bits, 10, 12)};
  if (isTf32 ? d != 1 : d > 1)
    return "type " + std::to_string(d) +
           " of D (bits 4-5) does not go with "
           "the instruction's kind";
  accumulatesHalf = d == 0;
  for (unsigned i = 0; i < 2; ++i) {
    if (isTf32 ? codes[i] != 2 : codes[i] > 1)
      return "type " + std::to_string(codes[i]) + " of " + (i ? "B" : "A") +
             " (bits " + (i ? "10-12" : "7-9") +
             ") does not go with the instruction's kind";
    (i ? b : a) = isTf32 ? Type::TF32 : codes[i] == 0 ? Type::F16 : Type::BF16;
  }
  if (a != b)
    return "A and B of different types are not supported by the emulator";
  if (accumulatesHalf && a == Type::BF16)
    return "D of f16 does not go with operands of bf16";
  uint32_t step = ctaGroup == 2 ? 16 : 8;
  if (m != 64 * ctaGroup && m != 128 * ctaGroup)
    return "M is " + std::to_string(m) + ", but must be " +
           std::to_string(64 * ctaGroup) + " or " +
           std::to_string(128 * ctaGroup) +
           " with .cta_group::" + std::to_string(ctaGroup);
  if (n < step || n > 256 || n % step)
    return "N is " + std::to_string(n) + ", but must be a multiple of " +
           std::to_string(step) + " from " + std::to_string(step) + " to 256";
  return {};
}

} // namespace backfuse::emulator
