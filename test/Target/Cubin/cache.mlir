// ptxas results are kept by the hash of what they depend on.
// RUN: rm -rf %t && mkdir %t
// RUN: kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-fake.sh --cache-dir=%t/cache -o %t/first.cubin
// RUN: ls %t/cache | count 1

// The second time ptxas, which would fail, does not run.
// RUN: env FAKE_STATUS=1 kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-fake.sh --cache-dir=%t/cache -o %t/second.cubin
// RUN: diff %t/first.cubin %t/second.cubin

// Another target is another entry.
// RUN: env FAKE_STATUS=1 not kernel-opt %s --emit=cubin --target=sm_100f --ptxas=%S/Inputs/ptxas-fake.sh --cache-dir=%t/cache -o %t/other.cubin

// A damaged entry is not used, and is replaced: one changed byte, half a file.
// RUN: %python -c "import glob; p = glob.glob(r'%t/cache/*')[0]; b = bytearray(open(p, 'rb').read()); b[20] ^= 1; open(p, 'wb').write(b)"
// RUN: env FAKE_STATUS=1 not kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-fake.sh --cache-dir=%t/cache -o %t/third.cubin
// RUN: %python -c "import glob; p = glob.glob(r'%t/cache/*')[0]; b = open(p, 'rb').read(); open(p, 'wb').write(b[:len(b) // 2])"
// RUN: env FAKE_STATUS=1 not kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-fake.sh --cache-dir=%t/cache -o %t/third.cubin
// RUN: kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-fake.sh --cache-dir=%t/cache -o %t/third.cubin
// RUN: env FAKE_STATUS=1 kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-fake.sh --cache-dir=%t/cache -o %t/fourth.cubin
// RUN: ls %t/cache | count 1

// A cache that cannot be written costs time only.
// RUN: kernel-opt %s --emit=cubin --target=sm_90a --ptxas=%S/Inputs/ptxas-fake.sh --cache-dir=/proc/none -o %t/fifth.cubin

llvm.func @kernel() attributes {nvvm.kernel} {
  llvm.return
}
