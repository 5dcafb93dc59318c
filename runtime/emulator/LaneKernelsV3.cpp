//===- LaneKernelsV3.cpp - Lane arithmetic for x86-64-v3 ------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#define BACKFUSE_LANE_FILL fillLaneTableV3
#include "runtime/emulator/LaneKernels.inc"
