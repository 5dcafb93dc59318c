// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of sm_90a whose PTX the emulator runs: TMA, clusters and wgmma.
#include "async.h"

/// D += A B of a warpgroup, 64 x 64 x 16 of bf16 or 64 x 64 x 8 of tf32; operands of shared memory in rows of 128 bytes.
template <bool isTf32> __device__ inline void product(float (&d)[32], uint64_t a, uint64_t b) {
#define ACC                                                                                                                  \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
#define OUT                                                                                                                  \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),    \
      "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]),   \
      "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),   \
      "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
  if (isTf32)
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 " ACC ", %32, %33, 1, 1, 1;" : OUT : "l"(a), "l"(b));
  else
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " ACC ", %32, %33, 1, 1, 1, 0, 0;" : OUT : "l"(a), "l"(b));
}
__device__ inline uint64_t descriptor(const void *p) {
  return (shared(p) >> 4) | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
}

/// C = A Bt, both with the contraction contiguous. A cluster of two CTAs shares B: each loads half of it for both. A warp
/// loads, a warpgroup multiplies; tiles of 64 x 64, of 128 bytes along the contraction.
template <bool isTf32> __device__ void gemm(const CUtensorMap &a, const CUtensorMap &b, float *c, int n, int k) {
  constexpr int stages = 3, depth = isTf32 ? 32 : 64, tile = 64 * 128;
  extern __shared__ __align__(1024) uint8_t smem[];
  __shared__ uint64_t full[stages], empty[stages];
  const uint32_t rank = clusterRank();
  const int thread = threadIdx.x, row = blockIdx.x * 64, column = blockIdx.y * 64;
  if (thread == 0) {
    for (int s = 0; s < stages; ++s) {
      barInit(&full[s], 1);
      barInit(&empty[s], 8);
    }
    barInitFence();
  }
  clusterSync();
  if (thread < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (thread == 0)
      for (int i = 0; i < k / depth; ++i) {
        int s = i % stages, phase = i / stages % 2;
        barWait(&empty[s], phase ^ 1);
        barExpect(&full[s], 2 * tile);
        load2d(&a, smem + s * tile, &full[s], i * depth, row);
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
                     "{%2, %3}], [%4], %5;" ::"r"(shared(smem + (stages + s) * tile + rank * tile / 2)),
                     "l"(&b), "r"(i * depth), "r"(column + int(rank) * 32), "r"(shared(&full[s])), "h"((short)3)
                     : "memory");
      }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
    float d[32];
    for (int i = 0; i < 32; ++i)
      d[i] = 0;
    for (int i = 0; i < k / depth; ++i) {
      int s = i % stages, phase = i / stages % 2;
      barWait(&full[s], phase);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      for (int step = 0; step < 4; ++step)
        product<isTf32>(d, descriptor(smem + s * tile) + 2 * step, descriptor(smem + (stages + s) * tile) + 2 * step);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" : OUT::"memory");
      __syncwarp();
      if (thread % 32 < 2)
        barArrive(&empty[s], thread % 32);
    }
    int warp = thread / 32 - 4, lane = thread % 32;
    for (int j = 0; j < 8; ++j)
      for (int h = 0; h < 2; ++h)
        *(float2 *)&c[size_t(row + warp * 16 + lane / 4 + 8 * h) * n + column + j * 8 + lane % 4 * 2] =
            make_float2(d[4 * j + 2 * h], d[4 * j + 2 * h + 1]);
  }
  clusterSync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __maxnreg__(128)
    gemm_wgmma(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c, int n, int k) {
  gemm<false>(a, b, c, n, k);
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) __maxnreg__(128)
    gemm_wgmma_tf32(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c, int n, int k) {
  gemm<true>(a, b, c, n, k);
}

/// Adds 1 to a matrix in tiles of 32 x 32: loads, bulk stores and bulk additions into sums of all tiles.
extern "C" __global__ void __launch_bounds__(128)
    bulk_copies(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y, const float *vector, float *sums) {
  __shared__ __align__(128) float tile[32][32];
  __shared__ __align__(16) float line[64];
  __shared__ uint64_t bar;
  int t = threadIdx.x;
  if (t == 0) {
    barInit(&bar, 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (t == 0) {
    barExpect(&bar, sizeof tile + sizeof line);
    load2d(&x, tile, &bar, blockIdx.x * 32, blockIdx.y * 32);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared(line)),
                 "l"(vector), "r"((int)sizeof line), "r"(shared(&bar)) : "memory");
  }
  barWait(&bar, 0);
  for (int i = t; i < 1024; i += 128)
    tile[i / 32][i % 32] += 1;
  float add = t < 64 ? tile[t / 32][t % 32] + line[t] : 0;
  __syncthreads();
  if (t < 64)
    line[t] = add;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&y), "r"(blockIdx.x * 32),
                 "r"(blockIdx.y * 32), "r"(shared(tile)) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(sums), "r"(shared(line)),
                 "r"((int)sizeof line) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
