//===- ChildProcess.h - Work that may not take us down ----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_SUPPORT_CHILDPROCESS_H
#define BACKFUSE_SUPPORT_CHILDPROCESS_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include <functional>
#include <string>

namespace backfuse {

/// Work for a child process.
struct ChildTask {
  /// The place to report when the child dies.
  mlir::Location location;
  /// What the child is doing, for that report: "generating code for 'k'".
  std::string activity;
  /// Runs in the child, which is a copy of this process at its start, and
  /// returns bytes for the parent. Temporary files go to `temporaryDir`, which
  /// the parent removes however the child ends.
  std::function<mlir::FailureOr<std::string>(llvm::StringRef temporaryDir)> run;
};

/// Runs each task in a child process of its own, at most `jobs` at a time (0:
/// as many as there are cores), and returns their results in order.
///
/// LLVM ends the process when it meets what it cannot compile. In a child that
/// is an error at the task's location with LLVM's words, as is a crash.
/// Diagnostics of a child are emitted here, after all children have ended and
/// in the order of the tasks; what it printed goes to standard error. Must be
/// called while no other thread of ours runs: MLIR's threading is switched off
/// meanwhile.
mlir::LogicalResult runInChildren(mlir::ArrayRef<ChildTask> tasks,
                                  unsigned jobs,
                                  mlir::SmallVectorImpl<std::string> &results);

} // namespace backfuse

#endif // BACKFUSE_SUPPORT_CHILDPROCESS_H
