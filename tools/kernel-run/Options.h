//===- Options.h - kernel-run's command line --------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_KERNELRUN_OPTIONS_H
#define BACKFUSE_KERNELRUN_OPTIONS_H

#include "Check.h"

namespace backfuse::run {

struct Options {
  std::string bundle;
  std::string device = "auto";
  std::map<std::string, int64_t> dims;
  std::map<std::string, std::string> paramTexts; ///< of --set
  std::map<std::string, double> params;          ///< the same, once parsed
  std::map<std::string, std::string> inputFiles;
  std::string outputDir;
  uint64_t seed = 0;
  reference::Inputs inputs = reference::Inputs::Random;
  std::vector<std::string> hardInputs;
  std::optional<CheckKind> check;
  std::optional<Tolerance> tolerance;
  std::string casesFile;
  std::optional<int64_t> maxTokens;
  std::vector<int> onlyCases;
  int64_t ends = 0;
  int repeat = 1;
  bool bench = false;
  int benchRuns = 50;
  std::map<std::string, double> rates;
  std::string jsonFile;
  std::string digestsFile;
  std::string compareDigestsFile;
  std::string ptxDir;
  std::string emulatorReport; ///< "", "text" or "json"
  std::string writePtxDir;
  bool list = false;
};

/// Parses the command line. Returns an exit status if the program is to end
/// (help, a mistake), after printing why.
std::optional<int> parseOptions(int argc, char **argv, Options &options);

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_OPTIONS_H
