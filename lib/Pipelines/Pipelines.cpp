//===- Pipelines.cpp - The order of passes --------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Pipelines/Pipelines.h"
#include "backfuse/Arch/Target.h"
#include "backfuse/Conversion/Passes.h"
#include "backfuse/Transforms/Passes.h"
#include "dialects/Mlp/IR/MlpOps.h"
#include "mlir/Pass/Pass.h" // NVVMToLLVM.h needs it first.

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace backfuse;

void backfuse::buildExpandPipeline(OpPassManager &pm) {
  pm.addNestedPass<mlp::GraphOp>(createExpandSugarPass());
  pm.addNestedPass<mlp::GraphOp>(createNumberOpsPass());
}

void backfuse::buildFusePipeline(OpPassManager &pm) {
  pm.addPass(createSpecializePass());
  pm.addNestedPass<mlp::GraphOp>(createFuseIntoLaunchesPass());
}

/// Routes and schedules of launches.
static void addSchedulePasses(OpPassManager &pm, const arch::Target &target,
                              llvm::StringRef tuningFile,
                              llvm::StringRef precision) {
  RouteProductsPassOptions routes;
  routes.precision = precision.str();
  routes.registerOperands = target.generation == arch::Generation::Hopper;
  routes.tf32Operands = target.multipliesTf32;
  pm.addNestedPass<mlp::GraphOp>(createRouteProductsPass(routes));
  pm.addNestedPass<mlp::GraphOp>(createChainLaunchesPass());
  SelectSchedulePassOptions schedule;
  schedule.target = target.name.str();
  schedule.tuning = tuningFile.str();
  pm.addPass(createSelectSchedulePass(schedule));
}

void backfuse::buildSchedulePipeline(OpPassManager &pm,
                                     const arch::Target &target,
                                     llvm::StringRef tuningFile,
                                     llvm::StringRef precision) {
  buildExpandPipeline(pm);
  buildFusePipeline(pm);
  addSchedulePasses(pm, target, tuningFile, precision);
}

void backfuse::buildTilePipeline(OpPassManager &pm, const arch::Target &target,
                                 llvm::StringRef tuningFile,
                                 llvm::StringRef precision) {
  addSchedulePasses(pm, target, tuningFile, precision);
  pm.addPass(createConvertMlpToTilePass());
  pm.addPass(createExpandElementaryFunctionsPass());
}

void backfuse::buildMachinePipeline(OpPassManager &pm,
                                    const arch::Target &target) {
  if (target.generation == arch::Generation::Blackwell) {
    ConvertTileToBlackwellPassOptions options;
    options.target = target.name.str();
    pm.addPass(createConvertTileToBlackwellPass(options));
    return;
  }
  pm.addPass(createConvertTileToHopperPass());
}

void backfuse::buildLlvmPipeline(OpPassManager &pm) {
  // Addresses and constants repeat in every block that the emitter makes.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void backfuse::buildCompilePipeline(OpPassManager &pm,
                                    const arch::Target &target,
                                    llvm::StringRef tuningFile,
                                    llvm::StringRef precision) {
  buildExpandPipeline(pm);
  buildFusePipeline(pm);
  buildTilePipeline(pm, target, tuningFile, precision);
  buildMachinePipeline(pm, target);
  buildLlvmPipeline(pm);
}

namespace {
struct TargetOptions : PassPipelineOptions<TargetOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("The target to compile for"),
                             llvm::cl::init("sm_90a")};
};
} // namespace

/// The target of a pipeline. An unknown one is reported by the pass that is put
/// into the pipeline in its place.
static const arch::Target *findTarget(OpPassManager &pm,
                                      const TargetOptions &options) {
  const arch::Target *target = arch::lookupTarget(options.target);
  if (!target) {
    SelectSchedulePassOptions schedule;
    schedule.target = options.target;
    pm.addPass(createSelectSchedulePass(schedule));
  }
  return target;
}

void backfuse::registerPipelines() {
  static PassPipelineRegistration<> fuse(
      "backfuse-graph-to-launches", "Graphs to launches of fused products",
      [](OpPassManager &pm) {
        buildExpandPipeline(pm);
        buildFusePipeline(pm);
      });
  static PassPipelineRegistration<TargetOptions> tile(
      "backfuse-graph-to-tile", "Graphs to tile kernels",
      [](OpPassManager &pm, const TargetOptions &options) {
        buildExpandPipeline(pm);
        buildFusePipeline(pm);
        if (const arch::Target *target = findTarget(pm, options))
          buildTilePipeline(pm, *target);
      });
  static PassPipelineRegistration<TargetOptions> compile(
      "backfuse-compile", "Graphs to kernels of the LLVM and NVVM dialects",
      [](OpPassManager &pm, const TargetOptions &options) {
        if (const arch::Target *target = findTarget(pm, options))
          buildCompilePipeline(pm, *target);
      });
}
