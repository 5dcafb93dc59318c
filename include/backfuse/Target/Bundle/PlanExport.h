//===- PlanExport.h - Launch plans of a target ------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TARGET_BUNDLE_PLANEXPORT_H
#define BACKFUSE_TARGET_BUNDLE_PLANEXPORT_H

#include "mlir/IR/Operation.h"

namespace backfuse {
namespace bundle {
struct BundleT;
struct TargetT;
} // namespace bundle

/// Fills in `target` kernels (module number = position in `kernels`, registers
/// left open) and variants from the attributes that the conversions leave on
/// kernel functions. `bundle` holds the graph already; refusals are added to it.
mlir::LogicalResult exportPlan(llvm::ArrayRef<mlir::Operation *> kernels,
                               bundle::BundleT &bundle,
                               bundle::TargetT &target);

} // namespace backfuse

#endif // BACKFUSE_TARGET_BUNDLE_PLANEXPORT_H
