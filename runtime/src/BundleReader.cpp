//===- BundleReader.cpp - Bytes of a bundle, verified ---------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From outside in: the 32-byte header, the checksum, FlatBuffers' own verifier
// (offsets and lengths), and BundleVerifier.cpp (everything that offsets mean).
// Nothing is allocated before the header's size has been compared with what is
// there.
//===----------------------------------------------------------------------===//
#include "BundleReader.h"
#include "BundleVerifier.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <sys/stat.h>

using namespace backfuse;
using namespace backfuse::runtime;

static const char magic[] = "BACKFUSE";

namespace {
struct Header {
  uint64_t numBytes = 0;
  uint64_t checksum = 0;
};

struct FileCloser {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
} // namespace

/// The little-endian integer of `count` bytes at `bytes`.
static uint64_t readLittleEndian(const unsigned char *bytes, unsigned count) {
  uint64_t value = 0;
  for (unsigned i = 0; i < count; ++i)
    value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

/// Reads the header of a bundle of `total` bytes, whose first
/// min(total, bundleHeaderBytes) are at `bytes`.
static Error readHeader(const unsigned char *bytes, uint64_t total,
                        Header &header) {
  if (total < bundleHeaderBytes)
    return makeError(BF_ERROR_BUNDLE,
                     "the bundle is truncated: %llu bytes, but its header "
                     "alone has %zu",
                     static_cast<unsigned long long>(total), bundleHeaderBytes);
  if (std::memcmp(bytes, magic, 8) != 0)
    return makeError(BF_ERROR_BUNDLE, "not a Backfuse bundle: it does not "
                                      "begin with \"BACKFUSE\"");
  uint64_t version = readLittleEndian(bytes + 8, 4);
  if (version > bundleVersion)
    return makeError(BF_ERROR_BUNDLE,
                     "the bundle has format version %llu, but this runtime "
                     "(%s) reads versions up to %u: update the runtime",
                     static_cast<unsigned long long>(version), bf_version(),
                     bundleVersion);
  if (version == 0 || readLittleEndian(bytes + 12, 4) != 0)
    return makeError(BF_ERROR_BUNDLE, "the bundle's header is damaged");
  header.numBytes = readLittleEndian(bytes + 16, 8);
  header.checksum = readLittleEndian(bytes + 24, 8);
  uint64_t present = total - bundleHeaderBytes;
  if (header.numBytes > present)
    return makeError(BF_ERROR_BUNDLE,
                     "the bundle is truncated: its header announces %llu "
                     "bytes, %llu are there",
                     static_cast<unsigned long long>(header.numBytes),
                     static_cast<unsigned long long>(present));
  if (header.numBytes < present)
    return makeError(
        BF_ERROR_BUNDLE, "the bundle has %llu bytes after its end",
        static_cast<unsigned long long>(present - header.numBytes));
  if (header.numBytes > maxBundleBytes)
    return makeError(BF_ERROR_BUNDLE, "the bundle is larger than 2 GiB");
  return {};
}

uint64_t backfuse::runtime::bundleChecksum(const void *data, size_t numBytes) {
  return XXH64(data, numBytes, 0);
}

const bundle::Bundle &BundleData::bundle() const {
  return *bundle::GetBundle(storage.data());
}

Error BundleData::allocate(size_t bytes) {
  try {
    storage.resize(bytes / 8 + 1);
  } catch (const std::bad_alloc &) {
    return makeError(BF_ERROR_MEMORY, "no memory for a bundle of %zu bytes",
                     bytes);
  }
  numBytes = bytes;
  return {};
}

Error BundleData::verify(uint64_t checksum) {
  uint64_t found = bundleChecksum(storage.data(), numBytes);
  if (found != checksum)
    return makeError(BF_ERROR_BUNDLE,
                     "the bundle is damaged: its checksum is %016llx, its "
                     "header says %016llx",
                     static_cast<unsigned long long>(found),
                     static_cast<unsigned long long>(checksum));
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t *>(storage.data()), numBytes);
  if (!bundle::VerifyBundleBuffer(verifier))
    return makeError(BF_ERROR_BUNDLE,
                     "the bundle is damaged: its contents are not a FlatBuffer "
                     "of the bundle schema");
  return verifyBundle(bundle());
}

Error BundleData::fromMemory(const void *data, size_t numBytes,
                             std::shared_ptr<const BundleData> &result) {
  if (!data)
    return makeError(BF_ERROR_ARGUMENT, "the bundle's address is null");
  const auto *bytes = static_cast<const unsigned char *>(data);
  Header header;
  if (Error error = readHeader(bytes, numBytes, header))
    return error;
  auto loaded = std::make_shared<BundleData>();
  if (Error error = loaded->allocate(static_cast<size_t>(header.numBytes)))
    return error;
  std::memcpy(loaded->storage.data(), bytes + bundleHeaderBytes,
              loaded->numBytes);
  if (Error error = loaded->verify(header.checksum))
    return error;
  result = std::move(loaded);
  return {};
}

/// Reads the rest of `file` after its header.
Error BundleData::fromFile(const char *path,
                           std::shared_ptr<const BundleData> &result) {
  auto named = [&](Error error) {
    error.text = std::string(path) + ": " + error.text;
    return error;
  };
  std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path, "rb"));
  struct stat status;
  if (!file || fstat(fileno(file.get()), &status) != 0)
    return makeError(BF_ERROR_IO, "%s: %s", path, std::strerror(errno));
  // A device or pipe has no size to compare the header's with.
  if (!S_ISREG(status.st_mode))
    return makeError(BF_ERROR_IO, "%s: not a regular file", path);
  unsigned char headerBytes[bundleHeaderBytes] = {};
  size_t numRead = std::fread(headerBytes, 1, bundleHeaderBytes, file.get());
  Header header;
  uint64_t total = numRead < bundleHeaderBytes
                       ? numRead
                       : static_cast<uint64_t>(status.st_size);
  if (Error error = readHeader(headerBytes, total, header))
    return named(std::move(error));
  auto loaded = std::make_shared<BundleData>();
  if (Error error = loaded->allocate(static_cast<size_t>(header.numBytes)))
    return named(std::move(error));
  if (std::fread(loaded->storage.data(), 1, loaded->numBytes, file.get()) !=
      loaded->numBytes)
    return makeError(BF_ERROR_IO, "%s: cannot be read to its end", path);
  if (Error error = loaded->verify(header.checksum))
    return named(std::move(error));
  result = std::move(loaded);
  return {};
}
