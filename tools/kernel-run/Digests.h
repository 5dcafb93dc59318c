//===- Digests.h - Outputs of many cases in a small file --------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one device computed, kept as test data for another: on exact inputs
// every device gives the same bytes.
//
//   {"schema": "backfuse-digests/1", "graph": NAME, "inputs": "exact",
//    "seed": 0, "cases": [{"dims": {"S": 64}, "params": {},
//                          "outputs": {NAME: XXH64 of its bytes, in hex}}]}
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_KERNELRUN_DIGESTS_H
#define BACKFUSE_KERNELRUN_DIGESTS_H

#include "Report.h"

namespace backfuse::run {

/// The digest of each output, by name.
std::map<std::string, std::string>
digestOutputs(const Signature &signature,
              const std::vector<reference::Tensor> &outputs);

/// Each output's digest against what the case expects.
std::vector<OutputCheck>
compareDigests(const Signature &signature, const Case &problem,
               const std::map<std::string, std::string> &digests,
               const std::vector<reference::Tensor> &outputs);

/// Reads the cases of a file, with the inputs and the seed that it was made
/// with. It must be of this graph and know all of its outputs.
std::vector<Case> readDigests(const std::string &path,
                              const Signature &signature,
                              reference::Inputs &inputs, uint64_t &seed);

/// Writes the digests of `results`, whole or not at all. No case may have
/// failed or been skipped.
void writeDigests(const std::string &path, const Signature &signature,
                  reference::Inputs inputs, uint64_t seed,
                  const std::vector<CaseResult> &results);

/// Whether writeWhole() could write there, before anything is run for it.
void requireWritable(const std::string &path);

/// Writes `text` to a file, whole or not at all.
void writeWhole(const std::string &path, const std::string &text);

} // namespace backfuse::run

#endif // BACKFUSE_KERNELRUN_DIGESTS_H
