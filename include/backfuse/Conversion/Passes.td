//===- Passes.td - Conversion passes -----------------------*- tablegen -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_CONVERSION_PASSES
#define BACKFUSE_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertMlpToTilePass : Pass<"convert-mlp-to-tile", "::mlir::ModuleOp"> {
  let summary = "Turn launches into tile kernels";
  let description = [{
    Each `mlp.launch` becomes a `tile.kernel` with a space per fused op, in the
    order of their schedules; element regions become the regions of tile.drain.
    Results that only later launches read live in temporaries of the plan.

    Precondition: graphs hold launches only, with `tile.slots` and
    `tile.slot_bytes`, and fused ops have a #tile.schedule
    (backfuse-select-schedule). Postcondition: no graph is left; kernels carry
    `tile.variant`, `tile.step`, `tile.assumptions`, `tile.ranges` and
    `tile.products` for the launch plan.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::backfuse::tile::TileDialect"];
}

def ConvertTileToHopperPass : Pass<"convert-tile-to-hopper", "::mlir::ModuleOp"> {
  let summary = "Lower tile kernels to sm_90a";
  let description = [{
    Each `tile.kernel` becomes an `llvm.func` kernel of 384 threads: a load warp
    (bulk tensor copies), two sum warps, and two warpgroups that multiply
    (wgmma, accumulators in registers) and drain.

    Precondition: element regions hold arith ops and tile.approx only
    (backfuse-expand-elementary-functions). Postcondition: no tile operation is
    left; the function carries what the launch plan needs as attributes:
    `tile.bindings`, `tile.maps` (argument, box rows, panel columns, panels),
    `tile.arguments` (those passed as they are), `tile.smem_bytes`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def ConvertTileToBlackwellPass
    : Pass<"convert-tile-to-blackwell", "::mlir::ModuleOp"> {
  let summary = "Lower tile kernels to sm_100";
  let description = [{
    Each `tile.kernel` becomes an `llvm.func` kernel whose warps are roles: a
    load warp for each pool (bulk tensor copies), one that multiplies
    (tcgen05.mma, accumulators in tensor memory), four that drain, two that sum
    where the kernel has that task. Accumulators of `count` 2 are drained while
    the next unit's products are added up. A kernel with `tile.cluster_rank` is
    run by clusters of two CTAs, one of which multiplies for both.

    Precondition: element regions hold arith ops and tile.approx only
    (backfuse-expand-elementary-functions); operands of products and entries of
    drains are in pools of their own. Postcondition: no tile operation is left;
    the function carries the same attributes as convert-tile-to-hopper leaves,
    a fifth number on maps that round f32 to tf32 (the bytes of the swizzle's
    atoms), and `tile.cluster`, the CTAs of a cluster, where there are several.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_100f\"",
           "The target whose limits hold">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

#endif // BACKFUSE_CONVERSION_PASSES
