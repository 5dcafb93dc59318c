//===- Session.cpp - Runs a job -------------------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Session.h"

#include "tools/emulator-report/ReportText.h"
#include "tools/npy/NpyFile.h"

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>

using namespace backfuse;
using namespace backfuse::emu;
using emulator::Machine;

enum Status { ran = 0, found = 1, refused = 3, interrupted = 130 };

static std::atomic<bool> interruptFlag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "used by a handler");
extern "C" {
static void onInterrupt(int) { interruptFlag.store(true); }
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

/// The type of a file's elements; nothing for those that we have none for.
static std::optional<Element> elementOfDescr(const std::string &descr) {
  if (descr == "|V2" || descr == "<V2")
    return Element::BF16;
  if (descr == "|b1")
    return Element::U8;
  return parseElement(descr.substr(1, 1) +
                      std::to_string(8 * npy::elementBytes(descr)));
}

static std::string descrOf(Element element) {
  if (element == Element::BF16)
    return "|V2";
  unsigned bytes = elementBytes(element);
  char kind = elementName(element)[0];
  return (bytes == 1 ? "|" : "<") + std::string(1, kind) +
         std::to_string(bytes);
}

/// The elements of a file as `element`: its own, or rounded from <f4 or <f8.
static std::vector<unsigned char>
elementsOf(const npy::Array &file, Element element, const std::string &path) {
  std::optional<Element> from = elementOfDescr(file.descr);
  unsigned bytes = elementBytes(element);
  bool isBits = npy::elementBytes(file.descr) == bytes &&
                (file.descr[1] == 'u' || file.descr[1] == 'V' ||
                 (file.descr[1] == 'i' && !isFloat(element)));
  if (from == element || isBits)
    return file.bytes;
  if (!isFloat(element) || (from != Element::F32 && from != Element::F64))
    throw UsageError(path + ": has elements of type '" + file.descr +
                     "', which are no " + elementName(element));
  unsigned fromBytes = elementBytes(*from);
  std::vector<unsigned char> result(file.bytes.size() / fromBytes * bytes);
  for (size_t i = 0; i * fromBytes < file.bytes.size(); ++i)
    fromDouble(element, toDouble(*from, file.bytes.data() + i * fromBytes),
               result.data() + i * bytes);
  return result;
}

static void loadArray(Array &array) {
  if (!array.file.empty()) {
    npy::Array file = npy::read(array.file);
    if (!array.element)
      array.element = elementOfDescr(file.descr);
    if (!array.element)
      throw UsageError(array.file + ": has elements of type '" + file.descr +
                       "', which are not supported");
    array.bytes = elementsOf(file, *array.element, array.file);
    array.shape = file.shape;
  }
  array.numBytes = elementBytes(*array.element);
  for (int64_t extent : array.shape)
    if (extent < 0 ||
        __builtin_mul_overflow(array.numBytes, static_cast<uint64_t>(extent),
                               &array.numBytes))
      throw UsageError("array '" + array.name + "' is too large");
}

static void loadArrays(Job &job) {
  uint64_t total = 0;
  for (Array &array : job.arrays) {
    loadArray(array);
    if (__builtin_add_overflow(total, array.numBytes, &total) ||
        total > job.memoryLimit)
      throw UsageError("the arrays need more than the " +
                       std::to_string(job.memoryLimit) +
                       " bytes that --memory allows");
  }
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// "k.ptx:12: error: ..." and the line itself.
static void printPtxError(const Job &job, const std::string &ptx,
                          const std::string &message) {
  std::smatch match;
  static const std::regex where("\\bline ([0-9]+)");
  std::string place = job.ptx, text;
  if (std::regex_search(message, match, where) && match[1].length() < 9) {
    unsigned long line = std::stoul(match[1]);
    place += ":" + std::to_string(line);
    size_t begin = 0;
    for (unsigned long i = 1; i < line && begin != std::string::npos; ++i) {
      begin = ptx.find('\n', begin);
      begin += begin != std::string::npos;
    }
    if (begin != std::string::npos)
      text = ptx.substr(begin, ptx.find('\n', begin) - begin);
  }
  std::fprintf(stderr, "%s: error: %s\n", place.c_str(), message.c_str());
  if (!text.empty())
    std::fprintf(stderr, "%s\n", text.c_str());
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// Whether `array` holds what it should; prints what differs.
static bool compare(const Array &array, const unsigned char *bytes,
                    std::FILE *out) {
  npy::Array file = npy::read(array.expected);
  std::optional<Element> type = elementOfDescr(file.descr);
  uint64_t elements = array.numBytes / elementBytes(*array.element);
  // Bits of a type that NumPy does not have.
  if (type && elementBytes(*type) == elementBytes(*array.element) &&
      (file.descr[1] == 'V' || file.descr == "<u2"))
    type = array.element;
  if (!type)
    throw UsageError(array.expected + ": has elements of type '" + file.descr +
                     "', which are not supported");
  if (file.bytes.size() / elementBytes(*type) != elements)
    throw UsageError(array.expected + ": has not the " +
                     std::to_string(elements) + " elements of '" + array.name +
                     "'");
  uint64_t differing = 0, first = 0;
  double worst = 0;
  for (uint64_t i = 0; i < elements; ++i) {
    const unsigned char *at = bytes + i * elementBytes(*array.element);
    const unsigned char *to = file.bytes.data() + i * elementBytes(*type);
    if (type == array.element && std::memcmp(at, to, elementBytes(*type)) == 0)
      continue;
    double got = toDouble(*array.element, at), want = toDouble(*type, to);
    if (got == want || (std::isnan(got) && std::isnan(want)))
      continue;
    double error = std::fabs(got - want);
    if (std::isfinite(got) && std::isfinite(want)) {
      worst = std::max(worst, error);
      if (error <= array.atol + array.rtol * std::fabs(want))
        continue;
    }
    if (!differing++)
      first = i;
  }
  if (!differing) {
    std::fprintf(out, "%s: %llu elements as expected, largest error %g\n",
                 array.name.c_str(), static_cast<unsigned long long>(elements),
                 worst);
    return true;
  }
  std::string index;
  uint64_t rest = first;
  for (size_t d = array.shape.size(); d-- > 0;) {
    auto extent = static_cast<uint64_t>(array.shape[d]);
    index = std::to_string(rest % extent) + (index.empty() ? "" : ",") + index;
    rest /= extent;
  }
  std::fprintf(
      stderr,
      "%s: %llu of %llu elements differ, the first at [%s]: expected %.9g, but "
      "got %.9g (largest error %g)\n",
      array.name.c_str(), static_cast<unsigned long long>(differing),
      static_cast<unsigned long long>(elements), index.c_str(),
      toDouble(*type, file.bytes.data() + first * elementBytes(*type)),
      toDouble(*array.element, bytes + first * elementBytes(*array.element)),
      worst);
  return false;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
class Session {
public:
  explicit Session(Job &job) : job(job) {}
  int run();

private:
  Job &job;
  std::string ptx;
  nlohmann::json reports = nlohmann::json::array();

  /// Where lines for people go: a report in JSON has stdout for itself.
  std::FILE *lines() const { return job.report == "json" ? stderr : stdout; }
  int list(const emulator::Module &module) const;
  void chooseKernel(const emulator::Module &module);
  int runOnce(const Run &run);
  std::vector<uint8_t> mapBytes(const MapSpec &spec,
                                const std::vector<uint64_t> &addresses) const;
  uint64_t addressOf(const std::string &name,
                     const std::vector<uint64_t> &addresses) const;
  bool takeOutputs(Machine &machine, const std::vector<uint64_t> &addresses);
};
} // namespace

int Session::list(const emulator::Module &module) const {
  for (const std::string &name : module.kernelNames()) {
    emulator::Module::KernelInfo info;
    (void)module.kernelInfo(name, info);
    std::printf("%s: %llu bytes of static shared memory, %u registers live\n",
                name.c_str(),
                static_cast<unsigned long long>(info.staticSmemBytes),
                info.peakRegisters);
    auto printExtents = [](const char *what, const uint32_t (&extents)[3]) {
      if (extents[0])
        std::printf("  %s: %u,%u,%u\n", what, extents[0], extents[1],
                    extents[2]);
    };
    printExtents("block (.reqntid)", info.requiredThreads);
    printExtents("block, at most (.maxntid)", info.maxThreads);
    printExtents("cluster (.reqnctapercluster)", info.requiredCluster);
    for (const emulator::Module::Param &param : info.params)
      std::printf("  parameter %s: %llu bytes\n", param.name.c_str(),
                  static_cast<unsigned long long>(param.bytes));
  }
  return ran;
}

void Session::chooseKernel(const emulator::Module &module) {
  std::vector<std::string> names = module.kernelNames();
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ", ") + name;
  if (job.kernel.empty() && names.size() == 1)
    job.kernel = names[0];
  if (job.kernel.empty())
    throw UsageError(job.ptx + ": --kernel must name one of: " + list);
  emulator::Module::KernelInfo info;
  if (module.kernelInfo(job.kernel, info))
    throw UsageError(job.ptx + ": has no kernel '" + job.kernel +
                     "', only: " + list);
  auto adopt = [](emulator::Extent3 &extent, const uint32_t (&required)[3]) {
    if (extent.count() == 1 && required[0])
      extent = {required[0], required[1], required[2]};
  };
  adopt(job.shape.block, info.requiredThreads);
  adopt(job.shape.cluster, info.requiredCluster);
  if (info.params.size() != job.arguments.size()) {
    std::string params;
    for (const emulator::Module::Param &param : info.params)
      params +=
          "\n  " + param.name + ": " + std::to_string(param.bytes) + " bytes";
    throw UsageError("kernel '" + job.kernel + "' has " +
                     std::to_string(info.params.size()) + " parameters, but " +
                     std::to_string(job.arguments.size()) +
                     " arguments are given:" + params);
  }
}

uint64_t Session::addressOf(const std::string &name,
                            const std::vector<uint64_t> &addresses) const {
  for (size_t i = 0; i < job.arrays.size(); ++i)
    if (job.arrays[i].name == name)
      return addresses[i];
  throw UsageError("there is no array '" + name + "'");
}

std::vector<uint8_t>
Session::mapBytes(const MapSpec &spec,
                  const std::vector<uint64_t> &addresses) const {
  emulator::TensorMapParams params = spec.params;
  params.address =
      addressOf(spec.array, addresses) + static_cast<uint64_t>(spec.offset);
  uint8_t bytes[128];
  if (emulator::Error error = emulator::encodeTiled(params, bytes))
    throw UsageError("map of '" + spec.array + "': " + error.text());
  return std::vector<uint8_t>(bytes, bytes + sizeof bytes);
}

/// Writes and compares; false if something differs.
bool Session::takeOutputs(Machine &machine,
                          const std::vector<uint64_t> &addresses) {
  bool ok = true;
  for (size_t i = 0; i < job.arrays.size(); ++i) {
    const Array &array = job.arrays[i];
    if (!array.isWritable)
      continue;
    uint64_t unwritten = machine.firstUnwritten(addresses[i], array.numBytes);
    if (!array.isPartial && unwritten < array.numBytes) {
      std::fprintf(stderr,
                   "%s: byte %llu of %llu was not written (--partial if it "
                   "need not be)\n",
                   array.name.c_str(),
                   static_cast<unsigned long long>(unwritten),
                   static_cast<unsigned long long>(array.numBytes));
      ok = false;
    }
    std::vector<unsigned char> bytes(array.numBytes);
    (void)machine.read(addresses[i], bytes.data(), bytes.size());
    if (!array.output.empty())
      npy::write(array.output, descrOf(*array.element), array.shape,
                 bytes.data(), bytes.size());
    if (!array.expected.empty())
      ok &= compare(array, bytes.data(), lines());
  }
  return ok;
}

int Session::runOnce(const Run &run) {
  // Each run has a machine of its own: no state survives.
  Machine machine;
  machine.setMemoryLimit(job.memoryLimit);
  std::unique_ptr<emulator::Module> module;
  if (emulator::Error error = machine.loadPtx(ptx, module)) {
    printPtxError(job, ptx, error.text());
    return refused;
  }
  if (job.list)
    return list(*module);
  chooseKernel(*module);

  std::vector<uint64_t> addresses;
  for (Array &array : job.arrays) {
    bool isKnown = !array.file.empty() || array.fill;
    addresses.push_back(machine.allocate(array.numBytes, array.name, isKnown));
    if (!array.file.empty())
      (void)machine.write(addresses.back(), array.bytes.data(),
                          array.bytes.size());
    else if (array.fill)
      (void)machine.fill(addresses.back(), *array.fill, array.numBytes);
    (void)machine.setReadOnly(addresses.back(), !array.isWritable);
  }
  std::vector<std::vector<uint8_t>> arguments;
  for (const Argument &argument : job.arguments)
    switch (argument.kind) {
    case Argument::Pointer:
      arguments.push_back(
          emulator::argument(addressOf(argument.array, addresses) +
                             static_cast<uint64_t>(argument.offset)));
      break;
    case Argument::Bytes:
      arguments.push_back(argument.bytes);
      break;
    case Argument::Map:
      arguments.push_back(mapBytes(argument.map, addresses));
      break;
    case Argument::MapPointer: {
      std::vector<uint8_t> bytes = mapBytes(argument.map, addresses);
      uint64_t at = machine.allocate(bytes.size(), "tensor map", true);
      (void)machine.write(at, bytes.data(), bytes.size());
      arguments.push_back(emulator::argument(at));
      break;
    }
    }

  emulator::LaunchOptions options = job.options;
  options.order = run.order;
  options.seed = run.seed;
  options.memoryLimit = job.memoryLimit;
  options.interrupt = &interruptFlag;
  emulator::Report report;
  static const char *const orders[] = {"in order", "random", "adversarial"};
  std::string name = orders[static_cast<unsigned>(run.order)];
  if (run.order != emulator::Order::InOrder)
    name += ", seed " + std::to_string(run.seed);
  emulator::Error error = machine.launch(*module, job.kernel, job.shape,
                                         arguments, options, report);
  if (job.report == "json") {
    nlohmann::json entry = tools::reportJson(report);
    entry["order"] = name;
    reports.push_back(entry);
  }
  if (error && report.ctas == 0) // the launch never began
    throw UsageError(error.text());
  if (error) {
    std::fprintf(stderr, "%s (%s):\n", job.kernel.c_str(), name.c_str());
    printPtxError(job, ptx, error.text());
    if (error.text().find("shared memory is 0x") != std::string::npos)
      std::fprintf(stderr,
                   "note: --smem gives the kernel %u bytes of dynamic shared "
                   "memory\n",
                   job.shape.dynamicSmemBytes);
    return interruptFlag.load() ? interrupted : found;
  }
  std::fprintf(lines(), "%s (%s): %llu CTAs, %llu instructions of warps%s\n",
               job.kernel.c_str(), name.c_str(),
               static_cast<unsigned long long>(report.ctas),
               static_cast<unsigned long long>(report.instructions),
               job.options.checks ? ", checks silent" : "");
  if (job.report == "text")
    std::fputs(tools::reportText(report).c_str(), stdout);
  return takeOutputs(machine, addresses) ? ran : found;
}

int Session::run() {
  std::ifstream file(job.ptx, std::ios::binary);
  if (file.peek() == std::ifstream::traits_type::eof() && !file.eof())
    throw UsageError(job.ptx + ": " + std::strerror(errno));
  ptx.assign(std::istreambuf_iterator<char>(file), {});
  if (!job.list)
    loadArrays(job);
  std::signal(SIGINT, onInterrupt);
  std::signal(SIGTERM, onInterrupt);
  int status = ran;
  for (const Run &run : job.runs) {
    int one = runOnce(run);
    status = std::max(status, one);
    if (one == refused || one == interrupted || job.list)
      break;
  }
  if (job.report == "json" && !job.list)
    std::printf("%s\n", reports.dump(1).c_str());
  return status;
}

int backfuse::emu::runJob(Job &job) { return Session(job).run(); }
