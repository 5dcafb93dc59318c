// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_MLP_ATTRS_TD
#define BACKFUSE_MLP_ATTRS_TD

include "dialects/Mlp/IR/MlpDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

//===----------------------------------------------------------------------===//
// Named dimensions
//===----------------------------------------------------------------------===//

def Mlp_DimsAttr : AttrDef<Mlp_Dialect, "Dims",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "dims";
  let summary = "Names of a tensor's variable dimensions";
  let description = [{
    The encoding of a ranked tensor with variable dimensions: one entry per axis,
    `_` for a fixed axis and otherwise the extent, which is a name, or a product of
    names and at most one integer such as `B*S` or `16*S` (what `mlp.collapse`
    yields). Two axes have the same extent exactly if their entries are equal. A
    product is stored in one form only: the integer first, unless it is 1, then the
    names in alphabetical order.

    Constraints:
    - (C1) there is one entry per axis;
    - (C2) exactly the `?` axes have a name;
    - (C3) no fixed extent is 0;
    - (C4) a name is a C identifier and not `_`; a factor is positive;
    - (C5) the element type is bf16, f16, f32 or i1.

    Example:
    ```mlir
    tensor<?x?x768xbf16, #mlp.dims<B, S, _>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$entries);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class Mlp_Enum<string name, string summary, string mnemonic, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::backfuse::mlp";
  let genSpecializedAttr = 0;
  string attrMnemonic = mnemonic;
}

def Mlp_Precision : Mlp_Enum<"Precision", "how a product reads f32 operands", "precision", [
    I32EnumAttrCase<"Ieee", 0, "ieee">, I32EnumAttrCase<"Tf32", 1, "tf32">,
    I32EnumAttrCase<"Bf16x3", 2, "bf16x3">, I32EnumAttrCase<"Fp16", 3, "fp16">,
    I32EnumAttrCase<"Bf16", 4, "bf16">]>;
def Mlp_PrecisionAttr : EnumAttr<Mlp_Dialect, Mlp_Precision, "precision">;

def Mlp_GeluForm : Mlp_Enum<"GeluForm", "which formula GELU means", "gelu_form", [
    I32EnumAttrCase<"Tanh", 0, "tanh">, I32EnumAttrCase<"Erf", 1, "erf">]>;
def Mlp_GeluFormAttr : EnumAttr<Mlp_Dialect, Mlp_GeluForm, "gelu_form">;

def Mlp_Rounding : Mlp_Enum<"Rounding", "where a composite op rounds", "rounding", [
    I32EnumAttrCase<"EachOp", 0, "each_op">, I32EnumAttrCase<"Once", 1, "once">]>;
def Mlp_RoundingAttr : EnumAttr<Mlp_Dialect, Mlp_Rounding, "rounding">;

include "dialects/Mlp/IR/MlpLaunchAttrs.td"

#endif // BACKFUSE_MLP_ATTRS_TD
