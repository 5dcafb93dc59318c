// RUN: kernel-opt %s --verify-roundtrip | FileCheck %s
// RUN: %python %S/Inputs/check-examples.py %s %S/../../../dialects/Tile/IR/TileOps.td %S/../../../dialects/Tile/IR/TileAttrs.td

// The example of tile.kernel: a product of K-major operands, rounded to f16.
// CHECK: #[[TOKENS:.*]] = affine_map<()[s0, s1] -> (s0 * s1)>
// CHECK: tile.kernel @project(
// CHECK-SAME: %[[X:.*]]: !tile.tensor<?x320xf16> #tile.bind<input 0>,
// CHECK-SAME: %[[W:.*]]: !tile.tensor<96x320xf16> #tile.bind<input 1>,
// CHECK-SAME: %[[Y:.*]]: !tile.tensor<?x96xf16> #tile.bind<output 0>,
// CHECK-SAME: %[[T:.*]]: index #tile.bind<extent 0, <[B, S], #[[TOKENS]]>>) {
// CHECK: %[[SPACE:.*]] = tile.space %[[T]], %{{.*}}, %{{.*}} tile [128, 96, 64] splits %{{.*}} cost 3
// CHECK: %[[POOL:.*]] = tile.pool 5 x 28672
// CHECK: %[[AB:.*]] = tile.ring %[[POOL]] : !tile.ring<<128x64xf16>, <96x64xf16>>
// CHECK: %[[OUT:.*]] = tile.ring %[[POOL]] : !tile.ring<<128x64xf16>>
// CHECK: %[[ACC:.*]] = tile.accumulators 1 : !tile.accumulator<128x96>
// CHECK: tile.task load {
// CHECK: tile.for_each_unit %[[SPACE]]
// CHECK-NEXT: unit(%[[M0:.*]], %[[N0:.*]], %{{.*}}, %[[STEPS:.*]], %{{.*}}, %[[LAST:.*]]) {
// CHECK: %[[SLOT:.*]] = tile.acquire %[[AB]] : !tile.ring<<128x64xf16>, <96x64xf16>>
// CHECK: tile.copy %[[X]][%[[M0]], %{{.*}}] to %[[SLOT]][0] : !tile.tensor<?x320xf16>
// CHECK: tile.copy %[[W]][%[[N0]], %{{.*}}] to %[[SLOT]][1] : !tile.tensor<96x320xf16>
// CHECK: tile.commit %[[SLOT]]
// CHECK: tile.task multiply {
// CHECK: tile.multiply %[[AB]] steps %{{.*}} into %[[ACC]] a k_major b k_major : !tile.ring<<128x64xf16>, <96x64xf16>>, !tile.accumulator<128x96>
// CHECK: tile.task drain {
// CHECK: tile.drain(%[[ACC]]) at[%{{.*}}, %{{.*}}] rows %[[T]] via %[[OUT]] stores(%[[Y]])
// CHECK: tile.yield %{{.*}} : f16
tile.kernel @project(
    %x: !tile.tensor<?x320xf16> #tile.bind<input 0>,
    %w: !tile.tensor<96x320xf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x96xf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[B, S], affine_map<()[s0, s1] -> (s0 * s1)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 96 : index
  %k = arith.constant 320 : index
  %space = tile.space %t, %n, %k tile [128, 96, 64] splits %c1 cost 3
  %pool = tile.pool 5 x 28672
  %ab = tile.ring %pool : !tile.ring<<128x64xf16>, <96x64xf16>>
  %out = tile.ring %pool : !tile.ring<<128x64xf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x96>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %at = arith.muli %i, %c64 : index
          %slot = tile.acquire %ab : !tile.ring<<128x64xf16>, <96x64xf16>>
          tile.copy %x[%m0, %at] to %slot[0] : !tile.tensor<?x320xf16>
          tile.copy %w[%n0, %at] to %slot[1] : !tile.tensor<96x320xf16>
          tile.commit %slot
        }
        scf.if %last {
          scf.for %i = %c0 to %c2 step %c1 {
            %slot = tile.acquire %out : !tile.ring<<128x64xf16>>
            tile.commit %slot
          }
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b k_major
            : !tile.ring<<128x64xf16>, <96x64xf16>>, !tile.accumulator<128x96>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.if %last {
          tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
              attributes {elementKinds = [], operandBuffers = array<i64>,
                          yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64: 0>,
                          entryRows = 128, slotsPerEntry = 1} {
          ^bb0(%a: f32):
            %v = arith.truncf %a : f32 to f16
            tile.yield %v : f16
          } : (!tile.accumulator<128x96>, index, index, index, !tile.ring<<128x64xf16>>, !tile.tensor<?x96xf16>) -> ()
        }
      }
  }
}

// The examples of the other ops: a weight gradient whose drain reads a box, a
// row and a scalar, stores, and adds up columns; the columns of A are added up
// on the way, K is split.
// CHECK-LABEL: tile.kernel @gradient
tile.kernel @gradient(
    %dy: !tile.tensor<?x640xbf16> #tile.bind<input 0>,
    %x: !tile.tensor<?x576xbf16> #tile.bind<input 1>,
    %e: !tile.tensor<640x576xf32> #tile.bind<temporary 0, <[], affine_map<() -> (1474560)>>>,
    %bias: !tile.tensor<1x576xbf16> #tile.bind<input 2>,
    %alpha: f32 #tile.bind<param 1>,
    %gx: !tile.tensor<640x576xbf16> #tile.bind<output 0>,
    %gb: !tile.tensor<1x640xbf16> #tile.bind<output 1>,
    %gs: !tile.tensor<1x576xf32> #tile.bind<output 2>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>,
    %splits: index #tile.bind<extent 0, <["splits:0"], affine_map<()[s0] -> (s0)>>>,
    // CHECK: !tile.workspace #tile.bind<workspace 0, <["splits:0"], #{{.*}}>>
    %p: !tile.workspace #tile.bind<workspace 0, <["splits:0"], affine_map<()[s0] -> (s0 * 4096)>>>,
    %f: !tile.workspace #tile.bind<workspace 0, <["splits:0"], affine_map<()[s0] -> (s0 * 16)>>>,
    %sp: !tile.workspace #tile.bind<workspace 0, <["splits:0"], affine_map<()[s0] -> (s0 * 23040)>>>,
    %sf: !tile.workspace #tile.bind<workspace 0, <["splits:0"], affine_map<()[s0] -> (s0 * 720)>>>,
    // CHECK: i64 #tile.bind<tag 0>
    %tag: i64 #tile.bind<tag 0>) attributes {
      // CHECK: box = #tile.buffer<64x128xbf16>
      box = #tile.buffer<64x128xbf16>,
      // CHECK: schedule = #tile.schedule<tile = [128, 256, 64], cost = 19, order = 1>
      schedule = #tile.schedule<tile = [128, 256, 64], cost = 19, order = 1>,
      // CHECK: tile.ranges = [#tile.range<from = 4000, to = -1, splits = [1, 2]>]
      tile.ranges = [#tile.range<from = 4000, to = -1, splits = [1, 2]>],
      // CHECK: tile.tokens = #tile.expr<[B, S], #{{.*}}>
      tile.tokens = #tile.expr<[B, S], affine_map<()[s0, s1] -> (s0 * s1)>>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  %c576 = arith.constant 576 : index
  %c640 = arith.constant 640 : index
  %s = tile.space %c640, %c576, %t tile [128, 192, 64] splits %splits cost 14
  %pool = tile.pool 4 x 49152
  %ab = tile.ring %pool : !tile.ring<<64x128xbf16>, <64x192xbf16>>
  %io = tile.ring %pool : !tile.ring<<64x64xbf16>, <64x64xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x192>
  %all = arith.minui %splits, %c3 : index
  tile.task load {
    tile.for_each_unit %s
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %at = arith.muli %i, %c64 : index
          // CHECK: tile.acquire %{{.*}} : !tile.ring<<64x128xbf16>, <64x192xbf16>>
          %slot = tile.acquire %ab : !tile.ring<<64x128xbf16>, <64x192xbf16>>
          // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}}[0] : !tile.tensor<?x640xbf16>
          tile.copy %dy[%at, %m0] to %slot[0] : !tile.tensor<?x640xbf16>
          tile.copy %x[%at, %n0] to %slot[1] : !tile.tensor<?x576xbf16>
          tile.commit %slot
        }
        scf.if %last {
          scf.for %i = %c0 to %c6 step %c1 {
            %slot = tile.acquire %io : !tile.ring<<64x64xbf16>, <64x64xf32>>
            tile.copy %e[%m0, %n0] to %slot[1] : !tile.tensor<640x576xf32>
            tile.commit %slot
          }
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %s
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // CHECK: tile.multiply %{{.*}} a mn_major b mn_major :
        tile.multiply %ab steps %steps into %acc a mn_major b mn_major
            : !tile.ring<<64x128xbf16>, <64x192xbf16>>, !tile.accumulator<128x192>
      }
  }
  tile.task drain {
    tile.for_each_unit %s
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // CHECK: tile.combine_splits %{{.*}} split %{{.*}} of %{{.*}} partials %{{.*}} flags %{{.*}} tag %{{.*}} : !tile.accumulator<128x192>
        tile.combine_splits %acc split %split of %splits partials %p flags %f tag %tag
            : !tile.accumulator<128x192>
        scf.if %last {
          %rows = arith.addi %c640, %c0 : index
          // CHECK: tile.drain({{.*}}) at[{{.*}}] rows %{{.*}} via %{{.*}} vectors(%{{.*}}) scalars(%{{.*}}) stores(%{{.*}}) partials(%{{.*}}) flags(%{{.*}}) tag %{{.*}} attributes
          // CHECK-SAME: elementKinds = [#tile<element_kind slot>, #tile<element_kind row>, #tile<element_kind scalar>]
          // CHECK-SAME: yieldKinds = [#tile<yield_kind store>, #tile<yield_kind sum_m>]
          tile.drain(%acc) at [%m0, %n0] rows %rows via %io vectors(%bias) scalars(%alpha) stores(%gx)
              partials(%sp) flags(%sf) tag %tag
              attributes {elementKinds = [#tile<element_kind slot>, #tile<element_kind row>, #tile<element_kind scalar>],
                          yieldKinds = [#tile<yield_kind store>, #tile<yield_kind sum_m>],
                          operandBuffers = array<i64: 1>, storeBuffers = array<i64: 0>,
                          entryRows = 64, slotsPerEntry = 1} {
          ^bb0(%a: f32, %g: f32, %b: bf16, %c: f32):
            %0 = arith.mulf %a, %g : f32
            %1 = arith.mulf %0, %c : f32
            %2 = arith.truncf %1 : f32 to bf16
            %3 = arith.addf %2, %b : bf16
            // CHECK: tile.yield %{{.*}}, %{{.*}} : bf16, f32
            tile.yield %3, %1 : bf16, f32
          } : (!tile.accumulator<128x192>, index, index, index, !tile.ring<<64x64xbf16>, <64x64xf32>>,
               !tile.tensor<1x576xbf16>, f32, !tile.tensor<640x576xbf16>,
               !tile.workspace, !tile.workspace, i64) -> ()
        }
      }
  }
  // CHECK: tile.task sum {
  tile.task sum {
    tile.for_each_unit %s
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        %who = arith.divui %n0, %c576 : index
        %line = arith.addi %split, %who : index
        // CHECK: tile.sum_operand %{{.*}}[0] steps %{{.*}} contributor %{{.*}} of %{{.*}} line %{{.*}} at %{{.*}} of %{{.*}} partials %{{.*}} flags %{{.*}} tag %{{.*}} : !tile.ring
        tile.sum_operand %ab[0] steps %steps contributor %who of %all line %line at %m0 of %c640
            partials %sp flags %sf tag %tag : !tile.ring<<64x128xbf16>, <64x192xbf16>>
        scf.if %last {
          // CHECK: tile.skip %{{.*}} entries %{{.*}} : !tile.ring<<64x64xbf16>, <64x64xf32>>
          tile.skip %io entries %c6 : !tile.ring<<64x64xbf16>, <64x64xf32>>
        }
      }
    %lines = arith.muli %splits, %all : index
    // CHECK: tile.finish_sum %{{.*}} flags %{{.*}} tag %{{.*}} lines %{{.*}} into %{{.*}} : !tile.tensor<1x640xbf16>
    // CHECK: tile.finish_sum %{{.*}} lines %{{.*}} into %{{.*}} : !tile.tensor<1x640xbf16>
    tile.finish_sum %sp flags %sf tag %tag lines %lines into %gb : !tile.tensor<1x640xbf16>
    tile.finish_sum %sp lines %lines into %gb : !tile.tensor<1x640xbf16>
  }
}

// The remaining examples: the sizes and kinds that the kernels above do not have.
// CHECK-LABEL: tile.kernel @examples
tile.kernel @examples(
    %m: index #tile.bind<extent 0, <[], affine_map<() -> (100)>>>,
    %n: index #tile.bind<extent 0, <[], affine_map<() -> (256)>>>,
    %k: index #tile.bind<extent 0, <[], affine_map<() -> (64)>>>,
    %z: !tile.tensor<?x768xbf16> #tile.bind<output 3>) {
  %one = arith.constant 1 : index
  // CHECK: tile.space %{{.*}} tile [128, 256, 64] splits %{{.*}} cost 14
  %s = tile.space %m, %n, %k tile [128, 256, 64] splits %one cost 14
  // CHECK: tile.pool 4 x 49152
  %p = tile.pool 4 x 49152
  // CHECK: tile.ring %{{.*}} : !tile.ring<<128x64xbf16>, <64x256xbf16>>
  %r = tile.ring %p : !tile.ring<<128x64xbf16>, <64x256xbf16>>
  // CHECK: tile.accumulators 1 : !tile.accumulator<128x256>
  %a = tile.accumulators 1 : !tile.accumulator<128x256>
  tile.task load {
    tile.for_each_unit
  }
  tile.task multiply {
    tile.for_each_unit
  }
  tile.task drain {
    tile.for_each_unit
  }
}

// Each function of the special function unit.
// CHECK-LABEL: func.func @approx
func.func @approx(%x: f32) -> f32 {
  // CHECK: tile.approx ex2 %{{.*}} : f32
  %y = tile.approx ex2 %x : f32
  // CHECK: tile.approx lg2
  %0 = tile.approx lg2 %y : f32
  // CHECK: tile.approx rcp
  %1 = tile.approx rcp %0 : f32
  // CHECK: tile.approx rsqrt
  %2 = tile.approx rsqrt %1 : f32
  // CHECK: tile.approx tanh
  %3 = tile.approx tanh %2 : f32
  return %3 : f32
}

// Second accumulation into one accumulator, and a column operand.
// CHECK-LABEL: tile.kernel @two_products
tile.kernel @two_products(
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>,
    %c: !tile.tensor<?x1xf32> #tile.bind<input 4>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tile.space %t, %c8, %c8 tile [64, 8, 16] splits %c1 cost 0
  %p = tile.pool 2 x 3072
  %r = tile.ring %p : !tile.ring<<64x16xbf16>, <16x8xbf16>>
  %acc = tile.accumulators 2 : !tile.accumulator<64x8>
  tile.task load {
    tile.for_each_unit %s
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        %x = tile.acquire %r : !tile.ring<<64x16xbf16>, <16x8xbf16>>
        tile.commit %x
        %y = tile.acquire %r : !tile.ring<<64x16xbf16>, <16x8xbf16>>
        tile.commit %y
      }
  }
  tile.task multiply {
    tile.for_each_unit %s
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %r steps %c1 into %acc a k_major b mn_major
            : !tile.ring<<64x16xbf16>, <16x8xbf16>>, !tile.accumulator<64x8>
        // CHECK: tile.multiply {{.*}} a k_major b mn_major accumulate
        tile.multiply %r steps %c1 into %acc a k_major b mn_major accumulate
            : !tile.ring<<64x16xbf16>, <16x8xbf16>>, !tile.accumulator<64x8>
      }
  }
  tile.task drain {
    tile.for_each_unit %s
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // CHECK: tile.drain({{.*}}) at[{{.*}}] rows %{{.*}} vectors(%{{.*}}) attributes
        // CHECK-SAME: elementKinds = [#tile<element_kind column>]
        tile.drain(%acc) at [%m0, %n0] rows %t vectors(%c)
            attributes {elementKinds = [#tile<element_kind column>], operandBuffers = array<i64>,
                        yieldKinds = [], storeBuffers = array<i64>,
                        entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32, %v: f32):
          tile.yield
        } : (!tile.accumulator<64x8>, index, index, index, !tile.tensor<?x1xf32>) -> ()
      }
  }
}

// A chain: units of the second space read what the first one's tiles store, and
// wait for their signals. The second product has an f32 operand and another one
// in two parts; its drain stages what it stores apart from its entries.
// CHECK-LABEL: tile.kernel @chain
tile.kernel @chain(
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 512)>>>,
    %z: !tile.tensor<?x128xbf16> #tile.bind<output 0>,
    %signals: !tile.workspace #tile.bind<temporary 1, <[T], affine_map<()[s0] -> ((s0 ceildiv 128) * 32)>>>,
    %tag: i64 #tile.bind<tag 0>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c192 = arith.constant 192 : index
  %c256 = arith.constant 256 : index
  %first = tile.space %t, %c256, %c64 tile [128, 128, 64] splits %c1 cost 0
  %second = tile.space %t, %c128, %c256 tile [192, 128, 64] splits %c1 cost 0
  %p = tile.pool 2 x 81920
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <64x128xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %one = tile.accumulators 1 : !tile.accumulator<128x128>
  %xw = tile.ring %p : !tile.ring<<192x64xbf16>, <192x64xbf16>, <64x128xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<192x128>
  tile.task load {
    tile.for_each_unit %first, %second
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <64x128xbf16>>
        tile.commit %s
        scf.for %i = %c0 to %c4 step %c1 {
          %e = tile.acquire %out : !tile.ring<<64x64xbf16>>
          tile.commit %e
        }
      }
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        %m1 = arith.addi %m0, %c192 : index
        %k1 = arith.addi %k0, %c256 : index
        // CHECK: tile.await %{{.*}} tag %{{.*}} of %{{.*}} rows %{{.*}} to %{{.*}} cols %{{.*}} to %{{.*}}
        tile.await %signals tag %tag of %first rows %m0 to %m1 cols %k0 to %k1
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %xw : !tile.ring<<192x64xbf16>, <192x64xbf16>, <64x128xf32>>
          tile.commit %s
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %first, %second
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %c1 into %one a k_major b mn_major
            : !tile.ring<<128x64xbf16>, <64x128xbf16>>, !tile.accumulator<128x128>
      }
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // CHECK: tile.multiply %{{.*}} steps %{{.*}} into %{{.*}} a k_major b mn_major split : !tile.ring<<192x64xbf16>, <192x64xbf16>, <64x128xf32>>, !tile.accumulator<192x128>
        tile.multiply %xw steps %steps into %acc a k_major b mn_major split
            : !tile.ring<<192x64xbf16>, <192x64xbf16>, <64x128xf32>>, !tile.accumulator<192x128>
      }
  }
  tile.task drain {
    tile.for_each_unit %first, %second
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // CHECK: tile.drain({{.*}}) at[{{.*}}] rows %{{.*}} via %{{.*}} stores(%{{.*}}) signals %{{.*}} tag %{{.*}} attributes
        // CHECK-NOT: entryCols
        // CHECK-NOT: stagedRows
        tile.drain(%one) at [%m0, %n0] rows %t via %out stores(%y) signals %signals tag %tag
            attributes {elementKinds = [], yieldKinds = [#tile<yield_kind store>],
                        operandBuffers = array<i64>, storeBuffers = array<i64: 0>,
                        entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %0 = arith.truncf %a : f32 to bf16
          tile.yield %0 : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<64x64xbf16>>,
             !tile.tensor<?x256xbf16>, !tile.workspace, i64) -> ()
      }
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // CHECK: tile.drain({{.*}}) at[{{.*}}] rows %{{.*}} stores(%{{.*}}) attributes
        // CHECK-SAME: entryCols = 128
        // CHECK-SAME: stagedRows = 32
        tile.drain(%acc) at [%m0, %n0] rows %t stores(%z)
            attributes {elementKinds = [], yieldKinds = [#tile<yield_kind store>],
                        operandBuffers = array<i64>, storeBuffers = array<i64>,
                        entryRows = 64, entryCols = 128, stagedRows = 32, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %0 = arith.truncf %a : f32 to bf16
          tile.yield %0 : bf16
        } : (!tile.accumulator<192x128>, index, index, index, !tile.tensor<?x128xbf16>) -> ()
      }
  }
}

// A kernel without tasks: the examples of tile.convert and tile.clear, and a
// conversion with column sums.
// CHECK-LABEL: tile.kernel @copies
tile.kernel @copies(
    %x: !tile.tensor<?x192xf32> #tile.bind<input 0>,
    %hi: !tile.tensor<?x192xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 384)>>>,
    %lo: !tile.tensor<?x192xbf16> #tile.bind<temporary 1, <[T], affine_map<()[s0] -> (s0 * 384)>>>,
    %h: !tile.tensor<?x192xf16> #tile.bind<temporary 2, <[T], affine_map<()[s0] -> (s0 * 384)>>>,
    %p: !tile.workspace #tile.bind<workspace 0, <[T], affine_map<()[s0] -> (s0 ceildiv 32 * 768)>>>,
    %f: !tile.workspace #tile.bind<workspace 0, <[T], affine_map<()[s0] -> (s0 ceildiv 32 * 24)>>>,
    %m: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>, %tag: i64 #tile.bind<tag 0>,
    %n: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0 ceildiv 128)>>>,
    %signals: !tile.workspace #tile.bind<temporary 3, <[T], affine_map<()[s0] -> ((s0 ceildiv 128) * 8)>>>) {
  // CHECK: tile.convert %{{.*}} rows %{{.*}} to %{{.*}}, %{{.*}} : !tile.tensor<?x192xf32> to !tile.tensor<?x192xbf16>, !tile.tensor<?x192xbf16>
  tile.convert %x rows %m to %hi, %lo : !tile.tensor<?x192xf32> to !tile.tensor<?x192xbf16>, !tile.tensor<?x192xbf16>
  // CHECK: tile.convert %{{.*}} rows %{{.*}} to %{{.*}} partials %{{.*}} flags %{{.*}} tag %{{.*}} : !tile.tensor<?x192xf32> to !tile.tensor<?x192xf16>
  tile.convert %x rows %m to %h partials %p flags %f tag %tag : !tile.tensor<?x192xf32> to !tile.tensor<?x192xf16>
  // CHECK: tile.convert %{{.*}} rows %{{.*}} pad 64 to %{{.*}} partials %{{.*}} : !tile.tensor<?x192xf32> to !tile.tensor<?x192xf16>
  tile.convert %x rows %m pad 64 to %h partials %p : !tile.tensor<?x192xf32> to !tile.tensor<?x192xf16>
  // CHECK: tile.clear %{{.*}} words %{{.*}}
  tile.clear %signals words %n
}

// A pair of CTAs shares tiles of 64 rows and 16 columns: the ring and the
// accumulator have this CTA's part, A 32 rows, B 8 columns. Products of f32; the
// sum task sums their operand as it is.
// CHECK-LABEL: tile.kernel @pair
tile.kernel @pair(
    %x: !tile.tensor<?x192xf32> #tile.bind<input 0>,
    %p: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (768)>>>,
    %f: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (24)>>>,
    %m: index #tile.bind<extent 0, <[], affine_map<() -> (64)>>>, %tag: i64 #tile.bind<tag 0>) {
  %c1 = arith.constant 1 : index
  // CHECK: tile.cluster_rank of 2
  %rank = tile.cluster_rank of 2
  %space = tile.space %m, %m, %m tile [64, 16, 8] splits %c1 cost 0
  %pool = tile.pool 2 x 2048
  %r = tile.ring %pool : !tile.ring<<32x8xf32>, <8x8xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<32x16>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        %s = tile.acquire %r : !tile.ring<<32x8xf32>, <8x8xf32>>
        tile.commit %s
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // CHECK: tile.multiply {{.*}} a k_major b mn_major pair : !tile.ring<<32x8xf32>, <8x8xf32>>
        tile.multiply %r steps %c1 into %acc a k_major b mn_major pair
            : !tile.ring<<32x8xf32>, <8x8xf32>>, !tile.accumulator<32x16>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
      }
  }
  tile.task sum {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.skip %r entries %c1 : !tile.ring<<32x8xf32>, <8x8xf32>>
      }
    // CHECK: tile.convert %{{.*}} rows %{{.*}} partials %{{.*}} flags %{{.*}} tag %{{.*}} : !tile.tensor<?x192xf32>{{$}}
    tile.convert %x rows %m partials %p flags %f tag %tag : !tile.tensor<?x192xf32>
  }
}
