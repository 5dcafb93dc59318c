// A bundle that cannot be written: named, a non-zero exit, and no partial file.
// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir -p %t
// RUN: not kernel-opt %S/Inputs/gated.mlir --emit=bundle --target=sm_90a --tuning=%S/Inputs/one-range.json --ptxas=%ptxas -o %t/none/a.bfb 2>&1 | FileCheck %s --check-prefix=NODIR
// NODIR: kernel-opt: error: cannot write '{{.*}}/none/a.bfb': No such file or directory
// RUN: not kernel-opt %S/Inputs/gated.mlir --emit=bundle --target=sm_90a --tuning=%S/Inputs/one-range.json --ptxas=%ptxas -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: kernel-opt: error: cannot write '/dev/full': No space left on device
// RUN: ls -A %t | count 0

// And one that can.
// RUN: kernel-opt %S/Inputs/gated.mlir --emit=bundle --target=sm_90a --tuning=%S/Inputs/one-range.json --ptxas=%ptxas -o %t/a.bfb
// RUN: head -c 8 %t/a.bfb | FileCheck %s --check-prefix=BUNDLE
// BUNDLE: BACKFUSE
