// RUN: kernel-opt %s --backfuse-select-schedule=target=sm_100f -split-input-file -verify-diagnostics

// Accumulators of five products of the narrowest tile take 640 of the 512 columns
// of tensor memory.
// expected-error @below {{has no schedule on sm_100f: a product space has 5 accumulators, and tensor memory holds 4 of 128 columns}}
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w0: tensor<320x192xbf16> "w0", %w1: tensor<320x192xbf16> "w1", %w2: tensor<320x192xbf16> "w2", %w3: tensor<320x192xbf16> "w3", %w4: tensor<320x192xbf16> "w4") {
  %y = mlp.launch -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w0[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        acc1 += %x[m, k] * %w1[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        acc2 += %x[m, k] * %w2[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        acc3 += %x[m, k] * %w3[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        acc4 += %x[m, k] * %w4[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%a0: f32, %a1: f32, %a2: f32, %a3: f32, %a4: f32):
      %p = arith.mulf %a0, %a1 : f32
      %q = arith.mulf %a2, %a3 : f32
      %r = arith.addf %p, %q : f32
      %s = arith.addf %r, %a4 : f32
      %0 = arith.truncf %s : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// Entries of sixteen boxes of 64x64 f32 take 256 KB each.
// expected-error @below {{has no schedule on sm_100f: two entries of 262144 bytes for the operands and results of an epilogue do not fit into the shared memory beside two 49152-byte stages; compute fewer results in one epilogue}}
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
