//===- TensorChecksTest.cpp - Faults in the use of tensor memory ---------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// A right kernel runs silently in every order and its values are those of the
// formula; a mutant of it is reported by the check that is meant for it. With
// the checks off, a missing wait gives a wrong value in an adversarial order.
//===----------------------------------------------------------------------===//
#include "TensorKernels.h"

using namespace backfuse::emulator;
using namespace backfuse::emulator::test;

namespace {

// A: 128 x 16 ones of bf16 without swizzle, then B: 16 x 16 twos, then 16 x 16
// threes. Products are 32 and 48.
constexpr uint32_t atB = smemAt + 4096, atB2 = atB + 512;
constexpr uint64_t plain = uint64_t(1) << 46;
constexpr uint64_t descriptorOf(uint32_t at, uint64_t lbo) {
  return at >> 4 | (lbo >> 4) << 16 | uint64_t(128 >> 4) << 32 | plain;
}
constexpr uint64_t descA = descriptorOf(smemAt, 2048),
                   descB = descriptorOf(atB, 256),
                   descB2 = descriptorOf(atB2, 256);
constexpr uint32_t idesc =
    1 << 4 | 1 << 7 | 1 << 10 | (16 >> 3) << 17 | (128 >> 4) << 24;

std::vector<uint8_t> operands() {
  std::vector<uint16_t> values(3072, 0x3f80);
  std::fill_n(values.begin() + 2048, 256, uint16_t(0x4000));
  std::fill_n(values.begin() + 2304, 256, uint16_t(0x4040));
  std::vector<uint8_t> bytes(6144);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Launch {
  Order order = Order::InOrder;
  uint64_t seed = 0;
  bool checks = true, strict = true;
  unsigned cluster = 1, grid = 1, threads = 128;
  uint64_t a = descA, b = descB, form = idesc;
};

struct Outcome {
  std::string error;
  std::vector<uint32_t> out;
};

Outcome run(const std::string &body, const Launch &launch) {
  TestKernel kernel;
  Outcome outcome;
  outcome.error =
      kernel.machine
          .loadPtx(blackwellText(body, 6, tensorModule), kernel.module)
          .text();
  if (!outcome.error.empty())
    return outcome;
  kernel.shape.block = {launch.threads, 1, 1};
  kernel.shape.grid = {launch.cluster * launch.grid, 1, 1};
  kernel.shape.cluster = {launch.cluster, 1, 1};
  kernel.shape.dynamicSmemBytes = 16384;
  kernel.options.order = launch.order;
  kernel.options.seed = launch.seed;
  kernel.options.checks = launch.checks;
  kernel.options.strict = launch.strict;
  kernel.options.roles = {"0-0 multiply"};
  uint64_t image = kernel.upload(operands());
  size_t count = 4096;
  uint64_t out = kernel.upload(std::vector<uint32_t>(count));
  outcome.error = kernel
                      .run({kernel.number(image), kernel.number(6144),
                            kernel.number(launch.a), kernel.number(launch.b),
                            kernel.number(out), kernel.number(launch.form)})
                      .text();
  outcome.out = kernel.download<uint32_t>(out, count);
  return outcome;
}

std::vector<Launch> orders(Launch launch) {
  std::vector<Launch> all{launch};
  for (uint64_t seed = 0; seed < 6; ++seed)
    for (Order order : {Order::Random, Order::Adversarial}) {
      launch.order = order;
      launch.seed = seed;
      all.push_back(launch);
    }
  return all;
}

void expectSilent(const std::string &body, const Launch &base = {}) {
  for (const Launch &launch : orders(base))
    EXPECT_EQ(run(body, launch).error, "")
        << "order " << static_cast<int>(launch.order) << ", seed "
        << launch.seed;
}

/// Reported with these words (or those behind a '|'), in every order.
void expectReport(const std::string &body, const std::string &words,
                  const Launch &base = {}, bool onlyAdversarial = false) {
  size_t bar = words.find('|');
  for (const Launch &launch : orders(base)) {
    if (onlyAdversarial && launch.order != Order::Adversarial)
      continue;
    std::string error = run(body, launch).error;
    EXPECT_TRUE(error.find(words.substr(0, bar)) != std::string::npos ||
                (bar != std::string::npos &&
                 error.find(words.substr(bar + 1)) != std::string::npos))
        << "expected: " << words << "\norder " << static_cast<int>(launch.order)
        << ", seed " << launch.seed << " got: " << error;
  }
}

/// The same in the adversarial orders: where chance may hide the fault else.
void expectAdversarial(const std::string &body, const std::string &words,
                       const Launch &base = {}) {
  expectReport(body, words, base, true);
}

std::string without(const std::string &text, const std::string &what,
                    unsigned n = 0) {
  return replacedAt(text, n, what, "");
}

const std::string mma =
    "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd3, %rd4, %r20, 0;\n";
const std::string mma2 =
    "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd3, %rd7, %r20, 0;\n";
const std::string commit =
    "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster."
    "b64 [full];\n";
const std::string after = "tcgen05.fence::after_thread_sync;\n";
const std::string before = "tcgen05.fence::before_thread_sync;\n";
const std::string load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r36}, "
                         "[%r4];\n";
const std::string waitLoads = "tcgen05.wait::ld.sync.aligned;\n";
const std::string waitStores = "tcgen05.wait::st.sync.aligned;\n";
const std::string parameters =
    "ld.param.u64 %rd3, [p2]; ld.param.u64 %rd4, [p3]; ld.param.u64 %rd5, "
    "[p4]; ld.param.u32 %r20, [p5]; mov.b64 %rd7, " +
    std::to_string(descB2) +
    "; mul.wide.u32 %rd6, %r1, 8; add.u64 %rd5, %rd5, %rd6;\n";
const std::string end = replacedAll(tensorEnd, "COLUMNS", "32");
const std::string start =
    replacedAll(tensorStart, "COLUMNS", "32") + parameters;

/// Two products on one accumulator, each read by all warps: 32, then 48.
const std::string twoTiles =
    start + mma + commit + waitFor("full", 0, "W0") + after + load + waitLoads +
    "cvt.u64.u32 %rd8, %r36;\n" + before + "bar.sync 1, 128;\n" + after + mma2 +
    commit + waitFor("full", 1, "W1") + after +
    "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r37}, [%r4];\n" + waitLoads +
    "st.global.u64 [%rd5], %rd8; st.global.u32 [%rd5+4], %r37;\n" + end;

/// The same, with the first tile's registers read behind the second's wait.
std::string readLate() {
  const std::string read = "cvt.u64.u32 %rd8, %r36;\n";
  return replacedAt(without(twoTiles, read), 0, "st.global.u64",
                    read + "st.global.u64");
}

/// Whether the output is `first`, `second` for each thread.
bool gives(const std::vector<uint32_t> &out, float first, float second) {
  for (unsigned t = 0; t < 128; ++t) {
    float got[2];
    std::memcpy(got, out.data() + 2 * t, 8);
    if (got[0] != first || got[1] != second)
      return false;
  }
  return true;
}

/// Some adversarial seed gives another value with the checks off; the kernel
/// that it was made of gives these in all orders.
void expectWrongValue(const std::string &right, const std::string &wrong,
                      float first, float second) {
  Launch off;
  off.checks = false;
  unsigned bad = 0;
  for (const Launch &launch : orders(off)) {
    Outcome good = run(right, launch);
    ASSERT_EQ(good.error, "");
    EXPECT_TRUE(gives(good.out, first, second));
    Outcome other = run(wrong, launch);
    if (launch.order == Order::Adversarial)
      bad += !other.error.empty() || !gives(other.out, first, second);
    EXPECT_EQ(other.error, "");
  }
  EXPECT_GT(bad, 0u);
}

} // namespace

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

TEST(TensorChecks, AccumulatorReadBeforeItsCommit) {
  expectSilent(twoTiles);
  // Who comes before the product is even issued reads nothing.
  expectReport(without(twoTiles, waitFor("full", 0, "W0")),
               "the mbarrier of its tcgen05.commit was not waited for|which "
               "nobody has written");
  expectReport(without(twoTiles, waitFor("full", 1, "W1")),
               "the mbarrier of its tcgen05.commit was not waited for|it has "
               "not executed tcgen05.wait::ld");
  // The fence behind the wait (0 stands in `start`).
  expectReport(without(twoTiles, after, 1),
               "no tcgen05.fence::after_thread_sync came since");
}

TEST(TensorChecks, CommitOfAnotherThreadDoesNotCover) {
  std::string other =
      "setp.eq.u32 %p7, %r1, 1;\n" + replacedAll(commit, "@%p1", "@%p7");
  expectReport(replacedAt(twoTiles, 0, commit, other),
               "the mbarrier of its tcgen05.commit was not waited for");
}

TEST(TensorChecks, OverwrittenBeforeItsLoadsHaveCompleted) {
  expectReport(without(readLate(), waitLoads),
               "it has not executed tcgen05.wait::ld");
  expectReport(without(twoTiles, before, 1),
               "tcgen05.fence::before_thread_sync since its tcgen05.wait::ld");
  expectAdversarial(without(twoTiles, "bar.sync 1, 128;\n"), "loads: ");
  expectReport(without(twoTiles, after, 2),
               "no tcgen05.fence::after_thread_sync came since");
}

TEST(TensorChecks, StoresAreWaitedFor) {
  // The other half of the warp's lanes reads what this one stored.
  std::string body =
      start + "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r1};\n" +
      waitStores + load + waitLoads + "st.global.u32 [%rd5], %r36;\n" + end;
  expectSilent(body);
  expectReport(without(body, waitStores),
               "it has not executed tcgen05.wait::st");
  // A product that reads A, which all warps stored.
  body = start +
         "mov.b32 %r38, 0x3f803f80;\n"
         "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r4+16], {%r38, "
         "%r38, %r38, %r38, %r38, %r38, %r38, %r38};\n" +
         waitStores + before + "bar.sync 1, 128;\n" + after +
         replacedAll(mma, "%rd3", "[%r3+16]") + commit +
         waitFor("full", 0, "W0") + after + load + waitLoads +
         "st.global.u32 [%rd5], %r36;\n" + end;
  expectSilent(body);
  expectReport(without(body, waitStores), "tcgen05.wait::st");
  expectReport(without(body, before, 1),
               "tcgen05.fence::before_thread_sync since its tcgen05.wait::st");
  expectReport(without(body, after, 1),
               "no tcgen05.fence::after_thread_sync came since");
}

TEST(TensorChecks, AIsReadUntilTheCommit) {
  std::string again =
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r4+16], {%r38, %r38, %r38, "
      "%r38, %r38, %r38, %r38, %r38};\n";
  std::string body = start + "mov.b32 %r38, 0x3f803f80;\n" + again +
                     waitStores + before + "bar.sync 1, 128;\n" + after +
                     replacedAll(mma, "%rd3", "[%r3+16]") + commit + before +
                     "bar.sync 1, 128;\n" + after + waitFor("full", 0, "W0") +
                     after + again + waitStores + end;
  expectSilent(body);
  expectReport(without(body, waitFor("full", 0, "W0")),
               "reads as A: the mbarrier of its tcgen05.commit");
}

TEST(TensorChecks, ProductsOfDifferentShapeAreNotOrdered) {
  std::string body = start + mma + "add.u32 %r21, %r20, 131072;\n" // N + 8
                     + replacedAll(mma, "%r20", "%r21") + commit +
                     waitFor("full", 0, "W0") + after + end;
  Launch launch;
  // B has 16 rows: let it reach into the next operand.
  expectReport(body, "overwrites tensor memory", launch);
  body = start + mma + mma + commit + waitFor("full", 0, "W0") + after + end;
  expectSilent(body);
}

TEST(TensorChecks, MissingWaitsGiveWrongValues) {
  // The commit's barrier.
  expectWrongValue(twoTiles, without(twoTiles, waitFor("full", 0, "W0")), 32,
                   48);
  // wait::ld: warps 1 to 3 hand the accumulator back before they have it.
  std::string late = readLate();
  expectWrongValue(late, without(late, waitLoads), 32, 48);
  // wait::st: A of the product is stored by all warps.
  std::string stores =
      start +
      "mov.b32 %r38, 0x3f803f80; mov.b32 %r39, 0x40004000;\n"
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r4+16], {%r38, %r38, "
      "%r38, %r38, %r38, %r38, %r38, %r38};\n" +
      waitStores +
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r4+16], {%r39, %r39, %r39, "
      "%r39, %r39, %r39, %r39, %r39};\n" +
      waitStores + before + "bar.sync 1, 128;\n" + after +
      replacedAll(mma, "%rd3", "[%r3+16]") + commit + waitFor("full", 0, "W0") +
      after + load + waitLoads +
      "st.global.u32 [%rd5], %r36; st.global.u32 [%rd5+4], %r36;\n" + end;
  expectWrongValue(stores, without(stores, waitStores, 1), 64, 64);
  // cp: the copy's commit.
  std::string copies =
      start + "@%p1 tcgen05.cp.cta_group::1.128x128b [%r3], %rd3;\n" + commit +
      waitFor("full", 0, "W0") + after + load + waitLoads +
      "st.global.u32 [%rd5], %r36; st.global.u32 [%rd5+4], %r36;\n" + end;
  float ones;
  uint32_t bits = 0x3f803f80;
  std::memcpy(&ones, &bits, 4);
  expectWrongValue(copies, without(copies, waitFor("full", 0, "W0")), ones,
                   ones);
}

TEST(TensorChecks, RegistersOfLoadsAreReadBehindTheWait) {
  std::string read = "st.global.u32 [%rd5], %r36;\n"
                     "st.global.u32 [%rd5+4], %r36;\n";
  std::string prefix =
      start + mma + commit + waitFor("full", 0, "W0") + after + load;
  expectSilent(prefix + waitLoads + read + end);
  expectReport(prefix + read + waitLoads + end,
               "reads a register that the tcgen05.ld of PTX line");
  // One of two loads is behind the wait.
  std::string two = prefix + waitLoads + replacedAll(load, "%r36", "%r37");
  expectSilent(two + read + waitLoads + end);
  expectReport(two + replacedAll(read, "%r36", "%r37") + waitLoads + end,
               "reads a register that the tcgen05.ld of PTX line");
  // Moves before the wait carry on what is not there yet.
  std::string moved = prefix + "mov.b32 %r37, %r36;\n"
                               "mov.b64 %rd8, {%r37, %r36};\n",
              store = "st.global.u64 [%rd5], %rd8;\n";
  expectSilent(moved + waitLoads + store + end);
  expectReport(moved + store + waitLoads + end,
               "reads a register that the tcgen05.ld of PTX line");
  // What is written anew in between is no longer the load's.
  expectSilent(prefix + "mov.b32 %r36, 7;\n" + read + waitLoads + end);
  // Others leave it to ptxas to wait for registers: the values are there.
  for (Launch launch : orders({})) {
    launch.strict = false;
    Outcome outcome = run(prefix + read + waitLoads + end, launch);
    EXPECT_EQ(outcome.error, "");
    EXPECT_TRUE(gives(outcome.out, 32, 32));
  }
}

// Triton leaves its last commit on its way and invalidates the mbarrier.
TEST(TensorChecks, CommitToAnInvalidatedMbarrier) {
  const std::string inval = "@%p1 mbarrier.inval.shared.b64 [full];\n",
                    meet = "bar.sync 2, 128;\n";
  std::string body = start + mma + commit + waitFor("full", 0, "W0") + meet +
                     inval + after + end;
  expectSilent(body);
  std::string early = start + mma + replacedAll(commit, "full", "other") +
                      waitFor("other", 0, "W0") + commit + inval + meet + meet +
                      after + end;
  expectAdversarial(early, "whose mbarrier was invalidated before|the CTA "
                           "exits while");
  Launch lax;
  lax.strict = false;
  expectSilent(early, lax);
}

TEST(TensorChecks, OperandsAreReadUntilTheCommit) {
  std::string overwrite = "st.shared.b32 [%r6+-6144], %r1;\n";
  std::string body = start + mma + commit + "bar.sync 1, 128;\n" +
                     waitFor("full", 0, "W0") + overwrite + after + end;
  expectSilent(body);
  expectAdversarial(without(body, waitFor("full", 0, "W0")),
                    "still reads: the product");
}

TEST(TensorChecks, OperandsNeedTheProxyFence) {
  expectReport(without(twoTiles, "fence.proxy.async.shared::cta;\n"),
               "has not executed fence.proxy.async");
}

TEST(TensorChecks, OperandsCopiedByThreadsNeedTheProxyFence) {
  std::string wait = "cp.async.commit_group; cp.async.wait_group 0;\n",
              fence = "fence.proxy.async.shared::cta;\n";
  std::string body = replacedAll(
      twoTiles, "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1];\n", "");
  body =
      replacedAll(body, "st.shared.v4.b32 [%r6], {%r10, %r11, %r12, %r13};\n",
                  "cp.async.cg.shared.global [%r6], [%rd1], 16;\n");
  body = replacedAll(body, fence, wait + fence);
  expectSilent(body);
  expectReport(without(body, fence), "has not executed fence.proxy.async");
  // The fence comes too early.
  expectReport(replacedAll(body, wait + fence, fence + wait),
               "has not executed fence.proxy.async");
}

TEST(TensorChecks, ReadsOfWhatNobodyWrote) {
  expectReport(start + load + waitLoads + end, "which nobody has written");
  expectReport(start + replacedAll(mma, ", 0;", ", 1;") + commit +
                   waitFor("full", 0, "W0") + after + end,
               "accumulates in tensor memory");
}

TEST(TensorChecks, OneThreadIssues) {
  expectReport(replacedAt(twoTiles, 0, "@%p1 tcgen05.mma", "@%p2 tcgen05.mma"),
               "expects one elected thread");
  expectReport(
      replacedAt(twoTiles, 0, "@%p1 tcgen05.commit", "@%p2 tcgen05.commit"),
      "expects one elected thread");
}

TEST(TensorChecks, CommitNeedsAnMbarrier) {
  expectReport(without(twoTiles, "@%p1 mbarrier.init.shared.b64 [full], 1;"),
               "no mbarrier was initialised");
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

TEST(TensorChecks, AccessOutsideTheAllocation) {
  expectReport(replacedAll(twoTiles, "{%r36}, [%r4]", "{%r36}, [%r4+32]"),
               "loads columns 32 to 32 of the tensor memory of CTA 0, which "
               "has allocated columns 0 to 31");
  expectReport(replacedAt(twoTiles, 0, "kind::f16 [%r3]", "kind::f16 [%r3+24]"),
               "writes columns 24 to 39");
}

TEST(TensorChecks, WarpsHaveTheirLanes) {
  std::string wrong = replacedAll(twoTiles, "shl.b32 %r4, %r2, 21;",
                                  "xor.b32 %r4, %r2, 1; shl.b32 %r4, %r4, 21;");
  expectReport(wrong, "may use lanes");
  // Hardware ignores the quarter; programs may leave it 0.
  expectSilent(
      replacedAll(twoTiles, "shl.b32 %r4, %r2, 21;", "mov.b32 %r4, 0;"));
}

TEST(TensorChecks, EverythingIsFreed) {
  std::string dealloc =
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;\n";
  expectReport(without(twoTiles, dealloc),
               "exits and has not freed tensor memory: columns 0 to 31");
  // On one path only.
  expectReport(replacedAll(twoTiles, parameters,
                           parameters + "mov.u32 %r30, %ctaid.x; setp.eq.u32 "
                                        "%p7, %r30, 1; @%p7 ret;\n"),
               "exits and has not freed", [] {
                 Launch launch;
                 launch.grid = 2;
                 return launch;
               }());
  expectReport(replacedAll(twoTiles, "b32 %r3, 32;", "b32 %r3, 64;"),
               "frees 64 columns");
  // While a product may be running.
  std::string body =
      start + mma + commit + end + "tcgen05.wait::ld.sync.aligned;";
  expectReport(body, "frees tensor memory");
}

TEST(TensorChecks, AllocationsKeepTheRules) {
  std::string alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 "
                      "[where], 32;\n";
  std::string relinquish =
      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n";
  expectReport(replacedAll(twoTiles, relinquish, relinquish + alloc),
               "gave up its permit");
  expectReport(replacedAll(twoTiles, alloc,
                           alloc + replacedAll(alloc, ", 32;", ", 64;")),
               "must not grow");
  expectReport(replacedAll(twoTiles, "[where], 32;", "[where], 48;"),
               "expects a power of two");
  // More than there is: waits for ever.
  expectReport(replacedAll(twoTiles, alloc,
                           replacedAll(alloc, ", 32;", ", 512;") + alloc),
               "waits for 32 columns of tensor memory");
  // The address is read without a barrier.
  expectAdversarial(replacedAt(start, 0,
                               "tcgen05.fence::before_thread_sync;\n  "
                               "bar.sync 0;",
                               "") +
                        end,
                    "which nobody has written|without a barrier between");
}

TEST(TensorChecks, OneCtaGroupPerKernel) {
  std::string body = replacedAt(twoTiles, 0, "tcgen05.commit.cta_group::1",
                                "tcgen05.commit.cta_group::2");
  expectReport(body, "must have the same .cta_group");
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

TEST(TensorChecks, SharedMemoryDescriptors) {
  struct Fault {
    uint64_t a;
    const char *words;
  };
  auto swizzledA = [](uint64_t code, uint32_t at, uint64_t sbo) {
    return at >> 4 | uint64_t(1) << 16 | sbo >> 4 << 32 | plain | code << 61;
  };
  for (const Fault &fault :
       {Fault{descA & ~plain, "bits 46-48 are 0"},
        Fault{descA | uint64_t(1) << 47, "bits 46-48 are 3"},
        Fault{descA | 1 << 14, "reserved bits"},
        Fault{descA | uint64_t(1) << 53, "reserved bits"},
        Fault{descA | uint64_t(1) << 49, "base offset"},
        Fault{descA | uint64_t(1) << 52, "absolute LBO"},
        Fault{descA | uint64_t(3) << 61, "the layout in bits 61-63 is 3"},
        Fault{descA & ~(uint64_t(0x3fff) << 16), "LBO, the step between"},
        Fault{descA & ~(uint64_t(0x3fff) << 32), "SBO, the step between"},
        Fault{swizzledA(1, smemAt, 512), "layout 1"},
        Fault{swizzledA(2, smemAt + 128, 1024),
              "not at the beginning of a swizzle pattern"},
        Fault{swizzledA(2, smemAt, 512),
              "SBO 512 is not a multiple of the swizzle pattern's 1024"},
        Fault{swizzledA(2, smemAt + 112, 1024), "K leaves the row of 128"},
        Fault{swizzledA(2, smemAt, 1024) + 0x200, "out of bounds"},
        Fault{swizzledA(4, smemAt, 256), "not a multiple of the swizzle"}}) {
    Launch launch;
    launch.a = fault.a;
    std::string error = run(twoTiles, launch).error;
    EXPECT_NE(error.find(fault.words), std::string::npos) << error;
    launch.checks = false; // these are known without checks, too
    error = run(twoTiles, launch).error;
    EXPECT_NE(error.find(fault.words), std::string::npos) << error;
  }
  // B whose N is contiguous: 16 columns are a quarter of a panel.
  Launch launch;
  launch.b = swizzledA(2, atB, 1024);
  launch.form = idesc | 1 << 16;
  std::string error = run(twoTiles, launch).error;
  EXPECT_NE(error.find("not whole panels"), std::string::npos) << error;
  // tf32 whose M is contiguous.
  std::string tf32 = replacedAll(twoTiles, "kind::f16", "kind::tf32");
  launch = Launch();
  launch.form = 1 << 4 | 2 << 7 | 2 << 10 | 1 << 15 | 2 << 17 | 8 << 24;
  launch.a = swizzledA(2, smemAt, 1024);
  error = run(tf32, launch).error;
  EXPECT_NE(error.find("needs layout 1"), std::string::npos) << error;
}

TEST(TensorChecks, InstructionDescriptors) {
  struct Fault {
    uint32_t form;
    const char *words;
  };
  auto sized = [](uint32_t m, uint32_t n) {
    return (idesc & 0x1ffff) | (n >> 3) << 17 | (m >> 4) << 24;
  };
  for (const Fault &fault :
       {Fault{idesc | 1, "sparse"}, Fault{idesc | 1 << 3, "saturation"},
        Fault{idesc | 1 << 6, "reserved bits"},
        Fault{idesc | 1u << 31, "reserved bits"},
        Fault{idesc ^ 3 << 7, "type 2 of A"},
        Fault{idesc ^ 3 << 10, "type 2 of B"},
        Fault{idesc ^ 3 << 4, "type 2 of D"}, Fault{idesc ^ 1 << 4, "D of f16"},
        Fault{idesc ^ 1 << 7, "different types"},
        Fault{sized(32, 16), "M is 32"}, Fault{sized(256, 16), "M is 256"},
        Fault{sized(128, 0), "N is 0"}, Fault{sized(128, 264), "N is 264"}}) {
    Launch launch;
    launch.form = fault.form;
    std::string error = run(twoTiles, launch).error;
    EXPECT_NE(error.find(fault.words), std::string::npos) << error;
    EXPECT_NE(error.find("instruction descriptor"), std::string::npos) << error;
  }
}

TEST(TensorChecks, RefusedWhenLoaded) {
  struct Refusal {
    const char *instruction, *words;
  };
  for (const Refusal &refusal :
       {Refusal{"wgmma.fence.sync.aligned;", "needs .target sm_90a"},
        Refusal{"tcgen05.shift.cta_group::1.down [%r3];", "not supported"},
        Refusal{"tcgen05.mma.sp.cta_group::1.kind::f16 [%r3], %rd3, %rd4, "
                "[%r5], %r20, %p1;",
                "not supported"},
        Refusal{"tcgen05.mma.ws.cta_group::1.kind::f16 [%r3], %rd3, %rd4, "
                "%r20, %p1;",
                "not supported"},
        Refusal{"tcgen05.mma.cta_group::1.kind::i8 [%r3], %rd3, %rd4, %r20, "
                "%p1;",
                "kind::i8"},
        Refusal{"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r3], "
                "%rd3, %rd4, %r20, [%r5], [%r6], %p1;",
                "kind::mxf8f6f4"},
        Refusal{"tcgen05.cp.cta_group::1.4x256b [%r3], %rd3;", "not supported"},
        Refusal{"tcgen05.ld.sync.aligned.32x32b.x3.b32 {%r5, %r6, %r7}, "
                "[%r3];",
                "x1 to .x128"},
        Refusal{"tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r5}, [%r3];",
                "expects 2 registers"},
        Refusal{"tcgen05.commit.cta_group::1.b64 [full];",
                "mbarrier::arrive::one"}}) {
    std::string error = run(refusal.instruction, {}).error;
    EXPECT_NE(error.find(refusal.words), std::string::npos)
        << refusal.instruction << ": " << error;
    EXPECT_NE(error.find("line "), std::string::npos) << error;
  }
}
