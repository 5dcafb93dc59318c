//===- ProductKernel.h - Products of f64 panels -----------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_REFERENCE_PRODUCTKERNEL_H
#define BACKFUSE_REFERENCE_PRODUCTKERNEL_H

#include <cstdint>

namespace backfuse::reference {

/// An m x k or k x n panel. `contiguousRows`: consecutive columns of a row are
/// neighbours; else consecutive rows of a column are. Panels are dense.
struct Panel {
  const double *data;
  bool contiguousRows;
};

/// C += A * B with dense panels; C is m x n, its rows `stride` apart.
using ProductKernel = void (*)(Panel a, Panel b, double *c, int64_t stride,
                               int64_t m, int64_t n, int64_t k);

// One source, compiled for three levels of x86-64 (elsewhere only the first).
void productKernelBase(Panel, Panel, double *, int64_t, int64_t, int64_t,
                       int64_t);
void productKernelAvx2(Panel, Panel, double *, int64_t, int64_t, int64_t,
                       int64_t);
void productKernelAvx512(Panel, Panel, double *, int64_t, int64_t, int64_t,
                         int64_t);

/// The fastest kernel that this processor runs.
ProductKernel chooseProductKernel();

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_PRODUCTKERNEL_H
