//===- VerifyKernel.h - What LLVM and ptxas would take wrongly --*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_LIB_TARGET_CUBIN_VERIFYKERNEL_H
#define BACKFUSE_LIB_TARGET_CUBIN_VERIFYKERNEL_H

#include "backfuse/Arch/Target.h"
#include "mlir/Support/LLVM.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace backfuse {

/// Checks the kernel `kernel` (an `llvm.func`) for what neither MLIR's
/// verifiers nor LLVM nor ptxas refuse, though it cannot be meant:
/// (K1) an argument by value without `nvvm.grid_constant`: LLVM copies it to
///      local memory, where no tensor map may lie;
/// (K2) `nvvm.setmaxregister` in a kernel without `nvvm.maxnreg`: ptxas ignores
///      it;
/// (K3) `nvvm.tcgen05.alloc` of a constant number of columns that is no power
///      of two from 32 to what the target has (PTX ISA 9.7.16.7.1).
mlir::LogicalResult verifyKernel(mlir::Operation *kernel,
                                 const arch::Target &target);

} // namespace backfuse

#endif // BACKFUSE_LIB_TARGET_CUBIN_VERIFYKERNEL_H
