// RUN: kernel-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(mlp.graph(backfuse-route-products))'

// What backfuse-fuse-into-launches does not make, but a file may hold.

// Precondition: launches only.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
mlp.graph @unfused(%x: !x "x", %w: tensor<64x96xf32> "w") {
  // expected-error @below {{is not in a launch (backfuse-fuse-into-launches puts it into one)}}
  %y = mlp.matmul %x, %w precision tf32 : !x, tensor<64x96xf32> -> !y
  mlp.output %y "y" : !y
}

// -----

// The sum of an operand that another launch computes has no conversion to ride on.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
mlp.graph @intermediate(%x: !x "x", %w: tensor<64x96xf32> "w") {
  %h = mlp.launch -> !y {
    %0 = mlp.fused m = T, n = 96
        acc0 += %x[m, k] * %w[k, n] over k = 64, precision = tf32 : !x, tensor<64x96xf32>
        -> !y {
    ^bb0(%acc: f32):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %0 : !y
  }
  %g, %s = mlp.launch -> tensor<64x96xf32>, tensor<96xf32> {
    // expected-error @below {{sums an f32 operand that another launch computes, which is not built yet; sum it where it is computed}}
    %0, %1 = mlp.fused m = 64, n = 96
        acc0 += %x[k, m] * %h[k, n] over k = T, precision = tf32 : !x, !y
        sum_k b0
        -> tensor<64x96xf32>, tensor<96xf32> {
    ^bb0(%acc: f32):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %0, %1 : tensor<64x96xf32>, tensor<96xf32>
  }
  mlp.output %g "g", %s "s" : tensor<64x96xf32>, tensor<96xf32>
}

// -----

// The sum of a K-major operand runs along its rows.
mlp.graph @rows(%x: tensor<64x64xf32> "x", %w: tensor<64x96xf32> "w") {
  %y, %s = mlp.launch -> tensor<64x96xf32>, tensor<64xf32> {
    // expected-error @below {{sums an f32 operand of type 'tensor<64x64xf32>' to 64 values; only its sum over all axes but the last is built yet}}
    %0, %1 = mlp.fused m = 64, n = 96
        acc0 += %x[m, k] * %w[k, n] over k = 64, precision = tf32 : tensor<64x64xf32>, tensor<64x96xf32>
        sum_k a0
        -> tensor<64x96xf32>, tensor<64xf32> {
    ^bb0(%acc: f32):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %0, %1 : tensor<64x96xf32>, tensor<64xf32>
  }
  mlp.output %y "y", %s "s" : tensor<64x96xf32>, tensor<64xf32>
}

// -----

// A result that leads nowhere.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
mlp.graph @lost(%x: !x "x", %w: tensor<64x96xf32> "w") {
  %y = mlp.launch -> !y {
    // expected-error @below {{has a result that its launch does not yield}}
    %0, %1 = mlp.fused m = T, n = 96
        acc0 += %x[m, k] * %w[k, n] over k = 64, precision = tf32 : !x, tensor<64x96xf32>
        -> !y, tensor<96xf32> {
    ^bb0(%acc: f32):
      mlp.fused_yield store %acc : f32, sum_m %acc : f32
    }
    mlp.launch_yield %0 : !y
  }
  mlp.output %y "y" : !y
}

// -----

// A result under two names.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
mlp.graph @twice(%x: !x "x", %w: tensor<64x96xf32> "w") {
  // expected-error @below {{yields a result of a fused op twice}}
  %y, %z = mlp.launch -> !y, !y {
    %0 = mlp.fused m = T, n = 96
        acc0 += %x[m, k] * %w[k, n] over k = 64, precision = tf32 : !x, tensor<64x96xf32>
        -> !y {
    ^bb0(%acc: f32):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %0, %0 : !y, !y
  }
  mlp.output %y "y", %z "z" : !y, !y
}
