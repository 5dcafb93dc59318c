// Kernels count tiles with 32 bits. Where rows that 32 bits hold can make more, the
// plan refuses them: 2^23 tiles of 128 columns, from 257 tiles of 128 rows on.
// RUN: split-file %s %t
// RUN: kernel-opt %t/wide.mlir --emit=plan --target=sm_90a --tuning=%S/Inputs/one-range-of-one.json | FileCheck %s
// CHECK: refused when 1 <= T and 2147483647 < (T ceildiv 128) * 8388608: kernels count tiles of a product with 32 bits, and this one has more; launch it for fewer rows at a time

// Common widths make no such condition.
// RUN: kernel-opt %t/common.mlir --emit=plan --target=sm_90a | FileCheck %s --check-prefix=COMMON
// COMMON: graph common
// COMMON-NOT: refused

//--- wide.mlir
mlp.graph @wide(%x: tensor<?x64xbf16, #mlp.dims<T, _>> "x", %w: tensor<64x1073741824xbf16> "w") {
  %y = mlp.matmul %x, %w : tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<64x1073741824xbf16> -> tensor<?x1073741824xbf16, #mlp.dims<T, _>>
  mlp.output %y "y" : tensor<?x1073741824xbf16, #mlp.dims<T, _>>
}
//--- common.mlir
mlp.graph @common(%x: tensor<?x64xbf16, #mlp.dims<T, _>> "x", %w: tensor<64x8192xbf16> "w") {
  %y = mlp.matmul %x, %w : tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<64x8192xbf16> -> tensor<?x8192xbf16, #mlp.dims<T, _>>
  mlp.output %y "y" : tensor<?x8192xbf16, #mlp.dims<T, _>>
}
