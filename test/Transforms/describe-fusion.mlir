// RUN: kernel-opt %s --emit=mlir --target=sm_90a --why -o %t.mlir 2>&1 | FileCheck %s

// --why describes each variant of the graph as written: sugar is expanded and bool
// parameters are specialised for the description. What two ops of one expansion
// have in common is said once.
!x = tensor<?x64xbf16, #mlp.dims<T, _>>
// CHECK: graph @g__flag_true
// CHECK-NEXT: launch 0, fused op 0: T x 64, products 1, accumulators 1, element operands 1, yields 1, operand sums 0
// CHECK-NEXT: describe-fusion.mlir:[[# @LINE + 10]]:8: mlp.matmul: product of T x 64 over 64 in accumulator 0 of launch 0, fused op 0
// CHECK: mlp.sigmoid: computed in launch 0, fused op 0
// CHECK: arith.mulf: computed in launch 0, fused op 0
// CHECK-NEXT: arith.addf: computed in launch 0, fused op 0
// CHECK-NEXT: arith.mulf: in the epilogue of launch 0, fused op 0
// CHECK: graph @g__flag_false
// CHECK-NEXT: launch 0, fused op 0: T x 64, products 1, accumulators 1, element operands 0, yields 1, operand sums 0
// CHECK-NOT: mlp.sigmoid
// CHECK-NOT: error
mlp.graph @g(%dy: !x "dy", %w: tensor<64x64xbf16> "w", %gate: !x "gate", %flag: i1 "flag") {
  %d = mlp.matmul %dy, %w : !x, tensor<64x64xbf16> -> !x
  %s = mlp.silu_grad %gate rounding = each_op : !x
  %e = arith.mulf %d, %s : !x
  %o = arith.select %flag, %e, %d : !x
  mlp.output %o "o" : !x
}
