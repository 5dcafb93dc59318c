// RUN: kernel-opt %s --convert-mlp-to-tile -split-input-file -verify-diagnostics

// An op that fusion left out.
mlp.graph @g(%x: tensor<64x320xbf16> "x", %w: tensor<320x192xbf16> "w") {
  // expected-error @below {{is not in a launch (backfuse-fuse-into-launches puts it into one)}}
  %y = mlp.matmul %x, %w : tensor<64x320xbf16>, tensor<320x192xbf16> -> tensor<64x192xbf16>
  mlp.output %y "y" : tensor<64x192xbf16>
}

// -----

// No schedule.
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{has no schedule (backfuse-select-schedule gives it one)}}
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// A schedule of another compiler.
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{has no schedule (backfuse-select-schedule gives it one)}}
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        schedule = "mine"
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// No pool.
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w") {
  // expected-error @below {{has no pool (backfuse-select-schedule gives it one)}}
  %y = mlp.launch -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// One value under two names.
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  // expected-error @below {{names one value twice, y and z; output it once}}
  mlp.output %y "y", %y "z" : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// Rows of 12 bytes: copies take multiples of 16.
mlp.graph @g(%x: tensor<?x6xbf16, #mlp.dims<T, _>> "x", %w: tensor<6x192xbf16> "w") {
  // expected-error @below {{reads or writes a tensor of type 'tensor<?x6xbf16, #mlp.dims<T, _>>', whose rows of 6 elements are not a multiple of 16 bytes; pad them to a multiple of 8 elements}}
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 6 : tensor<?x6xbf16, #mlp.dims<T, _>>, tensor<6x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// Rows of the result of 40 bytes.
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x20xbf16> "w") {
  // expected-error @below {{reads or writes a tensor of type 'tensor<320x20xbf16>', whose rows of 20 elements are not a multiple of 16 bytes; pad them to a multiple of 8 elements}}
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x20xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 20
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x20xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x20xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x20xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x20xbf16, #mlp.dims<T, _>>
}

// -----

// An operand whose rows have a variable length.
mlp.graph @g(%x: tensor<320x?xbf16, #mlp.dims<_, T>> "x", %w: tensor<320x192xbf16> "w") {
  // expected-error @below {{reads a tensor of type 'tensor<320x?xbf16, #mlp.dims<_, T>>' along rows of variable length T; rows must have a fixed length: make the variable dimensions the leading ones}}
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[k, m] * %w[k, n] over k = 320 : tensor<320x?xbf16, #mlp.dims<_, T>>, tensor<320x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// Results of variable length.
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<?x320xbf16, #mlp.dims<U, _>> "w") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x?xbf16, #mlp.dims<T, U>> {
    // expected-error @below {{has results with rows of variable length U; rows must have a fixed length}}
    %a = mlp.fused m = T, n = U
        acc0 += %x[m, k] * %w[n, k] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<?x320xbf16, #mlp.dims<U, _>>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x?xbf16, #mlp.dims<T, U>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x?xbf16, #mlp.dims<T, U>>
  }
  mlp.output %y "y" : tensor<?x?xbf16, #mlp.dims<T, U>>
}

// -----

// A product of two f32 operands has no route here, but for tf32.
mlp.graph @g(%x: tensor<?x320xf32, #mlp.dims<T, _>> "x", %w: tensor<320x192xf32> "w") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{multiplies 'f32' by 'f32' operands, for which no route is built yet; cast one of them to bf16 or f16}}
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320, precision = fp16 : tensor<?x320xf32, #mlp.dims<T, _>>, tensor<320x192xf32>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// The sum of a K-major operand runs along its rows.
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w") {
  %y, %z = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?xbf16, #mlp.dims<T>> {
    // expected-error @below {{sums rows of a K-major operand, which is not built yet; sum columns}}
    %a, %b = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        sum_k a0
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?xbf16, #mlp.dims<T>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a, %b : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?xbf16, #mlp.dims<T>>
  }
  mlp.output %y "y", %z "z" : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?xbf16, #mlp.dims<T>>
}

// -----

// A stage passes the sum task once: it cannot add up both operands.
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %y: tensor<?x192xbf16, #mlp.dims<T, _>> "y") {
  %g, %s, %t = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<320x192xbf16>, tensor<320xf32>, tensor<192xf32> {
    // expected-error @below {{sums operands of one product twice, which is not built yet; leave one sum to another graph}}
    %a, %b, %c = mlp.fused m = 320, n = 192
        acc0 += %x[k, m] * %y[k, n] over k = T : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>
        sum_k a0
        sum_k b0
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<320x192xbf16>, tensor<320xf32>, tensor<192xf32> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a, %b, %c : tensor<320x192xbf16>, tensor<320xf32>, tensor<192xf32>
  }
  mlp.output %g "g", %s "s", %t "t" : tensor<320x192xbf16>, tensor<320xf32>, tensor<192xf32>
}

// -----

// Contractions of different lengths.
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w", %v: tensor<?x64xbf16, #mlp.dims<T, _>> "v", %u: tensor<64x192xbf16> "u") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{has contractions of different lengths, 320 and 64, which is not built yet; compute them apart}}
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        acc0 += %v[m, k] * %u[k, n] over k = 64 : tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<64x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// Two accumulators over a variable K.
mlp.graph @g(%x: tensor<?x640xbf16, #mlp.dims<T, _>> "x", %w: tensor<?x576xbf16, #mlp.dims<T, _>> "w") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<640x576xbf16> {
    // expected-error @below {{has 2 accumulators over a variable K, which is not built yet}}
    %a = mlp.fused m = 640, n = 576
        acc0 += %x[k, m] * %w[k, n] over k = T : tensor<?x640xbf16, #mlp.dims<T, _>>, tensor<?x576xbf16, #mlp.dims<T, _>>
        acc1 += %x[k, m] * %w[k, n] over k = T : tensor<?x640xbf16, #mlp.dims<T, _>>, tensor<?x576xbf16, #mlp.dims<T, _>>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<640x576xbf16> {
    ^bb0(%acc: f32, %acc1: f32):
      %p = arith.mulf %acc, %acc1 : f32
      %0 = arith.truncf %p : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<640x576xbf16>
  }
  mlp.output %y "y" : tensor<640x576xbf16>
}

// -----

// Boxes of two types that take several slots.
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w", %e0: tensor<?x192xbf16, #mlp.dims<T, _>> "e0", %e1: tensor<?x192xbf16, #mlp.dims<T, _>> "e1", %e2: tensor<?x192xbf16, #mlp.dims<T, _>> "e2", %e3: tensor<?x192xbf16, #mlp.dims<T, _>> "e3", %e4: tensor<?x192xbf16, #mlp.dims<T, _>> "e4") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xf32, #mlp.dims<T, _>> {
    // expected-error @below {{needs 6 boxes of 64x64 elements for its operands and results, of different types, which do not fit into the shared memory beside a 32768-byte stage; compute fewer results in one epilogue}}
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        with %e0[m, n], %e1[m, n], %e2[m, n], %e3[m, n], %e4[m, n] : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xf32, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %v0: bf16, %v1: bf16, %v2: bf16, %v3: bf16, %v4: bf16):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %a : tensor<?x192xf32, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xf32, #mlp.dims<T, _>>
}

// -----

// An extent that does not fit into 32 bits.
mlp.graph @g(%x: tensor<2147483648x320xbf16> "x", %w: tensor<320x192xbf16> "w") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<2147483648x192xbf16> {
    // expected-error @below {{has an extent of 2147483648, and kernels count with 32 bits, to 2147483647; cut the tensor}}
    %a = mlp.fused m = 2147483648, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<2147483648x320xbf16>, tensor<320x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<2147483648x192xbf16> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<2147483648x192xbf16>
  }
  mlp.output %y "y" : tensor<2147483648x192xbf16>
}

// -----

// More tiles than 32 bits count.
mlp.graph @g(%x: tensor<2147483647x320xbf16> "x", %w: tensor<320x2048xbf16> "w") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<2147483647x2048xbf16> {
    // expected-error @below {{has 268435456 tiles of 128x128, and kernels count up to 268435455; cut the tensor}}
    %a = mlp.fused m = 2147483647, n = 2048
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<2147483647x320xbf16>, tensor<320x2048xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<2147483647x2048xbf16> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<2147483647x2048xbf16>
  }
  mlp.output %y "y" : tensor<2147483647x2048xbf16>
}
