# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays and the running of kernel-emu, for the tests of other compilers' kernels."""

import json
import os
import subprocess

import numpy as np

DTYPES = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "i32": np.int32, "u32": np.uint32, "i64": np.int64,
          "u64": np.uint64, "u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16}


def bf16(x):
    """The bits of bf16, rounded to nearest even."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def exact(rng, shape, limit=8):
    """Small integers as f32: sums and products of them are exact."""
    return rng.integers(-limit, limit + 1, shape).astype(np.float32)


class Array:
    """Device memory: an input's values, or an output of this shape."""

    def __init__(self, values, kind, inout=False):
        self.values, self.kind, self.inout = np.asarray(values), kind, inout
        self.shape = self.values.shape
        self.fill = self.partial = None

    @classmethod
    def out(cls, shape, kind, partial=False):
        array = cls.__new__(cls)
        array.values, array.kind, array.shape, array.fill, array.partial = None, kind, tuple(shape), None, partial
        array.inout = False
        return array

    @classmethod
    def zeros(cls, shape, kind):
        array = cls.out(shape, kind)
        array.fill = 0
        return array

    def save(self, path):
        values = bf16(self.values) if self.kind == "bf16" else self.values.astype(DTYPES[self.kind])
        np.save(path, np.ascontiguousarray(values))

    def describe(self, name, folder):
        entry = {}
        if self.values is not None:
            entry["file"] = name + ".npy"
            self.save(os.path.join(folder, name + ".npy"))
            entry["type"] = self.kind
            if self.inout:
                entry["inout"] = True
        else:
            entry.update(type=self.kind, shape=list(self.shape))
            if self.fill is not None:
                entry["fill"] = self.fill
            if self.partial:
                entry["partial"] = True
        return entry


def write_launch(job, ptx, folder):
    """The launch file of a job, with its arrays; its path."""
    arrays = {name: array.describe(name, folder) for name, array in job["arrays"].items()}
    for name, values in job["expected"].items():
        kind = job["arrays"][name].kind
        floats = kind in ("f32", "f16", "bf16", "f64")
        np.save(os.path.join(folder, name + ".expected.npy"),
                np.ascontiguousarray(values, dtype=np.float64 if floats else DTYPES[kind]))
        arrays[name]["expect"] = name + ".expected.npy"
        arrays[name]["tolerance"] = list(job["tolerance"])
    launch = {key: job[key] for key in ("kernel", "grid", "block", "smem", "args", "cluster", "roles") if key in job}
    launch.update(ptx=os.path.abspath(ptx), arrays=arrays)
    path = os.path.join(folder, "launch.json")
    with open(path, "w") as file:
        json.dump(launch, file, indent=1)
    return path


def emulate(kernel_emu, launch, *options, ptx=None, timeout=600):
    """(exit status, stdout and stderr)."""
    command = [kernel_emu] + ([ptx] if ptx else []) + ["--launch", launch, *options]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout)
    return result.returncode, result.stdout + result.stderr
