// PTX of a gated layer: one kernel per variant, in a file each.
// RUN: rm -rf %t && kernel-opt %S/Inputs/gated.mlir --emit=ptx --target=sm_90a --tuning=%S/Inputs/one-range.json -o %t/
// RUN: ls %t | count 2
// RUN: FileCheck %s --input-file=%t/gated__use_gate_true__n256_launch0.sm_90a.ptx --check-prefixes=CHECK,GATE
// RUN: FileCheck %s --input-file=%t/gated__use_gate_false__n256_launch0.sm_90a.ptx --check-prefixes=CHECK,PLAIN

// Nothing is called, nothing lives in local memory.
// RUN: cat %t/*.ptx | FileCheck %s --check-prefix=NOT --implicit-check-not='.local' --implicit-check-not='.extern .func' --implicit-check-not='call' --implicit-check-not='__nv_'
// NOT: .target sm_90a

// CHECK: .target sm_90a
// CHECK: .visible .entry gated__use_gate_
// Maps are parameters of 128 bytes: dy twice, x twice, w, dx, dw, and the gate.
// GATE-COUNT-8: .b8 {{.*}}[128]
// PLAIN-COUNT-7: .b8 {{.*}}[128]
// CHECK-NOT: [128]
// CHECK: .reqntid 384
// CHECK-DAG: cp.async.bulk.tensor.{{[23]}}d.shared::cluster.global
// CHECK-DAG: setmaxnreg.dec.sync.aligned.u32
// CHECK-DAG: setmaxnreg.inc.sync.aligned.u32
// CHECK-DAG: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// CHECK-DAG: cp.async.bulk.tensor.2d.global.shared::cta

// 16-bit arithmetic is packed; the sigmoid is made of the special function unit's.
// CHECK: mul{{(.rn)?}}.bf16x2
// GATE: ex2.approx
// PLAIN-NOT: ex2.approx
// CHECK-NOT: mul{{(.rn)?}}.bf16 {{.*}}
