"""A problem that trains in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from agnn import training
from agnn.data import NodeData, Split, uniform_split
from agnn.graph import Graph, SparseFeatures
from agnn.networks import NodeModel
from agnn.networks._layers import Beta
from agnn.training import History, Recipe
from built_models import AGNN, GCN, GLN


@dataclass(frozen=True)
class Problem:
    """Data, and the models and splits that the tests train on it."""

    data: NodeData
    graph: Graph
    features: SparseFeatures

    def model(self, kind: str, seeds: Sequence[int]) -> NodeModel:
        sizes = (self.features.width, self.data.classes, seeds)
        if kind == "agnn":
            return AGNN(*sizes, betas=(Beta(0.0, learned=False), Beta(1.0)))
        return {"gcn": GCN, "gln": GLN}[kind](*sizes)

    def splits(self, seeds: Sequence[int], *, own: bool = False) -> list[Split]:
        """The fixed split for all, or to each seed its own."""
        fixed = self.data.split("fixed")
        return [uniform_split(self.data, seed) if own else fixed for seed in seeds]

    def train(
        self,
        kind: str,
        recipe: Recipe,
        seeds: Sequence[int] = (0,),
        splits: Sequence[Split] = (),
        backend: str = "auto",
    ) -> tuple[NodeModel, History]:
        model = self.model(kind, seeds)
        model.backend = backend
        problem = self.problem(splits or self.splits(seeds), seeds)
        return model, training.train(model, problem, recipe)

    def problem(
        self, splits: Sequence[Split], seeds: Sequence[int], labels: np.ndarray | None = None
    ) -> training.Problem:
        """What `train` takes, with other labels if some are given."""
        chosen = self.data.labels if labels is None else labels
        return training.Problem(self.features, self.graph, chosen, splits, seeds)


def problem(data: NodeData) -> Problem:
    features = SparseFeatures.from_scipy(data.scaled_features("sum"))
    return Problem(data, Graph.from_edges(data.edges, data.nodes), features)


@pytest.fixture(scope="session")
def toy_problem(toy: NodeData) -> Problem:
    return problem(toy)


@pytest.fixture(scope="session")
def cora_problem(cora: NodeData) -> Problem:
    return problem(cora)
