// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of sm_100a whose PTX the emulator runs: products of tcgen05 by one CTA and by two.
#include "async.h"

__device__ inline uint64_t descriptor(const void *p) {
  return (shared(p) >> 4) | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 46 | uint64_t(2) << 61;
}

/// C = A Bt of bf16, f32 accumulators in tensor memory: 128 rows of a CTA, 64 columns. With two CTAs of a cluster one issues
/// the products, each holds its rows of A and half of B.
template <int ctas> __device__ void gemm(const CUtensorMap &a, const CUtensorMap &b, float *c, int n, int k) {
  constexpr int stages = 2, tileA = 128 * 128, tileB = 64 / ctas * 128;
  constexpr uint32_t kind = 1 << 4 | 1 << 7 | 1 << 10 | (64 >> 3) << 17 | (128 * ctas >> 4) << 24;
  extern __shared__ __align__(1024) uint8_t smem[];
  __shared__ uint64_t full[stages], empty[stages], done;
  __shared__ uint32_t place;
  const int thread = threadIdx.x, warp = thread / 32;
  const uint32_t rank = ctas == 2 ? clusterRank() : 0;
  const int row = blockIdx.x * 128, column = blockIdx.y * 64;
  if (warp == 0) {
    if (ctas == 2) {
      asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(shared(&place)) : "memory");
      asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
    } else {
      asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(shared(&place)) : "memory");
      asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
  }
  if (thread == 32) {
    for (int s = 0; s < stages; ++s) {
      barInit(&full[s], 1);
      barInit(&empty[s], 1);
    }
    barInit(&done, 1);
    barInitFence();
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  if (ctas == 2)
    clusterSync();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const uint32_t accumulator = place;
  if (thread == 32) {
    for (int i = 0; i < k / 64; ++i) {
      int s = i % stages, phase = i / stages % 2;
      barWait(&empty[s], phase ^ 1);
      void *toA = smem + s * (tileA + tileB), *toB = smem + s * (tileA + tileB) + tileA;
      if (ctas == 1) {
        barExpect(&full[s], tileA + tileB);
        load2d(&a, toA, &full[s], i * 64, row);
        load2d(&b, toB, &full[s], i * 64, column);
      } else {
        // Both count in at the first CTA's barrier.
        if (rank == 0)
          barExpect(&full[s], 2 * (tileA + tileB));
        uint32_t bar = shared(&full[s]) & 0xfeffffff;
        asm volatile("{ .reg .b32 first; mapa.shared::cluster.u32 first, %0, 0; mov.b32 %0, first; }" : "+r"(bar));
        asm volatile("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
                     "%3}], [%4];" ::"r"(shared(toA)), "l"(&a), "r"(i * 64), "r"(row), "r"(bar) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
                     "%3}], [%4];" ::"r"(shared(toB)), "l"(&b), "r"(i * 64), "r"(column + int(rank) * 32), "r"(bar) : "memory");
      }
    }
  } else if (thread == 0 && rank == 0) {
    for (int i = 0; i < k / 64; ++i) {
      int s = i % stages, phase = i / stages % 2;
      barWait(&full[s], phase);
      asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
      uint64_t descA = descriptor(smem + s * (tileA + tileB)), descB = descriptor(smem + s * (tileA + tileB) + tileA);
      for (int step = 0; step < 4; ++step) {
        if (ctas == 2)
          asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p; }" ::"r"(
                           accumulator), "l"(descA + 2 * step), "l"(descB + 2 * step), "r"(kind), "r"(i + step) : "memory");
        else
          asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" ::"r"(
                           accumulator), "l"(descA + 2 * step), "l"(descB + 2 * step), "r"(kind), "r"(i + step) : "memory");
      }
      uint64_t *bars[2] = {&empty[s], &done};
      for (int j = 0; j < (i == k / 64 - 1 ? 2 : 1); ++j) {
        if (ctas == 2)
          asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
                           shared(bars[j])), "h"((short)3) : "memory");
        else
          asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared(bars[j]))
                       : "memory");
      }
    }
  }
  __syncwarp();
  barWait(&done, 0);
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  for (int part = 0; part < 64; part += 16) {
    uint32_t r[16];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, [%16];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]), "=r"(r[8]),
                   "=r"(r[9]), "=r"(r[10]), "=r"(r[11]), "=r"(r[12]), "=r"(r[13]), "=r"(r[14]), "=r"(r[15])
                 : "r"(accumulator + part + (warp * 32 << 16)));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (int j = 0; j < 16; ++j)
      c[size_t(row + thread) * n + column + part + j] = __uint_as_float(r[j]);
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  if (ctas == 2)
    clusterSync();
  if (warp == 0) {
    if (ctas == 2)
      asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 64;" ::"r"(accumulator));
    else
      asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(accumulator));
  }
}

extern "C" __global__ void __launch_bounds__(128, 1)
    gemm_tcgen05(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c, int n, int k) {
  gemm<1>(a, b, c, n, k);
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128, 1)
    gemm_tcgen05_pair(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c, int n, int k) {
  gemm<2>(a, b, c, n, k);
}
