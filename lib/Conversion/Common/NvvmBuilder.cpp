//===- NvvmBuilder.cpp - The machine ops that kernels use -----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Conversion/Common/NvvmBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace backfuse;

static constexpr unsigned globalSpace = 1, sharedSpace = 3, clusterSpace = 7;

//===----------------------------------------------------------------------===//
// Constants and special registers
//===----------------------------------------------------------------------===//

Value NvvmBuilder::i32(int64_t value) {
  return arith::ConstantIntOp::create(b, b.getI32Type(), value);
}
Value NvvmBuilder::i64(int64_t value) {
  return arith::ConstantIntOp::create(b, b.getI64Type(), value);
}
Value NvvmBuilder::threadIdX() {
  return NVVM::ThreadIdXOp::create(b, b.getI32Type());
}
Value NvvmBuilder::ctaIdX() {
  return NVVM::BlockIdXOp::create(b, b.getI32Type());
}
Value NvvmBuilder::numCtasX() {
  return NVVM::GridDimXOp::create(b, b.getI32Type());
}
Value NvvmBuilder::uniform(Value value) {
  return NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), value, i32(0),
                              i32(31), NVVM::ShflKind::idx, UnitAttr());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value NvvmBuilder::sharedPointer(Value address, unsigned space) {
  return LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), space), address);
}
Value NvvmBuilder::sharedBase(StringRef symbol) {
  Value pointer = LLVM::AddressOfOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), sharedSpace), symbol);
  return LLVM::PtrToIntOp::create(b, b.getI32Type(), pointer);
}
Value NvvmBuilder::loadShared(Type type, Value address, unsigned align) {
  return LLVM::LoadOp::create(b, type, sharedPointer(address, sharedSpace),
                              align);
}
void NvvmBuilder::storeShared(Value value, Value address, unsigned align) {
  LLVM::StoreOp::create(b, value, sharedPointer(address, sharedSpace), align);
}
Value NvvmBuilder::loadGlobal(Type type, Value pointer, unsigned align) {
  return LLVM::LoadOp::create(b, type, pointer, align);
}
void NvvmBuilder::storeGlobal(Value value, Value pointer, unsigned align) {
  LLVM::StoreOp::create(b, value, pointer, align);
}
Value NvvmBuilder::offset(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer,
                             ValueRange{bytes});
}
Value NvvmBuilder::loadGlobalV4(Value pointer) {
  Type f32 = b.getF32Type();
  SmallVector<Value> values =
      inlinePtx({f32, f32, f32, f32}, "ld.global.cg.v4.f32 {$0,$1,$2,$3}, [$4];",
                "=f,=f,=f,=f,l,~{memory}", pointer);
  Value result = LLVM::PoisonOp::create(b, VectorType::get(4, f32));
  for (int i = 0; i < 4; ++i)
    result = LLVM::InsertElementOp::create(b, result, values[i], i32(i));
  return result;
}
void NvvmBuilder::storeGlobalV4(ValueRange four, Value pointer) {
  SmallVector<Value> operands{pointer};
  llvm::append_range(operands, four);
  inlinePtx({}, "st.global.cg.v4.f32 [$0], {$1,$2,$3,$4};",
            "l,f,f,f,f,~{memory}", operands);
}
Value NvvmBuilder::loadGlobalL2(Value pointer) {
  return inlinePtx(b.getF32Type(), "ld.global.cg.f32 $0, [$1];",
                   "=f,l,~{memory}", pointer)[0];
}
void NvvmBuilder::storeGlobalL2(Value value, Value pointer) {
  inlinePtx({}, "st.global.cg.f32 [$0], $1;", "l,f,~{memory}",
            {pointer, value});
}

//===----------------------------------------------------------------------===//
// Flags between CTAs
//===----------------------------------------------------------------------===//

void NvvmBuilder::waitForTag(Value pointer, Value tag) {
  inlinePtx({},
            "{\n\t.reg .pred p;\n\t.reg .b64 t;\n"
            "AGAIN:\n\tld.acquire.gpu.global.b64 t, [$0];\n"
            "\tsetp.ne.b64 p, t, $1;\n\t@p bra AGAIN;\n\t}",
            "l,l,~{memory}", {pointer, tag});
}
void NvvmBuilder::publishTag(Value pointer, Value tag) {
  inlinePtx({}, "st.release.gpu.global.b64 [$0], $1;", "l,l,~{memory}",
            {pointer, tag});
}
void NvvmBuilder::storeTag(Value pointer, Value tag) {
  inlinePtx({}, "st.relaxed.gpu.global.b64 [$0], $1;", "l,l,~{memory}",
            {pointer, tag});
}
void NvvmBuilder::clearTag(Value pointer) { storeTag(pointer, i64(0)); }
void NvvmBuilder::fenceGpu() {
  inlinePtx({}, "fence.acq_rel.gpu;", "~{memory}", {});
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

void NvvmBuilder::mbarrierInit(Value address, int64_t arrivals) {
  NVVM::MBarrierInitOp::create(b, sharedPointer(address, sharedSpace),
                               i32(arrivals), /*predicate=*/Value());
}
void NvvmBuilder::fenceMbarrierInit() {
  NVVM::FenceMbarrierInitOp::create(b);
}
void NvvmBuilder::mbarrierArrive(Value address, int64_t count) {
  if (count == 1)
    inlinePtx({}, "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}",
              address);
  else
    inlinePtx({}, "mbarrier.arrive.shared::cta.b64 _, [$0], $1;",
              "r,n,~{memory}", {address, i32(count)});
}
void NvvmBuilder::mbarrierArriveExpectTx(Value address, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(
      b, TypeRange(), sharedPointer(address, sharedSpace), i32(bytes),
      NVVM::MemScopeKind::CTA, /*relaxed=*/false, /*predicate=*/Value());
}
void NvvmBuilder::mbarrierWait(Value address, Value parity) {
  // try_wait may return early; the loop is part of the block so that LLVM sees
  // no branch (PTX ISA, mbarrier.try_wait).
  inlinePtx({},
            "{\n\t.reg .pred p;\n"
            "AGAIN:\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n"
            "\t@p bra DONE;\n\tbra AGAIN;\nDONE:\n\t}",
            "r,r,~{memory}", {address, parity});
}

//===----------------------------------------------------------------------===//
// Bulk tensor copies
//===----------------------------------------------------------------------===//

void NvvmBuilder::tmaLoad(Value address, Value map, ValueRange coordinates,
                          Value barrier) {
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, sharedPointer(address, clusterSpace), map, coordinates,
      sharedPointer(barrier, sharedSpace), /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
      NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}
void NvvmBuilder::tmaStore(Value map, Value address, ValueRange coordinates) {
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      b, map, sharedPointer(address, sharedSpace), coordinates,
      /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
      /*predicate=*/Value());
}
void NvvmBuilder::bulkCommit() { NVVM::CpAsyncBulkCommitGroupOp::create(b); }
void NvvmBuilder::bulkWaitRead(int64_t pending) {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, uint32_t(pending), b.getUnitAttr());
}
void NvvmBuilder::bulkWait(int64_t pending) {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, uint32_t(pending), UnitAttr());
}
void NvvmBuilder::prefetchTensorMap(Value map) {
  NVVM::PrefetchOp::create(b, NVVM::PrefetchCacheLevelAttr(),
                           NVVM::CacheEvictionPriorityAttr(), map,
                           /*predicate=*/Value(), /*tensormap=*/true);
}

//===----------------------------------------------------------------------===//
// Synchronisation
//===----------------------------------------------------------------------===//

void NvvmBuilder::launchDependents() {
  inlinePtx({}, "griddepcontrol.launch_dependents;", "~{memory}", {});
}
void NvvmBuilder::waitForPrerequisites() {
  inlinePtx({}, "griddepcontrol.wait;", "~{memory}", {});
}
void NvvmBuilder::ctaBarrier() { NVVM::BarrierOp::create(b); }
void NvvmBuilder::namedBarrier(Value id, int64_t threads) {
  NVVM::BarrierOp::create(b, TypeRange(), id, i32(threads),
                          NVVM::BarrierReductionAttr(), Value());
}
void NvvmBuilder::warpBarrier() { NVVM::SyncWarpOp::create(b, i32(-1)); }
void NvvmBuilder::fenceProxyAsyncShared() {
  NVVM::FenceProxyOp::create(
      b,
      NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}
void NvvmBuilder::fenceProxyAsync() {
  inlinePtx({}, "fence.proxy.async;", "~{memory}", {});
}
void NvvmBuilder::setMaxRegisters(int64_t count, bool increase) {
  NVVM::SetMaxRegisterOp::create(b, count,
                                 increase
                                     ? NVVM::SetMaxRegisterAction::increase
                                     : NVVM::SetMaxRegisterAction::decrease);
}
Value NvvmBuilder::shuffleFrom(Value value, Value lane) {
  return NVVM::ShflOp::create(b, value.getType(), i32(-1), value, lane,
                              i32(31), NVVM::ShflKind::idx, UnitAttr());
}
Value NvvmBuilder::shuffleXor(Value value, int64_t mask) {
  return NVVM::ShflOp::create(b, value.getType(), i32(-1), value, i32(mask),
                              i32(31), NVVM::ShflKind::bfly, UnitAttr());
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

SmallVector<Value> NvvmBuilder::loadMatricesTransposed(Value address) {
  SmallVector<Type> types(4, b.getI32Type());
  return inlinePtx(
      types,
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0,$1,$2,$3}, [$4];",
      "=r,=r,=r,=r,r,~{memory}", address);
}
void NvvmBuilder::storeMatricesTransposed(ValueRange four, Value address) {
  SmallVector<Value> operands{address};
  llvm::append_range(operands, four);
  inlinePtx({},
            "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0], "
            "{$1,$2,$3,$4};",
            "r,r,r,r,r,~{memory}", operands);
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// "=f,=f,..." for `n` results.
static std::string resultConstraints(int64_t n) {
  std::string text;
  for (int64_t i = 0; i < n; ++i)
    text += "=f,";
  return text;
}
/// "0,1,...": each operand in the register of the result of its number.
static std::string tiedConstraints(int64_t n) {
  std::string text;
  for (int64_t i = 0; i < n; ++i)
    text += std::to_string(i) + ",";
  return text;
}

/// "{$first, ...}" of `count` asm operands.
static std::string operandList(int64_t first, int64_t count) {
  std::string text = "{";
  for (int64_t i = first; i < first + count; ++i)
    text += (i == first ? "$" : ", $") + std::to_string(i);
  return text + "}";
}
static std::string wgmmaInstruction(const NvvmBuilder::WgmmaShape &shape) {
  std::string type = shape.operand.isF16() ? "f16" : "bf16";
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(shape.n) +
         "k16.f32." + type + "." + type;
}

SmallVector<Value> NvvmBuilder::wgmmaStep(
    const WgmmaShape &shape, ValueRange accumulators, Value aDescriptor,
    Value bDescriptor, ArrayRef<std::pair<int64_t, int64_t>> offsets,
    Value scale, int64_t inFlight) {
  int64_t count = accumulators.size();
  std::string instruction = wgmmaInstruction(shape);
  std::string registers = operandList(0, count);
  // Operands after the tied accumulators.
  std::string a = "$" + std::to_string(2 * count);
  std::string bOperand = "$" + std::to_string(2 * count + 1);
  std::string scaleOperand = "$" + std::to_string(2 * count + 2);

  std::string text = "{\n\t.reg .pred p;\n\t.reg .b64 da, db;\n\tsetp.ne.b32 p, " +
                     scaleOperand +
                     ", 0;\n\twgmma.fence.sync.aligned;\n";
  for (auto [index, offset] : llvm::enumerate(offsets)) {
    text += "\tadd.s64 da, " + a + ", " + std::to_string(offset.first) +
            ";\n\tadd.s64 db, " + bOperand + ", " +
            std::to_string(offset.second) +
            ";\n\t" + instruction + " " + registers + ", da, db, " + (index == 0 ? "p" : "1") + ", 1, 1, " +
            std::to_string(shape.aTransposed) + ", " +
            std::to_string(shape.bTransposed) + ";\n";
  }
  text += "\twgmma.commit_group.sync.aligned;\n"
          "\twgmma.wait_group.sync.aligned " +
          std::to_string(inFlight) + ";\n\t}";
  SmallVector<Value> operands(accumulators);
  Value scaleWord = arith::ExtUIOp::create(b, b.getI32Type(), scale);
  operands.append({aDescriptor, bDescriptor, scaleWord});
  SmallVector<Type> types(count, b.getF32Type());
  return inlinePtx(types, text,
                   resultConstraints(count) + tiedConstraints(count) +
                       "l,l,r,~{memory}",
                   operands);
}

SmallVector<Value> NvvmBuilder::wgmmaRegisterStep(
    const WgmmaShape &shape, ValueRange accumulators, ValueRange aRegisters,
    ValueRange bDescriptors, ArrayRef<RegisterProduct> products, Value scale) {
  int64_t count = accumulators.size();
  std::string instruction = wgmmaInstruction(shape);
  std::string registers = operandList(0, count);
  // Operands after the tied accumulators.
  int64_t firstA = 2 * count, firstB = firstA + aRegisters.size();
  std::string scaleOperand = "$" + std::to_string(firstB + bDescriptors.size());
  std::string text = "{\n\t.reg .pred p;\n\t.reg .b64 db;\n\tsetp.ne.b32 p, " +
                     scaleOperand + ", 0;\n\twgmma.fence.sync.aligned;\n";
  for (auto [index, product] : llvm::enumerate(products))
    text += "\tadd.s64 db, $" + std::to_string(firstB + product.b) + ", " +
            std::to_string(product.offset) + ";\n\t" + instruction + " " +
            registers + ", " + operandList(firstA + product.a, 4) + ", db, " +
            (index == 0 ? "p" : "1") + ", 1, 1, " +
            std::to_string(shape.bTransposed) + ";\n";
  text += "\twgmma.commit_group.sync.aligned;\n"
          "\twgmma.wait_group.sync.aligned 0;\n\t}";
  SmallVector<Value> operands(accumulators);
  llvm::append_range(operands, aRegisters);
  llvm::append_range(operands, bDescriptors);
  operands.push_back(arith::ExtUIOp::create(b, b.getI32Type(), scale));
  std::string constraints = resultConstraints(count) + tiedConstraints(count);
  for (size_t i = 0; i < aRegisters.size(); ++i)
    constraints += "r,";
  for (size_t i = 0; i < bDescriptors.size(); ++i)
    constraints += "l,";
  SmallVector<Type> types(count, b.getF32Type());
  return inlinePtx(types, text, constraints + "r,~{memory}", operands);
}

SmallVector<Value> NvvmBuilder::wgmmaWaitAll(ValueRange accumulators) {
  int64_t count = accumulators.size();
  SmallVector<Type> types(count, b.getF32Type());
  return inlinePtx(types, "wgmma.wait_group.sync.aligned 0;",
                   resultConstraints(count) + tiedConstraints(count) +
                       "~{memory}",
                   accumulators);
}

//===----------------------------------------------------------------------===//
// Special function unit
//===----------------------------------------------------------------------===//

Value NvvmBuilder::clampMagnitude(Value x, Value limit) {
  return inlinePtx(x.getType(), "min.NaN.xorsign.abs.f32 $0, $1, $2;",
                   "=f,f,f", {x, limit}, /*sideEffects=*/false)[0];
}
Value NvvmBuilder::ex2Approx(Value x) {
  return inlinePtx(x.getType(), "ex2.approx.ftz.f32 $0, $1;", "=f,f", x,
                   /*sideEffects=*/false)[0];
}
Value NvvmBuilder::lg2Approx(Value x) {
  return inlinePtx(x.getType(), "lg2.approx.f32 $0, $1;", "=f,f", x, false)[0];
}
Value NvvmBuilder::rcpApprox(Value x) {
  return inlinePtx(x.getType(), "rcp.approx.ftz.f32 $0, $1;", "=f,f", x,
                   false)[0];
}
Value NvvmBuilder::rsqrtApprox(Value x) {
  return inlinePtx(x.getType(), "rsqrt.approx.f32 $0, $1;", "=f,f", x,
                   false)[0];
}
Value NvvmBuilder::tanhApprox(Value x) {
  return inlinePtx(x.getType(), "tanh.approx.f32 $0, $1;", "=f,f", x,
                   false)[0];
}

SmallVector<Value> NvvmBuilder::inlinePtx(TypeRange types, StringRef text,
                                          StringRef constraints,
                                          ValueRange operands,
                                          bool sideEffects) {
  Type result;
  if (types.size() == 1)
    result = types[0];
  else if (types.size() > 1)
    result = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                              llvm::to_vector(types));
  auto op = LLVM::InlineAsmOp::create(
      b, result ? TypeRange(result) : TypeRange(), operands,
      b.getStringAttr(text), b.getStringAttr(constraints),
      sideEffects ? b.getUnitAttr() : UnitAttr(), /*is_align_stack=*/UnitAttr(),
      LLVM::TailCallKindAttr::get(b.getContext(),
                                  LLVM::TailCallKind::None),
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  SmallVector<Value> values;
  if (types.size() == 1)
    values.push_back(op.getResult(0));
  for (unsigned i = 0; types.size() > 1 && i < types.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, op.getResult(0),
                                                  ArrayRef<int64_t>{i}));
  return values;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void backfuse::declareDynamicShared(OpBuilder &b, Location loc,
                                    StringRef symbol) {
  // gpu.dynamic_shared_memory would align it to 16; the 128-byte swizzle
  // repeats every 1024 bytes and works on absolute addresses.
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/false,
                         LLVM::Linkage::External, symbol, Attribute(),
                         /*alignment=*/1024, sharedSpace);
}

Operation *backfuse::createKernel(OpBuilder &b, Location loc, StringRef name,
                                  unsigned maps, TypeRange types,
                                  const KernelShape &shape) {
  MLIRContext *context = b.getContext();
  SmallVector<Type> inputs(maps, LLVM::LLVMPointerType::get(context));
  llvm::append_range(inputs, types);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          inputs);
  auto function = LLVM::LLVMFuncOp::create(b, loc, name, type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    b.getUnitAttr());
  function->setAttr(
      NVVM::NVVMDialect::getReqntidAttrName(),
      b.getDenseI32ArrayAttr({int32_t(shape.threads), 1, 1}));
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(1));
  // Without it ptxas ignores setmaxnreg (C7508).
  if (shape.maxRegisters)
    function->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                      b.getI32IntegerAttr(shape.maxRegisters));
  if (!shape.cluster.empty())
    function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      b.getDenseI32ArrayAttr(shape.cluster));
  auto mapType = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
  for (unsigned i = 0; i != maps; ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(mapType));
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(64));
    // Without it LLVM copies the map to local memory, where TMA must not read.
    function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(),
                        b.getUnitAttr());
  }
  function.addEntryBlock(b);
  return function;
}

Block *backfuse::kernelEntry(Operation *function) {
  return &cast<LLVM::LLVMFuncOp>(function).getBody().front();
}
void backfuse::createReturn(ImplicitLocOpBuilder &b) {
  LLVM::ReturnOp::create(b, ValueRange());
}
Value backfuse::createVariable(ImplicitLocOpBuilder &b, Type type,
                               int64_t count) {
  Value size = arith::ConstantIntOp::create(b, b.getI32Type(), 1);
  return LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                                LLVM::LLVMArrayType::get(type, count), size);
}
static Value elementOf(ImplicitLocOpBuilder &b, Value variable, Type type,
                       int64_t index) {
  if (index == 0)
    return variable;
  return LLVM::GEPOp::create(b, variable.getType(), type, variable,
                             ArrayRef<LLVM::GEPArg>{int32_t(index)});
}
Value backfuse::loadVariable(ImplicitLocOpBuilder &b, Value variable, Type type,
                             int64_t index) {
  return LLVM::LoadOp::create(b, type, elementOf(b, variable, type, index));
}
void backfuse::storeVariable(ImplicitLocOpBuilder &b, Value variable,
                             Value value, int64_t index) {
  LLVM::StoreOp::create(b, value,
                        elementOf(b, variable, value.getType(), index));
}
Type backfuse::globalPointerType(MLIRContext *context) {
  return LLVM::LLVMPointerType::get(context, globalSpace);
}
