//===- RoundingTest.cpp - bf16 and f16 in software ------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Rounding.h"

#include <gtest/gtest.h>

#include <random>

using namespace backfuse;
using namespace backfuse::reference;
using bundle::DType;

namespace {
/// A 16-bit format, described by its field widths.
struct Format {
  DType dtype;
  int mantissaBits, exponentBits;
  uint16_t (*fromFloat)(float);
  uint16_t (*fromDouble)(double);
  float (*toFloat)(uint16_t);

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  uint16_t infinity() const {
    return uint16_t(((1 << exponentBits) - 1) << mantissaBits);
  }
  /// The value by the definition of the format.
  double value(uint16_t bits) const {
    int exponent = (bits & 0x7fff) >> mantissaBits;
    int mantissa = bits & ((1 << mantissaBits) - 1);
    double magnitude = exponent == 0
                           ? std::ldexp(mantissa, 1 - bias() - mantissaBits)
                           : std::ldexp((1 << mantissaBits) + mantissa,
                                        exponent - bias() - mantissaBits);
    return bits & 0x8000 ? -magnitude : magnitude;
  }
};

class Rounding : public testing::TestWithParam<Format> {};
} // namespace

/// All 65536 patterns widen to what the format's definition says, and back.
TEST_P(Rounding, WideningIsExactAndReversible) {
  Format format = GetParam();
  for (uint32_t i = 0; i < 0x10000; ++i) {
    auto bits = uint16_t(i);
    float wide = format.toFloat(bits);
    if ((bits & 0x7fff) > format.infinity()) {
      EXPECT_TRUE(std::isnan(wide)) << i;
      EXPECT_TRUE(std::isnan(format.toFloat(format.fromFloat(wide)))) << i;
      continue;
    }
    if ((bits & 0x7fff) == format.infinity())
      EXPECT_TRUE(std::isinf(wide)) << i;
    else
      EXPECT_EQ(double(wide), format.value(bits)) << i;
    EXPECT_EQ(format.fromFloat(wide), bits);
    EXPECT_EQ(format.fromDouble(wide), bits);
  }
}

/// Between all neighbours: below, at and above the middle, from f32 and from
/// f64, where a step of less than an f32 ulp decides.
TEST_P(Rounding, NeighboursToNearestEven) {
  Format format = GetParam();
  for (uint32_t i = 0; i < format.infinity(); ++i) {
    auto low = uint16_t(i), high = uint16_t(i + 1);
    // The value after the largest finite one, were there more exponents.
    double lowValue = format.value(low), highValue = format.value(high);
    double middle = (lowValue + highValue) / 2;
    uint16_t even = i % 2 ? high : low;
    for (uint16_t sign : {0x0000, 0x8000}) {
      double s = sign ? -1 : 1;
      EXPECT_EQ(format.fromDouble(s * middle), even | sign) << i;
      double tiny = middle * 0x1p-45;
      EXPECT_EQ(format.fromDouble(s * (middle - tiny)), low | sign) << i;
      EXPECT_EQ(format.fromDouble(s * (middle + tiny)), high | sign) << i;
      auto single = float(middle);
      if (double(single) != middle)
        continue; // below f32's subnormals
      EXPECT_EQ(format.fromFloat(float(s) * single), even | sign) << i;
      EXPECT_EQ(format.fromFloat(float(s) * std::nextafter(single, 0.0f)),
                low | sign)
          << i;
      EXPECT_EQ(format.fromFloat(float(s) * std::nextafter(single, HUGE_VALF)),
                high | sign)
          << i;
    }
  }
}

TEST_P(Rounding, SpecialValues) {
  Format format = GetParam();
  EXPECT_EQ(format.fromFloat(HUGE_VALF), format.infinity());
  EXPECT_EQ(format.fromFloat(-HUGE_VALF), format.infinity() | 0x8000);
  EXPECT_EQ(format.fromDouble(1e300), format.infinity());
  EXPECT_EQ(format.fromDouble(-1e-300), 0x8000);
  EXPECT_TRUE(std::isnan(format.toFloat(format.fromFloat(std::nanf("")))));
  // A NaN whose payload lies in bits that are cut off stays a NaN.
  EXPECT_TRUE(
      std::isnan(format.toFloat(format.fromFloat(floatOf(0x7f800001)))));
  EXPECT_TRUE(std::isnan(format.toFloat(format.fromDouble(std::nan("")))));
}

/// roundOnce does not round twice; roundElementwise does, through f32.
TEST_P(Rounding, OnceOrThroughF32) {
  Format format = GetParam();
  double step = std::ldexp(1, -format.mantissaBits);
  double aboveTie = 1 + step / 2 + 0x1p-40;
  EXPECT_EQ(roundOnce(format.dtype, aboveTie), 1 + step);
  EXPECT_EQ(roundElementwise(format.dtype, aboveTie), 1);
}

/// 10 bits of mantissa, to nearest even; infinities and NaN as they are.
TEST(Tf32Rounding, ToNearestEven) {
  const uint32_t cases[][2] = {
      {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f800000},
      {0x3f801001, 0x3f802000}, {0x3f803000, 0x3f804000},
      {0xbf802fff, 0xbf802000}, {0x3fffffff, 0x40000000},
      {0x00001000, 0x00000000}, {0x00003000, 0x00004000},
      {0x807fffff, 0x80800000}, {0x7f7fffff, 0x7f800000},
      {0x7f800000, 0x7f800000}, {0xff800000, 0xff800000},
      {0x7f800001, 0x7f800001}, {0x80000000, 0x80000000}};
  for (const auto &[from, to] : cases)
    EXPECT_EQ(bitsOf(roundToTf32(floatOf(from))), to) << std::hex << from;
}

INSTANTIATE_TEST_SUITE_P(Formats, Rounding,
                         testing::Values(Format{DType::BF16, 7, 8, floatToBf16,
                                                doubleToBf16, bf16ToFloat},
                                         Format{DType::F16, 10, 5, floatToF16,
                                                doubleToF16, f16ToFloat}),
                         [](const auto &info) {
                           return info.param.dtype == DType::BF16 ? "bf16"
                                                                  : "f16";
                         });
