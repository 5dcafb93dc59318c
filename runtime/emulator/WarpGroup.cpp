//===- WarpGroup.cpp - wgmma ----------------------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Products are recorded when they are issued and computed when a wait asks for
// them: until then the accumulators hold old values and shared memory must stay
// as it is. A product needs all four warps of the warpgroup, so a wait first
// lets the others issue theirs.
//
// Operands are read through the descriptor: PTX ISA, "Matrix descriptor", and
// the canonical layouts of "Asynchronous warpgroup level matrix instructions".
// Rows of 16 bytes are contiguous in every layout, with or without swizzle.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

#include <algorithm>

namespace backfuse::emulator {

namespace {

struct Descriptor {
  uint32_t start, leading, stride;
  MapSwizzle swizzle;
  uint32_t span; ///< bytes of a swizzled row; 16 without swizzle
};

/// Empty, or what is wrong with a descriptor.
std::string decodeDescriptor(uint64_t bits, Descriptor &descriptor) {
  descriptor.start = static_cast<uint32_t>(bits & 0x3fff) << 4;
  descriptor.leading = static_cast<uint32_t>(bits >> 16 & 0x3fff) << 4;
  descriptor.stride = static_cast<uint32_t>(bits >> 32 & 0x3fff) << 4;
  constexpr uint64_t reserved = uint64_t(3) << 14 | uint64_t(3) << 30 |
                                uint64_t(7) << 46 | uint64_t(0x3ff) << 52;
  if (bits & reserved)
    return "reserved bits are set";
  if (bits >> 49 & 7)
    return "a base offset other than 0 is not supported by the emulator";
  switch (bits >> 62) {
  case 0:
    descriptor.swizzle = MapSwizzle::None;
    descriptor.span = 16;
    break;
  case 1:
    descriptor.swizzle = MapSwizzle::B128;
    descriptor.span = 128;
    break;
  case 2:
    descriptor.swizzle = MapSwizzle::B64;
    descriptor.span = 64;
    break;
  default:
    descriptor.swizzle = MapSwizzle::B32;
    descriptor.span = 32;
    break;
  }
  return {};
}

/// The address of the 16 bytes that begin at element (mn, k).
uint32_t chunkAddress(const Descriptor &d, bool kMajor, uint32_t mn, uint32_t k,
                      uint32_t elementBytes) {
  uint32_t address = d.start;
  if (kMajor) {
    uint32_t kBytes = k * elementBytes;
    if (d.swizzle == MapSwizzle::None)
      address += mn / 8 * d.stride + kBytes / 16 * d.leading + mn % 8 * 16 +
                 kBytes % 16;
    else
      address += mn / 8 * d.stride + mn % 8 * d.span + kBytes;
  } else {
    uint32_t mnBytes = mn * elementBytes;
    if (d.swizzle == MapSwizzle::None)
      address += mnBytes / 16 * d.stride + k / 8 * d.leading + k % 8 * 16 +
                 mnBytes % 16;
    else
      address += mnBytes / d.span * d.leading + k / 8 * d.stride +
                 k % 8 * d.span + mnBytes % d.span;
  }
  return swizzled(d.swizzle, address);
}

/// Empty, or why no operand of this extent can lie so.
std::string whyIllegal(const Descriptor &d, bool kMajor, uint32_t extent,
                       uint32_t k, uint32_t elementBytes) {
  const uint32_t kBytes = k * elementBytes, mnBytes = extent * elementBytes;
  if (d.swizzle == MapSwizzle::None) {
    if (kMajor ? d.leading == 0 : d.stride == 0 && mnBytes > 16)
      return kMajor ? "LBO, the step between 16-byte columns of K, is 0"
                    : "SBO, the step between 16-byte columns of MN, is 0";
    if (kMajor ? d.stride == 0 && extent > 8 : d.leading == 0 && k > 8)
      return kMajor ? "SBO, the step between groups of 8 rows, is 0"
                    : "LBO, the step between groups of 8 K, is 0";
    return {};
  }
  const uint32_t period = 8 * d.span;
  if (d.start % period >= 128)
    return "the start address " + hex(d.start) +
           " is not at the beginning of a swizzle pattern of " +
           std::to_string(period) + " bytes, and the base offset is 0";
  if (d.stride % period)
    return "SBO " + std::to_string(d.stride) +
           " is not a multiple of the swizzle pattern's " +
           std::to_string(period) + " bytes";
  if (kMajor) {
    if (d.start % d.span + kBytes > d.span)
      return "K leaves the row of " + std::to_string(d.span) + " bytes";
    if (d.stride == 0 && extent > 8)
      return "SBO, the step between groups of 8 rows, is 0";
    return {};
  }
  if (d.start % d.span)
    return "the start address " + hex(d.start) + " is inside a panel of " +
           std::to_string(d.span) + " bytes";
  if (mnBytes > d.span && (d.leading == 0 || d.leading % period))
    return "LBO " + std::to_string(d.leading) +
           ", the step between panels, is not a positive multiple of " +
           std::to_string(period);
  if (k > 8 && d.stride == 0)
    return "SBO, the step between groups of 8 K, is 0";
  return {};
}

float toFloat(const uint8_t *from, Type type) {
  if (type == Type::TF32) {
    uint32_t bits;
    std::memcpy(&bits, from, 4);
    bits &= ~0x1fffu; // the low 13 bits are ignored
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, from, 2);
  return type == Type::BF16 ? bf16ToFloat(half) : 0.0f;
}

/// 16 bytes as floats.
void widen(const uint8_t *from, Type type, bool negate, float *to) {
  if (type == Type::BF16) {
    for (unsigned i = 0; i < 8; ++i) {
      uint16_t half;
      std::memcpy(&half, from + 2 * i, 2);
      uint32_t bits = static_cast<uint32_t>(half) << 16;
      std::memcpy(to + i, &bits, 4);
    }
  } else if (type == Type::F16) {
    for (unsigned i = 0; i < 8; ++i) {
      uint16_t h;
      std::memcpy(&h, from + 2 * i, 2);
      uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16,
               body = h & 0x7fffu;
      float small = static_cast<float>(static_cast<int32_t>(body)) *
                    5.9604644775390625e-8f;
      uint32_t smallBits;
      std::memcpy(&smallBits, &small, 4);
      uint32_t bits =
          body < 0x400u
              ? smallBits
              : (body << 13) + (body >= 0x7c00u ? 0x70000000u : 0x38000000u);
      bits |= sign;
      std::memcpy(to + i, &bits, 4);
    }
  } else {
    for (unsigned i = 0; i < 4; ++i)
      to[i] = toFloat(from + 4 * i, type);
  }
  if (negate)
    for (unsigned i = 0; i < 16 / (type == Type::TF32 ? 4u : 2u); ++i)
      to[i] = -to[i];
}

/// Where column n stands in a row of the panel of B: even columns of eight,
/// then the odd ones.
unsigned panelColumn(unsigned n) {
  return (n & ~7u) | (n & 1) << 2 | (n & 7) >> 1;
}

} // namespace

/// Calls f(address) for each 16 bytes of an operand in shared memory.
template <class F>
bool Executor::forEachOperandChunk(Warp &, const Product &product, bool isA,
                                   F f) {
  const Inst &inst = *product.inst;
  if (isA && (inst.flags & inst::aInRegisters))
    return true;
  Descriptor descriptor;
  (void)decodeDescriptor(isA ? product.descA : product.descB, descriptor);
  bool kMajor = !(inst.flags & (isA ? inst::transposeA : inst::transposeB));
  unsigned elementBytes = inst.type == Type::TF32 ? 4 : 2;
  unsigned perChunk = 16 / elementBytes, extent = isA ? 64 : inst.shapeN,
           k = inst.count;
  unsigned outer = kMajor ? extent : k, inner = kMajor ? k : extent;
  for (unsigned o = 0; o < outer; ++o)
    for (unsigned i = 0; i < inner; i += perChunk)
      if (!f(chunkAddress(descriptor, kMajor, kMajor ? o : i, kMajor ? i : o,
                          elementBytes)))
        return false;
  return true;
}

/// Whether an operand's descriptor is legal and stays in shared memory.
bool Executor::checkDescriptor(Warp &warp, const Product &product, bool isA) {
  const Inst &inst = *product.inst;
  if (isA && (inst.flags & inst::aInRegisters))
    return true;
  uint64_t bits = isA ? product.descA : product.descB;
  std::string prefix = "descriptor " + hex(bits) + (isA ? " of A" : " of B");
  Descriptor descriptor;
  std::string wrong = decodeDescriptor(bits, descriptor);
  if (wrong.empty() && isOn(Check::Descriptor))
    wrong = whyIllegal(
        descriptor, !(inst.flags & (isA ? inst::transposeA : inst::transposeB)),
        isA ? 64 : inst.shapeN, inst.count, inst.type == Type::TF32 ? 4 : 2);
  if (!wrong.empty()) {
    fail(warp, inst, -1, prefix + ": " + wrong);
    return false;
  }
  const Cta &cta = *warp.cta;
  return forEachOperandChunk(warp, product, isA, [&](uint32_t address) {
    if (address >= sharedBase && address + 16 <= cta.smemEnd)
      return true;
    fail(warp, inst, -1,
         prefix + " reaches shared address " + hex(address) +
             ", out of bounds: shared memory is " + hex(sharedBase) + " to " +
             hex(cta.smemEnd));
    return false;
  });
}

bool Executor::issueProduct(Warp &warp, const Inst &inst) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  if (inst.op == Op::WgmmaCommit) {
    warp.commits.push_back(warp.issued);
  } else {
    Product product;
    product.inst = &inst;
    unsigned at = inst.shapeN / 2u;
    if (inst.flags & inst::aInRegisters) {
      at += 4;
    } else {
      product.descA = value(warp, refs[at], 0);
      ++at;
    }
    product.descB = value(warp, refs[at], 0);
    product.accumulate = predicate(warp, refs[at + 1]) & 1;
    // One warp speaks for its warpgroup; that the others' are equal is seen
    // when the product is computed.
    if (warp.index % 4 == 0 && (!checkDescriptor(warp, product, true) ||
                                !checkDescriptor(warp, product, false)))
      return false;
    if (checks && !checkProductIssue(warp, inst, product))
      return false;
    warp.products.push_back(product);
    ++warp.issued;
  }
  // Others of the warpgroup may wait for this.
  unsigned first = warp.index & ~3u;
  for (unsigned w = first;
       w < std::min<size_t>(first + 4, warp.cta->warps.size()); ++w)
    for (Fragment &fragment : warp.cta->warps[w]->fragments)
      if (fragment.wait == Wait::WarpgroupPeers)
        wake(*warp.cta->warps[w], fragment);
  progress(warp);
  return true;
}

/// wgmma.wait_group n: all but the n newest groups are complete.
bool Executor::wgmmaWait(Warp &warp, Fragment &fragment, const Inst &inst) {
  auto keep = static_cast<size_t>(inst.imm);
  if (warp.commits.size() <= keep)
    return true;
  uint64_t until = warp.commits[warp.commits.size() - keep - 1];
  if (until > warp.executed) {
    unsigned first = warp.index & ~3u;
    if (first + 4 > warp.cta->warps.size()) {
      fail(warp, inst, -1, "wgmma needs a warpgroup of four warps");
      return false;
    }
    for (unsigned w = first; w < first + 4; ++w)
      if (warp.cta->warps[w]->issued < until) {
        fragment.wait = Wait::WarpgroupPeers;
        return false;
      }
    if (!executeProducts(warp, until))
      return false;
  }
  warp.commits.erase(warp.commits.begin(),
                     warp.commits.end() - static_cast<long>(keep));
  return true;
}

/// Computes all products of the warpgroup up to number `until`.
bool Executor::executeProducts(Warp &anyWarp, uint64_t until) {
  Cta &cta = *anyWarp.cta;
  unsigned first = anyWarp.index & ~3u;
  Warp *warps[4];
  for (unsigned w = 0; w < 4; ++w)
    warps[w] = cta.warps[first + w].get();
  while (warps[0]->executed < until) {
    // A run of products on the same accumulators is one product of longer K.
    std::vector<Product> run;
    const Inst *head = warps[0]->products.front().inst;
    for (const Product &product : warps[0]->products) {
      if (warps[0]->executed + run.size() >= until || run.size() == 8)
        break;
      const Inst *inst = product.inst;
      bool same = inst->shapeN == head->shapeN && inst->type == head->type;
      for (unsigned r = 0; same && r < inst->shapeN / 2u; ++r)
        same = kernel.refs[inst->firstRef + r].offset ==
               kernel.refs[head->firstRef + r].offset;
      if (!same || (!run.empty() && !product.accumulate))
        break;
      run.push_back(product);
    }
    const unsigned n = head->shapeN, k = head->count;
    const unsigned elementBytes = head->type == Type::TF32 ? 4 : 2,
                   perChunk = 16 / elementBytes;
    const unsigned totalK = k * static_cast<unsigned>(run.size());
    panelB.resize(static_cast<size_t>(totalK) * n);
    panelA.resize(static_cast<size_t>(totalK) * 64 * 4);
    for (unsigned p = 0; p < run.size(); ++p) {
      const Inst &inst = *run[p].inst;
      for (unsigned w = 1; w < 4; ++w) {
        const Product &other = warps[w]->products[p];
        if (other.inst->source != inst.source || other.descA != run[p].descA ||
            other.descB != run[p].descB ||
            other.accumulate != run[p].accumulate) {
          fail(*warps[w], *other.inst, -1,
               "the warps of a warpgroup issue different products: "
               "descriptors " +
                   hex(other.descA) + ", " + hex(other.descB) + ", but warp " +
                   std::to_string(first) + " has " + hex(run[p].descA) + ", " +
                   hex(run[p].descB) + " at PTX line " +
                   std::to_string(kernel.lines[inst.source]));
          return false;
        }
      }
      auto gather = [&](uint64_t bits, bool kMajor, unsigned extent,
                        bool negate, auto store) {
        Descriptor descriptor;
        (void)decodeDescriptor(bits, descriptor);
        float values[8];
        unsigned outer = kMajor ? extent : k, inner = kMajor ? k : extent;
        for (unsigned o = 0; o < outer; ++o)
          for (unsigned i = 0; i < inner; i += perChunk) {
            uint32_t address = chunkAddress(descriptor, kMajor, kMajor ? o : i,
                                            kMajor ? i : o, elementBytes);
            widen(cta.smem.data() + address, head->type, negate, values);
            for (unsigned e = 0; e < perChunk; ++e)
              store(kMajor ? o : i + e, kMajor ? i + e : o, values[e]);
          }
      };
      float *b = panelB.data() + static_cast<size_t>(p) * k * n;
      gather(run[p].descB, !(inst.flags & inst::transposeB), n,
             inst.flags & inst::negateB,
             [&](unsigned mn, unsigned kk, float x) {
               b[kk * n + panelColumn(mn)] = x;
             });
      // Per warp, k and half: the values of the 32 lanes' rows.
      auto storeA = [&](unsigned row, unsigned kk, float x) {
        float *a = panelA.data() + static_cast<size_t>(row / 16) * totalK * 64 +
                   static_cast<size_t>(p * k + kk) * 64 + (row % 16) * 4;
        a[0] = a[1] = a[2] = a[3] = x;
      };
      if (inst.flags & inst::aInRegisters) {
        for (unsigned w = 0; w < 4; ++w)
          for (unsigned r = 0; r < 4; ++r) {
            const auto *words = reinterpret_cast<const uint32_t *>(
                source(*warps[w], kernel.refs[inst.firstRef + n / 2 + r]));
            for (unsigned t = 0; t < 32; ++t) {
              unsigned row = 16 * w + t / 4 + 8 * (r & 1);
              float sign = inst.flags & inst::negateA ? -1.0f : 1.0f;
              if (elementBytes == 4) {
                uint8_t bytes[4];
                std::memcpy(bytes, words + t, 4);
                storeA(row, t % 4 + 4 * (r / 2),
                       sign * toFloat(bytes, Type::TF32));
              } else {
                float values[8];
                uint8_t bytes[16] = {};
                std::memcpy(bytes, words + t, 4);
                widen(bytes, head->type, false, values);
                storeA(row, 2 * (t % 4) + 8 * (r / 2), sign * values[0]);
                storeA(row, 2 * (t % 4) + 1 + 8 * (r / 2), sign * values[1]);
              }
            }
          }
      } else {
        gather(run[p].descA, !(inst.flags & inst::transposeA), 64,
               inst.flags & inst::negateA, storeA);
      }
      if (checks)
        endProductReads(*warps[0], run[p]);
      ++counts.tensorInstructions;
      counts.tensorOperations += 2.0 * 64 * n * k;
    }
    for (unsigned w = 0; w < 4; ++w) {
      float *d[128];
      for (unsigned r = 0; r < n / 2; ++r)
        d[r] = reinterpret_cast<float *>(
            place(*warps[w], kernel.refs[head->firstRef + r]));
      table.mma(d, panelA.data() + static_cast<size_t>(w) * totalK * 64,
                panelB.data(), n, totalK, !run[0].accumulate);
      warps[w]->products.erase(warps[w]->products.begin(),
                               warps[w]->products.begin() +
                                   static_cast<long>(run.size()));
      warps[w]->executed += run.size();
      if (checks)
        updatePending(*warps[w]);
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

bool Executor::checkProductIssue(Warp &warp, const Inst &inst,
                                 const Product &product) {
  const Ref *refs = kernel.refs.data() + inst.firstRef;
  unsigned numD = inst.shapeN / 2u;
  unsigned numA = inst.flags & inst::aInRegisters ? 4 : 0;
  for (unsigned r = 0; r < numD + numA; ++r) {
    uint32_t slot = refs[r].offset / 128;
    bool isA = r >= numD;
    if (hasBit(warp.touched, slot) &&
        reports(Check::ProductFence, warp, inst, -1,
                "no wgmma.fence came since " +
                    std::string(isA ? "a register of A" : "an accumulator") +
                    " was used by another instruction (or since the kernel "
                    "began)"))
      return false;
    if (hasBit(warp.pendingD, slot)) {
      // Only products of one shape on the same accumulators follow each other
      // without a wait.
      const Inst &before = *warp.products.front().inst;
      const Ref *beforeRefs = kernel.refs.data() + before.firstRef;
      if (isA || before.shapeN != inst.shapeN || before.type != inst.type ||
          beforeRefs[r].offset != refs[r].offset) {
        bool isOther = isA;
        for (const Product &other : warp.products) {
          const Ref *otherRefs = kernel.refs.data() + other.inst->firstRef;
          bool same = other.inst->shapeN == inst.shapeN &&
                      otherRefs[0].offset == refs[0].offset;
          for (unsigned d = 0; d < other.inst->shapeN / 2u && !same; ++d)
            isOther |= otherRefs[d].offset == refs[r].offset;
        }
        if (isOther &&
            reports(Check::ProductRegisters, warp, inst, -1,
                    std::string(isA ? "A" : "D") +
                        " is an accumulator of another shape's product in "
                        "flight"))
          return false;
      }
    }
    if (hasBit(warp.pendingA, slot) && !isA &&
        reports(Check::ProductRegisters, warp, inst, -1,
                "an accumulator is a register of A of a product in flight"))
      return false;
  }
  for (unsigned r = 0; r < numD; ++r)
    addBit(warp.pendingD, refs[r].offset / 128);
  for (unsigned r = numD; r < numD + numA; ++r)
    addBit(warp.pendingA, refs[r].offset / 128);
  if (warp.index % 4)
    return true; // one warp speaks for the warpgroup's shared memory
  auto read = [&](uint32_t address) {
    return checkAsyncRead(warp, inst, -1, *warp.cta, address, 16, true, true);
  };
  return forEachOperandChunk(warp, product, true, read) &&
         forEachOperandChunk(warp, product, false, read);
}

void Executor::endProductReads(Warp &warp, const Product &product) {
  if (warp.index % 4)
    return;
  auto end = [&](uint32_t address) {
    endAsyncRead(*warp.cta, address, 16);
    return true;
  };
  forEachOperandChunk(warp, product, true, end);
  forEachOperandChunk(warp, product, false, end);
}

} // namespace backfuse::emulator
