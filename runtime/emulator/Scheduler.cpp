//===- Scheduler.cpp - Which warp runs, what completes --------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// A host thread runs its clusters one after the other, each as far as it gets:
// to its end, or until all its warps wait for something outside the cluster
// (or spin on device memory). The order of the launch decides how long a warp
// runs and when copies complete:
//  - in order: warps in turn; what was issued completes when the warp stops;
//  - random: short slices of random warps, completions at random;
//  - adversarial: the warp of highest (seeded) priority runs until it must
//    wait; a copy completes only when no warp can run, and then one that a
//    waiting warp needs.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

#include <algorithm>
#include <cstring>

namespace backfuse::emulator {

Executor::Executor(Launch &launch)
    : launch(launch), kernel(*launch.kernel), table(*launch.table),
      constants(launch.kernel->constants.data()), checks(launch.checks) {
  classCounts.assign(256, 0);
  waitsOfWarp.assign(launch.warpRoles.size(), 0);
  if (launch.options.profile)
    banks.resize(kernel.code.size());
}

void Executor::finish() {
  std::lock_guard<std::mutex> lock(launch.mutex);
  Report &to = launch.report;
  to.instructions += counts.instructions;
  to.laneInstructions += counts.laneInstructions;
  to.tensorInstructions += counts.tensorInstructions;
  to.tensorOperations += counts.tensorOperations;
  to.bulkBytesLoaded += counts.bulkBytesLoaded;
  to.bulkBytesStored += counts.bulkBytesStored;
  to.globalBytesLoaded += counts.globalBytesLoaded;
  to.globalBytesStored += counts.globalBytesStored;
  to.sharedBytesLoaded += counts.sharedBytesLoaded;
  to.sharedBytesStored += counts.sharedBytesStored;
  to.barrierWaits += counts.barrierWaits;
  to.ctas += counts.ctas;
  for (size_t i = 0; i < classCounts.size(); ++i)
    launch.classCounts[i] += classCounts[i];
  for (size_t i = 0; i < waitsOfWarp.size(); ++i)
    launch.waitsOfWarp[i] += waitsOfWarp[i];
  for (size_t i = 0; i < banks.size(); ++i) {
    Report::SharedSite &site = launch.sites[kernel.code[i].source];
    site.accesses += banks[i].accesses;
    site.wavefronts += banks[i].wavefronts;
    site.ideal += banks[i].ideal;
  }
}

/// 32 banks of 4 bytes: threads whose accesses fill 128 bytes are served
/// together, as often as there are different words in one bank.
void Executor::countBanks(const Inst &inst, const uint32_t (&addresses)[32],
                          uint32_t mask, unsigned bytes) {
  Banks &site = banks[static_cast<size_t>(&inst - kernel.code.data())];
  ++site.accesses;
  const unsigned group = bytes <= 4 ? 32 : 128 / bytes;
  for (unsigned first = 0; first < 32; first += group) {
    uint32_t words[32 * 4];
    unsigned count = 0;
    for (unsigned lane = first; lane < first + group; ++lane)
      if (mask >> lane & 1)
        for (unsigned w = 0; w < (bytes + 3) / 4; ++w)
          words[count++] = addresses[lane] / 4 + w;
    if (!count)
      continue;
    std::sort(words, words + count);
    count = static_cast<unsigned>(std::unique(words, words + count) - words);
    unsigned perBank[32] = {}, most = 0;
    for (unsigned i = 0; i < count; ++i)
      most = std::max(most, ++perBank[words[i] % 32]);
    site.wavefronts += most;
    ++site.ideal;
  }
}

std::unique_ptr<Cluster> Executor::makeCluster(uint32_t linear) {
  const LaunchShape &shape = launch.shape;
  auto cluster = std::make_unique<Cluster>();
  cluster->launch = &launch;
  cluster->linear = linear;
  uint32_t nx = shape.grid.x / shape.cluster.x,
           ny = shape.grid.y / shape.cluster.y;
  cluster->index = {linear % nx, linear / nx % ny, linear / (nx * ny)};
  cluster->random = (launch.options.seed + 1) * 0x9e3779b97f4a7c15ull +
                    (linear + 1) * 0xbf58476d1ce4e5b9ull;
  if (!cluster->random)
    cluster->random = 1;
  auto threads = static_cast<uint32_t>(shape.block.count());
  unsigned numWarps = (threads + 31) / 32;
  for (uint32_t rank = 0; rank < shape.cluster.count(); ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = cluster.get();
    cta->rank = rank;
    cta->index.x = cluster->index.x * shape.cluster.x + rank % shape.cluster.x;
    cta->index.y = cluster->index.y * shape.cluster.y +
                   rank / shape.cluster.x % shape.cluster.y;
    cta->index.z = cluster->index.z * shape.cluster.z +
                   rank / (shape.cluster.x * shape.cluster.y);
    cta->linear = (cta->index.z * shape.grid.y + cta->index.y) * shape.grid.x +
                  cta->index.x;
    cta->smemEnd = launch.smemEnd;
    cta->smem.assign(launch.smemEnd, 0xcd); // what earlier work left there
    cta->liveWarps = numWarps;
    if (checks) {
      cta->shadow = std::make_unique<SharedShadow>();
      cta->shadow->words.assign(launch.smemEnd / 4 + 1, 0);
      cta->shadow->sites.assign(launch.smemEnd / 4 + 1, 0);
      cta->shadow->reads.assign(launch.smemEnd / 4 + 1, 0);
    }
    if (kernel.ctaGroup) {
      cta->tensor = std::make_unique<TensorMemory>();
      cta->tensor->words.assign(
          TensorMemory::numLanes * TensorMemory::numColumns, ~0u);
      if (checks)
        cta->tensor->cells.resize(TensorMemory::numColumns *
                                  TensorMemory::cellsPerColumn);
    }
    for (unsigned w = 0; w < numWarps; ++w) {
      auto warp = std::make_unique<Warp>();
      warp->cta = cta.get();
      warp->index = w;
      uint32_t count = std::min(32u, threads - 32 * w);
      warp->lanes = count == 32 ? ~0u : (1u << count) - 1;
      warp->registers = launch.launchRegisters;
      warp->clusterIndex = rank * numWarps + w;
      cta->warps.push_back(std::move(warp));
      cluster->totalLanes += count;
    }
    cluster->ctas.push_back(std::move(cta));
    ++counts.ctas;
  }
  unsigned total = numWarps * static_cast<unsigned>(shape.cluster.count());
  for (unsigned i = 0; i < total; ++i)
    cluster->priority.push_back(i);
  if (launch.options.order != Order::InOrder)
    for (unsigned i = total; i > 1; --i)
      std::swap(cluster->priority[i - 1],
                cluster->priority[nextRandom(*cluster) % i]);
  return cluster;
}

static bool canRun(const Warp &warp) {
  if (warp.isDone)
    return false;
  if (warp.fragments.empty())
    return !warp.storage; // has not started
  for (const Fragment &fragment : warp.fragments)
    if (fragment.wait == Wait::None)
      return true;
  return false;
}

Warp *Executor::pickWarp(Cluster &cluster, bool spinning) {
  auto perCta = static_cast<unsigned>(cluster.ctas[0]->warps.size());
  auto total = static_cast<unsigned>(cluster.priority.size());
  auto warpAt = [&](unsigned i) {
    return cluster.ctas[i / perCta]->warps[i % perCta].get();
  };
  auto usable = [&](const Warp &warp) {
    return canRun(warp) && warp.isSpinning == spinning;
  };
  switch (launch.options.order) {
  case Order::InOrder:
    for (unsigned i = 0; i < total; ++i) {
      unsigned at = (cluster.nextWarp + i) % total;
      if (usable(*warpAt(at))) {
        cluster.nextWarp = (at + 1) % total;
        return warpAt(at);
      }
    }
    return nullptr;
  case Order::Random: {
    auto start = static_cast<unsigned>(nextRandom(cluster) % total);
    for (unsigned i = 0; i < total; ++i)
      if (usable(*warpAt((start + i) % total)))
        return warpAt((start + i) % total);
    return nullptr;
  }
  case Order::Adversarial:
    if (nextRandom(cluster) % 256 == 0) {
      auto a = nextRandom(cluster) % total, b = nextRandom(cluster) % total;
      std::swap(cluster.priority[a], cluster.priority[b]);
    }
    for (unsigned i : cluster.priority)
      if (usable(*warpAt(i)))
        return warpAt(i);
    return nullptr;
  }
  return nullptr;
}

/// Whether the launch must stop: after `steps` instructions, or by request.
bool Executor::isOver(Cluster &cluster, uint64_t steps) {
  if (launch.options.interrupt && launch.options.interrupt->load()) {
    launch.fail("kernel '" + kernel.name + "': interrupted after " +
                std::to_string(steps) + " instructions" +
                describeWaits(cluster));
    return true;
  }
  if (!launch.options.stepLimit || steps <= launch.options.stepLimit ||
      !isOn(Check::StepLimit))
    return false;
  launch.fail("kernel '" + kernel.name + "': the limit of " +
              std::to_string(launch.options.stepLimit) +
              " instructions is reached" + describeWaits(cluster));
  return true;
}

Executor::Status Executor::runCluster(Cluster &cluster) {
  constexpr uint64_t longSlice = 20000;
  const Order order = launch.options.order;
  unsigned slices = 0;
  while (!launch.stop.load(std::memory_order_relaxed)) {
    if (Warp *warp = pickWarp(cluster, false)) {
      uint64_t before = counts.instructions;
      runWarp(*warp, order == Order::Random ? 1 + nextRandom(cluster) % 200
                                            : longSlice);
      completeAfterSlice(cluster);
      uint64_t all = launch.steps.fetch_add(counts.instructions - before,
                                            std::memory_order_relaxed);
      if (isOver(cluster, all))
        break;
      if (order == Order::Random && ++slices >= 64)
        return Status::Yielded;
      continue;
    }
    bool isDone = true;
    for (const auto &cta : cluster.ctas)
      isDone &= cta->liveWarps == 0;
    if (isDone) {
      while (!launch.stop.load(std::memory_order_relaxed) &&
             completeSome(cluster)) {
      }
      return Status::Done;
    }
    // Only spinning warps are left: each gets a turn, then work in flight
    // moves.
    uint64_t before = cluster.progress;
    bool spun = false;
    for (const auto &cta : cluster.ctas)
      for (const auto &warp : cta->warps)
        if (canRun(*warp) && warp->isSpinning) {
          uint64_t instructions = counts.instructions;
          runWarp(*warp, 2000);
          uint64_t executed = counts.instructions - instructions;
          uint64_t all =
              launch.steps.fetch_add(executed, std::memory_order_relaxed);
          noteSpin(*warp, executed);
          spun = true;
          if (isOver(cluster, all))
            return Status::Stalled;
        }
    if (spun && cluster.progress != before) {
      for (const auto &cta : cluster.ctas)
        for (const auto &warp : cta->warps)
          warp->isSpinning = false;
      continue;
    }
    bool nowRuns = false;
    for (const auto &cta : cluster.ctas)
      for (const auto &warp : cta->warps)
        nowRuns |= canRun(*warp) && !warp->isSpinning;
    if (nowRuns || completeSome(cluster))
      continue;
    return Status::Stalled;
  }
  return Status::Stalled;
}

/// A warp that others see nothing of may poll memory or compute for long. It
/// polls in vain if it comes to a state again that it was in since anything
/// moved (Brent's method: compare with the state at the last power of two), or
/// if it went on for very long: loops with counters come to new states.
void Executor::noteSpin(Warp &warp, uint64_t executed) {
  constexpr uint64_t patience = 1'000'000'000;
  uint64_t progress = launch.progress.load() + warp.cta->cluster->progress;
  if (warp.spinProgress != progress || !warp.isSpinning) {
    warp.spinsForever = false;
    warp.spinProgress = progress;
    warp.spinHash = warp.spinTurns = warp.spinInstructions = 0;
    warp.spinPower = 1;
    return;
  }
  uint64_t hash = 14695981039346656037ull;
  auto mix = [&](const void *data, size_t bytes) {
    auto *at = static_cast<const uint8_t *>(data);
    for (; bytes >= 8; bytes -= 8, at += 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      hash = (hash ^ word) * 1099511628211ull;
      hash ^= hash >> 32;
    }
    for (; bytes; --bytes, ++at)
      hash = (hash ^ *at) * 1099511628211ull;
  };
  for (const Fragment &fragment : warp.fragments) {
    mix(&fragment.pc, sizeof fragment.pc);
    mix(&fragment.mask, sizeof fragment.mask);
    mix(&fragment.wait, sizeof fragment.wait);
  }
  mix(warp.regs, kernel.registerBytes);
  mix(warp.preds, kernel.numPredicates * sizeof *warp.preds);
  mix(warp.local.data(), warp.local.size());
  warp.spinInstructions += executed;
  if ((warp.spinTurns && hash == warp.spinHash) ||
      warp.spinInstructions > patience)
    warp.spinsForever = true;
  if (++warp.spinTurns == warp.spinPower) {
    warp.spinHash = hash;
    warp.spinPower *= 2;
  }
}

bool Executor::spinsForever(const Cluster &cluster) const {
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      if (canRun(*warp) &&
          !(warp->spinsForever &&
            warp->spinProgress == launch.progress.load() + cluster.progress))
        return false;
  return true;
}

bool Executor::timeOutWaits(Cluster &cluster) {
  bool any = false;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      for (Fragment &fragment : warp->fragments)
        if (fragment.wait == Wait::Mbarrier) {
          wake(*warp, fragment);
          fragment.timedOut = true;
          any = true;
        }
  return any;
}

std::string describePlace(const Warp &warp, const Inst &inst, int lane) {
  const Launch &launch = *warp.cta->cluster->launch;
  const Kernel &kernel = *launch.kernel;
  std::string text = "kernel '" + kernel.name + "', PTX line " +
                     std::to_string(kernel.lines[inst.source]) + " ('" +
                     kernel.texts[inst.source] + "'";
  if (!kernel.sources[inst.source].empty())
    text += ", " + kernel.sources[inst.source];
  text += "), CTA " + std::to_string(warp.cta->linear) + ", warp " +
          std::to_string(warp.index);
  if (warp.index < launch.warpRoles.size() &&
      !launch.warpRoles[warp.index].empty())
    text += " (" + launch.warpRoles[warp.index] + ")";
  if (lane >= 0)
    text += ", lane " + std::to_string(lane);
  return text;
}

std::string Executor::describeWaits(Cluster &cluster) const {
  std::string text;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps) {
      if (warp->isDone)
        continue;
      for (const Fragment &fragment : warp->fragments) {
        uint32_t pc = fragment.pc;
        bool isBehind = fragment.wait == Wait::NamedBarrier;
        const Inst &inst = kernel.code[isBehind ? pc - 1 : pc];
        text += "\n  CTA " + std::to_string(cta->linear) + ", warp " +
                std::to_string(warp->index);
        if (warp->index < launch.warpRoles.size() &&
            !launch.warpRoles[warp->index].empty())
          text += " (" + launch.warpRoles[warp->index] + ")";
        if (fragment.mask != warp->lanes) {
          char mask[32];
          std::snprintf(mask, sizeof mask, ", lanes 0x%x", fragment.mask);
          text += mask;
        }
        text += " at PTX line " + std::to_string(kernel.lines[inst.source]) +
                " ('" + kernel.texts[inst.source] + "') ";
        char key[64];
        switch (fragment.wait) {
        case Wait::None:
          text += warp->isSpinning ? "spins" : "runs";
          break;
        case Wait::Converge:
          text += "waits for other lanes of the warp";
          break;
        case Wait::Mbarrier: {
          uint64_t bits =
              readMbarrier(*cta, static_cast<uint32_t>(fragment.key));
          std::snprintf(key, sizeof key, "waits for the mbarrier at 0x%llx",
                        static_cast<unsigned long long>(fragment.key));
          text += key;
          text += " (" + std::to_string(mbarrier::pending(bits)) + " of " +
                  std::to_string(mbarrier::expected(bits)) + " arrivals and " +
                  std::to_string(mbarrier::tx(bits)) +
                  " bytes are missing, parity " +
                  std::to_string(mbarrier::parity(bits)) + ")";
          break;
        }
        case Wait::NamedBarrier: {
          const NamedBarrier &barrier = cta->barriers[fragment.key];
          text +=
              "waits at barrier " + std::to_string(fragment.key) + " (" +
              std::to_string(barrier.arrived) + " of " +
              (barrier.expected ? std::to_string(barrier.expected) : "all") +
              " threads have arrived)";
          break;
        }
        case Wait::ClusterBarrier:
          text += "waits at the cluster barrier";
          break;
        case Wait::BulkGroup:
          text += "waits for bulk copies";
          break;
        case Wait::CpAsyncGroup:
          text += "waits for cp.async";
          break;
        case Wait::WarpgroupPeers:
          text += "waits for the other warps of its warpgroup to issue the "
                  "same wgmma";
          break;
        case Wait::TensorLoads:
          text += "waits for tcgen05.ld";
          break;
        case Wait::TensorStores:
          text += "waits for tcgen05.st";
          break;
        case Wait::TensorColumns:
          text += "waits for " + std::to_string(fragment.key) +
                  " columns of tensor memory (allocated: " +
                  cta->tensor->describe() + ")";
          break;
        case Wait::TensorPeer:
          text += "waits for the other CTA of the pair to allocate tensor "
                  "memory";
          break;
        case Wait::Registers:
          text += "waits for " + std::to_string(fragment.key) + " registers";
          break;
        }
      }
      if (warp->fragments.empty())
        text += "\n  CTA " + std::to_string(cta->linear) + ", warp " +
                std::to_string(warp->index) + " has not started";
    }
  return text;
}

} // namespace backfuse::emulator
