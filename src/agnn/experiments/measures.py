"""Numbers that are measured on trained models, besides their accuracy."""

from __future__ import annotations

from typing import Final

from agnn.errors import InputError
from agnn.explanation import edge_ranking
from agnn.runs import Run

_EDGES: Final = 100  # at either end of the order, as in the paper's Table 6


def measured(measure: str | None, run: Run) -> list[dict[str, float]]:
    """What `measure` says of each replica; nothing where it is None."""
    if measure is None:
        return [{} for _ in run.seeds]
    if measure == "edge_ranking":
        return _edge_ranking(run)
    raise InputError(f"unknown measure '{measure}'; known: edge_ranking.")


def _edge_ranking(run: Run) -> list[dict[str, float]]:
    """Shares of edges within a class among the last layer's most and least relevant."""
    last = edge_ranking(run.outcome.model, run.data, _EDGES)[-1]
    if last.top is None or last.bottom is None:
        raise InputError("the last layer attends evenly, so its edges have no order.")
    pairs = zip(last.top.values, last.bottom.values, strict=True)
    return [{"top_within": top, "bottom_within": bottom} for top, bottom in pairs]
