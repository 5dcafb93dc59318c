#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times PyTorch peers of a workloads file under the protocol of kernel-run.

    peers.py --cases workloads/079_ssm_gate_backward.json --json peers.json
    peers.py --cases FILE --peers eager,compile-autotune --case-index 0,7
    peers.py --cases FILE --check-only --device cpu --max-tokens 256

Each peer is checked once per case against the eager reference (each op rounded
to its dtype) and, where that one passes, against float64, with the case's
tolerance.
A peer that fails its check is still timed, and marked: how fast a program is
and whether it is right are two facts. The JSON file is written after every
case, so whatever ends the run leaves what was measured.

Exit status: 0 all measured; 1 a peer failed to run; 2 wrong use; 3 the time
budget left something out.
"""

import argparse
import dataclasses
import os
import platform
import signal
import subprocess
import sys
import time
import traceback

try:
    import torch
except ImportError as error:
    sys.exit(f"peers.py: PyTorch is needed for the peers: {error}")

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import graphs  # noqa: E402
import timing  # noqa: E402
from workload import Workload, WorkloadError, writeJson  # noqa: E402

SCHEMA = "backfuse-peers/1"


# --------------------------------------------------------------- checking


@torch.no_grad()
def compare(actual, expected, case):
    """Per element |x - y| <= atol + rtol |y|; the share that holds and the rest."""
    if actual.shape != expected.shape:
        raise ValueError(f"shape {tuple(actual.shape)}, expected "
                         f"{tuple(expected.shape)}")
    x, y = actual.double(), expected.double()
    difference = (x - y).abs_()
    inside = difference <= case.atol + case.rtol * y.abs()
    finite = torch.isfinite(x)
    count = x.numel()
    return {"matched": inside.sum().item() / count if count else 1.0,
            "non_finite": count - int(finite.sum().item()),
            "max_error": difference.max().item() if count else 0.0}


def passes(report, case):
    return all(r["matched"] >= case.match and r["non_finite"] == 0
               for r in report.values())


def references(workload, problem, arguments):
    """The outputs of the graph as it stands and in f64, in the output order."""
    # The reference rounds once per product: no partial sums in 16 bits.
    matmul = torch.backends.cuda.matmul
    before = matmul.allow_bf16_reduced_precision_reduction
    matmul.allow_bf16_reduced_precision_reduction = False
    try:
        eager = problem.reference(*arguments)
    finally:
        matmul.allow_bf16_reduced_precision_reduction = before
    exact = problem.reference(*[a.double() if isinstance(a, torch.Tensor) else a
                                for a in arguments])
    names = list(workload.outputs)
    if len(eager) != len(names):
        raise ValueError(f"the reference has {len(eager)} outputs, "
                         f"{workload.fileName} has {len(names)}")
    return {"eager": dict(zip(names, eager)), "exact": dict(zip(names, exact))}


def check(outputs, expected, case):
    """What the workloads' README calls correct: both references, the float64 one
    only where the eager reference itself passes against it."""
    result = {"passed": True}
    for kind, values in expected.items():
        report = {name: compare(actual, values[name], case)
                  for name, actual in zip(values, outputs)}
        passed = passes(report, case)
        required = kind == "eager" or passes(
            {name: compare(actual, values[name], case)
             for name, actual in expected["eager"].items()}, case)
        result[kind] = {"passed": passed, "required": required,
                        "outputs": report}
        result["passed"] &= passed or not required
    return result


# --------------------------------------------------------------- the machine


def smi(fields):
    """What nvidia-smi says, or why it says nothing."""
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}",
               "--format=csv,noheader,nounits", "-i",
               os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]]
    try:
        line = subprocess.run(command, capture_output=True, text=True,
                              timeout=20, check=True).stdout.splitlines()[0]
        return dict(zip(fields, (v.strip() for v in line.split(","))))
    except (OSError, subprocess.SubprocessError, IndexError) as error:
        return {"unavailable": str(error)}


def machine(device):
    import importlib.util
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda,
                "python": platform.python_version()}
    if importlib.util.find_spec("triton"):
        import triton
        versions["triton"] = triton.__version__
    result = {"versions": versions}
    if device == "cuda":
        p = torch.cuda.get_device_properties(0)
        state = smi(["driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem",
                     "power.limit", "temperature.gpu"])
        result["device"] = {"name": p.name, "compute_capability":
                            f"{p.major}.{p.minor}", "sm_count":
                            p.multi_processor_count, "l2_bytes":
                            p.L2_cache_size, "memory_bytes": p.total_memory}
        result["driver"] = state.pop("driver_version", None)
        result["state_at_start"] = state
    else:
        result["device"] = {"name": "cpu"}
        result["driver"] = None
    return result


# --------------------------------------------------------------- running


class Budget:
    """Decides before each measurement whether it still fits."""

    def __init__(self, seconds):
        self.begin = time.monotonic()
        self.seconds = seconds
        self.slowest = {}  # by peer: the longest measurement so far

    def elapsed(self):
        return time.monotonic() - self.begin

    def allows(self, peer):
        if self.seconds is None:
            return True
        return self.elapsed() + self.slowest.get(peer, 0.0) <= self.seconds

    def spent(self, peer, seconds):
        self.slowest[peer] = max(self.slowest.get(peer, 0.0), seconds)


def runPeer(peer, arguments, expected, case, stopwatch):
    """The JSON record of one peer in one case."""
    begin = time.monotonic()
    torch._dynamo.reset()  # else the eighth case would fall back to eager
    with torch.no_grad(), peer.settings():
        function = peer.build()
        outputs = function(*arguments)
        if stopwatch is not None:
            torch.cuda.synchronize()
        record = {"status": "ok", "first_run_s": time.monotonic() - begin}
        if expected is not None:
            record["check"] = check(outputs, expected, case)
            record["passed"] = record["check"].pop("passed")
        del outputs
        if stopwatch is not None and stopwatch.runs > 0:
            record.update(dataclasses.asdict(
                stopwatch.measure(lambda: function(*arguments))))
    record["total_s"] = time.monotonic() - begin
    return record


def warmCompileCache(options, indices, peers):
    """Compiles in several processes at once; they share PyTorch's disk cache.

    Only peers without autotuning profit: measured choices made beside other
    work would be bad ones, so those are left to the timed process.
    """
    names = [p.name for p in peers if p.compiles and "autotune" not in p.name]
    if not names or options.warm_processes < 1 or not indices:
        return 0.0
    begin = time.monotonic()
    workers = []
    for worker in range(min(options.warm_processes, len(indices))):
        mine = indices[worker::options.warm_processes]
        workers.append(subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--cases", options.cases,
             "--peers", ",".join(names), "--case-index",
             ",".join(map(str, mine)), "--reps", "0", "--no-check",
             "--seed", str(options.seed)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}))
    for worker in workers:
        left = None
        if options.budget_seconds is not None:
            left = max(1.0, options.budget_seconds / 2
                       - (time.monotonic() - begin))
        try:
            worker.wait(left)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
    return time.monotonic() - begin


def mean(cases, name):
    """Mean of the medians over the cases, if each case has one."""
    medians = [c["peers"].get(name, {}).get("median_us") for c in cases]
    if not medians or any(m is None for m in medians):
        return None
    return sum(medians) / len(medians)


def printTable(result, names, file=sys.stdout):
    def cell(record):
        if record is None:
            return "-"
        if record["status"] != "ok":
            return record["status"]
        mark = "" if record.get("passed", True) else " !"
        if "median_us" not in record:
            return ("checked" if "check" in record else "ran") + mark
        return f"{record['median_us']:.1f}{mark}"

    width = max([10] + [len(n) + 2 for n in names])
    print(f"{'case':>4} {'tokens':>7} {'scalars':<22}"
          + "".join(f"{n:>{width}}" for n in names), file=file)
    for case in result["cases"]:
        scalars = ",".join(f"{k}={str(v).lower()}"
                           for k, v in case["scalars"].items())
        print(f"{case['index']:>4} {case['tokens']:>7} {scalars:<22}"
              + "".join(f"{cell(case['peers'].get(n)):>{width}}"
                        for n in names), file=file)
    means = [mean(result["cases"], n) for n in names]
    if any(m is not None for m in means):
        print(f"{'mean':>4} {'':>7} {'':<22}"
              + "".join(f"{m:>{width}.1f}" if m is not None
                        else f"{'-':>{width}}" for m in means), file=file)
    print("median of the runs in us; '!': not correct by the workloads' rule",
          file=file)


def parseArguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", required=True, metavar="FILE",
                        help="a JSON file of workloads/")
    parser.add_argument("--peers", metavar="A,B",
                        help="which peers (default: those marked default in "
                             "graphs.py; 'all'; 'list' prints them)")
    parser.add_argument("--case-index", metavar="I,J",
                        help="only these cases, counted from 0")
    parser.add_argument("--max-tokens", type=int, metavar="N",
                        help="leave out cases with more tokens")
    parser.add_argument("--reps", type=int, default=50,
                        help="timed runs (default 50; 0 only runs once)")
    parser.add_argument("--json", metavar="FILE", help="write the result there")
    parser.add_argument("--budget-seconds", type=float, metavar="S",
                        help="start no measurement that would end later")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--warm-processes", type=int, default=0, metavar="N",
                        help="compile ahead in N processes (disk cache)")
    parser.add_argument("--check-only", action="store_true",
                        help="run and check, do not time")
    parser.add_argument("--no-check", action="store_true",
                        help="do not compare with the references")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda",
                        help="cpu only with --check-only")
    options = parser.parse_args()
    if options.device == "cpu" and not options.check_only:
        parser.error("--device=cpu checks only: add --check-only")
    if options.reps < 0:
        parser.error(f"--reps={options.reps}: expected 0 or more")
    return parser, options


def main():
    parser, options = parseArguments()
    try:
        workload = Workload(options.cases)
        problem = graphs.problemFor(workload.fileName)
        if options.peers == "list":
            for peer in problem.peers:
                print(f"{peer.name:<20} {peer.what}"
                      + ("" if peer.default else " (not by default)"))
            return 0
        if options.peers in (None, "all"):
            peers = [p for p in problem.peers if p.default or options.peers]
        else:
            peers = [problem.peer(n) for n in options.peers.split(",")]
        cases = workload.cases
        if options.case_index is not None:
            cases = [cases[int(i)] for i in options.case_index.split(",")]
        if options.max_tokens is not None:
            cases = [c for c in cases if workload.tokens(c) <= options.max_tokens]
        if not cases:
            raise WorkloadError("no case is left to run")
    except (WorkloadError, KeyError, IndexError, ValueError) as error:
        parser.error(str(error.args[0] if error.args else error))
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device that PyTorch can use "
                     "(--check-only --device=cpu checks the peers without one)")

    stopwatch = timing.Stopwatch(options.reps) if options.device == "cuda" else None
    if options.check_only and stopwatch is not None:
        stopwatch.runs = 0
    result = {"schema": SCHEMA, "workload": workload.fileName,
              "name": workload.json.get("name"), **machine(options.device),
              "protocol": stopwatch.protocol() if stopwatch else None,
              "seed": options.seed,
              "peers": {p.name: p.what for p in peers},
              "cases": [{"index": c.index, "axes": c.axes, "scalars": c.scalars,
                         "tokens": workload.tokens(c), "peers": {}}
                        for c in cases],
              "complete": False}
    budget = Budget(options.budget_seconds)
    # A terminating signal ends the loop like an exception, so the file is whole.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    failed = skipped = False
    try:
        result["warm_s"] = warmCompileCache(options, [c.index for c in cases],
                                            peers)
        # What compiles comes last: if the budget ends, the rest is complete.
        for compiles in (False, True):
            group = [p for p in peers if p.compiles == compiles]
            for case, row in zip(cases, result["cases"]) if group else ():
                if not any(budget.allows(p.name) for p in group):
                    for peer in group:
                        row["peers"][peer.name] = {"status": "budget"}
                    skipped = True
                    continue
                arguments = workload.makeInputs(case, options.seed, options.device)
                expected = None
                if not options.no_check:
                    with torch.no_grad():
                        expected = references(workload, problem, arguments)
                for peer in group:
                    if not budget.allows(peer.name):
                        row["peers"][peer.name] = {"status": "budget"}
                        skipped = True
                        continue
                    begin = time.monotonic()
                    try:
                        record = runPeer(peer, arguments, expected, case, stopwatch)
                    except Exception as error:  # any failure of a peer is a result
                        traceback.print_exc()
                        record = {"status": "failed", "error": str(error)[:2000]}
                        failed = True
                    budget.spent(peer.name, time.monotonic() - begin)
                    row["peers"][peer.name] = record
                    print(f"[{budget.elapsed():6.1f} s] case {case.index} "
                          f"({row['tokens']} tokens) {peer.name}: "
                          f"{record.get('median_us', record['status'])}",
                          file=sys.stderr, flush=True)
                del arguments, expected
                if options.json:
                    writeJson(options.json, result)
        result["complete"] = not (failed or skipped)
    finally:
        result["means"] = {p.name: mean(result["cases"], p.name) for p in peers}
        result["seconds"] = budget.elapsed()
        if options.device == "cuda":
            result["state_at_end"] = smi(["clocks.sm", "clocks.mem", "power.draw",
                                          "temperature.gpu"])
        if options.json:
            writeJson(options.json, result)
        printTable(result, [p.name for p in peers])
    return 1 if failed else 3 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
