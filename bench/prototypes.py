#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the hand-written kernels of a folder and times them for a workloads file.

    prototypes.py --dir prototypes --cases 079_ssm_gate_backward.json --json out.json
    prototypes.py --dir prototypes --cases FILE --build-only --build-dir B

The kernels check their own results and time themselves under the protocol of
kernel-run (L2 flushed, queued behind a spin, events, median). Each case is run
in every configuration that was ever the best for its token count, and the best
one of this run counts.

Exit status: 0 all measured and right; 1 a build or run failed, or a result was
wrong; 2 wrong use.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Callable, Dict, List, Tuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from workload import Case, Workload, WorkloadError, writeJson  # noqa: E402

SCHEMA = "backfuse-prototypes/1"
NVCC_FLAGS = ["-O3", "-std=c++17", "-gencode=arch=compute_90a,code=sm_90a",
              "--expt-relaxed-constexpr"]
RESULT = re.compile(r"^T\s+(?P<tokens>\d+)\s+(?:silu\s+\d+\s+)?(?P<config>\S+)\s+"
                    r"med\s+(?P<median>[\d.]+)\s+min\s+(?P<min>[\d.]+) us.*?"
                    r"\s(?P<verdict>ok|WRONG)\s")


@dataclasses.dataclass(frozen=True)
class Kernels:
    source: str
    builds: Dict[str, List[str]]  # name: macros
    # The arguments before the configurations; then for each build those to run.
    arguments: Callable[[Case, int, int], List[str]]
    configurations: Callable[[Case, int], List[Tuple[str, List[str]]]]


def gatedArguments(case: Case, tokens: int, runs: int) -> List[str]:
    silu = int(bool(case.scalars["use_silu_gate"]))
    return [str(tokens), str(silu), str(case.atol), str(runs)]


def gatedConfigurations(case: Case, tokens: int):
    """Grouped launch; K splits of the weight gradient and the cost of a
    projection tile's epilogue in K steps, which balances the lists of units."""
    def grouped(splits):
        return [f"g,{s},{cost},3,0,1" for s in splits for cost in (2, 4, 7)]

    result = [("n128", grouped([1, 2]))]
    if tokens >= 512:
        result += [("n192", grouped([1])), ("n256", grouped([1, 2]))]
    return result


def geluArguments(case: Case, tokens: int, runs: int) -> List[str]:
    return [str(tokens), str(case.atol), str(runs)]


def geluConfigurations(case: Case, tokens: int):
    """One launch; K splits of dG and of the input gradient, by token count."""
    if tokens <= 64:
        return [("64x128", ["s,4,7,0,0123", "s,2,7,0,0123"])]
    if tokens <= 128:
        return [("64x128", ["s,2,7,0,0123", "s,1,4,0,0123"])]
    if tokens <= 210:
        return [("64x128", ["s,1,4,0,0123", "s,1,7,0,0123"])]
    if tokens <= 300:
        return [("128x128", ["s,1,4,0,0123", "s,1,2,0,0123"])]
    if tokens <= 512:
        return [("256x256", ["s,1,4,0,0123", "s,1,2,0,0123", "s,1,4,0,g"])]
    if tokens <= 1100:
        return [("256x256", ["s,1,2,0,0123", "s,1,1,0,0123"])]
    return [("256x256", ["s,1,1,0,0123", "s,1,2,0,0123"]),
            ("256x256-spare", ["s,1,1,0,0123"])]


KERNELS: Dict[str, Kernels] = {
    "079": Kernels(
        "gated_backward.cu",
        {"n128": ["-DBN=128", "-DST=7"], "n192": ["-DBN=192", "-DST=5"],
         "n256": ["-DBN=256", "-DST=4"]},
        gatedArguments, gatedConfigurations),
    "022": Kernels(
        "mlp_backward_onelaunch.cu",
        {"64x128": ["-DTANH", "-DB0=64", "-DB1=128", "-DSOC=64"],
         "128x128": ["-DTANH", "-DB0=128", "-DB1=128", "-DSOC=64"],
         "256x256": ["-DTANH", "-DB0=256", "-DB1=256"],
         "256x256-spare": ["-DTANH", "-DB0=256", "-DB1=256", "-DBG=1"]},
        geluArguments, geluConfigurations),
}


class PrototypeError(Exception):
    pass


def prepare(folder: str, buildDir: str, kernels: Kernels):
    """Copies the sources (their folder may be read-only) and generates includes."""
    if not os.path.isfile(os.path.join(folder, kernels.source)):
        raise PrototypeError(f"{folder}: has no {kernels.source}")
    os.makedirs(buildDir, exist_ok=True)
    for name in os.listdir(folder):
        if name.endswith((".cu", ".cuh", ".py")):
            shutil.copyfile(os.path.join(folder, name),
                            os.path.join(buildDir, name))
    generator = os.path.join(buildDir, "gen.py")
    if os.path.exists(generator):
        subprocess.run([sys.executable, generator], cwd=buildDir, check=True)


def fingerprint(buildDir: str, macros: List[str]) -> str:
    """Of all sources and flags, so that a kept program is never a stale one."""
    digest = hashlib.sha256(" ".join(NVCC_FLAGS + macros).encode())
    for name in sorted(os.listdir(buildDir)):
        if name.endswith((".cu", ".cuh", ".inc")):
            with open(os.path.join(buildDir, name), "rb") as file:
                digest.update(file.read())
    return digest.hexdigest()[:12]


def build(nvcc: str, buildDir: str, kernels: Kernels, name: str) -> dict:
    program = os.path.join(
        buildDir, f"{os.path.splitext(kernels.source)[0]}-{name}-"
                  f"{fingerprint(buildDir, kernels.builds[name])}")
    begin = time.monotonic()
    if not os.path.exists(program):
        command = [nvcc, *NVCC_FLAGS, *kernels.builds[name], kernels.source,
                   "-o", program + ".part"]
        done = subprocess.run(command, cwd=buildDir, capture_output=True,
                              text=True)
        if done.returncode:
            raise PrototypeError(f"nvcc failed for {name}:\n{done.stderr[-3000:]}")
        os.replace(program + ".part", program)
    return {"name": name, "program": program,
            "seconds": time.monotonic() - begin}


def run(program: str, arguments: List[str], configurations: List[str],
        build: str, timeout: float) -> List[dict]:
    try:
        done = subprocess.run([program, *arguments, *configurations],
                              capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise PrototypeError(f"{os.path.basename(program)} "
                             f"{' '.join(arguments)}: no end after {timeout} s")
    results = []
    for line in done.stdout.splitlines():
        found = RESULT.match(line)
        if found:
            results.append({"build": build, "configuration": found["config"],
                            "median_us": float(found["median"]),
                            "min_us": float(found["min"]),
                            "right": found["verdict"] == "ok"})
    if done.returncode or len(results) != len(configurations):
        raise PrototypeError(
            f"{os.path.basename(program)} {' '.join(arguments + configurations)}:"
            f" exit status {done.returncode}, {len(results)} of "
            f"{len(configurations)} results\n{(done.stdout + done.stderr)[-2000:]}")
    return results


def parseArguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True, help="folder of the .cu files")
    parser.add_argument("--cases", required=True, metavar="FILE")
    parser.add_argument("--build-dir", metavar="DIR",
                        help="keeps the programs (default: a temporary folder)")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or
                        "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--reps", type=int, default=50)
    parser.add_argument("--max-tokens", type=int, metavar="N")
    parser.add_argument("--json", metavar="FILE")
    return parser, parser.parse_args()


def measure(workload, kernels, programs, options, result) -> bool:
    """Fills result["cases"]; true if every case has a right measurement."""
    allRight = True
    for case in workload.cases:
        tokens = workload.tokens(case)
        if options.max_tokens is not None and tokens > options.max_tokens:
            continue
        row = {"index": case.index, "axes": case.axes, "scalars": case.scalars,
               "tokens": tokens, "runs": []}
        result["cases"].append(row)
        for name, configurations in kernels.configurations(case, tokens):
            try:
                row["runs"] += run(programs[name],
                                   kernels.arguments(case, tokens, options.reps),
                                   configurations, name, 120)
            except PrototypeError as error:
                print(f"prototypes.py: {error}", file=sys.stderr)
                row.setdefault("errors", []).append(str(error))
                allRight = False
        right = [r for r in row["runs"] if r["right"]]
        allRight &= len(right) == len(row["runs"]) > 0
        if right:
            row["best"] = min(right, key=lambda r: r["median_us"])
            best = row["best"]
            print(f"{case.index:>4} {tokens:>7} {best['median_us']:>9.1f} us  "
                  f"{best['build']} {best['configuration']}", flush=True)
    return allRight


def main():
    parser, options = parseArguments()
    try:
        workload = Workload(options.cases)
        prefix = workload.fileName.split("_", 1)[0]
        if prefix not in KERNELS:
            raise PrototypeError(f"no hand-written kernel for {workload.fileName}:"
                                 f" there are {', '.join(sorted(KERNELS))}")
        kernels = KERNELS[prefix]
        if not os.path.exists(options.nvcc):
            raise PrototypeError(f"no nvcc at {options.nvcc}: give --nvcc")
    except (WorkloadError, PrototypeError) as error:
        parser.error(str(error))
    buildDir = options.build_dir or tempfile.mkdtemp(prefix="prototypes-")
    try:
        prepare(options.dir, buildDir, kernels)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            built = list(pool.map(
                lambda name: build(options.nvcc, buildDir, kernels, name),
                kernels.builds))
    except (PrototypeError, OSError, subprocess.SubprocessError) as error:
        print(f"prototypes.py: {error}", file=sys.stderr)
        return 1
    for b in built:
        print(f"built {b['name']} in {b['seconds']:.0f} s", flush=True)
    if options.build_only:
        return 0
    result = {"schema": SCHEMA, "workload": workload.fileName,
              "source": kernels.source, "cases": []}
    right = measure(workload, kernels, {b["name"]: b["program"] for b in built},
                    options, result)
    medians = [c["best"]["median_us"] for c in result["cases"] if "best" in c]
    if medians and len(medians) == len(result["cases"]):
        result["mean_us"] = sum(medians) / len(medians)
        print(f"mean {result['mean_us']:>17.1f} us")
    if options.json:
        writeJson(options.json, result)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
