// RUN: kernel-opt %s -backfuse-number-ops | FileCheck %s

// A product's index is its place in the block, whatever stands between.
// CHECK-LABEL: mlp.graph @products
// CHECK: mlp.matmul %x, %w {mlp.op_index = 0 : i64} :
// CHECK: mlp.relu %{{[0-9]+}} :
// CHECK: mlp.matmul %{{.*}}, %w transpose_b {mlp.op_index = 3 : i64} :
mlp.graph @products(%x: tensor<?x40xbf16, #mlp.dims<S, _>> "x", %w: tensor<40x24xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16, #mlp.dims<S, _>>, tensor<40x24xbf16> -> tensor<?x24xbf16, #mlp.dims<S, _>>
  %1 = arith.constant 1.0 : f32
  %2 = mlp.relu %0 : tensor<?x24xbf16, #mlp.dims<S, _>>
  %3 = mlp.matmul %2, %w transpose_b : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<40x24xbf16> -> tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %3 "y" : tensor<?x40xbf16, #mlp.dims<S, _>>
}
