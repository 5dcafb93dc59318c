#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts kernel-run's times beside the peers' and the hand-written kernels'.

    compare.py --ours bench.json --peers peers.json [--prototypes proto.json]
               [--against compile,compile-autotune] [--beside eager]
               [--title TEXT] [--output FILE]

Writes a markdown table: one row per case, times in us (medians), their means
below. Of the peers named by --against the fastest counts in each case.

Exit status: 0 ours is never slower than --against; 1 it is slower somewhere;
2 a file lacks something, or the files are not of one machine or one workload.
"""

import argparse
import json
import sys


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


def find(table, names, where):
    """The first of `names` (dots descend) that `table` has."""
    for name in names:
        value = table
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            return value
    raise InputError(f"{where}: missing key '{names[0]}'"
                     + (f" (nor {', '.join(names[1:])})" if names[1:] else ""))


def findOrNone(table, names):
    try:
        return find(table, names, "")
    except InputError:
        return None


def plain(value):
    """Scalars compare equal however they were written: true, 1, "true"."""
    words = {"true": 1.0, "false": 0.0}
    word = str(value).lower()
    return words[word] if word in words else float(value)


def caseKey(row, where):
    axes = find(row, ["axes"], where)
    scalars = row.get("scalars") or {}
    return (tuple(sorted((k, int(v)) for k, v in axes.items())),
            tuple(sorted((k, plain(v)) for k, v in scalars.items())))


def rowsByCase(document, path):
    rows = find(document, ["cases"], path)
    result = {}
    for number, row in enumerate(rows):
        where = f"{path}: case {row.get('index', number)}"
        result[caseKey(row, where)] = (row, where)
    if not result:
        raise InputError(f"{path}: has no cases")
    return result


def machineOf(document):
    device = document.get("device")
    if isinstance(device, dict):
        device = device.get("name")
    return device


def checkSameMachine(documents):
    known = {path: machineOf(d) for path, d in documents if machineOf(d)}
    if len(set(known.values())) > 1:
        raise InputError("the files are of different machines: " + ", ".join(
            f"{path} of {name}" for path, name in known.items()))


def peerTime(row, names):
    """(time, name, correct) of the fastest of `names` that was measured."""
    measured = [(r["median_us"], name, r.get("passed", True))
                for name, r in row["peers"].items()
                if name in names and r.get("median_us") is not None]
    return min(measured, default=None)


class Table:
    def __init__(self, ours, peers, prototypes, against, beside):
        self.against, self.beside = against, beside
        self.hasPrototypes = prototypes is not None
        self.rows, self.slower, self.notes = [], [], []
        theirs = rowsByCase(peers[0], peers[1])
        hand = rowsByCase(*prototypes) if prototypes else {}
        for key, (row, where) in rowsByCase(*ours).items():
            self.add(key, row, where, theirs, hand)
        missing = [w for k, (_, w) in theirs.items()
                   if k not in rowsByCase(*ours)]
        self.notes += [f"{w} is not in {ours[1]}" for w in missing]
        if not any(r["against"] for r in self.rows):
            raise InputError(f"{peers[1]}: no case has a time of "
                             f"{', '.join(sorted(against))}")

    def add(self, key, row, where, theirs, hand):
        time = float(find(row, ["median_us", "bench.median_us", "time.median_us",
                                "time_us.median"], where))
        floor = findOrNone(row, ["floor_us", "bench.floor_us",
                                   "floor.us", "time.floor_us"])
        peers = theirs.get(key, (None,))[0]
        against = peerTime(peers, self.against) if peers else None
        best = hand.get(key, ({},))[0].get("best", {})
        passed = row.get("passed", True)
        record = {"label": label(key), "tokens": tokens(key), "ours": time,
                  "floor": floor, "against": against,
                  "prototype": best.get("median_us"), "passed": passed,
                  "beside": [peerTime(peers, {n}) if peers else None
                             for n in self.beside]}
        self.rows.append(record)
        if against and time > against[0]:
            self.slower.append(f"{record['label']}: {time:.1f} us, "
                               f"{against[1]} {against[0]:.1f} us")
        if not against:
            self.notes.append(f"{where}: no time of "
                              f"{', '.join(sorted(self.against))}")

    def means(self):
        """Means over all cases, None where a case lacks the number."""
        def mean(values):
            values = list(values)
            return None if any(v is None for v in values) else \
                sum(values) / len(values)
        return {"ours": mean(r["ours"] for r in self.rows),
                "floor": mean(r["floor"] for r in self.rows),
                "prototype": mean(r["prototype"] for r in self.rows),
                "against": mean(r["against"] and r["against"][0]
                                for r in self.rows),
                "beside": [mean(r["beside"][i] and r["beside"][i][0]
                                for r in self.rows)
                           for i in range(len(self.beside))]}

    def markdown(self):
        used = {r["against"][1] for r in self.rows if r["against"]}
        name = "/".join(sorted(used))
        head = ["case", "tokens", "floor", "**ours**"]
        head += ["prototype", "ours / prototype"] if self.hasPrototypes else []
        head += [name, f"ours / {name}"] + list(self.beside) + ["ours / floor"]
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for r in sorted(self.rows, key=lambda r: (r["tokens"], r["label"])):
            lines.append(self.line(
                r["label"], str(r["tokens"]), r["floor"], r["ours"],
                r["prototype"], r["against"] and r["against"][0],
                [b and b[0] for b in r["beside"]],
                "" if r["against"] is None or r["against"][2] else " (!)",
                "" if r["passed"] else " (wrong)"))
        m = self.means()
        lines.append(self.line(f"mean of {len(self.rows)}", "", m["floor"],
                               m["ours"], m["prototype"], m["against"],
                               m["beside"], "", ""))
        if any(r["against"] and not r["against"][2] for r in self.rows):
            lines.append("\n(!): this peer is outside the case's tolerance "
                         "against the eager reference.")
        return "\n".join(lines) + "\n"

    def line(self, text, count, floor, ours, prototype, against, beside, mark,
             wrong):
        cells = [text, count, number(floor), f"**{number(ours)}**{wrong}"]
        if self.hasPrototypes:
            cells += [number(prototype), ratio(ours, prototype)]
        cells += [number(against) + mark, ratio(ours, against)]
        cells += [number(b) for b in beside] + [ratio(ours, floor)]
        return "| " + " | ".join(cells) + " |"


def number(value):
    return "–" if value is None else f"{value:.1f}"


def ratio(a, b):
    return "–" if not a or not b else f"{a / b:.2f}"


def label(key):
    axes, scalars = key
    return ", ".join([f"{k}={v}" for k, v in axes]
                     + [f"{k}={v:g}" for k, v in scalars])


def tokens(key):
    result = 1
    for _, extent in key[0]:
        result *= extent
    return result


def parseArguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, metavar="FILE",
                        help="of kernel-run --bench --json")
    parser.add_argument("--peers", required=True, metavar="FILE")
    parser.add_argument("--prototypes", metavar="FILE")
    parser.add_argument("--against", default="compile,compile-autotune,"
                        "compile-rounded", metavar="A,B")
    parser.add_argument("--beside", default="eager", metavar="A,B",
                        help="peers that get a column and decide nothing")
    parser.add_argument("--title", help="a heading above the table")
    parser.add_argument("--output", metavar="FILE", help="default: stdout")
    return parser.parse_args()


def main():
    options = parseArguments()
    split = lambda text: [n for n in text.split(",") if n]  # noqa: E731
    try:
        ours, peers = load(options.ours), load(options.peers)
        prototypes = load(options.prototypes) if options.prototypes else None
        checkSameMachine([(options.ours, ours), (options.peers, peers)])
        table = Table((ours, options.ours), (peers, options.peers),
                      prototypes and (prototypes, options.prototypes),
                      set(split(options.against)), split(options.beside))
    except (InputError, TypeError, ValueError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    text = table.markdown()
    if options.title:
        text = f"### {options.title}\n\n{text}\n"
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text, end="")
    for note in table.notes:
        print(f"compare.py: note: {note}", file=sys.stderr)
    for case in table.slower:
        print(f"compare.py: slower than its peer: {case}", file=sys.stderr)
    return 1 if table.slower else 0


if __name__ == "__main__":
    sys.exit(main())
