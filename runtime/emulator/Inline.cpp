//===- Inline.cpp - Calls of functions that were not inlined --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// A call is replaced by the function's body: its registers are new ones of the
// caller, its parameters and results are the variables that the call names, its
// returns go behind the call. So the machine needs no stack; functions that
// call themselves are refused.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Ptx.h"

#include <algorithm>

namespace backfuse::emulator::ptx {

namespace {

class Inliner {
public:
  Inliner(const Module &module, Function &result)
      : module(module), result(result) {}

  Error run(const Function &entry) {
    result = entry;
    result.body.clear();
    if (!expand(entry, {}, 0))
      return Error(message);
    return Error::success();
  }

private:
  const Module &module;
  Function &result;
  std::string message;
  std::vector<const Function *> stack;
  static constexpr size_t maxInstructions = 1u << 21;

  bool fail(unsigned line, const std::string &what) {
    message = "kernel '" + result.name + "', line " + std::to_string(line) +
              ", 'call': " + what;
    return false;
  }

  const Function *find(const std::string &name) const {
    for (const Function &function : module.functions)
      if (function.name == name)
        return &function;
    return nullptr;
  }

  /// Names of the callee's variables and registers in the caller.
  struct Renaming {
    std::vector<std::pair<uint32_t, uint32_t>> variables;
    uint32_t firstRegister = 0;

    uint32_t variable(uint32_t index) const {
      for (auto [from, to] : variables)
        if (from == index)
          return to;
      return index;
    }
  };

  static void rename(Operand &operand, const Renaming &renaming) {
    if (operand.kind == Operand::Reg)
      operand.index += renaming.firstRegister;
    if (operand.kind == Operand::Symbol)
      operand.index = renaming.variable(operand.index);
    for (Operand &element : operand.elements)
      rename(element, renaming);
  }

  static void relabel(Operand &operand, const std::vector<uint32_t> &places) {
    if (operand.kind == Operand::Label)
      operand.index = places[operand.index];
    for (Operand &element : operand.elements)
      relabel(element, places);
  }

  bool expand(const Function &function, const Renaming &renaming,
              unsigned callLine) {
    if (std::find(stack.begin(), stack.end(), &function) != stack.end())
      return fail(callLine, "'" + function.name +
                                "' calls itself, which is not supported by the "
                                "emulator");
    stack.push_back(&function);
    std::vector<uint32_t> places(function.body.size() + 1);
    std::vector<uint32_t> own, returns;
    for (uint32_t i = 0; i < function.body.size(); ++i) {
      places[i] = static_cast<uint32_t>(result.body.size());
      Instruction instruction = function.body[i];
      if (instruction.guard >= 0)
        instruction.guard += static_cast<int32_t>(renaming.firstRegister);
      for (Operand &operand : instruction.operands)
        rename(operand, renaming);
      if (result.body.size() > maxInstructions)
        return fail(instruction.line, "the inlined calls are too many");
      if (instruction.name[0] == "call") {
        if (!expandCall(instruction))
          return false;
        continue;
      }
      if (instruction.name[0] == "ret" && stack.size() > 1) {
        instruction.name = {"bra"};
        instruction.operands.assign(1, Operand());
        instruction.operands[0].kind = Operand::Label;
        returns.push_back(static_cast<uint32_t>(result.body.size()));
      } else {
        own.push_back(static_cast<uint32_t>(result.body.size()));
      }
      result.body.push_back(std::move(instruction));
    }
    const auto end = static_cast<uint32_t>(result.body.size());
    places[function.body.size()] = end;
    for (uint32_t i : own)
      for (Operand &operand : result.body[i].operands)
        relabel(operand, places);
    for (uint32_t i : returns)
      result.body[i].operands[0].index = end;
    stack.pop_back();
    return true;
  }

  bool expandCall(const Instruction &call) {
    const Operand &results = call.operands[0], &callee = call.operands[1],
                  &arguments = call.operands[2];
    if (callee.name == "__assertfail") {
      // An assertion of the device's code does not hold.
      Instruction trap = call;
      trap.name = {"trap"};
      trap.operands.clear();
      result.body.push_back(std::move(trap));
      return true;
    }
    const Function *function =
        callee.kind == Operand::Name ? find(callee.name) : nullptr;
    if (!function)
      return fail(call.line,
                  "function '" + callee.name + "' has no body in this module");
    if (function->params.size() != arguments.elements.size() ||
        function->results.size() != results.elements.size())
      return fail(call.line, "'" + function->name + "' has " +
                                 std::to_string(function->params.size()) +
                                 " parameters and " +
                                 std::to_string(function->results.size()) +
                                 " results");
    Renaming renaming;
    renaming.firstRegister = static_cast<uint32_t>(result.regs.size());
    auto bind = [&](const std::vector<uint32_t> &formals,
                    const Operand &actuals) {
      for (size_t i = 0; i < formals.size(); ++i) {
        const Operand &actual = actuals.elements[i];
        if (actual.kind != Operand::Symbol || actual.offset)
          return fail(call.line, "expects variables in .param space as "
                                 "arguments and results");
        if (module.variables[actual.index].bytes <
            module.variables[formals[i]].bytes)
          return fail(call.line, "argument '" +
                                     module.variables[actual.index].name +
                                     "' is too small");
        renaming.variables.emplace_back(formals[i], actual.index);
      }
      return true;
    };
    if (!bind(function->params, arguments) || !bind(function->results, results))
      return false;
    for (const Register &reg : function->regs)
      result.regs.push_back({function->name + ":" + reg.name, reg.type});
    // Lanes that do not call go on behind the call.
    uint32_t skip = ~0u;
    if (call.guard >= 0) {
      skip = static_cast<uint32_t>(result.body.size());
      Instruction branch = call;
      branch.name = {"bra"};
      branch.guardNegated = !call.guardNegated;
      branch.operands.assign(1, Operand());
      branch.operands[0].kind = Operand::Label;
      result.body.push_back(std::move(branch));
    }
    if (!expand(*function, renaming, call.line))
      return false;
    if (skip != ~0u)
      result.body[skip].operands[0].index =
          static_cast<uint32_t>(result.body.size());
    return true;
  }
};

} // namespace

Error inlineCalls(const Module &module, const Function &entry,
                  Function &result) {
  return Inliner(module, result).run(entry);
}

} // namespace backfuse::emulator::ptx
