#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs other compilers' kernels on the emulator, against numpy, with all checks.

    run_third_party.py --kernel-emu build/bin/kernel-emu [--only TEXT] [--long] [-v]

Each kernel runs in order and in an adversarial order (--long: three of these and three random ones). A check that says
anything about them is a failure: they are right on hardware. Prints a table by compiler and architecture and, last,
"N passed, M failed".
"""

import argparse
import collections
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import common
import nvcc.problems
import triton.problems


def all_problems():
    yield from triton.problems.problems()
    yield from nvcc.problems.problems()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernel-emu", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--targets", default="sm_90,sm_90a,sm_100,sm_100a")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("-v", action="store_true", dest="verbose")
    options = parser.parse_args()
    seeds = "3" if options.long else "1"
    orders = "in-order,adversarial" + (",random" if options.long else "")
    passed = failed = 0
    table = collections.Counter()
    for compiler, target, name, ptx, job in all_problems():
        label = f"{compiler} {target} {name}"
        if target not in options.targets.split(","):
            continue
        if options.only and options.only not in label:
            continue
        start = time.time()
        with tempfile.TemporaryDirectory() as folder:
            launch = common.write_launch(job, ptx, folder)
            status, text = common.emulate(options.kernel_emu, launch, "--orders", orders, "--seeds", seeds)
        outcome = {0: "passed", 1: "FAILED", 3: "REFUSED"}.get(status, f"BROKEN ({status})")
        table[compiler, target, outcome] += 1
        passed += status == 0
        failed += status != 0
        if options.verbose or status:
            print(f"{label}: {outcome}, {time.time() - start:.1f} s", flush=True)
        if status:
            print("    " + "\n    ".join(text.strip().split("\n")[:12]), flush=True)
    for (compiler, target, outcome), count in sorted(table.items()):
        print(f"{compiler:8} {target:8} {outcome:10} {count}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or not passed


if __name__ == "__main__":
    sys.exit(main())
