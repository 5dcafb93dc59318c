// Products of f32 operands in tf32: no copies of 16 bits, maps that round, and
// ptxas takes every variant.
// REQUIRES: ptxas
// RUN: rm -rf %t && split-file %s %t
// RUN: kernel-opt %t/project.mlir --tuning=%t/tiles.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --cache-dir= --dump-dir=%t/dump -o %t/cubins/
// RUN: %python %S/Inputs/check_reports.py %t/cubins %t/dump | FileCheck %s --check-prefix=SAID
// SAID: {{^[1-9][0-9]*}} kernels for each of sm_100a, sm_100f: no spills, no warnings

// A K-major, B N-major, 8 elements of K an instruction, 32 in a step: four
// instructions. Alone M = 128 and N = 256, of a pair M = 256.
// RUN: cat %t/dump/project__n256_launch0.sm_100f.ptx | FileCheck %s --check-prefixes=CHECK,ONE --implicit-check-not=kind::f16
// RUN: cat %t/dump/project__m256n256_launch0.sm_100f.ptx | FileCheck %s --check-prefixes=CHECK,PAIR --implicit-check-not=kind::f16
// ONE-DAG: {{138479888|0x8410910}}
// PAIR-DAG: {{272697616|0x10410910}}
// Descriptors less the address: of A 0x4000404000010000, steps of 32 bytes; of B
// atoms of 32 bytes, 0x2000402001000000, steps of 8 rows.
// CHECK-DAG: or.b64 {{.*}}, 4611756662049538048;
// CHECK-DAG: or.b64 {{.*}}, 4611756662049538050;
// CHECK-DAG: or.b64 {{.*}}, 4611756662049538054;
// CHECK-DAG: or.b64 {{.*}}, 2305913515413602304;
// CHECK-DAG: add.s64 {{.*}}, 2305913515413602368;
// CHECK-DAG: add.s64 {{.*}}, 2305913515413602496;
// CHECK-DAG: tcgen05.mma.cta_group::{{[12]}}.kind::tf32

// Hopper keeps products of 16-bit operands.
// RUN: kernel-opt %t/project.mlir --tuning=%t/narrow.json --emit=plan --target=sm_90a,sm_100f | FileCheck %s --check-prefix=PLAN
// PLAN: target sm_90a
// PLAN: product at op {{.*}}: bf16x3
// PLAN: target sm_100f
// PLAN-NOT: convert
// PLAN: product at op {{.*}}: tf32
// PLAN-NOT: convert
// PLAN: map of input x: TF32 64 x {{.*}}, box 32 x 128
// PLAN: map of input w: TF32 32 x 64 x 8, box 32 x 32 x 4
// PLAN: map of output y: F32
// PLAN-NOT: convert

// The example: each product of it.
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/022 -o %t/022.cubins/
// RUN: %python %S/Inputs/check_reports.py %t/022.cubins %t/022 | FileCheck %s --check-prefix=SAID
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=plan --target=sm_100f | FileCheck %s --check-prefix=ROUTES --implicit-check-not=_convert
// ROUTES-COUNT-4: product at op {{.*}}: tf32

//--- narrow.json
{"ranges": [{"to": -1, "tile_n": 128, "splits": [1]}]}
//--- tiles.json
{"ranges": [{"to": 1000, "tile_n": 256, "splits": [1]}, {"to": -1, "tile_m": 256, "tile_n": 256, "splits": [1]}]}
//--- project.mlir
!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x256xf32, #mlp.dims<T, _>>
mlp.graph @project(%x: !x "x", %w: tensor<64x256xf32> "w") {
  %y = mlp.matmul %x, %w precision tf32 : !x, tensor<64x256xf32> -> !y
  mlp.output %y "y" : !y
}
