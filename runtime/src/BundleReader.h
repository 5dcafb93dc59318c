//===- BundleReader.h - Bytes of a bundle, verified -------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_RUNTIME_SRC_BUNDLEREADER_H
#define BACKFUSE_RUNTIME_SRC_BUNDLEREADER_H

#include "Error.h"
#include "bundle_generated.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace backfuse::runtime {

constexpr size_t bundleHeaderBytes = 32;
constexpr uint32_t bundleVersion = 1;
/// FlatBuffers' offsets are 32-bit and signed.
constexpr uint64_t maxBundleBytes = 0x7fffff00;

/// A bundle whose every index, count and expression has been checked: code that
/// holds one may follow indices without looking.
class BundleData {
public:
  static Error fromFile(const char *path,
                        std::shared_ptr<const BundleData> &result);
  /// Copies the bytes.
  static Error fromMemory(const void *data, size_t numBytes,
                          std::shared_ptr<const BundleData> &result);

  const bundle::Bundle &bundle() const;
  const bundle::Graph &graph() const { return *bundle().graph(); }
  const void *flatBuffer() const { return storage.data(); }
  size_t flatBufferBytes() const { return numBytes; }

private:
  /// Makes room for a FlatBuffer, 16-byte aligned as operator new gives it.
  Error allocate(size_t bytes);
  /// Checksum, FlatBuffers' verifier, then verifyBundle.
  Error verify(uint64_t checksum);

  std::vector<uint64_t> storage;
  size_t numBytes = 0;
};

/// XXH64 with seed 0, as the header has it.
uint64_t bundleChecksum(const void *data, size_t numBytes);

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_BUNDLEREADER_H
