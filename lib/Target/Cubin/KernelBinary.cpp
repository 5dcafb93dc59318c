//===- KernelBinary.cpp - A compiled kernel -------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backfuse/Target/Cubin/KernelBinary.h"
#include "backfuse/Support/ByteStream.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace backfuse;

/// Names the format and its version; changes with the fields below.
static constexpr StringLiteral magic = "BFKB0001";

/// All fields, in the order of the format.
template <typename Visitor, typename Binary>
static void visitFields(Visitor &visitor, Binary &binary) {
  visitor(binary.name);
  visitor(binary.ptx);
  visitor(binary.cubin);
  visitor(binary.registers);
  visitor(binary.barriers);
  visitor(binary.spillBytes);
  visitor(binary.stackBytes);
  visitor(binary.smemBytes);
  visitor(binary.warnings);
  visitor(binary.log);
}

std::string backfuse::serialize(const KernelBinary &binary) {
  std::string bytes = magic.str();
  ByteWriter writer(bytes);
  visitFields(writer, binary);
  writer(int64_t(xxh3_64bits(StringRef(bytes))));
  return bytes;
}

std::optional<KernelBinary> backfuse::deserializeKernelBinary(StringRef bytes) {
  if (bytes.size() < magic.size() + 8 || !bytes.starts_with(magic))
    return std::nullopt;
  StringRef content = bytes.drop_back(8);
  if (support::endian::read64le(content.end()) != xxh3_64bits(content))
    return std::nullopt;
  ByteReader reader(content.drop_front(magic.size()));
  KernelBinary binary;
  visitFields(reader, binary);
  if (!reader.isAtEnd())
    return std::nullopt;
  return binary;
}
