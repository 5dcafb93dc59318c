// The backward pass of a GELU MLP (workload 022), in f32:
//   out = gelu(x . fc1_weight^T + fc1_bias) . fc2_weight^T + fc2_bias
// fc1_output is the argument of the GELU (tanh form), gelu_output its result.
!hidden = tensor<?x1280xf32, #mlp.dims<S, _>>
!inner  = tensor<?x3584xf32, #mlp.dims<S, _>>
!w1     = tensor<3584x1280xf32>
!w2     = tensor<1280x3584xf32>

mlp.graph @mlp_gelu_backward(
    %dy: !hidden "grad_output",
    %x: !hidden "hidden_state",
    %w1: !w1 "fc1_weight",
    %b1: tensor<3584xf32> "fc1_bias",  // neither bias is needed backwards
    %w2: !w2 "fc2_weight",
    %b2: tensor<1280xf32> "fc2_bias",
    %h: !inner "fc1_output",
    %g: !inner "gelu_output") {
  %dg = mlp.matmul %dy, %w2 precision tf32 : !hidden, !w2 -> !inner
  %slope = mlp.gelu_grad %h form = tanh rounding = each_op : !inner
  %dh = arith.mulf %dg, %slope : !inner

  %grad_x = mlp.matmul %dh, %w1 precision tf32 : !inner, !w1 -> !hidden
  %grad_w1 = mlp.matmul %dh, %x contract [S] precision tf32 : !inner, !hidden -> !w1
  %grad_b1 = mlp.sum %dh over [S] : !inner -> tensor<3584xf32>
  %grad_w2 = mlp.matmul %dy, %g contract [S] precision tf32 : !hidden, !inner -> !w2
  %grad_b2 = mlp.sum %dy over [S] : !hidden -> tensor<1280xf32>
  mlp.output %grad_x "grad_hidden_state",
             %grad_w1 "grad_fc1_weight", %grad_b1 "grad_fc1_bias",
             %grad_w2 "grad_fc2_weight", %grad_b2 "grad_fc2_bias"
      : !hidden, !w1, tensor<3584xf32>, !w2, tensor<1280xf32>
}
