//===- Rates.cpp - What the cost model knows of a GPU ---------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Arch/Rates.h"

using namespace backfuse;

/// H200, fitted to 96 measured times of workload 079 (16 token counts from 128 to
/// 74432, tiles of 128 and 256 columns, 1 and 2 splits, cold L2; root mean square
/// error 5 %). The effective values: a step of 128 x 256 x 64 takes 1280 cycles
/// (the tensor core alone 1024 at a clock that power lowers), operands come from
/// L2 at 46 bytes a cycle and SM, a drain takes 246 cycles for 128 x 64 elements
/// and 41 for each operation on them.
static const arch::Rates h200 = {
    /*numSms=*/132,
    /*clockHz=*/1.87e9,
    /*mmaCyclesPerColumn=*/5,
    /*l2BytesPerCycle=*/46,
    /*memoryBytesPerSecond=*/3.9e12,
    /*launchMicroseconds=*/3.5,
    /*coldMicroseconds=*/1.7,
    /*drainCycles=*/246,
    /*drainCyclesPerOperation=*/41,
    /*unitSteps=*/3.5,
    /*splitSteps=*/2,
    /*splitMicroseconds=*/2.5};

const arch::Rates &arch::getRates(llvm::StringRef targetName) {
  // TODO(#5): rates of a B200 for sm_100f and sm_100a.
  return h200;
}
