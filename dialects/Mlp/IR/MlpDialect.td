// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_MLP_DIALECT_TD
#define BACKFUSE_MLP_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/DialectBase.td"

def Mlp_Dialect : Dialect {
  let name = "mlp";
  let cppNamespace = "::backfuse::mlp";
  let summary = "Graphs of matrix products with elementwise work between them";
  let description = [{
    The graph level says what is computed: matrix products, elementwise ops, sums
    and broadcasts on tensors whose variable dimensions have names. **The type is
    the rounding**: each op is computed in f32 and rounded once to its result type.

    Elementwise work is upstream `arith` and `math` wherever they have the op.
    What frameworks evaluate as one op with one rounding (sigmoid, GELU, SiLU) and
    upstream lacks is an op here.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let extraClassDeclaration = [{
    /// Discardable attribute on mlp.matmul: the op's index in the flat op list of
    /// the graph as written, by which a plan names the product.
    static constexpr ::llvm::StringLiteral opIndexAttrName = "mlp.op_index";

    /// Registers the attributes, from MlpAttrs.cpp where they are complete.
    void registerAttributes();
  }];
  let hasOperationAttrVerify = 1;
}

#endif // BACKFUSE_MLP_DIALECT_TD
