# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of bench/ that need neither a GPU nor PyTorch.

    python3 -m unittest discover -s bench/tests
"""

import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, BENCH)

import prototypes  # noqa: E402
import workload  # noqa: E402

PROBLEM = {
    "name": "tiny", "axes": {"batch": "variable", "tokens": "variable",
                             "half": 8, "full": "half * 2"},
    "inputs": {"x": {"shape": ["batch", "tokens", "full"], "dtype": "bfloat16"},
               "flag": {"shape": None, "dtype": "bool"}},
    "outputs": {"y": {"shape": ["full"], "dtype": "bfloat16"}},
    "cases": [{"axes": {"batch": 2, "tokens": 3}, "scalars": {"flag": True},
               "atol": 0.1, "rtol": 0.0},
              {"axes": {"batch": 1, "tokens": 5}, "scalars": {"flag": False},
               "atol": 0.1, "rtol": 0.0}]}


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, value):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(value, file)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def script(self, name, *arguments):
        return subprocess.run(
            [sys.executable, os.path.join(BENCH, name), *arguments],
            capture_output=True, text=True, check=False)


class WorkloadTest(Files):
    def testResolvesAxesAndTokens(self):
        problem = workload.Workload(self.write("1_tiny.json", PROBLEM))
        case = problem.cases[0]
        self.assertEqual(problem.tokens(case), 6)
        self.assertEqual(problem.shape(PROBLEM["inputs"]["x"], case), [2, 3, 16])
        self.assertIsNone(problem.shape(PROBLEM["inputs"]["flag"], case))

    def testNamesTheMissingKey(self):
        broken = json.loads(json.dumps(PROBLEM))
        del broken["cases"][1]["axes"]["tokens"]
        with self.assertRaisesRegex(workload.WorkloadError,
                                    "case 1: axes: missing key 'tokens'"):
            workload.Workload(self.write("1_tiny.json", broken))

    def testOtherTokenCountsKeepTheProblem(self):
        path = self.write("1_tiny.json", PROBLEM)
        done = self.script("workload.py", path, "--tokens", "1,7",
                           "--output", self.path("out.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        cases = workload.Workload(self.path("out.json")).cases
        self.assertEqual([(c.axes["batch"], c.axes["tokens"], c.scalars["flag"])
                          for c in cases],
                         [(1, 1, False), (1, 1, True), (1, 7, False),
                          (1, 7, True)])


class CompareTest(Files):
    def documents(self, ours):
        case = PROBLEM["cases"]
        self.ours = self.write("ours.json", {"device": "G", "cases": [
            {**c, "median_us": t, "floor_us": 1.0} for c, t in zip(case, ours)]})
        self.peers = self.write("peers.json", {"device": {"name": "G"}, "cases": [
            {**c, "peers": {
                "eager": {"status": "ok", "median_us": 30.0},
                "compile": {"status": "ok", "median_us": 12.0},
                "compile-autotune": {"status": "ok", "median_us": 10.0}}}
            for c in case]})

    def testFasterEverywhere(self):
        self.documents([5.0, 7.0])
        done = self.script("compare.py", "--ours", self.ours, "--peers",
                           self.peers)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| mean of 2 |  | 1.0 | **6.0** | 10.0 | 0.60 | 30.0 |",
                      done.stdout)

    def testSlowerInOneCaseFailsAndNamesIt(self):
        self.documents([5.0, 10.5])
        done = self.script("compare.py", "--ours", self.ours, "--peers",
                           self.peers)
        self.assertEqual(done.returncode, 1)
        self.assertIn("batch=1, tokens=5, flag=0: 10.5 us, compile-autotune "
                      "10.0 us", done.stderr)

    def testOtherMachineIsRefused(self):
        self.documents([5.0, 7.0])
        other = json.loads(self.read("peers.json"))
        other["device"]["name"] = "H"
        self.write("peers.json", other)
        done = self.script("compare.py", "--ours", self.ours, "--peers",
                           self.peers)
        self.assertEqual(done.returncode, 2)
        self.assertIn("different machines", done.stderr)

    def testMissingKeyIsNamed(self):
        self.documents([5.0, 7.0])
        other = json.loads(self.read("ours.json"))
        del other["cases"][1]["median_us"]
        self.write("ours.json", other)
        done = self.script("compare.py", "--ours", self.ours, "--peers",
                           self.peers)
        self.assertEqual(done.returncode, 2)
        self.assertIn("case 1: missing key 'median_us'", done.stderr)


class ModelTest(Files):
    PLAN = """graph tiny
target sm_90a
prediction for sm_90a on one H200 (rates fitted to measured times)
  case B=2 S=600 flag=1: 12.0 us with tiles of 128x128x64, splits 1/1
    launch tiny_convert0: 4.0 us, bound by device memory
    launch tiny_launch1: 8.0 us, bound by tensor core
  case B=1 S=5 flag=0: 6.0 us with tiles of 128x128x64, splits 1/1
    launch tiny_launch0: 6.0 us, bound by launch
  mean of 2 case(s): 9.0 us
"""

    def compare(self, large, small, *arguments):
        with open(self.path("plan"), "w", encoding="utf-8") as file:
            file.write(self.PLAN)
        measured = self.write("bench.json", {"cases": [
            {"dims": {"B": 1, "S": 5}, "params": {"flag": False}, "tokens": 5,
             "median_us": small},
            {"dims": {"B": 2, "S": 600}, "params": {"flag": 1.0},
             "tokens": 1200, "median_us": large}]})
        return self.script("model.py", "--plan", self.path("plan"),
                           "--measured", measured, *arguments)

    def testPrintsRatiosAndTheWorst(self):
        done = self.compare(10.0, 6.0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| B=2, S=600, flag=1 | 1200 | 10.0 | 12.0 | 1.20 | "
                      "tensor core, device memory |", done.stdout)
        self.assertIn("| mean of 2 |  | 8.0 | 9.0 | 1.12 |  |", done.stdout)
        self.assertIn("worst above 1000 tokens: 1.20 (B=2, S=600, flag=1)",
                      done.stdout)

    def testOnlyLargeCasesFail(self):
        self.assertEqual(self.compare(10.0, 3.0).returncode, 0)
        done = self.compare(9.0, 6.0)
        self.assertEqual(done.returncode, 1)
        self.assertIn("predicted 12.0 us, measured 9.0, ratio 1.33", done.stderr)
        self.assertEqual(self.compare(10.0, 6.0, "--within=0.1").returncode, 1)

    def testOtherTargetsAndCasesAreNamed(self):
        done = self.compare(10.0, 6.0, "--target=sm_100f")
        self.assertEqual(done.returncode, 2)
        self.assertIn("predicts nothing for sm_100f; its targets: sm_90a",
                      done.stderr)
        self.PLAN = self.PLAN.replace("S=5 ", "S=7 ")
        done = self.compare(10.0, 6.0)
        self.assertEqual(done.returncode, 2)
        self.assertIn("case 0 (B=1, S=5, flag=0) is not in the plan",
                      done.stderr)

    def testPublishedTimes(self):
        self.compare(10.0, 6.0)
        published = self.write("1_tiny.json", {"cases": [
            {"axes": {"b": 2, "s": 600}, "scalars": {"flag": True},
             "b200_sol_us": 3.0, "b200_baseline_us": 24.0},
            {"axes": {"b": 1, "s": 5}, "scalars": {"flag": False},
             "b200_sol_us": 1.0, "b200_baseline_us": 12.0}]})
        done = self.script("model.py", "--plan", self.path("plan"),
                           "--published", published, "--record=6")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| mean of 2 |  | 9.0 | 2.0 | 4.50 | 18.0 | 0.50 |  |",
                      done.stdout)
        self.assertIn("mean 9.0 us, record 6.0 us: 1.50 of it", done.stdout)


class PrototypesTest(unittest.TestCase):
    def testReadsResultLines(self):
        line = ("T   1163 silu 1 g,2,7,3,0,1            med    17.25 min    "
                "16.90 us 1700 MHz ok bad% 0.000 0.000 0.000 0.000 maxerr 1 2")
        found = prototypes.RESULT.match(line)
        self.assertEqual((found["config"], found["median"], found["verdict"]),
                         ("g,2,7,3,0,1", "17.25", "ok"))
        line = ("T    64 s,4,7,0,0123           med   37.50 min   36.00 us "
                "WRONG bad% 0.000")
        self.assertEqual(prototypes.RESULT.match(line)["verdict"], "WRONG")


class RandomEpiloguesTest(Files):
    def testSameSeedSameFilesAndAllOperandsUsed(self):
        for name in ("a", "b"):
            done = self.script("random_epilogues.py", "--count", "12",
                               "--output-dir", self.path(name))
            self.assertEqual(done.returncode, 0, done.stderr)
        for index in range(12):
            texts = [self.read(f"{d}/random-{index:02}.mlir") for d in ("a", "b")]
            self.assertEqual(*texts)
            head, body = texts[0].split(") {\n", 1)
            for line in head.splitlines():
                if "%operand" in line:
                    self.assertIn(line.split(":")[0].strip(), body)
            problem = workload.Workload(self.path(f"a/random-{index:02}.json"))
            for case in problem.cases:
                for tensor in problem.inputs.values():
                    problem.shape(tensor, case)

    def testHalfOfTheGraphsAreExact(self):
        self.script("random_epilogues.py", "--output-dir", self.path("a"))
        graphs = json.loads(self.read("a/manifest.json"))["graphs"]
        self.assertEqual(len(graphs), 20)
        self.assertTrue(all(not g["functions"] for g in graphs[::2]))
        self.assertGreaterEqual(sum(bool(g["functions"]) for g in graphs), 5)
        self.assertGreaterEqual(sum(g["riding_sum"] for g in graphs), 5)


class FakeCuda:
    """A stream whose spin lasts as long as it is told, in enqueue attempts.

    Event times: a spin of n cycles takes n / 1000 us; the work takes 7 us.
    """

    def __init__(self, neededCycles):
        self.needed, self.cycles, self.spins = neededCycles, 0, []

    def module(self):
        fake = self

        class Event:
            def __init__(self, enable_timing):
                self.at = None

            def record(self):
                fake.order.append(self)

            def query(self):  # the start event is done if the spin was short
                return fake.cycles < fake.needed

            def elapsed_time(self, other):
                isSpin = fake.order.index(self) == 0
                return (fake.cycles / 1e6) if isSpin else 0.007

        class Buffer:
            def zero_(self):
                fake.order = []

        def sleep(cycles):
            fake.cycles = cycles
            fake.spins.append(cycles)

        cuda = types.SimpleNamespace(
            Event=Event, _sleep=sleep, synchronize=lambda: None,
            current_device=lambda: 0,
            get_device_properties=lambda _: types.SimpleNamespace(
                L2_cache_size=100))
        return types.SimpleNamespace(
            cuda=cuda, uint8=None, empty=lambda *_, **__: Buffer())


class TimingTest(unittest.TestCase):
    def stopwatch(self, fake, runs):
        real = sys.modules.get("torch")
        sys.modules["torch"] = fake.module()
        try:
            sys.modules.pop("timing", None)
            self.timing = importlib.import_module("timing")
        finally:
            sys.modules.pop("timing")
            sys.modules.pop("torch")
            if real:
                sys.modules["torch"] = real
        return self.timing.Stopwatch(runs)

    def testLateRunsAreThrownAwayAndTheSpinGrows(self):
        fake = FakeCuda(neededCycles=600_000)
        timing = self.stopwatch(fake, runs=5).measure(lambda: None)
        self.assertEqual(timing.runs, 5)
        self.assertEqual(timing.discarded, 2)  # 300k, 450k, then 675k is enough
        self.assertEqual(fake.spins[-5:], [675_000] * 5)
        self.assertAlmostEqual(timing.median_us, 7.0)
        self.assertAlmostEqual(timing.sm_mhz, 1000.0)

    def testARunThatSynchronisesIsRefused(self):
        stopwatch = self.stopwatch(FakeCuda(neededCycles=1e12), runs=5)
        with contextlib.redirect_stderr(io.StringIO()):
            with self.assertRaisesRegex(self.timing.TimingError, "synchronise"):
                stopwatch.measure(lambda: None)


if __name__ == "__main__":
    unittest.main()
