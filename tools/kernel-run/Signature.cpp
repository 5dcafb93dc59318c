//===- Signature.cpp - A bundle's graph as the tool uses it ---------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Signature.h"

#include <algorithm>
#include <cstdlib>

using namespace backfuse;
using namespace backfuse::run;

Signature::Signature(const Bundle &bundle) {
  bf_bundle_info info = bundle.info();
  graph = info.graph;
  for (uint32_t i = 0; i < info.num_dims; ++i)
    dims.push_back(bundle.dimName(i));
  for (uint32_t i = 0; i < info.num_inputs; ++i)
    inputs.push_back(bundle.argument(BF_INPUT, i));
  for (uint32_t i = 0; i < info.num_outputs; ++i)
    outputs.push_back(bundle.argument(BF_OUTPUT, i));
  for (uint32_t i = 0; i < info.num_params; ++i)
    params.push_back(bundle.argument(BF_PARAM, i));
}

std::vector<int64_t> Signature::shape(const bf_argument &argument,
                                      const std::vector<int64_t> &dims) {
  std::vector<int64_t> result;
  for (int32_t i = 0; i < argument.rank; ++i) {
    const bf_extent &extent = argument.extents[i];
    result.push_back(extent.dim < 0 ? extent.fixed
                                    : dims[static_cast<size_t>(extent.dim)]);
  }
  return result;
}

/// The names of `list`, for messages.
static std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

Values Signature::values(const std::map<std::string, int64_t> &given,
                         const std::map<std::string, double> &set) const {
  Values result;
  // What there is not first: it stands where something else is missing.
  for (const auto &[name, value] : given)
    if (std::find(dims.begin(), dims.end(), name) == dims.end())
      throw UsageError("the graph has no dimension " + name +
                       "; its dimensions: " + joined(dims) +
                       (dims.empty() ? ""
                                     : ", for example --dims " + dims[0] + "=" +
                                           std::to_string(value)));
  for (const std::string &dim : dims) {
    auto found = given.find(dim);
    if (found == given.end())
      throw UsageError("dimension " + dim + " has no value: give --dims " +
                       dim + "=N");
    result.dims.push_back(found->second);
  }
  for (const bf_argument &param : params) {
    auto found = set.find(param.name);
    if (found == set.end())
      throw UsageError(std::string("parameter ") + param.name +
                       " has no value: give --set " + param.name + "=" +
                       (param.dtype == BF_I1 ? "true or false" : "VALUE"));
    if (param.dtype == BF_I1 && found->second != 0 && found->second != 1)
      throw UsageError(std::string("parameter ") + param.name +
                       " is a bool: expected true or false");
    result.params.push_back(found->second);
  }
  for (const auto &[name, value] : set)
    (void)param(name);
  return result;
}

const bf_argument &Signature::param(const std::string &name) const {
  std::vector<std::string> names;
  for (const bf_argument &param : params) {
    if (name == param.name)
      return param;
    names.push_back(param.name);
  }
  throw UsageError("the graph has no parameter " + name +
                   "; its parameters: " + joined(names));
}

double Signature::parseParam(const std::string &name,
                             const std::string &text) const {
  bool isBool = param(name).dtype == BF_I1;
  if (isBool && (text == "true" || text == "false"))
    return text == "true";
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || (isBool && value != 0 && value != 1))
    throw UsageError("--set " + name + ": expected " +
                     (isBool ? "true or false" : "a number") + ", got '" +
                     text + "'");
  return value;
}

void Signature::inferDims(const bf_argument &argument,
                          const std::vector<int64_t> &shape,
                          std::map<std::string, int64_t> &known) const {
  auto fail = [&](const std::string &why) {
    throw UsageError(std::string(argument.name) + " has type " +
                     typeText(argument) + ", but shape " + shapeText(shape) +
                     " was given: " + why);
  };
  if (shape.size() != static_cast<size_t>(argument.rank))
    fail("the ranks differ");
  for (size_t i = 0; i < shape.size(); ++i) {
    const bf_extent &extent = argument.extents[i];
    if (extent.dim < 0) {
      if (shape[i] != extent.fixed)
        fail("extent " + std::to_string(i) + " must be " +
             std::to_string(extent.fixed));
      continue;
    }
    const std::string &name = dims[static_cast<size_t>(extent.dim)];
    auto [entry, isNew] = known.emplace(name, shape[i]);
    if (!isNew && entry->second != shape[i])
      fail(name + " is " + std::to_string(entry->second) + " elsewhere");
  }
}

std::string Signature::typeText(const bf_argument &argument) const {
  if (argument.rank == 0)
    return dtypeName(argument.dtype);
  std::string text = "tensor<";
  for (int32_t i = 0; i < argument.rank; ++i) {
    const bf_extent &extent = argument.extents[i];
    text += (extent.dim < 0 ? std::to_string(extent.fixed)
                            : dims[static_cast<size_t>(extent.dim)]) +
            " x ";
  }
  return text + dtypeName(argument.dtype) + ">";
}

const char *backfuse::run::dtypeName(bf_dtype dtype) {
  switch (dtype) {
  case BF_F32:
    return "f32";
  case BF_BF16:
    return "bf16";
  case BF_F16:
    return "f16";
  case BF_I1:
    return "i1";
  case BF_I64:
    return "i64";
  }
  return "?";
}

std::string backfuse::run::shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

const bundle::Bundle &backfuse::run::flatBundle(const Bundle &bundle) {
  return *bundle::GetBundle(bundle.data().first);
}
