//===- Launch.cpp - Enqueue an evaluated plan -----------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Launch.h"

#include <atomic>
#include <chrono>
#include <random>

using namespace backfuse;
using namespace backfuse::runtime;

//===----------------------------------------------------------------------===//
// Launch tags
//===----------------------------------------------------------------------===//

/// A bijection of 64 bits whose outputs look random (splitmix64's finalizer).
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Where this process's tags begin.
static uint64_t randomSeed() {
  uint64_t seed = static_cast<uint64_t>(
      std::chrono::high_resolution_clock::now().time_since_epoch().count());
  try {
    std::random_device device;
    seed ^= (uint64_t(device()) << 32) | device();
  } catch (...) {
    // No random device: the clock has to do.
  }
  return mix(seed);
}

uint64_t backfuse::runtime::nextLaunchTag() {
  static std::atomic<uint64_t> counter{randomSeed()};
  // Odd, so that the counter meets every value before it repeats one.
  constexpr uint64_t step = 0x9e3779b97f4a7c15u;
  uint64_t tag;
  do
    tag = mix(counter.fetch_add(step, std::memory_order_relaxed));
  while (tag == 0);
  return tag;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static uintptr_t addressOf(const bf_buffer &buffer,
                           const LaunchRegions &regions) {
  const Region &region =
      buffer.space == BF_SPACE_INPUT    ? regions.inputs[buffer.index]
      : buffer.space == BF_SPACE_OUTPUT ? regions.outputs[buffer.index]
                                        : regions.workspace;
  return region.base + buffer.offset;
}

static CUtensorMapDataType mapType(uint8_t type) {
  static const CUtensorMapDataType types[] = {
      CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
      CU_TENSOR_MAP_DATA_TYPE_FLOAT32,  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
      CU_TENSOR_MAP_DATA_TYPE_UINT8,    CU_TENSOR_MAP_DATA_TYPE_UINT16,
      CU_TENSOR_MAP_DATA_TYPE_UINT32};
  static_assert(sizeof(types) / sizeof(types[0]) ==
                    size_t(bundle::MapType::MAX) + 1,
                "one entry for each MapType");
  return types[type];
}

static CUtensorMapSwizzle mapSwizzle(uint8_t swizzle) {
  static const CUtensorMapSwizzle swizzles[] = {
      CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
      CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B};
  static_assert(sizeof(swizzles) / sizeof(swizzles[0]) ==
                    size_t(bundle::Swizzle::MAX) + 1,
                "one entry for each Swizzle");
  return swizzles[swizzle];
}

static CUtensorMapL2promotion mapPromotion(uint8_t promotion) {
  static const CUtensorMapL2promotion promotions[] = {
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B};
  return promotions[promotion];
}

static Error encodeMap(const DriverApi &api, const bf_tensor_map &map,
                       const LaunchRegions &regions, const char *kernel,
                       size_t index, CUtensorMap &result) {
  static const cuuint32_t ones[5] = {1, 1, 1, 1, 1};
  CUresult status = api.cuTensorMapEncodeTiled(
      &result, mapType(map.type), map.rank,
      reinterpret_cast<void *>(addressOf(map.buffer, regions)), map.sizes,
      map.strides, map.box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
      mapSwizzle(map.swizzle), mapPromotion(map.l2_promotion),
      map.oob_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                  : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status == CUDA_SUCCESS)
    return {};
  return api.check(status, "cuTensorMapEncodeTiled",
                   formatText("argument %zu of kernel %s", index, kernel));
}

/// What a kernel reads that takes more arguments than its bundle passes: the
/// driver looks at as many pointers as the code has parameters.
static unsigned char missingArgument[BundleLimits::kernelArgBytes];

namespace {
/// Storage of one launch's arguments, of fixed size.
struct ArgumentBlock {
  CUtensorMap maps[BundleLimits::kernelArgs];
  union {
    uint64_t word;
    int64_t int64;
    int32_t int32;
    float float32;
  } scalars[BundleLimits::kernelArgs];
  void *pointers[BundleLimits::kernelArgs];
};
} // namespace

static Error fillArguments(const DriverApi &api, const bf_step &step,
                           const LaunchRegions &regions, ArgumentBlock &block) {
  uint64_t tag = 0;
  unsigned numMaps = 0;
  for (size_t i = step.num_args; i < BundleLimits::kernelArgs; ++i)
    block.pointers[i] = missingArgument;
  for (size_t i = 0; i < step.num_args; ++i) {
    const bf_step_arg &arg = step.args[i];
    auto &scalar = block.scalars[i];
    block.pointers[i] = &scalar;
    switch (arg.kind) {
    case BF_ARG_MAP:
      block.pointers[i] = &block.maps[numMaps];
      if (Error error = encodeMap(api, arg.map, regions, step.kernel, i,
                                  block.maps[numMaps++]))
        return error;
      break;
    case BF_ARG_POINTER:
      scalar.word = addressOf(arg.buffer, regions);
      break;
    case BF_ARG_INT32:
      scalar.int32 = static_cast<int32_t>(arg.integer);
      break;
    case BF_ARG_INT64:
      scalar.int64 = arg.integer;
      break;
    case BF_ARG_FLOAT32:
      scalar.float32 = arg.real;
      break;
    case BF_ARG_LAUNCH_TAG:
      // One launch has one tag, however often it is passed.
      if (tag == 0)
        tag = nextLaunchTag();
      scalar.word = tag;
      break;
    }
  }
  return {};
}

static Error launchKernel(const DeviceContext &context, const Kernel &kernel,
                          const bf_step &step, const LaunchRegions &regions,
                          CUstream stream) {
  const DriverApi &api = context.api();
  ArgumentBlock block;
  if (Error error = fillArguments(api, step, regions, block))
    return error;
  CUlaunchAttribute attributes[3];
  CUlaunchConfig config = {};
  config.gridDimX = step.grid[0];
  config.gridDimY = step.grid[1];
  config.gridDimZ = step.grid[2];
  config.blockDimX = step.threads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = step.smem_bytes;
  config.hStream = stream;
  config.attrs = attributes;
  auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue & {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute = {};
    attribute.id = id;
    return attribute.value;
  };
  if (step.cluster[0] * step.cluster[1] * step.cluster[2] > 1) {
    auto &value = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    value.clusterDim.x = step.cluster[0];
    value.clusterDim.y = step.cluster[1];
    value.clusterDim.z = step.cluster[2];
  }
  if (step.cooperative)
    add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  if (step.dependent)
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .programmaticStreamSerializationAllowed = 1;
  CUresult status =
      api.cuLaunchKernelEx(&config, kernel.handle(), block.pointers, nullptr);
  if (status == CUDA_SUCCESS)
    return {};
  std::string cause = formatText(
      "kernel %s, grid %ux%ux%u, cluster %ux%ux%u, %u threads, %u bytes of "
      "shared memory on %s",
      step.kernel, step.grid[0], step.grid[1], step.grid[2], step.cluster[0],
      step.cluster[1], step.cluster[2], step.threads, step.smem_bytes,
      context.describe().c_str());
  if (status == CUDA_ERROR_INVALID_HANDLE)
    cause += "; is the stream one of this device's primary context?";
  return api.check(status, "cuLaunchKernelEx", cause);
}

Error backfuse::runtime::enqueue(
    const DeviceContext &context,
    const std::vector<std::unique_ptr<const Kernel>> &kernels,
    const PlanData &plan, const LaunchRegions &regions, CUstream stream) {
  const DriverApi &api = context.api();
  CurrentContext current(api, context.handle());
  if (Error error = api.check(current.status(), "cuCtxPushCurrent"))
    return error;
  for (const bf_step &step : plan.steps) {
    if (step.kind == BF_STEP_KERNEL && step.grid[0] != 0) {
      if (Error error = launchKernel(context, *kernels[step.kernel_index], step,
                                     regions, stream))
        return error;
    } else if (step.kind == BF_STEP_ZERO_FILL && step.bytes != 0) {
      CUresult status = api.cuMemsetD8Async(addressOf(step.buffer, regions), 0,
                                            step.bytes, stream);
      if (status != CUDA_SUCCESS)
        return api.check(status, "cuMemsetD8Async",
                         formatText("zero fill of %llu bytes",
                                    (unsigned long long)step.bytes));
    }
  }
  return {};
}
