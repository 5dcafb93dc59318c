//===- RareTest.cpp - Instructions of other compilers, exact values -------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Calls, carries, packed integers, video instructions, 8-bit floats, indexed
// branches, mma.sync, st.async, tensor maps that kernels make. Whole kernels
// that use them are in test/ThirdParty.
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

#include <cstring>

using namespace backfuse::emulator;
using namespace backfuse::emulator::test;

namespace {

/// Runs `body`, in which %rd1 is this lane's place in the output and %r1 its
/// index; 32 words.
std::vector<uint32_t> run(const std::string &body,
                          const std::string &moduleText = "",
                          std::string *error = nullptr) {
  TestKernel kernel;
  std::string text = kernelText(R"(
    ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
    mov.u64 %rd3, %rd1; add.u64 %rd1, %rd1, %rd2;
    )" + body + " ret;",
                                1, "", moduleText);
  if (Error failed = kernel.machine.loadPtx(text, kernel.module)) {
    if (error)
      *error = failed.text();
    else
      ADD_FAILURE() << failed.text();
    return {};
  }
  kernel.shape.block = {32, 1, 1};
  uint64_t out = kernel.machine.allocate(128, "out", true);
  std::vector<uint8_t> address(128);
  std::memcpy(address.data(), &out, 8);
  Error failed = kernel.run({address});
  if (error)
    *error = failed.text();
  else
    EXPECT_EQ(failed.text(), "") << body;
  std::vector<uint32_t> words(32);
  EXPECT_FALSE(kernel.machine.read(out, words.data(), 128));
  return words;
}

/// The word that lane 0 leaves in %r2.
uint32_t word(const std::string &body, const std::string &moduleText = "") {
  return run(body + " st.global.u32 [%rd1], %r2;", moduleText)[0];
}

const char *const functions = R"(
.func (.param .b32 out) twice(.param .b32 in) {
  .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.b32 %r1, [in];
  setp.gt.u32 %p1, %r1, 7;
  @%p1 bra BIG;
  add.u32 %r1, %r1, %r1;
  st.param.b32 [out], %r1;
  ret;
BIG: st.param.b32 [out], 100;
  ret;
}
.func (.param .b32 out) sum(.param .align 8 .b8 pair[16]) {
  .reg .b32 %r<4>;
  ld.param.b32 %r1, [pair]; ld.param.b32 %r2, [pair+12];
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), twice, (a); ld.param.b32 %r1, [b]; }
  add.u32 %r1, %r1, %r2;
  st.param.b32 [out], %r1;
  ret;
}
.func (.param .b32 out) forever(.param .b32 in) {
  { .param .b32 a; .param .b32 b; call (b), forever, (a); }
  ret;
}
)";

TEST(Rare, Calls) {
  std::vector<uint32_t> result = run(R"(
    { .param .b32 a; .param .b32 b;
      st.param.b32 [a], %r1; call.uni (b), twice, (a); ld.param.b32 %r2, [b]; }
    st.global.u32 [%rd1], %r2;)",
                                     functions);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(result[i], i > 7 ? 100 : 2 * i);
  // A structure by value, a call within a call, lanes that do not call.
  result = run(R"(
    mov.u32 %r2, 1; setp.lt.u32 %p1, %r1, 3;
    { .param .align 8 .b8 a[16]; .param .b32 b;
      st.param.b32 [a], %r1; st.param.b32 [a+12], 1000; @%p1 call (b), sum, (a);
      @%p1 ld.param.b32 %r2, [b]; }
    st.global.u32 [%rd1], %r2;)",
               functions);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(result[i], i < 3 ? 1000 + 2 * i : 1);
  std::string error;
  run("{ .param .b32 a; .param .b32 b; call (b), forever, (a); }", functions,
      &error);
  EXPECT_NE(error.find("'forever' calls itself"), std::string::npos) << error;
  run("{ .param .b32 a; call twice, (a); }", functions, &error);
  EXPECT_NE(error.find("1 parameters and 1 results"), std::string::npos)
      << error;
  run("{ .param .b32 a; call (a), nowhere; }",
      ".extern .func (.param .b32 out) nowhere();", &error);
  EXPECT_NE(error.find("'nowhere' has no body"), std::string::npos) << error;
}

TEST(Rare, IndexedBranches) {
  std::vector<uint32_t> result = run(R"(
    and.b32 %r3, %r1, 3;
    T: .branchtargets A, B, C, A;
    brx.idx %r3, T;
A:  mov.u32 %r2, 10; bra END;
B:  mov.u32 %r2, 20; bra END;
C:  mov.u32 %r2, 30;
END: bar.warp.sync -1;
    st.global.u32 [%rd1], %r2;)");
  const uint32_t want[] = {10, 20, 30, 10};
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(result[i], want[i & 3]);
  std::string error;
  run("T: .branchtargets A; brx.idx %r1, T; A: ", "", &error);
  EXPECT_NE(error.find("index 1 is beyond the list of 1"), std::string::npos)
      << error;
  run("brx.idx %r1, T;", "", &error);
  EXPECT_NE(error.find("unknown list of targets 'T'"), std::string::npos);
}

TEST(Rare, Carries) {
  // 2^64 - 1 + 1 in two halves; the destination is a source, too.
  EXPECT_EQ(word("mov.u32 %r2, 0xffffffff; mov.u32 %r3, 5;"
                 "add.cc.u32 %r2, %r2, 1; addc.u32 %r2, %r3, %r2;"),
            6u);
  EXPECT_EQ(word("mov.u32 %r3, 3; add.cc.u32 %r4, %r3, 4; addc.u32 %r2, 1, 1;"),
            2u);
  // A borrow that travels through.
  EXPECT_EQ(word("sub.cc.u32 %r3, 0, 1; subc.cc.u32 %r3, 0, 0;"
                 "subc.u32 %r2, 9, 0;"),
            8u);
  EXPECT_EQ(word("mov.u64 %rd4, -1; add.cc.u64 %rd5, %rd4, %rd4;"
                 "addc.u64 %rd5, 0, 0; cvt.u32.u64 %r2, %rd5;"),
            1u);
  // lo(0x10001 * 0xffff) = 0xffffffff, + 1 carries into the next sum.
  EXPECT_EQ(word("mov.u32 %r3, 0x10001; mov.u32 %r4, 0xffff;"
                 "mad.lo.cc.u32 %r5, %r3, %r4, 1; madc.hi.u32 %r2, %r3, %r4, 7;"),
            8u);
  EXPECT_EQ(word("mov.u32 %r3, -2; mad.hi.cc.s32 %r2, %r3, 3, 5;"), 4u);
}

TEST(Rare, PartsOfWords) {
  EXPECT_EQ(word("mov.u32 %r3, 0x7fff8000; mov.u32 %r4, 0x0001ffff;"
                 "max.s16x2 %r2, %r3, %r4;"),
            0x7fffffffu);
  EXPECT_EQ(word("mov.u32 %r3, 0x7fff8000; mov.u32 %r4, 0x0001ffff;"
                 "min.u16x2 %r2, %r3, %r4;"),
            0x00018000u);
  EXPECT_EQ(word("mov.u32 %r3, 0xffff0005; mov.u32 %r4, 0x0001000a;"
                 "add.u16x2 %r2, %r3, %r4;"),
            0x0000000fu);
  EXPECT_EQ(word("mov.u32 %r3, 0x10ff0503; mov.u32 %r4, 0x20010904;"
                 "vabsdiff4.u32.u32.u32 %r2, %r3, %r4, 0;"),
            0x10fe0401u);
  EXPECT_EQ(word("mov.u32 %r3, 0x7f80ff01; mov.u32 %r4, 0x01ff0203;"
                 "vadd4.s32.s32.s32.sat %r2, %r3, %r4, 0;"),
            0x7f800104u);
  EXPECT_EQ(word("mov.u32 %r3, 0x00010003; mov.u32 %r4, 0x00020004;"
                 "vavrg2.u32.u32.u32 %r2, %r3, %r4, 0;"),
            0x00020004u);
}

TEST(Rare, ConversionsOfParts) {
  EXPECT_EQ(word("cvt.pack.sat.s16.s32 %r2, 70000, -5;"), 0x7ffffffbu);
  EXPECT_EQ(word("mov.u32 %r3, 0x1234; cvt.pack.sat.u8.s32.b32 %r2, 300, -1, "
                 "%r3;"),
            0x1234ff00u);
  // e4m3: 1.0 is 0x38, 448 the largest; e5m2: 1.0 is 0x3c.
  auto fp8 = [](const char *type, const char *high, const char *low) {
    return word("mov.f32 %f1, " + std::string(high) + "; mov.f32 %f2, " + low +
                "; cvt.rn.satfinite." + type +
                ".f32 %h1, %f1, %f2; cvt.u32.u16 %r2, %h1;");
  };
  EXPECT_EQ(fp8("e4m3x2", "0f3f800000", "0f447a0000"), 0x387eu); // 1, 1000
  EXPECT_EQ(fp8("e5m2x2", "0f3f800000", "0fc0000000"), 0x3cc0u); // 1, -2
  // Halfway between 16 and 18: to even. The least subnormal, 2^-9; half of it.
  EXPECT_EQ(fp8("e4m3x2", "0f41880000", "0f3b000000"), 0x5801u);
  EXPECT_EQ(fp8("e4m3x2", "0f3a800000", "0f00000000"), 0x0000u);
  EXPECT_EQ(word("mov.b16 %h1, 0x38c0; cvt.rn.f16x2.e4m3x2 %r2, %h1;"),
            0x3c00c000u); // 1, -2
  EXPECT_EQ(word("mov.b16 %h1, 0x7c3c; cvt.rn.f16x2.e5m2x2 %r2, %h1;"),
            0x7c003c00u); // infinity, 1
}

TEST(Rare, ThreeInputsAndMixedPrecision) {
  EXPECT_EQ(word("mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0fc0000000; mov.f32 "
                 "%f3, 0f40400000; max.f32 %f4, %f1, %f2, %f3; mov.b32 %r2, "
                 "%f4;"),
            0x40400000u);
  EXPECT_EQ(word("mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0fc0000000; mov.f32 "
                 "%f3, 0f40400000; min.f32 %f4, %f1, %f2, %f3; mov.b32 %r2, "
                 "%f4;"),
            0xc0000000u);
  // 1.5 as bf16, 2^-20 as f32: not rounded to bf16.
  EXPECT_EQ(word("mov.b16 %h1, 0x3fc0; mov.f32 %f1, 0f35800000; add.rn.f32.bf16 "
                 "%f2, %h1, %f1; mov.b32 %r2, %f2;"),
            0x3fc00008u);
  EXPECT_EQ(word("mov.b16 %h1, 0x4000; mov.f32 %f1, 0f3f800000; fma.rn.f32.f16 "
                 "%f2, %h1, %h1, %f1; mov.b32 %r2, %f2;"),
            0x40a00000u); // 2 * 2 + 1
  EXPECT_EQ(word("cvt.rn.f32.u32 %f1, %r1; redux.sync.max.f32 %f2, %f1, -1; "
                 "mov.b32 %r2, %f2;"),
            0x41f80000u); // 31
}

TEST(Rare, WarpProducts) {
  // A is the identity's first 16 columns, B[k][n] = 8 k + n: D = B.
  std::vector<uint32_t> result = run(R"(
    shr.u32 %r3, %r1, 2; and.b32 %r4, %r1, 3; shl.b32 %r5, %r4, 1;
    // a0, a1 at (g, 2t), (g, 2t + 1); a3 the same of the lower right corner.
    mov.u32 %r6, 0; setp.eq.u32 %p1, %r3, %r5; @%p1 mov.u32 %r6, 0x00003c00;
    add.u32 %r7, %r5, 1; setp.eq.u32 %p1, %r3, %r7; @%p1 mov.u32 %r6, 0x3c000000;
    // b at (k, g) with k = 2t, 2t + 1 and 8 more.
    shl.b32 %r8, %r5, 3; add.u32 %r8, %r8, %r3;
    cvt.rn.f16.u32 %h1, %r8; add.u32 %r9, %r8, 8; cvt.rn.f16.u32 %h2, %r9;
    mov.b32 %r10, {%h1, %h2};
    add.u32 %r8, %r8, 64; cvt.rn.f16.u32 %h1, %r8; add.u32 %r9, %r8, 8;
    cvt.rn.f16.u32 %h2, %r9; mov.b32 %r11, {%h1, %h2};
    mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
    mov.u32 %r12, 0;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4},
      {%r6, %r12, %r12, %r6}, {%r10, %r11}, {%f1, %f2, %f3, %f4};
    cvt.rzi.u32.f32 %r2, %f4; cvt.rzi.u32.f32 %r3, %f1; shl.b32 %r3, %r3, 16;
    or.b32 %r2, %r2, %r3; st.global.u32 [%rd1], %r2;)");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t row = lane / 4, column = lane % 4 * 2;
    EXPECT_EQ(result[lane],
              (8 * row + column) << 16 | (8 * (row + 8) + column + 1));
  }
  // Signed times unsigned bytes: 32 products of -1 and 200; saturation.
  EXPECT_EQ(word("mov.u32 %r3, 0xffffffff; mov.u32 %r4, 0xc8c8c8c8; mov.u32 "
                 "%r5, 1; mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r2, "
                 "%r6, %r7, %r8}, {%r3, %r3, %r3, %r3}, {%r4, %r4}, {%r5, %r5, "
                 "%r5, %r5};"),
            static_cast<uint32_t>(1 - 32 * 200));
  EXPECT_EQ(word("mov.u32 %r3, 0x01010101; mov.u32 %r5, 0x7fffffff; "
                 "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32 "
                 "{%r2, %r6, %r7, %r8}, {%r3, %r3}, {%r3}, {%r5, %r5, %r5, "
                 "%r5};"),
            0x7fffffffu);
  // tf32 does not see the low bits of its operands.
  EXPECT_EQ(word("mov.b32 %r3, 0x3f801fff; mov.f32 %f1, 0f00000000; "
                 "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f2, %f3, "
                 "%f4, %f5}, {%r3, %r3}, {%r3}, {%f1, %f1, %f1, %f1}; mov.b32 "
                 "%r2, %f2;"),
            0x40800000u);
  // f64, f16 accumulators, e4m3.
  EXPECT_EQ(word("mov.f64 %fd1, 0d3FF8000000000000; mov.f64 %fd2, "
                 "0d0000000000000000; "
                 "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd3, %fd4}, "
                 "{%fd1}, {%fd1}, {%fd2, %fd2}; cvt.rzi.u32.f64 %r2, %fd4;"),
            9u);
  EXPECT_EQ(word("mov.u32 %r3, 0x3c003c00; mov.u32 %r4, 0x3c004000; "
                 "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r2, %r5}, "
                 "{%r3, %r3, %r3, %r3}, {%r3, %r3}, {%r4, %r4};"),
            0x4c404c80u); // 16 + 1, 16 + 2
  EXPECT_EQ(word("mov.u32 %r3, 0x38383838; mov.f32 %f1, 0f00000000; "
                 "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f2, "
                 "%f3, %f4, %f5}, {%r3, %r3, %r3, %r3}, {%r3, %r3}, {%f1, %f1, "
                 "%f1, %f1}; mov.b32 %r2, %f2;"),
            0x42000000u); // 32
}

TEST(Rare, TransposedMatrices) {
  // Element (r, c) is 8 r + c; lane l holds (l / 4, 2 (l % 4)) and the next.
  std::vector<uint32_t> result = run(R"(
    shl.b32 %r3, %r1, 1; add.u32 %r4, %r3, 1; shl.b32 %r4, %r4, 16;
    or.b32 %r3, %r3, %r4;
    movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r3;
    st.global.u32 [%rd1], %r2;)");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t row = lane / 4, column = lane % 4 * 2;
    EXPECT_EQ(result[lane], (8 * column + row) | (8 * (column + 1) + row) << 16);
  }
}

TEST(Rare, AsynchronousStores) {
  // Lane i stores to place 31 - i; red.async adds 5 to each twice.
  const char *text =
      ".shared .align 16 .b8 box[128]; .shared .align 8 .b64 bar;";
  auto body = [](const char *bytes) {
    return std::string(R"(
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], )") +
           bytes + R"(;
    bar.warp.sync -1;
    mov.u32 %r3, box; sub.u32 %r4, 31, %r1; shl.b32 %r4, %r4, 2;
    add.u32 %r4, %r3, %r4; mov.u32 %r5, bar;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r4], %r1, [%r5];
W:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;
    shl.b32 %r6, %r1, 2; add.u32 %r6, %r3, %r6; ld.shared.u32 %r2, [%r6];
    st.global.u32 [%rd1], %r2;)";
  };
  std::vector<uint32_t> result = run(body("128"), text);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(result[i], 31 - i);
  std::string error;
  run(body("132"), text, &error);
  EXPECT_NE(error.find("4 bytes are missing"), std::string::npos) << error;
}

TEST(Rare, TensorMapsMadeByTheKernel) {
  uint8_t map[128] = {};
  EXPECT_FALSE(replaceField(map, MapField::Address, 0, uint64_t(1) << 36));
  EXPECT_FALSE(replaceField(map, MapField::Rank, 0, 1));
  EXPECT_FALSE(replaceField(map, MapField::ElementType, 0, 10)); // bf16
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_FALSE(replaceField(map, MapField::Box, i, 16));
    EXPECT_FALSE(replaceField(map, MapField::Size, i, 64));
    EXPECT_FALSE(replaceField(map, MapField::ElementStride, i, 1));
  }
  TensorMapParams params;
  // Not whole without a stride: 0 is a multiple of 16, but the swizzle is too
  // wide for the box.
  EXPECT_FALSE(replaceField(map, MapField::Stride, 0, 128));
  EXPECT_FALSE(replaceField(map, MapField::Swizzle, 0, 3));
  EXPECT_TRUE(bool(decodeTiled(map, params)));
  EXPECT_FALSE(replaceField(map, MapField::Swizzle, 0, 1));
  ASSERT_FALSE(decodeTiled(map, params));
  EXPECT_EQ(params.type, MapType::BFloat16);
  EXPECT_EQ(params.rank, 2u);
  EXPECT_EQ(params.sizes[1], 64u);
  EXPECT_EQ(params.strides[0], 128u);
  EXPECT_EQ(params.box[1], 16u);
  EXPECT_EQ(params.swizzle, MapSwizzle::B32);
  EXPECT_TRUE(bool(replaceField(map, MapField::Rank, 0, 5)));
  EXPECT_TRUE(bool(replaceField(map, MapField::ElementType, 0, 13)));
  map[5] ^= 1;
  EXPECT_TRUE(bool(replaceField(map, MapField::Rank, 0, 1)));
}

// Words of one bank, and access sizes.
TEST(Report, BankConflicts) {
  auto wavefronts = [](unsigned stride, const std::string &access) {
    TestKernel kernel;
    kernel.load(kernelText("mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, " +
                               std::to_string(stride) +
                               "; mov.u32 %r3, box; add.u32 %r3, %r3, %r2; " +
                               access + " ret;",
                           0, "", ".shared .align 16 .b8 box[8192];"));
    kernel.shape.block = {32, 1, 1};
    kernel.options.profile = true;
    EXPECT_EQ(kernel.run({}).text(), "");
    EXPECT_EQ(kernel.report.sharedSites.size(), 1u);
    const Report::SharedSite &site = kernel.report.sharedSites.at(0);
    EXPECT_EQ(site.accesses, 1u);
    return std::make_pair(site.wavefronts, site.ideal);
  };
  using Pair = std::pair<uint64_t, uint64_t>;
  const std::string store = "st.shared.u32 [%r3], %r1;";
  EXPECT_EQ(wavefronts(4, store), Pair(1, 1));
  EXPECT_EQ(wavefronts(8, store), Pair(2, 1));
  EXPECT_EQ(wavefronts(128, store), Pair(32, 1));
  EXPECT_EQ(wavefronts(132, store), Pair(1, 1));
  // 16 bytes a thread: a quarter of the warp at a time.
  const std::string wide = "st.shared.v4.u32 [%r3], {%r1, %r1, %r1, %r1};";
  EXPECT_EQ(wavefronts(16, wide), Pair(4, 4));
  EXPECT_EQ(wavefronts(128, wide), Pair(32, 4));
}

} // namespace
