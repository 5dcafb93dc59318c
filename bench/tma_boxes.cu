// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long boxes take that reach beyond their tensor.
//
//   nvcc -arch=sm_90a -O2 -o tma_boxes bench/tma_boxes.cu -ldl && ./tma_boxes
//
// One thread a CTA keeps six bulk tensor copies in flight, all of the same rows
// of one matrix, which L2 holds. Prints SM cycles a box, the mean over CTAs, for
// each number of CTAs and of rows that the tensor has.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace {
constexpr int slots = 6, slotBytes = 32768, boxes = 400, boxesAlong = 16;
constexpr size_t sharedBytes = slots * slotBytes + 1024;

#define CHECK(call)                                                            \
  do {                                                                         \
    if (int code = int(call)) {                                                \
      fprintf(stderr, "tma_boxes: %s failed: %d\n", #call, code);              \
      exit(1);                                                                 \
    }                                                                          \
  } while (false)

__device__ uint32_t sharedAddress(const void *pointer) {
  return uint32_t(__cvta_generic_to_shared(pointer));
}

__device__ void waitForPhase(uint32_t barrier, uint32_t phase) {
  uint32_t done = 0;
  while (!done)
    asm volatile("{ .reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(barrier), "r"(phase)
                 : "memory");
}

/// Boxes at row `row`: of 64 columns, or (panels) of four panels of 32.
__global__ void loadBoxes(const __grid_constant__ CUtensorMap map, bool panels,
                          int row, uint32_t bytes, long long *cycles) {
  extern __shared__ char memory[];
  __shared__ uint64_t barriers[slots];
  if (threadIdx.x)
    return;
  uint32_t data = (sharedAddress(memory) + 1023) & ~1023u;
  for (uint64_t &barrier : barriers)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(
        sharedAddress(&barrier)));
  asm volatile("fence.mbarrier_init.release.cluster;");
  long long start = clock64();
  for (int i = 0; i < boxes + slots; ++i) {
    uint32_t barrier = sharedAddress(&barriers[i % slots]);
    if (i >= slots)
      waitForPhase(barrier, (i / slots - 1) & 1);
    if (i >= boxes)
      continue;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     barrier),
                 "r"(bytes)
                 : "memory");
    uint32_t to = data + i % slots * slotBytes;
    int place = i % boxesAlong;
    if (panels)
      asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
                   "complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
                   "l"(&map), "r"(0), "r"(row), "r"(4 * place), "r"(barrier)
                   : "memory");
    else
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
                   "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                   "l"(&map), "r"(64 * place), "r"(row), "r"(barrier)
                   : "memory");
  }
  cycles[blockIdx.x] = clock64() - start;
}

using Encode = CUresult (*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t,
                            void *, const cuuint64_t *, const cuuint64_t *,
                            const cuuint32_t *, const cuuint32_t *,
                            CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
} // namespace

int main() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto encode = driver ? Encode(dlsym(driver, "cuTensorMapEncodeTiled")) : nullptr;
  if (!encode) {
    fprintf(stderr, "tma_boxes: no CUDA driver\n");
    return 1;
  }
  int sms;
  void *matrix;
  long long *cycles;
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  constexpr size_t matrixBytes = 64 << 20;
  CHECK(cudaMalloc(&matrix, matrixBytes));
  CHECK(cudaMemset(matrix, 0, matrixBytes));
  CHECK(cudaMalloc(&cycles, sms * sizeof(long long)));
  CHECK(cudaFuncSetAttribute(loadBoxes,
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             int(sharedBytes)));
  printf("box, CTAs, rows inside, cycles\n");
  constexpr int row = 512;
  for (bool panels : {false, true})
    for (int ctas : {1, 16, 32, 64, sms}) {
      int rows = panels ? 64 : 128;
      for (int inside : {rows, rows - 1, rows / 2, 1, 0}) {
        CUtensorMap map;
        cuuint64_t sizes[3] = {panels ? 32u : 1280u, cuuint64_t(row + inside), 112};
        cuuint64_t strides[2] = {panels ? 3584u * 4 : 1280u * 2, 128};
        cuuint32_t box[3] = {panels ? 32u : 64u, cuuint32_t(rows), 4},
                   steps[3] = {1, 1, 1};
        CHECK(encode(&map,
                     panels ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                            : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                     panels ? 3 : 2, matrix, sizes, strides, box, steps,
                     CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
        uint32_t bytes = rows * 128 * (panels ? 4 : 1);
        for (int run = 0; run < 2; ++run) // the first warms up
          loadBoxes<<<ctas, 32, sharedBytes>>>(map, panels, row, bytes, cycles);
        std::vector<long long> all(ctas);
        CHECK(cudaMemcpy(all.data(), cycles, ctas * sizeof(long long),
                         cudaMemcpyDeviceToHost));
        double sum = 0;
        for (long long one : all)
          sum += double(one);
        printf("%s, %d, %d of %d, %.0f\n",
               panels ? "f32 32x64x4" : "f16 64x128", ctas, inside, rows,
               sum / ctas / boxes);
      }
    }
  return 0;
}
