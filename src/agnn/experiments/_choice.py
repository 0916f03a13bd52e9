"""What a user narrows experiments to: some rows, some datasets, a number of seeds."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from agnn.data import load_dataset
from agnn.errors import InputError, unknown_name
from agnn.experiments._drawings import KINDS
from agnn.experiments._graphs import GraphTable, over_graphs
from agnn.experiments._reading import GRAPHS, find_experiments
from agnn.experiments._spec import Drawing, Experiment, Row, Table
from agnn.methods import method_names

_T = TypeVar("_T", bound=Table)


@dataclass(frozen=True)
class Choice:
    """What a user narrows experiments to; None narrows nothing.

    `data` is a folder of graphs for the table `graphs`.
    """

    methods: frozenset[str] | None = None
    datasets: frozenset[str] | None = None
    seeds: int | None = None
    data: Path | None = None

    @classmethod
    def of(
        cls, methods: Iterable[str] | None = None, datasets: Iterable[str] | None = None,
        seeds: int | None = None, data: Path | str | None = None,
    ) -> Choice:  # fmt: skip
        """The choice of these names, in upper or lower case."""
        return cls(
            None if methods is None else frozenset(name.lower() for name in methods),
            None if datasets is None else frozenset(name.lower() for name in datasets),
            seeds,
            None if data is None else Path(data),
        )

    def takes_method(self, name: str | None) -> bool:
        """Whether a row of this method stays; one without a method does where none is named."""
        return self.methods is None or name in self.methods

    def takes_dataset(self, name: str | None) -> bool:
        """Whether a row or column of this dataset stays; one without a dataset does."""
        return self.datasets is None or name is None or name.lower() in self.datasets


def chosen_experiments(names: Sequence[str | Experiment], choice: Choice) -> list[Experiment]:
    """The experiments of these names with what is chosen of them; those left empty are gone."""
    found = [_with_graphs(each, choice) for each in find_experiments(names)]
    if choice.data is not None and not any(isinstance(each, GraphTable) for each in found):
        raise InputError(f"`data` goes with the experiment '{GRAPHS}'.")
    check_choice(choice, [each for each in found if isinstance(each, Table)])
    kept: list[Experiment] = []
    for each in found:
        if isinstance(each, Table):
            table = narrowed(each, choice)
            kept += [table] if table.rows and table.columns else []
        else:
            drawing = narrowed_drawing(each, choice)
            kept += [drawing] if drawing.panels else []
    if names and not kept:
        raise InputError("no cell is left with the chosen methods and datasets.")
    return kept


def _with_graphs(experiment: Experiment, choice: Choice) -> Experiment:
    """A table without columns over the chosen folder."""
    if isinstance(experiment, Drawing | GraphTable) or experiment.columns:
        return experiment
    if choice.data is None:
        raise InputError(
            f"'{experiment.name}' is a table over your own graphs: name their folder with --data."
        )
    return over_graphs(experiment, choice.data)


def narrowed(table: _T, choice: Choice) -> _T:
    """The table with the chosen rows, columns and number of seeds."""
    kept = [k for k, column in enumerate(table.columns) if choice.takes_dataset(column.dataset)]
    rows = tuple(
        _narrowed_row(row, kept, choice)
        for row in table.rows
        if choice.takes_method(row.method) and choice.takes_dataset(row.dataset)
    )
    columns = tuple(table.columns[k] for k in kept)
    seeds = table.seeds if choice.seeds is None else choice.seeds
    return replace(table, rows=rows, columns=columns, seeds=seeds)


def narrowed_drawing(drawing: Drawing, choice: Choice) -> Drawing:
    """The figure with the panels of the chosen datasets; none where its method is not chosen."""
    panels = tuple(each for each in drawing.panels if choice.takes_dataset(each.dataset))
    seeds = drawing.seeds if choice.seeds is None else choice.seeds
    is_chosen = choice.takes_method(KINDS[drawing.kind].methods[0])
    return replace(drawing, panels=panels if is_chosen else (), seeds=seeds)


def _narrowed_row(row: Row, kept: list[int], choice: Choice) -> Row:
    references = tuple(
        replace(each, figures=tuple(each.figures[k] for k in kept)) for each in row.references
    )
    # One seed means that nothing is drawn: more would be the same run again.
    seeds = row.seeds if choice.seeds is None or row.seeds == 1 else None
    figures = tuple(row.figures[k] for k in kept)
    return replace(row, figures=figures, references=references, seeds=seeds)


def check_choice(choice: Choice, tables: Sequence[Table]) -> None:
    """Raise for an unknown method or dataset, and for a number of seeds below 1."""
    known = {row.method for table in tables for row in table.rows if row.method is not None}
    for name in choice.methods or ():
        if name not in known and name not in method_names():
            raise unknown_name("method", name, known)
    own = (table.graphs for table in tables if isinstance(table, GraphTable))
    graphs = {name.lower() for names in own for name in names}
    for name in choice.datasets or ():
        if name in graphs:
            continue
        if graphs:
            raise unknown_name("graph", name, graphs)
        load_dataset(name)
    if choice.seeds is not None and choice.seeds < 1:
        raise InputError(f"`seeds` must be at least 1; got {choice.seeds}.")


def command_of(experiment: Experiment, choice: Choice) -> str:
    """The command that makes an experiment again."""
    words = ["agnn", "reproduce", shlex.quote(experiment.file or experiment.name)]
    words += (
        [] if not isinstance(experiment, GraphTable) else ["--data", shlex.quote(str(choice.data))]
    )
    for option, chosen in (("--methods", choice.methods), ("--datasets", choice.datasets)):
        words += [] if chosen is None else [option, shlex.quote(",".join(sorted(chosen)))]
    words += [] if choice.seeds is None else ["--seeds", str(choice.seeds)]
    return " ".join(words)
