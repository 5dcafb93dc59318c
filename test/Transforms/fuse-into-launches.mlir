// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches))' | FileCheck %s

// The example of the pass: the product becomes a contraction, the multiplication
// its epilogue.
!in  = tensor<?x40xbf16, #mlp.dims<S, _>>
!out = tensor<?x80xbf16, #mlp.dims<S, _>>
// CHECK-LABEL: mlp.graph @epilogue
mlp.graph @epilogue(%dy: !in "dy", %w: tensor<40x80xbf16> "w", %scale: !out "scale") {
  // CHECK: %[[OUT:.*]] = mlp.launch -> tensor<?x80xbf16, #mlp.dims<S, _>> {
  // CHECK-NEXT: mlp.fused m = S, n = 80
  // CHECK-NEXT: acc0 += %dy[m, k] * %w[k, n] over k = 40, op_index = 7 :
  // CHECK-NEXT: with %scale[m, n] :
  // CHECK: ^bb0(%[[ACC:.*]]: f32, %[[S:.*]]: bf16):
  // CHECK-NEXT: %[[D:.*]] = arith.truncf %[[ACC]] : f32 to bf16
  // CHECK-NEXT: %[[P:.*]] = arith.mulf %[[D]], %[[S]] : bf16
  // CHECK-NEXT: mlp.fused_yield store %[[P]] : bf16
  // CHECK: mlp.output %[[OUT]] "gx"
  %d = mlp.matmul %dy, %w {mlp.op_index = 7 : i64} : !in, tensor<40x80xbf16> -> !out
  %gx = arith.mulf %d, %scale : !out
  mlp.output %gx "gx" : !out
}

// -----

// Workload 079: both products in one launch, two outputs of one epilogue, constants
// and the function of an input inside the region, and the bias gradient as a sum of
// A of the weight gradient.
!hidden   = tensor<?x?x48xbf16, #mlp.dims<B, S, _>>
!expanded = tensor<?x?x96xbf16, #mlp.dims<B, S, _>>
// CHECK-LABEL: mlp.graph @gated
mlp.graph @gated(%dy: !hidden "dy", %ssm: !expanded "ssm", %gate: !expanded "gate",
                 %w: tensor<48x96xbf16> "w", %bias: tensor<48xbf16> "bias",
                 %gact: !expanded "gact", %gated: !expanded "gated") {
  // CHECK: mlp.launch
  // CHECK: mlp.fused m = B*S, n = 96
  // CHECK-NEXT: acc0 += %dy[m, k] * %w[k, n] over k = 48 :
  // CHECK-NEXT: with %gact[m, n], %ssm[m, n], %gate[m, n] :
  // CHECK: %[[ONE:.*]] = arith.constant 1.0{{.*}} : bf16
  // CHECK: arith.subf %[[ONE]], %{{.*}} : bf16
  // CHECK: mlp.fused_yield store %{{.*}} : bf16, store %{{.*}} : bf16
  // CHECK: mlp.fused m = 48, n = 96
  // CHECK-NEXT: acc0 += %dy[k, m] * %gated[k, n] over k = B*S :
  // CHECK-NEXT: sum_k a0
  // CHECK-NEXT: -> tensor<48x96xbf16>, tensor<48xbf16> {
  // CHECK-NOT: mlp.launch ->
  // CHECK: mlp.output %[[R:.*]]#0 "a", %[[R]]#1 "b", %[[R]]#2 "c", %[[R]]#3 "d"
  %one = arith.constant 1.0 : bf16
  %ones = mlp.broadcast %one : bf16 -> !expanded
  %d = mlp.matmul %dy, %w : !hidden, tensor<48x96xbf16> -> !expanded
  %gs = arith.mulf %d, %gact : !expanded
  %dz = arith.mulf %d, %ssm : !expanded
  %s = mlp.sigmoid %gate : !expanded
  %t = arith.subf %ones, %s : !expanded
  %gg = arith.mulf %dz, %t : !expanded
  %gw = mlp.matmul %dy, %gated contract [B, S] : !hidden, !expanded -> tensor<48x96xbf16>
  %gb = mlp.sum %dy over [B, S] : !hidden -> tensor<48xbf16>
  mlp.output %gs "a", %gg "b", %gw "c", %gb "d" : !expanded, !expanded, tensor<48x96xbf16>, tensor<48xbf16>
}

// -----

// Workload 022: the gradient of the hidden layer is stored by the first launch for
// the two products of the second one, and summed where it is computed.
!x = tensor<?x24xf32, #mlp.dims<T, _>>
!h = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @chain
mlp.graph @chain(%dy: !x "dy", %x: !x "x", %fc1: !h "fc1", %g: !h "g",
                 %w1: tensor<96x24xf32> "w1", %w2: tensor<24x96xf32> "w2") {
  // CHECK: %[[FIRST:.*]]:4 = mlp.launch
  // CHECK: mlp.fused m = T, n = 96
  // CHECK-NEXT: acc0 += %dy[m, k] * %w2[k, n] over k = 24, precision = tf32 :
  // CHECK-NEXT: with %fc1[m, n] :
  // CHECK: %[[DH:.*]] = arith.mulf
  // CHECK: mlp.fused_yield sum_m %[[DH]] : f32, store %[[DH]] : f32
  // CHECK: mlp.fused m = 24, n = 96
  // CHECK-NEXT: acc0 += %dy[k, m] * %g[k, n] over k = T, precision = tf32 :
  // CHECK-NEXT: sum_k a0
  // CHECK: %[[SECOND:.*]]:2 = mlp.launch
  // CHECK: mlp.fused m = T, n = 24
  // CHECK-NEXT: acc0 += %[[FIRST]]#1[m, k] * %w1[k, n] over k = 96, precision = tf32 :
  // CHECK: mlp.fused m = 96, n = 24
  // CHECK-NEXT: acc0 += %[[FIRST]]#1[k, m] * %x[k, n] over k = T, precision = tf32 :
  // CHECK: mlp.output %[[SECOND]]#0 "gx", %[[SECOND]]#1 "gw1", %[[FIRST]]#0 "gb1", %[[FIRST]]#2 "gw2", %[[FIRST]]#3 "gb2"
  %dg = mlp.matmul %dy, %w2 precision tf32 : !x, tensor<24x96xf32> -> !h
  %act = math.tanh %fc1 : !h
  %dh = arith.mulf %dg, %act : !h
  %gx = mlp.matmul %dh, %w1 precision tf32 : !h, tensor<96x24xf32> -> !x
  %gw1 = mlp.matmul %dh, %x contract [T] precision tf32 : !h, !x -> tensor<96x24xf32>
  %gb1 = mlp.sum %dh over [T] : !h -> tensor<96xf32>
  %gw2 = mlp.matmul %dy, %g contract [T] precision tf32 : !x, !h -> tensor<24x96xf32>
  %gb2 = mlp.sum %dy over [T] : !x -> tensor<24xf32>
  mlp.output %gx "gx", %gw1 "gw1", %gb1 "gb1", %gw2 "gw2", %gb2 "gb2"
      : !x, tensor<96x24xf32>, tensor<96xf32>, tensor<24x96xf32>, tensor<24xf32>
}
