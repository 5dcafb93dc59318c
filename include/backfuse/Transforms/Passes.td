// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TRANSFORMS_PASSES_TD
#define BACKFUSE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Graph to graph
//===----------------------------------------------------------------------===//

def ExpandSugarPass : Pass<"backfuse-expand-sugar", "::backfuse::mlp::GraphOp"> {
  let summary = "Expand derivatives of activations to primitives";
  let description = [{
    Replaces `mlp.gelu_grad`, `mlp.silu_grad` and `mlp.relu_grad` by the primitives
    that their descriptions list, in that order. With `rounding = once` these are
    f32 ops between a cast of the operand and one of the result, with
    `rounding = each_op` they have the operand's type. Nothing is folded: the result
    is the graph that the bundle records.

    Precondition: none. Postcondition: the graph holds no sugar, and each op that is
    new has the location of the op that it comes from.

    Example:
    ```mlir
    %0 = mlp.relu_grad %x : tensor<?x40xbf16, #mlp.dims<S, _>>
    ```
    becomes
    ```mlir
    %zero = arith.constant 0.0 : bf16
    %1 = mlp.broadcast %zero : bf16 -> tensor<?x40xbf16, #mlp.dims<S, _>>
    %one = arith.constant 1.0 : bf16
    %2 = mlp.broadcast %one : bf16 -> tensor<?x40xbf16, #mlp.dims<S, _>>
    %3 = arith.cmpf ogt, %x, %1 : tensor<?x40xbf16, #mlp.dims<S, _>>
    %0 = arith.select %3, %2, %1 : tensor<?x40xi1, #mlp.dims<S, _>>, tensor<?x40xbf16, #mlp.dims<S, _>>
    ```
  }];
}

def NumberOpsPass : Pass<"backfuse-number-ops", "::backfuse::mlp::GraphOp"> {
  let summary = "Give each product its index in the bundle's flat op list";
  let description = [{
    Sets `mlp.op_index` on each `mlp.matmul` to the op's place in the block, which is
    its index in the flat op list that the bundle records. Clones keep it, so that a
    plan of any variant can name the product that it computes.

    Precondition: the graph holds no sugar. Postcondition: each product has an index.
  }];
}

def SpecializePass : Pass<"backfuse-specialize", "::mlir::ModuleOp"> {
  let summary = "Clone each graph per value of each bool parameter";
  let description = [{
    Replaces a graph by one clone for each combination of values of the i1
    parameters that its body uses. In a clone the parameters are constants, selects
    and logic on them are resolved, and what no output needs is gone, so that a
    variant does not load what it does not use. The clone keeps the signature, and
    `assumptions` says for which values it is. A graph that uses no i1 parameter
    stays as it is.

    Precondition: the graph holds no sugar and uses at most 4 i1 parameters.
    Postcondition: no graph uses an i1 parameter.

    Example: with `%flag: i1 "flag"`, `@g` becomes `@g__flag_true` and
    `@g__flag_false`, and
    ```mlir
    %0 = arith.select %flag, %a, %b : tensor<?x40xbf16, #mlp.dims<S, _>>
    ```
    becomes `%a` in the former, `%b` in the latter.
  }];
}

//===----------------------------------------------------------------------===//
// Graph to launches
//===----------------------------------------------------------------------===//

def FuseIntoLaunchesPass
    : Pass<"backfuse-fuse-into-launches", "::backfuse::mlp::GraphOp"> {
  let summary = "Make launches of fused products of a graph's ops";
  let description = [{
    Each product becomes a contraction of an `mlp.fused`, and the elementwise ops
    that follow it in its M x N space become the op's region. Products of one space
    that meet in an elementwise op share one `mlp.fused`, unless one depends on the
    other; f32 products that are only added to each other share one accumulator.
    Values that depend on no product are computed again wherever they are needed. A
    value that a later product or another region reads is stored once. Reshapes
    vanish, and so do casts from 16 bit to f32 of a product's operands.

    A sum over the leading axes is a sum over m in the region that computes the
    value, or rides on the loads of a product that contracts the value along the
    same axes; failing these, a product of the value's space loads the value and
    sums it. A truncf of an f32 sum is the sum's one rounding.

    Fused ops that do not depend on each other share a launch; each is in the
    earliest launch that it can be in.

    Preconditions: no sugar, no use of a bool parameter. Postcondition: the graph
    holds `mlp.launch` ops and its output only. What cannot be fused (an output that
    no product's space computes, sums over trailing axes, broadcasts into the middle
    of a space ...) is an error at the op.

    Example:
    ```mlir
    %d = mlp.matmul %dy, %w : tensor<?x40xbf16, #mlp.dims<S, _>>, tensor<40x80xbf16> -> tensor<?x80xbf16, #mlp.dims<S, _>>
    %gx = arith.mulf %d, %scale : tensor<?x80xbf16, #mlp.dims<S, _>>
    ```
    becomes
    ```mlir
    %gx = mlp.launch -> tensor<?x80xbf16, #mlp.dims<S, _>> {
      %0 = mlp.fused m = S, n = 80
          acc0 += %dy[m, k] * %w[k, n] over k = 40 : tensor<?x40xbf16, #mlp.dims<S, _>>, tensor<40x80xbf16>
          with %scale[m, n] : tensor<?x80xbf16, #mlp.dims<S, _>>
          -> tensor<?x80xbf16, #mlp.dims<S, _>> {
      ^bb0(%acc: f32, %s: bf16):
        %d = arith.truncf %acc : f32 to bf16
        %1 = arith.mulf %d, %s : bf16
        mlp.fused_yield store %1 : bf16
      }
      mlp.launch_yield %0 : tensor<?x80xbf16, #mlp.dims<S, _>>
    }
    ```
  }];
  let options = [
    Option<"report", "report", "bool", "false",
           "Remark at each op where it went, and why what was not fused was not">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RouteProductsPass : Pass<"backfuse-route-products", "::backfuse::mlp::GraphOp"> {
  let summary = "Choose how products of f32 operands are computed";
  let description = [{
    With `tf32-operands` products of two f32 operands and precision `tf32` are
    left as they are. Any other f32 product reads 16-bit copies: `fp16` and `bf16` one of each operand; `bf16x3`, and `tf32` by
    its promise, two bf16 copies of each, whose three (or, with an operand that is
    exact in bf16, two) largest products are added up. A launch that computes an
    operand stores the copies in place of it; inputs are copied by `mlp.convert`.
    Column sums that rode on an f32 operand are taken from its own values there.

    With `register-operands` a contraction reads one of its operands as f32 where
    it can, and rounds or splits it on the way to the tensor core. Which inputs
    have copies is chosen so that every product has at most one operand without,
    and the copies are small.

    Precondition: graphs hold launches only. Postcondition: every contraction has
    16-bit operands, or one of f32 and a precision of fp16, bf16 or bf16x3 (the
    second part of the other operand: bf16), or two of f32 and tf32. Errors at the product: `ieee`; a 16-bit operand that is not of
    the copies' type; a column sum as an operand; sums of an f32 operand over other
    axes than all but the last.
  }];
  let options = [
    Option<"precision", "precision", "std::string", "\"\"",
           "Overrides the precision of every f32 product">,
    Option<"registerOperands", "register-operands", "bool", "false",
           "The target rounds one f32 operand of a product on its way from shared "
           "memory to the tensor core">,
    Option<"tf32Operands", "tf32-operands", "bool", "false",
           "The target multiplies f32 operands, rounded to tf32">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ChainLaunchesPass : Pass<"backfuse-chain-launches", "::backfuse::mlp::GraphOp"> {
  let summary = "Put dependent launches into one";
  let description = [{
    A launch whose fused ops read results of the launch before as operands of
    contractions only becomes part of it: one kernel then runs both, and units
    that read tiles wait for those. A conversion must come before, which clears the
    flags that they wait for.

    Precondition: graphs hold conversions and launches only.

    ```mlir
    %c = mlp.convert %x ...
    %h = mlp.launch -> ... { %0 = mlp.fused ... mlp.launch_yield %0 : ... }
    %y = mlp.launch -> ... { %1 = mlp.fused ... acc0 += %h[m, k] * %w[k, n] ... }
    ```
    becomes
    ```mlir
    %c = mlp.convert %x ...
    %h, %y = mlp.launch -> ... {
      %0 = mlp.fused ...
      %1 = mlp.fused ... acc0 += %0[m, k] * %w[k, n] ...
      mlp.launch_yield %0, %1 : ...
    }
    ```
  }];
}

def SelectSchedulePass : Pass<"backfuse-select-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose tiles and split counts per range of token counts";
  let description = [{
    For token counts from 1 up a cost model predicts each tile configuration that
    fits the target, with the best split counts; neighbours with one choice become
    a range. The graph is cloned per configuration taken.

    Precondition: graphs hold launches only. Postcondition: each clone has
    `tile.ranges` and `tile.tokens`, each launch `tile.slots` and
    `tile.slot_bytes`, each fused op a #tile.schedule.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_90a\"",
           "The target whose limits and rates decide">,
    Option<"tuning", "tuning", "std::string", "\"\"",
           "A JSON file of ranges that takes the place of the cost model">,
  ];
  let dependentDialects = ["::backfuse::tile::TileDialect"];
}

//===----------------------------------------------------------------------===//
// Scalar regions
//===----------------------------------------------------------------------===//

def ExpandElementaryFunctionsPass : Pass<"backfuse-expand-elementary-functions"> {
  let summary = "Expand scalar elementary functions to arithmetic";
  let description = [{
    Rewrites each scalar `math.{exp, exp2, log, sqrt, rsqrt, tanh, erf}` and
    `mlp.{sigmoid, gelu, silu, relu}` into `arith` and `math.fma` ops on f32 and
    `tile.approx`. An operand of 16 bits is extended first, the result rounded once
    at the end. Without `afn` the f32 value is within 2^-20 of the function's, relatively,
    where that is a normal number; `docs/elementary-functions.md` tables what was
    measured. Functions of tensors are left alone.

    Precondition: regions of scalars (`tile.drain`) hold no sugar and no other function of
    `math`. Postcondition: they hold no function but `math.{absf, copysign, floor,
    fma, roundeven}` and `tile.approx`. Constants are at the start of their block; the
    same subexpression may occur twice.

    Example:
    ```mlir
    %0 = mlp.sigmoid %x afn : bf16
    ```
    becomes
    ```mlir
    %one = arith.constant 1.000000e+00 : f32
    %c = arith.constant -1.44269502 : f32
    %1 = arith.extf %x : bf16 to f32
    %2 = arith.mulf %1, %c : f32
    %3 = tile.approx ex2 %2 : f32
    %4 = arith.addf %3, %one : f32
    %5 = tile.approx rcp %4 : f32
    %0 = arith.truncf %5 : f32 to bf16
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::backfuse::tile::TileDialect"];
}

#endif // BACKFUSE_TRANSFORMS_PASSES_TD
