//===- MlpOps.cpp - Syntax and verifiers of the mlp ops -------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception GraphOp and OutputOp
// are in MlpGraph.cpp, folds in MlpFolds.cpp.
#include "dialects/Mlp/IR/MlpOps.h"

#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace backfuse::mlp;

#define GET_OP_CLASSES
#include "dialects/Mlp/IR/MlpOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Axis lists: `[B, S]` or `[0, 1]`
//===----------------------------------------------------------------------===//

namespace {
/// An axis as it is written, before the types are known.
struct AxisRef {
  SMLoc loc;
  std::string text;
};
} // namespace

static ParseResult parseAxisRefs(OpAsmParser &parser,
                                 SmallVectorImpl<AxisRef> &axes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        AxisRef axis{parser.getCurrentLocation(), {}};
        if (parseDimEntry(parser, axis.text))
          return failure();
        axes.push_back(std::move(axis));
        return success();
      });
}

/// The number of the axis of `type` that `axis` names.
static FailureOr<int64_t> resolveAxis(OpAsmParser &parser, const AxisRef &axis,
                                      RankedTensorType type) {
  int64_t number;
  if (!StringRef(axis.text).getAsInteger(10, number)) {
    if (number < 0 || number >= type.getRank())
      return parser.emitError(axis.loc)
             << "expects an axis of " << type << ", but got " << number;
    return number;
  }
  std::optional<Extent> extent = parseExtent(axis.text);
  std::optional<int64_t> found;
  for (int64_t i = 0; extent && i < type.getRank(); ++i) {
    if (getDimName(type, i) != extent->str())
      continue;
    if (found)
      return parser.emitError(axis.loc)
             << "expects one axis named '" << axis.text << "', but " << type
             << " has several; give the axis by number";
    found = i;
  }
  if (!found)
    return parser.emitError(axis.loc) << "expects an axis named '" << axis.text
                                      << "', but " << type << " has none";
  return *found;
}

static FailureOr<SmallVector<int64_t>> resolveAxes(OpAsmParser &parser,
                                                   ArrayRef<AxisRef> refs,
                                                   RankedTensorType type) {
  SmallVector<int64_t> axes;
  for (const AxisRef &ref : refs) {
    FailureOr<int64_t> axis = resolveAxis(parser, ref, type);
    if (failed(axis))
      return failure();
    axes.push_back(*axis);
  }
  return axes;
}

/// Prints axes by name where all have one that is unique in each of `types`,
/// which have the same names along the axes; else by number.
static void printAxes(OpAsmPrinter &printer, ArrayRef<int64_t> axes,
                      ArrayRef<RankedTensorType> types) {
  bool isNamed = llvm::all_of(types, [&](RankedTensorType type) {
    return llvm::all_of(axes, [&](int64_t axis) {
      StringRef name = getDimName(type, axis);
      int64_t uses = 0;
      for (int64_t i = 0; i < type.getRank(); ++i)
        uses += getDimName(type, i) == name;
      return !name.empty() && uses == 1 && name == getDimName(types[0], axis);
    });
  });
  printer << '[';
  llvm::interleaveComma(axes, printer, [&](int64_t axis) {
    if (isNamed)
      printer << getDimName(types[0], axis);
    else
      printer << axis;
  });
  printer << ']';
}

/// Parses a type and refuses all but ranked tensors, where axes need one.
static ParseResult parseTensorType(OpAsmParser &parser,
                                   RankedTensorType &type) {
  Type parsed;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(parsed))
    return failure();
  type = dyn_cast<RankedTensorType>(parsed);
  if (!type)
    return parser.emitError(loc)
           << "expects a ranked tensor, but got " << parsed;
  return success();
}

static std::string describe(ArrayRef<Extent> extents) {
  return "[" +
         llvm::join(
             llvm::map_range(extents, [](const Extent &e) { return e.str(); }),
             ", ") +
         "]";
}

/// Checks that `type` has these extents.
static LogicalResult verifyExtents(Operation *op, StringRef what, Type type,
                                   ArrayRef<Extent> expected) {
  SmallVector<Extent> found = getExtents(cast<RankedTensorType>(type));
  if (ArrayRef<Extent>(found) == expected)
    return success();
  return op->emitOpError("expects ")
         << what << " to have extents " << describe(expected) << ", but got "
         << describe(found);
}

static bool isStrictlyIncreasing(ArrayRef<int64_t> axes, int64_t rank) {
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (axis <= last || axis >= rank)
      return false;
    last = axis;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// MatmulOp
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> getOtherAxes(Type type, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> others;
  for (int64_t axis = 0; axis < cast<RankedTensorType>(type).getRank(); ++axis)
    if (!llvm::is_contained(axes, axis))
      others.push_back(axis);
  return others;
}

SmallVector<int64_t> MatmulOp::getAFreeAxes() {
  return getOtherAxes(getA().getType(), getAContract());
}

SmallVector<int64_t> MatmulOp::getBFreeAxes() {
  return getOtherAxes(getB().getType(), getBContract());
}

/// Whether the axes are 0, 1, ...
static bool isLeading(ArrayRef<int64_t> axes) {
  return !axes.empty() && llvm::all_of(llvm::enumerate(axes), [](auto it) {
    return it.value() == static_cast<int64_t>(it.index());
  });
}

bool MatmulOp::contractsLeadingAxes() {
  return isLeading(getAContract()) && getAContract() == getBContract();
}

bool MatmulOp::isBTransposed() {
  return getBContract().back() ==
         cast<RankedTensorType>(getB().getType()).getRank() - 1;
}

/// The contracted axes of `contract [..]`: each entry is the axis at its place.
static FailureOr<SmallVector<int64_t>>
resolveLeadingAxes(OpAsmParser &parser, ArrayRef<AxisRef> refs,
                   RankedTensorType type) {
  FailureOr<SmallVector<int64_t>> axes = resolveAxes(parser, refs, type);
  if (failed(axes))
    return failure();
  for (auto [place, axis] : llvm::enumerate(*axes))
    if (axis != static_cast<int64_t>(place))
      return parser.emitError(refs[place].loc)
             << "expects the leading axes in order, but '" << refs[place].text
             << "' is axis " << axis << " of " << type;
  return axes;
}

ParseResult MatmulOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand a, b;
  if (parser.parseOperand(a) || parser.parseComma() || parser.parseOperand(b))
    return failure();
  SmallVector<AxisRef> contract;
  bool isContract = succeeded(parser.parseOptionalKeyword("contract"));
  if (isContract && parseAxisRefs(parser, contract))
    return failure();
  bool isTransposed =
      !isContract && succeeded(parser.parseOptionalKeyword("transpose_b"));
  if (succeeded(parser.parseOptionalKeyword("precision"))) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<Precision> precision = symbolizePrecision(keyword);
    if (!precision)
      return parser.emitError(loc)
             << "expects a precision, one of ieee, tf32, bf16x3, fp16 and "
                "bf16, but got '"
             << keyword << "'";
    result.addAttribute(getPrecisionAttrName(result.name),
                        PrecisionAttr::get(parser.getContext(), *precision));
  }
  RankedTensorType aType, bType;
  Type resultType;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parseTensorType(parser, aType) || parser.parseComma() ||
      parseTensorType(parser, bType) || parser.parseArrow() ||
      parser.parseType(resultType))
    return failure();

  SmallVector<int64_t> aContract = {aType.getRank() - 1};
  SmallVector<int64_t> bContract = {isTransposed ? bType.getRank() - 1 : 0};
  if (isContract) {
    FailureOr<SmallVector<int64_t>> aAxes =
        resolveLeadingAxes(parser, contract, aType);
    if (failed(aAxes))
      return failure();
    FailureOr<SmallVector<int64_t>> bAxes =
        resolveLeadingAxes(parser, contract, bType);
    if (failed(bAxes))
      return failure();
    aContract = *aAxes;
    bContract = *bAxes;
  }
  Builder &builder = parser.getBuilder();
  result.addAttribute(getAContractAttrName(result.name),
                      builder.getDenseI64ArrayAttr(aContract));
  result.addAttribute(getBContractAttrName(result.name),
                      builder.getDenseI64ArrayAttr(bContract));
  result.addTypes(resultType);
  return failure(parser.resolveOperand(a, aType, result.operands) ||
                 parser.resolveOperand(b, bType, result.operands));
}

void MatmulOp::print(OpAsmPrinter &printer) {
  auto aType = cast<RankedTensorType>(getA().getType());
  auto bType = cast<RankedTensorType>(getB().getType());
  printer << ' ' << getA() << ", " << getB();
  if (getAContract() != ArrayRef<int64_t>{aType.getRank() - 1}) {
    printer << " contract ";
    printAxes(printer, getAContract(), {aType, bType});
  } else if (isBTransposed()) {
    printer << " transpose_b";
  }
  if (std::optional<Precision> precision = getPrecision())
    printer << " precision " << stringifyPrecision(*precision);
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {getAContractAttrName(), getBContractAttrName(), getPrecisionAttrName()});
  printer << " : " << aType << ", " << bType << " -> " << getResult().getType();
}

LogicalResult MatmulOp::verify() {
  auto aType = cast<RankedTensorType>(getA().getType());
  auto bType = cast<RankedTensorType>(getB().getType());
  if (aType.getRank() < 2 || bType.getRank() < 2) // (C1)
    return emitOpError("expects A and B to have at least two axes, but got ")
           << aType.getRank() << " and " << bType.getRank();
  if (aType.getElementType() != bType.getElementType()) // (C2)
    return emitOpError(
               "expects A and B to have the same element type, but got ")
           << aType.getElementType() << " and " << bType.getElementType();
  bool isF32 = aType.getElementType().isF32();
  if (isF32 && !getPrecision()) // (C3)
    return emitOpError("expects a precision for f32 operands: ieee, tf32, "
                       "bf16x3, fp16 or bf16");
  if (!isF32 && getPrecision()) // (C3)
    return emitOpError("expects no precision, since ")
           << aType.getElementType() << " operands are read exactly";

  ArrayRef<int64_t> aAxes = getAContract(), bAxes = getBContract();
  bool isLastOfA = aAxes == ArrayRef<int64_t>{aType.getRank() - 1} &&
                   (bAxes == ArrayRef<int64_t>{0} ||
                    bAxes == ArrayRef<int64_t>{bType.getRank() - 1});
  bool isLeadingOfBoth = isLeading(aAxes) && aAxes == bAxes &&
                         isStrictlyIncreasing(aAxes, aType.getRank()) &&
                         isStrictlyIncreasing(bAxes, bType.getRank());
  if (!isLastOfA && !isLeadingOfBoth) // (C4)
    return emitOpError("expects to contract the last axis of A with the first "
                       "or last of B, or leading axes of both, but got axes [")
           << aAxes << "] and [" << bAxes << "]";
  for (auto [aAxis, bAxis] : llvm::zip_equal(aAxes, bAxes)) { // (C5)
    Extent aExtent = getExtent(aType, aAxis), bExtent = getExtent(bType, bAxis);
    if (aExtent != bExtent)
      return emitOpError("expects contracted axes to have the same extent, but "
                         "axis ")
             << aAxis << " of A is " << aExtent.str() << " and axis " << bAxis
             << " of B is " << bExtent.str();
  }
  SmallVector<Extent> expected;
  for (int64_t axis : getAFreeAxes())
    expected.push_back(getExtent(aType, axis));
  if (expected.empty()) // (C6)
    return emitOpError("expects A to have a free axis, but all are contracted");
  size_t numFree = expected.size();
  for (int64_t axis : getBFreeAxes())
    expected.push_back(getExtent(bType, axis));
  if (expected.size() == numFree) // (C6)
    return emitOpError("expects B to have a free axis, but all are contracted");
  return verifyExtents(*this, "the result", getResult().getType(),
                       expected); // (C7)
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

static int64_t getRankOrZero(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getRank() : 0;
}

/// The trailing `count` of `rank` axes.
static SmallVector<int64_t> getTrailingAxes(int64_t count, int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(rank - count, rank));
}

ParseResult BroadcastOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand x;
  SmallVector<int64_t> dims;
  if (parser.parseOperand(x))
    return failure();
  bool hasDims = succeeded(parser.parseOptionalKeyword("dims"));
  if (hasDims &&
      (parser.parseEqual() ||
       parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
         return parser.parseInteger(dims.emplace_back());
       })))
    return failure();
  Type xType;
  RankedTensorType resultType;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseType(xType) || parser.parseArrow() ||
      parseTensorType(parser, resultType))
    return failure();
  if (!hasDims && getRankOrZero(xType) <= resultType.getRank())
    dims = getTrailingAxes(getRankOrZero(xType), resultType.getRank());
  result.addAttribute(getDimsAttrName(result.name),
                      parser.getBuilder().getDenseI64ArrayAttr(dims));
  result.addTypes(resultType);
  return parser.resolveOperand(x, xType, result.operands);
}

void BroadcastOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getX();
  int64_t rank = cast<RankedTensorType>(getResult().getType()).getRank();
  if (getDims() != ArrayRef<int64_t>(getTrailingAxes(getDims().size(), rank))) {
    printer << " dims = [";
    llvm::interleaveComma(getDims(), printer);
    printer << ']';
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {getDimsAttrName()});
  printer << " : " << getX().getType() << " -> " << getResult().getType();
}

LogicalResult BroadcastOp::verify() {
  auto resultType = cast<RankedTensorType>(getResult().getType());
  int64_t rank = getRankOrZero(getX().getType());
  if (static_cast<int64_t>(getDims().size()) != rank ||
      !isStrictlyIncreasing(getDims(), resultType.getRank())) // (C1)
    return emitOpError("expects dims to be strictly increasing with one axis "
                       "of the result (rank ")
           << resultType.getRank() << ") per axis of the operand (rank " << rank
           << "), but got [" << getDims() << "]";
  for (auto [xAxis, axis] : llvm::enumerate(getDims())) { // (C2)
    Extent from = getExtent(cast<RankedTensorType>(getX().getType()), xAxis);
    Extent to = getExtent(resultType, axis);
    if (from != to)
      return emitOpError("expects axis ")
             << axis << " of the result to be " << from.str() << " as axis "
             << xAxis << " of the operand, but got " << to.str();
  }
  if (getElementTypeOrSelf(getX().getType()) !=
      resultType.getElementType()) // (C3)
    return emitOpError("expects operand and result to have the same element "
                       "type, but got ")
           << getElementTypeOrSelf(getX().getType()) << " and "
           << resultType.getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// SumOp, CollapseOp, ExpandOp
//===----------------------------------------------------------------------===//

/// Parses `%x [keyword] [axes] attr-dict : type -> type`; the axes are those of
/// the operand's type, or of the result's.
static ParseResult parseAxesOp(OpAsmParser &parser, OperationState &result,
                               StringRef keyword, bool areOfResult) {
  OpAsmParser::UnresolvedOperand x;
  SmallVector<AxisRef> refs;
  RankedTensorType xType, resultType;
  if (parser.parseOperand(x) ||
      (!keyword.empty() && parser.parseKeyword(keyword)) ||
      parseAxisRefs(parser, refs) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parseTensorType(parser, xType) || parser.parseArrow() ||
      parseTensorType(parser, resultType))
    return failure();
  FailureOr<SmallVector<int64_t>> axes =
      resolveAxes(parser, refs, areOfResult ? resultType : xType);
  if (failed(axes))
    return failure();
  result.addAttribute("axes", parser.getBuilder().getDenseI64ArrayAttr(*axes));
  result.addTypes(resultType);
  return parser.resolveOperand(x, xType, result.operands);
}

template <typename OpTy>
static void printAxesOp(OpTy op, OpAsmPrinter &printer, StringRef keyword,
                        bool areOfResult) {
  auto xType = cast<RankedTensorType>(op.getX().getType());
  auto resultType = cast<RankedTensorType>(op.getResult().getType());
  printer << ' ' << op.getX() << ' ' << keyword;
  printAxes(printer, op.getAxes(), {areOfResult ? resultType : xType});
  printer.printOptionalAttrDict(op->getAttrs(), {op.getAxesAttrName()});
  printer << " : " << xType << " -> " << resultType;
}

ParseResult SumOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseAxesOp(parser, result, "over", /*areOfResult=*/false);
}
void SumOp::print(OpAsmPrinter &printer) {
  printAxesOp(*this, printer, "over ", /*areOfResult=*/false);
}

LogicalResult SumOp::verify() {
  auto xType = cast<RankedTensorType>(getX().getType());
  if (getAxes().empty() ||
      !isStrictlyIncreasing(getAxes(), xType.getRank())) // (C1)
    return emitOpError("expects at least one axis of the operand (rank ")
           << xType.getRank() << "), strictly increasing, but got ["
           << getAxes() << "]";
  SmallVector<Extent> expected;
  for (int64_t axis : getOtherAxes(xType, getAxes()))
    expected.push_back(getExtent(xType, axis));
  return verifyExtents(*this, "the result", getResult().getType(),
                       expected); // (C2)
}

/// The constraints that collapse and expand share, `large` having the axes.
static LogicalResult verifyReshape(Operation *op, ArrayRef<int64_t> axes,
                                   RankedTensorType large,
                                   RankedTensorType small, StringRef largeName,
                                   StringRef smallName) {
  bool areNeighbours =
      axes.size() >= 2 && isStrictlyIncreasing(axes, large.getRank()) &&
      axes.front() >= 0 &&
      axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
  if (!areNeighbours) // (C1)
    return op->emitOpError("expects at least two neighbouring axes of ")
           << largeName << " (rank " << large.getRank()
           << ") in order, but got [" << axes << "]";
  if (large.getElementType() != small.getElementType()) // (C2)
    return op->emitOpError("expects operand and result to have the same "
                           "element type, but got ")
           << large.getElementType() << " and " << small.getElementType();
  SmallVector<Extent> expected;
  for (const auto &[axis, extent] : llvm::enumerate(getExtents(large))) {
    bool joinsLast = llvm::is_contained(axes.drop_front(), (int64_t)axis);
    if (!joinsLast) {
      expected.push_back(extent);
      continue;
    }
    std::optional<Extent> product = multiply(expected.back(), extent);
    if (!product)
      return op->emitOpError("expects the product of the extents to fit 64 "
                             "bits");
    expected.back() = *product;
  }
  return verifyExtents(op, smallName, small, expected); // (C3)
}

ParseResult CollapseOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseAxesOp(parser, result, "", /*areOfResult=*/false);
}
void CollapseOp::print(OpAsmPrinter &printer) {
  printAxesOp(*this, printer, "", /*areOfResult=*/false);
}
LogicalResult CollapseOp::verify() {
  return verifyReshape(*this, getAxes(),
                       cast<RankedTensorType>(getX().getType()),
                       cast<RankedTensorType>(getResult().getType()),
                       "the operand", "the result");
}

ParseResult ExpandOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseAxesOp(parser, result, "", /*areOfResult=*/true);
}
void ExpandOp::print(OpAsmPrinter &printer) {
  printAxesOp(*this, printer, "", /*areOfResult=*/true);
}
LogicalResult ExpandOp::verify() {
  return verifyReshape(
      *this, getAxes(), cast<RankedTensorType>(getResult().getType()),
      cast<RankedTensorType>(getX().getType()), "the result", "the operand");
}
