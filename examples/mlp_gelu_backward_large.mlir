// The backward pass of a GELU MLP with a batch dimension (workload 167), in f32:
//   out = gelu(x . weight1^T + bias1) . weight2^T + bias2
// intermediate is the argument of the GELU (tanh form), intermediate_activated its
// result. B and S are only ever used as B*S: each product flattens them.
!hidden = tensor<?x?x2048xf32, #mlp.dims<B, S, _>>
!inner  = tensor<?x?x8192xf32, #mlp.dims<B, S, _>>
!w1     = tensor<8192x2048xf32>
!w2     = tensor<2048x8192xf32>

mlp.graph @mlp_gelu_backward_large(
    %dy: !hidden "grad_output",
    %x: !hidden "hidden_states",
    %w1: !w1 "weight1",
    %b1: tensor<8192xf32> "bias1",  // neither bias is needed backwards
    %w2: !w2 "weight2",
    %b2: tensor<2048xf32> "bias2",
    %h: !inner "intermediate",
    %g: !inner "intermediate_activated") {
  %dg = mlp.matmul %dy, %w2 precision tf32 : !hidden, !w2 -> !inner
  %slope = mlp.gelu_grad %h form = tanh rounding = each_op : !inner
  %dh = arith.mulf %dg, %slope : !inner

  %grad_x = mlp.matmul %dh, %w1 precision tf32 : !inner, !w1 -> !hidden
  %grad_w1 = mlp.matmul %dh, %x contract [B, S] precision tf32 : !inner, !hidden -> !w1
  %grad_b1 = mlp.sum %dh over [B, S] : !inner -> tensor<8192xf32>
  %grad_w2 = mlp.matmul %dy, %g contract [B, S] precision tf32 : !hidden, !inner -> !w2
  %grad_b2 = mlp.sum %dy over [B, S] : !hidden -> tensor<2048xf32>
  mlp.output %grad_x "grad_hidden_states",
             %grad_w1 "grad_weight1", %grad_b1 "grad_bias1",
             %grad_w2 "grad_weight2", %grad_b2 "grad_bias2"
      : !hidden, !w1, tensor<8192xf32>, !w2, tensor<2048xf32>
}
