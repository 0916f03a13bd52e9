"""The most frequent class. A result that does not beat it has learned nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.methods._split_method import SplitMethod, one_hot
from agnn.networks import register


@register
@dataclass(frozen=True)
class Majority(SplitMethod):
    """Predict the most frequent class of the training nodes, whatever the node.

    The probabilities are the classes' shares among the training nodes.
    """

    name: ClassVar[str] = "majority"
    title: ClassVar[str] = "Most frequent class"
    cites: ClassVar[str] = ""

    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Class probabilities [n, c], the same for every node."""
        shares = one_hot(data.labels[split.train], data.classes).mean(axis=0)
        return np.tile(shares, (data.nodes, 1))
