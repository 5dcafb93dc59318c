//===- Registration.cpp - Dialects and passes of kernel-opt ---------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chosen subset of upstream, by its own headers: mlir/InitAllPasses.h and
// mlir/Conversion/Passes.h cost half a minute to compile, and all of upstream
// doubles the tool's start-up.
//
//===----------------------------------------------------------------------===//
#include "backfuse/Pipelines/Registration.h"
#include "backfuse/Pipelines/Pipelines.h"
#include "backfuse/Target/Cubin/TranslateToPtx.h"
#ifdef BACKFUSE_HAS_BACKFUSETILETOHOPPER
#include "backfuse/Conversion/Passes.h"
#endif
#ifdef BACKFUSE_HAS_BACKFUSETRANSFORMS
#include "backfuse/Transforms/Passes.h"
#endif
#ifdef BACKFUSE_HAS_MLIRMLP
#include "dialects/Mlp/IR/MlpDialect.h"
#endif
#ifdef BACKFUSE_HAS_MLIRTILE
#include "dialects/Tile/IR/TileDialect.h"
#endif
#include "mlir/Pass/Pass.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void backfuse::registerDialects(DialectRegistry &registry) {
#ifdef BACKFUSE_HAS_MLIRMLP
  registry.insert<mlp::MlpDialect>();
#endif
#ifdef BACKFUSE_HAS_MLIRTILE
  registry.insert<tile::TileDialect>();
#endif
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, math::MathDialect, scf::SCFDialect,
                  ub::UBDialect, vector::VectorDialect>();
  // The LLVM and NVVM dialects, with their translation.
  registerPtxTranslations(registry);
}

void backfuse::registerPasses() {
#ifdef BACKFUSE_HAS_BACKFUSETRANSFORMS
  backfuse::registerTransformsPasses();
#endif
#ifdef BACKFUSE_HAS_BACKFUSETILETOHOPPER
  backfuse::registerConversionPasses();
#endif
  registerPipelines();
  registerCanonicalizerPass();
  registerCSEPass();
  registerInlinerPass();
  registerLoopInvariantCodeMotionPass();
  registerStripDebugInfoPass();
  registerSymbolDCEPass();
  registerPass([] { return createArithToLLVMConversionPass(); });
  registerPass([] { return createConvertControlFlowToLLVMPass(); });
  registerPass([] { return createConvertFuncToLLVMPass(); });
  registerPass([] { return createConvertMathToLLVMPass(); });
  registerPass([] { return createConvertNVVMToLLVMPass(); });
  registerPass([] { return createReconcileUnrealizedCastsPass(); });
  registerPass([] { return createSCFToControlFlowPass(); });
}
