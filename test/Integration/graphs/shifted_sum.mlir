// A column sum of what is not zero where its operands are: rows beyond the
// extent, which TMA fills with zeros, must be masked.
!x = tensor<?x520xbf16, #mlp.dims<T, _>>
!y = tensor<?x264xbf16, #mlp.dims<T, _>>
mlp.graph @shifted_sum(%x: !x "x", %w: tensor<264x520xbf16> "w") {
  %d = mlp.matmul %x, %w transpose_b : !x, tensor<264x520xbf16> -> !y
  %c = arith.constant 1.0 : bf16
  %ones = mlp.broadcast %c : bf16 -> !y
  %e = arith.addf %d, %ones : !y
  %s = mlp.sum %e over [T] : !y -> tensor<264xbf16>
  mlp.output %e "e", %s "sum" : !y, tensor<264xbf16>
}
