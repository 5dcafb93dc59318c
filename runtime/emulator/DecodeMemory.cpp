//===- DecodeMemory.cpp - Loads, stores, atomics -------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Decoder.h"

namespace backfuse::emulator {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

bool Decoder::takeSpace(Modifiers &mods, Space &space, uint32_t &flags) {
  space = Space::Generic;
  if (mods.take("global"))
    space = Space::Global;
  else if (mods.take("shared") || mods.take("shared::cta"))
    space = Space::Shared;
  else if (mods.take("shared::cluster")) {
    space = Space::Shared;
    flags |= inst::sharedCluster;
  } else if (mods.take("local"))
    space = Space::Local;
  else if (mods.take("param") || mods.take("param::entry") ||
           mods.take("param::func"))
    space = Space::Param;
  else if (mods.take("const"))
    space = Space::Const;
  return true;
}

void Decoder::takeMemoryModifiers(Modifiers &mods, uint32_t &flags) {
  if (mods.take("volatile"))
    flags |= inst::volatileAccess;
  mods.take("weak");
  if (mods.take("relaxed"))
    flags |= inst::relaxed;
  if (mods.take("acquire"))
    flags |= inst::acquire;
  if (mods.take("release"))
    flags |= inst::release;
  if (mods.take("acq_rel"))
    flags |= inst::acquire | inst::release;
  if (mods.take("cluster"))
    flags |= inst::clusterScope;
  if (mods.take("gpu") || mods.take("sys"))
    flags |= inst::gpuScope;
  mods.take("cta");
  if (mods.take("nc"))
    flags |= inst::nonCoherent;
  // Cache operators and hints change no value.
  for (const char *hint : {"ca", "cg", "cs", "lu", "cv", "wb", "wt"})
    mods.take(hint);
  while (!mods.takePrefix("L1::").empty() || !mods.takePrefix("L2::").empty()) {
  }
}

bool Decoder::decodeMemory(const std::string &root) {
  Modifiers mods(*current);
  bool isLoad = root == "ld" || root == "ldu";
  uint32_t flags = 0;
  if (mods.has("mmio") || mods.has("unified"))
    return unsupported();
  if (mods.has("async"))
    return decodeStoreAsync();
  bool hasHint = mods.has("L2::cache_hint");
  takeMemoryModifiers(mods, flags);
  Space space;
  if (!takeSpace(mods, space, flags))
    return false;
  unsigned count = mods.take("v2")   ? 2
                   : mods.take("v4") ? 4
                   : mods.take("v8") ? 8
                                     : 1;
  Type type = mods.takeType();
  unsigned bytes = byteSize(type);
  bool isWide = type == Type::B128 && count == 1;
  if (isWide) {
    // As two elements of 64 bits.
    type = Type::B64;
    bytes = 8;
    count = 2;
  }
  if (bytes == 0 || bytes > 8)
    return fail("type '." + std::string(typeName(type)) +
                "' is not supported by the emulator");
  size_t operands = 2 + (hasHint ? 1 : 0);
  if (!allTaken(mods) || !expectOperands(operands, operands))
    return false;
  std::vector<Ref> refs(1);
  int64_t offset = 0;
  const Operand &place = operand(isLoad ? 1 : 0);
  if (!address(place, refs[0], offset))
    return false;
  // Parameters of calls are variables of the caller.
  if (space == Space::Param && place.elements[0].kind == Operand::Symbol &&
      module.variables[place.elements[0].index].space == Space::Local)
    space = Space::Local;
  const Operand &data = operand(isLoad ? 0 : 1);
  std::vector<Operand> elements =
      data.kind == Operand::Vector ? data.elements : std::vector<Operand>{data};
  if (isWide) {
    Ref halves[2];
    if (!wideRegister(data, isLoad, halves))
      return false;
    refs.insert(refs.end(), halves, halves + 2);
    elements.clear();
  } else if (elements.size() != count) {
    return fail("expects " + std::to_string(count) + " elements");
  }
  for (const Operand &element : elements) {
    Ref ref;
    if (isLoad) {
      // The register may be wider than what is loaded.
      if (element.kind == Operand::Sink) {
        ref = vregRef(newVreg(std::max(2u, bytes)), true);
      } else {
        if (element.kind != Operand::Reg ||
            function.regs[element.index].type == Type::Pred)
          return fail("expects a register as destination");
        ref = vregRef(vregOf[element.index], true);
        if (ref.bytes < bytes)
          return fail("register '" + function.regs[element.index].name +
                      "' is too narrow");
      }
    } else if (element.kind == Operand::Reg) {
      ref = vregRef(vregOf[element.index]);
      if (function.regs[element.index].type == Type::Pred || ref.bytes < bytes)
        return fail("register '" + function.regs[element.index].name +
                    "' is too narrow");
    } else if (!source(element, type, std::max(2u, bytes), ref)) {
      return false;
    }
    refs.push_back(ref);
  }
  if (isSigned(type))
    flags |= inst::signExtend;
  Inst &inst = emit(isLoad ? Op::Load : Op::Store, refs);
  inst.type = type;
  inst.space = space;
  inst.count = static_cast<uint8_t>(count);
  inst.flags = flags;
  inst.imm = offset;
  return true;
}

bool Decoder::decodeAtomic(const std::string &root) {
  Modifiers mods(*current);
  bool isAtom = root == "atom";
  if (mods.has("async"))
    return decodeStoreAsync();
  uint32_t flags = 0;
  bool hasHint = mods.has("L2::cache_hint");
  bool hasScope = mods.has("cta") || mods.has("cluster");
  takeMemoryModifiers(mods, flags);
  // Without them: .relaxed, .gpu.
  if (!(flags & (inst::acquire | inst::release)))
    flags |= inst::relaxed;
  if (!hasScope)
    flags |= inst::gpuScope;
  mods.take("noftz");
  Space space;
  if (!takeSpace(mods, space, flags))
    return false;
  static const std::map<std::string, AtomicOp> names = {
      {"add", AtomicOp::Add},   {"min", AtomicOp::Min}, {"max", AtomicOp::Max},
      {"and", AtomicOp::And},   {"or", AtomicOp::Or},   {"xor", AtomicOp::Xor},
      {"exch", AtomicOp::Exch}, {"cas", AtomicOp::Cas}, {"inc", AtomicOp::Inc},
      {"dec", AtomicOp::Dec}};
  bool found = false;
  AtomicOp op = AtomicOp::Add;
  for (const auto &[name, value] : names)
    if (mods.take(name)) {
      op = value;
      found = true;
      break;
    }
  if (!found)
    return fail("expects an operation");
  unsigned count = mods.take("v2")   ? 2
                   : mods.take("v4") ? 4
                   : mods.take("v8") ? 8
                                     : 1;
  Type type = mods.takeType();
  unsigned bytes = byteSize(type);
  if (bytes < 2 || bytes > 8 ||
      (bytes == 2 && (op != AtomicOp::Add || !isFloat(type)) &&
       op != AtomicOp::Cas))
    return unsupported();
  size_t first = isAtom ? 1 : 0;
  size_t least = first + 2 + (op == AtomicOp::Cas) + hasHint;
  if (!allTaken(mods) || !expectOperands(least, least))
    return false;
  std::vector<Ref> refs(1);
  int64_t offset = 0;
  if (!address(operand(first), refs[0], offset))
    return false;
  auto elementsOf = [](const Operand &data) {
    return data.kind == Operand::Vector ? data.elements
                                        : std::vector<Operand>{data};
  };
  std::vector<Operand> values = elementsOf(operand(first + 1));
  if (values.size() != count)
    return fail("expects " + std::to_string(count) + " elements");
  for (const Operand &value : values) {
    Ref ref;
    if (!source(value, type, bytes, ref))
      return false;
    refs.push_back(ref);
  }
  if (op == AtomicOp::Cas) {
    Ref ref;
    if (!source(operand(first + 2), type, bytes, ref))
      return false;
    refs.push_back(ref);
  }
  if (isAtom) {
    std::vector<Operand> results = elementsOf(operand(0));
    if (results.size() != count)
      return fail("expects " + std::to_string(count) + " elements");
    for (const Operand &result : results) {
      Ref ref;
      if (!destination(result, type, bytes, ref))
        return false;
      refs.push_back(ref);
    }
  }
  Inst &inst = emit(isAtom ? Op::Atomic : Op::Reduce, refs);
  inst.type = type;
  inst.space = space;
  inst.sub = static_cast<uint8_t>(op);
  inst.count = static_cast<uint8_t>(count);
  inst.flags = flags;
  inst.imm = offset;
  return true;
}

} // namespace backfuse::emulator
