//===- Decode.cpp - From PTX syntax to executable instructions ------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// One function per class of instructions, after chapter 9 of the PTX ISA
// manual. Every modifier must be consumed: what is left over is refused, so
// that nothing is silently ignored.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Decoder.h"

namespace backfuse::emulator {

const char *opName(Op op) {
  static const char *const names[] = {"nop",
                                      "arithmetic",
                                      "select",
                                      "compare",
                                      "compare halves",
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
                                      "rare arithmetic",
                                      "tensormap.replace",
                                      "tensormap.cp_fenceproxy",
                                      "tensormap acquire",
                                      "st.async",
                                      "nanosleep",
                                      "griddepcontrol wait",
                                      "griddepcontrol launch",
                                      "tcgen05.alloc",
                                      "tcgen05.dealloc",
                                      "tcgen05.relinquish_alloc_permit",
                                      "tcgen05.ld",
                                      "tcgen05.st",
                                      "tcgen05.wait",
                                      "tcgen05.cp",
                                      "tcgen05.mma",
                                      "tcgen05.commit",
                                      "tcgen05.fence",
                                      "clusterlaunchcontrol.try_cancel",
                                      "clusterlaunchcontrol.query_cancel"};
  return names[static_cast<unsigned>(op)];
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
  bool isRare = false;
  if (!decodeRare(root, isRare) || isRare)
    return message.empty();
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
  if (root == "tcgen05")
    return decodeTensor();
  if (root == "clusterlaunchcontrol")
    return decodeClusterLaunch();
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
    // Registers of 128 bits are two of 64, the upper one behind the lower.
    vregOf.push_back(newVreg(std::min(bytes, 8u)));
    if (bytes > 8)
      newVreg(8);
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
  for (std::vector<uint32_t> &branchTable : kernel.branchTables)
    for (uint32_t &target : branchTable)
      target = newIndex[target];
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

Error decodeKernel(const ptx::Module &module, const ptx::Function &function,
                   const AddressOf &addressOf, Kernel &kernel) {
  return Decoder(module, function, addressOf, kernel).run();
}

} // namespace backfuse::emulator
