//===- Plan.cpp - A launch plan with its expressions evaluated ------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Plan.h"
#include "BundleVerifier.h"
#include "Expression.h"

#include <algorithm>
#include <climits>

using namespace backfuse;
using namespace backfuse::runtime;

/// What cuTensorMapEncodeTiled takes at most.
static constexpr uint64_t maxMapSize = uint64_t(1) << 32;
static constexpr uint64_t maxMapStride = uint64_t(1) << 40;
static constexpr unsigned mapAlignment = 16;

template <typename T>
static unsigned sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

void PlanData::reserve(const BundleData &bundle, uint32_t target) {
  size_t maxSteps = 0, maxArgs = 0;
  const auto *variants = bundle.bundle().targets()->Get(target)->variants();
  for (unsigned v = 0; v < sizeOf(variants); ++v) {
    const auto *variantSteps = variants->Get(v)->steps();
    size_t numArgs = 0;
    for (unsigned s = 0; s < sizeOf(variantSteps); ++s)
      if (const auto *launch = variantSteps->Get(s)->body_as_KernelLaunch())
        numArgs += sizeOf(launch->args());
    maxSteps = std::max<size_t>(maxSteps, sizeOf(variantSteps));
    maxArgs = std::max(maxArgs, numArgs);
  }
  steps.reserve(maxSteps);
  args.reserve(maxArgs);
  dims.reserve(sizeOf(bundle.graph().dims()));
  params.reserve(sizeOf(bundle.graph().params()));
}

std::string backfuse::runtime::describeValues(const BundleData &bundle,
                                              const LaunchValues &values) {
  std::string text;
  for (size_t i = 0; i < values.numDims; ++i)
    text += formatText("%s%s=%lld", text.empty() ? "" : ", ",
                       bundle.graph().dims()->Get(unsigned(i))->c_str(),
                       static_cast<long long>(values.dims[i]));
  for (size_t i = 0; i < values.numParams; ++i)
    text +=
        formatText("%s%s=%g", text.empty() ? "" : ", ",
                   bundle.graph().params()->Get(unsigned(i))->name()->c_str(),
                   values.params[i]);
  return text.empty() ? "no dimensions" : text;
}

bool backfuse::runtime::tensorBytes(const bundle::TensorType &type,
                                    const int64_t *dims, uint64_t &bytes) {
  int64_t product = elementBytes(type.dtype());
  bool empty = false;
  for (unsigned i = 0; i < sizeOf(type.extents()); ++i) {
    const bundle::Extent &extent = *type.extents()->Get(i);
    int64_t value = extent.dim() >= 0 ? dims[extent.dim()] : extent.fixed();
    // A zero must not hide an overflow of the extents after it.
    empty |= value == 0;
    if (value > 0 && __builtin_mul_overflow(product, value, &product))
      return false;
  }
  bytes = empty ? 0 : static_cast<uint64_t>(product);
  return true;
}

namespace {
/// Evaluates one variant. Like the bundle's verifier: fail() gives the message,
/// in() puts the place in front.
class Evaluator {
public:
  Evaluator(const BundleData &bundle, const ExpressionContext &context)
      : graph(bundle.graph()), context(context) {}

  bool evaluate(const bundle::Expr &expr, const char *what, int64_t &result);
  /// The same, of a value that must not be negative.
  bool evaluateSize(const bundle::Expr &expr, const char *what,
                    uint64_t &result);
  bool evaluateSteps(const bundle::Target &target,
                     const bundle::Variant &variant, PlanData &plan);
  bool fail(std::string message) {
    text = std::move(message);
    return false;
  }
  bool in(const std::string &place) {
    text = place + ": " + text;
    return false;
  }
  std::string text;

private:
  bool evaluateLaunch(const bundle::KernelLaunch &launch,
                      const bundle::Target &target, PlanData &plan,
                      bf_step &step);
  bool evaluateGrid(const bundle::KernelLaunch &launch, bf_step &step);
  bool evaluateArg(const bundle::KernelArg &arg, const PlanData &plan,
                   bf_step_arg &result);
  bool evaluateMap(const bundle::TensorMap &map, bf_tensor_map &result);
  bool evaluateBuffer(const bundle::Buffer &buffer, bf_buffer &result,
                      uint64_t &room);

  const bundle::Graph &graph;
  const ExpressionContext &context;
  uint64_t workspaceBytes = 0;
};
} // namespace

bool Evaluator::evaluate(const bundle::Expr &expr, const char *what,
                         int64_t &result) {
  const char *why = nullptr;
  return runtime::evaluate(expr, context, result, why) ||
         fail(formatText("%s: %s", what, why));
}

bool Evaluator::evaluateSize(const bundle::Expr &expr, const char *what,
                             uint64_t &result) {
  int64_t value = 0;
  if (!evaluate(expr, what, value))
    return false;
  if (value < 0)
    return fail(formatText("%s is negative: %lld", what,
                           static_cast<long long>(value)));
  result = static_cast<uint64_t>(value);
  return true;
}

/// Evaluates a buffer; `room` are the bytes from its offset to its end.
bool Evaluator::evaluateBuffer(const bundle::Buffer &buffer, bf_buffer &result,
                               uint64_t &room) {
  uint64_t bytes = workspaceBytes, offset = 0;
  if (buffer.space() != bundle::Space::Workspace) {
    const auto *list = buffer.space() == bundle::Space::Input ? graph.inputs()
                                                              : graph.outputs();
    uint32_t value = list->Get(buffer.index())->value();
    if (!tensorBytes(*graph.values()->Get(value)->type(), context.dims, bytes))
      return fail("a tensor has more than 2^63 bytes");
  }
  if (buffer.offset() && !evaluateSize(*buffer.offset(), "offset", offset))
    return false;
  if (offset > bytes)
    return fail(formatText("offset %llu is outside a buffer of %llu bytes",
                           static_cast<unsigned long long>(offset),
                           static_cast<unsigned long long>(bytes)));
  result.space = static_cast<bf_space>(buffer.space());
  result.index = buffer.index();
  result.offset = offset;
  room = bytes - offset;
  return true;
}

bool Evaluator::evaluateMap(const bundle::TensorMap &map,
                            bf_tensor_map &result) {
  uint64_t room = 0;
  if (!evaluateBuffer(*map.buffer(), result.buffer, room))
    return false;
  if (result.buffer.offset % mapAlignment != 0)
    return fail("map: its offset is not a multiple of 16");
  result.type = static_cast<uint8_t>(map.type());
  result.swizzle = static_cast<uint8_t>(map.swizzle());
  result.l2_promotion = map.l2_promotion();
  result.oob_nan = map.oob_nan();
  result.rank = map.sizes()->size();
  // The last byte that the map reaches, to be found inside the buffer.
  uint64_t reach = elementBytes(map.type());
  for (unsigned i = 0; i < result.rank; ++i) {
    if (!evaluateSize(*map.sizes()->Get(i), "map: size", result.sizes[i]))
      return false;
    if (result.sizes[i] < 1 || result.sizes[i] > maxMapSize)
      return fail(formatText("map: size %u is %llu, expected 1 to 2^32", i,
                             static_cast<unsigned long long>(result.sizes[i])));
    uint64_t stride = elementBytes(map.type());
    if (i > 0) {
      if (!evaluateSize(*map.strides()->Get(i - 1), "map: stride", stride))
        return false;
      if (stride % mapAlignment != 0 || stride >= maxMapStride)
        return fail(formatText("map: stride %u is %llu, expected a multiple of "
                               "16 below 2^40",
                               i, static_cast<unsigned long long>(stride)));
      result.strides[i - 1] = stride;
    }
    uint64_t extent = 0;
    if (__builtin_mul_overflow(result.sizes[i] - 1, stride, &extent) ||
        __builtin_add_overflow(reach, extent, &reach))
      return fail("map: 64-bit overflow");
    result.box[i] = map.box()->Get(i);
  }
  if (reach > room)
    return fail(
        formatText("map: reaches %llu bytes into a buffer that has %llu there",
                   static_cast<unsigned long long>(reach),
                   static_cast<unsigned long long>(room)));
  return true;
}

bool Evaluator::evaluateArg(const bundle::KernelArg &arg, const PlanData &plan,
                            bf_step_arg &result) {
  uint64_t room = 0;
  result = {};
  result.kind = static_cast<bf_step_arg_kind>(arg.kind());
  switch (arg.kind()) {
  case bundle::ArgKind::Map:
    return evaluateMap(*arg.map(), result.map);
  case bundle::ArgKind::Pointer:
    return evaluateBuffer(*arg.buffer(), result.buffer, room);
  case bundle::ArgKind::Int32:
    if (!evaluate(*arg.value(), "value", result.integer))
      return false;
    return (result.integer >= INT32_MIN && result.integer <= INT32_MAX) ||
           fail(formatText("%lld does not fit 32 bits",
                           static_cast<long long>(result.integer)));
  case bundle::ArgKind::Int64:
    return evaluate(*arg.value(), "value", result.integer);
  case bundle::ArgKind::Float32:
    result.real = static_cast<float>(plan.params[arg.param()]);
    return true;
  case bundle::ArgKind::LaunchTag:
    return true;
  }
  return false;
}

bool Evaluator::evaluateGrid(const bundle::KernelLaunch &launch,
                             bf_step &step) {
  static const uint64_t limits[3] = {INT32_MAX, 65535, 65535};
  bool empty = false;
  for (unsigned i = 0; i < 3; ++i) {
    uint64_t extent = 1;
    if (i < launch.grid()->size() &&
        !evaluateSize(*launch.grid()->Get(i), "grid", extent))
      return false;
    if (extent > limits[i])
      return fail(formatText("grid extent %u is %llu, expected at most %llu", i,
                             static_cast<unsigned long long>(extent),
                             static_cast<unsigned long long>(limits[i])));
    if (extent % step.cluster[i] != 0)
      return fail(formatText("grid extent %u is %llu, not a multiple of the "
                             "cluster's %u",
                             i, static_cast<unsigned long long>(extent),
                             step.cluster[i]));
    step.grid[i] = static_cast<uint32_t>(extent);
    empty |= extent == 0;
  }
  if (empty)
    step.grid[0] = step.grid[1] = step.grid[2] = 0;
  return true;
}

bool Evaluator::evaluateLaunch(const bundle::KernelLaunch &launch,
                               const bundle::Target &target, PlanData &plan,
                               bf_step &step) {
  const bundle::Kernel &kernel = *target.kernels()->Get(launch.kernel());
  step.kind = BF_STEP_KERNEL;
  step.kernel = kernel.name()->c_str();
  step.kernel_index = launch.kernel();
  step.module_index = kernel.module_index();
  step.threads = kernel.threads();
  step.smem_bytes = kernel.smem_bytes();
  step.cooperative = launch.cooperative();
  step.dependent = launch.dependent();
  for (unsigned i = 0; i < 3; ++i)
    step.cluster[i] =
        i < sizeOf(kernel.cluster()) ? kernel.cluster()->Get(i) : 1;
  if (!evaluateGrid(launch, step))
    return false;
  // Nothing is launched, so its maps may be of nothing.
  if (step.grid[0] == 0)
    return true;
  step.num_args = sizeOf(launch.args());
  step.args = plan.args.data() + plan.args.size();
  for (unsigned i = 0; i < step.num_args; ++i) {
    plan.args.emplace_back();
    if (!evaluateArg(*launch.args()->Get(i), plan, plan.args.back()))
      return in(formatText("argument %u", i));
  }
  return true;
}

bool Evaluator::evaluateSteps(const bundle::Target &target,
                              const bundle::Variant &variant, PlanData &plan) {
  workspaceBytes = plan.info.workspace_bytes;
  plan.steps.clear();
  plan.args.clear();
  for (unsigned i = 0; i < sizeOf(variant.steps()); ++i) {
    const bundle::Step &body = *variant.steps()->Get(i);
    plan.steps.emplace_back();
    bf_step &step = plan.steps.back();
    step = {};
    uint64_t room = 0;
    if (const auto *launch = body.body_as_KernelLaunch()) {
      if (!evaluateLaunch(*launch, target, plan, step))
        return in(formatText("step %u: kernel %s", i, step.kernel));
      continue;
    }
    const bundle::ZeroFill &fill = *body.body_as_ZeroFill();
    step.kind = BF_STEP_ZERO_FILL;
    if (!evaluateBuffer(*fill.buffer(), step.buffer, room) ||
        !evaluateSize(*fill.bytes(), "bytes", step.bytes))
      return in(formatText("step %u", i));
    if (step.bytes > room)
      return fail(formatText("step %u: fills %llu bytes of a buffer that has "
                             "%llu there",
                             i, static_cast<unsigned long long>(step.bytes),
                             static_cast<unsigned long long>(room)));
  }
  return true;
}

/// Checks the number and ranges of a launch's dimensions and parameters.
static Error checkValues(const BundleData &bundle, const LaunchValues &values) {
  const bundle::Graph &graph = bundle.graph();
  if (values.numDims != sizeOf(graph.dims()))
    return makeError(BF_ERROR_ARGUMENT,
                     "%zu dimensions given, the graph has %u", values.numDims,
                     sizeOf(graph.dims()));
  if (values.numParams != sizeOf(graph.params()))
    return makeError(BF_ERROR_ARGUMENT,
                     "%zu parameters given, the graph has %u", values.numParams,
                     sizeOf(graph.params()));
  if ((values.numDims && !values.dims) || (values.numParams && !values.params))
    return makeError(BF_ERROR_ARGUMENT, "dimensions or parameters are null");
  for (size_t i = 0; i < values.numDims; ++i)
    if (values.dims[i] < 0)
      return makeError(BF_ERROR_ARGUMENT, "dimension %s is negative: %lld",
                       graph.dims()->Get(unsigned(i))->c_str(),
                       static_cast<long long>(values.dims[i]));
  for (size_t i = 0; i < values.numParams; ++i) {
    const bundle::Argument &param = *graph.params()->Get(unsigned(i));
    bool isBool = graph.values()->Get(param.value())->type()->dtype() ==
                  bundle::DType::I1;
    if (isBool && values.params[i] != 0 && values.params[i] != 1)
      return makeError(BF_ERROR_ARGUMENT,
                       "parameter %s is %g, expected 0 or 1 (I1)",
                       param.name()->c_str(), values.params[i]);
  }
  for (const auto *list : {graph.inputs(), graph.outputs()})
    for (unsigned i = 0; i < sizeOf(list); ++i) {
      uint64_t bytes = 0;
      const bundle::Argument &argument = *list->Get(i);
      if (!tensorBytes(*graph.values()->Get(argument.value())->type(),
                       values.dims, bytes))
        return makeError(BF_ERROR_ARGUMENT, "%s has more than 2^63 bytes",
                         argument.name()->c_str());
    }
  return {};
}

/// Evaluates the refusals; an error if one applies.
static Error checkRefusals(const BundleData &bundle, Evaluator &evaluator) {
  const auto *refusals = bundle.bundle().refusals();
  for (unsigned i = 0; i < sizeOf(refusals); ++i) {
    const bundle::Refusal &refusal = *refusals->Get(i);
    int64_t applies = 0;
    if (!evaluator.evaluate(*refusal.condition(), "refusal", applies))
      return makeError(BF_ERROR_BUNDLE, "%s", evaluator.text.c_str());
    if (applies)
      return makeError(BF_ERROR_REFUSED, "the compiler refused %s: %s",
                       bundle.graph().name()->c_str(),
                       refusal.reason()->c_str());
  }
  return {};
}

static ExpressionContext contextOf(const LaunchValues &values,
                                   int64_t smCount) {
  return {values.dims, values.params, smCount};
}

Error backfuse::runtime::chooseVariant(const BundleData &bundle,
                                       uint32_t target, int64_t smCount,
                                       const LaunchValues &values,
                                       bf_plan_info &info) {
  if (target >= sizeOf(bundle.bundle().targets()))
    return makeError(BF_ERROR_ARGUMENT, "target %u of %u", target,
                     sizeOf(bundle.bundle().targets()));
  if (Error error = checkValues(bundle, values))
    return error;
  ExpressionContext context = contextOf(values, smCount);
  Evaluator evaluator(bundle, context);
  if (Error error = checkRefusals(bundle, evaluator))
    return error;
  const bundle::Target &chosen = *bundle.bundle().targets()->Get(target);
  for (unsigned i = 0; i < sizeOf(chosen.variants()); ++i) {
    const bundle::Variant &variant = *chosen.variants()->Get(i);
    int64_t holds = 0;
    if (!evaluator.evaluate(*variant.guard(), "guard", holds) ||
        (holds && !evaluator.evaluateSize(*variant.workspace_bytes(),
                                          "workspace", info.workspace_bytes)))
      return makeError(BF_ERROR_BUNDLE, "variant %u, %s: %s", i,
                       describeValues(bundle, values).c_str(),
                       evaluator.text.c_str());
    if (!holds)
      continue;
    info.target = target;
    info.variant = i;
    info.num_steps = sizeOf(variant.steps());
    info.variant_name = variant.name()->c_str();
    return {};
  }
  return makeError(BF_ERROR_REFUSED, "no variant of target %s may run for %s",
                   chosen.name()->c_str(),
                   describeValues(bundle, values).c_str());
}

Error backfuse::runtime::evaluatePlan(const BundleData &bundle, uint32_t target,
                                      int64_t smCount,
                                      const LaunchValues &values,
                                      PlanData &plan) {
  plan.info = {};
  if (Error error = chooseVariant(bundle, target, smCount, values, plan.info))
    return error;
  plan.dims.assign(values.dims, values.dims + values.numDims);
  plan.params.assign(values.params, values.params + values.numParams);
  const bundle::Target &chosen = *bundle.bundle().targets()->Get(target);
  const bundle::Variant &variant = *chosen.variants()->Get(plan.info.variant);
  ExpressionContext context = contextOf(values, smCount);
  Evaluator evaluator(bundle, context);
  bool good =
      evaluator.evaluateSteps(chosen, variant, plan) &&
      evaluator.evaluateSize(*variant.bytes(), "bytes", plan.info.bytes);
  for (unsigned i = 0; good && i < sizeOf(variant.work()); ++i) {
    const bundle::Work &work = *variant.work()->Get(i);
    uint64_t operations = 0;
    good = evaluator.evaluateSize(*work.operations(), "work", operations);
    plan.info.operations[static_cast<unsigned>(work.rate())] += operations;
  }
  if (!good)
    return makeError(
        BF_ERROR_BUNDLE, "target %s, variant %u (%s), %s: %s",
        chosen.name()->c_str(), plan.info.variant, plan.info.variant_name,
        describeValues(bundle, values).c_str(), evaluator.text.c_str());
  return {};
}
