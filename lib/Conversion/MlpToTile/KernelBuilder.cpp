//===- KernelBuilder.cpp - Build the tile.kernel of a launch --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;

/// Kernels count units, tiles times splits, with 32 bits.
static constexpr int64_t maxSplits = 8;

/// Whether a contraction multiplies f32 operands as they are.
static bool isTf32(mlp::FusedOp fused, unsigned contraction) {
  mlp::PrecisionAttr precision =
      fused.getContraction(contraction).getPrecision();
  auto isF32 = [](Value operand) {
    return getElementTypeOrSelf(operand.getType()).isF32();
  };
  return precision && precision.getValue() == mlp::Precision::Tf32 &&
         isF32(fused.getA(contraction)) && isF32(fused.getB(contraction));
}

static int64_t elementBytes(Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Value KernelBuilder::ownPlace(Value at, Value offset) {
  return offset ? Value(arith::AddIOp::create(b, at, offset)) : at;
}

Value KernelBuilder::index(int64_t value) {
  Value &constant = constants[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBlock());
    constant = arith::ConstantIndexOp::create(b, value);
  }
  return constant;
}

Value KernelBuilder::addArgument(Type type, tile::BindAttr binding) {
  bindings.push_back(binding);
  return kernel.getBlock().addArgument(type, b.getLoc());
}

AffineExpr KernelBuilder::symbol(StringRef name) {
  auto it = llvm::find(symbols, name);
  if (it == symbols.end()) {
    symbols.push_back(name.str());
    it = std::prev(symbols.end());
  }
  return getAffineSymbolExpr(it - symbols.begin(), b.getContext());
}

AffineExpr KernelBuilder::extentExpr(const mlp::Extent &extent) {
  AffineExpr expr = getAffineConstantExpr(extent.factor, b.getContext());
  for (StringRef name : extent.names)
    expr = expr * symbol(name);
  return expr;
}

tile::ExprAttr KernelBuilder::exprAttr(AffineExpr expr) {
  // Only the symbols that occur, in their order.
  SmallVector<StringAttr> names;
  SmallVector<AffineExpr> replacements;
  for (auto [i, name] : llvm::enumerate(symbols)) {
    bool used = expr.isFunctionOfSymbol(i);
    replacements.push_back(used ? getAffineSymbolExpr(names.size(),
                                                      b.getContext())
                                : getAffineConstantExpr(0, b.getContext()));
    if (used)
      names.push_back(b.getStringAttr(name));
  }
  AffineMap map = AffineMap::get(0, names.size(),
                                 expr.replaceSymbols(replacements));
  return tile::ExprAttr::get(b.getContext(), names, map);
}

Value KernelBuilder::extentArgument(const mlp::Extent &extent) {
  if (extent.isFixed())
    return index(extent.factor);
  Value &argument = extents[extent.str()];
  if (!argument)
    argument = addArgument(
        b.getIndexType(),
        tile::BindAttr::get(b.getContext(), tile::BindKind::Extent, 0,
                            exprAttr(extentExpr(extent))));
  return argument;
}

Value KernelBuilder::splitsArgument(unsigned number) {
  return addArgument(
      b.getIndexType(),
      tile::BindAttr::get(
          b.getContext(), tile::BindKind::Extent, 0,
          exprAttr(symbol("splits:" + std::to_string(number)))));
}

Value KernelBuilder::tagArgument() {
  if (!tag)
    tag = addArgument(b.getI64Type(),
                      tile::BindAttr::get(b.getContext(), tile::BindKind::Tag,
                                          0, tile::ExprAttr()));
  return tag;
}

Value KernelBuilder::workspaceArgument(AffineExpr bytes) {
  return addArgument(
      tile::WorkspaceType::get(b.getContext()),
      tile::BindAttr::get(b.getContext(), tile::BindKind::Workspace, 0,
                          exprAttr(bytes)));
}

FailureOr<Value> KernelBuilder::vectorArgument(Value value,
                                               const mlp::Extent &rows,
                                               const mlp::Extent &cols) {
  return tensorArgument(value, rows, cols, /*copied=*/false);
}

FailureOr<Value> KernelBuilder::tensorArgument(Value value,
                                               const mlp::Extent &rows,
                                               const mlp::Extent &cols,
                                               bool copied) {
  auto type = cast<RankedTensorType>(value.getType());
  if (value.getDefiningOp<mlp::FusedOp>()) // of this launch
    value = launchResult(value);
  auto it = storage.find(value);
  assert(it != storage.end() && "value has no place");
  if (!cols.isFixed())
    return owner->emitOpError("reads a tensor of type ")
           << type << " along rows of variable length " << cols.str()
           << "; rows must have a fixed length: make the variable dimensions "
              "the leading ones";
  Type element = type.getElementType();
  if (copied && cols.factor * elementBytes(element) % 16)
    return owner->emitOpError("reads or writes a tensor of type ")
           << type << ", whose rows of " << cols.factor << " elements are not a "
           << "multiple of 16 bytes; pad them to a multiple of "
           << 16 / elementBytes(element) << " elements";
  auto matrix = tile::GlobalTensorType::get(
      b.getContext(), rows.isFixed() ? rows.factor : ShapedType::kDynamic,
      cols.factor, element);
  Value &argument = tensors[{value, matrix}];
  if (!argument)
    argument = addArgument(matrix, it->second.binding);
  return argument;
}

Value KernelBuilder::launchResult(Value fusedResult) {
  for (auto [result, value] :
       llvm::zip(launch.getResults(), launch.getYield().getValues()))
    if (value == fusedResult)
      return result;
  return {};
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

LogicalResult KernelBuilder::checkPart(Part &part) {
  mlp::FusedOp fused = part.fused;
  part.schedule = dyn_cast_if_present<tile::ScheduleAttr>(
      fused.getSchedule().value_or(Attribute()));
  if (!part.schedule)
    return fused.emitOpError(
        "has no schedule (backfuse-select-schedule gives it one)");
  mlp::ExtentAttr k = fused.getContraction(0).getK();
  for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
    mlp::ContractionAttr contraction = fused.getContraction(i);
    Type a = getElementTypeOrSelf(fused.getA(i).getType());
    Type b = getElementTypeOrSelf(fused.getB(i).getType());
    if (elementBytes(a) != 2 && elementBytes(b) != 2 && !isTf32(fused, i))
      return fused.emitOpError("multiplies ")
             << a << " by " << b << " operands, for which no route is built "
             << "yet; cast one of them to bf16 or f16";
    if (contraction.getK() != k)
      return fused.emitOpError("has contractions of different lengths, ")
             << k.getExtent().str() << " and "
             << contraction.getK().getExtent().str()
             << ", which is not built yet; compute them apart";
  }
  for (unsigned i = 0; i < fused.getNumOperandSums(); ++i) {
    mlp::OperandSumAttr sum = fused.getOperandSum(i);
    mlp::ContractionAttr contraction = fused.getContraction(sum.getContraction());
    mlp::Major major = sum.getOperand() == mlp::Side::A ? contraction.getA()
                                                        : contraction.getB();
    if (major != mlp::Major::MnMajor)
      return fused.emitOpError("sums rows of a K-major operand, which is not "
                               "built yet; sum columns");
    // A stage passes the sum task once.
    for (unsigned j = 0; j < i; ++j)
      if (fused.getOperandSum(j).getContraction() == sum.getContraction() &&
          !isTf32(fused, sum.getContraction()))
        return fused.emitOpError("sums operands of one product twice, which is "
                                 "not built yet; leave one sum to another graph");
  }
  return success();
}

LogicalResult KernelBuilder::createPart(Part &part) {
  mlp::FusedOp fused = part.fused;
  MLIRContext *context = b.getContext();
  mlp::Extent m = fused.getM().getExtent(), n = fused.getN().getExtent();
  mlp::Extent k = fused.getContraction(0).getK().getExtent();
  if (!n.isFixed())
    return fused.emitOpError("has results with rows of variable length ")
           << n.str() << "; rows must have a fixed length";
  ArrayRef<int64_t> tile = part.schedule.getTile();
  // The runtime checks variable extents.
  for (const mlp::Extent &extent : {m, n, k})
    if (extent.isFixed() && !llvm::isInt<32>(extent.factor))
      return fused.emitOpError("has an extent of ")
             << extent.factor << ", and kernels count with 32 bits, to "
             << INT32_MAX << "; cut the tensor";
  int64_t numTiles = llvm::divideCeil(n.factor, tile[1]);
  if (m.isFixed())
    numTiles *= llvm::divideCeil(m.factor, tile[0]);
  if (constexpr int64_t maxTiles = INT32_MAX / maxSplits; numTiles > maxTiles)
    return fused.emitOpError("has ")
           << numTiles << " tiles of " << tile[0] << "x" << tile[1]
           << ", and kernels count up to " << maxTiles << "; cut the tensor";
  part.m = extentArgument(m);
  part.n = extentArgument(n);
  part.k = extentArgument(k);
  part.splits = splitsArgument(part.number);
  part.ownM = tile[0] / numCtas;
  part.ownN = tile[1] / numCtas;
  if (rank) {
    part.ownRow = arith::MulIOp::create(b, rank, index(part.ownM));
    part.ownCol = arith::MulIOp::create(b, rank, index(part.ownN));
  }
  part.space = tile::SpaceOp::create(b, part.m, part.n, part.k, tile,
                                     part.splits, part.schedule.getCost());
  // Partials of split K: of all splits but the last, for whole tiles.
  AffineExpr tiles = extentExpr(m).ceilDiv(tile[0]) *
                     ((n.factor + tile[1] - 1) / tile[1]);
  AffineExpr parts =
      tiles * (symbol("splits:" + std::to_string(part.number)) - 1);

  for (unsigned i = 0; i < fused.getNumContractions(); ++i)
    createContraction(part, i);
  if (part.accumulators.size() > 1 && !k.isFixed())
    return fused.emitOpError("has ")
           << part.accumulators.size()
           << " accumulators over a variable K, which is not built yet";
  if (auto it = signals.find(fused); it != signals.end())
    part.signals =
        addArgument(tile::WorkspaceType::get(b.getContext()), it->second);
  part.partials = workspaceArgument(parts * (tile[0] * tile[1] * 4));
  part.flags = workspaceArgument(parts * (2 * 8));
  tagArgument();

  auto poolOp = drainPool.getDefiningOp<tile::PoolOp>();
  std::string why;
  std::optional<EntryLayout> entry =
      layOutEntry(fused, poolOp.getSlotBytes(), poolOp.getSlots(), why);
  if (!entry)
    return fused.emitOpError(why);
  part.entry = *entry;
  if (!part.entry.empty())
    part.entryRing = tile::RingOp::create(
        b, tile::RingType::get(context, part.entry.buffers), drainPool);
  createSumBuffers(part);
  return success();
}

void KernelBuilder::createContraction(Part &part, unsigned number) {
  mlp::FusedOp fused = part.fused;
  MLIRContext *context = b.getContext();
  ArrayRef<int64_t> tile = part.schedule.getTile();
  if (isSecondPart(fused, number)) {
    Contraction &before = part.contractions.back();
    if (fused.getA(number) == before.a.front())
      before.b.push_back(fused.getB(number));
    else
      before.a.push_back(fused.getA(number));
  } else {
    mlp::ContractionAttr attr = fused.getContraction(number);
    Contraction contraction;
    contraction.first = number;
    contraction.a = {fused.getA(number)};
    contraction.b = {fused.getB(number)};
    contraction.aK = attr.getA() == mlp::Major::KMajor;
    contraction.bK = attr.getB() == mlp::Major::KMajor;
    contraction.split = takesTwoParts(attr);
    part.contractions.push_back(contraction);
  }
  if (number + 1 < fused.getNumContractions() &&
      isSecondPart(fused, number + 1))
    return; // its ring follows
  Contraction &contraction = part.contractions.back();
  SmallVector<tile::BufferAttr> buffers;
  auto addBoxes = [&](ArrayRef<Value> operands, bool kMajor, int64_t extent) {
    for (Value operand : operands)
      buffers.push_back(tile::BufferAttr::get(
          context, kMajor ? extent : tile[2], kMajor ? tile[2] : extent,
          getElementTypeOrSelf(operand.getType())));
  };
  addBoxes(contraction.a, contraction.aK, part.ownM);
  addBoxes(contraction.b, contraction.bK, part.ownN);
  contraction.ring = tile::RingOp::create(
      b, tile::RingType::get(context, buffers), pool);
  unsigned accumulator = fused.getContraction(number).getAcc();
  while (part.accumulators.size() <= accumulator)
    part.accumulators.push_back(tile::AccumulatorsOp::create(
        b, tile::AccumulatorType::get(context, part.ownM, tile[1]),
        numAccumulators));
  contraction.accumulator = part.accumulators[accumulator];
}

void KernelBuilder::createSumBuffers(Part &part) {
  mlp::FusedOp fused = part.fused;
  ArrayRef<int64_t> tile = part.schedule.getTile();
  mlp::Extent m = fused.getM().getExtent(), n = fused.getN().getExtent();
  auto addSum = [&](SmallVectorImpl<SumBuffers> &sums, AffineExpr lines,
                    int64_t cols) {
    SumBuffers sum;
    sum.partials = workspaceArgument(lines * (cols * 4));
    sum.flags = workspaceArgument(lines * ((cols + 63) / 64 * 8));
    sums.push_back(sum);
  };
  mlp::FusedYieldOp yield = fused.getYield();
  for (unsigned i = 0; i < yield.getValues().size(); ++i)
    if (yield.getKind(i) == mlp::YieldKind::SumM)
      addSum(part.drainSums, extentExpr(m).ceilDiv(tile[0]) * (tile[0] / 64),
             n.factor);
  // The K steps of an operand are shared out among the tiles that read it.
  // Those of a tf32 product are rounded as they are copied: the sum reads the
  // operand itself.
  for (unsigned i = 0; i < fused.getNumOperandSums(); ++i) {
    bool isA = fused.getOperandSum(i).getOperand() == mlp::Side::A;
    if (isTf32(fused, fused.getOperandSum(i).getContraction())) {
      mlp::Extent k = fused.getContraction(0).getK().getExtent();
      addSum(part.operandSums, extentExpr(k).ceilDiv(tile::ConvertOp::sumRows),
             (isA ? m : n).factor);
      part.operandSums.back().rides = false;
      continue;
    }
    const mlp::Extent &along = isA ? n : m, &across = isA ? m : n;
    AffineExpr lines = extentExpr(along).ceilDiv(tile[isA ? 1 : 0]) *
                       symbol("splits:" + std::to_string(part.number));
    addSum(part.operandSums, lines, across.factor);
  }
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

Block &KernelBuilder::createTask(tile::TaskKind kind) {
  auto task = tile::TaskOp::create(b, kind);
  return task.getBody().emplaceBlock();
}

tile::ForEachUnitOp KernelBuilder::createUnits(Block &task) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&task);
  SmallVector<Value> spaces;
  for (Part &part : parts)
    spaces.push_back(part.space);
  auto units = tile::ForEachUnitOp::create(b, spaces, parts.size());
  for (auto [region, part] : llvm::zip(units.getBodies(), parts)) {
    Block &block = region.emplaceBlock();
    for (int i = 0; i < 5; ++i)
      block.addArgument(b.getIndexType(), part.fused.getLoc());
    block.addArgument(b.getI1Type(), part.fused.getLoc());
  }
  return units;
}

/// Waits for the tiles of other spaces that a unit's products read.
void KernelBuilder::createAwaits(Part &part, Block &block) {
  mlp::FusedOp fused = part.fused;
  Value steps = block.getArgument(3);
  ArrayRef<int64_t> tile = part.schedule.getTile();
  SmallVector<std::pair<Operation *, bool>> seen;
  for (unsigned i = 0; i < fused.getNumContractions(); ++i)
    for (mlp::Side side : {mlp::Side::A, mlp::Side::B}) {
      Operation *producer = fused.getOperandOf(i, side).getDefiningOp();
      bool isA = side == mlp::Side::A;
      if (!isa_and_present<mlp::FusedOp>(producer) ||
          llvm::is_contained(seen, std::pair(producer, isA)))
        continue;
      seen.push_back({producer, isA});
      Part &awaited = *llvm::find_if(
          parts, [&](Part &other) { return other.fused == producer; });
      mlp::ContractionAttr attr = fused.getContraction(i);
      bool kMajor = (isA ? attr.getA() : attr.getB()) == mlp::Major::KMajor;
      auto range = [&](Value first, Value length) {
        return std::pair(first, Value(arith::AddIOp::create(b, first, length)));
      };
      auto k = range(block.getArgument(2),
                     arith::MulIOp::create(b, steps, index(tile[2])));
      auto mn = range(block.getArgument(isA ? 0 : 1), index(tile[isA ? 0 : 1]));
      auto rows = kMajor ? mn : k, cols = kMajor ? k : mn;
      tile::AwaitOp::create(b, awaited.signals, tagArgument(), awaited.space,
                            rows.first, rows.second, cols.first, cols.second);
    }
}

void KernelBuilder::createLoad(Part &part, Block &block) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&block);
  b.setLoc(part.fused.getLoc());
  createAwaits(part, block);
  Value m0 = block.getArgument(0), n0 = block.getArgument(1);
  Value k0 = block.getArgument(2), steps = block.getArgument(3);
  int64_t tileK = part.schedule.getTile()[2];
  mlp::FusedOp fused = part.fused;
  mlp::Extent m = fused.getM().getExtent(), n = fused.getN().getExtent();
  Value rowOfA = ownPlace(m0, part.ownRow), colOfB = ownPlace(n0, part.ownCol);
  for (Contraction &contraction : part.contractions) {
    mlp::Extent k =
        fused.getContraction(contraction.first).getK().getExtent();
    auto loop = scf::ForOp::create(b, index(0), steps, index(1));
    OpBuilder::InsertionGuard loopGuard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value kAt = arith::AddIOp::create(
        b, k0, arith::MulIOp::create(b, loop.getInductionVar(), index(tileK)));
    Value slot = tile::AcquireOp::create(b, contraction.ring);
    auto copy = [&](Value operand, bool kMajor, const mlp::Extent &extent,
                    Value at, int64_t buffer) {
      Value tensor = kMajor ? *tensorArgument(operand, extent, k)
                            : *tensorArgument(operand, k, extent);
      tile::CopyOp::create(b, tensor, kMajor ? at : kAt, kMajor ? kAt : at,
                           slot, buffer);
    };
    int64_t buffer = 0;
    for (Value operand : contraction.a)
      copy(operand, contraction.aK, m, rowOfA, buffer++);
    for (Value operand : contraction.b)
      copy(operand, contraction.bK, n, colOfB, buffer++);
    tile::CommitOp::create(b, slot);
  }
  if (part.entry.empty())
    return;
  auto ifLast = scf::IfOp::create(b, block.getArgument(5), /*else=*/false);
  b.setInsertionPointToStart(ifLast.thenBlock());
  // Column block by column block, and in it row block by row block.
  int64_t rowBlocks = part.ownM / part.entry.entryRows;
  int64_t chunks =
      llvm::divideCeil(part.schedule.getTile()[1], part.entry.entryCols);
  auto loop = scf::ForOp::create(b, index(0), index(chunks * rowBlocks),
                                 index(1));
  b.setInsertionPointToStart(loop.getBody());
  Value entry = loop.getInductionVar();
  Value chunk = arith::DivUIOp::create(b, entry, index(rowBlocks));
  Value rowBlock = arith::RemUIOp::create(b, entry, index(rowBlocks));
  Value row = arith::AddIOp::create(
      b, rowOfA,
      arith::MulIOp::create(b, rowBlock, index(part.entry.entryRows)));
  Value col = arith::AddIOp::create(
      b, n0, arith::MulIOp::create(b, chunk, index(part.entry.entryCols)));
  int64_t perSlot = part.entry.buffers.size();
  for (int64_t s = 0; s < part.entry.slotsPerEntry; ++s) {
    Value slot = tile::AcquireOp::create(b, part.entryRing);
    unsigned slotOperand = 0;
    for (auto [i, operand] : llvm::enumerate(fused.getElementOperands())) {
      if (fused.getElementKind(i) != mlp::ElementKind::Element)
        continue;
      int64_t buffer = part.entry.operandBuffers[slotOperand++];
      if (buffer / perSlot != s)
        continue;
      tile::CopyOp::create(b, *tensorArgument(operand, m, n), row, col, slot,
                           buffer % perSlot);
    }
    tile::CommitOp::create(b, slot);
  }
}

void KernelBuilder::createMultiply(Part &part, Block &block) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&block);
  b.setLoc(part.fused.getLoc());
  auto major = [](bool kMajor) {
    return kMajor ? tile::Major::K : tile::Major::MN;
  };
  SmallVector<Value> started;
  for (Contraction &contraction : part.contractions) {
    bool accumulate = llvm::is_contained(started, contraction.accumulator);
    tile::MultiplyOp::create(b, contraction.ring, block.getArgument(3),
                             contraction.accumulator, major(contraction.aK),
                             major(contraction.bK), contraction.split,
                             accumulate, /*pair=*/numCtas > 1);
    started.push_back(contraction.accumulator);
  }
}

void KernelBuilder::createDrain(Part &part, Block &block) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&block);
  mlp::FusedOp fused = part.fused;
  b.setLoc(fused.getLoc());
  mlp::Extent m = fused.getM().getExtent(), n = fused.getN().getExtent();
  if (part.accumulators.size() == 1)
    tile::CombineSplitsOp::create(b, part.accumulators[0],
                                  block.getArgument(4), part.splits,
                                  part.partials, part.flags, tagArgument());
  Value row = ownPlace(block.getArgument(0), part.ownRow);
  auto ifLast = scf::IfOp::create(b, block.getArgument(5), /*else=*/false);
  b.setInsertionPointToStart(ifLast.thenBlock());

  SmallVector<Value> vectors, scalars, stores, partials, flags;
  SmallVector<Attribute> elementKinds, yieldKinds;
  mlp::Extent one;
  for (auto [i, operand] : llvm::enumerate(fused.getElementOperands())) {
    tile::ElementKind kind = tile::ElementKind::Slot;
    switch (fused.getElementKind(i)) {
    case mlp::ElementKind::Element:
      break;
    case mlp::ElementKind::Row:
      kind = tile::ElementKind::Row;
      vectors.push_back(*vectorArgument(operand, one, n));
      break;
    case mlp::ElementKind::Column:
      kind = tile::ElementKind::Column;
      vectors.push_back(*vectorArgument(operand, m, one));
      break;
    case mlp::ElementKind::Scalar:
      kind = tile::ElementKind::Scalar;
      scalars.push_back(addArgument(b.getF32Type(),
                                    storage.find(operand)->second.binding));
      break;
    }
    elementKinds.push_back(tile::ElementKindAttr::get(b.getContext(), kind));
  }
  mlp::FusedYieldOp yield = fused.getYield();
  unsigned sum = 0;
  for (unsigned i = 0; i < yield.getValues().size(); ++i) {
    bool isStore = yield.getKind(i) == mlp::YieldKind::Store;
    yieldKinds.push_back(tile::YieldKindAttr::get(
        b.getContext(),
        isStore ? tile::YieldKind::Store : tile::YieldKind::SumM));
    Value result = launchResult(fused.getYieldResults()[i]);
    if (isStore) {
      stores.push_back(*tensorArgument(result, m, n));
      continue;
    }
    SumBuffers &buffers = part.drainSums[sum++];
    buffers.result = *vectorArgument(result, one, n);
    partials.push_back(buffers.partials);
    flags.push_back(buffers.flags);
  }
  auto drain = tile::DrainOp::create(
      b, TypeRange(), part.accumulators, row, block.getArgument(1), part.m,
      part.entryRing, vectors, scalars, stores, partials, flags, part.signals,
      partials.empty() && !part.signals ? Value() : tagArgument(),
      part.entry.entryRows, part.entry.entryCols, part.entry.stagedRows,
      part.entry.slotsPerEntry, b.getArrayAttr(elementKinds),
      part.entry.operandBuffers, b.getArrayAttr(yieldKinds),
      part.entry.storeBuffers);
  Block &region = drain.getBody().emplaceBlock();
  IRMapping mapping;
  for (BlockArgument argument : fused.getBody().getArguments())
    mapping.map(argument,
                region.addArgument(argument.getType(), argument.getLoc()));
  b.setInsertionPointToStart(&region);
  for (Operation &op : fused.getBody().front().without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> yielded = llvm::map_to_vector(
      yield.getValues(), [&](Value value) { return mapping.lookup(value); });
  tile::YieldOp::create(b, yielded);
}

void KernelBuilder::createSum(Part &part, Block &block) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&block);
  mlp::FusedOp fused = part.fused;
  b.setLoc(fused.getLoc());
  ArrayRef<int64_t> tile = part.schedule.getTile();
  Value steps = block.getArgument(3);
  // Entries of pools that the task has nothing to add up in pass without it.
  bool apart = drainPool != pool;
  if (llvm::none_of(parts, [](Part &p) { return p.needsSum(); }))
    return;
  for (Contraction &contraction : part.contractions) {
    std::optional<unsigned> riding;
    for (unsigned i = 0; i < fused.getNumOperandSums(); ++i)
      if (fused.getOperandSum(i).getContraction() == contraction.first &&
          part.operandSums[i].rides)
        riding = i;
    if (!riding) {
      tile::SkipOp::create(b, contraction.ring, steps);
      continue;
    }
    bool isA = fused.getOperandSum(*riding).getOperand() == mlp::Side::A;
    SumBuffers &buffers = part.operandSums[*riding];
    Value at = isA ? ownPlace(block.getArgument(0), part.ownRow)
                   : ownPlace(block.getArgument(1), part.ownCol);
    Value along = block.getArgument(isA ? 1 : 0);
    Value contributor =
        arith::DivUIOp::create(b, along, index(tile[isA ? 1 : 0]));
    Value line = arith::AddIOp::create(
        b,
        arith::MulIOp::create(b, block.getArgument(4), buffers.contributors),
        contributor);
    tile::SumOperandOp::create(b, contraction.ring,
                               isA ? 0 : contraction.a.size(), steps,
                               contributor, buffers.contributors, line, at,
                               isA ? part.m : part.n, buffers.partials,
                               buffers.flags, tagArgument());
  }
  if (part.entry.empty() || apart)
    return;
  auto ifLast = scf::IfOp::create(b, block.getArgument(5), /*else=*/false);
  b.setInsertionPointToStart(ifLast.thenBlock());
  int64_t entries = llvm::divideCeil(tile[1], part.entry.entryCols) *
                    (part.ownM / part.entry.entryRows) *
                    part.entry.slotsPerEntry;
  tile::SkipOp::create(b, part.entryRing, index(entries));
}

FailureOr<tile::KernelOp>
KernelBuilder::build(mlp::LaunchOp launchOp, ArrayRef<mlp::ConvertOp> converts,
                     unsigned firstFused, Operation *anchor, StringRef name) {
  launch = launchOp;
  b.setInsertionPoint(anchor);
  kernel = tile::KernelOp::create(b, name, b.getArrayAttr({}));
  kernel.getBody().emplaceBlock();
  unsigned number = firstFused;
  for (mlp::FusedOp fused : launch.getFusedOps()) {
    Part &part = parts.emplace_back();
    part.fused = fused;
    part.number = number++;
    if (failed(checkPart(part)))
      return failure();
  }
  llvm::stable_sort(parts, [](const Part &a, const Part &b) {
    return a.schedule.getOrder() < b.schedule.getOrder();
  });
  auto slots = launch->getAttrOfType<IntegerAttr>("tile.slots");
  auto slotBytes = launch->getAttrOfType<IntegerAttr>("tile.slot_bytes");
  if (!slots || !slotBytes)
    return launch.emitOpError(
        "has no pool (backfuse-select-schedule gives it one)");

  b.setInsertionPointToEnd(&kernel.getBlock());
  pool = tile::PoolOp::create(b, slots.getInt(), slotBytes.getInt());
  drainPool = pool;
  if (auto bytes = launch->getAttrOfType<IntegerAttr>("tile.drain_slot_bytes"))
    drainPool = tile::PoolOp::create(
        b, launch->getAttrOfType<IntegerAttr>("tile.drain_slots").getInt(),
        bytes.getInt());
  if (auto count = launch->getAttrOfType<IntegerAttr>("tile.accumulators"))
    numAccumulators = count.getInt();
  if (auto count = launch->getAttrOfType<IntegerAttr>("tile.ctas")) {
    numCtas = count.getInt();
    rank = tile::ClusterRankOp::create(b, b.getIndexType(), numCtas);
  }
  // Check every tensor's layout before tasks are made.
  for (Part &part : parts) {
    b.setLoc(part.fused.getLoc());
    if (failed(createPart(part)))
      return failure();
  }
  if (failed(checkTensors()))
    return failure();

  bool hasSum = llvm::any_of(parts, [](Part &part) {
    return !part.operandSums.empty() || !part.drainSums.empty();
  });
  hasSum |= llvm::any_of(converts, [&](mlp::ConvertOp convert) {
    return partials.contains(convert);
  });
  for (Part &part : parts)
    if (part.needsSum())
      createContributors(part);

  auto createAll = [&](tile::TaskKind kind,
                       void (KernelBuilder::*create)(Part &, Block &)) {
    b.setLoc(launch.getLoc());
    Block &task = createTask(kind);
    tile::ForEachUnitOp units = createUnits(task);
    for (auto [region, part] : llvm::zip(units.getBodies(), parts))
      (this->*create)(part, region.front());
    return &task;
  };
  createAll(tile::TaskKind::Load, &KernelBuilder::createLoad);
  createAll(tile::TaskKind::Multiply, &KernelBuilder::createMultiply);
  createAll(tile::TaskKind::Drain, &KernelBuilder::createDrain);
  if (hasSum) {
    Block *task = createAll(tile::TaskKind::Sum, &KernelBuilder::createSum);
    b.setInsertionPointToEnd(task);
    for (mlp::ConvertOp convert : converts)
      if (partials.contains(convert))
        createFinish(convert);
    for (Part &part : parts)
      createApartSums(part);
    for (Part &part : parts)
      createFinish(part);
  }
  kernel.setBindingsAttr(b.getArrayAttr(bindings));
  return kernel;
}

/// Of the tiles that read the same part of an operand, those that add up steps
/// of it: never more than the steps of the shortest split.
void KernelBuilder::createContributors(Part &part) {
  ArrayRef<int64_t> tile = part.schedule.getTile();
  auto ceilDiv = [&](Value x, int64_t y) -> Value {
    return arith::DivUIOp::create(
        b, arith::AddIOp::create(b, x, index(y - 1)), index(y));
  };
  b.setLoc(part.fused.getLoc());
  Value kTiles = ceilDiv(part.k, tile[2]);
  part.usedSplits = arith::MinUIOp::create(b, part.splits, kTiles);
  Value shortest = arith::DivUIOp::create(b, kTiles, part.usedSplits);
  for (auto [i, buffers] : llvm::enumerate(part.operandSums)) {
    if (!buffers.rides)
      continue;
    bool isA = part.fused.getOperandSum(i).getOperand() == mlp::Side::A;
    Value tiles = isA ? ceilDiv(part.n, tile[1]) : ceilDiv(part.m, tile[0]);
    buffers.contributors = arith::MinUIOp::create(b, tiles, shortest);
  }
}

/// Sums that do not ride on a product's operand read it in the sum task.
void KernelBuilder::createApartSums(Part &part) {
  b.setLoc(part.fused.getLoc());
  mlp::FusedOp fused = part.fused;
  mlp::Extent k = fused.getContraction(0).getK().getExtent();
  for (auto [i, buffers] : llvm::enumerate(part.operandSums)) {
    if (buffers.rides)
      continue;
    mlp::OperandSumAttr sum = fused.getOperandSum(i);
    bool isA = sum.getOperand() == mlp::Side::A;
    Value source = *tensorArgument(
        fused.getOperandOf(sum.getContraction(), sum.getOperand()), k,
        (isA ? fused.getM() : fused.getN()).getExtent());
    tile::ConvertOp::create(b, source, part.k, /*copies=*/ValueRange(),
                            buffers.partials, buffers.flags, tagArgument(),
                            /*pad=*/IntegerAttr());
  }
}

void KernelBuilder::createFinish(Part &part) {
  b.setLoc(part.fused.getLoc());
  ArrayRef<int64_t> tile = part.schedule.getTile();
  mlp::Extent one;
  for (auto [i, buffers] : llvm::enumerate(part.operandSums)) {
    bool isA = part.fused.getOperandSum(i).getOperand() == mlp::Side::A;
    Value result = launchResult(part.fused.getOperandSumResults()[i]);
    Value lines;
    if (buffers.rides) {
      lines = arith::MulIOp::create(b, part.usedSplits, buffers.contributors);
    } else {
      constexpr int64_t sumRows = tile::ConvertOp::sumRows;
      lines = arith::DivUIOp::create(
          b, arith::AddIOp::create(b, part.k, index(sumRows - 1)),
          index(sumRows));
    }
    tile::FinishSumOp::create(
        b, buffers.partials, buffers.flags, tagArgument(), lines,
        *vectorArgument(result, one,
                        isA ? part.fused.getM().getExtent()
                            : part.fused.getN().getExtent()));
  }
  for (SumBuffers &buffers : part.drainSums) {
    Value tiles = arith::DivUIOp::create(
        b, arith::AddIOp::create(b, part.m, index(tile[0] - 1)),
        index(tile[0]));
    Value lines = arith::MulIOp::create(b, tiles, index(tile[0] / 64));
    tile::FinishSumOp::create(b, buffers.partials, buffers.flags,
                              tagArgument(), lines, buffers.result);
  }
}

/// Adds up what the launch before left.
void KernelBuilder::createFinish(mlp::ConvertOp convert) {
  b.setLoc(convert.getLoc());
  mlp::Extent one;
  auto type = cast<RankedTensorType>(convert.getX().getType());
  mlp::Extent cols = mlp::getExtent(type, type.getRank() - 1);
  constexpr int64_t sumRows = tile::ConvertOp::sumRows;
  Value rows =
      extentArgument(*mlp::getExtentOfAxes(type, 0, type.getRank() - 1));
  Value lines = arith::DivUIOp::create(
      b, arith::AddIOp::create(b, rows, index(sumRows - 1)), index(sumRows));
  Value partial = addArgument(tile::WorkspaceType::get(b.getContext()),
                              partials.find(convert)->second);
  tile::FinishSumOp::create(b, partial, /*flags=*/Value(), /*tag=*/Value(),
                            lines,
                            *vectorArgument(convert.getOutputs().back(), one,
                                            cols));
}

/// Names what cannot be read or written before any task is made.
LogicalResult KernelBuilder::checkTensors() {
  mlp::Extent one;
  for (Part &part : parts) {
    mlp::FusedOp fused = part.fused;
    mlp::Extent m = fused.getM().getExtent(), n = fused.getN().getExtent();
    auto check = [&](Value value, const mlp::Extent &rows,
                     const mlp::Extent &cols) {
      return tensorArgument(value, rows, cols);
    };
    mlp::FusedYieldOp yield = fused.getYield();
    for (unsigned i = 0; i < yield.getValues().size(); ++i)
      if (yield.getKind(i) == mlp::YieldKind::SumM && n.factor % 2)
        return fused.emitOpError("sums ")
               << n.factor << " columns, and kernels write sums in pairs; pad "
               << "the columns to an even number";
    for (unsigned i = 0; i < fused.getNumContractions(); ++i) {
      mlp::ContractionAttr attr = fused.getContraction(i);
      mlp::Extent k = attr.getK().getExtent();
      bool aK = attr.getA() == mlp::Major::KMajor;
      bool bK = attr.getB() == mlp::Major::KMajor;
      if (failed(check(fused.getA(i), aK ? m : k, aK ? k : m)) ||
          failed(check(fused.getB(i), bK ? n : k, bK ? k : n)))
        return failure();
    }
    for (auto [i, operand] : llvm::enumerate(fused.getElementOperands())) {
      mlp::ElementKind kind = fused.getElementKind(i);
      if (kind == mlp::ElementKind::Scalar)
        continue;
      if (kind == mlp::ElementKind::Element
              ? failed(check(operand, m, n))
              : failed(kind == mlp::ElementKind::Row
                           ? vectorArgument(operand, one, n)
                           : vectorArgument(operand, m, one)))
        return failure();
    }
    for (Value result : fused.getResults())
      if (!launchResult(result))
        return fused.emitOpError("has a result that its launch does not yield");
    for (unsigned i = 0; i < yield.getValues().size(); ++i)
      if (yield.getKind(i) == mlp::YieldKind::Store &&
          failed(check(launchResult(fused.getYieldResults()[i]), m, n)))
        return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

FailureOr<tile::KernelOp>
KernelBuilder::buildConversion(ArrayRef<mlp::ConvertOp> converts,
                               function_ref<int64_t(Value)> padOf,
                               Operation *anchor, StringRef name) {
  b.setInsertionPoint(anchor);
  kernel = tile::KernelOp::create(b, name, b.getArrayAttr({}));
  kernel.getBody().emplaceBlock();
  b.setInsertionPointToEnd(&kernel.getBlock());
  struct Sum {
    Value partials, flags, lines, result;
  };
  SmallVector<Sum> finished;
  for (mlp::ConvertOp convert : converts) {
    b.setLoc(convert.getLoc());
    auto type = cast<RankedTensorType>(convert.getX().getType());
    mlp::Extent cols = mlp::getExtent(type, type.getRank() - 1);
    std::optional<mlp::Extent> rows =
        mlp::getExtentOfAxes(type, 0, type.getRank() - 1);
    if (!rows)
      return convert.emitOpError("has more rows than 64 bits count");
    FailureOr<Value> source = tensorArgument(convert.getX(), *rows, cols);
    if (failed(source))
      return failure();
    SmallVector<Value> copies;
    for (Value copy : convert.getOutputs().take_front(convert.getNumCopies())) {
      FailureOr<Value> tensor = tensorArgument(copy, *rows, cols);
      if (failed(tensor))
        return failure();
      copies.push_back(*tensor);
    }
    Value rowCount = extentArgument(*rows);
    int64_t pad = padOf(convert.getOutputs().front());
    Value sums, flags;
    if (auto it = partials.find(convert); it != partials.end()) {
      sums = addArgument(tile::WorkspaceType::get(b.getContext()), it->second);
    } else if (convert.getSum()) {
      constexpr int64_t sumRows = tile::ConvertOp::sumRows;
      AffineExpr lines = extentExpr(*rows).ceilDiv(sumRows);
      sums = workspaceArgument(lines * (cols.factor * 4));
      flags = workspaceArgument(lines * ((cols.factor + 63) / 64 * 8));
      finished.push_back(
          {sums, flags,
           arith::DivUIOp::create(
               b, arith::AddIOp::create(b, rowCount, index(sumRows - 1)),
               index(sumRows)),
           *vectorArgument(convert.getOutputs().back(), mlp::Extent(), cols)});
    }
    tile::ConvertOp::create(b, *source, rowCount, copies, sums, flags,
                            flags ? tagArgument() : Value(),
                            pad > 1 ? b.getI64IntegerAttr(pad)
                                    : IntegerAttr());
  }
  for (auto &[fused, binding] : signals) {
    Value words = addArgument(
        b.getIndexType(),
        tile::BindAttr::get(
            b.getContext(), tile::BindKind::Extent, 0,
            tile::ExprAttr::get(
                b.getContext(), binding.getExpr().getNames(),
                AffineMap::get(0, binding.getExpr().getNames().size(),
                               binding.getExpr().getMap().getResult(0).floorDiv(
                                   8)))));
    Value workspace =
        addArgument(tile::WorkspaceType::get(b.getContext()), binding);
    tile::ClearOp::create(b, workspace, words);
  }
  for (Sum &sum : finished)
    tile::FinishSumOp::create(b, sum.partials, sum.flags, tagArgument(),
                              sum.lines, sum.result);
  kernel.setBindingsAttr(b.getArrayAttr(bindings));
  return kernel;
}
