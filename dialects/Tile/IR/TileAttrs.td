//===- TileAttrs.td - Attributes of the tile dialect -------*- tablegen -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_DIALECTS_TILE_TILEATTRS
#define BACKFUSE_DIALECTS_TILE_TILEATTRS

include "dialects/Tile/IR/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Tile_Attr<string name, string attrMnemonic> : AttrDef<Tile_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Tile_TaskKind : I32EnumAttr<"TaskKind", "what a task does", [
    I32EnumAttrCase<"Load", 0, "load">,
    I32EnumAttrCase<"Multiply", 1, "multiply">,
    I32EnumAttrCase<"Drain", 2, "drain">,
    I32EnumAttrCase<"Sum", 3, "sum">]> {
  let cppNamespace = "::backfuse::tile";
  let genSpecializedAttr = 0;
}
def Tile_TaskKindAttr : EnumAttr<Tile_Dialect, Tile_TaskKind, "task_kind"> {
  let assemblyFormat = "$value";
}

def Tile_Major : I32EnumAttr<"Major", "which dimension of an operand is contiguous", [
    I32EnumAttrCase<"K", 0, "k_major">,
    I32EnumAttrCase<"MN", 1, "mn_major">]> {
  let cppNamespace = "::backfuse::tile";
  let genSpecializedAttr = 0;
}
def Tile_MajorAttr : EnumAttr<Tile_Dialect, Tile_Major, "major"> {
  let assemblyFormat = "$value";
}

def Tile_ElementKind : I32EnumAttr<"ElementKind", "how an operand of a drain spans the space", [
    I32EnumAttrCase<"Slot", 0, "slot">,      // M x N, through a ring's buffers
    I32EnumAttrCase<"Row", 1, "row">,        // N values, the same for each row
    I32EnumAttrCase<"Column", 2, "column">,  // M values, the same for each column
    I32EnumAttrCase<"Scalar", 3, "scalar">]> {
  let cppNamespace = "::backfuse::tile";
  let genSpecializedAttr = 0;
}
def Tile_ElementKindAttr : EnumAttr<Tile_Dialect, Tile_ElementKind, "element_kind"> {
  let assemblyFormat = "$value";
}

def Tile_YieldKind : I32EnumAttr<"YieldKind", "where a value of a drain goes", [
    I32EnumAttrCase<"Store", 0, "store">,    // into an M x N tensor
    I32EnumAttrCase<"SumM", 1, "sum_m">]> {  // added up over m, into N values
  let cppNamespace = "::backfuse::tile";
  let genSpecializedAttr = 0;
}
def Tile_YieldKindAttr : EnumAttr<Tile_Dialect, Tile_YieldKind, "yield_kind"> {
  let assemblyFormat = "$value";
}

def Tile_ApproxKind : I32EnumAttr<"ApproxKind", "a function of the special function unit", [
    I32EnumAttrCase<"Ex2", 0, "ex2">,      // 2^x, relative error 2^-22, subnormals flushed
    I32EnumAttrCase<"Lg2", 1, "lg2">,      // log2(x), absolute error 2^-22
    I32EnumAttrCase<"Rcp", 2, "rcp">,      // 1/x, 1 ulp, subnormals flushed
    I32EnumAttrCase<"Rsqrt", 3, "rsqrt">,  // 1/sqrt(x), relative error 2^-22.4
    I32EnumAttrCase<"Tanh", 4, "tanh">]> { // relative error 2^-11
  let cppNamespace = "::backfuse::tile";
  let genSpecializedAttr = 0;
}
def Tile_ApproxKindAttr : EnumAttr<Tile_Dialect, Tile_ApproxKind, "approx_kind"> {
  let assemblyFormat = "$value";
}

def Tile_BufferAttr : Tile_Attr<"Buffer", "buffer"> {
  let summary = "A box of a row-major matrix as it stands in a slot";
  let description = [{
    `#tile.buffer<64x128xbf16>`: 64 rows of 128 contiguous elements of global
    memory. How the box is laid out in shared memory is the target's choice.
    Extents are positive and below 2^31, elements floats of 16 or 32 bits.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$element);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t numBytes() const;
  }];
}

def Tile_ExprAttr : Tile_Attr<"Expr", "expr"> {
  let summary = "An integer expression over named run-time values";
  let description = [{
    `#tile.expr<[B, S], affine_map<()[s0, s1] -> (s0 * s1)>>`: the map has one
    result and no dimensions; its symbols are the names in order. A name is a
    variable dimension of the graph, or `splits:N` for the split count of space
    N of this kernel, which the schedule fixes per range of token counts.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        "::mlir::AffineMap":$map);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_ScheduleAttr : Tile_Attr<"Schedule", "schedule"> {
  let summary = "How a fused op becomes a space of a kernel";
  let description = [{
    `tile`: M, N and K of a tile; `cost`: what a unit costs beside its K steps, in
    steps; `order`: its place in the deal of units (0 first).

    ```mlir
    #tile.schedule<tile = [128, 256, 64], cost = 19, order = 1>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$tile, "int64_t":$cost,
                        "int64_t":$order);
  let assemblyFormat = "`<` `tile` `=` `[` $tile `]` `,` `cost` `=` $cost `,` `order` `=` $order `>`";
  let genVerifyDecl = 1;
}

def Tile_RangeAttr : Tile_Attr<"Range", "range"> {
  let summary = "Token counts for which a variant is taken, and their split counts";
  let description = [{
    Token counts `from` <= T < `to` (`to` = -1: no end), and the split count of
    each fused op in the order of the graph.

    ```mlir
    #tile.range<from = 4000, to = -1, splits = [1, 2]>
    ```
  }];
  let parameters = (ins "int64_t":$from, "int64_t":$to,
                        ArrayRefParameter<"int64_t">:$splits);
  let assemblyFormat = "`<` `from` `=` $from `,` `to` `=` $to `,` `splits` `=` `[` $splits `]` `>`";
}

def Tile_BindKind : I32EnumAttr<"BindKind", "what a kernel argument is bound to", [
    I32EnumAttrCase<"Input", 0, "input">,
    I32EnumAttrCase<"Output", 1, "output">,
    I32EnumAttrCase<"Temporary", 2, "temporary">, // workspace shared by the launches of one plan
    I32EnumAttrCase<"Workspace", 3, "workspace">, // workspace of this launch alone
    I32EnumAttrCase<"Extent", 4, "extent">,
    I32EnumAttrCase<"Param", 5, "param">,
    I32EnumAttrCase<"Tag", 6, "tag">]> {
  let cppNamespace = "::backfuse::tile";
  let genSpecializedAttr = 0;
}
def Tile_BindAttr : Tile_Attr<"Bind", "bind"> {
  let summary = "What the launch plan passes for a kernel argument";
  let description = [{
    `#tile.bind<input 3>`: the graph's input number 3; `output` likewise;
    `temporary 0`: the plan's temporary number 0, `expr` its bytes;
    `workspace`: `expr` bytes of workspace; `extent`: the value of `expr`;
    `param 1`: the scalar parameter number 1; `tag`: 64 bits no other launch has.

    ```mlir
    #tile.bind<workspace 0, <["splits:0"], affine_map<()[s0] -> (s0 * 4096)>>>
    ```
  }];
  let parameters = (ins EnumParameter<Tile_BindKind>:$kind,
                        "int64_t":$index,
                        OptionalParameter<"ExprAttr">:$expr);
  let assemblyFormat = "`<` $kind $index (`,` $expr^)? `>`";
  let genVerifyDecl = 1;
}

#endif // BACKFUSE_DIALECTS_TILE_TILEATTRS
