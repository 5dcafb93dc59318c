// RUN: kernel-opt %s -split-input-file -pass-pipeline='builtin.module(mlp.graph(backfuse-chain-launches))' | FileCheck %s

// What the first launch computes, the second one multiplies: they become one, with
// the results of both in their order. Its users follow.
!x = tensor<?x64xbf16, #mlp.dims<T, _>>
!y = tensor<?x96xbf16, #mlp.dims<T, _>>
// CHECK-LABEL: mlp.graph @chain
// CHECK: %[[C:.*]] = mlp.convert %f
// CHECK: %[[L:.*]]:2 = mlp.launch -> tensor<?x96xbf16, #mlp.dims<T, _>>, tensor<?x64xbf16, #mlp.dims<T, _>> {
// CHECK-NEXT: %[[FIRST:.*]] = mlp.fused
// CHECK-NEXT: acc0 += %x[m, k] * %[[C]][k, n]
// CHECK: %[[SECOND:.*]] = mlp.fused
// CHECK-NEXT: acc0 += %[[FIRST]][m, k] * %v[k, n]
// CHECK: mlp.launch_yield %[[FIRST]], %[[SECOND]]
// CHECK-NOT: mlp.launch
// CHECK: mlp.output %[[L]]#0 "h", %[[L]]#1 "y"
mlp.graph @chain(%x: !x "x", %f: tensor<64x96xf32> "f", %v: tensor<96x64xbf16> "v") {
  %w = mlp.convert %f : tensor<64x96xf32> -> tensor<64x96xbf16>
  %0 = mlp.launch -> !y {
    %a = mlp.fused m = T, n = 96
        acc0 += %x[m, k] * %w[k, n] over k = 64 : !x, tensor<64x96xbf16>
        -> !y {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a : !y
  }
  %1 = mlp.launch -> !x {
    %a = mlp.fused m = T, n = 64
        acc0 += %0[m, k] * %v[k, n] over k = 96 : !y, tensor<96x64xbf16>
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a : !x
  }
  mlp.output %0 "h", %1 "y" : !y, !x
}

// -----

// Three in a row become one; an operand of the third one that the second computes
// is found, though that one is gone.
!x = tensor<?x64xbf16, #mlp.dims<T, _>>
!w = tensor<64x64xbf16>
// CHECK-LABEL: mlp.graph @three
// CHECK: mlp.launch -> {{.*}} {
// CHECK: %[[A:.*]] = mlp.fused
// CHECK: %[[B:.*]] = mlp.fused
// CHECK-NEXT: acc0 += %[[A]][m, k] * %{{.*}}[k, n]
// CHECK: %[[C:.*]] = mlp.fused
// CHECK-NEXT: acc0 += %[[B]][m, k] * %{{.*}}[k, n]
// CHECK: mlp.launch_yield %[[A]], %[[B]], %[[C]]
// CHECK-NOT: mlp.launch
// CHECK: mlp.output %{{.*}}#2 "y"
mlp.graph @three(%x: !x "x", %f: tensor<64x64xf32> "f") {
  %w = mlp.convert %f : tensor<64x64xf32> -> !w
  %0 = mlp.launch -> !x {
    %a = mlp.fused m = T, n = 64
        acc0 += %x[m, k] * %w[k, n] over k = 64 : !x, !w
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a : !x
  }
  %1 = mlp.launch -> !x {
    %a = mlp.fused m = T, n = 64
        acc0 += %0[m, k] * %w[k, n] over k = 64 : !x, !w
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a : !x
  }
  %2 = mlp.launch -> !x {
    %a = mlp.fused m = T, n = 64
        acc0 += %1[m, k] * %w[k, n] over k = 64 : !x, !w
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a : !x
  }
  mlp.output %2 "y" : !x
}

// -----

// An epilogue does not wait for tiles: what it reads is written by a launch before.
// Here the second launch multiplies h, and its epilogue reads h, too.
!x = tensor<?x64xbf16, #mlp.dims<T, _>>
!w = tensor<64x64xbf16>
// CHECK-LABEL: mlp.graph @element
// CHECK: %[[H:.*]] = mlp.launch
// CHECK: %[[Y:.*]] = mlp.launch
// CHECK: acc0 += %[[H]][m, k]
// CHECK-NEXT: with %[[H]][m, n]
// CHECK: mlp.output %[[Y]] "y"
mlp.graph @element(%x: !x "x", %f: tensor<64x64xf32> "f") {
  %w = mlp.convert %f : tensor<64x64xf32> -> !w
  %0 = mlp.launch -> !x {
    %a = mlp.fused m = T, n = 64
        acc0 += %x[m, k] * %w[k, n] over k = 64 : !x, !w
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a : !x
  }
  %1 = mlp.launch -> !x {
    %a = mlp.fused m = T, n = 64
        acc0 += %0[m, k] * %w[k, n] over k = 64 : !x, !w
        with %0[m, n] : !x
        -> !x {
    ^bb0(%acc: f32, %h: bf16):
      %r = arith.truncf %acc : f32 to bf16
      %s = arith.addf %r, %h : bf16
      mlp.fused_yield store %s : bf16
    }
    mlp.launch_yield %a : !x
  }
  mlp.output %1 "y" : !x
}

// -----

// Nobody would clear the signals: no conversion comes before.
!x = tensor<?x64xbf16, #mlp.dims<T, _>>
!w = tensor<64x64xbf16>
// CHECK-LABEL: mlp.graph @no_conversion
// CHECK: %[[H:.*]] = mlp.launch
// CHECK: %[[Y:.*]] = mlp.launch
// CHECK: acc0 += %[[H]][m, k]
// CHECK: mlp.output %[[Y]] "y"
mlp.graph @no_conversion(%x: !x "x", %w: !w "w") {
  %0 = mlp.launch -> !x {
    %a = mlp.fused m = T, n = 64
        acc0 += %x[m, k] * %w[k, n] over k = 64 : !x, !w
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a : !x
  }
  %1 = mlp.launch -> !x {
    %a = mlp.fused m = T, n = 64
        acc0 += %0[m, k] * %w[k, n] over k = 64 : !x, !w
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a : !x
  }
  mlp.output %1 "y" : !x
}

// -----

// Launches that have nothing to do with each other stay apart, and so do those that
// a conversion stands between.
!x = tensor<?x64xbf16, #mlp.dims<T, _>>
!f = tensor<?x64xf32, #mlp.dims<T, _>>
!w = tensor<64x64xbf16>
// CHECK-LABEL: mlp.graph @apart
// CHECK: %[[A:.*]] = mlp.launch
// CHECK: %[[B:.*]] = mlp.launch
// CHECK: acc0 += %x[k, m]
// CHECK: mlp.convert %[[B]]
// CHECK: mlp.launch
// CHECK: acc0 += %[[A]][m, k] * %{{.*}}[n, k]
// CHECK: mlp.output
mlp.graph @apart(%x: !x "x", %f: tensor<64x64xf32> "f") {
  %w = mlp.convert %f : tensor<64x64xf32> -> !w
  %0 = mlp.launch -> !x {
    %a = mlp.fused m = T, n = 64
        acc0 += %x[m, k] * %w[k, n] over k = 64 : !x, !w
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a : !x
  }
  %1 = mlp.launch -> tensor<64x64xf32> {
    %a = mlp.fused m = 64, n = 64
        acc0 += %x[k, m] * %x[k, n] over k = T : !x, !x
        -> tensor<64x64xf32> {
    ^bb0(%acc: f32):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %a : tensor<64x64xf32>
  }
  %v = mlp.convert %1 : tensor<64x64xf32> -> !w
  %2 = mlp.launch -> !x {
    %a = mlp.fused m = T, n = 64
        acc0 += %0[m, k] * %v[n, k] over k = 64 : !x, !w
        -> !x {
    ^bb0(%acc: f32):
      %r = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %r : bf16
    }
    mlp.launch_yield %a : !x
  }
  mlp.output %2 "y" : !x
}
