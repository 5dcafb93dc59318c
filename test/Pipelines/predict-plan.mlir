// --emit=plan with --dims or --cases adds what the cost model says of each kernel.

// With the gate, tiles of 128x256 and two splits of the second product: dy, x,
// gate and w are read once (640000 + 2 x 1152000 + 368640 bytes), dx, dw and db
// written (1152000 + 368640 + 640); the partial sums of 3x3 tiles of 128 KB pass
// memory in both directions. 24 + 2 x 9 units. With the edges of tiles the
// products are 1024x768x320 and 384x768x1024. Times are the model's, not checked.
// RUN: kernel-opt %S/Inputs/gated.mlir --emit=plan --target=sm_90a,sm_100f --tuning=%S/Inputs/one-range.json --dims T=1000 --set=use_gate=true,alpha=0.5 | FileCheck %s
// CHECK-LABEL: graph gated
// CHECK: variant use_gate=true
// CHECK-LABEL: prediction for sm_90a on one H200 (rates fitted to measured times)
// CHECK-NEXT: case T=1000 alpha={{[0-9.e+-]+}} use_gate=1: [[US:[0-9.]+]] us with tiles of 128x256x64, splits 1/2
// CHECK-NEXT: launch gated__use_gate_true__n256_launch0: [[US]] us, bound by
// CHECK-NEXT: bytes 4492288 read, 2700928 written; operations 737280000 bf16, of whole tiles 1107296256
// CHECK-NEXT: units 42 on 132 SMs, 0.32 waves, busiest {{[0-9.]+}} of the average
// CHECK-NEXT: us: launch {{[0-9.]+}}, and the larger of device memory {{[0-9.]+}} and tensor core {{[0-9.]+}} + L2 {{[0-9.]+}} + drain {{[0-9.]+}} + hand-over {{[0-9.]+}}
// CHECK-NEXT: mean of 1 case(s): [[US]] us
// CHECK-NEXT: prediction for sm_100f on one B200 (rates from published figures, not measured)
// CHECK: bytes 4492288 read, 2700928 written; operations 737280000 bf16, of whole tiles 1107296256
// CHECK-NEXT: units 42 on 148 SMs, 0.28 waves

// A drain follows the products of its unit where accumulators are in registers,
// and is hidden by those of the next unit where they are in tensor memory.
// RUN: split-file %s %t
// RUN: kernel-opt %t/scaled.mlir --emit=plan --target=sm_90a,sm_100f --dims=T=20000 | FileCheck %s --check-prefix=OVERLAP
// OVERLAP-LABEL: prediction for sm_90a
// OVERLAP-NEXT: case T=20000
// OVERLAP: bytes 45154304 read, 81920000 written; operations 83886080000 bf16
// OVERLAP: + drain {{[1-9]}}
// OVERLAP-LABEL: prediction for sm_100f
// OVERLAP: + drain 0.0

// A file of cases, axes named as it likes: each case, then the mean.
// RUN: kernel-opt %S/Inputs/gated.mlir --emit=plan --target=sm_90a --cases=%t/cases.json | FileCheck %s --check-prefix=CASES
// CASES-LABEL: prediction for sm_90a
// CASES-NEXT: case T=1 alpha=2 use_gate=1: {{[0-9.]+}} us
// CASES: case T=600 alpha=2 use_gate=0: {{[0-9.]+}} us
// CASES: mean of 2 case(s): {{[0-9.]+}} us
// RUN: kernel-opt %S/Inputs/gated.mlir --emit=plan --target=sm_90a --cases=%t/cases.json | %python %S/Inputs/check-mean.py

// Nothing is left open in a graph of fixed extents: it is predicted unasked.
// RUN: kernel-opt %t/fixed.mlir --emit=plan --target=sm_100f | FileCheck %s --check-prefix=FIXED
// FIXED: prediction for sm_100f
// FIXED-NEXT: case fixed extents: {{[0-9.]+}} us
// FIXED: operations 2147483648 fp16, of whole tiles 2147483648

//--- cases.json
{"axes": {"rows": "variable", "in": 320, "out": 576},
 "inputs": {"dy": {"shape": ["rows", "in"], "dtype": "bfloat16"},
            "x": {"shape": ["rows", "out"], "dtype": "bfloat16"},
            "gate": {"shape": ["rows", 576], "dtype": "bfloat16"},
            "w": {"shape": [320, 576], "dtype": "bfloat16"},
            "bias": {"shape": [576], "dtype": "bfloat16"}},
 "outputs": {"dx": {"shape": ["rows", "out"], "dtype": "bfloat16"},
             "dw": {"shape": ["in", "out"], "dtype": "bfloat16"},
             "db": {"shape": ["in"], "dtype": "bfloat16"}},
 "cases": [{"axes": {"rows": 1}, "scalars": {"alpha": 2.0, "use_gate": true}},
           {"axes": {"rows": 600}, "scalars": {"alpha": 2.0, "use_gate": false}}]}
//--- scaled.mlir
mlp.graph @scaled(%x: tensor<?x1024xbf16, #mlp.dims<T, _>> "x", %w: tensor<1024x2048xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x1024xbf16, #mlp.dims<T, _>>, tensor<1024x2048xbf16> -> tensor<?x2048xbf16, #mlp.dims<T, _>>
  %1 = arith.mulf %0, %0 : tensor<?x2048xbf16, #mlp.dims<T, _>>
  mlp.output %1 "y" : tensor<?x2048xbf16, #mlp.dims<T, _>>
}
//--- fixed.mlir
mlp.graph @fixed(%a: tensor<1024x1024xf32> "a", %b: tensor<1024x1024xf32> "b") {
  %c = mlp.matmul %a, %b precision fp16 : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  mlp.output %c "c" : tensor<1024x1024xf32>
}
