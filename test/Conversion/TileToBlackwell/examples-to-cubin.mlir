// The examples, all their variants: ptxas takes them without spills.
// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir -p %t
// RUN: kernel-opt %examples/ssm_gate_backward.mlir --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/model -o %t/model.cubins/
// RUN: %python %S/Inputs/check_reports.py %t/model.cubins %t/model | FileCheck %s --check-prefix=SAID
// In tiles of one CTA, as a tuning file asks for.
// RUN: echo '{"ranges": [{"to": 1000, "tile_n": 128, "splits": [1, 2]}, {"to": -1, "tile_n": 256, "splits": [1, 1]}]}' > %t/tiles.json
// RUN: kernel-opt %examples/ssm_gate_backward.mlir --tuning=%t/tiles.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/079 -o %t/079.cubins/
// RUN: %python %S/Inputs/check_reports.py %t/079.cubins %t/079 | FileCheck %s --check-prefix=SAID
// SAID: {{^[1-9][0-9]*}} kernels for each of sm_100a, sm_100f: no spills, no warnings

// Two products: one K-major by N-major, one M-major by N-major, bf16, f32 sums.
// RUN: cat %t/079/*use_silu_gate_true__n128*.sm_100f.ptx | FileCheck %s
// CHECK: .reqntid 384, 1, 1
// CHECK: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32
// CHECK: tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned
// CHECK-COUNT-8: tcgen05.mma.cta_group::1.kind::f16
// CHECK-NOT: tcgen05.mma
// The sigmoid is of the special function unit, bf16 arithmetic packed.
// CHECK: tcgen05.ld.sync.aligned.32x32b.x32.b32
// CHECK: tcgen05.wait::ld.sync.aligned
// CHECK-DAG: ex2.approx.ftz.f32
// CHECK-DAG: mul{{(.rn)?}}.bf16x2
// CHECK: tcgen05.dealloc.cta_group::1.sync.aligned.b32

// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --matmul-precision=fp16 --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/fp16 -o %t/fp16.cubins/
// RUN: %python %S/Inputs/check_reports.py %t/fp16.cubins %t/fp16 | FileCheck %s --check-prefix=SAID
// A conversion and one launch: products of what the launch itself stores wait for
// the tiles' flags, which a drain sets when all its warps have stored.
// RUN: ls %t/fp16.cubins | FileCheck %s --check-prefix=STEPS --implicit-check-not=launch0 --implicit-check-not=launch2
// STEPS: convert0.sm_100f.cubin
// STEPS: launch1.sm_100f.cubin
// RUN: cat %t/fp16/*__m256n128_launch1.sm_100f.ptx | FileCheck %s --check-prefix=CHAIN
// CHAIN: ld.acquire.gpu.global.b64
// CHAIN: fence.proxy.async;
// CHAIN: bar.warp.sync
// CHAIN: cp.async.bulk.tensor.{{[23]}}d.shared::cluster.global
// CHAIN: tcgen05.ld
// CHAIN: cp.async.bulk.tensor.2d.global.shared::cta
// CHAIN: cp.async.bulk.wait_group{{[[:space:]]+}}0;
// CHAIN: bar.sync {{[[:space:]]*}}1, 128;
// CHAIN: st.release.gpu.global.b64
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --matmul-precision=bf16x3 --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/bf16x3 -o %t/bf16x3.cubins/
// RUN: %python %S/Inputs/check_reports.py %t/bf16x3.cubins %t/bf16x3 | FileCheck %s --check-prefix=SAID

// One bundle for both generations.
// RUN: kernel-opt %examples/ssm_gate_backward.mlir --emit=plan --target=sm_90a,sm_100f | FileCheck %s --check-prefix=PLAN
// PLAN: target sm_90a
// PLAN: target sm_100f
// PLAN: launch ssm_gate_backward__{{.*}}: 384 threads
