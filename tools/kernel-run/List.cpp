//===- List.cpp - What a bundle holds, for people -------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "List.h"

#include <cstdio>

using namespace backfuse;
using namespace backfuse::run;

static void printArguments(const Signature &signature, const char *role,
                           const std::vector<bf_argument> &list) {
  for (const bf_argument &argument : list)
    std::printf("  %-6s %s : %s\n", role, argument.name,
                signature.typeText(argument).c_str());
}

static void printTarget(const Bundle &bundle, uint32_t index) {
  bf_target_info target = bundle.target(index);
  std::printf("target %s: %u kernels in %u modules (%s)\n", target.name,
              target.num_kernels, target.num_modules,
              target.has_cubins && target.has_ptx ? "cubins and PTX"
              : target.has_cubins                 ? "cubins"
              : target.has_ptx                    ? "PTX"
                                                  : "incomplete");
  for (uint32_t v = 0; v < target.num_variants; ++v) {
    bf_variant_info variant = bundle.variant(index, v);
    std::printf("  variant %u: %s, %u steps\n", v, variant.name,
                variant.num_steps);
    for (uint32_t p = 0; p < variant.num_products; ++p) {
      bf_product_info product = bundle.product(index, v, p);
      std::printf("    product of op %u: %s%s%s\n", product.op, product.route,
                  *product.location ? "  at " : "", product.location);
    }
  }
  const bundle::Target &flat = *flatBundle(bundle).targets()->Get(index);
  if (!flat.kernels())
    return;
  for (const bundle::Kernel *kernel : *flat.kernels()) {
    std::printf("  kernel %s: %u threads, %u bytes of shared memory, %u "
                "registers",
                kernel->name()->c_str(), kernel->threads(),
                kernel->smem_bytes(), kernel->registers());
    if (kernel->roles())
      for (const flatbuffers::String *role : *kernel->roles())
        std::printf(", %s", role->c_str());
    std::printf("\n");
  }
}

void backfuse::run::printBundle(const Bundle &bundle) {
  Signature signature(bundle);
  bf_bundle_info info = bundle.info();
  std::printf("graph %s\n", info.graph);
  for (const std::string &dim : signature.dims)
    std::printf("  dim    %s\n", dim.c_str());
  printArguments(signature, "input", signature.inputs);
  printArguments(signature, "param", signature.params);
  printArguments(signature, "output", signature.outputs);
  for (uint32_t i = 0; i < info.num_targets; ++i)
    printTarget(bundle, i);
  if (const auto *refusals = flatBundle(bundle).refusals())
    for (const bundle::Refusal *refusal : *refusals)
      std::printf("refused under a condition: %s\n",
                  refusal->reason()->c_str());
  std::printf("made by %s, LLVM %s, ptxas %s; needs driver %u.%u\n",
              *info.compiler ? info.compiler : "?",
              *info.llvm ? info.llvm : "?", *info.ptxas ? info.ptxas : "?",
              info.minimum_driver / 1000, info.minimum_driver % 1000 / 10);
}
