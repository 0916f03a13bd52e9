"""The data a run learned from, and which part of it did what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agnn.data import DataReport, NodeData, Split


@dataclass(frozen=True)
class ClassCounts:
    """The nodes of one class, by what they are for in the first replica."""

    name: str
    labelled: int
    train: int
    validation: int
    test: int


@dataclass(frozen=True)
class DataFacts:
    """A dataset, and its split."""

    report: DataReport
    classes: tuple[ClassCounts, ...]
    splits: int  # how many different ones the replicas have

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "report": self.report.to_dict(),
            "classes": [dict(vars(each)) for each in self.classes],
            "different_splits": self.splits,
        }


def data_facts(data: NodeData, splits: Sequence[Split]) -> DataFacts:
    """The report on `data`, and its classes in the first replica's split."""
    parts = {"labelled": data.labelled, **splits[0].parts}
    counts = {
        part: np.bincount(data.labels[nodes], minlength=data.classes).tolist()
        for part, nodes in parts.items()
    }
    rows = tuple(
        ClassCounts(name, **{part: counts[part][label] for part in parts})
        for label, name in enumerate(data.class_names)
    )
    return DataFacts(data.report, rows, len(set(splits)))
