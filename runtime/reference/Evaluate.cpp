//===- Evaluate.cpp - Evaluate a graph op by op ---------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values live in their storage type (f64 in Exact mode) and are dropped after
// their last use; broadcasts, reshapes and constants are views. Elementwise ops
// run block by block.
//===----------------------------------------------------------------------===//
#include "Array.h"
#include "Elementwise.h"
#include "Functions.h"
#include "Product.h"
#include "Rounding.h"
#include "Threads.h"

#include <algorithm>
#include <cmath>

using namespace backfuse;
using namespace backfuse::reference;
using bundle::DType;
using bundle::OpKind;
using bundle::Precision;

static constexpr int64_t blockElements = 4096;

/// Blocks that one thread takes at a time, so that small ops start no thread.
static constexpr int64_t blocksPerPiece = 16;

/// What the contract allows an accumulation of `terms` products, relative to
/// the sum of their magnitudes.
static double accumulationBound(int64_t terms) {
  return 0x1p-22 * double((terms + 15) / 16);
}

static constexpr double largestF32 = 0x1.fffffep127;

/// The same for what is subnormal: the step of f32 there, as often.
static double underflowBound(int64_t terms) {
  return 0x1p-149 * double((terms + 15) / 16);
}

/// Error that a precision may add to f32 operands, relative to sum|a||b|, where
/// no route says what was done.
static double precisionBound(Precision precision) {
  switch (precision) {
  case Precision::Tf32:
    return 0x1p-10;
  case Precision::Bf16x3:
    return 0x1p-15;
  case Precision::Fp16:
    return 0x1p-10 + 0x1p-22;
  case Precision::Bf16:
    return 0x1p-7 + 0x1p-16;
  default:
    return 0;
  }
}

namespace {
class Evaluator {
public:
  Evaluator(const bundle::Graph &graph, const Problem &problem,
            const EvaluateOptions &options, Evaluation &result)
      : graph(graph), problem(problem), options(options), result(result) {}

  Error run();

private:
  const bundle::Graph &graph;
  const Problem &problem;
  const EvaluateOptions &options;
  Evaluation &result;
  ResolvedGraph resolved;
  std::vector<Array> values;
  std::vector<uint32_t> lastUse;

  bool exact() const { return options.mode == Mode::Exact; }
  DType resultType(const bundle::Op &op) const {
    return resolved.dtypes[op.result()];
  }
  const Array &operand(const bundle::Op &op, uint32_t i) const {
    return values[op.operands()->Get(i)];
  }
  Array allocateResult(const bundle::Op &op, bool withError) const;

  Error bindInputs();
  void findLastUses();
  Error evaluateOp(uint32_t index);
  Array evaluateElementwise(const bundle::Op &op) const;
  void evaluateBlock(const bundle::Op &op, const std::vector<Array> &operands,
                     Array &to, int64_t begin, int64_t count) const;
  Array evaluateBroadcast(const bundle::Op &op) const;
  Array evaluateReshape(const bundle::Op &op) const;
  Error evaluateSum(uint32_t index, Array &to) const;
  Error evaluateMatmul(uint32_t index, Array &to) const;
  Error applyRoute(uint32_t index, ProductSpec &spec) const;
  Error weightsOver(uint32_t index, uint32_t value,
                    const flatbuffers::Vector<int32_t> &axes,
                    std::vector<double> &weights) const;
  void storeRounded(DType type, Array &to, int64_t begin, int64_t count,
                    double *sums, double *errors) const;
  Array contiguous(const Array &array) const;
  void collectOutputs();
};
} // namespace

/// What becomes of an error when value and value +- error are rounded by
/// `round`, which is monotone.
template <typename Round>
static double roundedError(double value, double rounded, double error,
                           const Round &round) {
  if (error == 0)
    return 0;
  double up = round(value + error) - rounded;
  double down = rounded - round(value - error);
  return std::isnan(up) || std::isnan(down) ? HUGE_VAL : std::max(up, down);
}

Array Evaluator::allocateResult(const bundle::Op &op, bool withError) const {
  DType type = resultType(op);
  Storage storage =
      exact() && type != DType::I1 ? Storage::F64 : storageOf(type);
  Array array = Array::allocate(type, storage, resolved.shapes[op.result()]);
  if (withError)
    array.allocateError();
  return array;
}

Error Evaluator::bindInputs() {
  uint32_t numInputs = graph.inputs() ? graph.inputs()->size() : 0;
  if (problem.inputs.size() != numInputs)
    return "the graph has " + std::to_string(numInputs) + " inputs, but " +
           std::to_string(problem.inputs.size()) + " were given";
  for (uint32_t i = 0; i < numInputs; ++i) {
    const bundle::Argument *argument = graph.inputs()->Get(i);
    const Tensor &tensor = problem.inputs[i];
    uint32_t value = argument->value();
    if (tensor.dtype != resolved.dtypes[value] ||
        tensor.shape != resolved.shapes[value] ||
        int64_t(tensor.bytes.size()) !=
            tensor.numElements() * bytesPerElement(tensor.dtype))
      return "input '" + argument->name()->str() +
             "' does not have the graph's dtype and shape";
    values[value] = Array::view(tensor);
  }
  for (uint32_t i = 0; graph.params() && i < graph.params()->size(); ++i) {
    const bundle::Argument *param = graph.params()->Get(i);
    auto it = problem.params.find(param->name()->str());
    if (it == problem.params.end())
      return "no value given for parameter '" + param->name()->str() + "'";
    values[param->value()] =
        Array::scalar(resolved.dtypes[param->value()], it->second);
  }
  return {};
}

/// Values that are no outputs go after the op that uses them last.
void Evaluator::findLastUses() {
  lastUse.assign(resolved.shapes.size(), 0);
  for (uint32_t i = 0; graph.ops() && i < graph.ops()->size(); ++i) {
    const bundle::Op *op = graph.ops()->Get(i);
    lastUse[op->result()] = i; // not used at all
    if (op->operands())
      for (uint32_t value : *op->operands())
        lastUse[value] = i;
  }
  if (graph.outputs())
    for (const bundle::Argument *output : *graph.outputs())
      lastUse[output->value()] = UINT32_MAX;
}

void Evaluator::evaluateBlock(const bundle::Op &op,
                              const std::vector<Array> &operands, Array &to,
                              int64_t begin, int64_t count) const {
  double buffers[3][blockElements], errorBuffers[3][blockElements];
  double out[blockElements], outErrors[blockElements];
  const double *operandData[3] = {}, *errorData[3] = {};
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i].read(begin, count, buffers[i]);
    operandData[i] = buffers[i];
    if (to.error) {
      operands[i].readError(begin, count, errorBuffers[i]);
      errorData[i] = errorBuffers[i];
    }
  }
  applyElementwise(op.kind(), operandData, count, out);
  if (to.error)
    propagateErrors(op, operandData, errorData, out, count, outErrors);
  if (!exact()) {
    auto round = [type = to.dtype](double x) {
      return roundElementwise(type, x);
    };
    for (int64_t i = 0; i < count; ++i) {
      double rounded = round(out[i]);
      if (to.error)
        outErrors[i] = roundedError(out[i], rounded, outErrors[i], round);
      out[i] = rounded;
    }
  }
  to.write(begin, count, out);
  if (to.error)
    to.writeError(begin, count, outErrors);
}

Array Evaluator::evaluateElementwise(const bundle::Op &op) const {
  std::vector<Array> operands;
  bool inexact =
      isElementary(op.kind()) || (op.kind() == OpKind::Div && op.afn());
  for (uint32_t i = 0; i < op.operands()->size(); ++i) {
    operands.push_back(operand(op, i));
    inexact |= operands.back().error != nullptr;
    // A scalar condition of Select is seen by all elements.
    if (operands.back().shape.empty()) {
      operands.back().shape = resolved.shapes[op.result()];
      operands.back().strides.assign(operands.back().shape.size(), 0);
    }
  }
  Array to = allocateResult(op, options.bounds && inexact);
  int64_t count = to.numElements();
  constexpr int64_t piece = blockElements * blocksPerPiece;
  parallelFor((count + piece - 1) / piece, options.threads, [&](int64_t p) {
    int64_t end = std::min(count, (p + 1) * piece);
    for (int64_t begin = p * piece; begin < end; begin += blockElements)
      evaluateBlock(op, operands, to, begin,
                    std::min(blockElements, end - begin));
  });
  return to;
}

Array Evaluator::evaluateBroadcast(const bundle::Op &op) const {
  Array array = operand(op, 0);
  std::vector<int64_t> strides(resolved.shapes[op.result()].size(), 0);
  for (size_t i = 0; i < array.shape.size(); ++i)
    strides[size_t(op.dims()->Get(uint32_t(i)))] = array.strides[i];
  array.strides = std::move(strides);
  array.shape = resolved.shapes[op.result()];
  return array;
}

/// The elements in row-major order, without strides.
Array Evaluator::contiguous(const Array &array) const {
  if (array.isContiguous())
    return array;
  Array copy = Array::allocate(array.dtype, array.storage, array.shape);
  if (array.error)
    copy.allocateError();
  int64_t count = copy.numElements();
  parallelFor((count + blockElements - 1) / blockElements, options.threads,
              [&](int64_t block) {
                double buffer[blockElements];
                int64_t begin = block * blockElements;
                int64_t size = std::min(blockElements, count - begin);
                array.read(begin, size, buffer);
                copy.write(begin, size, buffer);
                if (copy.error) {
                  array.readError(begin, size, buffer);
                  copy.writeError(begin, size, buffer);
                }
              });
  return copy;
}

Array Evaluator::evaluateReshape(const bundle::Op &op) const {
  Array array = operand(op, 0);
  const Shape &shape = resolved.shapes[op.result()];
  bool uniform = std::all_of(array.strides.begin(), array.strides.end(),
                             [](int64_t stride) { return stride == 0; });
  if (uniform) {
    array.strides.assign(shape.size(), 0);
  } else {
    array = contiguous(array);
    array.strides = rowMajorStrides(shape);
  }
  array.shape = shape;
  return array;
}

/// Rounds finished sums to the result's type and stores them.
void Evaluator::storeRounded(DType type, Array &to, int64_t begin,
                             int64_t count, double *sums,
                             double *errors) const {
  if (!exact()) {
    auto round = [type](double x) { return roundOnce(type, x); };
    for (int64_t i = 0; i < count; ++i) {
      double rounded = round(sums[i]);
      if (errors)
        errors[i] = roundedError(sums[i], rounded, errors[i], round);
      sums[i] = rounded;
    }
  }
  to.write(begin, count, sums);
  if (errors)
    to.writeError(begin, count, errors);
}

/// With token weights: how often each index over `axes` of the value counts.
/// Stays empty if no tokens are among them.
Error Evaluator::weightsOver(uint32_t index, uint32_t value,
                             const flatbuffers::Vector<int32_t> &axes,
                             std::vector<double> &weights) const {
  if (!options.tokenWeights)
    return {};
  const auto *extents = graph.values()->Get(value)->type()->extents();
  const Shape &shape = resolved.shapes[value];
  size_t found = 0;
  // All token dimensions but the last one are 1 here.
  int64_t inner = 1, tokenInner = 0;
  for (uint32_t i = axes.size(); i-- > 0;) {
    auto axis = uint32_t(axes.Get(i));
    int32_t dim = extents->Get(axis)->dim();
    if (dim >= 0) {
      std::string name = graph.dims()->Get(uint32_t(dim))->str();
      for (const std::string &token : options.tokenDims)
        found += token == name;
      if (name == options.tokenDims.back())
        tokenInner = inner;
    }
    inner *= shape[axis];
  }
  if (found == 0)
    return {};
  if (found != options.tokenDims.size())
    return describeOp(graph, index) +
           " runs over some of the token dimensions only";
  auto rows = int64_t(options.tokenWeights->size());
  for (int64_t i = 0; i < inner; ++i)
    weights.push_back((*options.tokenWeights)[size_t(i / tokenInner % rows)]);
  return {};
}

/// The number of terms that `count` weighted ones stand for.
static int64_t numTerms(int64_t count, const std::vector<double> &weights) {
  if (weights.empty())
    return count;
  double terms = 0;
  for (double weight : weights)
    terms += weight;
  return int64_t(terms);
}

namespace {
/// Sums over `reduced`, in this order, for neighbouring results.
struct ColumnSums {
  static constexpr int64_t most = 256;
  double sums[most] = {}, magnitudes[most] = {}, errors[most] = {};

  void add(const Array &array, int64_t offset, int64_t stride, int64_t count,
           double weight, bool withErrors) {
    double values[most], valueErrors[most];
    array.load(offset, stride, count, values);
    for (int64_t c = 0; c < count; ++c)
      sums[c] += weight * values[c];
    if (!withErrors)
      return;
    array.loadError(offset, stride, count, valueErrors);
    for (int64_t c = 0; c < count; ++c) {
      magnitudes[c] += weight * (std::fabs(values[c]) + valueErrors[c]);
      errors[c] += weight * valueErrors[c];
    }
  }
};
} // namespace

/// Cuts [0, offsets.size()) into blocks of at most ColumnSums::most entries
/// that lie equally far apart; returns where they start, and the end.
static std::vector<int64_t> uniformBlocks(const std::vector<int64_t> &offsets) {
  std::vector<int64_t> starts;
  auto count = int64_t(offsets.size());
  for (int64_t i = 0; i < count; ++i) {
    bool same = !starts.empty() && i - starts.back() < ColumnSums::most &&
                (i - starts.back() < 2 ||
                 offsets[size_t(i)] - offsets[size_t(i - 1)] ==
                     offsets[size_t(i - 1)] - offsets[size_t(i - 2)]);
    if (!same)
      starts.push_back(i);
  }
  starts.push_back(count);
  return starts;
}

Error Evaluator::evaluateSum(uint32_t index, Array &to) const {
  const bundle::Op &op = *graph.ops()->Get(index);
  const Array &array = operand(op, 0);
  std::vector<double> weights;
  if (Error error =
          weightsOver(index, op.operands()->Get(0), *op.dims(), weights);
      !error.empty())
    return error;
  std::vector<int64_t> free =
      offsetsOver(array, freeAxes(array.shape.size(), *op.dims()));
  std::vector<int64_t> reduced = offsetsOver(
      array, std::vector<int>(op.dims()->begin(), op.dims()->end()));
  to = allocateResult(op, options.bounds);
  double bound = accumulationBound(numTerms(int64_t(reduced.size()), weights));
  std::vector<int64_t> starts = uniformBlocks(free);
  parallelFor(int64_t(starts.size()) - 1, options.threads, [&](int64_t s) {
    int64_t begin = starts[size_t(s)], count = starts[size_t(s) + 1] - begin;
    int64_t stride =
        count > 1 ? free[size_t(begin + 1)] - free[size_t(begin)] : 1;
    ColumnSums columns;
    for (size_t r = 0; r < reduced.size(); ++r)
      columns.add(array, reduced[r] + free[size_t(begin)], stride, count,
                  weights.empty() ? 1 : weights[r], options.bounds);
    for (int64_t c = 0; options.bounds && c < count; ++c) {
      // A NaN or an infinity that follows from the operand alone.
      if (!array.error && !std::isfinite(columns.sums[c]))
        continue;
      columns.errors[c] += bound * columns.magnitudes[c];
      // Partial sums may overflow, in one order or another.
      if (columns.magnitudes[c] >= largestF32)
        columns.errors[c] = HUGE_VAL;
    }
    storeRounded(to.dtype, to, begin, count, columns.sums,
                 options.bounds ? columns.errors : nullptr);
  });
  return {};
}

/// What the variant's route did to the operands (Declared), or may have done
/// (bounds in Eager mode).
Error Evaluator::applyRoute(uint32_t index, ProductSpec &spec) const {
  const bundle::Op &op = *graph.ops()->Get(index);
  int64_t lengthK = numTerms(int64_t(spec.a.contract.size()), spec.weights);
  spec.relativeError = accumulationBound(lengthK);
  spec.absoluteError = underflowBound(lengthK);
  bool single =
      spec.a.array->dtype == DType::F32 || spec.b.array->dtype == DType::F32;
  const bundle::Product *route = nullptr;
  for (uint32_t i = 0; options.products && i < options.products->size(); ++i)
    if (options.products->Get(i)->op() == index)
      route = options.products->Get(i);
  if (options.mode != Mode::Declared || (!route && !single)) {
    if (single)
      spec.relativeError += precisionBound(op.precision());
    return {};
  }
  if (!route)
    return describeOp(graph, index) +
           " has f32 operands, but no route: the Declared mode needs the "
           "products of the variant that was run";
  uint32_t terms = route->terms();
  DType types[2] = {route->a_type(), route->b_type()};
  for (DType type : types)
    if (type > DType::F16)
      return describeOp(graph, index) + " has a route with operand type " +
             bundle::EnumNameDType(type);
  if (terms < 1 || terms > 4)
    return describeOp(graph, index) + " has a route of " +
           std::to_string(terms) + " terms; 1 to 4 are known";
  spec.a.rounding = types[0];
  spec.b.rounding = types[1];
  if (terms == 1) {
    spec.a.tf32 = spec.b.tf32 =
        route->f32_rounding() == bundle::F32Rounding::Tf32;
    if (types[0] == DType::F32 && types[1] == DType::F32 && !spec.a.tf32)
      spec.relativeError += precisionBound(op.precision());
    return {};
  }
  if (types[0] == DType::F32 || types[1] == DType::F32)
    return describeOp(graph, index) +
           " has a route of several terms whose parts are f32";
  spec.a.split = spec.b.split = true;
  spec.dropLowLow = terms < 4;
  spec.relativeError = accumulationBound(lengthK * terms);
  spec.absoluteError = underflowBound(lengthK * terms);
  return {};
}

Error Evaluator::evaluateMatmul(uint32_t index, Array &to) const {
  const bundle::Op &op = *graph.ops()->Get(index);
  ProductSpec spec;
  auto bind = [&](ProductOperand &side, uint32_t i,
                  const flatbuffers::Vector<int32_t> &contracted) {
    side.array = &operand(op, i);
    side.free = offsetsOver(*side.array,
                            freeAxes(side.array->shape.size(), contracted));
    side.contract = offsetsOver(
        *side.array, std::vector<int>(contracted.begin(), contracted.end()));
  };
  bind(spec.a, 0, *op.a_contract());
  bind(spec.b, 1, *op.b_contract());
  if (Error error = weightsOver(index, op.operands()->Get(0), *op.a_contract(),
                                spec.weights);
      !error.empty())
    return error;
  spec.bounds = options.bounds;
  spec.threads = options.threads;
  if (!exact())
    if (Error error = applyRoute(index, spec); !error.empty())
      return error;
  to = allocateResult(op, options.bounds);
  int64_t columns = int64_t(spec.b.free.size());
  computeProduct(spec, [&](const ProductTile &tile) {
    std::vector<double> line(size_t(tile.columns)),
        errors(size_t(tile.columns));
    for (int64_t i = 0; i < tile.rows; ++i) {
      const double *from = tile.values + i * tile.stride;
      std::copy(from, from + tile.columns, line.begin());
      if (tile.errors)
        std::copy(tile.errors + i * tile.stride,
                  tile.errors + i * tile.stride + tile.columns, errors.begin());
      storeRounded(to.dtype, to, (tile.row + i) * columns + tile.column,
                   tile.columns, line.data(),
                   tile.errors ? errors.data() : nullptr);
    }
  });
  return {};
}

Error Evaluator::evaluateOp(uint32_t index) {
  const bundle::Op &op = *graph.ops()->Get(index);
  Array to;
  switch (op.kind()) {
  case OpKind::Constant:
    to = Array::scalar(resultType(op), op.scalar());
    to.shape = resolved.shapes[op.result()];
    to.strides.assign(to.shape.size(), 0);
    break;
  case OpKind::Broadcast:
    to = evaluateBroadcast(op);
    break;
  case OpKind::Reshape:
    to = evaluateReshape(op);
    break;
  case OpKind::Sum:
    if (Error error = evaluateSum(index, to); !error.empty())
      return error;
    break;
  case OpKind::Matmul:
    if (Error error = evaluateMatmul(index, to); !error.empty())
      return error;
    break;
  default:
    to = evaluateElementwise(op);
  }
  values[op.result()] = std::move(to);
  return {};
}

void Evaluator::collectOutputs() {
  uint32_t numOutputs = graph.outputs() ? graph.outputs()->size() : 0;
  for (uint32_t o = 0; o < numOutputs; ++o) {
    Array array = contiguous(values[graph.outputs()->Get(o)->value()]);
    values[graph.outputs()->Get(o)->value()] = array;
    int64_t count = array.numElements();
    result.outputs.emplace_back(array.dtype, array.shape);
    Tensor &tensor = result.outputs.back();
    std::vector<double> unrounded(exact() ? size_t(count) : 0);
    std::vector<double> bounds(options.bounds ? size_t(count) : 0);
    constexpr int64_t piece = blockElements * blocksPerPiece;
    parallelFor((count + piece - 1) / piece, options.threads, [&](int64_t p) {
      int64_t begin = p * piece, size = std::min(piece, count - begin);
      if (options.bounds)
        array.readError(begin, size, bounds.data() + begin);
      if (exact()) {
        array.read(begin, size, unrounded.data() + begin);
        for (int64_t i = begin; i < begin + size; ++i)
          tensor.set(i, unrounded[size_t(i)]);
      } else {
        int64_t width = bytesPerElement(array.dtype);
        const unsigned char *from =
            static_cast<const unsigned char *>(array.data);
        std::copy(from + begin * width, from + (begin + size) * width,
                  tensor.bytes.begin() + begin * width);
      }
    });
    if (exact())
      result.exact.push_back(std::move(unrounded));
    if (options.bounds)
      result.bounds.push_back(std::move(bounds));
  }
}

Error Evaluator::run() {
  if (exact() && options.bounds)
    return "bounds belong to the Eager and Declared modes";
  for (uint32_t i = 0; options.products && i < options.products->size(); ++i) {
    const bundle::Product *route = options.products->Get(i);
    if (!route || !graph.ops() || route->op() >= graph.ops()->size() ||
        graph.ops()->Get(route->op())->kind() != OpKind::Matmul)
      return "route " + std::to_string(i) + " names no product of the graph";
  }
  if (Error error = resolve(graph, problem.dims, resolved); !error.empty())
    return error;
  values.assign(resolved.shapes.size(), {});
  if (Error error = bindInputs(); !error.empty())
    return error;
  findLastUses();
  for (uint32_t i = 0; graph.ops() && i < graph.ops()->size(); ++i) {
    if (Error error = evaluateOp(i); !error.empty())
      return error;
    const bundle::Op *op = graph.ops()->Get(i);
    if (op->operands())
      for (uint32_t value : *op->operands())
        if (lastUse[value] == i)
          values[value] = {};
    if (lastUse[op->result()] == i)
      values[op->result()] = {};
  }
  collectOutputs();
  return {};
}

Error reference::evaluate(const bundle::Graph &graph, const Problem &problem,
                          const EvaluateOptions &options, Evaluation &result) {
  result = {};
  return Evaluator(graph, problem, options, result).run();
}
