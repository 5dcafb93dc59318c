//===- Rates.cpp - What the cost model knows of a GPU ---------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Arch/Rates.h"

using namespace backfuse;

/// H200, measured with hand-written kernels of this structure: a 128 x 256 step
/// of 64 takes 1160 cycles of which 1024 are the tensor core's; operands come
/// from L2 at 42 bytes a cycle and SM; an empty launch of 132 CTAs takes 3.5 us,
/// the first product comes 3 us later; an epilogue of 3 operations costs 2, one
/// with a sigmoid (about 20) 7 steps of a 128 x 256 tile.
static const arch::Rates h200 = {
    /*numSms=*/132,
    /*clockHz=*/1.7e9,
    /*mmaCyclesPerColumn=*/4,
    /*l2BytesPerCycle=*/42,
    /*memoryBytesPerSecond=*/4.3e12,
    /*launchMicroseconds=*/3.5,
    /*coldMicroseconds=*/3,
    /*drainCycles=*/290,
    /*drainCyclesPerOperation=*/87,
    /*unitSteps=*/1,
    /*splitSteps=*/2};

const arch::Rates &arch::getRates(llvm::StringRef targetName) {
  // TODO(#5): rates of a B200 for sm_100f and sm_100a.
  return h200;
}
