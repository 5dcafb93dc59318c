//===- TensorMemoryConfigs.cpp - Tiles for targets with tensor memory -----===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Analysis/CostModel.h"
#include "backfuse/Analysis/EntryLayout.h"
#include "dialects/Mlp/IR/MlpOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace backfuse;

static constexpr int64_t entryCols = tile::DrainOp::entryCols;

namespace {
/// What the fused ops of a graph need at most.
struct Needs {
  int64_t accumulators = 1;
  int64_t stepBytes = 2; // of an operand's row in a step, over tileK
  int64_t sums = 0;      // column sums of one drain
  int64_t slotBytes = 0; // for an entry of 64 rows in one slot
};
} // namespace

static Needs collectNeeds(mlp::GraphOp graph) {
  Needs needs;
  graph.walk([&](mlp::FusedOp fused) {
    needs.accumulators =
        std::max<int64_t>(needs.accumulators, fused.getNumAccumulators());
    for (Value operand : fused.getContractionOperands())
      needs.stepBytes = std::max(
          needs.stepBytes,
          stepK(fused, TileConfig()) *
              getElementTypeOrSelf(operand.getType()).getIntOrFloatBitWidth() /
              8 / TileConfig().tileK);
    int64_t sums =
        llvm::count_if(fused.getYield().getKinds(), [](Attribute kind) {
          return cast<mlp::YieldKindAttr>(kind).getValue() ==
                 mlp::YieldKind::SumM;
        });
    needs.sums = std::max(needs.sums, sums);
    // With room without end, boxes of all operands and results are in one slot.
    std::string why;
    std::optional<EntryLayout> entry =
        layOutEntry(fused, /*slotBytes=*/INT64_MAX, /*numSlots=*/2, why);
    if (!entry || entry->empty())
      return;
    int64_t bytes = 0;
    for (tile::BufferAttr buffer : entry->buffers)
      bytes += buffer.numBytes() / buffer.getRows() * (arch::ctaTileRows / 2);
    needs.slotBytes = std::max(needs.slotBytes, bytes);
  });
  // One result of 16 bits then stands in entries of 128 rows.
  if (needs.slotBytes)
    needs.slotBytes =
        std::max<int64_t>(needs.slotBytes, arch::ctaTileRows * entryCols * 2);
  return needs;
}

SmallVector<TileConfig> backfuse::feasibleTensorMemoryConfigs(
    mlp::GraphOp graph, const arch::Target &target, std::string &why) {
  Needs needs = collectNeeds(graph);
  SmallVector<TileConfig> configs;
  auto consider = [&](int64_t tileN, int64_t ctaGroup) {
    TileConfig config;
    config.tileM = target.tmemLanes;
    config.tileN = tileN;
    config.ctaGroup = ctaGroup;
    config.slotBytes =
        (config.tileM + tileN / ctaGroup) * config.tileK * needs.stepBytes;
    int64_t columns = needs.accumulators * tileN;
    if (columns > target.tmemColumns) {
      if (why.empty())
        why = llvm::formatv("a product space has {0} accumulators, and tensor "
                            "memory holds {1} of {2} columns",
                            needs.accumulators, target.tmemColumns / tileN,
                            tileN);
      return;
    }
    config.accumulators = target.tmemColumns / columns >= 2 ? 2 : 1;
    // Barriers and alignment take up to 2 KiB, each column sum of a drain 2.
    int64_t bytes = target.maxDynamicSmemBytes - 2048 - needs.sums * 2048;
    // Three stages keep the tensor core busy; four entries a drain whose two
    // halves each hold one back while its results are stored.
    config.drainSlotBytes = needs.slotBytes;
    int64_t most = needs.slotBytes ? 4 : 0, least = needs.slotBytes ? 2 : 0;
    for (int64_t stages : {3, 2}) {
      for (config.drainSlots = most; config.drainSlots >= least;
           --config.drainSlots) {
        config.slots = (bytes - config.drainSlots * config.drainSlotBytes) /
                       config.slotBytes;
        if (config.slots >= stages)
          break;
      }
      if (config.drainSlots >= least && config.slots >= stages)
        break;
    }
    if (config.drainSlots < least || config.slots < 2) {
      if (ctaGroup > 1)
        return; // what keeps tiles of one CTA out has been said
      why =
          llvm::formatv("two entries of {0} bytes for the operands and results "
                        "of an epilogue do not fit into the shared memory "
                        "beside two {1}-byte stages; compute fewer results in "
                        "one epilogue",
                        config.drainSlotBytes, config.slotBytes);
      return;
    }
    configs.push_back(config);
  };
  // Pairs of CTAs share columns of B: half its bytes for each SM.
  for (int64_t ctaGroup = 1; ctaGroup <= target.maxProductCtas; ++ctaGroup)
    for (int64_t tileN :
         {arch::maxInstructionColumns / 2, arch::maxInstructionColumns})
      consider(tileN, ctaGroup);
  return configs;
}
