// Kernels with an f32 operand that sm_90a does not take.
// RUN: kernel-opt %s --convert-tile-to-hopper -split-input-file -verify-diagnostics

// A transposed tile has 64 of its columns in each warpgroup, and its rows in registers.
tile.kernel @k(
    %x: !tile.tensor<?x128xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xf32> #tile.bind<input 0>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %k = arith.constant 128 : index
  %space = tile.space %t, %n, %k tile [320, 128, 64] splits %c1 cost 2
  %p = tile.pool 2 x 73728
  %ab = tile.ring %p : !tile.ring<<64x320xbf16>, <128x64xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<320x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<64x320xbf16>, <128x64xf32>>
        tile.copy %x[%at, %m0] to %s[0] : !tile.tensor<?x128xbf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<256x128xf32>
        tile.commit %s
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      // expected-error @below {{expects an accumulator of 8 to 256 rows, a multiple of 8, but got 320}}
      tile.multiply %ab steps %steps into %acc a mn_major b k_major split : !tile.ring<<64x320xbf16>, <128x64xf32>>, !tile.accumulator<320x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.drain(%acc) at [%m0, %n0] rows %t stores(%y)
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                      storeBuffers = array<i64>, entryRows = 64, entryCols = 128, stagedRows = 16, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        %v = arith.truncf %a : f32 to bf16
        tile.yield %v : bf16
      } : (!tile.accumulator<320x128>, index, index, index, !tile.tensor<?x256xbf16>) -> ()
    }
  }
}

// -----

// 64 columns would leave a warpgroup without work.
tile.kernel @k(
    %x: !tile.tensor<?x128xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xf32> #tile.bind<input 0>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %k = arith.constant 128 : index
  %space = tile.space %t, %n, %k tile [128, 64, 64] splits %c1 cost 2
  %p = tile.pool 4 x 40960
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <64x64xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x64>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <64x64xf32>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x128xbf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<256x128xf32>
        tile.commit %s
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      // expected-error @below {{expects an accumulator of 128 columns on sm_90a, but got 64}}
      tile.multiply %ab steps %steps into %acc a k_major b k_major split : !tile.ring<<128x64xbf16>, <64x64xf32>>, !tile.accumulator<128x64>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.drain(%acc) at [%m0, %n0] rows %t stores(%y)
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                      storeBuffers = array<i64>, entryRows = 64, entryCols = 64, stagedRows = 16, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        %v = arith.truncf %a : f32 to bf16
        tile.yield %v : bf16
      } : (!tile.accumulator<128x64>, index, index, index, !tile.tensor<?x256xbf16>) -> ()
    }
  }
}

// -----

// Entries of one warpgroup's columns.
tile.kernel @k(
    %x: !tile.tensor<?x128xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xf32> #tile.bind<input 0>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %k = arith.constant 128 : index
  %space = tile.space %t, %n, %k tile [64, 128, 64] splits %c1 cost 2
  %p = tile.pool 4 x 40960
  %ab = tile.ring %p : !tile.ring<<64x64xbf16>, <128x64xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<64x64xbf16>, <128x64xf32>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x128xbf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<256x128xf32>
        tile.commit %s
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major split : !tile.ring<<64x64xbf16>, <128x64xf32>>, !tile.accumulator<64x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      // expected-error @below {{expects entries of 16, 32 or 64 rows and 128 columns of tiles of a multiple of 64 rows, but got 64x64 of 64}}
      tile.drain(%acc) at [%m0, %n0] rows %t stores(%y)
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                      storeBuffers = array<i64>, entryRows = 64, entryCols = 64, stagedRows = 16, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        %v = arith.truncf %a : f32 to bf16
        tile.yield %v : bf16
      } : (!tile.accumulator<64x128>, index, index, index, !tile.tensor<?x256xbf16>) -> ()
    }
  }
}

// -----

// Entries that no 64 rows are made of.
tile.kernel @k(
    %x: !tile.tensor<?x128xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xf32> #tile.bind<input 0>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %k = arith.constant 128 : index
  %space = tile.space %t, %n, %k tile [192, 128, 64] splits %c1 cost 2
  %p = tile.pool 3 x 57344
  %ab = tile.ring %p : !tile.ring<<192x64xbf16>, <128x64xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<192x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<192x64xbf16>, <128x64xf32>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x128xbf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<256x128xf32>
        tile.commit %s
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major split : !tile.ring<<192x64xbf16>, <128x64xf32>>, !tile.accumulator<192x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      // expected-error @below {{expects entries of 16, 32 or 64 rows and 128 columns of tiles of a multiple of 64 rows, but got 48x128 of 192}}
      tile.drain(%acc) at [%m0, %n0] rows %t stores(%y)
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                      storeBuffers = array<i64>, entryRows = 48, entryCols = 128, stagedRows = 16, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        %v = arith.truncf %a : f32 to bf16
        tile.yield %v : bf16
      } : (!tile.accumulator<192x128>, index, index, index, !tile.tensor<?x256xbf16>) -> ()
    }
  }
}

// -----

// Staged rows that no two matrices of 8 rows are made of.
tile.kernel @k(
    %x: !tile.tensor<?x128xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xf32> #tile.bind<input 0>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %k = arith.constant 128 : index
  %space = tile.space %t, %n, %k tile [64, 128, 64] splits %c1 cost 2
  %p = tile.pool 4 x 40960
  %ab = tile.ring %p : !tile.ring<<64x64xbf16>, <128x64xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<64x64xbf16>, <128x64xf32>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x128xbf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<256x128xf32>
        tile.commit %s
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major split : !tile.ring<<64x64xbf16>, <128x64xf32>>, !tile.accumulator<64x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      // expected-error @below {{expects entries of 16, 32 or 64 rows and 128 columns of tiles of a multiple of 64 rows, but got 64x128 of 64}}
      tile.drain(%acc) at [%m0, %n0] rows %t stores(%y)
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                      storeBuffers = array<i64>, entryRows = 64, entryCols = 128, stagedRows = 8, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        %v = arith.truncf %a : f32 to bf16
        tile.yield %v : bf16
      } : (!tile.accumulator<64x128>, index, index, index, !tile.tensor<?x256xbf16>) -> ()
    }
  }
}

// -----

// A tile of less than 64 rows.
tile.kernel @k(
    %x: !tile.tensor<?x128xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xf32> #tile.bind<input 0>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %k = arith.constant 128 : index
  %space = tile.space %t, %n, %k tile [32, 128, 64] splits %c1 cost 2
  %p = tile.pool 4 x 40960
  %ab = tile.ring %p : !tile.ring<<32x64xbf16>, <128x64xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<32x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<32x64xbf16>, <128x64xf32>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x128xbf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<256x128xf32>
        tile.commit %s
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major split : !tile.ring<<32x64xbf16>, <128x64xf32>>, !tile.accumulator<32x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      // expected-error @below {{expects entries of 16, 32 or 64 rows and 128 columns of tiles of a multiple of 64 rows, but got 32x128 of 32}}
      tile.drain(%acc) at [%m0, %n0] rows %t stores(%y)
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                      storeBuffers = array<i64>, entryRows = 32, entryCols = 128, stagedRows = 16, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        %v = arith.truncf %a : f32 to bf16
        tile.yield %v : bf16
      } : (!tile.accumulator<32x128>, index, index, index, !tile.tensor<?x256xbf16>) -> ()
    }
  }
}

// -----

// Results of a transposed tile do not stand in entries.
tile.kernel @k(
    %x: !tile.tensor<?x128xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xf32> #tile.bind<input 0>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %k = arith.constant 128 : index
  %space = tile.space %t, %n, %k tile [64, 128, 64] splits %c1 cost 2
  %p = tile.pool 4 x 40960
  %ab = tile.ring %p : !tile.ring<<64x64xbf16>, <128x64xf32>>
  %out = tile.ring %p : !tile.ring<<64x128xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<64x64xbf16>, <128x64xf32>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x128xbf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<256x128xf32>
        tile.commit %s
      }
      %s = tile.acquire %out : !tile.ring<<64x128xbf16>>
      tile.commit %s
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major split : !tile.ring<<64x64xbf16>, <128x64xf32>>, !tile.accumulator<64x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      // expected-error @below {{expects results of a product with an f32 B to be staged}}
      tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                      storeBuffers = array<i64: 0>, entryRows = 64, entryCols = 128, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        %v = arith.truncf %a : f32 to bf16
        tile.yield %v : bf16
      } : (!tile.accumulator<64x128>, index, index, index, !tile.ring<<64x128xbf16>>, !tile.tensor<?x256xbf16>) -> ()
    }
  }
}

// -----

// Results of other tiles do.
tile.kernel @k(
    %x: !tile.tensor<?x128xf32> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xbf16> #tile.bind<input 0>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %k = arith.constant 128 : index
  %space = tile.space %t, %n, %k tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 4 x 49152
  %ab = tile.ring %p : !tile.ring<<128x64xf32>, <128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xf32>, <128x64xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x128xf32>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<256x128xbf16>
        tile.commit %s
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major split : !tile.ring<<128x64xf32>, <128x64xbf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      // expected-error @below {{expects results in entries, but got 32 staged rows}}
      tile.drain(%acc) at [%m0, %n0] rows %t stores(%y)
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                      storeBuffers = array<i64>, entryRows = 64, stagedRows = 32, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        %v = arith.truncf %a : f32 to bf16
        tile.yield %v : bf16
      } : (!tile.accumulator<128x128>, index, index, index, !tile.tensor<?x256xbf16>) -> ()
    }
  }
}

// -----

// A product of two 16-bit operands is not computed transposed, so that it cannot add
// to the same accumulator.
tile.kernel @k(
    %x: !tile.tensor<?x128xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xf32> #tile.bind<input 0>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %k = arith.constant 128 : index
  %space = tile.space %t, %n, %k tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 4 x 49152
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <128x64xf32>>
  %cd = tile.ring %p : !tile.ring<<128x64xbf16>, <128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <128x64xf32>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x128xbf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<256x128xf32>
        tile.commit %s
      }
      scf.for %i = %c0 to %steps step %c1 {
        %s = tile.acquire %cd : !tile.ring<<128x64xbf16>, <128x64xbf16>>
        tile.copy %x[%m0, %k0] to %s[0] : !tile.tensor<?x128xbf16>
        tile.copy %x[%n0, %k0] to %s[1] : !tile.tensor<?x128xbf16>
        tile.commit %s
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major split : !tile.ring<<128x64xbf16>, <128x64xf32>>, !tile.accumulator<128x128>
      // expected-error @below {{adds to an accumulator that a product with an f32 B, computed transposed, adds to as well}}
      tile.multiply %cd steps %steps into %acc a k_major b k_major accumulate : !tile.ring<<128x64xbf16>, <128x64xbf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.drain(%acc) at [%m0, %n0] rows %t stores(%y)
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                      storeBuffers = array<i64>, entryRows = 64, entryCols = 128, stagedRows = 16, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        %v = arith.truncf %a : f32 to bf16
        tile.yield %v : bf16
      } : (!tile.accumulator<128x128>, index, index, index, !tile.tensor<?x256xbf16>) -> ()
    }
  }
}

// -----

// Staging comes on top of the pool.
// expected-error @below {{needs 238592 bytes of shared memory, but sm_90a has 232448 (C5)}}
tile.kernel @k(
    %x: !tile.tensor<?x128xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xf32> #tile.bind<input 0>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %k = arith.constant 128 : index
  %space = tile.space %t, %n, %k tile [64, 128, 64] splits %c1 cost 2
  %p = tile.pool 5 x 40960
  %ab = tile.ring %p : !tile.ring<<64x64xbf16>, <128x64xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<64x64xbf16>, <128x64xf32>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x128xbf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<256x128xf32>
        tile.commit %s
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major split : !tile.ring<<64x64xbf16>, <128x64xf32>>, !tile.accumulator<64x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.drain(%acc) at [%m0, %n0] rows %t stores(%y)
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                      storeBuffers = array<i64>, entryRows = 64, entryCols = 128, stagedRows = 64, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        %v = arith.truncf %a : f32 to bf16
        tile.yield %v : bf16
      } : (!tile.accumulator<64x128>, index, index, index, !tile.tensor<?x256xbf16>) -> ()
    }
  }
}
