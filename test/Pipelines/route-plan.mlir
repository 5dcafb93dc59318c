// The plan names the route of each product of the graph, once, however many products
// of parts it takes; --matmul-precision overrides the graph.
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=plan --target=sm_90a --tuning=%S/Inputs/one-range-of-four.json | FileCheck %s --check-prefixes=CHECK,SPLIT
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=plan --target=sm_90a --tuning=%S/Inputs/one-range-of-four.json --matmul-precision=bf16x3 | FileCheck %s --check-prefixes=CHECK,SPLIT
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=plan --target=sm_90a --tuning=%S/Inputs/one-range-of-four.json --matmul-precision=fp16 | FileCheck %s --check-prefixes=CHECK,FP16
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=plan --target=sm_90a --tuning=%S/Inputs/one-range-of-four.json --matmul-precision=bf16 | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: not kernel-opt %examples/mlp_gelu_backward.mlir --emit=plan --target=sm_90a --matmul-precision=ieee 2>&1 | FileCheck %s --check-prefix=IEEE

// CHECK: variant no tokens
// CHECK: splits 1/1/1/1
// SPLIT-COUNT-4: product at op {{[0-9]+}}: bf16x3: 3 products of bf16 parts
// FP16-COUNT-4: product at op {{[0-9]+}}: fp16{{$}}
// BF16-COUNT-4: product at op {{[0-9]+}}: bf16{{$}}
// CHECK-NOT: product at op
// CHECK: launch mlp_gelu_backward__n128_convert0: 256 threads, 0 bytes of shared memory{{$}}
// CHECK: launch mlp_gelu_backward__n128_launch1: 384 threads
// CHECK-NOT: launch mlp_gelu_backward

// IEEE: error: {{.*}}asks for a product of precision ieee, which the target's tensor cores cannot compute; use tf32, bf16x3, fp16 or bf16

// An operand that the graph extends from bf16 saves one product.
// RUN: kernel-opt %s --emit=plan --target=sm_90a --tuning=%S/Inputs/one-range-of-one.json | FileCheck %s --check-prefix=EXACT
// EXACT: splits 1
// EXACT: product at op {{[0-9]+}}: bf16x3: 2 products of bf16 parts
// EXACT-NOT: product at op
mlp.graph @exact(%x: tensor<?x64xf32, #mlp.dims<T, _>> "x", %w: tensor<64x96xbf16> "w") {
  %wide = arith.extf %w : tensor<64x96xbf16> to tensor<64x96xf32>
  %y = mlp.matmul %x, %wide precision tf32 : tensor<?x64xf32, #mlp.dims<T, _>>, tensor<64x96xf32> -> tensor<?x96xf32, #mlp.dims<T, _>>
  mlp.output %y "y" : tensor<?x96xf32, #mlp.dims<T, _>>
}
