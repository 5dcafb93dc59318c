//===- TileVerifiers.cpp - Verifiers of the tile dialect's operations -----===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Tile/IR/TileOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace backfuse::tile;

//===----------------------------------------------------------------------===//
// What a task does to the rings
//===----------------------------------------------------------------------===//

namespace {
/// Entries of one ring, one after the other. The trip count is a constant or a
/// value that is the same in all tasks: a unit argument or a kernel value.
struct Entries {
  Value ring;
  std::string count;
  bool lastSplitOnly;
  Operation *op;

  bool operator==(const Entries &other) const {
    return ring == other.ring && count == other.count &&
           lastSplitOnly == other.lastSplitOnly;
  }
};
} // namespace

/// Whether `tensor` is an argument of the kernel, which a launch plan binds (or of
/// a function that holds the op without one).
static bool isKernelArgument(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  return argument && argument.getOwner()->getParentOp() &&
         argument.getOwner()
             ->getParentOp()
             ->hasTrait<OpTrait::IsIsolatedFromAbove>();
}

static Value poolOf(Value ring) {
  if (auto op = ring.getDefiningOp<RingOp>())
    return op.getPool();
  return {};
}

/// A name for a trip count that is equal in two tasks if and only if the
/// counts are: the number of a unit argument, a constant, or a value's address.
static std::string describeCount(Value count) {
  APInt constant;
  if (matchPattern(count, m_ConstantInt(&constant)))
    return std::to_string(constant.getSExtValue());
  if (auto argument = dyn_cast<BlockArgument>(count))
    if (isa<ForEachUnitOp>(argument.getOwner()->getParentOp()))
      return llvm::formatv("unit argument {0}", argument.getArgNumber());
  return llvm::formatv("value {0}", count.getAsOpaquePointer());
}

/// The trip count as a number, if it is constant.
static std::optional<int64_t> constantCount(const Entries &entries) {
  int64_t count;
  if (StringRef(entries.count).getAsInteger(10, count))
    return std::nullopt;
  return count;
}

/// Adds up neighbours of constant counts, so that a loop and its unrolled form
/// are the same.
static void mergeEntries(SmallVectorImpl<Entries> &entries) {
  SmallVector<Entries> merged;
  for (Entries &next : entries) {
    if (!merged.empty()) {
      Entries &last = merged.back();
      std::optional<int64_t> a = constantCount(last), b = constantCount(next);
      if (a && b && last.ring == next.ring &&
          last.lastSplitOnly == next.lastSplitOnly) {
        last.count = std::to_string(*a + *b);
        continue;
      }
    }
    merged.push_back(next);
  }
  entries = std::move(merged);
}

/// Appends the entries of a loop's iterations.
static LogicalResult collectLoop(scf::ForOp loop, ArrayRef<Entries> body,
                                 SmallVectorImpl<Entries> &entries) {
  APInt lower, step, upper;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) || lower != 0 ||
      step != 1)
    return loop.emitOpError(
        "expects a loop from 0 by 1 around ring operations (C4)");
  std::optional<int64_t> perIteration = constantCount(body[0]);
  if (body.size() != 1 || !perIteration)
    return loop.emitOpError(
        "expects entries of one ring in each iteration of a loop (C4)");
  Entries all = body[0];
  if (matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
    all.count = std::to_string(upper.getSExtValue() * *perIteration);
  else if (*perIteration == 1)
    all.count = describeCount(loop.getUpperBound());
  else
    return loop.emitOpError("expects one entry in each iteration of a loop of "
                            "variable length (C4)");
  entries.push_back(all);
  return success();
}

/// Appends what `block` produces (load task) or consumes (others).
static LogicalResult collectEntries(Block &block, bool lastSplitOnly,
                                    SmallVectorImpl<Entries> &entries) {
  auto add = [&](Value ring, std::string count, Operation &op) {
    entries.push_back({ring, std::move(count), lastSplitOnly, &op});
    if (poolOf(ring))
      return success();
    return LogicalResult(
        op.emitOpError("expects a ring that is the result of tile.ring (C4)"));
  };
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      SmallVector<Entries> body;
      if (failed(collectEntries(*loop.getBody(), lastSplitOnly, body)))
        return failure();
      if (!body.empty() && failed(collectLoop(loop, body, entries)))
        return failure();
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      auto argument = dyn_cast<BlockArgument>(branch.getCondition());
      SmallVector<Entries> body;
      if (failed(collectEntries(*branch.thenBlock(), true, body)))
        return failure();
      if (body.empty())
        continue;
      if (!argument || argument.getArgNumber() != 5 || branch.elseBlock() ||
          !isa<ForEachUnitOp>(argument.getOwner()->getParentOp()))
        return branch.emitOpError("expects ring operations under no other "
                                  "condition than the last split (C4)");
      llvm::append_range(entries, body);
    } else if (auto acquire = dyn_cast<AcquireOp>(op)) {
      unsigned commits =
          llvm::count_if(acquire.getResult().getUsers(), [&](Operation *user) {
            return isa<CommitOp>(user) && user->getBlock() == &block;
          });
      if (commits != 1)
        return acquire.emitOpError("expects one commit of the slot in the same "
                                   "block, but got ")
               << commits << " (C4)";
      if (failed(add(acquire.getRing(), "1", op)))
        return failure();
    } else if (auto multiply = dyn_cast<MultiplyOp>(op)) {
      if (failed(
              add(multiply.getRing(), describeCount(multiply.getSteps()), op)))
        return failure();
    } else if (auto drain = dyn_cast<DrainOp>(op)) {
      if (drain.getRing() &&
          failed(
              add(drain.getRing(),
                  std::to_string(drain.numEntries() * drain.getSlotsPerEntry()),
                  op)))
        return failure();
    } else if (auto sum = dyn_cast<SumOperandOp>(op)) {
      if (failed(add(sum.getRing(), describeCount(sum.getSteps()), op)))
        return failure();
    } else if (auto skip = dyn_cast<SkipOp>(op)) {
      if (failed(add(skip.getRing(), describeCount(skip.getEntries()), op)))
        return failure();
    }
  }
  mergeEntries(entries);
  return success();
}

/// Compares, pool by pool, what is produced with what is consumed.
static LogicalResult compareEntries(Operation *kernel, unsigned space,
                                    StringRef consumer,
                                    ArrayRef<Entries> produced,
                                    ArrayRef<Entries> consumed) {
  for (unsigned i = 0, e = std::max(produced.size(), consumed.size()); i != e;
       ++i) {
    if (i < produced.size() && i < consumed.size() &&
        produced[i] == consumed[i])
      continue;
    InFlightDiagnostic diag = kernel->emitOpError()
                              << "space " << space << ": the " << consumer
                              << " not consume what load produces (C4)";
    if (i < produced.size())
      diag.attachNote(produced[i].op->getLoc())
          << "produced here: " << produced[i].count << " entries"
          << (produced[i].lastSplitOnly ? " by the last split" : "");
    if (i < consumed.size())
      diag.attachNote(consumed[i].op->getLoc())
          << "consumed here: " << consumed[i].count << " entries"
          << (consumed[i].lastSplitOnly ? " by the last split" : "");
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

static bool fits(BindKind kind, Type type) {
  switch (kind) {
  case BindKind::Input:
  case BindKind::Output:
    return isa<GlobalTensorType>(type);
  case BindKind::Temporary:
    return isa<GlobalTensorType, WorkspaceType>(type);
  case BindKind::Workspace:
    return isa<WorkspaceType>(type);
  case BindKind::Extent:
    return isa<IndexType>(type);
  case BindKind::Param:
    return type.isF32();
  case BindKind::Tag:
    return type.isInteger(64);
  }
  return false;
}

LogicalResult KernelOp::verify() {
  // (C1)
  if (getBindings().size() != getBlock().getNumArguments())
    return emitOpError("expects ")
           << getBlock().getNumArguments() << " bindings, but got "
           << getBindings().size() << " (C1)";
  for (auto [argument, attribute] :
       llvm::zip(getBlock().getArguments(), getBindings())) {
    auto binding = dyn_cast<BindAttr>(attribute);
    if (!binding || !fits(binding.getKind(), argument.getType()))
      return emitOpError("argument ")
             << argument.getArgNumber() << " of type " << argument.getType()
             << " cannot be bound to " << attribute << " (C1)";
    bool needsExpr = llvm::is_contained(
        {BindKind::Temporary, BindKind::Workspace, BindKind::Extent},
        binding.getKind());
    if (needsExpr && !binding.getExpr())
      return emitOpError("argument ")
             << argument.getArgNumber()
             << ": the binding expects an expression (C1)";
  }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  DenseMap<TaskKind, TaskOp> tasks;
  for (TaskOp task : getBlock().getOps<TaskOp>())
    if (!tasks.try_emplace(task.getKind(), task).second)
      return task.emitOpError("is the second task of kind ")
             << stringifyTaskKind(task.getKind()) << " (C2)";
  if (tasks.empty() && !getBlock().getOps<ConvertOp>().empty())
    return success();
  for (TaskKind kind : {TaskKind::Load, TaskKind::Multiply, TaskKind::Drain})
    if (!tasks.count(kind))
      return emitOpError("expects a task of kind ")
             << stringifyTaskKind(kind) << " (C2)";

  auto ranks = getBlock().getOps<ClusterRankOp>();
  int64_t numRanks = std::distance(ranks.begin(), ranks.end());
  if (numRanks > 1)
    return (*std::next(ranks.begin()))
        .emitOpError("is the second of its kernel (C6)");
  WalkResult pairs = walk([&](MultiplyOp multiply) -> WalkResult {
    if (multiply.getPair() == (numRanks == 1))
      return WalkResult::advance();
    return multiply.emitOpError("expects to be that of a pair where the kernel "
                                "has a tile.cluster_rank, and only there (C6)");
  });
  if (pairs.wasInterrupted())
    return failure();

  DenseMap<TaskKind, ForEachUnitOp> units;
  for (auto &[kind, task] : tasks) {
    auto loops = task.getBody().getOps<ForEachUnitOp>();
    if (std::distance(loops.begin(), loops.end()) != 1)
      return task.emitOpError("expects one tile.for_each_unit (C3)");
    units[kind] = *loops.begin();
  }
  ForEachUnitOp load = units[TaskKind::Load];
  for (auto &[kind, loop] : units)
    if (loop.getSpaces() != load.getSpaces())
      return loop.emitOpError(
          "expects the spaces of the load task, in its order (C3)");

  SetVector<Value> summedPools;
  if (units.count(TaskKind::Sum))
    for (Region &body : units[TaskKind::Sum].getBodies()) {
      SmallVector<Entries> summed;
      if (failed(collectEntries(body.front(), false, summed)))
        return failure();
      for (Entries &entry : summed)
        summedPools.insert(poolOf(entry.ring));
    }

  for (unsigned space = 0; space != load.getSpaces().size(); ++space) {
    auto collect = [&](TaskKind kind, SmallVectorImpl<Entries> &entries) {
      return collectEntries(units[kind].getBodies()[space].front(), false,
                            entries);
    };
    SmallVector<Entries> produced, consumed, summed;
    if (failed(collect(TaskKind::Load, produced)) ||
        failed(collect(TaskKind::Multiply, consumed)) ||
        failed(collect(TaskKind::Drain, consumed)))
      return failure();
    // Rings of different pools pass independently of each other.
    SetVector<Value> pools;
    for (Entries &entry : produced)
      pools.insert(poolOf(entry.ring));
    for (Entries &entry : consumed)
      pools.insert(poolOf(entry.ring));
    for (Value pool : pools) {
      auto ofPool = [&](ArrayRef<Entries> entries) {
        return llvm::filter_to_vector(entries, [&](const Entries &entry) {
          return poolOf(entry.ring) == pool;
        });
      };
      if (failed(compareEntries(*this, space, "multiply and drain tasks do",
                                ofPool(produced), ofPool(consumed))))
        return failure();
    }
    if (!units.count(TaskKind::Sum))
      continue;
    if (failed(collect(TaskKind::Sum, summed)))
      return failure();
    // The sum task may leave a pool alone, in all spaces.
    auto isSummed = [&](const Entries &entry) {
      return summedPools.contains(poolOf(entry.ring));
    };
    produced = llvm::filter_to_vector(produced, isSummed);
    if (failed(compareEntries(*this, space, "sum task does", produced, summed)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The other ops
//===----------------------------------------------------------------------===//

LogicalResult SpaceOp::verify() {
  if (getTile().size() != 3 || llvm::any_of(getTile(), [](int64_t extent) {
        return extent <= 0 || !llvm::isInt<32>(extent);
      }))
    return emitOpError("expects three tile extents from 1 to 2147483647 (C1)");
  int64_t cost = getCost();
  if (cost < 0 || !llvm::isInt<32>(cost))
    return emitOpError("expects a cost from 0 to 2147483647, but got ")
           << cost << " (C2)";
  return success();
}

LogicalResult PoolOp::verify() {
  int64_t slots = getSlots(), slotBytes = getSlotBytes();
  if (slots < 2 || !llvm::isInt<16>(slots))
    return emitOpError("expects 2 to 32767 slots, but got ")
           << slots << " (C1)";
  if (slotBytes <= 0 || slotBytes % 1024 || !llvm::isInt<32>(slotBytes))
    return emitOpError("expects slots of a positive multiple of 1024 bytes, "
                       "but got ")
           << slotBytes << " (C1)";
  return success();
}

LogicalResult RingOp::verify() {
  auto pool = getPool().getDefiningOp<PoolOp>();
  if (!pool)
    return emitOpError("expects a pool that is the result of tile.pool (C2)");
  int64_t bytes = 0, slotBytes = pool.getSlotBytes();
  for (BufferAttr buffer : getResult().getType().getBuffers()) {
    bytes += buffer.numBytes();
    if (bytes > slotBytes)
      return emitOpError("expects buffers that fit into ")
             << slotBytes << " bytes, but got " << bytes << " (C1)";
  }
  return success();
}

LogicalResult ClusterRankOp::verify() {
  if (int64_t count = getOf(); count != 2)
    return emitOpError("expects clusters of 2 CTAs, but got ")
           << count << " (C1)";
  return success();
}

LogicalResult AccumulatorsOp::verify() {
  if (int64_t count = getCount(); count < 1)
    return emitOpError("expects at least 1, but got ") << count << " (C1)";
  return success();
}

LogicalResult ForEachUnitOp::verify() {
  if (getBodies().size() != getSpaces().size())
    return emitOpError("expects a region for each of ")
           << getSpaces().size() << " spaces, but got " << getBodies().size()
           << " (C1)";
  for (Value space : getSpaces())
    if (!space.getDefiningOp<SpaceOp>())
      return emitOpError("expects spaces that are results of tile.space (C2)");
  for (Region &region : getBodies()) {
    if (!region.hasOneBlock() || region.getNumArguments() != 6)
      return emitOpError("expects one block with 6 arguments (C1)");
    for (BlockArgument argument : region.getArguments())
      if (argument.getArgNumber() == 5 ? !argument.getType().isInteger(1)
                                       : !argument.getType().isIndex())
        return emitOpError("expects unit arguments (index, index, index, "
                           "index, index, i1) (C1)");
  }
  return success();
}

LogicalResult CopyOp::verify() {
  auto acquire = getSlot().getDefiningOp<AcquireOp>();
  if (!acquire)
    return emitOpError(
        "expects a slot that is the result of tile.acquire (C2)");
  if (!isKernelArgument(getTensor()))
    return emitOpError("expects a tensor that is an argument of the kernel "
                       "(C2)");
  ArrayRef<BufferAttr> buffers =
      cast<RingType>(acquire.getRing().getType()).getBuffers();
  if (getBuffer() >= buffers.size())
    return emitOpError("expects a buffer below ")
           << buffers.size() << ", but got " << getBuffer() << " (C1)";
  Type expected = buffers[getBuffer()].getElement();
  Type found = cast<GlobalTensorType>(getTensor().getType()).getElement();
  if (expected != found)
    return emitOpError("expects a tensor of ")
           << expected << ", but got " << found << " (C1)";
  return success();
}

LogicalResult AwaitOp::verify() {
  auto loop = (*this)->getParentOfType<ForEachUnitOp>();
  if (!loop)
    return emitOpError("expects to be in the walk of a space's units (C1)");
  Region *body = (*this)->getParentRegion();
  while (body->getParentOp() != loop)
    body = body->getParentOp()->getParentRegion();
  for (auto [space, region] : llvm::zip(loop.getSpaces(), loop.getBodies())) {
    if (&region == body)
      break;
    if (space == getSpace())
      return success();
  }
  return emitOpError("expects a space whose units are dealt before (C1)");
}

LogicalResult MultiplyOp::verify() {
  ArrayRef<BufferAttr> buffers = getBuffers();
  if (buffers.size() < 2 || buffers.size() > 3)
    return emitOpError("expects operands in 2 or 3 buffers, but got ")
           << buffers.size() << " (C1)";
  BufferAttr a = getABuffers()[0], b = getBBuffers()[0];
  bool aK = getAMajor() == Major::K, bK = getBMajor() == Major::K;
  int64_t m = aK ? a.getRows() : a.getCols();
  int64_t ka = aK ? a.getCols() : a.getRows();
  int64_t n = bK ? b.getRows() : b.getCols();
  int64_t kb = bK ? b.getCols() : b.getRows();
  auto accumulator = cast<AccumulatorType>(getAccumulator().getType());
  if (getPair())
    n *= 2;
  if (ka != kb || m != accumulator.getRows() || n != accumulator.getCols())
    return emitOpError("expects operands of a ")
           << accumulator.getRows() << "x" << accumulator.getCols()
           << " accumulator, but got A " << m << "x" << ka << " and B " << kb
           << "x" << n << " (C1)";
  if (buffers.size() == 3) {
    ArrayRef<BufferAttr> parts = hasF32A() ? getBBuffers() : getABuffers();
    BufferAttr other = hasF32A() ? a : b;
    if (parts[0] != parts[1] || !parts[0].getElement().isBF16() ||
        !other.getElement().isF32() || !getSplit())
      return emitOpError("expects 'split', an f32 operand and two equal buffers "
                         "of bf16, but got ")
             << buffers[0].getElement() << ", " << buffers[1].getElement()
             << " and " << buffers[2].getElement() << " (C2)";
    return success();
  }
  if (isTf32() && !getSplit())
    return success();
  auto is16Bit = [](BufferAttr buffer) {
    return buffer.getElement().getIntOrFloatBitWidth() == 16;
  };
  if (hasF32A() ? !is16Bit(b)
                : !is16Bit(a) || (!hasF32B() &&
                                  a.getElement() != b.getElement()))
    return emitOpError("expects operands of one 16-bit type, or one of them of "
                       "f32, but got ")
           << a.getElement() << " and " << b.getElement() << " (C2)";
  Type narrow = hasF32A() ? b.getElement() : a.getElement();
  if (getSplit() && (hasF32A() == hasF32B() || !narrow.isBF16()))
    return emitOpError("expects operands of f32 and bf16 to split, but got ")
           << a.getElement() << " and " << b.getElement() << " (C2)";
  return success();
}

/// What an operand of a drain gives for one element of the space.
static FailureOr<Type> elementTypeOf(DrainOp drain, ElementKind kind,
                                     unsigned &slot, unsigned &vector) {
  if (kind == ElementKind::Scalar)
    return Type(Float32Type::get(drain.getContext()));
  if (kind == ElementKind::Slot)
    return drain.getBuffer(drain.getOperandBuffers()[slot++]).getElement();
  return cast<GlobalTensorType>(drain.getVectors()[vector++].getType())
      .getElement();
}

/// (C1), (C2)
static LogicalResult verifyElements(DrainOp drain) {
  Block &block = drain.getBody().front();
  unsigned numAccumulators = drain.getAccumulators().size();
  for (Value accumulator : drain.getAccumulators())
    if (accumulator.getType() != drain.getAccumulators()[0].getType())
      return drain.emitOpError("expects accumulators of one shape, but got ")
             << drain.getAccumulators()[0].getType() << " and "
             << accumulator.getType() << " (C1)";
  if (block.getNumArguments() !=
      numAccumulators + drain.getElementKinds().size())
    return drain.emitOpError("expects ")
           << numAccumulators + drain.getElementKinds().size()
           << " region arguments, but got " << block.getNumArguments()
           << " (C1)";
  for (unsigned i = 0; i != numAccumulators; ++i)
    if (!block.getArgument(i).getType().isF32())
      return drain.emitOpError("expects f32 accumulators in the region (C1)");
  unsigned slots = 0, vectors = 0, scalars = 0;
  for (Attribute attribute : drain.getElementKinds()) {
    ElementKind kind = cast<ElementKindAttr>(attribute).getValue();
    slots += kind == ElementKind::Slot;
    scalars += kind == ElementKind::Scalar;
    vectors += kind == ElementKind::Row || kind == ElementKind::Column;
  }
  if (slots != drain.getOperandBuffers().size() ||
      vectors != drain.getVectors().size() ||
      scalars != drain.getScalars().size())
    return drain.emitOpError("element kinds do not count the operands (C2)");
  unsigned slot = 0, vector = 0;
  for (auto [i, attribute] : llvm::enumerate(drain.getElementKinds())) {
    Type expected = *elementTypeOf(
        drain, cast<ElementKindAttr>(attribute).getValue(), slot, vector);
    Type found = block.getArgument(numAccumulators + i).getType();
    if (expected != found)
      return drain.emitOpError("expects region argument ")
             << numAccumulators + i << " to be of its operand's type "
             << expected << ", but got " << found << " (C2)";
  }
  return success();
}

/// (C3)
static LogicalResult verifyYields(DrainOp drain) {
  auto yield = dyn_cast<YieldOp>(drain.getBody().front().getTerminator());
  if (!yield || yield.getValues().size() != drain.getYieldKinds().size())
    return drain.emitOpError("expects a tile.yield of ")
           << drain.getYieldKinds().size() << " values (C3)";
  unsigned stores = 0, sums = 0;
  for (auto [value, attribute] :
       llvm::zip(yield.getValues(), drain.getYieldKinds())) {
    if (cast<YieldKindAttr>(attribute).getValue() == YieldKind::SumM) {
      ++sums;
      if (!value.getType().isF32())
        return drain.emitOpError("expects a sum of f32 values, but got ")
               << value.getType() << " (C3)";
      continue;
    }
    unsigned store = stores++;
    if (store >= drain.getStores().size())
      continue;
    Type expected =
        cast<GlobalTensorType>(drain.getStores()[store].getType()).getElement();
    if (expected != value.getType())
      return drain.emitOpError("expects a value of ")
             << expected << " to store, but got " << value.getType() << " (C3)";
  }
  if (stores != drain.getStores().size() ||
      (!drain.getStagedRows() && stores != drain.getStoreBuffers().size()) ||
      sums != drain.getPartials().size() || sums != drain.getFlags().size())
    return drain.emitOpError("yield kinds do not count the results (C3)");
  for (auto [store, buffer] :
       llvm::zip(drain.getStores(), drain.getStoreBuffers())) {
    Type expected = cast<GlobalTensorType>(store.getType()).getElement();
    Type found = drain.getBuffer(buffer).getElement();
    if (expected != found)
      return drain.emitOpError("expects buffer ")
             << buffer << " to hold " << expected << " to store, but got "
             << found << " (C4)";
  }
  return success();
}

LogicalResult DrainOp::verify() {
  if (getAccumulators().empty())
    return emitOpError("expects an accumulator (C1)");
  int64_t rows =
      cast<AccumulatorType>(getAccumulators()[0].getType()).getRows();
  int64_t entryRows = getEntryRows(), slotsPerEntry = getSlotsPerEntry();
  if (entryRows < 1 || rows % entryRows)
    return emitOpError("expects entry rows that divide the accumulator's ")
           << rows << ", but got " << entryRows << " (C5)";
  if (getEntryCols() < 64 || getEntryCols() % 64 ||
      !llvm::isInt<32>(getEntryCols()))
    return emitOpError("expects entry columns of a multiple of 64, but got ")
           << getEntryCols() << " (C5)";
  if (slotsPerEntry < 1 || !llvm::isInt<16>(slotsPerEntry))
    return emitOpError("expects 1 to 32767 slots in an entry, but got ")
           << slotsPerEntry << " (C5)";
  // Before the buffers of operands and results are looked at.
  bool throughSlots =
      !getOperandBuffers().empty() || !getStoreBuffers().empty();
  if (throughSlots && !getRing())
    return emitOpError("expects a ring for operands or results in slots (C4)");
  int64_t buffers =
      getRing() ? cast<RingType>(getRing().getType()).getBuffers().size() *
                      slotsPerEntry
                : 0;
  for (ArrayRef<int64_t> numbers : {getOperandBuffers(), getStoreBuffers()})
    for (int64_t number : numbers)
      if (number < 0 || number >= buffers)
        return emitOpError("expects buffers below ")
               << buffers << ", but got " << number << " (C4)";
  if (failed(verifyElements(*this)) || failed(verifyYields(*this)))
    return failure();
  for (Operation &op : getBody().front())
    for (Value operand : op.getOperands())
      if (!getBody().isAncestor(operand.getParentRegion()) &&
          !operand.getDefiningOp<arith::ConstantOp>())
        return op.emitOpError("in tile.drain expects values of the region, or "
                              "constants (C7)");
  if (int64_t staged = getStagedRows())
    if (staged < 0 || entryRows % staged || !getStoreBuffers().empty())
      return emitOpError("expects staged rows that divide its entry rows, ")
             << entryRows << ", and no store buffers, but got " << staged
             << " (C9)";
  if ((getSignals() || !getPartials().empty()) && !getTag())
    return emitOpError("expects a tag for its partials and signals (C8)");
  if (getSignals() && getStores().empty())
    return emitOpError("expects stores to signal (C8)");
  for (ValueRange tensors : {getVectors(), getStores()})
    for (Value tensor : tensors)
      if (!isKernelArgument(tensor))
        return emitOpError(
            "expects tensors that are arguments of the kernel (C6)");
  return success();
}

LogicalResult SumOperandOp::verify() {
  size_t buffers = cast<RingType>(getRing().getType()).getBuffers().size();
  if (getBuffer() >= buffers)
    return emitOpError("expects a buffer below ")
           << buffers << ", but got " << getBuffer() << " (C1)";
  return success();
}

LogicalResult FinishSumOp::verify() {
  auto type = cast<GlobalTensorType>(getResult().getType());
  if (!isKernelArgument(getResult()) || type.getRows() != 1)
    return emitOpError("expects a result that is an argument of the kernel, of "
                       "one row, but got ")
           << type << " (C1)";
  return success();
}

LogicalResult ConvertOp::verify() {
  auto source = cast<GlobalTensorType>(getSource().getType());
  Type element = getCopies().empty()
                     ? Type()
                     : cast<GlobalTensorType>(getCopies()[0].getType())
                           .getElement();
  bool fits = source.getElement().isF32() && getCopies().size() <= 2;
  fits &= element
              ? element.isBF16() || (element.isF16() && getCopies().size() == 1)
              : bool(getPartials());
  for (Value copy : getCopies()) {
    auto type = cast<GlobalTensorType>(copy.getType());
    fits &= type.getRows() == source.getRows() &&
            type.getCols() == source.getCols() && type.getElement() == element;
  }
  if (!fits)
    return emitOpError("expects an f32 source and one or two copies of its "
                       "shape, two only of bf16, or none and sums (C1)");
  if (bool(getFlags()) != bool(getTag()) || (getFlags() && !getPartials()))
    return emitOpError("expects flags and a tag together, and with partials "
                       "(C2)");
  if (std::optional<int64_t> pad = getPad();
      pad && (*pad <= 0 || *pad % sumRows || getCopies().empty()))
    return emitOpError("expects to pad copies to a positive multiple of ")
           << sumRows << " rows, but got " << *pad << " (C3)";
  return success();
}
