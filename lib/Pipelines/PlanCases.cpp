//===- PlanCases.cpp - What a plan is predicted for -----------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backfuse/Pipelines/PlanCases.h"
#include "dialects/Mlp/IR/MlpOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace backfuse;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

/// Kernels count rows with 32 bits.
static constexpr int64_t maxRows = INT32_MAX;

int64_t PlanCase::valueOf(const mlp::Extent &extent) const {
  int64_t value = extent.factor;
  for (StringRef name : extent.names)
    value *= dims.at(name.str());
  return value;
}

std::string PlanCase::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  StringRef separator;
  for (auto &[name, value] : dims) {
    os << separator << name << "=" << value;
    separator = " ";
  }
  for (auto &[name, value] : params) {
    os << separator << name << "=";
    if (value == double(int64_t(value)))
      os << int64_t(value);
    else
      os << value;
    separator = " ";
  }
  return text;
}

/// The graph's name of an argument and whether it is a bool.
static SmallVector<std::pair<std::string, bool>>
listParams(mlp::GraphOp graph) {
  SmallVector<std::pair<std::string, bool>> params;
  for (BlockArgument param : graph.getParams())
    params.push_back({graph.getArgName(param.getArgNumber()).str(),
                      param.getType().isInteger(1)});
  return params;
}

template <typename Range> static std::string listNames(const Range &names) {
  return names.empty() ? "none" : llvm::join(names, ", ");
}

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

/// Splits NAME=VALUE.
static Expected<std::pair<StringRef, StringRef>> splitPair(StringRef text,
                                                           StringRef flag) {
  auto [name, value] = text.split('=');
  if (name.empty() || value.empty())
    return createStringError("--" + flag + ": '" + text +
                             "' is not of the form NAME=VALUE");
  return std::make_pair(name, value);
}

static Error checkExtent(int64_t value, const Twine &name) {
  if (value >= 1 && value <= maxRows)
    return Error::success();
  return createStringError(name + " is " + Twine(value) +
                           "; a prediction needs an extent from 1 to " +
                           Twine(maxRows));
}

/// The product of all dimensions is what a flattened axis may have.
static Error checkProduct(const PlanCase &result, const Twine &where) {
  int64_t product = 1;
  for (auto &[name, value] : result.dims)
    if ((product *= value) > maxRows)
      return createStringError(where + result.str() + " makes more than " +
                               Twine(maxRows) + " rows");
  return Error::success();
}

static Error parseDims(mlp::GraphOp graph, ArrayRef<std::string> dims,
                       PlanCase &result) {
  SmallVector<StringRef> known = graph.getDimNames();
  for (StringRef text : dims) {
    auto pair = splitPair(text, "dims");
    if (!pair)
      return pair.takeError();
    auto [name, value] = *pair;
    if (!llvm::is_contained(known, name))
      return createStringError("--dims: the graph has no variable dimension '" +
                               name + "'; there are: " + listNames(known));
    int64_t extent;
    if (value.getAsInteger(10, extent))
      return createStringError("--dims: '" + value + "' is no extent for '" +
                               name + "'");
    if (Error error = checkExtent(extent, "--dims: '" + name + "'"))
      return error;
    if (!result.dims.try_emplace(name.str(), extent).second)
      return createStringError("--dims: '" + name + "' is given twice");
  }
  for (StringRef name : known)
    if (!result.dims.count(name.str()))
      return createStringError("--dims: no extent for '" + name +
                               "'; give all of: " + listNames(known));
  return checkProduct(result, "--dims: ");
}

/// A bool takes true, false, 1 or 0; anything else is a number.
static Expected<double> parseParam(StringRef name, StringRef value,
                                   bool isBool) {
  double number;
  if (value == "true" || value == "false")
    number = value == "true";
  else if (value.getAsDouble(number))
    return createStringError("--set: '" + value + "' is no value for '" + name +
                             "'");
  if (isBool && number != 0 && number != 1)
    return createStringError("--set: '" + name +
                             "' is a bool; give true or false");
  return number;
}

static Error parseParams(mlp::GraphOp graph, ArrayRef<std::string> params,
                         PlanCase &result) {
  auto known = listParams(graph);
  auto names =
      llvm::map_to_vector(known, [](auto &param) { return param.first; });
  for (StringRef text : params) {
    auto pair = splitPair(text, "set");
    if (!pair)
      return pair.takeError();
    StringRef name = pair->first;
    auto it = llvm::find_if(
        known, [&](auto &param) { return StringRef(param.first) == name; });
    if (it == known.end())
      return createStringError("--set: the graph has no parameter '" + name +
                               "'; there are: " + listNames(names));
    Expected<double> value = parseParam(name, pair->second, it->second);
    if (!value)
      return value.takeError();
    if (!result.params.try_emplace(name.str(), *value).second)
      return createStringError("--set: '" + name + "' is given twice");
  }
  // Which kernels run may depend on a bool; on a number nothing does.
  for (auto &[name, isBool] : known)
    if (isBool && !result.params.count(name))
      return createStringError("--set: no value for the parameter '" +
                               Twine(name) + "'; give --set " + name +
                               "=true or " + name +
                               "=false");
  return Error::success();
}

Expected<PlanCase> backfuse::parsePlanCase(mlp::GraphOp graph,
                                           ArrayRef<std::string> dims,
                                           ArrayRef<std::string> params) {
  PlanCase result;
  if (Error error = parseDims(graph, dims, result))
    return error;
  if (Error error = parseParams(graph, params, result))
    return error;
  return result;
}

//===----------------------------------------------------------------------===//
// Files of cases
//===----------------------------------------------------------------------===//

namespace {
/// A file of axes, tensors and cases.
class CaseFile {
public:
  CaseFile(mlp::GraphOp graph, StringRef path) : graph(graph), path(path) {}
  Expected<SmallVector<PlanCase>> read();

private:
  Error fail(const Twine &why) {
    return createStringError("--cases: '" + path + "': " + why);
  }
  Expected<int64_t> extentOf(const llvm::json::Value &axis,
                             const llvm::json::Object &axes,
                             unsigned depth = 0);
  Error matchTensors(StringRef kind, ArrayRef<Type> types,
                     ArrayRef<StringRef> names, const llvm::json::Object &axes,
                     StringRef where, PlanCase &result);
  Error readParams(const llvm::json::Object &entry, StringRef where,
                   PlanCase &result);
  Expected<PlanCase> readCase(const llvm::json::Value &value,
                              StringRef where);

  mlp::GraphOp graph;
  StringRef path;
  const llvm::json::Object *root = nullptr;
};
} // namespace

/// An axis of a shape: a number, an axis's name, or NAME * NUMBER.
Expected<int64_t> CaseFile::extentOf(const llvm::json::Value &axis,
                                     const llvm::json::Object &axes,
                                     unsigned depth) {
  if (std::optional<int64_t> number = axis.getAsInteger())
    return *number;
  std::optional<StringRef> text = axis.getAsString();
  if (!text || depth > 8)
    return fail("an axis is neither a number nor a name");
  auto [name, factor] = text->split('*');
  int64_t times = 1;
  if (!factor.empty() && (factor.trim().getAsInteger(10, times) || times < 1))
    return fail("axis '" + *text + "' is not of the form NAME * NUMBER");
  name = name.trim();
  const llvm::json::Value *value = axes.get(name);
  if (!value)
    if (const llvm::json::Object *fixed = root->getObject("axes"))
      value = fixed->get(name);
  if (!value || value->getAsString() == StringRef("variable"))
    return fail("axis '" + name + "' has no extent");
  Expected<int64_t> extent = extentOf(*value, axes, depth + 1);
  if (!extent)
    return extent.takeError();
  int64_t product;
  if (llvm::MulOverflow(*extent, times, product))
    return fail("axis '" + *text + "' is too large");
  return product;
}

/// Gives the dimensions in the types of the graph's tensors the extents that
/// the file's tensors of the same names have.
Error CaseFile::matchTensors(StringRef kind, ArrayRef<Type> types,
                             ArrayRef<StringRef> names,
                             const llvm::json::Object &axes, StringRef where,
                             PlanCase &result) {
  const llvm::json::Object *tensors = root->getObject(kind);
  if (!tensors)
    return fail("has no '" + kind + "'");
  for (auto [type, name] : llvm::zip(types, names)) {
    auto tensor = cast<RankedTensorType>(type);
    const llvm::json::Object *entry = tensors->getObject(name);
    const llvm::json::Array *shape = entry ? entry->getArray("shape") : nullptr;
    if (!shape)
      return fail("has no shape of '" + name +
                  "', which the graph has among its " + kind);
    if (int64_t(shape->size()) != tensor.getRank())
      return fail("'" + name + "' has " + Twine(shape->size()) + " axes, and " +
                  Twine(tensor.getRank()) + " in the graph");
    for (auto [i, axis] : llvm::enumerate(*shape)) {
      Expected<int64_t> extent = extentOf(axis, axes);
      if (!extent)
        return extent.takeError();
      mlp::Extent expected = mlp::getExtent(tensor, i);
      int64_t value = *extent;
      if (expected.names.size() == 1 && value % expected.factor == 0) {
        if (Error error = checkExtent(value / expected.factor,
                                      "--cases: '" + path + "': " + where +
                                          "'" + expected.names[0] + "'"))
          return error;
        auto [it, inserted] = result.dims.try_emplace(expected.names[0].str(),
                                                      value / expected.factor);
        if (it->second == value / expected.factor)
          continue;
      } else if (expected.isFixed() && expected.factor == value) {
        continue;
      }
      return fail(where + "axis " + Twine(i) + " of '" + name + "' is " +
                  Twine(value) + ", and " + expected.str() + " in the graph");
    }
  }
  return Error::success();
}

Error CaseFile::readParams(const llvm::json::Object &entry, StringRef where,
                           PlanCase &result) {
  const llvm::json::Object *scalars = entry.getObject("scalars");
  for (auto &[name, isBool] : listParams(graph)) {
    const llvm::json::Value *value = scalars ? scalars->get(name) : nullptr;
    if (!value)
      return fail(where + "has no scalar '" + name +
                  "', which is a parameter of the graph");
    if (std::optional<bool> flag = value->getAsBoolean())
      result.params[name] = *flag;
    else if (std::optional<double> number = value->getAsNumber())
      result.params[name] = *number;
    else
      return fail(where + "scalar '" + name +
                  "' is neither a bool nor a number");
    if (isBool && result.params[name] != 0 && result.params[name] != 1)
      return fail(where + "scalar '" + name + "' is not a bool");
  }
  return Error::success();
}

Expected<PlanCase> CaseFile::readCase(const llvm::json::Value &value,
                                      StringRef where) {
  const llvm::json::Object *entry = value.getAsObject();
  const llvm::json::Object *axes = entry ? entry->getObject("axes") : nullptr;
  if (!axes)
    return fail(where + "has no 'axes'");
  PlanCase result;
  SmallVector<Type> types;
  SmallVector<StringRef> names;
  for (BlockArgument input : graph.getInputs()) {
    types.push_back(input.getType());
    names.push_back(graph.getArgName(input.getArgNumber()));
  }
  if (Error error = matchTensors("inputs", types, names, *axes, where, result))
    return error;
  mlp::OutputOp output = graph.getOutput();
  types.assign(output->operand_type_begin(), output->operand_type_end());
  names.clear();
  for (unsigned i = 0; i < types.size(); ++i)
    names.push_back(output.getName(i));
  if (Error error = matchTensors("outputs", types, names, *axes, where, result))
    return error;
  if (Error error = checkProduct(result, "--cases: '" + path + "': " + where))
    return error;
  if (Error error = readParams(*entry, where, result))
    return error;
  return result;
}

Expected<SmallVector<PlanCase>> CaseFile::read() {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
      llvm::MemoryBuffer::getFile(path);
  if (!file)
    return fail(file.getError().message());
  Expected<llvm::json::Value> json = llvm::json::parse((*file)->getBuffer());
  if (!json)
    return fail("not JSON: " + llvm::toString(json.takeError()));
  root = json->getAsObject();
  const llvm::json::Array *list = root ? root->getArray("cases") : nullptr;
  if (!list || list->empty())
    return fail("has no cases");
  SmallVector<PlanCase> cases;
  for (auto [i, value] : llvm::enumerate(*list)) {
    Expected<PlanCase> result =
        readCase(value, "case " + std::to_string(i) + ": ");
    if (!result)
      return result.takeError();
    cases.push_back(std::move(*result));
  }
  return cases;
}

Expected<SmallVector<PlanCase>> backfuse::readPlanCases(mlp::GraphOp graph,
                                                        StringRef path) {
  return CaseFile(graph, path).read();
}
