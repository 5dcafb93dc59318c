#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes seeded random graphs of the family that the compiler takes.

    random_epilogues.py --count 20 --seed 1 --output-dir graphs

Each graph is one projection product with an epilogue of one to five operands
and one to three outputs, any mix of the scalar ops that a graph may hold, in
bf16 and f32; most have a column sum of D + 1, whose value at the zero-filled
border is not zero; some have a transposed weight, a bool parameter, a weight
gradient and a bias sum. The manifest says what each graph holds: one without
elementary functions must agree in every bit on exact inputs, one with some
within the numerics contract.

Beside GRAPH.mlir stands GRAPH.json, in the format of workloads/ but without
tolerances: the cases to run. The same seed gives the same files.
"""

import argparse
import itertools
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from workload import writeJson  # noqa: E402

LICENCE = ("// Part of Backfuse, under the Apache License v2.0 with LLVM "
           "Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")

# Extents: each axis is a multiple of 8 (16-byte rows of bf16), half of the
# choices not of 64, so that every tile shape has a border.
EXTENTS = [64, 72, 128, 136, 192, 200, 256, 264, 320, 328, 384, 456, 512, 520,
           640, 648, 768, 776]
TOKENS = [1, 2, 7, 63, 64, 65, 127, 128, 129, 131, 200, 257, 300]

BINARY = ["arith.addf", "arith.subf", "arith.mulf", "arith.maximumf",
          "arith.minimumf", "arith.maxnumf", "arith.minnumf"]
UNARY = ["arith.negf", "math.absf", "mlp.relu", "mlp.relu_grad"]
PREDICATES = ["olt", "ole", "ogt", "oge", "oeq", "une"]
# Elementary functions with what keeps their operand in a domain where the
# result is finite: nothing, |x|, |x| + 1, or min(x, 1).
FUNCTIONS = {
    "math.tanh": None, "math.erf": None, "mlp.sigmoid": None, "mlp.silu": None,
    "mlp.gelu": None, "mlp.gelu_grad": None, "mlp.silu_grad": None,
    "math.sqrt": "abs", "math.rsqrt": "abs+1", "math.log": "abs+1",
    "math.exp": "min1", "math.exp2": "min1",
}


class Value:
    """An SSA value of the M x N space: its name, element type, and what it uses."""

    def __init__(self, name, element, uses):
        self.name, self.element, self.uses = name, element, frozenset(uses)


class Graph:
    """One graph in the making: its text and the values that ops may use."""

    def __init__(self, rng, name, functions):
        self.rng, self.name, self.withFunctions = rng, name, functions
        self.lines, self.arguments, self.outputs = [], [], []
        self.functions, self.params, self.count = set(), {}, 0
        self.axes = rng.choice([["T"], ["B", "S"]])
        self.k, self.n = rng.choice(EXTENTS), rng.choice(EXTENTS)

    # ------------------------------------------------------------- types

    def tensor(self, extent, element):
        """T x extent, or B x S x extent."""
        shape = "x".join(["?"] * len(self.axes) + [str(extent), element])
        return f"tensor<{shape}, #mlp.dims<{', '.join(self.axes)}, _>>"

    def space(self, element):
        return self.tensor(self.n, element)

    # ------------------------------------------------------------- emission

    def argument(self, name, type_):
        self.arguments.append(f'%{name}: {type_} "{name}"')

    def emit(self, text):
        """One op; the name of its result."""
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def value(self, text, element, *operands):
        uses = set().union(*(o.uses for o in operands))
        return Value(self.emit(text), element, uses)

    def constant(self, number, element):
        scalar = self.emit(f"arith.constant {number:.6e} : {element}")
        name = self.emit(f"mlp.broadcast {scalar} : {element} -> "
                         f"{self.space(element)}")
        return Value(name, element, ())

    def cast(self, value, element):
        if value.element == element:
            return value
        op = "arith.extf" if element == "f32" else "arith.truncf"
        return self.value(f"{op} {value.name} : {self.space(value.element)} to "
                          f"{self.space(element)}", element, value)

    def binary(self, op, a, b):
        return self.value(f"{op} {a.name}, {b.name} : {self.space(a.element)}",
                          a.element, a, b)

    def unary(self, op, a, attributes=""):
        return self.value(f"{op} {a.name}{attributes} : {self.space(a.element)}",
                          a.element, a)

    # ------------------------------------------------------------- ops

    def inDomain(self, value, domain):
        if domain in ("abs", "abs+1"):
            value = self.unary("math.absf", value)
        if domain == "abs+1":
            value = self.binary("arith.addf", value,
                                self.constant(1, value.element))
        if domain == "min1":
            value = self.binary("arith.minimumf", value,
                                self.constant(1, value.element))
        return value

    def function(self, value):
        op = self.rng.choice(sorted(FUNCTIONS))
        value = self.inDomain(value, FUNCTIONS[op])
        attributes = ""
        if op in ("mlp.gelu", "mlp.gelu_grad"):
            attributes += f" form = {self.rng.choice(['tanh', 'erf'])}"
        if op in ("mlp.gelu_grad", "mlp.silu_grad"):
            attributes += f" rounding = {self.rng.choice(['once', 'each_op'])}"
        return self.unary(op, value, attributes)

    def select(self, a, b):
        predicate = self.rng.choice(PREDICATES)
        condition = self.emit(f"arith.cmpf {predicate}, {a.name}, {b.name} : "
                              f"{self.space(a.element)}")
        return self.value(
            f"arith.select {condition}, {a.name}, {b.name} : "
            f"{self.space('i1')}, {self.space(a.element)}", a.element, a, b)

    def flagSelect(self, a, b):
        if "flag" not in self.params:
            self.params["flag"] = [False, True]
            self.argument("flag", "i1")
        return self.value(f"arith.select %flag, {a.name}, {b.name} : "
                          f"{self.space(a.element)}", a.element, a, b)

    def step(self, pool):
        """One random op on values of the pool, late ones more often."""
        a, b = (self.rng.choice(pool[-4:] if self.rng.random() < 0.6 else pool)
                for _ in range(2))
        element = self.rng.choice(["bf16", "bf16", "f32"])
        a, b = self.cast(a, element), self.cast(b, element)
        dice = self.rng.random()
        if dice < 0.45:
            return self.binary(self.rng.choice(BINARY), a, b)
        if dice < 0.55:
            return self.unary(self.rng.choice(UNARY), a)
        if dice < 0.65:
            return self.select(a, b)
        if dice < 0.70:
            return self.flagSelect(a, b)
        if dice < 0.75:
            return self.binary("arith.mulf", a, self.constant(
                self.rng.choice([-2, -0.5, 0.25, 3]), element))
        if dice < 0.80:
            return self.binary("arith.divf", a, self.inDomain(b, "abs+1"))
        if self.withFunctions:
            return self.function(a)
        return self.binary("arith.addf", a, b)

    # ------------------------------------------------------------- the graph

    def product(self):
        """D, the projection's result."""
        self.argument("x", self.tensor(self.k, "bf16"))
        self.transposed = self.rng.random() < 0.4
        weight = ([self.n, self.k] if self.transposed else [self.k, self.n])
        weight = f"tensor<{weight[0]}x{weight[1]}xbf16>"
        self.argument("weight", weight)
        element = self.rng.choice(["bf16", "bf16", "f32"])
        how = " transpose_b" if self.transposed else ""
        name = self.emit(f"mlp.matmul %x, %weight{how} : "
                         f"{self.tensor(self.k, 'bf16')}, {weight} -> "
                         f"{self.space(element)}")
        return Value(name, element, {"D"})

    def epilogue(self, d):
        """The elementwise outputs: each uses D, together they use all operands."""
        operands = [f"operand{i}" for i in range(self.rng.randint(1, 5))]
        for name in operands:
            self.argument(name, self.space("bf16"))
        self.numOperands = len(operands)
        pool = [Value(f"%{name}", "bf16", {name}) for name in operands] + [d]
        for _ in range(self.rng.randint(3, 10)):
            pool.append(self.step(pool))
        results = []
        for _ in range(self.rng.randint(1, 3)):
            # What nothing uses yet comes first, so that little is dead code.
            loose = [v for v in pool[len(operands):] if v not in results
                     and not self.isUsed(v)]
            value = loose[-1] if loose else self.rng.choice(pool[len(operands):])
            if "D" not in value.uses:
                value = self.combine(value, d)
            results.append(value)
        used = set().union(*(v.uses for v in results))
        for name in operands:
            if name not in used:
                results[0] = self.combine(
                    results[0], Value(f"%{name}", "bf16", {name}))
        for index, value in enumerate(results):
            # A value of its own for each output, whatever the pool gave.
            value = self.cast(self.binary("arith.addf", value, self.constant(
                index + 1, value.element)), "bf16")
            self.outputs.append((value.name, f"result{index}",
                                 self.space("bf16")))

    def isUsed(self, value):
        return any(re.search(rf"{value.name}\b", line.split(" = ", 1)[1])
                   for line in self.lines)

    def dropDeadOps(self):
        """Keeps the ops that an output needs."""
        needed = {value for value, _, _ in self.outputs}
        kept = []
        for line in reversed(self.lines):
            result, op = line.split(" = ", 1)
            if result in needed:
                kept.append(line)
                needed.update(re.findall(r"%\w+", op))
        self.lines = kept[::-1]

    def combine(self, a, b):
        element = self.rng.choice(["bf16", "f32"])
        return self.binary(self.rng.choice(["arith.mulf", "arith.addf"]),
                           self.cast(a, element), self.cast(b, element))

    def ridingSum(self, d):
        one = self.constant(1, d.element)
        shifted = self.binary("arith.addf", d, one)
        type_ = f"tensor<{self.n}x{self.rng.choice(['bf16', 'f32'])}>"
        name = self.emit(f"mlp.sum {shifted.name} over "
                         f"[{', '.join(self.axes)}] : "
                         f"{self.space(d.element)} -> {type_}")
        self.outputs.append((name, "column_sum", type_))

    def weightGradient(self):
        """A second product over the tokens, with the bias sum of its A."""
        m = self.rng.choice(EXTENTS)
        self.argument("y", self.tensor(m, "bf16"))
        axes, x = ", ".join(self.axes), self.tensor(self.k, "bf16")
        type_ = f"tensor<{self.k}x{m}xbf16>"
        name = self.emit(f"mlp.matmul %x, %y contract [{axes}] : {x}, "
                         f"{self.tensor(m, 'bf16')} -> {type_}")
        self.outputs.append((name, "grad_weight", type_))
        if self.rng.random() < 0.6:
            type_ = f"tensor<{self.k}xbf16>"
            name = self.emit(f"mlp.sum %x over [{axes}] : {x} -> {type_}")
            self.outputs.append((name, "grad_bias", type_))

    def build(self):
        d = self.product()
        self.epilogue(d)
        self.hasSum = self.rng.random() < 0.7
        if self.hasSum:
            self.ridingSum(d)
        self.hasWeightGradient = self.rng.random() < 0.4
        if self.hasWeightGradient:
            self.weightGradient()
        self.dropDeadOps()
        body = "\n".join(self.lines)
        self.functions = {f for f in FUNCTIONS if f + " " in body}

    def text(self):
        arguments = ",\n    ".join(self.arguments)
        body = "\n  ".join(self.lines)
        outputs = ", ".join(f'{v} "{n}"' for v, n, _ in self.outputs)
        types = ", ".join(t for _, _, t in self.outputs)
        return (f"{LICENCE}\n// Written by bench/random_epilogues.py.\n"
                f"mlp.graph @{self.name}(\n    {arguments}) {{\n  {body}\n"
                f"  mlp.output {outputs}\n    : {types}\n}}\n")

    def cases(self):
        """The problem in the format of workloads/."""
        def describe(type_):
            if type_ == "i1":
                return {"shape": None, "dtype": "bool"}
            extents = re.match(r"tensor<((?:[?\d]+x)*)(\w+)", type_)
            axes = iter(self.axes)
            return {"shape": [next(axes) if e == "?" else int(e)
                              for e in extents[1].split("x")[:-1]],
                    "dtype": {"bf16": "bfloat16", "f32": "float32"}[extents[2]]}

        cases = []
        for count in self.rng.sample(TOKENS, 3):
            leading = [self.rng.randint(1, 3)] if len(self.axes) > 1 else []
            for values in itertools.product(*self.params.values()):
                cases.append({"axes": dict(zip(self.axes, leading + [count])),
                              "scalars": dict(zip(self.params, values))})
        return {"name": self.name,
                "axes": {axis: "variable" for axis in self.axes},
                "inputs": {a.split('"')[1]: describe(a.split(": ", 1)[1]
                                                     .split(' "')[0])
                           for a in self.arguments},
                "outputs": {n: describe(t) for _, n, t in self.outputs},
                "cases": cases}

    def manifest(self, file):
        return {"file": file, "name": self.name, "k": self.k, "n": self.n,
                "operands": self.numOperands,
                "outputs": [n for _, n, _ in self.outputs],
                "functions": sorted(self.functions),
                "transposed_weight": self.transposed,
                "riding_sum": self.hasSum,
                "weight_gradient": self.hasWeightGradient}


def parseArguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output-dir", required=True, metavar="DIR")
    options = parser.parse_args()
    if options.count < 1:
        parser.error(f"--count={options.count}: expected 1 or more")
    return options


def main():
    options = parseArguments()
    os.makedirs(options.output_dir, exist_ok=True)
    graphs = []
    for index in range(options.count):
        rng = random.Random(f"{options.seed}:{index}")
        # Every second graph has no elementary function: every bit counts there.
        graph = Graph(rng, f"random_{index:02}", functions=index % 2 == 1)
        graph.build()
        file = f"random-{index:02}.mlir"
        with open(os.path.join(options.output_dir, file), "w",
                  encoding="utf-8") as out:
            out.write(graph.text())
        writeJson(os.path.join(options.output_dir, f"random-{index:02}.json"),
                  graph.cases())
        graphs.append(graph.manifest(file))
    writeJson(os.path.join(options.output_dir, "manifest.json"),
              {"schema": "backfuse-random-epilogues/1", "seed": options.seed,
               "graphs": graphs})
    print(f"{options.count} graphs in {options.output_dir}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
