//===- Npy.cpp - Tensors in NumPy's files ---------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Npy.h"
#include "Failure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <regex>

using namespace backfuse;
using namespace backfuse::run;
using bundle::DType;

static const char magic[] = "\x93NUMPY";
static constexpr size_t magicBytes = 6;
/// Headers are a line of text; more than this is not one.
static constexpr size_t maxHeaderBytes = 1 << 16;

namespace {
struct Header {
  std::string descr;
  std::vector<int64_t> shape;
};
} // namespace

/// The text of a header: a Python dictionary, matched field by field.
static Header parseHeader(const std::string &path, const std::string &text) {
  auto bad = [&](const std::string &why) { return Failure(path + ": " + why); };
  std::smatch match;
  Header header;
  if (!std::regex_search(text, match, std::regex("'descr' *: *'([^']*)'")))
    throw bad("its element type is not a plain one");
  header.descr = match[1];
  if (!std::regex_search(text, match,
                         std::regex("'fortran_order' *: *(True|False)")))
    throw bad("its header has no fortran_order");
  if (match[1] == "True")
    throw bad("column-major arrays are not supported: save "
              "numpy.ascontiguousarray(x)");
  if (!std::regex_search(text, match,
                         std::regex("'shape' *: *\\(([0-9, ]*)\\)")))
    throw bad("its header has no shape");
  std::string extents = match[1];
  std::regex number("[0-9]+");
  for (std::sregex_iterator i(extents.begin(), extents.end(), number), end;
       i != end; ++i) {
    errno = 0;
    int64_t extent = std::strtoll(i->str().c_str(), nullptr, 10);
    if (errno == ERANGE)
      throw bad("its shape is too large");
    header.shape.push_back(extent);
  }
  return header;
}

static Header readHeader(const std::string &path, std::ifstream &file) {
  unsigned char prefix[12] = {};
  file.read(reinterpret_cast<char *>(prefix), 10);
  if (!file || std::memcmp(prefix, magic, magicBytes) != 0)
    throw Failure(path + ": not an .npy file");
  size_t length = prefix[8] | size_t(prefix[9]) << 8;
  if (prefix[6] >= 2) {
    file.read(reinterpret_cast<char *>(prefix + 10), 2);
    length |= size_t(prefix[10]) << 16 | size_t(prefix[11]) << 24;
  }
  if (!file || length > maxHeaderBytes)
    throw Failure(path + ": its header is damaged");
  std::string text(length, ' ');
  file.read(text.data(), static_cast<std::streamsize>(length));
  if (!file)
    throw Failure(path + ": truncated");
  return parseHeader(path, text);
}

/// Whether the file's elements are those of `dtype`, bit for bit.
static bool isStorageOf(const std::string &descr, DType dtype) {
  switch (dtype) {
  case DType::F32:
    return descr == "<f4";
  case DType::F16:
    return descr == "<f2";
  case DType::BF16:
    return descr == "|V2" || descr == "<V2" || descr == "<u2";
  case DType::I1:
    return descr == "|b1";
  case DType::I64:
    return descr == "<i8";
  }
  return false;
}

static const char *expectedDescr(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "<f4";
  case DType::F16:
    return "<f2 or <f4";
  case DType::BF16:
    return "|V2, <u2 or <f4";
  case DType::I1:
    return "|b1";
  case DType::I64:
    return "<i8";
  }
  return "?";
}

reference::Tensor backfuse::run::readNpy(const std::string &path, DType dtype) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    throw Failure(path + ": " + std::strerror(errno));
  auto fileBytes = static_cast<uint64_t>(file.tellg());
  file.seekg(0);
  Header header = readHeader(path, file);
  bool rounds =
      (dtype == DType::BF16 || dtype == DType::F16) && header.descr == "<f4";
  if (!rounds && !isStorageOf(header.descr, dtype))
    throw Failure(path + ": has elements of type '" + header.descr +
                  "', expected " + expectedDescr(dtype));
  uint64_t elementBytes =
      rounds ? 4 : static_cast<uint64_t>(reference::bytesPerElement(dtype));
  uint64_t present = fileBytes - static_cast<uint64_t>(file.tellg());
  uint64_t expected = elementBytes;
  bool fits = true;
  for (int64_t extent : header.shape)
    fits &= !__builtin_mul_overflow(expected, static_cast<uint64_t>(extent),
                                    &expected);
  // Before anything of that size is allocated.
  if (!fits || expected != present)
    throw Failure(path + ": has " + std::to_string(present) +
                  " bytes of data, which its shape does not fit");
  reference::Tensor tensor(dtype, header.shape);
  if (!rounds) {
    file.read(reinterpret_cast<char *>(tensor.bytes.data()),
              static_cast<std::streamsize>(present));
  } else {
    std::vector<float> values(present / 4);
    file.read(reinterpret_cast<char *>(values.data()),
              static_cast<std::streamsize>(present));
    for (size_t i = 0; i < values.size(); ++i)
      tensor.set(static_cast<int64_t>(i), values[i]);
  }
  if (!file)
    throw Failure(path + ": cannot be read to its end");
  return tensor;
}

void backfuse::run::writeNpy(const std::string &path,
                             const reference::Tensor &tensor) {
  std::string descr = expectedDescr(tensor.dtype);
  descr = descr.substr(0, 3);
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : tensor.shape)
    text += std::to_string(extent) + ",";
  text += "), }";
  // Data begin at a multiple of 64; the header ends with a newline.
  text += std::string(63 - (10 + text.size()) % 64, ' ') + "\n";
  std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary);
  file.write(magic, magicBytes);
  file.put(1).put(0);
  file.put(static_cast<char>(text.size() & 255));
  file.put(static_cast<char>(text.size() >> 8));
  file << text;
  file.write(reinterpret_cast<const char *>(tensor.bytes.data()),
             static_cast<std::streamsize>(tensor.bytes.size()));
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    throw Failure(path + ": cannot be written: " + why);
  }
}
