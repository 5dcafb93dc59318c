//===- TargetTest.cpp - Which code a device runs --------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/src/Target.h"
#include "TestBundle.h"

#include <gtest/gtest.h>

using namespace backfuse;
using namespace backfuse::runtime;

static bool runs(const char *name, int major, int minor) {
  TargetArch arch;
  EXPECT_TRUE(parseTargetArch(name, arch)) << name;
  return runsOn(arch, major, minor);
}

TEST(Target, ArchitectureCodeRunsOnItsOwnOnly) {
  EXPECT_TRUE(runs("sm_90a", 9, 0));
  EXPECT_FALSE(runs("sm_90a", 10, 0));
  EXPECT_TRUE(runs("sm_100a", 10, 0));
  EXPECT_FALSE(runs("sm_100a", 10, 3));
  EXPECT_TRUE(runs("sm_103a", 10, 3));
}

TEST(Target, FamilyAndPlainCodeRunOnLaterMinors) {
  EXPECT_TRUE(runs("sm_100f", 10, 0));
  EXPECT_TRUE(runs("sm_100f", 10, 3));
  EXPECT_FALSE(runs("sm_103f", 10, 0));
  EXPECT_FALSE(runs("sm_100f", 9, 0));
  EXPECT_FALSE(runs("sm_100f", 12, 0));
  EXPECT_TRUE(runs("sm_80", 8, 6));
  EXPECT_FALSE(runs("sm_90", 8, 9));
}

TEST(Target, OtherNamesAreUnknown) {
  TargetArch arch;
  for (const char *name : {"", "sm_", "sm_9", "sm_90b", "sm_90ab", "gfx942",
                           "sm_999999999999", "sm_90 "})
    EXPECT_FALSE(parseTargetArch(name, arch)) << name;
}

// The exact architecture wins over the family, a newer family over an older.
TEST(Target, TheMostSpecificIsChosen) {
  auto choose = [](std::vector<std::string> names, int major, int minor) {
    bundle::BundleT source = test::makeRowsBundle();
    source.targets.clear();
    for (const std::string &name : names) {
      source.targets.push_back(std::make_unique<bundle::TargetT>());
      source.targets.back()->name = name;
    }
    std::vector<uint8_t> file = test::pack(source);
    std::shared_ptr<const BundleData> data;
    Error error = BundleData::fromMemory(file.data(), file.size(), data);
    EXPECT_FALSE(error) << error.text;
    uint32_t target = 99;
    error = chooseTarget(*data, major, minor, "test", target);
    return error ? std::string("none") : names[target];
  };
  EXPECT_EQ(choose({"sm_100f", "sm_100a", "sm_90a"}, 10, 0), "sm_100a");
  EXPECT_EQ(choose({"sm_100f", "sm_103f", "sm_100a"}, 10, 3), "sm_103f");
  EXPECT_EQ(choose({"sm_100", "sm_100f"}, 10, 3), "sm_100f");
  EXPECT_EQ(choose({"weird", "sm_90a"}, 9, 0), "sm_90a");
  EXPECT_EQ(choose({"sm_100f"}, 9, 0), "none");
  EXPECT_EQ(choose({}, 9, 0), "none");
}
