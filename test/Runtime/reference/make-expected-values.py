#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes ExpectedValues.inc: results of the evaluator's ops computed another
way, by mpmath (elementary functions, 60 digits, rounded to f32 and then to the
type) and by numpy's float32 arithmetic (+, -, *, /).

Usage: make-expected-values.py > ExpectedValues.inc   (needs numpy and mpmath)
"""
import numpy as np
from mpmath import mp, mpf, floor

mp.dps = 60


def bf16(x):
    """f32 -> bf16 -> f32, to nearest even."""
    bits = np.float32(x).view(np.uint32)
    bits = (int(bits) + 0x7FFF + ((int(bits) >> 16) & 1)) & 0xFFFF0000
    return np.uint32(bits).view(np.float32)


ROUND = {"F32": np.float32, "BF16": bf16, "F16": lambda x: np.float32(np.float16(x))}


def to_f32(x):
    """mpf -> f32, to nearest even, subnormals included."""
    if x == 0:
        return np.float32(0)
    if mp.isinf(x):
        return np.float32(x)
    exponent = max(int(floor(mp.log(abs(x), 2))), -126)
    quantum = mpf(2) ** (exponent - 23)
    scaled = x / quantum
    whole = floor(scaled)
    rest = scaled - whole
    if rest > mpf(1) / 2 or (rest == mpf(1) / 2 and int(whole) % 2):
        whole += 1
    value = whole * quantum
    if abs(value) >= mpf(2) ** 128:
        return np.float32(np.inf if x > 0 else -np.inf)
    return np.float32(float(value))


K = mp.sqrt(2 / mp.pi)
C = mpf("0.044715")


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def gelu_tanh(x):
    return x / 2 * (1 + mp.tanh(K * (x + C * x**3)))


def gelu_tanh_grad(x):
    t = mp.tanh(K * (x + C * x**3))
    return (1 + t) / 2 + x / 2 * (1 - t**2) * K * (1 + 3 * C * x**2)


def gelu_erf(x):
    return x / 2 * mp.erfc(-x / mp.sqrt(2))


def gelu_erf_grad(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2 + x * mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def silu_grad(x):
    s = sigmoid(x)
    return s + x * s * (1 - s)


FUNCTIONS = {
    "Exp": (mp.exp, None),
    "Exp2": (lambda x: mpf(2) ** x, None),
    "Log": (mp.log, "positive"),
    "Sqrt": (mp.sqrt, "positive"),
    "Rsqrt": (lambda x: 1 / mp.sqrt(x), "positive"),
    "Tanh": (mp.tanh, None),
    "Erf": (mp.erf, None),
    "Sigmoid": (sigmoid, None),
    "GeluTanh": (gelu_tanh, None),
    "GeluErf": (gelu_erf, None),
    "GeluTanhGrad": (gelu_tanh_grad, None),
    "GeluErfGrad": (gelu_erf_grad, None),
    "Silu": (lambda x: x * sigmoid(x), None),
    "SiluGrad": (silu_grad, None),
}
POINTS = [1e-40, 1e-30, 1e-3, 0.1, 0.4375, 0.75, 1.0, 1.7, 2.5, 3.3, 4.9, 8.0,
          15.0, 27.0, 60.0, 88.5]
POINTS += [-x for x in POINTS] + [-0.7518, -1.2784, -100.0, 1e5]


def hexf(x):
    x = float(x)
    if np.isinf(x):
        return "HUGE_VAL" if x > 0 else "-HUGE_VAL"
    return x.hex()


print("// Written by make-expected-values.py; do not edit.")
for name, (function, domain) in FUNCTIONS.items():
    for dtype in ("F32", "BF16", "F16"):
        for point in POINTS if dtype == "F32" else POINTS[2::2]:
            with np.errstate(over="ignore"):
                x = ROUND[dtype](np.float32(point))
                if domain == "positive" and x <= 0 or not np.isfinite(x):
                    continue
                y = ROUND[dtype](to_f32(function(mpf(float(x)))))
            print(f"{{OpKind::{name}, DType::{dtype}, {hexf(x)}, 0, {hexf(y)}}},")
rng = np.random.default_rng(0)
BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
for name, function in BINARY.items():
    for dtype in ("F32", "BF16", "F16"):
        spread = 20 if dtype == "F32" else 6
        for i in range(20):
            a, b = (ROUND[dtype](np.float32(m * 2.0**e)) for m, e in
                    zip(rng.standard_normal(2), rng.uniform(-spread, spread, 2)))
            if i % 3 == 0:  # near cancellation and ties
                b = ROUND[dtype](np.float32(a * np.float32(1 + 2.0**-7)))
            y = ROUND[dtype](function(np.float32(a), np.float32(b)))
            print(f"{{OpKind::{name}, DType::{dtype}, {hexf(a)}, {hexf(b)}, {hexf(y)}}},")
