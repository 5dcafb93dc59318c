//===- Decode.cpp - From PTX syntax to executable instructions ------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// One function per class of instructions, after chapter 9 of the PTX ISA
// manual. Every modifier must be consumed: what is left over is refused, so
// that nothing is silently ignored.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Kernel.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

namespace backfuse::emulator {

const char *opName(Op op) {
  static const char *const names[] = {"nop",
                                      "arithmetic",
                                      "select",
                                      "compare",
                                      "predicate logic",
                                      "predicate move",
                                      "set",
                                      "move",
                                      "resize",
                                      "pack",
                                      "unpack",
                                      "convert",
                                      "clock",
                                      "testp",
                                      "load",
                                      "store",
                                      "atomic",
                                      "reduction",
                                      "branch",
                                      "indexed branch",
                                      "exit",
                                      "trap",
                                      "barrier sync",
                                      "barrier arrive",
                                      "barrier reduction",
                                      "warp barrier",
                                      "fence",
                                      "proxy fence",
                                      "mbarrier init fence",
                                      "shuffle",
                                      "vote",
                                      "match",
                                      "redux",
                                      "elect",
                                      "activemask",
                                      "mapa",
                                      "isspacep",
                                      "getctarank",
                                      "cluster arrive",
                                      "cluster wait",
                                      "mbarrier init",
                                      "mbarrier inval",
                                      "mbarrier arrive",
                                      "mbarrier expect_tx",
                                      "mbarrier complete_tx",
                                      "mbarrier wait",
                                      "mbarrier pending_count",
                                      "setmaxnreg",
                                      "tensor load",
                                      "tensor store",
                                      "tensor reduction",
                                      "tensor prefetch",
                                      "bulk load",
                                      "bulk store",
                                      "bulk reduction",
                                      "bulk shared copy",
                                      "bulk prefetch",
                                      "bulk commit",
                                      "bulk wait",
                                      "cp.async",
                                      "cp.async commit",
                                      "cp.async wait",
                                      "cp.async mbarrier",
                                      "wgmma fence",
                                      "wgmma",
                                      "wgmma commit",
                                      "wgmma wait",
                                      "stmatrix",
                                      "ldmatrix",
                                      "movmatrix",
                                      "mma",
                                      "nanosleep",
                                      "griddepcontrol wait",
                                      "griddepcontrol launch"};
  return names[static_cast<unsigned>(op)];
}

namespace {

using ptx::Instruction;
using ptx::Operand;

bool isFloat(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F16x2 ||
         type == Type::BF16x2 || type == Type::F32 || type == Type::F64;
}
bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 ||
         type == Type::S64;
}
bool isBits(Type type) {
  return type == Type::B8 || type == Type::B16 || type == Type::B32 ||
         type == Type::B64;
}
Type bitsType(unsigned bytes) {
  return bytes == 1   ? Type::B8
         : bytes == 2 ? Type::B16
         : bytes == 4 ? Type::B32
         : bytes == 8 ? Type::B64
                      : Type::B128;
}
Type unsignedType(unsigned bytes) {
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
  bool decodeMisc(const std::string &root);
  bool takeCmp(Modifiers &mods, Compare &compare, bool isFloatType);
  void takeMemoryModifiers(Modifiers &mods, uint32_t &flags);
  bool takeSpace(Modifiers &mods, Space &space, uint32_t &flags);
  bool isWarpAligned(Modifiers &mods) { return mods.take("aligned"); }
};

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

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
    return fail("the form with three inputs is not supported by the emulator");
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
  if (root == "set") {
    if (byteSize(resultType) != 4 && resultType != Type::U16 &&
        resultType != Type::S16)
      return unsupported();
    if (!destination(first, resultType, byteSize(resultType), refs[0]))
      return false;
  } else if (first.kind == Operand::Pair) {
    if (!predicateDestination(first.elements[0], refs[0]) ||
        !predicateDestination(first.elements[1], refs[1]))
      return false;
  } else if (!predicateDestination(first, refs[0])) {
    return false;
  }
  Inst &inst = emit(root == "set" ? Op::SetValue : Op::Compare, refs);
  inst.compare = fn;
  inst.type = resultType;
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
  else if (mods.take("param") || mods.take("param::entry"))
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
  if (bytes == 0 || bytes > 8)
    return fail("type '." + std::string(typeName(type)) +
                "' is not supported by the emulator");
  size_t operands = 2 + (hasHint ? 1 : 0);
  if (!allTaken(mods) || !expectOperands(operands, operands))
    return false;
  std::vector<Ref> refs(1);
  int64_t offset = 0;
  if (!address(operand(isLoad ? 0 + 1 : 0), refs[0], offset))
    return false;
  const Operand &data = operand(isLoad ? 0 : 1);
  std::vector<Operand> elements =
      data.kind == Operand::Vector ? data.elements : std::vector<Operand>{data};
  if (elements.size() != count)
    return fail("expects " + std::to_string(count) + " elements");
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
    return unsupported();
  uint32_t flags = 0;
  bool hasHint = mods.has("L2::cache_hint");
  takeMemoryModifiers(mods, flags);
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

//===----------------------------------------------------------------------===//
// Synchronisation
//===----------------------------------------------------------------------===//

bool Decoder::decodeBarrier(const std::string &root) {
  Modifiers mods(*current);
  if (mods.take("warp")) {
    mods.take("sync");
    std::vector<Ref> refs(1);
    if (!allTaken(mods) || !expectOperands(1, 1) ||
        !source(operand(0), Type::B32, 4, refs[0]))
      return false;
    emit(Op::WarpBarrier, refs);
    return true;
  }
  if (root == "barrier" && mods.take("cluster")) {
    bool arrives = mods.take("arrive"), waits = mods.take("wait");
    uint32_t flags = mods.take("aligned") ? inst::aligned : 0;
    if (mods.take("relaxed"))
      flags |= inst::relaxed;
    mods.take("release");
    mods.take("acquire");
    if (arrives == waits)
      return unsupported();
    if (!allTaken(mods) || !expectOperands(0, 0))
      return false;
    emit(arrives ? Op::ClusterArrive : Op::ClusterWait, {}).flags = flags;
    return true;
  }
  mods.take("cta");
  bool syncs = mods.take("sync"), arrives = mods.take("arrive"),
       reduces = mods.take("red");
  // bar.* is barrier.*.aligned.
  uint32_t flags = mods.take("aligned") || root == "bar" ? inst::aligned : 0;
  ReduceOp reduce = ReduceOp::None;
  std::vector<Ref> refs(2);
  size_t at = 0;
  if (reduces) {
    reduce = mods.take("popc")  ? ReduceOp::Popc
             : mods.take("and") ? ReduceOp::And
             : mods.take("or")  ? ReduceOp::Or
                                : ReduceOp::None;
    Type type = mods.takeType();
    if (reduce == ReduceOp::None || (type != Type::U32 && type != Type::Pred))
      return unsupported();
    at = 1;
  } else if (syncs == arrives) {
    return unsupported();
  }
  if (!allTaken(mods) || !expectOperands(at + 1, at + 3))
    return false;
  if (!source(operand(at), Type::U32, 4, refs[0]))
    return false;
  size_t left = current->operands.size() - at - (reduces ? 1 : 0);
  if (left == 2) {
    if (!source(operand(at + 1), Type::U32, 4, refs[1]))
      return false;
  } else if (left != 1) {
    return fail("unexpected number of operands");
  } else if (arrives) {
    return fail("expects the number of threads");
  } else {
    flags |= inst::allThreads;
  }
  if (reduces) {
    Ref input, result;
    if (!predicateSource(current->operands.back(), input))
      return false;
    if (reduce == ReduceOp::Popc
            ? !destination(operand(0), Type::U32, 4, result)
            : !predicateDestination(operand(0), result))
      return false;
    refs.push_back(input);
    refs.push_back(result);
  }
  Inst &inst = emit(reduces ? Op::BarrierReduce
                    : syncs ? Op::BarrierSync
                            : Op::BarrierArrive,
                    refs);
  inst.flags = flags;
  inst.sub = static_cast<uint8_t>(reduce);
  return true;
}

bool Decoder::decodeFence(const std::string &root) {
  Modifiers mods(*current);
  if (root == "fence" && mods.take("proxy")) {
    uint32_t flags = 0;
    if (mods.take("async") || mods.take("async::generic")) {
      if (mods.take("global"))
        flags = inst::globalFence;
      else if (mods.take("shared::cta") || mods.take("shared::cluster"))
        flags = inst::sharedFence;
      else
        flags = inst::globalFence | inst::sharedFence;
      if (mods.take("sync_restrict::shared::cta") ||
          mods.take("sync_restrict::shared::cluster"))
        mods.take("cluster");
      mods.take("acquire");
      mods.take("release");
    } else if (!mods.take("alias")) {
      return unsupported(); // tensormap proxies
    }
    if (!allTaken(mods) || !expectOperands(0, 0))
      return false;
    emit(Op::ProxyFence, {}).flags = flags;
    return true;
  }
  if (root == "fence" && mods.take("mbarrier_init")) {
    mods.take("release");
    mods.take("cluster");
    if (!allTaken(mods) || !expectOperands(0, 0))
      return false;
    emit(Op::MbarrierInitFence, {});
    return true;
  }
  uint32_t flags = inst::acquire | inst::release;
  for (const char *name : {"sc", "acq_rel", "acquire", "release", "cta"})
    mods.take(name);
  if (mods.take("cluster"))
    flags |= inst::clusterScope;
  if (mods.take("gpu") || mods.take("sys") || mods.take("gl"))
    flags |= inst::gpuScope;
  if (!allTaken(mods) || !expectOperands(0, 0))
    return false;
  emit(Op::Fence, {}).flags = flags;
  return true;
}

bool Decoder::decodeWarp(const std::string &root) {
  Modifiers mods(*current);
  if (root == "activemask") {
    std::vector<Ref> refs(1);
    mods.takeType();
    if (!allTaken(mods) || !expectOperands(1, 1) ||
        !destination(operand(0), Type::B32, 4, refs[0]))
      return false;
    emit(Op::ActiveMask, refs);
    return true;
  }
  if (!mods.take("sync"))
    return fail("the form without .sync is not supported by the emulator");
  if (root == "shfl") {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    unsigned mode = 4;
    for (unsigned i = 0; i < 4; ++i)
      if (mods.take(modes[i]))
        mode = i;
    Type type = mods.takeType();
    if (mode == 4 || byteSize(type) != 4)
      return unsupported();
    std::vector<Ref> refs(6); // d, p, a, b, c, members
    if (!allTaken(mods) || !expectOperands(5, 5))
      return false;
    for (unsigned i = 1; i < 5; ++i)
      if (!source(operand(i), Type::B32, 4, refs[i + 1]))
        return false;
    bool isPair = operand(0).kind == Operand::Pair;
    if (!destination(isPair ? operand(0).elements[0] : operand(0), type, 4,
                     refs[0]))
      return false;
    if (isPair && !predicateDestination(operand(0).elements[1], refs[1]))
      return false;
    emit(Op::Shuffle, refs).sub = static_cast<uint8_t>(mode);
    return true;
  }
  if (root == "vote") {
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    unsigned mode = 4;
    for (unsigned i = 0; i < 4; ++i)
      if (mods.take(modes[i]))
        mode = i;
    mods.takeType();
    std::vector<Ref> refs(3);
    if (mode == 4 || !allTaken(mods) || !expectOperands(3, 3) ||
        !predicateSource(operand(1), refs[1]) ||
        !source(operand(2), Type::B32, 4, refs[2]))
      return mode == 4 ? unsupported() : false;
    if (mode == 3 ? !destination(operand(0), Type::B32, 4, refs[0])
                  : !predicateDestination(operand(0), refs[0]))
      return false;
    emit(Op::Vote, refs).sub = static_cast<uint8_t>(mode);
    return true;
  }
  if (root == "match") {
    bool any = mods.take("any"), all = mods.take("all");
    Type type = mods.takeType();
    std::vector<Ref> refs(4); // d, p, a, members
    if (any == all || byteSize(type) < 4 || !allTaken(mods) ||
        !expectOperands(3, 3))
      return any == all ? unsupported() : false;
    bool isPair = operand(0).kind == Operand::Pair;
    if (!source(operand(1), type, byteSize(type), refs[2]) ||
        !source(operand(2), Type::B32, 4, refs[3]) ||
        !destination(isPair ? operand(0).elements[0] : operand(0), Type::B32, 4,
                     refs[0]) ||
        (isPair && !predicateDestination(operand(0).elements[1], refs[1])))
      return false;
    emit(Op::Match, refs).sub = all;
    return true;
  }
  if (root == "redux") {
    static const std::map<std::string, AtomicOp> names = {
        {"add", AtomicOp::Add}, {"min", AtomicOp::Min}, {"max", AtomicOp::Max},
        {"and", AtomicOp::And}, {"or", AtomicOp::Or},   {"xor", AtomicOp::Xor}};
    AtomicOp op = AtomicOp::Cas;
    for (const auto &[name, value] : names)
      if (mods.take(name))
        op = value;
    Type type = mods.takeType();
    std::vector<Ref> refs(3);
    if (op == AtomicOp::Cas || byteSize(type) != 4 || type == Type::F32)
      return unsupported();
    if (!allTaken(mods) || !expectOperands(3, 3) ||
        !source(operand(1), type, 4, refs[1]) ||
        !source(operand(2), Type::B32, 4, refs[2]) ||
        !destination(operand(0), type, 4, refs[0]))
      return false;
    Inst &inst = emit(Op::Redux, refs);
    inst.sub = static_cast<uint8_t>(op);
    inst.type = type;
    return true;
  }
  if (root == "elect") {
    std::vector<Ref> refs(3); // d, p, members
    if (!allTaken(mods) || !expectOperands(2, 2) ||
        operand(0).kind != Operand::Pair)
      return fail("expects d|p, members");
    if (!source(operand(1), Type::B32, 4, refs[2]) ||
        !destination(operand(0).elements[0], Type::B32, 4, refs[0]) ||
        !predicateDestination(operand(0).elements[1], refs[1]))
      return false;
    emit(Op::Elect, refs);
    return true;
  }
  return unsupported();
}

bool Decoder::decodeMbarrier() {
  Modifiers mods(*current);
  uint32_t flags = 0;
  auto takeScope = [&] {
    if (mods.take("release"))
      flags |= inst::release;
    if (mods.take("acquire"))
      flags |= inst::acquire;
    if (mods.take("relaxed"))
      flags |= inst::relaxed;
    if (mods.take("cluster"))
      flags |= inst::clusterScope;
    mods.take("cta");
  };
  Op op = Op::Nop;
  if (mods.take("init"))
    op = Op::MbarrierInit;
  else if (mods.take("inval"))
    op = Op::MbarrierInval;
  else if (mods.take("arrive"))
    op = Op::MbarrierArrive;
  else if (mods.take("arrive_drop")) {
    op = Op::MbarrierArrive;
    flags |= inst::drop;
  } else if (mods.take("test_wait")) {
    op = Op::MbarrierWait;
    flags |= inst::testOnly;
  } else if (mods.take("try_wait"))
    op = Op::MbarrierWait;
  else if (mods.take("complete_tx"))
    op = Op::MbarrierComplete;
  else if (mods.take("pending_count"))
    op = Op::MbarrierPendingCount;
  if (mods.take("expect_tx")) {
    if (op == Op::MbarrierArrive)
      flags |= inst::expectTx;
    else if (op == Op::Nop)
      op = Op::MbarrierExpect;
  }
  if (mods.take("noComplete"))
    flags |= inst::noComplete;
  if (mods.take("parity"))
    flags |= inst::parity;
  if (op == Op::Nop)
    return unsupported();
  takeScope();
  Space space;
  if (!takeSpace(mods, space, flags))
    return false;
  Type type = mods.takeType();
  if (type != Type::B64)
    return fail("expects .b64");
  if (!allTaken(mods))
    return false;
  std::vector<Ref> refs;
  int64_t offset = 0;
  auto addAddress = [&](size_t i) {
    refs.emplace_back();
    return address(operand(i), refs.back(), offset);
  };
  auto addSource = [&](size_t i, unsigned bytes) {
    refs.emplace_back();
    return source(operand(i), unsignedType(bytes), bytes, refs.back());
  };
  bool ok = true;
  switch (op) {
  case Op::MbarrierInit:
  case Op::MbarrierExpect:
  case Op::MbarrierComplete:
    ok = expectOperands(2, 2) && addAddress(0) && addSource(1, 4);
    break;
  case Op::MbarrierInval:
    ok = expectOperands(1, 1) && addAddress(0);
    break;
  case Op::MbarrierArrive: {
    // refs: address, count or bytes, state
    size_t first = operand(0).kind == Operand::Address ? 0 : 1;
    ok = expectOperands(first + 1, first + 2) && addAddress(first);
    if (ok && current->operands.size() == first + 2) {
      ok = addSource(first + 1, 4);
    } else if (ok) {
      if (flags & (inst::expectTx | inst::noComplete))
        return fail("expects a count");
      refs.push_back(constant(1, 4));
    }
    if (ok && first == 1 && operand(0).kind != Operand::Sink) {
      refs.emplace_back();
      flags |= inst::hasState;
      ok = destination(operand(0), Type::B64, 8, refs.back());
    }
    break;
  }
  case Op::MbarrierWait:
    // refs: predicate, address, parity or state
    refs.emplace_back();
    ok = expectOperands(3, 4) && predicateDestination(operand(0), refs[0]) &&
         addAddress(1) && addSource(2, flags & inst::parity ? 4 : 8);
    break;
  case Op::MbarrierPendingCount:
    refs.resize(1);
    ok = expectOperands(2, 2) &&
         destination(operand(0), Type::B32, 4, refs[0]) && addSource(1, 8);
    break;
  default:
    break;
  }
  if (!ok)
    return false;
  Inst &inst = emit(op, refs);
  inst.space = space;
  inst.flags = flags;
  inst.imm = offset;
  return true;
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

bool Decoder::decodeCopy() {
  Modifiers mods(*current);
  bool isReduce = mods.take("reduce");
  if (!mods.take("async"))
    return unsupported();
  if (mods.take("bulk"))
    return decodeBulk(mods, isReduce);
  if (isReduce)
    return unsupported();
  if (mods.take("commit_group")) {
    if (!allTaken(mods) || !expectOperands(0, 0))
      return false;
    emit(Op::CpAsyncCommit, {});
    return true;
  }
  if (mods.take("wait_all")) {
    if (!allTaken(mods) || !expectOperands(0, 0))
      return false;
    emit(Op::CpAsyncWait, {}).imm = -1; // uncommitted ones, too
    return true;
  }
  if (mods.take("wait_group")) {
    if (!allTaken(mods) || !expectOperands(1, 1) ||
        operand(0).kind != Operand::Int)
      return fail("expects a number");
    emit(Op::CpAsyncWait, {}).imm = static_cast<int64_t>(operand(0).bits);
    return true;
  }
  if (mods.take("mbarrier")) {
    uint32_t flags = 0;
    if (!mods.take("arrive"))
      return unsupported();
    if (mods.take("noinc"))
      flags |= inst::noInc;
    Space space;
    takeSpace(mods, space, flags);
    mods.takeType();
    std::vector<Ref> refs(1);
    int64_t offset = 0;
    if (!allTaken(mods) || !expectOperands(1, 1) ||
        !address(operand(0), refs[0], offset))
      return false;
    Inst &inst = emit(Op::CpAsyncMbarrier, refs);
    inst.flags = flags;
    inst.space = space;
    inst.imm = offset;
    return true;
  }
  // cp.async.{ca,cg}.shared.global{.hints} [dst], [src], bytes{, source bytes
  // or ignore predicate}{, hint}
  bool hasHint = mods.has("L2::cache_hint");
  mods.take("ca");
  mods.take("cg");
  while (!mods.takePrefix("L2::").empty()) {
  }
  if (!mods.take("shared") && !mods.take("shared::cta"))
    return unsupported();
  if (!mods.take("global") || !allTaken(mods))
    return unsupported();
  size_t count = current->operands.size() - (hasHint ? 1 : 0);
  if (count < 3 || count > 4 || operand(2).kind != Operand::Int)
    return fail("expects [dst], [src], bytes");
  std::vector<Ref> refs(3);
  int64_t toOffset = 0, fromOffset = 0;
  if (!address(operand(0), refs[0], toOffset) ||
      !address(operand(1), refs[1], fromOffset))
    return false;
  uint64_t bytes = operand(2).bits;
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return fail("expects 4, 8 or 16 bytes");
  uint8_t sub = 0;
  if (count == 4) {
    bool isPredicate = operand(3).kind == Operand::Reg &&
                       function.regs[operand(3).index].type == Type::Pred;
    if (isPredicate ? !predicateSource(operand(3), refs[2])
                    : !source(operand(3), Type::U32, 4, refs[2]))
      return false;
    sub = isPredicate ? 2 : 1;
  }
  Inst &inst = emit(Op::CpAsync, refs);
  inst.sub = sub;
  inst.count = static_cast<uint8_t>(bytes);
  inst.imm = toOffset;
  inst.target = static_cast<uint32_t>(fromOffset);
  return true;
}

/// cp{.reduce}.async.bulk...: refs of a tensor copy are: shared address, map,
/// mbarrier or nothing, multicast mask or nothing, coordinates.
bool Decoder::decodeBulk(Modifiers &mods, bool isReduce) {
  if (mods.take("commit_group")) {
    if (!allTaken(mods) || !expectOperands(0, 0))
      return false;
    emit(Op::BulkCommit, {});
    return true;
  }
  if (mods.take("wait_group")) {
    bool read = mods.take("read");
    if (!allTaken(mods) || !expectOperands(1, 1) ||
        operand(0).kind != Operand::Int)
      return fail("expects a number");
    Inst &inst = emit(Op::BulkWait, {});
    inst.imm = static_cast<int64_t>(operand(0).bits);
    inst.flags = read ? inst::readOnly : 0;
    return true;
  }
  bool isPrefetch = mods.take("prefetch"), isTensor = mods.take("tensor");
  bool hasHint = mods.take("L2::cache_hint");
  if (isPrefetch)
    mods.take("L2");
  unsigned rank = 0;
  if (isTensor) {
    for (unsigned i = 1; i <= 5; ++i)
      if (mods.take(std::to_string(i) + "d"))
        rank = i;
    if (!rank)
      return fail("expects .1d to .5d");
    mods.take("tile");
  }
  bool toBarrier = mods.take("mbarrier::complete_tx::bytes"),
       toGroup = mods.take("bulk_group");
  bool multicast = mods.take("multicast::cluster");
  AtomicOp reduce = AtomicOp::Add;
  if (isReduce) {
    static const std::map<std::string, AtomicOp> names = {
        {"add", AtomicOp::Add}, {"min", AtomicOp::Min}, {"max", AtomicOp::Max},
        {"and", AtomicOp::And}, {"or", AtomicOp::Or},   {"xor", AtomicOp::Xor},
        {"inc", AtomicOp::Inc}, {"dec", AtomicOp::Dec}};
    bool found = false;
    for (const auto &[name, value] : names)
      if (mods.take(name)) {
        reduce = value;
        found = true;
        break;
      }
    if (!found)
      return fail("expects an operation");
    mods.take("noftz");
  }
  bool globalFirst = false;
  bool cluster = false, cta = false, global = false;
  for (const std::string &part : current->name) {
    if (part == "global" && !cluster && !cta)
      globalFirst = true;
    global |= part == "global";
    cluster |= part == "shared::cluster";
    cta |= part == "shared::cta";
  }
  mods.take("global");
  mods.take("shared::cluster");
  mods.take("shared::cta");
  Type type = isReduce && !isTensor ? mods.takeType() : Type::None;
  if (!allTaken(mods))
    return false;
  std::vector<Ref> refs;
  int64_t sharedOffset = 0, otherOffset = 0, barrierOffset = 0;
  uint32_t flags =
      (cluster ? inst::sharedCluster : 0) | (multicast ? inst::multicast : 0);

  if (isTensor) {
    refs.resize(4);
    size_t mapAt = isPrefetch ? 0 : globalFirst ? 0 : 1;
    size_t sharedAt = globalFirst ? 1 : 0;
    size_t expected = (isPrefetch ? 1 : 2) + (toBarrier ? 1 : 0) +
                      (multicast ? 1 : 0) + (hasHint ? 1 : 0);
    if (!expectOperands(expected, expected))
      return false;
    const Operand &map = operand(mapAt);
    if (!address(map, refs[1], otherOffset) || otherOffset)
      return otherOffset ? fail("an offset to a tensor map is not supported by "
                                "the emulator")
                         : false;
    if (map.elements.size() != 2 || map.elements[1].kind != Operand::Vector ||
        map.elements[1].elements.size() != rank)
      return fail("expects " + std::to_string(rank) + " coordinates");
    if (!isPrefetch && !address(operand(sharedAt), refs[0], sharedOffset))
      return false;
    size_t at = 2;
    if (toBarrier && !address(operand(at++), refs[2], barrierOffset))
      return false;
    if (multicast && !source(operand(at++), Type::B16, 2, refs[3]))
      return false;
    for (const Operand &coordinate : map.elements[1].elements) {
      refs.emplace_back();
      if (!source(coordinate, Type::S32, 4, refs.back()))
        return false;
    }
    Op op = isPrefetch    ? Op::TensorPrefetch
            : isReduce    ? Op::TensorReduce
            : globalFirst ? Op::TensorStore
                          : Op::TensorLoad;
    if (op == Op::TensorLoad && !toBarrier)
      return fail("expects .mbarrier::complete_tx::bytes");
    if ((op == Op::TensorStore || op == Op::TensorReduce) && !toGroup)
      return fail("expects .bulk_group");
    Inst &inst = emit(op, refs);
    inst.count = static_cast<uint8_t>(rank);
    inst.flags = flags;
    inst.sub = static_cast<uint8_t>(reduce);
    inst.imm = sharedOffset;
    inst.target = static_cast<uint32_t>(barrierOffset);
    return true;
  }

  if (isPrefetch) {
    refs.resize(2);
    if (!expectOperands(2 + hasHint, 2 + hasHint) ||
        !address(operand(0), refs[0], otherOffset) ||
        !source(operand(1), Type::U32, 4, refs[1]))
      return false;
    emit(Op::BulkPrefetch, refs).imm = otherOffset;
    return true;
  }
  // refs: destination, source, bytes, mbarrier or nothing, multicast mask or
  // nothing
  refs.resize(5);
  size_t expected =
      3 + (toBarrier ? 1 : 0) + (multicast ? 1 : 0) + (hasHint ? 1 : 0);
  if (!expectOperands(expected, expected) ||
      !address(operand(0), refs[0], sharedOffset) ||
      !address(operand(1), refs[1], otherOffset) ||
      !source(operand(2), Type::U32, 4, refs[2]))
    return false;
  size_t at = 3;
  if (toBarrier && !address(operand(at++), refs[3], barrierOffset))
    return false;
  if (multicast && !source(operand(at++), Type::B16, 2, refs[4]))
    return false;
  Op op = globalFirst ? (isReduce ? Op::BulkReduce : Op::BulkStore)
          : global    ? Op::BulkLoad
                      : Op::BulkShared;
  if (op == Op::BulkShared && isReduce)
    return unsupported();
  if (globalFirst ? !toGroup : !toBarrier)
    return fail(globalFirst ? "expects .bulk_group"
                            : "expects .mbarrier::complete_tx::bytes");
  if (isReduce && type == Type::None)
    return fail("expects a type");
  Inst &inst = emit(op, refs);
  inst.flags = flags;
  inst.type = type;
  inst.sub = static_cast<uint8_t>(reduce);
  inst.imm = sharedOffset;
  inst.target = static_cast<uint32_t>(barrierOffset);
  inst.laneFlags = static_cast<uint32_t>(otherOffset);
  return true;
}

//===----------------------------------------------------------------------===//
// Matrix instructions
//===----------------------------------------------------------------------===//

/// refs: D registers, A (descriptor or registers), B descriptor, scale-d.
bool Decoder::decodeWgmma() {
  Modifiers mods(*current);
  bool fence = mods.take("fence"), commit = mods.take("commit_group"),
       wait = mods.take("wait_group");
  bool isMma = mods.take("mma_async");
  if (!mods.take("sync") || !mods.take("aligned"))
    return mods.has("sp") ? unsupported() : fail("expects .sync.aligned");
  if (fence || commit) {
    if (!allTaken(mods) || !expectOperands(0, 0))
      return false;
    emit(fence ? Op::WgmmaFence : Op::WgmmaCommit, {});
    return true;
  }
  if (wait) {
    if (!allTaken(mods) || !expectOperands(1, 1) ||
        operand(0).kind != Operand::Int)
      return fail("expects a number");
    emit(Op::WgmmaWait, {}).imm = static_cast<int64_t>(operand(0).bits);
    return true;
  }
  if (!isMma)
    return unsupported();
  std::string shape = mods.takePrefix("m64n");
  unsigned n = 0, k = 0;
  if (std::sscanf(shape.c_str(), "m64n%uk%u", &n, &k) != 2)
    return fail("expects a shape m64nNkK");
  Type d = mods.takeType(), a = mods.takeType(), b = mods.takeType();
  if (d != Type::F32)
    return fail(
        "accumulators other than f32 are not supported by the emulator");
  bool is16 = (a == Type::BF16 || a == Type::F16) && a == b;
  bool isTf32 = a == Type::TF32 && b == Type::TF32;
  if (!is16 && !isTf32)
    return fail("operands of these types are not supported by the emulator");
  if (k != (is16 ? 16u : 8u))
    return fail("expects K = " + std::to_string(is16 ? 16 : 8) + ", but got " +
                std::to_string(k));
  if (n < 8 || n > 256 || n % 8)
    return fail("expects N to be a multiple of 8 from 8 to 256, but got " +
                std::to_string(n));
  if (!allTaken(mods))
    return false;
  if (current->operands.size() < 4 || operand(0).kind != Operand::Vector ||
      operand(0).elements.size() != n / 2)
    return fail("expects " + std::to_string(n / 2) + " accumulator registers");
  std::vector<Ref> refs;
  for (const Operand &element : operand(0).elements) {
    refs.emplace_back();
    if (!destination(element, Type::F32, 4, refs.back()))
      return false;
  }
  uint32_t flags = 0;
  if (operand(1).kind == Operand::Vector) {
    flags |= inst::aInRegisters;
    if (operand(1).elements.size() != 4)
      return fail("expects 4 registers of A");
    for (const Operand &element : operand(1).elements) {
      refs.emplace_back();
      if (!source(element, Type::B32, 4, refs.back()))
        return false;
    }
  } else {
    refs.emplace_back();
    if (!source(operand(1), Type::B64, 8, refs.back()))
      return false;
  }
  refs.emplace_back();
  if (!source(operand(2), Type::B64, 8, refs.back()))
    return false;
  refs.emplace_back();
  if (!predicateSource(operand(3), refs.back()))
    return false;
  // scale-a, scale-b, then for 16-bit types trans-a (not from registers),
  // trans-b.
  size_t expected = 6 + (is16 ? (flags & inst::aInRegisters ? 1 : 2) : 0);
  if (!expectOperands(expected, expected))
    return false;
  int64_t immediates[4] = {1, 1, 0, 0};
  for (size_t i = 4; i < expected; ++i) {
    if (operand(i).kind != Operand::Int)
      return fail("expects an immediate");
    immediates[i - 4] = static_cast<int64_t>(operand(i).bits);
  }
  for (unsigned i = 0; i < 2; ++i)
    if (immediates[i] != 1 && immediates[i] != -1)
      return fail("expects imm-scale of 1 or -1");
  if (immediates[0] == -1)
    flags |= inst::negateA;
  if (immediates[1] == -1)
    flags |= inst::negateB;
  if (is16) {
    bool registers = flags & inst::aInRegisters;
    if (!registers && immediates[2])
      flags |= inst::transposeA;
    if (registers ? immediates[2] : immediates[3])
      flags |= inst::transposeB;
  }
  Inst &inst = emit(Op::Wgmma, refs);
  inst.type = a;
  inst.shapeN = static_cast<uint16_t>(n);
  inst.count = static_cast<uint8_t>(k);
  inst.flags = flags;
  return true;
}

bool Decoder::decodeMatrix(const std::string &root) {
  Modifiers mods(*current);
  if (root != "stmatrix" && root != "ldmatrix")
    return unsupported();
  if (!mods.take("sync") || !mods.take("aligned") || !mods.take("m8n8"))
    return unsupported();
  unsigned count = mods.take("x1")   ? 1
                   : mods.take("x2") ? 2
                   : mods.take("x4") ? 4
                                     : 0;
  uint32_t flags = mods.take("trans") ? inst::transposed : 0;
  Space space;
  takeSpace(mods, space, flags);
  Type type = mods.takeType();
  if (!count || type != Type::B16)
    return unsupported();
  if (!allTaken(mods) || !expectOperands(2, 2))
    return false;
  bool isLoad = root == "ldmatrix";
  const Operand &data = operand(isLoad ? 0 : 1);
  std::vector<Operand> elements =
      data.kind == Operand::Vector ? data.elements : std::vector<Operand>{data};
  if (elements.size() != count)
    return fail("expects " + std::to_string(count) + " registers");
  std::vector<Ref> refs(1);
  int64_t offset = 0;
  if (!address(operand(isLoad ? 1 : 0), refs[0], offset))
    return false;
  for (const Operand &element : elements) {
    refs.emplace_back();
    if (isLoad ? !destination(element, Type::B32, 4, refs.back())
               : !source(element, Type::B32, 4, refs.back()))
      return false;
  }
  Inst &inst = emit(isLoad ? Op::LdMatrix : Op::StMatrix, refs);
  inst.count = static_cast<uint8_t>(count);
  inst.flags = flags;
  inst.space = space;
  inst.imm = offset;
  return true;
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

bool Decoder::decodeMisc(const std::string &root) {
  Modifiers mods(*current);
  if (root == "bra") {
    mods.take("uni");
    if (!allTaken(mods) || !expectOperands(1, 1))
      return false;
    emit(Op::Branch, {}).target = operand(0).index;
    return true;
  }
  if (root == "ret" || root == "exit") {
    mods.take("uni");
    if (!allTaken(mods) || !expectOperands(0, 0))
      return false;
    emit(Op::Exit, {});
    return true;
  }
  if (root == "trap" || root == "brkpt") {
    emit(Op::Trap, {});
    return true;
  }
  if (root == "call")
    return fail(
        "calls of functions that were not inlined ('" +
        (current->operands.size() > 1 ? operand(1).name : std::string()) +
        "') are not supported by the emulator");
  if (root == "isspacep") {
    Space space;
    uint32_t flags = 0;
    takeSpace(mods, space, flags);
    std::vector<Ref> refs(2);
    if (!allTaken(mods) || !expectOperands(2, 2) ||
        !predicateDestination(operand(0), refs[0]) ||
        !source(operand(1), Type::U64, 8, refs[1]))
      return false;
    Inst &inst = emit(Op::IsSpace, refs);
    inst.space = space;
    inst.flags = flags;
    return true;
  }
  if (root == "mapa") {
    Space space;
    uint32_t flags = 0;
    takeSpace(mods, space, flags);
    Type type = mods.takeType();
    unsigned bytes = byteSize(type);
    std::vector<Ref> refs(3);
    if ((bytes != 4 && bytes != 8) || !allTaken(mods) ||
        !expectOperands(3, 3) || !source(operand(1), type, bytes, refs[1]) ||
        !source(operand(2), Type::U32, 4, refs[2]) ||
        !destination(operand(0), type, bytes, refs[0]))
      return bytes ? false : unsupported();
    Inst &inst = emit(Op::Mapa, refs);
    inst.space = space;
    return true;
  }
  if (root == "getctarank") {
    Space space;
    uint32_t flags = 0;
    takeSpace(mods, space, flags);
    Type type = mods.takeType();
    std::vector<Ref> refs(2);
    if (!allTaken(mods) || !expectOperands(2, 2) ||
        !source(operand(1), type, byteSize(type), refs[1]) ||
        !destination(operand(0), Type::U32, 4, refs[0]))
      return false;
    emit(Op::GetCtaRank, refs).space = space;
    return true;
  }
  if (root == "setmaxnreg") {
    bool inc = mods.take("inc"), dec = mods.take("dec");
    mods.take("sync");
    mods.take("aligned");
    mods.takeType();
    if (inc == dec || !allTaken(mods) || !expectOperands(1, 1) ||
        operand(0).kind != Operand::Int)
      return fail("expects .inc or .dec and a number");
    Inst &inst = emit(Op::SetMaxRegisters, {});
    inst.flags = (inc ? inst::increase : 0) | inst::aligned;
    inst.imm = static_cast<int64_t>(operand(0).bits);
    if (inst.imm < 24 || inst.imm > 256 || inst.imm % 8)
      return fail("expects a multiple of 8 from 24 to 256, but got " +
                  std::to_string(inst.imm));
    return true;
  }
  if (root == "griddepcontrol") {
    bool wait = mods.take("wait"), launch = mods.take("launch_dependents");
    if (wait == launch || !allTaken(mods))
      return unsupported();
    emit(wait ? Op::GridWait : Op::GridLaunch, {});
    return true;
  }
  if (root == "nanosleep") {
    emit(Op::NanoSleep, {});
    return true;
  }
  if (root == "prefetch" || root == "prefetchu" || root == "applypriority" ||
      root == "discard") {
    if (root == "discard")
      return unsupported();
    emit(Op::Nop, {}); // changes no value
    return true;
  }
  if (root == "createpolicy") {
    // Values of hints are opaque.
    std::vector<Ref> refs(2);
    if (current->operands.empty() ||
        !destination(operand(0), Type::B64, 8, refs[0]))
      return false;
    refs[1] = constant(uint64_t(0x1000000000000000), 8);
    emit(Op::Move, refs);
    return true;
  }
  if (root == "testp") {
    static const char *const names[] = {"finite",     "infinite", "number",
                                        "notanumber", "normal",   "subnormal"};
    unsigned op = 6;
    for (unsigned i = 0; i < 6; ++i)
      if (mods.take(names[i]))
        op = i;
    Type type = mods.takeType();
    std::vector<Ref> refs(2);
    if (op == 6 || (type != Type::F32 && type != Type::F64) ||
        !allTaken(mods) || !expectOperands(2, 2) ||
        !predicateDestination(operand(0), refs[0]) ||
        !source(operand(1), type, byteSize(type), refs[1]))
      return message.empty() ? unsupported() : false;
    Inst &inst = emit(Op::Testp, refs);
    inst.sub = static_cast<uint8_t>(op);
    inst.type = type;
    return true;
  }
  return unsupported();
}

bool Decoder::decodeInstruction() {
  using Member = bool (Decoder::*)(const std::string &);
  static const std::unordered_map<std::string, Member> byRoot = [] {
    std::unordered_map<std::string, Member> map;
    for (const char *name :
         {"add",  "sub",      "mul",   "mad",  "fma", "div",   "rem",
          "abs",  "neg",      "min",   "max",  "sad", "mul24", "mad24",
          "rcp",  "sqrt",     "rsqrt", "ex2",  "lg2", "sin",   "cos",
          "tanh", "copysign", "addc",  "subc", "madc"})
      map[name] = &Decoder::decodeArithmetic;
    for (const char *name : {"and", "or", "xor", "not", "cnot", "shl", "shr",
                             "shf", "prmt", "lop3", "bfe", "bfi", "popc", "clz",
                             "brev", "bfind", "szext", "bmsk", "dp4a"})
      map[name] = &Decoder::decodeBitwise;
    for (const char *name : {"setp", "set"})
      map[name] = &Decoder::decodeCompare;
    for (const char *name : {"ld", "ldu", "st"})
      map[name] = &Decoder::decodeMemory;
    for (const char *name : {"atom", "red"})
      map[name] = &Decoder::decodeAtomic;
    for (const char *name : {"bar", "barrier"})
      map[name] = &Decoder::decodeBarrier;
    for (const char *name : {"fence", "membar"})
      map[name] = &Decoder::decodeFence;
    for (const char *name :
         {"shfl", "vote", "match", "redux", "elect", "activemask"})
      map[name] = &Decoder::decodeWarp;
    for (const char *name : {"stmatrix", "ldmatrix", "movmatrix", "mma"})
      map[name] = &Decoder::decodeMatrix;
    return map;
  }();
  const std::string &root = current->name[0];
  if (root == "selp")
    return decodeSelect();
  if (root == "mov")
    return decodeMove();
  if (root == "cvt")
    return decodeConvert();
  if (root == "cvta")
    return decodeConvertAddress();
  if (root == "mbarrier")
    return decodeMbarrier();
  if (root == "cp")
    return decodeCopy();
  if (root == "wgmma")
    return decodeWgmma();
  auto found = byRoot.find(root);
  return found != byRoot.end() ? (this->*found->second)(root)
                               : decodeMisc(root);
}

Error Decoder::run() {
  kernel.name = function.name;
  kernel.paramBytes = function.paramBytes;
  for (uint32_t index : function.params) {
    const ptx::Variable &variable = module.variables[index];
    kernel.params.push_back(
        {variable.name, variable.offset, variable.bytes, variable.align});
  }
  std::copy(function.maxThreads, function.maxThreads + 3, kernel.maxThreads);
  std::copy(function.requiredThreads, function.requiredThreads + 3,
            kernel.requiredThreads);
  std::copy(function.requiredCluster, function.requiredCluster + 3,
            kernel.requiredCluster);
  kernel.maxRegisters = function.maxRegisters;
  for (const ptx::Register &reg : function.regs) {
    if (reg.type == Type::Pred) {
      vregOf.push_back(numVpreds++);
      continue;
    }
    unsigned bytes = std::max(2u, byteSize(reg.type));
    if (bytes > 8)
      return Error("kernel '" + function.name + "': 128-bit registers ('" +
                   reg.name + "') are not supported by the emulator");
    vregOf.push_back(newVreg(bytes));
  }
  if (!layOutVariables())
    return Error(message);

  std::vector<uint32_t> newIndex(function.body.size() + 1);
  for (uint32_t i = 0; i < function.body.size(); ++i) {
    current = &function.body[i];
    currentIndex = i;
    newIndex[i] = static_cast<uint32_t>(kernel.code.size());
    if (!decodeInstruction())
      return Error(message);
    for (size_t r = 0; r < pendingResizes.size(); ++r) {
      Inst &inst = emit(Op::Resize, pendingResizeRefs[r]);
      inst.sub = pendingResizes[r].sub;
    }
    pendingResizes.clear();
    pendingResizeRefs.clear();
    kernel.lines.push_back(current->line);
    kernel.texts.push_back(current->fullName());
    std::string where;
    if (current->sourceLine && current->sourceFile < module.files.size())
      where = module.files[current->sourceFile] + ":" +
              std::to_string(current->sourceLine);
    kernel.sources.push_back(where);
  }
  newIndex[function.body.size()] = static_cast<uint32_t>(kernel.code.size());
  for (Inst &inst : kernel.code)
    if (inst.op == Op::Branch)
      inst.target = newIndex[inst.target];
  // Falling off the end is a return.
  Instruction end;
  end.name = {"ret"};
  end.line = function.body.empty() ? function.line : function.body.back().line;
  current = &end;
  currentIndex = static_cast<uint32_t>(function.body.size());
  emit(Op::Exit, {});
  kernel.lines.push_back(end.line);
  kernel.texts.push_back("ret");
  kernel.sources.emplace_back();
  std::vector<std::string> names(vregBytes.size(), "a temporary");
  for (size_t i = 0; i < function.regs.size(); ++i)
    if (function.regs[i].type != Type::Pred)
      names[vregOf[i]] = function.regs[i].name;
  allocateRegisters(kernel, static_cast<uint32_t>(vregBytes.size()), vregBytes,
                    numVpreds, names);
  return Error::success();
}

} // namespace

Error decodeKernel(const ptx::Module &module, const ptx::Function &function,
                   const AddressOf &addressOf, Kernel &kernel) {
  return Decoder(module, function, addressOf, kernel).run();
}

} // namespace backfuse::emulator
