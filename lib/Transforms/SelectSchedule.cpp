//===- SelectSchedule.cpp - Choose tiles and splits per token count -------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precondition: graphs hold launches only.
// Postcondition: a clone of the graph for each tile configuration that is taken
// for some token count, with its ranges; every fused op has a #tile.schedule.
//===----------------------------------------------------------------------===//
#include "backfuse/Analysis/CostModel.h"
#include "backfuse/Arch/Target.h"
#include "backfuse/Transforms/Passes.h"
#include "backfuse/Transforms/Transforms.h"
#include "dialects/Mlp/IR/MlpLaunchOps.h"
#include "dialects/Tile/IR/TileOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#define DEBUG_TYPE "backfuse-select-schedule"

namespace backfuse {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "backfuse/Transforms/Passes.h.inc"
} // namespace backfuse

using namespace mlir;
using namespace backfuse;

namespace {
/// What is best for one token count.
struct Choice {
  unsigned config = 0;
  SmallVector<int64_t> splits; // per fused op of the graph
  double microseconds = 0;
  bool operator==(const Choice &other) const {
    return config == other.config && splits == other.splits;
  }
};

/// Kernels count units, tiles times splits, with 32 bits.
constexpr int64_t maxSplits = 8;

/// Token counts from `from` to below `to` (-1: no end) and their choice.
struct TokenRange {
  int64_t from, to;
  Choice choice;
};
} // namespace

//===----------------------------------------------------------------------===//
// Decide
//===----------------------------------------------------------------------===//

/// The variable extent of the graph's spaces, if there is one for all.
static std::optional<mlp::Extent> findTokens(mlp::GraphOp graph,
                                             bool &several) {
  std::optional<mlp::Extent> tokens;
  several = false;
  auto see = [&](mlp::ExtentAttr attr) {
    if (attr.isFixed())
      return;
    mlp::Extent extent = attr.getExtent();
    extent.factor = 1;
    if (tokens && *tokens != extent)
      several = true;
    tokens = extent;
  };
  graph.walk([&](mlp::FusedOp fused) {
    see(fused.getM());
    see(fused.getN());
    for (unsigned i = 0; i < fused.getNumContractions(); ++i)
      see(fused.getContraction(i).getK());
  });
  return tokens;
}

static double predict(mlp::GraphOp graph, const TileConfig &config,
                      const arch::Rates &rates, int64_t tokens,
                      ArrayRef<int64_t> splits) {
  // Several independent variable extents are taken to be alike.
  auto valueOf = [&](const mlp::Extent &extent) {
    return extent.factor * (extent.isFixed() ? 1 : tokens);
  };
  return totalMicroseconds(
      predictKernels(graph, config, rates, valueOf, splits));
}

/// Improves one split count after the other, until none gains.
static Choice chooseSplits(mlp::GraphOp graph, unsigned index,
                           const TileConfig &config, const arch::Rates &rates,
                           int64_t tokens) {
  SmallVector<mlp::FusedOp> all;
  graph.walk([&](mlp::FusedOp fused) { all.push_back(fused); });
  Choice best;
  best.config = index;
  best.splits.assign(all.size(), 1);
  best.microseconds = predict(graph, config, rates, tokens, best.splits);
  for (bool again = true; again;) {
    again = false;
    for (auto [i, fused] : llvm::enumerate(all)) {
      if (fused.getNumAccumulators() > 1)
        continue; // splits of several accumulators are not built
      for (int64_t split : {1, 2, 3, 4, 8}) {
        if (split == best.splits[i])
          continue;
        Choice other = best;
        other.splits[i] = split;
        other.microseconds =
            predict(graph, config, rates, tokens, other.splits);
        // More only for a gain of 3 %: a split costs workspace.
        bool isMore = split > best.splits[i];
        if (other.microseconds < (isMore ? 0.97 : 1) * best.microseconds) {
          best = other;
          again = true;
        }
      }
    }
  }
  return best;
}

/// Token counts at which the choice is made; it holds from the one before.
static SmallVector<int64_t> sampleTokens() {
  SmallVector<int64_t> samples;
  for (int64_t tokens = 64; tokens <= 8192;
       tokens += tokens < 512 ? 64 : tokens < 2048 ? 128 : 512)
    samples.push_back(tokens);
  for (double tokens = 8192 * 1.06; tokens < (1 << 18); tokens *= 1.06)
    samples.push_back(int64_t(tokens) / 128 * 128);
  return samples;
}

static SmallVector<TokenRange> chooseRanges(mlp::GraphOp graph,
                                            ArrayRef<TileConfig> configs,
                                            const arch::Rates &rates,
                                            bool oneRange) {
  SmallVector<int64_t> samples = sampleTokens();
  if (oneRange)
    samples = {2048};
  SmallVector<TokenRange> ranges;
  int64_t from = 1;
  for (int64_t tokens : samples) {
    SmallVector<Choice> choices;
    for (auto [i, config] : llvm::enumerate(configs))
      choices.push_back(chooseSplits(graph, i, config, rates, tokens));
    Choice best =
        *llvm::min_element(choices, [](const Choice &a, const Choice &b) {
          return a.microseconds < b.microseconds;
        });
    // Stay with the choice before unless the gain is clear.
    if (!ranges.empty()) {
      Choice stay = ranges.back().choice;
      stay.microseconds =
          predict(graph, configs[stay.config], rates, tokens, stay.splits);
      if (stay.microseconds <= 1.01 * best.microseconds)
        best = stay;
    }
    if (!ranges.empty() && ranges.back().choice == best)
      ranges.back().to = tokens + 1;
    else
      ranges.push_back({from, tokens + 1, best});
    from = tokens + 1;
  }
  ranges.back().to = -1;
  return ranges;
}

//===----------------------------------------------------------------------===//
// Tuning files
//===----------------------------------------------------------------------===//

/// Ranges from a file in place of the cost model's:
///   {"ranges": [{"to": 513, "tile_n": 128, "splits": [1, 2]}, ...]}
/// in ascending order, the last with "to": -1, splits for each fused op. With
/// "tile_m": 256 pairs of CTAs share tiles, where the target has them.
static FailureOr<SmallVector<TokenRange>>
readTuning(StringRef path, mlp::GraphOp graph, ArrayRef<TileConfig> configs) {
  auto fail = [&](const Twine &why) -> FailureOr<SmallVector<TokenRange>> {
    graph.emitError("tuning file '") << path << "': " << why.str();
    return failure();
  };
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
      llvm::MemoryBuffer::getFile(path);
  if (!file)
    return fail(file.getError().message());
  llvm::Expected<llvm::json::Value> json =
      llvm::json::parse((*file)->getBuffer());
  if (!json)
    return fail(llvm::toString(json.takeError()));
  const llvm::json::Object *root = json->getAsObject();
  const llvm::json::Array *list = root ? root->getArray("ranges") : nullptr;
  if (!list || list->empty())
    return fail("expects an object with a list 'ranges'");
  SmallVector<mlp::FusedOp> all;
  graph.walk([&](mlp::FusedOp fused) { all.push_back(fused); });
  SmallVector<TokenRange> ranges;
  int64_t from = 1;
  for (const llvm::json::Value &value : *list) {
    const llvm::json::Object *entry = value.getAsObject();
    std::optional<int64_t> to = entry ? entry->getInteger("to") : std::nullopt;
    std::optional<int64_t> tileN =
        entry ? entry->getInteger("tile_n") : std::nullopt;
    const llvm::json::Array *splits =
        entry ? entry->getArray("splits") : nullptr;
    if (!to || !tileN || !splits)
      return fail("a range expects 'to', 'tile_n' and 'splits'");
    if (*to >= 0 ? *to <= from : &value != &list->back())
      return fail("ranges do not ascend to one without end");
    TokenRange range{from, *to, {}};
    int64_t tileM = arch::ctaTileRows;
    if (const llvm::json::Value *rows = entry->get("tile_m")) {
      std::optional<int64_t> number = rows->getAsInteger();
      if (!number)
        return fail("'tile_m' expects an integer");
      tileM = *number;
    }
    const TileConfig *config = llvm::find_if(configs, [&](const TileConfig &c) {
      return c.tileN == *tileN && c.tileM * c.ctaGroup == tileM;
    });
    if (config == configs.end())
      return fail("no tile of " + Twine(tileM) + " rows and " + Twine(*tileN) +
                  " columns fits here");
    range.choice.config = config - configs.begin();
    for (const llvm::json::Value &split : *splits) {
      std::optional<int64_t> count = split.getAsInteger();
      if (!count || *count < 1 || *count > maxSplits)
        return fail("'splits' expects integers from 1 to " + Twine(maxSplits));
      range.choice.splits.push_back(*count);
    }
    if (range.choice.splits.size() != all.size())
      return fail("'splits' expects " + Twine(all.size()) + " integers");
    for (auto [fused, count] : llvm::zip(all, range.choice.splits))
      if (count > 1 && fused.getNumAccumulators() > 1)
        return fail("a product space of several accumulators cannot be split");
    ranges.push_back(range);
    from = *to;
  }
  if (ranges.back().to != -1)
    return fail("the last range expects 'to': -1");
  return ranges;
}

//===----------------------------------------------------------------------===//
// Apply
//===----------------------------------------------------------------------===//

static void apply(mlp::GraphOp graph, const TileConfig &config,
                  const arch::Rates &rates, ArrayRef<TokenRange> ranges,
                  const std::optional<mlp::Extent> &tokens) {
  Builder b(graph.getContext());
  graph.walk([&](mlp::FusedOp fused) {
    fused.setScheduleAttr(tile::ScheduleAttr::get(
        b.getContext(), config.tileOf(fused),
        unitCost(fused, config, rates), dealOrder(fused)));
  });
  for (mlp::LaunchOp launch : graph.getBody().front().getOps<mlp::LaunchOp>()) {
    launch->setAttr("tile.slots", b.getI64IntegerAttr(config.slots));
    launch->setAttr("tile.slot_bytes", b.getI64IntegerAttr(config.slotBytes));
    if (config.drainSlots) {
      launch->setAttr("tile.drain_slots",
                      b.getI64IntegerAttr(config.drainSlots));
      launch->setAttr("tile.drain_slot_bytes",
                      b.getI64IntegerAttr(config.drainSlotBytes));
    }
    if (config.ctaGroup > 1)
      launch->setAttr("tile.ctas", b.getI64IntegerAttr(config.ctaGroup));
    if (config.accumulators > 1)
      launch->setAttr("tile.accumulators",
                      b.getI64IntegerAttr(config.accumulators));
  }
  SmallVector<Attribute> attributes;
  for (const TokenRange &range : ranges)
    attributes.push_back(tile::RangeAttr::get(b.getContext(), range.from,
                                              range.to, range.choice.splits));
  graph->setAttr("tile.ranges", b.getArrayAttr(attributes));
  SmallVector<StringAttr> names;
  AffineExpr product = getAffineConstantExpr(1, b.getContext());
  if (tokens)
    for (StringRef name : tokens->names) {
      product = product * getAffineSymbolExpr(names.size(), b.getContext());
      names.push_back(b.getStringAttr(name));
    }
  graph->setAttr("tile.tokens",
                 tile::ExprAttr::get(b.getContext(), names,
                                     AffineMap::get(0, names.size(), product)));
}

LogicalResult backfuse::selectSchedule(mlp::GraphOp graph, StringRef targetName,
                                       StringRef tuningFile) {
  for (Operation &op : graph.getBody().front().without_terminator())
    if (!isa<mlp::LaunchOp, mlp::ConvertOp>(op))
      return op.emitOpError("is not in a launch (backfuse-fuse-into-launches "
                            "puts it into one)");
  const arch::Target &target = *arch::lookupTarget(targetName);
  const arch::Rates &rates = arch::getRates(targetName);
  std::string why;
  SmallVector<TileConfig> configs =
      target.tmemColumns
          ? feasibleTensorMemoryConfigs(graph, target, why)
          : feasibleConfigs(graph, rates, target.maxDynamicSmemBytes, why);
  if (configs.empty())
    return graph.emitOpError("has no schedule on ")
           << target.name << ": " << why;
  bool several;
  std::optional<mlp::Extent> tokens = findTokens(graph, several);
  SmallVector<TokenRange> ranges;
  if (tuningFile.empty()) {
    ranges = chooseRanges(graph, configs, rates, several || !tokens);
  } else {
    FailureOr<SmallVector<TokenRange>> tuned =
        readTuning(tuningFile, graph, configs);
    if (failed(tuned))
      return failure();
    ranges = *tuned;
  }
  if (several || !tokens)
    ranges.front().from = 0;
  if (several)
    tokens.reset();

  OpBuilder b(graph);
  std::string name = graph.getSymName().str();
  for (auto [i, config] : llvm::enumerate(configs)) {
    SmallVector<TokenRange> own =
        llvm::filter_to_vector(ranges, [&](const TokenRange &range) {
          return range.choice.config == i;
        });
    if (own.empty())
      continue;
    auto clone = cast<mlp::GraphOp>(b.clone(*graph));
    std::string shape = "n" + std::to_string(config.tileN);
    if (config.ctaGroup > 1)
      shape = "m" + std::to_string(config.tileM * config.ctaGroup) + shape;
    clone.setSymName(name + "__" + shape);
    apply(clone, config, rates, own, tokens);
  }
  graph.erase();
  return success();
}

namespace {
struct SelectSchedulePass final
    : backfuse::impl::SelectSchedulePassBase<SelectSchedulePass> {
  using Base::Base;

  void runOnOperation() override {
    if (!arch::lookupTarget(target)) {
      getOperation().emitError("unknown target '")
          << target << "'; there are " << arch::listTargetNames();
      return signalPassFailure();
    }
    for (mlp::GraphOp graph :
         llvm::to_vector(getOperation().getOps<mlp::GraphOp>()))
      if (failed(selectSchedule(graph, target, tuning)))
        return signalPassFailure();
  }
};
} // namespace
