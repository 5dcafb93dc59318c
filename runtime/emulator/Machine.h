//===- Machine.h - State of a running launch --------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Internal. A launch holds clusters, a cluster its CTAs, a CTA its warps. One
// host thread runs a whole cluster, so that shared memory belongs to one
// thread; only device memory is shared between threads.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_MACHINE_H
#define BACKFUSE_RUNTIME_EMULATOR_MACHINE_H

#include "runtime/emulator/Bits.h"
#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/Kernel.h"
#include "runtime/emulator/Memory.h"
#include "runtime/emulator/Shadow.h"
#include "runtime/emulator/TensorMemory.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace backfuse::emulator {

struct Cta;
struct Cluster;
struct Launch;
struct Warp;

enum class Wait : uint8_t {
  None,
  Converge,     ///< other lanes of the warp must come to this instruction
  Mbarrier,     ///< `key`: offset of the barrier
  NamedBarrier, ///< `key`: its number
  ClusterBarrier,
  BulkGroup, ///< `key`: groups below this one must be done
  CpAsyncGroup,
  WarpgroupPeers, ///< other warps must issue the same products
  Registers,
  TensorLoads,   ///< tcgen05.wait::ld, or a register that a load will write
  TensorStores,  ///< tcgen05.wait::st
  TensorColumns, ///< tcgen05.alloc: `key` columns are not free
  TensorPeer     ///< tcgen05.alloc: the other CTA of the pair must come
};

/// Lanes of a warp that are at one instruction.
struct Fragment {
  uint32_t pc = 0;
  uint32_t mask = 0;
  Wait wait = Wait::None;
  bool timedOut = false;
  uint64_t key = 0;
  uint32_t need = 0; ///< Converge: the lanes that must meet
  uint64_t lastTurn = 0;
  uint32_t refused = ~0u; ///< the try_wait that returned false last
};

/// A wgmma that was issued and has not been executed.
struct Product {
  const Inst *inst = nullptr;
  uint64_t descA = 0, descB = 0;
  bool accumulate = true;
  bool isCommitted = false;
};

/// Where one thread's bulk copies and cp.async stand.
struct LaneGroups {
  uint64_t bulkGroup = 0; ///< the open group
  uint64_t cpGroup = 0;
  bool bulkOpen = false; ///< something was issued since the last commit
};

struct Warp {
  Cta *cta = nullptr;
  unsigned index = 0;
  uint32_t lanes = 0; ///< lanes that exist
  uint32_t exited = 0;
  bool isDone = false;
  bool isSpinning = false; ///< ran long without doing anything that others see
  // Whether it can go on like that: see Executor::noteSpin.
  bool spinsForever = false;
  uint64_t spinProgress = 0, spinHash = 0, spinTurns = 0, spinPower = 1;
  uint64_t spinInstructions = 0;
  uint8_t *regs = nullptr;
  uint32_t *preds = nullptr;
  std::unique_ptr<uint8_t[]> storage;
  std::vector<uint8_t> local;
  std::vector<Fragment> fragments;
  uint64_t turn = 0;
  std::vector<LaneGroups> groups; ///< 32 once needed
  uint64_t cpSequence = 0;
  uint64_t clusterPhase = 0; ///< at the last arrival
  unsigned registers = 0;    ///< per thread
  // wgmma
  std::deque<Product> products;      ///< issued, not executed
  uint64_t issued = 0, executed = 0; ///< counts of products
  std::deque<uint64_t>
      commits; ///< `issued` at each commit that is not waited for
  uint64_t slices = 0;
  // Tensor memory
  unsigned loadsInFlight = 0, storesInFlight = 0;
  std::vector<uint64_t> loadedPlaces; ///< registers that loads will write
  uint64_t tensorOrder = 0;
  /// The current clocks of its loads, stores and asynchronous work; those that
  /// it waited for. Clock 0 is "nothing".
  uint32_t loadClock = 1, storeClock = 1, asyncClock = 0;
  uint32_t loadsWaited = 0, storesWaited = 0;
  std::vector<uint32_t> tensorKnown; ///< Clocks::tensor at the last fence
  /// Per cell of tensor memory: clock and site of the last load.
  std::vector<std::pair<uint32_t, uint32_t>> loadClocks;
  // Checks
  unsigned clusterIndex = 0;    ///< among the cluster's warps
  uint32_t clock = 1;           ///< of its own work
  Clocks known;                 ///< by all lanes
  uint32_t extraLanes = 0;      ///< lanes that know more, in `extra`
  std::vector<Clocks> extra;    ///< 32 once needed
  std::vector<LaneOrder> order; ///< 32 once needed
  /// Acquired last, and by which lanes.
  std::pair<MessageRef, uint32_t> lastMessages[4];
  unsigned nextMessage = 0;
  /// Mbarriers whose phases its lanes saw since they last met.
  std::vector<MbarrierClocks *> seenBarriers;
  std::vector<uint32_t> fenced;      ///< per lane: writes up to this clock are
                                     ///< visible to asynchronous copies
  std::vector<uint32_t> initFenced;  ///< the same for mbarrier.init
  std::vector<uint32_t> initArrived; ///< that at the last cluster arrival
  uint32_t barrierClock = 0;         ///< when it left a barrier last
  /// What cp.async has written and its lane has not waited for.
  struct CpWritten {
    unsigned lane;
    uint32_t offset, bytes; ///< in shared memory
    uint64_t group, sequence;
  };
  std::vector<CpWritten> cpWritten;
  /// Loads from tensor memory since the last tcgen05.wait::ld, and the
  /// registers that they write.
  std::vector<const Inst *> loadsUnwaited;
  std::vector<uint64_t> placesUnwaited;
  std::vector<uint64_t> pendingD, pendingA; ///< places of products in flight
  std::vector<uint64_t> touched;            ///< places used since wgmma.fence
  std::vector<uint32_t> defined; ///< lanes, per register that may be undefined
};

struct NamedBarrier {
  uint32_t arrived = 0, expected = 0;
  uint32_t popc = 0;
  bool all = true, any = false;
  bool isReduce = false;
  Clocks clocks;
};

enum class CopyKind : uint8_t {
  TensorLoad,
  TensorStore,
  TensorReduce,
  BulkLoad,
  BulkStore,
  BulkReduce,
  BulkShared,
  CpAsync,
  CpArrive,
  StoreAsync, ///< `data`; `reduce` is Exch for st.async
  Cancel      ///< clusterlaunchcontrol.try_cancel
};

/// A copy that was issued and is not complete.
struct Copy {
  CopyKind kind;
  Cta *cta = nullptr;
  Warp *warp = nullptr;
  unsigned lane = 0;
  uint64_t group = 0;  ///< of the issuing thread
  bool isRead = false; ///< stores: shared memory has been read
  const Inst *inst = nullptr;
  TensorMapParams map;
  int32_t coordinates[5] = {0, 0, 0, 0, 0};
  uint32_t shared = 0;      ///< shared::cluster address
  uint32_t otherShared = 0; ///< BulkShared: source; CpArrive: barrier
  uint64_t global = 0;
  uint64_t bytes = 0;
  uint32_t barrier = 0; ///< shared::cluster address
  bool hasBarrier = false;
  bool isPair = false;    ///< .cta_group::2: see barrierRank
  bool overlaps = false;  ///< issued before griddepcontrol.wait
  uint16_t multicast = 0; ///< 0: none
  /// The CTA whose mbarrier is credited for what the CTA `rank` receives: its
  /// own, or the one in its pair that the barrier's parity says.
  uint32_t barrierRank(uint32_t rank) const {
    return isPair      ? (rank & ~1u) | (barrier >> clusterRankShift & 1)
           : multicast ? rank
                       : barrier >> clusterRankShift;
  }
  AtomicOp reduce = AtomicOp::Add;
  Type type = Type::None;
  std::vector<uint8_t> data;   ///< read from shared memory
  std::vector<bool> unwritten; ///< checks: per 4 bytes of `data`
  // CpAsync: per lane
  uint64_t sequence = 0; ///< of the warp's cp.async, with arrivals
  uint32_t mask = 0;
  std::vector<uint64_t> laneGlobal;
  std::vector<uint32_t> laneShared, laneBytes;
};

/// What a lane of a warp issues, but for its operands.
std::unique_ptr<Copy> makeCopy(CopyKind kind, Warp &warp, const Inst &inst,
                               unsigned lane);

struct Cta {
  Cluster *cluster = nullptr;
  uint32_t linear = 0; ///< in the grid
  Extent3 index{0, 0, 0};
  uint32_t rank = 0; ///< in the cluster
  std::vector<uint8_t>
      smem; ///< from address 0; user memory begins at sharedBase
  uint32_t smemEnd = 0;
  std::vector<std::unique_ptr<Warp>> warps;
  unsigned liveWarps = 0;
  NamedBarrier barriers[16];
  /// Who was released from the barrier's last use, and their clocks then.
  std::vector<std::pair<unsigned, uint32_t>> lastUse[16];
  std::unique_ptr<SharedShadow> shadow;
  int64_t freeRegisters = 0; ///< given back by setmaxnreg.dec
  std::unique_ptr<TensorMemory> tensor;
  /// Warps of the cluster that executed griddepcontrol.wait, and their clocks.
  std::vector<std::pair<unsigned, uint32_t>> gridWaits;
};

struct Cluster {
  Launch *launch = nullptr;
  uint32_t linear = 0;
  Extent3 index{0, 0, 0};
  std::vector<std::unique_ptr<Cta>> ctas;
  std::deque<std::unique_ptr<Copy>> copies;
  std::deque<std::unique_ptr<TensorOp>> tensorOps;
  bool cancelRefused = false; ///< clusterlaunchcontrol found nothing to cancel
  // barrier.cluster
  uint64_t barrierPhase = 0;
  uint32_t barrierArrived = 0;
  uint32_t exitedLanes = 0, totalLanes = 0;
  Clocks barrierClocks, completedClocks;
  std::unordered_map<uint32_t, MbarrierClocks> mbarriers; ///< by address
  SyncWords syncWords;       ///< flags in shared memory
  unsigned numMbarriers = 0; ///< that were ever initialised
  uint64_t progress = 0;     ///< counts what others can see
  uint64_t random = 1;
  unsigned nextWarp = 0;
  std::vector<unsigned> priority;
};

struct Launch {
  DeviceMemory *memory = nullptr;
  const Kernel *kernel = nullptr;
  const LaneTable *table = nullptr;
  LaunchShape shape;
  LaunchOptions options;
  std::vector<uint8_t> params;
  unsigned launchRegisters = 0;
  std::vector<std::string> warpRoles;
  std::vector<uint32_t> warpLanes;
  uint32_t smemEnd = 0;

  bool checks = false;
  uint32_t id = 0;         ///< of this launch, for shadows of device memory
  uint32_t overlapped = 0; ///< id of the launch that may still run; 0: none
  SyncWords syncWords;

  std::atomic<bool> stop{false};
  std::atomic<uint64_t> progress{0};
  std::atomic<uint64_t> steps{0};
  std::mutex mutex; ///< error, report, stall bookkeeping
  std::string error;
  std::string deadlock;
  std::atomic<uint32_t> nextCluster{0};
  uint32_t numClusters = 0;
  Report report;
  std::vector<uint64_t> classCounts;
  std::vector<uint64_t> waitsOfWarp;
  std::vector<Report::SharedSite> sites; ///< by index into the syntax tree
  /// With options.profile, the bytes that were read and written, of each
  /// allocation in the order of DeviceMemory::all().
  struct Touched {
    ByteBits read, written;
  };
  std::vector<Touched> touched;

  void fail(const std::string &message);
};

/// Marks the response of clusterlaunchcontrol.try_cancel.
constexpr uint32_t cancelMark = 0xc1c0c0de;

/// The new value of a location, for atomics and reductions.
uint64_t combine(AtomicOp op, Type type, uint64_t old, uint64_t with,
                 bool isGlobal);
/// The same on a location in device memory, atomically. Returns the old value.
uint64_t combineAt(AtomicOp op, Type type, uint8_t *at, uint64_t with);

const Warp &warpAt(const Cluster &cluster, unsigned clusterIndex);

/// "kernel 'k0', PTX line 12 ('ld.shared.b32'), CTA 3, warp 4 (load), lane 7"
std::string describePlace(const Warp &warp, const Inst &inst, int lane);

/// Whom a strong access or a fence reaches; None for weak accesses.
Scope strengthOf(const Inst &inst);
Scope scopeOf(const Inst &inst);

/// Runs clusters on one host thread.
class Executor {
public:
  Executor(Launch &launch);
  /// Makes the CTAs of cluster number `linear`.
  std::unique_ptr<Cluster> makeCluster(uint32_t linear);
  enum class Status : uint8_t { Done, Stalled, Yielded };
  Status runCluster(Cluster &cluster);
  bool isOver(Cluster &cluster, uint64_t steps);
  /// Whether all warps that could run only repeat themselves.
  bool spinsForever(const Cluster &cluster) const;
  /// Lets waits that may time out return false. Whether there were any.
  bool timeOutWaits(Cluster &cluster);
  void finish(); ///< adds counts to the launch's report
  std::string describeWaits(Cluster &cluster) const;

private:
  Launch &launch;
  const Kernel &kernel;
  const LaneTable &table;
  const uint8_t *constants;
  Report counts;
  std::vector<uint64_t> waitsOfWarp; ///< by index in the CTA
  struct Banks {
    uint64_t accesses = 0, wavefronts = 0, ideal = 0;
  };
  std::vector<Banks> banks; ///< per instruction, with options.profile
  /// Bytes of device memory that an instruction or copy accesses.
  void noteBytes(const Allocation &allocation, uint64_t address, uint64_t bytes,
                 bool reads, bool writes) {
    if (launch.touched.empty() || !bytes)
      return;
    Launch::Touched &touched = launch.touched[DeviceMemory::indexOf(address)];
    if (reads)
      setBits(touched.read, address - allocation.base, bytes);
    if (writes)
      setBits(touched.written, address - allocation.base, bytes);
  }
  void countBanks(const Inst &inst, const uint32_t (&addresses)[32],
                  uint32_t mask, unsigned bytes);
  std::vector<uint64_t> classCounts;
  std::vector<float> panelA, panelB;
  const bool checks;

  void noteSpin(Warp &warp, uint64_t executed);

  // Interpreter.cpp
  void runWarp(Warp &warp, uint64_t quantum);
  int selectFragment(Warp &warp, bool rotate);
  void startWarp(Warp &warp);
  bool execMemory(Warp &warp, const Inst &inst, uint32_t mask);
  bool execAtomic(Warp &warp, const Inst &inst, uint32_t mask);
  bool execBarrier(Warp &warp, Fragment &fragment, const Inst &inst,
                   uint32_t mask);
  bool execMbarrier(Warp &warp, Fragment &fragment, const Inst &inst,
                    uint32_t mask);
  bool execWarpOp(Warp &warp, const Inst &inst, uint32_t mask);
  bool execMatrix(Warp &warp, const Inst &inst, uint32_t mask);
  uint32_t compareWith(const Warp &warp, const Inst &inst, uint32_t mask,
                       unsigned half) const;
  bool execMisc(Warp &warp, const Inst &inst, uint32_t mask);
  void execExit(Warp &warp, Fragment &fragment, uint32_t mask);
  void barrierMayComplete(Cta &cta, unsigned id);
  void clusterBarrierMayComplete(Cluster &cluster);
  void fail(const Warp &warp, const Inst &inst, int lane,
            const std::string &what);

  const uint8_t *source(const Warp &warp, const Ref &ref) const {
    return (ref.kind == Ref::Const ? constants : warp.regs) + ref.offset;
  }
  uint8_t *place(Warp &warp, const Ref &ref) const {
    return warp.regs + ref.offset;
  }
  uint32_t predicate(const Warp &warp, const Ref &ref) const {
    if (ref.kind == Ref::Pred)
      return ref.negated ? ~warp.preds[ref.offset] : warp.preds[ref.offset];
    return ref.kind == Ref::PredConst && !ref.offset ? 0u : ~0u;
  }
  void setPredicate(Warp &warp, const Ref &ref, uint32_t value,
                    uint32_t mask) const {
    if (ref.kind == Ref::Pred)
      warp.preds[ref.offset] =
          (warp.preds[ref.offset] & ~mask) | (value & mask);
  }
  uint64_t value(const Warp &warp, const Ref &ref, unsigned lane) const;
  void setValue(Warp &warp, const Ref &ref, unsigned lane,
                uint64_t value) const;
  uint64_t addressOf(const Warp &warp, const Ref &ref, unsigned lane,
                     int64_t offset) const;
  /// Bytes of shared memory at a shared address; null after an error, or where
  /// bounds need not be checked.
  uint8_t *sharedBytes(Warp &warp, const Inst &inst, int lane, uint64_t address,
                       uint64_t bytes, bool isCluster, const char *what,
                       Cta **owner = nullptr, bool mustBeInside = true);

  // Mbarriers
  uint64_t readMbarrier(const Cta &cta, uint32_t offset) const;
  void writeMbarrier(Cta &cta, uint32_t offset, uint64_t bits) const;
  bool mbarrierArrive(Warp &warp, const Inst &inst, int lane, Cta &cta,
                      uint32_t offset, uint32_t count, bool drop);
  bool mbarrierTransact(const Warp &warp, const Inst &inst, int lane, Cta &cta,
                        uint32_t offset, int64_t bytes);
  void releaseToMbarrier(Warp &warp, uint32_t mask, const Inst &inst,
                         Cta &owner, uint32_t offset);
  void acquireMbarrier(Warp &warp, uint32_t mask, const Inst &inst,
                       const Cta &owner, MbarrierClocks &barrier);
  void mbarrierMayComplete(Cta &cta, uint32_t offset, uint64_t bits);

  // RareOps.cpp
  bool execRare(Warp &warp, const Inst &inst, uint32_t mask);
  void warpMma(Warp &warp, const Inst &inst);
  bool replaceInMap(Warp &warp, const Inst &inst, uint32_t mask);
  bool copyMap(Warp &warp, const Inst &inst, uint32_t mask);
  /// Lanes of a fragment part ways; false if all go on at `pc`.
  bool branchIndexed(Warp &warp, Fragment &fragment, const Inst &inst,
                     uint32_t active);

  // Async.cpp
  bool issueStoreAsync(Warp &warp, const Inst &inst, uint32_t mask);
  bool issueCopy(Warp &warp, const Inst &inst, uint32_t mask);
  bool checkCopyIssue(Warp &warp, const Copy &copy);
  bool issueCpAsync(Warp &warp, const Inst &inst, uint32_t mask);
  bool bulkWait(Warp &warp, Fragment &fragment, const Inst &inst,
                uint32_t mask);
  bool cpAsyncWait(Warp &warp, Fragment &fragment, const Inst &inst,
                   uint32_t mask);
  bool completeSome(Cluster &cluster);
  void completeAfterSlice(Cluster &cluster);
  /// One step of a copy; true when it is complete.
  bool stepCopy(Copy &copy);
  bool isNeeded(const Cluster &cluster, const Copy &copy) const;
  bool mayComplete(const Cluster &cluster, const Copy &copy) const;
  void wakeAfterCopy(Copy &copy);
  bool tensorLoad(Copy &copy);
  bool tensorRead(Copy &copy);
  bool tensorWrite(Copy &copy);
  bool bulkToGlobal(Copy &copy);
  template <class F> bool forEachRow(const Copy &copy, F f);

  // WarpGroup.cpp
  bool issueProduct(Warp &warp, const Inst &inst);
  bool wgmmaWait(Warp &warp, Fragment &fragment, const Inst &inst);
  bool executeProducts(Warp &warp, uint64_t until);

  // TensorMemory.cpp. Those with a fragment return false after an error or
  // when the warp must wait.
  bool tensorAlloc(Warp &warp, Fragment &fragment, const Inst &inst);
  bool tensorDealloc(Warp &warp, const Inst &inst);
  bool tensorRelinquish(Warp &warp, const Inst &inst);
  bool issueTensorMove(Warp &warp, const Inst &inst);
  bool tensorWait(Warp &warp, Fragment &fragment, const Inst &inst);
  void tensorFence(Warp &warp, const Inst &inst);
  void publishWaited(Warp &warp);
  bool waitForLoaded(Warp &warp, Fragment &fragment, const Inst &inst);
  bool touchesLoaded(const Warp &warp, const Inst &inst) const;
  void updateLoaded(Warp &warp);
  void executeTensorLoad(const TensorOp &op);
  void executeTensorStore(const TensorOp &op);
  TensorMemory *tensorMemory(Warp &warp, const Inst &inst);
  bool pairOf(Warp &warp, const Inst &inst, Cta *(&ctas)[2]);
  bool checkAllocated(Warp &warp, const Inst &inst, int lane, const Cta &cta,
                      uint32_t column, uint32_t columns, const char *what);
  std::vector<TensorRegion> regionsOfMove(Warp &warp, const Inst &inst,
                                          uint32_t address) const;

  // Tcgen05.cpp
  bool issueTensor(Warp &warp, const Inst &inst, uint32_t mask);
  bool issueMma(Warp &warp, const Inst &inst, unsigned lane);
  bool issueTensorCopy(Warp &warp, const Inst &inst, unsigned lane);
  bool issueCommit(Warp &warp, const Inst &inst, unsigned lane);
  bool checkOperand(Warp &warp, const TensorOp &op, bool isA);
  template <class F>
  bool forEachTensorChunk(const TensorOp &op, bool isA, F f) const;
  void executeMma(const TensorOp &op);
  void executeTensorCopy(const TensorOp &op);
  void executeCommit(const TensorOp &op);
  std::vector<TensorRegion> regionsOfD(const TensorOp &op) const;
  std::vector<TensorRegion> regionsOfA(const TensorOp &op) const;
  bool mayCompleteTensor(const Cluster &cluster, size_t i) const;
  bool isTensorNeeded(const Cluster &cluster, size_t i) const;
  void completeTensor(Cluster &cluster, size_t i);
  void endTensorReads(const TensorOp &op);
  bool involves(const TensorOp &op, const Cta &cta) const;
  bool issueCancel(Warp &warp, const Inst &inst, uint32_t mask);
  bool queryCancel(Warp &warp, const Inst &inst, uint32_t mask);
  void answerCancel(uint64_t (&answer)[2]);

  // TensorChecks.cpp
  enum class TensorAccess : uint8_t {
    Load,
    ProductRead,
    Store,
    Copy,
    Product,
    Free
  };
  bool checkTensor(Warp &warp, const Inst &inst, int lane,
                   const TensorRegion &region, TensorAccess access,
                   bool mustBeWritten, uint32_t form = 0);
  bool isTensorKnown(const Warp &warp, unsigned other, unsigned stream,
                     uint32_t clock) const;
  std::string describeWarp(const Cluster &cluster, unsigned clusterIndex) const;
  bool checkTensorExit(const Warp &warp, const Inst &inst);

  // Checks.cpp. All return false after an error.
  void startChecks(Warp &warp);
  std::string site(uint32_t index) const;
  std::string nameOf(const Warp &warp) const;
  std::string whoWrote(const Cluster &cluster, uint64_t word,
                       uint32_t index) const;
  bool checkSharedRead(Warp &warp, const Inst &inst, int lane, Cta &owner,
                       uint32_t offset, uint32_t bytes, Scope strength);
  /// `incoming`: the bytes of an ordinary store.
  bool checkSharedWrite(Warp &warp, const Inst &inst, int lane, Cta &owner,
                        uint32_t offset, uint32_t bytes, Scope strength,
                        const uint8_t *incoming = nullptr);
  /// A copy or product will read these bytes; `takes` counts it as a reader.
  bool checkAsyncRead(Warp &warp, const Inst &inst, int lane, Cta &owner,
                      uint32_t offset, uint32_t bytes, bool takes,
                      bool mustBeWritten);
  void endAsyncRead(Cta &owner, uint32_t offset, uint32_t bytes);
  bool checkAsyncWrite(Warp &warp, const Inst &inst, int lane, Cta &owner,
                       uint32_t offset, uint32_t bytes);
  void endAsyncWrite(const Copy &copy, Cta &owner, uint32_t offset,
                     uint32_t bytes);
  void endCpAsync(const Copy &copy, unsigned lane);
  void learnCpAsync(Warp &warp, uint32_t mask, uint64_t group,
                    uint64_t sequence);
  bool checkCpAsync(const Warp &warp, const Inst &inst, int lane,
                    const Cta &owner, uint32_t word, const char *verb);
  bool checkCopier(const Warp &warp, const Inst &inst, int lane,
                   const Cta &owner, uint32_t word, const char *verb);
  bool checkReader(const Warp &warp, const Inst &inst, int lane, Cta &owner,
                   uint32_t word, uint64_t mask);
  bool mayOverlap(const Warp &warp) const;
  bool checkOverlap(const Warp &warp, const Inst &inst, int lane,
                    const Allocation &allocation, uint64_t address,
                    uint64_t bytes);
  bool checkGlobalRead(const Warp &warp, const Inst &inst, int lane,
                       Allocation &allocation, uint64_t address, uint64_t bytes,
                       Scope strength, bool polls = false, bool isLoad = false);
  bool checkGlobalWrite(const Warp &warp, const Inst &inst, int lane,
                        Allocation &allocation, uint64_t address,
                        uint64_t bytes, Scope strength,
                        const uint8_t *incoming = nullptr);
  bool reports(Check check, const Warp &warp, const Inst &inst, int lane,
               const std::string &what);
  bool isOn(Check check) const { return launch.options.isOn(check); }
  bool reportBusyRead(Warp &warp, const Inst &inst, int lane, const Cta &owner,
                      uint32_t word);
  bool reportBusyWrite(Warp &warp, const Inst &inst, int lane, const Cta &owner,
                       uint32_t word, const char *verb);
  bool reportGlobalRace(const Warp &warp, const Inst &inst, int lane,
                        uint64_t at, uint64_t word, const char *what,
                        Scope strength);
  bool isSharedRace(const Warp &warp, int lane, uint64_t word,
                    Scope strength) const;
  bool isGlobalRace(const Warp &warp, int lane, uint64_t word, uint64_t mask,
                    Scope strength) const;
  bool checkFenced(Warp &warp, const Inst &inst, int lane, const Cta &owner,
                   uint32_t word, const char *verb);
  std::string describeReader(const Cta &owner, uint32_t offset);
  void noteTouched(Warp &warp, const Inst &inst);
  bool checkMbarrier(Warp &warp, const Inst &inst, int lane, Cta &owner,
                     uint32_t offset, bool isAsync);
  void noteSeen(Warp &warp, const Inst &inst, uint32_t mask,
                MbarrierClocks &barrier);
  void noteMeeting(Warp &warp);
  bool checkSeen(const Cluster &cluster, uint32_t offset,
                 const MbarrierClocks &barrier);
  void noteMbarrierInit(Warp &warp, const Inst &inst, unsigned lane, Cta &owner,
                        uint32_t offset);

  // Order.cpp
  /// Messages that lanes acquire when an instruction is done.
  using Observed = std::vector<std::pair<MessageRef, uint32_t>>;
  /// Whether the work of a lane up to a clock comes before what `lane` does now
  /// (-1: what all lanes of the warp do together).
  bool isKnown(const Warp &warp, int lane, unsigned writer, unsigned writerLane,
               uint32_t clock) const;
  bool isKnownInGrid(const Warp &warp, int lane, uint32_t cta, unsigned writer,
                     unsigned writerLane, uint32_t clock) const;
  bool isPhaseKnown(const Warp &warp, int lane, unsigned index,
                    uint32_t phase) const;
  bool isUseKnown(const Warp &warp, unsigned other, uint32_t clock) const;
  bool areMorallyStrong(const Warp &warp, Scope strength, uint32_t otherCta,
                        Scope otherStrength) const;
  void releaseOwn(Warp &warp, uint32_t mask, Clocks &to);
  void releaseTo(Warp &warp, uint32_t mask, Clocks &to);
  void releaseFenced(Warp &warp, uint32_t mask, Scope least, Clocks &to);
  void acquireFrom(Warp &warp, uint32_t mask, const Clocks &from);
  void learnFenced(Warp &warp, uint32_t mask);
  bool isFenced(const Warp &warp, int lane, unsigned writer,
                unsigned writerLane, uint32_t clock) const;
  void meetLanes(Warp &warp, uint32_t mask);
  void takeMessages(Warp &warp, unsigned lane, Scope scope, bool releases,
                    std::vector<MessageRef> &messages);
  void acquireMessage(Warp &warp, uint32_t mask, const MessageRef &message);
  void observe(Warp &warp, unsigned lane, SyncWords &words, uint64_t address,
               unsigned bytes, Scope scope, bool acquires, Observed &observed);
  void noteObserved(Warp &warp, unsigned lane, const MessageRef &message);
  void observeBarrier(Warp &warp, unsigned lane, const Cta &owner,
                      const Clocks &completed);
  void acquireObserved(Warp &warp, Observed &observed);
  void execFence(Warp &warp, const Inst &inst, uint32_t mask);

  void proxyFence(Warp &warp, uint32_t mask);
  bool checkRegisters(Warp &warp, const Inst &inst, uint32_t active);
  const Inst &loadOfPlace(const Warp &warp, uint32_t place) const;
  bool checkLoaded(Warp &warp, const Inst &inst, uint32_t active);
  bool checkProductIssue(Warp &warp, const Inst &inst, const Product &product);
  void endProductReads(Warp &warp, const Product &product);
  void updatePending(Warp &warp);
  bool checkDefined(Warp &warp, const Inst &inst, uint32_t active);
  bool checkNamedBarrier(Warp &warp, const Inst &inst, unsigned id);
  bool checkExit(Warp &warp, const Inst &inst);
  template <class F>
  bool forEachOperandChunk(Warp &warp, const Product &product, bool isA, F f);
  bool checkDescriptor(Warp &warp, const Product &product, bool isA);

  void wake(Warp &warp, Fragment &fragment) {
    fragment.wait = Wait::None;
    fragment.timedOut = false;
    warp.isSpinning = false;
  }
  void progress(Warp &warp) { ++warp.cta->cluster->progress; }
  uint64_t nextRandom(Cluster &cluster) {
    uint64_t &x = cluster.random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x * 0x2545f4914f6cdd1dull >> 11;
  }
  Warp *pickWarp(Cluster &cluster, bool spinning);
};

// An mbarrier's 64 bits: pending arrivals, count of the next phase, bytes
// outstanding, phase parity, a mark. What hardware holds there is opaque, too.
namespace mbarrier {
constexpr uint64_t countMask = (uint64_t(1) << 20) - 1;
constexpr int64_t txBias = int64_t(1) << 20;
constexpr uint64_t phaseBit = uint64_t(1) << 61;
constexpr uint64_t markMask = uint64_t(3) << 62;
constexpr uint64_t mark = uint64_t(2) << 62;
inline uint32_t pending(uint64_t bits) {
  return static_cast<uint32_t>(bits & countMask);
}
inline uint32_t expected(uint64_t bits) {
  return static_cast<uint32_t>(bits >> 20 & countMask);
}
inline int64_t tx(uint64_t bits) {
  return static_cast<int64_t>(bits >> 40 & ((uint64_t(1) << 21) - 1)) - txBias;
}
inline unsigned parity(uint64_t bits) { return (bits & phaseBit) != 0; }
inline bool isValid(uint64_t bits) { return (bits & markMask) == mark; }
inline uint64_t make(uint32_t pending, uint32_t expected, int64_t tx,
                     unsigned parity) {
  return mark | (parity ? phaseBit : 0) |
         static_cast<uint64_t>(tx + txBias) << 40 | uint64_t(expected) << 20 |
         pending;
}
} // namespace mbarrier

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_MACHINE_H
