//===- CompileOptions.cpp - What the compiler is asked for ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backfuse/Pipelines/CompileOptions.h"
#include "backfuse/Target/Cubin/Ptxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ManagedStatic.h"

#include <memory>

using namespace llvm;
using namespace backfuse;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {
template <typename Enum> struct Named {
  StringLiteral name;
  Enum value;
};
} // namespace

static constexpr Named<EmitKind> emitKinds[] = {
    {"mlir", EmitKind::Mlir},
    {"plan", EmitKind::Plan},
    {"llvm", EmitKind::Llvm},
    {"ptx", EmitKind::Ptx},
    {"cubin", EmitKind::Cubin},
    {"bundle", EmitKind::Bundle},
    {"header", EmitKind::Header},
    {"object", EmitKind::Object},
    {"sol-execbench", EmitKind::SolExecbench}};

/// The first ones of emitKinds; the others are not built yet.
static constexpr size_t numBuiltKinds = 6;

static constexpr Named<MatmulPrecision> matmulPrecisions[] = {
    {"ieee", MatmulPrecision::Ieee},
    {"tf32", MatmulPrecision::Tf32},
    {"bf16x3", MatmulPrecision::Bf16x3},
    {"fp16", MatmulPrecision::Fp16},
    {"bf16", MatmulPrecision::Bf16}};

/// Returns the name of `value` in `table`.
template <typename Table, typename Enum>
static StringRef stringify(const Table &table, Enum value) {
  return find_if(table, [&](auto &entry) { return entry.value == value; })
      ->name;
}

/// Returns the value that `table` has for `name`; an error lists the names, the
/// first `listed` of them.
template <typename Enum, size_t size>
static Expected<Enum> parse(const Named<Enum> (&table)[size], StringRef what,
                            StringRef name, size_t listed = size) {
  for (const Named<Enum> &entry : table)
    if (entry.name == name)
      return entry.value;
  return createStringError(
      "unknown " + what + " '" + name + "'; there are: " +
      join(map_range(ArrayRef(table).take_front(listed),
                     [](auto &entry) { return entry.name.str(); }),
           ", "));
}

StringRef backfuse::stringifyEmitKind(EmitKind kind) {
  return stringify(emitKinds, kind);
}

bool backfuse::isBinary(EmitKind kind) {
  return kind == EmitKind::Cubin || kind == EmitKind::Bundle ||
         kind == EmitKind::Object;
}

StringRef backfuse::stringifyMatmulPrecision(MatmulPrecision precision) {
  return stringify(matmulPrecisions, precision);
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

namespace {
struct Flags {
  cl::OptionCategory category{
      "Compiler options", "They need --emit. Exit status: 0 all is written, "
                          "1 an error was printed and nothing is written."};

  cl::opt<std::string> emit{
      "emit", cl::value_desc("kind"), cl::cat(category),
      cl::desc("Compile, and write: mlir, plan, ptx, cubin or bundle; of a "
               "kernel of the LLVM dialect also llvm. With several kernels or "
               "targets, -o names a directory for llvm, ptx and cubin. Not "
               "built yet: header, object, sol-execbench")};
  cl::opt<std::string> target{
      "target", cl::value_desc("list"), cl::cat(category),
      cl::desc("Targets, separated by commas: sm_90a, sm_100f, sm_100a")};
  cl::opt<std::string> stopAfter{
      "stop-after", cl::value_desc("pass[,N]"), cl::cat(category),
      cl::desc("With --emit=mlir: stop after the (N-th) run of this pass")};
  cl::opt<std::string> matmulPrecision{
      "matmul-precision", cl::value_desc("precision"), cl::cat(category),
      cl::desc("Override the precision of products of f32 operands: ieee, "
               "tf32, bf16x3, fp16 or bf16")};
  cl::opt<std::string> tuning{
      "tuning", cl::value_desc("file"), cl::cat(category),
      cl::desc("Take schedules from this file, before the cost model")};
  cl::list<std::string> dims{
      "dims", cl::value_desc("NAME=N,..."), cl::cat(category),
      cl::CommaSeparated,
      cl::desc("With --emit=plan: predict bytes, operations, waves and time of "
               "each kernel for these values of the variable dimensions")};
  cl::list<std::string> set{
      "set", cl::value_desc("NAME=VALUE,..."), cl::cat(category),
      cl::CommaSeparated,
      cl::desc("With --dims: values of the graph's parameters")};
  cl::opt<std::string> cases{
      "cases", cl::value_desc("file"), cl::cat(category),
      cl::desc("With --emit=plan: predict every case of a JSON file, as "
               "kernel-run takes it, and the mean")};
  cl::opt<std::string> dumpDir{
      "dump-dir", cl::value_desc("directory"), cl::cat(category),
      cl::desc("Write every stage, and what ptxas said, to this directory")};
  cl::opt<bool> why{"why", cl::cat(category),
                    cl::desc("Say what fused where, what did not and why")};
  cl::opt<std::string> ptxas{
      "ptxas", cl::value_desc("path"), cl::cat(category),
      cl::desc("CUDA's assembler; else $CUDA_HOME/bin/ptxas, else PATH")};
  cl::opt<std::string> cacheDir{
      "cache-dir", cl::value_desc("directory"), cl::cat(category),
      cl::desc("Keep ptxas results here (default: backfuse/ptxas in "
               "$XDG_CACHE_HOME or ~/.cache; empty: keep none)")};
  cl::opt<bool> stripPtx{
      "strip-ptx", cl::cat(category),
      cl::desc("Leave PTX out of the bundle; the emulator cannot run it then")};
  cl::opt<bool> lineInfo{"line-info", cl::cat(category),
                         cl::desc("Give PTX and cubins the source's lines")};
  cl::opt<bool> allowSpills{
      "allow-spills", cl::cat(category),
      cl::desc("Take kernels that spill registers, which are errors else")};
  cl::opt<bool> allowPerformanceLoss{
      "allow-performance-loss", cl::cat(category),
      cl::desc("Take kernels that ptxas says lose performance (C7508, C7510 "
               "to C7519), which are errors else")};
  cl::opt<unsigned> jobs{
      "j",
      cl::value_desc("N"),
      cl::cat(category),
      cl::init(0),
      cl::Prefix,
      cl::desc("Compile N kernels at a time (default: one for each core)")};
};
} // namespace

static ManagedStatic<Flags> flags;

void backfuse::registerCompileOptions() {
  // LLVM's library has registered the flags of llc and of every target, of
  // which one has a name of ours; they stay usable, but only --help-hidden
  // lists them.
  auto &registered = cl::getRegisteredOptions();
  if (auto it = registered.find("stop-after"); it != registered.end())
    it->second->removeArgument();
  for (auto &[name, option] : registered)
    if (is_contained(option->Categories, &cl::getGeneralCategory()))
      option->setHiddenFlag(cl::Hidden);
  *flags;
}

bool backfuse::isCompileRequested() {
  return flags->emit.getNumOccurrences() > 0;
}

/// Without --emit there is nothing that the other flags could change.
static Error checkUnused() {
  // cl::list has an operator& of its own.
  SmallVector<cl::Option *> rest = {&flags->target,
                                    &flags->stopAfter,
                                    &flags->matmulPrecision,
                                    &flags->tuning,
                                    std::addressof(flags->dims),
                                    std::addressof(flags->set),
                                    &flags->cases,
                                    &flags->dumpDir,
                                    &flags->why,
                                    &flags->ptxas,
                                    &flags->cacheDir,
                                    &flags->stripPtx,
                                    &flags->lineInfo,
                                    &flags->allowSpills,
                                    &flags->allowPerformanceLoss,
                                    &flags->jobs};
  for (cl::Option *option : rest)
    if (option->getNumOccurrences() > 0)
      return createStringError(Twine(option->ArgStr.size() > 1 ? "--" : "-") +
                               option->ArgStr + " needs --emit");
  return Error::success();
}

Expected<CompileOptions> backfuse::getCompileOptions() {
  CompileOptions options;
  if (!isCompileRequested()) {
    if (Error error = checkUnused())
      return error;
    return options;
  }
  if (Error error = parse(emitKinds, "kind of output", flags->emit,
                          numBuiltKinds)
                        .moveInto(options.emit))
    return error;
  if (!flags->target.empty())
    if (Error error =
            arch::parseTargets(flags->target).moveInto(options.targets))
      return error;
  if (!flags->matmulPrecision.empty()) {
    auto precision =
        parse(matmulPrecisions, "precision", flags->matmulPrecision);
    if (!precision)
      return precision.takeError();
    options.matmulPrecision = *precision;
  }
  options.stopAfter = flags->stopAfter;
  if (!options.stopAfter.empty() && options.emit != EmitKind::Mlir)
    return createStringError("--stop-after needs --emit=mlir");
  options.tuningFile = flags->tuning;
  options.dims.assign(flags->dims.begin(), flags->dims.end());
  options.params.assign(flags->set.begin(), flags->set.end());
  options.casesFile = flags->cases;
  if (options.predicts() && options.emit != EmitKind::Plan)
    return createStringError("--dims, --set and --cases need --emit=plan");
  if (!options.casesFile.empty() &&
      (!options.dims.empty() || !options.params.empty()))
    return createStringError("--cases gives dimensions and parameters: leave "
                             "--dims and --set out");
  options.dumpDir = flags->dumpDir;
  options.why = flags->why;
  options.ptxasPath = flags->ptxas;
  options.cacheDir = flags->cacheDir.getNumOccurrences() > 0
                         ? flags->cacheDir.getValue()
                         : getDefaultCacheDir();
  options.stripPtx = flags->stripPtx;
  options.lineInfo = flags->lineInfo;
  options.allowSpills = flags->allowSpills;
  options.allowPerformanceLoss = flags->allowPerformanceLoss;
  options.jobs = flags->jobs;
  return options;
}
