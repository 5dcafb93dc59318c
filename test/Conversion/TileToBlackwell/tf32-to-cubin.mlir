// Products of f32 operands in tf32: no copies of 16 bits, maps that round, and
// ptxas takes every variant.
// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir -p %t
// RUN: kernel-opt %s --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --cache-dir= --dump-dir=%t/dump -o %t/cubins/
// RUN: cat %t/dump/*.ptxas | FileCheck %s --check-prefix=SAID --implicit-check-not=warning --implicit-check-not='(C7'
// SAID: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads

// A K-major, B N-major, of 8 elements of K an instruction: 32 in a step.
// M = 128 and N = 128 or 256: {{0x08210910 or 0x08410910}}.
// RUN: cat %t/dump/*.sm_100f.ptx | FileCheck %s --implicit-check-not=kind::f16
// CHECK: {{136382736|138479888}}
// CHECK-COUNT-4: tcgen05.mma.cta_group::{{[12]}}.kind::tf32
// CHECK-NOT: tcgen05.mma

// RUN: kernel-opt %s --emit=plan --target=sm_90a,sm_100f | FileCheck %s --check-prefix=PLAN
// Hopper keeps products of bf16 parts.
// PLAN: target sm_90a
// PLAN: product at op {{.*}}: bf16x3: 3 products
// PLAN: target sm_100f
// PLAN-NOT: convert
// PLAN: product at op {{.*}}: tf32
// PLAN-NOT: convert
// PLAN: map of input x: TF32 32 x {{.*}}, box 32 x {{128|256}}
// PLAN: map of input w: TF32 32 x 64 x {{.*}}, box 32 x 32 x {{[248]}}
// PLAN-NOT: convert

// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/022 -o %t/022.cubins/
// RUN: cat %t/022/*.ptxas | FileCheck %s --check-prefix=SAID --implicit-check-not=warning --implicit-check-not='(C7'
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --emit=plan --target=sm_100f | FileCheck %s --check-prefix=ROUTES --implicit-check-not=_convert
// ROUTES-COUNT-4: product at op {{.*}}: tf32

!x = tensor<?x64xf32, #mlp.dims<T, _>>
!y = tensor<?x256xf32, #mlp.dims<T, _>>
mlp.graph @project(%x: !x "x", %w: tensor<64x256xf32> "w") {
  %y = mlp.matmul %x, %w precision tf32 : !x, tensor<64x256xf32> -> !y
  mlp.output %y "y" : !y
}
