#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of each precision against f64, on random and hard inputs.

    precision_errors.py --kernel-run KERNEL_RUN --device cuda:0 --tokens 2048 \\
        fp16=FP16.bfb bf16=BF16.bfb tf32=TF32.bfb

The bundles are of examples/mlp_gelu_backward.mlir, compiled with each
--matmul-precision; extents may be cut. grad_output is hard, the other inputs are
random. Prints the largest |error| / sum|a||b| of each gradient, as a power of
two, over the elements that f32 can hold (sum|a||b| between 2^-100 and 2^127.9),
and how many of those are no numbers. Needs numpy; fails nothing: it measures.
"""
import argparse
import os
import re
import subprocess
import tempfile

import numpy as np

KINDS = ["random", "scaled", "mixed", "subnormal", "huge"]


def harden(kind, x, generator):
    """As --inputs=hard:KIND of kernel-run makes them."""
    rows, columns = x.shape
    x = x.astype(np.float64)
    if kind == "scaled":
        x = x * 2.0**generator.integers(-60, 61, (rows, 1)) * 2.0**generator.integers(-60, 61, (1, columns))
    elif kind == "mixed":
        x = x * 2.0**(generator.integers(0, 2, x.shape) * 200 - 100)
    elif kind == "subnormal":
        small = generator.integers(0, 2, x.shape) == 0
        x = np.where(small, x * 2.0**(-126.0 - generator.integers(0, 24, x.shape)), x)
    elif kind == "huge":
        most = np.float64(np.finfo(np.float32).max)
        at = (np.arange(rows), generator.integers(0, columns, rows))
        x[at] = np.copysign(most * (1 - generator.random(rows) * 2**-8), x[at])
    return x.astype(np.float32)


def slope(h):
    c = np.sqrt(2 / np.pi)
    t = np.tanh(c * (h + 0.044715 * h**3))
    return 0.5 * (1 + t) + 0.5 * h * (1 - t * t) * c * (1 + 3 * 0.044715 * h * h)


def gradients(tensors):
    """Values, and the sums of magnitudes that errors count against."""
    t = {name: value.astype(np.float64) for name, value in tensors.items()}
    dy, w1, w2 = t["grad_output"], t["fc1_weight"], t["fc2_weight"]
    s = slope(t["fc1_output"])
    dh, dhSize = (dy @ w2) * s, (np.abs(dy) @ np.abs(w2)) * np.abs(s)
    size = np.abs
    return {
        "grad_hidden_state": (dh @ w1, dhSize @ size(w1)),
        "grad_fc1_weight": (dh.T @ t["hidden_state"], dhSize.T @ size(t["hidden_state"])),
        "grad_fc1_bias": (dh.sum(0), dhSize.sum(0)),
        "grad_fc2_weight": (dy.T @ t["gelu_output"], size(dy).T @ size(t["gelu_output"])),
    }


def makeInputs(kernelRun, bundle, tokens, kind):
    listing = subprocess.run([kernelRun, bundle, "--list"], check=True, capture_output=True, text=True).stdout
    tensors, generator = {}, np.random.Generator(np.random.PCG64(1))
    for name, shape in re.findall(r"^  input +(\w+) *: tensor<(.*) x f32>", listing, re.M):
        extents = [int(e) if e.isdigit() else tokens for e in shape.split(" x ")]
        values = generator.standard_normal(extents) / (np.sqrt(extents[-1]) if "weight" in name else 1)
        tensors[name] = harden(kind, values, generator) if name == "grad_output" else values.astype(np.float32)
    return tensors


def run(options, bundle, tensors):
    with tempfile.TemporaryDirectory() as directory:
        command = [options.kernel_run, bundle, f"--device={options.device}", "--check=none", "--output-dir", directory]
        for name, value in tensors.items():
            path = os.path.join(directory, "in_" + name + ".npy")
            np.save(path, value)
            command += ["--input", f"{name}={path}"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            raise SystemExit(result.stdout + result.stderr)
        return {name: np.load(os.path.join(directory, name + ".npy")).astype(np.float64) for name in OUTPUTS}


OUTPUTS = ["grad_hidden_state", "grad_fc1_weight", "grad_fc1_bias", "grad_fc2_weight"]


def cell(got, value, size):
    counted = (size > 2.0**-100) & (size < 2.0**127.9)
    bad = int(np.count_nonzero(counted & ~np.isfinite(got)))
    with np.errstate(all="ignore"):
        error = np.where(counted & np.isfinite(got), np.abs(got - value) / size, 0).max()
    text = f"2^{np.log2(error):.1f}" if error > 0 else "0"
    if not counted.any():
        return "none in range"
    return text + (f" ({100 * bad / np.count_nonzero(counted):.0f} % inf or NaN)" if bad else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel-run", required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--tokens", type=int, default=131)
    parser.add_argument("bundles", nargs="+", metavar="PRECISION=FILE")
    options = parser.parse_args()
    print("| inputs | precision | " + " | ".join(OUTPUTS) + " |\n|---|---|" + "---|" * len(OUTPUTS))
    for kind in KINDS:
        expected = None
        for precision, bundle in (b.split("=", 1) for b in options.bundles):
            tensors = makeInputs(options.kernel_run, bundle, options.tokens, kind)
            expected = expected or gradients(tensors)
            got = run(options, bundle, tensors)
            cells = [cell(got[name], *expected[name]) for name in OUTPUTS]
            print(f"| {kind} | {precision} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
