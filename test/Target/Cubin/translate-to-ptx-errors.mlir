// RUN: kernel-opt %s --emit=ptx --target=sm_90a --split-input-file --verify-diagnostics

// A call of the device library is reported where it is.
llvm.func @__nv_expf(f32) -> f32
llvm.func @calls(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %v = llvm.load %x : !llvm.ptr<1> -> f32
  // expected-error @below {{the kernel calls '__nv_expf', which is not defined (there is no device library to link)}}
  %e = llvm.call @__nv_expf(%v) : (f32) -> f32
  llvm.store %e, %x : f32, !llvm.ptr<1>
  llvm.return
}

// -----

// A module is one kernel.
// expected-note @below {{the first kernel is here}}
llvm.func @first() attributes {nvvm.kernel} {
  llvm.return
}
// expected-error @below {{expects one kernel per module, but this is a second}}
llvm.func @second() attributes {nvvm.kernel} {
  llvm.return
}

// -----

// expected-error @below {{holds neither a graph ('mlp.graph') nor a kernel ('llvm.func' with 'nvvm.kernel')}}
module {
  llvm.func @device() {
    llvm.return
  }
}

// -----

module {
  // expected-error @below {{expects a kernel: an 'llvm.func' with the attribute 'nvvm.kernel' at the module's top level}}
  module {
    llvm.func @device() {
      llvm.return
    }
  }
}
