//===- ChecksTest.cpp - Each check and the fault that it finds ------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// A right kernel runs silently in every order; a mutant of it is reported by
// the check that is meant for it, whose words are in the message.
//===----------------------------------------------------------------------===//
#include "Reports.h"

using namespace backfuse::emulator;
using namespace backfuse::emulator::test;

namespace {

const std::string expectTx =
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;";
const std::string load =
    "@%p1 "
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
    "bytes [%r3], [%rd1, {%r2, %r2}], [bar];";
const std::string store =
    "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r2, "
    "%r2}], [%r3]; @%p1 cp.async.bulk.commit_group;";
const std::string waitRead = "@%p1 cp.async.bulk.wait_group.read 0;";
const std::string waitProducts = "wgmma.wait_group.sync.aligned 0;";
const std::string proxyFence = "fence.proxy.async.shared::cta;";

} // namespace

// Reads of bytes not yet completed.
TEST(Checks, ReadBeforeTheCopyIsComplete) {
  std::string body = prologue + expectTx + load + waitBar + copyOut + "ret;";
  expectSilent(body);
  expectReport(without(body, waitBar), "has not written yet");
  // The other parity is the phase before, which is over.
  expectReport(replaced(body, "[bar], 0;", "[bar], 1;"), "has not written yet");
  // The message names both accesses.
  Launch launch;
  launch.order = Order::Adversarial;
  std::string error = run(without(body, waitBar), launch);
  EXPECT_NE(error.find("'ld.shared.b32'"), std::string::npos) << error;
  EXPECT_NE(error.find("warp 0 (load), lane 0"), std::string::npos) << error;
  EXPECT_NE(error.find("the copy of PTX line"), std::string::npos) << error;
}

// cp.async writes as its thread does, at the wait for its group.
TEST(Checks, CopiesOfThreadsAreTheirsBehindTheWait) {
  const std::string copy = R"(
    shl.b32 %r7, %r1, 4; add.u32 %r8, %r3, %r7; cvt.u64.u32 %rd7, %r7; add.u64 %rd7, %rd3, %rd7;
    cp.async.cg.shared.global [%r8], [%rd7], 16;
    cp.async.commit_group;)";
  const std::string wait = "cp.async.wait_group 0;", meet = "bar.sync 2, 64;",
                    others = "setp.ge.u32 %p3, %r1, 32; @%p3 ret;";
  std::string body =
      prologue + copy + wait + meet + others + copyOut + "ret;";
  expectSilent(body, threads(64));
  expectReport(without(body, wait), "its completion was not waited for",
               threads(64));
  expectReport(without(body, meet), "without a barrier between the two",
               threads(64));
  // A barrier before the wait orders nothing.
  expectReport(replaced(body, wait + meet, meet + wait),
               "its completion was not waited for|without a barrier",
               threads(64));
  // Its own thread, in the order in which copies are complete by then, too.
  std::string own =
      prologue + copy + wait + "ld.shared.b32 %r11, [%r8]; ret;";
  expectSilent(own, threads(64));
  own = replaced(own, wait, wait + meet + meet + meet);
  EXPECT_NE(run(without(own, wait), threads(64))
                .find("its completion was not waited for"),
            std::string::npos);
  own = replaced(own, "ld.shared.b32 %r11, [%r8]", "st.shared.b32 [%r8], %r1");
  expectSilent(own, threads(64));
  EXPECT_NE(run(without(own, wait), threads(64))
                .find("its completion was not waited for"),
            std::string::npos);
  // An mbarrier that the copies' completion arrives at tells others, too.
  std::string barrier =
      prologue + "@%p1 mbarrier.init.shared.b64 [bar], 64; bar.sync 0;" + copy +
      "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];" + waitBar + others +
      copyOut + "ret;";
  expectSilent(barrier, threads(64));
  expectReport(without(barrier, waitBar), "its completion was not waited for",
               threads(64));
}

// It is a generic access: the asynchronous proxy sees it behind a fence.
TEST(Checks, CopiesOfThreadsNeedTheProxyFence) {
  const std::string copy = R"(
    shl.b32 %r7, %r1, 4; add.u32 %r8, %r3, %r7; cvt.u64.u32 %rd7, %r7; add.u64 %rd7, %rd3, %rd7;
    cp.async.cg.shared.global [%r8], [%rd7], 16;
    cp.async.commit_group;)";
  const std::string wait = "cp.async.wait_group 0;", meet = "bar.sync 2, 64;";
  std::string body = prologue + copy + wait + proxyFence + meet + store +
                     waitRead + "ret;";
  expectSilent(body, threads(64));
  expectReport(without(body, proxyFence), "has not executed fence.proxy.async",
               threads(64));
  expectReport(replaced(body, wait + proxyFence, proxyFence + wait),
               "has not executed fence.proxy.async", threads(64));
  // By the thread that stores, behind the barrier.
  expectSilent(replaced(body, proxyFence + meet, meet + proxyFence),
               threads(64));
  // Products read their operands through the same proxy.
  std::string product = productBody();
  const std::string fill =
      "st.shared.v4.b32 [%r18], {%r15, %r15, %r15, %r15};";
  product = replaced(product, fill,
                     "cvt.u64.u32 %rd7, %r17; and.b64 %rd7, %rd7, 1023; "
                     "add.u64 %rd7, %rd3, %rd7;"
                     "cp.async.cg.shared.global [%r18], [%rd7], 16;"
                     "cp.async.wait_all;") +
            waitProducts + "ret;";
  expectSilent(product, threads(128));
  expectReport(without(product, proxyFence),
               "has not executed fence.proxy.async", threads(128));
}

// A copy that happens to be complete: who did not wait for its barrier cannot
// know.
TEST(Checks, ReadOfACopyWithoutItsBarrier) {
  std::string body = prologue + expectTx + load + waitBar +
                     "nanosleep.u32 20; bar.sync 0;" + copyOut + "ret;";
  Launch launch;
  EXPECT_EQ(run(body, launch), "");
  std::string error = run(without(body, waitBar), launch);
  EXPECT_NE(error.find("its mbarrier was not waited for"), std::string::npos)
      << error;
  // One warp waits, the other learns it at a barrier.
  body = replaced(body, waitBar,
                  "setp.lt.u32 %p3, %r1, 32; @%p3 bra MEET; " + waitBar +
                      " MEET: ");
  body = replaced(body, copyOut, "@!%p3 ret;" + copyOut);
  expectSilent(body, threads(64));
}

// Overwriting bytes still being read: by a store, by a product.
TEST(Checks, OverwriteWhileStillRead) {
  std::string body = prologue + fillBuffer + store + waitRead +
                     "bar.sync 0; st.shared.b32 [%r6], %r2; ret;";
  expectSilent(body);
  expectReport(without(body, waitRead), "still reads: the copy");

  std::string product =
      productBody() + waitProducts +
      "bar.sync 1, 128; @%p3 st.shared.v4.b32 [%r19], {%r2, %r2, %r2, %r2}; "
      "bar.sync 1, 128; wgmma.wait_group.sync.aligned 0; ret;";
  expectSilent(product, threads(128));
  expectReport(without(product, waitProducts), "still reads: the product",
               threads(128));

  // A copy onto the operand.
  product = productBody() + waitProducts + "bar.sync 1, 128;" + expectTx +
            replaced(load, "[%r3]", "[%r4]") + waitBar +
            "wgmma.wait_group.sync.aligned 0; ret;";
  expectSilent(product, threads(128));
  expectReport(without(product, waitProducts), "still reads: the product",
               threads(128));
}

TEST(Checks, CopiesOntoEachOther) {
  std::string body = prologue + replaced(expectTx, "1024", "2048") + load +
                     load + waitBar + "ret;";
  expectReport(body, "is about to write, too");
}

// Ordinary writes that an asynchronous unit reads need the fence, by each
// thread that wrote.
TEST(Checks, WritesWithoutProxyFence) {
  std::string body = prologue + fillBuffer + store + waitRead + "ret;";
  expectSilent(body);
  expectReport(without(body, proxyFence), "has not executed fence.proxy.async");
  expectReport(replaced(body, proxyFence, "@%p1 " + proxyFence),
               "has not executed fence.proxy.async");
  std::string product = productBody() + waitProducts + "ret;";
  expectSilent(product, threads(128));
  expectReport(without(product, proxyFence),
               "has not executed fence.proxy.async", threads(128));
  // A fence behind the barrier covers what its thread has learnt there, in the
  // storing thread and in one that it learns from; not one that nothing orders.
  std::string late = without(body, proxyFence);
  expectSilent(replaced(late, store, "@%p1 " + proxyFence + store));
  std::string relayed = prologue + R"(
    setp.ge.u32 %p3, %r1, 64; setp.ge.u32 %p4, %r1, 32;
    sub.u32 %r14, %r6, 256; @%p3 st.shared.b32 [%r14], %r1;
    bar.sync 0;
    @%p3 bra DONE;
    @%p4 fence.proxy.async.shared::cta;
    bar.sync 1, 64;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd4], [%r3], 128;
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group 0;
DONE: ret;)";
  expectSilent(relayed, threads(96));
  expectReport(without(relayed, "bar.sync 1, 64;"),
               "has not executed fence.proxy.async", threads(96));
  // The fence alone does not order the threads: warp 1 writes, warp 0 stores.
  std::string other = prologue +
                      "setp.ge.u32 %p3, %r1, 32; @%p3 bra FILL0; bra STORE; "
                      "FILL0: sub.u32 %r1, %r1, 32; sub.u32 %r6, %r6, 128;" +
                      fillBuffer + "ret; STORE: bar.sync 0;" + store +
                      waitRead + "ret;";
  expectSilent(other, threads(64));
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Launch launch = threads(64);
    launch.order = Order::Adversarial;
    launch.seed = seed;
    std::string error =
        run(replaced(replaced(other, "STORE: bar.sync 0;", "STORE:"),
                     proxyFence + "\n  bar.sync 0;", proxyFence),
            launch);
    EXPECT_TRUE(error.find("without a barrier between the two") !=
                    std::string::npos ||
                error.find("nobody has written") != std::string::npos ||
                error.find("still reads") != std::string::npos)
        << error;
  }
}

TEST(Checks, RegistersOfProductsInFlight) {
  std::string body =
      productBody() + waitProducts + "st.global.f32 [%rd6], %d0; ret;";
  expectSilent(body, threads(128));
  expectReport(without(body, waitProducts), "reads an accumulator of the wgmma",
               threads(128));
  expectReport(
      replaced(body, waitProducts, "mov.f32 %d3, 0f00000000;" + waitProducts),
      "writes an accumulator of the wgmma", threads(128));
  expectReport(without(body, "wgmma.fence.sync.aligned;"), "no wgmma.fence",
               threads(128));
  // Registers of A may be read, but not written.
  std::string a = replaced(body, "%rd10, %rd11, %p4, 1, 1, 0, 0;",
                           "{%r15, %r15, %r15, %r15}, %rd11, %p4, 1, 1, 0;");
  expectSilent(
      replaced(a, waitProducts, "add.u32 %r40, %r15, 1;" + waitProducts),
      threads(128));
  expectReport(
      replaced(a, waitProducts, "add.u32 %r15, %r15, 1;" + waitProducts),
      "writes a register of A", threads(128));
}

TEST(Checks, UninitialisedData) {
  expectReport(prologue + "ld.shared.b32 %r11, [%r6]; ret;",
               "which nobody has written");
  expectReport(prologue + "st.global.b32 [%rd6], %r50; ret;",
               "reads register '%r50', which was never written");
  expectReport(prologue + "@!%p1 mov.b32 %r50, 1; add.u32 %r51, %r50, 1; ret;",
               "reads register '%r50', which was never written");
  expectSilent(prologue + "@%p1 mov.b32 %r50, 1; mov.b32 %r51, %r50; @%p1 "
                          "st.global.b32 [%rd6], %r51; ret;");
  Launch launch;
  launch.initialised = false;
  expectReport(prologue + "ld.global.b32 %r11, [%rd6]; ret;",
               "reads byte 0 of 'out' (1024 bytes), which nobody has written",
               launch);
  expectReport(prologue + expectTx + replaced(load, "[%rd1,", "[%rd2,") +
                   waitBar + "ret;",
               "which nobody has written", launch);
  // A flag may be polled before it is set, a counter must have been.
  Launch two = launch;
  two.threads = 64;
  EXPECT_EQ(run(prologue +
                    "setp.eq.u32 %p3, %r1, 32; @%p3 st.release.gpu.global.b32 "
                    "[%rd4], %r2; @!%p1 ret;\nL: ld.acquire.gpu.global.b32 "
                    "%r10, [%rd4]; setp.ne.u32 %p4, %r10, 0; @%p4 bra L; ret;",
                two),
            "");
  expectReport(prologue + "@%p1 red.global.add.u32 [%rd4], 1; ret;",
               "which nobody has written", launch);
  // The source of a store and the operand of a product.
  std::string body = prologue + fillBuffer + store + waitRead + "ret;";
  expectReport(
      replaced(body, "setp.lt.u32 %p8, %r10, 8;", "setp.lt.u32 %p8, %r10, 7;"),
      "whose shared memory nobody has written");
  expectReport(replaced(productBody() + waitProducts + "ret;", "%p3, %r1, 16;",
                        "%p3, %r1, 15;"),
               "which nobody has written", threads(128));
}

// What no one wrote of an output is known behind the launch.
TEST(Checks, OutputsThatWereNotWritten) {
  TestKernel kernel;
  kernel.load(kernelText(
      prologue +
          "setp.eq.u32 %p3, %r1, 9; @!%p3 st.global.b32 [%rd6], %r1; ret;",
      3, "", moduleText));
  kernel.shape.block = {32, 1, 1};
  uint64_t to = kernel.machine.allocate(128, "out", false);
  std::vector<uint8_t> addresses(128);
  std::memcpy(addresses.data() + 8, &to, 8);
  kernel.runOk({kernel.number(0), kernel.number(0), addresses});
  EXPECT_EQ(kernel.machine.firstUnwritten(to, 128), 36u);
  EXPECT_EQ(kernel.machine.firstUnwritten(to, 36), 36u);
  EXPECT_EQ(kernel.machine.firstUnwritten(to + 40, 88), 88u);
}

TEST(Checks, UnorderedAccessesOfSharedMemory) {
  // Warp 1 writes, warp 0 reads or writes; a barrier orders the two.
  std::string body = prologue + R"(
    setp.ge.u32 %p3, %r1, 32;
    @%p3 st.shared.b32 [second], %r1;
    bar.sync 1, 64;
    @%p1 ld.shared.b32 %r11, [second];
    ret;)";
  expectSilent(body, threads(64));
  for (uint64_t seed = 0; seed < 4; ++seed) {
    // Either order of the two is a fault, found where the second one comes.
    Launch launch = threads(64);
    launch.order = Order::Adversarial;
    launch.seed = seed;
    std::string error = run(without(body, "bar.sync 1, 64;"), launch);
    EXPECT_TRUE(error.find("without a barrier between the two") !=
                    std::string::npos ||
                error.find("nobody has written") != std::string::npos)
        << error;
  }
  expectReport(replaced(without(body, "bar.sync 1, 64;"),
                        "@%p1 ld.shared.b32 %r11, [second];",
                        "@%p1 st.shared.b32 [second], %r2;"),
               "without a barrier between the two", threads(64));
  // Several warps may store the same value.
  expectSilent(prologue + "st.shared.b32 [second], %r2; ret;", threads(64));
  expectReport(prologue + "st.shared.b32 [second], %r1; ret;",
               "without a barrier between the two", threads(64));
  // Through an mbarrier, a flag, an arrival at a named barrier.
  expectSilent(prologue + R"(
    setp.ge.u32 %p3, %r1, 32; setp.eq.u32 %p4, %r1, 32;
    @%p3 bra WRITE;
    )" + waitBar + R"( ld.shared.b32 %r11, [second]; ret;
WRITE: st.shared.b32 [second], %r1; bar.warp.sync -1;
    @%p4 mbarrier.arrive.shared::cta.b64 _, [bar];
    ret;)",
               threads(64));
  expectSilent(prologue + R"(
    setp.ge.u32 %p3, %r1, 32; setp.eq.u32 %p4, %r1, 32;
    @%p1 st.shared.b32 [second+64], %r2; bar.sync 0;
    @%p3 bra WRITE;
L:  ld.volatile.shared.b32 %r10, [second+64]; setp.eq.u32 %p5, %r10, 0; @%p5 bra L;
    fence.acq_rel.cta; ld.shared.b32 %r11, [second]; ret;
WRITE: @%p4 st.shared.b32 [second], %r1; fence.acq_rel.cta;
    @%p4 st.volatile.shared.b32 [second+64], %r1;
    ret;)",
               threads(64));
}

TEST(Checks, UnorderedAccessesOfDeviceMemory) {
  std::string body = prologue + R"(
    mov.u32 %r20, %ctaid.x;
    setp.eq.u32 %p3, %r20, 1;
    mov.u32 %r20, 5;
    @!%p1 ret;
    @%p3 bra SECOND;
    st.global.b32 [%rd4], %r20;
    st.release.gpu.global.b32 [%rd4+64], %r20;
    ret;
SECOND:
L:  ld.acquire.gpu.global.b32 %r10, [%rd4+64]; setp.eq.u32 %p5, %r10, 0; @%p5 bra L;
    ld.global.b32 %r11, [%rd4];
    mov.u32 %r20, 6;
    st.global.b32 [%rd4], %r20;
    ret;)";
  expectSilent(body, grid(2));
  const std::string wait = "ld.acquire.gpu.global.b32 %r10, [%rd4+64]; "
                           "setp.eq.u32 %p5, %r10, 0; @%p5 bra L;";
  auto reports = [&](const std::string &mutant) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Launch launch = grid(2);
      launch.order = Order::Adversarial;
      launch.seed = seed;
      EXPECT_NE(
          run(mutant, launch).find("without a synchronisation between the two"),
          std::string::npos);
    }
  };
  reports(without(body, wait));
  reports(without(without(body, wait), "ld.global.b32 %r11, [%rd4];"));
  // Several CTAs may store the same value.
  expectSilent(prologue + "@%p1 st.global.b32 [%rd4], %r2; ret;", grid(4));
  // An atomic counter orders, too.
  expectSilent(prologue + R"(
    mov.u32 %r20, %ctaid.x; mul.wide.u32 %rd7, %r20, 4; add.u64 %rd7, %rd4, %rd7;
    @!%p1 ret;
    st.global.b32 [%rd7], %r20;
    fence.acq_rel.gpu;
    atom.global.add.u32 %r10, [%rd4+64], 1;
    setp.ne.u32 %p3, %r10, 3; @%p3 ret;
    fence.acq_rel.gpu;
    ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd4];
    ret;)",
               grid(4));
}

// A store that other CTAs see must be complete, not only read.
TEST(Checks, StorePublishedTooEarly) {
  std::string body = prologue + R"(
    mov.u32 %r20, %ctaid.x;
    setp.eq.u32 %p3, %r20, 0;
    @%p3 bra SECOND;
    )" + fillBuffer + store +
                     R"( @%p1 cp.async.bulk.wait_group 0;
    @%p1 red.release.gpu.global.add.u32 [flag], 1;
    @%p1 cp.async.bulk.wait_group 0;
    ret;
SECOND:
    @!%p1 ret;
L:  ld.acquire.gpu.global.b32 %r10, [flag]; setp.eq.u32 %p5, %r10, 0; @%p5 bra L;
    ld.global.b32 %r11, [%rd4];
    ret;)";
  auto withFlag = [](const std::string &text, Launch launch) {
    TestKernel kernel;
    kernel.load(kernelText(text, 3, "",
                           moduleText + "\n.global .align 4 .u32 flag = 0;"));
    kernel.shape.block = {32, 1, 1};
    kernel.shape.grid = {2, 1, 1};
    kernel.options.order = launch.order;
    kernel.options.seed = launch.seed;
    uint64_t to = kernel.machine.allocate(1024, "out", false);
    TensorMapParams map;
    map.type = MapType::UInt32;
    map.rank = 2;
    map.address = to;
    map.sizes[0] = 32, map.sizes[1] = 8;
    map.strides[0] = 128;
    map.box[0] = 32, map.box[1] = 8;
    std::vector<uint8_t> addresses(128);
    std::memcpy(addresses.data() + 8, &to, 8);
    return kernel.run({kernel.map(map), kernel.map(map), addresses}).text();
  };
  Launch launch;
  launch.order = Order::Adversarial;
  EXPECT_EQ(withFlag(body, launch), "");
  std::string mutant =
      replaced(body, "@%p1 cp.async.bulk.wait_group 0;", waitRead);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    launch.seed = seed;
    std::string error = withFlag(mutant, launch);
    EXPECT_TRUE(error.find("which nobody has written") != std::string::npos ||
                error.find("without a synchronisation") != std::string::npos)
        << error;
  }
}

// Copies whose device memory is not there, or read-only.
TEST(Checks, CopiesOutOfBounds) {
  const std::string bulk =
      prologue + replaced(expectTx, "1024", "512") +
      "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%r3], [%rd3], 512, [bar];" +
      waitBar + "ret;";
  expectSilent(bulk);
  expectReport(replaced(bulk, "[%rd3]", "[%rd3+528]"),
               "is out of bounds or read-only: byte 528 of 'in' (1024 bytes)");
  expectReport(replaced(bulk, "[%rd3]", "[%rd3+8]"), "not a multiple of 16");
  expectReport(prologue + fillBuffer +
                   "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd3], "
                   "[%r3], 512; ret;",
               "read-only: byte 0 of 'in'");
  // A map of more rows than there are.
  TestKernel kernel;
  kernel.load(kernelText(prologue + "mov.u32 %r10, 4;" + expectTx +
                             replaced(load, "{%r2, %r2}", "{%r2, %r10}") +
                             waitBar + "ret;",
                         3, "", moduleText));
  kernel.shape.block = {32, 1, 1};
  TensorMapParams map;
  map.type = MapType::UInt32;
  map.rank = 2;
  map.address = kernel.upload(std::vector<uint32_t>(256, 7), "in");
  map.sizes[0] = 32, map.sizes[1] = 9;
  map.strides[0] = 128;
  map.box[0] = 32, map.box[1] = 8;
  std::string error =
      kernel.run({kernel.map(map), kernel.map(map), kernel.number(0)}).text();
  EXPECT_NE(error.find("the tensor map reaches 128 bytes"), std::string::npos)
      << error;
  EXPECT_NE(error.find("byte 1024 of 'in' (1024 bytes)"), std::string::npos)
      << error;
}

TEST(Checks, BytesThatTheBarrierDoesNotExpect) {
  std::string body = prologue + expectTx + load + waitBar + "ret;";
  expectReport(replaced(body, "1024", "512"), "bytes more than it expects");
  expectReport(replaced(body, "1024", "2048"), "1024 bytes are missing");
  expectReport(replaced(body, expectTx, expectTx + expectTx),
               "arrivals, but its phase expects only");
}

// Two groups of warps on one named barrier meet the wrong partners.
TEST(Checks, TwoRolesOnOneNamedBarrier) {
  std::string body = prologue + R"(
    setp.lt.u32 %p3, %r1, 64;
    mov.u32 %r20, 1; @%p3 mov.u32 %r20, 2;
    bar.sync %r20, 64;
    bar.sync %r20, 64;
    ret;)";
  expectSilent(body, threads(128));
  expectReport(replaced(body, "@%p3 mov.u32 %r20, 2;", "@%p3 mov.u32 %r20, 1;"),
               "use at the same time", threads(128));
}

TEST(Checks, MbarrierInitialisation) {
  // Another warp uses the barrier before it can know that it is there.
  std::string body = prologue + "setp.eq.u32 %p3, %r1, 32; @%p3 "
                                "mbarrier.arrive.shared.b64 _, [bar]; ret;";
  expectSilent(body, threads(64));
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Launch launch = threads(64);
    launch.order = Order::Adversarial;
    launch.seed = seed;
    std::string error = run(without(body, "bar.sync 0;"), launch);
    EXPECT_TRUE(error.find("without a barrier after its initialisation") !=
                    std::string::npos ||
                error.find("no mbarrier was initialised") != std::string::npos)
        << error;
  }
  // In a CTA a barrier behind the initialisation is enough for copies on
  // hardware (Triton's kernels have no fence); in a cluster it is not.
  std::string copy = prologue + expectTx + load + waitBar + "ret;";
  const std::string fence = "fence.mbarrier_init.release.cluster;";
  expectSilent(copy);
  expectReport(without(copy, fence), "was not followed by fence.mbarrier_init");
  Launch lenient;
  lenient.strict = false;
  expectSilent(without(copy, fence), lenient);
  expectReport(without(without(copy, fence), "bar.sync 0;"),
               "was not followed by fence.mbarrier_init", lenient);
  expectSilent(copy, grid(2, 2));
  lenient = grid(2, 2);
  lenient.strict = false;
  expectReport(without(copy, fence), "was not followed by fence.mbarrier_init",
               lenient);
  // Ordinary accesses of a barrier's bytes.
  expectReport(prologue + "ld.shared.b32 %r10, [bar]; ret;",
               "which is an mbarrier");
  expectReport(prologue + "st.shared.b32 [bar], %r2; ret;",
               "which is an mbarrier");
  expectSilent(prologue + "@%p1 mbarrier.inval.shared.b64 [bar]; @%p1 "
                          "st.shared.b32 [bar], %r2; ret;");
}

TEST(Checks, IllegalDescriptors) {
  std::string body = productBody() + waitProducts + "ret;";
  // Bits that must be zero, a base offset, an operand outside shared memory.
  expectReport(replaced(body, "mov.b32 %r22, 8;", "mov.b32 %r22, 0x00100008;"),
               "reserved bits", threads(128));
  expectReport(replaced(body, "mov.b32 %r22, 8;", "mov.b32 %r22, 0x00020008;"),
               "base offset", threads(128));
  expectReport(replaced(body, "mov.b32 %r22, 8;", "mov.b32 %r22, 0x00003ff8;"),
               "out of bounds", threads(128));
  expectReport(replaced(body, "mov.b32 %r22, 8;", "mov.b32 %r22, 0;"), "is 0",
               threads(128));
  // 128-byte swizzle: pattern and strides.
  std::string swizzled =
      replaced(body, "mov.b32 %r22, 8;", "mov.b32 %r22, 0x40000040;");
  expectReport(replaced(swizzled, "shr.u32 %r20, %r3, 4;",
                        "add.u32 %r20, %r3, 128; shr.u32 %r20, %r20, 4;"),
               "beginning of a swizzle pattern", threads(128));
  expectReport(replaced(swizzled, "0x40000040", "0x40000008"),
               "not a multiple of the swizzle pattern", threads(128));
  expectReport(replaced(swizzled, "shr.u32 %r20, %r3, 4;",
                        "add.u32 %r20, %r3, 112; shr.u32 %r20, %r20, 4;"),
               "K leaves the row", threads(128));
  // MN-major: panels.
  std::string panels =
      replaced(replaced(swizzled, "1, 1, 0, 0;", "1, 1, 1, 0;"),
               "or.b32 %r20, %r20, 0x00400000;", "");
  panels = replaced(panels, "shr.u32 %r20, %r3, 4;",
                    "add.u32 %r20, %r3, 32; shr.u32 %r20, %r20, 4;");
  expectReport(panels, "inside a panel", threads(128));
}

TEST(Checks, WarpsOfAWarpgroupDisagree) {
  std::string body = productBody() + waitProducts + "ret;";
  expectReport(replaced(body, "mov.b64 %rd11,",
                        "setp.ge.u32 %p5, %r1, 96; @%p5 add.u32 %r21, %r21, 8; "
                        "mov.b64 %rd11,"),
               "issue different products", threads(128));
}

TEST(Checks, WorkInFlightAtTheEnd) {
  std::string body = prologue + expectTx + load + waitBar + "ret;";
  expectReport(without(body, waitBar), "the CTA exits while the copy");
  body = prologue + fillBuffer + store + waitRead + "ret;";
  expectSilent(body);
  expectReport(without(body, waitRead), "has not read its shared memory");
  expectReport(without(productBody() + waitProducts + "ret;", waitProducts),
               "exits while the wgmma", threads(128));
}

// Checks cost time: without them nothing is reported that has no effect.
// A launch that may overlap the one before it waits for that before it touches
// what it wrote.
TEST(Checks, DependentLaunches) {
  const std::string wait = "griddepcontrol.wait; ";
  auto launchTwo = [&](const std::string &second, bool dependent, Order order) {
    TestKernel kernel;
    std::string start =
        "ld.param.u64 %rd1, [p0]; ld.param.u64 %rd7, [p1]; mov.u32 %r1, "
        "%tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; add.u64 "
        "%rd8, %rd7, %rd2; ";
    uint64_t data = kernel.machine.allocate(512, "data", false);
    uint64_t out = kernel.machine.allocate(512, "out", false);
    kernel.shape.block = {64, 1, 1};
    kernel.options.order = order;
    std::vector<std::vector<uint8_t>> args = {kernel.number(data),
                                              kernel.number(out)};
    kernel.load(kernelText(start + "st.global.u32 [%rd3], %r1; "
                                   "griddepcontrol.launch_dependents; ret;",
                           2));
    kernel.runOk(args);
    kernel.load(kernelText(start + second + " ret;", 2));
    kernel.options.dependent = dependent;
    return kernel.run(args).text();
  };
  const std::string use =
      "ld.global.u32 %r2, [%rd3]; st.global.u32 [%rd8], %r2;";
  for (Order order : {Order::InOrder, Order::Random, Order::Adversarial}) {
    EXPECT_EQ(launchTwo(wait + use, true, order), "");
    EXPECT_EQ(launchTwo(use, false, order), "");
    // One thread waits, a barrier tells the others.
    EXPECT_EQ(launchTwo("setp.eq.u32 %p1, %r1, 0; @%p1 " + wait +
                            "bar.sync 0; " + use,
                        true, order),
              "");
    // What nobody wrote before may be touched.
    EXPECT_EQ(launchTwo("st.global.u32 [%rd8], %r1; " + wait +
                            "ld.global.u32 %r2, [%rd3];",
                        true, order),
              "");
    EXPECT_NE(launchTwo(use, true, order).find("without griddepcontrol.wait"),
              std::string::npos);
    EXPECT_NE(launchTwo("st.global.u32 [%rd3], %r1; " + wait, true, order)
                  .find("which the launch before writes"),
              std::string::npos);
    EXPECT_NE(launchTwo("setp.eq.u32 %p1, %r1, 0; @%p1 " + wait + use, true,
                        order)
                  .find("without griddepcontrol.wait"),
              std::string::npos);
  }
}

TEST(Checks, CanBeSwitchedOff) {
  Launch launch;
  launch.checks = false;
  EXPECT_EQ(run(prologue + "ld.shared.b32 %r11, [%r6]; ret;", launch), "");
}
