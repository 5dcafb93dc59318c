// Graphs at the edges of what there is compile to PTX: shapes that nothing divides,
// tensors in several roles, epilogues without operands.
// RUN: kernel-opt %s --emit=ptx --target=sm_90a -split-input-file -verify-diagnostics

// One tensor as both operands.
mlp.graph @g(%x: tensor<?x128xbf16, #mlp.dims<T, _>> "x") {
  %0 = mlp.matmul %x, %x contract [T] : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<?x128xbf16, #mlp.dims<T, _>> -> tensor<128x128xbf16>
  mlp.output %0 "y" : tensor<128x128xbf16>
}

// -----

// An operand that the epilogue reads, too.
mlp.graph @g(%x: tensor<?x128xbf16, #mlp.dims<T, _>> "x", %w: tensor<128x128xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<128x128xbf16> -> tensor<?x128xbf16, #mlp.dims<T, _>>
  %1 = arith.mulf %0, %x : tensor<?x128xbf16, #mlp.dims<T, _>>
  mlp.output %1 "y" : tensor<?x128xbf16, #mlp.dims<T, _>>
}

// -----

// Eight columns.
mlp.graph @g(%x: tensor<?x128xbf16, #mlp.dims<T, _>> "x", %w: tensor<128x8xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<128x8xbf16> -> tensor<?x8xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x8xbf16, #mlp.dims<T, _>>
}

// -----

// Columns that no panel divides.
mlp.graph @g(%x: tensor<?x128xbf16, #mlp.dims<T, _>> "x", %w: tensor<128x40xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<128x40xbf16> -> tensor<?x40xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x40xbf16, #mlp.dims<T, _>>
}

// -----

// A fixed number of rows, fewer than a tile's.
mlp.graph @g(%x: tensor<40x768xbf16> "x", %w: tensor<768x256xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<40x768xbf16>, tensor<768x256xbf16> -> tensor<40x256xbf16>
  mlp.output %0 "y" : tensor<40x256xbf16>
}

// -----

// One row.
mlp.graph @g(%x: tensor<1x768xbf16> "x", %w: tensor<768x256xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<1x768xbf16>, tensor<768x256xbf16> -> tensor<1x256xbf16>
  mlp.output %0 "y" : tensor<1x256xbf16>
}

// -----

// A contraction shorter than an instruction's.
mlp.graph @g(%x: tensor<?x8xbf16, #mlp.dims<T, _>> "x", %w: tensor<8x256xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x8xbf16, #mlp.dims<T, _>>, tensor<8x256xbf16> -> tensor<?x256xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x256xbf16, #mlp.dims<T, _>>
}

// -----

// A contraction that no step divides.
mlp.graph @g(%x: tensor<?x72xbf16, #mlp.dims<T, _>> "x", %w: tensor<72x256xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x72xbf16, #mlp.dims<T, _>>, tensor<72x256xbf16> -> tensor<?x256xbf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x256xbf16, #mlp.dims<T, _>>
}

// -----

// Nothing but a sum of the product's columns.
mlp.graph @g(%x: tensor<?x128xbf16, #mlp.dims<T, _>> "x", %w: tensor<128x256xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<128x256xbf16> -> tensor<?x256xf32, #mlp.dims<T, _>>
  %1 = mlp.sum %0 over [T] : tensor<?x256xf32, #mlp.dims<T, _>> -> tensor<256xf32>
  mlp.output %1 "y" : tensor<256xf32>
}

// -----

// Two accumulators.
mlp.graph @g(%x: tensor<?x128xbf16, #mlp.dims<T, _>> "x", %w: tensor<128x256xbf16> "w", %v: tensor<128x256xbf16> "v") {
  %0 = mlp.matmul %x, %w : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<128x256xbf16> -> tensor<?x256xbf16, #mlp.dims<T, _>>
  %1 = mlp.matmul %x, %v : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<128x256xbf16> -> tensor<?x256xbf16, #mlp.dims<T, _>>
  %s = mlp.silu %0 : tensor<?x256xbf16, #mlp.dims<T, _>>
  %2 = arith.mulf %s, %1 : tensor<?x256xbf16, #mlp.dims<T, _>>
  mlp.output %2 "z" : tensor<?x256xbf16, #mlp.dims<T, _>>
}

// -----

// One value as two outputs.
mlp.graph @g(%x: tensor<?x128xbf16, #mlp.dims<T, _>> "x", %w: tensor<128x256xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<128x256xbf16> -> tensor<?x256xbf16, #mlp.dims<T, _>>
  mlp.output %0 "z", %0 "y" : tensor<?x256xbf16, #mlp.dims<T, _>>, tensor<?x256xbf16, #mlp.dims<T, _>>
}

// -----

// f16 operands.
mlp.graph @g(%x: tensor<?x64xf16, #mlp.dims<T, _>> "x", %w: tensor<64x256xf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x64xf16, #mlp.dims<T, _>>, tensor<64x256xf16> -> tensor<?x256xf16, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x256xf16, #mlp.dims<T, _>>
}

// -----

// An f32 result, unrounded.
mlp.graph @g(%x: tensor<?x64xbf16, #mlp.dims<T, _>> "x", %w: tensor<64x256xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x64xbf16, #mlp.dims<T, _>>, tensor<64x256xbf16> -> tensor<?x256xf32, #mlp.dims<T, _>>
  mlp.output %0 "y" : tensor<?x256xf32, #mlp.dims<T, _>>
}

// -----

// A value per column, one per row and one for all.
!y = tensor<?x72xf32, #mlp.dims<T, _>>
mlp.graph @g(%x: tensor<?x128xbf16, #mlp.dims<T, _>> "x", %w: tensor<128x72xbf16> "w", %b: tensor<72xf32> "b",
             %c: tensor<?xf32, #mlp.dims<T>> "c", %s: f32 "s") {
  %0 = mlp.matmul %x, %w : tensor<?x128xbf16, #mlp.dims<T, _>>, tensor<128x72xbf16> -> !y
  %1 = mlp.broadcast %b : tensor<72xf32> -> !y
  %2 = mlp.broadcast %c dims = [0] : tensor<?xf32, #mlp.dims<T>> -> !y
  %3 = mlp.broadcast %s : f32 -> !y
  %4 = arith.mulf %0, %2 : !y
  %5 = arith.mulf %4, %3 : !y
  %6 = arith.addf %5, %1 : !y
  mlp.output %6 "y" : !y
}
