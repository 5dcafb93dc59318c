//===- TileOps.cpp - Assembly of the tile dialect's operations ------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Tile/IR/TileOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace backfuse::tile;

#define GET_OP_CLASSES
#include "dialects/Tile/IR/TileOps.cpp.inc"

//===----------------------------------------------------------------------===//
// KernelOp: tile.kernel @k(%a: type #tile.bind<...>, ...) attributes {...} {}
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> bindings;
  auto parseArgument = [&]() -> ParseResult {
    BindAttr binding;
    if (parser.parseArgument(arguments.emplace_back(), /*allowType=*/true) ||
        parser.parseAttribute(binding))
      return failure();
    bindings.push_back(binding);
    return success();
  };
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                     parseArgument) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute("bindings", parser.getBuilder().getArrayAttr(bindings));
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(
      llvm::zip(getBlock().getArguments(), getBindings()), printer,
      [&](auto pair) {
        printer.printRegionArgument(std::get<0>(pair));
        printer << ' ' << std::get<1>(pair);
      });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {SymbolTable::getSymbolAttrName(), "bindings"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true);
}

//===----------------------------------------------------------------------===//
// ForEachUnitOp:
//   tile.for_each_unit %a, %b
//     unit(%m0, %n0, %k0, %steps, %split, %last) { ... }
//     unit(...) { ... }
//===----------------------------------------------------------------------===//

ParseResult ForEachUnitOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> spaces;
  if (parser.parseOperandList(spaces))
    return failure();
  Type spaceType = SpaceType::get(parser.getContext());
  if (parser.resolveOperands(spaces, spaceType, result.operands))
    return failure();
  Type index = parser.getBuilder().getIndexType();
  Type i1 = parser.getBuilder().getI1Type();
  while (succeeded(parser.parseOptionalKeyword("unit"))) {
    SmallVector<OpAsmParser::Argument> arguments;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
      return failure();
    if (arguments.size() != 6)
      return parser.emitError(loc, "expects 6 arguments, but got ")
             << arguments.size();
    for (auto [i, argument] : llvm::enumerate(arguments))
      argument.type = i == 5 ? i1 : index;
    Region *region = result.addRegion();
    if (parser.parseRegion(*region, arguments))
      return failure();
    if (region->empty())
      region->emplaceBlock();
  }
  return parser.parseOptionalAttrDict(result.attributes);
}

void ForEachUnitOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getSpaces();
  for (Region &region : getBodies()) {
    printer.printNewline();
    printer << "  unit(";
    llvm::interleaveComma(region.getArguments(), printer,
                          [&](BlockArgument argument) {
                            printer.printRegionArgument(argument, {},
                                                        /*omitType=*/true);
                          });
    printer << ") ";
    printer.printRegion(region, /*printEntryBlockArgs=*/false,
                        /*printBlockTerminators=*/true);
  }
  printer.printOptionalAttrDict((*this)->getAttrs());
}

//===----------------------------------------------------------------------===//
// DrainOp
//===----------------------------------------------------------------------===//

int64_t DrainOp::numEntries() {
  if (!getRing())
    return 0;
  auto accumulator = cast<AccumulatorType>(getAccumulators()[0].getType());
  return llvm::divideCeil(accumulator.getCols(), getEntryCols()) *
         (accumulator.getRows() / getEntryRows());
}
