//===- ConvertMlpToTile.cpp - Turn launches into tile kernels -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precondition: every op of a graph but its output is an mlp.launch with a pool,
// and every fused op has a #tile.schedule.
// Postcondition: a tile.kernel for each launch, no graph.
//===----------------------------------------------------------------------===//
#include "KernelBuilder.h"
#include "backfuse/Analysis/Padding.h"
#include "backfuse/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#define DEBUG_TYPE "convert-mlp-to-tile"

namespace backfuse {
#define GEN_PASS_DEF_CONVERTMLPTOTILEPASS
#include "backfuse/Conversion/Passes.h.inc"
} // namespace backfuse

using namespace mlir;
using namespace backfuse;

static LogicalResult verifyLaunched(mlp::GraphOp graph) {
  for (Operation &op : graph.getBody().front().without_terminator())
    if (!isa<mlp::LaunchOp, mlp::ConvertOp>(op))
      return op.emitOpError(
          "is not in a launch (backfuse-fuse-into-launches puts it into one)");
  return success();
}

/// An extent as an expression; its names are added to `names`.
static AffineExpr extentExpr(const mlp::Extent &extent,
                             SmallVectorImpl<StringAttr> &names,
                             MLIRContext *context) {
  AffineExpr expr = getAffineConstantExpr(extent.factor, context);
  for (StringRef name : extent.names) {
    auto attr = StringAttr::get(context, name);
    auto it = llvm::find(names, attr);
    if (it == names.end()) {
      names.push_back(attr);
      it = std::prev(names.end());
    }
    expr = expr * getAffineSymbolExpr(it - names.begin(), context);
  }
  return expr;
}

/// Bytes of a tensor as an expression over the graph's dimensions, its rows
/// (all axes but the last) padded to a multiple of `pad`.
static tile::ExprAttr tensorBytes(RankedTensorType type, int64_t pad) {
  MLIRContext *context = type.getContext();
  SmallVector<StringAttr> names;
  AffineExpr rows = getAffineConstantExpr(1, context);
  SmallVector<mlp::Extent> extents = mlp::getExtents(type);
  for (const mlp::Extent &extent : ArrayRef(extents).drop_back())
    rows = rows * extentExpr(extent, names, context);
  AffineExpr bytes = rows.ceilDiv(pad) * pad;
  bytes = bytes * extentExpr(extents.back(), names, context) *
          (type.getElementType().getIntOrFloatBitWidth() / 8);
  return tile::ExprAttr::get(context, names,
                             AffineMap::get(0, names.size(), bytes));
}

/// The units of work of a fused op, tiles times splits, which kernels count with
/// 32 bits; `number` is its number in the graph.
static tile::ExprAttr countUnits(mlp::FusedOp fused, ArrayRef<int64_t> tile,
                                 unsigned number) {
  MLIRContext *context = fused.getContext();
  SmallVector<StringAttr> names;
  AffineExpr units =
      extentExpr(fused.getM().getExtent(), names, context).ceilDiv(tile[0]) *
      extentExpr(fused.getN().getExtent(), names, context).ceilDiv(tile[1]) *
      getAffineSymbolExpr(names.size(), context);
  names.push_back(
      StringAttr::get(context, "splits:" + std::to_string(number)));
  return tile::ExprAttr::get(context, names,
                             AffineMap::get(0, names.size(), units));
}

/// Leaves each product's place in the op list, operand type and operations on
/// the kernel, units of work and the tile's shape.
static void describeProducts(ArrayRef<mlp::FusedOp> all, unsigned firstFused,
                             tile::KernelOp kernel) {
  Builder b(kernel.getContext());
  SmallVector<Attribute> products, types, operations, units;
  for (mlp::FusedOp fused : all) {
    for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
      mlp::ContractionAttr contraction = fused.getContraction(i);
      SmallVector<StringAttr> names;
      AffineExpr count = getAffineConstantExpr(2, b.getContext());
      for (mlp::ExtentAttr extent :
           {fused.getM(), fused.getN(), contraction.getK()})
        count = count * extentExpr(extent.getExtent(), names, b.getContext());
      Type a = getElementTypeOrSelf(fused.getA(i));
      Type element = a.isF32() ? getElementTypeOrSelf(fused.getB(i)) : a;
      // An f32 operand in two parts takes two products.
      for (int part = 0; part < (takesTwoParts(contraction) ? 2 : 1); ++part) {
        products.push_back(
            b.getI64IntegerAttr(contraction.getOpIndex().value_or(-1)));
        types.push_back(TypeAttr::get(element));
        operations.push_back(tile::ExprAttr::get(
            b.getContext(), names, AffineMap::get(0, names.size(), count)));
      }
    }
    if (auto schedule = dyn_cast_if_present<tile::ScheduleAttr>(
            fused.getSchedule().value_or(Attribute()))) {
      kernel->setAttr("tile.shape", b.getDenseI64ArrayAttr(schedule.getTile()));
      units.push_back(countUnits(fused, schedule.getTile(), firstFused));
    }
    ++firstFused;
  }
  kernel->setAttr("tile.products", b.getArrayAttr(products));
  kernel->setAttr("tile.product_types", b.getArrayAttr(types));
  kernel->setAttr("tile.operations", b.getArrayAttr(operations));
  kernel->setAttr("tile.units", b.getArrayAttr(units));
}

/// Why the graph's results cannot simply be zero when there are no tokens; empty
/// if they can: what remains then are sums over tokens, stored as they are.
static std::string whyNotEmpty(mlp::GraphOp graph) {
  std::string reason;
  std::optional<SmallVector<StringRef>> names;
  auto see = [&](mlp::ExtentAttr attr) {
    if (attr.isFixed())
      return;
    mlp::Extent extent = attr.getExtent();
    SmallVector<StringRef> found(extent.names.begin(), extent.names.end());
    if (names && *names != found)
      reason =
          "one of several variable dimensions being 0 leaves results of the "
          "others, which is not built yet; give at least one of each";
    names = found;
  };
  graph.walk([&](mlp::FusedOp fused) {
    see(fused.getM());
    see(fused.getN());
    for (unsigned i = 0; i < fused.getNumContractions(); ++i)
      see(fused.getContraction(i).getK());
  });
  if (!names || !reason.empty())
    return reason;
  graph.walk([&](mlp::FusedOp fused) {
    if (!fused.getM().isFixed())
      return;
    if (fused.getContraction(0).getK().isFixed()) {
      reason = "a product that does not depend on the tokens would still have "
               "to be computed, which is not built yet; give at least one token";
      return;
    }
    mlp::FusedYieldOp yield = fused.getYield();
    for (auto [i, value] : llvm::enumerate(yield.getValues())) {
      Value source = value;
      while (Operation *cast = source.getDefiningOp()) {
        if (!isa<arith::TruncFOp, arith::ExtFOp>(cast))
          break;
        source = cast->getOperand(0);
      }
      auto argument = dyn_cast<BlockArgument>(source);
      if (yield.getKind(i) != mlp::YieldKind::Store || !argument ||
          argument.getArgNumber() >= fused.getNumAccumulators())
        reason = "a result is computed from a sum over the tokens, which an "
                 "empty sum would have to pass through; give at least one token";
    }
  });
  return reason;
}

/// Rows of the tiles of scheduled fused ops, for the padding.
static int64_t tileRows(mlp::FusedOp fused) {
  auto schedule = dyn_cast_if_present<tile::ScheduleAttr>(
      fused.getSchedule().value_or(Attribute()));
  return schedule ? schedule.getTile()[0] : 0;
}

/// Where each value of the graph lives.
static FailureOr<StorageMap> assignStorage(mlp::GraphOp graph) {
  MLIRContext *context = graph.getContext();
  StorageMap storage;
  auto bind = [&](Value value, tile::BindKind kind, int64_t index,
                  tile::ExprAttr expr = {}) {
    storage[value].binding = tile::BindAttr::get(context, kind, index, expr);
  };
  for (auto [i, input] : llvm::enumerate(graph.getInputs()))
    bind(input, tile::BindKind::Input, i);
  for (auto [i, param] : llvm::enumerate(graph.getParams()))
    bind(param, tile::BindKind::Param, i);
  mlp::OutputOp output = graph.getOutput();
  for (auto [i, value] : llvm::enumerate(output->getOperands())) {
    if (storage.contains(value))
      return output.emitOpError("names one value twice, ")
             << output.getName(storage[value].binding.getIndex()) << " and "
             << output.getName(i) << "; output it once";
    bind(value, tile::BindKind::Output, i);
  }
  int64_t temporaries = 0;
  for (Operation &op : graph.getBody().front().without_terminator())
    for (Value result : op.getResults())
      if (!storage.contains(result))
        bind(result, tile::BindKind::Temporary, temporaries++,
             tensorBytes(cast<RankedTensorType>(result.getType()),
                         paddingOf(result, tileRows)));
  return storage;
}

/// The signals of fused ops that others of their launch await, after the
/// temporaries of `storage`. A conversion before the launch clears them.
static FailureOr<SignalMap> assignSignals(mlp::GraphOp graph,
                                          const StorageMap &storage) {
  MLIRContext *context = graph.getContext();
  int64_t temporaries = llvm::count_if(storage, [](const auto &entry) {
    return entry.second.binding.getKind() == tile::BindKind::Temporary;
  });
  SignalMap signals;
  bool converts = false;
  for (Operation &op : graph.getBody().front()) {
    converts |= isa<mlp::ConvertOp>(op);
    auto launch = dyn_cast<mlp::LaunchOp>(op);
    if (!launch)
      continue;
    for (mlp::FusedOp fused : launch.getFusedOps()) {
      if (llvm::none_of(fused->getUsers(), [](Operation *user) {
            return isa<mlp::FusedOp>(user);
          }))
        continue;
      if (!converts)
        return fused.emitOpError("is multiplied in its own launch, but no "
                                 "conversion before it clears its signals");
      auto schedule = dyn_cast_if_present<tile::ScheduleAttr>(
          fused.getSchedule().value_or(Attribute()));
      if (!schedule)
        return fused.emitOpError(
            "has no schedule (backfuse-select-schedule gives it one)");
      SmallVector<StringAttr> names;
      AffineExpr bytes = getAffineConstantExpr(2 * 8, context);
      mlp::ExtentAttr extents[] = {fused.getM(), fused.getN()};
      for (auto [extent, tile] : llvm::zip(extents, schedule.getTile()))
        bytes = bytes *
                extentExpr(extent.getExtent(), names, context).ceilDiv(tile);
      signals[fused] = tile::BindAttr::get(
          context, tile::BindKind::Temporary, temporaries++,
          tile::ExprAttr::get(context, names,
                              AffineMap::get(0, names.size(), bytes)));
    }
  }
  return signals;
}

/// The partial sums of conversions, after the temporaries of `storage` and the
/// signals.
static PartialsMap assignPartials(mlp::GraphOp graph, const StorageMap &storage,
                                  const SignalMap &signals) {
  MLIRContext *context = graph.getContext();
  int64_t temporaries =
      signals.size() + llvm::count_if(storage, [](const auto &entry) {
        return entry.second.binding.getKind() == tile::BindKind::Temporary;
      });
  PartialsMap partials;
  for (auto convert : graph.getBody().front().getOps<mlp::ConvertOp>()) {
    if (!deferredSum(convert))
      continue;
    auto type = cast<RankedTensorType>(convert.getX().getType());
    std::optional<mlp::Extent> rows =
        mlp::getExtentOfAxes(type, 0, type.getRank() - 1);
    if (!rows)
      continue; // refused where the kernel is built
    SmallVector<StringAttr> names;
    AffineExpr lines =
        extentExpr(*rows, names, context).ceilDiv(tile::ConvertOp::sumRows);
    AffineExpr bytes =
        lines * (mlp::getExtent(type, type.getRank() - 1).factor * 4);
    partials[convert] = tile::BindAttr::get(
        context, tile::BindKind::Temporary, temporaries++,
        tile::ExprAttr::get(context, names,
                            AffineMap::get(0, names.size(), bytes)));
  }
  return partials;
}

static LogicalResult convertGraph(mlp::GraphOp graph) {
  FailureOr<StorageMap> storage = assignStorage(graph);
  if (failed(storage))
    return failure();
  FailureOr<SignalMap> signals = assignSignals(graph, *storage);
  if (failed(signals))
    return failure();
  PartialsMap partials = assignPartials(graph, *storage, *signals);
  Builder b(graph.getContext());
  unsigned step = 0, firstFused = 0;
  std::string notEmpty = whyNotEmpty(graph);
  tile::KernelOp previous;
  auto finish = [&](tile::KernelOp kernel) {
    if (previous) {
      previous->setAttr("tile.has_dependents", b.getUnitAttr());
      kernel->setAttr("tile.dependent", b.getUnitAttr());
    }
    previous = kernel;
    for (StringRef name : {"tile.ranges", "tile.tokens"})
      if (Attribute attribute = graph->getDiscardableAttr(name))
        kernel->setAttr(name, attribute);
    kernel->setAttr("tile.variant", graph.getSymNameAttr());
    kernel->setAttr("tile.step", b.getI64IntegerAttr(step++));
    if (DictionaryAttr assumptions = graph.getAssumptionsAttr())
      kernel->setAttr("tile.assumptions", assumptions);
    if (!notEmpty.empty())
      kernel->setAttr("tile.not_empty", b.getStringAttr(notEmpty));
  };
  auto nameOf = [&](StringRef kind) {
    return (graph.getSymName() + "_" + kind + Twine(step)).str();
  };
  SmallVector<mlp::ConvertOp> converts;
  for (Operation &op :
       llvm::make_early_inc_range(graph.getBody().front().without_terminator())) {
    if (auto convert = dyn_cast<mlp::ConvertOp>(op)) {
      converts.push_back(convert);
      continue;
    }
    if (!converts.empty()) {
      KernelBuilder builder(converts.front(), *storage, *signals, partials);
      FailureOr<tile::KernelOp> kernel =
          builder.buildConversion(
              converts,
              [](Value copy) { return paddingOf(copy, tileRows); }, graph,
              nameOf("convert"));
      if (failed(kernel))
        return failure();
      describeProducts({}, firstFused, *kernel);
      finish(*kernel);
    }
    auto launch = cast<mlp::LaunchOp>(op);
    KernelBuilder builder(launch, *storage, *signals, partials);
    FailureOr<tile::KernelOp> kernel =
        builder.build(launch, converts, firstFused, graph, nameOf("launch"));
    if (failed(kernel))
      return failure();
    describeProducts(launch.getFusedOps(), firstFused, *kernel);
    finish(*kernel);
    converts.clear();
    firstFused += launch.getFusedOps().size();
  }
  graph.erase();
  return success();
}

namespace {
struct ConvertMlpToTilePass final
    : backfuse::impl::ConvertMlpToTilePassBase<ConvertMlpToTilePass> {
  using Base::Base;

  void runOnOperation() override {
    for (mlp::GraphOp graph :
         llvm::to_vector(getOperation().getOps<mlp::GraphOp>()))
      if (failed(verifyLaunched(graph)) || failed(convertGraph(graph)))
        return signalPassFailure();
  }
};
} // namespace
