// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_MLP_LAUNCH_OPS_TD
#define BACKFUSE_MLP_LAUNCH_OPS_TD

// The fused level of the dialect: what the graph level becomes.

include "dialects/Mlp/IR/MlpAttrs.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

def Mlp_LaunchOp : Op<Mlp_Dialect, "launch",
    [RecursiveMemoryEffects, SingleBlock, NoRegionArguments]> {
  let summary = "What shares one kernel launch";
  let description = [{
    Holds mlp.fused ops that run in one kernel, at once but for those that multiply
    what others of them compute (backfuse-chain-launches makes such). Its results are what mlp.launch_yield yields. Launches of
    a graph run in the order in which they use each other's results.

    Constraints:
    - (C1) the body holds mlp.fused ops, at least one, then the terminator, and
      nothing else;
    - (C2) an mlp.fused op uses a result of another one in the same launch only
      as an operand of a contraction;
    - (C3) the terminator yields one value per result, of the result's type, and
      each is a result of an mlp.fused op of the body.

    Example:
    ```mlir
    %h = mlp.launch -> tensor<?x256xbf16, #mlp.dims<T, _>> {
      %0 = mlp.fused m = T, n = 256
          acc0 += %x[m, k] * %w[k, n] over k = 128
            : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<128x256xbf16>
          -> tensor<?x256xbf16, #mlp.dims<T, _>> {
      ^bb0(%acc: f32):
        %1 = arith.truncf %acc : f32 to bf16
        mlp.fused_yield store %1 : bf16
      }
      mlp.launch_yield %0 : tensor<?x256xbf16, #mlp.dims<T, _>>
    }
    ```
  }];
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    attr-dict-with-keyword (`->` type($outputs)^)? $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::SmallVector<FusedOp> getFusedOps();
    LaunchYieldOp getYield();
  }];
}

def Mlp_LaunchYieldOp : Op<Mlp_Dialect, "launch_yield",
    [Pure, Terminator, HasParent<"LaunchOp">]> {
  let summary = "Ends an mlp.launch and names its results";
  let description = [{
    Example:
    ```mlir
    mlp.launch_yield %0, %1 : tensor<768x1536xbf16>, tensor<768xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===----------------------------------------------------------------------===//
// Fused products
//===----------------------------------------------------------------------===//

def Mlp_FusedOp : Op<Mlp_Dialect, "fused",
    [Pure, IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
     HasParent<"LaunchOp">]> {
  let summary = "Matrix products of one M x N space and the work on their elements";
  let description = [{
    For all i < m, j < n, each accumulator `c` is the f32 sum of its contractions,

        acc_c[i, j] = sum over contractions of c, k of A[i, k] * B[j, k],

    the region is evaluated on the accumulators and on the element operands at
    (i, j), and each yielded value is stored at (i, j) or summed over i. All leading
    axes of operands and results are flattened: only the products of extents count.
    The region says where values are rounded, by its types; it begins with an
    `arith.truncf` of the accumulator when the graph's product is 16-bit.

    Written `%a[m, k]`, operand A is K-major, `%a[k, m]` MN-major; B accordingly
    `%b[n, k]` and `%b[k, n]`. An element operand `%x[m, n]` is read per element,
    `%x[n]` is a row (broadcast along m), `%x[m]` a column, `%x[]` a scalar.
    `sum_k a0, b1` adds results after the yielded ones: the f32 sums along k of the
    stored values of A of contraction 0 and B of contraction 1. Each sum is
    rounded once to its result's type.

    The region is isolated so that no canonicalisation moves its constants out.

    Constraints:
    - (C1) there is at least one contraction, and each has two operands;
    - (C2) the accumulators are numbered from 0 without gaps, and each is used;
    - (C3) each contraction's operands have the extents that m, n, k and its
      layouts say;
    - (C4) operands of contractions are bf16, f16 or f32; a contraction has a
      precision exactly if one of its operands is f32, and else one element type;
    - (C5) each element operand has a kind, and the type that the kind says: m x n,
      n, m, or f32;
    - (C6) the region's arguments are an f32 per accumulator, then the element types
      of the element operands;
    - (C7) the region's ops are scalar ops of arith, math and mlp without regions or
      side effects;
    - (C8) there is a result per yielded value, then one per operand sum;
    - (C9) the result of a store has m x n elements of the yielded type;
    - (C10) a sum over m is of f32 values, its result a float vector of n elements;
    - (C11) an operand sum names a contraction of the op; its result is a float
      vector of m elements (a) or n elements (b).

    Example:
    ```mlir
    %gw, %gb = mlp.fused m = 768, n = 1536
        acc0 += %dy[k, m] * %x[k, n] over k = B*S, op_index = 2
          : tensor<?x?x768xbf16, #mlp.dims<B, S, _>>, tensor<?x?x1536xbf16, #mlp.dims<B, S, _>>
        with %decay[n] : tensor<1536xbf16>
        sum_k a0
        -> tensor<768x1536xbf16>, tensor<768xbf16> {
    ^bb0(%acc: f32, %d: bf16):
      %0 = arith.truncf %acc : f32 to bf16
      %1 = arith.mulf %0, %d : bf16
      mlp.fused_yield store %1 : bf16
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$contraction_operands,
                       Variadic<AnyType>:$element_operands,
                       Mlp_ExtentAttr:$m, Mlp_ExtentAttr:$n,
                       Mlp_ContractionArrayAttr:$contractions,
                       Mlp_ElementKindArrayAttr:$element_kinds,
                       Mlp_OperandSumArrayAttr:$operand_sums,
                       OptionalAttr<AnyAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumContractions() { return getContractions().size(); }
    ContractionAttr getContraction(unsigned index) {
      return ::llvm::cast<ContractionAttr>(getContractions()[index]);
    }
    /// Operand A or B of a contraction.
    ::mlir::Value getOperandOf(unsigned contraction, Side side) {
      return getContractionOperands()[2 * contraction + (side == Side::B)];
    }
    ::mlir::Value getA(unsigned contraction) { return getOperandOf(contraction, Side::A); }
    ::mlir::Value getB(unsigned contraction) { return getOperandOf(contraction, Side::B); }

    unsigned getNumAccumulators();
    ::mlir::BlockArgument getAccumulator(unsigned index) {
      return getBody().getArgument(index);
    }

    ElementKind getElementKind(unsigned index) {
      return ::llvm::cast<ElementKindAttr>(getElementKinds()[index]).getValue();
    }
    /// The region's argument for an element operand.
    ::mlir::BlockArgument getElement(unsigned index) {
      return getBody().getArgument(getNumAccumulators() + index);
    }

    FusedYieldOp getYield();
    /// The results of the region's yield, in its order, then the operand sums.
    ::mlir::ResultRange getYieldResults();
    ::mlir::ResultRange getOperandSumResults();
    unsigned getNumOperandSums() { return getOperandSums().size(); }
    OperandSumAttr getOperandSum(unsigned index) {
      return ::llvm::cast<OperandSumAttr>(getOperandSums()[index]);
    }
  }];
}

def Mlp_FusedYieldOp : Op<Mlp_Dialect, "fused_yield",
    [Pure, Terminator, HasParent<"FusedOp">]> {
  let summary = "Says what becomes of the elements of an mlp.fused";
  let description = [{
    `store` writes the value, `sum_m` adds it over m in f32, giving a vector over n.

    Constraints:
    - (C1) there is one kind per value.

    Example:
    ```mlir
    mlp.fused_yield store %0 : bf16, sum_m %1 : f32
    ```
  }];
  let arguments = (ins Variadic<AnyFloat>:$values, Mlp_YieldKindArrayAttr:$kinds);
  let assemblyFormat = "custom<Yields>($kinds, $values, type($values)) attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    YieldKind getKind(unsigned index) {
      return ::llvm::cast<YieldKindAttr>(getKinds()[index]).getValue();
    }
  }];
}

//===----------------------------------------------------------------------===//
// 16-bit copies of f32 operands
//===----------------------------------------------------------------------===//

def Mlp_ConvertOp : Op<Mlp_Dialect, "convert", [Pure]> {
  let summary = "16-bit copies of an f32 tensor, and its column sums";
  let description = [{
    Results: one copy rounded to nearest even, or two of bf16 whose sum is the
    tensor to 2^-17 (the second holds what the first leaves); with `sum`, the f32
    sum of the tensor's own values over all axes but the last, rounded once to its
    type, comes after them.
    What products of f32 operands read that no launch writes.

    Constraints:
    - (C1) the tensor is f32 and its last axis fixed;
    - (C2) there are one or two copies, of the tensor's extents and of one 16-bit
      type; two are bf16;
    - (C3) the sum is a float vector of the last axis's extent.

    Example:
    ```mlir
    %hi, %lo, %s = mlp.convert %x sum : tensor<?x192xf32, #mlp.dims<T, _>>
        -> tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<192xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, UnitAttr:$sum);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$x (`sum` $sum^)? attr-dict `:` type($x) `->` type($outputs)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumCopies() { return getOutputs().size() - (getSum() ? 1 : 0); }
  }];
}

#endif // BACKFUSE_MLP_LAUNCH_OPS_TD
