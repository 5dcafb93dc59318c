// REQUIRES: ptxas
// One cubin for each kernel and target, the same bytes each time, and nothing
// left behind.
// RUN: rm -rf %t && mkdir -p %t/tmp
// RUN: env TMPDIR=%t/tmp kernel-opt %s --emit=cubin --target=sm_90a,sm_100f,sm_100a --ptxas=%ptxas --cache-dir= -o %t/a/
// RUN: env TMPDIR=%t/tmp kernel-opt %s --emit=cubin --target=sm_90a,sm_100f,sm_100a --ptxas=%ptxas --cache-dir= -j1 --dump-dir=%t/dump -o %t/b/
// RUN: ls %t/a | FileCheck %s --check-prefix=FILES
// RUN: diff -r %t/a %t/b
// RUN: ls -A %t/tmp | count 0

// FILES: one.sm_100a.cubin
// FILES-NEXT: one.sm_100f.cubin
// FILES-NEXT: one.sm_90a.cubin
// FILES-NEXT: two.sm_100a.cubin
// FILES-NEXT: two.sm_100f.cubin
// FILES-NEXT: two.sm_90a.cubin
// FILES-NOT: {{.}}

// The stages of each, and what ptxas said.
// RUN: ls %t/dump | FileCheck %s --check-prefix=DUMP
// RUN: FileCheck %s --check-prefix=SAID --input-file=%t/dump/two.sm_100f.ptxas
// DUMP: two.sm_100f.cubin
// DUMP-NEXT: two.sm_100f.ll
// DUMP-NEXT: two.sm_100f.opt.ll
// DUMP-NEXT: two.sm_100f.ptx
// DUMP-NEXT: two.sm_100f.ptxas
// SAID: Compiling entry function 'two' for 'sm_100f'
// SAID: Used {{[0-9]+}} registers

module {
  llvm.func @one(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %c = llvm.mlir.constant(1.0 : f32) : f32
    llvm.store %c, %x : f32, !llvm.ptr<1>
    llvm.return
  }
}
module {
  llvm.func @two(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %c = llvm.mlir.constant(2.0 : f32) : f32
    llvm.store %c, %x : f32, !llvm.ptr<1>
    llvm.return
  }
}
