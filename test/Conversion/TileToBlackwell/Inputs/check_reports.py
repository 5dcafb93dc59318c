# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether ptxas took every kernel of a compilation without spills and warnings.

    check_reports.py CUBINS DUMP [PLAN]

CUBINS is what --emit=cubin wrote, for sm_100a and sm_100f; DUMP its --dump-dir;
PLAN what --emit=plan prints for the same options. Each cubin must have ptxas's
report on it, each report a cubin; both targets must have the same kernels, and
they must be those that the plan's variants launch. Prints how many there are.
"""
import glob
import os
import re
import sys

TARGETS = ["sm_100a", "sm_100f"]
CLEAN = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"


def names(folder, suffix):
    return {os.path.basename(path)[:-len(suffix)] for path in glob.glob(os.path.join(folder, "*" + suffix))}


def check(report, kernel, target):
    """What is wrong with a report, or None."""
    with open(report) as file:
        text = file.read()
    if f"Compiling entry function '{kernel}' for '{target}'" not in text:
        return "is not of this kernel and target"
    if not re.search(rf"^ *{CLEAN}$", text, re.M) or text.count("spill stores") != text.count(CLEAN):
        return "does not say that nothing spills"
    found = re.search(r"^.*(warning|error|\(C7).*$", text, re.M | re.I)
    return found and f"says: {found[0]}"


def main():
    cubins, dump = sys.argv[1:3]
    kernels = names(cubins, ".cubin")
    bad = [f"{kernel}: only a report or only a cubin" for kernel in kernels ^ names(dump, ".ptxas")]
    byTarget = {target: {k[:-len(target) - 1] for k in kernels if k.endswith("." + target)} for target in TARGETS}
    if not kernels or byTarget[TARGETS[0]] != byTarget[TARGETS[1]]:
        bad.append(f"targets do not have the same kernels: {byTarget}")
    for target, ofTarget in byTarget.items():
        for kernel in sorted(ofTarget):
            wrong = check(os.path.join(dump, f"{kernel}.{target}.ptxas"), kernel, target)
            if wrong:
                bad.append(f"{kernel} for {target} {wrong}")
    if len(sys.argv) > 3:
        with open(sys.argv[3]) as file:
            parts = re.split(r"^target (\w+)$", file.read(), flags=re.M)[1:]
        plans = {target: set(re.findall(r"^ *launch (\w+):", text, re.M)) for target, text in zip(parts[::2], parts[1::2])}
        if plans != byTarget:
            bad.append(f"the plan launches {plans}, but compiled were {byTarget}")
    for line in bad:
        print(line)
    print(f"{len(byTarget[TARGETS[0]])} kernels for each of {', '.join(TARGETS)}:",
          f"{len(bad)} wrong" if bad else "no spills, no warnings")
    return 1 if bad else 0


sys.exit(main())
