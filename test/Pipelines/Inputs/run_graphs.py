#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles graphs and runs their cases on the emulator.

    run_graphs.py KERNEL_OPT PTXAS KERNEL_RUN DIR [COUNT]

Takes the first COUNT (default: all) of DIR/*.mlir, each with its cases in a JSON
file beside it, as bench/random_epilogues.py writes them; several at a time.
Without elementary functions every bit of exact inputs must agree, with some the
numerics contract's bound must hold. An instruction that the emulator refuses by name
is told, and no failure. Prints a line for each graph; exits with 1 if any failed.
"""
import concurrent.futures
import glob
import json
import os
import subprocess
import sys

KERNEL_OPT, PTXAS, KERNEL_RUN, FOLDER = sys.argv[1:5]
COUNT = int(sys.argv[5]) if len(sys.argv) > 5 else None
MAX_TOKENS = 131

with open(os.path.join(FOLDER, "manifest.json")) as file:
    EXACT = {g["file"]: not g["functions"] for g in json.load(file)["graphs"]}


def check(graph):
    """Whether the graph passed (None: not known), and what to say of it."""
    stem = graph[: -len(".mlir")]
    compiled = subprocess.run(
        [KERNEL_OPT, graph, "--emit=bundle", "--target=sm_90a", f"--ptxas={PTXAS}",
         "-j", "1", "-o", stem + ".bfb"], capture_output=True, text=True)
    name = os.path.basename(stem)
    if compiled.returncode:
        return False, f"{name}: not compiled\n{compiled.stderr}"
    with open(stem + ".json") as file:
        cases = json.load(file)
    # A graph may have larger cases only: those are for a GPU.
    fits = []
    for case in cases["cases"]:
        tokens = 1
        for axis in case["axes"].values():
            tokens *= axis
        fits.append(tokens <= MAX_TOKENS)
    if not any(fits):
        return True, f"{name}: compiled; no case of at most {MAX_TOKENS} tokens"
    ran = subprocess.run(
        [KERNEL_RUN, stem + ".bfb", "--device=emulator", "--cases", stem + ".json",
         f"--max-tokens={MAX_TOKENS}"] + (["--inputs=exact"] if EXACT[name + ".mlir"] else []),
        capture_output=True, text=True)
    if "is not supported by the emulator" in ran.stderr:
        return None, f"{name}: compiled; {ran.stderr.strip().splitlines()[-1]}"
    if ran.returncode:
        return False, f"{name}: compiled; on the emulator:\n{ran.stdout}{ran.stderr}"
    return True, f"{name}: compiled, {sum(fits)} cases on the emulator agree"


def main():
    graphs = sorted(glob.glob(os.path.join(FOLDER, "*.mlir")))[:COUNT]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, graphs))
    for _, line in results:
        print(line)
    verdicts = [ok for ok, _ in results]
    print(f"{verdicts.count(True)} passed, {verdicts.count(False)} failed, "
          f"{verdicts.count(None)} refused by the emulator")
    return 0 if True in verdicts and False not in verdicts else 1


sys.exit(main())
