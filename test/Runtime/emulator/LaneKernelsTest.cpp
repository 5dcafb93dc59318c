//===- LaneKernelsTest.cpp - Arithmetic, against other ways to compute it -===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/LaneKernels.h"

#include <cfenv>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace backfuse::emulator;

namespace {

constexpr uint32_t all = 0xffffffffu;

template <class D, class A> D one(LaneFn fn, A a, uint32_t flags = 0) {
  D d[32] = {};
  A sa[32] = {a};
  const void *sources[] = {sa};
  fn(d, sources, 1, flags);
  return d[0];
}
template <class D, class A, class B>
D two(LaneFn fn, A a, B b, uint32_t flags = 0) {
  D d[32] = {};
  A sa[32] = {a};
  B sb[32] = {b};
  const void *sources[] = {sa, sb};
  fn(d, sources, 1, flags);
  return d[0];
}
template <class D, class A, class B, class C>
D three(LaneFn fn, A a, B b, C c, uint32_t flags = 0) {
  D d[32] = {};
  A sa[32] = {a};
  B sb[32] = {b};
  C sc[32] = {c};
  const void *sources[] = {sa, sb, sc};
  fn(d, sources, 1, flags);
  return d[0];
}
LaneFn op(LaneOp which, Type type) {
  return laneTable()
      ->ops[static_cast<unsigned>(which)][static_cast<unsigned>(type)];
}
LaneFn convert(Type to, Type from) {
  return laneTable()
      ->converts[static_cast<unsigned>(to)][static_cast<unsigned>(from)];
}

float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

/// The value of a 16-bit format, from its fields.
double valueOf(uint16_t bits, int fraction, int bias) {
  int exponent = (bits & 0x7fff) >> fraction;
  int mantissa = bits & ((1 << fraction) - 1);
  int top = (1 << (15 - fraction)) - 1;
  double magnitude;
  if (exponent == top)
    magnitude = mantissa ? std::nan("") : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, 1 - bias - fraction);
  else
    magnitude =
        std::ldexp((1 << fraction) + mantissa, exponent - bias - fraction);
  return bits & 0x8000 ? -magnitude : magnitude;
}
double bf16Value(uint16_t bits) { return valueOf(bits, 7, 127); }
double f16Value(uint16_t bits) { return valueOf(bits, 10, 15); }

/// The nearest of the format's values, found by search; ties to the even one.
uint16_t nearest(double x, double (*value)(uint16_t), uint16_t infinity,
                 double overflow) {
  if (std::isnan(x))
    return 0x7fff;
  uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  if (x >= overflow)
    return sign | infinity;
  uint16_t low = 0, high = infinity; // value(low) <= x < value(high)
  while (high - low > 1) {
    auto middle = static_cast<uint16_t>((low + high) / 2);
    (value(middle) <= x ? low : high) = middle;
  }
  double up = high == infinity ? overflow * 2 : value(high);
  double below = x - value(low), above = up - x;
  uint16_t chosen =
      below < above || (below == above && low % 2 == 0) ? low : high;
  return sign | chosen;
}
uint16_t nearestBf16(double x) {
  return nearest(x, bf16Value, 0x7f80, 3.3961775292304957e38);
}
uint16_t nearestF16(double x) { return nearest(x, f16Value, 0x7c00, 65520.0); }

bool sameHalf(uint16_t a, uint16_t b) { return a == b; }

} // namespace

// Every 16-bit pattern widens to the value of its fields.
TEST(LaneKernels, WidensAllHalves) {
  for (uint32_t i = 0; i < 65536; ++i) {
    auto bits = static_cast<uint16_t>(i);
    for (bool isBf16 : {false, true}) {
      float wide =
          one<float>(convert(Type::F32, isBf16 ? Type::BF16 : Type::F16), bits);
      double expected = isBf16 ? bf16Value(bits) : f16Value(bits);
      ASSERT_TRUE(wide == expected ||
                  (std::isnan(wide) && std::isnan(expected)))
          << i;
      if (!std::isnan(wide))
        ASSERT_EQ(std::signbit(wide), std::signbit(expected));
    }
  }
}

TEST(LaneKernels, NarrowsToNearest) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    uint32_t bits = static_cast<uint32_t>(random());
    if (i % 3 == 0) // ties and their neighbours
      bits = (bits & 0xffff8000u) + (i / 3 % 3) - 1;
    if (i % 7 == 0)
      bits = (bits & 0x8fffffffu) | 0x30000000u; // near f16's subnormals
    float x = floatOf(bits);
    ASSERT_TRUE(sameHalf(one<uint16_t>(convert(Type::BF16, Type::F32), x),
                         nearestBf16(x)))
        << x;
    ASSERT_TRUE(sameHalf(one<uint16_t>(convert(Type::F16, Type::F32), x),
                         nearestF16(x)))
        << x;
  }
}

// One rounding per operation, for all pairs drawn from special and random
// values.
TEST(LaneKernels, HalfArithmeticRoundsOnce) {
  std::mt19937 random(2);
  std::vector<uint16_t> values = {0,      0x8000, 1,      0x8001, 0x7f80,
                                  0xff80, 0x7f7f, 0x3f80, 0x7c00, 0x7bff,
                                  0x3c00, 0x0400, 0x03ff, 0x7fff};
  while (values.size() < 300)
    values.push_back(static_cast<uint16_t>(random()));
  struct Format {
    Type type, packed;
    double (*value)(uint16_t);
    uint16_t (*round)(double);
  };
  for (const Format &f :
       {Format{Type::BF16, Type::BF16x2, bf16Value, nearestBf16},
        Format{Type::F16, Type::F16x2, f16Value, nearestF16}})
    for (uint16_t a : values)
      for (uint16_t b : values) {
        double x = f.value(a), y = f.value(b);
        ASSERT_EQ(two<uint16_t>(op(LaneOp::Add, f.type), a, b), f.round(x + y))
            << a << " " << b;
        ASSERT_EQ(two<uint16_t>(op(LaneOp::Mul, f.type), a, b), f.round(x * y))
            << a << " " << b;
        uint32_t packed =
            two<uint32_t>(op(LaneOp::Sub, f.packed), uint32_t(a) << 16 | b,
                          uint32_t(b) << 16 | a);
        ASSERT_EQ(packed >> 16, f.round(x - y));
        ASSERT_EQ(packed & 0xffff, f.round(y - x));
      }
}

TEST(LaneKernels, HalfFma) {
  std::mt19937 random(3);
  for (int i = 0; i < 100000; ++i) {
    auto a = static_cast<uint16_t>(random()),
         b = static_cast<uint16_t>(random()),
         c = static_cast<uint16_t>(random());
    // The product is exact; what an 80-bit sum cuts off is its error term.
    long double product = static_cast<long double>(bf16Value(a)) * bf16Value(b),
                addend = bf16Value(c);
    long double sum = product + addend, part = sum - product;
    long double lost = (product - (sum - part)) + (addend - part);
    auto rounded = static_cast<double>(sum);
    long double rest = (sum - rounded) + lost;
    uint16_t result = three<uint16_t>(op(LaneOp::Fma, Type::BF16), a, b, c);
    uint16_t expected = nearestBf16(rounded);
    if (result != expected) { // a tie in double: look at what was cut off
      ASSERT_NE(rest, 0) << a << " " << b << " " << c;
      expected =
          nearestBf16(std::nextafter(rounded, rest > 0 ? INFINITY : -INFINITY));
    }
    ASSERT_EQ(result, expected) << a << " " << b << " " << c;
  }
}

// Directed roundings, against the host's rounding modes.
TEST(LaneKernels, DirectedRounding) {
  const struct {
    uint32_t flag;
    int mode;
  } modes[] = {{lane::roundZero, FE_TOWARDZERO},
               {lane::roundDown, FE_DOWNWARD},
               {lane::roundUp, FE_UPWARD}};
  std::mt19937 random(4);
  for (auto [flag, mode] : modes)
    for (int i = 0; i < 50000; ++i) {
      float a = floatOf(static_cast<uint32_t>(random()) & 0xbfffffff),
            b = floatOf((static_cast<uint32_t>(random()) & 0x807fffff) |
                        (bitsOf(a) & 0x7f800000));
      float c = floatOf(static_cast<uint32_t>(random()) & 0xbfffffff);
      std::fesetround(mode);
      volatile float va = a, vb = b, vc = c;
      volatile float sum = va + vb, product = va * vb,
                     fused = std::fma(va, vb, vc);
      std::fesetround(FE_TONEAREST);
      if (!std::isnan(sum))
        ASSERT_EQ(bitsOf(two<float>(op(LaneOp::Add, Type::F32), a, b, flag)),
                  bitsOf(sum))
            << a << " " << b;
      if (!std::isnan(product))
        ASSERT_EQ(bitsOf(two<float>(op(LaneOp::Mul, Type::F32), a, b, flag)),
                  bitsOf(product))
            << a << " " << b;
      if (!std::isnan(fused))
        ASSERT_EQ(
            bitsOf(three<float>(op(LaneOp::Fma, Type::F32), a, b, c, flag)),
            bitsOf(fused))
            << a << " " << b << " " << c;
    }
}

TEST(LaneKernels, FloatSpecialValues) {
  EXPECT_EQ(bitsOf(two<float>(op(LaneOp::Add, Type::F32), INFINITY, -INFINITY)),
            0x7fffffffu);
  EXPECT_EQ(bitsOf(two<float>(op(LaneOp::Max, Type::F32), -0.0f, 0.0f)), 0u);
  EXPECT_EQ(bitsOf(two<float>(op(LaneOp::Min, Type::F32), 0.0f, -0.0f)),
            0x80000000u);
  EXPECT_EQ(two<float>(op(LaneOp::Max, Type::F32), NAN, 3.0f), 3.0f);
  EXPECT_TRUE(std::isnan(
      two<float>(op(LaneOp::Max, Type::F32), NAN, 3.0f, lane::propagateNan)));
  EXPECT_EQ(two<float>(op(LaneOp::Add, Type::F32), 3.0f, 4.0f, lane::saturate),
            1.0f);
  EXPECT_EQ(two<float>(op(LaneOp::Mul, Type::F32), NAN, 4.0f, lane::saturate),
            0.0f);
  EXPECT_EQ(bitsOf(two<float>(op(LaneOp::Mul, Type::F32), -1e-20f, 1e-20f,
                              lane::ftz)),
            0x80000000u);
  EXPECT_GT(two<float>(op(LaneOp::Mul, Type::F32), 1e-20f, 1e-20f), 0.0f);
  EXPECT_EQ(one<float>(op(LaneOp::Rcp, Type::F32), 4.0f), 0.25f);
  EXPECT_EQ(one<float>(op(LaneOp::Ex2, Type::F32), 5.0f), 32.0f);
  EXPECT_EQ(one<float>(op(LaneOp::Ex2, Type::F32), -INFINITY), 0.0f);
  EXPECT_EQ(one<float>(op(LaneOp::Lg2, Type::F32), 0.125f), -3.0f);
  EXPECT_EQ(one<float>(op(LaneOp::Rsqrt, Type::F32), 0.0f), INFINITY);
  EXPECT_EQ(one<float>(op(LaneOp::Tanh, Type::F32), 0.0f), 0.0f);
  EXPECT_EQ(two<float>(op(LaneOp::Copysign, Type::F32), -1.0f, 3.0f), -3.0f);
}

TEST(LaneKernels, Integers) {
  EXPECT_EQ(
      two<uint64_t>(op(LaneOp::MulWide, Type::U32), 0xffffffffu, 0xffffffffu),
      0xfffffffe00000001u);
  EXPECT_EQ(two<int64_t>(op(LaneOp::MulWide, Type::S32), -3, 1 << 30),
            -(3ll << 30));
  EXPECT_EQ(two<uint64_t>(op(LaneOp::MulHi, Type::U64), ~0ull, ~0ull),
            ~0ull - 1);
  EXPECT_EQ(three<uint32_t>(op(LaneOp::MadLo, Type::U32), 1u << 31, 2u, 7u),
            7u);
  EXPECT_EQ(three<int64_t>(op(LaneOp::MadWide, Type::S32), -2, 3, int64_t(10)),
            4);
  EXPECT_EQ(two<int32_t>(op(LaneOp::Div, Type::S32), -7, 2), -3);
  EXPECT_EQ(two<int32_t>(op(LaneOp::Rem, Type::S32), -7, 2), -1);
  EXPECT_EQ(two<int32_t>(op(LaneOp::Div, Type::S32), INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(two<uint32_t>(op(LaneOp::Div, Type::U32), 5u, 0u), 0xffffffffu);
  EXPECT_EQ(two<uint32_t>(op(LaneOp::Shl, Type::B32), 1u, 32u), 0u);
  EXPECT_EQ(two<int32_t>(op(LaneOp::Shr, Type::S32), -8, 40u), -1);
  EXPECT_EQ(two<uint32_t>(op(LaneOp::Shr, Type::U32), 0x80000000u, 31u), 1u);
  EXPECT_EQ(three<uint32_t>(op(LaneOp::Bfe, Type::U32), 0xabcdu, 4u, 8u),
            0xbcu);
  EXPECT_EQ(three<int32_t>(op(LaneOp::Bfe, Type::S32), 0x0000abcd, 4u, 8u),
            int32_t(0xffffffbc));
  EXPECT_EQ(one<uint32_t>(op(LaneOp::Popc, Type::B64), 0xff00ff00ffull), 24u);
  EXPECT_EQ(one<uint32_t>(op(LaneOp::Clz, Type::B32), 1u), 31u);
  EXPECT_EQ(one<uint32_t>(op(LaneOp::Clz, Type::B32), 0u), 32u);
  EXPECT_EQ(one<uint32_t>(op(LaneOp::Brev, Type::B32), 1u), 0x80000000u);
  EXPECT_EQ(one<uint32_t>(op(LaneOp::Bfind, Type::U32), 0x10u), 4u);
  EXPECT_EQ(one<uint32_t>(op(LaneOp::Bfind, Type::S32), -1), 0xffffffffu);
  EXPECT_EQ(three<uint32_t>(op(LaneOp::Prmt, Type::B32), 0x33221100u,
                            0x77665544u, 0x0527u),
            0x00552277u);
  EXPECT_EQ(three<uint32_t>(op(LaneOp::Prmt, Type::B32), 0x80u, 0u, 0x8888u),
            0xffffffffu);
  EXPECT_EQ(three<uint32_t>(op(LaneOp::Lop3, Type::B32), 0xf0f0u, 0xccccu,
                            0xaaaau, 0x96u << lane::tableShift),
            0xf0f0u ^ 0xccccu ^ 0xaaaau);
  EXPECT_EQ(three<uint32_t>(op(LaneOp::ShfL, Type::B32), 0x80000000u, 1u, 1u,
                            lane::wrap),
            3u);
  EXPECT_EQ(three<uint32_t>(op(LaneOp::ShfR, Type::B32), 0u, 1u, 1u, 0),
            0x80000000u);
  EXPECT_EQ(
      two<int16_t>(op(LaneOp::Add, Type::S16), int16_t(32767), int16_t(1)),
      -32768);
  EXPECT_EQ(
      two<int32_t>(op(LaneOp::Add, Type::S32), INT32_MAX, 1, lane::saturate),
      INT32_MAX);
  EXPECT_EQ(three<uint32_t>(op(LaneOp::Sad, Type::U32), 3u, 10u, 1u), 8u);
}

TEST(LaneKernels, ConvertsNumbers) {
  EXPECT_EQ(one<int32_t>(convert(Type::S32, Type::F32), -1.5f,
                         lane::roundZero | lane::integerRound),
            -1);
  EXPECT_EQ(
      one<int32_t>(convert(Type::S32, Type::F32), 2.5f, lane::integerRound), 2);
  EXPECT_EQ(one<int32_t>(convert(Type::S32, Type::F32), -1.5f,
                         lane::roundDown | lane::integerRound),
            -2);
  EXPECT_EQ(
      one<int32_t>(convert(Type::S32, Type::F32), 1e20f, lane::integerRound),
      INT32_MAX);
  EXPECT_EQ(
      one<int32_t>(convert(Type::S32, Type::F32), NAN, lane::integerRound), 0);
  EXPECT_EQ(
      one<uint32_t>(convert(Type::U32, Type::F32), -5.0f, lane::integerRound),
      0u);
  EXPECT_EQ(one<uint64_t>(convert(Type::U64, Type::F64), 1.8446744073709552e19,
                          lane::integerRound),
            ~0ull);
  EXPECT_EQ(one<float>(convert(Type::F32, Type::U32), 0xffffffffu),
            4294967296.0f);
  EXPECT_EQ(
      one<float>(convert(Type::F32, Type::U32), 0xffffffffu, lane::roundZero),
      4294967040.0f);
  EXPECT_EQ(one<float>(convert(Type::F32, Type::S64), int64_t(-(1ll << 40) - 1),
                       lane::roundDown),
            -1099511758848.0f);
  EXPECT_EQ(one<float>(convert(Type::F32, Type::F32), 2.5f, lane::integerRound),
            2.0f);
  EXPECT_EQ(one<float>(convert(Type::F32, Type::F32), 2.5f, lane::saturate),
            1.0f);
  EXPECT_EQ(one<int64_t>(convert(Type::S64, Type::S32), -5), -5);
  EXPECT_EQ(one<uint16_t>(convert(Type::U16, Type::U32), 0x12345u), 0x2345u);
  EXPECT_EQ(one<int16_t>(convert(Type::S16, Type::S32), 100000, lane::saturate),
            32767);
  EXPECT_EQ(two<uint32_t>(laneTable()->packHalf2[1], 1.0f, 2.0f),
            0x3f804000u); // first source above
  EXPECT_EQ(two<uint32_t>(laneTable()->packHalf2[0], 1.0f, 2.0f), 0x3c004000u);
  EXPECT_EQ(one<uint32_t>(convert(Type::TF32, Type::F32), floatOf(0x3f801000),
                          lane::roundAway),
            0x3f802000u);
  EXPECT_EQ(one<uint32_t>(convert(Type::TF32, Type::F32), floatOf(0x3f801000),
                          lane::roundNearest),
            0x3f800000u);
  EXPECT_EQ(one<uint16_t>(convert(Type::BF16, Type::F32), 1.0078125f + 0.001f,
                          lane::roundZero),
            0x3f81u);
}

TEST(LaneKernels, ComparesUnordered) {
  float a[32], b[32];
  for (unsigned i = 0; i < 32; ++i) {
    a[i] = i % 4 == 0 ? NAN : static_cast<float>(i % 3);
    b[i] = 1.0f;
  }
  auto lanes = [&](Compare c) {
    return laneTable()
        ->compares[static_cast<unsigned>(c)][static_cast<unsigned>(Type::F32)](
            a, b, all, 0);
  };
  for (unsigned i = 0; i < 32; ++i) {
    bool isNan = std::isnan(a[i]);
    EXPECT_EQ((lanes(Compare::Lt) >> i) & 1, !isNan && a[i] < 1);
    EXPECT_EQ((lanes(Compare::Geu) >> i) & 1, isNan || a[i] >= 1);
    EXPECT_EQ((lanes(Compare::Ne) >> i) & 1, !isNan && a[i] != 1);
    EXPECT_EQ((lanes(Compare::Neu) >> i) & 1, isNan || a[i] != 1);
    EXPECT_EQ((lanes(Compare::Nan) >> i) & 1, isNan);
    EXPECT_EQ((lanes(Compare::Num) >> i) & 1, !isNan);
  }
}

// Masked lanes keep their values.
TEST(LaneKernels, WritesOnlyActiveLanes) {
  for (uint32_t mask : {0x80000001u, 0x0000ffffu, all}) {
    uint32_t d[32], a[32], b[32];
    for (unsigned i = 0; i < 32; ++i)
      d[i] = 77, a[i] = i, b[i] = 100;
    const void *sources[] = {a, b};
    op(LaneOp::Add, Type::U32)(d, sources, mask, 0);
    for (unsigned i = 0; i < 32; ++i)
      EXPECT_EQ(d[i], (mask >> i) & 1 ? i + 100 : 77u);
  }
}

// All instruction sets of the host give the same bits.
TEST(LaneKernels, InstructionSetsAgree) {
  const LaneTable *base = laneTable("v1");
  ASSERT_NE(base, nullptr);
  std::mt19937_64 random(5);
  for (const char *isa : {"v3", "v4"}) {
    const LaneTable *other = laneTable(isa);
    if (!other)
      continue;
    for (unsigned o = 0; o < numLaneOps; ++o)
      for (unsigned t = 0; t < numTypes; ++t) {
        LaneFn f = base->ops[o][t], g = other->ops[o][t];
        ASSERT_EQ(f == nullptr, g == nullptr);
        if (!f)
          continue;
        for (unsigned round = 0; round < 20; ++round) {
          alignas(64) uint64_t s[4][32], d1[32] = {}, d2[32] = {};
          for (auto &source : s)
            for (uint64_t &word : source)
              word = random();
          const void *sources[] = {s[0], s[1], s[2], s[3]};
          uint32_t flags = round % 2 ? 0 : lane::ftz;
          f(d1, sources, all, flags);
          g(d2, sources, all, flags);
          ASSERT_EQ(std::memcmp(d1, d2, sizeof d1), 0)
              << isa << " operation " << o << " type "
              << typeName(static_cast<Type>(t));
        }
      }
    float a[16 * 64], b[16 * 64], d1[32][32], d2[32][32];
    float *r1[32], *r2[32];
    for (unsigned i = 0; i < 16 * 64; ++i)
      a[i] = static_cast<float>(static_cast<int>(random() % 9) - 4),
      b[i] = static_cast<float>(static_cast<int>(random() % 9) - 4);
    for (unsigned i = 0; i < 32; ++i)
      r1[i] = d1[i], r2[i] = d2[i];
    base->mma(r1, a, b, 64, 16, true);
    other->mma(r2, a, b, 64, 16, true);
    EXPECT_EQ(std::memcmp(d1, d2, sizeof d1), 0);
  }
}
