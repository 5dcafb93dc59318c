//===- AsyncKernels.h - Pieces of kernels with asynchronous work *- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// p0 and p1 are tensor maps of 1024 bytes of input and of output, p2 holds the
// two addresses.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_TEST_EMULATOR_ASYNCKERNELS_H
#define BACKFUSE_TEST_EMULATOR_ASYNCKERNELS_H

#include "TestKernel.h"

#include <cstring>

namespace backfuse::emulator::test {

inline const std::string moduleText =
    ".shared .align 1024 .b8 buffer[4096];\n.shared .align 1024 .b8 "
    "second[4096];\n.shared .align 8 .b64 bar;\n.shared .align 8 .b64 other;";

/// The arguments of a kernel that reads 1024 bytes at `from` and writes 1024 at
/// `to`: the maps have rows of 32 words and boxes of all 8 rows.
inline std::vector<std::vector<uint8_t>> asyncArguments(uint64_t from,
                                                        uint64_t to) {
  TensorMapParams map;
  map.type = MapType::UInt32;
  map.rank = 2;
  map.address = from;
  map.sizes[0] = 32, map.sizes[1] = 8;
  map.strides[0] = 128;
  map.box[0] = 32, map.box[1] = 8;
  TensorMapParams outMap = map;
  outMap.address = to;
  std::vector<uint8_t> addresses(128);
  std::memcpy(addresses.data(), &from, 8);
  std::memcpy(addresses.data() + 8, &to, 8);
  return {TestKernel::map(map), TestKernel::map(outMap), addresses};
}

inline std::string without(std::string text, const std::string &what) {
  size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.erase(at, what.size());
}

inline const std::string prologue = R"(
  mov.b64 %rd1, p0; cvta.param.u64 %rd1, %rd1;
  mov.b64 %rd2, p1; cvta.param.u64 %rd2, %rd2;
  ld.param.v2.u64 {%rd3, %rd4}, [p2];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 0;
  mov.u32 %r3, buffer; mov.u32 %r4, second;
  shl.b32 %r5, %r1, 2;
  cvt.u64.u32 %rd5, %r5;
  add.u32 %r6, %r3, %r5;
  add.u64 %rd6, %rd4, %rd5;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared.b64 [bar], 1;
  @%p1 mbarrier.init.shared.b64 [other], 1;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
)";

/// The input to `buffer`, `buffer` to the output, and what goes with them.
inline const std::string expectTx =
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;";
inline const std::string load =
    "@%p1 "
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
    "bytes [%r3], [%rd1, {%r2, %r2}], [bar];";
inline const std::string store =
    "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r2, "
    "%r2}], [%r3]; @%p1 cp.async.bulk.commit_group;";
inline const std::string waitRead = "@%p1 cp.async.bulk.wait_group.read 0;";
inline const std::string waitProducts = "wgmma.wait_group.sync.aligned 0;";
inline const std::string proxyFence = "fence.proxy.async.shared::cta;";

/// buffer to `out`, 128 bytes at a time, by the first warp.
inline const std::string copyOut = R"(
  mov.u32 %r10, 0;
OUT:
  ld.shared.b32 %r11, [%r6];
  st.global.b32 [%rd6], %r11;
  add.u32 %r6, %r6, 128; add.u64 %rd6, %rd6, 128; add.u32 %r10, %r10, 1;
  setp.lt.u32 %p9, %r10, 8;
  @%p9 bra OUT;
)";

inline const std::string waitBar =
    "W0: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W0;";

inline const std::string fillBuffer = R"(
  mov.u32 %r12, %r6; mov.u32 %r10, 0;
FILL:
  shl.b32 %r13, %r10, 5; add.u32 %r13, %r13, %r1; add.u32 %r13, %r13, 1;
  st.shared.b32 [%r12], %r13;
  add.u32 %r12, %r12, 128; add.u32 %r10, %r10, 1;
  setp.lt.u32 %p8, %r10, 8;
  @%p8 bra FILL;
  fence.proxy.async.shared::cta;
  bar.sync 0;
)";

// Products: the accumulators before the wait hold old values, and operands must
// stay until then.
inline std::string productBody() {
  std::string d = "%d0", declare = ".reg .f32 %d<4>;\n";
  for (unsigned i = 1; i < 4; ++i)
    d += ", %d" + std::to_string(i);
  return declare + prologue + R"(
    mov.f32 %d0, 0f00000000; mov.f32 %d1, 0f00000000; mov.f32 %d2, 0f00000000; mov.f32 %d3, 0f00000000;
    // A: 64 x 16 ones of bf16 at buffer (2 KB), B: 8 x 16 twos at second.
    mov.b32 %r15, 0x3f803f80; mov.b32 %r16, 0x40004000;
    shl.b32 %r17, %r1, 4; add.u32 %r18, %r3, %r17;
    st.shared.v4.b32 [%r18], {%r15, %r15, %r15, %r15};
    setp.lt.u32 %p3, %r1, 16;
    add.u32 %r19, %r4, %r17;
    @%p3 st.shared.v4.b32 [%r19], {%r16, %r16, %r16, %r16};
    fence.proxy.async.shared::cta;
    bar.sync 0;
    // no swizzle: LBO 1024 or 128, SBO 128
    shr.u32 %r20, %r3, 4; shr.u32 %r21, %r4, 4;
    or.b32 %r20, %r20, 0x00400000; or.b32 %r21, %r21, 0x00080000;
    mov.b32 %r22, 8;
    mov.b64 %rd10, {%r20, %r22}; mov.b64 %rd11, {%r21, %r22};
    setp.eq.u32 %p4, %r1, %r1;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {)" +
         d + R"(}, %rd10, %rd11, %p4, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    )";
}

} // namespace backfuse::emulator::test

#endif // BACKFUSE_TEST_EMULATOR_ASYNCKERNELS_H
