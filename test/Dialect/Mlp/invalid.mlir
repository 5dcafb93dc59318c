// RUN: kernel-opt %s -split-input-file -verify-diagnostics

// #mlp.dims (C1): one entry per axis.
mlp.graph @g(
    // expected-error @below {{expects #mlp.dims to have one entry per axis, but got 1 for rank 2}}
    %x: tensor<?x24xbf16, #mlp.dims<S>> "x") {
}

// -----

// #mlp.dims (C2): a variable axis has a name.
mlp.graph @g(
    // expected-error @below {{expects a name in #mlp.dims for axis 1, which is variable}}
    %x: tensor<?x?xbf16, #mlp.dims<S, _>> "x") {
}

// -----

// #mlp.dims (C2): a fixed axis has none.
mlp.graph @g(
    // expected-error @below {{expects `_` in #mlp.dims for axis 1 of fixed extent 24, but got 'H'}}
    %x: tensor<?x24xbf16, #mlp.dims<S, H>> "x") {
}

// -----

// #mlp.dims (C3): no static zero.
mlp.graph @g(
    // expected-error @below {{expects no fixed extent to be 0, but axis 1 is}}
    %x: tensor<?x0xbf16, #mlp.dims<S, _>> "x") {
}

// -----

// #mlp.dims (C4): names are C identifiers.
mlp.graph @g(
    // expected-error @below {{expects a dimension to be `_` or a product of identifiers and positive integers, but got 'S.1'}}
    %x: tensor<?x24xbf16, #mlp.dims<S.1, _>> "x") {
}

// -----

// #mlp.dims (C4): factors are positive.
mlp.graph @g(
    // expected-error @below {{expects a dimension to be `_` or a product of identifiers and positive integers, but got '0*S'}}
    %x: tensor<?x24xbf16, #mlp.dims<0*S, _>> "x") {
}

// -----

// #mlp.dims (C5): element types.
mlp.graph @g(
    // expected-error @below {{expects the element type bf16, f16, f32 or i1, but got 'f64'}}
    %x: tensor<?x24xf64, #mlp.dims<S, _>> "x") {
}

// -----

// mlp.graph (C1): names are unique among inputs and parameters.
// expected-error @below {{expects the names of each argument to be unique, but 'x' is not}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: i1 "x") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C1): names are C identifiers.
// expected-error @below {{expects the name of each argument to be an identifier, but got 'x.y'}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x.y") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C1): a name per argument.
// expected-error @below {{expects a name for each argument, but got 0 for 1}}
"mlp.graph"() <{sym_name = "g", arg_names = []}> ({
^bb0(%x: tensor<?x24xbf16, #mlp.dims<S, _>>):
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}) : () -> ()

// -----

// mlp.graph (C2): argument types.
// expected-error @below {{expects argument 'p' to be a ranked tensor of bf16, f16 or f32, or an i1 or f32 scalar, but got 'tensor<8x24xf64>'}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: tensor<8x24xf64> "p") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C2): argument types.
// expected-error @below {{expects argument 'p' to be a ranked tensor of bf16, f16 or f32, or an i1 or f32 scalar, but got 'f16'}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: f16 "p") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C2): argument types.
// expected-error @below {{expects argument 'p' to be a ranked tensor of bf16, f16 or f32, or an i1 or f32 scalar, but got 'tensor<8x24xi1>'}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: tensor<8x24xi1> "p") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C2): argument types.
// expected-error @below {{expects argument 'p' to be a ranked tensor of bf16, f16 or f32, or an i1 or f32 scalar, but got 'memref<8xf32>'}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: memref<8xf32> "p") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C3): a `?` without a name.
// expected-error @below {{expects each variable dimension to have a name in #mlp.dims, but got 'tensor<?x24xbf16>' for argument 'p'}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: tensor<?x24xbf16> "p") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C3): a static zero.
// expected-error @below {{expects no fixed extent to be 0, but got 'tensor<8x0xbf16>' for argument 'p'}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: tensor<8x0xbf16> "p") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C3): another encoding.
// expected-error @below {{expects no tensor encoding but #mlp.dims}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: tensor<8x24xbf16, "S"> "p") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C3): also within the body.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  %one = arith.constant 1.0 : bf16
  // expected-error @below {{expects each variable dimension to have a name in #mlp.dims, but got 'tensor<?x24xbf16>'}}
  %b = mlp.broadcast %one : bf16 -> tensor<?x24xbf16>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C4): inputs have single names.
// expected-error @below {{expects argument 'p' to have single names as variable dimensions, but got B*S}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: tensor<?x24xbf16, #mlp.dims<B*S, _>> "p") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C4): outputs have single names.
mlp.graph @g(%x: tensor<?x?x24xbf16, #mlp.dims<B, S, _>> "x") {
  %y = mlp.collapse %x [B, S] : tensor<?x?x24xbf16, #mlp.dims<B, S, _>> -> tensor<?x24xbf16, #mlp.dims<B*S, _>>
  // expected-error @below {{expects each output to have single names as variable dimensions, but got B*S}}
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<B*S, _>>
}

// -----

// mlp.graph (C5): names come from inputs.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: f32 "p") {
  // expected-error @below {{expects the dimension 'R' to occur in an input of the graph}}
  %b = mlp.broadcast %p : f32 -> tensor<?x24xf32, #mlp.dims<R, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C6): ops that a graph does not have.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{'math.cos' op is not allowed in mlp.graph; use an op of mlp, or an elementwise op of arith or math}}
  %z = math.cos %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C6): ops that a graph does not have.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{'arith.remf' op is not allowed in mlp.graph; use an op of mlp, or an elementwise op of arith or math}}
  %z = arith.remf %x, %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C6): constants are splats.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects a scalar or a splat constant}}
  %z = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C6): constants of other types.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects a constant of bf16, f16, f32 or i1, but got 'i32'}}
  %z = arith.constant 1 : i32
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C6): ordered predicates and une.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{has the predicate ult, but a graph has olt, ole, ogt, oge, oeq and une}}
  %z = arith.cmpf ult, %x, %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C7): fastmath that could change or remove a rounding.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{has fastmath<reassoc>, which could change or remove a rounding}}
  %z = arith.addf %x, %x fastmath<reassoc> : tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C7): fastmath that could change or remove a rounding.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{has fastmath<contract>, which could change or remove a rounding}}
  %z = arith.addf %x, %x fastmath<contract> : tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C7): fastmath that could change or remove a rounding.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{has fastmath<contract>, which could change or remove a rounding}}
  %z = arith.extf %x fastmath<contract> : tensor<?x24xbf16, #mlp.dims<S, _>> to tensor<?x24xf32, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C7): fastmath that could change or remove a rounding.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{has fastmath<nnan>, which could change or remove a rounding}}
  %z = math.exp %x fastmath<nnan,afn> : tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C7): fastmath that could change or remove a rounding.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{has fastmath<arcp>, which could change or remove a rounding}}
  %z = arith.divf %x, %x fastmath<arcp> : tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C7): fastmath that could change or remove a rounding.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{has fastmath<reassoc,nnan,ninf,nsz,arcp,contract>, which could change or remove a rounding}}
  %z = math.exp %x fastmath<fast> : tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C7): casts to nearest even.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: f32 "p") {
  // expected-error @below {{has a rounding mode, but a graph rounds to nearest even}}
  %z = arith.truncf %p toward_zero : f32 to bf16
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C8): names agree through elementwise ops.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %r: tensor<?x24xbf16, #mlp.dims<R, _>> "r") {
  // expected-error @below {{requires the same encoding for all operands and results}}
  %y = "mlp.relu"(%x) : (tensor<?x24xbf16, #mlp.dims<S, _>>) -> tensor<?x24xbf16, #mlp.dims<R, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<R, _>>
}

// -----

// mlp.graph (C8): names agree through casts.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %r: tensor<?x24xbf16, #mlp.dims<R, _>> "r") {
  // expected-error @below {{operand type 'tensor<?x24xbf16, #mlp.dims<S, _>>' and result type 'tensor<?x24xf32, #mlp.dims<R, _>>' are cast incompatible}}
  %y = arith.extf %x : tensor<?x24xbf16, #mlp.dims<S, _>> to tensor<?x24xf32, #mlp.dims<R, _>>
  mlp.output %y "y" : tensor<?x24xf32, #mlp.dims<R, _>>
}

// -----

// mlp.graph (C8): no f64.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: f32 "p") {
  // expected-error @below {{expects the element types bf16, f16, f32 and i1, but got 'f64'}}
  %z = arith.extf %p : f32 to f64
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C8): select chooses between floats.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: i1 "p", %q: i1 "q") {
  // expected-error @below {{expects floating-point values; choose between i1 values with arith.andi and arith.ori}}
  %z = arith.select %p, %p, %q : i1
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C9): assumptions are about i1 parameters.
// expected-error @below {{expects an assumption to give an i1 parameter a bool, but got 'p'}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: f32 "p") assumptions {p = true} {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C9): assumptions are about i1 parameters.
// expected-error @below {{expects an assumption to give an i1 parameter a bool, but got 'missing'}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: i1 "p") assumptions {missing = true} {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.graph (C9): the value is a bool.
// expected-error @below {{expects an assumption to give an i1 parameter a bool, but got 'p'}}
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %p: i1 "p") assumptions {p = 1 : i32} {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.output (C1): at least one output.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects at least one output}}
  "mlp.output"() <{names = []}> : () -> ()
}

// -----

// mlp.output (C2): unique names.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  // expected-error @below {{expects the names of each output to be unique, but 'y' is not}}
  mlp.output %y "y", %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.output (C2): names are C identifiers.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  // expected-error @below {{expects the name of each output to be an identifier, but got '1y'}}
  mlp.output %y "1y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.output (C3): no output is an argument.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects each output to be computed, but 'y' is an argument of the graph}}
  mlp.output %x "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.matmul (C1): two axes.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<24xbf16> "b") {
  // expected-error @below {{expects A and B to have at least two axes, but got 2 and 1}}
  %d = mlp.matmul %a, %b : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<24xbf16> -> tensor<?xbf16, #mlp.dims<S>>
  mlp.output %d "d" : tensor<?xbf16, #mlp.dims<S>>
}

// -----

// mlp.matmul (C2): one element type.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<24x40xf16> "b") {
  // expected-error @below {{expects A and B to have the same element type, but got 'bf16' and 'f16'}}
  %d = mlp.matmul %a, %b : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<24x40xf16> -> tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %d "d" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.matmul (C3): a precision for f32 operands.
mlp.graph @g(%a: tensor<?x24xf32, #mlp.dims<S, _>> "a", %b: tensor<24x40xf32> "b") {
  // expected-error @below {{expects a precision for f32 operands: ieee, tf32, bf16x3, fp16 or bf16}}
  %d = mlp.matmul %a, %b : tensor<?x24xf32, #mlp.dims<S, _>>, tensor<24x40xf32> -> tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %d "d" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.matmul (C3): none for 16-bit operands.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<24x40xbf16> "b") {
  // expected-error @below {{expects no precision, since 'bf16' operands are read exactly}}
  %d = mlp.matmul %a, %b precision tf32 : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<24x40xbf16> -> tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %d "d" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.matmul: precisions are an enumeration.
mlp.graph @g(%a: tensor<?x24xf32, #mlp.dims<S, _>> "a", %b: tensor<24x40xf32> "b") {
  // expected-error @below {{expects a precision, one of ieee, tf32, bf16x3, fp16 and bf16, but got 'fp8'}}
  %d = mlp.matmul %a, %b precision fp8 : tensor<?x24xf32, #mlp.dims<S, _>>, tensor<24x40xf32> -> tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %d "d" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.matmul (C4): orientations.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<24x40xbf16> "b") {
  // expected-error @below {{expects to contract the last axis of A with the first or last of B, or leading axes of both, but got axes [0] and [1]}}
  %d = "mlp.matmul"(%a, %b) <{a_contract = array<i64: 0>, b_contract = array<i64: 1>}> : (tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<24x40xbf16>) -> tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %d "d" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.matmul (C4): the axes exist.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<24x40xbf16> "b") {
  // expected-error @below {{or leading axes of both, but got axes [0, 1, 2] and [0, 1, 2]}}
  %d = "mlp.matmul"(%a, %b) <{a_contract = array<i64: 0, 1, 2>, b_contract = array<i64: 0, 1, 2>}> : (tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<24x40xbf16>) -> tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %d "d" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.matmul: named axes are the leading ones, in order.
mlp.graph @g(%a: tensor<?x?x24xbf16, #mlp.dims<B, S, _>> "a", %b: tensor<?x?x40xbf16, #mlp.dims<B, S, _>> "b") {
  // expected-error @below {{expects the leading axes in order, but 'S' is axis 1}}
  %d = mlp.matmul %a, %b contract [S] : tensor<?x?x24xbf16, #mlp.dims<B, S, _>>, tensor<?x?x40xbf16, #mlp.dims<B, S, _>> -> tensor<24x40xbf16>
  mlp.output %d "d" : tensor<24x40xbf16>
}

// -----

// mlp.matmul: named axes exist in both operands.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<?x40xbf16, #mlp.dims<R, _>> "b") {
  // expected-error @below {{expects an axis named 'S', but 'tensor<?x40xbf16, #mlp.dims<R, _>>' has none}}
  %d = mlp.matmul %a, %b contract [S] : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<?x40xbf16, #mlp.dims<R, _>> -> tensor<24x40xbf16>
  mlp.output %d "d" : tensor<24x40xbf16>
}

// -----

// mlp.matmul: axis numbers exist.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<?x24xbf16, #mlp.dims<S, _>> "b") {
  // expected-error @below {{expects an axis of 'tensor<?x24xbf16, #mlp.dims<S, _>>', but got 2}}
  %d = mlp.matmul %a, %b contract [2] : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<24x24xbf16>
  mlp.output %d "d" : tensor<24x24xbf16>
}

// -----

// mlp.matmul: a name that two axes have is ambiguous.
mlp.graph @g(%a: tensor<?x?xbf16, #mlp.dims<S, S>> "a", %b: tensor<?x24xbf16, #mlp.dims<S, _>> "b") {
  // expected-error @below {{expects one axis named 'S', but 'tensor<?x?xbf16, #mlp.dims<S, S>>' has several; give the axis by number}}
  %d = mlp.matmul %a, %b contract [S] : tensor<?x?xbf16, #mlp.dims<S, S>>, tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %d "d" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.matmul (C5): contracted extents agree.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<32x40xbf16> "b") {
  // expected-error @below {{expects contracted axes to have the same extent, but axis 1 of A is 24 and axis 0 of B is 32}}
  %d = mlp.matmul %a, %b : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<32x40xbf16> -> tensor<?x40xbf16, #mlp.dims<S, _>>
  mlp.output %d "d" : tensor<?x40xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.matmul (C5): contracted names agree.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<?x40xbf16, #mlp.dims<R, _>> "b") {
  // expected-error @below {{expects contracted axes to have the same extent, but axis 0 of A is S and axis 0 of B is R}}
  %d = mlp.matmul %a, %b contract [0] : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<?x40xbf16, #mlp.dims<R, _>> -> tensor<24x40xbf16>
  mlp.output %d "d" : tensor<24x40xbf16>
}

// -----

// mlp.matmul (C6): A has a free axis.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<?x24x40xbf16, #mlp.dims<S, _, _>> "b") {
  // expected-error @below {{expects A to have a free axis, but all are contracted}}
  %d = mlp.matmul %a, %b contract [0, 1] : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<?x24x40xbf16, #mlp.dims<S, _, _>> -> tensor<40xbf16>
  mlp.output %d "d" : tensor<40xbf16>
}

// -----

// mlp.matmul (C6): B has a free axis.
mlp.graph @g(%b: tensor<?x24xbf16, #mlp.dims<S, _>> "b", %a: tensor<?x24x40xbf16, #mlp.dims<S, _, _>> "a") {
  // expected-error @below {{expects B to have a free axis, but all are contracted}}
  %d = mlp.matmul %a, %b contract [0, 1] : tensor<?x24x40xbf16, #mlp.dims<S, _, _>>, tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<40xbf16>
  mlp.output %d "d" : tensor<40xbf16>
}

// -----

// mlp.matmul (C7): the result's extents.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<24x40xbf16> "b") {
  // expected-error @below {{expects the result to have extents [S, 40], but got [40, S]}}
  %d = mlp.matmul %a, %b : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<24x40xbf16> -> tensor<40x?xbf16, #mlp.dims<_, S>>
  mlp.output %d "d" : tensor<40x?xbf16, #mlp.dims<_, S>>
}

// -----

// mlp.matmul: the result's element type.
mlp.graph @g(%a: tensor<?x24xbf16, #mlp.dims<S, _>> "a", %b: tensor<24x40xbf16> "b") {
  // expected-error @below {{result #0 must be ranked tensor of bfloat16 type or 16-bit float or 32-bit float values}}
  %d = mlp.matmul %a, %b : tensor<?x24xbf16, #mlp.dims<S, _>>, tensor<24x40xbf16> -> tensor<?x40xi1, #mlp.dims<S, _>>
  mlp.output %d "d" : tensor<?x40xi1, #mlp.dims<S, _>>
}

// -----

// mlp.broadcast (C1): dims are axes of the result.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %v: tensor<24xbf16> "v") {
  // expected-error @below {{expects dims to be strictly increasing with one axis of the result (rank 2) per axis of the operand (rank 1), but got [2]}}
  %b = mlp.broadcast %v dims = [2] : tensor<24xbf16> -> tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.broadcast (C1): dims are increasing.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %v: tensor<24x40xbf16> "v") {
  // expected-error @below {{expects dims to be strictly increasing with one axis of the result (rank 2) per axis of the operand (rank 2), but got [1, 0]}}
  %b = mlp.broadcast %v dims = [1, 0] : tensor<24x40xbf16> -> tensor<40x24xbf16>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.broadcast (C1): the operand has no more axes than the result.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %v: tensor<8x24xbf16> "v") {
  // expected-error @below {{per axis of the operand (rank 2), but got []}}
  %b = mlp.broadcast %v : tensor<8x24xbf16> -> tensor<24xbf16>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.broadcast (C2): extents agree.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %v: tensor<40xbf16> "v") {
  // expected-error @below {{expects axis 1 of the result to be 40 as axis 0 of the operand, but got 24}}
  %b = mlp.broadcast %v : tensor<40xbf16> -> tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.broadcast (C3): one element type.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x", %v: tensor<24xbf16> "v") {
  // expected-error @below {{expects operand and result to have the same element type, but got 'bf16' and 'f32'}}
  %b = mlp.broadcast %v : tensor<24xbf16> -> tensor<?x24xf32, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.sum (C1): at least one axis.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects at least one axis of the operand (rank 2), strictly increasing, but got []}}
  %z = mlp.sum %x over [] : tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.sum (C1): axes are increasing.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects at least one axis of the operand (rank 2), strictly increasing, but got [1, 0]}}
  %z = mlp.sum %x over [1, 0] : tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<bf16>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.sum: a name that the operand lacks.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects an axis named 'B', but 'tensor<?x24xbf16, #mlp.dims<S, _>>' has none}}
  %z = mlp.sum %x over [B] : tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<24xbf16>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.sum (C2): the result has the extents that remain.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects the result to have extents [24], but got [40]}}
  %z = mlp.sum %x over [S] : tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<40xbf16>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.collapse (C1): neighbouring axes.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects at least two neighbouring axes of the operand (rank 2) in order, but got [0]}}
  %z = mlp.collapse %x [S] : tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.collapse (C2): one element type.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects operand and result to have the same element type, but got 'bf16' and 'f32'}}
  %z = mlp.collapse %x [0, 1] : tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<?xf32, #mlp.dims<24*S>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.collapse (C3): the product of the extents.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects the result to have extents [24*S], but got [12*S]}}
  %z = mlp.collapse %x [0, 1] : tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<?xbf16, #mlp.dims<12*S>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.expand (C1): neighbouring axes of the result.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects at least two neighbouring axes of the result (rank 3) in order, but got [0, 2]}}
  %z = mlp.expand %x [0, 2] : tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<?x2x12xbf16, #mlp.dims<S, _, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.expand (C2): one element type.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects operand and result to have the same element type, but got 'f32' and 'bf16'}}
  %z = mlp.expand %x [1, 2] : tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<?x2x12xf32, #mlp.dims<S, _, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.expand (C3): the product of the extents.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects the operand to have extents [S, 32], but got [S, 24]}}
  %z = mlp.expand %x [1, 2] : tensor<?x24xbf16, #mlp.dims<S, _>> -> tensor<?x2x16xbf16, #mlp.dims<S, _, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// Sugar has no default rounding.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expected 'rounding'}}
  %z = mlp.silu_grad %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// The form of GELU is always written.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expected 'form'}}
  %z = mlp.gelu_grad %x rounding = once : tensor<?x24xbf16, #mlp.dims<S, _>>
  %y = mlp.relu %x : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}

// -----

// mlp.op_index is a number on mlp.matmul.
mlp.graph @g(%x: tensor<?x24xbf16, #mlp.dims<S, _>> "x") {
  // expected-error @below {{expects 'mlp.op_index' to be a non-negative i64 on mlp.matmul}}
  %y = mlp.relu %x {mlp.op_index = 1 : i64} : tensor<?x24xbf16, #mlp.dims<S, _>>
  mlp.output %y "y" : tensor<?x24xbf16, #mlp.dims<S, _>>
}
