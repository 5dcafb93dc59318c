//===- Expression.cpp - Integer expressions of a launch plan --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Expression.h"
#include "Error.h"

#include <algorithm>
#include <limits>

using namespace backfuse;
using namespace backfuse::runtime;
using bundle::ExprOp;

/// How many values `op` takes from the stack.
static unsigned numOperands(ExprOp op) {
  switch (op) {
  case ExprOp::Const:
  case ExprOp::Dim:
  case ExprOp::Param:
  case ExprOp::SmCount:
    return 0;
  case ExprOp::Not:
    return 1;
  case ExprOp::Select:
    return 3;
  default:
    return 2;
  }
}

static bool isIndex(int64_t value, size_t count) {
  return value >= 0 && static_cast<uint64_t>(value) < count;
}

/// Returns what is wrong with the leaf `node`, or null.
static const char *whyBadLeaf(const bundle::ExprNode &node,
                              const bundle::Graph &graph) {
  if (node.op() == ExprOp::Dim &&
      !isIndex(node.value(), graph.dims() ? graph.dims()->size() : 0))
    return "names a dimension that the graph does not have";
  if (node.op() == ExprOp::Param) {
    if (!isIndex(node.value(), graph.params() ? graph.params()->size() : 0))
      return "names a parameter that the graph does not have";
    const bundle::Argument *param =
        graph.params()->Get(static_cast<unsigned>(node.value()));
    if (param->value() >= graph.values()->size() ||
        graph.values()->Get(param->value())->type()->dtype() !=
            bundle::DType::I1)
      return "uses a parameter that is not an I1";
  }
  return nullptr;
}

std::string backfuse::runtime::whyMalformed(const bundle::Expr &expr,
                                            const bundle::Graph &graph) {
  const auto &nodes = *expr.nodes();
  if (nodes.size() == 0)
    return "the expression is empty";
  if (nodes.size() > maxExpressionNodes)
    return formatText("the expression has %u nodes, more than %u", nodes.size(),
                      maxExpressionNodes);
  unsigned depth = 0;
  for (unsigned i = 0; i < nodes.size(); ++i) {
    const bundle::ExprNode &node = *nodes.Get(i);
    if (node.op() > ExprOp::MAX)
      return formatText(
          "node %u of the expression has the unknown operation %u", i,
          static_cast<unsigned>(node.op()));
    if (const char *why = whyBadLeaf(node, graph))
      return formatText("node %u of the expression %s", i, why);
    unsigned taken = numOperands(node.op());
    if (taken > depth)
      return formatText("node %u of the expression takes %u values, but there "
                        "are %u",
                        i, taken, depth);
    depth = depth - taken + 1;
    if (depth > maxExpressionDepth)
      return formatText("the expression is more than %u values deep",
                        maxExpressionDepth);
  }
  if (depth != 1)
    return formatText("the expression leaves %u values, expected 1", depth);
  return {};
}

/// Quotient towards minus infinity and the remainder that goes with it.
/// Precondition: b is not 0, and not (a is the minimum and b is -1).
static void floorDivide(int64_t a, int64_t b, int64_t &quotient,
                        int64_t &remainder) {
  quotient = a / b;
  remainder = a % b;
  if (remainder != 0 && ((remainder < 0) != (b < 0))) {
    --quotient;
    remainder += b;
  }
}

/// Applies the binary operation `op`; returns why it fails, or null.
static const char *applyBinary(ExprOp op, int64_t a, int64_t b,
                               int64_t &result) {
  static const char overflow[] = "64-bit overflow";
  switch (op) {
  case ExprOp::Add:
    return __builtin_add_overflow(a, b, &result) ? overflow : nullptr;
  case ExprOp::Sub:
    return __builtin_sub_overflow(a, b, &result) ? overflow : nullptr;
  case ExprOp::Mul:
    return __builtin_mul_overflow(a, b, &result) ? overflow : nullptr;
  case ExprOp::FloorDiv:
  case ExprOp::CeilDiv:
  case ExprOp::Mod: {
    if (b == 0)
      return "division by zero";
    if (a == std::numeric_limits<int64_t>::min() && b == -1) {
      result = 0;
      return op == ExprOp::Mod ? nullptr : overflow;
    }
    int64_t quotient, remainder;
    floorDivide(a, b, quotient, remainder);
    result = op == ExprOp::Mod        ? remainder
             : op == ExprOp::FloorDiv ? quotient
                                      : quotient + (remainder != 0);
    return nullptr;
  }
  case ExprOp::Min:
    result = std::min(a, b);
    return nullptr;
  case ExprOp::Max:
    result = std::max(a, b);
    return nullptr;
  case ExprOp::Lt:
    result = a < b;
    return nullptr;
  case ExprOp::Le:
    result = a <= b;
    return nullptr;
  case ExprOp::Eq:
    result = a == b;
    return nullptr;
  case ExprOp::Ne:
    result = a != b;
    return nullptr;
  case ExprOp::And:
    result = a != 0 && b != 0;
    return nullptr;
  case ExprOp::Or:
    result = a != 0 || b != 0;
    return nullptr;
  default:
    return "unknown operation";
  }
}

bool backfuse::runtime::evaluate(const bundle::Expr &expr,
                                 const ExpressionContext &context,
                                 int64_t &result, const char *&why) {
  int64_t stack[maxExpressionDepth];
  unsigned depth = 0;
  for (const bundle::ExprNode *node : *expr.nodes()) {
    switch (node->op()) {
    case ExprOp::Const:
      stack[depth++] = node->value();
      break;
    case ExprOp::Dim:
      stack[depth++] = context.dims[node->value()];
      break;
    case ExprOp::Param:
      stack[depth++] = context.params[node->value()] != 0;
      break;
    case ExprOp::SmCount:
      stack[depth++] = context.smCount;
      break;
    case ExprOp::Not:
      stack[depth - 1] = stack[depth - 1] == 0;
      break;
    case ExprOp::Select:
      depth -= 2;
      stack[depth - 1] = stack[depth - 1] ? stack[depth] : stack[depth + 1];
      break;
    default:
      --depth;
      if (const char *reason = applyBinary(node->op(), stack[depth - 1],
                                           stack[depth], stack[depth - 1])) {
        why = reason;
        return false;
      }
    }
  }
  result = stack[0];
  return true;
}
