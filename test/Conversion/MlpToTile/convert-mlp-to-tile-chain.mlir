// A launch that multiplies what it computes: the first space's tiles set signals,
// units of the second one await those that they read.
// RUN: kernel-opt %s --convert-mlp-to-tile -split-input-file | FileCheck %s

// The conversion clears the signals: two for each of ceil(T / 128) * 2 tiles.
!x = tensor<?x128xbf16, #mlp.dims<T, _>>
!y = tensor<?x192xbf16, #mlp.dims<T, _>>
// CHECK-DAG: #[[WORDS:.*]] = affine_map<()[s0] -> ((s0 ceildiv 128) * 4)>
// CHECK-DAG: #[[BYTES:.*]] = affine_map<()[s0] -> ((s0 ceildiv 128) * 32)>
// CHECK-LABEL: tile.kernel @chain_convert0(
// CHECK-SAME: %[[N:[^:]*]]: index #tile.bind<extent 0, <[T], #[[WORDS]]>>
// CHECK-SAME: %[[S:[^:]*]]: !tile.workspace #tile.bind<temporary 2, <[T], #[[BYTES]]>>
// CHECK-SAME: tile.has_dependents
// CHECK: tile.convert
// CHECK-NEXT: tile.clear %[[S]] words %[[N]]

// Of a K-major A a unit reads the rows of its tile and the columns of its steps; of
// MN-major operands, as the third space's, the rows of its steps and the columns of
// its tile.
// CHECK-LABEL: tile.kernel @chain_launch1(
// CHECK-SAME: %[[SIGNALS:[^:]*]]: !tile.workspace #tile.bind<temporary 2, <[T], #[[BYTES]]>>
// CHECK-SAME: %[[TAG:[^:]*]]: i64 #tile.bind<tag 0>
// CHECK-SAME: tile.dependent
// CHECK: %[[FIRST:.*]] = tile.space %{{.*}} tile [128, 128, 64]
// CHECK: %[[SECOND:.*]] = tile.space %{{.*}} tile [128, 64, 64]
// CHECK: %[[THIRD:.*]] = tile.space %{{.*}} tile [128, 64, 64]
// CHECK: tile.task load {
// CHECK-NEXT: tile.for_each_unit %[[FIRST]], %[[SECOND]], %[[THIRD]]
// CHECK-NEXT: unit(
// CHECK-NOT: tile.await
// CHECK: unit(%[[M:.*]], %[[N0:.*]], %[[K:.*]], %[[STEPS:.*]], %{{.*}}, %{{.*}}) {
// CHECK-NEXT: %[[LENGTH:.*]] = arith.muli %[[STEPS]], %c64
// CHECK-NEXT: %[[KEND:.*]] = arith.addi %[[K]], %[[LENGTH]]
// CHECK-NEXT: %[[MEND:.*]] = arith.addi %[[M]], %c128
// CHECK-NEXT: tile.await %[[SIGNALS]] tag %[[TAG]] of %[[FIRST]] rows %[[M]] to %[[MEND]] cols %[[K]] to %[[KEND]]
// CHECK-NEXT: scf.for
// CHECK-NOT: tile.await
// CHECK: unit(%[[M2:.*]], %[[N2:.*]], %[[K2:.*]], %[[STEPS2:.*]], %{{.*}}, %{{.*}}) {
// CHECK: %[[MEND2:.*]] = arith.addi %[[M2]], %c128
// CHECK: tile.await %[[SIGNALS]] tag %[[TAG]] of %[[FIRST]] rows %[[K2]] to %[[KEND2:.*]] cols %[[M2]] to %[[MEND2]]
// CHECK: %[[NEND2:.*]] = arith.addi %[[N2]], %c64
// CHECK: tile.await %[[SIGNALS]] tag %[[TAG]] of %[[FIRST]] rows %[[K2]] to %{{.*}} cols %[[N2]] to %[[NEND2]]
// CHECK-NOT: tile.await

// Only the tiles that somebody awaits set signals.
// CHECK: tile.task drain
// CHECK: tile.drain({{.*}}) {{.*}} stores(%{{.*}}) signals %[[SIGNALS]] tag %[[TAG]]
// CHECK-NOT: signals
mlp.graph @chain(%x: !x "x", %f: tensor<128x192xf32> "f", %v: tensor<192x128xbf16> "v") {
  %w = mlp.convert %f : tensor<128x192xf32> -> tensor<128x192xbf16>
  %0:3 = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> !y, !x, tensor<192x192xbf16> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 128 : !x, tensor<128x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> !y {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    %b = mlp.fused m = T, n = 128
        acc0 += %a[m, k] * %v[k, n] over k = 192 : !y, tensor<192x128xbf16>
        schedule = #tile.schedule<tile = [128, 64, 64], cost = 2, order = 5>
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    %c = mlp.fused m = 192, n = 192
        acc0 += %a[k, m] * %a[k, n] over k = T : !y, !y
        schedule = #tile.schedule<tile = [128, 64, 64], cost = 2, order = 6>
        -> tensor<192x192xbf16> {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a, %b, %c : !y, !x, tensor<192x192xbf16>
  }
  mlp.output %0#1 "y", %0#2 "g" : !x, tensor<192x192xbf16>
}
