"""Runs around models that were not trained."""

from __future__ import annotations

from collections.abc import Sequence

from agnn.data import NodeData, Split
from agnn.methods import Method
from agnn.metrics import Summary
from agnn.networks import AGNN, NodeModel
from agnn.runs import KnownResults, Run


def run_of(
    model: NodeModel,
    data: NodeData,
    *,
    method: Method | None = None,
    splits: Sequence[Split] | None = None,
    temperature: float | None = None,
) -> Run:
    """A run of this model on this data, with one made-up split for all replicas."""
    made_up = Split("made up", [0], [], list(range(1, data.nodes)))
    return Run(
        data=data,
        method=method or AGNN(),
        splits=tuple(splits or (made_up,) * model.replicas),
        seeds=tuple(range(model.replicas)),
        accuracy=Summary([50.0] * model.replicas),
        model=model,
        known=KnownResults(temperature=temperature),
    )
