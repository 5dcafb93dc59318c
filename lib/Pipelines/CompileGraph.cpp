//===- CompileGraph.cpp - From a graph to kernels and a bundle ------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "backfuse/Pipelines/CompileGraph.h"
#include "backfuse/Pipelines/Pipelines.h"
#include "backfuse/Pipelines/RunPipeline.h"
#include "backfuse/Target/Bundle/GraphExport.h"
#include "backfuse/Target/Bundle/PlanExport.h"
#include "backfuse/Transforms/Transforms.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/WithColor.h"

#include "runtime/bundle_generated.h"

using namespace mlir;
using namespace backfuse;

/// The graph of the module; an error unless there is one and nothing else.
static FailureOr<mlp::GraphOp> findGraph(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (!isa<mlp::GraphOp>(op))
      return op.emitOpError(
          "stands beside a graph; a file to compile holds one "
          "graph and nothing else");
  auto graphs = llvm::to_vector(module.getOps<mlp::GraphOp>());
  if (graphs.size() > 1) {
    InFlightDiagnostic diag = graphs[1].emitOpError(
        "is the second graph of the file; a bundle holds one");
    diag.attachNote(graphs[0].getLoc()) << "the first is here";
    return failure();
  }
  return graphs.front();
}

FailureOr<std::vector<GraphKernels>>
backfuse::lowerGraph(ModuleOp module, const CompileOptions &options) {
  if (failed(findGraph(module)))
    return failure();
  std::vector<GraphKernels> all;
  StringRef precision = options.matmulPrecision
                            ? stringifyMatmulPrecision(*options.matmulPrecision)
                            : StringRef();
  for (const arch::Target *target : options.targets) {
    GraphKernels &kernels = all.emplace_back();
    kernels.target = target;
    kernels.module = module.clone();
    auto build = [&](OpPassManager &pm) {
      buildExpandPipeline(pm);
      buildFusePipeline(pm);
      buildTilePipeline(pm, *target, options.tuningFile, precision);
      buildMachinePipeline(pm, *target);
    };
    if (failed(runPipeline(*kernels.module, build, options)))
      return failure();
    for (Operation &op : *kernels.module->getBody())
      if (op.hasAttr("nvvm.kernel"))
        kernels.functions.push_back(&op);
  }
  return std::move(all);
}

/// The kernel with the globals it uses in a module of its own.
static OwningOpRef<ModuleOp> isolate(ModuleOp module, Operation *kernel) {
  OwningOpRef<ModuleOp> result = ModuleOp::create(kernel->getLoc());
  OpBuilder b(result->getBodyRegion());
  for (Operation &op : *module.getBody())
    if (!op.hasAttr("nvvm.kernel") || &op == kernel)
      b.clone(op);
  return result;
}

llvm::Expected<CodegenOptions>
backfuse::makeCodegenOptions(const CompileOptions &options, bool assemble) {
  CodegenOptions codegen;
  codegen.assemble = assemble;
  codegen.jobs = options.jobs;
  codegen.lineInfo = options.lineInfo;
  codegen.allowSpills = options.allowSpills;
  codegen.allowPerformanceLoss = options.allowPerformanceLoss;
  codegen.cacheDir = options.cacheDir;
  codegen.dumpDir = options.dumpDir;
  if (assemble)
    if (llvm::Error error =
            findPtxas(options.ptxasPath).moveInto(codegen.ptxas))
      return std::move(error);
  return codegen;
}

LogicalResult backfuse::compileGraphKernels(std::vector<GraphKernels> &kernels,
                                            const CompileOptions &options,
                                            bool assemble) {
  llvm::Expected<CodegenOptions> codegen =
      makeCodegenOptions(options, assemble);
  if (!codegen) {
    llvm::WithColor::error(llvm::errs(), "kernel-opt")
        << llvm::toString(codegen.takeError()) << "\n";
    return failure();
  }
  SmallVector<KernelJob> jobs;
  for (GraphKernels &target : kernels)
    for (Operation *function : target.functions) {
      ModuleOp module = *target.module;
      auto lower = [module, function]() -> OwningOpRef<ModuleOp> {
        OwningOpRef<ModuleOp> alone = isolate(module, function);
        PassManager pm(alone->getContext());
        buildLlvmPipeline(pm);
        if (failed(pm.run(*alone)))
          return {};
        return alone;
      };
      jobs.push_back({function->getLoc(),
                      SymbolTable::getSymbolName(function).getValue().str(),
                      target.target, lower});
    }
  SmallVector<KernelBinary> binaries;
  if (failed(compileKernels(jobs, *codegen, binaries)))
    return failure();
  unsigned next = 0;
  for (GraphKernels &target : kernels)
    for (unsigned i = 0; i < target.functions.size(); ++i)
      target.binaries.push_back(std::move(binaries[next++]));
  return success();
}

LogicalResult backfuse::buildBundle(ModuleOp module,
                                    const std::vector<GraphKernels> &kernels,
                                    const CompileOptions &options,
                                    bundle::BundleT &bundle) {
  // The graph as written, before anything is folded.
  OwningOpRef<ModuleOp> source = module.clone();
  FailureOr<mlp::GraphOp> graph = findGraph(*source);
  if (failed(graph))
    return failure();
  expandSugar(*graph);
  bundle.graph = std::make_unique<bundle::GraphT>();
  if (failed(exportGraph(*graph, *bundle.graph)))
    return failure();
  for (const GraphKernels &target : kernels) {
    auto part = std::make_unique<bundle::TargetT>();
    part->name = target.target->name.str();
    if (failed(exportPlan(target.functions, bundle, *part)))
      return failure();
    for (auto [i, binary] : llvm::enumerate(target.binaries)) {
      auto code = std::make_unique<bundle::ModuleT>();
      code->cubin.assign(binary.cubin.begin(), binary.cubin.end());
      if (!options.stripPtx)
        code->ptx = binary.ptx;
      part->modules.push_back(std::move(code));
      part->kernels[i]->registers = binary.registers;
    }
    bundle.targets.push_back(std::move(part));
  }
  bundle.provenance = std::make_unique<bundle::ProvenanceT>();
  bundle.provenance->compiler = "backfuse 0.1.0";
  bundle.provenance->llvm = LLVM_VERSION_STRING;
  if (llvm::Expected<Ptxas> ptxas = findPtxas(options.ptxasPath))
    bundle.provenance->ptxas = ptxas->version;
  else
    llvm::consumeError(ptxas.takeError());   // a plan needs none
  bundle.provenance->minimum_driver = 13000; // of cubins that CUDA 13.0 makes
  return success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// An expression with names, fully bracketed.
static std::string print(const bundle::ExprT &expr,
                         const bundle::GraphT &graph) {
  std::vector<std::string> stack;
  auto pop = [&] {
    std::string top = stack.empty() ? "?" : stack.back();
    if (!stack.empty())
      stack.pop_back();
    return top;
  };
  for (const bundle::ExprNode &node : expr.nodes) {
    switch (node.op()) {
    case bundle::ExprOp::Const:
      stack.push_back(std::to_string(node.value()));
      break;
    case bundle::ExprOp::Dim:
      stack.push_back(graph.dims[node.value()]);
      break;
    case bundle::ExprOp::Param:
      stack.push_back(graph.params[node.value()]->name);
      break;
    case bundle::ExprOp::SmCount:
      stack.push_back("SMs");
      break;
    default: {
      std::string rhs = pop(), lhs = pop();
      stack.push_back("(" + lhs + " " + bundle::EnumNameExprOp(node.op()) +
                      " " + rhs + ")");
    }
    }
  }
  return pop();
}

/// The place of a buffer, by the tensor's name.
static std::string print(const bundle::BufferT &buffer,
                         const bundle::GraphT &graph) {
  switch (buffer.space) {
  case bundle::Space::Input:
    return "input " + graph.inputs[buffer.index]->name;
  case bundle::Space::Output:
    return "output " + graph.outputs[buffer.index]->name;
  case bundle::Space::Workspace:
    break;
  }
  return "workspace at " + (buffer.offset ? print(*buffer.offset, graph) : "0");
}

static void print(llvm::raw_ostream &os, const bundle::KernelArgT &argument,
                  const bundle::GraphT &graph) {
  os << "      ";
  switch (argument.kind) {
  case bundle::ArgKind::Map: {
    const bundle::TensorMapT &map = *argument.map;
    os << "map of " << print(*map.buffer, graph) << ": "
       << bundle::EnumNameMapType(map.type) << " ";
    llvm::interleave(
        map.sizes, os, [&](const auto &size) { os << print(*size, graph); },
        " x ");
    os << ", box ";
    llvm::interleave(map.box, os, " x ");
    break;
  }
  case bundle::ArgKind::Pointer:
    os << "pointer to " << print(*argument.buffer, graph);
    break;
  case bundle::ArgKind::Int32:
  case bundle::ArgKind::Int64:
    os << "value " << print(*argument.value, graph);
    break;
  case bundle::ArgKind::Float32:
    os << "parameter " << graph.params[argument.param]->name;
    break;
  case bundle::ArgKind::LaunchTag:
    os << "launch tag";
    break;
  }
  os << "\n";
}

std::string backfuse::printPlan(const bundle::BundleT &bundle) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const bundle::GraphT &graph = *bundle.graph;
  os << "graph " << graph.name << "\n";
  for (const auto &target : bundle.targets) {
    os << "target " << target->name << "\n";
    for (const auto &variant : target->variants) {
      os << "  variant " << variant->name << "\n"
         << "    when " << print(*variant->guard, graph) << "\n"
         << "    workspace " << print(*variant->workspace_bytes, graph)
         << " bytes\n";
      for (const auto &product : variant->products)
        os << "    product at op " << product->op << ": " << product->route
           << "\n";
      for (const auto &step : variant->steps) {
        if (const bundle::KernelLaunchT *launch = step->body.AsKernelLaunch()) {
          const bundle::KernelT &kernel = *target->kernels[launch->kernel];
          os << "    launch " << kernel.name << ": " << kernel.threads
             << " threads, " << kernel.smem_bytes << " bytes of shared memory"
             << (kernel.cluster.empty()
                     ? std::string()
                     : ", clusters of " + std::to_string(kernel.cluster[0]))
             << (launch->cooperative ? ", cooperative" : "")
             << (launch->dependent ? ", dependent" : "") << "\n";
          for (const auto &argument : launch->args)
            print(os, *argument, graph);
        } else if (const bundle::ZeroFillT *fill = step->body.AsZeroFill()) {
          os << "    zero fill " << print(*fill->buffer, graph) << ", "
             << print(*fill->bytes, graph) << " bytes\n";
        }
      }
    }
  }
  for (const auto &refusal : bundle.refusals)
    os << "refused when " << print(*refusal->condition, graph) << ": "
       << refusal->reason << "\n";
  return text;
}
