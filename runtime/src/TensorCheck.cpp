//===- TensorCheck.cpp - Arguments of a launch against a signature --------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs at every launch, so the path without errors allocates nothing.
//===----------------------------------------------------------------------===//
#include "TensorCheck.h"

#include <algorithm>

using namespace backfuse;
using namespace backfuse::runtime;
using bundle::DType;

// Codes that DLPack's header got in later versions than the one required.
static constexpr unsigned dlBool = 6;

template <typename T>
static unsigned sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

static bool matches(DLDataType found, DType expected) {
  if (found.lanes != 1)
    return false;
  switch (expected) {
  case DType::F32:
    return found.code == kDLFloat && found.bits == 32;
  case DType::F16:
    return found.code == kDLFloat && found.bits == 16;
  case DType::BF16:
    return found.code == kDLBfloat && found.bits == 16;
  case DType::I1:
    return (found.code == dlBool || found.code == kDLUInt) && found.bits == 8;
  case DType::I64:
    return found.code == kDLInt && found.bits == 64;
  }
  return false;
}

static std::string describe(DLDataType type) {
  static const char *const names[] = {"int",    "uint",    "float", "handle",
                                      "bfloat", "complex", "bool"};
  std::string text =
      formatText("%s%u", type.code < 7 ? names[type.code] : "type", type.bits);
  return type.lanes == 1 ? text : text + formatText("x%u", type.lanes);
}

static std::string describeShape(const int64_t *shape, int32_t rank) {
  std::string text = "[";
  for (int32_t i = 0; i < rank; ++i)
    text +=
        formatText("%s%lld", i ? ", " : "", static_cast<long long>(shape[i]));
  return text + "]";
}

namespace {
/// Checks the tensors of one launch; remembers which argument gave a dimension
/// its value.
class Checker {
public:
  Checker(const bundle::Graph &graph, int deviceOrdinal, const int64_t *planned,
          int64_t *dims)
      : graph(graph), deviceOrdinal(deviceOrdinal), dims(dims) {
    for (unsigned i = 0; i < sizeOf(graph.dims()); ++i) {
      dims[i] = planned ? planned[i] : -1;
      giver[i] = planned ? "the plan" : nullptr;
    }
  }

  Error check(const char *role,
              const flatbuffers::Vector<flatbuffers::Offset<bundle::Argument>>
                  *expected,
              const DLTensor *const *tensors, size_t count, Region *regions);

private:
  Error checkTensor(const char *role, const bundle::Argument &argument,
                    const DLTensor &tensor, Region &region);
  Error checkShape(const char *where, const bundle::Argument &argument,
                   const bundle::TensorType &type, const DLTensor &tensor);
  static Error checkStrides(const char *where, const DLTensor &tensor);

  const bundle::Graph &graph;
  int deviceOrdinal;
  int64_t *dims;
  const char *giver[BundleLimits::dims];
};
} // namespace

Error Checker::check(
    const char *role,
    const flatbuffers::Vector<flatbuffers::Offset<bundle::Argument>> *expected,
    const DLTensor *const *tensors, size_t count, Region *regions) {
  unsigned wanted = sizeOf(expected);
  if (count < wanted)
    return makeError(BF_ERROR_ARGUMENT,
                     "%zu %ss given, the graph has %u: %s %s is missing", count,
                     role, wanted, role,
                     expected->Get(unsigned(count))->name()->c_str());
  if (count > wanted)
    return makeError(BF_ERROR_ARGUMENT, "%zu %ss given, the graph has only %u",
                     count, role, wanted);
  for (unsigned i = 0; i < wanted; ++i) {
    const bundle::Argument &argument = *expected->Get(i);
    if (!tensors || !tensors[i])
      return makeError(BF_ERROR_ARGUMENT,
                       "%s %s is missing: its tensor is null", role,
                       argument.name()->c_str());
    if (Error error = checkTensor(role, argument, *tensors[i], regions[i]))
      return error;
  }
  return {};
}

Error Checker::checkShape(const char *where, const bundle::Argument &argument,
                          const bundle::TensorType &type,
                          const DLTensor &tensor) {
  unsigned rank = sizeOf(type.extents());
  if (tensor.ndim != static_cast<int>(rank))
    return makeError(BF_ERROR_ARGUMENT, "%s %s: expected rank %u, got %d",
                     where, argument.name()->c_str(), rank, tensor.ndim);
  if (rank && !tensor.shape)
    return makeError(BF_ERROR_ARGUMENT, "%s %s: its shape is null", where,
                     argument.name()->c_str());
  for (unsigned i = 0; i < rank; ++i) {
    const bundle::Extent &extent = *type.extents()->Get(i);
    int64_t found = tensor.shape[i];
    if (found < 0)
      return makeError(BF_ERROR_ARGUMENT, "%s %s: extent %u is negative: %lld",
                       where, argument.name()->c_str(), i,
                       static_cast<long long>(found));
    if (extent.dim() < 0) {
      if (found != extent.fixed())
        return makeError(BF_ERROR_ARGUMENT,
                         "%s %s: expected extent %u to be %lld, got shape %s",
                         where, argument.name()->c_str(), i,
                         static_cast<long long>(extent.fixed()),
                         describeShape(tensor.shape, tensor.ndim).c_str());
      continue;
    }
    int64_t &dim = dims[extent.dim()];
    if (dim < 0) {
      dim = found;
      giver[extent.dim()] = argument.name()->c_str();
    } else if (dim != found) {
      return makeError(
          BF_ERROR_ARGUMENT,
          "%s %s: expected extent %u (%s) to be %lld as in %s, got shape %s",
          where, argument.name()->c_str(), i,
          graph.dims()->Get(unsigned(extent.dim()))->c_str(),
          static_cast<long long>(dim), giver[extent.dim()],
          describeShape(tensor.shape, tensor.ndim).c_str());
    }
  }
  return {};
}

/// Compact row-major; the stride of an extent of 1 does not matter.
Error Checker::checkStrides(const char *where, const DLTensor &tensor) {
  if (!tensor.strides)
    return {};
  int64_t expected = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      return makeError(BF_ERROR_ARGUMENT,
                       "%s: expected compact row-major strides, got %s for "
                       "shape %s; other layouts are not supported yet: make it "
                       "contiguous",
                       where,
                       describeShape(tensor.strides, tensor.ndim).c_str(),
                       describeShape(tensor.shape, tensor.ndim).c_str());
    expected *= tensor.shape[i];
  }
  return {};
}

Error Checker::checkTensor(const char *role, const bundle::Argument &argument,
                           const DLTensor &tensor, Region &region) {
  const bundle::TensorType &type =
      *graph.values()->Get(argument.value())->type();
  const char *name = argument.name()->c_str();
  if (!matches(tensor.dtype, type.dtype()))
    return makeError(BF_ERROR_ARGUMENT, "%s %s: expected type %s, got %s", role,
                     name, bundle::EnumNameDType(type.dtype()),
                     describe(tensor.dtype).c_str());
  if (Error error = checkShape(role, argument, type, tensor))
    return error;
  bool onDevice = tensor.device.device_type == kDLCUDA ||
                  tensor.device.device_type == kDLCUDAManaged;
  if (!onDevice || tensor.device.device_id != deviceOrdinal)
    return makeError(BF_ERROR_ARGUMENT,
                     "%s %s: expected device cuda:%d, got %s%s%d", role, name,
                     deviceOrdinal, onDevice ? "cuda" : "device type ",
                     onDevice ? ":" : "",
                     onDevice ? tensor.device.device_id
                              : static_cast<int>(tensor.device.device_type));
  uint64_t bytes = elementBytes(type.dtype());
  for (int i = 0; i < tensor.ndim; ++i)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(tensor.shape[i]),
                               &bytes) ||
        bytes > INT64_MAX)
      return makeError(BF_ERROR_ARGUMENT, "%s %s: shape %s is too large", role,
                       name, describeShape(tensor.shape, tensor.ndim).c_str());
  region = {};
  // A tensor without elements is never touched.
  if (bytes == 0)
    return {};
  if (Error error = checkStrides(role, tensor)) {
    error.text.insert(error.text.find(':'), std::string(" ") + name);
    return error;
  }
  if (!tensor.data)
    return makeError(BF_ERROR_ARGUMENT, "%s %s: its data is null", role, name);
  region.bytes = bytes;
  if (__builtin_add_overflow(reinterpret_cast<uintptr_t>(tensor.data),
                             tensor.byte_offset, &region.base) ||
      region.base + bytes < region.base)
    return makeError(BF_ERROR_ARGUMENT,
                     "%s %s: byte_offset %llu leaves the address space", role,
                     name, static_cast<unsigned long long>(tensor.byte_offset));
  if (region.base % tensorAlignment != 0)
    return makeError(BF_ERROR_ARGUMENT,
                     "%s %s: expected its first element to be 16-byte aligned, "
                     "got address 0x%llx (byte_offset %llu)",
                     role, name, static_cast<unsigned long long>(region.base),
                     static_cast<unsigned long long>(tensor.byte_offset));
  uint64_t rowBytes =
      tensor.ndim ? static_cast<uint64_t>(tensor.shape[tensor.ndim - 1]) *
                        elementBytes(type.dtype())
                  : bytes;
  if (tensor.ndim >= 2 && rowBytes != bytes && rowBytes % tensorAlignment != 0)
    return makeError(BF_ERROR_ARGUMENT,
                     "%s %s: expected rows of a multiple of 16 bytes, got %llu",
                     role, name, static_cast<unsigned long long>(rowBytes));
  return {};
}

Error backfuse::runtime::checkTensors(const BundleData &bundle,
                                      const LaunchTensors &tensors,
                                      int deviceOrdinal,
                                      const int64_t *plannedDims,
                                      LaunchRegions &regions) {
  const bundle::Graph &graph = bundle.graph();
  Checker checker(graph, deviceOrdinal, plannedDims, regions.dims);
  if (Error error = checker.check("input", graph.inputs(), tensors.inputs,
                                  tensors.numInputs, regions.inputs))
    return error;
  return checker.check("output", graph.outputs(), tensors.outputs,
                       tensors.numOutputs, regions.outputs);
}

static bool overlap(const Region &a, const Region &b) {
  return a.bytes && b.bytes && a.base < b.base + b.bytes &&
         b.base < a.base + a.bytes;
}

Error backfuse::runtime::checkWorkspaceAndOverlap(const BundleData &bundle,
                                                  void *workspace,
                                                  size_t workspaceBytes,
                                                  uint64_t neededBytes,
                                                  LaunchRegions &regions) {
  const bundle::Graph &graph = bundle.graph();
  regions.workspace = {reinterpret_cast<uintptr_t>(workspace), neededBytes};
  if (neededBytes > workspaceBytes)
    return makeError(BF_ERROR_ARGUMENT,
                     "the workspace has %zu bytes, expected at least %llu",
                     workspaceBytes,
                     static_cast<unsigned long long>(neededBytes));
  if (neededBytes && !workspace)
    return makeError(BF_ERROR_ARGUMENT, "the workspace is null");
  if (neededBytes && regions.workspace.base % workspaceAlignment != 0)
    return makeError(
        BF_ERROR_ARGUMENT,
        "expected the workspace to be 256-byte aligned, got address 0x%llx",
        static_cast<unsigned long long>(regions.workspace.base));
  unsigned numInputs = sizeOf(graph.inputs());
  unsigned numOutputs = sizeOf(graph.outputs());
  auto refuse = [&](unsigned output, const char *role, const char *name) {
    return makeError(BF_ERROR_ARGUMENT, "output %s overlaps %s%s",
                     graph.outputs()->Get(output)->name()->c_str(), role, name);
  };
  for (unsigned i = 0; i < numOutputs; ++i) {
    for (unsigned j = 0; j < numInputs; ++j)
      if (overlap(regions.outputs[i], regions.inputs[j]))
        return refuse(i, "input ", graph.inputs()->Get(j)->name()->c_str());
    for (unsigned j = 0; j < i; ++j)
      if (overlap(regions.outputs[i], regions.outputs[j]))
        return refuse(i, "output ", graph.outputs()->Get(j)->name()->c_str());
    if (overlap(regions.outputs[i], regions.workspace))
      return refuse(i, "the workspace", "");
  }
  // The kernels write the workspace.
  for (unsigned j = 0; j < numInputs; ++j)
    if (overlap(regions.inputs[j], regions.workspace))
      return makeError(BF_ERROR_ARGUMENT, "input %s overlaps the workspace",
                       graph.inputs()->Get(j)->name()->c_str());
  return {};
}
