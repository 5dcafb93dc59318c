//===- CostModel.cpp - Predict the time of a launch -----------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Analysis/CostModel.h"
#include "backfuse/Analysis/EntryLayout.h"
#include "dialects/Mlp/IR/MlpOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace backfuse;

int64_t backfuse::stepK(mlp::FusedOp fused, const TileConfig &config) {
  bool allF32 = llvm::all_of(fused.getContractionOperands(), [](Value operand) {
    return getElementTypeOrSelf(operand.getType()).isF32();
  });
  return allF32 ? config.tileK / 2 : config.tileK;
}

SmallVector<int64_t, 3> TileConfig::tileOf(mlp::FusedOp fused) const {
  if (isComputedTransposed(fused))
    return {tileN, tileM, stepK(fused, *this)};
  return {tileM, tileN, stepK(fused, *this)};
}

/// Bytes of a step of the fused op's widest contraction: of 16 bits both boxes,
/// or an f32 box and one or two of 16 bits.
static int64_t stageBytes(mlp::FusedOp fused, const TileConfig &config) {
  int64_t bytes = 0;
  SmallVector<int64_t, 3> tile = config.tileOf(fused);
  for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
    Type a = getElementTypeOrSelf(fused.getA(i).getType());
    Type b = getElementTypeOrSelf(fused.getB(i).getType());
    mlp::PrecisionAttr precision = fused.getContraction(i).getPrecision();
    // The parts of the other operand share a stage with an f32 one.
    int64_t parts =
        precision && precision.getValue() == mlp::Precision::Bf16x3 ? 2 : 1;
    auto boxBytes = [&](Type type, int64_t extent) {
      return extent * config.tileK * (type.isF32() ? 4 : 2 * parts);
    };
    bytes = std::max(bytes, boxBytes(a, tile[0]) + boxBytes(b, tile[1]));
  }
  return bytes;
}

SmallVector<TileConfig> backfuse::feasibleConfigs(mlp::GraphOp graph,
                                                  const arch::Rates &rates,
                                                  int64_t smemBytes,
                                                  std::string &why) {
  SmallVector<TileConfig> configs;
  bool transposed = false;
  graph.walk([&](mlp::FusedOp fused) {
    transposed |= isComputedTransposed(fused);
  });
  // Between these, 192 columns gained less than 1 % at any token count measured.
  for (int64_t tileN : {64, 128, 256}) {
    if (tileN == 64 && !transposed)
      continue; // the rows of a tile, which are tokens as a rule, are 128
    TileConfig config;
    config.tileN = tileN;
    graph.walk([&](mlp::FusedOp fused) {
      config.slotBytes = std::max(config.slotBytes, stageBytes(fused, config));
    });
    // Barriers and alignment take up to 2 KiB, each column sum of a drain 4.
    int64_t sums = 0, staging = 0;
    bool oneAccumulator = true;
    graph.walk([&](mlp::FusedOp fused) {
      int64_t here = llvm::count_if(
          fused.getYield().getKinds(), [](Attribute kind) {
            return cast<mlp::YieldKindAttr>(kind).getValue() ==
                   mlp::YieldKind::SumM;
          });
      if (isComputedTransposed(fused)) // sums need no scratch, results staging
        staging = stagingBytes;
      else
        sums = std::max(sums, here);
      // The accumulators of a tile share the registers of two warpgroups.
      oneAccumulator &= fused.getNumAccumulators() * tileN <= 256;
    });
    config.slots = (smemBytes - 2048 - sums * 4096 - staging) / config.slotBytes;
    if (!oneAccumulator) {
      if (why.empty())
        why = "a product space has more accumulators than registers hold";
      continue;
    }
    bool fits = config.slots >= 3;
    graph.walk([&](mlp::FusedOp fused) {
      std::string reason;
      if (!layOutEntry(fused, config.slotBytes, config.slots, reason)) {
        fits = false;
        why = reason;
      }
    });
    if (fits)
      configs.push_back(config);
  }
  return configs;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static double stepCycles(const TileConfig &config, const arch::Rates &rates) {
  return std::max(rates.mmaCyclesPerColumn * config.tileN,
                  config.slotBytes / rates.l2BytesPerCycle);
}

/// Instructions for a pair of elements, roughly: 16-bit arithmetic is packed,
/// f32 is not, an elementary function takes about ten.
static double countOperations(mlp::FusedOp fused) {
  double operations = 0;
  for (Operation &op : fused.getBody().front().without_terminator()) {
    if (isa<arith::ConstantOp>(op))
      continue;
    Type type = op.getResult(0).getType();
    double width = type.isF32() ? 2 : 1;
    bool arithmetic = isa<arith::ArithDialect>(op.getDialect());
    operations += arithmetic ? width : 10;
  }
  return operations;
}

int64_t backfuse::unitCost(mlp::FusedOp fused, const TileConfig &config,
                           const arch::Rates &rates) {
  double chunks = double(config.tileN) / 64;
  double cycles = chunks * (rates.drainCycles + rates.drainCyclesPerOperation *
                                                    countOperations(fused));
  return int64_t(rates.unitSteps + cycles / stepCycles(config, rates) + 0.5);
}

int64_t backfuse::dealOrder(mlp::FusedOp fused) {
  // In a chain: what others of the launch wait for, then what need not wait, then
  // what waits, the parts of long products first.
  bool isFixed = fused.getContraction(0).getK().isFixed();
  auto isInLaunch = [&](Operation *op) {
    return isa_and_present<mlp::FusedOp>(op) &&
           op->getBlock() == fused->getBlock();
  };
  int64_t depth = 0;
  for (Value operand : fused.getContractionOperands())
    if (Operation *producer = operand.getDefiningOp(); isInLaunch(producer))
      depth = std::max(depth, dealOrder(cast<mlp::FusedOp>(producer)) / 4 + 1);
  if (llvm::any_of(fused->getUsers(), isInLaunch))
    return 4 * depth;
  return 4 * depth + (isFixed == (depth > 0) ? 1 : 2);
}

static int64_t evaluate(mlp::ExtentAttr extent, int64_t tokens) {
  return extent.getFactor() * (extent.isFixed() ? 1 : tokens);
}

double backfuse::predictMicroseconds(mlp::LaunchOp launch,
                                     const TileConfig &config,
                                     const arch::Rates &rates, int64_t tokens,
                                     ArrayRef<int64_t> splits) {
  struct Units {
    int64_t order, count;
    double cost;
  };
  SmallVector<Units> spaces;
  double bytes = 0;
  bool anySplit = false;
  for (auto [fused, split] : llvm::zip(launch.getFusedOps(), splits)) {
    int64_t m = evaluate(fused.getM(), tokens), n = evaluate(fused.getN(), tokens);
    int64_t kTiles = 0;
    for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
      int64_t k = evaluate(fused.getContraction(i).getK(), tokens);
      kTiles += llvm::divideCeil(k, stepK(fused, config));
      bytes += 2.0 * k * (m + n);
    }
    int64_t used = std::max<int64_t>(1, std::min(split, kTiles));
    anySplit |= used > 1;
    SmallVector<int64_t, 3> tile = config.tileOf(fused);
    int64_t tiles = llvm::divideCeil(m, tile[0]) * llvm::divideCeil(n, tile[1]);
    double cost = double(kTiles) / used + unitCost(fused, config, rates) +
                  (used > 1 ? rates.splitSteps : 0);
    spaces.push_back({dealOrder(fused), tiles * used, cost});
    for (unsigned i = 0; i < fused.getElementOperands().size(); ++i)
      if (fused.getElementKind(i) == mlp::ElementKind::Element)
        bytes += 2.0 * m * n;
    bytes += 2.0 * m * n * fused.getYield().getValues().size();
    bytes += 8.0 * tiles * (used - 1) * config.tileM * config.tileN;
  }
  llvm::stable_sort(spaces, [](const Units &a, const Units &b) {
    return a.order < b.order;
  });
  // The deal: each space to the least loaded CTAs, or pairs of them.
  int64_t numTeams = rates.numSms / config.ctas;
  SmallVector<double> load(numTeams, 0.0);
  for (const Units &units : spaces) {
    int64_t rounds = units.count / numTeams;
    // Whole rounds go to everybody in the long run; the rest, and what it takes
    // to level differences of earlier spaces, one by one.
    int64_t oneByOne = units.count - std::max<int64_t>(0, rounds - 64) * numTeams;
    double even = double(units.count - oneByOne) / numTeams * units.cost;
    for (double &value : load)
      value += even;
    for (int64_t i = 0; i < oneByOne; ++i)
      *llvm::min_element(load) += units.cost;
  }
  double steps = *llvm::max_element(load);
  double compute = steps * stepCycles(config, rates) / rates.clockHz * 1e6;
  double memory = bytes / rates.memoryBytesPerSecond * 1e6;
  return rates.launchMicroseconds + rates.coldMicroseconds +
         std::max(compute, memory) + (anySplit ? rates.splitMicroseconds : 0);
}
