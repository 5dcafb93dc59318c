// A launch that multiplies what it computes takes a conversion before it, which
// clears the signals: backfuse-chain-launches makes no other, and the conversion to
// tiles refuses others.
// RUN: kernel-opt %s --convert-mlp-to-tile -split-input-file -verify-diagnostics

!x = tensor<?x64xbf16, #mlp.dims<T, _>>
!w = tensor<64x64xbf16>
mlp.graph @no_conversion(%x: !x "x", %w: !w "w") {
  %0:2 = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> !x, !x {
    // expected-error @below {{is multiplied in its own launch, but no conversion before it clears its signals}}
    %a = mlp.fused m = T, n = 64
        acc0 += %x[m, k] * %w[k, n] over k = 64 : !x, !w
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    %b = mlp.fused m = T, n = 64
        acc0 += %a[m, k] * %w[k, n] over k = 64 : !x, !w
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 6>
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a, %b : !x, !x
  }
  mlp.output %0#1 "y" : !x
}

// -----

// How many signals there are follows from the tile, so that a schedule comes first.
!x = tensor<?x64xbf16, #mlp.dims<T, _>>
!w = tensor<64x64xbf16>
mlp.graph @no_schedule(%x: !x "x", %f: tensor<64x64xf32> "f") {
  %w = mlp.convert %f : tensor<64x64xf32> -> !w
  %0:2 = mlp.launch -> !x, !x {
    // expected-error @below {{has no schedule (backfuse-select-schedule gives it one)}}
    %a = mlp.fused m = T, n = 64
        acc0 += %x[m, k] * %w[k, n] over k = 64 : !x, !w
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    %b = mlp.fused m = T, n = 64
        acc0 += %a[m, k] * %w[k, n] over k = 64 : !x, !w
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a, %b : !x, !x
  }
  mlp.output %0#1 "y" : !x
}
