//===- Rates.h - What the cost model knows of a GPU -------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_ARCH_RATES_H
#define BACKFUSE_ARCH_RATES_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace backfuse::arch {

/// What the tensor core multiplies; each kind has a rate.
enum class MmaKind { F16, BF16, TF32 };

/// Rates of one GPU model of a target: what kernels reach, not what data sheets
/// promise. Where each number comes from is said in Rates.cpp.
struct Rates {
  /// The GPU that stands for the target, as people call it.
  llvm::StringRef device;
  /// Whether the numbers were fitted to times measured on that GPU.
  bool measured;
  int64_t numSms;
  /// The clock in which cycles are counted, Hz.
  double clockHz;

  // The main loop: a step is 128 rows x 64 columns of K.
  /// Cycles of the tensor core for a step, per column of the tile; f32 operands
  /// multiplied as tf32 take their own.
  double mmaCyclesPerColumn, tf32MmaCyclesPerColumn;
  /// Bytes per cycle that an SM gets out of L2 when all SMs load operands, and
  /// how long a load is on its way: stages in flight bound the rate, too.
  double l2BytesPerCycle, loadLatencyCycles;

  /// Cycles that a warpgroup takes to bring an f32 operand of a step from shared
  /// memory to registers and to convert it, while it multiplies nothing.
  double convertStepCycles;
  /// What the products of such a step take, in proportion to mmaCyclesPerColumn.
  double convertMmaShare;
  /// l2BytesPerCycle of such steps: neighbours ask for the same f32 lines.
  double convertL2BytesPerCycle;

  // The drain, for a chunk of 128 rows x 64 columns.
  /// Cycles per chunk, per operation on a pair of its elements, and per byte
  /// that an element has in operands and results.
  double drainCycles, drainCyclesPerOperation, drainCyclesPerByte;

  /// Cycles that a unit of work loses between its begin and its first product.
  double unitCycles;
  /// The partial sums of a split unit pass L2 as if they were so many times
  /// their bytes; what a launch with splits takes longer, microseconds.
  double splitTraffic, splitMicroseconds;
  /// From the last accumulator of a link of a chain until others load what it
  /// stored, microseconds.
  double chainMicroseconds;

  /// Device memory, bytes per second, read and written; the same of a kernel
  /// that only converts.
  double memoryBytesPerSecond, convertBytesPerSecond;

  /// An empty persistent launch; from there until the first product; and what
  /// each further launch adds: microseconds.
  double launchMicroseconds, coldMicroseconds, nextLaunchMicroseconds;

  double mmaCycles(MmaKind kind) const {
    return kind == MmaKind::TF32 ? tf32MmaCyclesPerColumn : mmaCyclesPerColumn;
  }
};

/// The rates of the GPU that stands for the target: an H200 for sm_90a, a B200
/// for sm_100f and sm_100a.
const Rates &getRates(llvm::StringRef targetName);

} // namespace backfuse::arch

#endif // BACKFUSE_ARCH_RATES_H
