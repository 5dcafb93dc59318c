// RUN: kernel-opt %s -verify-diagnostics -mlir-print-op-on-diagnostic=false -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches{report=true}))'

// The report says where each op went, and why what was not fused was not.
!x = tensor<?x16xf32, #mlp.dims<T, _>>
mlp.graph @report(%dy: !x "dy", %x: !x "x", %w: tensor<16x16xf32> "w", %z: !x "z") {
  // expected-remark @below {{product of T x 16 over 16 in accumulator 0 of launch 0, fused op 0}}
  %d = mlp.matmul %dy, %w precision tf32 : !x, tensor<16x16xf32> -> !x
  // expected-remark @below {{computed in launch 0, fused op 0 and again in launch 1, fused op 0}}
  %t = math.tanh %z : !x
  // expected-remark @below {{in the epilogue of launch 0, fused op 0; not fused further but stored for launch 1, fused op 0, whose product reads whole rows of it}}
  %h = arith.mulf %d, %t : !x
  // expected-remark @below {{product of T x 16 over 16 in accumulator 0 of launch 1, fused op 0}}
  %g = mlp.matmul %h, %w precision tf32 : !x, tensor<16x16xf32> -> !x
  // expected-remark @below {{in the epilogue of launch 1, fused op 0}}
  %u = arith.mulf %g, %t : !x
  // expected-remark @below {{in the epilogue of launch 1, fused op 0; not one fused op: of the products that meet here one depends on the other}}
  %o = arith.addf %u, %h : !x
  // expected-remark @below {{product of 16 x 16 over T in accumulator 0 of launch 0, fused op 1}}
  %gw = mlp.matmul %dy, %x contract [T] precision tf32 : !x, !x -> tensor<16x16xf32>
  // expected-remark @below {{rides on the loads of a product in launch 0, fused op 1}}
  %gb = mlp.sum %dy over [T] : !x -> tensor<16xf32>
  // expected-remark @below {{sum over m in the epilogue of launch 0, fused op 0}}
  %sh = mlp.sum %h over [T] : !x -> tensor<16xf32>
  // expected-remark @below {{sum over m in the epilogue of launch 0, fused op 0, which loads the value for it: no product contracts it along the summed axes}}
  %sz = mlp.sum %z over [T] : !x -> tensor<16xf32>
  // expected-remark @below {{dropped: no output needs it}}
  %dead = arith.negf %g : !x
  mlp.output %o "o", %gw "gw", %gb "gb", %sh "sh", %sz "sz"
      : !x, tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
