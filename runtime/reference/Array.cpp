//===- Array.cpp - Values during evaluation -------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Array.h"

#include "Rounding.h"

#include <algorithm>

using namespace backfuse;
using namespace backfuse::reference;
using bundle::DType;

Storage reference::storageOf(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return Storage::BF16;
  case DType::F16:
    return Storage::F16;
  case DType::I1:
    return Storage::I1;
  default:
    return Storage::F32;
  }
}

static int64_t width(Storage storage) {
  switch (storage) {
  case Storage::F64:
    return 8;
  case Storage::F32:
    return 4;
  case Storage::BF16:
  case Storage::F16:
    return 2;
  case Storage::I1:
    return 1;
  }
  return 0;
}

std::vector<int64_t> reference::rowMajorStrides(const Shape &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

Array Array::allocate(DType dtype, Storage storage, Shape shape) {
  Array array;
  array.dtype = dtype;
  array.storage = storage;
  array.strides = rowMajorStrides(shape);
  array.shape = std::move(shape);
  // Not cleared: each element is written before it is read.
  size_t bytes = size_t(array.numElements() * width(storage));
  array.owner = std::shared_ptr<unsigned char[]>(
      new unsigned char[std::max<size_t>(bytes, 1)]);
  array.data = array.owner.get();
  return array;
}

Array Array::view(const Tensor &tensor) {
  Array array;
  array.dtype = tensor.dtype;
  array.storage = storageOf(tensor.dtype);
  array.shape = tensor.shape;
  array.strides = rowMajorStrides(tensor.shape);
  array.data = tensor.bytes.data();
  return array;
}

Array Array::scalar(DType dtype, double value) {
  Array array = allocate(dtype, storageOf(dtype), {});
  double rounded =
      dtype == DType::I1 ? double(value != 0) : roundOnce(dtype, value);
  array.write(0, 1, &rounded);
  return array;
}

bool Array::isContiguous() const { return strides == rowMajorStrides(shape); }

void Array::allocateError() {
  error = std::make_shared<std::vector<float>>(size_t(numElements()), 0.0f);
}

void Array::load(int64_t offset, int64_t stride, int64_t count,
                 double *out) const {
  auto gather = [&](const auto *elements, auto widen) {
    elements += offset;
    if (stride == 1)
      for (int64_t i = 0; i < count; ++i)
        out[i] = widen(elements[i]);
    else
      for (int64_t i = 0; i < count; ++i)
        out[i] = widen(elements[i * stride]);
  };
  switch (storage) {
  case Storage::F64:
    return gather(static_cast<const double *>(data),
                  [](double x) { return x; });
  case Storage::F32:
    return gather(static_cast<const float *>(data),
                  [](float x) { return double(x); });
  case Storage::BF16:
    return gather(static_cast<const uint16_t *>(data),
                  [](uint16_t x) { return double(bf16ToFloat(x)); });
  case Storage::F16:
    return gather(static_cast<const uint16_t *>(data),
                  [](uint16_t x) { return double(f16ToFloat(x)); });
  case Storage::I1:
    return gather(static_cast<const unsigned char *>(data),
                  [](unsigned char x) { return x ? 1.0 : 0.0; });
  }
}

void Array::loadError(int64_t offset, int64_t stride, int64_t count,
                      double *out) const {
  if (!error)
    std::fill(out, out + count, 0.0);
  else
    for (int64_t i = 0; i < count; ++i)
      out[i] = (*error)[size_t(offset + i * stride)];
}

/// Calls run(offset, stride, position, length) for runs along the last axis
/// that together are the elements [begin, begin + count) in row-major order.
template <typename Run>
static void forEachRun(const Array &array, int64_t begin, int64_t count,
                       const Run &run) {
  if (count == 0)
    return;
  if (array.isContiguous())
    return run(begin, int64_t(1), int64_t(0), count);
  size_t rank = array.shape.size();
  std::vector<int64_t> index(rank);
  int64_t rest = begin, offset = 0;
  for (size_t i = rank; i-- > 0;) {
    index[i] = rest % array.shape[i];
    rest /= array.shape[i];
    offset += index[i] * array.strides[i];
  }
  size_t last = rank - 1;
  for (int64_t position = 0; position < count;) {
    int64_t length =
        std::min(array.shape[last] - index[last], count - position);
    run(offset, array.strides[last], position, length);
    position += length;
    index[last] += length;
    offset += length * array.strides[last];
    for (size_t i = last; i > 0 && index[i] == array.shape[i]; --i) {
      offset += array.strides[i - 1] - array.shape[i] * array.strides[i];
      index[i] = 0;
      ++index[i - 1];
    }
  }
}

void Array::read(int64_t begin, int64_t count, double *out) const {
  forEachRun(*this, begin, count,
             [&](int64_t offset, int64_t stride, int64_t at, int64_t length) {
               load(offset, stride, length, out + at);
             });
}

void Array::readError(int64_t begin, int64_t count, double *out) const {
  forEachRun(*this, begin, count,
             [&](int64_t offset, int64_t stride, int64_t at, int64_t length) {
               loadError(offset, stride, length, out + at);
             });
}

void Array::write(int64_t begin, int64_t count, const double *values) {
  void *memory = owner.get();
  switch (storage) {
  case Storage::F64:
    std::copy(values, values + count, static_cast<double *>(memory) + begin);
    return;
  case Storage::F32:
    for (int64_t i = 0; i < count; ++i)
      static_cast<float *>(memory)[begin + i] = float(values[i]);
    return;
  case Storage::BF16:
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint16_t *>(memory)[begin + i] =
          floatToBf16(float(values[i]));
    return;
  case Storage::F16:
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint16_t *>(memory)[begin + i] = floatToF16(float(values[i]));
    return;
  case Storage::I1:
    for (int64_t i = 0; i < count; ++i)
      static_cast<unsigned char *>(memory)[begin + i] = values[i] != 0;
    return;
  }
}

void Array::writeError(int64_t begin, int64_t count, const double *values) {
  for (int64_t i = 0; i < count; ++i)
    (*error)[size_t(begin + i)] = roundUp(values[i]);
}

std::vector<int64_t> reference::offsetsOver(const Array &array,
                                            const std::vector<int> &axes) {
  std::vector<int64_t> offsets{0};
  for (int axis : axes) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * size_t(array.shape[size_t(axis)]));
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < array.shape[size_t(axis)]; ++i)
        next.push_back(offset + i * array.strides[size_t(axis)]);
    offsets = std::move(next);
  }
  return offsets;
}

float reference::roundUp(double value) {
  float nearest = float(value);
  return double(nearest) < value ? std::nextafter(nearest, HUGE_VALF) : nearest;
}
