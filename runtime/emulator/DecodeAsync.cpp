//===- DecodeAsync.cpp - Asynchronous copies, matrix instructions --------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Decoder.h"

namespace backfuse::emulator {

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
  bool pair = mods.take("cta_group::2");
  if ((pair || mods.take("cta_group::1")) && (!isTensor || !toBarrier))
    return fail("expects .cta_group only on tensor loads");
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
  uint32_t laneFlags = pair ? tensor::pair : 0;

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
    inst.laneFlags = laneFlags;
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
  if (module.target.rfind("sm_10", 0) == 0 ||
      module.target.rfind("sm_11", 0) == 0)
    return fail("needs .target sm_90a, but the module's is " + module.target);
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
  for (unsigned i = 2; i < 4; ++i)
    if (immediates[i] != 0 && immediates[i] != 1)
      return fail("expects imm-trans of 0 or 1");
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

} // namespace backfuse::emulator
