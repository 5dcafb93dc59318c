//===- OutputFile.h - Files that appear whole or not at all -----*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_SUPPORT_OUTPUTFILE_H
#define BACKFUSE_SUPPORT_OUTPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace backfuse {

/// Makes `path` a file that holds `bytes`, or leaves everything as it was:
/// a file of that name is replaced at once, and only by a complete one, which
/// has reached the disk. "-" is standard output; devices and pipes are written
/// to directly. Errors name the file and the cause.
llvm::Error writeOutput(llvm::StringRef path, llvm::StringRef bytes);

} // namespace backfuse

#endif // BACKFUSE_SUPPORT_OUTPUTFILE_H
