# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a plan's times add up: kernels to cases, cases to the mean."""
import re
import sys

text = sys.stdin.read().split("prediction for", 1)[1]
cases = []
for part in re.split(r"^  case ", text, flags=re.M)[1:]:
    total = float(re.search(r": ([\d.]+) us with", part)[1])
    kernels = [float(us) for us in re.findall(r"launch \w+: ([\d.]+) us", part)]
    assert kernels, "a case without kernels"
    assert abs(sum(kernels) - total) <= 0.1 * len(kernels), (kernels, total)
    cases.append(total)
mean = float(re.search(r"mean of \d+ case\(s\): ([\d.]+) us", text)[1])
assert len(cases) > 1 and abs(sum(cases) / len(cases) - mean) <= 0.11, (cases, mean)
