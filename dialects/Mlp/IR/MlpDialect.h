//===- MlpDialect.h - The mlp dialect and its attributes --------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_DIALECTS_MLP_IR_MLPDIALECT_H
#define BACKFUSE_DIALECTS_MLP_IR_MLPDIALECT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"

#include <optional>

#include "dialects/Mlp/IR/MlpDialect.h.inc"
#include "dialects/Mlp/IR/MlpEnums.h.inc"

namespace backfuse::mlp {
struct Extent;
} // namespace backfuse::mlp

#define GET_ATTRDEF_CLASSES
#include "dialects/Mlp/IR/MlpAttrs.h.inc"

namespace backfuse::mlp {

/// An extent of a tensor: `factor` times the product of `names`. A fixed extent
/// has no names, a plain variable one the factor 1 and one name.
struct Extent {
  int64_t factor = 1;
  llvm::SmallVector<llvm::StringRef, 1> names;

  bool isFixed() const { return names.empty(); }
  bool operator==(const Extent &other) const {
    return factor == other.factor && names == other.names;
  }
  bool operator!=(const Extent &other) const { return !(*this == other); }
  /// As written: `1536`, `S`, `B*S`, `16*S`.
  std::string str() const;
};

/// The extent that an entry of #mlp.dims stands for; none if the text is not a
/// product of positive integers and identifiers. Sorts and multiplies out.
std::optional<Extent> parseExtent(llvm::StringRef entry);

/// The product of two extents; none if the factor overflows.
std::optional<Extent> multiply(const Extent &a, const Extent &b);

/// The extent of an axis. The strings live as long as the context. A `?`
/// without a name, which GraphOp's verifier refuses, gives the name "?".
Extent getExtent(mlir::RankedTensorType type, int64_t axis);
llvm::SmallVector<Extent> getExtents(mlir::RankedTensorType type);

/// The tensor type with these extents, with #mlp.dims if one is variable.
mlir::RankedTensorType getTensorType(llvm::ArrayRef<Extent> extents,
                                     mlir::Type elementType);

/// The name of a variable axis ("S", "B*S"), empty for a fixed one.
llvm::StringRef getDimName(mlir::RankedTensorType type, int64_t axis);

/// Parses `_` (which gives "") or factors joined by `*`, as they are written.
mlir::ParseResult parseDimEntry(mlir::AsmParser &parser, std::string &entry);

/// Whether `name` is a C identifier other than `_`.
bool isIdentifier(llvm::StringRef name);

} // namespace backfuse::mlp

#endif // BACKFUSE_DIALECTS_MLP_IR_MLPDIALECT_H
