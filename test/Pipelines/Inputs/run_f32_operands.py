# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products with an f32 operand on the emulator, every bit compared.

usage: run_f32_operands.py KERNEL_OPT KERNEL_RUN PTXAS DIRECTORY PRECISION [--long]

Graphs of one or more products whose A or B is f32, in each orientation, with every
kind of operand and result in the epilogue; extents that no tile divides. Each graph
runs at one number of tokens in turn (--long: at all), and those of several product
spaces on 1, 3, 5 and 7 multiprocessors, which deal units differently, too.
"""

import os
import subprocess
import sys

TOKENS = [1, 7, 63, 65, 129, 300]
MULTIPROCESSORS = [1, 3, 5, 7]


def tensor(*dims, element="f32"):
    """A tensor type; a dimension that is a name is variable."""
    shape = "x".join("?" if isinstance(d, str) else str(d) for d in dims)
    names = ", ".join(d if isinstance(d, str) else "_" for d in dims)
    encoding = f", #mlp.dims<{names}>" if any(isinstance(d, str) for d in dims) else ""
    return f"tensor<{shape}x{element}{encoding}>"


class Graph:
    """Writes a graph op by op; every value knows its type."""

    def __init__(self, name, precision):
        self.name, self.precision = name, precision
        self.arguments, self.body, self.outputs, self.types = [], [], [], {}

    def input(self, name, *dims, element="f32"):
        self.types["%" + name] = tensor(*dims, element=element) if dims else element
        self.arguments.append(f'%{name}: {self.types["%" + name]} "{name}"')
        return "%" + name

    def op(self, text, result, types):
        value = f"%{len(self.body)}"
        self.types[value] = result
        self.body.append(f"  {value} = {text} : {types}")
        return value

    def narrow(self, name, *dims):
        """An input of the copies' type, as f32."""
        element = "f16" if self.precision == "fp16" else "bf16"
        return self.cast("extf", self.input(name, *dims, element=element), "f32", *dims)

    def cast(self, op, value, element, *dims):
        result = tensor(*dims, element=element)
        return self.op(f"arith.{op} {value}", result, f"{self.types[value]} to {result}")

    def matmul(self, a, b, *dims, how=""):
        result = tensor(*dims)
        return self.op(f"mlp.matmul {a}, {b} {how} precision {self.precision}", result,
                       f"{self.types[a]}, {self.types[b]} -> {result}")

    def elementwise(self, op, *values):
        result = self.types[values[0]]
        return self.op(f"{op} {', '.join(values)}", result, result)

    def broadcast(self, value, result, dims=""):
        return self.op(f"mlp.broadcast {value} {dims}", result, f"{self.types[value]} -> {result}")

    def sum(self, value, *dims):
        result = tensor(*dims)
        return self.op(f"mlp.sum {value} over [T]", result, f"{self.types[value]} -> {result}")

    def output(self, *values):
        self.outputs += values

    def text(self):
        names = ", ".join(f'{v} "o{i}"' for i, v in enumerate(self.outputs))
        types = ", ".join(self.types[v] for v in self.outputs)
        return "\n".join([f"mlp.graph @{self.name}({', '.join(self.arguments)}) {{", *self.body,
                          f"  mlp.output {names} : {types}", "}", ""])


# ------------------------------------------------------- one product, A or B f32

def a_k_b_mn(g):
    g.output(g.matmul(g.input("x", "T", 136), g.input("w", 136, 200), "T", 200))


def a_k_b_k(g):
    g.output(g.matmul(g.input("x", "T", 136), g.input("w", 200, 136), "T", 200, how="transpose_b"))


def a_k_b_narrow(g):
    g.output(g.matmul(g.input("x", "T", 64), g.narrow("w", 256, 64), "T", 256, how="transpose_b"))


def a_mn(g):
    g.output(g.matmul(g.input("x", "T", 200), g.input("d", "T", 136), 200, 136, how="contract [T]"))


def b_mn(g):
    g.output(g.matmul(g.input("d", "T", 136), g.input("x", "T", 200), 136, 200, how="contract [T]"))


def b_k(g):
    """Nothing is variable."""
    g.output(g.matmul(g.input("x", 40, 136), g.input("w", 264, 136), 40, 264, how="transpose_b"))


# --------------------------------------------------------- epilogues, transposed

def epilogue(g, transposed):
    """Row, column and scalar operands, elements of three types; results of three
    types, and two column sums."""
    x = g.narrow("x", "T", 136)
    w = g.input("w", *((200, 136) if transposed else (136, 200)))
    wide, half = tensor("T", 200), tensor("T", 200, element="bf16")
    row, row16 = g.input("row", 200), g.input("row16", 200, element="bf16")
    column, alpha = g.input("column", "T"), g.input("alpha")
    e, f = g.input("e", "T", 200, element="bf16"), g.input("f", "T", 200)
    h = g.input("h", "T", 200, element="f16")
    d = g.matmul(x, w, "T", 200, how="transpose_b" if transposed else "")
    shifted = g.elementwise("arith.addf", d, g.broadcast(row, wide))
    scaled = g.elementwise("arith.mulf", shifted, g.broadcast(column, wide, "dims = [0]"))
    scaled = g.elementwise("arith.mulf", scaled, g.broadcast(alpha, wide))
    first = g.elementwise("arith.addf", scaled, g.cast("extf", e, "f32", "T", 200))
    second = g.elementwise("arith.subf", first, g.cast("extf", h, "f32", "T", 200))
    third = g.elementwise("arith.addf", second, f)
    rounded = g.cast("truncf", second, "bf16", "T", 200)
    g.output(third, g.elementwise("arith.addf", rounded, g.broadcast(row16, half)),
             g.cast("truncf", first, "f16", "T", 200), g.sum(third, 200), g.sum(shifted, 200))


def b_k_epilogue(g):
    epilogue(g, transposed=True)


def b_mn_epilogue(g):
    epilogue(g, transposed=False)


def b_sums(g):
    """Sums only, with an operand: nothing is stored."""
    d = g.matmul(g.narrow("x", "T", 72), g.input("w", 72, 136), "T", 136)
    r = g.elementwise("mlp.relu", g.elementwise("arith.addf", d, g.input("f", "T", 136)))
    g.output(g.sum(r, 136), g.sum(d, 136))


def a_sums(g):
    d = g.matmul(g.input("x", "T", 72), g.input("w", 72, 136), "T", 136)
    r = g.elementwise("mlp.relu", g.elementwise("arith.addf", d, g.input("f", "T", 136)))
    g.output(g.sum(r, 136), g.sum(d, 136))


# ------------------------------------------- several accumulators, several terms

def pair(g, x):
    d = g.matmul(x, g.input("w", 72, 136), "T", 136)
    c = g.matmul(x, g.input("v", 136, 72), "T", 136, how="transpose_b")
    m = g.elementwise("arith.mulf", g.elementwise("mlp.relu", d), c)
    e = g.cast("extf", g.input("e", "T", 136, element="bf16"), "f32", "T", 136)
    o = g.elementwise("arith.addf", m, e)
    g.output(o, g.sum(o, 136))


def a_pair(g):
    pair(g, g.input("x", "T", 72))


def b_pair(g):
    pair(g, g.narrow("x", "T", 72))


def b_two_terms(g):
    """Two products, of different orientations, in one accumulator."""
    d = g.matmul(g.narrow("x", "T", 72), g.input("w", 72, 136), "T", 136)
    c = g.matmul(g.narrow("z", "T", 72), g.input("v", 136, 72), "T", 136, how="transpose_b")
    g.output(g.elementwise("arith.addf", d, c))


# ------------------------------------------------------ several spaces, chains

def backward(g):
    """The gradients of a layer of two products: a chain of four spaces."""
    dy, x = g.input("dy", "T", 136), g.input("x", "T", 136)
    w1, w2 = g.input("w1", 264, 136), g.input("w2", 136, 264)
    h, a = g.input("h", "T", 264), g.input("a", "T", 264)
    dh = g.elementwise("arith.mulf", g.matmul(dy, w2, "T", 264), g.elementwise("mlp.relu_grad", h))
    g.output(g.matmul(dh, w1, "T", 136), g.matmul(dh, x, 264, 136, how="contract [T]"), g.sum(dh, 264),
             g.matmul(dy, a, 136, 264, how="contract [T]"), g.sum(dy, 136))


def four_spaces(g):
    """Four spaces of different sizes, in one launch, none of which waits."""
    x, z, u = g.input("x", "T", 72), g.input("z", "T", 136), g.input("u", "U", 72)
    w1, w2 = g.input("w1", 72, 136), g.input("w2", 136, 72)
    g.output(g.matmul(x, w1, "T", 136), g.matmul(z, w2, "T", 72),
             g.matmul(x, z, 72, 136, how="contract [T]"), g.matmul(u, w1, "U", 136))


GRAPHS = [a_k_b_mn, a_k_b_k, a_k_b_narrow, a_mn, b_mn, b_k, b_k_epilogue, b_mn_epilogue, b_sums, a_sums,
          a_pair, b_pair, b_two_terms, backward, four_spaces]
SEVERAL_SPACES = [backward, four_spaces]


def main(kernel_opt, kernel_run, ptxas, directory, precision, *flags):
    os.makedirs(directory, exist_ok=True)
    failed = passed = 0

    def run(what, command, environment=None):
        nonlocal failed, passed
        result = subprocess.run(command, text=True, capture_output=True, env={**os.environ, **(environment or {})})
        if result.returncode:
            failed += 1
            print(f"FAIL {what}\n{result.stdout}{result.stderr}")
        else:
            passed += 1
        return result.returncode == 0

    for number, build in enumerate(GRAPHS):
        graph = Graph(build.__name__, precision)
        build(graph)
        source = os.path.join(directory, f"{graph.name}.{precision}.mlir")
        bundle = source[:-5] + ".bfb"
        with open(source, "w") as file:
            file.write(graph.text())
        if not run(f"compile {graph.name}", [kernel_opt, source, "--emit=bundle", "--target=sm_90a",
                                             f"--ptxas={ptxas}", "-o", bundle]):
            continue
        text = graph.text()
        if "<T" not in text:
            cases = [(None, None)]
        elif "--long" in flags:
            cases = [(t, None) for t in TOKENS]
        else:
            cases = [(TOKENS[(number + len(precision)) % len(TOKENS)], None)]
        if build in SEVERAL_SPACES:
            counts = MULTIPROCESSORS if "--long" in flags else MULTIPROCESSORS[number % 2::2]
            cases += [(t, count) for count in counts for t in ([129, 300] if "--long" in flags else [129])]
        for tokens, multiprocessors in cases:
            command = [kernel_run, bundle, "--device=emulator", "--inputs=exact"]
            if tokens:
                command += ["--dims", f"T={tokens}" + (f",U={tokens + 128}" if "<U" in text else "")]
            if '"alpha"' in text:
                command += ["--set", "alpha=2"]
            run(f"{graph.name} {precision} T={tokens} sms={multiprocessors}", command,
                {"BACKFUSE_EMULATOR": f"sms={multiprocessors}"} if multiprocessors else None)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main(*sys.argv[1:])
