// RUN: kernel-opt %s --convert-mlp-to-tile | FileCheck %s

// Of one product A is summed, of the other B: the steps of A are shared out among
// the tiles along N (four), those of B among the tiles along M (one), and each sum
// finishes as many lines.
// CHECK: tile.kernel @g_launch0
// CHECK-DAG: %[[TILE:.*]] = arith.constant 128 : index
// CHECK-DAG: %[[ROUND:.*]] = arith.constant 127 : index
// CHECK-DAG: %[[N:.*]] = arith.constant 392 : index
// CHECK-DAG: %[[M:.*]] = arith.constant 72 : index
// CHECK: %[[USED:.*]] = arith.minui %{{.*}}, %[[STEPS:.*]] : index
// CHECK: %[[SHORTEST:.*]] = arith.divui %[[STEPS]], %[[USED]] : index
// CHECK: %[[UPN:.*]] = arith.addi %[[N]], %[[ROUND]]
// CHECK: %[[TILESN:.*]] = arith.divui %[[UPN]], %[[TILE]]
// CHECK: %[[FORA:.*]] = arith.minui %[[TILESN]], %[[SHORTEST]]
// CHECK: %[[UPM:.*]] = arith.addi %[[M]], %[[ROUND]]
// CHECK: %[[TILESM:.*]] = arith.divui %[[UPM]], %[[TILE]]
// CHECK: %[[FORB:.*]] = arith.minui %[[TILESM]], %[[SHORTEST]]
// CHECK: tile.sum_operand %{{.*}}[0] steps %{{.*}} contributor %{{.*}} of %[[FORA]] line
// CHECK: tile.sum_operand %{{.*}}[1] steps %{{.*}} contributor %{{.*}} of %[[FORB]] line
// CHECK: %[[LINESA:.*]] = arith.muli %[[USED]], %[[FORA]]
// CHECK: tile.finish_sum {{.*}} lines %[[LINESA]] into
// CHECK: %[[LINESB:.*]] = arith.muli %[[USED]], %[[FORB]]
// CHECK: tile.finish_sum {{.*}} lines %[[LINESB]] into
!x = tensor<?x72xbf16, #mlp.dims<T, _>>
!y = tensor<?x392xbf16, #mlp.dims<T, _>>
mlp.graph @g(%x: !x "x", %y: !y "y", %z: !x "z", %u: !y "u") {
  %g, %s, %t = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<72x392xf32>, tensor<72xf32>, tensor<392xf32> {
    %a, %b, %c = mlp.fused m = 72, n = 392
        acc0 += %x[k, m] * %y[k, n] over k = T : !x, !y
        acc0 += %z[k, m] * %u[k, n] over k = T : !x, !y
        sum_k a0
        sum_k b1
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<72x392xf32>, tensor<72xf32>, tensor<392xf32> {
    ^bb0(%acc: f32):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %a, %b, %c : tensor<72x392xf32>, tensor<72xf32>, tensor<392xf32>
  }
  mlp.output %g "g", %s "s", %t "t" : tensor<72x392xf32>, tensor<72xf32>, tensor<392xf32>
}
