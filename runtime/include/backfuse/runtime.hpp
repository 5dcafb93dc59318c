//===- runtime.hpp - Load and launch Backfuse bundles, C++ ------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C++17 layer over backfuse/runtime.h: owners are move-only and release what
// they hold, failures are exceptions of type backfuse::Error. It is all in this
// header, so that no exception crosses the library's boundary. What the C
// header says about threads and streams holds here, too.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_HPP
#define BACKFUSE_RUNTIME_HPP

#include "backfuse/runtime.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace backfuse {

/// A failed call: what() is bf_last_error().
class Error : public std::runtime_error {
public:
  Error(bf_status status, const std::string &text)
      : std::runtime_error(text), code(status) {}
  bf_status status() const noexcept { return code; }

private:
  bf_status code;
};

/// Throws unless `status` is BF_OK.
inline void check(bf_status status) {
  if (status != BF_OK)
    throw Error(status, bf_last_error());
}

/// Values of the variable dimensions and the parameters, in the bundle's order.
struct Values {
  std::vector<int64_t> dims;
  std::vector<double> params;
};

/// A verified bundle.
class Bundle {
public:
  static Bundle load(const std::string &path) {
    bf_bundle *handle = nullptr;
    check(bf_bundle_load_file(path.c_str(), &handle));
    return Bundle(handle);
  }
  /// Copies the bytes.
  static Bundle load(const void *data, size_t bytes) {
    bf_bundle *handle = nullptr;
    check(bf_bundle_load_memory(data, bytes, &handle));
    return Bundle(handle);
  }

  bf_bundle_info info() const {
    bf_bundle_info result;
    check(bf_bundle_get_info(get(), &result));
    return result;
  }
  std::string dimName(uint32_t index) const {
    const char *name = bf_bundle_dim_name(get(), index);
    return name ? name : "";
  }
  bf_argument argument(bf_role role, uint32_t index) const {
    bf_argument result;
    check(bf_bundle_get_argument(get(), role, index, &result));
    return result;
  }
  bf_target_info target(uint32_t index) const {
    bf_target_info result;
    check(bf_bundle_get_target(get(), index, &result));
    return result;
  }
  bf_variant_info variant(uint32_t target, uint32_t index) const {
    bf_variant_info result;
    check(bf_bundle_get_variant(get(), target, index, &result));
    return result;
  }
  bf_product_info product(uint32_t target, uint32_t variant,
                          uint32_t index) const {
    bf_product_info result;
    check(bf_bundle_get_product(get(), target, variant, index, &result));
    return result;
  }
  /// The verified FlatBuffer, without the header.
  std::pair<const void *, size_t> data() const {
    size_t bytes = 0;
    const void *first = bf_bundle_data(get(), &bytes);
    return {first, bytes};
  }
  const bf_bundle *get() const noexcept { return handle.get(); }

private:
  struct Delete {
    void operator()(bf_bundle *bundle) const { bf_bundle_destroy(bundle); }
  };
  explicit Bundle(bf_bundle *bundle) : handle(bundle) {}
  std::unique_ptr<bf_bundle, Delete> handle;
};

/// A bundle's code on a device.
class Executable {
public:
  static Executable prepare(const Bundle &bundle, int ordinal) {
    bf_executable *handle = nullptr;
    check(bf_executable_prepare(bundle.get(), ordinal, &handle));
    return Executable(handle);
  }

  uint32_t target() const { return bf_executable_target(get()); }
  size_t workspaceSize(const Values &values) const {
    size_t bytes = 0;
    check(bf_executable_workspace_size(get(), values.dims.data(),
                                       values.dims.size(), values.params.data(),
                                       values.params.size(), &bytes));
    return bytes;
  }
  void launch(void *stream, const std::vector<const DLTensor *> &inputs,
              const std::vector<const DLTensor *> &outputs,
              const std::vector<double> &params, void *workspace,
              size_t workspaceBytes) const {
    check(bf_executable_launch(get(), stream, inputs.data(), inputs.size(),
                               outputs.data(), outputs.size(), params.data(),
                               params.size(), workspace, workspaceBytes));
  }
  bf_executable *get() const noexcept { return handle.get(); }

private:
  struct Delete {
    void operator()(bf_executable *executable) const {
      bf_executable_destroy(executable);
    }
  };
  explicit Executable(bf_executable *executable) : handle(executable) {}
  std::unique_ptr<bf_executable, Delete> handle;
};

/// A launch with its expressions evaluated.
class Plan {
public:
  static Plan create(const Executable &executable, const Values &values) {
    bf_plan *handle = nullptr;
    check(bf_plan_create(executable.get(), values.dims.data(),
                         values.dims.size(), values.params.data(),
                         values.params.size(), &handle));
    return Plan(handle);
  }
  /// A plan to look at, without a device.
  static Plan create(const Bundle &bundle, uint32_t target, uint32_t smCount,
                     const Values &values) {
    bf_plan *handle = nullptr;
    check(bf_plan_create_for_target(
        bundle.get(), target, smCount, values.dims.data(), values.dims.size(),
        values.params.data(), values.params.size(), &handle));
    return Plan(handle);
  }

  bf_plan_info info() const {
    bf_plan_info result;
    check(bf_plan_get_info(get(), &result));
    return result;
  }
  bf_step step(uint32_t index) const {
    bf_step result;
    check(bf_plan_get_step(get(), index, &result));
    return result;
  }
  void launch(void *stream, const std::vector<const DLTensor *> &inputs,
              const std::vector<const DLTensor *> &outputs, void *workspace,
              size_t workspaceBytes) const {
    check(bf_plan_launch(get(), stream, inputs.data(), inputs.size(),
                         outputs.data(), outputs.size(), workspace,
                         workspaceBytes));
  }
  const bf_plan *get() const noexcept { return handle.get(); }

private:
  struct Delete {
    void operator()(bf_plan *plan) const { bf_plan_destroy(plan); }
  };
  explicit Plan(bf_plan *plan) : handle(plan) {}
  std::unique_ptr<bf_plan, Delete> handle;
};

} // namespace backfuse

#endif // BACKFUSE_RUNTIME_HPP
