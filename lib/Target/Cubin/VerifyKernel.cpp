//===- VerifyKernel.cpp - What LLVM and ptxas would take wrongly ----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops are known by name here, since the headers of their dialects cost more to
// compile than all else in this folder.
//
//===----------------------------------------------------------------------===//
#include "VerifyKernel.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace backfuse;

/// (K1)
static LogicalResult verifyArguments(FunctionOpInterface kernel) {
  for (unsigned i = 0, e = kernel.getNumArguments(); i < e; ++i)
    if (kernel.getArgAttr(i, "llvm.byval") &&
        !kernel.getArgAttr(i, "nvvm.grid_constant"))
      return kernel.emitError()
             << "passes argument " << i
             << " by value without 'nvvm.grid_constant', so that it would be "
                "copied to local memory";
  return success();
}

/// (K2)
static LogicalResult verifySetMaxRegister(Operation *op, Operation *kernel) {
  if (kernel->hasAttr("nvvm.maxnreg"))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitError("changes the register count of a kernel that does not give "
                    "its own, so that ptxas would ignore it");
  diagnostic.attachNote(kernel->getLoc()) << "'nvvm.maxnreg' is missing here";
  return diagnostic;
}

/// (K3)
static LogicalResult verifyTmemAlloc(Operation *op,
                                     const arch::Target &target) {
  APInt columns;
  if (op->getNumOperands() < 2 ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&columns)))
    return success();
  int64_t count = columns.getSExtValue();
  if (count >= 32 && count <= target.tmemColumns && llvm::isPowerOf2_64(count))
    return success();
  return op->emitError() << "allocates " << count
                         << " columns of tensor memory, but expects a power of "
                            "two from 32 to "
                         << target.tmemColumns << " on " << target.name;
}

LogicalResult backfuse::verifyKernel(Operation *kernel,
                                     const arch::Target &target) {
  if (failed(verifyArguments(cast<FunctionOpInterface>(kernel))))
    return failure();
  WalkResult result = kernel->walk([&](Operation *op) -> WalkResult {
    StringRef name = op->getName().getStringRef();
    if (name == "nvvm.setmaxregister")
      return verifySetMaxRegister(op, kernel);
    if (name == "nvvm.tcgen05.alloc")
      return verifyTmemAlloc(op, target);
    return success();
  });
  return failure(result.wasInterrupted());
}
