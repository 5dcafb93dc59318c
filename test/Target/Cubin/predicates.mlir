// NVVM's translation drops the predicates of ops that have an intrinsic; the ops
// are made inline PTX before it, which keeps them.
// RUN: kernel-opt %s --emit=ptx --target=sm_90a | FileCheck %s

llvm.mlir.global external @barrier() {addr_space = 3 : i32, alignment = 8 : i64} : i64

// CHECK-LABEL: .entry predicated(
// CHECK: @{{.*}} mbarrier.init.shared.b64
llvm.func @predicated(%count: i32, %p: i1) attributes {nvvm.kernel} {
  %b = llvm.mlir.addressof @barrier : !llvm.ptr<3>
  nvvm.mbarrier.init %b, %count, predicate = %p : !llvm.ptr<3>, i32, i1
  llvm.return
}
