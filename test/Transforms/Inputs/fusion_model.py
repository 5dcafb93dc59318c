# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes random graphs and evaluates what backfuse-fuse-into-launches made of them.

Values are integers modulo a prime, so that sums are exact in any order. Rounding to
16 bit and elementary functions are arbitrary functions: a rounding that was lost,
moved or doubled, or an op that was applied twice, gives other integers. Widening is
the identity, as in the compiler's own reasoning.

  fusion_model.py generate SEED COUNT           prints COUNT graphs
  fusion_model.py generate SEED COUNT MESSAGES  prints those without an error in a
                                                compiler's messages about the former
  fusion_model.py check SEED COUNT MESSAGES     reads the latter as they were fused,
                                                and compares
"""

import random
import re
import sys

P = (1 << 31) - 1
VARIABLE = {"B": 2, "S": 3, "T": 5, "B*S": 6}

UNARY = {
    "arith.negf": lambda x: -x,
    "math.tanh": lambda x: x * x * x + 7,
    "mlp.sigmoid": lambda x: x * x + 11,
    "mlp.relu": lambda x: 3 * x * x + x,
}
BINARY = {
    "arith.addf": lambda x, y: x + y,
    "arith.subf": lambda x, y: x - y,
    "arith.mulf": lambda x, y: x * y,
    "arith.maximumf": lambda x, y: x * x + y * y,
}


def round16(x):
    return (5 * x * x + x + 1) % P


def rounded(x, dtype):
    return x % P if dtype == "f32" else round16(x % P)


def size(dim):
    return VARIABLE[dim] if isinstance(dim, str) else dim


def count(shape):
    n = 1
    for dim in shape:
        n *= size(dim)
    return n


def type_text(shape, dtype):
    dims = "".join(("?" if isinstance(d, str) else str(d)) + "x" for d in shape)
    names = ", ".join(d if isinstance(d, str) else "_" for d in shape)
    variable = any(isinstance(d, str) for d in shape)
    return f"tensor<{dims}{dtype}{f', #mlp.dims<{names}>' if variable else ''}>"


def product(a, b, m, n, k, a_k_major, b_k_major):
    """A is m x k if K-major, else k x m; B likewise. Row-major lists."""
    result = []
    for i in range(m):
        for j in range(n):
            acc = 0
            for l in range(k):
                x = a[i * k + l] if a_k_major else a[l * m + i]
                y = b[j * k + l] if b_k_major else b[l * n + j]
                acc += x * y
            result.append(acc % P)
    return result


# ------------------------------------------------------------------- generation


class Value:
    def __init__(self, name, shape, dtype, data, follows):
        self.name, self.shape, self.dtype, self.data = name, shape, dtype, data
        # The name of a product that it depends on, or None.
        self.follows = follows

    @property
    def type(self):
        return type_text(self.shape, self.dtype) if self.shape else self.dtype


class Graph:
    """A random graph with the values of all its ops."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.args, self.values, self.lines = [], [], []
        self.contracted, self.sums = [], []  # operands of weight gradients; sums
        self.dims = self.rng.choice([("T",), ("B", "S")])
        self.features = self.rng.sample([2, 3, 4, 7], 2)
        for f in self.features:
            self.add_arg(self.dims + (f,), self.dtype())
        for _ in range(self.rng.randint(2, 14)):
            self.rng.choice(
                [self.matmul] * 3 + [self.elementwise] * 6 + [self.sum] * 2
                + [self.broadcast, self.cast, self.reshape]
            )()
        if not any("matmul" in line for line in self.lines):
            self.matmul()
        computed = [v for v in self.values if v not in self.args and v.shape]
        if self.rng.random() < 0.95:
            computed = [v for v in computed if v.follows or v in self.sums]
        chosen = self.rng.sample(computed, min(len(computed), self.rng.randint(1, 5)))
        if computed[-1] not in chosen:
            chosen.append(computed[-1])
        self.outputs = [v for v in chosen if "B*S" not in v.shape]
        if not self.outputs:
            self.matmul(plain=True)
            self.outputs = [self.values[-1]]

    def dtype(self):
        return self.rng.choice(["f32", "f32", "bf16"])

    def add_arg(self, shape, dtype):
        data = [self.rng.randrange(P) for _ in range(count(shape))]
        value = Value(f"%a{len(self.args)}", shape, dtype, data, None)
        self.args.append(value)
        self.values.append(value)
        return value

    def emit(self, text, shape, dtype, data):
        names = re.findall(r"%\w+", text)
        follows = next((v.follows for v in self.values if v.name in names and v.follows), None)
        name = f"%v{len(self.lines)}"
        if text.startswith("mlp.matmul"):
            follows = name
        value = Value(name, shape, dtype, [x % P for x in data], follows)
        self.lines.append(f"{value.name} = {text.replace('RESULT', value.type)}")
        self.values.append(value)
        return value

    def pick(self, accept, useful=lambda v: True):
        """A value that `accept` takes, mostly one that is `useful`, too."""
        found = [v for v in self.values if accept(v)]
        if self.rng.random() < 0.95:
            found = [v for v in found if useful(v)] or found
        # Later values more often, so that chains form.
        return self.rng.choice(found[-4:] if self.rng.random() < 0.7 else found) if found else None

    def rows(self, plain=False):
        dims = [self.dims] if plain else [self.dims, ("B*S",)]
        return lambda v: v.shape[:-1] in dims and not isinstance(v.shape[-1], str)

    def stored(self, v):
        """Whether a product can read it: mostly what fusion does not refuse."""
        return v.follows or v in self.args

    def matmul(self, plain=False):
        a = self.pick(self.rows(plain), self.stored)
        lead, k = a.shape[:-1], a.shape[-1]
        precision = " precision tf32" if a.dtype == "f32" else ""
        dtype = a.dtype if precision else self.dtype()
        kind = self.rng.choice(["dgrad", "transposed"] + ([] if plain else ["wgrad"]))
        if kind == "wgrad":
            b = self.pick(lambda v: v.shape[:-1] == lead and v.dtype == a.dtype
                          and not isinstance(v.shape[-1], str), self.stored)
            m, n, t = k, b.shape[-1], count(lead)
            data = product(a.data, b.data, m, n, t, False, False)
            shape, suffix = (m, n), f" contract [{', '.join(lead)}]"
            self.contracted += [a, b]
        else:
            n = self.rng.choice(self.features)
            wanted = (k, n) if kind == "dgrad" else (n, k)
            b = self.pick(lambda v: v.shape == wanted and v.dtype == a.dtype, self.stored)
            b = b or self.add_arg(wanted, a.dtype)
            data = product(a.data, b.data, count(lead), n, k, True, kind != "dgrad")
            shape = lead + (n,)
            suffix = "" if kind == "dgrad" else " transpose_b"
        self.emit(
            f"mlp.matmul {a.name}, {b.name}{suffix}{precision} : {a.type}, {b.type} -> RESULT",
            shape, dtype, [rounded(x, dtype) for x in data])

    def elementwise(self):
        a = self.pick(lambda v: v.shape, lambda v: v.follows)
        if self.rng.random() < 0.3:
            name = self.rng.choice(list(UNARY))
            data = [rounded(UNARY[name](x), a.dtype) for x in a.data]
            self.emit(f"{name} {a.name} : RESULT", a.shape, a.dtype, data)
            return
        b = self.pick(lambda v: v.shape == a.shape and v.dtype == a.dtype,
                      lambda v: v.follows and v.follows != a.follows)
        if self.rng.random() < 0.2 and "B*S" not in a.shape:
            b = self.add_arg(a.shape, a.dtype)
        if self.rng.random() < 0.5:
            a, b = b, a
        name = self.rng.choice(list(BINARY))
        data = [rounded(BINARY[name](x, y), a.dtype) for x, y in zip(a.data, b.data)]
        self.emit(f"{name} {a.name}, {b.name} : RESULT", a.shape, a.dtype, data)

    def sum(self):
        a = self.pick(self.rows(), self.stored)
        if self.contracted and self.rng.random() < 0.5:
            a = self.rng.choice(self.contracted)
        n, dtype = a.shape[-1], self.dtype()
        data = [rounded(sum(a.data[j::n]), dtype) for j in range(n)]
        axes = ", ".join(a.shape[:-1])
        self.sums.append(self.emit(f"mlp.sum {a.name} over [{axes}] : {a.type} -> RESULT",
                                   (n,), dtype, data))

    def broadcast(self):
        like = self.pick(self.rows())
        lead, n = like.shape[:-1], like.shape[-1]
        kind = self.rng.choice(["row", "column", "scalar"])
        if kind == "row":
            v = self.pick(lambda v: v.shape == (n,)) or self.add_arg((n,), self.dtype())
            data, dims = v.data * count(lead), ""
        elif kind == "column" and "B*S" not in lead:
            v = self.pick(lambda v: v.shape == lead) or self.add_arg(lead, self.dtype())
            data = [x for x in v.data for _ in range(n)]
            dims = f" dims = {list(range(len(lead)))}"
        else:
            v = self.pick(lambda v: v.shape == ()) or self.add_arg((), "f32")
            data, dims = v.data * count(like.shape), ""
        self.emit(f"mlp.broadcast {v.name}{dims} : {v.type} -> RESULT",
                  like.shape, v.dtype, data)

    def cast(self):
        a = self.pick(lambda v: v.shape)
        if a.dtype == "f32":
            self.emit(f"arith.truncf {a.name} : {a.type} to RESULT", a.shape, "bf16",
                      [round16(x) for x in a.data])
        else:
            self.emit(f"arith.extf {a.name} : {a.type} to RESULT", a.shape, "f32", a.data)

    def reshape(self):
        if self.dims == ("T",):
            return
        a = self.pick(self.rows())
        collapse = a.shape[0] == "B"
        shape = (("B*S",) if collapse else self.dims) + a.shape[-1:]
        self.emit(f"mlp.{'collapse' if collapse else 'expand'} {a.name} [B, S] : {a.type} -> RESULT",
                  shape, a.dtype, a.data)

    def text(self):
        args = ", ".join(f'{a.name}: {a.type} "{a.name[1:]}"' for a in self.args)
        outs = ", ".join(f'{v.name} "o{i}"' for i, v in enumerate(self.outputs))
        types = ", ".join(v.type for v in self.outputs)
        body = "\n  ".join(self.lines)
        return f"mlp.graph @g({args}) {{\n  {body}\n  mlp.output {outs} : {types}\n}}\n"


# ------------------------------------------------------------------- evaluation


def split_types(text):
    parts, depth = [""], 0
    for c in text:
        depth += (c == "<") - (c == ">")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def dtype_of(type_):
    return re.search(r"(bf16|f16|f32)", type_).group(1)


def extent(text):
    n = 1
    for factor in text.split("*"):
        n *= int(factor) if factor.isdigit() else VARIABLE[factor]
    return n


class Fused:
    """Evaluates a fused graph, line by line of its text."""

    def __init__(self, text, args):
        self.env = {a.name: a.data for a in args}
        self.lines = [line.strip() for line in text.strip().splitlines()]
        self.pos = 0

    def next(self):
        self.pos += 1
        return self.lines[self.pos - 1]

    def bind(self, names, values):
        match = re.fullmatch(r"(%\w+)(?::(\d+))?", names)
        if match.group(2):
            assert int(match.group(2)) == len(values)
            for i, value in enumerate(values):
                self.env[f"{match.group(1)}#{i}"] = value
        else:
            (self.env[match.group(1)],) = values

    def run(self):
        while True:
            line = self.next()
            if match := re.match(r"(%\S+) = mlp.launch ->", line):
                self.bind(match.group(1), self.launch())
            elif match := re.match(r"mlp.output (.*?) : ", line):
                return [self.env[o.split()[0]] for o in match.group(1).split(", ")]
            else:
                assert line.startswith(("module", "mlp.graph")), line

    def launch(self):
        outside = dict(self.env)
        results = {}
        while True:
            line = self.next()
            if match := re.match(r"mlp.launch_yield (.*?) : ", line):
                values = [self.env[name] for name in match.group(1).split(", ")]
                self.env = outside
                assert self.next() == "}"
                return values
            match = re.match(r"(%\S+) = mlp.fused m = (\S+), n = (\S+)$", line)
            names, m, n = match.group(1), extent(match.group(2)), extent(match.group(3))
            # What a fused op reads was there before the launch.
            results[names] = self.fused(outside, m, n)
            self.bind(names, results[names])

    def fused(self, env, m, n):
        accs, operands, elements, sums, types = {}, [], [], [], []
        while not (line := self.next()).startswith("^bb0"):
            if match := re.match(
                    r"acc(\d+) \+= (\S+)\[(m, k|k, m)\] \* (\S+)\[(n, k|k, n)\] over k = ([\w*]+)", line):
                acc, a, ai, b, bi, k = match.groups()
                k = extent(k)
                part = product(env[a], env[b], m, n, k, ai == "m, k", bi == "n, k")
                assert len(env[a]) == m * k and len(env[b]) == n * k
                old = accs.get(int(acc), [0] * (m * n))
                accs[int(acc)] = [x + y for x, y in zip(old, part)]
                operands.append((env[a], ai == "m, k", env[b], bi == "n, k", k))
            elif match := re.match(r"with (.*?\]) : ", line):
                elements = re.findall(r"(%[\w#]+)\[([mn, ]*)\]", match.group(1))
            elif line.startswith("sum_k "):
                sums = re.findall(r"([ab])(\d+)", line[6:])
            elif line.startswith("-> "):
                types = split_types(line[3:].rstrip("{ "))
        args = re.findall(r"(%\w+): \w+", line)
        assert len(args) == len(accs) + len(elements), line
        body = []
        while not (line := self.next()).startswith("mlp.fused_yield"):
            body.append(line)
        yields = re.findall(r"(store|sum_m) (%\w+) : ", line)
        assert self.next() == "}"
        results = []
        for kind, _ in yields:
            results.append([] if kind == "store" else [0] * n)
        for i in range(m):
            for j in range(n):
                scalars = {}
                for index, name in enumerate(args):
                    if index < len(accs):
                        scalars[name] = accs[index][i * n + j] % P
                        continue
                    data, where = elements[index - len(accs)]
                    place = {"m, n": i * n + j, "n": j, "m": i, "": 0}[where]
                    scalars[name] = env[data][place]
                evaluate(body, scalars)
                for result, (kind, name) in zip(results, yields):
                    if kind == "store":
                        result.append(scalars[name])
                    else:
                        result[j] += scalars[name]
        for (kind, _), index, type_ in zip(yields, range(len(yields)), types):
            if kind == "sum_m":
                results[index] = [rounded(x, dtype_of(type_)) for x in results[index]]
        for (side, number), type_ in zip(sums, types[len(yields):]):
            a, a_k_major, b, b_k_major, k = operands[int(number)]
            data, k_major, outer = (a, a_k_major, m) if side == "a" else (b, b_k_major, n)
            sums_k = [sum(data[i * k:(i + 1) * k]) if k_major else sum(data[i::outer])
                      for i in range(outer)]
            results.append([rounded(x, dtype_of(type_)) for x in sums_k])
        return results


def evaluate(body, env):
    """Evaluates the scalar ops of a region."""
    for line in body:
        name, rest = line.split(" = ", 1)
        op, rest = rest.split(" ", 1)
        operands = [env[o] for o in re.findall(r"%\w+", rest)]
        if op == "arith.extf":
            env[name] = operands[0]
        elif op == "arith.truncf":
            env[name] = round16(operands[0])
        elif op in UNARY:
            env[name] = rounded(UNARY[op](*operands), dtype_of(rest))
        else:
            env[name] = rounded(BINARY[op](*operands), dtype_of(rest))


SEPARATOR = "// -----\n"


def join(graphs):
    return SEPARATOR.join(graph.text() for graph in graphs)


def accepted(graphs, messages):
    """The graphs on whose lines no error was reported."""
    errors = {int(line) for line in re.findall(r":(\d+):\d+: error: ", messages)}
    result, line = [], 1
    for graph in graphs:
        end = line + graph.text().count("\n")
        if not errors & set(range(line, end)):
            result.append(graph)
        line = end + 1
    return result


def main():
    command, seed, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    graphs = [Graph(seed * 100000 + i) for i in range(number)]
    if len(sys.argv) > 4:
        graphs = accepted(graphs, open(sys.argv[4]).read())
    if command == "generate":
        print(join(graphs), end="")
        return
    texts = sys.stdin.read().split(SEPARATOR)
    assert len(texts) == len(graphs), f"{len(texts)} texts for {len(graphs)} graphs"
    for graph, text in zip(graphs, texts):
        if Fused(text, graph.args).run() != [o.data for o in graph.outputs]:
            print(f"differs:\n{graph.text()}\n{text}")
            sys.exit(1)
    print(f"{len(graphs)} graphs fused and equal, {number - len(graphs)} refused")


if __name__ == "__main__":
    main()
