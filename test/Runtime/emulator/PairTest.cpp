//===- PairTest.cpp - Pairs of CTAs, cluster launch control --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TensorKernels.h"

#include <cmath>
#include <numeric>

using namespace backfuse::emulator;
using namespace backfuse::emulator::test;

namespace {

struct Launch {
  Order order = Order::InOrder;
  uint64_t seed = 0;
  unsigned threads = 32, grid = 2, cluster = 2, resident = 0;
};

struct Outcome {
  std::string error;
  std::vector<uint32_t> out;
};

/// p0: a map of 64 rows of 32 words, word w being w; p1: the output.
Outcome run(const std::string &body, const std::string &module,
            const Launch &launch) {
  TestKernel kernel;
  Outcome outcome;
  outcome.error =
      kernel.machine.loadPtx(blackwellText(body, 2, module), kernel.module)
          .text();
  if (!outcome.error.empty())
    return outcome;
  kernel.shape.block = {launch.threads, 1, 1};
  kernel.shape.grid = {launch.grid, 1, 1};
  kernel.shape.cluster = {launch.cluster, 1, 1};
  kernel.options.order = launch.order;
  kernel.options.seed = launch.seed;
  kernel.options.residentCtas = launch.resident;
  std::vector<uint32_t> words(64 * 32);
  std::iota(words.begin(), words.end(), 0u);
  uint64_t from = kernel.upload(words), to = kernel.upload(words, "out");
  TensorMapParams map;
  map.type = MapType::UInt32;
  map.rank = 2;
  map.address = from;
  map.sizes[0] = 32, map.sizes[1] = 64;
  map.strides[0] = 128;
  map.box[0] = 32, map.box[1] = 8;
  outcome.error = kernel.run({kernel.map(map), kernel.number(to)}).text();
  outcome.out = kernel.download<uint32_t>(to, words.size());
  return outcome;
}

std::vector<Launch> orders(Launch launch) {
  std::vector<Launch> all{launch};
  for (uint64_t seed = 0; seed < 4; ++seed)
    for (Order order : {Order::Random, Order::Adversarial}) {
      launch.order = order;
      launch.seed = seed;
      all.push_back(launch);
    }
  return all;
}

void expectReport(const std::string &body, const std::string &module,
                  const std::string &words, const Launch &base = {}) {
  for (const Launch &launch : orders(base)) {
    std::string error = run(body, module, launch).error;
    EXPECT_NE(error.find(words), std::string::npos)
        << "expected: " << words << ", got: " << error;
  }
}

std::string without(const std::string &text, const std::string &what,
                    unsigned n = 0) {
  return replacedAt(text, n, what, "");
}

const std::string clusterSync =
    "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";

//===----------------------------------------------------------------------===//
// Tensor loads of a pair
//===----------------------------------------------------------------------===//

const std::string loadModule = ".shared .align 1024 .b8 tile[1024];\n"
                               ".shared .align 8 .b64 full;\n";

/// %r1 lane, %r2 rank in the cluster, %p1 lane 0, %p2 the leader's lane 0;
/// [%r3] the tile, %r4 the leader's barrier.
const std::string loadStart = R"(
  mov.b64 %rd1, p0; cvta.param.u64 %rd1, %rd1;
  ld.param.u64 %rd2, [p1];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r9, 0;
  setp.eq.u32 %p1, %r1, 0; setp.eq.and.u32 %p2, %r2, 0, %p1;
  mov.u32 %r3, tile; mov.u32 %r4, full; and.b32 %r4, %r4, 0xfeffffff;
  shl.b32 %r5, %r2, 3;
  @%p1 mbarrier.init.shared.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
)" + clusterSync;
const std::string expectBoth =
    "@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 2048;\n";
const std::string loadOwn =
    "@%p1 cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile."
    "mbarrier::complete_tx::bytes [%r3], [%rd1, {%r9, %r5}], [%r4];\n";
/// The leader waits for both, then a cluster barrier; each CTA copies its tile.
const std::string copyTiles = "setp.eq.u32 %p3, %r2, 0; @!%p3 bra MEET;\n" +
                              waitFor("full", 0, "W") + "MEET:\n" +
                              clusterSync + R"(
  shl.b32 %r6, %r1, 2; add.u32 %r7, %r3, %r6;
  shl.b32 %r8, %r2, 10; add.u32 %r8, %r8, %r6;
  cvt.u64.u32 %rd3, %r8; add.u64 %rd2, %rd2, %rd3; mov.u32 %r10, 0;
OUT:
  ld.shared.b32 %r11, [%r7]; st.global.b32 [%rd2], %r11;
  add.u32 %r7, %r7, 128; add.u64 %rd2, %rd2, 128; add.u32 %r10, %r10, 1;
  setp.lt.u32 %p4, %r10, 8; @%p4 bra OUT;
)" + clusterSync + "ret;";

} // namespace

TEST(Pair, LoadsCreditTheLeadersBarrier) {
  std::string body = loadStart + expectBoth + loadOwn + copyTiles;
  for (const Launch &launch : orders({})) {
    Outcome outcome = run(body, loadModule, launch);
    ASSERT_EQ(outcome.error, "");
    for (uint32_t i = 0; i < 512; ++i)
      ASSERT_EQ(outcome.out[i], i);
  }
  expectReport(replacedAll(body, "cta_group::2.", ""), loadModule,
               "are in different CTAs, which needs .cta_group::2");
  expectReport(replacedAll(body, "cta_group::2.", "cta_group::1."), loadModule,
               "are in different CTAs, which needs .cta_group::2");
  expectReport(replacedAll(body, "2048", "1024"), loadModule, "bytes");
  expectReport(without(body, waitFor("full", 0, "W")), loadModule,
               "the copy of");
  // Two pairs: the barrier must be in the pair of the destination.
  Launch four;
  four.grid = four.cluster = 4;
  expectReport(replacedAll(body, "0xfeffffff", "0xffffff"), loadModule,
               "are in different pairs of CTAs", four);
  Launch odd;
  odd.grid = odd.cluster = 1;
  expectReport(body, loadModule, "needs clusters of an even number", odd);
}

TEST(Pair, MulticastCreditsOneBarrierPerPair) {
  // The leader of four CTAs loads one tile for all: each pair's even barrier
  // gets the bytes of both.
  std::string body = loadStart + R"(
    and.b32 %r12, %r2, 1; setp.eq.and.u32 %p5, %r12, 0, %p1;
    @%p5 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 2048;
    mov.b16 %h1, 15;
    @%p2 cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd1, {%r9, %r5}], [%r4], %h1;
  )" +
                     replacedAll(copyTiles, "setp.eq.u32 %p3, %r2, 0;",
                                 "setp.eq.u32 %p3, %r12, 0;");
  Launch launch;
  launch.grid = launch.cluster = 4;
  for (const Launch &each : orders(launch)) {
    Outcome outcome = run(body, loadModule, each);
    ASSERT_EQ(outcome.error, "");
    for (uint32_t i = 0; i < 1024; ++i)
      ASSERT_EQ(outcome.out[i], i % 256);
  }
  expectReport(replacedAll(body, "cta_group::2.", ""), loadModule, "deadlock",
               launch);
}

//===----------------------------------------------------------------------===//
// Allocation by a pair
//===----------------------------------------------------------------------===//

namespace {
const std::string allocModule = ".shared .align 4 .b32 where;\n";
const std::string alloc =
    "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [where], 64;\n";
const std::string allocate =
    "mov.u32 %r2, %cluster_ctarank;\n" + clusterSync + alloc +
    "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;\n"
    "ld.shared.b32 %r3, [where];\n" +
    clusterSync +
    "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 64;\nret;";
} // namespace

TEST(Pair, AllocatesTogether) {
  for (const Launch &launch : orders({}))
    EXPECT_EQ(run(allocate, allocModule, launch).error, "");
  expectReport(without(allocate, clusterSync, 1), allocModule,
               "may still be inside tcgen05.alloc");
  std::string other = "mov.b32 %r5, 64; setp.eq.u32 %p1, %r2, 1; @%p1 mov.b32 "
                      "%r5, 32;\n" +
                      replacedAll(alloc, ", 64;", ", %r5;");
  expectReport(replacedAll(allocate, alloc, other), allocModule,
               "but the other CTA of the pair allocates");
  // One of the two does not come.
  expectReport(replacedAll(allocate, alloc,
                           "setp.eq.u32 %p1, %r2, 1; @%p1 ret;\n" + alloc),
               allocModule, "waits for the other CTA of the pair to allocate");
  Launch alone;
  alone.grid = alone.cluster = 1;
  expectReport(allocate, allocModule, "needs clusters of an even number",
               alone);
  // One of the two does not free its part.
  expectReport(replacedAll(allocate, "tcgen05.dealloc",
                           "setp.eq.u32 %p1, %r2, 1; @%p1 ret;\n"
                           "tcgen05.dealloc"),
               allocModule, "exits and has not freed tensor memory");
}

//===----------------------------------------------------------------------===//
// Products of a pair
//===----------------------------------------------------------------------===//

namespace {
const std::string productModule =
    ".shared .align 1024 .b8 a[4096];\n.shared .align 1024 .b8 b[512];\n"
    ".shared .align 8 .b64 full;\n.shared .align 4 .b32 where;\n";
/// M = 256, N = 32, all operands ones of bf16: each element of D is 16.
const std::string pairStart = R"(
  ld.param.u64 %rd2, [p1];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; shr.u32 %r8, %r1, 5;
  setp.eq.u32 %p1, %r1, 0; setp.eq.and.u32 %p2, %r2, 0, %p1;
  setp.eq.u32 %p3, %r8, 0;
  @%p1 mbarrier.init.shared.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
)" + clusterSync + R"(
  @!%p3 bra ALLOCATED;
  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [where], 32;
  tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
ALLOCATED:
  mov.b32 %r5, 0x3f803f80; shl.b32 %r6, %r1, 5; mov.u32 %r7, a;
  add.u32 %r7, %r7, %r6;
  st.shared.v4.b32 [%r7], {%r5, %r5, %r5, %r5};
  st.shared.v4.b32 [%r7+16], {%r5, %r5, %r5, %r5};
  shl.b32 %r6, %r1, 2; mov.u32 %r9, b; add.u32 %r9, %r9, %r6;
  st.shared.b32 [%r9], %r5;
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync;
)" + clusterSync + R"(
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r3, [where]; shl.b32 %r4, %r8, 21; add.u32 %r4, %r4, %r3;
  // no swizzle: SBO 128, LBO 2048 of A and 256 of B; version bit 46
  mov.u32 %r10, a; and.b32 %r10, %r10, 0x3ffff; shr.u32 %r10, %r10, 4;
  or.b32 %r10, %r10, 0x00800000;
  mov.u32 %r11, b; and.b32 %r11, %r11, 0x3ffff; shr.u32 %r11, %r11, 4;
  or.b32 %r11, %r11, 0x00100000;
  mov.b32 %r12, 0x4008; mov.b64 %rd3, {%r10, %r12}; mov.b64 %rd4, {%r11, %r12};
  mov.b32 %r13, 0x10080490; mov.b16 %h1, 3;
)";
const std::string pairMma = "@%p2 tcgen05.mma.cta_group::2.kind::f16 [%r3], "
                            "%rd3, %rd4, %r13, 0;\n";
const std::string pairCommit =
    "@%p2 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster."
    "multicast::cluster.b64 [full], %h1;\n";
const std::string pairOut =
    waitFor("full", 0, "W") + "tcgen05.fence::after_thread_sync;\n" + R"(
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r14}, [%r4+31];
  tcgen05.wait::ld.sync.aligned;
  shl.b32 %r15, %r2, 7; add.u32 %r15, %r15, %r1; mul.wide.u32 %rd5, %r15, 4;
  add.u64 %rd2, %rd2, %rd5; st.global.b32 [%rd2], %r14;
  tcgen05.fence::before_thread_sync;
)";
const std::string pairEnd = clusterSync + R"(
  tcgen05.fence::after_thread_sync;
  @!%p3 bra FREED;
  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 32;
FREED:
  ret;
)";
Launch wide() {
  Launch launch;
  launch.threads = 128;
  return launch;
}
} // namespace

TEST(Pair, MultipliesTogether) {
  std::string body = pairStart + pairMma + pairCommit + pairOut + pairEnd;
  for (const Launch &launch : orders(wide())) {
    Outcome outcome = run(body, productModule, launch);
    ASSERT_EQ(outcome.error, "");
    for (uint32_t i = 0; i < 256; ++i)
      ASSERT_EQ(outcome.out[i], 0x41800000u) << i;
  }
  // The odd CTA issues.
  expectReport(replacedAll(body, "setp.eq.and.u32 %p2, %r2, 0,",
                           "setp.eq.and.u32 %p2, %r2, 1,"),
               productModule, "the CTA of odd rank issues a product", wide());
  // Only the leader's barrier gets the commit.
  expectReport(replacedAll(body, "mov.b16 %h1, 3;", "mov.b16 %h1, 1;"),
               productModule, "deadlock", wide());
  expectReport(replacedAll(body, "mov.b16 %h1, 3;", "mov.b16 %h1, 5;"),
               productModule, "CTAs outside the cluster", wide());
  // Nobody frees or leaves while the other CTA may be at work: the commit is
  // not waited for.
  unsigned found = 0;
  for (const Launch &launch : orders(wide()))
    found +=
        !run(pairStart + pairMma + pairCommit + pairEnd, productModule, launch)
             .error.empty();
  EXPECT_EQ(found, orders(wide()).size());
  // The other CTA's operand is not there yet.
  std::string late = replacedAt(body, 1, clusterSync, "bar.sync 0;\n");
  expectReport(late, productModule, "kernel 'k'", wide());
  // The other CTA overwrites its operand before the commit.
  std::string overwrite = pairStart + pairMma + pairCommit + clusterSync +
                          "st.shared.b32 [%r9], %r5;\n" + pairOut + pairEnd;
  for (const Launch &launch : orders(wide()))
    if (launch.order == Order::Adversarial) {
      std::string error = run(overwrite, productModule, launch).error;
      EXPECT_NE(error.find("still reads: the product"), std::string::npos)
          << error;
    }
}

//===----------------------------------------------------------------------===//
// Cluster launch control
//===----------------------------------------------------------------------===//

namespace {
const std::string cancelModule = ".shared .align 16 .b8 response[16];\n"
                                 ".shared .align 8 .b64 full;\n";
/// Each CTA works at the index of its own, then at those that it cancels: it
/// writes 1000 + index there.
const std::string cancelLoop = R"(
  .reg .b128 %q1;
  ld.param.u64 %rd2, [p1];
  mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, 0;
  @%p1 mbarrier.init.shared.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
NEXT:
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16;
  @%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [response], [full];
  mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd2, %rd3; add.u32 %r4, %r2, 1000;
  @%p1 st.global.b32 [%rd4], %r4;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], %r3;
  @!%p2 bra WAIT;
  xor.b32 %r3, %r3, 1;
  ld.shared.b128 %q1, [response];
  fence.proxy.async.shared::cta;
  bar.sync 0;
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q1;
  @!%p3 bra DONE;
  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r2, %r5, %r6, _}, %q1;
  bra NEXT;
DONE:
  ret;
)";
Launch persistent() {
  Launch launch;
  launch.grid = 50;
  launch.cluster = 1;
  launch.resident = 3;
  return launch;
}
} // namespace

TEST(ClusterLaunchControl, EveryIndexIsTakenOnce) {
  for (Launch launch : orders(persistent())) {
    Outcome outcome = run(cancelLoop, cancelModule, launch);
    ASSERT_EQ(outcome.error, "");
    for (uint32_t i = 0; i < 50; ++i)
      ASSERT_EQ(outcome.out[i], 1000 + i);
    EXPECT_EQ(outcome.out[50], 50u);
  }
}

TEST(ClusterLaunchControl, MistakesAreReported) {
  expectReport(without(without(cancelLoop, "@!%p2 bra WAIT;"),
                       "mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], "
                       "%r3;"),
               cancelModule, "the copy of", persistent());
  // Asks again after a refusal.
  expectReport(replacedAll(cancelLoop, "@!%p3 bra DONE;", "@!%p3 bra NEXT;"),
               cancelModule, "although a request of this cluster was refused",
               persistent());
  expectReport(without(cancelLoop, "@!%p3 bra DONE;"), cancelModule,
               "asks for the CTA of a request that was refused", persistent());
  expectReport(replacedAll(cancelLoop, "ld.shared.b128 %q1, [response];",
                           "mov.b128 %q1, {%rd2, %rd3};"),
               cancelModule, "is not one of clusterlaunchcontrol.try_cancel",
               persistent());
}

//===----------------------------------------------------------------------===//
// Packed arithmetic
//===----------------------------------------------------------------------===//

TEST(PackedFloats, RoundEachHalf) {
  // Threads 0 to 31 of two CTAs: pairs (t, -t / 3), (2, 0.1), (1, 1e-3).
  std::string body = R"(
    ld.param.u64 %rd2, [p1];
    mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1;
    div.rn.f32 %f2, %f1, 0fC0400000;
    mov.b64 %rd3, {%f1, %f2};
    mov.f32 %f3, 0f40000000; mov.f32 %f4, 0f3DCCCCCD; mov.b64 %rd4, {%f3, %f4};
    mov.f32 %f5, 0f3F800000; mov.f32 %f6, 0f3A83126F; mov.b64 %rd5, {%f5, %f6};
    and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1;
    mov.b64 %rd6, 0;
    @%p1 add.rn.f32x2 %rd6, %rd3, %rd4;
    sub.rn.f32x2 %rd7, %rd3, %rd4;
    mul.rn.f32x2 %rd8, %rd3, %rd4;
    fma.rn.f32x2 %rd9, %rd3, %rd4, %rd5;
    mul.wide.u32 %rd10, %r1, 32; add.u64 %rd2, %rd2, %rd10;
    st.global.b64 [%rd2], %rd6; st.global.b64 [%rd2+8], %rd7;
    st.global.b64 [%rd2+16], %rd8; st.global.b64 [%rd2+24], %rd9;
    ret;
  )";
  Launch launch;
  launch.grid = launch.cluster = 1;
  Outcome outcome = run(body, "", launch);
  ASSERT_EQ(outcome.error, "");
  for (uint32_t t = 0; t < 32; ++t)
    for (unsigned half = 0; half < 2; ++half) {
      float a = half ? static_cast<float>(t) / -3.0f : static_cast<float>(t);
      float b = half ? 0.1f : 2.0f, c = half ? 1e-3f : 1.0f;
      const float expected[4] = {t % 2 ? a + b : 0.0f, a - b, a * b,
                                 std::fma(a, b, c)};
      for (unsigned i = 0; i < 4; ++i) {
        float got;
        std::memcpy(&got, &outcome.out[t * 8 + 2 * i + half], 4);
        EXPECT_EQ(got, expected[i]) << "thread " << t << " result " << i;
      }
    }
}
