// The f32 example to kernels: one that copies what products read to 16 bit, and one
// for each of the two launches. Landmarks only.
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=mlir --target=sm_90a --tuning=%S/Inputs/one-range-of-four.json --matmul-precision=fp16 | FileCheck %s --check-prefixes=CHECK,FP16 --implicit-check-not='{{(mlp|tile|scf|arith|cf|math)\.[a-z_]+ [%@]}}' --implicit-check-not=unrealized --implicit-check-not=f32.bf16 --implicit-check-not='llvm.func @mlp'
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=mlir --target=sm_90a --tuning=%S/Inputs/one-range-of-four.json --matmul-precision=tf32 | FileCheck %s --check-prefixes=CHECK,TF32 --implicit-check-not='{{(mlp|tile|scf|arith|cf|math)\.[a-z_]+ [%@]}}' --implicit-check-not=unrealized --implicit-check-not=f32.f16 --implicit-check-not=tf32 --implicit-check-not='llvm.func @mlp'

// The conversion uses no tensor cores and no asynchronous copies. It is the first:
// it lets the next kernel begin and waits for none.
// CHECK: llvm.func @mlp_gelu_backward__n256_convert0(
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK-NOT: wgmma
// CHECK-NOT: cp.async.bulk
// CHECK: griddepcontrol.launch_dependents
// CHECK-NOT: griddepcontrol.wait
// FP16: llvm.fptrunc {{.*}} : vector<4xf32> to vector<4xf16>
// TF32: llvm.fptrunc {{.*}} : vector<4xf32> to vector<4xbf16>
// TF32: llvm.fsub {{.*}} : vector<4xf32>

// The first launch sets up its barriers while the conversion ends, and reads its
// copies only then. The derivative of the GELU is in its epilogue, which stores
// copies for the second launch.
// CHECK: llvm.func @mlp_gelu_backward__n256_launch1(
// CHECK: griddepcontrol.launch_dependents
// CHECK: mbarrier.init
// CHECK-NOT: cp.async.bulk
// CHECK: griddepcontrol.wait
// CHECK: cp.async.bulk.tensor.shared.cluster.global
// FP16: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16
// TF32: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// CHECK: ex2.approx
// FP16: llvm.fptrunc {{.*}} to {{.*}}f16
// TF32: llvm.fptrunc {{.*}} to {{.*}}bf16

// The second is the last.
// CHECK: llvm.func @mlp_gelu_backward__n256_launch2(
// CHECK-NOT: griddepcontrol.launch_dependents
// CHECK: mbarrier.init
// CHECK: griddepcontrol.wait
// FP16: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16
// TF32: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
