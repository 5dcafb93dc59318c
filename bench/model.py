#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the cost model's times beside measured or published ones.

    model.py --plan PLAN --measured bench.json [--above 1000] [--within 0.25]
    model.py --plan PLAN --target sm_100f --published 079_....json [--record US]

PLAN is what `kernel-opt GRAPH --emit=plan --target=... --cases=FILE` writes,
bench.json what `kernel-run --bench --json` writes (in details.tar.gz of
scripts/gpu.sh), measured with a bundle of the same compiler. Writes a markdown
table: one row per case, then the means and, of measured times, the worst ratio.

Exit status: 0 every case above --above tokens is predicted within --within;
1 some is not; 2 a file lacks something, or they are not of the same cases.
"""

import argparse
import json
import re
import sys

HEAD = re.compile(r"^prediction for (\S+) on one (\S+)")
CASE = re.compile(r"^  case (.*): ([\d.]+) us with ")
KERNEL = re.compile(r"^    launch (\S+): ([\d.]+) us, bound by (.+)$")


class InputError(Exception):
    """What is wrong with which file."""


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON: {error}") from error


def member(table, name, where):
    if not isinstance(table, dict) or name not in table:
        raise InputError(f"{where}: missing key '{name}'")
    return table[name]


def readPlan(path, target):
    """The predicted cases of `target`, in order: values by name, microseconds
    and the kernels' (microseconds, bound)."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    found, current, cases = [], None, []
    for line in lines:
        if match := HEAD.match(line):
            current = match[1]
            found.append(current)
        elif current == target and (match := CASE.match(line)):
            values = dict(pair.split("=") for pair in match[1].split()
                          if "=" in pair)
            cases.append({"values": {k: float(v) for k, v in values.items()},
                          "us": float(match[2]), "kernels": []})
        elif current == target and (match := KERNEL.match(line)):
            cases[-1]["kernels"].append((float(match[2]), match[3]))
    if not cases:
        raise InputError(f"{path}: predicts nothing for {target}; its targets: "
                         + (", ".join(found) or "none"))
    return cases


def boundOf(case):
    """What binds the kernels, the longest first."""
    names = []
    for _, bound in sorted(case["kernels"], reverse=True):
        if bound not in names:
            names.append(bound)
    return ", ".join(names)


def text(values):
    return ", ".join(f"{k}={v:g}" for k, v in values.items())


def compareMeasured(plan, path, above, within):
    """Rows of measured cases and those that the model misses."""
    predicted = {tuple(sorted(c["values"].items())): c for c in plan}
    rows, missed = [], []
    for number, row in enumerate(member(load(path), "cases", path)):
        where = f"{path}: case {row.get('index', number)}"
        values = {**member(row, "dims", where), **(row.get("params") or {})}
        values = {k: float(v) for k, v in values.items()}
        case = predicted.get(tuple(sorted(values.items())))
        if not case:
            raise InputError(f"{where} ({text(values)}) is not in the plan")
        tokens, time = row["tokens"], float(member(row, "median_us", where))
        ratio = case["us"] / time
        if tokens > above and not 1 - within <= ratio <= 1 + within:
            missed.append(f"{text(values)}: predicted {case['us']:.1f} us, "
                          f"measured {time:.1f}, ratio {ratio:.2f}")
        rows.append((tokens, text(values), time, case["us"], ratio,
                     boundOf(case)))
    rows.sort()
    return rows, missed


def printMeasured(rows, above):
    print("| case | tokens | measured | predicted | ratio | bound |")
    print("|---|---|---|---|---|---|")
    for tokens, name, time, us, ratio, bound in rows:
        print(f"| {name} | {tokens} | {time:.1f} | {us:.1f} | {ratio:.2f} | "
              f"{bound} |")
    times, predictions = [r[2] for r in rows], [r[3] for r in rows]
    mean, predictedMean = (sum(x) / len(rows) for x in (times, predictions))
    print(f"| mean of {len(rows)} |  | {mean:.1f} | {predictedMean:.1f} | "
          f"{predictedMean / mean:.2f} |  |")
    for label, some in ((f"above {above} tokens",
                         [r for r in rows if r[0] > above]), ("of all", rows)):
        if some:
            worst = max(some, key=lambda r: abs(r[4] - 1))
            print(f"\nworst {label}: {worst[4]:.2f} ({worst[1]})")


def comparePublished(plan, path, record):
    document = load(path)
    cases = member(document, "cases", path)
    if len(cases) != len(plan):
        raise InputError(f"{path}: has {len(cases)} cases, the plan {len(plan)};"
                         " make the plan with --cases of this file")
    rows = []
    for number, (case, row) in enumerate(zip(plan, cases)):
        where = f"{path}: case {number}"
        tokens = 1
        for value in member(row, "axes", where).values():
            tokens *= value
        rows.append((tokens, text({**row["axes"], **row.get("scalars", {})}),
                     case["us"], member(row, "b200_sol_us", where),
                     member(row, "b200_baseline_us", where), boundOf(case)))
    rows.sort()
    print("| case | tokens | predicted | SOL | predicted / SOL | baseline | "
          "predicted / baseline | bound |")
    print("|---|---|---|---|---|---|---|---|")
    for tokens, name, us, sol, baseline, bound in rows:
        print(f"| {name} | {tokens} | {us:.1f} | {sol:.1f} | {us / sol:.2f} | "
              f"{baseline:.1f} | {us / baseline:.2f} | {bound} |")
    us, sol, baseline = (sum(r[i] for r in rows) / len(rows) for i in (2, 3, 4))
    print(f"| mean of {len(rows)} |  | {us:.1f} | {sol:.1f} | {us / sol:.2f} | "
          f"{baseline:.1f} | {us / baseline:.2f} |  |")
    if record:
        print(f"\nmean {us:.1f} us, record {record:.1f} us: "
              f"{us / record:.2f} of it")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", required=True)
    parser.add_argument("--target", default="sm_90a")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--measured", metavar="JSON")
    what.add_argument("--published", metavar="JSON")
    parser.add_argument("--above", type=int, default=1000)
    parser.add_argument("--within", type=float, default=0.25)
    parser.add_argument("--record", type=float, default=0)
    options = parser.parse_args()
    try:
        plan = readPlan(options.plan, options.target)
        if options.published:
            comparePublished(plan, options.published, options.record)
            return 0
        rows, missed = compareMeasured(plan, options.measured, options.above,
                                       options.within)
        printMeasured(rows, options.above)
    except InputError as error:
        print(f"model.py: {error}", file=sys.stderr)
        return 2
    for line in missed:
        print(f"model.py: {line}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
