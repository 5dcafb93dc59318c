// Kernels for tensor memory have a pool for multiply and one for drain tasks, and
// two sets of accumulators; the sum task leaves the drain's entries alone.
// RUN: echo '{"ranges": [{"to": 1000, "tile_n": 256, "splits": [1, 1]}, {"to": -1, "tile_m": 256, "tile_n": 256, "splits": [1, 2]}]}' > %t
// RUN: kernel-opt %examples/ssm_gate_backward.mlir --tuning=%t --emit=mlir --stop-after=convert-mlp-to-tile --target=sm_100f > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=PAIR < %t.mlir

// CHECK: tile.kernel @ssm_gate_backward__use_silu_gate_true__n256_launch0
// CHECK: %[[POOL:.*]] = tile.pool {{[0-9]+}} x {{32768|49152}}
// CHECK: %[[DRAINS:.*]] = tile.pool {{[0-9]+}} x 24576
// CHECK: %[[WEIGHT:.*]] = tile.ring %[[POOL]] :
// CHECK: tile.accumulators 2 : !tile.accumulator<128x{{128|256}}>
// CHECK: %[[STAGING:.*]] = tile.ring %[[DRAINS]] : !tile.ring<<128x64xbf16>>
// CHECK: %[[PRODUCT:.*]] = tile.ring %[[POOL]] :
// CHECK: tile.accumulators 2 :
// CHECK: %[[OPERANDS:.*]] = tile.ring %[[DRAINS]] : !tile.ring<<64x64xbf16>, <64x64xbf16>, <64x64xbf16>>
// CHECK: tile.task sum
// CHECK: tile.sum_operand %[[WEIGHT]][0]
// CHECK-NOT: tile.skip %[[STAGING]]
// CHECK: tile.skip %[[PRODUCT]]
// CHECK-NOT: tile.skip
// CHECK: tile.finish_sum

// Where pairs of CTAs share tiles, buffers and accumulators are those of one, and
// so are the rows of A and of the drain and the columns of B.
// PAIR: tile.kernel @ssm_gate_backward__use_silu_gate_true__m256n256_launch0
// PAIR: %[[RANK:.*]] = tile.cluster_rank of 2
// PAIR: %[[ROW:.*]] = arith.muli %[[RANK]], %c128
// PAIR: %[[COL:.*]] = arith.muli %[[RANK]], %c128
// PAIR: tile.space {{.*}} tile [256, 256, 64]
// PAIR: tile.ring {{.*}} : !tile.ring<<64x128xbf16>, <64x128xbf16>>
// PAIR: tile.accumulators 2 : !tile.accumulator<128x256>
// PAIR: tile.task load
// PAIR: unit(%[[M0:.*]], %[[N0:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// PAIR: %[[M:.*]] = arith.addi %[[M0]], %[[ROW]]
// PAIR: %[[N:.*]] = arith.addi %[[N0]], %[[COL]]
// PAIR: tile.copy %{{.*}}[%{{.*}}, %[[M]]] to %{{.*}}[0]
// PAIR: tile.copy %{{.*}}[%{{.*}}, %[[N]]] to %{{.*}}[1]
// PAIR: tile.task multiply
// PAIR: tile.multiply {{.*}}mn_major pair
// PAIR: tile.task drain
// PAIR: unit(%[[M0:.*]], %[[N0:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// PAIR: %[[M:.*]] = arith.addi %[[M0]], %[[ROW]]
// PAIR: tile.drain({{.*}}) at[%[[M]], %[[N0]]]
// PAIR: tile.task sum
// PAIR: unit(%[[M0:.*]], %[[N0:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// PAIR: %[[M:.*]] = arith.addi %[[M0]], %[[ROW]]
// PAIR: tile.sum_operand {{.*}} at %[[M]] of
