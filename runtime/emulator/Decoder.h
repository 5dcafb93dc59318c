//===- Decoder.h - Decode the instructions of a function -----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Internal to Decode*.cpp, which have one function per class of instructions.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_DECODER_H
#define BACKFUSE_RUNTIME_EMULATOR_DECODER_H

#include "runtime/emulator/Kernel.h"
#include "runtime/emulator/TensorMap.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace backfuse::emulator {

using ptx::Instruction;
using ptx::Operand;

inline bool isFloat(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F16x2 ||
         type == Type::BF16x2 || type == Type::F32 || type == Type::F64 ||
         type == Type::F32x2;
}
inline bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 ||
         type == Type::S64;
}
inline bool isBits(Type type) {
  return type == Type::B8 || type == Type::B16 || type == Type::B32 ||
         type == Type::B64;
}
inline Type bitsType(unsigned bytes) {
  return bytes == 1   ? Type::B8
         : bytes == 2 ? Type::B16
         : bytes == 4 ? Type::B32
         : bytes == 8 ? Type::B64
                      : Type::B128;
}
inline Type unsignedType(unsigned bytes) {
  return bytes == 2 ? Type::U16 : bytes == 4 ? Type::U32 : Type::U64;
}

/// The modifiers of one instruction; each must be taken by someone.
class Modifiers {
public:
  explicit Modifiers(const Instruction &instruction)
      : parts(instruction.name.begin() + 1, instruction.name.end()),
        taken(parts.size(), false) {}

  bool take(std::string_view name) {
    for (size_t i = 0; i < parts.size(); ++i)
      if (!taken[i] && parts[i] == name)
        return taken[i] = true;
    return false;
  }
  bool has(std::string_view name) const {
    return std::find(parts.begin(), parts.end(), name) != parts.end();
  }
  /// The next modifier that names a type.
  Type takeType() {
    for (size_t i = 0; i < parts.size(); ++i) {
      Type type = taken[i] ? Type::None : parseType(parts[i]);
      if (type != Type::None) {
        taken[i] = true;
        return type;
      }
    }
    return Type::None;
  }
  /// A modifier that begins with `prefix`, taken; empty if there is none.
  std::string takePrefix(std::string_view prefix) {
    for (size_t i = 0; i < parts.size(); ++i)
      if (!taken[i] && parts[i].compare(0, prefix.size(), prefix) == 0) {
        taken[i] = true;
        return parts[i];
      }
    return {};
  }
  /// The first modifier that nobody took.
  std::string leftover() const {
    for (size_t i = 0; i < parts.size(); ++i)
      if (!taken[i])
        return parts[i];
    return {};
  }

private:
  std::vector<std::string> parts;
  std::vector<bool> taken;
};

class Decoder {
public:
  Decoder(const ptx::Module &module, const ptx::Function &function,
          const AddressOf &addressOf, Kernel &kernel)
      : module(module), function(function), addressOf(addressOf),
        kernel(kernel), table(*laneTable()) {}

  Error run();

private:
  const ptx::Module &module;
  const ptx::Function &function;
  const AddressOf &addressOf;
  Kernel &kernel;
  const LaneTable &table;
  std::string message;
  const Instruction *current = nullptr;
  uint32_t currentIndex = 0;
  std::vector<uint32_t>
      vregOf; ///< of each PTX register: virtual register or predicate
  std::vector<uint8_t> vregBytes;
  uint32_t numVpreds = 0;
  std::map<std::pair<uint64_t, unsigned>, uint32_t> constantOffsets;
  std::map<std::tuple<int, uint32_t, int64_t, unsigned>, uint32_t> entryVregs;
  std::map<uint32_t, uint64_t> sharedOffsets, localOffsets;
  uint32_t carryVreg = ~0u;         ///< the condition code, once used
  uint32_t ctaGroupLine = 0;        ///< the first instruction that names one
  std::vector<Inst> pendingResizes; ///< emitted behind the current instruction
  std::vector<std::vector<Ref>> pendingResizeRefs;

  //===--------------------------------------------------------------------===//
  // Errors
  //===--------------------------------------------------------------------===//

  bool fail(const std::string &what) {
    if (message.empty()) {
      message = "kernel '" + function.name + "', line " +
                std::to_string(current ? current->line : function.line);
      if (current)
        message += ", '" + current->fullName() + "'";
      message += ": " + what;
    }
    return false;
  }
  bool unsupported() {
    return fail("instruction is not supported by the emulator");
  }

  //===--------------------------------------------------------------------===//
  // Variables
  //===--------------------------------------------------------------------===//

  bool layOutVariables() {
    // A function's own shared variables and the module's, in order; the
    // dynamic ones all begin behind them.
    uint64_t at = sharedBase;
    uint32_t dynamicAlign = 16;
    auto place = [&](uint32_t index) {
      const ptx::Variable &variable = module.variables[index];
      if (variable.space == Space::Shared && !variable.isExtern) {
        at = (at + variable.align - 1) / variable.align * variable.align;
        sharedOffsets[index] = at;
        at += variable.bytes;
      } else if (variable.space == Space::Shared) {
        dynamicAlign = std::max<uint32_t>(
            dynamicAlign, static_cast<uint32_t>(variable.align));
      } else if (variable.space == Space::Local) {
        kernel.localBytes = (kernel.localBytes + variable.align - 1) /
                            variable.align * variable.align;
        localOffsets[index] = kernel.localBytes;
        kernel.localBytes += variable.bytes;
      }
    };
    std::vector<uint32_t> used = usedVariables();
    for (uint32_t index : used)
      place(index);
    if (at > (1u << 20))
      return fail("static shared memory of " + std::to_string(at - sharedBase) +
                  " bytes is too large");
    kernel.sharedBytes = static_cast<uint32_t>(at);
    kernel.dynamicAlign = dynamicAlign;
    kernel.dynamicOffset = static_cast<uint32_t>((at + dynamicAlign - 1) /
                                                 dynamicAlign * dynamicAlign);
    for (uint32_t index : used)
      if (module.variables[index].space == Space::Shared &&
          module.variables[index].isExtern) {
        sharedOffsets[index] = kernel.dynamicOffset;
        kernel.usesDynamicShared = true;
      }
    if (kernel.localBytes > (1u << 20))
      return fail("local memory of " + std::to_string(kernel.localBytes) +
                  " bytes a thread is too large");
    return true;
  }

  /// Variables that this kernel's instructions name, each once, in order.
  std::vector<uint32_t> usedVariables() const {
    std::vector<uint32_t> used;
    std::function<void(const Operand &)> visit = [&](const Operand &operand) {
      if (operand.kind == Operand::Symbol)
        used.push_back(operand.index);
      for (const Operand &element : operand.elements)
        visit(element);
    };
    for (const Instruction &instruction : function.body)
      for (const Operand &operand : instruction.operands)
        visit(operand);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    return used;
  }

  //===--------------------------------------------------------------------===//
  // References
  //===--------------------------------------------------------------------===//

  uint32_t newVreg(unsigned bytes) {
    vregBytes.push_back(static_cast<uint8_t>(bytes));
    return static_cast<uint32_t>(vregBytes.size() - 1);
  }

  Ref constant(uint64_t bits, unsigned bytes) {
    if (bytes < 8)
      bits &= (uint64_t(1) << (8 * bytes)) - 1;
    auto [found, isNew] =
        constantOffsets.emplace(std::make_pair(bits, bytes),
                                static_cast<uint32_t>(kernel.constants.size()));
    if (isNew) {
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < bytes; ++i)
          kernel.constants.push_back(static_cast<uint8_t>(bits >> (8 * i)));
      kernel.constants.resize((kernel.constants.size() + 63) / 64 * 64);
    }
    Ref ref;
    ref.kind = Ref::Const;
    ref.bytes = static_cast<uint8_t>(bytes);
    ref.offset = found->second;
    return ref;
  }

  Ref entryValue(EntryValue::Kind kind, uint32_t id, int64_t addend,
                 unsigned bytes) {
    auto key = std::make_tuple(static_cast<int>(kind), id, addend, bytes);
    auto found = entryVregs.find(key);
    if (found == entryVregs.end()) {
      EntryValue value;
      value.kind = kind;
      value.bytes = static_cast<uint8_t>(bytes);
      value.id = id;
      value.addend = addend;
      value.vreg = newVreg(bytes);
      kernel.entryValues.push_back(value);
      found = entryVregs.emplace(key, value.vreg).first;
    }
    Ref ref;
    ref.kind = Ref::Reg;
    ref.bytes = static_cast<uint8_t>(bytes);
    ref.vreg = found->second;
    return ref;
  }

  Ref vregRef(uint32_t vreg, bool isDef = false) {
    Ref ref;
    ref.kind = Ref::Reg;
    ref.vreg = vreg;
    ref.bytes = vregBytes[vreg];
    ref.isDef = isDef;
    return ref;
  }

  /// A number as bits of `type` or, for untyped bits, of `bytes`.
  bool immediateBits(const Operand &operand, Type type, unsigned bytes,
                     uint64_t &bits) {
    bits = operand.bits;
    if (operand.kind == Operand::F64) {
      double value;
      std::memcpy(&value, &operand.bits, 8);
      if (type == Type::F32 || (type != Type::F64 && bytes == 4)) {
        auto narrow = static_cast<float>(value);
        uint32_t narrowBits;
        std::memcpy(&narrowBits, &narrow, 4);
        bits = narrowBits;
      } else if (bytes != 8) {
        return fail("a floating-point constant does not fit here");
      }
    } else if (operand.kind == Operand::F32 && bytes == 8) {
      float value;
      auto low = static_cast<uint32_t>(operand.bits);
      std::memcpy(&value, &low, 4);
      double wide = value;
      std::memcpy(&bits, &wide, 8);
    }
    return true;
  }

  /// A variable's address as a value of `bytes` bytes.
  bool symbolRef(const Operand &operand, unsigned bytes, Ref &ref) {
    const ptx::Variable &variable = module.variables[operand.index];
    switch (variable.space) {
    case Space::Shared:
      ref = entryValue(EntryValue::SharedAddress, 0,
                       static_cast<int64_t>(sharedOffsets.at(operand.index)) +
                           operand.offset,
                       bytes);
      return true;
    case Space::Local:
      ref = constant(localOffsets.at(operand.index) + operand.offset, bytes);
      return true;
    case Space::Param:
      ref = constant(variable.offset + operand.offset, bytes);
      return true;
    case Space::Global:
    case Space::Const:
      ref = constant(addressOf(operand.index) + operand.offset, bytes);
      return true;
    default:
      return fail("unsupported use of variable '" + variable.name + "'");
    }
  }

  /// An operand that is read as `bytes` bytes of `type`. A register of another
  /// size is resized first where `resize` allows it.
  bool source(const Operand &operand, Type type, unsigned bytes, Ref &ref,
              bool resize = false) {
    switch (operand.kind) {
    case Operand::Reg: {
      Type regType = function.regs[operand.index].type;
      if (regType == Type::Pred)
        return fail("expects a value, but got predicate '" +
                    function.regs[operand.index].name + "'");
      if (regType == Type::B128)
        return fail("128-bit registers ('" + function.regs[operand.index].name +
                    "') are not supported by the emulator here");
      ref = vregRef(vregOf[operand.index]);
      if (ref.bytes == bytes)
        return true;
      if (!resize)
        return fail("register '" + function.regs[operand.index].name +
                    "' has " + std::to_string(ref.bytes * 8) +
                    " bits, but the instruction expects " +
                    std::to_string(bytes * 8));
      Ref wide = vregRef(newVreg(bytes), true);
      emit(Op::Resize, {wide, ref}).sub = isSigned(type);
      ref = wide;
      ref.isDef = false;
      return true;
    }
    case Operand::Int:
    case Operand::F32:
    case Operand::F64: {
      uint64_t bits = 0;
      if (!immediateBits(operand, type, bytes, bits))
        return false;
      ref = constant(bits, bytes);
      return true;
    }
    case Operand::Special:
      return specialRef(operand, bytes, ref);
    case Operand::Symbol:
      return symbolRef(operand, bytes, ref);
    default:
      return fail("unexpected operand");
    }
  }

  bool specialRef(const Operand &operand, unsigned bytes, Ref &ref) {
    const std::string &name = ptx::specialRegisterNames[operand.index];
    if (name.rfind("%clock", 0) == 0 || name.rfind("%globaltimer", 0) == 0) {
      Ref def = vregRef(newVreg(bytes), true);
      emit(Op::ReadClock, {def}).sub =
          name == "%clock_hi" || name == "%globaltimer_hi";
      ref = def;
      ref.isDef = false;
      return true;
    }
    ref = entryValue(EntryValue::Special, operand.index, 0, bytes);
    return true;
  }

  /// A register that is written as `bytes` bytes of `type`.
  bool destination(const Operand &operand, Type type, unsigned bytes, Ref &ref,
                   bool resize = false) {
    if (operand.kind == Operand::Sink) {
      ref = vregRef(newVreg(bytes), true);
      return true;
    }
    if (operand.kind != Operand::Reg ||
        function.regs[operand.index].type == Type::Pred)
      return fail("expects a register as destination");
    if (function.regs[operand.index].type == Type::B128)
      return fail("128-bit registers ('" + function.regs[operand.index].name +
                  "') are not supported by the emulator here");
    ref = vregRef(vregOf[operand.index], true);
    if (ref.bytes == bytes)
      return true;
    if (!resize)
      return fail("register '" + function.regs[operand.index].name + "' has " +
                  std::to_string(ref.bytes * 8) +
                  " bits, but the instruction writes " +
                  std::to_string(bytes * 8));
    Ref narrow = vregRef(newVreg(bytes), true);
    Inst resizeInst;
    resizeInst.op = Op::Resize;
    resizeInst.sub = isSigned(type);
    Ref from = narrow;
    from.isDef = false;
    pendingResizes.push_back(resizeInst);
    pendingResizeRefs.push_back({ref, from});
    ref = narrow;
    return true;
  }

  /// The two halves of a register of 128 bits.
  bool wideRegister(const Operand &operand, bool isDef, Ref (&halves)[2]) {
    if (operand.kind != Operand::Reg ||
        function.regs[operand.index].type != Type::B128)
      return fail("expects a register of 128 bits");
    for (unsigned i = 0; i < 2; ++i)
      halves[i] = vregRef(vregOf[operand.index] + i, isDef);
    return true;
  }

  bool predicateSource(const Operand &operand, Ref &ref) {
    if (operand.kind == Operand::Int) {
      ref.kind = Ref::PredConst;
      ref.offset = (operand.bits != 0) != operand.negated;
      return true;
    }
    if (operand.kind != Operand::Reg ||
        function.regs[operand.index].type != Type::Pred)
      return fail("expects a predicate");
    ref.kind = Ref::Pred;
    ref.vreg = vregOf[operand.index];
    ref.negated = operand.negated;
    return true;
  }

  bool predicateDestination(const Operand &operand, Ref &ref) {
    if (operand.kind == Operand::Sink) {
      ref.kind = Ref::None;
      return true;
    }
    if (!predicateSource(operand, ref))
      return false;
    if (ref.kind != Ref::Pred)
      return fail("expects a predicate as destination");
    ref.isDef = true;
    return true;
  }

  /// The base of [base + offset]; the offset goes to Inst::imm.
  bool address(const Operand &operand, Ref &ref, int64_t &offset) {
    if (operand.kind != Operand::Address)
      return fail("expects an address in brackets");
    const Operand &base = operand.elements[0];
    offset = operand.offset;
    if (base.kind == Operand::Reg) {
      ref = vregRef(vregOf[base.index]);
      if (function.regs[base.index].type == Type::Pred || ref.bytes < 4)
        return fail("expects an address of 32 or 64 bits");
      return true;
    }
    if (base.kind == Operand::Int) {
      ref = constant(base.bits, 8);
      return true;
    }
    if (base.kind == Operand::Symbol)
      return symbolRef(base, 8, ref);
    return fail("expects a register or a variable as address");
  }

  //===--------------------------------------------------------------------===//
  // Emission
  //===--------------------------------------------------------------------===//

  Inst &emit(Op op, const std::vector<Ref> &refs) {
    Inst inst;
    inst.op = op;
    inst.firstRef = static_cast<uint32_t>(kernel.refs.size());
    inst.numRefs = static_cast<uint16_t>(refs.size());
    inst.source = currentIndex;
    if (current->guard >= 0) {
      inst.guard = static_cast<int32_t>(vregOf[current->guard]);
      inst.guardNegated = current->guardNegated;
    }
    kernel.refs.insert(kernel.refs.end(), refs.begin(), refs.end());
    kernel.code.push_back(inst);
    return kernel.code.back();
  }

  bool expectOperands(size_t least, size_t most) {
    size_t count = current->operands.size();
    if (count >= least && count <= most)
      return true;
    return fail("expects " + std::to_string(least) +
                (most == least ? "" : " to " + std::to_string(most)) +
                " operands, but got " + std::to_string(count));
  }
  const Operand &operand(size_t i) const { return current->operands[i]; }

  bool allTaken(const Modifiers &mods) {
    std::string left = mods.leftover();
    return left.empty() ||
           fail("modifier '." + left + "' is not supported by the emulator");
  }

  /// Rounding and similar modifiers.
  uint32_t arithmeticFlags(Modifiers &mods) {
    uint32_t flags = 0;
    if (mods.take("rn") || mods.take("rni"))
      flags |= lane::roundNearest;
    if (mods.take("rz"))
      flags |= lane::roundZero;
    if (mods.take("rm"))
      flags |= lane::roundDown;
    if (mods.take("rp"))
      flags |= lane::roundUp;
    if (mods.take("rna"))
      flags |= lane::roundAway;
    if (mods.take("ftz"))
      flags |= lane::ftz;
    if (mods.take("sat"))
      flags |= lane::saturate;
    if (mods.take("NaN"))
      flags |= lane::propagateNan;
    if (mods.take("relu"))
      flags |= lane::relu;
    if (mods.take("noftz"))
      flags |= lane::noFtz;
    return flags;
  }

  /// An elementwise instruction: d, then `types.size()` sources of these types.
  bool elementwise(Modifiers &mods, LaneOp op, Type type, Type destinationType,
                   const std::vector<Type> &types, uint32_t flags) {
    LaneFn fn =
        table.ops[static_cast<unsigned>(op)][static_cast<unsigned>(type)];
    if (!fn)
      return fail("type '." + std::string(typeName(type)) +
                  "' is not supported by the emulator");
    if (!allTaken(mods) || !expectOperands(1 + types.size(), 1 + types.size()))
      return false;
    std::vector<Ref> refs(1 + types.size());
    for (size_t i = 0; i < types.size(); ++i)
      if (!source(operand(i + 1), types[i], byteSize(types[i]), refs[i + 1]))
        return false;
    if (!destination(operand(0), destinationType, byteSize(destinationType),
                     refs[0]))
      return false;
    Inst &inst = emit(Op::Lane, refs);
    inst.type = type;
    inst.lane = fn;
    inst.laneFlags = flags;
    return true;
  }

  bool decodeInstruction();
  bool decodeArithmetic(const std::string &root);
  bool decodeBitwise(const std::string &root);
  bool decodeCompare(const std::string &root);
  bool decodeSelect();
  bool decodeMove();
  bool decodeConvert();
  bool decodeConvertAddress();
  bool decodeMemory(const std::string &root);
  bool decodeAtomic(const std::string &root);
  bool decodeBarrier(const std::string &root);
  bool decodeFence(const std::string &root);
  bool decodeWarp(const std::string &root);
  bool decodeMbarrier();
  bool decodeCopy();
  bool decodeBulk(Modifiers &mods, bool isReduce);
  bool decodeWgmma();
  bool decodeMatrix(const std::string &root);
  bool decodeTensor();
  bool decodeTensorMma(Modifiers &mods);
  bool decodeTensorMove(Modifiers &mods, bool isLoad);
  bool takeCtaGroup(Modifiers &mods);
  bool decodeClusterLaunch();
  bool decodeWideMove();
  bool decodeMisc(const std::string &root);
  bool threeInputs(Modifiers &mods, LaneOp op, Type type, uint32_t flags);
  bool mixedPrecision(Modifiers &mods, const std::string &root, uint32_t flags);
  bool decodeWarpMma();
  bool decodeStoreAsync();
  bool decodeTensorMap();
  bool decodeBranchIndexed();
  bool decodeCarry(const std::string &root);
  bool decodePacked(const std::string &root);
  bool decodeVideo(const std::string &root);
  bool decodeConvertPacked();
  bool decodeRare(const std::string &root, bool &isRare);
  Inst &emitScalar(ScalarFn fn, uint32_t flags, const std::vector<Ref> &refs);
  bool takeCmp(Modifiers &mods, Compare &compare, bool isFloatType);
  void takeMemoryModifiers(Modifiers &mods, uint32_t &flags);
  bool takeSpace(Modifiers &mods, Space &space, uint32_t &flags);
  bool isWarpAligned(Modifiers &mods) { return mods.take("aligned"); }
};

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_DECODER_H
