//===- CApi.cpp - The C ABI -----------------------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks pointers, hands over, and lets no exception out.
//===----------------------------------------------------------------------===//
#include "Executable.h"

#include <new>

using namespace backfuse;
using namespace backfuse::runtime;

struct bf_bundle {
  std::shared_ptr<const BundleData> data;
};
struct bf_executable {
  std::shared_ptr<Executable> data;
};
struct bf_plan {
  std::shared_ptr<const BundleData> bundle;
  std::shared_ptr<const Executable> executable; // null: cannot be launched
  PlanData data;
};

static std::string &lastError() {
  static thread_local std::string text;
  return text;
}

static bf_status report(Error error) {
  if (error)
    lastError() = std::move(error.text);
  return error.code;
}

/// Runs `function`, which returns an Error; exceptions become errors.
template <typename Function> static bf_status guarded(Function function) {
  try {
    return report(function());
  } catch (const std::bad_alloc &) {
    try {
      lastError() = "host memory is exhausted";
    } catch (...) {
    }
    return BF_ERROR_MEMORY;
  } catch (const std::exception &exception) {
    try {
      lastError() = exception.what();
    } catch (...) {
    }
    return BF_ERROR_INTERNAL;
  } catch (...) {
    return BF_ERROR_INTERNAL;
  }
}

template <typename T>
static unsigned sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

static const char *textOf(const flatbuffers::String *string) {
  return string ? string->c_str() : "";
}

static Error nullArgument(const char *what) {
  return makeError(BF_ERROR_ARGUMENT, "%s is null", what);
}

static Error outOfRange(const char *what, uint32_t index, unsigned count) {
  return makeError(BF_ERROR_ARGUMENT, "%s %u of %u", what, index, count);
}

const char *bf_last_error(void) { return lastError().c_str(); }

const char *bf_status_name(bf_status status) {
  switch (status) {
  case BF_OK:
    return "ok";
  case BF_ERROR_ARGUMENT:
    return "invalid argument";
  case BF_ERROR_IO:
    return "input/output error";
  case BF_ERROR_BUNDLE:
    return "damaged bundle";
  case BF_ERROR_REFUSED:
    return "refused by the compiler";
  case BF_ERROR_NO_DRIVER:
    return "no driver";
  case BF_ERROR_NO_TARGET:
    return "no code for this device";
  case BF_ERROR_CUDA:
    return "CUDA error";
  case BF_ERROR_MEMORY:
    return "out of host memory";
  case BF_ERROR_INTERNAL:
    return "internal error";
  }
  return "unknown status";
}

const char *bf_version(void) { return BACKFUSE_VERSION; }

//===----------------------------------------------------------------------===//
// Bundles
//===----------------------------------------------------------------------===//

bf_status bf_bundle_load_file(const char *path, bf_bundle **bundle) {
  return guarded([&]() -> Error {
    if (!path || !bundle)
      return nullArgument(path ? "bundle" : "path");
    std::unique_ptr<bf_bundle> made(new bf_bundle);
    if (Error error = BundleData::fromFile(path, made->data))
      return error;
    *bundle = made.release();
    return {};
  });
}

bf_status bf_bundle_load_memory(const void *data, size_t bytes,
                                bf_bundle **bundle) {
  return guarded([&]() -> Error {
    if (!bundle)
      return nullArgument("bundle");
    std::unique_ptr<bf_bundle> made(new bf_bundle);
    if (Error error = BundleData::fromMemory(data, bytes, made->data))
      return error;
    *bundle = made.release();
    return {};
  });
}

void bf_bundle_destroy(bf_bundle *bundle) { delete bundle; }

bf_status bf_bundle_get_info(const bf_bundle *bundle, bf_bundle_info *info) {
  return guarded([&]() -> Error {
    if (!bundle || !info)
      return nullArgument(bundle ? "info" : "bundle");
    const bundle::Graph &graph = bundle->data->graph();
    const bundle::Provenance *provenance = bundle->data->bundle().provenance();
    *info = {};
    info->graph = graph.name()->c_str();
    info->num_dims = sizeOf(graph.dims());
    info->num_inputs = sizeOf(graph.inputs());
    info->num_outputs = sizeOf(graph.outputs());
    info->num_params = sizeOf(graph.params());
    info->num_targets = sizeOf(bundle->data->bundle().targets());
    info->compiler = textOf(provenance ? provenance->compiler() : nullptr);
    info->llvm = textOf(provenance ? provenance->llvm() : nullptr);
    info->ptxas = textOf(provenance ? provenance->ptxas() : nullptr);
    info->minimum_driver = provenance ? provenance->minimum_driver() : 0;
    return {};
  });
}

const char *bf_bundle_dim_name(const bf_bundle *bundle, uint32_t index) {
  if (!bundle || index >= sizeOf(bundle->data->graph().dims()))
    return nullptr;
  return bundle->data->graph().dims()->Get(index)->c_str();
}

bf_status bf_bundle_get_argument(const bf_bundle *bundle, bf_role role,
                                 uint32_t index, bf_argument *argument) {
  return guarded([&]() -> Error {
    if (!bundle || !argument)
      return nullArgument(bundle ? "argument" : "bundle");
    const bundle::Graph &graph = bundle->data->graph();
    const auto *list = role == BF_INPUT    ? graph.inputs()
                       : role == BF_OUTPUT ? graph.outputs()
                                           : graph.params();
    const char *what = role == BF_INPUT    ? "input"
                       : role == BF_OUTPUT ? "output"
                                           : "parameter";
    if (index >= sizeOf(list))
      return outOfRange(what, index, sizeOf(list));
    const bundle::Argument &source = *list->Get(index);
    const bundle::TensorType &type =
        *graph.values()->Get(source.value())->type();
    *argument = {};
    argument->name = source.name()->c_str();
    argument->dtype = static_cast<bf_dtype>(type.dtype());
    argument->rank = static_cast<int32_t>(sizeOf(type.extents()));
    for (unsigned i = 0; i < sizeOf(type.extents()); ++i) {
      const bundle::Extent &extent = *type.extents()->Get(i);
      argument->extents[i] = {extent.fixed(),
                              extent.dim() < 0 ? -1 : extent.dim()};
    }
    return {};
  });
}

/// The target of a bundle, or null with `error` set.
static const bundle::Target *findTarget(const bf_bundle *bundle, uint32_t index,
                                        Error &error) {
  if (!bundle) {
    error = nullArgument("bundle");
    return nullptr;
  }
  const auto *targets = bundle->data->bundle().targets();
  if (index < sizeOf(targets))
    return targets->Get(index);
  error = outOfRange("target", index, sizeOf(targets));
  return nullptr;
}

static const bundle::Variant *findVariant(const bf_bundle *bundle,
                                          uint32_t target, uint32_t index,
                                          Error &error) {
  const bundle::Target *found = findTarget(bundle, target, error);
  if (!found)
    return nullptr;
  if (index < sizeOf(found->variants()))
    return found->variants()->Get(index);
  error = outOfRange("variant", index, sizeOf(found->variants()));
  return nullptr;
}

bf_status bf_bundle_get_target(const bf_bundle *bundle, uint32_t target,
                               bf_target_info *info) {
  return guarded([&]() -> Error {
    Error error;
    const bundle::Target *found = findTarget(bundle, target, error);
    if (!found || !info)
      return found ? nullArgument("info") : error;
    *info = {};
    info->name = found->name()->c_str();
    info->num_variants = sizeOf(found->variants());
    info->num_kernels = sizeOf(found->kernels());
    info->num_modules = sizeOf(found->modules());
    info->has_cubins = info->has_ptx = info->num_modules != 0;
    for (unsigned i = 0; i < info->num_modules; ++i) {
      const bundle::Module &module = *found->modules()->Get(i);
      info->has_cubins &= sizeOf(module.cubin()) != 0;
      info->has_ptx &= module.ptx() && module.ptx()->size() != 0;
    }
    return {};
  });
}

bf_status bf_bundle_get_variant(const bf_bundle *bundle, uint32_t target,
                                uint32_t variant, bf_variant_info *info) {
  return guarded([&]() -> Error {
    Error error;
    const bundle::Variant *found = findVariant(bundle, target, variant, error);
    if (!found || !info)
      return found ? nullArgument("info") : error;
    *info = {found->name()->c_str(), sizeOf(found->steps()),
             sizeOf(found->products())};
    return {};
  });
}

bf_status bf_bundle_get_product(const bf_bundle *bundle, uint32_t target,
                                uint32_t variant, uint32_t product,
                                bf_product_info *info) {
  return guarded([&]() -> Error {
    Error error;
    const bundle::Variant *found = findVariant(bundle, target, variant, error);
    if (!found || !info)
      return found ? nullArgument("info") : error;
    if (product >= sizeOf(found->products()))
      return outOfRange("product", product, sizeOf(found->products()));
    const bundle::Product &source = *found->products()->Get(product);
    const bundle::Op &op = *bundle->data->graph().ops()->Get(source.op());
    *info = {source.route()->c_str(), textOf(op.location()), source.op()};
    return {};
  });
}

const void *bf_bundle_data(const bf_bundle *bundle, size_t *bytes) {
  if (bytes)
    *bytes = bundle ? bundle->data->flatBufferBytes() : 0;
  return bundle ? bundle->data->flatBuffer() : nullptr;
}

//===----------------------------------------------------------------------===//
// Executables
//===----------------------------------------------------------------------===//

bf_status bf_executable_prepare(const bf_bundle *bundle, int ordinal,
                                bf_executable **executable) {
  return guarded([&]() -> Error {
    if (!bundle || !executable)
      return nullArgument(bundle ? "executable" : "bundle");
    std::unique_ptr<bf_executable> made(new bf_executable);
    if (Error error = Executable::prepare(bundle->data, ordinal, made->data))
      return error;
    *executable = made.release();
    return {};
  });
}

void bf_executable_destroy(bf_executable *executable) { delete executable; }

uint32_t bf_executable_target(const bf_executable *executable) {
  return executable ? executable->data->target() : 0;
}

bf_status bf_executable_workspace_size(const bf_executable *executable,
                                       const int64_t *dims, size_t num_dims,
                                       const double *params, size_t num_params,
                                       size_t *bytes) {
  return guarded([&]() -> Error {
    if (!executable || !bytes)
      return nullArgument(executable ? "bytes" : "executable");
    const Executable &data = *executable->data;
    bf_plan_info info = {};
    if (Error error = chooseVariant(data.bundle(), data.target(),
                                    data.context().smCount(),
                                    {dims, num_dims, params, num_params}, info))
      return error;
    *bytes = info.workspace_bytes;
    return {};
  });
}

bf_status bf_executable_launch(bf_executable *executable, void *stream,
                               const DLTensor *const *inputs, size_t num_inputs,
                               const DLTensor *const *outputs,
                               size_t num_outputs, const double *params,
                               size_t num_params, void *workspace,
                               size_t workspace_bytes) {
  return guarded([&]() -> Error {
    if (!executable)
      return nullArgument("executable");
    return executable->data->launch(
        {inputs, num_inputs, outputs, num_outputs}, params, num_params,
        workspace, workspace_bytes, static_cast<CUstream>(stream));
  });
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

bf_status bf_plan_create(const bf_executable *executable, const int64_t *dims,
                         size_t num_dims, const double *params,
                         size_t num_params, bf_plan **plan) {
  return guarded([&]() -> Error {
    if (!executable || !plan)
      return nullArgument(executable ? "plan" : "executable");
    std::unique_ptr<bf_plan> made(new bf_plan);
    made->executable = executable->data;
    made->data.reserve(executable->data->bundle(), executable->data->target());
    if (Error error = executable->data->makePlan(
            {dims, num_dims, params, num_params}, made->data))
      return error;
    *plan = made.release();
    return {};
  });
}

bf_status bf_plan_create_for_target(const bf_bundle *bundle, uint32_t target,
                                    uint32_t sm_count, const int64_t *dims,
                                    size_t num_dims, const double *params,
                                    size_t num_params, bf_plan **plan) {
  return guarded([&]() -> Error {
    Error error;
    if (!findTarget(bundle, target, error))
      return error;
    if (!plan)
      return nullArgument("plan");
    std::unique_ptr<bf_plan> made(new bf_plan);
    made->bundle = bundle->data;
    made->data.reserve(*bundle->data, target);
    if ((error =
             evaluatePlan(*bundle->data, target, sm_count,
                          {dims, num_dims, params, num_params}, made->data)))
      return error;
    *plan = made.release();
    return {};
  });
}

void bf_plan_destroy(bf_plan *plan) { delete plan; }

bf_status bf_plan_launch(const bf_plan *plan, void *stream,
                         const DLTensor *const *inputs, size_t num_inputs,
                         const DLTensor *const *outputs, size_t num_outputs,
                         void *workspace, size_t workspace_bytes) {
  return guarded([&]() -> Error {
    if (!plan)
      return nullArgument("plan");
    if (!plan->executable)
      return makeError(BF_ERROR_ARGUMENT,
                       "the plan was made without a device: it cannot be "
                       "launched");
    return plan->executable->launch(
        plan->data, {inputs, num_inputs, outputs, num_outputs}, workspace,
        workspace_bytes, static_cast<CUstream>(stream));
  });
}

bf_status bf_plan_get_info(const bf_plan *plan, bf_plan_info *info) {
  return guarded([&]() -> Error {
    if (!plan || !info)
      return nullArgument(plan ? "info" : "plan");
    *info = plan->data.info;
    return {};
  });
}

bf_status bf_plan_get_step(const bf_plan *plan, uint32_t index, bf_step *step) {
  return guarded([&]() -> Error {
    if (!plan || !step)
      return nullArgument(plan ? "step" : "plan");
    if (index >= plan->data.steps.size())
      return outOfRange("step", index, unsigned(plan->data.steps.size()));
    *step = plan->data.steps[index];
    return {};
  });
}
