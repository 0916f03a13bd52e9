"""`agnn export` writes a file that onnxruntime runs, or one line and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from agnn.cli import main
from agnn.data import NodeData
from agnn.estimator import NodeClassifier
from agnn.graph import Graph
from agnn.methods import get_method
from agnn.metrics import Ensemble
from agnn.runs import KnownResults, evaluate, load_run, save_run


@pytest.fixture(scope="module")
def folder(toy: NodeData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two small replicas."""
    place = tmp_path_factory.mktemp("export") / "run"
    save_run(evaluate(get_method("agnn")(epochs=20, layers=2), toy, seeds=(0, 1)), place)
    return place


def test_the_file_gives_the_runs_own_probabilities(folder, toy, tmp_path, capsys):
    out = tmp_path / "model.onnx"
    assert main(["export", str(folder), "--out", str(out)]) == 0
    assert "AGNN, 2 replicas" in capsys.readouterr().out
    graph = Graph.from_edges(toy.edges, toy.nodes)
    edges = np.stack([graph.senders.numpy(), graph.receivers.numpy()])
    x = toy.features.toarray().astype(np.float32)
    program = onnxruntime.InferenceSession(out)
    (found,) = program.run(["probabilities"], {"features": x, "edge_index": edges})
    run = evaluate(get_method("agnn")(epochs=20, layers=2), toy, seeds=(0, 1))
    expected = Ensemble.of_scores(run.scores, run.calibration.temperature)
    assert run.calibration.temperature != 1.0
    np.testing.assert_allclose(found, expected.probabilities, atol=1e-5, rtol=0)
    assert [each.name for each in tmp_path.iterdir()] == ["model.onnx"]


def test_the_file_gives_what_predict_proba_gives(toy, tmp_path):
    fitted = NodeClassifier("agnn", parameters={"epochs": 20, "layers": 2}, replicas=2).fit(toy)
    fitted.save(tmp_path / "run")
    assert main(["export", str(tmp_path / "run"), "--out", str(tmp_path / "model.onnx")]) == 0
    graph = Graph.from_edges(toy.edges, toy.nodes)
    edges = np.stack([graph.senders.numpy(), graph.receivers.numpy()])
    x = toy.features.toarray().astype(np.float32)
    program = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found,) = program.run(["probabilities"], {"features": x, "edge_index": edges})
    np.testing.assert_allclose(found, fitted.predict_proba(), atol=1e-5, rtol=0)


def test_a_folder_without_a_temperature_gets_the_one_that_its_predictions_have(
    folder, tmp_path, monkeypatch
):

    assert main(["export", str(folder), "--out", str(tmp_path / "new.onnx")]) == 0
    silent = replace(load_run(folder), known=KnownResults())
    monkeypatch.setattr("agnn.runs.load_run", lambda *_, **__: silent)
    assert main(["export", str(folder), "--out", str(tmp_path / "old.onnx")]) == 0
    assert (tmp_path / "new.onnx").read_bytes() == (tmp_path / "old.onnx").read_bytes()


def test_json_tells_what_was_written(folder, toy, tmp_path, capsys):
    out = tmp_path / "model.onnx"
    assert main(["export", str(folder), "--out", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["out"] == str(out)
    assert record["bytes"] == out.stat().st_size
    assert (record["method"], record["replicas"], record["features"]) == ("agnn", 2, 30)
    assert record["class_names"] == list(toy.class_names)


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def test_a_file_that_exists_is_left_alone(folder, tmp_path, capsys):
    out = tmp_path / "mine.onnx"
    out.write_text("mine")
    message = refused(["export", str(folder), "--out", str(out)], capsys)
    assert "exists already; choose another path (--out)" in message
    assert out.read_text() == "mine"


def test_a_folder_that_is_not_there_is_named(folder, tmp_path, capsys):
    out = tmp_path / "nowhere" / "model.onnx"
    assert "there is no folder" in refused(["export", str(folder), "--out", str(out)], capsys)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_run_is_named(tmp_path, capsys):
    out = tmp_path / "model.onnx"
    message = refused(["export", str(tmp_path), "--out", str(out)], capsys)
    assert "is not a run folder, or is damaged" in message
    assert list(tmp_path.iterdir()) == []


def test_a_method_without_a_model_is_named(toy, tmp_path, capsys):
    save_run(evaluate(get_method("label_propagation")(), toy), tmp_path / "run")
    message = refused(["export", str(tmp_path / "run"), "--out", str(tmp_path / "m.onnx")], capsys)
    assert "has no trained network to export" in message
    assert not (tmp_path / "m.onnx").exists()


def test_a_write_that_fails_leaves_nothing_behind(folder, tmp_path, capsys, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agnn.files.os.link", full)
    assert "No space left" in refused(
        ["export", str(folder), "--out", str(tmp_path / "model.onnx")], capsys
    )
    assert list(tmp_path.iterdir()) == []
