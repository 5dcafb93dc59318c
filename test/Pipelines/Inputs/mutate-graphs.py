# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles damaged graphs: whatever the text, kernel-opt ends by itself.

usage: mutate-graphs.py KERNEL-OPT COUNT SEED GRAPH...

Each mutant is one of the graphs with one to three tokens removed, repeated,
exchanged or replaced by a token of another graph. Exit status 0 and 1 are right; a
signal, another status, an error without a message or five minutes without end is
not. Mutants that went wrong are printed.
"""

import random
import re
import subprocess
import sys

TOKEN = re.compile(
    r"\s+|//[^\n]*\n|\"[^\"\n]*\"|[%@#!^]?[A-Za-z_][\w$.]*|\d+|->|[^\sA-Za-z_]"
)
EXTRA = ["0", "1", "7", "2147483648", "9223372036854775807", "?", "f64", "i1", "_", "T*S"]


def tokenize(text):
    return [token for token in TOKEN.findall(text) if not token.startswith("//")]


def mutate(tokens, pool, rng):
    tokens = list(tokens)
    for _ in range(rng.randint(1, 3)):
        places = [i for i, token in enumerate(tokens) if token.strip()]
        i, j = rng.choice(places), rng.choice(places)
        kind = rng.randrange(5)
        if kind == 0:
            tokens[i] = " "
        elif kind == 1:
            tokens.insert(i, tokens[i] + " ")
        elif kind == 2:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        elif kind == 3:
            tokens[i] = rng.choice(pool)
        else:
            # A word for a word of its kind gets furthest.
            same = [t for t in pool if t[0] == tokens[i][0]]
            tokens[i] = rng.choice(same or pool)
    return "".join(tokens)


def why_wrong(kernel_opt, text):
    command = [kernel_opt, "-", "--emit=plan", "--target=sm_90a"]
    try:
        run = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=300
        )
    except subprocess.TimeoutExpired:
        return "no end within five minutes"
    if run.returncode not in (0, 1):
        return f"exit status {run.returncode}\n{run.stderr[-2000:]}"
    if run.returncode == 1 and "error:" not in run.stderr:
        return "a failure without an error"
    return ""


def main(kernel_opt, count, seed, *paths):
    rng = random.Random(int(seed))
    graphs = []
    for path in paths:
        with open(path) as file:
            graphs.append(tokenize(file.read()))
    pool = sorted({t for graph in graphs for t in graph if t.strip()}) + EXTRA
    wrong = 0
    for number in range(int(count)):
        text = mutate(rng.choice(graphs), pool, rng)
        if reason := why_wrong(kernel_opt, text):
            wrong += 1
            print(f"mutant {number}: {reason}\n{text}")
    print(f"{count} mutants, {wrong} went wrong")
    sys.exit(1 if wrong else 0)


main(*sys.argv[1:])
