//===- Ptx.h - Syntax tree of a PTX module ----------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// What the parser makes of PTX text: names are resolved (registers, labels,
// variables), nothing is interpreted yet. Decode.h turns a function into
// instructions that can be executed.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_PTX_H
#define BACKFUSE_RUNTIME_EMULATOR_PTX_H

#include "runtime/emulator/Error.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace backfuse::emulator {

/// Fundamental types of PTX, and the packed ones.
enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  F16x2,
  BF16x2,
  F32,
  TF32,
  F64,
  F32x2
};
constexpr unsigned numTypes = static_cast<unsigned>(Type::F32x2) + 1;

/// Bytes of a value of `type`; 0 for None and Pred.
unsigned byteSize(Type type);
/// The type that a suffix such as "u32" names; None if it names none.
Type parseType(std::string_view suffix);
/// The suffix, without a dot.
const char *typeName(Type type);

enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };

namespace ptx {

/// A variable: of a module, of a function, or a kernel's parameter.
struct Variable {
  std::string name;
  Space space = Space::Generic;
  Type type = Type::None;
  uint64_t bytes = 0;
  uint64_t align = 1;
  bool isExtern = false; ///< dynamic shared memory when in shared space
  std::vector<uint8_t> init;
  /// Addresses of other variables that `init` holds: (offset, index).
  std::vector<std::pair<uint64_t, std::string>> relocations;
  uint64_t offset = 0; ///< within the parameter block, for parameters
  unsigned line = 0;
};

struct Operand {
  enum Kind : uint8_t {
    Reg,     ///< `index` into Function::regs
    Special, ///< `index` into specialRegisterNames
    Int,     ///< `bits`
    F32,     ///< 0f...: `bits` of a float
    F64,     ///< 0d... or decimal: `bits` of a double
    Symbol,  ///< `index` into Module::variables, plus `offset`
    Label,   ///< `index` of an instruction; in a Vector: of brx.idx
    Address, ///< `elements[0]` is the base, plus `offset`; further elements as
             ///< written
    Vector,  ///< {a, b, ...}
    Pair,    ///< a|b
    Sink,    ///< _
    Name     ///< a function's name, in calls
  };
  Kind kind = Sink;
  bool negated = false; ///< !p
  uint32_t index = 0;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string name; ///< of labels until they are resolved, and of functions
  std::vector<Operand> elements;
};

struct Instruction {
  unsigned line = 0;
  unsigned sourceFile = 0, sourceLine = 0; ///< of the last `.loc`
  int32_t guard = -1;                      ///< register of the predicate
  bool guardNegated = false;
  std::vector<std::string> name; ///< split at the dots: {"ld", "global", "u32"}
  std::vector<Operand> operands;
  std::string fullName() const;
};

struct Register {
  std::string name;
  Type type;
};

struct Function {
  std::string name;
  bool isEntry = false;
  unsigned line = 0;
  std::vector<Register> regs;
  std::vector<uint32_t> params;    ///< indices into Module::variables
  std::vector<uint32_t> results;   ///< the same; of entries: none
  std::vector<uint32_t> variables; ///< declared inside
  std::vector<Instruction> body;
  uint64_t paramBytes = 0;
  // Directives; 0 is "not given".
  uint32_t maxThreads[3] = {0, 0, 0};
  uint32_t requiredThreads[3] = {0, 0, 0};
  uint32_t requiredCluster[3] = {0, 0, 0};
  bool explicitCluster = false;
  uint32_t maxRegisters = 0;
  uint32_t minCtas = 0;
};

struct Module {
  unsigned versionMajor = 0, versionMinor = 0;
  std::string target;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<std::string> files; ///< of `.file`, by index
};

/// Names of special registers, as written ("%tid.x").
extern const std::vector<std::string> specialRegisterNames;

/// Parses `text`. An error names the line.
Error parse(std::string_view text, Module &module);

/// `entry` with the functions that it calls in place of the calls.
Error inlineCalls(const Module &module, const Function &entry,
                  Function &result);

} // namespace ptx
} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_PTX_H
