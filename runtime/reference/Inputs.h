//===- Inputs.h - Inputs made for a graph -----------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_REFERENCE_INPUTS_H
#define BACKFUSE_REFERENCE_INPUTS_H

#include "Resolve.h"

namespace backfuse::reference {

/// Standard normal, scaled as makeInputs says.
void fillRandom(Tensor &tensor, const std::string &name, uint64_t seed,
                int threads);

/// makeInputs for Inputs::Exact.
Error makeExactInputs(const bundle::Graph &graph, uint64_t seed,
                      Problem &problem);

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_INPUTS_H
