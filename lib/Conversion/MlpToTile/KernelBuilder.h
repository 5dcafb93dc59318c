//===- KernelBuilder.h - Build the tile.kernel of a launch ------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to convert-mlp-to-tile.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_CONVERSION_MLPTOTILE_KERNELBUILDER_H
#define BACKFUSE_CONVERSION_MLPTOTILE_KERNELBUILDER_H

#include "backfuse/Analysis/EntryLayout.h"
#include "dialects/Mlp/IR/MlpLaunchOps.h"
#include "dialects/Mlp/IR/MlpOps.h"
#include "dialects/Tile/IR/TileOps.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

#include <vector>

namespace backfuse {

/// Where the values of a graph live between and around its launches.
struct Storage {
  tile::BindAttr binding;
};
using StorageMap = llvm::MapVector<mlir::Value, Storage>;
/// Where fused ops whose results others of their launch multiply set flags.
using SignalMap = llvm::MapVector<mlir::Operation *, tile::BindAttr>;
/// Where conversions leave partial sums, which the next launch adds up.
using PartialsMap = llvm::MapVector<mlir::Operation *, tile::BindAttr>;

class KernelBuilder {
public:
  /// `owner` is where errors are reported.
  KernelBuilder(mlir::Operation *owner, const StorageMap &storage,
                const SignalMap &signals, const PartialsMap &partials)
      : owner(owner), storage(storage), signals(signals), partials(partials),
        b(owner->getLoc(), owner->getContext()) {}

  /// Creates the kernel of a launch before `anchor`; `firstFused` is the number
  /// of its first fused op in the graph. It adds up the partial sums that
  /// `converts`, whose kernel is the one before, leave.
  mlir::FailureOr<tile::KernelOp>
  build(mlp::LaunchOp launch, llvm::ArrayRef<mlp::ConvertOp> converts,
        unsigned firstFused, mlir::Operation *anchor, llvm::StringRef name);
  /// Creates one kernel for all conversions before `anchor`, which clears the
  /// signals of the launches after it. `padOf` gives a copy's padding (paddingOf).
  mlir::FailureOr<tile::KernelOp>
  buildConversion(llvm::ArrayRef<mlp::ConvertOp> converts,
                  llvm::function_ref<int64_t(mlir::Value)> padOf,
                  mlir::Operation *anchor, llvm::StringRef name);

private:
  /// A contraction of the fused op, or two that share an f32 operand and
  /// multiply it by the parts of the other one.
  struct Contraction {
    unsigned first; // of the fused op's
    mlir::Value ring, accumulator;
    llvm::SmallVector<mlir::Value, 2> a, b; // operands, each a buffer
    bool aK, bK, split;
  };
  struct SumBuffers {
    mlir::Value partials, flags, result;
    bool rides = true; // on the operand of a product
    mlir::Value contributors; // tiles that add up steps, where it rides
  };
  struct Part {
    mlp::FusedOp fused;
    tile::ScheduleAttr schedule;
    unsigned number; // of the fused op in the graph
    mlir::Value m, n, k, splits, space, steps;
    mlir::Value partials, flags; // of split K
    mlir::Value signals;         // null where nobody awaits its tiles
    llvm::SmallVector<mlir::Value> accumulators;
    llvm::SmallVector<Contraction> contractions;
    EntryLayout entry;
    mlir::Value entryRing;
    llvm::SmallVector<SumBuffers> drainSums, operandSums;
    mlir::Value usedSplits;
    /// This CTA's part of the tile's rows and columns, and where it begins in
    /// the tile (null: at 0).
    int64_t ownM, ownN;
    mlir::Value ownRow, ownCol;
    bool needsSum() const {
      return llvm::any_of(operandSums,
                          [](const SumBuffers &sum) { return sum.rides; });
    }
  };

  mlir::LogicalResult checkPart(Part &part);
  mlir::LogicalResult createPart(Part &part);
  void createContraction(Part &part, unsigned number);
  void createSumBuffers(Part &part);
  void createLoad(Part &part, mlir::Block &block);
  void createAwaits(Part &part, mlir::Block &block);
  void createMultiply(Part &part, mlir::Block &block);
  void createDrain(Part &part, mlir::Block &block);
  void createSum(Part &part, mlir::Block &block);
  void createContributors(Part &part);
  void createApartSums(Part &part);
  void createFinish(Part &part);
  void createFinish(mlp::ConvertOp convert);
  mlir::LogicalResult checkTensors();
  tile::ForEachUnitOp createUnits(mlir::Block &task);
  mlir::Block &createTask(tile::TaskKind kind);

  /// The kernel's argument for a tensor of the graph, seen as a matrix;
  /// `copied` in boxes, which takes rows of a multiple of 16 bytes.
  mlir::FailureOr<mlir::Value> tensorArgument(mlir::Value value,
                                              const mlp::Extent &rows,
                                              const mlp::Extent &cols,
                                              bool copied = true);
  /// The same for one row or one column, whose elements are read one by one.
  mlir::FailureOr<mlir::Value> vectorArgument(mlir::Value value,
                                              const mlp::Extent &rows,
                                              const mlp::Extent &cols);
  mlir::Value addArgument(mlir::Type type, tile::BindAttr binding);
  mlir::Value extentArgument(const mlp::Extent &extent);
  mlir::Value splitsArgument(unsigned number);
  mlir::Value tagArgument();
  mlir::Value workspaceArgument(mlir::AffineExpr bytes);
  /// An extent as an expression over the plan's names.
  mlir::AffineExpr extentExpr(const mlp::Extent &extent);
  mlir::AffineExpr symbol(llvm::StringRef name);
  tile::ExprAttr exprAttr(mlir::AffineExpr expr);
  mlir::Value index(int64_t value);
  /// `at`, or where this CTA's part of the tile begins that begins at `at`.
  mlir::Value ownPlace(mlir::Value at, mlir::Value offset);
  /// The value inside of the graph that a result of a fused op becomes.
  mlir::Value launchResult(mlir::Value fusedResult);

  mlir::Operation *owner;
  mlp::LaunchOp launch;
  const StorageMap &storage;
  const SignalMap &signals;
  const PartialsMap &partials;
  mlir::ImplicitLocOpBuilder b;
  tile::KernelOp kernel;
  llvm::SmallVector<mlir::Attribute> bindings;
  llvm::MapVector<std::pair<mlir::Value, mlir::Type>, mlir::Value> tensors;
  llvm::StringMap<mlir::Value> extents;
  llvm::DenseMap<int64_t, mlir::Value> constants;
  llvm::SmallVector<std::string> symbols;
  std::vector<Part> parts;
  mlir::Value pool, drainPool, tag;
  mlir::Value rank;            // of this CTA, where several share a tile
  int64_t numAccumulators = 1; // of each kind, in turn
  int64_t numCtas = 1;         // that share a tile
};

} // namespace backfuse

#endif // BACKFUSE_CONVERSION_MLPTOTILE_KERNELBUILDER_H
