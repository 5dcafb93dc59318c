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

namespace {
/// Expressions and buffers of one variant as text.
class PlanPrinter {
public:
  PlanPrinter(const bundle::GraphT &graph) : graph(graph) {}

  /// With the graph's names and operators in MLIR's words.
  std::string print(const bundle::ExprT &expr) const {
    return format(expr).full;
  }
  /// The same for bytes of workspace: from a part that has a name.
  std::string printOffset(const bundle::ExprT &expr) const {
    return format(expr).named;
  }
  /// The place of a buffer, by the tensor's name or the part of the workspace.
  std::string print(const bundle::BufferT &buffer) const;
  /// Names the part of the workspace that begins at `offset`, if it has none.
  void namePart(const bundle::ExprT &offset);
  /// A line for each part: where it begins.
  void printParts(llvm::raw_ostream &os) const;

private:
  const bundle::GraphT &graph;
  /// From an offset to the name of the part; names and where they begin, in
  /// order.
  std::map<std::string, std::string> parts;
  std::vector<std::pair<std::string, std::string>> definitions;

  /// How an expression binds; and its text without and with names of parts.
  static constexpr int atom = 9;
  struct Text {
    int precedence;
    bundle::ExprOp op;
    std::string full, named;
  };
  Text format(const bundle::ExprT &expr) const;
  Text combine(bundle::ExprOp op, const Text &lhs, const Text &rhs) const;
};
} // namespace

/// An operator's word and how strongly it binds; calls have no word.
static std::pair<StringRef, int> operatorOf(bundle::ExprOp op) {
  switch (op) {
  case bundle::ExprOp::Add:
    return {"+", 4};
  case bundle::ExprOp::Sub:
    return {"-", 4};
  case bundle::ExprOp::Mul:
    return {"*", 5};
  case bundle::ExprOp::FloorDiv:
    return {"floordiv", 5};
  case bundle::ExprOp::CeilDiv:
    return {"ceildiv", 5};
  case bundle::ExprOp::Mod:
    return {"mod", 5};
  case bundle::ExprOp::Lt:
    return {"<", 3};
  case bundle::ExprOp::Le:
    return {"<=", 3};
  case bundle::ExprOp::Eq:
    return {"==", 3};
  case bundle::ExprOp::Ne:
    return {"!=", 3};
  case bundle::ExprOp::And:
    return {"and", 2};
  case bundle::ExprOp::Or:
    return {"or", 1};
  default:
    return {"", 0};
  }
}

PlanPrinter::Text PlanPrinter::combine(bundle::ExprOp op, const Text &lhs,
                                       const Text &rhs) const {
  auto [word, precedence] = operatorOf(op);
  auto bracket = [&, precedence = precedence](const Text &text,
                                              const std::string &words,
                                              bool isLeft) {
    // Of one strength only the same operators stand in a row, and sums.
    bool fits = text.precedence > precedence ||
                (isLeft && text.precedence == precedence &&
                 (text.op == op || precedence == 4));
    return fits ? words : "(" + words + ")";
  };
  auto join = [&, word = word](const std::string &x, const std::string &y) {
    return (Twine(x) + " " + word + " " + y).str();
  };
  // Offsets are sums, with what came before on the left.
  Text before = lhs;
  if (parts.count(lhs.full))
    before.precedence = atom;
  std::string right = bracket(rhs, rhs.full, false);
  return {precedence, op, join(bracket(lhs, lhs.full, true), right),
          join(bracket(before, lhs.named, true), right)};
}

PlanPrinter::Text PlanPrinter::format(const bundle::ExprT &expr) const {
  std::vector<Text> stack;
  auto pop = [&] {
    Text top{atom, bundle::ExprOp::Const, "?", "?"};
    if (!stack.empty()) {
      top = stack.back();
      stack.pop_back();
    }
    return top;
  };
  auto push = [&](std::string text) {
    stack.push_back({atom, bundle::ExprOp::Const, text, text});
  };
  for (const bundle::ExprNode &node : expr.nodes) {
    switch (node.op()) {
    case bundle::ExprOp::Const:
      push(std::to_string(node.value()));
      break;
    case bundle::ExprOp::Dim:
      push(graph.dims[node.value()]);
      break;
    case bundle::ExprOp::Param:
      push(graph.params[node.value()]->name);
      break;
    case bundle::ExprOp::SmCount:
      push("SMs");
      break;
    case bundle::ExprOp::Not:
      push("not(" + pop().full + ")");
      break;
    case bundle::ExprOp::Min:
    case bundle::ExprOp::Max: {
      std::string rhs = pop().full, lhs = pop().full;
      push((node.op() == bundle::ExprOp::Min ? "min(" : "max(") + lhs + ", " +
           rhs + ")");
      break;
    }
    case bundle::ExprOp::Select: {
      std::string no = pop().full, yes = pop().full, condition = pop().full;
      push("select(" + condition + ", " + yes + ", " + no + ")");
      break;
    }
    default: {
      Text rhs = pop(), lhs = pop();
      stack.push_back(combine(node.op(), lhs, rhs));
    }
    }
    if (auto part = parts.find(stack.back().full);
        part != parts.end() && stack.back().precedence != atom)
      stack.back().named = part->second;
  }
  return pop();
}

void PlanPrinter::namePart(const bundle::ExprT &offset) {
  Text text = format(offset);
  std::string name = "w" + std::to_string(parts.size());
  if (parts.emplace(text.full, name).second)
    definitions.push_back({name, text.named});
}

void PlanPrinter::printParts(llvm::raw_ostream &os) const {
  for (const auto &[name, offset] : definitions)
    os << "      " << name << " at " << offset << "\n";
}

std::string PlanPrinter::print(const bundle::BufferT &buffer) const {
  switch (buffer.space) {
  case bundle::Space::Input:
    return "input " + graph.inputs[buffer.index]->name;
  case bundle::Space::Output:
    return "output " + graph.outputs[buffer.index]->name;
  case bundle::Space::Workspace:
    break;
  }
  std::string offset = buffer.offset ? format(*buffer.offset).full : "0";
  auto part = parts.find(offset);
  return "workspace " + (part == parts.end() ? "at " + offset : part->second);
}

static void print(llvm::raw_ostream &os, const bundle::KernelArgT &argument,
                  const PlanPrinter &printer, const bundle::GraphT &graph) {
  os << "      ";
  switch (argument.kind) {
  case bundle::ArgKind::Map: {
    const bundle::TensorMapT &map = *argument.map;
    os << "map of " << printer.print(*map.buffer) << ": "
       << bundle::EnumNameMapType(map.type) << " ";
    llvm::interleave(
        map.sizes, os,
        [&](const auto &size) {
          std::string text = printer.print(*size);
          os << (size->nodes.size() > 1 ? "(" + text + ")" : text);
        },
        " x ");
    os << ", box ";
    llvm::interleave(map.box, os, " x ");
    break;
  }
  case bundle::ArgKind::Pointer:
    os << "pointer to " << printer.print(*argument.buffer);
    break;
  case bundle::ArgKind::Int32:
  case bundle::ArgKind::Int64:
    os << "value " << printer.print(*argument.value);
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
      PlanPrinter printer(graph);
      for (const auto &step : variant->steps)
        if (const bundle::KernelLaunchT *launch = step->body.AsKernelLaunch())
          for (const auto &argument : launch->args)
            for (const bundle::BufferT *buffer :
                 {argument->buffer.get(),
                  argument->map ? argument->map->buffer.get() : nullptr})
              if (buffer && buffer->space == bundle::Space::Workspace &&
                  buffer->offset)
                printer.namePart(*buffer->offset);
      os << "  variant " << variant->name << "\n"
         << "    when " << printer.print(*variant->guard) << "\n"
         << "    workspace " << printer.printOffset(*variant->workspace_bytes)
         << " bytes\n";
      printer.printParts(os);
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
            print(os, *argument, printer, graph);
        } else if (const bundle::ZeroFillT *fill = step->body.AsZeroFill()) {
          os << "    zero fill " << printer.print(*fill->buffer) << ", "
             << printer.print(*fill->bytes) << " bytes\n";
        }
      }
    }
  }
  for (const auto &refusal : bundle.refusals)
    os << "refused when " << PlanPrinter(graph).print(*refusal->condition)
       << ": "
       << refusal->reason << "\n";
  return text;
}
