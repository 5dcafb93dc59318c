//===- ConvertTileToBlackwell.cpp - Lower tile kernels to sm_100 ----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precondition: element regions hold arith ops and tile.approx only; operands
// of multiply and of drain tasks are in pools of their own. Postcondition: an
// llvm.func kernel for each tile.kernel, no tile operation.
//===----------------------------------------------------------------------===//
#include "BlackwellEmitter.h"
#include "backfuse/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#define DEBUG_TYPE "convert-tile-to-blackwell"

namespace backfuse {
#define GEN_PASS_DEF_CONVERTTILETOBLACKWELLPASS
#include "backfuse/Conversion/Passes.h.inc"
} // namespace backfuse

using namespace mlir;
using namespace backfuse;
using namespace backfuse::blackwell;

static SmallVector<std::string> describeRoles(const KernelLayout &layout) {
  if (layout.isConversion)
    return {"0-7 convert"};
  SmallVector<std::string> roles = {
      "0 load", layout.pairs ? "1 multiply (for a pair)" : "1 multiply"};
  if (layout.drainPool)
    roles.push_back("2 load for drain");
  roles.push_back("3 tensor memory");
  roles.push_back("4-7 drain");
  if (layout.hasSum)
    roles.push_back("8-9 sum");
  return roles;
}

namespace {
struct ConvertTileToBlackwellPass final
    : backfuse::impl::ConvertTileToBlackwellPassBase<
          ConvertTileToBlackwellPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const arch::Target *machine = arch::lookupTarget(target);
    if (!machine || machine->generation != arch::Generation::Blackwell) {
      module.emitError("'")
          << target << "' is not a target of " << getArgument();
      return signalPassFailure();
    }
    auto kernels = llvm::to_vector(module.getOps<tile::KernelOp>());
    if (kernels.empty())
      return;
    OpBuilder b(module.getBodyRegion());
    b.setInsertionPointToStart(module.getBody());
    declareDynamicShared(b, module.getLoc(), "smem");
    for (tile::KernelOp kernel : kernels) {
      FailureOr<KernelLayout> layout = computeLayout(kernel, *machine);
      if (failed(layout))
        return signalPassFailure();
      OpBuilder inside(kernel.getContext());
      BlackwellEmitter emitter(kernel, *layout, *machine, inside);
      FailureOr<Operation *> function = emitter.emit();
      if (failed(function))
        return signalPassFailure();
      attachLayout(kernel, *layout, layout->threads(), describeRoles(*layout),
                   *function);
      if (layout->pairs)
        (*function)->setAttr("tile.cluster", inside.getI64IntegerAttr(2));
      kernel.erase();
    }
  }
};
} // namespace
