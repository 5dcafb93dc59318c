//===- Emulator.h - A machine that runs PTX on the CPU ----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// A functional emulator of Hopper: it executes PTX modules on host memory,
// asynchronous units included, and checks what hardware does not. See
// docs/emulator.md for what is modelled.
//
//   Machine machine;
//   std::unique_ptr<Module> module;
//   if (Error error = machine.loadPtx(text, module)) ...
//   uint64_t x = machine.allocate(bytes, "x", /*isInitialised=*/true);
//   machine.write(x, data, bytes);
//   LaunchShape shape;  shape.grid = {132};  shape.block = {384};
//   Report report;
//   if (Error error = machine.launch(*module, "k0", shape, args, {}, report))
//   ...
//
// One launch runs at a time on a machine; a launch may use several threads.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_EMULATOR_H
#define BACKFUSE_RUNTIME_EMULATOR_EMULATOR_H

#include "runtime/emulator/Error.h"
#include "runtime/emulator/TensorMap.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace backfuse::emulator {

struct Extent3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

struct LaunchShape {
  Extent3 grid, block, cluster;
  uint32_t dynamicSmemBytes = 0;
};

/// Single checks of docs/emulator.md, each of which can be switched off by the
/// name that checkName gives. (Those of tensor memory cannot; those of bounds
/// and alignment only for ordinary loads and stores.)
enum class Check : uint8_t {
  InFlight,         ///< bytes of a copy that was not waited for
  StillRead,        ///< overwriting what copies or products still read
  ProxyFence,       ///< ordinary stores read or overwritten by copies, products
  ProductRegisters, ///< accumulators, A used before wgmma.wait_group
  ProductFence,     ///< given to a product without wgmma.fence
  Uninitialised,    ///< memory, registers
  Race,             ///< accesses that nothing orders
  Bounds,
  Alignment,
  MbarrierUse,      ///< before its initialisation is ordered, or as data
  MbarrierBytes,    ///< more than expected
  MbarrierArrivals, ///< more than expected
  MbarrierPhase,    ///< that may come before all lanes saw the last one
  NamedBarrier,     ///< two groups, differing counts
  Descriptor,       ///< of shared memory, strides that cannot be
  WorkAtEnd,        ///< the end with work in flight
  DependentLaunch,  ///< what the launch before wrote, before the wait
  Deadlock,         ///< switched off, the launch just ends
  StepLimit,
};
constexpr unsigned numChecks = 19;
const char *checkName(Check check);

/// When asynchronous work completes and in which order warps run.
enum class Order : uint8_t {
  InOrder,    ///< soon, in the order of issue
  Random,     ///< at random times, in random order
  Adversarial ///< as late as legal; one role runs ahead as far as it can
};

struct LaunchOptions {
  Order order = Order::InOrder;
  uint64_t seed = 0;
  bool checks =
      true; ///< races, uninitialised data, misuse: see docs/emulator.md
  uint32_t disabledChecks = 0; ///< of `checks`: a bit for each Check
  uint64_t stepLimit = 0;      ///< warp instructions; 0 is none
  unsigned threads = 1;        ///< of the host
  unsigned multiprocessors = 132;
  unsigned residentCtas = 0; ///< at most so many at a time; 0: one per
                             ///< multiprocessor
  bool cooperative =
      false; ///< all CTAs must be resident: a larger grid is refused
  /// Checks ask for tcgen05.fence around barriers, as the PTX manual does. Some
  /// compilers leave it to ptxas to keep the order, and emit none.
  bool tensorFences = true;
  /// May overlap the launch before it (programmatic dependent launch): with
  /// checks, touching what that launch wrote before griddepcontrol.wait is an
  /// error.
  bool dependent = false;
  unsigned registersPerThread =
      0; ///< at launch; 0: from .maxnreg or the block's size
  std::vector<std::string> roles; ///< "0-3 load", "4-11 multiply", for messages
  /// Report also what the manual forbids and GPUs tolerate, so that other
  /// compilers do it; docs/emulator.md lists it.
  bool strict = true;
  bool profile = false; ///< fill Report::sharedSites and buffers
  /// The launch stops with an error soon after this becomes true.
  const std::atomic<bool> *interrupt = nullptr;
  uint64_t memoryLimit = 0; ///< bytes of resident CTAs' memory; 0 is none

  bool isOn(Check check) const {
    return !(disabledChecks >> static_cast<unsigned>(check) & 1);
  }
};

/// Sets options from text such as
/// "order=adversarial,seed=3,checks=off,threads=2,steps=1000000,sms=8",
/// "tensor-fences=off,without=race,without=proxy-fence".
Error parseLaunchOptions(const std::string &text, LaunchOptions &options);

/// What a launch did.
struct Report {
  uint64_t instructions = 0;       ///< of warps
  uint64_t laneInstructions = 0;   ///< of threads
  uint64_t tensorInstructions = 0; ///< wgmma of warpgroups
  double tensorOperations = 0;     ///< 2 m n k
  uint64_t bulkBytesLoaded = 0;    ///< by asynchronous bulk copies
  uint64_t bulkBytesStored = 0;
  uint64_t globalBytesLoaded = 0; ///< by ld, atom
  uint64_t globalBytesStored = 0;
  uint64_t sharedBytesLoaded = 0;
  uint64_t sharedBytesStored = 0;
  uint64_t barrierWaits = 0; ///< mbarrier waits that had to wait
  uint64_t ctas = 0;
  std::vector<std::pair<std::string, uint64_t>>
      classes; ///< instructions by class
  /// The same waits by the role of the warp, or "warp 3".
  std::vector<std::pair<std::string, uint64_t>> waitsByRole;
  unsigned liveRegisters = 0; ///< 32-bit registers live at once
  /// An instruction that accesses shared memory, how often warps executed it,
  /// how many times the banks worked for that and how many would have done
  /// without conflicts.
  struct SharedSite {
    unsigned line = 0;
    std::string instruction;
    uint64_t accesses = 0, wavefronts = 0, ideal = 0;
  };
  std::vector<SharedSite> sharedSites;
  /// An allocation of which the launch touched something, and how many of its
  /// bytes were loaded and how many stored, however often.
  struct Buffer {
    std::string name;
    uint64_t bytes = 0, bytesRead = 0, bytesWritten = 0;
  };
  std::vector<Buffer> buffers;
};

/// A loaded PTX module.
class Module {
public:
  Module();
  ~Module();
  std::vector<std::string> kernelNames() const;
  /// Bytes of the parameter block, and where each parameter is in it.
  struct Param {
    std::string name;
    uint64_t offset, bytes;
  };
  Error kernelParams(const std::string &kernel,
                     std::vector<Param> &params) const;
  /// What a launch must respect; extents are 0 where the PTX says nothing.
  struct KernelInfo {
    std::vector<Param> params;
    uint32_t requiredThreads[3], requiredCluster[3], maxThreads[3];
    uint64_t staticSmemBytes, localBytes;
    uint32_t peakRegisters; ///< 32-bit registers live at once
  };
  Error kernelInfo(const std::string &kernel, KernelInfo &info) const;

private:
  friend class Machine;
  struct Impl;
  std::unique_ptr<Impl> impl;
};

class Machine {
public:
  Machine();
  ~Machine();

  /// Parses and decodes all kernels of `ptx` and gives the module's variables
  /// memory. What the emulator does not support is refused here, with line and
  /// instruction.
  Error loadPtx(std::string_view ptx, std::unique_ptr<Module> &module);

  /// Modules whose variables need more are refused; 0 is no limit.
  void setMemoryLimit(uint64_t bytes);
  /// Device memory at an address of its own. Uninitialised memory reads as
  /// 0xff, and reading it before it is written is an error with checks on.
  uint64_t allocate(uint64_t bytes, const std::string &name,
                    bool isInitialised = true);
  /// The same over the caller's memory, which must outlive its use.
  uint64_t mapHost(void *host, uint64_t bytes, const std::string &name,
                   bool isInitialised = true);
  Error release(uint64_t address);
  /// Copies from and to device memory; writing makes bytes initialised.
  Error write(uint64_t address, const void *from, uint64_t bytes);
  Error read(uint64_t address, void *to, uint64_t bytes) const;
  Error fill(uint64_t address, uint8_t value, uint64_t bytes);
  /// Forgets what was written: reading is an error again until it is written.
  Error markUninitialised(uint64_t address, uint64_t bytes);
  /// Whether kernels may write there (inputs are read-only).
  Error setReadOnly(uint64_t address, bool isReadOnly);
  /// The first of these bytes that no one has written; `bytes` if all were.
  uint64_t firstUnwritten(uint64_t address, uint64_t bytes) const;

  /// Runs a kernel to its end. `args`: the bytes of each parameter in order.
  Error launch(const Module &module, const std::string &kernel,
               const LaunchShape &shape,
               const std::vector<std::vector<uint8_t>> &args,
               const LaunchOptions &options, Report &report);
  /// The same with the whole parameter block.
  Error launchBlock(const Module &module, const std::string &kernel,
                    const LaunchShape &shape,
                    const std::vector<uint8_t> &params,
                    const LaunchOptions &options, Report &report);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// The bytes of one argument.
template <class T> std::vector<uint8_t> argument(const T &value) {
  auto *bytes = reinterpret_cast<const uint8_t *>(&value);
  return std::vector<uint8_t>(bytes, bytes + sizeof(T));
}

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_EMULATOR_H
