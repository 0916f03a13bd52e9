"""Parquet in many small groups of rows is the same table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from agnn import read_tables
from agnn.errors import DataError
from own_tables import write_tables


def test_the_groups_of_rows_in_a_file_change_nothing(tmp_path: Path) -> None:
    nodes, edges = write_tables(tmp_path)
    expected = read_tables(nodes, edges, label="topic")
    for size in (1000, 7):
        for table in (nodes, edges):
            target = table.with_suffix(".parquet")
            pd.read_csv(table).to_parquet(target, row_group_size=size)
        found = read_tables(
            nodes.with_suffix(".parquet"), edges.with_suffix(".parquet"), label="topic"
        )
        assert found.node_ids == expected.node_ids
        np.testing.assert_array_equal(found.edges, expected.edges)
        np.testing.assert_array_equal(found.labels, expected.labels)


def test_a_damaged_description_by_pandas_is_one_line(tmp_path: Path) -> None:
    nodes, edges = write_tables(tmp_path)
    table = pq.ParquetFile(_as_parquet(nodes)).read()
    damaged = {**table.schema.metadata, b"pandas": b'{"index_columns": ['}
    pq.write_table(table.replace_schema_metadata(damaged), tmp_path / "damaged.parquet")
    with pytest.raises(DataError, match="' is damaged, cut short or not a Parquet"):
        read_tables(tmp_path / "damaged.parquet", edges, label="topic")


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("column_indexes", {"pandas_type": "float64", "numpy_type": "float64"}),
        ("columns", {"numpy_type": "no such type"}),
        ("columns", 3),
    ],
)
def test_a_description_by_pandas_that_does_not_fit_is_one_line(
    tmp_path: Path, part: str, change: Any
) -> None:
    nodes, edges = write_tables(tmp_path)
    table = pq.ParquetFile(_as_parquet(nodes)).read()
    about = json.loads(table.schema.metadata[b"pandas"])
    about[part] = [each | change for each in about[part]] if isinstance(change, dict) else change
    wrong = {**table.schema.metadata, b"pandas": json.dumps(about).encode()}
    pq.write_table(table.replace_schema_metadata(wrong), tmp_path / "wrong.parquet")
    with pytest.raises(DataError, match="its description by pandas is wrong") as caught:
        read_tables(tmp_path / "wrong.parquet", edges, label="topic")
    assert "\n" not in str(caught.value)


def _as_parquet(table: Path) -> Path:
    pd.read_csv(table).to_parquet(table.with_suffix(".parquet"))
    return table.with_suffix(".parquet")
