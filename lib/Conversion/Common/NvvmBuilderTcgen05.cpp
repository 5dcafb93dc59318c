//===- NvvmBuilderTcgen05.cpp - The fifth tensor core's ops ---------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits and orders as PTX ISA 9.0 has them, section 9.7.16 ("TensorCore 5th
// Generation Family Instructions"); "manual" below.
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Common/NvvmBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace backfuse;

static constexpr unsigned sharedAddressSpace = 3, tensorAddressSpace = 6,
                          clusterAddressSpace = 7;

static Value tensorPointer(ImplicitLocOpBuilder &b, Value address) {
  return LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), tensorAddressSpace),
      address);
}
static NVVM::CTAGroupKindAttr ctaGroup(MLIRContext *context, bool pairs) {
  return NVVM::CTAGroupKindAttr::get(
      context, pairs ? NVVM::CTAGroupKind::CTA_2 : NVVM::CTAGroupKind::CTA_1);
}

Value NvvmBuilder::elect() {
  return NVVM::ElectSyncOp::create(b, b.getI1Type(), /*membermask=*/Value());
}

Value NvvmBuilder::bitcast(Type type, Value value) {
  return LLVM::BitcastOp::create(b, type, value);
}
Value NvvmBuilder::makeVector(ValueRange elements) {
  Value vector = LLVM::PoisonOp::create(
      b, VectorType::get(elements.size(), elements[0].getType()));
  for (auto [i, element] : llvm::enumerate(elements))
    vector = LLVM::InsertElementOp::create(b, vector, element, i32(i));
  return vector;
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

Value NvvmBuilder::clusterRank() {
  return NVVM::ClusterId::create(b, b.getI32Type());
}
Value NvvmBuilder::mapToCta(Value address, int64_t rank) {
  return inlinePtx(b.getI32Type(), "mapa.shared::cluster.u32 $0, $1, $2;",
                   "=r,r,r", {address, i32(rank)}, /*sideEffects=*/false)[0];
}
void NvvmBuilder::clusterBarrier() {
  // Release and acquire are the defaults (manual, "barrier.cluster").
  NVVM::ClusterArriveOp::create(b, /*aligned=*/UnitAttr());
  NVVM::ClusterWaitOp::create(b, /*aligned=*/UnitAttr());
}
void NvvmBuilder::mbarrierArriveInCluster(Value address) {
  inlinePtx({}, "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0];",
            "r,~{memory}", address);
}
void NvvmBuilder::mbarrierWaitInCluster(Value address, Value parity) {
  inlinePtx(
      {},
      "{\n\t.reg .pred p;\n"
      "AGAIN:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 "
      "p, [$0], $1;\n"
      "\t@p bra DONE;\n\tbra AGAIN;\nDONE:\n\t}",
      "r,r,~{memory}", {address, parity});
}
void NvvmBuilder::tmaLoadPair(Value address, Value map, ValueRange coordinates,
                              Value barrier) {
  // Without .cta_group::2 the barrier must be in the CTA of the destination.
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, sharedPointer(address, clusterAddressSpace), map, coordinates,
      sharedPointer(barrier, sharedAddressSpace),
      /*im2colOffsets=*/ValueRange(), /*multicastMask=*/Value(),
      /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
      ctaGroup(b.getContext(), /*pairs=*/true), /*predicate=*/Value());
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

void NvvmBuilder::tensorMemoryAlloc(Value address, int64_t columns) {
  NVVM::Tcgen05AllocOp::create(b, sharedPointer(address, sharedAddressSpace),
                               i32(columns), ctaGroup(b.getContext(), pairs));
  NVVM::Tcgen05RelinquishAllocPermitOp::create(b,
                                               ctaGroup(b.getContext(), pairs));
}
void NvvmBuilder::tensorMemoryDealloc(Value tensorAddress, int64_t columns) {
  NVVM::Tcgen05DeallocOp::create(b, tensorPointer(b, tensorAddress),
                                 i32(columns), ctaGroup(b.getContext(), pairs));
}

void NvvmBuilder::tensorFenceBefore() {
  NVVM::Tcgen05FenceOp::create(
      b, NVVM::Tcgen05FenceKindAttr::get(
             b.getContext(), NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC));
}
void NvvmBuilder::tensorFenceAfter() {
  NVVM::Tcgen05FenceOp::create(
      b, NVVM::Tcgen05FenceKindAttr::get(
             b.getContext(), NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC));
}

/// Shape 32x32b (manual, "tcgen05.ld"): register r of thread t is column r of
/// lane t of the warp's quarter. The wait takes and returns the registers, so
/// that no use of them moves before it; the loads are intrinsics, since LLVM
/// does not know asm to be convergent.
SmallVector<Value> NvvmBuilder::tensorMemoryLoad(ValueRange addresses,
                                                 int64_t columns) {
  auto shape = NVVM::Tcgen05LdStShapeAttr::get(
      b.getContext(), NVVM::Tcgen05LdStShape::SHAPE_32X32B);
  SmallVector<Value> words;
  for (Value address : addresses) {
    Value loaded = NVVM::Tcgen05LdOp::create(
        b, VectorType::get(columns, b.getI32Type()), /*pack=*/UnitAttr(), shape,
        tensorPointer(b, address), /*offset=*/Value());
    for (int64_t r = 0; r < columns; ++r)
      words.push_back(LLVM::ExtractElementOp::create(b, loaded, i32(r)));
  }
  std::string results, tied;
  for (size_t r = 0; r < words.size(); ++r) {
    results += "=r,";
    tied += std::to_string(r) + ",";
  }
  SmallVector<Type> types(words.size(), b.getI32Type());
  words = inlinePtx(types, "tcgen05.wait::ld.sync.aligned;",
                    results + tied + "~{memory}", words);
  return llvm::map_to_vector(words, [&](Value word) -> Value {
    return arith::BitcastOp::create(b, b.getF32Type(), word);
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value NvvmBuilder::mmaDescriptor(Value address, bool transposed,
                                 int64_t panelBytes, int64_t atomBytes) {
  // Manual, "Shared memory descriptor"; offsets and addresses in 16-byte units:
  //   0-13  start address, of which 18 bits count
  //   16-29 leading dimension byte offset: between panels of an MN-major
  //         operand; ignored for a K-major one under a swizzle (1 by custom)
  //   32-45 stride dimension byte offset, between groups of rows of 128 bytes
  //         (rows along MN if K-major, along K if MN-major): eight rows, four
  //         with 32-byte atoms
  //   46-48 0b001, fixed
  //   49-51 base offset 0: patterns start on multiples of 1024 bytes
  //   52    leading dimension offset is relative: 0
  //   61-63 2: 128-byte swizzle with 16-byte atoms; 1: with 32-byte atoms,
  //         which kind::tf32 takes for MN-major operands, and only it
  int64_t leading = transposed ? panelBytes >> 4 : 1;
  Value start = arith::ShRUIOp::create(b, address, i32(4));
  start = arith::AndIOp::create(b, start, i32(0x3FFF));
  Value low = arith::OrIOp::create(b, start, i32(leading << 16));
  uint64_t stride = atomBytes == 32 ? 512 : 1024;
  uint64_t layout = atomBytes == 32 ? 1 : 2;
  uint64_t high = stride >> 4 << 32 | uint64_t(1) << 46 | layout << 61;
  return arith::OrIOp::create(b, arith::ExtUIOp::create(b, b.getI64Type(), low),
                              i64(int64_t(high)));
}

/// Manual, "Instruction descriptor", kinds f16 and tf32:
///   0-3   dense, no saturation: 0
///   4-5   type of D: 1, f32
///   7-9   type of A, 10-12 of B: 0 f16, 1 bf16, 2 tf32
///   13-14 negate A, B: 0
///   15    A is M-major, 16 B is N-major ("transpose")
///   17-22 N / 8
///   24-28 M / 16
///   30-31 maximum shift of .ws: 0
static uint32_t instructionDescriptor(const NvvmBuilder::MmaShape &shape) {
  uint32_t type = shape.operand.isF32() ? 2 : shape.operand.isBF16() ? 1 : 0;
  return uint32_t(1) << 4 | type << 7 | type << 10 |
         uint32_t(shape.aTransposed) << 15 | uint32_t(shape.bTransposed) << 16 |
         uint32_t(shape.n / 8) << 17 | uint32_t(shape.m / 16) << 24;
}

void NvvmBuilder::mma(const MmaShape &shape, Value d, Value aDescriptor,
                      Value bDescriptor, Value accumulate) {
  MLIRContext *context = b.getContext();
  NVVM::Tcgen05MMAOp::create(
      b,
      NVVM::Tcgen05MMAKindAttr::get(context, shape.operand.isF32()
                                                 ? NVVM::Tcgen05MMAKind::TF32
                                                 : NVVM::Tcgen05MMAKind::F16),
      ctaGroup(context, pairs),
      NVVM::Tcgen05MMACollectorOpAttr::get(
          context, NVVM::Tcgen05MMACollectorOp::DISCARD),
      /*aShift=*/UnitAttr(), tensorPointer(b, d), aDescriptor, bDescriptor,
      i32(instructionDescriptor(shape)), accumulate, /*scaleInputD=*/Value(),
      /*disableOutputLane=*/Value());
}

void NvvmBuilder::mmaCommit(Value barrier) {
  Value bothCtas;
  if (pairs)
    bothCtas = arith::ConstantIntOp::create(b, b.getIntegerType(16), 3);
  NVVM::Tcgen05CommitOp::create(b, sharedPointer(barrier, sharedAddressSpace),
                                bothCtas, ctaGroup(b.getContext(), pairs));
}
