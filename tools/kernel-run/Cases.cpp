//===- Cases.cpp - The problems that a run goes through -------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cases.h"

#include <fstream>
#include <regex>

using namespace backfuse;
using namespace backfuse::run;
using nlohmann::json;

namespace {
/// A workloads file: axes, tensors, cases.
class Workload {
public:
  Workload(const std::string &path, const Signature &signature)
      : path(path), signature(signature) {}

  std::vector<Case> read();

private:
  [[noreturn]] void fail(const std::string &why) const {
    throw UsageError(path + ": " + why);
  }
  const json &member(const json &object, const char *name,
                     const std::string &where) const;
  Case readCase(const json &raw, int index) const;
  int64_t extent(const json &axis, const json &axes, int depth) const;
  void matchTensors(const char *member, const std::vector<bf_argument> &list,
                    const json &axes, const std::string &where,
                    Case &result) const;
  void readScalars(const json &raw, const std::string &where,
                   Case &result) const;
  void readTolerance(const json &raw, Case &result) const;

  const std::string &path;
  const Signature &signature;
  json document;
};
} // namespace

const json &Workload::member(const json &object, const char *name,
                             const std::string &where) const {
  if (!object.is_object() || !object.contains(name))
    fail(where + "has no '" + name + "'");
  return object[name];
}

/// An axis: a number, a name, or `NAME * NUMBER`.
int64_t Workload::extent(const json &axis, const json &axes, int depth) const {
  if (axis.is_number_integer())
    return axis.get<int64_t>();
  if (!axis.is_string() || depth > 8)
    fail("axis " + axis.dump() + " is neither a name nor a number");
  std::string name = axis.get<std::string>();
  if (axes.contains(name))
    return extent(axes[name], axes, depth + 1);
  const json &fixed = document["axes"];
  if (fixed.contains(name) && fixed[name] != "variable")
    return extent(fixed[name], axes, depth + 1);
  std::smatch match;
  if (!std::regex_match(name, match,
                        std::regex("\\s*(\\w+)\\s*\\*\\s*(\\d{1,9})\\s*")))
    fail("axis '" + name + "' has no extent");
  int64_t product = 0;
  if (__builtin_mul_overflow(extent(match[1].str(), axes, depth + 1),
                             std::stoll(match[2]), &product))
    fail("axis '" + name + "' is too large");
  return product;
}

void Workload::matchTensors(const char *name,
                            const std::vector<bf_argument> &list,
                            const json &axes, const std::string &where,
                            Case &result) const {
  const json &tensors = member(document, name, "");
  static const std::map<std::string, bf_dtype> dtypes = {
      {"float32", BF_F32}, {"bfloat16", BF_BF16}, {"float16", BF_F16}};
  for (const bf_argument &argument : list) {
    if (!tensors.contains(argument.name))
      fail(std::string("names no ") + argument.name +
           ", which the bundle has among its " + name);
    const json &tensor = tensors[argument.name];
    const json &dtype =
        member(tensor, "dtype", std::string(argument.name) + " ");
    auto known = dtypes.find(dtype.is_string() ? dtype.get<std::string>() : "");
    if (known == dtypes.end() || known->second != argument.dtype)
      fail(std::string(argument.name) + " has dtype " + dtype.dump() +
           ", but the bundle's has type " + signature.typeText(argument));
    std::vector<int64_t> shape;
    for (const json &axis :
         member(tensor, "shape", std::string(argument.name) + " "))
      shape.push_back(extent(axis, axes, 0));
    try {
      signature.inferDims(argument, shape, result.dims);
    } catch (const UsageError &error) {
      fail(where + error.what());
    }
  }
}

void Workload::readScalars(const json &raw, const std::string &where,
                           Case &result) const {
  result.scalars = raw.value("scalars", json::object());
  for (const bf_argument &param : signature.params) {
    if (!result.scalars.contains(param.name))
      fail(where + "has no scalar " + param.name +
           ", which is a parameter of the bundle");
    const json &value = result.scalars[param.name];
    if (!value.is_boolean() && !value.is_number())
      fail(where + "scalar " + param.name + " is neither a bool nor a number");
    result.params[param.name] =
        value.is_boolean() ? value.get<bool>() : value.get<double>();
  }
}

void Workload::readTolerance(const json &raw, Case &result) const {
  if (!raw.contains("atol") && !raw.contains("rtol"))
    return;
  Tolerance tolerance;
  tolerance.atol = raw.value("atol", 0.0);
  tolerance.rtol = raw.value("rtol", 0.0);
  tolerance.match = raw.value("match", tolerance.match);
  result.tolerance = tolerance;
}

Case Workload::readCase(const json &raw, int index) const {
  std::string where = "case " + std::to_string(index) + ": ";
  Case result;
  result.index = index;
  result.axes = member(raw, "axes", where);
  for (const auto &[name, value] : document["axes"].items()) {
    if (value != "variable")
      continue;
    int64_t extent = member(result.axes, name.c_str(), where).get<int64_t>();
    if (extent < 0 ||
        __builtin_mul_overflow(result.tokens, extent, &result.tokens))
      fail(where + "axis " + name + " is out of range");
  }
  matchTensors("inputs", signature.inputs, result.axes, where, result);
  matchTensors("outputs", signature.outputs, result.axes, where, result);
  readScalars(raw, where, result);
  readTolerance(raw, result);
  return result;
}

std::vector<Case> Workload::read() {
  std::ifstream file(path);
  if (!file)
    fail("cannot be read");
  try {
    document = json::parse(file);
    if (!member(document, "axes", "").is_object())
      fail("its axes are not an object");
    std::vector<Case> cases;
    for (const json &raw : member(document, "cases", ""))
      cases.push_back(readCase(raw, static_cast<int>(cases.size())));
    if (cases.empty())
      fail("has no cases");
    return cases;
  } catch (const json::exception &error) {
    fail(error.what());
  }
}

std::vector<Case> backfuse::run::readCases(const std::string &path,
                                           const Signature &signature) {
  return Workload(path, signature).read();
}
