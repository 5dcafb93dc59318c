// What MLIR, LLVM and ptxas would take, but cannot be meant.
// RUN: kernel-opt %s --emit=ptx --target=sm_100f --split-input-file --verify-diagnostics

// (K1) A tensor map by value must stay where it is.
// expected-error @below {{passes argument 1 by value without 'nvvm.grid_constant', so that it would be copied to local memory}}
llvm.func @map(%x: !llvm.ptr<1>, %map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64}) attributes {nvvm.kernel} {
  nvvm.prefetch tensormap, %map : !llvm.ptr
  llvm.return
}

// -----

// (K2)
// expected-note @below {{'nvvm.maxnreg' is missing here}}
llvm.func @registers() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 384, 1, 1>} {
  // expected-error @below {{changes the register count of a kernel that does not give its own, so that ptxas would ignore it}}
  nvvm.setmaxregister increase 232
  llvm.return
}

// -----

// (K3)
llvm.mlir.global internal @address() {addr_space = 3 : i32, alignment = 4 : i64} : i32
llvm.func @columns() attributes {nvvm.kernel} {
  %address = llvm.mlir.addressof @address : !llvm.ptr<3>
  %columns = llvm.mlir.constant(33 : i32) : i32
  // expected-error @below {{allocates 33 columns of tensor memory, but expects a power of two from 32 to 512 on sm_100f}}
  nvvm.tcgen05.alloc %address, %columns : !llvm.ptr<3>, i32
  llvm.return
}

// -----

// What is right is taken.
llvm.mlir.global internal @address() {addr_space = 3 : i32, alignment = 4 : i64} : i32
llvm.func @good(%map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant})
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 384, 1, 1>, nvvm.maxnreg = 168} {
  nvvm.prefetch tensormap, %map : !llvm.ptr
  nvvm.setmaxregister increase 232
  %address = llvm.mlir.addressof @address : !llvm.ptr<3>
  %columns = llvm.mlir.constant(512 : i32) : i32
  nvvm.tcgen05.alloc %address, %columns : !llvm.ptr<3>, i32
  llvm.return
}
