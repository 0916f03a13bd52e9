"""Which class listens to which other class, as a list in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Relation(NamedTuple):
    """A pair of different classes and the relevance from one to the other."""

    sender: str
    receiver: str
    relevance: float


def relations(relevance: NDArray[np.float64], class_names: Sequence[str]) -> list[Relation]:
    """All pairs of different classes that an edge joins, the most relevant first.

    `relevance` is [c, c]: row receives, column sends, NaN where no edge joins the two.
    """
    pairs = [
        Relation(sender, receiver, float(relevance[i, j]))
        for i, receiver in enumerate(class_names)
        for j, sender in enumerate(class_names)
        if i != j and not np.isnan(relevance[i, j])
    ]
    return sorted(pairs, key=lambda pair: -pair.relevance)
