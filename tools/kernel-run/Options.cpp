//===- Options.cpp - kernel-run's command line ----------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>

using namespace backfuse;
using namespace backfuse::run;

/// Splits "name=value".
static std::pair<std::string, std::string> splitPair(const std::string &text,
                                                     const char *option) {
  size_t equal = text.find('=');
  if (equal == std::string::npos || equal == 0 || equal + 1 == text.size())
    throw UsageError(std::string(option) + ": expected NAME=VALUE, got '" +
                     text + "'");
  return {text.substr(0, equal), text.substr(equal + 1)};
}

template <typename Value>
static void insertOnce(std::map<std::string, Value> &map,
                       const std::string &name, Value value,
                       const char *option) {
  if (!map.emplace(name, std::move(value)).second)
    throw UsageError(std::string(option) + " names " + name + " twice");
}

static double parseNumber(const std::string &text, const std::string &what) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end)
    throw UsageError(what + ": '" + text + "' is not a number");
  return value;
}

static uint64_t parseSeed(const std::string &text) {
  errno = 0;
  if (text.find_first_not_of("0123456789") == std::string::npos)
    if (uint64_t seed = std::strtoull(text.c_str(), nullptr, 10); errno == 0)
      return seed;
  throw UsageError("--seed: expected a number from 0 to 2^64 - 1, got '" +
                   text + "'");
}

static void parseDims(const std::vector<std::string> &texts, Options &options) {
  for (const std::string &text : texts) {
    auto [name, value] = splitPair(text, "--dims");
    if (value.find_first_not_of("0123456789") != std::string::npos ||
        value.size() > 15)
      throw UsageError("--dims: '" + value + "' is no extent for " + name);
    insertOnce(options.dims, name, int64_t(std::stoll(value)), "--dims");
  }
}

static void parseParams(const std::vector<std::string> &texts,
                        Options &options) {
  for (const std::string &text : texts) {
    auto [name, value] = splitPair(text, "--set");
    insertOnce(options.paramTexts, name, value, "--set");
  }
}

static void parseRates(const std::vector<std::string> &texts,
                       Options &options) {
  for (const std::string &text : texts) {
    auto [name, value] = splitPair(text, "--rates");
    double rate = parseNumber(value, "--rates " + name);
    if (name != "bf16" && name != "fp16" && name != "tf32" && name != "f32")
      throw UsageError("--rates: expected bf16, fp16, tf32 or f32, got '" +
                       name + "'");
    if (!(rate > 0))
      throw UsageError("--rates: " + name + " must be positive");
    insertOnce(options.rates, name, rate, "--rates");
  }
}

/// The kind that `text` names.
template <typename Kind>
static Kind parseKind(const std::string &text,
                      const std::map<std::string, Kind> &kinds,
                      const char *option) {
  auto found = kinds.find(text);
  if (found != kinds.end())
    return found->second;
  std::string names;
  for (const auto &[name, kind] : kinds)
    names += (names.empty() ? "" : ", ") + name;
  throw UsageError(std::string(option) + ": '" + text +
                   "' is none of: " + names);
}

static void parseTolerance(const std::vector<std::string> &texts,
                           Options &options) {
  if (texts.empty())
    return;
  if (texts.size() != 3)
    throw UsageError("--tolerance: expected ATOL,RTOL,MATCH");
  Tolerance tolerance;
  tolerance.atol = parseNumber(texts[0], "--tolerance");
  tolerance.rtol = parseNumber(texts[1], "--tolerance");
  tolerance.match = parseNumber(texts[2], "--tolerance");
  if (tolerance.atol < 0 || tolerance.rtol < 0 || !(tolerance.match >= 0) ||
      tolerance.match > 1)
    throw UsageError("--tolerance: expected ATOL and RTOL of at least 0 and a "
                     "MATCH from 0 to 1");
  options.tolerance = tolerance;
}

/// What one option excludes or needs.
static void checkTogether(const Options &options) {
  auto refuse = [](bool wrong, const char *why) {
    if (wrong)
      throw UsageError(why);
  };
  bool cases = !options.casesFile.empty();
  refuse(cases && (!options.dims.empty() || !options.paramTexts.empty()),
         "--cases gives dimensions and parameters: leave --dims and --set out");
  refuse(cases && !options.inputFiles.empty(),
         "--cases makes its inputs: leave --input out");
  refuse(cases && !options.outputDir.empty() && options.onlyCases.size() != 1,
         "--output-dir holds one case's outputs: choose it with --case");
  refuse(!cases && options.compareDigestsFile.empty() &&
             (options.maxTokens || !options.onlyCases.empty()),
         "--max-tokens and --case choose among --cases");
  bool exact = options.inputs == reference::Inputs::Exact;
  refuse(exact && options.check && *options.check != CheckKind::None,
         "--inputs=exact compares every bit: leave --check out");
  refuse(exact && options.tolerance,
         "--inputs=exact compares every bit: leave --tolerance out");
  refuse(exact && !options.inputFiles.empty(),
         "--inputs=exact makes all inputs: leave --input out");
  refuse(!options.hardInputs.empty() && !reference::isHard(options.inputs),
         "--hard-inputs needs --inputs=hard:KIND");
  refuse(!options.hardInputs.empty() && !options.digestsFile.empty(),
         "--digests keeps no names of inputs: leave --hard-inputs out");
  refuse(options.ends && !exact, "--ends needs --inputs=exact");
  refuse(options.ends && !options.outputDir.empty(),
         "--ends keeps no outputs: leave --output-dir out");
  bool compares = !options.compareDigestsFile.empty();
  refuse(compares &&
             (cases || !options.dims.empty() || !options.paramTexts.empty() ||
              !options.inputFiles.empty()),
         "--compare-digests gives cases and inputs: leave --cases, --dims, "
         "--set and --input out");
  refuse(compares && (options.check || options.tolerance),
         "--compare-digests compares every bit: leave --check and --tolerance "
         "out");
  refuse(options.ends && (compares || !options.digestsFile.empty()),
         "--ends keeps no outputs: leave --digests and --compare-digests out");
  refuse(!options.ptxDir.empty() &&
             options.device.compare(0, 8, "emulator") != 0,
         "--ptx needs --device=emulator");
  refuse(options.ends && options.repeat > 1,
         "--ends runs once: leave --repeat out");
}

std::optional<int> backfuse::run::parseOptions(int argc, char **argv,
                                               Options &options) {
  CLI::App app("Runs a Backfuse bundle, checks its outputs and times it.",
               "kernel-run");
  app.set_version_flag("--version", bf_version());
  app.footer("Exit status: 0 all cases passed; 1 a case failed; 2 the command "
             "line or a file\ndoes not fit, or a case cannot be run that way; "
             "3 none failed, but in one no\nelement could be compared.");
  std::vector<std::string> dims, params, inputs, rates, tolerance;
  auto list = [&](const char *name, std::vector<std::string> &values,
                  const char *help, const char *type) {
    app.add_option(name, values, help)
        ->delimiter(',')
        ->expected(1)
        ->take_all()
        ->type_name(type);
  };
  app.add_option("bundle", options.bundle, "the bundle, FILE.bfb")
      ->required()
      ->type_name("FILE");
  app.add_option("--device", options.device,
                 "auto (default), cuda:N, emulator, emulator:TARGET, reference")
      ->type_name("DEVICE");
  list("--dims", dims, "values of the variable dimensions", "B=4,S=512");
  list("--set", params, "values of the parameters", "NAME=VALUE");
  app.add_option("--input", inputs,
                 "an input from a NumPy file (repeatable); bf16 is |V2, <u2 "
                 "(its bits) or <f4 (rounded)")
      ->type_name("NAME=FILE.npy")
      ->expected(1)
      ->take_all();
  app.add_option("--output-dir", options.outputDir,
                 "write the outputs there as NAME.npy")
      ->type_name("DIR");
  std::string seed, inputKind, check;
  app.add_option("--seed", seed, "seed of the inputs (default 0)")
      ->type_name("N");
  app.add_option(
         "--inputs", inputKind,
         "random (default); exact: small integers, every bit of the outputs is "
         "compared; or random ones that are hard for the routes of products: "
         "hard:scaled (rows and columns times 2^-60 to 2^60), hard:mixed "
         "(elements times 2^100 beside 2^-100), hard:subnormal (every second "
         "element), hard:huge (one element a row near the type's maximum)")
      ->type_name("KIND");
  list("--hard-inputs", options.hardInputs,
       "which inputs --inputs=hard:KIND makes hard, the others being random "
       "(default: all)",
       "NAME,...");
  std::map<std::string, CheckKind> checkKinds = {
      {"none", CheckKind::None},
      {"eager", CheckKind::Eager},
      {"exact", CheckKind::Exact},
      {"declared", CheckKind::Declared},
      {"both", CheckKind::Both}};
  app.add_option("--check", check,
                 "eager, exact (f64), declared (the routes' roundings), "
                 "both (eager and exact), none")
      ->type_name("KIND");
  list("--tolerance", tolerance,
       "instead of the published one or the numerics contract's bound",
       "ATOL,RTOL,MATCH");
  app.add_option("--cases", options.casesFile, "the cases of a workloads file")
      ->type_name("FILE.json");
  int64_t maxTokens = 0;
  CLI::Option *maxOption =
      app.add_option("--max-tokens", maxTokens, "leave out larger cases")
          ->check(CLI::NonNegativeNumber)
          ->type_name("N");
  app.add_option("--case", options.onlyCases,
                 "only the case with this index (repeatable)")
      ->expected(1)
      ->take_all()
      ->type_name("K");
  app.add_option("--ends", options.ends,
                 "for huge problems on exact inputs: compare only the first "
                 "and last N rows")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--repeat", options.repeat,
                 "run N times; all must give the same bytes")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_flag("--bench", options.bench, "measure times");
  app.add_option("--bench-runs", options.benchRuns,
                 "how many runs are measured (default 50)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  list("--rates", rates,
       "operations per second for the floor; default: measured on an H200",
       "bf16=797e12,...");
  app.add_option("--json", options.jsonFile, "write all results there")
      ->type_name("FILE");
  app.add_option("--digests", options.digestsFile,
                 "write the XXH64 of every output of every case there")
      ->type_name("FILE");
  app.add_option("--compare-digests", options.compareDigestsFile,
                 "run the cases of a file that --digests wrote, on its inputs, "
                 "and compare")
      ->type_name("FILE");
  app.add_option("--ptx", options.ptxDir,
                 "on the emulator: modules from DIR/TARGET.N.ptx, where that "
                 "is there, in place of the bundle's")
      ->type_name("DIR");
  CLI::Option *report =
      app.add_option("--report", options.emulatorReport,
                     "on the emulator: print what each kernel did")
          ->expected(0, 1)
          ->type_name("[text|json]")
          ->check(CLI::IsMember({"text", "json", ""}));
  app.add_option("--write-ptx", options.writePtxDir,
                 "write the bundle's PTX as DIR/TARGET.N.ptx, run nothing")
      ->type_name("DIR");
  app.add_flag("--list", options.list,
               "print signature, targets, variants and routes, run nothing");
  try {
    app.parse(argc, argv);
    parseDims(dims, options);
    parseParams(params, options);
    parseRates(rates, options);
    parseTolerance(tolerance, options);
    for (const std::string &input : inputs) {
      auto [name, file] = splitPair(input, "--input");
      insertOnce(options.inputFiles, name, file, "--input");
    }
    if (*report && options.emulatorReport.empty())
      options.emulatorReport = "text";
    if (!seed.empty())
      options.seed = parseSeed(seed);
    if (!inputKind.empty())
      options.inputs =
          parseKind(inputKind, reference::inputKinds(), "--inputs");
    if (!check.empty())
      options.check = parseKind(check, checkKinds, "--check");
    if (*maxOption)
      options.maxTokens = maxTokens;
    checkTogether(options);
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr, "kernel-run: %s (--help lists the options)\n",
                 error.what());
    return 2;
  } catch (const UsageError &error) {
    std::fprintf(stderr, "kernel-run: %s\n", error.what());
    return 2;
  }
  return std::nullopt;
}
