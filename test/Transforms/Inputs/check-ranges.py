# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the ranges that backfuse-select-schedule leaves on a graph's clones.

usage: check-ranges.py GRAPH [--unsplit N ...] < IR

The ranges of all clones of GRAPH together cover the token counts from 1 without
holes or overlaps, the last without end; split counts are positive, and 1 for the
fused ops numbered N.
"""

import argparse
import re
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("graph")
    parser.add_argument("--unsplit", type=int, action="append", default=[])
    options = parser.parse_args()

    ranges = []
    clones = 0
    # The attributes of a graph follow its arguments, before its body.
    for graph in re.split(r"(?=mlp\.graph @)", sys.stdin.read()):
        if not re.match(rf"mlp\.graph @{options.graph}__n\d+\(", graph):
            continue
        clones += 1
        found = re.findall(
            r"#tile\.range<from = (-?\d+), to = (-?\d+), splits = \[([\d, ]*)\]>",
            graph.split("mlp.launch")[0],
        )
        if not found:
            sys.exit("a clone without a range")
        for begin, end, splits in found:
            splits = [int(count) for count in splits.split(",")]
            ranges.append((int(begin), int(end), splits))
    if not ranges:
        sys.exit(f"no clone of @{options.graph}")
    ranges.sort(key=lambda entry: entry[0])
    expected = 1
    for begin, end, splits in ranges:
        if begin != expected or (end != -1 and end <= begin):
            sys.exit(f"range {begin} to {end} where one from {expected} is due")
        if min(splits) < 1 or any(splits[n] != 1 for n in options.unsplit):
            sys.exit(f"range {begin} to {end} has the splits {splits}")
        expected = end
    if expected != -1:
        sys.exit(f"the last range ends at {expected}")
    print(f"{clones} clones, {len(ranges)} ranges from 1 without end")


main()
