//===- Error.h - A status code and a sentence about it ----------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_RUNTIME_SRC_ERROR_H
#define BACKFUSE_RUNTIME_SRC_ERROR_H

#include "backfuse/runtime.h"

#include <string>

namespace backfuse::runtime {

/// Success, or a status code and a sentence for people.
struct [[nodiscard]] Error {
  bf_status code = BF_OK;
  std::string text;

  explicit operator bool() const { return code != BF_OK; }
};

#if defined(__GNUC__)
#define BF_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define BF_PRINTF(text, first)
#endif

/// The text that printf would print.
std::string formatText(const char *format, ...) BF_PRINTF(1, 2);

/// An error whose text is formatted as by printf.
Error makeError(bf_status code, const char *format, ...) BF_PRINTF(2, 3);

} // namespace backfuse::runtime

#endif // BACKFUSE_RUNTIME_SRC_ERROR_H
