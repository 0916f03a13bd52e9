"""Titles, addresses and descriptions: shown to people, read by no model, kept with the data."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from agnn.data import NodeData
from agnn.data.store import read_data, write_data
from agnn.data.tables import read_tables
from agnn.errors import DataError, InputError

LONG = "On the convergence of a very long title that goes on and on, part "


def tables(folder: Path, address: str = "https://example.org/") -> tuple[Path, Path]:
    nodes = pd.DataFrame({
        "id": [f"p{k}" for k in range(12)],
        "topic": ["a", "b"] * 6,
        "name": [f"{LONG}{k}" if k else "" for k in range(12)],
        "link": [f"{address}{k}" if k else None for k in range(12)],
        "abstract": [f"words number {k}" for k in range(12)],
        "year": range(1990, 2002),
    })  # fmt: skip
    edges = pd.DataFrame({"source": [f"p{k}" for k in range(11)],
                          "target": [f"p{k + 1}" for k in range(11)]})  # fmt: skip
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    return folder / "nodes.csv", folder / "edges.csv"


def read(folder: Path, **options: object) -> NodeData:
    own = {"label": "topic", "title": "name", "url": "link", "describe": "abstract"} | options
    return read_tables(*tables(folder), **own)  # type: ignore[arg-type]


def test_the_columns_are_shown_and_are_no_features(tmp_path: Path) -> None:
    data = read(tmp_path)
    assert data.name_of(3) == f"{LONG}3"
    assert data.name_of(0) == "p0"
    assert data.text_of(0, "url") == ""
    assert data.text_of(5, "url") == "https://example.org/5"
    assert data.text_of(5, "description") == "words number 5"
    assert data.preprocessing is not None
    assert set(data.preprocessing.feature_names) == {"year"}
    uses = {use.name: use.use for use in data.reading.columns}  # type: ignore[union-attr]
    assert (uses["name"], uses["link"], uses["abstract"]) == ("title", "url", "description")


def test_a_text_that_is_asked_for_is_a_feature_too(tmp_path: Path) -> None:
    data = read(tmp_path, text=["abstract"])
    assert data.preprocessing is not None
    assert any("words" in name for name in data.preprocessing.feature_names)
    assert data.text_of(5, "description") == "words number 5"


def test_they_do_not_change_what_is_trained(tmp_path: Path) -> None:
    plain = read(tmp_path, title=None, url=None, describe=None, ignore=["name", "link", "abstract"])
    assert read(tmp_path).fingerprint == plain.fingerprint


def test_they_are_kept_on_disk_in_copies_and_beside_new_nodes(tmp_path: Path) -> None:
    import pickle

    data = read(tmp_path)
    write_data(data, tmp_path / "data.npz")
    for other in (read_data(tmp_path / "data.npz"), pickle.loads(pickle.dumps(data))):  # noqa: S301
        assert dict(other.texts) == dict(data.texts)
    more = data.with_new_nodes(data.features[:1], data.edges[:, :0], ["new"])
    assert more.name_of(12) == "new"
    assert more.name_of(3) == data.name_of(3)


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)//", "JavaScript:x", "data:text/html,", "//x"]
)
def test_an_address_that_is_not_of_the_web_is_refused(tmp_path: Path, address: str) -> None:
    files = tables(tmp_path, address)
    with pytest.raises(DataError, match="must begin with http:// or https://; got"):
        read_tables(*files, label="topic", url="link")


def test_a_column_has_one_role(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="column 'topic' has two roles"):
        read(tmp_path, title="topic")
    with pytest.raises(InputError, match="nothing"):
        read(tmp_path, title="nothing")
