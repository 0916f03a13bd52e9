"""Methods that read other features than the data's answer the same after they are kept."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.errors import InputError
from agnn.estimator import NodeClassifier
from agnn.networks import DCNN
from agnn.runs import evaluate


@pytest.mark.parametrize("name", ["sgc", "dcnn"])
def test_a_method_that_spreads_its_features_first_predicts_the_same_after_loading(
    name, toy, tmp_path
):
    model = NodeClassifier(name, replicas=2, split="fixed").fit(toy)
    model.save(tmp_path / "kept")
    again = NodeClassifier.load(tmp_path / "kept")
    fitted = model.run_.scores.mean(0).numpy()
    assert np.abs(again.run_.scores.mean(0).numpy() - fitted).max() < 1e-5
    assert (again.predict(toy) == model.predict(toy)).all()


def test_class_weights_and_batches_do_not_go_together(toy):
    with pytest.raises(InputError, match="dcnn does not take class weights; agnn"):
        evaluate(DCNN(epochs=2), toy, "fixed", (0,), class_weight="balanced")
