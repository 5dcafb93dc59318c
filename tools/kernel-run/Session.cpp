//===- Session.cpp - One run of kernel-run --------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Session.h"
#include "Digests.h"
#include "Ends.h"
#include "List.h"
#include "Npy.h"
#include "Report.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <unistd.h>

using namespace backfuse;
using namespace backfuse::run;
using Clock = std::chrono::steady_clock;

static Bundle loadBundle(const std::string &path) {
  try {
    return Bundle::load(path);
  } catch (const Error &error) {
    throw UsageError(error.what());
  }
}

namespace {
class Session {
public:
  explicit Session(const Options &options)
      : options(options), bundle(loadBundle(options.bundle)),
        signature(bundle) {}

  int run();

private:
  std::vector<Case> chooseCases();
  void checkHardInputs() const;
  Case caseFromOptions() const;
  CaseResult runCase(const Case &problem);
  void download(std::vector<reference::Tensor> &outputs,
                const Case &problem) const;
  void runLoaded(const reference::Problem &problem, CaseResult &result);
  void runEnds(CaseResult &result);
  reference::Problem makeProblem(const Case &problem) const;
  CheckRequest requestFor(const Case &problem) const;
  void describePlan(CaseResult &result) const;
  void measure(CaseResult &result);
  void writeOutputs(const std::vector<reference::Tensor> &outputs) const;
  void prepareFiles() const;
  uint64_t tensorBytes(const Case &source) const;
  void requireMemory(const Case &source) const;
  void parseParams();
  void writePtx(const std::string &directory) const;
  void printReports() const;
  nlohmann::json environment() const;
  void progress(const char *what) const {
    if (showsProgress)
      std::fprintf(stderr, "kernel-run: [%zu/%zu] %s: %s\n", current, total,
                   currentText.c_str(), what);
  }

  Options options;
  Bundle bundle;
  Signature signature;
  std::unique_ptr<Device> device;
  double copyBytesPerSecond = 0;
  size_t current = 0, total = 0;
  std::string currentText;
  bool showsProgress = false;
};
} // namespace

/// Operations per second. bf16, fp16 and tf32: measured on one H200 with random
/// data and library kernels; f32: its data sheet's.
static double rateOf(const Options &options, bf_rate rate) {
  static const char *const names[BF_NUM_RATES] = {"bf16", "fp16", "tf32",
                                                  "f32"};
  static const double defaults[BF_NUM_RATES] = {797e12, 765e12, 414e12, 67e12};
  auto found = options.rates.find(names[rate]);
  return found == options.rates.end() ? defaults[rate] : found->second;
}

static Floor computeFloor(const PlanSummary &plan, const Options &options,
                          double copyBytesPerSecond) {
  Floor floor;
  floor.bytesUs =
      static_cast<double>(plan.leastBytes) / copyBytesPerSecond * 1e6;
  for (int rate = 0; rate < BF_NUM_RATES; ++rate)
    floor.operationsUs += static_cast<double>(plan.operations[rate]) /
                          rateOf(options, static_cast<bf_rate>(rate)) * 1e6;
  return floor;
}

//===----------------------------------------------------------------------===//
// What to run
//===----------------------------------------------------------------------===//

void Session::checkHardInputs() const {
  for (const std::string &name : options.hardInputs)
    if (std::none_of(signature.inputs.begin(), signature.inputs.end(),
                     [&](const bf_argument &i) { return name == i.name; }))
      throw UsageError("--hard-inputs: the graph has no input " + name);
}

/// The texts of --set, as the graph's parameters have them.
void Session::parseParams() {
  for (const auto &[name, text] : options.paramTexts)
    options.params[name] = signature.parseParam(name, text);
}

Case Session::caseFromOptions() const {
  Case problem;
  problem.dims = options.dims;
  problem.params = options.params;
  problem.tolerance = options.tolerance;
  for (const auto &[name, file] : options.inputFiles) {
    auto found = std::find_if(
        signature.inputs.begin(), signature.inputs.end(),
        [&, &name = name](const bf_argument &i) { return name == i.name; });
    if (found == signature.inputs.end())
      throw UsageError("--input: the graph has no input " + name);
    reference::Tensor tensor =
        readNpy(file, static_cast<bundle::DType>(found->dtype));
    signature.inferDims(*found, tensor.shape, problem.dims);
  }
  Values values = signature.values(problem.dims, problem.params);
  for (int64_t dim : values.dims)
    if (__builtin_mul_overflow(problem.tokens, dim, &problem.tokens))
      throw UsageError("--dims: the product of the dimensions is too large");
  problem.axes = problem.dims;
  problem.scalars = problem.params;
  return problem;
}

std::vector<Case> Session::chooseCases() {
  bool digests = !options.compareDigestsFile.empty();
  const std::string &file =
      digests ? options.compareDigestsFile : options.casesFile;
  if (file.empty())
    return {caseFromOptions()};
  std::vector<Case> chosen;
  std::vector<Case> all =
      digests ? readDigests(file, signature, options.inputs, options.seed)
              : readCases(file, signature);
  for (int index : options.onlyCases)
    if (index < 0 || index >= static_cast<int>(all.size()))
      throw UsageError("--case " + std::to_string(index) + ": " + file +
                       " has cases 0 to " + std::to_string(all.size() - 1));
  for (Case &problem : all) {
    bool wanted = options.onlyCases.empty() ||
                  std::find(options.onlyCases.begin(), options.onlyCases.end(),
                            problem.index) != options.onlyCases.end();
    if (!wanted || (options.maxTokens && problem.tokens > *options.maxTokens))
      continue;
    signature.values(problem.dims, problem.params);
    if (options.tolerance)
      problem.tolerance = options.tolerance;
    chosen.push_back(std::move(problem));
  }
  if (chosen.empty())
    throw UsageError("no case of " + file + " is left");
  return chosen;
}

CheckRequest Session::requestFor(const Case &problem) const {
  if (options.inputs == reference::Inputs::Exact)
    return {CheckKind::Bits, std::nullopt};
  CheckRequest request;
  bool hard = reference::isHard(options.inputs);
  // What is published is about inputs of ordinary size.
  request.tolerance = hard ? options.tolerance : problem.tolerance;
  if (options.check)
    request.kind = *options.check;
  else if (options.bench || options.repeat > 1)
    request.kind = CheckKind::None; // asked for something else
  else if (hard && device->plan())
    request.kind = CheckKind::Declared;
  else
    request.kind = CheckKind::Both;
  return request;
}

reference::Problem Session::makeProblem(const Case &source) const {
  reference::Problem problem;
  problem.dims = source.dims;
  problem.params = source.params;
  std::string error =
      reference::makeInputs(*flatBundle(bundle).graph(), options.inputs,
                            options.seed, problem, options.hardInputs);
  // A property of the graph, not of what was compiled from it.
  if (!error.empty() && options.inputs == reference::Inputs::Exact)
    throw Impossible(error);
  require(error);
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    auto file = options.inputFiles.find(signature.inputs[i].name);
    if (file != options.inputFiles.end())
      problem.inputs[i] = readNpy(
          file->second, static_cast<bundle::DType>(signature.inputs[i].dtype));
  }
  return problem;
}

//===----------------------------------------------------------------------===//
// One case
//===----------------------------------------------------------------------===//

void Session::describePlan(CaseResult &result) const {
  result.plan = device->plan();
  if (!result.plan)
    return;
  uint32_t target = result.plan->target, variant = result.plan->variant;
  uint32_t count = bundle.variant(target, variant).num_products;
  for (uint32_t i = 0; i < count; ++i) {
    bf_product_info product = bundle.product(target, variant, i);
    result.routes.push_back("of op " + std::to_string(product.op) + ": " +
                            product.route + (*product.location ? " at " : "") +
                            product.location);
  }
}

/// Refuses what cannot be written before anything is run for it.
void Session::prepareFiles() const {
  for (const std::string &file : {options.jsonFile, options.digestsFile})
    if (!file.empty())
      requireWritable(file);
  std::error_code error;
  if (!options.outputDir.empty())
    std::filesystem::create_directories(options.outputDir, error);
  if (error)
    throw UsageError(options.outputDir +
                     ": cannot be made: " + error.message());
}

void Session::writeOutputs(
    const std::vector<reference::Tensor> &outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i)
    writeNpy(options.outputDir + "/" + signature.outputs[i].name + ".npy",
             outputs[i]);
}

void Session::measure(CaseResult &result) {
  if (copyBytesPerSecond == 0)
    copyBytesPerSecond = device->copyBandwidth();
  result.timing = device->bench(options.benchRuns);
  if (result.plan)
    result.floor = computeFloor(*result.plan, options, copyBytesPerSecond);
}

void Session::download(std::vector<reference::Tensor> &outputs,
                       const Case &problem) const {
  Values values = signature.values(problem.dims, problem.params);
  outputs.resize(signature.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bf_argument &output = signature.outputs[i];
    outputs[i] = reference::Tensor(static_cast<bundle::DType>(output.dtype),
                                   Signature::shape(output, values.dims));
    device->read(i, 0, outputs[i].bytes.size(), outputs[i].bytes.data());
  }
}

/// Bytes of the inputs and outputs; the largest number if they are not
/// countable.
uint64_t Session::tensorBytes(const Case &source) const {
  uint64_t total = 0;
  Values values = signature.values(source.dims, source.params);
  for (const std::vector<bf_argument> *list :
       {&signature.inputs, &signature.outputs})
    for (const bf_argument &argument : *list) {
      auto bytes = static_cast<uint64_t>(reference::bytesPerElement(
          static_cast<bundle::DType>(argument.dtype)));
      for (int64_t extent : Signature::shape(argument, values.dims))
        if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent),
                                   &bytes))
          return UINT64_MAX;
      if (__builtin_add_overflow(total, bytes, &total))
        return UINT64_MAX;
    }
  return total;
}

/// Refuses what this machine cannot hold, before it tries.
void Session::requireMemory(const Case &source) const {
  uint64_t tensors = tensorBytes(source), needed = tensors;
  if (device->copiesToHost() && __builtin_mul_overflow(tensors, 2, &needed))
    needed = UINT64_MAX;
  uint64_t present = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (needed <= present)
    return;
  throw Impossible(
      "needs at least " +
      (needed == UINT64_MAX ? "2^64" : std::to_string(needed)) +
      " bytes of memory for its inputs and outputs" +
      (device->copiesToHost() ? ", each held twice" : "") +
      ", and this machine has " + std::to_string(present) +
      ": choose smaller dimensions (or, on a GPU, --inputs=exact --ends N, "
      "which holds only a part)");
}

/// Huge problems: inputs that repeat, outputs compared in windows.
void Session::runEnds(CaseResult &result) {
  progress("making inputs");
  EndsCheck ends(bundle, signature, result.problem, options.seed);
  device->load(ends.problem(),
               signature.values(result.problem.dims, result.problem.params));
  describePlan(result);
  progress("running");
  device->run();
  result.runs = 1;
  progress("checking");
  result.checks = ends.check(*device, options.ends);
  if (options.bench) {
    progress("measuring");
    measure(result);
  }
}

void Session::runLoaded(const reference::Problem &problem, CaseResult &result) {
  std::vector<reference::Tensor> outputs, again;
  progress("running");
  device->run();
  download(outputs, result.problem);
  result.runs = 1;
  for (; result.runs < options.repeat; ++result.runs) {
    device->run();
    download(again, result.problem);
    bool same = true;
    for (size_t i = 0; i < outputs.size(); ++i)
      same &= outputs[i].bytes == again[i].bytes;
    result.differingRuns += !same;
  }
  if (!options.outputDir.empty())
    writeOutputs(outputs);
  result.digests = digestOutputs(signature, outputs);
  if (!result.problem.digests.empty()) {
    result.checks =
        compareDigests(signature, result.problem, result.digests, outputs);
  } else {
    CheckRequest request = requestFor(result.problem);
    if (request.kind != CheckKind::None)
      progress("checking");
    result.checks =
        checkOutputs(bundle, problem, outputs, result.plan, request);
  }
  if (options.bench) {
    progress("measuring");
    measure(result);
  }
}

CaseResult Session::runCase(const Case &source) {
  CaseResult result;
  result.problem = source;
  result.dimsText = Report::dimsText(source);
  currentText = result.dimsText;
  Clock::time_point begin = Clock::now();
  try {
    if (options.ends && source.tokens > 0) {
      runEnds(result);
    } else {
      requireMemory(source);
      progress("making inputs");
      reference::Problem problem = makeProblem(source);
      device->load(problem, signature.values(source.dims, source.params));
      describePlan(result);
      runLoaded(problem, result);
    }
  } catch (const UsageError &) {
    throw;
  } catch (const Impossible &error) {
    result.error = error.what();
    result.skipped = true;
  } catch (const std::bad_alloc &) {
    result.error = "out of memory: its tensors alone have " +
                   std::to_string(tensorBytes(source)) + " bytes";
    result.skipped = true;
  } catch (const std::exception &error) {
    result.error = error.what();
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return result;
}

//===----------------------------------------------------------------------===//
// All cases
//===----------------------------------------------------------------------===//

nlohmann::json Session::environment() const {
  bf_bundle_info info = bundle.info();
  nlohmann::json result = {{"bundle", options.bundle},
                           {"graph", info.graph},
                           {"compiler", info.compiler},
                           {"llvm", info.llvm},
                           {"ptxas", info.ptxas},
                           {"runtime", bf_version()},
                           {"device", device->describe()},
                           {"inputs", reference::nameOf(options.inputs)},
                           {"seed", options.seed},
                           {"repeat", options.repeat}};
  if (copyBytesPerSecond) {
    result["copy_bytes_per_second"] = copyBytesPerSecond;
    result["rates"] = {{"bf16", rateOf(options, BF_RATE_BF16)},
                       {"fp16", rateOf(options, BF_RATE_F16)},
                       {"tf32", rateOf(options, BF_RATE_TF32)},
                       {"f32", rateOf(options, BF_RATE_F32)}};
    result["protocol"] = {{"runs", options.benchRuns},
                          {"flush", "fill of twice the L2 cache"},
                          {"queued_behind_spin", true},
                          {"clock", "cuda events"}};
  }
  return result;
}

/// DIR/TARGET.N.ptx for every module, as --ptx reads them.
void Session::writePtx(const std::string &directory) const {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    throw UsageError(directory + ": cannot be made: " + error.message());
  size_t written = 0;
  for (uint32_t t = 0; t < bundle.info().num_targets; ++t) {
    const auto *modules = flatBundle(bundle).targets()->Get(t)->modules();
    for (uint32_t m = 0; modules && m < modules->size(); ++m)
      if (const flatbuffers::String *text = modules->Get(m)->ptx()) {
        writeWhole(directory + "/" + bundle.target(t).name + "." +
                       std::to_string(m) + ".ptx",
                   text->str());
        ++written;
      }
  }
  if (!written)
    throw Failure("the bundle has no PTX: compile it without --strip-ptx");
}

/// All that the emulator did, as one document: an object for each run, in an
/// array if there can be several.
void Session::printReports() const {
  nlohmann::json reports = device->reports();
  bool single = total == 1 && options.repeat == 1 && reports.size() == 1;
  std::printf("%s\n", (single ? reports[0] : reports).dump(1).c_str());
}

int Session::run() {
  if (options.list) {
    printBundle(bundle);
    return 0;
  }
  if (!options.writePtxDir.empty()) {
    writePtx(options.writePtxDir);
    return 0;
  }
  checkHardInputs();
  parseParams();
  prepareFiles();
  std::vector<Case> cases = chooseCases();
  device = makeDevice(options.device, bundle, options.ptxDir);
  if (!options.emulatorReport.empty())
    device->collectReports(options.emulatorReport == "json");
  if (options.bench && !device->canBench())
    throw UsageError("--bench needs a GPU: device " + device->name() +
                     " has no times");
  if (options.ends && !device->repeatsInputs())
    throw UsageError("--ends needs a device that runs kernels, not " +
                     device->name());
  Report report(options, signature, cases);
  std::fprintf(Report::tableOf(options), "graph %s on %s\n",
               signature.graph.c_str(), device->name().c_str());
  report.printHeader();
  std::vector<CaseResult> results;
  total = cases.size();
  showsProgress = total > 1;
  bool anyFailed = false, anySkipped = false, anyUnchecked = false;
  for (const Case &problem : cases) {
    current = results.size() + 1;
    results.push_back(runCase(problem));
    report.printRow(results.back());
    Verdict verdict = results.back().verdict();
    anyFailed |= verdict == Verdict::Failed;
    anySkipped |= verdict == Verdict::Skipped;
    anyUnchecked |= verdict == Verdict::Unchecked;
  }
  report.printSummary(results);
  if (options.emulatorReport == "json")
    printReports();
  if (copyBytesPerSecond)
    std::fprintf(stderr, "kernel-run: copy %.2f TB/s\n",
                 copyBytesPerSecond * 1e-12);
  if (!options.jsonFile.empty())
    report.writeJson(results, environment());
  if (!options.digestsFile.empty())
    writeDigests(options.digestsFile, signature, options.inputs, options.seed,
                 results);
  return anyFailed ? 1 : anySkipped ? 2 : anyUnchecked ? 3 : 0;
}

int backfuse::run::runSession(const Options &options) {
  return Session(options).run();
}
