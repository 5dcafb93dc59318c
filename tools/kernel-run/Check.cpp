//===- Check.cpp - A device's outputs against the evaluator's -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Check.h"

#include <cmath>
#include <cstdio>
#include <set>

using namespace backfuse;
using namespace backfuse::run;
using reference::Comparison;
using reference::Evaluation;
using reference::Mode;
using reference::Tensor;

namespace {
class Checker {
public:
  Checker(const Bundle &bundle, const reference::Problem &problem,
          const std::vector<Tensor> &outputs, const CheckRequest &request)
      : bundle(flatBundle(bundle)), graph(*this->bundle.graph()),
        problem(problem), outputs(outputs), request(request) {}

  void checkBits();
  /// Against a rounded evaluation, by tolerance or bound.
  void checkRounded(Mode mode, const std::optional<PlanSummary> &plan);
  /// Against f64. With an eager evaluation: only where that passes itself.
  void checkExact(const Evaluation *eager);
  /// Of outputs that fail: whether the device did what the plan
  /// declares, so that it is the routes that are not precise enough.
  void noteBounds(const std::optional<PlanSummary> &plan);

  std::vector<OutputCheck> checks;
  Evaluation eager; // of the last checkRounded(Mode::Eager)

private:
  OutputCheck &add(size_t output, const char *against, const char *limit,
                   const Comparison &comparison);
  void explain(OutputCheck &check, const Tensor &actual, double expected);
  reference::Error evaluateDeclared(const PlanSummary &plan, bool bounds,
                                    Evaluation &evaluation) const;
  std::string name(size_t output) const {
    return graph.outputs()->Get(static_cast<unsigned>(output))->name()->str();
  }
  bool passes(const Comparison &comparison) const {
    return comparison.nonFinite == 0 &&
           (request.tolerance ? comparison.matched() >= request.tolerance->match
                              : comparison.mismatches == 0);
  }

  const bundle::Bundle &bundle;
  const bundle::Graph &graph;
  const reference::Problem &problem;
  const std::vector<Tensor> &outputs;
  const CheckRequest &request;
};
} // namespace

OutputCheck &Checker::add(size_t output, const char *against, const char *limit,
                          const Comparison &comparison) {
  OutputCheck check;
  check.output = name(output);
  check.against = against;
  check.limit = limit;
  check.comparison = comparison;
  check.needed = request.tolerance ? request.tolerance->match : 1;
  check.passed = passes(comparison);
  checks.push_back(check);
  return checks.back();
}

std::string backfuse::run::indexText(int64_t index,
                                     const std::vector<int64_t> &shape) {
  std::string text;
  for (size_t i = shape.size(); i-- > 0;) {
    text = std::to_string(index % shape[i]) + (text.empty() ? "" : ", ") + text;
    index /= shape[i];
  }
  return "[" + text + "]";
}

void Checker::explain(OutputCheck &check, const Tensor &actual,
                      double expected) {
  const Comparison &comparison = check.comparison;
  if (comparison.worst < 0 ||
      (comparison.mismatches == 0 && comparison.nonFinite == 0))
    return;
  char text[384];
  std::snprintf(text, sizeof(text),
                "%lld of %lld outside (%lld NaN or Inf), worst at %s: got "
                "%.9g, expected %.9g, error %.3g",
                static_cast<long long>(comparison.mismatches),
                static_cast<long long>(comparison.elements),
                static_cast<long long>(comparison.nonFinite),
                indexText(comparison.worst, actual.shape).c_str(),
                actual.at(comparison.worst), expected,
                std::fabs(actual.at(comparison.worst) - expected));
  check.detail = text;
  if (check.limit != "tolerance")
    return;
  std::snprintf(text, sizeof(text), ", allowed %.3g (%g + %g |y|)",
                request.tolerance->atol +
                    request.tolerance->rtol * std::fabs(expected),
                request.tolerance->atol, request.tolerance->rtol);
  check.detail += text;
}

reference::Error Checker::evaluateDeclared(const PlanSummary &plan, bool bounds,
                                           Evaluation &evaluation) const {
  reference::EvaluateOptions options;
  options.mode = Mode::Declared;
  options.bounds = bounds;
  options.products = bundle.targets()
                         ->Get(plan.target)
                         ->variants()
                         ->Get(plan.variant)
                         ->products();
  // Without products there is nothing that the declaration would change.
  if (!options.products || options.products->size() == 0)
    options.mode = Mode::Eager;
  return reference::evaluate(graph, problem, options, evaluation);
}

void Checker::checkBits() {
  Evaluation evaluation;
  require(reference::evaluate(graph, problem, {}, evaluation));
  for (size_t i = 0; i < outputs.size(); ++i) {
    OutputCheck &check =
        add(i, "bits", "every bit",
            reference::compareBits(outputs[i], evaluation.outputs[i]));
    check.needed = 1;
    check.passed = check.comparison.mismatches == 0;
    if (check.comparison.worst >= 0)
      explain(check, outputs[i],
              evaluation.outputs[i].at(check.comparison.worst));
  }
}

void Checker::checkRounded(Mode mode, const std::optional<PlanSummary> &plan) {
  const char *against = mode == Mode::Declared ? "declared" : "eager";
  Evaluation evaluation;
  if (mode == Mode::Declared) {
    if (!plan)
      throw UsageError("--check=declared needs a device that runs a plan: the "
                       "reference device has no products of its own");
    require(evaluateDeclared(*plan, !request.tolerance, evaluation));
  } else {
    reference::EvaluateOptions options;
    options.mode = mode;
    options.bounds = !request.tolerance;
    require(reference::evaluate(graph, problem, options, evaluation));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Comparison comparison =
        request.tolerance
            ? reference::compareTolerance(outputs[i], evaluation.outputs[i],
                                          request.tolerance->atol,
                                          request.tolerance->rtol)
            : reference::compareBounds(outputs[i], evaluation.outputs[i],
                                       evaluation.bounds[i]);
    OutputCheck &check =
        add(i, against, request.tolerance ? "tolerance" : "bound", comparison);
    if (comparison.worst >= 0)
      explain(check, outputs[i], evaluation.outputs[i].at(comparison.worst));
  }
  if (mode == Mode::Eager)
    eager = std::move(evaluation);
}

void Checker::checkExact(const Evaluation *eagerEvaluation) {
  const Tolerance &tolerance = *request.tolerance;
  reference::EvaluateOptions options;
  options.mode = Mode::Exact;
  Evaluation evaluation;
  require(reference::evaluate(graph, problem, options, evaluation));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<double> &expected = evaluation.exact[i];
    Comparison comparison = reference::compareTolerance(
        outputs[i], expected, tolerance.atol, tolerance.rtol);
    OutputCheck &check = add(i, "exact", "tolerance", comparison);
    if (comparison.worst >= 0)
      explain(check, outputs[i],
              expected[static_cast<size_t>(comparison.worst)]);
    if (check.passed || !eagerEvaluation)
      continue;
    check.skipped = !passes(reference::compareTolerance(
        eagerEvaluation->outputs[i], expected, tolerance.atol, tolerance.rtol));
    check.passed = check.skipped;
  }
}

/// The routes of the products with f32 operands, each once: "bf16, fp16".
static std::string routesOf(const bundle::Bundle &bundle,
                            const PlanSummary &plan) {
  const auto *products = bundle.targets()
                             ->Get(plan.target)
                             ->variants()
                             ->Get(plan.variant)
                             ->products();
  std::set<std::string> routes;
  for (unsigned i = 0; products && i < products->size(); ++i) {
    const bundle::Op *op = bundle.graph()->ops()->Get(products->Get(i)->op());
    if (op->precision() != bundle::Precision::Native)
      routes.insert(products->Get(i)->route()->str());
  }
  std::string text;
  for (const std::string &route : routes)
    text += (text.empty() ? "" : ", ") + route;
  return text;
}

void Checker::noteBounds(const std::optional<PlanSummary> &plan) {
  bool failed = false;
  for (const OutputCheck &check : checks)
    failed |= !check.passed;
  if (!failed || !plan || request.kind == CheckKind::Declared)
    return;
  std::string routes = routesOf(bundle, *plan);
  if (routes.empty())
    return;
  Evaluation evaluation;
  require(evaluateDeclared(*plan, true, evaluation));
  std::vector<bool> within;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Comparison comparison = reference::compareBounds(
        outputs[i], evaluation.outputs[i], evaluation.bounds[i]);
    within.push_back(comparison.mismatches == 0);
  }
  for (size_t i = 0; i < checks.size(); ++i) {
    size_t output = i % outputs.size(); // each check goes through all outputs
    if (checks[i].passed)
      continue;
    const char *missed = request.tolerance
                             ? "the tolerance"
                             : "the bound of the precision in the graph";
    checks[i].note =
        within[output]
            ? "the device kept the accumulation bound of its route (" + routes +
                  "): it is that precision that misses " + missed
            : "the accumulation bound of the route (" + routes +
                  ") is broken, too: the device is wrong";
  }
}

std::vector<OutputCheck> backfuse::run::checkOutputs(
    const Bundle &bundle, const reference::Problem &problem,
    const std::vector<Tensor> &outputs, const std::optional<PlanSummary> &plan,
    const CheckRequest &request) {
  Checker checker(bundle, problem, outputs, request);
  switch (request.kind) {
  case CheckKind::None:
    break;
  case CheckKind::Bits:
    checker.checkBits();
    break;
  case CheckKind::Eager:
    checker.checkRounded(Mode::Eager, plan);
    break;
  case CheckKind::Declared:
    checker.checkRounded(Mode::Declared, plan);
    break;
  case CheckKind::Exact:
    if (!request.tolerance)
      throw UsageError("--check=exact needs a tolerance: give --tolerance, or "
                       "cases that publish one");
    checker.checkExact(nullptr);
    break;
  case CheckKind::Both:
    checker.checkRounded(Mode::Eager, plan);
    // The bound is about rounded evaluations: f64 needs a tolerance.
    if (request.tolerance)
      checker.checkExact(&checker.eager);
    break;
  }
  if (request.kind != CheckKind::Bits)
    checker.noteBounds(plan);
  return checker.checks;
}
