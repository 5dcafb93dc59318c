// Graphs that are wrong or not supported, as --emit=bundle meets them: each has an
// error at its line, and no bundle is written.
// RUN: rm -f %t.bfb
// RUN: kernel-opt %s --emit=bundle --target=sm_90a -split-input-file -verify-diagnostics -o %t.bfb
// RUN: not ls %t.bfb

// A rank that does not fit.
mlp.graph @g(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %w: tensor<40xbf16> "w") {
  // expected-error @below {{expects A and B to have at least two axes, but got 2 and 1}}
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<40xbf16> -> tensor<?xbf16, #mlp.dims<T>>
  mlp.output %0 "y" : tensor<?xbf16, #mlp.dims<T>>
}

// -----

// Dimensions that do not agree.
mlp.graph @g(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %w: tensor<48x72xbf16> "w") {
  // expected-error @below {{expects contracted axes to have the same extent, but axis 1 of A is 40 and axis 0 of B is 48}}
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<48x72xbf16> -> tensor<?x72xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x72xbf16, #mlp.dims<T, _>>
}

// -----

// Names that do not agree.
// expected-note @below {{prior use here}}
mlp.graph @g(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %e: tensor<?x40xbf16, #mlp.dims<U, _>> "e") {
  // expected-error @below {{use of value '%e' expects different type than prior uses}}
  %0 = arith.mulf %x, %e : tensor<?x40xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x40xbf16, #mlp.dims<T, _>>
}

// -----

// Names that do not agree in a product.
mlp.graph @g(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %e: tensor<?x72xbf16, #mlp.dims<U, _>> "e") {
  // expected-error @below {{expects an axis named 'T', but 'tensor<?x72xbf16, #mlp.dims<U, _>>' has none}}
  %0 = mlp.matmul %x, %e contract [T] : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<?x72xbf16, #mlp.dims<U, _>> -> tensor<40x72xbf16>
  mlp.output %0 "y" : tensor<40x72xbf16>
}

// -----

// A variable dimension without a name.
// expected-error @below {{expects each variable dimension to have a name in #mlp.dims, but got 'tensor<?x40xbf16>' for argument 'x'}}
mlp.graph @g(%x: tensor<?x40xbf16> "x", %w: tensor<40x72xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16>, tensor<40x72xbf16> -> tensor<?x72xbf16>
  mlp.output %0 "y" : tensor<?x72xbf16>
}

// -----

// An element type that no kernel takes.
// expected-error @below {{expects the element type bf16, f16, f32 or i1, but got 'f64'}}
mlp.graph @g(%x: tensor<?x40xf64, #mlp.dims<T, _>> "x", %w: tensor<40x72xf64> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x40xf64, #mlp.dims<T, _>>, tensor<40x72xf64> -> tensor<?x72xf64, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x72xf64, #mlp.dims<T, _>>
}

// -----

// A precision that is not there.
mlp.graph @g(%x: tensor<?x40xf32, #mlp.dims<T, _>> "x", %w: tensor<40x72xf32> "w") {
  // expected-error @below {{expects a precision, one of ieee, tf32, bf16x3, fp16 and bf16, but got 'fp8'}}
  %0 = mlp.matmul %x, %w precision fp8 : tensor<?x40xf32, #mlp.dims<T, _>>, tensor<40x72xf32> -> tensor<?x72xf32, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x72xf32, #mlp.dims<T, _>>
}

// -----

// A missing precision.
mlp.graph @g(%x: tensor<?x40xf32, #mlp.dims<T, _>> "x", %w: tensor<40x72xf32> "w") {
  // expected-error @below {{expects a precision for f32 operands: ieee, tf32, bf16x3, fp16 or bf16}}
  %0 = mlp.matmul %x, %w : tensor<?x40xf32, #mlp.dims<T, _>>, tensor<40x72xf32> -> tensor<?x72xf32, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x72xf32, #mlp.dims<T, _>>
}

// -----

// A fixed dimension of 0.
// expected-error @below {{expects no fixed extent to be 0, but axis 1 is}}
mlp.graph @g(%x: tensor<?x0xbf16, #mlp.dims<T, _>> "x", %w: tensor<0x72xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x0xbf16, #mlp.dims<T, _>>, tensor<0x72xbf16> -> tensor<?x72xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x72xbf16, #mlp.dims<T, _>>
}

// -----

// An output that is an input.
mlp.graph @g(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x") {
  // expected-error @below {{expects each output to be computed, but 'y' is an argument of the graph}}
  mlp.output %x "y" : tensor<?x40xbf16, #mlp.dims<T, _>>
}

// -----

// An op of no dialect that there is.
mlp.graph @g(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x") {
  // expected-error @below {{custom op 'mlp.softmax' is unknown}}
  %0 = mlp.softmax %x : tensor<?x40xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x40xbf16, #mlp.dims<T, _>>
}

// -----

// An op that is not elementwise.
mlp.graph @g(%x: tensor<40x40xbf16> "x", %w: tensor<40x72xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<40x40xbf16>, tensor<40x72xbf16> -> tensor<40x72xbf16>
  // expected-error @below {{is not allowed in mlp.graph; use an op of mlp, or an elementwise op of arith or math}}
  %1 = scf.execute_region -> tensor<40x72xbf16> {
    scf.yield %0 : tensor<40x72xbf16>
  }
  mlp.output %1 "y" : tensor<40x72xbf16>
}

// -----

// expected-note @below {{the first is here}}
mlp.graph @first(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %w: tensor<40x72xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<40x72xbf16> -> tensor<?x72xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x72xbf16, #mlp.dims<T, _>>
}
// expected-error @below {{is the second graph of the file; a bundle holds one}}
mlp.graph @second(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %w: tensor<40x72xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<40x72xbf16> -> tensor<?x72xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x72xbf16, #mlp.dims<T, _>>
}

// -----

// A kernel of the user's beside the graph has no place in the plan.
mlp.graph @g(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %w: tensor<40x72xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<40x72xbf16> -> tensor<?x72xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x72xbf16, #mlp.dims<T, _>>
}
// expected-error @below {{stands beside a graph; a file to compile holds one graph and nothing else}}
llvm.func @kernel() attributes {nvvm.kernel} {
  llvm.return
}

// -----

// So has a tile kernel.
mlp.graph @g(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %w: tensor<40x72xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<40x72xbf16> -> tensor<?x72xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x72xbf16, #mlp.dims<T, _>>
}
// expected-error @below {{stands beside a graph; a file to compile holds one graph and nothing else}}
tile.kernel @kernel() {
  tile.task load { tile.for_each_unit }
  tile.task multiply { tile.for_each_unit }
  tile.task drain { tile.for_each_unit }
}

// -----

// A fixed extent that kernels cannot count.
mlp.graph @g(%x: tensor<2147483648x40xbf16> "x", %w: tensor<40x72xbf16> "w") {
  // expected-error @below {{has an extent of 2147483648, and kernels count with 32 bits, to 2147483647; cut the tensor}}
  %0 = mlp.matmul %x, %w : tensor<2147483648x40xbf16>, tensor<40x72xbf16> -> tensor<2147483648x72xbf16>
  mlp.output %0 "y" : tensor<2147483648x72xbf16>
}

// -----

// Rows that copies cannot take.
mlp.graph @g(%x: tensor<?x36xbf16, #mlp.dims<T, _>> "x", %w: tensor<36x72xbf16> "w") {
  // expected-error @below {{whose rows of 36 elements are not a multiple of 16 bytes; pad them to a multiple of 8 elements}}
  %0 = mlp.matmul %x, %w : tensor<?x36xbf16, #mlp.dims<T, _>>, tensor<36x72xbf16> -> tensor<?x72xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x72xbf16, #mlp.dims<T, _>>
}

// -----

// Rows that copies of an f32 input cannot have, and the f32 input has.
mlp.graph @g(%x: tensor<?x40xf32, #mlp.dims<T, _>> "x", %w: tensor<40x68xf32> "w") {
  // expected-error @below {{multiplies 16-bit copies of the f32 input 'w' of type 'tensor<40x68xf32>' (precision tf32); rows of 68 16-bit elements are not a multiple of 16 bytes: pad them to a multiple of 8 elements}}
  %0 = mlp.matmul %x, %w precision tf32 : tensor<?x40xf32, #mlp.dims<T, _>>, tensor<40x68xf32> -> tensor<?x68xf32, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x68xf32, #mlp.dims<T, _>>
}

// -----

// A sum of an odd number of columns, which kernels write in pairs.
mlp.graph @g(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %w: tensor<9x40xbf16> "w") {
  // expected-error @below {{sums 9 columns, and kernels write sums in pairs; pad the columns to an even number}}
  %0 = mlp.matmul %x, %w transpose_b : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<9x40xbf16> -> tensor<?x9xf32, #mlp.dims<T, _>>
  %1 = mlp.sum %0 over [T] : tensor<?x9xf32, #mlp.dims<T, _>> -> tensor<9xf32>
  mlp.output %1 "y" : tensor<9xf32>
}
