# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a file of workloads/: axes, cases, and inputs by that folder's rule.

    workload.py FILE --tokens 1,2,127 --output OTHER

writes the same problem with other cases, one per token count and value of the
bool scalars. Needs no PyTorch unless inputs are made.
"""

import argparse
import dataclasses
import itertools
import json
import math
import os
import re
import sys
from typing import Any, Dict, List, Optional

DEFAULT_MATCH = 0.99


class WorkloadError(Exception):
    """A workloads file that does not say what it must; the text names the place."""


@dataclasses.dataclass
class Case:
    index: int
    axes: Dict[str, int]
    scalars: Dict[str, Any]
    atol: Optional[float] = None
    rtol: Optional[float] = None
    match: float = DEFAULT_MATCH


def require(table: dict, key: str, where: str):
    if not isinstance(table, dict) or key not in table:
        raise WorkloadError(f"{where}: missing key '{key}'")
    return table[key]


def writeJson(path: str, value):
    """Writes the whole file or leaves what was there."""
    temporary = f"{path}.part"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
    os.replace(temporary, path)


class Workload:
    def __init__(self, path: str):
        self.path = path
        self.fileName = os.path.basename(path)
        try:
            with open(path, encoding="utf-8") as file:
                self.json = json.load(file)
        except OSError as error:
            raise WorkloadError(f"{path}: {error.strerror}") from error
        except json.JSONDecodeError as error:
            raise WorkloadError(f"{path}: not JSON: {error}") from error
        self.axes = require(self.json, "axes", path)
        self.inputs = require(self.json, "inputs", path)
        self.outputs = require(self.json, "outputs", path)
        self.cases = [self.readCase(i, c)
                      for i, c in enumerate(require(self.json, "cases", path))]

    def readCase(self, index: int, raw: dict) -> Case:
        where = f"{self.path}: case {index}"
        axes = require(raw, "axes", where)
        for axis in self.variableAxes():
            require(axes, axis, where + ": axes")
        return Case(index, dict(axes), dict(raw.get("scalars", {})),
                    raw.get("atol"), raw.get("rtol"),
                    raw.get("match", DEFAULT_MATCH))

    def variableAxes(self) -> List[str]:
        return [a for a, extent in self.axes.items() if extent == "variable"]

    def extent(self, axis, case: Case) -> int:
        """An axis name, a number, or `NAME * NUMBER`, in one case."""
        if isinstance(axis, int):
            return axis
        value = case.axes.get(axis, self.axes.get(axis))
        if isinstance(value, int):
            return value
        product = re.fullmatch(r"\s*(\w+)\s*\*\s*(\d+)\s*", str(value or axis))
        if product:
            return self.extent(product[1], case) * int(product[2])
        raise WorkloadError(
            f"{self.path}: case {case.index}: axis '{axis}' has no extent")

    def tokens(self, case: Case) -> int:
        """All variable axes flattened: T of the workloads' README."""
        return math.prod(case.axes[axis] for axis in self.variableAxes())

    def shape(self, tensor: dict, case: Case) -> Optional[List[int]]:
        """None for a scalar parameter."""
        if tensor["shape"] is None:
            return None
        return [self.extent(axis, case) for axis in tensor["shape"]]

    def makeInputs(self, case: Case, seed: int, device):
        """Inputs in the file's order: seeded, standard normal, weights scaled."""
        import torch

        arguments = []
        for number, (name, tensor) in enumerate(self.inputs.items()):
            shape = self.shape(tensor, case)
            if shape is None:
                arguments.append(require(
                    case.scalars, name,
                    f"{self.path}: case {case.index}: scalars"))
                continue
            generator = torch.Generator(device=device)
            generator.manual_seed(seed * 1000 + number)
            values = torch.randn(shape, generator=generator, device=device,
                                 dtype=torch.float32)
            if "weight" in name or name.endswith("_proj"):
                values /= math.sqrt(shape[-1])
            arguments.append(values.to(getattr(torch, tensor["dtype"])))
        return arguments

    def withTokens(self, counts: List[int]) -> dict:
        """The same problem with other cases: each token count (on the last
        variable axis, the others 1) with each value of the bool scalars."""
        *leading, last = self.variableAxes()
        flags = [n for n, t in self.inputs.items()
                 if t["shape"] is None and t["dtype"] == "bool"]
        cases = []
        for count in counts:
            for values in itertools.product([False, True], repeat=len(flags)):
                scalars = dict(self.cases[0].scalars)
                scalars.update(zip(flags, values))
                cases.append({"axes": {**{a: 1 for a in leading}, last: count},
                              "scalars": scalars})
        return {**self.json, "cases": cases}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--tokens", required=True, metavar="N,M")
    parser.add_argument("--output", required=True, metavar="FILE")
    options = parser.parse_args()
    try:
        counts = [int(count) for count in options.tokens.split(",")]
        writeJson(options.output, Workload(options.file).withTokens(counts))
    except (WorkloadError, OSError, ValueError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
