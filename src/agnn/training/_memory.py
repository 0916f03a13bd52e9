"""An estimate of the memory that training needs, before anything is allocated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from agnn.errors import InputError, UnavailableError
from agnn.graph import TOO_LARGE_TO_PRUNE

_GIB = 2**30
_FLOAT, _INT = 4, 8
_PRUNING = 128  # bytes per edge, at the peak
_SORTING = 40  # bytes per edge while the graph is made
_WEIGHTS = 32  # bytes per weighted edge: its weight, whole, pruned and while edges are sorted
_PRUNED_NODES = 48  # bytes per node: order, places and degrees in each pruned graph
_LOGITS = 6  # themselves, those of a replica's own nodes, their softmax, and the gradients of these
_PARAMETER_COPIES = 5  # itself, its gradient, Adam's two moments, the kept weights


@dataclass(frozen=True)
class Footprint:
    """The numbers that one step of a replica holds beyond those of AGNN with as many layers."""

    per_node: int = 0
    per_edge: int = 0
    copies: int = 1  # random versions of a replica that a step computes


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes that a training run needs at its peak, by what they hold."""

    graph: int
    features: int
    parameters: int
    states: int  # kept between the forward and the backward pass
    working: int  # of the backward pass, logits included
    scores: int  # of an evaluation, when states and working memory are free again

    @property
    def total(self) -> int:
        """The peak."""
        training = self.states + self.working
        return self.graph + self.features + self.parameters + max(training, self.scores)

    def __str__(self) -> str:
        """The total and its parts in GiB."""
        parts = ", ".join(f"{name} {size / _GIB:.1f}" for name, size in asdict(self).items())
        return f"{self.total / _GIB:.1f} GiB ({parts})"


def memory_estimate(
    nodes: int,
    edges: int,
    *,
    features: int,
    classes: int,
    entries: int | None = None,
    feature_bytes: int = _FLOAT,
    layers: int = 4,
    hidden: int = 16,
    replicas: int = 1,
    scored: int = 0,
    labelled: int = 0,
    parameters: int | None = None,
    footprint: Footprint = Footprint(),  # noqa: B008 (it is frozen)
    step_nodes: int | None = None,
    has_edge_weights: bool = False,
) -> MemoryEstimate:
    """Return an upper bound of the memory of training AGNN, or a network by its `footprint`.

    Pruning is not counted on.

    Args:
        nodes: n.
        edges: stored directed edges m, twice the undirected ones.
        features: d_x.
        classes: c.
        entries: stored entries of sparse features; None for dense ones.
        feature_bytes: bytes of one number of dense features.
        layers: propagation layers.
        hidden: width of the states.
        replicas: R, trained at once.
        scored: nodes whose probabilities are computed in the end.
        labelled: training or watched nodes, whichever are more, whose logits a step computes.
        parameters: numbers of one replica; None for those of AGNN.
        footprint: what a step of another network holds.
        step_nodes: nodes that a step on sampled neighbourhoods reads; None: it reads all.
        has_edge_weights: whether edges have weights.
    """
    for name, value in {"nodes": nodes, "features": features, "replicas": replicas}.items():
        if value < 1:
            raise InputError(f"`{name}` must be at least 1; got {value}.")
    graph = 4 * edges + 2 * _INT * nodes + _WEIGHTS * edges * has_edge_weights
    if step_nodes is not None:
        # Both directions of every edge while they are sorted; a step has edges in proportion.
        graph += _SORTING * edges + _PRUNING * edges * step_nodes // nodes
    elif edges <= TOO_LARGE_TO_PRUNE:
        # Both ends of every edge, the pruned graphs of the training and the watched nodes, and
        # what sorting their edges takes.
        graph += _PRUNING * edges + _PRUNED_NODES * nodes
    stored = nodes * features * feature_bytes
    if entries is not None:
        # By rows and by columns, whole and pruned twice, with the row of every entry.
        stored = 3 * entries * (2 * (4 + _FLOAT) + _INT)
    if parameters is None:
        parameters = features * hidden + hidden + layers + hidden * classes + classes
    line = replicas * footprint.copies * (nodes if step_nodes is None else step_nodes) * _FLOAT
    scores = 2 * replicas * scored * classes * _FLOAT
    if step_nodes is not None:
        # An evaluation has no backward pass: the states that one layer reads and writes.
        scores += replicas * nodes * (2 * hidden + footprint.per_node + 4) * _FLOAT
    logits = replicas * footprint.copies * labelled * classes * _FLOAT
    return MemoryEstimate(
        graph=graph,
        features=stored,
        parameters=_PARAMETER_COPIES * replicas * parameters * _FLOAT,
        states=line * (hidden * (layers + 1) + layers + footprint.per_node)
        + replicas * edges * footprint.per_edge * _FLOAT,
        working=line * (4 * hidden + 3) + _LOGITS * logits,
        scores=scores,
    )


def free_memory(device: str) -> int | None:
    """Return the bytes that are free on a device; None where the system does not tell."""
    if device.startswith("cuda"):
        free, _ = torch.cuda.mem_get_info(device)
        held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(free + held)
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    sizes = dict(line.split(":", 1) for line in lines)
    return int(sizes["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in sizes else None


def check_memory(estimate: MemoryEstimate, device: str) -> None:
    """Raise if a run would not fit, before it starts."""
    free = free_memory(device)
    if free is not None and estimate.total > free:
        raise UnavailableError(
            f"training needs about {estimate}, but {free / _GIB:.1f} GiB are free on {device}. "
            f"Fewer replicas, a smaller `hidden` or fewer `layers` need less."
        )
