//===- AsyncTest.cpp - A missing wait gives a wrong value -----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// For each asynchronous unit: a kernel that is right in every order, and the
// same kernel without one wait, whose result is wrong in the adversarial order.
// Checks are off: the values alone must show it.
//===----------------------------------------------------------------------===//
#include "AsyncKernels.h"

#include "runtime/emulator/LaneKernels.h"

#include <algorithm>
#include <cstring>

using namespace backfuse::emulator;
using namespace backfuse::emulator::test;

/// Runs the body on 1024 bytes in, 1024 bytes out; out is 0xeeeeeeee before.
static std::vector<uint32_t> runOn(const std::string &body, Order order,
                                   uint64_t seed, unsigned threads = 32,
                                   unsigned cluster = 1) {
  TestKernel kernel;
  kernel.load(kernelText(body, 3, "", moduleText));
  kernel.shape.block = {threads, 1, 1};
  kernel.shape.grid = {cluster, 1, 1};
  kernel.shape.cluster = {cluster, 1, 1};
  kernel.options.order = order;
  kernel.options.seed = seed;
  kernel.options.checks = false;
  std::vector<uint32_t> in(256);
  for (uint32_t i = 0; i < 256; ++i)
    in[i] = i + 1;
  uint64_t from = kernel.upload(in),
           to = kernel.upload(std::vector<uint32_t>(256, 0xeeeeeeee));
  kernel.runOk(asyncArguments(from, to));
  return kernel.download<uint32_t>(to, 256);
}

/// The right body gives `expected` in all orders, the mutant in none of the
/// adversarial ones.
static void expectWaitMatters(const std::string &body, const std::string &wait,
                              const std::vector<uint32_t> &expected,
                              unsigned threads = 32, unsigned cluster = 1) {
  EXPECT_EQ(runOn(body, Order::InOrder, 0, threads, cluster), expected);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    EXPECT_EQ(runOn(body, Order::Random, seed, threads, cluster), expected)
        << seed;
    EXPECT_EQ(runOn(body, Order::Adversarial, seed, threads, cluster), expected)
        << seed;
  }
  std::string mutant = without(body, wait);
  for (uint64_t seed = 0; seed < 4; ++seed)
    EXPECT_NE(runOn(mutant, Order::Adversarial, seed, threads, cluster),
              expected)
        << "without '" << wait << "', seed " << seed;
}

static std::vector<uint32_t> iota() {
  std::vector<uint32_t> values(256);
  for (uint32_t i = 0; i < 256; ++i)
    values[i] = i + 1;
  return values;
}

TEST(Async, TensorLoad) {
  expectWaitMatters(prologue + R"(
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1, {%r2, %r2}], [bar];
    )" + waitBar + copyOut +
                        "ret;",
                    waitBar, iota());
}

TEST(Async, BulkLoad) {
  expectWaitMatters(prologue + R"(
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd3], 1024, [bar];
    )" + waitBar + copyOut +
                        "ret;",
                    waitBar, iota());
}

TEST(Async, CpAsync) {
  const std::string wait = "cp.async.wait_group 0;";
  expectWaitMatters(prologue + R"(
    shl.b32 %r7, %r1, 4; add.u32 %r8, %r3, %r7; cvt.u64.u32 %rd7, %r7; add.u64 %rd7, %rd3, %rd7;
    cp.async.cg.shared.global [%r8], [%rd7], 16;
    cp.async.cg.shared.global [%r8+512], [%rd7+512], 16;
    cp.async.commit_group;
    )" + wait + "bar.sync 0;" +
                        copyOut + "ret;",
                    wait, iota());
}

TEST(Async, CpAsyncThroughMbarrier) {
  std::string body = prologue + R"(
    @%p1 mbarrier.init.shared.b64 [bar], 32;
    bar.sync 0;
    shl.b32 %r7, %r1, 4; add.u32 %r8, %r3, %r7; cvt.u64.u32 %rd7, %r7; add.u64 %rd7, %rd3, %rd7;
    cp.async.cg.shared.global [%r8], [%rd7], 16;
    cp.async.cg.shared.global [%r8+512], [%rd7+512], 16;
    cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
    )" + waitBar + copyOut +
                     "ret;";
  expectWaitMatters(body, waitBar, iota());
}

// The source of a store is overwritten: the wait for its reads matters.
TEST(Async, TensorStoreReads) {
  const std::string wait = "@%p1 cp.async.bulk.wait_group.read 0;";
  expectWaitMatters(prologue + fillBuffer + R"(
    @%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r2, %r2}], [%r3];
    @%p1 cp.async.bulk.commit_group;
    )" + wait + R"(
    bar.sync 0;
    st.shared.b32 [%r6], %r2;
    ret;)",
                    wait, iota());
}

TEST(Async, BulkStoreReads) {
  const std::string wait = "@%p1 cp.async.bulk.wait_group.read 0;";
  expectWaitMatters(prologue + fillBuffer + R"(
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd4], [%r3], 1024;
    @%p1 cp.async.bulk.commit_group;
    )" + wait + R"(
    bar.sync 0;
    st.shared.b32 [%r6], %r2;
    ret;)",
                    wait, iota());
}

// What a store wrote is read again: waiting for its reads is not enough.
TEST(Async, TensorStoreWrites) {
  std::vector<uint32_t> expected = iota();
  for (uint32_t i = 0; i < 32; ++i)
    expected[i] += 1000;
  const std::string wait = "@%p1 cp.async.bulk.wait_group 0;";
  expectWaitMatters(prologue + fillBuffer + R"(
    @%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r2, %r2}], [%r3];
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group.read 0;
    )" + wait + R"(
    bar.sync 0;
    ld.global.b32 %r14, [%rd6];
    add.u32 %r14, %r14, 1000;
    st.global.b32 [%rd6], %r14;
    ret;)",
                    wait, expected);
}

// A reduction adds to what is there when it is done.
TEST(Async, TensorReduction) {
  std::vector<uint32_t> expected(256);
  for (uint32_t i = 0; i < 256; ++i)
    expected[i] = i + 1 + 0xeeeeeeee + (i < 32 ? 5 : 0);
  for (uint32_t i = 0; i < 32; ++i)
    expected[i] = 2 * (i + 1 + 0xeeeeeeee);
  const std::string wait = "@%p1 cp.async.bulk.wait_group 0;";
  expectWaitMatters(prologue + fillBuffer + R"(
    @%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd2, {%r2, %r2}], [%r3];
    @%p1 cp.async.bulk.commit_group;
    )" + wait + R"(
    bar.sync 0;
    ld.global.b32 %r14, [%rd6];
    add.u32 %r14, %r14, %r14;
    st.global.b32 [%rd6], %r14;
    ret;)",
                    wait, expected);
}

// wait_group n lets the n newest groups go on.
TEST(Async, BulkGroupsAreCounted) {
  std::string body = prologue + fillBuffer + R"(
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd4], [%r3], 512;
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd4+512], [%r3+512], 512;
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group.read N;
    bar.sync 0;
    st.shared.b32 [%r6+ADDRESS], %r2;
    @%p1 cp.async.bulk.wait_group.read 0;
    ret;)";
  auto with = [&](const char *n, const char *address) {
    std::string text = body;
    text.replace(text.find("read N"), 6, std::string("read ") + n);
    text.replace(text.find("ADDRESS"), 7, address);
    return runOn(text, Order::Adversarial, 1);
  };
  EXPECT_EQ(with("1", "0"), iota());
  EXPECT_EQ(with("0", "512"), iota());
  EXPECT_NE(with("1", "512"), iota());
  EXPECT_NE(with("2", "0"), iota());
}

// A ring of two stages: the producer must wait until a stage is empty.
TEST(Async, RingStagesAreReused) {
  const std::string waitEmpty =
      "@%p7 bra EMPTY; mbarrier.try_wait.parity.shared::cta.b64 %p2, [other], "
      "0; @!%p2 bra REFILL;";
  std::string body = prologue + R"(
    setp.ge.u32 %p3, %r1, 32;
    @%p3 bra CONSUME;
    @!%p1 bra END;
    mov.u32 %r20, 0;
    mov.u64 %rd10, %rd3;
    setp.eq.u32 %p7, %r1, 5;
REFILL:
    setp.eq.u32 %p6, %r20, 0;
    @%p6 bra EMPTY;
    )" + waitEmpty + R"(
EMPTY:
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd10], 512, [bar];
    add.u64 %rd10, %rd10, 512;
    add.u32 %r20, %r20, 1;
    setp.lt.u32 %p4, %r20, 2;
    @%p4 bra REFILL;
    bra END;
CONSUME:
    sub.u32 %r1, %r1, 32;
    shl.b32 %r5, %r1, 2;
    add.u32 %r6, %r3, %r5;
    cvt.u64.u32 %rd5, %r5;
    add.u64 %rd6, %rd4, %rd5;
    )" + waitBar + R"(
    ld.shared.b32 %r11, [%r6]; st.global.b32 [%rd6], %r11;
    ld.shared.b32 %r11, [%r6+128]; st.global.b32 [%rd6+128], %r11;
    ld.shared.b32 %r11, [%r6+256]; st.global.b32 [%rd6+256], %r11;
    ld.shared.b32 %r11, [%r6+384]; st.global.b32 [%rd6+384], %r11;
    bar.warp.sync -1;
    setp.eq.u32 %p5, %r1, 0;
    @%p5 mbarrier.arrive.shared::cta.b64 _, [other];
W1: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 1; @!%p2 bra W1;
    ld.shared.b32 %r11, [%r6]; st.global.b32 [%rd6+512], %r11;
    ld.shared.b32 %r11, [%r6+128]; st.global.b32 [%rd6+640], %r11;
    ld.shared.b32 %r11, [%r6+256]; st.global.b32 [%rd6+768], %r11;
    ld.shared.b32 %r11, [%r6+384]; st.global.b32 [%rd6+896], %r11;
END: ret;)";
  EXPECT_EQ(runOn(body, Order::InOrder, 0, 64), iota());
  for (uint64_t seed = 0; seed < 4; ++seed)
    EXPECT_EQ(runOn(body, Order::Adversarial, seed, 64), iota());
  // Without the wait the second arrival comes in the first phase: that is an
  // error of the barrier itself where it does not give wrong values.
  std::string mutant = without(body, waitEmpty);
  TestKernel kernel;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    kernel.load(kernelText(mutant, 3, "", moduleText));
    kernel.shape.block = {64, 1, 1};
    kernel.options.order = Order::Adversarial;
    kernel.options.seed = seed;
    kernel.options.checks = false;
    uint64_t from = kernel.upload(iota()),
             to = kernel.upload(std::vector<uint32_t>(256));
    std::vector<uint8_t> addresses(128);
    std::memcpy(addresses.data(), &from, 8);
    std::memcpy(addresses.data() + 8, &to, 8);
    Error error = kernel.run({kernel.number(0), kernel.number(0), addresses});
    EXPECT_TRUE(error || kernel.download<uint32_t>(to, 256) != iota());
  }
}

// A multicast load credits the barrier of each destination.
TEST(Async, MulticastReachesEachCta) {
  const std::string body =
      prologue + R"(
    mov.u32 %r20, %cluster_ctarank;
    setp.eq.and.u32 %p3, %r20, 0, %p1;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mov.b16 %h1, 3;
    @%p3 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd1, {%r2, %r2}], [bar], %h1;
    )" +
      waitBar + R"(
    setp.ne.u32 %p4, %r20, 1;
    @%p4 bra END;
    )" +
      copyOut +
      "END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;";
  expectWaitMatters(body, waitBar, iota(), 32, 2);
}

// Bytes of a peer's shared memory through st.async's older relative.
TEST(Async, SharedToSharedOfAPeer) {
  const std::string body =
      prologue + R"(
    mov.u32 %r20, %cluster_ctarank;
    setp.eq.and.u32 %p3, %r20, 1, %p1;
    @%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;
    )" +
      fillBuffer + R"(
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    setp.eq.u32 %p4, %r20, 1;
    @%p4 bra RECEIVE;
    mapa.shared::cluster.u32 %r21, %r4, 1;
    mov.u32 %r22, bar;
    mapa.shared::cluster.u32 %r22, %r22, 1;
    @%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r21], [%r3], 1024, [%r22];
    bra END;
RECEIVE:
    add.u32 %r6, %r4, %r5;
    )" +
      waitBar + copyOut +
      "END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;";
  expectWaitMatters(body, waitBar, iota(), 32, 2);
}

TEST(Async, ProductResults) {
  const std::string wait = "wgmma.wait_group.sync.aligned 0;";
  std::vector<uint32_t> expected(256, 0xeeeeeeee);
  float value = 32.0f;
  for (uint32_t i = 0; i < 128; ++i)
    std::memcpy(&expected[i], &value, 4);
  expectWaitMatters(productBody() + wait + "st.global.f32 [%rd6], %d0; ret;",
                    wait, expected, 128);
}

TEST(Async, ProductOperands) {
  const std::string wait = "wgmma.wait_group.sync.aligned 0;";
  std::vector<uint32_t> expected(256, 0xeeeeeeee);
  float value = 32.0f;
  for (uint32_t i = 0; i < 128; ++i)
    std::memcpy(&expected[i], &value, 4);
  expectWaitMatters(productBody() + wait + R"(
    bar.sync 1, 128;
    @%p3 st.shared.v4.b32 [%r19], {%r2, %r2, %r2, %r2};
    bar.sync 1, 128;
    wgmma.wait_group.sync.aligned 0;
    st.global.f32 [%rd6], %d0; ret;)",
                    wait, expected, 128);
}
