// RUN: kernel-opt %s --convert-tile-to-hopper -split-input-file -verify-diagnostics

// Two warpgroups take 64 rows of a tile each, or 64 columns of one that is
// computed transposed: one of the two extents is 128.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 3 : index
  %n = arith.constant 320 : index
  // expected-error @below {{expects tiles of 128 rows on sm_90a, or of as many columns where B is f32, but got 64x192}}
  %space = tile.space %t, %n, %n tile [64, 192, 64] splits %c1 cost 2
  %p = tile.pool 5 x 40960
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <64x192xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x192>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <64x192xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<128x64xbf16>, <64x192xbf16>>, !tile.accumulator<128x192>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x192>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// The copy engine takes boxes of up to 256 rows.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 5 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 264, 64] splits %c1 cost 2
  %p = tile.pool 4 x 51200
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <264x64xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x264>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <264x64xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
  // expected-error @below {{box of 264x64x'bf16' is not made of 128-byte panels of 8 to 256 rows}}
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major : !tile.ring<<128x64xbf16>, <264x64xbf16>>, !tile.accumulator<128x264>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x264>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// Rows of a box come in groups of eight.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 1 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 60, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <60x64xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x60>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <60x64xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
  // expected-error @below {{box of 60x64x'bf16' is not made of 128-byte panels of 8 to 256 rows}}
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major : !tile.ring<<128x64xbf16>, <60x64xbf16>>, !tile.accumulator<128x60>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x60>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// Columns of a box are whole panels.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 96, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <64x96xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x96>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <64x96xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
  // expected-error @below {{box of 64x96x'bf16' is not made of 128-byte panels of 8 to 256 rows}}
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<128x64xbf16>, <64x96xbf16>>, !tile.accumulator<128x96>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x96>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// An entry of 64 columns would reach into the next tile.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 96, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <96x64xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x96>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <96x64xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major : !tile.ring<<128x64xbf16>, <96x64xbf16>>, !tile.accumulator<128x96>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
  // expected-error @below {{expects tiles of a multiple of 64 columns, but got 96}}
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x96>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// An accumulator of 64 rows leaves a warpgroup without.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<64x64xbf16>, <64x128xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<64x64xbf16>, <64x128xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<64x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
  // expected-error @below {{expects an accumulator of 128 rows on sm_90a, but got 64}}
      tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<64x64xbf16>, <64x128xbf16>>, !tile.accumulator<64x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<64x128>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// K-major operands come in steps of one panel.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 3 x 65536
  %ab = tile.ring %p : !tile.ring<<128x128xbf16>, <128x128xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x128xbf16>, <128x128xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
  // expected-error @below {{expects steps of 64 in K for K-major operands, and of a multiple of 16 for others, but got a box of 128x128}}
      tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<128x128xbf16>, <128x128xbf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// An instruction takes 16 rows of an MN-major operand.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<8x128xbf16>, <8x128xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<8x128xbf16>, <8x128xbf16>>
        tile.copy %x[%at, %m0] to %s[0] : !tile.tensor<?x320xbf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
  // expected-error @below {{expects steps of 64 in K for K-major operands, and of a multiple of 16 for others, but got a box of 8x128}}
      tile.multiply %ab steps %steps into %acc a mn_major b mn_major : !tile.ring<<8x128xbf16>, <8x128xbf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// Entries are a warpgroup's rows, or both's.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 8 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <64x128xbf16>>
  %out = tile.ring %p : !tile.ring<<32x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <64x128xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<32x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<128x64xbf16>, <64x128xbf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
  // expected-error @below {{expects entries of 64 or 128 rows, but got 32}}
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 32, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<32x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// The slots and barriers are more than an SM has (C5).
// expected-error @below {{needs 263168 bytes of shared memory, but sm_90a has 232448 (C5)}}
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 8 x 32768
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <64x128xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <64x128xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<128x64xbf16>, <64x128xbf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// An op of the region that has no form for a pair of elements.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <64x128xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <64x128xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<128x64xbf16>, <64x128xbf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          // expected-error @below {{has no element form: expand it first (backfuse-expand-elementary-functions)}}
          %u = math.tanh %v : bf16
          tile.yield %u : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// A region of vectors.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <64x128xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <64x128xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<128x64xbf16>, <64x128xbf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          // expected-error @below {{has no element form: it expects scalars, and one result}}
          %c = arith.constant dense<1.0> : vector<2xf32>
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// Arithmetic of a kernel is on scalars.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  // expected-error @below {{has no lowering to sm_90a here}}
  %z = ub.poison : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <64x128xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <64x128xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<128x64xbf16>, <64x128xbf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// -----

// A loop of the load task carries no values.
tile.kernel @k(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <64x128xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      // expected-error @below {{expects a loop without carried values}}
      %zz = scf.for %i = %c0 to %steps step %c1 iter_args(%z = %c0) -> (index) {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xbf16>, <64x128xbf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xbf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xbf16>
        tile.commit %s
        scf.yield %z : index
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b mn_major : !tile.ring<<128x64xbf16>, <64x128xbf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}
