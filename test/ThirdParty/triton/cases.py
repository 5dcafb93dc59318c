# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Triton kernels' types and tile shapes: what compile_kernels.py compiles, and the name of each PTX file.

A signature's value is a type ("*bf16", "i32", "tensordesc<bf16[128,64]>"), or ("constexpr", value).
"""


def const(value):
    return ("constexpr", value)


def kernel(function, signature, warps=4, stages=3, targets=("sm_90", "sm_100"), **options):
    return dict(function=function, signature=signature, warps=warps, stages=stages, targets=targets, options=options)


CASES = {
    "add_f32": kernel("add", dict(x="*fp32", y="*fp32", z="*fp32", n="i32", BLOCK=const(512))),
    "add_f16": kernel("add", dict(x="*fp16", y="*fp16", z="*fp16", n="i32", BLOCK=const(512))),
    "gated_bf16": kernel("gated", dict(x="*bf16", g="*bf16", z="*bf16", n="i32", BLOCK=const(1024))),
    "softmax": kernel("softmax", dict(x="*fp32", y="*fp32", columns="i32", BLOCK=const(512))),
    "row_scan": kernel("row_scan", dict(x="*i32", sums="*i32", best="*i32", columns="i32", BLOCK=const(256))),
    "histogram": kernel("histogram", dict(x="*i32", counts="*i32", n="i32", BLOCK=const(512), BINS=const(64))),
    "column_sum": kernel(
        "column_sum", dict(x="*bf16", y="*fp32", rows="i32", columns="i32", ROWS=const(32), COLUMNS=const(64))),
    "matmul_epilogue": kernel(
        "matmul_epilogue",
        dict(a="*bf16", b="*bf16", bias="*fp32", c="*bf16", sums="*fp32", m="i32", n="i32", k="i32",
             BM=const(64), BN=const(64), BK=const(64))),
    "matmul_persistent": kernel(
        "matmul_persistent",
        dict(a="*bf16", b="*bf16", c="*bf16", m="i32", n="i32", k="i32", BM=const(128), BN=const(64), BK=const(64))),
    "copy_descriptor": kernel(
        "copy_descriptor",
        dict(x="tensordesc<fp32[32,64]>", y="tensordesc<fp32[32,64]>", BM=const(32), BN=const(64))),
    "reduce_descriptor": kernel(
        "reduce_descriptor",
        dict(x="tensordesc<fp32[16,32]>", y="tensordesc<fp32[16,32]>", BM=const(16), BN=const(32))),
    "transpose_device_descriptor": kernel(
        "transpose_device_descriptor",
        dict(x="*bf16", y="*bf16", rows="i32", columns="i32", BM=const(64), BN=const(32))),
    "matmul_inner_specialised": kernel(
        "matmul_inner_specialised",
        dict(a="tensordesc<bf16[128,64]>", b="tensordesc<bf16[64,64]>", c="tensordesc<bf16[128,64]>", m="i32",
             n="i32", k="i32", BM=const(128), BN=const(64), BK=const(64)), targets=("sm_100",)),
    "matmul_inner_specialised64": kernel(
        "matmul_inner_specialised",
        dict(a="tensordesc<bf16[64,64]>", b="tensordesc<bf16[64,64]>", c="tensordesc<bf16[64,64]>", m="i32",
             n="i32", k="i32", BM=const(64), BN=const(64), BK=const(64)), targets=("sm_90",)),
    "attention": kernel(
        "attention",
        dict(q="*fp16", k="*fp16", v="*fp16", o="*fp16", length="i32", scale="fp32", BM=const(64), BN=const(64),
             HEAD=const(64))),
}

# All four orientations: n is row-major, t column-major.
for dtype in ("bf16", "fp16", "fp32"):
    for orientation in ("nn", "nt", "tn", "tt"):
        CASES[f"matmul_{dtype}_{orientation}"] = kernel(
            "matmul",
            dict(a=f"*{dtype}", b=f"*{dtype}", c=f"*{dtype}", m="i32", n="i32", k="i32",
                 am="i32" if orientation[0] == "n" else const(1), ak=const(1) if orientation[0] == "n" else "i32",
                 bk="i32" if orientation[1] == "n" else const(1), bn=const(1) if orientation[1] == "n" else "i32",
                 BM=const(64 if dtype == "fp32" else 128), BN=const(64), BK=const(32 if dtype == "fp32" else 64)))

for orientation in ("nn", "nt", "tn", "tt"):
    # On sm_90 Triton 3.9 does not partition the tiles of specialised warps that loads of 128 rows fill.
    for name, specialise, rows, targets in (("matmul_descriptor", False, 128, ("sm_90", "sm_100")),
                                            ("matmul_specialised", True, 128, ("sm_100",)),
                                            ("matmul_specialised64", True, 64, ("sm_90",))):
        a = f"{rows},64" if orientation[0] == "n" else f"64,{rows}"
        CASES[f"{name}_{orientation}"] = kernel(
            "matmul_descriptor",
            dict(a=f"tensordesc<bf16[{a}]>", b="tensordesc<bf16[64,64]>", c=f"tensordesc<bf16[{rows},64]>", m="i32",
                 n="i32", k="i32", BM=const(rows), BN=const(64), BK=const(64), A_T=const(orientation[0] == "t"),
                 B_T=const(orientation[1] == "t"), SPECIALISE=const(specialise)), targets=targets)
