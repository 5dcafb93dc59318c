//===- CostModel.cpp - Predict the time of a launch -----------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Analysis/CostModel.h"
#include "backfuse/Analysis/EntryLayout.h"
#include "backfuse/Analysis/Padding.h"
#include "dialects/Mlp/IR/MlpOps.h"
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

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
    return {tileN, tileM * ctaGroup, stepK(fused, *this)};
  return {tileM * ctaGroup, tileN, stepK(fused, *this)};
}

static double elementBytes(Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8.0;
}

/// Bytes of the operands that a step of contraction `i` loads for itself.
static double loadedBytes(mlp::FusedOp fused, unsigned i,
                          const TileConfig &config) {
  SmallVector<int64_t, 3> tile = config.tileOf(fused);
  double bytes = 0;
  for (mlp::Side side : {mlp::Side::A, mlp::Side::B}) {
    double width = elementBytes(fused.getOperandOf(i, side).getType());
    double extent =
        double(tile[side == mlp::Side::A ? 0 : 1]) / config.ctaGroup;
    if (width == 2 || !isSecondPart(fused, i))
      bytes += extent * tile[2] * width;
  }
  return bytes;
}

/// Bytes of the largest stage of the fused op: a step of one contraction, or of
/// those that share an f32 operand.
static int64_t stageBytes(mlp::FusedOp fused, const TileConfig &config) {
  double bytes = 0, most = 0;
  for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
    bytes = (isSecondPart(fused, i) ? bytes : 0) + loadedBytes(fused, i, config);
    most = std::max(most, bytes);
  }
  return int64_t(most);
}

SmallVector<TileConfig> backfuse::feasibleConfigs(mlp::GraphOp graph,
                                                  const arch::Rates &rates,
                                                  int64_t smemBytes,
                                                  std::string &why) {
  SmallVector<TileConfig> configs;
  bool converts = false;
  graph.walk([&](mlp::FusedOp fused) {
    converts |= elementBytes(fused.getA(0).getType()) !=
                elementBytes(fused.getB(0).getType());
  });
  // Between these, 192 columns gained less than 1 % at any token count
  // measured.
  for (int64_t tileN : {64, 128, 256}) {
    // Tiles of f32 and 16-bit operands may have few tokens, or two accumulators.
    if (tileN == 64 && !converts)
      continue;
    TileConfig config;
    config.tileN = tileN;
    graph.walk([&](mlp::FusedOp fused) {
      config.slotBytes = std::max(config.slotBytes, stageBytes(fused, config));
    });
    // Barriers and alignment take up to 2 KiB, each column sum of a drain 4.
    int64_t sums = 0, staging = 0;
    bool oneAccumulator = true;
    graph.walk([&](mlp::FusedOp fused) {
      int64_t here =
          llvm::count_if(fused.getYield().getKinds(), [](Attribute kind) {
            return cast<mlp::YieldKindAttr>(kind).getValue() ==
                   mlp::YieldKind::SumM;
          });
      if (isComputedTransposed(fused)) // sums need no scratch, results staging
        staging = std::max(staging, stagingBytes(fused));
      else
        sums = std::max(sums, here);
      // The accumulators of a tile share the registers of two warpgroups, with the
      // fragments of an f32 A, whose epilogue needs more beside them than that of
      // an f32 B (measured: 12 bytes spilled).
      bool wideA = elementBytes(fused.getA(0).getType()) == 4;
      int64_t registers = wideA ? 128 : 256;
      oneAccumulator &= fused.getNumAccumulators() * tileN <= registers;
    });
    config.slots = (smemBytes - 2048 - sums * 4096 - staging) / config.slotBytes;
    if (!oneAccumulator) {
      if (why.empty())
        why = "a product space has more accumulators than registers hold";
      continue;
    }
    bool fits = config.slots >= 3;
    if (!fits && why.empty())
      why = "has stages of " + std::to_string(config.slotBytes) +
            " bytes, of which fewer than 3 fit into the shared memory beside " +
            std::to_string(staging) + " bytes where results are staged; "
            "compute fewer results in one epilogue";
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
// Units of work
//===----------------------------------------------------------------------===//

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

/// Bytes of the operands and results that a drain moves per element.
static double drainBytes(mlp::FusedOp fused) {
  double bytes = 0;
  for (auto [i, operand] : llvm::enumerate(fused.getElementOperands()))
    if (fused.getElementKind(i) == mlp::ElementKind::Element)
      bytes += elementBytes(operand.getType());
  mlp::FusedYieldOp yield = fused.getYield();
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (yield.getKind(i) == mlp::YieldKind::Store)
      bytes += elementBytes(value.getType());
  return bytes;
}

/// Cycles that draining one tile takes.
static double drainCycles(mlp::FusedOp fused, const TileConfig &config,
                          const arch::Rates &rates) {
  double chunks = double(config.tileM) / 128 * config.tileN / 64;
  return chunks * (rates.drainCycles +
                   rates.drainCyclesPerOperation * countOperations(fused) +
                   rates.drainCyclesPerByte * drainBytes(fused));
}

/// The kind of a contraction: an f32 operand beside one of 16 bits is converted
/// on its way to the tensor core.
static arch::MmaKind mmaKind(mlp::FusedOp fused, unsigned contraction) {
  Type a = getElementTypeOrSelf(fused.getA(contraction).getType());
  Type b = getElementTypeOrSelf(fused.getB(contraction).getType());
  if (a.isF32() && b.isF32())
    return arch::MmaKind::TF32;
  return a.isF16() || b.isF16() ? arch::MmaKind::F16 : arch::MmaKind::BF16;
}

namespace {
/// What a step of a contraction takes.
struct Step {
  double tensorCycles = 0, l2Cycles = 0;
  double cycles() const { return std::max(tensorCycles, l2Cycles); }
};
} // namespace

static Step stepOf(mlp::FusedOp fused, unsigned contraction,
                   const TileConfig &config, const arch::Rates &rates) {
  Step step;
  SmallVector<int64_t, 3> tile = config.tileOf(fused);
  double depth = double(tile[2]) / 64;
  double height = double(tile[0]) / config.ctaGroup / 128;
  // An f32 operand in two parts takes two products.
  mlp::ContractionAttr attr = fused.getContraction(contraction);
  double products = takesTwoParts(attr) ? 2 : 1;
  step.tensorCycles = rates.mmaCycles(mmaKind(fused, contraction)) * depth *
                      height * tile[1] * products;
  // A warpgroup that converts an operand multiplies nothing meanwhile; the other
  // one fills in what it can.
  bool converts = elementBytes(fused.getA(contraction).getType()) !=
                      elementBytes(fused.getB(contraction).getType()) &&
                  !isSecondPart(fused, contraction);
  if (converts) {
    // Of one product a step, power leaves a higher clock.
    if (products == 1)
      step.tensorCycles *= rates.convertMmaShare;
    step.tensorCycles =
        std::max(step.tensorCycles, rates.convertStepCycles * depth +
                                        step.tensorCycles / 4);
  }
  double bytes = loadedBytes(fused, contraction, config);
  // One stage is being multiplied; the others are on their way.
  double rate = converts ? rates.convertL2BytesPerCycle : rates.l2BytesPerCycle;
  if (config.slots > 1)
    rate = std::min(rate, double((config.slots - 1) * config.slotBytes) /
                              rates.loadLatencyCycles);
  step.l2Cycles = bytes / rate;
  return step;
}

/// Cycles of a unit beside those of its steps. Where drains run beside the next
/// unit's steps, only what exceeds `stepCycles` counts.
static double extraCycles(mlp::FusedOp fused, const TileConfig &config,
                          const arch::Rates &rates, double stepCycles) {
  double drain = drainCycles(fused, config, rates);
  if (config.accumulators > 1)
    drain = std::max(0.0, drain - stepCycles);
  return rates.unitCycles + drain;
}

int64_t backfuse::unitCost(mlp::FusedOp fused, const TileConfig &config,
                           const arch::Rates &rates) {
  // A variable contraction is long: it hides any drain that can be hidden.
  double steps = 0;
  bool isFixed = true;
  for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
    mlp::ExtentAttr k = fused.getContraction(i).getK();
    isFixed &= k.isFixed();
    steps += double(llvm::divideCeil(k.getFactor(), stepK(fused, config))) *
             stepOf(fused, i, config, rates).cycles();
  }
  double extra =
      extraCycles(fused, config, rates,
                  isFixed ? steps : std::numeric_limits<double>::infinity());
  // Kernels count steps of all contractions together.
  double step = 0;
  for (unsigned i = 0; i < fused.getNumContractions(); ++i)
    step += stepOf(fused, i, config, rates).cycles();
  return int64_t(extra / step + 0.5);
}

int64_t backfuse::dealOrder(mlp::FusedOp fused) {
  // In a chain: what others of the launch wait for, then what need not wait,
  // then what waits, the parts of long products first.
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

namespace {
/// A fused op as units of work, all alike.
struct Space {
  int64_t order = 0, count = 0;
  /// By which the kernel deals units.
  int64_t cost = 0;
  bool overlaps = false;
  double tensorCycles = 0, l2Cycles = 0, drainCycles = 0, handOverCycles = 0;

  double mainCycles() const { return tensorCycles + l2Cycles; }
  /// Of a unit among others.
  double cycles() const {
    return handOverCycles + (overlaps ? std::max(mainCycles(), drainCycles)
                                      : mainCycles() + drainCycles);
  }
  /// Of the last unit, whose drain nothing hides.
  double tailCycles() const {
    return overlaps ? std::min(mainCycles(), drainCycles) : 0;
  }
};
} // namespace

static Space describeSpace(mlp::FusedOp fused, const TileConfig &config,
                           const arch::Rates &rates, ExtentValue valueOf,
                           int64_t wantedSplits, KernelCost &kernel) {
  int64_t m = valueOf(fused.getM().getExtent());
  int64_t n = valueOf(fused.getN().getExtent());
  SmallVector<int64_t, 3> tile = config.tileOf(fused);
  int64_t tiles = llvm::divideCeil(m, tile[0]) * llvm::divideCeil(n, tile[1]);
  int64_t steps = 0;
  Space space;
  for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
    int64_t k = valueOf(fused.getContraction(i).getK().getExtent());
    int64_t here = llvm::divideCeil(k, stepK(fused, config));
    // Kernels count steps of all contractions together.
    steps = std::max(steps, here);
    Step step = stepOf(fused, i, config, rates);
    (step.tensorCycles >= step.l2Cycles ? space.tensorCycles
                                        : space.l2Cycles) +=
        double(here) * step.cycles();
    // An f32 operand in two parts takes two products.
    double parts = takesTwoParts(fused.getContraction(i)) ? 2 : 1;
    double operations = parts * 2.0 * m * n * k;
    kernel.tileOperations +=
        parts * 2.0 * tiles * tile[0] * tile[1] * here * tile[2];
    switch (mmaKind(fused, i)) {
    case arch::MmaKind::F16:
      kernel.f16Operations += operations;
      break;
    case arch::MmaKind::BF16:
      kernel.bf16Operations += operations;
      break;
    case arch::MmaKind::TF32:
      kernel.tf32Operations += operations;
      break;
    }
  }
  int64_t splits = std::max<int64_t>(1, std::min(wantedSplits, steps));
  space.order = dealOrder(fused);
  space.count = tiles * splits;
  space.cost = llvm::divideCeil(steps, splits) + unitCost(fused, config, rates);
  space.overlaps = config.accumulators > 1;
  space.tensorCycles /= splits;
  space.l2Cycles /= splits;
  space.drainCycles = drainCycles(fused, config, rates);
  space.handOverCycles = rates.unitCycles;
  if (splits > 1) {
    double partial = 4.0 * config.tileM * config.tileN;
    space.handOverCycles +=
        rates.splitTraffic * partial / rates.l2BytesPerCycle;
    double bytes = partial * config.ctaGroup * tiles * (splits - 1);
    kernel.bytesRead += bytes;
    kernel.bytesWritten += bytes;
  }
  return space;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Deals units of `cost` to the least loaded CTAs, one by one, as kernels do.
/// What every CTA takes for sure is given at once.
static void deal(int64_t count, int64_t cost, MutableArrayRef<int64_t> loads,
                 MutableArrayRef<int64_t> counts) {
  SmallVector<int64_t> sorted(loads);
  llvm::sort(sorted);
  // The level that all loads below it would reach if units could be divided.
  double level = 0, below = 0;
  for (auto [i, load] : llvm::enumerate(sorted)) {
    below += load;
    level = (double(count) * cost + below) / (i + 1);
    if (i + 1 == sorted.size() || level <= sorted[i + 1])
      break;
  }
  for (auto [load, own] : llvm::zip(loads, counts)) {
    int64_t whole = std::max<int64_t>(0, int64_t((level - load) / cost));
    whole = std::min(whole, count);
    own += whole;
    load += whole * cost;
    count -= whole;
  }
  for (; count > 0; --count) {
    size_t least = llvm::min_element(loads) - loads.begin();
    loads[least] += cost;
    ++counts[least];
  }
}

/// Takes the largest of what a kernel waits for.
static void decideBound(KernelCost &kernel) {
  std::pair<double, Bound> parts[] = {
      {kernel.tensorMicroseconds, Bound::Tensor},
      {kernel.l2Microseconds, Bound::L2},
      {kernel.drainMicroseconds, Bound::Drain},
      {kernel.handOverMicroseconds, Bound::HandOver}};
  double busiest = 0;
  for (auto [microseconds, bound] : parts)
    busiest += microseconds;
  double work = std::max(busiest, kernel.memoryMicroseconds);
  kernel.microseconds = kernel.launchMicroseconds + work;
  if (kernel.launchMicroseconds >= work)
    kernel.bound = Bound::Launch;
  else if (kernel.memoryMicroseconds >= busiest)
    kernel.bound = Bound::Memory;
  else
    kernel.bound = std::max_element(std::begin(parts), std::end(parts))->second;
}

/// Distributes the busiest CTA's cycles over what it spends them on.
static void addBusiest(ArrayRef<Space> spaces, ArrayRef<int64_t> counts,
                       const arch::Rates &rates, KernelCost &kernel) {
  double scale = 1e6 / rates.clockHz;
  double tail = 0;
  for (auto [space, count] : llvm::zip(spaces, counts)) {
    if (count == 0)
      continue;
    double units = double(count) * scale;
    bool mainHides = space.overlaps && space.mainCycles() >= space.drainCycles;
    bool drainHides = space.overlaps && !mainHides;
    kernel.handOverMicroseconds += units * space.handOverCycles;
    if (!drainHides) {
      kernel.tensorMicroseconds += units * space.tensorCycles;
      kernel.l2Microseconds += units * space.l2Cycles;
    }
    if (!mainHides)
      kernel.drainMicroseconds += units * space.drainCycles;
    tail = space.tailCycles();
  }
  kernel.handOverMicroseconds += tail * scale;
}

/// The product of all extents is valued at once, as launches have it: to
/// `valueOf` B*S may be a number of tokens while B and S are not known apart.
static double tensorBytes(Type type, ExtentValue valueOf) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return elementBytes(type);
  std::optional<mlp::Extent> elements =
      mlp::getExtentOfAxes(tensor, 0, tensor.getRank());
  return elements ? elementBytes(type) * double(valueOf(*elements))
                  : std::numeric_limits<double>::infinity();
}

/// Boxes that reach as far as there is padding.
static constexpr int64_t wholeTiles = int64_t(1) << 20;

/// Bytes of a value of the graph, of its padding what boxes of `boxRows` reach.
static double valueBytes(Value value, int64_t boxRows, const TileConfig &config,
                         ExtentValue valueOf) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !isPadded(value))
    return tensorBytes(value.getType(), valueOf);
  std::optional<mlp::Extent> rows =
      mlp::getExtentOfAxes(type, 0, type.getRank() - 1);
  if (!rows)
    return std::numeric_limits<double>::infinity();
  int64_t padding = paddingOf(
      value, [&](mlp::FusedOp fused) { return config.tileOf(fused)[0]; });
  int64_t count = valueOf(*rows);
  return double(std::min(llvm::alignTo(count, padding),
                         llvm::alignTo(count, boxRows))) *
         double(valueOf(mlp::getExtent(type, type.getRank() - 1))) *
         elementBytes(type);
}

/// Bytes of the partial sums that a conversion leaves to the next launch.
static double partialBytes(mlp::ConvertOp convert, ExtentValue valueOf) {
  auto type = cast<RankedTensorType>(convert.getX().getType());
  std::optional<mlp::Extent> rows =
      mlp::getExtentOfAxes(type, 0, type.getRank() - 1);
  if (!convert.getSum() || !rows)
    return 0;
  return 4.0 *
         double(llvm::divideCeil(valueOf(*rows), tile::ConvertOp::sumRows)) *
         double(valueOf(mlp::getExtent(type, type.getRank() - 1)));
}

static KernelCost predictLaunch(mlp::LaunchOp launch,
                                ArrayRef<mlp::ConvertOp> converts,
                                const TileConfig &config,
                                const arch::Rates &rates, ExtentValue valueOf,
                                ArrayRef<int64_t> splits) {
  KernelCost kernel;
  // Values read, and to a multiple of how many rows: of tiles, or of steps.
  llvm::MapVector<Value, int64_t> read;
  SmallVector<Space> spaces;
  for (auto [fused, split] : llvm::zip(launch.getFusedOps(), splits)) {
    spaces.push_back(
        describeSpace(fused, config, rates, valueOf, split, kernel));
    SmallVector<int64_t, 3> tile = config.tileOf(fused);
    auto see = [&](Value value, int64_t rows) {
      read[value] = std::max(read[value], rows);
    };
    for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
      mlp::ContractionAttr attr = fused.getContraction(i);
      see(fused.getA(i),
          attr.getA() == mlp::Major::KMajor ? tile[0] : tile[2]);
      see(fused.getB(i),
          attr.getB() == mlp::Major::KMajor ? tile[1] : tile[2]);
    }
    for (Value value : fused.getElementOperands())
      see(value, tile[0]);
  }
  for (auto [value, rows] : read)
    kernel.bytesRead += valueBytes(value, rows, config, valueOf);
  for (Value result : launch.getResults())
    kernel.bytesWritten += valueBytes(result, wholeTiles, config, valueOf);
  for (mlp::ConvertOp convert : converts)
    if (deferredSum(convert)) {
      kernel.bytesRead += partialBytes(convert, valueOf);
      kernel.bytesWritten +=
          tensorBytes(convert.getOutputs().back().getType(), valueOf);
    }

  llvm::stable_sort(
      spaces, [](const Space &a, const Space &b) { return a.order < b.order; });
  kernel.ctas = rates.numSms;
  int64_t workers = rates.numSms / config.ctaGroup;
  SmallVector<int64_t> loads(workers, 0);
  SmallVector<SmallVector<int64_t>> counts; // by space, then CTA
  for (const Space &space : spaces) {
    kernel.units += space.count * config.ctaGroup;
    counts.emplace_back(workers, 0);
    deal(space.count, space.cost, loads, counts.back());
  }
  // In a chain, units of a link wait until the link before has stored.
  SmallVector<double> ends(workers, 0.0), waits(workers, 0.0);
  double stored = 0;
  for (auto [i, space] : llvm::enumerate(spaces)) {
    for (int64_t cta = 0; cta < workers; ++cta) {
      if (counts[i][cta] == 0)
        continue;
      if (space.order >= 4 && ends[cta] < stored) {
        waits[cta] += stored - ends[cta];
        ends[cta] = stored;
      }
      ends[cta] += double(counts[i][cta]) * space.cycles();
    }
    if (space.order % 4 == 0)
      stored = *llvm::max_element(ends) +
               rates.chainMicroseconds * 1e-6 * rates.clockHz;
  }
  double most = -1, sum = 0, waited = 0;
  SmallVector<int64_t> busiest;
  for (int64_t cta = 0; cta < workers; ++cta) {
    double tail = 0;
    SmallVector<int64_t> own;
    for (auto [i, space] : llvm::enumerate(spaces)) {
      own.push_back(counts[i][cta]);
      if (own.back())
        tail = space.tailCycles();
    }
    double cycles = ends[cta] + tail;
    sum += cycles;
    if (cycles > most) {
      most = cycles;
      busiest = own;
      waited = waits[cta];
    }
  }
  kernel.imbalance = sum > 0 ? most * workers / sum : 1;
  addBusiest(spaces, busiest, rates, kernel);
  kernel.handOverMicroseconds += waited * 1e6 / rates.clockHz;
  kernel.memoryMicroseconds = (kernel.bytesRead + kernel.bytesWritten) /
                              rates.memoryBytesPerSecond * 1e6;
  bool anySplit = llvm::any_of(splits, [](int64_t split) { return split > 1; });
  kernel.launchMicroseconds =
      rates.coldMicroseconds + (anySplit ? rates.splitMicroseconds : 0);
  return kernel;
}

static KernelCost predictConversion(ArrayRef<mlp::ConvertOp> converts,
                                    const TileConfig &config,
                                    const arch::Rates &rates,
                                    ExtentValue valueOf) {
  KernelCost kernel;
  for (mlp::ConvertOp convert : converts) {
    kernel.bytesRead += tensorBytes(convert.getX().getType(), valueOf);
    for (Value copy : convert.getOutputs().take_front(convert.getNumCopies()))
      kernel.bytesWritten += valueBytes(copy, wholeTiles, config, valueOf);
    kernel.bytesWritten += partialBytes(convert, valueOf);
    if (convert.getSum() && !deferredSum(convert))
      kernel.bytesWritten +=
          tensorBytes(convert.getOutputs().back().getType(), valueOf);
  }
  kernel.memoryMicroseconds = (kernel.bytesRead + kernel.bytesWritten) /
                              rates.convertBytesPerSecond * 1e6;
  kernel.launchMicroseconds = rates.coldMicroseconds;
  kernel.ctas = rates.numSms;
  return kernel;
}

SmallVector<KernelCost> backfuse::predictKernels(mlp::GraphOp graph,
                                                 const TileConfig &config,
                                                 const arch::Rates &rates,
                                                 ExtentValue valueOf,
                                                 ArrayRef<int64_t> splits) {
  SmallVector<KernelCost> kernels;
  auto add = [&](KernelCost kernel, StringRef kind) {
    kernel.name =
        (graph.getSymName() + "_" + kind + Twine(kernels.size())).str();
    kernel.launchMicroseconds += kernels.empty() ? rates.launchMicroseconds
                                                 : rates.nextLaunchMicroseconds;
    decideBound(kernel);
    kernels.push_back(std::move(kernel));
  };
  // As convert-mlp-to-tile does: conversions that stand together are one
  // kernel, and the launch after it finishes their sums.
  SmallVector<mlp::ConvertOp> converts;
  for (Operation &op : graph.getBody().front().without_terminator()) {
    if (auto convert = dyn_cast<mlp::ConvertOp>(op)) {
      converts.push_back(convert);
      continue;
    }
    if (!converts.empty())
      add(predictConversion(converts, config, rates, valueOf), "convert");
    auto launch = cast<mlp::LaunchOp>(op);
    size_t count = launch.getFusedOps().size();
    add(predictLaunch(launch, converts, config, rates, valueOf,
                      splits.take_front(count)),
        "launch");
    converts.clear();
    splits = splits.drop_front(count);
  }
  return kernels;
}

TileConfig backfuse::readConfig(mlp::GraphOp graph) {
  TileConfig config;
  graph.walk([&](mlp::LaunchOp launch) {
    auto read = [&](StringRef name, int64_t &value) {
      if (auto attr = launch->getAttrOfType<IntegerAttr>(name))
        value = attr.getInt();
    };
    read("tile.slots", config.slots);
    read("tile.slot_bytes", config.slotBytes);
    read("tile.drain_slots", config.drainSlots);
    read("tile.drain_slot_bytes", config.drainSlotBytes);
    read("tile.accumulators", config.accumulators);
    read("tile.ctas", config.ctaGroup);
    for (mlp::FusedOp fused : launch.getFusedOps())
      if (auto schedule = dyn_cast_if_present<tile::ScheduleAttr>(
              fused.getSchedule().value_or(Attribute()))) {
        SmallVector<int64_t, 3> tile(schedule.getTile());
        if (isComputedTransposed(fused))
          std::swap(tile[0], tile[1]);
        config.tileM = tile[0] / config.ctaGroup;
        config.tileN = tile[1];
        TileConfig usual;
        config.tileK = tile[2] * (usual.tileK / stepK(fused, usual));
      }
  });
  return config;
}

double backfuse::totalMicroseconds(ArrayRef<KernelCost> kernels) {
  double sum = 0;
  for (const KernelCost &kernel : kernels)
    sum += kernel.microseconds;
  return sum;
}

StringRef backfuse::stringifyBound(Bound bound) {
  switch (bound) {
  case Bound::Launch:
    return "launch";
  case Bound::Memory:
    return "device memory";
  case Bound::Tensor:
    return "tensor core";
  case Bound::L2:
    return "L2";
  case Bound::Drain:
    return "drain";
  case Bound::HandOver:
    return "hand-over";
  }
  llvm_unreachable("unknown bound");
}
