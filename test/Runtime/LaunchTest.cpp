//===- LaunchTest.cpp - What a launch checks and what it enqueues ---------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FakeDriver.h"
#include "TestBundle.h"
#include "backfuse/runtime.hpp"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

using namespace backfuse;
using namespace backfuse::test;
using bundle::ExprOp;

namespace {
/// A tensor at an address that no one reads.
struct FakeTensor {
  FakeTensor(uint64_t address, DLDataType type, std::vector<int64_t> extents)
      : shape(std::move(extents)) {
    view.data = reinterpret_cast<void *>(address);
    view.device.device_type = kDLCUDA;
    view.dtype = type;
    view.ndim = static_cast<int>(shape.size());
    view.shape = shape.data();
  }
  FakeTensor(const FakeTensor &) = delete;
  std::vector<int64_t> shape, strides;
  DLTensor view = {};
};

constexpr DLDataType bf16 = {kDLBfloat, 16, 1};
constexpr DLDataType f32 = {kDLFloat, 32, 1};

/// Arguments of the rows graph, B = 4, S = 8: 32 rows of 128 bytes.
struct Arguments {
  FakeTensor x{0x10000, bf16, {4, 8, 64}};
  FakeTensor unused{0x20000, f32, {8}};
  FakeTensor y{0x30000, bf16, {4, 8, 64}};
  FakeTensor s{0x40000, bf16, {64}};
  std::vector<const DLTensor *> inputs{&x.view, &unused.view};
  std::vector<const DLTensor *> outputs{&y.view, &s.view};
  std::vector<double> params{1, 0.5};
  void *workspace = reinterpret_cast<void *>(0x50000);
  size_t workspaceBytes = 256;
  CUstream stream = reinterpret_cast<CUstream>(0x77);
};

Bundle loadBundle(const bundle::BundleT &source) {
  std::vector<uint8_t> file = pack(source);
  return Bundle::load(file.data(), file.size());
}

template <typename T> T valueOf(const std::vector<uint8_t> &bytes) {
  T value;
  EXPECT_EQ(bytes.size(), sizeof(T));
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

class Launch : public testing::Test {
protected:
  FakeDriver driver;
  Bundle bundle = loadBundle(makeRowsBundle());
  Executable executable = Executable::prepare(bundle, 0);
  Arguments args;

  void launch() {
    executable.launch(args.stream, args.inputs, args.outputs, args.params,
                      args.workspace, args.workspaceBytes);
  }
  /// The error of a launch, which must enqueue nothing.
  std::string refused() {
    size_t before = driver.launches.size() + driver.fills.size();
    std::string text;
    try {
      launch();
    } catch (const Error &error) {
      text = error.what();
    }
    EXPECT_EQ(driver.launches.size() + driver.fills.size(), before) << text;
    // A plan of those dimensions refuses it in the same words, but for where
    // the dimensions come from.
    try {
      Plan::create(executable, {{4, 8}, args.params})
          .launch(args.stream, args.inputs, args.outputs, args.workspace,
                  args.workspaceBytes);
      ADD_FAILURE() << "the plan accepts what the executable refuses: " << text;
    } catch (const Error &) {
    }
    EXPECT_EQ(driver.launches.size() + driver.fills.size(), before) << text;
    return text;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// What is enqueued
//===----------------------------------------------------------------------===//

TEST_F(Launch, EnqueuesEveryStepInOrder) {
  driver.calls.clear();
  launch();
  std::vector<std::string> enqueued;
  for (const std::string &call : driver.calls)
    if (call == "cuMemsetD8Async" || call == "cuLaunchKernelEx")
      enqueued.push_back(call);
  EXPECT_EQ(enqueued,
            (std::vector<std::string>{"cuMemsetD8Async", "cuLaunchKernelEx",
                                      "cuLaunchKernelEx"}));
  ASSERT_EQ(driver.fills.size(), 1u);
  EXPECT_EQ(driver.fills[0].address, 0x50000u);
  EXPECT_EQ(driver.fills[0].value, 0);
  EXPECT_EQ(driver.fills[0].numBytes, 256u);
  ASSERT_EQ(driver.launches.size(), 2u);
  const RecordedLaunch &rows = driver.launches[0];
  EXPECT_EQ(rows.kernel, "rows");
  EXPECT_EQ(rows.grid, (std::array<unsigned, 3>{32, 1, 1}));
  EXPECT_EQ(rows.block, (std::array<unsigned, 3>{32, 1, 1}));
  EXPECT_EQ(rows.stream, args.stream);
  EXPECT_TRUE(rows.attributes.empty());
  EXPECT_EQ(valueOf<uint64_t>(rows.args[1]), 0x30000u);
  EXPECT_EQ(valueOf<int32_t>(rows.args[2]), 32);
  EXPECT_EQ(valueOf<int32_t>(rows.args[3]), 1);
  EXPECT_NE(valueOf<uint64_t>(rows.args[4]), 0u);
  EXPECT_EQ(valueOf<uint64_t>(rows.args[5]), 0x50000u);
  const RecordedLaunch &sums = driver.launches[1];
  EXPECT_EQ(sums.kernel, "sums");
  EXPECT_EQ(valueOf<uint64_t>(sums.args[0]), 0x10000u);
  EXPECT_EQ(valueOf<uint64_t>(sums.args[1]), 0x40000u);
  EXPECT_EQ(valueOf<int64_t>(sums.args[2]), 32);
  ASSERT_EQ(sums.attributes.size(), 1u);
  EXPECT_EQ(sums.attributes[0].id,
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(sums.attributes[0].value.programmaticStreamSerializationAllowed, 1);
}

TEST_F(Launch, EncodesTensorMapsForTheTensorsAtHand) {
  launch();
  ASSERT_EQ(driver.maps.size(), 1u);
  const RecordedMap &map = driver.maps[0];
  EXPECT_EQ(map.type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(map.address, 0x10000u);
  EXPECT_EQ(map.sizes, (std::vector<uint64_t>{64, 32}));
  EXPECT_EQ(map.strides, (std::vector<uint64_t>{128}));
  EXPECT_EQ(map.box, (std::vector<uint32_t>{64, 1}));
  EXPECT_EQ(map.swizzle, CU_TENSOR_MAP_SWIZZLE_NONE);
  EXPECT_EQ(map.promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  EXPECT_EQ(map.fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  args.x.view.byte_offset = 0x100;
  launch();
  EXPECT_EQ(driver.maps[1].address, 0x10100u);
  uint64_t inArgument = 0;
  std::memcpy(&inArgument, driver.launches[2].args[0].data(), 8);
  EXPECT_EQ(inArgument, 0x10100u);
}

TEST_F(Launch, TakesTheFirstVariantWhoseGuardHolds) {
  args.params = {0, 0.5};
  args.workspace = nullptr;
  args.workspaceBytes = 0;
  launch();
  EXPECT_TRUE(driver.fills.empty());
  ASSERT_EQ(driver.launches.size(), 2u);
  EXPECT_EQ(valueOf<int32_t>(driver.launches[0].args[3]), 0);
  EXPECT_EQ(valueOf<uint64_t>(driver.launches[0].args[5]), 0u);
}

TEST_F(Launch, PlanAndExecutableEnqueueTheSame) {
  launch();
  Plan plan = Plan::create(executable, {{4, 8}, args.params});
  EXPECT_EQ(plan.info().workspace_bytes, 256u);
  EXPECT_EQ(executable.workspaceSize({{4, 8}, args.params}), 256u);
  EXPECT_STREQ(plan.info().variant_name, "square=true");
  EXPECT_EQ(plan.info().bytes, 32u * 256 + 128);
  EXPECT_EQ(plan.info().operations[BF_RATE_F32], 32u * 128);
  plan.launch(args.stream, args.inputs, args.outputs, args.workspace,
              args.workspaceBytes);
  ASSERT_EQ(driver.launches.size(), 4u);
  for (size_t i : {size_t(0), size_t(1)})
    for (size_t a = 0; a < driver.launches[i].args.size(); ++a)
      if (i != 0 || a != 4) // the tag
        EXPECT_EQ(driver.launches[i].args[a], driver.launches[i + 2].args[a]);
}

TEST_F(Launch, TagsDifferBetweenLaunches) {
  std::set<uint64_t> tags;
  for (int i = 0; i < 100; ++i)
    launch();
  for (const RecordedLaunch &one : driver.launches)
    if (one.kernel == "rows")
      tags.insert(valueOf<uint64_t>(one.args[4]));
  EXPECT_EQ(tags.size(), 100u);
  EXPECT_EQ(tags.count(0), 0u);
}

// After preparation a launch may only do what a captured stream allows.
TEST_F(Launch, CallsNothingThatAllocatesLoadsOrWaits) {
  driver.calls.clear();
  launch();
  Plan::create(executable, {{4, 8}, args.params})
      .launch(args.stream, args.inputs, args.outputs, args.workspace,
              args.workspaceBytes);
  const std::set<std::string> allowed = {
      "cuCtxGetCurrent",        "cuCtxPushCurrent", "cuCtxPopCurrent",
      "cuTensorMapEncodeTiled", "cuMemsetD8Async",  "cuLaunchKernelEx"};
  for (const std::string &call : driver.calls)
    EXPECT_EQ(allowed.count(call), 1u) << call;
  EXPECT_EQ(driver.count("cuCtxPushCurrent"), driver.count("cuCtxPopCurrent"));
}

TEST_F(Launch, PreparationLoadsEverything) {
  EXPECT_EQ(driver.count("cuModuleLoadDataEx"), 1u);
  EXPECT_EQ(driver.count("cuFuncLoad"), 2u);
  EXPECT_EQ(driver.functionAttributes["rows.smem"], 0);
  EXPECT_EQ(driver.functionAttributes.count("rows.nonportable"), 0u);
  EXPECT_EQ(driver.modules, 1);
}

TEST_F(Launch, ObjectsGoInAnyOrder) {
  Plan plan = Plan::create(executable, {{4, 8}, args.params});
  {
    Executable gone = std::move(executable);
  }
  {
    Bundle gone = std::move(bundle);
  }
  plan.launch(args.stream, args.inputs, args.outputs, args.workspace,
              args.workspaceBytes);
  EXPECT_EQ(driver.modules, 1);
  {
    Plan gone = std::move(plan);
  }
  EXPECT_EQ(driver.modules, 0);
  EXPECT_EQ(driver.contexts, 0);
}

TEST_F(Launch, ExtentsOfZeroLaunchOnlyWhatMustRun) {
  FakeTensor x(0, bf16, {4, 0, 64}), y(0, bf16, {4, 0, 64});
  args.inputs[0] = &x.view;
  args.outputs[0] = &y.view;
  args.workspaceBytes = 0;
  args.workspace = nullptr;
  launch();
  // rows has an empty grid, its fill no bytes; sums writes zeros.
  EXPECT_TRUE(driver.fills.empty());
  ASSERT_EQ(driver.launches.size(), 1u);
  EXPECT_EQ(driver.launches[0].kernel, "sums");
  EXPECT_EQ(valueOf<int64_t>(driver.launches[0].args[2]), 0);
}

TEST_F(Launch, AcceptsEveryFormOfACompactTensor) {
  args.x.strides = {512, 64, 1};
  args.x.view.strides = args.x.strides.data();
  args.x.view.device.device_type = kDLCUDAManaged;
  EXPECT_NO_THROW(launch());
  // The stride of an extent of 1 does not matter.
  FakeTensor x(0x10000, bf16, {1, 8, 64}), y(0x30000, bf16, {1, 8, 64});
  x.strides = {12345, 64, 1};
  x.view.strides = x.strides.data();
  args.inputs[0] = &x.view;
  args.outputs[0] = &y.view;
  EXPECT_NO_THROW(launch());
}

TEST_F(Launch, ManyThreadsLaunchAtOnce) {
  driver.records = false;
  constexpr int numThreads = 16, perThread = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < numThreads; ++t)
    threads.emplace_back([&, t] {
      // Each thread has dimensions of its own, so that plans are evaluated
      // again and again.
      int64_t size = 1 + t % 5;
      FakeTensor x(0x10000, bf16, {size, 8, 64}),
          y(0x30000, bf16, {size, 8, 64});
      FakeTensor unused(0x20000, f32, {8}), s(0x40000, bf16, {64});
      for (int i = 0; i < perThread; ++i)
        executable.launch(args.stream, {&x.view, &unused.view},
                          {&y.view, &s.view}, args.params, args.workspace,
                          4096);
    });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_EQ(driver.launches.size(), size_t(2 * numThreads * perThread));
  std::set<uint64_t> tags;
  std::map<unsigned, int> grids;
  for (const RecordedLaunch &one : driver.launches) {
    if (one.kernel != "rows")
      continue;
    tags.insert(valueOf<uint64_t>(one.args[4]));
    EXPECT_EQ(valueOf<int32_t>(one.args[2]), int32_t(one.grid[0]));
    ++grids[one.grid[0]];
  }
  EXPECT_EQ(tags.size(), size_t(numThreads * perThread));
  EXPECT_EQ(grids.size(), 5u);
  EXPECT_EQ(grids[8], 4 * perThread); // threads 0, 5, 10, 15
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

TEST_F(Launch, RefusesWrongTypes) {
  args.x.view.dtype = {kDLFloat, 16, 1};
  EXPECT_EQ(refused(), "input x: expected type BF16, got float16");
  args.x.view.dtype = {kDLBfloat, 16, 2};
  EXPECT_EQ(refused(), "input x: expected type BF16, got bfloat16x2");
  args.x.view.dtype = bf16;
  args.s.view.dtype = f32;
  EXPECT_EQ(refused(), "output s: expected type BF16, got float32");
}

TEST_F(Launch, RefusesWrongShapes) {
  args.x.shape[2] = 63;
  EXPECT_EQ(refused(), "input x: expected extent 2 to be 64, got shape "
                       "[4, 8, 63]");
  args.x.shape[2] = 64;
  args.y.shape[1] = 9;
  EXPECT_EQ(refused(), "output y: expected extent 1 (S) to be 8 as in x, got "
                       "shape [4, 9, 64]");
  args.y.shape[1] = 8;
  args.s.view.ndim = 0;
  EXPECT_EQ(refused(), "output s: expected rank 1, got 0");
  args.s.view.ndim = 1;
  args.x.shape[0] = -4;
  EXPECT_EQ(refused(), "input x: extent 0 is negative: -4");
  args.x.shape[0] = 4;
  args.x.view.shape = nullptr;
  EXPECT_EQ(refused(), "input x: its shape is null");
}

TEST_F(Launch, PlansRefuseOtherDimensions) {
  Plan plan = Plan::create(executable, {{4, 9}, args.params});
  try {
    plan.launch(args.stream, args.inputs, args.outputs, args.workspace, 4096);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "input x: expected extent 1 (S) to be 9 as in "
                               "the plan, got shape [4, 8, 64]");
  }
}

TEST_F(Launch, RefusesOtherLayouts) {
  args.x.strides = {64, 256, 1};
  args.x.view.strides = args.x.strides.data();
  EXPECT_EQ(refused(),
            "input x: expected compact row-major strides, got [64, 256, 1] for "
            "shape [4, 8, 64]; other layouts are not supported yet: make it "
            "contiguous");
  args.x.strides = {1024, 128, 2};
  EXPECT_NE(refused().find("got [1024, 128, 2]"), std::string::npos);
}

TEST_F(Launch, RefusesMisalignedAndNullData) {
  args.x.view.byte_offset = 8;
  EXPECT_EQ(refused(), "input x: expected its first element to be 16-byte "
                       "aligned, got address 0x10008 (byte_offset 8)");
  args.x.view.byte_offset = UINT64_MAX;
  EXPECT_NE(refused().find("leaves the address space"), std::string::npos);
  args.x.view.byte_offset = 0;
  args.s.view.data = nullptr;
  EXPECT_EQ(refused(), "output s: its data is null");
  args.s.view.data = reinterpret_cast<void *>(0x40000);
  args.workspace = reinterpret_cast<void *>(0x50010);
  EXPECT_EQ(refused(), "expected the workspace to be 256-byte aligned, got "
                       "address 0x50010");
}

TEST_F(Launch, RefusesOtherDevices) {
  args.x.view.device.device_id = 1;
  EXPECT_EQ(refused(), "input x: expected device cuda:0, got cuda:1");
  args.x.view.device.device_id = 0;
  args.y.view.device.device_type = kDLCPU;
  EXPECT_EQ(refused(), "output y: expected device cuda:0, got device type 1");
}

TEST_F(Launch, RefusesMissingAndExtraTensors) {
  args.inputs.pop_back();
  EXPECT_EQ(refused(),
            "1 inputs given, the graph has 2: input unused is missing");
  args.inputs.push_back(nullptr);
  EXPECT_EQ(refused(), "input unused is missing: its tensor is null");
  args.inputs = {&args.x.view, &args.unused.view, &args.x.view};
  EXPECT_EQ(refused(), "3 inputs given, the graph has only 2");
  args.inputs.pop_back();
  args.outputs.pop_back();
  EXPECT_EQ(refused(), "1 outputs given, the graph has 2: output s is missing");
}

TEST_F(Launch, RefusesOverlaps) {
  void *y = args.y.view.data;
  args.y.view.data = reinterpret_cast<void *>(0x10000 + 32 * 128 - 16);
  EXPECT_EQ(refused(), "output y overlaps input x");
  args.y.view.data = y;
  args.s.view.data = reinterpret_cast<void *>(0x30000 + 32 * 128 - 128);
  EXPECT_EQ(refused(), "output s overlaps output y");
  args.s.view.data = reinterpret_cast<void *>(0x50000 + 128);
  EXPECT_EQ(refused(), "output s overlaps the workspace");
  args.s.view.data = reinterpret_cast<void *>(0x40000);
  args.unused.view.data = reinterpret_cast<void *>(0x50000);
  EXPECT_EQ(refused(), "input unused overlaps the workspace");
  // Side by side is not overlapping.
  args.unused.view.data = reinterpret_cast<void *>(0x50000 + 256);
  EXPECT_NO_THROW(launch());
}

TEST_F(Launch, RefusesASmallWorkspaceAndWrongParameters) {
  args.workspaceBytes = 255;
  EXPECT_EQ(refused(), "the workspace has 255 bytes, expected at least 256");
  args.workspaceBytes = 256;
  args.workspace = nullptr;
  EXPECT_EQ(refused(), "the workspace is null");
  args.params = {2, 0.5};
  EXPECT_EQ(refused(), "parameter square is 2, expected 0 or 1 (I1)");
  args.params = {1};
  EXPECT_EQ(refused(), "1 parameters given, the graph has 2");
}

TEST_F(Launch, AFailedCallNamesKernelAndCause) {
  driver.failures["cuLaunchKernelEx"] = CUDA_ERROR_INVALID_HANDLE;
  try {
    launch();
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.status(), BF_ERROR_CUDA);
    std::string text = error.what();
    for (const char *part :
         {"cuLaunchKernelEx failed: CUDA_ERROR_INVALID_HANDLE", "kernel rows",
          "grid 32x1x1", "sm_90 (Test GPU, cuda:0)", "is the stream one of"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

namespace {
/// The error of preparing a bundle.
std::string prepareError(const bundle::BundleT &source, bf_status expected,
                         int ordinal = 0) {
  Bundle bundle = loadBundle(source);
  try {
    Executable::prepare(bundle, ordinal);
    ADD_FAILURE() << "prepared";
  } catch (const Error &error) {
    EXPECT_EQ(error.status(), expected) << error.what();
    return error.what();
  }
  return "";
}

bundle::KernelLaunchT &rowsLaunch(bundle::BundleT &b) {
  return *b.targets[0]->variants[0]->steps[1]->body.AsKernelLaunch();
}
} // namespace

TEST(Prepare, ABundleForAnotherDeviceGivesATable) {
  FakeDriver driver;
  bundle::BundleT source = makeRowsBundle();
  source.targets[0]->name = "sm_100f";
  EXPECT_EQ(prepareError(source, BF_ERROR_NO_TARGET),
            "the bundle holds no code for this device\n"
            "  device: sm_90 (Test GPU, cuda:0), compute capability 9.0\n"
            "the bundle of rows holds:\n"
            "  sm_100f  needs compute capability 10.0 or a later 10.x");
  EXPECT_EQ(driver.contexts, 0);
  driver.major = 10;
  driver.minor = 3;
  EXPECT_NO_THROW(Executable::prepare(loadBundle(source), 0));
  source.targets[0]->name = "sm_100a";
  prepareError(source, BF_ERROR_NO_TARGET);
}

TEST(Prepare, DeviceAndDriverMustExist) {
  FakeDriver driver;
  EXPECT_EQ(prepareError(makeRowsBundle(), BF_ERROR_ARGUMENT, 1),
            "no device cuda:1: there are 1");
  EXPECT_EQ(prepareError(makeRowsBundle(), BF_ERROR_ARGUMENT, -1),
            "no device cuda:-1: there are 1");
  driver.version = 11080;
  EXPECT_EQ(prepareError(makeRowsBundle(), BF_ERROR_NO_DRIVER),
            "the bundle needs a driver for CUDA 12.0 or newer, this one is for "
            "CUDA 11.8");
}

TEST(Prepare, NoDriverIsNamed) {
  runtime::DriverApi api;
  runtime::Error error =
      runtime::DriverApi::open("libcuda-that-is-not-there.so.1", api);
  EXPECT_EQ(error.code, BF_ERROR_NO_DRIVER);
  EXPECT_NE(error.text.find("no CUDA driver"), std::string::npos);
  EXPECT_NE(error.text.find("libcuda-that-is-not-there.so.1"),
            std::string::npos);
  // A library without the functions is a driver that is too old.
  error = runtime::DriverApi::open("libc.so.6", api);
  EXPECT_EQ(error.code, BF_ERROR_NO_DRIVER);
  EXPECT_NE(error.text.find("has no cuInit"), std::string::npos) << error.text;
}

TEST(Prepare, CodeThatDoesNotFitIsNamed) {
  FakeDriver driver;
  driver.failures["cuModuleLoadDataEx"] = CUDA_ERROR_NO_BINARY_FOR_GPU;
  std::string text = prepareError(makeRowsBundle(), BF_ERROR_CUDA);
  EXPECT_NE(
      text.find("cuModuleLoadDataEx failed: CUDA_ERROR_NO_BINARY_FOR_GPU"),
      std::string::npos);
  EXPECT_NE(text.find("module 0 is for sm_90a, device is sm_90"),
            std::string::npos)
      << text;
  driver.failures.clear();
  driver.kernels["rows"] = {128, 8, 4, 8, 8, 8};
  EXPECT_EQ(prepareError(makeRowsBundle(), BF_ERROR_BUNDLE),
            "argument 3 of kernel rows has 4 bytes, but its code takes 8");
  driver.kernels["rows"] = {128, 8, 4};
  EXPECT_EQ(prepareError(makeRowsBundle(), BF_ERROR_BUNDLE),
            "kernel rows is passed 6 arguments, but its code takes 3");
  driver.kernels.erase("rows");
  EXPECT_NE(prepareError(makeRowsBundle(), BF_ERROR_CUDA).find("kernel rows"),
            std::string::npos);
  bundle::BundleT source = makeRowsBundle();
  source.targets[0]->kernels[0]->smem_bytes = 300000;
  EXPECT_NE(prepareError(source, BF_ERROR_NO_TARGET)
                .find("kernel rows needs 300000 bytes of shared memory"),
            std::string::npos);
  EXPECT_EQ(driver.modules, 0);
  EXPECT_EQ(driver.contexts, 0);
}

TEST(Prepare, SetsAttributesAndPassesThemOn) {
  FakeDriver driver;
  bundle::BundleT source = makeRowsBundle();
  source.targets[0]->kernels[0]->smem_bytes = 200000;
  source.targets[0]->kernels[0]->cluster = {16};
  rowsLaunch(source).cooperative = true;
  Bundle bundle = loadBundle(source);
  Executable executable = Executable::prepare(bundle, 0);
  EXPECT_EQ(driver.functionAttributes["rows.smem"], 200000);
  EXPECT_EQ(driver.functionAttributes["rows.nonportable"], 1);
  Arguments args;
  executable.launch(args.stream, args.inputs, args.outputs, args.params,
                    args.workspace, args.workspaceBytes);
  const RecordedLaunch &rows = driver.launches.at(0);
  EXPECT_EQ(rows.smemBytes, 200000u);
  ASSERT_EQ(rows.attributes.size(), 2u);
  EXPECT_EQ(rows.attributes[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(rows.attributes[0].value.clusterDim.x, 16u);
  EXPECT_EQ(rows.attributes[1].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  // 33 rows are not a multiple of the cluster; 160 CTAs are not resident.
  try {
    Plan::create(executable, {{1, 33}, {1, 0}});
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("not a multiple of the cluster's "
                        "16"),
              std::string::npos);
  }
  try {
    Plan::create(executable, {{1, 160}, {1, 0}});
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("needs 10 clusters of 16 CTAs resident at once, sm_90 "
                        "(Test GPU, cuda:0) holds 8"),
              std::string::npos)
        << error.what();
  }
}

TEST(Prepare, CooperativeGridsAreResident) {
  FakeDriver driver;
  bundle::BundleT source = makeRowsBundle();
  rowsLaunch(source).cooperative = true;
  Bundle bundle = loadBundle(source);
  Executable executable = Executable::prepare(bundle, 0);
  EXPECT_EQ(driver.count("cuOccupancyMaxActiveClusters"), 0u);
  Plan::create(executable, {{1, 132}, {1, 0}});
  try {
    Plan::create(executable, {{1, 133}, {1, 0}});
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("needs 133 CTAs resident at once, sm_90 (Test GPU, "
                        "cuda:0) holds 132"),
              std::string::npos)
        << error.what();
  }
}

/// The grid of a kernel of pairs: two CTAs on each two multiprocessors.
static bundle::BundleT makePairsBundle(bool cooperative) {
  bundle::BundleT source = makeRowsBundle();
  source.targets[0]->kernels[0]->cluster = {2};
  bundle::KernelLaunchT &launch = rowsLaunch(source);
  launch.cooperative = cooperative;
  launch.grid[0] =
      expr({op(ExprOp::SmCount), constant(2), op(ExprOp::FloorDiv), constant(2),
            op(ExprOp::Mul), constant(2), op(ExprOp::Max)});
  return source;
}

static uint32_t gridOfPairs(bool cooperative) {
  Bundle bundle = loadBundle(makePairsBundle(cooperative));
  Executable executable = Executable::prepare(bundle, 0);
  return Plan::create(executable, {{1, 33}, {1, 0}}).step(1).grid[0];
}

TEST(Prepare, CooperativePairsAreAsManyAsAreResident) {
  FakeDriver driver;
  driver.activeClusters = 66;
  EXPECT_EQ(gridOfPairs(true), 132u);
  // A GPC with an odd number of multiprocessors leaves one without a pair.
  driver.activeClusters = 61;
  EXPECT_EQ(gridOfPairs(true), 122u);
  // CTAs that wait for none but their own cluster may come later.
  EXPECT_EQ(gridOfPairs(false), 132u);
  driver.activeClusters = 0;
  EXPECT_NE(
      prepareError(makePairsBundle(false), BF_ERROR_NO_TARGET)
          .find("kernel rows has clusters of 2 CTAs with 32 threads and 0 "
                "bytes of shared memory each, sm_90 (Test GPU, cuda:0) "
                "holds none"),
      std::string::npos);
}
