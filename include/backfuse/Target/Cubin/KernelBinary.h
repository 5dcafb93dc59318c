//===- KernelBinary.h - A compiled kernel -----------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TARGET_CUBIN_KERNELBINARY_H
#define BACKFUSE_TARGET_CUBIN_KERNELBINARY_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace backfuse {

/// A kernel as PTX and, once assembled, as a cubin with what ptxas said of it.
struct KernelBinary {
  std::string name; ///< the entry point
  std::string ptx;
  std::vector<char> cubin;
  int registers = 0;  ///< per thread
  int barriers = 0;   ///< named barriers
  int spillBytes = 0; ///< spill stores and loads
  int stackBytes = 0;
  int smemBytes = 0; ///< static
  /// ptxas's warnings and its notes on lost performance.
  std::vector<std::string> warnings;
  std::string log; ///< all that ptxas printed
};

/// `binary` as bytes that end in a checksum: for pipes and caches.
std::string serialize(const KernelBinary &binary);

/// The inverse; nothing if `bytes` are damaged or of another version.
std::optional<KernelBinary> deserializeKernelBinary(llvm::StringRef bytes);

} // namespace backfuse

#endif // BACKFUSE_TARGET_CUBIN_KERNELBINARY_H
