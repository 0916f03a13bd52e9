"""Run folders written by 0.1.0, before the scaling of features was a field of the methods, load and
predict what they predicted then. `older_folders/expected.json` was written by that version."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from agnn.estimator import NodeClassifier
from agnn.runs import load_run

FOLDERS = Path(__file__).parent / "older_folders"
EXPECTED = json.loads((FOLDERS / "expected.json").read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_an_older_folder_predicts_what_it_did(name: str) -> None:
    expected, run = EXPECTED[name], load_run(FOLDERS / name)
    assert run.accuracy.values == pytest.approx(expected["accuracy"])
    assert run.temperature == pytest.approx(expected["temperature"])
    found = run.probabilities[:40]
    np.testing.assert_allclose(found, expected["probabilities"], atol=2e-5)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_older_folder_is_a_classifier(name: str) -> None:
    expected, model = EXPECTED[name], NodeClassifier.load(FOLDERS / name, device="cpu")
    assert model.classes_.tolist() == expected["classes"]
    np.testing.assert_allclose(model.predict_proba()[:40], expected["probabilities"], atol=2e-5)
    if name == "classifier_indices":
        assert model.predict([3, 1]).shape == (2,)


def test_an_older_folder_takes_new_nodes() -> None:
    run, tables = load_run(FOLDERS / "agnn_tables"), FOLDERS / "tables"
    found = run.predict_new(tables / "new_nodes.csv", tables / "new_edges.csv")
    assert found.ids == ("x1", "x2")
    np.testing.assert_allclose(found.probabilities, EXPECTED["agnn_tables"]["new"], atol=2e-5)


def test_an_older_run_saved_again_is_the_same(tmp_path: Path) -> None:
    run = load_run(FOLDERS / "agnn_tables")
    run.save(tmp_path / "again")
    again = load_run(tmp_path / "again")
    assert again.method == run.method
    assert (again.probabilities == run.probabilities).all()
