//===- MlpGraph.cpp - The graph, its outputs and what may stand in it -----===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Mlp/IR/MlpOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace backfuse::mlp;

//===----------------------------------------------------------------------===//
// Kinds of ops
//===----------------------------------------------------------------------===//

bool backfuse::mlp::isSugar(Operation *op) {
  return isa<GeluGradOp, SiluGradOp, ReluGradOp>(op);
}

bool backfuse::mlp::isElementaryFunction(Operation *op) {
  return isa<math::ExpOp, math::Exp2Op, math::LogOp, math::SqrtOp,
             math::RsqrtOp, math::TanhOp, math::ErfOp, SigmoidOp, GeluOp,
             SiluOp>(op);
}

bool backfuse::mlp::isElementwise(Operation *op) {
  return isElementaryFunction(op) || isSugar(op) ||
         isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::CmpFOp, arith::SelectOp,
             arith::ExtFOp, arith::TruncFOp, arith::AndIOp, arith::OrIOp,
             math::AbsFOp, ReluOp>(op);
}

static arith::FastMathFlags getFastMathFlags(Operation *op) {
  auto fastmath = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!fastmath || !fastmath.getFastMathFlagsAttr())
    return arith::FastMathFlags::none;
  return fastmath.getFastMathFlagsAttr().getValue();
}

bool backfuse::mlp::allowsApproximation(Operation *op) {
  return op->hasAttr("afn") ||
         arith::bitEnumContainsAny(getFastMathFlags(op),
                                   arith::FastMathFlags::afn);
}

Attribute backfuse::mlp::getScalarConstant(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getX();
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return {};
  if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
    return elements.isSplat() ? elements.getSplatValue<Attribute>()
                              : Attribute();
  return constant.getValue();
}

//===----------------------------------------------------------------------===//
// What may stand in a graph
//===----------------------------------------------------------------------===//

/// The type in quotes, as diagnostics print it.
static std::string str(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << '\'' << type << '\'';
  return text;
}

/// (C3): empty if the variable dimensions of `type` are named and none is 0.
static std::string whyNotNamed(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || isa_and_nonnull<DimsAttr>(tensor.getEncoding()))
    return ""; // The attribute's verifier has checked the shape.
  if (tensor.getEncoding())
    return "expects no tensor encoding but #mlp.dims, but got " + str(type);
  if (!tensor.hasStaticShape())
    return "expects each variable dimension to have a name in #mlp.dims, but "
           "got " +
           str(type);
  if (llvm::is_contained(tensor.getShape(), 0))
    return "expects no fixed extent to be 0, but got " + str(type);
  return "";
}

/// (C7)
static std::string whyNotFastMath(Operation *op) {
  using arith::FastMathFlags;
  FastMathFlags allowed = FastMathFlags::none;
  Type elementType = getElementTypeOrSelf(op->getResult(0));
  if (isElementaryFunction(op))
    allowed = FastMathFlags::afn;
  else if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) &&
           elementType.isF32())
    allowed = FastMathFlags::contract;
  FastMathFlags refused = getFastMathFlags(op) & ~allowed;
  if (refused != FastMathFlags::none)
    return "has fastmath<" + arith::stringifyFastMathFlags(refused) +
           ">, which could change or remove a rounding";
  if (auto cast = dyn_cast<arith::TruncFOp>(op))
    if (cast.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even) !=
        arith::RoundingMode::to_nearest_even)
      return "has a rounding mode, but a graph rounds to nearest even";
  return "";
}

/// (C8)
static std::string whyNotElementwise(Operation *op) {
  std::optional<SmallVector<Extent>> expected;
  for (auto [index, value] : llvm::enumerate(
           llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                               llvm::to_vector(op->getResults())))) {
    Type type = value.getType(), elementType = getElementTypeOrSelf(type);
    if (!elementType.isBF16() && !elementType.isF16() && !elementType.isF32() &&
        !elementType.isInteger(1))
      return "expects the element types bf16, f16, f32 and i1, but got " +
             str(type);
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (isa<ShapedType>(type) && !tensor)
      return "expects scalars or ranked tensors, but got " + str(type);
    if (isa<arith::SelectOp>(op) && index == 0 && !tensor)
      continue; // A scalar condition goes with any shape.
    SmallVector<Extent> extents;
    if (tensor)
      extents = getExtents(tensor);
    if (expected && *expected != extents)
      return "expects operands and result of the same extents, but got " +
             str(op->getOperand(isa<arith::SelectOp>(op)).getType()) + " and " +
             str(type);
    expected = extents;
  }
  if (isa<arith::SelectOp>(op) &&
      getElementTypeOrSelf(op->getResult(0)).isInteger(1))
    return "expects floating-point values; choose between i1 values with "
           "arith.andi and arith.ori";
  return "";
}

/// (C6): empty if `op`, which is not elementwise, may stand in a graph.
static std::string whyNotAllowed(Operation *op) {
  if (isa_and_nonnull<MlpDialect>(op->getDialect()))
    return "";
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (!constant)
    return "is not allowed in mlp.graph; use an op of mlp, or an elementwise "
           "op of arith or math";
  Type elementType = getElementTypeOrSelf(constant.getType());
  if (!elementType.isBF16() && !elementType.isF16() && !elementType.isF32() &&
      !elementType.isInteger(1))
    return "expects a constant of bf16, f16, f32 or i1, but got " +
           str(constant.getType());
  if (!getScalarConstant(constant))
    return "expects a scalar or a splat constant";
  return "";
}

std::string backfuse::mlp::whyNotInGraph(Operation *op) {
  if (!isElementwise(op)) {
    if (std::string why = whyNotAllowed(op); !why.empty())
      return why;
  } else {
    if (std::string why = whyNotFastMath(op); !why.empty())
      return why;
    if (std::string why = whyNotElementwise(op); !why.empty())
      return why;
    if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
      using arith::CmpFPredicate;
      if (!llvm::is_contained({CmpFPredicate::OLT, CmpFPredicate::OLE,
                               CmpFPredicate::OGT, CmpFPredicate::OGE,
                               CmpFPredicate::OEQ, CmpFPredicate::UNE},
                              compare.getPredicate()))
        return ("has the predicate " +
                arith::stringifyCmpFPredicate(compare.getPredicate()) +
                ", but a graph has olt, ole, ogt, oge, oeq and une")
            .str();
    }
  }
  return "";
}

//===----------------------------------------------------------------------===//
// GraphOp
//===----------------------------------------------------------------------===//

SmallVector<BlockArgument> GraphOp::getInputs() {
  return llvm::filter_to_vector(getBody().getArguments(), [](Value argument) {
    return isa<RankedTensorType>(argument.getType());
  });
}

SmallVector<BlockArgument> GraphOp::getParams() {
  return llvm::filter_to_vector(getBody().getArguments(), [](Value argument) {
    return !isa<RankedTensorType>(argument.getType());
  });
}

SmallVector<StringRef> GraphOp::getDimNames() {
  llvm::SetVector<StringRef> names;
  for (BlockArgument input : getInputs())
    for (const Extent &extent :
         getExtents(cast<RankedTensorType>(input.getType())))
      names.insert(extent.names.begin(), extent.names.end());
  return names.takeVector();
}

OutputOp GraphOp::getOutput() {
  return cast<OutputOp>(getBody().front().getTerminator());
}

void GraphOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  if (region.getNumArguments() != getArgNames().size())
    return;
  for (auto [argument, name] :
       llvm::zip_equal(region.getArguments(), getArgNames()))
    if (auto string = dyn_cast<StringAttr>(name))
      setName(argument, string.getValue());
}

ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr symName;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> names;
  auto parseArgument = [&]() -> ParseResult {
    std::string name;
    if (parser.parseArgument(arguments.emplace_back(), /*allowType=*/true) ||
        parser.parseString(&name))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseSymbolName(symName, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                     parseArgument))
    return failure();
  result.addAttribute(getArgNamesAttrName(result.name),
                      parser.getBuilder().getArrayAttr(names));
  if (succeeded(parser.parseOptionalKeyword("assumptions"))) {
    NamedAttrList assumptions;
    if (parser.parseOptionalAttrDict(assumptions))
      return failure();
    result.addAttribute(getAssumptionsAttrName(result.name),
                        assumptions.getDictionary(parser.getContext()));
  }
  return failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*result.addRegion(), arguments));
}

void GraphOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(
      getBody().getArguments(), printer, [&](BlockArgument argument) {
        printer.printRegionArgument(argument);
        printer << ' ';
        printer.printString(getArgName(argument.getArgNumber()));
      });
  printer << ')';
  if (DictionaryAttr assumptions = getAssumptionsAttr())
    printer << " assumptions " << assumptions;
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getArgNamesAttrName(), getAssumptionsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// Checks that `names` are identifiers and unique, one for each of `count`
/// values.
static LogicalResult verifyNames(Operation *op, StringRef what, ArrayAttr names,
                                 size_t count) {
  if (names.size() != count)
    return op->emitOpError("expects a name for each ")
           << what << ", but got " << names.size() << " for " << count;
  llvm::StringSet<> seen;
  for (StringRef name : names.getAsValueRange<StringAttr>()) {
    if (!isIdentifier(name))
      return op->emitOpError("expects the name of each ")
             << what << " to be an identifier, but got '" << name << "'";
    if (!seen.insert(name).second)
      return op->emitOpError("expects the names of each ")
             << what << " to be unique, but '" << name << "' is not";
  }
  return success();
}

/// (C4): empty if each variable dimension is a single name.
static std::string whyNotPlain(Type type) {
  for (const Extent &extent : getExtents(cast<RankedTensorType>(type)))
    if (!extent.isFixed() && (extent.factor != 1 || extent.names.size() != 1))
      return "to have single names as variable dimensions, but got " +
             extent.str();
  return "";
}

LogicalResult GraphOp::verify() {
  auto arguments = getBody().getArguments();
  if (failed(verifyNames(*this, "argument", getArgNames(),
                         arguments.size()))) // (C1)
    return failure();
  for (BlockArgument argument : arguments) {
    StringRef name = getArgName(argument.getArgNumber());
    Type type = argument.getType();
    auto tensor = dyn_cast<RankedTensorType>(type);
    Type elementType = getElementTypeOrSelf(type);
    bool isTensor = tensor && (elementType.isBF16() || elementType.isF16() ||
                               elementType.isF32());
    if (!isTensor && !type.isInteger(1) && !type.isF32()) // (C2)
      return emitOpError("expects argument '")
             << name << "' to be a ranked tensor of bf16, f16 or f32, or an i1 "
             << "or f32 scalar, but got " << type;
    if (std::string why = whyNotNamed(type); !why.empty()) // (C3)
      return emitOpError(why) << " for argument '" << name << "'";
    if (!tensor)
      continue;
    if (std::string why = whyNotPlain(type); !why.empty()) // (C4)
      return emitOpError("expects argument '") << name << "' " << why;
  }
  if (DictionaryAttr assumptions = getAssumptionsAttr()) {
    for (NamedAttribute assumption : assumptions) {
      bool isFlag = llvm::any_of(arguments, [&](BlockArgument argument) {
        return getArgName(argument.getArgNumber()) == assumption.getName() &&
               argument.getType().isInteger(1);
      });
      if (!isFlag || !isa<BoolAttr>(assumption.getValue())) // (C9)
        return emitOpError("expects an assumption to give an i1 parameter a "
                           "bool, but got '")
               << assumption.getName().getValue() << "'";
    }
  }
  return success();
}

LogicalResult GraphOp::verifyRegions() {
  auto output =
      dyn_cast_if_present<OutputOp>(getBody().front().getTerminator());
  if (!output) // (C10)
    return emitOpError("expects its block to end with mlp.output");
  SmallVector<StringRef> dimNames = getDimNames();
  for (Operation &op : getBody().front()) {
    for (Type type : op.getResultTypes()) {
      if (std::string why = whyNotNamed(type); !why.empty()) // (C3)
        return op.emitOpError(why);
      auto tensor = dyn_cast<RankedTensorType>(type);
      for (const Extent &extent :
           tensor ? getExtents(tensor) : SmallVector<Extent>())
        for (StringRef name : extent.names)
          if (!llvm::is_contained(dimNames, name)) // (C5)
            return op.emitOpError("expects the dimension '")
                   << name << "' to occur in an input of the graph";
    }
    if (std::string why = whyNotInGraph(&op); !why.empty()) // (C6) to (C8)
      return op.emitOpError(why);
  }
  for (Value value : output.getOperands())
    if (std::string why = whyNotPlain(value.getType()); !why.empty()) // (C4)
      return output.emitOpError("expects each output ") << why;
  return success();
}

//===----------------------------------------------------------------------===//
// OutputOp
//===----------------------------------------------------------------------===//

ParseResult OutputOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Attribute> names;
  SmallVector<Type> types;
  auto parseOutput = [&]() -> ParseResult {
    std::string name;
    if (parser.parseOperand(operands.emplace_back()) ||
        parser.parseString(&name))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(parseOutput) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonTypeList(types))
    return failure();
  result.addAttribute(getNamesAttrName(result.name),
                      parser.getBuilder().getArrayAttr(names));
  return parser.resolveOperands(operands, types, loc, result.operands);
}

void OutputOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  llvm::interleaveComma(
      llvm::zip_equal(getOperands(), getNames()), printer, [&](auto output) {
        printer << std::get<0>(output) << ' ' << std::get<1>(output);
      });
  printer.printOptionalAttrDict((*this)->getAttrs(), {getNamesAttrName()});
  printer << " : " << getOperandTypes();
}

LogicalResult OutputOp::verify() {
  if (getOperands().empty()) // (C1)
    return emitOpError("expects at least one output");
  if (failed(verifyNames(*this, "output", getNames(),
                         getOperands().size()))) // (C2)
    return failure();
  for (auto [index, value] : llvm::enumerate(getOperands()))
    if (isa<BlockArgument>(value)) // (C3)
      return emitOpError("expects each output to be computed, but '")
             << getName(index) << "' is an argument of the graph";
  return success();
}
