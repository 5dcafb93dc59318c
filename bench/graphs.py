# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The peers: what a PyTorch user would write for a published problem.

A peer is a program that does the same job as a compiled bundle. It is written
by hand for a problem that is known by name, which is fair for a peer and would
not be for the compiler. Each problem has a reference (the graph op by op, in
the graph's own dtypes) and a list of peers, all of them functions of the
problem's inputs in the order of its JSON file, returning the outputs in order.
"""

import contextlib
import dataclasses
from typing import Callable, Dict, List

import torch


@dataclasses.dataclass(frozen=True)
class Peer:
    """One way of running a problem in PyTorch."""

    name: str
    # Makes the callable that is timed; called once per case, inside `settings`.
    build: Callable[[], Callable]
    # Precision of f32 products: "highest" (f32) or "high" (tf32).
    matmul_precision: str = "highest"
    # Rounds inside compiled kernels where eager execution rounds.
    emulate_casts: bool = False
    # Whether building it runs torch.compile (seconds per case).
    compiles: bool = False
    # Whether it runs when no list of peers is given.
    default: bool = True
    what: str = ""

    @contextlib.contextmanager
    def settings(self):
        """The global PyTorch state that this peer needs, set and put back."""
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision(self.matmul_precision)
        try:
            if self.emulate_casts:
                import torch._inductor.config as inductor

                with inductor.patch(emulate_precision_casts=True):
                    yield
            else:
                yield
        finally:
            torch.set_float32_matmul_precision(before)


@dataclasses.dataclass(frozen=True)
class Problem:
    """A problem of workloads/, known by the prefix of its file's name."""

    reference: Callable
    peers: List[Peer]

    def peer(self, name: str) -> Peer:
        for peer in self.peers:
            if peer.name == name:
                return peer
        known = ", ".join(p.name for p in self.peers)
        raise KeyError(f"unknown peer '{name}': this problem has {known}")


def compiled(function: Callable, mode: str = None) -> Callable:
    """torch.compile for exactly the shapes of the first call.

    Static shapes are what a user who wants speed would ask for: the compiler
    may choose tile sizes per case, at seconds of compilation for each.
    """
    return torch.compile(function, dynamic=False, fullgraph=True, mode=mode)


AUTOTUNE = "max-autotune-no-cudagraphs"


# ------------------------------------------------ 079: gated output projection


def ssmGateBackward(grad_output, ssm_output, gate, weight, bias, gate_activated,
                    gated_output, use_silu_gate):
    """Each op is one PyTorch op on bf16 tensors: computed in f32, rounded once."""
    hidden, expanded = weight.shape
    d = grad_output @ weight
    grad_ssm_output = d * gate_activated
    dz = d * ssm_output
    if use_silu_gate:
        s = torch.sigmoid(gate)
        slope = s * (1 + gate * (1 - s))
        grad_gate = dz * slope
    else:
        grad_gate = dz
    rows = grad_output.reshape(-1, hidden)
    grad_weight = rows.t() @ gated_output.reshape(-1, expanded)
    grad_bias = rows.sum(0)
    return grad_ssm_output, grad_gate, grad_weight, grad_bias


# ------------------------------------------------------- 022, 167: GELU MLP


def mlpGeluBackward(grad_output, hidden_state, fc1_weight, fc1_bias, fc2_weight,
                    fc2_bias, fc1_output, gelu_output):
    """All f32; the products follow the precision that is set globally."""
    intermediate, hidden = fc1_weight.shape
    dy = grad_output.reshape(-1, hidden)
    dg = dy @ fc2_weight
    dh = torch.ops.aten.gelu_backward(
        dg, fc1_output.reshape(-1, intermediate), approximate="tanh")
    grad_hidden = dh @ fc1_weight
    grad_fc1_weight = dh.t() @ hidden_state.reshape(-1, hidden)
    grad_fc1_bias = dh.sum(0)
    grad_fc2_weight = dy.t() @ gelu_output.reshape(-1, intermediate)
    grad_fc2_bias = dy.sum(0)
    return (grad_hidden.reshape(hidden_state.shape), grad_fc1_weight,
            grad_fc1_bias, grad_fc2_weight, grad_fc2_bias)


def productToF32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A product of fp16 operands whose f32 accumulators are stored as f32."""
    if a.is_cuda:
        return torch.mm(a, b, out_dtype=torch.float32)
    return a.float() @ b.float()  # the same values; only for tests off the GPU


def roundOperands(dy, fc2_weight, gelu_output, fc1_weight, hidden_state):
    return (dy.half(), fc2_weight.half(), gelu_output.half(),
            fc1_weight.half(), hidden_state.half(), dy.sum(0))


def geluEpilogue(dg, fc1_output):
    dh = torch.ops.aten.gelu_backward(dg.float(), fc1_output, approximate="tanh")
    return dh.half(), dh.sum(0)


def buildFp16(compile_: Callable) -> Callable:
    """Operands rounded to fp16, library products, fused elementwise kernels.

    D of the first product leaves the library as fp16 (it is an operand's
    factor, and half the bytes); the results leave as f32. Bias sums are of the
    f32 values.
    """
    round_, epilogue = compile_(roundOperands), compile_(geluEpilogue)

    def run(grad_output, hidden_state, fc1_weight, fc1_bias, fc2_weight,
            fc2_bias, fc1_output, gelu_output):
        intermediate, hidden = fc1_weight.shape
        dy, w2, g, w1, x, grad_fc2_bias = round_(
            grad_output.reshape(-1, hidden), fc2_weight,
            gelu_output.reshape(-1, intermediate), fc1_weight,
            hidden_state.reshape(-1, hidden))
        dh, grad_fc1_bias = epilogue(dy @ w2,
                                     fc1_output.reshape(-1, intermediate))
        return (productToF32(dh, w1).reshape(hidden_state.shape),
                productToF32(dh.t(), x), grad_fc1_bias,
                productToF32(dy.t(), g), grad_fc2_bias)

    return run


def geluMlpPeers() -> List[Peer]:
    return [
        Peer("eager", lambda: mlpGeluBackward, what="eager, f32 products"),
        Peer("eager-tf32", lambda: mlpGeluBackward, matmul_precision="high",
             what="eager, tf32 products"),
        Peer("compile", lambda: compiled(mlpGeluBackward),
             matmul_precision="high", compiles=True,
             what="torch.compile, tf32 products"),
        Peer("compile-autotune", lambda: compiled(mlpGeluBackward, AUTOTUNE),
             matmul_precision="high", compiles=True, default=False,
             what=f"torch.compile mode={AUTOTUNE}, tf32 products"),
        Peer("fp16", lambda: buildFp16(compiled), compiles=True,
             what="operands rounded to fp16, library products, "
                  "compiled elementwise kernels"),
    ]


PROBLEMS: Dict[str, Problem] = {
    "079": Problem(
        reference=ssmGateBackward,
        peers=[
            Peer("eager", lambda: ssmGateBackward, what="eager, bf16"),
            Peer("compile", lambda: compiled(ssmGateBackward), compiles=True,
                 what="torch.compile"),
            Peer("compile-autotune", lambda: compiled(ssmGateBackward, AUTOTUNE),
                 compiles=True, default=False,
                 what=f"torch.compile mode={AUTOTUNE}"),
            Peer("compile-rounded", lambda: compiled(ssmGateBackward),
                 emulate_casts=True, compiles=True, default=False,
                 what="torch.compile with eager's roundings "
                      "(emulate_precision_casts)"),
        ]),
    "022": Problem(reference=mlpGeluBackward, peers=geluMlpPeers()),
    "167": Problem(reference=mlpGeluBackward, peers=geluMlpPeers()),
}


def problemFor(file_name: str) -> Problem:
    """The problem of a workloads file, by the number that its name starts with."""
    prefix = file_name.split("_", 1)[0]
    if prefix not in PROBLEMS:
        known = ", ".join(sorted(PROBLEMS))
        raise KeyError(
            f"no peer is written for '{file_name}': bench/graphs.py has {known}")
    return PROBLEMS[prefix]
