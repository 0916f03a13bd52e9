"""Trainings are recorded by trackers, each by its own package's reader."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agnn.data import NodeData
from agnn.errors import InputError, UnavailableError
from agnn.networks import GCN
from agnn.runs import Run, evaluate
from agnn.trackers import MLflow, TensorBoard, WandB, tracker

# What these packages warn of is not our concern.
pytestmark = pytest.mark.filterwarnings("ignore")
METHOD = GCN(epochs=4)


def trained(toy: NodeData, recorded: Any) -> Run:
    return evaluate(METHOD, toy, "fixed", (0, 1), callbacks=[recorded])


def test_tensorboard_has_every_epoch_and_the_result(toy: NodeData, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="pip install agnn[test]")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = trained(toy, TensorBoard(str(tmp_path)))
    found = EventAccumulator(str(tmp_path))
    found.Reload()
    losses = [each.value for each in found.Scalars("training_loss")]
    assert losses == pytest.approx(run.history.training_loss.mean(1).tolist())
    assert found.Scalars("test_accuracy")[0].value == pytest.approx(run.accuracy.mean)


def test_mlflow_has_parameters_every_epoch_and_the_result(
    toy: NodeData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow", reason="pip install agnn[test]")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (tmp_path / "store").as_uri()
    run = trained(toy, MLflow(uri, experiment="toys"))
    client = mlflow.MlflowClient(uri)
    place = client.get_experiment_by_name("toys").experiment_id
    (found,) = client.search_runs([place])
    assert found.data.params["learning_rate"] == "0.01"
    assert found.data.params["method"] == "gcn"
    assert found.data.metrics["test_accuracy"] == pytest.approx(run.accuracy.mean)
    assert found.data.tags["torch"] == run.versions["torch"]
    assert found.info.status == "FINISHED"
    losses = client.get_metric_history(found.info.run_id, "training_loss")
    assert [each.step for each in losses] == [1, 2, 3, 4]


@pytest.mark.slow
def test_weights_and_biases_writes_an_offline_run(toy: NodeData, tmp_path: Path) -> None:
    pytest.importorskip("wandb", reason="pip install agnn[test]")
    trained(toy, WandB("toys", mode="offline", folder=str(tmp_path)))
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    # W&B's own process writes the file and may still be at it when the run is finished.
    deadline = time.monotonic() + 120
    expected = (b"training_loss", b"learning_rate")
    while not all(name in file.read_bytes() for name in expected):
        assert time.monotonic() < deadline, f"{file} lacks {expected}"
        time.sleep(0.1)


def test_trackers_are_named_by_their_kind_and_place() -> None:
    for package in ("tensorboard", "mlflow", "wandb"):
        pytest.importorskip(package, reason="pip install agnn[test]")
    assert tracker("tensorboard:logs") == TensorBoard("logs")
    assert tracker("mlflow:sqlite:///runs.db") == MLflow("sqlite:///runs.db")
    assert tracker("wandb") == WandB()
    with pytest.raises(InputError, match="unknown tracker 'tensorbord'; did you mean 'tensorbo"):
        tracker("tensorbord:logs")


def test_a_missing_package_is_named_before_anything_is_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(
        UnavailableError, match=r"wandb is not installed, .*pip install 'agnn\[wand"
    ):
        tracker("wandb")
