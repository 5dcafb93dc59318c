//===- StopAfter.h - The front part of a pipeline ---------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_PIPELINES_STOPAFTER_H
#define BACKFUSE_PIPELINES_STOPAFTER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace backfuse {

/// Returns the textual pass pipeline `pipeline` up to and with the pass that
/// `stopAfter` names: "cse" is its first run, "cse,2" its second. If it does
/// not run so often, the error lists the passes that do.
llvm::Expected<std::string> truncatePipeline(llvm::StringRef pipeline,
                                             llvm::StringRef stopAfter);

} // namespace backfuse

#endif // BACKFUSE_PIPELINES_STOPAFTER_H
