// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products))' | FileCheck %s
// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products{precision=bf16}))' | FileCheck %s --check-prefix=BF16 --implicit-check-not=xf16 --implicit-check-not='acc0 {{.*}}f32'
// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products{precision=tf32}))' | FileCheck %s --check-prefix=TF32 --implicit-check-not=xf16 --implicit-check-not='acc0 {{.*}}f32'

// fp16: one copy of each operand, one product of copies. The accumulator and the
// result stay f32.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @fp16
// BF16-LABEL: mlp.graph @fp16
// TF32-LABEL: mlp.graph @fp16
mlp.graph @fp16(%x: !x "x", %w: tensor<64x96xf32> "w") {
  // CHECK-DAG: %[[X:.*]] = mlp.convert %x : tensor<?x64xf32, #mlp.dims<T, _>> -> tensor<?x64xf16, #mlp.dims<T, _>>
  // CHECK-DAG: %[[W:.*]] = mlp.convert %w : tensor<64x96xf32> -> tensor<64x96xf16>
  // CHECK: mlp.fused m = T, n = 96
  // CHECK-NEXT: acc0 += %[[X]][m, k] * %[[W]][k, n] over k = 64 : tensor<?x64xf16, #mlp.dims<T, _>>, tensor<64x96xf16>
  // CHECK-NEXT: -> tensor<?x96xf32, #mlp.dims<T, _>> {
  // CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32):
  // CHECK-NEXT: mlp.fused_yield store %[[ACC]] : f32
  // The option overrides what the product asks for.
  // BF16: acc0 += {{.*}} : tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<64x96xbf16>
  // BF16-NEXT: ->
  // TF32-COUNT-3: acc0 += {{.*}} : tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<64x96xbf16>
  // TF32-NEXT: ->
  %y = mlp.matmul %x, %w precision fp16 : !x, tensor<64x96xf32> -> !y
  mlp.output %y "y" : !y
}

// -----

// bf16: the same with another type.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @bf16
mlp.graph @bf16(%x: !x "x", %w: tensor<64x96xf32> "w") {
  // CHECK-DAG: %[[X:.*]] = mlp.convert %x : tensor<?x64xf32, #mlp.dims<T, _>> -> tensor<?x64xbf16, #mlp.dims<T, _>>
  // CHECK-DAG: %[[W:.*]] = mlp.convert %w : tensor<64x96xf32> -> tensor<64x96xbf16>
  // CHECK: acc0 += %[[X]][m, k] * %[[W]][k, n] over k = 64 : tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<64x96xbf16>
  // CHECK-NEXT: ->
  %y = mlp.matmul %x, %w precision bf16 : !x, tensor<64x96xf32> -> !y
  mlp.output %y "y" : !y
}

// -----

// bf16x3: two parts of each operand; high x high, high x low, low x high, in this
// order, into one accumulator. All three keep the product's place in the op list.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @bf16x3
mlp.graph @bf16x3(%x: !x "x", %w: tensor<64x96xf32> "w") {
  // CHECK-DAG: %[[X:.*]]:2 = mlp.convert %x : tensor<?x64xf32, #mlp.dims<T, _>> -> tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<?x64xbf16, #mlp.dims<T, _>>
  // CHECK-DAG: %[[W:.*]]:2 = mlp.convert %w : tensor<64x96xf32> -> tensor<64x96xbf16>, tensor<64x96xbf16>
  // CHECK: mlp.fused m = T, n = 96
  // CHECK-NEXT: acc0 += %[[X]]#0[m, k] * %[[W]]#0[k, n] over k = 64, op_index = 7 : {{.*}}x64xbf16
  // CHECK-NEXT: acc0 += %[[X]]#0[m, k] * %[[W]]#1[k, n] over k = 64, op_index = 7 : {{.*}}x64xbf16
  // CHECK-NEXT: acc0 += %[[X]]#1[m, k] * %[[W]]#0[k, n] over k = 64, op_index = 7 : {{.*}}x64xbf16
  // CHECK-NEXT: -> tensor<?x96xf32, #mlp.dims<T, _>> {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32):
  // BF16: acc0
  // BF16-NEXT: ->
  %y = mlp.matmul %x, %w precision bf16x3 {mlp.op_index = 7} : !x, tensor<64x96xf32> -> !y
  mlp.output %y "y" : !y
}

// -----

// tf32 keeps its promise by the same route, whatever the layouts.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @tf32
mlp.graph @tf32(%x: !x "x", %y: !y "y") {
  // CHECK-DAG: %[[X:.*]]:2 = mlp.convert %x
  // CHECK-DAG: %[[Y:.*]]:2 = mlp.convert %y
  // CHECK: acc0 += %[[X]]#0[k, m] * %[[Y]]#0[k, n] over k = T : {{.*}}bf16
  // CHECK-NEXT: acc0 += %[[X]]#0[k, m] * %[[Y]]#1[k, n] over k = T : {{.*}}bf16
  // CHECK-NEXT: acc0 += %[[X]]#1[k, m] * %[[Y]]#0[k, n] over k = T : {{.*}}bf16
  // CHECK-NEXT: ->
  %w = mlp.matmul %x, %y contract [T] precision tf32 : !x, !y -> tensor<64x96xf32>
  mlp.output %w "w" : tensor<64x96xf32>
}

// -----

// An operand that is exact in bf16 has no low part: two products, and no copy of it.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @exact_operand
// BF16-LABEL: mlp.graph @exact_operand
mlp.graph @exact_operand(%x: !x "x", %w: tensor<64x96xbf16> "w") {
  // CHECK: %[[X:.*]]:2 = mlp.convert %x
  // CHECK-NOT: mlp.convert
  // CHECK: acc0 += %[[X]]#0[m, k] * %w[k, n] over k = 64 : {{.*}}bf16
  // CHECK-NEXT: acc0 += %[[X]]#1[m, k] * %w[k, n] over k = 64 : {{.*}}bf16
  // CHECK-NEXT: ->
  // BF16: %[[X:.*]] = mlp.convert %x
  // BF16: acc0 += %[[X]][m, k] * %w[k, n]
  // BF16-NEXT: ->
  %wide = arith.extf %w : tensor<64x96xbf16> to tensor<64x96xf32>
  %y = mlp.matmul %x, %wide precision tf32 : !x, tensor<64x96xf32> -> !y
  mlp.output %y "y" : !y
}

// -----

// An input is copied once per form, not per product: x is read by three products in
// two forms.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x64xbf16, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @once
mlp.graph @once(%x: !x "x", %u: tensor<64x64xf32> "u", %v: tensor<64x64xf32> "v", %w: tensor<64x64xf32> "w") {
  // CHECK: %[[HALF:.*]] = mlp.convert %x : {{.*}} -> tensor<?x64xf16
  // CHECK: %[[PARTS:.*]]:2 = mlp.convert %x : {{.*}} -> tensor<?x64xbf16
  // CHECK-NOT: mlp.convert %x
  // CHECK: mlp.launch
  // CHECK: acc0 += %[[HALF]][m, k]
  // CHECK: acc0 += %[[HALF]][m, k]
  // CHECK: acc0 += %[[PARTS]]#0[m, k]
  // TF32-LABEL: mlp.graph @once
  // TF32: mlp.convert %x
  // TF32-NOT: mlp.convert %x
  // TF32: mlp.output
  %a = mlp.matmul %x, %u precision fp16 : !x, tensor<64x64xf32> -> !y
  %b = mlp.matmul %x, %v precision fp16 : !x, tensor<64x64xf32> -> !y
  %c = mlp.matmul %x, %w precision bf16x3 : !x, tensor<64x64xf32> -> !y
  mlp.output %a "a", %b "b", %c "c" : !y, !y, !y
}

// -----

// Products of 16-bit operands stay as they are, f16 ones even when the option says
// bf16, and so do f32 element operands.
!x = tensor<?x64xbf16, #mlp.dims<T, _>>
!y = tensor<?x96xbf16, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @native
mlp.graph @native(%x: !x "x", %w: tensor<64x96xbf16> "w", %e: tensor<?x96xf32, #mlp.dims<T, _>> "e") {
  // CHECK-NEXT: %[[L:.*]]:3 = mlp.launch -> tensor<?x96xbf16, #mlp.dims<T, _>>, tensor<64x64xbf16>, tensor<64xbf16> {
  // CHECK-NEXT: mlp.fused m = T, n = 96
  // CHECK-NEXT: acc0 += %x[m, k] * %w[k, n] over k = 64 : tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<64x96xbf16>
  // CHECK-NEXT: with %e[m, n] : tensor<?x96xf32, #mlp.dims<T, _>>
  // CHECK: mlp.fused m = 64, n = 64
  // CHECK-NEXT: acc0 += %x[k, m] * %x[k, n] over k = T :
  // CHECK-NEXT: sum_k a0
  // CHECK: mlp.output %[[L]]#0 "y", %[[L]]#2 "s", %[[L]]#1 "g"
  %d = mlp.matmul %x, %w : !x, tensor<64x96xbf16> -> !y
  %wide = arith.extf %d : !y to tensor<?x96xf32, #mlp.dims<T, _>>
  %p = arith.mulf %wide, %e : tensor<?x96xf32, #mlp.dims<T, _>>
  %y = arith.truncf %p : tensor<?x96xf32, #mlp.dims<T, _>> to !y
  %g = mlp.matmul %x, %x contract [T] : !x, !x -> tensor<64x64xbf16>
  %s = mlp.sum %x over [T] : !x -> tensor<64xbf16>
  mlp.output %y "y", %s "s", %g "g" : !y, tensor<64xbf16>, tensor<64x64xbf16>
}
