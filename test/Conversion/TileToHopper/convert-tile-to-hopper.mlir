// RUN: kernel-opt %s --convert-tile-to-hopper | FileCheck %s

// One kernel of 384 threads: its tensor maps by value, then the other arguments.
// The maps: x in boxes of 128 rows and one panel of 64 columns, w in one box over
// two panels (three dimensions, since 320 columns are whole panels), y stored in
// panels of 64 rows.
// CHECK-DAG: llvm.mlir.global external @smem() {addr_space = 3 : i32
// CHECK-LABEL: llvm.func @plain(
// CHECK-SAME: %[[X:[a-z0-9]*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: nvvm.grid_constant}
// CHECK-SAME: nvvm.grid_constant}, %{{[a-z0-9]*}}: i32)
// CHECK-SAME: nvvm.kernel, nvvm.maxnreg = 168 : i32, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK-SAME: tile.arguments = array<i64: 3>
// CHECK-SAME: tile.maps = [array<i64: 0, 128, 64, 1>, array<i64: 1, 64, 64, 2>, array<i64: 2, 64, 64, 1>]
// CHECK-SAME: tile.smem_bytes = 230400 : i64

// Seven slots, two barriers each; the eight consumer warps empty a slot.
// CHECK-COUNT-14: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init

// The producers give registers away; one lane loads.
// CHECK: nvvm.setmaxregister decrease 40
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[X]], %{{.*}}, box[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] :
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, box[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] :
// CHECK-NOT: nvvm.cp.async.bulk.tensor.shared
// A slot for staging brings nothing: the producer arrives itself.
// CHECK: mbarrier.arrive.shared::cta.b64 _

// The consumers take them: a step is four instructions of 16, A K-major and B
// MN-major, the first of a tile without the accumulator.
// CHECK: nvvm.setmaxregister increase 232
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{[^;]*}}da, db, p, 1, 1, 0, 1;
// CHECK-SAME: m64n128k16{{[^;]*}}da, db, 1, 1, 1, 0, 1;
// CHECK-SAME: m64n128k16{{[^;]*}}da, db, 1, 1, 1, 0, 1;
// CHECK-SAME: m64n128k16{{[^;]*}}da, db, 1, 1, 1, 0, 1;
// CHECK-SAME: wgmma.wait_group.sync.aligned 1;
// CHECK: wgmma.wait_group.sync.aligned 0;

// A column block at a time: written to its slot, fenced, met by the warpgroup's
// own barrier of 128 threads, stored by one thread.
// CHECK-COUNT-16: llvm.store {{.*}} : vector<2xbf16>, !llvm.ptr<3>
// CHECK: nvvm.fence.proxy {{.*}}async.shared
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %{{.*}}
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK-NOT: tile.{{[a-z_]+}} %
tile.kernel @plain(
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
          tile.yield %v : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// Transposes are bits of the instruction, one per operand. K-major boxes are one
// panel of 64 columns; a descriptor steps by 32 bytes (2) through it.
// CHECK-LABEL: llvm.func @both_k_major(
// CHECK-SAME: tile.maps = [array<i64: 0, 128, 64, 1>, array<i64: 1, 128, 64, 1>, array<i64: 2, 64, 64, 1>]
// CHECK: add.s64 da, ${{[0-9]+}}, 2;\0A\09add.s64 db, ${{[0-9]+}}, 2;
// CHECK-SAME: m64n128k16.f32.f16.f16 {{[^;]*}}da, db, 1, 1, 1, 0, 0;
tile.kernel @both_k_major(
    %x: !tile.tensor<?x320xf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<128x64xf16>, <128x64xf16>>
  %out = tile.ring %p : !tile.ring<<128x64xf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<128x64xf16>, <128x64xf16>>
        tile.copy %x[%m0, %at] to %s[0] : !tile.tensor<?x320xf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<320x320xf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a k_major b k_major : !tile.ring<<128x64xf16>, <128x64xf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to f16
          tile.yield %v : f16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xf16>>, !tile.tensor<?x320xf16>) -> ()
      }
    }
  }
}

// MN-major boxes are panels of 64 columns; a descriptor steps by 16 rows of 128
// bytes (128).
// CHECK-LABEL: llvm.func @both_mn_major(
// CHECK-SAME: tile.maps = [array<i64: 0, 64, 64, 2>, array<i64: 1, 64, 64, 2>, array<i64: 2, 64, 64, 1>]
// CHECK: add.s64 da, ${{[0-9]+}}, 128;\0A\09add.s64 db, ${{[0-9]+}}, 128;
// CHECK-SAME: m64n128k16.f32.f16.f16 {{[^;]*}}da, db, 1, 1, 1, 1, 1;
tile.kernel @both_mn_major(
    %x: !tile.tensor<?x320xf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<64x128xf16>, <64x128xf16>>
  %out = tile.ring %p : !tile.ring<<128x64xf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<64x128xf16>, <64x128xf16>>
        tile.copy %x[%at, %m0] to %s[0] : !tile.tensor<?x320xf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<320x320xf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a mn_major b mn_major : !tile.ring<<64x128xf16>, <64x128xf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to f16
          tile.yield %v : f16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xf16>>, !tile.tensor<?x320xf16>) -> ()
      }
    }
  }
}

// One of each.
// CHECK-LABEL: llvm.func @a_mn_major(
// CHECK-SAME: tile.maps = [array<i64: 0, 64, 64, 2>, array<i64: 1, 128, 64, 1>, array<i64: 2, 64, 64, 1>]
// CHECK: add.s64 da, ${{[0-9]+}}, 128;\0A\09add.s64 db, ${{[0-9]+}}, 2;
// CHECK-SAME: m64n128k16.f32.f16.f16 {{[^;]*}}da, db, 1, 1, 1, 1, 0;
tile.kernel @a_mn_major(
    %x: !tile.tensor<?x320xf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<64x128xf16>, <128x64xf16>>
  %out = tile.ring %p : !tile.ring<<128x64xf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<64x128xf16>, <128x64xf16>>
        tile.copy %x[%at, %m0] to %s[0] : !tile.tensor<?x320xf16>
        tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<320x320xf16>
        tile.commit %s
      }
      scf.if %last {
        scf.for %i = %c0 to %e step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xf16>>
          tile.commit %s
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a mn_major b k_major : !tile.ring<<64x128xf16>, <128x64xf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to f16
          tile.yield %v : f16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xf16>>, !tile.tensor<?x320xf16>) -> ()
      }
    }
  }
}

// Rows of 328 elements are not whole panels: a box over panels would read the next
// row's elements for those beyond the last column. Each panel has its copy.
// CHECK-LABEL: llvm.func @columns_no_panels(
// CHECK-SAME: tile.maps = [array<i64: 0, 64, 64, 1>, array<i64: 1, 64, 64, 1>, array<i64: 2, 64, 64, 1>]
// CHECK-COUNT-4: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}, box[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] :
// CHECK-NOT: nvvm.cp.async.bulk.tensor.shared
tile.kernel @columns_no_panels(
    %x: !tile.tensor<?x328xbf16> #tile.bind<input 0>, %w: !tile.tensor<?x328xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x328xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<64x128xbf16>, <64x128xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<64x128xbf16>, <64x128xbf16>>
        tile.copy %x[%at, %m0] to %s[0] : !tile.tensor<?x328xbf16>
        tile.copy %w[%at, %n0] to %s[1] : !tile.tensor<?x328xbf16>
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
      tile.multiply %ab steps %steps into %acc a mn_major b mn_major : !tile.ring<<64x128xbf16>, <64x128xbf16>>, !tile.accumulator<128x128>
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
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x328xbf16>) -> ()
      }
    }
  }
}

// An entry of 64 rows belongs to one warpgroup, the other lets it pass: twice as
// many entries, the same instructions in either branch.
// CHECK-LABEL: llvm.func @entries_of_64_rows(
// CHECK: nvvm.setmaxregister increase
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: scf.if
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: } else {
// CHECK: mbarrier.arrive.shared::cta.b64 _
tile.kernel @entries_of_64_rows(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 4 : index
  %n = arith.constant 320 : index
  %space = tile.space %t, %n, %n tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 7 x 32768
  %ab = tile.ring %p : !tile.ring<<128x64xbf16>, <64x128xbf16>>
  %out = tile.ring %p : !tile.ring<<64x64xbf16>>
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
          %s = tile.acquire %out : !tile.ring<<64x64xbf16>>
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
                        storeBuffers = array<i64: 0>, entryRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %v = arith.truncf %a : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<64x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}

// A constant of the region stands at the kernel's level once canonicalised.
// CHECK-LABEL: llvm.func @hoisted_constant(
// CHECK: arith.constant dense<2.5{{0*e\+00}}> : vector<2xf32>
tile.kernel @hoisted_constant(
    %x: !tile.tensor<?x320xbf16> #tile.bind<input 0>, %w: !tile.tensor<320x320xbf16> #tile.bind<input 1>,
    %y: !tile.tensor<?x320xbf16> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.5 : f32
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
          %h = arith.mulf %a, %two : f32
          %v = arith.truncf %h : f32 to bf16
          tile.yield %v : bf16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<?x320xbf16>) -> ()
      }
    }
  }
}
