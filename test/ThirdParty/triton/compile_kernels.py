#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the kernels with Triton, which needs no GPU for that, into ptx/ and kernels.json.

    pip install triton numpy      (in an environment of its own)
    compile_kernels.py [CASE...]

The results are in the repository: only those who change a kernel run this.
"""

import json
import os
import re
import subprocess
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

import kernels
from cases import CASES

HERE = os.path.dirname(os.path.abspath(__file__))


def strip(ptx):
    """Without what is for debuggers: .loc and .file lines, comments, sections."""
    ptx = re.sub(r"\n\t?\.section.*?\n\t?\}", "", ptx, flags=re.S)
    lines = []
    for line in ptx.split("\n"):
        line = re.sub(r"\s*//.*", "", line).rstrip()
        if line and not re.match(r"\s*\.(loc|file)\b", line) and not re.match(r"\$L__tmp\d+:|\$L__func", line):
            lines.append(line)
    return "\n".join(lines) + "\n"


def compile_case(name, case, target):
    signature, constants, attributes = {}, {}, {}
    for index, (parameter, kind) in enumerate(case["signature"].items()):
        if isinstance(kind, tuple):
            signature[parameter] = "constexpr"
            constants[(index,)] = kind[1]
        else:
            signature[parameter] = kind
            # What a call with aligned arrays and extents would tell the compiler.
            if kind.startswith("*") or (kind == "i32" and parameter in ("am", "ak", "bk", "bn", "k", "n", "columns", "length")):
                attributes[(index,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=getattr(kernels, case["function"]), signature=signature, constexprs=constants, attrs=attributes)
    options = dict(num_warps=case["warps"], num_stages=case["stages"], **case["options"])
    compiled = triton.compile(source, target=GPUTarget("cuda", int(target[3:]), 32), options=options)
    with open(os.path.join(HERE, "ptx", f"{name}.{target}.ptx"), "w") as file:
        file.write(strip(compiled.asm["ptx"]))
    meta = compiled.metadata
    threads = int(re.search(r"\.reqntid\s+(\d+)", compiled.asm["ptx"]).group(1))
    entry = dict(kernel=meta.name, threads=threads, shared=meta.shared, ctas=meta.num_ctas,
                 global_scratch=[meta.global_scratch_size, meta.global_scratch_align],
                 profile_scratch=[meta.profile_scratch_size, meta.profile_scratch_align],
                 signature={p: k for p, k in case["signature"].items()})
    if meta.tensordesc_meta:
        entry["descriptors"] = [dict(d) if d is not None else None for d in meta.tensordesc_meta]
    return entry


def main():
    os.makedirs(os.path.join(HERE, "ptx"), exist_ok=True)
    path = os.path.join(HERE, "kernels.json")
    data = {"kernels": {}}
    if os.path.exists(path):
        with open(path) as file:
            data = json.load(file)
    ptxas = subprocess.run([get_ptxas(90).path, "--version"], capture_output=True, text=True).stdout
    data["made_by"] = {"triton": triton.__version__, "ptxas": re.search(r"V[\d.]+", ptxas).group(0)}
    for name, case in CASES.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        for target in case["targets"]:
            print(name, target, flush=True)
            try:
                data["kernels"][f"{name}.{target}"] = compile_case(name, case, target)
            except Exception as error:
                print("FAILED", name, target, type(error).__name__, str(error)[:2000])
    with open(path, "w") as file:
        json.dump(data, file, indent=1, sort_keys=True)
        file.write("\n")


main()
