//===- TensorChecks.cpp - Who may touch tensor memory when ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Each warp has three streams of work on tensor memory: loads, stores, and the
// asynchronous work of its threads (products and copies). A cell knows by whom
// and at which clock of the stream it was written and read last; an access must
// know that this is complete. That is learnt
//  - of one's own loads and stores by tcgen05.wait;
//  - of asynchronous work by waiting for the mbarrier of its commit;
//  - of others' loads and stores through their wait, fence::before_thread_sync,
//    any barrier, and fence::after_thread_sync, which also commits need;
//  - without anything where the manual says that instructions are pipelined.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Machine.h"

namespace backfuse::emulator {

enum : unsigned { loadStream, storeStream, asyncStream };

static uint32_t clockIn(const std::vector<uint32_t> &clocks, unsigned warp,
                        unsigned stream) {
  size_t at = 3u * warp + stream;
  return at < clocks.size() ? clocks[at] : 0;
}

bool Executor::isTensorKnown(const Warp &warp, unsigned other, unsigned stream,
                             uint32_t clock) const {
  if (other == warp.clusterIndex && stream != asyncStream)
    return (stream == loadStream ? warp.loadsWaited : warp.storesWaited) >=
           clock;
  return clockIn(launch.options.tensorFences ? warp.tensorKnown
                                             : warp.known.tensor,
                 other, stream) >= clock;
}

/// "warp 4 (drain)", of which CTA where there are several.
std::string Executor::describeWarp(const Cluster &cluster,
                                   unsigned clusterIndex) const {
  size_t perCta = cluster.ctas[0]->warps.size();
  const Warp &warp =
      *cluster.ctas[clusterIndex / perCta]->warps[clusterIndex % perCta];
  std::string text = "warp " + std::to_string(warp.index);
  if (cluster.ctas.size() > 1)
    text += " of CTA " + std::to_string(warp.cta->linear);
  if (warp.index < launch.warpRoles.size() &&
      !launch.warpRoles[warp.index].empty())
    text += " (" + launch.warpRoles[warp.index] + ")";
  return text;
}

bool Executor::checkTensor(Warp &warp, const Inst &inst, int lane,
                           const TensorRegion &region, TensorAccess access,
                           bool mustBeWritten, uint32_t form) {
  Cluster &cluster = *warp.cta->cluster;
  TensorMemory &memory = *region.cta->tensor;
  const auto perCta = static_cast<unsigned>(cluster.ctas[0]->warps.size());
  const unsigned self = warp.clusterIndex;
  const bool isRead =
      access == TensorAccess::Load || access == TensorAccess::ProductRead;
  const bool isProduct =
      access == TensorAccess::Product || access == TensorAccess::ProductRead;
  const char *verb = access == TensorAccess::Free ? "frees"
                     : isRead                     ? "reads"
                     : mustBeWritten              ? "accumulates in"
                                                  : "overwrites";
  auto complain = [&](unsigned group, uint32_t column,
                      const std::string &what) {
    std::string text = std::string(verb) + " tensor memory lanes " +
                       std::to_string(16 * group) + " to " +
                       std::to_string(16 * group + 15) + ", column " +
                       std::to_string(column);
    if (cluster.ctas.size() > 1)
      text += " of CTA " + std::to_string(region.cta->linear);
    fail(warp, inst, lane, text + ", " + what);
    return false;
  };
  // The reason for which work of another warp is not known to be complete.
  auto missing = [&](unsigned other, unsigned stream, uint32_t clock) {
    const Warp &there = *cluster.ctas[other / perCta]->warps[other % perCta];
    const char *wait =
        stream == loadStream ? "tcgen05.wait::ld" : "tcgen05.wait::st";
    if (clockIn(warp.known.tensor, other, stream) >= clock)
      return std::string("no tcgen05.fence::after_thread_sync came since that "
                         "was waited for");
    if (stream == asyncStream)
      return std::string("the mbarrier of its tcgen05.commit was not waited "
                         "for");
    uint32_t waited =
        stream == loadStream ? there.loadsWaited : there.storesWaited;
    if (waited < clock)
      return std::string("it has not executed ") + wait + " since";
    if (other == self)
      return std::string("it has not waited for that");
    if (clockIn(there.known.tensor, other, stream) < clock)
      return std::string("it has not executed "
                         "tcgen05.fence::before_thread_sync since its ") +
             wait;
    return std::string("no barrier orders the two");
  };
  for (uint32_t column = region.column; column < region.column + region.columns;
       ++column)
    for (unsigned group = 0; group < TensorMemory::cellsPerColumn; ++group) {
      if (!(region.cellRows >> group & 1))
        continue;
      TensorCell &cell = memory.cell(group * TensorMemory::cellLanes, column);
      if (mustBeWritten && (cell.written & region.laneMask) != region.laneMask)
        return complain(group, column, "which nobody has written");
      if (cell.writer != TensorCell::Nobody) {
        bool isAsync = cell.writer == TensorCell::Async;
        unsigned stream = isAsync ? asyncStream : storeStream;
        bool isPipelined =
            isAsync && cell.writerWarp == self && isProduct &&
            (!cell.isProduct ||
             (access == TensorAccess::Product && cell.form == form));
        if (!isPipelined &&
            !isTensorKnown(warp, cell.writerWarp, stream, cell.clock))
          return complain(
              group, column,
              "which " + site(cell.site) + " of " +
                  describeWarp(cluster, cell.writerWarp) +
                  " writes: " + missing(cell.writerWarp, stream, cell.clock));
      }
      if (!isRead) {
        for (uint32_t rest = cell.readers; rest; rest &= rest - 1) {
          const Warp &reader = *region.cta->warps[lowest(rest)];
          auto [clock, readSite] =
              reader.loadClocks[column * TensorMemory::cellsPerColumn + group];
          if (!isTensorKnown(warp, reader.clusterIndex, loadStream, clock))
            return complain(
                group, column,
                "which " + site(readSite) + " of " +
                    describeWarp(cluster, reader.clusterIndex) + " loads: " +
                    missing(reader.clusterIndex, loadStream, clock));
        }
        if (cell.asyncReadClock &&
            !isTensorKnown(warp, cell.asyncReader, asyncStream,
                           cell.asyncReadClock))
          return complain(
              group, column,
              "which the product of " + site(cell.asyncReadSite) +
                  " reads as A: " +
                  missing(cell.asyncReader, asyncStream, cell.asyncReadClock));
      }
      switch (access) {
      case TensorAccess::Load: {
        if (warp.loadClocks.empty())
          warp.loadClocks.resize(memory.cells.size());
        warp.loadClocks[column * TensorMemory::cellsPerColumn + group] = {
            warp.loadClock, inst.source};
        cell.readers |= 1u << (warp.index % 32);
        continue;
      }
      case TensorAccess::ProductRead:
        cell.asyncReader = static_cast<uint16_t>(self);
        cell.asyncReadClock = warp.asyncClock;
        cell.asyncReadSite = inst.source;
        continue;
      case TensorAccess::Free:
        continue;
      default:
        break;
      }
      uint16_t written = cell.written | region.laneMask;
      cell = TensorCell();
      cell.written = written;
      bool isStore = access == TensorAccess::Store;
      cell.writer = isStore ? TensorCell::Store : TensorCell::Async;
      cell.isProduct = access == TensorAccess::Product;
      cell.writerWarp = static_cast<uint16_t>(self);
      cell.clock = isStore ? warp.storeClock : warp.asyncClock;
      cell.site = inst.source;
      cell.form = form;
    }
  return true;
}

/// The end of a CTA: nothing allocated and, with checks, nothing in flight.
bool Executor::checkTensorExit(const Warp &warp, const Inst &inst) {
  const Cta &cta = *warp.cta;
  if (cta.liveWarps > 1)
    return true;
  for (const auto &op : cta.cluster->tensorOps)
    // A last commit that nobody waits for is usual and does no harm.
    if (checks && involves(*op, cta) &&
        (launch.options.strict || op->kind != TensorOp::Commit)) {
      fail(warp, inst, -1,
           "the CTA exits while " + site(op->inst->source) + " of " +
               describeWarp(*cta.cluster, op->warp->clusterIndex) +
               " is in flight");
      return false;
    }
  if (!cta.tensor || cta.tensor->allocations.empty())
    return true;
  fail(warp, inst, -1,
       "the CTA exits and has not freed tensor memory: " +
           cta.tensor->describe() + ", allocated at " +
           site(cta.tensor->allocations.front().site));
  return false;
}

} // namespace backfuse::emulator
