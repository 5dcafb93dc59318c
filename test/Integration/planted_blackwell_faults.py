#!/usr/bin/env python3
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants faults of Blackwell kernels in the PTX of our own; the emulator must
find them: tensor memory, descriptors, pairs of CTAs, barriers, waits, flags.

    planted_blackwell_faults.py --kernel-opt KERNEL_OPT --kernel-run KERNEL_RUN
        [--sites 3] [--fault NAME ...] [--json FILE]

See planted_faults.py, whose machinery and rule this has: a fault must be found
at each site that is tried, but for those where HARMLESS or UNREACHED says why it
changes nothing. One graph is compiled for pairs of CTAs, one for single ones,
both with splits of K. Mutants of hand-written pair kernels are in
test/Runtime/emulator/PairTest.cpp.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import planted_faults as base  # noqa: E402

# Faults of every kernel with mbarriers and tensor maps, also planted here.
COMMON = ["split partial not waited for", "acquire of a flag removed: relaxed", "acquire of a flag removed: weak",
          "flag published without fence and release", "partial's store: address off by 16",
          "partial's load: address off by 16", "sum: wrong lanes added", "row mask of a sum removed",
          "TMA store: column off by one", "TMA store: from 128 bytes too far", "expected bytes + 16", "expected bytes - 16", "phase of a consumer not flipped",
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


REMOTE_ARRIVE = r"mbarrier\.arrive\.release\.cluster\.shared::cluster"
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


def isPassedOn(lines, i):
    """By the thread that multiplies: a slot is full, for the other CTA's sum warps."""
    return bool(re.search(REMOTE_ARRIVE, lines[i])) and any(MMA.search(line) for line in lines[i + 1:i + 6])


def passedOnRelaxed(lines, i):
    """In all spaces at once: the sum warps read operands of some of them only."""
    sites = [j for j in range(len(lines)) if isPassedOn(lines, j)] if isPassedOn(lines, i) else []
    if not sites or i != sites[0]:
        return None
    new = [lines[j].replace(".release", ".relaxed") if j in sites else lines[j] for j in range(i, sites[-1] + 1)]
    return len(new), new


FAULTS["named barrier removed"] = removal(r"bar\.sync\s+\S+, (64|128);")
# Pairs
FAULTS.update({
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
    "pair: arrival in the other CTA removed": removal(REMOTE_ARRIVE),
    "pair: arrival in the other CTA doubled": lambda lines, i: (
        (1, [lines[i]] * 2) if re.search(REMOTE_ARRIVE, lines[i]) else None),
    "pair: slots passed on without release": passedOnRelaxed,
})
for name in FAULTS:
    if name.startswith("pair: "):
        base.ONLY_IN[name] = ["ssm_gate_backward"]




def removalNear(pattern, near, reach):
    """Of lines with one of another kind within `reach` lines behind (or before)."""
    compiled = re.compile(pattern)

    def apply(lines, i):
        around = lines[i + 1:i + reach] if reach > 0 else lines[max(0, i + reach):i]
        return (1, []) if compiled.search(lines[i]) and any(re.search(near, line) for line in around) else None
    return apply


def releasedSignal(lines, i):
    if "st.release.gpu" in lines[i] and any(re.search(STORED, line) for line in lines[i - 14:i]):
        return 1, [lines[i].replace("st.release.gpu", "st.relaxed.gpu")]
    return None


def awaitedTile(change):
    """A change at the flag that the load warp polls: its fence stands behind."""
    def apply(lines, i):
        if any("fence.proxy.async;" in line for line in lines[i + 1:i + 25]):
            return change(lines, i)
        return None
    return apply


# Chains: tiles that are stored in the launch that multiplies them. (The fence.proxy.async
# behind the flags is a precaution: bulk copies write the tiles, and read them.)
STORED = r"cp\.async\.bulk\.wait_group\s+0;"
FAULTS.update({
    "chain: tile not awaited": awaitedTile(base.FAULTS["split partial not waited for"]),
    "chain: acquire of a tile's flag removed": awaitedTile(base.FAULTS["acquire of a flag removed: relaxed"]),
    "chain: bar.warp.sync behind the flags removed": removalNear(r"bar\.warp\.sync", r"fence\.proxy\.async;", -5),
    "chain: stores not complete before the flag": removal(STORED),
    "chain: barrier of the drain before the flag removed": removalNear(r"bar\.sync\s+1, 128", STORED, -8),
    "chain: flag without release": releasedSignal,
})
CHAINS = ["mlp_gelu_backward fp16 pairs", "mlp_gelu_backward bf16x3"]
for name in FAULTS:
    if name.startswith("chain: "):
        base.ONLY_IN[name] = CHAINS
base.NOTHING_ELSE_IN += CHAINS


# ------------------------------------------------- where a fault changes nothing

def neighbours(lines, backwards):
    """Of each line, which may come next (or before). Labels of inline assembly
    lead nowhere else."""
    labels = {line.strip()[:-1]: n for n, line in enumerate(lines) if re.match(r"\$L\w+:", line.strip())}
    edges = [[] for _ in lines]
    for n, line in enumerate(lines):
        branch = re.match(r"\s*(@!?%p\d+ )?bra(?:\.uni)?\s+(\$L\w+);", line)
        targets = [labels[branch[2]]] if branch else []
        if not (branch and not branch[1]) and not re.match(r"\s*ret;", line) and n + 1 < len(lines):
            targets.append(n + 1)
        for target in targets:
            edges[target if backwards else n].append(n if backwards else target)
    return edges


def comesBefore(first, others, backwards=False):
    """Whether on every path from a line on `first` comes before any of `others`,
    or neither does."""
    def applies(lines, i):
        edges, seen = neighbours(lines, backwards), set()
        ahead = list(edges[i])
        while ahead:
            n = ahead.pop()
            if n in seen or re.search(first, lines[n]):
                continue
            if re.search(others, lines[n]):
                return False
            seen.add(n)
            ahead += edges[n]
        return True
    return applies


def isReadOnly(lines, i):
    """A fence of a warp that has only read a slot: no bulk copy out of it follows,
    and no store stands since its wait."""
    return (comesBefore(r"mbarrier\.arrive", r"cp\.async\.bulk\.tensor\.\dd\.global")(lines, i)
            and comesBefore(r"mbarrier\.try_wait", r"st\.shared", backwards=True)(lines, i))


def isOperandsFence(lines, i):
    """Behind a wait whose next use of tensor memory is a product, with no wait between."""
    for line in lines[i + 1:]:
        if re.search(r"mbarrier\.try_wait|tcgen05\.(ld|dealloc)", line):
            return False
        if MMA.search(line):
            return True
    return False


def bringsNothing(lines, i):
    """A wait for a slot that the warp reads nothing from before it stores it, or passes it on."""
    return comesBefore(r"fence\.proxy\.async|bar\.warp\.sync", r"ld\.shared")(lines, base.blockEnd(lines, i))


def usedAgain(lines, i):
    """A trap where a drain comes to accumulators again that it hands over here: to the
    second set from here on, of two."""
    if not any("fence::before_thread_sync" in line or "tcgen05.ld" in line for line in lines[max(0, i - 6):i + 1]):
        return i, ["trap;"]  # no hand-over
    start = next(j for j, line in enumerate(lines) if "%tid.x" in line)
    new = list(lines)
    for j in range(len(lines)):
        if accumulatorWait("ld", 0)(lines, j):
            new[j] = ("{ .reg .pred again; setp.ne.u32 again, plantedUnits, 0;\n@again add.u32 plantedUnits, plantedUnits, 1;\n"
                      "setp.gt.u32 again, plantedUnits, 2;\n@again trap; }\n") + new[j]
    new[i] = "mov.u32 plantedUnits, 1;\n" + new[i]
    new[start] = ".reg .b32 plantedUnits; mov.u32 plantedUnits, 0;\n" + new[start]
    return new, None


def formOf(lines, i):
    j = base.definition(lines, i, MMA.search(lines[i])[FORM])
    return int(re.search(r"mov\.b32\s+%\w+, (-?\d+);", lines[j])[1]) & 0xffffffff


def takesAtoms32(lines, i):
    return "kind::tf32" in lines[i] and bool(formOf(lines, i) >> 16 & 1)


def usesNoLbo(lines, i):
    """K-major B, and one whose columns of a CTA are no more than a swizzle's 128 bytes."""
    form = formOf(lines, i)
    columns = (form >> 17 & 63) * 8 // (2 if "cta_group::2" in lines[i] else 1)
    return not form >> 16 & 1 or columns * (4 if "kind::tf32" in lines[i] else 2) <= 128


def accumulatesAnyway(lines, i):
    return i, [f"@!{MMA.search(lines[i])[ENABLE]} trap;"]


def slotAgain(lines, i):
    """A trap where a wait is for a slot's (or accumulator's) second use or a later one."""
    parity = base.waitAt(lines, i)
    first = 1 if base.isEmptyWait(lines, i, parity) else 0
    return i, ["{ .reg .pred planted;", f"setp.ne.u32 planted, {parity}, {first};", "@planted trap;", "}"]


TENSOR = r"tcgen05\.(mma|ld|st|cp|dealloc)\b"
base.HARMLESS["tcgen05.wait::ld removed"].append(
    (comesBefore(r"tcgen05\.wait::ld", r"tcgen05\.(mma|st|cp|dealloc|fence::before)"),
     "registers are waited for by who reads them, and another wait comes before the hand-over"))
base.HARMLESS["tcgen05.fence::after_thread_sync removed"].append(
    (comesBefore(r"fence::after_thread_sync", TENSOR), "another one comes before tensor memory is used"))
base.HARMLESS["tcgen05.fence::after_thread_sync removed"].append(
    (isOperandsFence, "the wait before it is for operands; that for accumulators has a fence of its own"))
base.HARMLESS["bar.warp.sync removed"].append(
    (lambda lines, i: any(re.search(r"barrier\.cluster\.arrive|tcgen05\.alloc", line) for line in lines[i + 1:i + 9]),
     "lanes come to the cluster's barrier each by itself, and those of the warp that allocates have not diverged"))
base.HARMLESS["bar.warp.sync removed"].append(
    (comesBefore(r"tcgen05\.wait::ld", r"\b(ld|st)\.|cp\.async|mbarrier|bar\.sync", backwards=True),
     "the warp has executed tcgen05.wait::ld together, and nothing since that is handed over"))
base.HARMLESS["fence.proxy.async removed"].append(
    (isReadOnly, "only reads stand before it, which the arrival at the slot's barrier orders"))
base.HARMLESS["descriptor: Hopper's code of the swizzle"].append(
    (takesAtoms32, "here that is the code of atoms of 32 bytes, which this B has"))
base.HARMLESS["descriptor: LBO of B doubled"].append((usesNoLbo, "one swizzle atom across: LBO is not used"))
base.UNREACHED["first product accumulates"].append((accumulatesAnyway, "these products accumulate anyway"))
base.HARMLESS["wait before loads of tensor memory removed"].append(
    (bringsNothing, "the entry brings nothing, and a warp's rows of it were its own before"))
for wait in ("wait before a product removed", "wait before loads of tensor memory removed",
             "wait before a TMA load removed", "wait for an empty accumulator removed"):
    base.UNREACHED[wait].append((slotAgain, "nothing was in the slot before, with these sizes"))

for handOver in ("tcgen05.fence::before_thread_sync removed", "accumulator handed back before its last load",
                 "arrive removed", "arrive doubled",
                 "pair: arrival in the other CTA removed", "pair: arrival in the other CTA doubled"):
    base.UNREACHED[handOver].append((usedAgain, "these accumulators are not used again, with these sizes"))

# So few multiprocessors that rings wrap, with the splits of a tile on several.
GRAPHS = [("ssm_gate_backward", "B=1,S=450", "use_silu_gate=true", 7),
          ("mlp_gelu_backward", "S=131", "", 4), ("shifted_sum", "T=195", "", 3),
          *((name, "S=131", "", 24) for name in CHAINS)]
# Tiles of pairs, and of single CTAs; two splits of the products over tokens.
TUNING = {"ssm_gate_backward": {"tile_m": 256, "tile_n": 128, "splits": [1, 2]},
          "mlp_gelu_backward": {"tile_m": 128, "tile_n": 128, "splits": [1, 1, 2, 2]},
          CHAINS[0]: {"tile_m": 256, "tile_n": 128, "splits": [1, 1, 1, 1]},
          CHAINS[1]: {"tile_m": 128, "tile_n": 128, "splits": [1, 1, 1, 2]}}


class Hunt(base.Hunt):
    def flags(self, name):
        if name not in TUNING:
            return []
        path = os.path.join(self.directory, name.replace(" ", ".") + ".json")
        with open(path, "w") as file:
            json.dump({"ranges": [{"to": -1, **TUNING[name]}]}, file)
        return [f"--tuning={path}", *(f"--matmul-precision={p}" for p in name.split()[1:2])]


if __name__ == "__main__":
    base.TARGET = "sm_100f"
    base.GRAPHS[:] = GRAPHS
    base.FAULTS.clear()
    base.FAULTS.update(FAULTS)
    base.main(__doc__, Hunt)
