"""Steps on batches of training nodes with samples of their neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Features, Graph, SampledView, View
from agnn.kernels import counter_words, sample_neighbours, stream_key
from agnn.training._recipe import Recipe
from agnn.training._targets import Targets

if TYPE_CHECKING:
    from agnn.training._loop import Problem

# What the random numbers of batches and samples are drawn under. It is the same for all replicas,
# whatever their seeds: they share the sampled graphs, and a replica alone has the same ones.
_SEED: Final = 0x5A6D_9DBA_7C45
_ORDER = 0
_FIRST_HOP = 1  # places that draw numbers
_SMALL: Final = 8  # a field of this fraction of the nodes is worth a copy


@dataclass(frozen=True, eq=False)
class SampledBatches:
    """The batches of every epoch, each with a sample of its nodes' neighbourhoods.

    In every epoch each training node is in one batch. In every step each node that a layer
    computes has a new sample of neighbours, drawn for this layer. All of it is a function of the
    number of the epoch or step and of the node.
    """

    problem: Problem
    graph: Graph  # on the CPU
    size: int
    fanout: tuple[int, ...]

    @classmethod
    def of(cls, problem: Problem, recipe: Recipe) -> SampledBatches:
        """Return the batches of a recipe."""
        return cls(problem, problem.graph.to("cpu"), recipe.batch or 1, recipe.fanout)

    def epoch(self, number: int, steps_before: int) -> Iterator[Targets]:
        """Yield the batches of an epoch, which follows that many steps."""
        orders = [self._order(split.train, number) for split in self.problem.splits]
        count = -(-max(order.size for order in orders) // self.size)
        for step in range(count):
            sets = [order[step * self.size : (step + 1) * self.size] for order in orders]
            yield self.targets(sets, steps_before + step)

    def targets(self, sets: list[NDArray[np.int64]], step: int) -> Targets:
        """Return a batch per replica with the sample of one step."""
        problem = self.problem
        return Targets.in_view(
            lambda nodes: self.view(nodes, step),
            problem.labels,
            sets,
            problem.features,
            problem.class_weights,
        )

    def view(self, nodes: Tensor, step: int) -> SampledView:
        """Return the nodes, ascending, with the neighbours that one step samples."""

        def choose(
            hop: int, nodes: NDArray[np.int64]
        ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            key = counter_words(stream_key(_SEED, _FIRST_HOP + hop), np.array([step]))
            return sample_neighbours(self.graph, nodes, self.fanout[hop], int(key[0]))

        features = self.problem.features
        hops = len(self.fanout)
        return SampledView.of(features, self.graph, nodes.cpu().numpy(), choose, hops)

    def _order(self, nodes: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        """Return the nodes in the order of an epoch."""
        key = counter_words(stream_key(_SEED, _ORDER), np.array([epoch]))
        random = counter_words(int(key[0]), nodes)
        return nodes[np.argsort(random, kind="stable")]


def watched_view(features: Features, graph: Graph, nodes: Tensor, hops: int) -> View:
    """Return a view of some nodes for evaluation: a small field, or the graph as it stands."""
    reached = nodes.numel() * (graph.edges / graph.nodes + 1) ** hops
    if reached * _SMALL < graph.nodes:
        return View.around(features, graph, nodes, hops)
    return View.whole(features, graph, hops)
