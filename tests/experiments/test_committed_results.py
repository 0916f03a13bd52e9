"""The committed runs belong to the tables, and the page is what they give."""

from __future__ import annotations

from pathlib import Path

import pytest

from agnn.cli import main
from agnn.experiments import (
    NAMES,
    Choice,
    Key,
    Store,
    Table,
    bundled,
    compare,
    import_rows,
    narrowed,
    works_of,
)

ROOT = Path(__file__).parents[2]
OURS = Choice(methods=frozenset({"agnn", "gcn", "gln"}))


@pytest.fixture(scope="module")
def committed() -> Store:
    store = Store.in_memory()
    assert import_rows(store, ROOT / "results") >= 900
    return store


def test_the_fixed_splits_have_their_hundred_runs(committed):
    found = compare(narrowed(bundled("table2"), OURS), committed)
    assert [cell.ours.n for row in found.rows for cell in row.cells] == [100] * 9


def test_the_fixed_splits_of_the_papers_methods_are_reproduced(committed):
    found = compare(narrowed(bundled("table2"), OURS), committed)
    assert {cell.verdict for row in found.rows for cell in row.cells} == {"reproduced"}
    (agnn,) = [row for row in found.rows if row.row.method == "agnn"]
    assert all(abs(cell.difference) < 0.2 for cell in agnn.cells)


def test_every_committed_run_stands_in_a_table(committed):
    tables = [each for each in map(bundled, NAMES) if isinstance(each, Table)]
    keys = {work.key for table in tables for work in works_of(table)}
    assert {Key(run.spec, run.data) for run in committed.runs()} <= keys


def test_no_row_of_table_2_is_missing(committed):
    found = compare(bundled("table2"), committed)
    assert "missing" not in {cell.verdict for row in found.rows for cell in row.cells}


def test_the_page_is_what_the_committed_runs_give(tmp_path, monkeypatch):
    """If this fails, `make reproduction-page` writes the page again."""
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "reproduction.md"
    written = page.read_text(encoding="utf-8")
    copy = tmp_path / "reproduction.md"
    if (ROOT / "docs" / "figures").is_dir():
        (tmp_path / "figures").symlink_to(ROOT / "docs" / "figures")
    line = ["reproduce", "all", "--page", str(copy), "--rows", "results"]
    assert main([*line, "--out", str(tmp_path / "none")]) == 0
    again = copy.read_text(encoding="utf-8").replace(str(copy), "docs/reproduction.md")
    assert again == written
