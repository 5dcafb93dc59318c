// RUN: kernel-opt %s --convert-tile-to-hopper --canonicalize --cse | FileCheck %s
// RUN: kernel-opt %s --convert-tile-to-hopper --canonicalize --cse | FileCheck %s --check-prefix=PLAIN
// RUN: kernel-opt %s --convert-tile-to-hopper --canonicalize --cse | FileCheck %s --check-prefix=PADDED

// Two parts of a matrix of 192 columns, and its column sums.
// CHECK-LABEL: llvm.func @sums(
// CHECK-SAME: %[[X:[^:]*]]: !llvm.ptr<1>, %[[HI:[^:]*]]: !llvm.ptr<1>, %[[LO:[^:]*]]: !llvm.ptr<1>, %[[S:[^:]*]]: !llvm.ptr<1>, %[[P:[^:]*]]: !llvm.ptr<1>, %[[F:[^:]*]]: !llvm.ptr<1>, %[[M:[^:]*]]: i32, %[[TAG:[^:]*]]: i64)
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK-SAME: tile.maps = []
// CHECK-SAME: tile.roles = ["0-7 convert"]

// It lets the next launch begin at once, and touches nothing before the one before
// it is complete.
// CHECK: griddepcontrol.launch_dependents
// CHECK-NOT: llvm.load
// CHECK: griddepcontrol.wait
// CHECK-NOT: griddepcontrol

// An item is 32 rows, so that each makes one line of partials, of 128 columns: two
// strips; eight warps a CTA take items in turn.
// CHECK: %[[CHUNKS:.*]] = arith.divui %{{.*}}, %c32_i32
// CHECK: %[[ITEMS:.*]] = arith.muli %[[CHUNKS]], %c2_i32
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ITEMS]] step
// CHECK: %[[CHUNK:.*]] = arith.divui %{{.*}}, %c2_i32
// CHECK: %[[STRIP:.*]] = arith.muli %{{.*}}, %c128_i32
// Four columns a lane; lanes beyond the last column do nothing.
// CHECK: arith.muli %{{.*}}, %c4_i32
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %c192_i32
// CHECK: scf.if %[[INSIDE]] {

// Sixteen rows at once: as many loads of 16 bytes are in flight before the first is
// used. A row beyond the matrix's last is that one again, counts as 0 in the sums,
// which add the f32 values themselves, and is not stored.
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %c16_i32
// CHECK: %[[LAST:.*]] = arith.subi %[[M]], %c1_i32
// CHECK: %[[AT:.*]] = arith.minui %[[ROW]], %[[LAST]] : i32
// CHECK: arith.extui %[[AT]]
// CHECK: %[[ROW0:.*]] = llvm.getelementptr %[[X]][
// CHECK-NEXT: %[[L0:.*]] = llvm.load %[[ROW0]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-COUNT-15: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: %[[PRESENT:.*]] = arith.cmpi ult, %[[ROW]], %[[M]] : i32
// CHECK: %[[V0:.*]] = arith.select %[[PRESENT]], %[[L0]], %cst{{.*}} : vector<4xf32>
// CHECK: %[[E:.*]] = llvm.extractelement %[[V0]]
// CHECK-NEXT: arith.addf %{{.*}}, %[[E]] : f32
// The first copy is the rounded value, but never infinite, which would leave an
// infinite rest; what it leaves is the second's.
// CHECK: %[[TO:.*]] = llvm.getelementptr %[[HI]][
// CHECK-NEXT: llvm.inline_asm {{.*}}"min.NaN.xorsign.abs.f32 {{.*}} %[[E]], %{{.*}} : (f32, f32) -> f32
// CHECK-COUNT-3: min.NaN.xorsign.abs.f32
// CHECK: %[[FINITE:.*]] = llvm.insertelement
// CHECK-NEXT: %[[H0:.*]] = arith.truncf %[[FINITE]] : vector<4xf32> to vector<4xbf16>
// CHECK-NEXT: scf.if %[[PRESENT]] {
// CHECK-NEXT: llvm.store %[[H0]], %[[TO]] {alignment = 8 : i64} : vector<4xbf16>, !llvm.ptr<1>
// CHECK: %[[B0:.*]] = arith.extf %[[H0]] : vector<4xbf16> to vector<4xf32>
// CHECK-NEXT: %[[R0:.*]] = arith.subf %[[V0]], %[[B0]] : vector<4xf32>
// CHECK: %[[TO2:.*]] = llvm.getelementptr %[[LO]][
// CHECK-NEXT: %[[L0:.*]] = arith.truncf %[[R0]] : vector<4xf32> to vector<4xbf16>
// CHECK-NEXT: scf.if %[[PRESENT]] {
// CHECK-NEXT: llvm.store %[[L0]], %[[TO2]] {alignment = 8 : i64} : vector<4xbf16>, !llvm.ptr<1>

// The four sums go past L1, where other multiprocessors see them; once all lanes
// have written, lane 0 publishes the tag for each 64 columns that there are. The
// releasing store orders what the warp has written before it; a fence would only
// make it wait a second time.
// CHECK: %[[LINE:.*]] = llvm.getelementptr %[[P]][
// CHECK-COUNT-4: st.global.cg.f32
// CHECK: nvvm.bar.warp.sync
// CHECK-NOT: fence.acq_rel
// CHECK: %[[FLAG:.*]] = llvm.getelementptr %[[F]][
// CHECK-NEXT: st.release.gpu.global.b64 {{.*}} %[[FLAG]], %[[TAG]]
// CHECK: %[[SECOND:.*]] = arith.addi %[[STRIP]], %c64_i32
// CHECK-NEXT: arith.cmpi ult, %[[SECOND]], %c192_i32
// CHECK-NOT: fence.acq_rel
// CHECK: st.release.gpu.global.b64 {{.*}}, %[[TAG]]

// The finished sum waits for the tag, reads past L1, stores once and clears the flag.
// CHECK: ld.acquire.gpu.global.b64 {{.*}}, %[[TAG]]
// CHECK: ld.global.cg.f32
// CHECK: llvm.getelementptr %[[S]][
// CHECK-NEXT: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK: st.relaxed.gpu.global.b64 {{.*}}, %c0_i64
// CHECK: llvm.return
tile.kernel @sums(
    %x: !tile.tensor<?x192xf32> #tile.bind<input 0>,
    %hi: !tile.tensor<?x192xbf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 * 384)>>>,
    %lo: !tile.tensor<?x192xbf16> #tile.bind<temporary 1, <[T], affine_map<()[s0] -> (s0 * 384)>>>,
    %s: !tile.tensor<1x192xf32> #tile.bind<output 0>,
    %p: !tile.workspace #tile.bind<workspace 0, <[T], affine_map<()[s0] -> (s0 ceildiv 32 * 768)>>>,
    %f: !tile.workspace #tile.bind<workspace 0, <[T], affine_map<()[s0] -> (s0 ceildiv 32 * 24)>>>,
    %m: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>,
    %tag: i64 #tile.bind<tag 0>) attributes {tile.has_dependents, tile.dependent} {
  tile.convert %x rows %m to %hi, %lo partials %p flags %f tag %tag : !tile.tensor<?x192xf32> to !tile.tensor<?x192xbf16>, !tile.tensor<?x192xbf16>
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %0 = arith.addi %m, %c31 : index
  %lines = arith.divui %0, %c32 : index
  tile.finish_sum %p flags %f tag %tag lines %lines into %s : !tile.tensor<1x192xf32>
}

// Padded to 64 rows: the items are of all 64, and what is stored needs no condition.
// One copy leaves registers for 32 rows at once. Lines of partials are those of rows
// that there are; whoever reads them waits for the end of the kernel.
// PADDED-LABEL: llvm.func @padded(
// PADDED-SAME: %[[X:[^:]*]]: !llvm.ptr<1>, %[[H:[^:]*]]: !llvm.ptr<1>, %[[P:[^:]*]]: !llvm.ptr<1>, %[[M:[^:]*]]: i32)
// PADDED: %[[UP:.*]] = arith.addi %[[M]], %c63_i32
// PADDED: %[[TILES:.*]] = arith.divui %[[UP]], %c64_i32
// PADDED: %[[ROWS:.*]] = arith.muli %[[TILES]], %c64_i32
// PADDED: arith.addi %[[ROWS]], %c31_i32
// PADDED: scf.for %{{.*}} = %[[FIRST:.*]] to %{{.*}} step %c32_i32
// PADDED-COUNT-32: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// PADDED-COUNT-32: arith.select %{{.*}} : vector<4xf32>
// PADDED-NOT: scf.if
// PADDED-COUNT-32: llvm.store %{{.*}} {alignment = 8 : i64} : vector<4xf16>, !llvm.ptr<1>
// PADDED: arith.cmpi ult, %{{.*}}, %[[M]] : i32
// PADDED: scf.if
// PADDED-COUNT-4: st.global.cg.f32
// PADDED-NOT: st.release
// PADDED: llvm.return
tile.kernel @padded(
    %x: !tile.tensor<?x72xf32> #tile.bind<input 0>,
    %h: !tile.tensor<?x72xf16> #tile.bind<temporary 0, <[T], affine_map<()[s0] -> (s0 ceildiv 64 * 9216)>>>,
    %p: !tile.workspace #tile.bind<temporary 1, <[T], affine_map<()[s0] -> (s0 ceildiv 32 * 288)>>>,
    %m: index #tile.bind<extent 0, <[T], affine_map<()[s0] -> (s0)>>>) {
  tile.convert %x rows %m pad 64 to %h partials %p : !tile.tensor<?x72xf32> to !tile.tensor<?x72xf16>
}

// One copy, no sums: items of 8 rows, no flags, nothing left of the value to store.
// A kernel that stands alone in its plan waits for none and lets none begin.
// PLAIN-LABEL: llvm.func @plain(
// PLAIN-SAME: %[[X:[^:]*]]: !llvm.ptr<1>, %[[H:[^:]*]]: !llvm.ptr<1>)
// PLAIN-NOT: griddepcontrol
// PLAIN-NOT: st.release
// 40 rows are 5 items of one strip.
// PLAIN: scf.for %{{.*}} = %{{.*}} to %c5_i32 step
// PLAIN: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// PLAIN: arith.truncf %{{.*}} : vector<4xf32> to vector<4xf16>
// PLAIN-NEXT: scf.if
// PLAIN-NEXT: llvm.store {{.*}} {alignment = 8 : i64} : vector<4xf16>, !llvm.ptr<1>
// PLAIN-NOT: arith.subf
// PLAIN: llvm.return
tile.kernel @plain(
    %x: !tile.tensor<40x72xf32> #tile.bind<input 0>,
    %h: !tile.tensor<40x72xf16> #tile.bind<temporary 0, <[], affine_map<() -> (5760)>>>) {
  %m = arith.constant 40 : index
  tile.convert %x rows %m to %h : !tile.tensor<40x72xf32> to !tile.tensor<40x72xf16>
}
