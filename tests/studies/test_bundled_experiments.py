"""The files of the package hold the paper: all of its tables, rows and figures."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from agnn.data import load_dataset
from agnn.errors import InputError
from agnn.methods import method_names
from agnn.networks import AGNN
from agnn.runs import preset_method
from agnn.studies import Drawing, Store
from agnn.studies._reading import NAMES, find_experiments, read_bundled
from agnn.studies._spec import Table
from agnn.studies._verdict import compare_table
from agnn.studies._works import works_of

TABLES = [name for name in NAMES if isinstance(read_bundled(name), Table)]
# Rows of the paper's table, columns, cells that it fills.
SIZES = {
    "table1": (3, 9, 24), "table2": (18, 3, 49), "table3": (7, 3, 21), "table4": (3, 2, 6),
    "table5": (5, 3, 15), "table6": (2, 3, 6), "table7": (9, 3, 27), "table8": (4, 2, 8),
    "hyperparameters": (7, 6, 42), "embeddings": (4, 3, 0), "beyond": (17, 3, 28),
}  # fmt: skip
# What the project calls the methods of the tables.
METHODS = {
    "single_layer_perceptron", "multilayer_perceptron", "t_svm", "deepwalk", "node2vec",
    "label_propagation", "ica", "manifold_regularisation", "semi_supervised_embedding", "dcnn",
    "planetoid", "monet", "graph_cnn", "dynamic_filter", "bootstrap", "gcn", "gln", "agnn",
}  # fmt: skip


def test_every_file_is_in_the_list_and_every_name_has_its_file():
    folder = resources.files("agnn.studies") / "tables"
    files = {file.name.removesuffix(".toml") for file in folder.iterdir()}
    assert files == {*NAMES, "graphs"}
    assert set(SIZES) == set(TABLES)


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_says_what_it_is(name):
    experiment = read_bundled(name)
    assert experiment.name == name
    assert experiment.place
    assert experiment.title
    assert all(note.strip().endswith((".", "?")) for note in experiment.notes)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_all_rows_and_cells_of_the_paper(name):
    table = read_bundled(name)
    own = [row for row in table.rows if row.configuration == "published"]
    filled = sum(figure is not None for row in own for figure in row.figures)
    assert (len(own), len(table.columns), filled) == SIZES[name]


@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_a_method_that_exists_can_be_run(name):
    table = read_bundled(name)
    works = works_of(table)
    assert {work.method.name for work in works} == (
        {row.method for row in table.rows} & set(method_names())
        if table.source == "runs"
        else set()
    )
    assert all(work.seeds == tuple(range(len(work.seeds))) for work in works)


def test_table_2_has_every_method_of_the_paper():
    assert {row.method for row in read_bundled("table2").rows} == METHODS


def test_the_papers_own_rows_are_as_printed():
    rows = {
        row.title: [f and f.printed for f in row.figures] for row in read_bundled("table2").rows
    }
    assert rows["AGNN"] == ["71.7 ± 0.08", "83.1 ± 0.08", "79.9 ± 0.07"]
    assert rows["GLN"] == ["70.9 ± 0.05", "81.2 ± 0.05", "78.9 ± 0.05"]
    assert rows["Graph-CNN"] == [None, "76.3", None]
    assert rows["DCNN"][0] is rows["MoNet"][0] is rows["DynamicFilter"][0] is None


def test_the_copied_cells_of_the_perceptron_stand_beside_their_source():
    rows = {row.title: row for row in read_bundled("table2").rows}
    perceptron, svm = rows["Multilayer perceptron"], rows["T-SVM"]
    assert perceptron.figures[:2] == svm.figures[:2]
    (reference,) = perceptron.references
    assert [figure.mean for figure in reference.figures] == [46.5, 55.1, 71.4]
    assert any(note.startswith("Slip") for note in perceptron.notes)


@pytest.mark.parametrize("name", ["table2", "embeddings"])
def test_every_method_says_where_its_settings_or_figures_come_from(name):
    rows = [row for row in read_bundled(name).rows if row.configuration == "published"]
    assert [row.title for row in rows if not row.notes] == []
    notes = [note for row in read_bundled(name).rows for note in row.notes]
    assert all(note.endswith(".") for note in notes)
    assert len(notes) == len(set(notes))


@pytest.mark.parametrize("number", [2, 3, 4, 5, 6, 7, 8])
def test_every_table_names_the_departures_of_the_papers_own_methods(number):
    table = read_bundled(f"table{number}")
    mean_loss = "mean loss|loss is the mean"
    for name, patterns in (
        ("agnn", (mean_loss, "start at 1|starts at 1", "Glorot", "alibrated on test figures")),
        ("gln", (mean_loss, "first weights only", "Glorot")),
    ):
        rows = [row for row in table.rows if row.method == name]
        notes = " ".join([*table.notes, *(note for row in rows for note in row.notes)])
        for pattern in patterns if rows else ():
            assert re.search(pattern, notes), (name, pattern)


def test_the_number_of_runs_is_the_papers():
    seeds = {name: read_bundled(name).seeds for name in NAMES}
    assert (seeds["table2"], seeds["table3"], seeds["table4"], seeds["table5"]) == (100, 20, 10, 10)
    rows = {row.title: row.seeds for row in read_bundled("table2").rows}
    assert [rows[title] for title in ("LP", "T-SVM", "ManiReg", "Bootstrap")] == [1, 1, 1, 1]


def test_the_layer_table_keeps_coras_first_beta_at_zero():
    works = {(w.data.name, w.method.layers): w.method for w in works_of(read_bundled("table5"))}
    assert {layers for _, layers in works} == {1, 2, 3, 4, 5}
    assert all(method.first_beta == 0.0 for (name, _), method in works.items() if name == "cora")
    assert works["cora", 2] == AGNN.preset("fixed", "cora")


def test_tables_that_share_runs_share_their_keys():
    def works(name):
        return works_of(read_bundled(name))

    def keys(name):
        return {work.key for work in works(name)}

    published = {work.key for work in works("table3") if work.method.configuration == "published"}
    assert published <= keys("table7")
    assert keys("table4") <= keys("table8")
    assert len(keys("table5") & keys("table2")) == 3  # the layers of the presets


def test_folds_have_a_nested_figure_beside_them():
    works = {(work.method.name, work.split): work for work in works_of(read_bundled("table8"))}
    for split in ("3-fold", "10-fold"):
        assert works["agnn", split].method.watched == "test"
        nested = works["agnn", f"{split}-nested"].method
        assert nested == preset_method("agnn", split, "cora").with_fields(watched="validation")


def test_the_hyper_parameters_are_the_papers():
    found = compare_table(read_bundled("hyperparameters"), Store.in_memory())
    assert {cell.difference for row in found.rows for cell in row.cells} == {0.0}


def test_the_datasets_are_the_papers_but_for_what_the_notes_say():
    found = compare_table(read_bundled("table1"), Store.in_memory())
    different = {
        (row.row.title, found.table.columns[k].title): cell.difference
        for row in found.rows
        for k, cell in enumerate(row.cells)
        if cell.difference
    }
    assert different == {
        ("CiteSeer", "train, 3-fold"): -10, ("CiteSeer", "train, 10-fold"): -14,
        ("PubMed", "listed edges"): 10, ("PubMed", "train, 3-fold"): -1,
    }  # fmt: skip


def test_the_figures_are_of_the_layers_that_the_paper_names():
    panels = {p.dataset: p.layer for n in ("figure1", "figure3") for p in read_bundled(n).panels}
    assert panels == {"citeseer": 1, "cora": 2, "pubmed": 4}
    for name in ("figure2", "figure4", "figure5", "figure6"):
        drawing = read_bundled(name)
        assert isinstance(drawing, Drawing)
        assert drawing.kind == "neighbourhoods"


@pytest.mark.parametrize(
    ("dataset", "node"), [("pubmed", 8434), ("pubmed", 1580), ("citeseer", 1512)]
)
def test_the_papers_nodes_are_no_test_nodes_as_a_note_says(dataset, node):
    assert node not in load_dataset(dataset).split("fixed").test


def test_all_is_everything_in_the_papers_order_and_once():
    assert [each.name for each in find_experiments(["all"])] == list(NAMES)
    assert [each.name for each in find_experiments(["table2", "TABLE2"])] == ["table2"]
    with pytest.raises(InputError, match="unknown experiment 'tabel2'; did you mean 'table2'"):
        find_experiments(["tabel2"])


def test_no_figure_shows_a_neighbourhood_of_another_again():
    seen = set()
    for name in ("figure2", "figure4", "figure5", "figure6"):
        for panel in read_bundled(name).panels:
            own = {(panel.dataset, panel.skip + k) for k in range(panel.count)}
            assert not own & seen
            seen |= own
