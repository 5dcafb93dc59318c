//===- Npy.cpp - Tensors in NumPy's files ---------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Npy.h"
#include "Failure.h"

#include "tools/npy/NpyFile.h"

#include <algorithm>
#include <cstring>

using namespace backfuse;
using namespace backfuse::run;
using bundle::DType;

/// Whether the file's elements are those of `dtype`, bit for bit.
static bool isStorageOf(const std::string &descr, DType dtype) {
  switch (dtype) {
  case DType::F32:
    return descr == "<f4";
  case DType::F16:
    return descr == "<f2";
  case DType::BF16:
    return descr == "|V2" || descr == "<V2" || descr == "<u2";
  case DType::I1:
    return descr == "|b1";
  case DType::I64:
    return descr == "<i8";
  }
  return false;
}

static const char *expectedDescr(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "<f4";
  case DType::F16:
    return "<f2 or <f4";
  case DType::BF16:
    return "|V2, <u2 or <f4";
  case DType::I1:
    return "|b1";
  case DType::I64:
    return "<i8";
  }
  return "?";
}

static npy::Array readArray(const std::string &path) {
  try {
    return npy::read(path);
  } catch (const npy::NpyError &error) {
    throw UsageError(error.what());
  }
}

reference::Tensor backfuse::run::readNpy(const std::string &path, DType dtype) {
  npy::Array array = readArray(path);
  bool rounds =
      (dtype == DType::BF16 || dtype == DType::F16) && array.descr == "<f4";
  if (!rounds && !isStorageOf(array.descr, dtype))
    throw UsageError(path + ": has elements of type '" + array.descr +
                     "', expected " + expectedDescr(dtype));
  reference::Tensor tensor(dtype, array.shape);
  if (!rounds) {
    std::copy(array.bytes.begin(), array.bytes.end(), tensor.bytes.begin());
    return tensor;
  }
  for (size_t i = 0; i < array.bytes.size() / 4; ++i) {
    float value;
    std::memcpy(&value, array.bytes.data() + 4 * i, 4);
    tensor.set(static_cast<int64_t>(i), value);
  }
  return tensor;
}

void backfuse::run::writeNpy(const std::string &path,
                             const reference::Tensor &tensor) {
  std::string descr = std::string(expectedDescr(tensor.dtype)).substr(0, 3);
  try {
    npy::write(path, descr, tensor.shape, tensor.bytes.data(),
               tensor.bytes.size());
  } catch (const npy::NpyError &error) {
    throw Failure(error.what());
  }
}
