"""The runs behind tables: what they depend on, each of them once, and how far they are."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final, Self

from agnn.choosing import Tuned
from agnn.data import NodeData, SplitSpec
from agnn.errors import AgnnError, DataError
from agnn.methods import Method, method_names
from agnn.runs import preset_method
from agnn.studies._spec import Cell, Column, Row, Table, cell_of

# Raised when the same specification comes to mean other runs; old ones are then not reused.
PROTOCOL: Final = 1
# The values of a run that are measured on the trained model, by what measures them.
MEASURES: Final[Mapping[str, str | None]] = {
    "accuracy": None,
    "top_within": "edge_ranking",
    "bottom_within": "edge_ranking",
}
_USUAL_EPOCHS: Final = 1000  # of a method that has no such setting, to guess its time


@dataclass(frozen=True)
class RunSpec:
    """What runs depend on besides data and seed: a canonical JSON text, and its hash.

    Notes and the paper's figures have no part in it.
    """

    text: str

    @classmethod
    def of(cls, method: Method, split: str, measure: str | None, metric: str | None = None) -> Self:
        """Return the specification of runs of `method` on `split`."""
        values = {
            "protocol": PROTOCOL,
            "method": method_values(method),
            "configuration": method.configuration,
            "split": split.lower(),
            "measure": measure,
        }
        return cls.from_values(values if metric is None else values | {"metric": metric})

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Return the specification with these values."""
        return cls(json.dumps(values, sort_keys=True, ensure_ascii=True))

    @property
    def values(self) -> dict[str, Any]:
        """The specification as plain values."""
        values: dict[str, Any] = json.loads(self.text)
        return values

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits: enough for all tables that will ever be in one store."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def method_values(method: Method) -> dict[str, Any]:
    """Return a method's name and every hyper-parameter; of a tuned one its base and grid."""
    if isinstance(method, Tuned):
        grid = {name: list(values) for name, values in method.base.grid.items()}
        return {"tuned": method_values(method.base), "grid": grid}
    settings = {
        field.name: getattr(method, field.name)
        for field in fields(method)
        # What results had no name for yet is in their identity only where it is used.
        if field.metadata.get("is_in_every_result", True)
        or getattr(method, field.name) != field.default
    }
    return {"name": method.name} | {
        name: method_values(value) if isinstance(value, Method) else value
        for name, value in settings.items()
    }


def method_of(cell: Cell) -> Method | None:
    """Return the method of a cell with its hyper-parameters; None where there is none (yet)."""
    if cell.method is None or cell.method not in method_names():
        return None
    try:
        method = preset_method(cell.method, cell.split, cell.preset)
        if cell.data is not None:
            method = method.for_data(cell.data)
        method = method.with_fields(**dict(cell.fields))
    except AgnnError as error:
        raise DataError(f"the row of '{cell.method}' on {cell.dataset}: {error}") from error
    if cell.configuration != "tuned":
        return method
    return Tuned(method) if method.grid else None


def absence(cell: Cell) -> str:
    """Return in a few words why `method_of` gives none."""
    if cell.method not in method_names():
        return "not among the methods yet"
    return "no grid to tune over"


def run_spec_of(cell: Cell) -> RunSpec | None:
    """Return the specification of the cell's runs; None where it has no method."""
    if cell.value not in MEASURES:
        raise DataError(f"unknown value '{cell.value}' of a run; known: {', '.join(MEASURES)}.")
    method = method_of(cell)
    return None if method is None else RunSpec.of(method, cell.split, MEASURES[cell.value])


@dataclass(frozen=True)
class Key:
    """Runs that are repetitions of each other: hash of the specification, hash of the data."""

    spec: str
    data: str


@dataclass(frozen=True, eq=False)
class Work:
    """The runs of one cell: a method on a dataset's splits, seed by seed."""

    experiment: str
    title: str  # of the row
    method: Method
    data: NodeData
    split: str
    measure: str | None
    seeds: tuple[int, ...]
    metric: str | None = None  # by which epochs and settings are chosen

    @cached_property
    def spec(self) -> RunSpec:
        """What the runs depend on besides data and seed."""
        return RunSpec.of(self.method, self.split, self.measure, self.metric)

    @cached_property
    def key(self) -> Key:
        """Where the runs are found in a store."""
        return Key(self.spec.hash, self.data.fingerprint)

    @property
    def label(self) -> str:
        """The work in words."""
        return f"{self.experiment}: {self.title} on {self.data.name}, {self.split}"


def works_of(*tables: Table) -> list[Work]:
    """Return the works behind tables, row by row; cells whose method does not exist have none.

    Tables share runs: every key comes once, where it first occurs, with the longest list of seeds.
    """
    works: dict[Key, Work] = {}
    for table in tables:
        for work in _table_works(table):
            known_work = works.setdefault(work.key, work)
            if len(work.seeds) > len(known_work.seeds):
                works[work.key] = replace(known_work, seeds=work.seeds)
    return list(works.values())


def _table_works(table: Table) -> Iterator[Work]:
    if table.source != "runs":
        return
    for row in table.rows:
        for column in table.columns:
            for cell in _cells(table, row, column):
                method = method_of(cell)
                if method is not None:
                    yield Work(
                        experiment=table.name,
                        title=row.title,
                        method=method,
                        data=table.data(cell.dataset),
                        split=cell.split,
                        measure=MEASURES[cell.value],
                        seeds=tuple(range(cell.seeds)),
                    )


def _cells(table: Table, row: Row, column: Column) -> list[Cell]:
    """Return the cell, and the one whose figure is printed beside it."""
    cells = [cell_of(table, row, column)]
    if column.beside is not None:
        cells.append(cell_of(table, row, column, column.beside))
    return cells


@dataclass(frozen=True)
class Progress:
    """How far an execution is."""

    label: str  # what is running
    finished: int  # runs
    running: float  # how much of further runs is done
    total: int  # runs that were missing at the start
    seconds_left: float | None  # about; None before anything is known

    @property
    def done(self) -> float:
        """Runs finished, and the part of the running ones."""
        return self.finished + self.running


Tell = Callable[[Progress], None]


class Clock:
    """Reports progress step by step, with the time left.

    A run's share of the work is guessed from its nodes, folds and epochs.
    """

    def __init__(self, tell: Tell, parts: Sequence[tuple[Work, int]]) -> None:
        self.tell = tell
        self.start = time.monotonic()
        self.costs = {work.key: _cost(work) for work, _ in parts}
        self.left = {work.key: count for work, count in parts}
        self.total = sum(self.left.values())
        self.done = 0
        self.done_cost = 0.0

    def pass_over(self, work: Work, count: int) -> None:
        """Report that `count` runs of a work are finished, here or elsewhere."""
        self.done += count
        self.done_cost += count * self.costs[work.key]
        self.left[work.key] -= count
        self.tell_part(work, 0, 0.0)

    def drop(self, work: Work) -> None:
        """Leave out the rest of a work, which will not be done."""
        self.total -= self.left.pop(work.key)

    def tell_waiting(self, count: int) -> None:
        """Report that nothing is left but `count` runs of another process."""
        label = f"waiting for {count} runs of another process"
        self.tell(Progress(label, self.done, 0.0, self.total, None))

    def tell_part(self, work: Work, count: int, part: float) -> None:
        """Report that this part of `count` running ones is done."""
        running = part * count * self.costs[work.key]
        done = self.done_cost + running
        remaining_cost = sum(self.costs[key] * runs for key, runs in self.left.items()) - running
        spent = time.monotonic() - self.start
        seconds_left = None if done == 0 else spent * remaining_cost / done
        self.tell(Progress(work.label, self.done, part * count, self.total, seconds_left))


def _cost(work: Work) -> float:
    epochs = getattr(work.method, "epochs", _USUAL_EPOCHS)
    return float(work.data.nodes * SplitSpec.parse(work.split).folds * epochs)
