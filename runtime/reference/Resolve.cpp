//===- Resolve.cpp - Check a graph and fill in its extents ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Resolve.h"

#include <algorithm>

using namespace backfuse;
using namespace backfuse::reference;
using bundle::DType;
using bundle::OpKind;

int64_t reference::product(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::string reference::describeOp(const bundle::Graph &graph, uint32_t index) {
  const bundle::Op *op = graph.ops()->Get(index);
  std::string text =
      "op " + std::to_string(index) + " (" + bundle::EnumNameOpKind(op->kind());
  if (op->location() && op->location()->size())
    text += ", at " + op->location()->str();
  return text + ")";
}

std::vector<int>
reference::freeAxes(size_t rank,
                    const flatbuffers::Vector<int32_t> &contracted) {
  std::vector<int> axes;
  for (int axis = 0; axis < int(rank); ++axis)
    if (std::find(contracted.begin(), contracted.end(), axis) ==
        contracted.end())
      axes.push_back(axis);
  return axes;
}

int64_t reference::extentOver(const Shape &shape,
                              const flatbuffers::Vector<int32_t> &axes) {
  int64_t count = 1;
  for (int32_t axis : axes)
    count *= shape[size_t(axis)];
  return count;
}

static std::string shapeText(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// Elements that a tensor may have at most: byte counts stay far from overflow.
static constexpr int64_t maxElements = int64_t(1) << 48;

/// Fills in one value's extents.
static Error resolveValue(const bundle::Graph &graph, uint32_t index,
                          const std::map<std::string, int64_t> &dims,
                          ResolvedGraph &result) {
  const bundle::Value *value = graph.values()->Get(index);
  std::string name = "value " + std::to_string(index);
  if (!value || !value->type())
    return name + " has no type";
  DType dtype = value->type()->dtype();
  if (dtype > DType::I1)
    return name + " has dtype " + bundle::EnumNameDType(dtype) +
           ", which the reference evaluator does not support";
  Shape shape;
  if (const auto *extents = value->type()->extents()) {
    for (const bundle::Extent *extent : *extents) {
      int64_t size = extent->fixed();
      if (extent->dim() >= 0) {
        if (!graph.dims() || uint32_t(extent->dim()) >= graph.dims()->size())
          return name + " uses dimension " + std::to_string(extent->dim()) +
                 ", which the graph does not have";
        std::string dim = graph.dims()->Get(uint32_t(extent->dim()))->str();
        auto it = dims.find(dim);
        if (it == dims.end())
          return "no value given for dimension '" + dim + "'";
        size = it->second;
        if (size < 0)
          return "dimension '" + dim + "' is negative: " + std::to_string(size);
      }
      if (size < 0)
        return name + " has a negative extent";
      shape.push_back(size);
    }
  }
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent && count > maxElements / extent)
      return name + " of shape " + shapeText(shape) + " is too large";
    count *= extent;
  }
  result.shapes.push_back(std::move(shape));
  result.dtypes.push_back(dtype);
  return {};
}

namespace {
/// Checks one op whose operands' shapes are known.
class OpChecker {
public:
  OpChecker(const bundle::Graph &graph, uint32_t index,
            const ResolvedGraph &resolved)
      : op(*graph.ops()->Get(index)), resolved(resolved) {}

  Error check();

private:
  const bundle::Op &op;
  const ResolvedGraph &resolved;

  const Shape &shape(uint32_t operand) const {
    return resolved.shapes[op.operands()->Get(operand)];
  }
  DType dtype(uint32_t operand) const {
    return resolved.dtypes[op.operands()->Get(operand)];
  }
  const Shape &resultShape() const { return resolved.shapes[op.result()]; }
  DType resultType() const { return resolved.dtypes[op.result()]; }
  uint32_t numOperands() const {
    return op.operands() ? op.operands()->size() : 0;
  }

  Error expectOperands(uint32_t count) const {
    if (numOperands() == count)
      return {};
    return "expects " + std::to_string(count) + " operands, but has " +
           std::to_string(numOperands());
  }
  Error expectSameShapes(uint32_t first) const;
  Error expectTypes(bool booleanOperands, bool booleanResult) const;
  Error expectAxes(const flatbuffers::Vector<int32_t> *axes, size_t rank,
                   const char *attribute) const;
  Error checkElementwise(uint32_t operands, bool booleanOperands,
                         bool booleanResult) const;
  Error checkSelect() const;
  Error checkBroadcast() const;
  Error checkSum() const;
  Error checkMatmul() const;
};
} // namespace

Error OpChecker::expectSameShapes(uint32_t first) const {
  for (uint32_t i = first; i < numOperands(); ++i)
    if (shape(i) != resultShape())
      return "operand " + std::to_string(i) + " has shape " +
             shapeText(shape(i)) + ", but the result has " +
             shapeText(resultShape());
  return {};
}

Error OpChecker::expectTypes(bool booleanOperands, bool booleanResult) const {
  for (uint32_t i = 0; i < numOperands(); ++i)
    if ((dtype(i) == DType::I1) != booleanOperands)
      return "operand " + std::to_string(i) + " must " +
             (booleanOperands ? "" : "not ") + "be of type I1";
  if ((resultType() == DType::I1) != booleanResult)
    return std::string("the result must ") + (booleanResult ? "" : "not ") +
           "be of type I1";
  return {};
}

/// Axes must exist and be named once.
Error OpChecker::expectAxes(const flatbuffers::Vector<int32_t> *axes,
                            size_t rank, const char *attribute) const {
  if (!axes)
    return std::string("has no attribute ") + attribute;
  for (uint32_t i = 0; i < axes->size(); ++i) {
    int32_t axis = axes->Get(i);
    if (axis < 0 || size_t(axis) >= rank)
      return std::string(attribute) + " names axis " + std::to_string(axis) +
             " of a tensor of rank " + std::to_string(rank);
    for (uint32_t j = 0; j < i; ++j)
      if (axes->Get(j) == axis)
        return std::string(attribute) + " names axis " + std::to_string(axis) +
               " twice";
  }
  return {};
}

Error OpChecker::checkElementwise(uint32_t operands, bool booleanOperands,
                                  bool booleanResult) const {
  if (Error error = expectOperands(operands); !error.empty())
    return error;
  if (Error error = expectTypes(booleanOperands, booleanResult); !error.empty())
    return error;
  return expectSameShapes(0);
}

Error OpChecker::checkSelect() const {
  if (Error error = expectOperands(3); !error.empty())
    return error;
  if (dtype(0) != DType::I1)
    return "the condition must be of type I1";
  if (!shape(0).empty() && shape(0) != resultShape())
    return "the condition must be a scalar or have the result's shape";
  bool boolean = resultType() == DType::I1;
  if ((dtype(1) == DType::I1) != boolean || (dtype(2) == DType::I1) != boolean)
    return "both values must have the result's kind of type";
  return expectSameShapes(1);
}

Error OpChecker::checkBroadcast() const {
  if (Error error = expectOperands(1); !error.empty())
    return error;
  if (dtype(0) != resultType())
    return "operand and result must have one dtype";
  if (!op.dims() && shape(0).empty())
    return {};
  if (Error error = expectAxes(op.dims(), resultShape().size(), "dims");
      !error.empty())
    return error;
  if (op.dims()->size() != shape(0).size())
    return "dims must name one result axis for each operand axis";
  for (uint32_t i = 0; i < op.dims()->size(); ++i)
    if (shape(0)[i] != resultShape()[size_t(op.dims()->Get(i))])
      return "operand shape " + shapeText(shape(0)) +
             " does not fit into result shape " + shapeText(resultShape());
  return {};
}

Error OpChecker::checkSum() const {
  if (Error error = expectOperands(1); !error.empty())
    return error;
  if (Error error = expectTypes(false, false); !error.empty())
    return error;
  if (Error error = expectAxes(op.dims(), shape(0).size(), "dims");
      !error.empty())
    return error;
  Shape expected;
  for (int axis : freeAxes(shape(0).size(), *op.dims()))
    expected.push_back(shape(0)[size_t(axis)]);
  if (expected != resultShape())
    return "the result must have shape " + shapeText(expected) + ", not " +
           shapeText(resultShape());
  return {};
}

Error OpChecker::checkMatmul() const {
  if (Error error = expectOperands(2); !error.empty())
    return error;
  if (Error error = expectTypes(false, false); !error.empty())
    return error;
  const auto *a = op.a_contract(), *b = op.b_contract();
  if (Error error = expectAxes(a, shape(0).size(), "a_contract");
      !error.empty())
    return error;
  if (Error error = expectAxes(b, shape(1).size(), "b_contract");
      !error.empty())
    return error;
  if (a->size() != b->size())
    return "a_contract and b_contract must name as many axes";
  for (uint32_t i = 0; i < a->size(); ++i)
    if (shape(0)[size_t(a->Get(i))] != shape(1)[size_t(b->Get(i))])
      return "contracted extents differ: A has shape " + shapeText(shape(0)) +
             ", B " + shapeText(shape(1));
  Shape expected;
  for (int axis : freeAxes(shape(0).size(), *a))
    expected.push_back(shape(0)[size_t(axis)]);
  for (int axis : freeAxes(shape(1).size(), *b))
    expected.push_back(shape(1)[size_t(axis)]);
  if (expected != resultShape())
    return "the result must have shape " + shapeText(expected) + ", not " +
           shapeText(resultShape());
  return {};
}

Error OpChecker::check() {
  OpKind kind = op.kind();
  switch (kind) {
  case OpKind::Permute:
  case OpKind::Slice:
  case OpKind::Concat:
    return "is not supported in this version";
  case OpKind::Cast: {
    if (Error error = expectOperands(1); !error.empty())
      return error;
    if (resultType() == DType::I1)
      return "casts to I1 are not supported; use a comparison";
    return expectSameShapes(0);
  }
  case OpKind::Add:
  case OpKind::Sub:
  case OpKind::Mul:
  case OpKind::Div:
  case OpKind::Maximum:
  case OpKind::Minimum:
  case OpKind::MaxNum:
  case OpKind::MinNum:
    return checkElementwise(2, false, false);
  case OpKind::CmpOlt:
  case OpKind::CmpOle:
  case OpKind::CmpOgt:
  case OpKind::CmpOge:
  case OpKind::CmpOeq:
  case OpKind::CmpUne:
    return checkElementwise(2, false, true);
  case OpKind::And:
  case OpKind::Or:
    return checkElementwise(2, true, true);
  case OpKind::Select:
    return checkSelect();
  case OpKind::Constant:
    return expectOperands(0);
  case OpKind::Broadcast:
    return checkBroadcast();
  case OpKind::Reshape:
    if (Error error = expectOperands(1); !error.empty())
      return error;
    if (dtype(0) != resultType())
      return "operand and result must have one dtype";
    if (product(shape(0)) != product(resultShape()))
      return "operand shape " + shapeText(shape(0)) + " and result shape " +
             shapeText(resultShape()) + " differ in their number of elements";
    return {};
  case OpKind::Sum:
    return checkSum();
  case OpKind::Matmul:
    return checkMatmul();
  default:
    if (kind > OpKind::MAX)
      return "is of a kind that this version does not know";
    return checkElementwise(1, false, false);
  }
}

/// Marks the values of `arguments` as defined.
static Error define(
    const flatbuffers::Vector<flatbuffers::Offset<bundle::Argument>> *arguments,
    const char *what, std::vector<bool> &defined) {
  if (!arguments)
    return {};
  for (const bundle::Argument *argument : *arguments) {
    if (!argument || !argument->name())
      return std::string(what) + " without a name";
    if (argument->value() >= defined.size())
      return std::string(what) + " '" + argument->name()->str() +
             "' names a value that does not exist";
    if (defined[argument->value()])
      return std::string(what) + " '" + argument->name()->str() +
             "' names a value that is defined twice";
    defined[argument->value()] = true;
  }
  return {};
}

Error reference::resolve(const bundle::Graph &graph,
                         const std::map<std::string, int64_t> &dims,
                         ResolvedGraph &result) {
  if (!graph.values())
    return "the graph has no values";
  if (graph.dims())
    for (const flatbuffers::String *dim : *graph.dims())
      if (!dim)
        return "a dimension has no name";
  result = {};
  uint32_t numValues = graph.values()->size();
  for (uint32_t i = 0; i < numValues; ++i)
    if (Error error = resolveValue(graph, i, dims, result); !error.empty())
      return error;
  std::vector<bool> defined(numValues, false);
  if (Error error = define(graph.inputs(), "input", defined); !error.empty())
    return error;
  if (Error error = define(graph.params(), "parameter", defined);
      !error.empty())
    return error;
  if (graph.params())
    for (const bundle::Argument *param : *graph.params())
      if (!result.shapes[param->value()].empty())
        return "parameter '" + param->name()->str() + "' is not a scalar";
  for (uint32_t i = 0; graph.ops() && i < graph.ops()->size(); ++i) {
    const bundle::Op *op = graph.ops()->Get(i);
    if (!op)
      return "op " + std::to_string(i) + " is missing";
    if (op->operands())
      for (uint32_t operand : *op->operands())
        if (operand >= numValues || !defined[operand])
          return describeOp(graph, i) + " uses value " +
                 std::to_string(operand) + " before its definition";
    if (op->result() >= numValues || defined[op->result()])
      return describeOp(graph, i) + " defines value " +
             std::to_string(op->result()) + ", which " +
             (op->result() >= numValues ? "does not exist"
                                        : "is defined twice");
    if (Error error = OpChecker(graph, i, result).check(); !error.empty())
      return describeOp(graph, i) + " " + error;
    defined[op->result()] = true;
  }
  if (graph.outputs())
    for (const bundle::Argument *output : *graph.outputs())
      if (!output || !output->name() || output->value() >= numValues ||
          !defined[output->value()])
        return "an output names a value that is not defined";
  return {};
}
