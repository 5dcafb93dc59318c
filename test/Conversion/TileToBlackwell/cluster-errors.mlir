// What pairs of CTAs and tf32 products cannot be.
// RUN: kernel-opt %s -split-input-file -verify-diagnostics --convert-tile-to-blackwell

// A pair has 128 rows of the tile in each CTA.
tile.kernel @rows(
    %x: !tile.tensor<?x64xbf16> #tile.bind<input 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c1 = arith.constant 1 : index
  %rank = tile.cluster_rank of 2
  // expected-error @below {{expects tiles of 256 rows of a pair of CTAs on sm_100f, but got 128}}
  %space = tile.space %t, %t, %t tile [128, 128, 64] splits %c1 cost 1
  tile.task load { tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {} }
  tile.task multiply { tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {} }
  tile.task drain { tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {} }
}

// -----

// One f32 operand: it would have to pass through registers.
tile.kernel @mixed(
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c1 = arith.constant 1 : index
  %space = tile.space %t, %t, %t tile [128, 128, 64] splits %c1 cost 1
  %p = tile.pool 2 x 65536
  %r = tile.ring %p : !tile.ring<<128x64xf32>, <128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load { tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        %s = tile.acquire %r : !tile.ring<<128x64xf32>, <128x64xbf16>>
        tile.commit %s
      } }
  tile.task multiply { tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-error @below {{expects operands of one type and a buffer each on sm_100f}}
        tile.multiply %r steps %c1 into %acc a k_major b k_major
            : !tile.ring<<128x64xf32>, <128x64xbf16>>, !tile.accumulator<128x128>
      } }
  tile.task drain { tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {} }
}

// -----

// Steps of tf32 are of 8 elements.
tile.kernel @steps(
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c1 = arith.constant 1 : index
  %space = tile.space %t, %t, %t tile [128, 128, 64] splits %c1 cost 1
  %p = tile.pool 2 x 65536
  %r = tile.ring %p : !tile.ring<<4x128xf32>, <4x128xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load { tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        %s = tile.acquire %r : !tile.ring<<4x128xf32>, <4x128xf32>>
        tile.commit %s
      } }
  tile.task multiply { tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        // expected-error @below {{expects steps of a multiple of 8, but got 4}}
        tile.multiply %r steps %c1 into %acc a mn_major b mn_major
            : !tile.ring<<4x128xf32>, <4x128xf32>>, !tile.accumulator<128x128>
      } }
  tile.task drain { tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {} }
}
