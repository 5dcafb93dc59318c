//===- FusionPlan.cpp - What becomes one mlp.fused and one launch ---------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In four steps: products and what they read; homes, merging products of one
// space that meet in an elementwise op; what must be stored, loaded and summed
// where; launches by depth.
#include "FusionPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringExtras.h"

#include <deque>

using namespace mlir;
using namespace backfuse;
using namespace backfuse::mlp;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value backfuse::stripReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<CollapseOp, ExpandOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Also looks through casts from 16 bit to f32: a product of either is the
/// same.
static Value stripExact(Value value) {
  value = stripReshapes(value);
  while (auto extend = value.getDefiningOp<arith::ExtFOp>())
    value = stripReshapes(extend.getIn());
  return value;
}

/// The mlp.sum that `value` is, looking through reshapes of the result; a
/// truncf of an f32 sum is the sum rounded once to its type. Null if it is
/// none.
static SumOp getSum(Value value) {
  value = stripReshapes(value);
  if (auto truncate = value.getDefiningOp<arith::TruncFOp>())
    value = stripReshapes(truncate.getIn());
  return value.getDefiningOp<SumOp>();
}

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether all of `type`'s elements, flattened, are `extent` many.
static bool hasExtent(RankedTensorType type, const Extent &extent) {
  return getExtentOfAxes(type, 0, type.getRank()) == extent;
}

static std::string getSpace(const Extent &m, const Extent &n) {
  return m.str() + " x " + n.str();
}

std::optional<ElementKind> backfuse::getBroadcastKind(BroadcastOp broadcast,
                                                      ElementKind kind,
                                                      const Extent &m,
                                                      const Extent &n) {
  auto from = dyn_cast<RankedTensorType>(broadcast.getX().getType());
  if (!from || from.getRank() == 0)
    return ElementKind::Scalar;
  ArrayRef<int64_t> dims = broadcast.getDims();
  int64_t rank = cast<RankedTensorType>(broadcast.getType()).getRank();
  int64_t count = dims.size();
  if (count == rank)
    return kind;
  if (kind != ElementKind::Element)
    return std::nullopt;
  // `dims` increase, so its ends tell whether they are the first or last axes.
  if (dims.front() == rank - count && hasExtent(from, n))
    return ElementKind::Row;
  if (dims.back() == count - 1 && hasExtent(from, m))
    return ElementKind::Column;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The planner
//===----------------------------------------------------------------------===//

namespace {
/// Where the sum of a value without a product is computed.
struct SumHost {
  unsigned product;
  /// Empty: as a sum over m in the space of `product`, loading the value.
  std::optional<Side> operand;
};

class FusionPlanner {
public:
  explicit FusionPlanner(GraphOp graph) : graph(graph) {}
  FailureOr<FusionPlan> run();

private:
  // Step 1: products and what they read.
  LogicalResult checkPreconditions();
  void collectLiveOps();
  LogicalResult collectProducts();
  LogicalResult planOperand(PlannedProduct &product, Side side);

  // Step 2: homes.
  LogicalResult assignHomes();
  LogicalResult assignHome(Operation *op);
  LogicalResult assignSumHost(SumOp sum, ArrayRef<unsigned> needed);
  void mergeHomes(Operation *op, SmallVectorImpl<unsigned> &homes);
  bool dependsOn(Operation *op, Operation *on);

  // Step 3: what is stored, loaded and summed where.
  void createFused();
  void shareAccumulators(PlannedFused &fused);
  LogicalResult requestOutputs();
  LogicalResult requestOperands();
  LogicalResult requestFree();
  PlannedResult requestStore(unsigned fused, Value root, RankedTensorType type);
  FailureOr<PlannedResult> requestSum(SumOp sum, RankedTensorType type);
  FailureOr<PlannedResult> getSumResult(SumOp sum, Value value);
  FailureOr<PlannedResult> getStored(Value root);
  FailureOr<PlannedResult> requestSumOverM(SumOp sum, unsigned fused,
                                           RankedTensorType type);
  FailureOr<unsigned> findRide(Value value, std::optional<unsigned> consumer,
                               Operation *user);
  LogicalResult addEdge(unsigned producer, unsigned consumer, Operation *user);
  LogicalResult drain();
  LogicalResult visit(unsigned fused, Value value, ElementKind kind,
                      Operation *user);
  LogicalResult load(unsigned fused, Value value, ElementKind kind,
                     std::optional<PlannedResult> from, Operation *user);

  // Step 4: launches.
  void assignLaunches();

  void writeNotes();
  std::string describePlace(Operation *op);
  std::string describeStore(Value value);
  std::string getPlace(unsigned fused);

  /// The group of the product that `value` depends on without another product
  /// or sum between.
  std::optional<unsigned> getGroup(Value value) {
    auto it = homes.find(value);
    if (it == homes.end())
      return std::nullopt;
    return groups.getLeaderValue(it->second);
  }
  std::optional<unsigned> getFused(Value value) {
    std::optional<unsigned> group = getGroup(value);
    if (!group)
      return std::nullopt;
    return plan.products[*group].fused;
  }
  bool groupReaches(unsigned from, unsigned to);
  bool fusedReaches(unsigned from, unsigned to);

  GraphOp graph;
  FusionPlan plan;
  llvm::SetVector<Operation *> live;

  /// Product indices, merged into the groups that become one fused op.
  llvm::EquivalenceClasses<unsigned> groups;
  /// Product index of values that depend on a product directly.
  llvm::DenseMap<Value, unsigned> homes;
  /// Groups whose sums or whole results a value without a home reads.
  llvm::DenseMap<Value, llvm::SmallSetVector<unsigned, 2>> needs;
  llvm::DenseMap<Operation *, SumHost> sumHosts;
  /// Pairs (producer, consumer) of product indices.
  llvm::SetVector<std::pair<unsigned, unsigned>> groupEdges;
  /// Why products that met in an op were not merged.
  llvm::MapVector<Operation *, std::string> mergeFailures;

  /// Results that hold a value; for one with a home there is one place only.
  llvm::DenseMap<Value, SmallVector<PlannedResult>> stored;
  /// Values without a home that must be stored.
  SmallVector<std::pair<PlannedProduct *, Side>> freeOperands;
  SmallVector<unsigned> freeOutputs;
  llvm::MapVector<std::pair<Value, Type>, PlannedResult> sums;
  /// Yielded values whose region is yet to be walked.
  std::deque<std::tuple<unsigned, Value, Operation *>> worklist;
  llvm::DenseSet<std::tuple<unsigned, Value, unsigned>> visited;
  /// Fused ops that evaluate an elementwise op.
  llvm::DenseMap<Operation *, llvm::SmallSetVector<unsigned, 2>> evaluatedIn;
};
} // namespace

//===----------------------------------------------------------------------===//
// Step 1: products and what they read
//===----------------------------------------------------------------------===//

LogicalResult FusionPlanner::checkPreconditions() {
  for (Operation &op : graph.getBody().front()) {
    if (isa<LaunchOp>(op))
      return op.emitOpError("stands in a graph that is to be fused; a graph is "
                            "fused once");
    if (isSugar(&op))
      return op.emitOpError("is sugar, which fusion does not take; run "
                            "backfuse-expand-sugar before");
    for (Value operand : op.getOperands())
      if (isa<BlockArgument>(operand) && operand.getType().isInteger(1))
        return op.emitOpError("reads a bool parameter, which fusion does not "
                              "take; run backfuse-specialize before");
  }
  return success();
}

void FusionPlanner::collectLiveOps() {
  SmallVector<Operation *> pending = {graph.getOutput()};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!op || !seen.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      pending.push_back(operand.getDefiningOp());
  }
  for (Operation &op : graph.getBody().front())
    if (seen.contains(&op) && !isa<OutputOp>(op))
      live.insert(&op);
}

/// Fills in the layout of an operand, from the axes that the product contracts.
LogicalResult FusionPlanner::planOperand(PlannedProduct &product, Side side) {
  bool isA = side == Side::A;
  Value operand = isA ? product.op.getA() : product.op.getB();
  ArrayRef<int64_t> axes =
      isA ? product.op.getAContract() : product.op.getBContract();
  RankedTensorType type = getTensorType(operand);
  int64_t rank = type.getRank(), count = axes.size();
  // The axes increase, so its ends tell whether they are the first or last
  // ones.
  bool leads = axes.back() == count - 1;
  assert((leads || axes.front() == rank - count) && "(C4) of mlp.matmul");
  int64_t split = leads ? count : rank - count;
  std::optional<Extent> first = getExtentOfAxes(type, 0, split);
  std::optional<Extent> second = getExtentOfAxes(type, split, rank);
  if (!first || !second)
    return product.op.emitOpError("has an operand ")
           << stringifySide(side) << " of more than 2^63 elements";
  (isA ? product.m : product.n) = leads ? *second : *first;
  product.k = leads ? *first : *second;
  (isA ? product.aMajor : product.bMajor) =
      leads ? Major::MnMajor : Major::KMajor;
  Value root = stripExact(operand);
  if (!getMatrixSplit(getTensorType(root), *first, *second))
    return product.op.emitOpError("reads operand ")
           << stringifySide(side) << " as a matrix of "
           << getSpace(*first, *second) << " through a reshape of "
           << root.getType() << " that cuts an axis, which is not supported; "
           << "declare the input in the shape that the product reads";
  (isA ? product.a : product.b) = root;
  return success();
}

LogicalResult FusionPlanner::collectProducts() {
  for (Operation *op : live) {
    auto matmul = dyn_cast<MatmulOp>(op);
    if (!matmul)
      continue;
    PlannedProduct product;
    product.op = matmul;
    if (failed(planOperand(product, Side::A)) ||
        failed(planOperand(product, Side::B)))
      return failure();
    Type a = getElementTypeOrSelf(product.a);
    Type b = getElementTypeOrSelf(product.b);
    if (a.isF32() || b.isF32())
      product.precision = matmul.getPrecisionAttr();
    else if (a != b)
      return matmul.emitOpError("multiplies ")
             << a << " by " << b
             << " values, for which there is no tensor-core instruction; cast "
                "one operand outside the graph";
    plan.products.push_back(product);
  }
  if (plan.products.empty())
    return graph.emitOpError("holds no product that an output needs, and there "
                             "are kernels for products and work around them "
                             "only");
  return success();
}

//===----------------------------------------------------------------------===//
// Step 2: homes
//===----------------------------------------------------------------------===//

bool FusionPlanner::groupReaches(unsigned from, unsigned to) {
  from = groups.getLeaderValue(from), to = groups.getLeaderValue(to);
  SmallVector<unsigned> pending = {from};
  llvm::DenseSet<unsigned> seen;
  while (!pending.empty()) {
    unsigned group = pending.pop_back_val();
    for (auto [producer, consumer] : groupEdges) {
      unsigned next = groups.getLeaderValue(consumer);
      if (groups.getLeaderValue(producer) != group || next == group)
        continue;
      if (next == to)
        return true;
      if (seen.insert(next).second)
        pending.push_back(next);
    }
  }
  return false;
}

/// Whether `op` uses a result of `on`, directly or not.
bool FusionPlanner::dependsOn(Operation *op, Operation *on) {
  SmallVector<Operation *> pending = {op};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *next = pending.pop_back_val();
    if (!next || !seen.insert(next).second)
      continue;
    if (next == on)
      return true;
    for (Value operand : next->getOperands())
      pending.push_back(operand.getDefiningOp());
  }
  return false;
}

/// Merges the groups in `homes`, those that `op` brings together, as far as
/// they have one space and none depends on another one.
void FusionPlanner::mergeHomes(Operation *op,
                               SmallVectorImpl<unsigned> &candidates) {
  SmallVector<unsigned> kept;
  for (unsigned candidate : candidates) {
    bool merged = false;
    for (unsigned &other : kept) {
      const PlannedProduct &a = plan.products[other];
      const PlannedProduct &b = plan.products[candidate];
      if (a.m != b.m || a.n != b.n) {
        mergeFailures[op] =
            "the products that meet here have different spaces, " +
            getSpace(a.m, a.n) + " and " + getSpace(b.m, b.n);
        continue;
      }
      if (groupReaches(other, candidate) || groupReaches(candidate, other)) {
        mergeFailures[op] =
            "of the products that meet here one depends on the other";
        continue;
      }
      groups.unionSets(other, candidate);
      other = groups.getLeaderValue(candidate);
      merged = true;
      break;
    }
    if (!merged)
      kept.push_back(candidate);
  }
  candidates.assign(kept.begin(), kept.end());
}

/// Chooses where the sum of a value that depends on no product is computed:
/// with a product that contracts the value along the same axes, or else in the
/// space of a product of the same extents.
LogicalResult FusionPlanner::assignSumHost(SumOp sum,
                                           ArrayRef<unsigned> needed) {
  Value root = stripExact(sum.getX());
  RankedTensorType type = getTensorType(sum.getX());
  int64_t rank = type.getRank(), count = sum.getAxes().size();
  bool leads = sum.getAxes().back() == count - 1 && count < rank;
  if (!leads)
    return sum.emitOpError(
        "sums axes other than leading ones of a value that no "
        "product yields; such sums are not supported: sum "
        "outside the graph");
  std::optional<Extent> rows = getExtentOfAxes(type, 0, count);
  std::optional<Extent> columns = getExtentOfAxes(type, count, rank);
  auto canHost = [&](unsigned index) {
    return !dependsOn(plan.products[index].op, sum) &&
           llvm::none_of(needed, [&](unsigned group) {
             return groups.isEquivalent(index, group) ||
                    groupReaches(index, group);
           });
  };
  unsigned numProducts = plan.products.size();
  for (unsigned index = 0; index < numProducts; ++index) {
    const PlannedProduct &product = plan.products[index];
    if (product.k != rows || !canHost(index))
      continue;
    bool isA = product.a == root && product.aMajor == Major::MnMajor &&
               product.m == columns;
    bool isB = product.b == root && product.bMajor == Major::MnMajor &&
               product.n == columns;
    if (isA || isB) {
      sumHosts[sum] = SumHost{index, isA ? Side::A : Side::B};
      return success();
    }
  }
  for (unsigned index = 0; index < numProducts; ++index) {
    const PlannedProduct &product = plan.products[index];
    if (product.m == rows && product.n == columns && canHost(index)) {
      sumHosts[sum] = SumHost{index, std::nullopt};
      return success();
    }
  }
  return sum.emitOpError("rides nowhere: its operand depends on no product, no "
                         "product contracts it along the summed axes, and none "
                         "has the space ")
         << getSpace(*rows, *columns) << "; sum it outside the graph";
}

LogicalResult FusionPlanner::assignHome(Operation *op) {
  Value result = op->getResult(0);
  // What the op reads: values with a home, and what values without one need.
  SmallVector<unsigned> candidates;
  llvm::SmallSetVector<unsigned, 2> needed;
  for (Value operand : op->getOperands()) {
    Value root =
        isa<MatmulOp>(op) ? stripExact(operand) : stripReshapes(operand);
    if (SumOp sum = getSum(root)) {
      if (std::optional<unsigned> group = getGroup(sum.getResult()))
        needed.insert(*group);
    } else if (std::optional<unsigned> group = getGroup(root)) {
      if (!llvm::is_contained(candidates, *group))
        candidates.push_back(*group);
    } else {
      needed.insert_range(needs.lookup(root));
    }
  }

  if (auto sum = dyn_cast<SumOp>(op)) {
    // A sum has a home, too, but is read as a whole.
    if (candidates.empty()) {
      if (failed(assignSumHost(sum, needed.getArrayRef())))
        return failure();
      candidates.push_back(sumHosts[sum].product);
    }
    homes[result] = candidates.front();
    for (unsigned producer : needed)
      groupEdges.insert({producer, homes[result]});
    return success();
  }
  if (isa<MatmulOp>(op)) {
    unsigned product =
        llvm::find_if(plan.products,
                      [&](const auto &p) { return p.op == op; }) -
        plan.products.begin();
    homes[result] = product;
    needed.insert_range(candidates);
    for (unsigned producer : needed)
      groupEdges.insert({producer, product});
    return success();
  }
  if (isa<BroadcastOp>(op)) {
    // Reads its operand as a whole: the space changes.
    needed.insert_range(candidates);
    candidates.clear();
  }
  if (candidates.empty()) {
    if (!needed.empty())
      needs[result] = needed;
    return success();
  }

  mergeHomes(op, candidates);
  // Of several groups the op lives in one that no other one waits for.
  unsigned *home = llvm::find_if(candidates, [&](unsigned group) {
    return llvm::none_of(candidates, [&](unsigned other) {
      return other != group && groupReaches(group, other);
    });
  });
  homes[result] = *home;
  for (unsigned producer : needed)
    if (groups.isEquivalent(producer, *home) || groupReaches(*home, producer))
      return op->emitOpError(
          "reads a sum or broadcast of values that depend on "
          "the product it follows, so that it needs a pass "
          "over them of its own, without a product; such work "
          "is not supported: do it outside the graph");
  needed.insert_range(candidates);
  for (unsigned producer : needed)
    if (!groups.isEquivalent(producer, *home))
      groupEdges.insert({producer, *home});
  return success();
}

LogicalResult FusionPlanner::assignHomes() {
  for (unsigned i = 0, e = plan.products.size(); i < e; ++i)
    groups.insert(i);
  for (Operation *op : live) {
    if (isa<CollapseOp, ExpandOp, arith::ConstantOp>(op))
      continue;
    if (!isa<MatmulOp, SumOp, BroadcastOp>(op) && !isElementwise(op))
      return op->emitOpError("is not an op that fusion knows");
    if (isa<arith::TruncFOp>(op) && getSum(op->getResult(0)))
      continue; // The sum, rounded to this type.
    if (failed(assignHome(op)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Step 3: what is stored, loaded and summed where
//===----------------------------------------------------------------------===//

void FusionPlanner::createFused() {
  llvm::DenseMap<unsigned, unsigned> fusedOf;
  for (auto [index, product] : llvm::enumerate(plan.products)) {
    auto [it, isNew] =
        fusedOf.try_emplace(groups.getLeaderValue(index), plan.fused.size());
    if (isNew) {
      PlannedFused &fused = plan.fused.emplace_back();
      fused.m = product.m;
      fused.n = product.n;
    }
    product.fused = it->second;
    plan.fused[it->second].products.push_back(index);
  }
  for (PlannedFused &fused : plan.fused)
    shareAccumulators(fused);
}

/// Gives each product an accumulator. Products that are f32 and only added to
/// each other share one: `D0 + D1` is one accumulation over both k.
void FusionPlanner::shareAccumulators(PlannedFused &fused) {
  llvm::MapVector<Value, SmallVector<unsigned>> partsOf;
  for (unsigned index : fused.products)
    partsOf[plan.products[index].op.getResult()] = {index};
  for (Operation *op : live) {
    auto add = dyn_cast<arith::AddFOp>(op);
    if (!add || !getElementTypeOrSelf(add.getType()).isF32())
      continue;
    Value a = stripReshapes(add.getLhs()), b = stripReshapes(add.getRhs());
    // Reshapes between would hide further uses.
    if (a != add.getLhs() || b != add.getRhs() || a == b || !a.hasOneUse() ||
        !b.hasOneUse() || !partsOf.contains(a) || !partsOf.contains(b))
      continue;
    SmallVector<unsigned> parts = partsOf[a];
    parts.append(partsOf[b]);
    partsOf.erase(a);
    partsOf.erase(b);
    partsOf[add.getResult()] = parts;
  }
  for (auto &[value, parts] : partsOf) {
    for (unsigned index : parts)
      plan.products[index].accumulator = fused.numAccumulators;
    fused.accumulatorOf[value] = fused.numAccumulators++;
  }
}

bool FusionPlanner::fusedReaches(unsigned from, unsigned to) {
  if (from == to)
    return true;
  return llvm::any_of(plan.fused[to].producers, [&](unsigned producer) {
    return fusedReaches(from, producer);
  });
}

/// Records that `consumer` reads a result of `producer`.
LogicalResult FusionPlanner::addEdge(unsigned producer, unsigned consumer,
                                     Operation *user) {
  if (fusedReaches(consumer, producer))
    return user->emitOpError(
        "needs values of a launch that waits for its own; no "
        "order of launches computes this");
  plan.fused[consumer].producers.insert(producer);
  return success();
}

PlannedResult FusionPlanner::requestStore(unsigned fused, Value root,
                                          RankedTensorType type) {
  SmallVector<PlannedYield> &yields = plan.fused[fused].yields;
  PlannedResult result{fused, false, static_cast<unsigned>(yields.size())};
  yields.push_back({YieldKind::Store, root, type});
  stored[root].push_back(result);
  worklist.push_back({fused, root, root.getDefiningOp()});
  return result;
}

FailureOr<PlannedResult> FusionPlanner::requestSumOverM(SumOp sum,
                                                        unsigned fused,
                                                        RankedTensorType type) {
  PlannedFused &planned = plan.fused[fused];
  RankedTensorType from = getTensorType(sum.getX());
  int64_t count = sum.getAxes().size();
  if (count == from.getRank())
    return sum.emitOpError("sums all elements, which is not supported yet; sum "
                           "over the leading axes, and the rest outside the "
                           "graph");
  if (sum.getAxes().back() != count - 1 ||
      getExtentOfAxes(from, 0, count) != planned.m ||
      getExtentOfAxes(from, count, from.getRank()) != planned.n)
    return sum.emitOpError("does not sum the rows of the product's ")
           << getSpace(planned.m, planned.n)
           << " space; only sums over all its leading axes are supported yet";
  Value root = stripReshapes(sum.getX());
  PlannedResult result{fused, false,
                       static_cast<unsigned>(planned.yields.size())};
  planned.yields.push_back({YieldKind::SumM, root, type});
  worklist.push_back({fused, root, sum});
  return result;
}

FailureOr<PlannedResult> FusionPlanner::requestSum(SumOp sum,
                                                   RankedTensorType type) {
  std::optional<unsigned> fused = getFused(sum.getResult());
  auto host = sumHosts.find(sum);
  if (host == sumHosts.end() || !host->second.operand)
    return requestSumOverM(sum, *fused, type);
  PlannedFused &planned = plan.fused[*fused];
  unsigned contraction = llvm::find(planned.products, host->second.product) -
                         planned.products.begin();
  PlannedResult result{*fused, true,
                       static_cast<unsigned>(planned.operandSums.size())};
  planned.operandSums.push_back({contraction, *host->second.operand, type});
  return result;
}

/// The result that holds `value`, which is `sum` rounded to its element type.
FailureOr<PlannedResult> FusionPlanner::getSumResult(SumOp sum, Value value) {
  std::pair<Value, Type> key(value, getElementTypeOrSelf(value));
  auto it = sums.find(key);
  if (it != sums.end())
    return it->second;
  FailureOr<PlannedResult> result = requestSum(sum, getTensorType(value));
  if (succeeded(result))
    sums.insert({key, *result});
  return result;
}

LogicalResult FusionPlanner::requestOutputs() {
  OutputOp output = graph.getOutput();
  plan.outputs.resize(output.getNumOperands());
  for (auto [index, value] : llvm::enumerate(output.getOperands())) {
    Value root = stripReshapes(value);
    RankedTensorType type = getTensorType(value);
    if (SumOp sum = getSum(root)) {
      FailureOr<PlannedResult> result = requestSum(sum, type);
      if (failed(result))
        return failure();
      plan.outputs[index] = *result;
      // Another output of the same sum gets a result of its own.
      sums.insert({{root, type.getElementType()}, *result});
    } else if (std::optional<unsigned> fused = getFused(root)) {
      plan.outputs[index] = requestStore(*fused, root, type);
    } else if (isa<BlockArgument>(root) || getScalarConstant(root)) {
      return output.emitOpError("names the output \"")
             << output.getName(index)
             << "\" for what nothing computes: an input or a constant; a "
                "launch "
                "does not copy";
    } else {
      freeOutputs.push_back(index);
    }
  }
  return success();
}

/// The result that holds a value with a home or of a sum.
FailureOr<PlannedResult> FusionPlanner::getStored(Value root) {
  if (SumOp sum = getSum(root))
    return getSumResult(sum, root);
  auto it = stored.find(root);
  if (it != stored.end())
    return it->second.front();
  return requestStore(*getFused(root), root, getTensorType(root));
}

LogicalResult FusionPlanner::requestOperands() {
  for (PlannedProduct &product : plan.products)
    for (Side side : {Side::A, Side::B}) {
      Value root = side == Side::A ? product.a : product.b;
      if (isa<BlockArgument>(root))
        continue;
      if (getScalarConstant(root))
        return product.op.emitOpError("multiplies a constant; pass the tensor "
                                      "as an input");
      if (!getSum(root) && !getFused(root)) {
        freeOperands.push_back({&product, side});
        continue;
      }
      FailureOr<PlannedResult> from = getStored(root);
      if (failed(from) ||
          failed(addEdge(from->fused, product.fused, product.op)))
        return failure();
      (side == Side::A ? product.aFrom : product.bFrom) = *from;
    }
  return success();
}

/// Finds a fused op of `value`'s space to compute and store it, one that does
/// not wait for `consumer`.
FailureOr<unsigned> FusionPlanner::findRide(Value value,
                                            std::optional<unsigned> consumer,
                                            Operation *user) {
  RankedTensorType type = getTensorType(value);
  auto needed = needs.lookup(value);
  for (auto [index, fused] : llvm::enumerate(plan.fused)) {
    unsigned candidate = index;
    if (!getMatrixSplit(type, fused.m, fused.n) ||
        (consumer && fusedReaches(*consumer, candidate)))
      continue;
    if (llvm::none_of(needed, [&](unsigned group) {
          return fusedReaches(candidate, plan.products[group].fused);
        }))
      return candidate;
  }
  InFlightDiagnostic diag = user->emitOpError(consumer ? "multiplies" : "is");
  if (!needed.empty())
    diag << " a value of sums, which no epilogue can compute after them; "
            "compute it outside the graph";
  else if (consumer)
    diag << " a value that depends on no product, and no product of its space "
            "comes before to compute it; compute it outside the graph and pass "
            "it as an input";
  else
    diag << " an output that depends on no product, and no product has its "
            "space; compute it outside the graph";
  if (consumer && value.getDefiningOp())
    diag.attachNote(value.getLoc()) << "the value is computed here";
  return diag;
}

/// Places the values without a home that must be stored, now that the order of
/// the others is known: first those whose readers must come later.
LogicalResult FusionPlanner::requestFree() {
  for (auto [product, side] : freeOperands) {
    Value root = side == Side::A ? product->a : product->b;
    const PlannedResult *known =
        llvm::find_if(stored[root], [&](const PlannedResult &result) {
          return !fusedReaches(product->fused, result.fused);
        });
    PlannedResult from;
    if (known != stored[root].end()) {
      from = *known;
    } else {
      FailureOr<unsigned> fused = findRide(root, product->fused, product->op);
      if (failed(fused))
        return failure();
      from = requestStore(*fused, root, getTensorType(root));
    }
    (side == Side::A ? product->aFrom : product->bFrom) = from;
    if (failed(addEdge(from.fused, product->fused, product->op)) ||
        failed(drain()))
      return failure();
  }
  for (unsigned index : freeOutputs) {
    Value value = graph.getOutput()->getOperand(index);
    Value root = stripReshapes(value);
    FailureOr<unsigned> fused =
        findRide(root, std::nullopt, root.getDefiningOp());
    if (failed(fused))
      return failure();
    plan.outputs[index] = requestStore(*fused, root, getTensorType(value));
    if (failed(drain()))
      return failure();
  }
  return success();
}

/// Records an element operand.
LogicalResult FusionPlanner::load(unsigned fused, Value value, ElementKind kind,
                                  std::optional<PlannedResult> from,
                                  Operation *user) {
  PlannedFused &planned = plan.fused[fused];
  if (kind == ElementKind::Scalar ? !value.getType().isF32()
                                  : !isa<RankedTensorType>(value.getType()))
    return user->emitOpError("reads a value of type ")
           << value.getType()
           << " per launch, where only f32 parameters are supported yet";
  if (kind == ElementKind::Element &&
      !getMatrixSplit(getTensorType(value), planned.m, planned.n))
    return user->emitOpError("reads ")
           << value.getType() << " through a reshape that cuts an axis of the "
           << "product's " << getSpace(planned.m, planned.n)
           << " space, which is not supported";
  if (from && failed(addEdge(from->fused, fused, user)))
    return failure();
  planned.loads.insert({{value, kind}, from});
  return success();
}

/// Walks what the region of `fused` evaluates to get `value`, down to its
/// accumulators and element operands.
LogicalResult FusionPlanner::visit(unsigned fused, Value value,
                                   ElementKind kind, Operation *user) {
  value = stripReshapes(value);
  if (!visited.insert({fused, value, static_cast<unsigned>(kind)}).second ||
      getScalarConstant(value))
    return success();
  if (isa<BlockArgument>(value))
    return load(fused, value, kind, std::nullopt, user);
  if (SumOp sum = getSum(value)) {
    FailureOr<PlannedResult> result = getSumResult(sum, value);
    if (failed(result))
      return failure();
    return load(fused, value, kind, *result, user);
  }
  Operation *op = value.getDefiningOp();
  std::optional<unsigned> home = getFused(value);
  if (home && (*home != fused || kind != ElementKind::Element)) {
    if (!isa<FloatType>(getElementTypeOrSelf(value)))
      return op->emitOpError(
          "is needed by two launches, and comparisons cannot "
          "be stored");
    FailureOr<PlannedResult> from = getStored(value);
    if (failed(from))
      return failure();
    return load(fused, value, kind, *from, user);
  }
  if (home && plan.fused[fused].accumulatorOf.contains(value))
    return success();
  evaluatedIn[op].insert(fused);
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    const PlannedFused &planned = plan.fused[fused];
    std::optional<ElementKind> inner =
        getBroadcastKind(broadcast, kind, planned.m, planned.n);
    if (!inner)
      return op->emitOpError("repeats its operand along other axes than all "
                             "leading or all trailing ones of the product's ")
             << getSpace(planned.m, planned.n)
             << " space, which is not supported";
    return visit(fused, broadcast.getX(), *inner, op);
  }
  for (Value operand : op->getOperands())
    if (failed(visit(fused, operand, kind, op)))
      return failure();
  return success();
}

LogicalResult FusionPlanner::drain() {
  while (!worklist.empty()) {
    auto [fused, value, user] = worklist.front();
    worklist.pop_front();
    if (failed(visit(fused, value, ElementKind::Element, user)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Step 4: launches
//===----------------------------------------------------------------------===//

/// Puts each fused op into the earliest launch that it can be in: the launch
/// after the last one that it reads from. Another policy (balancing the work of
/// launches) belongs here.
void FusionPlanner::assignLaunches() {
  std::function<unsigned(unsigned)> getDepth = [&](unsigned fused) {
    unsigned depth = 0;
    for (unsigned producer : plan.fused[fused].producers)
      depth = std::max(depth, getDepth(producer) + 1);
    return depth;
  };
  for (auto [index, fused] : llvm::enumerate(plan.fused)) {
    fused.launch = getDepth(index);
    if (plan.launches.size() <= fused.launch)
      plan.launches.resize(fused.launch + 1);
    fused.place = plan.launches[fused.launch].size();
    plan.launches[fused.launch].push_back(index);
  }
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

std::string FusionPlanner::getPlace(unsigned fused) {
  const PlannedFused &planned = plan.fused[fused];
  return "launch " + std::to_string(planned.launch) + ", fused op " +
         std::to_string(planned.place);
}

/// Where a live op went.
std::string FusionPlanner::describePlace(Operation *op) {
  Value result = op->getResult(0);
  if (isa<MatmulOp>(op)) {
    const PlannedProduct &product = *llvm::find_if(
        plan.products, [&](const auto &p) { return p.op == op; });
    return "product of " + getSpace(product.m, product.n) + " over " +
           product.k.str() + " in accumulator " +
           std::to_string(product.accumulator) + " of " +
           getPlace(product.fused);
  }
  if (SumOp sum = getSum(result)) {
    std::string place = getPlace(*getFused(sum.getResult()));
    auto host = sumHosts.find(sum);
    if (host == sumHosts.end())
      return "sum over m in the epilogue of " + place;
    if (host->second.operand)
      return "rides on the loads of a product in " + place;
    return "sum over m in the epilogue of " + place +
           ", which loads the value for it: no product contracts it along the "
           "summed axes";
  }
  SmallVector<unsigned> places =
      llvm::to_vector(evaluatedIn.lookup(op).getArrayRef());
  if (places.empty())
    return getFused(result)
               ? "in the accumulator of " + getPlace(*getFused(result))
               : "folded into what reads it";
  llvm::sort(places, [&](unsigned a, unsigned b) {
    return std::pair(plan.fused[a].launch, plan.fused[a].place) <
           std::pair(plan.fused[b].launch, plan.fused[b].place);
  });
  std::string note = getFused(result) ? "in the epilogue of " : "computed in ";
  note += getPlace(places.front());
  for (unsigned fused : llvm::drop_begin(places))
    note += " and again in " + getPlace(fused);
  return note;
}

/// Why a value was stored although it is no output; empty if it was not.
std::string FusionPlanner::describeStore(Value value) {
  SmallVector<std::string> readers;
  for (auto [index, fused] : llvm::enumerate(plan.fused)) {
    bool multiplies = llvm::any_of(fused.products, [&](unsigned product) {
      return plan.products[product].a == value ||
             plan.products[product].b == value;
    });
    bool loads = llvm::any_of(fused.loads, [&](const auto &entry) {
      return entry.first.first == value;
    });
    if (multiplies)
      readers.push_back(getPlace(index) +
                        ", whose product reads whole rows of it");
    else if (loads)
      readers.push_back(getPlace(index));
  }
  if (readers.empty())
    return "";
  return "; not fused further but stored for " +
         llvm::join(readers, " and for ");
}

/// Says of each op where it went, and what was not fused and why.
void FusionPlanner::writeNotes() {
  for (Operation &op : graph.getBody().front()) {
    if (isa<CollapseOp, ExpandOp, arith::ConstantOp, OutputOp>(op))
      continue;
    if (!live.contains(&op)) {
      plan.notes.push_back({&op, "dropped: no output needs it"});
      continue;
    }
    std::string note = describePlace(&op) + describeStore(op.getResult(0));
    auto merge = mergeFailures.find(&op);
    if (merge != mergeFailures.end())
      note += "; not one fused op: " + merge->second;
    plan.notes.push_back({&op, note});
  }
}

FailureOr<FusionPlan> FusionPlanner::run() {
  if (failed(checkPreconditions()))
    return failure();
  collectLiveOps();
  if (failed(collectProducts()) || failed(assignHomes()))
    return failure();
  createFused();
  if (failed(requestOutputs()) || failed(requestOperands()) ||
      failed(drain()) || failed(requestFree()) || failed(drain()))
    return failure();
  assignLaunches();
  writeNotes();
  return std::move(plan);
}

FailureOr<FusionPlan> backfuse::planFusion(GraphOp graph) {
  return FusionPlanner(graph).run();
}
