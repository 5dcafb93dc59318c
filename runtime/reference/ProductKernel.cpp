//===- ProductKernel.cpp - Products of f64 panels by Eigen ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled several times with different instruction sets: BACKFUSE_KERNEL_LEVEL
// names the level. Each copy puts Eigen into a namespace of its own, or else
// the linker would merge inline functions that were compiled for different
// processors. Nothing else with external linkage may be instantiated here.
//===----------------------------------------------------------------------===//
#define BACKFUSE_CONCAT2(a, b) a##b
#define BACKFUSE_CONCAT(a, b) BACKFUSE_CONCAT2(a, b)
#define Eigen BACKFUSE_CONCAT(EigenFor, BACKFUSE_KERNEL_LEVEL)
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#define EIGEN_NO_IO
#include <Eigen/Core>

#include "ProductKernel.h"

template <int orderA, int orderB>
static void multiply(const double *a, const double *b, double *c,
                     int64_t stride, int64_t m, int64_t n, int64_t k) {
  using MatrixA = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, orderA>;
  using MatrixB = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, orderB>;
  using MatrixC =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<const MatrixA> mapA(a, m, k);
  Eigen::Map<const MatrixB> mapB(b, k, n);
  Eigen::Map<MatrixC, 0, Eigen::OuterStride<>> mapC(
      c, m, n, Eigen::OuterStride<>(stride));
  mapC.noalias() += mapA * mapB;
}

void backfuse::reference::BACKFUSE_CONCAT(productKernel, BACKFUSE_KERNEL_LEVEL)(
    Panel a, Panel b, double *c, int64_t stride, int64_t m, int64_t n,
    int64_t k) {
  constexpr int rows = Eigen::RowMajor, columns = Eigen::ColMajor;
  if (a.contiguousRows && b.contiguousRows)
    multiply<rows, rows>(a.data, b.data, c, stride, m, n, k);
  else if (a.contiguousRows)
    multiply<rows, columns>(a.data, b.data, c, stride, m, n, k);
  else if (b.contiguousRows)
    multiply<columns, rows>(a.data, b.data, c, stride, m, n, k);
  else
    multiply<columns, columns>(a.data, b.data, c, stride, m, n, k);
}
