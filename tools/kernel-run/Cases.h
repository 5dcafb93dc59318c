//===- Cases.h - The problems that a run goes through -----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_KERNELRUN_CASES_H
#define BACKFUSE_KERNELRUN_CASES_H

#include "Signature.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace backfuse::run {

/// |x - y| <= atol + rtol |y| for at least `match` of the elements.
struct Tolerance {
  double atol = 0, rtol = 0, match = 0.99;
};

struct Case {
  int index = 0;
  std::map<std::string, int64_t> dims;
  std::map<std::string, double> params;
  std::optional<Tolerance> tolerance;
  /// As the file has them, for the report.
  nlohmann::json axes = nlohmann::json::object();
  nlohmann::json scalars = nlohmann::json::object();
  int64_t tokens = 1; // product of the variable axes
  /// What --compare-digests expects of each output.
  std::map<std::string, std::string> digests;
};

/// Reads a file of workloads/. Its axes are matched with the bundle's
/// dimensions through the shapes of the inputs and outputs that both name.
std::vector<Case> readCases(const std::string &path,
                            const Signature &signature);

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_CASES_H
