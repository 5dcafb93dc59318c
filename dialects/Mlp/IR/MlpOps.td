// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_MLP_OPS_TD
#define BACKFUSE_MLP_OPS_TD

include "dialects/Mlp/IR/MlpAttrs.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mlp_Float : AnyTypeOf<[BF16, F16, F32], "bf16, f16 or f32">;
def Mlp_Tensor : RankedTensorOf<[BF16, F16, F32]>;
// Elementwise ops also take scalars: parameters, and the elements of a fused region.
def Mlp_FloatLike : AnyTypeOf<[Mlp_Float, Mlp_Tensor],
    "a bf16, f16 or f32 scalar or ranked tensor of such">;

class Mlp_Op<string mnemonic, list<Trait> traits = []>
    : Op<Mlp_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

def Mlp_GraphOp : Mlp_Op<"graph", [
    IsolatedFromAbove, Symbol, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "A graph with named inputs, parameters and outputs";
  let description = [{
    Its one block computes the values that `mlp.output` names. A tensor argument is
    an input; a scalar argument is a parameter, `i1` or `f32`, given at each launch.
    Inputs may be unused. The variable dimensions of the inputs are symbols of the
    graph: two axes named `S` have the same extent in every launch, which the runtime
    checks.

    `assumptions` holds the `i1` parameters that a clone of the graph was specialised
    for; such a graph may run only where the parameters have these values.

    Constraints:
    - (C1) each argument has a name, which is a C identifier and unique;
    - (C2) an argument is a ranked tensor of bf16, f16 or f32, or an i1 or f32 scalar;
    - (C3) each variable dimension of each tensor has a name, and no fixed extent is 0;
    - (C4) the variable dimensions of inputs and outputs are single names;
    - (C5) each name in the body occurs in an input;
    - (C6) the body holds only ops of this dialect, scalar or splat `arith.constant`,
      and elementwise ops: of `arith` addf, subf, mulf, divf, negf, maximumf,
      minimumf, maxnumf, minnumf, cmpf (olt, ole, ogt, oge, oeq, une), select, extf,
      truncf, andi, ori, of `math` exp, exp2, log, sqrt, rsqrt, tanh, erf, absf;
    - (C7) fastmath: `afn` on elementary functions and `contract` on f32 `addf`,
      `subf`, `mulf` are all that is allowed; casts carry none and round to nearest
      even, since upstream folds `extf(truncf x)` away under `contract`;
    - (C8) operands and results of an elementwise op have the same extents, and their
      element types are bf16, f16, f32 or i1;
    - (C9) each key of `assumptions` is the name of an i1 parameter, its value a bool;
    - (C10) the block ends with `mlp.output`.

    Example:
    ```mlir
    mlp.graph @linear_backward(
        %dy: tensor<?x?x768xbf16, #mlp.dims<B, S, _>> "grad_output",
        %x: tensor<?x?x320xbf16, #mlp.dims<B, S, _>> "input",
        %w: tensor<768x320xbf16> "weight") {
      %dx = mlp.matmul %dy, %w : tensor<?x?x768xbf16, #mlp.dims<B, S, _>>, tensor<768x320xbf16> -> tensor<?x?x320xbf16, #mlp.dims<B, S, _>>
      %dw = mlp.matmul %dy, %x contract [B, S] : tensor<?x?x768xbf16, #mlp.dims<B, S, _>>, tensor<?x?x320xbf16, #mlp.dims<B, S, _>> -> tensor<768x320xbf16>
      mlp.output %dx "grad_input", %dw "grad_weight" : tensor<?x?x320xbf16, #mlp.dims<B, S, _>>, tensor<768x320xbf16>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$arg_names,
                       OptionalAttr<DictionaryAttr>:$assumptions);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::StringRef getArgName(unsigned index) {
      return ::llvm::cast<::mlir::StringAttr>(getArgNames()[index]).getValue();
    }
    /// The tensor arguments and the scalar arguments, each in declaration order.
    ::llvm::SmallVector<::mlir::BlockArgument> getInputs();
    ::llvm::SmallVector<::mlir::BlockArgument> getParams();
    /// The variable dimensions' names in order of first appearance in the inputs.
    ::llvm::SmallVector<::llvm::StringRef> getDimNames();
    OutputOp getOutput();
  }];
}

def Mlp_OutputOp : Mlp_Op<"output", [Terminator, HasParent<"GraphOp">, Pure]> {
  let summary = "Names the graph's outputs";
  let description = [{
    Ends a graph's block and gives each output its name.

    Constraints:
    - (C1) there is at least one output;
    - (C2) each output has a name, which is a C identifier and unique among outputs;
    - (C3) no output is an argument of the graph: a launch writes what it computed,
      and does not copy.

    Example:
    ```mlir
    mlp.output %dx "grad_input" : tensor<?x320xbf16, #mlp.dims<S, _>>
    ```
  }];
  let arguments = (ins Variadic<Mlp_Tensor>:$operands, StrArrayAttr:$names);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::StringRef getName(unsigned index) {
      return ::llvm::cast<::mlir::StringAttr>(getNames()[index]).getValue();
    }
  }];
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def Mlp_MatmulOp : Mlp_Op<"matmul", [Pure]> {
  let summary = "Product of A and B with f32 accumulation";
  let description = [{
    `D[i.., j..] = round(sum over k.. of A * B)`: the contracted axes are summed in
    f32, and the sum is rounded once to the result's element type. D has the free
    axes of A in their order, then those of B.

    | written | contracts |
    |---|---|
    | (nothing) | the last axis of A with the first of B |
    | `transpose_b` | the last axis of A with the last of B |
    | `contract [B, S]` | the leading axes of both with these names (wgrad) |
    | `contract [0, 1]` | the leading axes of both, by number where they have no name |

    On f32 operands `precision` says how exactly they are read, and has no default:
    `ieee`, `tf32` (a promise of an error bound, not of an instruction), `bf16x3`,
    `fp16`, `bf16`. 16-bit operands are read exactly.

    Constraints:
    - (C1) A and B have at least two axes;
    - (C2) A and B have the same element type;
    - (C3) there is a `precision` exactly if the operands are f32;
    - (C4) the contracted axes are one of the pairs above;
    - (C5) contracted axes have the same extent in A and B;
    - (C6) A and B have at least one free axis each;
    - (C7) the result has A's free extents, then B's.

    Examples:
    ```mlir
    %0 = mlp.matmul %dy, %w : tensor<?x768xbf16, #mlp.dims<S, _>>, tensor<768x320xbf16> -> tensor<?x320xf32, #mlp.dims<S, _>>
    %1 = mlp.matmul %x, %w transpose_b : tensor<?x320xbf16, #mlp.dims<S, _>>, tensor<768x320xbf16> -> tensor<?x768xbf16, #mlp.dims<S, _>>
    %2 = mlp.matmul %p, %q contract [S] precision tf32 : tensor<?x768xf32, #mlp.dims<S, _>>, tensor<?x320xf32, #mlp.dims<S, _>> -> tensor<768x320xf32>
    ```
  }];
  let arguments = (ins Mlp_Tensor:$a, Mlp_Tensor:$b,
                       DenseI64ArrayAttr:$a_contract, DenseI64ArrayAttr:$b_contract,
                       OptionalAttr<Mlp_PrecisionAttr>:$precision);
  let results = (outs Mlp_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The axes that are not contracted, in order.
    ::llvm::SmallVector<int64_t> getAFreeAxes();
    ::llvm::SmallVector<int64_t> getBFreeAxes();
    /// Whether the contracted axes lead in both operands (a wgrad); A is then
    /// M-major with the contraction outermost.
    bool contractsLeadingAxes();
    /// Whether B's last axis is contracted.
    bool isBTransposed();
  }];
}

//===----------------------------------------------------------------------===//
// Elementwise ops that upstream lacks
//===----------------------------------------------------------------------===//

class Mlp_UnaryOp<string mnemonic, list<Trait> traits = []>
    : Mlp_Op<mnemonic, !listconcat(traits, [Pure, SameOperandsAndResultType])> {
  let results = (outs Mlp_FloatLike:$result);
}

def Mlp_SigmoidOp : Mlp_UnaryOp<"sigmoid"> {
  let summary = "Logistic function, rounded once";
  let description = [{
    `round(1 / (1 + exp(-x)))`. `afn` allows an approximate function.

    Example:
    ```mlir
    %0 = mlp.sigmoid %x : tensor<?x320xbf16, #mlp.dims<S, _>>
    ```
  }];
  let arguments = (ins Mlp_FloatLike:$x, UnitAttr:$afn);
  let assemblyFormat = "$x (`afn` $afn^)? attr-dict `:` type($x)";
}

def Mlp_GeluOp : Mlp_UnaryOp<"gelu"> {
  let summary = "GELU in its tanh or erf form, rounded once";
  let description = [{
    `tanh`: `round(x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))))`;
    `erf`: `round(x/2 * (1 + erf(x / sqrt(2))))`. The form is always written.

    Example:
    ```mlir
    %0 = mlp.gelu %x form = tanh : tensor<?x320xbf16, #mlp.dims<S, _>>
    ```
  }];
  let arguments = (ins Mlp_FloatLike:$x, Mlp_GeluFormAttr:$form, UnitAttr:$afn);
  let assemblyFormat = "$x `form` `=` `` $form (`afn` $afn^)? attr-dict `:` type($x)";
}

def Mlp_SiluOp : Mlp_UnaryOp<"silu"> {
  let summary = "x times its sigmoid, rounded once";
  let description = [{
    `round(x / (1 + exp(-x)))`, also called swish.

    Example:
    ```mlir
    %0 = mlp.silu %x : tensor<?x320xbf16, #mlp.dims<S, _>>
    ```
  }];
  let arguments = (ins Mlp_FloatLike:$x, UnitAttr:$afn);
  let assemblyFormat = "$x (`afn` $afn^)? attr-dict `:` type($x)";
}

def Mlp_ReluOp : Mlp_UnaryOp<"relu"> {
  let summary = "The larger of x and +0";
  let description = [{
    x where x > 0 or x is NaN, +0 elsewhere (also at -0). Exact.

    Example:
    ```mlir
    %0 = mlp.relu %x : tensor<?x320xbf16, #mlp.dims<S, _>>
    ```
  }];
  let arguments = (ins Mlp_FloatLike:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

//===----------------------------------------------------------------------===//
// Sugar, removed by backfuse-expand-sugar
//===----------------------------------------------------------------------===//

def Mlp_GeluGradOp : Mlp_UnaryOp<"gelu_grad"> {
  let summary = "Derivative of GELU at x, in primitives";
  let description = [{
    With `u = sqrt(2/pi) * (x + 0.044715 x^3)` and `t = tanh(u)`:
    `tanh`: `0.5 (1 + t) + 0.5 x (1 - t^2) sqrt(2/pi) (1 + 3 * 0.044715 x^2)`;
    `erf`: `0.5 (1 + erf(x / sqrt(2))) + x exp(-x^2/2) / sqrt(2 pi)`.

    `rounding = once` computes the primitives in f32 and rounds the last result to
    the type; `rounding = each_op` rounds each primitive to the type. There is no
    default. On f32 the two are the same.

    Example:
    ```mlir
    %0 = mlp.gelu_grad %x form = tanh rounding = once : tensor<?x320xbf16, #mlp.dims<S, _>>
    ```
  }];
  let arguments = (ins Mlp_FloatLike:$x, Mlp_GeluFormAttr:$form,
                       Mlp_RoundingAttr:$rounding, UnitAttr:$afn);
  let assemblyFormat = [{
    $x `form` `=` `` $form `rounding` `=` `` $rounding (`afn` $afn^)? attr-dict `:` type($x)
  }];
}

def Mlp_SiluGradOp : Mlp_UnaryOp<"silu_grad"> {
  let summary = "Derivative of SiLU at x, in primitives";
  let description = [{
    `s * (1 + x * (1 - s))` with `s = sigmoid(x)`: a sigmoid, a subtraction, a
    product, an addition and a product. `rounding` as for `mlp.gelu_grad`.

    Example:
    ```mlir
    %0 = mlp.silu_grad %x rounding = each_op : tensor<?x320xbf16, #mlp.dims<S, _>>
    ```
  }];
  let arguments = (ins Mlp_FloatLike:$x, Mlp_RoundingAttr:$rounding, UnitAttr:$afn);
  let assemblyFormat = [{
    $x `rounding` `=` `` $rounding (`afn` $afn^)? attr-dict `:` type($x)
  }];
}

def Mlp_ReluGradOp : Mlp_UnaryOp<"relu_grad"> {
  let summary = "Derivative of ReLU at x, in primitives";
  let description = [{
    1 where x > 0, else 0 (also at 0 and at NaN). Exact, so it takes no `rounding`.

    Example:
    ```mlir
    %0 = mlp.relu_grad %x : tensor<?x320xbf16, #mlp.dims<S, _>>
    ```
  }];
  let arguments = (ins Mlp_FloatLike:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

//===----------------------------------------------------------------------===//
// Broadcasts and sums
//===----------------------------------------------------------------------===//

def Mlp_BroadcastOp : Mlp_Op<"broadcast", [Pure]> {
  let summary = "Repeats a scalar or a tensor along further axes";
  let description = [{
    `result[i0, i1, ..] = x[i_dims[0], i_dims[1], ..]`. `dims` gives the result's axis
    for each axis of x; without it they are the trailing axes, so that a row vector
    goes to every row.

    Constraints:
    - (C1) `dims` is strictly increasing, with one axis of the result per axis of x;
    - (C2) the extents agree along `dims`;
    - (C3) the element types are the same.

    Examples:
    ```mlir
    %0 = mlp.broadcast %bias : tensor<320xbf16> -> tensor<?x320xbf16, #mlp.dims<S, _>>
    %1 = mlp.broadcast %scale : f32 -> tensor<?x320xf32, #mlp.dims<S, _>>
    %2 = mlp.broadcast %rows dims = [0] : tensor<?xf32, #mlp.dims<S>> -> tensor<?x320xf32, #mlp.dims<S, _>>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Mlp_Float, I1, RankedTensorOf<[BF16, F16, F32, I1]>]>:$x,
                       DenseI64ArrayAttr:$dims);
  let results = (outs RankedTensorOf<[BF16, F16, F32, I1]>:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Mlp_SumOp : Mlp_Op<"sum", [Pure]> {
  let summary = "Sum over axes, accumulated in f32";
  let description = [{
    Adds the elements along `axes` in f32 and rounds the sum once to the result's
    element type. The axes are written by name or by number. A sum over all axes has
    rank 0.

    Constraints:
    - (C1) the axes are axes of x, at least one, strictly increasing;
    - (C2) the result has the extents that remain.

    Examples:
    ```mlir
    %0 = mlp.sum %x over [S] : tensor<?x320xbf16, #mlp.dims<S, _>> -> tensor<320xbf16>
    %1 = mlp.sum %x over [0, 1] : tensor<?x320xbf16, #mlp.dims<S, _>> -> tensor<f32>
    ```
  }];
  let arguments = (ins Mlp_Tensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs Mlp_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

def Mlp_CollapseOp : Mlp_Op<"collapse", [Pure]> {
  let summary = "Makes one axis of neighbouring ones";
  let description = [{
    The same elements in row-major order. The extent of the new axis is the product
    of those of `axes`, which are written by name or by number.

    Constraints:
    - (C1) the axes are at least two neighbouring axes of x in order;
    - (C2) the element types are the same;
    - (C3) the result has the extents of x, with the product in place of `axes`.

    Example:
    ```mlir
    %0 = mlp.collapse %x [B, S] : tensor<?x?x320xbf16, #mlp.dims<B, S, _>> -> tensor<?x320xbf16, #mlp.dims<B*S, _>>
    ```
  }];
  let arguments = (ins Mlp_Tensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs Mlp_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Mlp_ExpandOp : Mlp_Op<"expand", [Pure]> {
  let summary = "Makes neighbouring axes of one";
  let description = [{
    The inverse of `mlp.collapse`: `axes` are axes of the result.

    Constraints:
    - (C1) the axes are at least two neighbouring axes of the result in order;
    - (C2) the element types are the same;
    - (C3) x has the extents of the result, with the product in place of `axes`.

    Example:
    ```mlir
    %0 = mlp.expand %x [B, S] : tensor<?x320xbf16, #mlp.dims<B*S, _>> -> tensor<?x?x320xbf16, #mlp.dims<B, S, _>>
    ```
  }];
  let arguments = (ins Mlp_Tensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs Mlp_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // BACKFUSE_MLP_OPS_TD
