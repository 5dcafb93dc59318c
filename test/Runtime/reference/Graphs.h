//===- Graphs.h - Graphs built by hand for tests ----------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BACKFUSE_TEST_RUNTIME_REFERENCE_GRAPHS_H
#define BACKFUSE_TEST_RUNTIME_REFERENCE_GRAPHS_H

#include "bundle_generated.h"

#include <string>
#include <vector>

namespace backfuse::test {

/// An extent: a number, or a variable dimension of the graph.
struct Extent {
  int64_t fixed = 0;
  int32_t dim = -1;
  Extent(int64_t fixed) : fixed(fixed) {}
  Extent(int fixed) : fixed(fixed) {}
  static Extent variable(int32_t dim) {
    Extent extent(int64_t(0));
    extent.dim = dim;
    return extent;
  }
};
using Extents = std::vector<Extent>;

/// A serialized graph and a view of it.
class BuiltGraph {
public:
  explicit BuiltGraph(const bundle::GraphT &graph) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(bundle::Graph::Pack(builder, &graph));
    bytes.assign(builder.GetBufferPointer(),
                 builder.GetBufferPointer() + builder.GetSize());
  }
  const bundle::Graph &operator*() const {
    return *flatbuffers::GetRoot<bundle::Graph>(bytes.data());
  }
  const bundle::Graph *operator->() const { return &**this; }

private:
  std::vector<uint8_t> bytes;
};

/// Routes of a variant's products, as a bundle holds them.
class BuiltProducts {
public:
  explicit BuiltProducts(const std::vector<bundle::ProductT> &products) {
    bundle::VariantT variant;
    variant.name = "test";
    variant.guard = std::make_unique<bundle::ExprT>();
    variant.workspace_bytes = std::make_unique<bundle::ExprT>();
    variant.bytes = std::make_unique<bundle::ExprT>();
    for (const bundle::ProductT &product : products)
      variant.products.push_back(std::make_unique<bundle::ProductT>(product));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(bundle::Variant::Pack(builder, &variant));
    bytes.assign(builder.GetBufferPointer(),
                 builder.GetBufferPointer() + builder.GetSize());
  }
  const flatbuffers::Vector<flatbuffers::Offset<bundle::Product>> *get() const {
    return flatbuffers::GetRoot<bundle::Variant>(bytes.data())->products();
  }

private:
  std::vector<uint8_t> bytes;
};

/// Adds ops one after the other; each function returns the result's value.
class GraphBuilder {
public:
  using DType = bundle::DType;
  using OpKind = bundle::OpKind;
  using Precision = bundle::Precision;

  explicit GraphBuilder(const std::string &name) { graph.name = name; }

  Extent dim(const std::string &name) {
    graph.dims.push_back(name);
    return Extent::variable(int32_t(graph.dims.size()) - 1);
  }
  uint32_t input(const std::string &name, DType type, const Extents &extents) {
    uint32_t value = addValue(type, extents);
    addArgument(graph.inputs, name, value);
    return value;
  }
  uint32_t param(const std::string &name, DType type) {
    uint32_t value = addValue(type, {});
    addArgument(graph.params, name, value);
    return value;
  }
  void output(const std::string &name, uint32_t value) {
    addArgument(graph.outputs, name, value);
  }

  /// An elementwise op whose result has the type of its last operand.
  uint32_t op(OpKind kind, const std::vector<uint32_t> &operands) {
    return op(kind, operands, typeOf(operands.back()));
  }
  uint32_t op(OpKind kind, const std::vector<uint32_t> &operands,
              DType result) {
    return addOp(kind, operands, result, extents[operands.back()]);
  }
  uint32_t cast(uint32_t value, DType type) {
    return op(OpKind::Cast, {value}, type);
  }
  uint32_t compare(OpKind kind, uint32_t a, uint32_t b) {
    return op(kind, {a, b}, DType::I1);
  }
  /// Of the shape and type of `like`.
  uint32_t constant(double scalar, uint32_t like) {
    uint32_t result = addOp(OpKind::Constant, {}, typeOf(like), extents[like]);
    graph.ops.back()->scalar = scalar;
    return result;
  }
  uint32_t broadcast(uint32_t value, const Extents &to,
                     const std::vector<int32_t> &dims) {
    uint32_t result = addOp(OpKind::Broadcast, {value}, typeOf(value), to);
    graph.ops.back()->dims = dims;
    return result;
  }
  uint32_t reshape(uint32_t value, const Extents &to) {
    return addOp(OpKind::Reshape, {value}, typeOf(value), to);
  }
  uint32_t sum(uint32_t value, const std::vector<int32_t> &axes, DType type) {
    uint32_t result =
        addOp(OpKind::Sum, {value}, type, without(extents[value], axes));
    graph.ops.back()->dims = axes;
    return result;
  }
  uint32_t matmul(uint32_t a, const std::vector<int32_t> &aContract, uint32_t b,
                  const std::vector<int32_t> &bContract, DType type,
                  Precision precision = Precision::Native) {
    Extents result = without(extents[a], aContract);
    for (const Extent &extent : without(extents[b], bContract))
      result.push_back(extent);
    uint32_t value = addOp(OpKind::Matmul, {a, b}, type, result);
    bundle::OpT &op = *graph.ops.back();
    op.a_contract = aContract;
    op.b_contract = bContract;
    op.precision = precision;
    return value;
  }
  /// Index of the op added last.
  uint32_t lastOp() const { return uint32_t(graph.ops.size()) - 1; }
  DType typeOf(uint32_t value) const {
    return graph.values[value]->type->dtype;
  }

  BuiltGraph build() const { return BuiltGraph(graph); }
  /// For tests that damage it.
  bundle::GraphT graph;

private:
  std::vector<Extents> extents;

  static Extents without(const Extents &from,
                         const std::vector<int32_t> &axes) {
    Extents rest;
    for (size_t i = 0; i < from.size(); ++i) {
      bool named = false;
      for (int32_t axis : axes)
        named |= size_t(axis) == i;
      if (!named)
        rest.push_back(from[i]);
    }
    return rest;
  }
  uint32_t addValue(DType type, const Extents &shape) {
    auto value = std::make_unique<bundle::ValueT>();
    value->type = std::make_unique<bundle::TensorTypeT>();
    value->type->dtype = type;
    for (const Extent &extent : shape)
      value->type->extents.emplace_back(extent.fixed, extent.dim);
    graph.values.push_back(std::move(value));
    extents.push_back(shape);
    return uint32_t(graph.values.size()) - 1;
  }
  void addArgument(std::vector<std::unique_ptr<bundle::ArgumentT>> &to,
                   const std::string &name, uint32_t value) {
    to.push_back(std::make_unique<bundle::ArgumentT>());
    to.back()->name = name;
    to.back()->value = value;
  }
  uint32_t addOp(OpKind kind, const std::vector<uint32_t> &operands, DType type,
                 const Extents &shape) {
    Extents copy = shape; // `shape` may lie in `extents`
    uint32_t result = addValue(type, copy);
    auto op = std::make_unique<bundle::OpT>();
    op->kind = kind;
    op->operands = operands;
    op->result = result;
    graph.ops.push_back(std::move(op));
    return result;
  }
};

/// Workload 079: the backward pass of a gated output projection, bf16.
inline BuiltGraph ssmGateBackward(int64_t hidden, int64_t expanded) {
  using bundle::DType;
  using bundle::OpKind;
  GraphBuilder g("ssm_gate_backward");
  Extent b = g.dim("batch_size"), s = g.dim("seq_len");
  constexpr DType type = DType::BF16;
  uint32_t dy = g.input("grad_output", type, {b, s, hidden});
  uint32_t ssm = g.input("ssm_output", type, {b, s, expanded});
  uint32_t gate = g.input("gate", type, {b, s, expanded});
  uint32_t w = g.input("weight", type, {hidden, expanded});
  g.input("bias", type, {hidden});
  uint32_t gact = g.input("gate_activated", type, {b, s, expanded});
  uint32_t gated = g.input("gated_output", type, {b, s, expanded});
  uint32_t useSilu = g.param("use_silu_gate", DType::I1);
  uint32_t d = g.matmul(dy, {2}, w, {0}, type);
  uint32_t gs = g.op(OpKind::Mul, {d, gact});
  uint32_t dz = g.op(OpKind::Mul, {d, ssm});
  uint32_t one = g.constant(1, gate);
  uint32_t sigma = g.op(OpKind::Sigmoid, {gate});
  uint32_t rest = g.op(OpKind::Sub, {one, sigma});
  uint32_t inner = g.op(OpKind::Add, {one, g.op(OpKind::Mul, {gate, rest})});
  uint32_t grad = g.op(OpKind::Mul, {sigma, inner});
  uint32_t gg =
      g.op(OpKind::Select, {useSilu, g.op(OpKind::Mul, {dz, grad}), dz});
  uint32_t gw = g.matmul(dy, {0, 1}, gated, {0, 1}, type);
  uint32_t gb = g.sum(dy, {0, 1}, type);
  g.output("grad_ssm_output", gs);
  g.output("grad_gate", gg);
  g.output("grad_weight", gw);
  g.output("grad_bias", gb);
  return g.build();
}

/// Workload 022: the backward pass of a two-layer MLP with GELU (tanh form,
/// expanded into f32 ops), f32.
inline BuiltGraph mlpGeluBackward(int64_t hidden, int64_t intermediate,
                                  bundle::Precision precision) {
  using bundle::DType;
  using bundle::OpKind;
  GraphBuilder g("mlp_gelu_backward");
  Extent t = g.dim("seq_len");
  constexpr DType type = DType::F32;
  uint32_t dy = g.input("grad_output", type, {t, hidden});
  uint32_t x = g.input("hidden_state", type, {t, hidden});
  uint32_t w1 = g.input("fc1_weight", type, {intermediate, hidden});
  g.input("fc1_bias", type, {intermediate});
  uint32_t w2 = g.input("fc2_weight", type, {hidden, intermediate});
  g.input("fc2_bias", type, {hidden});
  uint32_t f = g.input("fc1_output", type, {t, intermediate});
  uint32_t gelu = g.input("gelu_output", type, {t, intermediate});
  auto mul = [&](uint32_t a, uint32_t b) { return g.op(OpKind::Mul, {a, b}); };
  auto add = [&](uint32_t a, uint32_t b) { return g.op(OpKind::Add, {a, b}); };
  auto c = [&](double value) { return g.constant(value, f); };
  uint32_t square = mul(f, f);
  uint32_t u =
      mul(c(0.7978845608028654), add(f, mul(c(0.044715), mul(square, f))));
  uint32_t tanh = g.op(OpKind::Tanh, {u});
  uint32_t left = mul(c(0.5), add(c(1), tanh));
  uint32_t sech = g.op(OpKind::Sub, {c(1), mul(tanh, tanh)});
  uint32_t slope =
      mul(c(0.7978845608028654), add(c(1), mul(c(0.134145), square)));
  uint32_t right = mul(mul(mul(c(0.5), f), sech), slope);
  uint32_t grad = add(left, right);
  uint32_t dg = g.matmul(dy, {1}, w2, {0}, type, precision);
  uint32_t dh = mul(dg, grad);
  g.output("grad_hidden_state", g.matmul(dh, {1}, w1, {0}, type, precision));
  g.output("grad_fc1_weight", g.matmul(dh, {0}, x, {0}, type, precision));
  g.output("grad_fc1_bias", g.sum(dh, {0}, type));
  g.output("grad_fc2_weight", g.matmul(dy, {0}, gelu, {0}, type, precision));
  g.output("grad_fc2_bias", g.sum(dy, {0}, type));
  return g.build();
}

} // namespace backfuse::test

#endif // BACKFUSE_TEST_RUNTIME_REFERENCE_GRAPHS_H
