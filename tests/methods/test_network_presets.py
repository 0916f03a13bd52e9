"""The other networks have their papers' settings, and train as their authors' programs do."""

from __future__ import annotations

import pytest

from agnn.errors import InputError
from agnn.methods import Task
from agnn.networks import (
    AGNN,
    APPNP,
    DCNN,
    GAT,
    GCN,
    GCNII,
    SGC,
    AGNNPlus,
    DynamicFilter,
    GraphCNN,
    MoNet,
)
from agnn.training import BestThenLowest, BothBest, HighestAccuracy, LastEpoch, LowestLoss

DATASETS = ("citeseer", "cora", "pubmed")


def held(method, dataset: str, *names: str) -> list[object]:
    preset = method.preset("fixed", dataset)
    return [getattr(preset, name) for name in names]


@pytest.mark.parametrize("dataset", DATASETS)
def test_gat_has_eight_heads_of_eight_and_other_rates_on_pubmed(dataset):
    names = ("heads", "hidden", "output_heads", "learning_rate", "weight_decay", "dropout")
    rest = [8, 0.01, 1e-3] if dataset == "pubmed" else [1, 0.005, 5e-4]
    assert held(GAT, dataset, *names) == [8, 8, *rest, 0.6]
    assert GAT.preset("fixed", dataset).recipe().selection == BothBest(100)
    assert GAT.preset("cross-validation", "cora").recipe().selection == BothBest(100, "test")


def test_sgc_propagates_twice_and_trains_for_a_hundred_epochs():
    assert held(SGC, "cora", "steps", "learning_rate", "epochs", "dropout") == [2, 0.2, 100, 0.0]
    assert SGC().recipe().selection == LastEpoch()


@pytest.mark.parametrize("dataset", DATASETS)
def test_appnp_has_its_papers_settings_everywhere(dataset):
    names = ("hidden", "steps", "alpha", "learning_rate", "weight_decay", "dropout", "patience")
    assert held(APPNP, dataset, *names) == [64, 10, 0.1, 0.01, 5e-3, 0.5, 100]
    recipe = APPNP().recipe()
    assert recipe.selection == BestThenLowest(100)
    assert recipe.selection.adds_penalty
    assert [recipe.is_decayed(name) for name in ("first.weight", "last.weight")] == [True, False]


@pytest.mark.parametrize(
    ("dataset", "settings"),
    [
        ("citeseer", [32, 256, 0.7, 0.6]),
        ("cora", [64, 64, 0.6, 0.5]),
        ("pubmed", [16, 256, 0.5, 0.4]),
    ],
)
def test_gcnii_has_its_papers_depths_and_two_decays(dataset, settings):
    assert held(GCNII, dataset, "layers", "hidden", "dropout", "strength") == settings
    recipe = GCNII.preset("fixed", dataset).recipe()
    assert (recipe.weight_decay, recipe.other_decay, recipe.learning_rate) == (0.01, 5e-4, 0.01)
    names = ("layers.3.weight", "first.weight", "last.bias")
    assert [recipe.is_decayed(name) for name in names] == [True, False, False]
    assert recipe.selection == LowestLoss(100)


@pytest.mark.parametrize("method", [MoNet, DynamicFilter])
def test_monet_and_dynamic_filter_are_trained_as_gcn(method):
    names = ("hidden", "learning_rate", "weight_decay", "dropout", "epochs", "window")
    assert held(method, "cora", *names) == [16, 0.01, 5e-4, 0.5, 200, 10]


def test_dcnn_looks_two_steps_far_in_batches_of_ten():
    assert held(DCNN, "cora", "steps", "batch") == [2, 10]
    assert DCNN().recipe().batch == 10


def test_graph_cnn_takes_the_best_epoch_of_the_fold_in_cross_validation():
    chosen = GraphCNN.preset("cross-validation", "cora").recipe().selection
    assert chosen == HighestAccuracy(1, on="test")


@pytest.mark.parametrize("steps", [0, 2])
def test_sgcs_features_are_propagated_and_dcnns_stand_side_by_side(steps, toy):
    import torch

    from agnn.graph import Graph, Propagation

    graph = Graph.from_edges(toy.edges, toy.nodes)
    P = Propagation.symmetric(graph, torch.float64).matrix().toarray()
    X, raw = toy.scaled_features("sum").toarray(), toy.features.toarray()
    for _ in range(steps):
        X = P @ X
    assert abs(SGC(steps=steps).features(toy).toarray() - X).max() < 1e-6
    Q = Propagation.diffusion(graph, torch.float64).matrix().toarray()
    found = DCNN(steps=steps).features(toy).toarray()
    assert found.shape == (toy.nodes, 30 * (steps + 1))
    assert abs(found[:, :30] - raw).max() < 1e-6
    if steps:
        assert abs(found[:, 60:] - Q @ Q @ raw).max() < 1e-5


def test_dcnn_never_holds_a_matrix_of_nodes_by_nodes():
    """Around a hub two steps lead everywhere: the square of P has no zeros at all."""
    import tracemalloc

    import numpy as np

    from agnn.data import NodeData

    n = 20_000
    hub = NodeData.build(
        name="hub", features=np.ones((n, 4)), labels=np.arange(n) % 2, class_names=("a", "b"),
        edges=np.stack([np.zeros(n - 1, dtype=int), np.arange(1, n)]),
    )  # fmt: skip
    tracemalloc.start()
    found = DCNN(steps=2).features(hub)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.shape == (n, 12)
    assert peak < n * n // 10  # a tenth of one byte for each pair


@pytest.mark.parametrize(
    ("method", "times"),
    [(GAT(heads=4), 4), (MoNet(kernels=4), 4), (DynamicFilter(filters=8), 8), (GraphCNN(), 2)],
    ids=lambda each: getattr(each, "name", None),
)
def test_the_memory_estimate_counts_every_head(method, times, toy):
    states = method.memory_estimate(Task(toy, (toy.split("fixed"),), (0,))).states
    assert states >= 4 * toy.nodes * times * method.hidden


@pytest.mark.parametrize(
    ("method", "fields", "words"),
    [
        (GAT, {"hidden": 0}, "`hidden` must be at least 1; got 0"),
        (APPNP, {"hidden": 0}, "`hidden` must be at least 1; got 0"),
        (APPNP, {"alpha": 1.5}, "`alpha` must be at least 0 and at most 1; got 1.5"),
        (GCNII, {"layers": 0}, "`layers` must be at least 1; got 0"),
        (GCNII, {"hidden": 0}, "`hidden` must be at least 1; got 0"),
        (SGC, {"steps": -1}, "`steps` must be at least 0; got -1"),
        (DCNN, {"steps": -1}, "`steps` must be at least 0; got -1"),
        (MoNet, {"hidden": 0}, "`hidden` must be at least 1; got 0"),
        (DynamicFilter, {"hidden": 0}, "`hidden` must be at least 1; got 0"),
        (GraphCNN, {"hidden": 0}, "`hidden` must be at least 1; got 0"),
        (GAT, {"heads": 0}, "`heads` must be at least 1; got 0"),
        (MoNet, {"kernels": -2}, "`kernels` must be at least 1; got -2"),
        (AGNN, {"window": 0}, "`window` must be at least 1; got 0"),
        (AGNN, {"patience": 0}, "`patience` must be at least 1; got 0"),
        (AGNNPlus, {"temperature": float("nan")}, "`temperature` must be above 0; got nan"),
        (GCN, {"watched": "train"}, "unknown watched 'train'"),
    ],
)
def test_a_value_that_a_field_cannot_have_is_refused(method, fields, words):
    with pytest.raises(InputError, match=words):
        method(**fields)
