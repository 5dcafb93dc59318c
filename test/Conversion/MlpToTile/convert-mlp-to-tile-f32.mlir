// Products with an f32 operand: a ring of two buffers, or of three where the other
// operand is in two parts.
// RUN: kernel-opt %s --convert-mlp-to-tile -split-input-file | FileCheck %s

// A is f32 and K-major, and B is the 16-bit copy of a weight; results stand in
// entries of the ring, as without f32.
!x = tensor<?x128xf32, #mlp.dims<T, _>>
!y = tensor<?x192xf32, #mlp.dims<T, _>>
// CHECK-LABEL: tile.kernel @a_launch0(
// CHECK-SAME: tile.product_types = [f16], tile.products = [3]
// CHECK: %[[POOL:.*]] = tile.pool 4 x 65536
// CHECK: tile.space %{{.*}}, %{{.*}}, %{{.*}} tile [128, 128, 64]
// CHECK: %[[RING:.*]] = tile.ring %[[POOL]] : !tile.ring<<128x64xf32>, <64x128xf16>>
// CHECK: tile.copy %[[X:.*]][%{{.*}}, %[[K:.*]]] to %[[SLOT:.*]][0] : !tile.tensor<?x128xf32>
// CHECK-NEXT: tile.copy %[[W:.*]][%[[K]], %{{.*}}] to %[[SLOT]][1] : !tile.tensor<128x192xf16>
// CHECK: tile.multiply %[[RING]] steps %{{.*}} into %{{.*}} a k_major b mn_major : !tile.ring<<128x64xf32>, <64x128xf16>>, !tile.accumulator<128x128>
// CHECK: tile.drain({{.*}}) {{.*}} via
// CHECK-SAME: entryRows = 128 : i64
// CHECK-NOT: stagedRows
// CHECK-SAME: storeBuffers = array<i64: 0>
mlp.graph @a(%x: !x "x", %w: tensor<128x192xf16> "w") {
  %0 = mlp.launch attributes {tile.slots = 4, tile.slot_bytes = 65536} -> !y {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 128, precision = fp16, op_index = 3 : !x, tensor<128x192xf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> !y {
    ^bb0(%acc: f32):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %a : !y
  }
  mlp.output %0 "y" : !y
}

// -----

// bf16x3 with an f32 B: both contractions share its box. A is in two buffers, and
// the multiply counts as three products: the parts' products but for the two rests'.
// The tile is transposed: entries of 128 columns hold operands, results are staged.
!x = tensor<?x64xbf16, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
// CHECK-LABEL: tile.kernel @b_launch0(
// CHECK-SAME: tile.product_types = [bf16, bf16, bf16], tile.products = [5, 5, 5]
// CHECK: %[[RING:.*]] = tile.ring %{{.*}} : !tile.ring<<64x64xbf16>, <64x64xbf16>, <64x128xf32>>
// CHECK: tile.accumulators 1 : !tile.accumulator<64x128>
// CHECK: %[[ENTRY:.*]] = tile.ring %{{.*}} : !tile.ring<<64x128xbf16>>
// CHECK: tile.acquire %[[RING]]
// CHECK-NEXT: tile.copy %[[HIGH:.*]][%[[K:.*]], %{{.*}}] to %[[SLOT:.*]][0] : !tile.tensor<?x64xbf16>
// CHECK-NEXT: tile.copy %[[LOW:.*]][%[[K]], %{{.*}}] to %[[SLOT]][1] : !tile.tensor<?x64xbf16>
// CHECK-NEXT: tile.copy %[[Y:.*]][%[[K]], %{{.*}}] to %[[SLOT]][2] : !tile.tensor<?x96xf32>
// CHECK-NEXT: tile.commit %[[SLOT]]
// CHECK: tile.acquire %[[ENTRY]]
// CHECK: tile.multiply %[[RING]] steps %{{.*}} into %{{.*}} a mn_major b mn_major split : !tile.ring<<64x64xbf16>, <64x64xbf16>, <64x128xf32>>, !tile.accumulator<64x128>
// CHECK-NOT: tile.multiply
// CHECK: tile.drain({{.*}}) {{.*}} via %[[ENTRY]] stores(%{{.*}})
// CHECK-SAME: entryCols = 128 : i64, entryRows = 64 : i64
// CHECK-SAME: operandBuffers = array<i64: 0>
// CHECK-SAME: stagedRows = 32 : i64, storeBuffers = array<i64>
mlp.graph @b(%h: !x "h", %l: !x "l", %y: !y "y", %e: tensor<64x96xbf16> "e") {
  %0 = mlp.launch attributes {tile.slots = 3, tile.slot_bytes = 49152} -> tensor<64x96xf32> {
    %a = mlp.fused m = 64, n = 96
        acc0 += %h[k, m] * %y[k, n] over k = T, precision = bf16x3, op_index = 5 : !x, !y
        acc0 += %l[k, m] * %y[k, n] over k = T, precision = bf16, op_index = 5 : !x, !y
        with %e[m, n] : tensor<64x96xbf16>
        schedule = #tile.schedule<tile = [64, 128, 64], cost = 2, order = 0>
        -> tensor<64x96xf32> {
    ^bb0(%acc: f32, %f: bf16):
      %0 = arith.extf %f : bf16 to f32
      %1 = arith.addf %acc, %0 : f32
      mlp.fused_yield store %1 : f32
    }
    mlp.launch_yield %a : tensor<64x96xf32>
  }
  mlp.output %0 "w" : tensor<64x96xf32>
}

// -----

// The same with an f32 A: B's parts follow it. Beside a bf16 operand there is no
// second part: two buffers, and split all the same.
!x = tensor<?x128xf32, #mlp.dims<T, _>>
!y = tensor<?x192xf32, #mlp.dims<T, _>>
!z = tensor<?x192xbf16, #mlp.dims<T, _>>
!w = tensor<128x192xbf16>
// CHECK-LABEL: tile.kernel @parts_launch0(
// CHECK-SAME: tile.product_types = [bf16, bf16, bf16, bf16, bf16], tile.products = [-1, -1, -1, -1, -1]
// CHECK: tile.multiply %{{.*}} a k_major b mn_major split : !tile.ring<<128x64xf32>, <64x128xbf16>, <64x128xbf16>>, !tile.accumulator<128x128>
// CHECK-NEXT: tile.multiply %{{.*}} a k_major b k_major split accumulate : !tile.ring<<128x64xf32>, <128x64xbf16>>, !tile.accumulator<128x128>
// CHECK-NOT: tile.multiply
mlp.graph @parts(%x: !x "x", %h: !w "h", %l: !w "l", %v: tensor<192x128xbf16> "v") {
  %0 = mlp.launch attributes {tile.slots = 3, tile.slot_bytes = 65536} -> !y {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %h[k, n] over k = 128, precision = bf16x3 : !x, !w
        acc0 += %x[m, k] * %l[k, n] over k = 128, precision = bf16 : !x, !w
        acc0 += %x[m, k] * %v[n, k] over k = 128, precision = bf16x3 : !x, tensor<192x128xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> !y {
    ^bb0(%acc: f32):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %a : !y
  }
  mlp.output %0 "y" : !y
}

// -----

// Two products that round the same f32 operand to bf16 each are no parts of one:
// rings and multiplies of their own.
!x = tensor<?x128xf32, #mlp.dims<T, _>>
!y = tensor<?x192xf32, #mlp.dims<T, _>>
!w = tensor<128x192xbf16>
// CHECK-LABEL: tile.kernel @two_launch0(
// CHECK-COUNT-2: tile.ring %{{.*}} : !tile.ring<<128x64xf32>, <64x128xbf16>>
// CHECK: tile.multiply %{{.*}} b mn_major : !tile.ring<<128x64xf32>, <64x128xbf16>>
// CHECK-NEXT: tile.multiply %{{.*}} b mn_major accumulate : !tile.ring<<128x64xf32>, <64x128xbf16>>
mlp.graph @two(%x: !x "x", %w: !w "w", %v: !w "v") {
  %0 = mlp.launch attributes {tile.slots = 4, tile.slot_bytes = 49152} -> !y {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 128, precision = bf16 : !x, !w
        acc0 += %x[m, k] * %v[k, n] over k = 128, precision = bf16 : !x, !w
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> !y {
    ^bb0(%acc: f32):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %a : !y
  }
  mlp.output %0 "y" : !y
}
