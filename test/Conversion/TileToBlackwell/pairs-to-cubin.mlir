// Pairs of CTAs that share tiles of 256 rows, as a tuning file asks for: ptxas
// takes them for both targets without spills, and the PTX holds what a pair
// needs.
// REQUIRES: ptxas
// RUN: rm -rf %t && split-file %s %t
// RUN: kernel-opt %t/project.mlir --tuning=%t/one.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --cache-dir= --dump-dir=%t/dump -o %t/cubins/
// RUN: %python %S/Inputs/check_reports.py %t/cubins %t/dump | FileCheck %s --check-prefix=SAID
// SAID: {{^[1-9][0-9]*}} kernels for each of sm_100a, sm_100f: no spills, no warnings

// RUN: cat %t/dump/project__m256n256_launch0.sm_100f.ptx | FileCheck %s --implicit-check-not=cta_group::1
// CHECK: .target sm_100f
// CHECK: .explicitcluster
// CHECK: .reqnctapercluster 2, 1, 1
// The other CTA is there, and its barriers, before anything is shared with it.
// CHECK: fence.mbarrier_init.release.cluster
// CHECK: barrier.cluster.arrive
// CHECK: barrier.cluster.wait
// CHECK: tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32
// CHECK: tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned
// Each CTA's copies count on the leader's barrier, for the bytes of both: 32 KiB
// each.
// CHECK-DAG: mov.b32 [[BYTES:%r[0-9]+]], 65536;
// CHECK-DAG: mbarrier.arrive.expect_tx.shared.b64 {{.*}}, [[BYTES]];
// CHECK-DAG: cp.async.bulk.tensor.{{[23]}}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2
// One product for both: M = 256, N = 256, bf16, B N-major.
// CHECK-DAG: {{272696464|0x10410490}}
// CHECK-DAG: tcgen05.mma.cta_group::2.kind::f16
// CHECK-DAG: tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64
// CHECK-DAG: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
// Each CTA drains its rows, and tells the leader.
// CHECK-DAG: tcgen05.ld.sync.aligned.32x32b.x32.b32
// CHECK-DAG: mbarrier.arrive.release.cluster.shared::cluster.b64
// Neither frees tensor memory nor ends before the other has come to its end.
// CHECK: barrier.cluster.arrive
// CHECK: barrier.cluster.wait
// CHECK: tcgen05.dealloc.cta_group::2.sync.aligned.b32
// CHECK-NOT: {{^}}{{[[:space:]]}}ret;
// CHECK: ret;

// The launch has whole pairs.
// RUN: kernel-opt %t/project.mlir --tuning=%t/one.json --emit=plan --target=sm_100f | FileCheck %s --check-prefix=PLAN
// PLAN: variant tile 256x256x64, splits 1
// PLAN: launch project__m256n256_launch0: 256 threads, {{.*}} bytes of shared memory, clusters of 2

// The examples, with splits, column sums of operands and of results.
// RUN: kernel-opt %examples/ssm_gate_backward.mlir --tuning=%t/two.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/079 -o %t/079.cubins/
// RUN: %python %S/Inputs/check_reports.py %t/079.cubins %t/079 | FileCheck %s --check-prefix=SAID
// RUN: cat %t/079/*use_silu_gate_true__m256n256*.sm_100f.ptx | FileCheck %s --check-prefix=SUMS
// The sum warps of the other CTA learn from the leader that a slot is full.
// SUMS: mbarrier.arrive.release.cluster.shared::cluster.b64
// SUMS: tcgen05.mma.cta_group::2.kind::f16
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --matmul-precision=fp16 --tuning=%t/four.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/fp16 -o %t/fp16.cubins/
// RUN: %python %S/Inputs/check_reports.py %t/fp16.cubins %t/fp16 | FileCheck %s --check-prefix=SAID
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --matmul-precision=bf16x3 --tuning=%t/four.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/bf16x3 -o %t/bf16x3.cubins/
// RUN: %python %S/Inputs/check_reports.py %t/bf16x3.cubins %t/bf16x3 | FileCheck %s --check-prefix=SAID
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --tuning=%t/four.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/tf32 -o %t/tf32.cubins/
// RUN: %python %S/Inputs/check_reports.py %t/tf32.cubins %t/tf32 | FileCheck %s --check-prefix=SAID

//--- one.json
{"ranges": [{"to": -1, "tile_m": 256, "tile_n": 256, "splits": [1]}]}
//--- two.json
{"ranges": [{"to": 1000, "tile_m": 256, "tile_n": 128, "splits": [1, 4]}, {"to": -1, "tile_m": 256, "tile_n": 256, "splits": [1, 2]}]}
//--- four.json
{"ranges": [{"to": 1000, "tile_m": 256, "tile_n": 128, "splits": [1, 1, 1, 4]}, {"to": -1, "tile_m": 256, "tile_n": 256, "splits": [1, 1, 1, 2]}]}
//--- project.mlir
!x = tensor<?x768xbf16, #mlp.dims<T, _>>
!y = tensor<?x1536xbf16, #mlp.dims<T, _>>
mlp.graph @project(%x: !x "x", %w: tensor<768x1536xbf16> "w") {
  %y = mlp.matmul %x, %w : !x, tensor<768x1536xbf16> -> !y
  mlp.output %y "y" : !y
}
