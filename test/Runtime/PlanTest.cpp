//===- PlanTest.cpp - Plans without a device ------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestBundle.h"
#include "backfuse/runtime.hpp"

#include <gtest/gtest.h>

using namespace backfuse;
using namespace backfuse::test;
using bundle::ExprOp;

namespace {
Bundle loadBundle(const bundle::BundleT &source) {
  std::vector<uint8_t> file = pack(source);
  return Bundle::load(file.data(), file.size());
}

/// The error of a plan for B, S and square.
std::string planError(const bundle::BundleT &source, int64_t b, int64_t s,
                      bf_status expected = BF_ERROR_BUNDLE) {
  Bundle bundle = loadBundle(source);
  try {
    Plan::create(bundle, 0, 132, {{b, s}, {1, 0}});
    ADD_FAILURE() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.status(), expected) << error.what();
    return error.what();
  }
  return "";
}

bundle::VariantT &variant(bundle::BundleT &b) {
  return *b.targets[0]->variants[0];
}
bundle::ZeroFillT &fill(bundle::BundleT &b) {
  return *variant(b).steps[0]->body.AsZeroFill();
}
bundle::KernelLaunchT &launch(bundle::BundleT &b) {
  return *variant(b).steps[1]->body.AsKernelLaunch();
}
bundle::TensorMapT &map(bundle::BundleT &b) { return *launch(b).args[0]->map; }

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}
} // namespace

TEST(Plan, EvaluatesStepsAndArguments) {
  Bundle bundle = loadBundle(makeRowsBundle());
  Plan plan = Plan::create(bundle, 0, 132, {{3, 5}, {1, 0.25}});
  bf_plan_info info = plan.info();
  EXPECT_EQ(info.variant, 0u);
  EXPECT_EQ(info.num_steps, 3u);
  EXPECT_EQ(info.workspace_bytes, 120u);
  EXPECT_EQ(info.bytes, 15u * 256 + 128);
  bf_step zero = plan.step(0), rows = plan.step(1), sums = plan.step(2);
  EXPECT_EQ(zero.kind, BF_STEP_ZERO_FILL);
  EXPECT_EQ(zero.bytes, 120u);
  EXPECT_EQ(zero.buffer.space, BF_SPACE_WORKSPACE);
  EXPECT_EQ(rows.kind, BF_STEP_KERNEL);
  EXPECT_STREQ(rows.kernel, "rows");
  EXPECT_EQ(rows.grid[0], 15u);
  EXPECT_EQ(rows.threads, 32u);
  ASSERT_EQ(rows.num_args, 6u);
  EXPECT_EQ(rows.args[0].kind, BF_ARG_MAP);
  EXPECT_EQ(rows.args[0].map.sizes[1], 15u);
  EXPECT_EQ(rows.args[1].buffer.space, BF_SPACE_OUTPUT);
  EXPECT_EQ(rows.args[2].integer, 15);
  EXPECT_EQ(rows.args[4].kind, BF_ARG_LAUNCH_TAG);
  EXPECT_TRUE(sums.dependent);
  EXPECT_THROW(plan.step(3), Error);
  EXPECT_EQ(
      bf_plan_launch(plan.get(), nullptr, nullptr, 0, nullptr, 0, nullptr, 0),
      BF_ERROR_ARGUMENT);
  EXPECT_STREQ(bf_last_error(), "the plan was made without a device: it cannot "
                                "be launched");
}

TEST(Plan, Float32ArgumentsCarryParameters) {
  bundle::BundleT source = makeRowsBundle();
  launch(source).args[2]->kind = bundle::ArgKind::Float32;
  launch(source).args[2]->param = 1;
  Bundle bundle = loadBundle(source);
  Plan plan = Plan::create(bundle, 0, 132, {{3, 5}, {1, 0.25}});
  EXPECT_EQ(plan.step(1).args[2].real, 0.25f);
}

TEST(Plan, RefusalsComeFirst) {
  EXPECT_EQ(planError(makeRowsBundle(), 1 << 12, 1 << 12, BF_ERROR_REFUSED),
            "the compiler refused rows: more than 2^20 rows");
}

TEST(Plan, NoVariantIsNamed) {
  bundle::BundleT source = makeRowsBundle();
  source.targets[0]->variants.erase(source.targets[0]->variants.begin());
  EXPECT_EQ(planError(source, 2, 3, BF_ERROR_REFUSED),
            "no variant of target sm_90a may run for B=2, S=3, square=1, "
            "scale=0");
}

TEST(Plan, ValuesAreChecked) {
  Bundle bundle = loadBundle(makeRowsBundle());
  auto error = [&](std::vector<int64_t> dims, std::vector<double> params) {
    try {
      Plan::create(bundle, 0, 132, {dims, params});
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error({1}, {1, 0}), "1 dimensions given, the graph has 2");
  EXPECT_EQ(error({1, 2, 3}, {1, 0}), "3 dimensions given, the graph has 2");
  EXPECT_EQ(error({1, -2}, {1, 0}), "dimension S is negative: -2");
  EXPECT_EQ(error({1, 2}, {0.5, 0}),
            "parameter square is 0.5, expected 0 or 1 (I1)");
  EXPECT_EQ(error({1, int64_t(1) << 60}, {1, 0}), "x has more than 2^63 bytes");
}

TEST(Plan, OverflowInAnExpressionIsAnError) {
  bundle::BundleT source = makeRowsBundle();
  variant(source).workspace_bytes =
      expr({dim(0), constant(INT64_MAX), op(ExprOp::Mul)});
  EXPECT_TRUE(contains(planError(source, 2, 3), "workspace: 64-bit overflow"));
  source = makeRowsBundle();
  variant(source).guard = expr({constant(1), dim(0), op(ExprOp::FloorDiv)});
  EXPECT_TRUE(contains(planError(source, 0, 3), "guard: division by zero"));
}

// A plan never reaches outside the buffers that the caller gives.
TEST(Plan, BoundsAreChecked) {
  bundle::BundleT source = makeRowsBundle();
  fill(source).bytes = expr(121);
  EXPECT_TRUE(contains(planError(source, 3, 5),
                       "step 0: fills 121 bytes of a buffer that has 120"));
  source = makeRowsBundle();
  fill(source).buffer->offset = expr(8);
  EXPECT_TRUE(contains(planError(source, 3, 5),
                       "step 0: fills 120 bytes of a buffer that has 112"));
  source = makeRowsBundle();
  fill(source).bytes = expr(-1);
  EXPECT_TRUE(contains(planError(source, 3, 5), "bytes is negative: -1"));
  source = makeRowsBundle();
  launch(source).args[1]->buffer->offset = expr(15 * 128 + 1);
  EXPECT_TRUE(contains(planError(source, 3, 5),
                       "step 1: kernel rows: argument 1: offset 1921 is "
                       "outside a buffer of 1920 bytes"));
  source = makeRowsBundle();
  map(source).sizes[1] = expr(16);
  EXPECT_TRUE(contains(planError(source, 3, 5),
                       "argument 0: map: reaches 2048 bytes into a buffer that "
                       "has 1920 there"));
  source = makeRowsBundle();
  map(source).buffer->offset = expr(16);
  EXPECT_TRUE(contains(planError(source, 3, 5), "reaches 1920 bytes"));
}

TEST(Plan, TensorMapsKeepTheDriversRules) {
  auto error = [](void (*change)(bundle::TensorMapT &)) {
    bundle::BundleT source = makeRowsBundle();
    change(map(source));
    return planError(source, 3, 5);
  };
  EXPECT_TRUE(
      contains(error([](bundle::TensorMapT &m) { m.strides[0] = expr(120); }),
               "map: stride 1 is 120, expected a multiple of 16"));
  EXPECT_TRUE(
      contains(error([](bundle::TensorMapT &m) { m.sizes[0] = expr(0); }),
               "map: size 0 is 0, expected 1 to 2^32"));
  EXPECT_TRUE(
      contains(error([](bundle::TensorMapT &m) { m.buffer->offset = expr(8); }),
               "map: its offset is not a multiple of 16"));
  EXPECT_TRUE(contains(error([](bundle::TensorMapT &m) {
                         m.sizes[1] = expr(int64_t(1) << 32);
                         m.strides[0] = expr((int64_t(1) << 40) - 16);
                       }),
                       "map: 64-bit overflow"));
}

TEST(Plan, GridsAreBounded) {
  bundle::BundleT source = makeRowsBundle();
  launch(source).grid.push_back(expr(65536));
  EXPECT_TRUE(contains(planError(source, 3, 5),
                       "grid extent 1 is 65536, expected at most 65535"));
  source = makeRowsBundle();
  launch(source).grid[0] = expr(-1);
  EXPECT_TRUE(contains(planError(source, 3, 5), "grid is negative: -1"));
  source = makeRowsBundle();
  launch(source).args[2]->value = expr(int64_t(1) << 31);
  EXPECT_TRUE(contains(planError(source, 3, 5),
                       "argument 2: 2147483648 does not fit 32 bits"));
}

TEST(Plan, AnEmptyGridNeedsNoMaps) {
  Bundle bundle = loadBundle(makeRowsBundle());
  Plan plan = Plan::create(bundle, 0, 132, {{3, 0}, {1, 0}});
  bf_step rows = plan.step(1);
  EXPECT_EQ(rows.grid[0], 0u);
  EXPECT_EQ(rows.num_args, 0u);
}
