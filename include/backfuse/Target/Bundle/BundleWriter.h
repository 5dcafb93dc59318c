//===- BundleWriter.h - The bytes of a bundle -------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TARGET_BUNDLE_BUNDLEWRITER_H
#define BACKFUSE_TARGET_BUNDLE_BUNDLEWRITER_H

#include "llvm/Support/Error.h"
#include <string>

namespace backfuse {
namespace bundle {
struct BundleT;
} // namespace bundle

/// Returns the bytes of a `.bfb` file: the header that runtime/bundle.fbs
/// describes, then `bundle` as a FlatBuffer. Equal bundles give equal bytes. A
/// bundle that the runtime would refuse, for want of a required field, is an
/// error here.
llvm::Expected<std::string> serializeBundle(const bundle::BundleT &bundle);

} // namespace backfuse

#endif // BACKFUSE_TARGET_BUNDLE_BUNDLEWRITER_H
