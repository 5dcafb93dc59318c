//===- ReferenceDevice.cpp - The evaluator as a device --------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the graph op by op, each result rounded to its type. It runs no plan, so
// it says nothing about the bundle's kernels.
//===----------------------------------------------------------------------===//
#include "Device.h"

#include <cstring>

using namespace backfuse;
using namespace backfuse::run;

namespace {
class ReferenceDevice final : public Device {
public:
  explicit ReferenceDevice(const Bundle &bundle)
      : graph(*flatBundle(bundle).graph()) {}

  std::string name() const override { return "reference"; }
  nlohmann::json describe() const override {
    return {{"kind", "reference"}, {"name", "reference evaluator"}};
  }
  void load(const reference::Problem &loaded, const Values &) override {
    problem = &loaded;
  }
  std::optional<PlanSummary> plan() const override { return std::nullopt; }
  bool repeatsInputs() const override { return false; }
  void run() override {
    evaluation = {};
    require(reference::evaluate(graph, *problem, {}, evaluation));
  }
  void read(size_t output, uint64_t firstByte, uint64_t numBytes,
            void *to) override {
    if (numBytes)
      std::memcpy(to, evaluation.outputs[output].bytes.data() + firstByte,
                  numBytes);
  }

private:
  const bundle::Graph &graph;
  const reference::Problem *problem = nullptr;
  reference::Evaluation evaluation;
};
} // namespace

std::unique_ptr<Device> backfuse::run::makeReferenceDevice(const Bundle &b) {
  return std::make_unique<ReferenceDevice>(b);
}
