//===- DecodeArithmetic.cpp - Arithmetic, comparisons, conversions -------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Decoder.h"

namespace backfuse::emulator {

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// The least or the greatest of three: of two, then of that and the third.
bool Decoder::threeInputs(Modifiers &mods, LaneOp op, Type type,
                          uint32_t flags) {
  LaneFn fn = table.ops[static_cast<unsigned>(op)][static_cast<unsigned>(type)];
  if (!fn || type != Type::F32)
    return unsupported();
  std::vector<Ref> first(3), second(3);
  if (!allTaken(mods) || !expectOperands(4, 4) ||
      !source(operand(1), type, 4, first[1]) ||
      !source(operand(2), type, 4, first[2]) ||
      !source(operand(3), type, 4, second[2]))
    return false;
  first[0] = vregRef(newVreg(4), true);
  second[1] = first[0];
  second[1].isDef = false;
  if (!destination(operand(0), type, 4, second[0]))
    return false;
  for (const std::vector<Ref> &refs : {first, second}) {
    Inst &inst = emit(Op::Lane, refs);
    inst.type = type;
    inst.lane = fn;
    inst.laneFlags = flags;
  }
  return true;
}

/// add, sub, fma .f32.bf16: the first operands (of fma the factors) are halves.
bool Decoder::mixedPrecision(Modifiers &mods, const std::string &root,
                             uint32_t flags) {
  Type half = mods.takeType();
  const size_t sources = root == "fma" ? 3 : 2, halves = sources - 1;
  LaneOp op = root == "add"   ? LaneOp::Add
              : root == "sub" ? LaneOp::Sub
                              : LaneOp::Fma;
  if (!allTaken(mods) || !expectOperands(1 + sources, 1 + sources))
    return false;
  std::vector<Ref> refs(1 + sources);
  for (size_t i = 1; i <= sources; ++i) {
    if (i > halves) {
      if (!source(operand(i), Type::F32, 4, refs[i]))
        return false;
      continue;
    }
    std::vector<Ref> convert(2);
    if (!source(operand(i), half, 2, convert[1]))
      return false;
    convert[0] = vregRef(newVreg(4), true);
    emit(Op::Lane, convert).lane =
        table.converts[static_cast<unsigned>(Type::F32)]
                      [static_cast<unsigned>(half)];
    refs[i] = convert[0];
    refs[i].isDef = false;
  }
  if (!destination(operand(0), Type::F32, 4, refs[0]))
    return false;
  Inst &inst = emit(Op::Lane, refs);
  inst.type = Type::F32;
  inst.lane =
      table.ops[static_cast<unsigned>(op)][static_cast<unsigned>(Type::F32)];
  inst.laneFlags = flags;
  return true;
}

bool Decoder::decodeArithmetic(const std::string &root) {
  Modifiers mods(*current);
  if (mods.has("cc") || root == "addc" || root == "subc" || root == "madc")
    return unsupported();
  bool isWide = mods.take("wide"), isLow = mods.take("lo"),
       isHigh = mods.take("hi");
  bool approx = mods.take("approx") || mods.take("full");
  bool xorSign = false;
  if ((root == "min" || root == "max") && mods.take("xorsign"))
    xorSign = mods.take("abs");
  uint32_t flags = arithmeticFlags(mods) | (xorSign ? lane::xorSign : 0);
  Type type = mods.takeType();
  if (type == Type::None)
    return fail("expects a type");
  // Untyped words are numbers here and there in inline assembly.
  if (type == Type::F64 && (flags & (lane::roundMask | lane::saturate)))
    return fail("directed rounding and saturation of f64 are not supported by "
                "the emulator");
  if (type == Type::F64 && approx)
    flags |= lane::ftz;
  bool real = isFloat(type);
  if (type == Type::F32 && (mods.has("bf16") || mods.has("f16")) &&
      (root == "add" || root == "sub" || root == "fma"))
    return mixedPrecision(mods, root, flags);
  if (root == "add" || root == "sub")
    return elementwise(mods, root == "add" ? LaneOp::Add : LaneOp::Sub, type,
                       type, {type, type}, flags);
  if (root == "mul") {
    if (real)
      return elementwise(mods, LaneOp::Mul, type, type, {type, type}, flags);
    if (isWide) {
      Type wide = type == Type::U16   ? Type::U32
                  : type == Type::S16 ? Type::S32
                  : type == Type::U32 ? Type::U64
                                      : Type::S64;
      return elementwise(mods, LaneOp::MulWide, type, wide, {type, type},
                         flags);
    }
    if (!isLow && !isHigh)
      return fail("expects .lo, .hi or .wide");
    return elementwise(mods, isLow ? LaneOp::MulLo : LaneOp::MulHi, type, type,
                       {type, type}, flags);
  }
  if (root == "mad" || root == "fma") {
    if (real)
      return elementwise(mods, LaneOp::Fma, type, type, {type, type, type},
                         flags);
    if (root == "fma")
      return unsupported();
    if (isWide) {
      Type wide = type == Type::U16   ? Type::U32
                  : type == Type::S16 ? Type::S32
                  : type == Type::U32 ? Type::U64
                                      : Type::S64;
      return elementwise(mods, LaneOp::MadWide, type, wide, {type, type, wide},
                         flags);
    }
    if (!isLow && !isHigh)
      return fail("expects .lo, .hi or .wide");
    return elementwise(mods, isLow ? LaneOp::MadLo : LaneOp::MadHi, type, type,
                       {type, type, type}, flags);
  }
  if (root == "mul24" || root == "mad24") {
    if (!isLow)
      return unsupported();
    if (root == "mul24")
      return elementwise(mods, LaneOp::Mul24, type, type, {type, type}, flags);
    return elementwise(mods, LaneOp::Mad24, type, type, {type, type, type},
                       flags);
  }
  static const std::map<std::string, std::pair<LaneOp, int>> simple = {
      {"div", {LaneOp::Div, 2}},   {"rem", {LaneOp::Rem, 2}},
      {"abs", {LaneOp::Abs, 1}},   {"neg", {LaneOp::Neg, 1}},
      {"min", {LaneOp::Min, 2}},   {"max", {LaneOp::Max, 2}},
      {"sad", {LaneOp::Sad, 3}},   {"rcp", {LaneOp::Rcp, 1}},
      {"sqrt", {LaneOp::Sqrt, 1}}, {"rsqrt", {LaneOp::Rsqrt, 1}},
      {"ex2", {LaneOp::Ex2, 1}},   {"lg2", {LaneOp::Lg2, 1}},
      {"sin", {LaneOp::Sin, 1}},   {"cos", {LaneOp::Cos, 1}},
      {"tanh", {LaneOp::Tanh, 1}}, {"copysign", {LaneOp::Copysign, 2}}};
  auto found = simple.find(root);
  if (found == simple.end())
    return unsupported();
  if ((root == "min" || root == "max") && current->operands.size() == 4)
    return threeInputs(mods, found->second.first, type, flags);
  return elementwise(mods, found->second.first, type, type,
                     std::vector<Type>(found->second.second, type), flags);
}

bool Decoder::decodeBitwise(const std::string &root) {
  Modifiers mods(*current);
  if (root == "and" || root == "or" || root == "xor" || root == "not") {
    Type type = mods.takeType();
    if (type == Type::Pred) {
      size_t sources = root == "not" ? 1 : 2;
      std::vector<Ref> refs(1 + sources);
      if (!allTaken(mods) || !expectOperands(1 + sources, 1 + sources) ||
          !predicateDestination(operand(0), refs[0]))
        return false;
      for (size_t i = 0; i < sources; ++i)
        if (!predicateSource(operand(i + 1), refs[i + 1]))
          return false;
      emit(Op::PredLogic, refs).sub =
          static_cast<uint8_t>(root == "and"   ? LogicOp::And
                               : root == "or"  ? LogicOp::Or
                               : root == "xor" ? LogicOp::Xor
                                               : LogicOp::Not);
      return true;
    }
    if (root == "not")
      return elementwise(mods, LaneOp::Not, type, type, {type}, 0);
    return elementwise(mods,
                       root == "and"  ? LaneOp::And
                       : root == "or" ? LaneOp::Or
                                      : LaneOp::Xor,
                       type, type, {type, type}, 0);
  }
  uint32_t flags = 0;
  if (root == "shf") {
    bool left = mods.take("l"), right = mods.take("r");
    if (mods.take("wrap"))
      flags |= lane::wrap;
    else if (!mods.take("clamp"))
      return fail("expects .wrap or .clamp");
    Type type = mods.takeType();
    if (left == right)
      return fail("expects .l or .r");
    return elementwise(mods, left ? LaneOp::ShfL : LaneOp::ShfR, type, type,
                       {type, type, Type::U32}, flags);
  }
  if (root == "prmt") {
    static const char *const modes[] = {"",    "f4e", "b4e", "rc8",
                                        "ecl", "ecr", "rc16"};
    Type type = mods.takeType();
    for (uint32_t i = 1; i < 7; ++i)
      if (mods.take(modes[i]))
        flags |= i << lane::tableShift;
    return elementwise(mods, LaneOp::Prmt, type, type, {type, type, Type::U32},
                       flags);
  }
  if (root == "lop3") {
    Type type = mods.takeType();
    if (current->operands.size() != 5 || operand(4).kind != Operand::Int)
      return fail("expects a table as last operand");
    std::vector<Ref> refs(4);
    for (unsigned i = 1; i < 4; ++i)
      if (!source(operand(i), type, 4, refs[i]))
        return false;
    LaneFn fn = table.ops[static_cast<unsigned>(LaneOp::Lop3)]
                         [static_cast<unsigned>(type)];
    if (!fn || !allTaken(mods) || !destination(operand(0), type, 4, refs[0]))
      return fn ? false : unsupported();
    Inst &inst = emit(Op::Lane, refs);
    inst.lane = fn;
    inst.laneFlags = static_cast<uint32_t>(operand(4).bits & 0xff)
                     << lane::tableShift;
    return true;
  }
  if (root == "szext" || root == "bmsk") {
    if (mods.take("wrap"))
      flags |= lane::wrap;
    else
      mods.take("clamp");
    Type type = mods.takeType();
    return elementwise(mods, root == "szext" ? LaneOp::Szext : LaneOp::Bmsk,
                       type, type, {type, Type::U32}, flags);
  }
  if (root == "dp4a") {
    Type a = mods.takeType(), b = mods.takeType();
    bool isS = a == Type::S32 || b == Type::S32;
    flags = (a == Type::S32 ? 1u << lane::tableShift : 0) |
            (b == Type::S32 ? 2u << lane::tableShift : 0);
    return elementwise(mods, isS ? LaneOp::Dp4aS : LaneOp::Dp4aU,
                       isS ? Type::S32 : Type::U32, a, {a, b, a}, flags);
  }
  if (root == "bfind" && mods.take("shiftamt"))
    flags |= lane::shiftAmount;
  Type type = mods.takeType();
  if (root == "shl" || root == "shr")
    return elementwise(mods, root == "shl" ? LaneOp::Shl : LaneOp::Shr, type,
                       type, {type, Type::U32}, 0);
  if (root == "cnot")
    return elementwise(mods, LaneOp::Cnot, type, type, {type}, 0);
  if (root == "bfe")
    return elementwise(mods, LaneOp::Bfe, type, type,
                       {type, Type::U32, Type::U32}, 0);
  if (root == "bfi")
    return elementwise(mods, LaneOp::Bfi, type, type,
                       {type, type, Type::U32, Type::U32}, 0);
  if (root == "popc" || root == "clz" || root == "bfind")
    return elementwise(mods,
                       root == "popc"  ? LaneOp::Popc
                       : root == "clz" ? LaneOp::Clz
                                       : LaneOp::Bfind,
                       type, Type::U32, {type}, flags);
  if (root == "brev")
    return elementwise(mods, LaneOp::Brev, type, type, {type}, 0);
  return unsupported();
}

//===----------------------------------------------------------------------===//
// Comparison and selection
//===----------------------------------------------------------------------===//

bool Decoder::takeCmp(Modifiers &mods, Compare &compare, bool isFloatType) {
  static const std::map<std::string, Compare> names = {
      {"eq", Compare::Eq},   {"ne", Compare::Ne},   {"lt", Compare::Lt},
      {"le", Compare::Le},   {"gt", Compare::Gt},   {"ge", Compare::Ge},
      {"lo", Compare::Lt},   {"ls", Compare::Le},   {"hi", Compare::Gt},
      {"hs", Compare::Ge},   {"equ", Compare::Equ}, {"neu", Compare::Neu},
      {"ltu", Compare::Ltu}, {"leu", Compare::Leu}, {"gtu", Compare::Gtu},
      {"geu", Compare::Geu}, {"num", Compare::Num}, {"nan", Compare::Nan}};
  (void)isFloatType;
  for (const auto &[name, value] : names)
    if (mods.take(name)) {
      compare = value;
      return true;
    }
  return fail("expects a comparison");
}

bool Decoder::decodeCompare(const std::string &root) {
  Modifiers mods(*current);
  Compare compare;
  if (!takeCmp(mods, compare, false))
    return false;
  LogicOp logic = LogicOp::And;
  bool combines = false;
  for (auto [name, op] : {std::make_pair("and", LogicOp::And),
                          {"or", LogicOp::Or},
                          {"xor", LogicOp::Xor}})
    if (mods.take(name)) {
      logic = op;
      combines = true;
    }
  uint32_t flags = mods.take("ftz") ? lane::ftz : 0;
  Type resultType = root == "set" ? mods.takeType() : Type::Pred;
  Type type = mods.takeType();
  CompareFn fn = table.compares[static_cast<unsigned>(compare)]
                               [static_cast<unsigned>(type)];
  if (!fn)
    return fail("this comparison of '." + std::string(typeName(type)) +
                "' is not supported by the emulator");
  if (!allTaken(mods) || !expectOperands(combines ? 4 : 3, combines ? 4 : 3))
    return false;
  std::vector<Ref> refs(5);
  const Operand &first = operand(0);
  if (!source(operand(1), type, byteSize(type), refs[2]) ||
      !source(operand(2), type, byteSize(type), refs[3]))
    return false;
  if (combines && !predicateSource(operand(3), refs[4]))
    return false;
  bool isPacked = type == Type::F16x2 || type == Type::BF16x2;
  if (root == "set") {
    bool isHalf = type == Type::F16 || type == Type::BF16;
    bool isOk = isPacked ? resultType == type || resultType == Type::U32 ||
                               resultType == Type::S32
                : resultType == Type::U16 || resultType == Type::S16
                    ? isHalf
                    : resultType == Type::U32 || resultType == Type::S32 ||
                          resultType == Type::F32 || resultType == Type::F16 ||
                          resultType == Type::BF16;
    if (!isOk)
      return unsupported();
    if (!destination(first, resultType, byteSize(resultType), refs[0]))
      return false;
  } else if (isPacked && first.kind != Operand::Pair) {
    return fail("expects two predicates, one for each half: p|q");
  } else if (first.kind == Operand::Pair) {
    if (!predicateDestination(first.elements[0], refs[0]) ||
        !predicateDestination(first.elements[1], refs[1]))
      return false;
  } else if (!predicateDestination(first, refs[0])) {
    return false;
  }
  Inst &inst = emit(root == "set" ? Op::SetValue
                    : isPacked    ? Op::CompareX2
                                  : Op::Compare,
                    refs);
  inst.compare = fn;
  inst.type = resultType;
  inst.count = isPacked ? 2 : 1;
  inst.laneFlags = flags;
  inst.sub = static_cast<uint8_t>(logic);
  return true;
}

bool Decoder::decodeSelect() {
  Modifiers mods(*current);
  Type type = mods.takeType();
  unsigned bytes = byteSize(type);
  if (bytes < 2 || bytes > 8)
    return unsupported();
  std::vector<Ref> refs(4);
  if (!allTaken(mods) || !expectOperands(4, 4) ||
      !source(operand(1), type, bytes, refs[1]) ||
      !source(operand(2), type, bytes, refs[2]) ||
      !predicateSource(operand(3), refs[3]) ||
      !destination(operand(0), type, bytes, refs[0]))
    return false;
  Inst &inst = emit(Op::Select, refs);
  inst.lane = table.ops[static_cast<unsigned>(LaneOp::Select)]
                       [static_cast<unsigned>(unsignedType(bytes))];
  return true;
}

bool Decoder::decodeMove() {
  Modifiers mods(*current);
  Type type = mods.takeType();
  if (!allTaken(mods) || !expectOperands(2, 2))
    return false;
  const Operand &to = operand(0), &from = operand(1);
  if (type == Type::Pred) {
    std::vector<Ref> refs(2);
    if (!predicateDestination(to, refs[0]) || !predicateSource(from, refs[1]))
      return false;
    emit(Op::PredMove, refs);
    return true;
  }
  unsigned bytes = byteSize(type);
  if (type == Type::B128)
    return decodeWideMove();
  if (type == Type::None || bytes == 1 || bytes > 8)
    return unsupported();
  if (to.kind == Operand::Vector || from.kind == Operand::Vector) {
    bool isPack = from.kind == Operand::Vector;
    if (isPack && to.kind == Operand::Vector)
      return unsupported();
    const Operand &vector = isPack ? from : to;
    size_t count = vector.elements.size();
    if (count == 0 || bytes % count || (count != 2 && count != 4))
      return fail("expects 2 or 4 elements that fill " + std::to_string(bytes) +
                  " bytes");
    auto elementBytes = static_cast<unsigned>(bytes / count);
    if (elementBytes < 2)
      return fail("vectors of bytes are not supported by the emulator");
    std::vector<Ref> refs(1 + count);
    if (isPack) {
      for (size_t i = 0; i < count; ++i)
        if (!source(vector.elements[i], bitsType(elementBytes), elementBytes,
                    refs[1 + i]))
          return false;
      if (!destination(to, type, bytes, refs[0]))
        return false;
      emit(Op::Pack, refs);
    } else {
      if (!source(from, type, bytes, refs[0]))
        return false;
      for (size_t i = 0; i < count; ++i)
        if (!destination(vector.elements[i], bitsType(elementBytes),
                         elementBytes, refs[1 + i]))
          return false;
      emit(Op::Unpack, refs);
    }
    return true;
  }
  std::vector<Ref> refs(2);
  if (!source(from, type, bytes, refs[1]) ||
      !destination(to, type, bytes, refs[0]))
    return false;
  emit(Op::Move, refs);
  return true;
}

/// mov.b128 with one or two registers of 128 bits.
bool Decoder::decodeWideMove() {
  Ref to[2], from[2];
  const Operand *operands[2] = {&operand(0), &operand(1)};
  for (unsigned side = 0; side < 2; ++side) {
    bool isDef = side == 0;
    Ref(&halves)[2] = isDef ? to : from;
    const Operand &part = *operands[side];
    if (part.kind != Operand::Vector) {
      if (!wideRegister(part, isDef, halves))
        return false;
      continue;
    }
    if (part.elements.size() != 2)
      return fail("expects two elements of 64 bits");
    for (unsigned i = 0; i < 2; ++i)
      if (isDef ? !destination(part.elements[i], Type::B64, 8, halves[i])
                : !source(part.elements[i], Type::B64, 8, halves[i]))
        return false;
  }
  // The first move must not overwrite what the second one reads.
  bool overlaps = to[0].vreg == from[1].vreg && from[1].kind == Ref::Reg;
  if (overlaps && to[1].vreg == from[0].vreg)
    return fail("exchanging the halves of a register is not supported by the "
                "emulator");
  for (unsigned i = 0; i < 2; ++i) {
    unsigned half = overlaps ? 1 - i : i;
    emit(Op::Move, {to[half], from[half]});
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

bool Decoder::decodeConvert() {
  Modifiers mods(*current);
  if (mods.has("pack"))
    return unsupported();
  uint32_t flags = 0;
  for (auto [name, mode] : {std::make_pair("rni", lane::roundNearest),
                            {"rzi", lane::roundZero},
                            {"rmi", lane::roundDown},
                            {"rpi", lane::roundUp}})
    if (mods.take(name))
      flags |= mode | lane::integerRound;
  flags |= arithmeticFlags(mods);
  Type to = mods.takeType(), from = mods.takeType();
  // On sources of 16 bits in 32-bit halves .satfinite changes overflow only.
  if (to == Type::None || from == Type::None)
    return fail(
        "conversion between these types is not supported by the emulator");
  if (!allTaken(mods))
    return false;
  if (to == Type::F16x2 || to == Type::BF16x2) {
    if (from != Type::F32)
      return unsupported();
    std::vector<Ref> refs(3);
    if (!expectOperands(3, 3) || !source(operand(1), from, 4, refs[1]) ||
        !source(operand(2), from, 4, refs[2]) ||
        !destination(operand(0), to, 4, refs[0]))
      return false;
    Inst &inst = emit(Op::Lane, refs);
    inst.lane = table.packHalf2[to == Type::BF16x2];
    inst.laneFlags = flags;
    return true;
  }
  if (!expectOperands(2, 2))
    return false;
  unsigned toBytes = byteSize(to), fromBytes = byteSize(from);
  if (toBytes == 1 || fromBytes == 1) {
    // A byte lives in a wider register. Through a 32-bit integer.
    if (isFloat(to) && fromBytes == 1) {
      Type wide = isSigned(from) ? Type::S32 : Type::U32;
      Ref raw, extended = vregRef(newVreg(4), true);
      if (!source(operand(1), from, 4, raw, true))
        return false;
      emit(Op::Convert8, {extended, raw}).sub = isSigned(from) ? 1 : 0;
      extended.isDef = false;
      std::vector<Ref> refs(2);
      refs[1] = extended;
      LaneFn fn =
          table
              .converts[static_cast<unsigned>(to)][static_cast<unsigned>(wide)];
      if (!fn || !destination(operand(0), to, toBytes, refs[0]))
        return fn ? false : unsupported();
      Inst &inst = emit(Op::Lane, refs);
      inst.lane = fn;
      inst.laneFlags = flags;
      return true;
    }
    if (isFloat(from) || (flags & lane::saturate))
      return fail(
          "conversion between these types is not supported by the emulator");
    // Integer to integer: cut to the narrower width, extend by the source's
    // signedness (the destination's where that is a byte).
    Ref raw, result;
    if (!source(operand(1), from, 4, raw, true) ||
        !destination(operand(0), fromBytes == 1 ? from : to, 4, result, true))
      return false;
    Type byteType = fromBytes == 1 ? from : to;
    emit(Op::Convert8, {result, raw}).sub = isSigned(byteType) ? 1 : 0;
    return true;
  }
  Type toLane = isBits(to) ? unsignedType(toBytes) : to,
       fromLane = isBits(from) ? unsignedType(fromBytes) : from;
  LaneFn fn = table.converts[static_cast<unsigned>(toLane)]
                            [static_cast<unsigned>(fromLane)];
  if (!fn)
    return fail(
        "conversion between these types is not supported by the emulator");
  std::vector<Ref> refs(2);
  if (!source(operand(1), from, fromBytes, refs[1], true) ||
      !destination(operand(0), to, toBytes, refs[0], true))
    return false;
  Inst &inst = emit(Op::Lane, refs);
  inst.lane = fn;
  inst.laneFlags = flags;
  return true;
}

bool Decoder::decodeConvertAddress() {
  Modifiers mods(*current);
  bool to = mods.take("to");
  Space space = Space::Generic;
  uint32_t flags = 0;
  if (!takeSpace(mods, space, flags))
    return false;
  Type type = mods.takeType();
  if (type != Type::U64)
    return unsupported();
  std::vector<Ref> refs(2);
  if (!allTaken(mods) || !expectOperands(2, 2) ||
      !source(operand(1), type, 8, refs[1]) ||
      !destination(operand(0), type, 8, refs[0]))
    return false;
  uint64_t window = space == Space::Shared  ? sharedWindow
                    : space == Space::Local ? localWindow
                    : space == Space::Param ? paramWindow
                                            : 0;
  if (window == 0) {
    emit(Op::Move, refs);
    return true;
  }
  refs.push_back(constant(to ? 0 - window : window, 8));
  Inst &inst = emit(Op::Lane, refs);
  inst.lane = table.ops[static_cast<unsigned>(LaneOp::Add)]
                       [static_cast<unsigned>(Type::U64)];
  return true;
}

} // namespace backfuse::emulator
