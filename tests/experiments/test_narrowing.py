"""A narrowed table keeps each figure with its row and column."""

from __future__ import annotations

import pytest

from agnn.errors import InputError
from agnn.experiments import Choice, bundled, check_choice, narrowed, narrowed_drawing, works_of

PUBMED = Choice(datasets=frozenset({"pubmed"}))


def test_figures_and_references_stay_with_their_column():
    table = narrowed(bundled("table2"), PUBMED)
    rows = {row.title: row for row in table.rows}
    assert [column.title for column in table.columns] == ["PubMed"]
    assert [figure.mean for figure in rows["AGNN"].figures] == [79.9]
    assert rows["Graph-CNN"].figures == (None,)
    (reference,) = rows["Multilayer perceptron"].references
    assert [figure.mean for figure in reference.figures] == [71.4]


def test_rows_that_name_a_dataset_are_narrowed_by_it():
    table = narrowed(bundled("hyperparameters"), PUBMED)
    assert [row.title for row in table.rows] == ["Fixed split, PubMed", "Random splits, PubMed"]
    assert len(table.columns) == 6


def test_methods_choose_rows():
    table = narrowed(bundled("table3"), Choice(methods=frozenset({"agnn", "gln"})))
    assert [row.method for row in table.rows] == ["gln", "agnn"] * 2  # 20 splits, then 100


def test_a_number_of_seeds_is_for_all_rows_but_those_without_chance():
    table = narrowed(bundled("table2"), Choice(seeds=7))
    assert {len(work.seeds) for work in works_of(table)} <= {7, 1}
    assert {row.title: row.seeds for row in table.rows}["LP"] == 1
    assert {row.title: row.seeds for row in table.rows}["Planetoid"] is None
    assert table.seeds == 7


def test_a_figure_is_narrowed_by_dataset_and_needs_agnn():
    drawing = bundled("figure1")
    assert [p.dataset for p in narrowed_drawing(drawing, Choice(seeds=2)).panels] == [
        "citeseer", "cora",
    ]  # fmt: skip
    assert narrowed_drawing(drawing, Choice(seeds=2)).seeds == 2
    assert narrowed_drawing(drawing, PUBMED).panels == ()
    assert narrowed_drawing(drawing, Choice(methods=frozenset({"gcn"}))).panels == ()


def test_names_are_checked_before_anything_is_run():
    tables = [bundled("table2")]
    check_choice(Choice(methods=frozenset({"planetoid"}), datasets=frozenset({"cora"})), tables)
    with pytest.raises(InputError, match="unknown method 'planetiod'; did you mean 'planetoid'"):
        check_choice(Choice(methods=frozenset({"planetiod"})), tables)
    with pytest.raises(InputError, match="unknown dataset 'corra'"):
        check_choice(Choice(datasets=frozenset({"corra"})), tables)
