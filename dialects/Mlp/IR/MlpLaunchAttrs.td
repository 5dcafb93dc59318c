// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_MLP_LAUNCH_ATTRS_TD
#define BACKFUSE_MLP_LAUNCH_ATTRS_TD

// Included at the end of MlpAttrs.td: one dialect has one attribute parser, so
// all its attributes are generated together.

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

def Mlp_Major : Mlp_Enum<"Major", "which extent of a product's operand is contiguous",
    "major", [
    I32EnumAttrCase<"KMajor", 0, "k_major">, I32EnumAttrCase<"MnMajor", 1, "mn_major">]>;

def Mlp_Side : Mlp_Enum<"Side", "an operand of a product", "side", [
    I32EnumAttrCase<"A", 0, "a">, I32EnumAttrCase<"B", 1, "b">]>;

def Mlp_ElementKind : Mlp_Enum<"ElementKind",
    "which part of the M x N space an operand varies over", "element_kind", [
    I32EnumAttrCase<"Element", 0, "element">, I32EnumAttrCase<"Row", 1, "row">,
    I32EnumAttrCase<"Column", 2, "column">, I32EnumAttrCase<"Scalar", 3, "scalar">]>;
def Mlp_ElementKindAttr : EnumAttr<Mlp_Dialect, Mlp_ElementKind, "element_kind">;
def Mlp_ElementKindArrayAttr
    : TypedArrayAttrBase<Mlp_ElementKindAttr, "array of #mlp.element_kind">;

def Mlp_YieldKind : Mlp_Enum<"YieldKind", "what becomes of a yielded element",
    "yield_kind", [
    I32EnumAttrCase<"Store", 0, "store">, I32EnumAttrCase<"SumM", 1, "sum_m">]>;
def Mlp_YieldKindAttr : EnumAttr<Mlp_Dialect, Mlp_YieldKind, "yield_kind">;
def Mlp_YieldKindArrayAttr
    : TypedArrayAttrBase<Mlp_YieldKindAttr, "array of #mlp.yield_kind">;

//===----------------------------------------------------------------------===//
// Structures
//===----------------------------------------------------------------------===//

def Mlp_ExtentAttr : AttrDef<Mlp_Dialect, "Extent"> {
  let mnemonic = "extent";
  let summary = "An extent of a flattened tensor";
  let description = [{
    A fixed positive factor times a product of variable dimensions. The names are
    in alphabetical order, one entry per use.

    Example:
    ```mlir
    #mlp.extent<768>
    #mlp.extent<B*S>
    #mlp.extent<16*S>
    ```
  }];
  let parameters = (ins "int64_t":$factor, ArrayRefParameter<"::mlir::StringAttr">:$names);
  let builders = [AttrBuilder<(ins "const ::backfuse::mlp::Extent &":$extent)>];
  let extraClassDeclaration = [{
    /// The same as plain data.
    ::backfuse::mlp::Extent getExtent() const;
    bool isFixed() const { return getNames().empty(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Mlp_ContractionAttr : AttrDef<Mlp_Dialect, "Contraction"> {
  let mnemonic = "contraction";
  let summary = "One matrix product of an mlp.fused";
  let description = [{
    The product of the operands number `2*i` (A) and `2*i+1` (B) of contraction `i`,
    added into accumulator `acc`. As row-major matrices A is M x K when k_major and
    K x M when mn_major, B is N x K when k_major and K x N when mn_major.
    `precision` is that of mlp.matmul, absent when both operands are 16-bit.
    `op_index` is the index of the product in the graph's flat op list, by which the
    plan names it.

    Example:
    ```mlir
    #mlp.contraction<acc = 0, k = <B*S>, a = mn_major, b = mn_major, precision = tf32, op_index = 3>
    ```
  }];
  let parameters = (ins "unsigned":$acc, "::backfuse::mlp::ExtentAttr":$k,
                        EnumParameter<Mlp_Major>:$a, EnumParameter<Mlp_Major>:$b,
                        OptionalParameter<"::backfuse::mlp::PrecisionAttr">:$precision,
                        OptionalParameter<"std::optional<int64_t>">:$op_index);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Mlp_ContractionArrayAttr
    : TypedArrayAttrBase<Mlp_ContractionAttr, "array of #mlp.contraction">;

def Mlp_OperandSumAttr : AttrDef<Mlp_Dialect, "OperandSum"> {
  let mnemonic = "operand_sum";
  let summary = "The sum along K of an operand of an mlp.fused";
  let description = [{
    The stored values of operand A (or B) of a contraction, added in f32 along K: a
    vector over M (or N). The bias gradient rides in the weight gradient this way.

    Example:
    ```mlir
    #mlp.operand_sum<contraction = 0, operand = a>
    ```
  }];
  let parameters = (ins "unsigned":$contraction, EnumParameter<Mlp_Side>:$operand);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Mlp_OperandSumArrayAttr
    : TypedArrayAttrBase<Mlp_OperandSumAttr, "array of #mlp.operand_sum">;

#endif // BACKFUSE_MLP_LAUNCH_ATTRS_TD
