#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that loads of the next tile are in flight while a tile drains.

    overlap_test.py --kernel-opt KERNEL_OPT --kernel-run KERNEL_RUN

In a copy of a founding example's kernel the drain never stores: a barrier that
nobody else enters holds it before its first store. A second edit counts the
stages that the load task is given after its first tile, and traps at the N-th.
The largest N that traps is how far the load task gets beyond the border of the
tile that drains; then the ring must be full: the stages beyond the border and
those that the drain holds are all there are, and the load task waits for an
empty stage.
"""
import argparse
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import planted_faults as planted  # noqa: E402

GRAPH = ("ssm_gate_backward", "B=1,S=195", "use_silu_gate=true", 2)
# Tiles that one CTA drains as a whole, one after the other.
SCHEDULES = {"ssm_gate_backward": (128, [1, 1])}
ORDERS = ["order=inorder"] + [f"order=adversarial,seed={seed}" for seed in range(4)]
# What the drain holds: its output is staged in two stages in turn.
DRAIN_STAGES = 2


def instrument(lines, stages):
    """The drain is held; the load task traps when it is given its `stages`-th
    stage beyond its first tile."""
    grid = next(re.search(r"mov\.u32\s+(%r\d+), %nctaid\.x;", line)[1] for line in lines if "%nctaid.x" in line)
    result, i = [], 0
    while i < len(lines):
        line = lines[i]
        parity = planted.waitAt(lines, i)
        if parity and planted.isEmptyWait(lines, i, parity):
            end = planted.blockEnd(lines, i)
            result += lines[i:end + 1] + [
                "{ .reg .pred planted;", "setp.ne.u32 planted, plantedTiles, 0;",
                "@planted add.s32 plantedStages, plantedStages, 1;",
                f"setp.ge.u32 planted, plantedStages, {stages};", "@planted trap;", "}"]
            i = end + 1
            continue
        if re.match(r"\s*cp\.async\.bulk\.tensor\.\dd\.global", line):
            result.append("bar.sync 15, 64;")
        result.append(line)
        if line.strip() == "{" and i and lines[i - 1].startswith(".maxnreg"):
            result += [".reg .b32 plantedTiles, plantedStages;", "mov.b32 plantedTiles, 0;",
                       "mov.b32 plantedStages, 0;"]
        # The next tile of a persistent loop is a grid further.
        if re.match(rf"\s*add\.s32\s+(%r\d+), \1, {grid};", line):
            result.append("add.s32 plantedTiles, plantedTiles, 1;")
        i += 1
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel-opt", required=True)
    parser.add_argument("--kernel-run", required=True)
    options = parser.parse_args()
    options.sites = options.fault = options.json = None
    passed = 0
    with tempfile.TemporaryDirectory() as directory:
        hunt = planted.Hunt(options, directory)
        hunt.schedules = SCHEDULES
        bundle, modules = hunt.prepare(GRAPH)
        file = next(f for f, l in modules.items() if hunt.isExecuted(
            GRAPH, bundle, f, l, next(i for i, line in enumerate(l) if "%tid.x" in line)))
        lines = modules[file]
        numStages = max(int(m[1]) for m in map(re.compile(r"setp\.eq\.b32\s+%p\d+, %r\d+, (\d+);").search, lines)
                        if m and 3 <= int(m[1]) <= 12)
        for order in ORDERS:
            stages, last = 0, None
            while stages <= numStages:
                last = hunt.mutant(GRAPH, bundle, file, instrument(lines, stages + 1), order)
                if "trap" not in last.text:
                    break
                stages += 1
            load = re.search(r"CTA 0, warp 0 \(load\).*waits for the mbarrier at .*", last.text)
            good = bool(load) and "deadlock" in last.text and stages >= numStages - DRAIN_STAGES
            passed += good
            print(f"{'ok  ' if good else 'FAIL'} {order}: the load task got {stages} of {numStages} stages beyond the "
                  f"tile that drains, then {load[0] if load else last.finding()}")
    print(f"{passed} passed, {len(ORDERS) - passed} failed")
    sys.exit(0 if passed == len(ORDERS) else 1)


if __name__ == "__main__":
    main()
