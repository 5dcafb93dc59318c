// Kernels for tensor memory have a pool for multiply and one for drain tasks, and
// two sets of accumulators; the sum task leaves the drain's entries alone.
// RUN: kernel-opt %examples/ssm_gate_backward.mlir --emit=mlir --stop-after=convert-mlp-to-tile --target=sm_100f | FileCheck %s

// CHECK: tile.kernel @ssm_gate_backward__use_silu_gate_true__n{{128|256}}_launch0
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
