// Other graphs of f32 products through the same passes, at each precision: a batch
// dimension and larger sizes (workload 167); ReLU, no biases, and sizes that no tile
// divides, where the activation is computed again and read by a product.
// RUN: kernel-opt %examples/mlp_gelu_backward_large.mlir --emit=plan --target=sm_90a --tuning=%S/Inputs/one-range-of-four.json --matmul-precision=fp16 | FileCheck %s --check-prefixes=LARGE,LARGE-FP16
// RUN: kernel-opt %examples/mlp_gelu_backward_large.mlir --emit=plan --target=sm_90a --tuning=%S/Inputs/one-range-of-four.json --matmul-precision=tf32 | FileCheck %s --check-prefixes=LARGE,LARGE-TF32
// RUN: kernel-opt %S/Inputs/relu.mlir --emit=plan --target=sm_90a --matmul-precision=fp16 | FileCheck %s --check-prefixes=RELU,RELU-FP16
// RUN: kernel-opt %S/Inputs/relu.mlir --emit=plan --target=sm_90a --matmul-precision=tf32 | FileCheck %s --check-prefixes=RELU,RELU-TF32

// LARGE: graph mlp_gelu_backward_large
// LARGE: when {{.*}}B{{.*}} * S == 0
// LARGE: variant {{.*}}splits
// LARGE-FP16-COUNT-4: product at op {{[0-9]+}}: fp16
// LARGE-TF32-COUNT-4: product at op {{[0-9]+}}: bf16x3: 3 products
// LARGE: launch mlp_gelu_backward_large__n{{64|128|256}}_convert0
// LARGE: launch mlp_gelu_backward_large__n{{64|128|256}}_launch1
// LARGE-NOT: _launch2

// RELU: graph relu
// RELU: variant {{.*}}splits
// RELU-FP16-COUNT-4: product at op {{[0-9]+}}: fp16
// RELU-TF32-COUNT-4: product at op {{[0-9]+}}: bf16x3: 3 products
// RELU: launch relu__n{{[0-9]+}}_convert0
// RELU: launch relu__n{{[0-9]+}}_launch1
// RELU-NOT: _launch2
