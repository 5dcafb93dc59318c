// Without a ptxas, or with one that will not do, the error says how to get one.
// RUN: rm -rf %t && mkdir -p %t/empty
// RUN: env PATH=%t/empty not kernel-opt %s --emit=cubin --target=sm_90a -o %t/out.cubin 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: kernel-opt: error: cannot find ptxas: install the Python package 'nvidia-cuda-nvcc' (13.0 or later) or the CUDA toolkit

// RUN: not kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%t/none -o %t/out.cubin 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: kernel-opt: error: cannot run '{{.*}}/none' as ptxas: no such program; install

// RUN: not kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-old.sh -o %t/out.cubin 2>&1 | FileCheck %s --check-prefix=OLD
// OLD: kernel-opt: error: '{{.*}}ptxas-old.sh' is ptxas 12.4.131, but at least 13.0 is needed; install

// RUN: not kernel-opt %s --emit=cubin --target=sm_90a --ptxas=/bin/true -o %t/out.cubin 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: kernel-opt: error: cannot use '/bin/true' as ptxas: '--version' prints no version

// What ptxas refuses is an error at the kernel, in ptxas's words.
// RUN: env FAKE_STATUS=255 FAKE_SAYS="ptxas fatal   : no luck" not kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-fake.sh --cache-dir= -o %t/out.cubin 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: ptxas-errors.mlir:[[#@LINE+5]]:1: error: ptxas 13.0.88 refuses kernel 'kernel' for sm_90a: ptxas fatal : no luck

// No error leaves a file.
// RUN: ls %t | FileCheck %s --check-prefix=LEFT --implicit-check-not={{.}}
// LEFT: empty
llvm.func @kernel() attributes {nvvm.kernel} {
  llvm.return
}
