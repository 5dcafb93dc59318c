// RUN: kernel-opt %s -split-input-file -verify-diagnostics

// mlp.fused (C1): no contraction.
mlp.graph @g() {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects at least one contraction and two operands for each, but got 0 contractions and 0 operands}}
    %1 = mlp.fused m = T, n = 32
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0():
      %2 = arith.constant 1.0 : bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C2): a gap in the accumulators.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects accumulators numbered from 0 without gaps, but none of its contractions adds to acc0}}
    %1 = mlp.fused m = T, n = 32
        acc1 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %acc1: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C3): k of A.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects operand a0 to flatten to T x 8, but got 'tensor<?x16xbf16, #mlp.dims<T, _>>'}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 8 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C3): a layout that B does not have.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects operand b0 to flatten to 32 x 16, but got 'tensor<16x32xbf16>'}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[n, k] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C4): an element type without products.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x") {
  %d = arith.constant dense<1.0> : tensor<16x32xf64>
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects operand b0 to be of bf16, f16 or f32, but got 'f64'}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %d[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xf64>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C4): f32 without a precision.
mlp.graph @g(%w: tensor<16x32xbf16> "w",
             %f: tensor<?x16xf32, #mlp.dims<T, _>> "f") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects contraction 0 on f32 operands to have a precision}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %f[m, k] * %w[k, n] over k = 16 : tensor<?x16xf32, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C4): 16 bit with a precision.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects contraction 0 on 16-bit operands to have no precision}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16, precision = tf32 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C4): two 16-bit types.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %h: tensor<16x32xf16> "h") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects 16-bit operands of contraction 0 to be of one type, but got 'bf16' and 'f16'}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %h[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C5): an element operand of another space.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects element operand 0 to fit [m, n] of T x 32, but got 'tensor<?x16xbf16, #mlp.dims<T, _>>'}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        with %x[m, n] : tensor<?x16xbf16, #mlp.dims<T, _>>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %1: bf16):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C5): a row that is as long as a column.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w",
             %v: tensor<32xf32> "v") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects element operand 0 to fit [m] of T x 32, but got 'tensor<32xf32>'}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        with %v[m] : tensor<32xf32>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %1: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C5): a tensor as a scalar.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w",
             %v: tensor<32xf32> "v") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects element operand 0 to fit [] of T x 32 (an f32), but got 'tensor<32xf32>'}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        with %v[] : tensor<32xf32>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %1: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C6): an argument of another type than its operand's elements.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w",
             %e: tensor<?x32xbf16, #mlp.dims<T, _>> "e") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects its region's arguments to be 'f32', 'bf16', but got 'f32', 'f32'}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        with %e[m, n] : tensor<?x32xbf16, #mlp.dims<T, _>>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %1: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C6): no argument for the accumulator.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects its region's arguments to be 'f32', but got }}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
      %2 = arith.constant 1.0 : bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C7): a tensor op in the region.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      // expected-error @below {{'arith.constant' op is not a scalar op of arith, math or mlp, as the region of mlp.fused expects}}
      %3 = arith.constant dense<1.0> : tensor<4xbf16>
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C8): more results than yielded values.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects a result for each of 1 yielded values and 0 operand sums, at least one, but has 2}}
    %1:2 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>>, tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1#0 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C8): fewer results than operand sums.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects a result for each of its 2 operand sums, but has 1 results}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        sum_k a0, b0
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C9): another element type stored.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects result 0 to store T x 32 of 'f32', but got 'tensor<?x32xbf16, #mlp.dims<T, _>>'}}
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      mlp.fused_yield store %acc : f32
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C9): another shape stored.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects result 1 to store T x 32 of 'bf16', but got 'tensor<16x32xbf16>'}}
    %1:2 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16, store %2 : bf16
    }
    mlp.launch_yield %1#0 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C10): a sum of 16-bit values.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects a sum of f32 values, but value 1 is 'bf16'}}
    %1:2 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>>, tensor<32xbf16> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16, sum_m %2 : bf16
    }
    mlp.launch_yield %1#0 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C10): a sum over m as a vector over m.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects result 1, a sum over m, to have 32 elements, but got 'tensor<?xf32, #mlp.dims<T>>'}}
    %1:2 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>>, tensor<?xf32, #mlp.dims<T>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16, sum_m %acc : f32
    }
    mlp.launch_yield %1#0 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C11): a sum of what is not there.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects operand sum 0 to name one of its 1 contractions, but got 1}}
    %1:2 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        sum_k a1
        -> tensor<?x32xbf16, #mlp.dims<T, _>>, tensor<32xf32> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1#0 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused (C11): a sum of B as long as A's.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    // expected-error @below {{expects the result of operand sum 0 to have 32 elements, but got 'tensor<?xf32, #mlp.dims<T>>'}}
    %1:2 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        sum_k b0
        -> tensor<?x32xbf16, #mlp.dims<T, _>>, tensor<?xf32, #mlp.dims<T>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1#0 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// mlp.fused_yield (C1): fewer kinds than values.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      // expected-error @below {{'mlp.fused_yield' op expects a kind for each value, but got 0 kinds for 1 values}}
      "mlp.fused_yield"(%2) <{kinds = []}> : (bf16) -> ()
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// Syntax: indices of A.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %1 = mlp.fused m = T, n = 32
        // expected-error @below {{expects the indices [m, k] or [k, m]}}
        acc0 += %x[m, n] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// Syntax: an unknown index.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %1 = mlp.fused m = T, n = 32
        // expected-error @below {{expects the index m, n or k, but got 'j'}}
        acc0 += %x[m, j] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// Syntax: an unknown precision.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %1 = mlp.fused m = T, n = 32
        // expected-error @below {{unknown precision 'fp8'}}
        acc0 += %x[m, k] * %w[k, n] over k = 16, precision = fp8 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// Syntax: an unknown clause.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w",
             %e: tensor<?x32xbf16, #mlp.dims<T, _>> "e") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        // expected-error @below {{expects acc0, with, sum_k, schedule or attributes, but got 'along'}}
        along %e
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// Syntax: an extent with a zero.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %1 = mlp.fused m = T, n = 32
        // expected-error @below {{expects a product of identifiers and positive integers, but got '0*T'}}
        acc0 += %x[m, k] * %w[k, n] over k = 0*T : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// Syntax: an unknown kind of yield.
mlp.graph @g(%x: tensor<?x16xbf16, #mlp.dims<T, _>> "x",
             %w: tensor<16x32xbf16> "w") {
  %0 = mlp.launch -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    %1 = mlp.fused m = T, n = 32
        acc0 += %x[m, k] * %w[k, n] over k = 16 : tensor<?x16xbf16, #mlp.dims<T, _>>, tensor<16x32xbf16>
        -> tensor<?x32xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %2 = arith.truncf %acc : f32 to bf16
      // expected-error @below {{expects store or sum_m, but got 'sum_n'}}
      mlp.fused_yield sum_n %2 : bf16
    }
    mlp.launch_yield %1 : tensor<?x32xbf16, #mlp.dims<T, _>>
  }
  mlp.output %0 "y" : tensor<?x32xbf16, #mlp.dims<T, _>>
}

// -----

// #mlp.extent: dimensions out of order, as only a builder can give them, are sorted
// by the parser; a factor that overflows is refused.
// expected-error @below {{expects a product of identifiers and positive integers, but got '4611686018427387904*4'}}
module attributes {mlp.e = #mlp.extent<4611686018427387904*4>} {}
