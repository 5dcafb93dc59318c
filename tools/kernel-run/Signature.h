//===- Signature.h - A bundle's graph as the tool uses it -------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_KERNELRUN_SIGNATURE_H
#define BACKFUSE_KERNELRUN_SIGNATURE_H

#include "Failure.h"
#include "Reference.h"
#include "backfuse/runtime.hpp"

#include <map>
#include <string>
#include <vector>

namespace backfuse::run {

/// Names and types of a bundle's dimensions, tensors and parameters.
struct Signature {
  explicit Signature(const Bundle &bundle);

  std::string graph;
  std::vector<std::string> dims;
  std::vector<bf_argument> inputs, outputs, params;

  /// The shape of `argument` for these dimensions.
  static std::vector<int64_t> shape(const bf_argument &argument,
                                    const std::vector<int64_t> &dims);
  /// Dimensions and parameters in the bundle's order; a UsageError names what
  /// is missing or unknown.
  Values values(const std::map<std::string, int64_t> &dims,
                const std::map<std::string, double> &params) const;
  /// Sets what the shape says about dimensions; a UsageError if it disagrees
  /// with the type or with what is known.
  void inferDims(const bf_argument &argument, const std::vector<int64_t> &shape,
                 std::map<std::string, int64_t> &known) const;
  /// A parameter's value: true or false for a bool, else a number.
  double parseParam(const std::string &name, const std::string &text) const;
  /// The parameter of that name; a UsageError if there is none.
  const bf_argument &param(const std::string &name) const;
  /// "tensor<B x S x 768 x bf16>"
  std::string typeText(const bf_argument &argument) const;
};

const char *dtypeName(bf_dtype dtype);

/// "[4, 512, 768]"
std::string shapeText(const std::vector<int64_t> &shape);

/// The FlatBuffer of a bundle, for the evaluator.
const bundle::Bundle &flatBundle(const Bundle &bundle);

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_SIGNATURE_H
