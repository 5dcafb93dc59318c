//===- OrderTest.cpp - Who comes before whom ------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// PTX's memory model: what orders two accesses, and what only looks so. A right
// kernel is silent in every order; without one of its parts it is reported,
// although the values come out right.
//===----------------------------------------------------------------------===//
#include "Reports.h"

using namespace backfuse::emulator;
using namespace backfuse::emulator::test;

namespace {

constexpr const char *race = "without a synchronisation between the two";
constexpr const char *sharedRace = "without a barrier between the two";

/// CTA 0 writes a word per thread and sets a flag; CTA 1 waits for the flag and
/// reads the words.
std::string handover(const std::string &publish, const std::string &wait) {
  return prologue + R"(
    mov.u32 %r20, %ctaid.x; setp.eq.u32 %p3, %r20, 1; mov.u32 %r21, 1;
    @%p3 bra SECOND;
    st.global.b32 [%rd6], %r1;
    )" + publish +
         " ret;\nSECOND:\n" + wait + " ld.global.b32 %r11, [%rd6]; ret;";
}
/// One lane polls, with this load.
std::string poll(const std::string &load) {
  return "@!%p1 bra GO; L: " + load +
         " %r10, [%rd4+512]; setp.eq.u32 %p5, %r10, 0; @%p5 bra L; GO: ";
}
const std::string acquire = poll("ld.acquire.gpu.global.b32");
const std::string relaxed = poll("ld.relaxed.gpu.global.b32");
const std::string meet = "bar.warp.sync -1; ";
const std::string release = "@%p1 st.release.gpu.global.b32 [%rd4+512], %r21;";
const std::string relaxedStore =
    "@%p1 st.relaxed.gpu.global.b32 [%rd4+512], %r21;";
const std::string fence = "fence.acq_rel.gpu; ";

} // namespace

TEST(Order, ReleaseAndAcquire) {
  expectSilent(handover(meet + release, acquire + meet), grid(2));
  // Each half alone orders nothing; volatile is relaxed.
  for (const char *store : {"st.relaxed.gpu", "st.volatile", "st.relaxed.sys"})
    expectReport(handover(meet + replaced(release, "st.release.gpu", store),
                          acquire + meet),
                 race, grid(2));
  for (const char *load :
       {"ld.relaxed.gpu.global.b32", "ld.volatile.global.b32"})
    expectReport(handover(meet + release, poll(load) + meet), race, grid(2));
}

// One lane clears a sum and all add to it: its own addition comes between.
TEST(Order, StrongWritesDoNotHideWeakOnes) {
  std::string body = prologue +
                     "mov.u32 %r10, 0; @%p1 st.shared.b32 [%r3], "
                     "%r10;" +
                     meet + "atom.shared.add.u32 %r11, [%r3], 1; ret;";
  expectSilent(body);
  expectReport(without(body, meet), sharedRace);
  expectSilent(
      replaced(without(body, meet), "st.shared", "st.relaxed.cta.shared"));
}

// A lane that sets or sees a flag does so for itself.
TEST(Order, LanesOfAWarp) {
  expectReport(handover(release, acquire + meet), race, grid(2));
  expectReport(handover(meet + release, acquire), race, grid(2));
  // Votes and shuffles hold lanes together, but order no memory.
  const std::string vote = "vote.sync.ballot.b32 %r30, %p1, -1; ";
  expectReport(handover(vote + release, acquire + meet), race, grid(2));
  expectReport(handover(meet + release, acquire + vote), race, grid(2));
  // Half of the lanes is not all.
  expectReport(
      handover("setp.lt.u32 %p4, %r1, 16; @%p4 bar.warp.sync 0xffff; " +
                   release,
               acquire + meet),
      race, grid(2));
}

TEST(Order, FencesAndRelaxedAccesses) {
  // A fence before the relaxed write, one behind the relaxed read.
  expectSilent(handover(meet + fence + relaxedStore, relaxed + fence + meet),
               grid(2));
  expectSilent(handover(meet + fence + relaxedStore, acquire + meet), grid(2));
  expectSilent(handover(meet + release, relaxed + fence + meet), grid(2));
  expectReport(handover(meet + relaxedStore, relaxed + fence + meet), race,
               grid(2));
  expectReport(handover(meet + fence + relaxedStore, relaxed + meet), race,
               grid(2));
  // On the wrong side of the access, or of the lanes' meeting.
  expectReport(handover(meet + relaxedStore + fence, relaxed + fence + meet),
               race, grid(2));
  expectReport(handover(meet + fence + relaxedStore, fence + relaxed + meet),
               race, grid(2));
  expectReport(handover(fence + meet + relaxedStore, relaxed + fence + meet),
               race, grid(2));
  // One lane's fence does for what it knows.
  expectSilent(handover(meet + "@%p1 " + fence + relaxedStore,
                        relaxed + "@%p1 " + fence + meet),
               grid(2));
  for (const char *sc : {"fence.sc.gpu; ", "membar.gl; ", "fence.sc.sys; "})
    expectSilent(handover(meet + sc + relaxedStore, relaxed + sc + meet),
                 grid(2));
}

// A scope must reach the other thread, of each access and of each fence.
TEST(Order, Scopes) {
  auto narrowed = [](const std::string &text, const std::string &scope) {
    return replaced(text, ".gpu", "." + scope);
  };
  for (const char *scope : {"cta", "cluster"}) {
    // Two CTAs of different clusters.
    expectReport(handover(meet + narrowed(release, scope), acquire + meet), "",
                 grid(2));
    std::string words = "without a synchronisation";
    expectReport(handover(meet + narrowed(release, scope), acquire + meet),
                 words, grid(2));
    expectReport(handover(meet + release, narrowed(acquire, scope) + meet),
                 words, grid(2));
    expectReport(handover(meet + narrowed(fence, scope) + relaxedStore,
                          relaxed + fence + meet),
                 words, grid(2));
    expectReport(handover(meet + fence + narrowed(relaxedStore, scope),
                          relaxed + fence + meet),
                 words, grid(2));
    expectReport(handover(meet + fence + relaxedStore,
                          relaxed + narrowed(fence, scope) + meet),
                 words, grid(2));
  }
  // In a cluster its scope is enough, that of a CTA is not.
  std::string both = handover(meet + narrowed(release, "cluster"),
                              narrowed(acquire, "cluster") + meet);
  expectSilent(both, grid(2, 2));
  expectReport(replaced(both, "st.release.cluster", "st.release.cta"),
               "a scope does not reach", grid(2, 2));
  expectReport(replaced(both, "ld.acquire.cluster", "ld.acquire.cta"),
               "a scope does not reach", grid(2, 2));
}

// Strong and weak accesses of one word race like any two.
TEST(Order, WeakAccessesOfAFlag) {
  expectReport(
      handover(meet + replaced(release, "st.release.gpu.global", "st.global"),
               acquire + meet),
      race, grid(2));
  expectReport(handover(meet + release, poll("ld.global.b32") + meet), race,
               grid(2));
}

// Counters: read-modify-writes pass on what was released before them.
TEST(Order, CountersGoOn) {
  const std::string body = prologue + R"(
    mov.u32 %r20, %ctaid.x; mul.wide.u32 %rd7, %r20, 4; add.u64 %rd7, %rd4, %rd7;
    @!%p1 ret;
    st.global.b32 [%rd7], %r20;
    atom.acq_rel.gpu.global.add.u32 %r10, [%rd4+64], 1;
    setp.ne.u32 %p3, %r10, 11; @%p3 ret;
    ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd4];
    ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd4+16];
    ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd4+32];
    ret;)";
  expectSilent(body, grid(12));
  expectReport(replaced(body, "acq_rel", "release"), race, grid(12));
  expectReport(replaced(body, "acq_rel", "acquire"), race, grid(12));
  // Without a word: relaxed.
  expectReport(replaced(body, "atom.acq_rel.gpu", "atom"), race, grid(12));
  expectReport(replaced(body, "acq_rel.gpu", "acq_rel.cta"), "", grid(12));
  expectSilent(
      replaced(replaced(body, "atom.acq_rel.gpu.global", fence + "atom.global"),
               "ld.global", fence + "ld.global"),
      grid(12));
}

// Order goes through barriers of threads that never touch the flag, and through
// a CTA in between.
TEST(Order, IsCumulative) {
  const std::string body = prologue + R"(
    mov.u32 %r20, %ctaid.x; mov.u32 %r21, 1;
    setp.eq.u32 %p3, %r1, 0; setp.eq.u32 %p4, %r1, 32; setp.eq.u32 %p5, %r1, 64;
    setp.eq.u32 %p6, %r20, 1; setp.eq.u32 %p7, %r20, 2;
    @%p6 bra SECOND; @%p7 bra THIRD;
    // Thread 0 writes, thread 32 sets the flag.
    @%p3 st.global.b32 [%rd4], %r21;
    bar.sync 1, 96;
    @%p4 st.release.gpu.global.b32 [%rd4+512], %r21;
    ret;
SECOND: // Thread 32 waits, thread 64 goes on behind an mbarrier.
    @!%p4 bra NEXT;
A:  ld.acquire.gpu.global.b32 %r10, [%rd4+512]; setp.eq.u32 %p8, %r10, 0; @%p8 bra A;
    mbarrier.arrive.shared::cta.b64 _, [bar];
NEXT:
    @!%p5 bra DONE;
    )" + waitBar + R"(
    st.release.gpu.global.b32 [%rd4+516], %r21;
DONE: ret;
THIRD: // Thread 64 waits, thread 0 reads.
    @!%p5 bra MEET;
B:  ld.acquire.gpu.global.b32 %r10, [%rd4+516]; setp.eq.u32 %p8, %r10, 0; @%p8 bra B;
MEET: bar.sync 1, 96;
    @%p3 ld.global.b32 %r11, [%rd4];
    ret;)";
  Launch launch = grid(3);
  launch.threads = 96;
  expectSilent(body, launch);
  // In CTA 0 and in CTA 2.
  expectReport(without(body, "bar.sync 1, 96;"), race, launch);
  expectReport(replaced(body, "MEET: bar.sync 1, 96;", "MEET:"), "", launch);
  expectReport(
      replaced(body, "mbarrier.arrive.", "mbarrier.arrive.relaxed.cta."), race,
      launch);
  expectReport(
      replaced(body, "mbarrier.try_wait.", "mbarrier.try_wait.relaxed.cta."),
      race, launch);
  // Relaxed, with fences.
  expectSilent(replaced(replaced(body, "mbarrier.arrive.",
                                 "fence.acq_rel.cta; "
                                 "mbarrier.arrive.relaxed.cta."),
                        "mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], "
                        "0; @!%p2 bra W0;",
                        "mbarrier.try_wait.relaxed.cta.parity.shared::cta.b64 "
                        "%p2, [bar], 0; @!%p2 bra W0; fence.acq_rel.cta;"),
               launch);
}

// The same for shared memory: RAW and WAR, across warps and inside one.
TEST(Order, SharedMemoryOfLanes) {
  const std::string inside = prologue + R"(
    st.shared.b32 [%r6], %r1; xor.b32 %r7, %r6, 4;
    bar.warp.sync -1;
    ld.shared.b32 %r8, [%r7];
    bar.warp.sync -1;
    not.b32 %r9, %r1; st.shared.b32 [%r6], %r9;
    ret;)";
  expectSilent(inside);
  expectReport(without(inside, "bar.warp.sync -1;"), sharedRace);
  // The second one, between the reads and the writes behind them, which are
  // done in this order all the same. Shuffles order no memory.
  const std::string later = "bar.warp.sync -1;\n    not.b32";
  for (const char *instead :
       {"not.b32", "shfl.sync.bfly.b32 %r10, %r8, 1, 31, -1; not.b32",
        "setp.lt.u32 %p4, %r1, 16; @%p4 bar.warp.sync 0xffff; not.b32"})
    expectReport(replaced(inside, later, instead), "overwrites", Launch());
  expectReport(replaced(inside, later, "not.b32"), "read at PTX line");
  // A lane may overwrite what it read itself.
  expectSilent(replaced(replaced(inside, later, "not.b32"),
                        "xor.b32 %r7, %r6, 4", "mov.b32 %r7, %r6"));
  // One lane's copy overwrites what the others read.
  const std::string copied =
      prologue +
      "st.shared.b32 [%r6], %r1; fence.proxy.async.shared::cta; "
      "bar.warp.sync -1; ld.shared.b32 %r8, [%r6]; /*meet*/ "
      "bar.warp.sync -1;"
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], "
      "1024;"
      "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier"
      "::complete_tx::bytes [%r3], [%rd1, {%r2, %r2}], [bar];" +
      waitBar + "ret;";
  expectSilent(copied);
  expectReport(without(copied, "/*meet*/ bar.warp.sync -1;"), sharedRace);
  // Lane 32 arrives for its warp, whose words the other warp reads.
  const std::string across = prologue + R"(
    setp.ge.u32 %p3, %r1, 32; setp.eq.u32 %p4, %r1, 32;
    and.b32 %r7, %r1, 31; shl.b32 %r7, %r7, 2; add.u32 %r7, %r4, %r7;
    @%p3 bra WRITE;
    )" + waitBar + R"( ld.shared.b32 %r11, [%r7]; ret;
WRITE: st.shared.b32 [%r7], %r1; bar.warp.sync -1;
    @%p4 mbarrier.arrive.shared::cta.b64 _, [bar];
    ret;)";
  expectSilent(across, threads(64));
  expectReport(without(across, "bar.warp.sync -1;"), sharedRace, threads(64));
  // The other way: it reads before it arrives, and they are overwritten.
  const std::string after = replaced(
      replaced(across, "ld.shared.b32 %r11, [%r7]", "st.shared.b32 [%r7], %r1"),
      "WRITE: st.shared.b32 [%r7], %r1;", "WRITE: ld.shared.b32 %r11, [%r7];");
  const std::string filled =
      replaced(after, "@%p3 bra WRITE;",
               "st.shared.b32 [%r7], %r2; bar.sync 0; @%p3 bra WRITE;");
  auto once = [](std::string text) { // one warp fills
    return replaced(text, "st.shared.b32 [%r7], %r2;",
                    "@%p3 st.shared.b32 [%r7], %r2;");
  };
  expectSilent(once(filled), threads(64));
  expectReport(replaced(once(filled), "[%r7]; bar.warp.sync -1;", "[%r7];"),
               sharedRace, threads(64));
}

// A lane that arrives for its warp lets the barrier's next phase come: the
// others must have seen the last one, else they wait for ever.
TEST(Order, PhaseNotSeenByAllLanes) {
  const std::string body = prologue + R"(
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
  expectSilent(body, threads(64));
  expectReport(without(body, "bar.warp.sync -1;"),
               "may not have seen the one that they wait for", threads(64));
  // Anything that holds the lanes together is enough for this.
  expectSilent(
      replaced(body, "bar.warp.sync -1;", "vote.sync.any.pred %p7, %p4, -1;"),
      threads(64));
}

// One lane waits for a copy, the others read without having met it.
TEST(Order, CopySeenByOneLane) {
  const std::string body =
      prologue +
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;"
      "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
      "complete_tx::bytes [%r3], [%rd1, {%r2, %r2}], [bar]; @!%p1 bra GO;" +
      waitBar + " GO: bar.warp.sync -1; ld.shared.b32 %r11, [%r6]; ret;";
  expectSilent(body);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Launch launch;
    launch.order = Order::Adversarial;
    launch.seed = seed;
    std::string error = run(without(body, "bar.warp.sync -1;"), launch);
    EXPECT_TRUE(error.find("its mbarrier was not waited for") !=
                    std::string::npos ||
                error.find("has not written yet") != std::string::npos)
        << error;
  }
}

// Lanes that store to one place in one instruction: one of them wins, which is
// no race.
TEST(Order, OneStoreOfManyLanes) {
  expectSilent(prologue + "st.shared.b32 [second], %r1; ret;");
  expectSilent(prologue + "st.global.b32 [%rd4], %r1; ret;");
  expectReport(prologue + "st.shared.b32 [second], %r1; fence.acq_rel.cta; "
                          "@%p1 st.shared.b32 [second], %r2; ret;",
               sharedRace);
}

// Arrivals from another CTA of the cluster count, but order only with the
// cluster's scope on both sides.
TEST(Order, RemoteArrivals) {
  const std::string body = prologue + R"(
    mov.u32 %r20, %cluster_ctarank; setp.eq.u32 %p3, %r20, 1;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mov.u32 %r21, 0; mapa.shared::cluster.u32 %r22, %r4, %r21;
    mov.u32 %r23, bar; mapa.shared::cluster.u32 %r24, %r23, %r21;
    @!%p1 bra END;
    @%p3 bra REMOTE;
W0: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W0;
    ld.shared.b32 %r11, [second];
    bra END;
REMOTE:
    st.shared::cluster.b32 [%r22], %r1;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r24];
END:
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    ret;)";
  expectSilent(body, grid(2, 2));
  expectReport(replaced(body, "arrive.release.cluster", "arrive.release.cta"),
               sharedRace, grid(2, 2));
  expectReport(replaced(body, "parity.acquire.cluster", "parity.acquire.cta"),
               sharedRace, grid(2, 2));
}

// Barriers that other CTAs initialised: the fence and a relaxed arrival at the
// cluster barrier are enough for these, and for nothing else.
TEST(Order, MbarriersOfPeers) {
  const std::string body = prologue + R"(
    @%p1 st.shared.b32 [second], %r2;
    barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
    mov.u32 %r20, %cluster_ctarank; xor.b32 %r21, %r20, 1;
    mov.u32 %r23, bar; mapa.shared::cluster.u32 %r24, %r23, %r21;
    @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r24];
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    ret;)";
  expectSilent(body, grid(2, 2));
  expectReport(replaced(body, "fence.mbarrier_init.release.cluster;", ""),
               "without a barrier after its initialisation", grid(2, 2));
  expectReport(replaced(body, "mov.u32 %r23, bar;",
                        "mapa.shared::cluster.u32 %r25, %r4, %r21; @%p1 "
                        "ld.shared::cluster.b32 %r26, [%r25]; mov.u32 %r23, "
                        "bar;"),
               sharedRace, grid(2, 2));
}
