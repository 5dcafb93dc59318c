// RUN: kernel-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(mlp.graph(backfuse-fuse-into-launches))'

// Precondition: no sugar.
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
mlp.graph @sugar(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x", %w: tensor<16x32xbf16> "w") {
  %d = mlp.matmul %x, %w : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16> -> !y
  // expected-error @below {{is sugar, which fusion does not take; run backfuse-expand-sugar before}}
  %r = mlp.relu_grad %d : !y
  mlp.output %r "y" : !y
}

// -----

// Precondition: no bool parameters in use.
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
mlp.graph @flag(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x", %w: tensor<16x32xbf16> "w", %f: i1 "f") {
  %d = mlp.matmul %x, %w : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16> -> !y
  %e = arith.negf %d : !y
  // expected-error @below {{reads a bool parameter, which fusion does not take; run backfuse-specialize before}}
  %r = arith.select %f, %d, %e : !y
  mlp.output %r "y" : !y
}

// -----

// Precondition: not fused yet.
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
mlp.graph @twice(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x", %w: tensor<16x32xbf16> "w") {
  // expected-error @below {{stands in a graph that is to be fused; a graph is fused once}}
  %0 = mlp.launch -> !y {
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> !y {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : !y
  }
  mlp.output %0 "y" : !y
}

// -----

!y = tensor<?x32xbf16, #mlp.dims<T, _>>
// expected-error @below {{holds no product that an output needs, and there are kernels for products and work around them only}}
mlp.graph @no_product(%x: !y "x") {
  %r = mlp.relu %x : !y
  mlp.output %r "y" : !y
}

// -----

// Two 16-bit types, which the graph multiplies as f32.
!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!f = tensor<?x16xf32, #mlp.dims<T, _>>
!y = tensor<?x32xf32, #mlp.dims<T, _>>
mlp.graph @mixed(%x: !x "x", %w: tensor<16x32xf16> "w") {
  %xf = arith.extf %x : !x to !f
  %wf = arith.extf %w : tensor<16x32xf16> to tensor<16x32xf32>
  // expected-error @below {{multiplies 'bf16' by 'f16' values, for which there is no tensor-core instruction}}
  %d = mlp.matmul %xf, %wf precision tf32 : !f, tensor<16x32xf32> -> !y
  mlp.output %d "y" : !y
}

// -----

// A sum of an input that no product contracts along the summed axes.
!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
mlp.graph @nowhere(%x: !x "x", %w: tensor<16x32xbf16> "w") {
  %d = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !y
  // expected-error @below {{rides nowhere: its operand depends on no product, no product contracts it along the summed axes, and none has the space T x 16}}
  %s = mlp.sum %x over [T] : !x -> tensor<16xf32>
  mlp.output %d "y", %s "s" : !y, tensor<16xf32>
}

// -----

// A sum along the rows of an input.
!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
mlp.graph @rows_of_input(%x: !x "x", %w: tensor<16x32xbf16> "w") {
  %d = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !y
  // expected-error @below {{sums axes other than leading ones of a value that no product yields; such sums are not supported: sum outside the graph}}
  %s = mlp.sum %x over [1] : !x -> tensor<?xf32, #mlp.dims<T>>
  mlp.output %d "y", %s "s" : !y, tensor<?xf32, #mlp.dims<T>>
}

// -----

// A sum along the rows of a product.
!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
mlp.graph @rows_of_product(%x: !x "x", %w: tensor<16x32xbf16> "w") {
  %d = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !y
  // expected-error @below {{does not sum the rows of the product's T x 32 space; only sums over all its leading axes are supported yet}}
  %s = mlp.sum %d over [1] : !y -> tensor<?xf32, #mlp.dims<T>>
  mlp.output %s "s" : tensor<?xf32, #mlp.dims<T>>
}

// -----

// A sum over one of two leading axes.
!x = tensor<?x?x16xbf16, #mlp.dims<B, S, _>>
!y = tensor<?x?x32xbf16, #mlp.dims<B, S, _>>
mlp.graph @one_of_two(%x: !x "x", %w: tensor<16x32xbf16> "w") {
  %d = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !y
  // expected-error @below {{does not sum the rows of the product's B*S x 32 space}}
  %s = mlp.sum %d over [B] : !y -> tensor<?x32xf32, #mlp.dims<S, _>>
  mlp.output %s "s" : tensor<?x32xf32, #mlp.dims<S, _>>
}

// -----

!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
mlp.graph @full_sum(%x: !x "x", %w: tensor<16x32xbf16> "w") {
  %d = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !y
  // expected-error @below {{sums all elements, which is not supported yet; sum over the leading axes, and the rest outside the graph}}
  %s = mlp.sum %d over [0, 1] : !y -> tensor<f32>
  mlp.output %s "s" : tensor<f32>
}

// -----

// An output that is a function of an input, in a space without a product.
!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
mlp.graph @copy(%x: !x "x", %w: tensor<16x32xbf16> "w") {
  %d = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !y
  // expected-error @below {{is an output that depends on no product, and no product has its space; compute it outside the graph}}
  %r = mlp.relu %x : !x
  mlp.output %d "y", %r "r" : !y, !x
}

// -----

!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
mlp.graph @constant_output(%x: !x "x", %w: tensor<16x32xbf16> "w") {
  %d = mlp.matmul %x, %w : !x, tensor<16x32xbf16> -> !y
  %c = arith.constant dense<1.0> : tensor<8xbf16>
  // expected-error @below {{names the output "c" for what nothing computes: an input or a constant; a launch does not copy}}
  mlp.output %d "y", %c "c" : !y, tensor<8xbf16>
}

// -----

// A function of an input as a product's operand, where nothing writes it.
!x = tensor<?x16xbf16, #mlp.dims<T, _>>
!y = tensor<?x32xbf16, #mlp.dims<T, _>>
mlp.graph @prologue(%x: !x "x", %w: tensor<16x32xbf16> "w") {
  // expected-note @below {{the value is computed here}}
  %r = mlp.relu %x : !x
  // expected-error @below {{multiplies a value that depends on no product, and no product of its space comes before to compute it; compute it outside the graph and pass it as an input}}
  %d = mlp.matmul %r, %w : !x, tensor<16x32xbf16> -> !y
  mlp.output %d "y" : !y
}

// -----

!y = tensor<?x32xbf16, #mlp.dims<T, _>>
mlp.graph @constant_operand(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x") {
  %w = arith.constant dense<1.0> : tensor<16x32xbf16>
  // expected-error @below {{multiplies a constant; pass the tensor as an input}}
  %d = mlp.matmul %x, %w : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16> -> !y
  mlp.output %d "y" : !y
}

// -----

// Normalising columns: the sum is complete only after the last row.
!x = tensor<?x16xf32, #mlp.dims<T, _>>
!y = tensor<?x32xf32, #mlp.dims<T, _>>
mlp.graph @normalise(%x: !x "x", %w: tensor<16x32xf32> "w") {
  %d = mlp.matmul %x, %w precision tf32 : !x, tensor<16x32xf32> -> !y
  %s = mlp.sum %d over [T] : !y -> tensor<32xf32>
  %b = mlp.broadcast %s : tensor<32xf32> -> !y
  // expected-error @below {{reads a sum or broadcast of values that depend on the product it follows, so that it needs a pass over them of its own, without a product}}
  %n = arith.divf %d, %b : !y
  mlp.output %n "y" : !y
}

// -----

// A function of a sum, in no product's space.
!x = tensor<?x16xf32, #mlp.dims<T, _>>
!y = tensor<?x32xf32, #mlp.dims<T, _>>
mlp.graph @of_sum(%x: !x "x", %w: tensor<16x32xf32> "w") {
  %d = mlp.matmul %x, %w precision tf32 : !x, tensor<16x32xf32> -> !y
  %s = mlp.sum %d over [T] : !y -> tensor<32xf32>
  // expected-error @below {{is a value of sums, which no epilogue can compute after them; compute it outside the graph}}
  %n = arith.negf %s : tensor<32xf32>
  mlp.output %n "n" : tensor<32xf32>
}

// -----

// A vector over the middle axis.
!x = tensor<?x?x16xf32, #mlp.dims<B, S, _>>
!y = tensor<?x?x32xf32, #mlp.dims<B, S, _>>
mlp.graph @middle(%x: !x "x", %w: tensor<16x32xf32> "w", %v: tensor<?xf32, #mlp.dims<S>> "v") {
  %d = mlp.matmul %x, %w precision tf32 : !x, tensor<16x32xf32> -> !y
  // expected-error @below {{repeats its operand along other axes than all leading or all trailing ones of the product's B*S x 32 space, which is not supported}}
  %b = mlp.broadcast %v dims = [1] : tensor<?xf32, #mlp.dims<S>> -> !y
  %n = arith.mulf %d, %b : !y
  mlp.output %n "y" : !y
}

// -----

// A tensor of rank 0 where a parameter is expected.
!x = tensor<?x16xf32, #mlp.dims<T, _>>
!y = tensor<?x32xf32, #mlp.dims<T, _>>
mlp.graph @rank_0(%x: !x "x", %w: tensor<16x32xf32> "w", %v: tensor<f32> "v") {
  %d = mlp.matmul %x, %w precision tf32 : !x, tensor<16x32xf32> -> !y
  // expected-error @below {{reads a value of type 'tensor<f32>' per launch, where only f32 parameters are supported yet}}
  %b = mlp.broadcast %v : tensor<f32> -> !y
  %n = arith.mulf %d, %b : !y
  mlp.output %n "y" : !y
}

// -----

// A reshape that makes another matrix of an input: rows of 8 instead of 32.
!x = tensor<?x16xf32, #mlp.dims<T, _>>
!y = tensor<?x4x8xf32, #mlp.dims<T, _, _>>
mlp.graph @cut_operand(%x: !x "x", %z: tensor<?x32xf32, #mlp.dims<T, _>> "z", %w: tensor<8x16xf32> "w") {
  %e = mlp.expand %z [1, 2] : tensor<?x32xf32, #mlp.dims<T, _>> -> !y
  // expected-error @below {{reads operand a as a matrix of 4*T x 8 through a reshape of 'tensor<?x32xf32, #mlp.dims<T, _>>' that cuts an axis, which is not supported; declare the input in the shape that the product reads}}
  %d = mlp.matmul %e, %w precision tf32 : !y, tensor<8x16xf32> -> tensor<?x4x16xf32, #mlp.dims<T, _, _>>
  mlp.output %d "y" : tensor<?x4x16xf32, #mlp.dims<T, _, _>>
}

// -----

// The same for an epilogue's operand.
!y = tensor<?x4x16xf32, #mlp.dims<T, _, _>>
mlp.graph @cut_element(%x: tensor<?x4x8xf32, #mlp.dims<T, _, _>> "x", %w: tensor<8x16xf32> "w",
                       %z: tensor<?x64xf32, #mlp.dims<T, _>> "z") {
  %d = mlp.matmul %x, %w precision tf32 : tensor<?x4x8xf32, #mlp.dims<T, _, _>>, tensor<8x16xf32> -> !y
  %e = mlp.expand %z [1, 2] : tensor<?x64xf32, #mlp.dims<T, _>> -> !y
  // expected-error @below {{reads 'tensor<?x64xf32, #mlp.dims<T, _>>' through a reshape that cuts an axis of the product's 4*T x 16 space, which is not supported}}
  %n = arith.mulf %d, %e : !y
  mlp.output %n "y" : !y
}

// -----

// A comparison that a later launch needs.
!y = tensor<?x16xf32, #mlp.dims<T, _>>
!i = tensor<?x16xi1, #mlp.dims<T, _>>
mlp.graph @comparison(%x: !y "x", %w: tensor<16x16xf32> "w") {
  %d = mlp.matmul %x, %w precision tf32 : !y, tensor<16x16xf32> -> !y
  // expected-error @below {{is needed by two launches, and comparisons cannot be stored}}
  %c = arith.cmpf ogt, %d, %x : !y
  %e = mlp.matmul %d, %w precision tf32 : !y, tensor<16x16xf32> -> !y
  %n = arith.select %c, %e, %x : !i, !y
  mlp.output %n "y" : !y
}
