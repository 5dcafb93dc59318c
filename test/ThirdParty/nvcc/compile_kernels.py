#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the CUDA C++ kernels with nvcc, which must be on PATH, into ptx/ and kernels.json.

The results are in the repository: only those who change a kernel run this.
"""

import json
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = {"portable": ("sm_90a", "sm_100a"), "hopper": ("sm_90a",), "blackwell": ("sm_100a",)}


def strip(ptx):
    """Without comments, which name the compiler's build."""
    lines = [re.sub(r"\s*//.*", "", line).rstrip() for line in ptx.split("\n")]
    return "\n".join(line for line in lines if line) + "\n"


def main():
    os.makedirs(os.path.join(HERE, "ptx"), exist_ok=True)
    for source, targets in SOURCES.items():
        path = os.path.join(HERE, source + ".cu")
        if not os.path.exists(path):
            continue
        for target in targets:
            out = os.path.join(HERE, "ptx", f"{source}.{target}.ptx")
            subprocess.run(["nvcc", "-std=c++17", f"-arch={target}", "-ptx", path, "-o", out], check=True)
            with open(out) as file:
                text = file.read()
            with open(out, "w") as file:
                file.write(strip(text))
    version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout
    with open(os.path.join(HERE, "kernels.json"), "w") as file:
        json.dump({"made_by": {"nvcc": re.search(r"V[\d.]+", version).group(0)}}, file, indent=1)
        file.write("\n")


main()
