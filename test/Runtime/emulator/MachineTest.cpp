//===- MachineTest.cpp - Divergence, barriers, memory, launches -----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

#include <cstring>

using namespace backfuse::emulator;
using namespace backfuse::emulator::test;

/// Runs a body whose p0 is an array of words, one per thread, and returns it.
static std::vector<uint32_t> runWords(const std::string &body,
                                      LaunchShape shape, size_t words,
                                      const std::string &moduleText = "",
                                      LaunchOptions options = {}) {
  TestKernel kernel;
  kernel.load(kernelText(body, 1, "", moduleText));
  kernel.shape = shape;
  kernel.options = options;
  uint64_t out = kernel.upload(std::vector<uint32_t>(words));
  kernel.runOk({kernel.number(out)});
  return kernel.download<uint32_t>(out, words);
}

static LaunchShape shapeOf(uint32_t grid, uint32_t block,
                           uint32_t cluster = 1) {
  LaunchShape shape;
  shape.grid.x = grid;
  shape.block.x = block;
  shape.cluster.x = cluster;
  return shape;
}

/// %rd1: this thread's word; %r1: thread in the grid.
static const std::string prologue = R"(
  ld.param.u64 %rd1, [p0];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.u32 %r1, %r2, %r3, %r4;
  mul.wide.u32 %rd2, %r1, 4;
  mov.u64 %rd3, %rd1;
  add.u64 %rd1, %rd1, %rd2;
)";

static std::string errorOf(const std::string &body, LaunchShape shape,
                           const std::string &moduleText = "",
                           LaunchOptions options = {}) {
  TestKernel kernel;
  kernel.load(kernelText(body, 1, "", moduleText));
  kernel.shape = shape;
  kernel.options = options;
  uint64_t out = kernel.upload(std::vector<uint32_t>(1024), "out");
  return kernel.run({kernel.number(out)}).text();
}

static void expectError(const std::string &body, LaunchShape shape,
                        const std::string &part,
                        const std::string &moduleText = "") {
  std::string error = errorOf(prologue + body, shape, moduleText);
  EXPECT_NE(error.find(part), std::string::npos)
      << "for: " << body << "\ngot: " << error;
}

// Each lane goes its own number of times through a loop, then all meet again.
TEST(Machine, LanesDivergeAndMeet) {
  std::vector<uint32_t> result = runWords(prologue + R"(
    mov.u32 %r5, 0; mov.u32 %r6, 0;
LOOP:
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    add.u32 %r6, %r6, %r5; add.u32 %r5, %r5, 1;
    bra LOOP;
DONE:
    shfl.sync.idx.b32 %r7, %r6, 31, 31, -1;
    add.u32 %r6, %r6, %r7;
    st.global.b32 [%rd1], %r6;
    ret;)",
                                          shapeOf(1, 32), 32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(result[i], i * (i - 1) / 2 + 31 * 30 / 2);
}

// Wherever a slice ends, lanes that wait for others of their warp go on when
// these have come.
TEST(Machine, SlicesMayEndAnywhere) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    LaunchOptions options;
    options.order = Order::Random;
    options.seed = seed;
    std::vector<uint32_t> result = runWords(prologue + R"(
      mov.u32 %r5, 0; mov.u32 %r6, 0; setp.eq.u32 %p1, %r4, 0;
LOOP: bar.sync 0;
      @!%p1 bra NEXT;
      add.u32 %r6, %r6, 2;
NEXT: bar.warp.sync -1;
      add.u32 %r5, %r5, 1;
      setp.lt.u32 %p2, %r5, 20;
      @%p2 bra LOOP;
      st.global.b32 [%rd1], %r6;
      ret;)",
                                            shapeOf(1, 64), 64, "", options);
    ASSERT_EQ(result[0], 40u);
  }
}

// One lane spins until another one of the same warp has written: the one that
// spins must not keep the other from going on, whichever comes first in the
// text.
TEST(Machine, LanesOfOneWarpWaitForEachOther) {
  for (bool waiterFirst : {false, true}) {
    std::string wait =
        "WAIT: ld.volatile.shared.b32 %r5, [flag]; setp.eq.u32 %p2, %r5, 0; "
        "@%p2 bra WAIT; st.global.b32 [%rd1], %r5; bra END;\n";
    std::string set =
        "SET: mov.u32 %r6, 42; st.volatile.shared.b32 [flag], %r6; bra END;\n";
    std::string body =
        prologue + "mov.u32 %r6, 0; st.shared.b32 [flag], %r6; bar.warp.sync "
                   "-1; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p3, %r1, 7;\n";
    body += waiterFirst ? "@%p3 bra SET; @!%p1 bra END;\n" + wait + set
                        : "@%p1 bra WAIT; @!%p3 bra END;\n" + set + wait;
    body += "END: bar.warp.sync -1; ret;";
    EXPECT_EQ(
        runWords(body, shapeOf(1, 32), 32, ".shared .align 4 .b32 flag;")[0],
        42u);
  }
}

TEST(Machine, ShufflesVotesAndElections) {
  std::vector<uint32_t> result = runWords(prologue + R"(
    shfl.sync.up.b32 %r5|%p1, %r1, 1, 0, -1;
    shfl.sync.down.b32 %r6|%p2, %r1, 2, 31, -1;
    shfl.sync.bfly.b32 %r7, %r1, 5, 31, -1;
    shfl.sync.idx.b32 %r8, %r1, 3, 0x181f, -1;
    setp.gt.u32 %p3, %r1, 20;
    vote.sync.ballot.b32 %r9, %p3, -1;
    vote.sync.any.pred %p4, %p3, -1;
    vote.sync.all.pred %p5, %p3, -1;
    elect.sync %r10|%p6, -1;
    and.b32 %r11, %r1, 3;
    match.any.sync.b32 %r12, %r11, -1;
    redux.sync.max.u32 %r13, %r1, -1;
    mul.wide.u32 %rd4, %r1, 40;
    add.u64 %rd4, %rd3, %rd4;
    st.global.b32 [%rd4], %r5; st.global.b32 [%rd4+4], %r6; st.global.b32 [%rd4+8], %r7; st.global.b32 [%rd4+12], %r8;
    st.global.b32 [%rd4+16], %r9; st.global.b32 [%rd4+20], %r10; st.global.b32 [%rd4+24], %r12; st.global.b32 [%rd4+28], %r13;
    selp.u32 %r14, 1, 0, %p1; @%p2 add.u32 %r14, %r14, 2; @%p4 add.u32 %r14, %r14, 4; @%p5 add.u32 %r14, %r14, 8; @%p6 add.u32 %r14, %r14, 16;
    st.global.b32 [%rd4+32], %r14;
    ret;)",
                                          shapeOf(1, 32), 320);
  for (uint32_t i = 0; i < 32; ++i) {
    const uint32_t *r = &result[10 * i];
    EXPECT_EQ(r[0], i ? i - 1 : 0);
    EXPECT_EQ(r[1], i < 30 ? i + 2 : i);
    EXPECT_EQ(r[2], i ^ 5);
    EXPECT_EQ(r[3], i / 8 * 8 + 3); // segments of 8 lanes
    EXPECT_EQ(r[4], 0xffe00000u);
    EXPECT_EQ(r[5], 0u);
    EXPECT_EQ(r[6], 0x11111111u << (i % 4));
    EXPECT_EQ(r[7], 31u);
    EXPECT_EQ(r[8], (i ? 1u : 0) + (i < 30 ? 2 : 0) + 4 + (i ? 0 : 16));
  }
}

// Threads meet at named barriers; one side only arrives.
TEST(Machine, NamedBarriers) {
  for (Order order : {Order::InOrder, Order::Random, Order::Adversarial}) {
    LaunchOptions options;
    options.order = order;
    std::vector<uint32_t> result = runWords(
        prologue + R"(
      setp.lt.u32 %p1, %r4, 64;
      @%p1 bra CONSUMER;
      shl.b32 %r5, %r4, 2; mov.u32 %r6, words; add.u32 %r6, %r6, %r5;
      mul.lo.u32 %r7, %r4, 3;
      st.shared.b32 [%r6], %r7;
      bar.arrive 3, 128;
      ret;
CONSUMER:
      bar.sync 3, 128;
      add.u32 %r5, %r4, 64; shl.b32 %r5, %r5, 2; mov.u32 %r6, words; add.u32 %r6, %r6, %r5;
      ld.shared.b32 %r7, [%r6];
      st.global.b32 [%rd1], %r7;
      bar.sync 4, 64;
      setp.lt.u32 %p2, %r4, 40;
      barrier.red.popc.aligned.u32 %r8, 5, 64, %p2;
      st.global.b32 [%rd1+512], %r8;
      ret;)",
        shapeOf(1, 128), 256, ".shared .align 4 .b8 words[512];", options);
    for (uint32_t i = 0; i < 64; ++i) {
      EXPECT_EQ(result[i], (i + 64) * 3);
      EXPECT_EQ(result[128 + i], 40u);
    }
  }
}

TEST(Machine, BarrierCountsMustAgree) {
  expectError("setp.lt.u32 %p1, %r4, 32; @%p1 bra A; bar.sync 1, 96; ret; A: "
              "bar.sync 1, 64; ret;",
              shapeOf(1, 96), "is used for");
  expectError("bar.sync 1, 40; ret;", shapeOf(1, 64), "multiple of 32");
  expectError("mov.u32 %r5, 16; bar.sync %r5, 64; ret;", shapeOf(1, 64),
              "does not exist");
  expectError("setp.lt.u32 %p1, %r4, 16; @%p1 bar.sync 0; ret;", shapeOf(1, 32),
              "the guard is false");
}

// Mbarriers count arrivals and bytes and flip their parity.
TEST(Machine, MbarrierPhases) {
  std::vector<uint32_t> result =
      runWords(prologue + R"(
    setp.ne.u32 %p1, %r1, 0; @%p1 ret;
    mbarrier.init.shared.b64 [bar], 2;
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; selp.u32 %r5, 1, 0, %p2; st.global.b32 [%rd1], %r5;
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1; selp.u32 %r5, 1, 0, %p2; st.global.b32 [%rd1+4], %r5;
    mbarrier.arrive.shared.b64 %rd5, [bar];
    mbarrier.pending_count.b64 %r6, %rd5; st.global.b32 [%rd1+8], %r6;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd5; selp.u32 %r5, 1, 0, %p2; st.global.b32 [%rd1+12], %r5;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 64;
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd5; selp.u32 %r5, 1, 0, %p2; st.global.b32 [%rd1+16], %r5;
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; selp.u32 %r5, 1, 0, %p2; st.global.b32 [%rd1+20], %r5;
    mbarrier.arrive_drop.shared.b64 _, [bar];
    mbarrier.arrive.shared.b64 _, [bar];
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1; selp.u32 %r5, 1, 0, %p2; st.global.b32 [%rd1+24], %r5;
    mbarrier.arrive.shared.b64 _, [bar];
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; selp.u32 %r5, 1, 0, %p2; st.global.b32 [%rd1+28], %r5;
    ret;)",
               shapeOf(1, 32), 32, ".shared .align 8 .b64 bar;");
  std::vector<uint32_t> expected = {0, 1, 2, 0, 1, 1, 1, 1};
  result.resize(8);
  EXPECT_EQ(result, expected);
}

TEST(Machine, MbarrierMisuse) {
  const char *bar = ".shared .align 8 .b64 bar;";
  const std::string one = "setp.ne.u32 %p1, %r1, 0; @%p1 ret;\n";
  expectError(one + "mbarrier.arrive.shared.b64 _, [bar]; ret;", shapeOf(1, 32),
              "no mbarrier was initialised", bar);
  expectError(one + "mbarrier.init.shared.b64 [bar], 0; ret;", shapeOf(1, 32),
              "count of 1", bar);
  expectError("mbarrier.init.shared.b64 [bar], 1; bar.sync 0; "
              "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16; ret;",
              shapeOf(1, 32), "arrivals", bar);
  expectError(
      one + "mbarrier.init.shared.b64 [bar], 1; "
            "mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 0x100000; ret;",
      shapeOf(1, 32), "leaves its range", bar);
}

// CTAs of a cluster reach each other's shared memory, barriers and atomics.
TEST(Machine, DistributedSharedMemory) {
  for (Order order : {Order::InOrder, Order::Adversarial}) {
    LaunchOptions options;
    options.order = order;
    std::vector<uint32_t> result = runWords(
        prologue + R"(
      mov.u32 %r5, %cluster_ctarank;
      mov.u32 %r6, words; shl.b32 %r7, %r4, 2; add.u32 %r6, %r6, %r7;
      add.u32 %r8, %r1, 100;
      st.shared.b32 [%r6], %r8;
      barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
      xor.b32 %r9, %r5, 1;
      mapa.shared::cluster.u32 %r10, %r6, %r9;
      ld.shared::cluster.b32 %r11, [%r10];
      cvt.u64.u32 %rd5, %r6; cvta.shared.u64 %rd5, %rd5;
      mapa.u64 %rd6, %rd5, %r9;
      ld.b32 %r12, [%rd6];
      add.u32 %r11, %r11, %r12;
      st.global.b32 [%rd1], %r11;
      barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
      ret;)",
        shapeOf(4, 32, 2), 128, ".shared .align 4 .b8 words[128];", options);
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(result[i], 2 * ((i ^ 32) + 100));
  }
  expectError("mov.u32 %r5, 0x1000400; ld.shared.b32 %r6, [%r5]; ret;",
              shapeOf(2, 32, 2), "belongs to another CTA",
              ".shared .align 4 .b8 words[128];");
  expectError("mov.u32 %r5, 7; mov.u32 %r6, words; mapa.shared::cluster.u32 "
              "%r7, %r6, %r5; ret;",
              shapeOf(2, 32, 2), "not in the cluster",
              ".shared .align 4 .b8 words[128];");
}

// CTAs that spin on a flag of others all stay resident; on several threads too.
TEST(Machine, CtasWaitForEachOther) {
  for (unsigned threads : {1u, 3u})
    for (Order order : {Order::InOrder, Order::Random, Order::Adversarial}) {
      LaunchOptions options;
      options.order = order;
      options.threads = threads;
      options.seed = threads;
      std::vector<uint32_t> result = runWords(prologue + R"(
        // CTA i waits for the word of CTA i + 1 (the last one for none).
        setp.ne.u32 %p1, %r4, 0; @%p1 ret;
        mul.wide.u32 %rd5, %r2, 4; add.u64 %rd5, %rd3, %rd5;
        mov.u32 %r6, %nctaid.x; sub.u32 %r6, %r6, 1;
        mov.u32 %r7, 1;
        setp.eq.u32 %p2, %r2, %r6; @%p2 bra WRITE;
WAIT:   ld.acquire.gpu.global.b32 %r7, [%rd5+4];
        setp.eq.u32 %p3, %r7, 0; @%p3 bra WAIT;
        add.u32 %r7, %r7, 1;
WRITE:  st.release.gpu.global.b32 [%rd5], %r7;
        ret;)",
                                              shapeOf(20, 32), 32, "", options);
      for (uint32_t i = 0; i < 20; ++i)
        EXPECT_EQ(result[i], 20 - i);
    }
}

// A grid larger than what is resident runs in waves.
TEST(Machine, LargeGridsRunInWaves) {
  LaunchOptions options;
  options.residentCtas = 3;
  options.threads = 2;
  std::vector<uint32_t> result =
      runWords(prologue + "atom.global.add.u32 %r5, [%rd3], 1; ret;",
               shapeOf(1000, 32), 1, "", options);
  EXPECT_EQ(result[0], 32000u);
  options.cooperative = true;
  EXPECT_NE(errorOf("ret;", shapeOf(1000, 32), "", options).find("cooperative"),
            std::string::npos);
}

// Clusters are resident as a whole: five multiprocessors hold two of two CTAs.
TEST(Machine, CooperativeGridsAreCountedInClusters) {
  LaunchOptions options;
  options.multiprocessors = 5;
  options.cooperative = true;
  EXPECT_EQ(errorOf("ret;", shapeOf(4, 32, 2), "", options), "");
  EXPECT_NE(errorOf("ret;", shapeOf(6, 32, 2), "", options)
                .find("a cooperative grid of 6 CTAs in clusters of 2 does not "
                      "fit the machine's 5"),
            std::string::npos);
  options.multiprocessors = 1;
  EXPECT_NE(errorOf("ret;", shapeOf(2, 32, 2), "", options)
                .find("does not fit the machine's 1"),
            std::string::npos);
}

TEST(Machine, Atomics) {
  std::vector<uint32_t> result =
      runWords(prologue + R"(
    red.global.add.u32 [%rd3], 1;
    red.global.max.s32 [%rd3+4], %r1;
    atom.global.cas.b32 %r5, [%rd3+8], 0, %r1;
    mov.f32 %f1, 0f3f800000;
    red.global.add.f32 [%rd3+12], %f1;
    atom.global.exch.b32 %r6, [%rd3+16], 9;
    atom.global.inc.u32 %r7, [%rd3+20], 4;
    red.global.add.v2.f32 [%rd3+24], {%f1, %f1};
    mov.b32 %r8, 0x3f803f80;
    red.global.add.noftz.bf16x2 [%rd3+32], %r8;
    mov.u32 %r10, 0;
    st.shared.u32 [word], %r10;
    bar.sync 0;
    red.shared.add.u32 [word], 2;
    bar.sync 0;
    ld.shared.u32 %r9, [word];
    st.global.u32 [%rd3+36], %r9;
    ret;)",
               shapeOf(1, 32), 16, ".shared .align 4 .b32 word;");
  EXPECT_EQ(result[0], 32u);
  EXPECT_EQ(result[1], 31u);
  EXPECT_EQ(result[2], 1u); // lane 0 writes 0, lane 1 finds 0
  EXPECT_EQ(result[3], 0x42000000u);
  EXPECT_EQ(result[4], 9u);
  EXPECT_EQ(result[5], 32u % 5);
  EXPECT_EQ(result[6], 0x42000000u);
  EXPECT_EQ(result[7], 0x42000000u);
  EXPECT_EQ(result[8], 0x42004200u);
  EXPECT_EQ(result[9], 64u);
}

// setp and set on two halves at once: each half is compared by itself, and p is
// for the lower one.
TEST(Machine, ComparesPackedHalves) {
  struct Format {
    std::string name;
    std::vector<uint32_t> values; ///< -1, -0, 0, subnormal, 1, inf, NaN
    std::vector<int> order;       ///< their order; 99: none
    uint32_t one;
    bool hasFtz;
  };
  const std::vector<int> order = {-2, 0, 0, 1, 2, 3, 99};
  const std::vector<Format> formats = {
      {"f16",
       {0xbc00, 0x8000, 0, 0x0001, 0x3c00, 0x7c00, 0x7e00},
       order,
       0x3c00,
       true},
      {"bf16",
       {0xbf80, 0x8000, 0, 0x0001, 0x3f80, 0x7f80, 0x7fc0},
       order,
       0x3f80,
       false}};
  auto holds = [](const std::string &cmp, int a, int b) {
    bool unordered = a == 99 || b == 99;
    std::string ordered = cmp.substr(0, 2);
    if (cmp == "num" || cmp == "nan")
      return unordered == (cmp == "nan");
    if (unordered)
      return cmp.size() == 3;
    return ordered == "eq"   ? a == b
           : ordered == "ne" ? a != b
           : ordered == "lt" ? a < b
           : ordered == "le" ? a <= b
           : ordered == "gt" ? a > b
                             : a >= b;
  };
  for (const Format &format : formats)
    for (const char *cmp : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu",
                            "ltu", "leu", "gtu", "geu", "num", "nan"})
      for (const char *logic : {"", ".and", ".or", ".xor"})
        for (bool ftz : {false, true}) {
          if (ftz && !format.hasFtz)
            continue;
          // Thread t compares values t / 7 and t % 7 in the lower halves, and
          // the same two exchanged in the upper ones.
          std::string name = std::string(cmp) + logic + (ftz ? ".ftz." : "."),
                      c = *logic ? ", %p3" : "", x2 = format.name + "x2";
          std::string table = ".global .align 4 .b16 values[8] = {";
          for (uint32_t value : format.values)
            table += std::to_string(value) + ", ";
          table += "0};";
          std::vector<uint32_t> result = runWords(
              prologue + R"(
            div.u32 %r5, %r1, 7; rem.u32 %r6, %r1, 7;
            mov.u64 %rd4, values; mul.wide.u32 %rd5, %r5, 2; mul.wide.u32 %rd6, %r6, 2;
            add.u64 %rd5, %rd4, %rd5; add.u64 %rd6, %rd4, %rd6;
            ld.global.u16 %h1, [%rd5]; ld.global.u16 %h2, [%rd6];
            mov.b32 %r7, {%h1, %h2}; mov.b32 %r8, {%h2, %h1};
            and.b32 %r9, %r1, 1; setp.eq.u32 %p3, %r9, 1;
            setp.)" +
                  name + x2 + " %p1|%p2, %r7, %r8" + c + "; set." + name + x2 +
                  "." + x2 + " %r10, %r7, %r8" + c + "; set." + name + "u32." +
                  x2 + " %r11, %r7, %r8" + c + "; set." + name + "u16." +
                  format.name + " %h3, %h1, %h2" + c + "; set." + name +
                  format.name + "." + format.name + " %h4, %h1, %h2" + c +
                  "; setp." + name + format.name + " %p4, %h1, %h2" + c + R"(;
            selp.u32 %r12, 1, 0, %p1; @%p2 or.b32 %r12, %r12, 2; @%p4 or.b32 %r12, %r12, 4;
            mul.wide.u32 %rd7, %r1, 16; add.u64 %rd7, %rd3, %rd7;
            mov.b32 %r13, {%h3, %h4};
            st.global.v4.b32 [%rd7], {%r12, %r10, %r11, %r13};
            ret;)",
              shapeOf(1, 49), 49 * 4, table);
          for (uint32_t t = 0; t < 49; ++t) {
            auto at = [&](uint32_t i) {
              return ftz && format.order[i] == 1 ? 0 : format.order[i];
            };
            auto combined = [&](bool value) {
              bool flag = t & 1;
              std::string l = logic;
              return l == ".and"   ? value && flag
                     : l == ".or"  ? value || flag
                     : l == ".xor" ? value != flag
                                   : value;
            };
            bool low = combined(holds(cmp, at(t / 7), at(t % 7))),
                 high = combined(holds(cmp, at(t % 7), at(t / 7)));
            const uint32_t *got = &result[4 * t];
            EXPECT_EQ(got[0], low + 2u * high + 4u * low)
                << name << x2 << " " << t;
            EXPECT_EQ(got[1], low * format.one | high * format.one << 16)
                << name << x2 << " " << t;
            EXPECT_EQ(got[2], low * 0xffffu | high * 0xffff0000u)
                << name << x2 << " " << t;
            EXPECT_EQ(got[3], low * 0xffffu | low * format.one << 16)
                << name << x2 << " " << t;
          }
        }
}

TEST(Machine, MemoryInAllSpaces) {
  std::vector<uint32_t> result =
      runWords(R"(
    .local .align 8 .b8 depot[16];
    )" + prologue + R"(
    mov.b64 %rd4, depot; cvta.local.u64 %rd5, %rd4;
    st.local.b32 [%rd4+4], %r1;
    ld.b32 %r5, [%rd5+4];
    mov.b64 %rd6, p0; cvta.param.u64 %rd6, %rd6; ld.u64 %rd7, [%rd6]; sub.u64 %rd7, %rd7, %rd3; cvt.u32.u64 %r6, %rd7;
    mov.u64 %rd8, table; ld.global.s8 %r7, [%rd8+1]; ld.const.u16 %h1, [numbers+2]; cvt.u32.u16 %r8, %h1;
    mov.u32 %r9, -2; st.shared.u16 [word], %r9; bar.warp.sync -1; ld.shared.s16 %r10, [word]; ld.shared.u16 %r11, [word];
    add.u32 %r12, %r5, %r6; add.u32 %r12, %r12, %r7; add.u32 %r12, %r12, %r8; add.u32 %r12, %r12, %r10; add.u32 %r12, %r12, %r11;
    st.global.b32 [%rd1], %r12;
    ret;)",
               shapeOf(1, 32), 32,
               ".global .align 4 .b8 table[4] = {1, -3, 3};\n.const .align 4 "
               ".u16 numbers[2] = {7, 500};\n.shared .align 4 .b32 word;");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(result[i], i + 0 - 3 + 500 - 2 + 0xfffe);
}

// Messages name kernel, line, instruction, CTA, warp, role, lane and memory.
TEST(Machine, OutOfBoundsAndMisaligned) {
  expectError("st.global.b32 [%rd1+4096], %r1; ret;", shapeOf(1, 32),
              "byte 4096 of 'out' (4096 bytes)");
  expectError("ld.global.b32 %r5, [%rd3+-4]; ret;", shapeOf(1, 32),
              "byte -4 of 'out'");
  expectError("ld.global.b64 %rd5, [%rd3+4]; ret;", shapeOf(1, 32),
              "not a multiple of 8");
  expectError("ld.shared.b32 %r5, [word+4]; ret;", shapeOf(1, 32),
              "out of bounds", ".shared .align 4 .b32 word;");
  expectError("mov.u64 %rd5, 64; ld.global.b32 %r5, [%rd5]; ret;",
              shapeOf(1, 32), "no allocation");
  expectError("st.param.b32 [p0], %r1; ret;", shapeOf(1, 32), "parameters");
  expectError("trap;", shapeOf(1, 32), "trap");
  LaunchOptions options;
  options.roles = {"0-0 load", "1-2 multiply"};
  std::string error =
      errorOf(prologue + "setp.eq.u32 %p1, %r4, 37; @%p1 trap; ret;",
              shapeOf(3, 96), "", options);
  EXPECT_NE(error.find("kernel 'k', PTX line 2"), std::string::npos) << error;
  EXPECT_NE(error.find("('trap'), CTA 0, warp 1 (multiply), lane 5"),
            std::string::npos)
      << error;
}

TEST(Machine, ReadOnlyInputs) {
  TestKernel kernel;
  kernel.load(kernelText(
      "ld.param.u64 %rd1, [p0]; mov.b32 %r1, 1; st.global.b32 [%rd1], "
      "%r1; ret;",
      1));
  uint64_t input = kernel.upload(std::vector<uint32_t>(4), "dy");
  ASSERT_FALSE(kernel.machine.setReadOnly(input, true));
  EXPECT_NE(kernel.run({kernel.number(input)})
                .text()
                .find("read-only memory: byte 0 of 'dy'"),
            std::string::npos);
  ASSERT_FALSE(kernel.machine.release(input));
  EXPECT_NE(kernel.run({kernel.number(input)}).text().find("freed"),
            std::string::npos);
}

// All warps wait and nothing is in flight: each is named with what it waits
// for.
TEST(Machine, ReportsDeadlocks) {
  LaunchOptions options;
  options.roles = {"0-0 load", "1-1 drain"};
  for (Order order : {Order::InOrder, Order::Adversarial}) {
    options.order = order;
    std::string error =
        errorOf(R"(
      mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
      @%p1 mbarrier.init.shared.b64 [bar], 2;
      bar.sync 0;
      setp.ge.u32 %p2, %r1, 32; @%p2 bra DRAIN;
      @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 48;
W:    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra W;
      ret;
DRAIN: bar.sync 2, 64;
      ret;)",
                shapeOf(1, 64), ".shared .align 8 .b64 bar;", options);
    EXPECT_NE(error.find("deadlock"), std::string::npos) << error;
    EXPECT_NE(error.find("warp 0 (load) at PTX line"), std::string::npos)
        << error;
    EXPECT_NE(error.find("1 of 2 arrivals and 48 bytes are missing"),
              std::string::npos)
        << error;
    EXPECT_NE(error.find("warp 1 (drain)"), std::string::npos) << error;
    EXPECT_NE(error.find("barrier 2 (32 of 64 threads have arrived)"),
              std::string::npos)
        << error;
  }
  // A warp that spins on memory that nobody writes.
  for (unsigned threads : {1u, 2u}) {
    options.threads = threads;
    std::string error =
        errorOf("ld.param.u64 %rd1, [p0];\nW: ld.acquire.gpu.global.b32 %r1, "
                "[%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W; ret;",
                shapeOf(2, 32), "", options);
    EXPECT_NE(error.find("spins"), std::string::npos) << error;
  }
  // A warp that computes for long without showing anything is none, though
  // another one spins meanwhile.
  EXPECT_EQ(errorOf(R"(
      mov.u32 %r1, %tid.x; mov.u32 %r2, 0; setp.ge.u32 %p2, %r1, 32;
      st.shared.b32 [bar], %r2; bar.sync 0;
      @%p2 bra COUNT;
W:    ld.volatile.shared.b32 %r3, [bar]; setp.eq.u32 %p1, %r3, 0; @%p1 bra W;
      ret;
COUNT: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 200000; @%p1 bra COUNT;
      st.volatile.shared.b32 [bar], %r2;
      ret;)",
                    shapeOf(1, 64), ".shared .align 8 .b64 bar;", options),
            "");
  // Lanes that never come.
  std::string error = errorOf(R"(
      mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 3;
      @%p1 bra ALONE;
      bar.sync 0; ret;
ALONE: mbarrier.init.shared.b64 [bar], 1;
W:    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra W;
      bra ALONE;)",
                              shapeOf(1, 32), ".shared .align 8 .b64 bar;");
  EXPECT_NE(error.find("waits for other lanes of the warp"), std::string::npos)
      << error;
}

// A wait may end by its time limit: a loop that looks at two barriers in turn
// goes on when either is complete.
TEST(Machine, WaitsTimeOut) {
  std::vector<uint32_t> result =
      runWords(prologue + R"(
    setp.eq.u32 %p1, %r4, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 1; @%p1 mbarrier.init.shared.b64 [bar+8], 1;
    bar.sync 0;
    @%p1 mbarrier.arrive.shared.b64 _, [bar+8];
L:  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @%p2 bra END;
    mbarrier.try_wait.parity.shared.b64 %p2, [bar+8], 0; @!%p2 bra L;
    mov.u32 %r5, 8; st.global.b32 [%rd1], %r5;
END: ret;)",
               shapeOf(1, 32), 32, ".shared .align 8 .b8 bar[16];");
  EXPECT_EQ(result[31], 8u);
}

TEST(Machine, StopsAtTheStepLimit) {
  LaunchOptions options;
  options.stepLimit = 100000;
  std::string error =
      errorOf("ld.param.u64 %rd1, [p0]; mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, "
              "1; st.global.b32 [%rd1], %r1; bra L;",
              shapeOf(1, 32), "", options);
  EXPECT_NE(error.find("limit of 100000"), std::string::npos) << error;
  // It says where everyone is.
  EXPECT_NE(error.find("CTA 0, warp 0 at PTX line"), std::string::npos)
      << error;
}

TEST(Machine, RegistersMoveBetweenWarpgroups) {
  const std::string body = R"(
    mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 128;
    @%p1 bra CONSUMER;
    setmaxnreg.dec.sync.aligned.u32 40;
    ret;
CONSUMER:
    setmaxnreg.inc.sync.aligned.u32 COUNT;
    ret;)";
  auto with = [&](const char *count, unsigned registers) {
    std::string text = body;
    text.replace(text.find("COUNT"), 5, count);
    LaunchOptions options;
    options.registersPerThread = registers;
    return errorOf(text, shapeOf(1, 384), "", options);
  };
  EXPECT_EQ(with("232", 168), "");
  EXPECT_NE(with("240", 168).find("waits for 240 registers"),
            std::string::npos);
  EXPECT_NE(with("160", 168).find("wrong direction"), std::string::npos);
}

TEST(Machine, ReadsOptions) {
  LaunchOptions options;
  ASSERT_FALSE(parseLaunchOptions(
      "order=adversarial,seed=12,checks=off,threads=3,steps=99", options));
  EXPECT_EQ(options.order, Order::Adversarial);
  EXPECT_EQ(options.seed, 12u);
  EXPECT_FALSE(options.checks);
  EXPECT_EQ(options.threads, 3u);
  EXPECT_EQ(options.stepLimit, 99u);
  for (const char *bad : {"order=sideways", "seed=", "seed=-1", "threads=0",
                          "checks", "colour=red"})
    EXPECT_NE(parseLaunchOptions(bad, options).text().find(bad),
              std::string::npos);
}

TEST(Machine, ChecksTheLaunch) {
  TestKernel kernel;
  kernel.load(kernelText("ret;", 1,
                         ".reqntid 64, 1, 1\n.reqnctapercluster 2, 1, 1",
                         ".extern .shared .align 1024 .b8 smem[];"));
  auto errorWith = [&](LaunchShape shape) {
    kernel.shape = shape;
    return kernel.run({kernel.number(0)}).text();
  };
  EXPECT_EQ(errorWith(shapeOf(2, 64, 2)), "");
  EXPECT_NE(errorWith(shapeOf(2, 32, 2)).find(".reqntid"), std::string::npos);
  EXPECT_NE(errorWith(shapeOf(2, 64, 1)).find(".reqnctapercluster"),
            std::string::npos);
  EXPECT_NE(errorWith(shapeOf(3, 64, 2)).find("not a multiple"),
            std::string::npos);
  LaunchShape huge = shapeOf(0x7ffffffe, 64, 2);
  huge.grid.y = 65535;
  EXPECT_NE(errorWith(huge).find("has 140735340740610 CTAs"), std::string::npos)
      << errorWith(huge);
  LaunchShape large = shapeOf(2, 64, 2);
  large.dynamicSmemBytes = 227 * 1024 + 1;
  EXPECT_NE(errorWith(large).find("shared memory"), std::string::npos);
  EXPECT_NE(kernel.machine
                .launch(*kernel.module, "other", large, {}, {}, kernel.report)
                .text()
                .find("no kernel 'other'"),
            std::string::npos);
  EXPECT_NE(
      kernel.machine
          .launch(*kernel.module, "k", shapeOf(2, 64, 2), {}, {}, kernel.report)
          .text()
          .find("expects 1 arguments"),
      std::string::npos);
}

// stmatrix stores what the fragment's figure says; ldmatrix takes it back.
TEST(Machine, MatrixFragments) {
  for (bool transposed : {false, true}) {
    std::string trans = transposed ? ".trans" : "";
    std::vector<uint32_t> result =
        runWords(prologue + R"(
      shl.b32 %r5, %r4, 4; mov.u32 %r6, tile; add.u32 %r6, %r6, %r5;
      // element e of matrix i in lane t: 64 i + 2 t + e
      shl.b32 %r7, %r4, 1; add.u32 %r8, %r7, 1; shl.b32 %r8, %r8, 16; or.b32 %r10, %r7, %r8;
      add.u32 %r11, %r10, 0x00400040; add.u32 %r12, %r11, 0x00400040; add.u32 %r13, %r12, 0x00400040;
      stmatrix.sync.aligned.m8n8.x4)" +
                     trans + R"(.shared.b16 [%r6], {%r10, %r11, %r12, %r13};
      bar.warp.sync -1;
      ldmatrix.sync.aligned.m8n8.x4)" +
                     trans + R"(.shared.b16 {%r14, %r15, %r16, %r17}, [%r6];
      setp.ne.u32 %p1, %r13, %r17; @%p1 trap; setp.ne.u32 %p1, %r10, %r14; @%p1 trap;
      ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r6];
      mul.wide.u32 %rd5, %r4, 16; add.u64 %rd5, %rd3, %rd5;
      st.global.v4.b32 [%rd5], {%r10, %r11, %r12, %r13};
      ret;)",
                 shapeOf(1, 32), 128, ".shared .align 16 .b8 tile[512];");
    for (uint32_t matrix = 0; matrix < 4; ++matrix)
      for (uint32_t row = 0; row < 8; ++row)
        for (uint32_t column = 0; column < 8; ++column) {
          uint16_t value;
          std::memcpy(&value,
                      reinterpret_cast<const uint8_t *>(result.data()) +
                          (matrix * 8 + row) * 16 + column * 2,
                      2);
          EXPECT_EQ(value, matrix * 64 + (transposed ? column * 8 + row
                                                     : row * 8 + column));
        }
  }
}
