// RUN: kernel-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches,backfuse-route-products))'
// RUN: not kernel-opt %examples/mlp_gelu_backward.mlir -pass-pipeline='builtin.module(mlp.graph(backfuse-expand-sugar,backfuse-fuse-into-launches,backfuse-route-products{precision=int8}))' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not kernel-opt %examples/mlp_gelu_backward.mlir -pass-pipeline='builtin.module(mlp.graph(backfuse-expand-sugar,backfuse-fuse-into-launches,backfuse-route-products{precision=ieee}))' 2>&1 | FileCheck %s --check-prefix=IEEE
// UNKNOWN: mlp_gelu_backward.mlir:{{.*}}error: unknown precision 'int8'
// IEEE: mlp_gelu_backward.mlir:{{.*}}asks for a product of precision ieee, which the target's tensor cores cannot compute; use tf32, bf16x3, fp16 or bf16

// No route computes f32 products as they are.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
mlp.graph @ieee(%x: !x "x", %w: tensor<64x96xf32> "w") {
  // expected-error @below {{asks for a product of precision ieee, which the target's tensor cores cannot compute; use tf32, bf16x3, fp16 or bf16}}
  %y = mlp.matmul %x, %w precision ieee : !x, tensor<64x96xf32> -> !y
  mlp.output %y "y" : !y
}

// -----

// A bf16 operand would have to become f16.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
mlp.graph @narrow(%x: !x "x", %w: tensor<64x96xbf16> "w") {
  %wide = arith.extf %w : tensor<64x96xbf16> to tensor<64x96xf32>
  // expected-error @below {{multiplies 'bf16' by f32 with precision fp16, which reads 'f16' operands; rounding 16-bit operands to another type is not built yet}}
  %y = mlp.matmul %x, %wide precision fp16 : !x, tensor<64x96xf32> -> !y
  mlp.output %y "y" : !y
}

// -----

// An f16 operand in two parts of bf16.
!x = tensor<?x64xf16, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
mlp.graph @narrow(%x: !x "x", %w: tensor<64x96xf32> "w") {
  %wide = arith.extf %x : !x to tensor<?x64xf32, #mlp.dims<T, _>>
  // expected-error @below {{multiplies 'f16' by f32 with precision tf32, which reads 'bf16' operands}}
  %y = mlp.matmul %wide, %w precision tf32 : tensor<?x64xf32, #mlp.dims<T, _>>, tensor<64x96xf32> -> !y
  mlp.output %y "y" : !y
}

// -----

// A column sum as the operand of a product: no copies of it are stored.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
mlp.graph @sum(%x: !x "x", %w: tensor<64x96xf32> "w", %v: tensor<96x64xf32> "v") {
  %h = mlp.matmul %x, %w precision tf32 : !x, tensor<64x96xf32> -> !y
  %s = mlp.sum %h over [T] : !y -> tensor<96xf32>
  %row = mlp.expand %s [0, 1] : tensor<96xf32> -> tensor<1x96xf32>
  // expected-error @below {{multiplies a column sum of f32, which is not built yet; make the sum a graph's output and multiply it in another graph}}
  %y = mlp.matmul %row, %v precision tf32 : tensor<1x96xf32>, tensor<96x64xf32> -> tensor<1x64xf32>
  mlp.output %y "y" : tensor<1x64xf32>
}

// -----

// A sum to the columns of a collapsed operand: mlp.convert sums to the last axis.
!x = tensor<?x4x40xf32, #mlp.dims<T, _, _>>
!r = tensor<?x160xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
mlp.graph @collapsed(%x: !x "x", %y: !y "y") {
  %rows = mlp.collapse %x [1, 2] : !x -> !r
  // expected-error @below {{sums an f32 operand of type 'tensor<?x4x40xf32, #mlp.dims<T, _, _>>' to 160 values; only its sum over all axes but the last is built yet}}
  %g = mlp.matmul %rows, %y contract [T] precision fp16 : !r, !y -> tensor<160x96xf32>
  %s = mlp.sum %rows over [T] : !r -> tensor<160xf32>
  mlp.output %g "g", %s "s" : tensor<160x96xf32>, tensor<160xf32>
}

// -----

// One sum in two types.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x96xf32, #mlp.dims<T, _>>
mlp.graph @two_types(%x: !x "x", %y: !y "y") {
  // expected-error @below {{sums an f32 operand to 'f32' and to 'bf16', which is not built yet; sum it to one type}}
  %g = mlp.matmul %x, %y contract [T] precision fp16 : !x, !y -> tensor<64x96xf32>
  %s = mlp.sum %x over [T] : !x -> tensor<64xf32>
  %r = arith.truncf %s : tensor<64xf32> to tensor<64xbf16>
  mlp.output %g "g", %s "s", %r "r" : tensor<64x96xf32>, tensor<64xf32>, tensor<64xbf16>
}

// -----

// Rows of 1360 bytes, of which copies would have 680: those of an input.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x340xf32, #mlp.dims<T, _>>
mlp.graph @input_rows(%x: !x "x", %w: tensor<64x340xf32> "weight") {
  // expected-error @below {{multiplies 16-bit copies of the f32 input 'weight' of type 'tensor<64x340xf32>' (precision fp16); rows of 340 16-bit elements are not a multiple of 16 bytes: pad them to a multiple of 8 elements}}
  %y = mlp.matmul %x, %w precision fp16 : !x, tensor<64x340xf32> -> !y
  mlp.output %y "y" : !y
}

// -----

// Those that an epilogue would store.
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x340xf32, #mlp.dims<T, _>>
mlp.graph @computed_rows(%x: !x "x", %w: tensor<340x64xf32> "w") {
  %h = mlp.matmul %x, %w transpose_b precision bf16x3 : !x, tensor<340x64xf32> -> !y
  // expected-error @below {{multiplies 16-bit copies of a computed f32 operand of type 'tensor<?x340xf32, #mlp.dims<T, _>>' (precision bf16x3); rows of 340 16-bit elements are not a multiple of 16 bytes: pad them to a multiple of 8 elements}}
  %g = mlp.matmul %x, %h contract [T] precision bf16x3 : !x, !y -> tensor<64x340xf32>
  mlp.output %g "g" : tensor<64x340xf32>
}

// -----

// Those as a product reads them, of a copy with longer ones.
!x = tensor<?x4x20xf32, #mlp.dims<T, _, _>>
!y = tensor<?x80xf32, #mlp.dims<T, _>>
mlp.graph @read_rows(%x: !y "x", %w: tensor<80x80xf32> "w", %v: tensor<96x20xf32> "v") {
  %0 = mlp.matmul %x, %w precision tf32 : !y, tensor<80x80xf32> -> !y
  %heads = mlp.expand %0 [1, 2] : !y -> !x
  %h = arith.negf %heads : !x
  // expected-error @below {{multiplies 16-bit copies of a computed f32 operand of type 'tensor<?x4x20xf32, #mlp.dims<T, _, _>>' (precision tf32); rows of 20 16-bit elements}}
  %z = mlp.matmul %h, %v transpose_b precision tf32 : !x, tensor<96x20xf32> -> tensor<?x4x96xf32, #mlp.dims<T, _, _>>
  mlp.output %z "z" : tensor<?x4x96xf32, #mlp.dims<T, _, _>>
}
