//===- Rates.h - What the cost model knows of a GPU -------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_ARCH_RATES_H
#define BACKFUSE_ARCH_RATES_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace backfuse::arch {

/// Rates of one GPU model of a target.
struct Rates {
  int64_t numSms;
  /// Clock inside long kernels, Hz.
  double clockHz;
  /// Cycles of the tensor core for a step of 128 rows x 64 (K), per column.
  double mmaCyclesPerColumn;
  /// Bytes per cycle that an SM gets out of L2 when all SMs load operands.
  double l2BytesPerCycle;
  /// Device memory, bytes per second, read and written.
  double memoryBytesPerSecond;
  /// An empty persistent launch, and until its first product: microseconds.
  double launchMicroseconds, coldMicroseconds;
  /// Cycles that a drain takes for 128 x 64 elements: at least, and per
  /// operation of its region.
  double drainCycles, drainCyclesPerOperation;
  /// Steps that a unit loses at its begin, and a split unit at its end; what a
  /// launch with splits takes longer, microseconds.
  double unitSteps, splitSteps, splitMicroseconds;
};

/// The rates of the GPU that stands for the target.
const Rates &getRates(llvm::StringRef targetName);

} // namespace backfuse::arch

#endif // BACKFUSE_ARCH_RATES_H
