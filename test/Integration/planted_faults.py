#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants faults in the PTX of our own kernels; the emulator must find them.

    planted_faults.py --kernel-opt KERNEL_OPT --kernel-run KERNEL_RUN
        [--sites 3] [--graph NAME ...] [--fault NAME ...] [--quick] [--json FILE]

The graphs are the founding examples with their features cut, on few
multiprocessors, so that rings wrap and CTAs do several tiles, and one for the
masks of sums. Each fault is applied to one site at a time: an instruction of
that kind that is executed (where a trap in its place is noticed). A fault is
found if a check reports it, a value differs from the evaluator's on exact
inputs (or on random ones, beyond the contract's bound), or the run hangs.

The table says for each fault how many sites were tried, how they were found,
and which were not. Fails if a kernel without a fault is reported, if a fault
has no site, or if one is missed at any site for which HARMLESS has no reason.
--quick: one site of each fault in the smaller graphs.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from run_on_emulator import ROOT, cutFeatures  # noqa: E402

# Graph, its values, and few enough multiprocessors.
GRAPHS = [("ssm_gate_backward", "B=1,S=195", "use_silu_gate=true", 5),
          ("mlp_gelu_backward", "S=131", "", 12),
          ("shifted_sum", "T=195", "", 5)]
# Columns of a tile and splits, whatever the cost model would choose: there must be
# partials of products, too.
SCHEDULES = {"ssm_gate_backward": (128, [1, 3]), "mlp_gelu_backward": (64, [1, 2, 1, 3])}
# Values and multiprocessors for what is not found with the first ones: more units
# for each CTA, and in another deal.
OTHER_SIZES = {"ssm_gate_backward": [("B=1,S=195", 4), ("B=1,S=323", 7), ("B=1,S=1667", 5)],
               "mlp_gelu_backward": [("S=131", 5), ("S=259", 7)]}
QUICK_GRAPHS = ["ssm_gate_backward", "shifted_sum"]
# Where a fault is not looked for in every graph. In the founding ones rows beyond
# the extent give zeros, masked or not.
ONLY_IN = {"row mask of a sum removed": ["shifted_sum"]}
NOTHING_ELSE_IN = ["shifted_sum"]
# In which orders a fault is looked for, until it is found.
ORDERS = ["order=inorder", "order=adversarial,seed=1", "order=adversarial,seed=2", "order=random,seed=3"]
# And then on random inputs, within the numerics contract's bound: the low parts
# of split operands are zero on exact ones.
RANDOM_INPUTS = "order=inorder,seed=0"
STEPS = 100_000_000
TARGET = "sm_90a"

FAULTS = {}
# By fault: functions (lines, index) -> whether the program is right without what
# the fault takes away, and why. Only where nothing reports the site.
HARMLESS = collections.defaultdict(list)
# The same, to be asked of a run: instructions that trap where the fault would
# change something, as the line that they come before and their text, or as all
# lines of the module. If the trap is not reached, nothing is changed.
UNREACHED = collections.defaultdict(list)


def fault(name):
    """Registers a function (lines, index) -> new lines of the site, or None if
    the line is no site. It returns (how many lines go, lines instead)."""
    def register(function):
        FAULTS[name] = function
        return function
    return register


def removal(name, pattern):
    compiled = re.compile(pattern)
    FAULTS[name] = lambda lines, i: (1, []) if compiled.search(lines[i]) else None


def replacement(name, pattern, to):
    compiled = re.compile(pattern)

    def apply(lines, i):
        new = compiled.sub(to, lines[i])
        return (1, [new]) if new != lines[i] else None
    FAULTS[name] = apply


def definition(lines, i, register):
    """The nearest line above that defines a register."""
    for j in range(i - 1, max(i - 60, 0), -1):
        if re.search(rf"^\s*(@\S+ )?[\w.:]+\s+{re.escape(register)}\b,", lines[j]):
            return j
    return None


def waitAt(lines, i):
    """The parity register of an mbarrier wait whose block begins at line i."""
    if lines[i].strip() != "{" or "AGAIN:" not in "".join(lines[i:i + 3]):
        return None
    match = re.search(r"mbarrier\.try_wait\.parity\S* p, \[\S+\], (%\w+)", "".join(lines[i:i + 4]))
    return match and match[1]


def blockEnd(lines, i):
    while lines[i].strip() != "}":
        i += 1
    return i


def isEmptyWait(lines, i, parity):
    """A task that fills a stage waits for the phase before: parity ^ 1."""
    j = definition(lines, i, parity)
    return j is not None and bool(re.search(r"xor\.b32\s+%\w+, %\w+, 1;", lines[j]))


def removedWait(empty):
    def apply(lines, i):
        parity = waitAt(lines, i)
        if not parity or isEmptyWait(lines, i, parity) != empty:
            return None
        return blockEnd(lines, i) - i + 1, []
    return apply


FAULTS["wait on a full barrier removed"] = removedWait(False)
FAULTS["wait on an empty barrier removed"] = removedWait(True)


@fault("split partial not waited for")
def flagWait(lines, i):
    if lines[i].strip() == "{" and "ld.acquire.gpu.global" in "".join(lines[i:i + 5]):
        return blockEnd(lines, i) - i + 1, []
    return None


def expectBytes(delta):
    def apply(lines, i):
        match = re.search(r"mbarrier\.arrive\.expect_tx\S* %\w+, \[%\w+\], (%\w+);", lines[i])
        if not match:
            return None
        return 1, ["{ .reg .b32 planted;", f"add.s32 planted, {match[1]}, {delta};",
                   lines[i].replace(match[1] + ";", "planted;"), "}"]
    return apply


FAULTS["expected bytes + 16"] = expectBytes(16)
FAULTS["expected bytes - 16"] = expectBytes(-16)


def withRegister(lines, register):
    """The kernel with one more 32-bit register, which is 0 at first."""
    begin = next(i for i, line in enumerate(lines) if line.strip() == "{")
    return lines[:begin + 1] + [f".reg .b32 {register};", f"mov.b32 {register}, 0;"] + lines[begin + 1:]


def thenWaits(lines, at, condition):
    """Traps where a warp waits at an mbarrier after `condition`, which sets the predicate `planted`, was true
    before line `at`: behind that the fault changes what the warp does."""
    result = []
    for i, line in enumerate(lines):
        if i == at:
            result += ["{ .reg .pred planted;", *condition, "@planted mov.b32 plantedChange, 1;", "}"]
        if waitAt(lines, i):
            result += ["{ .reg .pred planted;", "setp.ne.u32 planted, plantedChange, 0;", "@planted trap;", "}"]
        result.append(line)
    return withRegister(result, "plantedChange")


@fault("phase of a consumer not flipped")
def consumerPhase(lines, i):
    match = re.search(r"xor\.b32\s+(%\w+), (%\w+), (%\w+);", lines[i])
    if not match:
        return None
    j = definition(lines, i, match[3])
    if j is None or not re.search(r"selp\.b32\s+%\w+, 1, 0, %p", lines[j]):
        return None
    return 1, [f"mov.b32 {match[1]}, {match[2]};"]


@fault("phase of a producer not flipped")
def producerPhase(lines, i):
    match = re.search(r"selp\.b32\s+(%\w+), (%\w+), (%\w+), %p", lines[i])
    if not match:
        return None
    j = definition(lines, i, match[2])
    if j is None or not re.search(rf"xor\.b32\s+%\w+, {re.escape(match[3])}, 1;", lines[j]):
        return None
    return 1, [f"mov.b32 {match[1]}, {match[3]};"]


NO_WRAP = "the ring does not wrap there with these sizes, or the warp waits for nothing behind it"


def wraps(lines, i):
    """Behind the flip of a phase: traps behind where the ring wraps."""
    match = re.search(r"selp\.b32\s+%\w+, %\w+, %\w+, (%p\w+);", lines[i])
    if not match:
        j = definition(lines, i, re.search(r"xor\.b32\s+%\w+, %\w+, (%\w+);", lines[i])[1])
        match = re.search(r"selp\.b32\s+%\w+, 1, 0, (%p\w+);", lines[j])
    return thenWaits(lines, i + 1, [f"mov.pred planted, {match[1]};"]), None


for name in ("phase of a consumer not flipped", "phase of a producer not flipped"):
    UNREACHED[name].append((wraps, NO_WRAP))


ARRIVE = r"mbarrier\.arrive\.shared::cta\.b64 _"
removal("arrive removed", ARRIVE)
FAULTS["arrive doubled"] = lambda lines, i: (1, [lines[i]] * 2) if re.search(ARRIVE, lines[i]) else None
removal("fence.proxy.async removed", r"fence\.proxy\.async")
removal("wgmma.wait_group removed", r"wgmma\.wait_group")

HARMLESS["wgmma.wait_group removed"].append(
    (lambda lines, i: "wait_group.sync.aligned 1" in lines[i] and
     not any("mbarrier.arrive" in line for line in lines[i:i + 8]),
     "nothing is released behind it, and the next wait covers it"))
replacement("wgmma.wait_group 0 to 1", r"(wgmma\.wait_group\.sync\.aligned) 0", r"\1 1")
removal("wgmma.fence removed", r"wgmma\.fence")


def accumulates(lines, i):
    """Whether the products behind a wgmma.fence add to those before them."""
    match = next((m for m in (re.match(r"\s*setp\.ne\.b32 p, (%\w+), 0;", line) for line in lines[i - 3:i]) if m), None)
    j = match and definition(lines, i, match[1])
    return bool(j) and bool(re.search(r"mov\.b32\s+%\w+, 1;", lines[j]))


HARMLESS["wgmma.fence removed"].append(
    (accumulates, "products of one shape follow each other on accumulators that nothing else touches"))
removal("wgmma.commit_group removed", r"wgmma\.commit_group")
removal("bulk wait_group.read removed", r"cp\.async\.bulk\.wait_group\.read")
removal("bulk commit_group removed", r"cp\.async\.bulk\.commit_group")


def hasGroupsToWaitFor(lines, i):
    """A count of the groups that no wait has covered yet; a trap where the wait has more of them than it leaves."""
    result = []
    for k, line in enumerate(lines):
        wait = re.search(r"cp\.async\.bulk\.wait_group(?:\.read)?\s+(\d+);", line)
        if wait and k == i:
            result += ["{ .reg .pred planted;", f"setp.gt.u32 planted, plantedGroups, {wait[1]};",
                       "@planted trap;", "}"]
        result.append(line)
        if wait:
            result.append(f"min.u32 plantedGroups, plantedGroups, {wait[1]};")
        if re.search(r"cp\.async\.bulk\.commit_group", line):
            result.append("add.u32 plantedGroups, plantedGroups, 1;")
    return withRegister(result, "plantedGroups"), None


def isCoveredAlone(lines, i):
    """A trap at a wait that covers this group, but not the one behind it, which its stores join without the commit."""
    result = []
    for k, line in enumerate(lines):
        wait = re.search(r"cp\.async\.bulk\.wait_group(?:\.read)?\s+(\d+);", line)
        if wait:
            result += ["{ .reg .pred planted, marked;", ".reg .b32 covered;",
                       f"sub.u32 covered, plantedTotal, {wait[1]};", "setp.ne.u32 marked, plantedMark, 0;",
                       "setp.eq.and.u32 planted, covered, plantedMark, marked;", "@planted trap;",
                       "setp.gt.s32 planted, covered, plantedMark;", "@planted mov.b32 plantedMark, 0;", "}"]
        result.append(line)
        if re.search(r"cp\.async\.bulk\.commit_group", line):
            result.append("add.u32 plantedTotal, plantedTotal, 1;")
            if k == i:
                result.append("mov.b32 plantedMark, plantedTotal;")
    return withRegister(withRegister(result, "plantedMark"), "plantedTotal"), None


def publishesReads(lines, i):
    """The barrier behind a wait for reads says to other warps what that waited for."""
    for j in range(i - 1, i - 4, -1):
        if "cp.async.bulk.wait_group.read" in lines[j]:
            return hasGroupsToWaitFor(lines, j)
    return i, ["trap;"]


NO_GROUPS = "the wait before it has left as few groups"
UNREACHED["bulk wait_group.read removed"].append((hasGroupsToWaitFor, NO_GROUPS))
UNREACHED["bulk commit_group removed"].append(
    (isCoveredAlone, "the wait that covers the group covers the next one, too"))
replacement("named barrier: 96 threads instead of 128", r"(bar\.sync\s+%\w+), 128;", r"\1, 96;")
removal("named barrier removed", r"bar\.sync\s+%\w+, 128;")
UNREACHED["named barrier removed"].append((publishesReads, f"it says what a wait brought, and {NO_GROUPS}"))
removal("barrier after the set-up removed", r"bar\.sync\s+0;")
removal("bar.warp.sync removed", r"bar\.warp\.sync")
HARMLESS["bar.warp.sync removed"].append(
    (lambda lines, i: "st.relaxed.gpu.global.b64" in "".join(lines[i:i + 8]),
     "flags are cleared behind it, by the lanes that waited for them; nobody waits for that"))
replacement("acquire of a flag removed: relaxed", r"ld\.acquire\.gpu", "ld.relaxed.gpu")
replacement("acquire of a flag removed: weak", r"ld\.acquire\.gpu\.global", "ld.global")


@fault("flag published without fence and release")
def publish(lines, i):
    """Where a fence stands before the store, both go: one alone is enough."""
    if "fence.acq_rel.gpu" in lines[i]:
        for j in range(i + 1, min(i + 10, len(lines))):
            if "st.release.gpu.global" in lines[j]:
                return j - i + 1, lines[i + 1:j] + [lines[j].replace("st.release.gpu", "st.relaxed.gpu")]
    if "st.release.gpu.global" in lines[i] and "fence.acq_rel.gpu" not in "".join(lines[max(0, i - 10):i]):
        return 1, [lines[i].replace("st.release.gpu", "st.relaxed.gpu")]
    return None


def laterRelease(lines, i):
    """Whether a later release by the same lane covers this one's stores."""
    for line in lines[i + 1:i + 40]:
        if re.match(r"\s*ret;", line):
            return False
        if "fence.acq_rel.gpu" in line:
            return True
    return False


HARMLESS["flag published without fence and release"].append(
    (laterRelease, "the same lane publishes the next partial behind it; who reads waits for both"))


@fault("flag published before the partial's barrier")
def publishEarly(lines, i):
    """The barrier between the stores of a partial and its flag is removed."""
    if not re.search(r"bar\.sync\s+%\w+, 128;", lines[i]) or "st.release.gpu" not in "".join(lines[i:i + 10]):
        return None
    return 1, []


def descriptor(change):
    """64-bit constants that are or-ed into an address: a wgmma descriptor."""
    def apply(lines, i):
        match = re.search(r"(or\.b64\s+%\w+, %\w+, )(-?\d{15,});", lines[i])
        if not match:
            return None
        value = change(int(match[2]) & (1 << 64) - 1) & (1 << 64) - 1
        return 1, [f"{match[1]}{value - (1 << 64) if value >> 63 else value};"]
    return apply


FAULTS["swizzle bits wrong: none instead of 128 B"] = descriptor(lambda d: d & ~(3 << 62))
FAULTS["swizzle bits wrong: 64 B"] = descriptor(lambda d: d ^ (3 << 62))
FAULTS["SBO halved"] = descriptor(lambda d: d & ~(0x3fff << 32) | (d >> 32 & 0x3fff) // 2 << 32)
FAULTS["SBO doubled"] = descriptor(lambda d: d & ~(0x3fff << 32) | (d >> 32 & 0x1fff) * 2 << 32)
FAULTS["LBO wrong"] = descriptor(lambda d: d ^ (3 << 16))


def usesNoLbo(lines, i):
    """K-major operands of a swizzled layout, an A and a B of one atom across."""
    register = re.search(r"or\.b64\s+(%\w+),", lines[i])[1]
    for j in range(i, min(i + 60, len(lines))):
        operand = re.match(rf"\s*add\.s64 (d[ab]), {re.escape(register)},", lines[j])
        product = re.search(r"wgmma\.mma_async\S*\.m64n(\d+)k16\S* .*, [01], ([01]);", "".join(lines[j:j + 4]))
        if operand and product:
            return operand[1] == "da" or product[2] == "0" or int(product[1]) <= 64
    return False


HARMLESS["LBO wrong"].append((usesNoLbo, "one swizzle atom across: LBO is not used"))
replacement("transposed bit of A flipped", r"(wgmma\.mma_async.*, )([01])(, [01];)",
            lambda m: m[1] + str(1 - int(m[2])) + m[3])
replacement("transposed bit of B flipped", r"(wgmma\.mma_async.*, [01], )([01])(;)",
            lambda m: m[1] + str(1 - int(m[2])) + m[3])
replacement("descriptor's k step doubled", r"(add\.s64 da, %\w+, )([1-9]\d*);",
            lambda m: f"{m[1]}{2 * int(m[2])};")


def shifted(pattern, operand, by):
    """Adds to one register operand of an instruction through a scratch register."""
    compiled = re.compile(pattern)

    def apply(lines, i):
        match = compiled.search(lines[i])
        if not match:
            return None
        register, kind = match[operand], "b64" if match[operand].startswith("%rd") else "b32"
        begin, end = match.span(operand)
        return 1, [f"{{ .reg .{kind} planted;", f"add.s{kind[1:]} planted, {register}, {by};",
                   lines[i][:begin] + "planted" + lines[i][end:], "}"]
    return apply


LOAD = r"^\s*cp\.async\.bulk\.tensor\.\dd\.shared.*\{"
STORE = r"^\s*cp\.async\.bulk\.tensor\.\dd\.global.*\{"
FAULTS["TMA load: row off by one"] = shifted(LOAD + r"(?:%\w+, )*?%\w+, (%\w+)(?:, %\w+)?\}", 1, 1)
FAULTS["TMA store: row off by one"] = shifted(STORE + r"%\w+, (%\w+)\}", 1, 1)
FAULTS["TMA store: column off by one"] = shifted(STORE + r"(%\w+), %\w+\}", 1, 1)
FAULTS["TMA load: 128 bytes too far in shared memory"] = shifted(
    r"^\s*cp\.async\.bulk\.tensor\.\dd\.shared\S* \[(%rd\w+)\]", 1, 128)
FAULTS["TMA store: from 128 bytes too far"] = shifted(STORE + r"[^}]*\}\], \[(%rd\w+)\]", 1, 128)
FAULTS["shared store: address off by 4"] = shifted(r"^\s*st\.shared\.b32\s+\[(%rd?\w+)", 1, 4)
FAULTS["partial's store: address off by 16"] = shifted(r"^\s*st\.global\.cg\.v4\.f32 \[(%rd\w+)", 1, 16)
FAULTS["partial's load: address off by 16"] = shifted(r"^\s*ld\.global\.cg\.v4\.f32 \{[^}]*\}, \[(%rd\w+)", 1, 16)
replacement("sum: wrong lanes added", r"(shfl\.sync\.bfly\.b32\s+%\w+, %\w+, )8,", r"\g<1>4,")


@fault("row mask of a sum removed")
def rowMask(lines, i):
    match = re.search(r"selp\.f32\s+(%\w+), (%\w+), 0f00000000, %p\d+;", lines[i])
    return match and (1, [f"mov.b32 {match[1]}, {match[2]};"])


def ringLength(delta):
    def apply(lines, i):
        match = re.search(r"(setp\.eq\.b32\s+%p\d+, (%\w+), )(\d+);", lines[i])
        if not match or not 3 <= int(match[3]) <= 12:
            return None
        j = definition(lines, i, match[2])
        if j is None or not re.search(r"add\.s32\s+%\w+, %\w+, 1;", lines[j]) or "selp.b32" not in lines[i + 1]:
            return None
        return 1, [f"{match[1]}{int(match[3]) + delta};"]
    return apply


def comesTo(stage):
    """Traps behind where a ring's stage comes so far."""
    def apply(lines, i):
        match = re.search(r"setp\.eq\.b32\s+%p\d+, (%\w+), (\d+);", lines[i])
        return thenWaits(lines, i, [f"setp.ge.u32 planted, {match[1]}, {int(match[2]) + stage};"]), None
    return apply


UNREACHED["ring a stage shorter, in one task"].append((comesTo(-1), NO_WRAP))
UNREACHED["ring a stage longer, in one task"].append((comesTo(0), NO_WRAP))
FAULTS["ring a stage shorter, in one task"] = ringLength(-1)
FAULTS["ring a stage longer, in one task"] = ringLength(1)


@fault("mbarrier's arrivals one too many")
def initCount(lines, i):
    match = re.search(r"mbarrier\.init\S*\s+\[%\w+\], (%\w+);", lines[i])
    if not match:
        return None
    return 1, ["{ .reg .b32 planted;", f"add.s32 planted, {match[1]}, 1;",
               lines[i].replace(match[1] + ";", "planted;"), "}"]


removal("mbarrier not initialised", r"mbarrier\.init")


class Run:
    """One run's outcome: silent, or what was found."""

    def __init__(self, kernelRun, bundle, graph, ptx, settings):
        _, dims, params, smCount = graph
        inputs = ["--inputs=random", "--check=declared"] if settings == RANDOM_INPUTS else ["--inputs=exact"]
        command = [kernelRun, bundle, "--device=emulator", *inputs, "--dims", dims] + (["--set", params] if params else []) + (["--ptx", ptx] if ptx else [])
        try:
            result = subprocess.run(command, text=True, capture_output=True, timeout=120, env={
                **os.environ, "BACKFUSE_EMULATOR": f"{settings},threads=1,sms={smCount},steps={STEPS}"})
            self.good, self.text = result.returncode == 0, result.stdout + result.stderr
            if result.returncode < 0:
                self.text = f"kernel-run died of signal {-result.returncode}"
        except subprocess.TimeoutExpired:
            self.good, self.text = False, "no end after 120 s"

    def finding(self):
        """A short name of what was found."""
        if self.good:
            return "silent"
        for line in self.text.splitlines():
            if "matches, needed" in line:
                return "wrong value"
            line = line.strip()
            if re.match(r"(kernel|output|module) ", line) or "died of signal" in line or "no end" in line:
                return self.shorten(line)
        return self.shorten(self.text.strip().splitlines()[-1] if self.text.strip() else "?")

    @staticmethod
    def shorten(line):
        line = re.sub(r"^kernel \S+?: ", "", line)
        return line[:200]


class Hunt:
    schedules, otherSizes = SCHEDULES, OTHER_SIZES

    def __init__(self, options, directory):
        self.options, self.directory, self.rows, self.bad = options, directory, collections.OrderedDict(), []
        self.skipped = 0

    def flags(self, name):
        """More options for compiling a graph."""
        if name not in self.schedules:
            return []
        columns, splits = self.schedules[name]
        path = os.path.join(self.directory, name + ".json")
        with open(path, "w") as file:
            json.dump({"ranges": [{"to": -1, "tile_n": columns, "splits": splits}]}, file)
        return [f"--tuning={path}"]

    def prepare(self, graph):
        """The bundle of the cut graph and its PTX, by file name."""
        example, name = graph[0].split()[0], graph[0].replace(" ", ".")  # the rest is how it is compiled
        source = os.path.join(self.directory, name + ".mlir")
        bundle = os.path.join(self.directory, name + ".bfb")
        original = os.path.join(ROOT, "examples", example + ".mlir")
        if not os.path.exists(original):
            original = os.path.join(ROOT, "test", "Integration", "graphs", example + ".mlir")
        with open(original) as file:
            text = cutFeatures(file.read())
        with open(source, "w") as file:
            file.write(text)
        subprocess.run([self.options.kernel_opt, source, "--emit=bundle", f"--target={TARGET}", "-o", bundle,
                        *self.flags(graph[0])], check=True)
        ptx = os.path.join(self.directory, name + ".ptx")
        subprocess.run([self.options.kernel_run, bundle, "--write-ptx", ptx], check=True)
        return bundle, {file: open(os.path.join(ptx, file)).read().splitlines() for file in sorted(os.listdir(ptx))}

    def mutant(self, graph, bundle, file, lines, settings):
        with tempfile.TemporaryDirectory(dir=self.directory) as directory:
            with open(os.path.join(directory, file), "w") as out:
                out.write("\n".join(lines) + "\n")
            return Run(self.options.kernel_run, bundle, graph, directory, settings)

    def isExecuted(self, graph, bundle, file, lines, i):
        """Whether a trap before line i is noticed."""
        return not self.mutant(graph, bundle, file, lines[:i] + ["trap;"] + lines[i:], ORDERS[0]).good

    def tryFault(self, graph, bundle, modules, name):
        """(executed sites tried, findings by order, missed sites)"""
        found, missed, harmless, tried = [], [], [], 0
        sites = [(f, i) for f, lines in modules.items() for i in range(len(lines)) if FAULTS[name](lines, i)]
        # Spread over the text: every fifth site first (descriptors of A and B
        # take turns), then those between.
        sites = [site for start in range(5) for site in sites[start::5]]
        # A site where the fault changes nothing says nothing: another one then.
        for file, i in sites[:16 * self.options.sites]:
            if tried == self.options.sites:
                break
            lines = modules[file]
            if not self.isExecuted(graph, bundle, file, lines, i):
                continue
            tried += 1
            count, instead = FAULTS[name](lines, i)
            others = [(graph[0], dims, graph[2], smCount) for dims, smCount in self.otherSizes.get(graph[0], [])]
            for sizes, order in itertools.product([graph, *others], ORDERS + [RANDOM_INPUTS]):
                run = self.mutant(sizes, bundle, file, lines[:i] + instead + lines[i + count:], order)
                if not run.good:
                    found.append((f"{graph[0]} {file}:{i + 1}", order, run.finding()))
                    if self.options.verbose:
                        print(f"{name}: {found[-1]}", flush=True)
                    break
            else:
                site = f"{graph[0]} {file}:{i + 1}: {lines[i].strip()[:100]}"
                reason = self.whyHarmless([graph, *others], bundle, file, lines, i, name)
                if reason:
                    harmless.append(f"{site}: {reason}")
                    tried -= 1  # another site in its place
                else:
                    missed.append(site)
                if self.options.verbose:
                    print(f"{name}: {'harmless' if reason else 'missed'} at {site}", flush=True)
        return tried, found, missed, harmless

    def whyHarmless(self, graphs, bundle, file, lines, i, name):
        for applies, reason in HARMLESS[name]:
            if applies(lines, i):
                return reason
        for trap, reason in UNREACHED[name]:
            at, text = trap(lines, i)
            trapped = at if text is None else lines[:at] + text + lines[at:]
            if all(self.mutant(sizes, bundle, file, trapped, ORDERS[0]).good for sizes in graphs):
                return reason
        return None

    def run(self):
        names = self.options.fault or list(FAULTS)
        graphs = [g for g in GRAPHS if not self.options.graph or g[0] in self.options.graph]
        jobs = {}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for graph in graphs:
                bundle, modules = self.prepare(graph)
                for order in ORDERS + [RANDOM_INPUTS]:
                    run = Run(self.options.kernel_run, bundle, graph, None, order)
                    print(f"{'ok  ' if run.good else 'FAIL'} {graph[0]} without a fault, {order}: {run.finding()}")
                    if not run.good:
                        self.bad.append(f"{graph[0]} without a fault is reported")
                executed = {f: l for f, l in modules.items() if self.isExecuted(
                    graph, bundle, f, l, next(i for i, line in enumerate(l) if "%tid.x" in line))}
                for name in names:
                    if graph[0] not in ONLY_IN.get(name, [g[0] for g in GRAPHS if g[0] not in NOTHING_ELSE_IN]):
                        continue
                    jobs[pool.submit(self.tryFault, graph, bundle, executed, name)] = name
            for job in jobs:
                tried, found, missed, harmless = job.result()
                row = self.rows.setdefault(jobs[job], {"tried": 0, "found": [], "missed": [], "harmless": []})
                row["harmless"] += harmless
                row["tried"] += tried
                row["found"] += found
                row["missed"] += missed
        self.printTable(names)

    def printTable(self, names):
        for name in names:
            row = self.rows.get(name, {"tried": 0, "found": [], "missed": [], "harmless": []})
            if row["tried"] == 0 and self.options.graph:
                self.skipped += 1  # a fault of the graphs that were left out
                continue
            good = bool(row["found"]) and not row["missed"]
            if not good:
                self.bad.append(name)
            print(f"{'ok  ' if good else 'FAIL'} {name}: {len(row['found'])} of {row['tried']} found"
                  + (f", {len(row['harmless'])} change nothing" if row["harmless"] else ""))
            for finding, count in collections.Counter(
                    (order, text) for _, order, text in row["found"]).most_common():
                print(f"       {count} x {finding[0]}: {finding[1]}")
            for site in row["missed"]:
                print(f"       missed: {site}")
            for site in row["harmless"]:
                print(f"       changes nothing: {site}")
        if self.options.json:
            with open(self.options.json, "w") as out:
                json.dump(self.rows, out, indent=1)


def main(description=__doc__, kind=Hunt):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel-opt", required=True)
    parser.add_argument("--kernel-run", required=True)
    parser.add_argument("--sites", type=int, default=3, help="of a fault in each graph")
    parser.add_argument("--graph", action="append", choices=[g[0] for g in GRAPHS], help="only this one (repeatable)")
    parser.add_argument("--quick", action="store_true", help="one site of each fault in the smaller graphs")
    parser.add_argument("--fault", action="append", choices=list(FAULTS), help="only this one (repeatable)")
    parser.add_argument("--verbose", action="store_true", help="print each site as it is tried")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if options.quick:
        options.sites, options.graph = 1, QUICK_GRAPHS
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        hunt = kind(options, directory)
        hunt.run()
    print(f"{len(FAULTS)} kinds of faults, {time.monotonic() - start:.0f} s")
    count = len(options.fault or FAULTS) - hunt.skipped
    print(f"{max(0, count - len(hunt.bad))} passed, {len(hunt.bad)} failed")
    sys.exit(1 if hunt.bad else 0)


if __name__ == "__main__":
    main()
