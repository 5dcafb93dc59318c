// What is wrong around a graph: named, a non-zero exit, and no partial file.
// RUN: rm -rf %t && mkdir -p %t/out %t/bin && cd %t

// An empty file, one that is no text, one that ends early, a directory.
// RUN: touch %t/empty.mlir
// RUN: not kernel-opt %t/empty.mlir --emit=bundle --target=sm_90a -o %t/out/a.bfb 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: holds neither a graph ('mlp.graph') nor a kernel
// RUN: head -c 4096 /dev/urandom > %t/noise.mlir
// RUN: not kernel-opt %t/noise.mlir --emit=bundle --target=sm_90a -o %t/out/a.bfb 2>&1 | FileCheck %s --check-prefix=NOISE
// NOISE: noise.mlir:{{[0-9]+:[0-9]+}}: error:
// RUN: printf 'ML\357R' > %t/bytecode.mlir && head -c 64 /dev/zero >> %t/bytecode.mlir
// RUN: not kernel-opt %t/bytecode.mlir --emit=bundle --target=sm_90a -o %t/out/a.bfb 2>&1 | FileCheck %s --check-prefix=BYTECODE
// BYTECODE: error:
// RUN: head -c 300 %S/Inputs/gated.mlir > %t/cut.mlir
// RUN: not kernel-opt %t/cut.mlir --emit=bundle --target=sm_90a -o %t/out/a.bfb 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: cut.mlir:{{[0-9]+:[0-9]+}}: error:
// RUN: not kernel-opt %t --emit=bundle --target=sm_90a -o %t/out/a.bfb 2>&1 | FileCheck %s --check-prefix=DIRECTORY
// DIRECTORY: error: {{.*}}directory

// A kind of output and a target that are not built yet.
// RUN: not kernel-opt %S/Inputs/gated.mlir --emit=header --target=sm_90a -o %t/out/a.h 2>&1 | FileCheck %s --check-prefix=HEADER
// HEADER: error: --emit=header of a graph is not built yet
// RUN: not kernel-opt %S/Inputs/gated.mlir --emit=bundle -o %t/out/a.bfb 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: --emit=bundle needs --target; there are: sm_90a, sm_100f, sm_100a

// A tuning file that is not there.
// RUN: not kernel-opt %S/Inputs/gated.mlir --emit=bundle --target=sm_90a --tuning=%t/none.json -o %t/out/a.bfb 2>&1 | FileCheck %s --check-prefix=TUNING
// TUNING: gated.mlir:{{[0-9]+:[0-9]+}}: error: tuning file '{{.*}}none.json': No such file or directory

// ptxas is not there, or too old, or is no program.
// RUN: not kernel-opt %S/Inputs/gated.mlir --emit=bundle --target=sm_90a --tuning=%S/Inputs/one-range.json --ptxas=%t/none -o %t/out/a.bfb 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: kernel-opt: error: {{.*}}none
// RUN: not kernel-opt %S/Inputs/gated.mlir --emit=bundle --target=sm_90a --tuning=%S/Inputs/one-range.json --ptxas=%S/../Target/Cubin/Inputs/ptxas-old.sh -o %t/out/a.bfb 2>&1 | FileCheck %s --check-prefix=OLD
// OLD: kernel-opt: error: {{.*}}ptxas-old.sh
// RUN: not kernel-opt %S/Inputs/gated.mlir --emit=bundle --target=sm_90a --tuning=%S/Inputs/one-range.json --ptxas=%S/Inputs/gated.mlir -o %t/out/a.bfb 2>&1 | FileCheck %s --check-prefix=PROGRAM
// PROGRAM: kernel-opt: error: {{.*}}gated.mlir

// RUN: ls -A %t/out | count 0
