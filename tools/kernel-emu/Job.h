//===- Job.h - What kernel-emu is asked to run ------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// The command line and a launch file in JSON describe the same thing; what the
// command line gives replaces what the file gives.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_KERNELEMU_JOB_H
#define BACKFUSE_KERNELEMU_JOB_H

#include "runtime/emulator/Emulator.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace backfuse::emu {

/// The command line or the launch file is wrong: exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Types of scalars and of arrays' elements.
enum class Element : uint8_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  U64,
  I64,
  F16,
  BF16,
  F32,
  F64
};
/// "f32", "i32", "b64" ...; nothing if `name` is no type.
std::optional<Element> parseElement(const std::string &name);
const char *elementName(Element element);
unsigned elementBytes(Element element);
bool isFloat(Element element);
/// A value as a double (64-bit integers are rounded), and the reverse, rounded
/// to nearest even.
double toDouble(Element element, const unsigned char *from);
void fromDouble(Element element, double value, unsigned char *to);

/// Device memory that the kernel uses.
struct Array {
  std::string name;
  std::string file; ///< its content; empty: nobody has written it yet
  std::optional<Element> element;
  std::vector<int64_t> shape;
  std::optional<uint8_t> fill; ///< the content without a file
  bool isWritable = false;     ///< an array from a file may be written
  bool isPartial = false;      ///< not all of it must be written
  std::string output;          ///< where its content goes
  std::string expected;        ///< what it is compared with
  double atol = 0, rtol = 0;
  std::vector<unsigned char> bytes; ///< once loaded
  uint64_t numBytes = 0;
};

struct MapSpec {
  std::string array;
  int64_t offset = 0; ///< bytes
  emulator::TensorMapParams params;
};

struct Argument {
  enum Kind : uint8_t {
    Pointer, ///< to `array` plus `offset`
    Bytes,   ///< `bytes`: scalars, structures
    Map,     ///< by value (128 bytes)
    MapPointer
  };
  Kind kind = Bytes;
  std::string array;
  int64_t offset = 0;
  std::vector<unsigned char> bytes;
  MapSpec map;
};

struct Run {
  emulator::Order order = emulator::Order::InOrder;
  uint64_t seed = 0;
};

struct Job {
  std::string ptx;    ///< file
  std::string kernel; ///< empty: the only one
  emulator::LaunchShape shape;
  std::vector<Array> arrays;
  std::vector<Argument> arguments;
  std::vector<Run> runs;
  emulator::LaunchOptions options;
  uint64_t memoryLimit = 0;
  std::string report; ///< "", "text" or "json"
  bool list = false;
};

/// Fills `job`; the exit status where the command line ends the program.
std::optional<int> parseJob(int argc, char **argv, Job &job);

} // namespace backfuse::emu

#endif // BACKFUSE_KERNELEMU_JOB_H
