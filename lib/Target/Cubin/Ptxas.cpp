//===- Ptxas.cpp - Assembling PTX with CUDA's ptxas -----------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs ptxas in a private directory, keeps what it said about the kernel, and
// turns its advice on lost performance into errors: a kernel that spills, or
// whose wgmma is serialised, is right but never what was meant.
//
//===----------------------------------------------------------------------===//
#include "backfuse/Target/Cubin/Ptxas.h"
#include "backfuse/Support/OutputFile.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/VersionTuple.h"

using namespace mlir;
using namespace backfuse;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// The oldest CUDA whose ptxas is known to assemble what we emit.
static constexpr llvm::VersionTuple minimumVersion(13, 0);

static constexpr StringLiteral howToGet =
    "install the Python package 'nvidia-cuda-nvcc' (13.0 or later) or the CUDA "
    "toolkit, then name its ptxas with --ptxas=PATH, set CUDA_HOME, or put it "
    "on PATH";

//===----------------------------------------------------------------------===//
// Temporary files
//===----------------------------------------------------------------------===//

namespace {
/// A directory for temporary files. One of its own is removed with what it
/// holds; one that was given is left to the giver.
class TemporaryDir {
public:
  explicit TemporaryDir(StringRef given) : name(given), owned(given.empty()) {
    if (owned)
      error = fs::createUniqueDirectory("backfuse", name);
  }
  ~TemporaryDir() {
    if (owned && !error)
      fs::remove_directories(name);
  }
  TemporaryDir(const TemporaryDir &) = delete;

  /// The path of the file `file` in the directory.
  std::string operator/(const Twine &file) const {
    SmallString<128> result(name);
    path::append(result, file);
    return result.str().str();
  }

  std::error_code error;

private:
  SmallString<128> name;
  bool owned;
};
} // namespace

static std::string readFile(StringRef file) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// The result of running a program.
struct ProgramResult {
  int status = 0;      ///< the exit status; negative: it did not run or died
  std::string output;  ///< standard output and standard error
  std::string message; ///< why it did not run
};

/// Runs `program` with both output streams in the file `log`.
static ProgramResult runProgram(StringRef program,
                                ArrayRef<StringRef> arguments,
                                const std::string &log) {
  SmallVector<StringRef> argv{program};
  argv.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  ProgramResult result;
  result.status = llvm::sys::ExecuteAndWait(program, argv, std::nullopt,
                                            redirects, 0, 0, &result.message);
  result.output = readFile(log);
  return result;
}

//===----------------------------------------------------------------------===//
// Finding ptxas
//===----------------------------------------------------------------------===//

/// Returns where ptxas is, without running it; empty if nowhere.
static std::string searchPtxas(StringRef given) {
  if (!given.empty()) {
    // A bare name is looked up in PATH, as a shell would.
    if (!given.contains('/'))
      if (auto found = llvm::sys::findProgramByName(given))
        return *found;
    return given.str();
  }
  if (auto home = llvm::sys::Process::GetEnv("CUDA_HOME")) {
    SmallString<128> candidate(*home);
    path::append(candidate, "bin", "ptxas");
    if (fs::can_execute(candidate))
      return candidate.str().str();
  }
  auto found = llvm::sys::findProgramByName("ptxas");
  return found ? *found : std::string();
}

/// Returns the version in the output of `ptxas --version`: "... V13.0.88".
static std::string parseVersion(StringRef output) {
  SmallVector<StringRef> matches;
  if (!llvm::Regex("V([0-9]+\\.[0-9]+(\\.[0-9]+)?)").match(output, &matches))
    return "";
  return matches[1].str();
}

llvm::Expected<Ptxas> backfuse::findPtxas(StringRef given) {
  Ptxas result;
  result.path = searchPtxas(given);
  if (result.path.empty())
    return llvm::createStringError("cannot find ptxas: " + howToGet);
  if (!fs::can_execute(result.path))
    return llvm::createStringError("cannot run '" + result.path +
                                   "' as ptxas: no such program; " + howToGet);

  TemporaryDir temporary("");
  if (temporary.error)
    return llvm::createStringError("cannot make a temporary directory: " +
                                   temporary.error.message());
  ProgramResult run =
      runProgram(result.path, {"--version"}, temporary / "version");
  result.version = parseVersion(run.output);
  llvm::VersionTuple version;
  if (run.status != 0 || version.tryParse(result.version))
    return llvm::createStringError(
        "cannot use '" + result.path + "' as ptxas: " +
        (run.message.empty() ? "'--version' prints no version" : run.message) +
        "; " + howToGet);
  if (version < minimumVersion)
    return llvm::createStringError(
        "'" + result.path + "' is ptxas " + result.version + ", but at least " +
        minimumVersion.getAsString() + " is needed; " + howToGet);
  return result;
}

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

std::string backfuse::getDefaultCacheDir() {
  SmallString<128> result;
  if (auto cache = llvm::sys::Process::GetEnv("XDG_CACHE_HOME");
      cache && !cache->empty())
    result = *cache;
  else if (auto home = llvm::sys::Process::GetEnv("HOME");
           home && !home->empty())
    path::append(result, *home, ".cache");
  else
    return "";
  path::append(result, "backfuse", "ptxas");
  return result.str().str();
}

/// Returns the cache's file for this input, or nothing without a cache.
static std::string getCacheFile(StringRef ptx, ArrayRef<StringRef> arguments,
                                const PtxasOptions &options) {
  if (options.cacheDir.empty())
    return "";
  llvm::SHA256 hash;
  auto add = [&](StringRef part) {
    hash.update(std::to_string(part.size()) + ":");
    hash.update(part);
  };
  add(ptx);
  add(options.ptxas.version);
  for (StringRef argument : arguments)
    add(argument);
  SmallString<128> file(options.cacheDir);
  path::append(file, llvm::toHex(hash.final(), /*LowerCase=*/true) + ".kernel");
  return file.str().str();
}

static void writeCache(StringRef file, const KernelBinary &binary) {
  if (file.empty() || fs::create_directories(path::parent_path(file)))
    return;
  llvm::consumeError(writeOutput(file, serialize(binary)));
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

/// Returns the number that `pattern` captures in `text`, or 0.
static int parseNumber(StringRef text, StringRef pattern) {
  SmallVector<StringRef> matches;
  int value = 0;
  if (llvm::Regex(pattern).match(text, &matches))
    matches[1].getAsInteger(10, value);
  return value;
}

/// Fills in what `log`, ptxas's output with -v, says about the kernel.
static void parseLog(StringRef log, KernelBinary &binary) {
  binary.log = log.str();
  binary.registers = parseNumber(log, "Used ([0-9]+) registers");
  binary.barriers = parseNumber(log, "used ([0-9]+) barriers");
  binary.stackBytes = parseNumber(log, "([0-9]+) bytes stack frame");
  binary.spillBytes = parseNumber(log, "([0-9]+) bytes spill stores") +
                      parseNumber(log, "([0-9]+) bytes spill loads");
  binary.smemBytes = parseNumber(log, "([0-9]+) bytes smem");
  llvm::Regex warning("^ptxas warning|\\(C[0-9]+\\)");
  for (StringRef line : llvm::split(log, '\n'))
    if (warning.match(line))
      binary.warnings.push_back(line.trim().str());
}

/// Whether `warning` says that setmaxnreg was ignored (C7508) or wgmma was
/// serialised or waited for (C7510 to C7519).
static bool isPerformanceLoss(StringRef warning) {
  return llvm::Regex("C75(08|1[0-9])([^0-9]|$)").match(warning);
}

/// Reports what the kernel must not have.
static LogicalResult checkBinary(Location location, const KernelBinary &binary,
                                 const PtxasOptions &options) {
  for (const std::string &warning : binary.warnings)
    if (!options.allowPerformanceLoss && isPerformanceLoss(warning))
      return emitError(location)
             << "kernel '" << binary.name << "' loses performance on "
             << options.target->name << ": " << warning;
  if (!options.allowSpills && binary.spillBytes > 0)
    return emitError(location)
           << "kernel '" << binary.name << "' spills registers on "
           << options.target->name << ": " << binary.spillBytes
           << " bytes of spill stores and loads with " << binary.registers
           << " registers";
  return success();
}

/// Runs ptxas on `ptx`.
static FailureOr<KernelBinary> runPtxas(Location location, StringRef name,
                                        StringRef ptx,
                                        ArrayRef<StringRef> arguments,
                                        const PtxasOptions &options) {
  TemporaryDir temporary(options.temporaryDir);
  if (temporary.error)
    return emitError(location) << "cannot make a temporary directory: "
                               << temporary.error.message();
  std::string stem = name.str() + "." + options.target->name.str();
  std::string input = temporary / (stem + ".ptx");
  std::string output = temporary / (stem + ".cubin");
  llvm::scope_exit cleanUp([&] {
    fs::remove(input);
    fs::remove(output);
    fs::remove(temporary / (stem + ".log"));
  });
  if (llvm::Error error = writeOutput(input, ptx))
    return emitError(location) << llvm::toString(std::move(error));

  SmallVector<StringRef> argv(arguments);
  argv.append({"-o", output, input});
  ProgramResult run =
      runProgram(options.ptxas.path, argv, temporary / (stem + ".log"));
  if (run.status != 0) {
    // ptxas names its input; the user knows the kernel.
    StringRef said = StringRef(run.output).trim();
    return emitError(location)
           << "ptxas " << options.ptxas.version << " refuses kernel '" << name
           << "' for " << options.target->name << ": "
           << (run.message.empty() ? said : StringRef(run.message));
  }
  KernelBinary binary;
  binary.name = name.str();
  binary.ptx = ptx.str();
  parseLog(run.output, binary);
  std::string cubin = readFile(output);
  if (cubin.empty())
    return emitError(location) << "ptxas " << options.ptxas.version
                               << " wrote no cubin for kernel '" << name << "'";
  binary.cubin.assign(cubin.begin(), cubin.end());
  return binary;
}

FailureOr<KernelBinary>
backfuse::assembleWithPtxas(Location location, StringRef name, StringRef ptx,
                            const PtxasOptions &options) {
  std::string archArgument = "-arch=" + options.target->name.str();
  // The PTX spells every fused multiply-add; ptxas shall not add any.
  SmallVector<StringRef> arguments{"-v", archArgument, "-O3", "-fmad=false"};
  if (options.lineInfo)
    arguments.push_back("-lineinfo");

  std::string cacheFile = getCacheFile(ptx, arguments, options);
  if (!cacheFile.empty())
    if (auto cached = deserializeKernelBinary(readFile(cacheFile));
        cached && cached->name == name && cached->ptx == ptx) {
      if (failed(checkBinary(location, *cached, options)))
        return failure();
      return *cached;
    }

  FailureOr<KernelBinary> binary =
      runPtxas(location, name, ptx, arguments, options);
  if (failed(binary))
    return failure();
  if (binary->spillBytes > 0) {
    // The default weighs registers against scheduling; asked to save registers,
    // ptxas often finds the few that it spilled.
    SmallVector<StringRef> saving(arguments);
    saving.push_back("--register-usage-level=0");
    FailureOr<KernelBinary> other =
        runPtxas(location, name, ptx, saving, options);
    if (succeeded(other) && other->spillBytes < binary->spillBytes)
      binary = other;
  }
  writeCache(cacheFile, *binary);
  if (failed(checkBinary(location, *binary, options)))
    return failure();
  return binary;
}

std::optional<std::string> backfuse::disassemble(const Ptxas &ptxas,
                                                 const KernelBinary &binary) {
  auto tool =
      llvm::sys::findProgramByName("nvdisasm", {path::parent_path(ptxas.path)});
  if (!tool)
    tool = llvm::sys::findProgramByName("nvdisasm");
  TemporaryDir temporary("");
  if (!tool || temporary.error)
    return std::nullopt;
  std::string cubin = temporary / "cubin";
  if (llvm::Error error = writeOutput(
          cubin, StringRef(binary.cubin.data(), binary.cubin.size()))) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  ProgramResult run = runProgram(*tool, {"-c", cubin}, temporary / "sass");
  if (run.status != 0)
    return std::nullopt;
  return std::move(run.output);
}
