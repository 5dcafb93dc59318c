#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernel-emu as a user does.

    kernel-emu-test.py KERNEL_EMU
"""
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

KERNEL_EMU = sys.argv[1]

HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"

# y[i] = a x[i] + y[i] for i < n
SAXPY = HEADER + """.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
  ld.param.f32 %f1, [a]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd3, %r5, 4;
  add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
  ld.global.f32 %f2, [%rd1];
  ld.global.f32 %f3, [%rd2];
  fma.rn.f32 %f3, %f1, %f2, %f3;
  st.global.f32 [%rd2], %f3;
DONE:
  ret;
}
"""

# A tile of 8 rows of 16 floats, in through one tensor map and out at another place of the array.
COPY = HEADER + """.shared .align 1024 .b8 tile[512]; .shared .align 8 .b64 bar;
.visible .entry copy(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128])
{
  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<3>;
  mov.b64 %rd1, from; cvta.param.u64 %rd1, %rd1;
  mov.b64 %rd2, to; cvta.param.u64 %rd2, %rd2;
  mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 ret;
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1, {0, 0}], [bar];
W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {0, 0}], [tile];
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
  ret;
}
"""

# Counts to 2^40; SPIN comes to the same state again and again.
COUNT = HEADER + """.visible .entry count() { .reg .b64 %rd<2>; .reg .pred %p<2>; mov.u64 %rd1, 0;
L: add.u64 %rd1, %rd1, 1; setp.lt.u64 %p1, %rd1, 0x10000000000; @%p1 bra L; ret; }
"""
SPIN = HEADER + """.visible .entry spin() { L: bra L; }
"""


def writeNpy(path, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + data)


def readNpy(path):
    with open(path, "rb") as file:
        content = file.read()
    length = struct.unpack("<H", content[8:10])[0]
    header = eval(content[10:10 + length])
    return header["descr"], header["shape"], content[10 + length:]


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


class KernelEmu(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        for name, text in (("saxpy", SAXPY), ("copy", COPY), ("spin", SPIN), ("count", COUNT)):
            with open(self.path(name + ".ptx"), "w") as file:
                file.write(text)
        self.x = [float(i) for i in range(100)]
        self.y = [float(i % 7) for i in range(100)]
        writeNpy(self.path("x.npy"), "<f4", (100,), floats(self.x))
        writeNpy(self.path("y.npy"), "<f4", (4, 25), floats(self.y))
        self.saxpy = [self.path("saxpy.ptx"), "--grid", "2", "--block", "64", "--arg", "x=" + self.path("x.npy"), "--arg",
                      "y=" + self.path("y.npy"), "--arg", "f32:2.5"]

    def tearDown(self):
        self.dir.cleanup()

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def run_(self, *arguments, status=0):
        result = subprocess.run([KERNEL_EMU, *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def reports(self, *arguments):
        """The report in JSON, which has stdout for itself."""
        result = subprocess.run([KERNEL_EMU, *arguments, "--report=json"], capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("checks silent", result.stderr)
        return json.loads(result.stdout)

    def fails(self, words, *arguments, status=2):
        text = self.run_(*arguments, status=status)
        self.assertIn(words, text)
        return text

    def testHelp(self):
        text = self.run_("--help")
        for part in ("--grid", "map:FILE.json", "Exit status"):
            self.assertIn(part, text)

    def testOutputsAndComparison(self):
        want = [2.5 * a + b for a, b in zip(self.x, self.y)]
        writeNpy(self.path("want.npy"), "<f4", (4, 25), floats(want))
        args = self.saxpy + ["--arg", "u32:100", "--inout", "y", "--output", "y=" + self.path("out.npy"), "--expect",
                             "y=" + self.path("want.npy"), "--orders", "in-order,random,adversarial", "--seeds", "2"]
        text = self.run_(*args)
        self.assertEqual(text.count("checks silent"), 5)
        self.assertIn("y: 100 elements as expected", text)
        self.assertEqual(readNpy(self.path("out.npy")), ("<f4", (4, 25), floats(want)))
        want[30] += 1
        writeNpy(self.path("want.npy"), "<f8", (100,), struct.pack("<100d", *want))
        self.fails("1 of 100 elements differ, the first at [1,5]: expected 78, but got 77", *args, status=1)
        self.run_(*args, "--tolerance", "1,0")

    def testChecksReportThePtxLine(self):
        # The array is read-only unless --inout says otherwise; one element too many is out of bounds.
        text = self.fails("store to read-only memory", *self.saxpy, "--arg", "u32:100", status=1)
        self.assertIn("saxpy.ptx:18: error:", text)
        self.assertIn("  st.global.f32 [%rd2], %f3;", text)
        self.fails("out of bounds", *self.saxpy, "--arg", "u32:101", "--inout", "y", status=1)
        args = [self.path("saxpy.ptx"), "--grid", "2", "--block", "64", "--arg", "x=" + self.path("x.npy")]
        self.fails("which nobody has written", *args, "--arg", "y=f32[100]", "--arg", "f32:1", "--arg", "u32:100", status=1)
        tail = ["--arg", "f32:1", "--arg", "u32:60"]
        self.run_(*args, "--arg", "y=zeros:f32[100]", *tail)

    def testUnwrittenOutputs(self):
        with open(self.path("one.ptx"), "w") as file:
            file.write(HEADER + ".visible .entry one(.param .u64 y) { .reg .b64 %rd<2>; ld.param.u64 %rd1, [y];"
                                " st.global.u32 [%rd1+4], 3; ret; }")
        args = [self.path("one.ptx"), "--arg", "y=u32[2]"]
        self.fails("y: byte 0 of 8 was not written", *args, status=1)
        self.run_(*args, "--partial", "y", "--output", "y=" + self.path("y2.npy"))
        self.assertEqual(readNpy(self.path("y2.npy")), ("<u4", (2,), struct.pack("<II", 0xffffffff, 3)))

    def testTensorMaps(self):
        values = [float(i) for i in range(8 * 16)]
        writeNpy(self.path("m.npy"), "<f4", (8, 16), floats(values))
        for name in ("a", "b"):
            with open(self.path(name + ".json"), "w") as file:
                json.dump({"array": name, "type": "f32", "sizes": [16, 8], "strides": [64], "box": [16, 8]}, file)
        args = [self.path("copy.ptx"), "--block", "32", "--array", "a=" + self.path("m.npy"), "--array", "b=f32[8,16]", "--arg",
                "map:" + self.path("a.json"), "--arg", "map:" + self.path("b.json"), "--expect", "b=" + self.path("m.npy")]
        self.assertEqual(self.reports(*args)[0]["buffers"],
                         [{"name": "a", "bytes": 512, "bytes_read": 512, "bytes_written": 0},
                          {"name": "b", "bytes": 512, "bytes_read": 0, "bytes_written": 512}])
        with open(self.path("a.json"), "w") as file:
            json.dump({"array": "a", "type": "f32", "sizes": [16, 8], "strides": [60], "box": [16, 8]}, file)
        self.fails("multiples of 16", *args)
        with open(self.path("a.json"), "w") as file:
            json.dump({"array": "a", "typ": "f32"}, file)
        self.fails("unknown key 'typ'", *args)

    def testLaunchFiles(self):
        launch = {"ptx": "saxpy.ptx", "kernel": "saxpy", "grid": [2], "block": 64,
                  "arrays": {"x": {"file": "x.npy"}, "y": {"file": "y.npy", "inout": True, "expect": "y.npy"}},
                  "args": ["x", "y", {"f32": 0}, "u32:100"]}
        with open(self.path("l.json"), "w") as file:
            json.dump(launch, file)
        self.run_("--launch", self.path("l.json"))
        # Options replace what the file says.
        self.fails("elements differ", "--launch", self.path("l.json"), "--arg", "x", "--arg", "y", "--arg", "f32:1", "--arg",
                   "u32:100", status=1)
        self.run_("--launch", self.path("l.json"), "--grid", "1", "--block", "128")
        for change, words in (({"blok": 1}, "unknown key 'blok'"), ({"block": [1, 2, 3, 4]}, "expected X"),
                              ({"args": ["z"]}, "there is no array 'z'"), ({"args": [{"q8": 1}]}, "'q8' is no type")):
            with open(self.path("bad.json"), "w") as file:
                json.dump({**launch, **change}, file)
            self.fails(words, "--launch", self.path("bad.json"))

    def testScalars(self):
        self.fails("300 does not fit in u8", *self.saxpy, "--arg", "u8:300")
        self.fails("'x1' is not an integer", *self.saxpy, "--arg", "u32:x1")
        self.fails("argument 3 expects 4 bytes, but got 8", *self.saxpy, "--arg", "u64:1")
        self.fails("has 4 parameters, but 3 arguments are given", *self.saxpy)

    def testReportsAndLists(self):
        args = self.saxpy + ["--arg", "u32:100", "--inout", "y"]
        report = self.reports(*args)[0]
        self.assertEqual(report["bytes"]["global_loaded"], 800)
        self.assertEqual(report["bytes"]["global_stored"], 400)
        self.assertEqual(report["ctas"], 2)
        self.assertEqual(report["buffers"], [{"name": "x", "bytes": 400, "bytes_read": 400, "bytes_written": 0},
                                             {"name": "y", "bytes": 400, "bytes_read": 400, "bytes_written": 400}])
        self.assertIn("device memory, stores", self.run_(*args, "--report"))
        self.assertIn("  parameter a: 4 bytes", self.run_(self.path("saxpy.ptx"), "--list"))
        with open(self.path("sized.ptx"), "w") as file:
            file.write(HEADER + ".visible .entry sized() .reqntid 96 .reqnctapercluster 2 { ret; }")
        text = self.run_(self.path("sized.ptx"), "--list")
        self.assertIn("block (.reqntid): 96,1,1", text)
        self.assertIn("cluster (.reqnctapercluster): 2,1,1", text)

    def testReportCountsBytesOfArraysOnce(self):
        # All 64 threads load the same word, and store and add to others.
        with open(self.path("same.ptx"), "w") as file:
            file.write(HEADER + ".visible .entry same(.param .u64 x, .param .u64 y) { .reg .b64 %rd<3>; .reg .b32 %r<2>;"
                                " ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.global.u32 %r1, [%rd1+4];"
                                " st.global.u32 [%rd2], 3; red.global.add.u32 [%rd2+8], %r1; ret; }")
        writeNpy(self.path("ones.npy"), "<u4", (4,), struct.pack("<4I", 1, 1, 1, 1))
        report = self.reports(self.path("same.ptx"), "--block", "64", "--arg", "x=" + self.path("ones.npy"), "--arg",
                         "y=zeros:u32[4]")[0]
        self.assertEqual(report["bytes"]["global_loaded"], 256)
        self.assertEqual(report["buffers"], [{"name": "x", "bytes": 16, "bytes_read": 4, "bytes_written": 0},
                                             {"name": "y", "bytes": 16, "bytes_read": 4, "bytes_written": 8}])

    def testRefusedPtx(self):
        with open(self.path("bad.ptx"), "w") as file:
            file.write(HEADER + ".visible .entry k()\n{\n  frobnicate.u32 1;\n}\n")
        text = self.fails("bad.ptx:6: error:", self.path("bad.ptx"), status=3)
        self.assertIn("'frobnicate.u32'", text)
        self.fails("No such file", self.path("none.ptx"))
        self.fails("no kernel 'z', only: saxpy", *self.saxpy, "--arg", "u32:1", "--kernel", "z")

    def testWrongFiles(self):
        """Each is an error of the command line that names the file."""
        for name, descr, data in (("complex", "<c8", bytes(800)), ("object", "|O", bytes(800)), ("big", ">f4", bytes(400)),
                                  ("short", "<f4", bytes(100))):
            writeNpy(self.path(name + ".npy"), descr, (100,), data)
        for name, content in (("junk.npy", b"hello"), ("empty.npy", b""), ("bad.json", b'{"ptx": '), ("list.json", b"[1]"),
                              ("nothing.json", b"{}"), ("type.json", b'{"ptx": "saxpy.ptx", "grid": "two"}')):
            with open(self.path(name), "wb") as file:
                file.write(content)
        saxpy = [self.path("saxpy.ptx"), "--grid", "2", "--block", "64"]
        for name, words in (("none", "none.npy: No such file"), ("complex", "complex.npy: has elements of type '<c8'"),
                            ("object", "object.npy: has elements of type '|O'"), ("big", "big.npy: has elements of type '>f4'"),
                            ("short", "short.npy: has 100 bytes of data"), ("junk", "junk.npy: not an .npy file"),
                            ("empty", "empty.npy: not an .npy file")):
            self.fails(words, *saxpy, "--arg", "x=" + self.path(name + ".npy"))
        for name, words in (("none", "No such file"), ("bad", "bad.json: parse error at line 1"), ("list", "expected an object"),
                            ("nothing", "expected a PTX file"), ("type", "'grid' has the wrong type")):
            self.fails(words, "--launch", self.path(name + ".json"))
        self.fails("map.json: No such file", *saxpy, "--arg", "map:" + self.path("map.json"))
        self.fails(self.dir.name + ": Is a directory", self.dir.name)
        args = self.saxpy + ["--arg", "u32:100", "--inout", "y"]
        self.fails("elements of type '<c8'", *args, "--expect", "y=" + self.path("complex.npy"))
        writeNpy(self.path("few.npy"), "<f4", (3,), bytes(12))
        self.fails("has not the 100 elements of 'y'", *args, "--expect", "y=" + self.path("few.npy"))
        self.fails("cannot be written", *args, "--output", "y=" + self.path("no/y.npy"))
        with open(self.path("empty.ptx"), "w"):
            pass
        self.fails("expects a .version directive", self.path("empty.ptx"), status=3)

    def testWrongArguments(self):
        args = self.saxpy[5:] + ["--arg", "u32:100", "--inout", "y"]
        for words, *options in (("--bogus", "--bogus"), ("0 is no extent", "--grid", "0"), ("expected X", "--grid", "1,2,3,4"),
                                ("'x' is not a number", "--block", "x"), ("expects 1 to 1024 threads", "--block", "2048"),
                                ("not a multiple of the cluster", "--cluster", "3"), ("more than the", "--smem", "400000"),
                                ("no array 'z'", "--expect", "z=z.npy"), ("no array 'z'", "--inout", "z"),
                                ("'foo' is none of", "--orders", "foo"), ("--seeds must be", "--seeds", "0"),
                                ("must be at least 1", "--threads", "0"), ("'5X' is not a number", "--memory", "5X"),
                                ("expected ABSOLUTE,RELATIVE", "--tolerance", "1"), ("--report", "--report=xml"),
                                ("given twice", "--array", "x=f32[3]"), ("expected TYPE[EXTENTS]", "--array", "z=zeros:f32")):
            sizes = [] if options[0] in ("--grid", "--block") else ["--grid", "2", "--block", "64"]
            self.fails(words, self.path("saxpy.ptx"), *sizes, *args, *options)
        for words, argument in (("there is no array 'q'", "q"), ("there is no array 'q'", "q+16"), ("'i99' is no type", "i99:1"),
                                ("'1.5' is not an integer", "i32:1.5"), ("'abc' is not a number", "f32:abc"),
                                ("hexadecimal", "bytes:0"), ("expected NAME=", "=x.npy"), ("expected NAME=", "z="),
                                ("'-1' is not a number", "z=f32[-1]")):
            self.fails(words, *self.saxpy, "--arg", argument)
        self.assertTrue(self.run_("--bogus", status=2).startswith("kernel-emu: "))
        with open(self.path("sized.ptx"), "w") as file:
            file.write(HEADER + ".visible .entry sized() .reqntid 96 { ret; }")
        self.fails("was compiled for a CTA of 96 threads", self.path("sized.ptx"), "--block", "64")
        # What is out of bounds may be what --smem did not give.
        with open(self.path("smem.ptx"), "w") as file:
            file.write(HEADER + ".extern .shared .align 16 .b8 s[];\n"
                                ".visible .entry smem() { .reg .b32 %r<2>; mov.u32 %r1, s; st.shared.u32 [%r1+64], 1; ret; }")
        self.run_(self.path("smem.ptx"), "--smem", "68")
        self.fails("--smem gives the kernel 64 bytes of dynamic shared memory", self.path("smem.ptx"), "--smem", "64", status=1)

    def testLimits(self):
        self.fails("the limit of 1000 instructions", self.path("count.ptx"), "--steps", "1000", status=1)
        self.fails("--memory allows", self.path("spin.ptx"), "--memory", "1M", "--array", "x=f32[1000000]")
        self.fails("more than the limit of", *self.saxpy, "--arg", "u32:1", "--inout", "y", "--smem", "100000", "--memory",
                   "500K")

    def testEndlessLoops(self):
        self.fails("deadlock", self.path("spin.ptx"), status=1)

    def testInterrupt(self):
        process = subprocess.Popen([KERNEL_EMU, self.path("count.ptx")], stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, text)
        self.assertIn("interrupted after", text)


unittest.main(argv=[sys.argv[0]])
