"""`agnn.reproduce`: a table or figure rerun by one call, without the command line."""

from __future__ import annotations

import numpy as np
import pytest
from small_tables import SMALL, small_table

import agnn
import agnn.studies._executor as executor
from agnn.errors import DataError, InputError
from agnn.report._paper_figures import PANEL_FIGURES
from agnn.studies import Drawing, Store
from agnn.studies._reading import read_bundled, read_experiment
from agnn.studies._spec import KINDS
from agnn.studies._works import works_of

FIGURE = """
title = "F"
kind = "neighbourhoods"
seeds = 2
[[panels]]
dataset = "cora"
title = "Cora"
count = 2
[[panels]]
dataset = "cora"
title = "Cora again"
count = 3
"""


@pytest.fixture
def graphs(tmp_path):
    """A folder with a graph file and a graph of two tables."""
    random = np.random.default_rng(0)
    folder = tmp_path / "graphs"
    (folder / "pages").mkdir(parents=True)
    count, labels = 240, np.arange(240) % 3
    pairs = random.integers(0, count, (600, 2))
    nodes = [f"n{k},{labels[k] * 2.0 + random.random():.3f},c{labels[k]}" for k in range(count)]
    (folder / "pages" / "people.csv").write_text("id,x,kind\n" + "\n".join(nodes) + "\n")
    edges = [f"n{i},n{j}" for i, j in pairs if i != j]
    (folder / "pages" / "links.csv").write_text("source,target\n" + "\n".join(edges) + "\n")
    data = agnn.read_tables(
        folder / "pages" / "people.csv", folder / "pages" / "links.csv", label="kind"
    )
    from scipy import sparse

    rows, columns = data.edges
    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    adjacency = sparse.csr_matrix((np.ones(both[0].size), both), shape=(count, count))
    parts = {"adj": adjacency, "attr": sparse.csr_matrix(np.eye(count)[:, :5] + labels[:, None])}
    arrays = {"labels": labels}
    for name, matrix in parts.items():
        for part in ("data", "indices", "indptr", "shape"):
            arrays[f"{name}_{part}"] = np.asarray(getattr(matrix, part))
    np.savez(folder / "ring.npz", **arrays)
    (folder / "README.md").write_text("not a graph")
    return folder


def test_a_table_is_rerun_and_compared_by_one_call(tmp_path):
    (tmp_path / "mine.toml").write_text(SMALL, encoding="utf-8")
    file = tmp_path / "runs.sqlite"
    options = {"datasets": ["Cora"], "seeds": 2, "store": file}
    found = agnn.reproduce(str(tmp_path / "mine.toml"), **options)
    assert (found.new, found.unfinished, found.failures) == (2, 0, ())
    cell = found["mine"].rows[0].cells[0]
    assert (cell.paper.printed, cell.ours.n, cell.verdict) == ("83.1 ± 0.08", 2, "below")
    assert found.results[0].command.endswith("mine.toml --datasets cora --seeds 2")
    again = agnn.reproduce([str(tmp_path / "mine.toml")], **options)
    assert again.new == 0
    assert again["mine"].rows == found["mine"].rows
    with pytest.raises(KeyError, match="other"):
        found["other"]


def test_tables_as_objects_and_a_store_in_memory():
    seen = []
    found = agnn.reproduce([small_table()], datasets=["cora"], seeds=1, progress=seen.append)
    assert found["small"].rows[0].cells[0].ours.n == 1
    assert seen[-1].finished == 1


def test_a_figure_gets_its_models_trained_once_for_each_dataset():
    drawing = read_experiment("f", FIGURE, "f.toml")
    drawn, seen = [], []

    def draw(figure: Drawing, train) -> None:
        drawn.extend((panel.count, train(panel.dataset)) for panel in figure.panels)

    import agnn.studies._reproduce as reproduction

    real = reproduction.preset_method
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "preset_method", lambda *a: real(*a).with_fields(epochs=2))
        found = agnn.reproduce([drawing], draw=draw, progress=seen.append)
    assert found.results[0].comparison is None
    assert [count for count, _ in drawn] == [2, 3]
    assert drawn[0][1] is drawn[1][1]
    assert set(drawn[0][1]) == {"agnn", "gcn"}
    assert (seen[-1].label, seen[-1].finished) == ("f: training on cora", 2)


def test_every_kind_of_figure_can_be_drawn():
    assert set(KINDS) == set(PANEL_FIGURES)


def test_own_graphs_are_columns_and_missing_methods_are_shown_as_missing(graphs, monkeypatch):
    monkeypatch.setattr(executor, "_MOST", 2)
    store = Store.in_memory()
    options = {"data": graphs, "methods": ["gcn", "not_yet"], "seeds": 2, "store": store}
    table = read_bundled("graphs")
    with pytest.raises(InputError, match="unknown method 'not_yet'"):
        agnn.reproduce("graphs", **options)
    options["methods"] = ["gcn", "label_propagation"]
    assert {row.method for row in table.rows} >= {"agnn", "agnn_plus", "majority"}
    found = agnn.reproduce("graphs", **options)
    comparison = found["graphs"]
    assert [column.title for column in comparison.table.columns] == ["pages", "ring"]
    assert {column.split for column in comparison.table.columns} == {"20-per-class"}
    (row,) = comparison.rows
    assert [cell.ours.n for cell in row.cells] == [2, 2]
    assert {cell.verdict for cell in row.cells} == {"not in the paper"}
    assert found.results[0].command == f"agnn reproduce graphs --data {graphs} " + (
        "--methods gcn,label_propagation --seeds 2"
    )
    assert agnn.reproduce("graphs", **options).new == 0
    one = agnn.reproduce("graphs", datasets=["ring"], **options)
    assert [column.title for column in one["graphs"].table.columns] == ["ring"]


def test_mistakes_with_own_graphs_are_named(graphs, tmp_path):
    with pytest.raises(InputError, match="'graphs' is a table over your own graphs: name their"):
        agnn.reproduce("graphs")
    with pytest.raises(InputError, match="`data` goes with the experiment 'graphs'"):
        agnn.reproduce("table1", data=graphs)
    with pytest.raises(InputError, match="is not a folder of graphs"):
        agnn.reproduce("graphs", data=tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no graphs"):
        agnn.reproduce("graphs", data=tmp_path / "empty")
    with pytest.raises(InputError, match="unknown graph 'rnig'; did you mean 'ring'"):
        agnn.reproduce("graphs", data=graphs, datasets=["rnig"])


def test_works_of_several_tables_are_listed_once():
    table = small_table()
    assert len(works_of(table, table)) == len(works_of(table)) == 2
