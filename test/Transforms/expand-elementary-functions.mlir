// RUN: kernel-opt %s --backfuse-expand-elementary-functions -split-input-file | FileCheck %s
// How accurate the results are is tested in Accuracy/.

// Eight instructions on f32; no cast where the type is f32.
// CHECK-LABEL: func.func @sigmoid
// CHECK-SAME: (%[[X:.*]]: f32)
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[LN2:.*]] = arith.constant 0.693147182 : f32
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant -1.44269502 : f32
// CHECK-DAG: %[[LOW:.*]] = arith.constant -8.850000e+01 : f32
// CHECK-DAG: %[[HIGH:.*]] = arith.constant 1.280000e+02 : f32
// CHECK: %[[LEFT:.*]] = arith.maximumf %[[X]], %[[LOW]] : f32
// CHECK-NEXT: %[[BOUNDED:.*]] = arith.minimumf %[[LEFT]], %[[HIGH]] : f32
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[BOUNDED]], %[[LOG2E]] : f32
// CHECK-NEXT: %[[REST:.*]] = math.fma %[[Y]], %[[LN2]], %[[BOUNDED]] : f32
// CHECK-NEXT: %[[POWER:.*]] = tile.approx ex2 %[[Y]] : f32
// CHECK-NEXT: %[[NEGATED:.*]] = arith.negf %[[POWER]] : f32
// CHECK-NEXT: %[[EXP:.*]] = math.fma %[[NEGATED]], %[[REST]], %[[POWER]] : f32
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[EXP]], %[[ONE]] : f32
// CHECK-NEXT: %[[R:.*]] = tile.approx rcp %[[SUM]] : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @sigmoid(%x: f32) -> f32 {
  %0 = mlp.sigmoid %x : f32
  return %0 : f32
}

// -----

// Extended before, rounded once after; with `afn` nothing but the approximations.
// CHECK-LABEL: func.func @sigmoid_bf16
// CHECK-SAME: (%[[X:.*]]: bf16)
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant -1.44269502 : f32
// CHECK: %[[F:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[F]], %[[LOG2E]] : f32
// CHECK-NEXT: %[[POWER:.*]] = tile.approx ex2 %[[Y]] : f32
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[POWER]], %[[ONE]] : f32
// CHECK-NEXT: %[[R:.*]] = tile.approx rcp %[[SUM]] : f32
// CHECK-NEXT: %[[Z:.*]] = arith.truncf %[[R]] : f32 to bf16
// CHECK-NEXT: return %[[Z]] : bf16
func.func @sigmoid_bf16(%x: bf16) -> bf16 {
  %0 = mlp.sigmoid %x afn : bf16
  return %0 : bf16
}

// -----

// `afn` among the fastmath flags of an upstream op.
// CHECK-LABEL: func.func @tanh_afn
// CHECK-NEXT: %[[Y:.*]] = tile.approx tanh %{{.*}} : f32
// CHECK-NEXT: return %[[Y]]
func.func @tanh_afn(%x: f32) -> f32 {
  %0 = math.tanh %x fastmath<afn> : f32
  return %0 : f32
}

// -----

// Constants are shared by all expansions of a block.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-7: arith.constant
// CHECK-NOT: arith.constant
func.func @shared(%x: f32, %y: f32) -> (f32, f32) {
  %0 = math.tanh %x : f32
  %1 = math.tanh %y : f32
  return %0, %1 : f32, f32
}

// -----

// The square of a value that came from 16 bits is exact: two instructions less.
// CHECK-LABEL: func.func @gelu
// CHECK-COUNT-5: math.fma
// CHECK-NOT: math.fma
// CHECK: tile.approx ex2
func.func @gelu(%x: bf16) -> bf16 {
  %0 = mlp.gelu %x form = tanh : bf16
  return %0 : bf16
}

// -----

// Exact, so it needs no f32.
// CHECK-LABEL: func.func @relu
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK-NEXT: arith.maximumf %{{.*}}, %[[ZERO]] : bf16
func.func @relu(%x: bf16) -> bf16 {
  %0 = mlp.relu %x : bf16
  return %0 : bf16
}

// -----

// What one instruction does stays, and so do functions of tensors.
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT: math.absf
// CHECK-NEXT: math.fma
// CHECK-NEXT: arith.divf
// CHECK-NEXT: math.exp %{{.*}} : tensor<4xf32>
// CHECK-NEXT: return
func.func @left_alone(%x: f32, %t: tensor<4xf32>) -> (f32, tensor<4xf32>) {
  %0 = math.absf %x : f32
  %1 = math.fma %0, %0, %x : f32
  %2 = arith.divf %1, %x : f32
  %3 = math.exp %t : tensor<4xf32>
  return %2, %3 : f32, tensor<4xf32>
}

// -----

// The region of a drain, between ops on its accumulator and its elements.
// CHECK-LABEL: func.func @drain
// CHECK: ^bb0(%[[ACC:.*]]: f32, %[[GATE:.*]]: bf16):
// CHECK: arith.extf %[[GATE]] : bf16 to f32
// CHECK: tile.approx ex2
// CHECK: %[[R:.*]] = tile.approx rcp
// CHECK-NEXT: %[[S:.*]] = arith.truncf %[[R]] : f32 to bf16
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[S]] : bf16 to f32
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[ACC]], %[[WIDE]] : f32
// CHECK-NEXT: tile.yield %[[P]] : f32
func.func @drain(%row: index, %gates: !tile.tensor<?x256xbf16>, %p: !tile.workspace,
                 %f: !tile.workspace, %tag: i64) {
  %acc = tile.accumulators 1 : !tile.accumulator<128x256>
  tile.drain(%acc) at [%row, %row] rows %row vectors(%gates) partials(%p) flags(%f) tag %tag
      attributes {elementKinds = [#tile<element_kind row>], operandBuffers = array<i64>,
                  storeBuffers = array<i64>, yieldKinds = [#tile<yield_kind sum_m>],
                  entryRows = 64 : i64, slotsPerEntry = 1 : i64} {
  ^bb0(%a: f32, %gate: bf16):
    %s = mlp.sigmoid %gate : bf16
    %w = arith.extf %s : bf16 to f32
    %0 = arith.mulf %a, %w : f32
    tile.yield %0 : f32
  } : (!tile.accumulator<128x256>, index, index, index, !tile.tensor<?x256xbf16>,
       !tile.workspace, !tile.workspace, i64) -> ()
  return
}
