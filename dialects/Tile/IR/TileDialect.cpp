//===- TileDialect.cpp - Types and attributes of the tile dialect ---------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Tile/IR/TileDialect.h"
#include "dialects/Tile/IR/TileOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace backfuse::tile;

#include "dialects/Tile/IR/TileDialect.cpp.inc"
#include "dialects/Tile/IR/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/IR/TileAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/IR/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Tile/IR/TileAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Tile/IR/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/IR/TileOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Boxes written "RxCxT"
//===----------------------------------------------------------------------===//

/// Parses `<RxCxT>`; rows may be `?` where `dynamicRows` allows it.
static ParseResult parseBox(AsmParser &parser, bool dynamicRows, int64_t &rows,
                            int64_t &cols, Type &element) {
  SmallVector<int64_t, 2> shape;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/dynamicRows) ||
      parser.parseType(element) || parser.parseGreater())
    return failure();
  if (shape.size() != 2 || ShapedType::isDynamic(shape[1]))
    return parser.emitError(loc, "expects rows and a fixed number of columns");
  rows = shape[0];
  cols = shape[1];
  return success();
}

static void printBox(AsmPrinter &printer, int64_t rows, int64_t cols,
                     Type element) {
  printer << '<';
  if (ShapedType::isDynamic(rows))
    printer << '?';
  else
    printer << rows;
  printer << 'x' << cols << 'x' << element << '>';
}

/// Extents fit kernels' 32-bit arithmetic, elements are what kernels can hold.
static LogicalResult verifyBox(function_ref<InFlightDiagnostic()> emitError,
                               int64_t rows, int64_t cols, Type element) {
  for (int64_t extent : {rows, cols})
    if (!ShapedType::isDynamic(extent) &&
        (extent <= 0 || !llvm::isInt<32>(extent)))
      return emitError() << "expects extents from 1 to 2147483647, but got "
                         << extent;
  if (!element.isBF16() && !element.isF16() && !element.isF32())
    return emitError() << "expects elements of type bf16, f16 or f32, but got "
                       << element;
  return success();
}

Attribute BufferAttr::parse(AsmParser &parser, Type) {
  int64_t rows, cols;
  Type element;
  SMLoc loc = parser.getCurrentLocation();
  if (parseBox(parser, /*dynamicRows=*/false, rows, cols, element))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    rows, cols, element);
}

LogicalResult BufferAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rows, int64_t cols, Type element) {
  return verifyBox(emitError, rows, cols, element);
}

void BufferAttr::print(AsmPrinter &printer) const {
  printBox(printer, getRows(), getCols(), getElement());
}

int64_t BufferAttr::numBytes() const {
  return getRows() * getCols() * getElement().getIntOrFloatBitWidth() / 8;
}

Type GlobalTensorType::parse(AsmParser &parser) {
  int64_t rows, cols;
  Type element;
  SMLoc loc = parser.getCurrentLocation();
  if (parseBox(parser, /*dynamicRows=*/true, rows, cols, element))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    rows, cols, element);
}

LogicalResult
GlobalTensorType::verify(function_ref<InFlightDiagnostic()> emitError,
                         int64_t rows, int64_t cols, Type element) {
  return verifyBox(emitError, rows, cols, element);
}

void GlobalTensorType::print(AsmPrinter &printer) const {
  printBox(printer, getRows(), getCols(), getElement());
}

Type AccumulatorType::parse(AsmParser &parser) {
  SmallVector<int64_t, 2> shape;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false,
                                /*withTrailingX=*/false) ||
      parser.parseGreater())
    return {};
  if (shape.size() != 2) {
    parser.emitError(loc, "expects rows and columns");
    return {};
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    shape[0], shape[1]);
}

LogicalResult
AccumulatorType::verify(function_ref<InFlightDiagnostic()> emitError,
                        int64_t rows, int64_t cols) {
  for (int64_t extent : {rows, cols})
    if (extent <= 0 || !llvm::isInt<32>(extent))
      return emitError() << "expects extents from 1 to 2147483647, but got "
                         << extent;
  return success();
}

void AccumulatorType::print(AsmPrinter &printer) const {
  printer << '<' << getRows() << 'x' << getCols() << '>';
}

//===----------------------------------------------------------------------===//
// ExprAttr
//===----------------------------------------------------------------------===//

/// `<[B, S], affine_map<()[s0, s1] -> (s0 * s1)>>`; a name with other
/// characters than an identifier's is written as a string.
Attribute ExprAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  auto parseName = [&]() -> ParseResult {
    std::string name;
    if (succeeded(parser.parseOptionalKeywordOrString(&name))) {
      names.push_back(StringAttr::get(parser.getContext(), name));
      return success();
    }
    return parser.emitError(parser.getCurrentLocation(), "expects a name");
  };
  AffineMapAttr map;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseName) ||
      parser.parseComma() || parser.parseAttribute(map) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    names, map.getValue());
}

void ExprAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getNames(), printer, [&](StringAttr name) {
    printer.printKeywordOrString(name.getValue());
  });
  printer << "], " << AffineMapAttr::get(getMap()) << '>';
}

LogicalResult ExprAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names, AffineMap map) {
  if (map.getNumDims() != 0 || map.getNumResults() != 1)
    return emitError() << "expects a map with symbols only and one result";
  if (map.getNumSymbols() != names.size())
    return emitError() << "expects " << map.getNumSymbols()
                       << " names for the map's symbols, but got "
                       << names.size();
  return success();
}

//===----------------------------------------------------------------------===//
// ScheduleAttr, BindAttr
//===----------------------------------------------------------------------===//

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<int64_t> tile, int64_t cost,
                                   int64_t order) {
  if (tile.size() != 3)
    return emitError() << "expects M, N and K of a tile, but got "
                       << tile.size() << " extents";
  for (int64_t extent : tile)
    if (extent <= 0 || !llvm::isInt<32>(extent))
      return emitError()
             << "expects tile extents from 1 to 2147483647, but got " << extent;
  if (cost < 0 || !llvm::isInt<32>(cost))
    return emitError() << "expects a cost from 0 to 2147483647, but got "
                       << cost;
  return success();
}

LogicalResult BindAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               BindKind kind, int64_t index, ExprAttr expr) {
  if (index < 0)
    return emitError() << "expects a number from 0, but got " << index;
  return success();
}
