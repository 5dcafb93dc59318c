//===- DecodeRare.cpp - Instructions that matter little for speed ---------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Carries, packed 16-bit integers, SIMD video instructions, conversions of
// 8-bit floats, indexed branches, mma.sync, st.async and the editing of tensor
// maps. The arithmetic among them runs lane by lane through a ScalarFn.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Decoder.h"

#include <cmath>

namespace backfuse::emulator {

Inst &Decoder::emitScalar(ScalarFn fn, uint32_t flags,
                          const std::vector<Ref> &refs) {
  Inst &inst = emit(Op::Scalar, refs);
  inst.scalar = fn;
  inst.laneFlags = flags;
  return inst;
}

//===----------------------------------------------------------------------===//
// Carries
//===----------------------------------------------------------------------===//

namespace carry {
enum : uint32_t {
  is64 = 1,
  usesCarry = 2,
  isSub = 4,
  wantsCarry = 8,
  isMad = 16,
  isHigh = 32,
  isSigned = 64
};
} // namespace carry

/// Sources: a, b, (c of mad), carry. The result or, with `wantsCarry`, what is
/// carried (borrowed).
static uint64_t sumWithCarry(const uint64_t *sources, uint32_t flags) {
  const bool is64 = flags & carry::is64;
  const uint64_t mask = is64 ? ~uint64_t(0) : 0xffffffffu;
  uint64_t x = sources[0] & mask, y = sources[1] & mask;
  uint64_t in = sources[flags & carry::isMad ? 3 : 2] & 1;
  if (!(flags & carry::usesCarry))
    in = 0;
  if (flags & carry::isMad) {
    unsigned __int128 product;
    if (flags & carry::isSigned) {
      __int128 a = is64 ? static_cast<int64_t>(x) : static_cast<int32_t>(x),
               b = is64 ? static_cast<int64_t>(y) : static_cast<int32_t>(y);
      product = static_cast<unsigned __int128>(a * b);
    } else {
      product = static_cast<unsigned __int128>(x) * y;
    }
    x = static_cast<uint64_t>(
            flags & carry::isHigh ? product >> (is64 ? 64 : 32) : product) &
        mask;
    y = sources[2] & mask;
  }
  if (flags & carry::isSub) {
    bool borrows = static_cast<unsigned __int128>(x) <
                   static_cast<unsigned __int128>(y) + in;
    return flags & carry::wantsCarry ? borrows : (x - y - in) & mask;
  }
  unsigned __int128 sum = static_cast<unsigned __int128>(x) + y + in;
  if (flags & carry::wantsCarry)
    return static_cast<uint64_t>(sum >> (is64 ? 64 : 32)) & 1;
  return static_cast<uint64_t>(sum) & mask;
}

/// add.cc, addc, sub.cc, subc, mad.cc, madc. The condition code is a register
/// that PTX has no name for.
bool Decoder::decodeCarry(const std::string &root) {
  Modifiers mods(*current);
  uint32_t flags = 0;
  bool isMad = root.rfind("mad", 0) == 0;
  bool writes = mods.take("cc");
  if (root.back() == 'c')
    flags |= carry::usesCarry;
  if (root.rfind("sub", 0) == 0)
    flags |= carry::isSub;
  if (isMad) {
    flags |= carry::isMad;
    bool isHigh = mods.take("hi");
    if (isHigh == mods.take("lo"))
      return fail("expects .lo or .hi");
    if (isHigh)
      flags |= carry::isHigh;
  }
  Type type = mods.takeType();
  unsigned bytes = byteSize(type);
  if ((bytes != 4 && bytes != 8) || isFloat(type))
    return unsupported();
  if (bytes == 8)
    flags |= carry::is64;
  if (isSigned(type))
    flags |= carry::isSigned;
  size_t sources = isMad ? 3 : 2;
  if (!allTaken(mods) || !expectOperands(1 + sources, 1 + sources))
    return false;
  if (carryVreg == ~0u)
    carryVreg = newVreg(4);
  std::vector<Ref> refs(1);
  for (size_t i = 1; i <= sources; ++i) {
    refs.emplace_back();
    if (!source(operand(i), type, bytes, refs.back()))
      return false;
  }
  refs.push_back(flags & carry::usesCarry ? vregRef(carryVreg)
                                          : constant(0, 4));
  // The destination may be one of the sources.
  Ref out = vregRef(newVreg(4), true);
  if (writes) {
    refs[0] = out;
    emitScalar(sumWithCarry, flags | carry::wantsCarry, refs);
  }
  if (!destination(operand(0), type, bytes, refs[0]))
    return false;
  emitScalar(sumWithCarry, flags, refs);
  if (writes) {
    out.isDef = false;
    emit(Op::Move, {vregRef(carryVreg, true), out});
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Parts of a word
//===----------------------------------------------------------------------===//

namespace packed {
enum Op : uint32_t { Add, Sub, Min, Max, Average, Difference };
/// Flags: the operation, 8 bits of a part, signedness of a, b and the result.
constexpr uint32_t partShift = 8, signedA = 1 << 16, signedB = 1 << 17,
                   signedD = 1 << 18, saturates = 1 << 19, relu = 1 << 20;
} // namespace packed

/// Sources: a, b. Each part of the word by itself.
static uint64_t partwise(const uint64_t *sources, uint32_t flags) {
  const unsigned bits = flags >> packed::partShift & 0xff;
  const int64_t range = int64_t(1) << bits;
  uint64_t result = 0;
  for (unsigned at = 0; at < 32; at += bits) {
    auto part = [&](uint64_t word, bool isSigned) {
      auto value = static_cast<int64_t>(word >> at) & (range - 1);
      return isSigned && value >= range / 2 ? value - range : value;
    };
    int64_t a = part(sources[0], flags & packed::signedA),
            b = part(sources[1], flags & packed::signedB), d = 0;
    switch (static_cast<packed::Op>(flags & 0xff)) {
    case packed::Add:
      d = a + b;
      break;
    case packed::Sub:
      d = a - b;
      break;
    case packed::Min:
      d = std::min(a, b);
      break;
    case packed::Max:
      d = std::max(a, b);
      break;
    case packed::Average: // rounded up
      d = (a + b + 1) >> 1;
      break;
    case packed::Difference:
      d = a < b ? b - a : a - b;
      break;
    }
    if (flags & packed::relu)
      d = std::max<int64_t>(d, 0);
    if (flags & packed::saturates) {
      bool isSigned = flags & packed::signedD;
      d = std::min(std::max(d, isSigned ? -range / 2 : 0),
                   isSigned ? range / 2 - 1 : range - 1);
    }
    result |= (static_cast<uint64_t>(d) & static_cast<uint64_t>(range - 1))
              << at;
  }
  return result;
}

/// add, min, max of .u16x2 and .s16x2.
bool Decoder::decodePacked(const std::string &root) {
  Modifiers mods(*current);
  uint32_t op = root == "add"   ? packed::Add
                : root == "sub" ? packed::Sub
                : root == "min" ? packed::Min
                                : packed::Max;
  uint32_t flags = op | 16 << packed::partShift;
  if (mods.take("relu"))
    flags |= packed::relu;
  if (mods.take("s16x2"))
    flags |= packed::signedA | packed::signedB | packed::signedD;
  else if (!mods.take("u16x2"))
    return unsupported();
  std::vector<Ref> refs(3);
  if (!allTaken(mods) || !expectOperands(3, 3) ||
      !source(operand(1), Type::B32, 4, refs[1]) ||
      !source(operand(2), Type::B32, 4, refs[2]) ||
      !destination(operand(0), Type::B32, 4, refs[0]))
    return false;
  emitScalar(partwise, flags, refs);
  return true;
}

/// vadd4, vabsdiff2 ...: the forms without mask and accumulation.
bool Decoder::decodeVideo(const std::string &root) {
  static const std::pair<const char *, uint32_t> names[] = {
      {"vadd", packed::Add},      {"vsub", packed::Sub},
      {"vmin", packed::Min},      {"vmax", packed::Max},
      {"vavrg", packed::Average}, {"vabsdiff", packed::Difference}};
  uint32_t op = ~0u;
  for (const auto &[name, value] : names)
    if (root.size() == std::strlen(name) + 1 && root.rfind(name, 0) == 0)
      op = value;
  if (op == ~0u)
    return unsupported();
  uint32_t flags = op | (root.back() == '4' ? 8u : 16u) << packed::partShift;
  Modifiers mods(*current);
  Type d = mods.takeType(), a = mods.takeType(), b = mods.takeType();
  flags |= (isSigned(a) ? packed::signedA : 0) |
           (isSigned(b) ? packed::signedB : 0) |
           (isSigned(d) ? packed::signedD : 0);
  if (mods.take("sat"))
    flags |= packed::saturates;
  // The fourth operand gives the parts that a mask leaves out: none.
  std::vector<Ref> refs(3);
  if (byteSize(d) != 4 || byteSize(a) != 4 || byteSize(b) != 4)
    return unsupported();
  if (!allTaken(mods) || !expectOperands(4, 4) ||
      !source(operand(1), a, 4, refs[1]) ||
      !source(operand(2), b, 4, refs[2]) ||
      !destination(operand(0), d, 4, refs[0]))
    return false;
  emitScalar(partwise, flags, refs);
  return true;
}

//===----------------------------------------------------------------------===//
// Conversions to and from parts
//===----------------------------------------------------------------------===//

/// e4m3 has no infinities: its largest exponent holds numbers, too.
static float fromFp8(uint8_t bits, bool isE5m2) {
  int mantissaBits = isE5m2 ? 2 : 3, bias = isE5m2 ? 15 : 7;
  int exponent = (bits & 0x7f) >> mantissaBits;
  int mantissa = bits & ((1 << mantissaBits) - 1);
  float value;
  if (isE5m2 ? exponent == 31 : (bits & 0x7f) == 0x7f)
    value = isE5m2 && !mantissa ? HUGE_VALF : NAN;
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissaBits);
  else
    value = std::ldexp(static_cast<float>(mantissa + (1 << mantissaBits)),
                       exponent - bias - mantissaBits);
  return bits & 0x80 ? -value : value;
}

/// Rounded to nearest even; what is too large becomes the largest number.
static uint8_t toFp8(float value, bool isE5m2, bool isRelu) {
  int mantissaBits = isE5m2 ? 2 : 3, bias = isE5m2 ? 15 : 7;
  if (std::isnan(value))
    return 0x7f;
  if (isRelu && value < 0)
    value = 0;
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  float magnitude = std::fabs(value);
  const uint8_t largest = isE5m2 ? 0x7b : 0x7e;
  if (magnitude >= fromFp8(largest, isE5m2))
    return sign | largest;
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  auto units = static_cast<int>(
      std::nearbyint(std::ldexp(magnitude, mantissaBits - exponent)));
  int bits = units + ((exponent + bias - 1) << mantissaBits);
  return sign | static_cast<uint8_t>(std::min<int>(bits, largest));
}

namespace fp8 {
constexpr uint32_t e5m2 = 1, relu = 2;
} // namespace fp8

static float bitsToFloat(uint64_t bits) {
  float value;
  auto low = static_cast<uint32_t>(bits);
  std::memcpy(&value, &low, 4);
  return value;
}

/// Sources: the upper and the lower element, as f32.
static uint64_t floatsToFp8(const uint64_t *sources, uint32_t flags) {
  auto one = [&](uint64_t bits) -> uint64_t {
    return toFp8(bitsToFloat(bits), flags & fp8::e5m2, flags & fp8::relu);
  };
  return one(sources[0]) << 8 | one(sources[1]);
}
static uint64_t halvesToFp8(const uint64_t *sources, uint32_t flags) {
  auto one = [&](uint64_t bits) -> uint64_t {
    return toFp8(f16ToFloat(static_cast<uint16_t>(bits)), flags & fp8::e5m2,
                 flags & fp8::relu);
  };
  return one(sources[0] >> 16) << 8 | one(sources[0]);
}
static uint64_t fp8ToHalves(const uint64_t *sources, uint32_t flags) {
  auto one = [&](uint64_t bits) -> uint64_t {
    float value = fromFp8(static_cast<uint8_t>(bits), flags & fp8::e5m2);
    if (flags & fp8::relu)
      value = value > 0 ? value : 0;
    return floatToF16(value);
  };
  return one(sources[0] >> 8) << 16 | one(sources[0]);
}

/// Sources: a, b, (c): saturated parts, a above b above the rest of c.
static uint64_t packSaturated(const uint64_t *sources, uint32_t flags) {
  const unsigned bits = flags & 0xff;
  const bool isSigned = flags & 0x100;
  const int64_t range = int64_t(1) << bits;
  uint64_t result = 0;
  for (unsigned i = 0; i < 2; ++i) {
    auto value = static_cast<int64_t>(static_cast<int32_t>(sources[1 - i]));
    value = std::min(std::max(value, isSigned ? -range / 2 : 0),
                     isSigned ? range / 2 - 1 : range - 1);
    result |= (static_cast<uint64_t>(value) & static_cast<uint64_t>(range - 1))
              << (bits * i);
  }
  if (flags & 0x200)
    result |= sources[2] << (2 * bits) & 0xffffffffu;
  return result;
}

/// cvt with .e4m3x2 and .e5m2x2, cvt.pack.
bool Decoder::decodeConvertPacked() {
  Modifiers mods(*current);
  if (mods.take("pack")) {
    if (!mods.take("sat"))
      return unsupported();
    Type to = mods.takeType(), from = mods.takeType();
    bool hasRest = mods.take("b32");
    unsigned bits = byteSize(to) * 8;
    if ((bits != 8 && bits != 16) || from != Type::S32 ||
        hasRest != (bits == 8) || isFloat(to))
      return unsupported();
    size_t sources = hasRest ? 3 : 2;
    std::vector<Ref> refs(1 + sources);
    if (!allTaken(mods) || !expectOperands(1 + sources, 1 + sources))
      return false;
    for (size_t i = 1; i <= sources; ++i)
      if (!source(operand(i), Type::S32, 4, refs[i]))
        return false;
    if (!destination(operand(0), Type::B32, 4, refs[0]))
      return false;
    emitScalar(packSaturated,
               bits | (isSigned(to) ? 0x100u : 0) | (hasRest ? 0x200u : 0),
               refs);
    return true;
  }
  bool isE5m2 = mods.take("e5m2x2");
  if (!isE5m2)
    mods.take("e4m3x2");
  uint32_t flags = isE5m2 ? fp8::e5m2 : 0;
  if (mods.take("relu"))
    flags |= fp8::relu;
  mods.take("rn");
  bool saturates = mods.take("satfinite");
  Type other = mods.takeType();
  if (!allTaken(mods))
    return false;
  std::vector<Ref> refs(2);
  if (other == Type::F16x2 && !saturates) {
    if (!expectOperands(2, 2) || !source(operand(1), Type::B16, 2, refs[1]) ||
        !destination(operand(0), Type::B32, 4, refs[0]))
      return false;
    emitScalar(fp8ToHalves, flags, refs);
    return true;
  }
  if (!saturates)
    return fail("expects .satfinite");
  bool isPair = other == Type::F32;
  if (!isPair && other != Type::F16x2)
    return unsupported();
  refs.resize(isPair ? 3 : 2);
  if (!expectOperands(refs.size(), refs.size()))
    return false;
  for (size_t i = 1; i < refs.size(); ++i)
    if (!source(operand(i), isPair ? Type::F32 : Type::B32, 4, refs[i]))
      return false;
  if (!destination(operand(0), Type::B16, 2, refs[0]))
    return false;
  emitScalar(isPair ? floatsToFp8 : halvesToFp8, flags, refs);
  return true;
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

bool Decoder::decodeBranchIndexed() {
  Modifiers mods(*current);
  mods.take("uni");
  std::vector<Ref> refs(1);
  if (!mods.take("idx") || !allTaken(mods) || !expectOperands(2, 2) ||
      !source(operand(0), Type::U32, 4, refs[0]))
    return message.empty() ? unsupported() : false;
  std::vector<uint32_t> targets;
  for (const Operand &label : operand(1).elements)
    targets.push_back(label.index);
  auto table = static_cast<uint32_t>(kernel.branchTables.size());
  kernel.branchTables.push_back(std::move(targets));
  emit(Op::BranchIndexed, refs).target = table;
  return true;
}

//===----------------------------------------------------------------------===//
// Copies of values, tensor maps
//===----------------------------------------------------------------------===//

/// st.async and red.async. refs: address, mbarrier, values.
bool Decoder::decodeStoreAsync() {
  Modifiers mods(*current);
  bool isReduce = current->name[0] == "red";
  if (current->name[0] != "st" && !isReduce)
    return unsupported();
  mods.take("async");
  for (const char *name :
       {"weak", "relaxed", "cluster", "mbarrier::complete_tx::bytes"})
    mods.take(name);
  if (!mods.take("shared::cluster"))
    return fail("expects .shared::cluster");
  AtomicOp op = AtomicOp::Exch;
  if (isReduce)
    for (const auto &[name, value] : {std::make_pair("add", AtomicOp::Add),
                                      {"min", AtomicOp::Min},
                                      {"max", AtomicOp::Max},
                                      {"and", AtomicOp::And},
                                      {"or", AtomicOp::Or},
                                      {"xor", AtomicOp::Xor},
                                      {"inc", AtomicOp::Inc},
                                      {"dec", AtomicOp::Dec}})
      if (mods.take(name))
        op = value;
  if (isReduce && op == AtomicOp::Exch)
    return fail("expects an operation");
  unsigned count = mods.take("v2") ? 2 : mods.take("v4") ? 4 : 1;
  Type type = mods.takeType();
  unsigned bytes = byteSize(type);
  if (bytes != 4 && bytes != 8)
    return unsupported();
  if (!allTaken(mods) || !expectOperands(3, 3))
    return false;
  std::vector<Ref> refs(2);
  int64_t offset = 0, barrierOffset = 0;
  if (!address(operand(0), refs[0], offset) ||
      !address(operand(2), refs[1], barrierOffset))
    return false;
  const Operand &data = operand(1);
  std::vector<Operand> elements =
      data.kind == Operand::Vector ? data.elements : std::vector<Operand>{data};
  if (elements.size() != count)
    return fail("expects " + std::to_string(count) + " elements");
  for (const Operand &element : elements) {
    refs.emplace_back();
    if (!source(element, type, bytes, refs.back()))
      return false;
  }
  Inst &inst = emit(Op::StoreAsync, refs);
  inst.type = type;
  inst.sub = static_cast<uint8_t>(op);
  inst.count = static_cast<uint8_t>(count);
  inst.imm = offset;
  inst.target = static_cast<uint32_t>(barrierOffset);
  return true;
}

/// tensormap.replace (refs: address, value) and tensormap.cp_fenceproxy (refs:
/// destination, source).
bool Decoder::decodeTensorMap() {
  Modifiers mods(*current);
  if (mods.take("cp_fenceproxy")) {
    for (const char *name : {"global", "shared::cta", "tensormap::generic",
                             "release", "cta", "cluster", "gpu", "sys"})
      mods.take(name);
    std::vector<Ref> refs(2);
    int64_t to = 0, from = 0;
    if (!mods.take("sync") || !mods.take("aligned"))
      return fail("expects .sync.aligned");
    if (!allTaken(mods) || !expectOperands(3, 3) ||
        !address(operand(0), refs[0], to) ||
        !address(operand(1), refs[1], from))
      return false;
    if (operand(2).kind != Operand::Int || operand(2).bits != 128)
      return fail("expects 128 bytes");
    Inst &inst = emit(Op::TensorMapCopy, refs);
    inst.flags = inst::aligned;
    inst.imm = to;
    inst.target = static_cast<uint32_t>(from);
    return true;
  }
  static const std::pair<const char *, MapField> fields[] = {
      {"global_address", MapField::Address},
      {"rank", MapField::Rank},
      {"box_dim", MapField::Box},
      {"global_dim", MapField::Size},
      {"global_stride", MapField::Stride},
      {"element_stride", MapField::ElementStride},
      {"elemtype", MapField::ElementType},
      {"interleave_layout", MapField::Interleave},
      {"swizzle_mode", MapField::Swizzle},
      {"swizzle_atomicity", MapField::SwizzleAtomicity},
      {"fill_mode", MapField::Fill}};
  if (!mods.take("replace") || !mods.take("tile"))
    return unsupported();
  bool isFound = false;
  MapField field = MapField::Address;
  for (const auto &[name, value] : fields)
    if (mods.take(name)) {
      field = value;
      isFound = true;
    }
  if (!isFound)
    return fail("expects a field of a tensor map");
  Space space;
  uint32_t flags = 0;
  takeSpace(mods, space, flags);
  if (!mods.take("b1024"))
    return fail("expects .b1024");
  Type type = mods.takeType();
  bool hasIndex = field == MapField::Box || field == MapField::Size ||
                  field == MapField::Stride || field == MapField::ElementStride;
  size_t operands = hasIndex ? 3 : 2;
  std::vector<Ref> refs(2);
  int64_t offset = 0;
  if (!allTaken(mods) || !expectOperands(operands, operands) ||
      !address(operand(0), refs[0], offset) ||
      !source(operand(operands - 1), type, byteSize(type), refs[1]))
    return false;
  if (hasIndex && (operand(1).kind != Operand::Int || operand(1).bits > 4))
    return fail("expects a dimension from 0 to 4");
  Inst &inst = emit(Op::TensorMapReplace, refs);
  inst.sub = static_cast<uint8_t>(field);
  inst.count = hasIndex ? static_cast<uint8_t>(operand(1).bits) : 0;
  inst.space = space;
  inst.imm = offset;
  return true;
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

/// refs: D, A, B, C, as many as each has registers; `sub` tells the types of A
/// and B, `count` K, `shapeN` M.
bool Decoder::decodeWarpMma() {
  Modifiers mods(*current);
  if (mods.has("sp") || mods.has("block_scale") || mods.has("b1"))
    return unsupported();
  if (!mods.take("sync") || !mods.take("aligned"))
    return fail("expects .sync.aligned");
  std::string shape = mods.takePrefix("m");
  unsigned m = 0, n = 0, k = 0;
  if (std::sscanf(shape.c_str(), "m%un%uk%u", &m, &n, &k) != 3)
    return fail("expects a shape mMnNkK");
  if (!mods.take("row") || !mods.take("col"))
    return fail("layouts other than .row.col are not supported by the "
                "emulator");
  mods.take("kind::f8f6f4");
  uint32_t laneFlags = mods.take("satfinite") ? lane::saturate : 0;
  // D, A, B, C; types of 8-bit floats have no name elsewhere.
  static const std::pair<const char *, MmaType> names[] = {
      {"f16", MmaType::F16},   {"bf16", MmaType::BF16}, {"tf32", MmaType::TF32},
      {"s8", MmaType::S8},     {"u8", MmaType::U8},     {"e4m3", MmaType::E4M3},
      {"e5m2", MmaType::E5M2}, {"f64", MmaType::F64}};
  const std::vector<std::string> &parts = current->name;
  if (parts.size() < 4)
    return unsupported();
  std::string typeNames[4];
  for (size_t i = 0; i < 4; ++i) {
    typeNames[i] = parts[parts.size() - 4 + i];
    mods.take(typeNames[i]);
  }
  auto inputType = [&](const std::string &name, MmaType &type) {
    for (const auto &[text, value] : names)
      if (name == text) {
        type = value;
        return true;
      }
    return fail("operands of type '." + name +
                "' are not supported by the emulator");
  };
  MmaType a, b;
  if (!inputType(typeNames[1], a) || !inputType(typeNames[2], b))
    return false;
  Type d = parseType(typeNames[0]), c = parseType(typeNames[3]);
  unsigned bits = mmaBits(a);
  bool isInteger = a == MmaType::S8 || a == MmaType::U8;
  bool isFp8 = a == MmaType::E4M3 || a == MmaType::E5M2;
  bool matches = isInteger ? b == MmaType::S8 || b == MmaType::U8
                 : isFp8   ? b == MmaType::E4M3 || b == MmaType::E5M2
                           : a == b;
  bool isF64 = a == MmaType::F64;
  bool goodD =
      d == c && (isInteger                    ? d == Type::S32
                 : isF64                      ? d == Type::F64
                 : a == MmaType::F16 || isFp8 ? d == Type::F32 || d == Type::F16
                                              : d == Type::F32);
  // Depths that fill half or all of A's four registers; of f64 up to eight.
  unsigned full = isF64 ? 4 : 256 / bits;
  bool goodShape =
      isF64 ? (m == 8 && k == 4) || (m == 16 && (k == 4 || k == 8 || k == 16))
            : m == 16 && (k == full || k * 2 == full);
  if (!matches || !goodD || n != 8 || !goodShape)
    return fail("this shape with these types is not supported by the emulator");
  if (!allTaken(mods) || !expectOperands(4, 4))
    return false;
  unsigned registerBits = isF64 ? 64 : 32;
  unsigned counts[4];
  counts[1] = m * k * bits / 32 / registerBits;
  counts[2] = n * k * bits / 32 / registerBits;
  counts[0] = counts[3] = m * n *
                          (d == Type::F16   ? 16
                           : d == Type::F64 ? 64
                                            : 32) /
                          32 / registerBits;
  std::vector<Ref> refs;
  for (unsigned i = 0; i < 4; ++i) {
    const Operand &list = operand(i);
    std::vector<Operand> elements = list.kind == Operand::Vector
                                        ? list.elements
                                        : std::vector<Operand>{list};
    if (elements.size() != counts[i])
      return fail("operand " + std::to_string(i) + " expects " +
                  std::to_string(counts[i]) + " registers, but got " +
                  std::to_string(elements.size()));
    for (const Operand &element : elements) {
      refs.emplace_back();
      Type type = isF64 ? Type::F64 : Type::B32;
      if (i == 0 ? !destination(element, type, registerBits / 8, refs.back())
                 : !source(element, type, registerBits / 8, refs.back()))
        return false;
    }
  }
  Inst &inst = emit(Op::WarpMma, refs);
  inst.type = d;
  inst.sub = static_cast<uint8_t>(static_cast<unsigned>(a) |
                                  static_cast<unsigned>(b) << 4);
  inst.count = static_cast<uint8_t>(k);
  inst.shapeN = static_cast<uint16_t>(m);
  inst.laneFlags = laneFlags;
  inst.flags = inst::aligned;
  return true;
}

//===----------------------------------------------------------------------===//
// Which is which
//===----------------------------------------------------------------------===//

/// Decodes the instruction and sets `isRare` if it is one of this file.
bool Decoder::decodeRare(const std::string &root, bool &isRare) {
  Modifiers mods(*current);
  isRare = true;
  bool isSum = root == "add" || root == "sub" || root == "mad";
  if ((isSum && mods.has("cc")) || root == "addc" || root == "subc" ||
      root == "madc")
    return decodeCarry(root);
  if ((root == "add" || root == "sub" || root == "min" || root == "max") &&
      (mods.has("u16x2") || mods.has("s16x2")))
    return decodePacked(root);
  if (root[0] == 'v' && root.size() > 4 &&
      (root.back() == '2' || root.back() == '4'))
    return decodeVideo(root);
  if (root == "cvt" &&
      (mods.has("pack") || mods.has("e4m3x2") || mods.has("e5m2x2")))
    return decodeConvertPacked();
  if (root == "brx")
    return decodeBranchIndexed();
  if (root == "tensormap")
    return decodeTensorMap();
  if (root == "fence" && mods.has("tensormap::generic")) {
    // Acquires what tensormap.cp_fenceproxy has released.
    std::vector<Ref> refs(1);
    int64_t offset = 0;
    for (const char *name : {"proxy", "tensormap::generic", "acquire",
                             "release", "cta", "cluster", "gpu", "sys"})
      mods.take(name);
    if (!allTaken(mods) || !expectOperands(0, 2))
      return false;
    if (current->operands.empty()) {
      emit(Op::Fence, {}).flags = inst::acquire | inst::release;
      return true;
    }
    if (!address(operand(0), refs[0], offset))
      return false;
    emit(Op::TensorMapAcquire, refs).imm = offset;
    return true;
  }
  if (root == "mma")
    return decodeWarpMma();
  if (root == "movmatrix") {
    std::vector<Ref> refs(2);
    for (const char *name : {"sync", "aligned", "m8n8", "trans", "b16"})
      if (!mods.take(name))
        return unsupported();
    if (!allTaken(mods) || !expectOperands(2, 2) ||
        !source(operand(1), Type::B32, 4, refs[1]) ||
        !destination(operand(0), Type::B32, 4, refs[0]))
      return false;
    emit(Op::MovMatrix, refs).flags = inst::aligned;
    return true;
  }
  isRare = false;
  return true;
}

} // namespace backfuse::emulator
