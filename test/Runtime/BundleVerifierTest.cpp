//===- BundleVerifierTest.cpp - Each rule of a bundle, broken -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestBundle.h"
#include "backfuse/runtime.h"

#include <functional>
#include <gtest/gtest.h>

using namespace backfuse;
using namespace backfuse::test;
using bundle::BundleT;
using bundle::DType;
using bundle::ExprOp;
using bundle::OpKind;

namespace {
/// One change of a good bundle and a part of the message it must give.
struct Rule {
  const char *name;
  std::function<void(BundleT &)> breakIt;
  std::string message;
};

class BundleVerifier : public testing::TestWithParam<Rule> {};

bundle::GraphT &graph(BundleT &b) { return *b.graph; }
bundle::TargetT &target(BundleT &b) { return *b.targets[0]; }
bundle::VariantT &variant(BundleT &b) { return *target(b).variants[0]; }
bundle::ZeroFillT &fill(BundleT &b) {
  return *variant(b).steps[0]->body.AsZeroFill();
}
bundle::KernelLaunchT &launch(BundleT &b) {
  return *variant(b).steps[1]->body.AsKernelLaunch();
}
bundle::TensorMapT &map(BundleT &b) { return *launch(b).args[0]->map; }
void addProduct(BundleT &b, uint32_t op) {
  auto product = std::make_unique<bundle::ProductT>();
  product->op = op;
  product->route = "bf16";
  variant(b).products.push_back(std::move(product));
}
/// Appends A[64, 8] . B[8, 32] with a result of these extents.
void addMatmul(BundleT &b, std::vector<int32_t> a, std::vector<int32_t> bAxes,
               std::vector<int64_t> extents) {
  auto add = [&](std::vector<int64_t> shape) {
    auto value = std::make_unique<bundle::ValueT>();
    value->type = std::make_unique<bundle::TensorTypeT>();
    value->type->dtype = DType::F32;
    for (int64_t extent : shape)
      value->type->extents.push_back(bundle::Extent(extent, -1));
    graph(b).values.push_back(std::move(value));
    return uint32_t(graph(b).values.size() - 1);
  };
  auto addOp = [&](OpKind kind, std::vector<uint32_t> operands,
                   uint32_t result) {
    auto op = std::make_unique<bundle::OpT>();
    op->kind = kind;
    op->operands = std::move(operands);
    op->result = result;
    graph(b).ops.push_back(std::move(op));
    return graph(b).ops.back().get();
  };
  uint32_t first = add({64, 8}), second = add({8, 32}), result = add(extents);
  addOp(OpKind::Constant, {}, first);
  addOp(OpKind::Constant, {}, second);
  bundle::OpT *matmul = addOp(OpKind::Matmul, {first, second}, result);
  matmul->a_contract = std::move(a);
  matmul->b_contract = std::move(bAxes);
}
} // namespace

TEST_P(BundleVerifier, Refuses) {
  BundleT source = makeRowsBundle();
  GetParam().breakIt(source);
  std::vector<uint8_t> file = pack(source);
  bf_bundle *bundle = nullptr;
  bf_status status = bf_bundle_load_memory(file.data(), file.size(), &bundle);
  bf_bundle_destroy(bundle);
  if (GetParam().message.empty()) {
    EXPECT_EQ(status, BF_OK) << bf_last_error();
    return;
  }
  EXPECT_EQ(status, BF_ERROR_BUNDLE);
  std::string text = bf_last_error();
  EXPECT_NE(text.find(GetParam().message), std::string::npos) << text;
}

static const Rule rules[] = {
    {"Unchanged", [](BundleT &) {}, ""},
    // The graph.
    {"GraphName", [](BundleT &b) { graph(b).name = ""; },
     "graph: the name is empty"},
    {"ControlCharacter", [](BundleT &b) { graph(b).name = "a\x1b[2J"; },
     "graph: the name holds a control character"},
    {"DimNames", [](BundleT &b) { graph(b).dims = {"B", "B"}; },
     "two dimensions are named B"},
    {"UnusedDim", [](BundleT &b) { graph(b).dims.push_back("Q"); },
     "no input or output has dimension Q"},
    {"ManyDims", [](BundleT &b) { graph(b).dims.resize(33, "D"); },
     "has 33 dimensions, more than 32"},
    {"ExtentDim",
     [](BundleT &b) {
       graph(b).values[0]->type->extents[0] = bundle::Extent(0, 7);
     },
     "value 0: extent 0 names dimension 7 of 2"},
    {"ExtentZero",
     [](BundleT &b) {
       graph(b).values[1]->type->extents[0] = bundle::Extent(0, -1);
     },
     "value 1: extent 0 is 0, expected at least 1"},
    {"ExtentBoth",
     [](BundleT &b) {
       graph(b).values[0]->type->extents[0] = bundle::Extent(3, 0);
     },
     "extent 0 is both fixed and variable"},
    {"ExtentsOverflow",
     [](BundleT &b) {
       graph(b).values[1]->type->extents.assign(
           2, bundle::Extent(int64_t(1) << 40, -1));
     },
     "value 1: more than 2^63 bytes"},
    {"Rank",
     [](BundleT &b) {
       graph(b).values[1]->type->extents.assign(9, bundle::Extent(1, -1));
     },
     "value 1: rank 9, more than 8"},
    {"DType",
     [](BundleT &b) {
       graph(b).values[1]->type->dtype = static_cast<DType>(99);
     },
     "value 1: unknown element type 99"},
    {"InputIndex", [](BundleT &b) { graph(b).inputs[1]->value = 90; },
     "input unused is value 90 of 8"},
    {"InputTwice", [](BundleT &b) { graph(b).inputs[1]->value = 0; },
     "value 0 is defined twice"},
    {"InputNames", [](BundleT &b) { graph(b).inputs[1]->name = "x"; },
     "two inputs are named x"},
    {"ParamType", [](BundleT &b) { graph(b).params[0]->value = 7; },
     "parameter square is not an I1 or F32 scalar"},
    {"OutputUndefined", [](BundleT &b) { graph(b).ops.pop_back(); },
     "output s is value 7, which has no definition"},
    {"OutputIsInput", [](BundleT &b) { graph(b).outputs[0]->value = 0; },
     "output y is an input"},
    {"OpResult", [](BundleT &b) { graph(b).ops[0]->result = 77; },
     "op 0 (Mul): the result is value 77 of 8"},
    {"OpTwice", [](BundleT &b) { graph(b).ops[1]->result = 4; },
     "op 1 (Relu): value 4 is defined twice"},
    {"OpBeforeDefinition",
     [](BundleT &b) { graph(b).ops[0]->operands = {5, 5}; },
     "op 0 (Mul): operand 0 is value 5, which has no definition before"},
    {"OpSelf", [](BundleT &b) { graph(b).ops[0]->operands = {4, 4}; },
     "op 0 (Mul): operand 0 is value 4, which has no definition before"},
    {"OperandIndex", [](BundleT &b) { graph(b).ops[0]->operands = {0, 1000}; },
     "op 0 (Mul): operand 1 is value 1000"},
    {"OperandCount", [](BundleT &b) { graph(b).ops[0]->operands = {0}; },
     "op 0 (Mul): has 1 operands, expected 2"},
    {"OpKind",
     [](BundleT &b) { graph(b).ops[0]->kind = static_cast<OpKind>(200); },
     "op 0 has the unknown kind 200"},
    {"Reserved", [](BundleT &b) { graph(b).ops[1]->kind = OpKind::Permute; },
     "op 1 (Permute): this runtime does not know the op yet"},
    {"Precision",
     [](BundleT &b) {
       graph(b).ops[0]->precision = static_cast<bundle::Precision>(9);
     },
     "unknown precision 9"},
    {"Shapes", [](BundleT &b) { graph(b).ops[1]->operands = {1}; },
     "op 1 (Relu): operands and result do not have one shape"},
    {"SelectCondition",
     [](BundleT &b) { graph(b).ops[2]->operands = {3, 4, 5}; },
     "op 2 (Select): the condition has type F32, expected I1"},
    {"CompareResult",
     [](BundleT &b) { graph(b).ops[0]->kind = OpKind::CmpOlt; },
     "op 0 (CmpOlt): the result has type BF16, expected I1"},
    {"SumAxis", [](BundleT &b) { graph(b).ops[3]->dims = {0, 3}; },
     "`dims` names axis 3 of 3"},
    {"SumAxisTwice", [](BundleT &b) { graph(b).ops[3]->dims = {1, 1}; },
     "`dims` names axis 1 twice"},
    {"SumShape", [](BundleT &b) { graph(b).ops[3]->dims = {0}; },
     "op 3 (Sum): the result's shape"},
    {"Broadcast",
     [](BundleT &b) {
       graph(b).ops[0]->kind = OpKind::Broadcast;
       graph(b).ops[0]->operands = {0};
       graph(b).ops[0]->dims = {0, 2, 1};
     },
     "op 0 (Broadcast): axis 1 of the operand differs"},
    {"Reshape",
     [](BundleT &b) {
       graph(b).ops[0]->kind = OpKind::Reshape;
       graph(b).ops[0]->operands = {0};
       graph(b).values[4]->type->extents[2] = bundle::Extent(32, -1);
     },
     "op 0 (Reshape): operand and result differ"},
    {"Matmul", [](BundleT &b) { addMatmul(b, {1}, {0}, {64, 32}); }, ""},
    {"MatmulShape", [](BundleT &b) { addMatmul(b, {1}, {0}, {32, 64}); },
     "op 6 (Matmul): the result's shape is not A's free axes, then B's"},
    {"MatmulAxes", [](BundleT &b) { addMatmul(b, {0}, {1}, {8, 8}); },
     "op 6 (Matmul): contracted axes 0 of A and B differ"},
    {"MatmulCounts", [](BundleT &b) { addMatmul(b, {1}, {}, {64, 32}); },
     "op 6 (Matmul): contracts 1 axes of A with 0 of B"},
    // The plan.
    {"TargetName", [](BundleT &b) { target(b).name = ""; },
     "target 0: the name is empty"},
    {"EmptyModule", [](BundleT &b) { target(b).modules[0]->ptx = ""; },
     "target sm_90a: module 0 has neither a cubin nor PTX"},
    {"KernelModule", [](BundleT &b) { target(b).kernels[1]->module_index = 1; },
     "kernel 1: is in module 1 of 1"},
    {"KernelThreads", [](BundleT &b) { target(b).kernels[0]->threads = 1025; },
     "kernel 0: has 1025 threads"},
    {"KernelCluster",
     [](BundleT &b) { target(b).kernels[0]->cluster = {4, 8}; },
     "kernel 0: has a cluster that is empty or larger than 16 CTAs"},
    {"KernelClusterZero",
     [](BundleT &b) { target(b).kernels[0]->cluster = {0}; },
     "kernel 0: has a cluster that is empty"},
    {"KernelSmem",
     [](BundleT &b) { target(b).kernels[0]->smem_bytes = 1u << 30; },
     "bytes of dynamic shared memory"},
    {"Guard", [](BundleT &b) { variant(b).guard = expr({op(ExprOp::Not)}); },
     "variant 0: guard: node 0 of the expression takes 1 values"},
    {"WorkspaceDim",
     [](BundleT &b) { variant(b).workspace_bytes = expr({dim(5)}); },
     "variant 0: workspace_bytes: node 0"},
    {"FillBytes", [](BundleT &b) { fill(b).bytes = expr({}); },
     "step 0: bytes: the expression is empty"},
    {"LaunchKernel", [](BundleT &b) { launch(b).kernel = 2; },
     "step 1: launches kernel 2 of 2"},
    {"GridEmpty", [](BundleT &b) { launch(b).grid.clear(); },
     "step 1: has a grid of 0 extents"},
    {"GridRank",
     [](BundleT &b) {
       while (launch(b).grid.size() < 4)
         launch(b).grid.push_back(expr(1));
     },
     "step 1: has a grid of 4 extents"},
    {"FillsInput",
     [](BundleT &b) { fill(b).buffer = buffer(bundle::Space::Input, 0); },
     "step 0: fills an input"},
    {"BufferIndex",
     [](BundleT &b) { fill(b).buffer = buffer(bundle::Space::Output, 2); },
     "step 0: buffer 2 of 2 in space Output"},
    {"WorkspaceIndex",
     [](BundleT &b) { fill(b).buffer = buffer(bundle::Space::Workspace, 1); },
     "step 0: buffer 1 of 1 in space Workspace"},
    {"BufferSpace",
     [](BundleT &b) { fill(b).buffer->space = static_cast<bundle::Space>(3); },
     "step 0: unknown memory space 3"},
    {"ArgKind",
     [](BundleT &b) {
       launch(b).args[0]->kind = static_cast<bundle::ArgKind>(6);
     },
     "argument 0: unknown kind 6"},
    {"ArgMap", [](BundleT &b) { launch(b).args[0]->map = nullptr; },
     "argument 0: the map is missing"},
    {"ArgBuffer", [](BundleT &b) { launch(b).args[1]->buffer = nullptr; },
     "argument 1: the buffer is missing"},
    {"ArgValue", [](BundleT &b) { launch(b).args[2]->value = nullptr; },
     "argument 2: the value is missing"},
    {"ArgParam",
     [](BundleT &b) {
       launch(b).args[2]->kind = bundle::ArgKind::Float32;
       launch(b).args[2]->param = 2;
     },
     "argument 2: parameter 2 of 2"},
    {"ArgParamType",
     [](BundleT &b) { launch(b).args[2]->kind = bundle::ArgKind::Float32; },
     "argument 2: the parameter has type I1, expected F32"},
    {"ArgMany",
     [](BundleT &b) {
       while (launch(b).args.size() < 129) {
         launch(b).args.push_back(std::make_unique<bundle::KernelArgT>());
         launch(b).args.back()->kind = bundle::ArgKind::LaunchTag;
       }
     },
     "has 129 arguments, more than 128"},
    {"MapType",
     [](BundleT &b) { map(b).type = static_cast<bundle::MapType>(7); },
     "map: unknown element type 7"},
    {"MapSwizzle",
     [](BundleT &b) { map(b).swizzle = static_cast<bundle::Swizzle>(5); },
     "map: unknown swizzle 5"},
    {"MapPromotion", [](BundleT &b) { map(b).l2_promotion = 4; },
     "map: unknown L2 promotion 4"},
    {"MapRank",
     [](BundleT &b) {
       while (map(b).sizes.size() < 6)
         map(b).sizes.push_back(expr(1));
     },
     "map: rank 6, expected 1 to 5"},
    {"MapStrides", [](BundleT &b) { map(b).strides.clear(); },
     "map: 2 sizes, 0 strides, 2 box extents"},
    {"MapBoxCount", [](BundleT &b) { map(b).box = {64}; },
     "map: 2 sizes, 1 strides, 1 box extents"},
    {"MapBox", [](BundleT &b) { map(b).box = {64, 257}; },
     "map: box extent 1 is 257, expected 1 to 256"},
    {"MapBoxZero", [](BundleT &b) { map(b).box = {64, 0}; },
     "map: box extent 1 is 0, expected 1 to 256"},
    {"MapRow", [](BundleT &b) { map(b).box = {60, 1}; },
     "map: rows of 120 bytes, expected a multiple of 16"},
    {"MapSpan", [](BundleT &b) { map(b).swizzle = bundle::Swizzle::B64; },
     "map: rows of 128 bytes under a swizzle of 64"},
    {"ProductOp", [](BundleT &b) { addProduct(b, 0); },
     "product 0: op 0 is not a matmul of the graph"},
    {"ProductIndex", [](BundleT &b) { addProduct(b, 1u << 31); },
     "product 0: op 2147483648 is not a matmul"},
    {"Rate",
     [](BundleT &b) {
       variant(b).work[0]->rate = static_cast<bundle::Rate>(4);
     },
     "variant 0: unknown rate 4"},
    {"Refusal", [](BundleT &b) { b.refusals[0]->condition = expr({dim(9)}); },
     "refusal 0: condition: node 0"},
};

INSTANTIATE_TEST_SUITE_P(Rules, BundleVerifier, testing::ValuesIn(rules),
                         [](const auto &info) { return info.param.name; });
