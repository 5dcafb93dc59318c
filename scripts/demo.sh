#!/usr/bin/env bash
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The main job: compiles the examples for all targets, runs their cases, checks
# every output and prints a table. On a machine with a GPU all cases run there;
# else those of few tokens on the emulator and the evaluator.
#
#   scripts/demo.sh [--max-tokens=N]
#
# BUILD_DIR (default build), JOBS (default: all cores) and WORKLOADS (a folder of
# published cases; else those beside the examples) can be set.
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
mkdir -p "$build/demo"
echo "== building"
if ! { cmake -S . -B "$build" "${BACKFUSE_CMAKE_ARGS[@]}" &&
  ninja -C "$build" -j "$jobs" kernel-opt kernel-run kernel-emu; } >"$build/demo/build.log" 2>&1; then
  tail -n 50 "$build/demo/build.log"
  exit 1
fi

workloads=${WORKLOADS:-}
for folder in workloads shared/workloads ../shared/workloads; do
  [ -z "$workloads" ] && [ -d "$folder" ] && workloads=$folder
done

devices=(emulator emulator:sm_100f reference)
limit=(--max-tokens "$max_tokens")
if [ -e /dev/nvidia0 ]; then
  devices=(cuda:0)
  limit=()
fi

status=0
table=$build/demo/table.txt
: >"$table"

# row GRAPH CASE DEVICE MATCHED TIME
row() {
  printf '%-22s %-44s %-18s %-8s %s\n' "$@" >>"$table"
}

# compile GRAPH TARGET BUNDLE: what is not built yet is a row, not a failure.
compile() {
  local log=$build/demo/compile.log name
  name=$(basename "$1" .mlir)
  "$build/bin/kernel-opt" "$1" --emit=bundle --target="$2" --ptxas="$BACKFUSE_PTXAS" -o "$3" 2>"$log" && return 0
  if grep -qE 'error: .*(is built yet|can be generated for .* yet|not built yet)' "$log"; then
    row "$name" "$2" compiler refused "$(grep -m 1 'error:' "$log" | sed 's/.*error: //')"
  else
    cat "$log" >&2
    row "$name" "$2" compiler FAILED "see above"
    status=1
  fi
  return 1
}

# list_cases GRAPH JSON DEVICE: adds a run's cases to the table: the least share of elements that matched.
list_cases() {
  "$BACKFUSE_PYTHON" - "$1" "$2" "$3" <<'PYTHON' >>"$table"
import json
import sys

run = json.load(open(sys.argv[2]))
device = run["device"]["name"][:18] if run["device"]["kind"] == "cuda" else sys.argv[3]
for case in run["cases"]:
    values = [f"{k}={v}" for k, v in case.get("dims", {}).items()]
    values += [f"{k}={int(v)}" for k, v in case.get("params", {}).items()]
    values.append(run["inputs"])
    matched = min((c["matched"] for c in case.get("checks", []) if not c["skipped"] and c["compared"]), default=0)
    verdict = f"{100 * matched:.6g}%" if case["passed"] else case["result"]
    print(f"{sys.argv[1]:<22} {' '.join(values):<44} {device:<18} "
          f"{verdict:<8} {case.get('seconds', 0):.2f} s")
PYTHON
}

for graph in examples/*.mlir; do
  name=$(basename "$graph" .mlir)
  bundle=$build/demo/$name.bfb
  rm -f "$bundle"
  echo "== $name"
  compile "$graph" sm_90a,sm_100f "$bundle" || continue
  cases=$(ls "$workloads"/*_"$name".json 2>/dev/null | head -n 1)
  [ -n "$cases" ] || cases=examples/$name.json
  for device in "${devices[@]}"; do
    for inputs in random exact; do
      rm -f "$build/demo/run.json"
      if ! "$build/bin/kernel-run" "$bundle" --device="$device" --cases "$cases" "${limit[@]}" \
        --inputs=$inputs --json "$build/demo/run.json" >"$build/demo/run.log" 2>&1; then
        if grep -q 'no case of .* is left' "$build/demo/run.log"; then
          row "$name" "$(basename "$cases")" "$device" - "none of at most $max_tokens tokens"
          continue
        fi
        cat "$build/demo/run.log" >&2
        status=1
      fi
      if [ -f "$build/demo/run.json" ]; then
        list_cases "$name" "$build/demo/run.json" "$device"
      else
        row "$name" "$(basename "$cases")" "$device" FAILED "see above"
      fi
    done
  done
done

echo
printf '%-22s %-44s %-18s %-8s %s\n' graph case device matched time
cat "$table"
exit $status
