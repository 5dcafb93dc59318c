#!/usr/bin/env bash
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds everything and runs all tests that need no GPU.
#
#   scripts/test.sh [--long]    --long: the long tests, too
#
# The runtime, which takes no LLVM, is built and tested first. Prints the seconds of each phase and, last, "N passed, M failed".
# A step that does not come to its tests counts as one failed.
# BUILD_DIR (default build) and JOBS (default: all cores) can be set.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

long=false
for argument in "$@"; do
  case $argument in
    --long) long=true ;;
    *)
      echo "usage: scripts/test.sh [--long]" >&2
      exit 2
      ;;
  esac
done

build=${BUILD_DIR:-build}
jobs=${JOBS:-$(nproc)}
passed=0
failed=0

# phase NAME COMMAND...: runs it and prints how long it took.
phase() {
  local name=$1 start=$SECONDS status=0
  shift
  echo "== $name"
  "$@" || status=$?
  echo "== $name: $((SECONDS - start)) s$([ $status = 0 ] || echo ', FAILED')"
  return $status
}

# Ends with the line that everything reads.
finish() {
  echo "== total: $SECONDS s"
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
  exit
}

# Compiles graphs and executes their kernels, every bit compared.
run_on_emulator() {
  local options=()
  [ $long = true ] && options+=(--long)
  PATH="$(dirname "$BACKFUSE_PTXAS"):$PATH" "$BACKFUSE_PYTHON" test/Integration/run_on_emulator.py --kernel-opt "$build/bin/kernel-opt" --kernel-run "$build/bin/kernel-run" \
    "${options[@]}" | tee "$build/emulator.log"
}

# Plants faults in our kernels for Blackwell; the emulator must find them.
run_blackwell_faults() {
  PATH="$(dirname "$BACKFUSE_PTXAS"):$PATH" "$BACKFUSE_PYTHON" test/Integration/planted_blackwell_faults.py --kernel-opt "$build/bin/kernel-opt" \
    --kernel-run "$build/bin/kernel-run" --sites 1 | tee "$build/blackwell-faults.log"
}

# Runs other compilers' kernels on the emulator.
run_third_party() {
  local options=()
  [ $long = true ] && options+=(--long)
  "$BACKFUSE_PYTHON" test/ThirdParty/run_third_party.py --kernel-emu "$build/bin/kernel-emu" "${options[@]}" |
    tee "$build/third-party.log"
}

# Plants faults in other compilers' kernels, which the emulator must find.
run_mutations() {
  local options=(--quick)
  [ $long = true ] && options=()
  "$BACKFUSE_PYTHON" test/ThirdParty/mutate.py --kernel-emu "$build/bin/kernel-emu" "${options[@]}" | tee "$build/mutations.log"
}

# Compares what kernels do on the emulator with what the compiler predicts.
run_report_agrees() {
  local options=()
  [ $long = true ] && options+=(--long)
  PATH="$(dirname "$BACKFUSE_PTXAS"):$PATH" "$BACKFUSE_PYTHON" test/Integration/report_agrees.py --kernel-opt "$build/bin/kernel-opt" \
    --kernel-run "$build/bin/kernel-run" "${options[@]}" | tee "$build/report-agrees.log"
}

# Fuzzes the emulator for some seconds.
run_fuzzers() {
  BUILD_DIR=$build-fuzz JOBS=$jobs test/Fuzz/fuzz.sh 30 | tee "$build/fuzz.log"
}

# Plants faults in the kernels' PTX, which the emulator must find, and holds a drain
# to see how far loads get ahead of it.
run_planted_faults() {
  local options=(--quick)
  [ $long = true ] && options=()
  PATH="$(dirname "$BACKFUSE_PTXAS"):$PATH" "$BACKFUSE_PYTHON" test/Integration/planted_faults.py --kernel-opt "$build/bin/kernel-opt" \
    --kernel-run "$build/bin/kernel-run" "${options[@]}" | tee "$build/faults.log" | grep -v '^ *[0-9]* x \|changes nothing:'
  return "${PIPESTATUS[0]}"
}
run_overlap() {
  PATH="$(dirname "$BACKFUSE_PTXAS"):$PATH" "$BACKFUSE_PYTHON" test/Integration/overlap_test.py --kernel-opt "$build/bin/kernel-opt" \
    --kernel-run "$build/bin/kernel-run" | tee "$build/overlap.log"
}

# count_line FILE: adds the last line "N passed, M failed" of a log to the totals;
# one that is not there is one failure.
count_line() {
  local numbers
  numbers=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$1" | tail -n 1)
  if [ -z "$numbers" ]; then
    failed=$((failed + 1))
    return
  fi
  passed=$((passed + ${numbers% *}))
  failed=$((failed + ${numbers#* }))
}

# count FILE: adds the tests of a JUnit file to the totals; one that is not there
# is one failure.
count() {
  local numbers
  if ! numbers=$(python3 - "$1" <<'PYTHON'
import os
import sys
import xml.etree.ElementTree as ET

if not os.path.exists(sys.argv[1]):
    sys.exit("no tests have run: " + sys.argv[1] + " is not there")
root = ET.parse(sys.argv[1]).getroot()
cases = list(root.iter("testcase"))
bad = sum(1 for c in cases if c.find("failure") is not None or c.find("error") is not None)
skipped = sum(1 for c in cases if c.find("skipped") is not None or c.get("status") in ("disabled", "notrun"))
if not cases:
    sys.exit("no tests in " + sys.argv[1])
print(len(cases) - bad - skipped, bad)
PYTHON
  ); then
    numbers="0 1"
  fi
  passed=$((passed + ${numbers% *}))
  failed=$((failed + ${numbers#* }))
}

run_setup() {
  source scripts/setup.sh
}

run_configure() {
  cmake -S . -B "$build" "${BACKFUSE_CMAKE_ARGS[@]}" >"$build.configure.log" 2>&1 ||
    { cat "$build.configure.log"; return 1; }
  rm -f "$build.configure.log"
}

# Runs ninja and keeps its output to what matters.
run_ninja() {
  local log
  log=$(mktemp)
  ninja -C "$build" -j "$jobs" "$@" >"$log" 2>&1
  local status=$?
  if [ $status != 0 ]; then
    grep -v '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 100
  else
    tail -n 1 "$log"
  fi
  rm -f "$log"
  return $status
}

# The folders of the build that need no LLVM and exist.
runtime_targets() {
  local folder
  for folder in runtime tools/kernel-run tools/kernel-emu test/Runtime; do
    [ -f "$build/$folder/cmake_install.cmake" ] && echo "$folder/all"
  done
}

run_ctest() {
  local labels=(-LE long)
  [ $long = true ] && labels=()
  rm -f "$build/ctest.xml"
  ctest --test-dir "$build" "${labels[@]}" -j "$jobs" --output-on-failure --no-tests=error \
    --output-junit "$PWD/$build/ctest.xml" >"$build/ctest.log" 2>&1
  local status=$?
  if [ $status = 0 ]; then
    tail -n 5 "$build/ctest.log"
  else
    grep -v ' Passed ' "$build/ctest.log" | tail -n 200
  fi
  return $status
}

run_lit() {
  local lit parameters=()
  lit=$(sed -n 's/^LLVM_EXTERNAL_LIT:[A-Z]*=//p' "$build/CMakeCache.txt")
  [ -n "$lit" ] || lit=$(llvm-config-22 --bindir)/lit
  [ $long = true ] && parameters=(--param long=1)
  rm -f "$build/lit.xml"
  "$lit" -sv --no-progress-bar -j "$jobs" "${parameters[@]}" --xunit-xml-output "$build/lit.xml" "$build/test"
}

# The tests of the Python tools.
run_python() {
  local numbers
  numbers=$("$BACKFUSE_PYTHON" - <<'PYTHON'
import sys
import unittest

suite = unittest.defaultTestLoader.discover("bench/tests")
result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(suite)
bad = len(result.failures) + len(result.errors)
print(result.testsRun - bad - len(result.skipped), bad)
PYTHON
  )
  [ -n "$numbers" ] || numbers="0 1"
  passed=$((passed + ${numbers% *}))
  failed=$((failed + ${numbers#* }))
  [ "${numbers#* }" = 0 ]
}

# The runtime by itself, as someone without LLVM builds it.
run_runtime_alone() {
  cmake -S . -B "$build-runtime" "${BACKFUSE_CMAKE_ARGS[@]}" -DBACKFUSE_BUILD_COMPILER=OFF >/dev/null &&
    ninja -C "$build-runtime" -j "$jobs" >/dev/null &&
    ctest --test-dir "$build-runtime" -LE long -j "$jobs" --no-tests=error \
      --output-junit "$PWD/$build-runtime/ctest.xml" | tail -n 3
}

phase "set-up" run_setup || { failed=1; finish; }
phase "configure" run_configure || { failed=1; finish; }

mapfile -t targets < <(runtime_targets)
if phase "build the runtime" run_ninja "${targets[@]}"; then
  phase "test the runtime" run_ctest
  count "$build/ctest.xml"
  phase "execute other compilers' kernels" run_third_party
  count_line "$build/third-party.log"
  phase "plant faults in other compilers' kernels" run_mutations
  count_line "$build/mutations.log"
else
  failed=$((failed + 1))
fi
if [ -d bench/tests ]; then
  phase "test the Python tools" run_python
fi
if phase "build the compiler" run_ninja; then
  phase "test the compiler" run_lit
  count "$build/lit.xml"
  phase "execute kernels on the emulator" run_on_emulator
  count_line "$build/emulator.log"
  phase "compare reports with plans" run_report_agrees
  count_line "$build/report-agrees.log"
  phase "plant faults in kernels" run_planted_faults
  count_line "$build/faults.log"
  phase "overlap loads with a drain" run_overlap
  count_line "$build/overlap.log"
else
  failed=$((failed + 1))
fi
if [ $long = true ]; then
  if command -v clang++-22 >/dev/null; then
    phase "fuzz the emulator" run_fuzzers
    count_line "$build/fuzz.log"
  fi
  phase "plant faults in kernels for Blackwell" run_blackwell_faults
  count_line "$build/blackwell-faults.log"
  phase "build and test the runtime alone" run_runtime_alone
  count "$build-runtime/ctest.xml"
fi
finish
