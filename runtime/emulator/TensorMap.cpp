//===- TensorMap.cpp - Tensor maps ----------------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/TensorMap.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace backfuse::emulator {

static const char mapMagic[8] = {'B', 'F', 'T', 'M', 'A', 'P', '0', '1'};

namespace {
/// What the 128 bytes hold.
struct Encoded {
  char magic[8];
  uint64_t address;
  uint64_t sizes[5];
  uint64_t strides[4];
  uint16_t box[5];
  uint8_t elementStrides[5];
  uint8_t type, rank, swizzle, l2Promotion, oobNan;
  uint32_t checksum;
};
static_assert(sizeof(Encoded) <= 128, "must fit a tensor map");
} // namespace

static uint32_t checksumOf(const Encoded &encoded) {
  Encoded copy = encoded;
  copy.checksum = 0;
  uint8_t bytes[sizeof(Encoded)];
  std::memcpy(bytes, &copy, sizeof bytes);
  uint32_t hash = 2166136261u;
  for (uint8_t byte : bytes)
    hash = (hash ^ byte) * 16777619u;
  return hash;
}

unsigned mapElementBytes(MapType type) {
  switch (type) {
  case MapType::UInt8:
    return 1;
  case MapType::UInt16:
  case MapType::Float16:
  case MapType::BFloat16:
    return 2;
  case MapType::UInt64:
  case MapType::Int64:
  case MapType::Float64:
    return 8;
  default:
    return 4;
  }
}

uint64_t boxBytes(const TensorMapParams &params) {
  uint64_t bytes = mapElementBytes(params.type);
  for (uint32_t i = 0; i < params.rank; ++i)
    bytes *= params.box[i];
  return bytes;
}

static Error invalid(const std::string &what) {
  return Error("tensor map: " + what);
}

Error encodeTiled(const TensorMapParams &params, uint8_t (&out)[128]) {
  if (params.rank < 1 || params.rank > 5)
    return invalid("expects a rank of 1 to 5, but got " +
                   std::to_string(params.rank));
  if (params.type > MapType::TFloat32Ftz)
    return invalid("unknown element type " +
                   std::to_string(static_cast<unsigned>(params.type)));
  if (params.interleave)
    return invalid("interleaved layouts are not supported by the emulator");
  if (params.swizzle > MapSwizzle::B128Atom32)
    return invalid("this swizzle mode is not supported by the emulator");
  if (params.l2Promotion > 3)
    return invalid("unknown L2 promotion " +
                   std::to_string(params.l2Promotion));
  if (params.address % 16)
    return invalid("expects a global address that is a multiple of 16");
  unsigned elementBytes = mapElementBytes(params.type);
  for (uint32_t i = 0; i < params.rank; ++i) {
    std::string dimension = "dimension " + std::to_string(i);
    if (params.sizes[i] == 0 || params.sizes[i] > (uint64_t(1) << 32))
      return invalid("expects an extent of 1 to 2^32 in " + dimension +
                     ", but got " + std::to_string(params.sizes[i]));
    if (params.box[i] == 0 || params.box[i] > 256)
      return invalid("expects a box of 1 to 256 in " + dimension +
                     ", but got " + std::to_string(params.box[i]));
    if (params.elementStrides[i] != 1)
      return invalid(
          "element strides other than 1 are not supported by the emulator");
    if (i + 1 == params.rank)
      break;
    uint64_t stride = params.strides[i];
    if (stride % 16 || stride >= (uint64_t(1) << 40))
      return invalid(
          "expects strides that are multiples of 16 below 2^40, but got " +
          std::to_string(stride));
  }
  uint64_t innerBytes = uint64_t(params.box[0]) * elementBytes;
  if (innerBytes % 16)
    return invalid(
        "expects inner box bytes that are a multiple of 16, but got " +
        std::to_string(innerBytes));
  static const unsigned spans[] = {0, 32, 64, 128, 128};
  unsigned span = spans[static_cast<unsigned>(params.swizzle)];
  if (span && innerBytes > span)
    return invalid("expects at most " + std::to_string(span) +
                   " inner box bytes with this swizzle, but got " +
                   std::to_string(innerBytes));
  if (span && innerBytes < span)
    return invalid("an inner box of " + std::to_string(innerBytes) +
                   " bytes, narrower than the swizzle's " +
                   std::to_string(span) + ", is not supported by the emulator");
  if (params.oobNan && params.type < MapType::Float16)
    return invalid("NaN fill needs a floating-point type");

  Encoded encoded;
  std::memset(&encoded, 0, sizeof encoded);
  std::memcpy(encoded.magic, mapMagic, 8);
  encoded.address = params.address;
  for (uint32_t i = 0; i < params.rank; ++i) {
    encoded.sizes[i] = params.sizes[i];
    encoded.box[i] = static_cast<uint16_t>(params.box[i]);
    encoded.elementStrides[i] = static_cast<uint8_t>(params.elementStrides[i]);
    if (i + 1 < params.rank)
      encoded.strides[i] = params.strides[i];
  }
  encoded.type = static_cast<uint8_t>(params.type);
  encoded.rank = static_cast<uint8_t>(params.rank);
  encoded.swizzle = static_cast<uint8_t>(params.swizzle);
  encoded.l2Promotion = params.l2Promotion;
  encoded.oobNan = params.oobNan;
  encoded.checksum = checksumOf(encoded);
  std::memset(out, 0, 128);
  std::memcpy(out, &encoded, sizeof encoded);
  return Error::success();
}

Error replaceField(uint8_t *bytes, MapField field, unsigned index,
                   uint64_t value) {
  Encoded encoded;
  std::memcpy(&encoded, bytes, sizeof encoded);
  bool isZero = std::all_of(bytes, bytes + 128, [](uint8_t b) { return !b; });
  if (isZero) {
    std::memcpy(encoded.magic, mapMagic, 8);
    encoded.rank = 1;
  } else if (std::memcmp(encoded.magic, mapMagic, 8) ||
             encoded.checksum != checksumOf(encoded)) {
    return Error("these 128 bytes are neither a tensor map nor zeros");
  }
  // The instruction numbers the last types otherwise than the driver does.
  static const uint8_t types[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12};
  if (index > 4 || (field == MapField::Stride && index > 3))
    return invalid("no dimension " + std::to_string(index));
  switch (field) {
  case MapField::Address:
    encoded.address = value;
    break;
  case MapField::Rank:
    if (value > 4)
      return invalid("expects a rank of 1 to 5, less one, but got " +
                     std::to_string(value));
    encoded.rank = static_cast<uint8_t>(value + 1);
    break;
  case MapField::Box:
    if (value > 256)
      return invalid("expects a box of at most 256, but got " +
                     std::to_string(value));
    encoded.box[index] = static_cast<uint16_t>(value);
    break;
  case MapField::Size:
    encoded.sizes[index] = value;
    break;
  case MapField::Stride:
    encoded.strides[index] = value;
    break;
  case MapField::ElementStride:
    encoded.elementStrides[index] = static_cast<uint8_t>(value);
    break;
  case MapField::ElementType:
    if (value >= sizeof types)
      return invalid("unsupported element type " + std::to_string(value));
    encoded.type = types[value];
    break;
  case MapField::Interleave:
    if (value)
      return invalid("interleaved layouts are not supported by the emulator");
    break;
  case MapField::Swizzle:
    if (value > 3)
      return invalid("this swizzle mode is not supported by the emulator");
    encoded.swizzle = static_cast<uint8_t>(value);
    break;
  case MapField::SwizzleAtomicity:
    if (value)
      return invalid("this swizzle atomicity is not supported by the emulator");
    break;
  case MapField::Fill:
    encoded.oobNan = value != 0;
    break;
  }
  encoded.checksum = checksumOf(encoded);
  std::memcpy(bytes, &encoded, sizeof encoded);
  return Error::success();
}

Error decodeTiled(const uint8_t *bytes, TensorMapParams &params) {
  Encoded encoded;
  std::memcpy(&encoded, bytes, sizeof encoded);
  if (std::memcmp(encoded.magic, mapMagic, 8) ||
      encoded.checksum != checksumOf(encoded))
    return Error("these 128 bytes are not a tensor map");
  params = TensorMapParams();
  params.address = encoded.address;
  params.rank = encoded.rank;
  for (uint32_t i = 0; i < params.rank && i < 5; ++i) {
    params.sizes[i] = encoded.sizes[i];
    params.box[i] = encoded.box[i];
    params.elementStrides[i] = encoded.elementStrides[i];
    if (i + 1 < params.rank)
      params.strides[i] = encoded.strides[i];
  }
  params.type = static_cast<MapType>(encoded.type);
  params.swizzle = static_cast<MapSwizzle>(encoded.swizzle);
  params.l2Promotion = encoded.l2Promotion;
  params.oobNan = encoded.oobNan;
  uint8_t again[128];
  return encodeTiled(params, again);
}

} // namespace backfuse::emulator
