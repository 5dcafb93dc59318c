// A product of `x` and the transpose of `w`, multiplied by `g`, with column sums:
// what each role does.
// RUN: kernel-opt %s --convert-tile-to-blackwell | FileCheck %s
// RUN: kernel-opt %s --convert-tile-to-blackwell=target=sm_100a | FileCheck %s

// CHECK: llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK-LABEL: llvm.func @scale(
// CHECK-SAME: nvvm.grid_constant
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK-SAME: tile.roles = ["0 load", "1 multiply", "2 load for drain", "3 tensor memory", "4-7 drain", "8-9 sum"]

// Barriers of operand slots: filled by one arrival, emptied by a commit.
// CHECK: nvvm.mbarrier.init %{{.*}}, %[[ONE:.*]] :
// CHECK: nvvm.fence.mbarrier.init

// Two sets of 128 columns. The address becomes visible by a barrier between
// fences.
// CHECK: %[[COLUMNS:.*]] = arith.constant 256 : i32
// CHECK: nvvm.tcgen05.alloc %{{.*}}, %[[COLUMNS]]
// CHECK: nvvm.tcgen05.relinquish_alloc_permit
// CHECK: nvvm.tcgen05.fence <before>
// CHECK: nvvm.barrier
// CHECK: nvvm.tcgen05.fence <after>

// The load role: operands of products only.
// CHECK: mbarrier.try_wait
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT: nvvm.cp.async.bulk.tensor.shared.cluster.global

// The multiply role: four instructions a step, the first of a unit without what
// the accumulators hold; B is the transpose of a K-major matrix.
// CHECK: mbarrier.try_wait
// CHECK: nvvm.tcgen05.fence <after>
// CHECK: scf.for
// CHECK: mbarrier.try_wait
// CHECK: nvvm.elect.sync
// f16: D f32 (bit 4), N = 128 (16 << 17), M = 128 (8 << 24)
// CHECK: %[[DESCRIPTOR:.*]] = arith.constant 136314896 : i32
// CHECK: nvvm.tcgen05.mma %{{.*}}, %{{.*}}, %{{.*}}, %[[DESCRIPTOR]], %{{.*}} {ctaGroup = #nvvm.cta_group<cta_1>{{.*}}kind = #nvvm.tcgen05_mma_kind<f16>
// CHECK-COUNT-3: nvvm.tcgen05.mma
// CHECK-NOT: nvvm.tcgen05.mma
// CHECK: nvvm.tcgen05.commit
// CHECK: nvvm.elect.sync
// CHECK: nvvm.tcgen05.commit

// The load role of the drain.
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT: nvvm.cp.async.bulk.tensor.shared.cluster.global

// The drain: two loads of 32 columns, the set given back after the last.
// CHECK: mbarrier.try_wait
// CHECK: nvvm.tcgen05.fence <after>
// CHECK: nvvm.tcgen05.ld %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
// CHECK: llvm.inline_asm has_side_effects {{.*}}"tcgen05.wait::ld.sync.aligned;"
// CHECK: nvvm.tcgen05.ld %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
// CHECK: llvm.inline_asm has_side_effects {{.*}}"tcgen05.wait::ld.sync.aligned;"
// CHECK: nvvm.tcgen05.fence <before>
// CHECK: mbarrier.arrive.shared::cta
// Sums of 16 columns over the lanes: 8, 4, 2, 1 and 1 shuffles.
// CHECK-COUNT-16: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier id =
// CHECK: st.release.gpu
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK: nvvm.cp.async.bulk.wait_group

// The sum task finishes what the drain has summed; at the end one warp gives
// tensor memory back.
// CHECK: ld.acquire.gpu
// CHECK: nvvm.tcgen05.fence <before>
// CHECK: nvvm.barrier
// CHECK: nvvm.tcgen05.dealloc %{{.*}}, %{{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: llvm.return

tile.kernel @scale(
    %x: !tile.tensor<?x320xf16> #tile.bind<input 0>,
    %w: !tile.tensor<256x320xf16> #tile.bind<input 1>,
    %g: !tile.tensor<?x256xf16> #tile.bind<input 2>,
    %y: !tile.tensor<?x256xf16> #tile.bind<output 0>,
    %sums: !tile.tensor<1x256xf16> #tile.bind<output 1>,
    %partials: !tile.workspace #tile.bind<workspace 0, <[T], affine_map<()[s0] -> ((s0 ceildiv 128) * 2048)>>>,
    %flags: !tile.workspace #tile.bind<workspace 0, <[T], affine_map<()[s0] -> ((s0 ceildiv 128) * 64)>>>,
    %tag: i64 #tile.bind<tag 0>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c127 = arith.constant 127 : index
  %c128 = arith.constant 128 : index
  %n = arith.constant 256 : index
  %k = arith.constant 320 : index
  %up = arith.addi %t, %c127 : index
  %tiles = arith.divui %up, %c128 : index
  %lines = arith.muli %tiles, %c2 : index
  %space = tile.space %t, %n, %k tile [128, 128, 64] splits %c1 cost 3
  %pool = tile.pool 4 x 32768
  %drains = tile.pool 4 x 16384
  %ab = tile.ring %pool : !tile.ring<<128x64xf16>, <128x64xf16>>
  %io = tile.ring %drains : !tile.ring<<128x64xf16>>
  %acc = tile.accumulators 2 : !tile.accumulator<128x128>
  tile.task load {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.for %i = %c0 to %steps step %c1 {
          %offset = arith.muli %i, %c64 : index
          %at = arith.addi %k0, %offset : index
          %slot = tile.acquire %ab : !tile.ring<<128x64xf16>, <128x64xf16>>
          tile.copy %x[%m0, %at] to %slot[0] : !tile.tensor<?x320xf16>
          tile.copy %w[%n0, %at] to %slot[1] : !tile.tensor<256x320xf16>
          tile.commit %slot
        }
        scf.if %last {
          scf.for %i = %c0 to %c2 step %c1 {
            %offset = arith.muli %i, %c64 : index
            %at = arith.addi %n0, %offset : index
            %slot = tile.acquire %io : !tile.ring<<128x64xf16>>
            tile.copy %g[%m0, %at] to %slot[0] : !tile.tensor<?x256xf16>
            tile.commit %slot
          }
        }
      }
  }
  tile.task multiply {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        tile.multiply %ab steps %steps into %acc a k_major b k_major
            : !tile.ring<<128x64xf16>, <128x64xf16>>, !tile.accumulator<128x128>
      }
  }
  tile.task drain {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
        scf.if %last {
          tile.drain(%acc) at [%m0, %n0] rows %t via %io stores(%y)
              partials(%partials) flags(%flags) tag %tag
              attributes {elementKinds = [#tile<element_kind slot>], operandBuffers = array<i64: 0>,
                          yieldKinds = [#tile<yield_kind store>, #tile<yield_kind sum_m>],
                          storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
          ^bb0(%a: f32, %s: f16):
            %v = arith.truncf %a : f32 to f16
            %p = arith.mulf %v, %s : f16
            %e = arith.extf %p : f16 to f32
            tile.yield %p, %e : f16, f32
          } : (!tile.accumulator<128x128>, index, index, index, !tile.ring<<128x64xf16>>,
               !tile.tensor<?x256xf16>, !tile.workspace, !tile.workspace, i64) -> ()
        }
      }
  }
  tile.task sum {
    tile.for_each_unit %space
      unit(%m0, %n0, %k0, %steps, %split, %last) {
      }
    tile.finish_sum %partials flags %flags tag %tag lines %lines into %sums
        : !tile.tensor<1x256xf16>
  }
}
