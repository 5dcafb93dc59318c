//===- Elements.cpp - Scalars of kernel-emu's arrays ----------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Job.h"

#include <cmath>
#include <cstring>

using namespace backfuse::emu;

namespace {
struct Info {
  const char *name;
  unsigned bytes;
};
} // namespace

static const Info infos[] = {{"u8", 1},  {"i8", 1},   {"u16", 2}, {"i16", 2},
                             {"u32", 4}, {"i32", 4},  {"u64", 8}, {"i64", 8},
                             {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}};

std::optional<Element> backfuse::emu::parseElement(const std::string &name) {
  std::string plain = name;
  // PTX's spellings.
  if (plain.size() > 1 && plain[0] == 's' && std::isdigit(plain[1]))
    plain[0] = 'i';
  if (plain.size() > 1 && plain[0] == 'b' && std::isdigit(plain[1]))
    plain[0] = 'u';
  for (unsigned i = 0; i < sizeof infos / sizeof *infos; ++i)
    if (plain == infos[i].name)
      return static_cast<Element>(i);
  return std::nullopt;
}

const char *backfuse::emu::elementName(Element element) {
  return infos[static_cast<unsigned>(element)].name;
}

unsigned backfuse::emu::elementBytes(Element element) {
  return infos[static_cast<unsigned>(element)].bytes;
}

bool backfuse::emu::isFloat(Element element) { return element >= Element::F16; }

/// A float of 16 bits with `exponentBits`, subnormals included.
static double decodeSmall(uint16_t bits, int exponentBits) {
  int mantissaBits = 15 - exponentBits;
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1);
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double value;
  if (exponent == (1 << exponentBits) - 1)
    value = mantissa ? std::nan("") : HUGE_VAL;
  else if (exponent == 0)
    value = std::ldexp(mantissa, 1 - bias - mantissaBits);
  else
    value = std::ldexp(mantissa + (1 << mantissaBits),
                       exponent - bias - mantissaBits);
  return bits & 0x8000 ? -value : value;
}

static uint16_t encodeSmall(double value, int exponentBits) {
  int mantissaBits = 15 - exponentBits;
  int bias = (1 << (exponentBits - 1)) - 1;
  int largest = (1 << exponentBits) - 1;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return 0x7fff;
  auto infinity = static_cast<uint16_t>(largest << mantissaBits);
  if (std::isinf(magnitude))
    return sign | infinity;
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  // In units of the last place; nearbyint rounds to nearest even.
  auto units = static_cast<int64_t>(
      std::nearbyint(std::ldexp(magnitude, mantissaBits - exponent)));
  int64_t bits = units + (int64_t(exponent + bias - 1) << mantissaBits);
  return sign | static_cast<uint16_t>(std::min<int64_t>(bits, infinity));
}

template <class T> static double load(const unsigned char *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}
template <class T> static void store(double value, unsigned char *to) {
  auto narrow = static_cast<T>(value);
  std::memcpy(to, &narrow, sizeof narrow);
}

double backfuse::emu::toDouble(Element element, const unsigned char *from) {
  uint16_t half = 0;
  if (elementBytes(element) == 2)
    std::memcpy(&half, from, 2);
  switch (element) {
  case Element::U8:
    return *from;
  case Element::I8:
    return load<int8_t>(from);
  case Element::U16:
    return half;
  case Element::I16:
    return load<int16_t>(from);
  case Element::U32:
    return load<uint32_t>(from);
  case Element::I32:
    return load<int32_t>(from);
  case Element::U64:
    return load<uint64_t>(from);
  case Element::I64:
    return load<int64_t>(from);
  case Element::F16:
    return decodeSmall(half, 5);
  case Element::BF16:
    return decodeSmall(half, 8);
  case Element::F32:
    return load<float>(from);
  case Element::F64:
    return load<double>(from);
  }
  return 0;
}

void backfuse::emu::fromDouble(Element element, double value,
                               unsigned char *to) {
  uint16_t half;
  switch (element) {
  case Element::U8:
    return store<uint8_t>(value, to);
  case Element::I8:
    return store<int8_t>(value, to);
  case Element::U16:
    return store<uint16_t>(value, to);
  case Element::I16:
    return store<int16_t>(value, to);
  case Element::U32:
    return store<uint32_t>(value, to);
  case Element::I32:
    return store<int32_t>(value, to);
  case Element::U64:
    return store<uint64_t>(value, to);
  case Element::I64:
    return store<int64_t>(value, to);
  case Element::F16:
  case Element::BF16:
    half = encodeSmall(value, element == Element::F16 ? 5 : 8);
    std::memcpy(to, &half, 2);
    return;
  case Element::F32:
    return store<float>(value, to);
  case Element::F64:
    return store<double>(value, to);
  }
}
