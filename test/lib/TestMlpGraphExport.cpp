//===- TestMlpGraphExport.cpp - Print a graph's flat op list --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backfuse/Target/Bundle/GraphExport.h"
#include "dialects/Mlp/IR/MlpOps.h"
#include "mlir/Pass/Pass.h"

#include "runtime/bundle_generated.h"

using namespace mlir;
using namespace backfuse;

namespace {
struct TestMlpGraphExportPass final
    : PassWrapper<TestMlpGraphExportPass, OperationPass<mlp::GraphOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestMlpGraphExportPass)

  StringRef getArgument() const final { return "test-mlp-graph-export"; }
  StringRef getDescription() const final {
    return "Print the flat op list that the bundle records";
  }
  void runOnOperation() override {
    bundle::GraphT graph;
    if (failed(exportGraph(getOperation(), graph)))
      return signalPassFailure();
    printGraph(graph, llvm::outs());
  }
};
} // namespace

namespace backfuse::test {
void registerTestMlpGraphExportPass() {
  PassRegistration<TestMlpGraphExportPass>();
}
} // namespace backfuse::test
