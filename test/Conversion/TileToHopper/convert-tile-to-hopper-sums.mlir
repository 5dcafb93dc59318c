// RUN: kernel-opt %s --convert-tile-to-hopper | FileCheck %s

// A weight gradient with split K, a row and a scalar operand, a column sum of
// the drain, and a sum of B's columns: 192, three panels for two warps.
// The tensors that are read by address are arguments beside the maps.
// CHECK-LABEL: llvm.func @sums(
// CHECK-SAME: tile.arguments = array<i64: 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17>
// CHECK-SAME: tile.maps = [array<i64: 0, 64, 64, 2>, array<i64: 1, 64, 64, 3>, array<i64: 4, 64, 64, 1>]
// CHECK-SAME: tile.roles = ["0 load", "2-3 sum", "4-11 multiply, drain"]

// The sum warps empty slots, too: ten arrivals.
// CHECK: %[[TEN:.*]] = arith.constant 10 : i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %[[TEN]]

// The sum task adds up panels 0 and 1, then 2; the second warp has no fourth one:
// it reads the last again ...
// CHECK: nvvm.setmaxregister decrease 40
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK: arith.constant 2 : i32
// CHECK: arith.minui
// ... and writes and publishes nothing.
// CHECK: nvvm.shfl.sync bfly
// CHECK: arith.cmpi ult, %{{[0-9]+}}, %c3_i32
// Finishing a sum waits for the flags of its lines and clears them; lines of an
// earlier launch have none.
// CHECK: ld.acquire.gpu
// CHECK: ld.global.cg.f32
// CHECK: st.relaxed.gpu
// CHECK: ld.acquire.gpu
// CHECK: ld.global.cg.f32
// CHECK: st.relaxed.gpu
// CHECK-NOT: ld.acquire.gpu
// CHECK: ld.global.cg.f32
// CHECK-NOT: st.relaxed.gpu

// A split that is not the last one stores its accumulator, meets its warpgroup
// and publishes the tag; the last waits for the others' tags, adds theirs in
// order, and clears the flags.
// CHECK: nvvm.setmaxregister increase 232
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: scf.if
// CHECK: ld.acquire.gpu
// CHECK: nvvm.barrier id
// CHECK: ld.{{.*}}global
// CHECK: arith.addf
// CHECK: } else {
// CHECK: st.{{.*}}global{{.*}}v4
// CHECK: nvvm.barrier id
// CHECK: st.release.gpu

// Rows beyond the extent add nothing to the column sum; the sums of a warp's rows
// are shuffled together.
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: nvvm.shfl.sync bfly
tile.kernel @sums(
    %dy: !tile.tensor<?x640xbf16> #tile.bind<input 0>, %x: !tile.tensor<?x576xbf16> #tile.bind<input 1>,
    %v: !tile.tensor<1x576xf32> #tile.bind<input 2>, %alpha: f32 #tile.bind<param 0>,
    %gw: !tile.tensor<640x576xbf16> #tile.bind<output 0>, %gb: !tile.tensor<1x576xbf16> #tile.bind<output 1>,
    %gs: !tile.tensor<1x576xf32> #tile.bind<output 2>,
    %t: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>,
    %splits: index #tile.bind<extent 0, <["splits:0"], affine_map<()[s0] -> (s0)>>>,
    %p: !tile.workspace #tile.bind<workspace 0, <["splits:0"], affine_map<()[s0] -> (s0 * 4096)>>>,
    %f: !tile.workspace #tile.bind<workspace 0, <["splits:0"], affine_map<()[s0] -> (s0 * 16)>>>,
    %sp: !tile.workspace #tile.bind<workspace 0, <["splits:0"], affine_map<()[s0] -> (s0 * 23040)>>>,
    %sf: !tile.workspace #tile.bind<workspace 0, <["splits:0"], affine_map<()[s0] -> (s0 * 720)>>>,
    %ep: !tile.workspace #tile.bind<temporary 0, <[T], affine_map<()[s0] -> ((s0 ceildiv 32) * 2304)>>>,
    %ge: !tile.tensor<1x576xf32> #tile.bind<output 3>,
    %dp: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (23040)>>>,
    %df: !tile.workspace #tile.bind<workspace 0, <[], affine_map<() -> (720)>>>,
    %tag: i64 #tile.bind<tag 0>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c10 = arith.constant 10 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c576 = arith.constant 576 : index
  %c640 = arith.constant 640 : index
  %s = tile.space %c640, %c576, %t tile [128, 192, 64] splits %splits cost 14
  %pool = tile.pool 5 x 40960
  %ab = tile.ring %pool : !tile.ring<<64x128xbf16>, <64x192xbf16>>
  %out = tile.ring %pool : !tile.ring<<128x64xbf16>>
  %acc = tile.accumulators 1 : !tile.accumulator<128x192>
  %c3 = arith.constant 3 : index
  tile.task load {
    tile.for_each_unit %s unit(%m0, %n0, %k0, %steps, %split, %last) {
      scf.for %i = %c0 to %steps step %c1 {
        %0 = arith.muli %i, %c64 : index
        %at = arith.addi %k0, %0 : index
        %slot = tile.acquire %ab : !tile.ring<<64x128xbf16>, <64x192xbf16>>
        tile.copy %dy[%at, %m0] to %slot[0] : !tile.tensor<?x640xbf16>
        tile.copy %x[%at, %n0] to %slot[1] : !tile.tensor<?x576xbf16>
        tile.commit %slot
      }
      scf.if %last {
        scf.for %i = %c0 to %c3 step %c1 {
          %slot = tile.acquire %out : !tile.ring<<128x64xbf16>>
          tile.commit %slot
        }
      }
    }
  }
  tile.task multiply {
    tile.for_each_unit %s unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.multiply %ab steps %steps into %acc a mn_major b mn_major
          : !tile.ring<<64x128xbf16>, <64x192xbf16>>, !tile.accumulator<128x192>
    }
  }
  tile.task drain {
    tile.for_each_unit %s unit(%m0, %n0, %k0, %steps, %split, %last) {
      tile.combine_splits %acc split %split of %splits partials %p flags %f tag %tag : !tile.accumulator<128x192>
      scf.if %last {
        tile.drain(%acc) at [%m0, %n0] rows %c640 via %out vectors(%v) scalars(%alpha) stores(%gw)
            partials(%dp) flags(%df) tag %tag
            attributes {elementKinds = [#tile<element_kind row>, #tile<element_kind scalar>],
                        yieldKinds = [#tile<yield_kind store>, #tile<yield_kind sum_m>],
                        operandBuffers = array<i64>, storeBuffers = array<i64: 0>, entryRows = 128, slotsPerEntry = 1} {
        ^bb0(%a: f32, %r: f32, %c: f32):
          %0 = arith.mulf %a, %r : f32
          %1 = arith.addf %0, %c : f32
          %2 = arith.truncf %1 : f32 to bf16
          tile.yield %2, %1 : bf16, f32
        } : (!tile.accumulator<128x192>, index, index, index, !tile.ring<<128x64xbf16>>, !tile.tensor<1x576xf32>,
             f32, !tile.tensor<640x576xbf16>, !tile.workspace, !tile.workspace, i64) -> ()
      }
    }
  }
  tile.task sum {
    tile.for_each_unit %s unit(%m0, %n0, %k0, %steps, %split, %last) {
      %who = arith.divui %m0, %c128 : index
      %0 = arith.muli %split, %c5 : index
      %line = arith.addi %0, %who : index
      tile.sum_operand %ab[1] steps %steps contributor %who of %c5 line %line at %n0 of %c576
          partials %sp flags %sf tag %tag : !tile.ring<<64x128xbf16>, <64x192xbf16>>
      scf.if %last {
        tile.skip %out entries %c3 : !tile.ring<<128x64xbf16>>
      }
    }
    %lines = arith.muli %splits, %c5 : index
    tile.finish_sum %sp flags %sf tag %tag lines %lines into %gb : !tile.tensor<1x576xbf16>
    tile.finish_sum %dp flags %df tag %tag lines %c10 into %gs : !tile.tensor<1x576xf32>
    tile.finish_sum %ep lines %lines into %ge : !tile.tensor<1x576xf32>
  }
}
