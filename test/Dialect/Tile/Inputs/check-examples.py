# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that each example of a .td file stands in a test, word for word.

usage: check-examples.py TEST TD...

An example is a block between ```mlir and ```; line breaks and indentation do
not matter, lines of CHECK comments in the test are skipped.
"""

import re
import sys


def normalize(text):
    return " ".join(text.split())


def main(test, *tds):
    with open(test) as file:
        lines = [line for line in file if not line.lstrip().startswith("//")]
    tested = normalize("".join(lines))
    count = 0
    missing = []
    for td in tds:
        with open(td) as file:
            for example in re.findall(r"```mlir\n(.*?)```", file.read(), re.S):
                count += 1
                if normalize(example) not in tested:
                    missing.append(td + ":\n" + example)
    if not count:
        sys.exit("no examples found")
    if missing:
        sys.exit("examples that the test does not have:\n" + "\n".join(missing))


main(*sys.argv[1:])
