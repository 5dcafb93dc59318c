// Two products add up in one result; of the one the left operand is summed, of the
// other the right one, by different numbers of tiles.
!x = tensor<?x72xbf16, #mlp.dims<T, _>>
!y = tensor<?x392xbf16, #mlp.dims<T, _>>
mlp.graph @sums_of_two_products(%x: !x "x", %y: !y "y", %z: !x "z", %u: !y "u") {
  %0 = mlp.matmul %x, %y contract [T] : !x, !y -> tensor<72x392xbf16>
  %1 = mlp.matmul %z, %u contract [T] : !x, !y -> tensor<72x392xbf16>
  %2 = arith.addf %0, %1 : tensor<72x392xbf16>
  %s = mlp.sum %x over [T] : !x -> tensor<72xf32>
  %t = mlp.sum %u over [T] : !y -> tensor<392xf32>
  mlp.output %2 "g", %s "sx", %t "su" : tensor<72x392xbf16>, tensor<72xf32>, tensor<392xf32>
}
