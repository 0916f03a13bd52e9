"""Edge weights in explanations, the explorer, reports, served models and exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from agnn import from_pandas
from agnn.errors import InputError
from agnn.explanation import Neighbourhood, explain
from agnn.report import run_facts, surroundings_of
from agnn.report._explanation_page import explanation_fragment
from agnn.runs import Run, evaluate
from agnn.web.api import ServedModel
from agnn.web.explore import _picture

NODES = 120


@pytest.fixture(scope="module")
def run() -> Run:
    source = np.random.default_rng(0)
    label = source.integers(3, size=NODES)
    nodes = pd.DataFrame({
        "id": [f"n{k}" for k in range(NODES)],
        "size": source.normal(label, 1.0),
        "kind": np.array(["a", "b", "c"])[label],
    })  # fmt: skip
    ends = source.integers(NODES, size=(2, 300))
    edges = pd.DataFrame({
        "source": nodes["id"].to_numpy()[ends[0]], "target": nodes["id"].to_numpy()[ends[1]],
        "w": source.lognormal(size=300),
    })  # fmt: skip
    data = from_pandas(nodes, edges, label="kind", edge_weight="w")
    return evaluate("agnn", data, "stratified", (0, 1), changes={"epochs": 20})


def weight_of(run: Run, i: int, j: int) -> float | None:
    ends = np.array(sorted((i, j)))
    place = np.flatnonzero((run.data.edges == ends[:, None]).all(0))
    return float(run.data.edge_weights[place[0]]) if place.size else None


@pytest.fixture(scope="module")
def hub(run: Run) -> int:
    return int(np.bincount(run.data.edges.ravel()).argmax())


def test_neighbours_have_the_weights_of_their_edges(run: Run, hub: int) -> None:
    found = explain(run, hub, limit=30)
    assert found.itself.edge_weight is None
    direct = [each for each in found.neighbours if each.hops == 1]
    assert direct
    for each in found.neighbours:
        assert each.edge_weight == weight_of(run, hub, each.node)
        assert each.to_dict()["edge_weight"] == each.edge_weight


def test_the_attention_that_is_shown_has_the_weights_in_it(run: Run, hub: int) -> None:
    """With beta = 0 it is the share of the weights alone."""
    with torch.no_grad():
        kept = [layer.beta.clone() for layer in run.network.layers]
        for layer in run.network.layers:
            layer.beta.zero_()
        try:
            found = explain(run, hub, limit=NODES)
        finally:
            for layer, beta in zip(run.network.layers, kept, strict=True):
                layer.beta.copy_(beta)
    direct = [each for each in found.neighbours if each.hops == 1]
    total = 1.0 + sum(each.edge_weight for each in direct)
    for each in direct:
        assert each.attention[-1] == pytest.approx(each.edge_weight / total, rel=1e-5)


def test_the_page_of_an_explanation_has_a_column_of_weights(run: Run, hub: int) -> None:
    page = explanation_fragment(explain(run, hub), surroundings_of(run, hub))
    assert '<th scope="col">edge weight</th>' in page
    (nearest, *_) = [each for each in explain(run, hub).neighbours if each.hops == 1]
    assert f"<td>{nearest.edge_weight:g}</td>" in page


def test_a_neighbourhood_and_the_explorers_picture_have_them(run: Run, hub: int) -> None:
    shown = Neighbourhood.of(run, hub, run.split, hops=2)
    expected = [weight_of(run, int(i), int(j)) for i, j in shown.nodes[shown.edges].T.tolist()]
    assert shown.edge_weights.tolist() == expected
    links = _picture._link_records(shown, None)
    assert [weight_of(run, *(int(shown.nodes[end]) for end in link["ends"])) for link in links] == [
        link["weight"] for link in links
    ]


def test_the_report_names_their_range_and_lists_them(run: Run) -> None:
    facts = run_facts(run)
    lines = dict(facts.data.report.count_lines())
    low, high = run.data.edge_weights.min(), run.data.edge_weights.max()
    assert lines["edge weights"].startswith(f"{low:g} to {high:g}")
    place = {each: k for k, each in enumerate(run.data.node_ids)}
    for edge in facts.attention.most:
        expected = weight_of(run, place[edge.receiver], place[edge.sender])
        assert edge.weight == pytest.approx(expected)


def test_a_served_model_takes_edges_with_weights(run: Run) -> None:
    model = ServedModel(run)
    model.warm()
    nodes = [("new", {"size": 0.5})]
    light, heavy = (
        model.new(nodes, [("new", "n0", weight)]).predictions[0] for weight in (0.01, 50.0)
    )
    assert light.probability != heavy.probability
    table = pd.DataFrame({"id": ["new"], "size": [0.5]})
    links = pd.DataFrame({"source": ["new"], "target": ["n0"], "w": [50.0]})
    expected = run.predict_new(table, links).probabilities[0]
    np.testing.assert_allclose(list(heavy.probabilities.values()), expected, atol=1e-6)


def test_the_schema_of_a_weighted_model_asks_for_weights(run: Run) -> None:
    from pydantic import ValidationError

    from agnn.web.api._schema import new_nodes_schema

    body: dict[str, Any] = {"nodes": [{"id": "x", "columns": {"size": 1.0}}]}
    schema = new_nodes_schema(run.data.preprocessing, has_edge_weights=True)
    assert schema(**body, edges=[("x", "n0", 2.0)]).edges == [("x", "n0", 2.0)]
    for wrong in (("x", "n0"), ("x", "n0", 0.0), ("x", "n0", -1.0), ("x", "n0", "2")):
        with pytest.raises(ValidationError, match="edges"):
            schema(**body, edges=[wrong])
    plain = new_nodes_schema(run.data.preprocessing)
    with pytest.raises(ValidationError, match="edges"):
        plain(**body, edges=[("x", "n0", 2.0)])


def test_a_weighted_run_is_not_exported(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from agnn.onnx import export_run

    with pytest.raises(
        InputError, match="'frames' has edge weights, which the exported file cannot take"
    ):
        export_run(run, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
