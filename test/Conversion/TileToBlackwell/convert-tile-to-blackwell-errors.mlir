// The kernel below with other numbers in it.
// RUN: sed 's/ROWS/128/g; s/COLS/128/g; s/CHUNKS/2/g; s/SETS/2/g; s/SLOTS/3/g; s/POOL/drains/g' %s \
// RUN:   | kernel-opt --convert-tile-to-blackwell=target=sm_100a 2>&1 | FileCheck %s --check-prefix=VALID
// VALID: llvm.func @sums

// RUN: sed 's/ROWS/128/g; s/COLS/128/g; s/CHUNKS/2/g; s/SETS/2/g; s/SLOTS/3/g; s/POOL/drains/g' %s \
// RUN:   | not kernel-opt --convert-tile-to-blackwell=target=sm_90a 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: 'sm_90a' is not a target of convert-tile-to-blackwell

// RUN: sed 's/ROWS/64/g; s/COLS/128/g; s/CHUNKS/2/g; s/SETS/2/g; s/SLOTS/3/g; s/POOL/drains/g' %s \
// RUN:   | not kernel-opt --convert-tile-to-blackwell=target=sm_100a 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: expects tiles of 128 rows on sm_100a, but got 64

// RUN: sed 's/ROWS/128/g; s/COLS/96/g; s/CHUNKS/2/g; s/SETS/2/g; s/SLOTS/3/g; s/POOL/drains/g' %s \
// RUN:   | not kernel-opt --convert-tile-to-blackwell=target=sm_100a 2>&1 | FileCheck %s --check-prefix=NARROW
// NARROW: error: expects an accumulator of 64, 128, 192 or 256 columns on sm_100a, but got 96

// RUN: sed 's/ROWS/128/g; s/COLS/320/g; s/CHUNKS/5/g; s/SETS/2/g; s/SLOTS/3/g; s/POOL/drains/g' %s \
// RUN:   | not kernel-opt --convert-tile-to-blackwell=target=sm_100a 2>&1 | FileCheck %s --check-prefix=WIDE
// WIDE: error: expects an accumulator of 64, 128, 192 or 256 columns on sm_100a, but got 320

// RUN: sed 's/ROWS/128/g; s/COLS/192/g; s/CHUNKS/3/g; s/SETS/3/g; s/SLOTS/3/g; s/POOL/drains/g' %s \
// RUN:   | not kernel-opt --convert-tile-to-blackwell=target=sm_100a 2>&1 | FileCheck %s --check-prefix=SETS
// SETS: error: 'tile.kernel' op needs 576 columns of tensor memory for 3 sets of accumulators, but sm_100a has 512

// RUN: sed 's/ROWS/128/g; s/COLS/128/g; s/CHUNKS/2/g; s/SETS/2/g; s/SLOTS/4/g; s/POOL/drains/g' %s \
// RUN:   | not kernel-opt --convert-tile-to-blackwell=target=sm_100a 2>&1 | FileCheck %s --check-prefix=SMEM
// SMEM: error: 'tile.kernel' op needs 295936 bytes of shared memory, but sm_100a has 232448 (C5)

// RUN: sed 's/ROWS/128/g; s/COLS/128/g; s/CHUNKS/2/g; s/SETS/2/g; s/SLOTS/3/g; s/POOL/pool/g' %s \
// RUN:   | not kernel-opt --convert-tile-to-blackwell=target=sm_100a 2>&1 | FileCheck %s --check-prefix=POOL
// POOL: error: 'tile.pool' op holds entries of multiply and of drain tasks, which run apart on sm_100a; expects a pool for each

tile.kernel @sums(
    %x: !tile.tensor<?x320xf16> #tile.bind<input 0>,
    %w: !tile.tensor<960x320xf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x960xf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %chunks = arith.constant CHUNKS : index
  %n = arith.constant 960 : index
  %k = arith.constant 320 : index
  %space = tile.space %t, %n, %k tile [ROWS, COLS, 64] splits %c1 cost 3
  %pool = tile.pool SLOTS x 65536
  %drains = tile.pool 2 x 16384
  %ab = tile.ring %pool : !tile.ring<<ROWSx64xf16>, <COLSx64xf16>>
  %out = tile.ring %POOL : !tile.ring<<ROWSx64xf16>>
  %acc = tile.accumulators SETS : !tile.accumulator<ROWSxCOLS>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %slot = tile.acquire %ab : !tile.ring<<ROWSx64xf16>, <COLSx64xf16>>
          tile.copy %x[%m0, %k0] to %slot[0] : !tile.tensor<?x320xf16>
          tile.copy %w[%n0, %k0] to %slot[1] : !tile.tensor<960x320xf16>
          tile.commit %slot
        }
        scf.if %last {
          scf.for %i = %c0 to %chunks step %c1 {
            %slot = tile.acquire %out : !tile.ring<<ROWSx64xf16>>
            tile.commit %slot
          }
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b k_major
            : !tile.ring<<ROWSx64xf16>, <COLSx64xf16>>, !tile.accumulator<ROWSxCOLS>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.if %last {
          tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
              attributes {elementKinds = [], operandBuffers = array<i64>,
                          yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64: 0>,
                          entryRows = ROWS, slotsPerEntry = 1} {
          ^bb0(%a: f32):
            %v = arith.truncf %a : f32 to f16
            tile.yield %v : f16
          } : (!tile.accumulator<ROWSxCOLS>, index, index, index, !tile.ring<<ROWSx64xf16>>, !tile.tensor<?x960xf16>) -> ()
        }
      }
  }
}
