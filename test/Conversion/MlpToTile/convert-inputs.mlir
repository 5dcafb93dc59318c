// RUN: kernel-opt %s --convert-mlp-to-tile | FileCheck %s
// RUN: kernel-opt %s --convert-mlp-to-tile | FileCheck %s --check-prefix=LAUNCH

// The conversions of a graph become one kernel without tasks before its launches.
// Copies are temporaries; those of a variable number of rows are padded to whole
// tiles. Each sum has a line of partials for each 32 rows, a temporary that the next
// launch adds up, into a result of its own type. All leading axes are rows.
!x = tensor<?x?x72xf32, #mlp.dims<B, S, _>>
!c = tensor<?x?x72xbf16, #mlp.dims<B, S, _>>
!w = tensor<72x136xf32>
!v = tensor<72x136xbf16>

// CHECK-DAG: #[[COPY:.*]] = affine_map<()[s0, s1] -> (((s0 * s1) ceildiv 128) * 18432)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<()[s0, s1] -> (s0 * s1)>
// CHECK-DAG: #[[LINES:.*]] = affine_map<()[s0, s1] -> (((s0 * s1) ceildiv 32) * 288)>
// CHECK-DAG: #[[FIXED:.*]] = affine_map<() -> (19584)>

// CHECK: tile.kernel @g_convert0(
// CHECK-SAME: %[[X:[^:]*]]: !tile.tensor<?x72xf32> #tile.bind<input 0>
// CHECK-SAME: %[[HI:[^:]*]]: !tile.tensor<?x72xbf16> #tile.bind<temporary 0, <[B, S], #[[COPY]]>>
// CHECK-SAME: %[[LO:[^:]*]]: !tile.tensor<?x72xbf16> #tile.bind<temporary 1, <[B, S], #[[COPY]]>>
// CHECK-SAME: %[[M:[^:]*]]: index #tile.bind<extent 0, <[B, S], #[[ROWS]]>>
// CHECK-SAME: %[[P:[^:]*]]: !tile.workspace #tile.bind<temporary 4, <[B, S], #[[LINES]]>>
// CHECK-SAME: %[[W:[^:]*]]: !tile.tensor<72x136xf32> #tile.bind<input 1>
// CHECK-SAME: %[[WC:[^:]*]]: !tile.tensor<72x136xbf16> #tile.bind<temporary 2, <[], #[[FIXED]]>>
// The next launch may begin while it ends; itself it waits for none.
// CHECK-SAME: attributes {tile.has_dependents
// CHECK-SAME: tile.products = []
// CHECK-SAME: tile.step = 0 : i64
// CHECK-DAG: %[[C72:.*]] = arith.constant 72 : index
// CHECK: tile.convert %[[X]] rows %[[M]] pad 128 to %[[HI]], %[[LO]] partials %[[P]] : !tile.tensor<?x72xf32>
// CHECK: tile.convert %[[W]] rows %[[C72]] to %[[WC]] : !tile.tensor<72x136xf32> to !tile.tensor<72x136xbf16>
// CHECK-NOT: tile.convert
// CHECK-NOT: tile.finish_sum

// CHECK: tile.kernel @g_launch1(
// CHECK-SAME: %[[M:[^:]*]]: index #tile.bind<extent 0, <[B, S], #[[ROWS]]>>
// CHECK-SAME: %[[P:[^:]*]]: !tile.workspace #tile.bind<temporary 4, <[B, S], #[[LINES]]>>
// CHECK-SAME: %[[SUM:[^:]*]]: !tile.tensor<1x72xbf16> #tile.bind<output 1>
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG: %[[C31:.*]] = arith.constant 31 : index
// The task that adds up takes no part in the passing of slots.
// CHECK: tile.task  sum {
// CHECK-NOT: tile.skip
// CHECK: %[[UP:.*]] = arith.addi %[[M]], %[[C31]] : index
// CHECK: %[[COUNT:.*]] = arith.divui %[[UP]], %[[C32]] : index
// CHECK: tile.finish_sum %[[P]] lines %[[COUNT]] into %[[SUM]] : !tile.tensor<1x72xbf16>
// CHECK: tile.kernel @g_launch2(
// CHECK-NOT: tile.finish_sum

// The launches are dependent, all but the last with dependents. They read the copies
// under the same bindings.
// LAUNCH: tile.kernel @g_convert0
// LAUNCH-NOT: tile.dependent
// LAUNCH: tile.kernel @g_launch1(
// LAUNCH-SAME: !tile.tensor<?x72xbf16> #tile.bind<temporary 0,
// LAUNCH-SAME: !tile.tensor<72x136xbf16> #tile.bind<temporary 2,
// LAUNCH-SAME: !tile.tensor<?x72xbf16> #tile.bind<temporary 1,
// LAUNCH-SAME: tile.dependent
// LAUNCH-SAME: tile.has_dependents
// LAUNCH-SAME: tile.products = [7, 7]
// LAUNCH-SAME: tile.step = 1
// LAUNCH: tile.kernel @g_launch2(
// LAUNCH-SAME: attributes {tile.dependent, tile.operations
// LAUNCH-SAME: tile.step = 2
mlp.graph @g(%x: !x "x", %w: !w "w", %u: tensor<136x72xbf16> "u") {
  %hi, %lo, %s = mlp.convert %x sum : !x -> !c, !c, tensor<72xbf16>
  %v = mlp.convert %w : !w -> !v
  %h = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x?x136xbf16, #mlp.dims<B, S, _>> {
    %0 = mlp.fused m = B*S, n = 136
        acc0 += %hi[m, k] * %v[k, n] over k = 72, op_index = 7 : !c, !v
        acc0 += %lo[m, k] * %v[k, n] over k = 72, op_index = 7 : !c, !v
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x?x136xbf16, #mlp.dims<B, S, _>> {
    ^bb0(%acc: f32):
      %1 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %1 : bf16
    }
    mlp.launch_yield %0 : tensor<?x?x136xbf16, #mlp.dims<B, S, _>>
  }
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> !c {
    %0 = mlp.fused m = B*S, n = 72
        acc0 += %h[m, k] * %u[k, n] over k = 136, op_index = 8 : tensor<?x?x136xbf16, #mlp.dims<B, S, _>>, tensor<136x72xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> !c {
    ^bb0(%acc: f32):
      %1 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %1 : bf16
    }
    mlp.launch_yield %0 : !c
  }
  mlp.output %y "y", %s "s" : !c, tensor<72xbf16>
}
