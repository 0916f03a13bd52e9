"""An estimate of the memory that training needs, before anything is allocated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from agnn.errors import InputError, UnavailableError
from agnn.graph import Graph

_GIB = 2**30
_FLOAT = 4
_INT = 8
_PRUNING = 128  # bytes per edge, at the peak
_SORTING = 40  # bytes per edge while the graph is made
_WEIGHTS = 32  # bytes per weighted edge: its weight, whole, pruned and while edges are sorted
_PRUNED_NODES = 48  # bytes per node: order, places and degrees in each pruned graph
_LOGITS = 6  # themselves, those of a replica's own nodes, their softmax, and the gradients of these
_WORKING_COPIES = 5  # of the largest state, in a backward pass
_EVALUATION_COPIES = 2
_PARAMETER_COPIES = 5  # itself, its gradient, Adam's two moments, the kept weights


@dataclass(frozen=True)
class StepNumbers:
    """The numbers that one step of a replica holds, and those of its parameters."""

    per_node: int
    per_edge: int
    largest_per_node: int  # of any tensor: the backward pass makes a few of that size
    largest_per_edge: int
    parameters: int
    versions: int = 1  # random versions of a replica that a step computes


@dataclass(frozen=True)
class ProblemSize:
    """How large a training is."""

    nodes: int
    edges: int  # stored directed edges, twice the undirected ones
    features: int
    classes: int
    entries: int | None = None  # stored entries of sparse features; None for dense ones
    feature_bytes: int = _FLOAT  # of one number of dense features
    replicas: int = 1  # trained at once
    scored: int = 0  # nodes whose probabilities are computed in the end
    labelled: int = 0  # training or watched nodes, whichever are more
    step_nodes: int | None = None  # that a step on sampled neighbourhoods reads; None: all
    has_edge_weights: bool = False

    def __post_init__(self) -> None:
        for name in ("nodes", "features", "replicas"):
            if getattr(self, name) < 1:
                raise InputError(f"`{name}` must be at least 1; got {getattr(self, name)}.")

    def memory(self, step: StepNumbers) -> MemoryEstimate:
        """Return an upper bound of the memory of a training; pruning is not counted on."""
        nodes = self.nodes
        edges = self.edges
        read_nodes = nodes
        read_edges = edges
        graph = 4 * edges + 2 * _INT * nodes + _WEIGHTS * edges * self.has_edge_weights
        if self.step_nodes is not None:
            # Both directions of every edge while they are sorted; a step has edges in proportion.
            read_nodes = self.step_nodes
            read_edges = edges * self.step_nodes // nodes
            graph += _SORTING * edges + _PRUNING * read_edges
        elif Graph.can_prune(edges):
            # Both ends of every edge, the pruned graphs of the training and the watched nodes, and
            # what sorting their edges takes.
            graph += _PRUNING * edges + _PRUNED_NODES * nodes
        features = nodes * self.features * self.feature_bytes
        if self.entries is not None:
            # By rows and by columns, whole and pruned twice, with the row of every entry.
            features = 3 * self.entries * (2 * (4 + _FLOAT) + _INT)
        replica = self.replicas * _FLOAT
        scores = 2 * replica * self.scored * self.classes
        if self.step_nodes is not None:
            # An evaluation has no backward pass: the states that one layer reads and writes.
            largest = step.largest_per_node * nodes + step.largest_per_edge * edges
            scores += _EVALUATION_COPIES * replica * largest
        largest = step.largest_per_node * read_nodes + step.largest_per_edge * read_edges
        labelled = nodes if step.versions > 1 else self.labelled
        logits = replica * step.versions * labelled * self.classes
        return MemoryEstimate(
            graph=graph,
            features=features,
            parameters=_PARAMETER_COPIES * replica * step.parameters,
            states=replica * (step.per_node * read_nodes + step.per_edge * read_edges),
            working=_WORKING_COPIES * replica * largest + _LOGITS * logits,
            scores=scores,
        )


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

    def check(self, device: str) -> None:
        """Raise if a run would not fit, before it starts."""
        free = free_memory(device)
        if free is not None and self.total > free:
            raise UnavailableError(
                f"training needs about {self}, but {free / _GIB:.1f} GiB are free on {device}. "
                f"Fewer replicas, a smaller `hidden` or fewer `layers` need less."
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
