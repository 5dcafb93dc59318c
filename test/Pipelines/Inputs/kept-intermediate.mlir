// h is an output, an element operand and the operand of a product; the sum of x is
// rounded to bf16.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!h = tensor<?x96xf32, #mlp.dims<T, _>>
mlp.graph @kept(%x: !x "x", %w: tensor<64x96xf32> "w", %v: tensor<96x96xf32> "v") {
  %h = mlp.matmul %x, %w precision tf32 : !x, tensor<64x96xf32> -> !h
  %d = mlp.matmul %h, %v precision fp16 : !h, tensor<96x96xf32> -> !h
  %y = arith.mulf %d, %h : !h
  %g = mlp.matmul %x, %h contract [T] precision tf32 : !x, !h -> tensor<64x96xf32>
  %s = mlp.sum %x over [T] : !x -> tensor<64xf32>
  %r = arith.truncf %s : tensor<64xf32> to tensor<64xbf16>
  mlp.output %y "y", %h "h", %g "g", %r "s" : !h, !h, tensor<64x96xf32>, tensor<64xbf16>
}
