// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches))' | FileCheck %s

// Two products of one space that meet have an accumulator each in one fused op
// (workload 048). Its B operands are K-major.
!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @two_accumulators
mlp.graph @two_accumulators(%x: !x "x", %wg: tensor<32x16xbf16> "wg", %wu: tensor<32x16xbf16> "wu") {
  // CHECK: mlp.fused m = T, n = 32
  // CHECK-NEXT: acc0 += %x[m, k] * %wg[n, k] over k = 16 :
  // CHECK-NEXT: acc1 += %x[m, k] * %wu[n, k] over k = 16 :
  // CHECK: ^bb0(%[[ACC0:.*]]: f32, %[[ACC1:.*]]: f32):
  // CHECK: %[[G:.*]] = arith.truncf %[[ACC0]]
  // CHECK: %[[A:.*]] = mlp.gelu %[[G]] form = tanh : bf16
  // CHECK: %[[U:.*]] = arith.truncf %[[ACC1]]
  // CHECK: arith.mulf %[[A]], %[[U]] : bf16
  // CHECK-NOT: mlp.fused m
  // CHECK: mlp.output
  %g = mlp.matmul %x, %wg transpose_b : !x, tensor<32x16xbf16> -> !y
  %u = mlp.matmul %x, %wu transpose_b : !x, tensor<32x16xbf16> -> !y
  %a = mlp.gelu %g form = tanh : !y
  %o = arith.mulf %a, %u : !y
  mlp.output %o "o" : !y
}

// -----

// Three f32 products that are only added share an accumulator (017's grad_x).
!x = tensor<?x16xf32, #mlp.dims<T, _>>
!y = tensor<?x32xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @one_accumulator
mlp.graph @one_accumulator(%x: !x "x", %z: !x "z", %w: tensor<16x32xf32> "w") {
  // CHECK: mlp.fused m = T, n = 32
  // CHECK-NEXT: acc0 += %x[m, k] * %w[k, n]
  // CHECK-NEXT: acc0 += %z[m, k] * %w[k, n]
  // CHECK-NEXT: acc0 += %x[m, k] * %w[k, n]
  // CHECK: ^bb0(%[[ACC:.*]]: f32):
  // CHECK-NEXT: mlp.fused_yield store %[[ACC]] : f32
  %a = mlp.matmul %x, %w precision tf32 : !x, tensor<16x32xf32> -> !y
  %b = mlp.matmul %z, %w precision tf32 : !x, tensor<16x32xf32> -> !y
  %c = mlp.matmul %x, %w precision bf16x3 : !x, tensor<16x32xf32> -> !y
  %ab = arith.addf %a, %b : !y
  %abc = arith.addf %ab, %c : !y
  mlp.output %abc "o" : !y
}

// -----

// Not when a product is needed by itself, nor when it is rounded before the sum.
!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
!f = tensor<?x32xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @own_accumulators
mlp.graph @own_accumulators(%x: !x "x", %w: tensor<16x32xbf16> "w") {
  // CHECK: acc0 +=
  // CHECK: acc1 +=
  // CHECK: acc2 +=
  // CHECK: acc3 +=
  // CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[C:.*]]: f32, %[[D:.*]]: f32):
  // CHECK: %[[AB:.*]] = arith.addf %[[A]], %[[B]] : f32
  // CHECK: %[[CR:.*]] = arith.truncf %[[C]] : f32 to bf16
  // CHECK: %[[DR:.*]] = arith.truncf %[[D]] : f32 to bf16
  // CHECK: %[[CD:.*]] = arith.addf %[[CR]], %[[DR]] : bf16
  %a = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !f
  %b = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !f
  %c = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !y
  %d = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !y
  %ab = arith.addf %a, %b : !f
  %cd = arith.addf %c, %d : !y
  %cdf = arith.extf %cd : !y to !f
  %o = arith.mulf %ab, %cdf : !f
  mlp.output %o "o", %a "a" : !f, !f
}

// -----

// Two products of one space of which one depends on the other stay apart: the first
// is stored, rounded to its type, and read by the epilogue of the second.
!x = tensor<?x16xbf16, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @dependent
mlp.graph @dependent(%x: !x "x", %w: tensor<16x16xbf16> "w") {
  // CHECK: %[[D:.*]] = mlp.launch
  // CHECK: acc0 += %x[m, k] * %w[k, n]
  // CHECK: mlp.launch
  // CHECK: acc0 += %[[D]][m, k] * %w[k, n]
  // CHECK-NEXT: with %[[D]][m, n] :
  // CHECK: ^bb0(%[[ACC:.*]]: f32, %[[E:.*]]: bf16):
  // CHECK: %[[F:.*]] = arith.truncf %[[ACC]]
  // CHECK: arith.addf %[[E]], %[[F]] : bf16
  %d = mlp.matmul %x, %w : !x, tensor<16x16xbf16> -> !x
  %e = mlp.matmul %d, %w : !x, tensor<16x16xbf16> -> !x
  %o = arith.addf %d, %e : !x
  mlp.output %o "o" : !x
}

// -----

// Two products of one shape but different matrices (rows of 8 and of 32) cannot
// share a fused op either: one is stored and read by the other's epilogue.
!y = tensor<?x4x8xf32, #mlp.dims<T, _, _>>
// CHECK-LABEL: mlp.graph @two_matrices
mlp.graph @two_matrices(%a: tensor<?x4x2xf32, #mlp.dims<T, _, _>> "a", %b: tensor<2x8xf32> "b",
                        %c: tensor<?x6xf32, #mlp.dims<T, _>> "c", %d: tensor<6x4x8xf32> "d") {
  // CHECK: %[[Q:.*]] = mlp.launch
  // CHECK: mlp.fused m = T, n = 32
  // CHECK-NEXT: acc0 += %c[m, k] * %d[k, n]
  // CHECK: mlp.launch
  // CHECK: mlp.fused m = 4*T, n = 8
  // CHECK-NEXT: acc0 += %a[m, k] * %b[k, n]
  // CHECK-NEXT: with %[[Q]][m, n]
  %p = mlp.matmul %a, %b precision tf32 : tensor<?x4x2xf32, #mlp.dims<T, _, _>>, tensor<2x8xf32> -> !y
  %q = mlp.matmul %c, %d precision tf32 : tensor<?x6xf32, #mlp.dims<T, _>>, tensor<6x4x8xf32> -> !y
  %o = arith.addf %p, %q : !y
  mlp.output %o "o" : !y
}

// -----

// A function of an input that two fused ops need is computed in both.
!x = tensor<?x16xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @recomputed
mlp.graph @recomputed(%x: !x "x", %w: tensor<16x16xf32> "w", %z: !x "z") {
  // CHECK: mlp.launch
  // CHECK: with %z[m, n]
  // CHECK: math.tanh
  // CHECK: mlp.launch
  // CHECK: with %z[m, n]
  // CHECK: math.tanh
  %t = math.tanh %z : !x
  %d = mlp.matmul %x, %w precision tf32 : !x, tensor<16x16xf32> -> !x
  %e = arith.mulf %d, %t : !x
  %f = mlp.matmul %e, %w precision tf32 : !x, tensor<16x16xf32> -> !x
  %g = arith.mulf %f, %t : !x
  mlp.output %g "g" : !x
}

// -----

// A function of an input that a product multiplies is computed and stored by an
// earlier product of its space: the recomputed activation of a weight gradient.
!x = tensor<?x16xf32, #mlp.dims<T, _>>
!h = tensor<?x32xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @ride
mlp.graph @ride(%dy: !x "dy", %w: tensor<16x32xf32> "w", %z: !h "z") {
  // CHECK: %[[FIRST:.*]]:2 = mlp.launch
  // CHECK: ^bb0(%[[ACC:.*]]: f32, %[[Z:.*]]: f32):
  // CHECK: %[[T:.*]] = math.tanh %[[Z]] : f32
  // CHECK: mlp.fused_yield store %[[ACC]] : f32, store %[[T]] : f32
  // CHECK: mlp.launch
  // CHECK: acc0 += %dy[k, m] * %[[FIRST]]#1[k, n] over k = T
  %d = mlp.matmul %dy, %w precision tf32 : !x, tensor<16x32xf32> -> !h
  %t = math.tanh %z : !h
  %gw = mlp.matmul %dy, %t contract [T] precision tf32 : !x, !h -> tensor<16x32xf32>
  mlp.output %d "d", %gw "gw" : !h, tensor<16x32xf32>
}

// -----

// What no output needs is dropped.
!x = tensor<?x16xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @dead
mlp.graph @dead(%x: !x "x", %w: tensor<16x16xf32> "w", %v: tensor<16x16xf32> "v") {
  // CHECK-NOT: %v[
  // CHECK: acc0 += %x[m, k] * %w[k, n]
  // CHECK-NOT: acc
  // CHECK: mlp.output
  %d = mlp.matmul %x, %w precision tf32 : !x, tensor<16x16xf32> -> !x
  %e = mlp.matmul %x, %v precision tf32 : !x, tensor<16x16xf32> -> !x
  %f = arith.mulf %e, %d : !x
  mlp.output %d "d" : !x
}
