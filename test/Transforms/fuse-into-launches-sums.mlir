// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches))' | FileCheck %s

// A sum of a rounded product adds the rounded values, in f32. The sum need not be of
// a stored value.
!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @of_rounded
mlp.graph @of_rounded(%x: !x "x", %w: tensor<16x32xbf16> "w") {
  // CHECK: acc0
  // CHECK-NEXT: -> tensor<?x32xbf16, #mlp.dims<T, _>>, tensor<32xbf16> {
  // CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32):
  // CHECK-NEXT: %[[D:.*]] = arith.truncf %[[ACC]] : f32 to bf16
  // CHECK-NEXT: %[[P:.*]] = arith.constant 1.0{{.*}} : bf16
  // CHECK-NEXT: %[[E:.*]] = arith.addf %[[D]], %[[P]] : bf16
  // CHECK-NEXT: %[[F:.*]] = arith.extf %[[E]] : bf16 to f32
  // CHECK-NEXT: mlp.fused_yield store %[[D]] : bf16, sum_m %[[F]] : f32
  %c = arith.constant 1.0 : bf16
  %one = mlp.broadcast %c : bf16 -> !y
  %d = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !y
  %e = arith.addf %d, %one : !y
  %s = mlp.sum %e over [T] : !y -> tensor<32xbf16>
  mlp.output %d "y", %s "s" : !y, tensor<32xbf16>
}

// -----

// A truncf of an f32 sum is its one rounding; the sum is there in both types.
!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @rounded_once
mlp.graph @rounded_once(%x: !x "x", %w: tensor<16x32xbf16> "w") {
  // CHECK: mlp.fused
  // CHECK: -> tensor<32xbf16>, tensor<32xf32> {
  // CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32):
  // CHECK-NEXT: mlp.fused_yield sum_m %[[ACC]] : f32, sum_m %[[ACC]] : f32
  %d = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !y
  %s = mlp.sum %d over [T] : !y -> tensor<32xf32>
  %r = arith.truncf %s : tensor<32xf32> to tensor<32xbf16>
  mlp.output %r "r", %s "s" : tensor<32xbf16>, tensor<32xf32>
}

// -----

// Sums of both operands ride in a weight gradient; the cast of B to f32 is exact and
// vanishes, so that B is read as bf16.
!x = tensor<?x16xf32, #mlp.dims<T, _>>
!b = tensor<?x32xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @both_operands
mlp.graph @both_operands(%x: !x "x", %y: !b "y") {
  // CHECK: acc0 += %x[k, m] * %y[k, n] over k = T, precision = bf16x3 : {{.*}}f32{{.*}}, {{.*}}bf16
  // CHECK-NEXT: sum_k b0, a0
  // CHECK-NEXT: -> tensor<16x32xf32>, tensor<32xf32>, tensor<16xf32> {
  %yf = arith.extf %y : !b to !y
  %gw = mlp.matmul %x, %yf contract [T] precision bf16x3 : !x, !y -> tensor<16x32xf32>
  %sy = mlp.sum %yf over [T] : !y -> tensor<32xf32>
  %sx = mlp.sum %x over [T] : !x -> tensor<16xf32>
  mlp.output %gw "gw", %sy "sy", %sx "sx" : tensor<16x32xf32>, tensor<32xf32>, tensor<16xf32>
}

// -----

// Two 16-bit operands need no precision once their casts are gone.
!b = tensor<?x32xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @exact_casts
mlp.graph @exact_casts(%y: !b "y", %w: tensor<32x32xbf16> "w") {
  // CHECK: acc0 += %y[m, k] * %w[k, n] over k = 32 : {{.*}}bf16{{.*}}, tensor<32x32xbf16>
  %yf = arith.extf %y : !b to !y
  %wf = arith.extf %w : tensor<32x32xbf16> to tensor<32x32xf32>
  %d = mlp.matmul %yf, %wf precision ieee : !y, tensor<32x32xf32> -> !y
  mlp.output %d "d" : !y
}

// -----

// A sum that no product contracts is computed in a product of its space, which loads
// the value for it.
!x = tensor<?x16xf32, #mlp.dims<T, _>>
!y = tensor<?x32xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @loaded
mlp.graph @loaded(%x: !x "x", %w: tensor<16x32xf32> "w", %z: !y "z") {
  // CHECK: with %z[m, n]
  // CHECK: ^bb0(%[[ACC:.*]]: f32, %[[Z:.*]]: f32):
  // CHECK: mlp.fused_yield store %[[ACC]] : f32, sum_m %[[Z]] : f32
  %d = mlp.matmul %x, %w precision tf32 : !x, tensor<16x32xf32> -> !y
  %s = mlp.sum %z over [T] : !y -> tensor<32xf32>
  mlp.output %d "d", %s "s" : !y, tensor<32xf32>
}

// -----

// A sum may be a row of a later product's epilogue, and its operand.
!x = tensor<?x16xf32, #mlp.dims<T, _>>
!y = tensor<?x4x8xf32, #mlp.dims<T, _, _>>
// CHECK-LABEL: mlp.graph @read_later
mlp.graph @read_later(%u: !x "u", %w: tensor<16x4x8xf32> "w", %v: tensor<8x4xf32> "v") {
  // CHECK: %[[S:.*]] = mlp.launch -> tensor<4x8xf32> {
  // CHECK: mlp.fused m = T, n = 32
  // CHECK: mlp.fused_yield sum_m %{{.*}} : f32{{$}}
  // CHECK: mlp.launch
  // CHECK: mlp.fused m = 4, n = 4
  // CHECK-NEXT: acc0 += %[[S]][m, k] * %v[k, n] over k = 8
  // CHECK: mlp.fused m = T, n = 32
  // CHECK: with %[[S]][n] : tensor<4x8xf32>
  %d = mlp.matmul %u, %w precision tf32 : !x, tensor<16x4x8xf32> -> !y
  %s = mlp.sum %d over [T] : !y -> tensor<4x8xf32>
  %p = mlp.matmul %s, %v precision tf32 : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %e = mlp.matmul %u, %w precision bf16x3 : !x, tensor<16x4x8xf32> -> !y
  %row = mlp.broadcast %s : tensor<4x8xf32> -> !y
  %o = arith.addf %e, %row : !y
  mlp.output %p "p", %o "o" : tensor<4x4xf32>, !y
}
