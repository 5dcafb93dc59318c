#!/usr/bin/env bash
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The main job: compiles the examples for all targets, runs their published
# cases, checks every output and prints a table. On a machine with a GPU all
# cases run there; else those of few tokens on the emulator and the evaluator.
#
#   scripts/demo.sh [--max-tokens=N]
#
# BUILD_DIR (default build), JOBS (default: all cores) and WORKLOADS (the folder
# of the cases) can be set.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

build=${BUILD_DIR:-build}
jobs=${JOBS:-$(nproc)}
max_tokens=131
for argument in "$@"; do
  case $argument in
    --max-tokens=*) max_tokens=${argument#*=} ;;
    *)
      echo "usage: scripts/demo.sh [--max-tokens=N]" >&2
      exit 2
      ;;
  esac
done

source scripts/setup.sh || exit 1
cmake -S . -B "$build" "${BACKFUSE_CMAKE_ARGS[@]}" >/dev/null || exit 1
ninja -C "$build" -j "$jobs" kernel-opt kernel-run >"$build/demo-build.log" 2>&1 || {
  tail -n 50 "$build/demo-build.log"
  exit 1
}

# The folder of the published cases.
workloads=${WORKLOADS:-}
for folder in workloads shared/workloads ../shared/workloads; do
  [ -z "$workloads" ] && [ -d "$folder" ] && workloads=$folder
done

targets=sm_90a,sm_100f
devices=(emulator reference)
if [ -e /dev/nvidia0 ]; then
  devices=(cuda:0)
  max_tokens=
fi

status=0
mkdir -p "$build/bundles"
for graph in examples/*.mlir; do
  name=$(basename "$graph" .mlir)
  bundle=$build/bundles/$name.bfb
  echo "== $name: compiling for $targets"
  if ! "$build/bin/kernel-opt" "$graph" --emit=bundle --target="$targets" --ptxas="$BACKFUSE_PTXAS" -o "$bundle"; then
    status=1
    continue
  fi
  cases=$(ls "$workloads"/*_"$name".json 2>/dev/null | head -n 1)
  for device in "${devices[@]}"; do
    echo "== $name: on $device"
    "$build/bin/kernel-run" "$bundle" --device="$device" --check=both \
      ${cases:+--cases "$cases"} ${max_tokens:+--max-tokens "$max_tokens"} || status=1
  done
done
exit $status
