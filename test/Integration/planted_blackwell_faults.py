#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants faults of Blackwell kernels in the PTX of our own; the emulator must
find them: tensor memory, descriptors, pairs of CTAs, barriers, waits.

    planted_blackwell_faults.py --kernel-opt KERNEL_OPT --kernel-run KERNEL_RUN
        [--sites 3] [--fault NAME ...] [--json FILE]

See planted_faults.py, whose machinery this is. A fault of pairs needs a kernel
with .cta_group::2 and is passed over where there is none; mutants of hand-written
pair kernels are in test/Runtime/emulator/PairTest.cpp.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import planted_faults as base  # noqa: E402

# Faults of every kernel with mbarriers and tensor maps, also planted here.
COMMON = ["expected bytes + 16", "expected bytes - 16", "phase of a consumer not flipped",
          "phase of a producer not flipped", "arrive removed", "arrive doubled", "fence.proxy.async removed",
          "bulk wait_group.read removed", "barrier after the set-up removed", "bar.warp.sync removed",
          "ring a stage shorter, in one task", "ring a stage longer, in one task",
          "mbarrier's arrivals one too many", "mbarrier not initialised", "TMA load: row off by one",
          "TMA load: 128 bytes too far in shared memory", "TMA store: row off by one"]
FAULTS = {name: base.FAULTS[name] for name in COMMON}

MMA = re.compile(r"^\s*(?:@\S+ )?tcgen05\.mma\S*\s+\[(%r\w+)\], (%rd\w+), (%rd\w+), (%r\w+), (!?%p\w+)")
D, A, B, FORM, ENABLE = range(1, 6)


def atMma(operand, *code):
    """An operand of a product changed: `code` makes `planted` of S."""
    def apply(lines, i):
        match = MMA.search(lines[i])
        if not match:
            return None
        register, (begin, end) = match[operand], match.span(operand)
        kind = "b64" if register.startswith("%rd") else "b32"
        return 1, [f"{{ .reg .{kind} planted; .reg .{kind} other;", *(c.replace("S", register) for c in code),
                   lines[i][:begin] + "planted" + lines[i][end:], "}"]
    return apply


def enabled(value):
    def apply(lines, i):
        match = MMA.search(lines[i])
        if not match:
            return None
        begin, end = match.span(ENABLE)
        return 1, ["{ .reg .pred planted;", f"setp.{'eq' if value else 'ne'}.u32 planted, 0, 0;",
                   lines[i][:begin] + "planted" + lines[i][end:], "}"]
    return apply


def replacement(pattern, to):
    compiled = re.compile(pattern)

    def apply(lines, i):
        new = compiled.sub(to, lines[i])
        return (1, new.split("\n")) if new != lines[i] else None
    return apply


def removal(pattern):
    compiled = re.compile(pattern)
    return lambda lines, i: (1, []) if compiled.search(lines[i]) else None


def waitBefore(what):
    """An mbarrier wait, where the given instruction is the next of tensor memory or TMA."""
    def apply(lines, i):
        if not base.waitAt(lines, i):
            return None
        end = base.blockEnd(lines, i)
        for line in lines[end:]:
            match = re.search(r"tcgen05\.(mma|ld|commit|st)\b|cp\.async\.bulk\.tensor\S*shared::cluster", line)
            if match:
                return (end - i + 1, []) if re.search(what, match[0]) else None
            if "mbarrier.try_wait" in line or re.match(r"\s*ret;", line):
                return None
        return None
    return apply


def accumulatorWait(what, waitsBetween):
    """A wait with tcgen05.fence::after_thread_sync behind it, and what tensor memory is used for then."""
    def apply(lines, i):
        if not base.waitAt(lines, i):
            return None
        end, waits = base.blockEnd(lines, i), 0
        if not any("fence::after_thread_sync" in line for line in lines[end:end + 5]):
            return None
        for line in lines[end:]:
            waits += "mbarrier.try_wait" in line
            match = re.search(r"tcgen05\.(mma|ld|commit|dealloc)\b", line)
            if match:
                return (end - i + 1, []) if match[1] == what and waits >= waitsBetween else None
        return None
    return apply


def beforeFence(lines, i):
    """That of a hand-over: an arrival follows."""
    if "fence::before_thread_sync" in lines[i] and any("mbarrier.arrive" in line for line in lines[i:i + 7]):
        return 1, []
    return None


def earlyHandOver(lines, i):
    """The arrival that hands an accumulator back comes before its last load."""
    if "tcgen05.ld." not in lines[i]:
        return None
    for j in range(i + 1, min(i + 20, len(lines))):
        if "mbarrier.arrive.shared" in lines[j] and any("before_thread_sync" in line for line in lines[i:j]):
            return 1, ["{ .reg .b32 lane; .reg .pred first; mov.u32 lane, %laneid; setp.eq.u32 first, lane, 0;",
                       "@first " + lines[j].strip(), "}", lines[i]]
    return None


# Tensor memory
FAULTS["tensor memory not freed"] = removal(r"tcgen05\.dealloc")
FAULTS["fewer columns allocated"] = replacement(
    r"^(\s*tcgen05\.alloc\S*\s+\[%\w+\], )(%\w+);", r"{ .reg .b32 planted; shr.u32 planted, \2, 1;\n\1planted;\n}")
FAULTS["fewer columns freed"] = replacement(
    r"^(\s*tcgen05\.dealloc\S*\s+%\w+, )(%\w+);", r"{ .reg .b32 planted; shr.u32 planted, \2, 1;\n\1planted;\n}")
FAULTS["allocation after the permit is given up"] = lambda lines, i: (
    (2, [lines[i + 1], lines[i]]) if "tcgen05.alloc" in lines[i] and "relinquish" in lines[i + 1] else None)
LOAD = r"^(\s*tcgen05\.ld\S*\s+\{[^}]*\}, \[)(%\w+)\];"
FAULTS["load from another warp's lanes"] = replacement(
    LOAD, r"{ .reg .b32 planted; xor.b32 planted, \2, 0x200000;\n\1planted];\n}")
FAULTS["load a column off"] = replacement(LOAD, r"{ .reg .b32 planted; add.u32 planted, \2, 1;\n\1planted];\n}")
FAULTS["load 256 columns off"] = replacement(LOAD, r"{ .reg .b32 planted; add.u32 planted, \2, 256;\n\1planted];\n}")
FAULTS["D 32 columns off"] = atMma(D, "add.u32 planted, S, 32;")
FAULTS["first product accumulates"] = enabled(True)
FAULTS["later products do not accumulate"] = enabled(False)
# Waits and fences
FAULTS["tcgen05.wait::ld removed"] = removal(r"tcgen05\.wait::ld")
FAULTS["tcgen05.fence::before_thread_sync removed"] = beforeFence
FAULTS["tcgen05.fence::after_thread_sync removed"] = removal(r"fence::after_thread_sync")
FAULTS["tcgen05.commit removed"] = removal(r"tcgen05\.commit")
FAULTS["tcgen05.commit doubled"] = lambda lines, i: (1, [lines[i]] * 2) if "tcgen05.commit" in lines[i] else None
FAULTS["wait before a product removed"] = waitBefore("mma")
FAULTS["wait before loads of tensor memory removed"] = waitBefore("ld")
FAULTS["wait before a TMA load removed"] = waitBefore("cp")
FAULTS["wait for a full accumulator removed"] = accumulatorWait("ld", 0)
FAULTS["wait for an empty accumulator removed"] = accumulatorWait("mma", 1)
FAULTS["accumulator handed back before its last load"] = earlyHandOver
FAULTS["products issued by every lane"] = replacement(
    r"^\s*elect\.sync\s+(%r\w+)\|(%p\w+), -1;", r"mov.b32 \1, 0; setp.eq.u32 \2, 0, 0;")
# Descriptors
FAULTS["descriptor: Hopper's, without bit 46"] = atMma(A, "and.b64 planted, S, 0xffffbfffffffffff;")
FAULTS["descriptor: Hopper's code of the swizzle"] = atMma(
    B, "and.b64 planted, S, 0x1fffffffffffffff; or.b64 planted, planted, 0x2000000000000000;")
FAULTS["descriptor: a swizzle that does not exist"] = atMma(A, "or.b64 planted, S, 0x6000000000000000;")
FAULTS["descriptor: no swizzle"] = atMma(A, "and.b64 planted, S, 0x1fffffffffffffff;")
FAULTS["descriptor: 64-byte swizzle"] = atMma(B, "xor.b64 planted, S, 0xc000000000000000;")
FAULTS["descriptor: SBO halved"] = atMma(
    A, "and.b64 planted, S, 0xffffc000ffffffff; shr.u64 other, S, 1; and.b64 other, other, 0x1fff00000000;",
    "or.b64 planted, planted, other;")
FAULTS["descriptor: SBO doubled"] = atMma(
    A, "and.b64 planted, S, 0xffffc000ffffffff; shl.b64 other, S, 1; and.b64 other, other, 0x3ffe00000000;",
    "or.b64 planted, planted, other;")
FAULTS["descriptor: LBO of B doubled"] = atMma(
    B, "and.b64 planted, S, 0xffffffffc000ffff; shl.b64 other, S, 1; and.b64 other, other, 0x3ffe0000;",
    "or.b64 planted, planted, other;")
FAULTS["descriptor: start 128 bytes off"] = atMma(A, "add.u64 planted, S, 8;")
FAULTS["descriptor: start a K step off"] = atMma(B, "add.u64 planted, S, 2;")
FAULTS["instruction: N halved"] = atMma(
    FORM, "and.b32 planted, S, 0xff81ffff; shr.u32 other, S, 1; and.b32 other, other, 0x7e0000;",
    "or.b32 planted, planted, other;")
FAULTS["instruction: M 64"] = atMma(FORM, "and.b32 planted, S, 0xe0ffffff; or.b32 planted, planted, 0x4000000;")
FAULTS["instruction: A's major flipped"] = atMma(FORM, "xor.b32 planted, S, 0x8000;")
FAULTS["instruction: B's major flipped"] = atMma(FORM, "xor.b32 planted, S, 0x10000;")
FAULTS["instruction: f16 for bf16"] = atMma(FORM, "xor.b32 planted, S, 0x480;")
FAULTS["instruction: a reserved bit"] = atMma(FORM, "or.b32 planted, S, 0x40;")
# Pairs
PAIRS = {
    "pair: commit to one CTA only": replacement(
        r"^(\s*(?:@\S+ )?tcgen05\.commit\S*multicast::cluster\S*\s+\[%\w+\], )(%\w+);",
        r"{ .reg .b16 planted; and.b16 planted, \2, 1;\n\1planted;\n}"),
    "pair: TMA load without .cta_group::2": replacement(
        r"(cp\.async\.bulk\.tensor\S*)\.cta_group::2", r"\1"),
    "pair: M of one CTA": lambda lines, i: (
        atMma(FORM, "and.b32 planted, S, 0xe0ffffff; or.b32 planted, planted, 0x4000000;")(lines, i)
        if "cta_group::2" in lines[i] else None),
    "pair: cluster barrier at the end removed": lambda lines, i: (
        (1, []) if re.search(r"barrier\.cluster\.(arrive|wait)", lines[i])
        and any("tcgen05.dealloc" in line for line in lines[i:i + 30]) else None),
    "pair: one CTA does not free its part": replacement(
        r"^(\s*)(tcgen05\.dealloc\.cta_group::2.*)",
        r"{ .reg .b32 rank; .reg .pred planted; mov.u32 rank, %cluster_ctarank; setp.eq.u32 planted, rank, 0;\n@planted \2\n}"),
}
FAULTS.update(PAIRS)


class Hunt(base.Hunt):
    schedules, otherSizes = {}, {}

    def printTable(self, names):
        absent = [name for name in PAIRS if name in names and not self.rows.get(name, {}).get("tried")
                  and not self.hasPairs]
        for name in absent:
            print(f"---- {name}: no kernel here has .cta_group::2")
        super().printTable([name for name in names if name not in absent])

    hasPairs = False
    everySite = False  # one found site is enough here

    def prepare(self, graph):
        bundle, modules = super().prepare(graph)
        self.hasPairs |= any(re.search(r"tcgen05\.mma\.cta_group::2", line) for m in modules.values() for line in m)
        return bundle, modules


if __name__ == "__main__":
    base.TARGET = "sm_100f"
    base.FAULTS.clear()
    base.FAULTS.update(FAULTS)
    base.main(__doc__, Hunt)
