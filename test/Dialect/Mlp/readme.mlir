// RUN: kernel-opt %s -verify-roundtrip | FileCheck %s

// The graphs of dialects/Mlp/README.md.
// CHECK-LABEL: mlp.graph @gelu_layer(
// CHECK: mlp.output %{{.*}} "h", %{{.*}} "y" :
mlp.graph @gelu_layer(
    %x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<768x320xbf16> "w", %b: tensor<768xf32> "b") {
  %0 = mlp.matmul %x, %w transpose_b : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<768x320xbf16> -> tensor<?x768xf32, #mlp.dims<T, _>>
  %1 = mlp.broadcast %b : tensor<768xf32> -> tensor<?x768xf32, #mlp.dims<T, _>>
  %2 = arith.addf %0, %1 : tensor<?x768xf32, #mlp.dims<T, _>>
  %3 = mlp.gelu %2 form = tanh : tensor<?x768xf32, #mlp.dims<T, _>>
  %4 = arith.truncf %3 : tensor<?x768xf32, #mlp.dims<T, _>> to tensor<?x768xbf16, #mlp.dims<T, _>>
  mlp.output %2 "h", %4 "y" : tensor<?x768xf32, #mlp.dims<T, _>>, tensor<?x768xbf16, #mlp.dims<T, _>>
}

// CHECK-LABEL: mlp.graph @gelu_layer_backward(
// CHECK: mlp.output %{{.*}} "grad_x", %{{.*}} "grad_w", %{{.*}} "grad_b" :
mlp.graph @gelu_layer_backward(
    %dy: tensor<?x768xbf16, #mlp.dims<T, _>> "grad_y", %h: tensor<?x768xf32, #mlp.dims<T, _>> "h",
    %x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<768x320xbf16> "w") {
  %0 = arith.extf %dy : tensor<?x768xbf16, #mlp.dims<T, _>> to tensor<?x768xf32, #mlp.dims<T, _>>
  %1 = mlp.gelu_grad %h form = tanh rounding = once : tensor<?x768xf32, #mlp.dims<T, _>>
  %2 = arith.mulf %0, %1 : tensor<?x768xf32, #mlp.dims<T, _>>
  %3 = arith.truncf %2 : tensor<?x768xf32, #mlp.dims<T, _>> to tensor<?x768xbf16, #mlp.dims<T, _>>
  %dx = mlp.matmul %3, %w : tensor<?x768xbf16, #mlp.dims<T, _>>, tensor<768x320xbf16> -> tensor<?x320xbf16, #mlp.dims<T, _>>
  %dw = mlp.matmul %3, %x contract [T] : tensor<?x768xbf16, #mlp.dims<T, _>>, tensor<?x320xbf16, #mlp.dims<T, _>> -> tensor<768x320xbf16>
  %db = mlp.sum %2 over [T] : tensor<?x768xf32, #mlp.dims<T, _>> -> tensor<768xf32>
  mlp.output %dx "grad_x", %dw "grad_w", %db "grad_b" : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<768x320xbf16>, tensor<768xf32>
}
