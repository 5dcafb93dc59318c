//===- Npy.h - Tensors in NumPy's files -------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy has no bf16. A bf16 tensor is written as `|V2`, as ml_dtypes does it:
// the two bytes of each element. It is read from `|V2`, `<V2` or `<u2` (the
// bits) or from `<f4` (rounded to nearest even). In Python:
// np.load(f).view(np.uint16), or .view(ml_dtypes.bfloat16).
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_KERNELRUN_NPY_H
#define BACKFUSE_KERNELRUN_NPY_H

#include "Reference.h"

#include <string>

namespace backfuse::run {

/// Reads a file as a tensor of type `dtype`; a Failure says why it cannot be.
reference::Tensor readNpy(const std::string &path, bundle::DType dtype);

/// Writes a tensor. The file appears whole or not at all.
void writeNpy(const std::string &path, const reference::Tensor &tensor);

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_NPY_H
