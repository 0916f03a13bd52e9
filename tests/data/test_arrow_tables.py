"""Polars, PyArrow, DuckDB and whatever else speaks Arrow give the data that pandas gives."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from agnn import InputError, NodeData, from_pandas, with_new_nodes

NODES = 200


class Stream:
    """A stranger's table, of which only the stream is known."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._table = pa.Table.from_pandas(frame)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "Polars": pl.from_pandas,
    "PyArrow": pa.Table.from_pandas,
    "a reader of batches": lambda frame: pa.Table.from_pandas(frame).to_reader(),
    "DuckDB": duckdb.from_df,
    "a stranger's stream": Stream,
}


def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every type that a column may have, with gaps."""
    draws = np.random.default_rng(0)
    grade = pd.array(draws.integers(1, 4, NODES), dtype="Int64")
    member = pd.array(draws.random(NODES) < 0.5, dtype="boolean")
    colour = draws.choice(["red", "green", "blue"], NODES).astype(object)
    for values in (grade, member, colour):
        values[5] = None
    nodes = pd.DataFrame(
        {
            "id": [f"node {k}" for k in range(NODES)],
            "size": np.where(np.arange(NODES) == 3, np.nan, draws.normal(size=NODES)),
            "grade": grade,
            "member": member,
            "colour": colour,
            "shape": pd.Categorical(draws.choice(["round", "square"], NODES)),
            "price": [Decimal(int(cents)) / 100 for cents in draws.integers(100, 999, NODES)],
            "since": pd.to_datetime(draws.integers(18_000, 18_099, NODES), unit="D"),
            "kind": np.where(draws.random(NODES) < 0.3, None, draws.choice(["x", "y"], NODES)),
        }
    )
    source, target = draws.choice(nodes["id"].to_numpy(), (2, 600))
    # Labels of the rows, which Arrow has as a column; they are no part of the table.
    return nodes, pd.DataFrame({"source": source, "target": target}, index=np.arange(600) % 7)


def read(form: Callable[[pd.DataFrame], Any], **options: Any) -> NodeData:
    nodes, edges = tables()
    return from_pandas(form(nodes), form(edges), **options)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_data_is_that_of_pandas(form: Callable[[pd.DataFrame], Any]) -> None:
    expected = read(lambda frame: frame, label="kind")
    data = read(form, label="kind")
    assert data.fingerprint == expected.fingerprint
    assert data.names_fingerprint == expected.names_fingerprint
    assert data.reading is not None
    assert expected.reading is not None
    assert data.reading == expected.reading


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_whole_numbers_with_gaps_stay_whole_as_labels(form: Callable[[pd.DataFrame], Any]) -> None:
    data = read(form, label="grade")
    assert data.class_values.tolist() == [1, 2, 3]
    assert data.class_values.dtype.kind == "i"


@pytest.mark.parametrize("form", [pl.from_pandas, duckdb.from_df])
def test_days_are_ordered_in_time(form: Callable[[pd.DataFrame], Any]) -> None:
    nodes, edges = tables()
    days = nodes.assign(since=nodes["since"].dt.date)
    expected = from_pandas(nodes, edges, label="kind", split_time="since")
    data = from_pandas(form(days), form(edges), label="kind", split_time="since")
    assert data.fingerprint == expected.fingerprint


def test_new_nodes_come_in_the_same_forms() -> None:
    nodes, edges = tables()
    data = from_pandas(nodes, edges, label="kind")
    later = nodes.head(3).assign(id=["a", "b", "c"])
    links = pd.DataFrame({"source": ["a", "b"], "target": ["node 1", "c"]})
    expected = with_new_nodes(data, later, links)
    grown = with_new_nodes(data, pl.from_pandas(later), pa.Table.from_pandas(links))
    assert grown.fingerprint == expected.fingerprint


@pytest.mark.parametrize("table", [[1, 2], pd.Series([1]), pa.array([1])])
def test_what_is_no_table_is_refused_with_its_type(table: Any) -> None:
    with pytest.raises(InputError, match=r"`nodes` .* (got|Arrow)"):
        from_pandas(table, tables()[1])
