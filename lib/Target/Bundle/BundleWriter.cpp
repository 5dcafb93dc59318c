//===- BundleWriter.cpp - The bytes of a bundle ---------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backfuse/Target/Bundle/BundleWriter.h"
#include "runtime/bundle_generated.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Endian.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace llvm;
using namespace backfuse;

/// The header, as runtime/bundle.fbs has it.
static constexpr StringLiteral magic = "BACKFUSE";
static constexpr uint32_t formatVersion = 1;
static constexpr size_t headerBytes = 32;

/// Returns the header of a file whose FlatBuffer is `payload`.
static std::string makeHeader(StringRef payload) {
  std::string header = magic.str();
  header.resize(headerBytes);
  support::endian::write32le(&header[8], formatVersion);
  support::endian::write64le(&header[16], payload.size());
  support::endian::write64le(&header[24],
                             XXH64(payload.data(), payload.size(), /*seed=*/0));
  return header;
}

Expected<std::string> backfuse::serializeBundle(const bundle::BundleT &bundle) {
  flatbuffers::FlatBufferBuilder builder;
  bundle::FinishBundleBuffer(builder, bundle::Bundle::Pack(builder, &bundle));
  // Pack() leaves out what is required but missing.
  flatbuffers::Verifier verifier(builder.GetBufferPointer(), builder.GetSize(),
                                 /*max_depth=*/64,
                                 /*max_tables=*/1 << 30);
  if (!bundle::VerifyBundleBuffer(verifier))
    return createStringError("the bundle lacks a required field");
  StringRef payload(reinterpret_cast<const char *>(builder.GetBufferPointer()),
                    builder.GetSize());
  return makeHeader(payload) + payload.str();
}
