//===- FuzzTensorMap.cpp - Any parameters and bytes as a tensor map -------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// What encodeTiled accepts must decode to the same parameters; any bytes, and
// maps that are edited field by field, are refused or can be copied through.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Emulator.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

using namespace backfuse::emulator;

namespace {
class Bytes {
public:
  Bytes(const uint8_t *data, size_t size) : data(data), size(size) {}
  template <class T> T take() {
    T value{};
    size_t count = std::min(sizeof value, size);
    std::memcpy(&value, data, count);
    data += count;
    size -= count;
    return value;
  }
  bool isEmpty() const { return size == 0; }

private:
  const uint8_t *data;
  size_t size;
};
} // namespace

/// A load and a store of a box through the map, in each rank.
static std::string kernels() {
  std::string text = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                     ".extern .shared .align 1024 .b8 tile[];\n"
                     ".shared .align 8 .b64 bar;\n";
  std::string coordinates;
  for (unsigned rank = 1; rank <= 5; ++rank) {
    coordinates +=
        std::string(rank > 1 ? ", " : "") + "%c" + std::to_string(rank - 1);
    std::string dimension = std::to_string(rank) + "d";
    text += ".visible .entry k" + std::to_string(rank) +
            "(.param .align 64 .b8 m[128], .param .align 4 .b8 c[20], .param "
            ".u32 bytes) {\n.reg .b64 %rd<2>; .reg .b32 %r<2>; .reg .b32 "
            "%c<5>; .reg .pred %p<2>;\nmov.b64 %rd1, m; cvta.param.u64 %rd1, "
            "%rd1;\n";
    for (unsigned i = 0; i < rank; ++i)
      text += "ld.param.b32 %c" + std::to_string(i) + ", [c+" +
              std::to_string(4 * i) + "];\n";
    text += "ld.param.u32 %r1, [bytes];\nmbarrier.init.shared.b64 [bar], "
            "1;\nfence.mbarrier_init.release.cluster;\n"
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %r1;\n"
            "cp.async.bulk.tensor." +
            dimension +
            ".shared::cluster.global.mbarrier::complete_tx::bytes [tile], "
            "[%rd1, {" +
            coordinates +
            "}], [bar];\nW: mbarrier.try_wait.parity.shared::cta.b64 %p1, "
            "[bar], 0; @!%p1 bra W;\ncp.async.bulk.tensor." +
            dimension + ".global.shared::cta.bulk_group [%rd1, {" +
            coordinates +
            "}], [tile];\ncp.async.bulk.commit_group; cp.async.bulk.wait_group "
            "0;\nret;\n}\n";
  }
  return text;
}

static bool areSame(const TensorMapParams &a, const TensorMapParams &b) {
  if (a.rank != b.rank || a.type != b.type || a.address != b.address ||
      a.swizzle != b.swizzle || a.oobNan != b.oobNan)
    return false;
  for (uint32_t i = 0; i < a.rank; ++i)
    if (a.sizes[i] != b.sizes[i] || a.box[i] != b.box[i] ||
        (i + 1 < a.rank && a.strides[i] != b.strides[i]))
      return false;
  return true;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Machine machine;
  static std::unique_ptr<Module> module;
  static uint64_t memory = 0;
  if (!module) {
    if (machine.loadPtx(kernels(), module))
      std::abort();
    memory = machine.allocate(1 << 16, "memory", true);
  }
  Bytes bytes(data, size);
  uint8_t map[128] = {};
  auto way = bytes.take<uint8_t>();
  if (way % 3 == 0) {
    for (uint8_t &byte : map)
      byte = bytes.take<uint8_t>();
  } else if (way % 3 == 1) {
    TensorMapParams params;
    params.type = static_cast<MapType>(bytes.take<uint8_t>() % 16);
    params.rank = bytes.take<uint8_t>() % 8;
    params.address = memory + bytes.take<uint32_t>() % (1 << 17);
    for (uint64_t &extent : params.sizes)
      extent = bytes.take<uint8_t>() % 8 ? bytes.take<uint16_t>()
                                         : bytes.take<uint64_t>();
    for (uint64_t &stride : params.strides)
      stride = bytes.take<uint8_t>() % 8 ? 16 * bytes.take<uint16_t>()
                                         : bytes.take<uint64_t>();
    for (uint32_t &box : params.box)
      box = bytes.take<uint16_t>() % 300;
    params.swizzle = static_cast<MapSwizzle>(bytes.take<uint8_t>() % 8);
    params.oobNan = bytes.take<uint8_t>() & 1;
    params.interleave = bytes.take<uint8_t>() % 8 == 7;
    if (encodeTiled(params, map))
      return 0;
    TensorMapParams again;
    if (decodeTiled(map, again) || !areSame(params, again))
      std::abort();
  } else {
    while (!bytes.isEmpty()) {
      auto field = static_cast<MapField>(bytes.take<uint8_t>() % 11);
      auto index = bytes.take<uint8_t>() % 6u;
      uint64_t value = field == MapField::Address
                           ? memory + bytes.take<uint16_t>()
                       : field == MapField::Stride ? 16 * bytes.take<uint16_t>()
                       : bytes.take<uint8_t>() % 8 ? bytes.take<uint8_t>()
                                                   : bytes.take<uint64_t>();
      if (replaceField(map, field, index, value))
        break;
    }
  }
  TensorMapParams params;
  if (decodeTiled(map, params))
    return 0;
  std::vector<uint8_t> coordinates(20);
  for (unsigned i = 0; i < 5; ++i) {
    auto coordinate = static_cast<int32_t>(bytes.take<int16_t>());
    std::memcpy(coordinates.data() + 4 * i, &coordinate, 4);
  }
  LaunchShape shape;
  shape.dynamicSmemBytes = 200 * 1024;
  LaunchOptions options;
  options.stepLimit = 1000;
  Report report;
  (void)static_cast<bool>(
      machine.launch(*module, "k" + std::to_string(params.rank), shape,
                     {std::vector<uint8_t>(map, map + 128), coordinates,
                      argument(static_cast<uint32_t>(boxBytes(params)))},
                     options, report));
  return 0;
}
