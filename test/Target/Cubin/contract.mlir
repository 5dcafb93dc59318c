// A graph that allows contraction gets it; nothing else does.
// RUN: kernel-opt %s --emit=ptx --target=sm_90a | FileCheck %s

// CHECK-LABEL: .entry contract(
llvm.func @contract(%x: !llvm.ptr<1>, %factor: f32) attributes {nvvm.kernel} {
  // CHECK: fma.rn.f32
  %v = llvm.load %x : !llvm.ptr<1> -> f32
  %p = llvm.fmul %v, %factor {fastmathFlags = #llvm.fastmath<contract>} : f32
  %s = llvm.fadd %p, %v {fastmathFlags = #llvm.fastmath<contract>} : f32
  llvm.store %s, %x : f32, !llvm.ptr<1>
  llvm.return
}
