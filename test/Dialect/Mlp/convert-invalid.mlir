// RUN: kernel-opt %s -split-input-file -verify-diagnostics

// mlp.convert (C1): a 16-bit tensor.
mlp.graph @g(%x: tensor<?x64xbf16, #mlp.dims<T, _>> "x") {
  // expected-error @below {{expects an f32 tensor with a fixed last axis, but got 'tensor<?x64xbf16, #mlp.dims<T, _>>'}}
  %0 = mlp.convert %x : tensor<?x64xbf16, #mlp.dims<T, _>> -> tensor<?x64xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x64xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.convert (C1): rows of variable length.
mlp.graph @g(%x: tensor<64x?xf32, #mlp.dims<_, T>> "x") {
  // expected-error @below {{expects an f32 tensor with a fixed last axis, but got 'tensor<64x?xf32, #mlp.dims<_, T>>'}}
  %0 = mlp.convert %x : tensor<64x?xf32, #mlp.dims<_, T>> -> tensor<64x?xbf16, #mlp.dims<_, T>>
  mlp.output %0 "y" : tensor<64x?xbf16, #mlp.dims<_, T>>
}

// -----

// mlp.convert (C2): a sum without a copy.
mlp.graph @g(%x: tensor<?x64xf32, #mlp.dims<T, _>> "x") {
  // expected-error @below {{expects one or two copies, but got 0}}
  %0 = mlp.convert %x sum : tensor<?x64xf32, #mlp.dims<T, _>> -> tensor<64xf32>
  mlp.output %0 "y" : tensor<64xf32>
}

// -----

// mlp.convert (C2): three copies.
!c = tensor<?x64xbf16, #mlp.dims<T, _>>
mlp.graph @g(%x: tensor<?x64xf32, #mlp.dims<T, _>> "x") {
  // expected-error @below {{expects one or two copies, but got 3}}
  %0, %1, %2 = mlp.convert %x : tensor<?x64xf32, #mlp.dims<T, _>> -> !c, !c, !c
  mlp.output %0 "y" : !c
}

// -----

// mlp.convert (C2): other extents.
mlp.graph @g(%x: tensor<?x64xf32, #mlp.dims<T, _>> "x") {
  // expected-error @below {{expects copies of one 16-bit type with the tensor's extents, two only of bf16, but got 'tensor<?x64xbf16, #mlp.dims<S, _>>'}}
  %0 = mlp.convert %x : tensor<?x64xf32, #mlp.dims<T, _>> -> tensor<?x64xbf16, #mlp.dims<S, _>>
  mlp.output %0 "y" : tensor<?x64xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.convert (C2): a copy that is none.
mlp.graph @g(%x: tensor<?x64xf32, #mlp.dims<T, _>> "x") {
  // expected-error @below {{expects copies of one 16-bit type with the tensor's extents, two only of bf16, but got 'tensor<?x64xf32, #mlp.dims<T, _>>'}}
  %0 = mlp.convert %x : tensor<?x64xf32, #mlp.dims<T, _>> -> tensor<?x64xf32, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x64xf32, #mlp.dims<T, _>>
}

// -----

// mlp.convert (C2): two types.
mlp.graph @g(%x: tensor<?x64xf32, #mlp.dims<T, _>> "x") {
  // expected-error @below {{expects copies of one 16-bit type with the tensor's extents, two only of bf16, but got 'tensor<?x64xf16, #mlp.dims<T, _>>'}}
  %0, %1 = mlp.convert %x : tensor<?x64xf32, #mlp.dims<T, _>> -> tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<?x64xf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x64xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.convert (C2): two parts of f16, whose sum would not be the tensor.
!c = tensor<?x64xf16, #mlp.dims<T, _>>
mlp.graph @g(%x: tensor<?x64xf32, #mlp.dims<T, _>> "x") {
  // expected-error @below {{expects copies of one 16-bit type with the tensor's extents, two only of bf16, but got 'tensor<?x64xf16, #mlp.dims<T, _>>'}}
  %0, %1 = mlp.convert %x : tensor<?x64xf32, #mlp.dims<T, _>> -> !c, !c
  mlp.output %0 "y" : !c
}

// -----

// mlp.convert (C3): the sum over the wrong axis.
mlp.graph @g(%x: tensor<32x64xf32> "x") {
  // expected-error @below {{expects a sum with the last axis's extent, a float vector, but got 'tensor<32xf32>'}}
  %0, %1 = mlp.convert %x sum : tensor<32x64xf32> -> tensor<32x64xbf16>, tensor<32xf32>
  mlp.output %1 "y" : tensor<32xf32>
}

// -----

// mlp.convert (C3): a sum of integers.
mlp.graph @g(%x: tensor<32x64xf32> "x") {
  // expected-error @below {{expects a sum with the last axis's extent, a float vector, but got 'tensor<64xi32>'}}
  %0, %1 = mlp.convert %x sum : tensor<32x64xf32> -> tensor<32x64xbf16>, tensor<64xi32>
  mlp.output %0 "y" : tensor<32x64xbf16>
}
