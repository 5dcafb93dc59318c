// An output file is whole or is not there.
// RUN: rm -rf %t && mkdir %t && cd %t

// A directory that is not there, one that takes no files, a full device, and a
// full disk in the middle of a regular file (a limit on its size).
// RUN: not kernel-opt %s --emit=ptx --target=sm_90a -o %t/none/out.ptx 2>&1 | FileCheck %s --check-prefix=NODIR
// NODIR: kernel-opt: error: cannot write '{{.*}}/none/out.ptx': No such file or directory
// RUN: not kernel-opt %s --emit=ptx --target=sm_90a -o /proc/out.ptx 2>&1 | FileCheck %s --check-prefix=PROC
// PROC: kernel-opt: error: cannot write '/proc/out.ptx':
// RUN: not kernel-opt %s --emit=ptx --target=sm_90a -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: kernel-opt: error: cannot write '/dev/full': No space left on device
// RUN: not bash -c 'ulimit -f 0; exec "$@"' bash kernel-opt %s --emit=ptx --target=sm_90a -o %t/out.ptx 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: kernel-opt: error: cannot write '{{.*}}/out.ptx': File too large
// RUN: ls -A %t | count 0

// The optimiser's output is written in the same way.
// RUN: not kernel-opt %s -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not kernel-opt %s -o %t/none/out.mlir 2>&1 | FileCheck %s --check-prefix=OPT
// OPT: kernel-opt: error: cannot write '{{.*}}/none/out.mlir': No such file or directory

// An older file stays when the compiler fails, and is replaced when it does not.
// RUN: echo old > %t/out.ptx
// RUN: not bash -c 'ulimit -f 0; exec "$@"' bash kernel-opt %s --emit=ptx --target=sm_90a -o %t/out.ptx
// RUN: FileCheck %s --check-prefix=OLD --input-file=%t/out.ptx
// OLD: old
// RUN: kernel-opt %s --emit=ptx --target=sm_90a -o %t/out.ptx
// RUN: FileCheck %s --check-prefix=NEW --input-file=%t/out.ptx
// NEW: .entry kernel(
// RUN: ls -A %t | count 1

// A link stays one.
// RUN: ln -s out.ptx %t/link.ptx
// RUN: kernel-opt %s --emit=ptx --target=sm_100f -o %t/link.ptx
// RUN: FileCheck %s --check-prefix=LINK --input-file=%t/out.ptx
// LINK: .target sm_100f
llvm.func @kernel() attributes {nvvm.kernel} {
  llvm.return
}
