//===- TranslateToPtx.cpp - From the LLVM dialect to PTX ------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts the NVVM ops that stand for inline PTX, translates the module to
// LLVM IR, gives it the triple and data layout that mlir-translate leaves out,
// and runs LLVM's O2 pipeline and the NVPTX code generator on it.
//
// The numerics of the graph are the module's: nothing here may contract a
// multiplication and an addition, or take a function from libdevice.
//
//===----------------------------------------------------------------------===//
#include "backfuse/Target/Cubin/TranslateToPtx.h"
#include "mlir/Pass/Pass.h" // NVVMToLLVM.h needs it first.

#include "LineInfo.h"
#include "VerifyKernel.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace backfuse;

void backfuse::registerPtxTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

//===----------------------------------------------------------------------===//
// The MLIR side
//===----------------------------------------------------------------------===//

/// Whether `op` is a kernel. By name, since the header of the LLVM dialect
/// costs more to compile than this file.
static bool isKernel(Operation &op) {
  return op.getName().getStringRef() == "llvm.func" &&
         op.hasAttr("nvvm.kernel");
}

FailureOr<Operation *> backfuse::getKernel(ModuleOp module) {
  Operation *kernel = nullptr;
  for (Operation &op : *module.getBody()) {
    if (!isKernel(op))
      continue;
    if (kernel) {
      InFlightDiagnostic diag =
          op.emitError("expects one kernel per module, but this is a second");
      diag.attachNote(kernel->getLoc()) << "the first kernel is here";
      return diag;
    }
    kernel = &op;
  }
  if (!kernel)
    return module.emitError(
        "expects a kernel: an 'llvm.func' with the "
        "attribute 'nvvm.kernel' at the module's top level");
  return kernel;
}

FailureOr<std::string> backfuse::getKernelName(ModuleOp module) {
  FailureOr<Operation *> kernel = getKernel(module);
  if (failed(kernel))
    return failure();
  return SymbolTable::getSymbolName(*kernel).str();
}

/// Returns the place to report for a function called `name`: its first call in
/// the source, else its declaration, else the kernel.
static Location locateFunction(ModuleOp module, StringRef name) {
  Location location = (*getKernel(module))->getLoc();
  if (Operation *declaration = SymbolTable::lookupSymbolIn(module, name))
    location = declaration->getLoc();
  module.walk([&](Operation *op) {
    auto callee = op->getAttrOfType<FlatSymbolRefAttr>("callee");
    if (!callee || callee.getValue() != name)
      return WalkResult::advance();
    location = op->getLoc();
    return WalkResult::interrupt();
  });
  return location;
}

/// Returns a copy of `module` with what has no LLVM intrinsic made inline PTX.
/// NVVM's translation would drop the predicates of such ops silently.
static OwningOpRef<ModuleOp> prepareModule(ModuleOp module,
                                           const PtxOptions &options) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager pm(module.getContext());
  pm.addPass(createConvertNVVMToLLVMPass());
  if (options.lineInfo)
    pm.addPass(createLineInfoPass());
  if (failed(pm.run(*copy)))
    return nullptr;
  return copy;
}

//===----------------------------------------------------------------------===//
// The LLVM side
//===----------------------------------------------------------------------===//

namespace {
/// Makes LLVM's diagnostics MLIR's. LLVM's own handler prints errors and ends
/// the process.
struct DiagnosticForwarder final : llvm::DiagnosticHandler {
  DiagnosticForwarder(Location location, bool &sawError)
      : location(location), sawError(sawError) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::DiagnosticPrinterRawOStream printer(os);
    info.print(printer);
    switch (info.getSeverity()) {
    case llvm::DS_Error:
      sawError = true;
      emitError(location) << "LLVM: " << text;
      break;
    case llvm::DS_Warning:
      emitWarning(location) << "LLVM: " << text;
      break;
    case llvm::DS_Remark:
    case llvm::DS_Note:
      break;
    }
    return true;
  }

  Location location;
  bool &sawError;
};
} // namespace

/// Makes NVPTX known to LLVM, once per process.
static void initializeNvptx() {
  static bool done = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)done;
}

static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(Location location, const arch::Target &target) {
  initializeNvptx();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *llvmTarget =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!llvmTarget) {
    emitError(location) << "this LLVM cannot generate PTX: " << message;
    return nullptr;
  }
  llvm::TargetOptions options;
  // A product and a sum of the graph are two roundings.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(llvmTarget->createTargetMachine(
      triple, target.name, target.llvmFeatures, options,
      /*RM=*/std::nullopt, /*CM=*/std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

/// Runs LLVM's O2 pipeline.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, modules);
}

/// Checks that a kernel calls nothing that no one provides: there is no
/// libdevice here, and ptxas would leave the call to a linker.
static LogicalResult checkNoExternals(ModuleOp source, llvm::Module &module) {
  bool ok = true;
  for (llvm::Function &function : module) {
    if (!function.isDeclaration() || function.isIntrinsic())
      continue;
    emitError(locateFunction(source, function.getName()))
        << "the kernel calls '" << function.getName()
        << "', which is not defined (there is no device library to link)";
    ok = false;
  }
  return success(ok);
}

static std::string printModule(llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, nullptr);
  return text;
}

/// Translates `module` for `machine`; null after an error.
static std::unique_ptr<llvm::Module> translate(ModuleOp module,
                                               llvm::LLVMContext &context,
                                               llvm::TargetMachine &machine,
                                               const PtxOptions &options) {
  OwningOpRef<ModuleOp> prepared = prepareModule(module, options);
  if (!prepared)
    return nullptr;
  FailureOr<std::string> name = getKernelName(*prepared);
  if (failed(name))
    return nullptr;
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(*prepared, context, *name);
  if (!result) {
    module.emitError("could not translate the kernel to LLVM IR");
    return nullptr;
  }
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  return result;
}

/// Reports what LLVM's verifier finds; a mistake of ours.
static LogicalResult verify(Location location, llvm::Module &module,
                            StringRef when) {
  std::string message;
  llvm::raw_string_ostream os(message);
  if (!llvm::verifyModule(module, &os))
    return success();
  return emitError(location)
         << "LLVM IR is not valid " << when << " optimisation: " << message;
}

FailureOr<std::string> backfuse::translateToLlvmIr(ModuleOp module,
                                                   const PtxOptions &options) {
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(module.getLoc(), *options.target);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule =
      translate(module, context, *machine, options);
  if (!llvmModule)
    return failure();
  return printModule(*llvmModule);
}

FailureOr<std::string> backfuse::translateToPtx(ModuleOp module,
                                                const PtxOptions &options) {
  FailureOr<Operation *> kernel = getKernel(module);
  if (failed(kernel))
    return failure();
  if (failed(verifyKernel(*kernel, *options.target)))
    return failure();
  Location location = (*kernel)->getLoc();
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(location, *options.target);
  if (!machine)
    return failure();

  bool sawError = false;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(
      std::make_unique<DiagnosticForwarder>(location, sawError));
  std::unique_ptr<llvm::Module> llvmModule =
      translate(module, context, *machine, options);
  if (!llvmModule || failed(verify(location, *llvmModule, "before")))
    return failure();
  if (options.dump)
    options.dump("ll", printModule(*llvmModule));

  optimize(*llvmModule, *machine);
  if (options.dump)
    options.dump("opt.ll", printModule(*llvmModule));
  if (failed(verify(location, *llvmModule, "after")) ||
      failed(checkNoExternals(module, *llvmModule)))
    return failure();

  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream os(ptx);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, os, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return emitError(location, "this LLVM cannot print PTX");
  codegen.run(*llvmModule);
  if (sawError)
    return failure();
  return ptx.str().str();
}
