//===- Array.h - Values during evaluation -----------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_REFERENCE_ARRAY_H
#define BACKFUSE_REFERENCE_ARRAY_H

#include "Resolve.h"

namespace backfuse::reference {

/// How elements lie in memory: in the value's dtype, or as f64 (Exact mode).
enum class Storage { F32, BF16, F16, I1, F64 };
Storage storageOf(bundle::DType dtype);

/// A value while a graph is evaluated: elements, possibly seen through strides
/// (a broadcast has stride 0), and their error bounds. Copies share elements.
struct Array {
  bundle::DType dtype = bundle::DType::F32;
  Storage storage = Storage::F32;
  Shape shape;
  std::vector<int64_t> strides; // in elements
  std::shared_ptr<void> owner;  // null: the memory belongs to somebody else
  const void *data = nullptr;
  /// Error bounds, indexed like `data`; null: all 0.
  std::shared_ptr<std::vector<float>> error;

  /// A row-major array of its own.
  static Array allocate(bundle::DType dtype, Storage storage, Shape shape);
  /// Sees the tensor's memory.
  static Array view(const Tensor &tensor);
  static Array scalar(bundle::DType dtype, double value);

  int64_t numElements() const { return product(shape); }
  bool isContiguous() const;
  /// Adds zeroed error bounds (to an array of its own).
  void allocateError();

  /// Widens `count` elements that lie `stride` apart from `offset` on.
  void load(int64_t offset, int64_t stride, int64_t count, double *out) const;
  void loadError(int64_t offset, int64_t stride, int64_t count,
                 double *out) const;
  /// Elements [begin, begin + count) in row-major order.
  void read(int64_t begin, int64_t count, double *out) const;
  void readError(int64_t begin, int64_t count, double *out) const;
  /// Stores values that are exact in the storage; needs an array of its own.
  void write(int64_t begin, int64_t count, const double *values);
  void writeError(int64_t begin, int64_t count, const double *values);
};

/// Row-major strides.
std::vector<int64_t> rowMajorStrides(const Shape &shape);

/// Offsets of all index tuples over the axes `axes`, the last one fastest.
std::vector<int64_t> offsetsOver(const Array &array,
                                 const std::vector<int> &axes);

/// f64 to f32, never below the value.
float roundUp(double value);

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_ARRAY_H
