#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants faults in other compilers' PTX; the emulator must find them.

    mutate.py --kernel-emu build/bin/kernel-emu [--quick] [--only TEXT] [--fault TEXT ...] [-v]
    mutate.py --kernel-emu build/bin/kernel-emu --update
    mutate.py --docs

The kernels are those of run_third_party.py, which are right. Each fault is applied to one executed instruction at a time
and the result runs in order, in adversarial and in random orders. It is found if a check reports it or an output differs.

mutations.json says for each fault and kernel what finds it, or why nothing does. The run fails where a fault that was
found is missed now, where one that is missed is not explained, or where the table knows nothing of a site. --update
writes what a run gives; explanations stay, new ones are to be written. --docs writes docs/mutations.md from the table.
--quick plants each fault once, in the kernel that runs fastest. (Our own kernels: test/Integration/planted_faults.py.)
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import common
import run_third_party

# Kernels that are mutated: of each kind one or two, so that a run ends.
KERNELS = """
triton sm_90 matmul_epilogue, triton sm_90 matmul_fp16_tt, triton sm_90 matmul_fp32_tn, triton sm_90 matmul_descriptor_tn,
triton sm_90 matmul_specialised64_nn, triton sm_90 attention, triton sm_90 softmax, triton sm_90 histogram,
triton sm_90 transpose_device_descriptor, triton sm_90 reduce_descriptor,
triton sm_100 matmul_epilogue, triton sm_100 matmul_fp16_tn, triton sm_100 matmul_fp32_nn, triton sm_100 matmul_descriptor_tn,
triton sm_100 matmul_specialised_nn, triton sm_100 attention, triton sm_100 row_scan,
nvcc sm_90a gemm_wgmma, nvcc sm_90a gemm_wgmma_tf32, nvcc sm_90a bulk_copies, nvcc sm_90a mma_pipeline, nvcc sm_90a block_sum,
nvcc sm_90a last_block, nvcc sm_90a cluster_histogram, nvcc sm_90a cluster_exchange, nvcc sm_90a atomics, nvcc sm_90a warps,
nvcc sm_100a gemm_tcgen05, nvcc sm_100a gemm_tcgen05_pair, nvcc sm_100a mma_pipeline, nvcc sm_100a cluster_exchange
"""
CHOSEN = [name.strip() for name in KERNELS.replace("\n", " ").split(",") if name.strip()]

# Of these, from the fastest on, --quick takes the first that has the fault.
QUICK = ["nvcc sm_90a block_sum", "nvcc sm_90a last_block", "nvcc sm_90a warps", "nvcc sm_90a atomics", "nvcc sm_90a cluster_exchange",
         "nvcc sm_90a cluster_histogram", "nvcc sm_90a bulk_copies", "nvcc sm_90a mma_pipeline", "nvcc sm_90a gemm_wgmma",
         "nvcc sm_100a gemm_tcgen05", "nvcc sm_100a gemm_tcgen05_pair"]

TABLE = os.path.join(HERE, "mutations.json")
DOCS = os.path.join(HERE, "..", "..", "docs", "mutations.md")

# What a message is about; the first that fits.
CHECKS = [("wrong value", "elements differ"), ("output not written", "was not written \\(--partial"),
          ("deadlock", "deadlock"), ("no end", "the limit of"), ("proxy fence", "has not executed fence.proxy.async"),
          ("fence of mbarrier.init", "initialised.*(fence|not been)|to an asynchronous copy, but its"),
          ("order of accesses", "without a (barrier|synchronisation)"),
          ("copy not complete", "not written yet|was not waited for|waited for$|about to write"),
          ("bytes in use", "still reads"), ("named barrier", "barrier \\d+ is used|arrives at barrier"),
          ("mbarrier", "mbarrier"), ("registers of products", "of the wgmma|wgmma.fence"),
          ("tensor memory", "tensor memory|columns|tcgen05"), ("descriptor", "descriptor"),
          ("uninitialised", "nobody has written|never written|which may be unwritten"), ("out of bounds", "out of bounds"),
          ("alignment", "multiple of|misaligned"), ("guard", "all lanes must execute"), ("in flight at the end", "exits while")]

FAULTS = {}
GUARD = r"^\s*(?:@!?%?\w+\s+)?"


def fault(name):
    """Registers a function (lines, index) -> (how many lines go, lines instead), or None if the line is no site."""
    def register(function):
        FAULTS[name] = function
        return function
    return register


def removal(name, pattern):
    compiled = re.compile(GUARD + pattern)
    FAULTS[name] = lambda lines, i: (1, []) if compiled.search(lines[i]) else None


def replacement(name, pattern, to):
    compiled = re.compile(pattern)

    def apply(lines, i):
        new = compiled.sub(to, lines[i], count=1)
        return (1, [new]) if new != lines[i] else None
    FAULTS[name] = apply


def doubled(name, pattern):
    compiled = re.compile(GUARD + pattern)
    FAULTS[name] = lambda lines, i: (1, [lines[i]] * 2) if compiled.search(lines[i]) else None


def shifted(name, pattern, by, op="add.s"):
    """Adds to the register that the pattern's group captures, through a scratch register."""
    compiled = re.compile(GUARD + pattern)

    def apply(lines, i):
        match = compiled.search(lines[i])
        if not match:
            return None
        register = match[1]
        bits = "64" if register.startswith("%rd") else "32"
        begin, end = match.span(1)
        return 1, ["{", f".reg .b{bits} planted;", f"{op}{bits} planted, {register}, {by};",
                   lines[i][:begin] + "planted" + lines[i][end:], "}"]
    FAULTS[name] = apply


def bumped(name, pattern, by=1):
    """Adds to the number that the pattern's group captures."""
    compiled = re.compile(pattern)

    def apply(lines, i):
        match = compiled.search(lines[i])
        if not match:
            return None
        begin, end = match.span(1)
        return 1, [lines[i][:begin] + str(int(match[1], 0) + by) + lines[i][end:]]
    FAULTS[name] = apply


def constant(name, use, group, change):
    """Changes the number in `mov` or `or` that defines a register of the instruction `use`."""
    compiled = re.compile(use)

    def apply(lines, i):
        match = re.search(r"^\s*(?:mov|or)\.b(32|64)\s+(%\w+), (?:%\w+, )?(-?\d+);", lines[i])
        if not match:
            return None
        used = False
        for line in lines:
            found = compiled.search(line)
            used |= bool(found) and found[group] == match[2]
        if not used:
            return None
        size = int(match[1])
        value = change(int(match[3]) & (1 << size) - 1) & (1 << size) - 1
        begin, end = match.span(3)
        return 1, [lines[i][:begin] + str(value - (1 << size) if value >> size - 1 else value) + lines[i][end:]]
    FAULTS[name] = apply


# Barriers and fences.
removal("bar.sync removed", r"(?:bar|barrier)\.(?:cta\.)?sync")
removal("bar.warp.sync removed", r"bar\.warp\.sync")
removal("fence.proxy.async removed", r"fence\.proxy\.async")
removal("fence.mbarrier_init removed", r"fence\.mbarrier_init")
removal("membar or fence.acq_rel removed", r"(?:membar|fence\.acq_rel|fence\.sc)")
removal("cluster barrier's wait removed", r"barrier\.cluster\.wait")
removal("cluster barrier's arrival removed", r"barrier\.cluster\.arrive")
replacement("named barrier: 32 threads fewer", r"((?:bar|barrier)\.sync\s+\w+, )(\d+);",
            lambda m: f"{m[1]}{int(m[2]) - 32};" if int(m[2]) > 32 else m[0])
# Mbarriers.
WAIT = r"mbarrier\.(?:try|test)_wait\.parity\S*\s+(%?\w+), \[[^\]]+\], (%?\w+);"


@fault("mbarrier wait removed")
def waitRemoved(lines, i):
    match = re.search(WAIT, lines[i])
    return match and (1, [f"setp.eq.u32 {match[1]}, 0, 0;"])


@fault("mbarrier wait for the other phase")
def waitPhase(lines, i):
    match = re.search(WAIT, lines[i])
    if not match:
        return None
    begin, end = match.span(2)
    if match[2].isdigit():
        return 1, [lines[i][:begin] + str(1 - int(match[2])) + lines[i][end:]]
    return 1, ["{", ".reg .b32 planted;", f"xor.b32 planted, {match[2]}, 1;", lines[i][:begin] + "planted" + lines[i][end:], "}"]


for by in (16, -16):
    bumped(f"expected bytes {by:+}", r"expect_tx\S*\s+\S+ \[[^\]]+\], (\d+);", by)
ARRIVAL = r"(?:@!?%?\w+\s+)?mbarrier\.arrive(?![.\w]*expect_tx)[^;]*;"
replacement("mbarrier arrival removed", ARRIVAL, "")
replacement("mbarrier arrival doubled", ARRIVAL, lambda m: m[0] + " " + m[0])
removal("expect_tx removed", r"mbarrier\.arrive\.expect_tx")
bumped("mbarrier's arrivals one too many", r"mbarrier\.init\S*\s+\[[^\]]+\], (\d+);")
removal("mbarrier not initialised", r"mbarrier\.init")
# wgmma.
removal("wgmma.fence removed", r"wgmma\.fence")
removal("wgmma.wait_group removed", r"wgmma\.wait_group")
bumped("wgmma.wait_group one too lax", r"wgmma\.wait_group\S*\s+(\d+);")
removal("wgmma.commit_group removed", r"wgmma\.commit_group")
replacement("wgmma: transposed bit of B flipped", r"(wgmma\.mma_async.*, )([01])(;)", lambda m: m[1] + str(1 - int(m[2])) + m[3])
replacement("wgmma: A negated", r"(wgmma\.mma_async.*, %rd\d+, (?:%?p\d*|[01]), )1(, 1(?:, [01]){0,2};)", r"\g<1>-1\2")
SMEM = r"(?:wgmma\.mma_async.*\}, |tcgen05\.mma\S* \[[^\]]+\], (?:%rd\w+, )?)(%rd\w+)"


def descriptor(name, change):
    """64-bit constants or-ed into an address, in kernels with products."""
    def apply(lines, i):
        match = re.search(r"(or\.b64\s+%\w+, %\w+, )(-?\d{15,});", lines[i])
        if not match or not any("wgmma.mma_async" in line or "tcgen05.mma" in line for line in lines):
            return None
        value = change(int(match[2]) & (1 << 64) - 1) & (1 << 64) - 1
        if value == int(match[2]) & (1 << 64) - 1:
            return None
        return 1, [f"{match[1]}{value - (1 << 64) if value >> 63 else value};"]
    FAULTS[name] = apply


descriptor("descriptor: no swizzle", lambda d: d & ~(7 << 61))
descriptor("descriptor: another swizzle", lambda d: d ^ (6 << 61))
descriptor("descriptor: SBO halved", lambda d: d & ~(0x3fff << 32) | (d >> 32 & 0x3fff) // 2 << 32)
descriptor("descriptor: SBO doubled", lambda d: d & ~(0x3fff << 32) | (d >> 32 & 0x1fff) * 2 << 32)
descriptor("descriptor: LBO and SBO swapped",
           lambda d: d & ~(0x3fff << 32 | 0x3fff << 16) | (d >> 16 & 0x3fff) << 32 | (d >> 32 & 0x3fff) << 16)
descriptor("descriptor: address one row on", lambda d: d + 8)
shifted("descriptor of a product 32 bytes on", r"(?:wgmma\.mma_async.*\}, |tcgen05\.mma\S+\s*\[[^\]]+\], )(%rd\w+)", 2)
# tcgen05.
removal("tcgen05.wait::ld removed", r"tcgen05\.wait::ld")
removal("tcgen05.wait::st removed", r"tcgen05\.wait::st")
removal("tcgen05.commit removed", r"tcgen05\.commit")
removal("tcgen05.fence removed", r"tcgen05\.fence")
removal("tcgen05.dealloc removed", r"tcgen05\.dealloc")
bumped("tcgen05.alloc: half the columns", r"tcgen05\.alloc\S+\s+\[[^\]]+\], (\d+);", -32)
shifted("tcgen05.ld: a column on", r"tcgen05\.ld\S+\s+\{[^}]*\}, \[\s*(%r\d+)", 1)
shifted("tcgen05.st: a column on", r"tcgen05\.st\S+\s+\[\s*(%r\d+)", 1)
IDESC = r"tcgen05\.mma\S+\s*\[[^\]]+\], (?:%rd\w+|\[[^\]]+\]), %rd\w+, (%r\w+)"
for name, bit in (("A transposed", 15), ("B transposed", 16), ("A's type", 7), ("A negated", 13)):
    constant(f"instruction descriptor: {name}", IDESC, 1, lambda d, bit=bit: d ^ 1 << bit)
constant("instruction descriptor: N doubled", IDESC, 1, lambda d: d & ~(0x3f << 17) | (d >> 17 & 0x1f) << 18)
constant("instruction descriptor: N halved", IDESC, 1, lambda d: d & ~(0x3f << 17) | (d >> 17 & 0x3f) // 2 << 17)
constant("instruction descriptor: M halved", IDESC, 1, lambda d: d & ~(0x1f << 24) | (d >> 24 & 0x1f) // 2 << 24)
replacement("tcgen05.mma: accumulation inverted", r"(tcgen05\.mma.*, )(%?\w+)(;)",
            lambda m: f"{{ .reg .pred planted; not.pred planted, {m[2]}; " + m[1].lstrip("\t ") + "planted; }" if "@" not in m[1]
            else m[0])
replacement("multicast to one CTA", r"(mov\.(?:b16|u16)\s+%rs\w+, )3;", r"\g<1>1;")
# cp.async and bulk copies.
removal("cp.async.wait_group removed", r"cp\.async\.wait_group")
bumped("cp.async.wait_group one too lax", r"cp\.async\.wait_group\s+(\d+);")
removal("cp.async.commit_group removed", r"cp\.async\.commit_group")
removal("bulk wait_group removed", r"cp\.async\.bulk\.wait_group")
removal("bulk commit_group removed", r"cp\.async\.bulk\.commit_group")
shifted("cp.async: 16 bytes on in device memory", r"cp\.async\.c[ag]\.shared\.global\S*\s+\[[^\]]+\], \[\s*(%rd\w+)", 16)
shifted("cp.async: 16 bytes on in shared memory", r"cp\.async\.c[ag]\.shared\.global\S*\s+\[\s*(%r\w+)", 16)
shifted("TMA load: first coordinate + 1", r"cp\.async\.bulk\.tensor\S*shared\S*\s+\[[^\]]+\], \[%rd\w+, \{(%r\w+)", 1)
shifted("TMA load: last coordinate + 1", r"cp\.async\.bulk\.tensor\S*shared\S*\s+\[[^\]]+\], \[%rd\w+, \{[^}]*, (%r\w+)\}", 1)
shifted("TMA load: 128 bytes on in shared memory", r"cp\.async\.bulk\.tensor\S*shared::c\S*global\S*\s+\[\s*(%r\w+)", 128)
shifted("TMA store: last coordinate + 1", r"cp\.(?:reduce\.)?async\.bulk\.tensor\S*global\S*shared\S*\s+\[%rd\w+, \{[^}]*, (%r\w+)\}", 1)
shifted("TMA store: from 128 bytes on", r"cp\.(?:reduce\.)?async\.bulk\.tensor\S*global\.shared\S*\s+\[%rd\w+, \{[^}]*\}\], \[\s*(%r\w+)", 128)
removal("TMA load removed", r"cp\.async\.bulk\.tensor\S*shared::c\S*global")
removal("TMA store removed", r"cp\.(?:reduce\.)?async\.bulk\.tensor\S*global\.shared")
# Ordinary accesses and arithmetic.
shifted("shared store: 16 bytes on", r"st\.shared(?:::cta)?\.\S+\s+\[\s*(%rd?\w+)", 16)
shifted("shared load: 16 bytes on", r"ld\.shared(?:::cta)?\.\S+\s+\S.*\[\s*(%rd?\w+)", 16)
shifted("ldmatrix: a row on", r"ldmatrix\S+\s+\{[^}]*\}, \[\s*(%r\w+)", 16)
replacement("ldmatrix: transposition flipped", r"(ldmatrix\S*x\d)(\.trans)?(\.shared)",
            lambda m: m[1] + ("" if m[2] else ".trans") + m[3])
shifted("device store: an element on", r"st\.global\.\S+\s+\[\s*(%rd\w+)", 16)
removal("device store removed (output not written)", r"st\.global\.")
shifted("device load: an element on", r"ld\.global\.\S+\s+\S.*\[\s*(%rd\w+)", 16)
replacement("bound off by one", r"(setp\.)(lt|gt)(\.[su]32\s+%p\d+, %r\d+, %r\d+)",
            lambda m: m[1] + {"lt": "le", "gt": "ge"}[m[2]] + m[3])
replacement("bound off by one, constant", r"(setp\.(?:lt|gt|ne|eq)\.[sub]32\s+%p\d+, %r\d+, )(\d+);",
            lambda m: f"{m[1]}{int(m[2]) + 1};")
replacement("shuffle from another lane", r"(shfl\.sync\.(?:bfly|down|up|idx)\.b32\s+[^;]*, )(\d+)(, \d+, -?\d+;)",
            lambda m: m[1] + str(int(m[2]) ^ 1) + m[3])
removal("atomic addition removed", r"(?:atom|red)\.\S*add")
replacement("atomic: order dropped", r"(atom\.\S*?)(?:\.acq_rel|\.acquire|\.release)(\S*)", r"\1.relaxed\2")
replacement("mapa: the first CTA instead", r"(mapa\S*\s+%?\w+, %?\w+, )%?\w+;", r"\g<1>0;")


def entry(lines, kernel):
    """First and last line of an entry."""
    begin = next(i for i, line in enumerate(lines) if re.search(rf"\.entry\s+{kernel}\b", line))
    end = next((i for i in range(begin + 1, len(lines)) if re.search(r"\.(entry|func)\b", lines[i])), len(lines))
    return begin, end


def finding(text):
    """Which check it was, and its message."""
    lines = [line for line in text.split("\n") if "error:" in line or "elements differ" in line or "was not written" in line]
    message = lines[0] if lines else text.strip()[-200:]
    about = re.sub(r"^.*error: (kernel '[^']*'(, PTX line \d+ \([^)]*\))?(, CTA \d+)?(, warp \d+( \([^)]*\))?)?(, lane \d+)?: )?", "",
                   message)
    for check, pattern in CHECKS:
        if re.search(pattern, about):
            return check, message
    return "other", message


class Table:
    """mutations.json: {fault: {check: [kernels], "missed": {kernel: why}}}."""

    def __init__(self, path):
        self.path, self.faults = path, {}
        if os.path.exists(path):
            with open(path) as file:
                self.faults = json.load(file)

    def expected(self, fault, kernel):
        """The check that finds it, "missed", or None."""
        for check, kernels in self.faults.get(fault, {}).items():
            if kernel in kernels:
                return check
        return None

    def why(self, fault, kernel):
        return self.faults.get(fault, {}).get("missed", {}).get(kernel, "")

    def write(self, results, kernels):
        """`results`: {(fault, kernel): check or "missed"} for all faults of these kernels."""
        table = {}
        for name in FAULTS:
            checks = collections.defaultdict(list)
            missed = {}
            for kernel in CHOSEN:
                check = results.get((name, kernel)) if kernel in kernels else self.expected(name, kernel)
                if check == "missed":
                    missed[kernel] = self.why(name, kernel)
                elif check:
                    checks[check].append(kernel)
            table[name] = dict(sorted(checks.items(), key=lambda item: -len(item[1])))
            if missed:
                table[name]["missed"] = missed
        with open(self.path, "w") as file:
            json.dump(table, file, indent=1)
            file.write("\n")
        self.faults = table


class Hunt:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.table = Table(TABLE)
        self.results = {}  # (fault, kernel): check or "missed"
        self.places = {}  # the same: PTX line and what was said
        self.kernels, self.bad = [], []

    def emulate(self, launch, ptx, *options):
        return common.emulate(self.options.kernel_emu, launch, "--steps", "3000000", *options, ptx=ptx)

    def mutant(self, launch, lines, number, orders):
        path = os.path.join(os.path.dirname(launch), f"{number}.ptx")
        with open(path, "w") as file:
            file.write("\n".join(lines) + "\n")
        try:
            for order in orders:
                status, text = self.emulate(launch, path, *order)
                if status:
                    return status, text
            return 0, ""
        finally:
            os.remove(path)

    def hunt(self, label, launch, lines, begin, end, name, strict):
        """(fault, kernel, check or "missed" or None, place) of one fault in one kernel."""
        sites = [i for i in range(begin, end) if FAULTS[name](lines, i)]
        orders = [("--orders", "in-order"), ("--orders", "adversarial", "--seeds", "2"), ("--orders", "random", "--seeds", "1")]
        if strict:
            orders.append(("--orders", "in-order", "--strict"))
        for tried, i in enumerate(sites[::2] + sites[1::2]):
            if tried > 8:
                break
            count, instead = FAULTS[name](lines, i)
            number = f"{list(FAULTS).index(name)}-{i}"
            place = f"{label}:{i + 1}: {lines[i].strip()[:90]}"
            status, text = self.mutant(launch, lines[:i] + instead + lines[i + count:], number, orders)
            if status == 3:
                continue  # no longer PTX that the emulator takes
            if status:
                check, message = finding(text)
                return name, label, check, f"{place}: {message}"
            guard = re.match(r"\s*(@!?%?\w+)\s", lines[i])
            trap = lines[:i] + [(guard[1] + " " if guard else "") + "trap;"] + lines[i:]
            if self.mutant(launch, trap, number, orders[:1])[0]:
                return name, label, "missed", place
            # Not executed: another site.
        return name, label, None, ""

    def faultsOf(self, label):
        """The faults to plant in a kernel."""
        for name in FAULTS:
            if self.options.fault and not any(f in name for f in self.options.fault):
                continue
            if self.options.quick and label != next(
                    (k for k in QUICK + CHOSEN if self.table.expected(name, k) not in (None, "missed")), None):
                continue
            yield name

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = []
            for compiler, target, name, ptx, job in run_third_party.all_problems():
                label = f"{compiler} {target} {name}"
                names = list(self.faultsOf(label))
                if label not in CHOSEN or (self.options.only and self.options.only not in label) or not names:
                    continue
                folder = os.path.join(self.folder, label.replace(" ", "-"))
                os.makedirs(folder)
                launch = common.write_launch(job, ptx, folder)
                status, text = self.emulate(launch, None, "--orders", "in-order,adversarial,random")
                if status:
                    self.bad.append(f"{label} without a fault: {finding(text)[1]}")
                    continue
                self.kernels.append(label)
                strict = self.emulate(launch, None, "--strict")[0] == 0
                with open(ptx) as file:
                    lines = file.read().splitlines()
                begin, end = entry(lines, job["kernel"])
                jobs += [pool.submit(self.hunt, label, launch, lines, begin, end, fault, strict) for fault in names]
            for job in concurrent.futures.as_completed(jobs):
                name, label, check, place = job.result()
                if check:
                    self.results[name, label] = check
                    self.places[name, label] = place
                    if self.options.verbose:
                        print(f"{name}: {check}: {place}", flush=True)
        if self.options.update:
            self.table.write(self.results, self.kernels)
        self.compare()

    def compare(self):
        """What is not as the table says."""
        for (name, label), check in sorted(self.results.items()):
            expected = self.table.expected(name, label)
            if expected is None:
                self.bad.append(f"{name}: {label} ({check}) is not in mutations.json; run with --update")
            elif check == "missed" and expected != "missed":
                self.bad.append(f"{name}: missed at {self.places[name, label]}; found before ({expected})")
            elif check == "missed" and not self.table.why(name, label):
                self.bad.append(f"{name}: missed at {self.places[name, label]}, and mutations.json does not say why")
            elif expected == "missed" and check != "missed":
                self.bad.append(f"{name}: found in {label} ({check}), and mutations.json says that it is missed; run with --update")
            elif check != expected:
                print(f"{name}: found in {label} by {check}, before by {expected}")
        ran = set(self.kernels)
        for name, checks in self.table.faults.items():
            for label in (k for kernels in checks.values() for k in kernels):
                if label in ran and name in set(self.faultsOf(label)) and (name, label) not in self.results:
                    self.bad.append(f"{name}: mutations.json knows {label}, where no site is executed now")

    def summary(self):
        found = sum(check != "missed" for check in self.results.values())
        kinds = len({name for name, _ in self.results})
        return (f"{len(self.kernels)} kernels, {kinds} kinds of faults, {len(self.results)} planted, {found} found, "
                f"{len(self.results) - found} missed")


SETS = ["triton sm_90", "triton sm_100", "nvcc sm_90a", "nvcc sm_100a"]


def documentation(faults):
    """docs/mutations.md."""
    def count(kernels):
        return ", ".join(str(sum(k.startswith(s + " ") for k in kernels)) for s in SETS)

    found = {name: [k for check, kernels in checks.items() if check != "missed" for k in kernels] for name, checks in faults.items()}
    missed = {name: checks.get("missed", {}) for name, checks in faults.items()}
    planted = sum(len(found[name]) + len(missed[name]) for name in faults)
    yield "# Faults planted in kernels of others"
    yield ""
    yield "<!-- Written by test/ThirdParty/mutate.py --docs from test/ThirdParty/mutations.json. -->"
    yield ""
    yield (f"`test/ThirdParty/mutate.py` edits the PTX of {len(CHOSEN)} kernels of Triton and nvcc, one executed instruction at a time (one "
           "site of each kind in each kernel), and runs the result in order, in two adversarial orders and a random one; with "
           "`--strict`, too, where the kernel without a fault is silent then. "
           f"{sum(bool(found[n] or missed[n]) for n in faults)} kinds, {planted} faults planted, "
           f"{sum(map(len, found.values()))} found, {sum(map(len, missed.values()))} missed. "
           "`scripts/test.sh --long` runs all of it, `scripts/test.sh` each kind once. Both fail where a fault is missed that was found, "
           "or where one is missed that the second table does not explain.")
    yield ""
    yield "The four numbers are kernels of " + ", ".join(SETS) + "."
    yield ""
    yield "| fault | found | missed | by |"
    yield "|---|---|---|---|"
    for name, checks in faults.items():
        by = ", ".join(f"{check} ({len(kernels)})" for check, kernels in checks.items() if check != "missed")
        if found[name] or missed[name]:
            yield f"| {name} | {count(found[name])} | {count(missed[name])} | {by} |"
    yield ""
    yield "## Missed, one by one"
    yield ""
    yield "| fault | kernel | why nothing finds it |"
    yield "|---|---|---|"
    for name in faults:
        for kernel, why in missed[name].items():
            yield f"| {name} | {kernel} | {why} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel-emu")
    parser.add_argument("--quick", action="store_true", help="each fault once")
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    parser.add_argument("--fault", action="append", help="faults whose name contains this")
    parser.add_argument("--update", action="store_true", help="write mutations.json")
    parser.add_argument("--docs", action="store_true", help="write docs/mutations.md")
    parser.add_argument("-v", action="store_true", dest="verbose")
    options = parser.parse_args()
    if options.update and (options.quick or options.fault):
        parser.error("--update needs all faults of a kernel")
    if options.docs:
        with open(DOCS, "w") as file:
            file.write("\n".join(documentation(Table(TABLE).faults)) + "\n")
        return 0
    if not options.kernel_emu:
        parser.error("--kernel-emu is needed")
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        hunt = Hunt(options, folder)
        hunt.run()
    if not options.update:
        text = ""
        if os.path.exists(DOCS):
            with open(DOCS) as file:
                text = file.read()
        if text != "\n".join(documentation(hunt.table.faults)) + "\n":
            hunt.bad.append("docs/mutations.md is not what mutations.json says; run with --docs")
    for text in hunt.bad:
        print("FAIL " + text)
    print(f"{hunt.summary()}, {time.monotonic() - start:.0f} s")
    print(f"{max(0, len(hunt.results) - len(hunt.bad))} passed, {len(hunt.bad)} failed")
    return 1 if hunt.bad or not hunt.results else 0


if __name__ == "__main__":
    sys.exit(main())
