"""Figures that need no run: the size of a dataset, a hyper-parameter of a preset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from agnn.data import NodeData, load_dataset, make_splits
from agnn.errors import DataError
from agnn.experiments.run_spec import method_of
from agnn.experiments.spec import Cell

_OF_DATA: Final[Mapping[str, Callable[[NodeData], int]]] = {
    "nodes": lambda data: data.nodes,
    "edges": lambda data: data.edges.shape[1],
    "listed_edges": lambda data: data.facts.raw_edge_entries // 2,
    "classes": lambda data: data.classes,
    "features": lambda data: data.feature_count,
}


def fact(cell: Cell) -> float | None:
    """The figure of a cell that is read from the data or the presets; None without a method."""
    return _data_fact(cell) if cell.source == "data" else _preset_fact(cell)


def _data_fact(cell: Cell) -> float:
    data = load_dataset(cell.dataset)
    if cell.value == "training_nodes":
        return make_splits(data, cell.split, (0,))[0].train.size
    if cell.value not in _OF_DATA:
        known = ", ".join((*_OF_DATA, "training_nodes"))
        raise DataError(f"unknown value '{cell.value}' of a dataset; known: {known}.")
    return _OF_DATA[cell.value](data)


def _preset_fact(cell: Cell) -> float | None:
    method = method_of(cell)
    if method is None:
        return None
    if not hasattr(method, cell.value):
        raise DataError(f"{method.name} has no hyper-parameter '{cell.value}'.")
    return float(getattr(method, cell.value))
