//===- HopperEmitter.cpp - Prologue and roles for sm_90a ------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HopperEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace backfuse;
using namespace backfuse::hopper;

void HopperEmitter::emitPrologue() {
  emitIndices();
  // One arrival of each load warp fills a slot; the eight consumer warps and the
  // sum warps empty it.
  ifThen(eq(tid, c(0)), [&] {
    for (auto &[pool, p] : layout.pools) {
      int64_t consumers =
          numConsumers * 4 + (p.sums ? hopper::numSumWarps : 0);
      for (int64_t i = 0; i < p.slots; ++i) {
        m.mbarrierInit(add(smem, c(p.fullOffset + 8 * i)), layout.numLoadWarps);
        m.mbarrierInit(add(smem, c(p.emptyOffset + 8 * i)), consumers);
      }
    }
    initDealBarriers();
    m.fenceMbarrierInit();
  });
  ifThen(eq(tid, c(32)), [&] {
    for (const MapUse &use : layout.maps)
      m.prefetchTensorMap(mapPointer(use));
  });
  m.ctaBarrier();
}

LogicalResult HopperEmitter::emitRoles() {
  LogicalResult result = success();
  auto role = [&](LogicalResult emitted) {
    if (failed(emitted))
      result = failure();
  };
  tile::ForEachUnitOp loadUnits =
      unitsOf(findTask(kernel, tile::TaskKind::Load));
  auto producers = scf::IfOp::create(b, ult(warp, c(4)), /*else=*/true);
  b.setInsertionPointToStart(producers.thenBlock());
  m.setMaxRegisters(producerRegisters, /*increase=*/false);
  auto emitLoads = [&](const LoadRole &loadRole) {
    createRoleState();
    role(emitUnits(loadUnits, [&](unsigned i, Unit &) {
      return emitLoadBlock(loadUnits.getBodies()[i].front(), loadRole);
    }));
  };
  LoadRole loads;
  bool shared = layout.numLoadWarps == 2;
  if (shared)
    loads.part = LoadPart::Inputs;
  ifThen(eq(warp, c(0)), [&] {
    // Inputs are there already.
    if (!shared)
      emitWaitForPrerequisites();
    oneLane = true;
    ifThen(eq(lane, c(0)), [&] { emitLoads(loads); });
    oneLane = false;
  });
  if (shared)
    ifThen(eq(warp, c(1)), [&] {
      emitWaitForPrerequisites();
      loads.part = LoadPart::Computed;
      loads.wholeWarp = true;
      emitLoads(loads);
    });
  ifThen(eq(warp, c(dealWarp)), [&] { emitDealTable(); });
  if (tile::TaskOp sum = findTask(kernel, tile::TaskKind::Sum))
    ifThen(uge(warp, c(hopper::firstSumWarp)), [&] {
      emitWaitForPrerequisites();
      createRoleState();
      role(emitSumTask(sum));
    });
  b.setInsertionPointToStart(producers.elseBlock());
  m.setMaxRegisters(consumerRegisters, /*increase=*/true);
  emitWaitForPrerequisites();
  createRoleState();
  role(emitConsumer());
  return result;
}

FailureOr<Operation *> HopperEmitter::emit() {
  TaskEmitter::firstSumWarp = hopper::firstSumWarp;
  TaskEmitter::numSumWarps = hopper::numSumWarps;
  KernelShape shape;
  shape.threads = layout.isConversion ? convertThreads : threads;
  shape.maxRegisters = layout.isConversion ? 0 : launchRegisters;
  createFunction(shape);
  emitLaunchDependents();
  if (layout.isConversion) {
    emitWaitForPrerequisites();
    if (failed(emitConvertKernel()))
      return failure();
    createReturn(b);
    return function;
  }
  if (failed(emitKernelScalars()))
    return failure();
  emitPrologue();
  LogicalResult result = emitRoles();
  b.setInsertionPointToEnd(kernelEntry(function));
  createReturn(b);
  if (failed(result))
    return failure();
  return function;
}
