#!/usr/bin/env bash
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks and times carried bundles on a machine with a GPU. It needs neither
# LLVM nor a build: a `kernel-run`, bundles, the workloads' JSON files and
# python3 (with PyTorch for the peers). See `scripts/gpu.sh --help`.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
all_sections=(cases exact graphs functions hard huge repeat bench prototypes peers compare sanitizer)

kernel_run=$root/build/bin/kernel-run
bundles=$root/build/bundles
graphs=
workloads=
prototypes=
device=cuda:0
only=
sanitizer=false
tokens=0,1,2,7,63,64,65,127,128,129,131,2047,2049,4097
max_tokens=
match='*'
huge=
hard_tokens=600
runs=50
peers_budget=240
peer_names=
out=${OUT:-$root/build/gpu}

usage() {
  cat <<EOF
usage: scripts/gpu.sh [options]

Runs the checks and benchmarks of all bundles on one GPU; ends with a table of
what passed, and exits with 0 only if everything did.

  --kernel-run=FILE   (default build/bin/kernel-run)
  --bundles=DIR       its *.bfb; STEM.bfb and STEM.ANYTHING.bfb run the cases of
                      NUMBER_STEM.json in the workloads (default build/bundles)
  --graphs=DIR        further bundles, each NAME.bfb with its cases in NAME.json
                      beside it, as bench/random_epilogues.py writes them
                      (default BUNDLES/graphs)
  --workloads=DIR     (default workloads, shared/workloads or ../shared/workloads)
  --device=cuda:N     (default cuda:0)
  --only=A,B          sections (default: all that have what they need):
    cases       every published case, --check=both
    exact       exact inputs, every bit: all cases, and each of --tokens with
                each value of the bool parameters
    graphs      the bundles of --graphs on exact inputs, or within the numerics
                contract's bound where a graph has no exact inputs
    functions   elementary functions in kernels against f64: the bundles of
                BUNDLES/functions, as test/Integration/elementary_functions.py
                compiles them (needs numpy)
    hard        f32 graphs on each kind of hard inputs, within the bound of their
                routes: the cases of at most --hard-tokens tokens
    huge        exact inputs of --huge tokens, compared at both ends (only with
                --huge)
    repeat      --runs runs of each case give identical bytes
    bench       times of every case
    prototypes  builds and times the hand-written kernels of --prototypes
    peers       PyTorch on the same cases
    compare     tables of the four; fails where torch.compile is faster
    sanitizer   compute-sanitizer memcheck and racecheck on small cases (only
                with --sanitizer, or named here)
  --match=PATTERN     only bundles whose name matches, such as 'ssm_*'
  --huge=N            tokens of that section, such as 1400000
  --hard-tokens=N     tokens of section 'hard' at most (default $hard_tokens)
  --tokens=A,B        token counts of 'exact' (default $tokens)
  --max-tokens=N      leaves out larger cases everywhere
  --runs=N            timed and repeated runs of a case (default $runs)
  --prototypes=DIR    folder of the hand-written kernels' sources
  --peers=A,B         which peers (default: bench/peers.py's choice)
  --peers-budget=S    seconds for the peers of one workload (default $peers_budget)
  --sanitizer         adds that section
  --out=DIR           results (default \$OUT or build/gpu): summary.txt,
                      summary.json, tables.md, details.tar.gz
EOF
}

die() {
  echo "gpu.sh: $*" >&2
  exit 2
}

#===------------------------------------------------------------------------===#
# Options
#===------------------------------------------------------------------------===#

while (($#)); do
  case $1 in
  --help | -h)
    usage
    exit 0
    ;;
  --sanitizer)
    sanitizer=true
    shift
    continue
    ;;
  --*=*)
    option=${1%%=*}
    value=${1#*=}
    shift
    ;;
  --*)
    option=$1
    (($# > 1)) || die "$option expects a value (or is unknown; see --help)"
    value=$2
    shift 2
    ;;
  *) die "unexpected argument '$1' (see --help)" ;;
  esac
  case $option in
  --kernel-run) kernel_run=$value ;;
  --bundles) bundles=$value ;;
  --graphs) graphs=$value ;;
  --workloads) workloads=$value ;;
  --device) device=$value ;;
  --only) only=$value ;;
  --tokens) tokens=$value ;;
  --max-tokens) max_tokens=$value ;;
  --match) match=$value ;;
  --huge) huge=$value ;;
  --hard-tokens) hard_tokens=$value ;;
  --runs) runs=$value ;;
  --prototypes) prototypes=$value ;;
  --peers) peer_names=$value ;;
  --peers-budget) peers_budget=$value ;;
  --out) out=$value ;;
  *) die "unknown option '$option' (see --help)" ;;
  esac
done

for section in ${only//,/ }; do
  [[ " ${all_sections[*]} " == *" $section "* ]] ||
    die "--only: unknown section '$section'; there are ${all_sections[*]}"
done
if [[ -z $workloads ]]; then
  for candidate in "$root/workloads" "$root/shared/workloads" \
    "$root/../shared/workloads"; do
    if [[ -d $candidate ]]; then
      workloads=$candidate
      break
    fi
  done
fi
[[ -d $workloads ]] || die "no folder of workloads: give --workloads=DIR"
[[ -n $graphs ]] || graphs=$bundles/graphs
command -v python3 >/dev/null || die "python3 is needed"
[[ -x $kernel_run ]] ||
  die "no kernel-run at $kernel_run: build it or give --kernel-run=FILE"
"$kernel_run" --help >/dev/null 2>&1 ||
  die "$kernel_run does not start here: $("$kernel_run" --help 2>&1 | tail -3)"
shopt -s nullglob
bundle_files=()
for bundle in "$bundles"/*.bfb; do
  # shellcheck disable=SC2053 # a pattern is what it is
  if [[ $(basename "$bundle" .bfb) == $match ]]; then bundle_files+=("$bundle"); fi
done
((${#bundle_files[@]})) ||
  die "no bundles in $bundles match '$match': compile some there or give" \
    "--bundles=DIR"

# The cases file of each bundle.
declare -A cases_of
for bundle in "${bundle_files[@]}"; do
  stem=$(basename "$bundle")
  stem=${stem%%.*}
  found=("$workloads"/*_"$stem".json)
  ((${#found[@]} == 1)) ||
    die "$bundle: ${#found[@]} files match $workloads/*_$stem.json, expected 1" \
      "(a bundle without published cases belongs in --graphs)"
  cases_of[$bundle]=${found[0]}
done
mapfile -t used_cases < <(printf '%s\n' "${cases_of[@]}" | sort -u)

#===------------------------------------------------------------------------===#
# Results
#===------------------------------------------------------------------------===#

mkdir -p "$out" || die "cannot make $out"
details=$(mktemp -d)
results=$details/results.tsv
: >"$results"
builder=
child=

# Always, also when a time limit ends the run: what was measured is kept.
finish() {
  local status=$?
  trap - EXIT
  for process in $builder $child; do kill "$process" 2>/dev/null || true; done
  python3 - "$results" "$out" "$status" <<'EOF' || true
import json, sys
results, out, status = sys.argv[1], sys.argv[2], int(sys.argv[3])
rows = [line.rstrip("\n").split("\t") for line in open(results)]
rows = [dict(zip(("section", "name", "verdict", "seconds", "log"), r)) for r in rows]
for row in rows:
    row["seconds"] = float(row["seconds"])
failed = [r for r in rows if r["verdict"] == "FAIL"]
json.dump({"schema": "backfuse-gpu/1", "exit_status": status, "steps": rows,
           "passed": len(rows) - len(failed), "failed": len(failed)},
          open(out + "/summary.json", "w"), indent=1)
with open(out + "/summary.txt", "w") as file:
    for r in rows:
        print(f"{r['verdict']}  {r['seconds']:7.1f} s  {r['section']:<10} {r['name']}",
              file=file)
    print(f"{len(rows) - len(failed)} passed, {len(failed)} failed", file=file)
EOF
  cat "$details"/*.md >"$out/tables.md" 2>/dev/null || true
  tar -czf "$out/details.tar.gz" -C "$details" --exclude=./prototypes . || true
  cat "$out/tables.md" "$out/summary.txt" 2>/dev/null || true
  rm -rf "$details"
  exit "$status"
}
trap finish EXIT
trap 'exit 143' TERM INT

failures=0
# step SECTION NAME COMMAND...: runs it with a log of its own and notes the end.
step() {
  local section=$1 name=$2 log begin verdict=PASS
  shift 2
  log=$section-${name//[^A-Za-z0-9._-]/_}.log
  begin=$(date +%s.%N)
  printf '%q ' "$@" >"$details/$log"
  echo >>"$details/$log"
  # In the background, so that a terminating signal reaches this shell at once.
  "$@" >>"$details/$log" 2>&1 &
  child=$!
  wait "$child" || verdict=FAIL
  child=
  note "$section" "$name" "$verdict" "$begin" "$log"
}

# note SECTION NAME VERDICT BEGIN LOG: one line of the summary.
note() {
  local section=$1 name=$2 verdict=$3 begin=$4 log=$5
  [[ $verdict == PASS ]] || failures=$((failures + 1))
  local seconds
  seconds=$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN {printf "%.1f", b - a}')
  printf '%s\t%s\t%s\t%s\t%s\n' "$section" "$name" "$verdict" "$seconds" "$log" \
    >>"$results"
  printf '%s  %7s s  %-10s %s\n' "$verdict" "$seconds" "$section" "$name"
  if [[ $verdict == FAIL ]]; then
    tail -n 25 "$details/$log" | sed 's/^/    | /'
  fi
}

wanted() { # SECTION
  if [[ -n $only ]]; then
    [[ ",$only," == *",$1,"* ]]
  else
    case $1 in
    sanitizer) [[ $sanitizer == true ]] ;;
    prototypes) [[ -n $prototypes ]] ;;
    graphs) [[ -d $graphs ]] ;;
    functions) [[ -d $bundles/functions ]] ;;
    huge) [[ -n $huge ]] ;;
    *) true ;;
    esac
  fi
}

limit=()
[[ -z $max_tokens ]] || limit=(--max-tokens "$max_tokens")

#===------------------------------------------------------------------------===#
# Sections
#===------------------------------------------------------------------------===#

nvidia-smi >"$details/nvidia-smi.txt" 2>&1 || echo "gpu.sh: nvidia-smi failed" >&2
head -n 14 "$details/nvidia-smi.txt"

# The hand-written kernels are built while correctness is checked.
if wanted prototypes; then
  [[ -d $prototypes ]] || die "section prototypes needs --prototypes=DIR"
  for cases in "${used_cases[@]}"; do
    python3 "$root/bench/prototypes.py" --dir "$prototypes" --cases "$cases" \
      --build-only --build-dir "$details/prototypes"
  done >"$details/prototypes-build.log" 2>&1 &
  builder=$!
fi

run_cases() { # BUNDLE CASES ARGUMENTS...
  local bundle=$1 cases=$2
  shift 2
  "$kernel_run" "$bundle" --device="$device" --cases "$cases" "$@"
}

# Hard inputs can leave nothing that has a bound: the log says so, and nothing
# is wrong.
run_hard() { # BUNDLE CASES ARGUMENTS...
  run_cases "$@" || [[ $? == 3 ]]
}

# On exact inputs; those cases that have none (an elementary function would meet
# a point at which it is not exact) must be within the contract's bound.
run_graph() { # BUNDLE CASES JSON
  run_cases "$1" "$2" --inputs=exact --json "$3" && return
  python3 - "$3" <<'EOF' || return 1
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
sys.exit(any(not c["passed"] and "no exact inputs" not in c.get("error", "")
             for c in cases))
EOF
  echo "no exact inputs: within the bound instead"
  local check=declared
  [[ $device != reference ]] || check=eager # the evaluator itself has no routes
  run_cases "$1" "$2" --check=$check
}

if wanted cases; then
  for bundle in "${bundle_files[@]}"; do
    name=$(basename "$bundle" .bfb)
    step cases "$name" run_cases "$bundle" "${cases_of[$bundle]}" --check=both \
      --json "$details/cases-$name.json" "${limit[@]}"
  done
fi

if wanted exact; then
  for bundle in "${bundle_files[@]}"; do
    name=$(basename "$bundle" .bfb)
    step exact "$name cases" run_cases "$bundle" "${cases_of[$bundle]}" \
      --inputs=exact --json "$details/exact-$name.json" "${limit[@]}"
    counted=$details/tokens-$(basename "${cases_of[$bundle]}")
    step exact "$name tokens.json" python3 "$root/bench/workload.py" \
      "${cases_of[$bundle]}" --tokens "$tokens" --output "$counted"
    step exact "$name tokens" run_cases "$bundle" "$counted" --inputs=exact \
      --json "$details/exact-tokens-$name.json" "${limit[@]}"
  done
fi

if wanted graphs; then
  graph_files=("$graphs"/*.bfb)
  ((${#graph_files[@]})) || die "section graphs: no bundles in $graphs"
  for bundle in "${graph_files[@]}"; do
    cases=${bundle%.bfb}.json
    [[ -f $cases ]] || die "section graphs: $bundle has no $cases beside it"
    name=$(basename "$bundle" .bfb)
    step graphs "$name" run_graph "$bundle" "$cases" "$details/graphs-$name.json"
  done
fi

if wanted functions; then
  step functions "against f64" python3 "$root/test/Integration/elementary_functions.py" check \
    --kernel-run "$kernel_run" --dir "$bundles/functions" --device "$device" \
    --json "$details/functions.json"
  cp "$details/functions-against_f64.log" "$details/functions.md"
fi

if wanted hard; then
  for bundle in "${bundle_files[@]}"; do
    name=$(basename "$bundle" .bfb)
    for kind in scaled mixed subnormal huge; do
      step hard "$name $kind" run_hard "$bundle" "${cases_of[$bundle]}" \
        --inputs="hard:$kind" --max-tokens "$hard_tokens" --json "$details/hard-$name-$kind.json"
    done
  done
fi

if wanted huge; then
  [[ -n $huge ]] || die "section huge needs --huge=TOKENS"
  for bundle in "${bundle_files[@]}"; do
    name=$(basename "$bundle" .bfb)
    counted=$details/huge-$(basename "${cases_of[$bundle]}")
    python3 "$root/bench/workload.py" "${cases_of[$bundle]}" --tokens "$huge" \
      --output "$counted"
    step huge "$name $huge" run_cases "$bundle" "$counted" --inputs=exact \
      --ends 300 --json "$details/huge-$name.json"
  done
fi

if wanted repeat; then
  for bundle in "${bundle_files[@]}"; do
    name=$(basename "$bundle" .bfb)
    step repeat "$name" run_cases "$bundle" "${cases_of[$bundle]}" \
      --repeat "$runs" --json "$details/repeat-$name.json" "${limit[@]}"
  done
fi

if [[ -n $builder ]]; then
  # Nothing else may run while times are taken.
  begin=$(date +%s.%N)
  verdict=PASS
  wait "$builder" || verdict=FAIL
  builder=
  note prototypes build "$verdict" "$begin" prototypes-build.log
fi

if wanted bench; then
  for bundle in "${bundle_files[@]}"; do
    name=$(basename "$bundle" .bfb)
    step bench "$name" run_cases "$bundle" "${cases_of[$bundle]}" --bench \
      --bench-runs "$runs" --json "$details/bench-$name.json" "${limit[@]}"
    cat "$details/bench-$name.log"
  done
fi

if wanted prototypes; then
  for cases in "${used_cases[@]}"; do
    name=$(basename "$cases" .json)
    step prototypes "$name" python3 "$root/bench/prototypes.py" \
      --dir "$prototypes" --cases "$cases" --build-dir "$details/prototypes" \
      --reps "$runs" --json "$details/prototypes-$name.json" "${limit[@]}"
    cat "$details/prototypes-$name.log"
  done
  rm -rf "$details/prototypes"
fi

if wanted peers; then
  for cases in "${used_cases[@]}"; do
    name=$(basename "$cases" .json)
    step peers "$name" python3 "$root/bench/peers.py" --cases "$cases" \
      ${peer_names:+--peers "$peer_names"} --reps "$runs" \
      --budget-seconds "$peers_budget" --json "$details/peers-$name.json" \
      "${limit[@]}"
    cat "$details/peers-$name.log"
  done
fi

if wanted compare; then
  for bundle in "${bundle_files[@]}"; do
    name=$(basename "$bundle" .bfb)
    workload=$(basename "${cases_of[$bundle]}" .json)
    ours=$details/bench-$name.json
    peers=$details/peers-$workload.json
    if [[ ! -f $ours || ! -f $peers ]]; then
      echo "gpu.sh: $name: no comparison without both bench and peers"
      continue
    fi
    hand=$details/prototypes-$workload.json
    [[ -f $hand ]] || hand=
    step compare "$name" python3 "$root/bench/compare.py" --ours "$ours" \
      --peers "$peers" ${hand:+--prototypes "$hand"} \
      --title "$name" --output "$details/table-$name.md"
  done
fi

if wanted sanitizer; then
  checker=$(command -v compute-sanitizer || true)
  [[ -n $checker ]] || checker=/usr/local/cuda/bin/compute-sanitizer
  [[ -x $checker ]] || die "section sanitizer: no compute-sanitizer on PATH"
  for bundle in "${bundle_files[@]}"; do
    name=$(basename "$bundle" .bfb)
    counted=$details/sanitizer-$(basename "${cases_of[$bundle]}")
    python3 "$root/bench/workload.py" "${cases_of[$bundle]}" --tokens 1,131 \
      --output "$counted"
    for tool in memcheck racecheck; do
      step sanitizer "$name $tool" "$checker" --tool "$tool" \
        --error-exitcode 9 "$kernel_run" "$bundle" --device="$device" \
        --cases "$counted" --inputs=exact
    done
  done
fi

((failures == 0))
