//===- Expression.h - Integer expressions of a launch plan ------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Postfix code over the graph's dimensions (schema: runtime/bundle.fbs). It is
// verified once, when the bundle is loaded, and evaluated at every launch that
// has no plan: without allocation, with each overflow found.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_SRC_EXPRESSION_H
#define BACKFUSE_RUNTIME_SRC_EXPRESSION_H

#include "bundle_generated.h"

#include <cstdint>
#include <string>

namespace backfuse::runtime {

/// Bounds on an expression's code; more is refused when the bundle is loaded.
constexpr unsigned maxExpressionNodes = 1024;
constexpr unsigned maxExpressionDepth = 64;

/// The values that an expression may use.
struct ExpressionContext {
  const int64_t *dims = nullptr;
  const double *params = nullptr;
  int64_t smCount = 0;
};

/// Returns why `expr` is malformed or leaves the graph's dimensions or I1
/// parameters; empty if it is well-formed.
std::string whyMalformed(const bundle::Expr &expr, const bundle::Graph &graph);

/// Evaluates a verified expression. On failure returns false and points `why`
/// to a static text.
bool evaluate(const bundle::Expr &expr, const ExpressionContext &context,
              int64_t &result, const char *&why);

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_EXPRESSION_H
