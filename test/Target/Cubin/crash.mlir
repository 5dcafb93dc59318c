// A crash of the process that compiles a kernel is an error at that kernel, and
// the other's output is not written either. (This ptxas kills its caller.)
// RUN: rm -rf %t && mkdir -p %t/tmp
// RUN: env TMPDIR=%t/tmp FAKE_SIGNAL=SEGV not kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-kills.sh --cache-dir= -o %t/out/ 2>&1 | FileCheck %s
// RUN: env TMPDIR=%t/tmp FAKE_SIGNAL=KILL not kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-kills.sh --cache-dir= -o %t/out/ 2>&1 | FileCheck %s --check-prefix=KILL
// RUN: not ls %t/out
// RUN: ls -A %t/tmp | count 0

// KILL: error: the compiler crashed while generating code of kernel 'bad' for sm_90a: Killed
module {
  llvm.func @good() attributes {nvvm.kernel} {
    llvm.return
  }
}
module {
  // CHECK: crash.mlir:[[#@LINE+1]]:3: error: the compiler crashed while generating code of kernel 'bad' for sm_90a: Segmentation fault
  llvm.func @bad() attributes {nvvm.kernel} {
    llvm.return
  }
}
