//===- NpyFile.cpp - Arrays in NumPy's files ------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "tools/npy/NpyFile.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>

using namespace backfuse;
using namespace backfuse::npy;

static const char magic[] = "\x93NUMPY";
static constexpr size_t magicBytes = 6;
/// Headers are a line of text; more than this is not one.
static constexpr size_t maxHeaderBytes = 1 << 16;

/// The text of a header: a Python dictionary, matched field by field.
static void parseHeader(const std::string &path, const std::string &text,
                        Array &array) {
  auto bad = [&](const std::string &why) {
    return NpyError(path + ": " + why);
  };
  std::smatch match;
  if (!std::regex_search(text, match, std::regex("'descr' *: *'([^']*)'")))
    throw bad("its element type is not a plain one");
  array.descr = match[1];
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
    array.shape.push_back(extent);
  }
}

static void readHeader(const std::string &path, std::ifstream &file,
                       Array &array) {
  unsigned char prefix[12] = {};
  file.read(reinterpret_cast<char *>(prefix), 10);
  if (!file || std::memcmp(prefix, magic, magicBytes) != 0)
    throw NpyError(path + ": not an .npy file");
  size_t length = prefix[8] | size_t(prefix[9]) << 8;
  if (prefix[6] >= 2) {
    file.read(reinterpret_cast<char *>(prefix + 10), 2);
    length |= size_t(prefix[10]) << 16 | size_t(prefix[11]) << 24;
  }
  if (!file || length > maxHeaderBytes)
    throw NpyError(path + ": its header is damaged");
  std::string text(length, ' ');
  file.read(text.data(), static_cast<std::streamsize>(length));
  if (!file)
    throw NpyError(path + ": truncated");
  parseHeader(path, text, array);
}

uint64_t npy::elementBytes(const std::string &descr) {
  static const std::regex plain("[<|][fiubVc](1|2|4|8|16)");
  std::smatch match;
  if (!std::regex_match(descr, match, plain))
    return 0;
  return std::strtoull(match[1].str().c_str(), nullptr, 10);
}

Array npy::read(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    throw NpyError(path + ": " + std::strerror(errno));
  auto fileBytes = static_cast<uint64_t>(file.tellg());
  file.seekg(0);
  Array array;
  readHeader(path, file, array);
  uint64_t expected = elementBytes(array.descr);
  if (!expected)
    throw NpyError(path + ": has elements of type '" + array.descr +
                   "', which are not supported");
  uint64_t present = fileBytes - static_cast<uint64_t>(file.tellg());
  bool fits = true;
  for (int64_t extent : array.shape)
    fits &= !__builtin_mul_overflow(expected, static_cast<uint64_t>(extent),
                                    &expected);
  // Before anything of that size is allocated.
  if (!fits || expected != present)
    throw NpyError(path + ": has " + std::to_string(present) +
                   " bytes of data, which its shape does not fit");
  array.bytes.resize(present);
  file.read(reinterpret_cast<char *>(array.bytes.data()),
            static_cast<std::streamsize>(present));
  if (!file)
    throw NpyError(path + ": cannot be read to its end");
  return array;
}

void npy::write(const std::string &path, const std::string &descr,
                const std::vector<int64_t> &shape, const void *bytes,
                uint64_t numBytes) {
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : shape)
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
  file.write(static_cast<const char *>(bytes),
             static_cast<std::streamsize>(numBytes));
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    throw NpyError(path + ": cannot be written: " + why);
  }
}
