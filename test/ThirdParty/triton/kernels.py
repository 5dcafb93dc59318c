# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton kernels whose PTX the emulator runs. compile_kernels.py compiles them."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(z + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def gated(x, g, z, n, BLOCK: tl.constexpr):
    """silu(g) * x, computed in f32."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    gate = tl.load(g + i, mask=inside).to(tl.float32)
    value = gate * tl.sigmoid(gate) * tl.load(x + i, mask=inside).to(tl.float32)
    tl.store(z + i, value.to(z.dtype.element_ty), mask=inside)


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * columns + i, v / tl.sum(v, axis=0), mask=i < columns)


@triton.jit
def row_scan(x, sums, best, columns, BLOCK: tl.constexpr):
    """Running sums of each row and the place of its largest element."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=0)
    tl.store(sums + row * columns + i, tl.cumsum(v, axis=0), mask=i < columns)
    w = tl.where(i < columns, v, -2147483648)
    tl.store(best + row, tl.argmax(w, axis=0))


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    h = tl.histogram(v, BINS, mask=i < n)
    tl.atomic_add(counts + tl.arange(0, BINS), h)


@triton.jit
def column_sum(x, y, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    c = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), tl.float32)
    for begin in range(0, rows, ROWS):
        r = begin + tl.arange(0, ROWS)
        inside = (r < rows)[:, None] & (c < columns)[None, :]
        total += tl.sum(tl.load(x + r[:, None] * columns + c[None, :], mask=inside, other=0.0).to(tl.float32), axis=0)
    tl.store(y + c, total, mask=c < columns)


@triton.jit
def matmul(a, b, c, m, n, k, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A B, each operand in either orientation through its strides."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for begin in range(0, k, BK):
        at = begin + inner
        x = tl.load(a + rows[:, None] * am + at[None, :] * ak, mask=(rows < m)[:, None] & (at < k)[None, :], other=0.0)
        y = tl.load(b + at[:, None] * bk + columns[None, :] * bn, mask=(at < k)[:, None] & (columns < n)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(c + rows[:, None] * n + columns[None, :], acc.to(c.dtype.element_ty), mask=inside)


@triton.jit
def matmul_epilogue(a, b, bias, c, sums, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = silu(A B + bias), and the sums of C's columns."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for begin in range(0, k, BK):
        at = begin + inner
        x = tl.load(a + rows[:, None] * k + at[None, :], mask=(rows < m)[:, None] & (at < k)[None, :], other=0.0)
        y = tl.load(b + at[:, None] * n + columns[None, :], mask=(at < k)[:, None] & (columns < n)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
    acc += tl.load(bias + columns, mask=columns < n, other=0.0)[None, :]
    value = (acc * tl.sigmoid(acc)).to(c.dtype.element_ty)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(c + rows[:, None] * n + columns[None, :], value, mask=inside)
    partial = tl.sum(tl.where(inside, value.to(tl.float32), 0.0), axis=0)
    tl.atomic_add(sums + columns, partial, mask=columns < n)


@triton.jit
def matmul_persistent(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A B with as many CTAs as the grid has, each doing several tiles."""
    across = tl.cdiv(n, BN)
    tiles = tl.cdiv(m, BM) * across
    inner = tl.arange(0, BK)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        rows = tile // across * BM + tl.arange(0, BM)
        columns = tile % across * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for begin in range(0, k, BK):
            at = begin + inner
            x = tl.load(a + rows[:, None] * k + at[None, :], mask=(rows < m)[:, None] & (at < k)[None, :], other=0.0)
            y = tl.load(b + at[:, None] * n + columns[None, :], mask=(at < k)[:, None] & (columns < n)[None, :], other=0.0)
            acc = tl.dot(x, y, acc)
        inside = (rows < m)[:, None] & (columns < n)[None, :]
        tl.store(c + rows[:, None] * n + columns[None, :], acc.to(c.dtype.element_ty), mask=inside)


@triton.jit
def copy_descriptor(x, y, BM: tl.constexpr, BN: tl.constexpr):
    """Through tensor maps that the host made."""
    at = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    y.store(at, x.load(at) + 1.0)


@triton.jit
def matmul_descriptor(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                      A_T: tl.constexpr, B_T: tl.constexpr, SPECIALISE: tl.constexpr):
    """C = A B, persistent, loads and stores through tensor maps."""
    across = tl.cdiv(n, BN)
    tiles = tl.cdiv(m, BM) * across
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=not SPECIALISE, warp_specialize=SPECIALISE):
        row = tile // across * BM
        column = tile % across * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for begin in range(0, k, BK):
            if A_T:
                x = a.load([begin, row]).T
            else:
                x = a.load([row, begin])
            if B_T:
                y = b.load([column, begin]).T
            else:
                y = b.load([begin, column])
            acc = tl.dot(x, y, acc)
        c.store([row, column], acc.to(c.dtype))


@triton.jit
def matmul_inner_specialised(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A B, one tile a CTA, warps specialised in the inner loop."""
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for begin in tl.range(0, k, BK, warp_specialize=True):
        acc = tl.dot(a.load([row, begin]), b.load([begin, column]), acc)
    c.store([row, column], acc.to(c.dtype))


@triton.jit
def transpose_device_descriptor(x, y, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Tensor maps that the kernel makes itself."""
    source = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[BM, BN])
    target = tl.make_tensor_descriptor(y, shape=[columns, rows], strides=[rows, 1], block_shape=[BN, BM])
    r, c = tl.program_id(0) * BM, tl.program_id(1) * BN
    target.store([c, r], source.load([r, c]).T)


@triton.jit
def reduce_descriptor(x, y, BM: tl.constexpr, BN: tl.constexpr):
    """Sums of blocks of rows, added through a tensor map."""
    y.atomic_add([0, tl.program_id(1) * BN], x.load([tl.program_id(0) * BM, tl.program_id(1) * BN]))


@triton.jit
def attention(q, k, v, o, length, scale, BM: tl.constexpr, BN: tl.constexpr, HEAD: tl.constexpr):
    """softmax(Q K^T) V of one head a program."""
    head = tl.program_id(1) * length * HEAD
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, HEAD)
    query = tl.load(q + head + rows[:, None] * HEAD + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, HEAD), tl.float32)
    for begin in range(0, length, BN):
        columns = begin + tl.arange(0, BN)
        key = tl.load(k + head + columns[None, :] * HEAD + d[:, None])
        s = tl.dot(query, key) * scale
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new[:, None])
        factor = tl.exp2(top - new)
        total = total * factor + tl.sum(p, axis=1)
        value = tl.load(v + head + columns[:, None] * HEAD + d[None, :])
        acc = tl.dot(p.to(v.dtype.element_ty), value, acc * factor[:, None])
        top = new
    tl.store(o + head + rows[:, None] * HEAD + d[None, :], (acc / total[:, None]).to(o.dtype.element_ty))
