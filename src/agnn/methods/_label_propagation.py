"""Label propagation: the harmonic function of the labels on the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.graph import adjacency, normalise_rows
from agnn.methods._split_method import SplitMethod, one_hot
from agnn.networks import Count, register


@register
@dataclass(frozen=True)
class LabelPropagation(SplitMethod):
    """Repeat F <- D^-1 A F, with the labels of L restored after each step, until convergence.

    L are the training nodes, U the others. The limit is the harmonic solution
    F_U = (D_UU - A_UU)^-1 A_UL Y_L. Class mass normalisation then scales each class so that its
    mass over U is its share among the training labels. A node that no label reaches gets these
    shares. Features are not used.
    """

    name: ClassVar[str] = "label_propagation"
    title: ClassVar[str] = "LP"
    cites: ClassVar[str] = "Zhu, Ghahramani and Lafferty 2003"
    uses_edge_weights: ClassVar[bool] = True
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "max_steps": (5, 10, 30, 10_000),
        "has_mass_normalisation": (True, False),
    }

    tolerance: float = 1e-6  # the iteration ends when no entry changes by more
    max_steps: Count = 10_000  # of the iteration
    has_mass_normalisation: bool = True  # whether classes are scaled to their shares

    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Return class probabilities [n, c]."""
        known_classes = one_hot(data.labels[split.train], data.classes)
        shares = known_classes.mean(axis=0)
        f = self.harmonic(data, split, known_classes)
        if self.has_mass_normalisation:
            is_other = np.ones(data.nodes, dtype=bool)
            is_other[split.train] = False
            mass = f[is_other].sum(axis=0)
            f = f * np.divide(shares, mass, out=np.ones_like(mass), where=mass > 0)
        total = f.sum(axis=1, keepdims=True)
        return np.where(total > 0, f / np.where(total > 0, total, 1.0), shares)

    def harmonic(
        self, data: NodeData, split: Split, known: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return F [n, c] after the last step; `known` [l, c] are the rows of L."""
        walk = normalise_rows(adjacency(data.edges, data.nodes, data.edge_weights))
        f = np.zeros((data.nodes, data.classes))
        f[split.train] = known
        for _ in range(self.max_steps):
            moved = np.asarray(walk @ f)
            moved[split.train] = known
            if np.abs(moved - f).max() < self.tolerance:
                return moved
            f = moved
        return f
