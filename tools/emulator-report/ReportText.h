//===- ReportText.h - What a launch did, for people and scripts -*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// The emulator's report as text and as JSON, for kernel-run and kernel-emu.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_TOOLS_EMULATORREPORT_REPORTTEXT_H
#define BACKFUSE_TOOLS_EMULATORREPORT_REPORTTEXT_H

#include "runtime/emulator/Emulator.h"

#include <nlohmann/json.hpp>
#include <string>

namespace backfuse::tools {

std::string reportText(const emulator::Report &report);
nlohmann::json reportJson(const emulator::Report &report);

} // namespace backfuse::tools

#endif // BACKFUSE_TOOLS_EMULATORREPORT_REPORTTEXT_H
