// RUN: kernel-opt %s -split-input-file -test-mlp-graph-export -verify-diagnostics

// The list is that of the graph without sugar.
mlp.graph @sugar(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x") {
  // expected-error @below {{has no place in a bundle's op list; export the graph after backfuse-expand-sugar and before backfuse-fuse-into-launches}}
  %0 = mlp.silu_grad %x rounding = once : tensor<?x40xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x40xbf16, #mlp.dims<T, _>>
}

// -----

// The format has no extents that are products.
mlp.graph @product(%x: tensor<?x?x40xbf16, #mlp.dims<B, T, _>> "x") {
  // expected-error @below {{has an extent of B*T, which a bundle cannot record yet}}
  %0 = mlp.collapse %x [B, T] : tensor<?x?x40xbf16, #mlp.dims<B, T, _>> -> tensor<?x40xbf16, #mlp.dims<B*T, _>>
  %1 = mlp.expand %0 [B, T] : tensor<?x40xbf16, #mlp.dims<B*T, _>> -> tensor<?x?x40xbf16, #mlp.dims<B, T, _>>
  mlp.output %1 "y" : tensor<?x?x40xbf16, #mlp.dims<B, T, _>>
}

// -----

mlp.graph @flag_constant(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %p: i1 "p") {
  // expected-error @below {{is an i1 constant, which a bundle cannot record}}
  %true = arith.constant true
  %0 = arith.andi %p, %true : i1
  %1 = mlp.relu %x : tensor<?x40xbf16, #mlp.dims<T, _>>
  %2 = arith.select %0, %1, %x : tensor<?x40xbf16, #mlp.dims<T, _>>
  mlp.output %2 "y" : tensor<?x40xbf16, #mlp.dims<T, _>>
}
