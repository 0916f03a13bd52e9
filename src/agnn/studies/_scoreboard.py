"""What a whole reproduction amounts to: published figures counted once, and the paper's reading.

A figure stands in several cells: as a copy in a later table, and as variants, such as the published
and the tuned settings of a method. Cells that compare no trained model are counted apart. What the
paper reads from attention between classes is judged over replicas of our own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agnn.data import load_dataset
from agnn.errors import DataError
from agnn.metrics import Summary
from agnn.studies._spec import Column, RelevancePanel, Row, Table
from agnn.studies._verdict import ComparedCell, Comparison

_KINDS: Final = ("trained", "data", "presets", "others", "copies")  # of cells


class Variant(NamedTuple):
    """One way in which a published figure was rerun."""

    row: Row
    cell: ComparedCell


@dataclass(frozen=True)
class PublishedFigure:
    """A figure of the paper that models were trained for, with all its variants in a table."""

    table: Table
    column: Column
    variants: tuple[Variant, ...]  # as published first

    @property
    def as_published(self) -> Variant:
        """The first row that has the figure: the published settings."""
        return self.variants[0]

    @property
    def nearest(self) -> Variant:
        """The variant that is nearest to the figure, which is a choice by the figure itself."""
        return min(self.variants, key=lambda variant: abs(variant.cell.difference or 0.0))


@dataclass(frozen=True)
class Counts:
    """The cells that have a figure of ours and a published one, by kind.

    Kinds: "trained" for a figure of the paper, "data" and "presets" without any training, "others"
    for figures of other papers, "copies" of the same runs in a later table.
    """

    cells: dict[str, tuple[ComparedCell, ...]]
    figures: tuple[PublishedFigure, ...]  # of the kind "trained", in the order of the tables

    @property
    def headline(self) -> tuple[PublishedFigure, ...]:
        """The fixed splits of the methods that the paper trained itself, with its settings.

        These are the methods whose figures have a standard error somewhere in its tables.
        """
        trained = {
            variant.row.method
            for variant in (figure.as_published for figure in self.figures)
            if variant.cell.paper is not None and variant.cell.paper.standard_error is not None
        }
        return tuple(figure for figure in self.figures if _is_headline(figure, trained))

    @classmethod
    def of(cls, comparisons: Sequence[Comparison]) -> Counts:
        """Sort the compared cells of all tables by kind, and gather the variants of each figure."""
        cells: dict[str, list[ComparedCell]] = {kind: [] for kind in _KINDS}
        variants: dict[Hashable, list[Variant]] = {}  # by figure
        homes: dict[Hashable, tuple[Table, Column]] = {}  # where a figure first stands
        seen: set[Hashable] = set()
        for comparison in comparisons:
            table = comparison.table
            for compared in comparison.rows:
                row = compared.row
                for column, cell in zip(table.columns, compared.cells, strict=True):
                    if cell.difference is None:
                        continue
                    figure = _identity(row, column, cell)
                    seeds = table.seeds if row.seeds is None else row.seeds
                    # The same runs: settings, splits and their number are those of the figure.
                    runs = (figure, row.configuration, row.split, seeds)
                    kind = "copies" if table.source == "runs" and runs in seen else _kind(table)
                    seen.add(runs)
                    cells[kind].append(cell)
                    if kind == "trained":
                        variants.setdefault(figure, []).append(Variant(row, cell))
                        homes.setdefault(figure, (table, column))
        return Counts(
            {kind: tuple(of_kind) for kind, of_kind in cells.items()},
            tuple(PublishedFigure(*homes[figure], tuple(variants[figure])) for figure in variants),
        )


def _is_headline(figure: PublishedFigure, methods: set[str | None]) -> bool:
    row = figure.as_published.row
    is_plain = not row.fields and (row.value or figure.column.value) is None
    return row.method in methods and is_plain and figure.column.split in (None, "fixed")


def _kind(table: Table) -> str:
    if table.source != "runs":
        return table.source
    return "others" if table.is_of_others else "trained"


def _identity(row: Row, column: Column, cell: ComparedCell) -> Hashable:
    """Return what a published figure is one of; rows may leave the splits of their column."""
    return (
        row.method,
        row.value or column.value,
        row.dataset or column.dataset,
        column.split or "fixed",
        tuple(sorted(row.fields.items())),
        None if cell.paper is None else cell.paper.printed,
    )


@dataclass(frozen=True)
class Relation:
    """The relevance from one class to another, over replicas, and its rank among all of them."""

    sender: str
    receiver: str
    value: Summary  # one value per replica
    rank: int  # of the mean; 1 is the strongest
    ranks: tuple[int, ...]  # in each replica


@dataclass(frozen=True)
class JudgedPanel:
    """A heat map of relevances between classes, compared with what the paper says about its own."""

    panel: RelevancePanel
    replicas: int
    is_dominant: bool  # on average every class attends to itself more than to any other
    dominant: int  # replicas in which each does
    relations: tuple[Relation, ...]  # between different classes, the strongest first
    strongest: tuple[Relation, ...]  # that the paper names
    weakest: tuple[Relation, ...]

    @property
    def strongest_agree(self) -> int:
        """How many of the paper's strongest relations are among as many strongest here."""
        return sum(relation.rank <= len(self.strongest) for relation in self.strongest)

    @property
    def weakest_agree(self) -> int:
        """How many of the paper's weakest relations are among as many weakest here."""
        last = len(self.relations) - len(self.weakest)
        return sum(relation.rank > last for relation in self.weakest)

    @classmethod
    def of(
        cls, panel: RelevancePanel, relevances: Sequence[Sequence[Sequence[float | None]]]
    ) -> JudgedPanel:
        """Compare relevances [R, c, c] with what the paper reads from the panel.

        Row c1 receives and column c2 sends. None stands for a pair of classes that no edge joins.
        """
        values = np.array(relevances, dtype=np.float64)
        names = load_dataset(panel.dataset).class_names
        if values.ndim != 3 or values.shape[1:] != (len(names), len(names)):
            raise DataError(
                f"the relevances of '{panel.title}' have the shape {values.shape}, not one table "
                f"of {len(names)} by {len(names)} classes per replica; draw the figure again."
            )
        replicas = values.shape[0]
        pairs = [
            (receiver, sender)
            for receiver in range(len(names))
            for sender in range(len(names))
            if receiver != sender and not np.isnan(values[:, receiver, sender]).any()
        ]
        between = np.array(
            [values[:, receiver, sender] for receiver, sender in pairs]
        )  # [pairs, R]
        ranks = _ranks(between)
        by_mean = _ranks(between.mean(axis=1, keepdims=True))[:, 0]
        relations: dict[tuple[str, str], Relation] = {}
        for k, (receiver, sender) in enumerate(pairs):
            relations[names[sender], names[receiver]] = Relation(
                sender=names[sender],
                receiver=names[receiver],
                value=Summary(between[k].tolist()),
                rank=int(by_mean[k]),
                ranks=tuple(ranks[k].tolist()),
            )
        return JudgedPanel(
            panel=panel,
            replicas=replicas,
            is_dominant=bool(_is_dominant(values.mean(axis=0, keepdims=True)).all()),
            dominant=int(_is_dominant(values).sum()),
            relations=tuple(sorted(relations.values(), key=lambda relation: relation.rank)),
            strongest=_named_relations(panel, panel.strongest, relations),
            weakest=_named_relations(panel, panel.weakest, relations),
        )


def _is_dominant(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each table [k, c, c] whether the diagonal has the largest value of every row."""
    diagonal = np.diagonal(values, axis1=1, axis2=2)
    return np.asarray((np.nanmax(values, axis=2) <= diagonal).all(axis=1))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rank of each row in every column; 1 is the largest."""
    order = np.argsort(-values, axis=0, kind="stable")
    ranks = np.empty(order.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(1, len(values) + 1)[:, None], axis=0)
    return ranks


def _named_relations(
    panel: RelevancePanel,
    pairs: Sequence[tuple[str, str]],
    relations: dict[tuple[str, str], Relation],
) -> tuple[Relation, ...]:
    for sender, receiver in pairs:
        if (sender, receiver) not in relations:
            raise DataError(f"'{panel.title}' has no relation from '{sender}' to '{receiver}'.")
    return tuple(relations[pair] for pair in pairs)
