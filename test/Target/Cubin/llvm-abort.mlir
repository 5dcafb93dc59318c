// LLVM ends the process on what it cannot select: tanh that must be accurate. In
// a child process that is a diagnostic at the kernel, and the others still have
// theirs.
// RUN: rm -rf %t && not kernel-opt %s --emit=ptx --target=sm_90a -o %t/ 2>&1 | FileCheck %s
// RUN: not ls %t

module {
  // CHECK: llvm-abort.mlir:[[#@LINE+1]]:3: error: LLVM failed while generating code of kernel 'bad' for sm_90a: Cannot select: {{.*}}ftanh
  llvm.func @bad(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %v = llvm.load %x : !llvm.ptr<1> -> f32
    %e = llvm.intr.tanh(%v) : (f32) -> f32
    llvm.store %e, %x : f32, !llvm.ptr<1>
    llvm.return
  }
}
module {
  llvm.func @good() attributes {nvvm.kernel} {
    llvm.return
  }
}
module {
  // CHECK: llvm-abort.mlir:[[#@LINE+2]]:3: error: LLVM: no libcall available for fexp
  // CHECK: error: LLVM failed while generating code of kernel 'bad_too' for sm_90a: Cannot select:
  llvm.func @bad_too(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %v = llvm.load %x : !llvm.ptr<1> -> f32
    %e = llvm.intr.exp(%v) : (f32) -> f32
    llvm.store %e, %x : f32, !llvm.ptr<1>
    llvm.return
  }
}
