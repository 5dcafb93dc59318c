// A signal that ends the compiler stops its child processes with their ptxas
// first, and leaves no file.
// RUN: rm -rf %t && mkdir -p %t/tmp
// RUN: env TMPDIR=%t/tmp FAKE_PIDS=%t/pids bash %S/Inputs/interrupt.sh kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-slow.sh --cache-dir= -o %t/out.cubin 2>&1 | FileCheck %s
// CHECK: status 143
// RUN: ls -A %t/tmp | count 0
// RUN: not ls %t/out.cubin
// RUN: cat %t/pids | count 1
// RUN: not bash -c 'read pid < %t/pids; test -s /proc/$pid/cmdline'

llvm.func @kernel() attributes {nvvm.kernel} {
  llvm.return
}
