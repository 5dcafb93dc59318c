// RUN: kernel-opt %s -split-input-file -verify-diagnostics

// The constraints of tile.kernel, most of which keep kernels from hanging. That
// the pools fit into shared memory (C5) is tested at each target's conversion.

// tile.kernel (C1): workspace 0 for tile.tensor<?x96xbf16>.
// expected-error @below {{argument 0 of type '!tile.tensor<?x96xbf16>' cannot be bound to #tile.bind<workspace 0}}
tile.kernel @k(%a: !tile.tensor<?x96xbf16> #tile.bind<workspace 0, <[], affine_map<() -> (8)>>>) {
}

// -----

// tile.kernel (C1): output 0 for tile.workspace.
// expected-error @below {{argument 0 of type '!tile.workspace' cannot be bound to #tile.bind<output 0>}}
tile.kernel @k(%a: !tile.workspace #tile.bind<output 0>) {
}

// -----

// tile.kernel (C1): extent 0 for f32.
// expected-error @below {{argument 0 of type 'f32' cannot be bound to #tile.bind<extent 0}}
tile.kernel @k(%a: f32 #tile.bind<extent 0, <[], affine_map<() -> (8)>>>) {
}

// -----

// tile.kernel (C1): param 0 for i32.
// expected-error @below {{argument 0 of type 'i32' cannot be bound to #tile.bind<param 0>}}
tile.kernel @k(%a: i32 #tile.bind<param 0>) {
}

// -----

// tile.kernel (C1): tag 0 for i32.
// expected-error @below {{argument 0 of type 'i32' cannot be bound to #tile.bind<tag 0>}}
tile.kernel @k(%a: i32 #tile.bind<tag 0>) {
}

// -----

// tile.kernel (C1): extent 0 for index.
// expected-error @below {{argument 0: the binding expects an expression (C1)}}
tile.kernel @k(%a: index #tile.bind<extent 0>) {
}

// -----

// tile.kernel (C1): workspace 0 for tile.workspace.
// expected-error @below {{argument 0: the binding expects an expression (C1)}}
tile.kernel @k(%a: !tile.workspace #tile.bind<workspace 0>) {
}

// -----

// tile.kernel (C1): temporary 0 for tile.tensor<?x96xbf16>.
// expected-error @below {{argument 0: the binding expects an expression (C1)}}
tile.kernel @k(%a: !tile.tensor<?x96xbf16> #tile.bind<temporary 0>) {
}

// -----

// tile.kernel (C1): an argument without a binding.
// expected-error @below {{expects 1 bindings, but got 0 (C1)}}
"tile.kernel"() <{bindings = [], sym_name = "k"}> ({
^bb0(%a: f32):
}) : () -> ()

// -----

// tile.kernel (C1): what is not a binding.
// expected-error @below {{argument 0 of type 'f32' cannot be bound to 7 : i64 (C1)}}
"tile.kernel"() <{bindings = [7], sym_name = "k"}> ({
^bb0(%a: f32):
}) : () -> ()

// -----

// tile.kernel (C2): no drain task.
// expected-error @below {{expects a task of kind drain (C2)}}
tile.kernel @k() {
  tile.task load { tile.for_each_unit }
  tile.task multiply { tile.for_each_unit }
}

// -----

// tile.kernel (C2): two load tasks.
tile.kernel @k() {
  tile.task load { tile.for_each_unit }
  // expected-error @below {{is the second task of kind load (C2)}}
  tile.task load { tile.for_each_unit }
}

// -----

// tile.kernel (C3): a task that walks nothing.
tile.kernel @k() {
  tile.task load { tile.for_each_unit }
  // expected-error @below {{expects one tile.for_each_unit (C3)}}
  tile.task multiply { }
  tile.task drain { tile.for_each_unit }
}

// -----

// tile.kernel (C3): the spaces in another order.
tile.kernel @k() {
  %i = arith.constant 1 : index
  %a = tile.space %i, %i, %i tile [64, 24, 16] splits %i cost 1
  %b = tile.space %i, %i, %i tile [64, 24, 16] splits %i cost 1
  tile.task load {
    tile.for_each_unit %a, %b
      unit(%m0, %n0, %k0, %steps, %split, %last) {}
      unit(%m0, %n0, %k0, %steps, %split, %last) {}
  }
  tile.task multiply {
    // expected-error @below {{expects the spaces of the load task, in its order (C3)}}
    tile.for_each_unit %b, %a
      unit(%m0, %n0, %k0, %steps, %split, %last) {}
      unit(%m0, %n0, %k0, %steps, %split, %last) {}
  }
  tile.task drain {
    tile.for_each_unit %a, %b
      unit(%m0, %n0, %k0, %steps, %split, %last) {}
      unit(%m0, %n0, %k0, %steps, %split, %last) {}
  }
}

// -----

// tile.kernel (C4): a step too few is loaded.
// expected-error @below {{space 0: the multiply and drain tasks do not consume what load produces (C4)}}
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-note @below {{produced here: 1 entries}}
        %one = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
        tile.commit %one
        %s = tile.acquire %out : !tile.ring<<64x64xbf16>>
        tile.commit %s
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-note @below {{consumed here: unit argument 3 entries}}
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
}

// -----

// tile.kernel (C4): the drain's slot is loaded before the operands.
// expected-error @below {{space 0: the multiply and drain tasks do not consume what load produces (C4)}}
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-note @below {{produced here: 1 entries}}
        %early = tile.acquire %out : !tile.ring<<64x64xbf16>>
        tile.commit %early
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-note @below {{consumed here: unit argument 3 entries}}
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
}

// -----

// tile.kernel (C4): nothing is loaded for the drain.
// expected-error @below {{space 0: the multiply and drain tasks do not consume what load produces (C4)}}
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-note @below {{consumed here: 1 entries}}
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
}

// -----

// tile.kernel (C4): an entry that nobody consumes.
// expected-error @below {{space 0: the multiply and drain tasks do not consume what load produces (C4)}}
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
        }
        %s = tile.acquire %out : !tile.ring<<64x64xbf16>>
        tile.commit %s
        // expected-note @below {{produced here: 1 entries}}
        %z = tile.acquire %far : !tile.ring<<64x64xbf16>>
        tile.commit %z
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
}

// -----

// tile.kernel (C4): the drain's slot is loaded for every split, and consumed by the last.
// expected-error @below {{space 0: the multiply and drain tasks do not consume what load produces (C4)}}
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
        }
        // expected-note @below {{produced here: 1 entries}}
        %s = tile.acquire %out : !tile.ring<<64x64xbf16>>
        tile.commit %s
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.if %last {
          // expected-note @below {{consumed here: 1 entries by the last split}}
          tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
        }
      }
  }
}

// -----

// tile.kernel (C4): a slot that is not committed.
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
        }
        // expected-error @below {{expects one commit of the slot in the same block, but got 0 (C4)}}
        %s = tile.acquire %out : !tile.ring<<64x64xbf16>>
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
}

// -----

// tile.kernel (C4): a slot that is committed twice.
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
        }
        // expected-error @below {{expects one commit of the slot in the same block, but got 2 (C4)}}
        %s = tile.acquire %out : !tile.ring<<64x64xbf16>>
        tile.commit %s
        tile.commit %s
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
}

// -----

// tile.kernel (C4): a slot that is committed on one path only.
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
        }
        // expected-error @below {{expects one commit of the slot in the same block, but got 0 (C4)}}
        %s = tile.acquire %out : !tile.ring<<64x64xbf16>>
        scf.if %last {
          tile.commit %s
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
}

// -----

// tile.kernel (C4): a loop that does not begin at 0.
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-error @below {{expects a loop from 0 by 1 around ring operations (C4)}}
        scf.for %i = %c1 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
}

// -----

// tile.kernel (C4): a loop over two rings.
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-error @below {{expects entries of one ring in each iteration of a loop (C4)}}
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
          %z = tile.acquire %out : !tile.ring<<64x64xbf16>>
          tile.commit %z
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
}

// -----

// tile.kernel (C4): two entries in each iteration of a variable loop.
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-error @below {{expects one entry in each iteration of a loop of variable length (C4)}}
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
          %z = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %z
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
}

// -----

// tile.kernel (C4): a condition other than the last split.
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
        }
        %even = arith.cmpi eq, %split, %c0 : index
        // expected-error @below {{expects ring operations under no other condition than the last split (C4)}}
        scf.if %even {
          %s = tile.acquire %out : !tile.ring<<64x64xbf16>>
          tile.commit %s
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
}

// -----

// tile.kernel (C4): the sum task lets an entry too many pass.
// expected-error @below {{space 0: the sum task does not consume what load produces (C4)}}
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
        }
        // expected-note @below {{produced here: 1 entries}}
        %s = tile.acquire %out : !tile.ring<<64x64xbf16>>
        tile.commit %s
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
  tile.task sum {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.skip %ab entries %steps : !tile.ring<<64x16xbf16>, <16x24xbf16>>
        // expected-note @below {{consumed here: 2 entries}}
        tile.skip %out entries %c2 : !tile.ring<<64x64xbf16>>
      }
  }
}

// -----

// tile.kernel (C4): the sum task forgets the drain's slot.
// expected-error @below {{space 0: the sum task does not consume what load produces (C4)}}
tile.kernel @k(%y: !tile.tensor<?x24xbf16> #tile.bind<output 0>,
               %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %space = tile.space %t, %c24, %t tile [64, 24, 16] splits %c1 cost 1
  %p = tile.pool 4 x 8192
  %q = tile.pool 2 x 8192
  %ab = tile.ring %p : !tile.ring<<64x16xbf16>, <16x24xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %far = tile.ring %q : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x24>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %ab : !tile.ring<<64x16xbf16>, <16x24xbf16>>
          tile.commit %s
        }
        // expected-note @below {{produced here: 1 entries}}
        %s = tile.acquire %out : !tile.ring<<64x64xbf16>>
        tile.commit %s
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x16xbf16>, <16x24xbf16>>, !tile.accumulator<64x24>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x24>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x24xbf16>) -> ()
      }
  }
  tile.task sum {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.skip %ab entries %steps : !tile.ring<<64x16xbf16>, <16x24xbf16>>
      }
  }
}

// -----

// tile.kernel (C4): a ring that no tile.ring made.
tile.kernel @k() {
  %i = arith.constant 1 : index
  %r = ub.poison : !tile.ring<<64x16xbf16>>
  %space = tile.space %i, %i, %i tile [64, 24, 16] splits %i cost 1
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-error @below {{expects a ring that is the result of tile.ring (C4)}}
        %s = tile.acquire %r : !tile.ring<<64x16xbf16>>
        tile.commit %s
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {}
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {}
  }
}

// -----

// tile.kernel (C5): buffers that do not fit into a slot of their pool.
tile.kernel @k() {
  %p = tile.pool 2 x 1024
  // expected-error @below {{expects buffers that fit into 1024 bytes, but got 2048 (C1)}}
  %r = tile.ring %p : !tile.ring<<64x16xbf16>>
  tile.task load { tile.for_each_unit }
  tile.task multiply { tile.for_each_unit }
  tile.task drain { tile.for_each_unit }
}

// -----

// tile.kernel (C6): two cluster ranks.
tile.kernel @k() {
  %0 = tile.cluster_rank of 2
  // expected-error @below {{is the second of its kernel (C6)}}
  %1 = tile.cluster_rank of 2
  tile.task load { tile.for_each_unit }
  tile.task multiply { tile.for_each_unit }
  tile.task drain { tile.for_each_unit }
}

// -----

// tile.kernel (C6): a product of a pair where each CTA has tiles of its own.
tile.kernel @k(%i: index #tile.bind<extent 0, <[], affine_map<() -> (8)>>>) {
  %space = tile.space %i, %i, %i tile [64, 16, 16] splits %i cost 1
  %p = tile.pool 2 x 4096
  %r = tile.ring %p : !tile.ring<<64x16xbf16>, <8x16xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x16>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {}
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-error @below {{expects to be that of a pair where the kernel has a tile.cluster_rank, and only there (C6)}}
        tile.multiply %r steps %steps into %acc a k_major b k_major pair
            : !tile.ring<<64x16xbf16>, <8x16xbf16>>, !tile.accumulator<64x16>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {}
  }
}
