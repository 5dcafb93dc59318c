// A flag's value that is not there is refused with the list of those that are.

// RUN: not kernel-opt %s --emit=sass 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: kernel-opt: error: unknown kind of output 'sass'; there are: mlir, plan, llvm, ptx, cubin, bundle{{$}}
// RUN: kernel-opt --help | FileCheck %s --check-prefix=HELP
// HELP: --emit=<kind>{{.*}}Not built yet: header, object, sol-execbench
// RUN: not kernel-opt %s --emit=ptx --target=sm_90 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: kernel-opt: error: unknown target 'sm_90'; there are: sm_90a, sm_100f, sm_100a
// RUN: not kernel-opt %s --emit=ptx --target=sm_90a,sm_100f,sm_90a 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: kernel-opt: error: target 'sm_90a' is named twice
// RUN: not kernel-opt %s --emit=ptx 2>&1 | FileCheck %s --check-prefix=NOTARGET
// NOTARGET: kernel-opt: error: --emit=ptx needs --target; there are: sm_90a, sm_100f, sm_100a
// RUN: not kernel-opt %s --emit=ptx --matmul-precision=fp8 2>&1 | FileCheck %s --check-prefix=PRECISION
// PRECISION: kernel-opt: error: unknown precision 'fp8'; there are: ieee, tf32, bf16x3, fp16, bf16

// Flags that would change nothing are refused.
// RUN: not kernel-opt %s --target=sm_90a 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: kernel-opt: error: --target needs --emit
// RUN: not kernel-opt %s --emit=ptx --target=sm_90a --cse 2>&1 | FileCheck %s --check-prefix=PASSES
// PASSES: kernel-opt: error: passes cannot be named with --emit
// RUN: not kernel-opt %s --emit=ptx --target=sm_90a --stop-after=cse 2>&1 | FileCheck %s --check-prefix=STOP
// STOP: kernel-opt: error: --stop-after needs --emit=mlir

// What takes a graph says so to kernels.
// RUN: not kernel-opt %s --emit=bundle --target=sm_90a -o %t.bfb 2>&1 | FileCheck %s --check-prefix=BUNDLE
// BUNDLE: kernel-opt: error: --emit=bundle takes a graph, but the input holds kernels
// RUN: not ls %t.bfb

// Several outputs need a directory; a file that is not there is named.
// RUN: not kernel-opt %s --emit=ptx --target=sm_90a,sm_100f -o %t.ptx 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: kernel-opt: error: --emit=ptx makes 2 files here; name a directory for them: -o DIRECTORY/
// RUN: not kernel-opt %t/none.mlir --emit=ptx --target=sm_90a 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: kernel-opt: error: cannot open input file '{{.*}}/none.mlir': No such file or directory
llvm.func @kernel() attributes {nvvm.kernel} {
  llvm.return
}
