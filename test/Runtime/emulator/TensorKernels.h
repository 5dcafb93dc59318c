//===- TensorKernels.h - Pieces of kernels with tcgen05 ---------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_TEST_EMULATOR_TENSORKERNELS_H
#define BACKFUSE_TEST_EMULATOR_TENSORKERNELS_H

#include "TestKernel.h"

#include <cstring>

namespace backfuse::emulator::test {

/// A kernel for sm_100a; see kernelText.
inline std::string blackwellText(const std::string &body, unsigned numParams,
                                 const std::string &moduleText) {
  std::string text = kernelText(body, numParams, "", moduleText);
  size_t at = text.find("sm_90a");
  return text.replace(at, 6, "sm_100a");
}

inline std::string replacedAll(std::string text, const std::string &from,
                               const std::string &to) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size(), ++count)
    text.replace(at, from.size(), to);
  EXPECT_NE(count, 0u) << from;
  return text;
}

/// The n-th (from 0) place of `from` only.
inline std::string replacedAt(std::string text, unsigned n,
                              const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  for (; n && at != std::string::npos; --n)
    at = text.find(from, at + 1);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

inline const std::string tensorModule =
    ".shared .align 8 .b64 full;\n.shared .align 8 .b64 other;\n"
    ".shared .align 16 .b32 where;\n"
    ".extern .shared .align 1024 .b8 smem[];";
/// Where `smem` begins then.
constexpr uint32_t smemAt = 2048;

/// Four warps. Registers: %r1 thread, %r2 warp, %r3 first address of tensor
/// memory, %r4 the same with the warp's lanes, %p1 thread 0, %p2 warp 0.
/// p0: image of shared memory, its bytes in p1 (a multiple of 2048), which
/// every thread copies 16 bytes at a time.
inline const std::string tensorStart = R"(
  mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5;
  setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0;
  @%p1 mbarrier.init.shared.b64 [full], 1;
  @%p1 mbarrier.init.shared.b64 [other], 1;
  fence.mbarrier_init.release.cluster;
  @!%p2 bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], COLUMNS;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
  ld.param.u64 %rd1, [p0]; ld.param.u32 %r5, [p1];
  mul.wide.u32 %rd2, %r1, 16; add.u64 %rd1, %rd1, %rd2;
  mov.u32 %r6, smem; shl.b32 %r7, %r1, 4; add.u32 %r6, %r6, %r7;
  mov.u32 %r8, 0;
FILL:
  setp.ge.u32 %p3, %r8, %r5;
  @%p3 bra FILLED;
  ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1];
  st.shared.v4.b32 [%r6], {%r10, %r11, %r12, %r13};
  add.u64 %rd1, %rd1, 2048; add.u32 %r6, %r6, 2048; add.u32 %r8, %r8, 2048;
  bra FILL;
FILLED:
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r3, [where];
  shl.b32 %r4, %r2, 21; add.u32 %r4, %r4, %r3;
)";

/// Frees what tensorStart allocated, after everybody.
inline const std::string tensorEnd = R"(
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  @!%p2 bra FREED;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, COLUMNS;
FREED:
  ret;
)";

inline std::string waitFor(const std::string &barrier, unsigned parity,
                           const std::string &label) {
  return label + ": mbarrier.try_wait.parity.shared::cta.b64 %p9, [" + barrier +
         "], " + std::to_string(parity) + "; @!%p9 bra " + label + ";\n";
}

/// "{%t0, %t1, ...}"
inline std::string registerList(const std::string &prefix, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", " : "") + prefix + std::to_string(i);
  return text + "}";
}

} // namespace backfuse::emulator::test

#endif // BACKFUSE_TEST_EMULATOR_TENSORKERNELS_H
