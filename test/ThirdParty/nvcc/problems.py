# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each CUDA kernel is given and what it must compute, in numpy."""

import glob
import math
import os

import numpy as np

from common import Array, bf16, exact, from_bf16

HERE = os.path.dirname(os.path.abspath(__file__))


def job(grid, block, arrays, args, expected, tolerance=(0, 0), smem=0, **more):
    return dict(grid=grid, block=block, smem=smem, args=args, arrays=arrays, expected=expected, tolerance=tolerance, **more)


def atomics(rng):
    n = 96
    i = np.arange(n)
    ints = np.zeros(8, np.int32)
    ints[2], ints[3] = 1000, -5
    want = ints.copy()
    want[0], want[1], want[2], want[3] = i.sum(), -i.sum(), (7 - i).min(), (i * 3).max()
    want[4:7] = i.reshape(3, 32).sum(axis=1)
    words = np.array([0xffffffff, 0, 0, 3, 5], np.uint32)
    wwords = words.copy()
    wwords[0], wwords[1] = 0, 0xffffffff
    wwords[2] = np.bitwise_xor.reduce((0x9e3779b9 * i.astype(np.uint64)).astype(np.uint32))
    up, down = 3, 5
    for _ in range(n):
        up = 0 if up >= 9 else up + 1
        down = 1000 if down == 0 or down > 1000 else down - 1
    wwords[3], wwords[4] = up, down
    floats = np.array([i[i % 4 == j].sum() for j in range(4)], np.float32)
    doubles = np.array([i[i % 2 == j].sum() * 0.5 for j in range(2)])
    halves = np.tile([24.0, 48.0], 4)
    longs = np.array([0, 0, 7], np.uint64)
    wlongs = np.array([int(i.sum()) << 33, 95 * 0x100000001, 7 + 3 * n], np.uint64)
    vectors = np.array([[48, 96, 144, i[i % 2 == j].sum()] for j in range(2)], np.float32)
    arrays = dict(ints=Array(ints, "i32", True), words=Array(words, "u32", True), floats=Array.zeros((4,), "f32"),
                  doubles=Array.zeros((2,), "f64"), halves=Array.zeros((8,), "f16"), bf16s=Array.zeros((2,), "bf16"),
                  longs=Array(longs, "u64", True), vectors=Array.zeros((2, 4), "f32"))
    return job([3], 32, arrays, list(arrays), dict(ints=want, words=wwords, floats=floats, doubles=doubles, halves=halves,
                                                   bf16s=[96.0, 48.0], longs=wlongs, vectors=vectors))


def warps(rng):
    n = 64
    x = rng.integers(0, 90, n).astype(np.int32)
    x[3] = 77
    y = np.zeros((14, n), np.int64)
    for base in range(0, n, 32):
        v = x[base:base + 32].astype(np.int64)
        lane = np.arange(32)
        out = y[:, base:base + 32]
        out[0] = v[(lane * 7) & 31]
        out[1] = v[np.where(lane >= 3, lane - 3, lane)]
        out[2] = v[np.where(lane % 16 + 5 < 16, lane + 5, lane)]
        other = lane ^ 9
        # Lanes beyond the own segment of 8 give the own value; those before it are read.
        out[3] = v[np.where(other > (lane | 7), lane, other)]
        out[4] = sum(int(v[j] & 1) << j for j in range(32))
        out[5] = int((v == 5).any()) * 2 + int((v < 100).all())
        out[6] = [sum(1 << j for j in range(32) if v[j] & 3 == a & 3) for a in v]
        same = (v & 64 == v[0] & 64).all()
        out[7] = (0xffffffff + 1 if same else 0)
        out[8] = v.sum()
        out[9] = v.min() ^ v.max()
        out[10] = np.bitwise_xor.reduce(v) + np.bitwise_and.reduce(v) + np.bitwise_or.reduce(v)
        out[11] = np.where(lane % 3 == 0, 11 + v, 0)
        swapped, popped = v[lane ^ 1], v[lane ^ 2]
        out[12] = swapped + [bin(p).count("1") for p in popped]
    y[13] = int((x & 2 != 0).sum()) * 4 + int((x == 77).any()) * 2 + int((x < 99).all())
    y = y.astype(np.uint64).astype(np.uint32).astype(np.int32)
    return job([1], n, dict(x=Array(x, "i32"), y=Array.out((14, n), "i32")), ["x", "y"], dict(y=y))


def functions(rng):
    n = 70
    x = exact(rng, n, 4) / 4
    c = [1, -2, 0.5, 3]
    y = np.zeros(n)
    for i in range(n):
        r = np.float32(0)
        for j in range(1 + i % 4):
            r = np.float32(r * x[i] + np.float32(c[j]))
        b = [i, i + 1, i + 4]
        a = float(x[i]) * 2
        value = float(r)
        value += (a + b[i % 3] if i & 1 else a - b[(i + 1) % 3]) + (i * 300 & 0xff) * 1000.0 + (i * 300 >> 8)
        y[i] = value
    return job([3], 32, dict(x=Array(x, "f32"), y=Array.out((n,), "f64")), ["x", "y", f"i32:{n}"], dict(y=y), (1e-9, 1e-9))


def stacks(rng):
    n = 50
    x = rng.integers(0, 500, n).astype(np.int32)
    y = np.zeros(40, np.int32)
    for i in range(40):
        s = np.sort([x[(i + j) % n] for j in range(32)])
        y[i] = s[i & 31] + 1000 * s[(i + 16) & 31]
    return job([1], 40, dict(x=Array(x, "i32"), y=Array.out((40,), "i32")), ["x", "y", f"i32:{n}"], dict(y=y))


def doubles(rng):
    n = 64
    v = rng.standard_normal(n)
    y = [v / (1 + v * v), np.sqrt(abs(v)) + 1 / v, (v * v - 1) + np.floor(v) + np.rint(v * 3) + np.trunc(v * 5),
         np.minimum(v, 0.25) + np.maximum(v, -0.5), np.exp(v * 0.25), np.log(abs(v) + 1.5),
         np.trunc(v * 1e6) + np.trunc(abs(v) * 100) + v.astype(np.float32).astype(np.float64),
         -v + (v.view(np.uint64) >> 32 << 32).view(np.float64)]
    return job([1], n, dict(x=Array(v, "f64"), y=Array.out((8, n), "f64")), ["x", "y", f"i32:{n}"], dict(y=np.array(y)),
               (1e-15, 4e-15))


def singles(rng):
    n = 64
    v = rng.standard_normal(n).astype(np.float32)
    d = v.astype(np.float64)
    erf = np.array([math.erf(a) for a in d])
    y = [d / (1 + d * d), np.sqrt(abs(d)) + 1 / np.sqrt(abs(d) + 1), np.exp(d) + np.tanh(d * 0.5),
         np.log(abs(d) + 0.5) + abs(d)**1.5, np.sin(d) + np.cos(d * 2), erf + np.log1p(abs(d)),
         np.exp(d) + np.log(abs(d) + 1) + np.sin(d) + d / 3 + 1 / (d + 8) + np.clip(d, 0, 1),
         np.ceil(d) + np.trunc(d * 3) + np.sign(v * 7) * np.floor(abs((v * np.float32(7)).astype(np.float64)) + 0.5) +
         np.fmod(d, 0.75) + np.copysign(1.0, d) + np.trunc((v * np.float32(10)).astype(np.float64))]
    return job([1], n, dict(x=Array(v, "f32"), y=Array.out((8, n), "f32")), ["x", "y", f"i32:{n}"], dict(y=np.array(y)),
               (2e-6, 2e-6))


def halves(rng):
    n = 64
    a = (rng.integers(-32, 33, n) / 16).astype(np.float16)
    b = np.roll(a, -1)
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    h = lambda x: x.astype(np.float16).astype(np.float64)
    r_lo, r_hi = h(a64 * b64 + h(a64 * a64)), h(b64 * a64 + h(b64 * b64))
    y = [a64 * b64 + a64, a64 / (b64 + 9), np.maximum(np.minimum(a64, b64), -b64), np.maximum(a64 * b64 + b64, 0),
         np.where(a64 < b64, abs(a64), np.clip(b64 - a64, 0, 1)), r_lo, r_hi + h(b64 / 4),
         h(np.exp2(a64)) + h(1 / (b64 + 16)), np.trunc(h(a64 * b64)) + np.floor(a64), (a64 > b64).astype(float)]
    c = from_bf16(bf16(a.astype(np.float32)))
    d = np.roll(c, -1)
    c64, d64 = c.astype(np.float64), d.astype(np.float64)
    q = lambda x: from_bf16(bf16(x)).astype(np.float64)
    s_x, s_y = q(c64 * c64 + q(c64 + c64)), q(d64 * d64 + q(d64 + d64))
    scaled = (c * np.float32(1.01)).astype(np.float32).view(np.uint32) & 0xffff0000
    w = [c64 * d64 + c64, np.maximum(c64, d64), s_x, s_y - q(c64 * d64), scaled.view(np.float32).astype(np.float64),
         np.where(c64 <= d64, abs(c64), -d64)]
    # hdiv, hexp2 and hrcp are within an ulp.
    return job([1], n, dict(x=Array(a, "f16"), y=Array.out((10, n), "f16"), z=Array(c, "bf16"), w=Array.out((6, n), "bf16")),
               ["x", "y", "z", "w", f"i32:{n}"], dict(y=np.array(y), w=np.array(w)), (2**-12, 2**-8))


def integers(rng):
    n = 64
    x = rng.integers(0, 1 << 32, n, dtype=np.uint64)
    x[:4] = [0, 0xffffffff, 0x80000000, 1]
    out = np.zeros((16, n), np.uint64)
    M32, M64 = (1 << 32) - 1, (1 << 64) - 1
    signed = lambda v, bits: v - (1 << bits) if v >> (bits - 1) & 1 else v
    trunc = lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    clz = lambda v, bits: bits - v.bit_length()
    rev = lambda v, bits: int(format(v, f"0{bits}b")[::-1], 2)

    def permute(a, b, s):
        data = [a >> 8 * j & 0xff for j in range(4)] + [b >> 8 * j & 0xff for j in range(4)]
        r = 0
        for j in range(4):
            code = s >> 4 * j & 0xf
            byte = data[code & 7]
            r |= (byte if code < 8 else 0xff * (byte >> 7)) << 8 * j
        return r

    def parts(f, a, b, bits, sign):
        r = 0
        for j in range(0, 32, bits):
            u, v = a >> j & ((1 << bits) - 1), b >> j & ((1 << bits) - 1)
            r |= (f(signed(u, bits), signed(v, bits)) if sign else f(u, v)) % (1 << bits) << j
        return r

    for i in range(n):
        a, b = int(x[i]), int(x[(i + 5) % n]) | 1
        sa, sb = signed(a, 32), signed(b, 32)
        la = signed(((sa << 20) ^ b) & M64, 64)
        lb = signed((b * 77 + 1) & M64, 64)
        la_u, lb_u = la & M64, lb & M64
        q = trunc(la, lb)
        r = [0] * 16
        r[0] = a // b + a % b
        r[1] = q + (la - q * lb)
        r[2] = (a * b >> 32) + (sa * sb >> 32) + (la_u * lb_u >> 64)
        low = b << 3 & M32
        ffs = (low & -low).bit_length()
        r[3] = clz(a, 32) + 100 * ffs + 10000 * bin(a).count("1") + clz(lb_u, 64) + bin(la_u).count("1")
        r[4] = rev(a, 32) ^ (rev(la_u, 64) >> 7 & M32)
        r[5] = permute(a, b, 0x2510) ^ permute(a, b, a & 0x7777)
        pair = b << 32 | a
        r[6] = ((pair << (i & 31)) >> 32 & M32) ^ (pair >> (i + 3 & 31) & M32) ^ (pair << 32 >> 32 & M32) ^ (pair >> 32 & M32)
        wide = (la % (1 << 128) * lb_u + (a << 64) + lb_u - (lb_u << 60)) % (1 << 128)
        r[7] = (wide >> 96 ^ wide >> 61 ^ wide) & M32
        dot = sum(signed(a >> j & 0xff, 8) * signed(b >> j & 0xff, 8) for j in range(0, 32, 8)) + 5
        udot = sum((a >> j & 0xff) * (b >> j & 0xff) for j in range(0, 32, 8)) + 6
        r[8] = dot + udot + abs(sa - sb) + 9 + abs(a - b) + 1
        r[9] = (a >> 5 & 0x7ff) ^ ((a & ~(0x1ff << 4)) | (b & 0x1ff) << 4)
        # bfe.s32: bits beyond the word are copies of its sign.
        field = sa >> min(i, 31) & 0x7f if i < 64 else 0
        field = signed(field, 7) & M32
        r[10] = field + (a ^ b ^ field)
        r[11] = (parts(lambda u, v: u + v, a, b, 8, False) ^ parts(max, a, b, 16, True) ^
                 parts(lambda u, v: abs(u - v), a, b, 8, False) ^ parts(lambda u, v: 0xff * (u > v), a, b, 8, False))
        r[12] = (min(sa, sb) ^ max(a, b) ^ abs(sa) ^ min(la, lb) ^ la >> 13) & M32
        c, h = signed(a & 0xff, 8), signed(b >> 3 & 0xffff, 16)
        r[13] = c * h + (a >> 8 & 0xff) * 3 + ((b & 0xffff) >> 2)
        t = (a & 0xffffff) * (b & 0xffffff) & M32
        r[14] = signed(a & 0xffffff, 24) * signed(b & 0xffffff, 24) + t
        sz = signed(a & 0x1ff, 9) & M32
        mask = (0x1f << (a & 31)) & M32
        fa = np.float32(a)
        if int(fa) > a:
            fa = np.nextafter(fa, np.float32(0))
        fb = np.float32(sb)
        if int(fb) > sb:
            fb = np.nextafter(fb, np.float32(-np.inf))
        up = math.ceil(float(np.float32(fb * np.float32(1e-3))))
        r[15] = (mask ^ sz) ^ int(fa.view(np.uint32)) ^ (up & M32)
        out[:, i] = [v & M32 for v in r]
    return job([1], n, dict(x=Array(x, "u32"), y=Array.out((16, n), "u32")), ["x", "y", f"i32:{n}"],
               dict(y=out.astype(np.uint32)))


def mma_pipeline(rng):
    m, n, k = 128, 64, 160
    a, b = exact(rng, (m, k), 3), exact(rng, (k, n), 3)
    return job([2, 2], 128, dict(a=Array(a, "bf16"), b=Array(b, "bf16"), c=Array.out((m, n), "f32")),
               ["a", "b", "c", f"i32:{m}", f"i32:{n}", f"i32:{k}"], dict(c=a @ b))


def fragments(matrix, per):
    """Registers of A (16 rows) or, transposed, of B (8): the elements of each lane."""
    rows, k = matrix.shape
    halves = rows // 8
    count = halves * k // (4 * per)
    out = np.zeros((count, 32, per), matrix.dtype)
    for lane in range(32):
        for r in range(count):
            row = lane // 4 + 8 * (r % halves)
            at = lane % 4 * per + r // halves * 4 * per
            out[r, lane] = matrix[row, at:at + per]
    return out


def results(matrix):
    """The four registers of 16 x 8 results."""
    out = np.zeros((4, 32), matrix.dtype)
    for lane in range(32):
        for r in range(4):
            out[r, lane] = matrix[lane // 4 + 8 * (r // 2), lane % 4 * 2 + r % 2]
    return out


def mma_shapes(rng):
    word = lambda f, kind: np.ascontiguousarray(f.astype(kind)).view(np.uint32).reshape(f.shape[0], 32)
    a, b = exact(rng, (16, 16), 3), exact(rng, (16, 8), 3)
    i8, u8 = rng.integers(-128, 128, (16, 32)), rng.integers(0, 256, (32, 8))
    t, s = exact(rng, (16, 8), 5), exact(rng, (8, 8), 5)
    inputs = np.concatenate([word(fragments(a, 2), np.float16), word(fragments(b.T, 2), np.float16),
                             np.zeros((2, 32), np.uint32), word(fragments(i8, 4), np.int8),
                             word(fragments(u8.T, 4), np.uint8), np.zeros((2, 32), np.uint32),
                             word(fragments(t, 1), np.float32), word(fragments(s.T, 1), np.float32)])
    bits = lambda m: np.ascontiguousarray(m.astype(np.float32)).view(np.uint32)
    start = np.array([1, 2, 3, 4], np.float32)[:, None]
    f0 = results(a @ b) + start
    f1 = f0 + results(a[:, :8] @ b[:8])
    half = (a @ b).astype(np.float16)
    h = results(half)
    packed = np.stack([np.stack([h[2 * r], h[2 * r + 1]], axis=1).reshape(-1).view(np.uint32) for r in range(2)])
    d0 = results(i8 @ u8) + np.arange(4)[:, None]
    # Registers of A hold rows g and g + 8 of its first half.
    d1 = d0 + results(i8[:, :16] @ np.where(u8[:16] > 127, u8[:16] - 256, u8[:16]))
    f2 = results(t @ s) + results(t[:, :4] @ s[:4])
    out = np.concatenate([bits(f0), bits(f1), packed, d0.astype(np.int64).astype(np.uint64).astype(np.uint32),
                          d1.astype(np.int64).astype(np.uint64).astype(np.uint32), bits(f2)])
    return job([1], 32, dict(x=Array(inputs, "u32"), y=Array.out(out.shape, "u32")), ["x", "y"], dict(y=out))


def block_sum(rng):
    n = 5000
    x = exact(rng, n)
    return job([4], 128, dict(x=Array(x, "f32"), y=Array.zeros((1,), "f32")), ["x", "y", f"i32:{n}"], dict(y=[x.sum()]),
               smem=16)


def last_block(rng):
    n = 3000
    x = exact(rng, n)
    return job([10], 32, dict(x=Array(x, "f32"), partials=Array.out((10,), "f32"), counter=Array.zeros((1,), "u32"),
                              y=Array.out((1,), "f32")), ["x", "partials", "counter", "y", f"i32:{n}"], dict(y=[x.sum()]))


def cluster_histogram(rng):
    n = 2000
    x = rng.integers(0, 128, n).astype(np.int32)
    return job([4], 64, dict(x=Array(x, "i32"), bins=Array.zeros((128,), "i32")), ["x", "bins", f"i32:{n}", "i32:64"],
               dict(bins=np.bincount(x, minlength=128)), smem=256, cluster=[2])


def cluster_exchange(rng):
    x = rng.integers(0, 90, 8 * 32).astype(np.int32)
    y = np.zeros((8, 4, 32), np.int32)
    for cta in range(8):
        for source in range(4):
            y[cta, source] = x.reshape(8, 32)[cta // 4 * 4 + source] + 100 * (cta % 4)
    return job([8], 32, dict(x=Array(x, "i32"), y=Array.out(y.shape, "i32")), ["x", "y"], dict(y=y), cluster=[4])


def tiled(array, kind, rows, columns, box_rows, box_columns, swizzle="128B"):
    """The tensor map of a row-major matrix."""
    size = 4 if kind in ("f32", "tf32") else 2
    return {"map": {"array": array, "type": kind, "sizes": [columns, rows], "strides": [columns * size],
                    "box": [box_columns, box_rows], "swizzle": swizzle}}


def gemm(rng, m, n, k, kind, box_a, box_b, block, smem, rows, cluster=None):
    """C = A Bt."""
    a, b = exact(rng, (m, k), 3), exact(rng, (n, k), 3)
    depth = 128 // (4 if kind == "f32" else 2)
    more = dict(cluster=[cluster]) if cluster else {}
    return job([m // rows, n // 64], block, dict(a=Array(a, kind), b=Array(b, kind), c=Array.out((m, n), "f32")),
               [tiled("a", kind, m, k, box_a, depth), tiled("b", kind, n, k, box_b, depth), "c", f"i32:{n}", f"i32:{k}"],
               dict(c=a @ b.T), smem=smem, **more)


def gemm_wgmma(rng):
    return gemm(rng, 256, 128, 512, "bf16", 64, 32, 256, 6 * 8192, 64, 2)


def gemm_wgmma_tf32(rng):
    return gemm(rng, 128, 128, 256, "f32", 64, 32, 256, 6 * 8192, 64, 2)


def bulk_copies(rng):
    x, vector = exact(rng, (64, 96)), exact(rng, 64)
    sums = np.zeros(64, np.float32)
    for r in range(0, 64, 32):
        for c in range(0, 96, 32):
            sums += (x[r:r + 2, c:c + 32] + 1).reshape(-1) + vector
    return job([3, 2], 128, dict(x=Array(x, "f32"), y=Array.out(x.shape, "f32"), vector=Array(vector, "f32"),
                                 sums=Array.zeros((64,), "f32")),
               [tiled("x", "f32", 64, 96, 32, 32, "none"), tiled("y", "f32", 64, 96, 32, 32, "none"), "vector", "sums"],
               dict(y=x + 1, sums=sums))


def gemm_tcgen05(rng):
    return gemm(rng, 256, 128, 320, "bf16", 128, 64, 128, 2 * (128 + 64) * 128, 128)


def gemm_tcgen05_pair(rng):
    return gemm(rng, 512, 128, 320, "bf16", 128, 32, 128, 2 * (128 + 32) * 128, 128, 2)


PORTABLE = [atomics, warps, functions, stacks, doubles, singles, halves, integers, mma_pipeline, mma_shapes, block_sum,
            last_block, cluster_histogram, cluster_exchange]


def problems():
    """(compiler, target, name, PTX file, job) of each kernel that was compiled."""
    sets = {"portable": PORTABLE, "hopper": [gemm_wgmma, gemm_wgmma_tf32, bulk_copies],
            "blackwell": [gemm_tcgen05, gemm_tcgen05_pair]}
    for path in sorted(glob.glob(os.path.join(HERE, "ptx", "*.ptx"))):
        source, target, _ = os.path.basename(path).split(".")
        for problem in sets.get(source, []):
            name = problem.__name__
            yield "nvcc", target, name, path, dict(problem(np.random.default_rng(11)), kernel=name)
