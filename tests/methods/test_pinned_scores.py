"""One pinned run each: what a change of protocol would move, and another CPU would not."""

from __future__ import annotations

import pytest
from torch import tensor

from agnn.methods import get_method
from agnn.runs import evaluate, preset_method
from properties import assert_close

# Cora, fixed split, seeds 0 to 2, 20 epochs: the last training loss and the test accuracies.
# Another order of float additions moves a loss in the sixth digit and an accuracy by a node or
# two of the 1000; another initialisation, loss, penalty, dropout or selection moves both far.
PINNED = {
    "agnn": ([1.7760, 1.7955, 1.7967], [69.7, 82.7, 77.6]),
    "gcn": ([1.7622, 1.7599, 1.7571], [28.9, 67.8, 77.8]),
    "gln": ([1.6870, 1.6799, 1.6913], [72.8, 75.6, 75.4]),
    "multilayer_perceptron": ([1.7839, 1.7759, 1.7872], [21.1, 48.2, 55.7]),
    "semi_supervised_embedding": ([2.3497, 2.3357, 2.3628], [30.4, 52.9, 52.0]),
    "appnp": ([1.8415, 1.8316, 1.8196], [63.2, 78.6, 71.9]),
    "dcnn": ([0.0247, 0.0252, 0.0252], [77.0, 78.0, 77.3]),
    "dynamic_filter": ([1.8449, 1.7981, 1.8383], [67.0, 72.2, 58.7]),
    "gat": ([1.8975, 1.8823, 1.8928], [73.1, 75.3, 64.1]),
    "gcnii": ([1.8666, 1.8585, 1.8633], [75.1, 80.4, 65.6]),
    "graph_cnn": ([0.7660, 0.5543, 0.5637], [74.0, 74.2, 72.3]),
    "monet": ([1.3867, 1.3884, 1.3466], [72.1, 64.3, 53.4]),
    "sgc": ([0.4729, 0.4732, 0.4698], [79.0, 79.8, 79.5]),
}
CHANGES = {"gcnii": {"layers": 8}}  # 64 would take its time


@pytest.mark.parametrize("name", PINNED)
def test_twenty_epochs_on_cora_end_where_they_ended(name, cora):
    losses, accuracies = PINNED[name]
    method = preset_method(name, "fixed", "cora").with_fields(epochs=20, **CHANGES.get(name, {}))
    run = evaluate(method, cora, "fixed", (0, 1, 2))
    # Printed with four decimals, which is coarse for a small loss.
    tolerance = max(2e-4, 1e-4 / max(losses))
    assert_close(run.history.training_loss[-1], tensor(losses), tolerance)
    assert run.accuracy.values == pytest.approx(accuracies, abs=0.6)


# Cora, fixed split, published settings, seed 0: the test accuracy.
WITHOUT_EPOCHS = {
    "bootstrap": 70.5,
    "ica": 73.7,
    "label_propagation": 73.4,
    "manifold_regularisation": 64.4,
    "single_layer_perceptron": 57.6,
    "t_svm": 59.3,
}


@pytest.mark.parametrize("name", WITHOUT_EPOCHS)
def test_the_published_settings_on_cora_score_what_they_scored(name, cora):
    run = evaluate(preset_method(name, "fixed", "cora"), cora, "fixed", (0,))
    assert run.accuracy.mean == pytest.approx(WITHOUT_EPOCHS[name], abs=0.6)


# The toy graph, seeds 0 and 1: the mean squared probability, a number that every step moves.
PLANETOID = {"planetoid_t": [0.14919, 0.11236], "planetoid_i": [0.14407, 0.15627]}


@pytest.mark.parametrize("name", PLANETOID)
def test_planetoid_ends_where_it_ended(name, toy):
    method = get_method(name)(label_batches=50, walk_batches=20, epochs=200)
    scores = evaluate(method, toy, "fixed", (0, 1)).scores
    assert_close(scores.square().mean((1, 2)), tensor(PLANETOID[name]), 1e-3)
