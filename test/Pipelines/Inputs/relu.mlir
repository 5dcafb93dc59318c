// The backward pass of relu(x . w1) . w2, no biases, in f32: four products of sizes
// that no tile divides. The activation is computed again.
!x  = tensor<?x200xf32, #mlp.dims<T, _>>
!h  = tensor<?x328xf32, #mlp.dims<T, _>>
!w1 = tensor<200x328xf32>
!w2 = tensor<328x200xf32>

mlp.graph @relu(%dy: !x "dy", %x: !x "x", %w1: !w1 "w1", %w2: !w2 "w2") {
  %u = mlp.matmul %x, %w1 precision tf32 : !x, !w1 -> !h
  %h = mlp.relu %u : !h
  %dh = mlp.matmul %dy, %w2 transpose_b precision tf32 : !x, !w2 -> !h
  %slope = mlp.relu_grad %u : !h
  %du = arith.mulf %dh, %slope : !h
  %dw2 = mlp.matmul %h, %dy contract [T] precision tf32 : !h, !x -> !w2
  %dw1 = mlp.matmul %x, %du contract [T] precision tf32 : !x, !h -> !w1
  mlp.output %dw1 "dw1", %dw2 "dw2" : !w1, !w2
}
