// The column sum of an input that is converted is read by a later epilogue, in the
// launch that would add it up.
!x = tensor<?x72xf32, #mlp.dims<T, _>>
!h = tensor<?x136xf32, #mlp.dims<T, _>>
mlp.graph @sum_in_an_epilogue(%x: !x "x", %w: tensor<72x136xf32> "w", %v: tensor<136x72xf32> "v") {
  %s = mlp.sum %x over [T] : !x -> tensor<72xf32>
  %0 = mlp.matmul %x, %w precision fp16 : !x, tensor<72x136xf32> -> !h
  %h = mlp.relu %0 : !h
  %1 = mlp.matmul %h, %v precision fp16 : !h, tensor<136x72xf32> -> !x
  %b = mlp.broadcast %s : tensor<72xf32> -> !x
  %z = arith.addf %1, %b : !x
  %g = mlp.matmul %x, %h contract [T] precision fp16 : !x, !h -> tensor<72x136xf32>
  mlp.output %z "z", %g "g" : !x, tensor<72x136xf32>
}
