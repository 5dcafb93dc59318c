//===- Digests.cpp - Outputs of many cases in a small file ----------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Digests.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace backfuse;
using namespace backfuse::run;
using nlohmann::json;

static const char schemaName[] = "backfuse-digests/1";

std::map<std::string, std::string>
backfuse::run::digestOutputs(const Signature &signature,
                             const std::vector<reference::Tensor> &outputs) {
  std::map<std::string, std::string> digests;
  for (size_t i = 0; i < outputs.size(); ++i) {
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx",
                  static_cast<unsigned long long>(XXH64(
                      outputs[i].bytes.data(), outputs[i].bytes.size(), 0)));
    digests[signature.outputs[i].name] = text;
  }
  return digests;
}

std::vector<OutputCheck>
backfuse::run::compareDigests(const Signature &signature, const Case &problem,
                              const std::map<std::string, std::string> &digests,
                              const std::vector<reference::Tensor> &outputs) {
  std::vector<OutputCheck> checks;
  for (size_t i = 0; i < outputs.size(); ++i) {
    OutputCheck check;
    check.output = signature.outputs[i].name;
    check.against = "digest";
    check.limit = "every bit";
    const std::string &got = digests.at(check.output);
    const std::string &expected = problem.digests.at(check.output);
    int64_t elements = 1;
    for (int64_t extent : outputs[i].shape)
      elements *= extent;
    check.comparison.elements = elements;
    check.passed = got == expected;
    if (!check.passed) {
      // Which elements differ is not known.
      check.comparison.mismatches = elements;
      check.detail = "XXH64 " + got + ", expected " + expected;
    }
    checks.push_back(check);
  }
  return checks;
}

std::vector<Case> backfuse::run::readDigests(const std::string &path,
                                             const Signature &signature,
                                             reference::Inputs &inputs,
                                             uint64_t &seed) {
  std::ifstream file(path);
  if (!file)
    throw UsageError(path + ": cannot be read");
  try {
    json document = json::parse(file);
    if (document.at("schema") != schemaName)
      throw UsageError(path + ": its schema is not " + schemaName);
    if (document.at("graph") != signature.graph)
      throw UsageError(path + " is of graph " +
                       document.at("graph").get<std::string>() +
                       ", the bundle holds " + signature.graph);
    std::string kind = document.at("inputs").get<std::string>();
    auto known = reference::inputKinds().find(kind);
    if (known == reference::inputKinds().end())
      throw UsageError(path + ": unknown inputs '" + kind + "'");
    inputs = known->second;
    seed = document.at("seed").get<uint64_t>();
    std::vector<Case> cases;
    for (const json &raw : document.at("cases")) {
      Case result;
      result.index = static_cast<int>(cases.size());
      result.dims = raw.at("dims").get<std::map<std::string, int64_t>>();
      result.params = raw.at("params").get<std::map<std::string, double>>();
      result.digests =
          raw.at("outputs").get<std::map<std::string, std::string>>();
      for (int64_t dim : signature.values(result.dims, result.params).dims)
        if (dim < 0 ||
            __builtin_mul_overflow(result.tokens, dim, &result.tokens))
          throw UsageError(path + ": a dimension is out of range");
      for (const bf_argument &output : signature.outputs)
        if (!result.digests.count(output.name))
          throw UsageError(path + ": case " + std::to_string(result.index) +
                           " has no digest of output " + output.name);
      result.axes = result.dims;
      result.scalars = result.params;
      cases.push_back(std::move(result));
    }
    if (cases.empty())
      throw UsageError(path + ": has no cases");
    return cases;
  } catch (const json::exception &error) {
    throw UsageError(path + ": " + error.what());
  }
}

void backfuse::run::requireWritable(const std::string &path) {
  std::string temporary = path + ".part";
  errno = 0;
  bool good = std::ofstream(temporary, std::ios::binary).is_open();
  std::string why = std::strerror(errno);
  std::remove(temporary.c_str());
  std::error_code error;
  if (good && std::filesystem::is_directory(path, error)) {
    good = false;
    why = std::strerror(EISDIR);
  }
  if (!good)
    throw UsageError(path + ": cannot be written: " + why);
}

void backfuse::run::writeWhole(const std::string &path,
                               const std::string &text) {
  std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    throw Failure(path + ": cannot be written: " + why);
  }
}

void backfuse::run::writeDigests(const std::string &path,
                                 const Signature &signature,
                                 reference::Inputs inputs, uint64_t seed,
                                 const std::vector<CaseResult> &results) {
  json cases = json::array();
  for (const CaseResult &result : results) {
    if (result.verdict() == Verdict::Failed ||
        result.verdict() == Verdict::Skipped)
      throw Failure(path + " is not written: case " +
                    std::to_string(result.problem.index) +
                    (result.skipped ? " was skipped" : " failed"));
    cases.push_back({{"dims", result.problem.dims},
                     {"params", result.problem.params},
                     {"outputs", result.digests}});
  }
  json document = {{"schema", schemaName},
                   {"graph", signature.graph},
                   {"inputs", reference::nameOf(inputs)},
                   {"seed", seed},
                   {"cases", cases}};
  writeWhole(path, document.dump(1) + "\n");
}
