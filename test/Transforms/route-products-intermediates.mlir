// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products))' | FileCheck %s

// What only products read is stored as their copies in place of f32: the high part
// rounded, the low part from what is left. It is not converted by a kernel.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!h = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @split
mlp.graph @split(%x: !x "x", %w: tensor<64x96xf32> "w", %v: tensor<96x64xf32> "v") {
  // CHECK-DAG: %[[V:.*]]:2 = mlp.convert %v
  // CHECK: %[[H:.*]]:2 = mlp.launch -> tensor<?x96xbf16, #mlp.dims<T, _>>, tensor<?x96xbf16, #mlp.dims<T, _>> {
  // CHECK: ^bb0(%[[ACC:.*]]: f32):
  // CHECK: %[[VALUE:.*]] = mlp.relu %[[ACC]] : f32
  // CHECK: %[[LOWER:.*]] = arith.maximumf %[[VALUE]], %cst
  // CHECK-NEXT: %[[FINITE:.*]] = arith.minimumf %[[LOWER]], %cst
  // CHECK-NEXT: %[[HIGH:.*]] = arith.truncf %[[FINITE]] : f32 to bf16
  // CHECK-NEXT: %[[BACK:.*]] = arith.extf %[[HIGH]] : bf16 to f32
  // CHECK-NEXT: %[[REST:.*]] = arith.subf %[[VALUE]], %[[BACK]] : f32
  // CHECK-NEXT: %[[LOW:.*]] = arith.truncf %[[REST]] : f32 to bf16
  // CHECK-NEXT: mlp.fused_yield store %[[HIGH]] : bf16, store %[[LOW]] : bf16
  // CHECK-NOT: mlp.convert
  // CHECK: acc0 += %[[H]]#0[m, k] * %[[V]]#0[k, n]
  // CHECK-NEXT: acc0 += %[[H]]#0[m, k] * %[[V]]#1[k, n]
  // CHECK-NEXT: acc0 += %[[H]]#1[m, k] * %[[V]]#0[k, n]
  // CHECK-NEXT: -> tensor<?x64xf32, #mlp.dims<T, _>> {
  %d = mlp.matmul %x, %w precision tf32 : !x, tensor<64x96xf32> -> !h
  %h = mlp.relu %d : !h
  %y = mlp.matmul %h, %v precision tf32 : !h, tensor<96x64xf32> -> !x
  mlp.output %y "y" : !x
}

// -----

// Two products in two forms: the copies of both, each once.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!h = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @two_forms
mlp.graph @two_forms(%x: !x "x", %w: tensor<64x96xf32> "w", %v: tensor<96x64xf32> "v") {
  // CHECK: %[[H:.*]]:3 = mlp.launch -> tensor<?x96xf16, #mlp.dims<T, _>>, tensor<?x96xbf16, #mlp.dims<T, _>>, tensor<?x96xbf16, #mlp.dims<T, _>> {
  // CHECK: mlp.launch
  // CHECK: acc0 += %[[H]]#0[m, k]
  // CHECK-NEXT: ->
  // CHECK: acc0 += %{{.*}}[k, m] * %[[H]]#1[k, n]
  // CHECK-NEXT: acc0 += %{{.*}}[k, m] * %[[H]]#2[k, n]
  // CHECK-NEXT: acc0 += %{{.*}}[k, m] * %[[H]]#1[k, n]
  // CHECK-NEXT: ->
  %h = mlp.matmul %x, %w precision fp16 : !x, tensor<64x96xf32> -> !h
  %y = mlp.matmul %h, %v precision fp16 : !h, tensor<96x64xf32> -> !x
  %g = mlp.matmul %x, %h contract [T] precision bf16x3 : !x, !h -> tensor<64x96xf32>
  mlp.output %y "y", %g "g" : !x, tensor<64x96xf32>
}

// -----

// The output reads it, too: the f32 store stays, the copies come after it, and later
// products read the copies.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!h = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @output
mlp.graph @output(%x: !x "x", %w: tensor<64x96xf32> "w", %v: tensor<96x64xf32> "v") {
  // CHECK: %[[H:.*]]:2 = mlp.launch -> tensor<?x96xf32, #mlp.dims<T, _>>, tensor<?x96xf16, #mlp.dims<T, _>> {
  // CHECK: ^bb0(%[[ACC:.*]]: f32):
  // CHECK-NEXT: %[[HALF:.*]] = arith.truncf %[[ACC]] : f32 to f16
  // CHECK-NEXT: mlp.fused_yield store %[[ACC]] : f32, store %[[HALF]] : f16
  // CHECK: %[[Y:.*]] = mlp.launch
  // CHECK: acc0 += %[[H]]#1[m, k] * %{{.*}}[k, n] over k = 96 : tensor<?x96xf16, {{.*}}, tensor<96x64xf16>
  // CHECK-NEXT: ->
  // CHECK: mlp.output %[[Y]] "y", %[[H]]#0 "h"
  %h = mlp.matmul %x, %w precision fp16 : !x, tensor<64x96xf32> -> !h
  %y = mlp.matmul %h, %v precision fp16 : !h, tensor<96x64xf32> -> !x
  mlp.output %y "y", %h "h" : !x, !h
}

// -----

// An element operand and a column sum read the f32 values, not the copies.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!h = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @element_operand
mlp.graph @element_operand(%x: !x "x", %w: tensor<64x96xf32> "w", %v: tensor<96x96xf32> "v") {
  // CHECK: %[[H:.*]]:4 = mlp.launch -> tensor<96xf32>, tensor<?x96xf32, #mlp.dims<T, _>>, tensor<?x96xbf16, #mlp.dims<T, _>>, tensor<?x96xbf16, #mlp.dims<T, _>> {
  // CHECK: ^bb0(%[[ACC:.*]]: f32):
  // CHECK: mlp.fused_yield sum_m %[[ACC]] : f32, store %[[ACC]] : f32, store %{{.*}} : bf16, store %{{.*}} : bf16
  // CHECK: mlp.launch
  // CHECK: acc0 += %[[H]]#2[m, k]
  // CHECK: acc0 += %[[H]]#2[m, k]
  // CHECK: acc0 += %[[H]]#3[m, k]
  // CHECK-NEXT: with %[[H]]#1[m, n] : tensor<?x96xf32, #mlp.dims<T, _>>
  // CHECK: mlp.output %{{.*}} "y", %[[H]]#0 "s"
  %h = mlp.matmul %x, %w precision bf16x3 : !x, tensor<64x96xf32> -> !h
  %d = mlp.matmul %h, %v precision bf16x3 : !h, tensor<96x96xf32> -> !h
  %y = arith.mulf %d, %h : !h
  %s = mlp.sum %h over [T] : !h -> tensor<96xf32>
  mlp.output %y "y", %s "s" : !h, tensor<96xf32>
}
