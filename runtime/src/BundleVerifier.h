//===- BundleVerifier.h - What a bundle's numbers must satisfy --*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_RUNTIME_SRC_BUNDLEVERIFIER_H
#define BACKFUSE_RUNTIME_SRC_BUNDLEVERIFIER_H

#include "Error.h"
#include "bundle_generated.h"

#include <cstdint>

namespace backfuse::runtime {

/// Bounds that a bundle must keep. They are far above what the compiler emits
/// and let a launch work in arrays of fixed size.
struct BundleLimits {
  static constexpr unsigned values = 1 << 16;
  static constexpr unsigned ops = 1 << 16;
  static constexpr unsigned dims = 32;
  static constexpr unsigned arguments = 64; // inputs, outputs, parameters each
  static constexpr unsigned targets = 64;
  static constexpr unsigned modules = 1 << 12;
  static constexpr unsigned kernels = 1 << 12;
  static constexpr unsigned variants = 1 << 12;
  static constexpr unsigned steps = 256;      // of a variant
  static constexpr unsigned kernelArgs = 128; // of a launch
  static constexpr unsigned kernelArgBytes = 32764;
  static constexpr unsigned products = 1 << 12;
  static constexpr unsigned refusals = 1 << 12;
  static constexpr unsigned nameBytes = 1024;
  static constexpr unsigned textBytes = 1 << 16;
  static constexpr unsigned clusterCtas = 16;
  static constexpr unsigned smemBytes = 1 << 20;
};

/// Bytes of an element.
unsigned elementBytes(bundle::DType dtype);
unsigned elementBytes(bundle::MapType type);

/// Bytes and alignment of a kernel's parameter.
unsigned parameterBytes(bundle::ArgKind kind);

/// Checks everything that FlatBuffers' verifier does not: indices, counts,
/// definitions, operand counts and types, expressions, enumerators.
/// Precondition: that verifier has accepted the buffer.
Error verifyBundle(const bundle::Bundle &bundle);

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_BUNDLEVERIFIER_H
