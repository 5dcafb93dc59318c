#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernel-run as a user does, on the device `reference`.

    kernel-run-test.py KERNEL_RUN MAKE_TEST_BUNDLE
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

KERNEL_RUN, MAKE_BUNDLE = sys.argv[1:3]
VALUES = ["--dims", "B=4,S=100", "--set", "square=true,scale=2"]


def writeNpy(path, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + data)


def readNpy(path):
    """(descr, shape, bytes), by the format's description."""
    with open(path, "rb") as file:
        content = file.read()
    assert content[:8] == b"\x93NUMPY\x01\x00"
    length = struct.unpack("<H", content[8:10])[0]
    header = eval(content[10:10 + length])
    assert (10 + length) % 64 == 0 and not header["fortran_order"]
    return header["descr"], header["shape"], content[10 + length:]


def bf16(value):
    """The bits of a value that bf16 holds exactly."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    assert bits & 0xffff == 0, value
    return bits >> 16


class KernelRun(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.bundle = self.path("rows.bfb")
        subprocess.run([MAKE_BUNDLE, self.bundle], check=True)
        self.logs = self.path("logs.bfb")
        subprocess.run([MAKE_BUNDLE, self.logs, "logs"], check=True)

    def tearDown(self):
        self.dir.cleanup()

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def run_(self, *arguments, bundle=None, device="reference", environment=None):
        result = subprocess.run(
            [KERNEL_RUN, bundle or self.bundle, f"--device={device}", *arguments],
            capture_output=True, text=True, timeout=120, env={**os.environ, **(environment or {})})
        return result.returncode, result.stdout, result.stderr

    def passes(self, *arguments, **keywords):
        status, out, err = self.run_(*arguments, **keywords)
        self.assertEqual(status, 0, out + err)
        return out

    def fails(self, expected, *arguments, status=2, **keywords):
        found, out, err = self.run_(*arguments, **keywords)
        self.assertEqual(found, status, out + err)
        self.assertIn(expected, out + err)

    def cases(self, change=None, **case):
        """A workloads file whose axes have names of their own."""
        document = {
            "axes": {"batch": "variable", "length": "variable", "width": 64,
                     "eight": "four * 2", "four": 4},
            "inputs": {
                "x": {"shape": ["batch", "length", "width"], "dtype": "bfloat16"},
                "unused": {"shape": ["eight"], "dtype": "float32"},
                "square": {"shape": None, "dtype": "bool"},
                "scale": {"shape": None, "dtype": "float32"}},
            "outputs": {
                "y": {"shape": ["batch", "length", "width"], "dtype": "bfloat16"},
                "s": {"shape": ["width"], "dtype": "bfloat16"}},
            "cases": [
                {"axes": {"batch": 2, "length": 3},
                 "scalars": {"square": True, "scale": 1}, **case},
                {"axes": {"batch": 5, "length": 70},
                 "scalars": {"square": False, "scale": 1}, **case}]}
        if change:
            change(document)
        path = self.path("cases.json")
        with open(path, "w") as file:
            json.dump(document, file)
        return path

    def testRunsAndCounts(self):
        out = self.passes(*VALUES)
        self.assertTrue(out.endswith("1 passed, 0 failed\n"), out)
        self.assertRegex(out, r"B=4 S=100 scale=2 square=1 .* 100% .* ok")

    def testExactInputsAndEmptyDimensions(self):
        self.passes(*VALUES, "--inputs=exact")
        self.passes("--dims", "B=4,S=0", "--set", "square=true,scale=2",
                    "--inputs=exact")

    def testHardInputs(self):
        """The JSON names their kind and counts what has no bound."""
        for kind in ("scaled", "mixed", "subnormal", "huge"):
            file = self.path(kind + ".json")
            self.passes(*VALUES, f"--inputs=hard:{kind}", "--json", file)
            with open(file) as opened:
                document = json.load(opened)
            self.assertEqual(document["inputs"], "hard:" + kind)
            self.assertIn("unbounded", document["cases"][0]["checks"][0])
        digests = self.path("hard.digests.json")
        self.passes(*VALUES, "--inputs=hard:mixed", "--digests", digests)
        self.assertIn("1 passed, 0 failed", self.passes("--compare-digests", digests))
        self.passes(*VALUES, "--inputs=hard:mixed", "--hard-inputs", "x")

    def testWhatHasNoBoundDoesNotPass(self):
        """A logarithm of what is negative has no bound: it is not compared, and the result says so."""
        file = self.path("o.json")
        arguments = ("--input", "x=" + self.path("x.npy"), "--json", file)
        for negative, status, verdict, share, summary in (
                (8, 3, "not checked", " -", "0 passed, 0 failed, 1 not checked"),
                (6, 0, "partly", "100% of 25.000%", "1 passed, 0 failed; 1 of the passed compared in part only"),
                (0, 0, "ok", " 100%", "1 passed, 0 failed")):
            rows = [-3.0] * 4 * negative + [3.0] * 4 * (8 - negative)
            writeNpy(self.path("x.npy"), "<f4", (8, 4), struct.pack("<32f", *rows))
            found, out, err = self.run_(*arguments, bundle=self.logs)
            self.assertEqual(found, status, out + err)
            self.assertRegex(out, share + " +" + verdict)
            self.assertTrue(out.endswith(summary + "\n"), out)
            with open(file) as opened:
                document = json.load(opened)
            case = document["cases"][0]
            self.assertEqual((case["result"], case["passed"]), (verdict, status == 0))
            self.assertEqual((document["passed"], document["failed"], document["not_checked"]),
                             (status == 0, 0, status == 3))
            check = case["checks"][0]
            self.assertEqual((check["compared"], check["unbounded"], check["matched"]),
                             (8 - negative, negative, 1 if negative < 8 else None))
        # Asked to compare nothing, it did all that was asked.
        self.assertRegex(self.passes(*VALUES, "--check=none"), "- +- +ran")

    def testListsWithoutRunning(self):
        out = self.passes("--list")
        for part in ("graph rows", "input  x : tensor<B x S x 64 x bf16>",
                     "param  square : i1", "target sm_90a", "variant 1: square=false"):
            self.assertIn(part, out)

    # y = x * x and the sums, on values worked out by hand.
    def testInputAndOutputFiles(self):
        values = [float(i % 7 - 3) for i in range(2 * 64)]
        bits = struct.pack("<128H", *map(bf16, values))
        for descr, data in (("|V2", bits), ("<u2", bits),
                            ("<f4", struct.pack("<128f", *values))):
            writeNpy(self.path("x.npy"), descr, (1, 2, 64), data)
            self.passes("--input", "x=" + self.path("x.npy"), "--set",
                        "square=1,scale=0", "--output-dir", self.path("out"))
            self.assertEqual(
                readNpy(self.path("out/y.npy")),
                ("|V2", (1, 2, 64),
                 struct.pack("<128H", *[bf16(v * v) for v in values])))
            self.assertEqual(
                readNpy(self.path("out/s.npy")),
                ("|V2", (64,), struct.pack("<64H", *[
                    bf16(values[i] + values[64 + i]) for i in range(64)])))

    def testInputFilesThatDoNotFit(self):
        npy = self.path("x.npy")
        arguments = ("--input", "x=" + npy, "--set", "square=1,scale=0")
        writeNpy(npy, "<f8", (1, 2, 64), bytes(1024))
        self.fails("elements of type '<f8', expected |V2, <u2 or <f4", *arguments)
        writeNpy(npy, "|V2", (1, 2, 64), bytes(255))
        self.fails("has 255 bytes of data", *arguments)
        writeNpy(npy, "|V2", (1 << 62, 64, 1 << 62), bytes(256))
        self.fails("has 256 bytes of data", *arguments)
        writeNpy(npy, "|V2", (1, 2, 63), bytes(252))
        self.fails("extent 2 must be 64", *arguments)
        writeNpy(npy, "|V2", (1, 2, 64), bytes(256))
        self.fails("S is 3 elsewhere", *arguments,
                   "--dims", "S=3")
        with open(npy, "wb") as file:
            file.write(b"not numpy")
        self.fails("not an .npy file", *arguments)
        self.fails("No such file", "--input", "x=/nonexistent.npy")
        self.fails("the graph has no input z", "--input", "z=" + npy)

    def testCasesMatchAxesByShape(self):
        out = self.passes("--cases", self.cases(), "--json", self.path("o.json"))
        self.assertIn("2 passed, 0 failed", out)
        with open(self.path("o.json")) as file:
            document = json.load(file)
        self.assertEqual([c["dims"] for c in document["cases"]],
                         [{"B": 2, "S": 3}, {"B": 5, "S": 70}])
        self.assertEqual(document["cases"][0]["axes"], {"batch": 2, "length": 3})
        self.assertEqual(document["device"]["kind"], "reference")
        self.assertTrue(all(c["passed"] for c in document["cases"]))

    def testCasesAreChosen(self):
        path = self.cases()
        self.assertIn("1 passed", self.passes("--cases", path, "--case", "1"))
        self.assertIn("1 passed", self.passes("--cases", path, "--max-tokens", "6"))
        self.fails("is left", "--cases", path, "--max-tokens", "5")
        self.fails("has cases 0 to 1", "--cases", path, "--case", "2")

    # Two references, and a tolerance that no result can meet.
    def testChecks(self):
        for check in ("eager", "exact", "both"):
            self.passes("--cases", self.cases(atol=1e-5, rtol=0.05),
                        f"--check={check}")
        self.passes(*VALUES, "--check=eager", "--tolerance", "0,0,1")
        self.fails("s against exact (tolerance)", *VALUES, "--check=exact",
                   "--tolerance", "0,0,1", status=1)
        self.fails("--check=exact needs a tolerance", *VALUES, "--check=exact")
        self.fails("--check=declared needs a device", *VALUES, "--check=declared")

    def testCasesThatDoNotFitAreNamed(self):
        def set_(*keys, to):
            def change(document):
                for key in keys[:-1]:
                    document = document[key]
                document[keys[-1]] = to
            return change
        for change, expected in (
                (set_("axes", "width", to=65), "extent 2 must be 64"),
                (set_("inputs", "x", "dtype", to="float32"), "x has dtype"),
                (set_("inputs", "x", "shape", to=["batch", "width"]),
                 "the ranks differ"),
                (set_("outputs", "y", "shape", to=["length", "batch", "width"]),
                 "elsewhere"),
                (set_("outputs", to={}), "names no y"),
                (set_("cases", 0, "scalars", to={}), "case 0: has no scalar square"),
                (set_("cases", 1, "axes", to={"batch": 1}),
                 "case 1: has no 'length'"),
                (set_("cases", to=[]), "has no cases")):
            self.fails(expected, "--cases", self.cases(change))

    def testUsageErrors(self):
        for arguments, expected in (
                ([], "dimension B has no value"),
                (["--dims", "B=4,S=1"], "parameter square has no value"),
                ([*VALUES, "--dims", "Q=1"], "no dimension Q"),
                (["--dims", "B=4,S=x", "--set", "square=1,scale=1"], "no extent"),
                (["--dims", "B=4,S=-1", "--set", "square=1,scale=1"], "no extent"),
                (["--dims", "B=4,S=1", "--set", "square=2,scale=1"],
                 "--set square: expected true or false, got '2'"),
                (["--dims", "B=4,S=1", "--set", "square=maybe,scale=1"],
                 "--set square: expected true or false, got 'maybe'"),
                (["--dims", "B=4,S=1", "--set", "square=1,scale=x"], "--set scale: expected a number, got 'x'"),
                (["--dims", "T=7"], "the graph has no dimension T; its dimensions: B, S, for example --dims B=7"),
                (["--dims", "B=1000000000,S=1000000000000", "--set", "square=1,scale=1"], "is too large"),
                ([*VALUES, "--inputs=precise"], "--inputs: 'precise' is none of: exact, hard:huge, hard:mixed,"),
                ([*VALUES, "--check=foo"], "--check: 'foo' is none of: both, declared, eager, exact, none"),
                ([*VALUES, "--seed", "-1"], "--seed: expected a number from 0"),
                ([*VALUES, "--seed", "1" * 30], "--seed: expected a number from 0"),
                ([*VALUES, "--bogus"], "--bogus"),
                ([*VALUES, "--set", "other=1"], "no parameter other"),
                ([*VALUES, "--inputs=exact", "--check=eager"], "every bit"),
                ([*VALUES, "--check=sometimes"], "--check"),
                ([*VALUES, "--inputs=hard"], "--inputs"),
                ([*VALUES, "--hard-inputs", "x"], "--hard-inputs needs --inputs=hard:KIND"),
                ([*VALUES, "--inputs=hard:huge", "--hard-inputs", "q"], "the graph has no input q"),
                ([*VALUES, "--bench"], "--bench needs a GPU"),
                ([*VALUES, "--inputs=exact", "--ends", "9"], "--ends needs a device"),
                ([*VALUES, "--ends", "9"], "--ends needs --inputs=exact"),
                ([*VALUES, "--tolerance", "1,2"], "ATOL,RTOL,MATCH"),
                ([*VALUES, "--cases", "x.json"], "leave --dims and --set out")):
            self.fails(expected, *arguments)
            self.assertTrue(self.run_(*arguments)[2].startswith("kernel-run: "), arguments)
        self.assertNotIn("->", self.passes("--help"))
        self.fails("unknown device 'gpu'", *VALUES, device="gpu")
        self.fails("unknown device 'cuda:x'", *VALUES, device="cuda:x")

    def testSettingsOfTheEmulator(self):
        for order in ("in-order", "inorder", "adversarial"):
            self.passes(*VALUES, device="emulator", environment={"BACKFUSE_EMULATOR": "order=" + order})
        for device in ("emulator", "auto"):
            self.fails("BACKFUSE_EMULATOR: cannot use 'order=none': expected order=in-order|", *VALUES, device=device,
                       environment={"BACKFUSE_EMULATOR": "order=none"})

    def testCasesThatCannotBeRun(self):
        """They are skipped with the reason, and nobody is told that the code is wrong."""
        for dims, option, reason in (("N=7", "--inputs=exact", "no exact inputs: op 1 (Log"),
                                     ("N=100000000000", "--seed=1", "needs at least 2000000000000 bytes of memory")):
            file = self.path("o.json")
            found, out, err = self.run_("--dims", dims, option, "--json", file, bundle=self.logs)
            self.assertEqual(found, 2, out + err)
            self.assertRegex(out, "- +skipped")
            self.assertIn(reason, out)
            self.assertTrue(out.endswith("0 passed, 0 failed, 1 skipped\n"), out)
            with open(file) as opened:
                document = json.load(opened)
            self.assertEqual((document["failed"], document["skipped"]), (0, 1))
            self.assertIn(reason, document["cases"][0]["error"])

    def testBundlesThatAreNone(self):
        self.fails("No such file", *VALUES, bundle=self.path("none.bfb"))
        with open(self.bundle, "rb") as file:
            content = bytearray(file.read())
        broken = self.path("broken.bfb")
        for change, expected in ((content[:-1], "the bundle is truncated"),
                                 (content[:99] + b"\0\1\2" + content[102:],
                                  "the bundle is damaged")):
            with open(broken, "wb") as file:
                file.write(change)
            self.fails(expected, *VALUES, bundle=broken)

    def testDigests(self):
        file = self.path("digests.json")
        self.passes(*VALUES, "--inputs=exact", "--seed=5", "--digests", file)
        self.assertIn("1 passed, 0 failed", self.passes("--compare-digests", file))
        with open(file) as opened:
            document = json.load(opened)
        self.assertEqual((document["inputs"], document["seed"]), ("exact", 5))
        self.assertEqual(document["cases"][0]["dims"], {"B": 4, "S": 100})
        self.assertEqual(sorted(document["cases"][0]["outputs"]), ["s", "y"])
        # The file's seed makes the inputs: another one gives other bytes.
        for change, expected, status in (
                ({"seed": 6}, "y against digest", 1),
                ({"graph": "other"}, "is of graph other", 2),
                ({"schema": "none"}, "schema", 2), ({"cases": []}, "no cases", 2)):
            with open(file, "w") as opened:
                json.dump({**document, **change}, opened)
            self.fails(expected, "--compare-digests", file, status=status)
        del document["cases"][0]["outputs"]["s"]
        with open(file, "w") as opened:
            json.dump(document, opened)
        self.fails("no digest of output s", "--compare-digests", file)
        self.fails("leave --cases", *VALUES, "--compare-digests", file)
        self.fails("needs --device=emulator", *VALUES, "--ptx", self.dir.name)

    def testReportsInJsonHaveStdoutForThemselves(self):
        arguments = (*VALUES, "--inputs=exact", "--report=json")
        for more, runs in (((), None), (("--repeat", "2"), 2)):
            found, out, err = self.run_(*arguments, *more, device="emulator")
            self.assertEqual(found, 0, out + err)
            self.assertIn("1 passed, 0 failed", err)
            document = json.loads(out)
            self.assertEqual(len(document) if runs else None, runs)
            for run in document if runs else [document]:
                self.assertEqual([k["kernel"] for k in run["kernels"]], ["rows", "sums"])
                self.assertEqual(run["plan"]["bytes"], 4 * 100 * 256 + 128)
        out = self.passes(*VALUES, "--inputs=exact", "--report", device="emulator")
        self.assertIn("report of kernel sums", out)
        self.assertIn("1 passed, 0 failed", out)

    def testFilesThatCannotBeWritten(self):
        self.fails("cannot be written", *VALUES, "--json",
                   self.path("no/such/o.json"))
        self.fails("Is a directory", *VALUES, "--json", self.dir.name)
        self.fails("cannot be written", *VALUES, "--digests", self.path("no/d.json"))
        self.fails("cannot be made", *VALUES, "--output-dir", self.bundle + "/out")
        # Before anything is run; what is there stays.
        _, out, _ = self.run_(*VALUES, "--json", self.path("no/such/o.json"))
        self.assertEqual(out, "")
        with open(self.path("old.json"), "w") as file:
            file.write("old")
        self.fails("no dimension Q", *VALUES, "--dims", "Q=1", "--json", self.path("old.json"))
        with open(self.path("old.json")) as file:
            self.assertEqual(file.read(), "old")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
