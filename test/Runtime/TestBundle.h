//===- TestBundle.h - Small bundles built by hand ---------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TEST_RUNTIME_TESTBUNDLE_H
#define BACKFUSE_TEST_RUNTIME_TESTBUNDLE_H

#include "bundle_generated.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace backfuse::test {

/// Postfix code: expr({dim(0), constant(2), op(Mul)}).
using Node = bundle::ExprNode;
Node constant(int64_t value);
Node dim(int64_t index);
Node param(int64_t index);
Node op(bundle::ExprOp kind);
std::unique_ptr<bundle::ExprT> expr(std::initializer_list<Node> nodes);
std::unique_ptr<bundle::ExprT> expr(int64_t value);

std::unique_ptr<bundle::BufferT> buffer(bundle::Space space, uint32_t index,
                                        int64_t offset = 0);

/// A graph with hand-written PTX for sm_90a:
///   rows(x: tensor<B x S x 64 x bf16>, unused: tensor<8 x f32>, square: i1,
///        scale: f32)
///     y = square ? x * x : relu(x)      tensor<B x S x 64 x bf16>
///     s = sum of x over B and S         tensor<64 x bf16>
/// Variant 0 (square) fills its workspace with zeros and launches two kernels,
/// variant 1 launches two; one kernel reads x through a tensor map. Launches
/// with more than 2^20 rows are refused.
bundle::BundleT makeRowsBundle();

/// A graph without code: logs(x: tensor<N x 4 x f32>),
///   y = log(sum of x over its columns)     tensor<N x f32>
bundle::BundleT makeLogsBundle();

/// Header and FlatBuffer, as a file has them.
std::vector<uint8_t> pack(const bundle::BundleT &bundle);
/// The same around any FlatBuffer.
std::vector<uint8_t> packFlatBuffer(const uint8_t *data, size_t numBytes);

} // namespace backfuse::test

#endif // BACKFUSE_TEST_RUNTIME_TESTBUNDLE_H
