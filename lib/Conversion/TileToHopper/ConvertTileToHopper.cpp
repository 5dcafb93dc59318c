//===- ConvertTileToHopper.cpp - Lower tile kernels to sm_90a -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precondition: element regions hold arith ops and tile.approx only.
// Postcondition: an llvm.func kernel for each tile.kernel, no tile operation.
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Passes.h"
#include "HopperEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#define DEBUG_TYPE "convert-tile-to-hopper"

namespace backfuse {
#define GEN_PASS_DEF_CONVERTTILETOHOPPERPASS
#include "backfuse/Conversion/Passes.h.inc"
} // namespace backfuse

using namespace mlir;
using namespace backfuse;
using namespace backfuse::hopper;

/// Which warps do what, for reports.
static SmallVector<std::string> describeRoles(const KernelLayout &layout) {
  if (layout.isConversion)
    return {"0-7 convert"};
  return {"0 load", "2-3 sum", "4-11 multiply, drain"};
}

namespace {
struct ConvertTileToHopperPass final
    : backfuse::impl::ConvertTileToHopperPassBase<ConvertTileToHopperPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = llvm::to_vector(module.getOps<tile::KernelOp>());
    if (kernels.empty())
      return;
    OpBuilder b(module.getBodyRegion());
    b.setInsertionPointToStart(module.getBody());
    declareDynamicShared(b, module.getLoc(), "smem");
    for (tile::KernelOp kernel : kernels) {
      FailureOr<KernelLayout> layout = computeLayout(kernel);
      if (failed(layout))
        return signalPassFailure();
      OpBuilder inside(kernel.getContext());
      HopperEmitter emitter(kernel, *layout, inside);
      FailureOr<Operation *> function = emitter.emit();
      if (failed(function))
        return signalPassFailure();
      attachLayout(kernel, *layout,
                   layout->isConversion ? convertThreads : threads,
                   describeRoles(*layout), *function);
      kernel.erase();
    }
  }
};
} // namespace
