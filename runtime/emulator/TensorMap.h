//===- TensorMap.h - Tensor maps --------------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// The 128 opaque bytes of a tensor map, in an encoding of our own, made from
// the parameters that the driver documents for cuTensorMapEncodeTiled.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_TENSORMAP_H
#define BACKFUSE_RUNTIME_EMULATOR_TENSORMAP_H

#include "runtime/emulator/Error.h"

#include <cstdint>

namespace backfuse::emulator {

/// The driver's CUtensorMapDataType.
enum class MapType : uint8_t {
  UInt8,
  UInt16,
  UInt32,
  Int32,
  UInt64,
  Int64,
  Float16,
  Float32,
  Float64,
  BFloat16,
  Float32Ftz,
  TFloat32,
  TFloat32Ftz
};
/// The driver's CUtensorMapSwizzle.
enum class MapSwizzle : uint8_t {
  None,
  B32,
  B64,
  B128,
  B128Atom32,
  B128Atom32Flip8,
  B128Atom64
};

/// The arguments of cuTensorMapEncodeTiled. Dimension 0 is the contiguous one;
/// strides[i] is that of dimension i + 1, in bytes.
struct TensorMapParams {
  MapType type = MapType::UInt8;
  uint32_t rank = 1;
  uint64_t address = 0;
  uint64_t sizes[5] = {0, 0, 0, 0, 0};
  uint64_t strides[4] = {0, 0, 0, 0};
  uint32_t box[5] = {1, 1, 1, 1, 1};
  uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  uint8_t interleave = 0; ///< only 0 (none) is supported
  MapSwizzle swizzle = MapSwizzle::None;
  uint8_t l2Promotion = 0; ///< 0 to 3; changes nothing here
  bool oobNan = false;
};

unsigned mapElementBytes(MapType type);

/// Checks the parameters as the driver documents them and fills `out`.
Error encodeTiled(const TensorMapParams &params, uint8_t (&out)[128]);
/// The reverse; an error if the bytes are not a tensor map.
Error decodeTiled(const uint8_t *bytes, TensorMapParams &params);

/// What tensormap.replace can change, one field at a time.
enum class MapField : uint8_t {
  Address,
  Rank,
  Box,
  Size,
  Stride,
  ElementStride,
  ElementType,
  Interleave,
  Swizzle,
  SwizzleAtomicity,
  Fill
};
/// Changes a field of the 128 bytes of a map, which may be zeros: a new map.
/// Whether the fields go together is checked where the map is used.
Error replaceField(uint8_t *bytes, MapField field, unsigned index,
                   uint64_t value);

/// The address at which a byte of a tile lands: XOR on bits of the address.
inline uint32_t swizzled(MapSwizzle mode, uint32_t address) {
  switch (mode) {
  case MapSwizzle::None:
    return address;
  case MapSwizzle::B32:
    return address ^ ((address >> 3) & 0x10);
  case MapSwizzle::B64:
    return address ^ ((address >> 3) & 0x30);
  case MapSwizzle::B128:
    return address ^ ((address >> 3) & 0x70);
  case MapSwizzle::B128Atom32:
    return address ^ ((address >> 2) & 0x60);
  default:
    return address;
  }
}

/// Bytes of a whole box: what a barrier is credited with.
uint64_t boxBytes(const TensorMapParams &params);

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_TENSORMAP_H
