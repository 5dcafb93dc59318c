// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels whose PTX the emulator runs: what any CUDA program uses. compile_kernels.py compiles them for each target.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Atomics of all kinds; results in an order that does not matter.
extern "C" __global__ void atomics(int *ints, unsigned *words, float *floats, double *doubles, __half2 *halves,
                                   __nv_bfloat162 *bf16s, unsigned long long *longs, float4 *vectors) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  atomicAdd(&ints[0], i);
  atomicSub(&ints[1], i);
  atomicMin(&ints[2], 7 - i);
  atomicMax(&ints[3], i * 3);
  atomicAnd(&words[0], ~(1u << (i & 31)));
  atomicOr(&words[1], 1u << (i & 31));
  atomicXor(&words[2], 0x9e3779b9u * i);
  atomicInc(&words[3], 9);
  atomicDec(&words[4], 1000);
  atomicAdd(&floats[i & 3], float(i));
  atomicAdd(&doubles[i & 1], double(i) * 0.5);
  atomicAdd(&halves[i & 3], __halves2half2(__int2half_rn(1), __int2half_rn(2)));
  atomicAdd(&bf16s[0], __halves2bfloat162(__float2bfloat16(1.0f), __float2bfloat16(0.5f)));
  atomicAdd(&longs[0], (unsigned long long)i << 33);
  atomicMax(&longs[1], (unsigned long long)i * 0x100000001ull);
  atomicAdd(&vectors[i & 1], make_float4(1, 2, 3, i));
  // A loop on compare-and-swap.
  unsigned long long old = *(volatile unsigned long long *)&longs[2], seen;
  do {
    seen = old;
    old = atomicCAS(&longs[2], seen, seen + 3);
  } while (old != seen);
  __shared__ int sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  atomicAdd(&sum, i);
  __syncthreads();
  if (threadIdx.x == 0)
    atomicExch(&ints[4 + blockIdx.x], sum);
}

// Everything that lanes of a warp tell each other.
extern "C" __global__ void warps(const int *x, int *y) {
  unsigned all = 0xffffffffu;
  int lane = threadIdx.x & 31, v = x[threadIdx.x], n = blockDim.x, t = threadIdx.x;
  y[t] = __shfl_sync(all, v, (lane * 7) & 31);
  y[n + t] = __shfl_up_sync(all, v, 3);
  y[2 * n + t] = __shfl_down_sync(all, v, 5, 16);
  y[3 * n + t] = __shfl_xor_sync(all, v, 9, 8);
  y[4 * n + t] = __ballot_sync(all, v & 1);
  y[5 * n + t] = __any_sync(all, v == 5) * 2 + __all_sync(all, v < 100);
  y[6 * n + t] = __match_any_sync(all, v & 3);
  int same;
  unsigned mask = __match_all_sync(all, v & 64, &same);
  y[7 * n + t] = mask + same;
  y[8 * n + t] = __reduce_add_sync(all, v);
  y[9 * n + t] = __reduce_min_sync(all, v) ^ __reduce_max_sync(all, v);
  y[10 * n + t] = __reduce_xor_sync(all, unsigned(v)) + __reduce_and_sync(all, unsigned(v)) + __reduce_or_sync(all, unsigned(v));
  // A part of the warp.
  int part = 0;
  if (lane % 3 == 0) {
    unsigned members = __activemask();
    part = __popc(members) + __shfl_sync(0x49249249u, v, lane);
  }
  y[11 * n + t] = part;
  y[12 * n + t] = (int)__shfl_sync(all, (unsigned long long)v * 0x100000001ull, lane ^ 1) +
                  __popcll(__shfl_xor_sync(all, (long long)v, 2));
  y[13 * n + t] = __syncthreads_count(v & 2) * 4 + __syncthreads_or(v == 77) * 2 + __syncthreads_and(v < 99);
}

struct Pair {
  double a;
  int b[3];
};

__noinline__ __device__ float horner(float x, const float *c, int n) {
  float r = 0;
  for (int i = 0; i < n; ++i)
    r = r * x + c[i];
  return r;
}
__noinline__ __device__ Pair makePair(double a, int b) {
  Pair p;
  p.a = a * 2;
  for (int i = 0; i < 3; ++i)
    p.b[i] = b + i * i;
  return p;
}
__noinline__ __device__ double usePair(Pair p, int which) {
  if (which & 1)
    return p.a + p.b[which % 3];
  return p.a - p.b[(which + 1) % 3];
}
__noinline__ __device__ void split(int x, int *low, int *high) {
  *low = x & 0xff;
  *high = x >> 8;
}

// Functions that were not inlined: scalars, structures by value, pointers to locals.
extern "C" __global__ void functions(const float *x, double *y, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n)
    return;
  float c[4] = {1, -2, 0.5f, 3};
  double r = horner(x[i], c, 1 + i % 4);
  int low, high;
  split(i * 300, &low, &high);
  r += usePair(makePair(x[i], i), i) + low * 1000.0 + high;
  y[i] = r;
}

// Arrays on the stack that registers cannot hold.
extern "C" __global__ void stacks(const int *x, int *y, int n) {
  int i = threadIdx.x;
  int heap[32];
  for (int j = 0; j < 32; ++j)
    heap[(j * 7 + i) & 31] = x[(i + j) % n];
  // Insertion sort.
  for (int j = 1; j < 32; ++j) {
    int v = heap[j], k = j - 1;
    for (; k >= 0 && heap[k] > v; --k)
      heap[k + 1] = heap[k];
    heap[k + 1] = v;
  }
  y[i] = heap[i & 31] + 1000 * heap[(i + 16) & 31];
}

// Double precision with its divisions and functions.
extern "C" __global__ void doubles(const double *x, double *y, int n) {
  int i = threadIdx.x;
  double v = x[i];
  y[i] = v / (1 + v * v);
  y[n + i] = sqrt(fabs(v)) + 1 / v;
  y[2 * n + i] = fma(v, v, -1.0) + floor(v) + rint(v * 3) + trunc(v * 5);
  y[3 * n + i] = fmin(v, 0.25) + fmax(v, -0.5);
  y[4 * n + i] = exp(v * 0.25);
  y[5 * n + i] = log(fabs(v) + 1.5);
  y[6 * n + i] = double((long long)(v * 1e6)) + double(unsigned(fabs(v) * 100)) + double(float(v));
  y[7 * n + i] = __longlong_as_double(__double_as_longlong(v) ^ 0x8000000000000000ll) + __hiloint2double(__double2hiint(v), 0);
}

// Single precision as CUDA's mathematics has it.
extern "C" __global__ void singles(const float *x, float *y, int n) {
  int i = threadIdx.x;
  float v = x[i];
  y[i] = v / (1 + v * v);
  y[n + i] = sqrtf(fabsf(v)) + rsqrtf(fabsf(v) + 1);
  y[2 * n + i] = expf(v) + tanhf(v * 0.5f);
  y[3 * n + i] = logf(fabsf(v) + 0.5f) + powf(fabsf(v), 1.5f);
  y[4 * n + i] = sinf(v) + cosf(v * 2);
  y[5 * n + i] = erff(v) + log1pf(fabsf(v));
  y[6 * n + i] = __expf(v) + __logf(fabsf(v) + 1) + __sinf(v) + __fdividef(v, 3.0f) + __frcp_rn(v + 8) + __saturatef(v);
  y[7 * n + i] = ceilf(v) + truncf(v * 3) + roundf(v * 7) + fmodf(v, 0.75f) + copysignf(1.0f, v) + float(int(v * 10));
}

// Halves and their pairs.
extern "C" __global__ void halves(const __half *x, __half *y, const __nv_bfloat16 *z, __nv_bfloat16 *w, int n) {
  int i = threadIdx.x;
  __half a = x[i], b = x[(i + 1) % n];
  y[i] = __hfma(a, b, a);
  y[n + i] = __hdiv(a, __hadd(b, __float2half(9.0f)));
  y[2 * n + i] = __hmax(__hmin(a, b), __hneg(b));
  y[3 * n + i] = __hfma_relu(a, b, b);
  y[4 * n + i] = __hlt(a, b) ? __habs(a) : __hsub_sat(b, a);
  __half2 p = __halves2half2(a, b), q = __lowhigh2highlow(p);
  __half2 r = __hfma2(p, q, __hmul2(p, p));
  y[5 * n + i] = __low2half(r);
  y[6 * n + i] = __high2half(__hadd2(r, __h2div(p, __half2half2(__float2half(4.0f)))));
  y[7 * n + i] = __hadd(hexp2(a), hrcp(__hadd(b, __float2half(16.0f))));
  y[8 * n + i] = __int2half_rn(__half2int_rz(__hmul(a, b)) + __half2int_rd(a));
  y[9 * n + i] = __hgt2(p, q).x;
  __nv_bfloat16 c = z[i], d = z[(i + 1) % n];
  w[i] = __hfma(c, d, c);
  w[n + i] = __hmax(c, d);
  __nv_bfloat162 s = __halves2bfloat162(c, d);
  s = __hfma2(s, s, __hadd2(s, s));
  w[2 * n + i] = s.x;
  w[3 * n + i] = __hsub(s.y, __hmul(c, d));
  w[4 * n + i] = __float2bfloat16_rz(__bfloat162float(c) * 1.01f);
  w[5 * n + i] = __hle(c, d) ? __habs(c) : __hneg(d);
}

// Integers: wide products, carries, bits, bytes, divisions.
extern "C" __global__ void integers(const unsigned *x, unsigned *y, int n) {
  int i = threadIdx.x;
  unsigned a = x[i], b = x[(i + 5) % n] | 1;
  long long la = ((long long)(int)a << 20) ^ b, lb = (long long)b * 77 + 1;
  y[i] = a / b + a % b;
  y[n + i] = (unsigned)(la / lb) + (unsigned)(la % lb);
  y[2 * n + i] = __umulhi(a, b) + __mulhi(int(a), int(b)) + (unsigned)__umul64hi(la, lb);
  y[3 * n + i] = __clz(a) + 100 * __ffs(b << 3) + 10000 * __popc(a) + (unsigned)__clzll(lb) + __popcll(la);
  y[4 * n + i] = __brev(a) ^ (unsigned)(__brevll(la) >> 7);
  y[5 * n + i] = __byte_perm(a, b, 0x2510) ^ __byte_perm(a, b, a & 0x7777);
  y[6 * n + i] = __funnelshift_l(a, b, i) ^ __funnelshift_r(a, b, i + 3) ^ __funnelshift_lc(a, b, 40) ^ __funnelshift_rc(a, b, 33);
  unsigned __int128 wide = (unsigned __int128)la * lb + ((unsigned __int128)a << 64) + lb;
  wide -= (unsigned __int128)lb << 60;
  y[7 * n + i] = (unsigned)(wide >> 96) ^ (unsigned)(wide >> 61) ^ (unsigned)wide;
  y[8 * n + i] = __dp4a(int(a), int(b), 5) + __dp4a(a, b, 6u) + __sad(int(a), int(b), 9u) + __usad(a, b, 1u);
  unsigned r, s;
  asm("bfe.u32 %0, %1, 5, 11;" : "=r"(r) : "r"(a));
  asm("bfi.b32 %0, %1, %2, 4, 9;" : "=r"(s) : "r"(b), "r"(a));
  y[9 * n + i] = r ^ s;
  asm("bfe.s32 %0, %1, %2, 7;" : "=r"(r) : "r"(a), "r"(i));
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(s) : "r"(a), "r"(b), "r"(r));
  y[10 * n + i] = r + s;
  y[11 * n + i] = __vadd4(a, b) ^ __vmaxs2(a, b) ^ __vabsdiffu4(a, b) ^ __vcmpgtu4(a, b);
  y[12 * n + i] = min(int(a), int(b)) ^ max(a, b) ^ abs(int(a)) ^ (unsigned)min(la, lb) ^ (unsigned)(la >> 13);
  signed char c = (signed char)a;
  short h = (short)(b >> 3);
  y[13 * n + i] = unsigned(c * h) + unsigned((unsigned char)(a >> 8)) * 3 + unsigned((unsigned short)b >> 2);
  asm("{ .reg .u32 t; mul24.lo.u32 t, %1, %2; mad24.lo.s32 %0, %1, %2, t; }" : "=r"(r) : "r"(a), "r"(b));
  y[14 * n + i] = r;
  asm("{ .reg .b32 t; szext.clamp.s32 t, %1, 9; bmsk.clamp.b32 %0, %2, 5; xor.b32 %0, %0, t; }" : "=r"(r) : "r"(a), "r"(a & 31));
  y[15 * n + i] = r ^ __float_as_uint(__uint2float_rz(a)) ^ (unsigned)__float2int_ru(__int2float_rd(int(b)) * 1e-3f);
}

// Tiles of 16 x 8 x 16 products from shared memory that cp.async filled in stages.
extern "C" __global__ void __launch_bounds__(128) mma_pipeline(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int m,
                                                               int n, int k) {
  constexpr int BM = 64, BN = 32, BK = 32, stages = 3;
  __shared__ __align__(16) __nv_bfloat16 as[stages][BM][BK + 8];
  __shared__ __align__(16) __nv_bfloat16 bs[stages][BK][BN + 8];
  int row = blockIdx.x * BM, column = blockIdx.y * BN, t = threadIdx.x, warp = t / 32, lane = t % 32;
  auto fill = [&](int stage, int at) {
    for (int i = t; i < BM * BK / 8; i += 128)
      __pipeline_memcpy_async(&as[stage][i / 4][i % 4 * 8], &a[size_t(row + i / 4) * k + at + i % 4 * 8], 16);
    for (int i = t; i < BK * BN / 8; i += 128)
      __pipeline_memcpy_async(&bs[stage][i / 4][i % 4 * 8], &b[size_t(at + i / 4) * n + column + i % 4 * 8], 16);
    __pipeline_commit();
  };
  float d[4][4] = {};
  for (int s = 0; s < stages - 1; ++s)
    fill(s, s * BK);
  for (int at = 0; at < k; at += BK) {
    __pipeline_wait_prior(stages - 2);
    __syncthreads();
    int stage = at / BK % stages;
    if (at + (stages - 1) * BK < k)
      fill((at / BK + stages - 1) % stages, at + (stages - 1) * BK);
    else
      __pipeline_commit();
    for (int kk = 0; kk < BK; kk += 16) {
      unsigned ra[4], rb[4][2];
      unsigned from = __cvta_generic_to_shared(&as[stage][warp * 16 + lane % 16][kk + lane / 16 * 8]);
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(from));
      for (int j = 0; j < 4; j += 2) {
        from = __cvta_generic_to_shared(&bs[stage][kk + lane % 16][j * 8 + lane / 16 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(rb[j][0]), "=r"(rb[j][1]), "=r"(rb[j + 1][0]), "=r"(rb[j + 1][1]) : "r"(from));
      }
      for (int j = 0; j < 4; ++j)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[j][0]), "r"(rb[j][1]));
    }
  }
  for (int j = 0; j < 4; ++j)
    for (int h = 0; h < 2; ++h) {
      float2 v = make_float2(d[j][2 * h], d[j][2 * h + 1]);
      *(float2 *)&c[size_t(row + warp * 16 + lane / 4 + 8 * h) * n + column + j * 8 + lane % 4 * 2] = v;
    }
}

// The other shapes and types of mma.sync, one warp each on fragments from memory.
extern "C" __global__ void mma_shapes(const unsigned *in, unsigned *out) {
  int l = threadIdx.x;
  unsigned a[4], b[2], d[4];
  for (int i = 0; i < 4; ++i)
    a[i] = in[i * 32 + l];
  for (int i = 0; i < 2; ++i)
    b[i] = in[(4 + i) * 32 + l];
  float f[4] = {1, 2, 3, 4};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i)
    out[i * 32 + l] = __float_as_uint(f[i]);
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  for (int i = 0; i < 4; ++i)
    out[(4 + i) * 32 + l] = __float_as_uint(f[i]);
  unsigned h[2] = {0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
               : "+r"(h[0]), "+r"(h[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  out[8 * 32 + l] = h[0], out[9 * 32 + l] = h[1];
  // Bytes, signed and unsigned.
  for (int i = 0; i < 4; ++i)
    a[i] = in[(8 + i) * 32 + l], d[i] = i;
  for (int i = 0; i < 2; ++i)
    b[i] = in[(12 + i) * 32 + l];
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i)
    out[(10 + i) * 32 + l] = d[i];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  for (int i = 0; i < 4; ++i)
    out[(14 + i) * 32 + l] = d[i];
  // tf32, in both depths.
  for (int i = 0; i < 4; ++i)
    a[i] = in[(16 + i) * 32 + l], f[i] = 0;
  for (int i = 0; i < 2; ++i)
    b[i] = in[(20 + i) * 32 + l];
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  for (int i = 0; i < 4; ++i)
    out[(18 + i) * 32 + l] = __float_as_uint(f[i]);
}

// Sums of a block through shared memory, warps and one atomic; dynamic shared memory.
extern "C" __global__ void block_sum(const float *x, float *y, int n) {
  extern __shared__ float partial[];
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    v += x[i];
  for (int i = tile.size() / 2; i > 0; i /= 2)
    v += tile.shfl_down(v, i);
  if (tile.thread_rank() == 0)
    partial[tile.meta_group_rank()] = v;
  block.sync();
  if (tile.meta_group_rank() == 0) {
    v = tile.thread_rank() < tile.meta_group_size() ? partial[tile.thread_rank()] : 0;
    for (int i = tile.size() / 2; i > 0; i /= 2)
      v += tile.shfl_down(v, i);
    if (tile.thread_rank() == 0)
      atomicAdd(y, v);
  }
}

// The last block to finish adds what all blocks have left: fences and a counter.
extern "C" __global__ void last_block(const float *x, float *partials, unsigned *counter, float *y, int n) {
  __shared__ bool isLast;
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    v += x[i];
  for (int i = 16; i > 0; i /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, i);
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = v;
    __threadfence();
    isLast = atomicAdd(counter, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!isLast)
    return;
  __threadfence();
  v = threadIdx.x < gridDim.x ? partials[threadIdx.x] : 0;
  for (int i = 16; i > 0; i /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, i);
  if (threadIdx.x == 0)
    *y = v;
}

// A histogram over the shared memory of a cluster of CTAs.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_histogram(const int *x, int *bins, int n, int perCta) {
  extern __shared__ int counts[];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < perCta; i += blockDim.x)
    counts[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int bin = x[i];
    int *there = cluster.map_shared_rank(counts, bin / perCta);
    atomicAdd(there + bin % perCta, 1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < perCta; i += blockDim.x)
    atomicAdd(&bins[cluster.block_rank() * perCta + i], counts[i]);
}

// What CTAs of a cluster store in each other's shared memory, counted in at an mbarrier.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_exchange(const int *x, int *y) {
  __shared__ __align__(16) int box[4][32];
  __shared__ __align__(8) unsigned long long bar;
  cg::cluster_group cluster = cg::this_cluster();
  unsigned rank = cluster.block_rank(), here = __cvta_generic_to_shared(&bar), lane = threadIdx.x;
  if (lane == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(here));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(here), "r"(4 * 32 * 4));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  cluster.sync();
  int v = x[blockIdx.x * 32 + lane];
  for (unsigned to = 0; to < 4; ++to) {
    unsigned remote, remoteBar;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"((unsigned)__cvta_generic_to_shared(&box[rank][lane])), "r"(to));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remoteBar) : "r"(here), "r"(to));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(remote), "r"(v + 100 * int(to)),
                 "r"(remoteBar) : "memory");
  }
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0; @!p bra W; }" ::"r"(here)
               : "memory");
  for (int from = 0; from < 4; ++from)
    y[(blockIdx.x * 4 + from) * 32 + lane] = box[from][lane];
  cluster.sync();
}
