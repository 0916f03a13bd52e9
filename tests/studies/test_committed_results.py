"""The committed runs belong to the tables, and the page is what they give."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from agnn.cli import main
from agnn.report._rendering import drawn_values
from agnn.studies import Comparison, Counts, JudgedPanel, Store
from agnn.studies._reading import NAMES, read_bundled
from agnn.studies._selection import Choice
from agnn.studies._spec import Table
from agnn.studies._verdict import compare_table
from agnn.studies._works import Key, works_of

ROOT = Path(__file__).parents[2]
OURS = Choice(methods=frozenset({"agnn", "gcn", "gln"}))


@pytest.fixture(scope="module")
def committed() -> Store:
    store = Store.in_memory()
    assert store.import_rows(ROOT / "results") >= 900
    return store


def test_the_fixed_splits_have_their_hundred_runs(committed):
    found = compare_table(OURS.narrow(read_bundled("table2")), committed)
    assert [cell.ours.n for row in found.rows for cell in row.cells] == [100] * 9


def test_the_fixed_splits_of_the_papers_methods_are_reproduced(committed):
    found = compare_table(OURS.narrow(read_bundled("table2")), committed)
    assert all(cell.is_reproduced for row in found.rows for cell in row.cells)
    (agnn,) = [row for row in found.rows if row.row.method == "agnn"]
    assert all(abs(cell.difference) < 0.2 for cell in agnn.cells)
    assert {cell.verdict for cell in agnn.cells} == {"within 2 se"}


@pytest.fixture(scope="module")
def comparisons(committed: Store) -> dict[str, Comparison]:
    tables = [each for each in map(read_bundled, NAMES) if isinstance(each, Table)]
    return {table.name: compare_table(table, committed) for table in tables}


def test_every_published_figure_is_counted_once(comparisons):
    """Counted by hand from the paper: 49, 15, 6, 15 and 6 figures, and GCN in its appendix."""
    counts = Counts.of(list(comparisons.values()))
    by_table = Counter(figure.table.name for figure in counts.figures)
    assert by_table == {
        "table2": 49, "table3": 15, "table4": 6, "table5": 15, "table6": 6, "table7": 3,
        "table8": 2,
    }  # fmt: skip
    assert {kind: len(cells) for kind, cells in counts.cells.items()} == {
        "trained": 154, "data": 24, "presets": 42, "others": 25, "copies": 30,
    }  # fmt: skip
    headline = [(each.table.name, each.as_published.row.method) for each in counts.headline]
    assert Counter(headline) == {("table2", name): 3 for name in ("agnn", "gln", "gcn")}


def test_agnn_leads_gln_in_cross_validation_only_if_the_tested_fold_chooses_the_epoch(comparisons):
    (claim,) = comparisons["table4"].claims
    assert [claim.word(margin.ours) for margin in claim.margins] == ["holds", "holds"]
    assert [claim.word(margin.nested) for margin in claim.margins] == ["undecided", "undecided"]
    assert [margin.nested.mean for margin in claim.margins] == pytest.approx(
        [-0.22, -0.15], abs=0.01
    )


def test_agnn_leads_gln_on_random_splits_by_another_margin_than_the_papers(comparisons):
    (claim,) = comparisons["table3"].claims
    citeseer, cora, pubmed = claim.margins
    assert [claim.word(each.ours) for each in claim.margins] == ["undecided", "holds", "holds"]
    assert citeseer.ours.mean == pytest.approx(0.22, abs=0.01)
    assert citeseer.ours.n == 100
    assert citeseer.paper == pytest.approx(1.4)
    assert citeseer.surplus < -9
    assert (cora.surplus, pubmed.surplus) == pytest.approx((-3.65, 2.79), abs=0.01)


def test_cora_s_strongest_relations_are_the_papers_and_citeseer_s_are_not():
    values = drawn_values(ROOT / "docs", "figure1")
    citeseer, cora = (
        JudgedPanel.of(panel, values[f"figure1-{panel.stem}"])
        for panel in read_bundled("figure1").panels
    )
    assert [each.rank for each in citeseer.strongest] == [9, 8, 11, 5]
    assert [each.rank for each in citeseer.weakest] == [26, 17]
    assert citeseer.strongest_agree == 0
    assert (cora.strongest_agree, cora.weakest_agree) == (4, 1)
    assert citeseer.is_dominant
    assert cora.is_dominant
    assert citeseer.replicas == cora.replicas == 10


def test_every_committed_run_stands_in_a_table(committed):
    tables = [each for each in map(read_bundled, NAMES) if isinstance(each, Table)]
    keys = {work.key for table in tables for work in works_of(table)}
    assert {Key(run.spec, run.data) for run in committed.runs()} <= keys


def test_no_row_of_table_2_is_missing(committed):
    found = compare_table(read_bundled("table2"), committed)
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
