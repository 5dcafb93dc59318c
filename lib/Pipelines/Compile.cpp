//===- Compile.cpp - kernel-opt's main job --------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without --emit this is MlirOptMain, but for an output file that appears whole
// or not at all. With --emit it compiles a graph, or kernels that are in the
// LLVM and NVVM dialects already.
//
//===----------------------------------------------------------------------===//
#include "backfuse/Pipelines/Compile.h"
#include "backfuse/Pipelines/CompileGraph.h"
#include "backfuse/Pipelines/CompileOptions.h"
#include "backfuse/Pipelines/Pipelines.h"
#include "backfuse/Pipelines/PredictPlan.h"
#include "backfuse/Pipelines/RunPipeline.h"
#include "backfuse/Support/OutputFile.h"
#include "backfuse/Target/Bundle/BundleWriter.h"
#include "backfuse/Target/Cubin/CompileKernels.h"
#include "backfuse/Target/Cubin/TranslateToPtx.h"
#include "backfuse/Transforms/Transforms.h"
#include "mlir/Pass/Pass.h" // NVVMToLLVM.h needs it first.

#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/ToolUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

#include "runtime/bundle_generated.h"

using namespace mlir;
using namespace backfuse;

namespace {
/// An output that is complete in memory. `name` is its file's name without the
/// extension if there are several.
struct Output {
  std::string name;
  std::string bytes;
};
} // namespace

/// Reports what has no place in the input.
static LogicalResult reportError(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "kernel-opt") << message << "\n";
  return failure();
}

static LogicalResult reportError(llvm::Error error) {
  return reportError(llvm::toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Returns the extension of the files of `kind` in a directory.
static StringRef getExtension(EmitKind kind) {
  return kind == EmitKind::Llvm ? "ll" : stringifyEmitKind(kind);
}

/// Whether `path` names a directory, there or to be made.
static bool namesDirectory(StringRef path) {
  return path.ends_with("/") || llvm::sys::fs::is_directory(path);
}

/// Writes all outputs as files of `directory`, or none.
static LogicalResult writeDirectory(StringRef directory, EmitKind kind,
                                    ArrayRef<Output> outputs) {
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return reportError("cannot make the directory '" + directory +
                       "': " + error.message());
  SmallVector<std::string> written;
  for (const Output &output : outputs) {
    SmallString<128> file(directory);
    llvm::sys::path::append(file, output.name + "." + getExtension(kind));
    if (llvm::Error error = writeOutput(file, output.bytes)) {
      for (const std::string &other : written)
        llvm::sys::fs::remove(other);
      return reportError(std::move(error));
    }
    written.push_back(file.str().str());
  }
  return success();
}

static LogicalResult writeOutputs(StringRef path, EmitKind kind,
                                  ArrayRef<Output> outputs) {
  if (namesDirectory(path))
    return writeDirectory(path, kind, outputs);
  if (outputs.size() != 1)
    return reportError("--emit=" + stringifyEmitKind(kind) + " makes " +
                       llvm::Twine(outputs.size()) +
                       " files here; name a directory for them: -o DIRECTORY/");
  if (llvm::Error error = writeOutput(path, outputs.front().bytes))
    return reportError(std::move(error));
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels in the LLVM and NVVM dialects
//===----------------------------------------------------------------------===//

/// Returns the modules in `module` that hold kernels: nested ones, or itself.
static SmallVector<ModuleOp> collectKernelModules(ModuleOp module) {
  SmallVector<ModuleOp> result(module.getOps<ModuleOp>());
  for (Operation &op : *module.getBody())
    if (op.hasAttr("nvvm.kernel")) {
      result.push_back(module);
      break;
    }
  return result;
}

/// The passes that --emit=ptx runs on a kernel before it is translated.
static void buildKernelPipeline(OpPassManager &pm) {
  pm.addPass(createConvertNVVMToLLVMPass());
}

static std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  return text;
}

/// Compiles each kernel of `modules` for each target.
static LogicalResult compileKernelModules(ArrayRef<ModuleOp> modules,
                                          const CompileOptions &options,
                                          SmallVectorImpl<Output> &outputs) {
  if (options.targets.empty())
    return reportError(
        "--emit=" + stringifyEmitKind(options.emit) +
        " needs --target; there are: " + arch::listTargetNames());
  llvm::Expected<CodegenOptions> codegen =
      makeCodegenOptions(options, options.emit == EmitKind::Cubin);
  if (!codegen)
    return reportError(codegen.takeError());

  SmallVector<KernelJob> jobs;
  for (ModuleOp module : modules)
    for (const arch::Target *target : options.targets) {
      FailureOr<KernelJob> job = makeKernelJob(module, *target);
      if (failed(job))
        return failure();
      jobs.push_back(*job);
    }
  SmallVector<KernelBinary> binaries;
  if (failed(compileKernels(jobs, *codegen, binaries)))
    return failure();
  for (auto [job, binary] : llvm::zip_equal(jobs, binaries))
    outputs.push_back({job.name + "." + job.target->name.str(),
                       codegen->assemble ? std::string(binary.cubin.begin(),
                                                      binary.cubin.end())
                                        : binary.ptx});
  return success();
}

/// Translates each kernel of `modules` to LLVM IR for each target.
static LogicalResult translateKernelModules(ArrayRef<ModuleOp> modules,
                                            const CompileOptions &options,
                                            SmallVectorImpl<Output> &outputs) {
  for (ModuleOp module : modules)
    for (const arch::Target *target : options.targets) {
      PtxOptions ptxOptions;
      ptxOptions.target = target;
      ptxOptions.lineInfo = options.lineInfo;
      FailureOr<std::string> name = getKernelName(module);
      if (failed(name))
        return failure();
      FailureOr<std::string> text = translateToLlvmIr(module, ptxOptions);
      if (failed(text))
        return failure();
      outputs.push_back({*name + "." + target->name.str(), *text});
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Whether `module` holds a graph.
static bool holdsGraph(ModuleOp module) {
  return llvm::any_of(*module.getBody(), [](Operation &op) {
    return op.getName().getStringRef() == "mlp.graph";
  });
}

/// Whether the plan of `module` is predicted: when asked for, and where extents
/// are fixed and nothing is left open.
static bool isPredicted(ModuleOp module, const CompileOptions &options) {
  auto graph = *module.getOps<mlp::GraphOp>().begin();
  return options.predicts() ||
         (graph.getDimNames().empty() && graph.getParams().empty());
}

/// Compiles the graph in `module` to what the options ask for.
static LogicalResult compileGraphModule(ModuleOp module,
                                        const CompileOptions &options,
                                        SmallVectorImpl<Output> &outputs) {
  StringRef kind = stringifyEmitKind(options.emit);
  switch (options.emit) {
  case EmitKind::Header:
  case EmitKind::Object:
  case EmitKind::SolExecbench:
  case EmitKind::Llvm:
    return reportError("--emit=" + kind + " of a graph is not built yet");
  default:
    break;
  }
  if (options.targets.empty())
    return reportError("--emit=" + kind + " needs --target; there are: " +
                       arch::listTargetNames());
  if (options.why)
    for (auto graph : module.getOps<mlp::GraphOp>())
      if (FailureOr<std::string> report = describeFusion(graph);
          succeeded(report))
        llvm::errs() << *report;
  if (options.emit == EmitKind::Mlir) {
    const arch::Target &target = *options.targets.front();
    if (failed(runPipeline(
            module,
            [&](OpPassManager &pm) { buildCompilePipeline(
                  pm, target, options.tuningFile,
                  options.matmulPrecision
                      ? stringifyMatmulPrecision(*options.matmulPrecision)
                      : StringRef());
            },
            options)))
      return failure();
    outputs.push_back({"module", printModule(module)});
    return success();
  }
  // Before the long way, since it is what finds mistakes in --dims and --cases.
  std::string prediction;
  if (options.emit == EmitKind::Plan && isPredicted(module, options)) {
    FailureOr<std::string> text = predictPlan(module, options);
    if (failed(text))
      return failure();
    prediction = *text;
  }
  FailureOr<std::vector<GraphKernels>> kernels = lowerGraph(module, options);
  if (failed(kernels))
    return failure();
  bool binaries = options.emit != EmitKind::Plan;
  if (binaries && failed(compileGraphKernels(*kernels, options,
                                             options.emit != EmitKind::Ptx)))
    return failure();
  if (options.emit == EmitKind::Ptx || options.emit == EmitKind::Cubin) {
    for (GraphKernels &target : *kernels)
      for (KernelBinary &binary : target.binaries)
        outputs.push_back(
            {binary.name + "." + target.target->name.str(),
             options.emit == EmitKind::Ptx
                 ? binary.ptx
                 : std::string(binary.cubin.begin(), binary.cubin.end())});
    return success();
  }
  bundle::BundleT bundle;
  if (failed(buildBundle(module, *kernels, options, bundle)))
    return failure();
  if (options.emit == EmitKind::Plan) {
    outputs.push_back({"plan", printPlan(bundle) + prediction});
    return success();
  }
  llvm::Expected<std::string> bytes = serializeBundle(bundle);
  if (!bytes)
    return reportError(bytes.takeError());
  outputs.push_back({"bundle", std::move(*bytes)});
  return success();
}

/// Compiles `module` to what the options ask for.
static LogicalResult compileModule(ModuleOp module,
                                   const CompileOptions &options,
                                   SmallVectorImpl<Output> &outputs) {
  StringRef kind = stringifyEmitKind(options.emit);
  if (holdsGraph(module))
    return compileGraphModule(module, options, outputs);
  SmallVector<ModuleOp> kernels = collectKernelModules(module);
  if (kernels.empty())
    return module.emitError("holds neither a graph ('mlp.graph') nor a kernel "
                            "('llvm.func' with 'nvvm.kernel')");
  switch (options.emit) {
  case EmitKind::Mlir:
    if (failed(runPipeline(module, buildKernelPipeline, options)))
      return failure();
    outputs.push_back({"module", printModule(module)});
    return success();
  case EmitKind::Llvm:
    return translateKernelModules(kernels, options, outputs);
  case EmitKind::Ptx:
  case EmitKind::Cubin:
    return compileKernelModules(kernels, options, outputs);
  default:
    return reportError("--emit=" + kind +
                       " takes a graph, but the input holds kernels");
  }
}

/// Parses and compiles one buffer with its own context.
static LogicalResult compileBuffer(std::unique_ptr<llvm::MemoryBuffer> buffer,
                                   DialectRegistry &registry,
                                   const MlirOptMainConfig &config,
                                   const CompileOptions &options,
                                   SmallVectorImpl<Output> &outputs) {
  auto sourceMgr = std::make_shared<llvm::SourceMgr>();
  sourceMgr->AddNewSourceBuffer(std::move(buffer), SMLoc());
  // Children are forked, so no thread may run; kernels are what is parallel.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects(config.shouldAllowUnregisteredDialects());
  auto run = [&]() -> LogicalResult {
    OwningOpRef<ModuleOp> module =
        parseSourceFile<ModuleOp>(sourceMgr, ParserConfig(&context));
    if (!module)
      return failure();
    return compileModule(*module, options, outputs);
  };
  if (config.shouldVerifyDiagnostics()) {
    SourceMgrDiagnosticVerifierHandler handler(*sourceMgr, &context);
    context.printOpOnDiagnostic(false);
    (void)run();
    return handler.verify();
  }
  SourceMgrDiagnosticHandler handler(*sourceMgr, &context);
  context.printOpOnDiagnostic(false);
  return run();
}

/// Checks that flags of the optimiser that change nothing here are not given.
static LogicalResult checkFlags(DialectRegistry &registry,
                                const MlirOptMainConfig &config) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  PassManager pm(&context);
  if (succeeded(config.setupPassPipeline(pm)) && !pm.empty())
    return reportError("passes cannot be named with --emit; --stop-after=PASS "
                       "ends the compiler's own pipeline early");
  if (!config.inputSplitMarker().empty() && !config.shouldVerifyDiagnostics())
    return reportError(
        "--split-input-file with --emit needs --verify-diagnostics");
  return success();
}

/// Reads `input`, compiles it and writes `output`.
static LogicalResult compileMain(StringRef input, StringRef output,
                                 DialectRegistry &registry,
                                 const MlirOptMainConfig &config,
                                 const CompileOptions &options) {
  if (failed(checkFlags(registry, config)))
    return failure();
  if (isBinary(options.emit) && output == "-" &&
      llvm::sys::Process::StandardOutIsDisplayed())
    return reportError("--emit=" + stringifyEmitKind(options.emit) +
                       " does not write to a terminal; name a file with -o");
  if (!options.dumpDir.empty())
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpDir))
      return reportError("cannot make the directory '" + options.dumpDir +
                         "': " + error.message());
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(input, &message);
  if (!file)
    return reportError(message);

  SmallVector<Output> outputs;
  auto compileChunk = [&](std::unique_ptr<llvm::MemoryBuffer> chunk,
                          llvm::raw_ostream &) {
    return compileBuffer(std::move(chunk), registry, config, options, outputs);
  };
  if (failed(splitAndProcessBuffer(std::move(file), compileChunk, llvm::nulls(),
                                   config.inputSplitMarker())))
    return failure();
  if (config.shouldVerifyDiagnostics())
    return success();
  return writeOutputs(output, options.emit, outputs);
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

/// MlirOptMain with an output file of ours: LLVM's ends in an abort when the
/// disk is full.
static LogicalResult optimizeMain(StringRef input, StringRef output,
                                  DialectRegistry &registry,
                                  const MlirOptMainConfig &config) {
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "(reading from the terminal; end it with ctrl-d)\n";
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(input, &message);
  if (!file)
    return reportError(message);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(MlirOptMain(os, std::move(file), registry, config)))
    return failure();
  if (llvm::Error error = writeOutput(output, text))
    return reportError(std::move(error));
  return success();
}

int backfuse::kernelOptMain(int argc, char **argv, DialectRegistry &registry) {
  registerCompileOptions();
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "Backfuse's optimiser and compiler\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));

  llvm::InitLLVM init(argc, argv);
  llvm::Expected<CompileOptions> options = getCompileOptions();
  if (!options)
    return asMainReturnCode(reportError(options.takeError()));
  if (isCompileRequested())
    return asMainReturnCode(
        compileMain(input, output, registry, config, *options));
  return asMainReturnCode(optimizeMain(input, output, registry, config));
}
