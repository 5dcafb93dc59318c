// RUN: kernel-opt %s -split-input-file -backfuse-expand-sugar -test-mlp-graph-export -o %t | FileCheck %s
// RUN: kernel-opt %examples/ssm_gate_backward.mlir -backfuse-expand-sugar -test-mlp-graph-export -o %t | FileCheck %s --check-prefix=SSM
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir -backfuse-expand-sugar -test-mlp-graph-export -o %t | FileCheck %s --check-prefix=GELU

// Signature, dimensions and places; unused inputs are listed. Names of dimensions
// come in the order of the inputs.
// CHECK-LABEL: graph @signature dims [T, B]
// CHECK-NEXT: input %0: bf16[T, 40] x
// CHECK-NEXT: input %2: f32[B, T, 24] unused
// CHECK-NEXT: param %1: i1[] flag
// CHECK-NEXT: param %3: f32[] scale
// CHECK-NEXT: op 0: %4: bf16[T, 40] = Relu %0 at {{.*}}graph-export.mlir:[[# @LINE + 5]]:8
// CHECK-NEXT: op 1: %5: bf16[40] = Sum %4 dims [0] at {{.*}}graph-export.mlir:[[# @LINE + 5]]:8
// CHECK-NEXT: output %4 y
// CHECK-NEXT: output %5 sums
mlp.graph @signature(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %flag: i1 "flag", %u: tensor<?x?x24xf32, #mlp.dims<B, T, _>> "unused", %scale: f32 "scale") {
  %0 = mlp.relu %x : tensor<?x40xbf16, #mlp.dims<T, _>>
  %1 = mlp.sum %0 over [T] : tensor<?x40xbf16, #mlp.dims<T, _>> -> tensor<40xbf16>
  mlp.output %0 "y", %1 "sums" : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<40xbf16>
}

// -----

// Nothing is folded on the way: casts, constants and dead ops stay.
// CHECK-LABEL: graph @as_written
// CHECK: op 0: %1: f32[T, 40] = Cast %0
// CHECK-NEXT: op 1: %2: bf16[T, 40] = Cast %1
// CHECK-NEXT: op 2: %3: f32[] = Constant 0.10000000149011612
// CHECK-NEXT: op 3: %4: f32[T, 40] = Broadcast %3
// CHECK-NEXT: op 4: %5: bf16[T, 40] = Silu %2 afn
// CHECK-NEXT: output %5 y
mlp.graph @as_written(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x") {
  %0 = arith.extf %x : tensor<?x40xbf16, #mlp.dims<T, _>> to tensor<?x40xf32, #mlp.dims<T, _>>
  %1 = arith.truncf %0 : tensor<?x40xf32, #mlp.dims<T, _>> to tensor<?x40xbf16, #mlp.dims<T, _>>
  %tenth = arith.constant 0.1 : f32
  %2 = mlp.broadcast %tenth : f32 -> tensor<?x40xf32, #mlp.dims<T, _>>
  %3 = mlp.silu %1 afn : tensor<?x40xbf16, #mlp.dims<T, _>>
  mlp.output %3 "y" : tensor<?x40xbf16, #mlp.dims<T, _>>
}

// -----

// Products with their axes and precision, a static reshape, a row vector.
// CHECK-LABEL: graph @products
// CHECK: Matmul %0, %1 contract [1] with [1] precision Bf16x3 at
// CHECK-NEXT: f32[40, 24] = Matmul %0, %{{[0-9]+}} contract [0] with [0] precision Fp16 at
// CHECK-NEXT: f32[960] = Reshape %{{[0-9]+}} at
// CHECK-NEXT: f32[T, 24] = Broadcast %2 dims [1] at
// CHECK-NEXT: f32[T, 24] = Tanh %{{[0-9]+}} afn at
mlp.graph @products(%x: tensor<?x40xf32, #mlp.dims<T, _>> "x", %w: tensor<24x40xf32> "w", %v: tensor<24xf32> "v") {
  %0 = mlp.matmul %x, %w transpose_b precision bf16x3 : tensor<?x40xf32, #mlp.dims<T, _>>, tensor<24x40xf32> -> tensor<?x24xf32, #mlp.dims<T, _>>
  %1 = mlp.matmul %x, %0 contract [T] precision fp16 : tensor<?x40xf32, #mlp.dims<T, _>>, tensor<?x24xf32, #mlp.dims<T, _>> -> tensor<40x24xf32>
  %2 = mlp.collapse %1 [0, 1] : tensor<40x24xf32> -> tensor<960xf32>
  %3 = mlp.broadcast %v : tensor<24xf32> -> tensor<?x24xf32, #mlp.dims<T, _>>
  %4 = math.tanh %3 fastmath<afn> : tensor<?x24xf32, #mlp.dims<T, _>>
  mlp.output %2 "a", %4 "b" : tensor<960xf32>, tensor<?x24xf32, #mlp.dims<T, _>>
}

// -----

// Every elementwise kind.
// CHECK-LABEL: graph @kinds
// CHECK: = Neg %0
// CHECK-NEXT: = Abs %
// CHECK-NEXT: = Exp %
// CHECK-NEXT: = Exp2 %
// CHECK-NEXT: = Log %
// CHECK-NEXT: = Sqrt %
// CHECK-NEXT: = Rsqrt %
// CHECK-NEXT: = Tanh %
// CHECK-NEXT: = Erf %
// CHECK-NEXT: = Sigmoid %
// CHECK-NEXT: = GeluTanh %
// CHECK-NEXT: = GeluErf %
// CHECK-NEXT: = Silu %
// CHECK-NEXT: = Relu %
// CHECK-NEXT: = Add %
// CHECK-NEXT: = Sub %
// CHECK-NEXT: = Mul %
// CHECK-NEXT: = Div %
// CHECK-NEXT: = Maximum %
// CHECK-NEXT: = Minimum %
// CHECK-NEXT: = MaxNum %
// CHECK-NEXT: = MinNum %
// CHECK-NEXT: i1[8, 40] = CmpOlt %
// CHECK-NEXT: i1[8, 40] = CmpOle %
// CHECK-NEXT: i1[8, 40] = CmpOgt %
// CHECK-NEXT: i1[8, 40] = CmpOge %
// CHECK-NEXT: i1[8, 40] = CmpOeq %
// CHECK-NEXT: i1[8, 40] = CmpUne %
// CHECK-NEXT: i1[8, 40] = And %
// CHECK-NEXT: i1[8, 40] = Or %
// CHECK-NEXT: = Select %
mlp.graph @kinds(%x: tensor<8x40xf32> "x") {
  %0 = arith.negf %x : tensor<8x40xf32>
  %1 = math.absf %0 : tensor<8x40xf32>
  %2 = math.exp %1 : tensor<8x40xf32>
  %3 = math.exp2 %2 : tensor<8x40xf32>
  %4 = math.log %3 : tensor<8x40xf32>
  %5 = math.sqrt %4 : tensor<8x40xf32>
  %6 = math.rsqrt %5 : tensor<8x40xf32>
  %7 = math.tanh %6 : tensor<8x40xf32>
  %8 = math.erf %7 : tensor<8x40xf32>
  %9 = mlp.sigmoid %8 : tensor<8x40xf32>
  %10 = mlp.gelu %9 form = tanh : tensor<8x40xf32>
  %11 = mlp.gelu %10 form = erf : tensor<8x40xf32>
  %12 = mlp.silu %11 : tensor<8x40xf32>
  %13 = mlp.relu %12 : tensor<8x40xf32>
  %14 = arith.addf %13, %x : tensor<8x40xf32>
  %15 = arith.subf %14, %x : tensor<8x40xf32>
  %16 = arith.mulf %15, %x : tensor<8x40xf32>
  %17 = arith.divf %16, %x : tensor<8x40xf32>
  %18 = arith.maximumf %17, %x : tensor<8x40xf32>
  %19 = arith.minimumf %18, %x : tensor<8x40xf32>
  %20 = arith.maxnumf %19, %x : tensor<8x40xf32>
  %21 = arith.minnumf %20, %x : tensor<8x40xf32>
  %22 = arith.cmpf olt, %21, %x : tensor<8x40xf32>
  %23 = arith.cmpf ole, %21, %x : tensor<8x40xf32>
  %24 = arith.cmpf ogt, %21, %x : tensor<8x40xf32>
  %25 = arith.cmpf oge, %21, %x : tensor<8x40xf32>
  %26 = arith.cmpf oeq, %21, %x : tensor<8x40xf32>
  %27 = arith.cmpf une, %21, %x : tensor<8x40xf32>
  %28 = arith.andi %22, %27 : tensor<8x40xi1>
  %29 = arith.ori %28, %26 : tensor<8x40xi1>
  %30 = arith.select %29, %21, %x : tensor<8x40xi1>, tensor<8x40xf32>
  mlp.output %30 "y" : tensor<8x40xf32>
}

// The founding graphs. Unused biases are inputs of the graph.
// SSM: graph @ssm_gate_backward dims [B, S]
// SSM: input %4: bf16[768] bias
// SSM: param %7: i1[] use_silu_gate
// SSM: op 0: %8: bf16[B, S, 1536] = Matmul %0, %3 contract [2] with [0] at
// SSM: op 11: %19: bf16[B, S, 1536] = Select %7, %18, %10 at
// SSM: op 12: %20: bf16[768, 1536] = Matmul %0, %6 contract [0, 1] with [0, 1] at
// SSM: op 13: %21: bf16[768] = Sum %0 dims [0, 1] at
// SSM: output %19 grad_gate

// GELU: graph @mlp_gelu_backward dims [S]
// GELU-COUNT-4: Matmul {{.*}} precision Tf32 at
// GELU: output %{{[0-9]+}} grad_fc2_bias
