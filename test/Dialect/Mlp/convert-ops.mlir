// RUN: kernel-opt %s --verify-roundtrip | FileCheck %s

// The example of mlp.convert: two parts and the sum.
// CHECK-LABEL: mlp.graph @parts
mlp.graph @parts(%x: tensor<?x192xf32, #mlp.dims<T, _>> "x") {
  // CHECK: %[[C:.*]]:3 = mlp.convert %x sum : tensor<?x192xf32, #mlp.dims<T, _>> -> tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<192xf32>
  // CHECK: mlp.output %[[C]]#0 "hi", %[[C]]#1 "lo", %[[C]]#2 "s"
  %hi, %lo, %s = mlp.convert %x sum : tensor<?x192xf32, #mlp.dims<T, _>>
      -> tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<192xf32>
  mlp.output %hi "hi", %lo "lo", %s "s" : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<192xf32>
}

// One copy of each type, several leading axes, a sum rounded to bf16.
// CHECK-LABEL: mlp.graph @copies
mlp.graph @copies(%x: tensor<?x?x192xf32, #mlp.dims<B, S, _>> "x", %w: tensor<64xf32> "w") {
  // CHECK: mlp.convert %x : tensor<?x?x192xf32, #mlp.dims<B, S, _>> -> tensor<?x?x192xf16, #mlp.dims<B, S, _>>
  // CHECK: mlp.convert %x sum : tensor<?x?x192xf32, #mlp.dims<B, S, _>> -> tensor<?x?x192xbf16, #mlp.dims<B, S, _>>, tensor<192xbf16>
  // CHECK: mlp.convert %w {note = 1 : i64} : tensor<64xf32> -> tensor<64xbf16>
  %a = mlp.convert %x : tensor<?x?x192xf32, #mlp.dims<B, S, _>> -> tensor<?x?x192xf16, #mlp.dims<B, S, _>>
  %b, %s = mlp.convert %x sum : tensor<?x?x192xf32, #mlp.dims<B, S, _>> -> tensor<?x?x192xbf16, #mlp.dims<B, S, _>>, tensor<192xbf16>
  %c = mlp.convert %w {note = 1} : tensor<64xf32> -> tensor<64xbf16>
  mlp.output %a "a", %b "b", %s "s", %c "c" : tensor<?x?x192xf16, #mlp.dims<B, S, _>>, tensor<?x?x192xbf16, #mlp.dims<B, S, _>>, tensor<192xbf16>, tensor<64xbf16>
}
