//===- Job.cpp - kernel-emu's command line and launch files ---------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Job.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

using namespace backfuse;
using namespace backfuse::emu;
using nlohmann::json;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Element elementOf(const std::string &name, const std::string &where) {
  if (auto element = parseElement(name))
    return *element;
  throw UsageError(where + ": '" + name +
                   "' is no type: expected u8, i8, u16, i16, u32, i32, u64, "
                   "i64, f16, bf16, f32 or f64");
}

/// The bytes of a number written as text.
static std::vector<unsigned char> scalarBytes(Element element,
                                              const std::string &text,
                                              const std::string &where) {
  unsigned bytes = elementBytes(element);
  std::vector<unsigned char> result(bytes);
  char *end = nullptr;
  errno = 0;
  if (isFloat(element)) {
    double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end)
      throw UsageError(where + ": '" + text + "' is not a number");
    fromDouble(element, value, result.data());
    return result;
  }
  bool isNegative = !text.empty() && text[0] == '-';
  uint64_t magnitude =
      std::strtoull(text.c_str() + (isNegative ? 1 : 0), &end, 0);
  bool isDigit = text.size() > (isNegative ? 1u : 0u) &&
                 std::isdigit(static_cast<unsigned char>(text[isNegative]));
  if (!isDigit || *end || errno == ERANGE)
    throw UsageError(where + ": '" + text + "' is not an integer");
  uint64_t limit = bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << 8 * bytes) - 1;
  if (magnitude > limit || (isNegative && magnitude > limit / 2 + 1))
    throw UsageError(where + ": " + text + " does not fit in " +
                     elementName(element));
  uint64_t bits = isNegative ? 0 - magnitude : magnitude;
  std::memcpy(result.data(), &bits, bytes);
  return result;
}

static std::vector<unsigned char> hexBytes(const std::string &text,
                                           const std::string &where) {
  if (text.size() % 2 ||
      text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    throw UsageError(where + ": expected pairs of hexadecimal digits");
  std::vector<unsigned char> bytes;
  for (size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<unsigned char>(
        std::strtoul(text.substr(i, 2).c_str(), nullptr, 16)));
  return bytes;
}

static uint64_t unsignedOf(const std::string &text, const std::string &where) {
  char *end = nullptr;
  errno = 0;
  uint64_t value = std::strtoull(text.c_str(), &end, 0);
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0])) ||
      *end || errno == ERANGE)
    throw UsageError(where + ": '" + text + "' is not a number");
  return value;
}

static std::vector<uint64_t> listOf(const std::string &text,
                                    const std::string &where) {
  std::vector<uint64_t> values;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    values.push_back(unsignedOf(text.substr(begin, end - begin), where));
    begin = end + 1;
  }
  return values;
}

static emulator::Extent3 extentOf(const std::vector<uint64_t> &values,
                                  const std::string &where) {
  if (values.empty() || values.size() > 3)
    throw UsageError(where + ": expected X, X,Y or X,Y,Z");
  for (uint64_t value : values)
    if (value == 0 || value > 0x7fffffff)
      throw UsageError(where + ": " + std::to_string(value) + " is no extent");
  emulator::Extent3 extent;
  extent.x = static_cast<uint32_t>(values[0]);
  if (values.size() > 1)
    extent.y = static_cast<uint32_t>(values[1]);
  if (values.size() > 2)
    extent.z = static_cast<uint32_t>(values[2]);
  return extent;
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

static Array &arrayNamed(Job &job, const std::string &name,
                         const std::string &where) {
  for (Array &array : job.arrays)
    if (array.name == name)
      return array;
  throw UsageError(where + ": there is no array '" + name + "'");
}

static void addArray(Job &job, Array array, const std::string &where) {
  for (const Array &other : job.arrays)
    if (other.name == array.name)
      throw UsageError(where + ": array '" + array.name + "' is given twice");
  job.arrays.push_back(std::move(array));
}

/// "f32[4,128]", "zeros:f32[4,128]", "x.npy" or "bf16:x.npy".
static Array parseArray(const std::string &name, std::string text,
                        const std::string &where) {
  Array array;
  array.name = name;
  if (name.empty() || text.empty())
    throw UsageError(where + ": expected NAME=FILE.npy or NAME=TYPE[EXTENTS]");
  if (text.rfind("zeros:", 0) == 0) {
    array.fill = 0;
    text = text.substr(6);
  }
  size_t bracket = text.find('[');
  if (bracket != std::string::npos && text.back() == ']' &&
      parseElement(text.substr(0, bracket))) {
    array.element = parseElement(text.substr(0, bracket));
    std::string extents = text.substr(bracket + 1, text.size() - bracket - 2);
    if (!extents.empty())
      for (uint64_t extent : listOf(extents, where))
        array.shape.push_back(static_cast<int64_t>(extent));
    array.isWritable = true;
    return array;
  }
  if (array.fill)
    throw UsageError(where + ": expected TYPE[EXTENTS] after 'zeros:'");
  size_t colon = text.find(':');
  if (colon != std::string::npos && parseElement(text.substr(0, colon))) {
    array.element = parseElement(text.substr(0, colon));
    text = text.substr(colon + 1);
  }
  array.file = text;
  return array;
}

/// Keys that nobody reads are mistakes.
static void checkKeys(const json &object, const std::string &where,
                      std::initializer_list<const char *> known) {
  if (!object.is_object())
    throw UsageError(where + ": expected an object");
  for (const auto &[key, value] : object.items()) {
    bool found = false;
    for (const char *name : known)
      found |= key == name;
    if (!found) {
      std::string list;
      for (const char *name : known)
        list += (list.empty() ? "" : ", ") + std::string(name);
      throw UsageError(where + ": unknown key '" + key + "': expected " + list);
    }
  }
}

/// A member of an object, of the type that the caller wants.
template <class T>
static T member(const json &object, const char *key, const std::string &where) {
  try {
    return object.at(key).get<T>();
  } catch (const json::exception &) {
    throw UsageError(
        where + ": '" + key +
        (object.contains(key) ? "' has the wrong type" : "' is missing"));
  }
}
template <class T>
static T memberOr(const json &object, const char *key, T otherwise,
                  const std::string &where) {
  return object.contains(key) ? member<T>(object, key, where) : otherwise;
}

/// A file's name in a launch file is relative to that.
static std::string besides(const std::string &folder, const std::string &file) {
  return file.empty() || file[0] == '/' ? file : folder + file;
}

static Array jsonArray(const std::string &name, const json &object,
                       const std::string &folder) {
  std::string where = "array '" + name + "'";
  checkKeys(object, where,
            {"file", "type", "shape", "fill", "inout", "partial", "output",
             "expect", "tolerance"});
  Array array;
  array.name = name;
  array.file =
      besides(folder, memberOr<std::string>(object, "file", "", where));
  if (object.contains("type"))
    array.element =
        elementOf(member<std::string>(object, "type", where), where);
  if (array.file.empty()) {
    if (!array.element)
      throw UsageError(where + ": needs 'file', or 'type' and 'shape'");
    array.shape = member<std::vector<int64_t>>(object, "shape", where);
  }
  if (object.contains("fill"))
    array.fill = member<uint8_t>(object, "fill", where);
  array.isWritable =
      array.file.empty() || memberOr(object, "inout", false, where);
  array.isPartial = memberOr(object, "partial", false, where);
  array.output = memberOr<std::string>(object, "output", "", where);
  array.expected =
      besides(folder, memberOr<std::string>(object, "expect", "", where));
  if (object.contains("tolerance")) {
    auto pair = member<std::vector<double>>(object, "tolerance", where);
    if (pair.size() != 2)
      throw UsageError(where + ": expected 'tolerance': [absolute, relative]");
    array.atol = pair[0];
    array.rtol = pair[1];
  }
  return array;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// "x" or "x+128".
static void parsePlace(const std::string &text, std::string &array,
                       int64_t &offset, const std::string &where) {
  size_t plus = text.find('+');
  array = text.substr(0, plus);
  if (plus != std::string::npos)
    offset = static_cast<int64_t>(unsignedOf(text.substr(plus + 1), where));
}

static MapSpec jsonMap(const json &object, const std::string &where) {
  using emulator::MapSwizzle;
  using emulator::MapType;
  checkKeys(object, where,
            {"array", "type", "sizes", "strides", "box", "element_strides",
             "swizzle", "oob_nan", "l2_promotion", "interleave"});
  static const std::pair<const char *, MapType> types[] = {
      {"u8", MapType::UInt8},           {"u16", MapType::UInt16},
      {"u32", MapType::UInt32},         {"i32", MapType::Int32},
      {"u64", MapType::UInt64},         {"i64", MapType::Int64},
      {"f16", MapType::Float16},        {"f32", MapType::Float32},
      {"f64", MapType::Float64},        {"bf16", MapType::BFloat16},
      {"f32ftz", MapType::Float32Ftz},  {"tf32", MapType::TFloat32},
      {"tf32ftz", MapType::TFloat32Ftz}};
  static const std::pair<const char *, MapSwizzle> swizzles[] = {
      {"none", MapSwizzle::None},
      {"32B", MapSwizzle::B32},
      {"64B", MapSwizzle::B64},
      {"128B", MapSwizzle::B128},
      {"128B_atom32B", MapSwizzle::B128Atom32},
      {"128B_atom32B_flip8B", MapSwizzle::B128Atom32Flip8},
      {"128B_atom64B", MapSwizzle::B128Atom64}};
  MapSpec map;
  emulator::TensorMapParams &params = map.params;
  parsePlace(member<std::string>(object, "array", where), map.array, map.offset,
             where);
  auto choose = [&](const auto &table, const std::string &text, auto &to) {
    std::string list;
    for (const auto &[name, value] : table) {
      if (text == name) {
        to = value;
        return;
      }
      list += (list.empty() ? "" : ", ") + std::string(name);
    }
    throw UsageError(where + ": '" + text + "' is none of " + list);
  };
  choose(types, member<std::string>(object, "type", where), params.type);
  choose(swizzles, memberOr<std::string>(object, "swizzle", "none", where),
         params.swizzle);
  auto sizes = member<std::vector<uint64_t>>(object, "sizes", where);
  auto box = member<std::vector<uint32_t>>(object, "box", where);
  auto strides = memberOr<std::vector<uint64_t>>(object, "strides", {}, where);
  if (sizes.empty() || sizes.size() > 5 || box.size() != sizes.size() ||
      strides.size() != sizes.size() - 1)
    throw UsageError(where + ": expected 1 to 5 sizes, as many box extents and "
                             "one stride (in bytes) less");
  params.rank = static_cast<uint32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), params.sizes);
  std::copy(box.begin(), box.end(), params.box);
  std::copy(strides.begin(), strides.end(), params.strides);
  auto steps =
      memberOr<std::vector<uint32_t>>(object, "element_strides", {}, where);
  if (steps.size() > 5)
    throw UsageError(where + ": too many element strides");
  std::copy(steps.begin(), steps.end(), params.elementStrides);
  params.oobNan = memberOr(object, "oob_nan", false, where);
  params.l2Promotion = memberOr<uint8_t>(object, "l2_promotion", 0, where);
  params.interleave = memberOr<uint8_t>(object, "interleave", 0, where);
  return map;
}

static json readJson(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw UsageError(path + ": " + std::strerror(errno));
  try {
    return json::parse(file);
  } catch (const json::exception &error) {
    // Without the library's number of the error, "[json...] ".
    std::string why = error.what();
    throw UsageError(path + ": " + why.substr(why.find("] ") + 2));
  }
}

/// "x", "x=x.npy", "x=f32[64]", "i32:5", "map:m.json", "null", "bytes:00ff".
static Argument parseArgument(Job &job, const std::string &text,
                              const std::string &where) {
  Argument argument;
  if (text == "null") {
    argument.bytes.assign(8, 0);
    return argument;
  }
  size_t equal = text.find('=');
  if (equal != std::string::npos && text.rfind("map:", 0) != 0) {
    argument.kind = Argument::Pointer;
    argument.array = text.substr(0, equal);
    addArray(job, parseArray(argument.array, text.substr(equal + 1), where),
             where);
    return argument;
  }
  size_t colon = text.find(':');
  if (colon == std::string::npos) {
    argument.kind = Argument::Pointer;
    parsePlace(text, argument.array, argument.offset, where);
    return argument;
  }
  std::string kind = text.substr(0, colon), rest = text.substr(colon + 1);
  if (kind == "map" || kind == "map-pointer") {
    argument.kind = kind == "map" ? Argument::Map : Argument::MapPointer;
    argument.map = jsonMap(readJson(rest), rest);
  } else if (kind == "bytes") {
    argument.bytes = hexBytes(rest, where);
  } else {
    argument.bytes = scalarBytes(elementOf(kind, where), rest, where);
  }
  return argument;
}

static Argument jsonArgument(Job &job, const json &value,
                             const std::string &where) {
  if (value.is_string())
    return parseArgument(job, value.get<std::string>(), where);
  if (!value.is_object() || value.size() != 1)
    throw UsageError(where + ": expected a text such as \"x\" or \"i32:5\", or "
                             "{\"map\": {...}}");
  Argument argument;
  std::string key = value.begin().key();
  if (key == "map" || key == "map-pointer") {
    argument.kind = key == "map" ? Argument::Map : Argument::MapPointer;
    argument.map = jsonMap(value.begin().value(), where);
    return argument;
  }
  const json &number = value.begin().value();
  argument.bytes = scalarBytes(
      elementOf(key, where),
      number.is_string() ? number.get<std::string>() : number.dump(), where);
  return argument;
}

//===----------------------------------------------------------------------===//
// The launch file
//===----------------------------------------------------------------------===//

static emulator::Extent3 jsonExtent(const json &object, const char *key,
                                    const std::string &where) {
  if (!object.contains(key))
    return {};
  if (object.at(key).is_number_unsigned())
    return extentOf({object.at(key).get<uint64_t>()}, where);
  return extentOf(member<std::vector<uint64_t>>(object, key, where),
                  where + ": '" + key + "'");
}

static void readLaunch(const std::string &path, Job &job) {
  json object = readJson(path);
  checkKeys(object, path,
            {"ptx", "kernel", "grid", "block", "cluster", "smem", "arrays",
             "args", "roles", "cooperative", "registers", "comment"});
  size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "" : path.substr(0, slash + 1);
  job.ptx = besides(folder, memberOr<std::string>(object, "ptx", "", path));
  job.kernel = memberOr<std::string>(object, "kernel", "", path);
  job.shape.grid = jsonExtent(object, "grid", path);
  job.shape.block = jsonExtent(object, "block", path);
  job.shape.cluster = jsonExtent(object, "cluster", path);
  job.shape.dynamicSmemBytes = memberOr<uint32_t>(object, "smem", 0, path);
  job.options.roles =
      memberOr<std::vector<std::string>>(object, "roles", {}, path);
  job.options.cooperative = memberOr(object, "cooperative", false, path);
  job.options.registersPerThread =
      memberOr<unsigned>(object, "registers", 0, path);
  json arrays = memberOr<json>(object, "arrays", json::object(), path);
  if (!arrays.is_object())
    throw UsageError(path + ": 'arrays' must be an object");
  for (const auto &[name, value] : arrays.items())
    addArray(job, jsonArray(name, value, folder), path);
  unsigned index = 0;
  for (const json &value : memberOr<json>(object, "args", json::array(), path))
    job.arguments.push_back(jsonArgument(
        job, value, path + ": argument " + std::to_string(index++)));
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

static std::pair<std::string, std::string> splitPair(const std::string &text,
                                                     const char *option) {
  size_t equal = text.find('=');
  if (equal == std::string::npos || equal == 0 || equal + 1 == text.size())
    throw UsageError(std::string(option) + ": expected NAME=VALUE, got '" +
                     text + "'");
  return {text.substr(0, equal), text.substr(equal + 1)};
}

namespace {
struct Texts {
  std::string file, launch, grid, block, cluster, orders = "in-order",
                                                  tolerance, memory = "16G";
  uint64_t seed = 0, numSeeds = 1, smem = 0;
  std::vector<std::string> arrays, arguments, inouts, partials, outputs,
      expected;
  bool noChecks = false, isStrict = false;
};
} // namespace

static const char footer[] =
    R"(Arrays (--array declares one, --arg declares and passes its address):
  x=x.npy             read-only content of a file (bf16: |V2 or <u2)
  x=bf16:x.npy        the same, with the element type; <f4 is rounded to it
  y=f32[64,128]       device memory that nobody has written: an output
  y=zeros:f32[64]     zero-filled
Arguments, in the order of the kernel's parameters:
  x, x+256            the address of an array, plus bytes
  i32:5, f32:0.5      a scalar: u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64
  map:FILE.json       a tensor map by value (map-pointer: its address):
                      {"array": "x", "type": "bf16", "sizes": [128, 64],
                       "strides": [256], "box": [64, 64], "swizzle": "128B"}
  bytes:00ff12        a structure by value
  null                a null pointer
A launch file holds the same: {"ptx": "k.ptx", "kernel": "k", "grid": [4],
  "block": [128], "cluster": [1], "smem": 1024,
  "arrays": {"x": {"file": "x.npy"}, "y": {"type": "f32", "shape": [64],
             "output": "y.npy", "expect": "z.npy", "tolerance": [1e-5, 0]}},
  "args": ["x", "y", "i32:64", {"map": {...}}]}

Exit status: 0 the kernel ran, checks were silent, outputs are as expected;
1 a check found something or an output differs; 2 the command line, the launch
file or a file is wrong; 3 the PTX is refused; 130 interrupted.)";

static emulator::Order orderOf(const std::string &name) {
  if (name == "in-order" || name == "inorder")
    return emulator::Order::InOrder;
  if (name == "random")
    return emulator::Order::Random;
  if (name == "adversarial")
    return emulator::Order::Adversarial;
  throw UsageError("--orders: '" + name +
                   "' is none of in-order, random, adversarial");
}

static void fillRuns(const Texts &texts, Job &job) {
  if (texts.numSeeds == 0)
    throw UsageError("--seeds must be at least 1");
  for (size_t begin = 0; begin <= texts.orders.size();) {
    size_t end = std::min(texts.orders.find(',', begin), texts.orders.size());
    emulator::Order order = orderOf(texts.orders.substr(begin, end - begin));
    uint64_t count = order == emulator::Order::InOrder ? 1 : texts.numSeeds;
    for (uint64_t i = 0; i < count; ++i)
      job.runs.push_back({order, texts.seed + i});
    begin = end + 1;
  }
}

static uint64_t memoryOf(std::string text) {
  uint64_t unit = 1;
  if (!text.empty())
    switch (text.back()) {
    case 'K':
      unit = uint64_t(1) << 10;
      break;
    case 'M':
      unit = uint64_t(1) << 20;
      break;
    case 'G':
      unit = uint64_t(1) << 30;
      break;
    }
  if (unit > 1)
    text.pop_back();
  uint64_t value = unsignedOf(text, "--memory");
  if (__builtin_mul_overflow(value, unit, &value))
    throw UsageError("--memory: too large");
  return value;
}

static void fillJob(const Texts &texts, const CLI::App &app, Job &job) {
  if (!texts.launch.empty())
    readLaunch(texts.launch, job);
  if (!texts.file.empty())
    job.ptx = texts.file;
  if (job.ptx.empty())
    throw UsageError("expected a PTX file");
  if (!texts.grid.empty())
    job.shape.grid = extentOf(listOf(texts.grid, "--grid"), "--grid");
  if (!texts.block.empty())
    job.shape.block = extentOf(listOf(texts.block, "--block"), "--block");
  if (!texts.cluster.empty())
    job.shape.cluster =
        extentOf(listOf(texts.cluster, "--cluster"), "--cluster");
  if (app.count("--smem")) {
    if (texts.smem > (1u << 30))
      throw UsageError("--smem: too large");
    job.shape.dynamicSmemBytes = static_cast<uint32_t>(texts.smem);
  }
  for (const std::string &text : texts.arrays) {
    auto [name, value] = splitPair(text, "--array");
    addArray(job, parseArray(name, value, "--array " + name), "--array");
  }
  if (!texts.arguments.empty())
    job.arguments.clear();
  for (const std::string &text : texts.arguments)
    job.arguments.push_back(parseArgument(job, text, "--arg " + text));
  for (const std::string &name : texts.inouts)
    arrayNamed(job, name, "--inout").isWritable = true;
  for (const std::string &name : texts.partials)
    arrayNamed(job, name, "--partial").isPartial = true;
  for (const std::string &text : texts.outputs) {
    auto [name, value] = splitPair(text, "--output");
    arrayNamed(job, name, "--output").output = value;
  }
  for (const std::string &text : texts.expected) {
    auto [name, value] = splitPair(text, "--expect");
    arrayNamed(job, name, "--expect").expected = value;
  }
  if (!texts.tolerance.empty()) {
    double atol = 0, rtol = 0;
    char rest = 0;
    if (std::sscanf(texts.tolerance.c_str(), "%lf,%lf%c", &atol, &rtol,
                    &rest) != 2)
      throw UsageError("--tolerance: expected ABSOLUTE,RELATIVE");
    for (Array &array : job.arrays) {
      array.atol = atol;
      array.rtol = rtol;
    }
  }
  // Each address must be that of an array.
  for (const Argument &argument : job.arguments) {
    if (argument.kind == Argument::Pointer)
      arrayNamed(job, argument.array, "argument '" + argument.array + "'");
    if (argument.kind == Argument::Map || argument.kind == Argument::MapPointer)
      arrayNamed(job, argument.map.array, "tensor map");
  }
  job.options.checks = !texts.noChecks;
  job.options.strict = job.options.tensorFences = texts.isStrict;
  job.options.profile = !job.report.empty();
  job.memoryLimit = memoryOf(texts.memory);
  fillRuns(texts, job);
}

std::optional<int> backfuse::emu::parseJob(int argc, char **argv, Job &job) {
  Texts texts;
  CLI::App app("Runs a kernel's PTX on the CPU and checks what a GPU does not "
               "(docs/emulator.md).",
               "kernel-emu");
  app.footer(footer);
  app.add_option("ptx", texts.file, "PTX text")->type_name("FILE.ptx");
  app.add_option("--launch", texts.launch,
                 "A launch in JSON; options replace what it says")
      ->type_name("FILE.json");
  app.add_option("--kernel", job.kernel,
                 "The entry to run; not needed where there is only one")
      ->type_name("NAME");
  app.add_option("--grid", texts.grid, "CTAs (default 1)")->type_name("X,Y,Z");
  app.add_option("--block", texts.block,
                 "Threads of a CTA (default: .reqntid, or 1)")
      ->type_name("X,Y,Z");
  app.add_option("--cluster", texts.cluster,
                 "CTAs of a cluster (default: .reqnctapercluster, or 1)")
      ->type_name("X,Y,Z");
  app.add_option("--smem", texts.smem, "Bytes of dynamic shared memory")
      ->type_name("BYTES");
  auto many = [&](const char *name, std::vector<std::string> &to,
                  const char *help, const char *type) {
    app.add_option(name, to, help)
        ->type_name(type)
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
  };
  many("--arg", texts.arguments, "The next argument (see below)", "ARG");
  many("--array", texts.arrays, "An array that is not an argument itself",
       "NAME=ARRAY");
  many("--inout", texts.inouts,
       "An array from a file that the kernel may write", "NAME");
  many("--partial", texts.partials, "An output that need not be written whole",
       "NAME");
  many("--output", texts.outputs, "Writes an array when the kernel is done",
       "NAME=FILE.npy");
  many("--expect", texts.expected, "Compares an array with a file",
       "NAME=FILE.npy");
  app.add_option("--tolerance", texts.tolerance,
                 "|error| <= ABSOLUTE + RELATIVE * |expected| (default 0,0)")
      ->type_name("ABSOLUTE,RELATIVE");
  app.add_option("--orders", texts.orders,
                 "One run for each of in-order, random, adversarial: when "
                 "asynchronous work completes (default in-order)")
      ->type_name("LIST");
  app.add_option("--seed", texts.seed, "Of the two seeded orders")
      ->type_name("N");
  app.add_option("--seeds", texts.numSeeds,
                 "So many runs of each, from --seed on")
      ->type_name("K");
  app.add_flag("--no-checks", texts.noChecks,
               "No checks of races and of uninitialised data: faster");
  app.add_flag("--strict", texts.isStrict,
               "Report also what the manual forbids but GPUs tolerate");
  app.add_option("--steps", job.options.stepLimit,
                 "Stops after so many instructions of warps")
      ->type_name("N");
  app.add_option("--memory", texts.memory,
                 "Limit of device and shared memory (default 16G)")
      ->type_name("BYTES");
  app.add_option("--threads", job.options.threads,
                 "Host threads (default 1); a cluster stays on one")
      ->type_name("N");
  app.add_option("--sms", job.options.multiprocessors,
                 "CTAs that are resident at a time (default 132)")
      ->type_name("N");
  app.add_option("--report", job.report,
                 "Prints what the launch did, as text or json")
      ->expected(0, 1)
      ->default_str("text")
      ->type_name("[text|json]")
      ->check(CLI::IsMember({"text", "json", ""}));
  app.add_flag("--list", job.list, "Lists kernels and their parameters");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    throw UsageError(error.what() + std::string(" (--help lists the options)"));
  }
  if (app.count("--report") && job.report.empty())
    job.report = "text";
  std::string chosen = job.kernel;
  fillJob(texts, app, job);
  if (!chosen.empty())
    job.kernel = chosen;
  if (job.options.multiprocessors == 0 || job.options.threads == 0)
    throw UsageError("--sms and --threads must be at least 1");
  return std::nullopt;
}
