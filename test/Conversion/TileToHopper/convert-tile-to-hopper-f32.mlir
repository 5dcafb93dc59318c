// RUN: kernel-opt %s --convert-tile-to-hopper -split-input-file | FileCheck %s

// B is f32: the tile is computed transposed, so that B is wgmma's A, which comes from
// registers. Each warpgroup has 64 of the tile's 128 columns. x is what the plan
// computes, w an input.
// CHECK-LABEL: llvm.func @transposed(
// Results are stored in boxes of the staged rows and one panel: 64 bf16, 32 f32. The
// kernel has the pool, then 24 KiB of staging: two places of two halves of 16 rows of
// 64 columns, 6 bytes each.
// CHECK-SAME: %[[X:[a-z0-9]*]]: !llvm.ptr {llvm.align = 64
// CHECK-SAME: %[[W:[a-z0-9]*]]: !llvm.ptr {llvm.align = 64
// CHECK-SAME: %[[Y:[a-z0-9]*]]: !llvm.ptr {llvm.align = 64
// CHECK-SAME: %[[Z:[a-z0-9]*]]: !llvm.ptr {llvm.align = 64
// CHECK-SAME: %[[T:[a-z0-9]*]]: i32, {{.*}}, %[[TAG:[a-z0-9]*]]: i64)
// CHECK-SAME: tile.maps = [array<i64: 0, 64, 64, 1>, array<i64: 1, 128, 32, 2>, array<i64: 2, 16, 64, 1>, array<i64: 3, 16, 32, 1>]
// CHECK-SAME: tile.smem_bytes = 189440 : i64

// Two warps load; each arrives once at every slot.
// CHECK: nvvm.mbarrier.init %{{.*}}, %[[TWO:c2_i32[_0-9]*]] :
// CHECK: nvvm.mbarrier.init %{{.*}}, %c8_i32

// The one that brings inputs waits for no launch before.
// CHECK: nvvm.setmaxregister decrease 40
// CHECK-NOT: griddepcontrol.wait
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c32768_i32
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[W]],
// CHECK-NOT: cp.async.bulk.tensor.shared
// CHECK: griddepcontrol.wait
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c8192_i32
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[X]],
// CHECK-NOT: cp.async.bulk.tensor.shared

// A step's f32 fragments: 16 pairs along K, each split into its value as bf16 and
// the rest. The value is kept finite, so that the rest is, too.
// CHECK: nvvm.setmaxregister increase 232
// CHECK: griddepcontrol.wait
// CHECK-COUNT-16: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// CHECK-NOT: llvm.load {{.*}}vector<2xf32>
// CHECK: %[[ELEMENT:.*]] = llvm.extractelement %[[V:.*]][
// CHECK: llvm.inline_asm {{.*}}"min.NaN.xorsign.abs.f32 {{.*}} %[[ELEMENT]], %{{.*}} : (f32, f32) -> f32
// CHECK: min.NaN.xorsign.abs.f32
// CHECK: %[[CLAMPED:.*]] = llvm.insertelement {{.*}} : vector<2xf32>
// CHECK: %[[HIGH:.*]] = arith.truncf %[[CLAMPED]] : vector<2xf32> to vector<2xbf16>
// CHECK: %[[BACK:.*]] = arith.extf %[[HIGH]] : vector<2xbf16> to vector<2xf32>
// CHECK: %[[REST:.*]] = arith.subf %[[V]], %[[BACK]] : vector<2xf32>
// CHECK: arith.truncf %[[REST]] : vector<2xf32> to vector<2xbf16>
// CHECK-COUNT-30: arith.truncf {{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK-NOT: arith.truncf

// Both parts by the same 16 of the other operand, which is K-major; four times. A
// product from registers is waited for, as its registers are used again.
// CHECK: wgmma.fence.sync.aligned;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{[^}]*}}}, {$64, $65, $66, $67}, db, p, 1, 1, 0;
// CHECK-SAME: m64n64k16.f32.bf16.bf16 {{{[^}]*}}}, {$80, $81, $82, $83}, db, 1, 1, 1, 0;
// CHECK-SAME: m64n64k16.f32.bf16.bf16 {{{[^}]*}}}, {$68, $69, $70, $71}, db, 1, 1, 1, 0;
// CHECK-SAME: m64n64k16.f32.bf16.bf16 {{{[^}]*}}}, {$84, $85, $86, $87}, db, 1, 1, 1, 0;
// CHECK-SAME: m64n64k16.f32.bf16.bf16 {{{[^}]*}}}, {$72, $73, $74, $75}, db, 1, 1, 1, 0;
// CHECK-SAME: m64n64k16.f32.bf16.bf16 {{{[^}]*}}}, {$88, $89, $90, $91}, db, 1, 1, 1, 0;
// CHECK-SAME: m64n64k16.f32.bf16.bf16 {{{[^}]*}}}, {$76, $77, $78, $79}, db, 1, 1, 1, 0;
// CHECK-SAME: m64n64k16.f32.bf16.bf16 {{{[^}]*}}}, {$92, $93, $94, $95}, db, 1, 1, 1, 0;
// CHECK-SAME: wgmma.wait_group.sync.aligned 0;
// The slot is released when its products have read it.
// CHECK: mbarrier.arrive.shared::cta.b64 _

// Sixteen rows: one thread sees that the place's earlier stores have been read, all
// meet, write 16-bit results as transposed matrices and f32 ones by words, and meet
// again; one thread stores the warpgroup's 64 columns, a panel of bf16, two of f32.
// Rows of y beyond the last are zero, as others multiply it; those of z are not stored.
// CHECK: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %c128
// CHECK: %[[WORD:.*]] = llvm.bitcast %{{.*}} : vector<2xbf16> to i32
// CHECK: %[[IN0:.*]] = arith.cmpi ult, %{{.*}}, %[[T]] : i32
// CHECK: %[[LOW:.*]] = arith.select %[[IN0]], %c65535_i32{{[_0-9]*}}, %c0_i32
// CHECK: %[[IN1:.*]] = arith.cmpi ult, %{{.*}}, %[[T]] : i32
// CHECK: %[[HIGH:.*]] = arith.select %[[IN1]], %c-65536_i32{{[_0-9]*}}, %c0_i32
// CHECK: %[[MASK:.*]] = arith.ori %[[LOW]], %[[HIGH]]
// CHECK: arith.andi %[[WORD]], %[[MASK]]
// CHECK: stmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-NOT: stmatrix
// CHECK-NOT: arith.select
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK: nvvm.fence.proxy {{.*}}async.shared
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %c128
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[Y]],
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[Z]],
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[Z]],
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-COUNT-3: stmatrix
// CHECK-NOT: stmatrix

// The tile's signal is set once all that it stored is complete, after one fence.
// CHECK: nvvm.cp.async.bulk.wait_group 0{{$}}
// CHECK-NEXT: fence.acq_rel.gpu
// CHECK-NOT: fence
// CHECK: st.relaxed.gpu.global.b64 {{.*}}, %[[TAG]]
// CHECK-NOT: st.relaxed
// CHECK: llvm.return
tile.kernel @transposed(
    %x: !tile.tensor<?x128xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xf32> #tile.bind<input 0>,
    %y: !tile.tensor<?x256xbf16> #tile.bind<temporary 1, <[T], affine_map<()[s0] -> (s0 * 512)>>>, %z: !tile.tensor<?x256xf32> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>,
    %signals: !tile.workspace #tile.bind<temporary 2, <[T], affine_map<()[s0] -> ((s0 ceildiv 64) * 32)>>>,
    %tag: i64 #tile.bind<tag 0>) attributes {tile.dependent} {
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
      tile.drain(%acc) at [%m0, %n0] rows %t stores(%y, %z) signals %signals tag %tag
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>, #tile<yield_kind store>],
                      storeBuffers = array<i64>, entryRows = 64, entryCols = 128, stagedRows = 16, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        %v = arith.truncf %a : f32 to bf16
        tile.yield %v, %a : bf16, f32
      } : (!tile.accumulator<64x128>, index, index, index, !tile.tensor<?x256xbf16>, !tile.tensor<?x256xf32>, !tile.workspace, i64) -> ()
    }
  }
}

// -----

// A is f32 and MN-major, B the two parts of a copy: a thread reads single words, and
// adds up value by value, rest by value, value by rest. Nothing is computed before:
// one warp loads, one arrival a slot; without the attribute nobody waits for the
// launch before.
// CHECK-LABEL: llvm.func @gradient(
// CHECK: nvvm.mbarrier.init %{{.*}}, %[[ONE:c1_i32[_0-9]*]] :
// CHECK-NOT: griddepcontrol
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c65536_i32
// CHECK-COUNT-3: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT: cp.async.bulk.tensor.shared
// CHECK-COUNT-32: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{{[^}]*}}}, {$128, $129, $130, $131}, db, p, 1, 1, 1;
// CHECK-SAME: m64n128k16.f32.bf16.bf16 {{{[^}]*}}}, {$144, $145, $146, $147}, db, 1, 1, 1, 1;
// CHECK-SAME: m64n128k16.f32.bf16.bf16 {{{[^}]*}}}, {$128, $129, $130, $131}, db, 1, 1, 1, 1;
// CHECK-SAME: m64n128k16.f32.bf16.bf16 {{{[^}]*}}}, {$132, $133, $134, $135}, db, 1, 1, 1, 1;
// CHECK-SAME: wgmma.wait_group.sync.aligned 0;
// The results are in rows, as without f32.
// CHECK-NOT: stmatrix
// CHECK: llvm.return
tile.kernel @gradient(
    %x: !tile.tensor<?x256xf32> #tile.bind<input 0>, %h: !tile.tensor<?x128xbf16> #tile.bind<input 1>,
    %l: !tile.tensor<?x128xbf16> #tile.bind<input 2>, %y: !tile.tensor<256x128xf32> #tile.bind<output 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e = arith.constant 2 : index
  %m = arith.constant 256 : index
  %n = arith.constant 128 : index
  %space = tile.space %m, %n, %t tile [128, 128, 64] splits %c1 cost 2
  %p = tile.pool 3 x 65536
  %ab = tile.ring %p : !tile.ring<<64x128xf32>, <64x128xbf16>, <64x128xbf16>>
  %out = tile.ring %p : !tile.ring<<128x64xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %s = tile.acquire %ab : !tile.ring<<64x128xf32>, <64x128xbf16>, <64x128xbf16>>
        tile.copy %x[%at, %m0] to %s[0] : !tile.tensor<?x256xf32>
        tile.copy %h[%at, %n0] to %s[1] : !tile.tensor<?x128xbf16>
        tile.copy %l[%at, %n0] to %s[2] : !tile.tensor<?x128xbf16>
        tile.commit %s
      }
      scf.for %i = %c0 to %e step %c1 {
        %s = tile.acquire %out : !tile.ring<<128x64xf32>>
        tile.commit %s
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a mn_major b mn_major split
          : !tile.ring<<64x128xf32>, <64x128xbf16>, <64x128xbf16>>, !tile.accumulator<128x128>
    }
  }
  tile.task drain {
    tile.for_each_unit %space unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.drain(%acc) at [%m0, %n0] rows %m via %out stores(%y)
          attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                      storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
      ^bb0(%a: f32):
        tile.yield %a : f32
      } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xf32>>, !tile.tensor<256x128xf32>) -> ()
    }
  }
}

// -----

// A chain: the warp that brings what the plan computes polls the flags of the tiles
// that it reads, a flag a lane, orders the copy engine's reads after that, and goes
// on as a whole. One f16 operand beside the f32 one: a product for each 16 in K. An
// epilogue's 16-bit operand is read as transposed matrices, and its entry is released
// when the whole warp has read it.
// CHECK-LABEL: llvm.func @chain(
// CHECK-SAME: %[[TAG:[a-z0-9]*]]: i64)
// CHECK: griddepcontrol.wait
// CHECK: ld.acquire.gpu.global.b64 {{.*}}, %[[TAG]]
// CHECK: fence.proxy.async;
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.cp.async.bulk.tensor.shared
// CHECK: nvvm.setmaxregister increase 232
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{[^}]*}}}, {$64, $65, $66, $67}, db, p, 1, 1, 0;
// CHECK-SAME: {{{[^}]*}}}, {$68, $69, $70, $71}, db, 1, 1, 1, 0;
// CHECK-SAME: {{{[^}]*}}}, {$72, $73, $74, $75}, db, 1, 1, 1, 0;
// CHECK-SAME: {{{[^}]*}}}, {$76, $77, $78, $79}, db, 1, 1, 1, 0;
// CHECK-NOT: wgmma.mma_async
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: stmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive.shared::cta.b64 _
// CHECK: llvm.return
tile.kernel @chain(
    %h: !tile.tensor<?x128xf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 256)>>>, %w: !tile.tensor<256x128xf32> #tile.bind<input 0>,
    %e: !tile.tensor<?x256xbf16> #tile.bind<input 1>, %y: !tile.tensor<?x256xbf16> #tile.bind<output 0>,
    %x: !tile.tensor<?x64xf16> #tile.bind<input 2>, %v: !tile.tensor<64x128xf16> #tile.bind<input 3>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>,
    %signals: !tile.workspace #tile.bind<temporary 1, <[T], affine_map<()[s0] -> ((s0 ceildiv 128) * 16)>>>,
    %tag: i64 #tile.bind<tag 0>) attributes {tile.dependent} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %k = arith.constant 128 : index
  %first = tile.space %t, %k, %c64 tile [128, 128, 64] splits %c1 cost 2
  %second = tile.space %t, %n, %k tile [64, 128, 64] splits %c1 cost 2
  %p = tile.pool 4 x 40960
  %xv = tile.ring %p : !tile.ring<<128x64xf16>, <64x128xf16>>
  %one = tile.accumulators 1 : !tile.accumulator<128x128>
  %out = tile.ring %p : !tile.ring<<128x64xf16>>
  %hw = tile.ring %p : !tile.ring<<64x64xf16>, <128x64xf32>>
  %acc = tile.accumulators 1 : !tile.accumulator<64x128>
  %in = tile.ring %p : !tile.ring<<64x128xbf16>>
  tile.task load {
    tile.for_each_unit %first, %second
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %s = tile.acquire %xv : !tile.ring<<128x64xf16>, <64x128xf16>>
          tile.copy %x[%m0, %k0] to %s[0] : !tile.tensor<?x64xf16>
          tile.copy %v[%k0, %n0] to %s[1] : !tile.tensor<64x128xf16>
          tile.commit %s
        }
        scf.for %i = %c0 to %c2 step %c1 {
          %s = tile.acquire %out : !tile.ring<<128x64xf16>>
          tile.commit %s
        }
      }
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        %m1 = arith.addi %m0, %c64 : index
        %k1 = arith.addi %k0, %k : index
        tile.await %signals tag %tag of %first rows %m0 to %m1 cols %k0 to %k1
        scf.for %i = %c0 to %steps step %c1 {
          %0 = arith.muli %i, %c64 : index
          %at = arith.addi %k0, %0 : index
          %s = tile.acquire %hw : !tile.ring<<64x64xf16>, <128x64xf32>>
          tile.copy %h[%m0, %at] to %s[0] : !tile.tensor<?x128xf16>
          tile.copy %w[%n0, %at] to %s[1] : !tile.tensor<256x128xf32>
          tile.commit %s
        }
        %s = tile.acquire %in : !tile.ring<<64x128xbf16>>
        tile.copy %e[%m0, %n0] to %s[0] : !tile.tensor<?x256xbf16>
        tile.commit %s
      }
  }
  tile.task multiply {
    tile.for_each_unit %first, %second
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %xv steps %steps into %one a k_major b mn_major : !tile.ring<<128x64xf16>, <64x128xf16>>, !tile.accumulator<128x128>
      }
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %hw steps %steps into %acc a k_major b k_major : !tile.ring<<64x64xf16>, <128x64xf32>>, !tile.accumulator<64x128>
      }
  }
  tile.task drain {
    tile.for_each_unit %first, %second
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%one) at [%m0, %n0] rows %t via %out stores(%h) signals %signals tag %tag
            attributes {elementKinds = [], operandBuffers = array<i64>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32):
          %0 = arith.truncf %a : f32 to f16
          tile.yield %0 : f16
        } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xf16>>, !tile.tensor<?x128xf16>, !tile.workspace, i64) -> ()
      }
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.drain(%acc) at [%m0, %n0] rows %t via %in stores(%y)
            attributes {elementKinds = [#tile<element_kind slot>], operandBuffers = array<i64: 0>, yieldKinds = [#tile<yield_kind store>],
                        storeBuffers = array<i64>, entryRows = 64, entryCols = 128, stagedRows = 64, slotsPerEntry = 1} {
        ^bb0(%a: f32, %b: bf16):
          %0 = arith.truncf %a : f32 to bf16
          %1 = arith.addf %0, %b : bf16
          tile.yield %1 : bf16
        } : (!tile.accumulator<64x128>, index, index, index, !tile.ring<<64x128xbf16>>, !tile.tensor<?x256xbf16>) -> ()
      }
  }
}
