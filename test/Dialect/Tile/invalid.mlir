// RUN: kernel-opt %s -split-input-file -verify-diagnostics

// Boxes: a missing column count, dynamic rows of a buffer, an extent that is not
// positive or not below 2^31, an element that kernels cannot hold.
// expected-error @below {{expects rows and a fixed number of columns}}
func.func private @f(!tile.tensor<48xbf16>)

// -----

// A dynamic number of columns.
// expected-error @below {{expects rows and a fixed number of columns}}
func.func private @f(!tile.tensor<48x?xbf16>)

// -----

// No rows.
// expected-error @below {{expects extents from 1 to 2147483647, but got 0}}
func.func private @f(!tile.tensor<0x48xbf16>)

// -----

// More columns than 32 bits count.
// expected-error @below {{expects extents from 1 to 2147483647, but got 2147483648}}
func.func private @f(!tile.tensor<?x2147483648xbf16>)

// -----

// An element type of no route.
// expected-error @below {{expects elements of type bf16, f16 or f32, but got 'f64'}}
func.func private @f(!tile.tensor<?x48xf64>)

// -----

// Dynamic rows of a buffer.
// expected-error @below {{expected static shape}}
func.func private @f() attributes {box = #tile.buffer<?x48xbf16>}

// -----

// A buffer of integers.
// expected-error @below {{expects elements of type bf16, f16 or f32, but got 'i8'}}
func.func private @f() attributes {box = #tile.buffer<16x48xi8>}

// -----

// An accumulator of one extent, and of none.
// expected-error @below {{expects rows and columns}}
func.func private @f(!tile.accumulator<48>)

// -----

// An accumulator without columns.
// expected-error @below {{expects extents from 1 to 2147483647, but got 0}}
func.func private @f(!tile.accumulator<64x0>)

// -----

// An accumulator has no element type.
// expected-error @below {{invalid dimension}}
func.func private @f(!tile.accumulator<64x48xf32>)

// -----

// #tile.expr: more symbols than names.
// expected-error @below {{expects 2 names for the map's symbols, but got 1}}
func.func private @f() attributes {e = #tile.expr<[B], affine_map<()[s0, s1] -> (s0 * s1)>>}

// -----

// #tile.expr: a dimension.
// expected-error @below {{expects a map with symbols only and one result}}
func.func private @f() attributes {e = #tile.expr<[], affine_map<(d0) -> (d0)>>}

// -----

// #tile.expr: two results.
// expected-error @below {{expects a map with symbols only and one result}}
func.func private @f() attributes {e = #tile.expr<[B], affine_map<()[s0] -> (s0, 1)>>}

// -----

// #tile.expr: a number for a name.
// expected-error @below {{expects a name}}
func.func private @f() attributes {e = #tile.expr<[7], affine_map<()[s0] -> (s0)>>}

// -----

// #tile.schedule: a tile of two extents.
// expected-error @below {{expects M, N and K of a tile, but got 2 extents}}
func.func private @f() attributes {s = #tile.schedule<tile = [128, 256], cost = 1, order = 0>}

// -----

// #tile.schedule: a tile without columns.
// expected-error @below {{expects tile extents from 1 to 2147483647, but got 0}}
func.func private @f() attributes {s = #tile.schedule<tile = [128, 0, 64], cost = 1, order = 0>}

// -----

// #tile.schedule: a cost below zero.
// expected-error @below {{expects a cost from 0 to 2147483647, but got -1}}
func.func private @f() attributes {s = #tile.schedule<tile = [128, 64, 64], cost = -1, order = 0>}

// -----

// #tile.bind: a kind that is not there.
// expected-error @below {{expected ::backfuse::tile::BindKind to be one of: input, output, temporary, workspace, extent, param, tag}}
// expected-error @below {{failed to parse Tile_BindAttr parameter 'kind'}}
func.func private @f() attributes {b = #tile.bind<register 0>}

// -----

// #tile.bind: a negative number.
// expected-error @below {{expects a number from 0, but got -2}}
func.func private @f() attributes {b = #tile.bind<input -2>}

// -----

// tile.space (C1): two extents, and one that is not positive.
func.func @f(%i: index) {
  // expected-error @below {{expects three tile extents from 1 to 2147483647 (C1)}}
  %0 = tile.space %i, %i, %i tile [128, 64] splits %i cost 1
  return
}

// -----

// tile.space (C1): no columns.
func.func @f(%i: index) {
  // expected-error @below {{expects three tile extents from 1 to 2147483647 (C1)}}
  %0 = tile.space %i, %i, %i tile [128, 0, 64] splits %i cost 1
  return
}

// -----

// tile.space (C2): a cost below zero.
func.func @f(%i: index) {
  // expected-error @below {{expects a cost from 0 to 2147483647, but got -5 (C2)}}
  %0 = tile.space %i, %i, %i tile [128, 64, 64] splits %i cost -5
  return
}

// -----

// tile.pool (C1): 1 slots of 2048 bytes.
func.func @f() {
  // expected-error @below {{expects 2 to 32767 slots, but got 1 (C1)}}
  %0 = tile.pool 1 x 2048
  return
}

// -----

// tile.pool (C1): -3 slots of 2048 bytes.
func.func @f() {
  // expected-error @below {{expects 2 to 32767 slots, but got -3 (C1)}}
  %0 = tile.pool -3 x 2048
  return
}

// -----

// tile.pool (C1): 3 slots of 1000 bytes.
func.func @f() {
  // expected-error @below {{expects slots of a positive multiple of 1024 bytes, but got 1000 (C1)}}
  %0 = tile.pool 3 x 1000
  return
}

// -----

// tile.pool (C1): 3 slots of 0 bytes.
func.func @f() {
  // expected-error @below {{expects slots of a positive multiple of 1024 bytes, but got 0 (C1)}}
  %0 = tile.pool 3 x 0
  return
}

// -----

// tile.ring (C1): buffers larger than a slot.
func.func @f() {
  %0 = tile.pool 3 x 2048
  // expected-error @below {{expects buffers that fit into 2048 bytes, but got 3072 (C1)}}
  %1 = tile.ring %0 : !tile.ring<<16x64xf16>, <8x32xf32>>
  return
}

// -----

// tile.ring (C2): a pool from elsewhere.
func.func @f(%p: !tile.pool) {
  // expected-error @below {{expects a pool that is the result of tile.pool (C2)}}
  %1 = tile.ring %p : !tile.ring<<16x64xf16>>
  return
}

// -----

// tile.cluster_rank (C1): four CTAs.
func.func @f() {
  // expected-error @below {{expects clusters of 2 CTAs, but got 4 (C1)}}
  %0 = tile.cluster_rank of 4
  return
}

// -----

// tile.multiply (C1): of a pair, all columns of B in one CTA.
func.func @f(%r: !tile.ring<<64x32xf16>, <48x32xf16>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects operands of a 64x48 accumulator, but got A 64x32 and B 32x96 (C1)}}
  tile.multiply %r steps %i into %acc a k_major b k_major pair : !tile.ring<<64x32xf16>, <48x32xf16>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.convert (C1): neither copies nor sums.
func.func @f(%x: !tile.tensor<?x72xf32>, %m: index) {
  // expected-error @below {{expects an f32 source and one or two copies of its shape, two only of bf16, or none and sums (C1)}}
  tile.convert %x rows %m : !tile.tensor<?x72xf32>
  return
}

// -----

// tile.accumulators (C1): none.
func.func @f() {
  // expected-error @below {{expects at least 1, but got 0 (C1)}}
  %1 = tile.accumulators 0 : !tile.accumulator<64x24>
  return
}

// -----

// tile.for_each_unit (C1): a space without a region.
func.func @f(%i: index) {
  %s = tile.space %i, %i, %i tile [128, 64, 64] splits %i cost 1
  // expected-error @below {{expects a region for each of 1 spaces, but got 0 (C1)}}
  tile.for_each_unit %s
  return
}

// -----

// tile.for_each_unit (C1): five arguments.
func.func @f(%i: index) {
  %s = tile.space %i, %i, %i tile [128, 64, 64] splits %i cost 1
  tile.for_each_unit %s
    // expected-error @below {{expects 6 arguments, but got 5}}
    unit(%m0, %n0, %k0, %steps, %split) {}
  return
}

// -----

// tile.for_each_unit (C1): arguments of other types.
func.func @f(%i: index) {
  %s = tile.space %i, %i, %i tile [128, 64, 64] splits %i cost 1
  // expected-error @below {{expects unit arguments (index, index, index, index, index, i1) (C1)}}
  "tile.for_each_unit"(%s) ({
  ^bb0(%m0: index, %n0: index, %k0: index, %steps: i32, %split: index, %last: i1):
  }) : (!tile.space) -> ()
  return
}

// -----

// tile.for_each_unit (C2): a space from elsewhere.
func.func @f(%s: !tile.space) {
  // expected-error @below {{expects spaces that are results of tile.space (C2)}}
  tile.for_each_unit %s unit(%m0, %n0, %k0, %steps, %split, %last) {}
  return
}

// -----

// tile.copy (C1): a buffer that the ring does not have.
tile.kernel @k(%x: !tile.tensor<?x96xbf16> #tile.bind<input 0>) {
  %c0 = arith.constant 0 : index
  %p = tile.pool 2 x 4096
  %r = tile.ring %p : !tile.ring<<16x64xbf16>>
  tile.task load {
    %slot = tile.acquire %r : !tile.ring<<16x64xbf16>>
    // expected-error @below {{expects a buffer below 1, but got 1 (C1)}}
    tile.copy %x[%c0, %c0] to %slot[1] : !tile.tensor<?x96xbf16>
    tile.commit %slot
  }
}

// -----

// tile.copy (C1): a tensor of another type.
tile.kernel @k(%x: !tile.tensor<?x96xbf16> #tile.bind<input 0>) {
  %c0 = arith.constant 0 : index
  %p = tile.pool 2 x 4096
  %r = tile.ring %p : !tile.ring<<16x64xf16>>
  tile.task load {
    %slot = tile.acquire %r : !tile.ring<<16x64xf16>>
    // expected-error @below {{expects a tensor of 'f16', but got 'bf16' (C1)}}
    tile.copy %x[%c0, %c0] to %slot[0] : !tile.tensor<?x96xbf16>
    tile.commit %slot
  }
}

// -----

// tile.copy (C2): a slot from elsewhere.
func.func @f(%x: !tile.tensor<?x96xbf16>, %slot: !tile.slot, %i: index) {
  // expected-error @below {{expects a slot that is the result of tile.acquire (C2)}}
  tile.copy %x[%i, %i] to %slot[0] : !tile.tensor<?x96xbf16>
  return
}

// -----

// tile.copy (C2): a tensor that no launch plan binds.
func.func @f(%r: !tile.ring<<16x64xbf16>>, %i: index) {
  %x = ub.poison : !tile.tensor<?x96xbf16>
  %slot = tile.acquire %r : !tile.ring<<16x64xbf16>>
  // expected-error @below {{expects a tensor that is an argument of the kernel (C2)}}
  tile.copy %x[%i, %i] to %slot[0] : !tile.tensor<?x96xbf16>
  return
}

// -----

// tile.multiply (C1): one buffer.
func.func @f(%r: !tile.ring<<64x32xf16>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects operands in 2 or 3 buffers, but got 1 (C1)}}
  tile.multiply %r steps %i into %acc a k_major b k_major : !tile.ring<<64x32xf16>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C1): B the other way round.
func.func @f(%r: !tile.ring<<64x32xf16>, <48x32xf16>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects operands of a 64x48 accumulator, but got A 64x32 and B 48x32 (C1)}}
  tile.multiply %r steps %i into %acc a k_major b mn_major : !tile.ring<<64x32xf16>, <48x32xf16>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C1): another K.
func.func @f(%r: !tile.ring<<64x32xf16>, <48x16xf16>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects operands of a 64x48 accumulator, but got A 64x32 and B 16x48 (C1)}}
  tile.multiply %r steps %i into %acc a k_major b k_major : !tile.ring<<64x32xf16>, <48x16xf16>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C2): two types.
func.func @f(%r: !tile.ring<<64x32xf16>, <48x32xbf16>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects operands of one 16-bit type, or one of them of f32, but got 'f16' and 'bf16' (C2)}}
  tile.multiply %r steps %i into %acc a k_major b k_major : !tile.ring<<64x32xf16>, <48x32xbf16>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C2): two of f32 to split.
func.func @f(%r: !tile.ring<<64x32xf32>, <48x32xf32>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects operands of one 16-bit type, or one of them of f32, but got 'f32' and 'f32' (C2)}}
  tile.multiply %r steps %i into %acc a k_major b k_major split : !tile.ring<<64x32xf32>, <48x32xf32>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C1): four buffers.
func.func @f(%r: !tile.ring<<64x32xbf16>, <64x32xbf16>, <48x32xf32>, <48x32xf32>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects operands in 2 or 3 buffers, but got 4 (C1)}}
  tile.multiply %r steps %i into %acc a k_major b k_major split : !tile.ring<<64x32xbf16>, <64x32xbf16>, <48x32xf32>, <48x32xf32>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C1): A is in one buffer where the second one is of another type,
// so that B is in two.
func.func @f(%r: !tile.ring<<64x32xf32>, <48x16xbf16>, <48x16xbf16>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects operands of a 64x48 accumulator, but got A 64x32 and B 16x48 (C1)}}
  tile.multiply %r steps %i into %acc a k_major b k_major split : !tile.ring<<64x32xf32>, <48x16xbf16>, <48x16xbf16>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C2): an f32 operand in two buffers.
func.func @f(%r: !tile.ring<<64x32xf32>, <64x32xf32>, <48x32xbf16>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects operands of a 64x48 accumulator, but got A 64x32 and B 32x64 (C1)}}
  tile.multiply %r steps %i into %acc a k_major b k_major split : !tile.ring<<64x32xf32>, <64x32xf32>, <48x32xbf16>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C2): two parts and no f32 operand.
func.func @f(%r: !tile.ring<<64x32xbf16>, <64x32xbf16>, <48x32xbf16>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects 'split', an f32 operand and two equal buffers of bf16, but got 'bf16', 'bf16' and 'bf16' (C2)}}
  tile.multiply %r steps %i into %acc a k_major b k_major split : !tile.ring<<64x32xbf16>, <64x32xbf16>, <48x32xbf16>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C2): parts of f16.
func.func @f(%r: !tile.ring<<64x32xf16>, <64x32xf16>, <48x32xf32>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects 'split', an f32 operand and two equal buffers of bf16, but got 'f16', 'f16' and 'f32' (C2)}}
  tile.multiply %r steps %i into %acc a k_major b k_major split : !tile.ring<<64x32xf16>, <64x32xf16>, <48x32xf32>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C2): parts of two shapes.
func.func @f(%r: !tile.ring<<64x32xbf16>, <64x16xbf16>, <48x32xf32>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects 'split', an f32 operand and two equal buffers of bf16, but got 'bf16', 'bf16' and 'f32' (C2)}}
  tile.multiply %r steps %i into %acc a k_major b k_major split : !tile.ring<<64x32xbf16>, <64x16xbf16>, <48x32xf32>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C2): two parts of one operand, and the other one not split.
func.func @f(%r: !tile.ring<<64x32xbf16>, <64x32xbf16>, <48x32xf32>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects 'split', an f32 operand and two equal buffers of bf16, but got 'bf16', 'bf16' and 'f32' (C2)}}
  tile.multiply %r steps %i into %acc a k_major b k_major : !tile.ring<<64x32xbf16>, <64x32xbf16>, <48x32xf32>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C2): nothing to split.
func.func @f(%r: !tile.ring<<64x32xbf16>, <48x32xbf16>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects operands of f32 and bf16 to split, but got 'bf16' and 'bf16' (C2)}}
  tile.multiply %r steps %i into %acc a k_major b k_major split : !tile.ring<<64x32xbf16>, <48x32xbf16>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.multiply (C2): parts are of bf16, and the other operand is of f16.
func.func @f(%r: !tile.ring<<64x32xf32>, <48x32xf16>>, %acc: !tile.accumulator<64x48>, %i: index) {
  // expected-error @below {{expects operands of f32 and bf16 to split, but got 'f32' and 'f16' (C2)}}
  tile.multiply %r steps %i into %acc a k_major b k_major split : !tile.ring<<64x32xf32>, <48x32xf16>>, !tile.accumulator<64x48>
  return
}

// -----

// tile.await (C1): not in the walk of units.
func.func @f(%s: !tile.space, %w: !tile.workspace, %tag: i64, %i: index) {
  // expected-error @below {{expects to be in the walk of a space's units (C1)}}
  tile.await %w tag %tag of %s rows %i to %i cols %i to %i
  return
}

// -----

// tile.await (C1): tiles of its own space, which may come after it.
func.func @f(%n: index, %w: !tile.workspace, %tag: i64) {
  %s = tile.space %n, %n, %n tile [64, 48, 64] splits %n cost 0
  %t = tile.space %n, %n, %n tile [64, 48, 64] splits %n cost 0
  tile.for_each_unit %s, %t
    unit(%m0, %n0, %k0, %steps, %split, %last) {
    }
    unit(%m0, %n0, %k0, %steps, %split, %last) {
      // expected-error @below {{expects a space whose units are dealt before (C1)}}
      tile.await %w tag %tag of %t rows %m0 to %m0 cols %n0 to %n0
    }
  return
}

// -----

// tile.await (C1): tiles of a space that comes later, under a condition.
func.func @f(%n: index, %w: !tile.workspace, %tag: i64) {
  %s = tile.space %n, %n, %n tile [64, 48, 64] splits %n cost 0
  %t = tile.space %n, %n, %n tile [64, 48, 64] splits %n cost 0
  tile.for_each_unit %s, %t
    unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        // expected-error @below {{expects a space whose units are dealt before (C1)}}
        tile.await %w tag %tag of %t rows %m0 to %m0 cols %n0 to %n0
      }
    }
    unit(%m0, %n0, %k0, %steps, %split, %last) {
    }
  return
}

// -----

// tile.drain (C1): no accumulator.
func.func @f(%i: index) {
  // expected-error @below {{expects an accumulator (C1)}}
  tile.drain() at [%i, %i] rows %i
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
    tile.yield
  } : (index, index, index) -> ()
  return
}

// -----

// tile.drain (C1): accumulators of two shapes.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects accumulators of one shape, but got '!tile.accumulator<64x40>' and '!tile.accumulator<64x48>' (C1)}}
  tile.drain(%acc, %other) at [%i, %i] rows %i via %r
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32, %b: f32):
    tile.yield
  } : (!tile.accumulator<64x40>, !tile.accumulator<64x48>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C1): too few region arguments.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects 2 region arguments, but got 1 (C1)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r scalars(%s)
      attributes {elementKinds = [#tile<element_kind scalar>], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, f32) -> ()
}

// -----

// tile.drain (C1): an accumulator as bf16.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects f32 accumulators in the region (C1)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: bf16):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C2): kinds of operands that are not there.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{element kinds do not count the operands (C2)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r
      attributes {elementKinds = [#tile<element_kind row>], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32, %v0: bf16):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C2): a slot operand without a buffer.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{element kinds do not count the operands (C2)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r
      attributes {elementKinds = [#tile<element_kind slot>], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32, %v0: bf16):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C2): a row as another type.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects region argument 1 to be of its operand's type 'bf16', but got 'f32' (C2)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r vectors(%v)
      attributes {elementKinds = [#tile<element_kind row>], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32, %v0: f32):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<1x40xbf16>) -> ()
}

// -----

// tile.drain (C2): a box as another type.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects region argument 1 to be of its operand's type 'bf16', but got 'f16' (C2)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r
      attributes {elementKinds = [#tile<element_kind slot>], operandBuffers = array<i64: 0>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32, %v0: f16):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C3): fewer yields than kinds.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects a tile.yield of 1 values (C3)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r stores(%x)
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64: 0>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x40xbf16>) -> ()
}

// -----

// tile.drain (C3): a sum of bf16.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects a sum of f32 values, but got 'bf16' (C3)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r partials(%w) flags(%w) tag %tag
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind sum_m>], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    %b = arith.truncf %a : f32 to bf16
    tile.yield %b : bf16
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.workspace, !tile.workspace, i64) -> ()
}

// -----

// tile.drain (C3): f32 stored as bf16.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects a value of 'bf16' to store, but got 'f32' (C3)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r stores(%x)
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64: 0>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    tile.yield %a : f32
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x40xbf16>) -> ()
}

// -----

// tile.drain (C3): a store without a buffer.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{yield kinds do not count the results (C3)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r stores(%x)
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    %b = arith.truncf %a : f32 to bf16
    tile.yield %b : bf16
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x40xbf16>) -> ()
}

// -----

// tile.drain (C3): a sum without partials.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{yield kinds do not count the results (C3)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind sum_m>], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    tile.yield %a : f32
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C4): no ring.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects a ring for operands or results in slots (C4)}}
  tile.drain(%acc) at [%i, %i] rows %i stores(%x)
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64: 0>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    %b = arith.truncf %a : f32 to bf16
    tile.yield %b : bf16
  } : (!tile.accumulator<64x40>, index, index, index, !tile.tensor<?x40xbf16>) -> ()
}

// -----

// tile.drain (C4): a buffer that the entry does not have.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects buffers below 2, but got 2 (C4)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r stores(%x)
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64: 2>,
                  entryRows = 64, slotsPerEntry = 2} {
  ^bb0(%a: f32):
    %b = arith.truncf %a : f32 to bf16
    tile.yield %b : bf16
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x40xbf16>) -> ()
}

// -----

// tile.drain (C4): a staging box of another type.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects buffer 0 to hold 'bf16' to store, but got 'f16' (C4)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r stores(%x)
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64: 0>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    %b = arith.truncf %a : f32 to bf16
    tile.yield %b : bf16
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xf16>>, !tile.tensor<?x40xbf16>) -> ()
}

// -----

// tile.drain (C5): entries of 48 rows.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects entry rows that divide the accumulator's 64, but got 48 (C5)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 48, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C5): entries without rows.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects entry rows that divide the accumulator's 64, but got 0 (C5)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 0, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C5): entries of 96 columns.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  // expected-error @below {{expects entry columns of a multiple of 64, but got 96 (C5)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, entryCols = 96, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C5): entries without columns.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  // expected-error @below {{expects entry columns of a multiple of 64, but got 0 (C5)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, entryCols = 0, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C5): entries without slots.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  // expected-error @below {{expects 1 to 32767 slots in an entry, but got 0 (C5)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 0} {
  ^bb0(%a: f32):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C6): a vector that no launch plan binds.
func.func @f(%i: index, %acc: !tile.accumulator<64x40>) {
  %v = ub.poison : !tile.tensor<1x40xf32>
  // expected-error @below {{expects tensors that are arguments of the kernel (C6)}}
  tile.drain(%acc) at [%i, %i] rows %i vectors(%v)
      attributes {elementKinds = [#tile<element_kind row>], operandBuffers = array<i64>,
                  yieldKinds = [], storeBuffers = array<i64>, entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32, %b: f32):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.tensor<1x40xf32>) -> ()
  return
}

// -----

// tile.drain (C7): a value of the kernel in the region, where each operand is one.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  %other = tile.accumulators 1 : !tile.accumulator<64x48>
  tile.drain(%acc) at [%i, %i] rows %i via %r
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    // expected-error @below {{in tile.drain expects values of the region, or constants (C7)}}
    %b = arith.mulf %a, %s : f32
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>) -> ()
}

// -----

// tile.drain (C8): signals, but no tag to set.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  // expected-error @below {{expects a tag for its partials and signals (C8)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r stores(%x) signals %w
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64: 0>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    %0 = arith.truncf %a : f32 to bf16
    tile.yield %0 : bf16
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x40xbf16>, !tile.workspace) -> ()
}

// -----

// tile.drain (C8): partials, but no tag.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  // expected-error @below {{expects a tag for its partials and signals (C8)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r partials(%w) flags(%w)
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind sum_m>], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    tile.yield %a : f32
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.workspace, !tile.workspace) -> ()
}

// -----

// tile.drain (C8): nothing is stored that another space could wait for.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  // expected-error @below {{expects stores to signal (C8)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r signals %w tag %tag
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    tile.yield
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.workspace, i64) -> ()
}

// -----

// tile.drain (C9): staged rows that do not divide the entry's.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  // expected-error @below {{expects staged rows that divide its entry rows, 64, and no store buffers, but got 48 (C9)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r stores(%x)
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64>,
                  entryRows = 64, stagedRows = 48, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    %0 = arith.truncf %a : f32 to bf16
    tile.yield %0 : bf16
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x40xbf16>) -> ()
}

// -----

// tile.drain (C9): less than none.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  // expected-error @below {{expects staged rows that divide its entry rows, 64, and no store buffers, but got -32 (C9)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r stores(%x)
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64>,
                  entryRows = 64, stagedRows = -32, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    %0 = arith.truncf %a : f32 to bf16
    tile.yield %0 : bf16
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x40xbf16>) -> ()
}

// -----

// tile.drain (C9): a result that is staged and stands in an entry.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  // expected-error @below {{expects staged rows that divide its entry rows, 64, and no store buffers, but got 32 (C9)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r stores(%x)
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64: 0>,
                  entryRows = 64, stagedRows = 32, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    %0 = arith.truncf %a : f32 to bf16
    tile.yield %0 : bf16
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x40xbf16>) -> ()
}

// -----

// tile.drain (C3): without staged rows, each result has a buffer.
tile.kernel @k(%x: !tile.tensor<?x40xbf16> #tile.bind<output 0>, %v: !tile.tensor<1x40xbf16> #tile.bind<input 0>,
               %s: f32 #tile.bind<param 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 0 : index
  %p = tile.pool 2 x 32768
  %r = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x40>
  // expected-error @below {{yield kinds do not count the results (C3)}}
  tile.drain(%acc) at [%i, %i] rows %i via %r stores(%x)
      attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64>,
                  entryRows = 64, slotsPerEntry = 1} {
  ^bb0(%a: f32):
    %0 = arith.truncf %a : f32 to bf16
    tile.yield %0 : bf16
  } : (!tile.accumulator<64x40>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x40xbf16>) -> ()
}

// -----

// tile.yield: not in a drain.
func.func @f() {
  // expected-error @below {{expects parent op 'tile.drain'}}
  tile.yield
}

// -----

// tile.approx: of another type.
func.func @f(%x: bf16) -> bf16 {
  // expected-error @below {{operand #0 must be 32-bit float, but got 'bf16'}}
  %0 = tile.approx ex2 %x : bf16
  return %0 : bf16
}

// -----

// tile.sum_operand (C1): a buffer that the ring does not have.
func.func @f(%r: !tile.ring<<64x64xbf16>>, %i: index, %w: !tile.workspace, %tag: i64) {
  // expected-error @below {{expects a buffer below 1, but got 1 (C1)}}
  tile.sum_operand %r[1] steps %i contributor %i of %i line %i at %i of %i
      partials %w flags %w tag %tag : !tile.ring<<64x64xbf16>>
  return
}

// -----

// tile.finish_sum (C1): a result of several rows.
tile.kernel @k(%y: !tile.tensor<2x40xbf16> #tile.bind<output 0>, %tag: i64 #tile.bind<tag 0>,
               %w: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (64)>>>) {
  %i = arith.constant 1 : index
  // expected-error @below {{expects a result that is an argument of the kernel, of one row, but got '!tile.tensor<2x40xbf16>' (C1)}}
  tile.finish_sum %w flags %w tag %tag lines %i into %y : !tile.tensor<2x40xbf16>
}

// -----

// tile.convert (C1): a 16-bit source.
func.func @f(%x: !tile.tensor<?x72xbf16>, %c0: !tile.tensor<?x72xbf16>, %m: index, %w: !tile.workspace, %tag: i64) {
  // expected-error @below {{expects an f32 source and one or two copies of its shape, two only of bf16, or none and sums (C1)}}
  "tile.convert"(%x, %m, %c0) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}> : (!tile.tensor<?x72xbf16>, index, !tile.tensor<?x72xbf16>) -> ()
  return
}

// -----

// tile.convert (C1): another number of columns.
func.func @f(%x: !tile.tensor<?x72xf32>, %c0: !tile.tensor<?x64xbf16>, %m: index, %w: !tile.workspace, %tag: i64) {
  // expected-error @below {{expects an f32 source and one or two copies of its shape, two only of bf16, or none and sums (C1)}}
  "tile.convert"(%x, %m, %c0) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}> : (!tile.tensor<?x72xf32>, index, !tile.tensor<?x64xbf16>) -> ()
  return
}

// -----

// tile.convert (C1): copies of two types.
func.func @f(%x: !tile.tensor<?x72xf32>, %c0: !tile.tensor<?x72xbf16>, %c1: !tile.tensor<?x72xf16>, %m: index, %w: !tile.workspace, %tag: i64) {
  // expected-error @below {{expects an f32 source and one or two copies of its shape, two only of bf16, or none and sums (C1)}}
  "tile.convert"(%x, %m, %c0, %c1) <{operandSegmentSizes = array<i32: 1, 1, 2, 0, 0, 0>}> : (!tile.tensor<?x72xf32>, index, !tile.tensor<?x72xbf16>, !tile.tensor<?x72xf16>) -> ()
  return
}

// -----

// tile.convert (C1): two parts of f16.
func.func @f(%x: !tile.tensor<?x72xf32>, %c0: !tile.tensor<?x72xf16>, %c1: !tile.tensor<?x72xf16>, %m: index, %w: !tile.workspace, %tag: i64) {
  // expected-error @below {{expects an f32 source and one or two copies of its shape, two only of bf16, or none and sums (C1)}}
  "tile.convert"(%x, %m, %c0, %c1) <{operandSegmentSizes = array<i32: 1, 1, 2, 0, 0, 0>}> : (!tile.tensor<?x72xf32>, index, !tile.tensor<?x72xf16>, !tile.tensor<?x72xf16>) -> ()
  return
}

// -----

// tile.convert (C1): a copy of 32 bits.
func.func @f(%x: !tile.tensor<?x72xf32>, %c0: !tile.tensor<?x72xf32>, %m: index, %w: !tile.workspace, %tag: i64) {
  // expected-error @below {{expects an f32 source and one or two copies of its shape, two only of bf16, or none and sums (C1)}}
  "tile.convert"(%x, %m, %c0) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}> : (!tile.tensor<?x72xf32>, index, !tile.tensor<?x72xf32>) -> ()
  return
}

// -----

// tile.convert (C2): partials without flags.
func.func @f(%x: !tile.tensor<?x72xf32>, %c0: !tile.tensor<?x72xf16>, %m: index, %w: !tile.workspace, %tag: i64) {
  // expected-error @below {{expects flags and a tag together, and with partials (C2)}}
  "tile.convert"(%x, %m, %c0, %w, %tag) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> : (!tile.tensor<?x72xf32>, index, !tile.tensor<?x72xf16>, !tile.workspace, i64) -> ()
  return
}

// -----

// tile.convert (C2): a flag of sums that are not there.
func.func @f(%x: !tile.tensor<?x72xf32>, %c0: !tile.tensor<?x72xf16>, %m: index, %w: !tile.workspace, %tag: i64) {
  // expected-error @below {{expects flags and a tag together, and with partials (C2)}}
  tile.convert %x rows %m to %c0 flags %w tag %tag : !tile.tensor<?x72xf32> to !tile.tensor<?x72xf16>
  return
}

// -----

// tile.convert (C3): rows padded to part of what a warp converts.
func.func @f(%x: !tile.tensor<?x72xf32>, %c0: !tile.tensor<?x72xf16>, %m: index) {
  // expected-error @below {{expects to pad copies to a positive multiple of 32 rows, but got 40 (C3)}}
  tile.convert %x rows %m pad 40 to %c0 : !tile.tensor<?x72xf32> to !tile.tensor<?x72xf16>
  return
}

// -----

// tile.convert (C3): nothing to pad.
func.func @f(%x: !tile.tensor<?x72xf32>, %m: index, %w: !tile.workspace) {
  // expected-error @below {{expects to pad copies to a positive multiple of 32 rows, but got 64 (C3)}}
  tile.convert %x rows %m pad 64 partials %w : !tile.tensor<?x72xf32>
  return
}
