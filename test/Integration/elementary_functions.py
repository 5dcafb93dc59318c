#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementary functions in kernels, against f64.

    elementary_functions.py compile --kernel-opt KERNEL_OPT --dir DIR
    elementary_functions.py check --kernel-run KERNEL_RUN --dir DIR --device cuda:0

`compile` writes a graph and a bundle for each function: y = f(x) - a.w, where a
and w are given as zeros, so that the epilogue of a product computes f (f - (+0)
keeps the sign of a zero). `check` needs no compiler: it runs the bundles of DIR
on x, all values of the 16-bit types or a million f32 values, and compares y

- with the function in f64, by the accuracy that docs/numerics.md promises, at
  its exact points in every bit, NaN, infinities and signs of zeros included;
- with the evaluator (kernel-run --check=eager), within the bound.

Derivatives are what their sugar expands to, op by op: their errors are carried
through these ops. The table's error is relative to the function for functions,
absolute for derivatives; results that were rounded to 16 bits are checked, but
their column says nothing about the function.

Types: f32, bf16 and f16 (operand and result), ext (a bf16 operand extended to
f32, an f32 result). NAME selects: functions such as `exp`, `gelu_tanh_grad`,
`exp_afn`, with `:TYPE` for one type only.
"""
import argparse
import concurrent.futures
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np

LICENCE = ("// Part of Backfuse, under the Apache License v2.0 with LLVM "
           "Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")
COLUMNS = 256
TYPES = ["f32", "ext", "bf16", "f16"]

# How each function is written in a graph; {t} is the type, {fm} fastmath.
FUNCTIONS = {name: f"math.{name} %x{{fm}}" for name in
             ("exp", "exp2", "log", "sqrt", "rsqrt", "tanh", "erf")}
FUNCTIONS.update({
    "sigmoid": "mlp.sigmoid %x{afn}",
    "silu": "mlp.silu %x{afn}",
    "gelu_tanh": "mlp.gelu %x form = tanh{afn}",
    "gelu_erf": "mlp.gelu %x form = erf{afn}",
    "relu": "mlp.relu %x",
    "gelu_tanh_grad": "mlp.gelu_grad %x form = tanh rounding = each_op{afn}",
    "gelu_erf_grad": "mlp.gelu_grad %x form = erf rounding = each_op{afn}",
    "silu_grad": "mlp.silu_grad %x rounding = each_op{afn}",
    "relu_grad": "mlp.relu_grad %x",
    "gelu_tanh_grad_once": "mlp.gelu_grad %x form = tanh rounding = once{afn}",
    "gelu_erf_grad_once": "mlp.gelu_grad %x form = erf rounding = once{afn}",
    "silu_grad_once": "mlp.silu_grad %x rounding = once{afn}",
    "div": "arith.divf %x, %d{fm}",
})
WITHOUT_AFN = {"relu", "relu_grad", "div"}


def variants():
    """Name, type of all graphs."""
    for function in FUNCTIONS:
        for afn in ([""] if function in WITHOUT_AFN else ["", "_afn"]):
            for kind in TYPES:
                once = function.endswith("_once")
                # In f32 both roundings are the same.
                if not (once and kind in ("f32", "ext")):
                    yield function + afn, kind


def chosen(names):
    known = list(variants())
    if not names:
        return known
    result = []
    for name in names:
        function, _, kind = name.partition(":")
        found = [v for v in known if v[0] == function and kind in ("", v[1])]
        if not found:
            raise SystemExit(f"there is no function '{name}'")
        result += [v for v in found if v not in result]
    return result


# ---------------------------------------------------------------- compile

def graph(name, kind):
    function, afn = (name[:-4], True) if name.endswith("_afn") else (name, False)
    element = "f32" if kind == "ext" else kind
    operand = "bf16" if kind == "ext" else kind
    factor = "f16" if kind == "f16" else "bf16"
    body = FUNCTIONS[function].format(afn=" afn" if afn else "",
                                      fm=" fastmath<afn>" if afn else "")
    wide = f"tensor<?x{COLUMNS}x{{}}, #mlp.dims<T, _>>".format
    lines = [LICENCE,
             f"!a = tensor<?x64x{factor}, #mlp.dims<T, _>>",
             f"!x = {wide(operand)}",
             f"!y = {wide(element)}",
             f"mlp.graph @{name}_{kind}(%a: !a \"a\", %w: tensor<64x{COLUMNS}x{factor}> \"w\", "
             f"%in: !x \"x\"" + (", %divisor: !x \"d\"" if function == "div" else "") + ") {",
             f"  %z = mlp.matmul %a, %w : !a, tensor<64x{COLUMNS}x{factor}> -> !y"]
    names = [("in", "x")] + ([("divisor", "d")] if function == "div" else [])
    for before, after in names:
        if kind == "ext":
            lines.append(f"  %{after} = arith.extf %{before} : !x to !y")
        else:
            body = body.replace(f"%{after}", f"%{before}")
    lines += [f"  %f = {body} : !y",
              "  %y = arith.subf %f, %z : !y",
              "  mlp.output %y \"y\" : !y",
              "}"]
    return "\n".join(lines) + "\n"


def compileAll(options):
    os.makedirs(options.dir, exist_ok=True)

    def compileOne(variant):
        path = os.path.join(options.dir, "%s_%s" % variant)
        with open(path + ".mlir", "w") as file:
            file.write(graph(*variant))
        result = subprocess.run(
            [options.kernel_opt, path + ".mlir", "--emit=bundle", f"--target={options.target}",
             "-o", path + ".bfb"] + (["--strip-ptx"] if options.strip_ptx else []),
            capture_output=True, text=True)
        return variant, result.returncode, result.stdout + result.stderr

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for variant, status, output in pool.map(compileOne, chosen(options.names)):
            if status:
                failed += 1
                print("FAIL compile %s_%s" % variant, output, sep="\n")
    return failed


# ---------------------------------------------------------------- points

def fromBits(bits):
    return np.asarray(bits, dtype=np.uint32).view(np.float32)


# Where an expansion or a function changes its ways, and the zeros and extrema of
# the derivatives.
PLACES = [2.0**-149, 2.0**-126, 2.0**-125, 2.0**-100, 2.0**-64, 0.25, 0.45, 0.75,
          0.9, 1.0, 1.25, 2**0.5, 4.0, 6.0, 7.0, 10.1006, 10.49, 12.0, 13.1462,
          14.1, 32.0, 64.0, 87.33654, 88.0, 88.5, 88.72284, 91.85678, 99.0, 103.97,
          104.0, 126.0, 127.9999, 128.0, 256.0, 2.0**64, 2.0**100, 2.0**126,
          2.0**127.5, 0.7517916, 0.7517826, 1.2784645, 2.399357]


def f32Points(count):
    """`count` f32 values: all that are bf16 values, one bit pattern of each of
    many equal stretches of all patterns, dense ones near 0, neighbours of places."""
    generator = np.random.Generator(np.random.PCG64(1))
    parts = [fromBits(np.arange(65536, dtype=np.uint32) << 16)]
    around = np.arange(-300, 301) if count >= 1 << 20 else np.arange(-4, 5)
    for place in PLACES:
        bits = int(np.float32(place).view(np.uint32))
        near = fromBits((np.maximum(bits + around, 0)).astype(np.uint32))
        parts += [near, -near]
    for width in (1.5, 16, 150):
        parts.append(generator.uniform(-width, width, count // 12).astype(np.float32))
    if count < 65536:
        parts[0] = parts[0][:: 65536 * 4 // count]
    rest = count - sum(len(p) for p in parts)
    if rest <= 0:
        raise SystemExit(f"--points={count} is too few")
    stretch = (1 << 32) / rest
    parts.append(fromBits((np.arange(rest) * stretch +
                           generator.uniform(0, stretch, rest)).astype(np.uint64).astype(np.uint32)))
    points = np.concatenate(parts)
    # So that a tile meets all kinds of values.
    return generator.permutation(points)


def toF32(stored, kind):
    """Stored values as f32."""
    if kind == "f32":
        return stored
    if kind == "f16":
        with np.errstate(all="ignore"):
            return stored.view(np.float16).astype(np.float32)
    return fromBits(stored.astype(np.uint32) << 16)


def roundTo(values, kind):
    """f32 or f64 values rounded to f32, then to the type; as f32."""
    with np.errstate(all="ignore"):
        single = values.astype(np.float32)
        if kind in ("f32", "ext"):
            return single
        if kind == "f16":
            return single.astype(np.float16).astype(np.float32)
        bits = single.view(np.uint32)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
        return np.where(np.isnan(single), single, rounded.view(np.float32))


# ---------------------------------------------------------------- functions in f64

def each(function):
    """A function of libm over an array; NaN where it is not defined."""
    def apply(x):
        def safe(v):
            return function(v) if v == v else v
        return np.fromiter(map(safe, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)
    return apply


erf, erfc = each(math.erf), each(math.erfc)
SCALE = math.sqrt(2 / math.pi)


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def weighted(x, f):
    return np.where(x == -np.inf, -0.0, x * f)


def geluArgument(x):
    return 2 * SCALE * (x + 0.044715 * x * x * x)


F64 = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh, "erf": erf, "sigmoid": sigmoid,
    "silu": lambda x: weighted(x, sigmoid(x)),
    "gelu_tanh": lambda x: weighted(x, sigmoid(geluArgument(x))),
    "gelu_erf": lambda x: weighted(x, 0.5 * erfc(-x / math.sqrt(2))),
}


def factor(a, b):
    """a * b, where a zero wins over an infinity: limits."""
    return np.where((a == 0) | (b == 0), 0, a * b)


DERIVATIVES = {
    "silu_grad": lambda x: sigmoid(x) + factor(sigmoid(x) * sigmoid(-x), x),
    "gelu_tanh_grad": lambda x: sigmoid(geluArgument(x)) + factor(
        sigmoid(geluArgument(x)) * sigmoid(-geluArgument(x)), x * 2 * SCALE * (1 + 0.134145 * x * x)),
    "gelu_erf_grad": lambda x: 0.5 * erfc(-x / math.sqrt(2)) + factor(
        np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi), x),
}


def isPowerOfFour(x):
    mantissa, exponent = np.frexp(x)
    return (x > 0) & np.isfinite(x) & (mantissa == 0.5) & (exponent % 2 == 1)


def exactPoints(function, x):
    """Where docs/numerics.md promises every bit, and the values there."""
    one, zero = np.ones_like(x), np.zeros_like(x)
    tails = {  # at most, value; at least, value
        "exp": (-256, zero, 256, np.inf * one), "exp2": (-256, zero, 256, np.inf * one),
        "tanh": (-32, -one, 32, one), "erf": (-32, -one, 32, one),
        "sigmoid": (-128, zero, 128, one),
        "silu": (-128, -zero, 128, x), "gelu_tanh": (-128, -zero, 128, x), "gelu_erf": (-128, -zero, 128, x),
    }
    values, mask = np.copy(x), np.zeros(x.shape, bool)

    def put(where, what):
        values[where] = np.broadcast_to(what, x.shape)[where]
        mask[where] = True
    if function in tails:
        low, atLow, high, atHigh = tails[function]
        put(x <= low, atLow)
        put(x >= high, atHigh)
        put(x == 0, {"exp": one, "exp2": one, "sigmoid": 0.5 * one}.get(function, x))
    elif function == "log":
        put(x == 1, zero)
        put(x == 0, -np.inf * one)
    elif function == "sqrt":
        put((x == 0) | isPowerOfFour(x), np.sqrt(x))
    elif function == "rsqrt":
        put(isPowerOfFour(x) | (x == 0), 1 / np.sqrt(x))
    return mask, values.astype(np.float32)


# ---------------------------------------------------------------- derivatives, op by op

class Pair:
    """A value as an op of the graph gives it, and how far a device's may lie
    from it."""

    def __init__(self, kind, value, error):
        self.kind, self.value, self.error = kind, value, error

    def rounded(self, exact, error):
        value = roundTo(exact, self.kind)
        # A different value may be rounded the other way: one step of the type.
        step = {"bf16": 2.0**-7, "f16": 2.0**-10}.get(self.kind, 2.0**-23)
        least = {"bf16": 2.0**-133, "f16": 2.0**-24}.get(self.kind, 2.0**-149)
        magnitude = np.abs(value.astype(np.float64)) + error
        return Pair(self.kind, value, np.where(error == 0, 0, error + step * magnitude + least))

    def constant(self, number):
        value = roundTo(np.full(self.value.shape, number), self.kind)
        return Pair(self.kind, value, np.zeros(value.shape))

    def __add__(self, other):
        return self.rounded(self.wide + other.wide, self.error + other.error)

    def __sub__(self, other):
        return self.rounded(self.wide - other.wide, self.error + other.error)

    def __mul__(self, other):
        error = (np.where(other.error == 0, 0, np.abs(self.wide) * other.error) +
                 np.where(self.error == 0, 0, np.abs(other.wide) * self.error) +
                 self.error * other.error)
        return self.rounded(self.wide * other.wide, error)

    @property
    def wide(self):
        return self.value.astype(np.float64)

    def apply(self, function, accuracy):
        exact = F64[function](self.wide)
        least = 2.0**-126 # results below may be flushed
        error = accuracy * np.abs(exact) + least
        if np.any(self.error):
            for moved in (self.wide - self.error, self.wide + self.error):
                error = np.maximum(error, np.abs(F64[function](moved) - exact) * (1 + accuracy) +
                                   accuracy * np.abs(exact) + least)
        mask, _ = exactPoints(function, self.wide)
        return self.rounded(exact, np.where(mask & (self.error == 0), 0, error))


def siluGrad(x, accuracy):
    one, s = x.constant(1), x.apply("sigmoid", accuracy)
    return s * (one + x * (one - s))


def geluTanhGrad(x, accuracy):
    half, one, beta = x.constant(0.5), x.constant(1), x.constant(SCALE)
    square = x * x
    t = (beta * (x + x.constant(0.044715) * (square * x))).apply("tanh", accuracy)
    inner = beta * (one + x.constant(3 * 0.044715) * square)
    return half * (one + t) + half * x * (one - t * t) * inner


def geluErfGrad(x, accuracy):
    half, one = x.constant(0.5), x.constant(1)
    cdf = half * (one + (x * x.constant(1 / math.sqrt(2))).apply("erf", accuracy))
    power = (x.constant(-0.5) * (x * x)).apply("exp", accuracy)
    return cdf + x * (x.constant(1 / math.sqrt(2 * math.pi)) * power)


SUGAR = {"silu_grad": siluGrad, "gelu_tanh_grad": geluTanhGrad, "gelu_erf_grad": geluErfGrad}


# ---------------------------------------------------------------- check

class Outcome:
    def __init__(self, points):
        self.points, self.numWrong, self.worst, self.at, self.notes = points, 0, 0.0, math.nan, []

    def wrong(self, mask, x, y, expected, what):
        found = np.flatnonzero(mask)
        self.numWrong += len(found)
        for i in found[:3]:
            self.notes.append(f"{what}: f({x[i]:.9g} = {x[i].view(np.uint32):#010x}) is {y[i]:.9g}, "
                              f"expected {expected[i]:.9g}")

    def measure(self, error, x, where):
        error = np.where(where & np.isfinite(error), error, 0)
        i = int(np.argmax(error))
        self.worst, self.at = float(error[i]), float(x[i])


def sameBits(a, b):
    return (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))


def checkExactly(outcome, x, y, expected):
    outcome.wrong(~sameBits(y, expected), x, y, expected, "bits")
    outcome.measure(np.abs(y.astype(np.float64) - expected), x, y != expected)


def checkFunction(outcome, function, afn, kind, x, y):
    """Between the function's smallest and largest allowed value, each rounded."""
    accuracy = 2.0**-10 if afn and function not in ("exp2", "sqrt", "erf", "gelu_erf") else 2.0**-20
    wide = x.astype(np.float64)
    exact = F64[function](wide)
    least = 2.0**-119 if afn else 2.0**-126
    mask, values = exactPoints(function, wide)
    outcome.wrong(mask & ~sameBits(y, roundTo(values, kind)), x, y, values, "exact point")

    def within(f, flushes):
        error = np.where(np.isinf(f), 0, accuracy * np.abs(f))
        low, high = roundTo(f - error, kind), roundTo(f + error, kind)
        good = (y >= low) & (y <= high)
        # What is no normal f32 number may be a zero of its sign.
        small = (np.abs(f) < least * (1 + 2.0**-20)) & flushes
        good |= small & (np.abs(y) <= roundTo(np.full(f.shape, least * 1.001), kind)) & (
            np.signbit(y) == np.signbit(f))
        return np.where(np.isnan(f), np.isnan(y), good)

    good = within(exact, True)
    if afn:  # a subnormal argument may count as 0
        subnormal = (np.abs(wide) < 2.0**-126) & (wide != 0)
        good |= subnormal & within(F64[function](np.copysign(0.0, wide)), True)
    outcome.wrong(~good, x, y, exact, "accuracy")
    normal = np.isfinite(exact) & (np.abs(exact) >= least) & (np.abs(exact) < 2.0**128) & np.isfinite(y)
    if kind in ("bf16", "f16"):
        return
    if afn:
        normal &= np.abs(wide) >= 2.0**-126
    outcome.measure(np.abs(y - exact) / np.where(exact == 0, 1, np.abs(exact)), x, normal & (exact != 0))


def checkDerivative(outcome, function, afn, kind, x, y):
    once = function.endswith("_once")
    name = function[:-5] if once else function
    inside = "f32" if once or kind in ("f32", "ext") else kind
    accuracy = 2.0**-10 if afn else 2.0**-20
    pair = SUGAR[name](Pair(inside, x, np.zeros(x.shape)), accuracy)
    error = np.where(np.isnan(pair.error), np.inf, pair.error)
    expected = pair.wide
    low, high = roundTo(expected - error, kind), roundTo(expected + error, kind)
    good = ((y >= low) & (y <= high)) | np.isinf(error) | (np.isnan(expected) & np.isnan(y))
    outcome.wrong(~good, x, y, expected, "op by op")
    outcome.undecided = int(np.count_nonzero(np.isinf(error)))
    true = DERIVATIVES[name](x.astype(np.float64))
    outcome.measure(np.abs(y - true), x, np.isfinite(true) & np.isfinite(y))


def checkResults(name, kind, x, d, y):
    afn = name.endswith("_afn")
    function = name[:-4] if afn else name
    outcome = Outcome(len(x))
    with np.errstate(all="ignore"):
        if function == "relu":
            checkExactly(outcome, x, y, np.where(np.isnan(x), x, np.where(x > 0, x, np.float32(0))))
        elif function == "relu_grad":
            checkExactly(outcome, x, y, (x > 0).astype(np.float32))
        elif function == "div":
            checkExactly(outcome, x, y, roundTo(x / d, kind))
        elif function in F64:
            checkFunction(outcome, function, afn, kind, x, y)
        else:
            checkDerivative(outcome, function, afn, kind, x, y)
    return outcome


def runOne(options, name, kind, points, directory):
    """Runs a bundle; what is wrong with its results."""
    bundle = os.path.join(options.dir, f"{name}_{kind}.bfb")
    operand = "bf16" if kind == "ext" else kind
    if operand == "f32":
        stored = points
    else:
        stored = np.arange(65536, dtype=np.uint16)
        stored = np.random.Generator(np.random.PCG64(2)).permutation(stored)
    x = toF32(stored, operand)
    rows = -(-len(stored) // COLUMNS)

    def save(file, array, dtype):
        np.save(os.path.join(directory, file), array.view(dtype))
        return os.path.join(directory, file)
    dtype = {"f32": np.float32, "bf16": np.uint16, "f16": np.float16}[operand]

    def shaped(values):
        return np.resize(values, rows * COLUMNS).reshape(rows, COLUMNS)
    factorType = np.float16 if kind == "f16" else np.uint16
    inputs = {"a": np.zeros((rows, 64), factorType), "w": np.zeros((64, COLUMNS), factorType)}
    command = [options.kernel_run, bundle, f"--device={options.device}", f"--dims=T={rows}",
               "--output-dir", directory, "--check=" + options.check]
    for key, value in inputs.items():
        command += ["--input", f"{key}={save(key + '.npy', value, factorType)}"]
    command += ["--input", f"x={save('x.npy', shaped(stored), dtype)}"]
    divisor = np.roll(stored, 12345)
    if name.startswith("div"):
        command += ["--input", f"d={save('d.npy', shaped(divisor), dtype)}"]
    result = subprocess.run(command, capture_output=True, text=True)
    output = os.path.join(directory, "y.npy")
    failure = "" if result.returncode == 0 else result.stdout + result.stderr
    if not os.path.exists(output):
        outcome = Outcome(len(x))
        outcome.numWrong, outcome.notes = len(x), [failure]
        return outcome
    raw = np.load(output)
    if raw.dtype.kind == "V":
        raw = raw.view(np.uint16)
    elif raw.dtype == np.float16:
        raw = raw.view(np.uint16)
    y = toF32(raw.ravel()[:len(x)], "f32" if kind in ("f32", "ext") else kind)
    os.remove(output)
    outcome = checkResults(name, kind, x, toF32(divisor, operand), y)
    if failure:
        outcome.numWrong += 1
        outcome.notes.append(failure)
    return outcome


def checkAll(options):
    points = f32Points(options.points)
    wanted = chosen(options.names)
    if not options.names:  # what compile left there
        there = {os.path.basename(p)[:-4] for p in glob.glob(os.path.join(options.dir, "*.bfb"))}
        wanted = [v for v in wanted if "%s_%s" % v in there]
    if not wanted:
        raise SystemExit(f"no bundles of functions in {options.dir}: run 'compile' first")
    passed = failed = 0
    rows = []
    print("| function | type | points | largest error | at | wrong |\n|---|---|---|---|---|---|")
    for name, kind in wanted:
        with tempfile.TemporaryDirectory() as directory:
            outcome = runOne(options, name, kind, points, directory)
        good = outcome.numWrong == 0
        passed, failed = passed + good, failed + (not good)
        error = f"2^{math.log2(outcome.worst):.2f} | {outcome.at:.9g}" if outcome.worst > 0 else "0 | "
        print(f"| {name} | {kind} | {outcome.points} | {error} | {outcome.numWrong} |", flush=True)
        for note in outcome.notes:
            print("    " + note.strip().replace("\n", "\n    "), flush=True)
        rows.append({"function": name, "type": kind, "points": outcome.points, "worst": outcome.worst,
                     "at": repr(outcome.at), "wrong": outcome.numWrong, "notes": outcome.notes})
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"device": options.device, "functions": rows}, file, indent=1)
    print(f"{passed} passed, {failed} failed")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("compile")
    make.add_argument("--kernel-opt", required=True)
    make.add_argument("--target", default="sm_90a")
    make.add_argument("--strip-ptx", action="store_true", help="smaller bundles, not for the emulator")
    make.add_argument("--jobs", type=int, default=2)
    check = commands.add_parser("check")
    check.add_argument("--kernel-run", required=True)
    check.add_argument("--device", default="cuda:0")
    check.add_argument("--points", type=int, default=1 << 20, help="f32 values (default 2^20)")
    check.add_argument("--check", default="eager", choices=["eager", "none"],
                       help="kernel-run's own check beside ours (default eager)")
    check.add_argument("--json", help="results")
    for command in (make, check):
        command.add_argument("--dir", required=True)
        command.add_argument("names", nargs="*", metavar="NAME", help="functions (default: all)")
    options = parser.parse_args()
    sys.exit(1 if (compileAll if options.command == "compile" else checkAll)(options) else 0)


if __name__ == "__main__":
    main()
