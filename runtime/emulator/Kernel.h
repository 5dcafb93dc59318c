//===- Kernel.h - Decoded kernels -------------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// What the interpreter runs: instructions decoded once, their operands
// resolved to places in a warp's register file or in the kernel's constants.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_KERNEL_H
#define BACKFUSE_RUNTIME_EMULATOR_KERNEL_H

#include "runtime/emulator/LaneKernels.h"
#include "runtime/emulator/Ptx.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace backfuse::emulator {

enum class Op : uint8_t {
  Nop,
  Lane,      ///< refs: d, sources; `lane`
  Select,    ///< d, a, b, predicate
  Compare,   ///< p, q, a, b, combining predicate; `compare`
  CompareX2, ///< the same on halves: p is for the lower ones, q for the upper
  PredLogic, ///< p, a, b; `sub` is LogicOp
  PredMove,  ///< p, a
  SetValue,  ///< set.: d, a, b, combining predicate; `compare`
  Move,      ///< d, a of equal size
  Resize,    ///< d, a of different sizes; `sub` 1: sign extension
  Pack,      ///< d, elements
  Unpack,    ///< elements, a
  Convert8,  ///< cvt with an 8-bit type
  ReadClock, ///< d
  Testp,     ///< p, a; `sub` is a TestpOp
  Load,
  Store,
  Atomic,
  Reduce,
  Branch,
  BranchIndexed,
  Exit,
  Trap,
  BarrierSync,
  BarrierArrive,
  BarrierReduce,
  WarpBarrier,
  Fence,
  ProxyFence,
  MbarrierInitFence,
  Shuffle,
  Vote,
  Match,
  Redux,
  Elect,
  ActiveMask,
  Mapa,
  IsSpace,
  GetCtaRank,
  ClusterArrive,
  ClusterWait,
  MbarrierInit,
  MbarrierInval,
  MbarrierArrive,
  MbarrierExpect,
  MbarrierComplete,
  MbarrierWait,
  MbarrierPendingCount,
  SetMaxRegisters,
  TensorLoad,
  TensorStore,
  TensorReduce,
  TensorPrefetch,
  BulkLoad,
  BulkStore,
  BulkReduce,
  BulkShared,
  BulkPrefetch,
  BulkCommit,
  BulkWait,
  CpAsync,
  CpAsyncCommit,
  CpAsyncWait,
  CpAsyncMbarrier,
  WgmmaFence,
  Wgmma,
  WgmmaCommit,
  WgmmaWait,
  StMatrix,
  LdMatrix,
  MovMatrix,
  WarpMma,
  Scalar, ///< d, sources; `scalar`
  TensorMapReplace,
  TensorMapCopy,
  TensorMapAcquire,
  StoreAsync,
  NanoSleep,
  GridWait,
  GridLaunch,
  TensorAlloc, ///< tcgen05, see DecodeTensor.cpp
  TensorDealloc,
  TensorRelinquish,
  TensorMemoryLoad,
  TensorMemoryStore,
  TensorMemoryWait,
  TensorMemoryCopy,
  TensorMma,
  TensorCommit,
  TensorFence,
  ClusterCancel, ///< clusterlaunchcontrol.try_cancel
  ClusterQuery   ///< clusterlaunchcontrol.query_cancel; `sub`: see decoder
};
const char *opName(Op op);

enum class LogicOp : uint8_t { And, Or, Xor, Not };
enum class TestpOp : uint8_t {
  Finite,
  Infinite,
  Number,
  NotANumber,
  Normal,
  Subnormal
};
enum class AtomicOp : uint8_t {
  Add,
  Min,
  Max,
  And,
  Or,
  Xor,
  Exch,
  Cas,
  Inc,
  Dec
};
/// Types of mma.sync's operands.
enum class MmaType : uint8_t { F16, BF16, TF32, S8, U8, E4M3, E5M2, F64 };
inline unsigned mmaBits(MmaType type) {
  return type == MmaType::F64                              ? 64
         : type == MmaType::TF32                           ? 32
         : type == MmaType::F16 || type == MmaType::BF16 ? 16
                                                           : 8;
}
enum class ReduceOp : uint8_t { None, And, Or, Popc };

/// A place where an operand's 32 values are.
struct Ref {
  enum Kind : uint8_t { None, Reg, Const, Pred, PredConst };
  Kind kind = None;
  uint8_t bytes = 0; ///< of one value
  bool isDef = false;
  bool negated = false; ///< predicates
  uint16_t tracked = 0; ///< 1 + index, for registers that may be undefined
  uint32_t vreg = 0;    ///< virtual register, before allocation
  uint32_t offset = 0;  ///< bytes into registers or constants; predicate slot;
                        ///< constant predicate
};

/// A function of one lane's values, for what is too rare for vector code.
using ScalarFn = uint64_t (*)(const uint64_t *sources, uint32_t flags);

namespace inst {
enum : uint32_t {
  volatileAccess = 1,
  acquire = 2,
  release = 4,
  relaxed = 8,
  sharedCluster = 16, ///< the address is in shared::cluster
  aligned = 32,
  noComplete = 64,
  parity = 128,
  testOnly = 256,  ///< test_wait
  hasState = 512,  ///< the instruction writes or reads an mbarrier state
  readOnly = 1024, ///< cp.async.bulk.wait_group.read
  multicast = 2048,
  transposeA = 4096,
  transposeB = 8192,
  negateA = 1 << 14,
  negateB = 1 << 15,
  aInRegisters = 1 << 16,
  signExtend = 1 << 17,
  nonCoherent = 1 << 18,
  clusterScope = 1 << 19,
  increase = 1 << 20, ///< setmaxnreg.inc
  allThreads = 1 << 21,
  transposed = 1 << 22,
  globalFence = 1 << 23, ///< proxy fence that covers global memory
  sharedFence = 1 << 24,
  expectTx = 1 << 25,
  drop = 1 << 26, ///< mbarrier.arrive_drop
  gpuScope = 1 << 27,
  noInc = 1 << 28,
  usesWgmmaRegister = 1 << 29, ///< not a wgmma, but names a register of one
  tracksDefined = 1 << 30      ///< names a register that may be undefined
};
} // namespace inst

/// Of tcgen05 instructions.
namespace tensor {
/// `Inst::sub` of ld, st and cp: lanes times bits.
enum Shape : uint8_t {
  Ld32x32b,
  Ld16x64b,
  Ld16x128b,
  Ld16x256b,
  Ld16x32bx2,
  Cp128x256b,
  Cp128x128b,
  Cp64x128b02_13,
  Cp64x128b01_23,
  Cp32x128b
};
/// `Inst::laneFlags`.
enum : uint32_t {
  packed = 1, ///< .pack::16b, .unpack::16b
  aInTensorMemory = 2,
  hasLaneMask = 4,
  isAfter = 8, ///< fence::after_thread_sync
  isStore = 16, ///< wait::st
  pair = 32     ///< cta_group::2 of a tensor load
};
} // namespace tensor

struct Inst {
  Op op = Op::Nop;
  Type type = Type::None;
  Space space = Space::Generic;
  uint8_t sub = 0;
  uint8_t count = 1; ///< vector length, tensor rank, number of matrices
  bool guardNegated = false;
  int32_t guard = -1; ///< virtual predicate, then its slot
  uint32_t firstRef = 0;
  uint16_t numRefs = 0;
  uint16_t shapeN = 0; ///< wgmma
  uint32_t flags = 0;
  uint32_t laneFlags = 0;
  int64_t imm = 0;
  LaneFn lane = nullptr;
  CompareFn compare = nullptr;
  ScalarFn scalar = nullptr;
  uint32_t target = 0; ///< index of an instruction
  uint32_t source = 0; ///< index into the function's syntax tree
};

/// A register whose value is known when a warp starts.
struct EntryValue {
  enum Kind : uint8_t { Special, SharedAddress };
  Kind kind = Special;
  uint8_t bytes = 4;
  uint32_t id = 0; ///< special register
  int64_t addend = 0;
  uint32_t vreg = 0;
  uint32_t offset = 0;
};

struct KernelParam {
  std::string name;
  uint64_t offset = 0, bytes = 0, align = 1;
};

struct Kernel {
  std::string name;
  std::vector<Inst> code;
  std::vector<Ref> refs;
  std::vector<uint8_t> constants;
  std::vector<std::vector<uint32_t>> branchTables;
  std::vector<EntryValue> entryValues;
  std::vector<KernelParam> params;
  uint64_t paramBytes = 0;
  uint32_t registerBytes = 0; ///< of one warp
  uint32_t numPredicates = 0;
  uint32_t numTracked = 0; ///< registers that may be read undefined
  std::vector<std::string> trackedNames;
  uint32_t peakRegisters = 0; ///< 32-bit registers live at once
  uint64_t localBytes = 0;    ///< of one thread
  uint32_t sharedBytes = 0;   ///< static, from the start of the window
  uint32_t dynamicAlign = 16;
  uint32_t dynamicOffset = 0; ///< where dynamic shared memory begins
  bool usesDynamicShared = false;
  uint32_t maxThreads[3] = {0, 0, 0};
  uint32_t requiredThreads[3] = {0, 0, 0};
  uint32_t requiredCluster[3] = {0, 0, 0};
  uint32_t maxRegisters = 0;
  uint32_t ctaGroup = 0; ///< of the kernel's tcgen05 instructions; 0: none
  std::vector<unsigned> lines; ///< PTX line per instruction of the syntax tree
  std::vector<std::string> texts;   ///< its dotted name
  std::vector<std::string> sources; ///< "file:line" of `.loc`, or empty
};

/// User shared memory begins here: the first KiB of a CTA's window is the
/// system's.
constexpr uint32_t sharedBase = 1024;
/// A cluster's shared addresses carry the CTA's rank from this bit up.
constexpr unsigned clusterRankShift = 24;
// Windows of the generic address space.
constexpr uint64_t sharedWindow = uint64_t(0x7f) << 48;
constexpr uint64_t localWindow = uint64_t(0x7e) << 48;
constexpr uint64_t paramWindow = uint64_t(0x7d) << 48;
constexpr uint64_t windowMask = uint64_t(0xff) << 48;

/// Gives the address of a variable in global or constant memory.
using AddressOf = std::function<uint64_t(uint32_t variable)>;

/// Decodes one entry function. What the emulator does not support is an error
/// with line and instruction.
Error decodeKernel(const ptx::Module &module, const ptx::Function &function,
                   const AddressOf &addressOf, Kernel &kernel);

/// Gives each virtual register a place; registers that are never live together
/// share one.
void allocateRegisters(Kernel &kernel, uint32_t numVregs,
                       const std::vector<uint8_t> &vregBytes,
                       uint32_t numVpreds,
                       const std::vector<std::string> &vregNames);

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_KERNEL_H
