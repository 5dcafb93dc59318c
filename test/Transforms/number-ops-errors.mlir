// RUN: kernel-opt %s -backfuse-number-ops -verify-diagnostics

// Numbers given before sugar is expanded would not be those of the bundle.
mlp.graph @sugar(%x: tensor<?x40xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{is sugar; run backfuse-expand-sugar first}}
  %0 = mlp.silu_grad %x rounding = once : tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %0 "y" : tensor<?x40xbf16, #mlp.dims<S, _>>
}
