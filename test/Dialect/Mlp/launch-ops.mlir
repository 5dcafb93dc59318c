// RUN: kernel-opt %s --verify-roundtrip | FileCheck %s

// The example of mlp.launch: one launch, one product, its result stored.
// CHECK-LABEL: mlp.graph @launch
mlp.graph @launch(%x: tensor<?x128xbf16, #mlp.dims<T, _>> "x",
                  %w: tensor<128x256xbf16> "w") {
  // CHECK: %[[H:.*]] = mlp.launch -> tensor<?x256xbf16, #mlp.dims<T, _>> {
  // CHECK-NEXT: %[[F:.*]] = mlp.fused m = T, n = 256
  // CHECK-NEXT: acc0 += %{{.*}}[m, k] * %{{.*}}[k, n] over k = 128 : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<128x256xbf16>
  // CHECK-NEXT: -> tensor<?x256xbf16, #mlp.dims<T, _>> {
  // CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32):
  // CHECK-NEXT: %[[D:.*]] = arith.truncf %[[ACC]] : f32 to bf16
  // CHECK-NEXT: mlp.fused_yield store %[[D]] : bf16
  // CHECK: mlp.launch_yield %[[F]] : tensor<?x256xbf16, #mlp.dims<T, _>>
  %h = mlp.launch -> tensor<?x256xbf16, #mlp.dims<T, _>> {
    %0 = mlp.fused m = T, n = 256
        acc0 += %x[m, k] * %w[k, n] over k = 128
          : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<128x256xbf16>
        -> tensor<?x256xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %1 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %1 : bf16
    }
    mlp.launch_yield %0 : tensor<?x256xbf16, #mlp.dims<T, _>>
  }
  mlp.output %h "h" : tensor<?x256xbf16, #mlp.dims<T, _>>
}

// The example of mlp.fused: a weight gradient with a row operand, and the sum of
// A along k, which rides on its loads.
// CHECK-LABEL: mlp.graph @weight_gradient
mlp.graph @weight_gradient(
    %dy: tensor<?x?x768xbf16, #mlp.dims<B, S, _>> "dy",
    %x: tensor<?x?x1536xbf16, #mlp.dims<B, S, _>> "x",
    %decay: tensor<1536xbf16> "decay") {
  %a, %b = mlp.launch -> tensor<768x1536xbf16>, tensor<768xbf16> {
    // CHECK: mlp.fused m = 768, n = 1536
    // CHECK-NEXT: acc0 += %{{.*}}[k, m] * %{{.*}}[k, n] over k = B*S, op_index = 2 :
    // CHECK-NEXT: with %{{.*}}[n] : tensor<1536xbf16>
    // CHECK-NEXT: sum_k a0
    // CHECK-NEXT: -> tensor<768x1536xbf16>, tensor<768xbf16> {
    %gw, %gb = mlp.fused m = 768, n = 1536
        acc0 += %dy[k, m] * %x[k, n] over k = B*S, op_index = 2
          : tensor<?x?x768xbf16, #mlp.dims<B, S, _>>, tensor<?x?x1536xbf16, #mlp.dims<B, S, _>>
        with %decay[n] : tensor<1536xbf16>
        sum_k a0
        -> tensor<768x1536xbf16>, tensor<768xbf16> {
    ^bb0(%acc: f32, %d: bf16):
      %0 = arith.truncf %acc : f32 to bf16
      %1 = arith.mulf %0, %d : bf16
      mlp.fused_yield store %1 : bf16
    }
    mlp.launch_yield %gw, %gb : tensor<768x1536xbf16>, tensor<768xbf16>
  }
  mlp.output %a "gw", %b "gb" : tensor<768x1536xbf16>, tensor<768xbf16>
}

// Everything else the syntax has: two accumulators, three contractions, a 16-bit
// operand beside an f32 one, each kind of element operand, a sum over m, a sum of
// B, a schedule and a discardable attribute.
// CHECK-LABEL: mlp.graph @everything
mlp.graph @everything(
    %a: tensor<?x64xf32, #mlp.dims<T, _>> "a",
    %b: tensor<32x64xbf16> "b",
    %c: tensor<?x16xf32, #mlp.dims<T, _>> "c",
    %d: tensor<16x32xf32> "d",
    %e: tensor<?x32xf16, #mlp.dims<T, _>> "e",
    %rows: tensor<?xf32, #mlp.dims<T>> "rows",
    %scale: f32 "scale") {
  %0, %1, %2 = mlp.launch -> tensor<?x32xf32, #mlp.dims<T, _>>, tensor<32xbf16>, tensor<32xf32> {
    // CHECK: mlp.fused m = T, n = 32
    // CHECK-NEXT: acc0 += %{{.*}}[m, k] * %{{.*}}[n, k] over k = 64, precision = bf16x3 :
    // CHECK-NEXT: acc1 += %{{.*}}[m, k] * %{{.*}}[k, n] over k = 16, precision = tf32, op_index = 4 :
    // CHECK-NEXT: acc1 += %{{.*}}[m, k] * %{{.*}}[n, k] over k = 64, precision = fp16 :
    // CHECK-NEXT: with %{{.*}}[m, n], %{{.*}}[m], %{{.*}}[] : tensor<?x32xf16, #mlp.dims<T, _>>, tensor<?xf32, #mlp.dims<T>>, f32
    // CHECK-NEXT: sum_k b1
    // CHECK-NEXT: schedule = "mine" attributes {note = 1 : i64}
    // CHECK: mlp.fused_yield store %{{.*}} : f32, sum_m %{{.*}} : f32
    %f:3 = mlp.fused m = T, n = 32
        acc0 += %a[m, k] * %b[n, k] over k = 64, precision = bf16x3
          : tensor<?x64xf32, #mlp.dims<T, _>>, tensor<32x64xbf16>
        acc1 += %c[m, k] * %d[k, n] over k = 16, precision = tf32, op_index = 4
          : tensor<?x16xf32, #mlp.dims<T, _>>, tensor<16x32xf32>
        acc1 += %a[m, k] * %b[n, k] over k = 64, precision = fp16
          : tensor<?x64xf32, #mlp.dims<T, _>>, tensor<32x64xbf16>
        with %e[m, n], %rows[m], %scale[] : tensor<?x32xf16, #mlp.dims<T, _>>, tensor<?xf32, #mlp.dims<T>>, f32
        sum_k b1
        schedule = "mine"
        attributes {note = 1 : i64}
        -> tensor<?x32xf32, #mlp.dims<T, _>>, tensor<32xbf16>, tensor<32xf32> {
    ^bb0(%acc0: f32, %acc1: f32, %x: f16, %r: f32, %s: f32):
      %3 = arith.addf %acc0, %acc1 : f32
      %4 = arith.extf %x : f16 to f32
      %5 = mlp.sigmoid %4 : f32
      %6 = arith.mulf %3, %5 : f32
      %7 = arith.mulf %6, %r : f32
      %8 = arith.mulf %7, %s : f32
      mlp.fused_yield store %8 : f32, sum_m %acc1 : f32
    }
    mlp.launch_yield %f#0, %f#1, %f#2 : tensor<?x32xf32, #mlp.dims<T, _>>, tensor<32xbf16>, tensor<32xf32>
  }
  mlp.output %0 "x", %1 "y", %2 "z" : tensor<?x32xf32, #mlp.dims<T, _>>, tensor<32xbf16>, tensor<32xf32>
}

// The attributes on their own, in their one form.
// CHECK-LABEL: mlp.graph @attributes
mlp.graph @attributes(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
                      %w: tensor<16x16xbf16> "w") {
  // CHECK: mlp.matmul
  // CHECK-SAME: a = #mlp.extent<768>, b = #mlp.extent<B*S>, c = #mlp.extent<16*S>
  // CHECK-SAME: d = #mlp.contraction<acc = 0, k = <B*S>, a = mn_major, b = mn_major, precision = tf32, op_index = 3>
  // CHECK-SAME: e = #mlp.contraction<acc = 1, k = <768>, a = k_major, b = k_major>
  // CHECK-SAME: f = #mlp.operand_sum<contraction = 0, operand = a>
  %0 = mlp.matmul %x, %w {
    a = #mlp.extent<768>, b = #mlp.extent<S*B>, c = #mlp.extent<2*S*8>,
    d = #mlp.contraction<acc = 0, k = <B*S>, a = mn_major, b = mn_major, precision = tf32, op_index = 3>,
    e = #mlp.contraction<acc = 1, k = <768>, a = k_major, b = k_major>,
    f = #mlp.operand_sum<contraction = 0, operand = a>
  } : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x16xbf16> -> tensor<?x16xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x16xbf16, #mlp.dims<T, _>>
}
