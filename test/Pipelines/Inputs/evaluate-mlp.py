# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a bundle of an MLP's backward pass on small inputs and compares every
gradient with the formulas, in f64.

usage: evaluate-mlp.py KERNEL_RUN BUNDLE DEVICE ACTIVATION ROWS TOLERANCE DIR

ACTIVATION is tanh or erf (the GELU's form) for graphs with the signature of
examples/mlp_gelu_backward_large.mlir, or relu for that of Inputs/relu.mlir. ROWS is
T, or BxS. An error counts relatively to the sum of the magnitudes that were added.
"""

import math
import os
import random
import re
import struct
import subprocess
import sys


def write_npy(path, shape, values):
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (shape,)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)))
        file.write(text.encode() + struct.pack("<%df" % len(values), *values))


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<H", data, 8)
    assert b"'<f4'" in data[: 10 + length], "expects f32"
    return [x for (x,) in struct.iter_unpack("<f", data[10 + length :])]


def matrix(values, cols):
    return [values[i : i + cols] for i in range(0, len(values), cols)]


def transpose(a):
    return [list(column) for column in zip(*a)]


def multiply(a, b):
    """The product, and that of the magnitudes."""
    columns = transpose(b)
    terms = [[[x * y for x, y in zip(row, col)] for col in columns] for row in a]
    return (
        [[math.fsum(t) for t in row] for row in terms],
        [[math.fsum(map(abs, t)) for t in row] for row in terms],
    )


def column_sums(a):
    columns = transpose(a)
    return (
        [[math.fsum(c) for c in columns]],
        [[math.fsum(map(abs, c)) for c in columns]],
    )


def gelu_slope(x, form):
    if form == "erf":
        density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return 0.5 * (1 + math.erf(x / math.sqrt(2))) + x * density
    c = math.sqrt(2 / math.pi)
    t = math.tanh(c * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x)


def times(a, b):
    return [[x * y for x, y in zip(*rows)] for rows in zip(a, b)]


def gelu_gradients(tensors, form):
    dy, x, h, g = (
        tensors[name]
        for name in (
            "grad_output",
            "hidden_states",
            "intermediate",
            "intermediate_activated",
        )
    )
    w1, w2 = tensors["weight1"], tensors["weight2"]
    slope = [[gelu_slope(v, form) for v in row] for row in h]
    dh = times(multiply(dy, w2)[0], slope)
    return {
        "grad_hidden_states": multiply(dh, w1),
        "grad_weight1": multiply(transpose(dh), x),
        "grad_bias1": column_sums(dh),
        "grad_weight2": multiply(transpose(dy), g),
        "grad_bias2": column_sums(dy),
    }


def relu_gradients(tensors):
    dy, x, w1, w2 = (tensors[name] for name in ("dy", "x", "w1", "w2"))
    u = multiply(x, w1)[0]
    h = [[max(v, 0.0) for v in row] for row in u]
    slope = [[float(v > 0) for v in row] for row in u]
    du = times(multiply(dy, transpose(w2))[0], slope)
    return {
        "dw1": multiply(transpose(x), du),
        "dw2": multiply(transpose(h), dy),
    }


def signature(kernel_run, bundle, sizes):
    """Shapes of the inputs and names of the dimensions, from the bundle itself."""
    listing = subprocess.run(
        [kernel_run, bundle, "--list"], check=True, capture_output=True, text=True
    ).stdout
    values = dict(zip(re.findall(r"^  dim +(\w+)$", listing, re.M), sizes))
    inputs = {}
    pattern = r"^  input +(\w+) *: tensor<(.*) x f32>"
    for name, shape in re.findall(pattern, listing, re.M):
        inputs[name] = tuple(
            values[e] if e in values else int(e) for e in shape.split(" x ")
        )
    return values, inputs


def main(kernel_run, bundle, device, activation, rows, tolerance, directory):
    sizes = [int(size) for size in rows.split("x")]
    dims, shapes = signature(kernel_run, bundle, sizes)
    os.makedirs(directory, exist_ok=True)
    generator = random.Random(1)
    command = [kernel_run, bundle, "--device=" + device, "--check=none"]
    command += ["--dims", ",".join("%s=%d" % pair for pair in dims.items())]
    command += ["--output-dir", directory]
    tensors = {}
    for name, shape in shapes.items():
        values = [generator.uniform(-2, 2) for _ in range(math.prod(shape))]
        path = os.path.join(directory, "in_" + name + ".npy")
        write_npy(path, shape, values)
        tensors[name] = matrix(read_npy(path), shape[-1])
        command += ["--input", name + "=" + path]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    gradients = (
        relu_gradients(tensors)
        if activation == "relu"
        else gelu_gradients(tensors, activation)
    )
    worst = 0.0
    for name, (expected, scale) in gradients.items():
        got = read_npy(os.path.join(directory, name + ".npy"))
        flat = [v for row in expected for v in row]
        assert len(got) == len(flat), name
        for g, e, s in zip(got, flat, (v for row in scale for v in row)):
            if g != e:
                worst = max(worst, abs(g - e) / s if s else math.inf)
    print("%d gradients, worst error %.1e" % (len(gradients), worst))
    if not worst <= float(tolerance):
        sys.exit("expects at most " + tolerance)


main(*sys.argv[1:])
