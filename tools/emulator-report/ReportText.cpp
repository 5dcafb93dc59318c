//===- ReportText.cpp - What a launch did, for people and scripts ---------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/emulator-report/ReportText.h"

#include <cstdio>

using namespace backfuse;
using namespace backfuse::tools;
using nlohmann::json;

static std::string line(const char *name, double value) {
  char text[128];
  std::snprintf(text, sizeof text, "  %-34s %.15g\n", name, value);
  return text;
}

json tools::reportJson(const emulator::Report &report) {
  json classes = json::object();
  for (const auto &[name, count] : report.classes)
    classes[name] = count;
  json roles = json::object();
  for (const auto &[name, count] : report.waitsByRole)
    roles[name] = count;
  json sites = json::array();
  for (const emulator::Report::SharedSite &site : report.sharedSites)
    sites.push_back({{"line", site.line},
                     {"instruction", site.instruction},
                     {"accesses", site.accesses},
                     {"wavefronts", site.wavefronts},
                     {"without_conflicts", site.ideal}});
  json buffers = json::array();
  for (const emulator::Report::Buffer &buffer : report.buffers)
    buffers.push_back({{"name", buffer.name},
                       {"bytes", buffer.bytes},
                       {"bytes_read", buffer.bytesRead},
                       {"bytes_written", buffer.bytesWritten}});
  return {{"ctas", report.ctas},
          {"warp_instructions", report.instructions},
          {"thread_instructions", report.laneInstructions},
          {"instructions", classes},
          {"tensor_instructions", report.tensorInstructions},
          {"tensor_operations", report.tensorOperations},
          {"bytes",
           {{"global_loaded", report.globalBytesLoaded},
            {"global_stored", report.globalBytesStored},
            {"bulk_loaded", report.bulkBytesLoaded},
            {"bulk_stored", report.bulkBytesStored},
            {"shared_loaded", report.sharedBytesLoaded},
            {"shared_stored", report.sharedBytesStored}}},
          {"buffers", buffers},
          {"mbarrier_waits", report.barrierWaits},
          {"mbarrier_waits_by_role", roles},
          {"live_registers", report.liveRegisters},
          {"shared_accesses", sites}};
}

std::string tools::reportText(const emulator::Report &report) {
  std::string text = "instructions of warps, by class\n";
  for (const auto &[name, count] : report.classes)
    text += line(name.c_str(), static_cast<double>(count));
  text += "tensor operations\n";
  text += line("instructions", static_cast<double>(report.tensorInstructions));
  text += line("operations (2 m n k)", report.tensorOperations);
  text += "bytes\n";
  text += line("device memory, loads",
               static_cast<double>(report.globalBytesLoaded));
  text += line("device memory, stores",
               static_cast<double>(report.globalBytesStored));
  text += line("device memory, bulk loads",
               static_cast<double>(report.bulkBytesLoaded));
  text += line("device memory, bulk stores",
               static_cast<double>(report.bulkBytesStored));
  text += line("shared memory, loads",
               static_cast<double>(report.sharedBytesLoaded));
  text += line("shared memory, stores",
               static_cast<double>(report.sharedBytesStored));
  if (!report.buffers.empty())
    text += "device memory, by array: bytes, of these read, written\n";
  for (const emulator::Report::Buffer &buffer : report.buffers) {
    char row[160];
    std::snprintf(row, sizeof row, "  %-34.34s %llu, %llu, %llu\n",
                  buffer.name.c_str(),
                  static_cast<unsigned long long>(buffer.bytes),
                  static_cast<unsigned long long>(buffer.bytesRead),
                  static_cast<unsigned long long>(buffer.bytesWritten));
    text += row;
  }
  text += "waits\n";
  text += line("for mbarriers", static_cast<double>(report.barrierWaits));
  for (const auto &[name, count] : report.waitsByRole)
    text += line(("  " + name).c_str(), static_cast<double>(count));
  text += "registers\n";
  text += line("live at once (32 bits)", report.liveRegisters);
  if (report.sharedSites.empty())
    return text;
  text += "shared memory, by instruction: accesses of warps, times that banks "
          "worked, without conflicts\n";
  for (const emulator::Report::SharedSite &site : report.sharedSites) {
    char row[160];
    std::snprintf(row, sizeof row,
                  "  line %-6u %-30.30s %10llu %10llu %10llu%s\n", site.line,
                  site.instruction.c_str(),
                  static_cast<unsigned long long>(site.accesses),
                  static_cast<unsigned long long>(site.wavefronts),
                  static_cast<unsigned long long>(site.ideal),
                  site.wavefronts > site.ideal ? "  conflicts" : "");
    text += row;
  }
  return text;
}
