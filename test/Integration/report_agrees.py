#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what kernels did on the emulator with what the compiler predicts.

    report_agrees.py --kernel-opt KERNEL_OPT --kernel-run KERNEL_RUN [--long]

`kernel-run --device=emulator --report=json` and `kernel-opt --emit=plan --dims` of the founding graphs, features cut, at a
small and at a larger size, for Hopper and Blackwell, with splits, too; full-size with --long. Each kernel must agree:

- operations of the tensor core, with the edges of tiles: equal; those of the products alone: equal to kernel-run's plan
- inputs: each byte is read by some kernel; outputs: each byte is written by exactly one
- bytes read and written, each counted once a kernel: what the plan says, and beside it only what the plan leaves out:
  flags and the partial column sums of one launch, up to SCRATCH of it

Prints "N passed, M failed".
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "Integration"))
from run_on_emulator import cutFeatures

# Column sums have a partial of 4 bytes for each 64 rows. The rest is flags.
SCRATCH = 0.07
TARGETS = ["sm_90a", "sm_100f"]
KERNEL = re.compile(r"^    launch (\S+): .*\n      bytes (\d+) read, (\d+) written; operations (.*)$", re.M)
# Graph, flags of the compiler, dimensions, parameters.
GATE, GELU = "ssm_gate_backward", "mlp_gelu_backward"
SMALL = [(GATE, [], ["B=1,S=131", "B=2,S=512"], "use_silu_gate=true"),
         (GATE, [], ["B=1,S=256"], "use_silu_gate=false"),
         (GELU, ["--matmul-precision=fp16"], ["S=131", "S=512"], ""),
         (GELU, ["--matmul-precision=tf32"], ["S=256"], ""),
         (GELU, ["--matmul-precision=bf16x3"], ["S=256"], "")]
FULL = [(GATE, [], ["B=1,S=131", "B=1,S=1024"], "use_silu_gate=true"),
        (GELU, ["--matmul-precision=fp16"], ["S=131", "S=512"], ""),
        (GELU, ["--matmul-precision=tf32"], ["S=128"], "")]
SPLITS = {GATE: [2, 3], GELU: [2, 1, 3, 2]}


def run(command, environment=None):
    result = subprocess.run(command, text=True, capture_output=True, timeout=1800, env={**os.environ, **(environment or {})})
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return result.stdout


def readPrediction(text):
    """[(name, bytes read, bytes written, operations, operations of whole tiles)]"""
    kernels = []
    for name, read, written, operations in KERNEL.findall(text):
        plain = tiles = 0
        if operations != "none":
            plain = sum(int(n) for n in re.findall(r"(\d+) (?:bf16|fp16|tf32)\b", operations))
            tiles = int(re.search(r"of whole tiles (\d+)$", operations)[1])
        kernels.append((name, int(read), int(written), plain, tiles))
    return kernels


def differences(prediction, report, outputs):
    """What does not agree, in words."""
    if len(prediction) != len(report["kernels"]):
        yield f"the plan has {len(prediction)} kernels, {len(report['kernels'])} ran"
        return
    tensors = {}
    for (name, planRead, planWritten, _, planTiles), kernel in zip(prediction, report["kernels"]):
        if kernel["tensor_operations"] != planTiles:
            yield f"{name}: {kernel['tensor_operations']:.0f} operations, {planTiles} in the plan"
        for what, plan, key in (("read", planRead, "bytes_read"), ("written", planWritten, "bytes_written")):
            got = sum(buffer[key] for buffer in kernel["buffers"])
            if not plan <= got <= plan * (1 + SCRATCH) + 4096:
                yield f"{name}: {got} bytes {what}, {plan} in the plan"
        for buffer in kernel["buffers"]:
            tensors.setdefault(buffer["name"], []).append(buffer)
    plain = sum(kernel[3] for kernel in prediction)
    if plain != report["plan"]["operations"]:
        yield f"{plain} operations in --emit=plan, {report['plan']['operations']} in the bundle's plan"
    for name in outputs:
        if name not in tensors:
            yield f"output {name}: no kernel writes it"
    for name, buffers in tensors.items():
        read, written = [b["bytes_read"] for b in buffers], [b["bytes_written"] for b in buffers]
        good = sum(written) == buffers[0]["bytes"] if name in outputs else max(read) == buffers[0]["bytes"] and not any(written)
        if name != "workspace" and not good:
            yield f"{name} of {buffers[0]['bytes']} bytes: read {read}, written {written}"


class Tests:
    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.passed, self.failed = 0, 0

    def check(self, name, bundle, source, flags, dims, setting, target):
        options = ["--dims", dims] + (["--set", setting] if setting else [])
        try:
            plan = run([self.options.kernel_opt, source, "--emit=plan", f"--target={target}", *flags, *options])
            text = run([self.options.kernel_run, bundle, f"--device=emulator:{target}", "--inputs=exact", "--report=json",
                        *options], {"BACKFUSE_EMULATOR": "checks=off"})
            report = json.loads(text)
            with open(source) as file:
                graph = file.read()
            outputs = re.findall(r'"(\w+)"', graph[graph.index("mlp.output"):])
            bad = list(differences(readPrediction(plan), report, outputs))
        except (RuntimeError, ValueError) as error:
            bad = [str(error)]
        self.passed += not bad
        self.failed += bool(bad)
        print(f"{'FAIL' if bad else 'ok  '} {name}, {dims} on {target}", flush=True)
        for text in bad:
            print("    " + text[-2000:], flush=True)

    def graph(self, name, flags, sizes, setting, isCut, splits):
        what = " ".join([name, *[f.split("=")[1] for f in flags], "cut" if isCut else "full-size", *(["split"] if splits else [])])
        source = os.path.join(self.directory, what.replace(" ", ".") + ".mlir")
        with open(os.path.join(ROOT, "examples", name + ".mlir")) as file:
            text = file.read()
        with open(source, "w") as file:
            file.write(cutFeatures(text) if isCut else text)
        if splits:
            tuning = source.replace(".mlir", ".json")
            with open(tuning, "w") as file:
                json.dump({"ranges": [{"to": -1, "tile_m": 128, "tile_n": 128, "splits": splits}]}, file)
            flags = [*flags, f"--tuning={tuning}"]
        bundle = source.replace(".mlir", ".bfb")
        try:
            run([self.options.kernel_opt, source, "--emit=bundle", "--target=" + ",".join(TARGETS), *flags, "-o", bundle])
        except RuntimeError as error:
            self.failed += 1
            print(f"FAIL compile {what}\n{str(error)[-2000:]}", flush=True)
            return
        for target in TARGETS:
            for dims in sizes:
                self.check(what, bundle, source, flags, dims, setting, target)

    def run(self):
        jobs = [(*graph, True, None) for graph in SMALL]
        jobs += [(name, flags, sizes[1:], setting, True, SPLITS[name]) for name, flags, sizes, setting in (SMALL[0], SMALL[2])]
        if self.options.long:
            jobs += [(*graph, False, None) for graph in FULL]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for job in [pool.submit(self.graph, *arguments) for arguments in jobs]:
                job.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel-opt", required=True)
    parser.add_argument("--kernel-run", required=True)
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        tests = Tests(options, directory)
        tests.run()
    print(f"{time.monotonic() - start:.0f} s")
    print(f"{tests.passed} passed, {tests.failed} failed")
    sys.exit(0 if tests.failed == 0 and tests.passed else 1)


if __name__ == "__main__":
    main()
