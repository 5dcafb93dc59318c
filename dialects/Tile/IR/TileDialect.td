//===- TileDialect.td - The tile dialect -------------------*- tablegen -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_DIALECTS_TILE_TILEDIALECT
#define BACKFUSE_DIALECTS_TILE_TILEDIALECT

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::backfuse::tile";
  let summary = "Persistent kernels as tasks joined by rings";
  let description = [{
    A `tile.kernel` computes one or several *spaces*: M x N matrices of results,
    each cut into tiles, and the K range of a tile into splits. One tile and
    split is a *unit*. A persistent grid deals the units to its CTAs; in each
    CTA several *tasks* run side by side and walk the same list of units: `load`
    fills the slots of rings from global memory, `multiply` consumes them into
    accumulators, `drain` turns accumulators into results, `sum` adds up columns
    of operands. The tasks meet only in rings and accumulators.

    Layouts in shared memory, swizzles, barriers, warps and registers are not
    chosen here: that is what `convert-tile-to-hopper` and its siblings do.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = [];
}

#endif // BACKFUSE_DIALECTS_TILE_TILEDIALECT
