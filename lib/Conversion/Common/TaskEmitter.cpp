//===- TaskEmitter.cpp - What kernels of all targets are made of ----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Common/TaskEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace backfuse;

//===----------------------------------------------------------------------===//
// i32 arithmetic
//===----------------------------------------------------------------------===//

Value TaskEmitter::add(Value x, Value y) {
  return arith::AddIOp::create(b, x, y);
}
Value TaskEmitter::sub(Value x, Value y) {
  return arith::SubIOp::create(b, x, y);
}
Value TaskEmitter::mul(Value x, Value y) {
  return arith::MulIOp::create(b, x, y);
}
Value TaskEmitter::divu(Value x, Value y) {
  return arith::DivUIOp::create(b, x, y);
}
Value TaskEmitter::remu(Value x, Value y) {
  return arith::RemUIOp::create(b, x, y);
}
Value TaskEmitter::ceilDiv(Value x, int64_t y) {
  return divu(add(x, c(y - 1)), c(y));
}
Value TaskEmitter::minu(Value x, Value y) {
  return arith::MinUIOp::create(b, x, y);
}
Value TaskEmitter::andi(Value x, Value y) {
  return arith::AndIOp::create(b, x, y);
}
Value TaskEmitter::ori(Value x, Value y) {
  return arith::OrIOp::create(b, x, y);
}
Value TaskEmitter::xori(Value x, Value y) {
  return arith::XOrIOp::create(b, x, y);
}
Value TaskEmitter::shl(Value x, int64_t bits) {
  return arith::ShLIOp::create(b, x, c(bits));
}
Value TaskEmitter::shr(Value x, int64_t bits) {
  return arith::ShRUIOp::create(b, x, c(bits));
}
Value TaskEmitter::eq(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
}
Value TaskEmitter::ne(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x, y);
}
Value TaskEmitter::ult(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, y);
}
Value TaskEmitter::uge(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, x, y);
}
Value TaskEmitter::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}
Value TaskEmitter::zext64(Value x) {
  return arith::ExtUIOp::create(b, b.getI64Type(), x);
}
Value TaskEmitter::add64(Value x, Value y) {
  return arith::AddIOp::create(b, x, y);
}
Value TaskEmitter::mul64(Value x, Value y) {
  return arith::MulIOp::create(b, x, y);
}

void TaskEmitter::ifThen(Value condition, function_ref<void()> body) {
  auto op = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  body();
}

void TaskEmitter::forRange(Value count, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, c(0), count, c(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

//===----------------------------------------------------------------------===//
// Values of the tile.kernel
//===----------------------------------------------------------------------===//

Value TaskEmitter::mapped(Value value) {
  if (Value known = values.lookupOrNull(value))
    return known;
  // Constants are emitted where they are used.
  if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
    if (value.getType().isIndex())
      return m.i32(cast<IntegerAttr>(constant.getValue()).getInt());
    return arith::ConstantOp::create(b, constant.getValue());
  }
  llvm_unreachable("value of the kernel was not emitted");
}

LogicalResult TaskEmitter::emitScalar(Operation &op) {
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  if (!isa<arith::ArithDialect>(op.getDialect()) ||
      !llvm::all_of(op.getOperandTypes(), isScalar) ||
      !llvm::all_of(op.getResultTypes(), isScalar))
    return op.emitOpError("has no lowering to ") << targetName << " here";
  if (isa<arith::ConstantOp>(op))
    return success(); // see `mapped`
  OperationState state(op.getLoc(), op.getName().getStringRef());
  for (Value operand : op.getOperands())
    state.operands.push_back(mapped(operand));
  for (Type type : op.getResultTypes())
    state.types.push_back(type.isIndex() ? Type(b.getI32Type()) : type);
  state.attributes = op.getAttrs();
  Operation *copy = b.create(state);
  values.map(op.getResults(), copy->getResults());
  return success();
}

LogicalResult TaskEmitter::emitLoop(Operation &op,
                                    function_ref<LogicalResult(Block &)> body) {
  auto loop = cast<scf::ForOp>(op);
  if (!loop.getInitArgs().empty())
    return loop.emitOpError("expects a loop without carried values");
  auto copy =
      scf::ForOp::create(b, mapped(loop.getLowerBound()),
                         mapped(loop.getUpperBound()), mapped(loop.getStep()));
  values.map(loop.getInductionVar(), copy.getInductionVar());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(copy.getBody());
  return body(*loop.getBody());
}

LogicalResult TaskEmitter::emitIf(Operation &op,
                                  function_ref<LogicalResult(Block &)> body) {
  auto branch = cast<scf::IfOp>(op);
  if (branch.getNumResults() || branch.elseBlock())
    return branch.emitOpError("expects a branch without results and else");
  LogicalResult result = success();
  ifThen(mapped(branch.getCondition()),
         [&] { result = body(*branch.thenBlock()); });
  return result;
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

int64_t TaskEmitter::bufferOffset(tile::RingType ring, int64_t index) {
  int64_t offset = 0;
  for (tile::BufferAttr buffer : ring.getBuffers().take_front(index))
    offset += buffer.numBytes();
  return offset;
}

TaskEmitter::Slot TaskEmitter::currentSlot(Value pool) {
  const PoolLayout &p = layout.pools.find(pool)->second;
  Value stage =
      loadVariable(b, states.find(pool)->second.stage, b.getI32Type());
  Value barrier = add(smem, shl(stage, 3));
  Slot slot;
  slot.address = add(add(smem, c(p.dataOffset)), mul(stage, c(p.slotBytes)));
  slot.full = add(barrier, c(p.fullOffset));
  slot.empty = add(barrier, c(p.emptyOffset));
  return slot;
}

void TaskEmitter::advance(Value pool) {
  const PoolLayout &p = layout.pools.find(pool)->second;
  PoolState &state = states.find(pool)->second;
  Value stage = loadVariable(b, state.stage, b.getI32Type());
  Value phase = loadVariable(b, state.phase, b.getI32Type());
  Value next = add(stage, c(1));
  Value wraps = eq(next, c(p.slots));
  storeVariable(b, state.stage, select(wraps, c(0), next));
  storeVariable(b, state.phase, select(wraps, xori(phase, c(1)), phase));
}

void TaskEmitter::waitFull(Value pool, const Slot &slot) {
  m.mbarrierWait(slot.full, loadVariable(b, states.find(pool)->second.phase,
                                         b.getI32Type()));
}

void TaskEmitter::waitEmpty(Value pool, const Slot &slot) {
  Value phase =
      loadVariable(b, states.find(pool)->second.phase, b.getI32Type());
  m.mbarrierWait(slot.empty, xori(phase, c(1)));
}

void TaskEmitter::releaseByWarp(Value empty) {
  ifThen(eq(lane, c(0)), [&] { m.mbarrierArrive(empty); });
}

Value TaskEmitter::createRoleVariable(Type type, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(kernelEntry(function));
  return createVariable(b, type, count);
}

void TaskEmitter::createRoleState() {
  // Variables belong to the function's entry, but each role starts with its
  // own values: slot 0, phase 0.
  states.clear();
  slots.clear();
  for (auto &[pool, p] : layout.pools) {
    PoolState state;
    state.stage = createRoleVariable(b.getI32Type());
    state.phase = createRoleVariable(b.getI32Type());
    storeVariable(b, state.stage, c(0));
    storeVariable(b, state.phase, c(0));
    states[pool] = state;
  }
}

Value TaskEmitter::mapPointer(const MapUse &use) {
  return kernelEntry(function)->getArgument(layout.mapIndex(use));
}

void TaskEmitter::emitSpaces(tile::ForEachUnitOp loop) {
  for (Value value : loop.getSpaces()) {
    auto op = value.getDefiningOp<tile::SpaceOp>();
    Space space;
    space.m = mapped(op.getM());
    space.n = mapped(op.getN());
    space.k = mapped(op.getK());
    space.bm = op.getTile()[0];
    space.bn = op.getTile()[1];
    space.bk = op.getTile()[2];
    space.cost = op.getCost();
    space.tilesN = ceilDiv(space.n, space.bn);
    space.tiles = mul(ceilDiv(space.m, space.bm), space.tilesN);
    space.kTiles = ceilDiv(space.k, space.bk);
    space.splits = minu(mapped(op.getSplits()), space.kTiles);
    space.units = mul(space.tiles, space.splits);
    space.stepsPerUnit = divu(space.kTiles, space.splits);
    spaces[value] = space;
    spaceOrder.push_back(value);
  }
}

void TaskEmitter::bindUnit(Block &block, const Unit &unit) {
  SmallVector<Value, 6> parts = {unit.m0,    unit.n0,    unit.k0,
                                 unit.steps, unit.split, unit.last};
  values.map(block.getArguments(), parts);
}

//===----------------------------------------------------------------------===//
// Function
//===----------------------------------------------------------------------===//

void TaskEmitter::createFunction(const KernelShape &shape) {
  OpBuilder outer(kernel);
  SmallVector<Type> types;
  for (unsigned argument : layout.plainArguments) {
    Type type = kernel.getBlock().getArgument(argument).getType();
    if (type.isIndex())
      type = b.getI32Type();
    else if (isa<tile::WorkspaceType, tile::GlobalTensorType>(type))
      type = globalPointerType(b.getContext());
    types.push_back(type);
  }
  function = createKernel(outer, kernel.getLoc(), kernel.getSymName(),
                          layout.maps.size(), types, shape);
  Block *entry = kernelEntry(function);
  for (auto [i, argument] : llvm::enumerate(layout.plainArguments))
    values.map(kernel.getBlock().getArgument(argument),
               entry->getArgument(layout.maps.size() + i));
  b.setInsertionPointToEnd(entry);
}

void TaskEmitter::emitIndices() {
  smem = m.sharedBase("smem");
  tid = m.threadIdX();
  warp = m.uniform(shr(tid, 5));
  lane = andi(tid, c(31));
  cta = m.ctaIdX();
  numCtas = m.numCtasX();
  team = cta;
  numTeams = numCtas;
}

void TaskEmitter::emitLaunchDependents() {
  if (kernel->hasAttr("tile.has_dependents"))
    m.launchDependents();
}
void TaskEmitter::emitWaitForPrerequisites() {
  if (kernel->hasAttr("tile.dependent"))
    m.waitForPrerequisites();
}

LogicalResult TaskEmitter::emitKernelScalars() {
  for (Operation &op : kernel.getBlock()) {
    if (isa<tile::TaskOp, tile::SpaceOp, tile::PoolOp, tile::RingOp,
            tile::AccumulatorsOp>(op))
      continue;
    // What the target has given a value to.
    if (isa<tile::ClusterRankOp>(op) && values.contains(op.getResult(0)))
      continue;
    if (failed(emitScalar(op)))
      return failure();
  }
  emitSpaces(unitsOf(findTask(kernel, tile::TaskKind::Load)));
  return success();
}
