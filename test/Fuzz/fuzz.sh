#!/usr/bin/env bash
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fuzzes the emulator's PTX front end and its tensor maps.
#
#   test/Fuzz/fuzz.sh [SECONDS]      both at once (default 20)
#
# BUILD_DIR (default build-fuzz) holds the build, the corpora and what crashes.
# Needs clang-22 and its run-time libraries. Prints "N passed, M failed".
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
seconds=${1:-20}
build=${BUILD_DIR:-build-fuzz}

mkdir -p "$build"
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
if ! cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
  "${launcher[@]}" -DBACKFUSE_BUILD_COMPILER=OFF -DBACKFUSE_BUILD_TESTS=OFF -DBACKFUSE_BUILD_FUZZERS=ON >"$build/build.log" 2>&1 ||
  ! ninja -C "$build" ${JOBS:+-j "$JOBS"} fuzz-ptx fuzz-tensor-map >>"$build/build.log" 2>&1; then
  tail -n 30 "$build/build.log"
  echo "0 passed, 2 failed"
  exit 1
fi

# Seeds: kernels of other compilers; words: all that these are made of.
mkdir -p "$build/corpus-fuzz-ptx" "$build/corpus-fuzz-tensor-map" "$build/seeds"
cp test/ThirdParty/*/ptx/*.ptx "$build/seeds"
cat test/ThirdParty/*/ptx/*.ptx | grep -oE '[.%a-zA-Z_:][.%a-zA-Z0-9_:]{2,60}' | sort | uniq -c | sort -rn | head -n 1500 |
  awk '{printf "\"%s\"\n", $2}' >"$build/words"

# Both run at once; what this script started ends with it.
passed=0
failed=0
declare -A running
trap 'kill "${running[@]}" 2>/dev/null' EXIT
for fuzzer in fuzz-ptx fuzz-tensor-map; do
  extra=()
  [ $fuzzer = fuzz-ptx ] && extra=("$build/seeds" -dict="$build/words" -max_len=20000)
  "$build/bin/$fuzzer" "$build/corpus-$fuzzer" "${extra[@]}" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 \
    -artifact_prefix="$build/" -verbosity=0 -print_final_stats=1 >"$build/$fuzzer.log" 2>&1 &
  running[$fuzzer]=$!
done
for fuzzer in "${!running[@]}"; do
  if wait "${running[$fuzzer]}"; then
    executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$fuzzer.log")
    echo "$fuzzer: $executed inputs in $seconds s, no finding"
    passed=$((passed + 1))
  else
    echo "$fuzzer:"
    tail -n 40 "$build/$fuzzer.log"
    failed=$((failed + 1))
  fi
  unset "running[$fuzzer]"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
