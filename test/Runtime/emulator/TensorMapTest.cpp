//===- TensorMapTest.cpp - Tensor maps and the copies they describe -------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

#include <cstring>

using namespace backfuse::emulator;
using namespace backfuse::emulator::test;

static TensorMapParams matrix(uint64_t address, MapType type, uint64_t rows,
                              uint64_t columns, uint32_t boxRows,
                              uint32_t boxColumns, MapSwizzle swizzle) {
  TensorMapParams params;
  params.type = type;
  params.rank = 2;
  params.address = address;
  params.sizes[0] = columns;
  params.sizes[1] = rows;
  params.strides[0] = columns * mapElementBytes(type);
  params.box[0] = boxColumns;
  params.box[1] = boxRows;
  params.swizzle = swizzle;
  return params;
}

// Each rule of cuTensorMapEncodeTiled, one broken at a time.
TEST(TensorMap, ChecksParametersAsTheDriverDoes) {
  auto broken = [](void (*change)(TensorMapParams &)) {
    TensorMapParams params =
        matrix(4096, MapType::BFloat16, 128, 64, 64, 64, MapSwizzle::B128);
    change(params);
    uint8_t bytes[128];
    return encodeTiled(params, bytes).text();
  };
  EXPECT_EQ(broken([](TensorMapParams &) {}), "");
  EXPECT_NE(broken([](TensorMapParams &p) { p.rank = 6; }), "");
  EXPECT_NE(broken([](TensorMapParams &p) { p.rank = 0; }), "");
  EXPECT_NE(broken([](TensorMapParams &p) { p.address += 8; }), "");
  EXPECT_NE(broken([](TensorMapParams &p) { p.strides[0] = 136; }), "");
  EXPECT_NE(
      broken([](TensorMapParams &p) { p.strides[0] = uint64_t(1) << 40; }), "");
  EXPECT_NE(broken([](TensorMapParams &p) { p.sizes[1] = 0; }), "");
  EXPECT_NE(
      broken([](TensorMapParams &p) { p.sizes[1] = (uint64_t(1) << 32) + 1; }),
      "");
  EXPECT_NE(broken([](TensorMapParams &p) { p.box[1] = 257; }), "");
  EXPECT_NE(broken([](TensorMapParams &p) { p.box[0] = 72; }), "");
  EXPECT_NE(broken([](TensorMapParams &p) { p.box[0] = 4; }), "");
  EXPECT_NE(broken([](TensorMapParams &p) { p.elementStrides[1] = 2; }), "");
  EXPECT_NE(broken([](TensorMapParams &p) { p.interleave = 1; }), "");
  EXPECT_NE(broken([](TensorMapParams &p) {
              p.type = MapType::UInt16;
              p.oobNan = true;
            }),
            "");
}

TEST(TensorMap, DecodesWhatItEncodes) {
  TensorMapParams params = matrix(4096, MapType::Float32, 100, 64, 8, 32,
                                  MapSwizzle::B128),
                  again;
  uint8_t bytes[128];
  ASSERT_FALSE(encodeTiled(params, bytes));
  ASSERT_FALSE(decodeTiled(bytes, again));
  EXPECT_EQ(again.sizes[1], 100u);
  EXPECT_EQ(again.strides[0], 256u);
  EXPECT_EQ(again.box[0], 32u);
  bytes[20] ^= 1;
  EXPECT_TRUE(bool(decodeTiled(bytes, again)));
}

/// Loads one box to shared address 1024 and dumps shared memory.
static const char *loadBody = R"(
  ld.param.u64 %rd1, [p1];
  ld.param.v2.u32 {%r1, %r2}, [p2];
  ld.param.u32 %r9, [p2+8];
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, buffer;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra WAIT;
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mov.b64 %rd2, p0;
  cvta.param.u64 %rd2, %rd2;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], BYTES;
  cp.async.bulk.tensor.RANKd.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd2, {COORDS}], [bar];
WAIT:
  bar.sync 0;
LW:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
  @!%p2 bra LW;
  shl.b32 %r5, %r3, 2;
  add.u32 %r6, %r4, %r5;
  cvt.u64.u32 %rd3, %r5;
  add.u64 %rd1, %rd1, %rd3;
  mov.u32 %r7, 0;
COPY:
  ld.shared.b32 %r8, [%r6];
  st.global.b32 [%rd1], %r8;
  add.u32 %r6, %r6, 128;
  add.u64 %rd1, %rd1, 128;
  add.u32 %r7, %r7, 128;
  setp.lt.u32 %p3, %r7, BYTES;
  @%p3 bra COPY;
  ret;)";

static std::string replaceAll(std::string text, const std::string &from,
                              const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The bytes of shared memory after loading a box at (x, y, z).
static std::vector<uint8_t> loadBox(TestKernel &kernel,
                                    const TensorMapParams &params, int x, int y,
                                    int z = 0) {
  std::string body =
      replaceAll(loadBody, "BYTES", std::to_string(boxBytes(params)));
  body = replaceAll(body, "RANK", std::to_string(params.rank));
  body = replaceAll(body, "COORDS",
                    params.rank == 3 ? "%r1, %r2, %r9" : "%r1, %r2");
  kernel.load(kernelText(
      body, 3, "",
      ".shared .align 1024 .b8 buffer[65536];\n.shared .align 8 .b64 bar;"));
  kernel.shape.block = {32, 1, 1};
  uint64_t out = kernel.upload(std::vector<uint8_t>(boxBytes(params)));
  std::vector<uint8_t> coordinates(128);
  int32_t at[3] = {x, y, z};
  std::memcpy(coordinates.data(), at, sizeof at);
  kernel.runOk({kernel.map(params), kernel.number(out), coordinates});
  return kernel.download<uint8_t>(out, boxBytes(params));
}

// The 16-byte chunk c of row r lands at chunk c ^ f(r) of that row: f(r) is
// r % 8 for 128 bytes, (r / 2) % 4 for 64, (r / 4) % 2 for 32.
TEST(TensorMap, LoadsSwizzledBoxes) {
  struct Mode {
    MapSwizzle swizzle;
    uint32_t rowBytes;
    uint32_t (*flip)(uint32_t row);
  };
  const Mode modes[] = {
      {MapSwizzle::None, 96, [](uint32_t) { return 0u; }},
      {MapSwizzle::B32, 32, [](uint32_t r) { return (r / 4) % 2; }},
      {MapSwizzle::B64, 64, [](uint32_t r) { return (r / 2) % 4; }},
      {MapSwizzle::B128, 128, [](uint32_t r) { return r % 8; }}};
  for (const Mode &mode : modes) {
    TestKernel kernel;
    std::vector<uint16_t> data(40 * 256);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<uint16_t>(i + 1);
    uint64_t address = kernel.upload(data);
    TensorMapParams params = matrix(address, MapType::BFloat16, 40, 256, 16,
                                    mode.rowBytes / 2, mode.swizzle);
    std::vector<uint8_t> smem = loadBox(kernel, params, 8, 5);
    for (uint32_t r = 0; r < 16; ++r)
      for (uint32_t c = 0; c < mode.rowBytes / 2; ++c) {
        uint32_t at =
            r * mode.rowBytes + ((c * 2 / 16) ^ mode.flip(r)) * 16 + c * 2 % 16;
        uint16_t value;
        std::memcpy(&value, smem.data() + at, 2);
        ASSERT_EQ(value, data[(5 + r) * 256 + 8 + c])
            << "row " << r << " column " << c << " span " << mode.rowBytes;
      }
  }
}

// What lies outside the tensor reads as zero, on all sides; or as NaN.
TEST(TensorMap, FillsOutOfBounds) {
  for (bool nan : {false, true}) {
    TestKernel kernel;
    std::vector<float> data(10 * 12);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<float>(i + 1);
    TensorMapParams params = matrix(kernel.upload(data), MapType::Float32, 10,
                                    12, 16, 16, MapSwizzle::None);
    params.oobNan = nan;
    std::vector<uint8_t> smem = loadBox(kernel, params, -3, -2);
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 16; ++c) {
        float value;
        std::memcpy(&value, smem.data() + (r * 16 + c) * 4, 4);
        int y = r - 2, x = c - 3;
        bool inside = x >= 0 && x < 12 && y >= 0 && y < 10;
        if (inside)
          ASSERT_EQ(value, data[static_cast<size_t>(y * 12 + x)]);
        else if (nan)
          ASSERT_NE(value, value);
        else
          ASSERT_EQ(value, 0.0f);
      }
  }
}

// A 3-D view of a matrix fills several panels with one instruction.
TEST(TensorMap, LoadsPanels) {
  TestKernel kernel;
  std::vector<uint16_t> data(32 * 256);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<uint16_t>(i);
  TensorMapParams params;
  params.type = MapType::BFloat16;
  params.rank = 3;
  params.address = kernel.upload(data);
  params.sizes[0] = 64, params.sizes[1] = 32, params.sizes[2] = 4;
  params.strides[0] = 512, params.strides[1] = 128;
  params.box[0] = 64, params.box[1] = 16, params.box[2] = 2;
  params.swizzle = MapSwizzle::B128;
  std::vector<uint8_t> smem = loadBox(kernel, params, 0, 8, 1);
  for (uint32_t p = 0; p < 2; ++p)
    for (uint32_t r = 0; r < 16; ++r)
      for (uint32_t c = 0; c < 64; ++c) {
        uint16_t value;
        std::memcpy(&value,
                    smem.data() + p * 2048 + r * 128 +
                        ((c / 8) ^ (r % 8)) * 16 + c % 8 * 2,
                    2);
        ASSERT_EQ(value, data[(8 + r) * 256 + (1 + p) * 64 + c]);
      }
}

// A TFLOAT32 map rounds to 10 fraction bits, to nearest even; infinities and
// NaN stay.
TEST(TensorMap, RoundsTfloat32) {
  TestKernel kernel;
  std::vector<uint32_t> data = {0x3f800fff, 0x3f801000, 0x3f801001, 0x3f803000,
                                0x7f800000, 0x7fc12345, 0xbf801001, 0x00001fff};
  std::vector<uint32_t> rounded = {0x3f800000, 0x3f800000, 0x3f802000,
                                   0x3f804000, 0x7f800000, 0x7fc12345,
                                   0xbf802000, 0x00002000};
  TensorMapParams params = matrix(kernel.upload(data), MapType::TFloat32, 1, 8,
                                  4, 8, MapSwizzle::None);
  std::vector<uint8_t> smem = loadBox(kernel, params, 0, 0);
  for (size_t i = 0; i < 8; ++i) {
    uint32_t bits;
    std::memcpy(&bits, smem.data() + 4 * i, 4);
    EXPECT_EQ(bits, rounded[i]) << i;
  }
}

// Stores undo the swizzle and drop what lies outside.
TEST(TensorMap, StoresClippedBoxes) {
  TestKernel kernel;
  kernel.load(kernelText(R"(
    mov.b64 %rd2, p0;
    cvta.param.u64 %rd2, %rd2;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, buffer;
    shl.b32 %r3, %r1, 2;
    add.u32 %r4, %r2, %r3;
    mov.u32 %r5, 0;
FILL:
    add.u32 %r6, %r5, %r3;
    st.shared.b32 [%r4], %r6;
    add.u32 %r4, %r4, 128;
    add.u32 %r5, %r5, 128;
    setp.lt.u32 %p1, %r5, 1024;
    @%p1 bra FILL;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 ret;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {16, 4}], [%r2];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;)",
                         1, "", ".shared .align 1024 .b8 buffer[1024];"));
  kernel.shape.block = {32, 1, 1};
  // 8 rows of 32 floats; the tensor has 9 rows of 40 columns.
  uint64_t out = kernel.upload(std::vector<uint32_t>(9 * 40, 0xffffffff));
  kernel.runOk({kernel.map(
      matrix(out, MapType::UInt32, 9, 40, 8, 32, MapSwizzle::B128))});
  std::vector<uint32_t> stored = kernel.download<uint32_t>(out, 9 * 40);
  for (uint32_t y = 0; y < 9; ++y)
    for (uint32_t x = 0; x < 40; ++x) {
      uint32_t expected = 0xffffffff;
      if (y >= 4 && x >= 16) {
        uint32_t r = y - 4, c = x - 16;
        expected = r * 128 + ((c / 4) ^ r) * 16 + c % 4 * 4;
      }
      ASSERT_EQ(stored[y * 40 + x], expected) << x << ", " << y;
    }
  // A start before the tensor is refused for stores (PTX).
}

// Misuse that hardware answers with a fault or silent garbage.
TEST(TensorMap, RefusesMisplacedDestinations) {
  for (auto [from, to] : {std::make_pair("[%r4]", "[%r4+64]"),
                          {"[%rd2, {", "[%rd1, {"},
                          {"], [bar];", "], [bar+4];"}}) {
    TestKernel kernel;
    TensorMapParams params =
        matrix(kernel.upload(std::vector<uint32_t>(1024)), MapType::UInt32, 32,
               32, 8, 32, MapSwizzle::B128);
    std::string body = replaceAll(
        replaceAll(replaceAll(loadBody, "BYTES", "1024"), "RANK", "2"),
        "COORDS", "%r1, %r2");
    body = replaceAll(body, from, to);
    kernel.load(kernelText(
        body, 3, "",
        ".shared .align 1024 .b8 buffer[65536];\n.shared .align 8 .b64 bar;"));
    kernel.shape.block = {32, 1, 1};
    EXPECT_TRUE(bool(kernel.run(
        {kernel.map(params), kernel.number(params.address), kernel.number(0)})))
        << to;
  }
}
