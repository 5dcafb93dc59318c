// --stop-after ends the pipeline behind a pass; one that does not run is refused
// with the list of those that do.
// RUN: kernel-opt %s --emit=mlir --stop-after=convert-nvvm-to-llvm | FileCheck %s
// RUN: kernel-opt %s --emit=mlir | FileCheck %s
// RUN: not kernel-opt %s --emit=mlir --stop-after=cse 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --stop-after=cse: no such pass; there are: convert-nvvm-to-llvm
// RUN: not kernel-opt %s --emit=mlir --stop-after=convert-nvvm-to-llvm,2 2>&1 | FileCheck %s --check-prefix=ONCE
// ONCE: error: --stop-after=convert-nvvm-to-llvm,2: 'convert-nvvm-to-llvm' runs only 1 time(s)
// RUN: not kernel-opt %s --emit=mlir --stop-after=cse,0 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: --stop-after=cse,0: expects a positive number after the comma

// --dump-dir has the IR after each pass that changed it.
// RUN: rm -rf %t && kernel-opt %s --emit=mlir --dump-dir=%t -o %t.mlir
// RUN: ls -R %t | FileCheck %s --check-prefix=DUMP
// DUMP: convert-nvvm-to-llvm.mlir

// CHECK-LABEL: llvm.func @kernel
// CHECK: llvm.inline_asm
llvm.func @kernel(%b: !llvm.ptr<3>, %count: i32, %p: i1) attributes {nvvm.kernel} {
  nvvm.mbarrier.init %b, %count, predicate = %p : !llvm.ptr<3>, i32, i1
  llvm.return
}
