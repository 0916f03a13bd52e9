"""A run on a graph with edge weights: trained, saved, loaded and asked as any other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from agnn import NodeData, load_run
from agnn.data import load_dataset
from agnn.data.store import preset_name, read_data, write_data
from agnn.distributed import PartsFolder, partition
from agnn.errors import DataError, InputError
from agnn.estimator import NodeClassifier
from agnn.explanation import without_edges
from agnn.runs import Training, evaluate


def weighted(seed: int = 0) -> NodeData:
    cora = load_dataset("cora")
    weights = np.random.default_rng(seed).lognormal(size=cora.edges.shape[1]).astype(np.float32)
    return replace(cora, name="weighted", edge_weights=weights)


def test_a_saved_run_comes_back_with_its_weights(tmp_path: Path) -> None:
    run = evaluate("agnn", weighted(), "fixed", (0, 1), changes={"epochs": 3})
    run.save(tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert again.data.fingerprint == run.data.fingerprint
    assert np.array_equal(again.data.edge_weights, run.data.edge_weights)
    assert torch.equal(again.scores, run.scores)


def test_stored_data_keeps_the_weights_where_there_are_some(tmp_path: Path) -> None:
    data = weighted()
    write_data(data, tmp_path / "weighted.npz")
    write_data(data.unweighted, tmp_path / "plain.npz")
    assert read_data(tmp_path / "weighted.npz").fingerprint == data.fingerprint
    assert read_data(tmp_path / "plain.npz").edge_weights is None


def test_a_bundled_graph_with_weights_has_no_preset_and_another_fingerprint() -> None:
    cora = load_dataset("cora")
    heavy = replace(cora, edge_weights=np.full(cora.edges.shape[1], 2, np.float32))
    assert preset_name(cora) == "cora"
    assert preset_name(heavy) == "*"
    assert heavy.fingerprint != cora.fingerprint


def test_weights_decide_where_an_edge_between_known_nodes_counts() -> None:
    """An edge of next to no weight is as good as removed."""
    data = weighted()
    node = int(np.bincount(data.edges.ravel()).argmax())
    (place, *_) = np.flatnonzero((data.edges == node).any(0))
    light = data.edge_weights.copy()
    light[place] = 1e-12
    run = evaluate("agnn", replace(data, edge_weights=light), "fixed", (0,), changes={"epochs": 3})
    i, j = data.edges[:, place].tolist()
    gone = without_edges(run, node, [(i, j)])
    np.testing.assert_allclose(gone, run.ensemble.probabilities[node], atol=1e-6)


def test_removing_an_edge_of_a_weighted_gcn_removes_its_weight_from_the_degrees() -> None:
    data = weighted()
    run = evaluate("gcn", data, "fixed", (0,), changes={"epochs": 3})
    node = int(np.bincount(data.edges.ravel()).argmax())
    (place, *_) = np.flatnonzero((data.edges == node).any(0))
    i, j = data.edges[:, place].tolist()
    kept = np.arange(data.edges.shape[1]) != place
    smaller = replace(data, edges=data.edges[:, kept], edge_weights=data.edge_weights[kept])
    expected = run.predict_graph(smaller).probabilities[node]
    np.testing.assert_allclose(without_edges(run, node, [(i, j)]), expected, atol=1e-6)


def test_a_classifier_takes_a_weight_per_edge() -> None:
    data = weighted()
    features, labels = data.features, np.where(data.labels % 7 == 6, -1, data.labels)
    model = NodeClassifier("agnn", parameters={"epochs": 3}, split="stratified", replicas=1)
    fitted = model.fit(features, labels, edges=data.edges, edge_weight=data.edge_weights)
    assert np.array_equal(fitted.run_.data.edge_weights, data.edge_weights)
    heavy = fitted.predict_proba(features, edges=data.edges, edge_weight=data.edge_weights)
    np.testing.assert_allclose(heavy, fitted.predict_proba(), atol=1e-6)
    plain = fitted.predict_proba(features, edges=data.edges)
    assert np.abs(plain - heavy).max() > 1e-3
    with pytest.raises(InputError, match=r"one number per edge, shape \[5278\]; got"):
        model.fit(features, labels, edges=data.edges, edge_weight=[1.0])
    with pytest.raises(DataError, match=r"edge 0, \(0, 633\): the weight is 0"):
        model.fit(features, labels, edges=data.edges, edge_weight=np.zeros(5278))
    with pytest.raises(InputError, match="`edge_weight` needs `edges`"):
        model.fit(features, labels, edge_weight=[1.0])


def test_a_run_of_parts_predicts_again_with_the_weights_in_its_parts(tmp_path: Path) -> None:
    data = weighted()
    partition(data, tmp_path / "parts", 2, order="streaming")
    out = tmp_path / "run"
    Training(data=tmp_path / "parts", method="gcn", changes={"epochs": 3}, out=out).run()
    run = load_run(out)
    assert run.data.is_weighted
    positions = PartsFolder(tmp_path / "parts").positions()
    pairs = np.sort(positions[run.data.edges], axis=0)
    order = np.lexsort(pairs[::-1])
    assert np.array_equal(pairs[:, order], data.edges)
    assert np.array_equal(run.data.edge_weights[order], data.edge_weights)
    again = run.predict_graph(run.data).probabilities
    np.testing.assert_allclose(again, run.predict().probabilities, atol=1e-5)


def test_new_edges_of_weighted_data_need_weights() -> None:
    data = weighted()
    features, edges = data.features[:1], np.array([[2708, 2708], [0, 1]])
    grown = data.with_new_nodes(features, edges, ["new"], edge_weights=[3.0, 4.0])
    place = np.flatnonzero((grown.edges == 2708).any(0))
    assert grown.edge_weights[place].tolist() == [3.0, 4.0]
    assert np.array_equal(np.delete(grown.edge_weights, place), data.edge_weights)
    with pytest.raises(InputError, match="'weighted' has edge weights; new edges must be alike"):
        data.with_new_nodes(features, edges, ["new"])
