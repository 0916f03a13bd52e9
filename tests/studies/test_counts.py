"""Every published figure counts once, whatever its copies and variants."""

from __future__ import annotations

from tests.studies.small_tables import small_table, stored_run

from agnn.studies import Counts, Store
from agnn.studies._verdict import compare_table

TABLE = """
title = "Small"
place = "Table 1"
seeds = 2
[[columns]]
title = "Cora"
dataset = "cora"
[[rows]]
title = "GCN"
method = "gcn"
paper = ["81.5"]
[[rows]]
title = "GCN, deeper"
method = "gcn"
fields = { hidden = 32 }
paper = ["80.0 ± 0.1"]
[[rows]]
title = "GCN, one run"
method = "gcn"
seeds = 1
paper = ["81.5"]
"""


def finished(table, accuracies: dict[str, list[float | None]]) -> Store:
    """A store with these accuracies for the rows of a table, by seed; None: not finished."""
    from agnn.studies._works import works_of

    store = Store.in_memory()
    for work in works_of(table):
        runs = [
            stored_run(spec=work.key.spec, data=work.key.data, seed=seed, accuracy=accuracy)
            for seed, accuracy in enumerate(accuracies[work.title])
            if accuracy is not None
        ]
        store.add(work.spec, runs)
    return store


def test_copies_and_variants_are_not_further_figures():
    table = small_table(TABLE)
    store = finished(table, {"GCN": [81.0, 80.0], "GCN, deeper": [80.0, 80.1]})
    counts = Counts.of([compare_table(table, store), compare_table(table, store)])
    assert {kind: len(cells) for kind, cells in counts.cells.items()} == {
        "trained": 3, "data": 0, "presets": 0, "others": 0, "copies": 3,
    }  # fmt: skip
    assert [len(figure.variants) for figure in counts.figures] == [2, 1]
    first = counts.figures[0]
    assert first.as_published.row.title == "GCN"
    assert first.nearest.row.title == "GCN, one run"  # 81.0 is nearer to 81.5 than 80.5


def test_the_headline_is_of_methods_whose_figures_have_an_error_and_plain_settings():
    table = small_table(TABLE)
    store = finished(table, {"GCN": [81.0, 80.0], "GCN, deeper": [80.0, 80.1]})
    headline = Counts.of([compare_table(table, store)]).headline
    assert [figure.as_published.row.title for figure in headline] == ["GCN"]
    without = small_table(TABLE.replace(" ± 0.1", ""))
    assert Counts.of([compare_table(without, store)]).headline == ()


def test_a_table_of_ours_has_figures_of_other_papers():
    table = small_table(TABLE.replace("Table 1", "not in the paper"))
    store = finished(table, {"GCN": [81.0, 80.0], "GCN, deeper": [80.0, 80.1]})
    counts = Counts.of([compare_table(table, store)])
    assert (len(counts.cells["others"]), counts.figures) == (3, ())


def test_cells_without_a_figure_of_ours_or_the_papers_do_not_count():
    counts = Counts.of([compare_table(small_table(TABLE), Store.in_memory())])
    assert not any(counts.cells.values())
