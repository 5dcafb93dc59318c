//===- TensorCores.h - Sizes that instructions work on ----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes fixed by instructions, which code is written for: constants, where a
// Target's limits are values.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_ARCH_TENSORCORES_H
#define BACKFUSE_ARCH_TENSORCORES_H

#include <cstdint>

namespace backfuse::arch {

constexpr int64_t warpThreads = 32, warpgroupWarps = 4;
constexpr int64_t warpgroupThreads = warpgroupWarps * warpThreads;

/// Rows of D of a warpgroup's wgmma (PTX ISA, wgmma shapes).
constexpr int64_t wgmmaRows = 64;

/// Tensor memory: lanes, each a row of a CTA's accumulators, and columns of 32
/// bits (PTX ISA, tensor memory). A warp loads the lanes of one quarter, which
/// its number in its warpgroup says.
constexpr int64_t tensorMemoryLanes = 128, tensorMemoryColumns = 512;
constexpr int64_t tensorMemoryWarpLanes = tensorMemoryLanes / warpgroupWarps;

/// Rows of a tile that a CTA computes: two warpgroups' D, or all lanes of
/// tensor memory.
constexpr int64_t ctaTileRows = 128;
static_assert(ctaTileRows == 2 * wgmmaRows && ctaTileRows == tensorMemoryLanes);

/// Columns of D that an instruction has at most.
constexpr int64_t maxInstructionColumns = 256;
/// Bytes of K that an instruction takes of a 16-bit (or tf32) operand.
constexpr int64_t instructionKBytes = 32;
/// Rows of the 128-byte swizzle's pattern, and of the panels it is used in.
constexpr int64_t swizzleBytes = 128;

} // namespace backfuse::arch

#endif // BACKFUSE_ARCH_TENSORCORES_H
