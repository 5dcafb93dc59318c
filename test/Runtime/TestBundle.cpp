//===- TestBundle.cpp - Small bundles built by hand -----------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestBundle.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

using namespace backfuse;
using namespace backfuse::test;
using bundle::DType;
using bundle::ExprOp;
using bundle::OpKind;

// One warp a row: 64 bf16 come through a tensor map, each lane makes two.
// `square` chooses between x*x and relu(x); the launch's tag goes to the
// workspace where there is one.
static const char ptx[] = R"(.version 8.0
.target sm_90a
.address_size 64

.visible .entry rows(
  .param .align 64 .b8 x[128],
  .param .u64 y,
  .param .u32 numRows,
  .param .u32 square,
  .param .u64 tag,
  .param .u64 workspace)
{
  .reg .b32 %row, %n, %lane, %v, %zero, %sq, %smem, %bar, %at;
  .reg .b64 %map, %out, %offset, %tag, %ws, %state;
  .reg .pred %p, %done, %first;
  .shared .align 128 .b8 tile[128];
  .shared .align 8 .b64 barrier;

  mov.u32 %row, %ctaid.x;
  ld.param.u32 %n, [numRows];
  setp.ge.u32 %p, %row, %n;
  @%p bra finished;
  mov.u32 %lane, %tid.x;
  mov.u32 %smem, tile;
  mov.u32 %bar, barrier;
  setp.eq.u32 %first, %lane, 0;
  @!%first bra waiting;
  mbarrier.init.shared::cta.b64 [%bar], 1;
  fence.proxy.async.shared::cta;
  mov.b64 %map, x;
  cvta.param.u64 %map, %map;
  mov.u32 %zero, 0;
  mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], 128;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%smem], [%map, {%zero, %row}], [%bar];
waiting:
  bar.warp.sync 0xffffffff;
again:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;
  @!%done bra again;
  shl.b32 %at, %lane, 2;
  add.u32 %at, %at, %smem;
  ld.shared.b32 %v, [%at];
  ld.param.u32 %sq, [square];
  setp.ne.u32 %p, %sq, 0;
  @%p bra squared;
  mov.u32 %zero, 0;
  max.bf16x2 %v, %v, %zero;
  bra.uni store;
squared:
  mul.rn.bf16x2 %v, %v, %v;
store:
  ld.param.u64 %out, [y];
  mul.wide.u32 %offset, %row, 128;
  add.u64 %out, %out, %offset;
  mul.wide.u32 %offset, %lane, 4;
  add.u64 %out, %out, %offset;
  st.global.b32 [%out], %v;
  ld.param.u64 %ws, [workspace];
  setp.eq.u64 %p, %ws, 0;
  @%p bra finished;
  ld.param.u64 %tag, [tag];
  mul.wide.u32 %offset, %row, 8;
  add.u64 %ws, %ws, %offset;
  @%first st.global.u64 [%ws], %tag;
finished:
  ret;
}

.visible .entry sums(
  .param .u64 x,
  .param .u64 s,
  .param .u64 numRows)
{
  .reg .b32 %column;
  .reg .b16 %h;
  .reg .f32 %sum, %f;
  .reg .b64 %in, %out, %offset, %n;
  .reg .pred %p;

  mov.u32 %column, %tid.x;
  mul.wide.u32 %offset, %column, 2;
  ld.param.u64 %in, [x];
  add.u64 %in, %in, %offset;
  ld.param.u64 %out, [s];
  add.u64 %out, %out, %offset;
  ld.param.u64 %n, [numRows];
  mov.f32 %sum, 0f00000000;
next:
  setp.eq.u64 %p, %n, 0;
  @%p bra finished;
  ld.global.b16 %h, [%in];
  cvt.f32.bf16 %f, %h;
  add.rn.f32 %sum, %sum, %f;
  add.u64 %in, %in, 128;
  sub.u64 %n, %n, 1;
  bra.uni next;
finished:
  cvt.rn.bf16.f32 %h, %sum;
  st.global.b16 [%out], %h;
  ret;
}
)";

Node backfuse::test::constant(int64_t value) {
  return Node(ExprOp::Const, value);
}
Node backfuse::test::dim(int64_t index) { return Node(ExprOp::Dim, index); }
Node backfuse::test::param(int64_t index) { return Node(ExprOp::Param, index); }
Node backfuse::test::op(ExprOp kind) { return Node(kind, 0); }

std::unique_ptr<bundle::ExprT>
backfuse::test::expr(std::initializer_list<Node> nodes) {
  auto result = std::make_unique<bundle::ExprT>();
  result->nodes.assign(nodes);
  return result;
}

std::unique_ptr<bundle::ExprT> backfuse::test::expr(int64_t value) {
  return expr({constant(value)});
}

std::unique_ptr<bundle::BufferT>
backfuse::test::buffer(bundle::Space space, uint32_t index, int64_t offset) {
  auto result = std::make_unique<bundle::BufferT>();
  result->space = space;
  result->index = index;
  if (offset)
    result->offset = expr(offset);
  return result;
}

/// A value of the graph; a negative extent -1 - d is dimension d.
static std::unique_ptr<bundle::ValueT>
value(const char *name, DType dtype, std::initializer_list<int64_t> extents) {
  auto result = std::make_unique<bundle::ValueT>();
  result->name = name;
  result->type = std::make_unique<bundle::TensorTypeT>();
  result->type->dtype = dtype;
  for (int64_t extent : extents)
    result->type->extents.push_back(
        extent < 0 ? bundle::Extent(0, static_cast<int32_t>(-1 - extent))
                   : bundle::Extent(extent, -1));
  return result;
}

static std::unique_ptr<bundle::ArgumentT> argument(const char *name,
                                                   uint32_t value) {
  auto result = std::make_unique<bundle::ArgumentT>();
  result->name = name;
  result->value = value;
  return result;
}

static std::unique_ptr<bundle::OpT>
graphOp(OpKind kind, std::vector<uint32_t> operands, uint32_t result) {
  auto op = std::make_unique<bundle::OpT>();
  op->kind = kind;
  op->operands = std::move(operands);
  op->result = result;
  op->location = "rows.mlir:1:1";
  return op;
}

static std::unique_ptr<bundle::GraphT> makeGraph() {
  auto graph = std::make_unique<bundle::GraphT>();
  graph->name = "rows";
  graph->dims = {"B", "S"};
  graph->values.push_back(value("x", DType::BF16, {-1, -2, 64}));
  graph->values.push_back(value("unused", DType::F32, {8}));
  graph->values.push_back(value("square", DType::I1, {}));
  graph->values.push_back(value("scale", DType::F32, {}));
  graph->values.push_back(value("squared", DType::BF16, {-1, -2, 64}));
  graph->values.push_back(value("positive", DType::BF16, {-1, -2, 64}));
  graph->values.push_back(value("y", DType::BF16, {-1, -2, 64}));
  graph->values.push_back(value("s", DType::BF16, {64}));
  graph->inputs.push_back(argument("x", 0));
  graph->inputs.push_back(argument("unused", 1));
  graph->params.push_back(argument("square", 2));
  graph->params.push_back(argument("scale", 3));
  graph->outputs.push_back(argument("y", 6));
  graph->outputs.push_back(argument("s", 7));
  graph->ops.push_back(graphOp(OpKind::Mul, {0, 0}, 4));
  graph->ops.push_back(graphOp(OpKind::Relu, {0}, 5));
  graph->ops.push_back(graphOp(OpKind::Select, {2, 4, 5}, 6));
  graph->ops.push_back(graphOp(OpKind::Sum, {0}, 7));
  graph->ops.back()->dims = {0, 1};
  return graph;
}

static std::unique_ptr<bundle::KernelArgT> arg(bundle::ArgKind kind) {
  auto result = std::make_unique<bundle::KernelArgT>();
  result->kind = kind;
  return result;
}

static std::unique_ptr<bundle::KernelArgT>
pointerArg(bundle::Space space, uint32_t index, int64_t offset = 0) {
  auto result = arg(bundle::ArgKind::Pointer);
  result->buffer = buffer(space, index, offset);
  return result;
}

static std::unique_ptr<bundle::KernelArgT>
integerArg(bundle::ArgKind kind, std::unique_ptr<bundle::ExprT> value) {
  auto result = arg(kind);
  result->value = std::move(value);
  return result;
}

/// B * S.
static std::unique_ptr<bundle::ExprT> numRows() {
  return expr({dim(0), dim(1), op(ExprOp::Mul)});
}

static std::unique_ptr<bundle::StepT> rowsStep(bool square) {
  auto map = std::make_unique<bundle::TensorMapT>();
  map->buffer = buffer(bundle::Space::Input, 0);
  map->type = bundle::MapType::BF16;
  map->sizes.push_back(expr(64));
  map->sizes.push_back(numRows());
  map->strides.push_back(expr(128));
  map->box = {64, 1};
  map->l2_promotion = 2;
  auto mapArg = arg(bundle::ArgKind::Map);
  mapArg->map = std::move(map);

  bundle::KernelLaunchT launch;
  launch.kernel = 0;
  launch.grid.push_back(numRows());
  launch.args.push_back(std::move(mapArg));
  launch.args.push_back(pointerArg(bundle::Space::Output, 0));
  launch.args.push_back(integerArg(bundle::ArgKind::Int32, numRows()));
  launch.args.push_back(integerArg(bundle::ArgKind::Int32, expr({param(0)})));
  launch.args.push_back(arg(bundle::ArgKind::LaunchTag));
  launch.args.push_back(square ? pointerArg(bundle::Space::Workspace, 0)
                               : integerArg(bundle::ArgKind::Int64, expr(0)));
  auto step = std::make_unique<bundle::StepT>();
  step->body.Set(std::move(launch));
  return step;
}

static std::unique_ptr<bundle::StepT> sumsStep() {
  bundle::KernelLaunchT launch;
  launch.kernel = 1;
  launch.grid.push_back(expr(1));
  launch.dependent = true;
  launch.args.push_back(pointerArg(bundle::Space::Input, 0));
  launch.args.push_back(pointerArg(bundle::Space::Output, 1));
  launch.args.push_back(integerArg(bundle::ArgKind::Int64, numRows()));
  auto step = std::make_unique<bundle::StepT>();
  step->body.Set(std::move(launch));
  return step;
}

/// 8 bytes a row.
static std::unique_ptr<bundle::ExprT> tagBytes() {
  return expr({dim(0), dim(1), op(ExprOp::Mul), constant(8), op(ExprOp::Mul)});
}

static std::unique_ptr<bundle::StepT> zeroStep() {
  bundle::ZeroFillT fill;
  fill.buffer = buffer(bundle::Space::Workspace, 0);
  fill.bytes = tagBytes();
  auto step = std::make_unique<bundle::StepT>();
  step->body.Set(std::move(fill));
  return step;
}

static std::unique_ptr<bundle::VariantT> makeVariant(bool square) {
  auto variant = std::make_unique<bundle::VariantT>();
  variant->name = square ? "square=true" : "square=false";
  variant->guard =
      square ? expr({param(0)}) : expr({param(0), op(ExprOp::Not)});
  variant->workspace_bytes = square ? tagBytes() : expr(0);
  if (square)
    variant->steps.push_back(zeroStep());
  variant->steps.push_back(rowsStep(square));
  variant->steps.push_back(sumsStep());
  // x read once, y written once, s.
  variant->bytes = expr({dim(0), dim(1), op(ExprOp::Mul), constant(256),
                         op(ExprOp::Mul), constant(128), op(ExprOp::Add)});
  auto work = std::make_unique<bundle::WorkT>();
  work->rate = bundle::Rate::F32;
  work->operations =
      expr({dim(0), dim(1), op(ExprOp::Mul), constant(128), op(ExprOp::Mul)});
  variant->work.push_back(std::move(work));
  return variant;
}

static std::unique_ptr<bundle::KernelT> makeKernel(const char *name,
                                                   uint32_t threads) {
  auto kernel = std::make_unique<bundle::KernelT>();
  kernel->name = name;
  kernel->threads = threads;
  kernel->roles = {"0 all"};
  return kernel;
}

bundle::BundleT backfuse::test::makeRowsBundle() {
  bundle::BundleT result;
  result.graph = makeGraph();
  auto target = std::make_unique<bundle::TargetT>();
  target->name = "sm_90a";
  target->modules.push_back(std::make_unique<bundle::ModuleT>());
  target->modules[0]->ptx = ptx;
  target->kernels.push_back(makeKernel("rows", 32));
  target->kernels.push_back(makeKernel("sums", 64));
  target->variants.push_back(makeVariant(true));
  target->variants.push_back(makeVariant(false));
  result.targets.push_back(std::move(target));
  auto refusal = std::make_unique<bundle::RefusalT>();
  refusal->condition = expr(
      {constant(1 << 20), dim(0), dim(1), op(ExprOp::Mul), op(ExprOp::Lt)});
  refusal->reason = "more than 2^20 rows";
  result.refusals.push_back(std::move(refusal));
  result.provenance = std::make_unique<bundle::ProvenanceT>();
  result.provenance->compiler = "by hand";
  result.provenance->minimum_driver = 12000;
  return result;
}

bundle::BundleT backfuse::test::makeLogsBundle() {
  bundle::BundleT result;
  result.graph = std::make_unique<bundle::GraphT>();
  bundle::GraphT &graph = *result.graph;
  graph.name = "logs";
  graph.dims = {"N"};
  graph.values.push_back(value("x", DType::F32, {-1, 4}));
  graph.values.push_back(value("sum", DType::F32, {-1}));
  graph.values.push_back(value("y", DType::F32, {-1}));
  graph.inputs.push_back(argument("x", 0));
  graph.outputs.push_back(argument("y", 2));
  graph.ops.push_back(graphOp(OpKind::Sum, {0}, 1));
  graph.ops.back()->dims = {1};
  graph.ops.push_back(graphOp(OpKind::Log, {1}, 2));
  result.provenance = std::make_unique<bundle::ProvenanceT>();
  result.provenance->compiler = "by hand";
  return result;
}

std::vector<uint8_t> backfuse::test::packFlatBuffer(const uint8_t *data,
                                                    size_t numBytes) {
  std::vector<uint8_t> file(32 + numBytes);
  uint32_t version = 1, zero = 0;
  uint64_t size = numBytes, checksum = XXH64(data, numBytes, 0);
  std::memcpy(file.data(), "BACKFUSE", 8);
  std::memcpy(file.data() + 8, &version, 4);
  std::memcpy(file.data() + 12, &zero, 4);
  std::memcpy(file.data() + 16, &size, 8);
  std::memcpy(file.data() + 24, &checksum, 8);
  std::memcpy(file.data() + 32, data, numBytes);
  return file;
}

std::vector<uint8_t> backfuse::test::pack(const bundle::BundleT &source) {
  flatbuffers::FlatBufferBuilder builder;
  bundle::FinishBundleBuffer(builder, bundle::Bundle::Pack(builder, &source));
  return packFlatBuffer(builder.GetBufferPointer(), builder.GetSize());
}
