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
#include "backfuse/Target/Cubin/TranslateToPtx.h"
#if __has_include("dialects/Mlp/IR/MlpDialect.h")
#include "dialects/Mlp/IR/MlpDialect.h"
#define BACKFUSE_HAS_MLP
#endif
#if __has_include("dialects/Tile/IR/TileDialect.h")
#include "dialects/Tile/IR/TileDialect.h"
#define BACKFUSE_HAS_TILE
#endif
#if __has_include("backfuse/Transforms/Passes.h")
#include "backfuse/Transforms/Passes.h"
#define BACKFUSE_HAS_TRANSFORMS
#endif
#if __has_include("backfuse/Conversion/Passes.h")
#include "backfuse/Conversion/Passes.h"
#define BACKFUSE_HAS_CONVERSION
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
#ifdef BACKFUSE_HAS_MLP
  registry.insert<mlp::MlpDialect>();
#endif
#ifdef BACKFUSE_HAS_TILE
  registry.insert<tile::TileDialect>();
#endif
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, math::MathDialect, scf::SCFDialect,
                  ub::UBDialect, vector::VectorDialect>();
  // The LLVM and NVVM dialects, with their translation.
  registerPtxTranslations(registry);
}

void backfuse::registerPasses() {
#ifdef BACKFUSE_HAS_TRANSFORMS
  backfuse::registerTransformsPasses();
#endif
#ifdef BACKFUSE_HAS_CONVERSION
  backfuse::registerConversionPasses();
#endif
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
