"""Splits by a column of times or of groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import agnn
from agnn.data import NodeData, SplitSpec, make_splits
from agnn.data._splits._by_column import (
    group_split,
    time_split,
)
from agnn.data.tables import from_pandas
from agnn.errors import DataError, InputError


def frames(**columns: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    count = len(next(iter(columns.values())))
    ring = pd.DataFrame({"source": range(count), "target": [*range(1, count), 0]})
    nodes = pd.DataFrame({"id": range(count), "x": np.arange(count) % 4, **columns})
    return nodes, ring


LABELS = ["a", "b"] * 5


@given(st.lists(st.integers(1990, 2020), min_size=3, max_size=80).filter(lambda v: len({*v}) > 2))
def test_no_time_of_a_part_is_before_one_of_the_part_before(years: list[int]) -> None:
    times = np.array(years)
    split = time_split(times, np.arange(times.size))
    parts = [times[nodes] for nodes in split.parts.values()]
    assert all(part.size for part in parts)
    assert parts[0].max() < parts[1].min()
    assert parts[1].max() < parts[2].min()
    assert sum(part.size for part in parts) == times.size


@given(
    st.lists(st.integers(0, 12), min_size=3, max_size=80).filter(lambda v: len({*v}) > 2),
    st.integers(0, 5),
)
def test_no_group_is_in_two_parts_and_no_part_is_empty(groups: list[int], seed: int) -> None:
    own = np.array(groups)
    split = group_split(own, np.arange(own.size), seed)
    parts = [set(own[nodes].tolist()) for nodes in split.parts.values()]
    assert all(parts)
    assert sum(map(len, parts)) == len(set(groups))


def test_many_small_groups_meet_the_shares_and_seeds_differ() -> None:
    groups = np.arange(1000) // 5
    one, two = (group_split(groups, np.arange(1000), seed) for seed in (0, 1))
    assert [nodes.size for nodes in one.parts.values()] == [600, 200, 200]
    assert set(one.test.tolist()) != set(two.test.tolist())


@pytest.mark.parametrize(
    "times",
    [
        [2001, 2005, 2002, 2004, 2003] * 2,
        ["2001", "2005", "2002", "2004", "2003"] * 2,
        ["2001-05-01", "2005-01-01", "2002-02-28", "2004-12-31", "2003-03-03"] * 2,
        [f"2020-01-0{day}T10:00:00+02:00" for day in (1, 5, 2, 4, 3)] * 2,
        list(pd.to_datetime([f"2020-01-0{day}" for day in (1, 5, 2, 4, 3)] * 2)),
    ],
)
def test_numbers_text_and_dates_are_ordered(times: list[Any]) -> None:
    data = from_pandas(*frames(y=LABELS, when=times), label="y", split_time="when")
    assert SplitSpec.default(data) == "time"
    parts = {part: nodes.tolist() for part, nodes in data.split("time").parts.items()}
    assert parts == {"train": [0, 2, 4, 5, 7, 9], "validation": [3, 8], "test": [1, 6]}
    assert data.feature_count == 1
    assert data.preprocessing is not None
    first, second = make_splits(data, "time", [0, 1])
    assert first is second


def test_groups_are_taken_in_turn_by_the_seeds() -> None:
    groups = ["u", "v", "w", "u", "x", "y", "x", "z", "z", "v"]
    data = from_pandas(*frames(y=LABELS, who=groups), label="y", split_group="who")
    assert SplitSpec.default(data) == "group"
    drawn = make_splits(data, "group", [3, 13, 4])
    assert drawn[0] is drawn[1]
    assert [split.name for split in drawn] == ["group-3", "group-3", "group-4"]


def test_a_run_keeps_its_split_by_time(tmp_path: Path) -> None:
    data = from_pandas(*frames(y=LABELS, when=range(10)), label="y", split_time="when")
    run = agnn.evaluate("majority", data, replicas=2)
    run.save(tmp_path / "run")
    again = agnn.load_run(tmp_path / "run")
    assert again.split_spec == "time"
    assert again.split == data.split("time")


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (["2001", "soon", *["2003"] * 8], "row 2: 'soon' cannot be ordered in time"),
        ([2001, None, *[2003] * 8], "row 2: the value is missing, and the node has a label"),
        ([2001, 2002] * 5, "at least three different values .* got 2"),
    ],
)
def test_times_that_cannot_be_ordered_are_refused(times: list[Any], words: str) -> None:
    with pytest.raises(DataError, match=f"column 'when'.*{words}"):
        from_pandas(*frames(y=LABELS, when=times), label="y", split_time="when")


def test_few_groups_missing_groups_and_two_columns_are_refused() -> None:
    with pytest.raises(DataError, match=r"column 'who': it needs at least three groups .* got 2"):
        from_pandas(*frames(y=LABELS, who=["u", "v"] * 5), label="y", split_group="who")
    with pytest.raises(DataError, match="row 3: the value is missing"):
        from_pandas(*frames(y=LABELS, who=["u", "v", "", *"uvwxyzu"]), label="y", split_group="who")
    with pytest.raises(InputError, match="split by one column: split_column, split_time or"):
        from_pandas(*frames(y=LABELS), split_time="a", split_group="b")
    with pytest.raises(InputError, match="unknown column of `nodes` 'yaer'; did you mean 'year'"):
        from_pandas(*frames(y=LABELS, year=range(10)), label="y", split_time="yaer")


def test_data_without_the_column_says_which_option_is_missing(toy: NodeData) -> None:
    with pytest.raises(InputError, match="'toy' has no times; name a column as split_time"):
        make_splits(toy, "time", [0])
    with pytest.raises(InputError, match="'toy' has no groups; name a column as split_group"):
        make_splits(toy, "group", [0])


def test_a_class_that_no_training_node_has_is_reported() -> None:
    labels = ["a"] * 8 + ["new"] * 2
    data = from_pandas(*frames(y=labels, when=range(10)), label="y", split_time="when")
    assert "no training node is of class 'new', so it cannot be learned" in str(data.report)


def test_the_classifier_splits_by_times_and_groups(toy: NodeData) -> None:
    times = np.arange(toy.nodes)[::-1]
    model = agnn.NodeClassifier("majority", replicas=2)
    model.fit(toy.features, toy.labels, edges=toy.edges, times=times)
    assert model.run_.split_spec == "time"
    assert times[model.run_.split.train].max() < times[model.run_.split.test].min()
    model.fit(toy, groups=np.arange(toy.nodes) // 10)
    assert model.run_.split_spec == "group"
    by_index = agnn.NodeClassifier("majority", graph=toy)
    by_index.fit(np.arange(60), toy.labels[:60], times=np.arange(60))
    assert by_index.run_.split.test.max() == 59
    with pytest.raises(InputError, match="`times` must have 120 values; got"):
        model.fit(toy, times=[1, 2, 3])
    with pytest.raises(InputError, match="by `times` or by `groups`, not by both"):
        model.fit(toy, times=times, groups=times)
