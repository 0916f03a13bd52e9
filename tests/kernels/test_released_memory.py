"""Reference counting alone frees what an operation kept: no cycle waits for the collector."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import pytest
import torch

import agnn.networks  # noqa: F401 has the links that derive from TorchLink
from agnn.kernels import (
    ELU,
    Anchor,
    Bias,
    Blend,
    Cast,
    Dropout,
    HeadMean,
    HopMean,
    HopState,
    Link,
    ReLU,
    RowCopies,
    RowDropoutLink,
    cosine_attention,
    run_chain,
)
from agnn.kernels._self_check import EXAMPLES
from properties import CPU_BACKENDS, left_behind
from zoo import ZOO, zoo_graph

PLAIN = ("adam", "neighbour_sample", "random_walk", "skip_gram")  # not differentiable
DIFFERENTIABLE = [name for name in EXAMPLES if name not in PLAIN]
CHAINS: dict[str, Callable[[], list[Link]]] = {
    "ReLU": lambda: [ReLU()],
    "ELU": lambda: [ELU()],
    "HeadMean": lambda: [HeadMean(4)],
    "one head": lambda: [ReLU(), HeadMean(1)],
    "Anchor": lambda: [Anchor()],
    "Cast": lambda: [Cast(torch.bfloat16), ReLU(), Cast(torch.float32)],
    "Bias": lambda: [Bias(torch.ones(1, 8))],
    "RowCopies": lambda: [RowCopies(torch.tensor([2, 0]))],
    "Anchor after ReLU": lambda: [ReLU(), Anchor()],
}


def hops() -> list[Link]:
    states = [HopState(), HopState()]
    return [ReLU(), states[0], ELU(), states[1], ELU(), HopMean(states, 3)]


def blended() -> list[Link]:
    anchor = Anchor()
    return [ReLU(), anchor, ELU(), Blend(anchor, 0.3)]


CHAINS["Blend"] = blended
CHAINS["HopMean"] = hops
CHAINS["RowDropoutLink"] = lambda: [
    RowDropoutLink(torch.arange(3), Dropout([1], [0.5]).at(0), "auto")
]


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("operation", DIFFERENTIABLE)
def test_a_hundred_steps_of_an_operation_leave_nothing_behind(operation, backend):
    assert left_behind(lambda: EXAMPLES[operation](backend, "cpu")) == (0, 0, 0)


@pytest.mark.parametrize("name", CHAINS)
def test_a_hundred_steps_of_a_chain_leave_nothing_behind(name):
    h = torch.ones(1, 3, 8, requires_grad=True)

    def step():
        torch.autograd.grad(run_chain(CHAINS[name](), h).sum(), h)

    assert left_behind(step) == (0, 0, 0)


def test_an_output_that_is_never_differentiated_leaves_nothing_behind():
    h, graph = ZOO["random"].states(1, 16).requires_grad_(), zoo_graph("random")
    beta = torch.ones(1, dtype=torch.float64)
    assert left_behind(lambda: cosine_attention(graph, h, beta)) == (0, 0, 0)


def test_every_link_is_among_those_looked_at():
    """A new link must join `EXAMPLES` or `CHAINS`."""
    kinds, seen = set(), set()
    waiting = [Link]
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if kind.__module__.startswith("agnn.kernels") and not kind.__abstractmethods__:
            kinds.add(kind)
    original = {kind: kind.forward for kind in kinds if "forward" in vars(kind)}
    try:
        for kind, forward in original.items():

            def noted(self, x, forward=forward):
                seen.add(type(self))
                return forward(self, x)

            kind.forward = noted
        for name in DIFFERENTIABLE:
            EXAMPLES[name]("reference", "cpu")
        for chain in CHAINS.values():
            run_chain(chain(), torch.ones(1, 3, 8))
    finally:
        for kind, forward in original.items():
            kind.forward = forward
    bases = {kind for kind in kinds if kind.__subclasses__()} - seen  # those of others alone
    assert kinds - bases == seen


class Kept(Link):
    """The input, copied into an array whose life can be followed."""

    def forward(self, x):
        array = x.detach().numpy().copy()
        self.array = weakref.ref(array)
        self.saved = (torch.from_numpy(array),)
        return self.saved[0]

    def backward(self, gradient):
        (out,) = self.saved
        return gradient * out, ()


def test_the_backward_pass_frees_what_was_kept_though_the_loss_lives_on():
    """As it does for torch's own operations: a list of losses holds no states."""
    h, link = torch.full((1, 3, 8), 2.0, requires_grad=True), Kept()
    loss = run_chain([link, ReLU()], h).sum()
    assert link.array() is not None
    loss.backward()
    assert link.array() is None
    assert h.grad is not None
    assert float(h.grad.max()) == 2.0


def test_changing_an_output_that_the_backward_pass_reads_is_an_error():
    h = ZOO["path"].states(1, 16).requires_grad_()
    out = cosine_attention(
        zoo_graph("path"), h, torch.ones(1, dtype=torch.float64), backend="reference"
    )
    with torch.no_grad():
        out.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
