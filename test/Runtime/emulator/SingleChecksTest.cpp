//===- SingleChecksTest.cpp - Mutants that one check alone finds ----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// A table: for each check a right kernel and a mutant of it. The right kernel
// is silent in every order; the mutant is reported by this check, and by no
// other: without it the mutant runs to its end in every order.
//===----------------------------------------------------------------------===//
#include "Reports.h"

#include <cstdio>
#include <set>

using namespace backfuse::emulator;
using namespace backfuse::emulator::test;

namespace {

struct SingleCheck {
  Check check;
  const char *fault;
  std::string body, from, to; ///< the mutant has `to` in place of `from`
  const char *words;          ///< of the report
  Launch launch = {};
};

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
const std::string meet = "bar.warp.sync -1; ";

Launch unwritten() {
  Launch launch;
  launch.initialised = false;
  return launch;
}
Launch limited(uint64_t steps) {
  Launch launch;
  launch.stepLimit = steps;
  return launch;
}

/// A use that must be behind a wait comes before it.
SingleCheck early(Check check, const char *fault, const std::string &before,
                  const std::string &wait, const std::string &use,
                  const std::string &after, const char *words,
                  Launch launch = {}) {
  return {check, fault, before + wait + use + after, wait + use, use + wait,
          words, launch};
}

std::vector<SingleCheck> table() {
  std::vector<SingleCheck> rows;
  // A buffer that held other values before the copy.
  const std::string refill = prologue + fillBuffer + expectTx + load;
  rows.push_back(early(Check::InFlight, "bytes of a copy read before its end",
                       refill, waitBar, " ld.shared.b32 %r11, [%r6]; ", "ret;",
                       "has not written yet"));
  rows.push_back({Check::InFlight, "bytes of a copy that one lane waited for",
                  refill + "@!%p1 bra GO;" + waitBar + " GO: " + meet +
                      "ld.shared.b32 %r11, [%r6]; ret;",
                  meet, "", "reads shared address"});
  rows.push_back(early(
      Check::InFlight, "two copies onto each other", prologue + expectTx + load,
      waitBar,
      " " + replaced(expectTx, "[bar]", "[other]") +
          replaced(load, "[bar]", "[other]"),
      replaced(replaced(replaced(waitBar, "[bar]", "[other]"), "W0:", "W1:"),
               "W0;", "W1;") +
          "ret;",
      "is about to write, too"));
  rows.push_back(early(Check::StillRead, "a store's source overwritten",
                       prologue + fillBuffer + store, waitRead + "bar.sync 0;",
                       "st.shared.b32 [%r6], %r2; ", "ret;",
                       "still reads: the copy"));
  rows.push_back(early(Check::StillRead, "an operand of a product overwritten",
                       productBody(), waitProducts + "bar.sync 1, 128; ",
                       "@%p3 st.shared.v4.b32 [%r19], {%r2, %r2, %r2, %r2}; ",
                       "ret;", "still reads: the product", threads(128)));
  rows.push_back({Check::ProxyFence, "no fence before a copy reads",
                  prologue + fillBuffer + store + waitRead + "ret;", proxyFence,
                  "", "has not executed fence.proxy.async"});
  rows.push_back({Check::ProxyFence, "no fence before a product reads",
                  productBody() + waitProducts + "ret;", proxyFence, "",
                  "has not executed fence.proxy.async", threads(128)});
  rows.push_back({Check::ProxyFence, "no fence before a copy overwrites",
                  refill + waitBar + "ret;", proxyFence, "",
                  "has not executed fence.proxy.async"});
  rows.push_back(early(Check::ProductRegisters, "an accumulator read early",
                       productBody(), waitProducts,
                       " st.global.f32 [%rd6], %d0; ", "ret;",
                       "reads an accumulator of the wgmma", threads(128)));
  const std::string registersA =
      replaced(productBody(), "%rd10, %rd11, %p4, 1, 1, 0, 0;",
               "{%r15, %r15, %r15, %r15}, %rd11, %p4, 1, 1, 0;");
  rows.push_back(early(Check::ProductRegisters, "A overwritten early",
                       registersA, waitProducts, " mov.b32 %r15, 0; ", "ret;",
                       "writes a register of A", threads(128)));
  rows.push_back({Check::ProductFence, "accumulators without wgmma.fence",
                  productBody() + waitProducts + "ret;",
                  "wgmma.fence.sync.aligned;", "", "no wgmma.fence",
                  threads(128)});
  rows.push_back({Check::Uninitialised, "shared memory",
                  prologue + "st.shared.b32 [%r6], %r1; "
                             "ld.shared.b32 %r11, [%r6]; ret;",
                  "st.shared.b32 [%r6], %r1;", "", "which nobody has written"});
  rows.push_back({Check::Uninitialised, "shared memory of a copy to an output",
                  prologue + fillBuffer + store + waitRead + "ret;",
                  "setp.lt.u32 %p8, %r10, 8;", "setp.lt.u32 %p8, %r10, 7;",
                  "whose shared memory nobody has written"});
  rows.push_back({Check::Uninitialised, "an operand of a product",
                  productBody() + waitProducts + "ret;", "%p3, %r1, 16;",
                  "%p3, %r1, 15;", "which nobody has written", threads(128)});
  rows.push_back({Check::Uninitialised, "workspace",
                  prologue + "st.global.b32 [%rd6], %r1; "
                             "ld.global.b32 %r11, [%rd6]; ret;",
                  "st.global.b32 [%rd6], %r1;", "",
                  "reads byte 0 of 'out' (1024 bytes), which nobody",
                  unwritten()});
  rows.push_back({Check::Uninitialised, "a register",
                  prologue + "mov.b32 %r50, 1; st.global.b32 [%rd6], %r50; "
                             "ret;",
                  "mov.b32 %r50, 1;", "@!%p1 mov.b32 %r50, 1;",
                  "reads register '%r50', which was never written"});
  const std::string lanes = prologue + R"(
    st.shared.b32 [%r6], %r1; xor.b32 %r7, %r6, 4;
    bar.warp.sync -1; /*written*/
    ld.shared.b32 %r8, [%r7];
    bar.warp.sync -1; /*read*/
    not.b32 %r9, %r1; st.shared.b32 [%r6], %r9;
    ret;)";
  rows.push_back({Check::Race, "a read of what another lane wrote", lanes,
                  "bar.warp.sync -1; /*written*/", "",
                  "without a barrier between the two"});
  rows.push_back({Check::Race, "a write of what another lane read", lanes,
                  "bar.warp.sync -1; /*read*/", "",
                  "without a barrier between the two"});
  rows.push_back({Check::Race, "two warps that write one byte of shared memory",
                  prologue + "mov.u32 %r7, second; shr.u32 %r8, %r1, 5; "
                             "add.u32 %r7, %r7, %r8; cvt.u16.u32 %h1, %r1; "
                             "@%p1 st.shared.b8 [%r7], %h1; setp.eq.u32 %p3, "
                             "%r1, 32; @%p3 st.shared.b8 [%r7], %h1; ret;",
                  "shr.u32 %r8, %r1, 5;", "mov.u32 %r8, 0;",
                  "without a barrier between the two", threads(64)});
  rows.push_back({Check::Race, "two CTAs that write one byte of an output",
                  prologue + "mov.u32 %r20, %ctaid.x; cvt.u64.u32 %rd7, %r20; "
                             "cvt.u16.u32 %h1, %r20; add.u64 %rd7, %rd7, %rd4; "
                             "@%p1 st.global.b8 [%rd7], %h1; ret;",
                  "cvt.u64.u32 %rd7, %r20;", "mov.u64 %rd7, 0;",
                  "without a synchronisation between the two", grid(2)});
  rows.push_back({Check::Bounds, "a load beyond the input",
                  prologue + "ld.global.b32 %r11, [%rd3+1020]; ret;", "+1020",
                  "+1024", "is out of bounds"});
  rows.push_back({Check::Bounds, "a store beyond the output",
                  prologue + "@%p1 st.global.b32 [%rd4+1020], %r1; ret;",
                  "+1020", "+1024", "is out of bounds"});
  rows.push_back({Check::Bounds, "a store beyond shared memory",
                  prologue + "@%p1 st.shared.b32 [%r6+4092], %r1; ret;",
                  "+4092", "+262144", "is out of bounds"});
  rows.push_back({Check::Alignment, "a load",
                  prologue + "ld.global.b32 %r11, [%rd3+4]; ret;", "+4]", "+2]",
                  "is not a multiple of 4"});
  rows.push_back({Check::Alignment, "a store",
                  prologue + "@%p1 st.shared.v2.b32 [%r6+8], {%r1, %r1}; ret;",
                  "+8]", "+4]", "is not a multiple of 8"});
  rows.push_back({Check::MbarrierUse, "no fence behind the initialisation",
                  prologue + expectTx + load + waitBar + "ret;",
                  "fence.mbarrier_init.release.cluster;", "",
                  "was not followed by fence.mbarrier_init"});
  rows.push_back({Check::MbarrierUse, "ordinary accesses",
                  prologue + "/*here*/ ret;", "/*here*/",
                  "ld.shared.b32 %r10, [bar];", "which is an mbarrier"});
  rows.push_back({Check::MbarrierBytes, "expected bytes too few",
                  prologue + expectTx + load + waitBar + "ret;", "1024", "512",
                  "bytes more than it expects"});
  rows.push_back(
      {Check::MbarrierArrivals, "an arrival too many",
       prologue + "@%p1 mbarrier.arrive.shared::cta.b64 _, [bar], 1; ret;",
       "_, [bar], 1;", "_, [bar], 2;", "arrivals, but its phase expects only"});
  const std::string phases = prologue + R"(
    setp.ge.u32 %p3, %r1, 32; setp.eq.u32 %p4, %r1, 32;
    mov.u32 %r10, 0;
    @%p3 bra CONSUME;
    @!%p1 ret;
PRODUCE: xor.b32 %r11, %r10, 1; and.b32 %r11, %r11, 1; and.b32 %r12, %r10, 1;
    mbarrier.arrive.shared::cta.b64 _, [bar];
E:  mbarrier.try_wait.parity.shared::cta.b64 %p5, [other], %r12; @!%p5 bra E;
    add.u32 %r10, %r10, 1; setp.lt.u32 %p6, %r10, 4; @%p6 bra PRODUCE;
    ret;
CONSUME: and.b32 %r12, %r10, 1;
F:  mbarrier.try_wait.parity.shared::cta.b64 %p5, [bar], %r12; @!%p5 bra F;
    bar.warp.sync -1;
    @%p4 mbarrier.arrive.shared::cta.b64 _, [other];
    add.u32 %r10, %r10, 1; setp.lt.u32 %p6, %r10, 4; @%p6 bra CONSUME;
    ret;)";
  rows.push_back({Check::MbarrierPhase, "a lane arrives for others", phases,
                  "bar.warp.sync -1;", "",
                  "may not have seen the one that they wait for", threads(64)});
  rows.push_back({Check::NamedBarrier, "two roles on one barrier",
                  prologue + "setp.lt.u32 %p3, %r1, 64; mov.u32 %r20, 1; "
                             "@%p3 mov.u32 %r20, 2; bar.sync %r20, 64; ret;",
                  "@%p3 mov.u32 %r20, 2;", "", "use at the same time",
                  threads(128)});
  rows.push_back({Check::Descriptor, "strides of 0",
                  productBody() + waitProducts + "ret;", "mov.b32 %r22, 8;",
                  "mov.b32 %r22, 0;", "is 0", threads(128)});
  rows.push_back({Check::WorkAtEnd, "a copy to shared memory",
                  prologue + expectTx + load + waitBar + "ret;", waitBar, "",
                  "the CTA exits while the copy"});
  rows.push_back({Check::WorkAtEnd, "a copy from shared memory",
                  prologue + fillBuffer + store + waitRead + "ret;", waitRead,
                  "", "has not read its shared memory"});
  rows.push_back({Check::WorkAtEnd, "a product",
                  productBody() + waitProducts + "ret;", waitProducts, "",
                  "exits while the wgmma", threads(128)});
  rows.push_back({Check::Deadlock, "expected bytes too many",
                  prologue + expectTx + load + waitBar + "ret;", "1024", "2048",
                  "deadlock"});
  rows.push_back({Check::Deadlock, "an arrival left out",
                  prologue + "@%p1 mbarrier.arrive.shared::cta.b64 _, [bar]; " +
                      waitBar + "ret;",
                  "@%p1 mbarrier.arrive.shared::cta.b64 _, [bar]; ", "",
                  "deadlock"});
  rows.push_back({Check::StepLimit, "a loop that is too long",
                  prologue + "mov.u32 %r20, 0; L: add.u32 %r20, %r20, 1; "
                             "setp.lt.u32 %p3, %r20, 10; @%p3 bra L; ret;",
                  "%r20, 10;", "%r20, 100000;", "limit of 20000 instructions",
                  limited(20000)});
  return rows;
}

} // namespace

TEST(SingleChecks, EachFindsWhatNoOtherFinds) {
  std::set<Check> seen;
  for (const SingleCheck &row : table()) {
    SCOPED_TRACE(std::string(checkName(row.check)) + ": " + row.fault);
    seen.insert(row.check);
    expectSilent(row.body, row.launch);
    const std::string mutant = replaced(row.body, row.from, row.to);
    expectReport(mutant, row.words, row.launch);
    Launch others = row.launch;
    others.disabledChecks = 1u << static_cast<unsigned>(row.check);
    if (!others.stepLimit)
      others.stepLimit = 1000000; // it ends
    expectSilent(mutant, others);
  }
  // What takes two launches has a test of its own.
  seen.insert(Check::DependentLaunch);
  for (unsigned i = 0; i < numChecks; ++i)
    EXPECT_TRUE(seen.count(static_cast<Check>(i)))
        << "no mutant for " << checkName(static_cast<Check>(i));
}

// The second launch touches what the first wrote, without the wait.
TEST(SingleChecks, DependentLaunch) {
  auto second = [](bool waits, uint32_t disabled) {
    TestKernel kernel;
    const std::string start =
        "ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, "
        "%r1, 4; add.u64 %rd3, %rd1, %rd2; ";
    uint64_t data = kernel.machine.allocate(128, "data", false);
    kernel.shape.block = {32, 1, 1};
    kernel.load(kernelText(start + "st.global.u32 [%rd3], %r1; "
                                   "griddepcontrol.launch_dependents; ret;",
                           1));
    kernel.runOk({kernel.number(data)});
    kernel.load(kernelText(start + (waits ? "griddepcontrol.wait; " : "") +
                               "ld.global.u32 %r2, [%rd3]; ret;",
                           1));
    kernel.options.dependent = true;
    kernel.options.disabledChecks = disabled;
    return kernel.run({kernel.number(data)}).text();
  };
  EXPECT_EQ(second(true, 0), "");
  EXPECT_NE(second(false, 0).find("without griddepcontrol.wait"),
            std::string::npos);
  EXPECT_EQ(second(false, 1u << static_cast<unsigned>(Check::DependentLaunch)),
            "");
}

// An output that was not written is found behind the launch, which is silent.
TEST(SingleChecks, OutputNotWritten) {
  auto unwrittenByte = [](const std::string &body, std::string &error) {
    TestKernel kernel;
    kernel.load(kernelText(body, 3, "", moduleText));
    kernel.shape.block = {32, 1, 1};
    uint64_t to = kernel.machine.allocate(128, "out", false);
    std::vector<uint8_t> addresses(128);
    std::memcpy(addresses.data() + 8, &to, 8);
    error = kernel.run({kernel.number(0), kernel.number(0), addresses}).text();
    return kernel.machine.firstUnwritten(to, 128);
  };
  const std::string body = prologue + "st.global.b32 [%rd6], %r1; ret;";
  std::string error;
  EXPECT_EQ(unwrittenByte(body, error), 128u);
  EXPECT_EQ(error, "");
  EXPECT_EQ(unwrittenByte(replaced(body, "st.global",
                                   "setp.eq.u32 %p3, %r1, 9; @!%p3 st.global"),
                          error),
            36u);
  EXPECT_EQ(error, "");
}

TEST(SingleChecks, SwitchedOffByName) {
  for (unsigned i = 0; i < numChecks; ++i) {
    LaunchOptions options;
    Error error = parseLaunchOptions(std::string("seed=1,without=") +
                                         checkName(static_cast<Check>(i)),
                                     options);
    EXPECT_FALSE(error) << error.text();
    EXPECT_EQ(options.disabledChecks, 1u << i);
  }
  LaunchOptions options;
  EXPECT_TRUE(parseLaunchOptions("without=nothing", options));
  EXPECT_TRUE(parseLaunchOptions("without", options));
}
