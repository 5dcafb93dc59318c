// RUN: kernel-opt %s --emit=ptx --target=sm_90a | FileCheck %s -DTARGET=sm_90a
// RUN: kernel-opt %s --emit=ptx --target=sm_100f | FileCheck %s -DTARGET=sm_100f
// RUN: kernel-opt %s --emit=ptx --target=sm_100a | FileCheck %s -DTARGET=sm_100a

// The launch bounds, the cluster and a tensor map that is passed by value reach
// the PTX, and the map is used where it lies.
// CHECK: .version 8.8
// CHECK-NEXT: .target [[TARGET]]
// CHECK: .visible .entry scale(
// CHECK-NEXT: .param .align 64 .b8 scale_param_0[128],
// CHECK: .reqntid 384, 1, 1
// CHECK-DAG: .maxnreg 168
// CHECK-DAG: .reqnctapercluster 2, 1, 1
// CHECK-NOT: .local
// CHECK: prefetch.param.tensormap
llvm.func @scale(
    %map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
    %x: !llvm.ptr<1>, %factor: f32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 384, 1, 1>, nvvm.maxnreg = 168,
                nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  nvvm.prefetch tensormap, %map : !llvm.ptr
  // A product and a sum are two roundings, whose PTX forbids ptxas to join them.
  // CHECK: mul.rn.f32
  // CHECK: add.rn.f32
  // CHECK-NOT: fma
  %v = llvm.load %x : !llvm.ptr<1> -> f32
  %p = llvm.fmul %v, %factor : f32
  %s = llvm.fadd %p, %v : f32
  llvm.store %s, %x : f32, !llvm.ptr<1>
  llvm.return
}
