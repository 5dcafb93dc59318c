//===- PredictPlan.cpp - What the cost model says of a plan ---------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predictions are of launches with schedules, before tile kernels are made of
// them: the pipeline runs that far, on a copy.
//===----------------------------------------------------------------------===//
#include "backfuse/Pipelines/PredictPlan.h"
#include "backfuse/Analysis/CostModel.h"
#include "backfuse/Pipelines/Pipelines.h"
#include "backfuse/Pipelines/PlanCases.h"
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace backfuse;

namespace {
/// What runs in one case.
struct Selection {
  mlp::GraphOp graph;
  tile::RangeAttr range;
};
} // namespace

//===----------------------------------------------------------------------===//
// Selecting
//===----------------------------------------------------------------------===//

/// Whether the bool parameters have the values for which `graph` was made.
static bool meetsAssumptions(mlp::GraphOp graph, const PlanCase &values) {
  DictionaryAttr assumptions = graph.getAssumptionsAttr();
  return !assumptions || llvm::all_of(assumptions, [&](NamedAttribute attr) {
    auto it = values.params.find(attr.getName().str());
    return it != values.params.end() &&
           (it->second != 0) == cast<BoolAttr>(attr.getValue()).getValue();
  });
}

static int64_t countTokens(mlp::GraphOp graph, const PlanCase &values) {
  auto tokens = graph->getAttrOfType<tile::ExprAttr>("tile.tokens");
  SmallVector<Attribute> operands, results;
  for (StringAttr name : tokens.getNames())
    operands.push_back(IntegerAttr::get(IndexType::get(graph.getContext()),
                                        values.dims.at(name.str())));
  if (failed(tokens.getMap().constantFold(operands, results)))
    return -1;
  return cast<IntegerAttr>(results.front()).getInt();
}

/// The variant that the runtime would take; none if no kernel runs.
static std::optional<Selection> select(ModuleOp module,
                                       const PlanCase &values) {
  for (mlp::GraphOp graph : module.getOps<mlp::GraphOp>()) {
    if (!meetsAssumptions(graph, values))
      continue;
    int64_t tokens = countTokens(graph, values);
    for (tile::RangeAttr range : graph->getAttrOfType<ArrayAttr>("tile.ranges")
                                     .getAsRange<tile::RangeAttr>())
      if (range.getFrom() <= tokens &&
          (range.getTo() < 0 || tokens < range.getTo()))
        return Selection{graph, range};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static llvm::format_object<double> one(double value) {
  return llvm::format("%.1f", value);
}

static void printOperations(llvm::raw_ostream &os, const KernelCost &kernel) {
  StringRef separator;
  for (auto [count, name] : {std::make_pair(kernel.bf16Operations, "bf16"),
                             std::make_pair(kernel.f16Operations, "fp16"),
                             std::make_pair(kernel.tf32Operations, "tf32")}) {
    if (count == 0)
      continue;
    os << separator << int64_t(count) << " " << name;
    separator = ", ";
  }
  if (separator.empty())
    os << "none";
  else
    os << ", of whole tiles " << int64_t(kernel.tileOperations);
}

static void print(llvm::raw_ostream &os, const KernelCost &kernel) {
  os << "    launch " << kernel.name << ": " << one(kernel.microseconds)
     << " us, bound by " << stringifyBound(kernel.bound) << "\n"
     << "      bytes " << int64_t(kernel.bytesRead) << " read, "
     << int64_t(kernel.bytesWritten) << " written; operations ";
  printOperations(os, kernel);
  os << "\n";
  if (kernel.units)
    os << "      units " << kernel.units << " on " << kernel.ctas << " SMs, "
       << llvm::format("%.2f", kernel.waves()) << " waves, busiest "
       << llvm::format("%.2f", kernel.imbalance) << " of the average\n";
  os << "      us: launch " << one(kernel.launchMicroseconds)
     << ", and the larger of device memory " << one(kernel.memoryMicroseconds)
     << " and tensor core " << one(kernel.tensorMicroseconds) << " + L2 "
     << one(kernel.l2Microseconds) << " + drain "
     << one(kernel.drainMicroseconds) << " + hand-over "
     << one(kernel.handOverMicroseconds) << "\n";
}

/// Prints one case and returns its microseconds.
static double print(llvm::raw_ostream &os, ModuleOp module,
                    const arch::Rates &rates, const PlanCase &values) {
  std::optional<Selection> selection = select(module, values);
  std::string name = values.str();
  os << "  case " << (name.empty() ? "fixed extents" : name) << ": ";
  if (!selection) {
    os << "no kernel runs\n";
    return 0;
  }
  TileConfig config = readConfig(selection->graph);
  SmallVector<KernelCost> kernels = predictKernels(
      selection->graph, config, rates,
      [&](const mlp::Extent &extent) { return values.valueOf(extent); },
      selection->range.getSplits());
  double total = totalMicroseconds(kernels);
  os << one(total) << " us with tiles of " << config.tileM * config.ctaGroup
     << "x" << config.tileN << "x" << config.tileK << ", splits ";
  llvm::interleave(selection->range.getSplits(), os, "/");
  os << "\n";
  for (const KernelCost &kernel : kernels)
    print(os, kernel);
  return total;
}

//===----------------------------------------------------------------------===//
// Predicting
//===----------------------------------------------------------------------===//

static llvm::Expected<SmallVector<PlanCase>>
collectCases(mlp::GraphOp graph, const CompileOptions &options) {
  if (!options.casesFile.empty())
    return readPlanCases(graph, options.casesFile);
  llvm::Expected<PlanCase> values =
      parsePlanCase(graph, options.dims, options.params);
  if (!values)
    return values.takeError();
  return SmallVector<PlanCase>{std::move(*values)};
}

FailureOr<std::string> backfuse::predictPlan(ModuleOp module,
                                             const CompileOptions &options) {
  mlp::GraphOp graph = *module.getOps<mlp::GraphOp>().begin();
  auto cases = collectCases(graph, options);
  if (!cases) {
    llvm::WithColor::error(llvm::errs(), "kernel-opt")
        << llvm::toString(cases.takeError()) << "\n";
    return failure();
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const arch::Target *target : options.targets) {
    OwningOpRef<ModuleOp> copy = module.clone();
    PassManager pm(module.getContext());
    buildSchedulePipeline(
        pm, *target, options.tuningFile,
        options.matmulPrecision
            ? stringifyMatmulPrecision(*options.matmulPrecision)
            : StringRef());
    if (failed(pm.run(*copy)))
      return failure();
    const arch::Rates &rates = arch::getRates(target->name);
    os << "prediction for " << target->name << " on one " << rates.device
       << (rates.measured ? " (rates fitted to measured times)"
                          : " (rates from published figures, not measured)")
       << "\n";
    double sum = 0;
    for (const PlanCase &values : *cases)
      sum += print(os, *copy, rates, values);
    os << "  mean of " << cases->size()
       << " case(s): " << one(sum / cases->size()) << " us\n";
  }
  return text;
}
