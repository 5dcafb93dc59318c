// A product alone, for both targets, in tiles of one CTA as a tuning file asks for:
// ptxas takes it, nothing spills (the compiler would refuse it), and its PTX holds
// what must be there.
// REQUIRES: ptxas
// RUN: rm -rf %t %t.dump && mkdir -p %t.dump
// RUN: echo '{"ranges": [{"to": -1, "tile_n": 256, "splits": [1]}]}' > %t.dump/tiles.json
// RUN: kernel-opt %s --tuning=%t.dump/tiles.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --cache-dir= --dump-dir=%t.dump -o %t/
// RUN: ls %t | FileCheck %s --check-prefix=FILES
// FILES: project__n256_launch0.sm_100a.cubin
// FILES: project__n256_launch0.sm_100f.cubin
// RUN: cat %t.dump/*.ptxas | FileCheck %s --check-prefix=SAID --implicit-check-not=warning --implicit-check-not='(C7'
// SAID: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads

// Tensor memory is allocated once, the permit given back, and freed at the end.
// RUN: cat %t.dump/project__n256_launch0.sm_100f.ptx | FileCheck %s
// CHECK: .target sm_100f
// CHECK: .reqntid 256, 1, 1
// CHECK: .minnctapersm 1
// CHECK: mov.b32 [[COLUMNS:%r[0-9]+]], 512;
// CHECK-NEXT: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [{{.*}}], [[COLUMNS]];
// CHECK: tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned
// CHECK: tcgen05.fence::before_thread_sync
// CHECK: tcgen05.fence::after_thread_sync
// A K-major, B N-major, bf16, M = 128, N = 256.
// CHECK-DAG: tcgen05.mma.cta_group::1.kind::f16
// CHECK-DAG: {{138478736|0x8410490}}
// CHECK-DAG: tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64
// CHECK-DAG: cp.async.bulk.tensor.{{[23]}}d.shared::cluster.global
// CHECK-DAG: tcgen05.ld.sync.aligned.32x32b.x32.b32
// CHECK-DAG: tcgen05.wait::ld.sync.aligned
// CHECK-DAG: cp.async.bulk.tensor.2d.global.shared::cta
// CHECK: mov.b32 [[FREED:%r[0-9]+]], 512;
// CHECK-NEXT: tcgen05.dealloc.cta_group::1.sync.aligned.b32 {{.*}}, [[FREED]];
// CHECK-NOT: {{^}}{{[[:space:]]}}ret;
// CHECK: ret;

!x = tensor<?x768xbf16, #mlp.dims<T, _>>
!y = tensor<?x1536xbf16, #mlp.dims<T, _>>
mlp.graph @project(%x: !x "x", %w: tensor<768x1536xbf16> "w") {
  %y = mlp.matmul %x, %w : !x, tensor<768x1536xbf16> -> !y
  mlp.output %y "y" : !y
}
