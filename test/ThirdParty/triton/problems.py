# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each Triton kernel is given and what it must compute, in numpy.

A problem: dict(grid, values: of the signature's parameters, expected: of outputs, tolerance). A value is an Array or a number.
"""

import json
import os

import numpy as np

from common import Array, bf16, exact, from_bf16
from triton.cases import CASES

HERE = os.path.dirname(os.path.abspath(__file__))
NUMPY = {"fp32": "f32", "fp16": "f16", "bf16": "bf16", "i32": "i32"}


def cdiv(a, b):
    return -(-a // b)


def silu(x):
    x = x.astype(np.float64)
    return x / (1 + np.exp(-x))


def element(kind):
    """The element type of "*bf16" or "tensordesc<bf16[...]>"."""
    name = kind[1:] if kind.startswith("*") else kind[len("tensordesc<"):kind.index("[")]
    return NUMPY[name]


def constants(name):
    return {p: k[1] for p, k in CASES[name]["signature"].items() if isinstance(k, tuple)}


def add(name, rng):
    n = 1500
    kind = element(CASES[name]["signature"]["x"])
    x, y = exact(rng, n), exact(rng, n)
    return dict(grid=[cdiv(n, 512)], values=dict(x=Array(x, kind), y=Array(y, kind), z=Array.out((n,), kind), n=n),
                expected=dict(z=x + y))


def gated(name, rng):
    n = 3000
    x, g = from_bf16(bf16(rng.standard_normal(n))), from_bf16(bf16(rng.standard_normal(n)))
    return dict(grid=[cdiv(n, 1024)], values=dict(x=Array(x, "bf16"), g=Array(g, "bf16"), z=Array.out((n,), "bf16"), n=n),
                expected=dict(z=silu(g) * x), tolerance=(0, 2**-8))


def softmax(name, rng):
    rows, columns = 5, 400
    x = rng.standard_normal((rows, columns)).astype(np.float32)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return dict(grid=[rows], values=dict(x=Array(x, "f32"), y=Array.out(x.shape, "f32"), columns=columns),
                expected=dict(y=e / e.sum(axis=1, keepdims=True)), tolerance=(1e-8, 1e-5))


def row_scan(name, rng):
    rows, columns = 4, 208
    x = rng.integers(-1000, 1000, (rows, columns)).astype(np.int32)
    return dict(grid=[rows],
                values=dict(x=Array(x, "i32"), sums=Array.out(x.shape, "i32"), best=Array.out((rows,), "i32"), columns=columns),
                expected=dict(sums=np.cumsum(x, axis=1), best=np.argmax(x, axis=1)))


def histogram(name, rng):
    n = 1700
    x = rng.integers(0, 64, n).astype(np.int32)
    return dict(grid=[cdiv(n, 512)], values=dict(x=Array(x, "i32"), counts=Array.zeros((64,), "i32"), n=n),
                expected=dict(counts=np.bincount(x, minlength=64)))


def column_sum(name, rng):
    rows, columns = 100, 160
    x = exact(rng, (rows, columns))
    return dict(grid=[cdiv(columns, 64)],
                values=dict(x=Array(x, "bf16"), y=Array.out((columns,), "f32"), rows=rows, columns=columns),
                expected=dict(y=x.sum(axis=0)))


def oriented(value, letter):
    """Row-major as it is, or column-major: what memory holds."""
    return value if letter == "n" else np.ascontiguousarray(value.T)


def matmul(name, rng):
    kind = element(CASES[name]["signature"]["a"])
    orientation = name[-2:]
    c = constants(name)
    m, n, k = 200, 144, 176
    a, b = exact(rng, (m, k), 3), exact(rng, (k, n), 3)
    values = dict(a=Array(oriented(a, orientation[0]), kind), b=Array(oriented(b, orientation[1]), kind),
                  c=Array.out((m, n), kind), m=m, n=n, k=k,
                  am=k if orientation[0] == "n" else 1, ak=1 if orientation[0] == "n" else m,
                  bk=n if orientation[1] == "n" else 1, bn=1 if orientation[1] == "n" else k)
    return dict(grid=[cdiv(m, c["BM"]), cdiv(n, c["BN"])], values=values, expected=dict(c=a @ b), tolerance=rounding(kind))


def rounding(kind):
    return (0, {"bf16": 2**-8, "f16": 2**-11, "f32": 0}[kind])


def matmul_epilogue(name, rng):
    m, n, k = 150, 128, 192
    a, b, bias = exact(rng, (m, k), 1), exact(rng, (k, n), 1), exact(rng, n)
    c = from_bf16(bf16(silu(a @ b + bias)))
    return dict(grid=[cdiv(m, 64), cdiv(n, 64)],
                values=dict(a=Array(a, "bf16"), b=Array(b, "bf16"), bias=Array(bias, "f32"), c=Array.out((m, n), "bf16"),
                            sums=Array.zeros((n,), "f32"), m=m, n=n, k=k),
                expected=dict(c=c, sums=c.astype(np.float64).sum(axis=0)), tolerance=(0.5, 2**-7))


def matmul_persistent(name, rng):
    m, n, k = 300, 192, 256
    a, b = exact(rng, (m, k), 2), exact(rng, (k, n), 2)
    return dict(grid=[4], values=dict(a=Array(a, "bf16"), b=Array(b, "bf16"), c=Array.out((m, n), "bf16"), m=m, n=n, k=k),
                expected=dict(c=a @ b), tolerance=rounding("bf16"))


def copy_descriptor(name, rng):
    x = exact(rng, (70, 136))
    return dict(grid=[3, 3], values=dict(x=Array(x, "f32"), y=Array.out(x.shape, "f32")), expected=dict(y=x + 1))


def reduce_descriptor(name, rng):
    x = exact(rng, (64, 96))
    return dict(grid=[4, 3], values=dict(x=Array(x, "f32"), y=Array.zeros((16, 96), "f32")),
                expected=dict(y=x.reshape(4, 16, 96).sum(axis=0)))


def transpose_device_descriptor(name, rng):
    x = exact(rng, (128, 96))
    return dict(grid=[2, 3], values=dict(x=Array(x, "bf16"), y=Array.out((96, 128), "bf16"), rows=128, columns=96),
                expected=dict(y=x.T))


def matmul_descriptor(name, rng):
    orientation = name[-2:]
    m, n, k = 200, 168, 320
    a, b = exact(rng, (m, k), 2), exact(rng, (k, n), 2)
    return dict(grid=[3],
                values=dict(a=Array(oriented(a, orientation[0]), "bf16"), b=Array(oriented(b, orientation[1]), "bf16"),
                            c=Array.out((m, n), "bf16"), m=m, n=n, k=k),
                expected=dict(c=a @ b), tolerance=rounding("bf16"))


def matmul_inner_specialised(name, rng):
    rows = constants(name)["BM"]
    m, n, k = 200, 168, 320
    a, b = exact(rng, (m, k), 2), exact(rng, (k, n), 2)
    return dict(grid=[cdiv(m, rows), cdiv(n, 64)],
                values=dict(a=Array(a, "bf16"), b=Array(b, "bf16"), c=Array.out((m, n), "bf16"), m=m, n=n, k=k),
                expected=dict(c=a @ b), tolerance=rounding("bf16"))


def attention(name, rng):
    heads, length, width = 2, 192, 64
    q, k, v = (rng.standard_normal((heads, length, width)).astype(np.float16) for _ in range(3))
    scale = 1.4426950408889634 / 8
    s = np.einsum("hid,hjd->hij", q.astype(np.float64), k.astype(np.float64)) * scale
    p = np.exp2(s - s.max(axis=2, keepdims=True))
    o = np.einsum("hij,hjd->hid", p / p.sum(axis=2, keepdims=True), v.astype(np.float64))
    return dict(grid=[length // 64, heads],
                values=dict(q=Array(q, "f16"), k=Array(k, "f16"), v=Array(v, "f16"), o=Array.out(q.shape, "f16"),
                            length=length, scale=scale),
                expected=dict(o=o), tolerance=(2e-3, 2e-3))


def arguments(entry, values):
    """kernel-emu's arguments, in the order that Triton's launcher passes them."""
    args, index = [], 0
    for parameter, kind in entry["signature_order"]:
        if isinstance(kind, (tuple, list)):
            continue
        value = values[parameter]
        if kind.startswith("*"):
            args.append(parameter)
        elif kind.startswith("tensordesc"):
            meta = entry["descriptors"][index]
            index += 1
            rows, columns = value.shape
            bytes_ = meta["elem_size"]
            args.append({"map": {"array": parameter, "type": value.kind, "sizes": [columns, rows], "strides": [columns * bytes_],
                                 "box": meta["block_size"][::-1], "swizzle": ["none", "32B", "64B", "128B"][meta["swizzle"]]}})
            args += [f"i32:{rows}", f"i32:{columns}", f"i64:{columns}", "i64:1"]
        elif kind == "fp32":
            args.append(f"f32:{value}")
        else:
            args.append(f"i32:{value}")
    return args


def problems():
    """(name, PTX file, job) of each kernel that was compiled."""
    with open(os.path.join(HERE, "kernels.json")) as file:
        compiled = json.load(file)["kernels"]
    for name, entry in compiled.items():
        case, target = name.split(".")
        entry["signature_order"] = list(CASES[case]["signature"].items())
        problem = globals()[CASES[case]["function"]](case, np.random.default_rng(7))
        args = arguments(entry, problem["values"])
        # Two hidden parameters: scratch memory of the launch and of a profiler.
        scratch, align = entry["global_scratch"]
        if scratch:
            size = scratch * int(np.prod(problem["grid"]))
            problem["values"]["scratch"] = Array.out((size,), "u8", partial=True)
            args.append("scratch")
        else:
            args.append("null")
        args.append("null")
        yield "triton", target, case, os.path.join(HERE, "ptx", name + ".ptx"), dict(
            kernel=entry["kernel"], grid=problem["grid"], block=entry["threads"], smem=entry["shared"], args=args,
            arrays={p: v for p, v in problem["values"].items() if isinstance(v, Array)}, expected=problem["expected"],
            tolerance=problem.get("tolerance", (0, 0)))
