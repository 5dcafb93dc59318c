// ptxas takes the kernels of a gated layer, of both variants: the compiler refuses
// spills and serialised products, so that files are proof of neither.
// REQUIRES: ptxas
// RUN: rm -rf %t %t.dump && kernel-opt %S/Inputs/gated.mlir --emit=cubin --target=sm_90a --ptxas=%ptxas --tuning=%S/Inputs/one-range.json --dump-dir=%t.dump -o %t/
// RUN: ls %t | FileCheck %s
// CHECK: gated__use_gate_false__n256_launch0.sm_90a.cubin
// CHECK-NEXT: gated__use_gate_true__n256_launch0.sm_90a.cubin
// RUN: cat %t.dump/*.ptxas | FileCheck %s --check-prefix=SAID --implicit-check-not='(C75'
// SAID-COUNT-2: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
