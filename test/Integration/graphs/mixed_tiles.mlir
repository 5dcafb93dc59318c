// One fused op is computed transposed, in tiles of fewer rows than the others', and
// stores what is not zero where its operands are; others multiply it in their tiles.
!x = tensor<?x72xf32, #mlp.dims<T, _>>
!h = tensor<?x136xf32, #mlp.dims<T, _>>
mlp.graph @mixed_tiles(%x: !x "x", %w: tensor<72x136xf32> "w", %v16: tensor<136x72xf16> "v", %b: tensor<136xf32> "b") {
  %v = arith.extf %v16 : tensor<136x72xf16> to tensor<136x72xf32>
  %0 = mlp.matmul %x, %w precision fp16 : !x, tensor<72x136xf32> -> !h
  %bias = mlp.broadcast %b : tensor<136xf32> -> !h
  %h = arith.addf %0, %bias : !h
  %1 = mlp.matmul %h, %v precision fp16 : !h, tensor<136x72xf32> -> !x
  %z = mlp.relu %1 : !x
  %g = mlp.matmul %x, %h contract [T] precision fp16 : !x, !h -> tensor<72x136xf32>
  %s = mlp.sum %h over [T] : !h -> tensor<136xf32>
  %sx = mlp.sum %x over [T] : !x -> tensor<72xf32>
  mlp.output %z "z", %g "g", %s "s", %sx "sx" : !x, tensor<72x136xf32>, tensor<136xf32>, tensor<72xf32>
}
