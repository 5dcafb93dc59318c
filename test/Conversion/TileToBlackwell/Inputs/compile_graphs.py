#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles graphs for Blackwell, with tiles of one CTA and of pairs.

    compile_graphs.py KERNEL_OPT PTXAS DIR COUNT

Takes the first COUNT of DIR/*.mlir; several at a time. Each is compiled to cubins
for sm_100f as the cost model has it, and by tuning files with pairs of CTAs for
each tile width that fits. kernel-opt refuses code that spills. Prints a line for
each graph; exits with 1 if any failed, or no graph had pairs.
"""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

KERNEL_OPT, PTXAS, FOLDER, COUNT = sys.argv[1:5]


def run(graph, name, *options):
    output = graph[: -len(".mlir")] + "." + name + "/"
    return subprocess.run(
        [KERNEL_OPT, graph, "--emit=cubin", "--target=sm_100f", f"--ptxas={PTXAS}",
         "-j", "1", "-o", output, *options], capture_output=True, text=True)


def tune(graph, columns):
    """Compiles with pairs; tuning files have a split count for each product."""
    path = f"{graph[: -len('.mlir')]}.{columns}.json"
    splits = [1]
    while True:
        with open(path, "w") as file:
            json.dump({"ranges": [{"to": -1, "tile_m": 256, "tile_n": columns,
                                   "splits": splits}]}, file)
        result = run(graph, str(columns), f"--tuning={path}")
        expected = re.search(r"'splits' expects (\d+) integers", result.stderr)
        if not expected or int(expected[1]) == len(splits):
            return result
        splits = [1] * int(expected[1])


def check(graph):
    """Whether the graph passed, whether it had pairs, and what to say of it."""
    name = os.path.basename(graph)
    result = run(graph, "model")
    if result.returncode:
        return False, False, f"{name}: not compiled\n{result.stderr}"
    widths = []
    for columns in (128, 256):
        result = tune(graph, columns)
        if result.returncode == 0:
            widths.append(columns)
        elif "columns fits here" not in result.stderr:
            return False, False, f"{name}: pairs of {columns} columns not compiled\n{result.stderr}"
    return True, bool(widths), f"{name}: compiled, pairs of {widths} columns"


def main():
    graphs = sorted(glob.glob(os.path.join(FOLDER, "*.mlir")))[:int(COUNT)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, graphs))
    for _, _, line in results:
        print(line)
    passed = sum(ok for ok, _, _ in results)
    print(f"{passed} passed, {len(results) - passed} failed")
    return 0 if passed == len(results) and any(pairs for _, pairs, _ in results) else 1


sys.exit(main())
