// With tf32-operands (a target whose tensor cores take f32 from shared memory)
// tf32 products of two f32 operands stay as they are.
// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products{tf32-operands}))' | FileCheck %s
// The option that overrides precisions decides here, too.
// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products{tf32-operands precision=tf32}))' | FileCheck %s --check-prefix=TF32
// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products{tf32-operands precision=fp16}))' | FileCheck %s --check-prefix=FP16

// A product of two inputs, whose column sum stays with it.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @inputs(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32, #mlp.dims<T, _>> "x", %[[Y:.*]]: tensor<?x96xf32, #mlp.dims<T, _>> "y"
// CHECK-NOT: mlp.convert
// CHECK: acc0 += %[[X]][k, m] * %[[Y]][k, n] over k = T, precision = tf32
// CHECK-SAME: : tensor<?x64xf32, #mlp.dims<T, _>>, tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-NEXT: sum_k a0
// FP16-LABEL: mlp.graph @inputs(
// FP16-COUNT-2: mlp.convert
// FP16: acc0 += {{.*}} : tensor<?x64xf16, #mlp.dims<T, _>>, tensor<?x96xf16, #mlp.dims<T, _>>
mlp.graph @inputs(%x: !x "x", %y: !y "y") {
  %w = mlp.matmul %x, %y contract [T] precision tf32 : !x, !y -> tensor<64x96xf32>
  %b = mlp.sum %x over [T] : !x -> tensor<64xf32>
  mlp.output %w "w", %b "b" : tensor<64x96xf32>, tensor<64xf32>
}

// -----

// A product of another precision beside it has its copies; what both read is
// stored as f32 and as a copy.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @both(
// CHECK: mlp.convert %{{.*}} : tensor<64x64xf32> -> tensor<64x64xf16>
// CHECK: %[[H:.*]]:2 = mlp.launch -> tensor<?x64xf32, #mlp.dims<T, _>>, tensor<?x64xf16, #mlp.dims<T, _>>
// CHECK: precision = tf32
// CHECK: arith.truncf
// CHECK: mlp.fused_yield store %{{.*}} : f32, store %{{.*}} : f16
// CHECK-DAG: acc0 += %[[H]]#0[m, k] * %{{.*}}[k, n] over k = 64, precision = tf32
// CHECK-DAG: acc0 += %[[H]]#1[m, k] * %{{.*}}[k, n] over k = 64 : tensor<?x64xf16
// TF32-LABEL: mlp.graph @both(
// TF32-NOT: mlp.convert
// TF32-COUNT-3: precision = tf32
mlp.graph @both(%x: !x "x", %u: tensor<64x64xf32> "u", %v: tensor<64x64xf32> "v", %w: tensor<64x64xf32> "w") {
  %h = mlp.matmul %x, %u precision tf32 : !x, tensor<64x64xf32> -> !x
  %y = mlp.matmul %h, %v precision tf32 : !x, tensor<64x64xf32> -> !x
  %z = mlp.matmul %h, %w precision fp16 : !x, tensor<64x64xf32> -> !x
  mlp.output %y "y", %z "z" : !x, !x
}
