"""What a model says about its own computation, so that predictions can be explained.

A network whose attention weights and active units are held as they are is a linear function of its
input. `Paths` has the matrices by which it propagates, `LinearForm` also what happens to the
numbers of each node in between. Explanations read these two and know no model by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from agnn.graph import View
from agnn.kernels import Attention

# A note for models with gates between their propagation layers.
SUM_OVER_PATHS: Final = (
    "What a node adds is the sum over its paths to the target, since a unit may be active on one "
    "path and not on another."
)


@dataclass(frozen=True, eq=False)
class Hop:
    """One propagation layer: H(t) = keep P(t) H(t-1) + restart H(0)."""

    attention: Attention  # P(t) at the rows that the layer computes; several heads as one matrix
    keep: float = 1.0
    restart: float = 0.0


@dataclass(frozen=True, eq=False)
class Paths:
    """The propagation layers of a model on a view, and how their states combine.

    The output layer reads sum over t of combination[t] H(t), for t from 0 to the number of layers.
    """

    hops: tuple[Hop, ...]  # from the first layer to the last
    combination: tuple[float, ...]  # [l + 1]
    is_attention: bool  # rows of P sum to 1 and depend on what the model learned
    notes: tuple[str, ...] = ()  # sentences for a reader of the weights


@dataclass(frozen=True, eq=False)
class Units:
    """What a propagation layer does to the numbers of each node besides propagating them.

        H(t) = gate * (keep P(t) (H(t-1) M) + restart H(0) M + b)

    With several heads, column f K + k of H M is feature f of head k. They stay side by side, or
    are added up before the bias.
    """

    weight: Tensor | None = None  # M [R, d, d' K]; None: the identity
    bias: Tensor | None = None  # b [R, width of H(t)]
    gate: Tensor | None = None  # [R, rows, width of H(t)] how much of each unit passes; None: all
    heads: Attention | None = None  # P by head, [R, m', K] and [R, rows, K]; None: the hop's own
    sums_heads: bool = False

    @property
    def keeps_units_apart(self) -> bool:
        """Whether the layer propagates every unit on its own and adds nothing to it."""
        return self.weight is None and self.bias is None and self.heads is None


@dataclass(frozen=True, eq=False)
class LinearForm:
    """A model on a view with its attention weights and active units held: a linear function.

        H(0)   = gate * (X W0 + b0)
        logits = (last_gate * sum over t of combination[t] H(t)) W1 + b1

    Biases of inner layers are in `units`. A gate is the output of a unit divided by its input: 0
    or 1 for ReLU, so the form is exact for the input that it was made from.
    """

    paths: Paths
    units: tuple[Units, ...]  # one per hop
    states: Tensor  # X W0 + b0 [R, n', d] at the nodes of the view
    first_weight: Tensor  # W0 [R, d_x, d]
    first_bias: Tensor | None = None  # b0 [R, d]
    gate: Tensor | None = None  # [R, n', d]
    last_gate: Tensor | None = None  # [R, targets, d]
    last_weight: Tensor | None = None  # W1 [R, d, c]; None: the identity
    last_bias: Tensor | None = None  # b1 [R, c]


def fixed_note(title: str) -> str:
    """The note of a model that propagates by GCN's matrix."""
    return (
        f"{title} learns no attention: its weights are fixed by the graph, the same in every "
        f"layer and model, and say nothing about what it found important."
    )


def last_hop(layers: int) -> tuple[float, ...]:
    """The combination of a model whose output layer reads the last state alone."""
    return (*(0.0,) * layers, 1.0)


def fixed_hops(
    view: View, replicas: int, layer_rows: Sequence[int], *, keep: float = 1.0, restart: float = 0.0
) -> tuple[Hop, ...]:
    """Hops by GCN's matrix D~^-1/2 (A + I) D~^-1/2: one copy, seen by every replica and layer."""
    fixed, graph = view.symmetric_propagation, view.field.graph

    def hop(rows: int) -> Hop:
        edges, loops = fixed.edge_weights[: graph.edges_of(rows)], fixed.loop_weights[:rows]
        weights = Attention(edges.expand(replicas, -1), loops.expand(replicas, -1))
        return Hop(weights, keep, restart)

    return tuple(hop(rows) for rows in layer_rows)


def two_summed_layers(
    by_head: Sequence[Attention], notes: tuple[str, ...], *, is_attention: bool = False
) -> Paths:
    """The paths of two layers that add up their heads, given by P of each head [R, ., K]."""
    hops = tuple(Hop(Attention(p.edges.sum(-1), p.loops.sum(-1))) for p in by_head)
    return Paths(hops, last_hop(2), is_attention=is_attention, notes=notes)


def elu_gate(before: Tensor) -> Tensor:
    """ELU(z) / z, entry by entry; its limit 1 at 0."""
    slope = torch.expm1(before) / torch.where(before == 0, 1.0, before)
    return torch.where(before < 0, slope, 1.0)
