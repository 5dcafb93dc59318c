//===- Tensor.cpp - Host tensors and their comparison ---------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

#include "Rounding.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace backfuse;
using namespace backfuse::reference;
using bundle::DType;

int64_t reference::bytesPerElement(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return 4;
  case DType::BF16:
  case DType::F16:
    return 2;
  case DType::I1:
    return 1;
  case DType::I64:
    return 8;
  }
  return 0;
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape)
    : dtype(dtype), shape(std::move(shape)) {
  bytes.resize(size_t(numElements() * bytesPerElement(dtype)));
}

int64_t Tensor::numElements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

double Tensor::at(int64_t i) const {
  const unsigned char *data = bytes.data();
  switch (dtype) {
  case DType::F32: {
    float value;
    std::memcpy(&value, data + 4 * i, 4);
    return value;
  }
  case DType::BF16:
  case DType::F16: {
    uint16_t bits;
    std::memcpy(&bits, data + 2 * i, 2);
    return dtype == DType::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
  }
  case DType::I1:
    return data[i] ? 1 : 0;
  case DType::I64: {
    int64_t value;
    std::memcpy(&value, data + 8 * i, 8);
    return double(value);
  }
  }
  return 0;
}

void Tensor::set(int64_t i, double value) {
  unsigned char *data = bytes.data();
  switch (dtype) {
  case DType::F32: {
    float single = float(value);
    std::memcpy(data + 4 * i, &single, 4);
    return;
  }
  case DType::BF16:
  case DType::F16: {
    uint16_t bits =
        dtype == DType::BF16 ? doubleToBf16(value) : doubleToF16(value);
    std::memcpy(data + 2 * i, &bits, 2);
    return;
  }
  case DType::I1:
    data[i] = value != 0;
    return;
  case DType::I64: {
    int64_t integer = int64_t(value);
    std::memcpy(data + 8 * i, &integer, 8);
    return;
  }
  }
}

/// Compares element by element: agrees(actual, expected, i).
template <typename Expected, typename Agrees>
static Comparison compare(const Tensor &actual, int64_t expectedCount,
                          const Expected &expected, const Agrees &agrees) {
  Comparison result;
  result.elements = actual.numElements();
  if (result.elements != expectedCount) {
    result.mismatches = result.elements =
        std::max(result.elements, expectedCount);
    result.maxError = HUGE_VAL;
    return result;
  }
  for (int64_t i = 0; i < result.elements; ++i) {
    double got = actual.at(i), want = expected(i);
    double error = std::fabs(got - want);
    if (got == want || (std::isnan(got) && std::isnan(want)))
      error = 0;
    else if (std::isnan(error))
      error = HUGE_VAL;
    if (!std::isfinite(got) && std::isfinite(want))
      ++result.nonFinite;
    bool mismatch = !agrees(got, want, error, i);
    bool first = mismatch && result.mismatches == 0;
    result.mismatches += mismatch;
    // Once something disagrees, what agrees is of no interest.
    if (result.mismatches > 0 && !mismatch)
      continue;
    if (first || error > result.maxError || result.worst < 0) {
      result.maxError = error;
      result.worst = i;
    }
  }
  return result;
}

Comparison reference::compareTolerance(const Tensor &actual,
                                       const Tensor &expected, double atol,
                                       double rtol) {
  return compare(
      actual, expected.numElements(), [&](int64_t i) { return expected.at(i); },
      [&](double got, double want, double error, int64_t) {
        return std::isfinite(got) && error <= atol + rtol * std::fabs(want);
      });
}

Comparison reference::compareTolerance(const Tensor &actual,
                                       const std::vector<double> &expected,
                                       double atol, double rtol) {
  return compare(
      actual, int64_t(expected.size()),
      [&](int64_t i) { return expected[size_t(i)]; },
      [&](double got, double want, double error, int64_t) {
        return std::isfinite(got) && error <= atol + rtol * std::fabs(want);
      });
}

Comparison reference::compareBounds(const Tensor &actual,
                                    const Tensor &expected,
                                    const std::vector<double> &bounds) {
  Comparison result = compare(
      actual,
      int64_t(bounds.size()) == expected.numElements() ? expected.numElements()
                                                       : -1,
      [&](int64_t i) { return expected.at(i); },
      [&](double, double, double error, int64_t i) {
        return error <= bounds[size_t(i)];
      });
  // Overflow, where nothing is promised, is none of the device's making.
  if (result.mismatches == 0)
    result.nonFinite = 0;
  // Of tensors of other sizes, nothing is comparable and all is wrong.
  if (result.elements == int64_t(bounds.size()))
    result.unbounded = std::count(bounds.begin(), bounds.end(), HUGE_VAL);
  return result;
}

Comparison reference::compareBits(const Tensor &actual,
                                  const Tensor &expected) {
  if (actual.dtype != expected.dtype)
    return compare(
        actual, -1, [](int64_t) { return 0.0; },
        [](double, double, double, int64_t) { return false; });
  int64_t width = bytesPerElement(actual.dtype);
  return compare(
      actual, expected.numElements(), [&](int64_t i) { return expected.at(i); },
      [&](double got, double want, double, int64_t i) {
        if (std::isnan(got) && std::isnan(want))
          return true;
        return std::memcmp(&actual.bytes[size_t(i * width)],
                           &expected.bytes[size_t(i * width)],
                           size_t(width)) == 0;
      });
}
