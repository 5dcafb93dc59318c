// The backward pass of a gated output projection (workload 079), in bf16:
//   out = (ssm_output * act(gate)) . weight + bias,   act = SiLU or the identity.
// Each op's result is rounded to bf16, as an eager framework does; the rounding
// inside the derivative of SiLU is part of what the reference computes.
!hidden   = tensor<?x?x768xbf16, #mlp.dims<B, S, _>>
!expanded = tensor<?x?x1536xbf16, #mlp.dims<B, S, _>>

mlp.graph @ssm_gate_backward(
    %dy: !hidden "grad_output",
    %ssm: !expanded "ssm_output",
    %gate: !expanded "gate",
    %w: tensor<768x1536xbf16> "weight",
    %bias: tensor<768xbf16> "bias",  // not needed backwards
    %gact: !expanded "gate_activated",
    %gated: !expanded "gated_output",
    %use_silu: i1 "use_silu_gate") {
  %d = mlp.matmul %dy, %w : !hidden, tensor<768x1536xbf16> -> !expanded
  %grad_ssm = arith.mulf %d, %gact : !expanded

  // act(gate): its gradient, through the derivative of SiLU if that was used.
  %dz = arith.mulf %d, %ssm : !expanded
  %ds = mlp.silu_grad %gate rounding = each_op : !expanded
  %dz_silu = arith.mulf %dz, %ds : !expanded
  %grad_gate = arith.select %use_silu, %dz_silu, %dz : !expanded

  %grad_w = mlp.matmul %dy, %gated contract [B, S] : !hidden, !expanded -> tensor<768x1536xbf16>
  %grad_b = mlp.sum %dy over [B, S] : !hidden -> tensor<768xbf16>
  mlp.output %grad_ssm "grad_ssm_output", %grad_gate "grad_gate",
             %grad_w "grad_weight", %grad_b "grad_bias"
      : !expanded, !expanded, tensor<768x1536xbf16>, tensor<768xbf16>
}
