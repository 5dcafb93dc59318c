//===- NpyFile.h - Arrays in NumPy's files ----------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Bytes, shape and element type of an .npy file, for the tools. What the bytes
// mean is the tools' business: NumPy has no bf16, for example.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_TOOLS_NPY_NPYFILE_H
#define BACKFUSE_TOOLS_NPY_NPYFILE_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace backfuse::npy {

/// Says which file and what is wrong with it.
struct NpyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Array {
  std::string descr; ///< "<f4", "|V2", ...
  std::vector<int64_t> shape;
  std::vector<unsigned char> bytes;
};

/// Bytes of an element of type `descr`; 0 if that is no plain type.
uint64_t elementBytes(const std::string &descr);

/// Reads a row-major, little-endian array of plain elements. Nothing is
/// allocated before the file is known to hold that much.
Array read(const std::string &path);

/// The file appears whole or not at all.
void write(const std::string &path, const std::string &descr,
           const std::vector<int64_t> &shape, const void *bytes,
           uint64_t numBytes);

} // namespace backfuse::npy

#endif // BACKFUSE_TOOLS_NPY_NPYFILE_H
