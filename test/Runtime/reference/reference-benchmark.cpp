//===- reference-benchmark.cpp - Speed of the reference evaluator ---------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not a test: prints seconds, GFLOP/s and peak memory of the two founding
// workloads. Usage: reference-benchmark [079|022] TOKENS [eager|exact|bounds]
// [random|exact] [THREADS]
//===----------------------------------------------------------------------===//
#include "Graphs.h"

#include "Reference.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace backfuse;
using namespace backfuse::reference;

static double seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Processor seconds of this process.
static double cpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

int main(int argc, char **argv) {
  std::string workload = argc > 1 ? argv[1] : "079";
  int64_t tokens = argc > 2 ? std::atoll(argv[2]) : 2048;
  std::string mode = argc > 3 ? argv[3] : "eager";
  std::string inputs = argc > 4 ? argv[4] : "random";
  bool gate = workload == "079";
  test::BuiltGraph graph =
      gate ? test::ssmGateBackward(768, 1536)
           : test::mlpGeluBackward(1280, 3584, bundle::Precision::Tf32);
  Problem problem;
  problem.dims = {{"batch_size", 1}, {"seq_len", tokens}};
  problem.params = {{"use_silu_gate", 1}};
  double start = seconds();
  Error error = makeInputs(
      *graph, inputs == "exact" ? Inputs::Exact : Inputs::Random, 1, problem);
  double made = seconds(), cpuStart = cpuSeconds();
  EvaluateOptions options;
  options.mode = mode == "exact" ? Mode::Exact : Mode::Eager;
  options.bounds = mode == "bounds";
  options.threads = argc > 5 ? std::atoi(argv[5]) : 0;
  Evaluation evaluation;
  if (error.empty())
    error = evaluate(*graph, problem, options, evaluation);
  double done = seconds(), cpu = cpuSeconds() - cpuStart;
  if (!error.empty()) {
    std::fprintf(stderr, "error: %s\n", error.c_str());
    return 1;
  }
  double operations =
      gate ? 2 * 2.0 * tokens * 768 * 1536 : 4 * 2.0 * tokens * 1280 * 3584;
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%s, %lld tokens, %s: inputs %.2f s, evaluation %.2f s (%.2f "
              "core s), %.1f GFLOP/s, %.1f a core, peak %.2f GB\n",
              workload.c_str(), (long long)tokens, mode.c_str(), made - start,
              done - made, cpu, operations / (done - made) * 1e-9,
              operations / cpu * 1e-9, double(usage.ru_maxrss) * 1024e-9);
  return 0;
}
