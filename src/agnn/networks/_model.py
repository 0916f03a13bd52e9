"""The base class of all models: logits at the targets of a view, for all replicas at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np
import torch
from torch import Generator, Tensor

from agnn.data import Scaling
from agnn.errors import InputError
from agnn.graph import Graph, SampledView, View, features_of
from agnn.kernels import (
    Attention,
    Cast,
    Dropout,
    DropoutAt,
    Link,
    RowCopies,
    holding,
    is_holding,
    run_chain,
)
from agnn.networks._layers import generators
from agnn.networks._paths import Paths, chain_paths, row_links, unexplained
from agnn.training import TrainableModel

Precision: TypeAlias = Literal["float32", "bf16"]

# Places where dropout acts: the features, the input of the output layer, and from INSIDE on any
# further places of a model. A seed's draws depend on these numbers: do not renumber.
INPUT = 0
OUTPUT = 1
INSIDE = 2


@dataclass(frozen=True)
class ModelShape:
    """What the data and the training ask of a model, besides its hyper-parameters."""

    features: int  # d_x, the width of its input
    classes: int
    seeds: tuple[int, ...]  # one per replica
    hops: int  # propagation layers
    backend: str = "auto"
    scaling: Scaling = "sum"  # of the features
    precision: Precision = "float32"  # of the states between two propagations

    @property
    def replicas(self) -> int:
        """R."""
        return len(self.seeds)

    def generators(self) -> tuple[Generator, ...]:
        """Return the random numbers of the initial weights, one generator per replica."""
        return generators(self.seeds)


class NodeModel(TrainableModel):
    """A model that computes every replica's logits at the targets of a view.

    It is a chain of operations, which run as a single node of torch's graph.
    """

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.shape = shape
        self.replicas = shape.replicas  # fewer than its shape's where some have left
        self.hops = shape.hops
        self.backend = shape.backend

    @abstractmethod
    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """Return the model as a chain of operations from the features to the logits."""

    @property
    def title(self) -> str:
        """What the network is called."""
        return type(self).__name__.removesuffix("Model")

    def with_betas(self, betas: Sequence[float]) -> Self:
        """A copy with other betas, one per layer; raises for a model without."""
        raise InputError(f"{self.title} has no betas, so it cannot have others ({betas}).")

    @property
    def unexplained(self) -> str | None:
        """Why its predictions cannot be explained, as the end of a sentence; None if they can."""
        return unexplained(self.example_links())

    def forward(self, view: View, dropout: Dropout | None = None) -> Tensor:
        """Return logits [R, targets, c]; `dropout` is given in training steps only."""
        if view.field.hops != self.hops:
            raise InputError(
                f"the model has {self.hops} propagation layers, the view is {view.field.hops} deep."
            )
        links = self.links(view, dropout)
        if isinstance(view, SampledView):
            links = _on_samples(links, view)
        if self.shape.precision == "bf16" and not is_holding():
            links = _in_bf16(links)
        return run_chain(links, view.features.values)

    @torch.no_grad()
    def attentions(self, view: View) -> list[Attention]:
        """Return P(1) to P(l) without dropout, each for the rows that its layer computes.

        Edges [R, m'] and loops [R, rows]; a layer with several heads has [R, m', K] alike.
        """
        with holding() as held:
            self(view)
        return held.hops

    def propagation(self, view: View) -> Paths:
        """Return the weights of its links over edges, and how they are combined."""
        return chain_paths(self.links(view, None), self.attentions(view), self.title)

    def row_links(self, view: View) -> list[Link] | None:
        """Return the chain without what propagates; None where the two cannot be separated."""
        return row_links(self.links(view, None))

    def example_links(self) -> list[Link]:
        """Return the chain on one node without edges: its links are those of any graph."""
        one_row = features_of(np.zeros((1, self.shape.features), np.float32))
        no_edges = Graph.from_edges(np.zeros((2, 0), np.int64), nodes=1)
        return self.links(View.whole(one_row, no_edges, self.hops), None)


class VersionedModel(NodeModel):
    """A model that computes several random versions of a replica in one training step."""

    @abstractmethod
    def version_links(self, view: View, dropout: Dropout | None, versions: int) -> list[Link]:
        """Return the chain of so many versions of every replica; of one without dropout."""

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """Return the chain of one version."""
        return self.version_links(view, dropout, 1)

    def version_logits(self, view: View, dropout: Dropout, versions: int) -> Tensor:
        """Return logits of several versions, each with its own dropout; [R, S, targets, c]."""
        out = run_chain(self.version_links(view, dropout, versions), view.features.values)
        return out.view(self.replicas, versions, *out.shape[1:])


def _on_samples(links: Sequence[Link], view: SampledView) -> list[Link]:
    """Return the chain in which every link over edges reads the graph of its own layer."""
    chain = list[Link]()
    blocks = iter(view.blocks)
    for link in links:
        if not link.is_over_edges:
            chain.append(link)
            continue
        block = next(blocks)
        if block.copies.numel():
            chain.append(RowCopies(block.copies))
        chain.append(link.on_block(block))
    return chain


def _in_bf16(links: Sequence[Link]) -> list[Link]:
    """The chain whose states around edges are bfloat16; linear layers have float32 there and back.

    Sums over neighbours, parameters and logits are float32.
    """
    chain = list[Link]()
    is_short = False
    for link in links:
        if (link.bf16 == "states") is not is_short:
            is_short = not is_short
            chain.append(Cast(torch.bfloat16 if is_short else torch.float32))
        chain.append(link)
    return [*chain, Cast(torch.float32)] if is_short else chain


def rows_by_layer(view: View) -> tuple[int, ...]:
    """Return the number of rows that each propagation layer computes, first layer first."""
    return view.field.sizes[-2::-1]


def at(
    dropout: Dropout | None, place: int, *, versions: int = 1, rate: float | None = None
) -> DropoutAt | None:
    """Return the dropout of one place, or None where nothing is dropped.

    `rate` is that of the place, where it has one of its own.
    """
    if dropout is None or rate == 0.0:
        return None
    return dropout.at(place, versions=versions, rate=rate)
