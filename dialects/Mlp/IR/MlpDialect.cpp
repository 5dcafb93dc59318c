//===- MlpDialect.cpp - Registration of the mlp dialect -------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Mlp/IR/MlpDialect.h"
#include "dialects/Mlp/IR/MlpLaunchOps.h"
#include "dialects/Mlp/IR/MlpOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace backfuse::mlp;

#include "dialects/Mlp/IR/MlpDialect.cpp.inc"

void MlpDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Mlp/IR/MlpOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Mlp/IR/MlpLaunchOps.cpp.inc"
      >();
}

LogicalResult MlpDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attr) {
  if (attr.getName() != opIndexAttrName)
    return success();
  auto index = dyn_cast<IntegerAttr>(attr.getValue());
  if (!isa<MatmulOp>(op) || !index || !index.getType().isInteger(64) ||
      index.getInt() < 0)
    return op->emitOpError("expects '")
           << opIndexAttrName << "' to be a non-negative i64 on mlp.matmul";
  return success();
}
