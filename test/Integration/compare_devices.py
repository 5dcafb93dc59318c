#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what two devices compute on the same random inputs.

    compare_devices.py run --kernel-run KERNEL_RUN --device emulator --output DIR
        [--seed 1] BUNDLE.bfb S=64 B=1,S=131:use_silu_gate=true ...
    compare_devices.py compare DIR1 DIR2

`run` executes the cases with `kernel-run --inputs=random --check=declared`: each
output must lie within the numerics contract's bound of the evaluator's value,
element by element. It keeps outputs and reports in DIR. Run it once on the
emulator and once with `--device cuda:0`, on any machine, with the same bundle
and seed. `compare` then says how many bits agree and how far the two are apart:
no output may differ by more than its two distances from the evaluator allow.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy


def values(file):
    """An output as f32, and its bits."""
    array = numpy.load(file)
    if array.dtype.itemsize == 2 and array.dtype.kind == "V":  # bf16
        bits = array.view(numpy.uint16)
        return (bits.astype(numpy.uint32) << 16).view(numpy.float32), bits
    return array.astype(numpy.float32), array.view(f"u{array.dtype.itemsize}")


def run(options):
    bad = 0
    for case in options.cases:
        dims, _, params = case.partition(":")
        directory = os.path.join(options.output, case.replace(":", "_").replace(",", "_"))
        os.makedirs(directory, exist_ok=True)
        command = [options.kernel_run, options.bundle, f"--device={options.device}", "--inputs=random",
                   "--check=declared", f"--seed={options.seed}", "--dims", dims, "--output-dir", directory,
                   "--json", os.path.join(directory, "report.json")] + (["--set", params] if params else [])
        result = subprocess.run(command, text=True, capture_output=True)
        good = result.returncode == 0
        bad += not good
        print(f"{'ok  ' if good else 'FAIL'} {case}" + ("" if good else "\n" + result.stdout + result.stderr), flush=True)
    return len(options.cases) - bad, bad


def compare(options):
    passed = bad = 0
    for case in sorted(os.listdir(options.first)):
        reports = []
        for directory in (options.first, options.second):
            with open(os.path.join(directory, case, "report.json")) as file:
                reports.append({c["output"]: c for c in json.load(file)["cases"][0]["checks"]})
        for output in reports[0]:
            # A file is named for its output.
            (a, bitsA), (b, bitsB) = (values(os.path.join(d, case, output + ".npy"))
                                      for d in (options.first, options.second))
            allowed = sum(r[output]["max_error"] for r in reports)
            good = a.shape == b.shape and all(r[output]["passed"] for r in reports)
            apart, same = float("nan"), 0.0
            if good and a.size:
                apart = float(numpy.max(numpy.abs(a.astype(numpy.float64) - b), initial=0,
                                        where=numpy.isfinite(a) & numpy.isfinite(b)))
                same = float(numpy.mean(bitsA == bitsB))
                good = apart <= allowed and bool(numpy.all(numpy.isfinite(a) == numpy.isfinite(b)))
            passed, bad = passed + good, bad + (not good)
            print(f"{'ok  ' if good else 'FAIL'} {case} {output}: {100 * same:.2f} % of the elements equal, at most "
                  f"{apart:.3g} apart (allowed {allowed:.3g})")
    return passed, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run")
    runs.set_defaults(function=run)
    runs.add_argument("--kernel-run", required=True)
    runs.add_argument("--device", required=True)
    runs.add_argument("--output", required=True, metavar="DIR")
    runs.add_argument("--seed", type=int, default=1)
    runs.add_argument("bundle")
    runs.add_argument("cases", nargs="+", metavar="DIMS[:PARAMS]")
    compares = commands.add_parser("compare")
    compares.set_defaults(function=compare)
    compares.add_argument("first", metavar="DIR1")
    compares.add_argument("second", metavar="DIR2")
    options = parser.parse_args()
    passed, bad = options.function(options)
    print(f"{passed} passed, {bad} failed")
    sys.exit(0 if passed and not bad else 1)


if __name__ == "__main__":
    main()
