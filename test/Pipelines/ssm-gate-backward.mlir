// The bf16 example through each phase by its pipeline's name: landmarks only.

// Graphs to launches: one launch per variant holds both products; the variant
// without SiLU has no sigmoid and does not read the gate (input 2).
// RUN: kernel-opt %examples/ssm_gate_backward.mlir --backfuse-graph-to-launches | FileCheck %s --check-prefix=FUSED
// FUSED: mlp.graph @ssm_gate_backward__use_silu_gate_true(
// FUSED: mlp.launch
// FUSED: mlp.fused m = B*S, n = 1536
// FUSED: mlp.sigmoid
// FUSED: mlp.fused m = 768, n = 1536
// FUSED: sum_k a0
// FUSED-NOT: mlp.launch {{.*}}{
// FUSED: mlp.graph @ssm_gate_backward__use_silu_gate_false(
// FUSED-SAME: %gate:
// FUSED: mlp.launch
// FUSED-NOT: %gate[
// FUSED-NOT: mlp.sigmoid
// FUSED-NOT: mlp.matmul

// Launches to tile kernels: one kernel per launch, no graph, no function left.
// RUN: kernel-opt %examples/ssm_gate_backward.mlir --backfuse-graph-to-tile=target=sm_90a | FileCheck %s --check-prefix=TILE --implicit-check-not='mlp.'
// TILE: tile.kernel @ssm_gate_backward__use_silu_gate_true__n{{[0-9]+}}_launch0(
// TILE: tile.task load
// TILE: tile.task multiply
// TILE: tile.approx ex2
// TILE: tile.task sum
// TILE-NOT: _launch1(
// TILE: tile.kernel @ssm_gate_backward__use_silu_gate_false__n{{[0-9]+}}_launch0(
// TILE-NOT: #tile.bind<input 2>
// TILE-NOT: tile.approx

// All of it: kernels of the LLVM and NVVM dialects.
// RUN: kernel-opt %examples/ssm_gate_backward.mlir --backfuse-compile=target=sm_90a | FileCheck %s --check-prefix=LLVM --implicit-check-not='mlp.' --implicit-check-not='{{(tile|scf|arith|cf|math)\.[a-z_]+ [%@]}}' --implicit-check-not=unrealized
// LLVM: llvm.func @ssm_gate_backward__use_silu_gate_true__n{{[0-9]+}}_launch0(
// LLVM-SAME: nvvm.kernel
// LLVM: nvvm.setmaxregister decrease
// LLVM: nvvm.cp.async.bulk.tensor.shared.cluster.global
// LLVM: wgmma.mma_async
// LLVM: ex2.approx
// LLVM: llvm.func @ssm_gate_backward__use_silu_gate_false__n{{[0-9]+}}_launch0(
// LLVM: wgmma.mma_async

// A target that is not there.
// RUN: not kernel-opt %examples/ssm_gate_backward.mlir --backfuse-graph-to-tile=target=sm_75 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not kernel-opt %examples/ssm_gate_backward.mlir --backfuse-compile=target=sm_75 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: unknown target 'sm_75'; there are sm_90a, sm_100f, sm_100a
