// REQUIRES: ptxas
// The real ptxas: setmaxnreg without a register count at launch is C7508. Inline
// assembly hides it from the check that comes before.
// RUN: not kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%ptxas -o %t.cubin 2>&1 | FileCheck %s

// CHECK: setmaxnreg-ignored.mlir:[[#@LINE+1]]:1: error: kernel 'kernel' loses performance on sm_90a: {{.*}}C7508{{.*}}'setmaxnreg' ignored
llvm.func @kernel() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 384, 1, 1>} {
  llvm.inline_asm has_side_effects "setmaxnreg.inc.sync.aligned.u32 232;", "" : () -> ()
  llvm.return
}
