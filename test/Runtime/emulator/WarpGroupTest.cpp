//===- WarpGroupTest.cpp - wgmma through every operand layout -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Operands are laid into shared memory by the rules of the manual's canonical
// layouts, written out here atom by atom, and the product is compared with a
// plain triple loop over small integers, bit by bit.
//===----------------------------------------------------------------------===//
#include "OperandLayouts.h"
#include "TestKernel.h"

#include <cstring>
#include <random>

using namespace backfuse::emulator;
using namespace backfuse::emulator::test;

namespace {

struct Case {
  Type type;
  unsigned n;
  Layout a, b;
  bool aInRegisters = false;
  bool negateA = false, negateB = false;
};

void check(const Case &test) {
  const bool isTf32 = test.type == Type::TF32;
  const unsigned k = isTf32 ? 8 : 16, n = test.n, elementBytes = isTf32 ? 4 : 2;
  std::mt19937 random(n + k);
  std::vector<float> a(64 * k), b(n * k);
  std::vector<uint32_t> aBits(64 * k), bBits(n * k);
  for (size_t i = 0; i < a.size(); ++i)
    aBits[i] =
        encode(test.type,
               a[i] = static_cast<float>(static_cast<int>(random() % 17) - 8));
  for (size_t i = 0; i < b.size(); ++i)
    bBits[i] =
        encode(test.type,
               b[i] = static_cast<float>(static_cast<int>(random() % 17) - 8));
  std::vector<uint8_t> image(1024);
  uint64_t descA =
      layOutOperand(test.a, 64, k, elementBytes, 1024, 0, image, aBits);
  uint64_t descB =
      layOutOperand(test.b, n, k, elementBytes,
                    static_cast<uint32_t>((image.size() + 1023) / 1024 * 1024),
                    0, image, bBits);
  image.resize((image.size() + 2047) / 2048 * 2048);

  std::string d, body = ".reg .f32 %d<" + std::to_string(n / 2) + ">;\n";
  for (unsigned i = 0; i < n / 2; ++i) {
    d += (i ? ", %d" : "%d") + std::to_string(i);
    body += "mov.f32 %d" + std::to_string(i) +
            ", 0f40000000;\n"; // accumulates onto 2
  }
  std::string type = typeName(test.type);
  std::string scales = std::string(test.negateA ? ", -1" : ", 1") +
                       (test.negateB ? ", -1" : ", 1");
  std::string transposes;
  if (!isTf32)
    transposes = (test.aInRegisters ? ""
                  : test.a.kMajor   ? ", 0"
                                    : ", 1") +
                 std::string(test.b.kMajor ? ", 0" : ", 1");
  body += R"(
    ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.u64 %rd3, [p2]; ld.param.u64 %rd4, [p3];
    ld.param.u32 %r10, [p4]; ld.param.u64 %rd9, [p5];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 4;
    cvt.u64.u32 %rd5, %r2;
    add.u64 %rd1, %rd1, %rd5;
    mov.u32 %r3, smem; add.u32 %r3, %r3, %r2;
    mov.u32 %r4, 1024;
COPY:
    ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd1+1024];
    st.shared.v4.b32 [%r3], {%r5, %r6, %r7, %r8};
    add.u32 %r3, %r3, 2048; add.u64 %rd1, %rd1, 2048; add.u32 %r4, %r4, 2048;
    setp.lt.u32 %p1, %r4, %r10;
    @%p1 bra COPY;
    mul.wide.u32 %rd10, %r1, 16; add.u64 %rd9, %rd9, %rd10;
    ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd9];
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.eq.u32 %p2, %r1, %r1;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n)" +
          std::to_string(n) + "k" + std::to_string(k) + ".f32." + type + "." +
          type + " {" + d + "}, " +
          (test.aInRegisters ? "{%r5, %r6, %r7, %r8}" : "%rd2") +
          ", %rd3, %p2" + scales + transposes + R"(;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    mul.wide.u32 %rd6, %r1, )" +
          std::to_string(n * 2) + ";\nadd.u64 %rd4, %rd4, %rd6;\n";
  for (unsigned i = 0; i < n / 2; ++i)
    body += "st.global.f32 [%rd4+" + std::to_string(4 * i) + "], %d" +
            std::to_string(i) + ";\n";
  body += "ret;";

  TestKernel kernel;
  kernel.load(
      kernelText(body, 6, "", ".extern .shared .align 1024 .b8 smem[];"));
  kernel.shape.block = {128, 1, 1};
  kernel.shape.dynamicSmemBytes = static_cast<uint32_t>(image.size());
  // A's fragment for the form with registers, as the manual's figures have it.
  std::vector<uint32_t> fragment(128 * 4);
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned r = 0; r < 4; ++r) {
      unsigned row = thread / 32 * 16 + thread % 32 / 4 + (r % 2) * 8;
      if (isTf32) {
        fragment[thread * 4 + r] = aBits[row * k + thread % 4 + (r / 2) * 4];
      } else {
        unsigned kk = 2 * (thread % 4) + (r / 2) * 8;
        fragment[thread * 4 + r] = aBits[row * k + kk] | aBits[row * k + kk + 1]
                                                             << 16;
      }
    }
  uint64_t imageAt = kernel.upload(image),
           out = kernel.upload(std::vector<float>(128 * n / 2)),
           fragments = kernel.upload(fragment);
  image.resize(image.size() + 1024); // the loop reads from +1024
  ASSERT_FALSE(kernel.machine.release(imageAt));
  imageAt = kernel.upload(image);
  kernel.runOk({kernel.number(imageAt), kernel.number(descA),
                kernel.number(descB), kernel.number(out),
                kernel.number(image.size() - 1024), kernel.number(fragments)});
  std::vector<float> result = kernel.download<float>(out, 128 * n / 2);
  float sign = test.negateA != test.negateB ? -1.0f : 1.0f;
  for (unsigned m = 0; m < 64; ++m)
    for (unsigned c = 0; c < n; ++c) {
      float expected = 2.0f;
      for (unsigned kk = 0; kk < k; ++kk)
        expected += sign * a[m * k + kk] * b[c * k + kk];
      // The accumulator's fragment.
      unsigned thread = m / 16 * 32 + m % 8 * 4 + c % 8 / 2;
      unsigned reg = c / 8 * 4 + (m % 16 / 8) * 2 + c % 2;
      ASSERT_EQ(result[thread * (n / 2) + reg], expected)
          << "m " << m << " n " << c;
    }
}

} // namespace

TEST(WarpGroup, ReadsEveryLayoutOfA) {
  for (const Layout &a : {kNone, k32, k64, k128, mnNone, mn32, mn64, mn128}) {
    SCOPED_TRACE("A: " + std::string(a.kMajor ? "K-major " : "MN-major ") +
                 std::to_string(a.span));
    check({Type::BF16, 64, a, k128});
  }
}

TEST(WarpGroup, ReadsEveryLayoutOfB) {
  for (const Layout &b : {kNone, k32, k64, k128, mnNone, mn32, mn64, mn128}) {
    SCOPED_TRACE("B: " + std::string(b.kMajor ? "K-major " : "MN-major ") +
                 std::to_string(b.span));
    check({Type::F16, 128, k128, b});
  }
}

TEST(WarpGroup, TakesEveryN) {
  for (unsigned n = 8; n <= 256; n += 8)
    check({Type::BF16, n, k64, kNone});
}

TEST(WarpGroup, MultipliesTf32WithoutItsLowBits) {
  for (const Layout &layout : {kNone, k32, k64, k128})
    check({Type::TF32, 40, layout, layout});
}

TEST(WarpGroup, TakesAFromRegisters) {
  for (Type type : {Type::BF16, Type::F16, Type::TF32})
    check({type, 96, k128, k128, true});
  check({Type::F16, 256, k128, mn128, true});
}

TEST(WarpGroup, NegatesOperands) {
  check({Type::BF16, 16, k128, k128, false, true, false});
  check({Type::BF16, 16, k128, k128, false, false, true});
  check({Type::F16, 16, k128, k128, true, true, true});
}
