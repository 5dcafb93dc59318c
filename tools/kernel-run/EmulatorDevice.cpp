//===- EmulatorDevice.cpp - The PTX machine as a device -------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes the PTX of a bundle step by step, as the plan says. The environment
// variable BACKFUSE_EMULATOR sets order, seed and checks: docs/emulator.md.
//===----------------------------------------------------------------------===//
#include "Device.h"
#include "runtime/emulator/Emulator.h"
#include "tools/emulator-report/ReportText.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

using namespace backfuse;
using namespace backfuse::run;
using emulator::Machine;

/// Outputs and workspace before a run, as on a GPU.
static constexpr uint8_t poison = 0xff;

static void require(const emulator::Error &error, const std::string &where) {
  if (error)
    throw Failure(where + ": " + error.text());
}

namespace {
/// Device memory of one tensor or of the workspace.
struct Buffer {
  std::string name;
  uint64_t address = 0, numBytes = 0;
};

class EmulatorDevice final : public Device {
public:
  EmulatorDevice(const Bundle &bundle, uint32_t target,
                 const std::string &ptxDir);

  std::string name() const override { return "emulator:" + targetName; }
  nlohmann::json describe() const override {
    return {{"kind", "emulator"},
            {"name", "emulator of " + targetName},
            {"sm_count", defaults.multiprocessors}};
  }
  void load(const reference::Problem &problem, const Values &values) override;
  bool copiesToHost() const override { return true; }
  std::optional<PlanSummary> plan() const override {
    return summarise(*loadedPlan);
  }
  void collectReports(bool asJson) override {
    reportKind = asJson ? Reports::Json : Reports::Text;
    defaults.profile = true;
  }
  nlohmann::json reports() const override { return runReports; }
  void run() override;
  void read(size_t output, uint64_t firstByte, uint64_t numBytes,
            void *to) override;

private:
  Buffer allocate(const std::string &name, uint64_t numBytes,
                  bool isInitialised);
  Buffer allocateTensor(const bf_argument &argument, const Values &values,
                        bool isInitialised);
  void releaseAll();
  void forget(const Buffer &buffer);
  uint64_t addressOf(const bf_buffer &buffer) const;
  void runStep(const bf_step &step);
  std::vector<uint8_t> encodeMap(const bf_tensor_map &map,
                                 const std::string &where) const;
  std::vector<uint8_t> argumentBytes(const bf_step_arg &arg, uint64_t tag,
                                     const std::string &where) const;

  const Bundle &bundle;
  Signature signature;
  uint32_t target;
  std::string targetName;
  emulator::LaunchOptions defaults;
  Machine machine;
  std::vector<std::unique_ptr<emulator::Module>> modules;
  std::unique_ptr<Plan> loadedPlan;
  std::vector<Buffer> inputs, outputs;
  Buffer workspace;
  uint64_t lastTag = 0x5eed;
  enum class Reports { None, Text, Json } reportKind = Reports::None;
  nlohmann::json kernelReports; // of the current run
  nlohmann::json runReports = nlohmann::json::array();

  void addReport(const std::string &kernel, const emulator::Report &report);
  void addPlan();
};
} // namespace

/// Multiprocessors of the GPU that a target is for: H200, else B200.
static uint32_t smCountOf(const std::string &target) {
  return target.rfind("sm_9", 0) == 0 ? 132 : 148;
}

/// The module's PTX: a file's in place of the bundle's, if there is one.
static std::string modulePtx(const bundle::Module &module,
                             const std::string &file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    return module.ptx()->str();
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

EmulatorDevice::EmulatorDevice(const Bundle &bundle, uint32_t target,
                               const std::string &ptxDir)
    : bundle(bundle), signature(bundle), target(target),
      targetName(bundle.target(target).name) {
  defaults.multiprocessors = smCountOf(targetName);
  defaults.threads = std::max(1u, std::thread::hardware_concurrency());
  if (const char *text = std::getenv("BACKFUSE_EMULATOR"))
    if (emulator::Error error = emulator::parseLaunchOptions(text, defaults))
      throw UsageError("BACKFUSE_EMULATOR: " + error.text());
  const auto *sources = flatBundle(bundle).targets()->Get(target)->modules();
  for (unsigned i = 0; sources && i < sources->size(); ++i) {
    modules.emplace_back();
    std::string file = ptxDir.empty() ? ""
                                      : ptxDir + "/" + targetName + "." +
                                            std::to_string(i) + ".ptx";
    require(machine.loadPtx(modulePtx(*sources->Get(i), file), modules.back()),
            "module " + std::to_string(i) + " of " + targetName);
  }
}

Buffer EmulatorDevice::allocate(const std::string &name, uint64_t numBytes,
                                bool isInitialised) {
  return {name, machine.allocate(numBytes, name, isInitialised), numBytes};
}

Buffer EmulatorDevice::allocateTensor(const bf_argument &argument,
                                      const Values &values,
                                      bool isInitialised) {
  auto numBytes = static_cast<uint64_t>(
      reference::bytesPerElement(static_cast<bundle::DType>(argument.dtype)));
  for (int64_t extent : Signature::shape(argument, values.dims))
    numBytes *= static_cast<uint64_t>(extent);
  return allocate(argument.name, numBytes, isInitialised);
}

void EmulatorDevice::releaseAll() {
  for (const std::vector<Buffer> *list : {&inputs, &outputs})
    for (const Buffer &buffer : *list)
      require(machine.release(buffer.address), buffer.name);
  if (workspace.address)
    require(machine.release(workspace.address), workspace.name);
  inputs.clear();
  outputs.clear();
  workspace = {};
}

void EmulatorDevice::load(const reference::Problem &problem,
                          const Values &values) {
  releaseAll();
  loadedPlan = std::make_unique<Plan>(
      Plan::create(bundle, target, defaults.multiprocessors, values));
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    inputs.push_back(allocateTensor(signature.inputs[i], values, true));
    const std::vector<unsigned char> &bytes = problem.inputs[i].bytes;
    if (inputs[i].numBytes && bytes.empty())
      throw Failure(inputs[i].name + " has no bytes");
    for (uint64_t done = 0; done < inputs[i].numBytes; done += bytes.size())
      require(machine.write(
                  inputs[i].address + done, bytes.data(),
                  std::min<uint64_t>(bytes.size(), inputs[i].numBytes - done)),
              inputs[i].name);
    require(machine.setReadOnly(inputs[i].address, true), inputs[i].name);
  }
  for (const bf_argument &output : signature.outputs)
    outputs.push_back(allocateTensor(output, values, false));
  workspace = allocate("workspace", loadedPlan->info().workspace_bytes, false);
}

void EmulatorDevice::forget(const Buffer &buffer) {
  if (!buffer.numBytes)
    return;
  require(machine.fill(buffer.address, poison, buffer.numBytes), buffer.name);
  require(machine.markUninitialised(buffer.address, buffer.numBytes),
          buffer.name);
}

uint64_t EmulatorDevice::addressOf(const bf_buffer &buffer) const {
  const Buffer &found = buffer.space == BF_SPACE_INPUT ? inputs[buffer.index]
                        : buffer.space == BF_SPACE_OUTPUT
                            ? outputs[buffer.index]
                            : workspace;
  return found.address + buffer.offset;
}

std::vector<uint8_t> EmulatorDevice::encodeMap(const bf_tensor_map &map,
                                               const std::string &where) const {
  using emulator::MapType;
  static const MapType types[] = {
      MapType::BFloat16, MapType::Float16, MapType::Float32, MapType::TFloat32,
      MapType::UInt8,    MapType::UInt16,  MapType::UInt32};
  emulator::TensorMapParams params;
  params.type = types[map.type];
  params.rank = map.rank;
  params.address = addressOf(map.buffer);
  std::copy(map.sizes, map.sizes + map.rank, params.sizes);
  std::copy(map.strides, map.strides + map.rank - 1, params.strides);
  std::copy(map.box, map.box + map.rank, params.box);
  // The schema's swizzles stand in the driver's order.
  params.swizzle = static_cast<emulator::MapSwizzle>(map.swizzle);
  params.l2Promotion = map.l2_promotion;
  params.oobNan = map.oob_nan;
  uint8_t bytes[128];
  require(emulator::encodeTiled(params, bytes), where);
  return std::vector<uint8_t>(bytes, bytes + sizeof(bytes));
}

std::vector<uint8_t>
EmulatorDevice::argumentBytes(const bf_step_arg &arg, uint64_t tag,
                              const std::string &where) const {
  switch (arg.kind) {
  case BF_ARG_MAP:
    return encodeMap(arg.map, where);
  case BF_ARG_POINTER:
    return emulator::argument(addressOf(arg.buffer));
  case BF_ARG_INT32:
    return emulator::argument(static_cast<int32_t>(arg.integer));
  case BF_ARG_INT64:
    return emulator::argument(arg.integer);
  case BF_ARG_FLOAT32:
    return emulator::argument(arg.real);
  case BF_ARG_LAUNCH_TAG:
    return emulator::argument(tag);
  }
  throw Failure(where + ": unknown argument");
}

void EmulatorDevice::runStep(const bf_step &step) {
  if (step.kind == BF_STEP_ZERO_FILL) {
    if (step.bytes)
      require(machine.fill(addressOf(step.buffer), 0, step.bytes), "zero fill");
    return;
  }
  if (step.grid[0] == 0)
    return;
  std::string where = std::string("kernel ") + step.kernel;
  lastTag += 0x9e3779b97f4a7c15; // odd: 2^64 launches until one repeats
  std::vector<std::vector<uint8_t>> args;
  for (size_t i = 0; i < step.num_args; ++i)
    args.push_back(argumentBytes(step.args[i], lastTag,
                                 where + ", argument " + std::to_string(i)));
  emulator::LaunchShape shape;
  shape.grid = {step.grid[0], step.grid[1], step.grid[2]};
  shape.block = {step.threads, 1, 1};
  shape.cluster = {step.cluster[0], step.cluster[1], step.cluster[2]};
  shape.dynamicSmemBytes = step.smem_bytes;
  const bundle::Kernel &kernel =
      *flatBundle(bundle).targets()->Get(target)->kernels()->Get(
          step.kernel_index);
  emulator::LaunchOptions options = defaults;
  options.cooperative = step.cooperative;
  options.dependent = step.dependent;
  options.registersPerThread = kernel.registers();
  for (unsigned i = 0; kernel.roles() && i < kernel.roles()->size(); ++i)
    options.roles.push_back(kernel.roles()->Get(i)->str());
  emulator::Report report;
  require(machine.launch(*modules[step.module_index], step.kernel, shape, args,
                         options, report),
          where);
  addReport(step.kernel, report);
}

void EmulatorDevice::addReport(const std::string &kernel,
                               const emulator::Report &report) {
  if (reportKind == Reports::Text)
    std::printf("report of kernel %s\n%s", kernel.c_str(),
                tools::reportText(report).c_str());
  if (reportKind == Reports::Json) {
    nlohmann::json entry = tools::reportJson(report);
    entry["kernel"] = kernel;
    kernelReports.push_back(entry);
  }
}

/// What the plan knows of the same run: kernels do at least that much.
void EmulatorDevice::addPlan() {
  PlanSummary summary = summarise(*loadedPlan);
  uint64_t operations = 0;
  for (uint64_t rate : summary.operations)
    operations += rate;
  if (reportKind == Reports::Text)
    std::printf("plan: at least %llu bytes and %llu operations\n",
                static_cast<unsigned long long>(summary.leastBytes),
                static_cast<unsigned long long>(operations));
  if (reportKind == Reports::Json)
    runReports.push_back(
        {{"kernels", kernelReports},
         {"plan",
          {{"bytes", summary.leastBytes}, {"operations", operations}}}});
}

void EmulatorDevice::run() {
  for (const Buffer &output : outputs)
    forget(output);
  forget(workspace);
  uint32_t numSteps = loadedPlan->info().num_steps;
  kernelReports = nlohmann::json::array();
  for (uint32_t i = 0; i < numSteps; ++i)
    runStep(loadedPlan->step(i));
  addPlan();
  // Known with the emulator's checks on.
  for (const Buffer &output : outputs) {
    uint64_t unwritten =
        machine.firstUnwritten(output.address, output.numBytes);
    if (unwritten < output.numBytes)
      throw Failure("output " + output.name + ": byte " +
                    std::to_string(unwritten) + " of " +
                    std::to_string(output.numBytes) + " was not written");
  }
}

void EmulatorDevice::read(size_t output, uint64_t firstByte, uint64_t numBytes,
                          void *to) {
  if (numBytes)
    require(machine.read(outputs[output].address + firstByte, to, numBytes),
            outputs[output].name);
}

std::unique_ptr<Device>
backfuse::run::makeEmulatorDevice(const Bundle &bundle, const std::string &name,
                                  const std::string &ptxDir) {
  uint32_t count = bundle.info().num_targets;
  std::string held;
  for (uint32_t i = 0; i < count; ++i) {
    bf_target_info target = bundle.target(i);
    held += (held.empty() ? "" : ", ") + std::string(target.name);
    if (!name.empty() && name != target.name)
      continue;
    if (target.has_ptx)
      return std::make_unique<EmulatorDevice>(bundle, i, ptxDir);
    if (!name.empty())
      throw Failure("device emulator: the bundle has no PTX for " + name +
                    ": compile it without --strip-ptx");
  }
  if (name.empty())
    throw Failure("device emulator: the bundle has no PTX: compile it without "
                  "--strip-ptx");
  throw UsageError("device emulator: the bundle holds no target " + name +
                   ", only " + (held.empty() ? "nothing" : held));
}
