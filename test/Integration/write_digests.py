#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a file of digests: what a device computes on exact inputs.

    write_digests.py --kernel-run KERNEL_RUN --output FILE.json BUNDLE.bfb
        [--device reference] S=64 B=1,S=131:use_silu_gate=true ...

`kernel-run BUNDLE --compare-digests FILE` replays it on another device.
"""
import argparse
import json
import os
import subprocess
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel-run", required=True)
    parser.add_argument("--device", default="reference")
    parser.add_argument("--output", required=True)
    parser.add_argument("bundle")
    parser.add_argument("cases", nargs="+", metavar="DIMS[:PARAMS]")
    options = parser.parse_args()
    document = None
    with tempfile.TemporaryDirectory() as directory:
        part = os.path.join(directory, "case.json")
        for case in options.cases:
            dims, _, params = case.partition(":")
            command = [options.kernel_run, options.bundle, f"--device={options.device}", "--inputs=exact",
                       "--dims", dims, "--digests", part]
            subprocess.run(command + (["--set", params] if params else []), check=True, stdout=subprocess.DEVNULL)
            with open(part) as file:
                read = json.load(file)
            if document is None:
                document = read
            else:
                document["cases"] += read["cases"]
    with open(options.output + ".part", "w") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    os.replace(options.output + ".part", options.output)


if __name__ == "__main__":
    main()
