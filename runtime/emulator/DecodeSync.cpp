//===- DecodeSync.cpp - Barriers, fences, operations across lanes --------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Decoder.h"

namespace backfuse::emulator {

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
  // membar is fence.sc.
  bool isSc = mods.take("sc") || root == "membar";
  uint32_t flags = inst::acquire | inst::release;
  if (mods.take("acquire"))
    flags = inst::acquire;
  else if (mods.take("release"))
    flags = inst::release;
  else
    mods.take("acq_rel");
  bool hasScope = mods.take("cta");
  if (mods.take("cluster")) {
    flags |= inst::clusterScope;
    hasScope = true;
  }
  if (mods.take("gpu") || mods.take("sys") || mods.take("gl")) {
    flags |= inst::gpuScope;
    hasScope = true;
  }
  if (!hasScope)
    return fail("expects a scope");
  if (!allTaken(mods) || !expectOperands(0, 0))
    return false;
  Inst &inst = emit(Op::Fence, {});
  inst.flags = flags;
  inst.sub = isSc ? 1 : 0;
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
    bool isFloat = type == Type::F32;
    if (op == AtomicOp::Cas || byteSize(type) != 4 ||
        (isFloat && op != AtomicOp::Min && op != AtomicOp::Max))
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

} // namespace backfuse::emulator
