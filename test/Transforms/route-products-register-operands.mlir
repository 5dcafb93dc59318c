// Where the target takes one f32 operand of a product from registers, the other one
// is copied, and which one is chosen by the bytes of all copies.
// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products{register-operands}))' | FileCheck %s
// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products{register-operands precision=bf16}))' | FileCheck %s --check-prefix=BF16
// The option is what makes the difference: without it, no contraction reads f32.
// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products))' | FileCheck %s --check-prefix=COPIES --implicit-check-not='acc{{[01]}} {{.*}}xf32'
// COPIES: mlp.graph @weight

// A weight is smaller than the tokens: it is copied, and A stays f32. The precision
// says how that is rounded.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @weight
// CHECK-NEXT: %[[W:.*]] = mlp.convert %w : tensor<64x96xf32> -> tensor<64x96xf16>
// CHECK-NOT: mlp.convert
// CHECK: acc0 += %x[m, k] * %[[W]][k, n] over k = 64, precision = fp16 : tensor<?x64xf32, #mlp.dims<T, _>>, tensor<64x96xf16>
// CHECK-NEXT: -> tensor<?x96xf32, #mlp.dims<T, _>> {
// BF16-LABEL: mlp.graph @weight
// BF16: acc0 += %x[m, k] * %{{.*}}[k, n] over k = 64, precision = bf16 : tensor<?x64xf32, #mlp.dims<T, _>>, tensor<64x96xbf16>
mlp.graph @weight(%x: !x "x", %w: tensor<64x96xf32> "w") {
  %y = mlp.matmul %x, %w precision fp16 : !x, tensor<64x96xf32> -> !y
  mlp.output %y "y" : !y
}

// -----

// Few rows, a larger weight: B stays f32, in either orientation.
!w = tensor<96x64xf32>
!y = tensor<40x96xf32>
// CHECK-LABEL: mlp.graph @rows
// CHECK-NEXT: %[[X:.*]] = mlp.convert %x : tensor<40x64xf32> -> tensor<40x64xbf16>
// CHECK-NOT: mlp.convert
// CHECK: acc0 += %[[X]][m, k] * %w[n, k] over k = 64, precision = bf16 : tensor<40x64xbf16>, tensor<96x64xf32>
mlp.graph @rows(%x: tensor<40x64xf32> "x", %w: !w "w") {
  %y = mlp.matmul %x, %w transpose_b precision bf16 : tensor<40x64xf32>, !w -> !y
  mlp.output %y "y" : !y
}

// -----

// bf16x3: two products instead of three. The first splits the f32 operand, too; the
// second multiplies the copy's second part by its rounded value.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @bf16x3
// CHECK: %[[W:.*]]:2 = mlp.convert %w : tensor<64x96xf32> -> tensor<64x96xbf16>, tensor<64x96xbf16>
// CHECK: acc0 += %x[m, k] * %[[W]]#0[k, n] over k = 64, precision = bf16x3, op_index = 7 : tensor<?x64xf32, #mlp.dims<T, _>>, tensor<64x96xbf16>
// CHECK-NEXT: acc0 += %x[m, k] * %[[W]]#1[k, n] over k = 64, precision = bf16, op_index = 7 : tensor<?x64xf32, #mlp.dims<T, _>>, tensor<64x96xbf16>
// CHECK-NEXT: ->
// BF16-LABEL: mlp.graph @bf16x3
// BF16: acc0 += {{.*}} precision = bf16, op_index = 7
// BF16-NEXT: ->
mlp.graph @bf16x3(%x: !x "x", %w: tensor<64x96xf32> "w") {
  %y = mlp.matmul %x, %w precision bf16x3 {mlp.op_index = 7} : !x, tensor<64x96xf32> -> !y
  mlp.output %y "y" : !y
}

// -----

// tf32 keeps its promise by the same products; of two activations the narrower one
// is copied, and here that leaves B.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @tf32
// CHECK: %[[X:.*]]:2 = mlp.convert %x
// CHECK-NOT: mlp.convert
// CHECK: acc0 += %[[X]]#0[k, m] * %y[k, n] over k = T, precision = bf16x3 : {{.*}}bf16{{.*}}, tensor<?x96xf32
// CHECK-NEXT: acc0 += %[[X]]#1[k, m] * %y[k, n] over k = T, precision = bf16 : {{.*}}bf16{{.*}}, tensor<?x96xf32
// CHECK-NEXT: ->
mlp.graph @tf32(%x: !x "x", %y: !y "y") {
  %w = mlp.matmul %x, %y contract [T] precision tf32 : !x, !y -> tensor<64x96xf32>
  mlp.output %w "w" : tensor<64x96xf32>
}

// -----

// A column sum is taken by the conversion, so that its operand is copied, though it
// is the wider one; no other copy is needed then.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @sum
// CHECK-NEXT: %[[Y:.*]]:2 = mlp.convert %y sum : {{.*}} -> tensor<?x96xf16, #mlp.dims<T, _>>, tensor<96xf32>
// CHECK-NOT: mlp.convert
// CHECK: acc0 += %x[k, m] * %[[Y]]#0[k, n] over k = T, precision = fp16 : tensor<?x64xf32
// CHECK: mlp.output %{{.*}} "w", %[[Y]]#1 "s"
mlp.graph @sum(%x: !x "x", %y: !y "y") {
  %w = mlp.matmul %x, %y contract [T] precision fp16 : !x, !y -> tensor<64x96xf32>
  %s = mlp.sum %y over [T] : !y -> tensor<96xf32>
  mlp.output %w "w", %s "s" : tensor<64x96xf32>, tensor<96xf32>
}

// -----

// The bytes of all copies decide: two weights are less than x, and x is less than
// y and z.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @weights
// CHECK-DAG: mlp.convert %w
// CHECK-DAG: mlp.convert %v
// CHECK-NOT: mlp.convert %x
// CHECK: mlp.launch
mlp.graph @weights(%x: !x "x", %w: tensor<64x96xf32> "w", %v: tensor<64x96xf32> "v") {
  %y = mlp.matmul %x, %w precision fp16 : !x, tensor<64x96xf32> -> !y
  %z = mlp.matmul %x, %v precision fp16 : !x, tensor<64x96xf32> -> !y
  mlp.output %y "y", %z "z" : !y, !y
}
// CHECK-LABEL: mlp.graph @gradients
// CHECK: %[[X:.*]] = mlp.convert %x
// CHECK-NOT: mlp.convert
// CHECK: acc0 += %[[X]][k, m] * %y[k, n]
// CHECK: acc0 += %[[X]][k, m] * %z[k, n]
mlp.graph @gradients(%x: !x "x", %y: !y "y", %z: !y "z") {
  %w = mlp.matmul %x, %y contract [T] precision fp16 : !x, !y -> tensor<64x96xf32>
  %v = mlp.matmul %x, %z contract [T] precision fp16 : !x, !y -> tensor<64x96xf32>
  mlp.output %w "w", %v "v" : tensor<64x96xf32>, tensor<64x96xf32>
}

// -----

// A tile cannot be both as it is and transposed: where one contraction of a fused
// op would leave A as f32 and another one B, all read copies.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
!z = tensor<?x96xbf16, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @both_sides
// CHECK-DAG: %[[X:.*]] = mlp.convert %x
// CHECK-DAG: %[[W:.*]] = mlp.convert %w
// CHECK-DAG: %[[V:.*]] = mlp.convert %v
// CHECK: acc0 += %[[X]][m, k] * %[[W]][k, n] over k = 64 : tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<64x96xbf16>
// CHECK-NEXT: acc0 += %z[m, k] * %[[V]][k, n] over k = 96 : tensor<?x96xbf16, #mlp.dims<T, _>>, tensor<96x96xbf16>
// CHECK-NEXT: ->
mlp.graph @both_sides(%x: !x "x", %w: tensor<64x96xf32> "w", %z: !z "z", %v: tensor<96x96xf32> "v") {
  %a = mlp.matmul %x, %w precision bf16 : !x, tensor<64x96xf32> -> !y
  %wide = arith.extf %z : !z to !y
  %b = mlp.matmul %wide, %v precision bf16 : !y, tensor<96x96xf32> -> !y
  %s = arith.addf %a, %b : !y
  mlp.output %s "s" : !y
}

// -----

// Beside an operand that is bf16 in the graph nothing is copied; it has no second
// part, so that one product splits the other one.
!y = tensor<?x96xf32, #mlp.dims<T, _>>
!z = tensor<?x96xbf16, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @beside
// CHECK-NOT: mlp.convert
// CHECK: acc0 += %z[m, k] * %v[k, n] over k = 96, precision = bf16x3 : tensor<?x96xbf16, #mlp.dims<T, _>>, tensor<96x96xf32>
// CHECK-NEXT: ->
mlp.graph @beside(%z: !z "z", %v: tensor<96x96xf32> "v") {
  %wide = arith.extf %z : !z to !y
  %a = mlp.matmul %wide, %v precision bf16x3 : !y, tensor<96x96xf32> -> !y
  mlp.output %a "a" : !y
}

// -----

// What a launch computes is stored in the form that products read, whatever its
// size; the weight beside it needs no copy.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @intermediate
// CHECK: mlp.convert %w
// CHECK-NOT: mlp.convert
// CHECK: %[[H:.*]] = mlp.launch -> tensor<?x96xf16, #mlp.dims<T, _>>
// CHECK: acc0 += %[[H]][m, k] * %v[k, n] over k = 96, precision = fp16 : tensor<?x96xf16, #mlp.dims<T, _>>, tensor<96x96xf32>
mlp.graph @intermediate(%x: !x "x", %w: tensor<64x96xf32> "w", %v: tensor<96x96xf32> "v") {
  %y = mlp.matmul %x, %w precision fp16 : !x, tensor<64x96xf32> -> !y
  %r = mlp.relu %y : !y
  %a = mlp.matmul %r, %v precision fp16 : !y, tensor<96x96xf32> -> !y
  mlp.output %a "a" : !y
}

// -----

// Of more than 16 tensors the choice would take too long: all are copied. With 16,
// eight products have eight copies.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!g = tensor<64x64xf32>
// CHECK-LABEL: mlp.graph @sixteen
// CHECK-COUNT-8: mlp.convert
// CHECK-NOT: mlp.convert
// CHECK: mlp.launch
// CHECK-COUNT-8: precision = fp16
// CHECK-LABEL: mlp.graph @eighteen
// CHECK-COUNT-18: mlp.convert
// CHECK: mlp.launch
// CHECK-NOT: precision
mlp.graph @sixteen(%x0: !x "x0", %x1: !x "x1", %x2: !x "x2", %x3: !x "x3",
    %x4: !x "x4", %x5: !x "x5", %x6: !x "x6", %x7: !x "x7",
    %y0: !x "y0", %y1: !x "y1", %y2: !x "y2", %y3: !x "y3",
    %y4: !x "y4", %y5: !x "y5", %y6: !x "y6", %y7: !x "y7") {
  %0 = mlp.matmul %x0, %y0 contract [T] precision fp16 : !x, !x -> !g
  %1 = mlp.matmul %x1, %y1 contract [T] precision fp16 : !x, !x -> !g
  %2 = mlp.matmul %x2, %y2 contract [T] precision fp16 : !x, !x -> !g
  %3 = mlp.matmul %x3, %y3 contract [T] precision fp16 : !x, !x -> !g
  %4 = mlp.matmul %x4, %y4 contract [T] precision fp16 : !x, !x -> !g
  %5 = mlp.matmul %x5, %y5 contract [T] precision fp16 : !x, !x -> !g
  %6 = mlp.matmul %x6, %y6 contract [T] precision fp16 : !x, !x -> !g
  %7 = mlp.matmul %x7, %y7 contract [T] precision fp16 : !x, !x -> !g
  mlp.output %0 "g0", %1 "g1", %2 "g2", %3 "g3", %4 "g4", %5 "g5", %6 "g6", %7 "g7" : !g, !g, !g, !g, !g, !g, !g, !g
}
mlp.graph @eighteen(%x0: !x "x0", %x1: !x "x1", %x2: !x "x2", %x3: !x "x3",
    %x4: !x "x4", %x5: !x "x5", %x6: !x "x6", %x7: !x "x7",
    %x8: !x "x8", %y0: !x "y0", %y1: !x "y1", %y2: !x "y2",
    %y3: !x "y3", %y4: !x "y4", %y5: !x "y5", %y6: !x "y6",
    %y7: !x "y7", %y8: !x "y8") {
  %0 = mlp.matmul %x0, %y0 contract [T] precision fp16 : !x, !x -> !g
  %1 = mlp.matmul %x1, %y1 contract [T] precision fp16 : !x, !x -> !g
  %2 = mlp.matmul %x2, %y2 contract [T] precision fp16 : !x, !x -> !g
  %3 = mlp.matmul %x3, %y3 contract [T] precision fp16 : !x, !x -> !g
  %4 = mlp.matmul %x4, %y4 contract [T] precision fp16 : !x, !x -> !g
  %5 = mlp.matmul %x5, %y5 contract [T] precision fp16 : !x, !x -> !g
  %6 = mlp.matmul %x6, %y6 contract [T] precision fp16 : !x, !x -> !g
  %7 = mlp.matmul %x7, %y7 contract [T] precision fp16 : !x, !x -> !g
  %8 = mlp.matmul %x8, %y8 contract [T] precision fp16 : !x, !x -> !g
  mlp.output %0 "g0", %1 "g1", %2 "g2", %3 "g3", %4 "g4", %5 "g5", %6 "g6", %7 "g7", %8 "g8" : !g, !g, !g, !g, !g, !g, !g, !g, !g
}
