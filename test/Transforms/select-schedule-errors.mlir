// RUN: kernel-opt %s --backfuse-select-schedule -split-input-file -verify-diagnostics
// RUN: not kernel-opt %s --backfuse-select-schedule=target=sm_80 -split-input-file 2>&1 | FileCheck %s
// CHECK: error: unknown target 'sm_80'; there are sm_90a, sm_100f, sm_100a

// An op that fusion left out.
mlp.graph @g(%x: tensor<64x320xbf16> "x", %w: tensor<320x192xbf16> "w") {
  // expected-error @below {{is not in a launch (backfuse-fuse-into-launches puts it into one)}}
  %y = mlp.matmul %x, %w : tensor<64x320xbf16>, tensor<320x192xbf16> -> tensor<64x192xbf16>
  mlp.output %y "y" : tensor<64x192xbf16>
}

// -----

// Three accumulators of the narrowest tile are more than two warpgroups hold.
// expected-error @below {{has no schedule on sm_90a: a product space has more accumulators than registers hold}}
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w", %v: tensor<320x192xbf16> "v", %u: tensor<320x192xbf16> "u") {
  %y = mlp.launch -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        acc1 += %x[m, k] * %v[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        acc2 += %x[m, k] * %u[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %acc1: f32, %acc2: f32):
      %p = arith.mulf %acc, %acc1 : f32
      %q = arith.mulf %p, %acc2 : f32
      %0 = arith.truncf %q : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// Ten boxes of two types do not fit into one slot, and several slots hold one type.
// expected-error @below {{has no schedule on sm_90a: needs 10 boxes of 64x64 elements for its operands and results, of different types}}
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w", %e0: tensor<?x192xbf16, #mlp.dims<T, _>> "e0", %e1: tensor<?x192xbf16, #mlp.dims<T, _>> "e1", %e2: tensor<?x192xbf16, #mlp.dims<T, _>> "e2", %e3: tensor<?x192xbf16, #mlp.dims<T, _>> "e3", %e4: tensor<?x192xbf16, #mlp.dims<T, _>> "e4", %e5: tensor<?x192xbf16, #mlp.dims<T, _>> "e5", %e6: tensor<?x192xbf16, #mlp.dims<T, _>> "e6", %e7: tensor<?x192xbf16, #mlp.dims<T, _>> "e7", %e8: tensor<?x192xbf16, #mlp.dims<T, _>> "e8") {
  %y = mlp.launch -> tensor<?x192xf32, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        with %e0[m, n], %e1[m, n], %e2[m, n], %e3[m, n], %e4[m, n], %e5[m, n], %e6[m, n], %e7[m, n], %e8[m, n] : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>
        -> tensor<?x192xf32, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %v0: bf16, %v1: bf16, %v2: bf16, %v3: bf16, %v4: bf16, %v5: bf16, %v6: bf16, %v7: bf16, %v8: bf16):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %a : tensor<?x192xf32, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xf32, #mlp.dims<T, _>>
}

// -----

// Sixteen boxes of f32 take more slots than there are.
// expected-error @below {{has no schedule on sm_90a: needs 16 boxes of 64x64 elements for its operands and results, which do not fit into the shared memory}}
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w", %e0: tensor<?x192xf32, #mlp.dims<T, _>> "e0", %e1: tensor<?x192xf32, #mlp.dims<T, _>> "e1", %e2: tensor<?x192xf32, #mlp.dims<T, _>> "e2", %e3: tensor<?x192xf32, #mlp.dims<T, _>> "e3", %e4: tensor<?x192xf32, #mlp.dims<T, _>> "e4", %e5: tensor<?x192xf32, #mlp.dims<T, _>> "e5", %e6: tensor<?x192xf32, #mlp.dims<T, _>> "e6", %e7: tensor<?x192xf32, #mlp.dims<T, _>> "e7", %e8: tensor<?x192xf32, #mlp.dims<T, _>> "e8", %e9: tensor<?x192xf32, #mlp.dims<T, _>> "e9", %e10: tensor<?x192xf32, #mlp.dims<T, _>> "e10", %e11: tensor<?x192xf32, #mlp.dims<T, _>> "e11", %e12: tensor<?x192xf32, #mlp.dims<T, _>> "e12", %e13: tensor<?x192xf32, #mlp.dims<T, _>> "e13", %e14: tensor<?x192xf32, #mlp.dims<T, _>> "e14", %e15: tensor<?x192xf32, #mlp.dims<T, _>> "e15") {
  %y = mlp.launch -> tensor<?x192xf32, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        with %e0[m, n], %e1[m, n], %e2[m, n], %e3[m, n], %e4[m, n], %e5[m, n], %e6[m, n], %e7[m, n], %e8[m, n], %e9[m, n], %e10[m, n], %e11[m, n], %e12[m, n], %e13[m, n], %e14[m, n], %e15[m, n] : tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>, tensor<?x192xf32, #mlp.dims<T, _>>
        -> tensor<?x192xf32, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %v0: f32, %v1: f32, %v2: f32, %v3: f32, %v4: f32, %v5: f32, %v6: f32, %v7: f32, %v8: f32, %v9: f32, %v10: f32, %v11: f32, %v12: f32, %v13: f32, %v14: f32, %v15: f32):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %a : tensor<?x192xf32, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xf32, #mlp.dims<T, _>>
}
