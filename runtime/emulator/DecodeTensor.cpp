//===- DecodeTensor.cpp - tcgen05 and cluster launch control -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// After PTX ISA 9.7.16 (TensorCore 5th generation family instructions) and
// 9.7.13.20 (clusterlaunchcontrol). The contents of descriptors are known when
// a kernel runs: Tcgen05.cpp.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Decoder.h"

namespace backfuse::emulator {

/// Whether a .target has tcgen05: architecture or family of compute capability
/// 10.x or 11.x.
static bool hasTensorMemory(const std::string &target) {
  std::string first = target.substr(0, target.find(','));
  return (first.rfind("sm_10", 0) == 0 || first.rfind("sm_11", 0) == 0) &&
         (first.back() == 'a' || first.back() == 'f');
}

/// .cta_group::1 or ::2, the same in all tcgen05 instructions of a kernel.
bool Decoder::takeCtaGroup(Modifiers &mods) {
  bool one = mods.take("cta_group::1"), two = mods.take("cta_group::2");
  if (one == two)
    return fail("expects .cta_group::1 or .cta_group::2");
  uint32_t group = one ? 1 : 2;
  if (kernel.ctaGroup && kernel.ctaGroup != group)
    return fail("all tcgen05 instructions of a kernel must have the same "
                ".cta_group, but line " +
                std::to_string(ctaGroupLine) +
                " has .cta_group::" + std::to_string(kernel.ctaGroup));
  if (!kernel.ctaGroup)
    ctaGroupLine = current->line;
  kernel.ctaGroup = group;
  return true;
}

bool Decoder::decodeTensor() {
  Modifiers mods(*current);
  if (!hasTensorMemory(module.target))
    return fail("needs .target sm_100a, sm_100f or a later one of these kinds, "
                "but the module's is " +
                module.target);
  auto expectAligned = [&] {
    return (mods.take("sync") && mods.take("aligned")) ||
           fail("expects .sync.aligned");
  };
  if (mods.take("fence::before_thread_sync") ||
      mods.has("fence::after_thread_sync")) {
    uint32_t flags =
        mods.take("fence::after_thread_sync") ? tensor::isAfter : 0;
    if (!allTaken(mods) || !expectOperands(0, 0))
      return false;
    emit(Op::TensorFence, {}).laneFlags = flags;
    return true;
  }
  if (mods.take("wait::ld") || mods.has("wait::st")) {
    uint32_t flags = mods.take("wait::st") ? tensor::isStore : 0;
    if (!expectAligned() || !allTaken(mods) || !expectOperands(0, 0))
      return false;
    emit(Op::TensorMemoryWait, {}).laneFlags = flags;
    return true;
  }
  if (mods.take("alloc")) {
    // refs: where the address goes, number of columns
    std::vector<Ref> refs(2);
    int64_t offset = 0;
    if (!takeCtaGroup(mods) || !expectAligned())
      return false;
    uint32_t flags = 0;
    Space space;
    takeSpace(mods, space, flags);
    if (mods.takeType() != Type::B32 || flags)
      return fail("expects .shared::cta and .b32");
    if (!allTaken(mods) || !expectOperands(2, 2) ||
        !address(operand(0), refs[0], offset) ||
        !source(operand(1), Type::U32, 4, refs[1]))
      return false;
    Inst &inst = emit(Op::TensorAlloc, refs);
    inst.imm = offset;
    return true;
  }
  if (mods.take("dealloc")) {
    std::vector<Ref> refs(2); // address, number of columns
    if (!takeCtaGroup(mods) || !expectAligned())
      return false;
    if (mods.takeType() != Type::B32)
      return fail("expects .b32");
    if (!allTaken(mods) || !expectOperands(2, 2) ||
        !source(operand(0), Type::B32, 4, refs[0]) ||
        !source(operand(1), Type::U32, 4, refs[1]))
      return false;
    emit(Op::TensorDealloc, refs);
    return true;
  }
  if (mods.take("relinquish_alloc_permit")) {
    if (!takeCtaGroup(mods) || !expectAligned() || !allTaken(mods) ||
        !expectOperands(0, 0))
      return false;
    emit(Op::TensorRelinquish, {});
    return true;
  }
  if (mods.take("ld") || mods.has("st"))
    return decodeTensorMove(mods, !mods.take("st"));
  if (mods.take("mma"))
    return decodeTensorMma(mods);
  if (mods.take("commit")) {
    // refs: mbarrier, mask of CTAs or nothing
    std::vector<Ref> refs(2);
    int64_t offset = 0;
    if (!takeCtaGroup(mods))
      return false;
    if (!mods.take("mbarrier::arrive::one"))
      return fail("expects .mbarrier::arrive::one");
    bool multicast = mods.take("multicast::cluster");
    mods.take("shared::cluster");
    if (mods.takeType() != Type::B64)
      return fail("expects .b64");
    size_t count = multicast ? 2 : 1;
    if (!allTaken(mods) || !expectOperands(count, count) ||
        !address(operand(0), refs[0], offset) ||
        (multicast && !source(operand(1), Type::B16, 2, refs[1])))
      return false;
    emit(Op::TensorCommit, refs).imm = offset;
    return true;
  }
  if (mods.take("cp")) {
    static const std::pair<const char *, tensor::Shape> shapes[] = {
        {"128x256b", tensor::Cp128x256b}, {"128x128b", tensor::Cp128x128b}};
    if (!takeCtaGroup(mods))
      return false;
    int shape = -1;
    for (auto [name, value] : shapes)
      if (mods.take(name))
        shape = value;
    if (shape < 0 && mods.take("64x128b"))
      shape = mods.take("warpx2::02_13")   ? tensor::Cp64x128b02_13
              : mods.take("warpx2::01_23") ? tensor::Cp64x128b01_23
                                           : -1;
    if (shape < 0 && mods.take("32x128b") && mods.take("warpx4"))
      shape = tensor::Cp32x128b;
    if (shape < 0)
      return fail("expects .128x256b, .128x128b, .64x128b with .warpx2 or "
                  ".32x128b.warpx4; others are not supported by the emulator");
    std::vector<Ref> refs(2); // tensor memory, descriptor
    int64_t offset = 0;
    if (!allTaken(mods) || !expectOperands(2, 2) ||
        !address(operand(0), refs[0], offset) ||
        !source(operand(1), Type::B64, 8, refs[1]))
      return false;
    Inst &inst = emit(Op::TensorMemoryCopy, refs);
    inst.sub = static_cast<uint8_t>(shape);
    inst.imm = offset;
    return true;
  }
  return unsupported(); // shift, ...
}

/// ld and st. refs: address, registers.
bool Decoder::decodeTensorMove(Modifiers &mods, bool isLoad) {
  if (!mods.take("sync") || !mods.take("aligned"))
    return fail("expects .sync.aligned");
  struct Form {
    const char *name;
    tensor::Shape shape;
    unsigned registers, most;
  };
  static const Form forms[] = {{"32x32b", tensor::Ld32x32b, 1, 128},
                               {"16x64b", tensor::Ld16x64b, 1, 128},
                               {"16x128b", tensor::Ld16x128b, 2, 64},
                               {"16x256b", tensor::Ld16x256b, 4, 32},
                               {"16x32bx2", tensor::Ld16x32bx2, 1, 128}};
  const Form *form = nullptr;
  for (const Form &candidate : forms)
    if (mods.take(candidate.name))
      form = &candidate;
  if (!form)
    return unsupported();
  unsigned number = 0;
  for (unsigned i = 1; i <= form->most; i *= 2)
    if (mods.take("x" + std::to_string(i)))
      number = i;
  if (!number)
    return fail("expects .x1 to .x" + std::to_string(form->most));
  uint32_t flags =
      mods.take(isLoad ? "pack::16b" : "unpack::16b") ? tensor::packed : 0;
  if (mods.takeType() != Type::B32)
    return fail("expects .b32");
  bool isSplit = form->shape == tensor::Ld16x32bx2;
  size_t count = 2 + (isSplit ? 1 : 0);
  if (!allTaken(mods) || !expectOperands(count, count))
    return false;
  const Operand &data = operand(isLoad ? 0 : count - 1);
  const Operand &where = operand(isLoad ? 1 : 0);
  std::vector<Ref> refs(1);
  int64_t offset = 0, split = 0;
  if (!address(where, refs[0], offset))
    return false;
  if (isSplit) {
    const Operand &immediate = operand(isLoad ? 2 : 1);
    if (immediate.kind != Operand::Int)
      return fail("expects an immediate as offset of the upper half");
    split = static_cast<int64_t>(immediate.bits);
  }
  std::vector<Operand> elements =
      data.kind == Operand::Vector ? data.elements : std::vector<Operand>{data};
  if (elements.size() != number * form->registers)
    return fail("expects " + std::to_string(number * form->registers) +
                " registers, but got " + std::to_string(elements.size()));
  for (const Operand &element : elements) {
    refs.emplace_back();
    if (isLoad ? !destination(element, Type::B32, 4, refs.back())
               : !source(element, Type::B32, 4, refs.back()))
      return false;
  }
  Inst &inst =
      emit(isLoad ? Op::TensorMemoryLoad : Op::TensorMemoryStore, refs);
  inst.sub = form->shape;
  inst.shapeN = static_cast<uint16_t>(number);
  inst.laneFlags = flags;
  inst.imm = offset;
  inst.target = static_cast<uint32_t>(split);
  return true;
}

/// refs: D, A (descriptor or address), descriptor of B, instruction descriptor,
/// enable-input-d, mask of lanes (4 or 8, or none).
bool Decoder::decodeTensorMma(Modifiers &mods) {
  if (mods.has("sp") || mods.has("ws"))
    return unsupported();
  if (!takeCtaGroup(mods))
    return false;
  bool f16 = mods.take("kind::f16"), tf32 = mods.take("kind::tf32");
  if (f16 == tf32) {
    std::string kind = mods.takePrefix("kind::");
    return fail((kind.empty() ? "expects a kind" : "." + kind) +
                std::string(": only .kind::f16 and .kind::tf32 are supported "
                            "by the emulator"));
  }
  // Hints to keep A in the operand collector change no value.
  for (const char *hint : {"fill", "use", "lastuse", "discard"})
    mods.take("collector::a::" + std::string(hint));
  if (!allTaken(mods) || !expectOperands(5, 7))
    return false;
  std::vector<Ref> refs(5);
  int64_t offset = 0, aOffset = 0;
  uint32_t flags = 0;
  if (!address(operand(0), refs[0], offset))
    return false;
  if (operand(1).kind == Operand::Address) {
    flags |= tensor::aInTensorMemory;
    if (!address(operand(1), refs[1], aOffset))
      return false;
  } else if (!source(operand(1), Type::B64, 8, refs[1])) {
    return false;
  }
  size_t at = 4;
  const Operand *mask = nullptr;
  if (operand(at).kind == Operand::Vector)
    mask = &operand(at++);
  if (at >= current->operands.size())
    return fail("expects the predicate enable-input-d");
  if (!source(operand(2), Type::B64, 8, refs[2]) ||
      !source(operand(3), Type::B32, 4, refs[3]) ||
      !predicateSource(operand(at++), refs[4]))
    return false;
  int64_t scale = 0;
  if (at < current->operands.size()) {
    const Operand &operandScale = operand(at++);
    scale = static_cast<int64_t>(operandScale.bits);
    if (operandScale.kind != Operand::Int || scale < 0 || scale > 15)
      return fail("expects scale-input-d as an immediate from 0 to 15");
  }
  if (at != current->operands.size())
    return fail("unexpected operand");
  if (mask) {
    size_t words = 4 * kernel.ctaGroup;
    if (mask->elements.size() != words)
      return fail("expects disable-output-lane of " + std::to_string(words) +
                  " registers");
    flags |= tensor::hasLaneMask;
    for (const Operand &element : mask->elements) {
      refs.emplace_back();
      if (!source(element, Type::B32, 4, refs.back()))
        return false;
    }
  }
  Inst &inst = emit(Op::TensorMma, refs);
  inst.type = f16 ? Type::F16 : Type::TF32;
  inst.laneFlags = flags;
  inst.imm = offset;
  inst.target = static_cast<uint32_t>(aOffset);
  inst.count = static_cast<uint8_t>(scale);
  return true;
}

/// try_cancel: refs are where the response goes and its mbarrier. query_cancel:
/// the two halves of the response and up to three numbers or a predicate;
/// `sub` is 0 for is_canceled, 1 for the three coordinates, 2 to 4 for one.
bool Decoder::decodeClusterLaunch() {
  Modifiers mods(*current);
  if (module.target.rfind("sm_9", 0) == 0)
    return fail("needs .target sm_100 or later, but the module's is " +
                module.target);
  if (mods.take("try_cancel")) {
    if (!mods.take("async"))
      return fail("expects .async");
    uint32_t flags = 0;
    Space space;
    takeSpace(mods, space, flags);
    if (!mods.take("mbarrier::complete_tx::bytes"))
      return fail("expects .mbarrier::complete_tx::bytes");
    if (mods.take("multicast::cluster::all"))
      flags |= inst::multicast;
    if (mods.takeType() != Type::B128 || (flags & inst::sharedCluster))
      return fail("expects .shared::cta and .b128");
    std::vector<Ref> refs(2);
    int64_t to = 0, barrier = 0;
    if (!allTaken(mods) || !expectOperands(2, 2) ||
        !address(operand(0), refs[0], to) ||
        !address(operand(1), refs[1], barrier))
      return false;
    Inst &inst = emit(Op::ClusterCancel, refs);
    inst.flags = flags;
    inst.imm = to;
    inst.target = static_cast<uint32_t>(barrier);
    return true;
  }
  if (!mods.take("query_cancel"))
    return unsupported();
  unsigned sub = mods.take("is_canceled")          ? 0
                 : mods.take("get_first_ctaid")    ? 1
                 : mods.take("get_first_ctaid::x") ? 2
                 : mods.take("get_first_ctaid::y") ? 3
                 : mods.take("get_first_ctaid::z") ? 4
                                                   : 5;
  if (sub == 5)
    return unsupported();
  if (sub == 0 ? !mods.take("pred") : sub == 1 && !mods.take("v4"))
    return fail(sub == 0 ? "expects .pred" : "expects .v4");
  if (sub != 0 && mods.takeType() != Type::B32)
    return fail("expects .b32");
  if (mods.takeType() != Type::B128)
    return fail("expects .b128");
  Ref response[2];
  if (!allTaken(mods) || !expectOperands(2, 2) ||
      !wideRegister(operand(1), false, response))
    return false;
  std::vector<Ref> refs(response, response + 2);
  refs.emplace_back();
  if (sub == 0) {
    if (!predicateDestination(operand(0), refs[2]))
      return false;
  } else if (sub > 1) {
    if (!destination(operand(0), Type::B32, 4, refs[2]))
      return false;
  } else {
    if (operand(0).kind != Operand::Vector || operand(0).elements.size() != 4)
      return fail("expects four registers");
    refs.resize(6);
    for (unsigned i = 0; i < 4; ++i)
      if (!destination(operand(0).elements[i], Type::B32, 4, refs[2 + i]))
        return false;
  }
  emit(Op::ClusterQuery, refs).sub = static_cast<uint8_t>(sub);
  return true;
}

} // namespace backfuse::emulator
