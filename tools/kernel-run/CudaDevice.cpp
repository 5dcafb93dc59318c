//===- CudaDevice.cpp - A GPU ---------------------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Besides running, it measures. The protocol: the L2 cache is flushed by
// filling a buffer of twice its size; a spin kernel then holds the stream while
// the CPU enqueues the run, so that no launch gap is measured; events stand
// around the run. A run whose enqueueing outlasted the spin is thrown away.
//===----------------------------------------------------------------------===//
#include "CudaDriver.h"
#include "Device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

using namespace backfuse;
using namespace backfuse::run;
using Clock = std::chrono::steady_clock;

/// Outputs and workspace: as bf16, f16 or f32 a NaN, as an integer -1.
static constexpr unsigned char poison = 0xff;
/// Bytes behind each output and the workspace that nothing may write.
static constexpr size_t guardBytes = 4096;
static constexpr unsigned char guardByte = 0xa5;

static constexpr int warmUps = 3;
static constexpr uint64_t leastSpinCycles = 300000;
static constexpr uint64_t mostSpinCycles = 400000000; // about 0.2 s
static constexpr size_t copyBytes = size_t(1) << 30;

/// Waits for a number of clock cycles.
static const char spinPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 cycles)
{
  .reg .u64 %c, %begin, %now;
  .reg .pred %more;
  ld.param.u64 %c, [cycles];
  mov.u64 %begin, %clock64;
again:
  mov.u64 %now, %clock64;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %more, %now, %c;
  @%more bra again;
  ret;
}
)";

static double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

namespace {
/// An event, destroyed with its scope.
class Event {
public:
  explicit Event(const CudaDriver &driver) : driver(driver) {
    CU(driver, cuEventCreate, &event, CU_EVENT_DEFAULT);
  }
  ~Event() { driver.cuEventDestroy(event); }
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  void record(CUstream stream) { CU(driver, cuEventRecord, event, stream); }
  bool hasPassed() const { return driver.cuEventQuery(event) == CUDA_SUCCESS; }
  double microsecondsSince(const Event &start) const {
    float milliseconds = 0;
    CU(driver, cuEventElapsedTime, &milliseconds, start.event, event);
    return milliseconds * 1e3;
  }

private:
  const CudaDriver &driver;
  CUevent event = nullptr;
};

/// A tensor in device memory as the runtime takes it.
struct DeviceTensor {
  DeviceMemory memory;
  std::vector<int64_t> shape;
  size_t numBytes = 0;
  DLTensor view = {};
};

class CudaDevice final : public Device {
public:
  CudaDevice(const Bundle &bundle, int ordinal);
  ~CudaDevice() override;

  std::string name() const override {
    return "cuda:" + std::to_string(ordinal) + " (" + deviceName + ")";
  }
  nlohmann::json describe() const override;
  void load(const reference::Problem &problem, const Values &values) override;
  std::optional<PlanSummary> plan() const override {
    return summarise(*loadedPlan);
  }
  void run() override;
  void read(size_t output, uint64_t firstByte, uint64_t numBytes,
            void *to) override;
  bool canBench() const override { return true; }
  Timing bench(int runs) override;
  double copyBandwidth() override;

private:
  DeviceTensor makeTensor(const bf_argument &argument, const Values &values,
                          size_t extraBytes);
  void upload(const DeviceTensor &tensor,
              const std::vector<unsigned char> &bytes);
  void fill(CUdeviceptr address, unsigned char byte, size_t numBytes) {
    if (numBytes)
      CU(driver, cuMemsetD8Async, address, byte, numBytes, stream);
  }
  void checkGuard(const DeviceMemory &memory, const std::string &what);
  void enqueue() {
    loadedPlan->launch(stream, inputViews, outputViews, workspace.data(),
                       workspaceBytes);
  }
  void spin(uint64_t cycles);
  bool timeOnce(uint64_t cycles, double &us, double &mhz);
  template <typename Function> double cpuTime(Function function);
  int attribute(CUdevice_attribute which) const;

  const CudaDriver &driver;
  int ordinal;
  CUdevice device = 0;
  CUcontext context = nullptr;
  std::string deviceName;
  Signature signature;
  Executable executable;
  CUstream stream = nullptr;
  CUmodule spinModule = nullptr;
  CUfunction spinKernel = nullptr;
  DeviceMemory flushBuffer;

  std::unique_ptr<Plan> loadedPlan;
  std::vector<double> params;
  std::vector<DeviceTensor> inputs, outputs;
  std::vector<const DLTensor *> inputViews, outputViews;
  DeviceMemory workspace;
  size_t workspaceBytes = 0;
};
} // namespace

CudaDevice::CudaDevice(const Bundle &bundle, int ordinal)
    : driver(CudaDriver::get()), ordinal(ordinal), signature(bundle),
      executable(Executable::prepare(bundle, ordinal)) {
  CU(driver, cuDeviceGet, &device, ordinal);
  char text[256] = {};
  CU(driver, cuDeviceGetName, text, sizeof(text) - 1, device);
  deviceName = text;
  CU(driver, cuDevicePrimaryCtxRetain, &context, device);
  CU(driver, cuCtxSetCurrent, context);
  CU(driver, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
}

CudaDevice::~CudaDevice() {
  inputs.clear();
  outputs.clear();
  workspace = {};
  flushBuffer = {};
  if (spinModule)
    driver.cuModuleUnload(spinModule);
  if (stream)
    driver.cuStreamDestroy(stream);
  if (context)
    driver.cuDevicePrimaryCtxRelease(device);
}

int CudaDevice::attribute(CUdevice_attribute which) const {
  int value = 0;
  CU(driver, cuDeviceGetAttribute, &value, which, device);
  return value;
}

nlohmann::json CudaDevice::describe() const {
  int version = 0;
  size_t memory = 0;
  CU(driver, cuDriverGetVersion, &version);
  CU(driver, cuDeviceTotalMem, &memory, device);
  return {
      {"kind", "cuda"},
      {"ordinal", ordinal},
      {"name", deviceName},
      {"compute_capability",
       std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) +
           "." +
           std::to_string(
               attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))},
      {"sm_count", attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)},
      {"l2_bytes", attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)},
      {"memory_bytes", memory},
      {"sm_clock_mhz", attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1e3},
      {"memory_clock_mhz",
       attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) / 1e3},
      {"driver_cuda_version", std::to_string(version / 1000) + "." +
                                  std::to_string(version % 1000 / 10)}};
}

static DLDataType dlType(bf_dtype dtype) {
  switch (dtype) {
  case BF_F32:
    return {kDLFloat, 32, 1};
  case BF_BF16:
    return {kDLBfloat, 16, 1};
  case BF_F16:
    return {kDLFloat, 16, 1};
  case BF_I1:
    return {kDLUInt, 8, 1};
  case BF_I64:
    return {kDLInt, 64, 1};
  }
  return {};
}

DeviceTensor CudaDevice::makeTensor(const bf_argument &argument,
                                    const Values &values, size_t extraBytes) {
  DeviceTensor tensor;
  tensor.shape = Signature::shape(argument, values.dims);
  tensor.numBytes = static_cast<size_t>(
      reference::bytesPerElement(static_cast<bundle::DType>(argument.dtype)));
  for (int64_t extent : tensor.shape)
    tensor.numBytes *= static_cast<size_t>(extent);
  tensor.memory = DeviceMemory(driver, tensor.numBytes + extraBytes);
  tensor.view.data = tensor.memory.data();
  tensor.view.device.device_type = kDLCUDA;
  tensor.view.device.device_id = ordinal;
  tensor.view.ndim = argument.rank;
  tensor.view.dtype = dlType(argument.dtype);
  // The vector's elements stay where they are when the tensor is moved.
  tensor.view.shape = tensor.shape.data();
  return tensor;
}

/// Uploads bytes and repeats them until the tensor is full.
void CudaDevice::upload(const DeviceTensor &tensor,
                        const std::vector<unsigned char> &bytes) {
  if (!tensor.numBytes)
    return;
  if (bytes.empty() || bytes.size() > tensor.numBytes)
    throw Failure("an input has " + std::to_string(bytes.size()) +
                  " bytes, expected " + std::to_string(tensor.numBytes));
  CUdeviceptr address = tensor.memory.address();
  CU(driver, cuMemcpyHtoD, address, bytes.data(), bytes.size());
  // From pageable memory it may return before the last part has arrived, and
  // our stream does not wait for the default one.
  CU(driver, cuStreamSynchronize, nullptr);
  // What is there doubles, a multiple of the period each time.
  for (size_t done = bytes.size(); done < tensor.numBytes; done *= 2)
    CU(driver, cuMemcpyDtoDAsync, address + done, address,
       std::min(done, tensor.numBytes - done), stream);
  CU(driver, cuStreamSynchronize, stream);
}

void CudaDevice::load(const reference::Problem &problem, const Values &values) {
  CU(driver, cuCtxSetCurrent, context);
  // What is no longer needed goes first: large problems fit once.
  inputs.clear();
  outputs.clear();
  workspace = {};
  loadedPlan = std::make_unique<Plan>(Plan::create(executable, values));
  params = values.params;
  workspaceBytes = loadedPlan->info().workspace_bytes;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    inputs.push_back(makeTensor(signature.inputs[i], values, 0));
    upload(inputs[i], problem.inputs[i].bytes);
  }
  for (const bf_argument &output : signature.outputs)
    outputs.push_back(makeTensor(output, values, guardBytes));
  workspace = DeviceMemory(driver, workspaceBytes + guardBytes);
  inputViews.clear();
  outputViews.clear();
  for (const DeviceTensor &tensor : inputs)
    inputViews.push_back(&tensor.view);
  for (const DeviceTensor &tensor : outputs)
    outputViews.push_back(&tensor.view);
}

void CudaDevice::checkGuard(const DeviceMemory &memory,
                            const std::string &what) {
  unsigned char bytes[guardBytes];
  CU(driver, cuMemcpyDtoH, bytes,
     memory.address() + (memory.size() - guardBytes), guardBytes);
  for (size_t i = 0; i < guardBytes; ++i)
    if (bytes[i] != guardByte)
      throw Failure("a kernel wrote byte " + std::to_string(i) +
                    " behind the end of " + what);
}

void CudaDevice::run() {
  for (const DeviceTensor &tensor : outputs) {
    fill(tensor.memory.address(), poison, tensor.numBytes);
    fill(tensor.memory.address() + tensor.numBytes, guardByte, guardBytes);
  }
  fill(workspace.address(), poison, workspaceBytes);
  fill(workspace.address() + workspaceBytes, guardByte, guardBytes);
  enqueue();
  CU(driver, cuStreamSynchronize, stream);
  for (size_t i = 0; i < outputs.size(); ++i)
    checkGuard(outputs[i].memory,
               std::string("output ") + signature.outputs[i].name);
  checkGuard(workspace, "the workspace");
}

void CudaDevice::read(size_t output, uint64_t firstByte, uint64_t numBytes,
                      void *to) {
  if (numBytes)
    CU(driver, cuMemcpyDtoH, to, outputs[output].memory.address() + firstByte,
       numBytes);
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

void CudaDevice::spin(uint64_t cycles) {
  void *arguments[] = {&cycles};
  CU(driver, cuLaunchKernel, spinKernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments,
     nullptr);
}

/// Measures one run; false if its enqueueing outlasted the spin.
bool CudaDevice::timeOnce(uint64_t cycles, double &us, double &mhz) {
  Event before(driver), start(driver), end(driver);
  fill(flushBuffer.address(), 0, flushBuffer.size());
  before.record(stream);
  spin(cycles);
  start.record(stream);
  enqueue();
  end.record(stream);
  bool inTime = !start.hasPassed();
  CU(driver, cuStreamSynchronize, stream);
  us = end.microsecondsSince(start);
  mhz = static_cast<double>(cycles) / start.microsecondsSince(before);
  return inTime;
}

/// Mean CPU time of `function` over 1000 calls, the stream drained after every
/// hundred so that its queue never fills.
template <typename Function> double CudaDevice::cpuTime(Function function) {
  constexpr int batches = 10, perBatch = 100;
  Clock::duration total{};
  for (int batch = 0; batch < batches; ++batch) {
    Clock::time_point begin = Clock::now();
    for (int i = 0; i < perBatch; ++i)
      function();
    total += Clock::now() - begin;
    CU(driver, cuStreamSynchronize, stream);
  }
  return microseconds(total) / (batches * perBatch);
}

Timing CudaDevice::bench(int runs) {
  if (!spinKernel) {
    CU(driver, cuModuleLoadData, &spinModule, spinPtx);
    CU(driver, cuModuleGetFunction, &spinKernel, spinModule, "spin");
    flushBuffer = DeviceMemory(
        driver,
        2 * static_cast<size_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)));
  }
  for (int i = 0; i < warmUps; ++i)
    enqueue();
  CU(driver, cuStreamSynchronize, stream);
  Timing timing;
  std::vector<double> times, clocks;
  uint64_t cycles = leastSpinCycles;
  while (times.size() < static_cast<size_t>(runs)) {
    double us = 0, mhz = 0;
    if (timeOnce(cycles, us, mhz)) {
      times.push_back(us);
      clocks.push_back(mhz);
      continue;
    }
    ++timing.discarded;
    if (cycles >= mostSpinCycles)
      throw Failure("the CPU cannot enqueue a run within " +
                    std::to_string(mostSpinCycles) + " cycles");
    cycles = std::min(mostSpinCycles, cycles * 3 / 2);
  }
  std::sort(times.begin(), times.end());
  std::sort(clocks.begin(), clocks.end());
  auto median = [](const std::vector<double> &sorted) {
    size_t half = sorted.size() / 2;
    return sorted.size() % 2 ? sorted[half]
                             : (sorted[half - 1] + sorted[half]) / 2;
  };
  timing.runs = runs;
  timing.medianUs = median(times);
  timing.meanUs = std::accumulate(times.begin(), times.end(), 0.0) / runs;
  timing.minUs = times.front();
  timing.maxUs = times.back();
  timing.smMhz = median(clocks);
  timing.cpuPlanUs = cpuTime([&] { enqueue(); });
  timing.cpuLaunchUs = cpuTime([&] {
    executable.launch(stream, inputViews, outputViews, params, workspace.data(),
                      workspaceBytes);
  });
  return timing;
}

double CudaDevice::copyBandwidth() {
  DeviceMemory from(driver, copyBytes), to(driver, copyBytes);
  fill(from.address(), 1, copyBytes);
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) {
    Event start(driver), end(driver);
    start.record(stream);
    CU(driver, cuMemcpyDtoDAsync, to.address(), from.address(), copyBytes,
       stream);
    end.record(stream);
    CU(driver, cuStreamSynchronize, stream);
    times.push_back(end.microsecondsSince(start));
  }
  std::sort(times.begin(), times.end());
  return 2.0 * copyBytes / (times[times.size() / 2] * 1e-6);
}

std::unique_ptr<Device> backfuse::run::makeCudaDevice(const Bundle &bundle,
                                                      int ordinal) {
  return std::make_unique<CudaDevice>(bundle, ordinal);
}
