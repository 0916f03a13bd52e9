"""Predictions with their probabilities, by node id, and their table on disk."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData
from agnn.errors import InputError
from agnn.files import check_new_file, writing_file
from agnn.metrics import Ensemble
from agnn.tables import Column, ResultTable, Row

if TYPE_CHECKING:
    from agnn.data.tables import DataFrame

NO_CLASS: Final = "none of the classes fits"  # how an empty set of classes reads
_ENDS: Final = (".csv", ".parquet")
_SHOWN_ROWS: Final = 10  # in a notebook or a terminal


@dataclass(frozen=True, eq=False)
class Predictions(Ensemble):
    """The ensemble's predictions for some nodes, with the names of nodes and classes."""

    ids: tuple[Hashable, ...]  # [k]
    class_names: tuple[str, ...]  # [c]
    labels: tuple[str | None, ...] | None = None  # [k] None: of nodes that came without a label
    id_name: str = "id"  # of the column of ids
    extra_columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """[k] each: what was decided about the nodes, by the name of its column."""

    @classmethod
    def of(cls, ids: Sequence[Hashable], names: Sequence[str], ensemble: Ensemble) -> Predictions:
        """Return the predictions of an ensemble for the nodes with these ids."""
        return cls(ensemble.probabilities, ensemble.disagreement, tuple(ids), tuple(names))

    @classmethod
    def of_data(
        cls,
        data: NodeData,
        names: Sequence[str],
        ensemble: Ensemble,
        nodes: Sequence[int] | None = None,
    ) -> Predictions:
        """Return the predictions for nodes of a graph, given by index, or for all; with labels."""
        indices = range(data.nodes) if nodes is None else nodes
        labels = (*data.class_names, None)  # the last is what -1 stands for
        return cls(
            ensemble.probabilities,
            ensemble.disagreement,
            data.node_ids if nodes is None else tuple(data.node_ids[node] for node in nodes),
            tuple(names),
            tuple(labels[data.labels[node]] for node in indices) if data.labelled.size else None,
            data.id_name,
        )

    def unlabelled(self) -> Predictions:
        """Return those for nodes without a label."""
        labels = self.labels or (None,) * len(self)
        return self.at([k for k, label in enumerate(labels) if label is None])

    def at(self, rows: Sequence[int]) -> Predictions:
        """Return those in some rows, given by their indices."""
        rows = list(rows)
        return replace(
            self,
            probabilities=self.probabilities[rows],
            disagreement=self.disagreement[rows],
            ids=tuple(self.ids[k] for k in rows),
            labels=None if self.labels is None else tuple(self.labels[k] for k in rows),
            extra_columns={
                name: [values[k] for k in rows] for name, values in self.extra_columns.items()
            },
        )

    def with_columns(self, **columns: Sequence[Any]) -> Predictions:
        """Return the predictions with further columns [k]."""
        return replace(self, extra_columns={**self.extra_columns, **columns})

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def classes(self) -> NDArray[np.object_]:
        """[k] The name of the predicted class."""
        return np.array(self.class_names, dtype=object)[self.answers]

    @property
    def confidence(self) -> NDArray[np.float64]:
        """[k] The probability of the predicted class."""
        return np.asarray(self.probabilities.max(1))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns by name: id, prediction, label, probability of each class, disagreement.

        The ids have the name that they have in the table of nodes. `label` and `is_labelled` are
        there for the nodes of a graph that has labels. `extra_columns` come last.
        """
        columns: dict[str, list[Any]] = {"prediction": self.classes.tolist()}
        if self.labels is not None:
            columns["label"] = list(self.labels)
            columns["is_labelled"] = [label is not None for label in self.labels]
        for title, values in zip(self._titles, self.probabilities.T, strict=True):
            columns[title] = values.tolist()
        columns["disagreement"] = self.disagreement.tolist()
        columns |= {name: list(values) for name, values in self.extra_columns.items()}
        name = "id" if self.id_name in columns else self.id_name
        return {name: _alike(self.ids), **columns}

    @property
    def _titles(self) -> list[str]:
        """The names of the columns of probabilities: without spaces, unless two would be alike."""
        joined = ["_".join(name.split()) for name in self.class_names]
        names = joined if len(set(joined)) == len(joined) else self.class_names
        return [f"probability_of_{name}" for name in names]

    @staticmethod
    def check_file(path: Path | str) -> None:
        """Raise unless a new table can be written there; call it before the work, not after."""
        end = Path(path).suffix.lower()
        if end not in _ENDS:
            raise InputError(f"'{path}' must end in .csv or .parquet to be written.")
        check_new_file(path)
        import agnn.data.tables  # noqa: F401 raises if pandas is not installed

    def save(self, path: Path | str) -> None:
        """Write the columns to a new CSV or Parquet file, completely or not at all.

        A set of classes is a list in Parquet. In CSV its classes are separated by " | ", and an
        empty one reads "none of the classes fits".
        """
        self.check_file(path)
        from agnn.data.tables import DataFrame

        frame = DataFrame(self.to_dict())
        if Path(path).suffix.lower() == ".csv":
            for name, values in self.extra_columns.items():
                frame[name] = [set_words(value) for value in values]
        save_frames([frame], path)

    def __repr__(self) -> str:
        return f"Predictions({len(self)} nodes, classes {', '.join(self.class_names)})"

    @property
    def table(self) -> ResultTable:
        """The first rows; a page also has the labels and the probability of every class."""
        shown_rows = self.at(range(min(len(self), _SHOWN_ROWS)))
        columns = shown_rows.to_dict()
        id_title = next(iter(columns))
        leading = {title: columns.pop(title) for title in (id_title, "prediction")}
        columns = {**leading, "probability": shown_rows.confidence.tolist(), **columns}
        narrow = {*leading, "probability", "disagreement", *self.extra_columns} - {"set_size"}
        caption = f"{len(self):,} predictions"
        if len(shown_rows) < len(self):
            caption += f", the first {len(shown_rows)}"
        return ResultTable(
            tuple(
                Column(
                    title,
                    digits=3,
                    is_number=_is_number(values),
                    is_name=not _is_number(values),
                    is_wide=title not in narrow,
                )
                for title, values in columns.items()
            ),
            tuple(
                Row(tuple(_cell(value) for value in row))
                for row in zip(*columns.values(), strict=True)
            ),
            caption,
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first rows of the table."""
        return str(self.table.html())


def save_frames(frames: Iterable[DataFrame], path: Path | str) -> int:
    """Write pandas frames of the same columns, one after the other, to a new CSV or Parquet file.

    Completely or not at all, with one frame in memory at a time. Returns the number of rows.
    """
    Predictions.check_file(path)
    with writing_file(path) as draft:
        is_csv = draft.suffix.lower() == ".csv"
        return (_write_csv if is_csv else _write_parquet)(iter(frames), draft)


def _write_csv(frames: Iterator[DataFrame], draft: Path) -> int:
    rows = 0
    for frame in frames:
        frame.to_csv(draft, index=False, mode="a", header=not draft.exists())
        rows += len(frame)
    return rows


def _write_parquet(frames: Iterator[DataFrame], draft: Path) -> int:
    import pyarrow
    from pyarrow import parquet

    tables = (pyarrow.Table.from_pandas(frame, preserve_index=False) for frame in frames)
    first_table = next(tables)
    schema = first_table.schema
    for k, column in enumerate(schema):
        if pyarrow.types.is_null(column.type):  # text, of which none is in the first frame
            schema = schema.set(k, column.with_type(pyarrow.string()))
    rows = 0
    with parquet.ParquetWriter(draft, schema) as writer:
        for table in chain([first_table], tables):
            writer.write_table(table.cast(schema))
            rows += table.num_rows
    return rows


def _is_number(values: Sequence[Any]) -> bool:
    return bool(values) and isinstance(values[0], float)


def _cell(value: Any) -> Any:
    """Return a value as a cell shows it; a whole number may be an id, which has no commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if value is None or isinstance(value, float) else str(set_words(value))


def set_words(value: Any) -> Any:
    """Return a set of classes as text; any other value as it is."""
    if not isinstance(value, list):
        return value
    return " | ".join(value) or NO_CLASS


def _alike(ids: Sequence[Hashable]) -> list[Any]:
    """Return the ids; as text if they are of several kinds, which no column can hold."""
    plain: list[Any] = [value.item() if isinstance(value, np.generic) else value for value in ids]
    kinds = {type(value) for value in plain}
    return plain if kinds in ({str}, {int}, {float}) else [str(value) for value in plain]
