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

Verdict CaseResult::verdict() const {
  if (skipped)
    return Verdict::Skipped;
  bool good = error.empty() && differingRuns == 0;
  int64_t elements = 0, compared = 0;
  for (const OutputCheck &check : checks) {
    good &= check.passed;
    elements += check.comparison.elements;
    compared += check.comparison.compared();
  }
  if (!good)
    return Verdict::Failed;
  if (checks.empty())
    return Verdict::Ran;
  return compared == elements ? Verdict::Ok
         : compared           ? Verdict::Partly
                              : Verdict::Unchecked;
}

static const char *verdictText(Verdict verdict) {
  switch (verdict) {
  case Verdict::Ok:
    return "ok";
  case Verdict::Partly:
    return "partly";
  case Verdict::Unchecked:
    return "not checked";
  case Verdict::Ran:
    return "ran";
  case Verdict::Skipped:
    return "skipped";
  case Verdict::Failed:
    return "FAIL";
  }
  return "?";
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
    : options(options), signature(signature), out(tableOf(options)) {
  for (const Case &problem : cases)
    dimsWidth = std::max(dimsWidth, static_cast<int>(dimsText(problem).size()));
}

/// Every output has a column as wide as its name.
static int columnWidth(const bf_argument &output) {
  return std::max(8, static_cast<int>(std::strlen(output.name)));
}

void Report::printHeader() const {
  std::fprintf(out, "%4s  %-*s  %7s", "case", dimsWidth, "dims", "variant");
  for (const bf_argument &output : signature.outputs)
    std::fprintf(out, "  %*s", columnWidth(output), output.name);
  std::fprintf(out, "  %-11s  %s\n", "result",
               options.bench ? "us" : "seconds");
}

/// "100%" only of the whole.
static std::string percent(double share) {
  if (share == 1)
    return "100%";
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f%%",
                std::clamp(100 * share, share > 0 ? 0.001 : 0, 99.999));
  return text;
}

/// "100%" only if every element that was compared matches.
static std::string percent(const reference::Comparison &comparison) {
  return percent(comparison.mismatches
                     ? std::min(comparison.matched(), std::nextafter(1.0, 0.0))
                     : 1);
}

/// "100% of 5.000%" if only these were compared, "-" if none was.
static std::string columnText(const reference::Comparison &comparison) {
  if (comparison.unbounded == 0)
    return percent(comparison);
  if (comparison.compared() == 0)
    return "-";
  return percent(comparison) + " of " +
         percent(static_cast<double>(comparison.compared()) /
                 static_cast<double>(comparison.elements));
}

/// The least of the shares that match in an output's checks; "-" without one.
static std::string matchedText(const CaseResult &result,
                               const std::string &output) {
  const reference::Comparison *least = nullptr;
  for (const OutputCheck &check : result.checks)
    if (check.output == output && !check.skipped &&
        (!least || check.comparison.matched() < least->matched()))
      least = &check.comparison;
  return least ? columnText(*least) : "-";
}

static void printTiming(std::FILE *out, const CaseResult &result) {
  const Timing &timing = *result.timing;
  std::fprintf(out, "      median %.2f us, mean %.2f, %.2f to %.2f; ",
               timing.medianUs, timing.meanUs, timing.minUs, timing.maxUs);
  if (result.floor)
    std::fprintf(
        out, "floor %.2f (bytes %.2f, operations %.2f), %.2f times it; ",
        result.floor->us(), result.floor->bytesUs, result.floor->operationsUs,
        result.floor->us() > 0 ? timing.medianUs / result.floor->us() : NAN);
  std::fprintf(out, "CPU %.2f us prepared, %.2f unprepared; %.0f MHz\n",
               timing.cpuPlanUs, timing.cpuLaunchUs, timing.smMhz);
}

void Report::printRow(const CaseResult &result) const {
  std::string variant =
      result.plan ? std::to_string(result.plan->variant) : "-";
  std::fprintf(out, "%4d  %-*s  %7s", result.problem.index, dimsWidth,
               result.dimsText.c_str(), variant.c_str());
  for (const bf_argument &output : signature.outputs)
    std::fprintf(out, "  %*s", columnWidth(output),
                 matchedText(result, output.name).c_str());
  std::fprintf(out, "  %-11s  %.2f\n", verdictText(result.verdict()),
               result.timing ? result.timing->medianUs : result.seconds);
  if (!result.error.empty())
    std::fprintf(out, "      %s\n", result.error.c_str());
  if (result.differingRuns)
    std::fprintf(out, "      %d of %d runs gave other bytes than the first\n",
                 result.differingRuns, result.runs);
  for (const OutputCheck &check : result.checks) {
    if (check.skipped)
      std::fprintf(out,
                   "      %s against %s: not counted, the eager reference "
                   "itself matches less than %g%% there\n",
                   check.output.c_str(), check.against.c_str(),
                   100 * check.needed);
    else if (!check.passed)
      std::fprintf(out,
                   "      %s against %s (%s): %s matches, needed %g%%; %s\n",
                   check.output.c_str(), check.against.c_str(),
                   check.limit.c_str(), percent(check.comparison).c_str(),
                   100 * check.needed, check.detail.c_str());
    if (!check.note.empty())
      std::fprintf(out, "        %s\n", check.note.c_str());
  }
  // Where anything passes, "100%" says nothing.
  for (const OutputCheck &check : result.checks)
    if (check.comparison.unbounded)
      std::fprintf(out,
                   "      %s against %s: %lld of %lld elements have no bound "
                   "(overflow, or a NaN that rounding errors decide) and were "
                   "not compared\n",
                   check.output.c_str(), check.against.c_str(),
                   static_cast<long long>(check.comparison.unbounded),
                   static_cast<long long>(check.comparison.elements));
  if (result.timing)
    printTiming(out, result);
  std::fflush(out);
}

void Report::printSummary(const std::vector<CaseResult> &results) const {
  std::map<uint32_t, const CaseResult *> variants;
  double sumUs = 0, sumFloor = 0;
  size_t timed = 0;
  std::map<Verdict, size_t> counts;
  for (const CaseResult &result : results) {
    if (result.plan)
      variants.emplace(result.plan->variant, &result);
    if (result.timing) {
      ++timed;
      sumUs += result.timing->medianUs;
      sumFloor += result.floor ? result.floor->us() : 0;
    }
    ++counts[result.verdict()];
  }
  for (const auto &[variant, result] : variants) {
    std::fprintf(out, "variant %u: %s\n", variant,
                 result->plan->variantName.c_str());
    for (const std::string &route : result->routes)
      std::fprintf(out, "  product %s\n", route.c_str());
  }
  if (timed > 1)
    std::fprintf(out, "mean of %zu cases: %.2f us, floor %.2f us\n", timed,
                 sumUs / static_cast<double>(timed),
                 sumFloor / static_cast<double>(timed));
  std::fprintf(out, "%zu passed, %zu failed",
               counts[Verdict::Ok] + counts[Verdict::Partly] +
                   counts[Verdict::Ran],
               counts[Verdict::Failed]);
  if (counts[Verdict::Skipped])
    std::fprintf(out, ", %zu skipped", counts[Verdict::Skipped]);
  if (counts[Verdict::Unchecked])
    std::fprintf(out, ", %zu not checked", counts[Verdict::Unchecked]);
  if (counts[Verdict::Partly])
    std::fprintf(out, "; %zu of the passed compared in part only",
                 counts[Verdict::Partly]);
  std::fprintf(out, "\n");
  std::fflush(out);
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
                 {"compared", comparison.compared()},
                 {"matched", nullptr},
                 {"needed", check.needed},
                 {"max_error", comparison.maxError},
                 {"passed", check.passed},
                 {"skipped", check.skipped}};
  if (comparison.compared() || !comparison.elements)
    result["matched"] = comparison.matched();
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
              {"result", verdictText(result.verdict())},
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
  std::map<Verdict, size_t> counts;
  document["cases"] = json::array();
  for (const CaseResult &result : results) {
    document["cases"].push_back(caseJson(result));
    passed += result.passed();
    ++counts[result.verdict()];
  }
  document["passed"] = passed;
  document["failed"] = counts[Verdict::Failed];
  document["skipped"] = counts[Verdict::Skipped];
  document["not_checked"] = counts[Verdict::Unchecked];
  // Texts come from bundles and drivers, in any encoding.
  writeWhole(options.jsonFile,
             document.dump(1, ' ', false, json::error_handler_t::replace) +
                 "\n");
}
