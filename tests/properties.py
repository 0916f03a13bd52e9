"""What several tests assert: closeness, equality of bits, and what must hold of any attention."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels import BACKENDS, Attention, Link, obstacle

CPU_BACKENDS = tuple(
    name
    for name, backend in BACKENDS.items()
    if backend.device in (None, "cpu") and obstacle(name) is None
)
FAST_BACKENDS = tuple(name for name in CPU_BACKENDS if name != "reference")
WIDTHS = (1, 7, 16, 33)  # below, beside, at and beyond whole vectors of 16


def assert_close(
    actual: Tensor, expected: Tensor, tolerance: float, *, floor: float = 1e-30
) -> None:
    """No entry is off by more than `tolerance` times the largest expected entry.

    Where the terms of a sum may cancel, `floor` is their size: rounding is relative to it.
    """
    assert actual.shape == expected.shape
    if not expected.numel():  # the edges of a graph that has none
        return
    assert torch.isfinite(actual).all()
    scale = max(float(expected.detach().abs().max()), floor)
    error = float((actual.detach().double() - expected.detach().double()).abs().max())
    assert error <= tolerance * scale, f"off by {error}, {error / scale} of {scale}"


def assert_same_bits(actual: Tensor, expected: Tensor) -> None:
    """Equal to the last bit, and no NaN."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    different = (actual != expected).sum()  # a NaN differs from itself
    assert int(different) == 0, f"{int(different)} of {actual.numel()} entries differ"


def dense_attention(
    neighbourhoods: Tensor, h: Tensor, beta: Tensor, weights: Tensor | None = None
) -> Tensor:
    """P of one replica by its definition: softmax over each row's neighbourhood; [n, n].

    `weights` [n, n] are those of edges; a self-loop has 1.
    """
    unit = F.normalize(h, dim=1) * (h != 0).any(dim=1, keepdim=True)
    score = beta * unit @ unit.T
    if weights is not None:
        score = score + weights.clone().fill_diagonal_(1.0).log()
    return score.masked_fill(~neighbourhoods, -torch.inf).softmax(dim=1)


def as_matrix(graph: Graph, attention: Attention) -> Tensor:
    """The attention as matrices [R, n, n], zero where there is no edge."""
    replicas, n = attention.loops.shape
    matrix = torch.zeros(replicas, n, n, dtype=attention.loops.dtype)
    matrix[:, graph.receivers, graph.senders] = attention.edges
    matrix[:, torch.arange(n), torch.arange(n)] = attention.loops
    return matrix


def gradients(
    function: Callable[..., Tensor], inputs: tuple[Tensor, ...], seed: int = 5
) -> tuple[Tensor, ...]:
    """The output of `function` and the gradients of a random weighted sum of it at all inputs."""
    leaves = tuple(each.detach().requires_grad_() for each in inputs)
    out = function(*leaves)
    source = torch.Generator().manual_seed(seed)
    weights = torch.randn(out.shape, dtype=torch.float64, generator=source).to(out.dtype)
    return (out.detach(), *torch.autograd.grad(out, leaves, weights))


def fresh_python(program: str, *arguments: object) -> str:
    """What a program prints in a fresh interpreter that imports from the same places."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=places)  # noqa: S603 (ours)
    assert done.returncode == 0, done.stderr
    return done.stdout


def left_behind(step: Callable[[], object], steps: int = 100) -> tuple[int, int, int]:
    """Links, tensors and tensors' bytes that steps leave with the garbage collector off."""
    for _ in range(3):  # compiles, fills caches
        step()
    gc.disable()
    gc.freeze()  # what is there already is not listed below
    try:
        for _ in range(steps):
            step()
        # Types are compared, because isinstance would run code of other libraries' lazy objects.
        objects = [(type(each), each) for each in gc.get_objects()]
        tensors = [each for kind, each in objects if kind in (Tensor, torch.nn.Parameter)]
        links = sum(issubclass(kind, Link) for kind, _ in objects)
        return links, len(tensors), sum(each.nbytes for each in tensors)
    finally:
        gc.unfreeze()
        gc.enable()
