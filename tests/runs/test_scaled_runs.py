"""The scaling of features goes with a run: chosen by data, saved, loaded, applied to new nodes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agnn.data import NodeData, load_dataset
from agnn.estimator import NodeClassifier
from agnn.methods import get_method
from agnn.runs import evaluate, load_run, save_run, suited_method


def numbers(nodes: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(5.0, 2.0, (nodes, 4))


def forget_scaling(folder: Path) -> None:
    """The folder as an older version wrote it: without a scaling and without checksums."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config["method"]["scaling"]
    config.pop("sha256")
    path.write_text(json.dumps(config))


@pytest.mark.parametrize(("is_normalised", "scaling"), [(True, "sum"), (False, "none")])
def test_an_older_folder_reads_its_features_as_it_did(toy, tmp_path, is_normalised, scaling):
    data = replace(toy, row_normalised=is_normalised)
    run = evaluate(get_method("agnn")(epochs=3, scaling=scaling), data, "uniform", (0,))
    save_run(run, tmp_path / "run")
    forget_scaling(tmp_path / "run")
    back = load_run(tmp_path / "run", trust_unchecked=True)
    assert back.method == run.method
    assert back.model is not None
    assert back.model.shape.scaling == scaling


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
    model = NodeClassifier("agnn", replicas=1, epochs=5, scaling=scaling, split="stratified").fit(
        x, y, edges=np.zeros((2, 0), int)
    )
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
