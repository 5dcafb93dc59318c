// RUN: kernel-opt %s -split-input-file -backfuse-specialize | FileCheck %s

// The pass's example: one clone per value. The one that does not choose %b does
// not use it, but keeps it in its signature.
// CHECK-LABEL: mlp.graph @g__flag_true(
// CHECK-SAME: %a: {{.*}} "a", %b: {{.*}} "b", %flag: i1 "flag") assumptions {flag = true} {
// CHECK-NEXT: %[[A:.*]] = mlp.silu %a
// CHECK-NEXT: mlp.output %[[A]] "y"
// CHECK-LABEL: mlp.graph @g__flag_false(
// CHECK-SAME: %a: {{.*}} "a", %b: {{.*}} "b", %flag: i1 "flag") assumptions {flag = false} {
// CHECK-NEXT: %[[B:.*]] = mlp.relu %b
// CHECK-NEXT: mlp.output %[[B]] "y"
// CHECK-NOT: mlp.graph
mlp.graph @g(%a: tensor<?x40xbf16, #mlp.dims<S, _>> "a", %b: tensor<?x40xbf16, #mlp.dims<S, _>> "b", %flag: i1 "flag") {
  %0 = mlp.silu %a : tensor<?x40xbf16, #mlp.dims<S, _>>
  %1 = mlp.relu %b : tensor<?x40xbf16, #mlp.dims<S, _>>
  %2 = arith.select %flag, %0, %1 : tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %2 "y" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// -----

// Two flags give four clones; logic on flags is resolved as far as it is known,
// and a comparison that depends on data stays.
// CHECK-LABEL: mlp.graph @logic__p_true__q_true(
// CHECK: %[[DATA:.*]] = arith.cmpf
// CHECK: arith.select %[[DATA]],
// CHECK-LABEL: mlp.graph @logic__p_true__q_false(
// CHECK-NOT: arith.cmpf
// CHECK-NOT: arith.select
// CHECK: mlp.output %{{.*}} "y"
// CHECK-LABEL: mlp.graph @logic__p_false__q_true(
// CHECK-SAME: assumptions {p = false, q = true}
// CHECK-NEXT: %[[Y:.*]] = mlp.silu
// CHECK-NEXT: mlp.output %[[Y]]
// CHECK-LABEL: mlp.graph @logic__p_false__q_false(
// CHECK-NOT: arith.select
mlp.graph @logic(%x: tensor<?x40xf32, #mlp.dims<S, _>> "x", %scale: f32 "scale", %p: i1 "p", %q: i1 "q") {
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %scale, %zero : f32
  %0 = arith.andi %q, %positive : i1
  %1 = arith.andi %0, %p : i1
  %2 = mlp.relu %x : tensor<?x40xf32, #mlp.dims<S, _>>
  %3 = mlp.silu %x : tensor<?x40xf32, #mlp.dims<S, _>>
  %4 = arith.select %1, %2, %3 : tensor<?x40xf32, #mlp.dims<S, _>>
  mlp.output %4 "y" : tensor<?x40xf32, #mlp.dims<S, _>>
}

// -----

// A flag that goes through a broadcast decides, too.
// CHECK-LABEL: mlp.graph @broadcast_flag__p_true(
// CHECK-NEXT: %[[Y:.*]] = mlp.relu
// CHECK-NEXT: mlp.output %[[Y]]
mlp.graph @broadcast_flag(%x: tensor<?x40xf32, #mlp.dims<S, _>> "x", %p: i1 "p") {
  %0 = mlp.broadcast %p : i1 -> tensor<?x40xi1, #mlp.dims<S, _>>
  %1 = mlp.relu %x : tensor<?x40xf32, #mlp.dims<S, _>>
  %2 = mlp.silu %x : tensor<?x40xf32, #mlp.dims<S, _>>
  %3 = arith.select %0, %1, %2 : tensor<?x40xi1, #mlp.dims<S, _>>, tensor<?x40xf32, #mlp.dims<S, _>>
  mlp.output %3 "y" : tensor<?x40xf32, #mlp.dims<S, _>>
}

// -----

// A flag that nothing uses gives no clone, and the graph stays as it is, unused
// ops and all.
// CHECK-LABEL: mlp.graph @unused_flag(
// CHECK-NOT: assumptions
// CHECK: mlp.silu
// CHECK: mlp.relu
// CHECK-NOT: mlp.graph
mlp.graph @unused_flag(%x: tensor<?x40xf32, #mlp.dims<S, _>> "x", %p: i1 "p") {
  %0 = mlp.silu %x : tensor<?x40xf32, #mlp.dims<S, _>>
  %1 = mlp.relu %x : tensor<?x40xf32, #mlp.dims<S, _>>
  mlp.output %1 "y" : tensor<?x40xf32, #mlp.dims<S, _>>
}

// -----

// Only choices are resolved: no rounding goes. Products keep their index.
// CHECK-LABEL: mlp.graph @keeps_roundings__p_true(
// CHECK: mlp.matmul %x, %w {mlp.op_index = 4 : i64} :
// CHECK: arith.truncf
// CHECK: arith.extf
// CHECK-LABEL: mlp.graph @keeps_roundings__p_false(
// CHECK-NOT: mlp.matmul
mlp.graph @keeps_roundings(%x: tensor<?x40xbf16, #mlp.dims<S, _>> "x", %z: tensor<?x24xf32, #mlp.dims<S, _>> "z", %w: tensor<40x24xbf16> "w", %p: i1 "p") {
  %0 = mlp.matmul %x, %w {mlp.op_index = 4 : i64} : tensor<?x40xbf16, #mlp.dims<S, _>>, tensor<40x24xbf16> -> tensor<?x24xf32, #mlp.dims<S, _>>
  %1 = arith.truncf %0 : tensor<?x24xf32, #mlp.dims<S, _>> to tensor<?x24xbf16, #mlp.dims<S, _>>
  %2 = arith.extf %1 : tensor<?x24xbf16, #mlp.dims<S, _>> to tensor<?x24xf32, #mlp.dims<S, _>>
  %3 = mlp.relu %z : tensor<?x24xf32, #mlp.dims<S, _>>
  %4 = arith.select %p, %2, %3 : tensor<?x24xf32, #mlp.dims<S, _>>
  mlp.output %4 "y" : tensor<?x24xf32, #mlp.dims<S, _>>
}

// -----

// Where the choice is an argument, the output still is an op, which does not use
// the other side.
// CHECK-LABEL: mlp.graph @chooses_argument__p_true(
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT: %[[Y:.*]] = arith.select %[[TRUE]], %x, %x :
// CHECK-NEXT: mlp.output %[[Y]]
// CHECK-LABEL: mlp.graph @chooses_argument__p_false(
// CHECK-NEXT: %[[Z:.*]] = mlp.relu %z
// CHECK-NEXT: mlp.output %[[Z]]
mlp.graph @chooses_argument(%x: tensor<?x40xf32, #mlp.dims<S, _>> "x", %z: tensor<?x40xf32, #mlp.dims<S, _>> "z", %p: i1 "p") {
  %0 = mlp.relu %z : tensor<?x40xf32, #mlp.dims<S, _>>
  %1 = arith.select %p, %x, %0 : tensor<?x40xf32, #mlp.dims<S, _>>
  mlp.output %1 "y" : tensor<?x40xf32, #mlp.dims<S, _>>
}
