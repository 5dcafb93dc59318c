// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products))' | FileCheck %s

// The sums that rode on f32 inputs are taken where these are copied, from their own
// values, once per input although y is copied in one form and x in two.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @inputs
mlp.graph @inputs(%x: !x "x", %y: !y "y", %w: tensor<64x96xf32> "w") {
  // CHECK-DAG: %[[X:.*]]:2 = mlp.convert %x sum : {{.*}} -> tensor<?x64xf16, #mlp.dims<T, _>>, tensor<64xf32>
  // CHECK-DAG: %{{.*}}:2 = mlp.convert %x : {{.*}} -> tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<?x64xbf16, #mlp.dims<T, _>>
  // CHECK-DAG: %[[Y:.*]]:2 = mlp.convert %y sum : {{.*}} -> tensor<?x96xf16, #mlp.dims<T, _>>, tensor<96xf32>
  // CHECK: mlp.launch
  // CHECK-NOT: sum_k
  // CHECK: mlp.output %{{.*}} "g", %{{.*}} "d", %[[X]]#1 "sx", %[[Y]]#1 "sy"
  %g = mlp.matmul %x, %y contract [T] precision fp16 : !x, !y -> tensor<64x96xf32>
  %d = mlp.matmul %x, %w precision tf32 : !x, tensor<64x96xf32> -> !y
  %sx = mlp.sum %x over [T] : !x -> tensor<64xf32>
  %sy = mlp.sum %y over [T] : !y -> tensor<96xf32>
  mlp.output %g "g", %d "d", %sx "sx", %sy "sy" : tensor<64x96xf32>, !y, tensor<64xf32>, tensor<96xf32>
}

// -----

// A sum that is output in bf16 keeps that type.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @rounded
mlp.graph @rounded(%x: !x "x", %y: !y "y") {
  // CHECK: %[[X:.*]]:2 = mlp.convert %x sum : {{.*}} -> tensor<?x64xf16, #mlp.dims<T, _>>, tensor<64xbf16>
  // CHECK: mlp.output %{{.*}} "g", %[[X]]#1 "s" : tensor<64x96xf32>, tensor<64xbf16>
  %g = mlp.matmul %x, %y contract [T] precision fp16 : !x, !y -> tensor<64x96xf32>
  %s = mlp.sum %x over [T] : !x -> tensor<64xf32>
  %r = arith.truncf %s : tensor<64xf32> to tensor<64xbf16>
  mlp.output %g "g", %r "s" : tensor<64x96xf32>, tensor<64xbf16>
}

// -----

// The sum of a 16-bit operand stays where it is; its contraction has another number
// once the one before it became two.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xbf16, #mlp.dims<T, _>>
!w = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @narrow_operand
mlp.graph @narrow_operand(%x: !x "x", %y: !y "y", %z: !y "z") {
  // CHECK: %[[X:.*]]:2 = mlp.convert %x :
  // CHECK: acc0 += %[[X]]#0[k, m] * %y[k, n]
  // CHECK-NEXT: acc0 += %[[X]]#1[k, m] * %y[k, n]
  // CHECK-NEXT: acc0 += %[[X]]#0[k, m] * %z[k, n]
  // CHECK-NEXT: acc0 += %[[X]]#1[k, m] * %z[k, n]
  // CHECK-NEXT: sum_k b2
  // CHECK-NEXT: -> tensor<64x96xf32>, tensor<96xf32> {
  %yw = arith.extf %y : !y to !w
  %zw = arith.extf %z : !y to !w
  %a = mlp.matmul %x, %yw contract [T] precision tf32 : !x, !w -> tensor<64x96xf32>
  %b = mlp.matmul %x, %zw contract [T] precision tf32 : !x, !w -> tensor<64x96xf32>
  %g = arith.addf %a, %b : tensor<64x96xf32>
  %s = mlp.sum %zw over [T] : !w -> tensor<96xf32>
  mlp.output %g "g", %s "s" : tensor<64x96xf32>, tensor<96xf32>
}
