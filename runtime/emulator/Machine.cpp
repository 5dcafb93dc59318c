//===- Machine.cpp - Modules, memory and launches -------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

#include <algorithm>
#include <thread>

namespace backfuse::emulator {

constexpr uint32_t maxSmemBytes = 227 * 1024;

void Launch::fail(const std::string &message) {
  std::lock_guard<std::mutex> lock(mutex);
  if (error.empty())
    error = message;
  stop.store(true);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

struct Module::Impl {
  std::vector<Kernel> kernels;
  std::vector<uint64_t> variableAddresses;
};

Module::Module() : impl(new Impl) {}
Module::~Module() = default;

std::vector<std::string> Module::kernelNames() const {
  std::vector<std::string> names;
  for (const Kernel &kernel : impl->kernels)
    names.push_back(kernel.name);
  return names;
}

static const Kernel *findKernel(const std::vector<Kernel> &kernels,
                                const std::string &name) {
  for (const Kernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

Error Module::kernelParams(const std::string &name,
                           std::vector<Param> &params) const {
  const Kernel *kernel = findKernel(impl->kernels, name);
  if (!kernel)
    return Error("no kernel '" + name + "' in the module");
  params.clear();
  for (const KernelParam &param : kernel->params)
    params.push_back({param.name, param.offset, param.bytes});
  return Error::success();
}

Error Module::kernelInfo(const std::string &name, KernelInfo &info) const {
  if (Error error = kernelParams(name, info.params))
    return error;
  const Kernel &kernel = *findKernel(impl->kernels, name);
  std::copy(kernel.requiredThreads, kernel.requiredThreads + 3,
            info.requiredThreads);
  std::copy(kernel.requiredCluster, kernel.requiredCluster + 3,
            info.requiredCluster);
  std::copy(kernel.maxThreads, kernel.maxThreads + 3, info.maxThreads);
  info.staticSmemBytes = kernel.sharedBytes - sharedBase;
  info.localBytes = kernel.localBytes;
  info.peakRegisters = kernel.peakRegisters;
  return Error::success();
}

struct Machine::Impl {
  DeviceMemory memory;
  uint64_t memoryLimit = 0;
  uint64_t launches = 0;
  uint32_t lastLaunch = 0; ///< Launch::id
};

Machine::Machine() : impl(new Impl) {}
Machine::~Machine() = default;

void Machine::setMemoryLimit(uint64_t bytes) { impl->memoryLimit = bytes; }

Error Machine::loadPtx(std::string_view text, std::unique_ptr<Module> &result) {
  ptx::Module syntax;
  if (Error error = ptx::parse(text, syntax))
    return error;
  auto module = std::make_unique<Module>();
  std::vector<uint64_t> &addresses = module->impl->variableAddresses;
  addresses.assign(syntax.variables.size(), 0);
  uint64_t needed = 0;
  for (const ptx::Variable &variable : syntax.variables)
    if (variable.space == Space::Global || variable.space == Space::Const) {
      needed += variable.bytes; // of each at most 2^32
      if (impl->memoryLimit && needed > impl->memoryLimit)
        return Error("line " + std::to_string(variable.line) +
                     ": the module's variables need more than " +
                     std::to_string(impl->memoryLimit) + " bytes");
    }
  for (size_t i = 0; i < syntax.variables.size(); ++i) {
    const ptx::Variable &variable = syntax.variables[i];
    if ((variable.space != Space::Global && variable.space != Space::Const) ||
        variable.isExtern)
      continue;
    addresses[i] =
        allocate(std::max<uint64_t>(variable.bytes, 1), variable.name, true);
    if (!variable.init.empty())
      (void)write(addresses[i], variable.init.data(),
                  std::min<uint64_t>(variable.init.size(), variable.bytes));
  }
  for (size_t i = 0; i < syntax.variables.size(); ++i)
    for (const auto &[offset, name] : syntax.variables[i].relocations) {
      uint64_t target = 0;
      for (size_t j = 0; j < syntax.variables.size(); ++j)
        if (syntax.variables[j].name == name)
          target = addresses[j];
      if (!target)
        return Error("line " + std::to_string(syntax.variables[i].line) +
                     ": the address of '" + name +
                     "' in an initialiser is not supported by the emulator");
      uint64_t addend = 0;
      (void)read(addresses[i] + offset, &addend, 8);
      target += addend;
      (void)write(addresses[i] + offset, &target, 8);
    }
  for (const ptx::Function &function : syntax.functions) {
    if (!function.isEntry)
      continue; // only what is called matters
    module->impl->kernels.emplace_back();
    ptx::Function inlined;
    if (Error error = ptx::inlineCalls(syntax, function, inlined))
      return error;
    if (Error error = decodeKernel(
            syntax, inlined, [&](uint32_t i) { return addresses[i]; },
            module->impl->kernels.back()))
      return error;
  }
  result = std::move(module);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static void markWritten(Allocation &allocation, uint64_t offset, uint64_t bytes,
                        bool isWritten) {
  if (!allocation.written.empty())
    (isWritten ? setBits : clearBits)(allocation.written, offset, bytes);
}

uint64_t Machine::allocate(uint64_t bytes, const std::string &name,
                           bool isInitialised) {
  return impl->memory.allocate(bytes, name, isInitialised);
}

uint64_t Machine::mapHost(void *host, uint64_t bytes, const std::string &name,
                          bool isInitialised) {
  return impl->memory.map(host, bytes, name, isInitialised);
}

Error Machine::release(uint64_t address) {
  return impl->memory.release(address)
             ? Error::success()
             : Error("release: no allocation begins there: " +
                     impl->memory.describe(address));
}

Error Machine::write(uint64_t address, const void *from, uint64_t bytes) {
  Allocation *allocation = nullptr;
  uint8_t *to = impl->memory.at(address, bytes, &allocation);
  if (!to)
    return Error("write of " + std::to_string(bytes) +
                 " bytes is out of bounds: " + impl->memory.describe(address));
  if (bytes)
    std::memcpy(to, from, bytes);
  markWritten(*allocation, address - allocation->base, bytes, true);
  return Error::success();
}

Error Machine::read(uint64_t address, void *to, uint64_t bytes) const {
  const uint8_t *from = impl->memory.at(address, bytes);
  if (!from)
    return Error("read of " + std::to_string(bytes) +
                 " bytes is out of bounds: " + impl->memory.describe(address));
  if (bytes)
    std::memcpy(to, from, bytes);
  return Error::success();
}

Error Machine::fill(uint64_t address, uint8_t value, uint64_t bytes) {
  Allocation *allocation = nullptr;
  uint8_t *to = impl->memory.at(address, bytes, &allocation);
  if (!to)
    return Error("fill of " + std::to_string(bytes) +
                 " bytes is out of bounds: " + impl->memory.describe(address));
  std::memset(to, value, bytes);
  markWritten(*allocation, address - allocation->base, bytes, true);
  return Error::success();
}

Error Machine::markUninitialised(uint64_t address, uint64_t bytes) {
  Allocation *allocation = nullptr;
  if (!impl->memory.at(address, bytes, &allocation))
    return Error("markUninitialised of " + std::to_string(bytes) +
                 " bytes is out of bounds: " + impl->memory.describe(address));
  if (allocation->written.empty()) {
    allocation->written = ByteBits((allocation->bytes + 7) / 8);
    markWritten(*allocation, 0, allocation->bytes, true);
  }
  markWritten(*allocation, address - allocation->base, bytes, false);
  return Error::success();
}

Error Machine::setReadOnly(uint64_t address, bool isReadOnly) {
  Allocation *allocation = impl->memory.find(address);
  if (!allocation || !allocation->isLive)
    return Error("setReadOnly: " + impl->memory.describe(address));
  allocation->isReadOnly = isReadOnly;
  return Error::success();
}

uint64_t Machine::firstUnwritten(uint64_t address, uint64_t bytes) const {
  Allocation *allocation = nullptr;
  if (!impl->memory.at(address, bytes, &allocation) ||
      allocation->written.empty())
    return bytes;
  return emulator::firstUnwritten(*allocation, address - allocation->base,
                                  bytes);
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

static constexpr const char *checkNames[numChecks] = {
    "in-flight",        "still-read",    "proxy-fence",    "product-registers",
    "product-fence",    "uninitialised", "race",           "bounds",
    "alignment",        "mbarrier-use",  "mbarrier-bytes", "mbarrier-arrivals",
    "mbarrier-phase",   "named-barrier", "descriptor",     "work-at-end",
    "dependent-launch", "deadlock",      "step-limit"};

const char *checkName(Check check) {
  return checkNames[static_cast<unsigned>(check)];
}

Error parseLaunchOptions(const std::string &text, LaunchOptions &options) {
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    if (item.empty())
      continue;
    size_t equals = item.find('=');
    std::string key = item.substr(0, equals);
    std::string value =
        equals == std::string::npos ? "" : item.substr(equals + 1);
    bool isNumber = !value.empty() && value.size() < 19 &&
                    value.find_first_not_of("0123456789") == std::string::npos;
    uint64_t number = isNumber ? std::stoull(value) : 0;
    if (key == "order" && (value == "in-order" || value == "inorder"))
      options.order = Order::InOrder;
    else if (key == "order" && value == "random")
      options.order = Order::Random;
    else if (key == "order" && value == "adversarial")
      options.order = Order::Adversarial;
    else if (key == "checks" && (value == "on" || value == "off"))
      options.checks = value == "on";
    else if (key == "strict" && (value == "on" || value == "off"))
      options.strict = value == "on";
    else if (key == "tensor-fences" && (value == "on" || value == "off"))
      options.tensorFences = value == "on";
    else if (auto *found = std::find(checkNames, checkNames + numChecks, value);
             key == "without" && found != checkNames + numChecks)
      options.disabledChecks |= 1u << (found - checkNames);
    else if (key == "seed" && isNumber)
      options.seed = number;
    else if (key == "steps" && isNumber)
      options.stepLimit = number;
    else if (key == "sms" && number >= 1 && number <= 1024)
      options.multiprocessors = static_cast<unsigned>(number);
    else if (key == "threads" && number >= 1 && number <= 1024)
      options.threads = static_cast<unsigned>(number);
    else
      return Error("cannot use '" + item +
                   "': expected order=in-order|random|adversarial, "
                   "seed=N, "
                   "checks=on|off, without=CHECK, strict=on|off, "
                   "tensor-fences=on|off, threads=N or sms=N (1 to 1024) or "
                   "steps=N");
  }
  return Error::success();
}

Error Machine::launch(const Module &module, const std::string &name,
                      const LaunchShape &shape,
                      const std::vector<std::vector<uint8_t>> &args,
                      const LaunchOptions &options, Report &report) {
  const Kernel *kernel = findKernel(module.impl->kernels, name);
  if (!kernel)
    return Error("no kernel '" + name + "' in the module");
  if (args.size() != kernel->params.size())
    return Error("kernel '" + name + "' expects " +
                 std::to_string(kernel->params.size()) +
                 " arguments, but got " + std::to_string(args.size()));
  std::vector<uint8_t> block(kernel->paramBytes);
  for (size_t i = 0; i < args.size(); ++i) {
    const KernelParam &param = kernel->params[i];
    if (args[i].size() != param.bytes)
      return Error("kernel '" + name + "': argument " + std::to_string(i) +
                   " expects " + std::to_string(param.bytes) +
                   " bytes, but got " + std::to_string(args[i].size()));
    std::copy(args[i].begin(), args[i].end(),
              block.begin() + static_cast<long>(param.offset));
  }
  return launchBlock(module, name, shape, block, options, report);
}

/// "4-11 multiply" to names of warps.
static void assignRoles(const std::vector<std::string> &roles,
                        std::vector<std::string> &names) {
  for (const std::string &role : roles) {
    unsigned first = 0, last = 0;
    int used = 0;
    if (std::sscanf(role.c_str(), "%u-%u %n", &first, &last, &used) < 2 ||
        used == 0) {
      used = 0;
      if (std::sscanf(role.c_str(), "%u %n", &first, &used) < 1 || used == 0)
        continue;
      last = first;
    }
    for (unsigned w = first; w <= last && w < names.size(); ++w)
      names[w] = role.substr(static_cast<size_t>(used));
  }
}

static Error checkShape(const Kernel &kernel, const LaunchShape &shape) {
  std::string prefix = "kernel '" + kernel.name + "': ";
  auto text = [](const Extent3 &e) {
    return std::to_string(e.x) + "x" + std::to_string(e.y) + "x" +
           std::to_string(e.z);
  };
  uint64_t threads = shape.block.count();
  if (threads == 0 || threads > 1024)
    return Error(prefix + "expects 1 to 1024 threads in a CTA, but got " +
                 std::to_string(threads));
  if (shape.grid.count() == 0 || shape.grid.x > 0x7fffffff ||
      shape.grid.y > 65535 || shape.grid.z > 65535)
    return Error(prefix + "the grid " + text(shape.grid) +
                 " cannot be launched");
  if (shape.grid.count() > 0x7fffffff)
    return Error(prefix + "the grid " + text(shape.grid) + " has " +
                 std::to_string(shape.grid.count()) +
                 " CTAs, but the emulator counts up to 2^31 - 1");
  if (shape.cluster.count() == 0 || shape.cluster.count() > 16)
    return Error(prefix + "expects clusters of 1 to 16 CTAs, but got " +
                 text(shape.cluster));
  if (shape.grid.x % shape.cluster.x || shape.grid.y % shape.cluster.y ||
      shape.grid.z % shape.cluster.z)
    return Error(prefix + "the grid " + text(shape.grid) +
                 " is not a multiple of the cluster " + text(shape.cluster));
  auto differs = [](const uint32_t (&required)[3], const Extent3 &e) {
    return required[0] &&
           (required[0] != e.x || required[1] != e.y || required[2] != e.z);
  };
  if (differs(kernel.requiredThreads, shape.block))
    return Error(prefix + "was compiled for a CTA of " +
                 std::to_string(kernel.requiredThreads[0]) +
                 " threads (.reqntid), but the launch has " +
                 text(shape.block));
  if (differs(kernel.requiredCluster, shape.cluster))
    return Error(prefix + "was compiled for a cluster of " +
                 std::to_string(kernel.requiredCluster[0]) + "x" +
                 std::to_string(kernel.requiredCluster[1]) + "x" +
                 std::to_string(kernel.requiredCluster[2]) +
                 " (.reqnctapercluster), but the launch has " +
                 text(shape.cluster));
  if (kernel.maxThreads[0] && threads > uint64_t(kernel.maxThreads[0]) *
                                            kernel.maxThreads[1] *
                                            kernel.maxThreads[2])
    return Error(prefix + "was compiled for fewer than " +
                 std::to_string(threads) + " threads (.maxntid)");
  uint64_t smem =
      uint64_t(kernel.dynamicOffset - sharedBase) + shape.dynamicSmemBytes;
  if (smem > maxSmemBytes)
    return Error(prefix + "needs " + std::to_string(smem) +
                 " bytes of shared memory, more than the " +
                 std::to_string(maxSmemBytes) + " of a CTA");
  return Error::success();
}

namespace {

/// Runs a launch's clusters on some host threads.
class Runner {
public:
  Runner(Launch &launch, unsigned threads, uint32_t residentClusters)
      : launch(launch), numThreads(threads), residentClusters(residentClusters),
        stalledAt(threads, ~uint64_t(0)) {}

  void run() {
    if (numThreads == 1) {
      runThread(0);
      return;
    }
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < numThreads; ++t)
      pool.emplace_back([this, t] { runThread(t); });
    for (std::thread &thread : pool)
      thread.join();
  }

private:
  Launch &launch;
  unsigned numThreads;
  uint32_t residentClusters;
  std::mutex mutex;
  /// Per thread: the progress at which it last stalled; ~0 while it runs.
  std::vector<uint64_t> stalledAt;

  void runThread(unsigned t) {
    Executor executor(launch);
    std::vector<std::unique_ptr<Cluster>> clusters;
    uint32_t share = residentClusters / numThreads +
                     (t < residentClusters % numThreads ? 1 : 0);
    share = std::max(share, 1u);
    uint64_t reported =
        0; // progress of this thread's clusters in launch.progress
    uint64_t finished = 0;
    unsigned stalls = 0;
    uint64_t random = launch.options.seed * 2 + t;
    while (!launch.stop.load()) {
      while (clusters.size() < share) {
        uint32_t next = launch.nextCluster.fetch_add(1);
        if (next >= launch.numClusters) {
          launch.nextCluster.store(launch.numClusters);
          break;
        }
        clusters.push_back(executor.makeCluster(next));
      }
      if (clusters.empty())
        break;
      bool anyMoved = false;
      // Which CTA comes first is part of the order.
      if (launch.options.order != Order::InOrder)
        for (size_t i = clusters.size(); i > 1; --i) {
          random = random * 6364136223846793005ull + 1442695040888963407ull;
          std::swap(clusters[i - 1], clusters[(random >> 33) % i]);
        }
      for (size_t i = 0; i < clusters.size() && !launch.stop.load();) {
        Cluster &cluster = *clusters[i];
        uint64_t before = cluster.progress;
        Executor::Status status = executor.runCluster(cluster);
        anyMoved |=
            cluster.progress != before || status == Executor::Status::Yielded;
        if (status == Executor::Status::Done && !launch.stop.load()) {
          finished += cluster.progress + 1;
          clusters.erase(clusters.begin() + static_cast<long>(i));
          anyMoved = true;
        } else {
          ++i;
        }
      }
      uint64_t sum = finished;
      for (const auto &cluster : clusters)
        sum += cluster->progress;
      launch.progress.fetch_add(sum - reported);
      reported = sum;
      if (anyMoved) {
        std::lock_guard<std::mutex> lock(mutex);
        stalledAt[t] = ~uint64_t(0);
        stalls = 0;
        continue;
      }
      if (handleStall(t, executor, clusters, stalls))
        break;
    }
    if (!launch.stop.load()) {
      std::lock_guard<std::mutex> lock(mutex);
      stalledAt[t] = ~uint64_t(0) - 1; // finished
    }
    executor.finish();
  }

  /// All of this thread's clusters wait. True when the launch is over.
  bool handleStall(unsigned t, Executor &executor,
                   std::vector<std::unique_ptr<Cluster>> &clusters,
                   unsigned &stalls) {
    bool allStalled = true;
    for (auto &cluster : clusters)
      allStalled &= executor.spinsForever(*cluster);
    {
      std::lock_guard<std::mutex> lock(mutex);
      uint64_t now = launch.progress.load();
      stalledAt[t] = allStalled ? now : ~uint64_t(0);
      for (uint64_t at : stalledAt)
        allStalled &= at == now || at == ~uint64_t(0) - 1;
    }
    if (!allStalled) {
      stalls = 0;
      std::this_thread::yield();
      return false;
    }
    // A wait may end by its time limit: let each try a few times.
    if (++stalls <= 3) {
      for (auto &cluster : clusters)
        executor.timeOutWaits(*cluster);
      return false;
    }
    std::string text;
    unsigned shown = 0;
    for (auto &cluster : clusters)
      if (++shown <= 4)
        text += executor.describeWaits(*cluster);
    if (clusters.size() > 4)
      text +=
          "\n  and " + std::to_string(clusters.size() - 4) + " more clusters";
    if (launch.options.isOn(Check::Deadlock))
      launch.fail("kernel '" + launch.kernel->name +
                  "': deadlock: no warp can go on and nothing is in flight" +
                  text);
    launch.stop.store(true);
    return true;
  }
};

} // namespace

Error Machine::launchBlock(const Module &module, const std::string &name,
                           const LaunchShape &shape,
                           const std::vector<uint8_t> &params,
                           const LaunchOptions &options, Report &report) {
  report = Report();
  const Kernel *kernel = findKernel(module.impl->kernels, name);
  if (!kernel)
    return Error("no kernel '" + name + "' in the module");
  if (params.size() != kernel->paramBytes)
    return Error("kernel '" + name + "' expects a parameter block of " +
                 std::to_string(kernel->paramBytes) + " bytes, but got " +
                 std::to_string(params.size()));
  if (Error error = checkShape(*kernel, shape))
    return error;

  Launch launch;
  launch.memory = &impl->memory;
  launch.kernel = kernel;
  launch.table = laneTable();
  launch.shape = shape;
  launch.options = options;
  launch.params = params;
  launch.classCounts.assign(256, 0);
  launch.waitsOfWarp.assign((shape.block.count() + 31) / 32, 0);
  if (options.profile)
    launch.sites.resize(kernel->lines.size());
  launch.smemEnd = shape.dynamicSmemBytes
                       ? kernel->dynamicOffset + shape.dynamicSmemBytes
                       : kernel->sharedBytes;
  auto threads = static_cast<uint32_t>(shape.block.count());
  launch.warpRoles.resize((threads + 31) / 32);
  assignRoles(options.roles, launch.warpRoles);
  launch.launchRegisters =
      options.registersPerThread ? options.registersPerThread
      : kernel->maxRegisters
          ? kernel->maxRegisters
          : std::min(255u, 65536u / ((threads + 31) / 32 * 32) / 8 * 8);
  launch.numClusters =
      static_cast<uint32_t>(shape.grid.count() / shape.cluster.count());
  uint32_t resident =
      options.residentCtas ? options.residentCtas : options.multiprocessors;
  auto residentClusters = static_cast<uint32_t>(
      resident / static_cast<uint32_t>(shape.cluster.count()));
  if (options.cooperative && residentClusters < launch.numClusters)
    return Error(
        "kernel '" + name + "': a cooperative grid of " +
        std::to_string(shape.grid.count()) + " CTAs" +
        (shape.cluster.count() == 1
             ? ""
             : " in clusters of " + std::to_string(shape.cluster.count())) +
        " does not fit the machine's " + std::to_string(resident));
  residentClusters =
      std::clamp<uint32_t>(residentClusters, 1, launch.numClusters);
  if (options.memoryLimit) {
    // Shadows take four times what they shadow.
    uint64_t perCta = uint64_t(launch.smemEnd) * (options.checks ? 5 : 1) +
                      launch.warpRoles.size() *
                          (kernel->registerBytes + 32 * kernel->localBytes);
    uint64_t need = perCta * shape.cluster.count() * residentClusters;
    if (need > options.memoryLimit)
      return Error("kernel '" + name + "': its resident CTAs need " +
                   std::to_string(need) + " bytes, more than the limit of " +
                   std::to_string(options.memoryLimit));
  }
  unsigned hostThreads =
      std::max(1u, std::min(options.threads, residentClusters));
  launch.id = impl->launches++ % shadow::numLaunchIds + 1;
  launch.overlapped = options.dependent ? impl->lastLaunch : 0;
  impl->lastLaunch = launch.id;
  launch.checks = options.checks;
  for (auto &allocation : impl->memory.all()) {
    if (!allocation || !allocation->isLive || allocation->isReadOnly)
      continue;
    if (!options.checks) {
      // From here on nobody knows what was written.
      ByteBits().swap(allocation->written);
    } else if (allocation->bytes && (!allocation->writers || launch.id == 1)) {
      // Zeroed pages that are touched only where kernels write. Numbers of
      // launches come again: what older ones wrote is forgotten then.
      for (auto *words : {&allocation->writers, &allocation->readers})
        words->reset(static_cast<std::atomic<uint64_t> *>(
            std::calloc(allocation->bytes / 4 + 1, sizeof(uint64_t))));
    }
  }
  auto &allocations = impl->memory.all();
  if (options.profile) {
    launch.touched.resize(allocations.size());
    for (size_t i = 0; i < allocations.size(); ++i)
      if (allocations[i] && allocations[i]->isLive)
        for (ByteBits *bits :
             {&launch.touched[i].read, &launch.touched[i].written})
          *bits = ByteBits((allocations[i]->bytes + 7) / 8);
  }
  Runner(launch, hostThreads, residentClusters).run();

  report = launch.report;
  for (size_t i = 0; i < launch.classCounts.size(); ++i)
    if (launch.classCounts[i])
      report.classes.emplace_back(opName(static_cast<Op>(i)),
                                  launch.classCounts[i]);
  report.liveRegisters = kernel->peakRegisters;
  for (size_t i = 0; i < launch.waitsOfWarp.size(); ++i) {
    std::string role = launch.warpRoles[i].empty() ? "warp " + std::to_string(i)
                                                   : launch.warpRoles[i];
    auto &list = report.waitsByRole;
    auto found = std::find_if(list.begin(), list.end(), [&](const auto &entry) {
      return entry.first == role;
    });
    if (found != list.end())
      found->second += launch.waitsOfWarp[i];
    else if (launch.waitsOfWarp[i])
      list.emplace_back(role, launch.waitsOfWarp[i]);
  }
  for (size_t i = 0; i < launch.sites.size(); ++i)
    if (launch.sites[i].accesses) {
      launch.sites[i].line = kernel->lines[i];
      launch.sites[i].instruction = kernel->texts[i];
      report.sharedSites.push_back(launch.sites[i]);
    }
  for (size_t i = 0; i < launch.touched.size(); ++i) {
    uint64_t read = countBits(launch.touched[i].read),
             written = countBits(launch.touched[i].written);
    if (read || written)
      report.buffers.push_back(
          {allocations[i]->name, allocations[i]->bytes, read, written});
  }
  return launch.error.empty() ? Error::success() : Error(launch.error);
}

} // namespace backfuse::emulator
