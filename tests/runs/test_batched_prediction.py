"""Predictions in batches of nodes are those of all nodes at once, and need no scores of all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agnn.cli import main
from agnn.data import NodeData
from agnn.errors import InputError
from agnn.methods import get_method
from agnn.runs import Run, _inference as inference, evaluate, load_run


def loaded(name: str, data: NodeData, folder: Path) -> Run:
    method = get_method(name)
    evaluate(method(epochs=3), data, "fixed", (0, 1, 2)).save(folder)
    return load_run(folder)


@pytest.mark.parametrize("name", ["agnn", "gcn", "gat", "gatv2", "grand", "chebnet", "sgc"])
def test_batches_give_the_predictions_of_all_at_once(
    name: str, toy: NodeData, tmp_path: Path
) -> None:
    run = loaded(name, toy, tmp_path / "run")
    found = run.predict(batch=17)
    assert not run.has_scores
    expected = load_run(tmp_path / "run").predict()
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-6)
    np.testing.assert_allclose(found.disagreement, expected.disagreement)
    assert found.ids == expected.ids


def test_batches_are_taken_where_memory_is_short(
    toy: NodeData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = loaded("gcn", toy, tmp_path / "run")
    expected = load_run(tmp_path / "run").predict()
    monkeypatch.setattr(inference, "free_memory", lambda _device: 1000)
    monkeypatch.setattr(inference, "_LEAST", 10)

    def fail(*_: Any) -> None:
        raise AssertionError("the scores of all nodes")

    monkeypatch.setattr(inference.Inference, "scores", fail)
    np.testing.assert_allclose(run.predict().probabilities, expected.probabilities, atol=1e-6)
    with pytest.raises(InputError, match="`batch` must be at least 1; got 0"):
        run.predict(batch=0)


def test_the_command_takes_a_batch(
    toy: NodeData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded("gcn", toy, tmp_path / "run")
    for name, more in (("all.csv", []), ("batched.csv", ["--batch", "20"])):
        assert main(["predict", str(tmp_path / "run"), "--out", str(tmp_path / name), *more]) == 0
    one, two = (
        np.genfromtxt(tmp_path / name, delimiter=",", skip_header=1, usecols=2)
        for name in ("all.csv", "batched.csv")
    )
    np.testing.assert_allclose(one, two, atol=1e-6)
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "run"), "--batch", "5", "--nodes", "x", "--edges", "y"])
    assert "--batch goes without --nodes" in capsys.readouterr().err
