// RUN: kernel-opt %s -split-input-file -backfuse-specialize -verify-diagnostics

// Five flags would be 32 variants.
// expected-error @below {{expects to use at most 4 i1 parameters, but uses 5}}
mlp.graph @too_many_flags(%x: tensor<?x40xf32, #mlp.dims<S, _>> "x",
    %a: i1 "a", %b: i1 "b", %c: i1 "c", %d: i1 "d", %e: i1 "e") {
  %0 = arith.andi %a, %b : i1
  %1 = arith.andi %0, %c : i1
  %2 = arith.andi %1, %d : i1
  %3 = arith.andi %2, %e : i1
  %4 = mlp.relu %x : tensor<?x40xf32, #mlp.dims<S, _>>
  %5 = arith.select %3, %4, %x : tensor<?x40xf32, #mlp.dims<S, _>>
  mlp.output %5 "y" : tensor<?x40xf32, #mlp.dims<S, _>>
}

// -----

// Sugar is expanded before.
mlp.graph @sugar(%x: tensor<?x40xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{is sugar; run backfuse-expand-sugar first}}
  %0 = mlp.relu_grad %x : tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %0 "y" : tensor<?x40xbf16, #mlp.dims<S, _>>
}
