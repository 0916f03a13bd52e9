"""A narrowed table keeps each figure with its row and column."""

from __future__ import annotations

import pytest

from agnn.errors import InputError
from agnn.studies import select_experiments
from agnn.studies._reading import read_bundled
from agnn.studies._selection import Choice
from agnn.studies._works import works_of

PUBMED = Choice(datasets=frozenset({"pubmed"}))


def test_figures_and_references_stay_with_their_column():
    table = PUBMED.narrow(read_bundled("table2"))
    rows = {row.title: row for row in table.rows}
    assert [column.title for column in table.columns] == ["PubMed"]
    assert [figure.mean for figure in rows["AGNN"].figures] == [79.9]
    assert rows["Graph-CNN"].figures == (None,)
    (reference,) = rows["Multilayer perceptron"].references
    assert [figure.mean for figure in reference.figures] == [71.4]


def test_rows_that_name_a_dataset_are_narrowed_by_it():
    table = PUBMED.narrow(read_bundled("hyperparameters"))
    assert [row.title for row in table.rows] == ["Fixed split, PubMed", "Random splits, PubMed"]
    assert len(table.columns) == 6


def test_methods_choose_rows():
    table = Choice(methods=frozenset({"agnn", "gln"})).narrow(read_bundled("table3"))
    assert [row.method for row in table.rows] == ["gln", "agnn"] * 2  # 20 splits, then 100


def test_a_number_of_seeds_is_for_all_rows_but_those_without_chance():
    table = Choice(seeds=7).narrow(read_bundled("table2"))
    assert {len(work.seeds) for work in works_of(table)} <= {7, 1}
    assert {row.title: row.seeds for row in table.rows}["LP"] == 1
    assert {row.title: row.seeds for row in table.rows}["Planetoid"] is None
    assert table.seeds == 7


def test_a_figure_is_narrowed_by_dataset_and_needs_agnn():
    drawing = read_bundled("figure1")
    assert [p.dataset for p in Choice(seeds=2).narrow_drawing(drawing).panels] == [
        "citeseer", "cora",
    ]  # fmt: skip
    assert Choice(seeds=2).narrow_drawing(drawing).seeds == 2
    assert PUBMED.narrow_drawing(drawing).panels == ()
    assert Choice(methods=frozenset({"gcn"})).narrow_drawing(drawing).panels == ()


def test_names_are_checked_before_anything_is_run():
    tables = [read_bundled("table2")]
    Choice(methods=frozenset({"planetoid"}), datasets=frozenset({"cora"})).check(tables)
    with pytest.raises(InputError, match="unknown method 'planetiod'; did you mean 'planetoid'"):
        Choice(methods=frozenset({"planetiod"})).check(tables)
    with pytest.raises(InputError, match="unknown dataset 'corra'"):
        Choice(datasets=frozenset({"corra"})).check(tables)


def test_a_selected_experiment_keeps_its_command_and_can_be_narrowed_further():
    (table,) = select_experiments("table2", datasets=["cora"])
    assert table.command == "agnn reproduce table2 --datasets cora"
    assert select_experiments([table]) == [table]
    (narrower,) = select_experiments([table], methods=["GCN"], seeds=3)
    assert narrower.command == f"{table.command} --methods gcn --seeds 3"
    assert {row.method for row in narrower.rows} == {"gcn"}
    assert [column.dataset for column in narrower.columns] == ["cora"]
    assert narrower.seeds == 3
