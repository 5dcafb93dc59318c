// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches))' | FileCheck %s

// Rows, columns and parameters are read as such; what is computed from them before
// the broadcast is computed per element.
!x = tensor<?x?x16xf32, #mlp.dims<B, S, _>>
!y = tensor<?x?x32xf32, #mlp.dims<B, S, _>>
!c = tensor<?x?xf32, #mlp.dims<B, S>>
// CHECK-LABEL: mlp.graph @kinds
mlp.graph @kinds(%x: !x "x", %w: tensor<16x32xf32> "w", %row: tensor<32xf16> "row",
                 %column: !c "column", %alpha: f32 "alpha", %flag: i1 "flag") {
  // CHECK: mlp.fused m = B*S, n = 32
  // CHECK: with %alpha[], %column[m], %row[n] : f32, tensor<?x?xf32, #mlp.dims<B, S>>, tensor<32xf16>
  // CHECK: ^bb0(%[[ACC:.*]]: f32, %[[A:.*]]: f32, %[[C:.*]]: f32, %[[R:.*]]: f16):
  // CHECK-NEXT: %[[A2:.*]] = arith.mulf %[[A]], %[[A]] : f32
  // CHECK-NEXT: %[[D:.*]] = arith.mulf %[[ACC]], %[[A2]] : f32
  // CHECK-NEXT: %[[E:.*]] = arith.addf %[[D]], %[[C]] : f32
  // CHECK-NEXT: %[[RE:.*]] = math.exp %[[R]] : f16
  // CHECK-NEXT: %[[RF:.*]] = arith.extf %[[RE]] : f16 to f32
  // CHECK-NEXT: %[[O:.*]] = arith.subf %[[E]], %[[RF]] : f32
  %alpha2 = arith.mulf %alpha, %alpha : f32
  %as = mlp.broadcast %alpha2 : f32 -> !y
  %cs = mlp.broadcast %column dims = [0, 1] : !c -> !y
  %re = math.exp %row : tensor<32xf16>
  %rf = arith.extf %re : tensor<32xf16> to tensor<32xf32>
  %rs = mlp.broadcast %rf : tensor<32xf32> -> !y
  %d = mlp.matmul %x, %w precision tf32 : !x, tensor<16x32xf32> -> !y
  %e = arith.mulf %d, %as : !y
  %f = arith.addf %e, %cs : !y
  %o = arith.subf %f, %rs : !y
  mlp.output %o "o" : !y
}

// -----

// Reshapes vanish: operands and results keep the graph's shapes.
!x = tensor<?x?x16xf32, #mlp.dims<B, S, _>>
!y = tensor<?x?x32xf32, #mlp.dims<B, S, _>>
!fx = tensor<?x16xf32, #mlp.dims<B*S, _>>
!fy = tensor<?x32xf32, #mlp.dims<B*S, _>>
// CHECK-LABEL: mlp.graph @reshapes
mlp.graph @reshapes(%x: !x "x", %w: tensor<16x32xf32> "w", %z: !y "z") {
  // CHECK: mlp.launch -> tensor<?x?x32xf32, #mlp.dims<B, S, _>>, tensor<16x32xf32> {
  // CHECK: mlp.fused m = B*S, n = 32
  // CHECK-NEXT: acc0 += %x[m, k] * %w[k, n] over k = 16, {{.*}} : tensor<?x?x16xf32
  // CHECK-NEXT: with %z[m, n] : tensor<?x?x32xf32
  // CHECK-NEXT: -> tensor<?x?x32xf32, #mlp.dims<B, S, _>> {
  // CHECK: mlp.fused m = 16, n = 32
  // CHECK-NEXT: acc0 += %x[k, m] * %z[k, n] over k = B*S
  // CHECK-NOT: mlp.collapse
  // CHECK-NOT: mlp.expand
  %fx = mlp.collapse %x [B, S] : !x -> !fx
  %fz = mlp.collapse %z [B, S] : !y -> !fy
  %d = mlp.matmul %fx, %w precision tf32 : !fx, tensor<16x32xf32> -> !fy
  %e = arith.mulf %d, %fz : !fy
  %o = mlp.expand %e [B, S] : !fy -> !y
  %gw = mlp.matmul %fx, %fz contract [B*S] precision tf32 : !fx, !fy -> tensor<16x32xf32>
  mlp.output %o "o", %gw "gw" : !y, tensor<16x32xf32>
}

// -----

// A product repeated along a new axis is stored and read as a whole by the epilogue
// of another space, as a row where its axes are the last ones.
// CHECK-LABEL: mlp.graph @repeated
mlp.graph @repeated(%a: tensor<4x16xf32> "a", %b: tensor<16x8xf32> "b",
                    %x: tensor<?x16xf32, #mlp.dims<T, _>> "x", %w: tensor<16x4x8xf32> "w") {
  // CHECK: %[[P:.*]] = mlp.launch -> tensor<4x8xf32> {
  // CHECK: mlp.fused m = T, n = 32
  // CHECK: with %[[P]][n] : tensor<4x8xf32>
  %p = mlp.matmul %a, %b precision tf32 : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %d = mlp.matmul %x, %w precision tf32 : tensor<?x16xf32, #mlp.dims<T, _>>, tensor<16x4x8xf32> -> tensor<?x4x8xf32, #mlp.dims<T, _, _>>
  %r = mlp.broadcast %p : tensor<4x8xf32> -> tensor<?x4x8xf32, #mlp.dims<T, _, _>>
  %o = arith.addf %d, %r : tensor<?x4x8xf32, #mlp.dims<T, _, _>>
  mlp.output %o "o" : tensor<?x4x8xf32, #mlp.dims<T, _, _>>
}
