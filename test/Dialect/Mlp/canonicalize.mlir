// RUN: kernel-opt %s -canonicalize -cse | FileCheck %s

// A cast to a narrower type and back rounds: it stays.
// CHECK-LABEL: mlp.graph @keeps_round_trip_through_bf16
// CHECK: %[[NARROW:.*]] = arith.truncf %x
// CHECK: %[[WIDE:.*]] = arith.extf %[[NARROW]]
// CHECK: mlp.output %[[WIDE]]
mlp.graph @keeps_round_trip_through_bf16(%x: tensor<?x24xf32, #mlp.dims<S, _>> "x") {
  %0 = arith.truncf %x : tensor<?x24xf32, #mlp.dims<S, _>> to tensor<?x24xbf16, #mlp.dims<S, _>>
  %1 = arith.extf %0 : tensor<?x24xbf16, #mlp.dims<S, _>> to tensor<?x24xf32, #mlp.dims<S, _>>
  mlp.output %1 "y" : tensor<?x24xf32, #mlp.dims<S, _>>
}

// Neither 16-bit type holds the other: the second rounding stays.
// CHECK-LABEL: mlp.graph @keeps_bf16_to_f16
// CHECK: arith.truncf %{{.*}} : tensor<?x24xf32, #mlp.dims<S, _>> to tensor<?x24xf16, #mlp.dims<S, _>>
mlp.graph @keeps_bf16_to_f16(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  %0 = arith.extf %x : tensor<?x24xbf16, #mlp.dims<S, _>> to tensor<?x24xf32, #mlp.dims<S, _>>
  %1 = arith.truncf %0 : tensor<?x24xf32, #mlp.dims<S, _>> to tensor<?x24xf16, #mlp.dims<S, _>>
  mlp.output %1 "y" : tensor<?x24xf16, #mlp.dims<S, _>>
}

// The one way that changes no bit: widening, then back.
// CHECK-LABEL: mlp.graph @drops_exact_round_trip
// CHECK-NEXT: %[[Y:.*]] = mlp.relu %x
// CHECK-NEXT: mlp.output %[[Y]]
mlp.graph @drops_exact_round_trip(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  %0 = arith.extf %x : tensor<?x24xbf16, #mlp.dims<S, _>> to tensor<?x24xf32, #mlp.dims<S, _>>
  %1 = arith.truncf %0 : tensor<?x24xf32, #mlp.dims<S, _>> to tensor<?x24xbf16, #mlp.dims<S, _>>
  %2 = mlp.relu %1 : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %2 "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// Each product and each sum rounds to bf16: none is regrouped or merged.
// CHECK-LABEL: mlp.graph @keeps_each_rounding
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: arith.addf
// CHECK: arith.subf
mlp.graph @keeps_each_rounding(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %y: tensor<?x24xbf16, #mlp.dims<S, _>> "y") {
  %0 = arith.mulf %x, %y : tensor<?x24xbf16, #mlp.dims<S, _>>
  %1 = arith.mulf %0, %y : tensor<?x24xbf16, #mlp.dims<S, _>>
  %2 = arith.addf %1, %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  %3 = arith.addf %2, %y : tensor<?x24xbf16, #mlp.dims<S, _>>
  %4 = arith.subf %3, %y : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %4 "z" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// x + 0 is +0 at -0, x * 0 is NaN at inf, x - x is NaN at inf: none folds.
// CHECK-LABEL: mlp.graph @keeps_ops_that_look_trivial
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK: arith.subf
// CHECK: arith.divf
mlp.graph @keeps_ops_that_look_trivial(%x: tensor<7x24xf32> "x") {
  %zero = arith.constant dense<0.0> : tensor<7x24xf32>
  %0 = arith.addf %x, %zero : tensor<7x24xf32>
  %1 = arith.mulf %0, %zero : tensor<7x24xf32>
  %2 = arith.subf %1, %1 : tensor<7x24xf32>
  %3 = arith.divf %2, %2 : tensor<7x24xf32>
  mlp.output %3 "y" : tensor<7x24xf32>
}

// Reshapes that undo each other go.
// CHECK-LABEL: mlp.graph @drops_inverse_reshapes
// CHECK-NEXT: %[[A:.*]] = mlp.relu %x
// CHECK-NEXT: %[[FLAT:.*]] = mlp.collapse %x [B, S]
// CHECK-NEXT: %[[B:.*]] = mlp.relu %[[FLAT]]
// CHECK-NEXT: %[[EXPANDED:.*]] = mlp.expand %[[B]] [B, S]
// CHECK-NEXT: mlp.output %[[A]] "a", %[[EXPANDED]] "b"
mlp.graph @drops_inverse_reshapes(%x: tensor<?x?x24xbf16, #mlp.dims<B, S, _>> "x") {
  %0 = mlp.collapse %x [B, S] : tensor<?x?x24xbf16, #mlp.dims<B, S, _>> -> tensor<?x24xbf16, #mlp.dims<B*S, _>>
  %1 = mlp.expand %0 [B, S] : tensor<?x24xbf16, #mlp.dims<B*S, _>> -> tensor<?x?x24xbf16, #mlp.dims<B, S, _>>
  %2 = mlp.relu %1 : tensor<?x?x24xbf16, #mlp.dims<B, S, _>>
  %3 = mlp.collapse %1 [B, S] : tensor<?x?x24xbf16, #mlp.dims<B, S, _>> -> tensor<?x24xbf16, #mlp.dims<B*S, _>>
  %4 = mlp.relu %3 : tensor<?x24xbf16, #mlp.dims<B*S, _>>
  %5 = mlp.expand %4 [B, S] : tensor<?x24xbf16, #mlp.dims<B*S, _>> -> tensor<?x?x24xbf16, #mlp.dims<B, S, _>>
  mlp.output %2 "a", %5 "b" : tensor<?x?x24xbf16, #mlp.dims<B, S, _>>, tensor<?x?x24xbf16, #mlp.dims<B, S, _>>
}

// Expanding in the other order permutes rows: it stays.
// CHECK-LABEL: mlp.graph @keeps_transposing_reshape
// CHECK: mlp.collapse
// CHECK: mlp.expand
mlp.graph @keeps_transposing_reshape(%x: tensor<?x?x24xbf16, #mlp.dims<B, S, _>> "x") {
  %0 = mlp.collapse %x [B, S] : tensor<?x?x24xbf16, #mlp.dims<B, S, _>> -> tensor<?x24xbf16, #mlp.dims<B*S, _>>
  %1 = mlp.expand %0 [S, B] : tensor<?x24xbf16, #mlp.dims<B*S, _>> -> tensor<?x?x24xbf16, #mlp.dims<S, B, _>>
  mlp.output %1 "y" : tensor<?x?x24xbf16, #mlp.dims<S, B, _>>
}

// CHECK-LABEL: mlp.graph @drops_broadcast_to_own_type
// CHECK-NEXT: mlp.relu %x
mlp.graph @drops_broadcast_to_own_type(%x: tensor<24xbf16> "x") {
  %0 = mlp.broadcast %x : tensor<24xbf16> -> tensor<24xbf16>
  %1 = mlp.relu %0 : tensor<24xbf16>
  mlp.output %1 "y" : tensor<24xbf16>
}
