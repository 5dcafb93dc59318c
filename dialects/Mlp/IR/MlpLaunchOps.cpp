//===- MlpLaunchOps.cpp - The fused level of the mlp dialect --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Mlp/IR/MlpLaunchOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace backfuse::mlp;

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

std::optional<Extent> backfuse::mlp::getExtentOfAxes(RankedTensorType type,
                                                     int64_t begin,
                                                     int64_t end) {
  Extent product;
  for (int64_t axis = begin; axis < end; ++axis) {
    std::optional<Extent> next = multiply(product, getExtent(type, axis));
    if (!next)
      return std::nullopt;
    product = *next;
  }
  return product;
}

std::optional<int64_t> backfuse::mlp::getMatrixSplit(RankedTensorType type,
                                                     const Extent &rows,
                                                     const Extent &columns) {
  for (int64_t axis = 0; axis <= type.getRank(); ++axis)
    if (getExtentOfAxes(type, 0, axis) == rows &&
        getExtentOfAxes(type, axis, type.getRank()) == columns)
      return axis;
  return std::nullopt;
}

ExtentAttr ExtentAttr::get(MLIRContext *context, const Extent &extent) {
  SmallVector<StringAttr> names;
  for (StringRef name : extent.names)
    names.push_back(StringAttr::get(context, name));
  return get(context, extent.factor, names);
}

Extent ExtentAttr::getExtent() const {
  Extent extent;
  extent.factor = getFactor();
  for (StringAttr name : getNames())
    extent.names.push_back(name.getValue());
  return extent;
}

LogicalResult ExtentAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t factor, ArrayRef<StringAttr> names) {
  if (factor <= 0)
    return emitError() << "expects a positive factor, but got " << factor;
  for (StringAttr name : names)
    if (!isIdentifier(name))
      return emitError() << "expects a dimension to be an identifier, but got '"
                         << name.getValue() << "'";
  if (!llvm::is_sorted(names, [](StringAttr a, StringAttr b) {
        return a.getValue() < b.getValue();
      }))
    return emitError() << "expects dimensions in alphabetical order";
  return success();
}

/// Parses `768`, `B*S`, `16*S`.
static ParseResult parseExtentProduct(AsmParser &parser, ExtentAttr &attr) {
  SMLoc loc = parser.getCurrentLocation();
  std::string text;
  do {
    int64_t factor;
    OptionalParseResult integer = parser.parseOptionalInteger(factor);
    StringRef name;
    if (failed(integer.has_value() ? *integer : parser.parseKeyword(&name)))
      return failure();
    text += text.empty() ? "" : "*";
    text += integer.has_value() ? std::to_string(factor) : name.str();
  } while (succeeded(parser.parseOptionalStar()));
  std::optional<Extent> extent = parseExtent(text);
  if (!extent)
    return parser.emitError(loc) << "expects a product of identifiers and "
                                    "positive integers, but got '"
                                 << text << "'";
  attr = ExtentAttr::get(parser.getContext(), *extent);
  return success();
}

Attribute ExtentAttr::parse(AsmParser &parser, Type) {
  ExtentAttr attr;
  if (parser.parseLess() || parseExtentProduct(parser, attr) ||
      parser.parseGreater())
    return {};
  return attr;
}

void ExtentAttr::print(AsmPrinter &printer) const {
  printer << '<' << getExtent().str() << '>';
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

SmallVector<FusedOp> LaunchOp::getFusedOps() {
  return llvm::to_vector(getBody().front().getOps<FusedOp>());
}

LaunchYieldOp LaunchOp::getYield() {
  return cast<LaunchYieldOp>(getBody().front().getTerminator());
}

LogicalResult LaunchOp::verifyRegions() {
  Block &block = getBody().front();
  auto yield =
      dyn_cast_or_null<LaunchYieldOp>(block.empty() ? nullptr : &block.back());
  if (!yield) // (C1)
    return emitOpError("expects its body to end with mlp.launch_yield");
  for (Operation &op : block.without_terminator()) {
    auto fused = dyn_cast<FusedOp>(op);
    if (!fused) // (C1)
      return emitOpError("expects only mlp.fused ops in its body, but got '")
             << op.getName() << "'";
    for (Value operand : fused.getElementOperands())
      if (operand.getParentBlock() == &block) { // (C2)
        InFlightDiagnostic diag = fused.emitOpError(
            "expects no element operand from its own launch; what it reads "
            "must be written by an earlier launch");
        diag.attachNote(operand.getLoc()) << "the operand is computed here";
        return diag;
      }
  }
  if (block.without_terminator().empty()) // (C1)
    return emitOpError("expects at least one mlp.fused op in its body");
  if (yield.getValues().getTypes() != getResultTypes()) // (C3)
    return emitOpError("expects its terminator to yield its result types ")
           << getResultTypes() << ", but it yields "
           << yield.getValues().getTypes();
  for (Value value : yield.getValues())
    if (value.getParentBlock() != &block) // (C3)
      return yield.emitOpError("expects each operand to be a result of an "
                               "mlp.fused op of this launch");
  return success();
}

//===----------------------------------------------------------------------===//
// FusedOp: accessors
//===----------------------------------------------------------------------===//

unsigned FusedOp::getNumAccumulators() {
  unsigned count = 0;
  for (Attribute attr : getContractions())
    count = std::max(count, cast<ContractionAttr>(attr).getAcc() + 1);
  return count;
}

FusedYieldOp FusedOp::getYield() {
  return cast<FusedYieldOp>(getBody().front().getTerminator());
}

ResultRange FusedOp::getYieldResults() {
  return getResults().drop_back(getNumOperandSums());
}

ResultRange FusedOp::getOperandSumResults() {
  return getResults().take_back(getNumOperandSums());
}

//===----------------------------------------------------------------------===//
// FusedOp: assembly
//===----------------------------------------------------------------------===//

/// Splits "acc12" into its stem, which must be `stem`, and its number.
static bool parseNumbered(StringRef keyword, StringRef stem, unsigned &number) {
  return keyword.consume_front(stem) && !keyword.getAsInteger(10, number);
}

/// Parses `[m, k]` and the like; `names` gets the letters.
static ParseResult parseIndices(OpAsmParser &parser, std::string &names) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        StringRef name;
        if (parser.parseKeyword(&name))
          return failure();
        if (name != "m" && name != "n" && name != "k")
          return parser.emitError(loc)
                 << "expects the index m, n or k, but got '" << name << "'";
        names += name;
        return success();
      });
}

/// Parses `%a[m, k]`; `outer` is "m" for A and "n" for B.
static ParseResult
parseContractionOperand(OpAsmParser &parser, StringRef outer,
                        OpAsmParser::UnresolvedOperand &operand, Major &major) {
  SMLoc loc;
  std::string indices;
  if (parser.parseOperand(operand) || parser.getCurrentLocation(&loc) ||
      parseIndices(parser, indices))
    return failure();
  if (indices != outer.str() + "k" && indices != "k" + outer.str())
    return parser.emitError(loc) << "expects the indices [" << outer
                                 << ", k] or [k, " << outer << "]";
  major = indices.back() == 'k' ? Major::KMajor : Major::MnMajor;
  return success();
}

namespace {
/// What the clauses of an mlp.fused give.
struct FusedClauses {
  SmallVector<Attribute> contractions, elementKinds, operandSums;
  SmallVector<OpAsmParser::UnresolvedOperand> contractionOperands,
      elementOperands;
  SmallVector<Type> contractionTypes, elementTypes;
  Attribute schedule;
  NamedAttrList attributes;
};
} // namespace

/// Parses, after `acc0`: ` += %a[m, k] * %b[n, k] over k = 768, precision =
/// tf32, op_index = 1 : type, type`.
static ParseResult parseContraction(OpAsmParser &parser, unsigned acc,
                                    FusedClauses &clauses) {
  MLIRContext *context = parser.getContext();
  OpAsmParser::UnresolvedOperand a, b;
  Major aMajor, bMajor;
  ExtentAttr k;
  if (parser.parsePlus() || parser.parseEqual() ||
      parseContractionOperand(parser, "m", a, aMajor) || parser.parseStar() ||
      parseContractionOperand(parser, "n", b, bMajor) ||
      parser.parseKeyword("over") || parser.parseKeyword("k") ||
      parser.parseEqual() || parseExtentProduct(parser, k))
    return failure();
  PrecisionAttr precision;
  std::optional<int64_t> opIndex;
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("precision"))) {
      SMLoc loc;
      StringRef name;
      if (parser.parseEqual() || parser.getCurrentLocation(&loc) ||
          parser.parseKeyword(&name))
        return failure();
      std::optional<Precision> value = symbolizePrecision(name);
      if (!value)
        return parser.emitError(loc) << "unknown precision '" << name << "'";
      precision = PrecisionAttr::get(context, *value);
      continue;
    }
    int64_t index;
    if (parser.parseKeyword("op_index") || parser.parseEqual() ||
        parser.parseInteger(index))
      return failure();
    opIndex = index;
  }
  Type aType, bType;
  if (parser.parseColonType(aType) || parser.parseComma() ||
      parser.parseType(bType))
    return failure();
  clauses.contractions.push_back(ContractionAttr::get(
      context, acc, k, aMajor, bMajor, precision, opIndex));
  clauses.contractionOperands.append({a, b});
  clauses.contractionTypes.append({aType, bType});
  return success();
}

/// Parses, after `with`: `%x[m, n], %bias[n] : type, type`.
static ParseResult parseElements(OpAsmParser &parser, FusedClauses &clauses) {
  auto parseOne = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand operand;
    SMLoc loc;
    std::string indices;
    if (parser.parseOperand(operand) || parser.getCurrentLocation(&loc) ||
        parseIndices(parser, indices))
      return failure();
    std::optional<ElementKind> kind =
        llvm::StringSwitch<std::optional<ElementKind>>(indices)
            .Case("mn", ElementKind::Element)
            .Case("n", ElementKind::Row)
            .Case("m", ElementKind::Column)
            .Case("", ElementKind::Scalar)
            .Default(std::nullopt);
    if (!kind)
      return parser.emitError(loc)
             << "expects the indices [m, n], [n], [m] or []";
    clauses.elementOperands.push_back(operand);
    clauses.elementKinds.push_back(
        ElementKindAttr::get(parser.getContext(), *kind));
    return success();
  };
  return failure(parser.parseCommaSeparatedList(parseOne) ||
                 parser.parseColonTypeList(clauses.elementTypes));
}

/// Parses, after `sum_k`: `a0, b1`.
static ParseResult parseOperandSums(OpAsmParser &parser,
                                    FusedClauses &clauses) {
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    unsigned contraction;
    if (parser.parseKeyword(&keyword))
      return failure();
    bool isA = parseNumbered(keyword, "a", contraction);
    if (!isA && !parseNumbered(keyword, "b", contraction))
      return parser.emitError(loc)
             << "expects an operand such as a0 or b0, but got '" << keyword
             << "'";
    clauses.operandSums.push_back(OperandSumAttr::get(
        parser.getContext(), contraction, isA ? Side::A : Side::B));
    return success();
  });
}

/// Parses the clause that begins with `keyword`, which stands at `loc`.
static ParseResult parseClause(OpAsmParser &parser, StringRef keyword,
                               SMLoc loc, FusedClauses &clauses) {
  unsigned acc;
  if (keyword == "with")
    return parseElements(parser, clauses);
  if (keyword == "sum_k")
    return parseOperandSums(parser, clauses);
  if (keyword == "schedule")
    return failure(parser.parseEqual() ||
                   parser.parseAttribute(clauses.schedule));
  if (keyword == "attributes")
    return parser.parseOptionalAttrDict(clauses.attributes);
  if (parseNumbered(keyword, "acc", acc))
    return parseContraction(parser, acc, clauses);
  return parser.emitError(loc) << "expects acc0, with, sum_k, schedule or "
                                  "attributes, but got '"
                               << keyword << "'";
}

ParseResult FusedOp::parse(OpAsmParser &parser, OperationState &result) {
  ExtentAttr m, n;
  if (parser.parseKeyword("m") || parser.parseEqual() ||
      parseExtentProduct(parser, m) || parser.parseComma() ||
      parser.parseKeyword("n") || parser.parseEqual() ||
      parseExtentProduct(parser, n))
    return failure();
  FusedClauses clauses;
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  SMLoc operandsLoc = loc;
  while (succeeded(parser.parseOptionalKeyword(&keyword))) {
    if (failed(parseClause(parser, keyword, loc, clauses)))
      return failure();
    loc = parser.getCurrentLocation();
  }
  Region *body = result.addRegion();
  if (parser.parseArrow() || parser.parseTypeList(result.types) ||
      parser.parseRegion(*body) ||
      parser.resolveOperands(clauses.contractionOperands,
                             clauses.contractionTypes, operandsLoc,
                             result.operands) ||
      parser.resolveOperands(clauses.elementOperands, clauses.elementTypes,
                             operandsLoc, result.operands))
    return failure();

  result.attributes.append(clauses.attributes);
  Builder &builder = parser.getBuilder();
  auto &properties = result.getOrAddProperties<Properties>();
  properties.m = m;
  properties.n = n;
  properties.contractions = builder.getArrayAttr(clauses.contractions);
  properties.element_kinds = builder.getArrayAttr(clauses.elementKinds);
  properties.operand_sums = builder.getArrayAttr(clauses.operandSums);
  properties.schedule = clauses.schedule;
  properties.operandSegmentSizes = {
      static_cast<int32_t>(clauses.contractionOperands.size()),
      static_cast<int32_t>(clauses.elementOperands.size())};
  return success();
}

/// Prints `outer` and k in the order of an operand's axes.
static void printContractionOperand(OpAsmPrinter &printer, Value operand,
                                    StringRef outer, Major major) {
  printer << operand;
  if (major == Major::KMajor)
    printer << '[' << outer << ", k]";
  else
    printer << "[k, " << outer << ']';
}

static StringRef getIndices(ElementKind kind) {
  switch (kind) {
  case ElementKind::Element:
    return "[m, n]";
  case ElementKind::Row:
    return "[n]";
  case ElementKind::Column:
    return "[m]";
  case ElementKind::Scalar:
    return "[]";
  }
  llvm_unreachable("unknown element kind");
}

void FusedOp::print(OpAsmPrinter &printer) {
  printer << " m = " << getM().getExtent().str()
          << ", n = " << getN().getExtent().str();
  printer.increaseIndent();
  for (unsigned i = 0, e = getNumContractions(); i < e; ++i) {
    ContractionAttr contraction = getContraction(i);
    printer.printNewline();
    printer << "  acc" << contraction.getAcc() << " += ";
    printContractionOperand(printer, getA(i), "m", contraction.getA());
    printer << " * ";
    printContractionOperand(printer, getB(i), "n", contraction.getB());
    printer << " over k = " << contraction.getK().getExtent().str();
    if (PrecisionAttr precision = contraction.getPrecision())
      printer << ", precision = " << stringifyPrecision(precision.getValue());
    if (std::optional<int64_t> index = contraction.getOpIndex())
      printer << ", op_index = " << *index;
    printer << " : " << getA(i).getType() << ", " << getB(i).getType();
  }
  if (!getElementOperands().empty()) {
    printer.printNewline();
    printer << "  with ";
    llvm::interleaveComma(
        llvm::enumerate(getElementOperands()), printer, [&](auto it) {
          printer << it.value() << getIndices(getElementKind(it.index()));
        });
    printer << " : ";
    llvm::interleaveComma(getElementOperands().getTypes(), printer);
  }
  if (getNumOperandSums()) {
    printer.printNewline();
    printer << "  sum_k ";
    llvm::interleaveComma(getOperandSums().getAsRange<OperandSumAttr>(),
                          printer, [&](OperandSumAttr sum) {
                            printer << stringifySide(sum.getOperand())
                                    << sum.getContraction();
                          });
  }
  if (Attribute schedule = getScheduleAttr()) {
    printer.printNewline();
    printer << "  schedule = " << schedule;
  }
  SmallVector<StringRef> inherent = {getMAttrName(),
                                     getNAttrName(),
                                     getContractionsAttrName(),
                                     getElementKindsAttrName(),
                                     getOperandSumsAttrName(),
                                     getScheduleAttrName(),
                                     getOperandSegmentSizeAttr()};
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), inherent);
  printer.printNewline();
  printer << "  -> " << getResultTypes() << ' ';
  printer.decreaseIndent();
  printer.printRegion(getBody());
}

//===----------------------------------------------------------------------===//
// FusedOp: verification
//===----------------------------------------------------------------------===//

/// Checks an operand of a contraction against its extents (C3) and type (C4).
static LogicalResult verifyContractionOperand(FusedOp op, unsigned index,
                                              Side side) {
  ContractionAttr contraction = op.getContraction(index);
  auto type = cast<RankedTensorType>(op.getOperandOf(index, side).getType());
  StringRef name = stringifySide(side);
  Type element = type.getElementType();
  if (!element.isBF16() && !element.isF16() && !element.isF32()) // (C4)
    return op.emitOpError("expects operand ")
           << name << index << " to be of bf16, f16 or f32, but got "
           << element;
  Extent outer = (side == Side::A ? op.getM() : op.getN()).getExtent();
  Extent k = contraction.getK().getExtent();
  Major major = side == Side::A ? contraction.getA() : contraction.getB();
  bool isKMajor = major == Major::KMajor;
  if (!getMatrixSplit(type, isKMajor ? outer : k, isKMajor ? k : outer)) // (C3)
    return op.emitOpError("expects operand ")
           << name << index << " to flatten to " << (isKMajor ? outer : k).str()
           << " x " << (isKMajor ? k : outer).str() << ", but got " << type;
  return success();
}

static LogicalResult verifyContractions(FusedOp op) {
  unsigned count = op.getNumContractions();
  if (count == 0 || op.getContractionOperands().size() != 2 * count) // (C1)
    return op.emitOpError("expects at least one contraction and two operands "
                          "for each, but got ")
           << count << " contractions and "
           << op.getContractionOperands().size() << " operands";
  llvm::SmallDenseSet<unsigned> used;
  for (unsigned i = 0; i < count; ++i)
    used.insert(op.getContraction(i).getAcc());
  for (unsigned acc = 0, e = used.size(); acc < e; ++acc)
    if (!used.contains(acc)) // (C2)
      return op.emitOpError("expects accumulators numbered from 0 without "
                            "gaps, but none of its contractions adds to acc")
             << acc;
  for (unsigned i = 0; i < count; ++i) {
    if (failed(verifyContractionOperand(op, i, Side::A)) ||
        failed(verifyContractionOperand(op, i, Side::B)))
      return failure();
    Type a = getElementTypeOrSelf(op.getA(i)),
         b = getElementTypeOrSelf(op.getB(i));
    bool hasF32 = a.isF32() || b.isF32();
    bool hasPrecision = static_cast<bool>(op.getContraction(i).getPrecision());
    if (hasF32 != hasPrecision) // (C4)
      return op.emitOpError("expects contraction ")
             << i
             << (hasF32 ? " on f32 operands to have a precision"
                        : " on 16-bit operands to have no precision");
    if (!hasF32 && a != b) // (C4)
      return op.emitOpError("expects 16-bit operands of contraction ")
             << i << " to be of one type, but got " << a << " and " << b;
  }
  return success();
}

/// Whether `type` is what an element operand of this kind must be (C5).
static bool isElementType(FusedOp op, Type type, ElementKind kind) {
  if (kind == ElementKind::Scalar)
    return type.isF32();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<FloatType>(tensor.getElementType()))
    return false;
  Extent m = op.getM().getExtent(), n = op.getN().getExtent();
  if (kind == ElementKind::Element)
    return getMatrixSplit(tensor, m, n).has_value();
  return getExtentOfAxes(tensor, 0, tensor.getRank()) ==
         (kind == ElementKind::Row ? n : m);
}

static LogicalResult verifyElements(FusedOp op) {
  if (op.getElementOperands().size() != op.getElementKinds().size()) // (C5)
    return op.emitOpError("expects a kind for each element operand, but got ")
           << op.getElementKinds().size() << " kinds for "
           << op.getElementOperands().size() << " operands";
  for (auto [index, operand] : llvm::enumerate(op.getElementOperands())) {
    ElementKind kind = op.getElementKind(index);
    if (!isElementType(op, operand.getType(), kind)) // (C5)
      return op.emitOpError("expects element operand ")
             << index << " to fit " << getIndices(kind) << " of "
             << op.getM().getExtent().str() << " x "
             << op.getN().getExtent().str()
             << (kind == ElementKind::Scalar ? " (an f32)" : "") << ", but got "
             << operand.getType();
  }
  return success();
}

/// Whether `type` is a vector of `extent` floats.
static bool isVector(Type type, const Extent &extent) {
  auto tensor = cast<RankedTensorType>(type);
  return isa<FloatType>(tensor.getElementType()) &&
         getExtentOfAxes(tensor, 0, tensor.getRank()) == extent;
}

static LogicalResult verifyOperandSums(FusedOp op) {
  unsigned firstResult = op.getNumResults() - op.getNumOperandSums();
  for (unsigned i = 0, e = op.getNumOperandSums(); i < e; ++i) {
    OperandSumAttr sum = op.getOperandSum(i);
    if (sum.getContraction() >= op.getNumContractions()) // (C11)
      return op.emitOpError("expects operand sum ")
             << i << " to name one of its " << op.getNumContractions()
             << " contractions, but got " << sum.getContraction();
    Extent extent =
        (sum.getOperand() == Side::A ? op.getM() : op.getN()).getExtent();
    Type type = op.getResult(firstResult + i).getType();
    if (!isVector(type, extent)) // (C11)
      return op.emitOpError("expects the result of operand sum ")
             << i << " to have " << extent.str() << " elements, but got "
             << type;
  }
  return success();
}

LogicalResult FusedOp::verify() {
  if (failed(verifyContractions(*this)) || failed(verifyElements(*this)))
    return failure();
  if (getNumResults() < getNumOperandSums()) // (C8)
    return emitOpError("expects a result for each of its ")
           << getNumOperandSums() << " operand sums, but has "
           << getNumResults() << " results";
  return verifyOperandSums(*this);
}

/// Checks the region's arguments (C6) and ops (C7).
static LogicalResult verifyElementRegion(FusedOp op) {
  Block &block = op.getBody().front();
  SmallVector<Type> expected(op.getNumAccumulators(),
                             Float32Type::get(op.getContext()));
  for (Value operand : op.getElementOperands())
    expected.push_back(getElementTypeOrSelf(operand));
  if (block.getArgumentTypes() != TypeRange(expected)) // (C6)
    return op.emitOpError("expects its region's arguments to be ")
           << TypeRange(expected) << ", but got " << block.getArgumentTypes();
  for (Operation &inner : block.without_terminator()) {
    StringRef dialect = inner.getName().getDialectNamespace();
    bool isScalar =
        llvm::none_of(inner.getOperandTypes(), llvm::IsaPred<ShapedType>) &&
        llvm::none_of(inner.getResultTypes(), llvm::IsaPred<ShapedType>);
    if ((dialect != "arith" && dialect != "math" && dialect != "mlp") ||
        !isScalar || inner.getNumRegions() ||
        !isMemoryEffectFree(&inner)) // (C7)
      return inner.emitOpError("is not a scalar op of arith, math or mlp, as "
                               "the region of mlp.fused expects");
  }
  return success();
}

/// Checks a yielded value against its result (C9, C10).
static LogicalResult verifyYielded(FusedOp op, Value value, YieldKind kind,
                                   unsigned index) {
  auto type = cast<RankedTensorType>(op.getResult(index).getType());
  Extent m = op.getM().getExtent(), n = op.getN().getExtent();
  switch (kind) {
  case YieldKind::Store:
    if (type.getElementType() != value.getType() ||
        !getMatrixSplit(type, m, n)) // (C9)
      return op.emitOpError("expects result ")
             << index << " to store " << m.str() << " x " << n.str() << " of "
             << value.getType() << ", but got " << type;
    return success();
  case YieldKind::SumM:
    if (!value.getType().isF32()) // (C10)
      return op.emitOpError("expects a sum of f32 values, but value ")
             << index << " is " << value.getType();
    if (!isVector(type, n)) // (C10)
      return op.emitOpError("expects result ")
             << index << ", a sum over m, to have " << n.str()
             << " elements, but got " << type;
    return success();
  }
  llvm_unreachable("unknown yield kind");
}

LogicalResult FusedOp::verifyRegions() {
  Block &block = getBody().front();
  auto yield =
      dyn_cast_or_null<FusedYieldOp>(block.empty() ? nullptr : &block.back());
  if (!yield) // (C8)
    return emitOpError("expects its region to end with mlp.fused_yield");
  if (failed(verifyElementRegion(*this)))
    return failure();
  size_t expected = yield.getValues().size() + getNumOperandSums();
  if (expected != getNumResults() || expected == 0) // (C8)
    return emitOpError("expects a result for each of ")
           << yield.getValues().size() << " yielded values and "
           << getNumOperandSums() << " operand sums, at least one, but has "
           << getNumResults();
  for (auto [index, value] : llvm::enumerate(yield.getValues()))
    if (failed(verifyYielded(*this, value, yield.getKind(index), index)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// FusedYieldOp
//===----------------------------------------------------------------------===//

static ParseResult
parseYields(OpAsmParser &parser, ArrayAttr &kinds,
            SmallVectorImpl<OpAsmParser::UnresolvedOperand> &values,
            SmallVectorImpl<Type> &types) {
  SmallVector<Attribute> parsed;
  auto parseRest = [&](StringRef name) -> ParseResult {
    std::optional<YieldKind> kind = symbolizeYieldKind(name);
    if (!kind)
      return parser.emitError(parser.getCurrentLocation())
             << "expects store or sum_m, but got '" << name << "'";
    parsed.push_back(YieldKindAttr::get(parser.getContext(), *kind));
    return failure(parser.parseOperand(values.emplace_back()) ||
                   parser.parseColonType(types.emplace_back()));
  };
  StringRef name;
  if (succeeded(parser.parseOptionalKeyword(&name))) {
    if (parseRest(name))
      return failure();
    while (succeeded(parser.parseOptionalComma()))
      if (parser.parseKeyword(&name) || parseRest(name))
        return failure();
  }
  kinds = parser.getBuilder().getArrayAttr(parsed);
  return success();
}

static void printYields(OpAsmPrinter &printer, FusedYieldOp op, ArrayAttr kinds,
                        OperandRange values, TypeRange types) {
  llvm::interleaveComma(
      llvm::zip(kinds.getAsRange<YieldKindAttr>(), values, types), printer,
      [&](auto it) {
        auto [kind, value, type] = it;
        printer << stringifyYieldKind(kind.getValue()) << ' ' << value << " : "
                << type;
      });
}

LogicalResult FusedYieldOp::verify() {
  if (getKinds().size() != getValues().size()) // (C1)
    return emitOpError("expects a kind for each value, but got ")
           << getKinds().size() << " kinds for " << getValues().size()
           << " values";
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Mlp/IR/MlpLaunchOps.cpp.inc"

//===----------------------------------------------------------------------===//
// ConvertOp
//===----------------------------------------------------------------------===//

LogicalResult ConvertOp::verify() {
  auto type = cast<RankedTensorType>(getX().getType());
  int64_t rank = type.getRank();
  // (C1)
  if (!type.getElementType().isF32() || rank == 0 ||
      !getExtent(type, rank - 1).isFixed())
    return emitOpError("expects an f32 tensor with a fixed last axis, but got ")
           << type;
  // (C2)
  if (getOutputs().size() < (getSum() ? 2u : 1u) || getNumCopies() > 2)
    return emitOpError("expects one or two copies, but got ")
           << int64_t(getOutputs().size()) - (getSum() ? 1 : 0);
  Type element = getElementTypeOrSelf(getOutputs()[0].getType());
  for (Value copy : getOutputs().take_front(getNumCopies())) {
    auto copyType = cast<RankedTensorType>(copy.getType());
    if (getExtents(copyType) != getExtents(type) ||
        copyType.getElementType() != element ||
        !(element.isBF16() || (element.isF16() && getNumCopies() == 1)))
      return emitOpError("expects copies of one 16-bit type with the tensor's "
                         "extents, two only of bf16, but got ")
             << copyType;
  }
  // (C3)
  if (getSum()) {
    auto sum = cast<RankedTensorType>(getOutputs().back().getType());
    if (!isVector(sum, getExtent(type, rank - 1)))
      return emitOpError("expects a sum with the last axis's extent, a float "
                         "vector, but got ")
             << sum;
  }
  return success();
}
