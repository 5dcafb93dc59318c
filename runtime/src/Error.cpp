//===- Error.cpp - A status code and a sentence about it ------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Error.h"

#include <cstdarg>
#include <cstdio>

using namespace backfuse::runtime;

static std::string formatList(const char *format, va_list list) {
  va_list again;
  va_copy(again, list);
  int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length < 0)
    return format;
  std::string text(static_cast<size_t>(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, list);
  return text;
}

std::string backfuse::runtime::formatText(const char *format, ...) {
  va_list list;
  va_start(list, format);
  std::string text = formatList(format, list);
  va_end(list);
  return text;
}

Error backfuse::runtime::makeError(bf_status code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  Error error{code, formatList(format, list)};
  va_end(list);
  return error;
}
