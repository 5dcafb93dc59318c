//===- List.h - What a bundle holds, for people -----------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_KERNELRUN_LIST_H
#define BACKFUSE_KERNELRUN_LIST_H

#include "Signature.h"

namespace backfuse::run {

/// Prints signature, targets, variants and routes.
void printBundle(const Bundle &bundle);

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_LIST_H
