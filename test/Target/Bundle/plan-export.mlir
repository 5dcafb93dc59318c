// RUN: split-file %s %t
// RUN: kernel-opt %t/tokens.mlir --emit=plan --target=sm_90a | FileCheck %s --check-prefix=TOKENS
// RUN: kernel-opt %t/flags.mlir --emit=plan --target=sm_90a --tuning=%t/ranges.json | FileCheck %s --check-prefix=FLAGS
// RUN: kernel-opt %t/fixed.mlir --emit=plan --target=sm_90a | FileCheck %s --check-prefix=FIXED
// RUN: kernel-opt %t/independent.mlir --emit=plan --target=sm_90a | FileCheck %s --check-prefix=INDEPENDENT
// RUN: kernel-opt %t/weights.mlir --emit=plan --target=sm_90a --tuning=%t/two.json | FileCheck %s --check-prefix=WEIGHTS
// RUN: kernel-opt %t/scaled.mlir --emit=plan --target=sm_90a --tuning=%t/one.json | FileCheck %s --check-prefix=SCALED
// RUN: kernel-opt %t/chain.mlir --emit=plan --target=sm_90a --tuning=%t/two.json | FileCheck %s --check-prefix=CHAIN

// A variant for no tokens comes first; the others' guards are on the tokens, the
// product of the dimensions that kernels read. U is read by none.
// TOKENS: variant no tokens: sums are zero
// TOKENS-NEXT: when B * S == 0{{$}}
// TOKENS: zero fill output y
// TOKENS-NOT: zero fill
// TOKENS: when 1 <= B * S{{.*}}
// TOKENS-NOT: refused
//--- tokens.mlir
mlp.graph @tokens(%x: tensor<?x?x40xbf16, #mlp.dims<B, S, _>> "x", %w: tensor<40x72xbf16> "w",
                  %unused: tensor<?x8xbf16, #mlp.dims<U, _>> "unused") {
  %0 = mlp.matmul %x, %w : tensor<?x?x40xbf16, #mlp.dims<B, S, _>>, tensor<40x72xbf16> -> tensor<?x?x72xbf16, #mlp.dims<B, S, _>>
  mlp.output %0 "y" : tensor<?x?x72xbf16, #mlp.dims<B, S, _>>
}

// Two flags make four variants, each for two ranges.
// FLAGS: when p == 1 and q == 1 and 1 <= T and T < 300{{$}}
// FLAGS: when p == 1 and q == 1 and 300 <= T{{$}}
// FLAGS: when p == 1 and q == 0 and
// FLAGS: when p == 0 and q == 1 and
// FLAGS: when p == 0 and q == 0 and
//--- flags.mlir
mlp.graph @flags(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %w: tensor<40x72xbf16> "w", %p: i1 "p", %q: i1 "q") {
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<40x72xbf16> -> tensor<?x72xbf16, #mlp.dims<T, _>>
  %1 = arith.negf %0 : tensor<?x72xbf16, #mlp.dims<T, _>>
  %2 = arith.select %p, %0, %1 : i1, tensor<?x72xbf16, #mlp.dims<T, _>>
  %3 = mlp.relu %2 : tensor<?x72xbf16, #mlp.dims<T, _>>
  %4 = arith.select %q, %2, %3 : i1, tensor<?x72xbf16, #mlp.dims<T, _>>
  mlp.output %4 "y" : tensor<?x72xbf16, #mlp.dims<T, _>>
}

// Nothing is variable: one variant, always taken, none for no tokens.
// FIXED-NOT: no tokens
// FIXED: when 1{{$}}
// FIXED-NOT: when
// FIXED-NOT: refused
//--- fixed.mlir
mlp.graph @fixed(%x: tensor<40x768xbf16> "x", %w: tensor<768x72xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<40x768xbf16>, tensor<768x72xbf16> -> tensor<40x72xbf16>
  mlp.output %0 "y" : tensor<40x72xbf16>
}

// Of two independent dimensions one may be 0 while the other's results remain to
// be computed: refused, since no variant does that; zeros would be wrong.
// INDEPENDENT-NOT: zero fill
// INDEPENDENT: refused when {{.*}}T{{.*}}U{{.*}} == 0: one of several variable dimensions being 0 leaves results of the others, which is not built yet; give at least one of each
//--- independent.mlir
mlp.graph @independent(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %z: tensor<?x40xbf16, #mlp.dims<U, _>> "z", %w: tensor<40x72xbf16> "w") {
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<40x72xbf16> -> tensor<?x72xbf16, #mlp.dims<T, _>>
  %1 = mlp.matmul %z, %w : tensor<?x40xbf16, #mlp.dims<U, _>>, tensor<40x72xbf16> -> tensor<?x72xbf16, #mlp.dims<U, _>>
  mlp.output %0 "y", %1 "v" : tensor<?x72xbf16, #mlp.dims<T, _>>, tensor<?x72xbf16, #mlp.dims<U, _>>
}

// A product of weights alone would have to be computed for no tokens, too.
// WEIGHTS: refused when {{.*}}T{{.*}} == 0: a product that does not depend on the tokens
//--- weights.mlir
mlp.graph @weights(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %w: tensor<40x72xbf16> "w", %v: tensor<40x40xbf16> "v") {
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<40x72xbf16> -> tensor<?x72xbf16, #mlp.dims<T, _>>
  %1 = mlp.matmul %v, %w : tensor<40x40xbf16>, tensor<40x72xbf16> -> tensor<40x72xbf16>
  mlp.output %0 "y", %1 "v" : tensor<?x72xbf16, #mlp.dims<T, _>>, tensor<40x72xbf16>
}

// A function of a sum over no tokens need not be zero.
// SCALED: refused when {{.*}}T{{.*}} == 0: a result is computed from a sum over the tokens
//--- scaled.mlir
mlp.graph @scaled(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %z: tensor<?x72xbf16, #mlp.dims<T, _>> "z", %w: tensor<40x72xbf16> "w") {
  %0 = mlp.matmul %x, %z contract [T] : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<?x72xbf16, #mlp.dims<T, _>> -> tensor<40x72xbf16>
  %1 = arith.addf %0, %w : tensor<40x72xbf16>
  mlp.output %1 "y" : tensor<40x72xbf16>
}

// Two launches are two steps; what is between them stands in the workspace, at the
// same place in both.
// CHAIN: workspace w1 bytes
// CHAIN-NEXT: w0 at 0
// CHAIN-NEXT: w1 at ((T * 144) ceildiv 256) * 256
// CHAIN: launch chain__n128_launch0
// CHAIN: map of workspace [[PLACE:w[0-9]+]]: BF16 72 x
// CHAIN: launch chain__n128_launch1
// CHAIN: map of workspace [[PLACE]]: BF16 72 x
// CHAIN: map of output y
//--- chain.mlir
mlp.graph @chain(%x: tensor<?x40xbf16, #mlp.dims<T, _>> "x", %w: tensor<40x72xbf16> "w", %v: tensor<72x136xbf16> "v") {
  %0 = mlp.matmul %x, %w : tensor<?x40xbf16, #mlp.dims<T, _>>, tensor<40x72xbf16> -> tensor<?x72xbf16, #mlp.dims<T, _>>
  %1 = mlp.relu %0 : tensor<?x72xbf16, #mlp.dims<T, _>>
  %2 = mlp.matmul %1, %v : tensor<?x72xbf16, #mlp.dims<T, _>>, tensor<72x136xbf16> -> tensor<?x136xbf16, #mlp.dims<T, _>>
  mlp.output %2 "y" : tensor<?x136xbf16, #mlp.dims<T, _>>
}

//--- ranges.json
{"ranges": [{"to": 300, "tile_n": 128, "splits": [3]}, {"to": -1, "tile_n": 256, "splits": [1]}]}
//--- one.json
{"ranges": [{"to": -1, "tile_n": 128, "splits": [1]}]}
//--- two.json
{"ranges": [{"to": -1, "tile_n": 128, "splits": [1, 1]}]}
