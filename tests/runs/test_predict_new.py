"""Predictions for new nodes: from their neighbourhood alone, and the same as on the whole graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from agnn.data import NodeData
from agnn.data.tables import from_pandas, with_new_nodes
from agnn.errors import DataError, InputError
from agnn.estimator import NodeClassifier
from agnn.graph import Graph
from agnn.methods import get_method
from agnn.runs import Run, _new_nodes, evaluate

NODES = 300


def tables(seed: int = 0, ids: Any = str) -> tuple[pd.DataFrame, pd.DataFrame]:
    source = np.random.default_rng(seed)
    label = source.integers(3, size=NODES)
    nodes = pd.DataFrame({
        "id": [ids(k) for k in range(NODES)],
        "size": source.normal(label, 1.0),
        "colour": np.array(["red", "green", "blue"])[(label + (source.random(NODES) < 0.3)) % 3],
        "kind": np.array(["a", "b", "c"])[label],
    })  # fmt: skip
    ends = source.integers(NODES, size=(2, 500))
    edges = pd.DataFrame({"source": [ids(k) for k in ends[0]], "target": [ids(k) for k in ends[1]]})
    return nodes, edges


def data(ids: Any = str) -> NodeData:
    return from_pandas(*tables(ids=ids), label="kind")


NEW = pd.DataFrame({
    "id": ["x", "y", "z"], "size": [0.1, 2.3, 1.0], "colour": ["red", "blue", "green"],
})  # fmt: skip
# To known nodes, to each other, twice, to itself, and one edge between known nodes.
LINKS = pd.DataFrame({
    "source": ["x", "x", "y", "y", "x", "z", "11", "0"],
    "target": ["5", "7", "x", "120", "5", "z", "200", "1"],
})  # fmt: skip


def on_the_whole_graph(run: Run, nodes: Any, edges: Any, **options: Any) -> np.ndarray:
    grown = with_new_nodes(run.data, nodes, edges, **options)
    return run.predict_graph(grown).probabilities[run.data.nodes :]


@pytest.mark.parametrize(
    "name", ["agnn", "gcn", "gat", "appnp", "multilayer_perceptron", "sgc", "dcnn"]
)
def test_new_nodes_are_predicted_as_on_the_whole_graph(name: str) -> None:
    method = get_method(name)()
    run = evaluate(method.with_fields(epochs=3), data(), "stratified", (0, 1))
    found = run.predict_new(NEW, LINKS)
    assert found.ids == ("x", "y", "z")
    np.testing.assert_allclose(
        found.probabilities, on_the_whole_graph(run, NEW, LINKS), rtol=0, atol=1e-6
    )


def weighted_data() -> NodeData:
    nodes, edges = tables()
    strength = np.random.default_rng(1).lognormal(size=len(edges))
    return from_pandas(nodes, edges.assign(strength=strength), label="kind", edge_weight="strength")


@pytest.mark.parametrize("name", ["agnn", "gcn", "graphsage", "gat", "sgc"])
def test_new_nodes_of_a_weighted_graph_are_predicted_as_on_the_whole_graph(name: str) -> None:
    method = get_method(name)()
    run = evaluate(method.with_fields(epochs=3), weighted_data(), "stratified", (0, 1))
    links = LINKS.assign(strength=[0.5, 2.0, 3.0, 0.1, 0.7, 1.0, 5.0, 0.2])
    found = run.predict_new(NEW, links)
    np.testing.assert_allclose(
        found.probabilities, on_the_whole_graph(run, NEW, links), rtol=0, atol=1e-6
    )
    lighter = run.predict_new(NEW, links.assign(strength=0.01))
    gap = np.abs(lighter.probabilities - found.probabilities).max()
    assert bool(gap > 1e-5) is method.uses_edge_weights


def test_new_edges_have_weights_where_the_graph_has_them_and_only_there() -> None:
    run = evaluate("agnn", weighted_data(), "stratified", (0,), changes={"epochs": 1})
    with pytest.raises(DataError, match=r"has edge weights, so new edges need theirs. It has no"):
        run.predict_new(NEW, LINKS)
    with pytest.raises(InputError, match="has edge weights; leave out `ignore_weights`"):
        run.predict_new(NEW, LINKS, ignore_weights=True)
    named = LINKS.assign(heft=2.0)
    assert run.predict_new(NEW, named, edge_weight="heft").ids == ("x", "y", "z")
    plain = evaluate("agnn", data(), "stratified", (0,), changes={"epochs": 1})
    with pytest.raises(InputError, match="has no edge weights; leave out `edge_weight`"):
        plain.predict_new(NEW, named, edge_weight="heft")


@pytest.mark.parametrize("scaling", ["sum", "length", "standard", "none"])
def test_features_of_new_nodes_are_scaled_as_those_of_training(scaling: str) -> None:
    run = evaluate("agnn", data(), "stratified", (0,), changes={"epochs": 3, "scaling": scaling})
    np.testing.assert_allclose(
        run.predict_new(NEW, LINKS).probabilities,
        on_the_whole_graph(run, NEW, LINKS), rtol=0, atol=1e-6,
    )  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Run:
    return evaluate("agnn", data(), "stratified", (0, 1), changes={"epochs": 5, "layers": 3})


def test_a_new_node_without_edges_is_predicted(run: Run) -> None:
    none = pd.DataFrame({"source": [], "target": []}, dtype=object)
    np.testing.assert_allclose(
        run.predict_new(NEW, none).probabilities, on_the_whole_graph(run, NEW, none), atol=1e-6
    )


def test_the_graph_of_the_run_is_not_built_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.precompute()
    sizes = []

    class Counted(Graph):
        @classmethod
        def from_edges(cls, edges: Any, nodes: int, weights: Any = None) -> Graph:
            sizes.append((edges.shape[1], nodes))
            return Graph.from_edges(edges, nodes, weights)

    monkeypatch.setattr(_new_nodes, "Graph", Counted)
    links = pd.DataFrame({"source": ["x"], "target": ["5"]})
    run.predict_new(NEW[:1], links)
    ((edges, nodes),) = sizes
    assert 0 < nodes < run.data.nodes / 2
    assert edges < run.graph.edges / 2


def test_the_classifier_and_the_run_are_one_code_path() -> None:
    model = NodeClassifier("gcn", parameters={"epochs": 3}, replicas=2).fit(data())
    found = model.predict_new(NEW, LINKS)
    assert (found.probabilities == model.run_.predict_new(NEW, LINKS).probabilities).all()
    assert set(found.classes) <= set(model.classes_)


def test_ids_that_are_numbers_in_one_table_and_text_in_another_are_the_same(
    tmp_path: Path,
) -> None:
    numbered = evaluate("gcn", data(ids=int), "stratified", (0,), changes={"epochs": 2})
    NEW.to_csv(tmp_path / "new.csv", index=False)
    LINKS.to_csv(tmp_path / "links.csv", index=False)
    found = numbered.predict_new(tmp_path / "new.csv", tmp_path / "links.csv")
    assert len(found) == 3
    twice = NEW.assign(id=["x", "y", "17"])
    with pytest.raises(DataError, match=r"row 3: the id '17' is in .* already"):
        numbered.predict_new(twice, LINKS)


def test_unknown_ids_are_refused_or_dropped_on_request(run: Run) -> None:
    links = pd.DataFrame({"source": ["x", "x"], "target": ["5", "nobody"]})
    with pytest.raises(DataError, match=r"1 of 2 edges name an id that is not in .*'nobody'"):
        run.predict_new(NEW, links)
    kept = run.predict_new(NEW, links, drop_unknown=True)
    assert (kept.probabilities == run.predict_new(NEW, links[:1]).probabilities).all()


def test_numbers_that_are_too_large_are_refused(run: Run) -> None:
    with pytest.raises((InputError, DataError), match=r"too large|infinite|finite"):
        run.predict_new(NEW.assign(size=[1e300, 0.0, 0.0]), LINKS)


def test_data_without_tables_takes_no_new_nodes(toy: NodeData) -> None:
    made = evaluate("gcn", toy, "fixed", (0,), changes={"epochs": 1})
    with pytest.raises(InputError, match="'toy' was not made from a table"):
        made.predict_new(NEW, LINKS)


def test_features_made_of_the_graph_alone_change_with_it() -> None:
    nodes, edges = tables()
    plain = from_pandas(nodes[["id", "kind"]], edges, label="kind")
    assert plain.preprocessing.is_structural
    made = evaluate("gcn", plain, "stratified", (0,), changes={"epochs": 2})
    ids = pd.DataFrame({"id": ["x", "y", "z"]})
    np.testing.assert_allclose(
        made.predict_new(ids, LINKS).probabilities, on_the_whole_graph(made, ids, LINKS), atol=1e-6
    )
