//===- Inputs.h - Inputs made for a graph -----------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_REFERENCE_INPUTS_H
#define BACKFUSE_REFERENCE_INPUTS_H

#include "ExactAnalysis.h"

namespace backfuse::reference {

/// Standard normal, scaled as makeInputs says.
void fillRandom(Tensor &tensor, const std::string &name, uint64_t seed,
                int threads);

/// What each input is made of so that the graph is exact, for the extents of
/// `resolved`. `rowElements`: for each input whose rows repeat, the elements of
/// a row; else 0.
Error chooseExactInputs(const bundle::Graph &graph,
                        const ResolvedGraph &resolved,
                        const std::map<std::string, double> &params,
                        const std::vector<int64_t> &rowElements,
                        std::vector<LeafChoice> &choices);

/// makeInputs for Inputs::Exact.
Error makeExactInputs(const bundle::Graph &graph, uint64_t seed,
                      Problem &problem);

} // namespace backfuse::reference

#endif // BACKFUSE_REFERENCE_INPUTS_H
