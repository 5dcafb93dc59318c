//===- Allocate.cpp - Places for virtual registers ------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// PTX has thousands of virtual registers; a warp's file would not stay in a
// cache, and 1600 warps would take gigabytes. Liveness gives each register an
// interval of instructions; a linear scan lets intervals that do not meet share
// a place. This is right under divergence, too: a place holds one value per
// lane, and each lane is at one instruction.
//
// Registers that asynchronous products read or write keep a place of their own:
// the write comes later than the instruction, and may come when the program
// (wrongly) no longer expects it.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Kernel.h"

#include <algorithm>

namespace backfuse::emulator {

namespace {

struct Block {
  uint32_t begin = 0, end = 0;
  std::vector<uint32_t> successors;
  std::vector<uint64_t> use, def, in, out;
};

struct Interval {
  uint32_t begin = ~0u, end = 0;
  bool isUsed() const { return begin != ~0u; }
  void extend(uint32_t at) {
    begin = std::min(begin, at);
    end = std::max(end, at);
  }
};

bool testBit(const std::vector<uint64_t> &set, uint32_t i) {
  return (set[i / 64] >> (i % 64)) & 1;
}
void setBit(std::vector<uint64_t> &set, uint32_t i) {
  set[i / 64] |= uint64_t(1) << (i % 64);
}

std::vector<Block> makeBlocks(const Kernel &kernel) {
  const auto size = static_cast<uint32_t>(kernel.code.size());
  std::vector<bool> starts(size + 1, false);
  starts[0] = true;
  for (uint32_t i = 0; i < size; ++i) {
    const Inst &inst = kernel.code[i];
    if (inst.op == Op::Branch)
      starts[inst.target] = true;
    if (inst.op == Op::BranchIndexed)
      for (uint32_t target : kernel.branchTables[inst.target])
        starts[target] = true;
    if (inst.op == Op::Branch || inst.op == Op::BranchIndexed ||
        inst.op == Op::Exit || inst.op == Op::Trap)
      starts[i + 1] = true;
  }
  std::vector<Block> blocks;
  std::vector<uint32_t> blockOf(size + 1, 0);
  for (uint32_t i = 0; i < size; ++i) {
    if (starts[i]) {
      blocks.emplace_back();
      blocks.back().begin = i;
    }
    blocks.back().end = i + 1;
    blockOf[i] = static_cast<uint32_t>(blocks.size() - 1);
  }
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    const Inst &last = kernel.code[blocks[b].end - 1];
    bool fallsThrough = true;
    if (last.op == Op::Branch) {
      if (last.target < size)
        blocks[b].successors.push_back(blockOf[last.target]);
      fallsThrough = last.guard >= 0;
    } else if (last.op == Op::BranchIndexed) {
      for (uint32_t target : kernel.branchTables[last.target])
        if (target < size)
          blocks[b].successors.push_back(blockOf[target]);
      fallsThrough = last.guard >= 0;
    } else if (last.op == Op::Exit || last.op == Op::Trap) {
      fallsThrough = last.guard >= 0;
    }
    if (fallsThrough && b + 1 < blocks.size())
      blocks[b].successors.push_back(b + 1);
  }
  return blocks;
}

} // namespace

void allocateRegisters(Kernel &kernel, uint32_t numVregs,
                       const std::vector<uint8_t> &vregBytes,
                       uint32_t numVpreds,
                       const std::vector<std::string> &vregNames) {
  // Predicates are numbered behind the registers.
  const uint32_t total = numVregs + numVpreds;
  const size_t words = (total + 63) / 64;
  auto id = [&](const Ref &ref) {
    return ref.kind == Ref::Pred ? numVregs + ref.vreg : ref.vreg;
  };
  auto isPlace = [](const Ref &ref) {
    return ref.kind == Ref::Reg || ref.kind == Ref::Pred;
  };

  std::vector<Block> blocks = makeBlocks(kernel);
  for (Block &block : blocks) {
    block.use.assign(words, 0);
    block.def.assign(words, 0);
    block.in.assign(words, 0);
    block.out.assign(words, 0);
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const Inst &inst = kernel.code[i];
      if (inst.guard >= 0 && !testBit(block.def, numVregs + inst.guard))
        setBit(block.use, numVregs + inst.guard);
      for (unsigned r = 0; r < inst.numRefs; ++r) {
        const Ref &ref = kernel.refs[inst.firstRef + r];
        if (isPlace(ref) && !ref.isDef && !testBit(block.def, id(ref)))
          setBit(block.use, id(ref));
      }
      if (inst.op == Op::Wgmma) // reads its accumulators, too
        for (unsigned r = 0; r < inst.numRefs; ++r) {
          const Ref &ref = kernel.refs[inst.firstRef + r];
          if (isPlace(ref) && ref.isDef && !testBit(block.def, id(ref)))
            setBit(block.use, id(ref));
        }
      if (inst.guard < 0) // a guarded write keeps the other lanes' values
        for (unsigned r = 0; r < inst.numRefs; ++r) {
          const Ref &ref = kernel.refs[inst.firstRef + r];
          if (isPlace(ref) && ref.isDef)
            setBit(block.def, id(ref));
        }
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      for (uint32_t successor : block->successors)
        for (size_t w = 0; w < words; ++w)
          block->out[w] |= blocks[successor].in[w];
      for (size_t w = 0; w < words; ++w) {
        uint64_t in = block->use[w] | (block->out[w] & ~block->def[w]);
        changed |= in != block->in[w];
        block->in[w] = in;
      }
    }
  }

  // Registers that hold a value at the entry although nothing wrote them: some
  // path may read them undefined. Moves carry that on.
  std::vector<uint64_t> tracked = blocks[0].in;
  for (const EntryValue &value : kernel.entryValues)
    tracked[value.vreg / 64] &= ~(uint64_t(1) << (value.vreg % 64));
  for (bool changed = true; changed;) {
    changed = false;
    for (const Inst &inst : kernel.code) {
      if (inst.op != Op::Move)
        continue;
      const Ref *refs = kernel.refs.data() + inst.firstRef;
      if (refs[1].kind == Ref::Reg && testBit(tracked, refs[1].vreg) &&
          !testBit(tracked, refs[0].vreg)) {
        setBit(tracked, refs[0].vreg);
        changed = true;
      }
    }
  }
  std::vector<uint16_t> trackedIndex(numVregs, 0);
  for (uint32_t v = 0; v < numVregs && kernel.numTracked < 65535; ++v)
    if (testBit(tracked, v)) {
      trackedIndex[v] = static_cast<uint16_t>(++kernel.numTracked);
      kernel.trackedNames.push_back(vregNames[v]);
    }
  for (Inst &inst : kernel.code)
    for (unsigned r = 0; r < inst.numRefs; ++r) {
      Ref &ref = kernel.refs[inst.firstRef + r];
      if (ref.kind == Ref::Reg && trackedIndex[ref.vreg]) {
        ref.tracked = trackedIndex[ref.vreg];
        inst.flags |= inst::tracksDefined;
      }
    }

  std::vector<Interval> intervals(total);
  for (const Block &block : blocks)
    for (uint32_t v = 0; v < total; ++v) {
      if (testBit(block.in, v))
        intervals[v].extend(2 * block.begin);
      if (testBit(block.out, v))
        intervals[v].extend(2 * block.end);
    }
  // Reads end at an even position, writes begin at the odd one behind it: a
  // destination may take over the place of a source that ends here.
  for (uint32_t i = 0; i < kernel.code.size(); ++i) {
    const Inst &inst = kernel.code[i];
    if (inst.guard >= 0)
      intervals[numVregs + inst.guard].extend(2 * i);
    // Only elementwise operations on values of one size may write in place.
    bool inPlace =
        inst.op == Op::Lane || inst.op == Op::Select || inst.op == Op::Move;
    unsigned defs = 0, bytes = 0;
    for (unsigned r = 0; r < inst.numRefs; ++r) {
      const Ref &ref = kernel.refs[inst.firstRef + r];
      defs += ref.isDef;
      if (ref.kind != Ref::Reg)
        continue;
      inPlace &= bytes == 0 || bytes == ref.bytes;
      bytes = ref.bytes;
    }
    inPlace &= defs == 1;
    for (unsigned r = 0; r < inst.numRefs; ++r) {
      const Ref &ref = kernel.refs[inst.firstRef + r];
      if (!isPlace(ref))
        continue;
      intervals[id(ref)].extend(2 * i + (ref.isDef && inPlace ? 1 : 0));
      intervals[id(ref)].extend(2 * i + (ref.isDef || !inPlace ? 1 : 0));
    }
    if (inst.op == Op::Wgmma)
      for (unsigned r = 0; r < inst.numRefs; ++r) {
        const Ref &ref = kernel.refs[inst.firstRef + r];
        if (ref.kind == Ref::Reg && (ref.isDef || ref.bytes == 4)) {
          intervals[id(ref)].extend(0);
          intervals[id(ref)].extend(
              2 * static_cast<uint32_t>(kernel.code.size()) + 1);
        }
      }
  }
  for (const EntryValue &value : kernel.entryValues)
    intervals[value.vreg].extend(0);

  // Linear scan, one pool of places per size.
  std::vector<uint32_t> order;
  for (uint32_t v = 0; v < total; ++v)
    if (intervals[v].isUsed())
      order.push_back(v);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return intervals[a].begin != intervals[b].begin
               ? intervals[a].begin < intervals[b].begin
               : a < b;
  });
  struct Pool {
    std::vector<uint32_t> freePlaces;
    uint32_t count = 0;
    std::vector<std::pair<uint32_t, uint32_t>>
        active; ///< heap of (end, place), least end first
  };
  Pool pools[3]; // 32-bit, 64-bit, predicates
  std::vector<uint32_t> place(total, 0);
  auto later = [](const std::pair<uint32_t, uint32_t> &a,
                  const std::pair<uint32_t, uint32_t> &b) { return a > b; };
  auto poolOf = [&](uint32_t v) {
    return v >= numVregs ? 2u : vregBytes[v] > 4 ? 1u : 0u;
  };
  for (uint32_t v : order) {
    for (Pool &pool : pools)
      while (!pool.active.empty() &&
             pool.active.front().first < intervals[v].begin) {
        pool.freePlaces.push_back(pool.active.front().second);
        std::pop_heap(pool.active.begin(), pool.active.end(), later);
        pool.active.pop_back();
      }
    Pool &pool = pools[poolOf(v)];
    if (pool.freePlaces.empty())
      pool.freePlaces.push_back(pool.count++);
    place[v] = pool.freePlaces.back();
    pool.freePlaces.pop_back();
    pool.active.emplace_back(intervals[v].end, place[v]);
    std::push_heap(pool.active.begin(), pool.active.end(), later);
    kernel.peakRegisters =
        std::max(kernel.peakRegisters,
                 static_cast<uint32_t>(pools[0].active.size() +
                                       2 * pools[1].active.size()));
  }

  constexpr uint32_t slot32 = 32 * 4, slot64 = 32 * 8;
  const uint32_t base64 =
      (pools[0].count * slot32 + slot64 - 1) / slot64 * slot64;
  auto offsetOf = [&](uint32_t v) {
    switch (poolOf(v)) {
    case 0:
      return place[v] * slot32;
    case 1:
      return base64 + place[v] * slot64;
    default:
      return place[v];
    }
  };
  kernel.registerBytes = base64 + pools[1].count * slot64;
  kernel.numPredicates = pools[2].count;
  for (Ref &ref : kernel.refs)
    if (isPlace(ref))
      ref.offset = offsetOf(id(ref));
  for (Inst &inst : kernel.code)
    if (inst.guard >= 0)
      inst.guard = static_cast<int32_t>(offsetOf(numVregs + inst.guard));
  for (EntryValue &value : kernel.entryValues)
    value.offset = offsetOf(value.vreg);

  // Who uses registers of products must be seen by wgmma.fence.
  std::vector<bool> ofProducts(kernel.registerBytes / slot32 + 1, false);
  for (const Inst &inst : kernel.code)
    for (unsigned r = 0; inst.op == Op::Wgmma && r < inst.numRefs; ++r)
      if (kernel.refs[inst.firstRef + r].kind == Ref::Reg &&
          kernel.refs[inst.firstRef + r].bytes == 4)
        ofProducts[kernel.refs[inst.firstRef + r].offset / slot32] = true;
  for (Inst &inst : kernel.code)
    for (unsigned r = 0; inst.op != Op::Wgmma && r < inst.numRefs; ++r) {
      const Ref &ref = kernel.refs[inst.firstRef + r];
      if (ref.kind == Ref::Reg && ofProducts[ref.offset / slot32])
        inst.flags |= inst::usesWgmmaRegister;
    }
}

} // namespace backfuse::emulator
