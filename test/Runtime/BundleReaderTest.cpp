//===- BundleReaderTest.cpp - Files that are and are not bundles ----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestBundle.h"
#include "backfuse/runtime.hpp"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace backfuse;
using namespace backfuse::test;

namespace {
/// Loads bytes; the error text, or "" on success.
std::string load(const std::vector<uint8_t> &file, size_t numBytes) {
  // A copy of just that size: a sanitizer then sees each read beyond it.
  std::unique_ptr<uint8_t[]> copy(new uint8_t[numBytes]);
  std::memcpy(copy.get(), file.data(), numBytes);
  bf_bundle *bundle = nullptr;
  bf_status status = bf_bundle_load_memory(copy.get(), numBytes, &bundle);
  EXPECT_EQ(status == BF_OK, bundle != nullptr);
  bf_bundle_destroy(bundle);
  if (status == BF_OK)
    return "";
  EXPECT_EQ(status, BF_ERROR_BUNDLE);
  return bf_last_error();
}

std::string load(const std::vector<uint8_t> &file) {
  return load(file, file.size());
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// Reads every byte of a C string.
size_t use(const char *text) { return std::strlen(text); }

/// Asks everything that the C ABI answers about a bundle; each answer may be an
/// error.
size_t queryEverything(const bf_bundle *bundle) {
  size_t used = 0;
  bf_bundle_info info;
  EXPECT_EQ(bf_bundle_get_info(bundle, &info), BF_OK);
  used += use(info.graph) + use(info.compiler) + use(info.llvm);
  for (uint32_t i = 0; i < info.num_dims; ++i)
    used += use(bf_bundle_dim_name(bundle, i));
  const struct {
    bf_role role;
    uint32_t count;
  } lists[] = {{BF_INPUT, info.num_inputs},
               {BF_OUTPUT, info.num_outputs},
               {BF_PARAM, info.num_params}};
  for (const auto &list : lists)
    for (uint32_t i = 0; i < list.count; ++i) {
      bf_argument argument;
      EXPECT_EQ(bf_bundle_get_argument(bundle, list.role, i, &argument), BF_OK);
      used += use(argument.name);
      for (int32_t axis = 0; axis < argument.rank; ++axis)
        EXPECT_LT(argument.extents[axis].dim, int32_t(info.num_dims));
    }
  for (uint32_t t = 0; t < info.num_targets; ++t) {
    bf_target_info target;
    EXPECT_EQ(bf_bundle_get_target(bundle, t, &target), BF_OK);
    used += use(target.name);
    for (uint32_t v = 0; v < target.num_variants; ++v) {
      bf_variant_info variant;
      EXPECT_EQ(bf_bundle_get_variant(bundle, t, v, &variant), BF_OK);
      used += use(variant.name);
      for (uint32_t p = 0; p < variant.num_products; ++p) {
        bf_product_info product;
        EXPECT_EQ(bf_bundle_get_product(bundle, t, v, p, &product), BF_OK);
        used += use(product.route) + use(product.location);
      }
    }
    for (int64_t square : {0, 1})
      for (int64_t size : {int64_t(0), int64_t(7), INT64_MAX}) {
        std::vector<int64_t> dims(info.num_dims, size);
        std::vector<double> params(info.num_params, double(square));
        bf_plan *plan = nullptr;
        if (bf_plan_create_for_target(bundle, t, 132, dims.data(), dims.size(),
                                      params.data(), params.size(),
                                      &plan) != BF_OK)
          continue;
        bf_plan_info planInfo;
        EXPECT_EQ(bf_plan_get_info(plan, &planInfo), BF_OK);
        for (uint32_t s = 0; s < planInfo.num_steps; ++s) {
          bf_step step;
          EXPECT_EQ(bf_plan_get_step(plan, s, &step), BF_OK);
          for (size_t a = 0; a < step.num_args; ++a)
            used += step.args[a].map.rank;
        }
        bf_plan_destroy(plan);
      }
  }
  return used;
}
} // namespace

TEST(BundleReader, ReadsAGoodBundle) {
  std::vector<uint8_t> file = pack(makeRowsBundle());
  ASSERT_EQ(load(file), "");
  Bundle bundle = Bundle::load(file.data(), file.size());
  EXPECT_GT(queryEverything(bundle.get()), 0u);
  bf_bundle_info info = bundle.info();
  EXPECT_STREQ(info.graph, "rows");
  EXPECT_STREQ(info.compiler, "by hand");
  EXPECT_EQ(info.minimum_driver, 12000u);
  EXPECT_EQ(bundle.dimName(0), "B");
  EXPECT_EQ(bundle.dimName(1), "S");
  EXPECT_EQ(bf_bundle_dim_name(bundle.get(), 2), nullptr);
  bf_argument x = bundle.argument(BF_INPUT, 0);
  EXPECT_STREQ(x.name, "x");
  EXPECT_EQ(x.dtype, BF_BF16);
  ASSERT_EQ(x.rank, 3);
  EXPECT_EQ(x.extents[0].dim, 0);
  EXPECT_EQ(x.extents[1].dim, 1);
  EXPECT_EQ(x.extents[2].dim, -1);
  EXPECT_EQ(x.extents[2].fixed, 64);
  EXPECT_STREQ(bundle.argument(BF_PARAM, 0).name, "square");
  EXPECT_EQ(bundle.argument(BF_PARAM, 0).dtype, BF_I1);
  bf_target_info target = bundle.target(0);
  EXPECT_STREQ(target.name, "sm_90a");
  EXPECT_EQ(target.num_variants, 2u);
  EXPECT_FALSE(target.has_cubins);
  EXPECT_TRUE(target.has_ptx);
}

TEST(BundleReader, QueriesOutOfRangeAreErrors) {
  std::vector<uint8_t> file = pack(makeRowsBundle());
  Bundle bundle = Bundle::load(file.data(), file.size());
  EXPECT_THROW(bundle.argument(BF_INPUT, 2), Error);
  EXPECT_THROW(bundle.target(1), Error);
  EXPECT_THROW(bundle.variant(0, 2), Error);
  EXPECT_THROW(bundle.variant(1, 0), Error);
  EXPECT_THROW(bundle.product(0, 0, 0), Error);
  EXPECT_EQ(bf_bundle_get_info(nullptr, nullptr), BF_ERROR_ARGUMENT);
  EXPECT_STREQ(bf_last_error(), "bundle is null");
}

TEST(BundleReader, TruncationAtEveryLengthIsAnError) {
  std::vector<uint8_t> file = pack(makeRowsBundle());
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_TRUE(contains(load(file, length), "the bundle is truncated"))
        << length;
}

TEST(BundleReader, EveryFlippedByteIsFound) {
  std::vector<uint8_t> file = pack(makeRowsBundle());
  for (size_t i = 0; i < file.size(); ++i) {
    std::vector<uint8_t> damaged = file;
    damaged[i] ^= uint8_t(1u << (i % 8));
    EXPECT_NE(load(damaged), "") << "byte " << i;
  }
}

TEST(BundleReader, HeaderErrorsAreNamed) {
  const std::vector<uint8_t> file = pack(makeRowsBundle());
  auto changed = [&](size_t at, uint8_t value) {
    std::vector<uint8_t> copy = file;
    copy[at] = value;
    return load(copy);
  };
  EXPECT_TRUE(contains(changed(0, 'b'), "not a Backfuse bundle"));
  EXPECT_TRUE(contains(changed(8, 2), "has format version 2"));
  EXPECT_TRUE(contains(changed(8, 2), "update the runtime"));
  EXPECT_TRUE(contains(changed(8, 0), "header is damaged"));
  EXPECT_TRUE(contains(changed(12, 1), "header is damaged"));
  EXPECT_TRUE(contains(changed(24, uint8_t(~file[24])), "its checksum is"));
  EXPECT_TRUE(contains(changed(40, uint8_t(~file[40])), "its checksum is"));
  // A size beyond any file must not be believed.
  EXPECT_TRUE(contains(changed(23, 0x7f), "the bundle is truncated"));
  std::vector<uint8_t> longer = file;
  longer.push_back(0);
  EXPECT_TRUE(contains(load(longer), "has 1 bytes after its end"));
  EXPECT_TRUE(contains(load(packFlatBuffer(file.data(), 0)),
                       "not a FlatBuffer of the bundle schema"));
}

// A bundle whose checksum is right but whose content is not: whatever byte is
// changed, loading and every question end in an answer or an error. Under a
// sanitizer this shows that nothing is read that should not be.
TEST(BundleReader, ChangedBytesUnderARightChecksumNeverMisbehave) {
  const std::vector<uint8_t> file = pack(makeRowsBundle());
  std::vector<uint8_t> content(file.begin() + 32, file.end());
  size_t accepted = 0, refused = 0, used = 0;
  for (size_t i = 0; i < content.size(); ++i)
    for (uint8_t change : {0x01, 0x80, 0xff}) {
      uint8_t original = content[i];
      content[i] ^= change;
      std::vector<uint8_t> changed =
          packFlatBuffer(content.data(), content.size());
      content[i] = original;
      bf_bundle *bundle = nullptr;
      if (bf_bundle_load_memory(changed.data(), changed.size(), &bundle) !=
          BF_OK) {
        ++refused;
        continue;
      }
      ++accepted;
      used += queryEverything(bundle);
      bf_bundle_destroy(bundle);
    }
  // Changes of a text are harmless, changes of an offset are not.
  EXPECT_GT(accepted, 0u);
  EXPECT_GT(refused, 0u);
  EXPECT_GT(used, 0u);
}

TEST(BundleReader, ReadsFilesAndNamesThemInErrors) {
  std::string path =
      testing::TempDir() + "reader-test-" + std::to_string(getpid()) + ".bfb";
  std::vector<uint8_t> file = pack(makeRowsBundle());
  auto write = [&](size_t numBytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(file.data()),
               static_cast<std::streamsize>(numBytes));
  };
  write(file.size());
  EXPECT_STREQ(Bundle::load(path).info().graph, "rows");
  for (size_t length : {size_t(0), size_t(31), size_t(32), file.size() - 1}) {
    write(length);
    bf_bundle *bundle = nullptr;
    EXPECT_EQ(bf_bundle_load_file(path.c_str(), &bundle), BF_ERROR_BUNDLE);
    EXPECT_TRUE(contains(bf_last_error(), path + ": the bundle is truncated"));
  }
  std::remove(path.c_str());
  bf_bundle *bundle = nullptr;
  EXPECT_EQ(bf_bundle_load_file(path.c_str(), &bundle), BF_ERROR_IO);
  EXPECT_TRUE(contains(bf_last_error(), path + ": No such file"));
  // Without an end there is nothing to compare the header's size with.
  EXPECT_EQ(bf_bundle_load_file("/dev/zero", &bundle), BF_ERROR_IO);
  EXPECT_TRUE(contains(bf_last_error(), "not a regular file"));
  EXPECT_EQ(bf_bundle_load_file("/", &bundle), BF_ERROR_IO);
}
