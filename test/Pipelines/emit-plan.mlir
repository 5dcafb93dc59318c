// --emit=plan prints when each variant is taken, and what its launches get.
// RUN: kernel-opt %S/Inputs/gated.mlir --emit=plan --target=sm_90a --tuning=%S/Inputs/one-range.json | FileCheck %s

// CHECK: graph gated
// CHECK: target sm_90a
// CHECK: variant no tokens: sums are zero
// CHECK-NEXT: when T == 0{{$}}
// CHECK: zero fill output dx, T * 1152 bytes
// CHECK: zero fill output dw, 368640 bytes
// CHECK: zero fill output db, 640 bytes

// With the gate: a map of each tensor that is copied, in boxes; results of 64 rows
// at a time; the workspaces of the second product, whose K is split, and of the
// sum, whose parts have names; every split count as a number. What nothing reads is no argument.
// CHECK: variant use_gate=true, tile 128x256x64, splits 1/2
// CHECK-NEXT: when use_gate == 1 and 1 <= T{{$}}
// CHECK-NEXT: workspace 1187840 bytes
// CHECK-NEXT: w0 at 0
// CHECK-NEXT: w1 at 1179648
// CHECK: product at op 0: bf16
// CHECK: product at op {{[0-9]+}}: bf16
// CHECK: launch gated__use_gate_true__n256_launch0: 384 threads, {{[0-9]+}} bytes of shared memory, cooperative
// CHECK-DAG: map of input dy: BF16 64 x {{.*}}T{{.*}} x 5, box 64 x 64 x 2
// CHECK-DAG: map of input dy: BF16 320 x {{.*}}T{{.*}}, box 64 x 128
// CHECK-DAG: map of input x: BF16 64 x {{.*}}T{{.*}} x 9, box 64 x 64 x 4
// CHECK-DAG: map of input gate: BF16 576 x {{.*}}T{{.*}}, box 64 x
// CHECK-DAG: map of input w: BF16 64 x 320 x 9, box 64 x 64 x 4
// CHECK-DAG: map of output dx: BF16 576 x {{.*}}T{{.*}}, box 64 x 64
// CHECK-DAG: map of output dw: BF16 576 x 320, box 64 x 64
// CHECK-DAG: pointer to workspace w0
// CHECK-DAG: pointer to output db
// CHECK-DAG: value 2
// CHECK-DAG: launch tag

// Without the gate, the gate is no argument.
// CHECK: variant use_gate=false, tile 128x256x64, splits 1/2
// CHECK-NEXT: when use_gate == 0 and 1 <= T{{$}}
// CHECK: launch gated__use_gate_false__n256_launch0
// CHECK-NOT: input gate
// CHECK-NOT: bias
// CHECK-NOT: parameter alpha
