//===- Rates.cpp - What the cost model knows of a GPU ---------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Arch/Rates.h"
#include "backfuse/Arch/Target.h"

using namespace backfuse;

/// H200. Fitted to 48 measured times: workload 079 in bf16 and workload 022 in
/// fp16 and bf16x3, 16 token counts each (docs/performance.md). Root mean
/// square error 4 %, at most 6 % above 1000 tokens. Fitted to 079 alone, the
/// same model meets 022 within 9 % there. What was fitted agrees with what was
/// measured by itself where that was done:
static const arch::Rates h200 = {
    /*device=*/"H200",
    /*measured=*/true,
    /*numSms=*/132,
    // Between the 1.94 GHz at the start of a run and the 1.6 of long kernels.
    /*clockHz=*/1.87e9,
    // Fitted. The tensor core alone takes 4 (m64n256k16 in 128 cycles,
    // measured); power lowers the clock, and waits between steps are in here.
    /*mmaCyclesPerColumn=*/5.15,
    // Half the rate of 16-bit operands, by the data sheet.
    /*tf32MmaCyclesPerColumn=*/10.3,
    // Fitted. TMA alone, no two SMs asking for the same lines: 35 measured.
    /*l2BytesPerCycle=*/41.5,
    // 192 KB in flight reach 91 bytes a cycle in a lone SM (measured): at most
    // 2100, of which a part is the queue of a saturated port (inferred).
    /*loadLatencyCycles=*/1000,
    // Fitted, all three, to 022 in 62 forced schedules and token counts.
    /*convertStepCycles=*/776,
    /*convertMmaShare=*/0.94,
    /*convertL2BytesPerCycle=*/48.9,
    /*drainCycles=*/0,
    // Fitted, both. Eight warps share the work.
    /*drainCyclesPerOperation=*/110,
    /*drainCyclesPerByte=*/7.4,
    // Fitted.
    /*unitCycles=*/1220,
    // Fitted: written and read by way of L2, and waited for.
    /*splitTraffic=*/3.5,
    /*splitMicroseconds=*/4.0,
    // Fitted, beside what units and splits take. Clocks in the kernel say 4 for
    // stores, fence, flag and first loads.
    /*chainMicroseconds=*/1.5,
    // A copy reaches 4.2, TMA loads alone 4.32 (measured).
    /*memoryBytesPerSecond=*/4.1e12,
    // 20 us for the 56 MB of workload 022 at 64 tokens (measured by ncu).
    /*convertBytesPerSecond=*/2.8e12,
    // Measured: an empty launch of 132 CTAs of 384 threads with 200 KB.
    /*launchMicroseconds=*/3.5,
    // Fitted; 3 measured in a hand-written kernel.
    /*coldMicroseconds=*/2.0,
    // Fitted; 7 to 8 measured for a second launch at 128 tokens.
    /*nextLaunchMicroseconds=*/5.8};

/// B200, which nobody of this project has measured. Each number is a published
/// one, or the H200's carried over by a ratio that the comment names. Published
/// figures: "Performance numbers (B200)" in the project's Blackwell manual,
/// from the tuning guide, SemiAnalysis's microbenchmarks, CUTLASS, JAX and
/// Modular.
static const arch::Rates b200 = {
    /*device=*/"B200",
    /*measured=*/false,
    // CUDA's device properties; two dies of 74.
    /*numSms=*/148,
    // 148 SMs x 8192 x 1.86 GHz is the data sheet's 2.25 PFLOP/s.
    /*clockHz=*/1.86e9,
    // The tensor core alone takes 2 (128 x 256 x 16 in 128 cycles, cta_group 1
    // and 2 alike, SemiAnalysis). Under power, large products of random data
    // reach 63 to 70 % of the data sheet (cuBLAS 63.4, CUTLASS 69.3): 69 %
    // taken. Our main loop on an H200 reaches 4 / 5.3 = 75 % where the library
    // reaches 81 %, a ratio of 0.93. 2 / (0.69 x 0.93) = 3.1.
    /*mmaCyclesPerColumn=*/3.1,
    // Half the rate, by the data sheet (1.1 PFLOP/s); no measured figure known.
    /*tf32MmaCyclesPerColumn=*/6.2,
    // 20.5 to 21 TB/s of L2 (measured by others) over 148 SMs. No credit for
    // SMs that ask for the same lines, which the H200's figure has.
    /*l2BytesPerCycle=*/75,
    // As on the H200; lines of the far die take 50 to 150 ns longer.
    /*loadLatencyCycles=*/1200,
    // No kernel of this target converts so.
    /*convertStepCycles=*/500,
    /*convertMmaShare=*/1,
    /*convertL2BytesPerCycle=*/75,
    // Tensor memory is read at 64 bytes a cycle and warp (the lowest of the
    // published figures that are credible), four warps: 32 KB in 128 cycles.
    /*drainCycles=*/128,
    // Four warps do what eight do on the H200. If instruction issue binds, they
    // are as fast (110), if latency does, half as fast (220): inferred,
    // between.
    /*drainCyclesPerOperation=*/165,
    /*drainCyclesPerByte=*/7.4,
    // Accumulators change hands by one barrier while the next products are on
    // their way: the latency of one MMA (264 to 298 cycles, SemiAnalysis).
    /*unitCycles=*/300,
    // As on the H200.
    /*splitTraffic=*/3,
    /*splitMicroseconds=*/5.9,
    // As on the H200.
    /*chainMicroseconds=*/4.0,
    // 7.26 TB/s of TMA loads (measured by others; 8 by the data sheet), less
    // the 5 % that the H200's kernels fall short of the same loop.
    /*memoryBytesPerSecond=*/6.9e12,
    // The H200's ratio to memoryBytesPerSecond.
    /*convertBytesPerSecond=*/4.7e12,
    // No published figure; the H200's.
    /*launchMicroseconds=*/3.5,
    /*coldMicroseconds=*/2.0,
    /*nextLaunchMicroseconds=*/7.0};

const arch::Rates &arch::getRates(llvm::StringRef targetName) {
  const Target *target = lookupTarget(targetName);
  return target && target->generation == Generation::Blackwell ? b200 : h200;
}
