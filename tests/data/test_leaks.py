"""Columns that give the answer away are named, with how to leave them out; others are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from agnn import NodeData, from_pandas, read_tables

N = 300
SOURCE = np.random.default_rng(0)
LABELS = SOURCE.integers(0, 3, N)
EDGES = pd.DataFrame(
    {"source": [f"n{i}" for i in range(N - 1)], "target": [f"n{i + 1}" for i in range(N - 1)]}
)
WEAK = LABELS + SOURCE.normal(0, 1.0, N)  # a good feature, but no leak


def read(**columns: object) -> NodeData:
    names = np.array(["red", "green", "blue"], dtype=object)[LABELS]
    names[::7] = None
    nodes = pd.DataFrame(
        {"id": [f"n{i}" for i in range(N)], "topic": names, "weak": WEAK, **columns}
    )
    return from_pandas(nodes, EDGES, label="topic")


LEAKS = {
    "a copy of the label under other names": np.array(list("xyz"))[LABELS],
    "a code of the label": LABELS * 10,
    "a measurement made from the label": LABELS + SOURCE.normal(0, 0.05, N),
    "a code with some mistakes": np.where(np.arange(N) % 60 == 0, 0, LABELS).astype(str),
}


@pytest.mark.parametrize("kind", LEAKS)
def test_a_column_that_determines_the_label_is_named(kind: str) -> None:
    (leak,) = read(outcome=LEAKS[kind]).reading.leaks
    assert leak.startswith("Column 'outcome' alone gives the label of ")
    assert "(--ignore outcome)" in leak


def test_a_column_that_looks_like_a_split_is_named() -> None:
    parts = np.array(["Train", "val", "test"])[np.arange(N) % 3]
    (leak,) = read(part=parts).reading.leaks
    assert "Column 'part' is a feature and looks like a split" in leak
    assert "--split-column part" in leak


def test_a_copy_of_the_id_is_named() -> None:
    data = from_pandas(
        pd.DataFrame({"id": range(N), "topic": LABELS, "again": range(N)}),
        pd.DataFrame({"source": range(N - 1), "target": range(1, N)}),
        label="topic", number=["again"],
    )  # fmt: skip
    (leak,) = data.reading.leaks
    assert "Column 'again' is a feature and copies the id" in leak


def test_good_features_few_labels_and_what_is_left_out_are_no_leaks() -> None:
    colours = np.array(["pale", "dark"])[SOURCE.integers(0, 2, N)]
    assert read(colour=colours).reading.leaks == ()
    few = pd.DataFrame({"id": range(10), "topic": [0, 1] * 5, "code": [0, 1] * 5})
    links = pd.DataFrame({"source": range(9), "target": range(1, 10)})
    assert from_pandas(few, links, label="topic").reading.leaks == ()
    nodes = pd.DataFrame({"id": range(N), "topic": LABELS, "weak": WEAK, "code": LABELS})
    links = pd.DataFrame({"source": range(N - 1), "target": range(1, N)})
    assert from_pandas(nodes, links, label="topic", ignore=["code"]).reading.leaks == ()
    assert len(from_pandas(nodes, links, label="topic").reading.leaks) == 1


def test_rare_classes_do_not_make_every_column_a_leak() -> None:
    labels = (np.arange(N) % 50 == 0).astype(int)  # 2 %: the most frequent class is right in 98 %
    nodes = pd.DataFrame({"id": range(N), "topic": labels, "weak": WEAK, "kind": np.arange(N) % 4})
    links = pd.DataFrame({"source": range(N - 1), "target": range(1, N)})
    assert from_pandas(nodes, links, label="topic").reading.leaks == ()


def test_the_report_says_it_before_its_notes() -> None:
    lines = list(read(outcome=LEAKS["a code of the label"]).report.warning_lines())
    assert [name for name, _ in lines].index("leak?") < [name for name, _ in lines].index("note")


def test_a_split_column_with_empty_cells_is_noticed_in_a_csv(tmp_path: Path) -> None:
    rows = [f"n{i},{'ab'[i % 2]},{('train', 'test', '')[i % 3]},{i % 5}.5" for i in range(60)]
    (tmp_path / "n.csv").write_text("\n".join(["id,topic,part,x", *rows]))
    (tmp_path / "e.csv").write_text("a,b\nn0,n1\n")
    (leak,) = read_tables(tmp_path / "n.csv", tmp_path / "e.csv", label="topic").reading.leaks
    assert "Column 'part' is a feature and looks like a split" in leak


FRUIT = np.array(["apple pear", "pear plum", "plum fig", "fig apple"])[SOURCE.integers(0, 4, N)]
COMMON = np.array([f"{fruit} number{i}" for i, fruit in enumerate(FRUIT)])


def test_a_word_that_gives_a_class_away_is_named_with_its_counts() -> None:
    texts = np.where(LABELS == 2, COMMON + " sold", COMMON)
    data = read(**{"last note": texts})
    (leak,) = data.reading.leaks
    inside = int((data.labels == data.class_names.index("blue")).sum())
    others = int((data.labels >= 0).sum()) - inside
    assert leak.startswith(
        f"Feature 'last note: sold' is in {inside} of the {inside} nodes of class 'blue' and in 0 "
        f"of the {others} others"
    )
    assert leak.endswith("leave the column out with `ignore` (--ignore 'last note').")


def test_a_word_that_only_one_class_lacks_is_named() -> None:
    (leak,) = read(note=np.where(LABELS == 2, COMMON, COMMON + " active")).reading.leaks
    assert "Feature 'note: active' is in 0 of the " in leak
    assert "nodes of class 'blue'" in leak


def test_a_gap_that_marks_a_class_is_named() -> None:
    days = np.where(LABELS == 1, np.nan, SOURCE.normal(0, 1, N))
    (leak,) = read(cancelled=days).reading.leaks
    assert "(--ignore cancelled)" in leak


def test_a_good_word_is_no_leak() -> None:
    is_there = (LABELS == 2) & (SOURCE.random(N) < 0.9)
    assert read(note=np.where(is_there, COMMON + " neural", COMMON)).reading.leaks == ()
