// With --line-info each instruction names the line of its op. Without, there is
// no trace of the source.
// RUN: kernel-opt %s --emit=ptx --target=sm_90a --line-info | FileCheck %s
// RUN: kernel-opt %s --emit=ptx --target=sm_90a | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: .loc
// PLAIN-NOT: .file
// CHECK-LABEL: .entry copy(
llvm.func @copy(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // CHECK: .loc 1 [[#@LINE+2]]
  // CHECK-NEXT: ld.global
  %v = llvm.load %x : !llvm.ptr<1> -> f32
  // CHECK: .loc 1 [[#@LINE+2]]
  // CHECK-NEXT: st.global
  llvm.store %v, %y : f32, !llvm.ptr<1>
  llvm.return
}
// CHECK: .file 1 "{{.*}}line-info.mlir"
