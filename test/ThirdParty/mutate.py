#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants faults in other compilers' PTX; the emulator must find them.

    mutate.py --kernel-emu build/bin/kernel-emu [--sites 1] [--only TEXT] [--fault TEXT ...] [--markdown FILE]

The kernels are those of run_third_party.py, which are right. Each fault is applied to one instruction at a time and the
result runs in order, in adversarial and in random orders. It is found if a check reports it or an output differs. What is
never found at any site must be explained in SURVIVORS. (Our own kernels: test/Integration/planted_faults.py.)
"""

import argparse
import collections
import concurrent.futures
import os
import re
import sys
import tempfile

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

# Faults that are missed at every site, with the reason.
SURVIVORS = {
    "bar.warp.sync removed": "an instruction that the warp executes together stands behind each of them, or lanes run together",
    "tcgen05.wait::ld removed": "a later wait covers the load, and reading its registers waits for it",
    "atomic: order dropped": "these kernels order nothing by their atomics",
}

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
replacement("wgmma: A negated", r"(wgmma\.mma_async.*, (?:%\w+|[01]), )1(, -?1[,;])", r"\1-1\2")
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
    """What was found, in a few words."""
    for pattern, words in ((r"elements differ", "wrong value"), (r"was not written", "output not written"),
                           (r"deadlock", "deadlock"), (r"the limit of", "no end")):
        if re.search(pattern, text):
            other = words
            break
    else:
        other = None
    match = re.search(r"error: kernel '[^']*', PTX line \d+ \([^)]*\), CTA \d+, warp \d+[^:]*?(?:, lane \d+)?: (.*)", text)
    if match:
        words = re.sub(r"0x[0-9a-f]+|\d+", "N", match[1])
        words = re.sub(r"PTX line N \('([^']*)'\)", "it", words)
        return words[:110]
    if other:
        return other
    match = re.search(r"error: (.*)", text)
    return re.sub(r"0x[0-9a-f]+|\d+", "N", match[1])[:110] if match else text.strip()[-100:]


class Hunt:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.found = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
        self.missed = collections.defaultdict(list)
        self.count = collections.Counter()
        self.bad = []

    def emulate(self, launch, ptx, *options):
        status, text = common.emulate(self.options.kernel_emu, launch, "--steps", "3000000", *options, ptx=ptx)
        return status, text

    def mutant(self, label, launch, lines, number, orders):
        path = os.path.join(self.folder, f"{label.replace(' ', '-')}-{number}.ptx")
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

    def hunt(self, label, launch, lines, begin, end, name):
        """(name, label, [finding], [missed lines]) of one fault in one kernel."""
        sites = [i for i in range(begin, end) if FAULTS[name](lines, i)]
        found, missed, tried = [], [], 0
        for i in sites[::2] + sites[1::2]:
            if tried == self.options.sites or len(missed) + tried > 8:
                break
            count, instead = FAULTS[name](lines, i)
            mutated = lines[:i] + instead + lines[i + count:]
            number = f"{abs(hash(name)) % 10**6}-{i}"
            orders = [("--orders", "in-order"), ("--orders", "adversarial", "--seeds", "2"), ("--orders", "random", "--seeds", "1")]
            if "fence" in name:
                orders.append(("--orders", "in-order", "--strict"))
            status, text = self.mutant(label, launch, mutated, number, orders)
            if status == 3:
                continue  # no longer PTX that the emulator takes
            if status:
                found.append(finding(text))
            else:
                guard = re.match(r"\s*(@!?%?\w+)\s", lines[i])
                trap = lines[:i] + [(guard[1] + " " if guard else "") + "trap;"] + lines[i:]
                if self.mutant(label, launch, trap, number, orders[:1])[0] == 0:
                    continue  # not executed
                missed.append(f"{label}:{i + 1}: {lines[i].strip()[:90]}")
            tried += 1
        return name, label, found, missed

    def run(self):
        names = [n for n in FAULTS if not self.options.fault or any(f in n for f in self.options.fault)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = []
            for compiler, target, name, ptx, job in run_third_party.all_problems():
                label = f"{compiler} {target} {name}"
                if label not in CHOSEN or (self.options.only and self.options.only not in label):
                    continue
                folder = os.path.join(self.folder, label.replace(" ", "-"))
                os.makedirs(folder)
                launch = common.write_launch(job, ptx, folder)
                status, text = self.emulate(launch, None, "--orders", "in-order,adversarial,random")
                if status:
                    self.bad.append(f"{label} without a fault: {finding(text)}")
                    continue
                self.count["kernels"] += 1
                with open(ptx) as file:
                    lines = file.read().splitlines()
                begin, end = entry(lines, job["kernel"])
                jobs += [pool.submit(self.hunt, label, launch, lines, begin, end, fault) for fault in names]
            for job in concurrent.futures.as_completed(jobs):
                name, label, found, missed = job.result()
                kind = " ".join(label.split()[:2])
                for text in found:
                    self.found[name][text][kind] += 1
                self.count["planted"] += len(found) + len(missed)
                self.count["found"] += len(found)
                self.missed[name] += missed
                if self.options.verbose:
                    for text in missed:
                        print(f"missed: {name}: {text}", flush=True)
        self.table(names)

    def table(self, names):
        rows = []
        for name in names:
            sites = sum(sum(kinds.values()) for kinds in self.found[name].values())
            if not sites and not self.missed[name]:
                rows.append((name, 0, 0, "no site", ""))
                continue
            if not sites and name not in SURVIVORS:
                self.bad.append(f"{name} is missed at every site")
            how = sorted(self.found[name].items(), key=lambda item: -sum(item[1].values()))
            kinds = collections.Counter()
            for _, where in how:
                kinds.update(where)
            rows.append((name, sites, len(self.missed[name]), "; ".join(text for text, _ in how[:2]),
                         ", ".join(f"{k} {v}" for k, v in sorted(kinds.items()))))
        for row in rows:
            print("{0}: {1} found, {2} missed | {3} | {4}".format(*row))
        for name in names:
            for text in self.missed[name]:
                print(f"  missed: {name}: {text}" + (f" ({SURVIVORS[name]})" if name in SURVIVORS else ""))
        if self.options.markdown:
            with open(self.options.markdown, "w") as file:
                file.write("| fault | found | missed | by (most often) | in kernels of |\n|---|---|---|---|---|\n")
                for row in rows:
                    file.write("| {0} | {1} | {2} | {3} | {4} |\n".format(*(str(c).replace("|", "/") for c in row)))
        kinds = sum(1 for row in rows if row[1] or row[2])
        print(f"{self.count['kernels']} kernels, {kinds} kinds of faults, {self.count['planted']} planted, {self.count['found']} found")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel-emu", required=True)
    parser.add_argument("--sites", type=int, default=1, help="of a fault in each kernel")
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    parser.add_argument("--fault", action="append", help="faults whose name contains this")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("-v", action="store_true", dest="verbose")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        hunt = Hunt(options, folder)
        hunt.run()
    for text in hunt.bad:
        print("FAIL " + text)
    print(f"{hunt.count['found']} passed, {len(hunt.bad)} failed")
    return 1 if hunt.bad or not hunt.count["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
