//===- TensorMemory.h - A CTA's tensor memory -------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// 128 lanes of 512 columns of 32 bits, given to a CTA in columns. One CTA has
// the multiprocessor to itself.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_TENSORMEMORY_H
#define BACKFUSE_RUNTIME_EMULATOR_TENSORMEMORY_H

#include "runtime/emulator/Kernel.h"
#include "runtime/emulator/MatrixDescriptor.h"
#include "runtime/emulator/Shadow.h"

#include <cstdint>
#include <string>
#include <vector>

namespace backfuse::emulator {

struct Cta;
struct Warp;

/// What checks know of 16 lanes of a column.
struct TensorCell {
  enum Writer : uint8_t { Nobody, Store, Async };
  uint16_t written = 0; ///< lanes that hold a value
  Writer writer = Nobody;
  bool isProduct = false;      ///< async: not a copy
  uint16_t writerWarp = 0;     ///< in the cluster
  uint16_t asyncReader = 0;    ///< warp whose product reads A here
  uint32_t clock = 0;          ///< of the writer's stores or async work
  uint32_t site = 0;           ///< its instruction
  uint32_t form = 0;           ///< of a product: M, N and where D begins
  uint32_t readers = 0;        ///< warps of the CTA whose loads were not
                               ///< overwritten yet, by index % 32
  uint32_t asyncReadClock = 0; ///< 0: nobody
  uint32_t asyncReadSite = 0;
};

struct TensorAllocation {
  uint32_t column = 0, columns = 0;
  uint32_t site = 0;
};

struct TensorMemory {
  static constexpr uint32_t numLanes = 128, numColumns = 512;
  static constexpr uint32_t cellLanes = 16, cellsPerColumn = 8;

  std::vector<uint32_t> words;   ///< [lane][column]
  std::vector<TensorCell> cells; ///< [column][lane / 16]; with checks
  std::vector<TensorAllocation> allocations;
  bool isRelinquished = false;
  uint32_t mostColumns = numColumns; ///< of the next allocation
  // cta_group::2: this CTA's part of an allocation by the pair.
  uint32_t requested = 0; ///< columns; 0: not inside tcgen05.alloc
  int64_t granted = -1;   ///< by the peer's arrival
  /// Of the warp that left tcgen05.alloc last, and its clock then.
  unsigned allocWarp = 0;
  uint32_t allocClock = 0;

  uint32_t &word(uint32_t lane, uint32_t column) {
    return words[static_cast<size_t>(lane) * numColumns + column];
  }
  TensorCell &cell(uint32_t lane, uint32_t column) {
    return cells[static_cast<size_t>(column) * cellsPerColumn +
                 lane / cellLanes];
  }
  /// The first free run of columns; -1 if there is none.
  int64_t findFree(uint32_t columns, const TensorMemory *other) const;
  const TensorAllocation *allocationOf(uint32_t column) const;
  bool isAllocated(uint32_t column, uint32_t columns) const;
  /// "columns 0 to 255, 256 to 319" or "nothing".
  std::string describe() const;
};

/// A part of tensor memory: lanes of one CTA and columns.
struct TensorRegion {
  Cta *cta = nullptr;
  uint32_t column = 0, columns = 0;
  uint8_t cellRows = 0;       ///< bit i: lanes 16 i to 16 i + 15
  uint16_t laneMask = 0xffff; ///< of each 16 lanes
};

/// tcgen05 work that was issued and is not complete.
struct TensorOp {
  enum Kind : uint8_t { Mma, Copy, Commit, Load, Store };
  Kind kind = Mma;
  Cta *cta = nullptr;
  Warp *warp = nullptr;
  unsigned lane = 0;
  const Inst *inst = nullptr;
  uint64_t order = 0;   ///< of issue in the warp
  uint32_t clock = 0;   ///< of the warp's stream of this kind
  uint32_t address = 0; ///< D, or what is loaded, stored, copied to
  // Mma, Copy
  uint32_t a = 0; ///< A in tensor memory
  uint64_t descA = 0, descB = 0;
  InstructionDescriptor form;
  bool accumulate = true;
  uint32_t laneMask[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  // Commit
  uint32_t barrier = 0; ///< shared::cluster address
  uint16_t multicast = 0;
  /// The CTAs at whose barriers it arrives.
  uint32_t barrierCtas() const {
    return multicast ? multicast : 1u << (barrier >> clusterRankShift);
  }
  Clocks published; ///< checks: what its arrival tells
  // Store: per register the values of the lanes
  std::vector<uint32_t> data;
};

/// What a lane of a warp issues, but for its operands.
std::unique_ptr<TensorOp> makeTensorOp(TensorOp::Kind kind, Warp &warp,
                                       const Inst &inst, unsigned lane);

/// Where register `r` of thread `t` is: lane relative to the first of the
/// warp's, and column relative to the address; both halves of a packed
/// register with `half`.
struct TensorPlace {
  uint32_t lane, column;
};
TensorPlace placeOf(const Inst &inst, unsigned t, unsigned r, unsigned half);
/// Columns that an ld or st covers, and its registers.
uint32_t columnsOf(const Inst &inst);

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_TENSORMEMORY_H
