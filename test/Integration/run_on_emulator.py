#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles graphs and executes their kernels on the emulator, all checks on.

    run_on_emulator.py --kernel-opt KERNEL_OPT --kernel-run KERNEL_RUN [--long]
        [--only=PART[,PART...]]

- every example with its features cut, at 1 and 131 tokens, every parameter
- the first graph of README.md, as it is there
- the two founding graphs full-size, and some of their digests (--long: all)
- random epilogues of bench/random_epilogues.py: 3 (--long: 20)
- elementary functions against f64 (elementary_functions.py): a few at some
  values (--long: all, at all 16-bit and a million f32 values)
- eight adversarial seeds on the cut founding graphs: the same bytes each time
- the same bundles' code for Blackwell: the bytes that Hopper's gave on the cut
  graphs (--long: at more tokens, with every parameter, all eight seeds), and
  the founding graphs full-size (--long: at every precision)
- the cut founding graphs for Blackwell in tiles of pairs of CTAs, with splits
  (--long: at every precision, of single CTAs, too)
- --long: every schedule that the bundles of the examples hold for Hopper, with
  each value of the parameters, in adversarial orders, most of them on 4 to 8
  multiprocessors. On cut graphs each schedule in eight orders; the founding
  graphs full-size, their f32 products at every precision, each kernel in eight
  orders, each schedule in two. The same bytes each time

Inputs are exact: every bit is compared. Graphs with elementary functions are
compared within the numerics contract's bound, as their points are not exact.
--only takes names of PARTS, or how several of them begin: --only=blackwell is all
for Blackwell. Prints the seconds of each part, over all cores, and, last,
"N passed, M failed".
"""
import argparse
import collections
import concurrent.futures
import contextlib
import glob
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIGESTS = os.path.join(ROOT, "test", "Integration", "digests")
# What extents are cut to, in ascending order: no multiples of a tile's 64.
CUT_EXTENTS = [264, 520, 776, 1032]
TOKENS = [1, 131]
BLACKWELL = "sm_100f"
BLACKWELL_TOKENS = [1, 129]
AWKWARD_TOKENS = [1, 33, 129, 257]
BLACKWELL_TOKENS_LONG = [1, 7, 127, 129, 300, 513]
# With tiles of each width below; adversarial seeds at these.
BLACKWELL_TILE_TOKENS = [129, 300]
# Seeds that run without --long.
BLACKWELL_SEEDS = [1, 2]
SEEDS = range(8)
# By seed: a CTA gets more units, in another deal, on fewer multiprocessors.
SEED_MULTIPROCESSORS = [132, 4, 5, 6, 7, 8, 4, 8]
# For the schedules of the founding graphs: precisions, and the tokens of the first
# schedule (the next one has one more). Cut graphs have five steps of 64 tokens.
SCHEDULES_FULL_SIZE = {"ssm_gate_backward": ([None], 131), "mlp_gelu_backward": (["fp16", "bf16x3", "tf32"], 67)}
SCHEDULES_CUT_TOKENS = 259
# The rows of a tile on Hopper.
TILE_ROWS = 128
# What --only chooses from.
PARTS = ["hopper-founding", "hopper-cut", "hopper-first", "hopper-graphs", "hopper-epilogues", "hopper-schedules", "functions",
         "blackwell-full", "blackwell-pairs", "blackwell-singles", "blackwell-cut", "blackwell-graphs",
         "blackwell-epilogues"]
# Those that run with --long only, unless named.
LONG_PARTS = ["hopper-schedules", "blackwell-singles", "blackwell-epilogues"]
# The functions and the cases of the digests that run without --long.
SHORT_FUNCTIONS = ["exp:f32", "log:ext", "gelu_tanh:bf16", "gelu_erf:f32", "gelu_tanh_grad:f32", "tanh_afn:f32",
                   "div:f32"]
SHORT_CASES = {"ssm_gate_backward": [1, 6, 14, 15], "mlp_gelu_backward": [2]}
FULL_SIZE = {"ssm_gate_backward": ("B=1,S=131", "use_silu_gate=true", []),
             "mlp_gelu_backward": ("S=64", "", ["--matmul-precision=fp16"])}
# Dimensions and parameters, and precisions; the first of each without --long.
BLACKWELL_FULL_SIZE = {
    "ssm_gate_backward": ([("B=1,S=131", "use_silu_gate=true"), ("B=1,S=131", "use_silu_gate=false"),
                           ("B=1,S=128", "use_silu_gate=true"), ("B=1,S=128", "use_silu_gate=false")], [None]),
    "mlp_gelu_backward": ([("S=64", ""), ("S=131", "")], ["fp16", "bf16x3", "tf32"])}
# Splits of tiles with 128 columns, below 200 tokens, and with 256.
TILE_SPLITS = {"ssm_gate_backward": [[1, 2], [2, 1]],
               "mlp_gelu_backward": [[1, 1, 1, 2], [2, 1, 3, 1]]}


def cutFeatures(text):
    """The graph with its fixed extents of 256 and more replaced by small ones."""
    extents = sorted({int(e) for t in re.findall(r"tensor<([^>,]*)", text)
                      for e in re.findall(r"\d+(?=x)", t) if int(e) >= 256})
    if len(extents) > len(CUT_EXTENTS):
        raise SystemExit(f"more extents than cuts: {extents}")
    cut = dict(zip(extents, CUT_EXTENTS))
    return re.sub(r"tensor<[^>,]*", lambda t: re.sub(
        r"\d+(?=x)", lambda e: str(cut.get(int(e[0]), int(e[0]))), t[0]), text)


class Tests:
    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.passed, self.failed = 0, 0
        self.seenModules = set()
        # The part that a thread is in; by part: tests passed, failed, seconds.
        self.part, self.parts = threading.local(), collections.defaultdict(lambda: [0, 0, 0.0])

    def wants(self, part):
        return part in self.options.only

    @contextlib.contextmanager
    def during(self, part):
        """Counts what is reported meanwhile to `part`."""
        outer, self.part.name = getattr(self.part, "name", None), part
        yield
        self.part.name = outer

    def report(self, name, good, seconds, output=""):
        self.passed += good
        self.failed += not good
        counts = self.parts[self.part.name]
        counts[0] += good
        counts[1] += not good
        counts[2] += seconds
        print(f"{'ok  ' if good else 'FAIL'} {seconds:6.1f} s  {name}", flush=True)
        if not good:
            print("    " + output.strip().replace("\n", "\n    ")[-3000:], flush=True)
        return good

    def execute(self, name, command, environment=None, limit=600, expect=""):
        """Runs a command, which must succeed and print what is expected."""
        start = time.monotonic()
        try:
            result = subprocess.run(command, text=True, capture_output=True, timeout=limit,
                                    env={**os.environ, **(environment or {})})
            output = result.stdout + result.stderr
            good = result.returncode == 0 and expect in output
        except (OSError, subprocess.TimeoutExpired) as error:
            good, output = False, str(error)
        return self.report(name, good, time.monotonic() - start, output)

    def compile(self, source, name, flags=(), targets="sm_90a"):
        """The bundle, or None."""
        bundle = os.path.join(self.directory, name + ".bfb")
        good = self.execute(f"compile {name} for {targets}", [
            self.options.kernel_opt, source, "--emit=bundle", f"--target={targets}", *flags, "-o", bundle])
        return bundle if good else None

    def emulate(self, name, bundle, arguments, settings="", target="sm_90a", expect=""):
        return self.execute(name, [self.options.kernel_run, bundle, f"--device=emulator:{target}", *arguments],
                            {"BACKFUSE_EMULATOR": settings} if settings else None, expect=expect)

    # ---------------------------------------------------------------- tests

    def signature(self, source):
        """The dimensions and bool parameters that the graph's text declares."""
        with open(source) as file:
            text = file.read()
        dims = sorted({d.strip() for t in re.findall(r"#mlp\.dims<([^>]*)>", text)
                       for d in t.split(",")} - {"_"})
        return dims, re.findall(r'%\w+: i1 "(\w+)"', text)

    def cutExample(self, source, name):
        cut = os.path.join(self.directory, name + ".cut.mlir")
        with open(source) as file:
            text = cutFeatures(file.read())
        with open(cut, "w") as file:
            file.write(text)
        parts = [part for part in ("blackwell-cut", "hopper-cut") if self.wants(part)]
        with self.during(parts[0]):
            bundle = self.compile(cut, name + ".cut", targets=f"sm_90a,{BLACKWELL}" if "blackwell-cut" in parts else "sm_90a")
        if not bundle:
            return
        dims, params = self.signature(cut)
        for part in parts:
            with self.during(part):
                (self.blackwellCut if part == "blackwell-cut" else self.hopperCut)(name, bundle, dims, params)

    def hopperCut(self, name, bundle, dims, params):
        for tokens in TOKENS:
            for values in itertools.product(["true", "false"], repeat=len(params)):
                # All tokens along the last dimension.
                sizes = ",".join(f"{d}={tokens if d == dims[-1] else 1}" for d in dims)
                setting = ",".join(f"{p}={v}" for p, v in zip(params, values))
                self.emulate(f"{name} cut, {sizes} {setting}", bundle,
                             ["--inputs=exact", "--dims", sizes] + (["--set", setting] if setting else []))
        self.adversarial(name, bundle, dims, params)

    def adversarial(self, name, bundle, dims, params):
        """Eight seeds give the bytes that the evaluator gave."""
        digests = os.path.join(self.directory, name + ".digests.json")
        sizes = ",".join(f"{d}={131 if d == dims[-1] else 1}" for d in dims)
        setting = ",".join(f"{p}=true" for p in params)
        if not self.execute(f"{name} cut, digests", [
                self.options.kernel_run, bundle, "--device=reference", "--inputs=exact", "--dims", sizes,
                "--digests", digests] + (["--set", setting] if setting else [])):
            return
        for seed in SEEDS:
            self.emulate(f"{name} cut, adversarial seed {seed}", bundle, ["--compare-digests", digests],
                         f"order=adversarial,seed={seed}")

    def blackwellCut(self, name, bundle, dims, params):
        """The code for Blackwell gives the bytes that Hopper's gives, and the evaluator."""
        choices = list(itertools.product(["true", "false"], repeat=len(params)))
        for tokens in BLACKWELL_TOKENS_LONG if self.options.long else BLACKWELL_TOKENS:
            for values in choices if self.options.long else choices[:1]:
                sizes = ",".join(f"{d}={tokens if d == dims[-1] else 1}" for d in dims)
                setting = ",".join(f"{p}={v}" for p, v in zip(params, values))
                digests = os.path.join(self.directory, f"{name}.{tokens}.{setting}.json")
                if not self.emulate(f"{name} cut, {sizes} {setting}, digests", bundle,
                                    ["--inputs=exact", "--dims", sizes, "--digests", digests]
                                    + (["--set", setting] if setting else [])):
                    continue
                where = f"{name} cut on {BLACKWELL}, {sizes} {setting}"
                self.emulate(where, bundle, ["--compare-digests", digests], target=BLACKWELL)
                if tokens != 129:
                    continue
                for seed in SEEDS if self.options.long else BLACKWELL_SEEDS:
                    self.emulate(f"{where}, adversarial seed {seed}", bundle, ["--compare-digests", digests],
                                 f"order=adversarial,seed={seed}", BLACKWELL)

    def blackwellTiles(self, name, kind, rows):
        source = os.path.join(self.directory, f"{name}.{kind}.mlir")
        with open(os.path.join(ROOT, "examples", name + ".mlir")) as file:
            text = cutFeatures(file.read())
        with open(source, "w") as file:
            file.write(text)
        tuning = os.path.join(self.directory, f"{name}.{kind}.json")
        with open(tuning, "w") as file:
            json.dump({"ranges": [{"to": to, "tile_m": rows, "tile_n": columns, "splits": splits}
                                  for to, columns, splits in zip([200, -1], [128, 256], TILE_SPLITS[name])]}, file)
        dims, params = self.signature(source)
        setting = ["--set", ",".join(f"{p}=true" for p in params)] if params else []
        precisions = BLACKWELL_FULL_SIZE[name][1]
        for precision in precisions if self.options.long else precisions[-1:]:
            what = f"{name} {precision}" if precision else name
            bundle = self.compile(source, f"{what} {kind}".replace(" ", "."), [f"--tuning={tuning}"] +
                                  ([f"--matmul-precision={precision}"] if precision else []), BLACKWELL)
            for tokens in (BLACKWELL_TOKENS_LONG if self.options.long else BLACKWELL_TILE_TOKENS) if bundle else []:
                sizes = ",".join(f"{d}={tokens if d == dims[-1] else 1}" for d in dims)
                seeds = [] if tokens not in BLACKWELL_TILE_TOKENS else SEEDS if self.options.long else BLACKWELL_SEEDS
                for settings in [""] + [f"order=adversarial,seed={seed},sms=4" for seed in seeds]:
                    self.emulate(f"{what} cut on {BLACKWELL} in {kind}, {sizes} {settings}", bundle,
                                 ["--inputs=exact", "--dims", sizes, *setting], settings, BLACKWELL)

    def blackwellFullSize(self, name):
        source = os.path.join(ROOT, "examples", name + ".mlir")
        cases, precisions = BLACKWELL_FULL_SIZE[name]
        for precision in precisions if self.options.long else precisions[:1]:
            what = f"{name} {precision}" if precision else name
            bundle = self.compile(source, f"{what} {BLACKWELL}".replace(" ", "."),
                                  [f"--matmul-precision={precision}"] if precision else [], BLACKWELL)
            for dims, setting in (cases if self.options.long else cases[:1]) if bundle else []:
                self.emulate(f"{what} on {BLACKWELL}, {dims} {setting}", bundle,
                             ["--inputs=exact", "--dims", dims] + (["--set", setting] if setting else []),
                             target=BLACKWELL)

    def modules(self, bundle, target="sm_90a"):
        """The texts of the bundle's modules for one target."""
        directory = bundle + ".ptx"
        subprocess.run([self.options.kernel_run, bundle, "--write-ptx", directory], check=True)
        texts = set()
        for file in os.listdir(directory):
            if file.startswith(target + "."):
                with open(os.path.join(directory, file)) as text:
                    texts.add(text.read())
        return texts

    def schedules(self, name, precision, isCut):
        """Each schedule that the graph's own bundle holds for some number of tokens, at few tokens: a tuning
        file gives them ranges of one number each. Full-size the modules must be those of the graph's bundle."""
        what = f"{name} {precision}" if precision else name
        source = os.path.join(ROOT, "examples", name + ".mlir")
        flags = [f"--matmul-precision={precision}"] if precision else []
        bundle = self.compile(source, f"{what} {'cut' if isCut else 'full'} schedules of".replace(" ", "."), flags)
        if not bundle:
            return
        listed = subprocess.run([self.options.kernel_run, bundle, "--list"], text=True, capture_output=True,
                                check=True).stdout
        choices = sorted({(tuple(map(int, tile)), splits) for *tile, splits in re.findall(
            r"variant \d+: .*?tile (\d+)x(\d+)x\d+, splits ([\d/]+)", listed)})
        modules = self.modules(bundle)
        if not self.report(f"{what}: {len(choices)} schedules, {len(modules)} modules", bool(choices), 0, listed):
            return
        first = SCHEDULES_CUT_TOKENS if isCut else SCHEDULES_FULL_SIZE[name][1]
        if isCut:
            what += " cut"
            with open(source) as file:
                text = cutFeatures(file.read())
            source = os.path.join(self.directory, what.replace(" ", ".") + ".schedules.mlir")
            with open(source, "w") as file:
                file.write(text)
        tuning = os.path.join(self.directory, what.replace(" ", ".") + ".schedules.json")
        last = len(choices) - 1
        with open(tuning, "w") as file:
            # A product computed transposed has its tile's rows as columns.
            json.dump({"ranges": [
                {"to": first + i + 1 if i < last else -1, "tile_m": TILE_ROWS,
                 "tile_n": tile[0] if tile[1] == TILE_ROWS else tile[1], "splits": list(map(int, splits.split("/")))}
                for i, (tile, splits) in enumerate(choices)]}, file)
        bundle = self.compile(source, f"{what} schedules".replace(" ", "."), [f"--tuning={tuning}", *flags])
        if not bundle:
            return
        seeds = {choice: list(SEEDS) for choice in choices}
        if not isCut:
            tuned = self.modules(bundle)
            self.report(f"{what}: the same modules with the ranges of this test", tuned == modules, 0)
            # The kernels of a tile share the seeds, two for each schedule; another precision's same modules take one.
            for tile in {tile for tile, _ in choices}:
                alike = [choice for choice in choices if choice[0] == tile]
                share = max(2, len(SEEDS) // len(alike))
                for i, choice in enumerate(alike):
                    seeds[choice] = [(i * share + k) % len(SEEDS) for k in range(share)]
            key = frozenset(tuned)
            if key in self.seenModules:
                seeds = {choice: some[:1] for choice, some in seeds.items()}
            self.seenModules.add(key)
        dims, params = self.signature(source)
        for i, (tile, splits) in enumerate(choices):
            sizes = ",".join(f"{d}={first + i if d == dims[-1] else 1}" for d in dims)
            for values in itertools.product(["true", "false"], repeat=len(params)):
                setting = ",".join(f"{p}={v}" for p, v in zip(params, values))
                where = f"{what}, tile {tile[0]}x{tile[1]}, splits {splits}, {sizes} {setting}"
                digests = os.path.join(self.directory, f"{what}.{i}.{setting}.schedules.json")
                if not self.execute(f"{where}, digests", [
                        self.options.kernel_run, bundle, "--device=reference", "--inputs=exact", "--dims", sizes,
                        "--digests", digests] + (["--set", setting] if setting else [])):
                    continue
                for seed in seeds[tile, splits]:
                    sms = SEED_MULTIPROCESSORS[seed]
                    self.emulate(f"{where}, adversarial seed {seed}, {sms} multiprocessors", bundle,
                                 ["--compare-digests", digests],
                                 f"order=adversarial,seed={seed},sms={sms},threads=1",
                                 expect=f"tile {tile[0]}x{tile[1]}x64, splits {splits}\n")

    def founding(self, name):
        source = os.path.join(ROOT, "examples", name + ".mlir")
        dims, setting, flags = FULL_SIZE[name]
        bundle = self.compile(source, name, flags)
        if not bundle:
            return
        self.emulate(f"{name}, {dims}", bundle,
                     ["--inputs=exact", "--dims", dims] + (["--set", setting] if setting else []))
        digests = os.path.join(DIGESTS, name + ".json")
        with open(digests) as file:
            cases = range(len(json.load(file)["cases"])) if self.options.long else SHORT_CASES[name]
        bundles = [(name, bundle)]
        if self.options.long and flags:  # as the graph itself declares its products
            bundles.append((name + " as declared", self.compile(source, name + ".declared")))
        for title, bundle in bundles:
            for case in cases if bundle else []:
                self.emulate(f"{title}, digests of case {case}", bundle,
                             ["--compare-digests", digests, f"--case={case}"])

    def firstGraph(self):
        with open(os.path.join(ROOT, "README.md")) as file:
            text = re.search(r"```mlir\n(.*?)```", file.read(), re.S)[1]
        source = os.path.join(self.directory, "first.mlir")
        with open(source, "w") as file:
            file.write(text)
        bundle = self.compile(source, "first")
        if bundle:
            self.emulate("README's first graph, T=131", bundle, ["--inputs=exact", "--dims", "T=131"])

    def elementaryFunctions(self):
        directory = os.path.join(self.directory, "functions")
        script = os.path.join(ROOT, "test", "Integration", "elementary_functions.py")
        names = [] if self.options.long else SHORT_FUNCTIONS
        if self.execute("compile elementary functions", [
                sys.executable, script, "compile", "--kernel-opt", self.options.kernel_opt, "--dir", directory, *names],
                limit=3600):
            self.execute("elementary functions against f64", [
                sys.executable, script, "check", "--kernel-run", self.options.kernel_run, "--dir", directory,
                "--device=emulator", *([] if self.options.long else ["--points=100000"])], limit=3600)

    def randomEpilogue(self, graph):
        source = os.path.join(self.directory, graph["file"])
        parts = {"hopper-epilogues": "sm_90a", "blackwell-epilogues": BLACKWELL}
        parts = {part: target for part, target in parts.items() if self.wants(part)}
        with self.during(next(iter(parts))):
            bundle = self.compile(source, graph["name"], targets=",".join(parts.values()))
        # An elementary function rounds, also on exact inputs.
        kind = ["--inputs=random", "--check=declared"] if graph["functions"] else ["--inputs=exact"]
        for part, target in parts.items() if bundle else []:
            with self.during(part):
                self.emulate(f"{graph['name']} {' '.join(graph['functions'])} on {target}", bundle,
                             ["--cases", re.sub(r"\.mlir$", ".json", source), *kind], target=target)

    def awkwardGraph(self, source):
        """A graph that once went wrong, on few multiprocessors."""
        name = os.path.basename(source)[:-5]
        parts = {part: target for part, target in (("hopper-graphs", "sm_90a"), ("blackwell-graphs", BLACKWELL)) if self.wants(part)}
        with self.during(next(iter(parts))):
            bundle = self.compile(source, name, targets=",".join(parts.values()))
        for part, target in parts.items() if bundle else []:
            with self.during(part):
                for tokens in AWKWARD_TOKENS:
                    self.emulate(f"{name} T={tokens} on {target}", bundle, ["--dims", f"T={tokens}", "--inputs=exact"],
                                 f"order=adversarial,seed={tokens},sms=4", target=target)

    def jobs(self):
        """What to run, several at a time: parts, function and arguments."""
        count = 20 if self.options.long else 3
        subprocess.run([sys.executable, os.path.join(ROOT, "bench", "random_epilogues.py"), "--count", str(count),
                        "--seed", "1", "--output-dir", self.directory], check=True)
        with open(os.path.join(self.directory, "manifest.json")) as file:
            manifest = json.load(file)
        for name in FULL_SIZE:
            yield ["hopper-founding"], self.founding, name
        yield ["functions"], self.elementaryFunctions
        for name in BLACKWELL_FULL_SIZE:
            yield ["blackwell-full"], self.blackwellFullSize, name
        for name in TILE_SPLITS:
            yield ["blackwell-pairs"], self.blackwellTiles, name, "pairs", 256
            yield ["blackwell-singles"], self.blackwellTiles, name, "singles", 128
        for source in sorted(glob.glob(os.path.join(ROOT, "examples", "*.mlir"))):
            yield ["hopper-cut", "blackwell-cut"], self.cutExample, source, os.path.basename(source)[:-5]
            yield ["hopper-schedules"], self.schedules, os.path.basename(source)[:-5], None, True
        for name, (precisions, _) in SCHEDULES_FULL_SIZE.items():
            for precision in precisions:
                yield ["hopper-schedules"], self.schedules, name, precision, False
        yield ["hopper-first"], self.firstGraph
        for source in sorted(glob.glob(os.path.join(ROOT, "test", "Integration", "graphs", "*.mlir"))):
            yield ["hopper-graphs", "blackwell-graphs"], self.awkwardGraph, source
        for graph in manifest["graphs"]:
            yield ["hopper-epilogues", "blackwell-epilogues"], self.randomEpilogue, graph

    def run(self):
        def start(parts, function, *arguments):
            with self.during(parts[0]):
                function(*arguments)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for job in [pool.submit(start, *job) for job in self.jobs() if any(map(self.wants, job[0]))]:
                job.result()
        for part, (passed, failed, seconds) in self.parts.items():
            print(f"{part}: {passed} passed, {failed} failed, {seconds:.0f} s")


def chosenParts(text):
    chosen = [part for part in PARTS if any(part.startswith(name) for name in text.split(","))]
    for name in text.split(","):
        if not name or not any(part.startswith(name) for part in PARTS):
            raise argparse.ArgumentTypeError(f"no part '{name}', expected some of {', '.join(PARTS)}")
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel-opt", required=True)
    parser.add_argument("--kernel-run", required=True)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", metavar="PART[,PART...]", type=chosenParts, default=None,
                        help="one of " + ", ".join(PARTS) + ", or how some begin")
    options = parser.parse_args()
    if options.only is None:
        options.only = [part for part in PARTS if options.long or part not in LONG_PARTS]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        tests = Tests(options, directory)
        tests.run()
    print(f"{time.monotonic() - start:.0f} s")
    print(f"{tests.passed} passed, {tests.failed} failed")
    sys.exit(0 if tests.failed == 0 and tests.passed else 1)


if __name__ == "__main__":
    main()
