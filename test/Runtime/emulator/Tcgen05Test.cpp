//===- Tcgen05Test.cpp - Products and moves of tensor memory -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Operands are laid into shared memory by the rules of the manual's canonical
// layouts, atom by atom; D is looked up where the manual says that it is; the
// product is compared with a plain triple loop over small integers, bit by bit.
//===----------------------------------------------------------------------===//
#include "OperandLayouts.h"
#include "TensorKernels.h"

#include <random>

using namespace backfuse::emulator;
using namespace backfuse::emulator::test;

namespace {

/// See OperandLayouts.h; descriptors here have bit 46, and shared memory begins
/// at smemAt.
uint64_t layOut(const Layout &layout, unsigned extent, unsigned k,
                unsigned elementBytes, uint32_t base,
                std::vector<uint8_t> &image,
                const std::vector<uint32_t> &bits) {
  return layOutOperand(layout, extent, k, elementBytes, base, smemAt, image,
                       bits) |
         uint64_t(1) << 46;
}

struct Case {
  Type type = Type::BF16;
  unsigned m = 128, n = 64;
  Layout a = k128, b = k128;
  bool negateA = false, negateB = false, halfD = false, pair = false;
  bool aInTensorMemory = false, accumulate = false;
  unsigned scale = 0; ///< of D
  unsigned firstLane = 0;
  bool masked = false; ///< lanes 5 and 70 keep their values
};

uint32_t instructionDescriptor(const Case &test) {
  uint32_t type = test.type == Type::TF32 ? 2 : test.type == Type::BF16 ? 1 : 0;
  return (test.halfD ? 0u : 1u) << 4 | type << 7 | type << 10 |
         uint32_t(test.negateA) << 13 | uint32_t(test.negateB) << 14 |
         uint32_t(!test.a.kMajor) << 15 | uint32_t(!test.b.kMajor) << 16 |
         (test.n >> 3) << 17 | (test.m >> 4) << 24;
}

void check(const Case &test) {
  const bool isTf32 = test.type == Type::TF32;
  const unsigned k = isTf32 ? 8 : 16, elementBytes = isTf32 ? 4 : 2;
  const unsigned group = test.pair ? 2 : 1;
  const unsigned rows = test.m / group, columns = test.n / group;
  std::mt19937 random(test.n + test.m + k);
  auto numbers = [&](unsigned extent) {
    std::vector<float> values(static_cast<size_t>(extent) * k);
    for (float &x : values)
      x = static_cast<float>(static_cast<int>(random() % 17) - 8);
    return values;
  };
  std::vector<float> a = numbers(test.m), b = numbers(test.n);
  auto encodeRows = [&](const std::vector<float> &values, unsigned first,
                        unsigned count) {
    std::vector<uint32_t> bits;
    for (unsigned i = first * k; i < (first + count) * k; ++i)
      bits.push_back(encode(test.type, values[i]));
    return bits;
  };
  // Each CTA's half at the same addresses.
  std::vector<uint8_t> images;
  uint64_t descA = 0, descB = 0;
  size_t imageBytes = 0;
  for (unsigned i = 0; i < group; ++i) {
    std::vector<uint8_t> image;
    std::vector<uint32_t> bits = encodeRows(a, i * rows, rows);
    if (test.aInTensorMemory) {
      // Each thread stores a row of 8 words; of M = 64 those of its lanes; of
      // a pair with 64 rows each, in both halves of the lanes.
      image.resize(128 * 32);
      for (unsigned lane = 0; lane < 128; ++lane) {
        unsigned row = test.m == 64 ? lane / 32 * 16 + lane % 16 : lane % rows;
        for (unsigned kk = 0; kk < k; ++kk)
          std::memcpy(image.data() + lane * 32 + kk * elementBytes,
                      &bits[row * k + kk], elementBytes);
      }
    } else {
      descA = layOut(test.a, rows, k, elementBytes, smemAt, image, bits);
    }
    auto next = static_cast<uint32_t>((image.size() + 1023) / 1024 * 1024);
    descB = layOut(test.b, columns, k, elementBytes, smemAt + next, image,
                   encodeRows(b, i * columns, columns));
    image.resize((image.size() + 2047) / 2048 * 2048);
    imageBytes = image.size();
    images.insert(images.end(), image.begin(), image.end());
  }
  const unsigned stored = test.pair && test.m == 128 ? test.n / 2 : test.n;
  std::string kind = isTf32 ? "tf32" : "f16";
  std::string mask;
  if (test.masked)
    mask = test.pair ? "{32, 0, 64, 0, 32, 0, 64, 0}, " : "{32, 0, 64, 0}, ";
  std::string body = tensorStart + R"(
    ld.param.u64 %rd3, [p2]; ld.param.u64 %rd4, [p3]; ld.param.u64 %rd5, [p4];
    ld.param.u32 %r20, [p5];
    // Each thread: its lane of D holds 2 (or, of f16, that) before.
    mov.b32 %r21, BEFORE; mov.b32 %r22, 0;
  INIT:
    add.u32 %r23, %r4, %r22;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r23], {%r21};
    add.u32 %r22, %r22, 1; setp.lt.u32 %p4, %r22, STORED; @%p4 bra INIT;
    mov.u32 %r24, smem; shl.b32 %r25, %r1, 5; add.u32 %r24, %r24, %r25;
    ld.shared.v4.b32 {%r26, %r27, %r28, %r29}, [%r24];
    ld.shared.v4.b32 {%r30, %r31, %r32, %r33}, [%r24+16];
    tcgen05.st.sync.aligned.32x32b.x8.b32 [%r4+256], {%r26, %r27, %r28, %r29, %r30, %r31, %r32, %r33};
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync;
    SYNC
    tcgen05.fence::after_thread_sync;
    setp.ne.u32 %p5, %r1, ACCUMULATE;
    mov.b32 %r34, LANE; add.u32 %r35, %r3, %r34;
    @%p1 tcgen05.mma.cta_group::1.kind::KIND [%r35], A, %rd4, %r20, MASK%p5SCALE;
    @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
  )" + waitFor("full", 0, "W") +
                     R"(
    tcgen05.fence::after_thread_sync;
    // lane * STORED * 4 bytes of this thread's lane
    mul.wide.u32 %rd6, %r1, STRIDE; add.u64 %rd5, %rd5, %rd6;
    mov.b32 %r22, 0;
  OUT:
    add.u32 %r23, %r4, %r22;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r36}, [%r23];
    tcgen05.wait::ld.sync.aligned;
    st.global.b32 [%rd5], %r36; add.u64 %rd5, %rd5, 4;
    add.u32 %r22, %r22, 1; setp.lt.u32 %p4, %r22, STORED; @%p4 bra OUT;
  )" + tensorEnd;
  body = replacedAll(body, "COLUMNS", "512");
  body = replacedAll(body, "BEFORE", test.halfD ? "0x4000" : "0x40000000");
  body = replacedAll(body, "STORED", std::to_string(stored));
  body = replacedAll(body, "STRIDE", std::to_string(stored * 4));
  body = replacedAll(body, "KIND", kind);
  body = replacedAll(body, "MASK", mask);
  body = replacedAll(body, "SCALE",
                     test.scale ? ", " + std::to_string(test.scale) : "");
  body = replacedAll(body, "LANE", std::to_string(test.firstLane << 16));
  body = replacedAll(body, "A, %rd4",
                     test.aInTensorMemory ? "[%r35+256], %rd4" : "%rd3, %rd4");
  // Thread 0 is the one that multiplies.
  body = replacedAll(body, "ACCUMULATE", test.accumulate ? "1" : "0");
  body = replacedAll(body, "SYNC",
                     test.pair ? "barrier.cluster.arrive.aligned; "
                                 "barrier.cluster.wait.aligned;"
                               : "bar.sync 0;");
  if (test.pair) {
    body = replacedAll(body, "cta_group::1", "cta_group::2");
    body = replacedAll(body, "@%p1 tcgen05.mma", "@%p6 tcgen05.mma");
    body = replacedAll(
        body,
        "@%p1 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
        ".b64 [full];",
        "@%p6 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
        ".multicast::cluster.b64 [full], 3;");
    body = "mov.u32 %r40, %cluster_ctarank; setp.eq.u32 %p6, %r40, 0; "
           "mov.u32 %r41, %tid.x; setp.eq.and.u32 %p6, %r41, 0, %p6;\n" +
           body;
    // Its own image and output.
    body = replacedAll(body, "ld.param.u32 %r5, [p1];",
                       "ld.param.u32 %r5, [p1]; mul.wide.u32 %rd10, %r40, %r5; "
                       "add.u64 %rd1, %rd1, %rd10;");
    body = replacedAll(body, "mul.wide.u32 %rd6, %r1,",
                       "mul.wide.u32 %rd10, %r40, " +
                           std::to_string(128 * stored * 4) +
                           "; add.u64 %rd5, %rd5, %rd10; mul.wide.u32 %rd6, "
                           "%r1,");
    // Nobody frees or exits before the other has finished.
    body = replacedAt(body, 1, "bar.sync 0;",
                      "barrier.cluster.arrive.aligned; "
                      "barrier.cluster.wait.aligned;");
  }
  TestKernel kernel;
  kernel.load(blackwellText(body, 6, tensorModule));
  kernel.shape.block = {128, 1, 1};
  kernel.shape.grid = kernel.shape.cluster = {group, 1, 1};
  kernel.shape.dynamicSmemBytes = static_cast<uint32_t>(imageBytes);
  uint64_t imageAt = kernel.upload(images);
  uint64_t out =
      kernel.upload(std::vector<uint32_t>(group * 128 * stored, 0xffffffff));
  kernel.runOk({kernel.number(imageAt), kernel.number(imageBytes),
                kernel.number(descA), kernel.number(descB), kernel.number(out),
                kernel.number(instructionDescriptor(test))});
  std::vector<uint32_t> result =
      kernel.download<uint32_t>(out, group * 128 * stored);
  const float sign = test.negateA != test.negateB ? -1.0f : 1.0f;
  std::vector<bool> seen(result.size());
  for (unsigned m = 0; m < test.m; ++m)
    for (unsigned n = 0; n < test.n; ++n) {
      float expected =
          test.accumulate ? 2.0f / static_cast<float>(1u << test.scale) : 0.0f;
      for (unsigned kk = 0; kk < k; ++kk)
        expected += sign * a[m * k + kk] * b[n * k + kk];
      // The manual's table of accumulator layouts.
      unsigned cta = 0, lane = m, column = n;
      if (!test.pair && test.m == 64) {
        lane = 32 * (m / 16) + m % 16 + test.firstLane;
      } else if (test.pair && test.m == 256) {
        cta = m / 128;
        lane = m % 128;
      } else if (test.pair) {
        cta = m / 64;
        lane = m % 64 + (n < test.n / 2 ? 0 : 64);
        column = n % (test.n / 2);
      }
      if (test.masked && (lane == 5 || lane == 70))
        expected = 2.0f;
      size_t at = (cta * 128 + lane) * stored + column;
      float got;
      if (test.halfD)
        got = f16ToFloat(static_cast<uint16_t>(result[at]));
      else
        std::memcpy(&got, &result[at], 4);
      seen[at] = true;
      ASSERT_EQ(got, expected) << "m " << m << " n " << n;
    }
  for (size_t i = 0; i < seen.size(); ++i)
    if (!seen[i])
      ASSERT_EQ(result[i], test.halfD ? 0x4000u : 0x40000000u)
          << "a lane that the product does not have was written";
}

Case with(Type type, unsigned m, unsigned n, Layout a, Layout b) {
  Case test;
  test.type = type;
  test.m = m;
  test.n = n;
  test.a = a;
  test.b = b;
  return test;
}

} // namespace

TEST(Tcgen05, ReadsEveryLayoutOfA) {
  for (const Layout &a : {kNone, k32, k64, k128, mnNone, mn32, mn64, mn128}) {
    SCOPED_TRACE("A: " + std::string(a.kMajor ? "K-major " : "MN-major ") +
                 std::to_string(a.span));
    check(with(Type::BF16, 128, 64, a, k128));
  }
}

TEST(Tcgen05, ReadsEveryLayoutOfB) {
  for (const Layout &b : {kNone, k32, k64, k128, mnNone, mn32, mn64, mn128}) {
    SCOPED_TRACE("B: " + std::string(b.kMajor ? "K-major " : "MN-major ") +
                 std::to_string(b.span));
    check(with(Type::F16, 128, 128, k128, b));
  }
}

TEST(Tcgen05, TakesEveryN) {
  for (unsigned n = 8; n <= 256; n += 24)
    check(with(Type::BF16, n % 16 ? 64 : 128, n, k64, kNone));
  check(with(Type::BF16, 128, 256, k64, kNone));
}

TEST(Tcgen05, MultipliesTf32) {
  for (const Layout &layout : {kNone, k32, k64, k128, mnAtom32})
    check(with(Type::TF32, 128, 64, layout, layout));
  check(with(Type::TF32, 64, 96, k128, mnAtom32));
  check(with(Type::TF32, 64, 96, mnAtom32, k32));
}

TEST(Tcgen05, PutsSixtyFourRowsInHalvesOfTheLanes) {
  Case test = with(Type::BF16, 64, 64, k128, k128);
  check(test);
  test.firstLane = 16;
  check(test);
}

TEST(Tcgen05, MultipliesInPairs) {
  for (unsigned m : {128u, 256u})
    for (const Layout &b : {k128, mn128, mn64}) {
      Case test = with(Type::BF16, m, 256, m == 256 ? mn64 : k128, b);
      test.pair = true;
      check(test);
    }
  Case test = with(Type::TF32, 256, 64, mnAtom32, mnAtom32);
  test.pair = true;
  check(test);
}

TEST(Tcgen05, TakesAFromTensorMemory) {
  for (Type type : {Type::BF16, Type::F16, Type::TF32})
    for (unsigned m : {64u, 128u, 256u})
      for (bool pair : {false, true}) {
        if (m == (pair ? 64u : 256u))
          continue;
        Case test = with(type, m, 96, k128, k128);
        test.pair = pair;
        test.aInTensorMemory = true;
        check(test);
      }
}

TEST(Tcgen05, AccumulatesScalesAndNegates) {
  for (bool halfD : {false, true})
    for (unsigned scale : {0u, 3u}) {
      Case test = with(Type::F16, 128, 32, k128, k128);
      test.accumulate = true;
      test.halfD = halfD;
      test.scale = scale;
      test.negateA = scale;
      test.negateB = halfD;
      check(test);
    }
}

TEST(Tcgen05, LeavesMaskedLanes) {
  Case test = with(Type::BF16, 128, 32, k128, k128);
  test.masked = test.accumulate = true;
  check(test);
  test = with(Type::BF16, 256, 32, k128, k128);
  test.masked = test.pair = true;
  check(test);
}

//===----------------------------------------------------------------------===//
// Loads, stores, copies
//===----------------------------------------------------------------------===//

namespace {
struct Shape {
  const char *name;
  unsigned number, registers;
};

/// Where register r of thread t stands, after the manual's tables.
std::pair<unsigned, unsigned> placeOf(const std::string &shape, unsigned t,
                                      unsigned r, unsigned split) {
  if (shape == "32x32b")
    return {t, r};
  if (shape == "16x64b")
    return {t / 4 + 8 * (t % 2), 2 * r + t / 2 % 2};
  if (shape == "16x128b")
    return {t / 4 + (r % 2 ? 8 : 0), r / 2 * 4 + t % 4};
  if (shape == "16x256b")
    return {t / 4 + (r % 4 >= 2 ? 8 : 0), r / 4 * 8 + 2 * (t % 4) + r % 2};
  return {t % 16, t < 16 ? r : split + r};
}

/// Fills lane l, column c with 1000 l + c by 32x32b, moves `shape` and returns
/// the registers of all threads (loads) or the memory (stores).
std::vector<uint32_t> move(const Shape &shape, bool isLoad, bool packed,
                           unsigned lane, unsigned split) {
  std::string list = registerList("%t", shape.registers);
  std::string name =
      std::string("tcgen05.") + (isLoad ? "ld" : "st") + ".sync.aligned." +
      shape.name + ".x" + std::to_string(shape.number) +
      (packed ? isLoad ? ".pack::16b" : ".unpack::16b" : "") + ".b32 ";
  std::string immediate =
      std::string(shape.name) == "16x32bx2" ? ", " + std::to_string(split) : "";
  std::string body = ".reg .b32 %t<" + std::to_string(shape.registers) +
                     ">;\n" + tensorStart + R"(
    ld.param.u64 %rd5, [p2];
    mov.b32 %r22, 0; mul.lo.u32 %r21, %r1, 1000;
  INIT:
    add.u32 %r23, %r4, %r22;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r23], {%r21};
    add.u32 %r21, %r21, 1; add.u32 %r22, %r22, 1;
    setp.lt.u32 %p4, %r22, 256; @%p4 bra INIT;
    tcgen05.wait::st.sync.aligned;
    add.u32 %r24, %r4, FIRST;
  )";
  if (isLoad) {
    body += name + list + ", [%r24]" + immediate +
            ";\ntcgen05.wait::ld.sync.aligned;\nmul.wide.u32 %rd6, %r1, " +
            std::to_string(shape.registers * 4) + "; add.u64 %rd5, %rd5, %rd6;";
    for (unsigned r = 0; r < shape.registers; ++r)
      body += "st.global.b32 [%rd5+" + std::to_string(4 * r) + "], %t" +
              std::to_string(r) + ";\n";
  } else {
    // Thread t stores 0x10000 (t + 1) + r of its warp.
    body += "and.b32 %r26, %r1, 31; add.u32 %r26, %r26, 1; shl.b32 %r26, %r26, "
            "16;\n";
    for (unsigned r = 0; r < shape.registers; ++r)
      body += "add.u32 %t" + std::to_string(r) + ", %r26, " +
              std::to_string(r) + ";\n";
    body += name + "[%r24]" + immediate + ", " + list +
            ";\ntcgen05.wait::st.sync.aligned;\nmul.wide.u32 %rd6, %r1, 1024; "
            "add.u64 %rd5, %rd5, %rd6; mov.b32 %r22, 0;\n";
    body += R"(
  OUT:
    add.u32 %r23, %r4, %r22;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r36}, [%r23];
    tcgen05.wait::ld.sync.aligned;
    st.global.b32 [%rd5], %r36; add.u64 %rd5, %rd5, 4;
    add.u32 %r22, %r22, 1; setp.lt.u32 %p4, %r22, 256; @%p4 bra OUT;
  )";
  }
  body += tensorEnd;
  body = replacedAll(body, "COLUMNS", "256");
  body = replacedAll(body, "FIRST", std::to_string(lane << 16 | 8));
  TestKernel kernel;
  kernel.load(blackwellText(body, 3, tensorModule));
  kernel.shape.block = {128, 1, 1};
  kernel.shape.dynamicSmemBytes = 2048;
  uint64_t image = kernel.upload(std::vector<uint8_t>(2048));
  size_t count = isLoad ? 128 * shape.registers : 128 * 256;
  uint64_t out = kernel.upload(std::vector<uint32_t>(count));
  kernel.runOk({kernel.number(image), kernel.number(2048), kernel.number(out)});
  return kernel.download<uint32_t>(out, count);
}

const Shape shapes[] = {{"32x32b", 1, 1},   {"32x32b", 32, 32},
                        {"16x64b", 1, 1},   {"16x64b", 8, 8},
                        {"16x128b", 1, 2},  {"16x128b", 4, 8},
                        {"16x256b", 1, 4},  {"16x256b", 8, 32},
                        {"16x32bx2", 1, 1}, {"16x32bx2", 16, 16}};
} // namespace

TEST(Tcgen05, LoadsEveryShape) {
  for (const Shape &shape : shapes)
    for (bool packed : {false, true})
      for (unsigned lane : {0u, 16u}) {
        if (lane && std::string(shape.name) == "32x32b")
          continue;
        SCOPED_TRACE(shape.name);
        std::vector<uint32_t> got = move(shape, true, packed, lane, 64);
        for (unsigned thread = 0; thread < 128; ++thread)
          for (unsigned r = 0; r < shape.registers; ++r) {
            // Packed registers take the columns 2 c and 2 c + 1 of column c.
            auto [l, c] = placeOf(shape.name, thread % 32, r, 0);
            unsigned split =
                std::string(shape.name) == "16x32bx2" && thread % 32 >= 16 ? 64
                                                                           : 0;
            unsigned first = 1000 * (thread / 32 * 32 + lane + l) + 8 + split;
            auto word = [&](unsigned column) { return first + column; };
            uint32_t expected =
                packed ? (word(2 * c) & 0xffff) | word(2 * c + 1) << 16
                       : word(c);
            ASSERT_EQ(got[thread * shape.registers + r], expected)
                << "thread " << thread << " register " << r;
          }
      }
}

TEST(Tcgen05, StoresEveryShape) {
  for (const Shape &shape : shapes)
    for (bool packed : {false, true}) {
      if (shape.registers == 1 && std::string(shape.name) != "32x32b")
        continue;
      SCOPED_TRACE(shape.name);
      std::vector<uint32_t> got = move(shape, false, packed, 0, 64);
      std::vector<uint32_t> expected(got.size());
      for (unsigned l = 0; l < 128; ++l)
        for (unsigned c = 0; c < 256; ++c)
          expected[l * 256 + c] = 1000 * l + c;
      for (unsigned thread = 0; thread < 128; ++thread)
        for (unsigned r = 0; r < shape.registers; ++r) {
          auto [l, c] = placeOf(shape.name, thread % 32, r, 0);
          unsigned split =
              std::string(shape.name) == "16x32bx2" && thread % 32 >= 16 ? 64
                                                                         : 0;
          uint32_t word = (thread % 32 + 1) << 16 | r;
          uint32_t *row = &expected[(thread / 32 * 32 + l) * 256 + 8 + split];
          if (!packed) {
            row[c] = word;
          } else {
            row[2 * c] = word & 0xffff;
            row[2 * c + 1] = word >> 16;
          }
        }
      ASSERT_EQ(got, expected);
    }
}

TEST(Tcgen05, CopiesFromSharedMemory) {
  struct Copy {
    const char *name;
    unsigned rows, words;
  };
  for (const Copy &copy :
       {Copy{"128x256b", 128, 8}, Copy{"128x128b", 128, 4},
        Copy{"64x128b.warpx2::02_13", 64, 4},
        Copy{"64x128b.warpx2::01_23", 64, 4}, Copy{"32x128b.warpx4", 32, 4}}) {
    SCOPED_TRACE(copy.name);
    // Element (row, k) of 16 bits is 16 row + k.
    std::vector<uint32_t> bits;
    for (unsigned row = 0; row < copy.rows; ++row)
      for (unsigned k = 0; k < copy.words * 2; ++k)
        bits.push_back(16 * row + k);
    std::vector<uint8_t> image;
    uint64_t descriptor =
        layOut(kNone, copy.rows, copy.words * 2, 2, smemAt, image, bits);
    image.resize((image.size() + 2047) / 2048 * 2048);
    std::string words = registerList("%t", copy.words);
    std::string body = ".reg .b32 %t<8>;\n" + tensorStart + R"(
      ld.param.u64 %rd3, [p2]; ld.param.u64 %rd5, [p3];
      @%p1 tcgen05.cp.cta_group::1.SHAPE [%r3+4], %rd3;
      @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
    )" + waitFor("full", 0, "W") +
                       R"(
      tcgen05.fence::after_thread_sync;
      tcgen05.ld.sync.aligned.32x32b.xWORDS.b32 )" +
                       words +
                       R"(, [%r4+4];
      tcgen05.wait::ld.sync.aligned;
      mul.wide.u32 %rd6, %r1, 32; add.u64 %rd5, %rd5, %rd6;
    )";
    for (unsigned w = 0; w < copy.words; ++w)
      body += "st.global.b32 [%rd5+" + std::to_string(4 * w) + "], %t" +
              std::to_string(w) + ";\n";
    body = replacedAll(body + tensorEnd, "COLUMNS", "32");
    body = replacedAll(body, "SHAPE", copy.name);
    body = replacedAll(body, "WORDS", std::to_string(copy.words));
    TestKernel kernel;
    kernel.load(blackwellText(body, 4, tensorModule));
    kernel.shape.block = {128, 1, 1};
    kernel.shape.dynamicSmemBytes = static_cast<uint32_t>(image.size());
    uint64_t at = kernel.upload(image);
    uint64_t out = kernel.upload(std::vector<uint32_t>(128 * 8));
    kernel.runOk({kernel.number(at), kernel.number(image.size()),
                  kernel.number(descriptor), kernel.number(out)});
    std::vector<uint32_t> got = kernel.download<uint32_t>(out, 128 * 8);
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned w = 0; w < copy.words; ++w) {
        unsigned row = lane;
        if (copy.rows == 32)
          row = lane % 32;
        else if (std::string(copy.name).find("02_13") != std::string::npos)
          row = lane % 64; // warps 0 and 2, 1 and 3 have the same
        else if (copy.rows == 64)
          row = lane / 64 * 32 + lane % 32; // warps 0 and 1, 2 and 3
        ASSERT_EQ(got[lane * 8 + w], (16 * row + 2 * w) | (16 * row + 2 * w + 1)
                                                              << 16)
            << "lane " << lane << " word " << w;
      }
  }
}
