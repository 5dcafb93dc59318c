// The f32 example to launches: two. The first computes the gradient at the
// activation with its column sum, and the weight gradient that does not wait for
// it with the sum of its operand; the second what multiplies the first's result.
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --backfuse-graph-to-launches | FileCheck %s --implicit-check-not=mlp.matmul --implicit-check-not=mlp.gelu
// CHECK: mlp.graph @mlp_gelu_backward(
// CHECK: %[[FIRST:.*]]:4 = mlp.launch
// CHECK: mlp.fused m = S, n = 3584
// CHECK: math.tanh
// CHECK: mlp.fused_yield {{.*}}sum_m
// CHECK: mlp.fused m = 1280, n = 3584
// CHECK: sum_k a0
// CHECK: mlp.launch
// CHECK: acc0 += %[[FIRST]]#{{[0-9]}}[m, k]
// CHECK: acc0 += %[[FIRST]]#{{[0-9]}}[k, m]
// CHECK-NOT: mlp.launch {{.*}}{
// CHECK: mlp.output
