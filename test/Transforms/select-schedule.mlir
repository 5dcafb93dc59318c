// RUN: kernel-opt %s --backfuse-select-schedule | FileCheck %s
// RUN: kernel-opt %s --backfuse-select-schedule | %python %S/Inputs/check-ranges.py gradients
// RUN: kernel-opt %s --backfuse-select-schedule | %python %S/Inputs/check-ranges.py pair --unsplit 0

// No graph is left without a schedule.
// CHECK-NOT: mlp.graph @gradients(

// A clone for each tile that is best for some token count, with its ranges (that
// these leave no hole, the script shows). Few tokens leave the weight gradient's
// tiles, 72 of 128x128, to share 132 SMs; it has few steps to split, though,
// unlike the wide contraction of the other product.
// CHECK-LABEL: mlp.graph @gradients__n128(
// CHECK-SAME: tile.ranges = [#tile.range<from = 1, to = {{[0-9]+}}, splits = [{{[0-9]}}, {{[0-9]}}]>
// CHECK-SAME: tile.tokens = #tile.expr<[T], #{{.*}}>
// CHECK: mlp.launch attributes {tile.slot_bytes = 32768 : i64, tile.slots = {{[3-7]}} : i64}
// CHECK: mlp.fused m = T, n = 1536
// CHECK: schedule = #tile.schedule<tile = [128, 128, 64], cost = {{[0-9]+}}, order = 2>
// The contraction over tokens is dealt first: its units are the longest.
// CHECK: mlp.fused m = 768, n = 1536
// CHECK: schedule = #tile.schedule<tile = [128, 128, 64], cost = {{[0-9]+}}, order = 1>
mlp.graph @gradients(%dy: tensor<?x768xbf16, #mlp.dims<T, _>> "dy", %x: tensor<?x1536xbf16, #mlp.dims<T, _>> "x", %w: tensor<768x1536xbf16> "w") {
  %gx, %gw = mlp.launch -> tensor<?x1536xbf16, #mlp.dims<T, _>>, tensor<768x1536xbf16> {
    %a = mlp.fused m = T, n = 1536
        acc0 += %dy[m, k] * %w[k, n] over k = 768 : tensor<?x768xbf16, #mlp.dims<T, _>>, tensor<768x1536xbf16>
        -> tensor<?x1536xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    %b = mlp.fused m = 768, n = 1536
        acc0 += %dy[k, m] * %x[k, n] over k = T : tensor<?x768xbf16, #mlp.dims<T, _>>, tensor<?x1536xbf16, #mlp.dims<T, _>>
        -> tensor<768x1536xbf16> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a, %b : tensor<?x1536xbf16, #mlp.dims<T, _>>, tensor<768x1536xbf16>
  }
  mlp.output %gx "gx", %gw "gw" : tensor<?x1536xbf16, #mlp.dims<T, _>>, tensor<768x1536xbf16>
}

// Two accumulators of 128 columns fill the registers of two warpgroups: no wider
// tile. Their splits would have to be combined together: K stays whole, long as
// it is.
// CHECK-NOT: mlp.graph @pair__n192
// CHECK-NOT: mlp.graph @pair__n256
// CHECK-LABEL: mlp.graph @pair__n128(
// CHECK-SAME: splits = [1]>
// CHECK-NOT: mlp.graph @pair__
mlp.graph @pair(%x: tensor<?x4096xbf16, #mlp.dims<T, _>> "x", %w: tensor<4096x256xbf16> "w", %v: tensor<4096x256xbf16> "v") {
  %y = mlp.launch -> tensor<?x256xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 256
        acc0 += %x[m, k] * %w[k, n] over k = 4096 : tensor<?x4096xbf16, #mlp.dims<T, _>>, tensor<4096x256xbf16>
        acc1 += %x[m, k] * %v[k, n] over k = 4096 : tensor<?x4096xbf16, #mlp.dims<T, _>>, tensor<4096x256xbf16>
        -> tensor<?x256xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %acc1: f32):
      %p = arith.mulf %acc, %acc1 : f32
      %0 = arith.truncf %p : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x256xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x256xbf16, #mlp.dims<T, _>>
}

// Nothing is variable: one tile, one range for all token counts.
// CHECK-LABEL: mlp.graph @fixed__n
// CHECK-SAME: tile.ranges = [#tile.range<from = 0, to = -1, splits = [{{[0-9]}}]>]
// CHECK-SAME: tile.tokens = #tile.expr<[], #{{.*}}>
// CHECK-NOT: mlp.graph @fixed__n
mlp.graph @fixed(%x: tensor<40x768xbf16> "x", %w: tensor<768x256xbf16> "w") {
  %y = mlp.launch -> tensor<40x256xbf16> {
    %a = mlp.fused m = 40, n = 256
        acc0 += %x[m, k] * %w[k, n] over k = 768 : tensor<40x768xbf16>, tensor<768x256xbf16>
        -> tensor<40x256xbf16> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<40x256xbf16>
  }
  mlp.output %y "y" : tensor<40x256xbf16>
}

// Two independent variable extents: there is no one token count to choose by.
// CHECK-LABEL: mlp.graph @independent__n
// CHECK-SAME: tile.ranges = [#tile.range<from = 0, to = -1, splits = [{{[0-9]}}, {{[0-9]}}]>]
// CHECK-SAME: tile.tokens = #tile.expr<[], #{{.*}}>
// CHECK-NOT: mlp.graph @independent__n
mlp.graph @independent(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %z: tensor<?x320xbf16, #mlp.dims<U, _>> "z", %w: tensor<320x192xbf16> "w") {
  %y, %v = mlp.launch -> tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<U, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    %b = mlp.fused m = U, n = 192
        acc0 += %z[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<U, _>>, tensor<320x192xbf16>
        -> tensor<?x192xbf16, #mlp.dims<U, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a, %b : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<U, _>>
  }
  mlp.output %y "y", %v "v" : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<U, _>>
}
