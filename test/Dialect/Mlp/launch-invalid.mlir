// RUN: kernel-opt %s -split-input-file -verify-diagnostics

// mlp.launch (C1): an op that is not fused.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  // expected-error @below {{expects only mlp.fused ops in its body, but got 'arith.constant'}}
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %c = arith.constant 1.0 : f32
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %a = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %a : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.launch (C1): nothing to launch.
mlp.graph @g(%e: tensor<?x32xbf16, #mlp.dims<T, _>> "e") {
  // expected-error @below {{expects at least one mlp.fused op in its body}}
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    mlp.launch_yield %e : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.launch (C1): another terminator.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  // expected-error @below {{expects its body to end with mlp.launch_yield}}
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %a = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %a : bf16
    }
    ub.unreachable
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.launch (C3): another type yielded.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  // expected-error @below {{expects its terminator to yield its result types 'tensor<?x32xbf16, #mlp.dims<T, _>>', but it yields 'tensor<?x16xbf16, #mlp.dims<T, _>>'}}
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %a = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %a : bf16
    }
    mlp.launch_yield %x : tensor<?x16xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.launch (C2): an element operand that the same launch computes.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-note @below {{the operand is computed here}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %a = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %a : bf16
    }
    // expected-error @below {{expects no element operand from its own launch; what it reads must be written by an earlier launch}}
    %2 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        with %1[m, n] : tensor<?x32xbf16, #mlp.dims<T, _>>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %b: bf16):
      %a = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %a : bf16
    }
    mlp.launch_yield %2 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.launch (C3): a value from outside.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w",
             %e: tensor<?x32xbf16, #mlp.dims<T, _>> "e") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %a = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %a : bf16
    }
    // expected-error @below {{expects each operand to be a result of an mlp.fused op of this launch}}
    mlp.launch_yield %e : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}
