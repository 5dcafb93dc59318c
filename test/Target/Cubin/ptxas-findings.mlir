// What ptxas finds about performance is an error, unless it is allowed.

// DEFINE: %{compile} = kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-fake.sh --cache-dir= -o %t.cubin
// RUN: rm -f %t.cubin
// RUN: env FAKE_SAYS="ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized" not %{compile} 2>&1 | FileCheck %s --check-prefix=SERIAL
// SERIAL: error: kernel 'kernel' loses performance on sm_90a: ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
// RUN: env FAKE_SAYS="ptxas info    : (C7519) some other wgmma trouble" not %{compile} 2>&1 | FileCheck %s --check-prefix=LAST
// LAST: error: kernel 'kernel' loses performance on sm_90a: {{.*}}(C7519)
// RUN: env FAKE_SAYS="ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored" not %{compile} 2>&1 | FileCheck %s --check-prefix=IGNORED
// IGNORED: error: kernel 'kernel' loses performance on sm_90a: {{.*}}(C7508)
// RUN: env FAKE_SAYS="    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\nptxas info    : Used 255 registers" not %{compile} 2>&1 | FileCheck %s --check-prefix=SPILL
// SPILL: error: kernel 'kernel' spills registers on sm_90a: 28 bytes of spill stores and loads with 255 registers
// RUN: not ls %t.cubin

// Other numbers are not meant.
// RUN: env FAKE_SAYS="ptxas info    : (C7509) something\nptxas info    : (C75100) else" %{compile}
// RUN: env FAKE_SAYS="ptxas info    : (C7510) serialized" %{compile} --allow-performance-loss
// RUN: env FAKE_SAYS="    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads" %{compile} --allow-spills
llvm.func @kernel() attributes {nvvm.kernel} {
  llvm.return
}
