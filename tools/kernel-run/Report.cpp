//===- Report.cpp - Results as a table and as JSON ------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"
#include "Digests.h"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace backfuse;
using namespace backfuse::run;
using nlohmann::json;

bool CaseResult::passed() const {
  bool good = error.empty() && differingRuns == 0;
  for (const OutputCheck &check : checks)
    good &= check.passed;
  return good;
}

std::string Report::dimsText(const Case &problem) {
  std::string text;
  char number[32];
  for (const auto &[name, value] : problem.dims)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  for (const auto &[name, value] : problem.params) {
    std::snprintf(number, sizeof(number), "%g", value);
    text += (text.empty() ? "" : " ") + name + "=" + number;
  }
  return text.empty() ? "-" : text;
}

Report::Report(const Options &options, const Signature &signature,
               const std::vector<Case> &cases)
    : options(options), signature(signature) {
  for (const Case &problem : cases)
    dimsWidth = std::max(dimsWidth, static_cast<int>(dimsText(problem).size()));
}

/// Every output has a column as wide as its name.
static int columnWidth(const bf_argument &output) {
  return std::max(8, static_cast<int>(std::strlen(output.name)));
}

void Report::printHeader() const {
  std::printf("%4s  %-*s  %7s", "case", dimsWidth, "dims", "variant");
  for (const bf_argument &output : signature.outputs)
    std::printf("  %*s", columnWidth(output), output.name);
  std::printf("  %-6s  %s\n", "result", options.bench ? "us" : "seconds");
}

/// "100%" only if every element matches.
static std::string percent(const reference::Comparison &comparison) {
  if (comparison.mismatches == 0)
    return "100%";
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f%%",
                std::min(99.999, 100 * comparison.matched()));
  return text;
}

/// The least of the shares that match in an output's checks; "-" without one.
static std::string matchedText(const CaseResult &result,
                               const std::string &output) {
  const reference::Comparison *least = nullptr;
  for (const OutputCheck &check : result.checks)
    if (check.output == output && !check.skipped &&
        (!least || check.comparison.matched() < least->matched()))
      least = &check.comparison;
  return least ? percent(*least) : "-";
}

static void printTiming(const CaseResult &result) {
  const Timing &timing = *result.timing;
  std::printf("      median %.2f us, mean %.2f, %.2f to %.2f; ",
              timing.medianUs, timing.meanUs, timing.minUs, timing.maxUs);
  if (result.floor)
    std::printf(
        "floor %.2f (bytes %.2f, operations %.2f), %.2f times it; ",
        result.floor->us(), result.floor->bytesUs, result.floor->operationsUs,
        result.floor->us() > 0 ? timing.medianUs / result.floor->us() : NAN);
  std::printf("CPU %.2f us prepared, %.2f unprepared; %.0f MHz\n",
              timing.cpuPlanUs, timing.cpuLaunchUs, timing.smMhz);
}

void Report::printRow(const CaseResult &result) const {
  std::string variant =
      result.plan ? std::to_string(result.plan->variant) : "-";
  std::printf("%4d  %-*s  %7s", result.problem.index, dimsWidth,
              result.dimsText.c_str(), variant.c_str());
  for (const bf_argument &output : signature.outputs)
    std::printf("  %*s", columnWidth(output),
                matchedText(result, output.name).c_str());
  const char *verdict = !result.passed()        ? "FAIL"
                        : result.checks.empty() ? "ran"
                                                : "ok";
  if (result.timing)
    std::printf("  %-6s  %.2f\n", verdict, result.timing->medianUs);
  else
    std::printf("  %-6s  %.2f\n", verdict, result.seconds);
  if (!result.error.empty())
    std::printf("      %s\n", result.error.c_str());
  if (result.differingRuns)
    std::printf("      %d of %d runs gave other bytes than the first\n",
                result.differingRuns, result.runs);
  for (const OutputCheck &check : result.checks) {
    if (check.skipped)
      std::printf("      %s against %s: not counted, the eager reference "
                  "itself matches less than %g%% there\n",
                  check.output.c_str(), check.against.c_str(),
                  100 * check.needed);
    else if (!check.passed)
      std::printf("      %s against %s (%s): %s matches, needed %g%%; %s\n",
                  check.output.c_str(), check.against.c_str(),
                  check.limit.c_str(), percent(check.comparison).c_str(),
                  100 * check.needed, check.detail.c_str());
    if (!check.note.empty())
      std::printf("        %s\n", check.note.c_str());
  }
  // Where anything passes, "100%" says nothing.
  for (const OutputCheck &check : result.checks)
    if (check.comparison.unbounded)
      std::printf("      %s against %s: %lld of %lld elements have no bound "
                  "(overflow, or a NaN that rounding errors decide)\n",
                  check.output.c_str(), check.against.c_str(),
                  static_cast<long long>(check.comparison.unbounded),
                  static_cast<long long>(check.comparison.elements));
  if (result.timing)
    printTiming(result);
  std::fflush(stdout);
}

void Report::printSummary(const std::vector<CaseResult> &results) const {
  std::map<uint32_t, const CaseResult *> variants;
  double sumUs = 0, sumFloor = 0;
  size_t timed = 0, passed = 0;
  for (const CaseResult &result : results) {
    if (result.plan)
      variants.emplace(result.plan->variant, &result);
    if (result.timing) {
      ++timed;
      sumUs += result.timing->medianUs;
      sumFloor += result.floor ? result.floor->us() : 0;
    }
    passed += result.passed();
  }
  for (const auto &[variant, result] : variants) {
    std::printf("variant %u: %s\n", variant, result->plan->variantName.c_str());
    for (const std::string &route : result->routes)
      std::printf("  product %s\n", route.c_str());
  }
  if (timed > 1)
    std::printf("mean of %zu cases: %.2f us, floor %.2f us\n", timed,
                sumUs / static_cast<double>(timed),
                sumFloor / static_cast<double>(timed));
  std::printf("%zu passed, %zu failed\n", passed, results.size() - passed);
  std::fflush(stdout);
}

static json checkJson(const OutputCheck &check) {
  const reference::Comparison &comparison = check.comparison;
  json result = {{"output", check.output},
                 {"against", check.against},
                 {"limit", check.limit},
                 {"elements", comparison.elements},
                 {"mismatches", comparison.mismatches},
                 {"non_finite", comparison.nonFinite},
                 {"unbounded", comparison.unbounded},
                 {"matched", comparison.matched()},
                 {"needed", check.needed},
                 {"max_error", comparison.maxError},
                 {"passed", check.passed},
                 {"skipped", check.skipped}};
  if (!check.detail.empty())
    result["detail"] = check.detail;
  if (!check.note.empty())
    result["note"] = check.note;
  return result;
}

static json caseJson(const CaseResult &result) {
  json row = {{"index", result.problem.index},
              {"axes", result.problem.axes},
              {"scalars", result.problem.scalars},
              {"dims", result.problem.dims},
              {"params", result.problem.params},
              {"tokens", result.problem.tokens},
              {"passed", result.passed()},
              {"seconds", result.seconds},
              {"runs", result.runs},
              {"differing_runs", result.differingRuns},
              {"checks", json::array()}};
  for (const OutputCheck &check : result.checks)
    row["checks"].push_back(checkJson(check));
  if (!result.error.empty())
    row["error"] = result.error;
  if (!result.digests.empty())
    row["digests"] = result.digests;
  if (const auto &tolerance = result.problem.tolerance)
    row["tolerance"] = {{"atol", tolerance->atol},
                        {"rtol", tolerance->rtol},
                        {"match", tolerance->match}};
  if (const auto &plan = result.plan) {
    row["variant"] = {{"index", plan->variant},
                      {"name", plan->variantName},
                      {"routes", result.routes},
                      {"steps", plan->numSteps},
                      {"workspace_bytes", plan->workspaceBytes}};
    row["least_bytes"] = plan->leastBytes;
    row["operations"] = {{"bf16", plan->operations[BF_RATE_BF16]},
                         {"fp16", plan->operations[BF_RATE_F16]},
                         {"tf32", plan->operations[BF_RATE_TF32]},
                         {"f32", plan->operations[BF_RATE_F32]}};
  }
  if (const auto &timing = result.timing) {
    row["median_us"] = timing->medianUs;
    row["mean_us"] = timing->meanUs;
    row["min_us"] = timing->minUs;
    row["max_us"] = timing->maxUs;
    row["timed_runs"] = timing->runs;
    row["discarded_runs"] = timing->discarded;
    row["sm_mhz"] = timing->smMhz;
    row["cpu_prepared_us"] = timing->cpuPlanUs;
    row["cpu_unprepared_us"] = timing->cpuLaunchUs;
  }
  if (const auto &floor = result.floor) {
    row["floor_us"] = floor->us();
    row["floor_bytes_us"] = floor->bytesUs;
    row["floor_operations_us"] = floor->operationsUs;
  }
  return row;
}

void Report::writeJson(const std::vector<CaseResult> &results,
                       json environment) const {
  json document = std::move(environment);
  document["schema"] = "backfuse-run/1";
  size_t passed = 0;
  document["cases"] = json::array();
  for (const CaseResult &result : results) {
    document["cases"].push_back(caseJson(result));
    passed += result.passed();
  }
  document["passed"] = passed;
  document["failed"] = results.size() - passed;
  // Texts come from bundles and drivers, in any encoding.
  writeWhole(options.jsonFile,
             document.dump(1, ' ', false, json::error_handler_t::replace) +
                 "\n");
}
