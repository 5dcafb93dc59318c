// A gated layer's backward pass, small: two products, a choice by a parameter, a
// sum of an operand and an input that nothing reads.
!in = tensor<?x320xbf16, #mlp.dims<T, _>>
!out = tensor<?x576xbf16, #mlp.dims<T, _>>
mlp.graph @gated(%dy: !in "dy", %x: !out "x", %gate: !out "gate", %w: tensor<320x576xbf16> "w",
                 %bias: tensor<576xbf16> "bias", %alpha: f32 "alpha", %use_gate: i1 "use_gate") {
  %d = mlp.matmul %dy, %w : !in, tensor<320x576xbf16> -> !out
  %dx = arith.mulf %d, %x : !out
  %s = mlp.sigmoid %gate : !out
  %g = arith.mulf %dx, %s : !out
  %r = arith.select %use_gate, %g, %dx : i1, !out
  %dw = mlp.matmul %dy, %x contract [T] : !in, !out -> tensor<320x576xbf16>
  %db = mlp.sum %dy over [T] : !in -> tensor<320xbf16>
  mlp.output %r "dx", %dw "dw", %db "db" : !out, tensor<320x576xbf16>, tensor<320xbf16>
}
