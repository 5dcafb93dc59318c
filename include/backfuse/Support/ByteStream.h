//===- ByteStream.h - Fields as bytes, for pipes and caches -----*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_SUPPORT_BYTESTREAM_H
#define BACKFUSE_SUPPORT_BYTESTREAM_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Endian.h"
#include <string>
#include <vector>

namespace backfuse {

/// Appends fields to `bytes`: integers as 64 bits, little endian; byte strings
/// and lists with their length first. Called like ByteReader, so that one
/// function can name the fields for both.
class ByteWriter {
public:
  explicit ByteWriter(std::string &bytes) : bytes(bytes) {}

  void operator()(int64_t value) {
    char buffer[8];
    llvm::support::endian::write64le(buffer, value);
    bytes.append(buffer, sizeof(buffer));
  }
  void operator()(int value) { (*this)(int64_t(value)); }
  void operator()(bool value) { (*this)(int64_t(value)); }
  void operator()(const std::string &text) {
    (*this)(int64_t(text.size()));
    bytes += text;
  }
  void operator()(const std::vector<char> &data) {
    (*this)(int64_t(data.size()));
    bytes.append(data.data(), data.size());
  }
  void operator()(const std::vector<std::string> &list) {
    (*this)(int64_t(list.size()));
    for (const std::string &text : list)
      (*this)(text);
  }

private:
  std::string &bytes;
};

/// Takes fields from the front of `bytes`. After the first field that is not
/// there, isValid() is false and all further fields are left as they are.
class ByteReader {
public:
  explicit ByteReader(llvm::StringRef bytes) : bytes(bytes) {}

  bool isValid() const { return valid; }
  bool isAtEnd() const { return valid && bytes.empty(); }

  void operator()(int64_t &value) {
    if (llvm::StringRef field = take(8); valid)
      value = llvm::support::endian::read64le(field.data());
  }
  void operator()(int &value) {
    int64_t wide = value;
    (*this)(wide);
    value = int(wide);
  }
  void operator()(bool &value) {
    int64_t wide = value;
    (*this)(wide);
    value = wide != 0;
  }
  void operator()(std::string &text) {
    if (llvm::StringRef field = takeSized(); valid)
      text = field.str();
  }
  void operator()(std::vector<char> &data) {
    if (llvm::StringRef field = takeSized(); valid)
      data.assign(field.begin(), field.end());
  }
  void operator()(std::vector<std::string> &list) {
    int64_t size = 0;
    (*this)(size);
    for (int64_t i = 0; valid && i < size; ++i)
      (*this)(list.emplace_back());
  }

private:
  llvm::StringRef take(uint64_t size) {
    if (!valid || size > bytes.size()) {
      valid = false;
      return {};
    }
    llvm::StringRef field = bytes.take_front(size);
    bytes = bytes.drop_front(size);
    return field;
  }
  llvm::StringRef takeSized() {
    int64_t size = 0;
    (*this)(size);
    return take(valid ? uint64_t(size) : 0);
  }

  llvm::StringRef bytes;
  bool valid = true;
};

} // namespace backfuse

#endif // BACKFUSE_SUPPORT_BYTESTREAM_H
