//===- LaneKernels.h - Arithmetic over the 32 lanes of a warp ---*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// One function per operation and type, over arrays of 32 values. The file
// behind this table is compiled once per instruction set of the host, and the
// best one is taken at run time, so that one binary runs on any x86-64.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_LANEKERNELS_H
#define BACKFUSE_RUNTIME_EMULATOR_LANEKERNELS_H

#include "runtime/emulator/Ptx.h"

#include <cstdint>

namespace backfuse::emulator {

enum class LaneOp : uint8_t {
  Add,
  Sub,
  MulLo,
  MulHi,
  MulWide,
  MadLo,
  MadHi,
  MadWide,
  Mul24,
  Mad24,
  Sad,
  Div,
  Rem,
  Abs,
  Neg,
  Min,
  Max,
  Mul,
  Fma,
  And,
  Or,
  Xor,
  Not,
  Cnot,
  Shl,
  Shr,
  Bfe,
  Bfi,
  Popc,
  Clz,
  Brev,
  Bfind,
  Szext,
  Bmsk,
  Prmt,
  Lop3,
  ShfL,
  ShfR,
  Dp4aU,
  Dp4aS,
  Rcp,
  Sqrt,
  Rsqrt,
  Ex2,
  Lg2,
  Sin,
  Cos,
  Tanh,
  Copysign,
  Select,
  Testp
};
constexpr unsigned numLaneOps = static_cast<unsigned>(LaneOp::Testp) + 1;

enum class Compare : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge, // ordered for floats
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu, // or unordered
  Num,
  Nan
};
constexpr unsigned numCompares = static_cast<unsigned>(Compare::Nan) + 1;

/// Modifiers of an operation, in the `flags` word of a lane function. The
/// upper bits belong to the operation (a table, a selector).
namespace lane {
enum : uint32_t {
  roundMask = 7,
  roundNearest = 0,
  roundZero = 1,
  roundDown = 2,
  roundUp = 3,
  roundAway = 4, ///< .rna: ties away from zero
  ftz = 8,
  saturate = 16,
  propagateNan = 32,
  approximate = 64,
  wrap = 128, ///< shf.wrap
  relu = 256,
  xorSign = 512,
  integerRound = 1024, ///< cvt.rni and its like
  shiftAmount = 2048,  ///< bfind.shiftamt
  noFtz = 4096,
  upperHalf = 8192, ///< comparisons of packed halves
  tableShift = 16
};
} // namespace lane

/// d[l] = f(s[0][l], s[1][l], s[2][l]) for the lanes of `mask`. Sources and
/// destination may be the same array.
using LaneFn = void (*)(void *d, const void *const *s, uint32_t mask,
                        uint32_t flags);
/// The lanes of `mask` for which the comparison holds.
using CompareFn = uint32_t (*)(const void *a, const void *b, uint32_t mask,
                               uint32_t flags);

/// One warp's share of a wgmma: 16 rows of A, `n` columns, `k` steps.
/// `a` holds [k][2][32]: for each k the values of the lanes' two rows, in the
/// order of the lanes; `b` holds [k][n / 8][2][4]: even columns, then odd ones.
/// `d` are the n / 2 accumulator registers, 32 lanes each. `overwrite` starts
/// from zero.
using MmaFn = void (*)(float *const *d, const float *a, const float *b,
                       unsigned n, unsigned k, bool overwrite);

/// Some rows of a tcgen05.mma: d[r][j] += sum over kk of a[r * k + kk] *
/// b[kk * ldb + j]. `rows` is a multiple of 4, `n` of 8.
using MmaRowsFn = void (*)(float *const *d, unsigned rows, const float *a,
                           const float *b, unsigned ldb, unsigned n, unsigned k,
                           bool overwrite);

struct LaneTable {
  const char *isa;
  LaneFn ops[numLaneOps][numTypes];
  LaneFn converts[numTypes][numTypes]; ///< [to][from]
  CompareFn compares[numCompares][numTypes];
  LaneFn
      packHalf2[2]; ///< cvt to f16x2, bf16x2 of two f32: s[0] is the upper half
  MmaFn mma;
  MmaRowsFn mmaRows;
};

/// The table for this machine. `forced` ("v1", "v3", "v4") picks another one,
/// for tests; null where the machine cannot run it.
const LaneTable *laneTable(const char *forced = nullptr);

// Scalar conversions, for memory operations and tests.
float bf16ToFloat(uint16_t value);
uint16_t floatToBf16(float value);
float f16ToFloat(uint16_t value);
uint16_t floatToF16(float value);

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_LANEKERNELS_H
