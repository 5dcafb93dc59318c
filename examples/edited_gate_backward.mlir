// examples/ssm_gate_backward.mlir, edited: other sizes, the weight transposed, one
// more factor in the first gradient, no bias.
!hidden   = tensor<?x?x520xbf16, #mlp.dims<B, S, _>>
!expanded = tensor<?x?x1336xbf16, #mlp.dims<B, S, _>>
mlp.graph @edited_gate_backward(
    %dy: !hidden "grad_output", %ssm: !expanded "ssm_output", %gate: !expanded "gate",
    %w: tensor<1336x520xbf16> "weight", %gact: !expanded "gate_activated", %gated: !expanded "gated_output",
    %use_silu: i1 "use_silu_gate") {
  %d = mlp.matmul %dy, %w transpose_b : !hidden, tensor<1336x520xbf16> -> !expanded
  %grad_ssm0 = arith.mulf %d, %gact : !expanded
  %grad_ssm = arith.mulf %grad_ssm0, %gated : !expanded
  %dz = arith.mulf %d, %ssm : !expanded
  %ds = mlp.silu_grad %gate rounding = each_op : !expanded
  %dz_silu = arith.mulf %dz, %ds : !expanded
  %grad_gate = arith.select %use_silu, %dz_silu, %dz : !expanded
  %grad_w = mlp.matmul %gated, %dy contract [B, S] : !expanded, !hidden -> tensor<1336x520xbf16>
  mlp.output %grad_ssm "grad_ssm_output", %grad_gate "grad_gate", %grad_w "grad_weight"
      : !expanded, !expanded, tensor<1336x520xbf16>
}
