"""The scaling of features goes with a run: chosen by data, saved, loaded, applied to new nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agnn.data import NodeData, load_dataset
from agnn.estimator import NodeClassifier
from agnn.methods import get_method
from agnn.runs._presets import suited_method


def numbers(nodes: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(5.0, 2.0, (nodes, 4))


def test_the_bundled_datasets_keep_their_presets_and_other_data_what_suits_it(toy):
    assert suited_method("agnn", "fixed", load_dataset("cora")).scaling == "sum"  # type: ignore[attr-defined]
    renamed = replace(toy, name="cora")
    for name in ("agnn", "gcn", "appnp", "sgc"):
        assert suited_method(name, "fixed", renamed).scaling == "length"  # type: ignore[attr-defined]
    assert suited_method("dcnn", "fixed", renamed).scaling == "none"  # type: ignore[attr-defined]


def test_the_scaling_of_stored_results_does_not_change_with_the_data():
    """A dataset of the package under its own name is the paper's, whatever its labels."""
    cora = load_dataset("cora")
    part = replace(cora, labels=np.where(np.arange(cora.nodes) < 500, cora.labels, -1))
    assert suited_method("agnn", "fixed", part) == suited_method("agnn", "fixed", cora)


@pytest.mark.parametrize("scaling", ["sum", "length", "standard", "none"])
def test_new_nodes_are_scaled_as_the_training_data_was(scaling):
    """The same nodes in other company must be predicted the same: statistics are not refitted."""
    x, y = numbers(60, 0), np.arange(60) % 2
    x[:, 0] += 3 * y
    parameters = {"epochs": 5, "scaling": scaling}
    model = NodeClassifier("agnn", parameters=parameters, replicas=1, split="stratified")
    model.fit(x, y, edges=np.zeros((2, 0), int))
    assert model.run_.method.scaling == scaling  # type: ignore[attr-defined]
    own = model.predict_proba()
    few = model.predict_proba(x[:3], edges=np.zeros((2, 0), int))
    assert few == pytest.approx(own[:3], abs=1e-5)


def test_a_dense_scaling_of_sparse_features_is_counted_in_the_memory(toy: NodeData):
    from agnn.methods import NetworkMethod, Task

    method = get_method("agnn")()
    assert isinstance(method, NetworkMethod)
    task = Task(toy, (toy.split("fixed"),), (0,))
    standard = method.with_fields(scaling="standard").memory_estimate(task)
    assert standard.features >= toy.nodes * toy.feature_count * 4
