// RUN: kernel-opt %s -split-input-file -verify-roundtrip | FileCheck %s

// The example of mlp.graph. Arguments print under their names.
// CHECK-LABEL: mlp.graph @linear_backward(
// CHECK-SAME: %grad_output: tensor<?x?x768xbf16, #mlp.dims<B, S, _>> "grad_output",
// CHECK-SAME: %weight: tensor<768x320xbf16> "weight") {
// CHECK: %[[DX:.*]] = mlp.matmul %grad_output, %weight : tensor
// CHECK: %[[DW:.*]] = mlp.matmul %grad_output, %input contract [B, S] : tensor
// CHECK: mlp.output %[[DX]] "grad_input", %[[DW]] "grad_weight" : tensor
mlp.graph @linear_backward(
    %dy: tensor<?x?x768xbf16, #mlp.dims<B, S, _>> "grad_output",
    %x: tensor<?x?x320xbf16, #mlp.dims<B, S, _>> "input",
    %w: tensor<768x320xbf16> "weight") {
  %dx = mlp.matmul %dy, %w : tensor<?x?x768xbf16, #mlp.dims<B, S, _>>, tensor<768x320xbf16> -> tensor<?x?x320xbf16, #mlp.dims<B, S, _>>
  %dw = mlp.matmul %dy, %x contract [B, S] : tensor<?x?x768xbf16, #mlp.dims<B, S, _>>, tensor<?x?x320xbf16, #mlp.dims<B, S, _>> -> tensor<768x320xbf16>
  mlp.output %dx "grad_input", %dw "grad_weight" : tensor<?x?x320xbf16, #mlp.dims<B, S, _>>, tensor<768x320xbf16>
}

// -----

// The examples of mlp.matmul and mlp.output.
// CHECK-LABEL: mlp.graph @orientations
// CHECK: mlp.matmul %dy, %w : tensor
// CHECK-SAME: -> tensor<?x320xf32, #mlp.dims<S, _>>
// CHECK: mlp.matmul %x, %w transpose_b : tensor
// CHECK: mlp.matmul %p, %q contract [S] precision tf32 : tensor
mlp.graph @orientations(
    %dy: tensor<?x768xbf16, #mlp.dims<S, _>> "dy", %w: tensor<768x320xbf16> "w",
    %x: tensor<?x320xbf16, #mlp.dims<S, _>> "x",
    %p: tensor<?x768xf32, #mlp.dims<S, _>> "p", %q: tensor<?x320xf32, #mlp.dims<S, _>> "q") {
  %0 = mlp.matmul %dy, %w : tensor<?x768xbf16, #mlp.dims<S, _>>, tensor<768x320xbf16> -> tensor<?x320xf32, #mlp.dims<S, _>>
  %1 = mlp.matmul %x, %w transpose_b : tensor<?x320xbf16, #mlp.dims<S, _>>, tensor<768x320xbf16> -> tensor<?x768xbf16, #mlp.dims<S, _>>
  %2 = mlp.matmul %p, %q contract [S] precision tf32 : tensor<?x768xf32, #mlp.dims<S, _>>, tensor<?x320xf32, #mlp.dims<S, _>> -> tensor<768x320xf32>
  %dx = arith.truncf %0 : tensor<?x320xf32, #mlp.dims<S, _>> to tensor<?x320xbf16, #mlp.dims<S, _>>
  mlp.output %dx "grad_input", %1 "y", %2 "grad_weight" : tensor<?x320xbf16, #mlp.dims<S, _>>, tensor<?x768xbf16, #mlp.dims<S, _>>, tensor<768x320xf32>
}

// -----

// CHECK-LABEL: mlp.graph @output_example
// CHECK: mlp.output %{{.*}} "grad_input" : tensor<?x320xbf16, #mlp.dims<S, _>>
mlp.graph @output_example(%x: tensor<?x320xbf16, #mlp.dims<S, _>> "x") {
  %dx = mlp.relu %x : tensor<?x320xbf16, #mlp.dims<S, _>>
  mlp.output %dx "grad_input" : tensor<?x320xbf16, #mlp.dims<S, _>>
}

// -----

// Leading axes without a name are contracted by number.
// CHECK-LABEL: mlp.graph @fixed_leading_axes
// CHECK: mlp.matmul %a, %b contract [0, 1] precision bf16x3 : tensor
mlp.graph @fixed_leading_axes(
    %a: tensor<6x?x48xf32, #mlp.dims<_, S, _>> "a", %b: tensor<6x?x40xf32, #mlp.dims<_, S, _>> "b") {
  %0 = mlp.matmul %a, %b contract [0, S] precision bf16x3 : tensor<6x?x48xf32, #mlp.dims<_, S, _>>, tensor<6x?x40xf32, #mlp.dims<_, S, _>> -> tensor<48x40xf32>
  mlp.output %0 "d" : tensor<48x40xf32>
}

// -----

// The examples of the elementwise ops.
// CHECK-LABEL: mlp.graph @activations
// CHECK: mlp.sigmoid %x : tensor
// CHECK: mlp.sigmoid %x afn : tensor
// CHECK: mlp.gelu %x form = tanh : tensor
// CHECK: mlp.gelu %x form = erf : tensor
// CHECK: mlp.silu %x : tensor
// CHECK: mlp.relu %x : tensor
// CHECK: mlp.gelu_grad %x form = tanh rounding = once : tensor
// CHECK: mlp.gelu_grad %x form = erf rounding = each_op afn : tensor
// CHECK: mlp.silu_grad %x rounding = each_op : tensor
// CHECK: mlp.relu_grad %x : tensor
mlp.graph @activations(%x: tensor<?x320xbf16, #mlp.dims<S, _>> "x") {
  %0 = mlp.sigmoid %x : tensor<?x320xbf16, #mlp.dims<S, _>>
  %1 = mlp.sigmoid %x afn : tensor<?x320xbf16, #mlp.dims<S, _>>
  %2 = mlp.gelu %x form = tanh : tensor<?x320xbf16, #mlp.dims<S, _>>
  %3 = mlp.gelu %x form = erf : tensor<?x320xbf16, #mlp.dims<S, _>>
  %4 = mlp.silu %x : tensor<?x320xbf16, #mlp.dims<S, _>>
  %5 = mlp.relu %x : tensor<?x320xbf16, #mlp.dims<S, _>>
  %6 = mlp.gelu_grad %x form = tanh rounding = once : tensor<?x320xbf16, #mlp.dims<S, _>>
  %7 = mlp.gelu_grad %x form = erf rounding = each_op afn : tensor<?x320xbf16, #mlp.dims<S, _>>
  %8 = mlp.silu_grad %x rounding = each_op : tensor<?x320xbf16, #mlp.dims<S, _>>
  %9 = mlp.relu_grad %x : tensor<?x320xbf16, #mlp.dims<S, _>>
  mlp.output %9 "y" : tensor<?x320xbf16, #mlp.dims<S, _>>
}

// -----

// The examples of mlp.broadcast; the trailing axes are not written.
// CHECK-LABEL: mlp.graph @broadcasts
// CHECK: mlp.broadcast %bias : tensor<320xbf16> -> tensor<?x320xbf16, #mlp.dims<S, _>>
// CHECK: mlp.broadcast %scale : f32 -> tensor<?x320xf32, #mlp.dims<S, _>>
// CHECK: mlp.broadcast %rows dims = [0] : tensor<?xf32, #mlp.dims<S>> -> tensor
mlp.graph @broadcasts(
    %bias: tensor<320xbf16> "bias", %rows: tensor<?xf32, #mlp.dims<S>> "rows", %scale: f32 "scale") {
  %0 = mlp.broadcast %bias : tensor<320xbf16> -> tensor<?x320xbf16, #mlp.dims<S, _>>
  %1 = mlp.broadcast %scale : f32 -> tensor<?x320xf32, #mlp.dims<S, _>>
  %2 = mlp.broadcast %rows dims = [0] : tensor<?xf32, #mlp.dims<S>> -> tensor<?x320xf32, #mlp.dims<S, _>>
  mlp.output %0 "a", %1 "b", %2 "c" : tensor<?x320xbf16, #mlp.dims<S, _>>, tensor<?x320xf32, #mlp.dims<S, _>>, tensor<?x320xf32, #mlp.dims<S, _>>
}

// -----

// The examples of mlp.sum: axes print by name only where all have one.
// CHECK-LABEL: mlp.graph @sums
// CHECK: mlp.sum %x over [S] : tensor<?x320xbf16, #mlp.dims<S, _>> -> tensor<320xbf16>
// CHECK: mlp.sum %x over [0, 1] : tensor<?x320xbf16, #mlp.dims<S, _>> -> tensor<f32>
mlp.graph @sums(%x: tensor<?x320xbf16, #mlp.dims<S, _>> "x") {
  %0 = mlp.sum %x over [S] : tensor<?x320xbf16, #mlp.dims<S, _>> -> tensor<320xbf16>
  %1 = mlp.sum %x over [0, 1] : tensor<?x320xbf16, #mlp.dims<S, _>> -> tensor<f32>
  mlp.output %0 "column_sums", %1 "sum" : tensor<320xbf16>, tensor<f32>
}

// -----

// The example of mlp.collapse. A product has one form, however it is written.
// CHECK-LABEL: mlp.graph @collapse
// CHECK: mlp.collapse %x [B, S] : tensor<?x?x320xbf16, #mlp.dims<B, S, _>> -> tensor<?x320xbf16, #mlp.dims<B*S, _>>
// CHECK: mlp.collapse %x [1, 2] : tensor<?x?x320xbf16, #mlp.dims<B, S, _>> -> tensor<?x?xbf16, #mlp.dims<B, 320*S>>
// CHECK: mlp.expand %{{.*}} [1, 2] : tensor<?x?xbf16, #mlp.dims<B, 320*S>>
mlp.graph @collapse(%x: tensor<?x?x320xbf16, #mlp.dims<B, S, _>> "x") {
  %0 = mlp.collapse %x [B, S] : tensor<?x?x320xbf16, #mlp.dims<B, S, _>> -> tensor<?x320xbf16, #mlp.dims<B*S, _>>
  %1 = mlp.collapse %x [1, 2] : tensor<?x?x320xbf16, #mlp.dims<B, S, _>> -> tensor<?x?xbf16, #mlp.dims<B, S*320>>
  %2 = mlp.expand %1 [1, 2] : tensor<?x?xbf16, #mlp.dims<B, 320*S>> -> tensor<?x?x320xbf16, #mlp.dims<B, S, _>>
  mlp.output %2 "y" : tensor<?x?x320xbf16, #mlp.dims<B, S, _>>
}

// -----

// The example of mlp.expand.
// CHECK-LABEL: mlp.graph @expand
// CHECK: mlp.expand %{{.*}} [B, S] : tensor<?x320xbf16, #mlp.dims<B*S, _>> -> tensor<?x?x320xbf16, #mlp.dims<B, S, _>>
mlp.graph @expand(%y: tensor<?x?x320xbf16, #mlp.dims<B, S, _>> "y") {
  %x = mlp.collapse %y [B, S] : tensor<?x?x320xbf16, #mlp.dims<B, S, _>> -> tensor<?x320xbf16, #mlp.dims<S*B, _>>
  %0 = mlp.expand %x [B, S] : tensor<?x320xbf16, #mlp.dims<B*S, _>> -> tensor<?x?x320xbf16, #mlp.dims<B, S, _>>
  mlp.output %0 "z" : tensor<?x?x320xbf16, #mlp.dims<B, S, _>>
}

// -----

// What a graph may hold of arith and math, on tensors and scalars.
// CHECK-LABEL: mlp.graph @elementwise
// CHECK-SAME: assumptions {flag = true}
mlp.graph @elementwise(%x: tensor<?x24xf32, #mlp.dims<S, _>> "x", %scale: f32 "scale", %flag: i1 "flag", %other: i1 "other") assumptions {flag = true} {
  %two = arith.constant 2.0 : f32
  %s = arith.mulf %scale, %two fastmath<contract> : f32
  %big = arith.cmpf ogt, %s, %two : f32
  %both = arith.andi %flag, %big : i1
  %any = arith.ori %both, %other : i1
  %b = mlp.broadcast %s : f32 -> tensor<?x24xf32, #mlp.dims<S, _>>
  %0 = arith.addf %x, %b : tensor<?x24xf32, #mlp.dims<S, _>>
  %1 = arith.cmpf une, %0, %x : tensor<?x24xf32, #mlp.dims<S, _>>
  %2 = arith.select %1, %0, %x : tensor<?x24xi1, #mlp.dims<S, _>>, tensor<?x24xf32, #mlp.dims<S, _>>
  %3 = arith.select %any, %2, %x : tensor<?x24xf32, #mlp.dims<S, _>>
  %4 = math.tanh %3 fastmath<afn> : tensor<?x24xf32, #mlp.dims<S, _>>
  %5 = math.rsqrt %4 : tensor<?x24xf32, #mlp.dims<S, _>>
  %6 = arith.maximumf %5, %x : tensor<?x24xf32, #mlp.dims<S, _>>
  %7 = arith.truncf %6 : tensor<?x24xf32, #mlp.dims<S, _>> to tensor<?x24xf16, #mlp.dims<S, _>>
  mlp.output %7 "y" : tensor<?x24xf16, #mlp.dims<S, _>>
}
