// RUN: kernel-opt %s -backfuse-expand-sugar | FileCheck %s

// `each_op`: five ops in bf16, in this order.
// CHECK-LABEL: mlp.graph @silu_grad_each_op
// CHECK: %[[SCALAR:.*]] = arith.constant 1.000000e+00 : bf16
// CHECK: %[[ONE:.*]] = mlp.broadcast %[[SCALAR]] : bf16 -> [[T:tensor<\?x40xbf16, .*>]]
// CHECK-NEXT: %[[S:.*]] = mlp.sigmoid %x : [[T]]
// CHECK-NEXT: %[[C:.*]] = arith.subf %[[ONE]], %[[S]] : [[T]]
// CHECK-NEXT: %[[XC:.*]] = arith.mulf %x, %[[C]] : [[T]]
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[ONE]], %[[XC]] : [[T]]
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[S]], %[[SUM]] : [[T]]
// CHECK-NEXT: mlp.output %[[D]]
mlp.graph @silu_grad_each_op(%x: tensor<?x40xbf16, #mlp.dims<S, _>> "x") {
  %0 = mlp.silu_grad %x rounding = each_op : tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %0 "y" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// `once`: the same ops in f32, one rounding at the end.
// CHECK-LABEL: mlp.graph @silu_grad_once
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %x : {{.*}} to [[F:tensor<\?x40xf32, .*>]]
// CHECK: %[[S:.*]] = mlp.sigmoid %[[WIDE]] : [[F]]
// CHECK-COUNT-4: arith.{{.*}} : [[F]]
// CHECK-NEXT: %[[Y:.*]] = arith.truncf %{{.*}} : [[F]] to tensor<?x40xbf16,
// CHECK-NEXT: mlp.output %[[Y]]
mlp.graph @silu_grad_once(%x: tensor<?x40xbf16, #mlp.dims<S, _>> "x") {
  %0 = mlp.silu_grad %x rounding = once : tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %0 "y" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// On f32 there is nothing to widen. `afn` passes to the elementary function only.
// CHECK-LABEL: mlp.graph @gelu_grad_tanh
// CHECK-NOT: arith.extf
// CHECK-DAG: %[[HALF_S:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-DAG: %[[ONE_S:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[BETA_S:.*]] = arith.constant 0.797884583 : f32
// CHECK-DAG: %[[HALF:.*]] = mlp.broadcast %[[HALF_S]]
// CHECK-DAG: %[[ONE:.*]] = mlp.broadcast %[[ONE_S]]
// CHECK-DAG: %[[BETA:.*]] = mlp.broadcast %[[BETA_S]]
// CHECK: %[[X2:.*]] = arith.mulf %x, %x :
// CHECK: %[[X3:.*]] = arith.mulf %[[X2]], %x :
// CHECK: arith.constant 4.471500e-02 : f32
// CHECK: %[[KX3:.*]] = arith.mulf %{{.*}}, %[[X3]] :
// CHECK: %[[SUM:.*]] = arith.addf %x, %[[KX3]] :
// CHECK: %[[U:.*]] = arith.mulf %[[BETA]], %[[SUM]] :
// CHECK: %[[T:.*]] = math.tanh %[[U]] fastmath<afn> :
// CHECK: %[[T1:.*]] = arith.addf %[[ONE]], %[[T]] :
// CHECK: %[[LEFT:.*]] = arith.mulf %[[HALF]], %[[T1]] :
// CHECK: %[[TT:.*]] = arith.mulf %[[T]], %[[T]] :
// CHECK: %[[SLOPE:.*]] = arith.subf %[[ONE]], %[[TT]] :
// CHECK: arith.constant 1.341450e-01 : f32
// CHECK: %[[KX2:.*]] = arith.mulf %{{.*}}, %[[X2]] :
// CHECK: %[[KX2P:.*]] = arith.addf %[[ONE]], %[[KX2]] :
// CHECK: %[[INNER:.*]] = arith.mulf %[[BETA]], %[[KX2P]] :
// CHECK: %[[HX:.*]] = arith.mulf %[[HALF]], %x :
// CHECK: %[[HXS:.*]] = arith.mulf %[[HX]], %[[SLOPE]] :
// CHECK: %[[RIGHT:.*]] = arith.mulf %[[HXS]], %[[INNER]] :
// CHECK: %[[Y:.*]] = arith.addf %[[LEFT]], %[[RIGHT]] :
// CHECK: mlp.output %[[Y]]
mlp.graph @gelu_grad_tanh(%x: tensor<?x40xf32, #mlp.dims<S, _>> "x") {
  %0 = mlp.gelu_grad %x form = tanh rounding = once afn : tensor<?x40xf32, #mlp.dims<S, _>>
  mlp.output %0 "y" : tensor<?x40xf32, #mlp.dims<S, _>>
}

// The other form is another function.
// CHECK-LABEL: mlp.graph @gelu_grad_erf
// CHECK-NOT: math.tanh
// CHECK: %[[ERF:.*]] = math.erf %{{.*}} : tensor<?x40xf16,
// CHECK: %[[CDF1:.*]] = arith.addf %{{.*}}, %[[ERF]] :
// CHECK: %[[CDF:.*]] = arith.mulf %{{.*}}, %[[CDF1]] :
// CHECK: %[[X2:.*]] = arith.mulf %x, %x :
// CHECK: %[[E:.*]] = arith.mulf %{{.*}}, %[[X2]] :
// CHECK: %[[EXP:.*]] = math.exp %[[E]] :
// CHECK: %[[PDF:.*]] = arith.mulf %{{.*}}, %[[EXP]] :
// CHECK: %[[XPDF:.*]] = arith.mulf %x, %[[PDF]] :
// CHECK: arith.addf %[[CDF]], %[[XPDF]] :
mlp.graph @gelu_grad_erf(%x: tensor<?x40xf16, #mlp.dims<S, _>> "x") {
  %0 = mlp.gelu_grad %x form = erf rounding = each_op : tensor<?x40xf16, #mlp.dims<S, _>>
  mlp.output %0 "y" : tensor<?x40xf16, #mlp.dims<S, _>>
}

// The pass's example.
// CHECK-LABEL: mlp.graph @relu_grad
// CHECK: %[[ZERO_S:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK: %[[ZERO:.*]] = mlp.broadcast %[[ZERO_S]]
// CHECK: %[[ONE_S:.*]] = arith.constant 1.000000e+00 : bf16
// CHECK: %[[ONE:.*]] = mlp.broadcast %[[ONE_S]]
// CHECK: %[[P:.*]] = arith.cmpf ogt, %x, %[[ZERO]] :
// CHECK: arith.select %[[P]], %[[ONE]], %[[ZERO]] :
mlp.graph @relu_grad(%x: tensor<?x40xbf16, #mlp.dims<S, _>> "x") {
  %0 = mlp.relu_grad %x : tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %0 "y" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// A graph without sugar stays, and nothing in it folds.
// CHECK-LABEL: mlp.graph @without_sugar
// CHECK-NEXT: %[[A:.*]] = arith.extf %x
// CHECK-NEXT: %[[B:.*]] = arith.truncf %[[A]]
// CHECK-NEXT: %[[C:.*]] = mlp.gelu %[[B]] form = erf :
// CHECK-NEXT: mlp.output %[[C]]
mlp.graph @without_sugar(%x: tensor<?x40xbf16, #mlp.dims<S, _>> "x") {
  %0 = arith.extf %x : tensor<?x40xbf16, #mlp.dims<S, _>> to tensor<?x40xf32, #mlp.dims<S, _>>
  %1 = arith.truncf %0 : tensor<?x40xf32, #mlp.dims<S, _>> to tensor<?x40xbf16, #mlp.dims<S, _>>
  %2 = mlp.gelu %1 form = erf : tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %2 "y" : tensor<?x40xbf16, #mlp.dims<S, _>>
}
