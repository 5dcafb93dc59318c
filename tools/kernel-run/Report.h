//===- Report.h - Results as a table and as JSON ----------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_KERNELRUN_REPORT_H
#define BACKFUSE_KERNELRUN_REPORT_H

#include "Check.h"
#include "Options.h"

#include <algorithm>
#include <cstdio>

namespace backfuse::run {

/// The least time that the device could take.
struct Floor {
  double bytesUs = 0, operationsUs = 0;
  double us() const { return std::max(bytesUs, operationsUs); }
};

/// Failed: something is wrong. Unchecked: no element of any output could be
/// compared; Partly: some could not. Ran: nothing was to be compared. Skipped:
/// the case could not be run as asked.
enum class Verdict { Ok, Partly, Unchecked, Ran, Skipped, Failed };

struct CaseResult {
  Case problem;
  std::string dimsText;
  std::optional<PlanSummary> plan;
  std::vector<std::string> routes; // one for each product of the variant
  std::vector<OutputCheck> checks;
  std::map<std::string, std::string> digests; // of each output, if it ran
  std::string error;    // why it could not be run or checked
  bool skipped = false; // because it is not possible: the error says why
  int runs = 0, differingRuns = 0;
  std::optional<Timing> timing;
  std::optional<Floor> floor;
  double seconds = 0;

  Verdict verdict() const;
  bool passed() const {
    Verdict is = verdict();
    return is == Verdict::Ok || is == Verdict::Partly || is == Verdict::Ran;
  }
};

/// Prints results as they come, and all of them at the end.
class Report {
public:
  Report(const Options &options, const Signature &signature,
         const std::vector<Case> &cases);

  void printHeader() const;
  void printRow(const CaseResult &result) const;
  /// Routes of every variant that ran, mean times, and `N passed, M failed`,
  /// with what was not checked.
  void printSummary(const std::vector<CaseResult> &results) const;
  /// Writes options.jsonFile, whole or not at all.
  void writeJson(const std::vector<CaseResult> &results,
                 nlohmann::json environment) const;

  static std::string dimsText(const Case &problem);
  /// Where the table goes: stdout, unless that is for the emulator's JSON.
  static std::FILE *tableOf(const Options &options) {
    return options.emulatorReport == "json" ? stderr : stdout;
  }

private:
  const Options &options;
  const Signature &signature;
  std::FILE *out;
  int dimsWidth = 4;
};

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_REPORT_H
