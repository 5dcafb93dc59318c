//===- Product.cpp - Contractions, blocked and threaded -------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All accumulation is in f64: products of two f32 values are exact there, and
// the error of a sum of K of them is below K * 2^-53 * sum|a||b|, which is less
// than 2^-26 of the numerics contract's bound. Operands are widened, rounded
// and packed panel by panel; no tensor is ever widened as a whole.
//===----------------------------------------------------------------------===//
#include "Product.h"

#include "ProductKernel.h"
#include "Rounding.h"
#include "Threads.h"

#include <algorithm>
#include <cmath>

using namespace backfuse;
using namespace backfuse::reference;
using bundle::DType;

// Extents of a tile and of one step along K. They must not depend on the number
// of threads: the order of additions follows from them.
static constexpr int64_t tileRows = 256, tileColumns = 512, stepK = 512;

ProductKernel reference::chooseProductKernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("fma"))
    return productKernelAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return productKernelAvx2;
#endif
  return productKernelBase;
}

namespace {
/// What of an operand enters a product.
enum class Part {
  Value,           // rounded or hi + lo
  NegativeLow,     // -lo
  Magnitude,       // |value|
  FiniteMagnitude, // the same; 0 for infinities and NaN
  LargestMagnitude // |value| plus its error bound
};
} // namespace

/// A type to which roundOnce does nothing (F32 would round f64 in Exact mode).
static constexpr DType keepAsIs = DType::I64;

static constexpr double largestF32 = 0x1.fffffep127;

/// The largest and the smallest positive number of a type that operands are
/// split into.
static double largestOf(DType type) {
  return type == DType::F16 ? 65504 : 0x1.fep127;
}
static double smallestOf(DType type) {
  return type == DType::F16 ? 0x1p-24 : 0x1p-133;
}

/// The larger one; NaN if either is NaN.
static double largerOf(double a, double b) { return a > b || a != a ? a : b; }

/// One rounding of an f64 value that is or stands for an f32.
static double roundOnceToTf32(double value) {
  return double(roundToTf32(roundToOdd(value)));
}
template <DType type> static double roundOperand(double value) {
  return type == DType::F32 ? roundOnceToTf32(value) : roundOnce(type, value);
}

/// Turns widened elements (and their error bounds) into the wanted part; F32
/// stands for tf32.
template <DType type>
static void transformAs(bool split, Part part, double *values,
                        const double *errors, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    double x = values[i];
    double value = roundOperand<type>(x), low = 0;
    if (split) {
      // The first part does not become infinite where x is finite; where x is
      // infinite, the second part alone is.
      if (std::isinf(value))
        value = std::copysign(largestOf(type), value);
      low = roundOperand<type>(x - value);
      value += low;
    }
    switch (part) {
    case Part::Value:
      values[i] = value;
      break;
    case Part::NegativeLow:
      values[i] = std::isfinite(low) ? -low : 0;
      break;
    case Part::Magnitude:
      values[i] = std::fabs(value);
      break;
    case Part::FiniteMagnitude:
      values[i] = std::isfinite(value) ? std::fabs(value) : 0;
      break;
    case Part::LargestMagnitude: {
      double error = errors[i];
      if (error > 0 && split)
        error += 0x1p-16 * (std::fabs(x) + error) + 2 * smallestOf(type);
      else if (error > 0 && type != keepAsIs)
        error = largerOf(roundOperand<type>(x + error) - value,
                         value - roundOperand<type>(x - error));
      values[i] = std::fabs(value) + error;
      break;
    }
    }
  }
}

static void transform(const ProductOperand &operand, Part part, double *values,
                      const double *errors, int64_t count) {
  switch (operand.rounding) {
  case DType::BF16:
    return transformAs<DType::BF16>(operand.split, part, values, errors, count);
  case DType::F16:
    return transformAs<DType::F16>(operand.split, part, values, errors, count);
  default:
    if (operand.tf32)
      return transformAs<DType::F32>(false, part, values, errors, count);
    if (part != Part::Value)
      transformAs<keepAsIs>(false, part, values, errors, count);
  }
}

namespace {
/// One operand's panels for one part.
class Packer {
public:
  Packer(const ProductOperand &operand, Part part,
         const std::vector<double> &weights)
      : operand(operand), part(part), weights(weights) {
    // Runs go along K unless only the free index has neighbours in memory.
    alongK = !(hasUnitSteps(operand.free) && !hasUnitSteps(operand.contract));
    if (part == Part::LargestMagnitude)
      errorBuffer.resize(size_t(std::max(stepK, tileColumns)));
  }

  /// Elements of rows [i0, i1), steps [k0, k1). The panel's free index is its
  /// row index for A; for B, see `panelOfB`.
  void pack(int64_t i0, int64_t i1, int64_t k0, int64_t k1) {
    buffer.resize(size_t((i1 - i0) * (k1 - k0)));
    if (alongK)
      packRuns(operand.free, i0, i1, operand.contract, k0, k1);
    else
      packRuns(operand.contract, k0, k1, operand.free, i0, i1);
    if (!weights.empty())
      applyWeights(i1 - i0, k0, k1);
  }
  /// As an (i, k) matrix.
  Panel panelOfA() const { return {buffer.data(), alongK}; }
  /// As a (k, i) matrix.
  Panel panelOfB() const { return {buffer.data(), !alongK}; }

private:
  const ProductOperand &operand;
  Part part;
  const std::vector<double> &weights;
  bool alongK;
  std::vector<double> buffer, errorBuffer;

  static bool hasUnitSteps(const std::vector<int64_t> &offsets) {
    return offsets.size() > 1 && offsets[1] - offsets[0] == 1;
  }

  /// Consecutive entries of an offset table that lie equally far apart.
  struct Run {
    int64_t position, offset, stride, count;
  };
  static std::vector<Run> findRuns(const std::vector<int64_t> &offsets,
                                   int64_t begin, int64_t end) {
    std::vector<Run> runs;
    for (int64_t n = begin; n < end;) {
      int64_t stride =
          n + 1 < end ? offsets[size_t(n + 1)] - offsets[size_t(n)] : 1;
      int64_t next = n + 1;
      while (next < end &&
             offsets[size_t(next)] - offsets[size_t(next - 1)] == stride)
        ++next;
      runs.push_back({n - begin, offsets[size_t(n)], stride, next - n});
      n = next;
    }
    return runs;
  }

  /// One line of the panel per entry of `outer`, gathered in runs along
  /// `inner`.
  void packRuns(const std::vector<int64_t> &outer, int64_t o0, int64_t o1,
                const std::vector<int64_t> &inner, int64_t n0, int64_t n1) {
    std::vector<Run> runs = findRuns(inner, n0, n1);
    double *line = buffer.data();
    for (int64_t o = o0; o < o1; ++o, line += n1 - n0)
      for (const Run &run : runs)
        packRun(outer[size_t(o)] + run.offset, run.stride, run.count,
                line + run.position);
  }

  void packRun(int64_t offset, int64_t stride, int64_t count, double *out) {
    operand.array->load(offset, stride, count, out);
    if (part == Part::LargestMagnitude)
      operand.array->loadError(offset, stride, count, errorBuffer.data());
    transform(operand, part, out, errorBuffer.data(), count);
  }

  void applyWeights(int64_t rows, int64_t k0, int64_t k1) {
    int64_t steps = k1 - k0;
    for (int64_t k = 0; k < steps; ++k)
      for (int64_t i = 0; i < rows; ++i)
        buffer[size_t(alongK ? i * steps + k : k * rows + i)] *=
            weights[size_t(k0 + k)];
  }
};
} // namespace

/// Computes one tile.
static void computeTile(const ProductSpec &spec, ProductKernel kernel,
                        int64_t row, int64_t rows, int64_t column,
                        int64_t columns,
                        const std::function<void(const ProductTile &)> &sink) {
  static const std::vector<double> unweighted;
  int64_t lengthK = int64_t(spec.a.contract.size());
  size_t size = size_t(rows * columns);
  std::vector<double> values(size, 0.0), magnitudes, largest, errors;
  auto accumulate = [&](Part partA, Part partB, std::vector<double> &sums) {
    sums.resize(size, 0.0);
    Packer a(spec.a, partA, spec.weights), b(spec.b, partB, unweighted);
    for (int64_t k = 0; k < lengthK; k += stepK) {
      int64_t end = std::min(lengthK, k + stepK);
      a.pack(row, row + rows, k, end);
      b.pack(column, column + columns, k, end);
      kernel(a.panelOfA(), b.panelOfB(), sums.data(), columns, rows, columns,
             end - k);
    }
  };
  accumulate(Part::Value, Part::Value, values);
  if (spec.dropLowLow) {
    std::vector<double> low;
    accumulate(Part::NegativeLow, Part::NegativeLow, low);
    // Both signs were turned, so the sum is that of lo * lo.
    for (size_t i = 0; i < size; ++i)
      values[i] -= low[i];
  }
  if (spec.bounds) {
    // The parts of a number have together a somewhat larger magnitude.
    double partsPerValue = spec.a.split ? 1 + 0x1p-6 : 1;
    std::vector<double> finite;
    accumulate(Part::LargestMagnitude, Part::LargestMagnitude, largest);
    bool inexact = spec.a.array->error || spec.b.array->error;
    if (inexact)
      accumulate(Part::Magnitude, Part::Magnitude, magnitudes);
    errors.resize(size);
    for (size_t i = 0; i < size; ++i) {
      if (!inexact && largest[i] == 0)
        continue;
      // A NaN or an infinity that follows from the operands alone.
      bool decided = !inexact && !std::isfinite(values[i]);
      if (decided && finite.empty())
        accumulate(Part::FiniteMagnitude, Part::FiniteMagnitude, finite);
      if (decided && finite[i] * partsPerValue < largestF32)
        continue;
      errors[i] = spec.relativeError * largest[i] + spec.absoluteError;
      double difference = inexact ? largest[i] - magnitudes[i] : 0;
      errors[i] += difference < 0 ? 0 : difference; // NaN stays
      // Partial sums may overflow, in one order or another.
      if (!(largest[i] * partsPerValue + errors[i] < largestF32))
        errors[i] = HUGE_VAL;
    }
  }
  sink({row, rows, column, columns, columns, values.data(),
        spec.bounds ? errors.data() : nullptr});
}

void reference::computeProduct(
    const ProductSpec &spec,
    const std::function<void(const ProductTile &)> &sink) {
  ProductKernel kernel = chooseProductKernel();
  int64_t rows = int64_t(spec.a.free.size());
  int64_t columns = int64_t(spec.b.free.size());
  int64_t tilesM = (rows + tileRows - 1) / tileRows;
  int64_t tilesN = (columns + tileColumns - 1) / tileColumns;
  parallelFor(tilesM * tilesN, spec.threads, [&](int64_t tile) {
    int64_t row = tile / tilesN * tileRows;
    int64_t column = tile % tilesN * tileColumns;
    computeTile(spec, kernel, row, std::min(tileRows, rows - row), column,
                std::min(tileColumns, columns - column), sink);
  });
}
