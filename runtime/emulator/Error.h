//===- Error.h - A failure with its text ------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_ERROR_H
#define BACKFUSE_RUNTIME_EMULATOR_ERROR_H

#include <string>
#include <utility>

namespace backfuse::emulator {

/// Empty is success; true in a condition means failure.
class [[nodiscard]] Error {
public:
  Error() = default;
  explicit Error(std::string message) : message(std::move(message)) {}
  static Error success() { return {}; }
  explicit operator bool() const { return !message.empty(); }
  const std::string &text() const { return message; }

private:
  std::string message;
};

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_ERROR_H
