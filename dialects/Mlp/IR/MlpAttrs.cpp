//===- MlpAttrs.cpp - Named dimensions ------------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Mlp/IR/MlpDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace backfuse::mlp;

#include "dialects/Mlp/IR/MlpEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Mlp/IR/MlpAttrs.cpp.inc"

void MlpDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Mlp/IR/MlpAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

bool backfuse::mlp::isIdentifier(StringRef name) {
  if (name.empty() || name == "_" || llvm::isDigit(name.front()))
    return false;
  return llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::string Extent::str() const {
  if (names.empty())
    return std::to_string(factor);
  std::string product = llvm::join(names, "*");
  return factor == 1 ? product : std::to_string(factor) + "*" + product;
}

std::optional<Extent> backfuse::mlp::parseExtent(StringRef entry) {
  Extent extent;
  SmallVector<StringRef> parts;
  entry.split(parts, '*');
  for (StringRef part : parts) {
    int64_t factor;
    if (!part.getAsInteger(10, factor)) {
      if (factor <= 0 ||
          llvm::MulOverflow(extent.factor, factor, extent.factor))
        return std::nullopt;
    } else if (isIdentifier(part)) {
      extent.names.push_back(part);
    } else {
      return std::nullopt;
    }
  }
  llvm::sort(extent.names);
  return extent;
}

std::optional<Extent> backfuse::mlp::multiply(const Extent &a,
                                              const Extent &b) {
  Extent product = a;
  if (llvm::MulOverflow(a.factor, b.factor, product.factor))
    return std::nullopt;
  llvm::append_range(product.names, b.names);
  llvm::sort(product.names);
  return product;
}

StringRef backfuse::mlp::getDimName(RankedTensorType type, int64_t axis) {
  if (!type.isDynamicDim(axis))
    return "";
  auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
  return dims ? dims.getEntries()[axis].getValue() : "?";
}

Extent backfuse::mlp::getExtent(RankedTensorType type, int64_t axis) {
  if (!type.isDynamicDim(axis))
    return Extent{type.getDimSize(axis), {}};
  StringRef name = getDimName(type, axis);
  std::optional<Extent> extent = parseExtent(name);
  return extent ? *extent : Extent{1, {name}};
}

SmallVector<Extent> backfuse::mlp::getExtents(RankedTensorType type) {
  SmallVector<Extent> extents;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    extents.push_back(getExtent(type, axis));
  return extents;
}

RankedTensorType backfuse::mlp::getTensorType(ArrayRef<Extent> extents,
                                              Type elementType) {
  MLIRContext *context = elementType.getContext();
  SmallVector<int64_t> shape;
  SmallVector<StringAttr> entries;
  bool isVariable = false;
  for (const Extent &extent : extents) {
    isVariable |= !extent.isFixed();
    shape.push_back(extent.isFixed() ? extent.factor : ShapedType::kDynamic);
    entries.push_back(
        StringAttr::get(context, extent.isFixed() ? "" : extent.str()));
  }
  Attribute encoding;
  if (isVariable)
    encoding = DimsAttr::get(context, entries);
  return RankedTensorType::get(shape, elementType, encoding);
}

//===----------------------------------------------------------------------===//
// #mlp.dims
//===----------------------------------------------------------------------===//

ParseResult backfuse::mlp::parseDimEntry(AsmParser &parser,
                                         std::string &entry) {
  do {
    if (!entry.empty())
      entry += '*';
    int64_t factor;
    OptionalParseResult integer = parser.parseOptionalInteger(factor);
    if (integer.has_value()) {
      if (failed(*integer))
        return failure();
      entry += std::to_string(factor);
      continue;
    }
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    if (name == "_" && entry.empty())
      return success();
    entry += name;
  } while (succeeded(parser.parseOptionalStar()));
  return success();
}

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> entries;
  auto parseOne = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    std::string entry;
    if (parseDimEntry(parser, entry))
      return failure();
    if (!entry.empty()) {
      std::optional<Extent> extent = parseExtent(entry);
      if (!extent || extent->isFixed()) // (C4)
        return parser.emitError(loc)
               << "expects a dimension to be `_` or a product of identifiers "
                  "and positive integers, but got '"
               << entry << "'";
      entry = extent->str();
    }
    entries.push_back(parser.getBuilder().getStringAttr(entry));
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  return parser.getChecked<DimsAttr>(loc, parser.getContext(), entries);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getEntries(), printer, [&](StringAttr entry) {
    printer << (entry.empty() ? StringRef("_") : entry.getValue());
  });
  printer << '>';
}

LogicalResult DimsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> entries) {
  for (StringAttr entry : entries) { // (C4)
    if (entry.empty())
      continue;
    std::optional<Extent> extent = parseExtent(entry.getValue());
    if (!extent || extent->isFixed() || extent->str() != entry.getValue())
      return emitError() << "expects a dimension to be a product in its one "
                            "form, but got '"
                         << entry.getValue() << "'";
  }
  return success();
}

LogicalResult
DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (getEntries().size() != shape.size()) // (C1)
    return emitError() << "expects #mlp.dims to have one entry per axis, but "
                          "got "
                       << getEntries().size() << " for rank " << shape.size();
  for (auto [axis, extent, entry] : llvm::enumerate(shape, getEntries())) {
    if (ShapedType::isDynamic(extent) && entry.empty()) // (C2)
      return emitError() << "expects a name in #mlp.dims for axis " << axis
                         << ", which is variable";
    if (!ShapedType::isDynamic(extent) && !entry.empty()) // (C2)
      return emitError() << "expects `_` in #mlp.dims for axis " << axis
                         << " of fixed extent " << extent << ", but got '"
                         << entry.getValue() << "'";
    if (extent == 0) // (C3)
      return emitError() << "expects no fixed extent to be 0, but axis " << axis
                         << " is";
  }
  if (!elementType.isBF16() && !elementType.isF16() && !elementType.isF32() &&
      !elementType.isInteger(1)) // (C5)
    return emitError() << "expects the element type bf16, f16, f32 or i1, but "
                          "got "
                       << elementType;
  return success();
}
