// The f32 example to kernels: one that copies the gradient, which two products read,
// to 16 bit, and one for all products. Landmarks only.
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=mlir --target=sm_90a --tuning=%S/Inputs/one-range-of-four.json --matmul-precision=fp16 | FileCheck %s --check-prefixes=CHECK,FP16 --implicit-check-not='{{(mlp|tile|scf|arith|cf|math)\.[a-z_]+ [%@]}}' --implicit-check-not=unrealized --implicit-check-not=f32.bf16 --implicit-check-not='llvm.func @mlp'
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=mlir --target=sm_90a --tuning=%S/Inputs/one-range-of-four.json --matmul-precision=tf32 | FileCheck %s --check-prefixes=CHECK,TF32 --implicit-check-not='{{(mlp|tile|scf|arith|cf|math)\.[a-z_]+ [%@]}}' --implicit-check-not=unrealized --implicit-check-not=f32.f16 --implicit-check-not=tf32 --implicit-check-not='llvm.func @mlp'

// The conversion uses no tensor cores and no asynchronous copies. It is the first:
// it lets the next kernel begin and waits for none.
// CHECK: llvm.func @mlp_gelu_backward__n128_convert0(
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK-NOT: wgmma
// CHECK-NOT: cp.async.bulk
// CHECK: griddepcontrol.launch_dependents
// CHECK-NOT: griddepcontrol.wait
// FP16: llvm.fptrunc {{.*}} : vector<4xf32> to vector<4xf16>
// TF32: llvm.fptrunc {{.*}} : vector<4xf32> to vector<4xbf16>
// TF32: llvm.fsub {{.*}} : vector<4xf32>

// The other sets up its barriers while the conversion ends, and loads the inputs,
// weights among them, as f32; what the conversion and its own tiles store is read
// only after they have said so. f32 operands are rounded on their way to registers,
// where wgmma takes A from; the derivative of the GELU is in the epilogue of the
// first product, which stores what the last two read, as transposed matrices.
// CHECK: llvm.func @mlp_gelu_backward__n128_launch1(
// CHECK-NOT: griddepcontrol.launch_dependents
// CHECK: mbarrier.init
// CHECK-NOT: griddepcontrol.wait
// CHECK: cp.async.bulk.tensor.shared.cluster.global
// CHECK: griddepcontrol.wait
// CHECK: ld.acquire.gpu.global.b64
// CHECK: fence.proxy.async
// FP16: llvm.fptrunc {{.*}} : vector<2xf32> to vector<2xf16>
// TF32: llvm.fptrunc {{.*}} : vector<2xf32> to vector<2xbf16>
// FP16: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{.*}}, {$128, $129, $130, $131}, db, p
// TF32: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}, {$128, $129, $130, $131}, db, p
// TF32-SAME: {$144, $145, $146, $147}, db, 1
// CHECK: ex2.approx
// FP16: llvm.fptrunc {{.*}} to {{.*}}f16
// TF32: llvm.fptrunc {{.*}} to {{.*}}bf16
// CHECK: stmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: st.relaxed.gpu.global.b64
