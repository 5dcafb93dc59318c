//===- TileTypes.td - Types of the tile dialect ------------*- tablegen -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_DIALECTS_TILE_TILETYPES
#define BACKFUSE_DIALECTS_TILE_TILETYPES

include "dialects/Tile/IR/TileAttrs.td"

class Tile_Type<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Tile_Tensor : Tile_Type<"GlobalTensor", "tensor"> {
  let summary = "A compact row-major matrix in global memory";
  let description = [{
    `!tile.tensor<?x768xbf16>`: rows may be dynamic, columns not. Rows start at
    multiples of 16 bytes. A vector is a matrix of one row. Fixed extents are
    positive and below 2^31, elements floats of 16 or 32 bits.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$element);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}
def Tile_Workspace : Tile_Type<"Workspace", "workspace"> {
  let summary = "Bytes of global memory whose initial content does not matter";
}
def Tile_Pool : Tile_Type<"Pool", "pool"> {
  let summary = "Slots of shared memory, used in turn";
}
def Tile_Ring : Tile_Type<"Ring", "ring"> {
  let summary = "A sequence of entries, each a slot holding the given buffers";
  let description = "`!tile.ring<<128x64xf16>, <96x64xf16>>`: two boxes in each slot.";
  let parameters = (ins ArrayRefParameter<"BufferAttr">:$buffers);
  let assemblyFormat = "`<` $buffers `>`";
}
def Tile_Slot : Tile_Type<"Slot", "slot"> {
  let summary = "A slot that the producing task has acquired";
}
def Tile_Accumulator : Tile_Type<"Accumulator", "accumulator"> {
  let summary = "An M x N tile of f32 sums";
  let description = "`!tile.accumulator<128x96>`: both extents are positive.";
  let parameters = (ins "int64_t":$rows, "int64_t":$cols);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}
def Tile_Space : Tile_Type<"Space", "space"> {
  let summary = "An M x N x K iteration space cut into units";
}

#endif // BACKFUSE_DIALECTS_TILE_TILETYPES
