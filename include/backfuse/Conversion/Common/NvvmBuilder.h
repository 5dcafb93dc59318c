//===- NvvmBuilder.h - The machine ops that kernels use ---------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that creates NVVM ops and inline PTX. What LLVM 22 lowers
// wrongly is ruled out here: no `predicate=` operand is ever used (predicates
// vanish in translation), waits for products take and return the registers
// (else arithmetic moves across them), and waiting loops are single asm blocks.
//
// Shared-memory addresses are i32 values (bytes in the CTA's window), global
// addresses !llvm.ptr<1>, tensor maps generic pointers to kernel parameters.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_CONVERSION_COMMON_NVVMBUILDER_H
#define BACKFUSE_CONVERSION_COMMON_NVVMBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace backfuse {

/// Creates machine ops at the insertion point of `b`.
class NvvmBuilder {
public:
  explicit NvvmBuilder(mlir::ImplicitLocOpBuilder &b) : b(b) {}

  //===--- constants and special registers --------------------------------===//
  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value threadIdX();
  mlir::Value ctaIdX();
  mlir::Value numCtasX();
  /// `value` of lane 0, known to be the same in all lanes of the warp: role
  /// indices go through here, else descriptors and barrier addresses are kept
  /// in vector registers (measured: 1.3 times slower).
  mlir::Value uniform(mlir::Value value);

  //===--- memory ---------------------------------------------------------===//
  /// The address of the dynamic shared memory `symbol` as i32.
  mlir::Value sharedBase(mlir::StringRef symbol);
  mlir::Value loadShared(mlir::Type type, mlir::Value address, unsigned align);
  void storeShared(mlir::Value value, mlir::Value address, unsigned align);
  mlir::Value loadGlobal(mlir::Type type, mlir::Value pointer, unsigned align);
  void storeGlobal(mlir::Value value, mlir::Value pointer, unsigned align);
  /// `pointer` + `bytes` (i64).
  mlir::Value offset(mlir::Value pointer, mlir::Value bytes);
  /// Loads and stores of L2, for data that other CTAs write in this launch.
  mlir::Value loadGlobalV4(mlir::Value pointer);
  void storeGlobalV4(mlir::ValueRange four, mlir::Value pointer);
  mlir::Value loadGlobalL2(mlir::Value pointer);
  void storeGlobalL2(mlir::Value value, mlir::Value pointer);

  //===--- flags between CTAs (PTX ISA 8.x: ld.acquire, st.release) --------===//
  /// Waits until the i64 at `pointer` is `tag`.
  void waitForTag(mlir::Value pointer, mlir::Value tag);
  /// Orders this thread's earlier writes (and those it has observed) before.
  void publishTag(mlir::Value pointer, mlir::Value tag);
  /// The same for several flags: after one fenceGpu. (Each of the two makes the
  /// thread wait for its writes, 1 to 2 us where many CTAs write.)
  void storeTag(mlir::Value pointer, mlir::Value tag);
  void clearTag(mlir::Value pointer);
  void fenceGpu();

  //===--- mbarriers ------------------------------------------------------===//
  void mbarrierInit(mlir::Value address, int64_t arrivals);
  void fenceMbarrierInit();
  void mbarrierArrive(mlir::Value address, int64_t count = 1);
  void mbarrierArriveExpectTx(mlir::Value address, int64_t bytes);
  /// Returns once the phase of parity `parity` (i32) has completed.
  void mbarrierWait(mlir::Value address, mlir::Value parity);

  //===--- bulk tensor copies ---------------------------------------------===//
  /// `coordinates` innermost first.
  void tmaLoad(mlir::Value address, mlir::Value map,
               mlir::ValueRange coordinates, mlir::Value barrier);
  void tmaStore(mlir::Value map, mlir::Value address,
                mlir::ValueRange coordinates);
  void bulkCommit();
  /// Waits until at most `pending` store groups still read shared memory.
  void bulkWaitRead(int64_t pending);
  /// Waits until at most `pending` store groups are incomplete.
  void bulkWait(int64_t pending);
  void prefetchTensorMap(mlir::Value map);

  //===--- synchronisation ------------------------------------------------===//
  void ctaBarrier();
  /// Programmatic dependent launch (PTX ISA, griddepcontrol): the next launch of
  /// the stream may begin; wait until the one before is complete and visible.
  void launchDependents();
  void waitForPrerequisites();
  void namedBarrier(mlir::Value id, int64_t threads);
  void warpBarrier();
  /// Generic writes to shared memory before, bulk copies and products after.
  void fenceProxyAsyncShared();
  /// The same for all memory, and for reads of what bulk copies have written.
  void fenceProxyAsync();
  void setMaxRegisters(int64_t count, bool increase);
  mlir::Value shuffleXor(mlir::Value value, int64_t mask);
  /// `value` of lane `lane` (i32).
  mlir::Value shuffleFrom(mlir::Value value, mlir::Value lane);

  //===--- 8x8 matrices of 16-bit elements, transposed ---------------------===//
  /// Four matrices in shared memory whose rows are 16 bytes, those of matrix i at
  /// the addresses of lanes 8i to 8i + 7; a lane gets or gives of each matrix the
  /// elements of rows 2(lane % 4) + {0, 1}, column lane / 4 (PTX ISA, ldmatrix
  /// and stmatrix with .trans). By a whole warp. Elements as i32 pairs.
  llvm::SmallVector<mlir::Value> loadMatricesTransposed(mlir::Value address);
  void storeMatricesTransposed(mlir::ValueRange four, mlir::Value address);

  //===--- wgmma (sm_90a) -------------------------------------------------===//
  struct WgmmaShape {
    int64_t n;          // columns of the instruction
    mlir::Type operand; // bf16 or f16
    bool aTransposed;   // MN-major
    bool bTransposed;
  };
  /// One step of the main loop as one asm block: fence, a product for each pair
  /// of descriptor offsets (in the descriptor's 16-byte units), commit, and the
  /// wait for all but the newest `inFlight` groups. `scale` (i1): whether the
  /// first product adds to the accumulators (the others do). Returns the n/2
  /// accumulators.
  llvm::SmallVector<mlir::Value>
  wgmmaStep(const WgmmaShape &shape, mlir::ValueRange accumulators,
            mlir::Value aDescriptor, mlir::Value bDescriptor,
            llvm::ArrayRef<std::pair<int64_t, int64_t>> offsets,
            mlir::Value scale, int64_t inFlight);
  /// A product whose A is the four registers from number `a`, B the descriptor of
  /// number `b` plus `offset` (16-byte units).
  struct RegisterProduct {
    int64_t a, b, offset;
  };
  /// The same with A in registers, i32 pairs of 16-bit elements (PTX ISA, wgmma,
  /// fragments of A); waits for all groups.
  llvm::SmallVector<mlir::Value>
  wgmmaRegisterStep(const WgmmaShape &shape, mlir::ValueRange accumulators,
                    mlir::ValueRange aRegisters,
                    mlir::ValueRange bDescriptors,
                    llvm::ArrayRef<RegisterProduct> products,
                    mlir::Value scale);
  /// Waits for all products; the registers pass through.
  llvm::SmallVector<mlir::Value> wgmmaWaitAll(mlir::ValueRange accumulators);

  //===--- clusters -------------------------------------------------------===//
  /// The number of this CTA in its cluster.
  mlir::Value clusterRank();
  /// The address in the cluster's window of what stands at `address` in the
  /// shared memory of CTA `rank`.
  mlir::Value mapToCta(mlir::Value address, int64_t rank);
  /// All threads of the cluster: what they did before is visible after.
  void clusterBarrier();
  /// An arrival at the barrier at `address` of the cluster's window, which
  /// releases to its waiters; and a wait for arrivals of the cluster.
  void mbarrierArriveInCluster(mlir::Value address);
  void mbarrierWaitInCluster(mlir::Value address, mlir::Value parity);
  /// A copy into this CTA's shared memory at `address` whose bytes the barrier
  /// at `barrier` of the cluster's window counts, in either CTA of the pair.
  void tmaLoadPair(mlir::Value address, mlir::Value map,
                   mlir::ValueRange coordinates, mlir::Value barrier);

  //===--- tcgen05 (sm_100f, sm_100a) -------------------------------------===//
  // Addresses of tensor memory are i32: lane << 16 | column.
  /// All instructions of a kernel name the same cta_group: 1, or 2 after this.
  void usePairs() { pairs = true; }
  /// True in one thread of the warp, always the same one.
  mlir::Value elect();
  /// By a whole warp: `columns` (a power of two, 32 to 512) of tensor memory,
  /// whose address goes to shared memory at `address`; later allocations are
  /// given up. Of a pair, a warp of each CTA does so, and frees it.
  void tensorMemoryAlloc(mlir::Value address, int64_t columns);
  /// By a whole warp.
  void tensorMemoryDealloc(mlir::Value tensorAddress, int64_t columns);
  struct MmaShape {
    int64_t m, n;       // of both CTAs of a pair
    mlir::Type operand; // bf16, f16, or f32 for tf32
    bool aTransposed;   // MN-major
    bool bTransposed;
  };
  /// One instruction of 32 bytes of K: D = A * B, plus D if `accumulate` (i1).
  /// A and B are shared-memory descriptors (i64).
  void mma(const MmaShape &shape, mlir::Value d, mlir::Value aDescriptor,
           mlir::Value bDescriptor, mlir::Value accumulate);
  /// The descriptor (i64) of an operand at shared-memory address `address`
  /// whose rows lie in panels of 128 bytes under the 128-byte swizzle, of
  /// `atomBytes` (16, or 32 for an MN-major tf32 operand); for MN-major
  /// operands `panelBytes` lie between panels.
  mlir::Value mmaDescriptor(mlir::Value address, bool transposed,
                            int64_t panelBytes, int64_t atomBytes);
  /// An arrival at `barrier` when this thread's earlier products are done; in
  /// both CTAs of a pair.
  void mmaCommit(mlir::Value barrier);
  /// `columns` columns from each of `addresses`, by a whole warp: a thread gets
  /// its lane's, as f32. Waits for them.
  llvm::SmallVector<mlir::Value>
  tensorMemoryLoad(mlir::ValueRange addresses, int64_t columns);
  /// The bits of `value` as a vector of another element type; a vector of
  /// scalars.
  mlir::Value bitcast(mlir::Type type, mlir::Value value);
  mlir::Value makeVector(mlir::ValueRange elements);
  /// Around every synchronisation that orders tensor memory between threads.
  void tensorFenceBefore();
  void tensorFenceAfter();

  /// The f32 of the smaller magnitude, that of `x` or `limit` > 0, and the sign of
  /// `x`; NaN if `x` is (PTX ISA, min.NaN.xorsign.abs).
  mlir::Value clampMagnitude(mlir::Value x, mlir::Value limit);

  //===--- approximations of the special function unit --------------------===//
  /// 2^x, relative error 2^-22; subnormal inputs and results flush to zero.
  mlir::Value ex2Approx(mlir::Value x);
  /// log2(x), absolute error 2^-22.
  mlir::Value lg2Approx(mlir::Value x);
  /// 1/x, within one unit in the last place; flushes subnormals.
  mlir::Value rcpApprox(mlir::Value x);
  mlir::Value rsqrtApprox(mlir::Value x);
  /// tanh(x), relative error 2^-11.
  mlir::Value tanhApprox(mlir::Value x);

  /// Inline PTX with results `types`; `constraints` as LLVM has them.
  llvm::SmallVector<mlir::Value> inlinePtx(mlir::TypeRange types,
                                           mlir::StringRef text,
                                           mlir::StringRef constraints,
                                           mlir::ValueRange operands,
                                           bool sideEffects = true);

private:
  mlir::Value sharedPointer(mlir::Value address, unsigned space);
  mlir::ImplicitLocOpBuilder &b;
  bool pairs = false;
};

/// What a kernel's function needs beside its body.
struct KernelShape {
  int64_t threads = 0;
  int64_t maxRegisters = 0; // at launch
  llvm::SmallVector<int32_t, 3> cluster;
};
/// Declares the dynamic shared memory `symbol`, aligned for every swizzle.
void declareDynamicShared(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::StringRef symbol);
/// Creates an empty kernel. Argument types: `maps` tensor maps by value come
/// first, then `types`. Returns the function (an llvm.func) and its entry block.
mlir::Operation *createKernel(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::StringRef name, unsigned maps,
                              mlir::TypeRange types, const KernelShape &shape);
mlir::Block *kernelEntry(mlir::Operation *function);
void createReturn(mlir::ImplicitLocOpBuilder &b);
/// A mutable variable of the thread (promoted to registers later).
mlir::Value createVariable(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                           int64_t count = 1);
mlir::Value loadVariable(mlir::ImplicitLocOpBuilder &b, mlir::Value variable,
                         mlir::Type type, int64_t index = 0);
void storeVariable(mlir::ImplicitLocOpBuilder &b, mlir::Value variable,
                   mlir::Value value, int64_t index = 0);
mlir::Type globalPointerType(mlir::MLIRContext *context);

} // namespace backfuse

#endif // BACKFUSE_CONVERSION_COMMON_NVVMBUILDER_H
