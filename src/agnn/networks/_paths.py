"""The matrices by which a network propagates, and how its states combine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agnn.kernels import Anchor, Attention, Blend, HopMean, HopState, Link, TorchLink

# A note for models with gates between their propagation layers.
_SUM_OVER_PATHS: Final = (
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


def unexplained(links: Sequence[Link]) -> str | None:
    """Return why a chain has no paths, as the end of a sentence; None where it has."""
    for link in links:
        if link.unexplained is not None:
            return link.unexplained
    if any(link.is_over_edges for link in links):
        return None
    return "it depends on the node's own features alone"


def chain_paths(links: Sequence[Link], weights: Sequence[Attention], title: str) -> Paths:
    """Return the paths of a chain whose links over edges have these weights, [R, m'] or by head."""
    over_edges = [k for k, link in enumerate(links) if link.is_over_edges]
    start = start_of(links)
    combination = last_hop(len(weights))
    hops: list[Hop] = []
    for link in links:
        if link.is_over_edges:
            steps = len(weights) // len(over_edges)  # a link may take several, the same in all
            hops += [
                Hop(_mean_over_heads(attention), restart=link.restart)
                for attention in weights[len(hops) : len(hops) + steps]
            ]
        elif isinstance(link, Blend) and link.anchor is start:
            hops[-1] = replace(hops[-1], keep=link.share, restart=1.0 - link.share)
        elif isinstance(link, HopMean):
            combination = (1.0 / len(combination),) * len(combination)
    is_attention = all(links[k].is_attention for k in over_edges)
    notes = []
    has_heads = any(attention.edges.dim() == 3 for attention in weights)
    if has_heads:
        notes.append(_heads_note([attention.edges.shape[-1] for attention in weights]))
    if not is_attention:
        notes.append(links[over_edges[0]].note or _fixed_note(title))
    if not has_heads and any(link.is_gate for link in links[over_edges[0] : over_edges[-1]]):
        notes.append(_SUM_OVER_PATHS)
    return Paths(tuple(hops), combination, is_attention=is_attention, notes=tuple(notes))


def row_links(links: Sequence[Link]) -> list[Link] | None:
    """Return the chain without what propagates, or None where the two cannot be separated.

    Separated, a node adds its path weight times what these links make of its own row. They cannot
    be where units are gated after the first link over edges, mixed with earlier states in between,
    propagated by several heads or by plain torch operations.
    """
    over_edges = [k for k, link in enumerate(links) if link.is_over_edges]
    later = links[over_edges[0] :] if over_edges else ()
    start = start_of(links)
    if any(link.is_gate or link.has_heads or isinstance(link, TorchLink) for link in later):
        return None
    if any(isinstance(link, Blend) and link.anchor is not start for link in later):
        return None
    return [
        link
        for link in links
        if not (link.is_over_edges or isinstance(link, Anchor | Blend | HopState | HopMean))
    ]


def start_of(links: Sequence[Link]) -> Anchor | None:
    """Return the anchor before the first link over edges: it remembers H(0)."""
    for link in links:
        if isinstance(link, Anchor):
            return link
        if link.is_over_edges:
            break
    return None


def _fixed_note(title: str) -> str:
    """Return the note of a model that propagates by GCN's matrix."""
    return (
        f"{title} learns no attention: its weights are fixed by the graph, the same in every "
        f"layer and model, and say nothing about what it found important."
    )


def _heads_note(heads: Sequence[int]) -> str:
    """Return the note of a model of two layers with several attention heads."""
    return (
        f"The attention shown is the mean over the heads: {heads[0]} in the first layer, "
        f"{heads[1]} in the second. What a node adds is computed head by head, with the attention "
        f"and the slope of each unit held."
    )


def last_hop(layers: int) -> tuple[float, ...]:
    """Return the combination of a model whose output layer reads the last state alone."""
    return (*(0.0,) * layers, 1.0)


def _mean_over_heads(weights: Attention) -> Attention:
    if weights.edges.dim() == 2:
        return weights
    return Attention(weights.edges.mean(-1), weights.loops.mean(-1))
