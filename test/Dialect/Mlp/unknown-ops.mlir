// RUN: kernel-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

// mlp.graph (C6): an op that no dialect has.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{'other.op' op is not allowed in mlp.graph; use an op of mlp, or an elementwise op of arith or math}}
  %y = "other.op"(%x) : (tensor<?x24xbf16, #mlp.dims<S, _>>) -> tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C10): the block ends with mlp.output.
// expected-error @below {{expects its block to end with mlp.output}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  "other.return"(%x) : (tensor<?x24xbf16, #mlp.dims<S, _>>) -> ()
}
