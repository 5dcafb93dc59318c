//===- Target.h - The GPUs that Backfuse compiles for -----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about a target that do not depend on a program: names for LLVM and
// ptxas, and the limits of one SM. Hardware numbers are spelled here only.
//
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_ARCH_TARGET_H
#define BACKFUSE_ARCH_TARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace backfuse::arch {

/// What one generation of tensor cores is driven by.
enum class Generation {
  Hopper,    ///< wgmma, accumulators in registers
  Blackwell, ///< tcgen05, accumulators in tensor memory
};

/// One target. The limits are those of the CUDA C++ Programming Guide 13.0,
/// "Technical Specifications per Compute Capability" (9.0 and 10.x agree in
/// all of them); tensor memory is PTX ISA 9.7.16.1.
struct Target {
  /// The name that users and bundles know it by, which is ptxas's and LLVM's.
  llvm::StringRef name;
  Generation generation;
  /// LLVM's subtarget features: the PTX version to emit.
  llvm::StringRef llvmFeatures;
  /// The compute capability times ten: 90, 100.
  int computeCapability;
  /// Devices of higher minor capability run the code too (the 'f' targets).
  bool isFamily;
  /// Dynamic shared memory that one CTA can ask for (227 KB).
  int64_t maxDynamicSmemBytes;
  /// Shared memory of an SM (228 KB), of which each CTA costs
  /// reservedSmemBytesPerCta beyond what it asks for.
  int64_t smemBytesPerSm;
  int64_t reservedSmemBytesPerCta;
  /// 32-bit registers of an SM; one thread has at most maxRegistersPerThread,
  /// given in multiples of registerGranularity.
  int64_t registersPerSm;
  int64_t maxRegistersPerThread;
  int64_t registerGranularity;
  int64_t warpThreads;
  int64_t warpgroupThreads;
  int64_t maxThreadsPerCta;
  int64_t maxThreadsPerSm;
  int64_t maxCtasPerSm;
  /// The cluster size that every device of the target can launch.
  int64_t maxPortableClusterCtas;
  /// Tensor memory: columns of 128 lanes of 32 bits; 0 where there is none.
  int64_t tmemColumns;
  int64_t tmemLanes;
  /// Whether products take f32 operands out of shared memory in either order,
  /// rounded to tf32.
  bool multipliesTf32;
  /// CTAs that can share a product (1: each has its own).
  int64_t maxProductCtas;
};

/// All targets, in the order in which messages list them.
llvm::ArrayRef<Target> getTargets();

/// The target named `name`, or null.
const Target *lookupTarget(llvm::StringRef name);

/// The names of all targets: "sm_90a, sm_100f, sm_100a".
std::string listTargetNames();

/// Parses a comma-separated list of target names. Unknown, empty and repeated
/// names are errors that list what there is.
llvm::Expected<llvm::SmallVector<const Target *>>
parseTargets(llvm::StringRef list);

} // namespace backfuse::arch

#endif // BACKFUSE_ARCH_TARGET_H
