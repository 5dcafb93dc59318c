//===- CompileGraph.h - From a graph to kernels and a bundle ----*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_PIPELINES_COMPILEGRAPH_H
#define BACKFUSE_PIPELINES_COMPILEGRAPH_H

#include "backfuse/Pipelines/CompileOptions.h"
#include "backfuse/Target/Cubin/CompileKernels.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace backfuse {
namespace bundle {
struct BundleT;
} // namespace bundle

/// The kernels of one graph for one target.
struct GraphKernels {
  const arch::Target *target = nullptr;
  /// Holds the kernel functions, with the plan's attributes.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<mlir::Operation *> functions;
  /// One for each function, once compiled.
  llvm::SmallVector<KernelBinary> binaries;
};

/// Lowers the graph in `module`, which stays as it is, to kernels of the machine
/// level for each target of the options.
mlir::FailureOr<std::vector<GraphKernels>>
lowerGraph(mlir::ModuleOp module, const CompileOptions &options);

/// What the options say of code generation; `assemble` asks for cubins, too, and
/// finds ptxas.
llvm::Expected<CodegenOptions>
makeCodegenOptions(const CompileOptions &options, bool assemble);

/// Compiles all kernels, in parallel; `assemble` makes cubins too.
mlir::LogicalResult compileGraphKernels(std::vector<GraphKernels> &kernels,
                                        const CompileOptions &options,
                                        bool assemble);

/// Plan, signature and kernels as a bundle. Binaries may be missing: the plan
/// alone is complete without.
mlir::LogicalResult buildBundle(mlir::ModuleOp module,
                                const std::vector<GraphKernels> &kernels,
                                const CompileOptions &options,
                                bundle::BundleT &bundle);

/// The plan for people.
std::string printPlan(const bundle::BundleT &bundle);

} // namespace backfuse

#endif // BACKFUSE_PIPELINES_COMPILEGRAPH_H
